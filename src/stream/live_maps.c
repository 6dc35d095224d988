#include "stream/live_maps.h"
#include "base/dict.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct live_maps_map {
	u64 start, end;
	u64 offset; /* of start, in the image */
	u32 image;
};

struct process {
	VEC(struct live_maps_map) maps; /* by address; they do not overlap */
	u64 version;
	u32 nr_threads; /* of those that began before our eyes; 0: it is not known how many there are */
};

struct live_maps {
	struct unwind_tables *tables;
	VEC(struct image_info) images;
	struct dict image_of; /* hash of path and build id -> image */
	VEC(struct process) processes;
	struct dict process_of; /* pid -> process */
};

struct live_maps *live_maps_new(struct unwind_tables *tables)
{
	struct live_maps *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->tables = tables;
	dict_init(&m->image_of);
	dict_init(&m->process_of);
	return m;
}

void live_maps_free(struct live_maps *m)
{
	if (!m)
		return;
	vec_for_each (&m->processes, p)
		vec_free(&p->maps);
	vec_for_each (&m->images, i)
		free((char *)(uintptr_t)i->path);
	vec_free(&m->processes);
	vec_free(&m->images);
	dict_done(&m->image_of);
	dict_done(&m->process_of);
	free(m);
}

static enum image_kind kind_of(const char *name)
{
	if (!strcmp(name, "[vdso]"))
		return IMAGE_KIND_VDSO;
	bool file = name[0] == '/' && strncmp(name, "//anon", 6) && strncmp(name, "/memfd:", 7);
	return file ? IMAGE_KIND_FILE : IMAGE_KIND_ANON;
}

bool live_maps_is_anon(const char *name)
{
	return kind_of(name) == IMAGE_KIND_ANON;
}

/* The image of a map record, or -ENOMEM. */
static s64 image_of(struct live_maps *m, const struct perf_side *r)
{
	u64 key = hash_bytes(r->name, strlen(r->name));
	if (r->build_id_size)
		key ^= hash_bytes(r->build_id, r->build_id_size) * 3;
	u32 at = dict_get(&m->image_of, key);
	if (at != DICT_NONE)
		return at;
	char *path = strdup(r->name);
	struct image_info *info = path ? vec_push(&m->images) : NULL;
	if (!info) {
		free(path);
		return -ENOMEM;
	}
	*info = (struct image_info){
		.kind = kind_of(path), .path = path, .name = path, .pid = r->pid
	};
	if (r->build_id_size <= sizeof(info->build_id)) {
		info->build_id_size = (u8)r->build_id_size;
		if (r->build_id_size)
			memcpy(info->build_id, r->build_id, r->build_id_size);
	}
	int err = dict_add(&m->image_of, key, (u32)m->images.nr - 1, &at);
	if (!err)
		err = unwind_tables_reserve(m->tables, (u32)m->images.nr);
	return err ? err : at;
}

static struct process *process_of(struct live_maps *m, u32 pid)
{
	u32 at = dict_get(&m->process_of, pid);
	return at == DICT_NONE ? NULL : &m->processes.at[at];
}

static struct process *add_process(struct live_maps *m, u32 pid)
{
	struct process *p = process_of(m, pid);
	u32 at;
	if (p)
		return p;
	p = vec_push(&m->processes);
	if (!p || dict_add(&m->process_of, pid, (u32)m->processes.nr - 1, &at))
		return NULL;
	return p;
}

