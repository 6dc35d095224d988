/*
 * What one input may cost: bytes of memory and steps of work, both in proportion to its size on the disk. Made when the input is
 * opened; its stages charge before they allocate, and at the head of loops whose length the file decides, a section or a
 * table at a time. When too little is left, the stage ends, and the message names it.
 */
#pragma once

#include "base/diag.h"
#include "base/types.h"

struct stat;

struct budget {
	u64 bytes, steps; /* left */
	u64 size; /* of the input */
	const char *stage; /* what ended it; NULL: nothing yet */
	bool memory; /* it wanted bytes; else steps */
};

/* size: of the input, as it really is: budget_real_size(). */
void budget_init(struct budget *b, u64 size);
/*
 * Bytes of a file that may hold something: a sparse one is no larger than what is allocated, with room for file systems that
 * compress.
 */
u64 budget_real_size(const struct stat *st);

/* false: there is too little left, now and for everything that follows. stage: what is charged for, as a person calls it. */
static inline bool budget_bytes(struct budget *b, u64 nr, const char *stage)
{
	if (likely(!b->stage && nr <= b->bytes)) {
		b->bytes -= nr;
		return true;
	}
	if (!b->stage) {
		b->stage = stage;
		b->memory = true;
	}
	return false;
}
/* A step is what takes up to some 50 ns. */
static inline bool budget_steps(struct budget *b, u64 nr, const char *stage)
{
	if (likely(!b->stage && nr <= b->steps)) {
		b->steps -= nr;
		return true;
	}
	if (!b->stage)
		b->stage = stage;
	return false;
}
static inline void budget_give_back(struct budget *b, u64 bytes)
{
	b->bytes += bytes;
}

/* Bytes of memory that this process has for itself now, as the kernel counts; 0: not known. */
u64 budget_memory_used(void);

/* -E2BIG, with a message that says which stage of which file wanted too much of what. Only after one was refused. */
int budget_refuse(const struct budget *b, const char *name, struct diag *d);
