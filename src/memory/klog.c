/*
 *	prb ─► printk_ringbuffer ─► desc_ring: descs[id % n] (state and where the text is), infos[id % n] (time, level ...)
 *	                         └► text_data_ring: id, text │ id, text │ ...
 *
 * An id is that of a record while the record's descriptor has it; the highest two bits say whether it is complete.
 */
#include "memory/klog.h"

#include "base/num.h"
#include "memory/eval.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	BITS_MAX = 24,
	TEXT_MAX = 1 << 16,
	STATE_BITS = 2,
	COMMITTED = 1,
	FINALIZED = 2,
	REUSABLE = 3
};

struct log_reader {
	struct kspace *k;
	struct memory *m;
	struct {
		u64 count_bits, descs, infos, head, tail; /* in desc_ring, from the ring on */
		u64 size_bits, data; /* text_data_ring */
		u64 state, begin, next; /* prb_desc */
		u64 ts, len, facility, level_flags, caller, seq; /* printk_info */
	} at;
	u64 desc_size, info_size;
	u8 level_shift;
	u64 descs, infos, data, data_size, nr_descs;
	u64 head, tail;
	char *text;
};

static int find_offsets(struct log_reader *r)
{
	struct ktype desc, info, level;
	u64 bit;
	u8 bits;
	const struct eval_offset rows[] = {
		{ "printk_ringbuffer", "desc_ring.count_bits", &r->at.count_bits },
		{ "printk_ringbuffer", "desc_ring.descs", &r->at.descs },
		{ "printk_ringbuffer", "desc_ring.infos", &r->at.infos },
		{ "printk_ringbuffer", "desc_ring.head_id", &r->at.head },
		{ "printk_ringbuffer", "desc_ring.tail_id", &r->at.tail },
		{ "printk_ringbuffer", "text_data_ring.size_bits", &r->at.size_bits },
		{ "printk_ringbuffer", "text_data_ring.data", &r->at.data },
		{ "prb_desc", "state_var", &r->at.state },
		{ "prb_desc", "text_blk_lpos.begin", &r->at.begin },
		{ "prb_desc", "text_blk_lpos.next", &r->at.next },
		{ "printk_info", "ts_nsec", &r->at.ts },
		{ "printk_info", "text_len", &r->at.len },
		{ "printk_info", "facility", &r->at.facility },
		{ "printk_info", "caller_id", &r->at.caller },
		{ "printk_info", "seq", &r->at.seq },
	};
	int err = eval_offsets(r->k, rows, ARRAY_SIZE(rows));
	if (err)
		return err;
	if (!kspace_find_type(r->k, "prb_desc", BTF_BIT(BTF_OF_STRUCT), &desc) ||
	    !kspace_find_type(r->k, "printk_info", BTF_BIT(BTF_OF_STRUCT), &info))
		return -ENOENT;
	r->desc_size = ktype_size(&desc);
	r->info_size = ktype_size(&info);
	err = eval_path(r->k, &info, "level", &level, &bit, &bits);
	r->at.level_flags = bit / 8;
	r->level_shift = (u8)(bit % 8);
	return err;
}

static int read_u64(struct log_reader *r, u64 addr, u64 *ret)
{
	return kspace_read(r->k, addr, ret, sizeof(*ret), "the log's ring");
}

static int find_ring(struct log_reader *r)
{
	struct kspace_global g;
	u64 ring;
	u32 count_bits, size_bits;
	int err = kspace_global(r->k, "prb", &g);
	if (!err)
		err = read_u64(r, g.addr, &ring);
	if (!err)
		err = kspace_read(r->k, ring + r->at.count_bits, &count_bits, sizeof(count_bits),
				  "the log's ring");
	if (!err)
		err = kspace_read(r->k, ring + r->at.size_bits, &size_bits, sizeof(size_bits),
				  "the log's ring");
	if (!err)
		err = read_u64(r, ring + r->at.descs, &r->descs);
	if (!err)
		err = read_u64(r, ring + r->at.infos, &r->infos);
	if (!err)
		err = read_u64(r, ring + r->at.data, &r->data);
	if (!err)
		err = read_u64(r, ring + r->at.head, &r->head);
	if (!err)
		err = read_u64(r, ring + r->at.tail, &r->tail);
	if (err)
		return err;
	if (!count_bits || count_bits > BITS_MAX || !size_bits || size_bits > BITS_MAX + STATE_BITS)
		return diag_error(r->k->diag, -EBADMSG, "the log's ring is broken");
	r->nr_descs = 1ull << count_bits;
	r->data_size = 1ull << size_bits;
	return 0;
}

