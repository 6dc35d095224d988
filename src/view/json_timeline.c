#include "view/json_timeline.h"

#include "base/json.h"

static const char *str(const struct timeline *t, u32 id)
{
	return strtab_str(&t->strings, id);
}

static void put_known(struct json *j, const struct timeline *t, const char *key, u32 id)
{
	if (id)
		json_put_str(j, key, str(t, id));
}

static void put_flags(struct json *j, const struct timeline_slice *s)
{
	static const struct {
		u8 flag;
		const char *key;
	} names[] = { { TIMELINE_LOSSY, "lossy" },
		      { TIMELINE_SINCE_BEFORE, "since_before" },
		      { TIMELINE_UNTIL_END, "until_end" },
		      { TIMELINE_PREEMPTED, "preempted" },
		      { TIMELINE_BY_IRQ, "by_interrupt" } };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (s->flags & names[i].flag)
			json_put_bool(j, names[i].key, true);
}

static void put_slice(struct json *j, const struct timeline *t, const struct timeline_slice *s)
{
	char letter[2] = { s->letter };
	json_object(j);
	json_put_str(j, "state", timeline_state_name(s->state));
	json_put_u64(j, "from_ns", s->from_ns);
	json_put_u64(j, "to_ns", s->to_ns);
	if (s->state == TIMELINE_RUNNING || s->state == TIMELINE_READY)
		json_put_s64(j, "cpu", s->cpu);
	if (s->letter)
		json_put_str(j, "letter", letter);
	put_known(j, t, "where", s->where);
	if (s->cause < t->tracks.nr) {
		json_key(j, "woken_by");
		json_object(j);
		json_put_str(j, "comm", str(t, t->tracks.at[s->cause].comm));
		json_put_s64(j, "tid", t->tracks.at[s->cause].tid);
		json_object_end(j);
	}
	put_flags(j, s);
	json_object_end(j);
}

static void put_track(struct json *j, const struct timeline *t, const struct timeline_track *k)
{
	json_object(j);
	json_put_str(j, "comm", str(t, k->comm));
	json_put_s64(j, "tid", k->tid);
	if (k->pid > 0)
		json_put_s64(j, "pid", k->pid);
	if (k->parent >= 0)
		json_put_s64(j, "parent", k->parent);
	json_put_u64(j, "running_ns", k->ns[TIMELINE_RUNNING]);
	json_put_u64(j, "ready_ns", k->ns[TIMELINE_READY]);
	json_put_u64(j, "blocked_ns", k->ns[TIMELINE_BLOCKED]);
	json_put_u64(j, "unknown_ns", k->ns[TIMELINE_UNKNOWN]);
	json_key(j, "slices");
	json_array(j);
	for (u64 i = 0; i < k->nr_slices; i++)
		put_slice(j, t, &t->slices.at[k->first_slice + i]);
	json_array_end(j);
	json_key(j, "instants");
	json_array(j);
	for (u64 i = 0; i < k->nr_instants; i++) {
		const struct timeline_instant *n = &t->instants.at[k->first_instant + i];
		json_object(j);
		json_put_u64(j, "time_ns", n->time_ns);
		json_put_s64(j, "cpu", n->cpu);
		json_put_str(j, "event", str(t, n->event));
		put_known(j, t, "where", n->where);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void put_gaps(struct json *j, const struct timeline *t)
{
	json_key(j, "gaps");
	json_array(j);
	vec_for_each (&t->gaps, g) {
		json_object(j);
		json_put_s64(j, "cpu", g->cpu);
		json_put_u64(j, "from_ns", g->from_ns);
		json_put_u64(j, "to_ns", g->to_ns);
		if (g->nr != UINT32_MAX)
			json_put_u64(j, "events", g->nr);
		json_object_end(j);
	}
	json_array_end(j);
}

int json_timeline(const struct timeline *t, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	put_known(&j, t, "host", t->host);
	put_known(&j, t, "release", t->release);
	put_known(&j, t, "command", t->command);
	json_put_u64(&j, "first_ns", t->first_ns);
	json_put_u64(&j, "last_ns", t->last_ns);
	json_put_u64(&j, "cpus", t->nr_cpus);
	json_put_u64(&j, "switches", t->nr_switches);
	json_put_u64(&j, "wakeups", t->nr_wakes);
	json_put_u64(&j, "lost", t->nr_lost);
	put_gaps(&j, t);
	json_key(&j, "tracks");
	json_array(&j);
	vec_for_each (&t->tracks, k)
		if (k->tid)
			put_track(&j, t, k);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}
