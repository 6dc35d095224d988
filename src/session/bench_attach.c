#include "session/bench_attach.h"

#include "base/clock.h"
#include "base/str.h"
#include "image/btf.h"
#include "kern/bpf_features.h"
#include "kern/bpf_sys.h"
#include "kern/kallsyms.h"
#include "kern/kcore.h"
#include "kern/procfs.h"
#include "probe/find_symbol.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	OPTIMIZE_WAIT_NS = 2000000000,
	POLL_US = 10000,
	ENTRY_BYTES = 12,
	JUMP_BYTES = 5,
	TRIAL_CALLS = 64
};

static const char optimization_file[] = "/proc/sys/debug/kprobes-optimization";
static const char kprobe_list[] = "sys/kernel/debug/kprobes/list";
static const char no_symbol[] = "this kernel has no symbol of the system call prlimit64";
static const char rename_tracepoint[] = "task_rename";

/*
 * A system call that few programs make, so that nobody else pays for the probe, and a function below it that every call reaches. What the
 * macros for system calls make (__do_sys_NAME) cannot be probed by events: it is inline, and therefore notrace.
 */
static const char *const function_names[] = { "do_prlimit", "__x64_sys_prlimit64",
					      "__arm64_sys_prlimit64" };

void bench_call_kernel(u64 n)
{
	struct rlimit64 limit;
	for (; n; n--)
		(void)syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
}

void bench_call_rename(u64 n)
{
	char name[16];
	if (prctl(PR_GET_NAME, name))
		return;
	for (; n; n--)
		(void)prctl(PR_SET_NAME, name);
}

static int printf_like(3, 4) refuse(struct bench_probe_fds *f, int err, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
	return err;
}

/* ---- where --------------------------------------------------------------------------------------------------------------------- */

/* "ffffffff810afa40 T do_prlimit" */
static bool find_function(const struct kallsyms_text *t, const char *name, u64 *address)
{
	size_t len = strlen(name);
	for (const char *at = t->data, *end = t->data + t->len; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((stop ? stop : end) - at);
		if (size > len + 3 && !memcmp(at + size - len, name, len) &&
		    at[size - len - 1] == ' ' && (at[size - len - 2] | 32) == 't') {
			char hex[20];
			(void)snprintf(hex, sizeof(hex), "%.*s", (int)min(size, (size_t)16), at);
			*address = strtoull(hex, NULL, 16);
			return true;
		}
		at += size + 1;
	}
	return false;
}

/* x86: jumps, calls, returns; arm64: b, bl, b.eq, cbz, tbnz, ret. */
static bool is_branch(const char *insn)
{
	return *insn == 'j' || *insn == 'b' || str_starts(insn, "call") || str_starts(insn, "ret") ||
	       str_starts(insn, "loop") || str_starts(insn, "cb") || str_starts(insn, "tb");
}

/* What ftrace calls, and what marks the target of an indirect jump or signs the return address. */
static bool is_of_the_entry(u64 offset, const char *insn)
{
	static const char *const words[] = { "nop", "endbr", "call", "bti", "pac", "mov x9, x30" };
	bool is = !offset;
	for (u32 i = 0; i < ARRAY_SIZE(words) && !is; i++)
		is = offset < ENTRY_BYTES && str_starts(insn, words[i]);
	return is;
}

/*
 * Places where the bytes that a jump would take hold no branch. Instructions after a conditional branch count, too: whether calls reach them is
 * seen by their hits.
 */
struct insn_walk {
	struct bench_bed *bed;
	const char *symbol;
	u64 waiting[JUMP_BYTES]; /* offsets of instructions that have not seen enough bytes after them */
	u32 nr_waiting;
};

static void take_waiting(struct insn_walk *w, u64 offset)
{
	struct bench_bed *b = w->bed;
	u32 kept = 0;
	for (u32 i = 0; i < w->nr_waiting; i++) {
		if (offset - w->waiting[i] < JUMP_BYTES) {
			w->waiting[kept++] = w->waiting[i];
		} else if (b->nr_inside < BENCH_PLACES_MAX) {
			struct bench_place *p = &b->inside[b->nr_inside++];
			(void)snprintf(p->symbol, sizeof(p->symbol), "%s", w->symbol);
			p->offset = w->waiting[i];
		}
	}
	w->nr_waiting = kept;
}

static int add_place(void *ctx, u64 offset, const char *text)
{
	struct insn_walk *w = ctx;
	take_waiting(w, offset);
	if (is_of_the_entry(offset, text))
		return 0;
	if (str_starts(text, "ret") || str_starts(text, "jmp") ||
	    w->bed->nr_inside == BENCH_PLACES_MAX)
		return 1;
	if (is_branch(text))
		w->nr_waiting = 0;
	else
		w->waiting[w->nr_waiting++] = offset;
	return 0;
}

