/* sonde top: where the time goes right now, by function and call graph. */
#include "cmd/top/top.h"
#include "cmd/annotate/annotate.h"
#include "cmd/app/choose_opts.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/app/serve.h"
#include "base/clock.h"
#include "session/output.h"
#include "session/command_run.h"
#include "session/top_page.h"
#include "stream/rounds.h"
#include "view/tui_screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_ROWS = 20, FLUSH_NS = 200000000, IDLE_NS = 1000000, RING_WAITS = 16 << 20 };

struct top_call {
	struct app *app;
	struct top_cmd_opts *o;
	struct record_call record;
	struct report report;
	struct top top;
	struct top_page page; /* with --listen */
	struct app_serve serve;
	const char *words[1024];
	struct strbuf sort, target;
};

/* ---- options ---- */

/* "dwarf,8192" of "dwarf,8192,graph,0.5,caller": how to record; 0: it begins with how to draw. */
static size_t record_part(const char *value)
{
	static const char *const modes[] = { "fp", "dwarf", "lbr", "auto" };
	size_t len = strcspn(value, ","), more = 0;
	bool found = false;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		found = found || (strlen(modes[i]) == len && !strncmp(modes[i], value, len));
	if (found && !strncmp(value, "dwarf,", 6))
		more = strspn(value + len + 1, "0123456789");
	if (more && value[len + 1 + more] && value[len + 1 + more] != ',')
		more = 0;
	return found ? len + (more ? 1 + more : 0) : 0;
}

static int take_graph(void *opts, const char *value, bool negated, struct diag *d)
{
	struct top_cmd_opts *o = opts;
	size_t len = value ? record_part(value) : 0;
	if (negated) {
		o->record.graph = false;
		o->record.call_graph = NULL;
		return 0;
	}
	if (len >= sizeof(o->record_mode))
		return diag_error(d, -EINVAL, "--call-graph: invalid mode '%s'", value);
	o->record.graph = true;
	if (len) {
		memcpy(o->record_mode, value, len);
		o->record_mode[len] = '\0';
		o->record.call_graph = o->record_mode;
	}
	if (!value || !value[len])
		return 0;
	o->report.graph.given = true;
	return report_graph_words(&o->report.graph, value + len + (value[len] == ','), d);
}

void top_defaults(void *opts)
{
	struct top_cmd_opts *o = opts;
	report_defaults(&o->report);
	o->report.usual_sort = "dso,symbol";
	o->report.symbols.min_unnamed = 0;
	o->code.source = true;
	o->top.delay_ns = 2 * NS_PER_SEC;
	o->top.keep_ns = 30 * NS_PER_SEC;
}

static int check_options(struct top_call *c)
{
	struct top_cmd_opts *o = c->o;
	struct app *app = c->app;
	if (o->delay && (clock_parse(o->delay, &o->top.delay_ns) || !o->top.delay_ns))
		return app_usage(app, "-d: invalid time '%s' (expected e.g. 2 or 500ms)", o->delay);
	if (o->keep && (clock_parse(o->keep, &o->top.keep_ns) || !o->top.keep_ns))
		return app_usage(app, "--keep: invalid time '%s' (expected e.g. 30s)", o->keep);
	if (o->token_file && !o->listen)
		return app_usage(app, "--token-file needs --listen");
	if (o->listen && (app->json || o->top.updates || o->report.stdio))
		return app_usage(app, "--listen serves a page: no --json, --updates or --stdio");
	if (o->listen && (o->report.sort.items.nr || o->report.fields || o->report.hierarchy ||
			  o->report.dsos || o->report.symbols_only || o->report.ignore_callees))
		return app_usage(app, "--listen: the page has a table of its own: no --sort, "
				      "--fields, --hierarchy, --dsos, --symbols or "
				      "--ignore-callees");
	if (o->record.live.no_samples)
		return app_usage(app, "nothing to show without samples");
	return report_check(app, &c->report);
}

/* ---- the recording ---- */

static void describe_target(struct top_call *c)
{
	const struct record_opts *r = &c->o->record;
	struct strbuf *to = &c->target;
	long nr = sysconf(_SC_NPROCESSORS_ONLN);
	if (r->pids)
		strbuf_printf(to, "target_pid: %s", r->pids);
	else if (r->tids)
		strbuf_printf(to, "target_tid: %s", r->tids);
	else if (r->user)
		strbuf_printf(to, "uid: %s", r->user);
	else
		strbuf_str(to, "all");
	if (r->cpus)
		strbuf_printf(to, ", CPU%s: %s", strpbrk(r->cpus, ",-") ? "s" : "", r->cpus);
	else
		strbuf_printf(to, ", %ld CPU%s", nr, nr == 1 ? "" : "s");
	c->o->top.target = strbuf_cstr(to);
}

