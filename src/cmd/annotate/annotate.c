/* sonde annotate: the code of a function, instruction by instruction and line by line, with what fell on each. */
#include "cmd/annotate/annotate.h"
#include "cmd/app/choose_opts.h"
#include "cmd/app/commands.h"
#include "cmd/app/files.h"
#include "cmd/app/opt_rows.h"
#include "session/annotate_run.h"
#include "session/dump_raw.h"
#include "stream/replay_perf.h"
#include "view/tui_screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static int parse_style(struct app *app, struct annotating *a)
{
	const struct annotate_opts *o = a->opts;
	static const char *const types[] = { "local-period", "global-period", "local-hits",
					     "global-hits" };
	a->style = (struct text_annotate_opts){
		.counts = o->counts,
		.periods = o->periods,
		.raw = o->raw,
		.jumps = o->jumps && !o->stdio && !app->dialect->plain_code,
		.relative = o->stdio2 && !o->stdio,
		.colour = app_colours(app),
		.ascii = !term_utf8() && !app->dialect->plain_code,
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
			return app_usage(app,
					 "--percent-type: invalid type '%s' (local-period, "
					 "global-period, local-hits, global-hits)",
					 o->percent_type);
		a->style.percent = (enum annotate_percent)i;
	}
	if (o->syntax && strcmp(o->syntax, "intel") && strcmp(o->syntax, "att"))
		return app_usage(app, "-M: invalid syntax '%s' (att or intel)", o->syntax);
	a->code.syntax = o->syntax && o->syntax[0] == 'i' ? DISASM_INTEL : DISASM_ATT;
	if (o->stdio_colour) {
		static const char *const whens[] = { "auto", "always", "never" };
		size_t i = 0;
		while (i < ARRAY_SIZE(whens) && strcmp(whens[i], o->stdio_colour))
			i++;
		if (i == ARRAY_SIZE(whens))
			return app_usage(app, "--stdio-color: invalid mode '%s'", o->stdio_colour);
		a->style.colour = term_colour((enum term_when)i, STDOUT_FILENO);
	}
	if (o->percent_limit) {
		char *end;
		a->min_percent = strtod(o->percent_limit, &end);
		if (end == o->percent_limit || *end || a->min_percent < 0 || a->min_percent > 100)
			return app_usage(app, "--percent-limit: invalid percentage '%s'",
					 o->percent_limit);
	}
	return 0;
}

static bool wants_browser(struct app *app, const struct annotating *a)
{
	const struct annotate_opts *o = a->opts;
	bool plain = o->stdio || o->stdio2 || o->quiet || o->dump || o->print_line || o->raw ||
		     o->counts || o->periods || o->skip_missing || app->json || app->common.no_pager;
	return !plain && app_may_draw(app) && tui_possible();
}

/* What has to be known of the samples before they are counted: which CPUs, and -D. */
static int prepare_samples(struct annotating *a)
{
	struct diag *d = a->tell.diag;
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
	struct annotating a = {
		.tell = app_tell(app), .names = app_symbols(app), .opts = o, .out = &app->out
	};
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one function at a time",
				 argv[1]);
	if (argc == 1)
		o->symbol = argv[0];
	int usage = parse_style(app, &a);
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
	if (wants_browser(app, &a))
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

static int browse(struct app *app, const char *input, const struct annotate_given *given,
		  const struct annotate_opts *style, const struct name_func *f, u32 event,
		  struct strbuf *why)
{
	struct annotate_opts o = *style;
	o.input = input;
	o.symbol = f->name;
	o.jumps = o.group = true;
	struct look look = { .nested = true };
	struct annotating a = { .tell = app_tell(app),
				.names = app_symbols(app),
				.opts = &o,
				.out = why,
				.look = &look,
				.given = given,
				.src = given ? given->src : NULL,
				.only = f,
				.only_event = event };
	if (!f->name)
		return -ENOENT;
	arena_init(&look.arena);
	/* What is to be said is for the last line, not for the end of the run. */
	struct diag outer = app->diag;
	diag_init(&app->diag);
	app->diag.options = app_option_names;
	int err = parse_style(app, &a) ? -EINVAL : 0;
	if (!given)
		symbols_recorded(app_symbols(app), input);
	if (!err && !given)
		err = replay_perf_open(input, &a.src, &app->diag);
	if (!err)
		err = annotate_opened(&a);
	if (err && app->diag.items.nr)
		strbuf_str(why, app->diag.items.at[0].message);
	diag_done(&app->diag);
	app->diag = outer;
	return err;
}

int annotate_browse(struct app *app, const char *input, const struct symbol_opts *symbols,
		    const struct name_func *f, u32 event, struct strbuf *why)
{
	const struct annotate_opts style = { .source = true, .symbols = *symbols };
	return browse(app, input, NULL, &style, f, event, why);
}

int annotate_browse_given(struct app *app, const struct annotate_given *given,
			  const struct annotate_opts *style, const struct name_func *f, u32 event,
			  struct strbuf *why)
{
	return browse(app, NULL, given, style, f, event, why);
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
