#include "memory/kswap.h"

#include "kern/sysroot.h"
#include "memory/eval.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { AREAS_MAX = 32, FILE_TYPE = 0170000, BLOCK_DEVICE = 0060000, ESCAPE_DIGITS = 3 };
enum { IN_USE = 1 << 0, IN_WRITE = 1 << 1 }; /* SWP_USED, SWP_WRITEOK */

/* "\040" for a blank, as all lists of /proc have them. */
static void unescape(char *text)
{
	char *to = text;
	for (const char *at = text; *at; to++) {
		unsigned code;
		if (*at == '\\' && sscanf(at + 1, "%3o", &code) == 1) {
			*to = (char)code;
			at += 1 + ESCAPE_DIGITS;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
}

static int each_of_proc(struct kspace *k, kswap_fn fn, void *ctx)
{
	struct sysroot r;
	struct strbuf text;
	int err = sysroot_open(&r, k->opts.root);
	if (err)
		return diag_error(k->diag, err, "cannot open /proc: %s", strerror(-err));
	strbuf_init(&text);
	err = sysroot_read(&r, "proc/swaps", &text);
	if (err == -ENOENT) /* a kernel without swap */
		err = 0;
	else if (err)
		(void)diag_error(k->diag, err, "cannot read /proc/swaps: %s", strerror(-err));
	char *rest = err || !*strbuf_cstr(&text) ? NULL : text.data;
	(void)strsep(&rest, "\n"); /* the head */
	for (char *line; !err && rest && (line = strsep(&rest, "\n"));) {
		char path[4096], type[16];
		unsigned long long size, used;
		struct kswap s = { 0 };
		if (sscanf(line, "%4095s %15s %llu %llu %d", path, type, &size, &used,
			   &s.priority) != 5)
			continue;
		unescape(path);
		s.is_partition = !strcmp(type, "partition");
		s.size = size * 1024;
		s.used = used * 1024;
		s.path = path;
		err = fn(ctx, &s);
	}
	strbuf_done(&text);
	sysroot_close(&r);
	return min(err, 0);
}

struct swap_layout {
	u64 flags, priority, pages, inuse, file, inode, mode;
	bool wide; /* inuse_pages is a long (6.7) */
};

static int find_layout(struct kspace *k, struct swap_layout *l)
{
	struct ktype of, t;
	u64 bit;
	u8 bits;
	const struct eval_offset rows[] = {
		{ "swap_info_struct", "flags", &l->flags },
		{ "swap_info_struct", "prio", &l->priority },
		{ "swap_info_struct", "pages", &l->pages },
		{ "swap_info_struct", "inuse_pages", &l->inuse },
		{ "swap_info_struct", "swap_file", &l->file },
		{ "file", "f_inode", &l->inode },
		{ "inode", "i_mode", &l->mode },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (err || !kspace_find_type(k, "swap_info_struct", BTF_BIT(BTF_OF_STRUCT), &of))
		return err;
	err = eval_path(k, &of, "inuse_pages", &t, &bit, &bits);
	l->wide = !err && ktype_size(&t) == sizeof(u64);
	return err;
}

/* 1: not in use. */
static int read_area(struct kspace *k, const struct swap_layout *l, u64 addr, struct kswap *ret,
		     u64 *file)
{
	u64 flags, inode, inuse = 0, page = kspace_page_size(k);
	s16 priority;
	u32 pages;
	u16 mode;
	struct memory_piece pieces[] = {
		{ addr + l->flags, &flags, sizeof(flags), 0 },
		{ addr + l->priority, &priority, sizeof(priority), 0 },
		{ addr + l->pages, &pages, sizeof(pages), 0 },
		{ addr + l->inuse, &inuse, l->wide ? sizeof(u64) : sizeof(u32), 0 },
		{ addr + l->file, file, sizeof(*file), 0 },
	};
	int err = memory_read_pieces(k->memory, pieces, ARRAY_SIZE(pieces));
	for (size_t n = 0; !err && n < ARRAY_SIZE(pieces); n++)
		err = pieces[n].err;
	if (err || !(flags & IN_USE) || !(flags & IN_WRITE) || !*file)
		return err ? err : 1;
	/* The atomic counter has a flag of its own (6.13). */
	if (l->wide)
		inuse &= ~(1ull << 30);
	err = memory_read(k->memory, *file + l->inode, &inode, sizeof(inode));
	if (!err)
		err = memory_read(k->memory, inode + l->mode, &mode, sizeof(mode));
	*ret = (struct kswap){ .addr = addr,
			       .is_partition = !err && (mode & FILE_TYPE) == BLOCK_DEVICE,
			       .priority = priority,
			       .size = pages * page,
			       .used = inuse * page };
	return err;
}

static int each_of_memory(struct kspace *k, u64 table, kswap_fn fn, void *ctx)
{
	struct swap_layout l = { 0 };
	struct kfiles files;
	struct memory *m;
	struct ksym sym;
	u64 areas[AREAS_MAX];
	u32 nr = 0;
	int err = find_layout(k, &l);
	if (!err)
		err = kfiles_open(&files, k);
	if (!err)
		err = kspace_memory(k, &m);
	if (!err && !ksyms_find(&k->syms, "nr_swapfiles", &sym))
		err = diag_error(k->diag, -ENOENT, "the symbol list has no nr_swapfiles");
	if (!err)
		err = kspace_read(k, sym.addr, &nr, sizeof(nr), "nr_swapfiles");
	nr = min(nr, (u32)AREAS_MAX);
	if (!err && nr)
		err = kspace_read(k, table, areas, nr * sizeof(u64), "swap_info");
	for (u32 n = 0; !err && n < nr; n++) {
		struct kswap s;
		struct strbuf path;
		u64 file;
		int rc = areas[n] >> 63 ? read_area(k, &l, areas[n], &s, &file) : 1;
		if (rc)
			continue;
		strbuf_init(&path);
		kfiles_path_of(&files, file, &path);
		s.path = strbuf_cstr(&path);
		err = fn(ctx, &s);
		strbuf_done(&path);
	}
	return min(err, 0);
}

int kswaps_each(struct kspace *k, kswap_fn fn, void *ctx)
{
	struct ksym sym;
	const struct ksyms *s = kspace_try_syms(k);
	if (s && ksyms_find(s, "swap_info", &sym))
		return each_of_memory(k, sym.addr, fn, ctx);
	if (k->opts.dump)
		return diag_error(k->diag, -ENOENT, "the dump's symbol list has no swap_info");
	return each_of_proc(k, fn, ctx);
}
