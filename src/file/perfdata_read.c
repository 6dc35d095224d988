#include "file/perfdata_read.h"

#include "file/perfdata_made.h"
#include "base/foreign.h"
#include "file/looks.h"
#include "file/perfdata_spool.h"
#include "base/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
	MAX_ATTRS = 1 << 16,
	MAX_IDS = 1 << 24,
	MAX_DIR_FILES = 1 << 16, /* one a CPU */
	PIPE_HEAD = 16,
	INFLATE_STEP = 1 << 18,
	/* Records shrink to a tenth or a thirtieth; what grows more was made to fill our memory or our time. */
	INFLATE_RATIO = PERFDATA_EXPANDS_MAX,
	INFLATE_FREE = 1 << 25,
	/* Of a table: an id, its event and free places. */
	ID_BYTES = 32,
	ID_STEPS = 4,
};

static int open_fd(const char *path, struct diag *d)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	int err = -errno;
	(void)diag_error(d, err, "cannot open '%s': %s", path, strerror(-err));
	if (err == -ENOENT)
		diag_hint(d, "record one first: sonde %s",
			  d && d->recorder ? d->recorder : "record -g -- COMMAND");
	else if (err == -EACCES)
		diag_hint(
			d,
			"recordings belong to the user who made them; try sudo, or chown the file");
	return err;
}

static int read_ids(struct perfdata *p, struct perf_file_section s, u32 index)
{
	if (s.offset > p->map_size || s.size > p->map_size - s.offset || s.size / 8 > MAX_IDS)
		return -EBADMSG;
	if (!budget_bytes(&p->budget, s.size / 8 * ID_BYTES, "the ids of its events") ||
	    !budget_steps(&p->budget, s.size / 8 * ID_STEPS, "the ids of its events"))
		return -E2BIG;
	struct bytes b = bytes_of(p->map + s.offset, s.size, p->swap);
	p->attrs.at[index].nr_ids = s.size / 8;
	for (u64 i = 0; i < s.size / 8; i++) {
		u32 have;
		int err = dict_add(&p->ids, bytes_u64(&b), index, &have);
		if (err)
			return err;
	}
	return 0;
}

static struct perfdata_attr *add_attr(struct perfdata *p, const struct perf_event_attr *attr)
{
	if (p->attrs.nr >= MAX_ATTRS)
		return NULL;
	struct perfdata_attr *a = vec_push(&p->attrs);
	if (!a)
		return NULL;
	a->attr = *attr;
	perf_layout_init(&a->layout, attr);
	return a;
}

static int read_attrs(struct perfdata *p, const struct perf_file_header *h)
{
	u64 entry = h->attr_size;
	if (entry < ATTR_SIZE_MIN + 16 || entry > ATTR_SIZE_MAX || h->attrs.size / entry > MAX_ATTRS)
		return -EBADMSG;
	if (h->attrs.offset > p->map_size || h->attrs.size > p->map_size - h->attrs.offset)
		return -EBADMSG;
	struct bytes b = bytes_of(p->map + h->attrs.offset, h->attrs.size, p->swap);
	while (bytes_left(&b) >= entry) {
		struct perf_event_attr attr;
		int err = perf_attr_read(&b, entry - 16, &attr);
		if (err)
			return -EBADMSG;
		struct perf_file_section ids = { .offset = bytes_u64(&b) };
		ids.size = bytes_u64(&b);
		if (!add_attr(p, &attr))
			return -ENOMEM;
		err = read_ids(p, ids, (u32)p->attrs.nr - 1);
		if (err)
			return err;
	}
	bool counts = h->features[0] >> FEAT_STAT & 1; /* `stat record --null` counts nothing */
	return p->attrs.nr || counts ? 0 : -EBADMSG;
}

/* After the data, one section for each bit that is set, in ascending order. */
static void read_features(struct perfdata *p, const struct perf_file_header *h)
{
	u64 table = h->data.offset + h->data.size;
	if (table < h->data.offset || table > p->map_size)
		return;
	struct bytes b = bytes_of(p->map + table, p->map_size - table, p->swap);
	for (unsigned bit = 1; bit < FEAT_MAX; bit++) {
		if (!(h->features[bit / 64] >> (bit % 64) & 1))
			continue;
		struct perf_file_section s = { .offset = bytes_u64(&b) };
		s.size = bytes_u64(&b);
		if (b.bad)
			return;
		if (s.offset > p->map_size || s.size > p->map_size - s.offset || !s.size)
			continue;
		p->features[bit] =
			(struct perfdata_feature){ .at = p->map + s.offset, .size = s.size };
	}
}

