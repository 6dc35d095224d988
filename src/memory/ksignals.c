/*
 *	task_struct ─► sighand_struct.action[64] of k_sigaction
 *	  pending      set | list of sigqueue        to the thread
 *	  ─► signal_struct.shared_pending            to the process
 */
#include "memory/ksignals.h"

#include "memory/eval.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { QUEUE_MAX = 1 << 17 };

int ksignals_open(struct ksignals *s, struct kspace *k)
{
	struct memory *m;
	struct ktype action;
	*s = (struct ksignals){ .k = k };
	const struct eval_offset rows[] = {
		{ "task_struct", "sighand", &s->at.sighand },
		{ "task_struct", "blocked", &s->at.blocked },
		{ "task_struct", "pending", &s->at.pending },
		{ "signal_struct", "shared_pending", &s->at.shared },
		{ "signal_struct", "nr_threads", &s->at.nr_threads },
		{ "sighand_struct", "action", &s->at.action },
		{ "k_sigaction", "sa.sa_handler", &s->at.handler },
		{ "k_sigaction", "sa.sa_flags", &s->at.flags },
		{ "k_sigaction", "sa.sa_mask", &s->at.mask },
		{ "sigpending", "signal", &s->at.set },
		{ "sigpending", "list", &s->at.list },
		{ "sigqueue", "list", &s->at.queue },
		{ "sigqueue", "info", &s->at.info },
		{ "sigqueue", "info.si_signo", &s->at.number },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = kspace_memory(k, &m);
	if (!err && !kspace_find_type(k, "k_sigaction", BTF_BIT(BTF_OF_STRUCT), &action))
		err = diag_error(k->diag, -ENOENT, "this kernel has no struct k_sigaction");
	if (!err)
		s->action_bytes = ktype_size(&action);
	return err;
}

static int read_actions(struct ksignals *s, struct ksignal_state *to)
{
	struct memory_piece pieces[3 * KSIGNALS];
	size_t nr = 0;
	for (u32 n = 0; n < KSIGNALS; n++) {
		struct ksignal_action *a = &to->actions[n];
		a->addr = to->sighand + s->at.action + n * s->action_bytes;
		pieces[nr++] = (struct memory_piece){ a->addr + s->at.handler, &a->handler, 8, 0 };
		pieces[nr++] = (struct memory_piece){ a->addr + s->at.flags, &a->flags, 8, 0 };
		pieces[nr++] = (struct memory_piece){ a->addr + s->at.mask, &a->mask, 8, 0 };
	}
	int err = memory_read_pieces(s->k->memory, pieces, nr);
	for (size_t n = 0; !err && n < nr; n++)
		err = pieces[n].err;
	return err;
}

int ksignals_read(struct ksignals *s, const struct ktask *task, struct ksignal_state *ret)
{
	struct ksignal_state st = { .signal = task->signal };
	struct memory_piece pieces[] = {
		{ task->addr + s->at.sighand, &st.sighand, sizeof(st.sighand), 0 },
		{ task->addr + s->at.blocked, &st.blocked, sizeof(st.blocked), 0 },
		{ task->addr + s->at.pending + s->at.set, &st.private, sizeof(st.private), 0 },
		{ task->signal + s->at.shared + s->at.set, &st.shared, sizeof(st.shared), 0 },
		{ task->signal + s->at.nr_threads, &st.nr_threads, sizeof(st.nr_threads), 0 },
	};
	int err = memory_read_pieces(s->k->memory, pieces, ARRAY_SIZE(pieces));
	for (size_t n = 0; !err && n < ARRAY_SIZE(pieces); n++)
		err = pieces[n].err;
	if (!err)
		err = st.sighand ? read_actions(s, &st) : -ESRCH;
	if (err)
		return err == -EFAULT ? -ESRCH : err;
	*ret = st;
	return 0;
}

struct signal_walk {
	struct ksignals *s;
	ksignal_fn fn;
	void *ctx;
};

static int each_queued(void *ctx, const struct walk_node *node)
{
	struct signal_walk *w = ctx;
	u32 number;
	if (memory_read(w->s->k->memory, node->addr + w->s->at.number, &number, sizeof(number)))
		return 0;
	return w->fn(w->ctx, number, node->addr + w->s->at.info);
}

int ksignals_each(struct ksignals *s, const struct ktask *task, bool shared, ksignal_fn fn,
		  void *ctx, struct walk_result *ret)
{
	struct signal_walk w = { s, fn, ctx };
	const struct walk_list list = { .kind = WALK_LIST_HEAD,
					.start = (shared ? task->signal + s->at.shared
							 : task->addr + s->at.pending) +
						 s->at.list,
					.offset = s->at.queue,
					.limit = QUEUE_MAX };
	return walk_list(s->k, &list, each_queued, &w, ret);
}

void ksignal_name(u32 number, char ret[KSIGNAL_NAME])
{
	enum { RT_FIRST = 32, RT_MIN = 34 }; /* 32 and 33 are the C library's */
	const char *name = number < RT_FIRST ? sigabbrev_np((int)number) : NULL;
	if (name)
		(void)snprintf(ret, KSIGNAL_NAME, "SIG%s", name);
	else if (number == RT_MIN)
		(void)snprintf(ret, KSIGNAL_NAME, "SIGRTMIN");
	else if (number == KSIGNALS)
		(void)snprintf(ret, KSIGNAL_NAME, "SIGRTMAX");
	else if (number > RT_MIN && number < KSIGNALS)
		(void)snprintf(ret, KSIGNAL_NAME, "SIGRTMIN+%u", number - RT_MIN);
	else
		ret[0] = '\0';
}

void ksignal_flags(u64 flags, struct strbuf *to)
{
	static const struct {
		u32 bit;
		const char *name;
	} names[] = {
		{ 0x1, "SA_NOCLDSTOP" },	 { 0x2, "SA_NOCLDWAIT" },
		{ 0x4, "SA_SIGINFO" },		 { 0x800, "SA_EXPOSE_TAGBITS" },
		{ 0x04000000, "SA_RESTORER" },	 { 0x08000000, "SA_ONSTACK" },
		{ 0x10000000, "SA_RESTART" },	 { 0x40000000, "SA_NODEFER" },
		{ 0x80000000u, "SA_RESETHAND" },
	};
	const char *between = "";
	for (size_t n = 0; n < ARRAY_SIZE(names); n++)
		if (flags & names[n].bit) {
			strbuf_printf(to, "%s%s", between, names[n].name);
			between = "|";
		}
}
