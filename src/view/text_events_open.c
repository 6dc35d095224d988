/*
 * What a line owes to lines before it: workers format texts side by side, and leave room; the texts come one after another,
 * and the room is filled in then.
 */
#include "view/text_events_impl.h"

#include <errno.h>
#include <string.h>

enum { FUNCTION_INDENT = 3 };

struct fix *text_open_add(struct text_shard *sh, enum fix_kind kind, s32 pid)
{
	struct fix *f = vec_push(&sh->fixes);
	if (!f) {
		sh->text.err = -ENOMEM;
		return NULL;
	}
	f->at = sh->text.len;
	f->kind = kind;
	f->pid = pid;
	return f;
}

/* Room for what others have to say before this line. */
void text_open_between(struct text_shard *sh, const struct sample *s)
{
	struct fix *f = text_open_add(sh, FIX_BETWEEN, s->tid);
	if (f)
		f->time = s->time_ns;
}

static u32 file_of(const struct text_events *te, const struct sample *s)
{
	return te->o.file_of ? te->o.file_of[s->buffer] : 0;
}

/* A name that a line before may have told. */
void text_open_task(struct text_shard *sh, const struct sample *s)
{
	struct fix *f = text_open_add(sh, FIX_TASK, s->tid);
	if (f)
		f->file = file_of(sh->te, s);
}

/* The reference keeps the name of a task it did not know from the first scheduler event that tells it. */
void text_open_learn(struct text_shard *sh, const struct sample *s, const struct schema_field *comm,
		     const struct schema_field *pid_field)
{
	const struct text_events_opts *o = &sh->te->o;
	u32 len;
	s32 pid = (s32)schema_u64(s->schema, pid_field, s->raw, s->raw_size);
	if (o->has_comm(o->ctx, s->buffer, pid))
		return;
	const char *name = schema_bytes(s->schema, comm, s->raw, s->raw_size, &len);
	struct fix *f = name ? text_open_add(sh, FIX_LEARN, pid) : NULL;
	if (!f)
		return;
	f->file = file_of(sh->te, s);
	memcpy(f->comm, name, min(len, (u32)COMM_MAX));
}

/* ---- the turn: filling in and writing ---- */

static u64 task_key(const struct fix *f)
{
	return (u64)f->file << 32 | (u32)f->pid;
}

static const char *learned_comm(const struct text_events *te, const struct fix *f)
{
	u32 index = dict_get(&te->learned, task_key(f));
	return index == DICT_NONE ? NULL : te->learned_comms.at[index];
}

static int learn(struct text_events *te, const struct fix *f)
{
	u32 index;
	if (learned_comm(te, f))
		return 0;
	char **slot = vec_push(&te->learned_comms);
	if (!slot || !(*slot = strdup(f->comm)))
		return -ENOMEM;
	return dict_add(&te->learned, task_key(f), (u32)te->learned_comms.nr - 1, &index);
}

static bool set_name(struct func_stack *st, size_t at, const char *name)
{
	while (st->names.nr <= at)
		if (!vec_push(&st->names))
			return false;
	if (name)
		st->names.at[at] = name;
	return true;
}

/* How deep a function stands under those seen before on its CPU; the stack keeps what is deeper, as the reference does. */
static int indent_of(struct text_events *te, const struct fix *f, size_t *ret)
{
	while (te->stacks.nr <= (size_t)f->pid)
		if (!vec_push(&te->stacks))
			return -ENOMEM;
	struct func_stack *st = &te->stacks.at[f->pid];
	for (size_t i = 0; i < st->names.nr && st->names.at[i]; i++) {
		if (st->names.at[i] == f->parent || !strcmp(st->names.at[i], f->parent)) {
			*ret = i;
			return set_name(st, i + 1, f->func) ? 0 : -ENOMEM;
		}
	}
	*ret = 0;
	return set_name(st, 0, f->parent) && set_name(st, 1, f->func) ? 0 : -ENOMEM;
}

static void write_out(struct text_events *te, const char *data, size_t len)
{
	struct strbuf *out = te->out;
	if (!out->drain || len < out->cap / 2) {
		strbuf_add(out, data, len);
		return;
	}
	/* Large pieces go past the buffer. */
	if (!strbuf_flush(out))
		out->err = out->drain(out->ctx, data, len);
}

/* Into the room that was left for it: on a terminal, control characters do not fit there as text. */
static void write_comm(struct text_shard *sh, size_t at, const char *comm, size_t width)
{
	char *to = sh->text.data + at;
	text_line_put_comm(to, comm, min(strlen(comm), width), width);
	for (size_t i = 0; sh->text.screen && i < width; i++)
		to[i] = (u8)to[i] < ' ' ? '?' : to[i];
}

int text_open_write(struct text_events *te, struct text_shard *sh)
{
	size_t done = 0, width = text_line_comm_width(&te->o);
	vec_for_each (&sh->fixes, f) {
		size_t depth;
		int err = 0;
		const char *comm;
		switch (f->kind) {
		case FIX_LEARN: err = learn(te, f); break;
		case FIX_TASK:
			comm = learned_comm(te, f);
			if (comm)
				write_comm(sh, f->at, comm, width);
			break;
		case FIX_INDENT:
			err = indent_of(te, f, &depth);
			if (err || !depth)
				break;
			strbuf_pass(te->out, sh->text.data + done, f->at - done);
			strbuf_fill(te->out, ' ', depth * FUNCTION_INDENT);
			done = f->at;
			break;
		case FIX_BETWEEN:
			strbuf_pass(te->out, sh->text.data + done, f->at - done);
			te->o.between(te->o.ctx, f->time, te->out);
			done = f->at;
			break;
		case FIX_DIFF:
			strbuf_pass(te->out, sh->text.data + done, f->at - done);
			if (te->has_last)
				text_line_add_diff(&te->o, f->time, te->last_time, te->out);
			else
				strbuf_fill(te->out, ' ', DIFF_WIDTH + 1);
			done = f->at;
			break;
		}
		if (err)
			return err;
	}
	write_out(te, sh->text.data + done, sh->text.len - done);
	return te->out->err;
}
