/*
 * Called by another tool's name (a link to the binary), we are that tool's command line. One row a tool, and one for our own name: either
 * its whole command line is one of our commands (.verb), or it has verbs, options and settings of its own (.run); and wherever a command
 * does something else for who expects that tool, a field says so. Commands ask app->dialect, never for a name.
 */
#pragma once

#include "base/types.h"

struct app;

struct dialect {
	const char *called; /* last component of argv[0] */
	const char *verb; /* our command that its whole command line belongs to; NULL: .run, or our own */
	int (*run)(struct app *app, int argc, char **argv); /* returns the exit status */
	const char *version; /* what --version answers: scripts look at it */
	const char *pager; /* the variable that names the pager before $PAGER */
	bool quiet_notes; /* notes, which the tool does not have, only with -v */

	/* Names and code. */
	bool plain_names; /* code without symbols stays without a name, unless --func-names */
	bool plain_code; /* annotate draws no arrows of jumps, and its lines in any character set */

	bool hides_guests; /* report, diff and script: samples of virtual machines only where they were asked for */

	/* Recording. */
	bool records_as_perf; /* asks the kernel for what perf asks for, and no more; stacks are unwound by readers */
	bool perf_closing_lines; /* closing lines are perf's, without advice of ours */
	bool prints_to_stderr; /* trace: lines go to standard error */
	bool missing_event_is_usage; /* an event that is not there is wrong usage */

	/* Tracing. */
	bool traces_until_ctrl_c; /* ftrace record: lines as trace-cmd's, and Ctrl-C is how it ends */
	bool reset_needs_no_force; /* ftrace reset: whatever others have set up */
	bool check_always_succeeds; /* ftrace check-events: status 0, whatever was not understood */
	bool plain_times; /* ftrace profile: times without units */
	bool ends_with_table; /* perf ftrace latency: no summary below it */

	/* Scripts. */
	bool attaches_as_bpftrace; /* run: as bpftrace 0.17: "Attaching 2 probes..." on standard output, its layout of maps; status 0 after Ctrl-C and whatever the command returned */

	bool reads_stap; /* run: scripts are in the language of SystemTap */

	/* Files. */
	bool streams_unnamed; /* stat report: a stream is called "pipe", whatever it says of its command */
	bool no_aux_status; /* record -S: its message and status where nothing can be snapshot */
	bool lists_as_perf; /* list: its sections, its way of matching, and status 0 whatever was found */
	bool archives_as_perf; /* archive: the name and the closing lines of perf-archive */
	bool perf_cache_messages; /* buildid-cache says what perf's does */
};

/* Our own row for a name that means nothing. */
const struct dialect *dialect_find(const char *argv0);
