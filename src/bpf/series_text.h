/* Values over time (TSERIES): what CPUs have of an interval put together, and pictures of it. */
#pragma once

#include "bpf/value.h"

/* cpus: nr_cpus values, each t->size rounded up to 8 bytes. */
void series_join(const struct program_type *t, const u8 *cpus, u32 nr_cpus,
		 struct program_interval *to);
/* A line for each interval, up to the latest that has a value: when it began, where its value is between the least and the greatest. */
void series_text(const struct value_style *s, const struct program_type *t,
		 const struct program_interval *at, struct strbuf *to);
void series_json(const struct value_style *s, const struct program_type *t,
		 const struct program_interval *at, struct json *j);