/* Such groups are read as a whole, and each count needs the one before. */
static int check_events(const struct record_session *s)
{
	size_t nr;
	const struct live_event *events = recorder_events(s->rec, &nr);
	for (size_t i = 0; i < nr; i++)
		if (events[i].attr.sample_type & PERF_SAMPLE_READ)
			return diag_error(s->tell.diag, -EINVAL,
					  "%s: counts of a group (:S) cannot be shown live",
					  events[i].name);
	return 0;
}

static int open_recorder(struct top_call *c)
{
	struct record_session *s = &c->record.s;
	struct recorder_opts ro = { .version = SONDE_VERSION, .argv = c->words };
	int err = sysroot_open(&s->root, NULL);
	if (!err)
		err = record_build_live(s, NULL, &ro);
	if (err)
		return err;
	ro.tracing = &s->env.tracing;
	ro.live.settle = true;
	ro.live.flush_ns = FLUSH_NS;
	ro.source = c->report.src;
	ro.no_file = true;
	ro.path = s->output = "memory";
	output_owner(&ro.owner_uid, &ro.owner_gid);
	s->cmdline = output_cmdline(&s->root, c->words, ARRAY_SIZE(c->words), &ro.argc);
	s->rec = recorder_open(&s->root, &ro, s->tell.diag);
	if (!s->rec)
		return -EIO;
	err = check_events(s);
	if (!err && s->o->realtime)
		err = record_realtime(s);
	return err ? err : recorder_start(s->rec, s->tell.diag);
}

/* What the options say of samples and rows, which needs the events to be known. */
static int settle_report(struct top_call *c)
{
	struct report *r = &c->report;
	const struct report_opts *o = r->opts;
	struct diag *d = &c->app->diag;
	int err = symbols_unwind(r->names, r->src, &o->symbols);
	if (!err)
		err = r->src->ops->prepare(r->src, 0, d);
	if (!err)
		err = choose_parse(&r->choose, &o->choose, r->src, d);
	if (!err)
		err = choose_words(&r->choose, o->dsos, &r->dsos);
	if (!err)
		err = choose_words(&r->choose, o->symbols_only, &r->symbols);
	return err ? err : report_settle(r);
}

static int annotate_row(void *ctx, const struct annotate_given *given, const struct name_func *f,
			u32 event, struct strbuf *why)
{
	struct top_call *c = ctx;
	struct annotate_opts style = c->o->code;
	style.symbols = c->o->report.symbols;
	return annotate_browse_given(c->app, given, &style, f, event, why);
}

/* Until Ctrl-C. */
static int serve(struct top_call *c)
{
	struct command_run run = COMMAND_RUN_NONE;
	const struct app_serve_opts so = { .address = c->o->listen,
					   .token_file = c->o->token_file,
					   .routes = top_page_routes,
					   .ctx = &c->page };
	int err = command_run_open(&run, &(struct command_run_opts){ .hangup = true });
	if (!err)
		err = top_page_open(&c->page, &c->top, &c->record.s.root, run.loop);
	if (!err)
		err = app_serve(c->app, &c->serve, run.loop, &so);
	if (!err)
		err = command_run_wait(&run);
	app_serve_end(&c->serve);
	command_run_close(&run);
	if (c->page.top)
		top_page_close(&c->page);
	return err;
}

static bool wants_browser(const struct top_call *c)
{
	const struct report_opts *o = &c->o->report;
	return !o->stdio && !c->o->listen && !c->app->json && !c->o->top.updates && !o->hierarchy &&
	       o->graph.form <= TEXT_TREE_FRACTAL && app_may_draw(c->app) && tui_possible();
}

static int show(struct top_call *c, bool browser)
{
	struct top_cmd_opts *o = c->o;
	struct report_opts *r = &o->report;
	c->top = (struct top){ .tell = app_tell(c->app),
			       .report = &c->report,
			       .report_opts = r,
			       .o = &o->top,
			       .rec = c->record.s.rec,
			       .annotate = annotate_row,
			       .ctx = c };
	o->top.perf_lines = c->app->dialect->perf_closing_lines;
	r->quiet |= o->top.perf_lines;
	r->max_rows = o->entries ? o->entries : browser || c->app->json ? 0 : TEXT_ROWS;
	app_say(c->app); /* what we settled for, before anything is drawn */
	int err = top_begin(&c->top, browser);
	if (!err)
		err = c->o->listen ? serve(c) : browser ? top_browse(&c->top) : top_print(&c->top);
	return err;
}

