/* BTF: every function that it names is described, and every type with its parts, name, size and definition. Odd sizes are taken as a module's, on top of the first half as the kernel's. */
#include "image/btf.h"
#include "image/type_decl.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void ask_functions(struct btf *b)
{
	struct btf_function f;
	volatile size_t sum = 0;
	const char *end = b->strings + b->strings_len;
	u32 asked = 0;
	for (const char *s = b->strings; s < end && asked < 64; s += strlen(s) + 1, asked++) {
		if (btf_find_function(b, s, &f))
			continue;
		if (f.nr_args > BTF_ARGS_MAX)
			abort();
		for (u32 i = 0; i < f.nr_args; i++)
			sum += strlen(f.args[i].name) + f.args[i].bytes;
		sum += (size_t)f.result.shape;
	}
	(void)sum;
}

static void ask(struct btf *b)
{
	struct strbuf text;
	struct btf_desc d;
	struct btf_part p;
	volatile u64 sum = 0;
	ask_functions(b);
	strbuf_init(&text);
	for (u32 id = 0; id < b->first + b->nr && id < 512; id++) {
		if (!btf_describe(b, id, &d))
			continue;
		for (u32 i = 0; i < 64 && btf_part(b, &d, i, &p); i++)
			sum += strlen(p.name) + p.bit_offset;
		strbuf_reset(&text);
		btf_name_type(b, id, &text);
		strbuf_reset(&text);
		type_decl(b, id, "name", (struct type_decl_opts){ .whole = id & 1 }, &text);
		(void)type_decl_define(b, id, (struct type_decl_opts){ .offsets = true }, &text);
		sum += btf_size(b, id) + text.len;
		if (id < 16)
			sum += (u64)btf_find_member(b, id, "flags", &p) +
			       btf_find(b, d.name, ~0u, NULL);
	}
	strbuf_done(&text);
	(void)sum;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct btf b, mod;
	size_t half = size & 1 ? size / 2 : size;
	if (btf_open_memory(&b, data, half, NULL))
		return 0;
	ask(&b);
	if (half < size && !btf_open_memory(&mod, data + half, size - half, &b)) {
		ask(&mod);
		btf_close(&mod);
	}
	btf_close(&b);
	return 0;
}
