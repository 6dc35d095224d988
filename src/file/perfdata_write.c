#include "file/perfdata_write.h"

#include "base/dict.h"
#include "file/perfdata_build_id.h"
#include "file/perfdata_head.h"
#include "file/perfdata_made.h"
#include "file/perfdata_name.h"
#include "file/perfdata_spare.h"
#include "file/zstd_records.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIT_OF(feat) (1ull << (feat))

struct perfdata_writer {
	int fd;
	bool pipe;
	perfdata_put_fn *put; /* NULL: into fd */
	void *put_ctx;
	u64 pipe_bytes;
	u64 event_id; /* of the first event */
	struct perfdata_name name;
	bool no_rotate;
	bool no_build_ids;
	pthread_mutex_t lock; /* the file; held while it is written to */
	pthread_mutex_t side_lock; /* times and build ids: who tells of them does not wait for a write */
	struct perf_file_header head; /* as it is to stand in the file when sealed */
	struct perf_file_section sections[PERFDATA_NR_FEATURES];
	bool sealed; /* header and table on disk are those of `head` */
	int err; /* sticky */
	u64 times_ns[2];
	u64 raw_bytes;
	struct strbuf build_ids; /* payload of FEAT_BUILD_ID */
	struct strbuf made; /* what programs told of their code (perfdata_made.h) */
	struct dict build_id_paths;
	struct zstd_records *zstd;
	u32 comp_level;
};