/* Feature strings: u32 length (padded), bytes. NULL when it does not fit or is not terminated. */
const char *perfdata_take_string(struct bytes *b)
{
	u32 len = bytes_u32(b);
	const char *s = bytes_take(b, len);
	return s && len && memchr(s, 0, len) ? s : NULL;
}

const char *perfdata_string(const struct perfdata *p, enum perf_feature f)
{
	if (!p->features[f].at)
		return NULL;
	struct bytes b = bytes_of(p->features[f].at, p->features[f].size, p->swap);
	return perfdata_take_string(&b);
}

bool perfdata_clock(const struct perfdata *p, struct perfdata_clock *ret)
{
	struct perfdata_feature f = p->features[FEAT_CLOCK_DATA];
	struct bytes b = bytes_of(f.at, f.at ? f.size : 0, p->swap);
	struct perfdata_clock c;
	bytes_skip(&b, 4); /* version */
	c.id = bytes_u32(&b);
	c.wall_ns = bytes_u64(&b);
	c.clock_ns = bytes_u64(&b);
	if (b.bad)
		return false;
	*ret = c;
	return true;
}

/* GROUP_DESC: number of groups, then {name, index of the leader, members}. */
struct bytes perfdata_groups(const struct perfdata *p)
{
	struct perfdata_feature f = p->features[FEAT_GROUP_DESC];
	struct bytes b = bytes_of(f.at, f.at ? f.size : 0, p->swap);
	bytes_skip(&b, 4);
	return b;
}

bool perfdata_next_group(const struct perfdata *p, struct bytes *b, struct perfdata_group *ret)
{
	if (!bytes_left(b))
		return false;
	struct perfdata_group g = { .name = perfdata_take_string(b) };
	g.leader = bytes_u32(b);
	g.nr = bytes_u32(b);
	if (b->bad || !g.nr || g.leader >= p->attrs.nr || g.nr > p->attrs.nr - g.leader)
		return false;
	if (g.name && !strcmp(g.name, "{anon_group}"))
		g.name = NULL;
	*ret = g;
	return true;
}

bool perfdata_group_led_by(const struct perfdata *p, u32 event, struct perfdata_group *ret)
{
	u32 at = p->group_at && event < p->nr_group_at ? p->group_at[event] : 0;
	struct bytes b = perfdata_groups(p);
	if (!at)
		return false;
	bytes_skip(&b, at - 4);
	return perfdata_next_group(p, &b, ret);
}

/*
 * Where groups begin. They stand in the order of their leaders and share no event; the list ends where that is not so. Then all who
 * go through it do no more than there are events.
 */
static int read_groups(struct perfdata *p)
{
	struct perfdata_feature *f = &p->features[FEAT_GROUP_DESC];
	struct bytes b = perfdata_groups(p);
	struct perfdata_group g;
	u32 end = 0;
	p->nr_group_at = (u32)p->attrs.nr;
	p->group_at = f->at ? arena_array(&p->arena, p->attrs.nr, sizeof(*p->group_at)) : NULL;
	while (p->group_at) {
		size_t at = (size_t)(b.at - f->at);
		if (at > UINT32_MAX || !perfdata_next_group(p, &b, &g))
			break;
		if (g.leader < end) {
			f->size = at;
			break;
		}
		end = g.leader + g.nr;
		p->group_at[g.leader] = g.nr > 1 ? (u32)at : 0;
	}
	return f->at && !p->group_at ? -ENOMEM : 0;
}

