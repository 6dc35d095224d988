/*
 * Blocks for the workers: those the first pass has cut, pieces that are copied after where it ended early, and records of
 * compressed files, where workers take turns at the decompressor.
 */
#include "stream/replay_perf_impl.h"

#include <errno.h>
#include <string.h>

/* Others look at those that there are: they must not move. */
int replay_perf_expect_pieces(struct perf_replay *r)
{
	sequencer_done(&r->pieces);
	sequencer_init(&r->pieces);
	r->nr_pieces = 0;
	r->piece_at = r->walked;
	size_t left = r->file.data_end - r->walked;
	size_t pieces = left / (PIECE_BYTES - RECORD_MAX) + 2;
	return vec_reserve(&r->blocks, r->blocks.nr + pieces) ? 0 : -ENOMEM;
}

/* The next compressed record into the decompressor: 1, or 0 at the end. */
static int inflate_next(struct perf_replay *r)
{
	struct perf_event_header h;
	const u8 *rec, *end = r->file.map + perfdata_range(&r->file, r->inflate_range).end;
	while (perfdata_record(&r->file, &r->inflate_at, end, &rec, &h) > 0)
		if (h.type == REC_COMPRESSED || h.type == REC_COMPRESSED2)
			return perfdata_inflate_add(r->inflate, rec, &h, r->file.swap) ? 0 : 1;
	return 0;
}

/* Decompresses until there is a block's worth of records, or no more; the lock is held. */
static int inflate_more(struct perf_replay *r)
{
	size_t size = 0;
	while (!r->inflate_over) {
		(void)perfdata_inflate_data(r->inflate, &size);
		if (size >= BLOCK_BYTES)
			return 0;
		int got = perfdata_inflate_step(r->inflate);
		if (got == -ENOMEM)
			return got;
		if (got < 0 || (!got && !inflate_next(r)))
			r->inflate_over = true;
	}
	return 0;
}

/* Decompressed records of the files that are left: how many bytes, 0 at the end. */
static s64 inflate_some(struct perf_replay *r, const u8 **data)
{
	for (;;) {
		int err = inflate_more(r);
		if (err)
			return err;
		size_t size;
		*data = perfdata_inflate_data(r->inflate, &size);
		size_t whole = replay_perf_whole(r, *data, size);
		if (replay_perf_stuck(r, *data + whole, size - whole))
			r->inflate_over = true;
		if (whole)
			return (s64)whole;
		if (r->inflate_range + 1 >= perfdata_nr_ranges(&r->file))
			return 0;
		r->inflate_range++;
		r->inflate_at = r->file.map + perfdata_range(&r->file, r->inflate_range).at;
		r->inflate_over = false;
		perfdata_inflate_reset(r->inflate);
	}
}

static int room_for_copy(struct replay_perf_reader *rd, size_t size)
{
	if (size <= rd->copy_cap)
		return 0;
	u8 *copy = realloc(rd->copy, size);
	if (!copy)
		return -ENOMEM;
	rd->copy = copy;
	rd->copy_cap = size;
	return 0;
}

static int take_inflated(struct perf_replay *r, struct replay_perf_reader *rd, u64 *seq)
{
	const u8 *data;
	s64 got = inflate_some(r, &data);
	if (got <= 0)
		return (int)got;
	size_t size = (size_t)got;
	int err = room_for_copy(rd, size);
	if (err)
		return err;
	memcpy(rd->copy, data, size);
	perfdata_inflate_drop(r->inflate, size);
	rd->now = (struct replay_perf_block){ .at = rd->copy, .end = rd->copy + size };
	rd->time0 = r->inflate_time;
	r->inflate_time += size;
	*seq = r->blocks.nr + r->inflate_seq++;
	return 1;
}

/* A piece of the file that a worker has copied, with a little of what follows it. */
struct piece {
	u64 place;
	size_t size; /* records that begin in these bytes are this piece's */
	size_t have; /* bytes that were copied */
	u64 number;
};

/* The next one, still to be copied. 1, 0: none is left, or negative errno. */
static int next_piece(struct perf_replay *r, struct piece *ret)
{
	enum { BEHIND = 4096 }; /* most records that begin in a piece end there */
	pthread_mutex_lock(&r->lock);
	u64 left = r->file.data_end - r->piece_at;
	int got = r->surprised ? -EAGAIN : left > 0;
	if (got > 0) {
		*ret = (struct piece){ .place = r->piece_at,
				       .size = min(left, (u64)PIECE_BYTES),
				       .have = min(left, (u64)PIECE_BYTES + BEHIND),
				       .number = r->nr_pieces++ };
		r->piece_at += ret->size;
	}
	if (!got && r->walked == r->file.data_end)
		r->whole = true;
	pthread_mutex_unlock(&r->lock);
	return got;
}

/* Its last record is longer than what was copied: the rest of it, too. False: there is no more. */
static bool copy_more(const struct perf_replay *r, u8 *copy, struct piece *p, const u8 *at)
{
	size_t most = min(r->file.data_end - p->place, (u64)PIECE_BYTES + RECORD_MAX);
	size_t have = min((size_t)(at - copy) + RECORD_MAX, most);
	if (have <= p->have ||
	    perfdata_copy(&r->file, p->place + p->have, have - p->have, copy + p->have))
		return false;
	p->have = have;
	return true;
}

/*
 * The records that begin in a copied piece, of which the first begins at `from`; returns how far they go. Nothing that others look at may
 * change: the first that would is left there.
 */
