/* probe: define, list and remove probes in source terms. */
#include "cmd/probe/probe.h"

#include "base/json.h"
#include "cmd/app/commands.h"
#include "kern/program_path.h"
#include "probe/find_symbol.h"
#include "session/symbols.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long ull;

/* ---- options whose order counts -------------------------------------------------------------------------------------------- */

/* "-:GROUP/EVENT" of the kernel's language removes. */
static int push_raw_delete(struct probe_opts *o, const char *text)
{
	const char **slot = vec_push(&o->del.items);
	if (!slot)
		return -ENOMEM;
	*slot = text + 2;
	return 0;
}

static int push_wish(struct probe_opts *o, const char *text, bool define)
{
	if (str_starts(text, "-:"))
		return push_raw_delete(o, text);
	struct probe_wish *w = define ? vec_push(&o->define) : vec_push(&o->add);
	if (!w)
		return -ENOMEM;
	*w = (struct probe_wish){ .text = text, .target = o->target };
	return 0;
}

static int opt_add(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	return push_wish(opts, value, false);
}

static int opt_definition(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	return push_wish(opts, value, true);
}

static int opt_exec(void *opts, const char *value, bool negated, struct diag *d)
{
	struct probe_opts *o = opts;
	(void)negated;
	(void)d;
	/* Which file it is depends on --pid and --target-ns, which may come later. */
	o->target.where = PROBE_BINARY;
	o->target.path = value;
	o->target.module = NULL;
	return 0;
}

static int opt_module(void *opts, const char *value, bool negated, struct diag *d)
{
	struct probe_opts *o = opts;
	(void)negated;
	(void)d;
	o->target.where = PROBE_MODULE;
	o->target.module = value;
	o->target.path = NULL;
	return 0;
}

static int opt_vmlinux(void *opts, const char *value, bool negated, struct diag *d)
{
	struct probe_opts *o = opts;
	(void)negated;
	(void)d;
	o->target.where = PROBE_KERNEL;
	o->target.path = value;
	return 0;
}

static int opt_source(void *opts, const char *value, bool negated, struct diag *d)
{
	struct probe_opts *o = opts;
	(void)negated;
	(void)d;
	o->target.sources = value;
	return 0;
}

/* ---- what was asked for ---------------------------------------------------------------------------------------------------- */

/* The file as another process sees it: its root is a link that leads nowhere but there. */
static int path_in_namespace(const struct probe_opts *o, const char *value, struct strbuf *to)
{
	strbuf_printf(to, "/proc/%llu/root%s", (ull)o->target_ns, value);
	return access(strbuf_cstr(to), R_OK) ? -errno : 0;
}

static int find_file(struct app *app, struct probe_opts *o, struct probe_target *t)
{
	struct strbuf path;
	const char *value = t->path;
	s32 pid = (s32)(o->pid ? o->pid : o->target_ns);
	if (t->where != PROBE_BINARY || !value)
		return 0;
	if (pid && kill(pid, 0) && errno == ESRCH)
		return diag_error(&app->diag, -ESRCH, "no process %d", pid);
	strbuf_init(&path);
	int err = o->target_ns && *value == '/'
			  ? path_in_namespace(o, value, &path)
			  : program_path(value, pid, o->root ? o->root : "", &path);
	t->path = err ? value : arena_strdup(&o->arena, strbuf_cstr(&path));
	strbuf_done(&path);
	if (!err && !t->path)
		err = -ENOMEM;
	if (!err || err == -ENOMEM)
		return err;
	(void)diag_error(&app->diag, err, "no file for -x '%s': %s", value, strerror(-err));
	if (!strchr(value, '/'))
		diag_hint(&app->diag,
			  "it is neither here, nor a program in $PATH, nor a library that "
			  "the loader knows");
	return err;
}

/* A name, or a .ko file. The kernel's names have no dashes. */
static int find_module(struct probe_opts *o, struct probe_target *t)
{
	const char *value = t->module;
	if (t->where != PROBE_MODULE || !value)
		return 0;
	const char *slash = strrchr(value, '/'), *base = slash ? slash + 1 : value;
	char *name = arena_strndup(&o->arena, base, strcspn(base, "."));
	if (!name)
		return -ENOMEM;
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	t->module = name;
	t->path = slash || strchr(base, '.') ? value : NULL;
	return 0;
}

