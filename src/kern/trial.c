#include "kern/trial.h"

#include "base/clock.h"
#include "kern/cpu.h"
#include "kern/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/hw_breakpoint.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	RING_PAGES_SMALL = 8,
	RING_BYTES_RECORD = 512 << 10, /* what `record` asks for */
	SAMPLING_PERIOD_NS = 100000,
	SAMPLING_WAIT_NS = 50000000,
	BPF_INSN_RETURN_0 = 2,
};

static const char kprobe_function[] = "vfs_read";

static long sys_perf_open(struct perf_event_attr *attr, s32 pid, s32 cpu, int group_fd,
			  unsigned long flags)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
}

static long sys_bpf(int cmd, void *attr, unsigned size)
{
	return syscall(SYS_bpf, cmd, attr, size);
}

void trial_env_init(struct trial_env *e, const struct sysroot *root, const struct tracing *t,
		    const struct perf_rights *rights)
{
	*e = (struct trial_env){
		.root = root,
		.tracing = t,
		.user_only = !rights->perfmon && rights->paranoid > 1,
		.perf_open = sys_perf_open,
		.bpf = sys_bpf,
	};
}

/* ---- perf events ------------------------------------------------------------------------------------------------ */

static int open_event(const struct trial_env *e, struct perf_event_attr *a, s32 pid, s32 cpu)
{
	a->size = sizeof(*a);
	long fd = e->perf_open(a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

/* Opens, makes it happen, looks, closes. */
static void try_count(const struct trial_env *e, struct perf_event_attr *a, s32 pid, s32 cpu,
		      void (*happen)(void *ctx), void *ctx, struct trial *ret)
{
	_cleanup_close_ int fd = open_event(e, a, pid, cpu);
	ret->err = fd < 0 ? fd : 0;
	if (fd < 0 || !happen)
		return;
	u64 before = 0, after = 0;
	bool known = read(fd, &before, sizeof(before)) == sizeof(before);
	happen(ctx);
	known = known && read(fd, &after, sizeof(after)) == sizeof(after);
	ret->value = after - before;
	ret->unseen = known && after == before;
}

static struct perf_event_attr clock_attr(const struct trial_env *e)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = e->user_only,
		.exclude_hv = 1,
	};
}

static void work(void *ctx)
{
	for (volatile unsigned i = 0; i < 100000; i++)
		;
}

static void try_software(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = clock_attr(e);
	a.exclude_kernel = 1;
	try_count(e, &a, 0, -1, work, NULL, ret);
}

static void try_kernel(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = clock_attr(e);
	a.exclude_kernel = 0;
	try_count(e, &a, 0, -1, work, NULL, ret);
}

static void try_system_wide(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = clock_attr(e);
	struct cpuset online = { { 0 } };
	a.config = PERF_COUNT_SW_CPU_CLOCK;
	int cpu = cpu_online(e->root, &online) ? 0 : cpuset_next(&online, 0);
	try_count(e, &a, -1, max(cpu, 0), NULL, NULL, ret);
}

static void *map_ring(int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void unmap_ring(void *ring, size_t bytes)
{
	(void)munmap(ring, bytes + (size_t)sysconf(_SC_PAGESIZE));
}

static struct perf_event_attr sampling_attr(const struct trial_env *e)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SAMPLING_PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = e->user_only,
		.exclude_hv = 1,
	};
}

static void try_sampling(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = sampling_attr(e);
	_cleanup_close_ int fd = open_event(e, &a, 0, -1);
	ret->err = fd < 0 ? fd : 0;
	if (fd < 0)
		return;
	size_t bytes = RING_PAGES_SMALL * (size_t)sysconf(_SC_PAGESIZE);
	void *map = map_ring(fd, bytes);
	if (map == MAP_FAILED) {
		ret->err = -errno;
		return;
	}
	struct perf_event_mmap_page *ring = map;
	enum { SAMPLE_BYTES = sizeof(struct perf_event_header) + sizeof(u64) };
	u64 end = clock_monotonic_ns() + SAMPLING_WAIT_NS, head;
	do {
		work(NULL);
		head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	} while (head < 3 * SAMPLE_BYTES && clock_monotonic_ns() < end);
	ret->value = head / SAMPLE_BYTES;
	ret->unseen = !head;
	unmap_ring(map, bytes);
}

static void try_ring(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = sampling_attr(e);
	a.disabled = 1;
	_cleanup_close_ int fd = open_event(e, &a, 0, -1);
	ret->err = fd < 0 ? fd : 0;
	for (size_t bytes = RING_BYTES_RECORD; fd >= 0 && bytes >= 4096; bytes /= 2) {
		void *map = map_ring(fd, bytes);
		if (map != MAP_FAILED) {
			unmap_ring(map, bytes);
			ret->value = bytes;
			return;
		}
		ret->err = -errno;
	}
}

static struct perf_event_attr cycles_attr(const struct trial_env *e)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = e->user_only,
		.exclude_hv = 1,
	};
}

