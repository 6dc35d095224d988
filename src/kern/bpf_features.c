#include "kern/bpf_features.h"

#include "kern/bpf_sys.h"
#include "kern/caps.h"
#include "kern/lockdown.h"

#include <errno.h>
#include <unistd.h>

const struct bpfsys_feature_info bpfsys_feature_infos[BPF_FEATURE_NR] = {
	[BPF_FEATURE_MAPS] = { "hash", "hash tables", "maps" },
	[BPF_FEATURE_RINGBUF] = { "ringbuf", "a ring buffer shared by all CPUs", "maps" },
	[BPF_FEATURE_PERCPU_HASH] = { "percpu_hash", "hash tables with a value per CPU", "maps" },
	[BPF_FEATURE_BATCH] = { "batch", "reading many keys with one system call", "maps" },
	[BPF_FEATURE_LOOP] = { "loop", "bpf_loop()", "helpers" },
	[BPF_FEATURE_FOR_EACH] = { "for_each", "bpf_for_each_map_elem()", "helpers" },
	[BPF_FEATURE_COOKIE] = { "get_attach_cookie", "bpf_get_attach_cookie()", "helpers" },
	[BPF_FEATURE_FUNC_IP] = { "get_func_ip", "bpf_get_func_ip()", "helpers" },
	[BPF_FEATURE_PATH] = { "d_path", "bpf_d_path()", "helpers" },
	[BPF_FEATURE_SIGNAL] = { "send_signal", "bpf_send_signal()", "helpers" },
	[BPF_FEATURE_TEST_RUN] = { "test_run", "begin and end probes run by test_run", "probes" },
	[BPF_FEATURE_BTF] = { "btf", "types of the running kernel", "probes" },
	[BPF_FEATURE_TRACEPOINT] = { "tracepoint", "tracepoints", "probes" },
	[BPF_FEATURE_RAW_TRACEPOINT] = { "rawtracepoint", "raw tracepoints", "probes" },
	[BPF_FEATURE_KPROBE] = { "kprobe", "kprobes", "probes" },
	[BPF_FEATURE_UPROBE] = { "uprobe", "uprobes", "probes" },
	[BPF_FEATURE_FENTRY] = { "fentry", "fentry and fexit", "probes" },
	[BPF_FEATURE_KPROBE_MULTI] = { "kprobe_multi", "many kprobes with one link", "probes" },
	[BPF_FEATURE_KPROBE_SESSION] = { "kprobe_session", "entry and return in one program",
					 "probes" },
	[BPF_FEATURE_UPROBE_MULTI] = { "uprobe_multi", "many uprobes with one link", "probes" },
	[BPF_FEATURE_ITER] = { "iter", "iterators over tasks", "probes" },
};

#define MOV_IMM(reg, value)                                                                        \
	((struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = reg, .imm = value })
#define CALL_HELPER(id) ((struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = id })
#define EXIT()		((struct bpf_insn){ .code = BPF_JMP | BPF_EXIT })

