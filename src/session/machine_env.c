#include "session/machine_env.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CPUS_MAX = 1 << 16,
	NS_CGROUP = 6, /* its index among the pairs of a NAMESPACES record */
};

void machine_env_init(struct machine_env *e, const struct source *src)
{
	*e = (struct machine_env){ .src = src };
	dict_init(&e->cgroup_of);
	arena_init(&e->arena);
}

void machine_env_done(struct machine_env *e)
{
	vec_free(&e->sockets);
	dict_done(&e->cgroup_of);
	vec_free(&e->cgroups);
	vec_free(&e->namespaces);
	vec_free(&e->ns_changes);
	vec_free(&e->sizes);
	arena_done(&e->arena);
}

/* Steps over a list of strings, each with its length before it. */
static void skip_strings(struct bytes *b)
{
	for (u32 nr = bytes_u32(b); nr && bytes_left(b); nr--)
		bytes_skip(b, bytes_u32(b));
}

static int read_sockets(struct machine_env *e)
{
	const struct perfdata *file = replay_perf_file(e->src);
	struct perfdata_feature cpus = file->features[FEAT_NRCPUS],
				topology = file->features[FEAT_CPU_TOPOLOGY];
	if (!cpus.at || !topology.at)
		return 0;
	struct bytes b = bytes_of(cpus.at, cpus.size, file->swap);
	u32 nr = bytes_u32(&b);
	b = bytes_of(topology.at, topology.size, file->swap);
	skip_strings(&b);
	skip_strings(&b);
	if (nr > CPUS_MAX || bytes_left(&b) < 8 * (size_t)nr)
		return 0;
	for (u32 i = 0; i < nr; i++) {
		s32 *socket = vec_push(&e->sockets);
		if (!socket)
			return -ENOMEM;
		(void)bytes_u32(&b); /* core */
		*socket = (s32)bytes_u32(&b);
	}
	return 0;
}

static int take_cgroup(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct machine_env *e = ctx;
	if (h->type != PERF_RECORD_CGROUP || h->size < sizeof(*h) + 9)
		return 0;
	struct bytes b =
		bytes_of(rec + sizeof(*h), h->size - sizeof(*h), replay_perf_file(e->src)->swap);
	u64 id = bytes_u64(&b);
	const char *path = (const char *)rec + sizeof(*h) + 8;
	u32 at;
	int err = dict_add(&e->cgroup_of, id, (u32)e->cgroups.nr, &at);
	if (err || at != e->cgroups.nr)
		return err;
	const char **kept = vec_push(&e->cgroups);
	if (!kept)
		return -ENOMEM;
	*kept = arena_strndup(&e->arena, path, strnlen(path, h->size - sizeof(*h) - 8));
	return *kept ? 0 : -ENOMEM;
}

static const char *cgroup_name(void *ctx, u64 id)
{
	const struct machine_env *e = ctx;
	u32 at = dict_get(&e->cgroup_of, id);
	return at == DICT_NONE ? NULL : e->cgroups.at[at];
}

/* ---- cgroup namespaces ---- */

static int compare_ns(const void *a, const void *b)
{
	const struct cgroup_ns *x = a, *y = b;
	return x->dev != y->dev ? (x->dev > y->dev ? 1 : -1) : (x->ino > y->ino) - (x->ino < y->ino);
}

