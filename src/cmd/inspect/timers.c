/* inspect timer and waitq: timers that run, and what waits in a wait queue. */
#include "cmd/inspect/inspect.h"

#include "base/cpuset.h"
#include "base/printable.h"
#include "memory/kclock.h"
#include "memory/ktimers.h"
#include "memory/kwaits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

/* ---- timer ----------------------------------------------------------------------------------------------------------------- */

struct timer_text {
	struct inspect *i;
	struct ktimers t;
	struct ktimers_list list;
	u64 now; /* jiffies or monotonic nanoseconds */
	bool has_now;
	u32 nr_changed;
};

static void print_function(struct inspect *i, u64 addr)
{
	strbuf_printf(&i->text, "%016llx  <", (ull)addr);
	if (!kspace_name_address(&i->k, addr, false, &i->text))
		strbuf_str(&i->text, "unknown");
	strbuf_str(&i->text, ">\n");
}

static void json_function(struct inspect *i, u64 addr)
{
	struct strbuf name;
	strbuf_init(&name);
	bool named = kspace_name_address(&i->k, addr, false, &name);
	inspect_json_address(i, "function", addr);
	json_put_str(&i->j, "function_symbol", named ? strbuf_cstr(&name) : NULL);
	strbuf_done(&name);
}

static void json_timers(struct timer_text *t, const char *kind, u32 cpu, const char *name, u64 now)
{
	struct inspect *i = t->i;
	bool hr = i->o->high_resolution;
	json_object(&i->j);
	json_put_u64(&i->j, "cpu", cpu);
	json_put_str(&i->j, kind, name);
	inspect_json_address(i, "address", t->list.base);
	if (t->has_now)
		json_put_u64(&i->j, hr ? "now_ns" : "jiffies", now);
	json_key(&i->j, "timers");
	json_array(&i->j);
	vec_for_each (&t->list.timers, timer) {
		json_object(&i->j);
		inspect_json_address(i, "address", timer->addr);
		json_put_u64(&i->j, hr ? "expires_ns" : "expires", timer->expires);
		if (hr)
			json_put_u64(&i->j, "soft_expires_ns", timer->soft);
		if (t->has_now)
			json_put_s64(&i->j, hr ? "left_ns" : "left", (s64)(timer->expires - now));
		json_function(i, timer->function);
		json_object_end(&i->j);
	}
	json_array_end(&i->j);
	json_object_end(&i->j);
}

static void print_left(struct timer_text *t, u64 expires, u64 now, int width)
{
	if (t->has_now)
		strbuf_printf(&t->i->text, "%*lld  ", width, (long long)(expires - now));
	else
		strbuf_printf(&t->i->text, "%*s  ", width, "-");
}

static void print_wheel(struct timer_text *t, u32 cpu, u32 n)
{
	struct strbuf *to = &t->i->text;
	if (t->i->app->json) {
		json_timers(t, "base", cpu, ktimers_wheel_name(&t->t, n), t->now);
		return;
	}
	strbuf_printf(to, "TIMER_BASES[%u][%s]: %016llx\n", cpu, ktimers_wheel_name(&t->t, n),
		      (ull)t->list.base);
	strbuf_str(to, "     EXPIRES           TTE        TIMER_LIST     FUNCTION\n");
	vec_for_each (&t->list.timers, timer) {
		strbuf_printf(to, "%12llu  ", (ull)timer->expires);
		print_left(t, timer->expires, t->now, 12);
		strbuf_printf(to, "%016llx  ", (ull)timer->addr);
		print_function(t->i, timer->function);
	}
	if (!t->list.timers.nr)
		strbuf_str(to, "     (none)\n");
	strbuf_char(to, '\n');
}

