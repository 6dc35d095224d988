#include "sym/srcline.h"
#include "base/dict.h"
#include "base/vec.h"
#include "image/dwarf_info.h"
#include "image/gopclntab.h"

#include <errno.h>
#include <string.h>

enum { NAME_LONGEST = 16 << 10 };

struct srcline_asked {
	u64 addr;
	u32 slot; /* of ret */
};

/* Strings of the file that were copied already: each stands there once, so its place says which it is. */
struct copies {
	const struct srcline_opts *o;
	struct dict at;
	VEC(const char *) list;
	bool failed;
};

static const char *copy(struct copies *c, const char *s, bool name)
{
	u32 fresh = (u32)c->list.nr, got;
	if (!s)
		return NULL;
	if (dict_add(&c->at, (u64)(uintptr_t)s << 1 | name, fresh, &got)) {
		c->failed = true;
		return NULL;
	}
	if (got != fresh)
		return c->list.at[got];
	_cleanup_free_ char *pretty = name ? demangle(s, c->o->demangle) : NULL;
	const char *from = pretty ? pretty : s, **slot = vec_push(&c->list);
	const char *kept = arena_strndup(c->o->arena, from, strnlen(from, NAME_LONGEST));
	if (!slot || !kept) {
		c->failed = true;
		return NULL;
	}
	return *slot = kept;
}

static int by_address(const void *l, const void *r)
{
	const struct srcline_asked *a = l, *b = r;
	return (a->addr > b->addr) - (a->addr < b->addr);
}

/* Both addresses of each question, sorted. Returns how many there are. */
static u32 ask(const struct srcline_opts *o, const u64 *at, u32 nr, struct srcline_asked *to)
{
	u32 asked = 0;
	bool sorted = true;
	for (u32 i = 0; i < nr; i++) {
		u64 addr = at[i];
		if (o->runtime && !elfimg_vaddr_of(o->runtime, at[i], &addr))
			continue;
		if (addr)
			to[asked++] = (struct srcline_asked){ addr - 1, 2 * i + 1 };
		to[asked++] = (struct srcline_asked){ addr, 2 * i };
	}
	for (u32 i = 1; i < asked && sorted; i++)
		sorted = to[i - 1].addr <= to[i].addr;
	if (!sorted)
		qsort(to, asked, sizeof(*to), by_address);
	return asked;
}

static void take(struct copies *c, const struct dwinfo_answer *a, struct srcline_spot *to)
{
	*to = (struct srcline_spot){ .line = { copy(c, a->file, false), a->line } };
	to->outer = to->line;
	if (!a->nr_inlines)
		return;
	struct srcline_inline *list = arena_array(c->o->arena, a->nr_inlines, sizeof(*list));
	if (!list) {
		c->failed = true;
		return;
	}
	to->outer = (struct name_line){ copy(c, a->inlines[0].file, false), a->inlines[0].line };
	for (u32 i = 0; i < a->nr_inlines; i++) {
		const struct dwinfo_inline *next = i + 1 < a->nr_inlines ? &a->inlines[i + 1] : NULL;
		list[i].name = a->inlines[i].name ? copy(c, a->inlines[i].name, true) : "??";
		list[i].line = next ? (struct name_line){ copy(c, next->file, false), next->line }
				    : to->line;
	}
	to->inlines = list;
	to->nr = a->nr_inlines;
}

/* What the answers come from: one of both. */
struct origin {
	struct dwinfo *dwarf;
	const struct gopclntab *go;
};

static int find(const struct srcline_opts *o, const struct origin *from, const u64 *addrs, u32 nr,
		struct dwinfo_answer *ret)
{
	unsigned want = (o->want & WANT_LINE ? DWINFO_LINE : 0) |
			(o->want & WANT_INLINE ? DWINFO_INLINE : 0);
	if (from->dwarf)
		return dwinfo_find(from->dwarf, addrs, nr, want, ret);
	gopclntab_find(from->go, addrs, nr, ret);
	return 0;
}

/* One after the other; equal addresses share one answer. */
static int answer(const struct srcline_opts *o, const struct origin *from,
		  const struct srcline_asked *asked, u32 nr, struct srcline_spot *ret)
{
	_cleanup_free_ u64 *addrs = malloc(((size_t)nr + 1) * sizeof(*addrs));
	_cleanup_free_ struct dwinfo_answer *found = calloc((size_t)nr + 1, sizeof(*found));
	if (!addrs || !found)
		return -ENOMEM;
	u32 distinct = 0;
	for (u32 i = 0; i < nr; i++)
		if (!i || asked[i].addr != asked[i - 1].addr)
			addrs[distinct++] = asked[i].addr;
	int err = find(o, from, addrs, distinct, found);
	if (err)
		return err;
	struct copies c = { .o = o };
	dict_init(&c.at);
	u32 at = 0;
	for (u32 i = 0; i < nr && !c.failed; i++) {
		at += i && asked[i].addr != asked[i - 1].addr;
		if (i && asked[i].addr == asked[i - 1].addr)
			ret[asked[i].slot] = ret[asked[i - 1].slot];
		else
			take(&c, &found[at], &ret[asked[i].slot]);
	}
	dict_done(&c.at);
	vec_free(&c.list);
	return c.failed ? -ENOMEM : 0;
}

static int answer_all(const struct srcline_opts *o, const struct origin *from, const u64 *at,
		      u32 nr, struct srcline_spot *ret)
{
	_cleanup_free_ struct srcline_asked *asked = malloc((2 * (size_t)nr + 1) * sizeof(*asked));
	return asked ? answer(o, from, asked, ask(o, at, nr, asked), ret) : -ENOMEM;
}

int srcline_find(const struct srcline_opts *o, const u64 *at, u32 nr, struct srcline_spot *ret,
		 struct srcline_told *told)
{
	*told = (struct srcline_told){ 0 };
	memset(ret, 0, 2 * (size_t)nr * sizeof(*ret));
	struct gopclntab go;
	if (!o->debug)
		return o->go && !gopclntab_open(&go, o->go)
			       ? answer_all(o, &(struct origin){ .go = &go }, at, nr, ret)
			       : 0;
	struct dwinfo *d;
	int err = dwinfo_open(o->debug, o->where, o->path, &d);
	if (err == -E2BIG)
		told->spent = "reading its debug information";
	if (err)
		return err == -ENOMEM ? err : 0;
	err = answer_all(o, &(struct origin){ .dwarf = d }, at, nr, ret);
	*told = (struct srcline_told){ .nr_split = dwinfo_nr_split(d),
				       .broken = dwinfo_broken(d),
				       .spent = dwinfo_spent(d) };
	if (told->nr_split && dwinfo_missing(d))
		told->missing = arena_strdup(o->arena, dwinfo_missing(d));
	dwinfo_close(d);
	return err;
}
