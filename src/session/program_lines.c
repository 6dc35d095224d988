#include "session/program_lines.h"

#include "probe/locals.h"
#include "probe/probe.h"

#include <errno.h>
#include <string.h>

static struct probe_target target_of(const struct program_probe *probe, const char *path)
{
	bool kernel = probe->provider == PROGRAM_KPROBE;
	return (struct probe_target){
		.where = !kernel	 ? PROBE_BINARY
			 : probe->target ? PROBE_MODULE
					 : PROBE_KERNEL,
		.path = path,
		.module = kernel ? probe->target : NULL,
		.root = "",
	};
}

/* A function's name is taken as it is: in C++ it has colons. */
static int request_of(const struct program_probe *probe, struct arena *arena,
		      struct probe_request *ret, struct diag *d)
{
	if (!probe->file) {
		*ret = (struct probe_request){ .text = probe->name,
					       .form = PROBE_FUNCTION,
					       .function = probe->name };
		return 0;
	}
	struct strbuf text;
	strbuf_init(&text);
	strbuf_printf(&text, "%s:%u", probe->file, probe->line);
	const char *kept = arena_strdup(arena, strbuf_cstr(&text));
	strbuf_done(&text);
	return kept ? probe_parse(kept, arena, ret, d) : -ENOMEM;
}

struct place_choice {
	const struct program_probe *probe;
	points_place_fn *fn;
	void *ctx;
};

static int choose_place(void *ctx, const struct probe_locals_at *at)
{
	struct place_choice *c = ctx;
	if (strcmp(at->key, c->probe->arguments))
		return 0;
	return c->fn(c->ctx, &(struct points_place){ .symbol = at->symbol,
						     .module = at->module,
						     .offset = at->offset });
}

int program_line_places(const struct program_probe *probe, const char *path, points_place_fn *fn,
			void *ctx, struct diag *d)
{
	const struct probe_target target = target_of(probe, path);
	struct probe_defs defs;
	struct probe_request request;
	probe_defs_init(&defs);
	int rc = request_of(probe, &defs.arena, &request, d);
	if (!rc && probe->arguments)
		rc = probe_locals(&target, &request, &defs.arena, choose_place,
				  &(struct place_choice){ probe, fn, ctx }, d);
	else if (!rc)
		rc = probe_find(&target, &request, &defs, d);
	for (size_t i = 0; !rc && i < defs.at.nr; i++) {
		const struct probe_def *def = &defs.at.at[i];
		rc = fn(ctx, &(struct points_place){ .symbol = def->symbol,
						     .module = def->module,
						     .offset = def->offset });
	}
	probe_defs_done(&defs);
	return rc;
}

struct line_locals {
	const struct program_probe *probe;
	VEC(const char *) seen;
	lang_locals_fn *fn;
	void *ctx;
};

static int offer_locals(void *ctx, const struct probe_locals_at *at)
{
	struct line_locals *w = ctx;
	/* A function by its name is probed where it has code of its own. */
	if (!w->probe->file && (!at->is_entry || w->seen.nr))
		return 0;
	vec_for_each (&w->seen, o)
		if (!strcmp(*o, at->key))
			return 0;
	const char **slot = vec_push(&w->seen);
	if (!slot)
		return -ENOMEM;
	*slot = at->key;
	return w->fn(w->ctx, at->key, at->locals, at->nr);
}

int program_line_locals(const struct program_probe *probe, const char *path, struct arena *arena,
			lang_locals_fn *fn, void *ctx, struct diag *d)
{
	const struct probe_target target = target_of(probe, path);
	struct line_locals w = { .probe = probe, .fn = fn, .ctx = ctx };
	struct probe_request request;
	int rc = request_of(probe, arena, &request, d);
	if (!rc)
		rc = probe_locals(&target, &request, arena, offer_locals, &w, d);
	vec_free(&w.seen);
	return rc;
}
