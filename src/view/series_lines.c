#include "view/series_lines.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/printable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- numbers ---- */

static const char *const colours[] = { "\x1b[31m", "\x1b[33m", "\x1b[32m",
				       "\x1b[36m", "\x1b[35m", "\x1b[34m" };
#define PLAIN "\x1b[0m"
#define DIM   "\x1b[2m"

/* As many places as fit beside the whole part, without zeros at the end that say nothing. */
static int fit(char *to, size_t size, double v, unsigned width, unsigned digits)
{
	int n = 0;
	for (int places = (int)digits; places >= 0; places--) {
		n = snprintf(to, size, "%.*f", places, v);
		if (n <= (int)width)
			break;
	}
	return n;
}

/* 1536 in base 1024: "1536B", in base 1000: "1536 "; 84,000: "84k ". Three figures at least, if they fit. */
static void scaled_number(double v, const struct series_look *look, struct strbuf *to)
{
	static const char letters[] = " kMGTPE";
	char text[48];
	unsigned width = look->width - 1, step = 0;
	double most = pow(10, width);
	while (v >= most - 0.5 && letters[step + 1]) {
		v /= look->base;
		step++;
	}
	bool whole = v == floor(v) || (!step && v >= 10);
	int n = fit(text, sizeof(text), v, width, whole ? 0 : width > 3 ? 1 : 0);
	strbuf_fill(to, ' ', width > (unsigned)n ? width - (unsigned)n : 0);
	strbuf_add(to, text, (size_t)n);
	strbuf_char(to, !step && look->base == 1024 && v > 0 ? 'B' : letters[step]);
}

void series_lines_number(double v, const struct series_look *look, struct strbuf *to)
{
	char text[64];
	unsigned width = max(look->width, (u8)1);
	if (isnan(v)) {
		bool letter = look->base != 0;
		strbuf_fill(to, ' ', width - 1 - (width > 1 && letter));
		strbuf_char(to, '-');
		if (width > 1 && letter)
			strbuf_char(to, ' ');
		return;
	}
	if (look->base && width > 1) {
		scaled_number(v, look, to);
		return;
	}
	/* Whole numbers are rounded as others print them; what has places keeps them, unless they do not fit. */
	int n = look->digits ? fit(text, sizeof(text), v, width, look->digits)
			     : snprintf(text, sizeof(text), "%.0f", v);
	strbuf_fill(to, ' ', width > (unsigned)n ? width - (unsigned)n : 0);
	strbuf_add(to, text, (size_t)n);
}

static const char *colour_of(double v, const struct series_column *c)
{
	if (isnan(v) || v == 0)
		return DIM;
	if (!strcmp(c->unit, "%"))
		return colours[v >= 67 ? 0 : v >= 34 ? 1 : 2];
	unsigned step = 2;
	for (double base = c->look.base ? c->look.base : 1000; v >= base && step < 5; v /= base)
		step++;
	return colours[step];
}

static void put_number(double v, const struct series_column *c, const struct series_lines *o,
		       struct strbuf *to)
{
	if (o->colour)
		strbuf_str(to, colour_of(v, c));
	series_lines_number(v, &c->look, to);
	if (o->colour)
		strbuf_str(to, PLAIN);
}

/* ---- lines ---- */

enum { STAMP_WIDTH = 8 };

