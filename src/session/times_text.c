#include "session/times_text.h"

#include "base/json.h"
#include "view/latency.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH_STEP = 2, STACK_INDENT = 10, DEPTH_MAX = 128 };

/* Of the function or the function graph tracer. */
static bool is_function(const struct event_time *r)
{
	return r->kind == EVENT_TIME_FUNCTION ||
	       (r->kind == EVENT_TIME_COUNT && r->label == EVENT_TIME_FUNC);
}

static void put_label(const struct event_times_view *p, const struct event_time *r,
		      struct strbuf *to)
{
	const char *name;
	char state[16];
	switch (r->label) {
	case EVENT_TIME_PLAIN: break;
	case EVENT_TIME_STATE:
		event_times_state(r->key, state);
		strbuf_printf(to, ":%s", state);
		break;
	case EVENT_TIME_HEX:
		if (p->human && !p->json && r->kind == EVENT_TIME_WAKE) /* a task's number */
			strbuf_printf(to, ":%lld", (long long)r->key);
		else
			strbuf_printf(to, ":0x%llx", (unsigned long long)r->key);
		break;
	case EVENT_TIME_NUMBER: strbuf_printf(to, ":%lld", (long long)r->key); break;
	case EVENT_TIME_SOFTIRQ:
		name = event_times_softirq(r->key);
		if (name)
			strbuf_printf(to, ":%s", name);
		else
			strbuf_printf(to, ":%llu", (unsigned long long)r->key);
		break;
	case EVENT_TIME_FUNC:
		name = p->symbol(p->ctx, r->key);
		if (!is_function(r))
			strbuf_char(to, ':');
		if (name)
			strbuf_str(to, name);
		else
			strbuf_printf(to, "0x%llx", (unsigned long long)r->key);
		break;
	}
}

/* "sched_switch:S", "func: vfs_read()" */
static void put_name(const struct event_times_view *p, const struct event_time *r, struct strbuf *to)
{
	bool func = is_function(r);
	strbuf_str(to, func ? "func: " : r->event->name);
	put_label(p, r, to);
	if (func)
		strbuf_str(to, "()");
}

/* ---- text ---- */

static void put_ns(const struct event_times_view *p, const char *name, u64 ns)
{
	strbuf_str(p->to, name);
	if (p->human)
		latency_put_time(p->to, ns);
	else
		strbuf_u64(p->to, ns);
}

static void put_at(const struct event_times_view *p, const char *name, u64 ns, u64 at_ns)
{
	put_ns(p, name, ns);
	strbuf_printf(p->to, p->human ? " (at %llu.%06llu)" : "(ts:%llu.%06llu)",
		      (unsigned long long)((at_ns + 500) / 1000000000),
		      (unsigned long long)((at_ns + 500) / 1000 % 1000000));
}

static void put_stats(const struct event_times_view *p, const struct event_time_stats *t)
{
	put_ns(p, " Total: ", t->total_ns);
	put_ns(p, " Avg: ", t->total_ns / t->nr);
	put_at(p, " Max: ", t->max_ns, t->max_at_ns);
	put_at(p, p->human ? " Min: " : " Min:", t->min_ns, t->min_at_ns);
}

static void put_address(const struct event_times_view *p, u64 addr)
{
	const char *name = p->symbol(p->ctx, addr);
	strbuf_printf(p->to, "%s (0x%llx)\n", name ? name : "", (unsigned long long)addr);
}

static void put_margin(struct strbuf *to, const char *margin)
{
	strbuf_fill(to, ' ', STACK_INDENT);
	strbuf_str(to, margin);
}

static void sum_stacks(const struct event_time_stack *s, size_t nr, struct event_time_stats *sum)
{
	*sum = s[0].t;
	for (size_t i = 1; i < nr; i++) {
		sum->nr += s[i].t.nr;
		sum->total_ns += s[i].t.total_ns;
		if (s[i].t.max_ns > sum->max_ns) {
			sum->max_ns = s[i].t.max_ns;
			sum->max_at_ns = s[i].t.max_at_ns;
		}
		if (s[i].t.min_ns < sum->min_ns) {
			sum->min_ns = s[i].t.min_ns;
			sum->min_at_ns = s[i].t.min_at_ns;
		}
	}
}

