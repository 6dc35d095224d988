/* Places of code by debug information, with probe's engine: lines of source, and the variables that are there. */
#pragma once

#include "bpf/points.h"
#include "lang/compile.h"

/* For points_opts.lines; needs no state. */
int program_line_places(const struct program_probe *probe, const char *path, points_place_fn *fn,
			void *ctx, struct diag *d) must_check;
/* As lang_ops.locals, for the program at path (NULL: the kernel, or the module probe->target). */
int program_line_locals(const struct program_probe *probe, const char *path, struct arena *arena,
			lang_locals_fn *fn, void *ctx, struct diag *d) must_check;
