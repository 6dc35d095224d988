/* sonde script: every sample of a recording as text, in time order. */
#include "cmd/app/app.h"
#include "cmd/app/choose_opts.h"
#include "cmd/app/opt_rows.h"
#include "session/choose.h"
#include "cmd/app/commands.h"
#include "session/dump_raw.h"
#include "session/look.h"
#include "session/count_lines.h"
#include "session/event_files.h"
#include "session/script_fields.h"
#include "cmd/script/names.h"
#include "session/side_lines.h"
#include "session/perf_header.h"
#include "session/recording.h"
#include "session/symbols.h"
#include "arch/arch.h"
#include "stream/replay_perf.h"
#include "stream/rounds.h"
#include "stream/run.h"
#include "view/text_samples.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct script_opts {
	const char *input;
	struct opt_list inputs; /* -i, all of them */
	struct opt_list fields;
	bool nanoseconds;
	bool reltime;
	bool header;
	bool header_only;
	bool header_full;
	bool deltatime;
	bool dump;
	bool dump_unsorted;
	bool show_tasks;
	bool show_mmaps;
	bool show_lost;
	bool show_switches;
	bool show_namespaces;
	bool show_cgroups;
	bool show_bpf;
	bool hide_chains;
	bool per_event;
	bool list;
	bool force;
	const char *stop_at;
	const char *language;
	const char *itrace;
	const char *script;
	const char *dsos;
	const char *only;
	bool full_path;
	struct choose_opts choose;
	struct gate_opts gate;
	u64 max_stack;
	u64 workers;
	struct symbol_opts symbols;
};

