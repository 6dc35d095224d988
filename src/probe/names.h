/*
 * Names of groups and events, as perf chooses them: probe:FUNCTION in the kernel, probe_FILE:FUNCTION in a program, FUNCTION__return for
 * returns, FUNCTION_1 and so on for the other places of one request.
 */
#pragma once

#include "probe/kernel.h"
#include "probe/probe.h"

/*
 * Names the definitions from index first on, which all come from one request. taken: what the kernel has; NULL: nothing. Those before
 * first count as taken, too. force: names that are taken get a number. -EEXIST with a diag, -ENOMEM.
 */
int probe_names_choose(struct probe_defs *defs, size_t first, const struct probe_request *request,
		       const struct probe_listing *taken, bool force, struct diag *d) must_check;

/* What a place in words is: "work%return in /tmp/a.out", "vfs_read+5", "work@main.c:12". As written, where that is known. */
void probe_place_text(const struct probe_def *def, const struct probe_request *request,
		      struct strbuf *to);
