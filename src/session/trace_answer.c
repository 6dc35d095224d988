#include "session/trace_answer.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"

int trace_answer_file(const struct trace_answer *a, const char *path, unsigned workers,
		      struct diag *d)
{
	struct replay_ftrace_opts replay = { .style = PRINT_STYLE_KERNEL, .cpus = a->cpus };
	struct run_tables tables = { 0 };
	struct source *src;
	struct sink *sink;
	int err = replay_ftrace_open(path, &replay, &src, d);
	if (err)
		return err;
	err = a->sink(a->ctx, src, &sink);
	if (!err)
		err = stream_run(src, sink, workers, &tables, d);
	run_tables_done(&tables);
	if (!err && a->show)
		err = a->show(a->ctx, src);
	src->ops->close(src);
	return err;
}
