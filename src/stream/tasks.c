#include "stream/tasks.h"
#include "base/dict.h"
#include "model/sample.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Generations of forks without exec, each with maps of its own, that a look-up goes up. A child of a process that mapped nothing
 * itself hangs below that one's parent, so real systems stay far below this.
 */
enum { MAX_DEPTH = 512 };

struct map {
	u64 start, end;
	u64 from;
	u64 pgoff;
	u32 image;
	u32 seq; /* of equal times the later record wins */
};

/*
 * For maps that lie over each other: a segment tree. The ends of all maps cut the addresses into segments, the leaves of a
 * binary tree; a map is noted at the few nodes that together make up its range. All maps over an address are then noted on the way
 * from its leaf to the root, and each node's notes are in time order: the newest one at a time costs a binary search a level.
 *
 *	node 1 is the root, 2n and 2n + 1 are below n, leaves are nr_segments ... 2 * nr_segments - 1
 */
struct stab {
	u64 *cuts; /* segment i is [cuts[i], cuts[i + 1]) */
	u32 nr_segments;
	u32 *first; /* [node] -> where its notes begin; one more for the end */
	u32 *notes; /* indices of maps */
};

struct space {
	VEC(struct map) maps; /* sealed: sorted by start, or by time when there is a stab */
	struct stab stab; /* cuts NULL: no two maps overlap */
	u64 *moments; /* times at which something was mapped, ascending, each once */
	u32 nr_moments;
	u32 parent;
	u64 forked;
};

struct change {
	u64 from;
	u32 value; /* a comm of a task, a space of a process */
	u32 seq;
};

struct timeline {
	VEC(struct change) changes;
};

/* A side-band record, kept until all are there and can be taken in time order. */
struct event {
	u64 time;
	u32 seq;
	u32 type;
	u16 misc;
	u16 ksym_flags;
	u32 pid, tid, ppid, ptid;
	u32 name; /* string id */
	u32 image;
	u64 addr, len, pgoff;
};

struct tasks {
	struct catalog *catalog;
	VEC(struct event) events;
	VEC(struct space) spaces;
	VEC(struct timeline) comms;
	VEC(struct timeline) procs;
	struct dict comm_of; /* tid -> comms */
	struct dict proc_of; /* pid -> procs */
	struct dict image_of; /* hash of (path, kind, device, inode) -> image */
	struct dict path_of; /* string id of a path -> its first image */
	VEC(u32) next_same; /* [image] -> another one of the same path, 0: none */
	bool sealed;
};

struct tasks *tasks_new(struct catalog *c)
{
	struct tasks *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->catalog = c;
	dict_init(&t->comm_of);
	dict_init(&t->proc_of);
	dict_init(&t->image_of);
	dict_init(&t->path_of);
	if (!vec_push(&t->spaces) || !vec_push(&t->spaces)) {
		tasks_free(t);
		return NULL;
	}
	return t;
}

static void free_answers(struct tasks *t)
{
	vec_for_each (&t->spaces, s) {
		vec_free(&s->maps);
		free(s->moments);
		free(s->stab.cuts);
		free(s->stab.first);
		free(s->stab.notes);
	}
	vec_for_each (&t->comms, l)
		vec_free(&l->changes);
	vec_for_each (&t->procs, l)
		vec_free(&l->changes);
	vec_free(&t->spaces);
	vec_free(&t->comms);
	vec_free(&t->procs);
	dict_done(&t->comm_of);
	dict_done(&t->proc_of);
}

