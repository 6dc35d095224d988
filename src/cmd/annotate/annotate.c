/* sonde annotate: the code of a function, instruction by instruction and line by line, with what fell on each. */
#include "cmd/annotate/annotate.h"
#include "cmd/app/choose_opts.h"
#include "cmd/app/opt_rows.h"
#include "analysis/annotate.h"
#include "cmd/annotate/impl.h"
#include "cmd/app/app.h"
#include "session/choose.h"
#include "cmd/app/commands.h"
#include "cmd/app/files.h"
#include "session/dump_raw.h"
#include "session/recording.h"
#include "session/symbols.h"
#include "image/kimage.h"
#include "stream/replay_perf.h"
#include "view/text_annotate.h"
#include "view/tui_screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct annotate_opts {
	const char *input;
	const char *symbol;
	const char *dsos;
	const char *syntax;
	const char *percent_type;
	const char *percent_limit;
	const char *prefix;
	u64 prefix_strip;
	bool print_line;
	bool full_paths;
	bool counts;
	bool periods;
	bool raw;
	bool source;
	bool group;
	bool stdio;
	bool stdio2;
	bool jumps;
	bool skip_missing;
	bool quiet;
	bool force;
	bool dump;
	bool tui;
	const char *stdio_colour;
	const char *objdump;
	struct choose_opts choose;
	u64 workers;
	struct symbol_opts symbols;
};

static const struct opt annotate_rows[] = {
	OPT_STR('i', "input", struct annotate_opts, input, "FILE",
		"recording to read (perf.data); - for standard input"),
	OPT_STR('s', "symbol", struct annotate_opts, symbol, "FUNCTION",
		"only this function (default: all functions with samples)"),
	OPT_STR('d', "dsos", struct annotate_opts, dsos, "LIST", "only functions in these files"),
	OPT_FLAG('l', "print-line", struct annotate_opts, print_line,
		 "hottest lines first, with the source line of each sampled instruction"),
	OPT_FLAG('P', "full-paths", struct annotate_opts, full_paths, "show full file paths"),
	OPT_STR('M', "disassembler-style", struct annotate_opts, syntax, "SYNTAX", "att or intel"),
	OPT_FLAG(0, "asm-raw", struct annotate_opts, raw, "show the raw bytes of each instruction"),
	OPT_FLAG(0, "source", struct annotate_opts, source,
		 "interleave source lines (default; --no-source)"),
	OPT_FLAG(0, "jumps", struct annotate_opts, jumps,
		 "draw jump arrows (default; --no-jumps, off with --stdio)"),
	OPT_FLAG(0, "group", struct annotate_opts, group,
		 "show events of a group side by side (default); --no-group: one after the other"),
	OPT_FLAG('n', "show-nr-samples", struct annotate_opts, counts,
		 "sample counts instead of percentages"),
	OPT_FLAG(0, "show-total-period", struct annotate_opts, periods,
		 "periods instead of percentages"),
	OPT_STR(0, "percent-type", struct annotate_opts, percent_type, "TYPE",
		"what 100% means: local-period, global-period, local-hits, global-hits"),
	OPT_STR(0, "percent-limit", struct annotate_opts, percent_limit, "PERCENT",
		"hide functions below this percentage of the recording"),
	OPT_FLAG(0, "skip-missing", struct annotate_opts, skip_missing,
		 "no messages about functions whose code is unavailable"),
	OPT_STR(0, "prefix", struct annotate_opts, prefix,
		"DIR", "look for source files in this directory, prepended to the paths recorded by the compiler"),
	OPT_UINT(0, "prefix-strip", struct annotate_opts, prefix_strip, "N",
		 "with --prefix: strip N leading directories from absolute paths"),
	OPT_STR('C', "cpu", struct annotate_opts, choose.cpus, "LIST",
		"only samples from these CPUs: 0,2-3"),
	OPT_FLAG('D', "dump-raw-trace", struct annotate_opts, dump,
		 "dump every record as hex and text before the functions"),
	OPT_FLAG(0, "tui", struct annotate_opts, tui, "use the terminal browser if available"),
	OPT_STR(0, "stdio-color", struct annotate_opts, stdio_colour, "WHEN",
		"colour plain text: always, never or auto"),
	OPT_STR(0, "objdump", struct annotate_opts, objdump, "PATH",
		"accepted; code is disassembled without an external program", .hidden = true),
	OPT_FLAG('m', "modules", struct annotate_opts, force,
		 "accepted; module symbols are always read", .hidden = true),
	OPT_FLAG(0, "demangle-kernel", struct annotate_opts, force,
		 "accepted; kernel names need no demangling", .hidden = true),
	OPT_FLAG('q', "quiet", struct annotate_opts, quiet, "no notes"),
	OPT_FLAG('f', "force", struct annotate_opts, force,
		 "accepted; file ownership is never checked", .hidden = true),
	OPT_FLAG(0, "stdio", struct annotate_opts, stdio, "plain text as perf prints it"),
	OPT_FLAG(0, "stdio2", struct annotate_opts,
		 stdio2, "plain text as in perf's browser: jump labels, and arrows at jumps, calls and returns"),
	OPT_UINT(0, "workers", struct annotate_opts, workers, "N",
		 "number of threads (default: one per CPU)"),
	SYMBOL_OPT_ROWS(struct annotate_opts, symbols),
	OPT_END(),
};

