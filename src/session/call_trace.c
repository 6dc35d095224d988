#include "session/call_trace.h"

#include "base/dict.h"
#include "bpf/capture.h"
#include "session/fd_names.h"
#include "stream/run.h"
#include "view/json_fields.h"
#include "view/text_trace.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	THREADS_KEPT = 65536,
	DATA_KEPT = 64 << 20, /* bytes of what arguments point to, of all threads */
	DATA_SMALL = 1024, /* what a thread keeps from call to call */
};

enum event_role { ROLE_UNKNOWN, ROLE_ENTER, ROLE_EXIT, ROLE_CAPTURED, ROLE_FAULT, ROLE_OTHER };

struct traced_event {
	enum event_role role;
	const struct schema_field *id, *value; /* args or ret */
	u16 *before; /* for JSON */
	u64 nr; /* shown */
};

struct call_trace_impl {
	struct source *src;
	struct syscall_table *table;
	struct strbuf *out;
	struct strbuf line; /* JSON */
	struct text_trace text;
	VEC(struct traced_event) looks; /* [event] */
	VEC(struct syscall_thread) threads;
	VEC(u32) free_threads;
	struct dict index; /* tid -> thread */
	size_t data_bytes; /* of all threads */
	struct fd_names fds;
	struct dict children; /* pids that have their parent's descriptors, and were not seen so far */
	u64 nr_lost; /* by then */
	u32 current; /* the thread whose call may have to be shown as begun; DICT_NONE */
	bool any;
	/* Frames, when they are wanted: of the round that is being printed. */
	const struct frame_table *frames;
	struct names_result named;
};

/* ---- threads ---------------------------------------------------------------------------------------------------- */

/* Threads that are gone were not all seen to go: those that have not been heard of for longest are forgotten. */
static int by_last(const void *a, const void *b)
{
	const struct syscall_thread *const *x = a, *const *y = b;
	return (*x)->last_ns < (*y)->last_ns ? -1 : (*x)->last_ns > (*y)->last_ns;
}

static void free_data(struct call_trace_impl *t, struct syscall_data *data)
{
	t->data_bytes -= data->size;
	free(data->bytes);
	*data = (struct syscall_data){ 0 };
}

static int forget(struct call_trace_impl *t, u32 at)
{
	u32 *slot = vec_push(&t->free_threads);
	if (!slot)
		return -ENOMEM;
	free_data(t, &t->threads.at[at].data);
	t->threads.at[at].inside = false; /* it is no parent any more */
	*slot = at;
	(void)dict_remove(&t->index, (u32)t->threads.at[at].tid);
	if (t->current == at)
		t->current = DICT_NONE;
	return 0;
}

static int forget_half(struct call_trace_impl *t)
{
	const struct syscall_thread **all =
		calloc(t->threads.nr, sizeof(const struct syscall_thread *));
	int err = 0;
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < t->threads.nr; i++)
		all[i] = &t->threads.at[i];
	qsort(all, t->threads.nr, sizeof(*all), by_last);
	for (size_t i = 0; i < t->threads.nr / 2 && !err; i++)
		err = forget(t, (u32)(all[i] - t->threads.at));
	free(all);
	return err;
}

static s64 new_thread(struct call_trace_impl *t)
{
	if (t->free_threads.nr)
		return t->free_threads.at[--t->free_threads.nr];
	if (t->threads.nr >= THREADS_KEPT) {
		int err = forget_half(t);
		return err ? err : (s64)t->free_threads.at[--t->free_threads.nr];
	}
	return vec_push(&t->threads) ? (s64)t->threads.nr - 1 : -ENOMEM;
}

static void set_name(struct call_trace_impl *t, struct syscall_thread *th, u32 comm)
{
	if (th->comm[0] && th->comm_id == comm)
		return;
	th->comm_id = comm;
	if (COMM_IS_UNNAMED(comm))
		(void)snprintf(th->comm, sizeof(th->comm), ":%d", th->tid);
	else
		(void)snprintf(th->comm, sizeof(th->comm), "%s",
			       strtab_str(&t->src->catalog.strings, comm));
}

