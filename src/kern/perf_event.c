#include "kern/perf_event.h"
#include "kern/file_limit.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static long sys_perf_event_open(struct perf_event_attr *attr, s32 pid, s32 cpu, int group_fd,
				unsigned long flags)
{
	return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
}

/* Takes a part out; false: it was not in. */
static bool drop_part(struct perf_event_attr *a, enum perf_attr_part part)
{
	bool had = false;
#define DROP_BIT(field) (had = a->field, a->field = 0)
	switch (part) {
	case ATTR_PART_BUILD_ID: DROP_BIT(build_id); break;
	case ATTR_PART_CGROUP:
		had = a->cgroup || a->sample_type & PERF_SAMPLE_CGROUP;
		a->cgroup = 0;
		a->sample_type &= ~(u64)PERF_SAMPLE_CGROUP;
		break;
	case ATTR_PART_READ_LOST:
		had = a->read_format & PERF_FORMAT_LOST;
		a->read_format &= ~(u64)PERF_FORMAT_LOST;
		break;
	case ATTR_PART_BPF_EVENT: DROP_BIT(bpf_event); break;
	case ATTR_PART_KSYMBOL: DROP_BIT(ksymbol); break;
	case ATTR_PART_NAMESPACES: DROP_BIT(namespaces); break;
	case ATTR_PART_COMM_EXEC: DROP_BIT(comm_exec); break;
	case ATTR_PART_MMAP2: DROP_BIT(mmap2); break;
	case ATTR_PART_EXCLUDE_GUEST: DROP_BIT(exclude_guest); break;
	case ATTR_PART_SAMPLE_ID_ALL: DROP_BIT(sample_id_all); break;
	case ATTR_PART_NR: break;
	}
#undef DROP_BIT
	return had;
}

static void drop_parts(struct perf_event_attr *a, u32 parts)
{
	for (unsigned i = 0; i < ATTR_PART_NR; i++)
		if (parts & 1u << i)
			drop_part(a, i);
}

void perf_opener_init(struct perf_opener *o, const struct sysroot *root)
{
	*o = (struct perf_opener){ .root = root, .sys_open = sys_perf_event_open };
	perf_rights_read(root, &o->rights);
}

/* One try, with what does not concern the attr itself: close-on-exec, the file limit, interruption. */
static int try_open(struct perf_opener *o, struct perf_event_attr *attr, s32 pid, s32 cpu,
		    int group_fd)
{
	for (;;) {
		attr->size = sizeof(*attr);
		unsigned long flags = o->flags | (o->no_cloexec ? 0 : PERF_FLAG_FD_CLOEXEC);
		long fd = o->sys_open(attr, pid, cpu, group_fd, flags);
		if (fd >= 0) {
			const struct perf_opened how = { .fd = (int)fd,
							 .group_fd = group_fd,
							 .pid = pid,
							 .cpu = cpu,
							 .flags = flags };
			if (o->opened)
				o->opened(o->opened_ctx, attr, &how);
			return (int)fd;
		}
		if (errno == EINTR)
			continue;
		if (errno == EMFILE && !o->files_raised) {
			o->files_raised = true;
			if (file_limit_raise())
				continue;
			errno = EMFILE;
		}
		return -errno;
	}
}

/* Any other answer than EINVAL means that the attr was understood. */
static bool understood(int fd)
{
	return fd != -EINVAL;
}

static int try_without(struct perf_opener *o, const struct perf_event_attr *attr, u32 parts,
		       s32 pid, s32 cpu, int group_fd)
{
	struct perf_event_attr a = *attr;
	drop_parts(&a, parts);
	return try_open(o, &a, pid, cpu, group_fd);
}

/* Takes newer parts out one after the other until the kernel understands; they are in *dropped. */
static int drop_until_understood(struct perf_opener *o, const struct perf_event_attr *attr, s32 pid,
				 s32 cpu, int group_fd, u32 *dropped)
{
	struct perf_event_attr bare = *attr;
	int fd = -EINVAL;
	*dropped = 0;
	for (unsigned i = 0; i < ATTR_PART_NR && !understood(fd); i++) {
		if (!drop_part(&bare, i))
			continue;
		*dropped |= 1u << i;
		fd = try_open(o, &bare, pid, cpu, group_fd);
	}
	return fd;
}

