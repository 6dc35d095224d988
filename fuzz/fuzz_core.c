/* Cores: notes, files and memory of whoever wrote them. */
#include "image/elfcore.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct elfimg e;
	struct elfcore c;
	u64 sum = 0;
	if (elfimg_open_memory(&e, data, size))
		return 0;
	if (!elfcore_read(&c, &e)) {
		vec_for_each (&c.threads, t)
			for (size_t i = 0; i < t->regs_size; i++)
				sum += t->regs[i];
		vec_for_each (&c.files, f) {
			size_t len = 0;
			const u8 *m = elfcore_memory(&c, f->start, &len, NULL);
			sum += strlen(f->path) + elfcore_may_run(&c, f->end);
			if (m && len)
				sum += m[0] + m[len - 1];
		}
		if (strnlen(c.comm, sizeof(c.comm)) == sizeof(c.comm))
			abort();
	}
	elfcore_done(&c);
	elfimg_close(&e);
	__asm__ volatile("" : : "r"(sum)); /* what was read is used */
	return 0;
}
