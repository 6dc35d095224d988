/* Predefined queries. Those about waits and CPU time need the scheduler's events, those about system calls theirs; others any samples. */
#include "session/query_impl.h"

#include <string.h>

const struct query_view query_views[] = {
	{ "top_functions", "which functions account for most of the period of each event",
	  "select event, round(100.0 * sum(period) / sum(sum(period)) over (partition by event), "
	  "2) "
	  "as percent, count(*) as samples, sum(period) as period, symbol, dso from samples group "
	  "by event, symbol, dso order by event, 4 desc, symbol, dso" },
	{ "samples_by_process", "how many samples of each event each process has",
	  "select event, pid, comm, count(*) as samples, sum(period) as period from samples group "
	  "by event, pid, comm order by event, 4 desc, pid, comm" },
	{ "samples_by_second", "how many samples of each event there are per second",
	  "select event, time_ns / 1000000000 as second, count(*) as samples from samples group by "
	  "event, second order by event, second" },
	{ "top_stacks", "which call stacks account for most of the period of each event",
	  "select event, count(*) as samples, sum(period) as period, stack_id, (select "
	  "group_concat(symbol, ';') from (select coalesce(symbol, '[unknown]') as symbol from "
	  "stacks where stacks.stack_id = s.stack_id order by depth desc)) as stack from samples s "
	  "where stack_id is not null group by event, stack_id order by event, 3 desc, stack_id" },
	{ "cpu_by_process", "how much CPU time each process used",
	  "select pid, max(comm) filter (where tid = pid) as comm, count(distinct tid) as threads, "
	  "round(sum(dur_ns) / 1e6, 3) as ms, count(*) as times from intervals where state = "
	  "'running' and tid != 0 group by coalesce(pid, -tid) order by sum(dur_ns) desc, pid" },
	{ "cpu_use", "how busy each CPU was",
	  "select cpu, round(100.0 * sum(dur_ns) filter (where tid != 0) / sum(dur_ns), 2) as "
	  "percent, round(sum(dur_ns) filter (where tid != 0) / 1e6, 3) as busy_ms, count(*) "
	  "filter "
	  "(where tid != 0) as times from intervals where state = 'running' group by cpu order by "
	  "cpu" },
	{ "waits", "how long each thread ran, was ready to run, and was blocked",
	  "select tid, comm, round(sum(dur_ns) filter (where state = 'running') / 1e6, 3) as "
	  "running_ms, round(sum(dur_ns) filter (where state = 'ready') / 1e6, 3) as ready_ms, "
	  "round(sum(dur_ns) filter (where state = 'blocked') / 1e6, 3) as blocked_ms from "
	  "intervals where tid != 0 group by tid, comm order by sum(dur_ns) filter (where state = "
	  "'blocked') desc, tid, comm" },
	{ "wakeup_latency", "how long each thread waited for a CPU after it was woken",
	  "select tid, comm, count(*) as times, round(avg(dur_ns) / 1e3, 3) as avg_us, "
	  "round(max(dur_ns) / 1e3, 3) as max_us, round(sum(dur_ns) / 1e6, 3) as total_ms from "
	  "intervals where state = 'ready' and not preempted and not until_end group by tid, comm "
	  "order by sum(dur_ns) desc, tid, comm" },
	{ "longest_blocked", "the longest waits, and who ended them",
	  "select round(dur_ns / 1e6, 3) as ms, tid, comm, letter, waker_tid, waker_comm, "
	  "woken_by_irq, time_ns from intervals where state = 'blocked' and not until_end order by "
	  "dur_ns desc, time_ns, tid" },
	{ "wakers", "which threads ended the waits of others, and how long those were",
	  "select comm, tid, waker_comm, waker_tid, woken_by_irq, count(*) as times, "
	  "round(sum(dur_ns) / 1e6, 3) as ms from intervals where state = 'blocked' and waker_tid "
	  "is not null group by tid, comm, waker_tid, waker_comm, woken_by_irq order by "
	  "sum(dur_ns) desc, tid, waker_tid" },
	{ "waits_by_stack", "the call stacks in which threads were blocked",
	  "select comm, count(*) as times, round(sum(dur_ns) / 1e6, 3) as ms, letter, stack from "
	  "intervals where state = 'blocked' and stack_id is not null group by comm, letter, stack "
	  "order by sum(dur_ns) desc, comm, stack" },
	{ "syscalls_by_time", "how much time each system call took",
	  "select name, count(*) as calls, count(*) filter (where ret between -4095 and -1) as "
	  "errors, round(sum(dur_ns) / 1e6, 3) as ms, round(avg(dur_ns) / 1e3, 3) as avg_us, "
	  "round(max(dur_ns) / 1e3, 3) as max_us from syscalls group by name order by sum(dur_ns) "
	  "desc, name" },
	{ "syscalls_by_process", "which system calls each process makes",
	  "select pid, comm, name, count(*) as calls, round(sum(dur_ns) / 1e6, 3) as ms from "
	  "syscalls group by pid, comm, name order by sum(dur_ns) desc, pid, name" },
	{ "slowest_syscalls", "the system calls that took longest",
	  "select round(dur_ns / 1e3, 3) as us, tid, comm, name, ret, time_ns from syscalls order "
	  "by dur_ns desc, time_ns, tid" },
	{ 0 },
};

const struct query_view *query_view_find(const char *name)
{
	for (const struct query_view *v = query_views; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}
