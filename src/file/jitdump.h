/*
 * jit-PID.dump: what a JIT compiler tells of the code that it makes, record by record (jitdump version 1, as the kernel tree's
 * jitdump-specification.txt has it). Either byte order. The bytes are anyone's: what does not fit ends the walk.
 */
#pragma once

#include "base/bytes.h"

enum jitdump_id {
	JITDUMP_LOAD,
	JITDUMP_MOVE,
	JITDUMP_DEBUG_INFO, /* of the next LOAD of that address */
	JITDUMP_CLOSE,
	JITDUMP_UNWINDING, /* of the next LOAD */
};

struct jitdump {
	struct bytes left;
	u32 machine; /* EM_* */
	u32 pid; /* in its own namespace */
	bool arch_times; /* of the CPU's counter, not CLOCK_MONOTONIC */
};

/* Borrowed from the bytes. */
struct jitdump_record {
	u32 id; /* enum jitdump_id; others are to be passed over */
	u64 time;
	u64 addr; /* LOAD, DEBUG_INFO; MOVE: where to */
	u64 size; /* of the code */
	u64 index; /* of the function, as its file is named */
	const char *name; /* LOAD */
	const u8 *code;
	struct bytes lines; /* DEBUG_INFO: for jitdump_line() */
	const char *last_file;
	const u8 *unwind; /* UNWINDING: .eh_frame, and after it .eh_frame_hdr */
	u64 unwind_size, unwind_head, unwind_mapped;
};

struct jitdump_line {
	u64 addr;
	u32 line;
	const char *file;
};

/* -EBADMSG: not a dump of this version. */
int jitdump_open(struct jitdump *j, const void *data, size_t size) must_check;
/* 1, 0 at the end, -EBADMSG: the rest makes no sense. */
int jitdump_next(struct jitdump *j, struct jitdump_record *ret) must_check;
/* The next line of a DEBUG_INFO record; false: that was all. */
bool jitdump_line(struct jitdump_record *r, struct jitdump_line *ret);
