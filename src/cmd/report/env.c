#include "cmd/report/env.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <string.h>

enum { CPUS_MAX = 1 << 16 };

void report_env_init(struct report_env *e, const struct source *src)
{
	*e = (struct report_env){ .src = src };
	dict_init(&e->cgroup_of);
	arena_init(&e->arena);
}

void report_env_done(struct report_env *e)
{
	vec_free(&e->sockets);
	dict_done(&e->cgroup_of);
	vec_free(&e->cgroups);
	vec_free(&e->sizes);
	arena_done(&e->arena);
}

/* Steps over a list of strings, each with its length before it. */
static void skip_strings(struct bytes *b)
{
	for (u32 nr = bytes_u32(b); nr && bytes_left(b); nr--)
		bytes_skip(b, bytes_u32(b));
}

static int read_sockets(struct report_env *e)
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
	struct report_env *e = ctx;
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
	const struct report_env *e = ctx;
	u32 at = dict_get(&e->cgroup_of, id);
	return at == DICT_NONE ? NULL : e->cgroups.at[at];
}

/* An image is as large as the stretch of it that was mapped to run. */
static int read_sizes(struct report_env *e)
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
	const struct report_env *e = ctx;
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

int report_env_read(struct report_env *e, struct profile_config *cfg, bool sockets)
{
	bool perf = replay_perf_file(e->src);
	int err = perf && (sockets || wants(cfg, PROFILE_KEY_SOCKET)) ? read_sockets(e) : 0;
	if (!err && perf && wants(cfg, PROFILE_KEY_CGROUP))
		err = perf_walk(replay_perf_file(e->src), take_cgroup, e);
	if (!err && perf && wants(cfg, PROFILE_KEY_DSO_SIZE))
		err = read_sizes(e);
	cfg->env = (struct profile_env){ .catalog = &e->src->catalog,
					 .socket_of = e->sockets.at,
					 .nr_cpus = (u32)e->sockets.nr,
					 .cgroup_name = cgroup_name,
					 .image_size = image_size,
					 .ctx = e };
	return err;
}
