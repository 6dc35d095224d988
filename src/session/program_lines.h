/* Lines of source code as places to attach to: by debug information, with probe's engine. */
#pragma once

#include "bpf/points.h"

/* For points_opts.lines; needs no state. */
int program_line_places(const struct program_probe *probe, const char *path, points_place_fn *fn,
			void *ctx, struct diag *d) must_check;
