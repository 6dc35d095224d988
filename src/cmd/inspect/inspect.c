/* `sonde inspect`: the live kernel's data structures. The commands are those of crash, with its options. */
#include "cmd/inspect/inspect.h"

#include "cmd/app/commands.h"
#include "cmd/inspect/prompt.h"
#include "memory/identify.h"
#include "session/symbols.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *inspect_join(struct inspect *i, int argc, char **argv)
{
	struct strbuf s;
	strbuf_init(&s);
	for (int n = 0; n < argc; n++)
		strbuf_printf(&s, "%s%s", n ? " " : "", argv[n]);
	const char *ret = arena_strdup(&i->k.arena, strbuf_cstr(&s));
	strbuf_done(&s);
	return ret;
}

int inspect_usage(struct inspect *i, const char *what)
{
	i->misused = true;
	return diag_error(&i->app->diag, -EINVAL, "%s", what);
}

void inspect_json_address(struct inspect *i, const char *key, u64 addr)
{
	char text[24] = "0x";
	text[2 + num_hex(text + 2, addr)] = '\0';
	json_put_str(&i->j, key, text);
}

void inspect_fresh_symbols(struct inspect *i)
{
	i->k.opts.cache = NULL;
	if (inspect_prompted() && !i->k.opts.dump)
		i->k.tried_syms = i->k.has_syms = false;
}

/* ---- which sources answered ------------------------------------------------------------------------------------------------ */

static const char *types_source(const struct inspect *i)
{
	if (!i->k.has_types)
		return NULL;
	if (i->k.dump)
		return i->k.table_used ? "BTF (in the dump), types of globals from sonde's table"
				       : "BTF (in the dump)";
	return i->k.table_used ? "BTF (/sys/kernel/btf), types of globals from sonde's table"
			       : "BTF (/sys/kernel/btf)";
}

static const char *symbols_source(const struct inspect *i)
{
	if (!i->k.has_syms)
		return NULL;
	if (i->k.dump)
		return "kallsyms (in the dump)";
	return i->k.syms.has_data ? "/proc/kallsyms"
				  : "/proc/kallsyms (functions only: CONFIG_KALLSYMS_ALL is off)";
}

static void print_how(struct inspect *i)
{
	struct strbuf *err = &i->app->err;
	const struct memory *m = i->k.memory;
	const char *types = types_source(i), *symbols = symbols_source(i);
	strbuf_printf(err, "memory: %s", m ? m->ops->name : "not read");
	if (m)
		strbuf_printf(err, ", %llu bytes in %llu reads", (unsigned long long)m->nr_bytes,
			      (unsigned long long)m->nr_calls);
	strbuf_printf(err, "\ntypes: %s\nsymbols: %s\n", types ? types : "not read",
		      symbols ? symbols : "not read");
}

static const char *end_word(enum walk_end end)
{
	switch (end) {
	case WALK_ENDED: return "complete";
	case WALK_STOPPED: return "limit";
	case WALK_LOOP: return "loop";
	case WALK_BAD: return "bad address";
	default: return "too deep";
	}
}

static int print_all_json(struct inspect *i)
{
	struct json out;
	const char *rows = strbuf_cstr(&i->json_text);
	json_begin(&out, &i->app->out, JSON_PRETTY);
	json_object(&out);
	json_key(&out, "sources");
	json_object(&out);
	json_put_str(&out, "memory", i->k.memory ? i->k.memory->ops->name : NULL);
	json_put_str(&out, "types", types_source(i));
	json_put_str(&out, "symbols", symbols_source(i));
	json_object_end(&out);
	if (i->walked) {
		json_put_u64(&out, "nodes", i->walk.nr);
		json_put_str(&out, "end", end_word(i->walk.end));
	}
	json_key(&out, "rows");
	json_value(&out, rows, i->json_text.len);
	json_object_end(&out);
	return json_end(&out);
}

/* ---- one run --------------------------------------------------------------------------------------------------------------- */

static int run_once(struct inspect *i, inspect_fn fn, int argc, char **argv)
{
	strbuf_reset(&i->text);
	strbuf_reset(&i->json_text);
	i->walked = false;
	if (i->app->json) {
		json_begin(&i->j, &i->json_text, JSON_COMPACT);
		json_array(&i->j);
	}
	int err = fn(i, argc, argv);
	if (i->app->json && !err) {
		json_array_end(&i->j);
		err = json_end(&i->j);
		while (i->json_text.len && i->json_text.data[i->json_text.len - 1] == '\n')
			i->json_text.len--;
		if (!err)
			err = print_all_json(i);
	} else if (!i->app->json) {
		/* What was found before something went wrong is worth seeing. */
		strbuf_add(&i->app->out, i->text.data, i->text.len);
	}
	return err;
}

void inspect_begin(struct inspect *i, struct app *app, const struct inspect_opts *o)
{
	*i = (struct inspect){ .app = app, .o = o };
	i->print = (struct print_opts){ .radix = o->hex	      ? 16
						 : o->decimal ? 10
							      : 0,
					.depth = (unsigned)min(o->depth, (u64)PRINT_DEPTH),
					.elements = (unsigned)min(o->elements, (u64)1 << 20) };
	strbuf_init(&i->text);
	i->text.screen = app->out.screen;
	strbuf_init(&i->json_text);
	struct kspace_opts k = { .cache = cache_folder(NULL, i->cache, sizeof(i->cache)),
				 .memory = (enum kspace_memory)o->memory,
				 .dump = o->dump };
	const struct inspect *open = inspect_prompted();
	if (!open) {
		kspace_init(&i->k, &k, &app->diag);
		return;
	}
	/* In a child of the prompt: all of it is ours, and goes with us. */
	i->k = open->k;
	i->k.diag = &app->diag;
	i->context = open->context;
}

void inspect_end(struct inspect *i)
{
	if (i->o->how && !i->app->json)
		print_how(i);
	strbuf_done(&i->text);
	strbuf_done(&i->json_text);
	kstacks_close(i->stacks);
	kunwind_close(i->unwind);
	identify_close(i->identify);
	vec_free(&i->children);
	kspace_done(&i->k);
}

