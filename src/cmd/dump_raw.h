/* -D: every record of a recording as bytes and as text, one after the other as they lie in the file. The source was prepared. */
#pragma once

#include "base/strbuf.h"
#include "file/perfdata_read.h"

int dump_raw(const struct perfdata *file, const char *path, struct strbuf *to) must_check;
