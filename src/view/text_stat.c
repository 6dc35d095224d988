/*
 * Widths, from perf 6.1:
 *
 *	|     0.050091612 |CPU0       |            104.26 msec |task-clock                      | #    2.085 CPUs utilized
 *	 time 16 and blank  key        value 18, blank, unit, blank  name 32 (25 without a count)  ratio 35
 *
 * Behind the ratio: "  ( +-  2.32% )" for several runs, "  (58.33%)" for a counter that shared the hardware.
 */
#include "view/text_stat.h"

#include "base/printable.h"

#include <math.h>
#include <stdio.h>

enum {
	COMM_WIDTH = 16,
	VALUE_WIDTH = 18,
	UNIT_WIDTH = 4,
	NAME_WIDTH = 32,
	NAME_WIDTH_BARE = 25, /* where there is no count */
	RATIO_WIDTH = 35,
	BELOW_WIDTH = 49, /* to the '#' of a ratio below its row; */
	BELOW_WIDTH_CPU = 57, /* with -A */
	COLUMN_WIDTH = 20, /* of --metric-only */
	SECONDS_WIDTH = 17,
	TABLE_STEP_PERCENT = 5, /* a '#' of --table */
};

/* Bytes of digits and separators for the whole part of a number, from the right. */
static size_t group_digits(const struct stat_digits *g, const char *digits, size_t len, char *to,
			   size_t size)
{
	size_t at = size, left = (u8)g->grouping[0], sep = strlen(g->separator);
	const char *next = g->grouping;
	for (size_t i = len; i-- > 0;) {
		if (sep && *g->grouping && !left && at > sep) {
			at -= sep;
			memcpy(to + at, g->separator, sep);
			if (next[1])
				next++;
			left = (u8)*next;
		}
		if (!at)
			break;
		to[--at] = digits[i];
		if (left)
			left--;
	}
	return at;
}

/* Columns that text takes: UTF-8 separators are longer than they look. */
static size_t columns_of(const char *s, size_t len)
{
	size_t n = 0;
	for (size_t i = 0; i < len; i++)
		n += ((u8)s[i] & 0xc0) != 0x80;
	return n;
}

static void add_padded(struct strbuf *to, const char *s, size_t len, size_t width)
{
	size_t have = columns_of(s, len);
	strbuf_fill(to, ' ', width > have ? width - have : 0);
	strbuf_add(to, s, len);
}

static void add_value(const struct stat_view *v, double value, unsigned decimals)
{
	char plain[400], text[800];
	int n = snprintf(plain, sizeof(plain), "%.*f", (int)decimals, value);
	size_t len = n > 0 && n < (int)sizeof(plain) ? (size_t)n : 0;
	size_t whole = strcspn(plain, ".");
	size_t sign = plain[0] == '-';
	size_t room = sizeof(text) / 2;
	size_t at = group_digits(&v->digits, plain + sign, whole - sign, text, room);
	if (sign && at)
		text[--at] = '-';
	size_t end = room;
	if (whole < len) {
		const char *point = *v->digits.point ? v->digits.point : ".";
		memcpy(text + end, point, strlen(point));
		end += strlen(point);
		memcpy(text + end, plain + whole + 1, len - whole - 1);
		end += len - whole - 1;
	}
	add_padded(v->to, text + at, end - at, VALUE_WIDTH);
}

static void add_decimal(const struct stat_view *v, const char *text)
{
	size_t whole = strcspn(text, ".");
	strbuf_add(v->to, text, whole);
	if (text[whole]) {
		strbuf_str(v->to, *v->digits.point ? v->digits.point : ".");
		strbuf_str(v->to, text + whole + 1);
	}
}

#define add_percent(v, format, value)                                                              \
	do {                                                                                       \
		char text_[400];                                                                   \
		(void)snprintf(text_, sizeof(text_), format, value);                               \
		add_decimal(v, text_);                                                             \
	} while (0)

static void add_time(const struct stat_view *v, const struct stat_head *h)
{
	if (h->interval)
		strbuf_printf(v->to, "%6llu.%09llu ", (unsigned long long)(h->time_ns / 1000000000),
			      (unsigned long long)(h->time_ns % 1000000000));
}

static void add_key(const struct stat_view *v, const struct stat_head *h, const struct stat_row *row)
{
	const struct stat_key *k = &h->keys[row->key];
	struct strbuf *to = v->to;
	switch (h->by) {
	case STAT_BY_ALL: return;
	case STAT_BY_CPU: strbuf_printf(to, "CPU%-7d ", k->cpu); return;
	case STAT_BY_CORE:
		strbuf_printf(to, "S%d-D%d-C%-8d %4u ", k->socket, k->die, k->core, row->nr_places);
		return;
	case STAT_BY_DIE:
		strbuf_printf(to, "S%d-D%-8d %4u ", k->socket, k->die, row->nr_places);
		return;
	case STAT_BY_SOCKET: strbuf_printf(to, "S%-5d %4u ", k->socket, row->nr_places); return;
	case STAT_BY_NODE: strbuf_printf(to, "N%-5d %4u ", k->node, row->nr_places); return;
	case STAT_BY_THREAD:
		printable_right(to, k->comm, COMM_WIDTH);
		strbuf_printf(to, "-%-8d ", k->tid);
		return;
	}
}

