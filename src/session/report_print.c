#include "session/report.h"

#include "session/perf_header.h"
#include "session/thread_counts.h"
#include "stream/replay_perf.h"
#include "view/json_table.h"
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

/* As perf names them; what only POWER tells is a column of its recordings alone. */
const char report_mem_keys[] = "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,"
			       "blocked,local_ins_lat,local_p_stage_cyc";

/* 148461 -> "148K", as perf shortens it. */
static void short_count(struct strbuf *to, u64 v)
{
	static const char units[] = " KMG";
	unsigned unit = 0;
	while (v > 1000 && unit < 3) {
		v /= 1000;
		unit++;
	}
	strbuf_u64(to, v);
	strbuf_char(to, units[unit]); /* a blank for single ones, as in perf */
}

static struct profile_totals shown_totals(const struct report *r, const struct shown *e)
{
	struct profile_totals sum = { 0 };
	for (u32 i = 0; i < e->nr; i++) {
		struct profile_totals t = profile_totals(r->profile, e->events[i]);
		sum.nr_samples += t.nr_samples;
		sum.period += t.period;
	}
	return sum;
}

/* "240  of event 'cycles'", or of events. */
static void shown_text(const struct report *r, const struct shown *e, struct strbuf *to)
{
	short_count(to, shown_totals(r, e).nr_samples);
	strbuf_printf(to, " of event%s '", e->nr > 1 ? "s" : "");
	if (e->nr > 1)
		strbuf_printf(to, "%s { ", e->group && *e->group ? e->group : "anon group");
	for (u32 i = 0; i < e->nr; i++)
		strbuf_printf(to, "%s%s", i ? ", " : "",
			      r->src->catalog.events.at[e->events[i]].name);
	strbuf_printf(to, "%s'", e->nr > 1 ? " }" : "");
}

void report_title(const struct report *r, const struct shown *e, struct strbuf *to)
{
	strbuf_str(to, "Samples: ");
	shown_text(r, e, to);
	strbuf_printf(to, ", event count (approx.): %llu",
		      (unsigned long long)shown_totals(r, e).period);
}

static void event_header(const struct report *r, const struct shown *e, struct strbuf *to)
{
	strbuf_str(to, "# Samples: ");
	shown_text(r, e, to);
	if (r->opts->choose.time)
		strbuf_printf(to, " (time slices: %s)", r->opts->choose.time);
	unsigned long long sum = shown_totals(r, e).period;
	if (r->opts->mem_mode)
		strbuf_printf(to, "\n# Total weight : %llu\n# Sort order   : %s", sum,
			      r->sort ? r->sort : report_mem_keys);
	else
		strbuf_printf(to, "\n# Event count (approx.): %llu", sum);
	if (r->opts->socket)
		strbuf_printf(to, "\n# Processor Socket: %lu", strtoul(r->opts->socket, NULL, 10));
	strbuf_str(to, "\n#\n");
}

int report_table(struct report *r, const struct shown *e, struct table *t)
{
	int err = r->opts->hierarchy ? profile_hierarchy(r->profile, e->events, e->nr, t)
		  : e->nr > 1	     ? profile_group_table(r->profile, e->events, e->nr, t)
				     : profile_table(r->profile, e->events[0], t);
	const char *at = r->opts->widths;
	for (size_t i = 0; at && *at && i < t->columns.nr; i++) {
		u32 width = (u32)strtoul(at, NULL, 10);
		if (width)
			t->columns.at[i].fixed_width = width;
		at += strcspn(at, ",");
		at += *at == ',';
	}
	if (r->opts->max_rows)
		t->nr_rows = min(t->nr_rows, r->opts->max_rows);
	return err;
}

static int print_event(struct report *r, const struct shown *e)
{
	struct strbuf *to = r->tell.out;
	const struct report_opts *o = r->opts;
	struct table t;
	table_init(&t);
	int err = report_table(r, e, &t);
	struct view_style style = { .table = {
					    .separator = o->separator,
					    .header = !o->quiet,
					    .min_percent = r->min_percent,
					    .graph = o->graph.form,
					    .value = o->graph.value,
					    .graph_limit = o->graph.limit,
					    .hide_own = r->own_first,
				    } };
	if (!o->quiet && !o->csv)
		event_header(r, e, to);
	if (!err)
		err = (o->csv ? &view_csv : &view_text)->table(&t, &style, to);
	strbuf_str(to, o->csv ? "" : "\n\n");
	table_done(&t);
	return err;
}

/* Calls back for each event, or each group of them. */
int report_each(struct report *r, int (*fn)(struct report *r, const struct shown *e))
{
	u32 nr = (u32)r->src->catalog.events.nr;
	int err = 0;
	for (u32 i = 0; i < nr && !err;) {
		struct shown e = { .events = { i }, .nr = 1 };
		struct source_group g;
		if (r->opts->group && source_group(r->src, i, &g)) {
			e.group = g.name;
			for (e.nr = 0; e.nr < min(g.nr, (u32)EVENTS_MAX); e.nr++)
				e.events[e.nr] = i + e.nr;
		}
		bool any = false;
		for (u32 k = 0; k < e.nr; k++)
			any |= profile_totals(r->profile, e.events[k]).nr_samples > 0;
		if (any || nr == 1)
			err = fn(r, &e);
		i += e.nr;
	}
	return err;
}

