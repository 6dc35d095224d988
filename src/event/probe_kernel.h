/* Whether the running kernel has a function that a probe is asked for, and what it is called if not so. */
#pragma once

#include "base/types.h"

enum { PROBE_NAME_MAX = 128 };

struct probe_kernel {
	bool unknown; /* the kernel does not tell its symbols: nothing below is filled */
	bool there;
	bool in_module; /* it is there, but in other modules than the one that was named */
	bool refused; /* on the kernel's list of functions without probes */
	char close[PROBE_NAME_MAX]; /* not there: a name that was probably meant, or "" */
};

/* module NULL: anywhere. root: "" or a test's folder. */
void probe_kernel_look(const char *root, const char *module, const char *symbol,
		       struct probe_kernel *ret);
