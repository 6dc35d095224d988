/* What requests have read and opened, kept for the next one: a hundred probes read the kernel's symbols and types once. */
#pragma once

#include "kern/kallsyms.h"
#include "probe/args_btf.h"
#include "probe/probe.h"

struct probe_held {
	struct debuginfo *info; /* of the target that came last */
	struct kallsyms_text symbols;
	struct strbuf blacklist;
	struct probe_types types; /* of types_module */
	char types_module[128]; /* "": of the kernel itself */
	bool has_symbols, has_blacklist, has_types;
};
