/* Work of the kernel beside tasks: runs and delays, what lacks its counterpart, names, and text as perf prints it. */
#include "analysis/kwork_runs.h"
#include "analysis/kwork_top.h"
#include "tap.h"

#include <stddef.h>

struct raw {
	u64 number;
	char name[12];
	u64 function;
};

static const struct schema_field irq_fields[] = {
	{ .name = "irq", .offset = 0, .size = 4, .elem_size = 4, .nr_elems = 1 },
	{ .name = "name",
	  .offset = 8,
	  .size = 12,
	  .elem_size = 1,
	  .nr_elems = 12,
	  .flags = FIELD_STRING | FIELD_ARRAY },
};
static const struct schema_field softirq_fields[] = {
	{ .name = "vec", .offset = 0, .size = 4, .elem_size = 4, .nr_elems = 1 },
};
static const struct schema_field work_fields[] = {
	{ .name = "work", .offset = 0, .size = 8, .elem_size = 8, .nr_elems = 1 },
	{ .name = "function", .offset = 24, .size = 8, .elem_size = 8, .nr_elems = 1 },
};
static const char vectors[] = "\"vec=%u [action=%s]\", REC->vec, __print_symbolic(REC->vec, { 0, "
			      "\"HI\" }, { 13, \"WRONG\" }, { 3, \"NET_RX\" })";

enum { IRQ_IN, IRQ_OUT, RAISE, SOFT_IN, SOFT_OUT, ACTIVATE, WORK_IN, WORK_OUT, OTHER };

static const struct schema schemas[] = {
	[IRQ_IN] = { .system = "irq",
		     .name = "irq_handler_entry",
		     .fields = irq_fields,
		     .nr_fields = 2 },
	[IRQ_OUT] = { .system = "irq",
		      .name = "irq_handler_exit",
		      .fields = irq_fields,
		      .nr_fields = 1 },
	[RAISE] = { .system = "irq",
		    .name = "softirq_raise",
		    .fields = softirq_fields,
		    .nr_fields = 1,
		    .print_fmt = vectors },
	[SOFT_IN] = { .system = "irq",
		      .name = "softirq_entry",
		      .fields = softirq_fields,
		      .nr_fields = 1,
		      .print_fmt = vectors },
	[SOFT_OUT] = { .system = "irq",
		       .name = "softirq_exit",
		       .fields = softirq_fields,
		       .nr_fields = 1,
		       .print_fmt = vectors },
	[ACTIVATE] = { .system = "workqueue",
		       .name = "workqueue_activate_work",
		       .fields = work_fields,
		       .nr_fields = 1 },
	[WORK_IN] = { .system = "workqueue",
		      .name = "workqueue_execute_start",
		      .fields = work_fields,
		      .nr_fields = 2 },
	[WORK_OUT] = { .system = "workqueue",
		       .name = "workqueue_execute_end",
		       .fields = work_fields,
		       .nr_fields = 2 },
	[OTHER] = { .system = "sched",
		    .name = "irq_handler_entry",
		    .fields = irq_fields,
		    .nr_fields = 2 },
};

static void *state;

static void event(struct kwork_runs *k, int what, s32 cpu, u64 time, u64 number)
{
	struct raw raw = { .number = number, .name = "disk", .function = 0xffffffff81000040 };
	struct sample s = { .event = (u32)what,
			    .cpu = cpu,
			    .time_ns = time,
			    .raw = &raw,
			    .raw_size = sizeof(raw),
			    .schema = &schemas[what] };
	struct sink *sink = kwork_runs_sink(k);
	ok(!sink->ops->feed(sink, state, &(struct batch){ .samples = &s, .nr = 1 }), "fed");
}

static struct kwork_runs *start(u32 classes)
{
	struct kwork_runs *k =
		kwork_runs_new(&(struct kwork_runs_env){ .classes = classes, .keep_runs = true });
	struct sink *sink = kwork_runs_sink(k);
	ok(!sink->ops->shard_new(sink, 0, NULL, &state), "a worker");
	return k;
}

