/* One entry of the table of build ids, which is a record: in a file's feature, and in a stream. */
#pragma once

#include "base/strbuf.h"
#include "wire/perf_record.h"

/* More than 20 bytes of an id are cut; a path longer than PATH_MAX is left out. */
void perfdata_put_build_id(struct strbuf *to, const char *path, bool kernel, const u8 *id,
			   size_t size);
