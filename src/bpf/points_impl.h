/* What the files that expand probes share. */
#pragma once

#include "bpf/points.h"

/* NULL: no memory. The text is what the builtin `probe` says there. */
struct point *points_add(struct points *p, u32 probe, const char *fmt, ...) printf_like(3, 4);
/* There is no place for it: as the configuration says an error (-ENOENT), a warning, or nothing (0). */
int points_missing(struct points *p, const struct program_probe *probe, const char *why,
		   struct diag *d);
const char *points_word(enum program_provider provider);
int points_expand_user(struct points *p, u32 i, struct diag *d);
/* A probe at a line of source. path: of the program, NULL: the kernel. */
int points_expand_line(struct points *p, u32 i, const char *path, struct diag *d);