static int find_target(struct app *app, struct probe_opts *o, struct probe_target *t)
{
	int err = find_module(o, t);
	return err ? err : find_file(app, o, t);
}

static int spread(struct app *app, struct probe_opts *o)
{
	struct probe_target *t = &o->target;
	t->cache = cache_folder(app_symbols(app), o->cache_path, sizeof(o->cache_path));
	t->max_probes = (u32)o->max_probes;
	t->root = o->root;
	int err = 0;
	for (size_t i = 0; i < o->add.nr + o->define.nr && !err; i++) {
		struct probe_target *to =
			i < o->add.nr ? &o->add.at[i].target : &o->define.at[i - o->add.nr].target;
		/* -x, -m and -k after the only definition are about it too, as with perf. */
		if (to->where == PROBE_KERNEL && !to->path)
			*to = *t;
		to->cache = t->cache;
		to->no_inlines = t->no_inlines;
		to->externs = t->externs;
		to->ranges = t->ranges;
		to->sources = to->sources ? to->sources : t->sources;
		to->max_probes = (u32)o->max_probes;
		to->root = o->root;
		err = find_target(app, o, to);
	}
	return err ? err : find_target(app, o, t);
}

struct insns {
	struct app *app;
	struct json json;
};

static int print_insn(void *ctx, u64 offset, const char *text)
{
	struct insns *p = ctx;
	if (!p->app->json) {
		strbuf_printf(&p->app->out, "  +%-6llu %s\n", (ull)offset, text);
		return 0;
	}
	json_object(&p->json);
	json_put_u64(&p->json, "offset", offset);
	json_put_str(&p->json, "instruction", text);
	json_object_end(&p->json);
	return 0;
}

static int run_offsets(struct app *app, const struct probe_opts *o)
{
	struct insns p = { .app = app };
	struct strbuf text;
	strbuf_init(&text);
	json_begin(&p.json, &text, JSON_PRETTY);
	json_array(&p.json);
	int err = probe_insns(&o->target, o->offsets, print_insn, &p, &app->diag);
	json_array_end(&p.json);
	if (!err)
		err = json_end(&p.json);
	if (!err && app->json)
		strbuf_str(&app->out, strbuf_cstr(&text));
	strbuf_done(&text);
	return err ? app_fail(app, err) : APP_DONE;
}

/* "vfs_read -x prog": the words of a definition take all that follows, as with perf. No argument of a probe begins like an option. */
static int refuse_late_option(struct app *app, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		if (word[0] != '-' || (word[1] != '-' && (!isalpha((u8)word[1]) || word[1] == 'u')))
			continue;
		int err =
			diag_error(&app->diag, -EINVAL, "option '%s' follows the definition", word);
		diag_hint(&app->diag, "options come before it: '%s %s ... %s ...'", app->title,
			  word, argv[0]);
		return err;
	}
	return 0;
}

/* Words are one definition: perf probe FUNC arg arg. */
static int join_words(struct probe_opts *o, int argc, char **argv)
{
	struct strbuf s;
	strbuf_init(&s);
	for (int i = 0; i < argc; i++)
		strbuf_printf(&s, "%s%s", i ? " " : "", argv[i]);
	const char *text = arena_strdup(&o->arena, strbuf_cstr(&s));
	strbuf_done(&s);
	return text ? push_wish(o, text, false) : -ENOMEM;
}

/* "-l --json EVENT": the pattern of an option that takes one, with other options between them. */
static bool take_pattern(struct probe_opts *o, int argc, char **argv)
{
	const char **to = o->has_list ? &o->list : o->has_funcs ? &o->funcs : NULL;
	if (!to || argc != 1 || (*to && **to))
		return false;
	*to = argv[0];
	return true;
}

