/* Events are opened for their targets: threads and CPUs, each CPU with a ring that all its events share. */
#include "stream/live_perf_impl.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum {
	LIST_ROUNDS = 8, /* how often threads are listed again until no new one shows up */
	GROUP_IS_WEAK = -EXDEV, /* of ours: weak_group cannot be one group */
};

/* ---- targets ---------------------------------------------------------------------------------------------------- */

static bool has_tid(const struct live_perf *lp, s32 tid)
{
	for (size_t i = 0; i < lp->tids.nr; i++)
		if (lp->tids.at[i] == tid)
			return true;
	return false;
}

static int add_tid(struct live_perf *lp, s32 tid)
{
	s32 *slot = vec_push(&lp->tids);
	if (!slot)
		return -ENOMEM;
	*slot = tid;
	return 0;
}

/* Threads of the processes that are not targets yet are appended. */
static int list_threads(struct live_perf *lp, struct procfs *proc, struct diag *d)
{
	for (size_t i = 0; i < lp->opts.nr_pids; i++) {
		s32 *tids;
		size_t nr;
		int err = procfs_tids(proc, lp->opts.pids[i], &tids, &nr);
		if (err == -ESRCH && lp->tids.nr)
			continue; /* it ended while we were at it */
		if (err)
			return diag_error(d, err, "no such process: %d", lp->opts.pids[i]);
		size_t known = lp->tids.nr;
		for (size_t k = 0; k < nr; k++) {
			if (known && has_tid(lp, tids[k]))
				continue;
			err = add_tid(lp, tids[k]);
			if (err)
				return err;
		}
	}
	return 0;
}

