/* A tracing session on a fake tracefs: what is written in which order, what is noted, what is refused, and what undoing leaves. */
#include "tap.h"
#include "tracing/setup.h"
#include "tracing/which.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/tmp/tracing-setup.XXXXXX";
static char root[64], run_dir[64];

/* ---- the fake ---- */

static const char *in_tracefs(const char *file)
{
	static char path[512];
	(void)snprintf(path, sizeof(path), "%s/sys/kernel/tracing/%s", root, file);
	return path;
}

/* Makes the folders on the way. */
static void put(const char *file, const char *text)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s", in_tracefs(file));
	for (char *slash = path + strlen(base) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		if (mkdir(path, 0755) && errno != EEXIST)
			abort();
		*slash = '/';
	}
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

static const char *get_path(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		(void)close(fd);
	return text;
}

static const char *get(const char *file)
{
	return get_path(in_tracefs(file));
}

static bool holds(const char *file, const char *text)
{
	const char *have = get(file);
	size_t len = strcspn(have, "\n");
	return len == strlen(text) && !strncmp(have, text, len);
}

static void put_event(const char *system, const char *name)
{
	static const char *const files[][2] = {
		{ "enable", "0\n" }, { "filter", "none\n" }, { "trigger", "" }, { "id", "7\n" }
	};
	char path[256], format[512];
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		(void)snprintf(path, sizeof(path), "events/%s/%s/%s", system, name, files[i][0]);
		put(path, files[i][1]);
	}
	(void)snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	(void)snprintf(
		format, sizeof(format),
		"name: %s\nID: 7\nformat:\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"%%d\", REC->pid\n",
		name);
	put(path, format);
	(void)snprintf(path, sizeof(path), "events/%s/enable", system);
	put(path, "0\n");
}

