/*
 * A recording while it is made: a folder FILE.parts with the file's head (a trace.dat of version 6 without events), the plan of
 * what becomes of it, and the raw pages of each CPU. Joined, it is FILE. Who is killed leaves the folder to the watchdog, and if
 * that is killed too, to `ftrace restore`.
 *
 * The folder may lie where other users write, or come from somebody else. So its path is walked like an output's (base/outplace) and it is
 * held open; what is in it is opened relative to it, never through a link, and only if it belongs to the folder's owner. Where the file goes
 * is not for the folder to say: the run knows, the watchdog learns it from the journal, and `restore` writes beside the folder.
 *
 *	plan     text, a line each, fields separated by tabs:
 *	           output FILE (for people) | version N | compression NAME | cpus N | buffer NAME FOLDER CLOCK PAGE_SIZE | latency FOLDER
 *	head     formats, symbols, names
 *	names    names of tasks at the end, where there was an end
 *	B.C.H    pages of buffer B, CPU C; H is 0, or 0 and 1 in turns when the size is limited
 */
#pragma once

#include "file/tracedat_out.h"
#include "kern/tracefs.h"

struct part_buffer {
	const char *name; /* in the file; "" is the top one */
	const char *folder; /* in tracefs: "" or "instances/x/" */
	const char *clock;
	u32 page_size;
};

struct parts {
	struct arena arena;
	const char *folder;
	const char *output;
	int dir; /* the folder, open; -1: not yet */
	u32 owner; /* whose it is */
	struct outplace place; /* of the folder */
	struct outplace to; /* of the output */
	u32 version;
	enum compress_kind compression;
	u32 nr_cpus;
	const char *latency; /* the tracefs folder whose text is the recording; NULL: pages */
	VEC(struct part_buffer) buffers;
};

struct parts_summary {
	u64 bytes; /* of pages */
	u64 file_bytes;
};

void parts_init(struct parts *p);
void parts_done(struct parts *p);
/* Makes the folder OUTPUT.parts (or in dir, when that is not NULL); -EEXIST with a diag that names `ftrace restore`. */
/* Its two halves: where the folder is going to be, and the folder. */
int parts_name(struct parts *p, const char *output, const char *dir, struct diag *d) must_check;
int parts_make(struct parts *p, struct diag *d) must_check;
int parts_create(struct parts *p, const char *output, const char *dir, struct diag *d) must_check;
int parts_add_buffer(struct parts *p, const char *name, const char *folder, const char *clock,
		     u32 page_size) must_check;
/* head is written as it is; then the plan. From here on the folder can be joined. */
int parts_write(struct parts *p, const struct tracedat_out *head, struct diag *d) must_check;
/* The file for a CPU's pages: appends. Negative errno. */
int parts_open_cpu(const struct parts *p, u32 buffer, u32 cpu, u32 half) must_check;
/* The text that a latency tracer has to show (p->latency says in which folder), when it is over. */
int parts_write_latency(const struct parts *p, const struct tracing *t) must_check;
int parts_write_names(const struct parts *p, const char *names, size_t len) must_check;

/* Opens a folder that was left and reads its plan. */
int parts_load(struct parts *p, const char *folder, struct diag *d) must_check;
/* Where the file goes. NULL or "": beside the folder. */
int parts_choose_output(struct parts *p, const char *output, struct diag *d) must_check;
/* Writes the output and removes the folder. more: options to add. */
int parts_join(const struct parts *p, const struct tracedat_option *more, size_t nr_more,
	       struct parts_summary *ret, struct diag *d) must_check;
void parts_remove(const struct parts *p);
/* Says that the folder stays, and how a file is made of it. */
void parts_hint(const struct parts *p, struct diag *d);

/* In the watchdog: stops the buffers, takes what is still in them, and joins. */
void parts_rescue(const char *folder, const char *output);
