/* What `bench` and the suites below it share. */
#pragma once

#include "base/opts.h"
#include "suite/suite.h"

struct bench_suite_opts {
	struct suite_params p; /* repeat: as given */
	int format; /* enum bench_format */
};

extern const struct command command_bench_sched;
extern const struct command command_bench_syscall;
extern const struct command command_bench_mem;
extern const struct command command_bench_futex;
extern const struct command command_bench_epoll;
extern const struct command command_bench_internals;
extern const struct command command_bench_breakpoint;
extern const struct command command_bench_all;
extern const char *const bench_formats[];
