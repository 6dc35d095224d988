#include "analysis/latency.h"

#include <errno.h>

int latency_hist_init(struct latency_hist *l, bool in_ns)
{
	*l = (struct latency_hist){ 0 };
	int err = histogram_init(&l->units, &(struct histogram_opts){ .kind = HISTOGRAM_LOG2,
								      .unit = in_ns ? "ns" : "us",
								      .powers = LATENCY_POWERS });
	if (!err)
		err = histogram_init(&l->times, &(struct histogram_opts){
							.kind = HISTOGRAM_LOGLINEAR, .unit = "ns" });
	if (err)
		latency_hist_done(l);
	return err;
}

void latency_hist_done(struct latency_hist *l)
{
	histogram_done(&l->units);
	histogram_done(&l->times);
}

void latency_hist_add(struct latency_hist *l, u64 ns)
{
	s64 v = (s64)min(ns, (u64)INT64_MAX);
	bool in_ns = l->units.opts.unit[0] == 'n';
	histogram_add(&l->units, in_ns ? v : v / 1000, 1);
	histogram_add(&l->times, v, 1);
}
