/* Folded stacks: a line for each, "task;outermost;...;innermost weight", as the FlameGraph scripts and most viewers read them. */
#pragma once

#include "base/strbuf.h"
#include "model/flame.h"

/* samples: numbers are samples, not what they stand for. Where there are several events, their names are the outermost frames. */
int export_folded(const struct flame *f, bool samples, struct strbuf *to) must_check;
