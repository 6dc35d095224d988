/* Static probes of a file by their notes, as probe_find() does it for "%sdt_PROVIDER:NAME". Globs in both. */
#pragma once

#include "probe/probe.h"

/* -ENOENT with a diag: no such probe. Definitions have their group (sdt_PROVIDER) already. */
int probe_find_usdt(const struct probe_target *target, const struct probe_request *request,
		    struct probe_defs *defs, struct diag *d) must_check;
