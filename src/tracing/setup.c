#include "tracing/setup.h"

#include "base/str.h"
#include "base/cpuset.h"
#include "tracing/setup_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* ---- what is asked for --------------------------------------------------------------------------------------------------- */

struct ftrace_buffer_opt *ftrace_setup_buffer(struct ftrace_setup *s)
{
	return s->buffers.nr ? &s->buffers.at[s->buffers.nr - 1] : vec_push(&s->buffers);
}

struct ftrace_event_opt *ftrace_setup_event(struct ftrace_setup *s, const char *text)
{
	struct ftrace_buffer_opt *b = ftrace_setup_buffer(s);
	struct ftrace_event_opt *e = b ? vec_push(&b->events) : NULL;
	if (e) {
		e->text = text;
		e->off = b->negate;
	}
	return e;
}

static const struct ftrace_option_names plain_names = {
	.tasks = "tasks",
	.command = "the command alone",
	.size = "buffer size",
	.cpus = "CPUs",
	.option = "trace option",
	.functions = "the list of functions",
	.graph = "a list of graph functions",
	.tracer = "tracer",
	.clock = "clock",
	.func_stack = "function stacks",
	.force = "force",
	.top = "the top-level buffer",
	.date = "date",
};

void ftrace_setup_init(struct ftrace_setup *s)
{
	*s = (struct ftrace_setup){
		.names = &plain_names, .root_path = "", .lock_fd = -1, .root = { .dir_fd = -1 }
	};
	s->tracing.dir = -1;
}

int ftrace_add_word(void *list, const char *value)
{
	struct {
		VEC(const char *) v;
	} *l = list;
	const char **slot = vec_push(&l->v);
	if (!slot)
		return -ENOMEM;
	*slot = value;
	return 0;
}

/* ---- opening -------------------------------------------------------------------------------------------------------------- */

static int open_below(struct tracing *t, const char *root, struct diag *d)
{
	int err = tracing_open(t, root);
	if (err)
		return err;
	/* Not mounted: where we may, we do. */
	if (t->err == -ENOENT && !*root && !geteuid() &&
	    !mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL)) {
		tracing_close(t);
		err = tracing_open(t, "");
		if (err)
			return err;
		diag_note(d, "tracefs was not mounted: mounted it at /sys/kernel/tracing");
	}
	if (t->err) {
		err = tracing_explain(t, d);
		tracing_close(t);
		return err;
	}
	return 0;
}

int ftrace_open(struct tracing *t, struct diag *d)
{
	return open_below(t, "", d);
}

int ftrace_folder(const struct tracing *t, const char *name, char *to, size_t size, struct diag *d)
{
	*to = 0;
	if (!name)
		return 0;
	if (!strchr(name, '/') && *name != '.' &&
	    snprintf(to, size, "instances/%s/", name) < (int)size && tracing_has(t, to))
		return 0;
	struct sysroot dir = { .dir_fd = t->dir };
	struct strbuf s;
	strbuf_init(&s);
	DIR *all = sysroot_dir(&dir, "instances");
	for (struct dirent *e; all && (e = readdir(all));)
		if (e->d_name[0] != '.')
			strbuf_printf(&s, "%s%s", s.len ? ", " : "", e->d_name);
	if (all)
		(void)closedir(all);
	diag_error(d, -ENOENT, "no instance '%s'", name);
	diag_hint(d, s.len ? "available: %s" : "there are none%s", strbuf_cstr(&s));
	strbuf_done(&s);
	return -ENOENT;
}

char *ftrace_own_cmdline(void)
{
	struct sysroot root;
	struct strbuf s;
	strbuf_init(&s);
	if (sysroot_open(&root, NULL))
		return NULL;
	int err = sysroot_read(&root, "proc/self/cmdline", &s);
	sysroot_close(&root);
	if (err) {
		strbuf_done(&s);
		return NULL;
	}
	while (s.len && !s.data[s.len - 1])
		s.len--;
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.data[i] < ' ')
			s.data[i] = ' ';
	return strbuf_steal(&s);
}

int ftrace_setup_open(struct ftrace_setup *s, struct diag *d, struct strbuf *dry)
{
	s->diag = d;
	s->dry = dry;
	arena_init(&s->arena);
	event_list_init(&s->events);
	strbuf_init(&s->functions);
	int err = open_below(&s->tracing, s->root_path, d);
	if (!err)
		err = sysroot_open(&s->root, *s->root_path ? s->root_path : NULL);
	s->cmdline = ftrace_own_cmdline();
	return err ? err : ftrace_setup_buffer(s) ? 0 : -ENOMEM;
}

