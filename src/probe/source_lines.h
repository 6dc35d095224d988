/* Source files and lines of kernel addresses, from the debug information of the kernel or of a module where there is some. */
#pragma once

#include "base/diag.h"
#include "probe/debuginfo.h"

struct source_lines {
	struct diag *diag;
	struct probe_target target;
	struct debuginfo info;
	char module[64]; /* whose info is open; "" for the kernel */
	bool tried, open, reported;
	const char *vmlinux;
	/* Symbol and unit of the last answer: the next address is mostly in them too. */
	char symbol[256]; /* "": none */
	u64 symbol_addr;
	bool has_symbol;
	struct dwcode_unit unit;
	u32 unit_index;
	bool has_unit;
};

/* An address as symbol and distance: where the kernel put the symbol does not matter. Names are not terminated. */
struct source_place {
	const char *name, *module; /* module "" for the kernel itself */
	u32 name_len, module_len;
	u64 offset;
};

/* vmlinux: the kernel's image, NULL: looked for. A note says where there is no debug information. */
void source_lines_init(struct source_lines *l, const char *vmlinux, struct diag *d);
void source_lines_done(struct source_lines *l);
/* false: not known. */
bool source_line(struct source_lines *l, const struct source_place *at, char *file, size_t size,
		 u32 *line);
