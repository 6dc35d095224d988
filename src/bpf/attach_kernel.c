/* Tracepoints and functions of the kernel. */
#include "bpf/attach_impl.h"
#include "image/btf.h"
#include "kern/bpf_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_tracepoint(struct attached *a, u64 id)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT,
					.size = sizeof(attr),
					.config = id,
					.sample_period = 1,
					.wakeup_events = 1 };
	/* A program runs for all CPUs wherever its event is: any CPU will do, and any task. */
	return perf_opener_open(&a->opener, &attr, -1, a->cpu, -1);
}

/*
 * An event of perf takes two grace periods of RCU to go (70 ms and more each, one after the other, since the kernel holds a lock meanwhile):
 * what bpftrace's 27 s for sys_enter_* are. The fields of sys_enter_NAME lie where those of raw_syscalls:sys_enter do, so from this number of
 * calls on one program at that event serves all.
 */
enum { FEW_SYSCALLS = 8 };

/* Which of the points are system calls of one direction: their number. */
static u32 count_syscalls(const struct attach_range *r, const char *prefix, u64 *mask)
{
	u32 nr = 0;
	for (u32 i = r->first; i < r->end; i++) {
		const struct point *pt = &r->points[i];
		if (pt->syscall < 0 || pt->syscall >= LOAD_SYSCALL_WORDS * 64 ||
		    strncmp(pt->symbol, prefix, strlen(prefix)))
			continue;
		mask[pt->syscall / 64] |= 1ull << pt->syscall % 64;
		nr++;
	}
	return nr;
}

static int attach_syscalls(struct attached *a, const struct attach_range *r, bool exits,
			   const u64 *mask, struct diag *d)
{
	u64 id;
	int rc = tracing_event_id(&a->points->tracing, "raw_syscalls",
				  exits ? "sys_exit" : "sys_enter", &id);
	if (rc)
		return rc;
	const struct load_kind kind = { .type = BPF_PROG_TYPE_TRACEPOINT,
					.syscalls = mask,
					.place_base = points_syscall_base(a->points, exits) };
	int prog = loaded_code(a->loaded, r->probe, &kind, d);
	if (prog < 0)
		return prog;
	rc = attach_event(a, prog, open_tracepoint(a, id), 0);
	return rc ? attach_failed(a, &r->points[r->first], rc, d) : 0;
}

int attach_tracepoints(struct attached *a, const struct attach_range *r, struct diag *d)
{
	static const char *const prefixes[] = { "sys_enter_", "sys_exit_" };
	u64 masks[2][LOAD_SYSCALL_WORDS] = { 0 };
	bool together[2] = { 0 };
	for (int i = 0; i < 2; i++) {
		if (count_syscalls(r, prefixes[i], masks[i]) <= FEW_SYSCALLS)
			continue;
		int rc = attach_syscalls(a, r, i, masks[i], d);
		if (rc && rc != -ENOENT)
			return rc;
		together[i] = !rc;
	}
	const struct load_kind kind = { .type = BPF_PROG_TYPE_TRACEPOINT };
	for (u32 i = r->first; i < r->end; i++) {
		const struct point *pt = &r->points[i];
		bool exits = !strncmp(pt->symbol, prefixes[1], strlen(prefixes[1]));
		if (pt->syscall >= 0 && together[exits])
			continue;
		int prog = loaded_code(a->loaded, r->probe, &kind, d);
		if (prog < 0)
			return prog;
		int rc = attach_event(a, prog, open_tracepoint(a, pt->id), i);
		if (rc)
			return attach_failed(a, pt, rc, d);
	}
	return 0;
}

/* One that counts what it misses. */
static int keep_link(struct attached *a, const struct attach_range *r, int link)
{
	int rc = attach_keep(a, link);
	struct attach_link *l = rc ? NULL : vec_push(&a->links);
	if (l)
		*l = (struct attach_link){ .fd = link, .probe = r->points[r->first].probe };
	return rc ? rc : l ? 0 : -ENOMEM;
}

