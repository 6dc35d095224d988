#include "cmd/record/preset.h"

#include "cmd/app/commands.h"
#include "kern/tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Bursts of events are longer than bursts of samples. */
static const char ring_size[] = "4M";

static int put_events_first(struct record_opts *o, const char *const *events)
{
	struct record_words all = { 0 };
	for (; *events; events++) {
		struct record_word *w = vec_push(&all.list);
		if (!w)
			goto no_memory;
		*w = (struct record_word){ .text = *events, .kind = WORD_EVENT };
	}
	vec_for_each (&o->words.list, old) {
		struct record_word *w = vec_push(&all.list);
		if (!w)
			goto no_memory;
		*w = *old;
	}
	vec_free(&o->words.list);
	o->words = all;
	return 0;
no_memory:
	vec_free(&all.list);
	return -ENOMEM;
}

int record_run_preset(struct app *app, struct record_opts *o, const struct record_preset *p,
		      int argc, char **argv)
{
	int err = put_events_first(o, p->events);
	if (err)
		return app_fail(app, err);
	if (!p->sampled && !o->freq && !o->live.period)
		o->live.period = 1;
	if (!p->sampled && !o->ring)
		o->ring = ring_size;
	if (p->call_graph && !o->call_graph && !o->graph)
		o->call_graph = p->call_graph;
	o->all |= p->system_wide && !o->pids && !o->tids && !o->cpus;
	return command_record.run(app, o, argc, argv);
}

bool record_kernel_has(const char *const *events)
{
	struct tracing t;
	bool all = true;
	if (tracing_open(&t, ""))
		return false;
	for (; *events && all; events++) {
		char system[64];
		u64 id;
		const char *colon = strchr(*events, ':');
		(void)snprintf(system, sizeof(system), "%.*s", (int)(colon - *events), *events);
		all = !tracing_event_id(&t, system, colon + 1, &id);
	}
	tracing_close(&t);
	return all;
}
