#include "file/perfdata_repair.h"
#include "base/guard.h"

#include "base/dict.h"
#include "file/perfdata_build_id.h"
#include "file/perfdata_read.h"
#include "file/perfdata_spare.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMP_ZSTD = 1 };

struct repair {
	bool cut; /* it became shorter */
	int fd;
	struct perfdata file;
	struct perf_file_header head;
	size_t end; /* of the last whole record */
	u64 nr_records, nr_samples;
	u64 first_ns, last_ns;
	struct strbuf build_ids; /* payload of the feature */
	struct dict build_id_paths;
	struct perfdata_inflate *inflate;
	u64 unpacked_max; /* bytes of one compressed record, unpacked */
	u64 packed_bytes, unpacked_bytes;
	struct perfdata_feature
		features[FEAT_MAX]; /* as they are to be; at is NULL for those that stay where they are */
	struct perf_file_section stay[64];
};

/* ---- what the records say ---- */

static int see_side(struct repair *r, const u8 *rec, const struct perf_event_header *h)
{
	const struct perfdata_attr *a = r->file.attrs.nr ? &r->file.attrs.at[0] : NULL;
	struct perf_side side;
	if (h->type != PERF_RECORD_MMAP2 || !(h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) || !a ||
	    perf_side_decode(rec, h->size, r->file.swap, a->attr.sample_type, a->attr.sample_id_all,
			     &side) ||
	    !side.build_id || !side.name)
		return 0;
	u32 known, fresh = r->build_id_paths.nr;
	int err = dict_add(&r->build_id_paths, hash_bytes(side.name, strlen(side.name)), fresh,
			   &known);
	if (err || known != fresh)
		return err;
	bool kernel = (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	perfdata_put_build_id(&r->build_ids, side.name, kernel, side.build_id, side.build_id_size);
	return r->build_ids.err;
}

static int see_record(struct repair *r, const u8 *rec, const struct perf_event_header *h)
{
	r->nr_records++;
	if (h->type != PERF_RECORD_SAMPLE)
		return h->type < REC_KERNEL_MAX ? see_side(r, rec, h) : 0;
	r->nr_samples++;
	const struct perfdata *f = &r->file;
	u64 id = f->attrs.nr > 1 ? perf_sample_id(&f->attrs.at[0].layout, rec, h->size, f->swap) : 0;
	const struct perfdata_attr *a = perfdata_attr_of(f, id);
	u64 when = a ? perf_sample_time(&a->layout, rec, h->size, f->swap) : 0;
	if (when) {
		r->first_ns = min(r->first_ns, when);
		r->last_ns = max(r->last_ns, when);
	}
	return 0;
}

static int see_packed(struct repair *r, const u8 *rec, const struct perf_event_header *h)
{
	if (!r->inflate && !(r->inflate = perfdata_inflate_new()))
		return -ENOMEM;
	struct perfdata_inflate *z = r->inflate;
	int err = perfdata_inflate_add(z, rec, h, r->file.swap), more = 1;
	u64 bytes = 0;
	while (!err && (more = perfdata_inflate_step(z)) > 0) {
		size_t size;
		const u8 *data = perfdata_inflate_data(z, &size), *at = data, *one;
		struct perf_event_header inner;
		while (!err && perfdata_record(&r->file, &at, data + size, &one, &inner) > 0)
			err = see_record(r, one, &inner);
		bytes += (u64)(at - data);
		perfdata_inflate_drop(z, (size_t)(at - data));
	}
	r->unpacked_max = max(r->unpacked_max, bytes);
	r->unpacked_bytes += bytes;
	r->packed_bytes += h->size;
	return err ? err : more;
}

/* Behind what the header vouches for, bytes that only look like a record must not be taken for one. */
static bool plausible(const struct perf_event_header *h)
{
	bool packed = h->type == REC_COMPRESSED || h->type == REC_COMPRESSED2;
	return h->type && h->type < REC_USER_MAX && (packed || !(h->size % 8));
}

/* vouched: up to where the header says that there are records. */
static int find_end(struct repair *r, size_t vouched, size_t limit)
{
	const struct perfdata *f = &r->file;
	const u8 *at = f->map + f->data_at, *stop = f->map + limit, *rec;
	struct perf_event_header h;
	r->end = f->data_at;
	while (perfdata_record(f, &at, stop, &rec, &h) > 0) {
		if ((size_t)(rec - f->map) >= vouched && !plausible(&h))
			break;
		bool packed = h.type == REC_COMPRESSED || h.type == REC_COMPRESSED2;
		int err = packed ? see_packed(r, rec, &h) : see_record(r, rec, &h);
		if (err == -EBADMSG && r->inflate && perfdata_inflate_too_much(r->inflate))
			return -E2BIG; /* which is no damage: nothing may be cut off there */
		if (err == -EBADMSG)
			break;
		if (err)
			return err;
		r->end = (size_t)(at - f->map);
	}
	return 0;
}

/* ---- features ---- */

static const struct perfdata_spare *find_spare(const struct repair *r)
{
	const struct perfdata *f = &r->file;
	if (f->swap || f->data_at < sizeof(r->head) + sizeof(struct perfdata_spare) ||
	    f->data_at > f->map_size || f->data_at % 8)
		return NULL;
	const void *at = f->map + f->data_at - sizeof(struct perfdata_spare);
	const struct perfdata_spare *s = at;
	return memcmp(s->magic, PERFDATA_SPARE_MAGIC, sizeof(s->magic)) ? NULL : s;
}

/* Whether the table after the data is there: every bit has a section, and sections lie in the file. */
static bool table_is_whole(const struct repair *r)
{
	const struct perfdata *f = &r->file;
	for (unsigned bit = 1; bit < FEAT_MAX; bit++)
		if (f->feature_bits[bit / 64] >> (bit % 64) & 1 && !f->features[bit].at &&
		    bit != FEAT_BRANCH_STACK && bit != FEAT_AUXTRACE && bit != FEAT_STAT)
			return false;
	return true;
}

static void take_spare(struct repair *r, const struct perfdata_spare *s)
{
	for (unsigned bit = 1; bit < ARRAY_SIZE(s->sections); bit++) {
		struct perf_file_section at = s->sections[bit];
		if (!(s->features >> bit & 1) || at.offset > r->file.data_at ||
		    at.size > r->file.data_at - at.offset)
			continue;
		r->stay[bit] = at;
		r->head.features[0] |= 1ull << bit;
	}
}

static void take_table(struct repair *r)
{
	memcpy(r->features, r->file.features, sizeof(r->features));
	memcpy(r->head.features, r->file.feature_bits, sizeof(r->head.features));
}

static void set_feature(struct repair *r, unsigned bit, const void *data, size_t size)
{
	r->features[bit] = (struct perfdata_feature){ .at = data, .size = size };
	r->head.features[bit / 64] |= 1ull << (bit % 64);
}

struct comp {
	u32 version, type, level, ratio, mmap_len;
};

static void set_packing(struct repair *r, struct comp *c)
{
	if (!r->packed_bytes)
		return;
	*c = (struct comp){
		.version = 1,
		.type = COMP_ZSTD,
		.level = 1,
		.ratio = (u32)max(r->unpacked_bytes / r->packed_bytes, (u64)1),
		.mmap_len = (u32)max(min(r->unpacked_max, (u64)UINT32_MAX), (u64)1 << 20),
	};
	set_feature(r, FEAT_COMPRESSED, c, sizeof(*c));
}

/* The table and, after it, the payloads that do not stay where they are. */
static void build_tail(const struct repair *r, struct strbuf *to)
{
	unsigned nr = 0;
	for (unsigned bit = 1; bit < FEAT_MAX; bit++)
		nr += r->head.features[bit / 64] >> (bit % 64) & 1;
	u64 at = r->end + nr * sizeof(struct perf_file_section);
	for (unsigned bit = 1; bit < FEAT_MAX; bit++) {
		if (!(r->head.features[bit / 64] >> (bit % 64) & 1))
			continue;
		const struct perfdata_feature *f = &r->features[bit];
		bool stays = !f->at && bit < ARRAY_SIZE(r->stay) && r->stay[bit].size;
		struct perf_file_section s = { .offset = at, .size = f->size };
		if (stays)
			s = r->stay[bit];
		else
			at += f->size;
		strbuf_add(to, &s, sizeof(s));
	}
	for (unsigned bit = 1; bit < FEAT_MAX; bit++)
		if (r->features[bit].at)
			strbuf_add(to, r->features[bit].at, r->features[bit].size);
}

/* ---- the file ---- */

static int write_all(int fd, const void *data, size_t len, u64 at)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, (const u8 *)data + done, len - done, (off_t)(at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

/* Nothing is written into a file that somebody else truncated meanwhile. */
static int check_size(struct repair *r)
{
	struct stat st;
	r->cut = fstat(r->fd, &st) || (u64)st.st_size < r->file.map_size ||
		 guard_is_cut(r->file.map, r->file.map_size);
	return r->cut ? -EIO : 0;
}

/* Tail, header, and then away with what is left behind. */
static int write_out(struct repair *r)
{
	static const struct perf_event_header nothing = { .type = REC_FINISHED_ROUND,
							  .size = sizeof(nothing) };
	struct strbuf tail;
	int err = check_size(r);
	/* Readers take a file without any record for one that was never finished. */
	if (!err && r->end == r->file.data_at) {
		err = write_all(r->fd, &nothing, sizeof(nothing), r->end);
		r->end += sizeof(nothing);
	}
	strbuf_init(&tail);
	build_tail(r, &tail);
	r->head.data.size = r->end - r->file.data_at;
	err = err ? err : tail.err;
	if (!err)
		err = write_all(r->fd, tail.data, tail.len, r->end);
	if (!err)
		err = write_all(r->fd, &r->head, sizeof(r->head), 0);
	if (!err && ftruncate(r->fd, (off_t)(r->end + tail.len)))
		err = -errno;
	strbuf_done(&tail);
	return err;
}

static bool has_tracepoints(const struct perfdata *f)
{
	vec_for_each (&f->attrs, a)
		if (a->attr.type == PERF_TYPE_TRACEPOINT)
			return true;
	return false;
}

static int repair_file(struct repair *r, const struct perfdata_repair_opts *o,
		       struct perfdata_repaired *ret)
{
	static const u64 dir_version = 1;
	struct perfdata *f = &r->file;
	const struct perfdata_spare *spare = find_spare(r);
	u64 any = f->feature_bits[0] | f->feature_bits[1] | f->feature_bits[2] | f->feature_bits[3];
	bool table = !f->unfinished && !f->truncated && table_is_whole(r) && (any || !spare);
	size_t vouched =
		f->unfinished ? f->data_at : min(f->data_at + f->head_data_size, f->map_size);
	int err = find_end(r, vouched, table ? f->data_end : f->map_size);
	if (err)
		return err;
	ret->nr_records = r->nr_records;
	ret->nr_samples = r->nr_samples;
	ret->kept_bytes = r->end - f->data_at;
	bool formats = f->features[FEAT_TRACING_DATA].at ||
		       (spare && spare->features >> FEAT_TRACING_DATA & 1);
	ret->was_whole = table && r->end == f->data_end && (formats || !o->tracing_data);
	if (ret->was_whole)
		return check_size(r);
	ret->dropped_bytes = (table ? f->data_end : f->map_size) - r->end;
	memset(r->head.features, 0, sizeof(r->head.features));
	if (table)
		take_table(r);
	else if (spare)
		take_spare(r, spare);
	u64 times[] = { r->first_ns, r->last_ns };
	struct comp comp;
	if (r->last_ns)
		set_feature(r, FEAT_SAMPLE_TIME, times, sizeof(times));
	if (r->build_ids.len && !f->features[FEAT_BUILD_ID].at)
		set_feature(r, FEAT_BUILD_ID, r->build_ids.data, r->build_ids.len);
	set_packing(r, &comp);
	if (o->tracing_data && !formats && has_tracepoints(f))
		set_feature(r, FEAT_TRACING_DATA, o->tracing_data, o->tracing_data_size);
	if (o->in_dir && !f->features[FEAT_DIR_FORMAT].at)
		set_feature(r, FEAT_DIR_FORMAT, &dir_version, sizeof(dir_version));
	ret->lost_features = !table && !spare;
	ret->lost_formats = has_tracepoints(f) && !formats && !o->tracing_data;
	err = write_out(r);
	ret->kept_bytes = r->end - f->data_at;
	return err;
}

/* A stream only needs its last, cut record taken away. */
static int repair_stream(struct repair *r, struct perfdata_repaired *ret)
{
	int err = find_end(r, r->file.map_size, r->file.map_size);
	if (err)
		return err;
	ret->nr_records = r->nr_records;
	ret->nr_samples = r->nr_samples;
	ret->kept_bytes = r->end - r->file.data_at;
	ret->dropped_bytes = r->file.map_size - r->end;
	ret->was_whole = !ret->dropped_bytes;
	err = check_size(r);
	if (err)
		return err;
	return ret->was_whole || !ftruncate(r->fd, (off_t)r->end) ? 0 : -errno;
}

static int repair_mapped(struct repair *r, const char *name, const struct perfdata_repair_opts *o,
			 struct perfdata_repaired *ret, struct diag *d)
{
	struct perfdata *f = &r->file;
	if (f->swap)
		return diag_error(
			d, -ENOTSUP,
			"'%s' is from a machine of the opposite byte order: repair it there", name);
	struct perfdata_repaired got = { 0 };
	if (!f->is_pipe)
		memcpy(&r->head, f->map, sizeof(r->head)); /* it is that long: it was opened */
	int err = f->is_pipe ? repair_stream(r, &got) : repair_file(r, o, &got);
	if (err && r->cut)
		return diag_error(d, err, "'%s' was truncated while it was being read", name);
	if (err == -E2BIG)
		return diag_error(
			d,
			err, "cannot repair '%s': its records decompress to more than %d times their size",
			name, PERFDATA_EXPANDS_MAX);
	if (err)
		return diag_error(d, err, "cannot repair '%s': %s", name, strerror(-err));
	*ret = got;
	return 0;
}

int perfdata_repair(int fd, const char *name, const struct perfdata_repair_opts *o,
		    struct perfdata_repaired *ret, struct diag *d)
{
	struct stat st;
	struct repair r = { .fd = fd, .first_ns = UINT64_MAX };
	if (fstat(fd, &st))
		return diag_error(d, -errno, "cannot read '%s': %s", name, strerror(errno));
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return diag_error(d, -EBADMSG, "'%s' is %s", name,
				  S_ISREG(st.st_mode) ? "empty: nothing was recorded"
						      : "not a file");
	const void *map;
	int err = guard_map(fd, (size_t)st.st_size, true, NULL, &map);
	if (err)
		return diag_error(d, err, "cannot map '%s': %s", name, strerror(-err));
	strbuf_init(&r.build_ids);
	dict_init(&r.build_id_paths);
	err = perfdata_open_bytes(&r.file, map, (size_t)st.st_size, name, d);
	if (!err)
		err = repair_mapped(&r, name, o, ret, d);
	else if (guard_is_cut(map, (size_t)st.st_size))
		err = diag_error(d, -EIO, "'%s' was truncated while it was being read", name);
	perfdata_inflate_free(r.inflate);
	strbuf_done(&r.build_ids);
	dict_done(&r.build_id_paths);
	perfdata_close(&r.file);
	return err;
}
