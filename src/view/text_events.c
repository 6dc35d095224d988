#include "view/text_events.h"

#include "view/json_fields.h"
#include "view/text_events_impl.h"

#include <errno.h>
#include <string.h>

static struct text_events *te_of(const struct sink *k)
{
	return container_of(k, struct text_events, sink);
}

/* ---- looks ---- */

static bool in_ftrace(const struct schema *s, const char *name)
{
	return !strcmp(s->system, "ftrace") && !strcmp(s->name, name);
}

static bool find_fields(struct event_look *look, const char *a, const char *b, const char *c,
			const char *d)
{
	const char *names[] = { a, b, c, d };
	for (unsigned i = 0; i < ARRAY_SIZE(names) && names[i]; i++) {
		look->fields[i] = schema_find(look->schema, names[i]);
		if (!look->fields[i])
			return false;
	}
	return true;
}

/* The nearest to the event itself: files that are merged have their own each, one after the other. */
static void find_partner(const struct text_events *te, struct event_look *look, u32 event,
			 const char *name)
{
	size_t nearest = SIZE_MAX;
	for (size_t i = 0; i < te->o.catalog->events.nr; i++) {
		const struct event_info *e = &te->o.catalog->events.at[i];
		size_t distance = i > event ? i - event : event - i;
		if (distance >= nearest || strcmp(e->name, name))
			continue;
		const struct schema *s = te->o.schema_of(te->o.ctx, (u32)i);
		if (!s || strcmp(s->system, "ftrace"))
			continue;
		nearest = distance;
		look->partner_func = schema_find(s, "func");
		look->partner_call = schema_find(s, "calltime");
		look->partner_ret = schema_find(s, "rettime");
		look->partner = look->partner_func ? s : NULL;
	}
}

static enum text_event_kind kind_of(const struct text_events *te, struct event_look *look, u32 event)
{
	const struct schema *s = look->schema;
	bool plain = te->o.plain || (te->o.plain_events && te->o.plain_events[event]);
	if (plain || look->raw || te->o.form == TEXT_EVENTS_JSON)
		return KIND_PRINT;
	if (in_ftrace(s, "function") && find_fields(look, "ip", "parent_ip", NULL, NULL))
		return KIND_FUNCTION;
	if (in_ftrace(s, "funcgraph_entry") && find_fields(look, "func", "depth", NULL, NULL)) {
		find_partner(te, look, event, "funcgraph_exit");
		return KIND_GRAPH_ENTRY;
	}
	if (in_ftrace(s, "funcgraph_exit") &&
	    find_fields(look, "func", "depth", "calltime", "rettime")) {
		find_partner(te, look, event, "funcgraph_entry");
		return KIND_GRAPH_EXIT;
	}
	if (in_ftrace(s, "kernel_stack") && find_fields(look, "caller", NULL, NULL, NULL))
		return KIND_STACK;
	if (strcmp(s->system, "sched"))
		return KIND_PRINT;
	if (!strcmp(s->name, "sched_switch") &&
	    find_fields(look, "prev_comm", "prev_pid", "next_comm", "next_pid"))
		return KIND_SWITCH;
	if ((!strcmp(s->name, "sched_wakeup") || !strcmp(s->name, "sched_wakeup_new")) &&
	    find_fields(look, "comm", "pid", NULL, NULL))
		return KIND_WAKEUP;
	return KIND_PRINT;
}

static struct event_look *make_look(struct text_shard *sh, const struct sample *s)
{
	struct event_look *look = calloc(1, sizeof(*look));
	if (!look)
		return NULL;
	struct strbuf label;
	strbuf_init(&label);
	strbuf_str(&label, s->schema->name);
	strbuf_char(&label, ':');
	while (label.len < LABEL_WIDTH && !label.err)
		strbuf_char(&label, ' ');
	strbuf_char(&label, ' ');
	look->label_len = (u32)label.len;
	while (label.len < LABEL_MAX && !label.err)
		strbuf_char(&label, ' ');
	look->label = strbuf_steal(&label);
	if (!look->label) {
		free(look);
		return NULL;
	}
	const struct text_events_opts *o = &sh->te->o;
	look->copied = look->label_len <= LABEL_MAX && !o->between && !o->latency && !o->diff;
	look->schema = s->schema;
	look->raw = sh->te->o.raw_fields || (sh->te->o.raw_events && sh->te->o.raw_events[s->event]);
	look->kind = kind_of(sh->te, look, s->event);
	if (o->form == TEXT_EVENTS_JSON && json_fields_before(look->schema, &look->before)) {
		free(look->label);
		free(look);
		return NULL;
	}
	sh->looks[s->event] = look;
	return look;
}

/* ---- the sink ---- */

static bool is_stack(const struct sample *s)
{
	return s->schema && !strcmp(s->schema->system, "ftrace") &&
	       (!strcmp(s->schema->name, "kernel_stack") || !strcmp(s->schema->name, "user_stack"));
}

