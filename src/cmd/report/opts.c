#include "cmd/report/report.h"
#include "cmd/app/choose_opts.h"
#include "cmd/app/opt_rows.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

static int parse_percent(const char *word, double *ret)
{
	char *end;
	double v = strtod(word, &end);
	if (end == word || (*end && strcmp(end, "%")) || v < 0 || v > 100)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* A first number is the least percentage, a second one how many branches of a place are shown. */
static int graph_number(struct report_graph_opts *g, const char *word)
{
	if (!g->number_seen) {
		g->number_seen = true;
		if (parse_percent(word, &g->min_percent))
			return -EINVAL;
		g->percent_given = true;
		return 0;
	}
	char *end;
	unsigned long limit = strtoul(word, &end, 10);
	if (end == word || *end || limit > 1000000)
		return -EINVAL;
	g->limit = (u32)limit;
	return 0;
}

static int graph_word(struct report_graph_opts *g, const char *word, struct diag *d)
{
	static const struct {
		const char *word;
		enum text_tree_form form;
	} forms[] = { { "graph", TEXT_TREE_GRAPH },
		      { "fractal", TEXT_TREE_FRACTAL },
		      { "flat", TEXT_TREE_FLAT },
		      { "folded", TEXT_TREE_FOLDED } };
	static const struct {
		const char *word;
		enum text_tree_value value;
	} values[] = { { "percent", TEXT_TREE_PERCENT },
		       { "period", TEXT_TREE_PERIOD },
		       { "count", TEXT_TREE_COUNT } };
	g->off = !strcmp(word, "none");
	if (g->off)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (!strcmp(word, forms[i].word)) {
			g->form = forms[i].form;
			return 0;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		if (!strcmp(word, values[i].word)) {
			g->value = values[i].value;
			return 0;
		}
	}
	if (!strcmp(word, "caller") || !strcmp(word, "callee")) {
		g->order = word[5] == 'r' ? PROFILE_CALLER : PROFILE_CALLEE;
		g->order_given = true;
	} else if (!strcmp(word, "function") || !strcmp(word, "address")) {
		g->by_address = *word == 'a';
	} else if (!strcmp(word, "srcline")) {
		g->by_line = true;
	} else if (!strcmp(word, "branch")) {
		return diag_error(d, -EINVAL, "-g %s is not supported yet", word);
	} else if (graph_number(g, word)) {
		(void)diag_error(d, -EINVAL, "-g: unknown call graph option '%s'", word);
		diag_hint(d, "graph, fractal, flat, folded, none; caller, callee; function, "
			     "address, srcline; percent, period, count; a minimum percentage, then "
			     "the maximum number of branches per node");
		return -EINVAL;
	}
	return 0;
}

int report_graph_words(struct report_graph_opts *g, const char *value, struct diag *d)
{
	g->off = false;
	g->number_seen = false;
	while (value && *value) {
		char word[32];
		size_t len = strcspn(value, ",");
		if (len >= sizeof(word))
			return diag_error(d, -EINVAL, "-g: unknown call graph option '%s'", value);
		memcpy(word, value, len);
		word[len] = '\0';
		int err = len ? graph_word(g, word, d) : 0;
		if (err)
			return err;
		value += len + (value[len] == ',');
	}
	return 0;
}

/* What perf's settings say, which nobody asked for. */
static int graph_default(void *opts, const char *value, bool negated, struct diag *d)
{
	struct report_graph_opts *g = &((struct report_opts *)opts)->graph;
	int err = report_graph_words(g, negated ? NULL : value, d);
	g->off |= negated;
	return err;
}

static int graph_call(void *opts, const char *value, bool negated, struct diag *d)
{
	((struct report_opts *)opts)->graph.given = true;
	return graph_default(opts, value, negated, d);
}

/* For completion. */
static const char report_key_words[] =
	"comm pid tgid cpu socket time cgroup cgroup_id dso sym parent trace weight local_weight "
	"symbol_size dso_size srcline srcfile overhead overhead_children overhead_sys "
	"overhead_us sample period dso_from dso_to symbol_from symbol_to srcline_from "
	"srcline_to addr_from addr_to mispredict in_tx abort cycles mem snoop tlb locked "
	"blocked symbol_daddr dso_daddr dcacheline symbol_iaddr phys_daddr data_page_size "
	"addr code_page_size transaction ins_lat local_ins_lat p_stage_cyc "
	"local_p_stage_cyc";

const struct opt report_rows[] = {
	OPT_LIST('i', "input", struct report_opts, inputs, "FILE",
		 "recording to read (perf.data), or a trace.dat (several are merged by time); - "
		 "for standard input"),
	OPT_LIST('s', "sort", struct report_opts, sort, "KEYS",
		 "sort keys: comm pid tgid cpu socket time cgroup cgroup_id dso sym parent trace "
		 "weight local_weight symbol_size dso_size srcline srcfile overhead "
		 "overhead_children overhead_sys overhead_us overhead_guest_sys overhead_guest_us "
		 "sample period, or [EVENT.]FIELD of tracepoints; for branches: dso_from dso_to "
		 "symbol_from symbol_to srcline_from srcline_to addr_from addr_to mispredict in_tx "
		 "abort cycles; for memory accesses: mem snoop tlb locked blocked symbol_daddr "
		 "dso_daddr dcacheline symbol_iaddr phys_daddr data_page_size; for hardware: addr "
		 "code_page_size transaction ins_lat local_ins_lat p_stage_cyc local_p_stage_cyc; "
		 "+KEY adds to the default comm,dso,sym",
		 .words = report_key_words),
	OPT_STR('F', "fields", struct report_opts, fields, "KEYS",
		"output columns, which also determine the sort order; +KEY adds to the default",
		.words = report_key_words),
	OPT_FLAG(0, "branch-history", struct report_opts, branch_history,
		 "for branch stacks: the paths that led to each row, as call graphs by address"),
	OPT_FLAG(0, "total-cycles", struct report_opts, total_cycles,
		 "for branch stacks: basic blocks by sampled cycles"),
	OPT_CALL('g', "call-graph", "HOW",
		 "call graphs: graph|fractal|flat|folded|none, caller|callee, "
		 "function|address|srcline, percent|period|count, minimum percentage, maximum "
		 "branches",
		 graph_call, .optional = true, .greedy = true),
	OPT_CALL(0, "call-graph-default", "HOW", "same, if there are call chains", graph_default,
		 .hidden = true),
	OPT_FLAG('G', "inverted", struct report_opts, inverted, "same as -g caller"),
	OPT_FLAG(0, "children", struct report_opts, children,
		 "accumulate callees into callers (default when there are call chains)"),
	OPT_FLAG(0, "self-only", struct report_opts, no_children, "same as --no-children",
		 .hidden = true),
	OPT_FLAG('n', "show-nr-samples", struct report_opts, show_count,
		 "show the number of samples"),
	OPT_FLAG(0, "show-total-period", struct report_opts, show_period, "show the sum of periods"),
	OPT_FLAG(0, "showcpuutilization", struct report_opts, by_level,
		 "show the shares of kernel and user code"),
	OPT_FLAG(0, "show-cpu-utilization", struct report_opts, by_level, "same as above",
		 .hidden = true),
	OPT_FLAG('b', "branch-stack", struct report_opts, branches,
		 "show branches, if there are any (default); --no-branch-stack: samples"),
	OPT_FLAG(0, "mem-mode", struct report_opts, mem_mode,
		 "show memory accesses (record -d) by cost"),
	OPT_FLAG(0, "hierarchy", struct report_opts, hierarchy,
		 "nested rows: one level per key, keys in {braces} share a level"),
	OPT_FLAG(0, "group", struct report_opts, group,
		 "show events of a group side by side (default); --no-group: one after the other"),
	OPT_UINT(0, "group-sort-idx", struct report_opts, group_sort, "N",
		 "sort rows of a group by its event N, starting at 0 (the leader)"),
	OPT_STR(0, "percent-limit", struct report_opts, percent_limit, "PERCENT",
		"hide rows and call graph branches below this percentage"),
	OPT_STR(0, "percentage", struct report_opts, percentage, "relative|absolute",
		"what 100% means when rows are filtered: relative (what is shown) or absolute "
		"(everything, default)"),
	OPT_UINT(0, "max-stack", struct report_opts, max_stack, "N",
		 "show only N frames of call chains, starting where graphs begin"),
	OPT_STR(0, "time-quantum", struct report_opts, quantum, "TIME",
		"interval of --sort time: 10ms, 1s (100ms)"),
	OPT_FLAG(0, "ns", struct report_opts, nanoseconds,
		 "show times of --sort time in nanoseconds"),
	OPT_STR('p', "parent", struct report_opts, parent, "REGEX",
		"show the first caller that matches this regular expression"),
	OPT_FLAG('x', "exclude-other", struct report_opts, exclude_other,
		 "only rows with such a caller"),
	OPT_STR(0, "ignore-callees", struct report_opts, ignore_callees, "REGEX",
		"attribute everything called by matching functions to those functions"),
	OPT_STR('w', "column-widths", struct report_opts, widths, "WIDTHS",
		"column widths, separated by commas; 0: automatic"),
	OPT_STR('t', "field-separator", struct report_opts, separator, "SEP",
		"separate columns by SEP, without call graphs"),
	OPT_FLAG(0, "csv", struct report_opts, csv,
		 "comma-separated values, quoted where needed, with a header line"),
	OPT_FLAG(0, "header", struct report_opts, header,
		 "show where, when and how it was recorded before the table"),
	OPT_FLAG(0, "header-only", struct report_opts, header_only, "only that"),
	OPT_FLAG('I', "show-info", struct report_opts, header_full,
		 "include the topology of CPUs and memory"),
	OPT_FLAG('D', "dump-raw-trace", struct report_opts, dump,
		 "dump every record as hex and text instead of the table"),
	OPT_FLAG(0, "stats", struct report_opts, stats,
		 "show the number of records per type instead of the table"),
	OPT_FLAG(0, "tasks", struct report_opts, tasks,
		 "show the tree of tasks instead of the table"),
	OPT_FLAG(0, "mmaps", struct report_opts, mmaps, "same, with the memory maps of each task"),
	OPT_FLAG('T', "threads", struct report_opts, threads,
		 "show the counts of each thread below the table (record -s)"),
	OPT_STR(0, "pretty", struct report_opts, pretty, "normal|raw",
		"layout of --threads: one row per thread, or one count after the other"),
	OPT_FLAG(0, "full-source-path", struct report_opts, full_path,
		 "full paths of source files (--sort srcline, -g srcline)"),
	OPT_FLAG('q', "quiet", struct report_opts, quiet, "no comment lines above the table"),
	OPT_FLAG(0, "stdio", struct report_opts, stdio,
		 "plain text even on a terminal (instead of the browser)"),
	OPT_FLAG(0, "tui", struct report_opts, tui, "the browser (default on a terminal)"),
	OPT_FLAG(0, "raw-trace", struct report_opts, raw_trace,
		 "show tracepoint fields as plain numbers", .hidden = true),
	OPT_FLAG('f', "force", struct report_opts, force,
		 "accepted; file ownership is never checked", .hidden = true),
	OPT_FLAG('m', "modules", struct report_opts, force,
		 "accepted; module symbols are always read", .hidden = true),
	OPT_FLAG(0, "skip-empty", struct report_opts, force,
		 "accepted; events without samples are never shown", .hidden = true),
	OPT_FLAG(0, "disable-order", struct report_opts, force,
		 "accepted; a report does not depend on order, and -D keeps that of the file",
		 .hidden = true),
	OPT_UINT(0, "samples", struct report_opts, ignored_number, "N",
		 "accepted; the browser stores no samples per row", .hidden = true),
	OPT_STR(0, "stdio-color", struct report_opts, ignored, "WHEN",
		"accepted; text has no colours", .hidden = true, .optional = true),
	OPT_STR(0, "itrace", struct report_opts, ignored, "OPTS",
		"AUX traces (Intel PT and others) are not decoded", .optional = true,
		.refused = true),
	OPT_FLAG(0, "stitch-lbr", struct report_opts, force,
		 "LBR call stacks are shown as recorded", .refused = true),
	OPT_FLAG(0, "show-ref-call-graph", struct report_opts, force,
		 "Events without call chains have none: record all of them with -g", .refused = true),
	OPT_STR('M', "disassembler-style", struct report_opts, ignored, "STYLE",
		"For code: use sonde annotate -M", .refused = true),
	OPT_STR(0, "objdump", struct report_opts, ignored, "PATH",
		"For code: sonde annotate has a built-in disassembler", .refused = true),
	OPT_FLAG(0, "source", struct report_opts, force, "For code: use sonde annotate",
		 .refused = true),
	OPT_FLAG(0, "asm-raw", struct report_opts, force, "For code: use sonde annotate --asm-raw",
		 .refused = true),
	OPT_STR(0, "percent-type", struct report_opts, ignored, "TYPE",
		"For code: use sonde annotate --percent-type", .refused = true),
	OPT_STR(0, "prefix", struct report_opts, ignored, "PREFIX",
		"For source text: use sonde annotate", .refused = true),
	OPT_STR(0, "prefix-strip", struct report_opts, ignored, "N",
		"For source text: use sonde annotate", .refused = true),
	OPT_FLAG(0, "demangle-kernel", struct report_opts, force,
		 "accepted; kernel names need no demangling", .hidden = true),
	OPT_UINT(0, "workers", struct report_opts, workers, "N",
		 "number of threads (default: one per CPU)"),
	CHOOSE_OPT_ROWS(struct report_opts, choose),
	OPT_STR(0, "socket-filter", struct report_opts, socket, "N",
		"only samples from CPUs of this socket"),
	GATE_OPT_ROWS(struct report_opts, gate),
	OPT_STR('d', "dsos", struct report_opts, dsos, "LIST", "only in these libraries"),
	OPT_STR(0, "dso", struct report_opts, dsos, "LIST", "same as above", .hidden = true),
	OPT_STR('S', "symbols", struct report_opts, symbols_only, "LIST", "only in these functions"),
	OPT_STR(0, "symbol-filter", struct report_opts, symbol_part, "TEXT",
		"only rows whose symbol contains TEXT"),
	OPT_FLAG('U', "hide-unresolved", struct report_opts, hide_unresolved,
		 "hide rows without symbols"),
	SYMBOL_OPT_ROWS(struct report_opts, symbols),
	GUEST_OPT_ROWS(struct report_opts, symbols.guest),
	OPT_END(),
};

const struct opt_example report_examples[] = {
	{ "report", "the recording in ./perf.data" },
	{ "report -i FILE --no-children -g caller", "each function with the paths leading to it" },
	{ "report -g none --sort dso", "which libraries, without call graphs" },
	{ "report --sort cpu,comm --time 10%/2",
	  "who ran where in the second tenth of the recording" },
	{ "report --switch-on sched:sched_process_exec", "only samples after the first exec" },
	{ "report --no-children --ignore-callees malloc",
	  "malloc and everything it calls as one row" },
	{ "report --sort next_comm,next_pid", "tracepoint samples by field values" },
	{ "report --hierarchy --sort comm,dso,sym", "rows grouped level by level" },
	{ "report -i trace.dat",
	  "where kernel functions spent their time (ftrace record -p function_graph)" },
	{ "report --stats", "number of records per type" },
	{ "report --header-only", "where, when and how it was recorded" },
	{ "report --json -g none", "machine-readable output" },
	{ "report --csv -F overhead,sample,comm,sym", "for spreadsheets" },
	{ 0 },
};

void report_defaults(void *opts)
{
	struct report_opts *o = opts;
	o->input = "perf.data";
	o->children = true;
	o->branches = true;
	o->group = true;
	o->pretty = "normal";
	o->graph.min_percent = 0.5;
	o->symbols.min_unnamed = SYMBOLS_MIN_UNNAMED;
}

/* "--sort comm, dso, symbol" of old texts: a list that ends in a comma goes on in the next word. */
int report_take_sort(struct report_opts *o, int argc, char **argv)
{
	int taken = 0;
	while (taken < argc && o->sort.items.nr) {
		const char *last = o->sort.items.at[o->sort.items.nr - 1];
		if (!*last || last[strlen(last) - 1] != ',')
			break;
		const char **item = vec_push(&o->sort.items);
		if (!item)
			return -ENOMEM;
		*item = argv[taken++];
	}
	return taken;
}

/* All of --sort as one text: "-s comm -s dso" and "comm, dso" are lists like any other. */
int report_join_sort(struct report *r, struct strbuf *to)
{
	vec_for_each (&r->opts->sort.items, item)
		strbuf_printf(to, "%s%s", to->len ? "," : "", *item);
	if (r->opts->sort.items.nr)
		r->sort = strbuf_cstr(to);
	return to->err;
}

/* "10ms"; what has no unit is seconds. */
static int parse_quantum(const char *text, u64 *ret)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	char *end;
	double v = strtod(text, &end);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (end == text || strcmp(end, units[i].unit) || v <= 0 || v * units[i].ns > 1e18)
			continue;
		*ret = (u64)(v * units[i].ns);
		return *ret ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int check_regex(struct app *app, const char *option, const char *text)
{
	regex_t regex;
	if (!text)
		return 0;
	if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB))
		return app_usage(app, "%s: invalid regular expression '%s'", option, text);
	regfree(&regex);
	return 0;
}