static void fill(void)
{
	static const char *const files[][2] = {
		{ "tracing_on", "1\n" },
		{ "trace", "" },
		{ "trace_clock", "[local] global mono\n" },
		{ "available_tracers", "function_graph function nop\n" },
		{ "current_tracer", "nop\n" },
		{ "buffer_size_kb", "1408\n" },
		{ "tracing_cpumask", "3\n" },
		{ "set_event_pid", "12\n" },
		{ "set_ftrace_pid", "no pid\n" },
		{ "set_ftrace_filter", "#### all functions enabled ####\n" },
		{ "set_ftrace_notrace", "#### no functions disabled ####\n" },
		{ "set_graph_function", "#### all functions enabled ####\n" },
		{ "available_filter_functions",
		  "vfs_read\nvfs_write\ndo_exit\next4_read [ext4]\n" },
		{ "available_events", "sched:sched_switch\nsched:sched_waking\nirq:irq_entry\n" },
		{ "dynamic_events", "" },
		{ "kprobe_events", "" },
		{ "uprobe_events", "" },
		{ "README", "f[:[<group>/][<event>]] <func-name>[%return] [<args>]\n" },
		{ "options/event-fork", "0\n" },
		{ "options/function-fork", "0\n" },
		{ "options/sym-offset", "0\n" },
		{ "instances/theirs/tracing_on", "1\n" },
		{ "instances/theirs/trace", "" },
		{ "instances/theirs/events/sched/sched_switch/enable", "0\n" },
		{ "events/header_page", "" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put(files[i][0], files[i][1]);
	put_event("sched", "sched_switch");
	put_event("sched", "sched_waking");
	put_event("irq", "irq_entry");
}

/* ---- sessions ---- */

struct session {
	struct ftrace_setup s;
	struct diag d;
	struct strbuf dry;
};

static void begin(struct session *x)
{
	diag_init(&x->d);
	strbuf_init(&x->dry);
	ftrace_setup_init(&x->s);
	x->s.root_path = root;
	x->s.run_dir = run_dir;
}

static struct ftrace_event_opt *event(struct session *x, const char *text)
{
	struct ftrace_event_opt *e = ftrace_setup_event(&x->s, text);
	if (!e)
		abort();
	return e;
}

static int apply(struct session *x, bool private)
{
	int err = ftrace_setup_open(&x->s, &x->d, &x->dry);
	if (!err)
		err = ftrace_setup_begin(&x->s, private, NULL);
	if (!err)
		err = ftrace_setup_apply(&x->s, private, 0);
	if (!err)
		err = ftrace_setup_switch(&x->s, true);
	return err;
}

static void end(struct session *x)
{
	ftrace_setup_end(&x->s);
	strbuf_done(&x->dry);
	diag_done(&x->d);
}

/* A dry run's text, without the folder of tracefs and the name of the run. */
static const char *plain(struct session *x)
{
	static char text[8192];
	char *to = text;
	const char *prefix = in_tracefs("");
	size_t len = strlen(prefix);
	for (const char *p = strbuf_cstr(&x->dry); *p && to < text + sizeof(text) - 8;) {
		if (!strncmp(p, prefix, len)) {
			p += len;
		} else if (!strncmp(p, "sonde-", 6)) {
			to = stpcpy(to, "OURS");
			p += strcspn(p, "/\n'");
		} else {
			*to++ = *p++;
		}
	}
	*to = 0;
	return text;
}

static void writes(struct session *x, const char *want, const char *name)
{
	x->s.dry_run = true;
	int err = apply(x, true);
	const char *got = plain(x);
	if (!ok(!err && !strcmp(got, want), "%s", name)) {
		struct strbuf s;
		strbuf_init(&s);
		diag_render(&x->d, "#   ", false, &s);
		printf("# %d\n%s%s", err, got, strbuf_cstr(&s));
		strbuf_done(&s);
	}
	end(x);
}

/* ---- the order of writes ---- */

static void test_order(void)
{
	struct session x;
	begin(&x);
	struct ftrace_event_opt *e = event(&x, "sched:sched_switch");
	e->filter = "pid > 1";
	ok(!ftrace_add_word(&e->triggers, "stacktrace"), "a trigger");
	struct ftrace_buffer_opt *b = ftrace_setup_buffer(&x.s);
	b->clock = "mono";
	b->size = "64K";
	writes(&x,
	       "mkdir instances/OURS\n"
	       "echo '0' > instances/OURS/tracing_on\n"
	       "echo 'mono' > instances/OURS/trace_clock\n"
	       "echo '64' > instances/OURS/buffer_size_kb\n"
	       "echo 'pid > 1' > instances/OURS/events/sched/sched_switch/filter\n"
	       "echo 'stacktrace' >> instances/OURS/events/sched/sched_switch/trigger\n"
	       "echo '1' > instances/OURS/events/sched/sched_switch/enable\n"
	       "echo '1' > instances/OURS/tracing_on\n",
	       "off first; clock, size, filter, trigger, event; on last");

	begin(&x);
	event(&x, "sched");
	event(&x, "!sched_waking");
	event(&x, "irq_entry/pid == 3/+traceoff:1");
	writes(&x,
	       "mkdir instances/OURS\n"
	       "echo '0' > instances/OURS/tracing_on\n"
	       "echo '1' > instances/OURS/events/sched/enable\n"
	       "echo '0' > instances/OURS/events/sched/sched_waking/enable\n"
	       "echo 'pid == 3' > instances/OURS/events/irq/irq_entry/filter\n"
	       "echo 'traceoff:1' >> instances/OURS/events/irq/irq_entry/trigger\n"
	       "echo '1' > instances/OURS/events/irq/irq_entry/enable\n"
	       "echo '1' > instances/OURS/tracing_on\n",
	       "a system is one write; what is left out comes behind it");

	begin(&x);
	event(&x, "function:vfs_*+traceoff:1");
	writes(&x,
	       "mkdir instances/OURS\n"
	       "echo '0' > instances/OURS/tracing_on\n"
	       "echo 'vfs_*' > instances/OURS/set_ftrace_filter\n"
	       "echo 'function' > instances/OURS/current_tracer\n"
	       "echo '1' > instances/OURS/tracing_on\n"
	       "echo 'vfs_*:traceoff:1' >> instances/OURS/set_ftrace_filter\n",
	       "functions are chosen before the tracer; what happens at a call comes last");

	begin(&x);
	event(&x, "graph:do_exit");
	writes(&x,
	       "echo '0' > tracing_on\n"
	       "echo 'do_exit' > set_graph_function\n"
	       "echo 'function_graph' > current_tracer\n"
	       "echo '1' > tracing_on\n",
	       "the graph tracer uses the top-level buffer");
}

static void test_probes(void)
{
	struct session x;
	begin(&x);
	event(&x, "kprobe:vfs_read/count > 1/");
	event(&x, "kprobe:do_exit+0x8");
	event(&x, "kprobe:vfs_read"); /* the same again */
	event(&x, "kprobe:vfs_read+16"); /* another one */
	writes(&x,
	       "echo 'p:sonde_RUN/vfs_read vfs_read' >> dynamic_events\n"
	       "echo 'p:sonde_RUN/do_exit do_exit+8' >> dynamic_events\n"
	       "echo 'p:sonde_RUN/vfs_read_2 vfs_read+16' >> dynamic_events\n"
	       "mkdir instances/OURS\n"
	       "echo '0' > instances/OURS/tracing_on\n"
	       "echo '1' > instances/OURS/events/sonde_RUN/vfs_read/enable\n"
	       "echo '1' > instances/OURS/events/sonde_RUN/do_exit/enable\n"
	       "echo '1' > instances/OURS/events/sonde_RUN/vfs_read/enable\n"
	       "echo '1' > instances/OURS/events/sonde_RUN/vfs_read_2/enable\n"
	       "echo '1' > instances/OURS/tracing_on\n",
	       "probes are defined before there is an instance");

	begin(&x);
	event(&x, "call:vfs_*");
	writes(&x,
	       "echo 'f:sonde_RUN/vfs_read vfs_read' >> dynamic_events\n"
	       "echo 'f:sonde_RUN/vfs_read__return vfs_read%return' >> dynamic_events\n"
	       "echo 'f:sonde_RUN/vfs_write vfs_write' >> dynamic_events\n"
	       "echo 'f:sonde_RUN/vfs_write__return vfs_write%return' >> dynamic_events\n"
	       "mkdir instances/OURS\n"
	       "echo '0' > instances/OURS/tracing_on\n"
	       "echo '1' > instances/OURS/events/sonde_RUN/vfs_read/enable\n"
	       "echo '1' > instances/OURS/events/sonde_RUN/vfs_read__return/enable\n"
	       "echo '1' > instances/OURS/events/sonde_RUN/vfs_write/enable\n"
	       "echo '1' > instances/OURS/events/sonde_RUN/vfs_write__return/enable\n"
	       "echo '1' > instances/OURS/tracing_on\n",
	       "calls: entry and return of every function that fits");

	char program[96], want[512], text[128];
	(void)snprintf(program, sizeof(program), "%s/program", base);
	FILE *f = fopen(program, "w");
	if (!f || fclose(f))
		abort();
	begin(&x);
	(void)snprintf(text, sizeof(text), "uprobe:%s:0x40+2", program);
	event(&x, text);
	(void)snprintf(want, sizeof(want),
		       "echo 'p:sonde_RUN/at_0x40 %s:0x42' >> dynamic_events\n"
		       "mkdir instances/OURS\n"
		       "echo '0' > instances/OURS/tracing_on\n"
		       "echo '1' > instances/OURS/events/sonde_RUN/at_0x40/enable\n"
		       "echo '1' > instances/OURS/tracing_on\n",
		       program);
	writes(&x, want, "a probe in a program is an offset in its file");
	(void)unlink(program);
}

/* ---- real writes, notes, undo ---- */

static const char *journal_text(const struct session *x)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/%s.journal", run_dir, journal_name(x->s.journal));
	return get_path(path);
}

static bool in_order(const char *text, const char *const *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		text = strstr(text, words[i]);
		if (!text)
			return false;
		text += strlen(words[i]);
	}
	return true;
}

