/*
 * Runs a block of a compiled script here instead of in the kernel: by walking its tree. It knows no verifier and no limits of a stack. What
 * it computes is what the code computes: the tests compare the two. End blocks run so (program_probe.here), unless they do something that
 * only the kernel can.
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
	/* What follows may be NULL for scripts without loops over maps and without output. */
	/* As get(), an aggregate as all CPUs have it. */
	int (*read)(void *ctx, u32 map, const void *key, void *value);
	/* Calls fn for each key of the map, until it returns other than 0. */
	int (*each)(void *ctx, u32 map, int (*fn)(void *arg, const void *key), void *arg);
	/* Does what the record of an action says: as it would come from the ring. */
	int (*record)(void *ctx, const void *data, u32 len);
	/* CLOCK_BOOTTIME of the script's start. */
	u64 (*start_ns)(void *ctx);
	/* Asked now and then: false ends it. NULL: it ends after a number of steps. */
	bool (*go_on)(void *ctx);
};

/*
 * -ENOTSUP: the block does something that only the kernel can; -ELOOP: too many steps; -EINTR: go_on() said so; -ENOMEM; or what an op
 * returned.
 */
int lang_interpret(const struct program *p, u32 probe, const struct interpret_ops *ops, void *ctx,
		   struct diag *d) must_check;
