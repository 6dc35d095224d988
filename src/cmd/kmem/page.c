/* `sonde kmem stat --page`: who allocates pages, and which are held, in the layout of perf kmem. */
#include "cmd/kmem/kmem.h"

#include "base/json.h"
#include "view/text_kmem.h"

#include <errno.h>
#include <stdio.h>

static const struct page_list *list_of(const struct page_run *r, int table)
{
	return table == KMEM_SITES ? &r->sites : &r->pages;
}

static void print_text(struct app *app, const struct kmem_opts *o, const struct page_run *r)
{
	if (o->asked[KMEM_SITES] || o->asked[KMEM_ADDRESSES])
		text_page_gfps(r->gfps, r->nr_gfps, &app->out);
	for (int t = 0; t < KMEM_NR_TABLES; t++)
		if (o->asked[t])
			text_page_rows(list_of(r, t)->rows, list_of(r, t)->nr,
				       &(struct text_page_style){ .pages = t == KMEM_ADDRESSES,
								  .live = o->live,
								  .max_rows = o->lines[t],
								  .gfps = r->gfp_of },
				       &app->out);
	text_page_summary(&r->totals, o->live, &app->out);
}

/* ---- JSON ---- */

static void put_sum(struct json *j, const char *key, const struct page_sum *s)
{
	json_key(j, key);
	json_object(j);
	json_put_u64(j, "requests", s->nr);
	json_put_u64(j, "bytes", s->bytes);
	json_object_end(j);
}

static void put_row(struct json *j, const struct page_run *r, const struct page_row *row, bool page)
{
	char hex[24];
	(void)snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)row->site);
	json_object(j);
	if (page)
		json_put_u64(j, "pfn", row->key);
	json_put_str(j, "callsite", row->name ? row->name : hex);
	json_put_str(j, "address", hex);
	json_put_u64(j, "order", row->order);
	json_put_s64(j, "migratetype", row->mobility);
	json_put_str(j, "gfp_flags", r->gfp_of[row->gfp].text);
	json_put_u64(j, "hits", row->nr_hits);
	json_put_u64(j, "bytes", row->bytes);
	json_put_u64(j, "live_hits", row->nr_live);
	json_put_u64(j, "live_bytes", row->live_bytes);
	json_object_end(j);
}

static void put_orders(struct json *j, const struct page_totals *t)
{
	json_key(j, "orders");
	json_array(j);
	for (u32 order = 0; order < PAGE_ORDERS; order++)
		for (s32 m = 0; m < PAGE_MOBILITIES; m++) {
			if (!t->orders[order][m])
				continue;
			json_object(j);
			json_put_u64(j, "order", order);
			json_put_s64(j, "migratetype", m);
			json_put_u64(j, "requests", t->orders[order][m]);
			json_put_u64(j, "live", t->live_orders[order][m]);
			json_object_end(j);
		}
	json_array_end(j);
}

static int print_json(struct app *app, const struct kmem_opts *o, const struct page_run *r)
{
	static const char *const keys[KMEM_NR_TABLES] = { "callsites", "pages" };
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	put_sum(&j, "allocated", &r->totals.allocs);
	put_sum(&j, "freed", &r->totals.frees);
	put_sum(&j, "allocated_and_freed", &r->totals.both);
	put_sum(&j, "only_freed", &r->totals.unseen_allocs);
	put_sum(&j, "failed", &r->totals.failed);
	json_put_u64(&j, "missed_frees", r->totals.nr_unseen_frees);
	json_put_u64(&j, "lost", r->nr_lost);
	put_orders(&j, &r->totals);
	for (int t = 0; t < KMEM_NR_TABLES; t++) {
		const struct page_list *l = list_of(r, t);
		if (!o->asked[t])
			continue;
		json_key(&j, keys[t]);
		json_array(&j);
		for (size_t i = 0; i < l->nr && (!o->lines[t] || i < o->lines[t]); i++)
			put_row(&j, r, &l->rows[i], t == KMEM_ADDRESSES);
		json_array_end(&j);
	}
	json_object_end(&j);
	return json_end(&j);
}

/* ---- running ---- */

static void report_missed(struct app *app, const struct kmem_opts *o, const struct page_run *r)
{
	struct diag *d = &app->diag;
	unsigned long long missed = r->totals.nr_unseen_frees, lost = r->nr_lost;
	if (!r->totals.allocs.nr && !r->totals.frees.nr) {
		diag_warn(d, "no page events in the recording");
		diag_hint(d, "record them with 'kmem --page record -- COMMAND'");
	}
	if (lost)
		diag_warn(d, "%llu %s lost: some pages that were freed may look held", lost,
			  str_plural(lost, "record was", "records were"));
	if (missed)
		diag_note(d, "%llu %s not seen: the pages were allocated again", missed,
			  str_plural(missed, "free was", "frees were"));
	else if (o->live && !lost)
		diag_note(d, "no free was missed among pages that were allocated again");
}

static int sort_list(struct app *app, struct page_run *r, struct page_list *l, const char *text)
{
	int keys[PAGE_NR_KEYS];
	enum page_key list[PAGE_NR_KEYS];
	u32 nr = kmem_parse_keys(app, text ? text : "bytes,hit", page_key_find, keys, PAGE_NR_KEYS);
	for (u32 i = 0; i < nr; i++)
		list[i] = (enum page_key)keys[i];
	page_sort(r, l, list, nr);
	return nr ? 0 : app_usage_said(app);
}

int kmem_stat_pages(struct app *app, const struct kmem_opts *o, const struct kmem_run_opts *ro)
{
	struct page_run r;
	int err = page_run(&r, app_symbols(app), ro, o->live), status = 0;
	if (!err) {
		status = sort_list(app, &r, &r.sites, o->sort[KMEM_SITES]);
		if (!status)
			status = sort_list(app, &r, &r.pages, o->sort[KMEM_ADDRESSES]);
	}
	if (!err && !status) {
		report_missed(app, o, &r);
		if (app->json)
			err = print_json(app, o, &r);
		else
			print_text(app, o, &r);
	}
	page_run_done(&r);
	return status ? status : err ? app_fail(app, err) : APP_DONE;
}
