/*
 * Inside of the journal: what its files share.
 *
 *	journal           a run: notes what it is about to change, then changes it
 *	journal_records   the lines of the file
 *	journal_values    what a file of tracefs holds, as it can be written back
 *	journal_undo      backwards through the records
 *	journal_others    journals of other runs
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "kern/journal.h"
#include "kern/lock.h"

/* ---- journal_records.c ---- */

enum { FIELDS_MAX = 4 };

/* A whole journal. Each line: its text, whose first character is the kind, then FIELDS_MAX fields; those that are missing are "". */
struct records {
	VEC(char **) list;
	struct arena arena;
	struct strbuf text;
};

/* Name of the file in the run's folder. */
void records_file(const char *name, char *to, size_t size);
void records_boot_id(char *to, size_t size);
/* Writes the first line. 0, or -1 with errno. */
int records_begin(int fd) must_check;
/* Adds one; NULL ends the fields. */
int records_append(int fd, char kind, const char *const fields[3]) must_check;
/* -EBADMSG: not a journal. records_done() in any case; r is zero before. */
int records_load(int fd, struct records *r) must_check;
void records_done(struct records *r);
/* What could not be undone stays in the journal; what was (kind '-', or 'X') is taken out, so that it is not done to others later. */
int records_rewrite(int fd, const struct records *r) must_check;

/* ---- journal_values.c ---- */

/*
 * What a file holds, in the form in which it can be written back: the choice in brackets, "0" for no filter, the size that an
 * unused buffer would have, a list without its comments.
 */
int journal_value(const struct tracing *t, const char *file, bool list,
		  struct strbuf *to) must_check;

/* ---- journal_undo.c ---- */

/* Whether undoing would change anything: an instance is still there, a file still holds a value of ours. */
bool journal_has_effect(const struct tracing *t, const struct records *r);
/* 0, 1 when something could not be undone (the journal then has only that), or negative errno. user: who raised knobs. */
int journal_undo(const struct tracing *t, int run_dir, const char *user, int fd,
		 journal_rescue_fn *rescue, struct diag *d) must_check;