/* EVENT_DESC: number of events, size of an attr, then {attr, number of ids, name, ids}. */
static void read_event_desc(struct perfdata *p)
{
	struct perfdata_feature f = p->features[FEAT_EVENT_DESC];
	if (!f.at)
		return;
	struct bytes b = bytes_of(f.at, f.size, p->swap);
	u32 nr = bytes_u32(&b);
	u32 attr_size = bytes_u32(&b);
	for (u32 i = 0; i < nr && !b.bad; i++) {
		struct perf_event_attr attr;
		if (perf_attr_read(&b, attr_size, &attr))
			return;
		u32 nr_ids = bytes_u32(&b);
		const char *name = perfdata_take_string(&b);
		u64 first = nr_ids ? bytes_u64(&b) : 0;
		if (nr_ids)
			bytes_skip(&b, 8 * (size_t)(nr_ids - 1));
		if (b.bad)
			return;
		u32 index = nr_ids ? dict_get(&p->ids, first) : i;
		if (name && index < p->attrs.nr && !p->attrs.at[index].name)
			p->attrs.at[index].name = name;
	}
}

static int open_file_form(struct perfdata *p, const char *name, struct diag *d)
{
	struct bytes b = bytes_of(p->map, p->map_size, p->swap);
	struct perf_file_header h = { .magic = bytes_u64(&b) };
	h.size = bytes_u64(&b);
	h.attr_size = bytes_u64(&b);
	struct perf_file_section *sections[] = { &h.attrs, &h.data, &h.event_types };
	for (unsigned i = 0; i < ARRAY_SIZE(sections); i++) {
		sections[i]->offset = bytes_u64(&b);
		sections[i]->size = bytes_u64(&b);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(h.features); i++)
		h.features[i] = bytes_u64(&b);
	if (b.bad)
		return diag_error(d, -EBADMSG, "'%s' is truncated in its header", name);
	int err = read_attrs(p, &h);
	if (err == -EBADMSG)
		return diag_error(d, err, "'%s': the event table in the header is damaged", name);
	if (p->budget.stage)
		return budget_refuse(&p->budget, name, d);
	if (err)
		return err;
	if (h.data.offset > p->map_size)
		return diag_error(d, -EBADMSG, "'%s' is truncated before its data", name);
	p->data_at = h.data.offset;
	p->head_data_size = h.data.size;
	memcpy(p->feature_bits, h.features, sizeof(p->feature_bits));
	p->data_end = p->map_size;
	if (!h.data.size) {
		p->unfinished = true;
	} else if (h.data.size <= p->map_size - h.data.offset) {
		p->data_end = h.data.offset + h.data.size;
		read_features(p, &h);
	} else {
		p->truncated = true;
	}
	read_event_desc(p);
	return read_groups(p);
}

/* HEADER_ATTR: attr, then ids to the record's end; the attr's own size field says where they start. */
static int pipe_attr(struct perfdata *p, const u8 *rec, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), p->swap);
	struct bytes peek = b;
	bytes_skip(&peek, 4);
	u32 attr_size = bytes_u32(&peek);
	struct perf_event_attr attr;
	if (perf_attr_read(&b, attr_size, &attr))
		return -EBADMSG;
	if (!add_attr(p, &attr))
		return -ENOMEM;
	u32 index = (u32)p->attrs.nr - 1, have;
	p->attrs.at[index].nr_ids = bytes_left(&b) / 8;
	while (bytes_left(&b) >= 8) {
		int err = dict_add(&p->ids, bytes_u64(&b), index, &have);
		if (err)
			return err;
	}
	return 0;
}

static bool attr_record_has(const struct perfdata *p, const u8 *rec,
			    const struct perf_event_header *h, u64 bit)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), p->swap);
	struct perf_event_attr attr;
	return !perf_attr_read(&b, ATTR_SIZE_MIN, &attr) && attr.sample_type & bit;
}

bool perfdata_has_sample_type(const struct perfdata *p, u64 bit)
{
	vec_for_each (&p->attrs, a)
		if (a->attr.sample_type & bit)
			return true;
	const u8 *at = p->map + p->data_at, *rec;
	struct perf_event_header h;
	while (p->is_pipe && perfdata_record(p, &at, p->map + p->data_end, &rec, &h) > 0 &&
	       h.type >= REC_KERNEL_MAX)
		if (h.type == REC_HEADER_ATTR && attr_record_has(p, rec, &h, bit))
			return true;
	return false;
}

enum { EVENT_UPDATE_NAME = 2 };

