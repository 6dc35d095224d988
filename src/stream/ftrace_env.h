/*
 * What printing needs to know beside the events: names of functions, tasks and kernel strings, from the texts that a
 * recording (or tracefs) holds. Each text is parsed when the first question comes; all functions but init and done are
 * thread-safe.
 *
 * Function names follow libtraceevent's choice where several symbols share an address, so that reports agree by the byte.
 */
#pragma once

#include "base/arena.h"
#include "base/dict.h"
#include "base/vec.h"
#include "wire/print_fmt.h"

#include <pthread.h>
#include <stdatomic.h>

enum ftrace_env_text {
	FTRACE_ENV_KALLSYMS,
	FTRACE_ENV_PRINTK,
	FTRACE_ENV_CMDLINES,
	FTRACE_ENV_NR_TEXTS
};

struct ftrace_env_sym {
	u64 addr;
	const char *name; /* ends at white space */
};

struct ftrace_env_hit; /* an address already looked up */

struct ftrace_env {
	struct print_env print; /* to hand to print_prog_compile() */
	/* Gives a text; called once for each, under the lock. NULL: none. */
	const char *(*text)(void *ctx, enum ftrace_env_text which, size_t *len);
	void *ctx;

	pthread_mutex_t lock;
	struct arena arena;
	bool has_syms;
	atomic_bool has_strings, has_comms;
	struct ftrace_env_sym *syms;
	size_t nr_syms;
	const char *syms_end; /* of the text that the names lie in */
	struct dict known; /* addresses looked up -> index into hits */
	VEC(struct ftrace_env_hit *) hits;
	_Atomic(const struct ftrace_env_hit *) *recent; /* by hash of the address: read without the lock */
	struct dict strings; /* address -> index */
	const char **string_texts;
	struct dict comms; /* pid -> index */
	const char **comm_texts;
	u32 nr_comms;
	struct arena comm_arena;
};

int ftrace_env_init(struct ftrace_env *e,
		    const char *(*text)(void *, enum ftrace_env_text, size_t *),
		    void *ctx) must_check;
void ftrace_env_done(struct ftrace_env *e);

/* The function that holds addr and the offset from its start, or NULL. Borrowed until done. */
const char *ftrace_env_symbol(struct ftrace_env *e, u64 addr, u64 *offset);
/* The module whose function holds addr, without brackets; NULL: the kernel itself, or nothing is known. Borrowed until done. */
const char *ftrace_env_module(struct ftrace_env *e, u64 addr);
/* Calls back for every symbol of a module that follows one of another: each module at least once. Not NUL-terminated. */
int ftrace_env_modules(struct ftrace_env *e, int (*fn)(void *ctx, const char *name, size_t len),
		       void *ctx) must_check;
/* The text at a kernel address: trace_printk formats without quotes and final newline, other strings. */
const char *ftrace_env_string(struct ftrace_env *e, u64 addr);
/* The saved name of a task; "<idle>" for 0; NULL: not known. */
const char *ftrace_env_comm(struct ftrace_env *e, s32 pid);
/* From now on these are the names. Not while anybody asks: between two rounds. */
int ftrace_env_rename(struct ftrace_env *e, const char *text, size_t len) must_check;
/* All saved names, for who keeps ids of them: their number, and the index of a task's name or DICT_NONE. */
u32 ftrace_env_nr_comms(struct ftrace_env *e);
u32 ftrace_env_comm_index(const struct ftrace_env *e, s32 pid); /* after ftrace_env_nr_comms() */
