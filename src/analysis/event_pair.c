#include "analysis/event_pair.h"

#include "base/dict.h"
#include "base/sequencer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = EVENT_PAIR_KEYS_MAX, WORDS = KEYS + 3, STACK_MAX = 256, CPUS_MAX = 1 << 16 };

/* What an event is to one rule. */
struct role {
	u32 rule;
	bool is_end;
	const struct schema_field *keys[KEYS];
	const struct schema_field *if_field;
	u64 star; /* hash of what stood for the '*' */
};

struct event_pair_look {
	bool known;
	bool is_stack, is_function;
	const struct schema_field *caller;
	VEC(struct role) roles; /* ends first */
};

struct item {
	struct event_at at; /* raw is filled in when its turn has come */
	size_t raw; /* in the shard's bytes */
	bool gap, unwanted;
};

struct event_pair_shard_state {
	struct event_pair_look *looks; /* by event */
	size_t nr_looks;
	VEC(struct item) items;
	VEC(u8) bytes;
};

/* Something that has begun; found by its words. */
struct open {
	u64 words[WORDS];
	struct event_at at;
	u8 *raw;
	size_t raw_cap;
	VEC(u64) stack;
	bool active;
};

struct event_pair {
	struct sink sink;
	struct event_pair_opts o;
	struct event_pair_rule rules[EVENT_PAIR_RULES_MAX];
	struct sequencer turns;
	/* Of whoever has the turn. */
	struct dict found;
	VEC(struct open) opened;
	VEC(s64) last; /* [cpu]: what its last event began, for the stack after it; -1: nothing */
	u64 startable, endable, nr_gaps;
};

static struct event_pair *pair_of(const struct sink *k)
{
	return container_of(k, struct event_pair, sink);
}

/* ---- what an event is ---- */

static bool name_fits(const char *pattern, const char *name, u64 *star)
{
	size_t len = strlen(pattern);
	*star = 0;
	if (!len || pattern[len - 1] != '*')
		return !strcmp(pattern, name);
	if (strncmp(pattern, name, len - 1))
		return false;
	*star = hash_bytes(name + len - 1, strlen(name + len - 1)) | 1;
	return true;
}

static bool find_keys(const struct schema *s, const char *const *names, struct role *r)
{
	for (unsigned i = 0; i < KEYS && names[i]; i++)
		if (!(r->keys[i] = schema_find(s, names[i])))
			return false;
	return true;
}

static int add_role(struct event_pair *p, struct event_pair_look *l, const struct schema *s,
		    u32 rule, bool is_end)
{
	const struct event_pair_rule *u = &p->rules[rule];
	const char *system = is_end ? u->end_system : u->start_system;
	struct role r = { .rule = rule, .is_end = is_end };
	if ((system && strcmp(system, s->system)) ||
	    !name_fits(is_end ? u->end_event : u->start_event, s->name, &r.star) ||
	    !find_keys(s, is_end ? u->end_keys : u->start_keys, &r))
		return 0;
	if (!is_end && u->if_field)
		r.if_field = schema_find(s, u->if_field);
	struct role *slot = vec_push(&l->roles);
	if (!slot)
		return -ENOMEM;
	*slot = r;
	return 0;
}

static int make_look(struct event_pair *p, struct event_pair_look *l, const struct schema *s)
{
	int err = 0;
	l->known = true;
	l->is_stack = !strcmp(s->system, "ftrace") && !strcmp(s->name, "kernel_stack");
	l->is_function = !strcmp(s->system, "ftrace") && !strcmp(s->name, "function");
	l->caller = l->is_stack ? schema_find(s, "caller") : NULL;
	for (u32 i = 0; i < p->o.nr_rules && !err; i++)
		err = add_role(p, l, s, i, true);
	for (u32 i = 0; i < p->o.nr_rules && !err; i++)
		err = add_role(p, l, s, i, false);
	return err;
}

