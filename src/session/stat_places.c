/* Where to count: the slots (CPUs, threads), and the keys by which they are added up. */
#include "session/stat_plan.h"

#include "kern/cpu.h"
#include "kern/machine.h"

#include <errno.h>
#include <string.h>

/* ---- where ---------------------------------------------------------------------------------------------------- */

static int parse_list(const char *text, const char *what, s32 **ids, size_t *nr, size_t *cap,
		      struct diag *d)
{
	const char *at = text;
	size_t len;
	s32 id;
	int more;
	while ((more = num_next_id(&at, &len, &id)) > 0) {
		s32 *grown = *nr == *cap ? vec_grow(*ids, cap, *nr + 1, sizeof(**ids)) : *ids;
		if (!grown)
			return -ENOMEM;
		*ids = grown;
		(*ids)[(*nr)++] = id;
	}
	if (more) {
		diag_error(d, -EINVAL, "invalid %s ID '%.*s'", what, (int)len, at);
		diag_span(d, text, (size_t)(at - text), len);
		return -EINVAL;
	}
	return *nr ? 0 : diag_error(d, -EINVAL, "no %s ID in '%s'", what, text);
}

int stat_places_by(struct stat_plan *p, struct diag *d)
{
	const struct stat_opts *o = p->opts;
	const struct stat_labels *l = o->labels;
	const struct {
		bool on;
		enum stat_by by;
	} ways[] = {
		{ o->no_aggr, STAT_BY_CPU },   { o->per_core, STAT_BY_CORE },
		{ o->per_die, STAT_BY_DIE },   { o->per_socket, STAT_BY_SOCKET },
		{ o->per_node, STAT_BY_NODE },
	};
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (!ways[i].on)
			continue;
		if (!p->system_wide && !o->cpus)
			return diag_error(d, -EINVAL, "%s needs whole CPUs: %s or %s LIST",
					  l->by[ways[i].by], l->all, l->cpus);
		p->by = ways[i].by;
	}
	if (!o->per_thread)
		return 0;
	p->by = STAT_BY_THREAD;
	if (o->metric_only)
		return diag_error(d, -EINVAL, "%s cannot be combined with %s", l->metric_only,
				  l->by[STAT_BY_THREAD]);
	return p->of_command ? diag_error(d, -EINVAL, "%s needs %s, %s, or the whole system",
					  l->by[STAT_BY_THREAD], l->pids, l->tids)
			     : 0;
}

int stat_places_target(struct stat_plan *p, int argc, char **argv, struct diag *d)
{
	const struct stat_opts *o = p->opts;
	struct strbuf text;
	int err = 0;
	if (o->pids)
		err = parse_list(o->pids, "process", &p->pids.at, &p->pids.nr, &p->pids.cap, d);
	if (!err && o->tids)
		err = parse_list(o->tids, "thread", &p->tids.at, &p->tids.nr, &p->tids.cap, d);
	if (err)
		return err;
	bool tasks = p->pids.nr || p->tids.nr;
	if (tasks && o->all)
		diag_warn(d, "%s and %s select what is counted: %s is ignored", o->labels->pids,
			  o->labels->tids, o->labels->all);
	p->system_wide = !tasks && (o->all || o->cpus || !argc);
	p->of_command = !tasks && !p->system_wide;
	strbuf_init(&text);
	if (o->pids || o->tids) {
		const s32 *ids = o->pids ? p->pids.at : p->tids.at;
		size_t nr = o->pids ? p->pids.nr : p->tids.nr;
		strbuf_str(&text, o->pids ? "process id '" : "thread id '");
		for (size_t i = 0; i < nr; i++)
			strbuf_printf(&text, "%s%d", i ? "," : "", ids[i]);
		strbuf_char(&text, '\'');
	} else if (p->system_wide) {
		bool list = o->cpus && !o->all;
		strbuf_printf(&text, "'%s%s'", list ? "CPU(s) " : "system wide",
			      list ? o->cpus : "");
	} else {
		strbuf_char(&text, '\'');
		for (int i = 0; i < argc; i++)
			strbuf_printf(&text, "%s%s", i ? " " : "", argv[i]);
		strbuf_char(&text, '\'');
	}
	p->target = arena_strdup(&p->arena, strbuf_cstr(&text));
	strbuf_done(&text);
	return p->target ? 0 : -ENOMEM;
}

static int add_slot(struct stat_plan *p, s32 cpu, s32 tid)
{
	struct counter_slot *s = vec_push(&p->slots);
	if (!s)
		return -ENOMEM;
	*s = (struct counter_slot){ .cpu = cpu, .tid = tid };
	return 0;
}

/* A thread, on each CPU of -C or wherever it is. */
static int add_thread(struct stat_plan *p, s32 tid)
{
	if (!p->opts->cpus)
		return add_slot(p, -1, tid);
	int err = 0;
	for (int c = cpuset_next(&p->cpus, 0); c >= 0 && !err;
	     c = cpuset_next(&p->cpus, (unsigned)c + 1))
		err = add_slot(p, c, tid);
	return err;
}

