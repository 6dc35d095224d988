/*
 * run: a script in the language of bpftrace, compiled here and run in the kernel.
 *
 *	text ─lang─► program ─bpf─► kernel ─ring─► lines
 */
#include "cmd/run/run.h"

#include "base/clock.h"
#include "cmd/run/tools.h"
#include "session/outfile.h"
#include "session/program_compile.h"
#include "session/program_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <wordexp.h>

struct running {
	struct app *app;
	const struct run_opts *o;
	struct sysroot root;
	struct strbuf text; /* of the script */
	const char *path; /* of the script; NULL: -e or standard input */
	struct strbuf file; /* -o: a writer */
	struct strbuf token; /* of --listen */
	struct strbuf *out;
	int fd; /* of -o */
	u64 begun_ns, compiled_ns, stages[LANG_STAGES];
};

static int read_all(int fd, struct strbuf *to)
{
	enum { LARGEST = 16 << 20, BLOCK = 65536 };
	for (;;) {
		char *room = strbuf_room(to, BLOCK);
		ssize_t n = room ? read(fd, room, BLOCK) : -1;
		if (!room)
			return -ENOMEM;
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0;
		strbuf_commit(to, (size_t)n);
		if (to->len > LARGEST)
			return -EFBIG;
	}
}

static int read_script(struct running *r, const char *path)
{
	bool standard_input = !strcmp(path, "-");
	int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return diag_error(&r->app->diag, -errno, "cannot open '%s': %s", path,
				  strerror(errno));
	int rc = read_all(fd, &r->text);
	if (!standard_input)
		close(fd);
	return rc ? diag_error(&r->app->diag, rc, "cannot read '%s': %s", path, strerror(-rc)) : 0;
}

static int open_output(struct running *r)
{
	struct outplace p;
	struct diag *d = &r->app->diag;
	int fd = outplace_open(&p, r->o->output, 0, d);
	if (fd < 0)
		return fd;
	if (p.kind == OUTPLACE_FOLDER)
		fd = -EISDIR;
	else
		fd = p.kind == OUTPLACE_SPECIAL ? outplace_reopen(&p, O_WRONLY)
						: outfile_replace(&p);
	outplace_close(&p);
	if (fd < 0)
		return diag_error(d, fd, "cannot write '%s': %s", r->o->output, strerror(-fd));
	r->fd = fd;
	strbuf_init_drain(&r->file, 65536, strbuf_drain_fd, &r->fd);
	r->out = &r->file;
	return 0;
}

/* -B full: written when the buffer is full; else after each round of records. */
static int flush(void *ctx)
{
	struct running *r = ctx;
	if (r->o->buffer == 1)
		return r->out->err;
	int rc = r->out == &r->file ? strbuf_flush(&r->file) : 0;
	int shown = app_flush(r->app);
	return rc ? rc : shown;
}

static void on_loading(void *ctx, u32 places)
{
	struct running *r = ctx;
	if (r->app->json)
		strbuf_printf(r->out, "{\"type\":\"attached_probes\",\"data\":{\"probes\":%u}}\n",
			      places);
	else if (r->app->dialect->attaches_as_bpftrace && !r->o->quiet)
		strbuf_printf(r->out, "Attaching %u probe%s...\n", places, places == 1 ? "" : "s");
}

/* systemd waits for this where a unit says Type=notify. */
static void notify_systemd(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, strlen(path));
	if (path[0] == '@')
		to.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	(void)!sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (struct sockaddr *)&to, len);
	close(fd);
}

