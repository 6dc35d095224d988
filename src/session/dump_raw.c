/*
 * The bytes are laid out as perf does:
 *
 *	0x14c8@perf.data [0x58]: event: 1
 *	.
 *	. ... raw event: size 88 bytes
 *	.  0000:  01 00 00 00 01 00 58 00 ff ff ff ff 00 00 00 00  ......X.........
 *
 *	0 0 0x14c8 [0x58]: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1208bc8) @ 0xffffffff81000000]: x [kernel.kallsyms]_text
 *
 * A first walk lists all records and puts the list into the order of processing. Samples are then matched with what the source
 * delivers, which knows the task and the library.
 */
#include "session/dump_raw.h"

#include "session/side_tables.h"
#include "session/side_lines.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf.h"
#include "stream/run.h"
#include "wire/perf_sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 16, PIPE_HEAD = 16 };

typedef unsigned long long ull;

struct dump_entry {
	u64 time; /* when it is processed: of user space's records, that of the kernel's record before */
	u64 place;
	const u8 *rec;
	u64 nr; /* in the file, for a stable order */
};

struct dump_raw {
	struct dump_raw_opts o;
	const struct perfdata *file; /* prepared: a stream's attrs are known */
	bool reads; /* groups are read together: a record is a sample of each event */
	VEC(struct dump_entry) list;
	size_t next;
	struct arena arena; /* what was unpacked */
	u64 sample_type; /* of all events together */
	bool id_all;
	bool attrs_known; /* of a stream: from its first attr on */
	bool times;
	u64 last_time,
		last_ip; /* of the sample that was printed last: a group's members share a record */
	s32 last_tid;
	int err;
	struct perf_scratch scratch;
	/* While listing. */
	u64 packed_at; /* the compressed record that is being unpacked */
	u64 max_time, flushed_time, next_flush;
};

/* ---- the order of processing ---- */

static u64 time_of(const struct dump_raw *d, const u8 *rec, const struct perf_event_header *h)
{
	if (!d->times || h->type >= REC_KERNEL_MAX)
		return 0;
	if (h->type == PERF_RECORD_SAMPLE)
		return perf_walk_time(d->file, rec, h);
	return perf_walk_who(d->file, rec, h).time;
}

/*
 * A round's end makes perf process everything up to the newest record of the round before; a record from user space is
 * processed where it is, so after all that had been processed until then.
 */
static int add_entry(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct dump_raw *d = ctx;
	if (h->type == REC_COMPRESSED || h->type == REC_COMPRESSED2) {
		d->packed_at = place;
		return 0;
	}
	if (place >= d->file->map_size) {
		u8 *copy = arena_alloc(&d->arena, h->size);
		if (!copy)
			return -ENOMEM;
		rec = memcpy(copy, rec, h->size);
		place = d->packed_at;
	}
	struct dump_entry *e = vec_push(&d->list);
	if (!e)
		return -ENOMEM;
	u64 time = time_of(d, rec, h);
	bool at_once = !time || time == UINT64_MAX || h->type >= REC_KERNEL_MAX;
	*e = (struct dump_entry){ .time = at_once ? d->flushed_time : time,
				  .place = place,
				  .rec = rec,
				  .nr = d->list.nr };
	if (!at_once)
		d->max_time = max(d->max_time, time);
	if (h->type == REC_FINISHED_ROUND) {
		d->flushed_time = d->next_flush;
		d->next_flush = d->max_time;
	}
	return 0;
}

