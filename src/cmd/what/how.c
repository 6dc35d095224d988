/* sonde how: what changed in a history of counters (what --record), and when. */
#include "analysis/changes.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/printable.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "session/what_busy.h"
#include "session/what_record.h"
#include "view/series_lines.h"

#include <errno.h>
#include <time.h>

enum { ROWS_MAX = 1 << 18, BUSY_SHOWN = 3 };

struct how_opts {
	const char *from, *to;
	u64 number;
};

static void how_defaults(void *opts)
{
	((struct how_opts *)opts)->number = 20;
}

/* clang-format off */
static const struct opt how_rows[] = {
	OPT_STR(0, "from", struct how_opts, from, "TIME", "Look from here: 14:05, -10m (before the end), or seconds since 1970"),
	OPT_STR(0, "to", struct how_opts, to, "TIME", "Look up to here"),
	OPT_UINT('n', "number", struct how_opts, number, "N", "Show the N largest changes (default: 20)"),
	OPT_END(),
};
/* clang-format on */

static void add_time(struct strbuf *to, u64 ns)
{
	time_t t = (time_t)(ns / NS_PER_SEC);
	struct tm tm;
	if (localtime_r(&t, &tm))
		strbuf_printf(to, "%02d-%02d %02d:%02d:%02d", tm.tm_mday, tm.tm_mon + 1, tm.tm_hour,
			      tm.tm_min, tm.tm_sec);
}

static void add_name(struct strbuf *to, const struct series_column *c)
{
	struct strbuf name;
	strbuf_init(&name);
	strbuf_printf(&name, "%s%s%s/%s", c->part.group, *c->part.row ? "/" : "", c->part.row,
		      c->key);
	printable_left(to, strbuf_cstr(&name), 28);
	strbuf_done(&name);
}

static void add_number(struct strbuf *to, double v, const struct series_column *c)
{
	struct series_look look = { .width = 10, .digits = 2 };
	if (c->look.base)
		look = (struct series_look){ .width = 5, .base = c->look.base };
	strbuf_char(to, ' ');
	if (look.width < 10)
		strbuf_fill(to, ' ', 10 - look.width);
	series_lines_number(v, &look, to);
}

/* What is not worth a name: less than half a percent of a CPU, less than 1 KB/s. */
static const double busy_least[WHAT_BUSY_NR] = { 0.5, 1024 };

/* " make/1234 98%, cc1/1240 12%"; " dd/77 12M/s". */
static int add_busy(const struct what_busy_log *log, const struct column_change *c,
		    enum what_busy by, struct strbuf *to)
{
	struct what_busy_found list[BUSY_SHOWN];
	const struct series_look size = { .width = 5, .base = 1024 };
	s64 nr = what_busy_find(log, by, c->from_ns, c->to_ns, list, BUSY_SHOWN);
	for (s64 i = 0; i < nr && list[i].mean >= busy_least[by]; i++) {
		strbuf_str(to, i ? ", " : " ");
		printable_add(to, list[i].name, strlen(list[i].name), 0);
		strbuf_printf(to, "/%d ", list[i].pid);
		if (by == WHAT_BUSY_CPU) {
			strbuf_printf(to, "%.0f%%", list[i].mean);
			continue;
		}
		struct strbuf number;
		strbuf_init(&number);
		series_lines_number(list[i].mean, &size, &number);
		const char *text = strbuf_cstr(&number);
		text += strspn(text, " ");
		strbuf_printf(to, "%.*s/s", (int)strcspn(text, " "), text);
		strbuf_done(&number);
	}
	return (int)min(nr, (s64)0);
}

static int show_text(const struct series *s, const struct what_busy_log *log,
		     const struct changes *found, size_t nr, struct strbuf *to)
{
	int err = 0;
	if (!s->nr_rows)
		return 0;
	bool busy = log->entries.nr;
	strbuf_printf(to, "%zu intervals from ", s->nr_rows);
	add_time(to, series_since(s, 0));
	strbuf_str(to, " to ");
	add_time(to, series_time(s, s->nr_rows - 1));
	strbuf_str(to, nr ? "\n\nCOLUMN                            USUAL     DURING UNIT     FROM  "
			    "         TO"
			  : "\nnothing stands out\n");
	if (nr)
		strbuf_str(to, busy ? "          BUSY THEN\n" : "\n");
	for (size_t i = 0; i < nr && !err; i++) {
		const struct column_change *c = &found->list.at[i];
		const struct series_column *column = &s->columns.at[c->column];
		add_name(to, column);
		add_number(to, c->usual, column);
		add_number(to, c->during, column);
		strbuf_char(to, ' ');
		strbuf_left(to, *column->unit ? column->unit : "-", 8);
		strbuf_char(to, ' ');
		add_time(to, c->from_ns);
		strbuf_char(to, ' ');
		add_time(to, c->to_ns);
		if (busy)
			err = add_busy(log, c, what_busy_of(log, column), to);
		strbuf_char(to, '\n');
	}
	return err;
}

static void json_seconds(struct json *j, const char *key, u64 ns)
{
	json_key(j, key);
	json_decimal(j, ns / NS_PER_SEC, ns % NS_PER_SEC, 9);
}

static int json_busy(struct json *j, const struct what_busy_log *log, const struct column_change *c,
		     enum what_busy by)
{
	struct what_busy_found list[BUSY_SHOWN];
	s64 nr = what_busy_find(log, by, c->from_ns, c->to_ns, list, BUSY_SHOWN);
	json_key(j, "processes");
	json_array(j);
	for (s64 i = 0; i < nr && list[i].mean >= busy_least[by]; i++) {
		json_object(j);
		json_put_s64(j, "pid", list[i].pid);
		json_put_str(j, "command", list[i].name);
		json_put_double(j, by == WHAT_BUSY_IO ? "io_bytes_per_s" : "cpu_percent",
				list[i].mean);
		json_object_end(j);
	}
	json_array_end(j);
	return (int)min(nr, (s64)0);
}