/* How far they are equal, from `from` on. */
static u32 common_length(const struct event_time_stack *s, size_t nr, u32 from)
{
	u32 len = from;
	/* Sorted: the first and the last differ first. */
	while (len < s[0].nr_addrs && len < s[nr - 1].nr_addrs &&
	       s[0].addrs[len] == s[nr - 1].addrs[len])
		len++;
	return len;
}

/* Stacks that are equal before `from`, a branch for each place that follows there; whole: what 100 % is. */
static void put_stacks(const struct event_times_view *p, const struct event_time_stack *s,
		       size_t nr, u32 from, u64 whole, char *margin, unsigned depth)
{
	struct strbuf *to = p->to;
	size_t end = strlen(margin);
	for (size_t i = 0, k; i < nr; i = k) {
		struct event_time_stats sum;
		for (k = i + 1; k < nr && s[i].nr_addrs > from && s[k].nr_addrs > from &&
				s[k].addrs[from] == s[i].addrs[from];)
			k++;
		/* Those that end here, where others go on. */
		while (k < nr && s[i].nr_addrs <= from && s[k].nr_addrs <= from)
			k++;
		if (s[i].nr_addrs <= from)
			continue;
		sum_stacks(s + i, k - i, &sum);
		u32 len = common_length(s + i, k - i, from);
		put_margin(to, margin);
		strbuf_str(to, "|\n");
		put_margin(to, margin);
		strbuf_str(to, "+ ");
		put_address(p, s[i].addrs[from]);
		margin[end] = k < nr ? '|' : ' ';
		margin[end + 1] = ' ';
		margin[end + 2] = '\0';
		put_margin(to, margin);
		strbuf_printf(to, "  %llu%% (%llu)",
			      (unsigned long long)(whole ? (sum.total_ns * 100 + whole / 2) / whole
							 : 100),
			      (unsigned long long)sum.nr);
		put_ns(p, " time:", sum.total_ns);
		put_at(p, " max:", sum.max_ns, sum.max_at_ns);
		put_at(p, " min:", sum.min_ns, sum.min_at_ns);
		put_ns(p, " avg:", sum.total_ns / sum.nr);
		strbuf_char(to, '\n');
		for (u32 n = from + 1; n < len; n++) {
			put_margin(to, margin);
			strbuf_str(to, "   ");
			put_address(p, s[i].addrs[n]);
		}
		if (k - i > 1 && depth + 1 < DEPTH_MAX) {
			memcpy(margin + end + 2, "  ", 3);
			put_stacks(p, s + i, k - i, len, sum.total_ns, margin, depth + 1);
		}
		margin[end] = '\0';
	}
}

enum { NR_SUMS = 4 };

static const char *const sum_names[NR_SUMS] = { "On CPU", "Blocked", "Preempted", "Woken" };

struct time_sum {
	u64 nr, ns;
};

/* What the task did as a whole; false: the scheduler tells nothing of it. */
static bool sum_task(const struct event_times_view *p, size_t from, size_t to,
		     struct time_sum sums[NR_SUMS])
{
	bool any = false;
	memset(sums, 0, NR_SUMS * sizeof(*sums));
	for (size_t i = from; i < to; i++) {
		const struct event_time *r = event_times_row(p->times, i);
		unsigned which;
		if (r->kind == EVENT_TIME_RUN)
			which = 0;
		else if (r->kind == EVENT_TIME_WAIT)
			which = r->key & EVENT_TIME_BLOCKED ? 1 : 2;
		else if (r->kind == EVENT_TIME_WAKE)
			which = 3;
		else
			continue;
		any = true;
		sums[which].nr += r->t.nr;
		sums[which].ns += r->t.total_ns;
	}
	return any;
}