static void try_cycles(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = cycles_attr(e);
	try_count(e, &a, 0, -1, work, NULL, ret);
}

static void try_precise(const struct trial_env *e, struct trial *ret)
{
	for (unsigned level = 3; level; level--) {
		struct perf_event_attr a = cycles_attr(e);
		a.sample_period = 1000003;
		a.sample_type = PERF_SAMPLE_IP;
		a.precise_ip = level & 3;
		a.disabled = 1;
		try_count(e, &a, 0, -1, NULL, NULL, ret);
		ret->value = level;
		if (!ret->err)
			return;
	}
}

static void try_branches(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = cycles_attr(e);
	a.sample_period = 1000003;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	a.exclude_kernel = 1;
	a.disabled = 1;
	try_count(e, &a, 0, -1, NULL, NULL, ret);
}

static void try_regs_intr(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = sampling_attr(e);
	a.sample_type |= PERF_SAMPLE_REGS_INTR;
	a.sample_regs_intr = 1;
	a.disabled = 1;
	try_count(e, &a, 0, -1, NULL, NULL, ret);
}

static void call_getppid(void *ctx)
{
	(void)syscall(SYS_getppid);
}

static void try_tracepoint(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	u64 id;
	bool calls = true;
	int err = tracing_event_id(e->tracing, "raw_syscalls", "sys_enter", &id);
	if (err == -ENOENT && !e->tracing->err) { /* a kernel without system call events */
		calls = false;
		err = tracing_event_id(e->tracing, "sched", "sched_switch", &id);
	}
	if (err) {
		ret->err = err;
		return;
	}
	a.config = id;
	try_count(e, &a, 0, -1, calls ? call_getppid : NULL, NULL, ret);
}

static void write_word(void *word)
{
	*(volatile u32 *)word = 1;
}

static void try_breakpoint(const struct trial_env *e, struct trial *ret)
{
	u32 word __attribute__((aligned(8))) = 0;
	struct perf_event_attr a = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (u64)(uintptr_t)&word,
		.bp_len = HW_BREAKPOINT_LEN_4,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	try_count(e, &a, 0, -1, write_word, &word, ret);
}

/* ---- probes ----------------------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void trial_target(void *ctx)
{
	__asm__ volatile("" ::: "memory");
}

struct own_place {
	u64 address;
	u64 file_offset;
};

static int find_place(void *ctx, const struct proc_map *m)
{
	struct own_place *p = ctx;
	if (p->address < m->start || p->address >= m->end)
		return 0;
	p->file_offset = p->address - m->start + m->file_offset;
	return 1;
}

/* attr.type of a dynamic PMU; -ENOENT: this kernel has none. */
static int pmu_type(const struct trial_env *e, const char *path, u32 *ret)
{
	s64 v;
	int err = sysroot_s64(e->root, path, &v);
	if (!err)
		*ret = (u32)v;
	return err;
}

static void try_uprobe(const struct trial_env *e, struct trial *ret)
{
	char exe[PATH_MAX];
	struct procfs procfs;
	struct own_place place = { .address = (u64)(uintptr_t)trial_target };
	struct perf_event_attr a = { 0 };
	ret->err = pmu_type(e, "sys/bus/event_source/devices/uprobe/type", &a.type);
	if (ret->err)
		return;
	ssize_t n = readlinkat(e->root->dir_fd, "proc/self/exe", exe, sizeof(exe) - 1);
	if (n < 0) {
		ret->err = -errno;
		return;
	}
	exe[n] = '\0';
	procfs_init(&procfs, e->root);
	int found = procfs_maps(&procfs, (s32)getpid(), find_place, &place);
	procfs_done(&procfs);
	if (found <= 0) {
		ret->err = found ? found : -ESRCH;
		return;
	}
	a.config1 = (u64)(uintptr_t)exe;
	a.config2 = place.file_offset;
	try_count(e, &a, 0, -1, trial_target, NULL, ret);
}

static void read_null(void *ctx)
{
	char c;
	_cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!read(fd, &c, 1);
}

static void try_kprobe(const struct trial_env *e, struct trial *ret)
{
	struct perf_event_attr a = { .config1 = (u64)(uintptr_t)kprobe_function };
	ret->err = pmu_type(e, "sys/bus/event_source/devices/kprobe/type", &a.type);
	if (!ret->err)
		try_count(e, &a, 0, -1, read_null, NULL, ret);
}

/* ---- BPF -------------------------------------------------------------------------------------------------------- */

static int load_program(const struct trial_env *e, union bpf_attr *a)
{
	static const struct bpf_insn insns[BPF_INSN_RETURN_0] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	a->insns = (u64)(uintptr_t)insns;
	a->insn_cnt = BPF_INSN_RETURN_0;
	a->license = (u64)(uintptr_t) "GPL";
	long fd = e->bpf(BPF_PROG_LOAD, a, sizeof(*a));
	if (fd < 0)
		return -errno;
	(void)close((int)fd);
	return 0;
}

