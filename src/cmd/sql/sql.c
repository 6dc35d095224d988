/* `sonde sql`: a recording as tables. */
#include "base/clock.h"
#include "base/json.h"
#include "base/printable.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "session/query.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { QUERY_FILE_MAX = 1 << 20 };

struct sql_verb_opts {
	const char *input, *file;
	struct symbol_opts symbols;
	u64 memory, timeout_s;
	bool csv, schema, list;
};

struct sql_call {
	struct app *app;
	const struct sql_verb_opts *o;
	const char *path;
	struct strbuf text; /* the statements */
	u64 until_ns; /* 0: no limit */
};

/* ---- what there is ---- */

static void put_name(struct strbuf *to, const char *name, int width)
{
	size_t before = to->len;
	printable_name(to, name);
	for (size_t n = to->len - before; n < (size_t)width; n++)
		strbuf_char(to, ' ');
}

static void schema_text(const struct query *q, struct strbuf *to)
{
	for (size_t i = 0; i < query_nr_tables(q); i++) {
		const struct query_table *t = query_table_at(q, i);
		strbuf_str(to, i ? "\n" : "");
		put_name(to, t->name, 0);
		strbuf_printf(to, ": %s\n", t->about);
		for (u32 c = 0; c < t->nr_columns; c++) {
			if (!*t->columns[c].name)
				continue;
			strbuf_str(to, "    ");
			put_name(to, t->columns[c].name, 15);
			strbuf_char(to, ' ');
			put_name(to, t->columns[c].help, 0);
			strbuf_char(to, '\n');
		}
	}
	if (!q)
		strbuf_str(
			to,
			"\nEach tracepoint of a recording is a table too, named after the event: "
			"sched_switch, \"sched:sched_switch\".\nIts columns are time_ns, cpu, pid, "
			"tid, comm, the event's fields, args, stack_id and stack; a field that "
			"has\n"
			"one of these names becomes arg_NAME. --schema FILE lists them.\n");
}

