/*
 * An ELF file with debugging information, asked for lines and inlined functions at places all over it; and, when the first byte is not
 * that of an ELF file, a file of kept answers.
 */
#include "image/dwarf_info.h"
#include "sym/answers.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

enum { QUESTIONS = 256 };

static void ask_image(const u8 *data, size_t size)
{
	struct elfimg e;
	struct dwinfo *d;
	if (elfimg_open_memory(&e, data, size))
		return;
	u64 at[QUESTIONS];
	struct dwinfo_answer got[QUESTIONS];
	u64 base = e.nr_loads ? e.loads[e.nr_loads / 2].vaddr : 0;
	for (u32 i = 0; i < QUESTIONS; i++)
		at[i] = base + 4 * i;
	volatile size_t sum = 0;
	if (!dwinfo_open(&e, NULL, "", &d)) {
		for (unsigned want = 1; want <= 3; want++) {
			if (dwinfo_find(d, at, QUESTIONS, want, got))
				continue;
			for (u32 i = 0; i < QUESTIONS; i++) {
				sum += got[i].func ? strlen(got[i].func) : 0;
				sum += got[i].file ? strlen(got[i].file) : 0;
				for (u32 k = 0; k < got[i].nr_inlines; k++) {
					const struct dwinfo_inline *in = &got[i].inlines[k];
					sum += in->name ? strlen(in->name) : 0;
					sum += in->file ? strlen(in->file) : 0;
				}
			}
		}
		sum += dwinfo_nr_split(d);
		dwinfo_close(d);
	}
	(void)sum;
	elfimg_close(&e);
}

static void ask_answers(const u8 *data, size_t size)
{
	/* The checksum would keep everything out: it is not looked at here, which an attacker could compute as well. */
	struct answers a;
	struct answers_key k = { .style = DEMANGLE_SHORT, .want = WANT_SYMBOL | WANT_INLINE };
	u8 *copy = malloc(size + 1);
	if (!copy)
		return;
	memcpy(copy, data, size);
	if (size > ANSWERS_HEAD)
		answers_sum(copy, size);
	struct arena arena;
	arena_init(&arena);
	volatile size_t sum = 0;
	if (!answers_open_bytes(&a, copy, size, &k))
		for (u32 i = 0; i < a.nr; i++) {
			struct srcline_spot s;
			const struct answers_entry *e = answers_find(&a, a.entries[i].at);
			const char *name = e ? answers_string(&a, e->name) : NULL;
			sum += name ? strlen(name) : 0;
			if (e && !answers_spot(&a, &e->spots[1], &arena, &s))
				for (u32 n = 0; n < s.nr; n++)
					sum += strlen(s.inlines[n].name);
		}
	(void)sum;
	arena_done(&arena);
	free(copy);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size && data[0] == 0x7f)
		ask_image(data, size);
	else
		ask_answers(data, size);
	return 0;
}
