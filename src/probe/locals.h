/*
 * Variables of a program or of the kernel as a script's code reads them: for each place of a request, the parameters and locals that have a
 * value there, where each of them is, and its type. Types are the script's (model/program.h), made from debug information.
 */
#pragma once

#include "model/program.h"
#include "probe/probe.h"

struct probe_locals_at {
	const struct program_local *locals;
	u32 nr;
	const char *key; /* the same for all places whose variables are in the same places, with the same types */
	const char *symbol, *module; /* as in struct probe_def */
	u64 offset;
	bool is_entry; /* of a function with code of its own, of that name */
};

/* 0, or negative errno: stops. */
typedef int probe_locals_fn(void *ctx, const struct probe_locals_at *at);
/*
 * Calls fn for each place. What it is given is in the arena. -ENODATA with a diag: no debug information; else as probe_find(). Variables that
 * cannot be read there (optimised out, in pieces, floating-point numbers) are left out.
 */
int probe_locals(const struct probe_target *target, const struct probe_request *request,
		 struct arena *arena, probe_locals_fn *fn, void *ctx, struct diag *d) must_check;