static struct event_pair_look *look_of(struct event_pair *p, struct event_pair_shard_state *st,
				       const struct sample *s)
{
	if (s->event >= st->nr_looks) {
		size_t nr = max((size_t)s->event + 1, 2 * st->nr_looks);
		struct event_pair_look *grown = realloc(st->looks, nr * sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + st->nr_looks, 0, (nr - st->nr_looks) * sizeof(*grown));
		st->looks = grown;
		st->nr_looks = nr;
	}
	struct event_pair_look *l = &st->looks[s->event];
	return l->known || !make_look(p, l, s->schema) ? l : NULL;
}

/* ---- picking events out of a block ---- */

static int add_item(struct event_pair_shard_state *st, const struct sample *s, bool with_raw)
{
	struct item *i = vec_push(&st->items);
	if (!i)
		return -ENOMEM;
	i->at = (struct event_at){ .schema = s->schema,
				   .size = with_raw ? s->raw_size : 0,
				   .event = s->event,
				   .time_ns = s->time_ns,
				   .cpu = s->cpu,
				   .tid = s->tid,
				   .buffer = s->buffer };
	i->raw = st->bytes.nr;
	if (!i->at.size)
		return 0;
	if (!vec_reserve(&st->bytes, st->bytes.nr + s->raw_size))
		return -ENOMEM;
	memcpy(st->bytes.at + st->bytes.nr, s->raw, s->raw_size);
	st->bytes.nr += s->raw_size;
	return 0;
}

static int add_gap(struct event_pair_shard_state *st)
{
	struct item *i = vec_push(&st->items);
	if (!i)
		return -ENOMEM;
	i->gap = true;
	return 0;
}

/* It stands between a stack and what was before. */
static int add_unwanted(struct event_pair_shard_state *st, const struct sample *s)
{
	int err = add_item(st, s, false);
	if (!err)
		st->items.at[st->items.nr - 1].unwanted = true;
	return err;
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct event_pair *p = pair_of(k);
	struct event_pair_shard_state *st = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		if (s->missed && add_gap(st))
			return -ENOMEM;
		if (!s->schema || !s->raw)
			continue;
		const struct event_pair_look *l = look_of(p, st, s);
		if (!l)
			return -ENOMEM;
		/* A stack belongs to the event before it: whether that one is wanted decides. */
		bool wanted = !p->o.keep || l->is_stack || p->o.keep(p->o.ctx, s);
		if (wanted ? add_item(st, s, l->roles.nr || l->caller || l->is_function)
			   : add_unwanted(st, s))
			return -ENOMEM;
	}
	return 0;
}

/* ---- in order ---- */

static u64 key_word(const struct event_at *e, const struct schema_field *f)
{
	u32 len;
	if (!(f->flags & (FIELD_STRING | FIELD_ARRAY | FIELD_DATA_LOC | FIELD_REL_LOC)))
		return schema_u64(e->schema, f, e->raw, e->size);
	const void *text = schema_bytes(e->schema, f, e->raw, e->size, &len);
	return text ? hash_bytes(text, len) : 0;
}

static u64 task_word(const struct event_at *e)
{
	return e->tid ? (u64)(u32)e->tid : ~(u64)(u32)e->cpu;
}

static void make_words(const struct event_pair *p, const struct role *r, const struct event_at *e,
		       u64 *words)
{
	const struct event_pair_rule *u = &p->rules[r->rule];
	for (unsigned i = 0; i < KEYS; i++)
		words[i] = r->keys[i] ? key_word(e, r->keys[i]) : 0;
	if (u->idle && !words[0])
		words[0] = ~(u64)(u32)e->cpu;
	words[KEYS] = (u64)u->group << 32 | e->buffer;
	words[KEYS + 1] = (u->same_task ? task_word(e) : 0) ^ r->star;
	words[KEYS + 2] = u->same_cpu ? (u64)(u32)e->cpu + 1 : 0;
}

