/*
 * Records that say how many others were lost (PERF_RECORD_LOST) stand in the ring of a CPU, where the next record that fitted follows them. So
 * the sample that comes next on that CPU is the one before which something is missing.
 */
#include "stream/replay_perf_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_losses(const void *pa, const void *pb)
{
	const struct perf_loss *a = pa, *b = pb;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* The first sample that is not earlier. */
static size_t stamp_from(const struct perf_replay *r, size_t from, u64 time)
{
	size_t low = from, high = r->stamps.nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (r->stamps.at[middle].time < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* false: it does not say. */
static bool cpu_at(struct perf_replay *r, u64 place, struct perf_scratch *scratch, u32 *cpu)
{
	const struct perfdata *f = &r->file;
	const u8 *rec = replay_perf_at(r, place);
	struct perf_event_header h = perf_head(rec, f->swap);
	struct perf_sample_view view;
	u64 all = f->map_size + r->spool.nr;
	if (h.type != PERF_RECORD_SAMPLE || h.size < sizeof(h) ||
	    h.size > (place < f->map_size ? f->map_size : all) - place)
		return false;
	u64 id = f->attrs.nr > 1 ? perf_sample_id(&f->attrs.at[0].layout, rec, h.size, f->swap) : 0;
	const struct perfdata_attr *a = perfdata_attr_of(f, id);
	if (!a || !(a->attr.sample_type & PERF_SAMPLE_CPU) ||
	    perf_sample_decode(&a->layout, rec, h.size, f->swap, scratch, &view))
		return false;
	*cpu = view.cpu;
	return true;
}

/* Losses that no sample came after yet: [cpu] -> how many, and how many CPUs have some. */
struct waiting {
	struct dict of;
	u32 nr;
};

static int add_waiting(struct waiting *w, const struct perf_loss *l)
{
	u32 known = dict_get(&w->of, l->cpu);
	w->nr += known == DICT_NONE;
	u64 sum = (u64)l->nr + (known == DICT_NONE ? 0 : known);
	return dict_put(&w->of, l->cpu, (u32)min(sum, (u64)DICT_NONE - 1));
}

/* One walk over the samples from the first loss on, which leaves out stretches where nothing is waiting. */
static int walk_stamps(struct perf_replay *r, struct waiting *w, struct perf_scratch *scratch)
{
	size_t next = 0, at = 0;
	int err = 0;
	while (!err && (w->nr || next < r->losses.nr)) {
		if (!w->nr)
			at = stamp_from(r, at, r->losses.at[next].time);
		if (at >= r->stamps.nr)
			break;
		const struct stamp *st = &r->stamps.at[at++];
		while (!err && next < r->losses.nr && r->losses.at[next].time <= st->time)
			err = add_waiting(w, &r->losses.at[next++]);
		u32 cpu;
		if (err || !w->nr || !cpu_at(r, st->place, scratch, &cpu))
			continue;
		u32 missed = dict_remove(&w->of, cpu);
		if (missed != DICT_NONE) {
			w->nr--;
			err = dict_put(&r->missed_at, st->place, missed);
		}
	}
	/* What comes after the last sample waits for the next round, or for ever. */
	size_t left = r->losses.nr - next;
	if (left && next)
		memmove(r->losses.at, r->losses.at + next, left * sizeof(*r->losses.at));
	r->losses.nr = left;
	return err;
}

int replay_perf_find_gaps(struct perf_replay *r)
{
	struct waiting w = { 0 };
	struct perf_scratch scratch = { 0 };
	dict_init(&w.of);
	qsort(r->losses.at, r->losses.nr, sizeof(*r->losses.at), compare_losses);
	int err = walk_stamps(r, &w, &scratch);
	perf_scratch_done(&scratch);
	dict_done(&w.of);
	return err;
}
