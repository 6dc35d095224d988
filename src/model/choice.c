#include "model/choice.h"
#include "base/num.h"

#include <string.h>

const char *comm_text(const struct catalog *cat, u32 comm, char own[COMM_TEXT])
{
	if (!COMM_IS_UNNAMED(comm))
		return strtab_str(&cat->strings, comm);
	own[0] = ':';
	own[1 + num_s64(own + 1, COMM_TID(comm))] = '\0';
	return own;
}

static bool among(const s32 *list, size_t nr, s32 v)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == v)
			return true;
	return !nr;
}

static bool in_time(const struct sample_choice *c, u64 time_ns)
{
	for (size_t i = 0; i < c->nr_ranges; i++)
		if (time_ns >= c->ranges[i].from_ns &&
		    (!c->ranges[i].until_ns || time_ns <= c->ranges[i].until_ns))
			return true;
	return !c->nr_ranges;
}

bool sample_in_time(const struct sample_choice *c, const struct sample *s)
{
	return in_time(c, s->time_ns);
}

bool sample_gate_passes(struct sample_gate *g, u32 event)
{
	bool moves = event + 1 == (g->shut ? g->on : g->off);
	bool passes = moves ? g->shows : !g->shut;
	g->shut ^= moves;
	return passes;
}

bool sample_chosen(const struct sample_choice *c, const struct catalog *cat, const struct sample *s)
{
	if (!in_time(c, s->time_ns) || !among(c->cpus, c->nr_cpus, s->cpu) ||
	    !among(c->pids, c->nr_pids, s->pid) || !among(c->tids, c->nr_tids, s->tid))
		return false;
	if (mode_is_guest(s->mode) ? c->no_guest : c->no_host)
		return false;
	char own[COMM_TEXT];
	const char *comm = c->nr_comms ? comm_text(cat, s->comm, own) : NULL;
	for (size_t i = 0; i < c->nr_comms; i++)
		if (!strcmp(c->comms[i], comm))
			return true;
	return !c->nr_comms;
}