/* 1: *rec is the record; 0: it is not there (any more); -ENOENT: there never was one, as with the first of a ring that was never full. */
static int read_record(struct log_reader *r, u64 id, struct klog_record *rec)
{
	static const u64 id_mask = UINT64_MAX >> STATE_BITS;
	u64 desc = r->descs + id % r->nr_descs * r->desc_size;
	u64 info = r->infos + id % r->nr_descs * r->info_size;
	u64 state, again, begin, next;
	u16 len;
	u8 level;
	struct memory_piece pieces[] = {
		{ desc + r->at.state, &state, sizeof(state), 0 },
		{ desc + r->at.begin, &begin, sizeof(begin), 0 },
		{ desc + r->at.next, &next, sizeof(next), 0 },
		{ info + r->at.ts, &rec->time_ns, sizeof(rec->time_ns), 0 },
		{ info + r->at.seq, &rec->number, sizeof(rec->number), 0 },
		{ info + r->at.len, &len, sizeof(len), 0 },
		{ info + r->at.facility, &rec->facility, sizeof(rec->facility), 0 },
		{ info + r->at.level_flags, &level, sizeof(level), 0 },
		{ info + r->at.caller, &rec->caller, sizeof(rec->caller), 0 },
	};
	int err = memory_read_pieces(r->m, pieces, ARRAY_SIZE(pieces));
	for (size_t n = 0; !err && n < ARRAY_SIZE(pieces); n++)
		err = pieces[n].err;
	u64 kind = state >> (64 - STATE_BITS);
	if (!err && kind == REUSABLE)
		return -ENOENT;
	if (err || (state & id_mask) != (id & id_mask) || (kind != COMMITTED && kind != FINALIZED))
		return 0;
	rec->level = level >> r->level_shift & 7;
	rec->text = r->text;
	rec->len = 0;
	if (begin & 1) /* it has no text */
		return 1;
	/* A text that would lie over the end lies at the start instead. */
	u64 from = begin % r->data_size, to = next % r->data_size;
	if (begin / r->data_size != next / r->data_size && to)
		from = 0;
	if (from + sizeof(u64) + len > r->data_size)
		return 0;
	if (memory_read(r->m, r->data + from + sizeof(u64), r->text, len) ||
	    memory_read(r->m, desc + r->at.state, &again, sizeof(again)) || again != state)
		return 0;
	rec->len = len;
	return 1;
}

static int read_all(struct log_reader *r, klog_fn fn, void *ctx, struct klog_end *ret)
{
	static const u64 id_mask = UINT64_MAX >> STATE_BITS;
	u64 nr = ((r->head - r->tail) & id_mask) + 1;
	int err = 0;
	if (nr > r->nr_descs)
		return diag_error(r->k->diag, -EBADMSG, "the log's ring is broken");
	for (u64 n = 0; !err && n < nr; n++) {
		struct klog_record rec = { 0 };
		int found = read_record(r, r->tail + n, &rec);
		if (found <= 0) {
			ret->lost += !found;
			continue;
		}
		ret->nr++;
		err = fn(ctx, &rec);
	}
	return err < 0 ? err : 0;
}

/* ---- where the symbol list has functions only: /dev/kmsg ------------------------------------------------------------------- */

/* "\x0a" is what the text had. In place. */
static u32 unescape(char *text, size_t len)
{
	size_t to = 0;
	for (size_t n = 0; n < len; n++) {
		u64 c;
		char hex[3];
		if (text[n] == '\\' && len - n >= 4 && text[n + 1] == 'x') {
			hex[0] = text[n + 2];
			hex[1] = text[n + 3];
			hex[2] = '\0';
			if (!num_parse_u64(hex, 16, &c)) {
				text[to++] = (char)c;
				n += 3;
				continue;
			}
		}
		text[to++] = text[n];
	}
	return (u32)to;
}

/* "6,339,5140900,-;the text\n", then lines with a blank before them, which tell more about the device. */
static bool parse_kmsg(char *line, size_t len, struct klog_record *rec)
{
	unsigned prio;
	unsigned long long number, us;
	char *text = memchr(line, ';', len);
	if (!text || sscanf(line, "%u,%llu,%llu", &prio, &number, &us) != 3)
		return false;
	text++;
	char *end = memchr(text, '\n', len - (size_t)(text - line));
	if (!end)
		return false;
	*rec = (struct klog_record){ .number = number,
				     .time_ns = (u64)us * 1000,
				     .level = prio & 7,
				     .facility = (u8)(prio >> 3),
				     .text = text };
	rec->len = unescape(text, (size_t)(end - text));
	return true;
}

static int each_kmsg(struct kspace *k, klog_fn fn, void *ctx, struct klog_end *ret)
{
	char line[8192];
	_cleanup_close_ int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return diag_error(k->diag, -errno, "cannot open /dev/kmsg: %s", strerror(errno));
	for (;;) {
		struct klog_record rec;
		ssize_t n = read(fd, line, sizeof(line) - 1);
		if (n < 0 && errno == EPIPE) { /* written over meanwhile */
			ret->lost++;
			continue;
		}
		if (n <= 0)
			return !n || errno == EAGAIN
				       ? 0
				       : diag_error(k->diag, -errno, "cannot read /dev/kmsg: %s",
						    strerror(errno));
		line[n] = '\0';
		if (!parse_kmsg(line, (size_t)n, &rec))
			continue;
		ret->nr++;
		int err = fn(ctx, &rec);
		if (err)
			return err < 0 ? err : 0;
	}
}

int klog_each(struct kspace *k, klog_fn fn, void *ctx, struct klog_end *ret)
{
	struct log_reader r = { .k = k };
	struct ksym sym;
	const struct ksyms *s = kspace_try_syms(k);
	*ret = (struct klog_end){ 0 };
	if (!k->opts.dump && (!s || !ksyms_find(s, "prb", &sym)))
		return each_kmsg(k, fn, ctx, ret);
	int err = kspace_memory(k, &r.m);
	if (!err)
		err = find_offsets(&r);
	if (!err)
		err = find_ring(&r);
	if (err)
		return err;
	r.text = malloc(TEXT_MAX);
	if (!r.text)
		return -ENOMEM;
	err = read_all(&r, fn, ctx, ret);
	free(r.text);
	return err;
}