static int closed(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int try_map(u32 type, u32 key, u32 value, u32 entries)
{
	return closed(bpfsys_map_create(&(struct bpfsys_map){
		.type = type, .key_size = key, .value_size = value, .max_entries = entries }));
}

static int load(u32 type, u32 attach, const struct bpf_insn *insns, u32 nr)
{
	return bpfsys_prog_load(&(struct bpfsys_prog){ .type = type,
						       .expected_attach_type = attach,
						       .insns = insns,
						       .nr_insns = nr,
						       .license = "GPL" },
				0, NULL);
}

/* A program that does nothing. */
static int load_empty(u32 type, u32 attach)
{
	const struct bpf_insn insns[] = { MOV_IMM(BPF_REG_0, 0), EXIT() };
	return load(type, attach, insns, ARRAY_SIZE(insns));
}

/*
 * A call without arguments: a kernel that has the helper complains about the registers (EACCES), one that has not about its number
 * (EINVAL), and both say so in words.
 */
static int try_helper(u32 type, s32 id)
{
	const struct bpf_insn insns[] = { CALL_HELPER(id), MOV_IMM(BPF_REG_0, 0), EXIT() };
	struct bpfsys_prog p = {
		.type = type, .insns = insns, .nr_insns = ARRAY_SIZE(insns), .license = "GPL"
	};
	_cleanup_free_ char *log = NULL;
	int rc = bpfsys_prog_load(&p, 1, &log);
	if (rc >= 0)
		return closed(rc);
	if (rc == -EPERM || !log)
		return rc;
	bool missing = strstr(log, "unknown func") || strstr(log, "invalid func") ||
		       strstr(log, "cannot use helper") || strstr(log, "not supported");
	return missing ? -EOPNOTSUPP : 0;
}

static int try_batch(void)
{
	int fd = bpfsys_map_create(&(struct bpfsys_map){
		.type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 4, .max_entries = 1 });
	if (fd < 0)
		return fd;
	u32 next, key, value, nr = 1;
	int rc = bpfsys_map_lookup_batch(fd, NULL, &next, &key, &value, &nr);
	close(fd);
	return !rc || rc == -ENOENT ? 0 : -EOPNOTSUPP;
}

static int try_test_run(void)
{
	int fd = load_empty(BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
	if (fd < 0)
		return fd;
	u32 status;
	int rc = bpfsys_test_run(fd, &status);
	close(fd);
	return rc;
}

static int try_raw_tracepoint(void)
{
	int fd = load_empty(BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
	if (fd < 0)
		return fd;
	int rc = closed(bpfsys_link_raw_tracepoint(fd, "sched_process_exit", 0));
	close(fd);
	return rc;
}

/* An empty list is refused after the kind of link was recognised. */
static int try_multi(u32 attach)
{
	bool user = attach == BPFSYS_TRACE_UPROBE_MULTI;
	int prog = load_empty(BPF_PROG_TYPE_KPROBE, attach);
	if (prog < 0)
		return prog == -EINVAL ? -EOPNOTSUPP : prog;
	int rc;
	if (user) {
		/* A path that is none: a kernel that knows the kind of link looks for it. */
		const u64 zero = 0;
		rc = bpfsys_link_uprobe_multi(
			prog,
			&(struct bpfsys_uprobe_multi){
				.attach_type = attach, .nr = 1, .path = "/", .offsets = &zero });
		rc = rc == -EBADF || rc == -EISDIR ? 0 : rc == -EINVAL ? -EOPNOTSUPP : rc;
	} else {
		const char *const symbol = "no_function_has_this_name";
		rc = bpfsys_link_kprobe_multi(
			prog, &(struct bpfsys_kprobe_multi){
				      .attach_type = attach, .nr = 1, .symbols = &symbol });
		rc = rc == -ESRCH || rc == -ENOENT ? 0 : rc == -EINVAL ? -EOPNOTSUPP : rc;
	}
	close(prog);
	return rc;
}

/* btf_id 1 is never a function: who may use the type is told that, the others are not. */
static int try_tracing(u32 attach, const char *complaint)
{
	const struct bpf_insn insns[] = { MOV_IMM(BPF_REG_0, 0), EXIT() };
	struct bpfsys_prog p = { .type = BPF_PROG_TYPE_TRACING,
				 .expected_attach_type = attach,
				 .attach_btf_id = 1,
				 .insns = insns,
				 .nr_insns = ARRAY_SIZE(insns),
				 .license = "GPL" };
	_cleanup_free_ char *log = NULL;
	int rc = bpfsys_prog_load(&p, 1, &log);
	if (rc >= 0)
		return closed(rc);
	return log && strstr(log, complaint) ? 0 : rc == -EPERM ? rc : -EOPNOTSUPP;
}

static int try_file(const struct sysroot *r, const char *path)
{
	return sysroot_exists(r, path) ? 0 : -EOPNOTSUPP;
}

static int try_type(u32 type)
{
	return closed(load_empty(type, 0));
}

static int try_probe(const struct sysroot *r, enum bpfsys_feature f)
{
	switch (f) {
	case BPF_FEATURE_TEST_RUN: return try_test_run();
	case BPF_FEATURE_BTF: return try_file(r, "sys/kernel/btf/vmlinux");
	case BPF_FEATURE_TRACEPOINT: return try_type(BPF_PROG_TYPE_TRACEPOINT);
	case BPF_FEATURE_RAW_TRACEPOINT: return try_raw_tracepoint();
	case BPF_FEATURE_KPROBE: return try_file(r, "sys/bus/event_source/devices/kprobe");
	case BPF_FEATURE_UPROBE: return try_file(r, "sys/bus/event_source/devices/uprobe");
	case BPF_FEATURE_FENTRY: return try_tracing(BPF_TRACE_FENTRY, "is not a function");
	case BPF_FEATURE_KPROBE_MULTI: return try_multi(BPFSYS_TRACE_KPROBE_MULTI);
	case BPF_FEATURE_KPROBE_SESSION: return try_multi(BPFSYS_TRACE_KPROBE_SESSION);
	case BPF_FEATURE_UPROBE_MULTI: return try_multi(BPFSYS_TRACE_UPROBE_MULTI);
	case BPF_FEATURE_ITER: return try_tracing(BPF_TRACE_ITER, "is not a function");
	default: return -EINVAL;
	}
}

int bpfsys_feature_try(const struct sysroot *r, enum bpfsys_feature f)
{
	switch (f) {
	case BPF_FEATURE_MAPS: return try_map(BPF_MAP_TYPE_HASH, 8, 8, 1);
	case BPF_FEATURE_RINGBUF:
		return try_map(BPF_MAP_TYPE_RINGBUF, 0, 0, (u32)sysconf(_SC_PAGESIZE));
	case BPF_FEATURE_PERCPU_HASH: return try_map(BPF_MAP_TYPE_PERCPU_HASH, 8, 8, 1);
	case BPF_FEATURE_BATCH: return try_batch();
	case BPF_FEATURE_LOOP: return try_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop);
	case BPF_FEATURE_FOR_EACH:
		return try_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_for_each_map_elem);
	case BPF_FEATURE_COOKIE:
		return try_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie);
	case BPF_FEATURE_FUNC_IP: return try_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_func_ip);
	case BPF_FEATURE_PATH: return try_helper(BPF_PROG_TYPE_TRACING, BPF_FUNC_d_path);
	case BPF_FEATURE_SIGNAL: return try_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_send_signal);
	default: return try_probe(r, f);
	}
}