static int list_targets(struct live_perf *lp, struct procfs *proc, struct diag *d)
{
	if (lp->opts.system_wide)
		return 0;
	int err = lp->opts.command_pid ? add_tid(lp, lp->opts.command_pid) : 0;
	for (size_t i = 0; i < lp->opts.nr_tids && !err; i++)
		err = add_tid(lp, lp->opts.tids[i]);
	return err ? err : list_threads(lp, proc, d);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static bool is_missing_pmu(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -ENXIO || err == -EOPNOTSUPP;
}

/* cycles without a PMU become cpu-clock: the profile people wanted, taken by timer. */
static bool fall_back_to_clock(struct live_event *e, struct diag *d)
{
	struct perf_event_attr *a = &e->attr;
	if (!e->desc || a->type != PERF_TYPE_HARDWARE || a->config != PERF_COUNT_HW_CPU_CYCLES)
		return false;
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_CPU_CLOCK;
	a->precise_ip = 0;
	/* As it was asked for: what the rights take away is said and added later. */
	const struct perf_event_attr *asked = &e->desc->attr;
	const char *name = asked->exclude_kernel ? "cpu-clock:u"
			   : asked->exclude_user ? "cpu-clock:k"
						 : "cpu-clock";
	diag_note(d, "%s: no hardware counters; sampling by timer (%s)", e->name, name);
	char *copy = strdup(name);
	if (!copy)
		return false;
	free(e->name);
	e->name = copy;
	return true;
}

/* Modifiers follow the last colon; a tracepoint's name has one of its own. */
static const char *modifiers(const struct live_event *e)
{
	const char *first = strchr(e->name, ':');
	bool tracepoint = e->desc && e->desc->kind == EVENT_KIND_TRACEPOINT;
	return tracepoint && first ? strchr(first + 1, ':') : first;
}

static int note_user_only(struct live_perf *lp, struct live_event *e, struct diag *d)
{
	if (!e->tracking) {
		diag_note(d, "%s: user space only (:u), because perf_event_paranoid is %d", e->name,
			  lp->opener.rights.paranoid);
		diag_hint(d, "as root: sysctl kernel.perf_event_paranoid=1 includes the kernel");
	}
	const char *mods = modifiers(e);
	if (mods && strchr(mods, 'u'))
		return 0;
	char *name;
	if (asprintf(&name, "%s%s", e->name, mods ? "u" : ":u") < 0)
		return -ENOMEM;
	free(e->name);
	e->name = name;
	return 0;
}

static int open_event(struct live_perf *lp, struct live_event *e, s32 tid, s32 cpu, int group_fd,
		      struct diag *d)
{
	bool first = !e->ids.nr;
	bool saw_kernel = !e->attr.exclude_kernel;
	lp->opener.may_drop_kernel =
		first && !lp->opts.only_kernel && !(e->desc && e->desc->has_exclude);
	int fd = perf_opener_open(&lp->opener, &e->attr, tid, cpu, group_fd);
	if (fd == -EINVAL && first && e->attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT) {
		/* Before 5.12 a weight was one number. */
		e->attr.sample_type ^= PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_WEIGHT;
		fd = perf_opener_open(&lp->opener, &e->attr, tid, cpu, group_fd);
	}
	if (fd < 0 && first && is_missing_pmu(fd) && !lp->opts.branches && fall_back_to_clock(e, d))
		fd = perf_opener_open(&lp->opener, &e->attr, tid, cpu, group_fd);
	if (fd >= 0 && saw_kernel && e->attr.exclude_kernel && note_user_only(lp, e, d)) {
		close(fd);
		return -ENOMEM;
	}
	return fd;
}

/* tid: of a ring that belongs to a thread (--per-thread); 0: to all on that CPU. */
static struct live_ring *find_ring(struct live_perf *lp, u32 cpu, s32 tid, bool overwrite)
{
	struct live_ring *at = overwrite ? lp->kept.at : lp->rings.at;
	size_t nr = overwrite ? lp->kept.nr : lp->rings.nr;
	for (size_t i = 0; i < nr; i++)
		if (at[i].cpu == cpu && at[i].tid == tid)
			return &at[i];
	return NULL;
}

/* Halves the ring until the user may lock it. */
static int map_ring(struct live_perf *lp, struct live_ring *r, int fd, bool overwrite,
		    struct diag *d)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);
	u64 wanted = lp->ring_bytes;
	int err;
	while ((err = perf_ring_open(&r->ring, fd, lp->ring_bytes / page, overwrite)) == -EPERM &&
	       lp->ring_bytes > page)
		lp->ring_bytes /= 2;
	if (err) {
		diag_error(d, err, "cannot map %llu KiB of ring buffer per CPU: %s",
			   (unsigned long long)wanted >> 10, strerror(-err));
		diag_hint(d, "use a smaller -m, `ulimit -l`, or as root: sysctl "
			     "kernel.perf_event_mlock_kb=HIGHER");
		return err;
	}
	if (lp->ring_bytes != wanted) {
		diag_warn(
			d, "ring buffers are %llu KiB instead of %llu: the limit for locked memory is reached",
			(unsigned long long)lp->ring_bytes >> 10, (unsigned long long)wanted >> 10);
		diag_hint(d, "use ulimit -l, or as root: sysctl kernel.perf_event_mlock_kb=HIGHER");
	}
	return 0;
}

/* fd gets a ring of its CPU or thread, or shares it. */
static int attach_ring(struct live_perf *lp, struct live_fd *f, u32 cpu, s32 tid, struct diag *d)
{
	s32 of = lp->opts.per_thread ? tid : 0;
	struct live_ring *r = find_ring(lp, cpu, of, f->overwrite);
	struct live_ring **first = f->overwrite ? &lp->kept.at : &lp->rings.at;
	if (r) {
		f->ring = (u32)(r - *first);
		int err = perf_event_redirect(f->fd, r->owner_fd);
		return err ? diag_error(d, err, "cannot share the ring buffer of %s %d: %s",
					of ? "thread" : "CPU", of ? of : (s32)cpu, strerror(-err))
			   : 0;
	}
	r = f->overwrite ? vec_push(&lp->kept) : vec_push(&lp->rings);
	if (!r)
		return -ENOMEM;
	*r = (struct live_ring){ .cpu = cpu, .tid = of, .owner_fd = f->fd };
	f->ring = (u32)(r - *first);
	int err = map_ring(lp, r, f->fd, f->overwrite, d);
	if (err && f->overwrite)
		lp->kept.nr--;
	else if (err)
		lp->rings.nr--;
	return err;
}

