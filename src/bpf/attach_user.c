/* Places in programs: all of a file with one link where the kernel can do that (6.6), else events of perf. */
#include "bpf/attach_impl.h"
#include "kern/bpf_sys.h"

#include <errno.h>
#include <unistd.h>

static bool is_return(const struct attach_range *r)
{
	return r->probe->provider == PROGRAM_URETPROBE;
}

/* -EOPNOTSUPP: one by one. */
static int attach_multi(struct attached *a, const struct attach_range *r)
{
	const struct load_kind kind = { .type = BPF_PROG_TYPE_KPROBE,
					.attach_type = BPFSYS_TRACE_UPROBE_MULTI };
	int prog = a->no_uprobe_multi ? -EINVAL : loaded_try(a->loaded, r->probe, &kind);
	if (prog < 0)
		return -EOPNOTSUPP;
	u32 nr = r->end - r->first;
	_cleanup_free_ u64 *words = calloc((size_t)nr * 3, sizeof(*words));
	if (!words)
		return -ENOMEM;
	u64 *offsets = words, *ref_ctrs = words + nr, *cookies = words + 2 * (size_t)nr;
	bool semaphores = false;
	for (u32 i = 0; i < nr; i++) {
		const struct point *pt = &r->points[r->first + i];
		offsets[i] = pt->offset;
		ref_ctrs[i] = pt->ref_ctr;
		cookies[i] = r->first + i;
		semaphores |= pt->ref_ctr != 0;
	}
	int link = bpfsys_link_uprobe_multi(
		prog, &(struct bpfsys_uprobe_multi){ .attach_type = BPFSYS_TRACE_UPROBE_MULTI,
						     .flags = is_return(r) ? BPFSYS_MULTI_RETURN : 0,
						     .nr = nr,
						     .pid = (u32)a->opts.pid,
						     .path = r->points[r->first].path,
						     .offsets = offsets,
						     .ref_ctr_offsets = semaphores ? ref_ctrs : NULL,
						     .cookies = cookies });
	if (link == -EINVAL) {
		a->no_uprobe_multi = true;
		return -EOPNOTSUPP;
	}
	return attach_keep(a, link);
}

static int open_uprobe(struct attached *a, const struct point *pt, bool ret)
{
	enum { REF_CTR_SHIFT = 32 }; /* format/ref_ctr_offset */
	s64 type;
	if (sysroot_s64(a->loaded->root, "sys/bus/event_source/devices/uprobe/type", &type))
		return -EOPNOTSUPP;
	struct perf_event_attr attr = { .type = (u32)type,
					.size = sizeof(attr),
					.config = (u64)ret | pt->ref_ctr << REF_CTR_SHIFT,
					.config1 = (u64)(uintptr_t)pt->path,
					.config2 = pt->offset,
					.sample_period = 1,
					.wakeup_events = 1 };
	s32 pid = a->opts.pid ? a->opts.pid : -1;
	return perf_opener_open(&a->opener, &attr, pid, a->opts.pid ? -1 : a->cpu, -1);
}

int attach_user(struct attached *a, const struct attach_range *r, struct diag *d)
{
	int rc = attach_multi(a, r);
	if (!rc)
		return 0;
	if (rc != -EOPNOTSUPP)
		return attach_failed(a, &r->points[r->first], rc, d);
	const struct load_kind kind = { .type = BPF_PROG_TYPE_KPROBE };
	for (u32 i = r->first; i < r->end; i++) {
		int prog = loaded_code(a->loaded, r->probe, &kind, d);
		if (prog < 0)
			return prog;
		const struct point *pt = &r->points[i];
		rc = attach_event(a, prog, open_uprobe(a, pt, is_return(r)), i);
		if (rc)
			return attach_failed(a, pt, rc, d);
	}
	return 0;
}
