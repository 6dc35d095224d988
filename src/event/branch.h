/* The words of -j: which branches the hardware is to keep. */
#pragma once

#include "base/diag.h"
#include "base/types.h"

/* "any_call,u": bits for perf_event_attr.branch_sample_type; -EINVAL with a diag. */
int branch_parse(const char *text, u64 *ret, struct diag *d) must_check;

/* What --call-graph lbr asks for: the CPU's own list of calls that have not returned, of user space. */
#define BRANCH_CALL_STACK                                                                          \
	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_CYCLES |  \
	 PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_HW_INDEX)
