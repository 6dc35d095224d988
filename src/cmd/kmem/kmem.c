/* `sonde kmem`: which code allocates kernel memory, how much of it is wasted, and what is not freed. */
#include "cmd/kmem/kmem.h"

#include "base/json.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/record/preset.h"
#include "view/text_kmem.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void kmem_defaults(void *opts)
{
	((struct kmem_opts *)opts)->input = "perf.data";
}

/* ---- options ---------------------------------------------------------------------------------------------------- */

static int take_table(struct kmem_opts *o, enum kmem_table t, bool negated)
{
	o->asked[t] = negated ? 0 : ++o->order;
	return 0;
}

static int take_caller(void *opts, const char *value, bool negated, struct diag *d)
{
	return take_table(opts, KMEM_SITES, negated);
}

static int take_alloc(void *opts, const char *value, bool negated, struct diag *d)
{
	return take_table(opts, KMEM_ADDRESSES, negated);
}

/* -l and -s are about the table that was named last, or about both where none was. */
static bool applies(const struct kmem_opts *o, enum kmem_table t)
{
	enum kmem_table other = t == KMEM_SITES ? KMEM_ADDRESSES : KMEM_SITES;
	return o->asked[t] >= o->asked[other];
}

static int take_lines(void *opts, const char *value, bool negated, struct diag *d)
{
	struct kmem_opts *o = opts;
	u64 n = 0;
	if (!negated && num_parse_u64(value, 10, &n))
		return diag_error(d, -EINVAL, "-l: invalid number '%s'", value);
	for (int t = 0; t < KMEM_NR_TABLES; t++)
		if (applies(o, (enum kmem_table)t))
			o->lines[t] = n;
	return 0;
}

static int take_sort(void *opts, const char *value, bool negated, struct diag *d)
{
	struct kmem_opts *o = opts;
	for (const char *at = value; at && *at;) {
		size_t len = strcspn(at, ",");
		if (kmem_key_find(at, len) < 0 && page_key_find(at, len) < 0) {
			diag_error(d, -EINVAL, "-s: unknown key '%.*s'", (int)len, at);
			diag_hint(d, "keys: frag, hit, bytes, pingpong, ptr, callsite, held; with "
				     "--page: bytes, hit, page, callsite, order, migtype, gfp");
			return -EINVAL;
		}
		at += len + (at[len] == ',');
	}
	for (int t = 0; t < KMEM_NR_TABLES; t++)
		if (applies(o, (enum kmem_table)t))
			o->sort[t] = value;
	return 0;
}

u32 kmem_parse_keys(struct app *app, const char *text, int (*find)(const char *, size_t), int *keys,
		    u32 max)
{
	u32 nr = 0;
	for (const char *at = text; *at && nr < max;) {
		size_t len = strcspn(at, ",");
		keys[nr] = find(at, len);
		if (keys[nr++] < 0) {
			diag_error(&app->diag, -EINVAL,
				   "-s: '%.*s' is a key of the other allocator", (int)len, at);
			diag_hint(&app->diag,
				  "frag, pingpong, ptr and held are keys of --slab; page, "
				  "order, migtype and gfp of --page");
			return 0;
		}
		at += len + (at[len] == ',');
	}
	return nr;
}

/* 0, or a usage status. */
static int sort_table(struct app *app, struct kmem_list *l, const char *text)
{
	int keys[KMEM_NR_KEYS];
	enum kmem_key list[KMEM_NR_KEYS];
	u32 nr = kmem_parse_keys(app, text ? text : "frag,hit,bytes", kmem_key_find, keys,
				 KMEM_NR_KEYS);
	for (u32 i = 0; i < nr; i++)
		list[i] = (enum kmem_key)keys[i];
	kmem_sort(l, list, nr);
	return nr ? 0 : app_usage_said(app);
}

/* ---- printing --------------------------------------------------------------------------------------------------- */

static void print_text(struct app *app, const struct kmem_opts *o, const struct kmem_run *r)
{
	const struct kmem_list *lists[KMEM_NR_TABLES] = { &r->sites, &r->addresses };
	for (int t = 0; t < KMEM_NR_TABLES; t++)
		if (o->asked[t])
			text_kmem_rows(lists[t]->rows, lists[t]->nr,
				       &(struct text_kmem_style){ .addresses = t == KMEM_ADDRESSES,
								  .max_rows = o->lines[t],
								  .held = o->held || o->live },
				       &app->out);
	text_kmem_summary(&r->totals, &app->out);
}

static void put_row(struct json *j, const struct kmem_row *r, bool address)
{
	char hex[24];
	(void)snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)r->key);
	json_object(j);
	json_put_str(j, address ? "address" : "callsite", r->name ? r->name : hex);
	json_put_u64(j, "allocated", r->alloc);
	json_put_u64(j, "requested", r->req);
	json_put_u64(j, "hits", r->nr_hits);
	json_put_u64(j, "pingpong", r->nr_pingpong);
	json_put_double(j, "fragmentation_percent", kmem_waste(r->req, r->alloc));
	json_put_u64(j, "held", r->held);
	json_object_end(j);
}

