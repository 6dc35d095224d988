/*
 * bpf/ on the running kernel, with programs assembled by hand: maps, begin, ring, tracepoints one by one and all system calls at once, a probe in
 * this program, a clock, what the verifier refuses. Without the right to use bpf(2) all of it is skipped.
 */
#include "tap.h"

#include "base/clock.h"
#include "bpf/account.h"
#include "bpf/actions.h"
#include "bpf/attach.h"
#include "bpf/map_view.h"
#include "bpf/ring.h"
#include "image/btf.h"
#include "kern/bpf_features.h"
#include "kern/bpf_sys.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSN(c, d, s, o, i)                                                                        \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV(d, i)	   INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOV_REG(d, s)	   INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ADD(d, i)	   INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define STORE(d, o, i)	   INSN(BPF_ST | BPF_MEM | BPF_DW, d, 0, o, i)
#define STORE_REG(d, o, s) INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define LOAD_MAP(d)	   INSN(BPF_LD | BPF_DW | BPF_IMM, d, 0, 0, 0), INSN(0, 0, 0, 0, 0)
#define CALL(f)		   INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_##f)
#define EXIT()		   INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

enum { MAP_COUNT, MAP_RING, MAP_NAMES };

static const struct program_type number = { .kind = PROGRAM_INT, .size = 8, .is_signed = true };
static const struct program_type count = { .kind = PROGRAM_COUNT, .size = 8 };
static const struct program_type place = { .kind = PROGRAM_PROBE_NAME, .size = 8 };
static struct sysroot root;

struct fixture {
	struct program p;
	struct loaded l;
	struct points points;
	struct attached attached;
	struct actions actions;
	struct strbuf out, err;
	struct diag d;
};

static void add_map(struct fixture *f, struct program_map m)
{
	*(struct program_map *)vec_push(&f->p.maps) = m;
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){ .p.config.max_probes = 2048 };
	diag_init(&f->d);
	strbuf_init(&f->out);
	strbuf_init(&f->err);
	add_map(f, (struct program_map){ .name = "@n",
					 .role = PROGRAM_MAP_USER,
					 .type = BPF_MAP_TYPE_PERCPU_ARRAY,
					 .key_size = 4,
					 .value_size = 8,
					 .max_entries = 1,
					 .key = &number,
					 .value = &count,
					 .is_scalar = true });
	add_map(f, (struct program_map){ .name = "ring",
					 .role = PROGRAM_MAP_RING,
					 .type = BPF_MAP_TYPE_RINGBUF,
					 .max_entries = 65536 });
	add_map(f, (struct program_map){ .name = "@names",
					 .role = PROGRAM_MAP_USER,
					 .type = BPF_MAP_TYPE_HASH,
					 .key_size = 8,
					 .value_size = 8,
					 .max_entries = 1024,
					 .key = &place,
					 .value = &number });
}

static void add_code(struct fixture *f, const struct bpf_insn *insns, u32 nr,
		     const struct program_reloc *relocs, u32 nr_relocs)
{
	struct program_code *c = vec_push(&f->p.codes);
	*c = (struct program_code){ .insns = (struct bpf_insn *)(uintptr_t)insns,
				    .nr = nr,
				    .relocs = relocs,
				    .nr_relocs = nr_relocs,
				    .name = "test" };
}

static void add_probe(struct fixture *f, struct program_probe probe)
{
	*(struct program_probe *)vec_push(&f->p.probes) = probe;
}

static int start(struct fixture *f)
{
	int rc = loaded_open(&f->l, &f->p, &root, NULL, &f->d);
	if (!rc)
		rc = points_open(&f->points, &f->p, &root, &(struct points_opts){ 0 }, &f->d);
	if (!rc)
		rc = attach_all(&f->attached, &f->l, &f->points, &(struct attach_opts){ 0 }, &f->d);
	if (rc) {
		struct strbuf s;
		strbuf_init(&s);
		diag_render(&f->d, "test", false, &s);
		printf("# %s\n", strbuf_cstr(&s));
		strbuf_done(&s);
	}
	f->actions =
		(struct actions){ .program = &f->p, .loaded = &f->l, .out = &f->out, .err = &f->err };
	return rc;
}

