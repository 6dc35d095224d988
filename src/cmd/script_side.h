/* Lines of script between the samples: forks, execs, exits, maps, losses. */
#pragma once

#include "file/perfdata_read.h"
#include "view/text_samples.h"

struct script_side;

int script_side_new(struct script_side **ret, const struct perfdata *file, bool tasks, bool mmaps, bool lost) must_check;
void script_side_free(struct script_side *s);
/* Prints what happened up to this time and was not printed yet: for text_samples_opts.before. */
void script_side_until(void *side, struct sink *k, u64 time_ns, struct strbuf *to);
