/* Texts of kallsyms, /proc/modules and perf maps: the first byte says where the second text begins. */
#include "sym/kallsyms.h"
#include "sym/perfmap.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size < 1)
		return 0;
	size_t cut = 1 + (size - 1) * data[0] / 255;
	const char *text = (const char *)data + 1, *modules = (const char *)data + cut;
	size_t len = cut - 1, modules_len = size - cut;
	u64 at[64], v, n;
	struct symtab_sym got[64];
	for (u32 i = 0; i < 64; i++)
		at[i] = 0xffffffff81000000 + i * 0x1000;
	for (int kind = 0; kind < 3; kind++) {
		struct sweep s;
		if (sweep_init(&s, at, 64, SYMTAB_LAST))
			return 0;
		if (kind == 2)
			(void)kallsyms_sweep_ordered(text, len, &s);
		else if (kind)
			(void)perfmap_sweep(text, len, &s);
		else
			(void)kallsyms_sweep(text, len, modules, modules_len, &s);
		if (!sweep_finish(&s, got))
			for (u32 i = 0; i < 64; i++)
				if (got[i].name && (got[i].name < text ||
						    got[i].name + got[i].name_len > text + len))
					abort();
		sweep_done(&s);
	}
	(void)kallsyms_hidden(text, len);
	(void)kallsyms_address(text, len, "_text", &v);
	(void)kallsyms_module(modules, modules_len, "m", &v, &n);
	return 0;
}
