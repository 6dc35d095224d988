#include "view/json_stat.h"

#include "base/json.h"

static void add_quoted(struct strbuf *to, const char *s)
{
	struct json j;
	json_begin(&j, to, JSON_COMPACT);
	json_str(&j, s);
}

/* "key" : , with a comma before it unless it is the first of the line. */
static void add_name(struct strbuf *to, const char *name, bool *first)
{
	strbuf_str(to, *first ? "{" : ", ");
	add_quoted(to, name);
	strbuf_str(to, " : ");
	*first = false;
}

static void add_prefix(const struct stat_view *v, const struct stat_head *h,
		       const struct stat_row *row, bool *first)
{
	static const char *const keys[] = {
		[STAT_BY_ALL] = NULL,	     [STAT_BY_CPU] = "cpu",	  [STAT_BY_CORE] = "core",
		[STAT_BY_DIE] = "die",	     [STAT_BY_SOCKET] = "socket", [STAT_BY_NODE] = "node",
		[STAT_BY_THREAD] = "thread",
	};
	struct strbuf key;
	if (h->interval) {
		add_name(v->to, "interval", first);
		strbuf_printf(v->to, "%llu.%09llu", (unsigned long long)(h->time_ns / 1000000000),
			      (unsigned long long)(h->time_ns % 1000000000));
	}
	if (!keys[h->by])
		return;
	add_name(v->to, keys[h->by], first);
	if (h->by == STAT_BY_CPU) {
		strbuf_printf(v->to, "\"%d\"", h->keys[row->key].cpu);
		return;
	}
	strbuf_init(&key);
	stat_view_key(h, row, &key);
	add_quoted(v->to, strbuf_cstr(&key));
	strbuf_done(&key);
	if (stat_view_has_places(h->by)) {
		add_name(v->to, "aggregate-number", first);
		strbuf_u64(v->to, row->nr_places);
	}
}

static void add_ratio(const struct stat_view *v, const struct stat_ratio *r, bool *first)
{
	add_name(v->to, "metric-value", first);
	strbuf_printf(v->to, "%f", r ? r->value : 0);
	add_name(v->to, "metric-unit", first);
	add_quoted(v->to, r ? r->unit : "");
	strbuf_char(v->to, '}');
}

static void add_ratios(const struct stat_view *v, const struct stat_head *h,
		       const struct stat_rows *rows, const struct stat_row *row, bool *first)
{
	bool any = false;
	for (u32 i = 0; i < row->nr_ratios; i++) {
		const struct stat_ratio *r = &rows->ratios.at[row->first_ratio + i];
		if (!r->shown)
			continue;
		if (any) {
			strbuf_char(v->to, '\n');
			*first = true;
			add_prefix(v, h, row, first);
		}
		add_ratio(v, r, first);
		any = true;
	}
	if (!any)
		add_ratio(v, NULL, first);
}

static void add_row(const struct stat_view *v, const struct stat_head *h,
		    const struct stat_rows *rows, const struct stat_row *row)
{
	const struct stat_event *e = &h->events[row->event];
	struct strbuf *to = v->to;
	bool first = true;
	add_prefix(v, h, row, &first);
	add_name(to, "counter-value", &first);
	if (row->state == STAT_COUNTED)
		strbuf_printf(to, "\"%f\"", row->value);
	else
		add_quoted(to,
			   row->state == STAT_NOT_SUPPORTED ? "<not supported>" : "<not counted>");
	add_name(to, "unit", &first);
	add_quoted(to, e->unit);
	add_name(to, "event", &first);
	add_quoted(to, e->name);
	if (e->cgroup) {
		add_name(to, "cgroup", &first);
		add_quoted(to, e->cgroup);
	}
	if (h->nr_runs > 1) {
		add_name(to, "variance", &first);
		strbuf_printf(to, "%.2f", row->state == STAT_COUNTED ? row->noise : 0);
	}
	add_name(to, "event-runtime", &first);
	strbuf_printf(to, "%.0f", row->running_ns);
	add_name(to, "pcnt-running", &first);
	strbuf_printf(to, "%.2f", stat_view_share(row));
	add_ratios(v, h, rows, row, &first);
	strbuf_char(to, '\n');
}

static void add_columns(const struct stat_view *v, const struct stat_head *h,
			const struct stat_rows *rows, const struct stat_row *row, bool *first)
{
	struct strbuf text;
	strbuf_init(&text);
	for (u32 i = 0; i < row->nr_ratios; i++) {
		const struct stat_ratio *r = &rows->ratios.at[row->first_ratio + i];
		if (!stat_view_is_column(r))
			continue;
		strbuf_reset(&text);
		stat_view_column(h, row, r, &text);
		add_name(v->to, strbuf_cstr(&text), first);
		strbuf_reset(&text);
		if (r->shown)
			stat_view_plain(r, &text);
		add_quoted(v->to, strbuf_cstr(&text));
	}
	strbuf_done(&text);
}

static void add_column_rows(const struct stat_view *v, const struct stat_head *h,
			    const struct stat_rows *rows)
{
	for (u32 key = 0; key < h->nr_keys; key++) {
		bool first = true, any = false;
		vec_for_each (&rows->rows, row) {
			if (row->key != key)
				continue;
			if (!any)
				add_prefix(v, h, row, &first);
			any = true;
			add_columns(v, h, rows, row, &first);
		}
		if (any)
			strbuf_str(v->to, first ? "{}\n" : "}\n");
	}
}

void json_stat_rows(const struct stat_view *v, const struct stat_head *h,
		    const struct stat_rows *rows)
{
	if (h->ratios_only) {
		add_column_rows(v, h, rows);
		return;
	}
	vec_for_each (&rows->rows, row)
		add_row(v, h, rows, row);
}