int bpfsys_explain_permission(const struct sysroot *r, const char *what, struct diag *d)
{
	u64 caps = caps_effective(r);
	bool admin = caps_has(caps, CAP_SYS_ADMIN);
	bool has_bpf = admin || caps_has(caps, CAP_BPF);
	bool has_perfmon = admin || caps_has(caps, CAP_PERFMON);
	enum lockdown_level level;
	if (has_bpf && has_perfmon && !lockdown_read(r, &level) && level > LOCKDOWN_NONE) {
		diag_error(d, -EPERM, "cannot %s: kernel lockdown is in '%s' mode", what,
			   lockdown_word(level));
		return -EPERM;
	}
	if (has_bpf && has_perfmon) {
		diag_error(d, -EPERM, "cannot %s: the kernel refuses it", what);
		diag_hint(d, "'sonde doctor' shows which kinds of probes are permitted here");
		return -EPERM;
	}
	const char *lacks = has_bpf	  ? "CAP_PERFMON"
			    : has_perfmon ? "CAP_BPF"
					  : "CAP_BPF and CAP_PERFMON";
	s64 off = 0;
	bool closed_to_users =
		!sysroot_s64(r, "proc/sys/kernel/unprivileged_bpf_disabled", &off) && off;
	diag_error(d, -EPERM, "cannot %s: %s missing%s", what, lacks,
		   closed_to_users ? ", and kernel.unprivileged_bpf_disabled is set" : "");
	diag_hint(d, "run it as root, or grant the capabilities to this program: setcap "
		     "cap_bpf,cap_perfmon,cap_dac_read_search+ep FILE");
	return -EPERM;
}
