/* What stands above the tasks of `who`: top's lines about the machine, and the same for programs. */
#pragma once

#include "base/json.h"
#include "model/table.h"
#include "model/task.h"

struct who_head_style {
	bool per_cpu; /* a line a CPU instead of one for all */
	bool disks; /* what tasks and disks have read and written, as iotop's first lines */
	s64 now_s; /* wall clock */
	u8 memory; /* enum memory_unit of the machine's memory; 0: MiB, as top begins */
};

void who_head_text(const struct who_summary *s, const struct system_reading *m,
		   const struct who_head_style *style, struct strbuf *to);
/* Members of an object that is open. */
void who_head_json(const struct who_summary *s, const struct system_reading *m, struct json *j);