static void find_inside(struct bench_bed *b)
{
	const struct probe_target kernel = { .where = PROBE_KERNEL };
	struct insn_walk w = { .bed = b, .symbol = b->entry.symbol };
	struct diag ignored;
	diag_init(&ignored);
	/* The walk ends where the code branches, which is no failure. */
	int err = probe_insns(&kernel, b->entry.symbol, add_place, &w, &ignored);
	diag_done(&ignored);
	if (err < 0)
		b->no_inside = "the kernel's code cannot be read (/proc/kcore)";
	else if (!b->nr_inside)
		b->no_inside = "the function has no place for a jump";
}

static void find_places(struct bench_bed *b)
{
	struct kallsyms_text t;
	b->no_inside = "the kernel's symbols cannot be read (/proc/kallsyms)";
	if (kallsyms_read(NULL, NULL, &t))
		return;
	for (u32 i = 0; i < ARRAY_SIZE(function_names) && !*b->entry.symbol; i++)
		if (find_function(&t, function_names[i], &b->entry_address))
			(void)snprintf(b->entry.symbol, sizeof(b->entry.symbol), "%s",
				       function_names[i]);
	kallsyms_text_done(&t);
	b->no_inside = NULL;
	if (*b->entry.symbol)
		find_inside(b);
	else
		b->no_inside = no_symbol;
}

const char *bench_entry_words(const struct bench_bed *b)
{
	static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 },
			nop_arm[] = { 0x1f, 0x20, 0x03, 0xd5 };
	static const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	u8 code[ENTRY_BYTES];
	if (!b->entry_address || kcore_read(NULL, b->entry_address, code, sizeof(code)))
		return "its code cannot be read (/proc/kcore)";
	const u8 *at = memcmp(code, endbr, sizeof(endbr)) ? code : code + sizeof(endbr);
	if (!memcmp(at, nop5, sizeof(nop5)))
		return "its entry is a 5-byte NOP";
	if (!memcmp(at, nop_arm, sizeof(nop_arm)))
		return "its entry is a NOP";
	return "its entry is not a NOP: something traces it";
}

/* ---- the bed ------------------------------------------------------------------------------------------------------------------- */

int bench_bed_open(struct bench_bed *b, const struct sysroot *root, struct diag *d)
{
	*b = (struct bench_bed){ .root = root, .map = -1, .cpu = sched_getcpu() };
	int err = tracing_open(&b->tracing, "");
	if (err)
		return err;
	perf_opener_init(&b->opener, root);
	b->map = bpfsys_map_create(&(struct bpfsys_map){ .type = BPF_MAP_TYPE_ARRAY,
							 .key_size = sizeof(u32),
							 .value_size = sizeof(u64),
							 .max_entries = 1,
							 .name = "bench_hits" });
	if (b->map < 0) {
		err = b->map;
		tracing_close(&b->tracing);
		return err == -EPERM
			       ? bpfsys_explain_permission(root, "measure probes", d)
			       : diag_error(d, err, "cannot create a BPF map: %s", strerror(-err));
	}
	find_places(b);
	return 0;
}

void bench_bed_close(struct bench_bed *b)
{
	(void)close(b->map);
	tracing_close(&b->tracing);
}

int bench_bed_hits(const struct bench_bed *b, u64 *ret)
{
	u32 key = 0;
	return bpfsys_map_lookup(b->map, &key, ret);
}

/* ++hits; return 0 */
static int load_counter(struct bench_bed *b, struct bench_probe_fds *f, u32 type, u32 attach_type,
			u32 btf_id)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = b->map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 1 },
		{ .code = BPF_STX | BPF_DW | BPF_ATOMIC,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_REG_2,
		  .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	f->prog = bpfsys_prog_load(&(struct bpfsys_prog){ .type = type,
							  .expected_attach_type = attach_type,
							  .name = "bench_count",
							  .insns = insns,
							  .nr_insns = ARRAY_SIZE(insns),
							  .license = "GPL",
							  .attach_btf_id = btf_id },
				   0, NULL);
	return f->prog < 0 ? f->prog : 0;
}

void bench_detach(struct bench_probe_fds *f, struct diag *d)
{
	int *const fds[] = { &f->link, &f->event, &f->prog };
	for (u32 i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
		*fds[i] = -1;
	}
	if (f->journal)
		journal_close(f->journal, d);
	f->journal = NULL;
}

