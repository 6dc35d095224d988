#include "probe/find_dwarf.h"
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

/* Functions that only the symbol tables know: in assembly, of a library without debug information, with a version. */
static bool symbols_may_do(const struct probe_request *r)
{
	return (r->form == PROBE_FUNCTION && !r->has_line && !r->pattern && !r->file) ||
	       r->form == PROBE_ADDRESS;
}

/* Debug information first, symbols where it is missing or does not know the function. */
static int find_code(const struct probe_target *target, const struct probe_request *request,
		     struct probe_defs *defs, struct diag *d)
{
	struct diag by_symbol, by_debug;
	int err = probe_check_boundary(target, request, d);
	if (err)
		return err;
	diag_init(&by_debug);
	err = probe_find_dwarf(target, request, defs, &by_debug);
	if (err == -ENODATA) {
		diag_done(&by_debug);
		return probe_find_symbol(target, request, defs, d);
	}
	if (err == -ENOENT && symbols_may_do(request)) {
		diag_init(&by_symbol);
		if (!probe_find_symbol(target, request, defs, &by_symbol)) {
			diag_join(d, &by_symbol);
			err = 0;
		}
		diag_done(&by_symbol);
	}
	if (err || by_debug.nr_errors == 0)
		diag_join(d, &by_debug);
	diag_done(&by_debug);
	return err;
}

int probe_find(const struct probe_target *target, const struct probe_request *request,
	       struct probe_defs *defs, struct diag *d)
{
	switch (request->form) {
	case PROBE_RAW: return add_raw(request, defs);
	case PROBE_USDT: return probe_find_usdt(target, request, defs, d);
	case PROBE_TRACEPOINT: return probe_find_symbol(target, request, defs, d);
	default: return find_code(target, request, defs, d);
	}
}
