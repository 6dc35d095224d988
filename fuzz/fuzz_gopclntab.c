/* The table of a Go program from anyone: every function and every line in it. */
#include "image/gopclntab.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

enum { ASKED = 512 };

/* Each file is a string that ends in the image; questions that no function covers have no line. */
static u64 use_lines(const struct gopclntab *t, u64 from, u64 to)
{
	u64 at[ASKED], sum = 0;
	struct dwinfo_answer got[ASKED];
	for (u32 i = 0; i < ASKED; i++)
		at[i] = from + (to - from) / ASKED * i;
	gopclntab_find(t, at, ASKED, got);
	for (u32 i = 0; i < ASKED; i++) {
		if (got[i].file && (!got[i].line || !got[i].func))
			abort();
		sum += got[i].file ? strlen(got[i].file) : 0;
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct elfimg e;
	struct gopclntab t;
	volatile u64 sum = 0;
	if (elfimg_open_memory(&e, data, size))
		return 0;
	if (!gopclntab_open(&t, &e)) {
		u64 first = UINT64_MAX, last = 0;
		for (u32 i = 0; i < t.nr; i++) {
			struct gopclntab_func f;
			if (!gopclntab_func(&t, i, &f))
				continue;
			if (f.end <= f.start)
				abort();
			sum += strnlen(f.name, size);
			first = min(first, f.start);
			last = max(last, f.end);
		}
		if (last > first)
			sum += use_lines(&t, first, last);
	}
	elfimg_close(&e);
	(void)sum;
	return 0;
}
