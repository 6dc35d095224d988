/* What this CPU samples loads and stores with: for `mem record` and `c2c record`. */
#pragma once

#include "cmd/app/app.h"

enum { MEM_LATENCY_DEFAULT = 30 };

struct mem_events {
	bool loads, stores; /* Intel: an event each */
	bool loads_aux; /* which must be opened together with that of loads */
	bool ibs; /* AMD: one for both */
	char load_event[96];
	const char *list[3]; /* what to record, up to NULL */
};

int mem_find_events(struct mem_events *e) must_check;
/* There are none: says so; the status. */
int mem_no_events(struct app *app);
void mem_list_events(struct app *app, const struct mem_events *e);
/* -e: "ldlat-loads,ldlat-stores,mem-ldst". 0, or a usage status. */
int mem_choose_kinds(struct app *app, const char *kinds, bool *loads, bool *stores) must_check;
/* Fills the list. false: the CPU has nothing of what is wanted. */
bool mem_use_events(struct mem_events *e, bool loads, bool stores, u64 latency);
