/*
 * The runs of `sonde stat` with what stat_plan has made of the options: stat_run.c has the runs, stat_print.c writes, stat_control.c obeys a
 * script that switches counting on and off, stat_record.c keeps counts in a file and stat_file.c shows them.
 */
#pragma once

#include "base/printable.h"
#include "session/command_run.h"
#include "session/stat_plan.h"
#include "session/tell.h"
#include "kern/watchdog.h"
#include "view/stat_view.h"

#include <sys/resource.h>

/* One `sonde stat`: several runs with -r, several prints with -I. */
struct stat_session {
	struct tell tell;
	const struct stat_opts *o;
	struct stat_plan plan;
	struct sysroot root;
	struct command_run run;
	struct counters *counters;
	struct watchdog detaching; /* keeps tracepoints attached until we are gone */
	struct stat_recording *recording; /* `stat record` */
	struct stat_acc acc, total; /* total: over intervals, for --summary */
	struct count *now, *before, *delta;
	struct strbuf out;
	int out_fd;
	bool close_out;
	struct printable_stream screen; /* of out, where that is a terminal */
	struct stat_view view;
	char **argv;
	int argc;

	struct {
		VEC(double) list; /* seconds of each run */
	} elapsed;
	struct stat_mean elapsed_mean;
	u64 start_ns, end_ns, last_ns; /* last: end of the interval before */
	struct rusage usage_before;
	u64 user_ns, system_ns; /* of the last run */
	u64 nr_intervals;
	bool silent; /* the counts go into a pipe: whoever reads it shows them */
};

/* Signals and --control, for all runs. */
int stat_run_watch(struct stat_session *s) must_check;
/* All runs, and what they print. 0 or negative errno; run.exec_failed: of the command that could not be executed. */
int stat_run_all(struct stat_session *s) must_check;
/* Closes what a run opened, also one that failed. */
void stat_run_end(struct stat_session *s);
/* A command_run_obey: what came over --control. */
int stat_obey(void *ctx, enum control_command command);
/* Only where somebody waits for it: -D and --control. */
void stat_say_switched(struct stat_session *s, bool on);

/* `stat record`. The file is made when the counters are open, before anything runs; each round adds s->now to it. */
int stat_record_open(struct stat_session *s) must_check;
int stat_record_round(struct stat_session *s, u64 time_ns, bool final) must_check;
int stat_record_finish(struct stat_session *s) must_check;
void stat_record_close(struct stat_session *s);

/* Where the counts go: standard error, -o or --log-fd; and how numbers look there. 0, or negative with a diag. */
int stat_print_open(struct stat_session *s, struct diag *d) must_check;
/* What s->acc holds, as an interval that ended at now_ns. */
int stat_print_interval(struct stat_session *s, u64 now_ns) must_check;
/* The whole: after the command, after -r's last run, or --summary. */
int stat_print_whole(struct stat_session *s, struct stat_acc *acc) must_check;

/* `stat report`: what a file of `stat record` holds, the same way. 0 or negative errno with a diag. */
int stat_file_show(const struct stat_opts *o, const struct tell *to) must_check;
