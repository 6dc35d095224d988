#include "probe/find_symbol.h"
#include "probe/find_usdt.h"
#include "probe/probe.h"

#include <errno.h>

void probe_defs_init(struct probe_defs *defs)
{
	*defs = (struct probe_defs){ 0 };
	arena_init(&defs->arena);
}

void probe_defs_done(struct probe_defs *defs)
{
	vec_free(&defs->at);
	arena_done(&defs->arena);
}

static int add_raw(const struct probe_request *r, struct probe_defs *defs)
{
	struct probe_def *def = vec_push(&defs->at);
	const char *line = arena_strdup(&defs->arena, r->text);
	if (!def || !line)
		return -ENOMEM;
	*def = (struct probe_def){ .letter = *line, .raw = line };
	return 0;
}

int probe_find(const struct probe_target *target, const struct probe_request *request,
	       struct probe_defs *defs, struct diag *d)
{
	switch (request->form) {
	case PROBE_RAW: return add_raw(request, defs);
	case PROBE_USDT: return probe_find_usdt(target, request, defs, d);
	default: return probe_find_symbol(target, request, defs, d);
	}
}
