/* `sonde lock`: who waits for which kernel lock, and for how long. */
#include "base/json.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/record/preset.h"
#include "session/lock_run.h"
#include "view/text_lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PERF_STACK_SKIP = 3 };

struct lock_opts {
	const char *input;
	struct symbol_opts symbols;
	const char *key, *fields;
	u64 max_rows;
	u64 stack_skip;
	bool stack_skip_given;
	bool by_thread, by_address, by_name;
	bool threads, classes; /* of info */
	bool force, bpf, owner;
};

struct lock_call {
	struct app *app;
	const struct lock_opts *o;
	struct lock_run run;
	struct lock_rows rows;
};

static void lock_defaults(void *opts)
{
	((struct lock_opts *)opts)->input = "perf.data";
}

/* ---- columns ---------------------------------------------------------------------------------------------------- */

/* "contended,wait_max": 0, or a usage status. */
static int parse_fields(struct app *app, const char *text, struct text_lock_style *s)
{
	s->nr_keys = 0;
	while (*text) {
		size_t len = strcspn(text, ",");
		int key = lock_key_find(text, len);
		if (key < 0)
			return app_usage(app, "-F: unknown field '%.*s'", (int)len, text);
		bool there = false;
		for (u32 i = 0; i < s->nr_keys; i++)
			there |= s->keys[i] == (enum lock_key)key;
		if (!there)
			s->keys[s->nr_keys++] = (enum lock_key)key;
		text += len + (text[len] == ',');
	}
	return s->nr_keys ? 0 : app_usage(app, "-F: expected names of fields");
}

static int parse_key(struct app *app, const char *text, enum lock_key *ret)
{
	int key = lock_key_find(text, strlen(text));
	if (key < 0) {
		diag_error(&app->diag, -EINVAL, "-k: unknown key '%s'", text);
		diag_hint(&app->diag, "keys: acquired, contended, avg_wait, wait_total, wait_max, "
				      "wait_min");
		return app_usage_said(app);
	}
	*ret = (enum lock_key)key;
	return 0;
}

/* ---- printing --------------------------------------------------------------------------------------------------- */

/* perf prints these results where messages go. */
static struct strbuf *results(struct app *app)
{
	return app->dialect->perf_closing_lines ? &app->err : &app->out;
}

static void put_row(struct json *j, const struct lock_row *r, enum lock_group group)
{
	char hex[24];
	(void)snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)r->address);
	json_object(j);
	if (group == LOCK_BY_THREAD)
		json_put_s64(j, "tid", r->tid);
	else if (group != LOCK_BY_NAME)
		json_put_str(j, "address", hex);
	json_put_str(j, "name", r->name);
	if (group != LOCK_BY_THREAD) {
		json_put_str(j, "type", r->type);
		json_put_str(j, "caller", r->caller);
		json_put_str(j, "symbol", r->symbol);
	}
	for (int key = 0; key < LOCK_NR_KEYS; key++) {
		char name[32];
		bool time = key >= LOCK_AVG_WAIT;
		(void)snprintf(name, sizeof(name), "%s%s", lock_key_name((enum lock_key)key),
			       time ? "_ns" : "");
		json_put_u64(j, name, lock_value(r, (enum lock_key)key));
	}
	json_put_bool(j, "broken", r->sum.broken);
	json_object_end(j);
}