static int schema_json(const struct query *q, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_key(&j, "tables");
	json_array(&j);
	for (size_t i = 0; i < query_nr_tables(q); i++) {
		const struct query_table *t = query_table_at(q, i);
		json_object(&j);
		json_put_str(&j, "name", t->name);
		json_put_str(&j, "about", t->about);
		json_key(&j, "columns");
		json_array(&j);
		for (u32 c = 0; c < t->nr_columns; c++) {
			if (!*t->columns[c].name)
				continue;
			json_object(&j);
			json_put_str(&j, "name", t->columns[c].name);
			json_put_str(&j, "about", t->columns[c].help);
			json_object_end(&j);
		}
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

static int list_json(struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_key(&j, "questions");
	json_array(&j);
	for (const struct query_view *v = query_views; v->name; v++) {
		json_object(&j);
		json_put_str(&j, "name", v->name);
		json_put_str(&j, "question", v->question);
		json_put_str(&j, "sql", v->sql);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

static int list(struct app *app)
{
	if (app->json)
		return list_json(&app->out);
	for (const struct query_view *v = query_views; v->name; v++) {
		strbuf_printf(&app->out, "%-20s %s\n", v->name, v->question);
		if (app->verbose)
			strbuf_printf(&app->out, "    %s\n\n", v->sql);
	}
	return 0;
}

/* ---- statements ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = 1;
}

static bool stopped(void *ctx)
{
	const struct sql_call *c = ctx;
	return interrupted || (c->until_ns && clock_monotonic_ns() > c->until_ns);
}

/* The rows so far are printed; a second Ctrl-C ends us at once. */
static void catch_interrupt(void)
{
	struct sigaction sa = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };
	struct sigaction now;
	if (!sigaction(SIGINT, NULL, &now) && now.sa_handler == SIG_DFL)
		(void)sigaction(SIGINT, &sa, NULL);
}

/* "-": standard input. 0 or negative errno with a diag. */
static int read_file(struct sql_call *c, const char *path)
{
	bool in = !strcmp(path, "-");
	_cleanup_close_ int fd = in ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	char part[4096];
	ssize_t n = fd < 0 ? -1 : 0;
	while (fd >= 0 && (n = read(fd, part, sizeof(part))) > 0) {
		strbuf_add(&c->text, part, (size_t)n);
		if (c->text.len > QUERY_FILE_MAX)
			return diag_error(&c->app->diag, -E2BIG, "%s: longer than %d bytes", path,
					  QUERY_FILE_MAX);
	}
	if (n < 0)
		return diag_error(&c->app->diag, -errno, "cannot read %s: %s", path,
				  strerror(errno));
	return 0;
}

/* A predefined query by its name, and statements as they are. */
static void add_statement(struct sql_call *c, const char *text)
{
	const struct query_view *v = query_view_find(text);
	strbuf_str(&c->text, c->text.len ? ";\n" : "");
	if (v)
		strbuf_printf(&c->text, "select * from %s", v->name);
	else
		strbuf_str(&c->text, text);
}

static void add_hint(struct sql_call *c, int err)
{
	struct diag *d = &c->app->diag;
	if (err == -E2BIG && d->nr_errors)
		diag_hint(d, "select fewer rows, or allow more with --memory SIZE");
	if (err == -ENOENT && d->nr_errors)
		diag_hint(d, "'sonde sql --schema %s' lists tables and columns", c->path);
}

static int run_statements(struct sql_call *c, struct query *q)
{
	struct app *app = c->app;
	enum query_format format = app->json   ? QUERY_JSON
				   : c->o->csv ? QUERY_CSV
					       : QUERY_TEXT_TABLE;
	struct query_printer *p = query_printer_new(format, &app->out);
	if (!p)
		return -ENOMEM;
	struct query_sink to = query_printer_sink(p);
	int err = query_run(q, strbuf_cstr(&c->text), &to);
	if (err && err != -EINTR)
		add_hint(c, err);
	int end = query_printer_end(p);
	query_printer_free(p);
	query_report(q);
	return err ? err : end;
}

static int run_query(struct sql_call *c)
{
	struct app *app = c->app;
	struct query *q;
	struct query_opts qo = { .path = c->path,
				 .symbols = &c->o->symbols,
				 .memory = c->o->memory,
				 .stopped = stopped,
				 .ctx = c };
	if (c->o->timeout_s)
		c->until_ns =
			clock_monotonic_ns() + min(c->o->timeout_s, (u64)UINT32_MAX) * 1000000000;
	catch_interrupt();
	int err = query_open(&q, app_symbols(app), &qo);
	if (err)
		return err;
	if (c->o->schema && app->json)
		err = schema_json(q, &app->out);
	else if (c->o->schema)
		schema_text(q, &app->out);
	else
		err = run_statements(c, q);
	query_close(q);
	if (err != -EINTR)
		return err;
	if (interrupted)
		app->die_of = SIGINT;
	return interrupted ? 0
			   : diag_error(&app->diag, -ETIME, "stopped after %llu seconds",
					(unsigned long long)c->o->timeout_s);
}

static int take_words(struct sql_call *c, int argc, char **argv)
{
	struct app *app = c->app;
	const struct sql_verb_opts *o = c->o;
	c->path = o->input;
	if (!c->path && argc) {
		c->path = *argv++;
		argc--;
	}
	if (o->schema && argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	if (c->path && !strcmp(c->path, "-"))
		return app_usage(app, "a recording is read several times: a file is needed, not a "
				      "stream");
	if (o->file && read_file(c, o->file))
		return APP_FAILED;
	for (int i = 0; i < argc; i++)
		add_statement(c, argv[i]);
	if (!o->schema && (!c->path || !c->text.len))
		return app_usage(app, !c->path ? "expected FILE and a statement"
					       : "expected a statement, or a name from --list");
	if (memchr(c->text.data ? c->text.data : "", '\0', c->text.len))
		return app_usage(app, "statements contain a NUL byte");
	return 0;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	const struct sql_verb_opts *o = opts;
	struct sql_call c = { .app = app, .o = o };
	int err = 0;
	strbuf_init(&c.text);
	int status = o->list ? 0 : take_words(&c, argc, argv);
	if (status) {
		strbuf_done(&c.text);
		return status;
	}
	if (o->list)
		err = list(app);
	else if (c.path)
		err = run_query(&c);
	else if (app->json)
		err = schema_json(NULL, &app->out);
	else
		schema_text(NULL, &app->out);
	strbuf_done(&c.text);
	return err ? app_fail(app, err) : APP_DONE;
}

static void defaults(void *opts)
{
	struct sql_verb_opts *o = opts;
	o->memory = 1 << 30;
	o->symbols.min_unnamed = SYMBOLS_MIN_UNNAMED;
}

/* clang-format off */
static const struct opt rows[] = {
	OPT_STR('i', "input", struct sql_verb_opts, input, "FILE", "recording: a perf.data or a trace.dat; all arguments are then statements"),
	OPT_STR('f', "file", struct sql_verb_opts, file, "QUERYFILE", "read statements from QUERYFILE, - for standard input"),
	OPT_FLAG(0, "list", struct sql_verb_opts, list, "list the predefined queries; with -v their SQL"),
	OPT_FLAG(0, "schema", struct sql_verb_opts, schema, "list tables and columns; with FILE also those of its events"),
	OPT_FLAG(0, "csv", struct sql_verb_opts, csv, "print CSV with a line of column names"),
	OPT_SIZE(0, "memory", struct sql_verb_opts, memory, "SIZE", "memory for sorting and grouping (1G)"),
	OPT_UINT(0, "timeout", struct sql_verb_opts, timeout_s, "SECONDS", "stop a statement after this time"),
	SYMBOL_OPT_ROWS(struct sql_verb_opts, symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "sql --list", "the predefined queries" },
	{ "sql perf.data top_functions", "one of them" },
	{ "sql perf.data 'select comm, count(*) from samples group by comm'",
	  "samples by name of the thread" },
	{ "sql trace.dat 'select next_comm, count(*) from sched_switch group by 1 order by 2 desc'",
	  "fields of an event are columns" },
	{ "sql trace.dat 'select * from intervals where dur_ns >= 1e6'",
	  "when threads ran, waited for a CPU, or were blocked for a millisecond or more" },
	{ "sql --schema perf.data", "all tables and columns of a recording" },
	{ 0 },
};

const struct command command_sql = {
	.name = "sql",
	.group = "Why",
	.summary = "query a recording with SQL",
	.usage = "[OPTIONS] FILE STATEMENT... | --list | --schema [FILE]",
	.about = "Samples, events with their fields, what threads did, system calls, tasks and "
		 "call "
		 "stacks of a perf.data or trace.dat are tables. They are read while a statement "
		 "runs; nothing is copied or stored. A condition on time_ns or on event lets all "
		 "other samples be skipped. Statements can only select.\nTwo tables of samples are "
		 "joined by reading one again for each row of the other; materialize one first: "
		 "with w as materialized (select ... from sched_waking) select ... from w join "
		 "...\nTimes are "
		 "nanoseconds, durations too; addresses are signed, as all integers in sqlite: "
		 "printf('%x', ip).\n\nTables (sonde sql --schema lists their columns):\n"
		 " samples    every sample of the recording, of all events\n"
		 " events     samples of tracepoints\n"
		 " EVENT      one tracepoint, with its fields: sched_switch, "
		 "\"sched:sched_switch\"\n"
		 " intervals  what each thread did: running, ready, blocked, and who woke it\n"
		 " syscalls   system calls that ended, with their time and result\n"
		 " tasks      threads with samples\n"
		 " stacks     the functions of each call stack\n"
		 " recording  what the recording says about itself",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct sql_verb_opts),
	.defaults = defaults,
	.mixed_words = true,
	.run = run,
};