static const struct opt script_rows[] = {
	OPT_LIST('i', "input", struct script_opts, inputs, "FILE",
		 "recording to read (perf.data), or a trace.dat (several are merged by time); - "
		 "for standard input"),
	OPT_LIST('F', "fields", struct script_opts, fields, "LIST",
		 "fields, separated by commas: comm tid pid time tod cpu event trace ip sym symoff "
		 "dso addr period weight ins_lat retire_lat misc flags srcline data_src phys_addr "
		 "data_page_size code_page_size iregs uregs brstack brstacksym brstackoff; +FIELD "
		 "and -FIELD change the default; prefix hw:, sw:, trace:, raw: for events of that "
		 "type only"),
	OPT_FLAG('D', "dump-raw-trace", struct script_opts, dump,
		 "dump every record as hex and text between the samples"),
	OPT_FLAG(0, "ns", struct script_opts, nanoseconds, "times in nanoseconds"),
	OPT_FLAG(0, "reltime", struct script_opts, reltime, "times relative to the first sample"),
	OPT_FLAG(0, "deltatime", struct script_opts, deltatime,
		 "times relative to the previous sample"),
	OPT_FLAG(0, "show-task-events", struct script_opts, show_tasks,
		 "show forks, execs and exits"),
	OPT_FLAG(0, "show-mmap-events", struct script_opts, show_mmaps, "show memory maps"),
	OPT_FLAG(0, "show-lost-events", struct script_opts, show_lost, "show lost records"),
	OPT_FLAG(0, "show-switch-events", struct script_opts, show_switches,
		 "show context switches (record --switch-events)"),
	OPT_FLAG(0, "show-namespace-events", struct script_opts, show_namespaces,
		 "show namespaces (record --namespaces)"),
	OPT_FLAG(0, "show-cgroup-events", struct script_opts, show_cgroups,
		 "show cgroups (record --all-cgroups)"),
	OPT_FLAG(0, "show-bpf-events", struct script_opts, show_bpf,
		 "show BPF programs that were loaded and unloaded"),
	OPT_FLAG(0, "show-round-events", struct script_opts, force, "Use -D to see ends of rounds",
		 .refused = true),
	OPT_FLAG(0, "show-text-poke-events", struct script_opts, force,
		 "Use -D to see changes of kernel code", .refused = true),
	OPT_FLAG(0, "dump-unsorted-raw-trace", struct script_opts, dump_unsorted,
		 "dump every record of the file as hex and text, in file order"),
	OPT_FLAG(0, "per-event-dump", struct script_opts, per_event,
		 "write the lines of each event to its own file: INPUT.EVENT.dump"),
	OPT_FLAG('G', "hide-call-graph", struct script_opts, hide_chains,
		 "only the sampled location, no call chain"),
	OPT_UINT(0, "max-stack", struct script_opts, max_stack, "N",
		 "maximum number of frames per call chain"),
	OPT_FLAG(0, "full-source-path", struct script_opts, full_path,
		 "full paths of source files (-F +srcline)"),
	OPT_FLAG(0, "header", struct script_opts, header,
		 "show where, when and how it was recorded before the samples"),
	OPT_FLAG(0, "header-only", struct script_opts, header_only, "only that"),
	OPT_FLAG('I', "show-info", struct script_opts, header_full,
		 "include the topology of CPUs and memory"),
	OPT_UINT(0, "workers", struct script_opts, workers, "N",
		 "number of threads (default: one per CPU)"),
	OPT_STR('s', "script", struct script_opts, script, "NAME",
		"Perl and Python scripts are not supported: sonde run takes bpftrace scripts, "
		"sonde export writes other tools' formats, script --json passes every sample to "
		"your own program, script -l lists "
		"what is built in",
		.refused = true),
	OPT_STR('g', "gen-script", struct script_opts, language, "LANGUAGE",
		"Perl and Python scripts are not supported: sonde run takes bpftrace scripts, "
		"sonde export writes other tools' formats, script --json passes every sample to "
		"your own program",
		.refused = true),
	OPT_FLAG('l', "list", struct script_opts, list,
		 "list built-in replacements for perf's scripts"),
	OPT_STR(0, "stop-bt", struct script_opts, stop_at, "LIST",
		"cut call chains at these functions"),
	OPT_FLAG('f', "force", struct script_opts, force,
		 "accepted; file ownership is never checked", .hidden = true),
	OPT_FLAG('d', "debug-mode", struct script_opts, force,
		 "accepted; lost and out-of-order records are always reported", .hidden = true),
	OPT_FLAG(0, "demangle-kernel", struct script_opts, force,
		 "accepted; kernel names need no demangling", .hidden = true),
	OPT_FLAG('a', "all-cpus", struct script_opts, force,
		 "For scripts that record: use sonde record -a", .refused = true),
	OPT_FLAG('L', "Latency", struct script_opts, force,
		 "Use sonde ftrace report --latency on a trace.dat", .refused = true),
	OPT_STR(0, "itrace", struct script_opts, itrace, "OPTS",
		"accepted for recordings without AUX traces (Intel PT and others), which are not "
		"decoded",
		.optional = true, .fallback = "", .hidden = true),
	OPT_STR(0, "insn-trace", struct script_opts, language, "HOW",
		"AUX traces (Intel PT and others) are not decoded", .optional = true,
		.refused = true),
	OPT_STR(0, "call-trace", struct script_opts, language,
		"HOW", "AUX traces are not decoded: sonde ftrace record -p function_graph records kernel calls",
		.optional = true, .refused = true),
	OPT_STR(0, "call-ret-trace", struct script_opts, language,
		"HOW", "AUX traces are not decoded: sonde ftrace record -p function_graph records kernel calls",
		.optional = true, .refused = true),
	OPT_STR(0, "graph-function", struct script_opts, language, "LIST",
		"For AUX traces, which are not decoded", .refused = true),
	OPT_STR(0, "xed", struct script_opts, language, "OPTS",
		"Instructions of samples are not shown: use sonde annotate", .optional = true,
		.refused = true),
	OPT_UINT(0, "max-blocks", struct script_opts, workers, "N",
		 "Code of branches is not shown: use -F brstacksym to name them", .refused = true),
	OPT_UINT(0, "addr-range", struct script_opts, workers, "N", "Use -S with function names",
		 .refused = true),
	OPT_STR(0, "dlfilter", struct script_opts, language, "FILE",
		"Filters in C are not supported: --json passes every sample to your own program",
		.refused = true),
	OPT_STR(0, "dlarg", struct script_opts, language, "ARGUMENT",
		"Filters in C are not supported: --json passes every sample to your own program",
		.refused = true),
	OPT_FLAG(0, "list-dlfilters", struct script_opts, force,
		 "Filters in C are not supported: --json passes every sample to your own program",
		 .refused = true),
	OPT_FLAG(0, "stitch-lbr", struct script_opts, force,
		 "LBR call stacks are shown as recorded", .refused = true),
	OPT_FLAG(0, "show-kernel-path", struct script_opts, force,
		 "use --header to see which kernel it was", .refused = true),
	OPT_FLAG(0, "guest-code", struct script_opts, force,
		 "Code that a hypervisor maps for its guest cannot be symbolised", .refused = true),
	CHOOSE_OPT_ROWS(struct script_opts, choose),
	GATE_OPT_ROWS(struct script_opts, gate),
	OPT_STR(0, "dsos", struct script_opts, dsos, "LIST", "only in these libraries"),
	OPT_STR('S', "symbols", struct script_opts, only, "LIST", "only in these functions"),
	SYMBOL_OPT_ROWS(struct script_opts, symbols),
	GUEST_OPT_ROWS(struct script_opts, symbols.guest),
	OPT_END(),
};

