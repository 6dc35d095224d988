/* What the files of bpf/capture share: the layout of what programs and this process both read, and the programs. */
#pragma once

#include "bpf/capture.h"

#include <linux/bpf.h>

enum {
	CAPTURE_MAGIC = 0x53594331,
	CAPTURE_BEFORE_EXEC = 1,
	CAPTURE_COMPAT = 2, /* only in the kernel: here, the number shows it */
};

struct capture_head {
	u32 magic;
	u8 kind;
	u8 flags;
	u16 unused;
	u32 nr;
	u32 unused_too;
};

struct capture_enter {
	struct capture_head head;
	u64 args[SYSCALL_ARGS];
	s16 len[SYSCALL_PIECES + 2];
};

struct capture_exit {
	struct capture_head head;
	s64 ret;
	s16 len[SYSCALL_PIECES + 2];
};

/* A row of the table of calls. Rows of calls that are not seen are zero. */
struct capture_row {
	u8 shown;
	u8 when; /* of any piece */
	u8 unused[6];
	struct syscall_piece pieces[SYSCALL_PIECES];
};

enum { TASK_NEW, TASK_UNTIL_EXEC, TASK_ON };

/* Of a task that is followed. */
struct capture_task {
	u32 state;
	u32 again; /* pieces to be read at the end of the call */
};

/* Where a program works: one for each CPU. */
struct capture_scratch {
	u64 args[8];
	u64 ptrs[CAPTURE_STRINGS + 1]; /* of an array of strings */
	u64 used; /* of data */
	u64 again;
	u64 size;
	u64 row_when;
	struct {
		union {
			struct capture_enter enter;
			struct capture_exit exit;
		};
		u8 data[(SYSCALL_PIECES + 1) * CAPTURE_PIECE_MAX];
	} record;
};

/* The programs; each of them is made for the maps that are open. */
enum capture_program {
	PROGRAM_ENTER,
	PROGRAM_EXIT,
	PROGRAM_FORK,
	PROGRAM_EXEC,
	PROGRAM_END_OF_TASK,
	CAPTURE_PROGRAMS
};

enum { CAPTURE_INSNS = 1024 };

struct capture_code {
	struct bpf_insn at[CAPTURE_INSNS];
	u32 nr;
	struct capture_jump {
		u32 at, label;
	} jumps[256];
	u32 nr_jumps;
	s32 labels[128]; /* where they are; -1: nowhere yet */
	u32 nr_labels;
	bool full;
};

/* The namespace of processes that numbers are of; dev 0: the kernel's first. */
struct capture_namespace {
	u64 dev, ino;
};

/* -ENOTSUP: registers of this machine are not known. */
int capture_make(struct capture_code *code, enum capture_program which, const struct capture *c,
		 const struct capture_namespace *ns) must_check;
