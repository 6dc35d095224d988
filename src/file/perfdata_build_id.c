#include "file/perfdata_build_id.h"

#include <limits.h>

enum { NAME_ALIGN = 64, BUILD_ID_BYTES = 20, MISC_HAS_SIZE = 1 << 15 };

void perfdata_put_build_id(struct strbuf *to, const char *path, bool kernel, const u8 *id,
			   size_t size)
{
	size_t len = strlen(path) + 1, padded = (len + NAME_ALIGN - 1) & ~(size_t)(NAME_ALIGN - 1);
	if (len > PATH_MAX)
		return;
	struct {
		struct perf_event_header header;
		s32 pid;
		u8 id[BUILD_ID_BYTES];
		u8 id_size;
		u8 spare[3];
	} rec = {
		.header = { .type = REC_BUILD_ID,
			    .misc = (kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) |
				    MISC_HAS_SIZE,
			    .size = (u16)(sizeof(rec) + padded) },
		.pid = -1,
		.id_size = (u8)min(size, (size_t)BUILD_ID_BYTES),
	};
	memcpy(rec.id, id, rec.id_size);
	strbuf_add(to, &rec, sizeof(rec));
	strbuf_add(to, path, len);
	strbuf_fill(to, 0, padded - len);
}
