/* A whole trace.dat as lines of text, as samples, as call chains, and its options one by one: the first byte chooses the form, the rest is the file. */
#include "analysis/call_hist.h"
#include "analysis/flame.h"
#include "file/tracedat_dump.h"
#include "export/chrome.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"
#include "sym/resolve.h"
#include "view/text_events.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static const struct schema *schema_of(void *ctx, u32 event)
{
	return replay_ftrace_schema(ctx, event);
}

static const char *symbol(void *ctx, u32 buffer, u64 addr, u64 *offset)
{
	return ftrace_env_symbol(replay_ftrace_env(ctx, 0), addr, offset);
}

static bool has_comm(void *ctx, u32 buffer, s32 pid)
{
	return ftrace_env_comm_index(replay_ftrace_env(ctx, 0), pid) != DICT_NONE;
}

static int swallow(void *ctx, const char *data, size_t len)
{
	return 0;
}

static const char *function_name(void *ctx, u32 buffer, u64 addr)
{
	u64 offset;
	return symbol(ctx, buffer, addr, &offset);
}

static int kernel_text(void *ctx, enum sym_kernel_text what, struct sym_text *ret)
{
	struct tracedat_text t = { 0 };
	if (what == SYM_KALLSYMS)
		t = replay_ftrace_text(ctx, 0, TRACEDAT_KALLSYMS);
	*ret = (struct sym_text){ .data = t.data, .len = t.len };
	return t.data ? 0 : -1;
}

/* Stacks and calls over time, named and folded. */
static void as_stacks(struct source *src)
{
	struct flame f;
	struct flame_build b = { .flame = &f };
	struct flame_sink *sink = flame_sink_new();
	struct names *names = sym_names_new(&(struct sym_config){ .symfs = "/nonexistent",
								  .workers = 1,
								  .kernel_text = kernel_text,
								  .kernel_ctx = src,
								  .kallsyms_given = true });
	struct run_tables run = { 0 };
	struct names_result named;
	flame_init(&f);
	if (!stream_run(src, flame_sink(sink), 2, &run, NULL) &&
	    !names->ops->resolve(names, &src->catalog, &run.frames, WANT_SYMBOL, &named) &&
	    !flame_build_add(&b, sink, &src->catalog, &run, &named))
		(void)!flame_build_finish(&b);
	flame_build_done(&b);
	flame_done(&f);
	run_tables_done(&run);
	names->ops->free(names);
	flame_sink_free(sink);
}

static void as_trace_events(struct source *src)
{
	struct chrome_opts o = { .catalog = &src->catalog, .symbol = function_name, .ctx = src };
	struct run_tables run = { 0 };
	struct strbuf out;
	u64 nr;
	strbuf_init_drain(&out, 4096, swallow, NULL);
	struct chrome_trace *t = chrome_trace_new(&o, &out);
	if (!stream_run(src, chrome_trace_sink(t), 1, &run, NULL))
		(void)!chrome_trace_finish(t, &nr);
	chrome_trace_free(t);
	run_tables_done(&run);
	strbuf_done(&out);
}

static void as_samples(const u8 *data, size_t size)
{
	struct replay_ftrace_input in = { .path = "input", .data = data + 1, .size = size - 1 };
	for (unsigned calls = 0; calls < 2; calls++) {
		struct source *src;
		struct replay_ftrace_opts o = { .style = PRINT_STYLE_KERNEL,
						.window_pages = data[0] >> 4,
						.samples = true,
						.calls = calls };
		if (replay_ftrace_open_files(&in, 1, &o, &src, NULL))
			return;
		if (calls)
			as_stacks(src);
		else
			as_trace_events(src);
		src->ops->close(src);
	}
}

static const char *any_symbol(void *ctx, u64 addr, u64 *offset)
{
	return symbol(ctx, 0, addr, offset);
}

static const char *event_name(void *ctx, u32 event)
{
	return replay_ftrace_format(ctx, event)->name;
}

static void as_calls(const u8 *data, size_t size)
{
	struct replay_ftrace_input in = { .path = "input", .data = data + 1, .size = size - 1 };
	struct replay_ftrace_opts o = { .style = PRINT_STYLE_KERNEL };
	struct run_tables run = { 0 };
	struct source *src;
	if (replay_ftrace_open_files(&in, 1, &o, &src, NULL))
		return;
	const struct call_hist_env env = { .ctx = src,
					   .symbol = any_symbol,
					   .event_name = event_name };
	struct call_hist *h = call_hist_new(&env, data[0] & 1, 0);
	if (!stream_run(src, call_hist_sink(h), 1, &run, NULL))
		(void)!call_hist_finish(h);
	call_hist_free(h);
	run_tables_done(&run);
	src->ops->close(src);
}

static void as_dump(const u8 *data, size_t size)
{
	struct tracedat t;
	struct strbuf out;
	if (tracedat_open_memory(&t, "input", data + 1, size - 1, NULL))
		return;
	strbuf_init_drain(&out, 4096, swallow, NULL);
	struct tracedat_dump d = { .out = &out, .what = UINT32_MAX, .t = &t };
	strbuf_init(&d.strings);
	if (t.version == 6)
		dump_rest_v6(&d);
	else
		dump_rest_v7(&d);
	strbuf_done(&d.strings);
	strbuf_done(&out);
	tracedat_close(&t);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct source *src;
	if (size < 1)
		return 0;
	as_samples(data, size);
	as_calls(data, size);
	as_dump(data, size);
	struct replay_ftrace_opts opts = {
		.style = data[0] & 1 ? PRINT_STYLE_KERNEL : PRINT_STYLE_TRACE_CMD,
		.window_pages = data[0] >> 4,
	};
	struct replay_ftrace_input in = { .path = "input", .data = data + 1, .size = size - 1 };
	if (replay_ftrace_open_files(&in, 1, &opts, &src, NULL))
		return 0;
	struct text_events_opts view = {
		.form = data[0] & 8 ? TEXT_EVENTS_JSON : TEXT_EVENTS_LINES,
		.plain = data[0] & 1,
		.raw_fields = data[0] & 2,
		.latency = data[0] & 4,
		.ctx = src,
		.catalog = &src->catalog,
		.schema_of = schema_of,
		.symbol = symbol,
		.has_comm = has_comm,
	};
	struct strbuf out;
	struct sink *sink;
	struct run_tables tables = { 0 };
	strbuf_init_drain(&out, 4096, swallow, NULL);
	if (!text_events_new(&view, &out, &sink)) {
		(void)!stream_run(src, sink, 1, &tables, NULL);
		run_tables_done(&tables);
		text_events_free(sink);
	}
	strbuf_done(&out);
	src->ops->close(src);
	return 0;
}
