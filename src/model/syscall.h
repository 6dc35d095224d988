/*
 * A system call: what it is called, what its arguments are, and one call of it. Who knows a machine's tables fills the descriptions
 * (session/syscall_table), analyses count calls (analysis/syscall_stat) and views print them (view/text_trace).
 */
#pragma once

#include "base/types.h"

enum { SYSCALL_ARGS = 6 };

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
};

enum { SYSCALL_COMM = 16 };

/* A thread that was seen, and the call that it is in, or has just left. */
struct syscall_thread {
	s32 pid, tid;
	char comm[SYSCALL_COMM];
	u32 comm_id; /* of the catalogue, whose names only grow: the one that comm holds */
	const struct syscall *call; /* NULL: it is in none that we know of */
	u64 args[SYSCALL_ARGS];
	u64 enter_ns; /* 0: its beginning was not seen */
	u64 exit_ns;
	s64 ret;
	const char *ret_comm; /* of SYSCALL_RETURNS_PID: the name of that thread; NULL: not known */
	bool inside; /* it has begun and not ended */
	bool printed; /* the beginning was shown on a line of its own */
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

/* Whether a result is an error: the kernel returns -errno. */
static inline bool syscall_failed(s64 ret)
{
	enum { ERRNO_MAX = 4095 };
	return ret < 0 && ret >= -ERRNO_MAX;
}
