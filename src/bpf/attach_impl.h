/* What the files that attach share. */
#pragma once

#include "bpf/attach.h"

/* Points [first, end) are of one probe. Each returns 0 or negative errno with a diag. */
struct attach_range {
	const struct program_probe *probe;
	const struct point *points; /* of all */
	u32 first, end;
};

/* Keeps a descriptor until the end. Negative ones are returned as they are. */
int attach_keep(struct attached *a, int fd);
/* The code of a probe at an event of perf: link, or ioctl where the kernel has no such links. Takes event over. */
int attach_event(struct attached *a, int prog, int event, u64 cookie);
int attach_failed(const struct attached *a, const struct point *pt, int err, struct diag *d);

int attach_tracepoints(struct attached *a, const struct attach_range *r, struct diag *d);
int attach_functions(struct attached *a, const struct attach_range *r, struct diag *d);
int attach_typed_functions(struct attached *a, const struct attach_range *r, struct diag *d);
int attach_user(struct attached *a, const struct attach_range *r, struct diag *d);
int attach_timer(struct attached *a, const struct attach_range *r, struct diag *d);
int attach_counter(struct attached *a, const struct attach_range *r, struct diag *d);
int attach_watchpoint(struct attached *a, const struct attach_range *r, struct diag *d);
int attach_iter(struct attached *a, const struct attach_range *r, struct diag *d);
