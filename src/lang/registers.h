/*
 * Registers of the machine for those of the IR: liveness over the basic blocks, code that is dead or never reached taken out, then a linear
 * scan. What lives across a call of a helper goes to r6-r9, the rest to r2-r5 first; r0 and r1 are left to the emitter. What finds no
 * register gets a place on the stack, which is used again after its last use.
 */
#pragma once

#include "lang/ir.h"

struct registers {
	s8 *reg; /* [register of the IR]: of the machine; -1: on the stack */
	s32 *slot; /* then: at fp + slot */
	u32 stack; /* bytes of the frame in all */
};

/* frame: bytes below fp that are taken already. -E2BIG: too large to look at. In the arena of the ir. */
int registers_assign(struct ir *ir, u32 frame, struct registers *ret) must_check;
