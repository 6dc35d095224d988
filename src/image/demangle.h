/* C++ and Rust names as a person writes them. */
#pragma once

#include "base/types.h"

enum demangle_style {
	DEMANGLE_NO,
	DEMANGLE_SHORT, /* without parameters, as perf report prints */
	DEMANGLE_FULL, /* with parameters and qualifiers, as c++filt prints */
};

/*
 * The caller's, or NULL when the name is not mangled, cannot be read, or would grow past 64 KiB (a crafted name can expand
 * without bound). name ends at its first NUL.
 */
char *demangle(const char *name, enum demangle_style style);