static const struct opt_example script_examples[] = {
	{ "script", "every sample of ./perf.data with its call chain" },
	{ "script -i FILE -F comm,tid,time,event", "only these fields" },
	{ "record -o - -a --no-buffering | sonde script -i -", "print while recording" },
	{ "script --comms make,cc1 --time 12.5,13", "only these commands, for half a second" },
	{ "script --show-task-events", "with forks, execs and exits between the samples" },
	{ "script --switch-on sched:sched_process_exec", "only samples after the first exec" },
	{ "script --per-event-dump", "perf.data.cycles.dump etc.: one file per event" },
	{ "script -F +srcline", "each frame with its source line" },
	{ "script -F -ip,-sym,-dso --reltime", "one line per sample, times starting at 0" },
	{ "script --json -F comm,tid,time,event,trace", "samples for your own program" },
	{ 0 },
};

static void script_defaults(void *opts)
{
	struct script_opts *o = opts;
	o->input = "perf.data";
	o->symbols.min_unnamed = SYMBOLS_MIN_UNNAMED;
}

struct script_call {
	struct app *app;
	const struct script_opts *opts;
	struct source *src;
	u32 *fields;
	bool *chains;
	struct choose choose;
	struct word_list dsos, symbols, stops;
	bool *shown; /* [frame]; NULL: all */
	bool *ends; /* [frame]: of a chain (--stop-bt); NULL: none */
	struct names *names;
	struct round round;
	struct diag said; /* in the rounds before */
	struct side_lines *side; /* lines about tasks and maps; NULL: none are wanted */
	struct text_samples_so_far so_far;
	bool listing; /* JSON: the bracket is open */
	u32 asked; /* of -F, of any event */
};

static bool listed(const struct word_list *l, const char *word)
{
	for (size_t i = 0; i < l->at.nr && word; i++)
		if (!strcmp(l->at.at[i], word))
			return true;
	return !l->at.nr;
}

/* Which places --dsos and --symbols want. */
static int choose_frames(struct script_call *s, const struct frame_table *frames,
			 const struct names_result *named)
{
	int err = choose_words(&s->choose, s->opts->dsos, &s->dsos);
	if (!err)
		err = choose_words(&s->choose, s->opts->only, &s->symbols);
	if (err || (!s->dsos.at.nr && !s->symbols.at.nr))
		return err;
	s->shown = calloc(frames->nr + 1, sizeof(*s->shown));
	if (!s->shown)
		return -ENOMEM;
	for (u32 i = 1; i < frames->nr; i++) {
		const struct image_info *image = &s->src->catalog.images.at[frames->frames[i].image];
		const char *name = named->funcs[named->func_of[i]].name;
		s->shown[i] = (listed(&s->dsos, image->name) || listed(&s->dsos, image->path)) &&
			      listed(&s->symbols, name);
	}
	return 0;
}

/* Where --stop-bt ends chains. */
static int choose_ends(struct script_call *s, const struct frame_table *frames,
		       const struct names_result *named)
{
	int err = choose_words(&s->choose, s->opts->stop_at, &s->stops);
	if (err || !s->stops.at.nr)
		return err;
	s->ends = calloc(frames->nr + 1, sizeof(*s->ends));
	if (!s->ends)
		return -ENOMEM;
	for (u32 i = 1; i < frames->nr; i++) {
		const char *name = named->funcs[named->func_of[i]].name;
		s->ends[i] = name && listed(&s->stops, name);
	}
	return 0;
}