static int run(struct top_call *c)
{
	struct app *app = c->app;
	struct report *r = &c->report;
	bool usage = false;
	int err = report_join_sort(r, &c->sort);
	if (!err)
		err = rounds_open(&(struct rounds_opts){ .fd = -1,
							 .idle_ns = IDLE_NS,
							 .fed_bytes = RING_WAITS },
				  &r->src);
	if (!err)
		err = open_recorder(c);
	usage = err == -EINVAL || (err == -ENOENT && app->dialect->missing_event_is_usage);
	if (!err) {
		err = settle_report(c);
		usage = r->bad_keys;
	}
	if (!err) {
		describe_target(c);
		err = show(c, wants_browser(c));
	}
	if (c->record.s.rec) { /* nobody reads any more what it still has */
		rounds_refuse(r->src);
		(void)!recorder_finish(c->record.s.rec, NULL);
	}
	if (c->top.report)
		top_end(&c->top);
	return usage ? app_usage_said(app) : err ? app_fail(app, err) : APP_DONE;
}

static const struct report_labels labels = {
	.sort = "--sort",
	.fields = "--fields",
	.socket = "",
	.cpus = "--cpu",
	.branch_history = "",
	.total_cycles = "",
	.no_branches = "",
};

static int top_run(struct app *app, void *opts, int argc, char **argv)
{
	struct top_cmd_opts *o = opts;
	struct record_opts *rec = &o->record;
	if (argc)
		return app_usage(app,
				 "unexpected argument '%s': top shows what runs, it starts nothing",
				 argv[0]);
	struct top_call *c = calloc(1, sizeof(*c));
	if (!c)
		return app_fail(app, -ENOMEM);
	c->app = app;
	c->o = o;
	c->report = (struct report){ .tell = app_tell(app),
				     .labels = &labels,
				     .names = app_symbols(app),
				     .opts = &o->report };
	rec->all = !rec->pids && !rec->tids && !rec->user && !rec->cpus;
	/* Copies of the stacks of all tasks: at 4000 Hz there is no keeping up with them on a busy machine. */
	if ((rec->graph || rec->call_graph) && !app->dialect->records_as_perf && !rec->freq &&
	    !rec->live.period)
		rec->freq = "999";
	/* A page is a flame graph of commands; it may be left open for hours. */
	if (o->listen) {
		rec->graph |= !rec->call_graph;
		o->report.usual_sort = "comm,dso,symbol";
		if (!rec->freq && !rec->live.period)
			rec->freq = "99";
	}
	rec->live.sample_time = 1;
	rec->quiet = true;
	rec->guest = o->report.symbols.guest;
	strbuf_init(&c->sort);
	strbuf_init(&c->target);
	choose_init(&c->report.choose);
	record_call_init(&c->record, app, rec);
	app_live(app);
	int status = check_options(c);
	if (!status)
		status = run(c);
	record_session_done(&c->record.s);
	report_done(&c->report);
	if (c->report.src)
		c->report.src->ops->close(c->report.src);
	strbuf_done(&c->sort);
	strbuf_done(&c->target);
	vec_free(&rec->words.list);
	free(c);
	return status;
}

