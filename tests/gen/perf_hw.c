/*
 * Recordings of hardware that is not here: perf_hw branch|walk|lbr|mem|real|loads|wide|group PROGRAM ADDR FILE [swap] [data=ADDR]. Samples lie in a function
 * of PROGRAM at the file offset ADDR (hexadecimal); with branch stacks of every kind of entry, or with call stacks of branches (lbr), or with data addresses and where the data
 * came from: any bits at all (mem), or as a CPU sets them (real; loads: of an event of that name, with call chains), or with everything else that a sample can carry (wide), of accesses to
 * an object at the offset data=. group: three events with call chains, of two sockets, and what threads have counted.
 */
#include "gen/perfwrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PID = 4242, BASE = 0x400000, SAMPLES = 300 };

static u64 seed = 12345;

static u64 dice(u64 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

/* The task, the program that it runs, and the kernel below. */
static void add_program(struct perfwrite *w, const char *program)
{
	perfwrite_comm(w, PID, PID, "program", true, 0);
	perfwrite_mmap(
		w,
		&(struct perfwrite_map){
			.pid = PID, .addr = BASE, .len = 0x10000000, .name = program, .ino = 1 },
		0);
	perfwrite_kernel(w);
}

static void begin(struct perfwrite *w, const char *program, u64 sample_type, unsigned form,
		  const char *name)
{
	bool calls = sample_type & PERF_SAMPLE_CALLCHAIN;
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = 1000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | sample_type,
		.branch_sample_type = PERF_SAMPLE_BRANCH_USER | (calls ? PERF_SAMPLE_BRANCH_CALL_STACK
								       : PERF_SAMPLE_BRANCH_ANY),
		.sample_regs_user = 0xff01ff,
		.sample_regs_intr = 0x3c3,
		.sample_id_all = 1,
		.mmap = 1,
		.comm = 1,
	};
	perfwrite_begin(w, form);
	perfwrite_event(w, &a, (u64[]){ 11 }, 1, name);
	add_program(w, program);
}

static struct perfwrite_sample sample(u64 at, u32 i)
{
	return (struct perfwrite_sample){ .misc = PERF_RECORD_MISC_USER,
					  .ip = BASE + at + dice(4),
					  .time = 1000000 + 1000 * (u64)i,
					  .pid = PID,
					  .tid = PID,
					  .cpu = i % 2,
					  .period = 1000 + dice(3) };
}

/* Bit fields begin at the other end on a machine of the other kind. */
static u64 other_end(u64 flags)
{
	static const u8 at[] = { 0, 1, 2, 3, 4, 20, 24 }, bits[] = { 1, 1, 1, 1, 16, 4, 40 };
	u64 turned = 0;
	for (size_t i = 0; i < ARRAY_SIZE(at); i++)
		turned |= (flags >> at[i] & ((1ull << bits[i]) - 1)) << (64 - at[i] - bits[i]);
	return turned;
}

static void add_branches(struct perfwrite *w, u64 at, u32 i)
{
	u64 words[3 * 8];
	u64 nr = dice(8);
	for (u64 k = 0; k < nr; k++) {
		bool nowhere = !dice(10);
		words[3 * k] = nowhere ? 0x10 : BASE + at + dice(6);
		words[3 * k + 1] = dice(12) ? BASE + at + dice(2) : 0xffffffff81000000ull;
		u64 guess = dice(3); /* mispredicted, predicted, not told */
		words[3 * k + 2] = (guess < 2 ? 1ull << guess : 0) | (!dice(5)) << 2 |
				   (!dice(7)) << 3 | dice(3) * 17 << 4 | dice(12) << 20;
		if (w->form & PERFWRITE_SWAP)
			words[3 * k + 2] = other_end(words[3 * k + 2]);
	}
	struct perfwrite_sample s = sample(at, i);
	s.branches = words;
	s.nr_branches = nr;
	perfwrite_sample(w, 0, &s);
}

