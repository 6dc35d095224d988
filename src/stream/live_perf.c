#include "stream/live_perf.h"

#include "arch/arch.h"
#include "kern/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	RING_BYTES_DEFAULT = 512 << 10,
	FREQ_DEFAULT_HZ = 4000,
	BUSY_PART = 4, /* a ring with a part of this size to read is filled fast */
	READERS = 8, /* as many as are started before one gets more than its least */
	RINGS_PER_READER_MIN = 2,
	LIST_ROUNDS = 8, /* how often threads are listed again until no new one shows up */
	EPOLL_STOP = -1,
	EPOLL_POKE = -2,
	GROUP_IS_WEAK = -EXDEV, /* of ours: weak_group cannot be one group */
	EPOLL_BATCH = 64,
	FIRST_FLUSH_NS = 30000000,
	ROUNDS_OWED = 2, /* what came is settled by the end of the round after its own */
};

struct live_fd {
	int fd;
	u32 event;
	u32 ring; /* of `rings`, or of `kept` */
	bool overwrite;
	bool gone;
};

struct live_ring {
	struct perf_ring ring;
	u32 cpu;
	int owner_fd;
	u64 taken; /* overwritten ones: the head at the last snapshot */
};

struct live_reader {
	struct live_perf *lp;
	pthread_t thread;
	bool running;
	unsigned index;
	s32 tid; /* 0: it has not begun */
	u32 first_ring, nr_rings;
	int epoll_fd;
	u64 done_round;
	bool busy; /* its last pass found a lot */
	u64 poked; /* the last call to empty the rings that it followed */
	int err;
};

struct live_perf {
	const struct sysroot *root;
	struct perf_opener opener;
	struct live_opts opts;
	VEC(struct live_event) events;
	struct cpuset online;
	VEC(s32) tids; /* targets; empty: whole CPUs */
	VEC(struct live_fd) fds;
	VEC(struct synth_id) ids; /* one a fd, same index */
	VEC(struct live_ring) rings;
	VEC(struct live_ring) kept; /* overwritten ones: nobody reads them before a snapshot */
	VEC(struct live_reader) readers;
	u32 weak_group;
	u64 ring_bytes;
	struct live_sink sink;
	int stop_fd;
	int gone_fd;
	int poke_fd; /* readable while readers are asked to empty their rings */
	u64 poke;
	size_t nr_gone;
	u64 round; /* from 1 */
	u64 claimed; /* the round whose end is being written */
	u32 rounds_owed; /* that end without data */
	bool stopping;
	bool failed;
	pthread_cond_t begun; /* a reader has its tid, or has followed a poke */
	pthread_mutex_t lock; /* tid of readers, poke, poked, nr_gone, round, claimed, done_round, rounds_owed */
};

/* ---- events ----------------------------------------------------------------------------------------------------- */

static struct live_event *add_event(struct live_perf *lp, const char *name,
				    const struct perf_event_attr *attr)
{
	struct live_event *e = vec_push(&lp->events);
	if (!e)
		return NULL;
	e->attr = *attr;
	e->leader = (u32)lp->events.nr - 1;
	e->nr_members = 1;
	e->name = strdup(name);
	return e->name ? e : NULL;
}

/* What cannot be sampled this way is refused with its reason. */
static int check_event(const struct live_perf *lp, const struct event_desc *desc, struct diag *d)
{
	int err = 0;
	if (desc->open != EVENT_OPEN_PERF)
		err = diag_error(d, -EINVAL, "%s cannot be sampled", desc->name);
	else if (desc->is_uncore && !lp->opts.system_wide)
		err = diag_error(d, -EINVAL, "%s belongs to no process: it needs -a", desc->name);
	if (err)
		diag_span(d, desc->text, desc->span.start, desc->span.len);
	return err;
}

static int add_events(struct live_perf *lp, struct diag *d)
{
	const struct event_list *list = lp->opts.events;
	for (size_t i = 0; i < list->events.nr; i++) {
		const struct event_desc *desc = &list->events.at[i];
		int err = check_event(lp, desc, d);
		if (err)
			return err;
		struct live_event *e = add_event(lp, desc->name, &desc->attr);
		if (!e)
			return -ENOMEM;
		e->desc = desc;
		e->leader = desc->leader;
		e->nr_members = desc->nr_members;
		e->group_read = desc->sample_read;
		if (desc->precise_max)
			e->attr.precise_ip = 3;
		if (!desc->cpus)
			continue;
		e->cpus = malloc(sizeof(*e->cpus));
		if (!e->cpus)
			return -ENOMEM;
		err = cpuset_parse_list(desc->cpus, e->cpus, d);
		if (err)
			return err;
	}
	return 0;
}

