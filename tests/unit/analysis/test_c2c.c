/* Shared cache lines: how accesses are counted by their sources, which lines and places there are, and their order. */
#include "analysis/c2c_lines.h"
#include "tap.h"

#include <stdio.h>

enum {
	OP_LOAD = 2,
	OP_STORE = 4,
	HIT = 2 << 5,
	MISS = 4 << 5,
	L1 = 8 << 5,
	L2 = 32 << 5,
	L3 = 64 << 5,
	LOCAL_RAM = 128 << 5,
	REMOTE_CACHE = 1024 << 5,
	SNOOP_HIT = 4 << 19,
	SNOOP_HITM = 16 << 19,
};
#define REMOTE	  (1ull << 37)
#define PEER	  (2ull << 38)
#define HOPS	  (1ull << 43)
#define DATA_BASE 0x1000ull

static struct shard shard;
static struct catalog cat;
static u32 code, data;
static void *state;

static s32 node_of_memory(const struct c2c_machine *m, u64 address)
{
	return address >> 20 ? -1 : (s32)(address >> 16);
}

static s32 nodes[] = { 0, 0, 1, 1 };
static const struct c2c_machine machine = {
	.nr_nodes = 2, .node_of = nodes, .nr_cpus = 4, .memory_node = node_of_memory
};

static struct c2c_lines *start(struct c2c_lines_env env)
{
	env.machine = &machine;
	if (!env.nr_keys)
		env.keys[env.nr_keys++] = C2C_IADDR;
	struct c2c_lines *c = c2c_lines_new(&env);
	struct sink *sink = c2c_lines_sink(c);
	ok(c && !sink->ops->shard_new(sink, 0, &shard, &state), "a worker");
	return c;
}

static void access_(struct c2c_lines *c, struct sample s)
{
	struct sink *sink = c2c_lines_sink(c);
	s.mode = FRAME_USER;
	s.leaf = code;
	s.data = data;
	if (s.addr) {
		/* The frame of the data, as a source finds it: an offset in the file. */
		s64 frame =
			frame_table_add(&shard.frames, (struct frame){ .offset = s.addr - DATA_BASE,
								       .image = 1,
								       .mode = FRAME_USER });
		s.data = (u32)frame;
	}
	if (sink->ops->feed(sink, state, &(struct batch){ .samples = &s, .nr = 1 }))
		abort();
}

static struct c2c_stats one(u64 src)
{
	struct c2c_lines *c = start((struct c2c_lines_env){ .show_all = true });
	struct c2c_result r;
	access_(c, (struct sample){ .addr = DATA_BASE, .data_src = src });
	ok(!c2c_lines_finish(c, &cat, &r), "finished");
	c2c_lines_free(c);
	return r.all;
}

static void sources(void)
{
	struct c2c_stats s = one(OP_LOAD | HIT | L3 | SNOOP_HITM);
	ok(s.load == 1 && s.lcl_hitm == 1 && s.tot_hitm == 1 && !s.ld_llchit,
	   "changed, in a cache of the same node");
	s = one(OP_LOAD | HIT | L3 | SNOOP_HIT);
	ok(s.ld_llchit == 1 && !s.tot_hitm, "not changed");
	s = one(OP_LOAD | HIT | REMOTE_CACHE | SNOOP_HITM);
	ok(s.rmt_hitm == 1 && s.tot_hitm == 1 && !s.rmt_hit, "changed, in a cache of another node");
	s = one(OP_LOAD | HIT | REMOTE_CACHE | SNOOP_HIT);
	ok(s.rmt_hit == 1 && !s.tot_hitm, "not changed there");
	s = one(OP_LOAD | MISS | SNOOP_HITM | REMOTE);
	ok(s.rmt_hitm == 1 && s.ld_miss == 1 && !s.rmt_dram, "the bit for remote, of a miss");
	s = one(OP_LOAD | HIT | SNOOP_HITM | REMOTE | HOPS);
	ok(!s.rmt_hitm && !s.rmt_dram, "with hops it says something else");
	s = one(OP_LOAD | HIT | L2 | PEER);
	ok(s.lcl_peer == 1 && s.tot_peer == 1 && s.ld_l2hit == 1, "answered by a peer");
	s = one(OP_LOAD | HIT | L1 | PEER);
	ok(!s.tot_peer && s.ld_l1hit == 1, "which the own L1 cannot be");
	s = one(OP_LOAD | HIT | REMOTE_CACHE | PEER);
	ok(s.rmt_peer == 1 && s.rmt_hit == 1, "by one of another node");
	s = one(OP_LOAD | HIT | LOCAL_RAM);
	ok(s.lcl_dram == 1 && s.ld_excl == 1 && !s.ld_shared, "memory, for us alone");
	s = one(OP_STORE | HIT | L1);
	ok(s.store == 1 && s.st_l1hit == 1 && !s.load, "a store");
	s = one(OP_STORE | MISS | L1);
	ok(s.st_l1miss == 1 && !s.st_l1hit, "that missed");
	s = one(1);
	ok(s.noparse == 1 && s.nr_entries == 1 && !s.load && !s.store, "neither");
}