static int print_json(struct lock_call *c, enum lock_group group, u64 max_rows)
{
	struct json j;
	u64 nr = 0;
	json_begin(&j, &c->app->out, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "events", c->rows.nr_events);
	json_put_u64(&j, "lost", c->run.src->catalog.nr_lost);
	json_put_u64(&j, "unfinished_waits", c->rows.nr_open);
	json_key(&j, "locks");
	json_array(&j);
	vec_for_each (&c->rows.list, r) {
		put_row(&j, r, group);
		if (++nr == max_rows)
			break;
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

static void add_stack(void *ctx, const struct lock_row *r, struct strbuf *to)
{
	lock_run_stack(&((struct lock_call *)ctx)->run, r, to);
}

static void report_losses(struct lock_call *c)
{
	struct diag *d = &c->app->diag;
	unsigned long long lost = c->run.src->catalog.nr_lost;
	if (!c->rows.nr_events) {
		diag_warn(d, "no lock events in the recording");
		diag_hint(d, "record them with 'lock record -- COMMAND'");
	}
	if (lost)
		diag_warn(d, "%llu %s lost: waits may be missing, or too long", lost,
			  str_plural(lost, "record was", "records were"));
}

/* ---- the commands ----------------------------------------------------------------------------------------------- */

static int open_recording(struct lock_call *c, int argc, char **argv)
{
	struct app *app = c->app;
	const struct lock_opts *o = c->o;
	struct lock_run_opts ro = { .input = argc ? argv[0] : o->input, .symbols = o->symbols };
	/* perf counts frames, whether they belong to the lock or not. */
	ro.stack_skip = o->stack_skip_given ? (u32)min(o->stack_skip, (u64)UINT32_MAX)
			: app->dialect->perf_closing_lines ? PERF_STACK_SKIP
							   : 0;
	return lock_run(&c->run, app_symbols(app), &ro);
}

static int make_rows(struct lock_call *c, enum lock_group group)
{
	lock_rows_done(&c->rows);
	return lock_table(c->run.waits, &c->run.env, group, &c->rows);
}

static int show_table(struct lock_call *c, struct text_lock_style *s, enum lock_key key,
		      bool contention, int argc, char **argv)
{
	struct app *app = c->app;
	int err = open_recording(c, argc, argv);
	if (!err)
		err = make_rows(c, s->group);
	if (!err) {
		lock_rows_sort(&c->rows, key);
		report_losses(c);
		s->max_rows = c->o->max_rows;
		s->ctx = c;
		if (app->json)
			err = print_json(c, s->group, s->max_rows);
		else if (contention)
			text_lock_contention(&c->rows, s, results(app));
		else
			text_lock_report(&c->rows, s, results(app));
	}
	lock_rows_done(&c->rows);
	lock_run_done(&c->run);
	return err ? app_fail(app, err) : APP_DONE;
}

static int report_run(struct app *app, void *opts, int argc, char **argv)
{
	app->diag.recorder = "lock record -- COMMAND";
	const struct lock_opts *o = opts;
	struct lock_call c = { .app = app, .o = o };
	enum lock_key key = LOCK_ACQUIRED;
	struct text_lock_style s = {
		.group = o->by_thread ? LOCK_BY_THREAD
			 : o->by_name ? LOCK_BY_NAME
				      : LOCK_BY_ADDRESS,
		.keys = { LOCK_ACQUIRED, LOCK_CONTENDED, LOCK_AVG_WAIT, LOCK_WAIT_TOTAL,
			  LOCK_WAIT_MAX, LOCK_WAIT_MIN },
		.nr_keys = LOCK_NR_KEYS,
		.always_debug = app->verbose && app->dialect->perf_closing_lines,
	};
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	int status = o->key ? parse_key(app, o->key, &key) : 0;
	if (!status && o->fields)
		status = parse_fields(app, o->fields, &s);
	return status ? status : show_table(&c, &s, key, false, argc, argv);
}

static int contention_run(struct app *app, void *opts, int argc, char **argv)
{
	app->diag.recorder = "lock record -- COMMAND";
	const struct lock_opts *o = opts;
	struct lock_call c = { .app = app, .o = o };
	enum lock_key key = LOCK_WAIT_TOTAL;
	struct text_lock_style s = {
		.group = o->by_thread	 ? LOCK_BY_THREAD
			 : o->by_address ? LOCK_BY_ADDRESS
					 : LOCK_BY_CALLER,
		.keys = { LOCK_CONTENDED, LOCK_WAIT_TOTAL, LOCK_WAIT_MAX, LOCK_AVG_WAIT },
		.nr_keys = 4,
		.always_debug = app->verbose && app->dialect->perf_closing_lines,
	};
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	if (o->by_thread && o->by_address)
		return app_usage(app, "-t or -l, not both");
	s.stack = app->verbose && s.group == LOCK_BY_CALLER ? add_stack : NULL;
	int status = o->key ? parse_key(app, o->key, &key) : 0;
	if (!status && o->fields)
		status = parse_fields(app, o->fields, &s);
	return status ? status : show_table(&c, &s, key, true, argc, argv);
}

static int put_info(struct lock_call *c, struct json *j, const char *key, enum lock_group group)
{
	int err = make_rows(c, group);
	json_key(j, key);
	json_array(j);
	for (size_t i = 0; !err && i < c->rows.list.nr; i++) {
		const struct lock_row *r = &c->rows.list.at[i];
		char hex[24];
		(void)snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)r->address);
		json_object(j);
		if (group == LOCK_BY_THREAD)
			json_put_s64(j, "tid", r->tid);
		else
			json_put_str(j, "address", hex);
		json_put_str(j, "name", r->name);
		json_object_end(j);
	}
	json_array_end(j);
	return err;
}

