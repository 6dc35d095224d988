#include "session/live_names.h"

#include "base/clock.h"
#include "base/dict.h"
#include "base/strtab.h"

#include <errno.h>
#include <string.h>

enum { KERNEL_TEXTS = SYM_NOTES + 1 };
/* Modules and BPF programs come and go: the list is asked for again. */
static const u64 TEXT_KEPT_NS = 60 * NS_PER_SEC;

struct live_names {
	struct names names;
	struct names *inner; /* answers about what is new */
	struct strtab strings;
	VEC(struct name_func) funcs;
	VEC(u32) func_of; /* [frame] */
	struct dict known; /* hash of a function -> index */
	int (*kernel_text)(void *ctx, enum sym_kernel_text what, struct sym_text *ret);
	void *kernel_ctx;
	struct {
		struct sym_text text;
		u64 read_ns; /* 0: never */
		int err;
	} kept[KERNEL_TEXTS];
};

/* ---- texts of the kernel ---- */

static void release(struct sym_text *t)
{
	if (t->data && t->release)
		t->release(t);
	*t = (struct sym_text){ 0 };
}

static int kept_text(void *ctx, enum sym_kernel_text what, struct sym_text *ret)
{
	struct live_names *n = ctx;
	u64 now = clock_monotonic_ns();
	if (!n->kept[what].read_ns || now - n->kept[what].read_ns > TEXT_KEPT_NS) {
		release(&n->kept[what].text);
		n->kept[what].err = n->kernel_text(n->kernel_ctx, what, &n->kept[what].text);
		n->kept[what].read_ns = now;
	}
	if (n->kept[what].err)
		return n->kept[what].err;
	*ret = n->kept[what].text;
	ret->release = NULL; /* it stays ours */
	return 0;
}

/* ---- functions ---- */

static const char *keep(struct live_names *n, const char *text, int *err)
{
	s64 id = text ? strtab_add(&n->strings, text, strlen(text)) : 0;
	if (id < 0)
		*err = -ENOMEM;
	return text && id >= 0 ? strtab_str(&n->strings, (u32)id) : NULL;
}

static bool same(const struct name_func *a, const struct name_func *b)
{
	return a->image == b->image && a->start == b->start && a->mode == b->mode &&
	       a->data == b->data && !a->name == !b->name && (!a->name || !strcmp(a->name, b->name));
}

static s64 func_at(struct live_names *n, const struct name_func *f)
{
	u64 words[] = { f->image, f->start, f->mode, f->name != NULL };
	u64 hash = hash_bytes(words, sizeof(words));
	u32 fresh = (u32)n->funcs.nr, got;
	for (;; hash++) {
		int err = dict_add(&n->known, hash, fresh, &got);
		if (err)
			return err;
		if (got == fresh || same(&n->funcs.at[got], f))
			break;
	}
	if (got != fresh)
		return got;
	int err = 0;
	struct name_func *to = vec_push(&n->funcs);
	if (!to)
		return -ENOMEM;
	*to = *f;
	to->name = keep(n, f->name, &err);
	to->label = keep(n, f->label, &err);
	return err ? err : (s64)got;
}

static int begin(struct live_names *n)
{
	struct name_func *none = n->funcs.nr ? n->funcs.at : vec_push(&n->funcs);
	u32 *first = n->func_of.nr ? n->func_of.at : vec_push(&n->func_of);
	if (!none || !first)
		return -ENOMEM;
	*none = (struct name_func){ 0 };
	*first = 0;
	return 0;
}

/* The new ones in a table of their own: ids there begin with 1. */
static int name_new(struct live_names *n, const struct catalog *c, const struct frame_table *frames,
		    unsigned want, struct frame_table *few)
{
	struct names_result r;
	u32 first = (u32)n->func_of.nr;
	for (u32 i = first; i < frames->nr; i++) {
		s64 id = frame_table_add(few, frames->frames[i]);
		if (id < 0)
			return (int)id;
	}
	int err = n->inner->ops->resolve(n->inner, c, few, want, &r);
	for (u32 i = first; i < frames->nr && !err; i++) {
		u32 *slot = vec_push(&n->func_of);
		s64 func = slot ? func_at(n, &r.funcs[r.func_of[1 + i - first]]) : -ENOMEM;
		if (slot)
			*slot = (u32)max(func, (s64)0);
		err = (int)min(func, (s64)0);
	}
	return err;
}

static int live_resolve(struct names *names, const struct catalog *c,
			const struct frame_table *frames, unsigned want, struct names_result *ret)
{
	struct live_names *n = container_of(names, struct live_names, names);
	if (want & (WANT_LINE | WANT_INLINE))
		return n->inner->ops->resolve(n->inner, c, frames, want, ret);
	if (frames->nr < n->func_of.nr)
		live_names_forget(names);
	int err = begin(n);
	if (!err && frames->nr > n->func_of.nr) {
		struct frame_table few;
		err = frame_table_init(&few);
		if (!err)
			err = name_new(n, c, frames, want, &few);
		frame_table_done(&few);
	}
	if (!err)
		*ret = (struct names_result){ .func_of = n->func_of.at,
					      .funcs = n->funcs.at,
					      .nr_funcs = (u32)n->funcs.nr,
					      .nr_frames = frames->nr,
					      .nr_ids = frames->nr };
	return err;
}

void live_names_forget(struct names *names)
{
	struct live_names *n = container_of(names, struct live_names, names);
	n->funcs.nr = n->func_of.nr = 0;
	dict_done(&n->known);
	dict_init(&n->known);
	strtab_done(&n->strings);
	strtab_init(&n->strings);
}

static void live_free(struct names *names)
{
	struct live_names *n = container_of(names, struct live_names, names);
	if (n->inner)
		n->inner->ops->free(n->inner);
	for (u32 i = 0; i < KERNEL_TEXTS; i++)
		release(&n->kept[i].text);
	vec_free(&n->funcs);
	vec_free(&n->func_of);
	dict_done(&n->known);
	strtab_done(&n->strings);
	free(n);
}

struct names *live_names_new(struct symbols *s, const struct symbol_opts *o)
{
	static const struct names_ops ops = { .resolve = live_resolve, .free = live_free };
	struct live_names *n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	struct sym_config cfg = symbols_config(s, o);
	n->names.ops = &ops;
	cfg.diag = NULL; /* the same files would be reported with every new place in them */
	dict_init(&n->known);
	strtab_init(&n->strings);
	if (cfg.kernel_text) {
		n->kernel_text = cfg.kernel_text;
		n->kernel_ctx = cfg.kernel_ctx;
		cfg.kernel_text = kept_text;
		cfg.kernel_ctx = n;
	}
	n->inner = sym_names_new(&cfg);
	if (n->inner)
		return &n->names;
	live_free(&n->names);
	return NULL;
}
