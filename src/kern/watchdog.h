/*
 * A process that outlives us: it waits until we say goodbye, or until we are gone, however that came, and then does what is
 * left to do. It is forked before there is anything to undo, in a session of its own, with nothing of ours but the descriptors
 * it is told to keep: no signal meant for us reaches it.
 */
#pragma once

#include "base/types.h"

#include <sys/types.h>

struct watchdog {
	pid_t pid; /* 0: none */
	int fd; /* closed by our death */
};

/*
 * orphaned(ctx) runs in the watchdog when we die without watchdog_end(). keep: descriptors it holds besides, sorted. 0 or
 * negative errno. Call it while there is one thread.
 */
int watchdog_start(struct watchdog *w, void (*orphaned)(void *ctx), void *ctx, const int *keep,
		   size_t nr_keep) must_check;
/* All is undone: it goes. Waits until it has (and its descriptors with it). */
void watchdog_end(struct watchdog *w);
