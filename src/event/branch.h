/* The words of -j: which branches the hardware is to keep. */
#pragma once

#include "base/diag.h"
#include "base/types.h"

/* "any_call,u": bits for perf_event_attr.branch_sample_type; -EINVAL with a diag. */
int branch_parse(const char *text, u64 *ret, struct diag *d) must_check;
