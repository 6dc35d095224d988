#include "file/perfdata_made.h"

static const char magic[8] = "sondejit";

enum { END_BYTES = sizeof(u64) + sizeof(magic) };

void perfdata_put_made(struct strbuf *to, enum perfdata_made_kind kind, u32 pid, const void *data,
		       size_t size)
{
	u32 words[2] = { kind, pid };
	u64 len = size;
	strbuf_add(to, words, sizeof(words));
	strbuf_add(to, &len, sizeof(len));
	strbuf_add(to, data, size);
	strbuf_fill(to, 0, -size & 7);
}

void perfdata_put_made_end(struct strbuf *to)
{
	u64 size = to->len;
	strbuf_add(to, &size, sizeof(size));
	strbuf_add(to, magic, sizeof(magic));
}

void perfdata_put_made_records(struct strbuf *to, u64 event_id, const struct strbuf *made)
{
	struct {
		struct perf_event_header h;
		u64 what, id;
	} rec = { .h.type = REC_EVENT_UPDATE, .what = PERFDATA_MADE_UPDATE, .id = event_id };
	enum { PIECE = (UINT16_MAX & ~7) - sizeof(rec) }; /* all lengths are multiples of 8 */
	for (size_t at = 0; at < made->len; at += PIECE) {
		size_t size = min(made->len - at, (size_t)PIECE);
		rec.h.size = (u16)(sizeof(rec) + size);
		strbuf_add(to, &rec, sizeof(rec));
		strbuf_add(to, made->data + at, size);
	}
}

/* Only after a whole recording's records: those of one that was never finished may end with any bytes. */
struct perfdata_feature perfdata_made_all(const struct perfdata *p)
{
	struct perfdata_feature none = { 0 };
	size_t room = p->is_pipe		   ? p->made.len
		      : p->map_size >= p->data_end ? p->map_size - p->data_end
						   : 0;
	if (p->unfinished || p->truncated || room < END_BYTES)
		return none;
	const u8 *end = p->is_pipe ? (const u8 *)p->made.data + room : p->map + p->map_size;
	struct bytes b = bytes_of(end - END_BYTES, END_BYTES, p->swap);
	u64 size = bytes_u64(&b);
	if (memcmp(b.at, magic, sizeof(magic)) != 0 || size > room - END_BYTES)
		return none;
	return (struct perfdata_feature){ .at = end - END_BYTES - size, .size = END_BYTES + size };
}

struct bytes perfdata_made_start(const struct perfdata *p)
{
	struct perfdata_feature all = perfdata_made_all(p);
	return bytes_of(all.at, all.size ? all.size - END_BYTES : 0, p->swap);
}

bool perfdata_made_next(struct bytes *b, struct perfdata_made *ret)
{
	struct perfdata_made m = { .kind = bytes_u32(b), .pid = bytes_u32(b) };
	u64 size = bytes_u64(b);
	m.data = bytes_take(b, size);
	if (b->bad)
		return false;
	m.size = size;
	bytes_skip(b, min((size_t)(-size & 7), bytes_left(b)));
	*ret = m;
	return true;
}
