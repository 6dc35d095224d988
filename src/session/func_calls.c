#include "session/func_calls.h"

#include "base/json.h"
#include "tracing/setup_impl.h"

#include <errno.h>
#include <string.h>

/* ---- the table ---- */

static void put_rows(struct strbuf *to, const struct func_stat_row *r, size_t nr)
{
	strbuf_str(to, "  Function                               Hit    Time            Avg        "
		       "     s^2\n"
		       "  --------                               ---    ----            ---        "
		       "     ---\n");
	for (; nr; nr--, r++)
		strbuf_printf(to, "  %-30s  %10llu    %-10.3f us   %-10.3f us   %-10.3f us\n",
			      r->name, (unsigned long long)r->hits, r->time_us,
			      r->time_us / (double)r->hits, func_stat_variance(r));
}

static int put_json(struct strbuf *to, const struct func_stat_row *r, size_t nr)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_array(&j);
	for (; nr; nr--, r++) {
		json_object(&j);
		json_put_str(&j, "function", r->name);
		json_put_u64(&j, "hits", r->hits);
		json_put_double(&j, "time_us", r->time_us);
		json_put_double(&j, "average_us", r->time_us / (double)r->hits);
		json_put_double(&j, "variance_us2", func_stat_variance(r));
		json_object_end(&j);
	}
	json_array_end(&j);
	return json_end(&j);
}

static int print(const struct func_calls *c)
{
	size_t nr;
	const struct func_stat_row *rows = func_stat_rows(c->stat, &nr);
	struct diag *d = c->to.diag;
	if (func_stat_nr_gaps(c->stat))
		diag_warn(
			d, "events were lost %llu times: calls in progress at those times are not counted",
			(unsigned long long)func_stat_nr_gaps(c->stat));
	if (!nr)
		diag_note(d, "no function was called, or none was recorded");
	if (c->to.json)
		return put_json(c->to.out, rows, nr);
	put_rows(c->to.out, rows, nr);
	return 0;
}

/* ---- from a trace ---- */

static const char *symbol(void *ctx, u64 addr, u64 *offset)
{
	return source_symbol(ctx, 0, addr, offset);
}

static int make_sink(void *ctx, struct source *src, struct sink **ret)
{
	struct func_calls *c = ctx;
	c->stat = func_stat_new(symbol, src);
	if (!c->stat)
		return -ENOMEM;
	*ret = func_stat_sink(c->stat);
	return 0;
}

static int show(void *ctx, struct source *src)
{
	(void)src;
	return print(ctx);
}

struct trace_answer func_calls_answer(struct func_calls *c)
{
	return (struct trace_answer){ .sink = make_sink, .show = show, .ctx = c };
}

/* ---- from the kernel's profiler ---- */

static int filter_functions(struct ftrace_setup *f)
{
	struct strbuf list;
	int err = 0;
	strbuf_init(&list);
	vec_for_each (&f->buffers.at[0].functions, name) {
		if (!err)
			err = ftrace_check_function(f, *name);
		strbuf_printf(&list, "%s\n", *name);
	}
	if (!err && list.len)
		err = journal_list(f->journal, "set_ftrace_filter", strbuf_cstr(&list), f->diag);
	strbuf_done(&list);
	return err;
}

int func_calls_profile(struct ftrace_setup *f)
{
	int err = filter_functions(f);
	return err ? err : journal_set(f->journal, "function_profile_enabled", "1", f->diag);
}

/* trace_stat/function0 and so on, as many as there are. */
static int read_tables(struct func_calls *c, const struct tracing *t)
{
	struct strbuf text, path;
	int err = 0;
	strbuf_init(&text);
	strbuf_init(&path);
	for (int cpu = 0; !err; cpu++) {
		strbuf_reset(&path);
		strbuf_reset(&text);
		strbuf_printf(&path, "trace_stat/function%d", cpu);
		if (!tracing_has(t, strbuf_cstr(&path)))
			break;
		err = tracing_read(t, strbuf_cstr(&path), &text);
		if (!err)
			err = func_stat_parse(c->stat, strbuf_cstr(&text));
	}
	strbuf_done(&text);
	strbuf_done(&path);
	return err;
}

int func_calls_profiled(struct func_calls *c, struct ftrace_setup *f)
{
	int err = journal_set(f->journal, "function_profile_enabled", "0", f->diag);
	c->stat = err ? NULL : func_stat_new(NULL, NULL);
	if (!err)
		err = c->stat ? read_tables(c, &f->tracing) : -ENOMEM;
	return err ? err : print(c);
}

void func_calls_done(struct func_calls *c)
{
	func_stat_free(c->stat);
	c->stat = NULL;
}
