#include "session/top_page.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "view/html_live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	NS_PER_MS = 1000000,
	HOST_SIZE = 65,
	ANSWER_BYTES =
		1 << 20, /* about; for the rest the page asks again. Limits what a client that never reads can hold */
	STEP_MS = 250,
};

/* ---- collecting ---- */

struct page_adding {
	struct top_page *page;
	struct top_naming naming;
	bool begun;
};

static int begin_interval(struct top_page *p)
{
	const struct top *t = p->top;
	double seconds = (double)t->interval_ns / 1e9;
	u64 lost = u64_less(t->seen_lost, p->seen_lost);
	p->seen_lost = t->seen_lost;
	return top_window_begin(
		&p->window,
		&(struct top_interval){ .ms = clock_ns(CLOCK_REALTIME) / NS_PER_MS,
					.samples_per_s =
						seconds > 0 ? (double)t->nr_samples / seconds : 0,
					.kernel_percent = t->kernel_percent,
					.lost_per_s = seconds > 0 ? (double)lost / seconds : 0 });
}

/* The first stack comes when numbers and names of the interval are known. */
static int add_stack(void *ctx, const struct profile_live_stack *s)
{
	struct page_adding *a = ctx;
	int err = a->begun ? 0 : begin_interval(a->page);
	a->begun = true;
	return err ? err : top_window_add(&a->page->window, &a->naming, s);
}

static int look(struct top_page *p)
{
	struct top *t = p->top;
	struct page_adding a = { .page = p,
				 .naming = { .catalog = &t->report->src->catalog,
					     .tables = &t->tables,
					     .named = &t->named,
					     .hide_kernel = t->report->opts->hide_kernel,
					     .hide_user = t->report->opts->hide_user } };
	int err = top_stacks(t, add_stack, &a);
	if (!err && !a.begun)
		err = begin_interval(p);
	if (!err)
		err = top_window_tidy(&p->window);
	return err ? err : what_watch_read(&p->tasks);
}

/* When all tasks have ended the page still has what was seen. */
static int on_step(void *ctx, u64 expired)
{
	struct top_page *p = ctx;
	struct top *t = p->top;
	bool was_over = t->over;
	(void)expired;
	int err = was_over ? 0 : top_step(t);
	if (!err && !was_over && (t->over || clock_monotonic_ns() >= t->next_ns))
		err = look(p);
	return err;
}

int top_page_open(struct top_page *p, struct top *t, const struct sysroot *root, struct loop *l)
{
	u64 step_ns = min(t->o->delay_ns / 2, (u64)STEP_MS * NS_PER_MS);
	step_ns = max(step_ns, (u64)10 * NS_PER_MS);
	*p = (struct top_page){ .top = t, .tasks = { .root = root, .delay_ns = t->o->delay_ns } };
	int err = top_window_init(&p->window, &(struct top_window_limits){ 0 });
	return err ? err : loop_add_timer(l, step_ns, step_ns, on_step, p, NULL);
}

void top_page_close(struct top_page *p)
{
	what_watch_done(&p->tasks);
	top_window_done(&p->window);
}

/* ---- pages ---- */

static int main_page(void *ctx, const struct http_request *q, struct strbuf *to)
{
	const struct top_page *p = ctx;
	char host[HOST_SIZE] = "", title[HOST_SIZE + 16];
	struct strbuf about, events;
	struct json j;
	(void)q;
	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(title, sizeof(title), "sonde top: %s", host);
	strbuf_init(&about);
	strbuf_init(&events);
	top_events_text(p->top, &events);
	json_begin(&j, &about, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "host", host);
	json_put_u64(&j, "delay_ms", p->top->o->delay_ns / NS_PER_MS);
	json_put_bool(&j, "profile", true);
	json_put_str(&j, "events", strbuf_cstr(&events));
	json_put_str(&j, "target", p->top->o->target);
	json_object_end(&j);
	int err = json_end(&j);
	if (!err)
		err = html_live(title, &about, to);
	strbuf_done(&about);
	strbuf_done(&events);
	return err;
}

