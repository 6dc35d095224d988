#include "stream/counters.h"

#include "kern/cpu.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct counters {
	struct perf_opener opener;
	struct counters_opts opts;
	int *fds; /* counter * nr_slots + slot; -1: not there */
	struct perf_event_attr *attrs; /* of each counter */
	bool *grouped; /* as fds: is read with its leader, all members at one moment */
	u64 *group; /* what such a read returns: nr, enabled, running, then value and id of each */
	u32 nr_gone; /* slots whose thread has ended */
};

static int *fd_at(const struct counters *c, u32 counter, u32 slot)
{
	return &c->fds[(size_t)counter * c->opts.nr_slots + slot];
}

static void close_at(struct counters *c, u32 counter, u32 slot)
{
	int *fd = fd_at(c, counter, slot);
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return x < y ? -1 : x > y;
}

u32 counters_tracepoint_fds(const struct counters *c, int *to)
{
	u32 nr = 0;
	for (u32 i = 0; i < c->opts.nr_counters; i++)
		for (u32 s = 0; s < c->opts.nr_slots; s++)
			if (c->attrs[i].type == PERF_TYPE_TRACEPOINT && *fd_at(c, i, s) >= 0) {
				to[nr++] = *fd_at(c, i, s);
				break;
			}
	qsort(to, nr, sizeof(*to), by_number);
	return nr;
}

void counters_close(struct counters *c)
{
	if (!c)
		return;
	for (u32 i = 0; c->fds && i < c->opts.nr_counters; i++)
		for (u32 s = 0; s < c->opts.nr_slots; s++)
			close_at(c, i, s);
	free(c->fds);
	free(c->attrs);
	free(c->grouped);
	free(c->group);
	free(c);
}

/* A count needs no samples: whatever the event brought for sampling goes. */
static void build_attr(const struct counters *c, u32 counter, bool leads, bool grouped,
		       struct perf_event_attr *a)
{
	const struct counters_opts *o = &c->opts;
	const struct event_desc *e = o->counters[counter].desc;
	*a = e->attr;
	a->sample_period = 0;
	a->freq = 0;
	a->sample_type = PERF_SAMPLE_IDENTIFIER;
	a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (grouped)
		a->read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	a->inherit = e->terms.inherit >= 0 ? e->terms.inherit : !o->no_inherit;
	a->disabled = leads;
	a->enable_on_exec = leads && o->on_exec;
	if (o->only_user && !e->has_exclude)
		a->exclude_kernel = 1;
	if (o->only_kernel && !e->has_exclude)
		a->exclude_user = 1;
}

/* Refusals that mean "not on this machine" or "not here", not "not at all". */
static bool is_absence(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
	case -EOPNOTSUPP:
	case -EINVAL:
	case -ENOSYS:
	case -EBUSY:
	case -ENOSPC: return true;
	default: return false;
	}
}

/* Whether the event can be counted in that place at all. */
static bool belongs(const struct counter *c, const struct counter_slot *slot)
{
	const char *list = c->desc->cpus;
	struct cpuset cpus;
	if (slot->cpu < 0 || !list || cpuset_parse_list(list, &cpus, NULL))
		return true;
	return cpuset_has(&cpus, (unsigned)slot->cpu);
}

static int filter_counter(const struct counter *c, int fd, struct diag *d)
{
	int err = c->desc->filter ? perf_event_set_filter(fd, c->desc->filter) : 0;
	if (err)
		return diag_error(d, err, "%s: the kernel rejected the filter '%s': %s",
				  c->desc->name, c->desc->filter, strerror(-err));
	return 0;
}

/* A file descriptor, or negative errno. */
static int open_one(struct counters *c, u32 counter, u32 slot, int group_fd, bool grouped)
{
	struct counter *at = &c->opts.counters[counter];
	const struct counter_slot *place = &c->opts.slots[slot];
	struct perf_event_attr a;
	build_attr(c, counter, group_fd < 0, grouped, &a);
	bool had_kernel = !a.exclude_kernel;
	c->opener.flags = at->cgroup ? PERF_FLAG_PID_CGROUP : 0;
	c->opener.may_drop_kernel = !at->desc->has_exclude && !c->opts.only_kernel;
	int fd = perf_opener_open(&c->opener, &a, at->cgroup ? at->cgroup_fd : place->tid,
				  place->cpu, group_fd);
	if (fd >= 0 || !at->supported)
		c->attrs[counter] = a;
	if (fd >= 0) {
		at->supported = true;
		c->grouped[(size_t)counter * c->opts.nr_slots + slot] = grouped;
		at->only_user |= had_kernel && a.exclude_kernel;
	} else if (!at->why_not) {
		at->why_not = fd;
	}
	return fd;
}

