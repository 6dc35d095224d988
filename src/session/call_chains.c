#include "session/call_chains.h"

#include "analysis/call_hist.h"
#include "base/json.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"

#include <errno.h>

enum { COLUMN = 13, LEVELS_MAX = 64 };

struct counted_calls {
	const struct tell *to;
	const char *path;
	bool all_pids;
	struct source *names; /* open all the time: the names are its */
	u32 buffer;
	struct call_hist *hist;
	u64 lines; /* [level]: a line goes down there */
};

static const char *symbol(void *ctx, u64 addr, u64 *offset)
{
	return ftrace_env_symbol(replay_ftrace_env(((struct counted_calls *)ctx)->names, 0), addr,
				 offset);
}

static const char *event_name(void *ctx, u32 event)
{
	return replay_ftrace_format(((struct counted_calls *)ctx)->names, event)->name;
}

static const char *comm_of(const struct counted_calls *c, s32 pid)
{
	const char *name = ftrace_env_comm(replay_ftrace_env(c->names, 0), pid);
	if (!name)
		name = call_hist_comm(c->hist, pid);
	return name ? name : "<...>";
}

/* ---- the layout of trace-cmd hist ---- */

static void put_name(struct strbuf *to, const struct call_hist_node *n)
{
	if (n->name)
		strbuf_str(to, n->name);
	else
		strbuf_printf(to, "0x%llx", (unsigned long long)n->key);
}

static void put_indent(const struct counted_calls *c, unsigned levels)
{
	for (unsigned i = 0; i < levels; i++)
		strbuf_right(c->to->out, i < LEVELS_MAX && (c->lines >> i & 1) ? "|" : "", COLUMN);
}

static void put_caller(const struct counted_calls *c, const struct call_hist_node *n,
		       unsigned levels)
{
	put_indent(c, levels);
	strbuf_fill(c->to->out, ' ', 10);
	put_name(c->to->out, n);
	strbuf_char(c->to->out, '\n');
}

static const struct call_hist_node *first_of(const struct counted_calls *c,
					     const struct call_hist_node *n)
{
	return call_hist_node(c->hist, n->first);
}

static bool is_single(const struct counted_calls *c, const struct call_hist_node *n)
{
	while (n && n->nr == 1)
		n = first_of(c, n);
	return !n || !n->nr;
}

static void put_tree(struct counted_calls *c, const struct call_hist_node *n, unsigned levels)
{
	struct strbuf *o = c->to->out;
	if (is_single(c, n)) {
		for (n = first_of(c, n); n; n = first_of(c, n))
			put_caller(c, n, levels);
		return;
	}
	if (levels < LEVELS_MAX)
		c->lines |= 1ull << levels;
	const struct call_hist_node *caller = first_of(c, n);
	for (; caller; caller = call_hist_node(c->hist, caller->next)) {
		put_indent(c, levels + 1);
		strbuf_char(o, '\n');
		put_indent(c, levels + 1);
		strbuf_printf(o, "--%%%.2f-- ", 100.0 * (double)caller->count / (double)n->count);
		put_name(o, caller);
		strbuf_printf(o, "  # %llu\n", (unsigned long long)caller->count);
		if (caller->next == CALL_HIST_NONE && levels < LEVELS_MAX)
			c->lines &= (1ull << levels) - 1;
		/* Who always came the same way stands in one column. */
		const struct call_hist_node *p = caller, *above = first_of(c, p);
		if (!is_single(c, p))
			for (; p->nr == 1 && above->count == p->count; above = first_of(c, p)) {
				put_caller(c, above, levels + 1);
				p = above;
			}
		put_tree(c, p, levels + 1);
	}
}

static void put_row(struct counted_calls *c, const struct call_hist_node *n)
{
	struct strbuf *o = c->to->out, name;
	double share = 100.0 * (double)n->count / (double)call_hist_total(c->hist);
	strbuf_init(&name);
	put_name(&name, n);
	if (c->all_pids)
		strbuf_printf(o, "  %%%3.2f <all pids> ", share);
	else
		strbuf_printf(o, "  %%%3.2f  (%d) %s ", share, n->pid, comm_of(c, n->pid));
	strbuf_right(o, strbuf_cstr(&name), 30);
	strbuf_printf(o, " #%llu\n         |\n         --- ", (unsigned long long)n->count);
	strbuf_printf(o, n->event ? "*%s*\n" : "%s\n", strbuf_cstr(&name));
	strbuf_done(&name);
	put_tree(c, n, 0);
}

/* ---- JSON: rows, each with its callers in the order of a walk ---- */

static void json_name(struct json *j, const char *key, const struct call_hist_node *n)
{
	struct strbuf name;
	strbuf_init(&name);
	put_name(&name, n);
	json_put_str(j, key, strbuf_cstr(&name));
	strbuf_done(&name);
}

