/* sonde who: processes, threads and groups of them, by what they use. */
#include "base/clock.h"
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "cmd/who/look.h"
#include "cmd/who/profile.h"
#include "session/who_run.h"
#include "session/who_settings.h"
#include "view/tui_screen.h"

#include <errno.h>
#include <string.h>

struct who_cmd_opts {
	bool batch, csv, threads, command_lines, no_idle, tree, reversed, per_cpu, io, net, list;
	const char *delay, *columns, *sort, *user, *by, *root;
	struct opt_list pids, filters;
	u64 rounds, max_rows;
};

static const char net_columns[] = "PID,USER,RECV/s,SENT/s,SOCKETS,%CPU,COMMAND";
static const char io_columns[] = "TID,PR,USER,READ/s,WRITE/s,SWAPIN,IO,COMMAND";

static int list_columns(struct app *app)
{
	if (!app->json) {
		for (u32 i = 0; i < who_nr_columns; i++)
			strbuf_printf(&app->out, "%-9s  %-24s  %s\n", who_columns[i].name,
				      who_columns[i].key, who_columns[i].title);
		return 0;
	}
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_array(&j);
	for (u32 i = 0; i < who_nr_columns; i++) {
		json_object(&j);
		json_put_str(&j, "name", who_columns[i].name);
		json_put_str(&j, "key", who_columns[i].key);
		json_put_str(&j, "title", who_columns[i].title);
		json_object_end(&j);
	}
	json_array_end(&j);
	return json_end(&j);
}

static int one_column(struct app *app, const char *option, const char *name, u16 *ret)
{
	if (!who_column_find(name, strlen(name), ret))
		return 0;
	(void)diag_error(&app->diag, -EINVAL, "unknown column '%s' for %s", name, option);
	diag_hint(&app->diag, "'%s who -O' lists all columns", app->prog);
	return -EINVAL;
}

/* "1,2 3", and several times. */
static int parse_pids(struct app *app, const struct opt_list *from, void *list)
{
	struct pid_list {
		s32 *at;
		size_t nr, cap;
	} *to = list;
	vec_for_each (&from->items, text) {
		const char *at = *text;
		size_t len;
		s32 id;
		int more;
		while ((more = num_next_id(&at, &len, &id)) > 0) {
			s32 *slot = vec_push(to);
			if (!slot)
				return -ENOMEM;
			*slot = id;
		}
		if (more < 0)
			return diag_error(&app->diag, -EINVAL, "invalid process ID '%.*s'",
					  (int)len, at);
	}
	return 0;
}

static int parse_user(struct app *app, const struct who_cmd_opts *o, struct who_run_opts *run)
{
	struct user_names names;
	struct sysroot root = { .dir_fd = -1 };
	int err = sysroot_open(&root, o->root);
	user_names_init(&names, o->root ? &root : NULL);
	if (!err)
		err = user_by_name(&names, o->user, &run->who.uid);
	if (err)
		(void)diag_error(&app->diag, -EINVAL, "unknown user '%s'", o->user);
	run->who.one_user = true;
	user_names_done(&names);
	if (root.dir_fd >= 0)
		sysroot_close(&root);
	return err ? -EINVAL : 0;
}

static int parse_filters(struct app *app, const struct who_cmd_opts *o, struct who_opts *to)
{
	vec_for_each (&o->filters.items, text) {
		struct who_filter *f = vec_push(&to->filters.list);
		int err = f ? who_filter_parse(*text, f, &app->diag) : -ENOMEM;
		if (err)
			return err;
	}
	return 0;
}

static int parse_columns(struct app *app, const struct who_cmd_opts *o, struct who_opts *to)
{
	int err = 0;
	if (o->io || o->net || !to->columns.list.nr)
		err = who_opts_columns(to,
				       o->io	? io_columns
				       : o->net ? net_columns
						: NULL,
				       &app->diag);
	if (!err && o->columns)
		err = who_opts_columns(to, o->columns, &app->diag);
	if (!err)
		err = one_column(app, "-s",
				 o->sort  ? o->sort
				 : o->io  ? "READ/s"
				 : o->net ? "RECV/s"
					  : "%CPU",
				 &to->sort);
	if (!err && o->by)
		err = one_column(app, "--by", o->by, &to->by);
	if (!err && o->by && who_columns[to->by].type != CELL_STR)
		err = diag_error(&app->diag, -EINVAL, "--by takes a column that is a text, not %s",
				 who_columns[to->by].name);
	return err;
}