static int choose_fields(struct script_call *s)
{
	const struct catalog *c = &s->src->catalog;
	s->fields = calloc(c->events.nr + 1, sizeof(*s->fields));
	s->chains = calloc(c->events.nr + 1, sizeof(*s->chains));
	if (!s->fields || !s->chains)
		return -ENOMEM;
	for (size_t i = 0; i < c->events.nr; i++)
		s->chains[i] = !s->opts->hide_chains &&
			       c->events.at[i].sample_type & PERF_SAMPLE_CALLCHAIN;
	return script_fields(&s->opts->fields, s->src, s->fields, &s->app->diag);
}

/* Whether -F asks for addresses of data that have names. */
static bool names_addresses(const struct script_call *s)
{
	if (!(s->asked & TEXT_ADDR))
		return false;
	vec_for_each (&s->src->catalog.events, e)
		if (text_names_addr(e))
			return true;
	return false;
}

/* What else a source has to deliver. */
static unsigned more_needs(const struct script_call *s)
{
	return (s->asked & TEXT_BRANCHES ? NEED_BRANCH : 0) |
	       (s->asked & TEXT_EXTRA ? NEED_EXTRA : 0) | (names_addresses(s) ? NEED_DATA : 0);
}

/* What the recording says of its clock and of its machine's registers. */
static void look_at_machine(const struct script_call *s, struct text_samples_opts *o)
{
	struct source_facts facts = source_facts(s->src);
	const struct arch *arch = facts.arch ? arch_of_name(facts.arch) : arch_host();
	if (arch) {
		o->reg_names = arch->perf_names;
		o->nr_reg_names = arch->nr_perf_names;
	}
	o->wall_ref_ns = facts.wall_ns;
	o->ref_ns = facts.clock_ns;
}

static struct dump_raw_opts dump_opts(const struct script_call *s)
{
	return (struct dump_raw_opts){ .src = s->src,
				       .path = s->opts->input,
				       .file_order = s->opts->dump_unsorted,
				       .has_handlers = true };
}

/* What comes between the samples: records as bytes, lines about tasks and maps. Each may be NULL. */
struct script_between {
	struct dump_raw *dump;
	struct side_lines *side;
	const struct catalog *catalog;
	const struct frame_table *frames;
};

static void print_between(void *ctx, struct sink *k, const struct sample *s, struct strbuf *to)
{
	struct script_between *b = ctx;
	if (b->dump) {
		u32 frame = s->nr_places ? s->places[0].frame : FRAME_NONE;
		dump_raw_sample(b->dump, s, &b->catalog->images.at[b->frames->frames[frame].image],
				to);
	}
	if (b->side)
		side_lines_until(b->side, k, s->time_ns, to);
}

static int open_between(struct script_call *s, struct script_between *b)
{
	const struct script_opts *so = s->opts;
	u32 show = (so->show_tasks ? SIDE_TASKS : 0) | (so->show_mmaps ? SIDE_MMAPS : 0) |
		   (so->show_lost ? SIDE_LOST : 0) | (so->show_switches ? SIDE_SWITCHES : 0) |
		   (so->show_namespaces ? SIDE_NAMESPACES : 0) |
		   (so->show_cgroups ? SIDE_CGROUPS : 0) | (so->show_bpf ? SIDE_BPF : 0);
	int err = 0;
	if (show && !s->app->json && !s->side)
		err = side_lines_new(&s->side, show);
	if (!err && s->side)
		err = side_lines_read(s->side, s->src, &s->choose.when);
	b->side = s->side;
	if (!err && so->dump) {
		struct dump_raw_opts o = dump_opts(s);
		err = dump_raw_new(&b->dump, &o);
	}
	return err;
}

static int close_between(struct script_call *s, struct script_between *b, struct sink *sink, int err)
{
	if (!err && b->side)
		side_lines_until(b->side, sink, s->round.until, &s->app->out);
	if (!err && b->dump)
		err = dump_raw_rest(b->dump, &s->app->out);
	dump_raw_free(b->dump);
	return err;
}