/* The program at a perf event, as the kernel allows: links came with 5.15. */
static int attach_to_event(struct bench_probe_fds *f)
{
	f->link = bpfsys_link_perf_event(f->prog, f->event, 0);
	if (f->link != -EINVAL)
		return f->link < 0 ? f->link : 0;
	int err = bpfsys_perf_event_set(f->event, f->prog);
	return err ? err : perf_event_enable(f->event);
}

static int attach_pmu(struct bench_bed *b, struct bench_probe_fds *f, const char *pmu,
		      struct perf_event_attr *attr, s32 pid, s32 cpu)
{
	char path[96];
	s64 type;
	(void)snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/type", pmu);
	if (sysroot_s64(b->root, path, &type))
		return refuse(f, -EOPNOTSUPP, "this kernel has no %ss", pmu);
	attr->type = (u32)type;
	attr->size = sizeof(*attr);
	attr->sample_period = 1;
	int err = load_counter(b, f, BPF_PROG_TYPE_KPROBE, 0, 0);
	if (!err) {
		f->event = perf_opener_open(&b->opener, attr, pid, cpu, -1);
		err = f->event < 0 ? f->event : attach_to_event(f);
	}
	return err ? refuse(f, err, "cannot attach to %s: %s", f->place, strerror(-err)) : 0;
}

/* ---- the kernel ---------------------------------------------------------------------------------------------------------------- */

static int attach_kprobe(struct bench_bed *b, struct bench_probe_fds *f,
			 const struct bench_place *at, bool is_return)
{
	struct perf_event_attr attr = { .config = is_return, /* format/retprobe: bit 0 */
					.config1 = (u64)(uintptr_t)at->symbol,
					.config2 = at->offset };
	(void)snprintf(f->place, sizeof(f->place), at->offset ? "%s+0x%llx" : "%s", at->symbol,
		       (unsigned long long)at->offset);
	return attach_pmu(b, f, "kprobe", &attr, -1, max(b->cpu, 0));
}

enum kprobe_mark { MARK_UNREADABLE, MARK_ABSENT, MARK_BREAKPOINT, MARK_FTRACE, MARK_OPTIMIZED };

/* How the kernel has put the probe there. An entry may begin behind endbr. */
static enum kprobe_mark mark_of(const struct bench_bed *b, const struct bench_place *at)
{
	struct strbuf text;
	enum kprobe_mark mark = MARK_UNREADABLE;
	strbuf_init(&text);
	if (!sysroot_read(b->root, kprobe_list, &text))
		mark = MARK_ABSENT;
	for (const char *line = strbuf_cstr(&text); *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		char symbol[128];
		unsigned long long offset;
		size_t len = strcspn(line, "\n");
		/* "ffffffff810ada5a  k  do_prlimit+0xa    [OPTIMIZED]" */
		if (sscanf(line, "%*s %*s %127[^+ \n]+0x%llx", symbol, &offset) != 2 ||
		    strcmp(symbol, at->symbol) || (at->offset ? offset != at->offset : offset > 4))
			continue;
		mark = memmem(line, len, "[FTRACE]", 8)	      ? MARK_FTRACE
		       : memmem(line, len, "[OPTIMIZED]", 11) ? MARK_OPTIMIZED
							      : MARK_BREAKPOINT;
	}
	strbuf_done(&text);
	return mark;
}

static int refuse_unseen(struct bench_probe_fds *f)
{
	return refuse(f, -EOPNOTSUPP,
		      "cannot see how the kernel attached it: mount -t debugfs nodev "
		      "/sys/kernel/debug");
}

static int no_entry(struct bench_probe_fds *f)
{
	return refuse(f, -ENOENT, "%s", no_symbol);
}

int bench_attach_ftrace(struct bench_bed *b, struct bench_probe_fds *f)
{
	int err = *b->entry.symbol ? attach_kprobe(b, f, &b->entry, false) : no_entry(f);
	if (err)
		return err;
	enum kprobe_mark mark = mark_of(b, &b->entry);
	if (mark == MARK_UNREADABLE)
		return refuse_unseen(f);
	return mark == MARK_FTRACE
		       ? 0
		       : refuse(f, -EOPNOTSUPP, "this kernel puts a breakpoint at the entry, too");
}

int bench_attach_kretprobe(struct bench_bed *b, struct bench_probe_fds *f)
{
	return *b->entry.symbol ? attach_kprobe(b, f, &b->entry, true) : no_entry(f);
}

