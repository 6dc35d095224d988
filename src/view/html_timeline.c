#include "view/html_timeline.h"
#include "view/page.h"

#include <string.h>

struct timeline_page {
	const struct timeline *t;
	struct strbuf blob;
};

enum { FLAGS_AT = 2 };

static void put(struct timeline_page *h, u64 v)
{
	strbuf_leb128(&h->blob, v);
}

static void put_text(struct timeline_page *h, const char *s)
{
	size_t len = strlen(s);
	put(h, len);
	strbuf_add(&h->blob, s, len);
}

static void put_family(struct timeline_page *h, s32 pid)
{
	char text[NUM_DIGITS_MAX + 1];
	text[num_u64(text, (u32)pid)] = 0;
	put_text(h, "family");
	put_text(h, text);
}

static void put_facts(struct timeline_page *h, s32 family)
{
	const struct {
		const char *key;
		u32 value;
	} facts[] = { { "host", h->t->host },
		      { "release", h->t->release },
		      { "arch", h->t->arch },
		      { "cpu", h->t->cpu },
		      { "command", h->t->command } };
	u32 nr = 0;
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		nr += facts[i].value > 0;
	put(h, nr + (family > 0));
	if (family > 0)
		put_family(h, family);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		if (!facts[i].value)
			continue;
		put_text(h, facts[i].key);
		put_text(h, strtab_str(&h->t->strings, facts[i].value));
	}
}

static void put_names(struct timeline_page *h)
{
	/* Without a string, the table has not even the empty one. */
	put(h, max(h->t->strings.nr, 1u));
	for (u32 i = 0; i < max(h->t->strings.nr, 1u); i++)
		put_text(h, strtab_str(&h->t->strings, i));
	put(h, h->t->tracks.nr);
	vec_for_each (&h->t->tracks, k) {
		put(h, (u32)k->tid);
		put(h, (u32)max(k->pid, 0));
		put(h, (u32)max(k->parent, -1) + 1u);
		put(h, k->comm);
		put(h, (u32)max(k->cpu, 0));
	}
}

static void put_head(struct timeline_page *h, unsigned state, unsigned flags, u64 ns)
{
	put(h, state | flags << FLAGS_AT);
	put(h, ns);
}

static void put_slice(struct timeline_page *h, const struct timeline_slice *s, u64 *end)
{
	u64 from = max(s->from_ns, *end), to = max(s->to_ns, from);
	if (from > *end)
		put_head(h, TIMELINE_UNKNOWN, 0, from - *end);
	put_head(h, s->state, s->flags, to - from);
	*end = to;
	if (s->state == TIMELINE_RUNNING || s->state == TIMELINE_READY) {
		put(h, (u32)max(s->cpu, 0));
	} else if (s->state == TIMELINE_BLOCKED) {
		put(h, (u8)s->letter);
		put(h, (u32)(s->cause + 1));
		put(h, s->where);
	}
}

/* Times of which nothing is known become slices. */
static u64 nr_with_holes(const struct timeline *t, const struct timeline_track *k)
{
	u64 nr = k->nr_slices, end = k->nr_slices ? t->slices.at[k->first_slice].from_ns : 0;
	for (u64 i = 0; i < k->nr_slices; i++) {
		const struct timeline_slice *s = &t->slices.at[k->first_slice + i];
		nr += s->from_ns > end;
		end = max(end, s->to_ns);
	}
	return nr;
}

static void put_slices(struct timeline_page *h)
{
	u64 all = 0;
	vec_for_each (&h->t->tracks, k)
		all += nr_with_holes(h->t, k);
	put(h, all);
	vec_for_each (&h->t->tracks, k) {
		u64 end = k->nr_slices ? h->t->slices.at[k->first_slice].from_ns : 0;
		put(h, nr_with_holes(h->t, k));
		put(h, u64_less(end, h->t->first_ns));
		for (u64 i = 0; i < k->nr_slices; i++)
			put_slice(h, &h->t->slices.at[k->first_slice + i], &end);
	}
}

static void put_instants(struct timeline_page *h)
{
	put(h, h->t->instants.nr);
	vec_for_each (&h->t->tracks, k) {
		u64 last = h->t->first_ns;
		put(h, k->nr_instants);
		for (u64 i = 0; i < k->nr_instants; i++) {
			const struct timeline_instant *n = &h->t->instants.at[k->first_instant + i];
			put(h, u64_less(n->time_ns, last));
			put(h, (u32)max(n->cpu, 0));
			put(h, n->event);
			put(h, n->where);
			last = max(last, n->time_ns);
		}
	}
}

static void put_gaps(struct timeline_page *h)
{
	put(h, h->t->gaps.nr);
	vec_for_each (&h->t->gaps, g) {
		put(h, (u32)max(g->cpu, 0));
		put(h, u64_less(g->from_ns, h->t->first_ns));
		put(h, u64_less(g->to_ns, g->from_ns));
		put(h, (u32)(g->nr + 1));
	}
}

int html_timeline(const struct timeline *t, const struct html_timeline_opts *o, struct strbuf *to)
{
	struct timeline_page h = { .t = t };
	strbuf_init(&h.blob);
	strbuf_str(&h.blob, "STL1");
	put(&h, t->first_ns);
	put(&h, u64_less(t->last_ns, t->first_ns));
	put(&h, t->nr_cpus);
	put(&h, t->nr_switches);
	put(&h, t->nr_wakes);
	put(&h, t->nr_lost);
	put(&h, (u32)max(o->pid, 0));
	put_facts(&h, o->family);
	put_names(&h);
	put_slices(&h);
	put_instants(&h);
	put_gaps(&h);
	int err = h.blob.err;
	if (!err) {
		page_put(page_timeline, o->title, &h.blob, to);
		err = to->err;
	}
	strbuf_done(&h.blob);
	return err;
}
