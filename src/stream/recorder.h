/*
 * From events to a perf.data file: joins live_perf (rings), synth (what was there before) and perfdata_write (the file), and
 * keeps count of what went through.
 *
 * The same can go to a source in this process (stream/rounds.h), instead of a file or beside it:
 *
 *	rings ─► recorder ─┬─► perf.data
 *	                   └─► rounds_put() ─► a source with rounds
 */
#pragma once

#include "file/perfdata_write.h"
#include "stream/live_perf.h"
#include "sym/unwind_cfi.h"

struct synth;

struct recorder_opts {
	struct live_opts live;
	bool unwind; /* live.stack_bytes are unwound; the file gets call chains */
	const char *cache; /* folder for unwind tables; NULL: none */
	const struct debugfile_places *places; /* where programs of containers are; NULL: not looked for */
	const struct tracing *tracing; /* for the formats of tracepoints */
	const char *path;
	bool pipe; /* a stream into pipe_fd, which becomes the recorder's; path is what messages call it */
	int pipe_fd;
	struct source *source; /* of rounds_open(), which gets all of it, and its end; NULL: nobody */
	bool no_file; /* only the source; path is what messages call it */
	int (*guests)(void *ctx,
		      struct synth *s); /* describes virtual machines; NULL: there are none */
	void *guests_ctx;
	bool no_build_ids; /* no table of them in the file */
	bool in_folder; /* path is `data` in a folder of perfdata_folder_create() */
	const char *version;
	const char *const *argv; /* for the file's head */
	u32 argc;
	int zstd_level;
	s64 owner_uid; /* -1: leave */
	s64 owner_gid;
	u64 full_bytes; /* when the file is so large, recorder_full_fd() becomes readable; 0: never */
};

struct recorder_stats {
	u64 nr_samples;
	u64 nr_lost; /* records */
	u64 nr_lost_events; /* how often the kernel said so */
	u64 nr_throttled;
	u64 nr_passes;
	u64 data_bytes; /* of records, before compression */
	u64 file_bytes;
	u64 nr_stacks, nr_cut; /* unwound, and those of which some outermost callers are missing */
	u32 stack_bytes; /* that were copied of each stack at the end ... */
	u32 first_stack_bytes; /* ... and at the start; 0: no copies were unwound */
	u64 grown_after_ns; /* from the start of the recording until the copies grew first */
	u64 nr_short; /* of those, whose stack was longer than what was copied of it */
	u32 nr_held_files; /* not read: their filesystem did not answer in time */
	u64 nr_ends[UNWIND_NR_ENDS]; /* all by how they ended: what was cut adds up to nr_cut */
	u64 nr_hurried; /* unwound before all maps were known for sure */
};

struct recorder;

/* What opts point to is kept until recorder_close(). */
/* Opens events and file, and writes what is known before. NULL: see the diag, which also has notes about
 * fallbacks, and errno: EPIPE is not mentioned there. */
struct recorder *recorder_open(const struct sysroot *root, const struct recorder_opts *opts,
			       struct diag *d);
/* The events run from here on, those of a command from its exec. */
int recorder_start(struct recorder *r, struct diag *d) must_check;
/* At any time from then on. */
void recorder_toggle(struct recorder *r, bool on);
/*
 * The file so far is completed and gets another name; what follows goes to a new one, with what is known by now at its start.
 * Negative errno with a diag.
 */
int recorder_switch(struct recorder *r, const char *keep_as, struct diag *d) must_check;
/* The file gets the last component of keep_as as its name, in the folder it is in. */
int recorder_rename(struct recorder *r, const char *keep_as) must_check;
/* Removes the file. */
void recorder_discard(struct recorder *r);
/* Whole records that went through, as a file of their own: its head is that of the recording. Negative errno with a diag. */
struct recorder_copy {
	const char *path;
	const struct iovec *iov;
	size_t nr;
	u64 first_ns, last_ns; /* of its samples */
};
int recorder_copy(struct recorder *r, const struct recorder_copy *c, struct diag *d) must_check;
int recorder_full_fd(const struct recorder *r);
/* Of the file that is being written; borrowed until the next switch. */
int recorder_file_fd(const struct recorder *r);
const struct live_event *recorder_events(const struct recorder *r, size_t *nr);
/* Readable when the targets have ended or writing failed. */
int recorder_gone_fd(const struct recorder *r);
/* Whether reading or writing had to stop; finish() says why. */
bool recorder_failed(const struct recorder *r);
/* At any time, from the thread that opened it; numbers may lag behind. */
void recorder_stats(struct recorder *r, struct recorder_stats *ret);
/* Stops and completes the file. -EPIPE: the reader is gone, not in the diag. Other negative errno when it could not be written; what is there is valid all the same. */
int recorder_finish(struct recorder *r, struct diag *d) must_check;
void recorder_close(struct recorder *r);

/* "mono", "monotonic_raw", "boot", a number ...: 0 or -EINVAL. */
int recorder_parse_clock(const char *name, s32 *ret) must_check;
