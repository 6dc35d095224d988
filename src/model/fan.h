/* One run for several sinks: each sees every sample, with the same ids. */
#pragma once

#include "model/source.h"

enum { FAN_MAX = 4 };

struct sink_fan {
	struct sink sink;
	struct sink *parts[FAN_MAX];
	unsigned nr;
};

/* The parts are borrowed, NULL ones are left out. A run ends when the first of them has seen enough. */
void sink_fan_init(struct sink_fan *f, struct sink *const *parts, unsigned nr);