static void finish(struct fixture *f)
{
	attach_close(&f->attached);
	points_close(&f->points);
	loaded_close(&f->l);
	vec_free(&f->p.maps);
	vec_free(&f->p.codes);
	vec_free(&f->p.probes);
	vec_free(&f->p.actions);
	strbuf_done(&f->out);
	strbuf_done(&f->err);
	diag_done(&f->d);
}

/* @n += 1 on this CPU */
static const struct bpf_insn counts[] = {
	STORE(10, -8, 0),
	MOV_REG(2, 10),
	ADD(2, -8),
	LOAD_MAP(1),
	CALL(map_lookup_elem),
	INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0),
	INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 0, 0, 0),
	ADD(1, 1),
	STORE_REG(0, 0, 1),
	MOV(0, 0),
	EXIT(),
};
static const struct program_reloc counts_reloc = { .insn = 3, .map = MAP_COUNT };

static u64 counted(struct fixture *f)
{
	struct map_rows r;
	u64 v = UINT64_MAX;
	if (!map_rows_read(&r, &f->p.maps.at[MAP_COUNT], f->l.maps[MAP_COUNT], f->l.nr_cpus)) {
		memcpy(&v, r.values, sizeof(v));
		map_rows_done(&r);
	}
	return v;
}

/* A record of two numbers, then exit(). */
static const struct bpf_insn sends[] = {
	LOAD_MAP(1),
	MOV(2, 24),
	MOV(3, 0),
	CALL(ringbuf_reserve),
	INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 6, 0),
	STORE(0, 0, 0),
	STORE(0, 8, 42),
	STORE(0, 16, -1),
	MOV_REG(1, 0),
	MOV(2, 0),
	CALL(ringbuf_submit),
	MOV(0, 0),
	EXIT(),
};
static const struct program_reloc sends_reloc = { .insn = 0, .map = MAP_RING };

static void run_begin(void)
{
	static const struct program_field fields[] = { { .type = &number, .offset = 0 },
						       { .type = &number, .offset = 8 } };
	struct fixture f;
	begin(&f);
	add_code(&f, sends, ARRAY_SIZE(sends), &sends_reloc, 1);
	add_code(&f, counts, ARRAY_SIZE(counts), &counts_reloc, 1);
	add_probe(&f, (struct program_probe){ .provider = PROGRAM_BEGIN, .text = "begin" });
	add_probe(&f,
		  (struct program_probe){ .provider = PROGRAM_BEGIN, .text = "begin", .code = 1 });
	*(struct program_action *)vec_push(&f.p.actions) = (struct program_action){
		.kind = PROGRAM_PRINTF,
		.format = "%d and %d\n",
		.record = { .kind = PROGRAM_RECORD, .fields = fields, .nr = 2, .size = 16 }
	};
	ok(!start(&f), "begin probes are loaded");
	ok(!attach_run(&f.l, PROGRAM_BEGIN, NULL, &f.d), "and run");
	struct ring ring;
	ok(!ring_open(&ring, f.l.maps[MAP_RING], 65536), "the ring is mapped");
	struct pollfd pfd = { .fd = ring.fd, .events = POLLIN };
	ok(poll(&pfd, 1, 1000) == 1, "and can be polled");
	ok(!ring_drain(&ring, actions_record, &f.actions) && f.actions.nr_records == 1 &&
		   !strcmp(strbuf_cstr(&f.out), "42 and -1\n"),
	   "its record is printed: %s", strbuf_cstr(&f.out));
	ok(!ring_pending(&ring), "and consumed");
	/* More than the ring holds, in rounds. */
	u64 before = ring.nr_records;
	for (int i = 0; i < 10000; i++) {
		(void)!attach_run(&f.l, PROGRAM_BEGIN, NULL, &f.d);
		strbuf_reset(&f.out);
		(void)!ring_drain(&ring, actions_record, &f.actions);
	}
	ok(ring.nr_records - before == 10000, "records go round the ring");
	ring_close(&ring);
	ok(counted(&f) == 10001, "the second begin ran as often");
	ok(!map_clear(&f.p.maps.at[0], f.l.maps[0], f.l.nr_cpus) && !counted(&f),
	   "clear() sets a scalar to zero on all CPUs");
	struct account a;
	ok(!account_report(&f.l, &a, &f.d) && !a.ring_drops && !f.d.items.nr,
	   "nothing was lost, and nothing is said");
	finish(&f);
}