/*
 * The kernel answers EINVAL to any bit it does not know. Parts are taken out until it understands; then each is put back by
 * itself to find which were really refused. attr is changed only if that helped.
 */
static int open_without(struct perf_opener *o, struct perf_event_attr *attr, s32 pid, s32 cpu,
			int group_fd)
{
	u32 dropped = 0;
	int fd = drop_until_understood(o, attr, pid, cpu, group_fd, &dropped);
	if (!understood(fd) && !o->no_cloexec) {
		o->no_cloexec = true;
		fd = try_open(o, attr, pid, cpu, group_fd);
		dropped = 0;
		if (!understood(fd))
			fd = drop_until_understood(o, attr, pid, cpu, group_fd, &dropped);
		o->no_cloexec = understood(fd);
	}
	if (!understood(fd))
		return fd;
	u32 refused = 0;
	for (unsigned i = 0; i < ATTR_PART_NR; i++) {
		if (!(dropped & 1u << i))
			continue;
		int probe = try_without(o, attr, dropped & ~(1u << i), pid, cpu, group_fd);
		if (!understood(probe))
			refused |= 1u << i;
		else if (probe >= 0)
			close(probe);
	}
	if (refused != dropped) {
		int better = try_without(o, attr, refused, pid, cpu, group_fd);
		if (understood(better)) {
			if (fd >= 0)
				close(fd);
			fd = better;
			dropped = refused;
		} else if (better >= 0) {
			close(better);
		}
	}
	o->missing |= dropped;
	drop_parts(attr, dropped);
	return fd;
}

static bool hides_kernel(int err, const struct perf_event_attr *attr)
{
	return (err == -EACCES || err == -EPERM) && !attr->exclude_kernel && !attr->exclude_user;
}

/*
 * An event that does not run in the kernel has no kernel frames either; but kernels since 6.12.y refuse a call chain that does
 * not say so to those who may not see the kernel.
 */
static void no_kernel_chain(struct perf_event_attr *attr)
{
	if (attr->exclude_kernel && attr->sample_type & PERF_SAMPLE_CALLCHAIN)
		attr->exclude_callchain_kernel = 1;
}

int perf_opener_open(struct perf_opener *o, struct perf_event_attr *attr, s32 pid, s32 cpu,
		     int group_fd)
{
	drop_parts(attr, o->missing);
	no_kernel_chain(attr);
	int fd = try_open(o, attr, pid, cpu, group_fd);
	/* precise_ip is a wish: the most precise that the PMU grants. */
	struct perf_event_attr a = *attr;
	while ((fd == -EOPNOTSUPP || fd == -EINVAL) && a.precise_ip) {
		a.precise_ip--;
		fd = try_open(o, &a, pid, cpu, group_fd);
	}
	if (understood(fd))
		*attr = a;
	else
		fd = open_without(o, attr, pid, cpu, group_fd);
	if (!hides_kernel(fd, attr) || !o->may_drop_kernel)
		return fd;
	a = *attr;
	a.exclude_kernel = 1;
	a.exclude_hv = 1;
	no_kernel_chain(&a);
	int user_fd = try_open(o, &a, pid, cpu, group_fd);
	if (user_fd == -EACCES || user_fd == -EPERM)
		return fd; /* that was not the reason */
	*attr = a;
	return user_fd;
}

static int explain_denied(const struct perf_opener *o, int err, const char *name, s32 pid, s32 cpu,
			  struct diag *d)
{
	int paranoid = o->rights.paranoid;
	if (pid == -1 && (paranoid < 3 || !o->rights.perfmon)) {
		diag_error(
			d, err,
			"not permitted to measure %s on a whole CPU%s (perf_event_paranoid is %d)",
			name, cpu >= 0 ? "" : " set", paranoid);
		if (paranoid < 3)
			diag_hint(d, "a command or one of your own processes (-p) can be measured "
				     "without privileges");
		if (!o->rights.perfmon)
			diag_hint(d, "as root: sysctl kernel.perf_event_paranoid=0, or give the "
				     "program CAP_PERFMON");
	} else if (paranoid >= 3) {
		diag_error(
			d,
			err, "not permitted to use performance events at all (perf_event_paranoid is %d)",
			paranoid);
		/* Debian's level 3 asks for CAP_SYS_ADMIN. */
		diag_hint(d, "as root: sysctl kernel.perf_event_paranoid=2%s",
			  o->rights.perfmon ? " (CAP_PERFMON is not enough in this kernel)"
					    : ", or give the program CAP_PERFMON");
	} else {
		diag_error(d, err, "not permitted to measure %s of process %d", name, pid);
		diag_hint(d, "it runs as another user or with more privileges: measure it as root");
	}
	return err;
}