static void set_tracking(const struct live_opts *o, struct perf_event_attr *a)
{
	a->context_switch = o->switches;
	a->namespaces = o->namespaces;
	a->mmap = 1;
	a->mmap2 = 1;
	a->build_id = 1;
	a->comm = 1;
	a->comm_exec = 1;
	a->task = 1;
	a->ksymbol = 1;
	a->bpf_event = !o->no_bpf_events;
}

/*
 * Records about tasks and maps come with the first event when that starts with the command's exec. Otherwise an event of
 * their own is needed: it counts from the start, while existing tasks are being listed, and on all CPUs.
 */
static int add_tracking(struct live_perf *lp)
{
	if (lp->opts.command_pid && !lp->opts.system_wide && !lp->opts.cpus &&
	    !lp->opts.no_exec_start && !lp->opts.overwrite) {
		set_tracking(&lp->opts, &lp->events.at[0].attr);
		return 0;
	}
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.size = sizeof(attr) };
	set_tracking(&lp->opts, &attr);
	struct live_event *e = add_event(lp, "dummy:HG", &attr);
	if (!e)
		return -ENOMEM;
	e->tracking = true;
	return 0;
}

/* -F, within what the system allows. */
static u64 usable_freq(const struct live_perf *lp, struct diag *d)
{
	u64 asked = lp->opts.freq_hz, hz = asked ? asked : FREQ_DEFAULT_HZ;
	u64 most = lp->opener.rights.max_rate_hz;
	if (lp->opts.period || !most || hz <= most)
		return hz;
	if (asked && asked != UINT64_MAX && lp->opts.strict_freq) {
		diag_error(d, -EINVAL, "-F %llu: the system allows %llu", (unsigned long long)hz,
			   (unsigned long long)most);
		diag_hint(d,
			  "without --strict-freq that is taken; as root: sysctl "
			  "kernel.perf_event_max_sample_rate=%llu",
			  (unsigned long long)hz);
		return 0;
	}
	if (asked && asked != UINT64_MAX) {
		diag_warn(d, "sampling at %llu Hz, not %llu: that is the system's limit",
			  (unsigned long long)most, (unsigned long long)hz);
		diag_hint(d, "as root: sysctl kernel.perf_event_max_sample_rate=%llu",
			  (unsigned long long)hz);
	}
	return most;
}

/* How often: by the event's own term, else by -c or -F, else every time (tracepoints), else 4000 times a second. */
static void set_pace(const struct live_perf *lp, struct live_event *e, u64 hz)
{
	struct perf_event_attr *a = &e->attr;
	const struct event_terms *terms = &e->desc->terms;
	bool asked = lp->opts.period || lp->opts.freq_hz;
	if (lp->opts.no_samples) {
		a->freq = 0;
		a->sample_period = 0;
	} else if (!terms->has_period && !terms->has_freq && (asked || !a->sample_period)) {
		a->freq = !lp->opts.period;
		if (lp->opts.period)
			a->sample_period = lp->opts.period;
		else
			a->sample_freq = hz;
	}
	if (a->freq)
		a->sample_type |= PERF_SAMPLE_PERIOD;
}

/* :S: only the leader takes samples; each holds the counts of all. */
static void set_group_read(struct live_perf *lp, struct live_event *e)
{
	struct perf_event_attr *a = &e->attr;
	const struct live_event *leader = &lp->events.at[e->leader];
	a->sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_IDENTIFIER;
	if (leader->nr_members > 1) {
		a->read_format |= PERF_FORMAT_GROUP;
		a->inherit = 0; /* a count that is handed on has no values of a group */
	}
	if (leader == e)
		return;
	a->sample_type = leader->attr.sample_type;
	a->freq = 0;
	a->sample_period = 0;
}

/* A group starts with its leader. */
static void set_start(const struct live_perf *lp, struct live_event *e)
{
	const struct live_opts *o = &lp->opts;
	e->attr.disabled = e->leader == (u32)(e - lp->events.at);
	e->attr.enable_on_exec =
		e->attr.disabled && o->command_pid && !o->system_wide && !o->no_exec_start;
}

/* What unwinding needs later. */
static void set_stack(const struct live_opts *o, struct perf_event_attr *a)
{
	const struct arch *arch = arch_host();
	a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a->sample_regs_user = arch ? arch->perf_mask : 0;
	a->sample_stack_user = o->stack_bytes;
	a->exclude_callchain_user |= o->kernel_chain;
	/* perf reads unwind tables as memory of the process: it must know the maps that hold them. */
	a->mmap_data |= a->mmap && o->kernel_chain;
}

/* The function tracer's own event. */
static bool is_function_event(const struct live_event *e)
{
	return e->attr.type == PERF_TYPE_TRACEPOINT && e->name &&
	       !strcmp(e->name, "ftrace:function");
}

