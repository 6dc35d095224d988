/* A whole trace.dat as lines of text: the first byte chooses the form, the rest is the file. */
#include "stream/replay_ftrace.h"
#include "stream/run.h"
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

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct source *src;
	if (size < 1)
		return 0;
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