int perf_opener_explain(const struct perf_opener *o, int err, const struct perf_event_attr *attr,
			const char *name, s32 pid, s32 cpu, struct diag *d)
{
	bool branches = attr->sample_type & PERF_SAMPLE_BRANCH_STACK;
	if (branches && (err == -EOPNOTSUPP || err == -EINVAL || err == -ENOENT || err == -ENODEV)) {
		diag_error(d, err, "%s: cannot record branches", name);
		diag_hint(d, "branch stacks need hardware support (LBR, BRBE, AMD BRS) and a "
			     "hardware event; virtual machines rarely have it");
		return err;
	}
	switch (err) {
	case -EACCES:
	case -EPERM: return explain_denied(o, err, name, pid, cpu, d);
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		diag_error(d, err, "%s: not supported on this machine", name);
		if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
		    attr->type == PERF_TYPE_RAW)
			diag_hint(d, "there are no hardware counters (a virtual machine?); "
				     "cpu-clock samples by timer");
		return err;
	case -EOPNOTSUPP:
		diag_error(d, err, "%s: not supported by the PMU%s", name,
			   attr->precise_ip ? " precisely" : "");
		if (attr->sample_period)
			diag_hint(d,
				  "it may have no overflow interrupt: count it with `sonde stat -e "
				  "%s`",
				  name);
		return err;
	case -EMFILE:
		diag_error(d, err, "too many open files: each event needs one per thread and CPU");
		diag_hint(d, "raise the limit with ulimit -n, or use -a instead of many threads");
		return err;
	case -ENFILE: return diag_error(d, err, "the system is out of file handles (fs.file-max)");
	case -EBUSY:
		diag_error(d, err, "%s: the PMU is in use by another process", name);
		return err;
	case -ENOSPC:
		return diag_error(d, err,
				  "%s: no free hardware slot (breakpoints, AUX, pinned counters)",
				  name);
	case -ESRCH: return diag_error(d, err, "no such process: %d", pid);
	case -ENOSYS:
		diag_error(d, err,
			   "this kernel has no performance events (CONFIG_PERF_EVENTS), or a "
			   "seccomp filter denies them");
		return err;
	case -EINVAL:
		diag_error(d, err, "%s: combination not supported by the kernel", name);
		if (attr->freq && o->rights.max_rate_hz && attr->sample_freq > o->rights.max_rate_hz)
			diag_hint(d, "-F %llu exceeds kernel.perf_event_max_sample_rate, %llu",
				  (unsigned long long)attr->sample_freq,
				  (unsigned long long)o->rights.max_rate_hz);
		if (attr->use_clockid)
			diag_hint(d, "the clock of -k may not be supported; try -k mono");
		return err;
	default: return diag_error(d, err, "%s: %s", name, strerror(-err));
	}
}

static int ioctl_errno(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

int perf_event_id(int fd, u64 *ret)
{
	u64 id;
	int err = ioctl_errno(fd, PERF_EVENT_IOC_ID, &id);
	if (!err)
		*ret = id;
	return err;
}

int perf_event_enable(int fd)
{
	return ioctl_errno(fd, PERF_EVENT_IOC_ENABLE, NULL);
}

int perf_event_disable(int fd)
{
	return ioctl_errno(fd, PERF_EVENT_IOC_DISABLE, NULL);
}

int perf_event_redirect(int fd, int to_fd)
{
	return ioctl_errno(fd, PERF_EVENT_IOC_SET_OUTPUT, (void *)(long)to_fd);
}

int perf_event_pause_output(int fd, bool pause)
{
	return ioctl_errno(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, (void *)(long)pause);
}

int perf_event_set_filter(int fd, const char *filter)
{
	return ioctl_errno(fd, PERF_EVENT_IOC_SET_FILTER, (void *)(uintptr_t)filter);
}