/* The place of these words: found, or (when asked) made. */
static struct open *find(struct event_pair *p, const u64 *words, bool make)
{
	for (u64 seed = hash_seed();; seed++) {
		u64 hash = hash_words(words, WORDS, seed);
		u32 index = dict_get(&p->found, hash);
		if (index == DICT_NONE) {
			if (!make || p->opened.nr >= DICT_NONE)
				return NULL;
			struct open *o = vec_push(&p->opened);
			if (!o || dict_add(&p->found, hash, (u32)p->opened.nr - 1, &index))
				return NULL;
			memcpy(o->words, words, sizeof(o->words));
			return o;
		}
		if (!memcmp(p->opened.at[index].words, words, sizeof(p->opened.at[index].words)))
			return &p->opened.at[index];
	}
}

static bool may_begin(const struct event_pair_rule *u, const struct role *r,
		      const struct event_at *e)
{
	if (!r->if_field)
		return true;
	u64 value = schema_u64(e->schema, r->if_field, e->raw, e->size);
	return !(u->if_bits ? value & u->if_bits : value) == u->if_clear;
}

static int begin(struct event_pair *p, const struct role *r, const struct event_at *e)
{
	u64 words[WORDS];
	p->startable |= 1ull << r->rule;
	if (!may_begin(&p->rules[r->rule], r, e))
		return 0;
	make_words(p, r, e, words);
	struct open *o = find(p, words, true);
	if (!o)
		return -ENOMEM;
	if (e->size > o->raw_cap) {
		u8 *grown = realloc(o->raw, e->size);
		if (!grown)
			return -ENOMEM;
		o->raw = grown;
		o->raw_cap = e->size;
	}
	memcpy(o->raw, e->raw, e->size);
	o->at = *e;
	o->active = true;
	o->stack.nr = 0;
	if (e->cpu >= 0 && (size_t)e->cpu < p->last.nr)
		p->last.at[e->cpu] = o - p->opened.at;
	return 0;
}

static int end(struct event_pair *p, const struct role *r, const struct event_at *e)
{
	u64 words[WORDS];
	p->endable |= 1ull << r->rule;
	make_words(p, r, e, words);
	struct open *o = find(p, words, false);
	if (!o || !o->active)
		return 0;
	o->active = false;
	struct event_pair_match m = { .rule = r->rule,
				      .start = o->at,
				      .end = *e,
				      .stack = o->stack.at,
				      .nr_stack = (u32)o->stack.nr };
	m.start.raw = o->raw;
	return p->o.match(p->o.ctx, &m);
}

static int keep_stack(struct event_pair *p, const struct event_pair_look *l,
		      const struct event_at *e)
{
	s64 which = e->cpu >= 0 && (size_t)e->cpu < p->last.nr ? p->last.at[e->cpu] : -1;
	struct open *o = which >= 0 ? &p->opened.at[which] : NULL;
	if (!o || !o->active || o->at.tid != e->tid || !l->caller)
		return 0;
	struct schema_field addr = { .offset = l->caller->offset, .size = e->schema->long_size };
	u64 none = addr.size == 8 ? UINT64_MAX : UINT32_MAX;
	for (; addr.offset + addr.size <= e->size && o->stack.nr < STACK_MAX;
	     addr.offset += addr.size) {
		u64 at = schema_u64(e->schema, &addr, e->raw, e->size);
		u64 *slot = at == none ? NULL : vec_push(&o->stack);
		if (at == none)
			break;
		if (!slot)
			return -ENOMEM;
		*slot = at;
	}
	return 0;
}

static void close_all(struct event_pair *p)
{
	p->nr_gaps++;
	if (p->o.over_gaps)
		return;
	vec_for_each (&p->opened, o)
		o->active = false;
}