static void call_getppid(int times)
{
	for (int i = 0; i < times; i++)
		(void)syscall(SYS_getppid);
}

static void run_tracepoint(void)
{
	struct fixture f;
	begin(&f);
	add_code(&f, counts, ARRAY_SIZE(counts), &counts_reloc, 1);
	add_probe(&f, (struct program_probe){ .provider = PROGRAM_TRACEPOINT,
					      .text = "tracepoint:syscalls:sys_enter_getppid",
					      .target = "syscalls",
					      .name = "sys_enter_getppid" });
	ok(!start(&f), "a tracepoint is attached to");
	call_getppid(100);
	u64 v = counted(&f);
	ok(v >= 100 && v < 10000, "its program ran for each call: %llu", (unsigned long long)v);
	finish(&f);
	begin(&f);
	add_code(&f, counts, ARRAY_SIZE(counts), &counts_reloc, 1);
	add_probe(&f, (struct program_probe){ .provider = PROGRAM_TRACEPOINT,
					      .text = "tracepoint:syscalls:sys_enter_nosuch",
					      .target = "syscalls",
					      .name = "sys_enter_nosuch" });
	ok(start(&f) == -ENOENT && f.d.nr_errors == 1,
	   "a tracepoint that is not there is an error");
	loaded_close(&f.l);
	f.l = (struct loaded){ 0 };
	diag_done(&f.d);
	diag_init(&f.d);
	f.p.config.missing_probes = 1;
	ok(!start(&f) && !f.d.nr_errors && f.d.items.nr == 1, "or a warning, if wished");
	finish(&f);
}

/* @names[cookie] = 1 */
static const struct bpf_insn marks[] = {
	CALL(get_attach_cookie),
	STORE_REG(10, -8, 0),
	STORE(10, -16, 1),
	MOV_REG(2, 10),
	ADD(2, -8),
	MOV_REG(3, 10),
	ADD(3, -16),
	MOV(4, 0),
	LOAD_MAP(1),
	CALL(map_update_elem),
	MOV(0, 0),
	EXIT(),
};
static const struct program_reloc marks_reloc = { .insn = 8, .map = MAP_NAMES };

static bool has_place(struct fixture *f, const char *name)
{
	struct map_rows r;
	bool found = false;
	u32 nr;
	const char *const *places = points_places(&f->points, &nr);
	if (map_rows_read(&r, &f->p.maps.at[MAP_NAMES], f->l.maps[MAP_NAMES], f->l.nr_cpus))
		return false;
	for (u32 i = 0; i < r.nr; i++) {
		u64 v;
		memcpy(&v, r.keys + i * 8, sizeof(v));
		found |= v < nr && !strcmp(places[v], name);
	}
	map_rows_done(&r);
	return found;
}

/* All system calls go with one event, and each knows its name; calls that do not match do not count. */
static void run_syscalls(void)
{
	struct fixture f;
	begin(&f);
	add_code(&f, marks, ARRAY_SIZE(marks), &marks_reloc, 1);
	add_probe(&f, (struct program_probe){ .provider = PROGRAM_TRACEPOINT,
					      .text = "tracepoint:syscalls:sys_enter_get*",
					      .target = "syscalls",
					      .name = "sys_enter_get*",
					      .is_glob = true });
	u64 begun = clock_monotonic_ns();
	ok(!start(&f), "a wildcard of system calls is attached to");
	ok(f.points.at.nr > 8 && f.attached.fds.nr <= 2, "%zu points with %zu descriptors",
	   f.points.at.nr, f.attached.fds.nr);
	call_getppid(1);
	(void)syscall(SYS_close, -1);
	ok(has_place(&f, "tracepoint:syscalls:sys_enter_getppid"), "the call's own name is known");
	ok(!has_place(&f, ""), "a call that does not match is not counted");
	finish(&f);
	u64 took = clock_monotonic_ns() - begun;
	ok(took < 5 * NS_PER_SEC, "attached, run and gone in %llu ms",
	   (unsigned long long)(took / 1000000));
}