static const struct opt_example annotate_examples[] = {
	{ "annotate -s main", "one function from ./perf.data: source, assembly, percentages" },
	{ "annotate -l", "every function with samples, hottest lines first" },
	{ "annotate -M intel --asm-raw -s memcpy", "Intel syntax, with instruction bytes" },
	{ "annotate -k /boot/vmlinuz -s vfs_read", "kernel code from a kernel image" },
	{ "annotate --prefix /usr/src/glibc-2.36 -s qsort",
	  "source of a library that was built elsewhere" },
	{ "annotate --json -s main", "machine-readable output" },
	{ 0 },
};

static void annotate_defaults(void *opts)
{
	struct annotate_opts *o = opts;
	o->input = "perf.data";
	o->source = true;
	o->jumps = true;
	o->group = true;
	o->symbols.min_unnamed = SYMBOLS_MIN_UNNAMED;
}

static int parse_style(struct annotating *a)
{
	const struct annotate_opts *o = a->opts;
	static const char *const types[] = { "local-period", "global-period", "local-hits",
					     "global-hits" };
	a->style = (struct text_annotate_opts){
		.counts = o->counts,
		.periods = o->periods,
		.raw = o->raw,
		.jumps = o->jumps && !o->stdio && !a->app->dialect->plain_code,
		.relative = o->stdio2 && !o->stdio,
		.colour = app_colours(a->app),
		.ascii = !term_utf8() && !a->app->dialect->plain_code,
		.full_paths = o->full_paths,
		.lines_first = o->print_line,
		.source = o->source,
		.min_percent = 0.5,
		.source_line = source_text_line,
		.ctx = &a->sources,
	};
	if (o->percent_type) {
		size_t i = 0;
		while (i < ARRAY_SIZE(types) && strcmp(types[i], o->percent_type))
			i++;
		if (i == ARRAY_SIZE(types))
			return app_usage(a->app,
					 "--percent-type: invalid type '%s' (local-period, "
					 "global-period, local-hits, global-hits)",
					 o->percent_type);
		a->style.percent = (enum annotate_percent)i;
	}
	if (o->syntax && strcmp(o->syntax, "intel") && strcmp(o->syntax, "att"))
		return app_usage(a->app, "-M: invalid syntax '%s' (att or intel)", o->syntax);
	a->code.syntax = o->syntax && o->syntax[0] == 'i' ? DISASM_INTEL : DISASM_ATT;
	if (o->stdio_colour) {
		static const char *const whens[] = { "auto", "always", "never" };
		size_t i = 0;
		while (i < ARRAY_SIZE(whens) && strcmp(whens[i], o->stdio_colour))
			i++;
		if (i == ARRAY_SIZE(whens))
			return app_usage(a->app, "--stdio-color: invalid mode '%s'",
					 o->stdio_colour);
		a->style.colour = term_colour((enum term_when)i, STDOUT_FILENO);
	}
	if (o->percent_limit) {
		char *end;
		a->min_percent = strtod(o->percent_limit, &end);
		if (end == o->percent_limit || *end || a->min_percent < 0 || a->min_percent > 100)
			return app_usage(a->app, "--percent-limit: invalid percentage '%s'",
					 o->percent_limit);
	}
	return 0;
}