/* The number may be one that a container sees. */
static int no_process(struct procfs *proc, s32 pid, struct diag *d)
{
	s32 here;
	diag_error(d, -ESRCH, "no such process: %d", pid);
	if (!procfs_outer_pid(proc, pid, &here))
		diag_hint(d, "process %d exists in a container: outside it is %d", pid, here);
	return -ESRCH;
}

static int add_process(struct stat_plan *p, struct procfs *proc, s32 pid, struct diag *d)
{
	s32 *tids;
	size_t nr;
	int err = procfs_tids(proc, pid, &tids, &nr);
	if (err == -ESRCH)
		return no_process(proc, pid, d);
	for (size_t i = 0; i < nr && !err; i++)
		err = add_thread(p, tids[i]);
	return err;
}

/* --per-thread and nothing else: every thread there is. */
static int add_all_threads(struct stat_plan *p, struct procfs *proc)
{
	s32 *pids, *tids;
	size_t nr, nr_tids;
	int err = procfs_pids(proc, &pids, &nr);
	s32 *kept = err ? NULL : arena_array(&p->arena, nr + 1, sizeof(*kept));
	if (!kept)
		return err ? err : -ENOMEM;
	memcpy(kept, pids, nr * sizeof(*kept));
	for (size_t i = 0; i < nr; i++) {
		if (procfs_tids(proc, kept[i], &tids, &nr_tids))
			continue;
		for (size_t t = 0; t < nr_tids; t++) {
			err = add_slot(p, -1, tids[t]);
			if (err)
				return err;
		}
	}
	return 0;
}

static void say_missing_cpus(struct stat_plan *p, const struct cpuset *online, struct diag *d)
{
	struct cpuset missing = { 0 };
	struct strbuf list, have;
	for (int c = cpuset_next(&p->cpus, 0); c >= 0; c = cpuset_next(&p->cpus, (unsigned)c + 1))
		if (!cpuset_has(online, (unsigned)c))
			cpuset_add(&missing, (unsigned)c);
	if (!cpuset_count(&missing))
		return;
	strbuf_init(&list);
	strbuf_init(&have);
	cpuset_add_list(&missing, &list);
	cpuset_add_list(online, &have);
	bool one = cpuset_count(&missing) == 1;
	diag_warn(d, "CPU%s %s: missing or offline, nothing is counted on %s (online: %s)",
		  one ? "" : "s", strbuf_cstr(&list), one ? "it" : "them", strbuf_cstr(&have));
	strbuf_done(&list);
	strbuf_done(&have);
}

static int add_cpus(struct stat_plan *p)
{
	int err = 0;
	for (int c = cpuset_next(&p->cpus, 0); c >= 0 && !err;
	     c = cpuset_next(&p->cpus, (unsigned)c + 1))
		err = add_slot(p, c, -1);
	return err;
}

static int find_cpus(struct stat_plan *p, const struct sysroot *root, struct diag *d)
{
	struct cpuset online;
	int err = cpu_online(root, &online);
	if (err)
		return diag_error(d, err, "cannot determine which CPUs are online: %s",
				  strerror(-err));
	p->cpus = online;
	if (!p->opts->cpus)
		return 0;
	err = cpuset_parse_list(p->opts->cpus, &p->cpus, d);
	if (err)
		return -EINVAL;
	say_missing_cpus(p, &online, d);
	return 0;
}

int stat_places_slots(struct stat_plan *p, const struct sysroot *root, struct diag *d)
{
	struct procfs proc;
	int err = p->system_wide || p->opts->cpus ? find_cpus(p, root, d) : 0;
	if (err)
		return err;
	if (p->of_command)
		return add_thread(p, 0); /* its id comes with each run */
	if (p->system_wide && !p->opts->per_thread)
		return add_cpus(p);
	procfs_init(&proc, root);
	for (size_t i = 0; i < p->pids.nr && !err; i++)
		err = add_process(p, &proc, p->pids.at[i], d);
	for (size_t i = 0; i < p->tids.nr && !err; i++)
		err = add_thread(p, p->tids.at[i]);
	if (!err && p->system_wide)
		err = add_all_threads(p, &proc);
	procfs_done(&proc);
	return err;
}

/* ---- how counts are added up ---------------------------------------------------------------------------------- */

static s32 node_of(const struct machine *m, s32 cpu)
{
	vec_for_each (&m->nodes, n) {
		struct cpuset cpus;
		if (n->cpus && !cpuset_parse_list(n->cpus, &cpus, NULL) &&
		    cpuset_has(&cpus, (unsigned)cpu))
			return (s32)n->node;
	}
	return 0;
}

static void fill_place(const struct machine *m, s32 cpu, struct stat_key *k)
{
	*k = (struct stat_key){ .cpu = cpu };
	if (cpu < 0 || (size_t)cpu >= m->cpus.nr)
		return;
	const struct machine_cpu *c = &m->cpus.at[cpu];
	k->socket = max(c->socket_id, 0);
	k->die = max(c->die_id, 0);
	k->core = max(c->core_id, 0);
	k->node = node_of(m, cpu);
}

