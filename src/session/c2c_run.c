#include "session/c2c_run.h"

#include "analysis/c2c_graph.h"
#include "base/cpuset.h"
#include "file/perfdata_read.h"
#include "file/statdata.h"
#include "session/recording.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 1024, WORDS_MAX = 1 << 20 };

/* Blocks of memory that a node has: a bit each. */
struct memory_node {
	s32 node;
	u64 *words;
	u64 nr_words;
};

struct c2c_memory {
	struct c2c_machine *machine;
	u64 block_bytes;
	VEC(struct memory_node) nodes;
};

/* ---- the machine, as the recording describes it ------------------------------------------------------------------ */

static s32 memory_node(const struct c2c_machine *m, u64 address)
{
	const struct c2c_run *r = container_of(m, struct c2c_run, machine);
	u64 block = r->memory && r->memory->block_bytes ? address / r->memory->block_bytes : 0;
	if (!r->memory || !r->memory->block_bytes)
		return -1;
	vec_for_each (&r->memory->nodes, n)
		if (block / 64 < n->nr_words && n->words[block / 64] >> (block % 64) & 1)
			return n->node;
	return -1;
}

/* Version, size of a block, number of nodes; of each: its number, how many bits there are (twice), and they. */
static int read_memory(struct c2c_run *r, const struct perfdata *file)
{
	struct perfdata_feature f = file->features[FEAT_MEM_TOPOLOGY];
	struct bytes b = bytes_of(f.at, f.at ? f.size : 0, file->swap);
	bytes_skip(&b, 8);
	r->memory->block_bytes = bytes_u64(&b);
	for (u64 nr = bytes_u64(&b); nr && !b.bad && r->memory->nodes.nr < NODES_MAX; nr--) {
		struct memory_node n = { .node = (s32)bytes_u64(&b) };
		bytes_skip(&b, 8);
		n.nr_words = (bytes_u64(&b) + 63) / 64;
		if (b.bad || n.nr_words > WORDS_MAX || n.nr_words > bytes_left(&b) / 8)
			return 0;
		n.words = calloc(n.nr_words + 1, sizeof(*n.words));
		struct memory_node *to = n.words ? vec_push(&r->memory->nodes) : NULL;
		if (!to) {
			free(n.words);
			return -ENOMEM;
		}
		for (u64 i = 0; i < n.nr_words; i++)
			n.words[i] = bytes_u64(&b);
		*to = n;
	}
	return 0;
}

static int place_cpus(struct c2c_machine *m, const char *list, u32 node)
{
	struct cpuset cpus;
	if (!list || cpuset_parse_list(list, &cpus, NULL))
		return 0; /* it has none, or says nonsense */
	for (int cpu = cpuset_next(&cpus, 0); cpu >= 0; cpu = cpuset_next(&cpus, (unsigned)cpu + 1)) {
		if ((u32)cpu >= m->nr_cpus) {
			s32 *more = realloc(m->node_of, ((size_t)cpu + 1) * sizeof(*more));
			if (!more)
				return -ENOMEM;
			m->node_of = more;
			while (m->nr_cpus <= (u32)cpu)
				m->node_of[m->nr_cpus++] = -1;
		}
		m->node_of[cpu] = (s32)node;
	}
	return 0;
}

static int read_machine(struct c2c_run *r)
{
	const struct perfdata *file = replay_perf_file(r->src);
	struct machine m = { 0 };
	r->machine.memory_node = memory_node;
	r->memory = calloc(1, sizeof(*r->memory));
	int err = !r->memory ? -ENOMEM : file ? read_memory(r, file) : 0;
	if (!err && file)
		err = statdata_topology(file, &m);
	vec_for_each (&m.nodes, n) {
		if (err || n->node >= NODES_MAX)
			break;
		r->machine.nr_nodes = max(r->machine.nr_nodes, n->node + 1);
		err = place_cpus(&r->machine, n->cpus, n->node);
	}
	vec_free(&m.cpus);
	vec_free(&m.nodes);
	return err;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Without an address and what the hardware says of it, there is nothing to count. */
static int check_samples(struct c2c_run *r, const struct c2c_run_opts *o, struct diag *d)
{
	vec_for_each (&r->src->catalog.events, e)
		if (e->sample_type & PERF_SAMPLE_ADDR && e->sample_type & PERF_SAMPLE_DATA_SRC)
			return 0;
	(void)diag_error(d, -ENODATA, "%s: no samples of loads and stores", o->input);
	diag_hint(d, "record them with 'c2c record -- COMMAND', on hardware that samples memory "
		     "accesses");
	return -ENODATA;
}

static int run(struct c2c_run *r, struct symbols *sy, const struct c2c_run_opts *o)
{
	struct c2c_lines_env env = o->env;
	int err = recording_open(sy, o->input, RECORDING_EVENTS, &o->symbols, &r->src);
	if (!err)
		err = recording_needs_perf(r->src, o->input, "c2c", sy->diag);
	if (!err)
		err = read_machine(r);
	if (err)
		return err;
	named_run_begin(&r->run, r->src, recording_names(sy, r->src, &o->symbols));
	r->run.own_names = true;
	env.machine = &r->machine;
	r->lines = c2c_lines_new(&env);
	if (!r->run.names || !r->lines)
		return -ENOMEM;
	err = named_run_feed(&r->run, c2c_lines_sink(r->lines), 1, sy->diag);
	if (!err)
		err = check_samples(r, o, sy->diag);
	if (!err)
		err = c2c_lines_finish(r->lines, &r->src->catalog, &r->result);
	return err ? err : named_run_resolve(&r->run, WANT_SYMBOL | (o->lines ? WANT_LINE : 0));
}

int c2c_run(struct c2c_run *r, struct symbols *sy, const struct c2c_run_opts *o)
{
	*r = (struct c2c_run){ .outermost_first = o->outermost_first };
	arena_init(&r->labels);
	return run(r, sy, o);
}

bool c2c_run_has_chains(const struct c2c_run *r)
{
	return r->result.chain_start;
}

int c2c_run_graph(void *ctx, const struct c2c_entry *e, double min_percent, struct tree *t)
{
	struct c2c_run *r = ctx;
	const u32 *start = r->result.chain_start;
	struct c2c_graph_env env = { .chains = &r->run.tables.chains,
				     .names = &r->run.named,
				     .frames = &r->run.tables.frames,
				     .outermost_first = r->outermost_first,
				     .min_percent = min_percent,
				     .arena = &r->labels };
	return c2c_graph(t, r->result.chains + start[e->number],
			 start[e->number + 1] - start[e->number], &env);
}

void c2c_run_done(struct c2c_run *r)
{
	arena_done(&r->labels);
	named_run_done(&r->run);
	c2c_lines_free(r->lines);
	if (r->memory)
		vec_for_each (&r->memory->nodes, n)
			free(n->words);
	if (r->memory)
		vec_free(&r->memory->nodes);
	free(r->memory);
	free(r->machine.node_of);
	if (r->src)
		r->src->ops->close(r->src);
	*r = (struct c2c_run){ 0 };
}