/* Until bench_detach(). */
static int set_optimization(struct bench_bed *b, struct bench_probe_fds *f, const char *value)
{
	struct strbuf now;
	struct diag d;
	if (!tracing_has(&b->tracing, optimization_file))
		return -ENOENT;
	strbuf_init(&now);
	bool is_set = !strcmp(tracing_line(&b->tracing, optimization_file, &now), value);
	strbuf_done(&now);
	if (is_set)
		return 0;
	diag_init(&d);
	int err = journal_open(&f->journal, &b->tracing,
			       &(struct journal_opts){ .title = "bench probe" }, &d);
	if (!err)
		err = journal_set(f->journal, optimization_file, value, &d);
	diag_done(&d);
	return err ? refuse(f, -EACCES, "cannot set debug.kprobes-optimization to %s: %s", value,
			    strerror(-err))
		   : 0;
}

static bool wait_for_jump(const struct bench_bed *b, const struct bench_place *at)
{
	u64 end = clock_monotonic_ns() + OPTIMIZE_WAIT_NS;
	while (mark_of(b, at) != MARK_OPTIMIZED) {
		if (clock_monotonic_ns() > end)
			return false;
		(void)usleep(POLL_US);
	}
	return true;
}

static bool is_hit(const struct bench_bed *b)
{
	u64 before, after;
	if (bench_bed_hits(b, &before))
		return false;
	bench_call_kernel(TRIAL_CALLS);
	return !bench_bed_hits(b, &after) && after - before >= TRIAL_CALLS;
}

int bench_attach_jump(struct bench_bed *b, struct bench_probe_fds *f)
{
	int err = b->no_inside ? refuse(f, -ENODATA, "%s", b->no_inside)
			       : set_optimization(b, f, "1");
	if (err == -ENOENT)
		return refuse(f, err, "this kernel does not optimise kprobes (CONFIG_OPTPROBES)");
	struct journal *journal = f->journal;
	for (u32 i = 0; i < b->nr_inside && !err; i++) {
		err = attach_kprobe(b, f, &b->inside[i], false);
		if (!err && mark_of(b, &b->inside[i]) == MARK_UNREADABLE)
			return refuse_unseen(f);
		if (!err && is_hit(b) && wait_for_jump(b, &b->inside[i])) {
			b->chosen = i;
			return 0;
		}
		f->journal = NULL; /* the setting stays for the next place */
		bench_detach(f, NULL);
		f->journal = journal;
	}
	return err ? err : refuse(f, -EOPNOTSUPP, "no place was optimised within two seconds");
}

int bench_attach_int3(struct bench_bed *b, struct bench_probe_fds *f)
{
	int err = b->no_inside ? refuse(f, -ENODATA, "%s", b->no_inside)
			       : set_optimization(b, f, "0");
	if (err && err != -ENOENT)
		return err;
	const struct bench_place *at = &b->inside[b->chosen];
	err = attach_kprobe(b, f, at, false);
	enum kprobe_mark mark = err ? MARK_ABSENT : mark_of(b, at);
	if (!err && mark != MARK_BREAKPOINT && mark != MARK_UNREADABLE)
		err = refuse(f, -EBUSY, "somebody else's probe is at the same place");
	return err;
}

int bench_attach_fprobe(struct bench_bed *b, struct bench_probe_fds *f)
{
	const char *symbol = b->entry.symbol;
	if (!*symbol)
		return no_entry(f);
	int err = load_counter(b, f, BPF_PROG_TYPE_KPROBE, BPFSYS_TRACE_KPROBE_MULTI, 0);
	if (!err) {
		f->link = bpfsys_link_kprobe_multi(
			f->prog,
			&(struct bpfsys_kprobe_multi){ .attach_type = BPFSYS_TRACE_KPROBE_MULTI,
						       .nr = 1,
						       .symbols = &symbol });
		err = f->link < 0 ? f->link : 0;
	}
	(void)snprintf(f->place, sizeof(f->place), "%s", symbol);
	if (err == -EOPNOTSUPP || err == -EINVAL)
		return refuse(f, err, "this kernel has no fprobes (CONFIG_FPROBE)");
	return err ? refuse(f, err, "cannot attach to %s: %s", symbol, strerror(-err)) : 0;
}

static int function_id(const struct bench_bed *b, const char *name, u32 *ret)
{
	struct strbuf types;
	struct btf btf;
	strbuf_init(&types);
	int err = sysroot_read(b->root, "sys/kernel/btf/vmlinux", &types);
	if (!err)
		err = btf_open_memory(&btf, types.data, types.len, NULL);
	if (!err) {
		err = btf_function_id(&btf, name, ret);
		btf_close(&btf);
	}
	strbuf_done(&types);
	return err;
}