/* A walk through small functions one behind the other: blocks that a branch enters at one end and another one leaves at the other. */
static void add_walk(struct perfwrite *w, u64 at, u32 i)
{
	enum { STEPS = 8 };
	u64 words[3 * STEPS], to = BASE + at + 4 * dice(10);
	struct perfwrite_sample s = sample(at, i);
	for (u64 k = 0; k < STEPS; k++) { /* the newest branch comes first in a stack */
		u64 *entry = &words[3 * (STEPS - 1 - k)];
		u64 cycles = dice(12) ? 1 + dice(40) : 0;
		entry[0] = to + dice(3) * 4;
		to = dice(20) ? BASE + at + 4 * dice(10) : 0xffffffff81000000ull;
		entry[1] = to;
		entry[2] = 1ull << dice(2) | cycles << 4 | 1ull << 20;
		if (w->form & PERFWRITE_SWAP)
			entry[2] = other_end(entry[2]);
	}
	s.branches = words;
	s.nr_branches = STEPS;
	perfwrite_sample(w, 0, &s);
}

/* As --call-graph lbr records: the kernel's chain, then where the CPU was called from. */
static void add_calls(struct perfwrite *w, u64 at, u32 i)
{
	bool kernel = !dice(3);
	u64 words[3 * 6], nr = 1 + dice(5), chain[8], nr_chain = 0;
	struct perfwrite_sample s = sample(at, i);
	if (kernel) {
		s.misc = PERF_RECORD_MISC_KERNEL;
		s.ip = 0xffffffff81000100ull + dice(3);
		chain[nr_chain++] = (u64)PERF_CONTEXT_KERNEL;
		chain[nr_chain++] = s.ip;
		chain[nr_chain++] = 0xffffffff81000200ull;
	}
	chain[nr_chain++] = (u64)PERF_CONTEXT_USER;
	chain[nr_chain++] = kernel ? BASE + at : s.ip;
	for (u64 k = 0; k < nr; k++) {
		words[3 * k] = BASE + at + dice(20);
		words[3 * k + 1] = BASE + at + (k ? dice(20) : 0);
		words[3 * k + 2] = 0;
	}
	s.branches = words;
	s.nr_branches = nr;
	s.chain = chain;
	s.nr_chain = nr_chain;
	perfwrite_sample(w, 0, &s);
}

static u64 one_of(u64 bits)
{
	return 1ull << dice(bits);
}

/* Levels by bits and by number, what others had of the line, and the TLB. */
static u64 real_source(void)
{
	static const struct {
		u32 level, number, remote;
	} levels[] = {
		{ 8, 1, 0 },	{ 16, 12, 0 },	{ 32, 2, 0 },	 { 64, 3, 0 },
		{ 128, 13, 0 }, { 256, 13, 1 }, { 1024, 11, 1 }, { 4096, 10, 0 },
	};
	u64 which = dice(ARRAY_SIZE(levels)), luck = dice(5) ? 2 : 4;
	static const u8 snoops[] = { 1, 2, 4, 8, 16 };
	return 1ull << (1 + dice(2)) | (levels[which].level | luck) << 5 |
	       (u64)snoops[dice(5)] << 19 | (dice(3) ? 0ull : 2ull) << 24 |
	       (dice(2) ? 8ull | 2 : 16ull | 2) << 26 | (u64)levels[which].number << 33 |
	       (u64)levels[which].remote << 37 | 1ull << (40 + dice(3));
}

static void add_access(struct perfwrite *w, u64 at, u64 data, u32 i, bool real)
{
	struct perfwrite_sample s = sample(at, i);
	u64 chain[] = { (u64)PERF_CONTEXT_USER, s.ip, BASE + at + 8 };
	s.chain = chain;
	s.nr_chain = ARRAY_SIZE(chain);
	s.addr = BASE + (data ? data : at) + 64 * dice(4) + dice(64);
	s.weight = 5 + dice(6);
	s.phys_addr = dice(3) ? 0x100000 + 64 * dice(5) : 0;
	/* op 5, level 14, snoop 5, lock 2, tlb 7, level number 4, remote 1, snoopx 2, blocked 3, hops 3 */
	bool old = dice(2);
	u64 level = dice(3) ? one_of(3) | one_of(14) : 0, number = old ? 0 : dice(16);
	s.data_src = one_of(5) | level << 5 | (dice(4) ? one_of(5) : 0) << 19 | dice(4) << 24 |
		     (dice(4) ? one_of(3) | one_of(7) : 0) << 26 | number << 33 |
		     (old ? 0 : dice(2)) << 37 | (dice(3) ? 0 : dice(3)) << 38 |
		     (dice(3) ? 0 : one_of(3)) << 40 | (old ? 0 : dice(5)) << 43;
	if (real)
		s.data_src = real_source();
	perfwrite_sample(w, 0, &s);
}

