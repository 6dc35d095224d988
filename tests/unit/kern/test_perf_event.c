/* Opening events on kernels that are older, stricter or fuller than this one: each is a function that refuses as they do. */
#include "kern/perf_event.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static unsigned nr_calls;

static long yes(void)
{
	nr_calls++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static long no(int err)
{
	nr_calls++;
	errno = err;
	return -1;
}

/* 5.4: before build ids (5.12), cgroup records (5.7) and lost counts (6.0). */
static long kernel_5_4(struct perf_event_attr *a, s32 pid, s32 cpu, int group_fd,
		       unsigned long flags)
{
	(void)pid, (void)cpu, (void)group_fd, (void)flags;
	return a->build_id || a->cgroup || a->read_format & PERF_FORMAT_LOST ? no(EINVAL) : yes();
}

/* 3.10: knows side-band times and nothing that came later, not even close-on-exec. */
static long kernel_3_10(struct perf_event_attr *a, s32 pid, s32 cpu, int group_fd,
			unsigned long flags)
{
	(void)pid, (void)cpu, (void)group_fd;
	bool modern = a->build_id || a->cgroup || a->read_format & PERF_FORMAT_LOST ||
		      a->bpf_event || a->ksymbol || a->namespaces || a->comm_exec || a->mmap2 ||
		      flags & PERF_FLAG_FD_CLOEXEC;
	return modern ? no(EINVAL) : yes();
}

static long paranoid_2(struct perf_event_attr *a, s32 pid, s32 cpu, int group_fd,
		       unsigned long flags)
{
	(void)cpu, (void)group_fd, (void)flags;
	return pid == -1 || !a->exclude_kernel ? no(EACCES) : yes();
}

/* 6.12.115: looks at the call chain's kernel part too. */
static long paranoid_chains(struct perf_event_attr *a, s32 pid, s32 cpu, int group_fd,
			    unsigned long flags)
{
	bool kernel_chain = a->sample_type & PERF_SAMPLE_CALLCHAIN && !a->exclude_callchain_kernel;
	return kernel_chain ? no(EACCES) : paranoid_2(a, pid, cpu, group_fd, flags);
}

/* Both: the bits are looked at first. */
static long paranoid_5_4(struct perf_event_attr *a, s32 pid, s32 cpu, int group_fd,
			 unsigned long flags)
{
	long fd = kernel_5_4(a, pid, cpu, group_fd, flags);
	if (fd < 0)
		return fd;
	close((int)fd);
	return paranoid_2(a, pid, cpu, group_fd, flags);
}

static long imprecise(struct perf_event_attr *a, s32 pid, s32 cpu, int group_fd, unsigned long flags)
{
	(void)pid, (void)cpu, (void)group_fd, (void)flags;
	return a->precise_ip > 1 ? no(EOPNOTSUPP) : yes();
}

static long no_pmu(struct perf_event_attr *a, s32 pid, s32 cpu, int group_fd, unsigned long flags)
{
	(void)a, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	return no(ENOENT);
}

static long never(struct perf_event_attr *a, s32 pid, s32 cpu, int group_fd, unsigned long flags)
{
	(void)a, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	return no(EINVAL);
}

static long few_files(struct perf_event_attr *a, s32 pid, s32 cpu, int group_fd, unsigned long flags)
{
	struct rlimit lim;
	(void)a, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	getrlimit(RLIMIT_NOFILE, &lim);
	return lim.rlim_cur < 100 ? no(EMFILE) : yes();
}

static struct perf_event_attr full(void)
{
	return (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE,
					 .sample_id_all = 1,
					 .mmap = 1,
					 .mmap2 = 1,
					 .build_id = 1,
					 .comm = 1,
					 .comm_exec = 1,
					 .ksymbol = 1,
					 .bpf_event = 1,
					 .cgroup = 1,
					 .exclude_guest = 1,
					 .read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST };
}

static int try_on(struct perf_opener *o, __typeof__(o->sys_open) kernel, struct perf_event_attr *a,
		  s32 pid)
{
	nr_calls = 0;
	o->sys_open = kernel;
	int fd = perf_opener_open(o, a, pid, 0, -1);
	if (fd >= 0)
		close(fd);
	return min(fd, 0);
}

int main(void)
{
	struct sysroot root;
	struct perf_opener o;
	struct diag d;
	diag_init(&d);
	if (sysroot_open(&root, TEST_DATA "/sysroot/epyc2"))
		return 1;

	perf_opener_init(&o, &root);
	struct perf_event_attr a = full();
	ok(!try_on(&o, kernel_5_4, &a, 1), "5.4 opens it");
	ok(!a.build_id && !a.cgroup && !(a.read_format & PERF_FORMAT_LOST),
	   "without what it does not know");
	ok(a.bpf_event && a.ksymbol && a.mmap2 && a.comm_exec && a.sample_id_all && a.exclude_guest,
	   "with all it does");
	is_u64(o.missing,
	       1u << ATTR_PART_BUILD_ID | 1u << ATTR_PART_CGROUP | 1u << ATTR_PART_READ_LOST,
	       "and that is remembered");
	a = full();
	ok(!try_on(&o, kernel_5_4, &a, 1) && nr_calls == 1, "the next one opens at once");

	perf_opener_init(&o, &root);
	a = full();
	ok(!try_on(&o, kernel_3_10, &a, 1) && o.no_cloexec, "3.10 opens it, without close-on-exec");
	ok(!a.mmap2 && !a.bpf_event && a.mmap && a.comm && a.sample_id_all && a.exclude_guest,
	   "with what it knows");

	perf_opener_init(&o, &root);
	a = full();
	ok(try_on(&o, paranoid_2, &a, 1) == -EACCES && !a.exclude_kernel,
	   "paranoid 2: not behind the caller's back");
	o.may_drop_kernel = true;
	ok(!try_on(&o, paranoid_2, &a, 1) && a.exclude_kernel && a.exclude_hv,
	   "paranoid 2: without the kernel when allowed to");
	a = full();
	ok(try_on(&o, paranoid_2, &a, -1) == -EACCES && !a.exclude_kernel,
	   "paranoid 2: a whole CPU stays refused");
	perf_opener_explain(&o, -EACCES, &a, "cycles", -1, 0, &d);
	ok(d.items.nr == 1 && strstr(d.items.at[0].message, "perf_event_paranoid is 2"),
	   "and the reason is named");
	perf_opener_init(&o, &root);
	o.may_drop_kernel = true;
	a = full();
	ok(!try_on(&o, paranoid_5_4, &a, 1) && a.exclude_kernel && !a.build_id && a.bpf_event,
	   "older and paranoid");
	a = full();
	a.exclude_user = 1;
	ok(try_on(&o, paranoid_2, &a, 1) == -EACCES && a.exclude_user,
	   "kernel only is never turned into nothing");

	a = full();
	a.sample_type = PERF_SAMPLE_CALLCHAIN;
	ok(!try_on(&o, paranoid_chains, &a, 1) && a.exclude_callchain_kernel,
	   "chains without the kernel's part");
	a = full();
	a.sample_type = PERF_SAMPLE_CALLCHAIN;
	a.exclude_kernel = 1;
	o.may_drop_kernel = false;
	ok(!try_on(&o, paranoid_chains, &a, 1) && nr_calls == 1, "also when :u was asked for");

	perf_opener_init(&o, &root);
	a = full();
	a.precise_ip = 3;
	ok(!try_on(&o, imprecise, &a, 1) && a.precise_ip == 1, "as precise as it goes");
	a = full();
	ok(try_on(&o, no_pmu, &a, 1) == -ENOENT && nr_calls == 1,
	   "a missing event is told at once");
	a = full();
	struct perf_event_attr before = a;
	before.size = sizeof(before);
	ok(try_on(&o, never, &a, 1) == -EINVAL && !o.missing && !o.no_cloexec,
	   "a refusal for other reasons blames no feature");
	ok(!memcmp(&a, &before, sizeof(a)), "and changes nothing");

	struct rlimit old, low;
	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = 50;
	setrlimit(RLIMIT_NOFILE, &low);
	a = full();
	ok(!try_on(&o, few_files, &a, 1) && o.files_raised,
	   "the limit on open files is raised when it is hit");
	setrlimit(RLIMIT_NOFILE, &old);
	sysroot_close(&root);
	diag_done(&d);
	return done_testing();
}