static void test_undo(void)
{
	static const char *const notes[] = {
		"S\ttracing_on\t1\t0",
		"S\ttrace_clock\tlocal\tmono",
		"L\tset_event_pid\t12",
		"S\tevents/sched/sched_switch/filter\t0\tpid > 1",
		"A\tevents/sched/sched_switch/trigger\tstacktrace\t!stacktrace",
		"S\tevents/sched/sched_switch/enable\t0\t1",
	};
	struct session x;
	begin(&x);
	x.s.top = true;
	x.s.pids = "1";
	ftrace_setup_buffer(&x.s)->clock = "mono";
	event(&x, "sched:sched_switch/pid > 1/+stack");
	ok(!apply(&x, true), "a session in the top-level buffer");
	ok(holds("tracing_on", "1") && holds("trace_clock", "mono") && holds("set_event_pid", "1") &&
		   holds("events/sched/sched_switch/filter", "pid > 1") &&
		   holds("events/sched/sched_switch/trigger", "stacktrace") &&
		   holds("events/sched/sched_switch/enable", "1"),
	   "everything is set");
	ok(holds("events/sched/sched_waking/enable", "0") &&
		   holds("events/irq/irq_entry/enable", "0"),
	   "and nothing else");
	if (!ok(in_order(journal_text(&x), notes, ARRAY_SIZE(notes)), "it is noted, in order"))
		printf("# %s\n", journal_text(&x));
	put("trace_clock", "local [global] mono\n"); /* somebody else, meanwhile */
	end(&x);
	ok(holds("tracing_on", "1") && holds("set_event_pid", "12") &&
		   holds("events/sched/sched_switch/filter", "0") &&
		   holds("events/sched/sched_switch/enable", "0"),
	   "it is undone");
	ok(strstr(get("events/sched/sched_switch/trigger"), "!stacktrace") != NULL,
	   "a trigger by its undoing line");
	ok(holds("trace_clock", "local [global] mono"), "what somebody else has set stays");
	fill();
}

