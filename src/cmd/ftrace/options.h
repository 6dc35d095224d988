/* Options of the layouts that trace-cmd keeps in plug-ins: what `report -O` sets and `ftrace options` lists. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "view/text_events.h"

/* "[PLUGIN:]NAME[=VALUE]". One that does not exist is a warning, as others' plug-ins have more; a value that is none -EINVAL. */
int ftrace_options_set(struct text_events_functions *f, const char *text, struct diag *d) must_check;
/* All, as trace-cmd lists them. */
void ftrace_options_text(struct strbuf *to);
