#include "analysis/wakeups.h"

#include "analysis/event_pair.h"
#include "base/dict.h"

#include <errno.h>
#include <stdlib.h>

enum { RT_PRIO = 100 }; /* below: real-time */

struct latency {
	u64 nr, total_ns;
	u64 max_ns, max_at_ns;
	u64 min_ns, min_at_ns;
};

struct waited {
	u64 time_ns, ns;
	s32 cpu;
	u32 buffer;
};

struct wakeups {
	struct latency all, rt;
	struct dict found; /* hash of time, CPU and buffer -> index */
	VEC(struct waited) waits;
	bool (*keep)(void *ctx, const struct sample *s);
	void *ctx;
	struct event_pair *pairs;
};

/* clang-format off */
static const struct event_pair_rule rules[] = {
	{ .start_event = "sched_wakeup", .end_event = "sched_switch", .start_keys = { "pid" }, .end_keys = { "next_pid" }, .if_field = "success" },
	{ .start_event = "sched_wakeup_new", .end_event = "sched_switch", .start_keys = { "pid" }, .end_keys = { "next_pid" }, .if_field = "success" },
};
/* clang-format on */

static u64 key_of(u64 time_ns, s32 cpu, u32 buffer, u64 seed)
{
	return hash_words((const u64[]){ time_ns, (u64)(u32)cpu << 32 | buffer }, 2, seed);
}

static const struct waited *find(const struct wakeups *w, u64 time_ns, s32 cpu, u32 buffer,
				 u64 *seed)
{
	for (*seed = hash_seed();; ++*seed) {
		u32 index = dict_get(&w->found, key_of(time_ns, cpu, buffer, *seed));
		if (index == DICT_NONE)
			return NULL;
		const struct waited *at = &w->waits.at[index];
		if (at->time_ns == time_ns && at->cpu == cpu && at->buffer == buffer)
			return at;
	}
}

static void add(struct latency *l, u64 ns, u64 at_ns)
{
	if (!l->nr || ns > l->max_ns) {
		l->max_ns = ns;
		l->max_at_ns = at_ns;
	}
	if (!l->nr || ns < l->min_ns) {
		l->min_ns = ns;
		l->min_at_ns = at_ns;
	}
	l->nr++;
	l->total_ns += ns;
}

static int on_match(void *ctx, const struct event_pair_match *m)
{
	struct wakeups *w = ctx;
	const struct event_at *e = &m->end;
	u64 ns = u64_less(e->time_ns, m->start.time_ns), seed, prio;
	u32 index;
	if (find(w, e->time_ns, e->cpu, e->buffer, &seed))
		return 0;
	struct waited *slot = w->waits.nr < DICT_NONE ? vec_push(&w->waits) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = (struct waited){ .time_ns = e->time_ns, .ns = ns, .cpu = e->cpu, .buffer = e->buffer };
	int err = dict_add(&w->found, key_of(e->time_ns, e->cpu, e->buffer, seed),
			   (u32)w->waits.nr - 1, &index);
	add(&w->all, ns, e->time_ns);
	if (event_at_u64(&m->start, "prio", &prio) && prio < RT_PRIO)
		add(&w->rt, ns, e->time_ns);
	return err;
}

static bool wanted(void *ctx, const struct sample *s)
{
	const struct wakeups *w = ctx;
	return w->keep(w->ctx, s);
}

struct wakeups *wakeups_new(bool (*keep)(void *ctx, const struct sample *s), void *ctx)
{
	struct wakeups *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	dict_init(&w->found);
	w->keep = keep;
	w->ctx = ctx;
	w->pairs = event_pair_new(&(struct event_pair_opts){
		.rules = rules,
		.nr_rules = ARRAY_SIZE(rules),
		.over_gaps = true,
		.ctx = w,
		.match = on_match,
		.keep = keep ? wanted : NULL,
	});
	if (w->pairs)
		return w;
	wakeups_free(w);
	return NULL;
}

struct sink *wakeups_sink(struct wakeups *w)
{
	return event_pair_sink(w->pairs);
}

void wakeups_free(struct wakeups *w)
{
	if (!w)
		return;
	event_pair_free(w->pairs);
	dict_done(&w->found);
	vec_free(&w->waits);
	free(w);
}

bool wakeups_waited(const struct wakeups *w, const struct sample *s, u64 *ret_ns)
{
	u64 seed;
	const struct waited *at = find(w, s->time_ns, s->cpu, s->buffer, &seed);
	if (at)
		*ret_ns = at->ns;
	return at != NULL;
}

static void one_end(struct strbuf *to, const char *name, u64 ns, u64 at_ns)
{
	strbuf_printf(to, "%s Latency: %llu.%03llu usecs at timestamp: %llu.%06llu\n", name,
		      (unsigned long long)(ns / 1000), (unsigned long long)(ns % 1000),
		      (unsigned long long)((at_ns + 500) / 1000000000),
		      (unsigned long long)((at_ns + 500) / 1000 % 1000000));
}

static void text(const struct latency *l, struct strbuf *to)
{
	u64 mean = l->total_ns / l->nr;
	strbuf_printf(to, "\nAverage wakeup latency: %llu.%03llu usecs\n",
		      (unsigned long long)(mean / 1000), (unsigned long long)(mean % 1000));
	one_end(to, "Maximum", l->max_ns, l->max_at_ns);
	one_end(to, "Minimum", l->min_ns, l->min_at_ns);
	strbuf_char(to, '\n');
}

void wakeups_text(const struct wakeups *w, struct strbuf *to)
{
	if (w->all.nr)
		text(&w->all, to);
	if (w->rt.nr) {
		strbuf_str(to, "RT task timings:\n");
		text(&w->rt, to);
	}
}
