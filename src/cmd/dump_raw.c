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
 * perf prints the text of a record when its time has come, far behind its bytes; here it stands below them.
 */
#include "cmd/dump_raw.h"

#include "cmd/report_side.h"
#include "cmd/script_side.h"
#include "stream/perf_walk.h"
#include "wire/perf_sample.h"

#include <errno.h>

enum { WIDTH = 16 };

typedef unsigned long long ull;

struct dump {
	const struct perfdata *file;
	const char *path;
	struct strbuf *to;
	u64 sample_type; /* of all events together */
	bool id_all;
	struct perf_scratch scratch;
};

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

static void put_bytes(struct dump *d, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	strbuf_printf(d->to, "\n0x%llx@%s [0x%x]: event: %u\n.\n. ... raw event: size %u bytes\n",
		      (ull)place, d->path, h->size, h->type, h->size);
	for (u32 at = 0; at < h->size; at += WIDTH)
		hex_line(d->to, rec + at, at, min((u32)h->size - at, (u32)WIDTH));
	strbuf_char(d->to, '\n');
}

/* CPU and time where events have them. */
static void put_place(struct dump *d, u32 cpu, u64 time, const struct perf_event_header *h,
		      u64 place)
{
	if (h->type != PERF_RECORD_SAMPLE && !d->id_all) {
		strbuf_str(d->to, "-1 -1 ");
	} else {
		if (d->sample_type & PERF_SAMPLE_CPU)
			strbuf_printf(d->to, "%u ", cpu);
		if (d->sample_type & PERF_SAMPLE_TIME)
			strbuf_printf(d->to, "%llu ", (ull)time);
	}
	strbuf_printf(d->to, "0x%llx [0x%x]: ", (ull)place, h->size);
}

static void put_number(struct strbuf *to, const char *before, u64 v)
{
	strbuf_printf(to, v ? "%s0x%llx" : "%s%llx", before, (ull)v);
}

static int put_sample(struct dump *d, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	const struct perfdata *f = d->file;
	u64 id = f->attrs.nr > 1 ? perf_sample_id(&f->attrs.at[0].layout, rec, h->size, f->swap) : 0;
	const struct perfdata_attr *a = f->attrs.nr ? perfdata_attr_of(f, id) : NULL;
	struct perf_sample_view v;
	int err = a ? perf_sample_decode(&a->layout, rec, h->size, f->swap, &d->scratch, &v)
		    : -EBADMSG;
	if (err) {
		put_place(d, 0, 0, h, place);
		strbuf_str(d->to,
			   a ? "PERF_RECORD_SAMPLE: shorter than it says\n"
			     : "PERF_RECORD_SAMPLE: of an event that the file does not know\n");
		return err == -ENOMEM ? err : 0;
	}
	put_place(d, v.cpu, v.time, h, place);
	strbuf_printf(d->to, "PERF_RECORD_SAMPLE(IP, 0x%x): %d/%d: ", h->misc, (s32)v.pid,
		      (s32)v.tid);
	put_number(d->to, "", v.ip);
	strbuf_printf(d->to, " period: %llu", (ull)v.period);
	put_number(d->to, " addr: ", v.addr);
	strbuf_char(d->to, '\n');
	if (a->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		strbuf_printf(d->to, "... FP chain: nr:%llu\n", (ull)v.nr_chain);
	for (u64 i = 0; i < v.nr_chain; i++)
		strbuf_printf(d->to, "..... %2llu: %016llx\n", (ull)i, (ull)v.chain[i]);
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

static int put_record(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct dump *d = ctx;
	struct perf_side side;
	put_bytes(d, rec, h, place);
	if (h->type == PERF_RECORD_SAMPLE)
		return put_sample(d, rec, h, place);
	bool known = !perf_walk_side(d->file, rec, h, &side);
	put_place(d, known ? side.who.cpu : 0, known ? side.who.time : 0, h, place);
	if (known && has_text(h->type))
		script_side_line(&side, d->file->swap, d->to);
	else
		strbuf_printf(d->to, "PERF_RECORD_%s\n", report_record_name(h->type));
	return d->to->err;
}

int dump_raw(const struct perfdata *file, const char *path, struct strbuf *to)
{
	struct dump d = { .file = file, .path = path, .to = to };
	vec_for_each (&file->attrs, a) {
		d.sample_type |= a->attr.sample_type;
		d.id_all |= a->attr.sample_id_all;
	}
	int err = perf_walk(file, put_record, &d);
	perf_scratch_done(&d.scratch);
	return err ? err : to->err;
}
