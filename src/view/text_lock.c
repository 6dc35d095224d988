#include "view/text_lock.h"

#include "base/printable.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

enum { COUNT_WIDTH = 10, TIME_WIDTH = 12, NAME_WIDTH = 20, NAME_CUT = 16 };

static const struct {
	const char *title;
	int width;
} columns[LOCK_NR_KEYS] = {
	[LOCK_ACQUIRED] = { "acquired", COUNT_WIDTH },
	[LOCK_CONTENDED] = { "contended", COUNT_WIDTH },
	[LOCK_AVG_WAIT] = { "avg wait", TIME_WIDTH },
	[LOCK_WAIT_TOTAL] = { "total wait", TIME_WIDTH },
	[LOCK_WAIT_MAX] = { "max wait", TIME_WIDTH },
	[LOCK_WAIT_MIN] = { "min wait", TIME_WIDTH },
};

/* perf divides as float: the second decimal of large numbers shows it. */
static void add_time(struct strbuf *to, u64 ns)
{
	static const struct {
		float base;
		const char *unit;
	} units[] = { { 1e9f * 3600, "h " },
		      { 1e9f * 60, "m " },
		      { 1e9f, "s " },
		      { 1e6f, "ms" },
		      { 1e3f, "us" } };
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if ((float)ns >= units[i].base) {
			float value = (float)ns / units[i].base;
			strbuf_printf(to, "%*.2f %s", TIME_WIDTH - 3, (double)value, units[i].unit);
			return;
		}
	strbuf_printf(to, "%*llu ns", TIME_WIDTH - 3, (ull)ns);
}

static void add_columns(const struct lock_row *r, const struct text_lock_style *s, struct strbuf *to)
{
	for (u32 i = 0; i < s->nr_keys; i++) {
		u64 value = lock_value(r, s->keys[i]);
		if (columns[s->keys[i]].width == TIME_WIDTH)
			add_time(to, value);
		else
			strbuf_printf(to, "%*llu", COUNT_WIDTH, (ull)value);
		strbuf_char(to, ' ');
	}
}

static void add_titles(const struct text_lock_style *s, struct strbuf *to)
{
	for (u32 i = 0; i < s->nr_keys; i++)
		strbuf_printf(to, "%*s ", columns[s->keys[i]].width, columns[s->keys[i]].title);
}

/* Sequences with a step that cannot have been: how many rows have one, and at which event. */
static void add_broken(const struct lock_rows *r, const struct text_lock_style *s, struct strbuf *to)
{
	static const char *const names[LOCK_NR_BROKEN] = { "acquire", "acquired", "contended",
							   "release" };
	u64 at[LOCK_NR_BROKEN] = { 0 }, nr = 0;
	vec_for_each (&r->list, row) {
		if (row->sum.broken)
			at[row->sum.broken - 1]++;
		nr += row->sum.broken != 0;
	}
	if (!nr && !s->always_debug)
		return;
	strbuf_str(to, "\n=== output for debug===\n\n");
	strbuf_printf(to, "bad: %llu, total: %llu\nbad rate: %.2f %%\n", (ull)nr, (ull)r->list.nr,
		      r->list.nr ? (double)nr / (double)r->list.nr * 100 : 0);
	strbuf_str(to, "histogram of events caused bad sequence\n");
	for (int i = 0; i < LOCK_NR_BROKEN; i++)
		strbuf_printf(to, " %10s: %llu\n", names[i], (ull)at[i]);
}

static void add_name(const char *name, struct strbuf *to)
{
	if (strlen(name) < NAME_WIDTH) {
		printable_right(to, name, NAME_WIDTH);
		strbuf_char(to, ' ');
		return;
	}
	strbuf_char(to, ' ');
	printable_name_len(to, name, NAME_CUT);
	strbuf_str(to, "... ");
}

