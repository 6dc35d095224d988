/* Source files and lines of kernel addresses, from the debug information of the kernel or of a module where there is some. */
#pragma once

#include "base/diag.h"
#include "memory/ksyms.h"
#include "probe/debuginfo.h"

struct source_lines {
	struct diag *diag;
	struct probe_target target;
	struct debuginfo info;
	char module[64]; /* whose info is open; "" for the kernel */
	bool tried, open, reported;
	const char *vmlinux;
};

/* vmlinux: the kernel's image, NULL: looked for. A note says where there is no debug information. */
void source_lines_init(struct source_lines *l, const char *vmlinux, struct diag *d);
void source_lines_done(struct source_lines *l);
/* false: not known. sym: the symbol that covers the address. */
bool source_line(struct source_lines *l, const struct ksym *sym, u64 addr, char *file, size_t size,
		 u32 *line);
