/*
 * Loads and stores of threads that share cache lines, on hardware that is not here: perf_c2c PROGRAM CODE DATA FILE [swap] [chains] [peer] [wild].
 * Samples lie in functions of PROGRAM at the file offset CODE (hexadecimal), and access an object at the offset DATA: three lines of it are
 * shared by threads of two processes on four CPUs of two nodes, one is not. Sources are as a CPU tells them; peer: as one that snoops its
 * peers, without HITM; wild: any bits.
 */
#include "gen/perfwrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PID = 4242, BASE = 0x400000, SAMPLES = 1200, CPUS = 4, NODES = 2, LINE = 64 };
static const u64 load_id = 21, store_id = 22;

static u64 seed = 4711;

static u64 dice(u64 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

struct story {
	struct perfwrite w;
	u64 code, data;
	bool chains, peer, wild;
};

/* ---- sources: op 0 (5 bits), level 5 (14), snoop 19 (5), lock 24 (2), tlb 26 (7), level's number 33 (4), remote 37, snoopx 38 (2) ---- */

enum { OP_LOAD = 2, OP_STORE = 4, HIT = 2, MISS = 4, LEVEL_L1 = 8, LEVEL_NONE = 1 };

static u64 load_source(const struct story *s)
{
	static const struct {
		u32 level, snoop, snoopx, remote;
	} usual[] = {
		{ 8, 2, 0, 0 },	   { 16, 2, 0, 0 },    { 32, 2, 0, 0 },	  { 64, 2, 0, 0 },  { 64, 16, 0, 0 },
		{ 64, 16, 0, 0 },  { 128, 4, 0, 0 },   { 128, 8, 0, 0 },  { 256, 8, 0, 0 }, { 1024, 4, 0, 0 },
		{ 1024, 16, 0, 0 }, { 0, 16, 0, 1 },   { 4096, 1, 0, 0 }, { 8192, 1, 0, 0 }, { 64, 4, 0, 0 },
	}, snooped[] = {
		{ 8, 2, 0, 0 },	  { 8, 2, 2, 0 },   { 32, 2, 2, 0 },   { 64, 2, 2, 0 },
		{ 128, 4, 0, 0 }, { 1024, 0, 2, 0 }, { 1024, 4, 0, 0 }, { 64, 2, 0, 0 },
	};
	u64 n = dice(s->peer ? ARRAY_SIZE(snooped) : ARRAY_SIZE(usual));
	u64 level = s->peer ? snooped[n].level : usual[n].level;
	u64 snoop = s->peer ? snooped[n].snoop : usual[n].snoop;
	u64 snoopx = s->peer ? snooped[n].snoopx : 0, remote = s->peer ? 0 : usual[n].remote;
	return OP_LOAD | (level | (dice(9) ? HIT : MISS)) << 5 | snoop << 19 |
	       (dice(6) ? 0ull : 2ull) << 24 | (8ull | HIT) << 26 | remote << 37 | snoopx << 38 |
	       (dice(7) ? 1ull : 2ull << dice(2)) << 40;
}

static u64 store_source(void)
{
	static const u64 levels[] = { LEVEL_L1 | HIT, LEVEL_L1 | HIT, LEVEL_L1 | MISS, LEVEL_NONE };
	return OP_STORE | levels[dice(ARRAY_SIZE(levels))] << 5 | 1ull << 19 |
	       (dice(6) ? 0ull : 2ull) << 24 | (8ull | HIT) << 26;
}

static u64 wild_source(void)
{
	return dice(32) | (dice(1 << 14)) << 5 | dice(32) << 19 | dice(4) << 24 | dice(128) << 26 |
	       dice(16) << 33 | dice(2) << 37 | dice(4) << 38 | dice(8) << 40 | dice(5) << 43;
}

/* ---- samples ---- */

static void add_access(struct story *st, u32 i)
{
	bool store = !dice(3);
	u64 thread = dice(4), line = dice(10) < 4 ? 0 : dice(3);
	u64 func = st->code + 16 * dice(3) + dice(3);
	u64 offset = line == 2 && !store ? 8 : 8 * (thread % 2 + 2 * dice(2));
	struct perfwrite_sample s = { .misc = PERF_RECORD_MISC_USER,
				      .ip = BASE + func,
				      .time = 1000000 + 1000 * (u64)i,
				      .pid = PID + 10 * (u32)(thread / 2),
				      .tid = PID + 10 * (u32)(thread / 2) + (u32)(thread % 2),
				      .cpu = (u32)(dice(5) ? thread : dice(CPUS)),
				      .period = 1000,
				      .id = store ? store_id : load_id,
				      .weight = store ? 0 : 30 + dice(300) };
	s.addr = BASE + st->data + LINE * line + offset;
	if (!dice(12)) /* a line that nobody shares */
		s.addr = BASE + st->data + LINE * 3 + 8 * thread;
	if (!dice(40)) /* no address; or one of no map, where the kernel's are not known either */
		s.addr = dice(2) ? 0 : 0x7000000000 + LINE * dice(3);
	if (!dice(25))
		s.addr = 0xffffffff81800000 + 8 * dice(4);
	s.phys_addr = dice(20) ? (line == 1 ? 0x100000 : 0x1000) + (s.addr & 0xfff) : 0;
	s.data_src = store ? store_source() : load_source(st);
	if (st->wild)
		s.data_src = wild_source();
	u64 chain[] = { (u64)PERF_CONTEXT_USER, s.ip, BASE + st->code + 16 * dice(3) + dice(2),
			BASE + st->code + 64 + dice(2) };
	if (st->chains) {
		s.chain = chain;
		s.nr_chain = ARRAY_SIZE(chain);
	}
	perfwrite_sample(&st->w, store, &s);
}

/* ---- the machine ---- */

static void put_u32(struct strbuf *s, u32 v, unsigned form)
{
	v = form & PERFWRITE_SWAP ? __builtin_bswap32(v) : v;
	strbuf_add(s, &v, sizeof(v));
}

static void put_u64(struct strbuf *s, u64 v, unsigned form)
{
	v = form & PERFWRITE_SWAP ? __builtin_bswap64(v) : v;
	strbuf_add(s, &v, sizeof(v));
}

static void put_str(struct strbuf *s, const char *text, unsigned form)
{
	char room[64] = "";
	memcpy(room, text, strlen(text));
	put_u32(s, sizeof(room), form);
	strbuf_add(s, room, sizeof(room));
}

static void add_machine(struct perfwrite *w, unsigned form)
{
	struct strbuf cpus, nodes, memory;
	strbuf_init(&cpus);
	strbuf_init(&nodes);
	strbuf_init(&memory);
	put_u32(&cpus, CPUS, form);
	put_u32(&cpus, CPUS, form);
	put_u32(&nodes, NODES, form);
	for (u32 i = 0; i < NODES; i++) {
		put_u32(&nodes, i, form);
		put_u64(&nodes, 1 << 20, form);
		put_u64(&nodes, 1 << 19, form);
		put_str(&nodes, i ? "2-3" : "0-1", form);
	}
	/* Blocks of 1 MB: the first one is node 0's, the second one node 1's. */
	put_u64(&memory, 1, form);
	put_u64(&memory, 1 << 20, form);
	put_u64(&memory, NODES, form);
	for (u32 i = 0; i < NODES; i++) {
		put_u64(&memory, i, form);
		put_u64(&memory, NODES, form);
		put_u64(&memory, NODES, form);
		put_u64(&memory, 1ull << i, form);
	}
	perfwrite_feature(w, FEAT_MEM_TOPOLOGY, memory.data, memory.len);
	strbuf_done(&memory);
	perfwrite_feature(w, FEAT_NRCPUS, cpus.data, cpus.len);
	perfwrite_feature(w, FEAT_NUMA_TOPOLOGY, nodes.data, nodes.len);
	strbuf_done(&cpus);
	strbuf_done(&nodes);
}

static void begin(struct story *s, const char *program, unsigned form)
{
	static const char *const names[] = { "cpu/mem-loads,ldlat=30/P", "cpu/mem-stores/P" };
	for (u32 i = 0; i < 2; i++) {
		struct perf_event_attr a = {
			.type = PERF_TYPE_RAW,
			.config = i ? 0x82d0 : 0x1cd,
			.sample_period = 1000,
			.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				       PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
				       PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_WEIGHT |
				       PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR |
				       (s->chains ? PERF_SAMPLE_CALLCHAIN : 0),
			.sample_id_all = 1,
			.mmap = !i,
			.comm = !i,
		};
		perfwrite_event(&s->w, &a, i ? &store_id : &load_id, 1, names[i]);
	}
	for (u32 i = 0; i < 2; i++) {
		u32 pid = PID + 10 * i;
		perfwrite_comm(&s->w, pid, pid, i ? "reader" : "writer", true, 0);
		perfwrite_comm(&s->w, pid, pid + 1, i ? "reader" : "writer", false, 0);
		perfwrite_mmap(&s->w,
			       &(struct perfwrite_map){ .pid = pid,
							.addr = BASE,
							.len = 0x10000000,
							.name = program,
							.ino = 1 },
			       0);
	}
	perfwrite_kernel(&s->w);
	(void)form;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 1;
	unsigned form = 0;
	struct story s = { .code = strtoull(argv[2], NULL, 16),
			   .data = strtoull(argv[3], NULL, 16) };
	for (int i = 5; i < argc; i++) {
		form |= !strcmp(argv[i], "swap") ? PERFWRITE_SWAP : 0;
		s.chains |= !strcmp(argv[i], "chains");
		s.peer |= !strcmp(argv[i], "peer");
		s.wild |= !strcmp(argv[i], "wild");
	}
	perfwrite_begin(&s.w, form);
	begin(&s, argv[1], form);
	for (u32 i = 0; i < SAMPLES; i++)
		add_access(&s, i);
	perfwrite_feature_str(&s.w, FEAT_HOSTNAME, "nowhere");
	perfwrite_feature_str(&s.w, FEAT_ARCH, "x86_64");
	add_machine(&s.w, form);
	perfwrite_end(&s.w);
	FILE *f = fopen(argv[4], "w");
	bool fine = f && fwrite(s.w.out.data, 1, s.w.out.len, f) == s.w.out.len;
	if (f && fclose(f))
		fine = false;
	perfwrite_done(&s.w);
	return !fine;
}
