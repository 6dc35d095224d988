#include "export/profile.h"
#include "base/dict.h"
#include "export/gzip.h"

#include <errno.h>
#include <string.h>

/* Numbers of fields in profile.proto. */
enum {
	SAMPLE_TYPE = 1,
	SAMPLE,
	MAPPING,
	LOCATION,
	FUNCTION,
	STRING,
	TIME = 9,
	DURATION,
	DEFAULT_TYPE = 14
};
enum { VARINT, BYTES = 2 };
enum { INLINED_MAX = 1000 }; /* of one location: put_lines() goes that deep */

/*
 * A location is one place in the code: a function, and those that the compiler put into it there. They are told apart by a tree of
 * frames, innermost first; a location is a path that ends in a function that is not inlined, and goes by the number of its last step.
 */
struct step {
	u32 before; /* 0: none */
	u32 frame; /* of the flame */
	bool ends; /* a location does */
};

struct pprof {
	const struct flame *f;
	VEC(struct step) steps; /* [0] is none */
	struct dict step_of; /* step before and frame -> step */
	struct strbuf out;
	struct strbuf part; /* a message on its way */
	struct strbuf inner; /* a message inside of it */
	struct strtab strings;
	u32 *string_of; /* [string of the flame] */
	int err;
};

static void number(struct strbuf *to, u32 field, u64 v)
{
	if (!v)
		return;
	strbuf_leb128(to, (u64)field << 3 | VARINT);
	strbuf_leb128(to, v);
}

static void bytes(struct strbuf *to, u32 field, const void *data, size_t len)
{
	strbuf_leb128(to, (u64)field << 3 | BYTES);
	strbuf_leb128(to, len);
	strbuf_add(to, data, len);
}

/* Puts a finished message into another one. */
static void message(struct strbuf *to, u32 field, struct strbuf *from)
{
	bytes(to, field, from->data, from->len);
	if (from->err)
		to->err = from->err;
	strbuf_reset(from);
}

static u64 string(struct pprof *p, const char *s)
{
	s64 id = strtab_add(&p->strings, s, strlen(s));
	if (id < 0)
		p->err = (int)id;
	return id < 0 ? 0 : (u64)id;
}

static u64 flame_string(struct pprof *p, u32 id)
{
	if (id && !p->string_of[id])
		p->string_of[id] = (u32)string(p, flame_str(p->f, id));
	return p->string_of[id];
}

static void value_type(struct pprof *p, u32 field, const char *type, const char *unit)
{
	number(&p->part, 1, string(p, type));
	number(&p->part, 2, string(p, unit));
	message(&p->out, field, &p->part);
}

static void put_types(struct pprof *p)
{
	vec_for_each (&p->f->events, e) {
		const char *event = flame_str(p->f, *e);
		struct strbuf samples;
		strbuf_init(&samples);
		strbuf_printf(&samples, p->f->events.nr > 1 ? "%s_samples" : "samples", event);
		value_type(p, SAMPLE_TYPE, strbuf_cstr(&samples), "count");
		value_type(p, SAMPLE_TYPE, event, export_is_time(event) ? "nanoseconds" : "count");
		strbuf_done(&samples);
	}
}

/* Modules are mappings without addresses: what names a person knows are all here. */
static int put_mappings(struct pprof *p, u32 *mapping_of)
{
	u32 nr = 0;
	vec_for_each (&p->f->frames, fr) {
		if (!fr->module || mapping_of[fr->module])
			continue;
		mapping_of[fr->module] = ++nr;
		number(&p->part, 1, nr);
		number(&p->part, 5, flame_string(p, fr->module));
		for (u32 has = 7; has <= 10; has++)
			number(&p->part, has, 1);
		message(&p->out, MAPPING, &p->part);
	}
	return p->err;
}

static void put_functions(struct pprof *p)
{
	for (u32 i = 1; i < p->f->frames.nr; i++) {
		const struct flame_frame *fr = &p->f->frames.at[i];
		number(&p->part, 1, i);
		number(&p->part, 2, flame_string(p, fr->name));
		number(&p->part, 3, flame_string(p, fr->name));
		number(&p->part, 4, flame_string(p, fr->file));
		message(&p->out, FUNCTION, &p->part);
	}
}

/* The step for a frame after another one; 0 when there is no memory. */
static u32 step(struct pprof *p, u32 before, u32 frame)
{
	u32 fresh = (u32)p->steps.nr, got = 0;
	int err = dict_add(&p->step_of, (u64)before << 32 | frame, fresh, &got);
	struct step *made = !err && got == fresh ? vec_push(&p->steps) : NULL;
	if (err || (got == fresh && !made)) {
		p->err = -ENOMEM;
		return 0;
	}
	if (made)
		*made = (struct step){ .before = before, .frame = frame };
	return got;
}