int perfdata_pipe_record(struct perfdata *p, const u8 *rec, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), p->swap);
	if (h->type == REC_HEADER_ATTR && p->is_pipe)
		return pipe_attr(p, rec, h);
	if (h->type == REC_TRACING_DATA && p->is_pipe) {
		u32 size = bytes_u32(
			&b); /* the payload lies after the record; perfdata_record() has checked it */
		p->features[FEAT_TRACING_DATA] =
			(struct perfdata_feature){ .at = rec + h->size, .size = size };
	}
	if (h->type == REC_EVENT_UPDATE) {
		u64 what = bytes_u64(&b);
		u64 id = bytes_u64(&b);
		const char *name = bytes_cstr(&b);
		u32 index = dict_get(&p->ids, id);
		if (what == PERFDATA_MADE_UPDATE && p->is_pipe) {
			const size_t head = sizeof(*h) + 2 * sizeof(u64);
			strbuf_add(&p->made, rec + head, h->size - min((size_t)h->size, head));
			return p->made.err;
		}
		if (what == EVENT_UPDATE_NAME && name && index < p->attrs.nr)
			p->attrs.at[index].name = name;
	}
	if (h->type == REC_HEADER_FEATURE && p->is_pipe) {
		u64 feature = bytes_u64(&b);
		if (feature && feature < FEAT_MAX && bytes_left(&b))
			p->features[feature] =
				(struct perfdata_feature){ .at = b.at, .size = bytes_left(&b) };
		if (feature == FEAT_EVENT_DESC)
			read_event_desc(p);
		if (feature == FEAT_GROUP_DESC)
			return read_groups(p);
	}
	return 0;
}

static int open_bytes(struct perfdata *p, const void *data, size_t size, u64 real_size,
		      const char *name, struct diag *d)
{
	*p = (struct perfdata){ .map = data, .map_size = size };
	budget_init(&p->budget, real_size);
	arena_init(&p->arena);
	dict_init(&p->ids);
	u64 magic = 0, head = 0;
	if (size >= PIPE_HEAD) {
		memcpy(&magic, data, 8);
		memcpy(&head, (const u8 *)data + 8, 8);
	}
	p->swap = magic == __builtin_bswap64(PERF_MAGIC2);
	if (magic != PERF_MAGIC2 && !p->swap) {
		if (!size)
			return diag_error(d, -EBADMSG, "'%s' is empty", name);
		(void)diag_error(d, -EBADMSG, "'%s' is not a perf.data file", name);
		looks_hint(d, data, size);
		return -EBADMSG;
	}
	if (p->swap)
		head = __builtin_bswap64(head);
	if (head == PIPE_HEAD) {
		p->is_pipe = true;
		p->data_at = PIPE_HEAD;
		p->data_end = size;
		return 0;
	}
	if (head < sizeof(struct perf_file_header))
		return diag_error(d, -EBADMSG,
				  "'%s': header of %llu bytes; version 1 files are not supported",
				  name, (unsigned long long)head);
	return open_file_form(p, name, d);
}

int perfdata_open_bytes(struct perfdata *p, const void *data, size_t size, const char *name,
			struct diag *d)
{
	return open_bytes(p, data, size, size, name, d);
}

/* Bytes that are really there. */
static u64 real_size(int fd, size_t size)
{
	struct stat st;
	return fstat(fd, &st) ? size : min(budget_real_size(&st), (u64)size);
}

static void forget(struct perfdata *p)
{
	vec_free(&p->attrs);
	vec_free(&p->more);
	strbuf_done(&p->made);
	dict_done(&p->ids);
	arena_done(&p->arena);
	*p = (struct perfdata){ 0 };
}

static int map_fd(int fd, const char *path, void *at, const void **map, size_t *size, struct diag *d)
{
	struct stat st;
	if (fstat(fd, &st))
		return diag_error(d, -errno, "cannot read '%s': %s", path, strerror(errno));
	*map = NULL;
	*size = (size_t)st.st_size;
	if (!*size)
		return 0;
	int err = guard_map_input(fd, *size, true, at, path, map);
	return err ? diag_error(d, err, "cannot map '%s': %s", path, strerror(-err)) : 0;
}

/* ---- directories ---- */

struct dir_file {
	int fd; /* -1: it is not there */
	size_t size; /* in whole pages */
};