int tasks_reopen(struct tasks *t)
{
	free_answers(t);
	dict_init(&t->comm_of);
	dict_init(&t->proc_of);
	dict_done(&t->catalog->last_comm);
	dict_init(&t->catalog->last_comm);
	t->sealed = false;
	return vec_push(&t->spaces) && vec_push(&t->spaces) ? 0 : -ENOMEM;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	free_answers(t);
	vec_free(&t->events);
	dict_done(&t->image_of);
	dict_done(&t->path_of);
	vec_free(&t->next_same);
	free(t);
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static enum image_kind image_kind(const struct perf_side *r)
{
	bool kernel = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (r->type == PERF_RECORD_KSYMBOL)
		return IMAGE_KIND_BPF;
	if (kernel)
		return starts(r->name, "[kernel.kallsyms]") ||
				       starts(r->name, "[guest.kernel.kallsyms")
			       ? IMAGE_KIND_KERNEL
			       : IMAGE_KIND_MODULE;
	if (starts(r->name, "[vdso]"))
		return IMAGE_KIND_VDSO;
	if (starts(r->name, "//anon") || r->name[0] == '[' || starts(r->name, "/dev/zero") ||
	    starts(r->name, "/anon_hugepage") || starts(r->name, "/SYSV"))
		return IMAGE_KIND_ANON;
	return IMAGE_KIND_FILE;
}

/* Code without a file: whatever made it may have left names in /tmp/perf-PID.map, and perf shows it by that. */
static const char *jit_name(struct tasks *t, u32 pid)
{
	char name[32];
	int n = snprintf(name, sizeof(name), "[JIT] tid %d", (s32)pid);
	return arena_strndup(&t->catalog->arena, name, (size_t)n);
}

static const char *jit_path(struct tasks *t, u32 pid)
{
	char path[32];
	int n = snprintf(path, sizeof(path), "/tmp/perf-%d.map", (s32)pid);
	return arena_strndup(&t->catalog->arena, path, (size_t)n);
}

/* What a column shows: the last path component; modules in brackets, as /proc/modules names them. */
static const char *display_name(struct tasks *t, enum image_kind kind, const char *path)
{
	struct arena *a = &t->catalog->arena;
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	if (kind == IMAGE_KIND_KERNEL)
		return "[kernel.kallsyms]";
	if (kind == IMAGE_KIND_ANON && starts(path, "//anon"))
		return "//anon";
	if (kind != IMAGE_KIND_MODULE || base[0] == '[')
		return base[0] ? arena_strdup(a, base) : arena_strdup(a, path);
	size_t len = strcspn(base, ".");
	char *name = arena_alloc(a, len + 3);
	if (!name)
		return NULL;
	name[0] = '[';
	for (size_t i = 0; i < len; i++)
		name[i + 1] = base[i] == '-' ? '_' : base[i];
	memcpy(name + len + 1, "]", 2);
	return name;
}

/* Images of one path, as build ids are told by path. */
static int note_path(struct tasks *t, u32 path, u32 image)
{
	u32 head;
	int err = dict_add(&t->path_of, path, image, &head);
	while (!err && t->next_same.nr <= image)
		if (!vec_push(&t->next_same))
			err = -ENOMEM;
	if (!err && head != image) {
		t->next_same.at[image] = t->next_same.at[head];
		t->next_same.at[head] = image;
	}
	return err;
}

static s64 image_add(struct tasks *t, const struct perf_side *r)
{
	enum image_kind kind = image_kind(r);
	size_t len = strlen(r->name);
	if (kind == IMAGE_KIND_KERNEL) {
		const char *close = strchr(
			r->name,
			']'); /* "[kernel.kallsyms]_text": the reference symbol is not the name */
		len = close ? (size_t)(close + 1 - r->name) : len;
	}
	s64 path = strtab_add(&t->catalog->strings, r->name, len);
	if (path < 0)
		return path;
	u64 key[4] = { (u64)path, (u64)kind, r->dev, r->ino };
	if (kind == IMAGE_KIND_ANON)
		key[2] = r->pid; /* its symbols, if any, come from that process's map file */
	u32 image, fresh = (u32)t->catalog->images.nr;
	int err = dict_add(&t->image_of, hash_bytes(key, sizeof(key)), fresh, &image);
	if (err || image != fresh)
		return err ? err : (s64)image;
	struct image_info *info = vec_push(&t->catalog->images);
	if (!info)
		return -ENOMEM;
	info->kind = kind;
	info->path = strtab_str(&t->catalog->strings, (u32)path);
	bool jit = kind == IMAGE_KIND_ANON && r->prot & PROT_EXEC;
	info->name = jit ? jit_name(t, r->pid) : display_name(t, kind, info->path);
	if (jit)
		info->path = jit_path(t, r->pid);
	info->pid = r->pid;
	if (kind == IMAGE_KIND_KERNEL || kind == IMAGE_KIND_MODULE || kind == IMAGE_KIND_BPF) {
		info->start = r->addr;
		info->end = r->len > UINT64_MAX - r->addr ? UINT64_MAX : r->addr + r->len;
		info->reloc = r->pgoff;
	}
	if (!info->name || !info->path)
		return -ENOMEM;
	err = note_path(t, (u32)path, image);
	return err ? err : (s64)image;
}

static void set_build_id(struct image_info *info, const u8 *id, u32 size)
{
	info->build_id_size = (u8)min(size, (u32)BUILD_ID_MAX);
	memcpy(info->build_id, id, info->build_id_size);
}

int tasks_build_id(struct tasks *t, const char *path, const u8 *id, u32 id_size)
{
	s64 known = id_size ? strtab_find(&t->catalog->strings, path, strlen(path)) : -ENOENT;
	u32 image = known < 0 ? DICT_NONE : dict_get(&t->path_of, (u64)known);
	while (image != DICT_NONE && image) {
		u32 next = t->next_same.at[image];
		if (!t->catalog->images.at[image].build_id_size)
			set_build_id(&t->catalog->images.at[image], id, id_size);
		/* It has one now: nobody needs to come by here again. */
		t->next_same.at[image] = 0;
		image = next;
	}
	return 0;
}

int tasks_add(struct tasks *t, const struct perf_side *r, u64 time)
{
	s64 image = 0, name = 0;
	if (r->type == PERF_RECORD_MMAP || r->type == PERF_RECORD_MMAP2 ||
	    r->type == PERF_RECORD_KSYMBOL) {
		image = image_add(t, r);
		if (image < 0)
			return (int)image;
		if (r->build_id)
			set_build_id(&t->catalog->images.at[image], r->build_id, r->build_id_size);
	} else if (r->type == PERF_RECORD_COMM) {
		name = strtab_add(&t->catalog->strings, r->name, strlen(r->name));
		if (name < 0)
			return (int)name;
	} else if (r->type != PERF_RECORD_FORK) {
		return 0;
	}
	struct event *e = vec_push(&t->events);
	if (!e)
		return -ENOMEM;
	*e = (struct event){
		.time = time,
		.seq = (u32)t->events.nr,
		.type = r->type,
		.misc = r->misc,
		.ksym_flags = r->ksym_flags,
		.pid = r->pid,
		.tid = r->tid,
		.ppid = r->ppid,
		.ptid = r->ptid,
		.name = (u32)name,
		.image = (u32)image,
		.addr = r->addr,
		.len = r->len,
		.pgoff = r->pgoff,
	};
	return 0;
}

/* value: what to say of the time before the first change. */
static void timeline_at(const struct timeline *l, u64 time, struct tasks_span *ret)
{
	size_t lo = 0, hi = l->changes.nr;
	/* The last one is asked for most. */
	if (hi && l->changes.at[hi - 1].from <= time)
		lo = hi;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (l->changes.at[mid].from <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo) {
		ret->value = l->changes.at[lo - 1].value;
		ret->from = l->changes.at[lo - 1].from;
	}
	if (lo < l->changes.nr)
		ret->until = l->changes.at[lo].from;
}

static void dict_timeline(const struct dict *d, const struct timeline *at, u32 id, u64 time,
			  u32 none, struct tasks_span *ret)
{
	*ret = (struct tasks_span){ .id = id, .value = none, .until = UINT64_MAX };
	u32 index = dict_get(d, id);
	if (index != DICT_NONE)
		timeline_at(&at[index], time, ret);
}

void tasks_comm_span(const struct tasks *t, u32 tid, u64 time, struct tasks_span *ret)
{
	dict_timeline(&t->comm_of, t->comms.at, tid, time, COMM_UNNAMED(tid), ret);
}

void tasks_space_span(const struct tasks *t, u32 pid, u64 time, struct tasks_span *ret)
{
	dict_timeline(&t->proc_of, t->procs.at, pid, time, SPACE_NONE, ret);
}

u32 tasks_comm(const struct tasks *t, u32 tid, u64 time)
{
	struct tasks_span s;
	tasks_comm_span(t, tid, time, &s);
	return s.value;
}

u32 tasks_space(const struct tasks *t, u32 pid, u64 time)
{
	struct tasks_span s;
	tasks_space_span(t, pid, time, &s);
	return s.value;
}

/* first: what it also was called before, if nothing else is known of that. */
static int set_comm(struct tasks *t, u32 tid, u64 time, u32 comm, bool first)
{
	u32 index, fresh = (u32)t->comms.nr;
	int err = dict_add(&t->comm_of, tid, fresh, &index);
	if (err)
		return err;
	if (index == fresh && !vec_push(&t->comms))
		return -ENOMEM;
	struct timeline *l = &t->comms.at[index];
	if (l->changes.nr && l->changes.at[l->changes.nr - 1].value == comm)
		return 0;
	struct change *c = vec_push(&l->changes);
	if (!c)
		return -ENOMEM;
	*c = (struct change){ .from = first && l->changes.nr == 1 ? 0 : time, .value = comm };
	return 0;
}

static s64 new_space(struct tasks *t, u32 pid, u64 time)
{
	u32 index, fresh = (u32)t->procs.nr;
	int err = dict_add(&t->proc_of, pid, fresh, &index);
	if (err)
		return err;
	if (index == fresh && !vec_push(&t->procs))
		return -ENOMEM;
	struct change *c = vec_push(&t->procs.at[index].changes);
	if (!c || !vec_push(&t->spaces))
		return -ENOMEM;
	*c = (struct change){ .from = time, .value = (u32)t->spaces.nr - 1 };
	return c->value;
}

/*
 * The record of the kernel ends at the end of its code proper; code that ran while booting lies behind it, and the addresses of
 * modules have records of their own, which are newer.
 */
static u64 map_end(const struct tasks *t, const struct event *e)
{
	bool open = t->catalog->images.at[e->image].kind == IMAGE_KIND_KERNEL;
	return open || e->len > UINT64_MAX - e->addr ? UINT64_MAX : e->addr + e->len;
}

static int add_map(struct tasks *t, u32 space, const struct event *e)
{
	if (!e->len)
		return 0;
	struct map *m = vec_push(&t->spaces.at[space].maps);
	if (!m)
		return -ENOMEM;
	*m = (struct map){
		.start = e->addr,
		.end = map_end(t, e),
		.from = e->time,
		.pgoff = e->pgoff,
		.image = e->image,
		.seq = e->seq,
	};
	return 0;
}

static int apply_map(struct tasks *t, const struct event *e)
{
	enum image_kind kind = t->catalog->images.at[e->image].kind;
	if (kind == IMAGE_KIND_KERNEL || kind == IMAGE_KIND_MODULE || kind == IMAGE_KIND_BPF) {
		struct event gone = *e;
		if (e->type == PERF_RECORD_KSYMBOL &&
		    e->ksym_flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
			gone.image = IMAGE_NONE;
		return add_map(t, SPACE_KERNEL, &gone);
	}
	s64 space = tasks_space(t, e->pid, e->time);
	if (space == SPACE_NONE)
		space = new_space(t, e->pid, 0);
	return space < 0 ? (int)space : add_map(t, (u32)space, e);
}

/* What `space` does not map itself is as `parent` had it at that time. */
static void hang_below(struct tasks *t, u32 space, u32 parent, u64 time)
{
	if (parent == SPACE_NONE || parent == space)
		return;
	/* Events come in time order: a parent without maps has had none so far. */
	struct space *s = &t->spaces.at[space], *from = &t->spaces.at[parent];
	bool skip = !from->maps.nr;
	s->parent = skip ? from->parent : parent;
	s->forked = skip ? from->forked : time;
}

/*
 * A new program. Until it runs, samples inside of execve() still show where the old one called it: what the new one does not map
 * leads to the old one's maps.
 */
static int apply_exec(struct tasks *t, const struct event *e)
{
	u32 old = tasks_space(t, e->pid, e->time);
	s64 space = new_space(t, e->pid, e->time);
	if (space < 0)
		return (int)space;
	hang_below(t, (u32)space, old, e->time);
	return 0;
}

static int apply_fork(struct tasks *t, const struct event *e)
{
	u32 comm = tasks_comm(t, e->ptid, e->time);
	int err = COMM_IS_UNNAMED(comm) ? 0 : set_comm(t, e->tid, e->time, comm, false);
	if (err || e->pid == e->ppid)
		return err;
	s64 space = new_space(t, e->pid, e->time);
	if (space < 0)
		return (int)space;
	/* A synthesised fork of a process that had already run exec: its own maps follow. */
	u32 parent = e->misc & PERF_RECORD_MISC_FORK_EXEC ? SPACE_NONE
							  : tasks_space(t, e->ppid, e->time);
	hang_below(t, (u32)space, parent, e->time);
	return 0;
}

static int apply(struct tasks *t, const struct event *e)
{
	switch (e->type) {
	case PERF_RECORD_COMM:
		if (e->misc & PERF_RECORD_MISC_COMM_EXEC) {
			int err = apply_exec(t, e);
			if (err)
				return err;
		}
		return set_comm(t, e->tid, e->time, e->name, true);
	case PERF_RECORD_FORK: return apply_fork(t, e);
	default: return apply_map(t, e);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct event *l = a, *r = b;
	if (l->time != r->time)
		return l->time < r->time ? -1 : 1;
	return l->seq < r->seq ? -1 : l->seq > r->seq;
}

static int by_start(const void *a, const void *b)
{
	const struct map *l = a, *r = b;
	if (l->start != r->start)
		return l->start < r->start ? -1 : 1;
	return l->seq < r->seq ? -1 : l->seq > r->seq;
}

static int by_moment(const void *a, const void *b)
{
	const struct map *l = a, *r = b;
	if (l->from != r->from)
		return l->from < r->from ? -1 : 1;
	return l->seq < r->seq ? -1 : l->seq > r->seq;
}

static int by_value(const void *a, const void *b)
{
	u64 l = *(const u64 *)a, r = *(const u64 *)b;
	return l < r ? -1 : l > r;
}

/* The segment that holds an address; nr_segments and above: none. */
static u32 segment_of(const struct stab *s, u64 addr)
{
	u32 lo = 0, hi = s->nr_segments + 1;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (s->cuts[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1; /* before the first: wraps to a large number */
}

/* Calls each node that makes up the map's range: counts notes (fill false), then writes them. */
static void note_map(struct stab *s, const struct map *m, u32 index, u32 *at, bool fill)
{
	u32 l = segment_of(s, m->start) + s->nr_segments, r = segment_of(s, m->end) + s->nr_segments;
	for (; l < r; l /= 2, r /= 2) {
		u32 nodes[2], nr = 0;
		if (l & 1)
			nodes[nr++] = l++;
		if (r & 1)
			nodes[nr++] = --r;
		for (u32 i = 0; i < nr; i++) {
			if (fill)
				s->notes[at[nodes[i]]] = index;
			at[nodes[i]]++;
		}
	}
}

static int build_stab(struct space *sp)
{
	struct stab *s = &sp->stab;
	size_t nr = sp->maps.nr, cuts = 0;
	if (nr > UINT32_MAX / 128)
		return -ENOMEM;
	s->cuts = malloc(2 * nr * sizeof(*s->cuts));
	if (!s->cuts)
		return -ENOMEM;
	vec_for_each (&sp->maps, m) {
		s->cuts[cuts++] = m->start;
		s->cuts[cuts++] = m->end;
	}
	qsort(s->cuts, cuts, sizeof(*s->cuts), by_value);
	size_t kept = 1;
	for (size_t i = 1; i < cuts; i++)
		if (s->cuts[i] != s->cuts[kept - 1])
			s->cuts[kept++] = s->cuts[i];
	s->nr_segments = (u32)kept - 1;

	s->first = calloc(2 * (size_t)s->nr_segments + 2, sizeof(*s->first));
	if (!s->first)
		return -ENOMEM;
	u32 *count = s->first +
		     1; /* so that the sums end up one place further: where each node begins */
	for (size_t i = 0; i < nr; i++)
		note_map(s, &sp->maps.at[i], (u32)i, count, false);
	for (u32 n = 0; n < 2 * s->nr_segments; n++)
		count[n] += n ? count[n - 1] : 0;
	u32 total = count[2 * s->nr_segments - 1];
	s->notes = malloc((total + 1ull) * sizeof(*s->notes));
	u32 *at = malloc((2ull * s->nr_segments + 1) * sizeof(*at));
	if (!s->notes || !at) {
		free(at);
		return -ENOMEM;
	}
	memcpy(at, s->first, 2ull * s->nr_segments * sizeof(*at));
	for (size_t i = 0; i < nr; i++)
		note_map(s, &sp->maps.at[i], (u32)i, at, true);
	free(at);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	u64 l = *(const u64 *)a, r = *(const u64 *)b;
	return (l > r) - (l < r);
}

static int note_moments(struct space *s)
{
	s->moments = malloc(s->maps.nr * sizeof(*s->moments));
	if (!s->moments)
		return -ENOMEM;
	for (size_t i = 0; i < s->maps.nr; i++)
		s->moments[i] = s->maps.at[i].from;
	qsort(s->moments, s->maps.nr, sizeof(*s->moments), by_number);
	for (size_t i = 0; i < s->maps.nr; i++)
		if (!s->nr_moments || s->moments[s->nr_moments - 1] != s->moments[i])
			s->moments[s->nr_moments++] = s->moments[i];
	return 0;
}

static int seal_space(struct space *s)
{
	if (!s->maps.nr)
		return 0;
	int err = note_moments(s);
	if (err)
		return err;
	bool overlap = false;
	qsort(s->maps.at, s->maps.nr, sizeof(*s->maps.at), by_start);
	for (size_t i = 1; i < s->maps.nr && !overlap; i++)
		overlap = s->maps.at[i].start < s->maps.at[i - 1].end;
	if (!overlap)
		return 0;
	qsort(s->maps.at, s->maps.nr, sizeof(*s->maps.at), by_moment);
	return build_stab(s);
}

static int tell_last_comms(struct tasks *t)
{
	int err = 0;
	for (u32 i = 0; t->comm_of.slots && i <= t->comm_of.mask && !err; i++) {
		const struct dict_slot *s = &t->comm_of.slots[i];
		if (s->value == DICT_NONE)
			continue;
		u32 have;
		const struct timeline *l = &t->comms.at[s->value];
		if (l->changes.nr)
			err = dict_add(&t->catalog->last_comm, s->key,
				       l->changes.at[l->changes.nr - 1].value, &have);
	}
	return err;
}

int tasks_seal(struct tasks *t)
{
	if (t->sealed)
		return 0;
	bool sorted = true;
	for (size_t i = 1; i < t->events.nr && sorted; i++)
		sorted = t->events.at[i - 1].time <= t->events.at[i].time;
	if (!sorted)
		qsort(t->events.at, t->events.nr, sizeof(*t->events.at), by_time);
	s64 idle = strtab_add(&t->catalog->strings, "swapper", 7);
	int err = idle < 0 ? (int)idle : set_comm(t, 0, 0, (u32)idle, true);
	for (size_t i = 0; i < t->events.nr && !err; i++)
		err = apply(t, &t->events.at[i]);
	if (!err)
		err = tell_last_comms(t);
	for (size_t i = 0; i < t->spaces.nr && !err; i++)
		err = seal_space(&t->spaces.at[i]);
	t->sealed = !err;
	return err;
}

/* The newest note of a node, at a time: index + 1 of a map, 0: none. *until: when the next one comes. */
static u32 newest_note(const struct space *s, u32 node, u64 time, u64 *until)
{
	u32 lo = s->stab.first[node], end = s->stab.first[node + 1], hi = end, start = lo;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (s->maps.at[s->stab.notes[mid]].from <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < end)
		*until = min(*until, s->maps.at[s->stab.notes[lo]].from);
	return lo > start ? s->stab.notes[lo - 1] + 1 : 0;
}

static const struct map *stab_find(const struct space *s, u64 addr, u64 time, u64 *until)
{
	u32 segment = segment_of(&s->stab, addr), best = 0;
	if (segment >= s->stab.nr_segments)
		return NULL;
	for (u32 node = segment + s->stab.nr_segments; node; node /= 2) {
		u32 found = newest_note(s, node, time, until);
		best = max(best, found); /* maps are in time order */
	}
	return best ? &s->maps.at[best - 1] : NULL;
}

static const struct map *plain_find(const struct space *s, u64 addr, u64 time, u64 *until)
{
	size_t lo = 0, hi = s->maps.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->maps.at[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	const struct map *m = lo ? &s->maps.at[lo - 1] : NULL;
	if (!m || m->end <= addr)
		return NULL;
	if (m->from <= time)
		return m;
	*until = min(*until, m->from);
	return NULL;
}

/* The newest map that covers addr at that time; *until is narrowed to when another one comes. */
static const struct map *space_find(const struct space *s, u64 addr, u64 time, u64 *until)
{
	return s->stab.cuts ? stab_find(s, addr, time, until) : plain_find(s, addr, time, until);
}

void tasks_epoch(const struct tasks *t, u32 space, u64 time, struct tasks_epoch *ret)
{
	const struct space *s = &t->spaces.at[space];
	u32 lo = 0, hi = s->nr_moments;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (s->moments[mid] <= time)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = (struct tasks_epoch){
		.space = space,
		.number = lo,
		.from = lo ? s->moments[lo - 1] : 0,
		.until = lo < s->nr_moments ? s->moments[lo] : UINT64_MAX,
	};
}

void tasks_find(const struct tasks *t, u32 space, u64 addr, u64 time, struct tasks_place *ret)
{
	*ret = (struct tasks_place){ .image = IMAGE_NONE, .offset = addr, .until = UINT64_MAX };
	if (space == SPACE_NONE)
		return;
	const struct map *m = space_find(&t->spaces.at[space], addr, time, &ret->until);
	/* What a parent maps after the fork is not ours, so that the answer holds for all times to come. */
	u64 at = t->spaces.at[space].forked, later;
	unsigned depth = 0;
	for (u32 s = t->spaces.at[space].parent; s && !m && depth < MAX_DEPTH;
	     s = t->spaces.at[s].parent, depth++) {
		m = space_find(&t->spaces.at[s], addr, min(at, time), &later);
		at = min(at, t->spaces.at[s].forked);
	}
	if (!m)
		return;
	ret->from = m->from;
	if (m->image == IMAGE_NONE)
		return;
	ret->image = m->image;
	if (t->catalog->images.at[m->image].kind == IMAGE_KIND_FILE ||
	    t->catalog->images.at[m->image].kind == IMAGE_KIND_VDSO)
		ret->offset = addr - m->start + m->pgoff;
}
