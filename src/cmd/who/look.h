/* Actions on a row of `who` that are other commands of sonde, run as child processes. */
#pragma once

#include "base/strbuf.h"

/* As who_run_opts.trace and .waits. */
int who_trace(void *ctx, s32 pid, struct strbuf *why);
int who_waits(void *ctx, s32 pid, unsigned seconds, struct strbuf *text, struct strbuf *why);