static void on_attached(void *ctx, u32 places)
{
	struct running *r = ctx;
	struct app *app = r->app;
	if (!app->json && !app->dialect->attaches_as_bpftrace && !r->o->quiet)
		strbuf_printf(&app->err, "attached to %u probe%s\n", places, places == 1 ? "" : "s");
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED"))
		strbuf_str(r->out, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
	notify_systemd();
	if (app->verbose)
		strbuf_printf(&app->err, "attached %.1f ms after the start\n",
			      (double)(clock_monotonic_ns() - r->begun_ns) / 1e6);
}

static void on_serving(void *ctx, const char *url)
{
	struct running *r = ctx;
	strbuf_printf(&r->app->err, "serving %s\n", url);
}

/* The first line of the file that a scraper reads, too. */
static int read_token(struct running *r)
{
	struct diag *d = &r->app->diag;
	const char *path = r->o->token_file;
	enum { LARGEST = 4096 };
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : read_all(fd, &r->token);
	if (rc)
		return diag_error(d, rc, "cannot read '%s': %s", path, strerror(-rc));
	size_t len = strcspn(strbuf_cstr(&r->token), "\r\n");
	if (!len || len > LARGEST)
		return diag_error(d, -EINVAL, "no token in '%s'", path);
	r->token.len = len;
	return 0;
}

static void show_times(struct running *r, const struct program_run_result *res)
{
	static const char *const names[LANG_STAGES] = { [LANG_LEX] = "lex",
							[LANG_PARSE] = "parse",
							[LANG_CHECK] = "check",
							[LANG_LOWER] = "lower",
							[LANG_REGISTERS] = "registers" };
	struct strbuf *to = &r->app->err;
	strbuf_printf(to, "compile %.2f ms (", (double)r->compiled_ns / 1e6);
	for (int i = 0; i < LANG_STAGES; i++)
		strbuf_printf(to, "%s%s %.2f", i ? ", " : "", names[i] ? names[i] : "?",
			      (double)r->stages[i] / 1e6);
	strbuf_printf(to, "), expand %.2f ms, load %.2f ms, attach %.2f ms, detach %.2f ms\n",
		      (double)res->expand_ns / 1e6, (double)res->load_ns / 1e6,
		      (double)(res->attach_ns - res->load_ns) / 1e6, (double)res->detach_ns / 1e6);
}

static int exit_status(struct running *r, const struct program_run_result *res)
{
	if (res->status)
		return res->status & 0xff;
	if (r->app->dialect->attaches_as_bpftrace)
		return APP_DONE;
	if (res->command_ended)
		return child_exit_status(res->wait_status);
	if (res->signal)
		r->app->die_of = res->signal;
	return APP_DONE;
}

/* "ast,ir" */
static bool wants(const char *stages, const char *name)
{
	if (!stages || !strcmp(stages, "all"))
		return stages != NULL;
	for (const char *p = stages; *p; p += *p == ',') {
		size_t len = strcspn(p, ",");
		if (len == strlen(name) && !strncmp(p, name, len))
			return true;
		p += len;
	}
	return false;
}

static int check_stages(struct app *app, const char *stages)
{
	static const char *const known[] = { "ast", "types", "ir", "bpf", "verifier", "all" };
	for (const char *p = stages ? stages : ""; *p; p += *p == ',') {
		size_t len = strcspn(p, ",");
		bool found = false;
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			found |= len == strlen(known[i]) && !strncmp(p, known[i], len);
		if (!found)
			return app_usage(
				app, "unknown stage '%.*s': ast, types, ir, bpf, verifier or all",
				(int)len, p);
		p += len;
	}
	return 0;
}

static int run_program(struct running *r, const struct program *p)
{
	struct app *app = r->app;
	const struct run_opts *o = r->o;
	wordexp_t words = { 0 };
	if (o->command && wordexp(o->command, &words, WRDE_NOCMD | WRDE_UNDEF))
		return app_usage(app, "cannot split the command '%s' into words", o->command);
	struct strbuf log;
	strbuf_init(&log);
	struct program_run_opts opts = {
		.script = p->text,
		.pid = (s32)o->pid,
		.cgroup = o->cgroup,
		.command = o->command ? words.we_wordv : NULL,
		.json = app->json,
		.allow_unsafe = o->unsafe,
		.no_final_maps = o->no_final_maps,
		.old_layout = app->dialect->attaches_as_bpftrace,
		.want_log = app->verbose > 1 || wants(o->debug, "verifier"),
		.out = r->out,
		.err = &app->err,
		.log = app->verbose || wants(o->debug, "verifier") ? &log : NULL,
		.loading = on_loading,
		.attached = on_attached,
		.listen = o->listen,
		.token = r->token.len ? strbuf_cstr(&r->token) : NULL,
		.serving = on_serving,
		.flush = flush,
		.ctx = r
	};
	struct program_run_result res;
	/* -d looks, and runs nothing. */
	bool dry = o->dry_run || o->debug;
	int rc = dry ? program_try(p, &r->root, &opts, &res, &app->diag)
		     : program_run(p, &r->root, &opts, &res, &app->diag);
	if (o->debug)
		strbuf_add(&app->out, log.data ? log.data : "", log.len);
	else if (app->verbose)
		strbuf_add(&app->err, log.data ? log.data : "", log.len);
	if (app->verbose)
		show_times(r, &res);
	strbuf_done(&log);
	wordfree(&words);
	if (res.exec_failed)
		return child_exec_status(rc);
	if (rc && rc != -EPIPE)
		return app_fail(app, rc);
	return dry ? APP_DONE : exit_status(r, &res);
}

static int compile(struct running *r, int argc, char **argv, struct program *p)
{
	const struct run_opts *o = r->o;
	struct strbuf *to = &r->app->out;
	struct program_compile c;
	int rc = program_compile_open(&c);
	if (rc)
		return rc;
	c.pid = (s32)o->pid;
	struct lang_input in = { .text = strbuf_cstr(&r->text),
				 .len = r->text.len,
				 .path = r->path,
				 .environment = (const char *const *)environ,
				 .params = (const char *const *)argv,
				 .nr_params = (u32)argc,
				 .stap = o->stap,
				 .allow_unsafe = o->unsafe,
				 .report_errors = o->report_errors,
				 .dump_ast = wants(o->debug, "ast") ? to : NULL,
				 .dump_types = wants(o->debug, "types") ? to : NULL,
				 .dump_ir = wants(o->debug, "ir") ? to : NULL,
				 .dump_bpf = wants(o->debug, "bpf") ? to : NULL,
				 .stage_ns = r->stages };
	u64 begun = clock_monotonic_ns();
	rc = program_compile(&c, &in, p, &r->app->diag);
	r->compiled_ns = clock_monotonic_ns() - begun;
	program_compile_close(&c);
	return rc;
}

static void drop_warnings(struct diag *d)
{
	size_t kept = 0;
	for (size_t i = 0; i < d->items.nr; i++) {
		struct diag_item *item = &d->items.at[i];
		if (item->level == DIAG_ERROR) {
			d->items.at[kept++] = *item;
			continue;
		}
		free(item->message);
		free(item->hint);
		free(item->text);
	}
	d->items.nr = kept;
}

static int compile_and_run(struct running *r, int argc, char **argv)
{
	struct app *app = r->app;
	struct program p = { 0 };
	int rc = compile(r, argc, argv, &p);
	if (r->o->no_warnings)
		drop_warnings(&app->diag);
	int status = rc ? app_fail(app, rc) : APP_DONE;
	app_say(app);
	if (!rc && (!r->o->debug || wants(r->o->debug, "verifier")))
		status = run_program(r, &p);
	program_done(&p);
	if (r->o->no_warnings)
		drop_warnings(&app->diag);
	return status;
}

/* A word without a slash is first the name of a ready script: in a folder of others a file may have any name. */
static const struct run_tool *named_tool(const struct running *r, int argc, char **argv)
{
	return r->o->program || !argc || strchr(argv[0], '/') ? NULL : run_tool_find(argv[0]);
}

static int run_script(struct running *r, int argc, char **argv)
{
	struct app *app = r->app;
	int rc = check_stages(app, r->o->debug);
	if (rc)
		return rc;
	const struct run_tool *tool = named_tool(r, argc, argv);
	if (tool && argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		strbuf_str(&app->out, tool->help);
		return APP_DONE;
	}
	if (r->o->program) {
		strbuf_str(&r->text, r->o->program);
	} else if (tool) {
		strbuf_str(&r->text, tool->text);
		argc--;
		argv++;
	} else if (argc) {
		rc = read_script(r, argv[0]);
		r->path = strcmp(argv[0], "-") ? argv[0] : NULL;
		argc--;
		argv++;
	} else {
		return app_usage(app, "expected a script: -e 'PROGRAM', FILE, the name of a ready "
				      "one (-L), or -");
	}
	if (!rc && r->o->token_file)
		rc = read_token(r);
	if (!rc && r->o->output)
		rc = open_output(r);
	if (rc)
		return app_fail(app, rc);
	if (memchr(r->text.data ? r->text.data : "", 0, r->text.len))
		return app_usage(app, "the script has a NUL byte in it");
	return compile_and_run(r, argc, argv);
}

/* -p there is the pass to stop after, whose result is printed: 1 the tree, 2 its types, 3 the code, 4 whether it loads. */
static void take_stap_options(struct run_opts *o)
{
	static const char *const passes[] = { NULL, "ast", "types", "bpf" };
	u64 pass = o->pid;
	o->pid = o->target;
	if (pass && pass < ARRAY_SIZE(passes))
		o->debug = passes[pass];
	o->dry_run |= pass == 4;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct run_opts *o = opts;
	struct running r = {
		.app = app, .o = o, .out = &app->out, .fd = -1, .begun_ns = clock_monotonic_ns()
	};
	if (o->format)
		app->json = true;
	if (app->dialect->reads_stap)
		o->stap = true;
	if (o->stap)
		take_stap_options(o);
	int rc = sysroot_open(&r.root, NULL);
	if (rc)
		return app_fail(app, rc);
	int status;
	if (o->info) {
		status = run_info(app, &r.root);
	} else if (o->tools) {
		status = run_tools_list(app);
	} else if (o->list_given) {
		/* bpftrace's -lv: the v is no pattern. */
		bool fields = o->list && !strcmp(o->list, "v");
		app->verbose += fields;
		if ((!o->list || fields))
			o->list = argc ? argv[0] : NULL;
		status = run_list(app, o, &r.root);
	} else {
		app_live(app);
		strbuf_init(&r.text);
		strbuf_init(&r.token);
		status = run_script(&r, argc, argv);
		strbuf_done(&r.text);
		strbuf_done(&r.token);
	}
	if (r.fd >= 0) {
		rc = strbuf_flush(&r.file);
		strbuf_done(&r.file);
		close(r.fd);
		if (rc && !status)
			status = app_fail(app, rc);
	}
	sysroot_close(&r.root);
	return status;
}

static const char *const formats[] = { "text", "json", NULL };
static const char *const buffers[] = { "line", "full", "none", NULL };

static const struct opt rows[] = {
	OPT_HEADING("Script"),
	OPT_STR('e', NULL, struct run_opts, program, "PROGRAM", "Run this text instead of a file"),
	OPT_STR('c', "cmd", struct run_opts, command, "COMMAND",
		"Run COMMAND when all is attached; end when it ends"),
	OPT_UINT('p', "pid", struct run_opts, pid, "PID",
		 "Only this process (begin, end and clocks run regardless); end when it ends"),
	OPT_STR('G', "cgroup", struct run_opts, cgroup, "PATH",
		"Only tasks in this control group (v2) or below it, as -p"),
	OPT_FLAG(0, "stap", struct run_opts, stap,
		 "The script is in the language of SystemTap, and -p NUMBER is the pass to stop "
		 "after: 1 prints the tree, 2 its types, 3 the code"),
	OPT_UINT('x', NULL, struct run_opts, target, "PID", "With --stap: only this process"),
	OPT_FLAG(0, "unsafe", struct run_opts, unsafe,
		 "Allow what changes the system: system(), signal(), override()"),
	OPT_LIST('I', "include-dir", struct run_opts, include, "DIR",
		 "Accepted: the kernel's own types serve instead of headers"),
	OPT_LIST(0, "include", struct run_opts, include, "FILE", "Accepted, as -I"),
	OPT_HEADING("Output"),
	OPT_STR('o', "output", struct run_opts, output, "FILE",
		"Write what the script prints to FILE"),
	OPT_ENUM('f', "format", struct run_opts, format, "FORMAT",
		 "Output format; json is one object per line", formats),
	OPT_ENUM('B', "buffering", struct run_opts, buffer, "MODE",
		 "When to write (default: line, after each round of records)", buffers),
	OPT_FLAG('q', "quiet", struct run_opts, quiet, "Do not report how many probes are attached"),
	OPT_FLAG(0, "no-final-maps", struct run_opts, no_final_maps, "Print no maps at the end"),
	OPT_FLAG(0, "no-warnings", struct run_opts, no_warnings, "Print no warnings"),
	OPT_STR(0, "listen", struct run_opts, listen, "ADDRESS",
		"Serve maps as OpenMetrics on loopback (127.0.0.1:9435); the URL is printed"),
	OPT_STR(0, "token-file", struct run_opts, token_file, "FILE",
		"The token that requests have to carry, instead of a random one"),
	OPT_HEADING("Listing and debugging"),
	OPT_STR('l', "list", struct run_opts, list,
		"PATTERN", "List probes that match, or the kernel's types (\"struct task_*\"); with -v also their fields",
		.optional = true, .greedy = true, OPT_SEEN(struct run_opts, list_given)),
	OPT_FLAG('L', "list-scripts", struct run_opts, tools,
		 "List ready scripts by the question they answer; 'run NAME --help' has more"),
	OPT_FLAG(0, "info", struct run_opts, info, "What BPF can do here"),
	OPT_FLAG(0, "dry-run", struct run_opts, dry_run,
		 "Compile, load and attach, but let nothing run"),
	OPT_STR('d', "debug", struct run_opts, debug, "STAGE",
		"Print what a stage made: ast, types, ir, bpf, verifier, all"),
	OPT_FLAG('k', NULL, struct run_opts, report_errors,
		 "Warn about each memory read that fails, with its line"),
	OPT_FLAG(0, "emit-elf", struct run_opts, refused,
		 "nothing is compiled by LLVM here: '-d bpf' prints the code", .refused = true),
	OPT_FLAG(0, "emit-llvm", struct run_opts, refused,
		 "nothing is compiled by LLVM here: '-d ir' prints what stands for it",
		 .refused = true),
	OPT_FLAG(0, "aot", struct run_opts, refused,
		 "scripts compile in milliseconds: there is nothing to keep", .refused = true),
	OPT_FLAG(0, "usdt-file-activation", struct run_opts, ignored,
		 "Accepted: the kernel counts semaphores", .hidden = true),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "run -e 'tracepoint:syscalls:sys_enter_* { @[probe] = count(); }'",
	  "system calls by name" },
	{ "run -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }' -c 'sleep 1'",
	  "system calls by program, for a second" },
	{ "run -e 'uprobe:/bin/bash:readline { printf(\"%d\\n\", pid); }'",
	  "a function of a program" },
	{ "run opensnoop", "a ready script: which files are opened; 'run -L' lists all" },
	{ "run --stap -e 'probe vfs.read {printf(\"read performed\\n\"); exit()}'",
	  "a script of SystemTap" },
	{ "run -l 'tracepoint:sched:*'", "tracepoints of the scheduler" },
	{ 0 },
};

const struct command command_run = {
	.name = "run",
	.group = "Why",
	.summary = "run a script in the language of bpftrace",
	.usage = "[OPTIONS] [-e PROGRAM | FILE | NAME | -] [ARGS]",
	.about = "The script is compiled here, in milliseconds: no compiler, no kernel headers and "
		 "no debug "
		 "information are needed. What the compiler does not support yet is refused, with "
		 "its position in the script.\n"
		 "sonde-language(7) and 'sonde help language' describe the language, with all its "
		 "probes and functions.\n"
		 "It runs until it calls exit(), until Ctrl-C, or until the command or process of "
		 "-c or -p ends; then end probes run, and maps are printed.\n"
		 "--stap takes the core of SystemTap's language: begin, end, timer, "
		 "kernel.function, "
		 "kernel.trace, syscall, process().function and .mark probes, common aliases such "
		 "as "
		 "vfs.read, globals, arrays, foreach, statistics, functions, printf. while and for "
		 "end "
		 "after 65536 iterations; strings can be joined only where they are printed.\n"
		 "CAP_BPF and CAP_PERFMON suffice. Records that were lost are reported with the "
		 "probe that "
		 "lost them.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct run_opts),
	.run = run,
};
