/*
 * Opens files that somebody else named (base/foreign.h), within a time limit. A file of a server that does not answer, or of a program that
 * plays a filesystem (FUSE), holds whoever opens or reads it, and in the end not even SIGKILL frees them. So another process does it: it
 * is asked through a socket, and left alone when it does not answer in time. A thread would not do: a process with a thread that is held
 * cannot end.
 *
 * Files of filesystems that can hold us later, when they are read, are handed over as a copy in memory.
 *
 * Waiting is bounded in all: after a few seconds of it, further files get a short moment each, and after a number of them none.
 *
 * The recorder has everything opened so: it is told of files in any mount namespace. Who reads recordings (opener_new_reader()) opens itself
 * what lies on a filesystem that answers (base/mounts.h), which costs nothing, and asks the other process for the rest. There a large file
 * of a slow server has time as long as it arrives at 2 MB/s.
 */
#pragma once

#include "base/types.h"

enum { OPENER_NOTE = 32 };

struct opener_job {
	int dir; /* what map and root are relative to; AT_FDCWD */
	const char *map; /* leads to the very file (proc/PID/map_files/START-END), where we may see it; NULL: none */
	const char *root; /* the root that path is looked up in (proc/PID/root); NULL: dir, or ours for an absolute path */
	const char *path;
	u32 dev_major, dev_minor; /* with ino: what it has to be, else -ESTALE */
	u64 ino; /* 0: any file will do */
	bool want_fd; /* else only the note is wanted */
	unsigned flags; /* FOREIGN_OWNED; FOREIGN_NOFOLLOW, of paths without a root */
};

struct opener_result {
	int fd; /* -1: not asked for */
	u32 note_size;
	u8 note[OPENER_NOTE];
};

struct opener;

/* look: what to find out about a file while it is open; how many bytes that are; NULL: nothing. NULL: no memory. */
struct opener *opener_new(unsigned (*look)(int fd, u8 *note));
/* For files that a recording names. NULL: no memory. */
struct opener *opener_new_reader(void);
void opener_free(struct opener *o);
/* How long to wait for one file, and for all together. */
void opener_set_patience(struct opener *o, unsigned one_ms, unsigned all_ms);

/* From any thread. 0, -ETIMEDOUT, -ESTALE, or as foreign_open(). */
int opener_open(struct opener *o, const struct opener_job *job,
		struct opener_result *ret) must_check;
/* A path as we see it, flags as of foreign_open(); o NULL: without a limit. A descriptor or negative errno. */
int opener_open_path(struct opener *o, const char *path, unsigned flags) must_check;
/* How many files were given up. */
unsigned opener_nr_timeouts(struct opener *o);
/* The path of one that a reader gave up, once each: the caller's to free(). NULL: none is left. */
char *opener_take_timeout(struct opener *o);
