#include "model/calls.h"

#include <errno.h>
#include <string.h>

struct call_reader call_reader_make(const struct schema *s)
{
	struct call_reader r = { .kind = CALL_OTHER };
	bool entry = !strcmp(s->name, "funcgraph_entry");
	if (strcmp(s->system, "ftrace") || (!entry && strcmp(s->name, "funcgraph_exit")))
		return r;
	r.func = schema_find(s, "func");
	r.depth = schema_find(s, "depth");
	r.start = schema_find(s, "calltime");
	r.end = schema_find(s, "rettime");
	if (r.func && r.depth)
		r.kind = entry ? CALL_ENTRY : CALL_EXIT;
	return r;
}

/* The idle task runs on all CPUs at once; buffers know nothing of each other. */
static u64 task_key(const struct sample *s)
{
	u32 who = s->tid ? (u32)s->tid : 0x80000000u | (u32)s->cpu;
	return (u64)s->buffer << 32 | who;
}

struct call_event call_read(const struct call_reader *r, const struct sample *s)
{
	struct call_event e = {
		.kind = r->kind,
		.task = task_key(s),
		.func = schema_u64(s->schema, r->func, s->raw, s->raw_size),
		.depth = (u32)schema_u64(s->schema, r->depth, s->raw, s->raw_size),
		.time_ns = s->time_ns,
		.ns = UINT64_MAX,
	};
	if (r->kind == CALL_EXIT && r->start && r->end)
		e.ns = schema_u64(s->schema, r->end, s->raw, s->raw_size) -
		       schema_u64(s->schema, r->start, s->raw, s->raw_size);
	return e;
}

void calls_done(struct calls *c)
{
	vec_for_each (&c->tasks, t)
		vec_free(&t->frames);
	vec_free(&c->tasks);
	dict_done(&c->task_of);
}

struct call_stack *calls_stack(struct calls *c, u64 task)
{
	u32 index;
	if (dict_add(&c->task_of, task, (u32)c->tasks.nr, &index) < 0)
		return NULL;
	if (index == c->tasks.nr && !vec_push(&c->tasks))
		return NULL;
	return &c->tasks.at[index];
}

/* Closes what is open from this depth on: its ends were not recorded. */
static void cut(struct calls *c, struct call_stack *s, u32 depth)
{
	for (size_t i = depth; i < s->frames.nr && c->gone; i++)
		if (s->frames.at[i].known)
			c->gone(c->ctx, &s->frames.at[i]);
	s->frames.nr = min(s->frames.nr, (size_t)depth);
}

/* Callers that nothing is known of: what they call hangs where the last known way ends. */
static int fill(struct call_stack *s, u32 depth)
{
	u32 tag = s->frames.nr ? s->frames.at[s->frames.nr - 1].tag : 0;
	while (s->frames.nr < depth) {
		struct open_call *f = vec_push(&s->frames);
		if (!f)
			return -ENOMEM;
		f->tag = tag;
	}
	return 0;
}

struct open_call *calls_enter(struct calls *c, struct call_stack *s, const struct call_event *e)
{
	cut(c, s, e->depth);
	struct open_call *f = fill(s, e->depth) ? NULL : vec_push(&s->frames);
	if (f)
		*f = (struct open_call){ .func = e->func, .start_ns = e->time_ns, .known = true };
	return f;
}

int calls_leave(struct calls *c, struct call_stack *s, const struct call_event *e,
		struct call_done *ret)
{
	struct open_call own = { 0 };
	if (s->frames.nr > e->depth)
		own = s->frames.at[e->depth];
	bool known = own.known && own.func == e->func;
	cut(c, s, e->depth);
	u64 ns = e->ns != UINT64_MAX ? e->ns : known ? u64_less(e->time_ns, own.start_ns) : 0;
	*ret = (struct call_done){ .ns = ns,
				   .self_ns = ns - min(ns, own.inside_ns),
				   .start_ns = own.start_ns,
				   .tag = own.tag,
				   .known = known,
				   .timed = known || e->ns != UINT64_MAX };
	if (!e->depth || !ret->timed)
		return 0;
	int err = fill(s, e->depth);
	if (!err)
		s->frames.at[e->depth - 1].inside_ns += ns;
	return err;
}

void calls_gap(struct calls *c)
{
	vec_for_each (&c->tasks, t)
		cut(c, t, 0);
}