static void test_instances(void)
{
	struct session x;
	struct ftrace_names names;
	begin(&x);
	(void)ftrace_setup_buffer(&x.s);
	struct ftrace_buffer_opt *b = vec_push(&x.s.buffers);
	if (!b)
		abort();
	b->name = "theirs";
	event(&x, "sched:sched_switch");
	x.s.top = true;
	ok(!apply(&x, true), "an instance of somebody else");
	b = &x.s.buffers.at[1];
	ok(!b->made && !strcmp(b->folder, "instances/theirs/") &&
		   holds("instances/theirs/events/sched/sched_switch/enable", "1"),
	   "is used as it is");
	ok(!ftrace_instances(&x.s.tracing, &names) && names.list.nr == 1, "no other is made");
	ftrace_names_done(&names);
	end(&x);
	ok(holds("instances/theirs/events/sched/sched_switch/enable", "0") &&
		   holds("instances/theirs/tracing_on", "1"),
	   "and stays, as it was");
}

/* ---- names that are not there ---- */

static void refuses(struct session *x, int want, const char *message, const char *name)
{
	int err = apply(x, true);
	const struct diag_item *it = x->d.items.nr ? &x->d.items.at[0] : NULL;
	if (!ok(err == want && it && !strncmp(it->message, message, strlen(message)), "%s", name))
		printf("# %d, %s\n", err, it ? it->message : "nothing said");
	ok(!x->s.journal || !strchr(journal_text(x), '\t') || !strstr(journal_text(x), "\nS\t"),
	   "and nothing has been written");
	end(x);
	ok(holds("tracing_on", "1") && holds("current_tracer", "nop"), "all is as it was");
}

static void test_refusals(void)
{
	struct session x;
	begin(&x);
	event(&x, "sched:sched_swich");
	refuses(&x, -ENOENT, "unknown event 'sched:sched_swich'", "an event");

	begin(&x);
	event(&x, "nosuch*");
	refuses(&x, -ENOENT, "unknown event 'nosuch*'", "a pattern that fits nothing");

	begin(&x);
	ftrace_setup_buffer(&x.s)->tracer = "fuction";
	refuses(&x, -ENOENT, "this kernel has no tracer 'fuction'", "a tracer");

	begin(&x);
	ftrace_setup_buffer(&x.s)->clock = "mnoo";
	event(&x, "sched");
	refuses(&x, -ENOENT, "this kernel has no clock 'mnoo'", "a clock");

	begin(&x);
	event(&x, "cycles");
	refuses(&x, -EOPNOTSUPP, "'ftrace record' cannot use this event", "a counter");

	begin(&x);
	x.s.ignore_missing = true;
	event(&x, "no:such");
	event(&x, "sched:sched_switch");
	writes(&x,
	       "mkdir instances/OURS\n"
	       "echo '0' > instances/OURS/tracing_on\n"
	       "echo '1' > instances/OURS/events/sched/sched_switch/enable\n"
	       "echo '1' > instances/OURS/tracing_on\n",
	       "with ignore_missing it is left out");
}

/* A filter of functions that fits nothing would trace everything: refused before the tracer is chosen. */
static void test_functions(void)
{
	static const struct {
		const char *text;
		int err;
	} rows[] = {
		{ "function:vfs_raed", -ENOENT },
		{ "function:vfs_re*", 0 },
		{ "function:*read:mod:ext4", 0 },
		{ "function:vfs_read:mod:ext4", -ENOENT },
		{ "function:ext4_read:mod:xfs", -ENOENT },
		{ "kprobe:nosuch*", -ENOENT },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct session x;
		begin(&x);
		x.s.dry_run = true;
		event(&x, rows[i].text);
		ok(apply(&x, true) == rows[i].err, "'%s' is %s", rows[i].text,
		   rows[i].err ? "refused" : "taken");
		ok(!rows[i].err == (strstr(strbuf_cstr(&x.dry), "current_tracer") != NULL),
		   "and the tracer %s", rows[i].err ? "not chosen" : "chosen");
		end(&x);
	}
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	return remove(path);
}

int main(void)
{
	if (!mkdtemp(base))
		abort();
	(void)snprintf(root, sizeof(root), "%s/root", base);
	(void)snprintf(run_dir, sizeof(run_dir), "%s/run", base);
	fill();
	test_order();
	test_probes();
	test_undo();
	test_instances();
	test_refusals();
	test_functions();
	(void)nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return done_testing();
}