static int take(struct event_pair *p, struct event_pair_shard_state *st, struct item *i)
{
	if (i->gap) {
		close_all(p);
		return 0;
	}
	struct event_at *e = &i->at;
	const struct event_pair_look *l = &st->looks[e->event];
	e->raw = st->bytes.at + i->raw;
	while (e->cpu >= 0 && e->cpu < CPUS_MAX && (size_t)e->cpu >= p->last.nr) {
		s64 *slot = vec_push(&p->last);
		if (!slot)
			return -ENOMEM;
		*slot = -1;
	}
	if (l->is_stack)
		return keep_stack(p, l, e);
	if (e->cpu >= 0 && (size_t)e->cpu < p->last.nr)
		p->last.at[e->cpu] = -1;
	if (i->unwanted)
		return 0;
	int err = 0;
	for (size_t k = 0; k < l->roles.nr && !err; k++)
		err = l->roles.at[k].is_end ? end(p, &l->roles.at[k], e)
					    : begin(p, &l->roles.at[k], e);
	if (!err && !l->roles.nr && p->o.other)
		err = p->o.other(p->o.ctx, e);
	return err;
}

static int block_done(struct sink *k, void *state, u64 seq)
{
	struct event_pair *p = pair_of(k);
	struct event_pair_shard_state *st = state;
	if (!sequencer_wait(&p->turns, seq))
		return -ECANCELED;
	int err = 0;
	for (size_t i = 0; i < st->items.nr && !err; i++)
		err = take(p, st, &st->items.at[i]);
	st->items.nr = 0;
	st->bytes.nr = 0;
	sequencer_end(&p->turns, err != 0);
	return err;
}

/* ---- the sink ---- */

static int shard_new(struct sink *k, unsigned index, const struct shard *shard, void **state)
{
	*state = calloc(1, sizeof(struct event_pair_shard_state));
	return *state ? 0 : -ENOMEM;
}

static void shard_free(struct sink *k, void *state)
{
	struct event_pair_shard_state *st = state;
	for (size_t i = 0; i < st->nr_looks; i++)
		vec_free(&st->looks[i].roles);
	free(st->looks);
	vec_free(&st->items);
	vec_free(&st->bytes);
	free(st);
}

static int round_done(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	sequencer_restart(&pair_of(k)->turns);
	return 0;
}

static void cancel(struct sink *k)
{
	sequencer_cancel(&pair_of(k)->turns);
}

static const struct sink_ops pair_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
	.block_done = block_done,
	.round_done = round_done,
	.shard_free = shard_free,
	.cancel = cancel,
};

struct event_pair *event_pair_new(const struct event_pair_opts *o)
{
	struct event_pair *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->sink = (struct sink){ .ops = &pair_ops, .needs = pair_ops.needs };
	if (o->keep)
		p->sink.needs |= NEED_COMM;
	p->o = *o;
	p->o.nr_rules = min(o->nr_rules, (u32)EVENT_PAIR_RULES_MAX);
	memcpy(p->rules, o->rules, p->o.nr_rules * sizeof(*p->rules));
	sequencer_init(&p->turns);
	dict_init(&p->found);
	return p;
}

void event_pair_free(struct event_pair *p)
{
	if (!p)
		return;
	vec_for_each (&p->opened, o) {
		free(o->raw);
		vec_free(&o->stack);
	}
	vec_free(&p->opened);
	vec_free(&p->last);
	dict_done(&p->found);
	sequencer_done(&p->turns);
	free(p);
}

struct sink *event_pair_sink(struct event_pair *p)
{
	return &p->sink;
}

u64 event_pair_startable(const struct event_pair *p)
{
	return p->startable;
}

u64 event_pair_endable(const struct event_pair *p)
{
	return p->endable;
}

u64 event_pair_nr_gaps(const struct event_pair *p)
{
	return p->nr_gaps;
}

/* The tracer's own times leave out what it cost to write the entry. */
u64 event_pair_ns(const struct event_pair_match *m)
{
	u64 begun, ended;
	if (event_at_u64(&m->end, "calltime", &begun) && event_at_u64(&m->end, "rettime", &ended))
		return u64_less(ended, begun);
	return u64_less(m->end.time_ns, m->start.time_ns);
}

bool event_at_u64(const struct event_at *e, const char *field, u64 *ret)
{
	const struct schema_field *f = schema_find(e->schema, field);
	if (!f)
		return false;
	*ret = key_word(e, f);
	return true;
}