static int dispatch(struct app *app, struct probe_opts *o)
{
	int nr = (o->add.nr > 0) + (o->define.nr > 0) + o->has_list + (o->offsets != NULL) +
		 (o->line != NULL) + (o->vars != NULL) + o->has_funcs + o->audit + o->has_optimize;
	if (nr > 1)
		return app_usage(app, "only one of --add, --list, --definition, --line, --vars, "
				      "--funcs, --offsets, --audit, --optimize");
	if (!nr && !o->del.items.nr)
		return app_usage(app, "which probe?");
	if (o->quiet && app->verbose)
		return app_usage(app, "--quiet and --verbose exclude each other");
	int status = o->del.items.nr ? probe_cmd_delete(app, o) : APP_DONE;
	if (status != APP_DONE || !nr)
		return status;
	if (o->has_list)
		return probe_cmd_list(app, o);
	if (o->offsets)
		return run_offsets(app, o);
	if (o->line)
		return probe_cmd_lines(app, o);
	if (o->vars)
		return probe_cmd_vars(app, o);
	if (o->audit)
		return probe_cmd_audit(app, o);
	if (o->has_optimize)
		return probe_cmd_optimize(app, o);
	if (o->has_funcs)
		return probe_cmd_functions(app, o);
	return o->define.nr ? probe_cmd_define(app, o) : probe_cmd_add(app, o);
}

static int probe_run(struct app *app, void *opts, int argc, char **argv)
{
	struct probe_opts *o = opts;
	int err = refuse_late_option(app, argc, argv);
	if (!err && argc && !take_pattern(o, argc, argv))
		err = join_words(o, argc, argv);
	if (!err)
		err = spread(app, o);
	int status = err ? app_fail(app, err) : dispatch(app, o);
	vec_free(&o->add);
	vec_free(&o->define);
	arena_done(&o->arena);
	return status;
}

static void probe_defaults(void *opts)
{
	struct probe_opts *o = opts;
	o->max_probes = 128;
	arena_init(&o->arena);
}

static const struct opt probe_rows[] = {
	OPT_HEADING("Add and remove"),
	OPT_CALL('a', "add", "PROBE", "Add a probe: [[GROUP:]EVENT=]FUNCTION[...] [ARGUMENT...]",
		 opt_add),
	OPT_LIST('d', "del", struct probe_opts, del, "[GROUP:]EVENT",
		 "Remove probes; globs. Those of others stay unless named"),
	OPT_CALL('D', "definition", "PROBE",
		 "Print the definition as the kernel takes it, add nothing", opt_definition),
	OPT_FLAG('f', "force", struct probe_opts, force,
		 "Number names that are taken; do what is refused as dangerous"),
	OPT_FLAG('n', "dry-run", struct probe_opts, dry_run, "Change nothing"),
	OPT_HEADING("Look"),
	OPT_STR('l', "list", struct probe_opts, list, "[GROUP:]EVENT",
		"List probes with their hits and misses", .optional = true, .greedy = true,
		.fallback = "", OPT_SEEN(struct probe_opts, has_list)),
	OPT_STR('L', "line", struct probe_opts, line, "FUNCTION[:A[-B|+N]]|FILE[:A[-B|+N]]",
		"Show source lines; those with a number can be probed"),
	OPT_STR('V', "vars", struct probe_opts, vars, "PLACE",
		"Show the variables that can be fetched at a place"),
	OPT_FLAG(0, "externs", struct probe_opts, target.externs, "With -V: global variables, too"),
	OPT_FLAG(0, "range", struct probe_opts, target.ranges,
		 "With -V: where in the function each has a place"),
	OPT_STR('F', "funcs", struct probe_opts, funcs, "FILTER",
		"List functions; globs with ! & | ( )", .optional = true, .greedy = true,
		.fallback = "", OPT_SEEN(struct probe_opts, has_funcs)),
	OPT_STR(0, "filter", struct probe_opts, filter, "FILTER", "The same for -F alone"),
	OPT_FLAG(0, "no-demangle", struct probe_opts, no_demangle,
		 "With -F: names as the linker sees them"),
	OPT_STR(0, "offsets", struct probe_opts, offsets, "FUNCTION",
		"List the offsets of a function where instructions begin"),
	OPT_FLAG(0, "audit", struct probe_opts, audit,
		 "Show everything that instruments this kernel: kprobes, events, functions with "
		 "callbacks, BPF, perf, livepatches; what each source proves and cannot see"),
	OPT_STR(0, "optimize", struct probe_opts, optimize, "on|off",
		"Show or set debug.kprobes-optimization: jumps instead of breakpoints",
		.optional = true, .fallback = "", OPT_SEEN(struct probe_opts, has_optimize)),
	OPT_HEADING("Where"),
	OPT_CALL('x', "exec",
		 "FILE", "Probe a program or library; a bare name is looked up like a shell and the loader do",
		 opt_exec),
	OPT_CALL('m', "module", "MODULE", "Probe a module of the kernel", opt_module),
	OPT_CALL('k', "vmlinux", "FILE", "The kernel's image with debug information", opt_vmlinux),
	OPT_CALL('s', "source", "DIR", "Where source files are", opt_source),
	OPT_UINT(0, "pid", struct probe_opts, pid, "PID",
		 "With -x NAME: the library that this process has mapped"),
	OPT_UINT(0, "target-ns", struct probe_opts, target_ns, "PID",
		 "With -x FILE: the file as this process sees it"),
	OPT_HEADING("Limits"),
	OPT_UINT(0, "max-probes", struct probe_opts, max_probes, "N",
		 "Places that one definition may have (128)"),
	OPT_FLAG(0, "no-inlines", struct probe_opts, target.no_inlines,
		 "Leave out functions that were inlined"),
	OPT_FLAG(0, "cache", struct probe_opts, cache,
		 "Accepted: indexes of debug information are always kept by build ID"),
	OPT_FLAG('q', "quiet", struct probe_opts, quiet, "Print errors alone"),
	OPT_STR(0, "root", struct probe_opts, root, "DIR", "Look for /proc and /sys there",
		.hidden = true),
	OPT_END(),
};