static const struct kwork_row *row(const struct kwork_runs *k, size_t i, size_t want_nr)
{
	size_t nr;
	const struct kwork_row *rows = kwork_runs_rows(k, &nr);
	is_u64(nr, want_nr, "rows");
	return &rows[i];
}

static void interrupts(void)
{
	struct kwork_runs *k = start(7);
	event(k, IRQ_OUT, 0, 5, 36); /* recording began in the middle */
	event(k, IRQ_IN, 0, 10, 36);
	event(k, IRQ_IN, 1, 12, 36); /* another CPU */
	event(k, IRQ_OUT, 0, 30, 36);
	event(k, IRQ_OUT, 1, 13, 36);
	event(k, IRQ_IN, 0, 40, 36);
	event(k, IRQ_OUT, 0, 45, 36);
	event(k, OTHER, 0, 50, 36);
	event(k, IRQ_IN, 0, 60, 36); /* and ends in the middle */
	const struct kwork_row *r = row(k, 0, 2);
	is_str(r->name, "disk", "its handler");
	is_u64(r->nr_runs, 2, "two runs on CPU 0");
	is_u64(r->run_ns, 25, "of 25 ns");
	is_u64(r->longest_run.start_ns, 10, "the longest began");
	is_u64(r->longest_run.end_ns, 30, "and ended");
	is_u64(r->nr_delays, 0, "nobody knows when an interrupt was due");
	is_u64(row(k, 1, 2)->run_ns, 1, "CPU 1 has a row of its own");
	struct kwork_totals t = kwork_runs_totals(k);
	is_u64(t.nr_exits, 1, "an exit without entry");
	is_u64(t.nr_entries, 1, "an entry without exit");
	is_u64(t.nr_runs, 3, "three runs");
	is_u64(t.last_ns - t.first_ns, 55, "the time between the first event and the last");
	kwork_runs_free(k);
}

static void softirqs(void)
{
	struct kwork_runs *k = start(7);
	event(k, RAISE, 0, 100, 3);
	event(k, RAISE, 0, 150, 3); /* while it is due already */
	event(k, RAISE, 1, 160, 3); /* elsewhere */
	event(k, SOFT_IN, 0, 200, 3);
	event(k, RAISE, 0, 210, 3); /* by itself: for the next run */
	event(k, SOFT_OUT, 0, 220, 3);
	event(k, SOFT_IN, 0, 230, 3);
	event(k, SOFT_OUT, 0, 235, 3);
	event(k, SOFT_IN, 0, 300, 3); /* its raise was not seen */
	event(k, SOFT_OUT, 0, 310, 3);
	const struct kwork_row *r = row(k, 0, 2);
	is_str(r->name, "NET_RX", "its name comes from the format");
	is_u64(r->nr_delays, 2, "two runs whose delay is known");
	is_u64(r->delay_ns, 120, "100 ns since the first raise, and 20 ns");
	is_u64(r->longest_delay.start_ns, 100, "the longest began at the first raise");
	is_u64(r->nr_runs, 3, "of three");
	is_u64(row(k, 1, 2)->nr_delays, 0, "the other CPU's never ran");
	is_u64(kwork_runs_totals(k).nr_raises, 1, "its raise has no counterpart");
	size_t nr;
	const struct kwork_one *each = kwork_runs_each(k, &nr);
	is_u64(nr, 3, "each run is kept");
	ok(each[0].has_delay && each[0].delay_ns == 100 && !each[2].has_delay,
	   "with its own delay, or none");
	kwork_runs_free(k);
}

static void works(void)
{
	struct kwork_runs *k = start(1u << KWORK_WORKQUEUE);
	event(k, ACTIVATE, 0, 10, 0xffff888000001000);
	event(k, WORK_IN, 0, 15, 0xffff888000001000);
	event(k, WORK_OUT, 0, 25, 0xffff888000001000);
	event(k, WORK_OUT, 0, 9, 0xffff888000002000);
	event(k, IRQ_IN, 0, 30, 36); /* not asked for */
	const struct kwork_row *r = row(k, 0, 2);
	is_u64(r->function, 0xffffffff81000040, "its function");
	is_u64(r->delay_ns, 5, "activated 5 ns before");
	is_u64(r->run_ns, 10, "ran for 10 ns");
	is_u64(kwork_runs_totals(k).nr_events, 4, "interrupts were not looked at");
	kwork_runs_free(k);
}

