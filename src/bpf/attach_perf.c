/* What perf's events bring: clocks, software and hardware counters, watchpoints. */
#include "base/cpuset.h"
#include "bpf/attach_impl.h"
#include "kern/cpu.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <unistd.h>

static const struct load_kind event_kind = { .type = BPF_PROG_TYPE_PERF_EVENT };

static int attach_on(struct attached *a, const struct attach_range *r,
		     const struct perf_event_attr *attr, s32 pid, s32 cpu, struct diag *d)
{
	int prog = loaded_code(a->loaded, r->probe, &event_kind, d);
	if (prog < 0)
		return prog;
	struct perf_event_attr own = *attr;
	int event = perf_opener_open(&a->opener, &own, pid, cpu, -1);
	if (event < 0)
		return perf_opener_explain(&a->opener, event, attr, r->points[r->first].text, pid,
					   cpu, d);
	int rc = attach_event(a, prog, event, r->first);
	return rc ? attach_failed(a, &r->points[r->first], rc, d) : 0;
}

/* On each CPU that is online, or only on the first one. */
static int attach_cpus(struct attached *a, const struct attach_range *r,
		       const struct perf_event_attr *attr, bool first_only, struct diag *d)
{
	struct cpuset online;
	int rc = cpu_online(a->loaded->root, &online);
	if (rc)
		return rc;
	for (int cpu = cpuset_next(&online, 0); !rc && cpu >= 0;
	     cpu = cpuset_next(&online, (unsigned)cpu + 1)) {
		rc = attach_on(a, r, attr, -1, cpu, d);
		if (first_only)
			break;
	}
	return rc;
}

int attach_timer(struct attached *a, const struct attach_range *r, struct diag *d)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK };
	if (r->probe->per_second) {
		attr.freq = 1;
		attr.sample_freq = r->probe->number;
	} else {
		attr.sample_period = r->probe->number;
	}
	return attach_cpus(a, r, &attr, r->probe->provider == PROGRAM_INTERVAL, d);
}

struct counter_name {
	const char *name, *alias;
	u64 config, period;
};

static const struct counter_name software[] = {
	{ "cpu-clock", "cpu", PERF_COUNT_SW_CPU_CLOCK, 1000000 },
	{ "task-clock", NULL, PERF_COUNT_SW_TASK_CLOCK, 1000000 },
	{ "page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, 100 },
	{ "context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, 1000 },
	{ "cpu-migrations", NULL, PERF_COUNT_SW_CPU_MIGRATIONS, 1 },
	{ "minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN, 100 },
	{ "major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1 },
	{ "alignment-faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1 },
	{ "emulation-faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS, 1 },
	{ "dummy", NULL, PERF_COUNT_SW_DUMMY, 1 },
	{ "bpf-output", NULL, PERF_COUNT_SW_BPF_OUTPUT, 1 },
	{ 0 },
};

static const struct counter_name hardware[] = {
	{ "cpu-cycles", "cycles", PERF_COUNT_HW_CPU_CYCLES, 1000000 },
	{ "instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, 1000000 },
	{ "cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES, 1000000 },
	{ "cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES, 1000000 },
	{ "branch-instructions", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100000 },
	{ "branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES, 100000 },
	{ "bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES, 100000 },
	{ "frontend-stalls", NULL, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000 },
	{ "backend-stalls", NULL, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000 },
	{ "ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, 1000000 },
	{ 0 },
};

static const struct counter_name *find_counter(const struct counter_name *c, const char *name)
{
	for (; c->name; c++)
		if (!strcmp(c->name, name) || (c->alias && !strcmp(c->alias, name)))
			return c;
	return NULL;
}

int attach_counter(struct attached *a, const struct attach_range *r, struct diag *d)
{
	bool soft = r->probe->provider == PROGRAM_SOFTWARE;
	const struct counter_name *c = find_counter(soft ? software : hardware, r->probe->name);
	if (!c) {
		diag_error(d, -EINVAL, "unknown %s event '%s'", soft ? "software" : "hardware",
			   r->probe->name);
		script_span(d, a->loaded->script, r->probe->span_start, r->probe->span_len);
		return -EINVAL;
	}
	struct perf_event_attr attr = { .type = soft ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = c->config };
	attr.sample_period = r->probe->number ? r->probe->number : c->period;
	return attach_cpus(a, r, &attr, false, d);
}

static u32 access_of(const char *letters)
{
	u32 bits = 0;
	for (; letters && *letters; letters++)
		bits |= *letters == 'r'	  ? HW_BREAKPOINT_R
			: *letters == 'w' ? HW_BREAKPOINT_W
			: *letters == 'x' ? HW_BREAKPOINT_X
					  : 0;
	return bits;
}

int attach_watchpoint(struct attached *a, const struct attach_range *r, struct diag *d)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr) };
	attr.bp_addr = r->probe->number;
	attr.bp_len = r->probe->offset;
	attr.bp_type = access_of(r->probe->name);
	attr.sample_period = 1;
	if (a->opts.pid)
		return attach_on(a, r, &attr, a->opts.pid, -1, d);
	return attach_cpus(a, r, &attr, false, d);
}
