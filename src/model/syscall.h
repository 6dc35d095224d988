/*
 * A system call: what it is called, what its arguments are, and one call of it. Who knows a machine's tables fills the descriptions
 * (session/syscall_table), analyses count calls (analysis/syscall_stat) and views print them (view/text_trace).
 */
#pragma once

#include "base/types.h"

enum { SYSCALL_ARGS = 6, SYSCALL_PIECES = 6 };

/* Calls of 32-bit programs, which have different numbers, come after all of the machine's own. */
enum { SYSCALL_COMPAT = 512 };

enum syscall_arg_kind {
	SYSCALL_NUMBER,
	SYSCALL_POINTER,
	SYSCALL_PATH, /* a pointer to a string */
	SYSCALL_FD,
	SYSCALL_PID,
	SYSCALL_MODE, /* of a file, in octal */
	SYSCALL_WORDS, /* flags, or one of several */
};

struct syscall_words;

struct syscall_arg {
	const char *name;
	enum syscall_arg_kind kind;
	u8 size; /* bytes that count */
	bool is_signed;
	const struct syscall_words *words; /* of SYSCALL_WORDS */
	/* It means nothing where another argument, masked, is a number whose bit is set here. */
	u64 void_where, void_mask;
	u8 void_by;
};

/* What is copied of the memory that an argument points to (bpf/capture.h). */
enum syscall_piece_how {
	SYSCALL_PIECE_NONE,
	SYSCALL_PIECE_STRING,
	SYSCALL_PIECE_FIXED, /* max bytes */
	SYSCALL_PIECE_BY_ARG, /* as many units as another argument says */
	SYSCALL_PIECE_BY_RET, /* or the result */
	SYSCALL_PIECE_STRINGS, /* an array of pointers to strings; of a call's pieces at most the last one */
};

/* How many strings of such an array are copied; if there are more, an empty one follows. */
enum { SYSCALL_STRINGS = 8 };

enum { SYSCALL_AT_ENTER = 1, SYSCALL_AT_EXIT = 2 };

struct syscall_piece {
	u8 how, when, arg, len_arg;
	u16 max, unit; /* bytes */
};

/* What is in a piece. */
enum syscall_shape {
	SYSCALL_SHAPE_STRING,
	SYSCALL_SHAPE_BYTES,
	SYSCALL_SHAPE_STRINGS,
	SYSCALL_SHAPE_SOCKADDR,
	SYSCALL_SHAPE_TIMESPEC,
	SYSCALL_SHAPE_ITIMERSPEC,
	SYSCALL_SHAPE_STAT,
	SYSCALL_SHAPE_STATX,
	SYSCALL_SHAPE_IOVEC,
	SYSCALL_SHAPE_MSGHDR,
	SYSCALL_SHAPE_EPOLL,
	SYSCALL_SHAPE_POLL,
	SYSCALL_SHAPE_RLIMIT,
	SYSCALL_SHAPE_SIGSET,
	SYSCALL_SHAPE_SIGACTION,
	SYSCALL_SHAPE_INTS,
	SYSCALL_SHAPE_WAIT_STATUS,
};

enum syscall_result {
	SYSCALL_RETURNS_NUMBER,
	SYSCALL_RETURNS_ADDRESS,
	SYSCALL_RETURNS_PID,
	SYSCALL_RETURNS_READY, /* how many; 0: the time was up */
};

struct syscall {
	const char *name;
	u32 nr_args;
	struct syscall_arg args[SYSCALL_ARGS];
	enum syscall_result result;
	bool never_returns;
	u8 fd_effect; /* what it does to descriptors (session/fd_names.h); 0: nothing */
	u32 nr_pieces;
	struct syscall_piece pieces[SYSCALL_PIECES];
	u8 shapes[SYSCALL_PIECES]; /* enum syscall_shape */
};

/* What was copied for a call: by piece. */
struct syscall_data {
	u8 *bytes;
	u32 used, size;
	u32 at[SYSCALL_PIECES];
	s16 len[SYSCALL_PIECES]; /* 0: nothing; negative errno: it could not be read */
};

enum { SYSCALL_COMM = 16 };

/* A thread that was seen, and the call that it is in, or has just left. */
struct syscall_thread {
	s32 pid, tid;
	char comm[SYSCALL_COMM];
	u32 comm_id; /* of the catalogue, whose names only grow: the one that comm holds */
	const struct syscall *call; /* NULL: it is in none that we know of */
	u64 nr; /* its number */
	u64 args[SYSCALL_ARGS];
	u64 enter_ns; /* 0: its beginning was not seen */
	u64 exit_ns;
	s64 ret;
	const char *ret_comm; /* of SYSCALL_RETURNS_PID: the name of that thread; NULL: not known */
	bool inside; /* it has begun and not ended */
	bool printed; /* the beginning was shown on a line of its own */
	bool hidden; /* not to be shown: seen for what it does to descriptors */
	bool judged_last; /* a filter may ask for its result: it is shown when it has ended, if at all */
	bool before_exec; /* an exec that may fail, of a command that is shown from its exec on */
	struct syscall_data data;
	u64 last_ns; /* when it was seen last */
};

/* The argument as the call takes it: cut to its size, with its sign. */
static inline s64 syscall_arg_value(const struct syscall_arg *a, u64 raw)
{
	switch (a->size) {
	case 2: return a->is_signed ? (s64)(s16)raw : (s64)(u16)raw;
	case 4: return a->is_signed ? (s64)(s32)raw : (s64)(u32)raw;
	default: return (s64)raw;
	}
}

/* Whether an argument means anything, as the others are. */
static inline bool syscall_arg_counts(const struct syscall_arg *a, const u64 *args)
{
	u64 by = args[a->void_by] & a->void_mask;
	return by > 63 || !(a->void_where >> by & 1);
}

/* Bytes that an argument points to as far as the call says: what was copied may be less. Without a result: those of the entry. */
static inline u64 syscall_piece_bytes(const struct syscall_piece *p, const u64 *args, s64 ret)
{
	switch (p->how) {
	case SYSCALL_PIECE_BY_ARG: return args[p->len_arg % SYSCALL_ARGS] * p->unit;
	case SYSCALL_PIECE_BY_RET: return ret > 0 ? (u64)ret * p->unit : 0;
	default: return p->max;
	}
}

/* Whether a result is an error: the kernel returns -errno. */
static inline bool syscall_failed(s64 ret)
{
	enum { ERRNO_MAX = 4095 };
	return ret < 0 && ret >= -ERRNO_MAX;
}
