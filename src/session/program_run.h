/*
 * A program of scripts under the loop: loaded, attached, its records handled as they come, until it calls exit(), a signal comes, or what it looks
 * at has ended; then its end probes, its maps, and what got lost.
 *
 *	begin ─► attach ─► command let go ─► records ... ─► detach ─► end ─► maps
 *
 * A record is an action (print this, clear that map, stop), to be done in the order of their making, by one thread: so the ring is read here and
 * is no source of samples (model/source.h), whose blocks are independent of each other.
 */
#pragma once

#include "base/diag.h"
#include "kern/sysroot.h"
#include "model/program.h"
#include "session/command_run.h"

struct program_run_opts {
	const char *script; /* its text, for messages */
	s32 pid; /* -p: probes in tasks only for this process; the run ends with it. 0: none */
	const char *cgroup; /* -G: probes in tasks only for tasks in it or below; NULL: all */
	char **command; /* NULL: none */
	bool json, allow_unsafe, no_final_maps, keep_going;
	bool old_layout; /* maps as bpftrace 0.17 prints them: struct value_style */
	bool want_log; /* the verifier's words go to log */
	const char *listen,
		*token; /* an address, to serve maps on as OpenMetrics; as struct http_opts. NULL: not */
	struct strbuf *out, *err; /* of the script */
	struct strbuf *log; /* -v: what was loaded; may be NULL */
	/* Before begin probes run, and when all is attached; places: how many. May be NULL. */
	void (*loading)(void *ctx, u32 places);
	void (*attached)(void *ctx, u32 places);
	void (*serving)(void *ctx, const char *url); /* may be NULL, too */
	/* Writes what out and err hold: 0, or negative errno, which ends the run (-EPIPE: nobody listens any more). */
	int (*flush)(void *ctx);
	void *ctx;
};

struct program_run_result {
	s32 status; /* of exit() */
	int signal; /* that ended it; 0: none */
	bool command_ended, exec_failed;
	int wait_status; /* of the command */
	u32 nr_places;
	u64 nr_records;
	u64 expand_ns, load_ns, attach_ns, detach_ns; /* load_ns is part of attach_ns */
};

/* 0, or negative errno with a diag. ret is filled either way. */
int program_run(const struct program *p, const struct sysroot *root,
		const struct program_run_opts *o, struct program_run_result *ret,
		struct diag *d) must_check;

/* The same up to the point where all is attached, and back: --dry-run. */
int program_try(const struct program *p, const struct sysroot *root,
		const struct program_run_opts *o, struct program_run_result *ret,
		struct diag *d) must_check;