static int configure(struct live_perf *lp, struct diag *d)
{
	const struct live_opts *o = &lp->opts;
	u64 hz = usable_freq(lp, d);
	if (!hz)
		return -EINVAL;
	bool many = lp->events.nr > 1 || lp->events.at[0].group_read;
	vec_for_each (&lp->events, e) {
		struct perf_event_attr *a = &e->attr;
		a->sample_type |=
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
		/* With several events each record must say whose it is, at a place that does not depend on that. */
		if (many)
			a->sample_type |= PERF_SAMPLE_IDENTIFIER;
		a->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
		a->sample_id_all = 1;
		a->inherit = !o->no_inherit && !o->system_wide;
		a->mmap_data = a->mmap && o->data_addr;
		a->wakeup_events = o->at_once;
		if (o->has_clock) {
			a->use_clockid = 1;
			a->clockid = o->clock_id;
		}
		if (e->tracking) {
			a->sample_period = 1;
			continue;
		}
		if (e->desc->terms.inherit >= 0)
			a->inherit = e->desc->terms.inherit && !o->system_wide;
		if (e->desc->terms.max_stack)
			a->sample_max_stack = (u16)min(e->desc->terms.max_stack, (u32)UINT16_MAX);
		set_start(lp, e);
		a->write_backward = o->overwrite;
		a->inherit_stat = o->per_thread_counts && a->inherit;
		if (o->only_user || o->only_kernel) {
			a->exclude_user = !o->only_user;
			a->exclude_kernel = !o->only_kernel;
		}
		if (o->data_addr)
			a->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
		a->sample_type |= o->more;
		if (o->running_times || o->per_thread_counts)
			a->read_format |=
				PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		if (o->period_too)
			a->sample_type |= PERF_SAMPLE_PERIOD;
		if (o->call_graph) {
			a->sample_type |= PERF_SAMPLE_CALLCHAIN;
			a->exclude_callchain_user = o->no_user_chain;
			a->exclude_callchain_kernel = o->no_kernel_chain;
		}
		if (o->stack_bytes)
			set_stack(o, a);
		if (a->type == PERF_TYPE_TRACEPOINT)
			a->sample_type |= PERF_SAMPLE_RAW;
		/* Reading user memory may fault, and what handles faults may be traced: the kernel insists. */
		if (is_function_event(e))
			a->exclude_callchain_user = 1;
		if (o->weight)
			a->sample_type |= PERF_SAMPLE_WEIGHT_STRUCT;
		if (o->branches) {
			a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
			a->branch_sample_type = o->branches;
		}
		set_pace(lp, e, hz);
		if (e->group_read)
			set_group_read(lp, e);
	}
	return 0;
}

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
			return diag_error(d, err, "there is no process %d", lp->opts.pids[i]);
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
	diag_note(d, "%s: there is no hardware counter here; sampling by timer (%s)", e->name, name);
	char *copy = strdup(name);
	if (!copy)
		return false;
	free(e->name);
	e->name = copy;
	return true;
}

/* Modifiers stand behind the last colon; a tracepoint's name has one of its own. */
static const char *modifiers(const struct live_event *e)
{
	const char *first = strchr(e->name, ':');
	bool tracepoint = e->desc && e->desc->kind == EVENT_KIND_TRACEPOINT;
	return tracepoint && first ? strchr(first + 1, ':') : first;
}

