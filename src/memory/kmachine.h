/* What machine and kernel this is. */
#pragma once

#include "memory/ktasks.h"

enum { KMACHINE_NAME = 80 };

struct kmachine {
	char node[KMACHINE_NAME], release[KMACHINE_NAME], version[KMACHINE_NAME],
		machine[KMACHINE_NAME];
	u64 uptime_s; /* 0: not known */
	u64 tasks;
	u32 cpus;
	u64 bytes; /* of memory */
	u64 load[3]; /* fixed point, 11 bits */
	bool has_load;
};

/* Negative errno with a diag. */
int kmachine_read(struct kspace *k, struct kmachine *ret) must_check;