struct dir_files {
	VEC(struct dir_file) list; /* data, then data.0 and so on */
};

static int open_dir_file(int dir, const char *name, struct dir_files *to)
{
	struct stat st;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = foreign_openat(dir, name, 0);
	if (fd < 0)
		return fd;
	struct dir_file *f = fstat(fd, &st) ? NULL : vec_push(&to->list);
	if (!f) {
		close(fd);
		return -EINVAL;
	}
	*f = (struct dir_file){ .fd = fd, .size = ((size_t)st.st_size + page - 1) & ~(page - 1) };
	return 0;
}

static int open_dir_files(int dir, const char *path, struct dir_files *to, struct diag *d)
{
	int err = open_dir_file(dir, "data", to);
	if (err)
		return diag_error(d, err, "'%s' is a directory without a recording ('data': %s)",
				  path, strerror(-err));
	for (u32 i = 0; i < MAX_DIR_FILES; i++) {
		char name[24];
		(void)snprintf(name, sizeof(name), "data.%u", i);
		err = open_dir_file(dir, name, to);
		if (err == -ENOENT)
			return 0;
		if (err)
			return diag_error(d, err, "'%s/%s': %s", path, name, strerror(-err));
	}
	return 0;
}

static int map_dir_files(struct perfdata *p, const struct dir_files *files, const char *path,
			 struct diag *d)
{
	size_t total = 0, at = files->list.at[0].size, size;
	const void *map;
	vec_for_each (&files->list, f)
		if (__builtin_add_overflow(total, f->size, &total))
			return -EFBIG;
	if (!files->list.at[0].size)
		return diag_error(d, -EBADMSG, "'%s/data' is empty", path);
	u8 *room = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return diag_error(d, -errno, "cannot map '%s': %s", path, strerror(errno));
	int err = map_fd(files->list.at[0].fd, path, room, &map, &size, d);
	if (!err && size > files->list.at[0].size)
		size = files->list.at[0].size; /* it grew: what fits */
	if (!err)
		err = open_bytes(p, room, size, real_size(files->list.at[0].fd, size), path, d);
	for (size_t i = 1; i < files->list.nr && !err; i++) {
		const struct dir_file *f = &files->list.at[i];
		struct perfdata_range *r = f->size ? vec_push(&p->more) : NULL;
		if (!r) {
			err = f->size ? -ENOMEM : 0;
			continue;
		}
		err = map_fd(f->fd, path, room + at, &map, &size, d);
		*r = (struct perfdata_range){ .at = at, .end = at + min(size, f->size) };
		at += f->size;
	}
	if (!err) {
		p->map_size = total;
		return 0;
	}
	guard_unmap(room, total);
	forget(p);
	return err;
}

static int open_dir(struct perfdata *p, int dir, const char *path, struct diag *d)
{
	struct dir_files files = { 0 };
	int err = open_dir_files(dir, path, &files, d);
	if (!err)
		err = map_dir_files(p, &files, path, d);
	vec_for_each (&files.list, f)
		close(f->fd);
	vec_free(&files.list);
	return err;
}

/* ---- pipes ---- */