/* Members from first on, of one group in one slot, one by one as if they had no leader. */
static int open_weak(struct counters *c, u32 leader, u32 slot, struct diag *d)
{
	for (u32 i = leader; i < c->opts.nr_counters; i++) {
		struct counter *at = &c->opts.counters[i];
		if (at->leader != leader)
			continue;
		close_at(c, i, slot);
		int fd = open_one(c, i, slot, -1, false);
		if (fd < 0)
			continue;
		*fd_at(c, i, slot) = fd;
		int err = filter_counter(at, fd, d);
		if (err)
			return err;
	}
	return 0;
}

static int refuse(struct counters *c, u32 counter, u32 slot, int err, struct diag *d)
{
	const struct counter *at = &c->opts.counters[counter];
	const struct counter_slot *place = &c->opts.slots[slot];
	return perf_opener_explain(&c->opener, err, &at->desc->attr, at->desc->name, place->tid,
				   place->cpu, d);
}

static bool has_members(const struct counters *c, u32 leader)
{
	for (u32 i = leader + 1; i < c->opts.nr_counters; i++)
		if (c->opts.counters[i].leader == leader)
			return true;
	return false;
}

/* One group (or one event) in one slot. 0, -ESRCH: the thread is gone, or negative with a diag. */
static int open_group(struct counters *c, u32 leader, u32 slot, struct diag *d)
{
	bool grouped = has_members(c, leader);
	for (u32 i = leader; i < c->opts.nr_counters; i++) {
		struct counter *at = &c->opts.counters[i];
		if (at->leader != leader || at->desc->open != EVENT_OPEN_PERF ||
		    !belongs(at, &c->opts.slots[slot]))
			continue;
		int group_fd = i == leader ? -1 : *fd_at(c, leader, slot);
		if (i != leader && group_fd < 0) {
			at->why_not = at->why_not ? at->why_not : c->opts.counters[leader].why_not;
			continue;
		}
		int fd = open_one(c, i, slot, group_fd, grouped);
		if (fd == -ESRCH)
			return fd;
		if (fd < 0 && i != leader && at->desc->weak && is_absence(fd))
			return open_weak(c, leader, slot, d);
		if (fd < 0 && !is_absence(fd))
			return refuse(c, i, slot, fd, d);
		*fd_at(c, i, slot) = fd < 0 ? -1 : fd;
		int err = fd < 0 ? 0 : filter_counter(at, fd, d);
		if (err)
			return err;
	}
	return 0;
}

static int open_slot(struct counters *c, u32 slot, struct diag *d)
{
	for (u32 i = 0; i < c->opts.nr_counters; i++) {
		int err = c->opts.counters[i].leader == i ? open_group(c, i, slot, d) : 0;
		if (err == -ESRCH) {
			c->nr_gone++;
			return 0;
		}
		if (err)
			return err;
	}
	return 0;
}

static int open_all(struct counters *c, struct diag *d)
{
	const struct counters_opts *o = &c->opts;
	size_t nr = (size_t)o->nr_counters * o->nr_slots;
	c->fds = malloc(max(nr, (size_t)1) * sizeof(*c->fds));
	c->attrs = calloc(max(o->nr_counters, 1u), sizeof(*c->attrs));
	c->grouped = calloc(max(nr, (size_t)1), sizeof(*c->grouped));
	c->group = calloc(3 + 2 * (size_t)o->nr_counters, sizeof(*c->group));
	if (!c->fds || !c->attrs || !c->grouped || !c->group)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		c->fds[i] = -1;
	for (u32 i = 0; i < o->nr_counters; i++) {
		struct counter *at = &o->counters[i];
		at->supported = at->desc->open == EVENT_OPEN_TOOL;
		at->only_user = false;
		at->why_not = 0;
		build_attr(c, i, at->leader == i, false, &c->attrs[i]);
	}
	for (u32 s = 0; s < o->nr_slots; s++) {
		int err = open_slot(c, s, d);
		if (err)
			return err;
	}
	if (c->nr_gone && c->nr_gone == o->nr_slots)
		return diag_error(d, -ESRCH, "nothing left to count: %s",
				  o->nr_slots > 1 ? "all threads have exited" : "it has exited");
	return 0;
}

struct counters *counters_open(const struct sysroot *root, const struct counters_opts *opts,
			       struct diag *d)
{
	struct counters *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;
	if (c) {
		c->opts = *opts;
		perf_opener_init(&c->opener, root);
		c->opener.opened = opts->opened;
		c->opener.opened_ctx = opts->opened_ctx;
		err = open_all(c, d);
	}
	if (err == -ENOMEM)
		diag_error(d, err, "out of memory");
	if (!err)
		return c;
	counters_close(c);
	return NULL;
}

