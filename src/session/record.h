/*
 * What a recording of `sonde record` does beside recording: the files it is written to and commands from outside (record_files.c,
 * record_trigger.c), who completes them when we are killed (record_watch.c), whether the call chains are any good (record_chains.c), and what
 * is kept of the programs (record_keep.c).
 */
#pragma once

#include "kern/watchdog.h"
#include "session/command_run.h"
#include "session/record_switch.h"
#include "session/run_probes.h"
#include "session/symbols.h"
#include "session/tell.h"
#include "stream/recorder.h"
#include "stream/synth.h"

/* Events and filters in the order they were given: a filter belongs to the events before it. */
struct record_word {
	const char *text;
	/* WORD_NOT_US_IF: of those that can leave us out */
	enum { WORD_EVENT, WORD_FILTER, WORD_NOT_US, WORD_NOT_US_IF } kind;
};

/* What the rows fill. */
struct record_opts {
	struct record_words {
		VEC(struct record_word) list;
	} words;
	struct record_triggers {
		VEC(const char *) list;
	} triggers; /* events that start a new file */
	struct live_opts live; /* what is taken as it was asked for */
	const char *snapshot;
	const char *freq;
	bool graph;
	const char *call_graph;
	bool raw_stack;
	bool all;
	const char *cpus;
	const char *pids;
	const char *tids;
	const char *output;
	const char *ring;
	const char *clock;
	const char *zstd;
	s8 inherit; /* 1, -1: no; 0: not said */
	bool per_thread, one_group;
	bool off_cpu; /* also the scheduler's events, of the whole system */
	bool wide; /* the whole system is recorded: target processes only determine for how long */
	bool code_page_size, data_page_size, phys_data, transaction;
	bool user_chains, kernel_chains;
	bool dry_run;
	u64 realtime;
	const char *ignored_text;
	const char *regs_intr, *regs_user;
	bool any_branch;
	const char *branches;
	const char *user;
	const char *cgroups;
	const char *control;
	const char *switch_output;
	u64 switch_max_files;
	bool timestamp_filename;
	u64 max_size;
	s64 delay_ms;
	bool quiet;
	struct recorder_stats *result; /* for those who say it themselves; NULL: a closing line does */
	struct source *source; /* gets all that is recorded, instead of a file; NULL: there is a file */
	int (*begin)(void *ctx); /* with a source, when the command is made: what starts threads; 0 or negative errno */
	void *begin_ctx;
	s32 *command_pid; /* set before that: the command's process, 0: there is none; may be NULL */
	const bool *source_enough; /* set when the source has seen enough: its end is a good one, and a command goes on; NULL: it never is */
	enum event_side side; /* of events without the letters G and H */
	struct guest_opts guest;
	bool no_build_ids, no_build_id_cache, all_build_ids;
	bool kcore;
	bool ignored;
};

struct record_ids {
	VEC(s32) list;
};

/* What messages call the options, and what to ask for where stacks are short. */
struct record_labels {
	const char *switch_output, *max_size, *control;
};

/* One recording: what was asked, and what is under way. */
struct record_session {
	struct tell tell;
	struct symbols *names; /* where unwind tables and files of containers are found */
	struct opener *opener; /* of files that processes have mapped */
	const struct record_labels *labels;
	const struct record_opts *o;
	struct sysroot root;
	struct command_run run;
	struct recorder *rec;
	struct record_switching sw;
	struct {
		struct watchdog dog;
		struct watch_page *page; /* NULL: none */
	} watch;
	struct term_progress progress;
	struct cpuset cpus;
	struct record_ids pids, tids;
	struct record_watched {
		VEC(int) fds; /* of processes that are named but not recorded alone */
		size_t nr_gone;
	} watched;
	VEC(bool) exclude_self; /* by event */
	VEC(int) cgroups; /* by event: descriptors */
	struct {
		struct event_list events; /* none: nothing of it is on */
		struct live_perf *live;
		int fd; /* readable when one occurred */
	} trigger;
	struct event_env env;
	struct run_probes probes; /* of this run alone */
	struct event_list events;
	bool has_env;
	bool perf_lines; /* what is told of files is what perf says */
	bool as_perf; /* called by that name: what it asks the kernel for, and no more */
	char cache[4096]; /* the folder for unwind tables */
	char *cmdline; /* ours, for the file's head */
	const char *output;
	char data_path[4096]; /* of --kcore: the file in the directory */
	bool made_folder;
	int pipe_fd; /* what standard output was, when the recording goes there; -1: into a file */
	bool pipe;
	int json_fd; /* what standard output was, when --json has it; -1: nobody */
	bool by_frame_pointer; /* call chains, because it was asked for */
	struct loop_source *gone_source;
	bool full;
};

/* Prints a note when call chains by frame pointer found none to follow (session/short_chains.h). After the end, of a file. */
void record_look_at_chains(struct record_session *s, u64 file_bytes);

/* What was kept of a recording's programs and libraries by record_keep_images(). */
struct record_kept {
	const char *dir; /* where; NULL: nowhere */
	u32 nr_files; /* that were not there yet */
	u32 nr_large; /* that were too large */
	int err; /* why the last one that failed could not be kept; 0: all could */
	char buf[4096];
};
/* After the end, of a file: so that names survive a new build. */
void record_keep_images(struct record_session *s, u64 file_bytes, struct record_kept *ret);

/* Sizes and times that end a file. */
int record_watch_files(struct record_session *s) must_check;
/* The last file gets a name like the others. */
int record_keep_last(struct record_session *s) must_check;
/* A handler of the loop. */
int record_on_usr2(void *ctx, u64 signo);
/* What came over the control channel. */
int record_obey(void *ctx, enum control_command command);

/* Where the kernels of virtual machines are, from the files that were named. As recorder_opts.guests; ctx: struct record_session. */
int record_describe_guests(void *ctx, struct synth *s) must_check;
/* What --off-cpu records beside the events that were asked for. */
int record_add_scheduler(struct record_session *s) must_check;
/* Where the whole system is recorded for some processes: it ends with them. */
int record_watch_tasks(struct record_session *s) must_check;

/* Events that start a new file: their list; from when the recording's own are open; and their end. */
int record_resolve_triggers(struct record_session *s) must_check;
int record_trigger_start(struct record_session *s, const struct live_opts *recorded) must_check;
void record_trigger_end(struct record_session *s);

/* Before there are threads and events. 0 or negative errno. */
int record_watch_start(struct record_session *s) must_check;
/* The file that is being written now. */
void record_watch_file(struct record_session *s);
/* It is complete. */
void record_watch_end(struct record_session *s);