void ftrace_setup_end(struct ftrace_setup *s)
{
	if (!s->diag) /* never opened */
		goto lists;
	ftrace_report_misses(s);
	journal_close(s->journal, s->diag);
	s->journal = NULL;
	cleanup_close(&s->lock_fd);
	tracing_close(&s->tracing);
	sysroot_close(&s->root);
	arena_done(&s->arena);
	event_list_done(&s->events);
	strbuf_done(&s->functions);
	free(s->cmdline);
lists:
	vec_for_each (&s->buffers, b) {
		vec_for_each (&b->events, e)
			vec_free(&e->triggers);
		vec_free(&b->events);
		vec_for_each (&b->traced, e)
			vec_free(&e->triggers);
		vec_free(&b->traced);
		vec_free(&b->functions);
		vec_free(&b->no_functions);
		vec_free(&b->graph);
		vec_free(&b->no_graph);
		vec_free(&b->options);
		vec_free(&b->systems);
	}
	vec_free(&s->buffers);
	vec_free(&s->pid_list);
}

/* ---- the rest of a buffer -------------------------------------------------------------------------------------------------- */

/* Kilobytes, or bytes with a unit; total: is for all CPUs together. */
static int apply_size(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	const char *text = b->size;
	char kb[32];
	u64 v;
	if (!text)
		return 0;
	bool total = str_starts(text, "total:");
	text += total ? 6 : 0;
	if (num_parse_size(text, &v) || !v)
		return diag_error(s->diag, -EINVAL, "%s %s: expected kilobytes, or a size like 64M",
				  s->names->size, b->size);
	if (text[strspn(text, "0123456789")])
		v = (v + 1023) / 1024;
	if (total)
		v = max(v / max((u64)sysconf(_SC_NPROCESSORS_ONLN), (u64)1), (u64)1);
	if (v > 1ull << 40)
		return diag_error(s->diag, -ERANGE, "%s %s exceeds the memory of any machine",
				  s->names->size, b->size);
	(void)snprintf(kb, sizeof(kb), "%llu", (unsigned long long)v);
	const char *path = ftrace_path_in(s, b, "buffer_size_kb");
	struct strbuf t;
	strbuf_init(&t);
	bool mixed = *tracing_line(&s->tracing, path, &t) == 'X';
	strbuf_done(&t);
	int err = mixed ? 0 : journal_set(s->journal, path, kb, s->diag);
	for (int cpu = 0; mixed && !err; cpu++) {
		path = ftrace_path_in(s, b, "per_cpu/cpu%d/buffer_size_kb", cpu);
		if (!tracing_has(&s->tracing, path))
			break;
		err = journal_set(s->journal, path, kb, s->diag);
	}
	if (err == -ENOMEM)
		diag_hint(
			s->diag,
			"%s %s is per CPU, and there are %ld; use total:SIZE for all CPUs together",
			s->names->size, b->size, sysconf(_SC_NPROCESSORS_ONLN));
	return err;
}

static int apply_cpumask(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	struct cpuset set;
	struct strbuf mask;
	if (!b->cpumask)
		return 0;
	cpuset_zero(&set);
	strbuf_init(&mask);
	int err = 0;
	if (!strcmp(b->cpumask, "-1"))
		for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF); i++)
			cpuset_add(&set, (unsigned)i);
	else
		err = cpuset_parse_mask(b->cpumask, &set, s->diag);
	int beyond = cpuset_next(&set, (unsigned)sysconf(_SC_NPROCESSORS_CONF));
	if (!err && beyond >= 0)
		err = diag_error(s->diag, -EINVAL, "%s %s: no CPU %d, the last one is %ld",
				 s->names->cpus, b->cpumask, beyond,
				 sysconf(_SC_NPROCESSORS_CONF) - 1);
	else if (!err && !cpuset_count(&set))
		err = diag_error(s->diag, -EINVAL,
				 "%s %s: no CPUs selected, nothing would be traced", s->names->cpus,
				 b->cpumask);
	if (!err) {
		cpuset_add_mask(&set, &mask);
		err = journal_set(s->journal, ftrace_path_in(s, b, "tracing_cpumask"),
				  strbuf_cstr(&mask), s->diag);
	}
	strbuf_done(&mask);
	return err;
}

