/* The profile that a row of `who` leads to. */
#pragma once

#include "base/strbuf.h"
#include "model/flame.h"

/* As who_run_opts.profile; ctx: the struct app. */
int who_profile(void *ctx, s32 pid, unsigned seconds, struct flame *f, struct strbuf *why);