/* Members follow their leader; by name they are switched one by one. */
static bool follows_leader(const struct counters *c, u32 counter, u32 slot)
{
	const struct counter *at = &c->opts.counters[counter];
	return at->leader != counter && *fd_at(c, at->leader, slot) >= 0 && !at->desc->weak;
}

static int switch_slot(struct counters *c, u32 slot, const char *name, int (*change)(int fd))
{
	for (u32 i = 0; i < c->opts.nr_counters; i++) {
		int fd = *fd_at(c, i, slot);
		if (fd < 0 || (name && strcmp(c->opts.counters[i].desc->name, name)) ||
		    (!name && follows_leader(c, i, slot)))
			continue;
		int err = change(fd);
		if (err)
			return err;
	}
	return 0;
}

static int switch_all(struct counters *c, const char *name, int (*change)(int fd))
{
	struct cpu_visit visit = { .away = false };
	bool known = !name;
	int err = 0;
	for (u32 i = 0; i < c->opts.nr_counters && !known; i++)
		known = !strcmp(c->opts.counters[i].desc->name, name);
	for (u32 s = 0; s < c->opts.nr_slots && known && !err; s++) {
		cpu_visit(&visit, c->opts.slots[s].cpu);
		err = switch_slot(c, s, name, change);
	}
	cpu_visit_end(&visit);
	return known ? err : -ENOENT;
}

int counters_enable(struct counters *c, const char *name)
{
	return switch_all(c, name, perf_event_enable);
}

int counters_disable(struct counters *c, const char *name)
{
	return switch_all(c, name, perf_event_disable);
}

static u64 tool_ns(enum event_tool tool, const struct counters_clock *clock)
{
	switch (tool) {
	case EVENT_TOOL_NONE: break;
	case EVENT_TOOL_DURATION: return clock->elapsed_ns;
	case EVENT_TOOL_USER: return clock->user_ns;
	case EVENT_TOOL_SYSTEM: return clock->system_ns;
	}
	return 0;
}

/* A pinned counter that lost the hardware reads as nothing: it did not run. */
static void read_one(int fd, struct count *to)
{
	u64 v[3];
	if (fd < 0)
		return;
	to->opened = true;
	if (read(fd, v, sizeof(v)) != sizeof(v))
		return;
	to->value = v[0];
	to->enabled_ns = v[1];
	to->running_ns = v[2];
}

/* A group in one read. Values come in the order in which members were opened. */
static void read_group(struct counters *c, u32 leader, u32 slot, struct count *to)
{
	u64 *v = c->group;
	size_t size = (3 + 2 * (size_t)c->opts.nr_counters) * sizeof(*v);
	ssize_t n = read(*fd_at(c, leader, slot), v, size);
	u64 nr = n >= (ssize_t)(3 * sizeof(*v)) ? min(v[0], ((u64)n / sizeof(*v) - 3) / 2) : 0;
	u64 at = 0;
	for (u32 i = leader; i < c->opts.nr_counters; i++) {
		if (c->opts.counters[i].leader != leader || *fd_at(c, i, slot) < 0)
			continue;
		struct count *m = &to[(size_t)i * c->opts.nr_slots + slot];
		*m = (struct count){ .opened = true };
		if (at < nr) {
			m->value = v[3 + 2 * at];
			m->enabled_ns = v[1];
			m->running_ns = v[2];
		}
		at++;
	}
}

static void read_slot(struct counters *c, u32 slot, const struct counters_clock *clock,
		      struct count *to)
{
	for (u32 i = 0; i < c->opts.nr_counters; i++) {
		const struct event_desc *e = c->opts.counters[i].desc;
		size_t cell = (size_t)i * c->opts.nr_slots + slot;
		struct count *n = &to[cell];
		if (c->grouped[cell] && *fd_at(c, i, slot) >= 0) {
			if (c->opts.counters[i].leader == i)
				read_group(c, i, slot, to);
			continue;
		}
		*n = (struct count){ 0 };
		read_one(*fd_at(c, i, slot), n);
		if (e->open == EVENT_OPEN_TOOL && !slot) {
			u64 ns = tool_ns(e->tool, clock);
			*n = (struct count){ ns, ns, ns, true };
		}
	}
}

const struct perf_event_attr *counters_attr(const struct counters *c, u32 counter)
{
	return &c->attrs[counter];
}

u64 counters_id(const struct counters *c, u32 counter, u32 slot)
{
	int fd = *fd_at(c, counter, slot);
	u64 id;
	return fd >= 0 && !perf_event_id(fd, &id) ? id : 0;
}

void counters_read(struct counters *c, const struct counters_clock *clock, struct count *to)
{
	struct cpu_visit visit = { .away = false };
	for (u32 s = 0; s < c->opts.nr_slots; s++) {
		cpu_visit(&visit, c->opts.slots[s].cpu);
		read_slot(c, s, clock, to);
	}
	cpu_visit_end(&visit);
}
