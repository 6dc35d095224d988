/* Option rows that several commands share, for the structures that session/ reads. */
#pragma once

#include "cmd/app/app.h"
#include "session/choose.h"
#include "session/symbols.h"

#define CHOOSE_OPT_ROWS(T, f)                                                                      \
	OPT_HEADING("Which samples"),                                                              \
		OPT_STR(0, "time", T, f.time, "RANGES",                                            \
			"only between FROM,UNTIL seconds (either may be missing), or a part of "   \
			"the whole: 10%/2, 20%-30%; several with commas"),                         \
		OPT_STR('C', "cpu", T, f.cpus, "LIST", "only of these CPUs: 0,2-3"),               \
		OPT_STR('c', "comms", T, f.comms, "LIST", "only of these commands"),               \
		OPT_STR(0, "comm", T, f.comms, "LIST", "the same", .hidden = true),                \
		OPT_STR(0, "pid", T, f.pids, "LIST", "only of these processes"),                   \
		OPT_STR(0, "tid", T, f.tids, "LIST", "only of these threads")

#define GATE_OPT_ROWS(T, f)                                                                        \
	OPT_STR(0, "switch-on", T, f.on, "EVENT",                                                  \
		"only from this event of the recording on; with --switch-off, again and again"),   \
		OPT_STR(0, "switch-off", T, f.off, "EVENT",                                        \
			"only until this event (or, with --switch-on, the next of those)"),        \
		OPT_FLAG(0, "show-on-off-events", T, f.shows,                                      \
			 "these events too, not only what is between them")

#define SYMBOL_OPT_ROWS(T, f)                                                                      \
	OPT_HEADING("Symbols"),                                                                    \
		OPT_STR(0, "symfs", T, f.symfs, "DIR", "look for binaries below DIR"),             \
		OPT_STR('k', "vmlinux", T, f.vmlinux, "FILE",                                      \
			"the kernel's own image (vmlinux, or a bzImage)"),                         \
		OPT_STR(0, "kallsyms", T, f.kallsyms, "FILE",                                      \
			"kernel symbols from a copy of /proc/kallsyms"),                           \
		OPT_FLAG(0, "ignore-vmlinux", T, f.no_vmlinux,                                     \
			 "kernel symbols from lists only, not from an image of the kernel"),       \
		OPT_FLAG(0, "func-names", T, f.func_names,                                         \
			 "name functions of stripped files func_0xOFFSET (default, except as "     \
			 "perf)"),                                                                 \
		OPT_FLAG(0, "no-func-names", T, f.no_func_names,                                   \
			 "leave code without symbols unnamed, as perf does"),                      \
		OPT_FLAG(0, "no-demangle", T, f.no_demangle,                                       \
			 "show C++ and Rust names as the linker sees them"),                       \
		OPT_FLAG(0, "no-inline", T, f.no_inline,                                           \
			 "leave out the functions that the compiler put into others")
