/* The browser of `report` over a recording that goes on: what ticks do, and keys that only a live one has. */
#include "session/top.h"

#include "base/clock.h"
#include "view/tui_screen.h"
#include "view/tui_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TICK_MS = 250, PATH_ROOM = 256 };

static const char footer[] =
	"? help  Enter open  a annotate  / search  d library  t thread  p write  q quit";

static const char note[] =
	"\n  Every few seconds the table shows what came since, and older samples weigh\n"
	"  an eighth less (z: they are forgotten instead). Percentages are shares of\n"
	"  all of them; with a zoom or a search the first line shows the sum over the\n"
	"  remaining rows: of Self if there is that column.\n";

struct top_screen {
	struct top *top;
	VEC(struct shown) pages;
	struct tui_config config;
	u64 tick_ns; /* when the next one is due */
	char path[PATH_ROOM]; /* written last */
};

/* ---- pages ---- */

/* Every event that samples, whether it has any so far or not: pages stay where they are. */
static int list_pages(struct top_screen *s)
{
	const struct top *t = s->top;
	size_t nr;
	const struct live_event *events = recorder_events(t->rec, &nr);
	for (u32 i = 0; i < nr && i < t->report->src->catalog.events.nr;) {
		struct source_group g = { .nr = 1 };
		if (t->report->opts->group)
			(void)source_group(t->report->src, i, &g);
		struct shown *page = events[i].tracking ? NULL : vec_push(&s->pages);
		if (!page && !events[i].tracking)
			return -ENOMEM;
		if (page) {
			*page = (struct shown){ .nr = min(g.nr, (u32)EVENTS_MAX), .group = g.name };
			for (u32 k = 0; k < page->nr; k++)
				page->events[k] = i + k;
		}
		i += g.nr;
	}
	return 0;
}

static int open_page(void *ctx, u32 page, struct table *ret, struct strbuf *title)
{
	struct top_screen *s = ctx;
	struct top *t = s->top;
	const struct report_opts *o = t->report->opts;
	report_title(t->report, &s->pages.at[page], title);
	if (s->pages.nr > 1)
		strbuf_printf(title, " (%u of %zu, Tab: next)", page + 1, s->pages.nr);
	strbuf_printf(title, "  %.0f/s",
		      t->interval_ns ? (double)t->nr_samples * 1e9 / (double)t->interval_ns : 0.0);
	if (t->seen_lost)
		strbuf_printf(title, ", lost: %llu", (unsigned long long)t->seen_lost);
	strbuf_printf(title, "%s%s%s%s%s", o->hide_kernel ? ", no kernel" : "",
		      o->hide_user ? ", no user code" : "", t->o->zero ? ", zeroed" : "",
		      t->frozen ? ", frozen" : "", t->over ? ", all tasks have ended" : "");
	return report_table(t->report, &s->pages.at[page], ret);
}

/* ---- ticks ---- */

static int wait_ms(void *ctx)
{
	const struct top_screen *s = ctx;
	u64 left = u64_less(s->tick_ns, clock_monotonic_ns());
	return (int)((left + 999999) / 1000000);
}

/* 1: there is something new to be seen. */
static int tick(void *ctx)
{
	struct top_screen *s = ctx;
	struct top *t = s->top;
	bool ended = t->over;
	s->tick_ns = clock_monotonic_ns() + (u64)TICK_MS * 1000000;
	int err = top_step(t);
	bool stale = t->generation != profile_live_generation(t->live);
	bool due = clock_monotonic_ns() >= t->next_ns && !t->frozen && (!ended || !t->over);
	if (err || (!due && !stale && ended == t->over))
		return err;
	err = top_look(t, due);
	return err ? err : 1;
}

/* ---- code ---- */

static int count_hit(void *ctx, u32 event, u32 frame, u64 period, u64 count)
{
	return annotate_count(ctx, event, frame, period, count);
}

static int fill_hits(struct top *t)
{
	annotate_clear(t->hits);
	return profile_live_hits(t->live, count_hit, t->hits);
}

/* Functions have other numbers after a change of generations: the window is left. */
static int code_tick(void *ctx)
{
	struct top_screen *s = ctx;
	u64 generation = s->top->generation;
	int ret = tick(s);
	if (ret > 0 && s->top->generation != generation)
		return -ESTALE;
	int err = ret > 0 ? fill_hits(s->top) : 0;
	return err ? err : ret;
}