static bool in_list(const char *list, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = list; *at; at += *at == ',') {
		size_t n = strcspn(at, ",");
		if (n == len && !strncmp(at, word, n))
			return true;
		at += n;
	}
	return false;
}

static bool wanted(const struct annotating *a, const struct name_func *f)
{
	const struct annotate_opts *o = a->opts;
	const struct image_info *info = &a->src->catalog.images.at[f->image];
	if (a->only && !a->look)
		return f->name && f->image == a->only->image && f->start == a->only->start &&
		       f->mode == a->only->mode;
	if (!f->name || (o->symbol && !a->look && strcmp(o->symbol, f->name)))
		return false;
	return !o->dsos || in_list(o->dsos, info->name) || in_list(o->dsos, info->path);
}

const char *annotate_missing_reason(int err)
{
	return err == -ESTALE	 ? "the file has changed since the recording"
	       : err == -ENOTSUP ? "no disassembler for its architecture"
	       : err == -ELIBACC ? "libcapstone is not installed (Debian: libcapstone4)"
	       : err == -ENODATA ? "the file contains no code for it"
				 : strerror(-err);
}

enum { MISSING_NAMED = 3 };

/* One note for all functions of an image that have no code for the same reason. */
static void note_missing(struct annotating *a, const struct missing *m)
{
	const char *why = annotate_missing_reason(m->err);
	if (m->nr == 1)
		diag_note(&a->app->diag, "%s in %s: no code to show: %s", m->names, m->image->path,
			  why);
	else
		diag_note(&a->app->diag, "%u functions in %s (%s%s): no code to show: %s", m->nr,
			  m->image->path, m->names, m->nr > MISSING_NAMED ? ", ..." : "", why);
	if (m->image->kind != IMAGE_KIND_KERNEL || a->opts->symbols.vmlinux)
		return;
	diag_hint(&a->app->diag, "use -k VMLINUX to give an image of that kernel%s",
		  geteuid() && !access("/proc/kcore", F_OK)
			  ? "; as root the running kernel can be read (/proc/kcore)"
			  : "");
}

static void note_all_missing(struct annotating *a)
{
	vec_for_each (&a->missing, m) {
		if (!a->opts->skip_missing && !a->opts->quiet && m->names)
			note_missing(a, m);
		free(m->names);
	}
	vec_free(&a->missing);
	free(a->counted);
	a->counted = NULL;
}

static void add_missing(struct annotating *a, const struct name_func *f, int err)
{
	const struct image_info *image = &a->src->catalog.images.at[f->image];
	struct missing *m = NULL;
	a->nr_missing++;
	if (!a->counted)
		a->counted = calloc(a->run.named.nr_funcs + 1, sizeof(*a->counted));
	if (!a->counted || a->counted[f - a->run.named.funcs])
		return;
	a->counted[f - a->run.named.funcs] = true;
	vec_for_each (&a->missing, other)
		if (other->image == image && other->err == err)
			m = other;
	if (!m && (m = vec_push(&a->missing)))
		*m = (struct missing){ .image = image, .err = err };
	if (!m || m->nr++ >= MISSING_NAMED)
		return;
	char *names = NULL;
	if (asprintf(&names, "%s%s%s", m->names ? m->names : "", m->names ? ", " : "", f->name) < 0)
		return;
	free(m->names);
	m->names = names;
}

int annotate_make(struct annotating *a, const struct annotate_func *func, const u32 *events,
		  u32 nr_events, const char *group, struct arena *arena, struct annotation *an)
{
	const struct name_func *f = &a->run.named.funcs[func->func];
	const struct image_info *info = &a->src->catalog.images.at[f->image];
	*an = (struct annotation){ .symbol = f->name, .image = info->name, .path = info->path };
	an->nr_events = nr_events;
	an->group = group;
	an->events = arena_array(arena, nr_events, sizeof(*an->events));
	if (!an->events)
		return -ENOMEM;
	for (u32 e = 0; e < nr_events; e++) {
		const struct event_info *ev = &a->src->catalog.events.at[events[e]];
		an->events[e].name = ev->name;
		an->events[e].hz = ev->is_freq ? ev->period_or_freq : 0;
	}
	int err = annotate_code_open(&a->code, info, f, an, arena);
	if (err)
		return err;
	err = annotate_fill(a->hits, &a->run.tables.frames, func->func, events, f->start, an, arena);
	if (err)
		annotate_code_close(&a->code);
	return err;
}

