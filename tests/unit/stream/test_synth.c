/* Records about what was there before: their sizes and numbers, as perf reads them. */
#include "stream/synth.h"
#include "tap.h"
#include "wire/perf_record.h"

int main(void)
{
	struct strbuf to;
	struct synth s = { .to = &to };
	struct cpuset cpus;
	struct perf_event_header h;
	u64 words[4];
	strbuf_init(&to);
	cpuset_zero(&cpus);
	cpuset_add(&cpus, 0);
	cpuset_add(&cpus, 5);
	cpuset_add(&cpus, 9);
	synth_cpu_map(&s, &cpus);
	memcpy(&h, to.data, sizeof(h));
	ok(h.type == REC_CPU_MAP && h.size == to.len && !(h.size % 8),
	   "a map of CPUs fills whole words");
	static const u16 list[] = { 0, 3, 0, 5, 9 };
	ok(!memcmp(to.data + sizeof(h), list, sizeof(list)),
	   "its kind, the number of CPUs, and each of them");

	strbuf_reset(&to);
	synth_thread_map(&s, NULL, 0);
	memcpy(&h, to.data, sizeof(h));
	memcpy(words, to.data + sizeof(h), sizeof(words));
	ok(h.type == REC_THREAD_MAP && h.size == to.len, "a map of threads");
	ok(words[0] == 1 && words[1] == UINT64_MAX, "all of them are thread -1");

	strbuf_reset(&to);
	synth_thread_map(&s, (const s32[]){ 7, 8 }, 2);
	memcpy(words, to.data + sizeof(h), sizeof(words));
	ok(words[0] == 2 && words[1] == 7, "two of them");
	strbuf_done(&to);
	return done_testing();
}