static int print_all(struct script_call *s, const struct run_tables *run,
		     const struct names_result *named)
{
	struct text_samples_opts o = {
		.so_far = &s->so_far,
		.fields = s->fields,
		.chains = s->chains,
		.nanoseconds = s->opts->nanoseconds,
		.reltime = s->opts->reltime,
		.deltatime = s->opts->deltatime,
		.when = s->choose.when,
		.who = s->choose.who,
		.max_stack = (u32)s->opts->max_stack,
		.full_path = s->opts->full_path,
		.shown = s->shown,
		.ends = s->ends,
		.json = s->app->json,
		.catalog = &s->src->catalog,
		.frames = &run->frames,
		.names = named,
	};
	look_at_machine(s, &o);
	const struct script_opts *so = s->opts;
	struct script_between between = { .catalog = &s->src->catalog, .frames = &run->frames };
	struct sink *sink = NULL;
	int err = open_between(s, &between);
	bool reads = source_facts(s->src).has_reads;
	if (between.side || between.dump) {
		o.before = print_between;
		o.before_ctx = &between;
	}
	bool in_turn = o.before || reads || sample_gate_used(&s->so_far.gate) || so->reltime ||
		       so->deltatime || s->asked & TEXT_DATA_SRC;
	struct event_files *dump = NULL;
	if (!err && so->per_event)
		err = event_files_open(&dump, &s->src->catalog, so->input, &s->app->diag);
	o.outs = event_files_outs(dump);
	if (!err)
		err = text_samples_new(&o, &s->app->out, &sink);
	if (err) {
		(void)!close_between(s, &between, NULL, err);
		return event_files_close(dump, err, s->app->title, &s->app->out, &s->app->diag);
	}
	sink->needs |= (reads ? NEED_READ : 0) | more_needs(s);
	strbuf_str(&s->app->out, s->app->json && !s->listing ? "[\n" : "");
	s->listing = true;
	err = stream_run_named(s->src, sink, in_turn ? 1 : (unsigned)so->workers, &run->frames,
			       &s->app->diag);
	err = close_between(s, &between, sink, err);
	text_samples_free(sink);
	return event_files_close(dump, err, s->app->title, &s->app->out, &s->app->diag);
}

static int print_head(struct script_call *s)
{
	bool later = s->src->ops->next_round || source_facts(s->src).head_grows;
	int err = later ? s->src->ops->prepare(s->src, 0, &s->app->diag) : 0;
	if (err)
		return err;
	return perf_header_text(s->src, s->opts->input, s->opts->header_full, &s->app->out);
}

static unsigned wanted_names(const struct script_call *s)
{
	unsigned want = symbols_want(&s->opts->symbols);
	bool chains = false;
	for (size_t i = 0; i < s->src->catalog.events.nr; i++) {
		chains |= s->chains[i] && s->fields[i] & TEXT_IP;
		if (s->fields[i] & TEXT_SRCLINE)
			want |= WANT_LINE;
	}
	want |= names_addresses(s) ? WANT_DATA : 0;
	return chains ? want : want & ~(unsigned)WANT_INLINE;
}

static void round_free(struct script_call *s)
{
	free(s->fields);
	free(s->chains);
	free(s->shown);
	free(s->ends);
	s->fields = NULL;
	s->chains = NULL;
	s->shown = NULL;
	s->ends = NULL;
	vec_free(&s->dsos.at);
	vec_free(&s->symbols.at);
	vec_free(&s->stops.at);
}

/* A look at the samples first, only to learn which frames there are; then they are printed, with names. */
struct script_look {
	struct sink sink;
	struct script_call *script;
};

/* Tasks that came with this round may fit, too. */
static int choose_again(struct script_call *s)
{
	choose_done(&s->choose);
	choose_init(&s->choose);
	return choose_parse(&s->choose, &s->opts->choose, s->src, &s->app->diag);
}

static int print_round(struct sink *k, const struct run_tables *run, const struct round *round)
{
	struct script_look *look = container_of(k, struct script_look, sink);
	struct script_call *s = look->script;
	struct names_result named;
	s->round = *round;
	int err = round->number ? choose_again(s) : 0;
	if (!err)
		err = choose_fields(s);
	if (!err)
		err = s->names->ops->resolve(s->names, &s->src->catalog, &run->frames,
					     wanted_names(s), &named);
	if (!err)
		err = choose_frames(s, &run->frames, &named);
	if (!err)
		err = choose_ends(s, &run->frames, &named);
	if (!err)
		err = print_all(s, run, &named);
	round_free(s);
	diag_join(&s->said, &s->app->diag); /* once, whatever many rounds found wrong */
	return err || round->last ? err : strbuf_flush(&s->app->out);
}