static s64 thread_of(struct call_trace_impl *t, const struct sample *s)
{
	u32 at = dict_get(&t->index, (u32)s->tid);
	if (at == DICT_NONE) {
		s64 fresh = new_thread(t);
		if (fresh < 0)
			return fresh;
		at = (u32)fresh;
		if (dict_put(&t->index, (u32)s->tid, at))
			return -ENOMEM;
		t->threads.at[at] = (struct syscall_thread){ .pid = s->pid, .tid = s->tid };
	}
	struct syscall_thread *th = &t->threads.at[at];
	th->last_ns = s->time_ns;
	th->pid = s->pid;
	set_name(t, th, s->comm);
	return at;
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

/* perf takes those that are not told apart for minor ones. */
static bool is_fault(const struct event_info *e)
{
	return e->type == PERF_TYPE_SOFTWARE && (e->config == PERF_COUNT_SW_PAGE_FAULTS ||
						 e->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
						 e->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

bool call_trace_has_faults(const struct source *src)
{
	for (size_t i = 0; i < src->catalog.events.nr; i++)
		if (is_fault(&src->catalog.events.at[i]))
			return true;
	return false;
}

static int find_role(const struct call_trace *c, struct traced_event *l, const struct sample *s)
{
	const struct schema *sc = s->schema;
	const char *name = c->impl->src->catalog.events.at[s->event].name;
	l->role = c->o.captured && name && !strcmp(name, "bpf-output") ? ROLE_CAPTURED : ROLE_OTHER;
	if (c->o.faults && is_fault(&c->impl->src->catalog.events.at[s->event]))
		l->role = ROLE_FAULT;
	if (!sc)
		return 0;
	if (!strcmp(sc->system, "raw_syscalls") && c->o.syscalls && !c->o.captured) {
		bool enter = !strcmp(sc->name, "sys_enter");
		l->id = schema_find(sc, "id");
		l->value = schema_find(sc, enter ? "args" : "ret");
		if (l->id && l->value)
			l->role = enter ? ROLE_ENTER : ROLE_EXIT;
	}
	return c->o.json ? json_fields_before(sc, &l->before) : 0;
}

static struct traced_event *look_at(const struct call_trace *c, const struct sample *s)
{
	struct call_trace_impl *t = c->impl;
	while (t->looks.nr <= s->event)
		if (!vec_push(&t->looks))
			return NULL;
	struct traced_event *l = &t->looks.at[s->event];
	return l->role || !find_role(c, l, s) ? l : NULL;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static void count_line(struct call_trace *c)
{
	c->nr_lines++;
	c->enough |= c->o.max_lines && c->nr_lines >= c->o.max_lines;
}

static void put_json(struct call_trace_impl *t)
{
	strbuf_add(t->out, t->line.data, t->line.len);
	strbuf_reset(&t->line);
}

/* As perf does: a frame a line, indented. */
static void put_stack(const struct call_trace *c, const struct sample *s)
{
	const struct call_trace_impl *t = c->impl;
	if (!c->o.stacks || c->o.json || !t->frames)
		return;
	u64 limit = c->o.max_stack ? c->o.max_stack : s->nr_places;
	for (u32 i = 0; i < s->nr_places && i < limit; i++) {
		u32 id = s->places[i].frame;
		const struct name_func *f = &t->named.funcs[t->named.func_of[id]];
		const struct image_info *image =
			&t->src->catalog.images.at[t->frames->frames[id].image];
		strbuf_fill(t->out, ' ', 39);
		if (f->name)
			strbuf_str(t->out, f->label ? f->label : f->name);
		else
			strbuf_str(t->out, "[unknown]");
		strbuf_printf(t->out, " (%s)\n", image->name ? image->name : "[unknown]");
	}
}

/* The line that was begun last is ended by any other. */
static void interrupt(struct call_trace *c)
{
	struct call_trace_impl *t = c->impl;
	if (t->current == DICT_NONE || c->o.failures || c->o.min_ns || c->o.json)
		return;
	struct syscall_thread *th = &t->threads.at[t->current];
	if (!th->inside || th->printed || !th->enter_ns || th->before_exec || th->hidden ||
	    th->judged_last)
		return;
	text_trace_begun(&t->text, th, t->out);
	th->printed = true;
	count_line(c);
}

static bool is_shown(const struct call_trace *c, u64 nr)
{
	const struct syscall_set *set = c->o.calls;
	return c->o.syscalls && (!set || (nr < sizeof(set->has) && set->has[nr]));
}

static bool is_kept(const struct call_trace *c, u64 nr, const struct syscall_thread *th, bool ended)
{
	const struct call_filter_env env = { .fd_name = c->impl->text.fd_name,
					     .ctx = c->impl->text.fd_names };
	return !th->judged_last || call_filters_keep(c->o.filters, nr, th, ended, &env);
}

/* What a record of the kernel's side says, whichever kind of event it came by. */
struct traced_call {
	u64 nr;
	u64 args[SYSCALL_ARGS];
	s64 ret;
	const struct captured *captured; /* NULL: only numbers */
};

static int reserve_data(struct call_trace *c, struct syscall_data *data, size_t bytes)
{
	struct call_trace_impl *t = c->impl;
	size_t want = data->used + bytes;
	if (want <= data->size)
		return 0;
	want = max((want + 63) & ~(size_t)63, (size_t)128);
	if (t->data_bytes - data->size + want > DATA_KEPT)
		return -E2BIG;
	u8 *more = realloc(data->bytes, want);
	if (!more)
		return -ENOMEM;
	t->data_bytes += want - data->size;
	data->bytes = more;
	data->size = (u32)want;
	return 0;
}

static void keep_pieces(struct call_trace *c, struct syscall_thread *th, const struct captured *from)
{
	bool dropped = false;
	if (from->kind == CAPTURE_ENTER) {
		if (th->data.size > DATA_SMALL)
			free_data(c->impl, &th->data);
		th->data.used = 0;
		memset(th->data.len, 0, sizeof(th->data.len));
	}
	for (u32 i = 0; i < SYSCALL_PIECES; i++) {
		s16 len = from->len[i];
		if (!len || (len < 0 && th->data.len[i] > 0))
			continue;
		if (len > 0 && reserve_data(c, &th->data, (size_t)len)) {
			dropped = true;
			continue;
		}
		th->data.at[i] = th->data.used;
		th->data.len[i] = len;
		if (len > 0) {
			memcpy(th->data.bytes + th->data.used, from->data[i], (size_t)len);
			th->data.used += (u32)len;
		}
	}
	c->nr_dropped += dropped;
}

static int enter(struct call_trace *c, const struct traced_call *e, const struct sample *s)
{
	struct call_trace_impl *t = c->impl;
	u64 nr = e->nr;
	s64 at = thread_of(t, s);
	if (at < 0)
		return (int)at;
	struct syscall_thread *th = &t->threads.at[at];
	bool silent = e->captured && e->captured->before_exec;
	if (c->o.lines && is_shown(c, nr) && !silent)
		interrupt(c);
	if (c->enough)
		return 0;
	th->call = syscall_table_at(t->table, nr);
	if (!th->call)
		return -ENOMEM;
	th->nr = nr;
	memcpy(th->args, e->args, sizeof(th->args));
	if (e->captured)
		keep_pieces(c, th, e->captured);
	th->enter_ns = s->time_ns;
	th->hidden = !is_shown(c, nr);
	th->inside = !th->hidden || (c->o.captured && th->call->fd_effect);
	th->printed = false;
	th->judged_last = c->o.filters && call_filters_concern(c->o.filters, nr);
	th->before_exec = silent;
	/* Times count from the exec that succeeds. */
	if (silent && !c->o.full_time && !c->nr_lines)
		t->text.base_ns = s->time_ns;
	if (!th->inside)
		return 0;
	if (!th->call->never_returns) {
		if (!th->hidden)
			t->current = (u32)at;
		return 0;
	}
	if (!th->hidden && c->o.lines && !c->o.failures && !c->o.min_ns &&
	    is_kept(c, nr, th, false)) {
		if (c->o.json) {
			json_trace_call(th, false, &t->line);
			put_json(t);
		} else {
			text_trace_begun(&t->text, th, t->out);
		}
		count_line(c);
	}
	th->inside = false;
	return c->o.fd_names ? fd_names_follow(&t->fds, th) : 0;
}

/* The process that is making a child just now; 0: none, or more than one. */
static s32 find_parent(const struct call_trace_impl *t)
{
	s32 pid = 0;
	vec_for_each (&t->threads, th) {
		if (!th->inside || !fd_names_forks(th->call))
			continue;
		if (pid && pid != th->pid)
			return 0;
		pid = th->pid;
	}
	return pid;
}

/*
 * The end of a call that makes a child is seen twice, by parent and child, in either order. The first one copies what the parent has open: the
 * call is not over then, or just now. Threads are no children.
 */
static int follow_fork(struct call_trace *c, const struct syscall_thread *th)
{
	struct call_trace_impl *t = c->impl;
	if (!th->ret) {
		bool copied = dict_remove(&t->children, (u32)th->tid) != DICT_NONE;
		if (th->pid != th->tid) /* what clone3() did not say: a thread has none of its own */
			return copied ? fd_names_inherit(&t->fds, 0, th->tid) : 0;
		return copied ? 0 : fd_names_inherit(&t->fds, find_parent(t), th->pid);
	}
	u32 child = th->ret > 0 ? dict_get(&t->index, (u32)th->ret) : DICT_NONE;
	bool thread = !strcmp(th->call->name, "clone") && th->args[0] & CLONE_THREAD;
	bool born = child != DICT_NONE && t->threads.at[child].last_ns >= th->enter_ns;
	if (th->ret <= 0 || thread || born || !th->enter_ns)
		return 0;
	if (t->children.nr >= THREADS_KEPT) { /* of threads, whose clone3() does not say so */
		dict_done(&t->children);
		dict_init(&t->children);
	}
	int err = dict_put(&t->children, (u32)th->ret, 1);
	return err ? err : fd_names_inherit(&t->fds, th->pid, (s32)th->ret);
}

static int leave(struct call_trace *c, const struct traced_call *e, const struct sample *s)
{
	struct call_trace_impl *t = c->impl;
	u64 nr = e->nr;
	bool hidden = !is_shown(c, nr);
	if ((s64)nr < 0 || (hidden && !c->o.captured)) /* -1: of rt_sigreturn */
		return 0;
	s64 at = thread_of(t, s);
	if (at < 0)
		return (int)at;
	struct syscall_thread *th = &t->threads.at[at];
	const struct syscall *call = syscall_table_at(t->table, nr);
	if (!call)
		return -ENOMEM;
	if (!th->inside || th->call != call) { /* its beginning was not seen, or lost */
		th->call = call;
		th->enter_ns = 0;
		th->printed = false;
		th->data.used = 0;
		memset(th->data.len, 0, sizeof(th->data.len));
	}
	th->before_exec = false;
	if (e->captured)
		keep_pieces(c, th, e->captured);
	th->exit_ns = s->time_ns;
	th->ret = e->ret;
	th->ret_comm = NULL;
	if (call->result == SYSCALL_RETURNS_PID && th->ret > 0) {
		u32 other = dict_get(&t->index, (u32)th->ret);
		th->ret_comm = other == DICT_NONE ? NULL : t->threads.at[other].comm;
	}
	th->judged_last = !hidden && c->o.filters && call_filters_concern(c->o.filters, nr);
	bool kept = !hidden && is_kept(c, nr, th, true);
	int err = c->o.summary && kept ? syscall_stat_add(&c->stat, th) : 0;
	bool shown = kept && c->o.lines && (!c->o.failures || syscall_failed(th->ret)) &&
		     (!c->o.min_ns || (th->enter_ns && th->exit_ns - th->enter_ns >= c->o.min_ns));
	if (shown && !err) {
		if (c->o.json) {
			json_trace_call(th, true, &t->line);
			put_json(t);
		} else {
			text_trace_call(&t->text, th, t->out);
		}
		put_stack(c, s);
		count_line(c);
	}
	th->inside = false;
	if (!err && c->o.fd_names)
		err = fd_names_forks(call) ? follow_fork(c, th) : fd_names_follow(&t->fds, th);
	return err;
}

/* Of raw_syscalls. */
static struct traced_call read_event(const struct traced_event *l, const struct sample *s)
{
	struct traced_call e = { .nr = schema_u64(s->schema, l->id, s->raw, s->raw_size) };
	struct schema_field one = { .size = s->schema->long_size };
	u32 len, size = s->schema->long_size;
	if (l->role == ROLE_EXIT) {
		e.ret = (s64)schema_u64(s->schema, l->value, s->raw, s->raw_size);
		return e;
	}
	const u8 *args = schema_bytes(s->schema, l->value, s->raw, s->raw_size, &len);
	for (u32 i = 0; args && i < SYSCALL_ARGS && (i + 1) * size <= len; i++)
		e.args[i] = schema_u64(s->schema, &one, args + (size_t)i * size, size);
	return e;
}

static int captured(struct call_trace *c, const struct sample *s)
{
	struct captured from;
	if (!s->raw || !capture_decode(s->raw, s->raw_size, &from))
		return 0;
	struct traced_call e = { .nr = from.nr, .ret = from.ret, .captured = &from };
	memcpy(e.args, from.args, sizeof(e.args));
	return from.kind == CAPTURE_ENTER ? enter(c, &e, s) : leave(c, &e, s);
}

static struct text_trace_place fault_place(const struct call_trace_impl *t, u64 addr, u32 id,
					   bool code)
{
	struct text_trace_place p = { .addr = addr };
	if (!id || !t->frames)
		return p;
	const struct frame *f = &t->frames->frames[id];
	const struct name_func *func = &t->named.funcs[t->named.func_of[id]];
	const struct image_info *image = &t->src->catalog.images.at[f->image];
	if (f->image != IMAGE_NONE)
		p.map = image_has_path(image) ? image->path : image->name;
	p.symbol = code ? func->name : NULL;
	p.offset = f->offset - (p.symbol ? func->start : 0);
	return p;
}

static void print_fault(struct call_trace *c, const struct syscall_thread *th,
			const struct sample *s)
{
	struct call_trace_impl *t = c->impl;
	const struct event_info *e = &t->src->catalog.events.at[s->event];
	struct text_trace_fault f = { .major = e->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ,
				      .kernel = s->mode == FRAME_KERNEL,
				      .code = fault_place(t, s->ip, s->leaf, true),
				      .data = fault_place(t, s->addr, s->data, false) };
	if (c->o.json) {
		json_trace_fault(th, e->name, s, &f, &t->line);
		put_json(t);
	} else {
		text_trace_fault(&t->text, th, s->time_ns, &f, t->out);
	}
}

static int other(struct call_trace *c, struct traced_event *l, const struct sample *s)
{
	struct call_trace_impl *t = c->impl;
	const char *name = t->src->catalog.events.at[s->event].name;
	u64 limit = c->o.max_of ? c->o.max_of[s->event] : 0;
	s64 at = thread_of(t, s);
	if (at < 0)
		return (int)at;
	if (!c->o.lines || (limit && l->nr >= limit))
		return 0;
	interrupt(c);
	if (c->enough)
		return 0;
	l->nr++;
	if (l->role == ROLE_FAULT) {
		print_fault(c, &t->threads.at[at], s);
	} else if (c->o.json) {
		json_trace_event(&t->threads.at[at], name, l->before, s, &t->line);
		put_json(t);
	} else {
		text_trace_event(&t->text, &t->threads.at[at], name, s, t->out);
	}
	put_stack(c, s);
	count_line(c);
	return 0;
}

/* ---- the sink --------------------------------------------------------------------------------------------------- */

static int count_event(struct call_trace *c, const struct traced_event *l, const struct sample *s)
{
	struct call_trace_impl *t = c->impl;
	c->nr_events++;
	if (!c->o.summary)
		return 0;
	s64 at = thread_of(t, s);
	struct syscall_task *task = at < 0 ? NULL : syscall_stat_task(&c->stat, &t->threads.at[at]);
	if (!task)
		return -ENOMEM;
	task->nr_events++;
	if (l->role == ROLE_FAULT)
		task->nr_faults[t->src->catalog.events.at[s->event].config ==
				PERF_COUNT_SW_PAGE_FAULTS_MAJ]++;
	c->stat.nr_events++;
	return 0;
}

static int feed_one(struct call_trace *c, const struct sample *s)
{
	struct call_trace_impl *t = c->impl;
	struct traced_event *l = look_at(c, s);
	int err = l ? count_event(c, l, s) : -ENOMEM;
	if (!t->any) {
		t->any = true;
		if (!c->o.full_time)
			t->text.base_ns = s->time_ns;
	}
	if (err)
		return err;
	if (l->role == ROLE_CAPTURED)
		return captured(c, s);
	if (l->role == ROLE_OTHER || l->role == ROLE_FAULT)
		return other(c, l, s);
	struct traced_call e = read_event(l, s);
	return l->role == ROLE_ENTER ? enter(c, &e, s) : leave(c, &e, s);
}

static int feed(struct sink *k, void *state, const struct batch *b)
{
	struct call_trace *c = state;
	int err = 0;
	(void)k;
	for (size_t i = 0; i < b->nr && !err && !c->enough; i++)
		err = feed_one(c, &b->samples[i]);
	return err ? err : c->impl->line.err ? c->impl->line.err : c->impl->out->err;
}

static int shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	(void)index;
	(void)sh;
	*state = container_of(k, struct call_trace, sink);
	return 0;
}

static void show_unfinished(struct call_trace *c)
{
	struct call_trace_impl *t = c->impl;
	if (!c->o.unfinished || !c->o.lines || c->o.failures || c->o.min_ns)
		return;
	for (size_t i = 0; i < t->threads.nr && !c->enough; i++) {
		struct syscall_thread *th = &t->threads.at[i];
		if (!th->inside || th->printed || !th->enter_ns || th->before_exec || th->hidden ||
		    dict_get(&t->index, (u32)th->tid) != i || !is_kept(c, th->nr, th, false))
			continue;
		if (c->o.json) {
			json_trace_call(th, false, &t->line);
			put_json(t);
		} else {
			text_trace_begun(&t->text, th, t->out);
		}
		count_line(c);
	}
}

static int round_done(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	struct call_trace *c = container_of(k, struct call_trace, sink);
	struct call_trace_impl *t = c->impl;
	(void)tables;
	/* A close that was lost makes a name wrong. */
	if (t->src->catalog.nr_lost != t->nr_lost)
		fd_names_forget(&t->fds);
	t->nr_lost = t->src->catalog.nr_lost;
	if (r->last)
		show_unfinished(c);
	int err = strbuf_flush(c->impl->out);
	return err ? err : c->enough;
}

static const struct sink_ops trace_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_COMM,
	.shard_new = shard_new,
	.feed = feed,
	.round_done = round_done,
};

/* With frames: a round is read once to learn which there are, and printed when they have names. */
static int learn(struct sink *k, void *state, const struct batch *b)
{
	(void)k;
	(void)state;
	(void)b;
	return 0;
}

static int printer_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	(void)index;
	(void)sh;
	*state = container_of(k, struct call_trace, printer);
	return 0;
}

static const struct sink_ops printer_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_COMM | NEED_LEAF,
	.shard_new = printer_new,
	.feed = feed,
};

