#include "session/event_count.h"

#include "view/json_key_counts.h"

#include <errno.h>

static const char *count_symbol(void *ctx, u64 addr, u64 *offset)
{
	struct event_count *c = ctx;
	return source_symbol(c->src, 0, addr, offset);
}

static const char *count_comm(void *ctx, s32 pid)
{
	struct event_count *c = ctx;
	const char *comm = source_task_name(c->src, 0, pid);
	return comm ? comm : "<...>";
}

static int count_json(struct event_hist *h, struct strbuf *to)
{
	struct key_counts t;
	key_counts_init(&t);
	int err = event_hist_counts(h, &t);
	if (!err)
		err = json_key_counts(&t, to);
	key_counts_done(&t);
	return err;
}

int event_count_check(const struct event_count *c)
{
	struct event_hist *trial;
	int err = event_hist_new(&c->opts, &trial, c->to.diag);
	if (!err)
		event_hist_free(trial);
	return err;
}

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct event_count *c = ctx;
	c->src = src;
	c->opts.ctx = c;
	c->opts.symbol = count_symbol;
	c->opts.comm = count_comm;
	int err = event_hist_new(&c->opts, &c->hist, c->to.diag);
	if (!err)
		*ret = event_hist_sink(c->hist);
	return err;
}

static int show(void *ctx, struct source *src)
{
	struct event_count *c = ctx;
	(void)src;
	const char *missing = event_hist_missing(c->hist);
	if (missing) {
		int err = diag_error(c->to.diag, -ENOENT, "%s has no field '%s'", c->opts.event,
				     missing);
		diag_hint(c->to.diag, "'sonde ftrace list -e %s -F' shows its fields",
			  c->opts.event);
		return err;
	}
	if (c->to.json)
		return count_json(c->hist, c->to.out);
	event_hist_text(c->hist, c->to.out);
	return 0;
}

struct trace_answer event_count_answer(struct event_count *c)
{
	return (struct trace_answer){ .sink = make_sink, .show = show, .ctx = c };
}

void event_count_done(struct event_count *c)
{
	if (c->hist)
		event_hist_free(c->hist);
	c->hist = NULL;
}