static void put_summary(const struct event_times_view *p, size_t from, size_t to)
{
	struct time_sum sums[NR_SUMS];
	if (!sum_task(p, from, to, sums))
		return;
	strbuf_char(p->to, ' ');
	for (size_t i = 0; i < NR_SUMS; i++) {
		strbuf_printf(p->to, " %s: ", sum_names[i]);
		put_ns(p, "", sums[i].ns);
		strbuf_printf(p->to, " (%llu)", (unsigned long long)sums[i].nr);
	}
	strbuf_char(p->to, '\n');
}

static void put_row(const struct event_times_view *p, const struct event_time *r)
{
	char margin[(DEPTH_MAX + 1) * (2 * DEPTH_STEP) + 8] = "";
	strbuf_str(p->to, "  Event: ");
	put_name(p, r, p->to);
	strbuf_printf(p->to, " (%llu)", (unsigned long long)r->t.nr);
	if (r->kind != EVENT_TIME_COUNT)
		put_stats(p, &r->t);
	strbuf_char(p->to, '\n');
	if (!r->stacks.nr)
		return;
	struct event_time_stats sum;
	sum_stacks(r->stacks.at, r->stacks.nr, &sum);
	put_stacks(p, r->stacks.at, r->stacks.nr, 0, sum.total_ns, margin, 0);
	strbuf_char(p->to, '\n');
}

static void put_task(const struct event_times_view *p, s64 task)
{
	if (task > INT32_MAX)
		strbuf_printf(p->to, "\ncpu: %lld\n", (long long)(INT64_MAX - task));
	else
		strbuf_printf(p->to, "\ntask: %s-%lld\n", p->comm_of(p->ctx, task),
			      (long long)max(task, (s64)0));
}

/* Where the rows of a task end that begin at `from`. */
static size_t task_end(const struct event_times_view *p, size_t from)
{
	size_t k = from;
	s64 task = event_times_row(p->times, from)->task;
	while (k < event_times_nr(p->times) && event_times_row(p->times, k)->task == task)
		k++;
	return k;
}

/*
 * With -F or -P: the scheduler's events of a task also tell of those before and after it on the CPU, which were not asked for. A child
 * that was followed has events that are its own: system calls, say. (The graph tracer of some kernels tells of others, too.)
 */
static bool is_wanted(const struct event_times_view *p, size_t from, size_t to)
{
	if (!p->pids)
		return true;
	for (size_t i = 0; i < p->nr_pids; i++)
		if (event_times_row(p->times, from)->task == p->pids[i])
			return true;
	for (size_t i = from; i < to && p->children; i++) {
		const struct event_time *r = event_times_row(p->times, i);
		if (r->task > 0 && r->task <= INT32_MAX && strcmp(r->event->system, "sched") &&
		    strcmp(r->event->system, "irq") && strcmp(r->event->system, "ftrace"))
			return true;
	}
	return false;
}

static void put_columns(const struct event_times_view *p, const struct time_sum *sums)
{
	for (size_t i = 0; i < NR_SUMS; i++) {
		struct strbuf cell;
		strbuf_init(&cell);
		latency_put_time(&cell, sums[i].ns);
		strbuf_char(p->to, ' ');
		strbuf_right(p->to, strbuf_cstr(&cell), 10);
		strbuf_done(&cell);
	}
}

/* A line for each task, before the details. */
static void print_overview(const struct event_times_view *p)
{
	strbuf_printf(p->to, "# %-16s %8s", "Task", "PID");
	for (size_t i = 0; i < NR_SUMS; i++)
		strbuf_printf(p->to, " %10s", sum_names[i]);
	strbuf_char(p->to, '\n');
	for (size_t i = 0, k; i < event_times_nr(p->times); i = k) {
		struct time_sum sums[NR_SUMS];
		s64 task = event_times_row(p->times, i)->task;
		k = task_end(p, i);
		if (task > INT32_MAX || !is_wanted(p, i, k) || !sum_task(p, i, k, sums))
			continue;
		strbuf_printf(p->to, "  %-16s %8lld", p->comm_of(p->ctx, task),
			      (long long)max(task, (s64)0));
		put_columns(p, sums);
		strbuf_char(p->to, '\n');
	}
}