static void print_clock(struct timer_text *t, u32 cpu, u32 n)
{
	struct strbuf *to = &t->i->text;
	u64 now = t->now + (u64)t->list.offset;
	if (t->i->app->json) {
		json_timers(t, "clock", cpu, ktimers_clock_name(n), now);
		return;
	}
	strbuf_printf(to, "  CLOCK: %u  HRTIMER_CLOCK_BASE: %016llx  [%s]\n", n, (ull)t->list.base,
		      ktimers_clock_name(n));
	if (!t->list.timers.nr) {
		strbuf_str(to, "     (empty)\n");
		return;
	}
	if (t->has_now)
		strbuf_printf(to, "             CURRENT\n%20llu\n", (ull)now);
	strbuf_str(to, "         SOFTEXPIRES              EXPIRES                  TTE      "
		       "HRTIMER        FUNCTION\n");
	vec_for_each (&t->list.timers, timer) {
		strbuf_printf(to, "%20llu %20llu ", (ull)timer->soft, (ull)timer->expires);
		print_left(t, timer->expires, now, 20);
		strbuf_printf(to, "%016llx  ", (ull)timer->addr);
		print_function(t->i, timer->function);
	}
}

static int show_wheels(struct timer_text *t, u32 cpu)
{
	int err = 0;
	for (u32 n = 0; !err && n < t->t.nr_wheels; n++) {
		err = ktimers_wheel(&t->t, cpu, n, &t->list);
		t->nr_changed += t->list.changed;
		if (!err)
			print_wheel(t, cpu, n);
	}
	return err;
}

static int show_clocks(struct timer_text *t, u32 cpu)
{
	u64 base;
	int err = ktimers_cpu_base(&t->t, cpu, &base);
	if (!err && !t->i->app->json)
		strbuf_printf(&t->i->text, "CPU: %u  HRTIMER_CPU_BASE: %016llx\n", cpu, (ull)base);
	for (u32 n = 0; !err && n < t->t.nr_clocks; n++) {
		err = ktimers_clock(&t->t, cpu, n, &t->list);
		t->nr_changed += t->list.changed;
		if (!err)
			print_clock(t, cpu, n);
	}
	if (!err && !t->i->app->json)
		strbuf_char(&t->i->text, '\n');
	return err;
}

static int show_cpus(struct timer_text *t, const struct cpuset *cpus)
{
	struct inspect *i = t->i;
	bool hr = i->o->high_resolution;
	u32 nr = 0;
	t->has_now = hr ? kclock_monotonic(&i->k, &t->now) : kclock_jiffies(&i->k, &t->now);
	if (!hr && t->has_now && !i->app->json)
		strbuf_printf(&i->text, "JIFFIES\n%llu\n\n", (ull)t->now);
	for (u32 cpu = 0; cpu < kspace_nr_cpus(&i->k); cpu++) {
		if (i->o->cpus && !cpuset_has(cpus, cpu))
			continue;
		int err = hr ? show_clocks(t, cpu) : show_wheels(t, cpu);
		if (err && err != -ENOENT)
			return err == -EFAULT
				       ? diag_error(&i->app->diag, err,
						    "the timers of CPU %u cannot be read", cpu)
				       : err;
		nr += !err;
	}
	if (t->nr_changed)
		diag_warn(&i->app->diag,
			  "timers changed while they were read: some may be missing");
	return nr ? 0 : diag_error(&i->app->diag, -ENOENT, "none of these CPUs has timers");
}

int inspect_timer(struct inspect *i, int argc, char **argv)
{
	struct timer_text t = { .i = i };
	struct cpuset cpus = { { 0 } };
	(void)argv;
	if (argc)
		return inspect_usage(i, "unexpected argument");
	if (i->o->cpus && cpuset_parse_list(i->o->cpus, &cpus, &i->app->diag)) {
		i->misused = true;
		return -EINVAL;
	}
	int err = ktimers_open(&t.t, &i->k);
	if (!err)
		err = show_cpus(&t, &cpus);
	vec_free(&t.list.timers);
	return err;
}

/* ---- waitq ----------------------------------------------------------------------------------------------------------------- */

struct wait_text {
	struct inspect *i;
	u32 nr;
};

static void json_wait(struct inspect *i, const struct kwait *w, const struct ktask *task)
{
	static const char *const kinds[] = { "task", "poll", "epoll", "other" };
	json_object(&i->j);
	json_put_str(&i->j, "kind", kinds[w->kind]);
	inspect_json_address(i, "entry", w->addr);
	json_function(i, w->function);
	if (task) {
		json_key(&i->j, "task");
		json_object(&i->j);
		inspect_json_task(i, task);
		json_object_end(&i->j);
	}
	if (w->eventpoll)
		inspect_json_address(i, "eventpoll", w->eventpoll);
	json_object_end(&i->j);
}

