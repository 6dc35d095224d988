#include "model/schedstat.h"

/* Texts are perf's, which other programs look for; but its two times are in nanoseconds, not in jiffies. */
const struct schedstat_field schedstat_cpu_fields[SCHEDSTAT_CPU_FIELDS] = {
	{ "yld_count", "sched_yield() count", .of = -1 },
	{ "array_exp", "Legacy counter can be ignored", .of = -1 },
	{ "sched_count", "schedule() called", .of = -1 },
	{ "sched_goidle", "schedule() left the processor idle", .of = 2 },
	{ "ttwu_count", "try_to_wake_up() was called", .of = -1 },
	{ "ttwu_local", "try_to_wake_up() was called to wake up the local cpu", .of = 4 },
	{ "rq_cpu_time", "total runtime by tasks on this processor (in ns)", .of = -1 },
	{ "run_delay", "total waittime by tasks on this processor (in ns)", .of = 6 },
	{ "pcount", "total timeslices run on this cpu", .of = -1 },
};

static const struct schedstat_field balance_15[] = {
	{ "lb_count", "load_balance() count on cpu %s", .rate = true },
	{ "lb_balanced", "load_balance() found balanced on cpu %s", .rate = true },
	{ "lb_failed", "load_balance() move task failed on cpu %s", .rate = true },
	{ "lb_imbalance", "imbalance sum on cpu %s" },
	{ "lb_gained", "pull_task() count on cpu %s" },
	{ "lb_hot_gained", "pull_task() when target task was cache-hot on cpu %s" },
	{ "lb_nobusyq", "load_balance() failed to find busier queue on cpu %s", .rate = true },
	{ "lb_nobusyg", "load_balance() failed to find busier group on cpu %s", .rate = true },
};

static const struct schedstat_field balance_17[] = {
	{ "lb_count", "load_balance() count on cpu %s", .rate = true },
	{ "lb_balanced", "load_balance() found balanced on cpu %s", .rate = true },
	{ "lb_failed", "load_balance() move task failed on cpu %s", .rate = true },
	{ "lb_imbalance_load", "imbalance in load on cpu %s" },
	{ "lb_imbalance_util", "imbalance in utilization on cpu %s" },
	{ "lb_imbalance_task", "imbalance in number of tasks on cpu %s" },
	{ "lb_imbalance_misfit", "imbalance in misfit tasks on cpu %s" },
	{ "lb_gained", "pull_task() count on cpu %s" },
	{ "lb_hot_gained", "pull_task() when target task was cache-hot on cpu %s" },
	{ "lb_nobusyq", "load_balance() failed to find busier queue on cpu %s", .rate = true },
	{ "lb_nobusyg", "load_balance() failed to find busier group on cpu %s", .rate = true },
};

const struct schedstat_field schedstat_rest_fields[SCHEDSTAT_REST] = {
	{ "alb_count", "active_load_balance() count" },
	{ "alb_failed", "active_load_balance() move task failed" },
	{ "alb_pushed", "active_load_balance() successfully moved a task" },
	{ "sbe_count", "sbe_count is not used" },
	{ "sbe_balanced", "sbe_balanced is not used" },
	{ "sbe_pushed", "sbe_pushed is not used" },
	{ "sbf_count", "sbf_count is not used" },
	{ "sbf_balanced", "sbf_balanced is not used" },
	{ "sbf_pushed", "sbf_pushed is not used" },
	{ "ttwu_wake_remote", "try_to_wake_up() awoke a task that last ran on a diff cpu" },
	{ "ttwu_move_affine", "try_to_wake_up() moved task because cache-cold on own cpu" },
	{ "ttwu_move_balance", "try_to_wake_up() started passive balancing" },
};

const struct schedstat_field *schedstat_balance_fields(u32 version, u32 *nr)
{
	*nr = version < 17 ? ARRAY_SIZE(balance_15) : ARRAY_SIZE(balance_17);
	return version < 17 ? balance_15 : balance_17;
}

const struct schedstat_kind *schedstat_kind(u32 version, u32 i)
{
	static const struct schedstat_kind kinds[] = { { "idle", "idle", "idle" },
						       { "busy", "busy", "busy" },
						       { "newidle", "newidle", "newly idle" } };
	/* Version 16 swapped the first two. */
	return &kinds[version >= 16 && i < 2 ? 1 - i : i];
}

/* ---- by number --------------------------------------------------------------------------------------------------- */

const struct schedstat_cpu *schedstat_cpu_of(const struct schedstat *s, s32 cpu)
{
	size_t low = 0, high = s->cpus.nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (s->cpus.at[mid].cpu < cpu)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->cpus.nr && s->cpus.at[low].cpu == cpu ? &s->cpus.at[low] : NULL;
}

/* The first that is not before it. */
static size_t domain_at(const struct schedstat *s, s32 cpu, u32 number)
{
	size_t low = 0, high = s->domains.nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct schedstat_domain *d = &s->domains.at[mid];
		if (d->cpu < cpu || (d->cpu == cpu && d->number < number))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t schedstat_first_domain(const struct schedstat *s, s32 cpu)
{
	return domain_at(s, cpu, 0);
}

const struct schedstat_domain *schedstat_domain_of(const struct schedstat *s, s32 cpu, u32 number)
{
	size_t i = domain_at(s, cpu, number);
	const struct schedstat_domain *d = i < s->domains.nr ? &s->domains.at[i] : NULL;
	return d && d->cpu == cpu && d->number == number ? d : NULL;
}