static int apply_option(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *word)
{
	const char *name = word;
	bool off = false;
	if (!*name)
		return diag_error(s->diag, -EINVAL, "%s: empty option name", s->names->option);
	const char *path = ftrace_path_in(s, b, "options/%s", name);
	if (!tracing_has(&s->tracing, path) && str_starts(word, "no")) {
		name = word + 2;
		off = true;
		path = ftrace_path_in(s, b, "options/%s", name);
	}
	bool plain = !strchr(name, '/');
	if (!plain || !tracing_has(&s->tracing, path)) {
		/* In a dry run the instance does not exist: the end of the path is the top buffer's. */
		const char *top = path + strlen(path) - strlen(name) - strlen("options/");
		if (!plain || !s->dry_run || !tracing_has(&s->tracing, top)) {
			int err = diag_error(s->diag, -ENOENT, "unknown trace option '%s'", word);
			diag_hint(s->diag, "'sonde ftrace list -o' shows them");
			return err;
		}
	}
	return journal_set(s->journal, path, off ? "0" : "1", s->diag);
}

int ftrace_set_flag(struct ftrace_setup *s, const struct ftrace_buffer_opt *b, const char *name,
		    bool on)
{
	const char *path = ftrace_path_in(s, b, "options/%s", name);
	if (!s->dry_run && !tracing_has(&s->tracing, path))
		return 0;
	return journal_set(s->journal, path, on ? "1" : "0", s->diag);
}

/* "vfs_read:traceoff:1": what is to happen at a call, not a name. */
static bool is_command(const char *text)
{
	struct event_function f;
	event_function_split(text, &f);
	return f.command && !f.module;
}

/*
 * A line for each command. They come last, when tracing is on and all that is left is to let the command go: whoever calls the function
 * uses up its count, we too.
 */
static int apply_commands(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	int err = 0;
	for (size_t i = 0; i < b->functions.nr && !err; i++) {
		const char *text = b->functions.at[i];
		if (!is_command(text))
			continue;
		const char *undo =
			ftrace_path_in(s, &(struct ftrace_buffer_opt){ .folder = "" }, "!%s", text);
		err = journal_add(s->journal, ftrace_path_in(s, b, "set_ftrace_filter"), text, undo,
				  s->diag);
	}
	return err;
}

/* Names of functions become one list; of commands only the names are checked. */
static int apply_functions(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *file,
			   const char **at, size_t nr, bool with_module)
{
	struct strbuf list;
	const char *path = ftrace_path_in(s, b, "%s", file);
	int err = 0;
	strbuf_init(&list);
	if (!nr && !(with_module && s->module))
		return 0;
	if (!nr) {
		strbuf_printf(&list, ":mod:%s", s->module);
		err = ftrace_check_function(s, strbuf_cstr(&list));
		strbuf_char(&list, '\n');
	}
	for (size_t i = 0; i < nr && !err; i++) {
		const char *text = at[i];
		bool module = with_module && s->module && !strchr(text, ':');
		err = ftrace_check_function(s, text);
		if (!err && is_command(text) && !with_module)
			err = diag_error(s->diag, -EINVAL,
					 "'%s': use %s for actions on a function call", text,
					 s->names->functions);
		if (!err && !is_command(text))
			strbuf_printf(&list, "%s%s%s\n", text, module ? ":mod:" : "",
				      module ? s->module : "");
	}
	if (!err && list.len)
		err = journal_list(s->journal, path, strbuf_cstr(&list), s->diag);
	strbuf_done(&list);
	return err;
}

static const char *const latency_tracers[] = { "wakeup",  "wakeup_rt",	"wakeup_dl",
					       "irqsoff", "preemptoff", "preemptirqsoff" };

bool ftrace_is_latency(const char *tracer)
{
	for (size_t i = 0; tracer && i < ARRAY_SIZE(latency_tracers); i++)
		if (!strcmp(tracer, latency_tracers[i]))
			return true;
	return false;
}

