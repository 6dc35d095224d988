/* `sonde kmem`: which code allocates kernel memory, how much of it is wasted, and what is not freed. */
#include "base/json.h"
#include "cmd/app/commands.h"
#include "cmd/app/opt_rows.h"
#include "cmd/record/preset.h"
#include "session/kmem_run.h"
#include "view/text_kmem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum kmem_table { TABLE_SITES, TABLE_ADDRESSES, NR_TABLES };

struct kmem_opts {
	const char *input;
	struct symbol_opts symbols;
	unsigned order; /* of the options that name tables */
	unsigned asked[NR_TABLES]; /* when it was asked for; 0: it was not */
	u64 lines[NR_TABLES];
	const char *sort[NR_TABLES];
	bool raw_ip, slab, held, force;
};

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
	return take_table(opts, TABLE_SITES, negated);
}

static int take_alloc(void *opts, const char *value, bool negated, struct diag *d)
{
	return take_table(opts, TABLE_ADDRESSES, negated);
}

/* -l and -s are about the table that was named last, or about both where none was. */
static bool applies(const struct kmem_opts *o, enum kmem_table t)
{
	enum kmem_table other = t == TABLE_SITES ? TABLE_ADDRESSES : TABLE_SITES;
	return o->asked[t] >= o->asked[other];
}

static int take_lines(void *opts, const char *value, bool negated, struct diag *d)
{
	struct kmem_opts *o = opts;
	u64 n = 0;
	if (!negated && num_parse_u64(value, 10, &n))
		return diag_error(d, -EINVAL, "-l: invalid number '%s'", value);
	for (int t = 0; t < NR_TABLES; t++)
		if (applies(o, (enum kmem_table)t))
			o->lines[t] = n;
	return 0;
}

static int take_sort(void *opts, const char *value, bool negated, struct diag *d)
{
	struct kmem_opts *o = opts;
	for (const char *at = value; at && *at;) {
		size_t len = strcspn(at, ",");
		if (kmem_key_find(at, len) < 0) {
			diag_error(d, -EINVAL, "-s: unknown key '%.*s'", (int)len, at);
			diag_hint(d, "keys: frag, hit, bytes, pingpong, ptr, callsite, held");
			return -EINVAL;
		}
		at += len + (at[len] == ',');
	}
	for (int t = 0; t < NR_TABLES; t++)
		if (applies(o, (enum kmem_table)t))
			o->sort[t] = value;
	return 0;
}

static void sort_table(struct kmem_list *l, const char *keys)
{
	enum kmem_key list[KMEM_NR_KEYS];
	u32 nr = 0;
	for (const char *at = keys ? keys : "frag,hit,bytes"; *at && nr < KMEM_NR_KEYS;) {
		size_t len = strcspn(at, ",");
		list[nr++] = (enum kmem_key)kmem_key_find(at, len);
		at += len + (at[len] == ',');
	}
	kmem_sort(l, list, nr);
}

/* ---- printing --------------------------------------------------------------------------------------------------- */