/* A stack belongs to the event before it on the same CPU, and follows it; so does a user's stack the kernel's. */
static bool is_kept(struct text_shard *sh, const struct sample *s)
{
	const struct text_events_opts *o = &sh->te->o;
	const void **last = &sh->kept_stacks[(u32)s->cpu % ARRAY_SIZE(sh->kept_stacks)];
	if (!is_stack(s))
		return o->keep(o->ctx, s);
	bool kept = o->keep(o->ctx, s) || (s->prev_raw && s->prev_raw == *last) ||
		    (o->keep_before && o->keep_before(o->ctx, s));
	if (kept)
		*last = s->raw;
	return kept;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct text_shard *sh = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		struct event_look *look = NULL;
		if (unlikely(sh->te->o.keep && !is_kept(sh, s)))
			continue;
		if (likely(s->schema && s->event < sh->nr_looks)) {
			look = sh->looks[s->event];
			if (unlikely(!look) && !(look = make_look(sh, s)))
				return -ENOMEM;
		}
		if (sh->te->o.form == TEXT_EVENTS_JSON)
			text_json_add(sh, look, s);
		else
			text_line_add(sh, look, s);
	}
	return sh->text.err;
}

static int block_done(struct sink *k, void *state, u64 seq)
{
	struct text_events *te = te_of(k);
	struct text_shard *sh = state;
	if (!sequencer_wait(&te->turns, seq))
		return -ECANCELED;
	int err = sh->text.err;
	if (!err && sh->text.len)
		err = text_open_write(te, sh);
	if (sh->has_last) {
		te->last_time = sh->last_time;
		te->has_last = true;
		sh->has_last = false;
	}
	te->nr_lines += sh->nr_lines;
	sh->nr_lines = 0;
	sh->fixes.nr = 0;
	strbuf_reset(&sh->text);
	sequencer_end(&te->turns, err != 0);
	return err;
}

static int shard_new(struct sink *k, unsigned index, const struct shard *shard, void **state)
{
	struct text_events *te = te_of(k);
	struct text_shard *sh = calloc(1, sizeof(*sh));
	*state = sh;
	if (!sh)
		return -ENOMEM;
	sh->te = te;
	sh->text.screen = te->out->screen;
	sh->nr_looks = te->o.catalog->events.nr;
	sh->looks = calloc(max(sh->nr_looks, (size_t)1), sizeof(*sh->looks));
	return sh->looks ? 0 : -ENOMEM;
}

static void shard_free(struct sink *k, void *state)
{
	struct text_shard *sh = state;
	for (size_t i = 0; sh->looks && i < sh->nr_looks; i++) {
		if (sh->looks[i]) {
			free(sh->looks[i]->label);
			free(sh->looks[i]->before);
		}
		free(sh->looks[i]);
	}
	free(sh->looks);
	vec_free(&sh->fixes);
	strbuf_done(&sh->text);
	free(sh);
}

static void forget_learned(struct text_events *te)
{
	vec_for_each (&te->learned_comms, comm)
		free(*comm);
	vec_free(&te->learned_comms);
	dict_done(&te->learned);
	dict_init(&te->learned);
}

static int round_done(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	struct text_events *te = te_of(k);
	sequencer_restart(&te->turns);
	if (te->learned_comms.nr > LEARNED_MAX)
		forget_learned(te);
	return te->o.round_done ? te->o.round_done(te->o.ctx) : 0;
}

static void cancel(struct sink *k)
{
	sequencer_cancel(&te_of(k)->turns);
}

static const struct sink_ops text_events_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_COMM | NEED_NEIGHBOURS,
	.shard_new = shard_new,
	.feed = feed,
	.block_done = block_done,
	.round_done = round_done,
	.shard_free = shard_free,
	.cancel = cancel,
};

int text_events_new(const struct text_events_opts *o, struct strbuf *out, struct sink **ret)
{
	struct text_events *te = calloc(1, sizeof(*te));
	if (!te)
		return -ENOMEM;
	te->sink = (struct sink){ .ops = &text_events_ops, .needs = text_events_ops.needs };
	te->o = *o;
	te->out = out;
	for (u32 i = 0; o->buffers && i < o->nr_buffers; i++)
		te->prefix_width = max(te->prefix_width, strlen(o->buffers[i]));
	sequencer_init(&te->turns);
	dict_init(&te->learned);
	*ret = &te->sink;
	return 0;
}

void text_events_free(struct sink *k)
{
	struct text_events *te = te_of(k);
	forget_learned(te);
	vec_for_each (&te->stacks, st)
		vec_free(&st->names);
	vec_free(&te->stacks);
	dict_done(&te->learned);
	sequencer_done(&te->turns);
	free(te);
}

u64 text_events_nr_lines(const struct sink *k)
{
	return te_of(k)->nr_lines;
}
