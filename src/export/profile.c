#include "export/profile.h"
#include "base/str.h"

#include <errno.h>

bool export_is_time(const char *event)
{
	return str_starts(event, "cpu-clock") || str_starts(event, "task-clock") ||
	       !strcmp(event, "function_graph") || !strcmp(event, "off-cpu") ||
	       !strcmp(event, "wall-clock");
}

void export_frame_name(const struct flame *f, const struct flame_frame *fr, struct strbuf *to)
{
	strbuf_reset(to);
	strbuf_str(to, flame_str(f, fr->name));
	if (fr->kind == FLAME_INLINED)
		strbuf_str(to, " (inlined)");
}

void export_thread_name(const struct flame *f, const struct flame_tree *t, struct strbuf *to)
{
	const struct flame_task *task = &f->tasks.at[t->task];
	strbuf_str(to, flame_str(f, task->comm));
	if (task->tid > 0) {
		strbuf_char(to, ' ');
		strbuf_s64(to, task->tid);
	}
	if (f->events.nr > 1)
		strbuf_printf(to, " (%s)", flame_str(f, f->events.at[t->event]));
}

int export_by_tree(const struct flame *f, u32 **starts, u32 **order)
{
	u32 *tree_of = calloc(f->nodes.nr + 1, sizeof(*tree_of));
	u32 *at = calloc(f->trees.nr + 2, sizeof(*at));
	u32 *list = malloc((f->points.nr + 1) * sizeof(*list));
	if (!tree_of || !at || !list || f->points.nr >= UINT32_MAX) {
		free(tree_of);
		free(at);
		free(list);
		return -ENOMEM;
	}
	for (u32 t = 0; t < f->trees.nr; t++)
		for (u32 i = f->trees.at[t].root; i < f->nodes.at[f->trees.at[t].root].end; i++)
			tree_of[i] = t;
	vec_for_each (&f->points, p)
		at[tree_of[p->node] + 2]++;
	for (u32 t = 0; t < f->trees.nr; t++)
		at[t + 2] += at[t + 1];
	for (u32 i = 0; i < f->points.nr; i++)
		list[at[tree_of[f->points.at[i].node] + 1]++] = i;
	free(tree_of);
	*starts = at;
	*order = list;
	return 0;
}
