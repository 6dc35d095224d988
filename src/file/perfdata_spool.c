#include "file/perfdata_spool.h"

#include "base/bytes.h"
#include "wire/perf_record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PIPE_HEAD = 16,
	FILE_HEAD = 104,
	AUX_HEAD = 16, /* of a record: its header, and the size of what follows it */
	TRACING_HEAD = 12,
	AFTER_DATA = 256 << 20, /* features of a file, at most */
};

struct perfdata_spool_walk {
	bool swap;
	bool known; /* the head of the file was seen */
	u64 at; /* bytes seen */
	u64 next; /* where the next record begins; UINT64_MAX: records are not looked at */
	u64 end; /* nothing belongs to the recording from here on */
	u8 head[FILE_HEAD]; /* of the file, then of a record */
	size_t have, want;
	unsigned nr_unknown; /* records of no known type, one after the other */
};

/* Records follow the head of a pipe; a file says how long its data is, unless its recorder was killed. */
static void take_file_head(struct perfdata_spool_walk *w)
{
	struct bytes b = bytes_of(w->head, w->have, false);
	bytes_skip(&b, 8);
	u64 size = bytes_u64(&b);
	w->swap = size >> 32 != 0; /* of the other byte order */
	b = bytes_of(w->head, w->have, w->swap);
	bytes_skip(&b, 8);
	size = bytes_u64(&b);
	w->known = true;
	w->next = PIPE_HEAD;
	if (size != PIPE_HEAD && w->have < FILE_HEAD) {
		w->known = false;
		w->want = FILE_HEAD;
		return;
	}
	if (size != PIPE_HEAD) {
		bytes_skip(&b, 8 * 3);
		u64 data_at = bytes_u64(&b), data_size = bytes_u64(&b);
		w->next = data_size ? UINT64_MAX : max(data_at, (u64)FILE_HEAD);
		if (data_size && data_at <= UINT64_MAX / 4 && data_size <= UINT64_MAX / 4)
			w->end = data_at + data_size + AFTER_DATA;
	}
	w->have = 0;
	w->want = sizeof(struct perf_event_header);
}

/* false: it is no record. */
static bool take_record_head(struct perfdata_spool_walk *w)
{
	struct perf_event_header h = perf_head(w->head, w->swap);
	bool extra = h.type == REC_TRACING_DATA || h.type == REC_AUXTRACE;
	size_t whole = h.type == REC_AUXTRACE ? AUX_HEAD : extra ? TRACING_HEAD : sizeof(h);
	u64 more = 0;
	if (h.size < whole)
		return false;
	w->nr_unknown = h.type && h.type < REC_USER_MAX ? 0 : w->nr_unknown + 1;
	if (w->nr_unknown > PERFDATA_UNKNOWN_MAX)
		return false;
	if (w->have < whole) {
		w->want = whole;
		return true;
	}
	if (extra) {
		struct bytes b = bytes_of(w->head + sizeof(h), whole - sizeof(h), w->swap);
		more = h.type == REC_AUXTRACE ? bytes_u64(&b) : ((u64)bytes_u32(&b) + 7) & ~7ull;
		if (more > UINT64_MAX / 4)
			return false;
	}
	w->next += h.size + more;
	w->have = 0;
	w->want = sizeof(struct perf_event_header);
	return true;
}

/* How many of n bytes are a recording: all of them, or those up to what is none. */
static size_t walk_bytes(struct perfdata_spool_walk *w, const u8 *data, size_t n)
{
	size_t used = 0;
	while (used < n) {
		u64 start = w->known ? w->next : 0, skip = start + w->have - w->at;
		if (w->known && start == UINT64_MAX)
			skip = n - used;
		if (skip) {
			size_t step = (size_t)min(skip, (u64)(n - used));
			used += step;
			w->at += step;
			continue;
		}
		size_t step = min(w->want - w->have, n - used);
		memcpy(w->head + w->have, data + used, step);
		w->have += step;
		w->at += step;
		used += step;
		if (w->have < w->want)
			break;
		if (!w->known)
			take_file_head(w);
		else if (!take_record_head(w))
			return used;
	}
	return w->at > w->end ? used - (size_t)min(w->at - w->end, (u64)used) : used;
}

u64 perfdata_spool_most(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return pages > 0 && size > 0 ? (u64)pages / 2 * (u64)size : (u64)1 << 30;
}

static int refuse(const char *name, u64 most, struct diag *d)
{
	int err = diag_error(d, -EFBIG, "cannot buffer '%s': it is longer than %llu MB", name,
			     (unsigned long long)(most >> 20));
	diag_hint(d, "write the recording to a file and name it with -i");
	return err;
}

static int keep_all(struct perfdata_spool_walk *w, int fd, int to, const char *name, u64 most,
		    struct diag *d)
{
	u8 buf[1 << 16];
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return diag_error(d, -errno, "cannot read '%s': %s", name, strerror(errno));
		size_t good = walk_bytes(w, buf, (size_t)n);
		if (good && write(to, buf, good) != (ssize_t)good)
			return diag_error(d, -EIO, "cannot buffer '%s'", name);
		if (!n || good < (size_t)n)
			return 0;
		if (w->at > most)
			return refuse(name, most, d);
	}
}

int perfdata_spool(int fd, const void *head, size_t size, const char *name, u64 most, struct diag *d)
{
	struct perfdata_spool_walk w = { .want = PIPE_HEAD, .end = UINT64_MAX };
	_cleanup_close_ int to = memfd_create("sonde-stdin", MFD_CLOEXEC);
	if (to < 0)
		return diag_error(d, -errno, "cannot buffer '%s': %s", name, strerror(errno));
	size_t good = walk_bytes(&w, head, size);
	if (write(to, head, good) != (ssize_t)good)
		return diag_error(d, -EIO, "cannot buffer '%s'", name);
	int err = good < size ? 0 : keep_all(&w, fd, to, name, most, d);
	if (err)
		return err;
	int ret = to;
	to = -1;
	return ret;
}