static int note_user_only(struct live_perf *lp, struct live_event *e, struct diag *d)
{
	if (!e->tracking) {
		diag_note(d, "%s: only user space (:u), because perf_event_paranoid is %d", e->name,
			  lp->opener.rights.paranoid);
		diag_hint(
			d,
			"as root: sysctl kernel.perf_event_paranoid=1 shows the kernel's part too");
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

static struct live_ring *ring_of_cpu(struct live_perf *lp, u32 cpu, bool overwrite)
{
	struct live_ring *at = overwrite ? lp->kept.at : lp->rings.at;
	size_t nr = overwrite ? lp->kept.nr : lp->rings.nr;
	for (size_t i = 0; i < nr; i++)
		if (at[i].cpu == cpu)
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
		diag_error(d, err, "cannot map %llu KiB of ring memory a CPU: %s",
			   (unsigned long long)wanted >> 10, strerror(-err));
		diag_hint(d, "a smaller -m, `ulimit -l`, or as root: sysctl "
			     "kernel.perf_event_mlock_kb=HIGHER");
		return err;
	}
	if (lp->ring_bytes != wanted) {
		diag_warn(
			d, "rings are %llu KiB instead of %llu: more memory may not be locked here",
			(unsigned long long)lp->ring_bytes >> 10, (unsigned long long)wanted >> 10);
		diag_hint(d, "ulimit -l, or as root: sysctl kernel.perf_event_mlock_kb=HIGHER");
	}
	return 0;
}

/* fd gets a ring of its CPU, or shares it. */
static int attach_ring(struct live_perf *lp, struct live_fd *f, u32 cpu, struct diag *d)
{
	struct live_ring *r = ring_of_cpu(lp, cpu, f->overwrite);
	struct live_ring **first = f->overwrite ? &lp->kept.at : &lp->rings.at;
	if (r) {
		f->ring = (u32)(r - *first);
		int err = perf_event_redirect(f->fd, r->owner_fd);
		return err ? diag_error(d, err, "cannot share the ring of CPU %u: %s", cpu,
					strerror(-err))
			   : 0;
	}
	r = f->overwrite ? vec_push(&lp->kept) : vec_push(&lp->rings);
	if (!r)
		return -ENOMEM;
	*r = (struct live_ring){ .cpu = cpu, .owner_fd = f->fd };
	f->ring = (u32)(r - *first);
	int err = map_ring(lp, r, f->fd, f->overwrite, d);
	if (err && f->overwrite)
		lp->kept.nr--;
	else if (err)
		lp->rings.nr--;
	return err;
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
				d, fd,
				"-G: the cgroups mounted here are not those that events can "
				"be bound to (no perf_event controller)");
		if (is_missing_pmu(fd) && e->desc && e->desc->why_not && !lp->opts.branches)
			return diag_error(d, fd, "%s: %s", e->name, e->desc->why_not);
		perf_opener_explain(&lp->opener, fd, &e->attr, e->name, tid, (s32)cpu, d);
		return fd;
	}
	group_fds[event] = fd;
	struct live_fd opened = { .fd = fd, .event = event, .overwrite = e->attr.write_backward };
	u64 id = 0;
	int err = attach_ring(lp, &opened, cpu, d);
	if (!err)
		err = perf_event_id(fd, &id);
	if (!err && e->desc && e->desc->filter) {
		err = perf_event_set_filter(fd, e->desc->filter);
		if (err)
			diag_error(d, err, "%s: the kernel refuses the filter '%s'", e->name,
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

static bool wanted_on(const struct live_perf *lp, const struct live_event *e, u32 cpu)
{
	if (e->tracking)
		return true;
	return (!lp->opts.cpus || cpuset_has(lp->opts.cpus, cpu)) &&
	       (!e->cpus || cpuset_has(e->cpus, cpu));
}

/* Everything for one thread. A thread that ends in between is left half open: it will not run any more. */
static int open_target(struct live_perf *lp, s32 tid, struct diag *d)
{
	_cleanup_free_ int *group_fds = calloc(lp->events.nr, sizeof(int));
	if (!group_fds)
		return -ENOMEM;
	for (int cpu = cpuset_next(&lp->online, 0); cpu >= 0;
	     cpu = cpuset_next(&lp->online, (u32)cpu + 1)) {
		for (u32 i = 0; i < lp->events.nr; i++) {
			if (!wanted_on(lp, &lp->events.at[i], (u32)cpu))
				continue;
			int err = open_one(lp, i, tid, (u32)cpu, group_fds, d);
			if (err == -ESRCH && lp->tids.nr > 1)
				return 0;
			if (err)
				return err;
		}
	}
	return 0;
}

static int open_targets(struct live_perf *lp, struct diag *d)
{
	struct procfs proc;
	procfs_init(&proc, lp->root);
	int err = list_targets(lp, &proc, d);
	if (!err && lp->opts.system_wide)
		err = open_target(lp, -1, d);
	size_t opened = 0;
	for (int round = 0; !err && round < LIST_ROUNDS && opened < lp->tids.nr; round++) {
		for (; opened < lp->tids.nr && !err; opened++)
			err = open_target(lp, lp->tids.at[opened], d);
		/* Threads made by threads we had not reached yet did not inherit anything. */
		if (!err)
			err = list_threads(lp, &proc, d);
	}
	procfs_done(&proc);
	if (!err && !lp->fds.nr)
		err = diag_error(d, -ESRCH, "the process ended before it could be measured");
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
}

/* weak_group becomes single events, each with its own pace. */
static void break_group(struct live_perf *lp, struct diag *d)
{
	u64 hz = usable_freq(lp, NULL);
	diag_note(d,
		  "%s and the others of its weak group (W) cannot be measured together; each is "
		  "by itself now",
		  lp->events.at[lp->weak_group].name);
	vec_for_each (&lp->events, e) {
		if (e->tracking || e->leader != lp->weak_group)
			continue;
		e->leader = (u32)(e - lp->events.at);
		e->nr_members = 1;
		e->attr.read_format &= ~(u64)PERF_FORMAT_GROUP;
		e->group_read = false;
		set_start(lp, e);
		set_pace(lp, e, hz);
	}
}

static int open_groups(struct live_perf *lp, struct diag *d)
{
	int err;
	while ((err = open_targets(lp, d)) == GROUP_IS_WEAK) {
		close_targets(lp);
		break_group(lp, d);
	}
	return err;
}

static int check_cpus(struct live_perf *lp, struct diag *d)
{
	if (!lp->opts.cpus)
		return 0;
	for (int cpu = cpuset_next(lp->opts.cpus, 0); cpu >= 0;
	     cpu = cpuset_next(lp->opts.cpus, (u32)cpu + 1)) {
		if (cpuset_has(&lp->online, (u32)cpu))
			continue;
		struct strbuf have;
		strbuf_init(&have);
		cpuset_add_list(&lp->online, &have);
		diag_error(d, -ENODEV, "CPU %d is not online; %s are", cpu, strbuf_cstr(&have));
		strbuf_done(&have);
		return -ENODEV;
	}
	return 0;
}

static int make_readers(struct live_perf *lp)
{
	u32 nr = (u32)lp->rings.nr;
	if (!lp->opts.rings_per_reader)
		lp->opts.rings_per_reader = max(nr / READERS, (u32)RINGS_PER_READER_MIN);
	lp->opts.rings_per_reader = min(lp->opts.rings_per_reader, (u32)LIVE_RINGS_PER_READER);
	for (u32 first = 0; first < nr; first += lp->opts.rings_per_reader) {
		struct live_reader *r = vec_push(&lp->readers);
		if (!r)
			return -ENOMEM;
		*r = (struct live_reader){ .lp = lp,
					   .index = (unsigned)lp->readers.nr - 1,
					   .first_ring = first,
					   .nr_rings = min(nr - first, lp->opts.rings_per_reader),
					   .epoll_fd = -1 };
		r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (r->epoll_fd < 0)
			return -errno;
		struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (u64)EPOLL_STOP };
		if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, lp->stop_fd, &ev))
			return -errno;
		ev.data.u64 = (u64)EPOLL_POKE;
		if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, lp->poke_fd, &ev))
			return -errno;
	}
	for (size_t i = 0; i < lp->fds.nr; i++) {
		const struct live_fd *f = &lp->fds.at[i];
		struct live_reader *r = &lp->readers.at[f->ring / lp->opts.rings_per_reader];
		/* Of a ring that is overwritten only the end of the target is news. */
		struct epoll_event ev = { .events = f->overwrite ? 0 : EPOLLIN, .data.u64 = i };
		if (epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, lp->fds.at[i].fd, &ev))
			return -errno;
	}
	return 0;
}

