#include "session/report.h"

#include "session/dump_raw.h"
#include "session/named_run.h"
#include "session/report_keys.h"
#include "session/side_tables.h"
#include "stream/replay_perf.h"
#include "view/tui_screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Branches that were asked for; not those that are a call stack (--call-graph lbr). */
static bool has_branches(const struct report *r)
{
	const struct catalog *c = &r->src->catalog;
	for (size_t i = 0; i < c->events.nr; i++)
		if (c->events.at[i].sample_type & PERF_SAMPLE_BRANCH_STACK &&
		    !(c->events.at[i].branch_type & PERF_SAMPLE_BRANCH_CALL_STACK))
			return true;
	return false;
}

static void configure(struct report *r)
{
	const struct report_opts *o = r->opts;
	struct profile_config *cfg = &r->cfg;
	bool chains = false;
	vec_for_each (&r->src->catalog.events, e)
		chains |= (e->sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
	bool history = o->branch_history && has_branches(r);
	cfg->branches = o->branches && !history && !o->mem_mode && has_branches(r);
	cfg->by_weight = o->mem_mode;
	cfg->workers = (unsigned)o->workers;
	chains = (chains && !cfg->branches) || history;
	if (!chains && o->graph.given && !o->graph.off) {
		diag_warn(r->tell.diag, "the recording has no call chains: no call graphs to draw");
		diag_hint(r->tell.diag, "record them: %s",
			  source_facts(r->src).kind == SOURCE_TRACE
				  ? "sonde ftrace record -T -e EVENT, or -p function_graph"
				  : "sonde record -g -- COMMAND");
	}
	bool with_callees = o->children && !o->no_children && !history && !o->mem_mode;
	cfg->children = chains && with_callees && !o->hierarchy;
	cfg->graph = chains && !o->graph.off && !o->separator && !o->csv;
	cfg->min_percent =
		o->percent_limit && !o->graph.percent_given ? r->min_percent : o->graph.min_percent;
	cfg->fractal = o->graph.form == TEXT_TREE_FRACTAL;
	cfg->count = o->graph.value == TEXT_TREE_COUNT;
	cfg->by_address = o->graph.by_address || history;
	cfg->by_line = o->graph.by_line;
	cfg->full_path = o->full_path;
	cfg->nanoseconds = o->nanoseconds;
	cfg->min_count = o->min_count;
	cfg->max_stack = (u32)o->max_stack;
	cfg->group_sort = (u32)min(o->group_sort, (u64)UINT32_MAX);
	cfg->order = o->graph.order_given	? o->graph.order
		     : o->inverted		? PROFILE_CALLER
		     : (chains && with_callees) ? PROFILE_CALLER
						: PROFILE_CALLEE;
	cfg->filter = (struct profile_filter){
		.choice = r->choose.when,
		.rows = r->choose.who,
		.dsos = r->dsos.at.at,
		.nr_dsos = r->dsos.at.nr,
		.symbols = r->symbols.at.at,
		.nr_symbols = r->symbols.at.nr,
		.symbol_part = o->symbol_part,
		.parent = o->parent,
		.only_with_parent = o->exclude_other,
		.ignore_callees = chains ? o->ignore_callees : NULL,
		.gate = r->gate,
		.hide_unresolved = o->hide_unresolved,
		.hide_kernel = o->hide_kernel,
		.hide_user = o->hide_user,
		.relative = o->percentage && !strcmp(o->percentage, "relative"),
	};
}

static bool elided(const struct report *r, enum profile_key key, const char **what,
		   const char **word)
{
	const struct {
		enum profile_key key;
		const char *name;
		const struct word_list *list;
	} lists[] = {
		{ PROFILE_KEY_COMM, "comm", &r->choose.comms },
		{ PROFILE_KEY_DSO, "dso", &r->dsos },
		{ PROFILE_KEY_SYM, "symbol", &r->symbols },
	};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (lists[i].key != key || lists[i].list->at.nr != 1)
			continue;
		*what = lists[i].name;
		*word = lists[i].list->at.at[0];
		return true;
	}
	return false;
}

/* At least one column with names remains. */
static bool elides(const struct report *r)
{
	const struct profile_config *c = &r->cfg;
	const char *what, *word;
	u32 names = 0, gone = 0;
	for (u32 i = 0; i < c->nr_fields; i++) {
		names += !profile_key_is_measure(c->fields[i].key);
		gone += elided(r, c->fields[i].key, &what, &word);
	}
	return gone < names;
}

/* They are told above the table, also where they have to remain. */
static int elide_columns(struct report *r)
{
	struct profile_config *c = &r->cfg;
	bool gone = elides(r);
	u32 kept = 0;
	for (u32 i = 0; i < c->nr_fields; i++) {
		struct elided line;
		bool here = elided(r, c->fields[i].key, &line.what, &line.word);
		if (here && !vec_push(&r->elided))
			return -ENOMEM;
		if (here)
			r->elided.at[r->elided.nr - 1] = line;
		if (!here || !gone)
			c->fields[kept++] = c->fields[i];
	}
	c->nr_fields = kept;
	return 0;
}

