#include "stream/tasks.h"
#include "stream/tasks_impl.h"
#include "model/sample.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct tasks *tasks_new(struct catalog *c)
{
	struct tasks *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->catalog = c;
	t->until = UINT64_MAX;
	dict_init(&t->comm_of);
	dict_init(&t->proc_of);
	dict_init(&t->image_of);
	dict_init(&t->path_of);
	dict_init(&t->guest_of);
	dict_init(&t->guest_image_of);
	if (!vec_push(&t->spaces) || !vec_push(&t->spaces)) {
		tasks_free(t);
		return NULL;
	}
	return t;
}

static void free_answers(struct tasks *t)
{
	vec_for_each (&t->spaces, s)
		tasks_space_done(s);
	vec_for_each (&t->comms, l)
		vec_free(&l->changes);
	vec_for_each (&t->procs, l)
		vec_free(&l->changes);
	vec_free(&t->spaces);
	vec_free(&t->comms);
	vec_free(&t->procs);
	dict_done(&t->comm_of);
	dict_done(&t->proc_of);
	dict_done(&t->guest_of);
}

int tasks_reopen(struct tasks *t)
{
	free_answers(t);
	dict_init(&t->comm_of);
	dict_init(&t->proc_of);
	dict_init(&t->guest_of);
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
	dict_done(&t->guest_image_of);
	vec_free(&t->next_same);
	vec_free(&t->keys);
	vec_free(&t->dirty);
	vec_free(&t->ended);
	vec_free(&t->free_comms);
	vec_free(&t->free_procs);
	vec_free(&t->free_spaces);
	free(t);
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Of the kernel of a virtual machine, as the host records it. */
static bool is_guest(const struct perf_side *r)
{
	return r->type != PERF_RECORD_KSYMBOL &&
	       (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_GUEST_KERNEL;
}

static enum image_kind image_kind(const struct perf_side *r)
{
	u16 mode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	bool kernel = mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL;
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
		return starts(path, "[guest") ? path : "[kernel.kallsyms]";
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

int tasks_note_path(struct tasks *t, u32 path, u32 image)
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

u64 tasks_image_hash(const struct image_key *k, enum image_kind kind)
{
	u64 words[4] = { k->path, (u64)kind, k->dev, k->ino };
	return hash_bytes(words, sizeof(words));
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
	struct image_key key = { .path = (u32)path, .dev = r->dev, .ino = r->ino };
	if (kind == IMAGE_KIND_ANON)
		key.dev = r->pid; /* its symbols, if any, come from that process's map file */
	else if (is_guest(r))
		key = (struct image_key){ .path = (u32)path, .dev = r->pid, .ino = GUEST_INO };
	u32 image, fresh = (u32)t->catalog->images.nr;
	int err = dict_add(&t->image_of, tasks_image_hash(&key, kind), fresh, &image);
	if (err || image != fresh)
		return err ? err : (s64)image;
	struct image_info *info = vec_push(&t->catalog->images);
	while (info && t->keys.nr < t->catalog->images.nr)
		if (!vec_push(&t->keys))
			info = NULL;
	if (!info)
		return -ENOMEM;
	t->keys.at[image] = key;
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
	if (is_guest(r) && dict_add(&t->guest_image_of, r->pid, image, &info->guest))
		return -ENOMEM;
	err = tasks_note_path(t, (u32)path, image);
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
	} else if (r->type != PERF_RECORD_FORK && (r->type != PERF_RECORD_EXIT || !t->rounds)) {
		return 0;
	}
	struct event *e = vec_push(&t->events);
	if (!e)
		return -ENOMEM;
	*e = (struct event){
		.time = time,
		.seq = t->seq++,
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
static void timeline_at(const struct task_timeline *l, u64 time, struct tasks_span *ret)
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

static void dict_timeline(const struct dict *d, const struct task_timeline *at, u32 id, u64 time,
			  u32 none, u64 known, struct tasks_span *ret)
{
	*ret = (struct tasks_span){ .id = id, .value = none, .until = known };
	u32 index = dict_get(d, id);
	if (index != DICT_NONE)
		timeline_at(&at[index], time, ret);
}

void tasks_comm_span(const struct tasks *t, u32 tid, u64 time, struct tasks_span *ret)
{
	dict_timeline(&t->comm_of, t->comms.at, tid, time, COMM_UNNAMED(tid), t->until, ret);
}

void tasks_space_span(const struct tasks *t, u32 pid, u64 time, struct tasks_span *ret)
{
	dict_timeline(&t->proc_of, t->procs.at, pid, time, SPACE_NONE, t->until, ret);
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

/* A place in comms or procs, one that was given back first. */
#define timeline_new(list, spare)                                                                  \
	((spare)->nr ? &(list)->at[(spare)->at[--(spare)->nr]] : vec_push(list))

static struct task_timeline *proc_at(struct tasks *t, u32 pid)
{
	u32 index = dict_get(&t->proc_of, pid);
	if (index != DICT_NONE)
		return &t->procs.at[index];
	struct task_timeline *l = timeline_new(&t->procs, &t->free_procs);
	return l && !dict_put(&t->proc_of, pid, (u32)(l - t->procs.at)) ? l : NULL;
}

static struct task_timeline *comm_at(struct tasks *t, u32 tid)
{
	u32 index = dict_get(&t->comm_of, tid);
	if (index != DICT_NONE)
		return &t->comms.at[index];
	struct task_timeline *l = timeline_new(&t->comms, &t->free_comms);
	if (!l || dict_put(&t->comm_of, tid, (u32)(l - t->comms.at)))
		return NULL;
	l->pid = NO_PID;
	return l;
}

/* The task is one of this process, and alive: a process is over when all of its tasks are. */
static int join_process(struct tasks *t, struct task_timeline *task, u32 pid)
{
	if (!t->rounds || (task->pid == pid && !task->gone))
		return 0;
	struct task_timeline *proc = proc_at(t, pid);
	if (!proc)
		return -ENOMEM;
	u32 before = task->pid == NO_PID ? DICT_NONE : dict_get(&t->proc_of, task->pid);
	if (before != DICT_NONE && t->procs.at[before].nr_tasks)
		t->procs.at[before].nr_tasks--;
	proc->nr_tasks++;
	proc->gone = task->gone = false;
	task->pid = pid;
	return 0;
}

/* first: what it also was called before, if nothing else is known of that. */
static int set_comm(struct tasks *t, u32 pid, u32 tid, u64 time, u32 comm, bool first)
{
	struct task_timeline *l = comm_at(t, tid);
	int err = l ? join_process(t, l, pid) : -ENOMEM;
	if (!err && t->rounds)
		err = dict_put(&t->catalog->last_comm, tid, comm);
	if (err || (l->changes.nr && l->changes.at[l->changes.nr - 1].value == comm))
		return err;
	struct change *c = vec_push(&l->changes);
	if (!c)
		return -ENOMEM;
	*c = (struct change){ .from = first && l->changes.nr == 1 ? 0 : time, .value = comm };
	return 0;
}

static s64 new_space(struct tasks *t, u32 pid, u64 time)
{
	struct task_timeline *proc = proc_at(t, pid);
	struct change *c = proc ? vec_push(&proc->changes) : NULL;
	struct space *s = c ? timeline_new(&t->spaces, &t->free_spaces) : NULL;
	if (!s)
		return -ENOMEM;
	s->serial = ++t->serial;
	*c = (struct change){ .from = time, .value = (u32)(s - t->spaces.at) };
	return c->value;
}

u32 tasks_guest(const struct tasks *t, u32 pid)
{
	u32 space = dict_get(&t->guest_of, pid);
	if (space == DICT_NONE)
		space = dict_get(&t->guest_of, ANY_GUEST);
	return space == DICT_NONE ? SPACE_NONE : space;
}

/* A guest's kernel: its space goes with its process for all times, as nobody tells when it starts again. */
static int apply_guest_map(struct tasks *t, const struct event *e)
{
	u32 space = dict_get(&t->guest_of, e->pid);
	if (space == DICT_NONE) {
		struct space *s = timeline_new(&t->spaces, &t->free_spaces);
		if (!s)
			return -ENOMEM;
		s->serial = ++t->serial;
		space = (u32)(s - t->spaces.at);
		if (dict_put(&t->guest_of, e->pid, space))
			return -ENOMEM;
	}
	return tasks_add_map(t, space, e);
}

static int apply_map(struct tasks *t, const struct event *e)
{
	enum image_kind kind = t->catalog->images.at[e->image].kind;
	if (t->catalog->images.at[e->image].guest)
		return apply_guest_map(t, e);
	if (kind == IMAGE_KIND_KERNEL || kind == IMAGE_KIND_MODULE || kind == IMAGE_KIND_BPF) {
		struct event gone = *e;
		if (e->type == PERF_RECORD_KSYMBOL &&
		    e->ksym_flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
			gone.image = IMAGE_NONE;
		return tasks_add_map(t, SPACE_KERNEL, &gone);
	}
	s64 space = tasks_space(t, e->pid, e->time);
	if (space == SPACE_NONE)
		space = new_space(t, e->pid, 0);
	return space < 0 ? (int)space : tasks_add_map(t, (u32)space, e);
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
	if (s->parent)
		t->spaces.at[s->parent].nr_children++;
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
	int err = COMM_IS_UNNAMED(comm) ? 0 : set_comm(t, e->pid, e->tid, e->time, comm, false);
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

int tasks_apply(struct tasks *t, const struct event *e)
{
	switch (e->type) {
	case PERF_RECORD_COMM:
		if (e->misc & PERF_RECORD_MISC_COMM_EXEC) {
			int err = apply_exec(t, e);
			if (err)
				return err;
		}
		return set_comm(t, e->pid, e->tid, e->time, e->name, true);
	case PERF_RECORD_FORK: return apply_fork(t, e);
	case PERF_RECORD_EXIT: return tasks_note_end(t, e);
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

static int tell_last_comms(struct tasks *t)
{
	int err = 0;
	for (u32 i = 0; t->comm_of.slots && i <= t->comm_of.mask && !err; i++) {
		const struct dict_slot *s = &t->comm_of.slots[i];
		if (s->value == DICT_NONE)
			continue;
		u32 have;
		const struct task_timeline *l = &t->comms.at[s->value];
		if (l->changes.nr)
			err = dict_add(&t->catalog->last_comm, s->key,
				       l->changes.at[l->changes.nr - 1].value, &have);
	}
	return err;
}

void tasks_sort(struct tasks *t)
{
	bool sorted = true;
	for (size_t i = 1; i < t->events.nr && sorted; i++)
		sorted = t->events.at[i - 1].time <= t->events.at[i].time;
	if (!sorted)
		qsort(t->events.at, t->events.nr, sizeof(*t->events.at), by_time);
}

int tasks_name_idle(struct tasks *t)
{
	s64 idle = strtab_add(&t->catalog->strings, "swapper", 7);
	return idle < 0 ? (int)idle : set_comm(t, 0, 0, 0, (u32)idle, true);
}

int tasks_seal(struct tasks *t)
{
	if (t->sealed)
		return 0;
	tasks_sort(t);
	int err = tasks_name_idle(t);
	for (size_t i = 0; i < t->events.nr && !err; i++)
		err = tasks_apply(t, &t->events.at[i]);
	if (!err)
		err = tell_last_comms(t);
	if (!err)
		err = tasks_seal_spaces(t);
	t->sealed = !err;
	return err;
}