/* clang-format off */
static const struct opt top_rows[] = {
	OPT_HEADING("What to sample"),
	OPT_CALL('e', "event", "EVENT", "Events, separated by commas (cycles, or cpu-clock where there is no PMU); see `sonde list`", record_take_event),
	OPT_CALL(0, "filter", "FILTER", "Filter for tracepoints of the preceding -e", record_take_filter),
	OPT_STR('F', "freq", struct top_cmd_opts, record.freq, "HZ", "Samples per second per CPU, or 'max' (4000; 999 with call graphs, but called as perf 4000)"),
	OPT_UINT('c', "count", struct top_cmd_opts, record.live.period, "N", "Take one sample every N events instead"),
	OPT_FLAG('g', NULL, struct top_cmd_opts, record.graph, "Call graphs (called as perf: by frame pointer)"),
	OPT_CALL(0, "call-graph", "HOW", "Call graphs: how to collect them (fp, dwarf[,BYTES], auto, lbr), then how to draw them (as report -g)", take_graph),
	OPT_FLAG('b', "branch-any", struct top_cmd_opts, record.any_branch, "Sample branches, if the hardware supports it"),
	OPT_STR('j', "branch-filter", struct top_cmd_opts, record.branches, "KINDS", "Sample branches of these kinds (any_call,u)"),
	OPT_HEADING("Of whom"),
	OPT_FLAG('a', "all-cpus", struct top_cmd_opts, record.all, "The whole system (default)"),
	OPT_STR('C', "cpu", struct top_cmd_opts, record.cpus, "LIST", "These CPUs only (0-3,8)"),
	OPT_STR('p', "pid", struct top_cmd_opts, record.pids, "PID", "Running processes with all their threads"),
	OPT_STR('t', "tid", struct top_cmd_opts, record.tids, "TID", "Running threads"),
	OPT_STR('u', "uid", struct top_cmd_opts, record.user, "USER", "Current processes of this user, by name or number"),
	OPT_STR('G', "cgroup", struct top_cmd_opts, record.cgroups, "NAME", "Only this cgroup; with commas: one for each event"),
	OPT_CALL('i', "no-inherit", NULL, "Exclude children and threads created later", record_take_inherit),
	OPT_HEADING("What to show"),
	OPT_STR('d', "delay", struct top_cmd_opts, delay, "TIME", "Time between two updates: 2, 500ms (2)"),
	OPT_FLAG('z', "zero", struct top_cmd_opts, top.zero, "Show only what came since the last update (default: older samples weigh an eighth less with each)"),
	OPT_UINT('E', "entries", struct top_cmd_opts, entries, "N", "At most N rows per update (20 in text, else all)"),
	OPT_LIST('s', "sort", struct top_cmd_opts, report.sort, "KEYS", "Sort keys, as report's (dso,sym); +KEY adds to these"),
	OPT_STR(0, "fields", struct top_cmd_opts, report.fields, "KEYS", "Output columns, as report's; +KEY adds to the default"),
	OPT_FLAG('n', "show-nr-samples", struct top_cmd_opts, report.show_count, "Show the number of samples, which fades too"),
	OPT_FLAG(0, "show-total-period", struct top_cmd_opts, report.show_period, "Show the sum of periods"),
	OPT_FLAG(0, "children", struct top_cmd_opts, report.children, "Accumulate callees into callers (default with call graphs)"),
	OPT_FLAG(0, "hierarchy", struct top_cmd_opts, report.hierarchy, "Nested rows: one level per key"),
	OPT_FLAG(0, "group", struct top_cmd_opts, report.group, "Show events of a group side by side (default)"),
	OPT_UINT(0, "group-sort-idx", struct top_cmd_opts, report.group_sort, "N", "Sort rows of a group by its event N, starting at 0"),
	OPT_UINT(0, "max-stack", struct top_cmd_opts, report.max_stack, "N", "Show only N frames of call chains"),
	OPT_STR(0, "percent-limit", struct top_cmd_opts, report.percent_limit, "PERCENT", "Hide rows and call graph branches below this percentage"),
	OPT_STR(0, "percentage", struct top_cmd_opts, report.percentage, "relative|absolute", "What 100% means when rows are filtered (absolute)"),
	OPT_STR(0, "ignore-callees", struct top_cmd_opts, report.ignore_callees, "REGEX", "Attribute everything called by matching functions to those functions"),
	OPT_STR('w', "column-widths", struct top_cmd_opts, report.widths, "WIDTHS", "Column widths, separated by commas; 0: automatic"),
	OPT_FLAG(0, "raw-trace", struct top_cmd_opts, report.raw_trace, "Fields of tracepoints as plain numbers"),
	OPT_HEADING("Filtering"),
	OPT_STR(0, "comms", struct top_cmd_opts, report.choose.comms, "LIST", "Only samples of these commands"),
	OPT_STR(0, "dsos", struct top_cmd_opts, report.dsos, "LIST", "Only in these libraries"),
	OPT_STR(0, "symbols", struct top_cmd_opts, report.symbols_only, "LIST", "Only in these functions"),
	OPT_FLAG('K', "hide_kernel_symbols", struct top_cmd_opts, report.hide_kernel, "Hide kernel functions, as if they had no samples"),
	OPT_FLAG('U', "hide_user_symbols", struct top_cmd_opts, report.hide_user, "Hide functions outside the kernel"),
	OPT_UINT('f', "count-filter", struct top_cmd_opts, report.min_count, "N", "Only functions with more than N samples of their own"),
	OPT_HEADING("Annotated functions (key a)"),
	OPT_STR('M', "disassembler-style", struct top_cmd_opts, code.syntax, "SYNTAX", "att or intel"),
	OPT_FLAG(0, "asm-raw", struct top_cmd_opts, code.raw, "Show the raw bytes of each instruction"),
	OPT_FLAG(0, "source", struct top_cmd_opts, code.source, "Interleave source lines (default; --no-source)"),
	OPT_STR(0, "prefix", struct top_cmd_opts, code.prefix, "DIR", "Look for source files in this directory, prepended to the paths recorded by the compiler"),
	OPT_UINT(0, "prefix-strip", struct top_cmd_opts, code.prefix_strip, "N", "With --prefix: strip N leading directories from absolute paths"),
	OPT_HEADING("How"),
	OPT_FLAG(0, "stdio", struct top_cmd_opts, report.stdio, "Plain text, one table per update (default without a terminal)"),
	OPT_FLAG(0, "tui", struct top_cmd_opts, report.tui, "Use the terminal browser if available (default)"),
	OPT_UINT(0, "updates", struct top_cmd_opts, top.updates, "N", "Print N updates as text or JSON and leave"),
	OPT_STR(0, "listen", struct top_cmd_opts, listen, "ADDRESS", "Serve a page on loopback (127.0.0.1:9435) instead of printing: samples over time, flame graph and functions of any part of it, processes; with call graphs, at 99 samples per second; the URL is printed"),
	OPT_STR(0, "token-file", struct top_cmd_opts, token_file, "FILE", "The token that requests have to carry, instead of a random one"),
	OPT_STR(0, "keep", struct top_cmd_opts, keep, "TIME", "How much key p of the browser can write as a perf.data (30s)"),
	OPT_UINT('r', "realtime", struct top_cmd_opts, record.realtime, "PRIORITY", "Run as a real-time (FIFO) task"),
	OPT_STR('m', "mmap-pages", struct top_cmd_opts, record.ring, "PAGES", "Ring buffer size per CPU: pages, or a size like 4M (512K)"),
	OPT_FLAG(0, "all-cgroups", struct top_cmd_opts, record.live.all_cgroups, "Know the cgroup of every sample (--sort cgroup)"),
	OPT_FLAG(0, "namespaces", struct top_cmd_opts, record.live.namespaces, "Know the namespaces of tasks"),
	OPT_FLAG(0, "no-bpf-event", struct top_cmd_opts, record.live.no_bpf_events, "BPF programs loaded meanwhile are not followed", .hidden = true),
	OPT_FLAG(0, "force", struct top_cmd_opts, accepted, "Accepted; nothing is checked", .hidden = true),
	OPT_FLAG(0, "overwrite", struct top_cmd_opts, accepted, "Accepted; what is lost is counted instead", .hidden = true),
	OPT_STR(0, "num-thread-synthesize", struct top_cmd_opts, ignored, "N", "Not needed", .hidden = true),
	OPT_STR(0, "proc-map-timeout", struct top_cmd_opts, ignored, "MS", "Not needed", .hidden = true),
	OPT_FLAG(0, "demangle-kernel", struct top_cmd_opts, accepted, "Accepted; kernel names need no demangling", .hidden = true),
	OPT_STR(0, "objdump", struct top_cmd_opts, ignored, "PATH", "Accepted; there is a built-in disassembler", .hidden = true),
	SYMBOL_OPT_ROWS(struct top_cmd_opts, report.symbols),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example top_examples[] = {
	{ "top", "functions of the whole system by CPU time, as it happens" },
	{ "top -g -p 1234", "one process with call graphs" },
	{ "top -F 99 -s comm,dso", "programs and libraries, at little cost" },
	{ "top -e sched:sched_switch -s comm", "who is switched away from the CPU" },
	{ "top --stdio --updates 3 -d 1 -E 5", "three tables of five rows, one a second" },
	{ "top --listen 127.0.0.1:9435", "a live flame graph in a browser" },
	{ "top --json --updates 1 -p 1234", "one update for a program" },
	{ 0 },
};

const struct command command_top = {
	.name = "top",
	.group = "Why",
	.summary = "show live where the time goes, by function",
	.usage = "[OPTIONS]",
	.about =
		"Samples the whole system, or what the options name, and shows every two seconds "
		"the same table as report: a share of the samples for each function, heaviest "
		"first. Older samples weigh an eighth less with every update.\nOn a terminal it is "
		"a browser (? lists its keys): open call graphs, zoom into a library or a command, "
		"search, annotate a function while it runs, write the last seconds as a perf.data. "
		"Without a terminal, with --stdio, --updates or --json it prints one table after "
		"the other, until Ctrl-C or until all named tasks have ended.",
	.examples = top_examples,
	.opts = top_rows,
	.opts_size = sizeof(struct top_cmd_opts),
	.defaults = top_defaults,
	.run = top_run,
};
