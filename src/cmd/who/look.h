/* What a row of `who` leads to that other commands do: they run beside us, as the same program. */
#pragma once

#include "base/strbuf.h"

/* As who_run_opts.trace and .waits. */
int who_trace(void *ctx, s32 pid, struct strbuf *why);
int who_waits(void *ctx, s32 pid, unsigned seconds, struct strbuf *text, struct strbuf *why);
