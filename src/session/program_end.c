#include "session/program_end.h"

#include "bpf/map_view.h"
#include "kern/bpf_sys.h"
#include "lang/interpret.h"

#include <errno.h>
#include <signal.h>

static int get_from(const struct program_end *e, u32 map, bool first, const void *key, void *value)
{
	return map_get(&e->loaded->program->maps.at[map], e->loaded->maps[map], e->loaded->nr_cpus,
		       first, key, value);
}

static int end_get(void *ctx, u32 map, const void *key, void *value)
{
	return get_from(ctx, map, true, key, value);
}

static int end_read(void *ctx, u32 map, const void *key, void *value)
{
	return get_from(ctx, map, false, key, value);
}

static int end_put(void *ctx, u32 map, const void *key, const void *value)
{
	const struct program_end *e = ctx;
	int rc = map_put(&e->loaded->program->maps.at[map], e->loaded->maps[map],
			 e->loaded->nr_cpus, key, value);
	return rc == -E2BIG ? 0 : rc; /* full: as in the kernel */
}

static int end_remove(void *ctx, u32 map, const void *key)
{
	const struct program_end *e = ctx;
	int rc = bpfsys_map_delete(e->loaded->maps[map], key);
	return rc == -ENOENT ? 0 : rc;
}

static int end_each(void *ctx, u32 map, int (*fn)(void *arg, const void *key), void *arg)
{
	const struct program_end *e = ctx;
	struct map_rows rows;
	int rc = map_rows_read(&rows, &e->loaded->program->maps.at[map], e->loaded->maps[map],
			       e->loaded->nr_cpus);
	if (rc)
		return rc;
	rc = map_rows_sort(&rows);
	for (u32 i = 0; !rc && i < rows.nr; i++)
		if (fn(arg, rows.keys + (size_t)rows.order[i] * rows.key_size))
			break;
	map_rows_done(&rows);
	return rc;
}

static int end_record(void *ctx, const void *data, u32 len)
{
	enum { ENOUGH = 1 << 16 };
	struct program_end *e = ctx;
	(void)actions_record(e->actions, data, len);
	if (!e->err && e->actions->out->len + e->actions->err->len > ENOUGH)
		e->err = e->flush(e->flush_ctx);
	return e->err;
}

static u64 end_start_ns(void *ctx)
{
	const struct program_end *e = ctx;
	return e->loaded->start_ns;
}

/* The loop is over, and signals wait: one that comes now is taken here. */
static bool end_go_on(void *ctx)
{
	struct program_end *e = ctx;
	const struct timespec at_once = { 0 };
	sigset_t ends;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	int got = sigtimedwait(&ends, NULL, &at_once);
	if (got > 0)
		e->signal = got;
	return got <= 0;
}

int program_end_run(struct program_end *e, u32 probe, struct diag *d)
{
	static const struct interpret_ops ops = { .get = end_get,
						  .put = end_put,
						  .remove = end_remove,
						  .read = end_read,
						  .each = end_each,
						  .record = end_record,
						  .start_ns = end_start_ns,
						  .go_on = end_go_on };
	const struct program *p = e->loaded->program;
	const char *name = p->probes.at[probe].text;
	int rc = lang_interpret(p, probe, &ops, e, d);
	if (rc == -EINTR) {
		diag_warn(d, "%s was interrupted by a signal", name);
		return 0;
	}
	return rc && !e->err ? diag_error(d, rc, "cannot run %s: %s", name, strerror(-rc)) : rc;
}