__attribute__((noinline)) int probed(int v);
__attribute__((noinline)) int probed(int v)
{
	__asm__ volatile("" : "+r"(v));
	return v + 1;
}

static void run_uprobe(void)
{
	struct fixture f;
	begin(&f);
	add_code(&f, counts, ARRAY_SIZE(counts), &counts_reloc, 1);
	add_code(&f, marks, ARRAY_SIZE(marks), &marks_reloc, 1);
	add_probe(&f, (struct program_probe){ .provider = PROGRAM_UPROBE,
					      .text = "uprobe:self:probed",
					      .target = "/proc/self/exe",
					      .name = "probed" });
	add_probe(&f, (struct program_probe){ .provider = PROGRAM_URETPROBE,
					      .text = "uretprobe:self:prob*d",
					      .target = "/proc/self/exe",
					      .name = "prob*d",
					      .is_glob = true,
					      .code = 1 });
	ok(!start(&f), "functions of this program are attached to");
	for (int i = 0; i < 10; i++)
		(void)probed(i);
	ok(counted(&f) == 10, "the entry was seen ten times");
	ok(has_place(&f, "uretprobe:/proc/self/exe:probed"), "the return knows its place");
	finish(&f);
}

static void run_timer(void)
{
	struct fixture f;
	begin(&f);
	add_code(&f, counts, ARRAY_SIZE(counts), &counts_reloc, 1);
	add_probe(&f, (struct program_probe){ .provider = PROGRAM_INTERVAL,
					      .text = "interval:ms:1",
					      .number = 1000000 });
	ok(!start(&f), "a clock is attached to");
	u64 end = clock_monotonic_ns() + 10 * NS_PER_SEC;
	while (counted(&f) < 5 && clock_monotonic_ns() < end)
		usleep(1000);
	ok(counted(&f) >= 5, "it ticks");
	finish(&f);
}