static size_t unit_width(const struct stat_head *h)
{
	size_t width = UNIT_WIDTH;
	for (size_t i = 0; i < h->nr_events; i++)
		width = max(width, strlen(h->events[i].unit));
	return width;
}

static void format_ratio(const struct stat_ratio *r, char *text, size_t size)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(text, size, r->format, r->value);
#pragma GCC diagnostic pop
}

static void add_ratio(const struct stat_view *v, const struct stat_ratio *r)
{
	static const char *const colours[] = { "", "\033[33m", "\033[35m", "\033[31m" };
	char number[64];
	bool colour = v->colour && r->colour != STAT_PLAIN;
	format_ratio(r, number, sizeof(number));
	strbuf_str(v->to, " # ");
	if (colour)
		strbuf_str(v->to, colours[r->colour]);
	add_decimal(v, number);
	if (colour)
		strbuf_str(v->to, "\033[m");
	strbuf_char(v->to, ' ');
	size_t used = 3 + strlen(number) + 1;
	strbuf_left(v->to, r->unit, used < RATIO_WIDTH ? RATIO_WIDTH - used : 0);
}

static void add_no_ratio(const struct stat_view *v)
{
	strbuf_fill(v->to, ' ', RATIO_WIDTH);
}

static void add_ratios(const struct stat_view *v, const struct stat_head *h,
		       const struct stat_rows *rows, const struct stat_row *row)
{
	bool first = true;
	for (u32 i = 0; i < row->nr_ratios; i++) {
		const struct stat_ratio *r = &rows->ratios.at[row->first_ratio + i];
		if (!r->shown)
			continue;
		if (!first) {
			strbuf_char(v->to, '\n');
			add_time(v, h);
			add_key(v, h, row);
			strbuf_fill(v->to, ' ',
				    h->by == STAT_BY_CPU ? BELOW_WIDTH_CPU : BELOW_WIDTH);
		}
		add_ratio(v, r);
		first = false;
	}
	if (first)
		add_no_ratio(v);
}

static void add_row(const struct stat_view *v, const struct stat_head *h,
		    const struct stat_rows *rows, const struct stat_row *row, size_t units)
{
	const struct stat_event *e = &h->events[row->event];
	struct strbuf *to = v->to;
	bool counted = row->state == STAT_COUNTED;
	add_time(v, h);
	add_key(v, h, row);
	if (counted)
		add_value(v, row->value, stat_view_decimals(e));
	else
		strbuf_right(to,
			     row->state == STAT_NOT_SUPPORTED ? "<not supported>" : "<not counted>",
			     VALUE_WIDTH);
	strbuf_char(to, ' ');
	strbuf_left(to, e->unit, units);
	strbuf_char(to, ' ');
	printable_left(to, e->name, counted ? NAME_WIDTH : NAME_WIDTH_BARE);
	if (e->cgroup) {
		strbuf_char(to, ' ');
		printable_name(to, e->cgroup);
	}
	if (counted)
		add_ratios(v, h, rows, row);
	else
		add_no_ratio(v);
	if (counted && h->nr_runs > 1 && row->noise > 0)
		add_percent(v, "  ( +-%6.2f%% )", row->noise);
	if (row->running_ns < row->enabled_ns)
		add_percent(v, "  (%.2f%%)", stat_view_share(row));
	strbuf_char(to, '\n');
}

/* --metric-only: a line for each key. */
static void add_column_rows(const struct stat_view *v, const struct stat_head *h,
			    const struct stat_rows *rows)
{
	for (u32 key = 0; key < h->nr_keys; key++) {
		bool first = true;
		vec_for_each (&rows->rows, row) {
			if (row->key != key)
				continue;
			if (first) {
				add_time(v, h);
				add_key(v, h, row);
				first = false;
			}
			for (u32 i = 0; i < row->nr_ratios; i++) {
				const struct stat_ratio *r = &rows->ratios.at[row->first_ratio + i];
				if (!stat_view_is_column(r))
					continue;
				struct strbuf name;
				char number[64] = "";
				strbuf_init(&name);
				stat_view_column(h, row, r, &name);
				if (r->shown)
					format_ratio(r, number, sizeof(number));
				strbuf_fill(v->to, ' ',
					    max(name.len, (size_t)COLUMN_WIDTH) - strlen(number));
				add_decimal(v, number);
				strbuf_char(v->to, ' ');
				strbuf_done(&name);
			}
		}
		if (!first)
			strbuf_char(v->to, '\n');
	}
}

void text_stat_rows(const struct stat_view *v, const struct stat_head *h,
		    const struct stat_rows *rows)
{
	if (h->ratios_only) {
		add_column_rows(v, h, rows);
		return;
	}
	size_t units = unit_width(h);
	vec_for_each (&rows->rows, row)
		add_row(v, h, rows, row, units);
}