static void add_wide(struct perfwrite *w, u64 at, u64 data, u32 i)
{
	static const u64 pages[] = { 0, 4096, 65536, 2 << 20, 1 << 30 };
	static const u64 transactions[] = {
		0,
		PERF_TXN_ELISION | PERF_TXN_SYNC,
		PERF_TXN_TRANSACTION | PERF_TXN_ASYNC | PERF_TXN_RETRY | PERF_TXN_CONFLICT,
		PERF_TXN_TRANSACTION | PERF_TXN_CAPACITY_WRITE | PERF_TXN_CAPACITY_READ,
		PERF_TXN_TRANSACTION | PERF_TXN_SYNC | 0xabull << PERF_TXN_ABORT_SHIFT,
	};
	u64 regs[64];
	for (size_t k = 0; k < ARRAY_SIZE(regs); k++)
		regs[k] = dice(4) ? dice(1 << 30) << 20 : k;
	struct perfwrite_sample s = sample(at, i);
	s.addr = dice(6) ? BASE + data + dice(200) : dice(2) ? 0xdeadbeef000 + dice(100) : 0;
	s.weight = (5 + dice(6)) | dice(3) * 7 << 32 | dice(4) * 9 << 48;
	s.data_src = real_source();
	s.phys_addr = 0x100000 + 64 * dice(5);
	s.data_page = pages[dice(ARRAY_SIZE(pages))];
	s.code_page = pages[dice(ARRAY_SIZE(pages))];
	s.transaction = transactions[dice(ARRAY_SIZE(transactions))];
	s.regs_user = regs;
	s.regs_intr = regs + 30;
	perfwrite_sample(w, 0, &s);
}

/* ---- a group of three events ---- */

enum { MEMBERS = 3, THREADS = 5 };
static const u64 member_ids[] = { 11, 12, 13 };

static void begin_group(struct perfwrite *w, const char *program, unsigned form)
{
	static const char *const names[] = { "cycles", "instructions", "branch-misses" };
	static const u64 configs[] = { PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
				       PERF_COUNT_HW_BRANCH_MISSES };
	perfwrite_begin(w, form);
	for (u32 i = 0; i < MEMBERS; i++) {
		struct perf_event_attr a = {
			.type = PERF_TYPE_HARDWARE,
			.config = configs[i],
			.sample_period = 1000,
			.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
				       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_IDENTIFIER,
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID,
			.sample_id_all = 1,
			.inherit_stat = 1,
			.mmap = !i,
			.comm = !i,
		};
		perfwrite_event(w, &a, &member_ids[i], 1, names[i]);
	}
	add_program(w, program);
}

static void add_member(struct perfwrite *w, u64 at, u32 i)
{
	u64 chain[8], nr = 2 + dice(6);
	/* One that opens now and then, and one that closes. */
	u32 member = dice(8) ? 0 : 1 + (u32)dice(2);
	struct perfwrite_sample s = sample(at, i);
	s.id = member_ids[member];
	s.tid = PID + (u32)dice(THREADS);
	s.period = 1000 * (member + 1) + dice(7);
	chain[0] = (u64)PERF_CONTEXT_USER;
	for (u64 k = 1; k < nr; k++)
		chain[k] = BASE + at + dice(80);
	s.ip = chain[1];
	s.chain = chain;
	s.nr_chain = nr;
	perfwrite_sample(w, member, &s);
}

/* A thread's counts of two CPUs, when it ends. */
static void add_counts(struct perfwrite *w, u32 i)
{
	for (u32 k = 0; k < 2 * MEMBERS; k++) {
		struct perfwrite_sample who = { .pid = PID,
						.tid = PID + 1 + i,
						.time = 2000000 + 100 * (u64)i + k,
						.cpu = k / MEMBERS,
						.id = member_ids[k % MEMBERS] };
		perfwrite_rec(w, PERF_RECORD_READ, 0);
		perfwrite_u32(w, who.pid);
		perfwrite_u32(w, who.tid);
		perfwrite_u64(w, dice(1000000) * (k + 1));
		perfwrite_u64(w, 5000); /* enabled, running */
		perfwrite_u64(w, 5000);
		perfwrite_u64(w, who.id);
		perfwrite_trailer(w, k % MEMBERS, &who);
		perfwrite_rec_end(w, 0);
	}
}

