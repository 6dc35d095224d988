/* A timeline as JSON: doc/json/timeline.schema.json. */
#pragma once

#include "base/strbuf.h"
#include "model/timeline.h"

int json_timeline(const struct timeline *t, struct strbuf *to) must_check;
