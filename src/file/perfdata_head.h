/* What a perf.data says before its first record: payloads of features, and how a stream begins. */
#pragma once

#include "base/strbuf.h"
#include "file/perfdata_write.h"

enum { PERFDATA_NR_FEATURES = FEAT_CLN_SIZE + 1 };

struct perfdata_head {
	const struct perfdata_event *events;
	u32 nr_events;
	const struct perfdata_meta *meta;
};

/* Appends the payload of a feature; false, and nothing is appended: it is not known before the first record, or has nothing to tell. */
bool perfdata_head_feature(const struct perfdata_head *h, unsigned feature, struct strbuf *to);
/* Everything that a stream begins with. */
int perfdata_head_stream(const struct perfdata_head *h, struct strbuf *to) must_check;
