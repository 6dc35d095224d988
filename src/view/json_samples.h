/* Samples as the JSON of `perf data convert --to-json`: one object each, in time order, with the call chain by name. */
#pragma once

#include "base/strbuf.h"
#include "model/names.h"
#include "model/source.h"

struct json_samples_opts {
	const struct catalog *catalog;
	const struct frame_table *frames;
	const struct names_result *names;
};

/* Writes the elements of an array, commas between them included. out must outlive the sink and may have a drain. */
int json_samples_new(const struct json_samples_opts *o, struct strbuf *out,
		     struct sink **ret) must_check;
u64 json_samples_nr(const struct sink *k);
void json_samples_free(struct sink *k);
