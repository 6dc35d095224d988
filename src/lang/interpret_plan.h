/* Which blocks lang_interpret() can run, and what their output needs. */
#pragma once

#include "lang/check.h"
#include "lang/lower.h"

/*
 * Whether everything that the block does can be done here; then the actions of its output are made: 1, else 0. The block has the types of
 * the point, the only one it is for. l: program, arena and checker.
 */
int interpret_plan(struct lower *l, struct probe_block *b) must_check;
