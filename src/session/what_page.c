#include "session/what_page.h"

#include "base/json.h"
#include "base/num.h"
#include "session/what_openmetrics.h"
#include "view/html_live.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NS_PER_MS = 1000000, HOST_SIZE = 65 };

/* ---- pages ---- */

static int main_page(void *ctx, const struct http_request *q, struct strbuf *to)
{
	const struct what_page *p = ctx;
	char host[HOST_SIZE] = "", title[HOST_SIZE + 16];
	struct strbuf about;
	struct json j;
	(void)q;
	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(title, sizeof(title), "sonde what: %s", host);
	strbuf_init(&about);
	json_begin(&j, &about, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "host", host);
	json_put_u64(&j, "delay_ms", p->tasks.delay_ns / NS_PER_MS);
	json_object_end(&j);
	int err = json_end(&j);
	if (!err)
		err = html_live(title, &about, to);
	strbuf_done(&about);
	return err;
}

static void put_columns(const struct what_engine *w, struct json *j)
{
	json_key(j, "columns");
	json_array(j);
	for (size_t i = 0; i < w->series.columns.nr; i++) {
		const struct series_column *c = &w->series.columns.at[i];
		const struct what_column *known = what_column_at(w, i);
		json_object(j);
		json_put_str(j, "group", c->part.group);
		json_put_str(j, "title", c->part.title);
		json_put_str(j, "row", c->part.row);
		json_put_str(j, "key", c->key);
		json_put_str(j, "unit", c->unit);
		json_put_str(j, "about", known ? known->about : "times the event happened");
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_rows(const struct what_engine *w, u64 since_ms, struct json *j)
{
	const struct series *s = &w->series;
	json_key(j, "rows");
	json_array(j);
	for (size_t row = 0; row < s->nr_rows; row++) {
		u64 ms = series_time(s, row) / NS_PER_MS;
		if (ms <= since_ms)
			continue;
		json_array(j);
		json_u64(j, ms);
		for (size_t i = 0; i < s->columns.nr; i++) {
			double v = series_number(s, row, i);
			if (isnan(v))
				json_null(j);
			else
				json_double(j, v);
		}
		json_array_end(j);
	}
	json_array_end(j);
}

static int number_of(const struct http_request *q, const char *name, u64 fallback, u64 *ret)
{
	const char *text = http_argument(q, name);
	*ret = fallback;
	return text ? num_parse_u64(text, 10, ret) : 0;
}

/* ?since=MS&generation=N: a page that knows other columns gets everything. */
static int data_page(void *ctx, const struct http_request *q, struct strbuf *to)
{
	struct what_page *p = ctx;
	const char *known = http_argument(q, "generation");
	u64 since, generation = 0;
	struct json j;
	bool none = !known || !strcmp(known, "-1");
	if (number_of(q, "since", 0, &since) || (!none && num_parse_u64(known, 10, &generation)))
		return -EINVAL;
	bool same = generation == p->what->generation;
	json_begin(&j, to, JSON_COMPACT);
	json_object(&j);
	json_put_u64(&j, "generation", p->what->generation);
	if (!same)
		put_columns(p->what, &j);
	put_rows(p->what, same ? since : 0, &j);
	what_watch_json(&p->tasks, &j);
	json_object_end(&j);
	return json_end(&j);
}

static int metrics_page(void *ctx, const struct http_request *q, struct strbuf *to)
{
	const struct what_page *p = ctx;
	(void)q;
	what_openmetrics(p->what, to);
	return 0;
}

const struct http_route what_page_routes[] = {
	{ "/", "text/html; charset=utf-8", main_page },
	{ "/data", "application/json", data_page },
	{ "/metrics", "application/openmetrics-text; version=1.0.0; charset=utf-8", metrics_page },
	{ 0 },
};