/* Times that go back, which only a broken file has. */
static void backwards(void)
{
	struct kwork_runs *k = start(7);
	event(k, RAISE, 0, 100, 3);
	event(k, SOFT_IN, 0, 50, 3);
	event(k, SOFT_OUT, 0, 40, 3);
	const struct kwork_row *r = row(k, 0, 1);
	is_u64(r->nr_runs, 0, "no run");
	is_u64(r->delay_ns, 0, "no delay");
	kwork_runs_free(k);
}

/* ---- CPU usage ---- */

struct raw_switch {
	char prev_comm[16], next_comm[16];
	s32 prev_pid, next_pid;
	u64 prev_state;
};

#define SWITCH_FIELD(n, f, extra)                                                                  \
	{                                                                                          \
		.name = (n), .offset = offsetof(struct raw_switch, f),                             \
		.size = sizeof(((struct raw_switch *)0)->f), .flags = (extra)                      \
	}
static const struct schema_field switch_fields[] = {
	SWITCH_FIELD("prev_comm", prev_comm, FIELD_STRING),
	SWITCH_FIELD("prev_pid", prev_pid, FIELD_SIGNED),
	SWITCH_FIELD("prev_state", prev_state, 0),
	SWITCH_FIELD("next_comm", next_comm, FIELD_STRING),
	SWITCH_FIELD("next_pid", next_pid, FIELD_SIGNED),
};
static const struct schema switch_schema = { .system = "sched",
					     .name = "sched_switch",
					     .fields = switch_fields,
					     .nr_fields = ARRAY_SIZE(switch_fields) };
enum { SWITCH = OTHER + 1 };

static void put(struct kwork_top *k, const struct sample *s)
{
	struct sink *sink = kwork_top_sink(k);
	ok(!sink->ops->feed(sink, state, &(struct batch){ .samples = s, .nr = 1 }), "fed");
}

static void switched(struct kwork_top *k, s32 cpu, u64 time, s32 prev, s32 next)
{
	struct raw_switch raw = { .prev_comm = "a", .next_comm = "b", prev, next, 1 };
	raw.prev_comm[0] = prev ? (char)('a' + prev) : 's';
	raw.next_comm[0] = next ? (char)('a' + next) : 's';
	put(k, &(struct sample){ .event = SWITCH,
				 .cpu = cpu,
				 .tid = prev,
				 .time_ns = time,
				 .raw = &raw,
				 .raw_size = sizeof(raw),
				 .schema = &switch_schema });
}

static void kernel(struct kwork_top *k, int what, s32 cpu, u64 time, s32 tid)
{
	struct raw raw = { .number = 1 };
	put(k, &(struct sample){ .event = (u32)what,
				 .cpu = cpu,
				 .tid = tid,
				 .time_ns = time,
				 .raw = &raw,
				 .raw_size = sizeof(raw),
				 .schema = &schemas[what] });
}

static struct kwork_top *begin(u32 classes, const struct sample_choice *choice)
{
	static const struct catalog none;
	struct kwork_top *k = kwork_top_new(
		&(struct kwork_top_env){ .classes = classes, .choice = choice, .catalog = &none });
	struct sink *sink = kwork_top_sink(k);
	ok(!sink->ops->shard_new(sink, 0, NULL, &state), "a worker");
	return k;
}

static u64 ran(struct kwork_top *k, s32 tid, s32 cpu)
{
	size_t nr;
	const struct kwork_task *t = kwork_top_tasks(k, &nr);
	for (size_t i = 0; i < nr; i++)
		if (t[i].tid == tid && (tid || t[i].cpu == cpu))
			return t[i].run_ns;
	return 0;
}