static void try_bpf_prog(const struct trial_env *e, struct trial *ret)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_TRACEPOINT;
	ret->err = load_program(e, &a);
}

static void try_bpf_ring(const struct trial_env *e, struct trial *ret)
{
	union bpf_attr a;
	memset(&a, 0, sizeof(a));
	a.map_type = BPF_MAP_TYPE_RINGBUF;
	a.max_entries = (u32)sysconf(_SC_PAGESIZE);
	long fd = e->bpf(BPF_MAP_CREATE, &a, sizeof(a));
	ret->err = fd < 0 ? -errno : 0;
	if (fd >= 0)
		(void)close((int)fd);
}

/* Bytes after the fixed part of a type; -1: a kind that came later. */
static s64 type_extra(u32 info)
{
	u32 kind = info >> 24 & 0x1f, nr = info & 0xffff;
	static const struct {
		u8 fixed, each;
	} sizes[] = {
		[1] = { 4, 0 },	 [2] = { 0, 0 },  [3] = { 12, 0 },  [4] = { 0, 12 },
		[5] = { 0, 12 }, [6] = { 0, 8 },  [7] = { 0, 0 },   [8] = { 0, 0 },
		[9] = { 0, 0 },	 [10] = { 0, 0 }, [11] = { 0, 0 },  [12] = { 0, 0 },
		[13] = { 0, 8 }, [14] = { 4, 0 }, [15] = { 0, 12 }, [16] = { 0, 0 },
		[17] = { 4, 0 }, [18] = { 0, 0 }, [19] = { 0, 12 },
	};
	if (!kind || kind >= ARRAY_SIZE(sizes))
		return -1;
	return sizes[kind].fixed + (s64)sizes[kind].each * (kind == 12 ? 0 : nr);
}

/* Layout: the kernel's Documentation/bpf/btf.rst. Types are numbered from 1 in the order they stand. */
u32 trial_function_id(const void *btf, size_t len, const char *function)
{
	struct {
		u16 magic;
		u8 version, flags;
		u32 head, types_at, types_len, names_at, names_len;
	} h;
	struct {
		u32 name, info, size;
	} t;
	enum { BTF_MAGIC = 0xeb9f, KIND_FUNC = 12 };
	if (len < sizeof(h))
		return 0;
	memcpy(&h, btf, sizeof(h));
	u64 types = (u64)h.head + h.types_at, names = (u64)h.head + h.names_at;
	if (h.magic != BTF_MAGIC || types + h.types_len > len || names + h.names_len > len ||
	    !h.names_len)
		return 0;
	const char *name = (const char *)btf + names;
	size_t want = strlen(function) + 1;
	u64 at = types, end = types + h.types_len;
	for (u32 id = 1; at + sizeof(t) <= end; id++) {
		memcpy(&t, (const char *)btf + at, sizeof(t));
		s64 extra = type_extra(t.info);
		if (extra < 0)
			return 0;
		if ((t.info >> 24 & 0x1f) == KIND_FUNC && t.name < h.names_len &&
		    h.names_len - t.name >= want && !memcmp(name + t.name, function, want))
			return id;
		at += sizeof(t) + (u64)extra;
	}
	return 0;
}

static void try_fentry(const struct trial_env *e, struct trial *ret)
{
	union bpf_attr a;
	struct strbuf btf;
	strbuf_init(&btf);
	ret->err = sysroot_read(e->root, "sys/kernel/btf/vmlinux", &btf);
	u32 id = ret->err ? 0 : trial_function_id(btf.data, btf.len, kprobe_function);
	strbuf_done(&btf);
	if (!id) {
		ret->err = ret->err ? ret->err : -ENOENT;
		return;
	}
	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_TRACING;
	a.expected_attach_type = BPF_TRACE_FENTRY;
	a.attach_btf_id = id;
	ret->err = load_program(e, &a);
}

void trial_run(const struct trial_env *e, enum trial_kind kind, struct trial *ret)
{
	static void (*const rows[TRIAL_NR])(const struct trial_env *, struct trial *) = {
		[TRIAL_SOFTWARE] = try_software,
		[TRIAL_KERNEL] = try_kernel,
		[TRIAL_SYSTEM_WIDE] = try_system_wide,
		[TRIAL_SAMPLING] = try_sampling,
		[TRIAL_RING] = try_ring,
		[TRIAL_CYCLES] = try_cycles,
		[TRIAL_PRECISE] = try_precise,
		[TRIAL_BRANCHES] = try_branches,
		[TRIAL_TRACEPOINT] = try_tracepoint,
		[TRIAL_BREAKPOINT] = try_breakpoint,
		[TRIAL_UPROBE] = try_uprobe,
		[TRIAL_KPROBE] = try_kprobe,
		[TRIAL_BPF_PROG] = try_bpf_prog,
		[TRIAL_BPF_RING] = try_bpf_ring,
		[TRIAL_FENTRY] = try_fentry,
		[TRIAL_REGS_INTR] = try_regs_intr,
	};
	*ret = (struct trial){ 0 };
	rows[kind](e, ret);
}