static int info_json(struct lock_call *c, bool threads, bool classes)
{
	struct json j;
	int err = 0;
	json_begin(&j, &c->app->out, JSON_PRETTY);
	json_object(&j);
	if (threads)
		err = put_info(c, &j, "threads", LOCK_BY_THREAD);
	if (!err && classes)
		err = put_info(c, &j, "locks", LOCK_BY_ADDRESS);
	json_object_end(&j);
	return err ? err : json_end(&j);
}

static int info_text(struct lock_call *c, bool threads, bool classes)
{
	struct strbuf *to = results(c->app);
	int err = threads ? make_rows(c, LOCK_BY_THREAD) : 0;
	if (!err && threads)
		text_lock_threads(&c->rows, to);
	if (!err && classes)
		err = make_rows(c, LOCK_BY_ADDRESS);
	if (!err && classes)
		text_lock_classes(&c->rows, to);
	return err;
}

static int info_run(struct app *app, void *opts, int argc, char **argv)
{
	app->diag.recorder = "lock record -- COMMAND";
	const struct lock_opts *o = opts;
	struct lock_call c = { .app = app, .o = o };
	bool both = !o->threads && !o->classes;
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	int err = open_recording(&c, argc, argv);
	if (!err && app->json)
		err = info_json(&c, both || o->threads, both || o->classes);
	else if (!err)
		err = info_text(&c, both || o->threads, both || o->classes);
	if (!err)
		report_losses(&c);
	lock_rows_done(&c.rows);
	lock_run_done(&c.run);
	return err ? app_fail(app, err) : APP_DONE;
}