void text_lock_report(const struct lock_rows *r, const struct text_lock_style *s, struct strbuf *to)
{
	u64 nr = 0;
	strbuf_printf(to, "%*s ", NAME_WIDTH, "Name");
	add_titles(s, to);
	strbuf_str(to, "\n\n");
	vec_for_each (&r->list, row) {
		if (!row->sum.nr_acquired)
			continue;
		add_name(row->name, to);
		add_columns(row, s, to);
		strbuf_char(to, '\n');
		if (++nr == s->max_rows)
			break;
	}
	add_broken(r, s, to);
}

static void end_line(const char *name, struct strbuf *to)
{
	printable_name(to, name);
	strbuf_char(to, '\n');
}

static void add_place(const struct lock_row *row, const struct text_lock_style *s, struct strbuf *to)
{
	if (s->group == LOCK_BY_THREAD)
		strbuf_printf(to, "  %10d   ", row->tid);
	else if (s->group == LOCK_BY_ADDRESS)
		strbuf_printf(to, "  %016llx   ", (ull)row->address);
	else
		strbuf_printf(to, "  %10s   ", row->type);
	if (s->group == LOCK_BY_ADDRESS) {
		printable_name(to, row->symbol ? row->symbol : "");
		strbuf_printf(to, " (%s)\n", row->type);
	} else {
		end_line(s->group == LOCK_BY_THREAD ? row->name : row->caller, to);
	}
}

void text_lock_contention(const struct lock_rows *r, const struct text_lock_style *s,
			  struct strbuf *to)
{
	u64 nr = 0;
	add_titles(s, to);
	if (s->group == LOCK_BY_THREAD)
		strbuf_printf(to, "  %10s   %s\n\n", "pid", "comm");
	else if (s->group == LOCK_BY_ADDRESS)
		strbuf_printf(to, "  %16s   %s\n\n", "address", "symbol");
	else
		strbuf_printf(to, "  %10s   %s\n\n", "type", "caller");
	vec_for_each (&r->list, row) {
		if (!row->sum.total_ns)
			continue;
		add_columns(row, s, to);
		add_place(row, s, to);
		if (s->stack)
			s->stack(s->ctx, row, to);
		if (++nr == s->max_rows)
			break;
	}
	add_broken(r, s, to);
}

static int by_tid(const void *pa, const void *pb)
{
	const struct lock_row *a = *(const struct lock_row *const *)pa,
			      *b = *(const struct lock_row *const *)pb;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int by_class(const void *pa, const void *pb)
{
	const struct lock_row *a = *(const struct lock_row *const *)pa,
			      *b = *(const struct lock_row *const *)pb;
	int names = strcmp(a->name, b->name);
	return names ? names : (a->address > b->address) - (a->address < b->address);
}

/* The rows in another order than they are kept in; the caller's to free. */
static const struct lock_row **ordered(const struct lock_rows *r,
				       int (*compare)(const void *, const void *))
{
	const struct lock_row **rows = calloc(r->list.nr + 1, sizeof(*rows));
	for (size_t i = 0; rows && i < r->list.nr; i++)
		rows[i] = &r->list.at[i];
	if (rows)
		qsort(rows, r->list.nr, sizeof(*rows), compare);
	return rows;
}

void text_lock_threads(const struct lock_rows *r, struct strbuf *to)
{
	const struct lock_row **rows = ordered(r, by_tid);
	strbuf_printf(to, "%10s: comm\n", "Thread ID");
	for (size_t i = 0; rows && i < r->list.nr; i++) {
		strbuf_printf(to, "%10d: ", rows[i]->tid);
		end_line(rows[i]->name, to);
	}
	free(rows);
}

void text_lock_classes(const struct lock_rows *r, struct strbuf *to)
{
	const struct lock_row **rows = ordered(r, by_class);
	strbuf_str(to, "Address of instance: name of class\n");
	for (size_t i = 0; rows && i < r->list.nr; i++) {
		strbuf_printf(to, " 0x%llx: ", (ull)rows[i]->address);
		end_line(rows[i]->name, to);
	}
	free(rows);
}
