#include "model/timeline.h"

#include <errno.h>
#include <string.h>

void timeline_init(struct timeline *t)
{
	*t = (struct timeline){ 0 };
	strtab_init(&t->strings);
}

void timeline_done(struct timeline *t)
{
	strtab_done(&t->strings);
	vec_free(&t->tracks);
	vec_free(&t->slices);
	vec_free(&t->instants);
	vec_free(&t->gaps);
}

const char *timeline_state_name(unsigned state)
{
	static const char *const names[] = { [TIMELINE_UNKNOWN] = "unknown",
					     [TIMELINE_RUNNING] = "running",
					     [TIMELINE_READY] = "ready",
					     [TIMELINE_BLOCKED] = "blocked" };
	return state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

static int sort_slices(struct timeline *t)
{
	struct timeline_slice *sorted = malloc((t->slices.nr + 1) * sizeof(*sorted));
	u64 at = 0;
	if (!sorted)
		return -ENOMEM;
	vec_for_each (&t->slices, s) {
		struct timeline_track *k = &t->tracks.at[s->track];
		k->nr_slices++;
		k->ns[s->state] += s->to_ns - s->from_ns;
	}
	vec_for_each (&t->tracks, k) {
		k->first_slice = at;
		at += k->nr_slices;
		k->nr_slices = 0;
	}
	vec_for_each (&t->slices, s) {
		struct timeline_track *k = &t->tracks.at[s->track];
		sorted[k->first_slice + k->nr_slices++] = *s;
	}
	free(t->slices.at);
	t->slices.at = sorted;
	t->slices.cap = t->slices.nr + 1;
	return 0;
}

static int sort_instants(struct timeline *t)
{
	struct timeline_instant *sorted = malloc((t->instants.nr + 1) * sizeof(*sorted));
	u64 at = 0;
	if (!sorted)
		return -ENOMEM;
	vec_for_each (&t->instants, i)
		t->tracks.at[i->track].nr_instants++;
	vec_for_each (&t->tracks, k) {
		k->first_instant = at;
		at += k->nr_instants;
		k->nr_instants = 0;
	}
	vec_for_each (&t->instants, i) {
		struct timeline_track *k = &t->tracks.at[i->track];
		sorted[k->first_instant + k->nr_instants++] = *i;
	}
	free(t->instants.at);
	t->instants.at = sorted;
	t->instants.cap = t->instants.nr + 1;
	return 0;
}

int timeline_sort(struct timeline *t)
{
	int err = sort_slices(t);
	return err ? err : sort_instants(t);
}
