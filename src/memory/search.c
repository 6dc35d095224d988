/*
 * As many pages as go with one system call are read at a time. A text may span two pages: what may be the start of one at the end of a
 * page is kept before the next one.
 *
 *	room   | up to SEARCH_TEXT_MAX bytes of the page before | this page |
 */
#include "memory/search.h"

#include "kern/sysroot.h"
#include "memory/kphys.h"
#include "memory/kslabs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = MEMORY_PIECE, BATCH = MEMORY_BATCH, AFTER = 48 };

struct search_state {
	const struct memory_search *s;
	search_fn fn;
	void *ctx;
	struct search_end r;
	size_t text_len;
	size_t kept; /* bytes of the page before that are in front of this one */
	u8 room[SEARCH_TEXT_MAX + PAGE];
	u8 pages[BATCH][PAGE];
};

static int hit(struct search_state *st, const struct search_hit *h)
{
	st->r.hits++;
	return st->fn(st->ctx, h);
}

static u64 load(const u8 *at, unsigned bytes)
{
	u64 v = 0;
	memcpy(&v, at, bytes); /* little-endian, as all kernels that are read here */
	return v;
}

static int search_values(struct search_state *st, u64 addr, const u8 *page, size_t size)
{
	const struct memory_search *s = st->s;
	u64 width = s->bytes == sizeof(u64) ? UINT64_MAX : (1ull << 8 * s->bytes) - 1;
	u64 mask = ~s->ignored & width;
	size_t first = (size_t)(-addr & (s->bytes - 1));
	for (size_t at = first; at + s->bytes <= size; at += s->bytes) {
		u64 v = load(page + at, s->bytes);
		for (size_t n = 0; n < s->nr_values; n++) {
			if ((v ^ s->values[n]) & mask)
				continue;
			int rc = hit(st, &(struct search_hit){ .addr = addr + at, .value = v });
			if (rc)
				return rc;
			break;
		}
	}
	return 0;
}

static int search_text(struct search_state *st, u64 addr, const u8 *page, size_t size)
{
	u8 *room = st->room;
	size_t have = st->kept + size, at = 0;
	u64 start = addr - st->kept;
	memcpy(room + st->kept, page, size);
	for (; at + st->text_len <= have; at++) {
		const u8 *found = memmem(room + at, have - at, st->s->text, st->text_len);
		if (!found)
			break;
		at = (size_t)(found - room);
		size_t after = at + st->text_len;
		int rc = hit(st,
			     &(struct search_hit){ .addr = start + at,
						   .after = (const char *)room + after,
						   .nr_after = min(have - after, (size_t)AFTER) });
		if (rc)
			return rc;
	}
	st->kept = min(have, st->text_len - 1);
	memmove(room, room + have - st->kept, st->kept);
	return 0;
}

static int search_piece(struct search_state *st, const struct memory_piece *p)
{
	st->r.pages++;
	if (p->err) {
		st->r.unreadable++;
		st->kept = 0;
		return 0;
	}
	return st->s->text ? search_text(st, p->addr, p->to, p->size)
			   : search_values(st, p->addr, p->to, p->size);
}

static int search_all(struct search_state *st, struct memory *m)
{
	u64 at = st->s->start;
	while (at < st->s->end) {
		struct memory_piece pieces[BATCH];
		u32 nr = 0;
		for (; nr < BATCH && at < st->s->end; nr++) {
			u64 size = min(PAGE - at % PAGE, st->s->end - at);
			pieces[nr] = (struct memory_piece){ .addr = at,
							    .to = st->pages[nr],
							    .size = (u32)size };
			at += size;
			if (!at)
				at = UINT64_MAX; /* the last page of all */
		}
		int rc = memory_read_pieces(m, pieces, nr);
		for (u32 n = 0; !rc && n < nr; n++)
			rc = search_piece(st, &pieces[n]);
		if (rc)
			return rc;
	}
	return 0;
}

int search_run(struct kspace *k, const struct memory_search *s, search_fn fn, void *ctx,
	       struct search_end *ret)
{
	struct memory *m;
	size_t len = s->text ? strlen(s->text) : 0;
	if (s->text && (!len || len > SEARCH_TEXT_MAX))
		return diag_error(k->diag, -EINVAL,
				  "the text to search for must have 1 to %d characters",
				  SEARCH_TEXT_MAX);
	if (s->end < s->start)
		return diag_error(k->diag, -EINVAL, "the range ends before it starts");
	int err = kspace_memory(k, &m);
	struct search_state *st = err ? NULL : calloc(1, sizeof(*st));
	if (!st)
		return err ? err : -ENOMEM;
	st->s = s;
	st->fn = fn;
	st->ctx = ctx;
	st->text_len = len;
	err = search_all(st, m);
	*ret = st->r;
	free(st);
	return err < 0 ? err : 0;
}

/* ---- all memory ------------------------------------------------------------------------------------------------------------ */

/* "100000000-63fffffff : System RAM"; lines of what is inside of it have a margin. */
static int each_line(const char *text, u64 distance, search_range_fn fn, void *ctx, bool *any)
{
	int rc = 0;
	for (const char *line = text; !rc && *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		char *end;
		u64 first = strtoull(line, &end, 16);
		if (*line == ' ' || *end != '-')
			continue;
		u64 last = strtoull(end + 1, &end, 16);
		if (strncmp(end, " : System RAM", strlen(" : System RAM")) || last <= first)
			continue;
		*any = true;
		rc = fn(ctx, distance + first, distance + last + 1);
	}
	return rc;
}

static int find_linear(struct kspace *k)
{
	struct kslabs slabs;
	u64 phys;
	if (k->linear_start)
		return 0;
	int err = kslabs_open(&slabs, k);
	if (err)
		return err;
	bool found = slabs.anchor_page && kphys_find(k, slabs.anchor_addr, &phys);
	kslabs_close(&slabs);
	return found ? 0
		     : diag_error(k->diag, -ENOTSUP,
				  "where this kernel maps its memory is not known");
}

int search_memory(struct kspace *k, search_range_fn fn, void *ctx)
{
	struct sysroot r;
	struct strbuf text;
	if (k->opts.dump)
		return diag_error(k->diag, -ENOTSUP, "which memory of a dump is to be searched?");
	int err = find_linear(k);
	if (!err)
		err = sysroot_open(&r, k->opts.root);
	if (err)
		return err;
	strbuf_init(&text);
	bool any = false;
	err = sysroot_read(&r, "proc/iomem", &text);
	if (err >= 0)
		err = each_line(strbuf_cstr(&text), k->linear_start, fn, ctx, &any);
	/* Without CAP_SYS_ADMIN all addresses in it are 0. */
	if (err >= 0 && !any)
		err = diag_error(k->diag, -EPERM,
				 "/proc/iomem does not show where this machine's memory is");
	strbuf_done(&text);
	sysroot_close(&r);
	return err;
}
