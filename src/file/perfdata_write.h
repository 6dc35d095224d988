/*
 * Writes a perf.data file that is valid all the time:
 *
 *	header | ids | attrs | features known at the start, spare table | records ... | feature table, sample times | build ids
 *
 * The payload of a feature may lie anywhere; only the table of {offset, size} must follow the records. So each append writes
 * the table after its records and then the header with the new size. While records go over the old table, the header claims
 * no features and the old size. Whenever the recorder is killed, what was appended before is readable by perf, and by us; the
 * spare table (perfdata_spare.h) gives a file that was caught in between its features back (perfdata_repair.h). The file gets its name with the first append: until then there is none, or still the one from before.
 *
 * Into a pipe the same is written as a stream: a short header, then attrs, features, names, build ids as records.
 */
#pragma once

#include "base/diag.h"
#include "model/machine.h"
#include "wire/perf_record.h"

#include <sys/types.h>
#include <sys/uio.h>

struct perfdata_event {
	struct perf_event_attr attr;
	const char *name;
	const u64 *ids;
	u32 nr_ids;
	const char *group_name; /* NULL: none */
	u32 leader; /* index of the group's leader; its own when alone */
	u32 nr_members; /* of the group, on its leader; 0 or 1: alone */
};

/* Takes a piece of a stream: 0 or negative errno. */
typedef int perfdata_put_fn(void *ctx, const struct iovec *iov, size_t nr);

/* What the head says. Everything is copied into the file at once; nothing is kept. */
struct perfdata_meta {
	const struct machine *machine;
	const char *version;
	const char *const *argv;
	u32 argc;
	bool has_clock;
	u32 clock_id;
	u64 clock_res_ns;
	u64 wall_ref_ns; /* CLOCK_REALTIME and the clock at one moment */
	u64 clock_ref_ns;
	const void *tracing_data; /* NULL: no tracepoints */
	size_t tracing_data_size;
	int zstd_level; /* 0: not compressed */
	s64 owner_uid; /* -1: leave */
	s64 owner_gid;
	bool no_rotate; /* do not keep FILE as FILE.old */
	bool no_build_ids; /* no table of them */
	bool in_folder; /* it is `data` in a directory that is the recording (perfdata_name.h) */
	bool counts; /* no samples: what `stat record` counted (file/statdata) */
	bool pipe; /* a stream into pipe_fd, which becomes the writer's */
	int pipe_fd;
	perfdata_put_fn *put; /* with pipe: a stream to this function instead; NULL: into pipe_fd */
	void *put_ctx;
};

enum { PERFDATA_WRITE_IOV_MAX = 256 }; /* pieces of one append */

struct perfdata_writer;

/* Creates the file (mode 0600; an older one is kept as FILE.old) with everything but records. NULL: see the diag (which
 * has nothing about EPIPE) and errno. */
struct perfdata_writer *perfdata_write_open(const char *path, const struct perfdata_event *events,
					    u32 nr_events, const struct perfdata_meta *meta,
					    struct diag *d);
/*
 * Appends whole records (each may lie in several pieces), from any thread; one call's records stay together. When it fails (a full disk), the file holds what
 * was there before, and further appends fail alike.
 */
int perfdata_write_records(struct perfdata_writer *w, const struct iovec *iov, size_t nr) must_check;
/* Times of samples seen so far; the next append stores them. */
void perfdata_write_times(struct perfdata_writer *w, u64 first_ns, u64 last_ns);
/* For the BUILD_ID feature, which finish() writes. The same path is taken once. */
int perfdata_write_build_id(struct perfdata_writer *w, const char *path, bool kernel, const u8 *id,
			    size_t size) must_check;
/* The same for a file that a process wrote about its code (perfdata_made.h); not into a pipe, where perf knows no such record. */
int perfdata_write_made(struct perfdata_writer *w, u32 kind, u32 pid, const void *data,
			size_t size) must_check;
/* The last word: table, build ids, header. */
int perfdata_write_finish(struct perfdata_writer *w) must_check;
int perfdata_write_fd(const struct perfdata_writer *w); /* borrowed */
u64 perfdata_write_file_bytes(struct perfdata_writer *w);
/* Record bytes before compression. */
u64 perfdata_write_data_bytes(struct perfdata_writer *w);
/* Gives the file another name in its folder, or removes it: only where its name still leads to it. */
int perfdata_write_rename(struct perfdata_writer *w, const char *name) must_check;
void perfdata_write_remove(struct perfdata_writer *w);
void perfdata_write_close(struct perfdata_writer *w);
