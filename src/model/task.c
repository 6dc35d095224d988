#include "model/task.h"

#include <errno.h>

void task_list_init(struct task_list *l)
{
	*l = (struct task_list){ 0 };
	strbuf_init(&l->text);
}

void task_list_done(struct task_list *l)
{
	vec_free(&l->tasks);
	strbuf_done(&l->text);
}

int task_list_reset(struct task_list *l)
{
	l->tasks.nr = 0;
	strbuf_reset(&l->text);
	strbuf_char(&l->text, '\0');
	return l->text.err;
}

u32 task_list_add_text(struct task_list *l, const char *text, size_t len)
{
	size_t place = l->text.len;
	if (!len || place + len >= UINT32_MAX)
		return 0;
	strbuf_add(&l->text, text, len);
	strbuf_char(&l->text, '\0');
	return l->text.err ? 0 : (u32)place;
}

const struct task *task_list_find_id(const struct task_list *l, s32 pid, s32 tid)
{
	size_t lo = 0, hi = l->tasks.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct task *t = &l->tasks.at[mid];
		if (t->pid < pid || (t->pid == pid && t->tid < tid))
			lo = mid + 1;
		else
			hi = mid;
	}
	const struct task *t = lo < l->tasks.nr ? &l->tasks.at[lo] : NULL;
	return t && t->pid == pid && t->tid == tid ? t : NULL;
}

const struct task *task_list_find(const struct task_list *l, s32 pid, s32 tid, u64 start_ticks)
{
	const struct task *t = task_list_find_id(l, pid, tid);
	return t && t->start_ticks == start_ticks ? t : NULL;
}
