#include "session/side_tables.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef unsigned long long ull;

/* ---- counts ---- */

static const char *const type_names[] = {
	[PERF_RECORD_MMAP] = "MMAP",
	[PERF_RECORD_LOST] = "LOST",
	[PERF_RECORD_COMM] = "COMM",
	[PERF_RECORD_EXIT] = "EXIT",
	[PERF_RECORD_THROTTLE] = "THROTTLE",
	[PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
	[PERF_RECORD_FORK] = "FORK",
	[PERF_RECORD_READ] = "READ",
	[PERF_RECORD_SAMPLE] = "SAMPLE",
	[PERF_RECORD_MMAP2] = "MMAP2",
	[PERF_RECORD_AUX] = "AUX",
	[PERF_RECORD_ITRACE_START] = "ITRACE_START",
	[PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
	[PERF_RECORD_SWITCH] = "SWITCH",
	[PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
	[PERF_RECORD_NAMESPACES] = "NAMESPACES",
	[PERF_RECORD_KSYMBOL] = "KSYMBOL",
	[PERF_RECORD_BPF_EVENT] = "BPF_EVENT",
	[PERF_RECORD_CGROUP] = "CGROUP",
	[PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
	[REC_CALLCHAIN_DEFERRED] = "CALLCHAIN_DEFERRED",
	[REC_HEADER_ATTR] = "ATTR",
	[REC_EVENT_TYPE] = "EVENT_TYPE",
	[REC_TRACING_DATA] = "TRACING_DATA",
	[REC_BUILD_ID] = "BUILD_ID",
	[REC_FINISHED_ROUND] = "FINISHED_ROUND",
	[REC_ID_INDEX] = "ID_INDEX",
	[REC_AUXTRACE_INFO] = "AUXTRACE_INFO",
	[REC_AUXTRACE] = "AUXTRACE",
	[REC_AUXTRACE_ERROR] = "AUXTRACE_ERROR",
	[REC_THREAD_MAP] = "THREAD_MAP",
	[REC_CPU_MAP] = "CPU_MAP",
	[REC_STAT_CONFIG] = "STAT_CONFIG",
	[REC_STAT] = "STAT",
	[REC_STAT_ROUND] = "STAT_ROUND",
	[REC_EVENT_UPDATE] = "EVENT_UPDATE",
	[REC_TIME_CONV] = "TIME_CONV",
	[REC_HEADER_FEATURE] = "FEATURE",
	[REC_COMPRESSED] = "COMPRESSED",
	[REC_FINISHED_INIT] = "FINISHED_INIT",
	[REC_COMPRESSED2] = "COMPRESSED2",
};

const char *side_tables_type(u32 type)
{
	return type < ARRAY_SIZE(type_names) && type_names[type] ? type_names[type] : "UNKNOWN";
}

struct counting {
	const struct perfdata *file;
	struct perf_scratch scratch;
	u64 by_type[REC_USER_MAX];
	u64 *samples; /* [event] */
	u64 *lost; /* [event], by LOST_SAMPLES */
	struct dict last; /* event id -> index into values */
	VEC(u64) values;
};

/*
 * A sample with a group's values stands for one sample of each event whose value has grown since.
 * {nr, [time enabled], [time running], {value, id, [lost]}...}
 */
static int count_group(struct counting *c, const struct perfdata_attr *a,
		       const struct perf_sample_view *v)
{
	u64 format = a->attr.read_format;
	struct bytes b = bytes_of(v->read, v->read_size, c->file->swap);
	u64 nr = bytes_u64(&b);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		bytes_skip(&b, 8);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		bytes_skip(&b, 8);
	for (; nr && bytes_left(&b) >= 16; nr--) {
		u64 value = bytes_u64(&b), id = bytes_u64(&b);
		if (format & 1 << 4)
			bytes_skip(&b, 8);
		u32 event = dict_get(&c->file->ids, id), at;
		if (event >= c->file->attrs.nr)
			continue;
		int err = dict_add(&c->last, id, (u32)c->values.nr, &at);
		if (err)
			return err;
		if (at == c->values.nr && !vec_push(&c->values))
			return -ENOMEM;
		c->samples[event] += value != c->values.at[at];
		c->values.at[at] = value;
	}
	return 0;
}

static int count_record(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct counting *c = ctx;
	const struct perfdata *f = c->file;
	c->by_type[min(h->type, (u32)REC_USER_MAX - 1)]++;
	if (h->type == PERF_RECORD_LOST_SAMPLES && f->attrs.nr) {
		struct perf_side side;
		const struct perf_event_attr *first = &f->attrs.at[0].attr;
		if (perf_side_decode(rec, h->size, f->swap, first->sample_type,
				     first->sample_id_all, &side))
			return 0;
		const struct perfdata_attr *a = perfdata_attr_of(f, side.who.id);
		if (a)
			c->lost[a - f->attrs.at] += side.lost;
	}
	if (h->type != PERF_RECORD_SAMPLE || !f->attrs.nr)
		return 0;
	u64 id = f->attrs.nr > 1 ? perf_sample_id(&f->attrs.at[0].layout, rec, h->size, f->swap) : 0;
	const struct perfdata_attr *a = perfdata_attr_of(f, id);
	if (!a)
		return 0;
	if (!(a->attr.sample_type & PERF_SAMPLE_READ) || !(a->attr.read_format & PERF_FORMAT_GROUP)) {
		c->samples[a - f->attrs.at]++;
		return 0;
	}
	struct perf_sample_view v;
	int err = perf_sample_decode(&a->layout, rec, h->size, f->swap, &c->scratch, &v);
	return err == -EBADMSG ? 0 : err ? err : count_group(c, a, &v);
}

static void print_counts(const struct source *src, const struct counting *c, struct strbuf *to)
{
	u64 total = 0;
	for (size_t i = 0; i < ARRAY_SIZE(c->by_type); i++)
		total += c->by_type[i];
	strbuf_printf(to, "\nAggregated stats:\n%16s events: %10llu\n", "TOTAL", (ull)total);
	for (size_t i = 0; i < ARRAY_SIZE(c->by_type); i++) {
		const char *name = side_tables_type((u32)i);
		if (c->by_type[i])
			strbuf_printf(to, "%16s events: %10llu  (%4.1f%%)\n", name,
				      (ull)c->by_type[i],
				      100.0 * (double)c->by_type[i] / (double)total);
	}
	for (size_t i = 0; i < src->catalog.events.nr; i++) {
		if (!c->samples[i] && !c->lost[i])
			continue;
		strbuf_printf(to, "%s stats:\n", src->catalog.events.at[i].name);
		if (c->samples[i])
			strbuf_printf(to, "%16s events: %10llu\n", "SAMPLE", (ull)c->samples[i]);
		if (c->lost[i])
			strbuf_printf(to, "%16s events: %10llu\n", "LOST_SAMPLES", (ull)c->lost[i]);
	}
}

int side_tables_stats(const struct source *src, struct strbuf *to)
{
	struct counting c = { .file = replay_perf_file(src) };
	size_t nr = c.file->attrs.nr + 1;
	dict_init(&c.last);
	c.samples = calloc(nr, sizeof(*c.samples));
	c.lost = calloc(nr, sizeof(*c.lost));
	int err = c.samples && c.lost ? perf_walk(c.file, count_record, &c) : -ENOMEM;
	if (!err)
		print_counts(src, &c, to);
	free(c.samples);
	free(c.lost);
	dict_done(&c.last);
	vec_free(&c.values);
	perf_scratch_done(&c.scratch);
	return err ? err : to->err;
}

/* ---- tasks ---- */

struct side_map {
	u64 start, end, pgoff, ino;
	u32 prot, flags;
	const char *name;
};

typedef VEC(struct side_map) map_list;

enum { NO_TASK = 0xffffffffu, LISTED_MODULO = 256 }; /* NO_TASK is DICT_NONE */

struct side_task {
	s32 pid, tid, ptid; /* ptid -1: nobody was seen to fork it */
	bool gone; /* its number was given to another one */
	bool named;
	bool linked; /* into the tree */
	char comm[32];
	u32 space; /* whose maps: an index into spaces */
	u32 first_child, last_child, next; /* of the tree, by index */
};

struct model {
	bool maps;
	VEC(struct side_task) tasks;
	struct dict by_tid;
	VEC(map_list) spaces;
	struct arena arena;
};

static s64 new_task(struct model *m, u32 pid, u32 tid);

/* The task of this number, made when it is new; a thread's process is made with it. Negative errno: no memory. */
static s64 task_of(struct model *m, u32 pid, u32 tid)
{
	u32 at = dict_get(&m->by_tid, tid);
	if (at != DICT_NONE && !m->tasks.at[at].gone)
		return at;
	return new_task(m, pid, tid);
}

/* Tables keep numbers only: one slot a tid, whose value is the newest task of that tid. */
static int set_newest(struct model *m, u32 tid, u32 index)
{
	u32 have;
	int err = dict_add(&m->by_tid, tid, index, &have);
	if (err || have == index)
		return err;
	/* The slot is taken by a task that is gone: the new one moves into its place. */
	m->tasks.at[have] = m->tasks.at[index];
	m->tasks.nr--;
	return 0;
}

static s64 new_task(struct model *m, u32 pid, u32 tid)
{
	u32 space = (u32)m->spaces.nr;
	if (pid != tid && pid != (u32)-1) {
		s64 leader = task_of(m, pid, pid);
		if (leader < 0)
			return leader;
		space = m->tasks.at[leader].space;
	} else if (!vec_push(&m->spaces)) {
		return -ENOMEM;
	}
	struct side_task *t = vec_push(&m->tasks);
	if (!t)
		return -ENOMEM;
	*t = (struct side_task){ .pid = (s32)pid, .tid = (s32)tid, .ptid = -1, .space = space };
	t->first_child = t->last_child = t->next = NO_TASK;
	t->comm[0] = ':';
	t->comm[1 + num_s64(t->comm + 1, (s32)tid)] = '\0';
	int err = set_newest(m, tid, (u32)m->tasks.nr - 1);
	return err ? err : (s64)dict_get(&m->by_tid, tid);
}

static void set_comm(struct side_task *t, const char *name)
{
	size_t len = strnlen(name, sizeof(t->comm) - 1);
	memcpy(t->comm, name, len);
	t->comm[len] = '\0';
	t->named = true;
}

static int take_fork(struct model *m, const struct perf_side *s)
{
	s64 parent = task_of(m, s->ppid, s->ptid);
	if (parent < 0)
		return (int)parent;
	if (m->tasks.at[parent].pid != (s32)s->ppid) {
		m->tasks.at[parent].gone = true;
		parent = task_of(m, s->ppid, s->ptid);
		if (parent < 0)
			return (int)parent;
	}
	u32 old = dict_get(&m->by_tid, s->tid);
	if (old != DICT_NONE)
		m->tasks.at[old].gone = true;
	s64 child = task_of(m, s->pid, s->tid);
	if (child < 0)
		return (int)child;
	struct side_task *c = &m->tasks.at[child], *p = &m->tasks.at[parent];
	c->ptid = p->tid;
	if (p->named)
		set_comm(c, p->comm);
	if (c->pid == p->pid || s->misc & PERF_RECORD_MISC_FORK_EXEC || c->space == p->space)
		return 0;
	map_list *from = &m->spaces.at[p->space], *to = &m->spaces.at[c->space];
	if (!vec_reserve(to, from->nr))
		return -ENOMEM;
	if (from->nr)
		memcpy(to->at, from->at, from->nr * sizeof(*from->at));
	to->nr = from->nr;
	return 0;
}

static int insert_map(map_list *l, size_t at, const struct side_map *map)
{
	if (!vec_push(l))
		return -ENOMEM;
	memmove(l->at + at + 1, l->at + at, (l->nr - 1 - at) * sizeof(*l->at));
	l->at[at] = *map;
	return 0;
}

/* A new map covers what was there: what sticks out before and after it stays. */
static int add_map(map_list *l, const struct side_map *map)
{
	size_t at = 0;
	while (at < l->nr && l->at[at].end <= map->start)
		at++;
	while (at < l->nr && l->at[at].start < map->end) {
		struct side_map old = l->at[at];
		memmove(l->at + at, l->at + at + 1, (l->nr - 1 - at) * sizeof(*l->at));
		l->nr--;
		if (old.start < map->start) {
			struct side_map before = old;
			before.end = map->start;
			int err = insert_map(l, at++, &before);
			if (err)
				return err;
		}
		if (old.end > map->end) {
			struct side_map after = old;
			after.pgoff += map->end - old.start;
			after.start = map->end;
			int err = insert_map(l, at, &after);
			if (err)
				return err;
			break;
		}
	}
	return insert_map(l, at, map);
}

/* Code in memory without a file has its names in a map file, and goes by that. */
static const char *map_name(struct model *m, const struct perf_side *s)
{
	static const char *const anonymous[] = { "//anon", "/dev/zero", "/anon_hugepage", "[anon:" };
	bool anon = s->flags & MAP_HUGETLB;
	char name[64] = "/tmp/perf-";
	for (size_t i = 0; i < ARRAY_SIZE(anonymous); i++)
		anon |= !strncmp(s->name, anonymous[i], strlen(anonymous[i]));
	if (!anon || !(s->prot & PROT_EXEC))
		return s->name;
	size_t len = strlen(name);
	len += num_s64(name + len, (s32)s->pid);
	memcpy(name + len, ".map", sizeof(".map"));
	return arena_strdup(&m->arena, name);
}

static int take_map(struct model *m, const struct perf_side *s)
{
	u16 mode = s->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	if (!m->maps || mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL ||
	    !s->len)
		return 0;
	s64 task = task_of(m, s->pid, s->tid);
	if (task < 0)
		return (int)task;
	struct side_map map = {
		.start = s->addr,
		.end = s->addr + s->len,
		.pgoff = s->pgoff,
		.ino = s->ino,
		.prot = s->prot,
		.flags = s->flags,
	};
	map.name = map_name(m, s);
	if (!map.name)
		return -ENOMEM;
	return map.end > map.start ? add_map(&m->spaces.at[m->tasks.at[task].space], &map) : 0;
}

static int take_side(struct model *m, const struct perf_side *s)
{
	s64 task;
	switch (s->type) {
	case PERF_RECORD_FORK: return take_fork(m, s);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: return take_map(m, s);
	case PERF_RECORD_COMM:
		task = task_of(m, s->pid, s->tid);
		if (task < 0)
			return (int)task;
		set_comm(&m->tasks.at[task], s->name);
		return 0;
	default: return 0;
	}
}

static void print_maps(const struct model *m, const struct side_task *t, unsigned indent,
		       struct strbuf *to)
{
	const map_list *l = &m->spaces.at[t->space];
	for (size_t i = 0; i < l->nr; i++) {
		const struct side_map *p = &l->at[i];
		strbuf_fill(to, ' ', indent);
		strbuf_printf(to, "  %llx-%llx %c%c%c%c %08llx %llu ", (ull)p->start, (ull)p->end,
			      p->prot & PROT_READ ? 'r' : '-', p->prot & PROT_WRITE ? 'w' : '-',
			      p->prot & PROT_EXEC ? 'x' : '-', p->flags & MAP_SHARED ? 's' : 'p',
			      (ull)p->pgoff, (ull)p->ino);
		strbuf_str(to, p->name);
		strbuf_char(to, '\n');
	}
}

/* Depth first, without recursion: a hostile file may chain as many tasks as it likes. */
static int print_tree(const struct model *m, u32 root, struct strbuf *to)
{
	VEC(u32) path = { 0 };
	u32 at = root;
	for (;;) {
		const struct side_task *t = &m->tasks.at[at];
		char ids[64];
		int len = snprintf(ids, sizeof(ids), "  %8d %8d %8d |", t->pid, t->tid, t->ptid);
		strbuf_str(to, ids);
		strbuf_fill(to, ' ', path.nr);
		size_t indent = (size_t)len + path.nr;
		strbuf_str(to, t->comm);
		strbuf_char(to, '\n');
		if (m->maps)
			print_maps(m, t, (unsigned)indent, to);
		if (t->first_child != NO_TASK) {
			u32 *up = vec_push(&path);
			if (!up) {
				vec_free(&path);
				return -ENOMEM;
			}
			*up = at;
			at = t->first_child;
			continue;
		}
		while (path.nr && m->tasks.at[at].next == NO_TASK)
			at = path.at[--path.nr];
		if (!path.nr)
			break;
		at = m->tasks.at[at].next;
	}
	vec_free(&path);
	return 0;
}

struct listed {
	u32 bucket, tid, index;
};

/* perf lists tasks by the 256 tables it keeps them in, and by number within each. */
static int by_table(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return (s32)x->tid < (s32)y->tid ? -1 : (s32)x->tid > (s32)y->tid;
}

/* Its parent in the tree, NO_TASK for a root. */
static u32 parent_of(const struct model *m, u32 index)
{
	s32 ptid = m->tasks.at[index].ptid;
	u32 parent = ptid < 0 ? DICT_NONE : dict_get(&m->by_tid, (u32)ptid);
	return parent == DICT_NONE || parent == index || m->tasks.at[parent].gone ? NO_TASK : parent;
}

/* Appends a task to its parent's children, and then the parent, and so on up: whoever has a child early in the list comes early. */
static void link_task(struct model *m, u32 at, u32 *roots, size_t *nr_roots)
{
	while (!m->tasks.at[at].linked) {
		m->tasks.at[at].linked = true;
		u32 parent = parent_of(m, at);
		if (parent == NO_TASK) {
			roots[(*nr_roots)++] = at;
			return;
		}
		struct side_task *p = &m->tasks.at[parent];
		if (p->first_child == NO_TASK)
			p->first_child = at;
		else
			m->tasks.at[p->last_child].next = at;
		p->last_child = at;
		at = parent;
	}
}

static int print_tasks(struct model *m, struct strbuf *to)
{
	struct listed *list = calloc(m->tasks.nr + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	size_t nr = 0;
	for (u32 i = 0; i < m->tasks.nr; i++)
		if (!m->tasks.at[i].gone)
			list[nr++] = (struct listed){ (u32)m->tasks.at[i].tid % LISTED_MODULO,
						      (u32)m->tasks.at[i].tid, i };
	qsort(list, nr, sizeof(*list), by_table);
	u32 *roots = calloc(nr + 1, sizeof(*roots));
	size_t nr_roots = 0;
	for (size_t i = 0; roots && i < nr; i++)
		link_task(m, list[i].index, roots, &nr_roots);
	strbuf_printf(to, "# %8s %8s %8s  %s\n", "pid", "tid", "ppid", "comm");
	int err = roots ? 0 : -ENOMEM;
	for (size_t i = 0; i < nr_roots && !err; i++)
		err = print_tree(m, roots[i], to);
	free(roots);
	free(list);
	return err;
}

int side_tables_tasks(const struct source *src, bool maps, struct strbuf *to)
{
	struct model m = { .maps = maps };
	struct perf_sides sides;
	int err = perf_sides_read(&sides, replay_perf_file(src));
	if (err)
		return err;
	dict_init(&m.by_tid);
	arena_init(&m.arena);
	s64 idle = task_of(&m, 0, 0);
	if (idle < 0)
		err = (int)idle;
	else
		set_comm(&m.tasks.at[idle], "swapper");
	for (size_t i = 0; i < sides.rows.nr && !err; i++)
		err = take_side(&m, &sides.rows.at[i].side);
	if (!err)
		err = print_tasks(&m, to);
	vec_for_each (&m.spaces, l)
		vec_free(l);
	vec_free(&m.spaces);
	vec_free(&m.tasks);
	dict_done(&m.by_tid);
	arena_done(&m.arena);
	perf_sides_done(&sides);
	return err ? err : to->err;
}
