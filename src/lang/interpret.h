/*
 * Runs a block of a compiled script here instead of in the kernel: by walking its tree. It knows no verifier and no limits of a stack. What
 * it computes is what the code computes: the tests compare the two.
 *
 * Values of maps are kept as in the kernel (model/program.h), an aggregate as one CPU has it.
 */
#pragma once

#include "base/diag.h"
#include "model/program.h"

struct interpret_ops {
	/* Copies the value; -ENOENT: no such key. The key of a map without keys is four bytes of zero. */
	int (*get)(void *ctx, u32 map, const void *key, void *value);
	int (*put)(void *ctx, u32 map, const void *key, const void *value);
	int (*remove)(void *ctx, u32 map, const void *key);
};

/* -ENOTSUP: the block does something that only the kernel can; -ELOOP: too many steps; -ENOMEM; or what an op returned. */
int lang_interpret(const struct program *p, u32 probe, const struct interpret_ops *ops, void *ctx,
		   struct diag *d) must_check;