static int apply_tracer(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	struct diag *d = s->diag;
	int err = 0;
	bool graph = b->tracer && !strcmp(b->tracer, "function_graph");
	if ((b->graph.nr || b->no_graph.nr) && !graph)
		return diag_error(d, -EINVAL,
				  "%s needs the function_graph tracer: add %s function_graph",
				  s->names->graph, s->names->tracer);
	/* One list for the whole kernel; its users have the lock. */
	struct ftrace_buffer_opt all = { .folder = "" };
	err = apply_functions(s, &all, "set_graph_function", b->graph.at, b->graph.nr, false);
	if (!err)
		err = apply_functions(s, &all, "set_graph_notrace", b->no_graph.at, b->no_graph.nr,
				      false);
	if (!err && s->max_depth)
		err = journal_set(s->journal, "max_graph_depth", s->max_depth, d);
	if (!err && s->thresh)
		err = journal_set(s->journal, "tracing_thresh", s->thresh, d);
	if (!err)
		err = apply_functions(s, b, "set_ftrace_filter", b->functions.at, b->functions.nr,
				      true);
	if (!err)
		err = apply_functions(s, b, "set_ftrace_notrace", b->no_functions.at,
				      b->no_functions.nr, false);
	/* Tracing every function between two moments makes those tracers crawl. */
	bool asked = false;
	vec_for_each (&b->options, o)
		asked |= !strcmp(*o, "function-trace");
	if (!err && (s->no_function_trace || (ftrace_is_latency(b->tracer) && !asked)))
		err = ftrace_set_flag(s, b, "function-trace", false);
	if (!err && b->tracer)
		err = journal_set(s->journal, ftrace_path_in(s, b, "current_tracer"), b->tracer, d);
	if (err == -EPERM && b->tracer && str_starts(b->tracer, "function"))
		diag_hint(d, "this kernel does not allow function tracing, even for root "
			     "(lockdown); see 'sonde doctor'");
	if (!err && b->func_stack) {
		if (!b->functions.nr)
			return diag_error(
				d,
				-EINVAL, "%s without %s would bring down the machine: a stack for every function",
				s->names->func_stack, s->names->functions);
		err = ftrace_set_flag(s, b, "func_stack_trace", true);
	}
	return err;
}

static int apply_buffer(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	struct diag *d = s->diag;
	int err = journal_set(s->journal, ftrace_path_in(s, b, "tracing_on"), "0", d);
	if (!err && b->clock)
		err = journal_set(s->journal, ftrace_path_in(s, b, "trace_clock"), b->clock, d);
	if (!err)
		err = apply_size(s, b);
	if (!err)
		err = apply_cpumask(s, b);
	/* Programs write their markers to the top-level file. */
	if (!err && b->made && !b->name && tracing_has(&s->tracing, "options/copy_trace_marker"))
		err = ftrace_set_flag(s, b, "copy_trace_marker", true);
	for (size_t i = 0; i < b->options.nr && !err; i++)
		err = apply_option(s, b, b->options.at[i]);
	if (!err)
		err = ftrace_apply_pids(s, b);
	if (!err && b->stacks)
		err = ftrace_set_flag(s, b, "stacktrace", true);
	if (!err)
		err = ftrace_apply_events(s, b);
	if (!err)
		err = apply_tracer(s, b);
	return err;
}

/* ---- where ---------------------------------------------------------------------------------------------------------------- */