static const struct opt_example probe_examples[] = {
	{ "probe 'vfs_read count'", "a function of the kernel with a parameter" },
	{ "probe 'tcp_sendmsg sk->sk_wmem_queued size'", "a member of a structure" },
	{ "probe 'do_sys_openat2%return $retval'", "what it returns" },
	{ "probe -x bash readline%return '+0($retval):string'", "a program: what people type" },
	{ "probe -x libc 'malloc size=%di'", "a library, an argument by its register" },
	{ "probe -x ./a.out -D '%sdt_app:done'", "a static probe, as the kernel would take it" },
	{ "probe -x ./a.out -L main", "its source: lines with a number can be probed" },
	{ "probe -x ./a.out -V main.c:42", "the variables there" },
	{ "probe -l", "what there is, and how often it was hit" },
	{ "probe -d 'probe:vfs_*'", "remove probes" },
	{ "probe --audit", "what instruments this kernel right now" },
	{ 0 },
};

static const char probe_about[] =
	"Defines an event at any function, instruction or static probe, "
	"with arguments. Events stay until they are removed, and "
	"can be used by stat, record and ftrace as GROUP:EVENT.\n"
	"Without debug information, parameters and members are known "
	"from the kernel's own types (BTF).\n"
	"In a shell, quote definitions with single quotes: $retval, "
	"%return, * and ; mean something to it. A version is "
	"part of a name when the @ is escaped: 'memcpy\\@GLIBC_2.2.5'.\n"
	"Lines of the kernel's own language (kprobe_events, "
	"uprobe_events) are taken as they are: 'p:my/open do_sys_openat2 "
	"%si:x64'.\n"
	"How it works: at the entry of a kernel function, ftrace calls the "
	"probe. Elsewhere a breakpoint (int3) replaces the instruction, as "
	"a debugger would do it; its handler runs the probe, the "
	"instruction is executed out of line (or emulated), and the "
	"function goes on. Where it can, the kernel turns a breakpoint "
	"into a jump. 'bench probe' measures what each costs.";

const struct command command_probe = {
	.name = "probe",
	.group = "Why",
	.summary = "define events at functions, lines and static probes",
	.usage = "[OPTIONS] PROBE... | -l | -d EVENT",
	.about = probe_about,
	.examples = probe_examples,
	.opts = probe_rows,
	.opts_size = sizeof(struct probe_opts),
	.defaults = probe_defaults,
	.run = probe_run,
};