int inspect_run(struct app *app, const struct inspect_opts *o, inspect_fn fn, int argc, char **argv)
{
	struct inspect i;
	inspect_begin(&i, app, o);
	int err = run_once(&i, fn, argc, argv);
	inspect_end(&i);
	return i.misused ? app_usage_said(app) : err ? app_fail(app, err) : APP_DONE;
}

/* ---- -i: an expression again and again ------------------------------------------------------------------------------------- */

static void sleep_until(struct timespec *at, u64 seconds)
{
	at->tv_sec += (time_t)seconds;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, at, NULL) == EINTR)
		;
}

static double seconds_of(const struct timespec *t)
{
	return (double)t->tv_sec + (double)t->tv_nsec * 1e-9;
}

/* The value, and how it changed: a second for numbers. */
static int watch_line(struct inspect *i, const char *text, const struct cexpr *tree,
		      struct timespec *before, u64 *last, bool first)
{
	struct kvalue v;
	struct timespec now;
	u64 num;
	int err = eval_tree(&i->k, tree, text, &v);
	if (!err)
		err = eval_number(&i->k, &v, &num);
	if (err)
		return err;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	double passed = seconds_of(&now) - seconds_of(before);
	s64 change = (s64)(num - *last);
	if (i->app->json) {
		struct json j;
		json_begin(&j, &i->app->out, JSON_COMPACT);
		json_object(&j);
		json_put_str(&j, "expression", text);
		json_key(&j, "value");
		if (ktype_is_signed(&v.type))
			json_s64(&j, (s64)num);
		else
			json_u64(&j, num);
		json_key(&j, "change");
		if (first)
			json_null(&j);
		else
			json_s64(&j, change);
		json_key(&j, "per_second");
		if (first || passed <= 0)
			json_null(&j);
		else
			json_double(&j, (double)change / passed);
		json_object_end(&j);
		err = json_end(&j);
	} else {
		struct strbuf s;
		strbuf_init(&s);
		err = print_value(&i->k, &v, &i->print, &s);
		strbuf_printf(&i->app->out, "%s = %s", text, strbuf_cstr(&s));
		if (!first && passed > 0)
			strbuf_printf(&i->app->out, "  %+lld  %+.1f/s", (long long)change,
				      (double)change / passed);
		strbuf_char(&i->app->out, '\n');
		strbuf_done(&s);
	}
	*before = now;
	*last = num;
	return err;
}

static int watch(struct app *app, const struct inspect_opts *o, int argc, char **argv)
{
	struct inspect i;
	struct timespec at, before = { 0 };
	u64 last = 0;
	inspect_begin(&i, app, o);
	app_live(app);
	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	struct cexpr *tree;
	const char *text = inspect_join(&i, argc, argv);
	int err = text ? eval_parse(&i.k, text, &tree) : -ENOMEM;
	for (u64 n = 0; !err && (!o->count || n < o->count); n++) {
		if (n)
			sleep_until(&at, o->interval_s);
		err = watch_line(&i, text, tree, &before, &last, !n);
		if (!err)
			err = app_flush(app);
	}
	inspect_end(&i);
	/* Whoever read our output has gone. */
	return err == -EPIPE ? APP_DONE : err ? app_fail(app, err) : APP_DONE;
}

/* ---- the commands ---------------------------------------------------------------------------------------------------------- */

/* As crash: a word that is no command is an expression, and `kprobe ADDRESS` is `struct kprobe ADDRESS`. */
static int inspect_any(struct inspect *i, int argc, char **argv)
{
	if (argv[0][0] == '*' && argc > 1 && inspect_names_struct(i, argv[0] + 1)) {
		argv[0]++;
		return inspect_struct(i, argc, argv);
	}
	if (argc > 1 && inspect_names_struct(i, argv[0]))
		return inspect_struct(i, argc, argv);
	return inspect_print(i, argc, argv);
}

