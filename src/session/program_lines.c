#include "session/program_lines.h"

#include "probe/probe.h"

#include <errno.h>
#include <stdio.h>

int program_line_places(const struct program_probe *probe, const char *path, points_place_fn *fn,
			void *ctx, struct diag *d)
{
	bool kernel = probe->provider == PROGRAM_KPROBE;
	struct probe_defs defs;
	probe_defs_init(&defs);
	struct strbuf text;
	strbuf_init(&text);
	strbuf_printf(&text, "%s:%u", probe->file, probe->line);
	struct probe_request request;
	int rc = probe_parse(strbuf_cstr(&text), &defs.arena, &request, d);
	const struct probe_target target = {
		.where = !kernel	 ? PROBE_BINARY
			 : probe->target ? PROBE_MODULE
					 : PROBE_KERNEL,
		.path = path,
		.module = kernel ? probe->target : NULL,
		.root = "",
	};
	if (!rc)
		rc = probe_find(&target, &request, &defs, d);
	for (size_t i = 0; !rc && i < defs.at.nr; i++) {
		const struct probe_def *def = &defs.at.at[i];
		rc = fn(ctx, &(struct points_place){ .symbol = def->symbol,
						     .module = def->module,
						     .offset = def->offset });
	}
	strbuf_done(&text);
	probe_defs_done(&defs);
	return rc;
}