/* It gets its ring and its place in the lists, or is closed. */
static int add_fd(struct live_perf *lp, u32 event, u32 step, int fd, s32 tid, u32 cpu,
		  struct diag *d)
{
	struct live_event *e = &lp->events.at[event];
	struct live_fd opened = {
		.fd = fd, .event = event, .step = (u8)step, .overwrite = e->attr.write_backward
	};
	u64 id = 0;
	int err = attach_ring(lp, &opened, cpu, tid, d);
	if (!err)
		err = perf_event_id(fd, &id);
	if (!err && e->desc && e->desc->filter) {
		err = perf_event_set_filter(fd, e->desc->filter);
		if (err)
			diag_error(d, err, "%s: the kernel rejected the filter '%s'", e->name,
				   e->desc->filter);
	}
	struct live_fd *f = err ? NULL : vec_push(&lp->fds);
	struct synth_id *ix = f ? vec_push(&lp->ids) : NULL;
	u64 *slot = ix ? vec_push(&e->ids) : NULL;
	if (!slot) {
		if (f)
			lp->fds.nr--;
		close(fd);
		return err ? err : -ENOMEM;
	}
	*f = opened;
	*ix = (struct synth_id){ .id = id, .event = event, .cpu = cpu, .tid = (u64)(s64)tid };
	*slot = id;
	return 0;
}

/* Once more for each larger size of stack copies. With no more files to be had, copies stay as they are. pid: the task's or a cgroup's. */
static int open_larger(struct live_perf *lp, u32 event, s32 pid, s32 tid, u32 cpu, struct diag *d)
{
	for (u32 step = 1; step < LIVE_STACK_SIZES; step++) {
		struct live_event *e = &lp->events.at[event];
		struct perf_event_attr attr;
		if (!live_perf_larger_attr(lp, e, step, &attr))
			return 0;
		lp->opener.may_drop_kernel = false;
		int fd = perf_opener_open(&lp->opener, &attr, pid, (s32)cpu, -1);
		if (fd == -EMFILE || fd == -ENFILE) {
			lp->opts.larger_stacks = false;
			return 0;
		}
		if (fd < 0 && fd != -ESRCH)
			perf_opener_explain(&lp->opener, fd, &attr, e->name, tid, (s32)cpu, d);
		int err = fd < 0 ? fd : add_fd(lp, event, step, fd, tid, cpu, d);
		if (err)
			return err;
	}
	return 0;
}

/* One event on one thread (-1: all) and CPU. group_fds: by event, of this thread and CPU. -ESRCH: the thread is gone. */
static int open_one(struct live_perf *lp, u32 event, s32 tid, u32 cpu, int *group_fds,
		    struct diag *d)
{
	struct live_event *e = &lp->events.at[event];
	int cgroup = lp->opts.cgroups && !e->tracking ? lp->opts.cgroups[event] : -1;
	lp->opener.flags = cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0;
	int fd = open_event(lp, e, cgroup >= 0 ? cgroup : tid, (s32)cpu,
			    e->leader == event ? -1 : group_fds[e->leader], d);
	if (fd == -ESRCH && lp->tids.nr > 1)
		return fd;
	if (fd < 0 && e->leader != event && e->desc && e->desc->weak) {
		lp->weak_group = e->leader;
		return GROUP_IS_WEAK;
	}
	if (fd < 0) {
		if (cgroup >= 0 && fd == -ENOENT && e->attr.type == PERF_TYPE_SOFTWARE)
			return diag_error(
				d,
				fd, "-G: the mounted cgroups do not support events (no perf_event controller)");
		if (is_missing_pmu(fd) && e->desc && e->desc->why_not && !lp->opts.branches)
			return diag_error(d, fd, "%s: %s", e->name, e->desc->why_not);
		perf_opener_explain(&lp->opener, fd, &e->attr, e->name, tid, (s32)cpu, d);
		return fd;
	}
	group_fds[event] = fd;
	int err = add_fd(lp, event, 0, fd, tid, cpu, d);
	if (!err && e->whole_cpus)
		err = lp->opts.output->add_cpu(lp->opts.output->ctx, cpu, fd);
	return err ? err : open_larger(lp, event, cgroup >= 0 ? cgroup : tid, tid, cpu, d);
}

static bool wanted_on(const struct live_perf *lp, const struct live_event *e, u32 cpu)
{
	if (e->tracking)
		return true;
	return (!lp->opts.cpus || cpuset_has(lp->opts.cpus, cpu)) &&
	       (!e->cpus || cpuset_has(e->cpus, cpu));
}

