#include "wire/perf_sample.h"

#include <errno.h>
#include <string.h>

enum { NO_SLOT = 0xff };

static const u64 in_words = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
			    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;

void perf_layout_init(struct perf_layout *l, const struct perf_event_attr *attr)
{
	/* One u64 each, in this order, up to the first part of variable length. */
	static const u64 order[] = { PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,   PERF_SAMPLE_TID,
				     PERF_SAMPLE_TIME,	     PERF_SAMPLE_ADDR, PERF_SAMPLE_ID };
	*l = (struct perf_layout){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.regs_user = attr->sample_regs_user,
		.regs_intr = attr->sample_regs_intr,
		.fixed_period = attr->freq ? 1 : attr->sample_period,
		.id_slot = NO_SLOT,
		.time_slot = NO_SLOT,
	};
	l->nr_words = (u8)__builtin_popcountll(attr->sample_type & in_words);
	u8 slot = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
		if (!(attr->sample_type & order[i]))
			continue;
		if (order[i] == PERF_SAMPLE_TIME)
			l->time_slot = slot;
		else if (order[i] == PERF_SAMPLE_IDENTIFIER ||
			 (order[i] == PERF_SAMPLE_ID && l->id_slot == NO_SLOT))
			l->id_slot = slot;
		slot++;
	}
}

/* Of those words, the one at *at; it is there. */
static inline u64 next_word(const u8 **at, bool swap)
{
	u64 v;
	memcpy(&v, *at, sizeof(v));
	*at += sizeof(v);
	return unlikely(swap) ? __builtin_bswap64(v) : v;
}

static inline u32 next_half(const u8 **at, bool swap)
{
	u32 v;
	memcpy(&v, *at, sizeof(v));
	*at += sizeof(v);
	return unlikely(swap) ? __builtin_bswap32(v) : v;
}

static u64 word_at(u8 slot, const u8 *rec, u16 size, bool swap)
{
	size_t at = sizeof(struct perf_event_header) + 8 * (size_t)slot;
	if (slot == NO_SLOT || at + 8 > size)
		return 0;
	u64 v;
	memcpy(&v, rec + at, 8);
	return swap ? __builtin_bswap64(v) : v;
}

u64 perf_sample_id(const struct perf_layout *l, const u8 *rec, u16 size, bool swap)
{
	return word_at(l->id_slot, rec, size, swap);
}

u64 perf_sample_time(const struct perf_layout *l, const u8 *rec, u16 size, bool swap)
{
	return word_at(l->time_slot, rec, size, swap);
}

void perf_scratch_done(struct perf_scratch *s)
{
	free(s->words);
	*s = (struct perf_scratch){ 0 };
}

/* The words where they lie when they are aligned and in our byte order, else a copy. */
static const u64 *words_of(const void *at, u64 nr, bool swap, struct perf_scratch *s)
{
	if (likely(!swap && !((uintptr_t)at & 7)) || !nr)
		return at;
	if (nr > s->cap) {
		u64 *words = realloc(s->words, nr * sizeof(*words));
		if (!words)
			return NULL;
		s->words = words;
		s->cap = nr;
	}
	memcpy(s->words, at, nr * 8);
	for (u64 i = 0; swap && i < nr; i++)
		s->words[i] = __builtin_bswap64(s->words[i]);
	return s->words;
}

static size_t read_size(const struct perf_layout *l, const struct bytes *b)
{
	u64 fmt = l->read_format;
	size_t each = 8 + (fmt & PERF_FORMAT_ID ? 8 : 0) + (fmt & PERF_FORMAT_LOST ? 8 : 0);
	size_t times = (fmt & PERF_FORMAT_TOTAL_TIME_ENABLED ? 8 : 0) +
		       (fmt & PERF_FORMAT_TOTAL_TIME_RUNNING ? 8 : 0);
	if (!(fmt & PERF_FORMAT_GROUP))
		return each + times;
	struct bytes peek = *b;
	u64 nr = bytes_u64(&peek);
	if (nr > bytes_left(&peek) / each)
		return SIZE_MAX;
	return 8 + times + nr * each;
}