static bool has_key(const struct profile_config *cfg, enum profile_key key)
{
	for (u32 i = 0; i < cfg->nr_fields; i++)
		if (cfg->fields[i].key == key)
			return true;
	for (u32 i = 0; i < cfg->nr_sort; i++)
		if (cfg->sort[i].key == key)
			return true;
	return false;
}

/* Only POWER counts cycles of a pipeline's stages: elsewhere that column would be empty. */
static bool counts_stages(const struct report *r)
{
	const char *arch = source_facts(r->src).arch;
	return arch && !strncmp(arch, "ppc", 3);
}

static void drop_key(struct profile_field *list, u32 *nr, enum profile_key key)
{
	u32 kept = 0;
	for (u32 i = 0; i < *nr; i++)
		if (list[i].key != key)
			list[kept++] = list[i];
	*nr = kept;
}

static int set_keys(struct report *r)
{
	const struct report_opts *o = r->opts;
	struct report_keys k = {
		.labels = r->labels,
		.sort = r->sort,
		.usual = o->mem_mode				? report_mem_keys
			 : o->branch_history && has_branches(r) ? "srcline,symbol,dso"
			 : r->cfg.branches ? "comm,dso_from,symbol_from,symbol_to,cycles"
					   : o->usual_sort,
		.branches = r->cfg.branches,
		.fields = o->fields,
		.parent = o->parent || o->exclude_other,
		.by_level = o->by_level,
		.count = o->show_count,
		.period = o->show_period,
		.children = r->cfg.children,
	};
	int err = report_keys(&k, &r->src->catalog, &r->cfg, r->tell.diag);
	/* An address is the sample's: callers have none of their own. */
	if (!err && k.children && has_key(&r->cfg, PROFILE_KEY_ADDR)) {
		r->cfg.children = k.children = false;
		err = report_keys(&k, &r->src->catalog, &r->cfg, r->tell.diag);
	}
	for (u32 i = 0; i < r->cfg.nr_sort && !err && r->sort; i++) {
		if (profile_key_is_measure(r->cfg.sort[i].key))
			continue;
		r->own_first = r->cfg.sort[i].key == PROFILE_KEY_SYM;
		break;
	}
	if (o->mem_mode && !r->sort && !counts_stages(r)) {
		drop_key(r->cfg.sort, &r->cfg.nr_sort, PROFILE_KEY_LOCAL_STAGE_CYCLES);
		drop_key(r->cfg.fields, &r->cfg.nr_fields, PROFILE_KEY_LOCAL_STAGE_CYCLES);
	}
	for (u32 i = 0; i < r->cfg.nr_sort && o->raw_trace; i++)
		r->cfg.sort[i].raw = true;
	return err;
}

static int print_head_only(struct report *r)
{
	int err =
		source_facts(r->src).head_grows ? r->src->ops->prepare(r->src, 0, r->tell.diag) : 0;
	return err ? err : report_head(r);
}

/* Every record, then how many there were of each kind. */
static int print_dump(struct report *r)
{
	struct strbuf *to = r->tell.out;
	struct dump_raw_opts o = { .src = r->src, .path = r->opts->input };
	int err = report_head(r);
	if (!err)
		err = dump_raw_all(&o, to, r->tell.diag);
	return err ? err : side_tables_stats(r->src, to);
}

/* What needs no samples. */
int report_side(struct report *r)
{
	if (r->opts->header_only)
		return print_head_only(r);
	int err = r->src->ops->prepare(r->src, 0, r->tell.diag);
	if (err)
		return err;
	if (r->opts->dump)
		return print_dump(r);
	return r->opts->stats ? side_tables_stats(r->src, r->tell.out)
			      : side_tables_tasks(r->src, r->opts->mmaps, r->tell.out);
}

static bool wants_browser(const struct report *r)
{
	const struct report_opts *o = r->opts;
	bool plain = o->stdio || o->threads || o->separator || o->csv || o->header || o->quiet ||
		     r->tell.json || o->hierarchy || o->graph.form > TEXT_TREE_FRACTAL;
	return !plain && r->may_draw(r->ctx) && tui_possible();
}

static int show(struct report *r)
{
	if (r->tell.json)
		return report_json(r);
	int err = wants_browser(r) ? report_browse(r) : -ENOTTY;
	if (err == -ENOTTY && r->opts->tui)
		diag_warn(r->tell.diag, "no terminal to draw the browser on; printing plain text");
	return err == -ENOTTY ? report_text(r) : err;
}