static int by_processing(const void *a, const void *b)
{
	const struct dump_entry *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

int dump_raw_new(struct dump_raw **ret, const struct dump_raw_opts *o)
{
	struct dump_raw *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->o = *o;
	d->file = replay_perf_file(o->src);
	d->reads = source_facts(o->src).has_reads;
	vec_for_each (&d->file->attrs, a) {
		d->sample_type |= a->attr.sample_type;
		d->id_all |= a->attr.sample_id_all;
	}
	d->times = !o->file_order && perf_file_has_times(d->file);
	d->attrs_known = !d->file->is_pipe;
	int err = perf_walk(d->file, add_entry, d);
	if (err) {
		dump_raw_free(d);
		return err;
	}
	if (d->times && d->list.nr)
		qsort(d->list.at, d->list.nr, sizeof(*d->list.at), by_processing);
	*ret = d;
	return 0;
}

void dump_raw_free(struct dump_raw *d)
{
	if (!d)
		return;
	vec_free(&d->list);
	arena_done(&d->arena);
	perf_scratch_done(&d->scratch);
	free(d);
}

/* ---- one record ---- */

static void hex_line(struct strbuf *to, const u8 *at, u32 offset, u32 nr)
{
	static const char digits[] = "0123456789abcdef";
	strbuf_printf(to, ".  %04x: ", offset);
	for (u32 i = 0; i < WIDTH; i++) {
		strbuf_char(to, ' ');
		strbuf_char(to, i < nr ? digits[at[i] >> 4] : ' ');
		strbuf_char(to, i < nr ? digits[at[i] & 15] : ' ');
	}
	strbuf_str(to, "  ");
	for (u32 i = 0; i < WIDTH; i++)
		strbuf_char(to, i >= nr ? ' ' : at[i] >= 0x20 && at[i] < 0x7f ? (char)at[i] : '.');
	strbuf_char(to, '\n');
}

static void print_number(struct strbuf *to, const char *before, u64 v)
{
	strbuf_printf(to, v ? "%s0x%llx" : "%s%llx", before, (ull)v);
}

/* perf counts the offsets of a stream from its first record. */
static u64 shown_place(const struct dump_raw *d, u64 place)
{
	return d->file->is_pipe && place >= PIPE_HEAD ? place - PIPE_HEAD : place;
}

static void print_bytes(struct dump_raw *d, const u8 *rec, const struct perf_event_header *h,
			u64 place, struct strbuf *to)
{
	print_number(to, "\n", shown_place(d, place));
	strbuf_printf(to, "@%s [0x%x]: event: %u\n.\n. ... raw event: size %u bytes\n",
		      d->file->is_pipe ? "pipe" : d->o.path, h->size, h->type, h->size);
	for (u32 at = 0; at < h->size; at += WIDTH)
		hex_line(to, rec + at, at, min((u32)h->size - at, (u32)WIDTH));
	strbuf_char(to, '\n');
}

/* CPU and time where events have them. */
static void print_place(struct dump_raw *d, u32 cpu, u64 time, const struct perf_event_header *h,
			u64 place, struct strbuf *to)
{
	if (!d->attrs_known || (h->type != PERF_RECORD_SAMPLE && !d->id_all)) {
		strbuf_str(to, "-1 -1 ");
	} else {
		if (d->sample_type & PERF_SAMPLE_CPU)
			strbuf_printf(to, "%u ", cpu);
		if (d->sample_type & PERF_SAMPLE_TIME)
			strbuf_printf(to, "%llu ", (ull)time);
	}
	print_number(to, "", shown_place(d, place));
	strbuf_printf(to, " [0x%x]: ", h->size);
}

static int print_sample(struct dump_raw *d, const u8 *rec, const struct perf_event_header *h,
			u64 place, struct strbuf *to)
{
	const struct perfdata *f = d->file;
	u64 id = f->attrs.nr > 1 ? perf_sample_id(&f->attrs.at[0].layout, rec, h->size, f->swap) : 0;
	const struct perfdata_attr *a = f->attrs.nr ? perfdata_attr_of(f, id) : NULL;
	struct perf_sample_view v;
	int err = a ? perf_sample_decode(&a->layout, rec, h->size, f->swap, &d->scratch, &v)
		    : -EBADMSG;
	if (err) {
		print_place(d, 0, 0, h, place, to);
		strbuf_str(to, a ? "PERF_RECORD_SAMPLE: shorter than its header says\n"
				 : "PERF_RECORD_SAMPLE: of an unknown event\n");
		return err == -ENOMEM ? err : 0;
	}
	d->last_time = v.time;
	d->last_ip = v.ip;
	d->last_tid = (s32)v.tid;
	/* perf reads the CPU of a sample without one as -1. */
	print_place(d, a->attr.sample_type & PERF_SAMPLE_CPU ? v.cpu : UINT32_MAX, v.time, h, place,
		    to);
	strbuf_printf(to, "PERF_RECORD_SAMPLE(IP, 0x%x): %d/%d: ", h->misc, (s32)v.pid, (s32)v.tid);
	print_number(to, "", v.ip);
	strbuf_printf(to, " period: %llu", (ull)v.period);
	print_number(to, " addr: ", v.addr);
	strbuf_char(to, '\n');
	dump_sample_parts(f, a, rec, &v, to);
	return 0;
}

static bool has_text(u32 type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_CGROUP: return true;
	default: return false;
	}
}

static int print_record(struct dump_raw *d, const struct dump_entry *e, struct strbuf *to)
{
	struct perf_event_header h = perf_head(e->rec, d->file->swap);
	struct perf_side side;
	print_bytes(d, e->rec, &h, e->place, to);
	if (h.type == PERF_RECORD_SAMPLE)
		return print_sample(d, e->rec, &h, e->place, to);
	struct perf_id_trailer who = perf_walk_who(d->file, e->rec, &h);
	print_place(d, who.cpu, who.time, &h, e->place, to);
	if (has_text(h.type) && !perf_walk_side(d->file, e->rec, &h, &side)) {
		side_lines_line(&side, d->file->swap, to);
	} else {
		strbuf_printf(to, "PERF_RECORD_%s", side_tables_type(h.type));
		dump_record_body(d->file, e->rec, &h, d->o.has_handlers, to);
	}
	d->attrs_known |= h.type == REC_HEADER_ATTR;
	return to->err;
}

/* ---- with the samples ---- */