static int show(struct annotating *a, const struct annotate_func *func, const u32 *events,
		u32 nr_events, const char *group)
{
	struct arena arena;
	struct annotation an;
	arena_init(&arena);
	int err = annotate_make(a, func, events, nr_events, group, &arena, &an);
	if (err && err != -ENOMEM) {
		add_missing(a, &a->run.named.funcs[func->func], err);
		err = 0;
	} else if (!err) {
		if (a->app->json)
			json_annotate(&an, &a->style, &a->json);
		else
			text_annotate(&an, &a->style, a->out);
		a->shown++;
		annotate_code_close(&a->code);
	}
	arena_done(&arena);
	return err;
}

/* ---- all ---- */

static int show_events(struct annotating *a, const u32 *events, u32 nr_events, const char *group)
{
	struct annotate_func *funcs;
	u32 nr;
	u64 total = 0;
	_cleanup_free_ bool *marks = calloc(a->src->catalog.events.nr + 1, sizeof(*marks));
	if (!marks)
		return -ENOMEM;
	for (u32 e = 0; e < nr_events; e++) {
		marks[events[e]] = true;
		total += annotate_total(a->hits, events[e]).period;
	}
	int err = annotate_funcs(a->hits, &a->run.named, marks, (u32)a->src->catalog.events.nr,
				 &funcs, &nr);
	if (err)
		return err;
	u32 kept = 0;
	for (u32 i = 0; i < nr; i++)
		if (wanted(a, &a->run.named.funcs[funcs[i].func]) &&
		    100.0 * (double)funcs[i].period >= a->min_percent * (double)total)
			funcs[kept++] = funcs[i];
	if (a->look)
		return annotate_look_add(a, events, nr_events, group, funcs, kept);
	for (u32 i = 0; i < kept && !err; i++)
		err = show(a, &funcs[i], events, nr_events, group);
	free(funcs);
	return err;
}

/* Every event by itself, or each group behind its leader. */
static int show_all(struct annotating *a)
{
	u32 nr = (u32)a->src->catalog.events.nr;
	_cleanup_free_ u32 *list = calloc(nr + 1, sizeof(*list));
	int err = list ? 0 : -ENOMEM;
	for (u32 e = 0; e < nr && !err;) {
		struct source_group g = { .nr = 1 };
		if (a->opts->group && !a->only)
			(void)source_group(a->src, e, &g);
		for (u32 k = 0; k < g.nr; k++)
			list[k] = e + k;
		if (!a->only || e == a->only_event)
			err = show_events(a, list, g.nr, g.name);
		e += g.nr;
	}
	return err;
}

/* Whether `word` is a whole part of a qualified name: partition of sort.partition, work of (anonymous namespace)::work(int). */
static bool is_part(const char *name, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = name; len && (at = strstr(at, word)); at++) {
		bool begins = at == name || strchr(".:)", at[-1]) != NULL;
		bool ends = !at[len] || strchr("(<.[", at[len]) != NULL;
		if (begins && ends)
			return true;
	}
	return false;
}

/* What was meant: a name that the word is a part of (the shortest), else one that is spelled alike. */
static const char *suggest(const char *word, const char *const *names, size_t nr)
{
	const char *best = NULL;
	for (size_t i = 0; i < nr; i++)
		if (is_part(names[i], word) && (!best || strlen(names[i]) < strlen(best)))
			best = names[i];
	return best ? best : nr ? str_closest(word, names, nr) : NULL;
}

static int nothing(struct annotating *a)
{
	struct diag *d = &a->app->diag;
	const char *symbol = a->opts->symbol;
	if (a->shown)
		return 0;
	if (a->nr_missing)
		return diag_error(d, -ENOENT, "no code to show");
	if (!symbol) {
		diag_note(d, "no samples in functions with a name: nothing to annotate");
		return 0;
	}
	(void)diag_error(d, -ENOENT,
			 a->only ? "no samples in '%s' itself, only in functions it calls"
				 : "no samples in function '%s'",
			 symbol);
	_cleanup_free_ const char **names = calloc(a->run.named.nr_funcs + 1, sizeof(*names));
	size_t nr = 0;
	for (u32 i = 1; names && i < a->run.named.nr_funcs; i++)
		if (a->run.named.funcs[i].name)
			names[nr++] = a->run.named.funcs[i].name;
	const char *near = suggest(symbol, names, nr);
	if (near)
		diag_hint(d, "did you mean '%s'?", near);
	else
		diag_hint(d, "'sonde report --no-children' lists the functions with samples");
	return -ENOENT;
}

