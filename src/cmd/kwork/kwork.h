/* `sonde kwork`: what its sub-commands share. */
#pragma once

#include "cmd/app/app.h"
#include "cmd/app/choose_opts.h"
#include "cmd/record/record.h"
#include "session/kwork_run.h"

/* Bits of enum kwork_class that have rows of their own. */
enum { KWORK_WORK = (1u << KWORK_NR_CLASSES) - 1 };

/* One for all sub-commands: options may stand before the verb, as with perf. */
struct kwork_opts {
	const char *input, *classes, *name, *sort, *tids;
	struct choose_opts choose;
	struct symbol_opts symbols;
	bool summary, force, graph, bpf;
	struct record_opts record;
};

struct kwork_choosing {
	const struct choose_opts *opts;
	struct diag *diag;
};

/* For kwork_run_opts.choose, with a struct kwork_choosing. */
int kwork_choose(void *ctx, const struct source *src, struct choose *c);
/* Bits of enum kwork_class and KWORK_SCHED; 0 with a diag. */
u32 kwork_parse_classes(const char *text, u32 standard, struct diag *d);

extern const struct command command_kwork_top;

/* clang-format off */
#define KWORK_INPUT_ROWS                                                                                             \
	OPT_STR('i', "input", struct kwork_opts, input, "FILE", "Read FILE (perf.data)"),                            \
	OPT_FLAG('f', "force", struct kwork_opts, force, "Accepted; file ownership is never checked", .hidden = true)
#define KWORK_CPU_TIME_ROWS                                                                                          \
	OPT_STR('C', "cpu", struct kwork_opts, choose.cpus, "LIST", "Only on these CPUs: 0,2-3"),                    \
	OPT_STR(0, "time", struct kwork_opts, choose.time, "RANGES", "Only events in the time range FROM,UNTIL in seconds, or a part of the recording: 10%/2")
/* clang-format on */