/* What stands above the keys; the last column's end is where a key's field ends. */
static void add_key_head(const struct stat_view *v, const struct stat_head *h)
{
	static const char *const heads[] = {
		[STAT_BY_ALL] = "",
		[STAT_BY_CPU] = "CPU        ",
		[STAT_BY_CORE] = "core            cpus ",
		[STAT_BY_DIE] = "die          cpus ",
		[STAT_BY_SOCKET] = "socket cpus ",
		[STAT_BY_NODE] = "node   cpus ",
		[STAT_BY_THREAD] = "            comm-pid      ",
	};
	strbuf_str(v->to, heads[h->by]);
}

static void add_column_names(const struct stat_view *v, const struct stat_head *h,
			     const struct stat_rows *rows)
{
	if (!rows->rows.nr)
		return;
	u32 key = rows->rows.at[0].key;
	vec_for_each (&rows->rows, row) {
		for (u32 i = 0; row->key == key && i < row->nr_ratios; i++) {
			const struct stat_ratio *r = &rows->ratios.at[row->first_ratio + i];
			if (!stat_view_is_column(r))
				continue;
			struct strbuf name;
			strbuf_init(&name);
			stat_view_column(h, row, r, &name);
			strbuf_right(v->to, strbuf_cstr(&name), COLUMN_WIDTH);
			strbuf_char(v->to, ' ');
			strbuf_done(&name);
		}
	}
}

void text_stat_columns(const struct stat_view *v, const struct stat_head *h,
		       const struct stat_rows *rows)
{
	if (h->interval)
		strbuf_str(v->to, "#           time ");
	add_key_head(v, h);
	if (h->ratios_only) {
		add_column_names(v, h, rows);
	} else {
		strbuf_str(v->to, "            counts ");
		strbuf_left(v->to, "unit", unit_width(h));
		strbuf_str(v->to, " events");
	}
	strbuf_char(v->to, '\n');
}

void text_stat_title(const struct stat_view *v, const char *target, u32 nr_runs)
{
	strbuf_str(v->to, "\n Performance counter stats for ");
	printable_name(v->to, target);
	if (nr_runs > 1)
		strbuf_printf(v->to, " (%u runs)", nr_runs);
	strbuf_str(v->to, ":\n\n");
}

static void add_seconds(const struct stat_view *v, int width, int decimals, double s)
{
	char text[64];
	(void)snprintf(text, sizeof(text), "%*.*f", width, decimals, s);
	add_decimal(v, text);
}

/* As many decimals as show three figures of the error. */
static int decimals_for(double error)
{
	if (error >= 1 || !(error > 0))
		return error > 0 ? 2 : 6;
	return min((int)ceil(-log10(error)) + 2, 9);
}

static void add_table(const struct stat_view *v, const struct stat_times *t, int decimals)
{
	struct strbuf *to = v->to;
	size_t indent = (size_t)(SECONDS_WIDTH - 1 - decimals); /* where "0.001" begins */
	strbuf_fill(to, ' ', indent);
	strbuf_str(to, "# Table of individual measurements:\n");
	for (u32 i = 0; i < t->nr_runs; i++) {
		double run = t->elapsed_s[i], off = run - t->mean_s;
		double percent = run > 0 ? 100 * off / run : 0;
		strbuf_char(to, ' ');
		add_seconds(v, SECONDS_WIDTH, decimals, run);
		strbuf_str(to, off < 0 ? " (-" : " (+");
		add_seconds(v, 0, decimals, fabs(off));
		strbuf_str(to, ") ");
		strbuf_fill(to, '#',
			    1 + (size_t)min(fabs(trunc(percent)), 400.) / TABLE_STEP_PERCENT);
		strbuf_char(to, '\n');
	}
	strbuf_char(to, '\n');
	strbuf_fill(to, ' ', indent);
	strbuf_str(to, "# Final result:\n");
}

static void add_runs(const struct stat_view *v, const struct stat_times *t)
{
	int decimals = decimals_for(t->error_s);
	if (t->table)
		add_table(v, t, decimals);
	strbuf_char(v->to, ' ');
	add_seconds(v, SECONDS_WIDTH, decimals, t->mean_s);
	strbuf_str(v->to, " +- ");
	add_seconds(v, 0, decimals, t->error_s);
	strbuf_str(v->to, " seconds time elapsed");
	if (t->mean_s > 0)
		add_percent(v, "  ( +-%6.2f%% )", 100 * t->error_s / t->mean_s);
	strbuf_char(v->to, '\n');
}

void text_stat_times(const struct stat_view *v, const struct stat_times *t)
{
	if (t->nr_runs > 1) {
		add_runs(v, t);
	} else {
		strbuf_char(v->to, ' ');
		add_seconds(v, SECONDS_WIDTH, 9, t->mean_s);
		strbuf_str(v->to, " seconds time elapsed\n");
	}
	if (t->has_usage) {
		strbuf_str(v->to, "\n ");
		add_seconds(v, SECONDS_WIDTH, 9, t->user_s);
		strbuf_str(v->to, " seconds user\n ");
		add_seconds(v, SECONDS_WIDTH, 9, t->system_s);
		strbuf_str(v->to, " seconds sys\n\n");
	}
	strbuf_char(v->to, '\n');
}