static void put_columns(struct json *j)
{
	static const struct {
		const char *title, *key, *unit, *about;
	} columns[] = {
		{ "samples", "samples", "1/s", "samples that came, of all CPUs" },
		{ "in the kernel", "kernel", "%", "share of the samples that hit kernel code" },
		{ "lost", "lost", "1/s", "records that the kernel dropped because a ring was full" },
	};
	json_key(j, "columns");
	json_array(j);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		json_object(j);
		json_put_str(j, "title", columns[i].title);
		json_put_str(j, "key", columns[i].key);
		json_put_str(j, "unit", columns[i].unit);
		json_put_str(j, "about", columns[i].about);
		json_object_end(j);
	}
	json_array_end(j);
}

/* From the first one that the page does not have; returns whether these are all. */
static bool put_frames(const struct top_window *w, u64 from, struct json *j)
{
	size_t i = (size_t)from;
	json_key(j, "frames");
	json_array(j);
	for (; i < w->frames.nr && j->to->len < ANSWER_BYTES; i++) {
		const struct top_frame *f = &w->frames.at[i];
		json_array(j);
		json_str(j, strtab_str(&w->strings, f->name));
		json_str(j, strtab_str(&w->strings, f->module));
		json_u64(j, f->kind);
		json_array_end(j);
	}
	json_array_end(j);
	return i >= w->frames.nr;
}

static size_t first_after(const struct top_window *w, u64 since_ms)
{
	size_t i = w->intervals.nr;
	while (i && w->intervals.at[i - 1].ms > since_ms)
		i--;
	return i;
}

static void put_nodes(const struct top_interval *i, struct json *j)
{
	json_array(j);
	for (size_t k = 1; k < i->nodes.nr; k++) {
		json_u64(j, i->nodes.at[k].parent);
		json_u64(j, i->nodes.at[k].frame);
		json_u64(j, i->nodes.at[k].self);
	}
	json_array_end(j);
}

/* Rows and, in the same order, their stacks. Returns whether these are all. */
static bool put_intervals(const struct top_window *w, size_t from, struct json *j)
{
	size_t until = from, nodes = 0;
	enum { NODE_BYTES = 16 }; /* more or less, as text */
	while (until < w->intervals.nr &&
	       (until == from || j->to->len + nodes * NODE_BYTES < ANSWER_BYTES))
		nodes += w->intervals.at[until++].nodes.nr;
	json_key(j, "rows");
	json_array(j);
	for (size_t i = from; i < until; i++) {
		const struct top_interval *v = &w->intervals.at[i];
		json_array(j);
		json_u64(j, v->ms);
		json_double(j, v->samples_per_s);
		json_double(j, v->kernel_percent);
		json_double(j, v->lost_per_s);
		json_array_end(j);
	}
	json_array_end(j);
	json_key(j, "stacks");
	json_array(j);
	for (size_t i = from; i < until; i++)
		put_nodes(&w->intervals.at[i], j);
	json_array_end(j);
	json_key(j, "cut");
	json_array(j);
	for (size_t i = from; i < until; i++)
		json_u64(j, w->intervals.at[i].nr_cut);
	json_array_end(j);
	return until >= w->intervals.nr;
}

static int number_of(const struct http_request *q, const char *name, u64 fallback, u64 *ret)
{
	const char *text = http_argument(q, name);
	*ret = fallback;
	return text && strcmp(text, "-1") ? num_parse_u64(text, 10, ret) : 0;
}

/* ?generation=N&frames=N&since=MS: a page that knows other numbers of frames gets everything. */
static int data_page(void *ctx, const struct http_request *q, struct strbuf *to)
{
	struct top_page *p = ctx;
	const struct top_window *w = &p->window;
	u64 since, frames, generation;
	struct json j;
	if (number_of(q, "since", 0, &since) || number_of(q, "frames", 0, &frames) ||
	    number_of(q, "generation", UINT64_MAX, &generation))
		return -EINVAL;
	bool same = generation == w->generation && frames <= w->frames.nr;
	json_begin(&j, to, JSON_COMPACT);
	json_object(&j);
	json_put_u64(&j, "generation", w->generation);
	json_put_bool(&j, "over", p->top->over);
	if (!same)
		put_columns(&j);
	bool all = put_frames(w, same ? frames : 0, &j);
	size_t from = all ? first_after(w, same ? since : 0) : w->intervals.nr;
	bool whole = put_intervals(w, from, &j) && all;
	json_put_bool(&j, "more", !whole);
	what_watch_json(&p->tasks, &j);
	json_object_end(&j);
	return json_end(&j);
}

const struct http_route top_page_routes[] = {
	{ "/", "text/html; charset=utf-8", main_page },
	{ "/data", "application/json", data_page },
	{ 0 },
};
