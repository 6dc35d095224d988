/* `sonde who -b`: a table an interval, as text, CSV or JSON, until a count is reached or somebody ends it. */
#pragma once

#include "model/flame.h"
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
	u8 memory; /* of the lines above the table: enum memory_unit */
	bool bare; /* nothing above it but the time */
	const char *root; /* another /proc and /sys; NULL: ours */
	struct symbols *symbols; /* names for stacks, on the screen */
	/*
	 * Samples a process for so many seconds into an initialised flame, with the terminal as other programs have it. 0, or negative errno with
	 * the reason in `why`.
	 */
	int (*profile)(void *ctx, s32 pid, unsigned seconds, struct flame *f, struct strbuf *why);
	/* System calls of a process, printed until Ctrl-C, with the terminal as other programs have it. As profile(). */
	int (*trace)(void *ctx, s32 pid, struct strbuf *why);
	/*
	 * Where the time of a process goes, over that many seconds: running, ready, blocked by stack, woken by whom. As profile(), into text; none: it
	 * was not switched to or away from.
	 */
	int (*waits)(void *ctx, s32 pid, unsigned seconds, struct strbuf *text, struct strbuf *why);
	void *ctx;
};

/* 0, also after Ctrl-C, or negative errno with a diag. Text goes to tell->out, which is flushed after each table. */
int who_run_batch(const struct who_run_opts *o, const struct tell *tell) must_check;

/* The screen. 0; -ENOTTY: the terminal cannot draw, nothing was shown; or negative errno with a diag. Changes o->who. */
int who_run_screen(struct who_run_opts *o, const struct tell *tell) must_check;
