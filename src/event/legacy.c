#include "event/legacy.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct legacy_event hardware[] = {
	{ "cpu-cycles", "cycles", PERF_COUNT_HW_CPU_CYCLES,
	  "core cycles; they follow the clock frequency", "cycles" },
	{ "instructions", NULL, PERF_COUNT_HW_INSTRUCTIONS, "retired instructions" },
	{ "cache-references", NULL, PERF_COUNT_HW_CACHE_REFERENCES,
	  "last-level cache accesses (usually)" },
	{ "cache-misses", NULL, PERF_COUNT_HW_CACHE_MISSES, "last-level cache misses (usually)" },
	{ "branch-instructions", "branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	  "retired branch instructions", "branches" },
	{ "branch-misses", NULL, PERF_COUNT_HW_BRANCH_MISSES, "mispredicted branch instructions" },
	{ "bus-cycles", NULL, PERF_COUNT_HW_BUS_CYCLES, "bus cycles" },
	{ "stalled-cycles-frontend", "idle-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
	  "cycles in which no instruction could be issued" },
	{ "stalled-cycles-backend", "idle-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
	  "cycles in which no instruction could retire" },
	{ "ref-cycles", NULL, PERF_COUNT_HW_REF_CPU_CYCLES, "cycles at a constant rate" },
};

static const struct legacy_event software[] = {
	{ "cpu-clock", NULL, PERF_COUNT_SW_CPU_CLOCK,
	  "time on the CPU, by its high-resolution timer" },
	{ "task-clock", NULL, PERF_COUNT_SW_TASK_CLOCK, "time the task ran" },
	{ "page-faults", "faults", PERF_COUNT_SW_PAGE_FAULTS, "page faults" },
	{ "context-switches", "cs", PERF_COUNT_SW_CONTEXT_SWITCHES, "context switches" },
	{ "cpu-migrations", "migrations", PERF_COUNT_SW_CPU_MIGRATIONS, "migrations to another CPU" },
	{ "minor-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MIN,
	  "page faults without reading from disk" },
	{ "major-faults", NULL, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page faults that read from disk" },
	{ "alignment-faults", NULL, PERF_COUNT_SW_ALIGNMENT_FAULTS,
	  "unaligned accesses fixed by the kernel" },
	{ "emulation-faults", NULL, PERF_COUNT_SW_EMULATION_FAULTS,
	  "instructions emulated by the kernel" },
	{ "dummy", NULL, PERF_COUNT_SW_DUMMY, "counts nothing; carries side-band records" },
	{ "bpf-output", NULL, PERF_COUNT_SW_BPF_OUTPUT, "output of BPF programs" },
	{ "cgroup-switches", NULL, PERF_COUNT_SW_CGROUP_SWITCHES,
	  "switches to a task of another cgroup" },
};

static const struct legacy_event tool[] = {
	{ "duration_time", NULL, EVENT_TOOL_DURATION, "wall time of the run, ns" },
	{ "user_time", NULL, EVENT_TOOL_USER, "user time of the command, ns" },
	{ "system_time", NULL, EVENT_TOOL_SYSTEM, "system time of the command, ns" },
};

const struct legacy_event *legacy_hardware(size_t *nr)
{
	*nr = ARRAY_SIZE(hardware);
	return hardware;
}

const struct legacy_event *legacy_software(size_t *nr)
{
	*nr = ARRAY_SIZE(software);
	return software;
}

const struct legacy_event *legacy_tool(size_t *nr)
{
	*nr = ARRAY_SIZE(tool);
	return tool;
}

const struct legacy_event *legacy_find(const struct legacy_event *rows, size_t nr, const char *s,
				       size_t len)
{
	for (size_t i = 0; i < nr; i++)
		if ((!strncmp(rows[i].name, s, len) && !rows[i].name[len]) ||
		    (rows[i].alias && !strncmp(rows[i].alias, s, len) && !rows[i].alias[len]))
			return &rows[i];
	return NULL;
}

const char *legacy_shown(u32 type, u64 config)
{
	size_t nr = 0;
	const struct legacy_event *rows = type == PERF_TYPE_HARDWARE   ? legacy_hardware(&nr)
					  : type == PERF_TYPE_SOFTWARE ? legacy_software(&nr)
								       : NULL;
	for (size_t i = 0; i < nr; i++)
		if (rows[i].config == config)
			return rows[i].shown ? rows[i].shown : rows[i].name;
	return NULL;
}

/* ---- cache events: config = cache | operation << 8 | result << 16 ---- */

enum { OP_READ = 1, OP_WRITE = 2, OP_PREFETCH = 4 };

static const struct {
	const char *names[6]; /* the canonical one first */
	u32 ops;
} caches[PERF_COUNT_HW_CACHE_MAX] = {
	[PERF_COUNT_HW_CACHE_L1D] = { { "L1-dcache", "l1-d", "l1d", "L1-data" },
				      OP_READ | OP_WRITE | OP_PREFETCH },
	[PERF_COUNT_HW_CACHE_L1I] = { { "L1-icache", "l1-i", "l1i", "L1-instruction" },
				      OP_READ | OP_PREFETCH },
	[PERF_COUNT_HW_CACHE_LL] = { { "LLC", "L2" }, OP_READ | OP_WRITE | OP_PREFETCH },
	[PERF_COUNT_HW_CACHE_DTLB] = { { "dTLB", "d-tlb", "Data-TLB" },
				       OP_READ | OP_WRITE | OP_PREFETCH },
	[PERF_COUNT_HW_CACHE_ITLB] = { { "iTLB", "i-tlb", "Instruction-TLB" }, OP_READ },
	[PERF_COUNT_HW_CACHE_BPU] = { { "branch", "branches", "bpu", "btb", "bpc" }, OP_READ },
	[PERF_COUNT_HW_CACHE_NODE] = { { "node" }, OP_READ | OP_WRITE | OP_PREFETCH },
};

static const char *const ops[PERF_COUNT_HW_CACHE_OP_MAX][5] = {
	[PERF_COUNT_HW_CACHE_OP_READ] = { "load", "loads", "read" },
	[PERF_COUNT_HW_CACHE_OP_WRITE] = { "store", "stores", "write" },
	[PERF_COUNT_HW_CACHE_OP_PREFETCH] = { "prefetch", "prefetches", "speculative-read",
					      "speculative-load" },
};

static const char *const results[PERF_COUNT_HW_CACHE_RESULT_MAX][5] = {
	[PERF_COUNT_HW_CACHE_RESULT_ACCESS] = { "refs", "Reference", "ops", "access" },
	[PERF_COUNT_HW_CACHE_RESULT_MISS] = { "misses", "miss" },
};

/* How much of s the longest of the names takes when a word ends there; 0: none. */
static size_t match(const char *const *names, size_t nr, const char *s, size_t len)
{
	size_t best = 0;
	for (size_t i = 0; i < nr && names[i]; i++) {
		size_t n = strlen(names[i]);
		if (n <= len && n > best && !strncasecmp(names[i], s, n) && (n == len || s[n] == '-'))
			best = n;
	}
	return best;
}

/* Takes "-word" off s when it is one of the rows; the row, or -1. */
static int take(const char *const rows[][5], size_t nr_rows, const char **s, size_t *len)
{
	if (!*len || **s != '-')
		return -1;
	size_t best = 0;
	int row = -1;
	for (size_t i = 0; i < nr_rows; i++) {
		size_t n = match(rows[i], 5, *s + 1, *len - 1);
		if (n > best) {
			best = n;
			row = (int)i;
		}
	}
	if (row >= 0) {
		*s += best + 1;
		*len -= best + 1;
	}
	return row;
}

int cache_event_parse(const char *s, size_t len, u64 *config)
{
	size_t best = 0, cache = 0;
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		size_t n = match(caches[i].names, ARRAY_SIZE(caches[i].names), s, len);
		if (n > best) {
			best = n;
			cache = i;
		}
	}
	if (!best)
		return -ENOENT;
	s += best;
	len -= best;
	int op = take(ops, ARRAY_SIZE(ops), &s, &len);
	int result = take(results, ARRAY_SIZE(results), &s, &len);
	if (op < 0)
		op = take(ops, ARRAY_SIZE(ops), &s, &len);
	if (len)
		return -ENOENT;
	if (op < 0)
		op = PERF_COUNT_HW_CACHE_OP_READ;
	if (result < 0)
		result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
	if (!(caches[cache].ops & 1u << op))
		return -EINVAL;
	*config = cache | (u64)op << 8 | (u64)result << 16;
	return 0;
}

