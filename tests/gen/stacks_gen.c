/*
 * Writes a perf.data with the samples of a text, and a copy of /proc/kallsyms that names their frames: stacks_gen FILE KALLSYMS [WORD...] < TEXT
 *
 *	MS COMM PID TID PERIOD outermost;...;innermost
 *
 * Frames are kernel functions of any name without blanks and semicolons; "@" is user code without a symbol. "-" for the stack: a
 * sample without one. Names that KALLSYMS has already keep their places, so that one list can serve several recordings. The words are
 * the recorder's command line.
 */
#include "base/strtab.h"
#include "gen/perfwrite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const u64 TEXT = 0xffffffff81000000ull, FUNC = 0x100;
enum { MAX_FRAMES = 1024 };

struct story {
	struct perfwrite w;
	struct strtab names;
	VEC(u32) tids;
};

static u64 address(struct story *s, const char *name, size_t len)
{
	if (len == 1 && *name == '@')
		return 0x400100;
	s64 id = strtab_add(&s->names, name, len);
	return TEXT + (u64)id * FUNC + 0x10;
}

static void task(struct story *s, u32 pid, u32 tid, const char *comm)
{
	vec_for_each (&s->tids, t)
		if (*t == tid)
			return;
	*vec_push(&s->tids) = tid;
	perfwrite_comm(&s->w, pid, tid, comm, false, 0);
	perfwrite_mmap(&s->w,
		       &(struct perfwrite_map){
			       .pid = pid, .addr = 0x400000, .len = 0x1000, .name = "/bin/app" },
		       0);
}

static void sample(struct story *s, double ms, u32 pid, u32 tid, u64 period, const char *stack)
{
	u64 chain[MAX_FRAMES + 2], nr = 0, addrs[MAX_FRAMES], nr_addrs = 0;
	bool none = !strcmp(stack, "-");
	for (const char *at = stack; *at && nr_addrs < MAX_FRAMES && !none;) {
		size_t len = strcspn(at, ";");
		addrs[nr_addrs++] = address(s, at, len);
		at += len + (at[len] == ';');
	}
	u64 mode = 0;
	for (u64 i = nr_addrs; i-- > 0 && nr < MAX_FRAMES;) {
		u64 here = addrs[i] >= TEXT ? (u64)PERF_CONTEXT_KERNEL : (u64)PERF_CONTEXT_USER;
		if (here != mode)
			chain[nr++] = mode = here;
		chain[nr++] = addrs[i];
	}
	u64 ip = nr_addrs ? addrs[nr_addrs - 1] : 0x400100;
	perfwrite_sample(&s->w, 0,
			 &(struct perfwrite_sample){ .misc = ip >= TEXT ? PERF_RECORD_MISC_KERNEL
									: PERF_RECORD_MISC_USER,
						     .ip = ip,
						     .pid = pid,
						     .tid = tid,
						     .time = (u64)(ms * 1e6) + 1000000000,
						     .period = period,
						     .chain = chain,
						     .nr_chain = nr });
}

static void read_names(struct story *s, const char *path)
{
	char name[4096];
	FILE *k = fopen(path, "r");
	while (k && fscanf(k, "%*s %*s %4095s", name) == 1)
		if (strcmp(name, "_text") && strcmp(name, "_etext"))
			(void)!strtab_add(&s->names, name, strlen(name));
	if (k)
		fclose(k);
}

/* FEAT_CMDLINE: how many, then each with its size. */
static void command_line(struct perfwrite *w, int nr, char **words)
{
	struct strbuf b;
	u32 count = (u32)nr;
	strbuf_init(&b);
	strbuf_add(&b, &count, sizeof(count));
	for (int i = 0; i < nr; i++) {
		u32 len = (u32)strlen(words[i]) + 1;
		strbuf_add(&b, &len, sizeof(len));
		strbuf_add(&b, words[i], len);
	}
	perfwrite_feature(w, FEAT_CMDLINE, b.data, b.len);
	strbuf_done(&b);
}

int main(int argc, char **argv)
{
	static char line[1 << 16], stack[1 << 16];
	char comm[64];
	double ms;
	u32 pid, tid;
	u64 period;
	struct story s = { 0 };
	if (argc < 3)
		return 129;
	strtab_init(&s.names);
	read_names(&s, argv[2]);
	perfwrite_begin(&s.w, 0);
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .sample_id_all = 1,
				     .freq = 1,
				     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						    PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
						    PERF_SAMPLE_CALLCHAIN };
	perfwrite_event(&s.w, &a, (u64[]){ 1 }, 1, "cpu-clock");
	perfwrite_mmap(&s.w,
		       &(struct perfwrite_map){ .pid = UINT32_MAX,
						.addr = TEXT,
						.len = 0x10000000,
						.pgoff = TEXT,
						.name = "[kernel.kallsyms]_text",
						.kernel = true },
		       0);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%lf %63s %" SCNu32 " %" SCNu32 " %" SCNu64 " %65535s", &ms, comm,
			   &pid, &tid, &period, stack) != 6)
			return 1;
		task(&s, pid, tid, comm);
		sample(&s, ms, pid, tid, period, stack);
	}
	perfwrite_feature_str(&s.w, FEAT_HOSTNAME, "testhost");
	if (argc > 3)
		command_line(&s.w, argc - 3, argv + 3);
	perfwrite_end(&s.w);
	FILE *f = fopen(argv[1], "w"), *k = fopen(argv[2], "w");
	if (!f || !k || fwrite(s.w.out.data, 1, s.w.out.len, f) != s.w.out.len)
		return 1;
	fprintf(k, "%016" PRIx64 " T _text\n", TEXT);
	for (u32 i = 1; i < s.names.nr; i++)
		fprintf(k, "%016" PRIx64 " t %s\n", TEXT + i * FUNC, s.names.strs[i]);
	fprintf(k, "%016" PRIx64 " T _etext\n", TEXT + s.names.nr * FUNC);
	return fclose(f) || fclose(k);
}
