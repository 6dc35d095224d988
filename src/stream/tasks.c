#include "stream/tasks.h"
#include "base/dict.h"
#include "model/sample.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_DEPTH = 24,    /* of forks without exec; a deeper one copies its parent's maps */
	MAX_STEPS = 4096,  /* maps looked at for one address: only a hostile file has more on top of each other */
};

struct map {
	u64 start, end;
	u64 from;
	u64 pgoff;
	u32 image;
	u32 seq; /* of equal times the later record wins */
};

struct space {
	VEC(struct map) maps; /* sorted by start once sealed */
	u64 *max_end;         /* [i]: largest end of maps[0..i] */
	u32 parent;
	u32 depth;
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
	if (!vec_push(&t->spaces) || !vec_push(&t->spaces)) {
		tasks_free(t);
		return NULL;
	}
	return t;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	vec_for_each(&t->spaces, s) {
		vec_free(&s->maps);
		free(s->max_end);
	}
	vec_for_each(&t->comms, l) vec_free(&l->changes);
	vec_for_each(&t->procs, l) vec_free(&l->changes);
	vec_free(&t->spaces);
	vec_free(&t->comms);
	vec_free(&t->procs);
	vec_free(&t->events);
	dict_done(&t->comm_of);
	dict_done(&t->proc_of);
	dict_done(&t->image_of);
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
		return starts(r->name, "[kernel.kallsyms]") || starts(r->name, "[guest.kernel.kallsyms") ? IMAGE_KIND_KERNEL :
													    IMAGE_KIND_MODULE;
	if (starts(r->name, "[vdso]"))
		return IMAGE_KIND_VDSO;
	if (starts(r->name, "//anon") || r->name[0] == '[' || starts(r->name, "/dev/zero") || starts(r->name, "/anon_hugepage") ||
	    starts(r->name, "/SYSV"))
		return IMAGE_KIND_ANON;
	return IMAGE_KIND_FILE;
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

static s64 image_add(struct tasks *t, const struct perf_side *r)
{
	enum image_kind kind = image_kind(r);
	size_t len = strlen(r->name);
	if (kind == IMAGE_KIND_KERNEL) {
		const char *close = strchr(r->name, ']'); /* "[kernel.kallsyms]_text": the reference symbol is not the name */
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
		return err ? err : image;
	struct image_info *info = vec_push(&t->catalog->images);
	if (!info)
		return -ENOMEM;
	info->kind = kind;
	info->path = strtab_str(&t->catalog->strings, (u32)path);
	info->name = display_name(t, kind, info->path);
	info->pid = r->pid;
	if (kind == IMAGE_KIND_KERNEL || kind == IMAGE_KIND_MODULE || kind == IMAGE_KIND_BPF) {
		info->start = r->addr;
		info->end = r->len > UINT64_MAX - r->addr ? UINT64_MAX : r->addr + r->len;
		info->reloc = r->pgoff;
	}
	return info->name ? image : -ENOMEM;
}

static void set_build_id(struct image_info *info, const u8 *id, u32 size)
{
	info->build_id_size = (u8)min(size, (u32)BUILD_ID_MAX);
	memcpy(info->build_id, id, info->build_id_size);
}

int tasks_build_id(struct tasks *t, const char *path, const u8 *id, u32 id_size)
{
	vec_for_each(&t->catalog->images, info)
		if (info->path && !strcmp(info->path, path) && !info->build_id_size)
			set_build_id(info, id, id_size);
	return 0;
}

int tasks_add(struct tasks *t, const struct perf_side *r, u64 time)
{
	s64 image = 0, name = 0;
	if (r->type == PERF_RECORD_MMAP || r->type == PERF_RECORD_MMAP2 || r->type == PERF_RECORD_KSYMBOL) {
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
		.time = time, .seq = (u32)t->events.nr, .type = r->type, .misc = r->misc, .ksym_flags = r->ksym_flags,
		.pid = r->pid, .tid = r->tid, .ppid = r->ppid, .ptid = r->ptid,
		.name = (u32)name, .image = (u32)image, .addr = r->addr, .len = r->len, .pgoff = r->pgoff,
	};
	return 0;
}

static u32 timeline_at(const struct timeline *l, u64 time, u32 none)
{
	/* Few changes, the last ones asked for most. */
	for (size_t i = l->changes.nr; i-- > 0;)
		if (l->changes.at[i].from <= time)
			return l->changes.at[i].value;
	return none;
}

static u32 dict_timeline(const struct dict *d, const struct timeline *at, u32 key, u64 time, u32 none)
{
	u32 index = dict_get(d, key);
	return index == DICT_NONE ? none : timeline_at(&at[index], time, none);
}

u32 tasks_comm(const struct tasks *t, u32 tid, u64 time)
{
	return dict_timeline(&t->comm_of, t->comms.at, tid, time, COMM_UNNAMED(tid));
}

u32 tasks_space(const struct tasks *t, u32 pid, u64 time)
{
	return dict_timeline(&t->proc_of, t->procs.at, pid, time, SPACE_NONE);
}

static int set_comm(struct tasks *t, u32 tid, u64 time, u32 comm)
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
	*c = (struct change){ .from = time, .value = comm };
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
		if (e->type == PERF_RECORD_KSYMBOL && e->ksym_flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
			gone.image = IMAGE_NONE;
		return add_map(t, SPACE_KERNEL, &gone);
	}
	s64 space = tasks_space(t, e->pid, e->time);
	if (space == SPACE_NONE)
		space = new_space(t, e->pid, 0);
	return space < 0 ? (int)space : add_map(t, (u32)space, e);
}

/* A long line of forks without exec: take the maps over, so that a look-up stays short. */
static int copy_maps(struct tasks *t, u32 to, u32 from, u64 time)
{
	for (u32 s = from; s; s = t->spaces.at[s].parent) {
		for (size_t i = 0; i < t->spaces.at[s].maps.nr; i++) {
			struct map m = t->spaces.at[s].maps.at[i];
			if (m.from > time)
				continue;
			struct map *copy = vec_push(&t->spaces.at[to].maps);
			if (!copy)
				return -ENOMEM;
			*copy = m;
		}
		time = min(time, t->spaces.at[s].forked);
	}
	return 0;
}

static int apply_fork(struct tasks *t, const struct event *e)
{
	u32 comm = tasks_comm(t, e->ptid, e->time);
	int err = COMM_IS_UNNAMED(comm) ? 0 : set_comm(t, e->tid, e->time, comm);
	if (err || e->pid == e->ppid)
		return err;
	s64 space = new_space(t, e->pid, e->time);
	if (space < 0)
		return (int)space;
	/* A synthesised fork of a process that had already run exec: its own maps follow. */
	u32 parent = e->misc & PERF_RECORD_MISC_FORK_EXEC ? SPACE_NONE : tasks_space(t, e->ppid, e->time);
	if (parent == SPACE_NONE || parent == space)
		return 0;
	struct space *s = &t->spaces.at[space];
	if (t->spaces.at[parent].depth >= MAX_DEPTH)
		return copy_maps(t, (u32)space, parent, e->time);
	s->parent = parent;
	s->depth = t->spaces.at[parent].depth + 1;
	s->forked = e->time;
	return 0;
}

static int apply(struct tasks *t, const struct event *e)
{
	switch (e->type) {
	case PERF_RECORD_COMM:
		if (e->misc & PERF_RECORD_MISC_COMM_EXEC) {
			s64 space = new_space(t, e->pid, e->time);
			if (space < 0)
				return (int)space;
		}
		return set_comm(t, e->tid, e->time, e->name);
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

static int seal_space(struct space *s)
{
	if (!s->maps.nr)
		return 0;
	qsort(s->maps.at, s->maps.nr, sizeof(*s->maps.at), by_start);
	s->max_end = malloc(s->maps.nr * sizeof(*s->max_end));
	if (!s->max_end)
		return -ENOMEM;
	u64 end = 0;
	for (size_t i = 0; i < s->maps.nr; i++)
		s->max_end[i] = end = max(end, s->maps.at[i].end);
	return 0;
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
	int err = idle < 0 ? (int)idle : set_comm(t, 0, 0, (u32)idle);
	for (size_t i = 0; i < t->events.nr && !err; i++)
		err = apply(t, &t->events.at[i]);
	vec_free(&t->events);
	for (size_t i = 0; i < t->spaces.nr && !err; i++)
		err = seal_space(&t->spaces.at[i]);
	t->sealed = !err;
	return err;
}

/* The newest map that covers addr at that time. Narrows ret->from/until to the times for which the answer stays. */
static const struct map *space_find(const struct space *s, u64 addr, u64 time, struct tasks_place *ret)
{
	size_t lo = 0, hi = s->maps.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->maps.at[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	const struct map *best = NULL;
	for (size_t i = lo, steps = 0; i-- > 0 && s->max_end[i] > addr && steps < MAX_STEPS; steps++) {
		const struct map *m = &s->maps.at[i];
		if (m->end <= addr)
			continue;
		if (m->from > time)
			ret->until = min(ret->until, m->from);
		else if (!best || m->from > best->from || (m->from == best->from && m->seq > best->seq))
			best = m;
	}
	if (best)
		ret->from = max(ret->from, best->from);
	return best;
}

void tasks_find(const struct tasks *t, u32 space, u64 addr, u64 time, struct tasks_place *ret)
{
	*ret = (struct tasks_place){ .image = IMAGE_NONE, .offset = addr, .until = UINT64_MAX };
	if (space == SPACE_NONE)
		return;
	const struct map *m = NULL;
	u64 at = time;
	for (u32 s = space; s && !m; s = t->spaces.at[s].parent) {
		u64 until = ret->until;
		m = space_find(&t->spaces.at[s], addr, at, ret);
		if (s != space)
			ret->until = until; /* what the parent maps after the fork is not ours */
		at = min(at, t->spaces.at[s].forked);
	}
	if (!m || m->image == IMAGE_NONE)
		return;
	ret->image = m->image;
	if (t->catalog->images.at[m->image].kind == IMAGE_KIND_FILE || t->catalog->images.at[m->image].kind == IMAGE_KIND_VDSO)
		ret->offset = addr - m->start + m->pgoff;
}