int cache_event_name(u64 config, char *buf)
{
	u64 cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;
	if (cache >= ARRAY_SIZE(caches) || op >= ARRAY_SIZE(ops) || result >= ARRAY_SIZE(results) ||
	    !(caches[cache].ops & 1u << op))
		return -EINVAL;
	if (result == PERF_COUNT_HW_CACHE_RESULT_MISS)
		(void)snprintf(buf, CACHE_NAME_MAX, "%s-%s-%s", caches[cache].names[0], ops[op][0],
			       results[result][0]);
	else
		(void)snprintf(buf, CACHE_NAME_MAX, "%s-%s", caches[cache].names[0], ops[op][1]);
	return 0;
}

int cache_event_next(u32 *at, char *buf, u64 *config)
{
	enum { PER_CACHE = PERF_COUNT_HW_CACHE_OP_MAX * PERF_COUNT_HW_CACHE_RESULT_MAX };
	while (*at < PERF_COUNT_HW_CACHE_MAX * PER_CACHE) {
		u32 i = (*at)++;
		u64 c = i / PER_CACHE | (u64)(i % PER_CACHE / PERF_COUNT_HW_CACHE_RESULT_MAX) << 8 |
			(u64)(i % PERF_COUNT_HW_CACHE_RESULT_MAX) << 16;
		if (cache_event_name(c, buf) == 0) {
			*config = c;
			return 1;
		}
	}
	return 0;
}
