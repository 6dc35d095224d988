/*
 * Where a variable is while a program runs: DWARF's location expressions and lists (versions 2 to 5, section 2.6 of 5), worked out without
 * running anything, to what a probe can fetch: a register, memory at an offset from a register (through more pointers where the
 * expression follows some), memory at an address, a constant.
 *
 * What cannot be told so is refused with the reason: values in several pieces, thread-local ones, those that are computed.
 */
#pragma once

#include "image/dwarf_die.h"

enum dw_place_kind {
	DWPLACE_NONE, /* nowhere at this address: optimised out, or not there yet */
	DWPLACE_REG, /* in register `reg` */
	DWPLACE_MEM, /* in memory at the value below */
	DWPLACE_VALUE, /* is the value below */
	DWPLACE_EXTERN, /* in memory: declared here, defined elsewhere under its name */
	DWPLACE_REFUSED, /* why */
};

enum dw_base { DWBASE_CONST, DWBASE_REG, DWBASE_ADDR };

enum { DWPLACE_DEREFS = 8 };

/* A value: the base, then for each of derefs: add it, load from there; at the end `add`. */
struct dw_place {
	enum dw_place_kind kind;
	enum dw_base base;
	u32 reg; /* DWARF's number */
	u64 number; /* of CONST, and the address of ADDR */
	u32 nr_derefs;
	s64 derefs[DWPLACE_DEREFS];
	s64 add;
	const char *why;
};

/* The frame of a function at an address: its CFA is reg + offset. false: not known. */
typedef bool (*dw_cfa_fn)(void *ctx, u64 pc, u32 *reg, s64 *offset);

struct dw_place_at {
	u64 pc;
	u64 entry, high; /* of the function around it, which is not inlined */
	const struct dw_die *func; /* that function: it has the frame base */
	dw_cfa_fn cfa; /* NULL: every frame counts as known, for who only asks whether there is a place */
	void *ctx;
};

void dw_place_find(const struct dw_die *var, const struct dw_place_at *at, struct dw_place *ret);
/* An expression alone. */
void dw_place_expr(const struct dw_die *owner, const u8 *expr, size_t len,
		   const struct dw_place_at *at, struct dw_place *ret);
/*
 * The stretches of a variable's location list: fn(ctx, low, high). How many; 0: it has none, a single location holds wherever the
 * variable is in scope.
 */
u32 dw_place_ranges(const struct dw_die *var, void (*fn)(void *ctx, u64 low, u64 high), void *ctx);