static void no_address(void)
{
	struct c2c_lines *c = start((struct c2c_lines_env){ .show_all = true });
	struct c2c_result r;
	access_(c, (struct sample){ .data_src = OP_LOAD | HIT | L3 | SNOOP_HITM });
	access_(c, (struct sample){ .data_src = OP_STORE | HIT | L1 });
	ok(!c2c_lines_finish(c, &cat, &r), "finished");
	ok(r.all.ld_noaddr == 1 && r.all.st_noaddr == 1 && !r.all.tot_hitm && !r.all.st_l1hit &&
		   !r.all.nomap,
	   "without an address nothing else is counted");
	c2c_lines_free(c);
}

static void lines(void)
{
	enum { HITM = OP_LOAD | HIT | L3 | SNOOP_HITM };
	struct c2c_lines *c = start((struct c2c_lines_env){ .by_node = true });
	struct c2c_result r;
	/* One line with a hit, one with three at two places, one that nobody shares. */
	access_(c,
		(struct sample){
			.addr = DATA_BASE + 8, .ip = 1, .data_src = HITM, .weight = 10, .cpu = 0 });
	access_(c, (struct sample){ .addr = DATA_BASE + 64,
				    .ip = 2,
				    .data_src = HITM,
				    .weight = 40,
				    .cpu = 1,
				    .phys_addr = 0x64 });
	access_(c, (struct sample){ .addr = DATA_BASE + 64,
				    .ip = 2,
				    .data_src = HITM,
				    .weight = 60,
				    .cpu = 3,
				    .phys_addr = 0x10064 });
	access_(c, (struct sample){ .addr = DATA_BASE + 64 + 56,
				    .ip = 1,
				    .data_src = HITM,
				    .weight = 7,
				    .cpu = 2 });
	access_(c, (struct sample){ .addr = DATA_BASE + 64 + 56,
				    .ip = 9,
				    .data_src = OP_LOAD | HIT | L2,
				    .cpu = -1 });
	access_(c, (struct sample){ .addr = DATA_BASE + 256,
				    .ip = 1,
				    .data_src = OP_STORE | HIT | L1,
				    .cpu = 70 });
	ok(!c2c_lines_finish(c, &cat, &r), "finished");
	is_u64(r.nr_lines, 2, "lines that are shared");
	is_u64(r.nr_shared, 2, "as many as are counted");
	is_u64(r.shared.nr_entries, 5, "samples of theirs");
	is_u64(r.all.nr_entries, 6, "of all");
	is_u64(r.nr_no_cpu, 1, "one without a CPU");
	const struct c2c_entry *l = &r.lines[0], *p = &r.places[l->first];
	is_u64(l->address, DATA_BASE + 64, "the worst one first");
	is_u64(l->nr, 3, "its places");
	is_u64(c2c_cpu_count(l), 3, "its CPUs");
	ok(p[0].address == 0 && p[0].stats.lcl_hitm == 2 && p[0].shown, "the first offset");
	ok(p[1].address == 56 && p[1].iaddr == 1 && p[1].shown,
	   "then the next, what is worse first");
	ok(p[2].iaddr == 9 && !p[2].shown, "what does no harm is not shown");
	ok(p[0].lcl_hitm_cost.mean == 50 && p[0].lcl_hitm_cost.nr == 2, "what it cost");
	ok(p[0].mem_nodes == 3 && p[0].nr_paddrs == 2, "its memory");
	ok(p[0].nodes[0].lcl_hitm == 1 && p[0].nodes[1].lcl_hitm == 1, "what each node had");
	is_u64(r.lines[1].address, DATA_BASE, "then the other one");
	c2c_lines_free(c);
}

static void keys(void)
{
	enum { HITM = OP_LOAD | HIT | REMOTE_CACHE | SNOOP_HITM };
	struct c2c_lines *c = start(
		(struct c2c_lines_env){ .keys = { C2C_PID }, .nr_keys = 1, .display = C2C_REMOTE });
	struct c2c_result r;
	for (s32 i = 0; i < 6; i++)
		access_(c, (struct sample){ .addr = DATA_BASE + 8,
					    .ip = (u64)i,
					    .pid = 10 + i % 2,
					    .tid = i,
					    .data_src = HITM });
	ok(!c2c_lines_finish(c, &cat, &r), "finished");
	is_u64(r.nr_lines, 1, "one line");
	is_u64(r.lines[0].nr, 2, "a place for each process");
	ok(r.places[0].pid == 11 && r.places[0].stats.rmt_hitm == 3,
	   "the later one first, as with perf");
	c2c_lines_free(c);
	c = start((struct c2c_lines_env){ .display = C2C_PEER });
	access_(c, (struct sample){ .addr = DATA_BASE + 8, .data_src = HITM });
	ok(!c2c_lines_finish(c, &cat, &r) && !r.nr_lines && r.nr_shared == 1,
	   "nothing of what lines are ordered by");
	c2c_lines_free(c);
}

int main(void)
{
	struct image_info *image;
	if (catalog_init(&cat) || frame_table_init(&shard.frames))
		abort();
	while (cat.images.nr < 2)
		if (!(image = vec_push(&cat.images)))
			abort();
	cat.images.at[1].name = "prog";
	code = (u32)frame_table_add(
		&shard.frames, (struct frame){ .offset = 0x77, .image = 1, .mode = FRAME_USER });
	sources();
	no_address();
	lines();
	keys();
	frame_table_done(&shard.frames);
	catalog_done(&cat);
	return done_testing();
}
