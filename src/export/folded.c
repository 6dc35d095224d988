#include "export/folded.h"

#include <errno.h>

/* What would end a frame or a line. */
static void put_name(const char *s, struct strbuf *to)
{
	for (; *s; s++)
		strbuf_char(to, *s == ';' ? ':' : (unsigned char)*s < 0x20 ? ' ' : *s);
}

/* Appends the frame; the length before it, for those beside it. */
static size_t put_frame(struct strbuf *line, const char *name)
{
	size_t before = line->len;
	if (before)
		strbuf_char(line, ';');
	put_name(name, line);
	return before;
}

/* What is known about it beside its name. */
static void put_more(const struct flame *f, const struct flame_frame *fr,
		     const struct folded_opts *o, struct strbuf *line)
{
	static const char *const marks[] = {
		[FLAME_KERNEL] = "_[k]", [FLAME_INLINED] = "_[i]", [FLAME_JIT] = "_[j]", [FLAME_MARK] = NULL
	};
	if (o->lines && fr->file) {
		strbuf_char(line, ' ');
		put_name(flame_str(f, fr->file), line);
		if (fr->line) {
			strbuf_char(line, ':');
			strbuf_u64(line, fr->line);
		}
	}
	if (o->kinds && marks[fr->kind])
		strbuf_str(line, marks[fr->kind]);
}

/* The frame of a node, or the task for a root. */
static size_t put_node(const struct flame *f, const struct flame_tree *t, u32 node,
		       const struct folded_opts *o, struct strbuf *line)
{
	if (node == t->root)
		return put_frame(line, flame_str(f, f->tasks.at[t->task].comm));
	const struct flame_frame *fr = &f->frames.at[f->nodes.at[node].frame];
	size_t before = put_frame(line, flame_str(f, fr->name));
	put_more(f, fr, o, line);
	return before;
}

static int put_tree(const struct flame *f, const struct flame_tree *t, const u64 *self,
		    const struct folded_opts *o, struct strbuf *line, struct strbuf *to)
{
	const struct flame_node *nodes = f->nodes.at;
	VEC(size_t) lengths = { 0 }; /* of the line, above each open node */
	u32 at = t->root, end = nodes[t->root].end;
	int err = 0;
	for (u32 path = at; at < end && !err; at++) {
		for (; at >= nodes[path].end; path = nodes[path].parent)
			line->len = lengths.at[--lengths.nr];
		size_t *slot = vec_push(&lengths);
		if (!slot) {
			err = -ENOMEM;
			break;
		}
		*slot = put_node(f, t, at, o, line);
		path = at;
		if (!self[at])
			continue;
		strbuf_add(to, line->data, line->len);
		strbuf_char(to, ' ');
		strbuf_u64(to, self[at]);
		strbuf_char(to, '\n');
		err = to->err ? to->err : line->err;
	}
	vec_free(&lengths);
	return err;
}

int export_folded(const struct flame *f, const struct folded_opts *o, struct strbuf *to)
{
	u64 *self = o->samples ? flame_counts(f) : flame_self(f, UINT32_MAX);
	struct strbuf line;
	strbuf_init(&line);
	int err = self ? 0 : -ENOMEM;
	vec_for_each (&f->trees, t) {
		if (err)
			break;
		strbuf_reset(&line);
		if (f->events.nr > 1)
			put_frame(&line, flame_str(f, f->events.at[t->event]));
		err = put_tree(f, t, self, o, &line, to);
	}
	strbuf_done(&line);
	free(self);
	return err;
}