static void put_time(u64 ns, bool dated, struct strbuf *to)
{
	time_t t = (time_t)(ns / NS_PER_SEC);
	struct tm tm;
	if (!localtime_r(&t, &tm))
		return;
	if (dated)
		strbuf_printf(to, "%02d-%02d ", tm.tm_mday, tm.tm_mon + 1);
	strbuf_printf(to, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* What is left over is put to the left where both are odd. */
static void centre(struct strbuf *to, const char *text, unsigned width, char c)
{
	unsigned len = (unsigned)strlen(text), pad = width > len ? width - len : 0;
	unsigned left = pad / 2 + (pad & width & 1);
	strbuf_fill(to, c, left);
	for (unsigned i = 0; i < len && i < width; i++) {
		char at = text[i] == ' ' ? c : text[i];
		printable_name_len(to, &at, 1);
	}
	strbuf_fill(to, c, pad - left);
}

static bool new_part(const struct series *s, size_t i)
{
	/* Texts of a part are kept once. */
	return !i || s->columns.at[i].part.title != s->columns.at[i - 1].part.title;
}

static unsigned part_width(const struct series *s, size_t from, size_t *end)
{
	unsigned width = 0;
	size_t i = from;
	do
		width += s->columns.at[i].look.width + 1;
	while (++i < s->columns.nr && !new_part(s, i));
	*end = i;
	return width - 1;
}

/* Parts of one group are separated by a colon, groups by a bar. */
static char between(const struct series *s, size_t i, const struct series_lines *o)
{
	if (o->plain || !new_part(s, i))
		return ' ';
	return strcmp(s->columns.at[i].part.group, s->columns.at[i - 1].part.group) ? '|' : ':';
}

/* ---- the process beside them ---- */

enum { COMMAND_WIDTH = 15, PID_WIDTH = 7, CPU_WIDTH = 4 };
enum { PROCESS_WIDTH = COMMAND_WIDTH + 1 + PID_WIDTH + 1 + CPU_WIDTH };

static void end_of_head(const struct series *s, const struct series_lines *o, bool second,
			struct strbuf *to)
{
	if (o->process) {
		if (s->columns.nr)
			strbuf_char(to, second && !o->plain ? '|' : ' ');
		if (second)
			strbuf_printf(to, "%-*s %*s %*s", COMMAND_WIDTH, "process", PID_WIDTH,
				      "pid", CPU_WIDTH, "cpu");
		else
			centre(to, "most expensive", PROCESS_WIDTH, '-');
	}
	strbuf_char(to, '\n');
}

static void end_of_line(const struct series *s, const struct series_lines *o, struct strbuf *to)
{
	const struct series_process *p = o->process;
	if (p && s->columns.nr)
		strbuf_char(to, o->plain ? ' ' : '|');
	if (p && p->pid) {
		printable_left(to, p->command, COMMAND_WIDTH);
		strbuf_printf(to, " %*d %*.0f", PID_WIDTH, p->pid, CPU_WIDTH, p->cpu_percent);
	} else if (p) {
		strbuf_char(to, '-');
	}
	strbuf_char(to, '\n');
}

void series_lines_head(const struct series *s, const struct series_lines *o, struct strbuf *to)
{
	if (o->dated)
		strbuf_str(to, "----system---- ");
	if (o->stamped)
		strbuf_fill(to, ' ', STAMP_WIDTH + 1);
	for (size_t i = 0, end; i < s->columns.nr; i = end) {
		unsigned width = part_width(s, i, &end);
		centre(to, s->columns.at[i].part.title, width, '-');
		if (end < s->columns.nr)
			strbuf_char(to, ' ');
	}
	end_of_head(s, o, false, to);
	if (o->dated)
		strbuf_str(to, "     time     |");
	if (o->stamped)
		strbuf_fill(to, ' ', STAMP_WIDTH + 1);
	for (size_t i = 0; i < s->columns.nr; i++) {
		if (i)
			strbuf_char(to, between(s, i, o));
		if (o->plain)
			strbuf_right(to, s->columns.at[i].name, s->columns.at[i].look.width);
		else
			centre(to, s->columns.at[i].name, s->columns.at[i].look.width, ' ');
	}
	end_of_head(s, o, true, to);
}

void series_lines_values(const struct series *s, const double *values, const char *stamp,
			 const struct series_lines *o, struct strbuf *to)
{
	if (stamp) {
		strbuf_str(to, stamp);
		strbuf_char(to, o->dated ? '|' : ' ');
	}
	for (size_t i = 0; i < s->columns.nr; i++) {
		if (i)
			strbuf_char(to, between(s, i, o));
		put_number(values[i], &s->columns.at[i], o, to);
	}
	strbuf_char(to, '\n');
}

static void put_row(const struct series *s, size_t row, const struct series_lines *o,
		    struct strbuf *to)
{
	for (size_t i = 0; i < s->columns.nr; i++) {
		if (i)
			strbuf_char(to, between(s, i, o));
		put_number(series_number(s, row, i), &s->columns.at[i], o, to);
	}
	end_of_line(s, o, to);
}

void series_lines_row(const struct series *s, size_t row, const struct series_lines *o,
		      struct strbuf *to)
{
	if (o->dated) {
		put_time(series_time(s, row), true, to);
		strbuf_char(to, '|');
	}
	if (o->stamped) {
		put_time(series_time(s, row), false, to);
		strbuf_char(to, ' ');
	}
	put_row(s, row, o, to);
}

/* ---- a line for each part ---- */

enum { FIRST_WIDTH = 12 };

void series_lines_table(const struct series *s, size_t row, const char *first, const char *stamp,
			const double *values, const struct series_lines *o, struct strbuf *to)
{
	size_t end = 0;
	if (!s->columns.nr)
		return;
	(void)part_width(s, 0, &end);
	if (o->stamped)
		strbuf_fill(to, ' ', STAMP_WIDTH + 1);
	printable_left(to, first, FIRST_WIDTH);
	for (size_t i = 0; i < end; i++) {
		strbuf_char(to, ' ');
		strbuf_right(to, s->columns.at[i].name, s->columns.at[i].look.width);
	}
	strbuf_char(to, '\n');
	for (size_t i = 0; i < s->columns.nr; i++) {
		if (new_part(s, i)) {
			if (stamp)
				strbuf_left(to, stamp, STAMP_WIDTH + 1);
			else if (o->stamped) {
				put_time(series_time(s, row), false, to);
				strbuf_char(to, ' ');
			}
			printable_left(to, s->columns.at[i].part.title, FIRST_WIDTH);
		}
		strbuf_char(to, ' ');
		put_number(values ? values[i] : series_number(s, row, i), &s->columns.at[i], o, to);
		if (i + 1 == s->columns.nr || new_part(s, i + 1))
			strbuf_char(to, '\n');
	}
}

/* ---- for programs ---- */

static void csv_text(struct strbuf *to, const char *text)
{
	if (!strpbrk(text, ",\"\n\r")) {
		strbuf_str(to, text);
		return;
	}
	strbuf_char(to, '"');
	for (; *text; text++) {
		if (*text == '"')
			strbuf_char(to, '"');
		strbuf_char(to, *text);
	}
	strbuf_char(to, '"');
}

void series_lines_csv_head(const struct series *s, const struct series_process *p, struct strbuf *to)
{
	struct strbuf name;
	strbuf_init(&name);
	strbuf_str(to, "time");
	for (size_t i = 0; i < s->columns.nr; i++) {
		const struct series_column *c = &s->columns.at[i];
		strbuf_reset(&name);
		strbuf_printf(&name, "%s%s%s/%s", c->part.group, *c->part.row ? "/" : "",
			      c->part.row, c->key);
		strbuf_char(to, ',');
		csv_text(to, strbuf_cstr(&name));
	}
	if (p)
		strbuf_str(to, ",top_process/pid,top_process/command,top_process/cpu");
	strbuf_char(to, '\n');
	strbuf_done(&name);
}

void series_lines_csv(const struct series *s, size_t row, const struct series_process *p,
		      struct strbuf *to)
{
	clock_add_sec(to, series_time(s, row), 3);
	for (size_t i = 0; i < s->columns.nr; i++) {
		double v = series_number(s, row, i);
		strbuf_char(to, ',');
		if (!isnan(v))
			strbuf_printf(to, "%.10g", v);
	}
	if (p && p->pid) {
		strbuf_printf(to, ",%d,", p->pid);
		csv_text(to, p->command);
		strbuf_printf(to, ",%.10g", p->cpu_percent);
	} else if (p) {
		strbuf_str(to, ",,,");
	}
	strbuf_char(to, '\n');
}

int series_lines_json(const struct series *s, size_t row, double interval_s, bool since_boot,
		      const struct series_process *p, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_COMPACT);
	json_object(&j);
	json_key(&j, "time");
	json_decimal(&j, series_time(s, row) / NS_PER_SEC, series_time(s, row) % NS_PER_SEC, 9);
	json_put_double(&j, "interval_s", interval_s);
	json_put_bool(&j, "since_boot", since_boot);
	bool in_rows = false;
	for (size_t i = 0; i < s->columns.nr; i++) {
		const struct series_column *c = &s->columns.at[i];
		bool part = new_part(s, i);
		bool group = part && (!i || strcmp(c->part.group, c[-1].part.group));
		if (part && i) {
			json_object_end(&j);
			if (group && in_rows)
				json_object_end(&j);
		}
		if (group) {
			in_rows = *c->part.row;
			json_key(&j, c->part.group);
			if (in_rows)
				json_object(&j);
		}
		if (part && in_rows)
			json_key(&j, c->part.row);
		if (part)
			json_object(&j);
		json_put_double(&j, c->key, series_number(s, row, i));
	}
	if (s->columns.nr) {
		json_object_end(&j);
		if (in_rows)
			json_object_end(&j);
	}
	if (p && p->pid) {
		json_key(&j, "top_process");
		json_object(&j);
		json_put_s64(&j, "pid", p->pid);
		json_put_str(&j, "command", p->command);
		json_put_double(&j, "cpu", p->cpu_percent);
		json_object_end(&j);
	}
	json_object_end(&j);
	return json_end(&j);
}