/* The first bytes of a pipe or device: how many, or negative errno. */
static s64 read_head(int fd, u8 *to, size_t size)
{
	size_t got = 0;
	while (got < size) {
		ssize_t n = read(fd, to + got, size - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && !got ? -errno : (s64)got;
		got += (size_t)n;
	}
	return (s64)got;
}

/*
 * A pipe can be read once only: keep it in an unnamed file, then go on as with any file. It may have no end (/dev/zero), so it is looked
 * at first: what is not a recording is not kept.
 */
static int spool(struct perfdata *p, int fd, const char *name, struct diag *d)
{
	u8 head[LOOKS_BYTES];
	s64 n = read_head(fd, head, sizeof(head));
	if (n < 0)
		return diag_error(d, (int)n, "cannot read '%s': %s", name, strerror((int)-n));
	if (looks_like(head, (size_t)n) != LOOKS_PERFDATA) {
		int err = perfdata_open_bytes(p, head, (size_t)n, name, d);
		forget(p);
		return err ? err : -EBADMSG;
	}
	return perfdata_spool(fd, head, (size_t)n, name, perfdata_spool_most(), d);
}

static int open_one(struct perfdata *p, int fd, const char *name, struct diag *d)
{
	const void *map;
	size_t size;
	int err = map_fd(fd, name, NULL, &map, &size, d);
	if (err)
		return err;
	err = open_bytes(p, map, size, real_size(fd, size), name, d);
	if (err) {
		forget(p);
		guard_unmap(map, size);
	}
	return err;
}

int perfdata_open(struct perfdata *p, const char *path, struct diag *d)
{
	bool from_stdin = !strcmp(path, "-");
	int fd = from_stdin ? dup(STDIN_FILENO) : open_fd(path, d);
	if (fd < 0)
		return fd;
	struct stat st;
	int err = fstat(fd, &st) ? -errno : 0;
	if (!err && S_ISDIR(st.st_mode)) {
		err = open_dir(p, fd, path, d);
		close(fd);
		if (!err)
			p->folder = arena_strdup(&p->arena, path);
		return err;
	}
	if (!err && !S_ISREG(st.st_mode)) {
		int kept = spool(p, fd, from_stdin ? "standard input" : path, d);
		close(fd);
		if (kept < 0)
			return kept;
		fd = kept;
	}
	if (!err)
		err = open_one(p, fd, from_stdin ? "standard input" : path, d);
	if (err) {
		close(fd);
		return err;
	}
	p->has_fd = true;
	p->fd = fd;
	return 0;
}

void perfdata_close(struct perfdata *p)
{
	const u8 *map = p->map;
	size_t size = p->map_size;
	if (p->has_fd)
		close(p->fd);
	forget(p);
	guard_unmap(map, size);
}

int perfdata_copy(const struct perfdata *p, size_t at, size_t size, u8 *to)
{
	if (at > p->map_size || size > p->map_size - at)
		return -EINVAL;
	if (!p->has_fd)
		memcpy(to, p->map + at, size);
	else if (pread(p->fd, to, size, (off_t)at) != (ssize_t)size)
		return -EIO;
	return 0;
}

size_t perfdata_nr_ranges(const struct perfdata *p)
{
	return 1 + p->more.nr;
}

struct perfdata_range perfdata_range(const struct perfdata *p, size_t i)
{
	return i ? p->more.at[i - 1]
		 : (struct perfdata_range){ .at = p->data_at, .end = p->data_end };
}

void perfdata_cut(struct perfdata *p, size_t i, size_t end)
{
	p->truncated = true;
	*(i ? &p->more.at[i - 1].end : &p->data_end) = end;
}

int perfdata_record_any(const struct perfdata *p, const u8 **at, const u8 *end, const u8 **rec,
			struct perf_event_header *h)
{
	size_t left = (size_t)(end - *at);
	if (!left)
		return 0;
	if (left < sizeof(*h))
		return -EBADMSG;
	*h = perf_head(*at, p->swap);
	if (h->size < sizeof(*h) || h->size > left)
		return -EBADMSG;
	*rec = *at;
	size_t whole = h->size;
	if (unlikely(h->type == REC_TRACING_DATA || h->type == REC_AUXTRACE)) {
		struct bytes b = bytes_of(*at + sizeof(*h), h->size - sizeof(*h), p->swap);
		u64 extra = h->type == REC_AUXTRACE ? bytes_u64(&b) : bytes_u32(&b);
		if (h->type == REC_TRACING_DATA)
			extra = (extra + 7) & ~7ull;
		if (b.bad || extra > left - whole)
			return -EBADMSG;
		whole += extra;
	}
	*at += whole;
	return 1;
}

const struct perfdata_attr *perfdata_attr_of(const struct perfdata *p, u64 id)
{
	if (!p->attrs.nr)
		return NULL;
	if (p->attrs.nr == 1)
		return &p->attrs.at[0];
	u32 index = dict_get(&p->ids, id);
	if (index < p->attrs.nr)
		return &p->attrs.at[index];
	/* Synthesised records carry id 0: they follow the first event's layout. */
	return id ? NULL : &p->attrs.at[0];
}

/* {header, pid, build id padded to 24, path}; misc bit 15: the id's size follows it. */
int perfdata_build_id_record(const struct perfdata *p, const u8 *rec,
			     const struct perf_event_header *h,
			     int (*fn)(void *, const char *, const u8 *, u32, u16), void *ctx)
{
	struct bytes r = bytes_of(rec, h->size, p->swap);
	bytes_skip(&r, sizeof(*h) + 4);
	const u8 *id = bytes_take(&r, 24);
	const char *path = bytes_cstr(&r);
	if (r.bad)
		return 0;
	return fn(ctx, path, id, h->misc & 1 << 15 ? min((u32)id[20], 20u) : 20, h->misc);
}

/* The feature is a plain array of such records. */
int perfdata_build_ids(const struct perfdata *p,
		       int (*fn)(void *, const char *, const u8 *, u32, u16), void *ctx)
{
	struct perfdata_feature f = p->features[FEAT_BUILD_ID];
	struct bytes b = bytes_of(f.at, f.at ? f.size : 0, p->swap);
	while (bytes_left(&b) >= sizeof(struct perf_event_header)) {
		struct perf_event_header h = perf_head(b.at, p->swap);
		const u8 *rec = h.size >= sizeof(h) ? bytes_take(&b, h.size) : NULL;
		if (!rec)
			return 0;
		int err = perfdata_build_id_record(p, rec, &h, fn, ctx);
		if (err)
			return err;
	}
	return 0;
}

struct perfdata_inflate {
	ZSTD_DStream *stream;
	ZSTD_inBuffer in;
	VEC(u8) out;
	size_t used;
	u64 bytes_in, bytes_out;
	bool too_much;
};

struct perfdata_inflate *perfdata_inflate_new(void)
{
	struct perfdata_inflate *z = calloc(1, sizeof(*z));
	if (!z)
		return NULL;
	z->stream = ZSTD_createDStream();
	if (!z->stream) {
		free(z);
		return NULL;
	}
	return z;
}

void perfdata_inflate_free(struct perfdata_inflate *z)
{
	if (!z)
		return;
	ZSTD_freeDStream(z->stream);
	vec_free(&z->out);
	free(z);
}

void perfdata_inflate_reset(struct perfdata_inflate *z)
{
	ZSTD_initDStream(z->stream);
	z->in = (ZSTD_inBuffer){ 0 };
	z->out.nr = z->used = 0;
}

int perfdata_inflate_add(struct perfdata_inflate *z, const u8 *rec,
			 const struct perf_event_header *h, bool swap)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), swap);
	size_t size = bytes_left(&b);
	if (h->type == REC_COMPRESSED2) {
		u64 exact = bytes_u64(&b);
		if (b.bad || exact > bytes_left(&b))
			return -EBADMSG;
		size = exact;
	}
	z->in = (ZSTD_inBuffer){ .src = b.at, .size = size };
	z->bytes_in += size;
	return 0;
}

