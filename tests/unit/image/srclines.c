/*
 * What addr2line -afi -e FILE prints for addresses on standard input, by dwinfo; for comparing with it and for measuring.
 *
 *	srclines FILE [inline] < addresses
 */
#include "image/dwarf_info.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int by_value(const void *l, const void *r)
{
	u64 a = *(const u64 *)l, b = *(const u64 *)r;
	return (a > b) - (a < b);
}

static void place(const char *name, const char *file, u32 line)
{
	printf("%s\n%s:", name ? name : "??", file ? file : "??");
	if (line)
		printf("%u\n", line);
	else
		printf("?\n");
}

static void print(u64 at, const struct dwinfo_answer *a)
{
	printf("0x%016llx\n", (unsigned long long)at);
	const char *file = a->file;
	u32 line = a->line;
	for (u32 i = a->nr_inlines; i-- > 0;) {
		place(a->inlines[i].name, file, line);
		file = a->inlines[i].file;
		line = a->inlines[i].line;
	}
	place(a->func, file, line);
}

int main(int argc, char **argv)
{
	static u64 at[1 << 20];
	u32 nr = 0, distinct = 0;
	unsigned long long v;
	while (nr < ARRAY_SIZE(at) && scanf("%llx", &v) == 1)
		at[nr++] = v;
	qsort(at, nr, sizeof(*at), by_value);
	for (u32 i = 0; i < nr; i++)
		if (!i || at[i] != at[distinct - 1])
			at[distinct++] = at[i];
	struct elfimg e;
	struct dwinfo *d;
	int err = argc > 1 ? elfimg_open(&e, argv[1], NULL) : -EINVAL;
	struct debugfile_where where = { 0 };
	if (!err)
		err = dwinfo_open(&e, &where, argv[1], &d);
	if (err) {
		fprintf(stderr, "srclines: %s: %s\n", argc > 1 ? argv[1] : "FILE", strerror(-err));
		return 1;
	}
	struct dwinfo_answer *ret = calloc(distinct + 1, sizeof(*ret));
	unsigned want = argc > 2 && !strcmp(argv[2], "inline") ? DWINFO_INLINE
							       : DWINFO_INLINE | DWINFO_LINE;
	err = ret ? dwinfo_find(d, at, distinct, want, ret) : -ENOMEM;
	for (u32 i = 0; i < distinct && !err; i++)
		print(at[i], &ret[i]);
	if (dwinfo_broken(d))
		fprintf(stderr, "srclines: the file is broken\n");
	free(ret);
	dwinfo_close(d);
	elfimg_close(&e);
	return err != 0;
}