static int count_hits(struct annotating *a)
{
	struct app *app = a->app;
	a->hits = annotate_new(sample_choice_empty(&a->choose.when) ? NULL : &a->choose.when,
			       &a->src->catalog);
	return a->hits ? named_run(&a->run, a->src, annotate_sink(a->hits),
				   &(struct named_run_opts){ .symbols = app_symbols(app),
							     .names = &a->opts->symbols,
							     .want = WANT_SYMBOL,
							     .workers = (unsigned)a->opts->workers,
							     .split_reads = true })
		       : -ENOMEM;
}

/* Names for what was counted before. */
static int take_hits(struct annotating *a)
{
	a->hits = a->given->hits;
	named_run_begin(&a->run, a->src,
			recording_names(app_symbols(a->app), a->src, &a->opts->symbols));
	a->run.own_names = true;
	a->run.tables.frames = *a->given->frames;
	return a->run.names ? named_run_resolve(&a->run, WANT_SYMBOL) : -ENOMEM;
}

static void hits_done(struct annotating *a)
{
	if (a->given)
		a->run.tables = (struct run_tables){ 0 }; /* not ours */
	else
		annotate_free(a->hits);
	named_run_done(&a->run);
}

/* Everything of an open recording. */
static int annotate_source(struct annotating *a)
{
	struct app *app = a->app;
	int err = a->given ? take_hits(a) : count_hits(a);
	if (!err && app->json && !a->look) {
		json_begin(&a->json, &app->out, JSON_PRETTY);
		json_array(&a->json);
	}
	if (!err)
		err = show_all(a);
	int drawn = -ENOTTY;
	if (!err && a->look)
		drawn = a->look->each ? annotate_look_each(a) : annotate_look(a);
	if (a->look)
		annotate_look_done(a);
	if (!err && a->look && (drawn == 1 || drawn == -ENOTTY) && !a->look->nested) {
		a->look = NULL;
		err = show_all(a);
	} else if (!err && a->look && drawn <= 0) {
		err = drawn;
		a->shown++;
	}
	note_all_missing(a);
	if (!err)
		err = nothing(a);
	if (app->json && a->json.to) {
		json_array_end(&a->json);
		int end = json_end(&a->json);
		err = err ? err : end;
	}
	hits_done(a);
	return err;
}

/* Takes the source over. */
static int annotate_opened(struct annotating *a)
{
	struct kernel_list kernel = { .opts = &a->opts->symbols, .src = a->src };
	struct sym_config cfg = symbols_config(app_symbols(a->app), &a->opts->symbols);
	struct elfimg image = { 0 };
	/* Unpacked once for all functions. If that fails, naming them says why. */
	if (cfg.vmlinux && !kimage_open(&image, cfg.vmlinux))
		cfg.vmlinux_image = &image;
	a->code.cfg = &cfg;
	a->code.kernel = &kernel;
	int err = annotate_source(a);
	if (!a->given)
		a->src->ops->close(a->src);
	kernel_list_done(&kernel);
	elfimg_close(&image);
	source_text_done(&a->sources);
	return err;
}

static bool wants_browser(const struct annotating *a)
{
	const struct annotate_opts *o = a->opts;
	bool plain = o->stdio || o->stdio2 || o->quiet || o->dump || o->print_line || o->raw ||
		     o->counts || o->periods || o->skip_missing || a->app->json ||
		     a->app->common.no_pager;
	return !plain && app_may_draw(a->app) && tui_possible();
}

/* What has to be known of the samples before they are counted: which CPUs, and -D. */
static int prepare_samples(struct annotating *a)
{
	struct diag *d = &a->app->diag;
	int err = a->src->ops->prepare(a->src, 0, d);
	if (!err && a->opts->dump) {
		struct dump_raw_opts o = { .src = a->src, .path = a->opts->input };
		err = dump_raw_all(&o, a->out, d);
	}
	return err ? err : choose_parse(&a->choose, &a->opts->choose, a->src, d);
}