int bench_attach_fentry(struct bench_bed *b, struct bench_probe_fds *f)
{
	u32 id;
	if (!*b->entry.symbol)
		return no_entry(f);
	(void)snprintf(f->place, sizeof(f->place), "%s", b->entry.symbol);
	int err = function_id(b, b->entry.symbol, &id);
	if (err)
		return refuse(f, err, "the kernel's types (BTF) do not have %s", b->entry.symbol);
	err = load_counter(b, f, BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, id);
	if (!err) {
		f->link = bpfsys_link_tracing(f->prog, BPF_TRACE_FENTRY, 0);
		err = f->link < 0 ? f->link : 0;
	}
	return err ? refuse(f, err, "cannot attach to %s: %s", b->entry.symbol, strerror(-err)) : 0;
}

int bench_attach_rawtp(struct bench_bed *b, struct bench_probe_fds *f)
{
	(void)snprintf(f->place, sizeof(f->place), "%s", rename_tracepoint);
	int err = load_counter(b, f, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0);
	if (!err) {
		f->link = bpfsys_link_raw_tracepoint(f->prog, rename_tracepoint, 0);
		err = f->link < 0 ? f->link : 0;
	}
	return err ? refuse(f, err, "cannot attach to %s: %s", rename_tracepoint, strerror(-err))
		   : 0;
}

/* ---- this program -------------------------------------------------------------------------------------------------------------- */

struct bench_own_place {
	u64 address, offset;
};

static int find_map(void *ctx, const struct proc_map *m)
{
	struct bench_own_place *p = ctx;
	if (p->address < m->start || p->address >= m->end)
		return 0;
	p->offset = p->address - m->start + m->file_offset;
	return 1;
}

static int own_path(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	return 0;
}

/* Only in this process. */
static int attach_own(struct bench_bed *b, struct bench_probe_fds *f, u64 offset, u64 ref_ctr,
		      bool is_return)
{
	char path[PATH_MAX];
	int err = own_path(path);
	if (err)
		return refuse(f, err, "cannot find the file of this program: %s", strerror(-err));
	/* format/retprobe: bit 0; format/ref_ctr_offset: the upper half */
	struct perf_event_attr attr = { .config = (u64)is_return | ref_ctr << 32,
					.config1 = (u64)(uintptr_t)path,
					.config2 = offset };
	return attach_pmu(b, f, "uprobe", &attr, 0, -1);
}

static int attach_function(struct bench_bed *b, struct bench_probe_fds *f, bool is_return)
{
	struct procfs procfs;
	struct bench_own_place place = { .address = (u64)(uintptr_t)b->user_function };
	procfs_init(&procfs, b->root);
	int found = procfs_maps(&procfs, (s32)getpid(), find_map, &place);
	procfs_done(&procfs);
	if (found <= 0)
		return refuse(f, found ? found : -ESRCH, "cannot read /proc/self/maps");
	(void)snprintf(f->place, sizeof(f->place), "a function of this program");
	return attach_own(b, f, place.offset, 0, is_return);
}

int bench_attach_uprobe(struct bench_bed *b, struct bench_probe_fds *f)
{
	return attach_function(b, f, false);
}

int bench_attach_uretprobe(struct bench_bed *b, struct bench_probe_fds *f)
{
	return attach_function(b, f, true);
}

int bench_attach_usdt(struct bench_bed *b, struct bench_probe_fds *f)
{
	char path[PATH_MAX];
	struct arena arena;
	struct probe_request request;
	struct probe_defs defs;
	struct diag d;
	u64 offset = 0, ref_ctr = 0;
	int err = own_path(path);
	if (err)
		return refuse(f, err, "cannot find the file of this program: %s", strerror(-err));
	const struct probe_target target = { .where = PROBE_BINARY, .path = path };
	arena_init(&arena);
	probe_defs_init(&defs);
	diag_init(&d);
	err = probe_parse("%sdt_sonde:step", &arena, &request, &d);
	if (!err)
		err = probe_find(&target, &request, &defs, &d);
	if (!err && defs.at.nr == 1) {
		offset = defs.at.at[0].offset;
		ref_ctr = defs.at.at[0].ref_ctr;
	} else if (!err) {
		err = -ENOENT;
	}
	diag_done(&d);
	probe_defs_done(&defs);
	arena_done(&arena);
	if (err)
		return refuse(f, err, "this program was built without static probes (sys/sdt.h)");
	(void)snprintf(f->place, sizeof(f->place), "sonde:step of this program");
	return attach_own(b, f, offset, ref_ctr, false);
}
