#include "session/sched_critical.h"

#include "base/json.h"
#include "base/printable.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
	const char *word; /* of JSON */
	const char *text; /* "writer[12] runs" */
} kinds[] = {
	[CRITICAL_ROOT] = { "interval", "" },
	[CRITICAL_RUNNING] = { "running", "running" },
	[CRITICAL_READY] = { "ready", "waiting for a CPU" },
	[CRITICAL_FOR_OTHERS] = { "for-others", "blocked" },
	[CRITICAL_INTERRUPT] = { "interrupt", "blocked until an interrupt (timer, device)" },
	[CRITICAL_UNSEEN] = { "unseen", "blocked, nobody was seen waking it" },
	[CRITICAL_UNKNOWN] = { "unknown", "unknown" },
};

/* ---- text ---- */

static void add_thread(const struct sched_critical_view *v, u32 thread, struct strbuf *to)
{
	const struct thread_states *ts = critical_states(v->critical);
	const char *comm = thread_comm(ts, thread);
	printable_name(to, *comm ? comm : "?");
	strbuf_printf(to, "[%d]", thread_at(ts, thread)->tid);
}

static void add_time(u64 ns, u64 all_ns, struct strbuf *to)
{
	strbuf_printf(to, "%12.3f ms %6.2f %%  ", (double)ns / 1e6,
		      100 * (double)ns / (double)all_ns);
}

static void print_node(const struct sched_critical_view *v, const struct critical_node *n,
		       u64 all_ns, struct strbuf *to)
{
	const char *label = critical_label(v->critical, n->label);
	add_time(n->ns, all_ns, to);
	strbuf_fill(to, ' ', 2 * n->depth);
	add_thread(v, n->thread, to);
	if (n->kind == CRITICAL_ROOT) {
		strbuf_char(to, '\n');
		return;
	}
	strbuf_printf(to, " %s, %llux", kinds[n->kind].text, (unsigned long long)n->nr);
	if (*label)
		strbuf_printf(to, ": %s", label);
	strbuf_char(to, '\n');
}

static u64 sum_of(const struct critical_thread *t)
{
	return t->running_ns + t->ready_ns + t->blocked_ns + t->unknown_ns;
}

static int longest_first(const void *pa, const void *pb)
{
	u64 a = *(const u64 *)pa, b = *(const u64 *)pb;
	return (a < b) - (a > b);
}

/* So that no more rows are longer. A node is never longer than the one that it is part of: no row is without those above it. */
static int find_least(const struct sched_critical_view *v, const struct critical_node *n, size_t nr,
		      u64 *ret)
{
	_cleanup_free_ u64 *ns = calloc(nr, sizeof(*ns));
	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		ns[i] = n[i].ns;
	qsort(ns, nr, sizeof(*ns), longest_first);
	*ret = v->max_rows && v->max_rows < nr ? ns[v->max_rows - 1] : 0;
	return 0;
}

static int print_tree(const struct sched_critical_view *v, struct strbuf *to)
{
	size_t nr, left_out = 0;
	const struct critical_node *n = critical_nodes(v->critical, &nr);
	u64 least_ns;
	int err = find_least(v, n, nr, &least_ns);
	for (size_t i = 0; i < nr && !err; i++) {
		if (n[i].ns >= least_ns)
			print_node(v, &n[i], n->ns, to);
		else
			left_out++;
	}
	if (left_out)
		strbuf_printf(to, "%26s(%zu shorter ones)\n", "", left_out);
	return err;
}

static void print_table(const struct sched_critical_view *v, struct strbuf *to)
{
	size_t nr;
	u64 from_ns, until_ns;
	const struct critical_thread *t = critical_threads(v->critical, &nr);
	(void)critical_span(v->critical, &from_ns, &until_ns);
	strbuf_printf(to, "\n%-28s %13s %13s %13s %13s  %s\n", "thread", "running ms", "no CPU ms",
		      "blocked ms", "unknown ms", "without it, at most shorter by");
	for (size_t i = 0; i < nr && (!v->max_rows || i < v->max_rows); i++) {
		size_t start = to->len;
		add_thread(v, t[i].thread, to);
		size_t len = to->len - start;
		strbuf_fill(to, ' ', len < 28 ? (u32)(28 - len) : 0);
		strbuf_printf(to, " %13.3f %13.3f %13.3f %13.3f  %.3f ms (%.2f %%)\n",
			      (double)t[i].running_ns / 1e6, (double)t[i].ready_ns / 1e6,
			      (double)t[i].blocked_ns / 1e6, (double)t[i].unknown_ns / 1e6,
			      (double)sum_of(&t[i]) / 1e6,
			      100 * (double)sum_of(&t[i]) / (double)(until_ns - from_ns));
	}
	if (v->max_rows && nr > v->max_rows)
		strbuf_printf(to, "(%zu others)\n", nr - v->max_rows);
}

/* ---- JSON ---- */

static void json_who(const struct sched_critical_view *v, u32 thread, struct json *j)
{
	const struct thread_states *ts = critical_states(v->critical);
	json_put_str(j, "comm", thread_comm(ts, thread));
	json_put_s64(j, "tid", thread_at(ts, thread)->tid);
}

static void json_node(const struct sched_critical_view *v, const struct critical_node *n,
		      struct json *j)
{
	const char *label = critical_label(v->critical, n->label);
	json_object(j);
	json_put_str(j, "kind", kinds[n->kind].word);
	json_who(v, n->thread, j);
	if (*label)
		json_put_str(j, "stack", label);
	json_put_u64(j, "ns", n->ns);
	json_put_u64(j, "count", n->nr);
	json_put_u64(j, "depth", n->depth);
	json_object_end(j);
}

static int print_json(const struct sched_critical_view *v, struct strbuf *to)
{
	struct json j;
	size_t nr;
	u64 from_ns, until_ns;
	(void)critical_span(v->critical, &from_ns, &until_ns);
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "from_ns", from_ns);
	json_put_u64(&j, "until_ns", until_ns);
	json_key(&j, "path");
	json_array(&j);
	const struct critical_node *n = critical_nodes(v->critical, &nr);
	for (size_t i = 0; i < nr; i++)
		json_node(v, &n[i], &j);
	json_array_end(&j);
	json_key(&j, "threads");
	json_array(&j);
	const struct critical_thread *t = critical_threads(v->critical, &nr);
	for (size_t i = 0; i < nr; i++) {
		json_object(&j);
		json_who(v, t[i].thread, &j);
		json_put_u64(&j, "running_ns", t[i].running_ns);
		json_put_u64(&j, "ready_ns", t[i].ready_ns);
		json_put_u64(&j, "blocked_ns", t[i].blocked_ns);
		json_put_u64(&j, "unknown_ns", t[i].unknown_ns);
		json_put_u64(&j, "shorter_at_most_ns", sum_of(&t[i]));
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

int sched_critical_print(const struct sched_critical_view *v, const struct tell *to)
{
	if (to->json)
		return print_json(v, to->out);
	int err = print_tree(v, to->out);
	if (!err)
		print_table(v, to->out);
	return err;
}
