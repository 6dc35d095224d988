/* Options that choose tracing buffers: the top one, or those of -B, or all (-a); -t adds the top one to those. */
#pragma once

#include "tracing/which.h"

#define FTRACE_WHICH_ROWS(T, f)                                                                    \
	OPT_LIST('B', "buffer", T, f.names, "NAME",                                                \
		 "Use an instance instead of the top-level buffer"),                               \
		OPT_FLAG('a', "all", T, f.all, "All instances, but not the top-level buffer"),     \
		OPT_FLAG('t', "top", T, f.top, "Also the top-level buffer (with -B or -a)")
