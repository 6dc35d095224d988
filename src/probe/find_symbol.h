/*
 * Probes by symbol tables alone: functions of a kernel, a module or a file, offsets in them, addresses; parameters and members from BTF
 * where the kernel has it. probe_find() comes here when there is no debug information, or none is needed.
 */
#pragma once

#include "probe/probe.h"

/* As probe_find(). -ENODATA: lines, files, patterns, and variables of a program. */
int probe_find_symbol(const struct probe_target *target, const struct probe_request *request,
		      struct probe_defs *defs, struct diag *d) must_check;

/* The function at path only chooses among implementations. */
void probe_warn_ifunc(const char *path, const char *function, struct diag *d);

/* FUNC+OFFSET and addresses: -EILSEQ or -EINVAL with a diag when no instruction begins there. 0 also when that is not known. */
int probe_check_boundary(const struct probe_target *target, const struct probe_request *request,
			 struct diag *d) must_check;

/*
 * Offsets in a function of the kernel or of a file where instructions begin, for --offsets: each is told with its text. -ENOENT, -ENODATA (its
 * bytes cannot be read), -ENOTSUP (no decoder), with a diag.
 */
typedef int probe_insn_fn(void *ctx, u64 offset, const char *text);
int probe_insns(const struct probe_target *target, const char *function, probe_insn_fn *fn,
		void *ctx, struct diag *d) must_check;
