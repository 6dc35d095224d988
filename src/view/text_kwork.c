#include "view/text_kwork.h"

#include "base/printable.h"

#include <stdio.h>

enum { NAME_WIDTH = 30, RULE = 128, TIME_WIDTH = 17 };

static void add_rule(struct strbuf *to)
{
	strbuf_char(to, ' ');
	strbuf_fill(to, '-', RULE);
	strbuf_char(to, '\n');
}

void text_kwork_name(const struct kwork_row *r, struct strbuf *to)
{
	static const char *const marks[KWORK_NR_CLASSES] = { "", "(s)", "(w)" };
	strbuf_str(to, marks[r->class]);
	if (r->name)
		strbuf_str(to, r->name);
	else
		strbuf_printf(to, "0x%llx", (unsigned long long)(r->function ? r->function : r->id));
	if (r->class != KWORK_WORKQUEUE)
		strbuf_printf(to, ":%llu", (unsigned long long)r->id);
}

/* perf's are cut so that a blank follows. */
static void add_name(const struct kwork_row *r, struct strbuf *to)
{
	struct strbuf name, shown;
	strbuf_init(&name);
	strbuf_init(&shown);
	shown.screen = to->screen;
	text_kwork_name(r, &name);
	printable_name(&shown, strbuf_cstr(&name));
	strbuf_printf(to, "%-*.*s", NAME_WIDTH, NAME_WIDTH - 1, strbuf_cstr(&shown));
	strbuf_done(&shown);
	strbuf_done(&name);
}

/* Microseconds, cut as perf cuts them. */
static void add_time(u64 ns, struct strbuf *to)
{
	u64 us = ns / 1000;
	char text[32];
	int len = snprintf(text, sizeof(text), "%llu.%06llu", (unsigned long long)(us / 1000000),
			   (unsigned long long)(us % 1000000));
	strbuf_fill(to, ' ', len < TIME_WIDTH ? TIME_WIDTH - (unsigned)len : 0);
	strbuf_str(to, text);
}

static double ms(u64 ns)
{
	return (double)ns / 1e6;
}

void text_kwork_head(enum text_kwork_table table, struct strbuf *to)
{
	static const char *const heads[] = {
		[TEXT_KWORK_RUNS] = "Total Runtime | Count     | Max runtime   | Max runtime start "
				    "  | Max runtime end     |",
		[TEXT_KWORK_DELAYS] = "Avg delay     | Count     | Max delay     | Max delay start "
				      "    | Max delay end       |",
	};
	strbuf_printf(to, "\n  %-*s | Cpu  | %s\n", NAME_WIDTH, "Kwork Name", heads[table]);
	add_rule(to);
}

void text_kwork_row(const struct kwork_row *r, enum text_kwork_table table, struct strbuf *to)
{
	bool runs = table == TEXT_KWORK_RUNS;
	const struct kwork_span *longest = runs ? &r->longest_run : &r->longest_delay;
	u64 nr = runs ? r->nr_runs : r->nr_delays;
	double sum = runs ? ms(r->run_ns) : r->nr_delays ? ms(r->delay_ns / r->nr_delays) : 0;
	strbuf_str(to, "  ");
	add_name(r, to);
	strbuf_printf(to, " | %04d | %10.3f ms | %9llu | %10.3f ms | ", r->cpu, sum,
		      (unsigned long long)nr, ms(longest->end_ns - longest->start_ns));
	add_time(longest->start_ns, to);
	strbuf_str(to, " s | ");
	add_time(longest->end_ns, to);
	strbuf_str(to, " s |\n");
}

/* perf 6.1 writes the share of the time itself where its sign promises a percentage: 0.019% for 1.9 %. */
static void add_summary(const struct kwork_totals *t, struct strbuf *to)
{
	u64 span = t->last_ns - t->first_ns;
	strbuf_printf(to,
		      "  Total count            : %9llu\n"
		      "  Total runtime   (msec) : %9.3f (%.3f%% load average)\n"
		      "  Total time span (msec) : %9.3f\n",
		      (unsigned long long)t->nr_runs, ms(t->run_ns),
		      span ? 100 * (double)t->run_ns / (double)span : 0, ms(span));
}

