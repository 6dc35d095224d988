#include "session/sched_why.h"

#include "base/json.h"
#include "base/printable.h"

#include <errno.h>
#include <stdlib.h>

struct why_text {
	const struct sched_why_view *v;
	const struct tell *to;
	struct json json;
	struct strtab labels; /* of waits: what they are joined by */
	struct strbuf label;
};

/* Waits that look the same: of several chains that differ where nobody sees it. */
struct why_wait {
	u32 label;
	char letter;
	u32 chain; /* one of them */
	u64 ns, nr;
	VEC(struct why_waker) wakers; /* by thread */
};

struct why_waits {
	VEC(struct why_wait) list;
	u32 *of; /* [blocked row] */
	struct dict by_label; /* label and letter -> index */
	struct dict by_waker; /* wait and waker -> index into its wakers */
};

static void json_frame(void *ctx, const char *name)
{
	json_str(ctx, name);
}

static const char *chain_text(struct why_text *t, u32 chain)
{
	return wait_chain_text(&t->v->chain, chain, &t->label);
}

/* ---- waits of a thread, joined ---- */

static int compare_u64(u64 a, u64 b)
{
	return (a < b) - (a > b);
}

static int compare_waits(const void *pa, const void *pb)
{
	const struct why_wait *a = pa, *b = pb;
	int c = compare_u64(a->ns, b->ns);
	return c ? c : compare_u64(b->label, a->label);
}

static int compare_wakers(const void *pa, const void *pb)
{
	const struct why_waker *a = pa, *b = pb;
	int c = compare_u64(a->ns, b->ns);
	return c ? c : compare_u64(b->waker, a->waker);
}

static int join_wait(struct why_text *t, struct why_waits *w, const struct why_blocked *b, u32 *ret)
{
	const char *text = chain_text(t, b->chain);
	s64 label = strtab_add(&t->labels, text, strlen(text));
	if (label < 0)
		return (int)label;
	int err = dict_add(&w->by_label, (u64)label << 8 | (u8)b->letter, (u32)w->list.nr, ret);
	if (err)
		return err;
	if (*ret < w->list.nr) {
		w->list.at[*ret].ns += b->ns;
		w->list.at[*ret].nr += b->nr;
		return 0;
	}
	struct why_wait *wait = vec_push(&w->list);
	if (!wait)
		return -ENOMEM;
	*wait = (struct why_wait){
		.label = (u32)label, .letter = b->letter, .chain = b->chain, .ns = b->ns, .nr = b->nr
	};
	return 0;
}

static int join_waker(struct why_waits *w, const struct why_waker *from)
{
	u32 wait = w->of[from->blocked], at;
	struct why_wait *to = &w->list.at[wait];
	int err =
		dict_add(&w->by_waker,
			 (u64)wait << 34 | (u64)from->waker << 2 | (u64)from->open << 1 | from->irq,
			 (u32)to->wakers.nr, &at);
	if (err)
		return err;
	if (at < to->wakers.nr) {
		to->wakers.at[at].ns += from->ns;
		to->wakers.at[at].nr += from->nr;
		return 0;
	}
	struct why_waker *k = vec_push(&to->wakers);
	if (!k)
		return -ENOMEM;
	*k = *from;
	return 0;
}

static void waits_done(struct why_waits *w)
{
	vec_for_each (&w->list, wait)
		vec_free(&wait->wakers);
	vec_free(&w->list);
	dict_done(&w->by_label);
	dict_done(&w->by_waker);
	free(w->of);
}

static int waits_of(struct why_text *t, const struct why_thread *th, struct why_waits *w)
{
	int err = 0;
	*w = (struct why_waits){ .of = calloc(th->blocked.nr + 1, sizeof(*w->of)) };
	dict_init(&w->by_label);
	dict_init(&w->by_waker);
	if (!w->of)
		return -ENOMEM;
	for (size_t i = 0; i < th->blocked.nr && !err; i++)
		err = join_wait(t, w, &th->blocked.at[i], &w->of[i]);
	for (size_t i = 0; i < th->wakers.nr && !err; i++)
		err = join_waker(w, &th->wakers.at[i]);
	vec_for_each (&w->list, wait)
		if (wait->wakers.nr)
			qsort(wait->wakers.at, wait->wakers.nr, sizeof(*wait->wakers.at),
			      compare_wakers);
	if (!err && w->list.nr)
		qsort(w->list.at, w->list.nr, sizeof(*w->list.at), compare_waits);
	return err;
}

/* ---- text ---- */

static void add_thread(struct why_text *t, u32 thread)
{
	const struct sched_thread *s = thread_at(t->v->states, thread);
	struct strbuf *to = t->to->out;
	printable_name(to, thread_comm(t->v->states, thread));
	if (s->tid && s->pid && s->pid != s->tid)
		strbuf_printf(to, "[%d/%d]", s->tid, s->pid);
	else if (s->tid)
		strbuf_printf(to, "[%d]", s->tid);
}