static int record_locks(struct app *app, void *opts, int argc, char **argv)
{
	static const char *const lockdep[] = { "lock:lock_acquire", "lock:lock_acquired",
					       "lock:lock_contended", "lock:lock_release", NULL };
	static const char *const contention[] = { "lock:contention_begin/max-stack=8/",
						  "lock:contention_end/max-stack=8/", NULL };
	bool all = record_kernel_has(lockdep);
	return record_run_preset(app, opts,
				 &(struct record_preset){ .events = all ? lockdep : contention,
							  .call_graph = all ? NULL : "fp" },
				 argc, argv);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

#define INPUT_ROWS                                                                                 \
	OPT_STR('i', "input", struct lock_opts, input, "FILE", "Read FILE (perf.data)"),           \
		OPT_FLAG('f', "force", struct lock_opts, force,                                    \
			 "Accepted; file ownership is never checked", .hidden = true)

#define KERNEL_ROWS                                                                                \
	OPT_STR(0, "vmlinux", struct lock_opts, symbols.vmlinux, "FILE", "Kernel image"),          \
		OPT_STR(0, "kallsyms", struct lock_opts, symbols.kallsyms, "FILE",                 \
			"Kernel symbols from a copy of /proc/kallsyms")

#define TABLE_ROWS(key_help)                                                                        \
	OPT_STR('k', "key", struct lock_opts, key, "KEY", key_help),                                \
		OPT_STR('F', "field", struct lock_opts, fields, "LIST",                             \
			"Columns, separated by commas: the same words as for -k"),                  \
		OPT_UINT('E', "entries", struct lock_opts, max_rows, "N", "Show the first N rows"), \
		OPT_FLAG('t', "threads", struct lock_opts, by_thread, "One row per thread")

static const struct opt report_rows[] = {
	INPUT_ROWS,
	TABLE_ROWS("Sort by acquired (default), contended, avg_wait, wait_total, wait_max or "
		   "wait_min"),
	OPT_FLAG('c', "combine-locks", struct lock_opts, by_name,
		 "Combine locks of one class, or with one name"),
	KERNEL_ROWS,
	OPT_END(),
};

static const struct opt contention_rows[] = {
	INPUT_ROWS,
	TABLE_ROWS("Sort by wait_total (default), contended, avg_wait, wait_max or wait_min"),
	OPT_FLAG('l', "lock-addr", struct lock_opts, by_address,
		 "One row per lock, with its symbol where it is a variable of the kernel"),
	OPT_UINT(0, "stack-skip", struct lock_opts, stack_skip, "N",
		 "Innermost frames that are never the caller (0; called as perf: 3); functions of "
		 "locking itself are always left out",
		 OPT_SEEN(struct lock_opts, stack_skip_given)),
	OPT_FLAG('b', "use-bpf", struct lock_opts, bpf,
		 "Not added up in the kernel: use 'run lockwait', which is, by stack and program",
		 .refused = true),
	OPT_FLAG('o', "lock-owner", struct lock_opts, owner,
		 "Owners are not recorded: 'sched why' shows who woke the threads that waited",
		 .refused = true),
	KERNEL_ROWS,
	OPT_END(),
};

static const struct opt info_rows[] = {
	INPUT_ROWS,
	OPT_FLAG('t', "threads", struct lock_opts, threads, "Only threads"),
	OPT_FLAG('m', "map", struct lock_opts, classes, "Only locks: addresses and names"),
	KERNEL_ROWS,
	OPT_END(),
};

static const struct opt_example record_examples[] = {
	{ "lock record -- make", "waits of a command and its children" },
	{ "lock record -a -- sleep 5", "waits of the whole system" },
	{ 0 },
};

static const struct opt_example contention_examples[] = {
	{ "lock contention", "which code waited for locks, longest first" },
	{ "lock contention -t", "which threads waited" },
	{ "lock contention -l", "for which locks" },
	{ "lock contention -v -E 5", "the first five, with their stacks" },
	{ 0 },
};

static const struct opt_example report_examples[] = {
	{ "lock report -k wait_max", "locks by their longest wait" },
	{ "lock report -t -F wait_total,contended", "threads, with two columns" },
	{ 0 },
};

static const struct opt_example info_examples[] = {
	{ "lock info -m", "addresses of locks, and what they are called" },
	{ 0 },
};

static const struct command command_lock_record = {
	.name = "record",
	.summary = "record waits for kernel locks",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Records lockdep's events where the kernel has them, else contention_begin and "
		 "contention_end with the kernel's stack. Takes all options of `sonde record`.",
	.examples = record_examples,
	.opts = record_rows,
	.opts_size = sizeof(struct record_opts),
	.run = record_locks,
};

static const struct command command_lock_report = {
	.name = "report",
	.summary = "locks: how often they were taken and waited for",
	.usage = "[OPTIONS] [FILE]",
	.about = "Without lockdep only contended locks are recorded: then acquired counts waits "
		 "that ended. A lock is named by its class (lockdep), its symbol, or the code that "
		 "waited for it first.",
	.examples = report_examples,
	.opts = report_rows,
	.opts_size = sizeof(struct lock_opts),
	.defaults = lock_defaults,
	.mixed_words = true,
	.run = report_run,
};

static const struct command command_lock_contention = {
	.name = "contention",
	.summary = "waits for locks by the code, thread or lock",
	.usage = "[OPTIONS] [FILE]",
	.about = "Waits with the same call chain are one row; functions of locking itself are left "
		 "out, so that the caller is the code that wanted the lock. -v shows the chains.",
	.examples = contention_examples,
	.opts = contention_rows,
	.opts_size = sizeof(struct lock_opts),
	.defaults = lock_defaults,
	.mixed_words = true,
	.run = contention_run,
};

static const struct command command_lock_info = {
	.name = "info",
	.summary = "threads and locks of a recording",
	.usage = "[OPTIONS] [FILE]",
	.examples = info_examples,
	.opts = info_rows,
	.opts_size = sizeof(struct lock_opts),
	.defaults = lock_defaults,
	.mixed_words = true,
	.run = info_run,
};

static const struct command *const subs[] = {
	&command_lock_record,
	&command_lock_contention,
	&command_lock_report,
	&command_lock_info,
	NULL,
};

static const struct opt_example examples[] = {
	{ "lock record -a -- sleep 5", "record waits for kernel locks" },
	{ "lock contention", "which code waited, and for how long" },
	{ 0 },
};

const struct command command_lock = {
	.name = "lock",
	.group = "Why",
	.summary = "waits for kernel locks",
	.usage = "COMMAND [OPTIONS]",
	.examples = examples,
	.subs = subs,
};
