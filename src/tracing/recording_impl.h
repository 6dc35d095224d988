/* What recording.c and recording_head.c share. */
#pragma once

#include "tracing/recording.h"

/* What becomes of the parts, and the head that they all have. */
int recording_write_plan(struct ftrace_recording *r) must_check;
