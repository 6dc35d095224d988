/* report -T: what each thread had counted when it ended (PERF_RECORD_READ, of record -s). */
#pragma once

#include "base/json.h"
#include "model/source.h"

/* raw: a count a line, with the number of its event. *nr: how many threads there were. */
int thread_counts_text(const struct source *src, bool raw, struct strbuf *to, size_t *nr) must_check;
/* A list, as the value of a key that was written. */
int thread_counts_json(const struct source *src, struct json *j) must_check;
