/* [time,][key,[cpus,]]value,unit,event,[cgroup,][noise%,]running ns,share,ratio,its unit */
#include "view/csv_stat.h"

static void sep(const struct stat_view *v)
{
	strbuf_str(v->to, v->separator);
}

static void add_prefix(const struct stat_view *v, const struct stat_head *h,
		       const struct stat_row *row)
{
	if (h->summary) {
		strbuf_right(v->to, "summary", 16);
		sep(v);
	} else if (h->interval) {
		strbuf_printf(v->to, "%6llu.%09llu", (unsigned long long)(h->time_ns / 1000000000),
			      (unsigned long long)(h->time_ns % 1000000000));
		sep(v);
	}
	if (h->by == STAT_BY_ALL)
		return;
	stat_view_key(h, row, v->to);
	sep(v);
	if (stat_view_has_places(h->by)) {
		strbuf_u64(v->to, row->nr_places);
		sep(v);
	}
}

/* Below its row a ratio has these many empty fields before it: perf's numbers. */
static unsigned empty_fields(const struct stat_head *h, const struct stat_event *e)
{
	unsigned nr = h->by == STAT_BY_ALL	? 3
		      : h->by == STAT_BY_CPU	? 4
		      : h->by == STAT_BY_THREAD ? 4
		      : h->by == STAT_BY_NODE	? 4
						: 5;
	return nr + (e->cgroup != NULL);
}

static void add_ratio(const struct stat_view *v, const struct stat_ratio *r)
{
	sep(v);
	stat_view_plain(r, v->to);
	sep(v);
	strbuf_str(v->to, r->unit);
}

static void add_ratios(const struct stat_view *v, const struct stat_head *h,
		       const struct stat_rows *rows, const struct stat_row *row)
{
	bool first = true;
	for (u32 i = 0; i < row->nr_ratios; i++) {
		const struct stat_ratio *r = &rows->ratios.at[row->first_ratio + i];
		if (!r->shown)
			continue;
		if (!first) {
			strbuf_char(v->to, '\n');
			add_prefix(v, h, row);
			for (unsigned n = empty_fields(h, &h->events[row->event]); n; n--)
				sep(v);
		}
		add_ratio(v, r);
		first = false;
	}
	if (first) {
		sep(v);
		sep(v);
	}
}

static void add_row(const struct stat_view *v, const struct stat_head *h,
		    const struct stat_rows *rows, const struct stat_row *row)
{
	const struct stat_event *e = &h->events[row->event];
	struct strbuf *to = v->to;
	add_prefix(v, h, row);
	if (row->state == STAT_COUNTED)
		strbuf_printf(to, "%.*f", stat_view_decimals(e), row->value);
	else
		strbuf_str(to,
			   row->state == STAT_NOT_SUPPORTED ? "<not supported>" : "<not counted>");
	sep(v);
	strbuf_str(to, e->unit);
	sep(v);
	strbuf_str(to, e->name);
	sep(v);
	if (e->cgroup) {
		strbuf_str(to, e->cgroup);
		sep(v);
	}
	if (h->nr_runs > 1) {
		strbuf_printf(to, "%.2f%%", row->state == STAT_COUNTED ? row->noise : 0);
		sep(v);
	}
	strbuf_printf(to, "%.0f", row->running_ns);
	sep(v);
	strbuf_printf(to, "%.2f", stat_view_share(row));
	add_ratios(v, h, rows, row);
	strbuf_char(to, '\n');
}

static void add_column_rows(const struct stat_view *v, const struct stat_head *h,
			    const struct stat_rows *rows)
{
	for (u32 key = 0; key < h->nr_keys; key++) {
		bool first = true;
		vec_for_each (&rows->rows, row) {
			if (row->key != key)
				continue;
			if (first)
				add_prefix(v, h, row);
			first = false;
			for (u32 i = 0; i < row->nr_ratios; i++) {
				const struct stat_ratio *r = &rows->ratios.at[row->first_ratio + i];
				if (!stat_view_is_column(r))
					continue;
				if (r->shown)
					stat_view_plain(r, v->to);
				sep(v);
			}
		}
		if (!first)
			strbuf_char(v->to, '\n');
	}
}

void csv_stat_rows(const struct stat_view *v, const struct stat_head *h,
		   const struct stat_rows *rows)
{
	if (h->ratios_only) {
		add_column_rows(v, h, rows);
		return;
	}
	vec_for_each (&rows->rows, row)
		add_row(v, h, rows, row);
}

void csv_stat_columns(const struct stat_view *v, const struct stat_head *h,
		      const struct stat_rows *rows)
{
	static const char *const keys[] = {
		[STAT_BY_ALL] = NULL,	     [STAT_BY_CPU] = "cpu",	  [STAT_BY_CORE] = "core",
		[STAT_BY_DIE] = "die",	     [STAT_BY_SOCKET] = "socket", [STAT_BY_NODE] = "node",
		[STAT_BY_THREAD] = "thread",
	};
	if (h->interval) {
		strbuf_str(v->to, " time");
		sep(v);
	}
	if (keys[h->by]) {
		strbuf_str(v->to, keys[h->by]);
		sep(v);
		if (stat_view_has_places(h->by)) {
			strbuf_str(v->to, "cpus");
			sep(v);
		}
	}
	for (size_t n = 0; n < rows->rows.nr; n++) {
		const struct stat_row *row = &rows->rows.at[n];
		for (u32 i = 0; row->key == rows->rows.at[0].key && i < row->nr_ratios; i++) {
			const struct stat_ratio *r = &rows->ratios.at[row->first_ratio + i];
			if (!stat_view_is_column(r))
				continue;
			stat_view_column(h, row, r, v->to);
			sep(v);
		}
	}
	strbuf_char(v->to, '\n');
}