static void json_callers(struct counted_calls *c, struct json *j, const struct call_hist_node *n,
			 u32 depth)
{
	const struct call_hist_node *p = first_of(c, n);
	for (; p; p = call_hist_node(c->hist, p->next)) {
		json_object(j);
		json_put_u64(j, "depth", depth);
		json_name(j, "function", p);
		json_put_u64(j, "count", p->count);
		json_object_end(j);
		json_callers(c, j, p, depth + 1);
	}
}

static int json_buffer(struct counted_calls *c, const char *name)
{
	struct json j;
	json_begin(&j, c->to->out, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "buffer", name);
	json_put_u64(&j, "total", call_hist_total(c->hist));
	json_key(&j, "rows");
	json_array(&j);
	for (size_t i = 0; i < call_hist_nr_rows(c->hist); i++) {
		const struct call_hist_node *n = call_hist_row(c->hist, i);
		json_object(&j);
		if (!c->all_pids) {
			json_put_s64(&j, "pid", n->pid);
			json_put_str(&j, "comm", comm_of(c, n->pid));
		}
		json_name(&j, "name", n);
		json_put_bool(&j, "event", n->event);
		json_put_u64(&j, "count", n->count);
		json_key(&j, "callers");
		json_array(&j);
		json_callers(c, &j, n, 1);
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

/* ---- a file ---- */

/* The rules want a CPU's events as a whole, one CPU after the other. */
static int read_cpu(struct counted_calls *c, u32 cpu)
{
	struct cpuset only;
	struct run_tables tables = { 0 };
	struct source *src;
	cpuset_zero(&only);
	cpuset_add(&only, cpu);
	struct replay_ftrace_opts o = { .style = PRINT_STYLE_KERNEL, .cpus = &only };
	int err = replay_ftrace_open(c->path, &o, &src, c->to->diag);
	if (err)
		return err;
	err = stream_run(src, call_hist_sink(c->hist), 1, &tables, c->to->diag);
	run_tables_done(&tables);
	src->ops->close(src);
	return err;
}

static int print_buffer(struct counted_calls *c, const struct tracedat_buffer *b, bool title)
{
	const struct call_hist_env env = { .ctx = c, .symbol = symbol, .event_name = event_name };
	int err = 0;
	c->hist = call_hist_new(&env, c->all_pids, c->buffer);
	if (!c->hist)
		return -ENOMEM;
	for (u32 i = 0; i < b->nr_cpus && !err; i++)
		if (b->cpus[i].nr_pages)
			err = read_cpu(c, b->cpus[i].cpu);
	if (!err)
		err = call_hist_finish(c->hist);
	if (!err && c->to->json) {
		err = json_buffer(c, b->name);
	} else if (!err && call_hist_nr_rows(c->hist)) {
		if (title)
			strbuf_printf(c->to->out, "%s%s:\n", c->buffer ? "\n" : "",
				      *b->name ? b->name : "top-level buffer");
		for (size_t i = 0; i < call_hist_nr_rows(c->hist); i++) {
			if (i)
				strbuf_char(c->to->out, '\n');
			put_row(c, call_hist_row(c->hist, i));
		}
	}
	call_hist_free(c->hist);
	return err;
}

static bool has_pages(const struct tracedat_buffer *b)
{
	for (u32 i = 0; i < b->nr_cpus; i++)
		if (b->cpus[i].nr_pages)
			return true;
	return false;
}

/* trace-cmd leaves the top buffer out when there are others, and counts those together. */
static int print_file(struct counted_calls *c)
{
	const struct tracedat *t = replay_ftrace_file(c->names, 0);
	u32 full = 0;
	int err = 0;
	if (t->latency) {
		diag_error(c->to->diag, -ENODATA,
			   "%s holds the text of a latency tracer, and no events", c->path);
		diag_hint(c->to->diag, "'sonde ftrace report' shows it");
		return -ENODATA;
	}
	vec_for_each (&t->buffers, b)
		full += has_pages(b);
	if (!full)
		return diag_error(c->to->diag, -ENODATA, "%s has no events", c->path);
	for (; c->buffer < t->buffers.nr && !err; c->buffer++)
		if (has_pages(&t->buffers.at[c->buffer]))
			err = print_buffer(c, &t->buffers.at[c->buffer], full > 1);
	return err;
}

int call_chains_print(const struct tell *to, const char *path, bool all_pids)
{
	struct counted_calls c = { .to = to, .path = path, .all_pids = all_pids };
	struct replay_ftrace_opts o = { .style = PRINT_STYLE_KERNEL };
	int err = replay_ftrace_open(path, &o, &c.names, to->diag);
	if (err)
		return err;
	err = print_file(&c);
	c.names->ops->close(c.names);
	return err;
}
