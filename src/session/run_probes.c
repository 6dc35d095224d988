#include "session/run_probes.h"

#include "probe/point.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int begin(struct run_probes *p, struct diag *d)
{
	int err = tracing_open(&p->tracing, "");
	if (err)
		return err;
	err = p->tracing.err ? tracing_explain(&p->tracing, d)
			     : journal_open(&p->journal, &p->tracing,
					    &(struct journal_opts){ .title = p->title }, d);
	if (err) {
		tracing_close(&p->tracing);
		return err;
	}
	(void)snprintf(p->group, sizeof(p->group), "sonde_%s", journal_name(p->journal));
	for (char *c = p->group; *c; c++)
		*c = *c == '-' ? '_' : *c;
	return 0;
}

static int define(void *ctx, const struct event_probe *at,
		  int (*each)(void *each_ctx, const char *system, const char *event),
		  void *each_ctx, struct diag *d)
{
	struct run_probes *p = ctx;
	size_t first = p->defs.at.nr;
	int err = p->journal ? 0 : begin(p, d);
	if (!err)
		err = probe_point_find(at, false, p->group, "", &p->defs, d);
	for (size_t i = first; i < p->defs.at.nr && !err; i++) {
		const struct probe_def *def = &p->defs.at.at[i];
		err = probe_define(p->journal, &p->tracing, def, d);
		if (!err)
			err = each(each_ctx, def->group, def->event);
	}
	return err;
}

void run_probes_init(struct run_probes *p, const char *title)
{
	*p = (struct run_probes){ .title = title, .ops = { .define = define, .ctx = p } };
	probe_defs_init(&p->defs);
}

/* Events in tracefs may be probes, of this run or defined before. */
static u64 count_missed(const struct event_list *l)
{
	struct tracing t;
	struct probe_listing now;
	bool any = false;
	u64 missed = 0;
	vec_for_each (&l->events, e)
		any |= e->system != NULL;
	if (!any || tracing_open(&t, ""))
		return 0;
	if (tracing_has(&t, "kprobe_profile") && !probe_list(&t, &now)) {
		vec_for_each (&l->events, e) {
			const struct probe_listed *p =
				e->system ? probe_listing_find(&now, e->system, e->event) : NULL;
			missed += p ? p->misses : 0;
		}
		probe_listing_done(&now);
	}
	tracing_close(&t);
	return missed;
}

void run_probes_watch(struct run_probes *p, const struct event_list *l)
{
	p->missed_before = count_missed(l);
}

void run_probes_report(const struct run_probes *p, const struct event_list *l, struct diag *d)
{
	u64 missed = count_missed(l);
	if (missed <= p->missed_before)
		return;
	diag_warn(d, "probes on returns missed %llu calls: too many were open at once",
		  (unsigned long long)(missed - p->missed_before));
	diag_hint(d, "a definition with a larger number after the r holds more: 'r64:GROUP/EVENT "
		     "FUNCTION $retval'");
}

void run_probes_close(struct run_probes *p, struct diag *d)
{
	if (p->journal) {
		journal_close(p->journal, d);
		tracing_close(&p->tracing);
		p->journal = NULL;
	}
	probe_defs_done(&p->defs);
}