/* Tracers that exist once are not in an instance's list: ask one that exists, or a new one. */
static bool tracer_needs_top(const struct ftrace_setup *s, const char *tracer)
{
	static const char *const anywhere[] = { "nop", "function", "osnoise", "timerlat" };
	static const char *const once[] = { "blk",	 "mmiotrace", "hwlat",	"wakeup",
					    "wakeup_rt", "wakeup_dl", "irqsoff" };
	(void)s;
	for (size_t i = 0; i < ARRAY_SIZE(anywhere); i++)
		if (!strcmp(tracer, anywhere[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(once); i++)
		if (!strcmp(tracer, once[i]))
			return true;
	/* function_graph: graph filters, depth and threshold are the kernel's only ones in any case. */
	return true;
}

/* The top buffer is needed: it was asked for, or a tracer that works nowhere else. */
static bool ftrace_setup_needs_top(const struct ftrace_setup *s)
{
	if (s->top || s->thresh || s->max_depth)
		return true;
	const struct ftrace_buffer_opt *b = &s->buffers.at[0];
	return (b->tracer && tracer_needs_top(s, b->tracer)) || b->graph.nr || b->no_graph.nr;
}

/* trace-cmd's name for "x86-tsc, and let readers make nanoseconds of it". */
static int check_tsc(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	if (b->clock && !strcmp(b->clock, "tsc2nsec")) {
		b->clock = "x86-tsc";
		s->tsc2nsec = true;
	}
	int err = s->tsc2nsec ? perf_tsc_read(&s->tsc) : 0;
	if (err) {
		diag_error(
			s->diag,
			err, "tsc2nsec: the kernel does not provide a conversion from CPU counter to nanoseconds");
		diag_hint(s->diag,
			  "use %s mono for nanoseconds; or %s x86-tsc and 'ftrace report %s HZ' if "
			  "you know its frequency",
			  s->names->clock, s->names->clock,
			  diag_option(s->diag, DIAG_OPT_CLOCK_RATE));
	}
	return err;
}

int ftrace_setup_note_tsc(const struct ftrace_setup *s, struct ftrace_meta *m)
{
	struct {
		u32 mult, shift;
		u64 offset; /* trace-cmd leaves it 0 too */
	} tsc = { .mult = s->tsc.mult, .shift = s->tsc.shift };
	return s->tsc2nsec ? ftrace_meta_option(m, OPTION_TSC2NSEC, &tsc, sizeof(tsc)) : 0;
}

static int check_buffer(struct ftrace_setup *s, struct ftrace_buffer_opt *b, u32 use)
{
	int err = ftrace_resolve_events(s, b, use);
	if (!err)
		err = check_tsc(s, b);
	if (!err && b->tracer)
		err = ftrace_check_word(s, "available_tracers", b->tracer, "tracer");
	if (!err && b->clock)
		err = ftrace_check_word(s, "trace_clock", b->clock, "clock");
	if (!err && b->tracer && !strcmp(b->tracer, "mmiotrace") && !s->force) {
		err = diag_error(s->diag, -EPERM,
				 "mmiotrace takes all but one CPU offline and can hang a machine");
		diag_hint(s->diag, "use %s if that is what you want", s->names->force);
	}
	return err;
}

int ftrace_setup_begin(struct ftrace_setup *s, bool private, journal_rescue_fn *rescue)
{
	struct diag *d = s->diag;
	int err = 0;
	for (size_t i = 0; i < s->buffers.nr && !err; i++)
		err = check_buffer(s, &s->buffers.at[i],
				   private ? EVENT_USE_FTRACE : EVENT_USE_START);
	if (err)
		return err;
	struct journal_opts o = { .run_dir = s->run_dir,
				  .title = s->cmdline,
				  .rescue = rescue,
				  .dry = s->dry_run ? s->dry : NULL };
	if (!s->dry_run && (!private || ftrace_setup_needs_top(s))) {
		char holder[400];
		(void)snprintf(holder, sizeof(holder), "process %d (%s)", (int)getpid(),
			       s->cmdline ? s->cmdline : "");
		int run_dir = run_dir_open(s->run_dir ? s->run_dir : RUN_DIR, d);
		if (run_dir < 0)
			return run_dir;
		s->lock_fd = lock_take(run_dir, "top-level buffer", holder, false, d);
		(void)close(run_dir);
		if (s->lock_fd < 0)
			return s->lock_fd;
		o.keep[0] = s->lock_fd;
	}
	return journal_open(&s->journal, &s->tracing, &o, d);
}

int ftrace_setup_apply(struct ftrace_setup *s, bool private, int pid)
{
	struct diag *d = s->diag;
	int err = 0;
	if (s->cmdlines_size)
		err = journal_knob(s->journal, "saved_cmdlines_size", s->cmdlines_size, d);
	if (!err)
		err = ftrace_find_pids(s, pid);
	if (!err)
		err = ftrace_define_probes(s);
	for (size_t i = 0; i < s->buffers.nr && !err; i++) {
		struct ftrace_buffer_opt *b = &s->buffers.at[i];
		char name[NAME_MAX + 1];
		if (!b->name && private && !ftrace_setup_needs_top(s)) {
			(void)snprintf(name, sizeof(name), "sonde-%s", journal_name(s->journal));
			err = journal_instance(s->journal, name, d);
			b->made = true;
		} else if (b->name) {
			char path[NAME_MAX + 16];
			err = str_path(name, sizeof(name), "%s", b->name);
			if (!err)
				err = str_path(path, sizeof(path), "instances/%s", b->name);
			if (err)
				return diag_error(d, err, "cannot make an instance '%s': %s",
						  b->name, strerror(-err));
			if (!tracing_has(&s->tracing, path)) {
				err = journal_instance(s->journal, b->name, d);
				b->made = true;
			}
		} else {
			*name = 0;
		}
		if (*name)
			(void)snprintf(b->folder, sizeof(b->folder), "instances/%s/", name);
		if (!err)
			err = apply_buffer(s, b);
	}
	return err;
}

int ftrace_setup_switch(struct ftrace_setup *s, bool on)
{
	int err = 0;
	if (on)
		ftrace_watch_misses(s);
	for (size_t i = 0; i < s->buffers.nr && !err; i++)
		err = journal_set(s->journal, ftrace_path_in(s, &s->buffers.at[i], "tracing_on"),
				  on ? "1" : "0", s->diag);
	for (size_t i = 0; i < s->buffers.nr && on && !err; i++)
		err = apply_commands(s, &s->buffers.at[i]);
	return err;
}
