/* A perf.data file of counts: the preface, every round, the topology in its head. */
#include "file/statdata.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static u64 read_rounds(struct statdata *s)
{
	struct statdata_round round;
	size_t nr = max((size_t)statdata_nr_slots(s) * s->events.nr, (size_t)1);
	struct count *counts = calloc(nr, sizeof(*counts));
	u64 sum = 0;
	for (int i = 0; counts && i < 1000 && statdata_next_round(s, counts, &round) > 0; i++)
		sum += round.time_ns + counts[0].value;
	free(counts);
	return sum;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct perfdata p;
	struct statdata s;
	struct machine m = { 0 };
	struct diag d;
	volatile u64 sum = 0;
	diag_init(&d);
	if (!perfdata_open_bytes(&p, data, size, "input", &d)) {
		if (!statdata_open(&s, &p, &d)) {
			sum += read_rounds(&s);
			statdata_close(&s);
		}
		if (!statdata_topology(&p, &m))
			vec_for_each (&m.nodes, n)
				sum += n->cpus ? strlen(n->cpus) : 0;
		vec_free(&m.cpus);
		vec_free(&m.nodes);
		p.map_size = 0; /* not ours to unmap */
	}
	perfdata_close(&p);
	diag_done(&d);
	(void)sum;
	return 0;
}
