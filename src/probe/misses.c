#include "probe/misses.h"
#include "base/str.h"

/* Most machines have no probes at all: one small file says so. */
static bool any_probes(const struct tracing *t)
{
	struct strbuf text;
	strbuf_init(&text);
	bool any = tracing_has(t, "kprobe_profile") && !tracing_read(t, "kprobe_profile", &text) &&
		   text.len;
	strbuf_done(&text);
	return any;
}

struct probe_misses
probe_misses_read(const struct tracing *t,
		  bool (*is_meant)(void *ctx, const char *group, const char *event), void *ctx)
{
	struct probe_misses sum = { 0 };
	struct probe_listing now;
	if (!any_probes(t) || probe_list(t, &now))
		return sum;
	vec_for_each (&now.at, p) {
		if (!p->has_misses || !is_meant(ctx, p->group, p->event))
			continue;
		if (p->letter == 'r')
			sum.returns += p->misses;
		else
			sum.hits += p->misses;
	}
	probe_listing_done(&now);
	return sum;
}

void probe_misses_report(const struct probe_misses *before, const struct probe_misses *now,
			 struct diag *d)
{
	if (now->returns > before->returns) {
		u64 n = now->returns - before->returns;
		diag_warn(d, "probes on returns missed %llu %s: too many were open at once",
			  (unsigned long long)n, str_plural(n, "call", "calls"));
		diag_hint(d, "a definition with a larger number after the r holds more: "
			     "'r64:GROUP/EVENT FUNCTION $retval'");
	}
	if (now->hits > before->hits) {
		u64 n = now->hits - before->hits;
		diag_warn(d, "probes missed %llu %s: they happened inside of another probe",
			  (unsigned long long)n, str_plural(n, "hit", "hits"));
	}
}