static size_t walk_piece(struct perf_replay *r, u8 *copy, struct piece *p, size_t from)
{
	const u8 *at = copy + from, *rec;
	struct perf_event_header h;
	u64 nr_samples = 0;
	while (at < copy + p->size) {
		if (unlikely(perfdata_record(&r->file, &at, copy + p->have, &rec, &h) <= 0)) {
			if (copy_more(r, copy, p, at))
				continue;
			r->surprised = true;
			break;
		}
		if (likely(h.type == PERF_RECORD_SAMPLE)) {
			nr_samples++;
		} else if (replay_perf_changes(h.type) ||
			   replay_perf_head(r, rec, &h, p->place + (u64)(rec - copy))) {
			r->surprised = true;
			at = rec;
			break;
		}
	}
	r->stats.nr_records += nr_samples;
	r->stats.nr_by_type[PERF_RECORD_SAMPLE] += nr_samples;
	return (size_t)(at - copy);
}

/* When all pieces before it were cut: where its first record begins is known then. What is damaged is a surprise as well. */
static int cut_piece(struct perf_replay *r, struct replay_perf_reader *rd, struct piece *p,
		     bool copied, u64 *seq)
{
	pthread_mutex_lock(&r->lock);
	u64 place = r->walked;
	size_t from = (size_t)(place - p->place);
	size_t to = copied ? walk_piece(r, rd->copy, p, from) : from;
	r->surprised |= !copied;
	const u8 *mapped = r->file.map + place;
	int err = replay_perf_add_block(r, mapped, mapped + (to - from));
	r->walked += to - from;
	if (!err && r->surprised)
		err = -EAGAIN;
	*seq = r->blocks.nr - 1;
	r->whole = !err && r->walked == r->file.data_end;
	pthread_mutex_unlock(&r->lock);
	rd->now = (struct replay_perf_block){ .at = rd->copy + from, .end = rd->copy + to };
	rd->time0 = place;
	return err ? err : to > from; /* 0: the last piece, of which all belongs to the one before */
}

/* A piece after what the first pass has read. Workers copy at the same time, and cut one after the other. */
static int take_piece(struct perf_replay *r, struct replay_perf_reader *rd, u64 *seq)
{
	struct piece p;
	int got = room_for_copy(rd, PIECE_BYTES + RECORD_MAX);
	if (!got)
		got = next_piece(r, &p);
	if (got <= 0)
		return got;
	bool copied = !perfdata_copy(&r->file, p.place, p.have, rd->copy);
	if (!sequencer_wait(&r->pieces, p.number))
		return -EAGAIN;
	got = cut_piece(r, rd, &p, copied, seq);
	sequencer_end(&r->pieces, got < 0);
	return got;
}

enum {
	MEMORY_ALWAYS = 48 << 20,
	MEMORY_A_BYTE = 16,
	FRAME_COSTS = 1 << 10, /* a name and a row */
	ADDING_UP = 4, /* a fourth of the tables again */
};

/*
 * Samples whose stacks are all different leave most of what they unpack to in tables. A program has only so many places in its code, so that a
 * recording of one, however well it compresses, keeps some 10 bytes for each of the file's; places that are all different as well
 * cost far more than that when they are named. Both are estimated before they are there.
 */
void replay_perf_limit_memory(struct perf_replay *r)
{
	r->memory_before = budget_memory_used();
	r->memory_most = MEMORY_ALWAYS + min(r->file.budget.size, (u64)1 << 50) * MEMORY_A_BYTE;
}

static int check_memory(struct perf_replay *r, const struct shard *sh)
{
	u64 tables = u64_less(budget_memory_used(), r->memory_before);
	bool printed = r->needs & (NEED_FRAMES | NEED_PLACES); /* one by one, without rows */
	u64 later = tables / ADDING_UP + (printed ? 0 : (u64)sh->frames.nr * FRAME_COSTS);
	if (!r->memory_before || tables + later <= r->memory_most)
		return 0;
	pthread_mutex_lock(&r->lock);
	(void)budget_bytes(&r->file.budget, UINT64_MAX, "what the recording unpacks to");
	pthread_mutex_unlock(&r->lock);
	return -E2BIG;
}

int replay_perf_next_block(struct source *s, struct shard *sh, u64 *seq)
{
	struct perf_replay *r = replay_of(s);
	struct replay_perf_reader *rd = sh->impl;
	size_t index = atomic_fetch_add(&r->next, 1);
	int err = r->file.compressed ? check_memory(r, sh) : 0;
	if (err)
		return err;
	if (r->spool_mapped && index % SPOOL_BLOCKS == 0)
		replay_perf_rest_spool(r);
	if (r->needs & NEED_ORDER) {
		size_t end = r->stamps.nr - r->stamps_after;
		rd->stamp = min(index * STAMPS_A_BLOCK, end);
		rd->stamp_end = min(rd->stamp + STAMPS_A_BLOCK, end);
		*seq = index;
		return rd->stamp < rd->stamp_end;
	}
	if (index < r->nr_cut) {
		rd->now = r->blocks.at[index];
		rd->time0 = (u64)(rd->now.at - r->file.map);
		*seq = index;
		return 1;
	}
	if (r->early)
		return take_piece(r, rd, seq);
	pthread_mutex_lock(&r->lock);
	int got = r->file.compressed ? take_inflated(r, rd, seq) : 0;
	pthread_mutex_unlock(&r->lock);
	return got;
}
