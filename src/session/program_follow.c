#include "session/program_follow.h"

#include "kern/cpu.h"
#include "kern/perf_event.h"
#include "kern/perf_ring.h"
#include "kern/procfs.h"
#include "wire/perf_record.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { RING_PAGES = 64, RECORD_MAX = 1 << 16 };

struct follow_ring {
	int fd;
	struct perf_ring ring;
	struct loop_source *source;
};

/* A record in `bytes`. */
struct follow_record {
	u64 time;
	size_t at;
	u16 size;
};

struct program_follow {
	struct naming *naming;
	struct loop *loop;
	VEC(struct follow_ring) rings;
	VEC(struct follow_record) records;
	struct strbuf bytes;
	u8 *scratch;
};

static bool has_user_address(const struct program_type *t, int depth)
{
	enum { DEPTH_MAX = 8 };
	if (!t || depth > DEPTH_MAX)
		return false;
	if (t->kind == PROGRAM_USTACK || t->kind == PROGRAM_USYM)
		return true;
	bool has_fields = t->kind == PROGRAM_TUPLE || t->kind == PROGRAM_RECORD;
	u32 nr = has_fields ? t->nr : t->kind == PROGRAM_ARRAY ? 1 : 0;
	for (u32 i = 0; t->fields && i < nr; i++)
		if (has_user_address(t->fields[i].type, depth + 1))
			return true;
	return false;
}

bool program_follow_is_needed(const struct program *p)
{
	vec_for_each (&p->maps, m)
		if (m->role == PROGRAM_MAP_USER &&
		    (has_user_address(m->key, 0) || has_user_address(m->value, 0)))
			return true;
	vec_for_each (&p->actions, a)
		if (has_user_address(&a->record, 0))
			return true;
	return false;
}

/* A copy, since the ring is given back before anything is done with it. */
static int collect(struct program_follow *f, struct perf_ring *ring)
{
	struct ring_span span;
	if (!perf_ring_peek(ring, &span))
		return 0;
	const struct perf_event_header *h;
	for (size_t pos = 0; (h = ring_span_next(&span, &pos, true, f->scratch));) {
		struct perf_id_trailer who;
		struct follow_record *rec;
		if (perf_trailer_decode((const u8 *)h, h->size, false, PERF_SAMPLE_TIME, &who))
			continue;
		rec = vec_push(&f->records);
		if (!rec)
			return -ENOMEM;
		*rec = (struct follow_record){ .time = who.time,
					       .at = f->bytes.len,
					       .size = h->size };
		strbuf_add(&f->bytes, h, h->size);
	}
	perf_ring_consume(ring, span.head);
	return f->bytes.err;
}

static int compare_times(const void *a, const void *b)
{
	const struct follow_record *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int tell(struct program_follow *f, const struct perf_side *side)
{
	switch (side->type) {
	case PERF_RECORD_FORK:
		/* of a thread: nothing changes */
		return side->pid == side->ppid ? 0 : naming_forked(f->naming, side->ppid, side->pid);
	case PERF_RECORD_MMAP2:
		return naming_mapped(f->naming, side->pid,
				     &(struct naming_mapping){
					     .start = side->addr,
					     .end = side->addr + side->len,
					     .file_offset = side->pgoff,
					     .ino = side->ino,
					     .dev_major = (u32)(side->dev >> 32),
					     .dev_minor = (u32)side->dev,
					     .path = side->name,
				     });
	default: return 0;
	}
}

int program_follow_round(struct program_follow *f)
{
	int rc = 0;
	f->records.nr = 0;
	strbuf_reset(&f->bytes);
	vec_for_each (&f->rings, r)
		if (!rc)
			rc = collect(f, &r->ring);
	if (f->records.nr)
		qsort(f->records.at, f->records.nr, sizeof(*f->records.at), compare_times);
	vec_for_each (&f->records, rec) {
		struct perf_side side;
		const u8 *at = (const u8 *)f->bytes.data + rec->at;
		if (!rc && !perf_side_decode(at, rec->size, false, PERF_SAMPLE_TIME, true, &side))
			rc = tell(f, &side);
	}
	return rc;
}

static int on_ring(void *ctx, u64 events)
{
	(void)events;
	(void)!program_follow_round(ctx);
	return 0;
}

static int open_cpu(struct program_follow *f, struct perf_opener *opener, int cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.sample_type = PERF_SAMPLE_TIME,
					.sample_id_all = 1,
					.mmap = 1,
					.mmap2 = 1,
					.task = 1,
					.watermark = 1,
					.wakeup_watermark = RING_PAGES * 4096 / 4,
					.exclude_kernel = 1 };
	struct follow_ring *r = vec_push(&f->rings);
	if (!r)
		return -ENOMEM;
	*r = (struct follow_ring){ .fd = perf_opener_open(opener, &attr, -1, cpu, -1) };
	if (r->fd < 0)
		return r->fd;
	int rc = perf_ring_open(&r->ring, r->fd, RING_PAGES, false);
	return rc ? rc : loop_add_fd(f->loop, r->fd, EPOLLIN, on_ring, f, &r->source);
}

/* Those that are there already. */
static int look_at_all(struct program_follow *f, const struct sysroot *root)
{
	struct procfs procfs;
	s32 *ids;
	size_t nr;
	procfs_init(&procfs, root);
	int rc = procfs_pids(&procfs, &ids, &nr);
	for (size_t i = 0; !rc && i < nr; i++)
		naming_look(f->naming, (u32)ids[i]);
	procfs_done(&procfs);
	return rc;
}

int program_follow_open(struct program_follow **ret, const struct sysroot *root,
			struct naming *naming, struct loop *l)
{
	struct program_follow *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->naming = naming;
	f->loop = l;
	strbuf_init(&f->bytes);
	f->scratch = malloc(RECORD_MAX);
	struct perf_opener opener;
	struct cpuset online;
	perf_opener_init(&opener, root);
	int rc = f->scratch ? cpu_online(root, &online) : -ENOMEM;
	for (int cpu = rc ? -1 : cpuset_next(&online, 0); !rc && cpu >= 0;
	     cpu = cpuset_next(&online, (unsigned)cpu + 1))
		rc = open_cpu(f, &opener, cpu);
	if (!rc)
		rc = look_at_all(f, root);
	if (rc) {
		program_follow_close(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void program_follow_close(struct program_follow *f)
{
	if (!f)
		return;
	vec_for_each (&f->rings, r) {
		if (r->source)
			loop_remove(f->loop, r->source);
		if (r->ring.page)
			perf_ring_close(&r->ring);
		if (r->fd >= 0)
			close(r->fd);
	}
	vec_free(&f->rings);
	vec_free(&f->records);
	strbuf_done(&f->bytes);
	free(f->scratch);
	free(f);
}