static bool is_sample(const struct dump_raw *d, const struct dump_entry *e)
{
	return perf_head(e->rec, d->file->swap).type == PERF_RECORD_SAMPLE;
}

/* Several events of a group that were read together are one record. */
static bool is_printed(const struct dump_raw *d, const struct sample *s)
{
	return d->next && is_sample(d, &d->list.at[d->next - 1]) && s->time_ns == d->last_time &&
	       s->ip == d->last_ip && s->tid == d->last_tid && d->reads;
}

static u64 sample_time(const struct dump_raw *d, const struct dump_entry *e)
{
	struct perf_event_header h = perf_head(e->rec, d->file->swap);
	return perf_walk_time(d->file, e->rec, &h);
}

static bool is_of(struct dump_raw *d, const struct dump_entry *e, const struct sample *s)
{
	const struct perfdata *f = d->file;
	struct perf_event_header h = perf_head(e->rec, f->swap);
	u64 id = f->attrs.nr > 1 ? perf_sample_id(&f->attrs.at[0].layout, e->rec, h.size, f->swap)
				 : 0;
	const struct perfdata_attr *a = perfdata_attr_of(f, id);
	struct perf_sample_view v;
	return a && !perf_sample_decode(&a->layout, e->rec, h.size, f->swap, &d->scratch, &v) &&
	       v.ip == s->ip && (s32)v.tid == s->tid;
}

/* Samples of the same moment come from the source in an order of its own: the one that is meant is put first. */
static void put_first(struct dump_raw *d, const struct sample *s)
{
	struct dump_entry *first = &d->list.at[d->next];
	for (size_t i = d->next; i < d->list.nr && d->list.at[i].time == first->time; i++) {
		struct dump_entry *e = &d->list.at[i], found = *e;
		if (!is_sample(d, e) || !is_of(d, e, s))
			continue;
		memmove(first + 1, first, (size_t)(e - first) * sizeof(*e));
		*first = found;
		return;
	}
}

/* Up to and with the record of the sample. */
static void print_until(struct dump_raw *d, const struct sample *s, struct strbuf *to)
{
	while (d->next < d->list.nr && !d->err) {
		bool sample = is_sample(d, &d->list.at[d->next]);
		u64 at = sample ? sample_time(d, &d->list.at[d->next]) : 0;
		if (sample && at > s->time_ns)
			return;
		if (sample && at == s->time_ns && d->times)
			put_first(d, s);
		d->err = print_record(d, &d->list.at[d->next++], to);
		if (sample && at == s->time_ns)
			return;
	}
}

void dump_raw_sample(struct dump_raw *d, const struct sample *s, const struct image_info *image,
		     struct strbuf *to)
{
	char own[COMM_TEXT];
	if (!is_printed(d, s))
		print_until(d, s, to);
	strbuf_printf(to, " ... thread: %s:%d\n", comm_text(&d->o.src->catalog, s->comm, own),
		      s->tid);
	strbuf_printf(to, " ...... dso: %s\n",
		      image && image->kind != IMAGE_KIND_NONE ? image->path : "<not found>");
}

int dump_raw_rest(struct dump_raw *d, struct strbuf *to)
{
	for (; d->next < d->list.nr && !d->err; d->next++)
		d->err = print_record(d, &d->list.at[d->next], to);
	return d->err ? d->err : to->err;
}

/* ---- a sink that prints nothing else ---- */

struct dump_sink {
	struct sink sink;
	struct dump_raw *dump;
	struct strbuf *to;
};

static int sink_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = (void *)sh; /* one worker: its frames are the only ones */
	return 0;
}

static int sink_feed(struct sink *k, void *state, const struct batch *b)
{
	struct dump_sink *ds = container_of(k, struct dump_sink, sink);
	const struct shard *sh = state;
	const struct catalog *c = &ds->dump->o.src->catalog;
	for (size_t i = 0; i < b->nr; i++) {
		u32 image = sh->frames.frames[b->samples[i].leaf].image;
		dump_raw_sample(ds->dump, &b->samples[i], &c->images.at[image], ds->to);
	}
	return ds->dump->err ? ds->dump->err : ds->to->err;
}

static const struct sink_ops dump_ops = {
	.needs = NEED_ORDER | NEED_COMM | NEED_LEAF,
	.shard_new = sink_new,
	.feed = sink_feed,
};

int dump_raw_all(const struct dump_raw_opts *o, struct strbuf *to, struct diag *diag)
{
	struct dump_sink ds = { .sink = { .ops = &dump_ops, .needs = dump_ops.needs }, .to = to };
	struct run_tables run = { 0 };
	ds.sink.needs |= source_facts(o->src).has_reads ? NEED_READ : 0;
	int err = dump_raw_new(&ds.dump, o);
	if (!err && !o->file_order)
		err = stream_run(o->src, &ds.sink, 1, &run, diag);
	if (!err)
		err = dump_raw_rest(ds.dump, to);
	dump_raw_free(ds.dump);
	run_tables_done(&run);
	return err;
}