static int show_json(const struct series *s, const struct what_busy_log *log,
		     const struct changes *found, size_t nr, struct strbuf *to)
{
	int err = 0;
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "intervals", s->nr_rows);
	if (s->nr_rows) {
		json_seconds(&j, "from", series_since(s, 0));
		json_seconds(&j, "to", series_time(s, s->nr_rows - 1));
	}
	json_key(&j, "changes");
	json_array(&j);
	for (size_t i = 0; i < nr && !err; i++) {
		const struct column_change *c = &found->list.at[i];
		const struct series_column *column = &s->columns.at[c->column];
		json_object(&j);
		json_put_str(&j, "group", column->part.group);
		if (*column->part.row)
			json_put_str(&j, "row", column->part.row);
		json_put_str(&j, "column", column->key);
		json_put_str(&j, "unit", column->unit);
		json_put_double(&j, "usual", c->usual);
		json_put_double(&j, "during", c->during);
		json_seconds(&j, "from", c->from_ns);
		json_seconds(&j, "to", c->to_ns);
		json_put_double(&j, "score", c->score);
		if (log->entries.nr)
			err = json_busy(&j, log, c, what_busy_of(log, column));
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	int written = json_end(&j);
	return err ? err : written;
}

static int moment(struct app *app, const char *text, u64 end, u64 fallback, u64 *ret)
{
	*ret = fallback;
	if (!text || !what_moment(text, end, ret))
		return 0;
	return diag_error(&app->diag, -EINVAL, "invalid time '%s'", text);
}

/* The intervals that were asked for, in a series of their own. */
static int collect(struct app *app, const struct how_opts *o, struct what_engine *w,
		   struct what_replay *r, struct series *chosen, struct what_busy_log *log)
{
	u64 end = what_replay_ends(r), from, to, before = what_replay_began(r);
	int err = moment(app, o->from, end, 0, &from);
	if (!err)
		err = moment(app, o->to, end, UINT64_MAX, &to);
	vec_for_each (&w->series.columns, c)
		if (!err && !(err = series_column(chosen, c->name, c->key, c->unit, SERIES_GAUGE)))
			err = series_column_part(chosen, &c->part, &c->look);
	while (!err && (err = what_replay_next(r)) > 0) {
		size_t last = w->series.nr_rows - 1;
		u64 at = series_time(&w->series, last);
		union series_value *v;
		u64 since = min(before, at);
		err = 0;
		before = at;
		if (at < from || at > to)
			continue;
		err = what_busy_add(log, r, since, at);
		if (!err)
			err = series_row(chosen, at, &v);
		for (size_t i = 0; i < chosen->columns.nr && !err; i++)
			v[i].number = series_number(&w->series, last, i);
	}
	if (err == -EBADMSG) {
		diag_warn(&app->diag, "the recording is cut off");
		err = 0;
	}
	return err;
}

static int how_run(struct app *app, void *opts, int argc, char **argv)
{
	const struct how_opts *o = opts;
	struct sysroot root;
	struct what_engine w;
	struct series chosen;
	struct what_busy_log log;
	struct changes found = { 0 };
	if (!argc)
		return app_usage(app, "which recording? Name a FILE of 'sonde what --record'");
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	int err = sysroot_open(&root, NULL);
	if (err)
		return app_fail(app, err);
	what_init(&w, &root, 4);
	what_busy_init(&log);
	series_init(&chosen, ROWS_MAX, SERIES_KEEP_ALL_OF_IT);
	struct what_replay *r = what_replay_open(&w, argv[0], &app->diag);
	err = r ? collect(app, o, &w, r, &chosen, &log) : -EIO;
	if (!err)
		err = changes_find(&chosen, &found);
	if (!err) {
		size_t nr = min(found.list.nr, (size_t)o->number);
		if (app->json)
			err = show_json(&chosen, &log, &found, nr, &app->out);
		else
			err = show_text(&chosen, &log, &found, nr, &app->out);
	}
	int status = !err ? APP_DONE : err == -EINVAL ? app_usage_said(app) : app_fail(app, err);
	changes_done(&found);
	what_replay_close(r);
	series_done(&chosen);
	what_busy_done(&log);
	what_done(&w);
	sysroot_close(&root);
	return status;
}

static const struct opt_example how_examples[] = {
	{ "how day.data", "what changed in a day of 'what --record day.data', and when" },
	{ "how day.data --from 14:00 --to 15:00", "in one hour of it" },
	{ "how day.data -n 5 --json", "the five largest changes, for programs" },
	{ 0 },
};

const struct command command_how = {
	.name = "how",
	.group = "How did it develop",
	.summary = "what changed in a history of counters, and when",
	.usage = "[OPTIONS] FILE",
	.about = "FILE is a recording of `sonde what --record`. The usual value of a column is its "
		 "median; each line shows the stretch of time in which a column was farthest from "
		 "it, largest changes first, with the processes that used most CPU time in that "
		 "stretch, or most disk I/O for columns of disks (mean over the stretch; only "
		 "processes that `what --record` kept). `sonde what FILE --from TIME --to TIME` "
		 "shows "
		 "all "
		 "columns of such a stretch.",
	.examples = how_examples,
	.opts = how_rows,
	.opts_size = sizeof(struct how_opts),
	.defaults = how_defaults,
	.mixed_words = true,
	.run = how_run,
};