static void print_text(const struct event_times_view *p)
{
	if (p->human)
		print_overview(p);
	else
		strbuf_printf(p->to, "cpus=%u\n", p->nr_cpus);
	for (size_t i = 0, k; i < event_times_nr(p->times); i = k) {
		s64 task = event_times_row(p->times, i)->task;
		k = task_end(p, i);
		if (!is_wanted(p, i, k))
			continue;
		put_task(p, task);
		put_summary(p, i, k);
		for (size_t n = i; n < k; n++)
			if (event_times_row(p->times, n)->kind != EVENT_TIME_RUN)
				put_row(p, event_times_row(p->times, n));
	}
}

/* ---- JSON ---- */

static void json_stats(struct json *j, const struct event_time_stats *t, bool timed)
{
	json_put_u64(j, "count", t->nr);
	if (!timed)
		return;
	json_put_u64(j, "total_ns", t->total_ns);
	json_put_u64(j, "max_ns", t->max_ns);
	json_put_u64(j, "max_at_ns", t->max_at_ns);
	json_put_u64(j, "min_ns", t->min_ns);
	json_put_u64(j, "min_at_ns", t->min_at_ns);
}

static void json_row(const struct event_times_view *p, struct json *j, const struct event_time *r)
{
	struct strbuf name;
	static const char *const kinds[] = { "off_cpu", "on_cpu",   "woken",
					     "pair",	"function", "count" };
	strbuf_init(&name);
	put_name(p, r, &name);
	json_object(j);
	json_put_str(j, "what", r->kind == EVENT_TIME_RUN ? "on_cpu" : strbuf_cstr(&name));
	json_put_str(j, "kind", kinds[r->kind]);
	strbuf_done(&name);
	json_stats(j, &r->t, r->kind != EVENT_TIME_COUNT);
	if (r->stacks.nr) {
		json_key(j, "stacks");
		json_array(j);
		vec_for_each (&r->stacks, s) {
			json_object(j);
			json_stats(j, &s->t, true);
			json_key(j, "frames");
			json_array(j);
			for (u32 i = 0; i < s->nr_addrs; i++) {
				char hex[24];
				const char *func = p->symbol(p->ctx, s->addrs[i]);
				(void)snprintf(hex, sizeof(hex), "0x%llx",
					       (unsigned long long)s->addrs[i]);
				json_str(j, func ? func : hex);
			}
			json_array_end(j);
			json_object_end(j);
		}
		json_array_end(j);
	}
	json_object_end(j);
}

static int print_json(const struct event_times_view *p)
{
	struct json j;
	json_begin(&j, p->to, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "gaps", event_times_nr_gaps(p->times));
	json_key(&j, "tasks");
	json_array(&j);
	for (size_t i = 0, k; i < event_times_nr(p->times); i = k) {
		s64 task = event_times_row(p->times, i)->task;
		k = task_end(p, i);
		if (!is_wanted(p, i, k))
			continue;
		json_object(&j);
		if (task > INT32_MAX) {
			json_put_u64(&j, "cpu", (u64)(INT64_MAX - task));
		} else {
			json_put_u64(&j, "pid", (u64)max(task, (s64)0));
			if (task < 0)
				json_put_u64(&j, "cpu", (u64)(-1 - task));
			json_put_str(&j, "comm", p->comm_of(p->ctx, task));
		}
		json_key(&j, "times");
		json_array(&j);
		for (size_t n = i; n < k; n++)
			json_row(p, &j, event_times_row(p->times, n));
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

int times_text(const struct event_times_view *p)
{
	if (p->json)
		return print_json(p);
	print_text(p);
	return p->to->err;
}
