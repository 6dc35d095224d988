/*
 * The options of `sonde record`: what was asked (opts.c, graph.c), and the run with its rows (record.c). What a recording does beside that is
 * session/record.h.
 */
#pragma once

#include "cmd/app/app.h"
#include "session/record.h"

extern const struct opt record_rows[]; /* also of commands that record for an analysis (preset.h) */

/* A run of the command: the session, and whose it is. */
struct record_call {
	struct record_session s;
	struct app *app;
};

static inline struct app *record_app(const struct record_session *s)
{
	return container_of(s, const struct record_call, s)->app;
}

/* Nothing is under way yet. */
void record_call_init(struct record_call *call, struct app *app, const struct record_opts *o);
void record_session_done(struct record_session *s);
/* When the recorder has finished. failed: the file ends early, and how many of the samples it holds is not known. */
void record_say_result(struct record_session *s, bool failed);

/*
 * --kcore: the output becomes a directory with the kernel's code in it, and the recorder writes into that. Without the option nothing
 * happens. Removed again when nothing could be recorded.
 */
int record_folder_create(struct record_session *s, struct recorder_opts *ro) must_check;
void record_folder_remove(struct record_session *s);

/* -r: after the command is forked, and before our threads are created, which inherit the priority. 0, or -EPERM with a diag. */
int record_realtime(struct record_session *s) must_check;

/* For the option rows. */
int record_take_event(void *opts, const char *value, bool negated, struct diag *d);
int record_take_filter(void *opts, const char *value, bool negated, struct diag *d);
int record_take_exclude_perf(void *opts, const char *value, bool negated, struct diag *d);
int record_take_inherit(void *opts, const char *value, bool negated, struct diag *d);
int record_take_period(void *opts, const char *value, bool negated, struct diag *d);
int record_take_time(void *opts, const char *value, bool negated, struct diag *d);

/* -I? and --user-regs=? ask which registers there are. false: nobody did. */
bool record_list_regs(const struct record_opts *o, struct strbuf *to);
/*
 * From what was asked to what is opened; its lists are the session's. program: of the command, NULL: none. -EINVAL: it was asked in
 * a wrong way; with a diag.
 */
int record_build_live(struct record_session *s, const char *program,
		      struct recorder_opts *ro) must_check;

/* --call-graph, with all the rest known. */
int record_call_graph(struct record_session *s, const char *program,
		      struct recorder_opts *ro) must_check;
int record_take_trigger(void *opts, const char *value, bool negated, struct diag *d);
