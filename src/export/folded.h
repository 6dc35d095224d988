/* Folded stacks: a line for each, "task;outermost;...;innermost weight", as the FlameGraph scripts and most viewers read them. */
#pragma once

#include "base/strbuf.h"
#include "model/flame.h"

struct folded_opts {
	bool samples; /* numbers are samples, not what they stand for */
	bool kinds; /* after a name: _[k] kernel, _[i] inlined, _[j] code made at run time, as stackcollapse-perf.pl --all has them */
	bool lines; /* after a name: its file and hottest line, where they are known */
};

/* Where there are several events, their names are the outermost frames. */
int export_folded(const struct flame *f, const struct folded_opts *o, struct strbuf *to) must_check;
