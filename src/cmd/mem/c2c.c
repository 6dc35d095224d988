/* `sonde c2c`: cache lines that CPUs take from each other, with the code that does, and what it costs. */
#include "base/json.h"
#include "cmd/app/commands.h"
#include "cmd/mem/mem.h"
#include "cmd/record/preset.h"
#include "cmd/report/report.h"
#include "session/c2c_run.h"
#include "view/text_c2c.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct c2c_opts {
	/* Of c2c report. */
	const char *input, *vmlinux, *coalesce;
	struct report_graph_opts graph;
	int display;
	unsigned node_info;
	bool stats, full_symbols, no_source, show_all, stdio, force, stitch;
	/* Of c2c record. */
	const char *kinds;
	u64 latency;
	bool only_user, only_kernel;
	struct record_opts record;
};

static void c2c_defaults(void *opts)
{
	struct c2c_opts *o = opts;
	o->input = "perf.data";
	o->coalesce = "iaddr";
	o->graph.min_percent = 0.5;
	o->graph.order = PROFILE_CALLEE;
	o->latency = MEM_LATENCY_DEFAULT;
}

/* ---- recording --------------------------------------------------------------------------------------------------- */

static int record_run(struct app *app, void *opts, int argc, char **argv)
{
	struct c2c_opts *o = opts;
	struct record_opts *r = &o->record;
	struct mem_events e;
	bool loads = true, stores = true;
	int err = mem_find_events(&e);
	if (err)
		return app_fail(app, err);
	if (!e.loads && !e.stores && !e.ibs)
		return mem_no_events(app);
	if (o->kinds && !strcmp(o->kinds, "list")) {
		mem_list_events(app, &e);
		return APP_DONE;
	}
	int status = o->kinds ? mem_choose_kinds(app, o->kinds, &loads, &stores) : 0;
	if (status)
		return status;
	if (!mem_use_events(&e, loads, stores, o->latency))
		return mem_no_events(app);
	r->live.weight = r->live.data_addr = r->live.sample_cpu = true;
	r->live.only_user |= o->only_user;
	r->live.only_kernel |= o->only_kernel;
	r->phys_data = true;
	return record_run_preset(
		app, r, &(struct record_preset){ .events = e.list, .sampled = true }, argc, argv);
}

/* ---- what a report is asked for ---------------------------------------------------------------------------------- */

static int parse_keys(struct app *app, const char *text, struct c2c_lines_env *env)
{
	static const char *const words[] = {
		[C2C_PID] = "pid", [C2C_TID] = "tid", [C2C_IADDR] = "iaddr", [C2C_DSO] = "dso"
	};
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ","), i = 0;
		while (i < ARRAY_SIZE(words) &&
		       (strlen(words[i]) != len || memcmp(words[i], at, len) != 0))
			i++;
		bool again = false;
		for (u32 k = 0; k < env->nr_keys; k++)
			again |= env->keys[k] == (enum c2c_key)i;
		if (i == ARRAY_SIZE(words))
			return app_usage(app, "-c: expected pid, tid, iaddr or dso, not '%.*s'",
					 (int)len, at);
		if (!again)
			env->keys[env->nr_keys++] = (enum c2c_key)i;
		at += len + (at[len] == ',');
	}
	return env->nr_keys ? 0 : app_usage(app, "-c: expected pid, tid, iaddr or dso");
}

static bool shows_source(const struct c2c_opts *o, const struct c2c_lines_env *env)
{
	bool code = false;
	for (u32 i = 0; i < env->nr_keys; i++)
		code |= env->keys[i] == C2C_IADDR;
	return code && !o->no_source && !o->stats;
}

static int take_node_info(void *opts, const char *value, bool negated, struct diag *d)
{
	struct c2c_opts *o = opts;
	o->node_info = negated ? 0 : o->node_info + 1;
	return 0;
}

