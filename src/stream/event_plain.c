#include "stream/event_plain.h"

#include <errno.h>

static const struct {
	const char *name;
	u32 type;
	u64 config;
} plain_events[] = {
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
	{ "dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
};

static int apply_modifiers(const char *spec, const char *mods, struct perf_event_attr *a,
			   struct diag *d)
{
	bool user = false, kernel = false;
	for (const char *m = mods; *m; m++) {
		switch (*m) {
		case 'u': user = true; break;
		case 'k': kernel = true; break;
		case 'p': a->precise_ip = min(a->precise_ip + 1u, 3u); break;
		case 'P': a->precise_ip = 3; break;
		default:
			diag_error(d, -EINVAL, "'%c' is no modifier of an event", *m);
			diag_span(d, spec, (size_t)(m - spec), 1);
			return -EINVAL;
		}
	}
	if (user || kernel) {
		a->exclude_user = !user;
		a->exclude_kernel = !kernel;
		a->exclude_hv = 1;
	}
	return 0;
}

int event_plain(const char *spec, struct perf_event_attr *ret, struct diag *d)
{
	struct perf_event_attr a = { .size = sizeof(a) };
	size_t len = strcspn(spec, ":");
	for (size_t i = 0; i < ARRAY_SIZE(plain_events); i++) {
		if (strlen(plain_events[i].name) != len || memcmp(plain_events[i].name, spec, len))
			continue;
		a.type = plain_events[i].type;
		a.config = plain_events[i].config;
		int err = spec[len] ? apply_modifiers(spec, spec + len + 1, &a, d) : 0;
		if (!err)
			*ret = a;
		return err;
	}
	diag_error(d, -EINVAL, "there is no event '%.*s'", (int)len, spec);
	diag_span(d, spec, 0, len);
	return -EINVAL;
}
