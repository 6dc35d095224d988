#include "file/perfdata_copy.h"

#include "file/perfdata_build_id.h"
#include "file/perfdata_made.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20, STREAM_HEAD = 16, EVENT_UPDATE_NAME = 2 };

struct perfdata_copy {
	const struct perfdata *from;
	int fd;
	bool stream;
	bool begun; /* the head is written */
	u64 at; /* bytes handed to the descriptor, and in the buffer */
	u64 data_size;
	struct strbuf buf;
	struct strbuf build_ids;
	struct dict paths;
	int err; /* sticky */
};

static int flush(struct perfdata_copy *c)
{
	for (size_t done = 0; done < c->buf.len && !c->err;) {
		ssize_t n = write(c->fd, c->buf.data + done, c->buf.len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			c->err = n < 0 ? -errno : -EIO;
		else
			done += (size_t)n;
	}
	if (!c->err)
		c->err = c->buf.err;
	strbuf_reset(&c->buf);
	return c->err;
}

static int put(struct perfdata_copy *c, const void *data, size_t size)
{
	strbuf_add(&c->buf, data, size);
	c->at += size;
	return c->buf.len >= BUFFER_BYTES ? flush(c) : c->err;
}

/* ---- the head of a stream ---- */

static void put_record(struct perfdata_copy *c, u32 type, const void *head, size_t head_size,
		       const void *data, size_t size)
{
	static const u8 zero[8];
	struct perf_event_header h = { .type = type };
	size_t len = sizeof(h) + head_size + size, padded = (len + 7) & ~(size_t)7;
	if (padded > UINT16_MAX)
		return; /* a stream has no room for it */
	h.size = (u16)padded;
	(void)!put(c, &h, sizeof(h));
	(void)!put(c, head, head_size);
	(void)!put(c, data, size);
	(void)!put(c, zero, padded - len);
}

/* Of a file: each attr with its ids and its name. */
static void put_attrs(struct perfdata_copy *c)
{
	const struct perfdata *p = c->from;
	struct perf_file_header h;
	memcpy(&h, p->map, sizeof(h));
	for (size_t i = 0; i < p->attrs.nr; i++) {
		struct perf_file_section ids;
		const u8 *entry = p->map + h.attrs.offset + i * h.attr_size;
		memcpy(&ids, entry + h.attr_size - sizeof(ids), sizeof(ids));
		struct perf_event_attr attr = p->attrs.at[i].attr;
		attr.size = sizeof(attr);
		put_record(c, REC_HEADER_ATTR, &attr, sizeof(attr), p->map + ids.offset, ids.size);
		u64 name[2] = { EVENT_UPDATE_NAME };
		if (ids.size >= sizeof(u64))
			memcpy(&name[1], p->map + ids.offset, sizeof(u64));
		const char *text = p->attrs.at[i].name;
		if (text && (name[1] || p->attrs.nr == 1))
			put_record(c, REC_EVENT_UPDATE, name, sizeof(name), text, strlen(text) + 1);
	}
}

static bool is_kept_feature(unsigned bit)
{
	return bit != FEAT_BUILD_ID && bit != FEAT_DIR_FORMAT && bit != FEAT_COMPRESSED;
}

static void put_stream_features(struct perfdata_copy *c)
{
	const struct perfdata *p = c->from;
	for (u64 bit = 1; bit < FEAT_MAX; bit++)
		if (p->features[bit].at && is_kept_feature((unsigned)bit) && bit != FEAT_TRACING_DATA)
			put_record(c, REC_HEADER_FEATURE, &bit, sizeof(bit), p->features[bit].at,
				   p->features[bit].size);
	struct perfdata_feature t = p->features[FEAT_TRACING_DATA];
	if (!t.at)
		return;
	static const u8 zero[8];
	u32 padded = (u32)((t.size + 7) & ~7ull);
	struct perf_event_header h = { .type = REC_TRACING_DATA,
				       .size = sizeof(h) + sizeof(padded) };
	(void)!put(c, &h, sizeof(h));
	(void)!put(c, &padded, sizeof(padded));
	(void)!put(c, t.at, t.size);
	(void)!put(c, zero, padded - t.size);
}

static int begin_stream(struct perfdata_copy *c)
{
	u64 head[] = { PERF_MAGIC2, STREAM_HEAD };
	(void)!put(c, head, sizeof(head));
	if (!c->from->is_pipe) {
		put_attrs(c);
		put_stream_features(c);
		(void)!put(c, c->build_ids.data, c->build_ids.len);
	}
	return c->err;
}

/* ---- records ---- */

static int begin(struct perfdata_copy *c)
{
	if (c->begun)
		return c->err;
	c->begun = true;
	if (c->stream)
		return begin_stream(c);
	/* Everything before the data, as it is; the header is written once more at the end. */
	return put(c, c->from->map, c->from->data_at);
}

/* Where a stream's head ends, the ids that became known are put in. */
static int put_late_ids(struct perfdata_copy *c, const struct perf_event_header *h)
{
	if (!c->stream || !c->from->is_pipe || !c->build_ids.len || h->type >= REC_KERNEL_MAX)
		return 0;
	int err = put(c, c->build_ids.data, c->build_ids.len);
	strbuf_reset(&c->build_ids);
	return err;
}

int perfdata_copy_record(struct perfdata_copy *c, const void *rec, const struct perf_event_header *h)
{
	int err = begin(c);
	if (err || h->type == REC_COMPRESSED || h->type == REC_COMPRESSED2)
		return err; /* what they hold is handed over by itself */
	if (h->type == REC_HEADER_FEATURE && c->from->is_pipe) {
		u64 feature;
		if (h->size >= sizeof(*h) + sizeof(feature)) {
			memcpy(&feature, (const u8 *)rec + sizeof(*h), sizeof(feature));
			if (feature == FEAT_COMPRESSED)
				return 0;
		}
	}
	size_t size = h->size;
	if (h->type == REC_TRACING_DATA || h->type == REC_AUXTRACE) { /* its payload follows it */
		const u8 *at = rec, *one;
		struct perf_event_header again;
		if (perfdata_record(c->from, &at, c->from->map + c->from->map_size, &one, &again) <=
		    0)
			return -EBADMSG;
		size = (size_t)(at - (const u8 *)rec);
	}
	err = put_late_ids(c, h);
	if (!err)
		err = put(c, rec, size);
	c->data_size += size;
	return err;
}

int perfdata_copy_build_id(struct perfdata_copy *c, const char *path, bool kernel, const u8 *id,
			   size_t size)
{
	u32 known, fresh = c->paths.nr;
	int err = dict_add(&c->paths, hash_bytes(path, strlen(path)), fresh, &known);
	if (!err && known == fresh && size)
		perfdata_put_build_id(&c->build_ids, path, kernel, id, size);
	return err ? err : c->build_ids.err;
}

static int put_table(struct perfdata_copy *c)
{
	const struct perfdata *p = c->from;
	struct perf_file_header h;
	struct perfdata_feature all[FEAT_MAX];
	memcpy(&h, p->map, sizeof(h));
	memcpy(all, p->features, sizeof(all));
	memset(h.features, 0, sizeof(h.features));
	all[FEAT_BUILD_ID] = (struct perfdata_feature){ .at = (const u8 *)c->build_ids.data,
							.size = c->build_ids.len };
	unsigned nr = 0;
	for (unsigned bit = 1; bit < FEAT_MAX; bit++) {
		bool empty = p->feature_bits[bit / 64] >> (bit % 64) & 1 && bit != FEAT_BUILD_ID;
		if (bit != FEAT_BUILD_ID && !is_kept_feature(bit))
			continue;
		if (!empty && !all[bit].size)
			continue;
		h.features[bit / 64] |= 1ull << (bit % 64);
		nr++;
	}
	u64 at = c->at + nr * sizeof(struct perf_file_section);
	for (unsigned bit = 1; bit < FEAT_MAX; bit++) {
		if (!(h.features[bit / 64] >> (bit % 64) & 1))
			continue;
		struct perf_file_section s = { .offset = at,
					       .size = all[bit].at ? all[bit].size : 0 };
		(void)!put(c, &s, sizeof(s));
		at += s.size;
	}
	for (unsigned bit = 1; bit < FEAT_MAX; bit++)
		if (h.features[bit / 64] >> (bit % 64) & 1 && all[bit].at)
			(void)!put(c, all[bit].at, all[bit].size);
	struct perfdata_feature made = perfdata_made_all(p);
	if (made.size)
		(void)!put(c, made.at, made.size);
	h.data.size = c->data_size;
	if (!flush(c) && pwrite(c->fd, &h, sizeof(h), 0) != sizeof(h))
		c->err = errno ? -errno : -EIO;
	return c->err;
}

int perfdata_copy_finish(struct perfdata_copy *c)
{
	int err = begin(c);
	if (!err && c->stream && c->build_ids.len && c->from->is_pipe)
		err = put(c, c->build_ids.data, c->build_ids.len);
	if (!err && !c->stream)
		return put_table(c);
	return err ? err : flush(c);
}

static int take_build_id(void *ctx, const char *path, const u8 *id, u32 size, u16 misc)
{
	bool kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	return perfdata_copy_build_id(ctx, path, kernel, id, size);
}

struct perfdata_copy *perfdata_copy_open(const struct perfdata *from, int fd, bool stream,
					 struct diag *d)
{
	if (from->swap) {
		diag_error(d, -ENOTSUP,
			   "the recording is from a machine of the opposite byte order: it can be "
			   "read, but not rewritten");
		return NULL;
	}
	struct perfdata_copy *c = calloc(1, sizeof(*c));
	if (!c) {
		diag_error(d, -ENOMEM, "no memory");
		return NULL;
	}
	c->from = from;
	c->fd = fd;
	c->stream = stream || from->is_pipe;
	strbuf_init(&c->buf);
	strbuf_init(&c->build_ids);
	dict_init(&c->paths);
	if (perfdata_build_ids(from, take_build_id, c)) {
		diag_error(d, -ENOMEM, "no memory");
		perfdata_copy_close(c);
		return NULL;
	}
	return c;
}

void perfdata_copy_close(struct perfdata_copy *c)
{
	if (!c)
		return;
	strbuf_done(&c->buf);
	strbuf_done(&c->build_ids);
	dict_done(&c->paths);
	free(c);
}