static void regs_decode(struct bytes *b, u64 mask, struct perf_regs *ret)
{
	ret->abi = bytes_u64(b);
	if (ret->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	ret->mask = mask;
	ret->nr = (u32)__builtin_popcountll(mask);
	ret->values = bytes_take(b, 8 * (size_t)ret->nr);
}

static void stack_decode(struct bytes *b, struct perf_sample_view *v)
{
	u64 size = bytes_u64(b);
	if (!size)
		return;
	v->stack = size <= bytes_left(b) ? bytes_take(b, size) : NULL;
	if (!v->stack) {
		b->bad = true;
		return;
	}
	u64 dyn = bytes_u64(b);
	v->stack_size = min(dyn, size);
}

/* What may follow the call chain. */
static const u64 in_tail = PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
			   PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT |
			   PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |
			   PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |
			   PERF_SAMPLE_CODE_PAGE_SIZE;

/* union perf_sample_weight: one number of three parts, whatever the byte order. */
static void weight_decode(struct bytes *b, struct perf_sample_view *v)
{
	u64 all = bytes_u64(b);
	v->weight = all & UINT32_MAX;
	v->ins_lat = (u16)(all >> 32);
	v->stage_cycles = (u16)(all >> 48);
}

static int tail_decode(const struct perf_layout *l, struct bytes *b, u32 size,
		       struct perf_sample_view *v)
{
	u64 type = l->sample_type;
	if (type & PERF_SAMPLE_RAW) {
		v->raw_size = bytes_u32(b);
		v->raw = bytes_take(b, v->raw_size);
		/* size and payload together fill whole words */
		size_t odd = (4 + (size_t)v->raw_size) % 8;
		if (odd && bytes_left(b) >= 8 - odd)
			bytes_skip(b, 8 - odd);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		u64 nr = bytes_u64(b);
		if (l->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			bytes_skip(b, 8);
		if (nr > bytes_left(b) / 24)
			return -EBADMSG;
		v->nr_branches = nr;
		v->branches = bytes_take(b, nr * 24);
		if (l->branch_sample_type &
		    (1ull << 19)) /* PERF_SAMPLE_BRANCH_COUNTERS: a word an entry */
			bytes_skip(b, nr * 8);
	}
	if (type & (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)) {
		v->regs_at = v->stack_end = size - (u32)bytes_left(b);
		if (type & PERF_SAMPLE_REGS_USER)
			regs_decode(b, l->regs_user, &v->user_regs);
		if (type & PERF_SAMPLE_STACK_USER)
			stack_decode(b, v);
		v->stack_end = size - (u32)bytes_left(b);
	}
	if (type & PERF_SAMPLE_WEIGHT)
		v->weight = bytes_u64(b);
	else if (type & PERF_SAMPLE_WEIGHT_STRUCT)
		weight_decode(b, v);
	if (type & PERF_SAMPLE_DATA_SRC)
		v->data_src = bytes_u64(b);
	if (type & PERF_SAMPLE_TRANSACTION)
		v->transaction = bytes_u64(b);
	if (type & PERF_SAMPLE_REGS_INTR)
		regs_decode(b, l->regs_intr, &v->intr_regs);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		v->phys_addr = bytes_u64(b);
	if (type & PERF_SAMPLE_CGROUP)
		v->cgroup = bytes_u64(b);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		v->data_page = bytes_u64(b);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		v->code_page = bytes_u64(b);
	return b->bad ? -EBADMSG : 0;
}

static inline void words_decode(u64 type, const u8 *at, bool swap, struct perf_sample_view *v)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		v->id = next_word(&at, swap);
	if (type & PERF_SAMPLE_IP)
		v->ip = next_word(&at, swap);
	if (type & PERF_SAMPLE_TID) {
		v->pid = next_half(&at, swap);
		v->tid = next_half(&at, swap);
	}
	if (type & PERF_SAMPLE_TIME) {
		v->time = next_word(&at, swap);
		v->has_time = true;
	}
	if (type & PERF_SAMPLE_ADDR)
		v->addr = next_word(&at, swap);
	if (type & PERF_SAMPLE_ID)
		v->id = next_word(&at, swap);
	if (type & PERF_SAMPLE_STREAM_ID)
		v->stream_id = next_word(&at, swap);
	if (type & PERF_SAMPLE_CPU) {
		v->cpu = next_half(&at, swap);
		at += 4;
	}
	if (type & PERF_SAMPLE_PERIOD)
		v->period = next_word(&at, swap);
}

int perf_sample_decode(const struct perf_layout *l, const u8 *rec, u16 size, bool swap,
		       struct perf_scratch *scratch, struct perf_sample_view *v)
{
	u64 type = l->sample_type;
	struct bytes b = bytes_of(rec + sizeof(struct perf_event_header),
				  size - sizeof(struct perf_event_header), swap);
	*v = (struct perf_sample_view){ .cpu = UINT32_MAX, .period = l->fixed_period };
	v->misc = perf_head(rec, swap).misc;
	const u8 *at = bytes_take(&b, 8 * (size_t)l->nr_words);
	if (!at)
		return -EBADMSG;
	words_decode(type, at, swap, v);
	if (type & PERF_SAMPLE_READ) {
		v->read_size = read_size(l, &b);
		v->read = bytes_take(&b, v->read_size);
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		v->chain_at = size - (u32)bytes_left(&b);
		u64 nr = bytes_u64(&b);
		if (nr > bytes_left(&b) / 8)
			return -EBADMSG;
		const void *chain = bytes_take(&b, nr * 8);
		v->nr_chain = nr;
		v->chain = words_of(chain, nr, swap, scratch);
		if (nr && !v->chain)
			return -ENOMEM;
	}
	if (type & in_tail)
		return tail_decode(l, &b, size, v);
	return b.bad ? -EBADMSG : 0;
}

size_t perf_sample_rechain(const u8 *rec, const struct perf_sample_view *v, const u64 *chain,
			   u32 nr_chain, u8 *to, size_t max)
{
	struct perf_event_header h = perf_head(rec, false);
	u32 chain_end = v->chain_at + 8 + 8 * (u32)v->nr_chain;
	u32 regs_at = v->regs_at ? v->regs_at : h.size,
	    stack_end = v->regs_at ? v->stack_end : h.size;
	size_t rest = v->chain_at + 8 + (regs_at - chain_end) + (h.size - stack_end);
	max = min(max, (size_t)UINT16_MAX & ~(size_t)7);
	if (rest > max)
		return 0;
	nr_chain = (u32)min((size_t)nr_chain, (max - rest) / 8);
	u64 nr = nr_chain;
	u8 *at = mempcpy(to, rec, v->chain_at);
	at = mempcpy(at, &nr, sizeof(nr));
	if (nr)
		at = mempcpy(at, chain, nr * 8);
	at = mempcpy(at, rec + chain_end, regs_at - chain_end);
	at = mempcpy(at, rec + stack_end, h.size - stack_end);
	h.size = (u16)(at - to);
	memcpy(to, &h, sizeof(h));
	return h.size;
}

/* {size, bytes, filled}: the size becomes that of what is filled. {0} is all there is of an empty one. */
size_t perf_sample_trim_stack(const u8 *rec, const struct perf_sample_view *v, u8 *to)
{
	struct perf_event_header h = perf_head(rec, false);
	u64 size = (v->stack_size + 7) & ~7ull;
	if (size > (u64)(rec + v->stack_end - v->stack) - sizeof(u64))
		return (size_t)((u8 *)mempcpy(to, rec, h.size) - to);
	u8 *at = mempcpy(to, rec, (size_t)(v->stack - sizeof(size) - rec));
	at = mempcpy(at, &size, sizeof(size));
	if (size) {
		at = mempcpy(at, v->stack, size);
		at = mempcpy(at, &v->stack_size, sizeof(v->stack_size));
	}
	at = mempcpy(at, rec + v->stack_end, h.size - v->stack_end);
	h.size = (u16)(at - to);
	memcpy(to, &h, sizeof(h));
	return h.size;
}
