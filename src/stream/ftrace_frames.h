/*
 * What addresses in a trace.dat mean: in the kernel and its modules by the list of symbols that the file holds, in processes by the maps
 * it holds of some of them (record --proc-map). The maps say where a file lay, not which part of it: the lowest place is its start.
 *
 * Made before workers start and constant from then on.
 */
#pragma once

#include "file/tracedat_read.h"
#include "model/catalog.h"
#include "model/frame.h"
#include "stream/ftrace_env.h"

enum { FTRACE_STACK_MAX = 512 };

/* One event's stacks, innermost first: the kernel's, then the process's. */
struct ftrace_stack {
	u64 addrs[FTRACE_STACK_MAX];
	u32 nr_kernel;
	u32 nr; /* all */
	s32 tgid; /* whose the second part is */
};

struct ftrace_map {
	u64 start, end;
	u64 base; /* where the file begins */
	s32 tgid;
	u32 image;
};

struct ftrace_frames {
	struct catalog *catalog;
	struct ftrace_env *env;
	u32 kernel; /* image */
	struct dict modules; /* name (catalog string) -> image */
	struct dict paths; /* of processes: path (catalog string) -> image */
	const struct ftrace_frames *
		before; /* of the file before this one, whose images are the same; NULL: the first */
	VEC(struct ftrace_map) maps; /* by process and address */
};

/* Adds images to the catalogue that the file before (or NULL) did not have. 0 or -ENOMEM; done is needed either way. */
int ftrace_frames_init(struct ftrace_frames *f, const struct ftrace_frames *before,
		       struct catalog *c, struct ftrace_env *env,
		       const struct tracedat *file) must_check;
void ftrace_frames_done(struct ftrace_frames *f);
/* The frame of an address, or -ENOMEM. known: the shard's, address -> frame of the kernel. tgid: unused for the kernel. */
s64 ftrace_frames_add(const struct ftrace_frames *f, struct frame_table *t, struct dict *known,
		      u64 addr, enum frame_mode mode, s32 tgid) must_check;