static void add_time(struct why_text *t, u64 ns, u64 wall_ns, unsigned indent)
{
	strbuf_fill(t->to->out, ' ', indent);
	strbuf_printf(t->to->out, "%6.2f %% %12.3f ms  ", 100 * (double)ns / (double)wall_ns,
		      (double)ns / 1e6);
}

enum { SECTION = 2, ROW = 4, BELOW = 6 };

static bool cut(const struct sched_why_view *v, size_t i)
{
	return v->max_rows && i >= v->max_rows;
}

static void add_others(struct why_text *t, u64 ns, u64 wall_ns, size_t nr, unsigned indent)
{
	if (!nr)
		return;
	add_time(t, ns, wall_ns, indent);
	strbuf_printf(t->to->out, "%zu others\n", nr);
}

static void print_ready(struct why_text *t, const struct why_thread *th)
{
	u64 rest = 0;
	size_t nr = 0;
	for (size_t i = 0; i < th->ready.nr; i++) {
		const struct why_ready *r = &th->ready.at[i];
		if (cut(t->v, i)) {
			rest += r->ns;
			nr++;
			continue;
		}
		add_time(t, r->ns, th->wall_ns, ROW);
		if (r->instead == THREAD_NONE)
			strbuf_str(t->to->out, "(not known)");
		else if (!thread_at(t->v->states, r->instead)->tid)
			strbuf_str(t->to->out, "nobody: the CPU was idle and had to wake up");
		else
			add_thread(t, r->instead);
		strbuf_char(t->to->out, '\n');
	}
	add_others(t, rest, th->wall_ns, nr, ROW);
}

static void print_wakers(struct why_text *t, const struct why_wait *w, u64 wall_ns)
{
	u64 rest = 0;
	size_t nr = 0;
	for (size_t i = 0; i < w->wakers.nr; i++) {
		const struct why_waker *k = &w->wakers.at[i];
		if (cut(t->v, i)) {
			rest += k->ns;
			nr++;
			continue;
		}
		add_time(t, k->ns, wall_ns, BELOW);
		if (k->irq)
			strbuf_str(t->to->out, "woken by an interrupt");
		else if (k->open)
			strbuf_str(t->to->out, "still waiting at the end");
		else if (k->waker == THREAD_NONE)
			strbuf_str(t->to->out, "nobody was seen waking it");
		else {
			strbuf_str(t->to->out, "woken by ");
			add_thread(t, k->waker);
		}
		strbuf_printf(t->to->out, ", %llux", (unsigned long long)k->nr);
		const char *stack = chain_text(t, k->chain);
		strbuf_printf(t->to->out, "%s%s\n", *stack ? ": " : "", stack);
	}
	add_others(t, rest, wall_ns, nr, BELOW);
}

static int print_blocked(struct why_text *t, const struct why_thread *th)
{
	struct why_waits w;
	int err = waits_of(t, th, &w);
	u64 rest = 0;
	size_t nr = 0;
	for (size_t i = 0; i < w.list.nr && !err; i++) {
		const struct why_wait *wait = &w.list.at[i];
		if (cut(t->v, i)) {
			rest += wait->ns;
			nr++;
			continue;
		}
		add_time(t, wait->ns, th->wall_ns, ROW);
		if (wait->letter)
			strbuf_printf(t->to->out, "%c ", wait->letter);
		strbuf_printf(t->to->out, "%llux", (unsigned long long)wait->nr);
		const char *label = strtab_str(&t->labels, wait->label);
		strbuf_printf(t->to->out, "%s%s\n", *label ? ": " : "", label);
		print_wakers(t, wait, th->wall_ns);
	}
	add_others(t, rest, th->wall_ns, nr, ROW);
	waits_done(&w);
	return err;
}

static int print_thread(struct why_text *t, const struct why_thread *th, bool first)
{
	struct strbuf *to = t->to->out;
	strbuf_str(to, first ? "" : "\n");
	add_thread(t, th->thread);
	strbuf_printf(to, ": %.3f ms", (double)th->wall_ns / 1e6);
	if (th->lossy_ns)
		strbuf_printf(to, " (events were lost during %.2f %% of it)",
			      100 * (double)th->lossy_ns / (double)th->wall_ns);
	strbuf_char(to, '\n');
	add_time(t, th->running_ns, th->wall_ns, SECTION);
	strbuf_str(to, "running\n");
	if (th->ready_ns) {
		add_time(t, th->ready_ns, th->wall_ns, SECTION);
		strbuf_str(to, "ready to run, while the CPU belonged to\n");
		print_ready(t, th);
	}
	int err = 0;
	if (th->blocked_ns) {
		add_time(t, th->blocked_ns, th->wall_ns, SECTION);
		strbuf_str(to, "blocked\n");
		err = print_blocked(t, th);
	}
	if (th->unknown_ns) {
		add_time(t, th->unknown_ns, th->wall_ns, SECTION);
		strbuf_str(to, "not known: before its first event, or events were lost\n");
	}
	return err;
}

