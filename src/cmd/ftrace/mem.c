/* `sonde ftrace mem`: kernel memory that functions hold, from the events of kmem. */
#include "analysis/mem_held.h"
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "session/trace_answer.h"

#include <errno.h>
#include <stdio.h>

struct mem_opts {
	const char *input;
};

static const char *symbol(void *ctx, u64 addr, u64 *offset)
{
	return source_symbol(ctx, 0, addr, offset);
}

static const char *name_of(const struct mem_held_row *r, char *to, size_t size)
{
	(void)snprintf(to, size, "0x%llx", (unsigned long long)r->key);
	return r->name ? r->name : to;
}

static void print_text(struct strbuf *to, const struct mem_held_row *r, size_t nr)
{
	char hex[32];
	strbuf_str(to, "                Function            \tWaste\tAlloc\treq\t\tTotAlloc     "
		       "TotReq\t\tMaxAlloc     MaxReq\tMaxWaste\n");
	strbuf_str(to, "                --------            \t-----\t-----\t---\t\t--------     "
		       "------\t\t--------     ------\t--------\n");
	for (; nr; nr--, r++)
		strbuf_printf(to, "%32s\t%lld\t%lld\t%lld\t\t%8lld   %8lld\t\t%8lld   %8lld\t%lld\n",
			      name_of(r, hex, sizeof(hex)), (long long)(r->alloc - r->req),
			      (long long)r->alloc, (long long)r->req, (long long)r->total_alloc,
			      (long long)r->total_req, (long long)r->max_alloc,
			      (long long)r->max_req, (long long)r->max_waste);
}

static int print_json(struct strbuf *to, const struct mem_held_row *r, size_t nr)
{
	struct json j;
	char hex[32];
	json_begin(&j, to, JSON_PRETTY);
	json_array(&j);
	for (; nr; nr--, r++) {
		json_object(&j);
		json_put_str(&j, "function", name_of(r, hex, sizeof(hex)));
		json_put_s64(&j, "wasted", r->alloc - r->req);
		json_put_s64(&j, "allocated", r->alloc);
		json_put_s64(&j, "requested", r->req);
		json_put_s64(&j, "total_allocated", r->total_alloc);
		json_put_s64(&j, "total_requested", r->total_req);
		json_put_s64(&j, "max_allocated", r->max_alloc);
		json_put_s64(&j, "max_requested", r->max_req);
		json_put_s64(&j, "max_wasted", r->max_waste);
		json_object_end(&j);
	}
	json_array_end(&j);
	return json_end(&j);
}

struct mem_looking {
	struct app *app;
	struct mem_held *held;
};

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct mem_looking *l = ctx;
	l->held = mem_held_new(&(struct mem_held_env){ .ctx = src, .symbol = symbol });
	if (!l->held)
		return -ENOMEM;
	*ret = mem_held_sink(l->held);
	return 0;
}

static int show(void *ctx, struct source *src)
{
	struct mem_looking *l = ctx;
	struct app *app = l->app;
	size_t nr;
	(void)src;
	const struct mem_held_row *rows = mem_held_rows(l->held, &nr);
	if (!mem_held_nr_events(l->held)) {
		diag_warn(&app->diag, "no kmem events in the file");
		diag_hint(&app->diag, "record them with 'ftrace record -e kmem'");
	}
	if (app->json)
		return print_json(&app->out, rows, nr);
	print_text(&app->out, rows, nr);
	return 0;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct mem_opts *o = opts;
	struct mem_looking l = { .app = app };
	struct trace_answer a = { .sink = make_sink, .show = show, .ctx = &l };
	if (argc > 1 || (argc && o->input))
		return app_usage(app, "unexpected argument '%s'", argv[argc - 1]);
	const char *path = argc ? argv[0] : o->input ? o->input : "trace.dat";
	int err = trace_answer_file(&a, path, 1, &app->diag);
	mem_held_free(l.held);
	return err ? app_fail(app, err) : APP_DONE;
}

static const struct opt rows[] = {
	OPT_STR('i', "input", struct mem_opts, input, "FILE", "Read FILE (trace.dat)"),
	OPT_END(),
};

static const struct opt_example examples[] = {
	{ "ftrace record -e kmem -- ls", "record what the kernel allocates and frees" },
	{ "ftrace mem", "which functions hold memory at the end, and how much is wasted" },
	{ 0 },
};

const struct command command_ftrace_mem = {
	.name = "mem",
	.summary = "kernel memory by allocating function",
	.usage = "[OPTIONS] [FILE]",
	.about = "Reads kmem events (kmalloc, kmem_cache_alloc, kfree ...): bytes each function "
		 "holds at the end, total requested and allocated, and the peak. Waste is memory "
		 "allocated beyond the request; the most wasteful functions come first.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct mem_opts),
	.mixed_words = true,
	.run = run,
};