static void put_u32(struct strbuf *s, u32 v, unsigned form)
{
	v = form & PERFWRITE_SWAP ? __builtin_bswap32(v) : v;
	strbuf_add(s, &v, sizeof(v));
}

static void put_str(struct strbuf *s, const char *text, unsigned form)
{
	char room[64] = "";
	memcpy(room, text, strlen(text));
	put_u32(s, sizeof(room), form);
	strbuf_add(s, room, sizeof(room));
}

/* Two CPUs, each in a socket of its own; and that the events are a group. */
static void end_group(struct perfwrite *w, unsigned form)
{
	struct strbuf cpus, sockets, groups;
	strbuf_init(&cpus);
	strbuf_init(&sockets);
	strbuf_init(&groups);
	put_u32(&cpus, 2, form);
	put_u32(&cpus, 2, form);
	for (u32 list = 0; list < 2; list++) { /* cores that belong together, threads that do */
		put_u32(&sockets, 2, form);
		put_str(&sockets, "0", form);
		put_str(&sockets, "1", form);
	}
	for (u32 cpu = 0; cpu < 2; cpu++) {
		put_u32(&sockets, 0, form); /* core */
		put_u32(&sockets, cpu, form);
	}
	put_u32(&groups, 1, form);
	put_str(&groups, "{anon_group}", form);
	put_u32(&groups, 0, form);
	put_u32(&groups, MEMBERS, form);
	perfwrite_feature(w, FEAT_NRCPUS, cpus.data, cpus.len);
	perfwrite_feature(w, FEAT_CPU_TOPOLOGY, sockets.data, sockets.len);
	perfwrite_feature(w, FEAT_GROUP_DESC, groups.data, groups.len);
	strbuf_done(&cpus);
	strbuf_done(&sockets);
	strbuf_done(&groups);
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 1;
	bool branch = !strcmp(argv[1], "branch");
	bool wide = !strcmp(argv[1], "wide"), calls = !strcmp(argv[1], "lbr");
	bool walk = !strcmp(argv[1], "walk"), loads = !strcmp(argv[1], "loads");
	u64 at = strtoull(argv[3], NULL, 16), data = 0;
	unsigned form = 0;
	for (int i = 5; i < argc; i++) {
		form |= !strcmp(argv[i], "swap") ? PERFWRITE_SWAP : 0;
		data = strncmp(argv[i], "data=", 5) ? data : strtoull(argv[i] + 5, NULL, 16);
	}
	struct perfwrite w;
	bool group = !strcmp(argv[1], "group");
	if (group)
		begin_group(&w, argv[2], form);
	else
		begin(&w, argv[2],
		      calls	       ? PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_CALLCHAIN
		      : branch || walk ? PERF_SAMPLE_BRANCH_STACK
		      : wide ? PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC |
				       PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_TRANSACTION |
				       PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE |
				       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR
			     : PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
				       PERF_SAMPLE_PHYS_ADDR | (loads ? PERF_SAMPLE_CALLCHAIN : 0),
		      form, loads ? "cpu/mem-loads,ldlat=30/P" : "cycles");
	for (u32 i = 0; i < SAMPLES; i++)
		group	 ? add_member(&w, at, i)
		: calls	 ? add_calls(&w, at, i)
		: wide	 ? add_wide(&w, at, data, i)
		: branch ? add_branches(&w, at, i)
		: walk	 ? add_walk(&w, at, i)
			 : add_access(&w, at, loads ? data : 0, i, loads || *argv[1] == 'r');
	for (u32 i = 0; group && i < THREADS; i++)
		add_counts(&w, (i * 3 + 1) % THREADS);
	perfwrite_feature_str(&w, FEAT_HOSTNAME,
			      "nowhere"); /* perf knows the byte order of features by it */
	perfwrite_feature_str(&w, FEAT_ARCH, "x86_64");
	if (group)
		end_group(&w, form);
	if (branch || walk)
		perfwrite_feature(&w, FEAT_BRANCH_STACK, NULL, 0);
	perfwrite_end(&w);
	FILE *f = fopen(argv[4], "w");
	bool fine = f && fwrite(w.out.data, 1, w.out.len, f) == w.out.len;
	if (f && fclose(f))
		fine = false;
	perfwrite_done(&w);
	return !fine;
}