static int parse_all(struct app *app, const struct who_cmd_opts *o, struct who_run_opts *run)
{
	struct who_opts *w = &run->who;
	w->threads |= o->threads || (o->io && !o->by);
	w->command_lines |= o->command_lines;
	w->no_idle |= o->no_idle;
	w->tree = !o->by && (w->tree || o->tree);
	w->reversed |= o->reversed;
	w->max_rows = (u32)min(o->max_rows, (u64)UINT32_MAX);
	run->rounds = o->rounds;
	run->csv = o->csv;
	run->per_cpu |= o->per_cpu;
	run->disks = o->io;
	run->root = o->root;
	int err = o->delay ? clock_parse(o->delay, &run->delay_ns) : 0;
	if (err || !run->delay_ns)
		return diag_error(&app->diag, -EINVAL, "invalid delay '%s'", o->delay);
	if (o->tree && o->by)
		return diag_error(&app->diag, -EINVAL, "--tree and --by exclude each other");
	err = parse_columns(app, o, w);
	if (!err)
		err = parse_filters(app, o, w);
	if (!err && o->user)
		err = parse_user(app, o, run);
	return err;
}

/* On a terminal, unless something else was asked for. */
static bool wants_screen(struct app *app, const struct who_cmd_opts *o)
{
	return !o->batch && !o->csv && !app->json && !o->rounds && app_may_draw(app) &&
	       tui_possible();
}

static int run_it(struct app *app, struct who_run_opts *run, bool screen)
{
	struct tell tell = app_tell(app);
	app_live(app);
	run->symbols = app_symbols(app);
	run->profile = who_profile;
	run->trace = who_trace;
	run->waits = who_waits;
	run->ctx = app;
	int err = screen ? who_run_screen(run, &tell) : -ENOTTY;
	return err == -ENOTTY ? who_run_batch(run, &tell) : err;
}

static int who_cmd_run(struct app *app, void *opts, int argc, char **argv)
{
	const struct who_cmd_opts *o = opts;
	struct {
		s32 *at;
		size_t nr, cap;
	} pids = { 0 };
	struct who_run_opts run = { .delay_ns = NS_PER_SEC };
	if (argc)
		return app_usage(app, "unexpected argument '%s'", argv[0]);
	int err = o->list ? list_columns(app) : 0;
	if (o->list)
		return err ? app_fail(app, err) : APP_DONE;
	who_opts_init(&run.who);
	bool screen = wants_screen(app, o);
	if (screen)
		err = who_settings_load(&(struct who_settings){ .who = &run.who,
								.delay_ns = &run.delay_ns,
								.per_cpu = &run.per_cpu,
								.memory = &run.memory },
					&app->diag);
	if (!err)
		err = parse_all(app, o, &run);
	if (!err)
		err = parse_pids(app, &o->pids, &pids);
	int status = err == -ENOMEM ? app_fail(app, err) : err ? app_usage_said(app) : APP_DONE;
	if (!err) {
		run.pids = o->pids.items.nr ? pids.at : NULL;
		run.nr_pids = pids.nr;
		err = run_it(app, &run, screen);
		status = err ? app_fail(app, err) : APP_DONE;
	}
	vec_free(&pids);
	who_opts_done(&run.who);
	return status;
}