static void run_refused(void)
{
	static const struct bpf_insn reads_nothing[] = { MOV_REG(0, 7), EXIT() };
	static const u32 spans[] = { 8, UINT32_MAX };
	struct fixture f;
	begin(&f);
	add_code(&f, reads_nothing, ARRAY_SIZE(reads_nothing), NULL, 0);
	f.p.codes.at[0].spans = spans;
	add_probe(&f, (struct program_probe){ .provider = PROGRAM_BEGIN, .text = "begin" });
	int rc = loaded_open(&f.l, &f.p, &root, "begin { wrong }", &f.d);
	ok(!rc, "maps are made");
	const struct load_kind kind = { .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	rc = loaded_code(&f.l, &f.p.probes.at[0], &kind, &f.d);
	ok(rc == -EACCES && f.d.nr_errors == 1 && strstr(f.d.items.at[0].message, "R7 !read_ok") &&
		   f.d.items.at[0].start == 8,
	   "what the verifier refuses points into the script: %s",
	   f.d.items.nr ? f.d.items.at[0].message : "");
	loaded_close(&f.l);
	vec_free(&f.p.maps);
	vec_free(&f.p.codes);
	vec_free(&f.p.probes);
	strbuf_done(&f.out);
	strbuf_done(&f.err);
	diag_done(&f.d);
}

/* bpf_loop() takes a function, which needs types. */
static void run_loop(void)
{
	static const struct bpf_insn loops[] = {
		MOV(1, 7),
		INSN(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_FUNC, 0, 6),
		INSN(0, 0, 0, 0, 0),
		MOV(3, 0),
		MOV(4, 0),
		CALL(loop),
		MOV(0, 0),
		EXIT(),
		/* the callback: counts, then goes on */
		STORE(10, -8, 0),
		MOV_REG(2, 10),
		ADD(2, -8),
		LOAD_MAP(1),
		CALL(map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 0, 0, 0),
		ADD(1, 1),
		STORE_REG(0, 0, 1),
		MOV(0, 0),
		EXIT(),
	};
	static const struct program_reloc reloc = { .insn = 11, .map = MAP_COUNT };
	struct fixture f;
	begin(&f);
	add_code(&f, loops, ARRAY_SIZE(loops), &reloc, 1);
	add_probe(&f, (struct program_probe){ .provider = PROGRAM_BEGIN, .text = "begin" });
	ok(!start(&f), "a program with a callback is loaded");
	ok(!attach_run(&f.l, PROGRAM_BEGIN, NULL, &f.d) && counted(&f) == 7,
	   "its loop runs seven times");
	finish(&f);
}

static void batches(void)
{
	struct fixture f;
	begin(&f);
	ok(!loaded_open(&f.l, &f.p, &root, NULL, &f.d), "maps are made");
	for (u64 i = 0; i < 1000; i++)
		(void)!bpfsys_map_update(f.l.maps[MAP_NAMES], &i, &(u64){ i * 2 }, 0);
	struct map_rows r;
	int rc = map_rows_read(&r, &f.p.maps.at[MAP_NAMES], f.l.maps[MAP_NAMES], f.l.nr_cpus);
	ok(!rc && r.nr == 1000, "a thousand keys are read");
	u64 sum = 0;
	for (u32 i = 0; !rc && i < r.nr; i++) {
		u64 v;
		memcpy(&v, r.values + (size_t)i * 8, 8);
		sum += v;
	}
	ok(sum == 999 * 1000, "with their values");
	if (!rc)
		map_rows_done(&r);
	ok(!map_zero(&f.p.maps.at[MAP_NAMES], f.l.maps[MAP_NAMES], f.l.nr_cpus), "zeroed");
	u64 key = 7, value = 1;
	ok(!bpfsys_map_lookup(f.l.maps[MAP_NAMES], &key, &value) && !value, "values are zero");
	ok(!map_clear(&f.p.maps.at[MAP_NAMES], f.l.maps[MAP_NAMES], f.l.nr_cpus) &&
		   bpfsys_map_lookup(f.l.maps[MAP_NAMES], &key, &value) == -ENOENT,
	   "cleared");
	loaded_close(&f.l);
	vec_free(&f.p.maps);
	strbuf_done(&f.out);
	strbuf_done(&f.err);
	diag_done(&f.d);
}

/* The check for 32-bit programs before system calls reads thread_info.status where it is today. */
static void knows_status(void)
{
#ifdef __x86_64__
	struct strbuf bytes;
	struct btf b;
	struct btf_part part;
	strbuf_init(&bytes);
	if (sysroot_read(&root, "sys/kernel/btf/vmlinux", &bytes) ||
	    btf_open_memory(&b, bytes.data, bytes.len, NULL)) {
		skip("thread_info.status is where the check reads it", "no types of the kernel");
		strbuf_done(&bytes);
		return;
	}
	u32 id = btf_find(&b, "thread_info", BTF_BIT(BTF_OF_STRUCT), NULL);
	ok(id && !btf_find_member(&b, id, "status", &part) && part.bit_offset == 16 * 8,
	   "thread_info.status is where the check reads it");
	id = btf_find(&b, "task_struct", BTF_BIT(BTF_OF_STRUCT), NULL);
	ok(id && !btf_find_member(&b, id, "thread_info", &part) && !part.bit_offset,
	   "and task_struct begins with it");
	btf_close(&b);
	strbuf_done(&bytes);
#endif
}

/* A freshly booted machine may not have tracefs mounted yet. */
static bool has_tracepoints(void)
{
	static const char events[] = "/sys/kernel/tracing/events/syscalls";
	if (access(events, F_OK))
		(void)mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL);
	return !access(events, F_OK);
}

int main(void)
{
	if (sysroot_open(&root, NULL))
		return 1;
	if (bpfsys_feature_try(&root, BPF_FEATURE_RINGBUF)) {
		printf("1..0 # SKIP bpf(2) is not for us, or has no ring buffers here\n");
		return 0;
	}
	run_begin();
	batches();
	if (has_tracepoints()) {
		run_tracepoint();
		run_syscalls();
	} else {
		skip("tracepoints", "tracefs is not mounted and cannot be");
	}
	knows_status();
	run_uprobe();
	run_timer();
	run_refused();
	if (!bpfsys_feature_try(&root, BPF_FEATURE_LOOP))
		run_loop();
	else
		printf("# bpf_loop() is not here\n");
	sysroot_close(&root);
	return done_testing();
}