/* Task 1 runs 1000..1400 with an interrupt inside a softirq, then CPU 0 idles to 2000; task 2 has CPU 1 all the time. */
static void plant(struct kwork_top *k)
{
	kernel(k, IRQ_OUT, 0, 1000, 1); /* recording began in the middle */
	kernel(k, SOFT_IN, 0, 1100, 1);
	kernel(k, IRQ_IN, 0, 1120, 1);
	kernel(k, IRQ_OUT, 0, 1150, 1);
	kernel(k, SOFT_OUT, 0, 1200, 1);
	switched(k, 0, 1400, 1, 0);
	kernel(k, IRQ_IN, 1, 1500, 2);
	kernel(k, IRQ_OUT, 1, 1510, 2);
	kernel(k, IRQ_IN, 0, 1600, 0);
	kernel(k, IRQ_OUT, 0, 1640, 0);
	switched(k, 0, 2000, 0, 1);
	ok(!kwork_top_finish(k), "finished");
}

static void usage(void)
{
	struct kwork_top *k = begin(UINT32_MAX, NULL);
	plant(k);
	size_t nr;
	const struct kwork_cpu_time *c = kwork_top_cpus(k, &nr);
	is_u64(nr, 2, "two CPUs");
	is_u64(c[0].load_ns, 300, "CPU 0: the task without the softirq");
	is_u64(c[0].softirq_ns, 70, "the softirq without the interrupt");
	is_u64(c[0].irq_ns, 70, "both interrupts");
	is_u64(c[0].idle_ns, 560, "idle, but for the second");
	is_u64(c[1].load_ns + c[1].irq_ns, 1000, "CPU 1 never switched: all of the time");
	is_u64(ran(k, 1, 0), 300, "task 1");
	is_u64(ran(k, 0, 0), 560, "the idle task");
	is_u64(ran(k, 2, 0), 990, "task 2, whom nothing but an interrupt tells of");
	kwork_top_free(k);

	k = begin(1u << KWORK_SCHED, NULL);
	plant(k);
	is_u64(ran(k, 1, 0), 400, "without interrupts, their time is the task's");
	kwork_top_free(k);
}

static void usage_chosen(void)
{
	static const struct time_range range = { 1110, 1500 };
	static const s32 cpu = 0;
	struct kwork_top *k = begin(
		UINT32_MAX, &(struct sample_choice){
				    .ranges = &range, .nr_ranges = 1, .cpus = &cpu, .nr_cpus = 1 });
	plant(k);
	size_t nr;
	const struct kwork_cpu_time *c = kwork_top_cpus(k, &nr);
	is_u64(nr, 1, "one CPU");
	is_u64(c[0].load_ns, 200, "the task after the softirq");
	is_u64(c[0].softirq_ns + c[0].irq_ns, 90, "the rest of the softirq");
	is_u64(c[0].idle_ns, 100, "idle until the end");
	is_u64(ran(k, 2, 0), 0, "nothing of another CPU");
	kwork_top_free(k);
}

/* A real-time kernel preempts softirqs: task 1 is in one while task 2 runs. */
static void usage_preempted(void)
{
	struct kwork_top *k = begin(UINT32_MAX, NULL);
	switched(k, 0, 1000, 0, 1);
	kernel(k, SOFT_IN, 0, 1100, 1);
	switched(k, 0, 1200, 1, 2);
	switched(k, 0, 1500, 2, 1);
	kernel(k, SOFT_OUT, 0, 1550, 1);
	switched(k, 0, 1600, 1, 0);
	ok(!kwork_top_finish(k), "finished");
	size_t nr;
	const struct kwork_cpu_time *c = kwork_top_cpus(k, &nr);
	is_u64(c[0].softirq_ns, 150, "both parts of the softirq");
	is_u64(ran(k, 2, 0), 300, "and the task between them");
	is_u64(ran(k, 1, 0), 150, "the first task without it");
	kwork_top_free(k);
}

int main(void)
{
	usage();
	usage_chosen();
	usage_preempted();
	interrupts();
	softirqs();
	works();
	backwards();
	return done_testing();
}
