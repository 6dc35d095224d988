/* Where a thread left the CPU, or who woke it was, in a few words: the names of its call chain without the ways into the scheduler. */
#pragma once

#include "base/strbuf.h"
#include "model/names.h"

struct wait_chain_names {
	const struct names_result *names; /* NULL: no chains */
	const struct frame_table *frames;
	const struct chain_table *chains;
	u32 max_stack; /* of the kernel, and of the program */
};

/* Whether a function is a way into the scheduler, which all waits have in common, or into the kernel. */
bool wait_chain_is_common(const char *name);
/* Innermost first. */
void wait_chain_each(const struct wait_chain_names *n, u32 chain,
		     void (*call)(void *ctx, const char *name), void *ctx);
/* "futex_wait <- do_futex <- main", in to; borrowed from it. */
const char *wait_chain_text(const struct wait_chain_names *n, u32 chain, struct strbuf *to);
