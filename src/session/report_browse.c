#include "session/report.h"

#include "session/perf_header.h"
#include "stream/replay_perf.h"
#include "view/tui_table.h"

#include <errno.h>
#include <string.h>

struct pages {
	struct report *r;
	VEC(struct shown) shown;
};

static struct pages *pages_of(void *ctx)
{
	return ctx;
}

static int open_page(void *ctx, u32 page, struct table *ret, struct strbuf *title)
{
	struct pages *p = pages_of(ctx);
	const struct shown *e = &p->shown.at[page];
	report_title(p->r, e, title);
	if (p->shown.nr > 1)
		strbuf_printf(title, " (%u of %zu, Tab: next)", page + 1, p->shown.nr);
	if (p->r->src->catalog.nr_lost)
		strbuf_printf(title, ", lost: %llu", (unsigned long long)p->r->src->catalog.nr_lost);
	return report_table(p->r, e, ret);
}

static int page_header(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct report *r = pages_of(ctx)->r;
	if (source_facts(r->src).kind != SOURCE_PERF)
		return -ENOENT;
	strbuf_printf(title, "%s: where, when and how it was recorded", r->opts->input);
	return perf_header_text(r->src, r->opts->input, true, to);
}

static int page_annotate(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct pages *p = pages_of(ctx);
	const struct name_func *f = profile_row_func(p->r->profile, row);
	const char *why = !f || !f->name ? "this row is not a function: no code to annotate"
			  : !strcmp(p->r->opts->input, "-")
				  ? "the recording came from a pipe: annotate needs a file"
			  : source_facts(p->r->src).kind != SOURCE_PERF
				  ? "only a perf.data file can be annotated"
				  : NULL;
	if (why) {
		strbuf_str(to, why);
		return -ENOENT;
	}
	int err = p->r->annotate(p->r->ctx, f, p->shown.at[page].events[0], to);
	return err ? err : 2;
}

/* Samples are added up by other keys: the recording is read again. */
static int page_threads(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct report *r = pages_of(ctx)->r;
	const struct report_labels *l = r->labels;
	if (r->opts->sort.items.nr || r->opts->fields)
		strbuf_printf(to, "rows are as %s or %s asked: %s tid,... has threads", l->sort,
			      l->fields, l->sort);
	else if (!strcmp(r->opts->input, "-"))
		strbuf_printf(to, "the recording came through a pipe: %s tid,dso,sym has threads",
			      l->sort);
	if (to->len)
		return -EINVAL;
	r->toggle_threads = true;
	return 1;
}

static int add_page(struct report *r, const struct shown *e)
{
	struct shown *page = vec_push(&r->pages->shown);
	if (!page)
		return -ENOMEM;
	*page = *e;
	return 0;
}

int report_browse(struct report *r)
{
	static const struct tui_action actions[] = {
		{ 'a', "annotate the function: instructions and source", page_annotate },
		{ 'T', "switch between rows by thread and by command", page_threads },
		{ 'i', "where, when and how it was recorded", page_header },
		{ 0 },
	};
	struct pages p = { .r = r };
	r->pages = &p;
	int err = report_each(r, add_page);
	struct tui_config c = {
		.nr_pages = (u32)p.shown.nr,
		.open = open_page,
		.actions = actions,
		.ctx = &p,
		.fractal = r->cfg.fractal,
		.colour = r->tell.colour,
	};
	if (!err)
		err = p.shown.nr ? tui_tables(&c) : -ENOTTY;
	vec_free(&p.shown);
	return err;
}