/* The first map that ends after an address. */
static size_t first_behind(const struct process *p, u64 addr)
{
	size_t lo = 0, hi = p->maps.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (p->maps.at[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Puts nr maps in the place of those from `at` to `end`. */
static int splice(struct process *p, size_t at, size_t end, const struct live_maps_map *maps,
		  size_t nr)
{
	size_t tail = p->maps.nr - end;
	if (!vec_reserve(&p->maps, at + nr + tail))
		return -ENOMEM;
	if (tail)
		memmove(p->maps.at + at + nr, p->maps.at + end, tail * sizeof(*maps));
	if (nr)
		memcpy(p->maps.at + at, maps, nr * sizeof(*maps));
	p->maps.nr = at + nr + tail;
	return 0;
}

/* What lies under the new one is gone; of maps that reach out of it, the rest stays. */
static int put_map(struct process *p, const struct live_maps_map *new)
{
	struct live_maps_map parts[3];
	size_t nr = 0, at = first_behind(p, new->start), end = at;
	while (end < p->maps.nr && p->maps.at[end].start < new->end)
		end++;
	if (at < end && p->maps.at[at].start < new->start) {
		parts[nr] = p->maps.at[at];
		parts[nr++].end = new->start;
	}
	parts[nr++] = *new;
	if (at < end && p->maps.at[end - 1].end > new->end) {
		const struct live_maps_map *last = &p->maps.at[end - 1];
		parts[nr] = *last;
		parts[nr].offset += new->end - last->start;
		parts[nr++].start = new->end;
	}
	return splice(p, at, end, parts, nr);
}

static int apply_map(struct live_maps *m, const struct perf_side *r)
{
	u64 end;
	bool user = (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
	bool code = r->type == PERF_RECORD_MMAP2 ? r->prot & PROT_EXEC
						 : !(r->misc & PERF_RECORD_MISC_MMAP_DATA);
	if (!user || !code || !r->len || __builtin_add_overflow(r->addr, r->len, &end))
		return 0;
	s64 image = image_of(m, r);
	if (image < 0)
		return (int)image;
	struct process *p = add_process(m, r->pid);
	if (!p)
		return -ENOMEM;
	p->version++;
	/* Offsets in memory that no file is behind are addresses, as everywhere. */
	bool anon = m->images.at[image].kind == IMAGE_KIND_ANON;
	return put_map(p, &(struct live_maps_map){ .start = r->addr,
						   .end = end,
						   .offset = anon ? r->addr : r->pgoff,
						   .image = (u32)image });
}

static int apply_fork(struct live_maps *m, const struct perf_side *r)
{
	struct process *child;
	if (r->pid == r->ppid) {
		child = process_of(m, r->pid);
		if (child && child->nr_threads)
			child->nr_threads++;
		return 0;
	}
	child = add_process(m, r->pid);
	const struct process *parent = process_of(m, r->ppid);
	if (!child)
		return -ENOMEM;
	child->version++;
	/* Those that were listed at the start have no time, and threads that nobody counted. */
	child->nr_threads = r->who.time ? 1 : 0;
	if (!parent)
		return splice(child, 0, child->maps.nr, NULL, 0);
	return r->who.time ? splice(child, 0, child->maps.nr, parent->maps.at, parent->maps.nr) : 0;
}

static void apply_exit(struct live_maps *m, const struct perf_side *r)
{
	struct process *p = process_of(m, r->pid);
	if (!p || !p->nr_threads || --p->nr_threads)
		return;
	vec_free(&p->maps);
	p->version++;
}

int live_maps_apply(struct live_maps *m, const struct perf_side *r)
{
	struct process *p;
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2: return apply_map(m, r);
	case PERF_RECORD_FORK: return apply_fork(m, r);
	case PERF_RECORD_EXIT: apply_exit(m, r); return 0;
	case PERF_RECORD_COMM:
		p = r->misc & PERF_RECORD_MISC_COMM_EXEC ? process_of(m, r->pid) : NULL;
		if (p) {
			p->maps.nr = 0;
			p->version++;
		}
		return 0;
	}
	return 0;
}

bool live_maps_space(struct live_maps *m, u32 pid, struct live_space *ret)
{
	u32 at = dict_get(&m->process_of, pid);
	if (at == DICT_NONE)
		return false;
	*ret = (struct live_space){ .maps = m, .process = at, .time = m->processes.at[at].version };
	return true;
}

bool live_maps_find(void *space, u64 addr, struct unwind_place *ret)
{
	const struct live_space *s = space;
	const struct process *p = &s->maps->processes.at[s->process];
	size_t at = first_behind(p, addr);
	if (at == p->maps.nr || p->maps.at[at].start > addr)
		return false;
	const struct live_maps_map *m = &p->maps.at[at];
	*ret = (struct unwind_place){ .image = m->image,
				      .info = &s->maps->images.at[m->image],
				      .offset = addr - m->start + m->offset,
				      .from = s->time,
				      .until = s->time + 1 };
	return true;
}