static void print_text(struct app *app, const struct kmem_opts *o, const struct kmem_run *r)
{
	const struct kmem_list *lists[NR_TABLES] = { &r->sites, &r->addresses };
	for (int t = 0; t < NR_TABLES; t++)
		if (o->asked[t])
			text_kmem_rows(lists[t]->rows, lists[t]->nr,
				       &(struct text_kmem_style){ .addresses = t == TABLE_ADDRESSES,
								  .max_rows = o->lines[t],
								  .held = o->held },
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
	static const char *const keys[NR_TABLES] = { "callsites", "addresses" };
	const struct kmem_list *lists[NR_TABLES] = { &r->sites, &r->addresses };
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
	for (int t = 0; t < NR_TABLES; t++) {
		if (!o->asked[t])
			continue;
		json_key(&j, keys[t]);
		json_array(&j);
		for (size_t i = 0; i < lists[t]->nr && (!o->lines[t] || i < o->lines[t]); i++)
			put_row(&j, &lists[t]->rows[i], t == TABLE_ADDRESSES);
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

static int stat_run(struct app *app, void *opts, int argc, char **argv)
{
	app->diag.recorder = "kmem record -- COMMAND";
	const struct kmem_opts *o = opts;
	struct kmem_run r;
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s'", argv[1]);
	struct kmem_run_opts ro = { .input = argc ? argv[0] : o->input,
				    .symbols = o->symbols,
				    .raw_ip = o->raw_ip };
	int err = kmem_run(&r, app_symbols(app), &ro);
	if (!err) {
		sort_table(&r.sites, o->sort[TABLE_SITES]);
		sort_table(&r.addresses, o->sort[TABLE_ADDRESSES]);
		report_missed(app, o, &r);
		if (app->json)
			err = print_json(app, o, &r);
		else
			print_text(app, o, &r);
	}
	kmem_run_done(&r);
	return err ? app_fail(app, err) : APP_DONE;
}

static int record_kmem(struct app *app, void *opts, int argc, char **argv)
{
	static const char *const unified[] = { "kmem:kmalloc", "kmem:kfree", "kmem:kmem_cache_alloc",
					       "kmem:kmem_cache_free", NULL };
	static const char *const legacy[] = { "kmem:kmalloc_node", "kmem:kmem_cache_alloc_node",
					      NULL };
	static const char *const by_node[] = { "kmem:kmalloc",
					       "kmem:kmalloc_node",
					       "kmem:kfree",
					       "kmem:kmem_cache_alloc",
					       "kmem:kmem_cache_alloc_node",
					       "kmem:kmem_cache_free",
					       NULL };
	return record_run_preset(
		app, opts,
		&(struct record_preset){ .events = record_kernel_has(legacy) ? by_node : unified,
					 .system_wide = true },
		argc, argv);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* clang-format off */
#define KMEM_ROWS                                                                                                    \
	OPT_STR('i', "input", struct kmem_opts, input, "FILE", "Read FILE (perf.data)"),                             \
	OPT_CALL(0, "caller", NULL, "One row per call site", take_caller),                                           \
	OPT_CALL(0, "alloc", NULL, "One row per address that was allocated", take_alloc),                            \
	OPT_CALL('s', "sort", "KEYS", "Sort the last table named by frag, hit, bytes (default, in this order), pingpong, ptr, callsite or held", take_sort), \
	OPT_CALL('l', "line", "N", "Show N rows of the last table named", take_lines),                               \
	OPT_FLAG(0, "raw-ip", struct kmem_opts, raw_ip, "Show call sites as addresses"),                             \
	OPT_FLAG(0, "held", struct kmem_opts, held, "Add a column with the bytes that were not freed by the end"),   \
	OPT_FLAG(0, "slab", struct kmem_opts, slab, "The slab allocator, which is what there is", .hidden = true),   \
	OPT_FLAG(0, "page", struct kmem_opts, slab, "The page allocator is not analysed: use 'record -g -e kmem:mm_page_alloc', then 'report'", .refused = true), \
	OPT_FLAG('f', "force", struct kmem_opts, force, "Accepted; file ownership is never checked", .hidden = true)

static const struct opt stat_rows[] = {
	KMEM_ROWS,
	OPT_STR(0, "vmlinux", struct kmem_opts, symbols.vmlinux, "FILE", "Kernel image"),
	OPT_STR(0, "kallsyms", struct kmem_opts, symbols.kallsyms, "FILE", "Kernel symbols from a copy of /proc/kallsyms"),
	OPT_END(),
};
static const struct opt kmem_rows[] = {
	KMEM_ROWS,
	OPT_END(),
};
/* clang-format on */

static const struct opt_example record_examples[] = {
	{ "kmem record -- sleep 1", "what the kernel allocates in a second" },
	{ 0 },
};

static const struct opt_example stat_examples[] = {
	{ "kmem stat --caller -l 10", "the ten call sites with the most waste" },
	{ "kmem stat --caller -s bytes", "call sites by bytes allocated" },
	{ "kmem stat --caller -s held --held", "what was not freed, by call site" },
	{ 0 },
};

static const struct command command_kmem_record = {
	.name = "record",
	.summary = "record allocations and frees of the kernel",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about =
		"Records the slab allocator's events on all CPUs, since memory is often freed by "
		"another task than the one that allocated it. Takes all options of `sonde record`.",
	.examples = record_examples,
	.opts = record_rows,
	.opts_size = sizeof(struct record_opts),
	.run = record_kmem,
};

static const struct command command_kmem_stat = {
	.name = "stat",
	.summary = "kernel memory by call site and by address",
	.usage = "[OPTIONS] [FILE]",
	.about = "Frag is the share allocated beyond the request, Ping-pong counts memory freed on "
		 "another CPU than the one that allocated it. Frees that were not seen are counted "
		 "beside what looks held.",
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
	.about = "Options of `stat` may stand before or after it.",
	.examples = examples,
	.opts = kmem_rows,
	.opts_size = sizeof(struct kmem_opts),
	.defaults = kmem_defaults,
	.subs = subs,
};