static int print_wait(void *ctx, const struct kwait *w)
{
	struct wait_text *t = ctx;
	struct inspect *i = t->i;
	struct ktask task;
	bool has_task = w->task && !ktasks_read(&i->tasks, w->task, &task);
	t->nr++;
	if (i->app->json) {
		json_wait(i, w, has_task ? &task : NULL);
		return 0;
	}
	if (has_task) {
		inspect_task_head(i, &task);
		return 0;
	}
	strbuf_printf(&i->text, "WAIT_QUEUE_ENTRY: %016llx  ", (ull)w->addr);
	if (w->eventpoll)
		strbuf_printf(&i->text, "EVENTPOLL: %016llx  ", (ull)w->eventpoll);
	strbuf_str(&i->text, "FUNCTION: ");
	print_function(i, w->function);
	return 0;
}

/* TYPE.MEMBER ADDRESS: where the member is. */
static int member_address(struct inspect *i, const char *word, const char *address, u64 *ret)
{
	const char *dot = strchr(word, '.');
	const char *type = dot ? arena_strndup(&i->k.arena, word, (size_t)(dot - word)) : NULL;
	u64 offset;
	if (!dot)
		return inspect_usage(i, "expected TYPE.MEMBER ADDRESS, or an expression");
	if (!type)
		return -ENOMEM;
	const struct eval_offset row = { type, dot + 1, &offset };
	int err = eval_offsets(&i->k, &row, 1);
	if (!err)
		err = eval_address_text(&i->k, address, ret);
	*ret += err ? 0 : offset;
	return err;
}

/* A queue, a pointer to one, or a number. */
static int check_queue(struct inspect *i, const struct ktype *type)
{
	static const char want[] = "struct wait_queue_head";
	struct strbuf name;
	struct ktype t = *type, to;
	struct btf_desc d;
	if (!t.b)
		return 0;
	if (ktype_kind(&t, &d) == BTF_OF_POINTER && ktype_target(&t, &to))
		t = to;
	enum btf_kind kind = ktype_kind(&t, &d);
	if (kind != BTF_OF_STRUCT && kind != BTF_OF_UNION)
		return 0;
	if (d.name && !strcmp(d.name, "wait_queue_head"))
		return 0;
	strbuf_init(&name);
	ktype_name(&t, &name);
	int err = diag_error(&i->app->diag, -EINVAL, "not a %s, but a %s", want, strbuf_cstr(&name));
	strbuf_done(&name);
	return err;
}

static int queue_address(struct inspect *i, int argc, char **argv, u64 *ret)
{
	struct kvalue v;
	if (argc == 2)
		return member_address(i, argv[0], argv[1], ret);
	int err = eval_address_text(&i->k, argv[0], ret);
	if (err || strspn(argv[0], "0123456789abcdefABCDEF") == strlen(argv[0]))
		return err;
	err = eval_text(&i->k, argv[0], &v);
	return err ? err : check_queue(i, &v.type);
}

int inspect_waitq(struct inspect *i, int argc, char **argv)
{
	struct wait_text t = { .i = i };
	u64 head;
	if (!argc || argc > 2)
		return inspect_usage(i, "which wait queue? TYPE.MEMBER ADDRESS, or an expression");
	int err = queue_address(i, argc, argv, &head);
	if (!err)
		err = inspect_tasks(i);
	if (!err)
		err = kwaits_each(&i->k, head, print_wait, &t, &i->walk);
	if (err)
		return err;
	i->walked = true;
	if (i->walk.end == WALK_BAD && !t.nr)
		return diag_error(&i->app->diag, -EFAULT, "no wait queue can be read at %llx",
				  (ull)head);
	if (i->walk.end != WALK_ENDED)
		diag_warn(&i->app->diag,
			  "the queue changed while it was read, or this is no wait queue: some "
			  "may be missing");
	else if (!t.nr && !i->app->json)
		strbuf_printf(&i->text, "wait queue %llx is empty\n", (ull)head);
	return 0;
}