/* Mistakes that can be told before the recording is opened. 0, or a usage status. */
int report_check(struct app *app, struct report *r)
{
	const struct report_opts *o = r->opts;
	if (o->percent_limit && parse_percent(o->percent_limit, &r->min_percent))
		return app_usage(app, "--percent-limit: invalid percentage '%s'", o->percent_limit);
	if (o->percentage && strcmp(o->percentage, "relative") && strcmp(o->percentage, "absolute"))
		return app_usage(app, "--percentage: expected relative or absolute, not '%s'",
				 o->percentage);
	if (o->quantum && parse_quantum(o->quantum, &r->cfg.quantum_ns))
		return app_usage(app, "--time-quantum: invalid time '%s' (expected e.g. 10ms)",
				 o->quantum);
	if (o->hierarchy && o->fields)
		return app_usage(app, "--hierarchy cannot be combined with --fields");
	if (strcmp(o->pretty, "normal") && strcmp(o->pretty, "raw"))
		return app_usage(app, "--pretty: expected normal or raw, not '%s'", o->pretty);
	char *end;
	if (o->socket && (!*o->socket || strtoul(o->socket, &end, 10) > INT32_MAX || *end))
		return app_usage(app, "--socket-filter: invalid socket number '%s'", o->socket);
	int status = check_regex(app, "--parent", o->parent);
	if (!status)
		status = check_regex(app, "--ignore-callees", o->ignore_callees);
	if (status)
		return status;
	return choose_check(&o->choose, app);
}