int report_head(struct report *r)
{
	bool perf = source_facts(r->src).kind == SOURCE_PERF;
	if (r->opts->header || r->opts->header_only)
		return perf_header_text(r->src, r->opts->input, r->opts->header_full, r->tell.out);
	if (!r->opts->quiet && !r->opts->csv && perf)
		strbuf_printf(r->tell.out,
			      "# To display the perf.data header info, please use "
			      "%s options.\n#\n",
			      diag_option(r->tell.diag, DIAG_OPT_HEADER));
	if (r->opts->header_full && perf)
		perf_header_stream_text(r->src, r->tell.out);
	return 0;
}

static void say_elided(struct report *r)
{
	vec_for_each (&r->elided, line)
		if (!r->opts->quiet && !r->opts->csv)
			strbuf_printf(r->tell.out, "# %s: %s\n", line->what, line->word);
}

static void add_kind(struct strbuf *to, const char *word, u64 nr, u64 all)
{
	if (nr)
		strbuf_printf(to, "\n%8s: %5.1f%%", word, 100.0 * (double)nr / (double)all);
}

/* Below the tables: which kinds of branches there were. Each is a part of all, so that together they are more. */
static void add_branch_kinds(struct report *r)
{
	const struct profile_branches *b = profile_branches(r->profile);
	struct strbuf *to = r->tell.out;
	enum { LAST = ARRAY_SIZE(b->kinds) - 1 };
	if (!b->nr || r->opts->quiet || r->opts->csv)
		return;
	strbuf_str(to, "\n#\n# Branch Statistics:\n#");
	add_kind(to, "COND_FWD", b->forward, b->nr);
	add_kind(to, "COND_BWD", b->backward, b->nr);
	add_kind(to, "CROSS_4K", b->cross_4k, b->nr);
	add_kind(to, "CROSS_2M", b->cross_2m, b->nr);
	for (u32 i = 0; i < LAST; i++)
		add_kind(to, branch_type_word(i, 0), b->kinds[i], b->nr);
	for (u32 i = 0; i <= LAST; i++)
		add_kind(to, branch_type_word(LAST, i), b->more[i], b->nr);
	strbuf_char(to, '\n');
}

static int add_threads(struct report *r)
{
	size_t nr;
	int err = thread_counts_text(r->src, !strcmp(r->opts->pretty, "raw"), r->tell.out, &nr);
	if (!err && !nr) {
		diag_warn(r->tell.diag, "no thread counts in the recording");
		diag_hint(r->tell.diag,
			  "record them with sonde record -s; counts are recorded when threads "
			  "exit, never for the first thread of a process");
	}
	return err;
}

int report_text_tables(struct report *r)
{
	say_elided(r);
	return report_each(r, print_event);
}

int report_text(struct report *r)
{
	int err = report_head(r);
	if (err)
		return err;
	say_elided(r);
	if (!r->opts->quiet && !r->opts->csv)
		strbuf_printf(r->tell.out, "#\n# Total Lost Samples: %llu\n#\n",
			      (unsigned long long)r->src->catalog.nr_lost);
	err = report_each(r, print_event);
	add_branch_kinds(r);
	return err || !r->opts->threads || r->opts->csv ? err : add_threads(r);
}

static int json_event(struct report *r, const struct shown *e)
{
	struct json *j = r->json;
	const struct catalog *c = &r->src->catalog;
	struct profile_totals totals = shown_totals(r, e);
	struct table t;
	table_init(&t);
	int err = report_table(r, e, &t);
	json_object(j);
	json_put_str(j, "event", c->events.at[e->events[0]].name);
	if (e->nr > 1) {
		json_key(j, "group");
		json_array(j);
		for (u32 i = 0; i < e->nr; i++)
			json_str(j, c->events.at[e->events[i]].name);
		json_array_end(j);
	}
	json_put_u64(j, "samples", totals.nr_samples);
	json_put_u64(j, "period", totals.period);
	json_key(j, "rows");
	if (!err)
		err = json_table(&t, r->min_percent, j);
	json_object_end(j);
	table_done(&t);
	return err;
}

int report_json_tables(struct report *r, struct json *j)
{
	r->json = j;
	json_put_u64(j, "lost", r->src->catalog.nr_lost);
	json_key(j, "events");
	json_array(j);
	int err = report_each(r, json_event);
	json_array_end(j);
	return err;
}

int report_json(struct report *r)
{
	struct json j;
	json_begin(&j, r->tell.out, JSON_PRETTY);
	json_object(&j);
	int err = report_json_tables(r, &j);
	if (r->opts->threads)
		json_key(&j, "threads");
	if (r->opts->threads && !err)
		err = thread_counts_json(r->src, &j);
	json_object_end(&j);
	int end = json_end(&j);
	return err ? err : end;
}
