/* Options that choose tracing buffers: the top one, or those of -B, or all (-a); -t adds the top one to those. */
#pragma once

#include "tracing/which.h"

#define FTRACE_WHICH_ROWS(T, f)                                                                    \
	OPT_LIST('B', "buffer", T, f.names, "NAME", "An instance, instead of the top buffer"),     \
		OPT_FLAG('a', "all", T, f.all, "All instances, but not the top buffer"),           \
		OPT_FLAG('t', "top", T, f.top, "The top buffer too (with -B or -a)")