/* All functions with one link; -EOPNOTSUPP: one by one. */
static int attach_kprobe_multi(struct attached *a, const struct attach_range *r)
{
	const struct load_kind kind = { .type = BPF_PROG_TYPE_KPROBE,
					.attach_type = BPFSYS_TRACE_KPROBE_MULTI };
	if (a->no_kprobe_multi || r->probe->offset || !r->probe->name)
		return -EOPNOTSUPP;
	int prog = loaded_try(a->loaded, r->probe, &kind);
	if (prog < 0)
		return -EOPNOTSUPP;
	u32 nr = r->end - r->first;
	_cleanup_free_ const char **symbols = calloc(nr, sizeof(*symbols));
	_cleanup_free_ u64 *cookies = calloc(nr, sizeof(*cookies));
	if (!symbols || !cookies)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		symbols[i] = r->points[r->first + i].symbol;
		cookies[i] = r->first + i;
	}
	bool ret = r->probe->provider == PROGRAM_KRETPROBE;
	int link = bpfsys_link_kprobe_multi(
		prog, &(struct bpfsys_kprobe_multi){ .attach_type = BPFSYS_TRACE_KPROBE_MULTI,
						     .flags = ret ? BPFSYS_MULTI_RETURN : 0,
						     .nr = nr,
						     .symbols = symbols,
						     .cookies = cookies });
	if (link == -EOPNOTSUPP || link == -EINVAL)
		a->no_kprobe_multi = true;
	/* A name that several functions have, or none that ftrace knows: perf's way may take it. */
	return link < 0 ? -EOPNOTSUPP : keep_link(a, r, link);
}

static int pmu_type(struct attached *a, const char *pmu, s64 *type)
{
	char path[96];
	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/type", pmu);
	return sysroot_s64(a->loaded->root, path, type);
}

static int open_kprobe(struct attached *a, const struct point *pt, bool ret)
{
	s64 type;
	if (pmu_type(a, "kprobe", &type))
		return -EOPNOTSUPP;
	char name[320];
	snprintf(name, sizeof(name), "%s%s%s", pt->module ? pt->module : "", pt->module ? ":" : "",
		 pt->symbol ? pt->symbol : "");
	struct perf_event_attr attr = { .type = (u32)type,
					.size = sizeof(attr),
					.config = ret, /* format/retprobe: bit 0 */
					/* no name: config2 is an address */
					.config1 = pt->symbol ? (u64)(uintptr_t)name : 0,
					.config2 = pt->offset,
					.sample_period = 1,
					.wakeup_events = 1 };
	return perf_opener_open(&a->opener, &attr, -1, a->cpu, -1);
}

static int explain_kprobe(const struct attached *a, const struct point *pt, int err, struct diag *d)
{
	if (err == -EOPNOTSUPP) {
		diag_error(d, err, "cannot attach to %s: this kernel has no kprobes", pt->text);
		diag_hint(d, "'sonde run %s' lists the kinds of probes that it has",
			  diag_option(d, DIAG_OPT_INFO));
		return err;
	}
	return attach_failed(a, pt, err, d);
}

int attach_functions(struct attached *a, const struct attach_range *r, struct diag *d)
{
	int rc = attach_kprobe_multi(a, r);
	if (rc != -EOPNOTSUPP)
		return rc;
	bool ret = r->probe->provider == PROGRAM_KRETPROBE;
	const struct load_kind kind = { .type = BPF_PROG_TYPE_KPROBE };
	for (u32 i = r->first; i < r->end; i++) {
		const struct point *pt = &r->points[i];
		int event = open_kprobe(a, pt, ret);
		if (event < 0) {
			/* A wildcard takes what can be had. */
			if (r->probe->is_glob && event != -EOPNOTSUPP && event != -EPERM)
				continue;
			return explain_kprobe(a, pt, event, d);
		}
		int prog = loaded_code(a->loaded, r->probe, &kind, d);
		if (prog < 0) {
			close(event);
			return prog;
		}
		rc = attach_event(a, prog, event, i);
		if (rc)
			return attach_failed(a, pt, rc, d);
		struct attach_link *l = a->no_cookie ? NULL : vec_push(&a->links);
		if (l)
			*l = (struct attach_link){ .fd = a->fds.at[a->fds.nr - 1],
						   .probe = pt->probe };
	}
	return 0;
}

static int read_btf(struct attached *a)
{
	if (a->btf)
		return 0;
	_cleanup_close_ int fd = sysroot_fd(a->loaded->root, "sys/kernel/btf/vmlinux");
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return -ENOENT;
	a->btf_size = (size_t)st.st_size;
	a->btf_data = malloc(max(a->btf_size, (size_t)1));
	a->btf = calloc(1, sizeof(*a->btf));
	if (!a->btf_data || !a->btf)
		return -ENOMEM;
	size_t got = 0;
	while (got < a->btf_size) {
		ssize_t n = read(fd, a->btf_data + got, a->btf_size - got);
		if (n <= 0)
			return n ? -errno : -EIO;
		got += (size_t)n;
	}
	int rc = btf_open_memory(a->btf, a->btf_data, a->btf_size, NULL);
	if (rc) {
		free(a->btf);
		a->btf = NULL;
	}
	return rc;
}

