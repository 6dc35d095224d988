/* Option rows that several commands share, for the structures that session/ reads. */
#pragma once

#include "cmd/app/app.h"
#include "session/choose.h"
#include "session/symbols.h"

#define CHOOSE_OPT_ROWS(T, f)                                                                      \
	OPT_HEADING("Filtering samples"),                                                          \
		OPT_STR(0, "time", T, f.time, "RANGES",                                            \
			"only samples in the time range FROM,UNTIL in seconds (either may be "     \
			"omitted), or a part of "                                                  \
			"the recording: 10%/2, 20%-30%; separate several with commas"),            \
		OPT_STR('C', "cpu", T, f.cpus, "LIST", "only samples from these CPUs: 0,2-3"),     \
		OPT_STR('c', "comms", T, f.comms, "LIST", "only samples of these commands"),       \
		OPT_STR(0, "comm", T, f.comms, "LIST", "same as above", .hidden = true),           \
		OPT_STR(0, "pid", T, f.pids, "LIST", "only samples of these processes"),           \
		OPT_STR(0, "tid", T, f.tids, "LIST", "only samples of these threads")

#define GATE_OPT_ROWS(T, f)                                                                        \
	OPT_STR(0, "switch-on", T, f.on, "EVENT",                                                  \
		"start at this event of the recording; with --switch-off, repeatedly"),            \
		OPT_STR(0, "switch-off", T, f.off, "EVENT",                                        \
			"stop at this event (with --switch-on, at each one)"),                     \
		OPT_FLAG(0, "show-on-off-events", T, f.shows,                                      \
			 "include the switching events themselves")

#define SYMBOL_OPT_ROWS(T, f)                                                                       \
	OPT_HEADING("Symbols"),                                                                     \
		OPT_STR(0, "symfs", T, f.symfs, "DIR", "look for binaries below DIR"),              \
		OPT_STR('k', "vmlinux", T, f.vmlinux, "FILE", "kernel image (vmlinux or bzImage)"), \
		OPT_STR(0, "kallsyms", T, f.kallsyms, "FILE",                                       \
			"kernel symbols from a copy of /proc/kallsyms"),                            \
		OPT_FLAG(0, "ignore-vmlinux", T, f.no_vmlinux,                                      \
			 "take kernel symbols from symbol lists only, not from a kernel image"),    \
		OPT_FLAG(0, "func-names", T, f.func_names,                                          \
			 "name functions of stripped files func_0xOFFSET (default, except as "      \
			 "perf)"),                                                                  \
		OPT_FLAG(0, "no-func-names", T, f.no_func_names,                                    \
			 "leave code without symbols unnamed, as perf does"),                       \
		OPT_FLAG(0, "no-demangle", T, f.no_demangle,                                        \
			 "show C++ and Rust names as mangled by the compiler"),                     \
		OPT_FLAG(0, "no-inline", T, f.no_inline, "do not show inlined functions")

#define GUEST_OPT_ROWS(T, f)                                                                       \
	OPT_HEADING("Virtual machines, seen from their host"),                                     \
		OPT_STR(0, "guestkallsyms", T, f.kallsyms, "FILE",                                 \
			"kernel symbols of guests, from a copy of the guest's /proc/kallsyms"),    \
		OPT_STR(0, "guestmodules", T, f.modules, "FILE",                                   \
			"modules of guests, from a copy of the guest's /proc/modules"),            \
		OPT_STR(0, "guestvmlinux", T, f.vmlinux, "FILE",                                   \
			"kernel image of guests (vmlinux or bzImage)"),                            \
		OPT_STR(0, "guestmount", T, f.mount, "DIR",                                        \
			"DIR/PID is the root folder of the guest that process PID runs, with its " \
			"/proc/kallsyms and /proc/modules")
