/*
 * Changes to tracefs that are undone. What is about to be written goes to a journal first (file, old value, new value): a file
 * in /run/sonde/ftrace, locked as long as the run or its watchdog lives. Undoing goes backwards and touches a file only where it
 * still holds what we wrote. A run that is killed is undone by its watchdog; if that is killed too, by `ftrace reset --stale`,
 * which finds a journal that nobody locks.
 *
 * Inside of an instance that the run itself made only triggers are noted: the rest goes with the instance.
 *
 *	sonde journal 1
 *	H  pid  boot id  command line
 *	I  instance                      made by us
 *	S  file  old  new                one value
 *	L  file  old  new                a list that was replaced
 *	W  file  value                   about to be set again
 *	B  file  value                   what it read afterwards: also ours
 *	A  file  line  undoing line      one line added to a list
 *	X                                the instance or line before it was refused: it is not ours
 *	K  file                          a knob we are counted for (kern/lock)
 *	M  folder                        about to be made: removed where it is still empty
 *	R  folder  output                where recorded data is collected, and the file it is for
 *	P                                meant to stay (ftrace start)
 * A run that dies between a write and the B after it leaves S, L or W as the last word on a file: then whatever the kernel has made
 * of the value (a rounded size, the functions that fit a pattern) counts as ours.
 * Fields are separated by tabs; tab, newline and backslash inside are written \t \n \\.
 */
#pragma once

#include "kern/lock.h"
#include "kern/watchdog.h"

struct journal;

/* Saves what the dead run recorded; both are what journal_note_recording() was told. output: "" in a journal of an older version. */
typedef void journal_rescue_fn(const char *folder, const char *output);

struct journal_opts {
	const char *run_dir; /* NULL: RUN_DIR */
	const char *title; /* the command line, for people */
	bool no_watchdog;
	struct strbuf *dry; /* not NULL: nothing is written, this gets the commands that would */
	journal_rescue_fn *rescue; /* runs in the watchdog before it undoes */
	int keep[4]; /* descriptors that the watchdog holds too (locks); ends with 0 */
};

/* t is borrowed. Negative errno with a diag. */
int journal_open(struct journal **ret, const struct tracing *t, const struct journal_opts *o,
		 struct diag *d) must_check;
/* Undoes what is not undone, unless journal_keep() was called, and frees. Says what could not be undone, and leaves it in the journal. */
void journal_close(struct journal *j, struct diag *d);
/* Name of the run: "PID-STARTTIME". */
const char *journal_name(const struct journal *j);
int journal_run_dir(const struct journal *j);

/*
 * All return 0 or negative errno with a diag that says which file refused what, and what the kernel says about it. file is
 * relative to tracefs ("instances/x/tracing_on"), or absolute for sysctls.
 */
int journal_set(struct journal *j, const char *file, const char *value, struct diag *d) must_check;
/* Replaces a list (set_ftrace_filter, set_event_pid): words one per line, "" for none. */
int journal_list(struct journal *j, const char *file, const char *words, struct diag *d) must_check;
/* Adds one line to a list of commands (triggers); undo: the line that removes it. */
int journal_add(struct journal *j, const char *file, const char *line, const char *undo,
		struct diag *d) must_check;
/* Makes instances/NAME. */
int journal_instance(struct journal *j, const char *name, struct diag *d) must_check;
int journal_knob(struct journal *j, const char *file, u64 value, struct diag *d) must_check;
/* Not a change of state: no undo (clearing a buffer, a marker). Shown by a dry run. */
int journal_poke(struct journal *j, const char *file, const char *text, bool truncate,
		 struct diag *d) must_check;
/* A folder that is about to be made: removed if it is still empty when the run has died. */
int journal_note_folder(struct journal *j, const char *folder) must_check;
/* What was noted last did not happen. */
void journal_cancel(struct journal *j, struct diag *d);
/* Where recorded data is collected, and the file that it is for. The folder may lie where others write; the journal does not. */
int journal_note_recording(struct journal *j, const char *folder, const char *output) must_check;
/* What was changed stays, and the journal tells who did it. */
int journal_keep(struct journal *j) must_check;
/* Whether the file is in an instance of ours. */
bool journal_owns(const struct journal *j, const char *file);

/* ---- journals of others ------------------------------------------------------------------------------------------- */

struct journal_info {
	char name[64];
	s32 pid;
	bool alive; /* the run or its watchdog */
	bool kept; /* `ftrace start` */
	bool this_boot;
	const char *title; /* borrowed, in the arena */
	const char *recording; /* NULL: none */
	VEC(const char *) instances;
	VEC(const char *) files; /* that were changed */
};

struct journal_list {
	struct arena arena;
	VEC(struct journal_info) items;
};

int journal_list_all(int run_dir, struct journal_list *ret) must_check;
void journal_list_done(struct journal_list *l);
/*
 * Undoes the journal of a dead run and removes it. -EBUSY: it lives. rescue as above. 1: something could not be undone; the
 * journal stays, with only that in it.
 */
int journal_undo_stale(int run_dir, const struct tracing *t, const char *name,
		       journal_rescue_fn *rescue, struct diag *d) must_check;
/* Nothing of what it noted is left to undo: the instance was removed, or the files have other values now. */
bool journal_is_over(int run_dir, const struct tracing *t, const char *name);
/* Forgets a kept journal. */
int journal_forget(int run_dir, const char *name) must_check;