static int print_json(struct app *app, const struct kmem_opts *o, const struct kmem_run *r)
{
	static const char *const keys[KMEM_NR_TABLES] = { "callsites", "addresses" };
	const struct kmem_list *lists[KMEM_NR_TABLES] = { &r->sites, &r->addresses };
	struct json j;
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_u64(&j, "requested", r->totals.req);
	json_put_u64(&j, "allocated", r->totals.alloc);
	json_put_u64(&j, "freed", r->totals.freed);
	json_put_u64(&j, "allocations", r->totals.nr_allocs);
	json_put_u64(&j, "frees", r->totals.nr_frees);
	json_put_u64(&j, "cross_node", r->totals.nr_cross_node);
	json_put_u64(&j, "missed_frees", r->totals.nr_unseen_frees);
	json_put_u64(&j, "unknown_frees", r->totals.nr_unseen_allocs);
	json_put_u64(&j, "lost", r->nr_lost);
	for (int t = 0; t < KMEM_NR_TABLES; t++) {
		if (!o->asked[t])
			continue;
		json_key(&j, keys[t]);
		json_array(&j);
		for (size_t i = 0; i < lists[t]->nr && (!o->lines[t] || i < o->lines[t]); i++)
			put_row(&j, &lists[t]->rows[i], t == KMEM_ADDRESSES);
		json_array_end(&j);
	}
	json_object_end(&j);
	return json_end(&j);
}

/* Whoever reads what is held must know what was not seen. */
static void report_missed(struct app *app, const struct kmem_opts *o, const struct kmem_run *r)
{
	struct diag *d = &app->diag;
	unsigned long long missed = r->totals.nr_unseen_frees, lost = r->nr_lost;
	if (!r->nr_events) {
		diag_warn(d, "no slab events in the recording");
		diag_hint(d, "record them with 'kmem record -- COMMAND'");
	}
	if (lost)
		diag_warn(d, "%llu %s lost: memory may look held that was freed", lost,
			  str_plural(lost, "record was", "records were"));
	if (missed)
		diag_note(d, "%llu %s not seen: the memory was allocated again", missed,
			  str_plural(missed, "free was", "frees were"));
	else if (o->held && !lost)
		diag_note(d, "no free was missed, as far as memory was allocated again");
}

static int stat_slab(struct app *app, const struct kmem_opts *o, const struct kmem_run_opts *ro)
{
	struct kmem_run r;
	int err = kmem_run(&r, app_symbols(app), ro), status = 0;
	if (!err) {
		status = sort_table(app, &r.sites, o->sort[KMEM_SITES]);
		if (!status)
			status = sort_table(app, &r.addresses, o->sort[KMEM_ADDRESSES]);
	}
	if (!err && !status) {
		report_missed(app, o, &r);
		if (app->json)
			err = print_json(app, o, &r);
		else
			print_text(app, o, &r);
	}
	kmem_run_done(&r);
	return status ? status : err ? app_fail(app, err) : APP_DONE;
}

static int stat_run(struct app *app, void *opts, int argc, char **argv)
{
	const struct kmem_opts *o = opts;
	app->diag.recorder = o->page ? "kmem --page record -- COMMAND" : "kmem record -- COMMAND";
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	if (app->json && o->page && o->slab)
		return app_usage(app, "--json: --slab or --page, not both");
	struct kmem_run_opts ro = { .input = argc ? argv[0] : o->input,
				    .symbols = o->symbols,
				    .raw_ip = o->raw_ip };
	int status = o->slab || !o->page ? stat_slab(app, o, &ro) : 0;
	return status || !o->page ? status : kmem_stat_pages(app, o, &ro);
}