static u64 ring_bytes_for(u64 wanted)
{
	u64 bytes = (u64)sysconf(_SC_PAGESIZE);
	while (bytes < (wanted ? wanted : RING_BYTES_DEFAULT) && bytes < 1ull << 32)
		bytes *= 2;
	return bytes;
}

struct live_perf *live_perf_open(const struct sysroot *root, const struct live_opts *opts,
				 struct diag *d)
{
	struct live_perf *lp = calloc(1, sizeof(*lp));
	if (!lp) {
		diag_error(d, -ENOMEM, "no memory");
		return NULL;
	}
	lp->root = root;
	lp->opts = *opts;
	lp->round = 1;
	lp->ring_bytes = ring_bytes_for(opts->ring_bytes);
	if (!lp->opts.flush_ns)
		lp->opts.flush_ns = 1000000000ull;
	pthread_mutex_init(&lp->lock, NULL);
	pthread_cond_init(&lp->begun, NULL);
	perf_opener_init(&lp->opener, root);
	lp->opener.opened = opts->opened;
	lp->opener.opened_ctx = opts->opened_ctx;
	lp->stop_fd = eventfd(0, EFD_CLOEXEC);
	lp->gone_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	lp->poke_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int err = lp->stop_fd < 0 || lp->gone_fd < 0 || lp->poke_fd < 0
			  ? -errno
			  : cpu_online(root, &lp->online);
	if (!err)
		err = check_cpus(lp, d);
	if (!err)
		err = add_events(lp, d);
	if (!err)
		err = add_tracking(lp);
	if (!err)
		err = configure(lp, d);
	if (!err)
		err = open_groups(lp, d);
	if (!err)
		err = make_readers(lp);
	if (!err)
		return lp;
	if (d && !d->nr_errors)
		diag_error(d, err, "cannot set up recording: %s", strerror(-err));
	live_perf_close(lp);
	return NULL;
}

