/* `sonde who -b`: a table an interval, as text, CSV or JSON, until a count is reached or somebody ends it. */
#pragma once

#include "session/tell.h"
#include "session/who_source.h"

struct who_run_opts {
	struct who_opts who;
	u64 delay_ns;
	u64 rounds; /* 0: until a signal */
	const s32 *pids; /* NULL: all */
	size_t nr_pids;
	bool csv;
	bool per_cpu;
	bool disks; /* iotop's lines above the table */
	const char *root; /* another /proc and /sys; NULL: ours */
	struct symbols *symbols; /* names for stacks, on the screen */
};

/* 0, also after Ctrl-C, or negative errno with a diag. Text goes to tell->out, which is flushed after each table. */
int who_run_batch(const struct who_run_opts *o, const struct tell *tell) must_check;

/* The screen. 0; -ENOTTY: the terminal cannot draw, nothing was shown; or negative errno with a diag. Changes o->who. */
int who_run_screen(struct who_run_opts *o, const struct tell *tell) must_check;
