/* Writes perf.data that is large in one way: perf_large maps|forks|line|names|ids|chains N FILE. */
#include "gen/perfwrite.h"

#include <stdio.h>

static void sample(struct perfwrite *w, u32 pid, u64 ip, u64 time, const u64 *chain, u64 nr)
{
	perfwrite_sample(w, 0, &(struct perfwrite_sample){ .misc = PERF_RECORD_MISC_USER, .ip = ip, .pid = pid, .tid = pid, .time = time,
							   .period = 1, .chain = chain, .nr_chain = nr });
}

static void item(struct perfwrite *w, const char *what, u32 i)
{
	char name[32];
	u64 time = 10 * ((u64)i + 1);
	snprintf(name, sizeof(name), "/lib/%u.so", i % 50000);
	if (!strcmp(what, "maps")) { /* one process, one library after the other, some over others */
		perfwrite_mmap(w, &(struct perfwrite_map){ .pid = 1, .addr = 0x1000 * (u64)(i % 30000), .len = 0x3000, .name = name }, time);
		sample(w, 1, 0x1000 * (u64)(i % 30000) + 0x10, time + 1, NULL, 0);
	} else if (!strcmp(what, "forks")) { /* children of one parent; pids come back after 30,000 */
		u32 pid = 2 + i % 30000;
		perfwrite_fork(w, pid, 1, pid, 1, time);
		sample(w, pid, 0x1010, time + 1, NULL, 0);
	} else if (!strcmp(what, "line")) { /* each the child of the one before, with a map of its own */
		perfwrite_fork(w, 2 + i, 1 + i, 2 + i, 1 + i, time);
		perfwrite_mmap(w, &(struct perfwrite_map){ .pid = 2 + i, .addr = 0x100000, .len = 0x1000, .name = name }, time + 1);
		sample(w, 2 + i, 0x1010, time + 2, NULL, 0);
	} else if (!strcmp(what, "names")) {
		perfwrite_comm(w, 1, 1, name + 5, false, time);
		sample(w, 1, 0x1010, time + 1, NULL, 0);
	} else if (!strcmp(what, "ids")) {
		perfwrite_mmap(w, &(struct perfwrite_map){ .pid = 1, .addr = 0x1000 * (u64)i, .len = 0x1000, .name = name }, 1);
		perfwrite_build_id(w, name, (const u8 *)"abcdefghijabcdefghij", 20);
	} else { /* garbage on the stack: every frame is a place of its own */
		u64 chain[33] = { (u64)PERF_CONTEXT_USER };
		for (u64 k = 1; k < 33; k++)
			chain[k] = ((u64)i * 33 + k) * 0x9e3779b97f4a7c15ull >> 20;
		sample(w, 1, chain[1], time, chain, 33);
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 1;
	struct perfwrite w;
	perfwrite_begin(&w, 0);
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .sample_id_all = 1, .freq = 1,
				     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN };
	perfwrite_event(&w, &a, (u64[]){ 1 }, 1, "cpu-clock");
	perfwrite_comm(&w, 1, 1, "first", false, 0);
	perfwrite_mmap(&w, &(struct perfwrite_map){ .pid = 1, .addr = 0x1000, .len = 0x1000, .name = "/bin/first" }, 0);
	for (u32 i = 0; i < (u32)atoi(argv[2]); i++)
		item(&w, argv[1], i);
	perfwrite_end(&w);
	FILE *f = fopen(argv[3], "w");
	if (!f || fwrite(w.out.data, 1, w.out.len, f) != w.out.len || fclose(f))
		return 1;
	perfwrite_done(&w);
	return 0;
}
