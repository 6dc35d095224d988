#include "session/annotate_run.h"

#include "view/tui_annotate.h"

#include <errno.h>
#include <string.h>

int annotate_look_add(struct annotating *a, const u32 *events, u32 nr_events, const char *group,
		      struct annotate_func *funcs, u32 nr_funcs)
{
	struct look_page *p = nr_funcs ? vec_push(&a->look->pages) : NULL;
	u32 *copy = p ? calloc(nr_events, sizeof(*copy)) : NULL;
	if (!copy) {
		free(funcs);
		if (p)
			a->look->pages.nr--;
		return nr_funcs ? -ENOMEM : 0;
	}
	memcpy(copy, events, nr_events * sizeof(*copy));
	*p = (struct look_page){ copy, nr_events, group, funcs, nr_funcs };
	return 0;
}

static void look_close(struct annotating *a)
{
	struct look *l = a->look;
	if (l->open)
		annotate_code_close(&a->code);
	arena_done(&l->arena);
	arena_init(&l->arena);
	l->open = false;
}

static int look_open(void *ctx, u32 page, u32 func, const struct annotation **ret,
		     struct strbuf *why)
{
	struct annotating *a = ctx;
	const struct look_page *p = &a->look->pages.at[page];
	look_close(a);
	int err = annotate_make(a, &p->funcs[func], p->events, p->nr_events, p->group,
				&a->look->arena, &a->look->an);
	if (err) {
		const struct name_func *f = &a->run.named.funcs[p->funcs[func].func];
		strbuf_printf(why, "%s in %s: no code to show: %s", f->name,
			      a->src->catalog.images.at[f->image].path,
			      annotate_missing_reason(err));
		return err;
	}
	a->look->open = true;
	*ret = &a->look->an;
	return 0;
}

/* "15e0 <memset@plt>" names it; one of the same file is meant before one of another. */
static s64 look_called(void *ctx, u32 page, const struct annotation_insn *in, struct strbuf *why)
{
	struct annotating *a = ctx;
	const struct look_page *p = &a->look->pages.at[page];
	const char *name = in->target_at ? strchr(in->text + in->target_at, '<') : NULL;
	size_t len = name ? strcspn(++name, "+@>") : 0;
	s64 found = -ENOENT;
	for (u32 i = p->nr_funcs; i-- > 0 && len;) {
		const struct name_func *f = &a->run.named.funcs[p->funcs[i].func];
		bool here = !strcmp(a->src->catalog.images.at[f->image].path, a->look->an.path);
		if (strlen(f->name) == len && !memcmp(f->name, name, len) && (here || found < 0))
			found = i;
	}
	if (found < 0 && len)
		strbuf_printf(why, "no samples in %.*s: nothing to show", (int)len, name);
	else if (found < 0)
		strbuf_str(why, "the target is only known at run time");
	return found;
}

static u32 look_nr_funcs(void *ctx, u32 page)
{
	const struct annotating *a = ctx;
	return a->look->pages.at[page].nr_funcs;
}

/* Where to begin: at the function that was asked for, else at the heaviest that has code. */
static bool look_first(const struct annotating *a, struct tui_annotate *c)
{
	for (u32 page = 0; page < a->look->pages.nr; page++) {
		const struct look_page *p = &a->look->pages.at[page];
		if (a->only && p->events[0] != a->only_event)
			continue;
		for (u32 i = 0; i < p->nr_funcs; i++) {
			const struct name_func *f = &a->run.named.funcs[p->funcs[i].func];
			bool asked = a->only ? f->image == a->only->image &&
						       f->start == a->only->start &&
						       f->mode == a->only->mode
					     : !a->look->symbol || !strcmp(a->look->symbol, f->name);
			c->page = page;
			c->func = i;
			if (asked)
				return true;
		}
	}
	return false;
}

int annotate_look_each(struct annotating *a)
{
	u32 best = 0, shown = 0;
	u64 most = 0;
	int err = 0;
	for (u32 i = 0; i < a->look->pages.nr; i++) {
		u64 period = annotate_total(a->hits, a->look->pages.at[i].events[0]).period;
		best = period > most ? i : best;
		most = max(most, period);
	}
	for (u32 i = 0; a->look->pages.nr && i < a->look->pages.at[best].nr_funcs && !err; i++) {
		const struct annotation *an;
		struct strbuf why;
		strbuf_init(&why);
		int missing = look_open(a, best, i, &an, &why);
		strbuf_done(&why);
		if (!missing)
			err = a->look->each(a->look->ctx, an, &a->style);
		if (!missing && ++shown == a->look->max_funcs)
			break;
	}
	return err;
}

void annotate_look_done(struct annotating *a)
{
	look_close(a);
	vec_for_each (&a->look->pages, p) {
		free(p->events);
		free(p->funcs);
	}
	vec_free(&a->look->pages);
}

static int look_wait(void *ctx)
{
	const struct annotate_given *g = ((struct annotating *)ctx)->given;
	return g->wait_ms(g->ctx);
}

static int look_tick(void *ctx)
{
	struct annotating *a = ctx;
	int ret = a->given->tick(a->given->ctx);
	int err = ret > 0 ? annotate_name_given(a) : 0;
	return err ? err : ret;
}

int annotate_look(struct annotating *a)
{
	bool live = a->given && a->given->tick;
	struct tui_annotate c = {
		.ctx = a,
		.open = look_open,
		.called = look_called,
		.nr_funcs = look_nr_funcs,
		.nr_pages = (u32)a->look->pages.nr,
		.style = &a->style,
		.colour = a->tell.colour,
		.wait_ms = live ? look_wait : NULL,
		.tick = live ? look_tick : NULL,
	};
	struct strbuf why;
	bool any = look_first(a, &c);
	strbuf_init(&why);
	int err = !any		    ? 1
		  : a->look->nested ? tui_annotate_window(&c, &why)
				    : tui_annotate(&c, &why);
	/* Without a function that was asked for, one that has code will do. */
	while (err < 0 && err != -ENOTTY && err != -ENOMEM && !a->only && !a->look->symbol &&
	       ++c.func < look_nr_funcs(a, c.page)) {
		strbuf_reset(&why);
		err = tui_annotate(&c, &why);
	}
	if (err < 0 && why.len)
		(void)diag_error(a->tell.diag, err, "%s", strbuf_cstr(&why));
	strbuf_done(&why);
	return err;
}