/* ---- JSON ---- */

static void json_who(struct why_text *t, const char *key, u32 thread)
{
	const struct sched_thread *s = thread_at(t->v->states, thread);
	if (key) {
		json_key(&t->json, key);
		json_object(&t->json);
	}
	json_put_str(&t->json, "comm", thread_comm(t->v->states, thread));
	json_put_s64(&t->json, "tid", s->tid);
	if (s->pid)
		json_put_s64(&t->json, "pid", s->pid);
	if (key)
		json_object_end(&t->json);
}

static void json_stack(struct why_text *t, u32 chain)
{
	if (!t->v->chain.names)
		return;
	json_key(&t->json, "stack");
	json_array(&t->json);
	wait_chain_each(&t->v->chain, chain, json_frame, &t->json);
	json_array_end(&t->json);
}

static void json_wakers(struct why_text *t, const struct why_wait *w)
{
	json_key(&t->json, "woken_by");
	json_array(&t->json);
	vec_for_each (&w->wakers, k) {
		json_object(&t->json);
		if (k->waker != THREAD_NONE)
			json_who(t, "task", k->waker);
		json_put_bool(&t->json, "interrupt", k->irq);
		json_put_bool(&t->json, "at_end", k->open);
		json_put_u64(&t->json, "ns", k->ns);
		json_put_u64(&t->json, "count", k->nr);
		json_stack(t, k->chain);
		json_object_end(&t->json);
	}
	json_array_end(&t->json);
}

static int json_blocked(struct why_text *t, const struct why_thread *th)
{
	struct why_waits w;
	int err = waits_of(t, th, &w);
	json_key(&t->json, "blocked");
	json_array(&t->json);
	for (size_t i = 0; i < w.list.nr && !err; i++) {
		const struct why_wait *wait = &w.list.at[i];
		json_object(&t->json);
		json_put_str(&t->json, "state", (char[]){ wait->letter ? wait->letter : '?', 0 });
		json_put_u64(&t->json, "ns", wait->ns);
		json_put_u64(&t->json, "count", wait->nr);
		json_stack(t, wait->chain);
		json_wakers(t, wait);
		json_object_end(&t->json);
	}
	json_array_end(&t->json);
	waits_done(&w);
	return err;
}

static int json_thread(struct why_text *t, const struct why_thread *th)
{
	struct json *j = &t->json;
	json_object(j);
	json_who(t, NULL, th->thread);
	json_put_u64(j, "wall_ns", th->wall_ns);
	json_put_u64(j, "running_ns", th->running_ns);
	json_put_u64(j, "ready_ns", th->ready_ns);
	json_put_u64(j, "blocked_ns", th->blocked_ns);
	json_put_u64(j, "unknown_ns", th->unknown_ns);
	json_put_u64(j, "lossy_ns", th->lossy_ns);
	json_key(j, "ready");
	json_array(j);
	vec_for_each (&th->ready, r) {
		json_object(j);
		if (r->instead != THREAD_NONE)
			json_who(t, "instead", r->instead);
		json_put_u64(j, "ns", r->ns);
		json_object_end(j);
	}
	json_array_end(j);
	int err = json_blocked(t, th);
	json_object_end(j);
	return err;
}

/* ---- all ---- */

static bool among(const s32 *list, size_t nr, s32 v)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == v)
			return true;
	return false;
}

static bool is_wanted(const struct sched_why_view *v, u32 thread)
{
	const struct sched_thread *t = thread_at(v->states, thread);
	if (!v->nr_pids && !v->nr_tids)
		return true;
	return among(v->tids, v->nr_tids, t->tid) || among(v->pids, v->nr_pids, t->tid) ||
	       (t->pid && among(v->pids, v->nr_pids, t->pid));
}

s64 sched_why_print(const struct sched_why_view *v, const struct tell *to)
{
	struct why_text t = { .v = v, .to = to };
	size_t nr;
	const struct why_thread *all = sched_why_threads(v->why, &nr);
	bool chosen = v->nr_pids || v->nr_tids;
	s64 shown = 0;
	int err = 0;
	strtab_init(&t.labels);
	strbuf_init(&t.label);
	t.label.screen = to->out->screen;
	if (to->json) {
		json_begin(&t.json, to->out, JSON_PRETTY);
		json_array(&t.json);
	}
	for (size_t i = 0; i < nr && !err; i++) {
		if (!is_wanted(v, all[i].thread) ||
		    (!chosen && !to->json && v->max_threads && shown >= v->max_threads))
			continue;
		err = to->json ? json_thread(&t, &all[i]) : print_thread(&t, &all[i], !shown);
		shown++;
	}
	if (to->json) {
		json_array_end(&t.json);
		int ended = json_end(&t.json);
		err = err ? err : ended;
	}
	strtab_done(&t.labels);
	strbuf_done(&t.label);
	return err ? err : shown;
}