/* What the keys need to know of places, besides names of functions. */
static unsigned wanted_names(const struct profile_config *cfg)
{
	static const enum profile_key lines[] = { PROFILE_KEY_SRCLINE, PROFILE_KEY_SRCFILE,
						  PROFILE_KEY_SRCLINE_FROM, PROFILE_KEY_SRCLINE_TO };
	unsigned want = cfg->by_address || cfg->by_line ? WANT_LINE : 0;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		want |= has_key(cfg, lines[i]) ? WANT_LINE : 0;
	if (has_key(cfg, PROFILE_KEY_SYM_DADDR) || has_key(cfg, PROFILE_KEY_DCACHELINE))
		want |= WANT_DATA;
	return want;
}

/* A socket's samples are those of its CPUs. */
static int choose_socket(struct report *r)
{
	const struct profile_env *env = &r->cfg.env;
	s32 socket = (s32)strtoul(r->opts->socket, NULL, 10), most = -1;
	for (u32 i = 0; i < env->nr_cpus; i++) {
		most = max(most, env->socket_of[i]);
		if (env->socket_of[i] != socket)
			continue;
		s32 *cpu = vec_push(&r->socket_cpus.at);
		if (!cpu)
			return -ENOMEM;
		*cpu = (s32)i;
	}
	if (!r->socket_cpus.at.nr) {
		static const s32 nobody[] = { -2 };
		diag_warn(r->tell.diag, "%s: no CPU of the recording is in socket %d",
			  r->labels->socket, socket);
		if (env->nr_cpus)
			diag_hint(r->tell.diag, "the highest is %d", most);
		else
			diag_hint(r->tell.diag,
				  "it does not say which CPU is in which socket: %s chooses CPUs",
				  r->labels->cpus);
		r->cfg.filter.rows.cpus = nobody;
		r->cfg.filter.rows.nr_cpus = 1;
		return 0;
	}
	r->cfg.filter.rows.cpus = r->socket_cpus.at.at;
	r->cfg.filter.rows.nr_cpus = r->socket_cpus.at.nr;
	return 0;
}

static int profile_source(struct report *r)
{
	r->profile = profile_new(&r->cfg);
	struct named_run run = { 0 };
	const struct named_run_opts how = {
		.symbols = r->names,
		.names = &r->opts->symbols,
		.want = symbols_want(&r->opts->symbols) | wanted_names(&r->cfg),
		.workers = sample_gate_used(&r->gate) ? 1 : (unsigned)r->opts->workers,
		.split_reads = true,
		.expand = true,
	};
	int err = r->profile ? named_run(&run, r->src, profile_sink(r->profile), &how) : -ENOMEM;
	if (!err)
		err = profile_fold(r->profile, &r->src->catalog, &run.tables, &run.named);
	r->is_empty = !err && profile_is_empty(r->profile);
	if (!err)
		err = show(r);
	if (!err && r->src->catalog.nr_lost)
		diag_warn(r->tell.diag, "%llu %s lost while recording",
			  (unsigned long long)r->src->catalog.nr_lost,
			  str_plural(r->src->catalog.nr_lost, "sample was", "samples were"));
	profile_free(r->profile);
	named_run_done(&run);
	return err;
}

static void warn_no_branches(struct report *r, const char *option, const char *how)
{
	diag_warn(r->tell.diag, "%s: the recording has no branch stacks: rows as without it",
		  option);
	diag_hint(r->tell.diag, "record them where the CPU can: sonde record %s", how);
}

/* Columns, order and filters, of a configured report. */
static int settle(struct report *r)
{
	const struct report_opts *o = r->opts;
	int err = set_keys(r);
	r->bad_keys = err == -EINVAL;
	if (err)
		return err;
	machine_env_init(&r->env, r->src);
	r->has_env = true;
	err = machine_env_read(&r->env, &r->cfg, o->socket != NULL);
	if (!err && o->socket)
		err = choose_socket(r);
	return err ? err : elide_columns(r);
}

int report_settle(struct report *r)
{
	configure(r);
	return settle(r);
}

unsigned report_wants(const struct report *r)
{
	return wanted_names(&r->cfg);
}

int report_samples(struct report *r)
{
	const struct report_opts *o = r->opts;
	configure(r);
	/* Events without a stack have no place: rows by it would be one row. */
	struct source_facts facts = source_facts(r->src);
	if (!r->sort && !o->fields && facts.kind == SOURCE_TRACE && !facts.has_chains)
		r->sort = "comm,trace";
	if (o->total_cycles && r->cfg.branches)
		return report_blocks(r);
	if (o->branch_history && !has_branches(r))
		warn_no_branches(r, r->labels->branch_history, "-b -g");
	if (o->total_cycles)
		warn_no_branches(r, r->labels->total_cycles, "-b");
	int err = settle(r);
	return err ? err : profile_source(r);
}

void report_done(struct report *r)
{
	if (r->has_env)
		machine_env_done(&r->env);
	choose_done(&r->choose);
	vec_free(&r->dsos.at);
	vec_free(&r->symbols.at);
	vec_free(&r->elided);
	vec_free(&r->socket_cpus.at);
}