static int print_round(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	struct call_trace *c = container_of(k, struct call_trace, sink);
	struct call_trace_impl *t = c->impl;
	int err = c->o.names->ops->resolve(c->o.names, &t->src->catalog, &tables->frames,
					   WANT_SYMBOL, &t->named);
	t->frames = &tables->frames;
	if (!err)
		err = stream_run_named(t->src, &c->printer, 1, &tables->frames, NULL);
	t->frames = NULL;
	return err ? err : round_done(k, tables, r);
}

static const struct sink_ops learn_ops = {
	.needs = NEED_LEAF,
	.shard_new = shard_new,
	.feed = learn,
	.round_done = print_round,
};

static const char *fd_name(const void *ctx, s32 pid, s32 fd)
{
	return fd_names_get(ctx, pid, fd);
}

int call_trace_init(struct call_trace *c, const struct call_trace_opts *o, struct source *src,
		    struct syscall_table *table, struct strbuf *out)
{
	const struct sink_ops *ops = o->names ? &learn_ops : &trace_ops;
	*c = (struct call_trace){ .o = *o,
				  .sink = { .ops = ops, .needs = ops->needs },
				  .printer = { .ops = &printer_ops, .needs = printer_ops.needs } };
	if (o->names) {
		unsigned data = o->faults ? NEED_DATA : 0;
		c->sink.needs |= data | (o->stacks ? NEED_FRAMES : 0);
		c->printer.needs |= data | (o->stacks ? NEED_PLACES : 0);
	}
	c->impl = calloc(1, sizeof(*c->impl));
	if (!c->impl)
		return -ENOMEM;
	c->impl->src = src;
	c->impl->table = table;
	c->impl->out = out;
	c->impl->current = DICT_NONE;
	strbuf_init(&c->impl->line);
	dict_init(&c->impl->index);
	text_trace_init(&c->impl->text);
	c->impl->text.tasks = o->tasks;
	c->impl->text.durations = o->syscalls;
	c->impl->text.colour = o->colour;
	c->impl->text.as_perf = o->as_perf;
	c->impl->text.zeros = o->zeros;
	syscall_stat_init(&c->stat, o->together);
	fd_names_init(&c->impl->fds);
	dict_init(&c->impl->children);
	c->impl->text.fd_name = o->fd_names ? fd_name : NULL;
	c->impl->text.fd_names = &c->impl->fds;
	return 0;
}

int call_trace_add_process(struct call_trace *c, const struct sysroot *root, s32 pid)
{
	return c->o.fd_names ? fd_names_read(&c->impl->fds, root, pid) : 0;
}

void call_trace_done(struct call_trace *c)
{
	struct call_trace_impl *t = c->impl;
	if (!t)
		return;
	vec_for_each (&t->looks, l)
		free(l->before);
	vec_free(&t->looks);
	vec_for_each (&t->threads, th)
		free(th->data.bytes);
	vec_free(&t->threads);
	vec_free(&t->free_threads);
	dict_done(&t->index);
	strbuf_done(&t->line);
	text_trace_done(&t->text);
	syscall_stat_done(&c->stat);
	fd_names_done(&t->fds);
	dict_done(&t->children);
	free(t);
	c->impl = NULL;
}