/* Lines of a location, innermost first: the steps lead there from the other end. */
static void put_lines(struct pprof *p, u32 last)
{
	const struct step *s = &p->steps.at[last];
	if (s->before)
		put_lines(p, s->before);
	number(&p->inner, 1, s->frame);
	number(&p->inner, 2, p->f->frames.at[s->frame].line);
	message(&p->part, 4, &p->inner);
}

static void put_locations(struct pprof *p, const u32 *mapping_of)
{
	for (u32 i = 1; i < p->steps.nr; i++) {
		const struct step *s = &p->steps.at[i];
		if (!s->ends)
			continue;
		number(&p->part, 1, i);
		number(&p->part, 2, mapping_of[p->f->frames.at[s->frame].module]);
		put_lines(p, i);
		message(&p->out, LOCATION, &p->part);
	}
}

static void label(struct pprof *p, const char *key, u64 str, u64 num)
{
	number(&p->inner, 1, string(p, key));
	number(&p->inner, 2, str);
	number(&p->inner, 3, num);
	message(&p->part, 3, &p->inner);
}

/* A stack with its weights, innermost frame first. */
static void put_sample(struct pprof *p, const struct flame_tree *t, u32 node, u64 count, u64 weight)
{
	const struct flame_node *nodes = p->f->nodes.at;
	const struct flame_task *task = &p->f->tasks.at[t->task];
	for (u32 n = node, at = 0, inside = 0; n != t->root; n = nodes[n].parent) {
		bool inlined = p->f->frames.at[nodes[n].frame].kind == FLAME_INLINED;
		at = step(p, at, nodes[n].frame);
		if (inlined && nodes[n].parent != t->root && ++inside < INLINED_MAX)
			continue;
		p->steps.at[at].ends = true;
		strbuf_leb128(&p->inner, at);
		at = inside = 0;
	}
	message(&p->part, 1, &p->inner);
	for (u32 e = 0; e < p->f->events.nr; e++) {
		strbuf_leb128(&p->inner, e == t->event ? count : 0);
		strbuf_leb128(&p->inner, e == t->event ? weight : 0);
	}
	message(&p->part, 2, &p->inner);
	label(p, "thread", flame_string(p, task->comm), 0);
	if (task->tid > 0) {
		label(p, "pid", 0, (u64)task->pid);
		label(p, "tid", 0, (u64)task->tid);
	}
	message(&p->out, SAMPLE, &p->part);
}

static int put_samples(struct pprof *p)
{
	_cleanup_free_ u64 *self = flame_self(p->f, UINT32_MAX);
	_cleanup_free_ u64 *count = flame_counts(p->f);
	if (!self || !count)
		return -ENOMEM;
	vec_for_each (&p->f->trees, t)
		for (u32 n = t->root; n < p->f->nodes.at[t->root].end; n++)
			if (count[n])
				put_sample(p, t, n, count[n], self[n]);
	return p->err;
}

static int put_all(struct pprof *p)
{
	const struct flame *f = p->f;
	_cleanup_free_ u32 *mapping_of = calloc((size_t)f->strings.nr + 1, sizeof(*mapping_of));
	p->string_of = calloc((size_t)f->strings.nr + 1, sizeof(*p->string_of));
	if (!mapping_of || !p->string_of || !vec_push(&p->steps) ||
	    strtab_add(&p->strings, "", 0) < 0)
		return -ENOMEM;
	put_types(p);
	int err = put_mappings(p, mapping_of);
	if (!err)
		err = put_samples(p);
	if (err)
		return err;
	put_functions(p);
	put_locations(p, mapping_of);
	const struct flame_side *s = &f->sides[0];
	number(&p->out, TIME, s->recorded_s * 1000000000);
	number(&p->out, DURATION, u64_less(s->last_ns, s->first_ns));
	if (f->events.nr)
		number(&p->out, DEFAULT_TYPE, flame_string(p, f->events.at[0]));
	for (u32 i = 0; i < p->strings.nr; i++)
		bytes(&p->out, STRING, p->strings.strs[i], strlen(p->strings.strs[i]));
	return p->err ? p->err : p->out.err;
}

int export_pprof(const struct flame *f, const struct export_opts *o, struct strbuf *to)
{
	struct pprof p = { .f = f };
	strbuf_init(&p.out);
	strbuf_init(&p.part);
	strbuf_init(&p.inner);
	strtab_init(&p.strings);
	dict_init(&p.step_of);
	int err = put_all(&p);
	if (!err)
		err = gzip_add(p.out.data, p.out.len, to);
	strbuf_done(&p.out);
	strbuf_done(&p.part);
	strbuf_done(&p.inner);
	strtab_done(&p.strings);
	dict_done(&p.step_of);
	vec_free(&p.steps);
	free(p.string_of);
	return err;
}