static int record_kmem(struct app *app, void *opts, int argc, char **argv)
{
	static const char *const slab[] = { "kmem:kmalloc", "kmem:kfree", "kmem:kmem_cache_alloc",
					    "kmem:kmem_cache_free", NULL };
	static const char *const legacy[] = { "kmem:kmalloc_node", "kmem:kmem_cache_alloc_node",
					      NULL };
	static const char *const pages[] = { "kmem:mm_page_alloc", "kmem:mm_page_free", NULL };
	struct kmem_opts *o = opts;
	const char *events[ARRAY_SIZE(slab) + ARRAY_SIZE(legacy) + ARRAY_SIZE(pages)];
	size_t nr = 0;
	bool with_slab = o->slab || !o->page, by_node = with_slab && record_kernel_has(legacy);
	for (const char *const *e = slab; with_slab && *e; e++)
		events[nr++] = *e;
	for (const char *const *e = legacy; by_node && *e; e++)
		events[nr++] = *e;
	for (const char *const *e = pages; o->page && *e; e++)
		events[nr++] = *e;
	events[nr] = NULL;
	return record_run_preset(app, &o->record,
				 &(struct record_preset){ .events = events,
							  .system_wide = true,
							  .call_graph = o->page ? "fp" : NULL },
				 argc, argv);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define ALLOCATOR_ROWS                                                                                               \
	OPT_FLAG(0, "slab", struct kmem_opts, slab, "The slab allocator (default)"),                                 \
	OPT_FLAG(0, "page", struct kmem_opts, page, "The page allocator; with --slab, both")
#define KMEM_ROWS                                                                                                    \
	OPT_STR('i', "input", struct kmem_opts, input, "FILE", "Read FILE (perf.data)"),                             \
	OPT_CALL(0, "caller", NULL, "One row per call site", take_caller),                                           \
	OPT_CALL(0, "alloc", NULL, "One row per address, or page, that was allocated", take_alloc),                            \
	OPT_CALL('s', "sort", "KEYS", "Sort the last table named by frag, hit, bytes (default, in this order), pingpong, ptr, callsite or held; with --page by bytes, hit (default), page, callsite, order, migtype or gfp", take_sort), \
	OPT_CALL('l', "line", "N", "Show N rows of the last table named", take_lines),                               \
	OPT_FLAG(0, "raw-ip", struct kmem_opts, raw_ip, "Show call sites as addresses"),                             \
	OPT_FLAG(0, "held", struct kmem_opts, held, "Add a column with the bytes that were not freed by the end"),   \
	OPT_FLAG(0, "live", struct kmem_opts, live, "With --page: only pages that were not freed by the end; else as --held"), \
	ALLOCATOR_ROWS,                                                                                              \
	OPT_FLAG('f', "force", struct kmem_opts, force, "Accepted; file ownership is never checked", .hidden = true)

static const struct opt stat_rows[] = {
	KMEM_ROWS,
	OPT_STR(0, "vmlinux", struct kmem_opts, symbols.vmlinux, "FILE", "Kernel image"),
	OPT_STR(0, "kallsyms", struct kmem_opts, symbols.kallsyms, "FILE", "Kernel symbols from a copy of /proc/kallsyms"),
	OPT_END(),
};
static const struct opt kmem_record_rows[] = {
	ALLOCATOR_ROWS,
	OPT_END(),
};
static const struct opt kmem_rows[] = {
	KMEM_ROWS,
	OPT_END(),
};
/* clang-format on */

static const struct opt_example record_examples[] = {
	{ "kmem record -- sleep 1", "what the kernel allocates in a second" },
	{ "kmem record --page -- make", "pages, with the call chains that asked for them" },
	{ 0 },
};

static const struct opt_example stat_examples[] = {
	{ "kmem stat --caller -l 10", "the ten call sites with the most waste" },
	{ "kmem stat --caller -s bytes", "call sites by bytes allocated" },
	{ "kmem stat --caller -s held --held", "what was not freed, by call site" },
	{ "kmem stat --page --caller --live -l 10", "who holds the most pages" },
	{ 0 },
};

static const struct command command_kmem_record = {
	.name = "record",
	.summary = "record allocations and frees of the kernel",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about =
		"Records the allocator's events on all CPUs, since memory is often freed by "
		"another task than the one that allocated it. Takes all options of `sonde record`.",
	.examples = record_examples,
	.opts = kmem_record_rows,
	.opts_size = sizeof(struct kmem_opts),
	.same_opts = true,
	.takes = &command_record,
	.takes_at = offsetof(struct kmem_opts, record),
	.run = record_kmem,
};

static const struct command command_kmem_stat = {
	.name = "stat",
	.summary = "kernel memory by call site and by address",
	.usage = "[OPTIONS] [FILE]",
	.about = "Frag is the share allocated beyond the request, Ping-pong counts memory freed on "
		 "another CPU than the one that allocated it. Frees that were not seen are counted "
		 "beside what looks held. With --page, the call site of pages is the first "
		 "function that does not belong to the page allocator.",
	.examples = stat_examples,
	.opts = stat_rows,
	.opts_size = sizeof(struct kmem_opts),
	.mixed_words = true,
	.same_opts = true,
	.run = stat_run,
};

static const struct command *const subs[] = {
	&command_kmem_record,
	&command_kmem_stat,
	NULL,
};

static const struct opt_example examples[] = {
	{ "kmem record -- sleep 1", "record what the kernel allocates" },
	{ "kmem --caller -l 10 stat", "the ten call sites with the most waste" },
	{ 0 },
};

const struct command command_kmem = {
	.name = "kmem",
	.group = "Why",
	.summary = "kernel memory: who allocates it, waste, what is not freed",
	.usage = "[OPTIONS] COMMAND",
	.about = "Options of `stat` may come before or after it; --slab and --page are for "
		 "`record` "
		 "too.",
	.examples = examples,
	.opts = kmem_rows,
	.opts_size = sizeof(struct kmem_opts),
	.defaults = kmem_defaults,
	.subs = subs,
};
