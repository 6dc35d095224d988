/* When a recording goes on in another file, of `record` and `ftrace record`. */
#pragma once

#include "base/diag.h"
#include "base/vec.h"

struct record_switching {
	bool on;
	u64 bytes, every_ns; /* 0: by signal only */
	VEC(char *) kept; /* names of the files that are done */
	u64 kept_bytes;
};

/* "signal", a size with its unit, or a time with its; -EINVAL with a diag. */
int record_parse_switch(struct record_switching *sw, const char *option, const char *text,
			struct diag *d) must_check;
/* A file is done: its name is kept, and with more than max_files of them (0: no limit) the oldest file goes. */
int record_switch_keep(struct record_switching *sw, const char *name, u64 max_files) must_check;