const struct live_event *live_perf_events(const struct live_perf *lp, size_t *nr)
{
	*nr = lp->events.nr;
	return lp->events.at;
}

const struct synth_id *live_perf_ids(const struct live_perf *lp, size_t *nr)
{
	*nr = lp->ids.nr;
	return lp->ids.at;
}

const struct cpuset *live_perf_cpus(const struct live_perf *lp)
{
	return lp->opts.cpus ? lp->opts.cpus : &lp->online;
}

const s32 *live_perf_tids(const struct live_perf *lp, size_t *nr)
{
	*nr = lp->tids.nr;
	return lp->tids.at;
}

unsigned live_perf_nr_readers(const struct live_perf *lp)
{
	return (unsigned)lp->readers.nr;
}

u64 live_perf_ring_bytes(const struct live_perf *lp)
{
	return lp->ring_bytes;
}

bool live_perf_sees_kernel(const struct live_perf *lp)
{
	for (size_t i = 0; i < lp->events.nr; i++)
		if (!lp->events.at[i].tracking && !lp->events.at[i].attr.exclude_kernel)
			return true;
	return false;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static void say_gone(struct live_perf *lp)
{
	u64 one = 1;
	(void)!write(lp->gone_fd, &one, sizeof(one));
}

/* Whether with this pass every reader has made one since the round began. Only one reader may end a round. */
static bool claim_round_end(struct live_reader *r, u64 round)
{
	struct live_perf *lp = r->lp;
	pthread_mutex_lock(&lp->lock);
	bool all = lp->claimed < round;
	vec_for_each (&lp->readers, other)
		all = all && (other == r || other->done_round >= round);
	if (all)
		lp->claimed = round;
	pthread_mutex_unlock(&lp->lock);
	return all;
}

/* all: also rings that hold less than min_bytes. */
static int pass(struct live_reader *r, bool all)
{
	struct live_perf *lp = r->lp;
	struct ring_span spans[LIVE_SPANS_MAX];
	struct perf_ring *rings[LIVE_SPANS_MAX];
	size_t nr = 0;
	u64 round = __atomic_load_n(&lp->round, __ATOMIC_ACQUIRE);
	for (u32 i = 0; i < r->nr_rings; i++) {
		struct perf_ring *ring = &lp->rings.at[r->first_ring + i].ring;
		if (perf_ring_peek(ring, &spans[nr]) &&
		    (all || ring_span_len(&spans[nr]) >= lp->opts.min_bytes))
			rings[nr++] = ring;
	}
	bool owed = __atomic_load_n(&lp->rounds_owed, __ATOMIC_RELAXED);
	bool last = (nr || owed) && claim_round_end(r, round);
	r->busy = false;
	for (size_t i = 0; i < nr; i++)
		r->busy |= ring_span_len(&spans[i]) >= lp->ring_bytes / BUSY_PART;
	/* Little goes in one write. Much goes ring by ring: the kernel has each one's room back as soon as it can be. */
	size_t step = r->busy ? 1 : nr;
	int err = !nr && last ? lp->sink.take(lp->sink.ctx, r->index, spans, 0, true) : 0;
	for (size_t i = 0; i < nr; i += step) {
		if (!err)
			err = lp->sink.take(lp->sink.ctx, r->index, spans + i, step,
					    last && i + step == nr);
		for (size_t k = i; k < i + step; k++)
			perf_ring_consume(rings[k], spans[k].head);
	}
	pthread_mutex_lock(&lp->lock);
	r->done_round = max(r->done_round, round);
	if (nr && (lp->opts.at_once || lp->opts.settle))
		__atomic_store_n(&lp->rounds_owed, ROUNDS_OWED, __ATOMIC_RELAXED);
	if (last) {
		if (lp->rounds_owed)
			__atomic_store_n(&lp->rounds_owed, lp->rounds_owed - 1, __ATOMIC_RELAXED);
		__atomic_store_n(&lp->round, round + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lp->lock);
	return err;
}

static void fd_gone(struct live_reader *r, size_t index)
{
	struct live_perf *lp = r->lp;
	struct live_fd *f = &lp->fds.at[index];
	epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, f->fd, NULL);
	f->gone = true;
	pthread_mutex_lock(&lp->lock);
	bool all = ++lp->nr_gone == lp->fds.nr;
	pthread_mutex_unlock(&lp->lock);
	if (all)
		say_gone(lp);
}

/* A pass was made since the call; when all have, nobody is to wake for it any more. */
static void answer_poke(struct live_reader *r, u64 poke)
{
	struct live_perf *lp = r->lp;
	u64 times;
	pthread_mutex_lock(&lp->lock);
	r->poked = max(r->poked, poke);
	bool all = true;
	vec_for_each (&lp->readers, other)
		all = all && other->poked >= lp->poke;
	if (all)
		(void)!read(lp->poke_fd, &times, sizeof(times));
	pthread_cond_broadcast(&lp->begun);
	pthread_mutex_unlock(&lp->lock);
}

static u64 now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + (u64)ts.tv_nsec;
}

