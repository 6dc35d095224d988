/* Writes the seeds of fuzz/corpus/perfdata: perf_corpus FOLDER. The same small story in every form. */
#include "gen/perfwrite.h"

#include <stdio.h>

static void save(struct perfwrite *w, const char *folder, const char *name, u8 way)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "w");
	if (f) {
		fwrite(w->out.data, 1, w->out.len, f);
		fwrite(&way, 1, 1, f);
		fclose(f);
	}
	perfwrite_done(w);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned form;
		u32 attr_size;
		u8 way;
	} seeds[] = {
		{ "plain", 0, 0, 1 },
		{ "swapped", PERFWRITE_SWAP, 0, 16 },
		{ "old", 0, 64, 2 },
		{ "new", PERFWRITE_NO_TIMES, 144, 4 | 1 },
		{ "pipe", PERFWRITE_PIPE, 0, 8 },
		{ "pipe-swapped", PERFWRITE_PIPE | PERFWRITE_SWAP, 72, 32 | 1 },
		{ "zstd", PERFWRITE_ZSTD, 0, 17 },
		{ "zstd2", PERFWRITE_ZSTD2, 0, 32 | 64 },
		{ "killed", PERFWRITE_KILLED, 0, 128 | 1 },
	};
	if (argc != 2)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(seeds); i++) {
		struct perfwrite w;
		perfwrite_story(&w, seeds[i].form, seeds[i].attr_size, 2);
		save(&w, argv[1], seeds[i].name, seeds[i].way);
	}
	struct perfwrite w;
	perfwrite_begin(&w, 0);
	u64 all = ((1ull << 25) - 1) & ~(u64)PERF_SAMPLE_WEIGHT;
	struct perf_event_attr a = { .type = 1, .sample_type = all, .read_format = 15, .sample_regs_user = 7, .sample_regs_intr = 3,
				     .sample_id_all = 1 };
	perfwrite_event(&w, &a, (u64[]){ 5 }, 1, "everything");
	u64 words[64] = { 2, 1, 1, 9, 5, 8, 6 };
	words[9] = (u64)PERF_CONTEXT_USER;
	struct perfwrite_sample s = { .misc = 2, .ip = 0x1010, .time = 5, .pid = 1, .tid = 1, .period = 9, .chain = words + 9, .nr_chain = 4,
				      .read = words, .nr_read = 7, .raw = "raw", .raw_size = 4, .branches = words, .nr_branches = 2,
				      .regs_user = words, .regs_intr = words, .stack = "stack...", .stack_size = 8, .stack_used = 8 };
	perfwrite_sample(&w, 0, &s);
	perfwrite_end(&w);
	save(&w, argv[1], "everything", 1);
	return 0;
}