static int compare_changes(const void *a, const void *b)
{
	const struct cgroup_ns_change *x = a, *y = b;
	if (x->tid != y->tid)
		return x->tid > y->tid ? 1 : -1;
	if (x->time != y->time)
		return x->time > y->time ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

/* The namespace of a NAMESPACES record; none where the record has too few. */
static struct cgroup_ns ns_of(const struct perf_side *side, bool swap)
{
	struct cgroup_ns ns = { 0 };
	if (side->nr_namespaces <= NS_CGROUP)
		return ns;
	struct bytes b = bytes_of(side->namespaces + 16 * NS_CGROUP, 16, swap);
	ns.dev = bytes_u64(&b);
	ns.ino = bytes_u64(&b);
	return ns;
}

static int add_namespaces(struct machine_env *e, const struct perf_sides *sides, bool swap)
{
	if (!vec_push(&e->namespaces)) /* none */
		return -ENOMEM;
	vec_for_each (&sides->rows, r) {
		if (r->side.type != PERF_RECORD_NAMESPACES)
			continue;
		struct cgroup_ns *ns = vec_push(&e->namespaces);
		if (!ns)
			return -ENOMEM;
		*ns = ns_of(&r->side, swap);
	}
	qsort(e->namespaces.at, e->namespaces.nr, sizeof(*e->namespaces.at), compare_ns);
	size_t nr = 1;
	for (size_t i = 1; i < e->namespaces.nr; i++)
		if (compare_ns(&e->namespaces.at[nr - 1], &e->namespaces.at[i]))
			e->namespaces.at[nr++] = e->namespaces.at[i];
	e->namespaces.nr = nr;
	return 0;
}

static int add_changes(struct machine_env *e, const struct perf_sides *sides, bool swap)
{
	vec_for_each (&sides->rows, r) {
		if (r->side.type != PERF_RECORD_NAMESPACES)
			continue;
		struct cgroup_ns ns = ns_of(&r->side, swap);
		const struct cgroup_ns *at =
			bsearch(&ns, e->namespaces.at, e->namespaces.nr, sizeof(ns), compare_ns);
		struct cgroup_ns_change *c = vec_push(&e->ns_changes);
		if (!c)
			return -ENOMEM;
		*c = (struct cgroup_ns_change){ .tid = r->side.tid,
						.ns = (u32)(at - e->namespaces.at),
						.time = r->time,
						.place = r->place };
	}
	if (e->ns_changes.nr)
		qsort(e->ns_changes.at, e->ns_changes.nr, sizeof(*e->ns_changes.at),
		      compare_changes);
	return 0;
}

static int read_namespaces(struct machine_env *e)
{
	const struct perfdata *file = replay_perf_file(e->src);
	struct perf_sides sides;
	int err = perf_sides_read(&sides, file);
	if (err)
		return err;
	err = add_namespaces(e, &sides, file->swap);
	if (!err)
		err = add_changes(e, &sides, file->swap);
	perf_sides_done(&sides);
	return err;
}

static u64 cgroup_ns(void *ctx, u32 tid, u64 time_ns)
{
	const struct machine_env *e = ctx;
	size_t low = 0, high = e->ns_changes.nr; /* the first one after it is in between */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct cgroup_ns_change *c = &e->ns_changes.at[middle];
		if (c->tid < tid || (c->tid == tid && c->time <= time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low && e->ns_changes.at[low - 1].tid == tid ? e->ns_changes.at[low - 1].ns : 0;
}

static const char *cgroup_ns_name(void *ctx, u64 number, struct arena *a)
{
	const struct machine_env *e = ctx;
	static const struct cgroup_ns none;
	const struct cgroup_ns *ns = number < e->namespaces.nr ? &e->namespaces.at[number] : &none;
	char text[48];
	snprintf(text, sizeof(text), "%llu/%#llx", (unsigned long long)ns->dev,
		 (unsigned long long)ns->ino);
	return arena_strdup(a, ns->ino ? text : "0/0x0");
}

/* An image is as large as the stretch of it that was mapped to run. */
static int read_sizes(struct machine_env *e)
{
	struct perf_sides sides;
	int err = perf_sides_read(&sides, replay_perf_file(e->src));
	if (err)
		return err;
	const struct catalog *c = &e->src->catalog;
	struct strtab paths;
	strtab_init(&paths);
	VEC(u64) lens = { 0 };
	vec_for_each (&sides.rows, r) {
		if (r->side.type != PERF_RECORD_MMAP && r->side.type != PERF_RECORD_MMAP2)
			continue;
		s64 id = strtab_add(&paths, r->side.name, strlen(r->side.name));
		while (id >= 0 && lens.nr <= (size_t)id && vec_push(&lens))
			;
		if (id < 0 || lens.nr <= (size_t)id)
			err = -ENOMEM;
		else if (!lens.at[id])
			lens.at[id] = r->side.len;
		if (err)
			break;
	}
	for (u32 i = 0; i < c->images.nr && !err; i++) {
		const struct image_info *image = &c->images.at[i];
		u64 *size = vec_push(&e->sizes);
		s64 id = image->path ? strtab_find(&paths, image->path, strlen(image->path)) : -1;
		if (!size)
			err = -ENOMEM;
		else if (image->end > image->start)
			*size = image->end - image->start;
		else if (id >= 0)
			*size = lens.at[id];
	}
	strtab_done(&paths);
	vec_free(&lens);
	perf_sides_done(&sides);
	return err;
}

static u64 image_size(void *ctx, u32 image)
{
	const struct machine_env *e = ctx;
	return image < e->sizes.nr ? e->sizes.at[image] : 0;
}

static bool wants(const struct profile_config *cfg, enum profile_key key)
{
	for (u32 i = 0; i < cfg->nr_sort; i++)
		if (cfg->sort[i].key == key)
			return true;
	for (u32 i = 0; i < cfg->nr_keys; i++)
		if (cfg->keys[i] == key)
			return true;
	return false;
}

int machine_env_read(struct machine_env *e, struct profile_config *cfg, bool sockets)
{
	bool perf = replay_perf_file(e->src);
	int err = perf && (sockets || wants(cfg, PROFILE_KEY_SOCKET)) ? read_sockets(e) : 0;
	if (!err && perf && wants(cfg, PROFILE_KEY_CGROUP))
		err = perf_walk(replay_perf_file(e->src), take_cgroup, e);
	if (!err && perf && wants(cfg, PROFILE_KEY_CGROUP_ID))
		err = read_namespaces(e);
	if (!err && perf && wants(cfg, PROFILE_KEY_DSO_SIZE))
		err = read_sizes(e);
	cfg->env = (struct profile_env){ .catalog = &e->src->catalog,
					 .socket_of = e->sockets.at,
					 .nr_cpus = (u32)e->sockets.nr,
					 .cgroup_name = cgroup_name,
					 .cgroup_ns = cgroup_ns,
					 .cgroup_ns_name = cgroup_ns_name,
					 .image_size = image_size,
					 .ctx = e };
	return err;
}