static int annotate_run(struct app *app, void *opts, int argc, char **argv)
{
	struct annotate_opts *o = opts;
	struct annotating a = { .app = app, .opts = o, .out = &app->out };
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one function at a time",
				 argv[1]);
	if (argc == 1)
		o->symbol = argv[0];
	int usage = parse_style(&a);
	if (usage)
		return usage;
	if (o->tui && !tui_possible())
		diag_warn(&app->diag, "no terminal to draw the browser on; printing plain text");
	a.sources = (struct source_text){ .prefix = o->prefix,
					  .strip = o->prefix_strip,
					  .opener = files_opener() };
	usage = choose_check(&o->choose, app);
	if (usage)
		return usage;
	struct look look = { .symbol = o->symbol };
	arena_init(&look.arena);
	if (wants_browser(&a))
		a.look = &look;
	symbols_recorded(app_symbols(app), o->input);
	int err = replay_perf_open(o->input, &a.src, &app->diag);
	if (err)
		return app_fail(app, err);
	choose_init(&a.choose);
	err = o->choose.cpus || o->dump ? prepare_samples(&a) : 0;
	if (!err)
		err = annotate_opened(&a);
	else
		a.src->ops->close(a.src);
	choose_done(&a.choose);
	return err ? app_fail(app, err) : APP_DONE;
}

int annotate_browse(struct app *app, const char *input, const struct symbol_opts *symbols,
		    const struct name_func *f, u32 event, struct strbuf *why)
{
	struct annotate_opts o = { .input = input,
				   .symbol = f->name,
				   .source = true,
				   .jumps = true,
				   .group = true,
				   .symbols = *symbols };
	struct look look = { .nested = true };
	struct annotating a = {
		.app = app, .opts = &o, .out = why, .look = &look, .only = f, .only_event = event
	};
	if (!f->name)
		return -ENOENT;
	arena_init(&look.arena);
	/* What is to be said is for the last line, not for the end of the run. */
	struct diag outer = app->diag;
	diag_init(&app->diag);
	symbols_recorded(app_symbols(app), input);
	int err = parse_style(&a) ? -EINVAL : replay_perf_open(input, &a.src, &app->diag);
	if (!err)
		err = annotate_opened(&a);
	if (err && app->diag.items.nr)
		strbuf_str(why, app->diag.items.at[0].message);
	diag_done(&app->diag);
	app->diag = outer;
	return err;
}

int annotate_each(struct app *app, const char *input, const struct annotate_given *given,
		  const struct symbol_opts *symbols, u32 max_funcs, double min_percent,
		  int (*fn)(void *ctx, const struct annotation *a,
			    const struct text_annotate_opts *style),
		  void *ctx)
{
	struct annotate_opts o = { .input = input, .source = true, .symbols = *symbols };
	struct look look = { .nested = true, .each = fn, .ctx = ctx, .max_funcs = max_funcs };
	struct annotating a = {
		.app = app, .opts = &o, .look = &look, .given = given, .src = given ? given->src : NULL
	};
	struct diag outer = app->diag;
	arena_init(&look.arena);
	diag_init(&app->diag);
	int err = parse_style(&a) ? -EINVAL : 0;
	if (!err && !given)
		err = replay_perf_open(input, &a.src, &app->diag);
	a.min_percent = min_percent;
	a.sources.for_sharing = true;
	a.sources.opener = files_opener();
	if (!err)
		err = annotate_opened(&a);
	diag_done(&app->diag);
	app->diag = outer;
	return err;
}

const struct command command_annotate = {
	.name = "annotate",
	.group = "Why",
	.summary = "show source and assembly of functions, with samples per line",
	.usage = "[OPTIONS] [FUNCTION]",
	.about = "Reads a perf.data file (ours or perf's) and prints the code of the sampled "
		 "functions, hottest first: each instruction with its share of the function's "
		 "samples, interleaved with source lines if debug information and source are "
		 "available. Only samples in the function itself count, so the totals match the "
		 "Self column of report. On a terminal it opens a browser unless an option asks "
		 "for text.",
	.examples = annotate_examples,
	.opts = annotate_rows,
	.opts_size = sizeof(struct annotate_opts),
	.defaults = annotate_defaults,
	.mixed_words = true,
	.run = annotate_run,
};