/* perf: leaves first, unless the option is given. */
static int take_graph(void *opts, const char *value, bool negated, struct diag *d)
{
	struct c2c_opts *o = opts;
	if (negated) {
		o->graph.off = true;
		return 0;
	}
	o->graph.order = PROFILE_CALLER;
	return report_graph_words(&o->graph, value, d);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_stats(struct json *j, const char *name, const struct c2c_stats *s)
{
	const struct {
		const char *name;
		u32 value;
	} rows[] = {
		{ "records", s->nr_entries },
		{ "locked", s->locks },
		{ "loads", s->load },
		{ "loads_uncacheable", s->ld_uncache },
		{ "loads_io", s->ld_io },
		{ "loads_miss", s->ld_miss },
		{ "loads_no_address", s->ld_noaddr },
		{ "fill_buffer_hit", s->ld_fbhit },
		{ "l1_hit", s->ld_l1hit },
		{ "l2_hit", s->ld_l2hit },
		{ "llc_hit", s->ld_llchit },
		{ "local_hitm", s->lcl_hitm },
		{ "remote_hitm", s->rmt_hitm },
		{ "local_peer", s->lcl_peer },
		{ "remote_peer", s->rmt_peer },
		{ "remote_hit", s->rmt_hit },
		{ "local_dram", s->lcl_dram },
		{ "remote_dram", s->rmt_dram },
		{ "exclusive", s->ld_excl },
		{ "shared", s->ld_shared },
		{ "blocked_by_data", s->blk_data },
		{ "blocked_by_address", s->blk_addr },
		{ "stores", s->store },
		{ "stores_uncacheable", s->st_uncache },
		{ "stores_no_address", s->st_noaddr },
		{ "stores_l1_hit", s->st_l1hit },
		{ "stores_l1_miss", s->st_l1miss },
		{ "stores_no_level", s->st_na },
		{ "no_map", s->nomap },
		{ "unparsable", s->noparse },
	};
	json_key(j, name);
	json_object(j);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		json_put_u64(j, rows[i].name, rows[i].value);
	json_object_end(j);
}

static void put_hex(struct json *j, const char *name, u64 v)
{
	char text[24];
	(void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v);
	json_put_str(j, name, text);
}

static void put_cost(struct json *j, const char *name, const struct c2c_cost *c)
{
	if (c->nr)
		json_put_double(j, name, c->mean);
}

static void put_place(struct json *j, const struct c2c_run *r, const struct text_c2c_opts *o,
		      const struct c2c_entry *e, const bool *lined)
{
	const struct name_func *f = &r->run.named.funcs[r->run.named.func_of[e->leaf]];
	const struct catalog *cat = &r->src->catalog;
	json_object(j);
	json_put_u64(j, "offset", e->address);
	for (u32 i = 0; i < o->nr_keys; i++)
		switch (o->keys[i]) {
		case C2C_PID: json_put_s64(j, "pid", e->pid); break;
		case C2C_TID: json_put_s64(j, "tid", e->tid); break;
		case C2C_DSO: break;
		case C2C_IADDR:
			put_hex(j, "code_address", e->iaddr);
			if (f->name)
				json_put_str(j, "symbol", f->name);
			break;
		}
	if (e->code_image)
		json_put_str(j, "dso", cat->images.at[e->code_image].name);
	if (lined) {
		struct strbuf s;
		strbuf_init(&s);
		text_c2c_source(o, e, lined, &s);
		json_put_str(j, "source", strbuf_cstr(&s));
		strbuf_done(&s);
	}
	json_put_u64(j, "cpus", c2c_cpu_count(e));
	put_cost(j, "remote_hitm_cycles", &e->rmt_hitm_cost);
	put_cost(j, "local_hitm_cycles", &e->lcl_hitm_cost);
	put_cost(j, "remote_peer_cycles", &e->rmt_peer_cost);
	put_cost(j, "local_peer_cycles", &e->lcl_peer_cost);
	put_cost(j, "load_cycles", &e->load_cost);
	put_stats(j, "counts", &e->stats);
	json_object_end(j);
}

static void put_line(struct json *j, const struct c2c_run *r, const struct text_c2c_opts *o,
		     const struct c2c_entry *line, const bool *lined)
{
	json_object(j);
	put_hex(j, "address", line->address);
	json_put_double(j, "percent",
			text_c2c_share(c2c_measure(&line->stats, o->display), o->all_measure));
	struct strbuf s;
	strbuf_init(&s);
	text_c2c_memory_nodes(line->mem_nodes, &s);
	if (line->mem_nodes)
		json_put_str(j, "memory_nodes", strbuf_cstr(&s));
	strbuf_done(&s);
	json_put_u64(j, "cpus", c2c_cpu_count(line));
	put_stats(j, "counts", &line->stats);
	json_key(j, "places");
	json_array(j);
	for (u32 i = line->first; i < line->first + line->nr; i++)
		if (r->result.places[i].shown)
			put_place(j, r, o, &r->result.places[i], lined);
	json_array_end(j);
	json_object_end(j);
}

static int print_json(struct app *app, const struct c2c_run *r, const struct text_c2c_opts *o,
		      bool stats_only)
{
	struct json j;
	bool *lined = o->no_source ? NULL : names_lined_images(o->names, o->catalog, o->frames);
	if (!o->no_source && !lined)
		return -ENOMEM;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	put_stats(&j, "all", &r->result.all);
	json_put_u64(&j, "shared_lines", r->result.nr_shared);
	put_stats(&j, "shared", &r->result.shared);
	json_put_u64(&j, "lost", r->src->catalog.nr_lost);
	json_key(&j, "lines");
	json_array(&j);
	for (u32 i = 0; i < r->result.nr_lines && !stats_only; i++)
		put_line(&j, r, o, &r->result.lines[i], lined);
	json_array_end(&j);
	json_object_end(&j);
	free(lined);
	return json_end(&j);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static int print_text(struct app *app, const struct c2c_run *r, const struct text_c2c_opts *o,
		      bool stats_only)
{
	struct strbuf *to = &app->out;
	text_c2c_events(&r->result.all, to);
	strbuf_char(to, '\n');
	text_c2c_shared(&r->result.shared, r->result.nr_shared, to);
	strbuf_char(to, '\n');
	text_c2c_details(o, to);
	if (stats_only)
		return 0;
	strbuf_char(to, '\n');
	text_c2c_lines(o, r->result.lines, r->result.nr_lines, to);
	strbuf_char(to, '\n');
	return text_c2c_pareto(o, r->result.lines, r->result.nr_lines, r->result.places, to);
}

static void report_missed(struct app *app, const struct c2c_run *r, const struct c2c_opts *o)
{
	struct diag *d = &app->diag;
	if (!r->result.nr_lines && !o->stats) {
		diag_warn(d, "no cache line has enough of the loads that -d selects");
		diag_hint(d, r->result.shared.tot_peer && !r->result.shared.tot_hitm
				     ? "this CPU reports loads answered by peers, not modified "
				       "lines: use -d peer"
				     : "--show-all shows all lines");
	}
	if (r->result.nr_no_cpu)
		diag_warn(d, "%llu samples without a CPU: record with --sample-cpu",
			  (unsigned long long)r->result.nr_no_cpu);
	if (!r->machine.nr_nodes)
		diag_note(d, "the recording does not say which CPUs belong to which node");
	if (r->src->catalog.nr_lost)
		diag_warn(d, "%llu samples were lost", (unsigned long long)r->src->catalog.nr_lost);
}

static int report_run(struct app *app, void *opts, int argc, char **argv)
{
	struct c2c_opts *o = opts;
	struct c2c_run_opts ro = { .env = { .display = (enum c2c_display)o->display,
					    .show_all = o->show_all,
					    .by_node = o->node_info == 1 } };
	struct c2c_run r;
	struct strbuf grouping;
	app->diag.recorder = "c2c record -- COMMAND";
	int status = parse_keys(app, o->coalesce, &ro.env);
	if (status)
		return status;
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[1]);
	ro.input = argc ? argv[0] : o->input;
	ro.symbols.vmlinux = o->vmlinux;
	ro.lines = shows_source(o, &ro.env);
	ro.env.chains = !o->graph.off && !o->stats && !app->json;
	ro.outermost_first = o->graph.order == PROFILE_CALLER;
	strbuf_init(&grouping);
	strbuf_printf(&grouping, "offset,%s", o->coalesce);
	int err = c2c_run(&r, app_symbols(app), &ro);
	if (!err) {
		const struct c2c_result *res = &r.result;
		struct text_c2c_opts t = { .catalog = &r.src->catalog,
					   .names = &r.run.named,
					   .frames = &r.run.tables.frames,
					   .machine = &r.machine,
					   .display = ro.env.display,
					   .keys = ro.env.keys,
					   .nr_keys = ro.env.nr_keys,
					   .grouping = strbuf_cstr(&grouping),
					   .node_info = o->node_info,
					   .full_symbols = o->full_symbols,
					   .no_source = !ro.lines,
					   .all_measure = c2c_measure(&res->all, ro.env.display) };
		if (c2c_run_has_chains(&r)) {
			t.graph = c2c_run_graph;
			t.graph_ctx = &r;
			t.graph_percent = o->graph.min_percent;
			t.graph_style = (struct text_tree_style){ .form = o->graph.form,
								  .value = o->graph.value,
								  .limit = o->graph.limit };
		}
		report_missed(app, &r, o);
		err = app->json ? print_json(app, &r, &t, o->stats)
				: print_text(app, &r, &t, o->stats);
	}
	c2c_run_done(&r);
	strbuf_done(&grouping);
	return err ? app_fail(app, err) : APP_DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const char *const displays[] = { "tot", "lcl", "rmt", "peer", NULL };

/* clang-format off */
#define T struct c2c_opts
static const struct opt none_rows[] = {
	OPT_END(),
};
static const struct opt c2c_record_rows[] = {
	OPT_STR('e', "event", T, kinds, "KINDS", "ldlat-loads, ldlat-stores; 'list' shows what this CPU has"),
	OPT_UINT('l', "ldlat", T, latency, "CYCLES", "Only loads that took at least this many cycles (30)"),
	OPT_FLAG('u', "all-user", T, only_user, "User space only"),
	OPT_FLAG('k', "all-kernel", T, only_kernel, "Kernel only"),
	OPT_END(),
};
static const struct opt c2c_report_rows[] = {
	OPT_STR('i', "input", T, input, "FILE", "Read FILE (perf.data)"),
	OPT_ENUM('d', "display", T, display, "WHAT", "Order by loads that hit modified lines in other caches: all of them (tot), on the same node (lcl), on other nodes (rmt); or by loads that another cache answered (peer)", displays),
	OPT_STR('c', "coalesce", T, coalesce, "KEYS", "What distinguishes the rows of a line, besides the offset: pid, tid, iaddr, dso (default: iaddr)"),
	OPT_CALL('N', "node-info", NULL, "The share of each node in a row; given twice: its CPUs", take_node_info),
	OPT_FLAG(0, "stats", T, stats, "Only the totals of all accesses, and of accesses to shared lines"),
	OPT_FLAG(0, "full-symbols", T, full_symbols, "Do not shorten the names of functions"),
	OPT_FLAG(0, "no-source", T, no_source, "No column for source lines"),
	OPT_FLAG(0, "show-all", T, show_all, "Also lines with less than 0.05 % of the loads that lines are ordered by"),
	OPT_STR('k', "vmlinux", T, vmlinux, "FILE", "Kernel image (vmlinux or bzImage)"),
	OPT_CALL('g', "call-graph", "HOW", "How call graphs are drawn, as report -g (where there are chains: graph,0.5,callee); none: not at all", take_graph),
	OPT_FLAG(0, "stdio", T, stdio, "Accepted; it is always text", .hidden = true),
	OPT_FLAG('f', "force", T, force, "Accepted; file ownership is never checked", .hidden = true),
	OPT_FLAG(0, "stitch-lbr", T, stitch, "Accepted; LBR call stacks are shown as recorded", .hidden = true),
	OPT_END(),
};
#undef T
/* clang-format on */

static const struct opt_example record_examples[] = {
	{ "c2c record -- COMMAND", "loads and stores of a command" },
	{ "c2c record --ldlat 100 -- COMMAND", "loads that took 100 cycles and more" },
	{ 0 },
};
static const struct opt_example c2c_report_examples[] = {
	{ "c2c report", "which lines are shared, and who accesses which part of them" },
	{ "c2c report -NN -c pid,iaddr", "with the CPUs of each node, by process" },
	{ "c2c report -d peer", "by loads that another cache answered (arm64)" },
	{ 0 },
};
static const struct opt_example examples[] = {
	{ "c2c record -- COMMAND", "sample loads and stores" },
	{ "c2c report", "which cache lines CPUs take from each other" },
	{ 0 },
};

static const struct command command_c2c_record = {
	.name = "record",
	.summary = "sample loads and stores with address, cost and CPU",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about =
		"Samples what `sonde mem record` does, with physical addresses and CPUs. Takes all "
		"options of `sonde record` after its own.",
	.examples = record_examples,
	.opts = c2c_record_rows,
	.opts_size = sizeof(struct c2c_opts),
	.same_opts = true,
	.takes = &command_record,
	.takes_at = offsetof(struct c2c_opts, record),
	.run = record_run,
};

static const struct command command_c2c_report = {
	.name = "report",
	.summary = "cache lines that CPUs take from each other",
	.usage = "[OPTIONS] [FILE]",
	.about = "A load waits when another CPU's cache holds its line modified (HITM). Lines "
		 "are ordered by the number of such loads, and their parts by offset and code. "
		 "Different offsets of a line that different CPUs use, at least one of them "
		 "writing, are false sharing.",
	.examples = c2c_report_examples,
	.opts = c2c_report_rows,
	.opts_size = sizeof(struct c2c_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = report_run,
};

static const struct command *const subs[] = { &command_c2c_record, &command_c2c_report, NULL };

const struct command command_c2c = {
	.name = "c2c",
	.group = "Why",
	.summary = "cache lines that CPUs take from each other: false sharing",
	.usage = "COMMAND [OPTIONS]",
	.examples = examples,
	.opts = none_rows,
	.opts_size = sizeof(struct c2c_opts),
	.defaults = c2c_defaults,
	.subs = subs,
};