/* at STREAM: where the last write ended. *written: how far it got, also on failure. */
#define STREAM UINT64_MAX
static int write_all(int fd, struct iovec *iov, size_t nr, u64 at, u64 *written)
{
	*written = 0;
	while (nr) {
		if (!iov->iov_len) {
			iov++;
			nr--;
			continue;
		}
		int n_iov = (int)min(nr, (size_t)IOV_MAX);
		ssize_t n =
			at == STREAM ? writev(fd, iov, n_iov) : pwritev(fd, iov, n_iov, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		if (at != STREAM)
			at += (u64)n;
		*written += (u64)n;
		while (nr && (size_t)n >= iov->iov_len) {
			n -= (ssize_t)iov->iov_len;
			iov++;
			nr--;
		}
		if (n) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

static int write_at(int fd, const void *data, size_t len, u64 at)
{
	u64 written;
	return write_all(fd, &(struct iovec){ .iov_base = (void *)(uintptr_t)data, .iov_len = len },
			 1, at, &written);
}

/* What follows the records: the table, and the payloads that change while recording. */
struct tail {
	struct perf_file_section table[PERFDATA_NR_FEATURES];
	size_t nr;
	struct {
		u64 times_ns[2];
		struct {
			u32 version, type, level, ratio, mmap_len;
		} comp;
	} payload;
};

static void make_tail(struct perfdata_writer *w, u64 end, struct tail *t, struct iovec iov[2])
{
	unsigned nr_set = 0;
	for (unsigned f = 0; f < PERFDATA_NR_FEATURES; f++)
		nr_set += !!(w->head.features[0] & BIT_OF(f));
	u64 payload = end + nr_set * sizeof(t->table[0]);
	memset(&t->payload, 0, sizeof(t->payload));
	pthread_mutex_lock(&w->side_lock);
	memcpy(t->payload.times_ns, w->times_ns, sizeof(w->times_ns));
	pthread_mutex_unlock(&w->side_lock);
	w->sections[FEAT_SAMPLE_TIME] =
		(struct perf_file_section){ .offset = payload +
						      offsetof(__typeof__(t->payload), times_ns),
					    .size = sizeof(t->payload.times_ns) };
	if (w->zstd) {
		u64 written = w->head.data.size ? w->head.data.size : 1;
		t->payload.comp.version = 1;
		t->payload.comp.type = 1; /* zstd */
		t->payload.comp.level = w->comp_level;
		t->payload.comp.ratio = (u32)max(w->raw_bytes / written, (u64)1);
		t->payload.comp.mmap_len = ZSTD_RECORDS_PIECE;
		w->sections[FEAT_COMPRESSED] = (struct perf_file_section){
			.offset = payload + offsetof(__typeof__(t->payload), comp),
			.size = sizeof(t->payload.comp)
		};
	}
	t->nr = 0;
	for (unsigned f = 0; f < PERFDATA_NR_FEATURES; f++)
		if (w->head.features[0] & BIT_OF(f))
			t->table[t->nr++] = w->sections[f];
	iov[0] = (struct iovec){ .iov_base = t->table, .iov_len = t->nr * sizeof(t->table[0]) };
	iov[1] = (struct iovec){ .iov_base = &t->payload, .iov_len = sizeof(t->payload) };
}

/* From here on the table may be overwritten. */
static int unseal(struct perfdata_writer *w)
{
	if (!w->sealed)
		return 0;
	static const u64 none[FEAT_MAX / 64];
	int err = write_at(w->fd, none, sizeof(none), offsetof(struct perf_file_header, features));
	if (!err)
		w->sealed = false;
	return err;
}

static int write_head(struct perfdata_writer *w)
{
	int err = write_at(w->fd, &w->head, sizeof(w->head), 0);
	if (!err)
		w->sealed = true;
	return err;
}

/* The file is whole from here on, and gets its name. */
static int publish(struct perfdata_writer *w)
{
	return w->name.unnamed ? perfdata_name_publish(&w->name, w->fd, w->no_rotate) : 0;
}

/* How many of the first `limit` bytes are whole records. A head never lies across two pieces; a body may. */
static u64 whole_records(const struct iovec *iov, size_t nr, u64 limit)
{
	u64 start = 0, pos = 0; /* of the piece, of the record */
	for (size_t i = 0; i < nr; start += iov[i++].iov_len) {
		u64 end = start + iov[i].iov_len;
		while (pos + sizeof(struct perf_event_header) <= end) {
			struct perf_event_header h;
			memcpy(&h, (const u8 *)iov[i].iov_base + (pos - start), sizeof(h));
			if (h.size < sizeof(h) || pos + h.size > limit)
				return pos;
			pos += h.size;
		}
	}
	return pos;
}

/* The disk is full: of what went in, whole records are kept as far as the tail fits after them. */
static void save_prefix(struct perfdata_writer *w, const struct iovec *iov, size_t nr, u64 written)
{
	struct tail tail;
	struct iovec ends[2];
	u64 end = w->head.data.offset + w->head.data.size;
	u64 room = written > sizeof(tail) ? written - sizeof(tail) : 0;
	u64 kept = whole_records(iov, nr, room);
	w->head.data.size += kept;
	make_tail(w, end + kept, &tail, ends);
	if (!write_all(w->fd, ends, 2, end + kept, &written) && !write_head(w) && w->head.data.size)
		(void)!publish(w);
}

static int put_all(struct perfdata_writer *w, const struct iovec *iov, size_t nr, u64 *written)
{
	*written = 0;
	for (size_t i = 0; i < nr; i++)
		*written += iov[i].iov_len;
	return w->put(w->put_ctx, iov, nr);
}

/* Records, and before them the build ids that became known since. */
static int append_stream(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	struct iovec all[PERFDATA_WRITE_IOV_MAX + 1];
	u64 written;
	pthread_mutex_lock(&w->side_lock);
	all[0] = (struct iovec){ .iov_base = w->build_ids.data, .iov_len = w->build_ids.len };
	if (nr)
		memcpy(all + 1, iov, nr * sizeof(*iov));
	int err = w->put ? put_all(w, all, nr + 1, &written)
			 : write_all(w->fd, all, nr + 1, STREAM, &written);
	w->pipe_bytes += written;
	strbuf_reset(&w->build_ids);
	pthread_mutex_unlock(&w->side_lock);
	return err;
}

/* Records and the tail after them, then the header. */
static int append(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	if (w->pipe)
		return append_stream(w, iov, nr);
	struct iovec all[PERFDATA_WRITE_IOV_MAX + 2];
	struct tail tail;
	u64 end = w->head.data.offset + w->head.data.size, len = 0, written;
	int err = unseal(w);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++) {
		all[i] = iov[i];
		len += iov[i].iov_len;
	}
	make_tail(w, end + len, &tail, all + nr);
	err = write_all(w->fd, all, nr + 2, end, &written);
	if (err) {
		save_prefix(w, iov, nr, written);
		return err;
	}
	w->head.data.size += len;
	err = write_head(w);
	return err || !len ? err : publish(w);
}

static int append_plain(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	int err = append(w, iov, nr);
	for (size_t i = 0; i < nr && !err; i++)
		w->raw_bytes += iov[i].iov_len;
	return err;
}

static int append_compressed(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	struct strbuf out;
	strbuf_init(&out);
	u64 len = 0;
	int err = 0;
	for (size_t i = 0; i < nr && !err; i++) {
		err = zstd_records_add(w->zstd, iov[i].iov_base, iov[i].iov_len, &out);
		len += iov[i].iov_len;
	}
	if (!err)
		err = zstd_records_flush(w->zstd, &out);
	if (!err) {
		w->raw_bytes += len;
		err = append(w, &(struct iovec){ .iov_base = out.data, .iov_len = out.len }, 1);
	}
	strbuf_done(&out);
	return err;
}

int perfdata_write_records(struct perfdata_writer *w, const struct iovec *iov, size_t nr)
{
	if (nr > PERFDATA_WRITE_IOV_MAX)
		return -EINVAL;
	pthread_mutex_lock(&w->lock);
	if (!w->err)
		w->err = w->zstd ? append_compressed(w, iov, nr) : append_plain(w, iov, nr);
	int err = w->err;
	pthread_mutex_unlock(&w->lock);
	return err;
}

void perfdata_write_times(struct perfdata_writer *w, u64 first_ns, u64 last_ns)
{
	pthread_mutex_lock(&w->side_lock);
	if (!w->times_ns[0] || first_ns < w->times_ns[0])
		w->times_ns[0] = first_ns;
	w->times_ns[1] = max(w->times_ns[1], last_ns);
	pthread_mutex_unlock(&w->side_lock);
}

static int add_build_id(struct perfdata_writer *w, const char *path, bool kernel, const u8 *id,
			size_t size)
{
	u32 known, fresh = w->build_id_paths.nr;
	int err = dict_add(&w->build_id_paths, hash_bytes(path, strlen(path)), fresh, &known);
	if (err || known != fresh)
		return err;
	perfdata_put_build_id(&w->build_ids, path, kernel, id, size);
	return w->build_ids.err;
}

int perfdata_write_build_id(struct perfdata_writer *w, const char *path, bool kernel, const u8 *id,
			    size_t size)
{
	if (!size || w->no_build_ids)
		return 0;
	pthread_mutex_lock(&w->side_lock);
	int err = add_build_id(w, path, kernel, id, size);
	pthread_mutex_unlock(&w->side_lock);
	return err;
}

int perfdata_write_made(struct perfdata_writer *w, u32 kind, u32 pid, const void *data, size_t size)
{
	pthread_mutex_lock(&w->side_lock);
	perfdata_put_made(&w->made, kind, pid, data, size);
	int err = w->made.err;
	pthread_mutex_unlock(&w->side_lock);
	return err;
}

static int finish_stream(struct perfdata_writer *w)
{
	struct strbuf records;
	strbuf_init(&records);
	if (w->made.len) {
		perfdata_put_made_end(&w->made);
		if (!w->made.err)
			perfdata_put_made_records(&records, w->event_id, &w->made);
	}
	struct iovec iov = { .iov_base = records.data, .iov_len = records.err ? 0 : records.len };
	int err = append_stream(w, &iov, 1);
	strbuf_done(&records);
	return err;
}

static int finish(struct perfdata_writer *w)
{
	if (w->err)
		return w->err; /* what could be saved is sealed already */
	if (w->pipe)
		return finish_stream(w);
	struct tail tail;
	struct iovec iov[4];
	u64 end = w->head.data.offset + w->head.data.size, written;
	int err = unseal(w);
	if (err)
		return err;
	if (w->build_ids.len && !w->build_ids.err) {
		w->head.features[0] |= BIT_OF(FEAT_BUILD_ID);
		make_tail(w, end, &tail, iov); /* for its size */
		w->sections[FEAT_BUILD_ID] =
			(struct perf_file_section){ .offset = end + iov[0].iov_len + iov[1].iov_len,
						    .size = w->build_ids.len };
	}
	make_tail(w, end, &tail, iov);
	iov[2] = (struct iovec){ .iov_base = w->build_ids.data, .iov_len = w->build_ids.len };
	if (w->made.len)
		perfdata_put_made_end(&w->made);
	iov[3] = (struct iovec){ .iov_base = w->made.data,
				 .iov_len = w->made.err ? 0 : w->made.len };
	err = write_all(w->fd, iov, 4, end, &written);
	if (!err)
		err = write_head(w);
	return err ? err : publish(w);
}

int perfdata_write_finish(struct perfdata_writer *w)
{
	pthread_mutex_lock(&w->lock);
	int err = finish(w);
	pthread_mutex_unlock(&w->lock);
	return err;
}

int perfdata_write_fd(const struct perfdata_writer *w)
{
	return w->fd;
}

u64 perfdata_write_file_bytes(struct perfdata_writer *w)
{
	struct stat st;
	if (w->pipe) {
		pthread_mutex_lock(&w->lock);
		u64 bytes = w->pipe_bytes;
		pthread_mutex_unlock(&w->lock);
		return bytes;
	}
	return fstat(w->fd, &st) ? 0 : (u64)st.st_size;
}

u64 perfdata_write_data_bytes(struct perfdata_writer *w)
{
	pthread_mutex_lock(&w->lock);
	u64 bytes = w->raw_bytes;
	pthread_mutex_unlock(&w->lock);
	return bytes;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

/* Ids and attrs after the header, then the features known now. */
static int build_front(struct perfdata_writer *w, const struct perfdata_head *h, struct strbuf *b)
{
	const u64 base = sizeof(w->head);
	u64 ids_at = base;
	for (u32 i = 0; i < h->nr_events; i++)
		strbuf_add(b, h->events[i].ids, h->events[i].nr_ids * sizeof(u64));
	w->head.attrs = (struct perf_file_section){ .offset = base + b->len,
						    .size = h->nr_events * w->head.attr_size };
	for (u32 i = 0; i < h->nr_events; i++) {
		struct perf_file_section ids = { .offset = ids_at,
						 .size = h->events[i].nr_ids * sizeof(u64) };
		strbuf_add(b, &h->events[i].attr, sizeof(struct perf_event_attr));
		strbuf_add(b, &ids, sizeof(ids));
		ids_at += ids.size;
	}
	for (unsigned f = 0; f < PERFDATA_NR_FEATURES; f++) {
		size_t before = b->len;
		if (!perfdata_head_feature(h, f, b))
			continue;
		w->head.features[0] |= BIT_OF(f);
		w->sections[f] = (struct perf_file_section){ .offset = base + before,
							     .size = b->len - before };
	}
	struct perfdata_spare spare = { .magic = PERFDATA_SPARE_MAGIC,
					.features = w->head.features[0] };
	memcpy(spare.sections, w->sections, sizeof(w->sections));
	strbuf_fill(b, 0, -b->len & 7);
	strbuf_add(b, &spare, sizeof(spare));
	w->head.features[0] |= BIT_OF(FEAT_SAMPLE_TIME);
	if (w->zstd)
		w->head.features[0] |= BIT_OF(FEAT_COMPRESSED);
	w->head.data.offset = base + b->len;
	return b->err;
}

struct perfdata_writer *perfdata_write_open(const char *path, const struct perfdata_event *events,
					    u32 nr_events, const struct perfdata_meta *meta,
					    struct diag *d)
{
	struct perfdata_writer *w = calloc(1, sizeof(*w));
	if (!w) {
		diag_error(d, -ENOMEM, "no memory");
		return NULL;
	}
	w->fd = meta->pipe && !meta->put ? meta->pipe_fd : -1;
	w->pipe = meta->pipe;
	w->event_id = nr_events && events[0].nr_ids ? events[0].ids[0] : 0;
	w->put = meta->put;
	w->put_ctx = meta->put_ctx;
	w->no_rotate = meta->no_rotate;
	perfdata_name_init(&w->name);
	w->no_build_ids = meta->no_build_ids;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->side_lock, NULL);
	strbuf_init(&w->build_ids);
	strbuf_init(&w->made);
	dict_init(&w->build_id_paths);
	w->head = (struct perf_file_header){
		.magic = PERF_MAGIC2,
		.size = sizeof(w->head),
		.attr_size = sizeof(struct perf_event_attr) + sizeof(struct perf_file_section),
	};
	struct perfdata_head h = { .events = events, .nr_events = nr_events, .meta = meta };
	struct strbuf front;
	strbuf_init(&front);
	int err = 0;
	if (meta->zstd_level) {
		w->comp_level = (u32)meta->zstd_level;
		w->zstd = zstd_records_new(meta->zstd_level);
		err = w->zstd ? 0 : -ENOMEM;
	}
	if (!err)
		err = meta->pipe ? perfdata_head_stream(&h, &front) : build_front(w, &h, &front);
	if (err)
		diag_error(d, err, "no memory");
	if (!err && !meta->pipe) {
		w->fd = perfdata_name_create(&w->name, path, meta, d);
		err = min(w->fd, 0);
	}
	if (!err) {
		struct iovec all = { .iov_base = front.data, .iov_len = front.len };
		err = meta->pipe ? append_stream(w, &all, 1)
				 : write_at(w->fd, front.data, front.len, sizeof(w->head));
		if (!err && !meta->pipe)
			err = append(w, NULL, 0);
		if (err && err != -EPIPE)
			diag_error(d, err, "cannot write %s: %s", path, strerror(-err));
	}
	strbuf_done(&front);
	if (err) {
		perfdata_write_close(w);
		errno = -err;
		return NULL;
	}
	return w;
}

int perfdata_write_rename(struct perfdata_writer *w, const char *name)
{
	return perfdata_name_change(&w->name, w->fd, name);
}

void perfdata_write_remove(struct perfdata_writer *w)
{
	perfdata_name_remove(&w->name, w->fd);
}

void perfdata_write_close(struct perfdata_writer *w)
{
	if (!w)
		return;
	cleanup_close(&w->fd);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->side_lock);
	strbuf_done(&w->build_ids);
	strbuf_done(&w->made);
	dict_done(&w->build_id_paths);
	zstd_records_free(w->zstd);
	perfdata_name_done(&w->name);
	free(w);
}