static int show_code(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct top_screen *s = ctx;
	struct top *t = s->top;
	const struct name_func *f = profile_row_func(t->report->profile, row);
	(void)title;
	if (!f || !f->name) {
		strbuf_str(to, "this row is not a function: no code to annotate");
		return -ENOENT;
	}
	if (!t->hits && !(t->hits = annotate_new(NULL, &t->report->src->catalog)))
		return -ENOMEM;
	struct annotate_given given = { .src = t->report->src,
					.hits = t->hits,
					.frames = &t->tables.frames,
					.names = t->names,
					.wait_ms = wait_ms,
					.tick = code_tick,
					.ctx = s };
	const struct name_func copy = *f; /* the profile it is of may be replaced meanwhile */
	int err = fill_hits(t);
	if (!err)
		err = t->annotate(t->ctx, &given, &copy, s->pages.at[page].events[0], to);
	if (err == -ESTALE && !to->len)
		strbuf_str(to, "the list of functions was cleaned up: choose the function again");
	return err ? err : 3;
}

/* ---- keys ---- */

static int write_file(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct top_screen *s = ctx;
	struct top *t = s->top;
	char ask[64], path[PATH_ROOM];
	u64 nr = 0;
	struct diag d;
	(void)page;
	(void)row;
	(void)title;
	(void)snprintf(ask, sizeof(ask), "write the last %llu s to: ",
		       (unsigned long long)(t->o->keep_ns / NS_PER_SEC));
	memcpy(path, s->path, sizeof(path));
	if (!tui_ask(ask, path, sizeof(path)) || !*path)
		return 3;
	memcpy(s->path, path, sizeof(path));
	diag_init(&d);
	int err = top_keep_write(t->keep, t->rec, path, &nr, &d);
	if (!err)
		strbuf_printf(to, "%s: %llu %s", path, (unsigned long long)nr,
			      str_plural(nr, "sample", "samples"));
	else if (d.items.nr)
		strbuf_str(to, d.items.at[d.items.nr - 1].message);
	diag_done(&d);
	return err ? err : 3;
}

static int look_again(struct top_screen *s, struct strbuf *to, const char *what, bool on)
{
	int err = top_look(s->top, false);
	strbuf_printf(to, "%s: %s", what, on ? "on" : "off");
	return err ? err : 3;
}

static int toggle_kernel(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct top_screen *s = ctx;
	bool *hide = &s->top->report_opts->hide_kernel;
	*hide = !*hide;
	return look_again(s, to, "kernel functions", !*hide);
}

static int toggle_user(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct top_screen *s = ctx;
	bool *hide = &s->top->report_opts->hide_user;
	*hide = !*hide;
	return look_again(s, to, "functions outside the kernel", !*hide);
}

static int toggle_zero(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct top_screen *s = ctx;
	s->top->o->zero = !s->top->o->zero;
	return look_again(s, to, "forget samples after each update", s->top->o->zero);
}

static int toggle_frozen(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct top_screen *s = ctx;
	s->top->frozen = !s->top->frozen;
	return look_again(s, to, "freeze the table", s->top->frozen);
}

static int ask_delay(void *ctx, u32 page, size_t row, struct strbuf *title, struct strbuf *to)
{
	struct top_screen *s = ctx;
	char text[32] = "";
	u64 ns = 0;
	if (!tui_ask("time between two updates: ", text, sizeof(text)) || !*text)
		return 3;
	if (clock_parse(text, &ns) || !ns) {
		strbuf_printf(to, "invalid time '%s'", text);
		return -EINVAL;
	}
	s->top->o->delay_ns = ns;
	s->top->next_ns = s->top->last_ns + ns;
	return 3;
}

int top_browse(struct top *t)
{
	static const struct tui_action actions[] = {
		{ 'a', "annotate the function while it runs", show_code },
		{ 'p', "write the last seconds as a perf.data", write_file, .no_row = true },
		{ 'K', "hide or show kernel functions", toggle_kernel, .no_row = true },
		{ 'U', "hide or show functions outside the kernel", toggle_user, .no_row = true },
		{ 'z', "forget samples after each update", toggle_zero, .no_row = true },
		{ 'f', "freeze the table", toggle_frozen, .no_row = true },
		{ 'i', "time between two updates", ask_delay, .no_row = true },
		{ 0 },
	};
	struct top_screen s = { .top = t, .path = "perf.data" };
	int err = list_pages(&s);
	s.tick_ns = clock_monotonic_ns() + (u64)TICK_MS * 1000000;
	s.config = (struct tui_config){
		.nr_pages = (u32)s.pages.nr,
		.open = open_page,
		.actions = actions,
		.ctx = &s,
		.fractal = t->report->cfg.fractal,
		.colour = t->tell.colour,
		.wait_ms = wait_ms,
		.tick = tick,
		.footer = footer,
		.note = note,
	};
	if (!err)
		err = top_step(t);
	if (!err)
		err = top_look(t, false);
	if (!err)
		err = s.pages.nr ? tui_tables(&s.config) : -ENOTTY;
	vec_free(&s.pages);
	return err;
}