static int script_source(struct script_call *s)
{
	struct diag *d = &s->app->diag;
	struct sink base = look_sink(NEED_LEAF | NEED_FRAMES | more_needs(s));
	struct sink_ops ops = *base.ops;
	ops.round_done = print_round;
	struct script_look look = { .sink = { .ops = &ops, .needs = base.needs }, .script = s };
	struct run_tables run = { 0 };
	int err = stream_run(s->src, &look.sink, (unsigned)s->opts->workers, &run, d);
	diag_join(&s->said, d);
	diag_join(d, &s->said);
	if (!err && !s->so_far.any && !s->opts->per_event)
		choose_say_none(&s->opts->choose,
				s->opts->dsos	   ? "--dsos"
				: s->opts->only	   ? "--symbols"
				: s->opts->gate.on ? "--switch-on"
						   : NULL,
				s->src, d);
	if (!err && s->src->catalog.nr_lost)
		diag_warn(d, "%llu %s lost while recording",
			  (unsigned long long)s->src->catalog.nr_lost,
			  str_plural(s->src->catalog.nr_lost, "sample was", "samples were"));
	run_tables_done(&run);
	side_lines_free(s->side);
	return err;
}

/* What a trace.dat has not. */
static int check_trace(struct script_call *s)
{
	const struct script_opts *o = s->opts;
	const char *what = o->header || o->header_only	 ? "--header"
			   : o->dump || o->dump_unsorted ? "--dump-raw-trace"
			   : o->show_tasks		 ? "--show-task-events"
			   : o->show_mmaps		 ? "--show-mmap-events"
			   : o->show_lost		 ? "--show-lost-events"
			   : o->show_switches		 ? "--show-switch-events"
			   : o->show_namespaces		 ? "--show-namespace-events"
			   : o->show_cgroups		 ? "--show-cgroup-events"
			   : o->show_bpf		 ? "--show-bpf-events"
							 : NULL;
	return what ? recording_needs_perf(s->src, o->input, what, &s->app->diag) : 0;
}

/* Samples, counts, or nothing but records. */
static int print_recording(struct script_call *s)
{
	struct source_facts facts = source_facts(s->src);
	bool perf = facts.kind == SOURCE_PERF;
	if (s->opts->itrace && facts.has_aux) {
		(void)diag_error(&s->app->diag, -ENOTSUP,
				 "--itrace: the AUX trace of this recording cannot be decoded");
		diag_hint(&s->app->diag, "perf script --itrace can; 'sonde ftrace record -p "
					 "function_graph' records kernel calls");
		return -ENOTSUP;
	}
	bool counts = perf && count_lines_any(s->src);
	int err = 0;
	if (perf && (s->opts->dump_unsorted || (s->opts->dump && (counts || s->app->json)))) {
		struct dump_raw_opts o = dump_opts(s);
		err = dump_raw_all(&o, &s->app->out, &s->app->diag);
		if (s->opts->dump_unsorted || !counts)
			return err;
	}
	if (counts && !err)
		return count_lines(s->src, &s->app->out, &s->app->diag);
	return err ? err : script_source(s);
}

/* Everything of one source. *usage: what failed is a word that cannot be. */
static int script_opened(struct script_call *s, bool *usage)
{
	const struct script_opts *o = s->opts;
	struct kernel_list kernel = { .opts = &o->symbols, .src = s->src };
	int err = 0;
	choose_init(&s->choose);
	s->src->workers = (unsigned)o->workers;
	if (source_facts(s->src).kind == SOURCE_PERF)
		replay_perf_kallsyms(s->src, kernel_list_text, &kernel);
	else
		err = check_trace(s);
	if (!err && (o->header || o->header_only))
		err = print_head(s);
	if (!err && !o->header_only)
		err = s->src->ops->prepare(s->src, 0, &s->app->diag);
	if (!err && !o->header_only)
		err = choose_parse(&s->choose, &o->choose, s->src, &s->app->diag);
	if (!err && !o->header_only) {
		err = choose_gate(&o->gate, s->src, &s->so_far.gate, &s->app->diag);
		*usage = err;
	}
	if (!err && !o->header_only) {
		if (o->header_full && !o->header && source_facts(s->src).kind == SOURCE_PERF)
			perf_header_stream_text(s->src, &s->app->out);
		err = print_recording(s);
	}
	kernel_list_done(&kernel);
	choose_done(&s->choose);
	return err;
}