static void *reader_main(void *arg)
{
	struct live_reader *r = arg;
	struct live_perf *lp = r->lp;
	struct epoll_event ready[EPOLL_BATCH];
	pthread_mutex_lock(&lp->lock);
	r->tid = gettid();
	pthread_cond_broadcast(&lp->begun);
	pthread_mutex_unlock(&lp->lock);
	/* Early on, names and maps reach the file soon; then at the pace that was asked for. */
	u64 flush_ns = min(lp->opts.flush_ns, (u64)FIRST_FLUSH_NS);
	u64 due_ns = now_ns() + flush_ns;
	bool stop = false;
	while (!stop && !r->err) {
		u64 now = now_ns();
		int wait_ms = due_ns > now ? (int)((due_ns - now + 999999) / 1000000) : 0;
		if (r->busy) /* a flood: half full may be too late */
			wait_ms = min(wait_ms, 1);
		int n = epoll_wait(r->epoll_fd, ready, EPOLL_BATCH, wait_ms);
		stop = n < 0 && errno != EINTR;
		bool poked = false;
		for (int i = 0; i < n; i++)
			poked |= ready[i].data.u64 == (u64)EPOLL_POKE;
		u64 poke = __atomic_load_n(&lp->poke, __ATOMIC_ACQUIRE);
		r->err = pass(r, n <= 0 || poked);
		if (poked)
			answer_poke(r, poke);
		flush_ns = min(flush_ns * 2, lp->opts.flush_ns);
		due_ns = now_ns() + flush_ns;
		for (int i = 0; i < n; i++) {
			if (ready[i].data.u64 == (u64)EPOLL_STOP)
				stop = true;
			else if (ready[i].data.u64 != (u64)EPOLL_POKE &&
				 ready[i].events & (EPOLLHUP | EPOLLERR))
				fd_gone(r, ready[i].data.u64);
		}
	}
	if (!r->err)
		r->err = pass(r, true); /* the events are off: this is all there will be */
	if (r->err) {
		__atomic_store_n(&lp->failed, true, __ATOMIC_RELEASE);
		say_gone(lp);
	}
	answer_poke(r, UINT64_MAX);
	return NULL;
}

static void add_not_us(struct live_perf *lp, struct strbuf *to)
{
	strbuf_printf(to, "common_pid != %d", (int)getpid());
	pthread_mutex_lock(&lp->lock);
	vec_for_each (&lp->readers, r) {
		while (!r->tid)
			pthread_cond_wait(&lp->begun, &lp->lock);
		strbuf_printf(to, " && common_pid != %d", r->tid);
	}
	pthread_mutex_unlock(&lp->lock);
}

/* Tracepoints that are not wanted of ourselves: by the threads there are now. */
static int leave_us_out(struct live_perf *lp)
{
	int err = 0;
	for (size_t i = 0; i < lp->fds.nr && lp->opts.not_us && !err; i++) {
		const struct live_event *e = &lp->events.at[lp->fds.at[i].event];
		if (e->tracking || !lp->opts.not_us[lp->fds.at[i].event])
			continue;
		struct strbuf text;
		strbuf_init(&text);
		if (e->desc->filter)
			strbuf_printf(&text, "(%s) && ", e->desc->filter);
		add_not_us(lp, &text);
		err = text.err ? text.err
			       : perf_event_set_filter(lp->fds.at[i].fd, strbuf_cstr(&text));
		strbuf_done(&text);
	}
	return err;
}