static int find_function(struct btf *b, const char *name, u32 *ret)
{
	int err = 0;
	u32 id = btf_find(b, name, BTF_BIT(BTF_OF_FUNCTION), &err);
	if (!id)
		return err ? err : -ENOENT;
	*ret = id;
	return 0;
}

/* The number of a function among the kernel's types. */
static int function_id(struct attached *a, const char *name, u32 *ret)
{
	int rc = read_btf(a);
	return rc ? rc : find_function(a->btf, name, ret);
}

/* The types of a module, as the kernel holds them: a descriptor, which stays a's. */
static int module_types(struct attached *a, const char *module)
{
	for (u32 id = 0; !bpfsys_next_id(BPFSYS_BTF, id, &id);) {
		int fd = bpfsys_by_id(BPFSYS_BTF, id);
		if (fd < 0)
			continue;
		char name[64] = "";
		struct bpf_btf_info info = { .name = (u64)(uintptr_t)name,
					     .name_len = sizeof(name) };
		if (!bpfsys_info(fd, &info, sizeof(info)) && info.kernel_btf &&
		    !strcmp(name, module)) {
			int *slot = vec_push(&a->module_types);
			if (slot)
				return *slot = fd;
		}
		close(fd);
	}
	return -ENOENT;
}

/* A module's types go on where the kernel's end. */
static int module_function_id(struct attached *a, const char *module, const char *name, u32 *ret)
{
	int rc = read_btf(a);
	if (rc)
		return rc;
	char path[128];
	struct strbuf bytes;
	struct btf types;
	strbuf_init(&bytes);
	snprintf(path, sizeof(path), "sys/kernel/btf/%s", module);
	rc = sysroot_read(a->loaded->root, path, &bytes);
	if (!rc)
		rc = btf_open_memory(&types, bytes.data, bytes.len, a->btf);
	if (!rc) {
		rc = find_function(&types, name, ret);
		btf_close(&types);
	}
	strbuf_done(&bytes);
	return rc;
}

static int typed_kind(struct attached *a, const struct attach_range *r, const struct point *pt,
		      struct load_kind *kind)
{
	bool exits = r->probe->provider == PROGRAM_FEXIT;
	*kind = (struct load_kind){ .type = BPF_PROG_TYPE_TRACING,
				    .attach_type = exits ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY };
	if (pt->module) {
		int fd = module_types(a, pt->module);
		if (fd < 0)
			return fd;
		kind->btf_fd = fd;
		return module_function_id(a, pt->module, pt->symbol, &kind->btf_id);
	}
	if (r->probe->btf_id && !r->probe->is_glob) {
		kind->btf_id = r->probe->btf_id;
		return 0;
	}
	return function_id(a, pt->symbol, &kind->btf_id);
}

int attach_typed_functions(struct attached *a, const struct attach_range *r, struct diag *d)
{
	for (u32 i = r->first; i < r->end; i++) {
		const struct point *pt = &r->points[i];
		struct load_kind kind;
		int rc = typed_kind(a, r, pt, &kind);
		if (rc == -ENOENT && r->probe->is_glob)
			continue;
		if (rc)
			return diag_error(d, rc,
					  "cannot attach to %s: the kernel does not tell its types",
					  pt->text);
		int prog = loaded_code(a->loaded, r->probe, &kind, d);
		if (prog < 0)
			return prog;
		rc = attach_keep(a, bpfsys_link_tracing(prog, kind.attach_type, i));
		if (rc)
			return attach_failed(a, pt, rc, d);
	}
	return 0;
}

int attach_iter(struct attached *a, const struct attach_range *r, struct diag *d)
{
	const struct point *pt = &r->points[r->first];
	if (r->probe->target) {
		diag_error(d, -ENOTSUP,
			   "iterators cannot be pinned: what they print is formatted here");
		script_span(d, a->loaded->script, r->probe->span_start, r->probe->span_len);
		return -ENOTSUP;
	}
	char name[64];
	snprintf(name, sizeof(name), "bpf_iter_%s", r->probe->name);
	struct load_kind kind = { .type = BPF_PROG_TYPE_TRACING, .attach_type = BPF_TRACE_ITER };
	if (function_id(a, name, &kind.btf_id)) {
		diag_error(d, -ENOENT, "unknown iterator '%s'", r->probe->name);
		script_span(d, a->loaded->script, r->probe->span_start, r->probe->span_len);
		return -ENOENT;
	}
	int prog = loaded_code(a->loaded, r->probe, &kind, d);
	if (prog < 0)
		return prog;
	int link = bpfsys_link_iter(prog);
	int rc = attach_keep(a, link);
	if (rc)
		return attach_failed(a, pt, rc, d);
	int *slot = vec_push(&a->iterators);
	if (!slot)
		return -ENOMEM;
	*slot = link;
	return 0;
}