#define RUN(name)                                                                                  \
	static int run_##name(struct app *app, void *opts, int argc, char **argv)                  \
	{                                                                                          \
		return inspect_run(app, opts, inspect_##name, argc, argv);                         \
	}
RUN(print)
RUN(struct)
RUN(whatis)
RUN(list)
RUN(tree)
RUN(rd)
RUN(sym)
RUN(dis)
RUN(ps)
RUN(mod)
RUN(task)
RUN(foreach)
RUN(bt)
RUN(files)
RUN(vm)
RUN(log)
RUN(sys)
RUN(vtop)
RUN(identify)
RUN(search)
RUN(runq)
RUN(mount)
RUN(net)
RUN(kmem)
RUN(sig)
RUN(irq)
RUN(timer)
RUN(waitq)
RUN(bpf)
RUN(ipcs)
RUN(swap)
RUN(dev)
RUN(eval)
#undef RUN

static const char *const memory_words[] = { "auto", "bpf", "kcore", NULL };
static const char *const tree_words[] = { "rbtree", "xarray", "maple", NULL };

static int set_width(void *opts, const char *value, u64 width, const char *rest, struct diag *d)
{
	struct inspect_opts *o = opts;
	if (strcmp(value ? value : "", rest))
		return diag_error(d, -EINVAL, "invalid width: -8, -16, -32 or -64");
	o->width = width;
	return 0;
}
static int width_16(void *opts, const char *value, bool negated, struct diag *d)
{
	return set_width(opts, value, 16, "6", d);
}
static int width_32(void *opts, const char *value, bool negated, struct diag *d)
{
	return set_width(opts, value, 32, "2", d);
}
static int width_64(void *opts, const char *value, bool negated, struct diag *d)
{
	return set_width(opts, value, 64, "4", d);
}
static int width_8(void *opts, const char *value, bool negated, struct diag *d)
{
	return set_width(opts, "", 8, "", d);
}

/* clang-format off */
#define T struct inspect_opts
#define DUMP_HELP "Look at this dump of a kernel (ELF or kdump-compressed) instead of the running kernel"
#define COMMON_ROWS \
	OPT_HEADING("Sources"), \
	OPT_STR(0, "dump", T, dump, "FILE", DUMP_HELP), \
	SOURCE_ROWS
#define SOURCE_ROWS \
	OPT_ENUM(0, "memory", T, memory, "SOURCE", "How to read kernel memory (default: auto)", memory_words), \
	OPT_FLAG(0, "how", T, how, "Report which memory, type and symbol sources answered, on standard error")
#define RADIX_ROWS \
	OPT_FLAG('d', "decimal", T, decimal, "Print integers in decimal (default)"), \
	RADIX_ROWS_WITHOUT_D
#define RADIX_ROWS_WITHOUT_D \
	OPT_FLAG('x', "hex", T, hex, "Print integers in hexadecimal"), \
	OPT_UINT(0, "depth", T, depth, "N", "Show at most N levels of nested structures"), \
	OPT_UINT(0, "elements", T, elements, "N", "Show at most N elements of an array or string (default: 200)")

static const struct opt any_rows[] = {
	OPT_FLAG(0, "decimal", T, decimal, "Print integers in decimal (default)"),
	RADIX_ROWS_WITHOUT_D,
	OPT_UINT('i', "interval", T, interval_s, "SECONDS", "Print the value every SECONDS, with its change per second"),
	OPT_UINT('n', "count", T, count, "N", "With -i, stop after N lines"),
	OPT_STR(0, "diff", T, diff, "FILE|live", "Compare with this dump, or with the running kernel: the system, modules and tasks, or an expression"),
	OPT_FLAG(0, "probed", T, probed, "Report whether and by whom the named functions are instrumented"),
	OPT_HEADING("Sources"),
	OPT_STR('d', "dump", T, dump, "FILE", DUMP_HELP),
	SOURCE_ROWS,
	OPT_END(),
};
static const struct opt print_rows[] = { RADIX_ROWS, COMMON_ROWS, OPT_END() };
static const struct opt struct_rows[] = {
	OPT_FLAG('o', "offsets", T, offsets, "Show the offset of each member"),
	RADIX_ROWS, COMMON_ROWS, OPT_END(),
};
static const struct opt whatis_rows[] = {
	OPT_FLAG('o', "offsets", T, offsets, "Show the offset of each member"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt list_rows[] = {
	OPT_STR('o', "offset", T, list_offset, "OFFSET|TYPE.MEMBER", "Where the pointer to the next object is"),
	OPT_LIST('s', "struct", T, members, "TYPE[.MEMBER,...]", "Print these members of each object"),
	OPT_FLAG('H', "head", T, head, "START is a list_head or hlist_head of its own"),
	OPT_FLAG('h', "embedded", T, embedded, "START is an object with a list_head in it"),
	OPT_FLAG('r', "reverse", T, backwards, "Follow list_head.prev"),
	OPT_STR('e', "end", T, end, "ADDRESS", "Stop at this address"),
	OPT_UINT('n', "limit", T, limit, "N", "Stop after N objects (default: 1048576)"),
	RADIX_ROWS, COMMON_ROWS, OPT_END(),
};
static const struct opt tree_rows[] = {
	OPT_ENUM('t', "type", T, tree_kind, "TYPE", "rbtree (default), xarray (and radix trees) or maple", tree_words),
	OPT_STR('o', "offset", T, list_offset, "OFFSET|TYPE.MEMBER", "Where the rb_node is in an object"),
	OPT_LIST('s', "struct", T, members, "TYPE[.MEMBER,...]", "Print these members of each object"),
	OPT_UINT('n', "limit", T, limit, "N", "Stop after N objects (default: 1048576)"),
	RADIX_ROWS, COMMON_ROWS, OPT_END(),
};
static const struct opt rd_rows[] = {
	OPT_UINT('w', "width", T, width, "BITS", "Bits per unit: 8, 16, 32 or 64 (default); -8, -16, -32 and -64 are short for it"),
	OPT_CALL('8', NULL, NULL, "Same as -w 8", width_8, .hidden = true),
	OPT_CALL('1', NULL, "6", "Same as -w 16", width_16, .hidden = true),
	OPT_CALL('3', NULL, "2", "Same as -w 32", width_32, .hidden = true),
	OPT_CALL('6', NULL, "4", "Same as -w 64", width_64, .hidden = true),
	OPT_FLAG('s', "symbols", T, symbols, "One 64-bit unit per line, with its symbol"),
	OPT_FLAG('x', "no-ascii", T, no_ascii, "No characters at the end of the line"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt sym_rows[] = {
	OPT_STR('q', "query", T, query, "TEXT", "All symbols that contain TEXT"),
	OPT_STR('m', "module", T, module, "MODULE", "All symbols of this module"),
	OPT_FLAG('l', "lines", T, lines, "Show the source file and line, from debug information"),
	OPT_STR('k', "vmlinux", T, vmlinux, "FILE", "Kernel image with debug information, for -l (default: looked for by build ID)"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt dis_rows[] = {
	OPT_FLAG('l', "lines", T, lines, "Show source files and lines, from debug information"),
	OPT_STR('k', "vmlinux", T, vmlinux, "FILE", "Kernel image with debug information, for -l (default: looked for by build ID)"),
	OPT_FLAG('r', "reverse", T, until, "From the start of the function up to the address"),
	OPT_FLAG('f', "forward", T, from, "From the address to the end of the function"),
	OPT_FLAG('x', "hex", T, hex, "Offsets in hexadecimal"),
	COMMON_ROWS, OPT_END(),
};
#define BT_ROWS \
	OPT_FLAG('s', "symbols", T, symbols, "Show the offset in each function"), \
	OPT_FLAG('l', "lines", T, lines, "Show source files and lines, from debug information"), \
	OPT_STR('k', "vmlinux", T, vmlinux, "FILE", "Kernel image with debug information, for -l (default: looked for by build ID)")
#define TASK_ROWS \
	OPT_STR('R', "members", T, task_members, "MEMBER,...", "Print these members of task_struct only"), \
	RADIX_ROWS
static const struct opt bt_rows[] = { BT_ROWS, COMMON_ROWS, OPT_END() };
static const struct opt task_rows[] = { TASK_ROWS, COMMON_ROWS, OPT_END() };
static const struct opt foreach_rows[] = {
	OPT_HEADING("bt"), BT_ROWS, OPT_HEADING("task"), TASK_ROWS, COMMON_ROWS, OPT_END(),
};
static const struct opt log_rows[] = {
	OPT_FLAG('T', "wall-time", T, wall_time, "Show the date and time instead of seconds since boot"),
	OPT_FLAG('m', "level", T, show_level, "Show the level, <0> (emergency) to <7> (debug)"),
	OPT_FLAG('t', "text", T, bare, "Show the text only"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt search_rows[] = {
	OPT_STR('s', "start", T, start, "ADDRESS", "Start of the range; -e or -l sets its end"),
	OPT_STR('e', "end", T, end, "ADDRESS", "Stop before this address"),
	OPT_STR('l', "length", T, length, "BYTES", "Search this many bytes"),
	OPT_FLAG('t', "stacks", T, stacks, "Search the kernel stacks of all tasks"),
	OPT_STR('m', "mask", T, mask, "MASK", "Ignore the bits that are set in MASK"),
	OPT_FLAG('w', "words", T, words, "Values of 32 bits instead of 64"),
	OPT_FLAG('h', "half-words", T, halves, "Values of 16 bits"),
	OPT_FLAG('c', "text", T, as_text, "Search for text"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt kmem_rows[] = {
	OPT_FLAG('i', "usage", T, usage, "Show total memory usage"),
	OPT_FLAG('s', "slabs", T, slabs, "List slab caches: those named, or all"),
	OPT_FLAG('z', "zones", T, zones, "List zones and nodes with their counters"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt irq_rows[] = {
	OPT_FLAG('a', "affinity", T, affinity, "List the CPUs that each may be delivered to"),
	OPT_FLAG('b', "softirqs", T, softirqs, "List the functions of softirqs (bottom halves)"),
	OPT_FLAG('d', "idt", T, vectors, "List the interrupt descriptor table (x86)"),
	OPT_FLAG('s', "statistics", T, statistics, "Show the count of each on each CPU"),
	OPT_FLAG('u', "used", T, in_use, "Only those with a handler"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt timer_rows[] = {
	OPT_FLAG('r', "high-resolution", T, high_resolution, "List high-resolution timers (struct hrtimer)"),
	OPT_STR('C', "cpu", T, cpus, "CPUS", "Only those of these CPUs"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt bpf_rows[] = {
	OPT_UINT('p', "prog", T, prog, "ID", "Only this program"),
	OPT_UINT('m', "map", T, map, "ID", "Only this map"),
	OPT_FLAG('P', "progs", T, progs, "List programs"),
	OPT_FLAG('M', "maps", T, maps, "List maps"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt ipcs_rows[] = {
	OPT_FLAG('m', "shared", T, shared, "List shared memory"),
	OPT_FLAG('s', "semaphores", T, semaphores, "List semaphores"),
	OPT_FLAG('q', "messages", T, messages, "List message queues"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt dev_rows[] = {
	OPT_FLAG('d', "disks", T, disks, "List disks with their requests under way"),
	OPT_FLAG('p', "pci", T, pci, "List PCI devices"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt sig_rows[] = {
	OPT_FLAG('g', "group", T, group, "All threads of the task's process"),
	OPT_FLAG('l', "list", T, signal_names, "List the numbers and names of signals"),
	OPT_STR('s', "set", T, sigset, "SIGSET", "List the signals of a set, as it is printed for BLOCKED and MASK"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt ps_rows[] = {
	OPT_FLAG('A', "active", T, active, "Only tasks that run on a CPU"),
	OPT_FLAG('S', "states", T, states, "Count tasks by state"),
	OPT_FLAG('p', "parents", T, parents, "List the ancestors of each task, from the first task down"),
	OPT_FLAG('c', "children", T, children, "List the children of each task"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt net_rows[] = {
	OPT_FLAG('s', "sockets", T, sockets, "List the open sockets of tasks with their addresses and ports"),
	COMMON_ROWS, OPT_END(),
};
static const struct opt plain_rows[] = { COMMON_ROWS, OPT_END() };
#undef T
/* clang-format on */

/*
 * Options may follow an expression, as they may follow the words of a sub-command. They are not parsed with those before it, since
 * the options of sub-commands are others.
 */
static int parse_rest(struct app *app, struct inspect_opts *o, int *argc, char ***argv)
{
	struct opt_set sets[] = { { any_rows, o }, { app_common_rows, &app->common } };
	int first;
	char **all = *argv - 1; /* the first word is not looked at */
	int ret = opts_parse_sets(sets, ARRAY_SIZE(sets), true, *argc + 1, all, &first, &app->diag);
	if (ret)
		return ret;
	*argc = *argc + 1 - first;
	*argv = all + first;
	app_decide(app);
	return 0;
}

static const struct command *const subs[];

/* Without arguments, and only for an interactive user. */
static bool wants_prompt(struct app *app, const struct inspect_opts *o)
{
	return term_is_tty(STDIN_FILENO) && term_is_tty(STDOUT_FILENO) && !o->probed &&
	       !o->interval_s && app_may_draw(app);
}

static int run_any(struct app *app, void *opts, int argc, char **argv)
{
	struct inspect_opts *o = opts;
	int ret = argc ? parse_rest(app, o, &argc, &argv) : 0;
	if (ret > 0)
		return app_usage(app, "--help comes before the expression");
	if (ret < 0)
		return app_usage_said(app);
	if (o->hex && o->decimal)
		return app_usage(app, "-x and --decimal exclude each other");
	if (o->dump && (o->interval_s || o->probed))
		return app_usage(app, "a dump does not change, and nothing is probed in it: -d "
				      "excludes -i and --probed");
	if (o->diff && (o->interval_s || o->probed || inspect_prompted()))
		return app_usage(app, "--diff cannot be used with -i, --probed or the prompt");
	if (o->diff)
		return inspect_run(app, o, inspect_diff, argc, argv);
	bool script = argc == 1 && !strcmp(argv[0], "-");
	if ((script || (!argc && wants_prompt(app, o))) && !inspect_prompted()) {
		if (o->interval_s || o->probed || app->json)
			return app_usage(app, "-i, --probed and --json go with a command");
		return inspect_prompt(app, o, script, subs);
	}
	if (!argc)
		return app_usage(app, "which expression, or which command?");
	if (inspect_prompted() && (o->dump || o->memory))
		return app_usage(app, "the prompt cannot switch to another dump or memory source");
	if (o->interval_s)
		return watch(app, o, argc, argv);
	return inspect_run(app, o, o->probed ? inspect_probed : inspect_any, argc, argv);
}

static const struct opt_example print_examples[] = {
	{ "inspect p init_task.comm", "a member of a global" },
	{ "inspect p '$current->mm->mmap_base' -x", "of the task that asks, in hexadecimal" },
	{ "inspect p runqueues:0.nr_running", "a CPU's copy of a per-CPU variable" },
	{ "inspect p '*(struct list_head *)0xffffffff82e0f2a0'", "what lies at an address" },
	{ 0 },
};
static const struct opt_example struct_examples[] = {
	{ "inspect struct list_head", "the definition" },
	{ "inspect struct -o kprobe", "with offsets" },
	{ "inspect struct task_struct.pid,comm,mm ffff888100f48000", "members of one" },
	{ 0 },
};
static const struct opt_example union_examples[] = {
	{ "inspect union -o sigval", "the definition, with offsets" },
	{ 0 },
};
static const struct opt_example whatis_examples[] = {
	{ "inspect whatis vfs_read", "the prototype of a function" },
	{ "inspect whatis runqueues", "the type of a variable" },
	{ 0 },
};
static const struct opt_example list_examples[] = {
	{ "inspect list -o tracer.next -s tracer.name,init trace_types",
	  "by a pointer to the next" },
	{ "inspect list -o task_struct.tasks -s task_struct.pid,comm -h init_task",
	  "by a list_head in the objects" },
	{ "inspect list -o module.list -s module.name -H modules", "from a head of its own" },
	{ 0 },
};
static const struct opt_example tree_examples[] = {
	{ "inspect tree -t maple -s vm_area_struct.vm_start,vm_end '&$current->mm->mm_mt'",
	  "mapped areas of this task" },
	{ "inspect tree -t rbtree -o vmap_area.rb_node -s vmap_area.va_start "
	  "'&vmap_area_root'",
	  "a red-black tree" },
	{ 0 },
};
static const struct opt_example rd_examples[] = {
	{ "inspect rd jiffies", "one unit of 64 bits" },
	{ "inspect rd -w 8 vfs_read 16", "the first bytes of a function" },
	{ "inspect rd -s sys_call_table 10", "with symbols" },
	{ 0 },
};
static const struct opt_example sym_examples[] = {
	{ "inspect sym vfs_read", "the address of a symbol" },
	{ "inspect sym ffffffff8119d4e5", "what lies at an address" },
	{ "inspect sym -q kprobe_ftrace", "all that contain this" },
	{ 0 },
};
static const struct opt_example dis_examples[] = {
	{ "inspect dis vfs_read", "a function as it is now, with what instruments it" },
	{ "inspect dis -r vfs_read+0x20", "from its start up to an address" },
	{ "inspect dis 0xffffffff8119d4e0 7", "seven instructions" },
	{ 0 },
};
static const struct opt_example ps_examples[] = {
	{ "inspect ps", "all tasks, with the address of each task_struct" },
	{ "inspect ps 1", "one" },
	{ "inspect ps -S", "how many tasks are in each state" },
	{ "inspect ps -p bash", "tasks of this name below their ancestors" },
	{ 0 },
};
static const struct opt_example task_examples[] = {
	{ "inspect task -R pid,comm,prio 1", "members of a task" },
	{ "inspect task", "all of the task that asks" },
	{ 0 },
};
static const struct opt_example foreach_examples[] = {
	{ "inspect foreach UN bt", "stacks of tasks that wait uninterruptibly" },
	{ "inspect foreach bash files", "files of all tasks of this name" },
	{ "inspect foreach kernel task -R pid,comm", "members of all kernel threads" },
	{ 0 },
};
static const struct opt_example bt_examples[] = {
	{ "inspect bt 1", "where process 1 sleeps" },
	{ "inspect bt -s kthreadd", "with offsets, a task by its name" },
	{ 0 },
};
static const struct opt_example log_examples[] = {
	{ "inspect log", "the kernel's messages, from its memory" },
	{ "inspect -d vmcore log -T", "those of a dump, with dates" },
	{ 0 },
};
static const struct opt_example sys_examples[] = {
	{ "inspect sys", "this machine" },
	{ "inspect -d vmcore sys", "the machine that a dump is of" },
	{ 0 },
};
static const struct opt_example vtop_examples[] = {
	{ "inspect vtop --dump vmcore init_task", "where a variable is in physical memory" },
	{ "inspect vtop --dump vmcore ffffc90000017e98",
	  "and an address, with the entries of each table" },
	{ 0 },
};
static const struct opt_example identify_examples[] = {
	{ "inspect identify ffff888100f48040", "slab object, task, page: what it belongs to" },
	{ "inspect identify '$current->stack' '&runqueues:1'", "several, and expressions" },
	{ 0 },
};
static const struct opt_example search_examples[] = {
	{ "inspect search -t vfs_read", "tasks with this address on their stacks" },
	{ "inspect search -s init_task -l 'sizeof(struct task_struct)' ffff888100f48000",
	  "a pointer in a structure" },
	{ "inspect search -c 'BOOT_IMAGE='", "a text, in all of the machine's memory" },
	{ 0 },
};
static const struct opt_example runq_examples[] = {
	{ "inspect runq", "what each CPU runs, and what waits for it" },
	{ 0 },
};
static const struct opt_example mount_examples[] = {
	{ "inspect mount", "mounts of our namespace, with their super blocks" },
	{ "inspect mount 1", "those that process 1 sees" },
	{ 0 },
};
static const struct opt_example net_examples[] = {
	{ "inspect net", "network devices with their addresses" },
	{ "inspect net -s sshd", "sockets of all tasks of this name" },
	{ 0 },
};
static const struct opt_example kmem_examples[] = {
	{ "inspect kmem -i", "free, used and cached memory" },
	{ "inspect kmem -s", "all slab caches" },
	{ "inspect kmem -s dentry task_struct", "two of them" },
	{ 0 },
};
static const struct opt_example irq_examples[] = {
	{ "inspect irq -u", "interrupts that have a handler" },
	{ "inspect irq -a", "and the CPUs they go to" },
	{ 0 },
};
static const struct opt_example timer_examples[] = {
	{ "inspect timer", "timers of all CPUs, the next ones first" },
	{ "inspect timer -r -C 0", "high-resolution timers of CPU 0" },
	{ 0 },
};
static const struct opt_example waitq_examples[] = {
	{ "inspect waitq signal_struct.wait_chldexit ffff888100f48000",
	  "who waits in a member of a structure" },
	{ "inspect waitq '$current->signal->wait_chldexit'", "the same by an expression" },
	{ 0 },
};
static const struct opt_example bpf_examples[] = {
	{ "inspect bpf", "BPF programs with their maps, then all maps" },
	{ "inspect bpf -p 13", "one program" },
	{ 0 },
};
static const struct opt_example ipcs_examples[] = {
	{ "inspect ipcs", "shared memory, semaphores and message queues" },
	{ 0 },
};
static const struct opt_example swap_examples[] = { { "inspect swap", "swap areas" }, { 0 } };
static const struct opt_example dev_examples[] = {
	{ "inspect dev", "character devices and disks with their operations" },
	{ "inspect dev -d", "disks and their requests" },
	{ 0 },
};
static const struct opt_example sig_examples[] = {
	{ "inspect sig 1", "what process 1 does with signals, and which are pending" },
	{ "inspect sig -s 0000000200000800", "which signals a set has" },
	{ 0 },
};
static const struct opt_example eval_examples[] = {
	{ "inspect eval '(1 << 12) - 1'", "a number in all notations" },
	{ "inspect eval '$current->flags'", "a member" },
	{ 0 },
};
static const struct opt_example files_examples[] = {
	{ "inspect files 1", "open files of process 1" },
	{ 0 },
};
static const struct opt_example vm_examples[] = { { "inspect vm 1", "its mapped areas" }, { 0 } };
static const struct opt_example mod_examples[] = { { "inspect mod", "loaded modules" }, { 0 } };

#define SUB(var, n, s, u, fn, row, ...)                                                            \
	static const struct command var = { .name = n,                                             \
					    .summary = s,                                          \
					    .usage = u,                                            \
					    .opts = row,                                           \
					    .opts_size = sizeof(struct inspect_opts),              \
					    .mixed_words = true,                                   \
					    .same_opts = true,                                     \
					    .run = fn,                                             \
					    __VA_ARGS__ }

SUB(sub_print, "p", "print the value of an expression", "[OPTIONS] EXPRESSION", run_print,
    print_rows, .examples = print_examples);
SUB(sub_struct, "struct", "print a structure's definition, or one at an address",
    "[OPTIONS] NAME[.MEMBER,...] [ADDRESS|SYMBOL [COUNT]]", run_struct, struct_rows,
    .examples = struct_examples);
SUB(sub_union, "union", "the same for a union", "[OPTIONS] NAME[.MEMBER,...] [ADDRESS|SYMBOL]",
    run_struct, struct_rows, .examples = union_examples);
SUB(sub_whatis, "whatis", "print the declaration of a type, variable or function", "[OPTIONS] NAME",
    run_whatis, whatis_rows, .examples = whatis_examples);
SUB(sub_list, "list", "walk a linked list", "[OPTIONS] [OFFSET|TYPE.MEMBER] START", run_list,
    list_rows, .examples = list_examples,
    .about = "Prints the address of each object, and the members that -s names. Without -H or "
	     "-h, START is the first object, and the pointer in it leads to the next one. The "
	     "kernel goes on meanwhile: an object that comes up twice, or an address that cannot "
	     "be read, ends the walk with an error that names it.");
SUB(sub_tree, "tree", "walk a red-black tree, xarray or maple tree", "[OPTIONS] ROOT", run_tree,
    tree_rows, .examples = tree_examples);
SUB(sub_rd, "rd", "print memory", "[OPTIONS] ADDRESS|SYMBOL [COUNT]", run_rd, rd_rows,
    .examples = rd_examples);
SUB(sub_sym, "sym", "translate symbols and addresses", "[OPTIONS] SYMBOL|ADDRESS...", run_sym,
    sym_rows, .examples = sym_examples);
SUB(sub_dis, "dis", "disassemble live kernel text", "[OPTIONS] SYMBOL|ADDRESS [COUNT]", run_dis,
    dis_rows, .examples = dis_examples,
    .about = "Shows the text that runs, not the one in a file: the entry of a function is a NOP "
	     "([FTRACE NOP]), a call to ftrace or to a trampoline, or the breakpoint or jump of "
	     "a kprobe.");
SUB(sub_ps, "ps", "list tasks from kernel memory", "[OPTIONS] [TASK...]", run_ps, ps_rows,
    .examples = ps_examples);
SUB(sub_mod, "mod", "list modules from kernel memory", "[OPTIONS]", run_mod, plain_rows,
    .examples = mod_examples);

#define ABOUT_TASKS                                                                                \
	"A task is a PID (of the first namespace, as ps prints it), the address of a "             \
	"task_struct, a name, a state (RU, IN, UN ...), kernel or user. "
SUB(sub_task, "task", "print a task_struct", "[OPTIONS] [TASK...]", run_task, task_rows,
    .examples = task_examples, .about = ABOUT_TASKS "Without one, the calling task.");
SUB(sub_foreach, "foreach", "run bt, files, ps, sig, task or vm for many tasks",
    "[OPTIONS] [TASK...] COMMAND", run_foreach, foreach_rows, .examples = foreach_examples,
    .about = ABOUT_TASKS "Without one, all tasks.");
SUB(sub_bt, "bt", "print kernel stacks of sleeping tasks", "[OPTIONS] [TASK...]", run_bt, bt_rows,
    .examples = bt_examples,
    .about = ABOUT_TASKS
    "Frames come from the kernel's own unwinder (a BPF iterator over tasks, which sees those of "
    "this PID namespace), and the address of each return address from the task's stack. A task "
    "that runs has no stack that could be read. After the frames of a program's task follow its "
    "registers.");
SUB(sub_files, "files", "list open files of tasks", "[OPTIONS] [TASK...]", run_files, plain_rows,
    .examples = files_examples, .about = ABOUT_TASKS "Without one, the calling task.");
SUB(sub_vm, "vm", "list mapped areas of tasks", "[OPTIONS] [TASK...]", run_vm, plain_rows,
    .examples = vm_examples, .about = ABOUT_TASKS "Without one, the calling task.");

SUB(sub_log, "log", "print the kernel's messages", "[OPTIONS]", run_log, log_rows,
    .examples = log_examples,
    .about =
	    "Reads the ring of records itself, so that the messages of a dump are printed as those "
	    "of the running kernel are.");
SUB(sub_sys, "sys", "print what machine and kernel this is", "[OPTIONS]", run_sys, plain_rows,
    .examples = sys_examples);

SUB(sub_vtop, "vtop", "translate addresses of a dump to physical ones",
    "[OPTIONS] ADDRESS|SYMBOL...", run_vtop, plain_rows, .examples = vtop_examples,
    .about = "Follows the kernel's page tables, and prints where each entry is and what it holds.");

SUB(sub_identify, "identify", "show what an address is", "[OPTIONS] ADDRESS|SYMBOL...",
    run_identify, plain_rows, .examples = identify_examples,
    .about =
	    "Prints everything that contains the address: a symbol, a CPU's copy of a per-CPU "
	    "variable, a task_struct or the kernel stack of a task, an object of a slab cache (and "
	    "whether it is free), an area of the vmalloc range, a struct page, a page. Slab "
	    "objects and pages need no symbols. Areas of the vmalloc range are found where the "
	    "symbol list has "
	    "variables (CONFIG_KALLSYMS_ALL).");
SUB(sub_search, "search", "search the kernel's memory", "[OPTIONS] VALUE...|TEXT", run_search,
    search_rows, .examples = search_examples,
    .about = "Prints each place where a value, or with -c a string, is found: in a range, in the "
	     "stacks of all tasks, or in all of the machine's memory, which includes that of "
	     "programs, sonde among them. Pages that cannot be read are counted and skipped.");

SUB(sub_runq, "runq", "list what CPUs run and what waits for them", "[OPTIONS]", run_runq,
    plain_rows, .examples = runq_examples,
    .about = "For each CPU: the running task, the tasks in its real-time queues by priority "
	     "(including the running one), and those in the tree of the fair class, the next to "
	     "run first. Tasks of a group are listed in the group's place. Queues change while "
	     "they are read.");
SUB(sub_mount, "mount", "list mounts", "[OPTIONS] [TASK]", run_mount, plain_rows,
    .examples = mount_examples,
    .about = "Lists those of the mount namespace of the task (default: the calling task; in a "
	     "dump, process 1), with paths from the root of that namespace.");
SUB(sub_net, "net", "list network devices or sockets", "[TASK] | -s [TASK...]", run_net, net_rows,
    .examples = net_examples,
    .about = "Lists those of the network namespace of the task (default: the calling task; in a "
	     "dump, process 1), with their IPv4 and IPv6 addresses.");
SUB(sub_kmem, "kmem", "show how memory is used", "-i | -s [CACHE...] | -z", run_kmem, kmem_rows,
    .examples = kmem_examples,
    .about = "-i takes its numbers from /proc/meminfo, or, in a dump, from the counters of its "
	     "zones; CACHED includes BUFFERS there. With -s, ALLOCATED includes the free objects "
	     "that each CPU keeps. No symbol is needed.");

SUB(sub_sig, "sig", "list signal handlers and pending signals", "[-g] [TASK...] | -l | -s SIGSET",
    run_sig, sig_rows, .examples = sig_examples,
    .about = ABOUT_TASKS "Without one, the calling task. SIGPENDING is yes if an unblocked signal "
			 "is pending.");

SUB(sub_irq, "irq", "list interrupts", "[OPTIONS] [IRQ...]", run_irq, irq_rows,
    .examples = irq_examples,
    .about = "Descriptors come from the kernel's own tree, or, where the symbol list has "
	     "functions only, from /sys/kernel/irq. -b needs the symbol softirq_vec.");

SUB(sub_timer, "timer", "list running timers", "[OPTIONS]", run_timer, timer_rows,
    .examples = timer_examples,
    .about = "For each CPU, those of the timer wheel with their time in jiffies, or with -r the "
	     "high-resolution ones by clock in nanoseconds. TTE is the time to expire.");
SUB(sub_waitq, "waitq", "list what waits in a wait queue",
    "[OPTIONS] TYPE.MEMBER ADDRESS | EXPRESSION", run_waitq, plain_rows, .examples = waitq_examples,
    .about = "Lists tasks that sleep there, or wait in poll() or select(); for an entry of epoll, "
	     "its struct eventpoll; for others the function that is called.");

SUB(sub_bpf, "bpf", "list BPF programs and maps", "[OPTIONS]", run_bpf, bpf_rows,
    .examples = bpf_examples,
    .about =
	    "Where the symbol list has functions only, bpf() lists them, and file descriptors that "
	    "sonde opens lead to the structures. One program is sonde's own, which reads memory.");
SUB(sub_ipcs, "ipcs", "list System V shared memory, semaphores and messages",
    "[OPTIONS] [ID|ADDRESS]", run_ipcs, ipcs_rows, .examples = ipcs_examples,
    .about = "Lists those of the IPC namespace of the calling task (in a dump: of the first "
	     "task; in the prompt: of the task that set chose).");

SUB(sub_swap, "swap", "list swap areas", "[OPTIONS]", run_swap, plain_rows,
    .examples = swap_examples,
    .about = "Where the symbol list has functions only, the rows come from /proc/swaps, without "
	     "addresses.");

SUB(sub_dev, "dev", "list devices", "[OPTIONS]", run_dev, dev_rows, .examples = dev_examples,
    .about = "Of the running kernel, disks and PCI devices are found by way of sysfs, and "
	     "character devices by the symbol chrdevs; without it the rows of /proc/devices are "
	     "printed, which have no addresses. -p needs the running kernel.");

SUB(sub_eval, "eval", "print a number in all notations", "[OPTIONS] EXPRESSION", run_eval,
    plain_rows, .examples = eval_examples);

static const struct command *const subs[] = {
	&sub_print,   &sub_struct, &sub_union, &sub_whatis, &sub_list, &sub_tree,     &sub_rd,
	&sub_sym,     &sub_dis,	   &sub_ps,    &sub_task,   &sub_bt,   &sub_files,    &sub_vm,
	&sub_foreach, &sub_mod,	   &sub_log,   &sub_sys,    &sub_vtop, &sub_identify, &sub_search,
	&sub_runq,    &sub_mount,  &sub_net,   &sub_kmem,   &sub_sig,  &sub_irq,      &sub_timer,
	&sub_waitq,   &sub_bpf,	   &sub_ipcs,  &sub_swap,   &sub_dev,  &sub_eval,     NULL
};

static const struct opt_example examples[] = {
	{ "inspect init_task.comm", "print an expression over the kernel's data" },
	{ "inspect '(struct ftrace_ops *)ftrace_ops_list'", "a global with its type" },
	{ "inspect kprobe 0xffff888104a3c018", "a struct kprobe at an address" },
	{ "inspect list -o tracer.next -s tracer.name,init trace_types", "walk a list" },
	{ "inspect dis vfs_read", "the live text of a function" },
	{ "inspect --probed vfs_read", "who instruments a function" },
	{ "inspect -i 1 jiffies_64", "a value every second, and how fast it changes" },
	{ "inspect -d vmcore bt UN", "stacks in a dump" },
	{ "inspect -d vmcore.1 --diff vmcore.2", "what changed between two dumps" },
	{ "inspect -d vmcore --diff live jiffies_64", "a value then and now" },
	{ "inspect", "a prompt, like crash's" },
	{ 0 },
};

const struct command command_inspect = {
	.name = "inspect",
	.group = "Why",
	.summary = "look at the data structures of a kernel, live or dumped",
	.usage = "[OPTIONS] EXPRESSION | COMMAND [ARGS]",
	.about =
		"Reads the running kernel's memory without debug packages: types come from BTF, "
		"symbols from /proc/kallsyms, and memory through a BPF program that copies it "
		"(bpf_probe_read_kernel), or else from /proc/kcore. It never writes.\n"
		"With -d the same is asked of a dump: an ELF file or a kdump-compressed one (pages "
		"as "
		"they are, by zlib or zstd), flattened or not, of x86_64 or arm64. Symbols and "
		"types "
		"are read from the dump, too, so that a kernel of 6.0 or later needs no vmlinux.\n"
		"Expressions are C's: members with . and ->, [index], [from:to], casts, *, &, "
		"sizeof, offsetof(TYPE, MEMBER), container_of(POINTER, TYPE, MEMBER), arithmetic, "
		"per-CPU variables as NAME:CPU or NAME:a (all CPUs), and $current, the task_struct "
		"of the calling task.\n"
		"BTF describes types, functions and per-CPU variables. The types of some 50 other "
		"globals are known; any other needs a cast to the type that it is declared with, "
		"(TYPE)NAME. Where the symbol list has functions only (CONFIG_KALLSYMS_ALL is "
		"off), "
		"init_task is found through the parents of this task, and other data by address.\n"
		"Without arguments, on a terminal, it is a prompt: each line is a command or an "
		"expression, with history and Tab completion of commands, symbols and types. "
		"COMMAND | PROGRAM and COMMAND > FILE are passed to the shell as typed (an "
		"expression with | or > goes in parentheses), !PROGRAM runs a program, set TASK "
		"chooses the task that commands and $current refer to, Ctrl-C ends a command, and "
		"q leaves the prompt. With - as its only argument it reads such lines from "
		"standard input.\n"
		"A kprobe inside of a function replaces an instruction by a breakpoint (int3). The "
		"CPU traps: exc_int3 calls kprobe_int3_handler, which runs the probe's "
		"pre_handler, single-steps a copy of the instruction, or emulates it or lets it "
		"run from the copy with a jump back (boosted), runs the post_handler, and goes "
		"on after it, as a debugger does. An optimized probe is a jump to a "
		"trampoline instead, and one at the entry of a function uses ftrace's call.\n"
		"That call goes to ftrace_caller, to ftrace_regs_caller where somebody wants all "
		"registers (kprobes do), or to a trampoline made for the only user. Where there "
		"are several users it runs arch_ftrace_ops_list_func, which walks "
		"ftrace_ops_list and calls the func of each ftrace_ops whose filter has the "
		"function; that of kprobes is kprobe_ftrace_handler.",
	.examples = examples,
	.opts = any_rows,
	.opts_size = sizeof(struct inspect_opts),
	.mixed_words = false,
	.subs = subs,
	.run = run_any,
};
