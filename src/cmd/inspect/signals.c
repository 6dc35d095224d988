/* inspect sig: what tasks do with signals, and which wait for them. */
#include "cmd/inspect/inspect.h"

#include "base/num.h"
#include "memory/ksignals.h"

#include <errno.h>
#include <string.h>

typedef unsigned long long ull;

static void print_list(struct inspect *i, u64 set)
{
	for (u32 n = 1; n <= KSIGNALS; n++) {
		char name[KSIGNAL_NAME];
		ksignal_name(n, name);
		if (!(set >> (n - 1) & 1) || (!*name && !i->o->sigset))
			continue;
		if (i->app->json) {
			json_object(&i->j);
			json_put_u64(&i->j, "signal", n);
			json_put_str(&i->j, "name", *name ? name : NULL);
			json_object_end(&i->j);
		} else {
			strbuf_printf(&i->text, "[%2u]%s%s\n", n, *name ? " " : "", name);
		}
	}
}

/* ---- one task -------------------------------------------------------------------------------------------------------------- */

static void print_action(struct inspect *i, u32 number, const struct ksignal_action *a)
{
	char name[KSIGNAL_NAME];
	ksignal_name(number, name);
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, "signal", number);
		json_put_str(&i->j, "name", *name ? name : NULL);
		inspect_json_address(i, "address", a->addr);
		if (a->handler > KSIGNAL_IGNORE)
			inspect_json_address(i, "handler", a->handler);
		else
			json_put_str(&i->j, "handler",
				     a->handler == KSIGNAL_IGNORE ? "ignore" : "default");
		inspect_json_address(i, "mask", a->mask);
		inspect_json_address(i, "flags", a->flags);
		json_object_end(&i->j);
		return;
	}
	strbuf_printf(&i->text, "[%2u] %016llx ", number, (ull)a->addr);
	if (a->handler > KSIGNAL_IGNORE)
		strbuf_printf(&i->text, "%12llx", (ull)a->handler);
	else
		strbuf_printf(&i->text, "%12s",
			      a->handler == KSIGNAL_IGNORE ? "SIG_IGN" : "SIG_DFL");
	strbuf_printf(&i->text, " %016llx %llx", (ull)a->mask, (ull)a->flags);
	if (a->flags) {
		strbuf_str(&i->text, " (");
		ksignal_flags(a->flags, &i->text);
		strbuf_char(&i->text, ')');
	}
	strbuf_char(&i->text, '\n');
}

struct queue_text {
	struct inspect *i;
	u32 nr;
};

static int print_queued(void *ctx, u32 number, u64 info)
{
	struct queue_text *t = ctx;
	struct inspect *i = t->i;
	if (i->app->json) {
		json_object(&i->j);
		json_put_u64(&i->j, "signal", number);
		inspect_json_address(i, "siginfo", info);
		json_object_end(&i->j);
	} else {
		if (!t->nr)
			strbuf_str(&i->text, " SIG  SIGINFO\n");
		strbuf_printf(&i->text, "              %2u  %016llx\n", number, (ull)info);
	}
	t->nr++;
	return 0;
}

/* A signal may be pending without an entry: memory for one was short. */
static int print_pending(struct inspect *i, struct ksignals *s, const struct ktask *t, bool shared,
			 u64 set)
{
	struct queue_text q = { .i = i };
	struct walk_result end;
	if (i->app->json) {
		json_key(&i->j, shared ? "shared" : "private");
		json_object(&i->j);
		inspect_json_address(i, "signal", set);
		json_key(&i->j, "queue");
		json_array(&i->j);
	} else {
		strbuf_printf(&i->text, "%s_PENDING\n    SIGNAL: %016llx\n  SIGQUEUE: ",
			      shared ? "SHARED" : "PRIVATE", (ull)set);
	}
	int err = ksignals_each(s, t, shared, print_queued, &q, &end);
	if (i->app->json) {
		json_array_end(&i->j);
		json_object_end(&i->j);
	} else if (!q.nr) {
		strbuf_str(&i->text, "(empty)\n");
	}
	if (!err && end.end != WALK_ENDED)
		diag_warn(&i->app->diag,
			  "the signals of task %u changed while they were read: some may be "
			  "missing",
			  t->pid);
	return err;
}