void text_kwork_end(const struct kwork_totals *t, bool summary, struct strbuf *to)
{
	u64 skipped = t->nr_raises + t->nr_entries + t->nr_exits;
	add_rule(to);
	if (summary) {
		add_summary(t, to);
		add_rule(to);
	}
	if (skipped)
		strbuf_printf(
			to, "  INFO: %.3f%% skipped events (%llu including %llu raise, %llu entry, %llu exit)\n",
			100 * (double)skipped / (double)max(t->nr_events, (u64)1),
			(unsigned long long)skipped, (unsigned long long)t->nr_raises,
			(unsigned long long)t->nr_entries, (unsigned long long)t->nr_exits);
	strbuf_char(to, '\n');
}

void text_kwork_list_head(struct strbuf *to)
{
	strbuf_printf(to, " %-17s  %-17s  %-6s  %-30s  %-10s  %-10s\n", "Runtime start",
		      "Runtime end", "Cpu", "Kwork name", "Runtime", "Delaytime");
	strbuf_printf(to, " %-17s  %-17s  %-6s  %-30s  %-10s  %-10s\n", "", "", "",
		      "(TYPE)NAME:NUM", "(msec)", "(msec)");
	strbuf_char(to, ' ');
	static const unsigned widths[] = { 17, 17, 6, NAME_WIDTH, 10, 10 };
	for (unsigned i = 0; i < ARRAY_SIZE(widths); i++) {
		strbuf_fill(to, '-', widths[i]);
		strbuf_str(to, i + 1 < ARRAY_SIZE(widths) ? "  " : "\n");
	}
}

void text_kwork_list_row(const struct kwork_row *r, const struct kwork_one *one, struct strbuf *to)
{
	strbuf_char(to, ' ');
	add_time(one->run.start_ns, to);
	strbuf_str(to, "  ");
	add_time(one->run.end_ns, to);
	strbuf_printf(to, "  [%04d]  ", r->cpu);
	add_name(r, to);
	strbuf_printf(to, "  %10.3f  ", ms(one->run.end_ns - one->run.start_ns));
	if (one->has_delay)
		strbuf_printf(to, "%10.3f \n", ms(one->delay_ns));
	else
		strbuf_printf(to, "%10s \n", "");
}

/* ---- CPU usage ---------------------------------------------------------------------------------------------------- */

enum { BAR = 30, TASK_RULE = 52, TASK_WIDTH = 16 };

static u64 cpu_total(const struct kwork_cpu_time *c)
{
	return c->idle_ns + c->load_ns + c->irq_ns + c->softirq_ns;
}

static double percent(u64 part, u64 total)
{
	return total ? 100 * (double)part / (double)total : 0;
}

void text_kwork_cpus(const struct kwork_cpu_time *cpus, size_t nr, struct strbuf *to)
{
	struct kwork_cpu_time all = { 0 };
	for (size_t i = 0; i < nr; i++) {
		all.idle_ns += cpus[i].idle_ns;
		all.load_ns += cpus[i].load_ns;
		all.irq_ns += cpus[i].irq_ns;
		all.softirq_ns += cpus[i].softirq_ns;
	}
	u64 total = cpu_total(&all);
	strbuf_printf(to, "\nTotal  : %10.3f ms, %zu cpus\n", ms(total), nr);
	strbuf_printf(to, "%%Cpu(s): %6.2f%% id, %6.2f%% hi, %6.2f%% si\n",
		      percent(all.idle_ns, total), percent(all.irq_ns, total),
		      percent(all.softirq_ns, total));
	for (size_t i = 0; i < nr; i++) {
		double load = percent(cpus[i].load_ns, cpu_total(&cpus[i]));
		unsigned bar = (unsigned)(load * BAR / 100);
		strbuf_printf(to, "%%Cpu%-4d[", cpus[i].cpu);
		strbuf_fill(to, '|', bar);
		strbuf_fill(to, ' ', BAR - bar);
		strbuf_printf(to, " %6.2f%%]\n", load);
	}
}

void text_kwork_task_head(struct strbuf *to)
{
	strbuf_printf(to, "\n  %7s %6s  %16s  %-*s\n  ", "PID", "%CPU", "RUNTIME", TASK_WIDTH,
		      "COMMAND");
	strbuf_fill(to, '-', TASK_RULE);
	strbuf_char(to, '\n');
}

void text_kwork_task(const struct kwork_task *t, struct strbuf *to)
{
	struct strbuf name;
	strbuf_init(&name);
	name.screen = to->screen;
	printable_name(&name, t->name);
	strbuf_printf(to, "  %7d  %6.2f  %13.3f ms  ", t->tid, (double)t->rate / 100, ms(t->run_ns));
	strbuf_left(to, strbuf_cstr(&name), TASK_WIDTH);
	strbuf_char(to, '\n');
	strbuf_done(&name);
}
