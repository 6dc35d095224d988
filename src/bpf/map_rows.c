/* Reading of maps, and putting together what CPUs counted each for itself. */
#include "bpf/map_view.h"

#include "bpf/series_text.h"
#include "kern/bpf_sys.h"

#include <errno.h>
#include <linux/bpf.h>

static bool is_percpu(u32 type)
{
	return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

static bool is_array(u32 type)
{
	return type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static u32 round_up_8(u32 size)
{
	return (size + 7) & ~7u;
}

/* Bytes that a lookup writes. */
static size_t lookup_size(const struct program_map *m, u32 nr_cpus)
{
	return is_percpu(m->type) ? (size_t)round_up_8(m->value_size) * nr_cpus : m->value_size;
}

static void join_words(const u8 *cpus, u32 stride, u32 nr_cpus, u32 nr_words, u64 *to)
{
	memset(to, 0, (size_t)nr_words * sizeof(*to));
	for (u32 c = 0; c < nr_cpus; c++)
		for (u32 i = 0; i < nr_words; i++) {
			u64 v;
			memcpy(&v, cpus + (size_t)c * stride + i * sizeof(v), sizeof(v));
			to[i] += v;
		}
}

static bool is_beyond(const struct program_type *t, u64 a, u64 b)
{
	bool less = t->is_signed ? (s64)a < (s64)b : a < b;
	return t->kind == PROGRAM_MIN ? less : !less;
}

/* { value, whether it is set } of each CPU. */
static void join_extremes(const struct program_type *t, const u8 *cpus, u32 stride, u32 nr_cpus,
			  u64 *to)
{
	to[0] = to[1] = 0;
	for (u32 c = 0; c < nr_cpus; c++) {
		u64 pair[2];
		memcpy(pair, cpus + (size_t)c * stride, sizeof(pair));
		if (pair[1] && (!to[1] || is_beyond(t, pair[0], to[0]))) {
			to[0] = pair[0];
			to[1] = 1;
		}
	}
}

/* Plain values in a per-CPU map: the first CPU's that is not all zero. */
static void join_first(const u8 *cpus, u32 stride, u32 nr_cpus, u32 size, u8 *to)
{
	memcpy(to, cpus, size);
	for (u32 c = 0; c < nr_cpus; c++) {
		const u8 *at = cpus + (size_t)c * stride;
		for (u32 i = 0; i < size; i++)
			if (at[i]) {
				memcpy(to, at, size);
				return;
			}
	}
}

void map_value_join(const struct program_type *t, const void *cpus, u32 nr_cpus, void *to)
{
	u32 stride = round_up_8(t->size);
	switch (t->kind) {
	case PROGRAM_COUNT:
	case PROGRAM_SUM:
	case PROGRAM_AVG:
	case PROGRAM_STATS:
	case PROGRAM_HIST:
	case PROGRAM_LHIST:
	case PROGRAM_QUANTILE: join_words(cpus, stride, nr_cpus, t->size / 8, to); break;
	case PROGRAM_TSERIES: series_join(t, cpus, nr_cpus, to); break;
	case PROGRAM_MIN:
	case PROGRAM_MAX: join_extremes(t, cpus, stride, nr_cpus, to); break;
	default: join_first(cpus, stride, nr_cpus, t->size, to); break;
	}
}

struct reader {
	struct map_rows *r;
	const struct program_map *m;
	int fd;
	u32 nr_cpus, cap;
	size_t raw_size; /* of a value as the kernel gives it */
};

static int reserve(struct reader *rd, u32 need)
{
	struct map_rows *r = rd->r;
	if (need <= rd->cap)
		return 0;
	u32 cap = max(need, rd->cap * 2);
	u8 *keys = realloc(r->keys, (size_t)cap * r->key_size);
	if (keys)
		r->keys = keys;
	u8 *values = realloc(r->values, (size_t)cap * r->value_size);
	if (values)
		r->values = values;
	if (!keys || !values)
		return -ENOMEM;
	rd->cap = cap;
	return 0;
}

static int append(struct reader *rd, const void *key, const void *raw)
{
	struct map_rows *r = rd->r;
	int rc = reserve(rd, r->nr + 1);
	if (rc)
		return rc;
	memcpy(r->keys + (size_t)r->nr * r->key_size, key, r->key_size);
	u8 *to = r->values + (size_t)r->nr * r->value_size;
	if (is_percpu(rd->m->type))
		map_value_join(rd->m->value, raw, rd->nr_cpus, to);
	else
		memcpy(to, raw, r->value_size);
	r->nr++;
	return 0;
}

static int read_array(struct reader *rd)
{
	_cleanup_free_ u8 *raw = malloc(rd->raw_size);
	if (!raw)
		return -ENOMEM;
	for (u32 key = 0; key < rd->m->max_entries; key++) {
		int rc = bpfsys_map_lookup(rd->fd, &key, raw);
		if (!rc)
			rc = append(rd, &key, raw);
		if (rc)
			return rc;
	}
	return 0;
}

/* One key after the other: for maps that cannot be read in batches. */
static int read_keys(struct reader *rd)
{
	u32 size = rd->m->key_size;
	_cleanup_free_ u8 *raw = malloc(rd->raw_size), *keys = malloc(2 * (size_t)size);
	if (!raw || !keys)
		return -ENOMEM;
	u8 *key = NULL, *next = keys;
	/* A key that is deleted meanwhile makes the walk start anew: it ends anyway. */
	for (u64 left = 2ull * rd->m->max_entries + 16; left; left--) {
		int rc = bpfsys_map_next_key(rd->fd, key, next);
		if (rc)
			return rc == -ENOENT ? 0 : rc;
		rc = bpfsys_map_lookup(rd->fd, next, raw);
		if (!rc)
			rc = append(rd, next, raw);
		if (rc && rc != -ENOENT)
			return rc;
		key = next;
		next = key == keys ? keys + size : keys;
	}
	return 0;
}

static int append_batch(struct reader *rd, const u8 *keys, const u8 *values, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		int rc = append(rd, keys + (size_t)i * rd->m->key_size,
				values + (size_t)i * rd->raw_size);
		if (rc)
			return rc;
	}
	return 0;
}

/* -EAGAIN: not in batches. */
static int read_batches(struct reader *rd)
{
	enum { BYTES = 1 << 20, FEWEST = 64 };
	u32 batch = (u32)max((size_t)FEWEST, BYTES / (rd->raw_size + rd->m->key_size));
	batch = min(batch, max(rd->m->max_entries, (u32)FEWEST));
	_cleanup_free_ u8 *keys = malloc((size_t)batch * rd->m->key_size);
	_cleanup_free_ u8 *values = malloc((size_t)batch * rd->raw_size);
	_cleanup_free_ u8 *cursors = calloc(2, max(rd->m->key_size, 8u));
	if (!keys || !values || !cursors)
		return -ENOMEM;
	void *in = NULL;
	void *out = cursors;
	for (;;) {
		u32 nr = batch;
		int rc = bpfsys_map_lookup_batch(rd->fd, in, out, keys, values, &nr);
		if (rc && rc != -ENOENT)
			return -EAGAIN;
		int appended = append_batch(rd, keys, values, nr);
		if (appended || rc == -ENOENT)
			return appended;
		in = out;
		out = in == cursors ? cursors + max(rd->m->key_size, 8u) : cursors;
	}
}

int map_rows_read(struct map_rows *r, const struct program_map *m, int fd, u32 nr_cpus)
{
	*r = (struct map_rows){ .map = m, .key_size = m->key_size, .value_size = m->value_size };
	struct reader rd = {
		.r = r, .m = m, .fd = fd, .nr_cpus = nr_cpus, .raw_size = lookup_size(m, nr_cpus)
	};
	int rc = is_array(m->type) ? read_array(&rd) : read_batches(&rd);
	if (rc == -EAGAIN) {
		r->nr = 0;
		rc = read_keys(&rd);
	}
	if (rc)
		map_rows_done(r);
	return rc;
}

void map_rows_done(struct map_rows *r)
{
	free(r->keys);
	free(r->values);
	free(r->order);
	*r = (struct map_rows){ 0 };
}

int map_get(const struct program_map *m, int fd, u32 nr_cpus, bool first, const void *key,
	    void *value)
{
	if (!is_percpu(m->type))
		return bpfsys_map_lookup(fd, key, value);
	_cleanup_free_ u8 *raw = malloc(lookup_size(m, nr_cpus));
	int rc = raw ? bpfsys_map_lookup(fd, key, raw) : -ENOMEM;
	if (!rc && first)
		memcpy(value, raw, m->value_size);
	else if (!rc)
		map_value_join(m->value, raw, nr_cpus, value);
	return rc;
}

int map_put(const struct program_map *m, int fd, u32 nr_cpus, const void *key, const void *value)
{
	if (!is_percpu(m->type))
		return bpfsys_map_update(fd, key, value, BPF_ANY);
	_cleanup_free_ u8 *raw = calloc(1, lookup_size(m, nr_cpus));
	int rc = raw ? bpfsys_map_lookup(fd, key, raw) : -ENOMEM;
	if (rc && rc != -ENOENT)
		return rc;
	memcpy(raw, value, m->value_size);
	return bpfsys_map_update(fd, key, raw, BPF_ANY);
}

int map_zero(const struct program_map *m, int fd, u32 nr_cpus)
{
	struct map_rows r;
	int rc = map_rows_read(&r, m, fd, nr_cpus);
	if (rc)
		return rc;
	_cleanup_free_ u8 *zero = calloc(1, lookup_size(m, nr_cpus));
	if (!zero)
		rc = -ENOMEM;
	for (u32 i = 0; i < r.nr && !rc; i++) {
		rc = bpfsys_map_update(fd, r.keys + (size_t)i * r.key_size, zero, BPF_EXIST);
		if (rc == -ENOENT)
			rc = 0;
	}
	map_rows_done(&r);
	return rc;
}

int map_clear(const struct program_map *m, int fd, u32 nr_cpus)
{
	if (is_array(m->type))
		return map_zero(m, fd, nr_cpus);
	struct map_rows r;
	int rc = map_rows_read(&r, m, fd, nr_cpus);
	if (rc)
		return rc;
	for (u32 i = 0; i < r.nr && !rc; i++) {
		rc = bpfsys_map_delete(fd, r.keys + (size_t)i * r.key_size);
		if (rc == -ENOENT)
			rc = 0;
	}
	map_rows_done(&r);
	return rc;
}

int map_nr_keys(const struct program_map *m, int fd, u32 nr_cpus, u32 *ret)
{
	struct map_rows r;
	int rc = map_rows_read(&r, m, fd, nr_cpus);
	if (rc)
		return rc;
	*ret = r.nr;
	map_rows_done(&r);
	return 0;
}