static void print_missing(struct inspect *i, const struct ktask *t)
{
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_task(i, t);
		json_put_str(&i->j, "missing", "the task is exiting");
		json_object_end(&i->j);
		return;
	}
	inspect_task_head(i, t);
	strbuf_str(&i->text, "    (the task is exiting)\n\n");
}

static void begin_state(struct inspect *i, const struct ktask *t, const struct ksignal_state *s)
{
	bool pending = (s->private | s->shared) & ~s->blocked;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_task(i, t);
		inspect_json_address(i, "signal_struct", s->signal);
		inspect_json_address(i, "sighand_struct", s->sighand);
		json_put_s64(&i->j, "threads", s->nr_threads);
		json_put_bool(&i->j, "pending", pending);
		inspect_json_address(i, "blocked", s->blocked);
		json_key(&i->j, "actions");
		json_array(&i->j);
	} else {
		inspect_task_head(i, t);
		strbuf_printf(&i->text,
			      "SIGNAL_STRUCT: %016llx  NR_THREADS: %d\n"
			      " SIG    SIGACTION         HANDLER       MASK       FLAGS\n",
			      (ull)s->signal, s->nr_threads);
	}
	for (u32 n = 0; n < KSIGNALS; n++)
		print_action(i, n + 1, &s->actions[n]);
	if (i->app->json)
		json_array_end(&i->j);
	else
		strbuf_printf(&i->text, "SIGPENDING: %s\n   BLOCKED: %016llx\n",
			      pending ? "yes" : "no", (ull)s->blocked);
}

int inspect_task_sig(struct inspect *i, const struct ktask *t)
{
	struct ksignals s;
	struct ksignal_state state;
	int err = ksignals_open(&s, &i->k);
	if (!err)
		err = ksignals_read(&s, t, &state);
	if (err == -ESRCH) {
		print_missing(i, t);
		return 0;
	}
	if (err)
		return err;
	begin_state(i, t, &state);
	err = print_pending(i, &s, t, false, state.private);
	if (!err)
		err = print_pending(i, &s, t, true, state.shared);
	if (i->app->json)
		json_object_end(&i->j);
	else
		strbuf_char(&i->text, '\n');
	return err;
}

/* ---- -g: a process with all its threads -------------------------------------------------------------------------------------- */

static int each_of_group(void *ctx, const struct walk_node *node)
{
	struct inspect *i = ctx;
	struct ktask t;
	return ktasks_read(&i->tasks, node->addr, &t) ? 0 : inspect_task_sig(i, &t);
}

static int group_of(struct inspect *i, const struct ktask *t)
{
	/* Threads of a process follow each other in the list of tasks. */
	if (i->group == t->tgid + 1ull)
		return 0;
	i->group = t->tgid + 1ull;
	const struct walk_list threads = { .kind = WALK_LIST_HEAD,
					   .start = t->signal + i->tasks.at.thread_head,
					   .offset = i->tasks.at.thread_node };
	int err = walk_list(&i->k, &threads, each_of_group, i, &i->walk);
	i->walked = !err;
	/* On some kernels init_task is on no such list. */
	return err || i->walk.nr ? err : inspect_task_sig(i, t);
}

int inspect_sig(struct inspect *i, int argc, char **argv)
{
	u64 set;
	if (i->o->signal_names + !!i->o->sigset + i->o->group > 1)
		return inspect_usage(i, "-l, -s and -g exclude each other");
	if (!i->o->signal_names && !i->o->sigset)
		return inspect_for_tasks(i, argc, argv, i->o->group ? group_of : inspect_task_sig);
	if (argc)
		return inspect_usage(i, "unexpected argument");
	if (i->o->signal_names) {
		print_list(i, UINT64_MAX);
		return 0;
	}
	if (num_parse_u64(i->o->sigset, 16, &set))
		return inspect_usage(i, "invalid signal set: up to 16 hexadecimal digits");
	print_list(i, set);
	return 0;
}