/* Only what tells keys of this grouping apart. */
static struct stat_key cut_key(enum stat_by by, const struct stat_key *k)
{
	switch (by) {
	case STAT_BY_ALL: break;
	case STAT_BY_CPU: return (struct stat_key){ .cpu = k->cpu };
	case STAT_BY_CORE:
		return (struct stat_key){ .socket = k->socket, .die = k->die, .core = k->core };
	case STAT_BY_DIE: return (struct stat_key){ .socket = k->socket, .die = k->die };
	case STAT_BY_SOCKET: return (struct stat_key){ .socket = k->socket };
	case STAT_BY_NODE: return (struct stat_key){ .node = k->node };
	case STAT_BY_THREAD: return (struct stat_key){ .tid = k->tid };
	}
	return (struct stat_key){ 0 };
}

static int compare_keys(const void *a, const void *b)
{
	const struct stat_key *x = a, *y = b;
	const s32 xs[] = { x->node, x->socket, x->die, x->core, x->cpu, x->tid };
	const s32 ys[] = { y->node, y->socket, y->die, y->core, y->cpu, y->tid };
	for (size_t i = 0; i < ARRAY_SIZE(xs); i++)
		if (xs[i] != ys[i])
			return xs[i] < ys[i] ? -1 : 1;
	return 0;
}

static int name_threads(struct stat_plan *p, const struct sysroot *root)
{
	struct procfs proc;
	int err = 0;
	procfs_init(&proc, root);
	vec_for_each (&p->keys, k) {
		struct proc_task task;
		s32 pid;
		bool known = !procfs_tgid(&proc, k->tid, &pid) &&
			     !procfs_task(&proc, pid, k->tid, &task);
		k->comm = known ? arena_strdup(&p->arena, task.comm) : "<gone>";
		if (!k->comm)
			err = -ENOMEM;
	}
	procfs_done(&proc);
	return err;
}

/* Distinct keys in order, and each slot's place among them. */
static int sort_keys(struct stat_plan *p, const struct stat_key *places)
{
	for (size_t i = 0; i < p->slots.nr; i++) {
		struct stat_key *k = vec_push(&p->keys);
		if (!k)
			return -ENOMEM;
		*k = cut_key(p->by, &places[i]);
	}
	if (p->keys.nr)
		qsort(p->keys.at, p->keys.nr, sizeof(p->keys.at[0]), compare_keys);
	size_t nr = 0;
	for (size_t i = 0; i < p->keys.nr; i++)
		if (!nr || compare_keys(&p->keys.at[nr - 1], &p->keys.at[i]))
			p->keys.at[nr++] = p->keys.at[i];
	p->keys.nr = nr;
	for (size_t i = 0; i < p->slots.nr; i++) {
		struct stat_key key = cut_key(p->by, &places[i]);
		struct stat_key *at = bsearch(&key, p->keys.at, nr, sizeof(key), compare_keys);
		u32 *slot = at ? vec_push(&p->slot_key) : NULL;
		if (!slot)
			return -ENOMEM;
		*slot = (u32)(at - p->keys.at);
	}
	return 0;
}

/* For events that one CPU of a package speaks for: each slot's first slot of the same package. */
static int find_packages(struct stat_plan *p, const struct stat_key *places)
{
	for (size_t i = 0; i < p->slots.nr; i++) {
		u32 *slot = vec_push(&p->slot_package);
		if (!slot)
			return -ENOMEM;
		*slot = (u32)i;
		for (size_t j = 0; j < i; j++)
			if (p->slots.at[j].cpu >= 0 && places[j].socket == places[i].socket) {
				*slot = (u32)j;
				break;
			}
	}
	return 0;
}

static bool needs_topology(const struct stat_plan *p)
{
	bool by_part = p->by == STAT_BY_CORE || p->by == STAT_BY_DIE || p->by == STAT_BY_SOCKET ||
		       p->by == STAT_BY_NODE;
	vec_for_each (&p->events, e)
		by_part |= e->per_pkg;
	return by_part && p->slots.nr;
}

int stat_places_keys_of(struct stat_plan *p, const struct machine *m)
{
	struct stat_key *places = arena_array(&p->arena, p->slots.nr + 1, sizeof(*places));
	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < p->slots.nr; i++) {
		fill_place(m, p->slots.at[i].cpu, &places[i]);
		places[i].tid = p->slots.at[i].tid;
	}
	int err = sort_keys(p, places);
	if (!err && needs_topology(p))
		err = find_packages(p, places);
	if (!err && !p->keys.nr && !vec_push(&p->keys))
		err = -ENOMEM;
	return err;
}

int stat_places_keys(struct stat_plan *p, const struct sysroot *root)
{
	struct machine m = { 0 };
	bool topology = needs_topology(p);
	int err = topology ? machine_read(root, &m) : 0;
	if (!err)
		err = stat_places_keys_of(p, &m);
	if (!err && p->by == STAT_BY_THREAD)
		err = name_threads(p, root);
	if (topology)
		machine_done(&m);
	return err;
}