/* ---- a stream: lines come while it is recorded ---- */

static bool is_stream(const char *input)
{
	struct stat st;
	return !strcmp(input, "-") && !fstat(STDIN_FILENO, &st) &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

/* What cannot be told before the end. */
static bool needs_end(const struct script_opts *o)
{
	return o->header || o->header_only || o->header_full || o->dump || o->dump_unsorted ||
	       (o->choose.time && strchr(o->choose.time, '%'));
}

static void leave_to_recorder(int sig)
{
}

/* Ctrl-C is for all of the pipe: the recorder ends by it, and we with what it still sends. A second one is for us. */
static void outlive_recorder(void)
{
	struct sigaction sa = { .sa_handler = leave_to_recorder,
				.sa_flags = SA_RESTART | SA_RESETHAND };
	struct sigaction now;
	if (!sigaction(SIGINT, NULL, &now) && now.sa_handler == SIG_DFL)
		(void)sigaction(SIGINT, &sa, NULL);
}

static int script_stream(struct script_call *s, bool *usage)
{
	struct rounds_opts o = { .fd = STDIN_FILENO, .whole = needs_end(s->opts) };
	int err = rounds_open(&o, &s->src);
	if (err)
		return err;
	s->names = symbols_open(app_symbols(s->app), &s->opts->symbols);
	outlive_recorder();
	app_live(s->app);
	err = s->names ? symbols_unwind(app_symbols(s->app), s->src, &s->opts->symbols) : -ENOMEM;
	if (!err)
		err = script_opened(s, usage);
	if (s->names)
		s->names->ops->free(s->names);
	s->src->ops->close(s->src);
	return err;
}

static int script_file(struct script_call *s, bool *usage)
{
	const struct script_opts *o = s->opts;
	int err = recording_open_inputs(app_symbols(s->app), &o->inputs, o->input, RECORDING_EVENTS,
					&o->symbols, &s->src);
	if (err)
		return err;
	s->names = recording_names(app_symbols(s->app), s->src, &o->symbols);
	err = s->names ? script_opened(s, usage) : -ENOMEM;
	if (s->names)
		s->names->ops->free(s->names);
	s->src->ops->close(s->src);
	return err;
}

static int script_run(struct app *app, void *opts, int argc, char **argv)
{
	struct script_opts *o = opts;
	struct script_call s = { .app = app, .opts = o };
	if (o->list)
		return script_names_list(app);
	const char *input = recording_input(&o->inputs, o->input);
	int instead;
	if (script_names_run(app, input, argc, argv, &instead))
		return instead;
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[1]);
	o->input = recording_input(&o->inputs, o->input);
	if (argc == 1)
		o->input = argv[0];
	if (argc == 1 && o->inputs.items.nr > 1)
		return app_usage(app, "unexpected argument '%s': use -i for several files", argv[0]);
	if (o->per_event && (app->json || !strcmp(o->input, "-")))
		return app_usage(app, "--per-event-dump writes text files next to the input: %s",
				 app->json ? "JSON is not possible" : "standard input has no name");
	if (script_fields_asked(&o->fields, &s.asked, &app->diag))
		return app_usage_said(app);
	o->choose.sides_given = guest_opts_named(&o->symbols.guest);
	choose_sides(&o->choose, app);
	int status = choose_check(&o->choose, app);
	if (status)
		return status;
	bool usage = false;
	int err = is_stream(o->input) ? script_stream(&s, &usage) : script_file(&s, &usage);
	strbuf_str(&app->out, app->json && s.listing ? "\n]\n" : "");
	return usage ? app_usage_said(app) : err ? app_fail(app, err) : APP_DONE;
}

const struct command command_script = {
	.name = "script",
	.group = "Why",
	.summary = "print every sample of a recording",
	.usage = "[OPTIONS] [FILE]",
	.about = "Reads a perf.data file (ours or perf's) and prints its samples in time order, "
		 "each with its call chain. For a trace.dat it prints the events, with the stacks "
		 "recorded with them.",
	.examples = script_examples,
	.opts = script_rows,
	.opts_size = sizeof(struct script_opts),
	.defaults = script_defaults,
	.mixed_words = true,
	.run = script_run,
};