int live_perf_start(struct live_perf *lp, const struct live_sink *sink)
{
	lp->sink = *sink;
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for the one who owns the loop */
	int err = 0;
	vec_for_each (&lp->readers, r) {
		err = -pthread_create(&r->thread, NULL, reader_main, r);
		if (err)
			break;
		r->running = true;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err ? err : leave_us_out(lp);
}

int live_perf_enable(struct live_perf *lp)
{
	for (size_t i = 0; i < lp->fds.nr; i++) {
		const struct live_event *e = &lp->events.at[lp->fds.at[i].event];
		if (!e->attr.disabled || e->attr.enable_on_exec)
			continue;
		int err = perf_event_enable(lp->fds.at[i].fd);
		if (err)
			return err;
	}
	return 0;
}

void live_perf_toggle(struct live_perf *lp, bool on)
{
	vec_for_each (&lp->fds, f) {
		if (lp->events.at[f->event].tracking)
			continue;
		/* A thread that is gone has nothing to count. */
		(void)!(on ? perf_event_enable(f->fd) : perf_event_disable(f->fd));
	}
}

int live_perf_gone_fd(const struct live_perf *lp)
{
	return lp->gone_fd;
}

bool live_perf_failed(const struct live_perf *lp)
{
	return __atomic_load_n(&lp->failed, __ATOMIC_ACQUIRE);
}

int live_perf_stop(struct live_perf *lp)
{
	if (lp->stopping)
		return 0;
	lp->stopping = true;
	vec_for_each (&lp->fds, f)
		(void)!perf_event_disable(f->fd);
	u64 one = 1;
	(void)!write(lp->stop_fd, &one, sizeof(one));
	int err = 0;
	vec_for_each (&lp->readers, r) {
		if (r->running)
			pthread_join(r->thread, NULL);
		r->running = false;
		if (!err)
			err = r->err;
	}
	return err;
}

void live_perf_flush(struct live_perf *lp)
{
	u64 one = 1;
	pthread_mutex_lock(&lp->lock);
	u64 poke = lp->poke + 1;
	__atomic_store_n(&lp->poke, poke, __ATOMIC_RELEASE);
	(void)!write(lp->poke_fd, &one, sizeof(one));
	vec_for_each (&lp->readers, r)
		while (r->running && r->poked < poke)
			pthread_cond_wait(&lp->begun, &lp->lock);
	pthread_mutex_unlock(&lp->lock);
}

int live_perf_snapshot(struct live_perf *lp)
{
	int err = 0;
	vec_for_each (&lp->kept, ring) {
		struct ring_span span;
		/* Events that were stopped write nothing; there pausing may fail. */
		(void)!perf_event_pause_output(ring->owner_fd, true);
		if (!err && perf_ring_snapshot(&ring->ring, ring->taken, &span)) {
			err = lp->sink.take(lp->sink.ctx, (unsigned)lp->readers.nr, &span, 1, false);
			ring->taken = span.head;
		}
		(void)!perf_event_pause_output(ring->owner_fd, false);
	}
	return err;
}

/* A count is {value, id, lost}; times stand once: behind a value, or behind the number of a group's. */
static u64 read_lost(int fd, u64 format, u64 id)
{
	enum { WORDS = 3, TIMES = 2, MEMBERS_MAX = 64 };
	u64 words[1 + TIMES + WORDS * MEMBERS_MAX];
	bool group = format & PERF_FORMAT_GROUP;
	size_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	ssize_t n = read(fd, words, sizeof(words));
	size_t nr = n > 0 ? (size_t)n / sizeof(u64) : 0;
	if (!group)
		return nr >= WORDS + times && words[1 + times] == id ? words[2 + times] : 0;
	for (size_t at = 1 + times; at + WORDS <= nr; at += WORDS)
		if (words[at + 1] == id)
			return words[at + 2];
	return 0;
}

int live_perf_lost(struct live_perf *lp, void (*fn)(void *ctx, const struct synth_id *id, u64 lost),
		   void *ctx)
{
	for (size_t i = 0; i < lp->fds.nr; i++) {
		const struct live_event *e = &lp->events.at[lp->fds.at[i].event];
		if (!(e->attr.read_format & PERF_FORMAT_LOST))
			return -ENOTSUP;
		u64 lost = read_lost(lp->fds.at[i].fd, e->attr.read_format, lp->ids.at[i].id);
		if (lost)
			fn(ctx, &lp->ids.at[i], lost);
	}
	return 0;
}

void live_perf_close(struct live_perf *lp)
{
	if (!lp)
		return;
	(void)live_perf_stop(lp);
	vec_for_each (&lp->rings, ring)
		perf_ring_close(&ring->ring);
	vec_for_each (&lp->kept, ring)
		perf_ring_close(&ring->ring);
	vec_free(&lp->kept);
	vec_for_each (&lp->fds, f)
		close(f->fd);
	vec_for_each (&lp->readers, r)
		cleanup_close(&r->epoll_fd);
	vec_for_each (&lp->events, e) {
		free(e->name);
		free(e->cpus);
		vec_free(&e->ids);
	}
	vec_free(&lp->rings);
	vec_free(&lp->fds);
	vec_free(&lp->ids);
	vec_free(&lp->readers);
	vec_free(&lp->events);
	vec_free(&lp->tids);
	cleanup_close(&lp->stop_fd);
	cleanup_close(&lp->gone_fd);
	cleanup_close(&lp->poke_fd);
	pthread_cond_destroy(&lp->begun);
	pthread_mutex_destroy(&lp->lock);
	free(lp);
}