static const struct opt who_rows[] = {
	OPT_HEADING("What is shown"),
	OPT_STR('o', "columns", struct who_cmd_opts, columns, "COLUMNS",
		"Show these columns, +NAME adds one and -NAME removes one; names as in top's field "
		"list"),
	OPT_FLAG('O', "list-columns", struct who_cmd_opts, list, "List all columns and exit"),
	OPT_STR('s', "sort", struct who_cmd_opts, sort, "COLUMN", "Sort by this column (%CPU)"),
	OPT_FLAG('R', "reverse", struct who_cmd_opts, reversed, "Reverse the order"),
	OPT_FLAG('H', "threads", struct who_cmd_opts, threads, "A row for each thread"),
	OPT_FLAG('V', "tree", struct who_cmd_opts, tree, "Children below their parents"),
	OPT_STR(0, "by", struct who_cmd_opts, by, "COLUMN",
		"Add up tasks by a text column: CGROUP, UNIT, CONTAINER, USER, COMMAND"),
	OPT_FLAG('c', "command-lines", struct who_cmd_opts, command_lines,
		 "Whole command lines instead of names"),
	OPT_FLAG(0, "io", struct who_cmd_opts, io,
		 "Threads by what they read and write, as iotop shows them"),
	OPT_FLAG(0, "net", struct who_cmd_opts, net,
		 "Processes by what they receive and send over IP, as nethogs shows them"),
	OPT_FLAG('1', "per-cpu", struct who_cmd_opts, per_cpu, "A line for each CPU in the summary"),
	OPT_HEADING("Which tasks"),
	OPT_LIST('p', "pid", struct who_cmd_opts, pids, "PID[,PID]", "Only these processes"),
	OPT_STR('u', "user", struct who_cmd_opts, user, "USER",
		"Only tasks of this effective user (name or number)"),
	OPT_LIST('f', "filter", struct who_cmd_opts, filters, "[!]COLUMN=VALUE",
		 "Only tasks for which it holds; also < and >; texts: which contain VALUE"),
	OPT_FLAG('i', "no-idle", struct who_cmd_opts, no_idle,
		 "Only tasks that used CPU time in the interval"),
	OPT_UINT(0, "max-rows", struct who_cmd_opts, max_rows, "N", "At most N rows (all)"),
	OPT_HEADING("How often, and in which form"),
	OPT_FLAG('b', "batch", struct who_cmd_opts, batch,
		 "Print tables one after another (the default without a terminal)"),
	OPT_STR('d', "delay", struct who_cmd_opts, delay, "TIME",
		"Time between two tables: 2, 0.5, 200ms (1s)"),
	OPT_UINT('n', "iterations", struct who_cmd_opts, rounds, "N",
		 "Leave after N tables (until Ctrl-C)"),
	OPT_FLAG(0, "csv", struct who_cmd_opts, csv, "Comma-separated values, one header for all"),
	OPT_STR(0, "sysroot", struct who_cmd_opts, root, "DIR",
		"Use another machine's /proc and /sys below DIR", .hidden = true),
	OPT_END(),
};

static const struct opt_example who_examples[] = {
	{ "who", "the live screen: ? shows its keys" },
	{ "who -b -n 1", "processes by CPU usage in one second, with the state of the machine" },
	{ "who -b -H -p 1234", "the threads of a process, every second until Ctrl-C" },
	{ "who -b -n 1 --by CGROUP", "processes, added up by control group" },
	{ "who -b -n 1 --io", "who reads and writes disks" },
	{ "who --net", "who uses the network" },
	{ "who -b -n 1 -o +nMaj,+P,+WCHAN -s nMaj", "more columns, by major page faults" },
	{ "who -b -n 5 --json -f '%CPU>5' -f '!USER=root'",
	  "for programs: a JSON object an interval" },
	{ 0 },
};

const struct command command_who = {
	.name = "who",
	.group = "Who is causing it",
	.summary = "processes, threads and cgroups by what they use",
	.usage = "[OPTIONS]",
	.about = "Options, columns and their names are those of top where top has them; 'who -O' "
		 "lists "
		 "all columns, those of top first. Percentages of CPU time are of one CPU: a "
		 "process "
		 "with several threads may have more than 100.\n"
		 "The first table comes after one interval, so that all its rates are of that "
		 "interval. CPU times have the kernel's resolution of 10 ms.\n"
		 "Tasks that ended in the interval are rows in state X, with all the CPU time they "
		 "used, "
		 "however short they lived; this needs CAP_NET_ADMIN and does not work in "
		 "containers.\n"
		 "RECV/s and SENT/s are the payload that a task received and sent through sockets "
		 "of IPv4 and IPv6, of any protocol, counted by BPF programs in the kernel (root, "
		 "or "
		 "CAP_BPF and CAP_PERFMON) while the columns are shown. What the kernel sends by "
		 "itself (retransmissions, file servers in the kernel), headers, and what splice() "
		 "takes from a socket are not included.\n"
		 "What the kernel does not let us read of other users' tasks is shown as '-' or "
		 "'?', "
		 "and one line on standard error names it. --json prints one object a line and "
		 "interval.",
	.examples = who_examples,
	.opts = who_rows,
	.opts_size = sizeof(struct who_cmd_opts),
	.run = who_cmd_run,
};