/* cpu -1: wherever the thread runs. */
static int open_events(struct live_perf *lp, s32 tid, s32 cpu, int *group_fds, struct diag *d)
{
	for (u32 i = 0; i < lp->events.nr; i++) {
		if (cpu >= 0 && !wanted_on(lp, &lp->events.at[i], (u32)cpu))
			continue;
		if (tid != -1 && lp->events.at[i].whole_cpus)
			continue;
		int err = open_one(lp, i, tid, (u32)cpu, group_fds, d);
		if (err)
			return err;
	}
	return 0;
}

/* Where programs write: before all others, so that the rings are theirs, too. */
static int open_outputs(struct live_perf *lp, struct diag *d)
{
	_cleanup_free_ int *group_fds = calloc(lp->events.nr, sizeof(int));
	int err = group_fds ? 0 : -ENOMEM;
	for (u32 i = 0; i < lp->events.nr && !err; i++) {
		if (!lp->events.at[i].whole_cpus)
			continue;
		for (int cpu = cpuset_next(&lp->online, 0); cpu >= 0 && !err;
		     cpu = cpuset_next(&lp->online, (u32)cpu + 1))
			if (wanted_on(lp, &lp->events.at[i], (u32)cpu))
				err = open_one(lp, i, -1, (u32)cpu, group_fds, d);
	}
	lp->nr_lasting = lp->fds.nr;
	return err;
}

static int tell_output(const struct live_perf *lp, s32 tid)
{
	const struct live_output *out = lp->opts.output;
	bool until_exec = tid == lp->opts.command_pid && !lp->opts.no_exec_start;
	return out ? out->add_target(out->ctx, tid, until_exec) : 0;
}

/* Everything for one thread. A thread that ends in between is left half open: it will not run any more. */
static int open_target(struct live_perf *lp, s32 tid, struct diag *d)
{
	_cleanup_free_ int *group_fds = calloc(lp->events.nr, sizeof(int));
	if (!group_fds)
		return -ENOMEM;
	int err = lp->opts.per_thread ? open_events(lp, tid, -1, group_fds, d) : 0;
	for (int cpu = lp->opts.per_thread ? -1 : cpuset_next(&lp->online, 0); cpu >= 0 && !err;
	     cpu = cpuset_next(&lp->online, (u32)cpu + 1))
		err = open_events(lp, tid, cpu, group_fds, d);
	return err == -ESRCH && lp->tids.nr > 1 ? 0 : err;
}

static int open_targets(struct live_perf *lp, struct diag *d)
{
	struct procfs proc;
	procfs_init(&proc, lp->root);
	int err = list_targets(lp, &proc, d);
	if (!err && lp->opts.system_wide)
		err = open_target(lp, -1, d);
	else if (!err && lp->opts.output)
		err = open_outputs(lp, d);
	size_t opened = 0;
	for (int round = 0; !err && round < LIST_ROUNDS && opened < lp->tids.nr; round++) {
		for (; opened < lp->tids.nr && !err; opened++) {
			err = open_target(lp, lp->tids.at[opened], d);
			if (!err)
				err = tell_output(lp, lp->tids.at[opened]);
		}
		/* Threads made by threads we had not reached yet did not inherit anything. */
		if (!err)
			err = list_threads(lp, &proc, d);
	}
	procfs_done(&proc);
	if (!err && lp->fds.nr == lp->nr_lasting)
		err = diag_error(d, -ESRCH, "the process exited before it could be measured");
	return err;
}

static void close_targets(struct live_perf *lp)
{
	vec_for_each (&lp->rings, ring)
		perf_ring_close(&ring->ring);
	vec_for_each (&lp->kept, ring)
		perf_ring_close(&ring->ring);
	vec_for_each (&lp->fds, f)
		close(f->fd);
	vec_for_each (&lp->events, e)
		e->ids.nr = 0;
	lp->rings.nr = lp->kept.nr = lp->fds.nr = lp->ids.nr = lp->tids.nr = 0;
	lp->nr_lasting = 0;
}

int live_perf_open_targets(struct live_perf *lp, struct diag *d)
{
	int err;
	while ((err = open_targets(lp, d)) == GROUP_IS_WEAK) {
		close_targets(lp);
		live_perf_break_group(lp, d);
	}
	return err;
}