int perfdata_inflate_step(struct perfdata_inflate *z)
{
	/* What was used goes away once a step, so that the buffer stays as small as one. */
	if (z->used) {
		memmove(z->out.at, z->out.at + z->used, z->out.nr - z->used);
		z->out.nr -= z->used;
		z->used = 0;
	}
	if (!vec_reserve(&z->out, z->out.nr + INFLATE_STEP))
		return -ENOMEM;
	ZSTD_outBuffer out = { .dst = z->out.at + z->out.nr, .size = INFLATE_STEP };
	size_t got = ZSTD_decompressStream(z->stream, &out, &z->in);
	z->out.nr += out.pos;
	z->bytes_out += out.pos;
	z->too_much = z->bytes_out > INFLATE_FREE + INFLATE_RATIO * z->bytes_in;
	if (ZSTD_isError(got) || z->too_much)
		return -EBADMSG;
	/* Only a full buffer means that there may be more without more input. */
	return out.pos || z->in.pos < z->in.size;
}

bool perfdata_inflate_too_much(const struct perfdata_inflate *z)
{
	return z->too_much;
}

const u8 *perfdata_inflate_data(const struct perfdata_inflate *z, size_t *size)
{
	*size = z->out.nr - z->used;
	return z->out.at ? z->out.at + z->used : NULL;
}

void perfdata_inflate_drop(struct perfdata_inflate *z, size_t size)
{
	z->used += size;
}
