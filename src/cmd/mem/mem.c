/* `sonde mem`: loads and stores with their cost, as the hardware samples them. record and report with what memory accesses need. */
#include "cmd/mem/mem.h"
#include "cmd/app/commands.h"
#include "cmd/record/preset.h"
#include "cmd/report/report.h"
#include "kern/sysroot.h"

#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PERF_FAILED_STATUS = 255 };

struct mem_access_opts {
	const char *type; /* load, store */
	bool phys_data, data_page_size, dump, hide_unresolved;
	const char *input;
	/* Of mem record. */
	const char *kinds;
	u64 latency;
	bool only_user, only_kernel;
	struct record_opts record;
	struct report_opts report;
};

static void mem_defaults(void *opts)
{
	struct mem_access_opts *o = opts;
	o->type = "load,store";
	o->latency = MEM_LATENCY_DEFAULT;
	report_defaults(&o->report);
}

/* "load,store": 0, or a usage status. */
static int parse_type(struct app *app, const struct mem_access_opts *o, bool *loads, bool *stores)
{
	*loads = *stores = false;
	for (const char *at = o->type; *at;) {
		size_t len = strcspn(at, ",");
		bool load = len == 4 && !memcmp(at, "load", len);
		bool store = len == 5 && !memcmp(at, "store", len);
		if (!load && !store)
			return app_usage(app, "-t: expected load or store, not '%.*s'", (int)len,
					 at);
		*loads |= load;
		*stores |= store;
		at += len + (at[len] == ',');
	}
	return *loads || *stores ? 0 : app_usage(app, "-t: expected load or store");
}

/* ---- recording -------------------------------------------------------------------------------------------------- */

int mem_find_events(struct mem_events *e)
{
	static const char folder[] = "sys/bus/event_source/devices";
	struct sysroot r;
	char path[128];
	const struct {
		const char *file;
		bool *found;
	} files[] = { { "cpu/events/mem-loads", &e->loads },
		      { "cpu/events/mem-stores", &e->stores },
		      { "cpu/events/mem-loads-aux", &e->loads_aux },
		      { "ibs_op", &e->ibs } };
	*e = (struct mem_events){ 0 };
	int err = sysroot_open(&r, NULL);
	for (size_t i = 0; !err && i < ARRAY_SIZE(files); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, files[i].file);
		*files[i].found = sysroot_exists(&r, path);
	}
	if (!err)
		sysroot_close(&r);
	return err;
}

int mem_no_events(struct app *app)
{
	if (app->dialect->perf_closing_lines) {
		strbuf_str(&app->err, "failed: memory events not supported\n");
		return PERF_FAILED_STATUS;
	}
	diag_error(&app->diag, -EOPNOTSUPP,
		   "this CPU, or this guest, cannot sample memory accesses");
	diag_hint(&app->diag, "it takes mem-loads of Intel's CPUs or ibs_op of AMD's: 'list "
			      "pmu' shows what there is");
	return APP_FAILED;
}

void mem_list_events(struct app *app, const struct mem_events *e)
{
	struct strbuf *to = app->dialect->perf_closing_lines ? &app->err : &app->out;
	if (e->ibs)
		strbuf_str(to, "mem-ldst     : available\n");
	if (e->loads)
		strbuf_str(to, "ldlat-loads  : available\n");
	if (e->stores)
		strbuf_str(to, "ldlat-stores : available\n");
}

int mem_choose_kinds(struct app *app, const char *kinds, bool *loads, bool *stores)
{
	static const char *const words[] = { "ldlat-loads", "ldlat-stores", "mem-ldst" };
	*loads = *stores = false;
	for (const char *at = kinds; *at;) {
		size_t len = strcspn(at, ",");
		size_t i = 0;
		while (i < ARRAY_SIZE(words) &&
		       (strlen(words[i]) != len || memcmp(words[i], at, len) != 0))
			i++;
		if (i == ARRAY_SIZE(words))
			return app_usage(app,
					 "-e: unknown kind of access '%.*s'; '-e list' shows them",
					 (int)len, at);
		*loads |= i != 1;
		*stores |= i != 0;
		at += len + (at[len] == ',');
	}
	return 0;
}

bool mem_use_events(struct mem_events *e, bool loads, bool stores, u64 latency)
{
	u32 nr = 0;
	(void)snprintf(e->load_event, sizeof(e->load_event),
		       e->loads_aux ? "{cpu/mem-loads-aux/,cpu/mem-loads,ldlat=%llu/}:P"
				    : "cpu/mem-loads,ldlat=%llu/P",
		       (unsigned long long)latency);
	if (e->ibs && !e->loads)
		e->list[nr++] = "ibs_op//";
	if (loads && e->loads)
		e->list[nr++] = e->load_event;
	if (stores && e->stores && nr + 1 < ARRAY_SIZE(e->list))
		e->list[nr++] = "cpu/mem-stores/P";
	e->list[nr] = NULL;
	return nr;
}

static int record_run(struct app *app, void *opts, int argc, char **argv)
{
	struct mem_access_opts *o = opts;
	struct mem_events e;
	bool loads, stores;
	int err = mem_find_events(&e);
	if (err)
		return app_fail(app, err);
	if (!e.loads && !e.stores && !e.ibs)
		return mem_no_events(app);
	if (o->kinds && !strcmp(o->kinds, "list")) {
		mem_list_events(app, &e);
		return APP_DONE;
	}
	int status = o->kinds ? mem_choose_kinds(app, o->kinds, &loads, &stores)
			      : parse_type(app, o, &loads, &stores);
	if (status)
		return status;
	if (!mem_use_events(&e, loads, stores, o->latency))
		return mem_no_events(app);
	o->record.live.weight = o->record.live.data_addr = true;
	o->record.live.only_user |= o->only_user;
	o->record.live.only_kernel |= o->only_kernel;
	o->record.phys_data |= o->phys_data;
	o->record.data_page_size |= o->data_page_size;
	return record_run_preset(app, &o->record,
				 &(struct record_preset){ .events = e.list, .sampled = true }, argc,
				 argv);
}

/* ---- reporting -------------------------------------------------------------------------------------------------- */

/* Stores have no cost to show. */
static const char *const sort_keys[2][4] = {
	{ NULL, "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked,phys_daddr",
	  "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked,data_page_size",
	  "local_weight,mem,sym,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked,phys_daddr,"
	  "data_page_size" },
	{ "mem,sym,dso,symbol_daddr,dso_daddr,tlb,locked",
	  "mem,sym,dso,symbol_daddr,dso_daddr,tlb,locked,phys_daddr",
	  "mem,sym,dso,symbol_daddr,dso_daddr,tlb,locked,data_page_size",
	  "mem,sym,dso,symbol_daddr,dso_daddr,tlb,locked,phys_daddr,data_page_size" },
};

static int report_run(struct app *app, void *opts, int argc, char **argv)
{
	app->diag.recorder = "mem record -- COMMAND";
	struct mem_access_opts *o = opts;
	struct report_opts *r = &o->report;
	bool loads, stores;
	int status = parse_type(app, o, &loads, &stores);
	if (status)
		return status;
	if (o->dump) {
		diag_error(&app->diag, -EINVAL, "-D: raw samples are shown by script");
		diag_hint(&app->diag, "script -F pid,tid,ip,addr,weight,data_src,sym,dso");
		return app_usage_said(app);
	}
	const char *keys = sort_keys[!loads][o->phys_data + 2 * o->data_page_size];
	r->mem_mode = r->show_count = true;
	r->hide_unresolved |= o->hide_unresolved;
	if (o->input && !r->inputs.items.nr)
		r->input = o->input;
	if (keys && !r->sort.items.nr) {
		const char **item = vec_push(&r->sort.items);
		if (!item)
			return app_fail(app, -ENOMEM);
		*item = keys;
	}
	return command_report.run(app, r, argc, argv);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct opt mem_rows[] = {
	OPT_STR('t', "type", struct mem_access_opts, type, "KINDS", "Kinds of accesses: load, store (both)"),
	OPT_FLAG('p', "phys-data", struct mem_access_opts, phys_data, "Physical addresses as well"),
	OPT_FLAG(0, "data-page-size", struct mem_access_opts, data_page_size, "The page size of accessed data as well"),
	OPT_FLAG('U', "hide-unresolved", struct mem_access_opts, hide_unresolved, "Show only what has a symbol"),
	OPT_STR('i', "input", struct mem_access_opts, input, "FILE", "Read FILE (perf.data)"),
	OPT_FLAG('D', "dump-raw-samples", struct mem_access_opts, dump, "Not here: `sonde script -F pid,tid,ip,addr,weight,data_src,sym,dso`", .hidden = true),
	OPT_END(),
};
static const struct opt mem_record_rows[] = {
	OPT_STR('e', "event", struct mem_access_opts, kinds, "KINDS", "ldlat-loads, ldlat-stores; 'list' shows what this CPU has"),
	OPT_UINT(0, "ldlat", struct mem_access_opts, latency, "CYCLES", "Only loads that took at least this many cycles (30)"),
	OPT_FLAG('U', "all-user", struct mem_access_opts, only_user, "User space only"),
	OPT_FLAG('K', "all-kernel", struct mem_access_opts, only_kernel, "Kernel only"),
	OPT_END(),
};
static const struct opt mem_report_rows[] = {
	OPT_STR(0, "type", struct mem_access_opts, type, "KINDS", "Kinds of accesses: load, store (both)"),
	OPT_FLAG(0, "phys-data", struct mem_access_opts, phys_data, "Add a column with physical addresses"),
	OPT_FLAG(0, "data-page-size", struct mem_access_opts, data_page_size, "Add a column with page sizes"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example record_examples[] = {
	{ "mem record -- COMMAND", "loads and stores of a command" },
	{ "mem record --ldlat 100 -- COMMAND", "loads that took 100 cycles and more" },
	{ 0 },
};

static const struct opt_example mem_report_examples[] = {
	{ "mem report", "accesses by cost, code and data" },
	{ "mem -t store report", "stores only" },
	{ 0 },
};

static const struct command command_mem_record = {
	.name = "record",
	.summary = "sample memory accesses with their cost",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Samples loads and stores with address, cost and where the data came from (-d "
		 "-W), by the CPU's own means: mem-loads and mem-stores (Intel), ibs_op (AMD). "
		 "Takes all options of `sonde record` after its own.",
	.examples = record_examples,
	.opts = mem_record_rows,
	.opts_size = sizeof(struct mem_access_opts),
	.same_opts = true,
	.takes = &command_record,
	.takes_at = offsetof(struct mem_access_opts, record),
	.run = record_run,
};

static const struct command command_mem_report = {
	.name = "report",
	.summary = "memory accesses by cost, code and data",
	.usage = "[OPTIONS] [FILE]",
	.about = "Is `sonde report --mem-mode -n` and takes all options of `sonde report`: rows "
		 "are weighted by the cost of the accesses.",
	.examples = mem_report_examples,
	.opts = mem_report_rows,
	.opts_size = sizeof(struct mem_access_opts),
	.mixed_words = true,
	.same_opts = true,
	.takes = &command_report,
	.takes_at = offsetof(struct mem_access_opts, report),
	.run = report_run,
};

static const struct command *const subs[] = {
	&command_mem_record,
	&command_mem_report,
	NULL,
};

static const struct opt_example examples[] = {
	{ "mem record -- COMMAND", "sample loads and stores" },
	{ "mem report", "which code waits for which data" },
	{ 0 },
};

const struct command command_mem = {
	.name = "mem",
	.group = "Why",
	.summary = "memory accesses: which code waits for which data",
	.usage = "[OPTIONS] COMMAND",
	.examples = examples,
	.opts = mem_rows,
	.opts_size = sizeof(struct mem_access_opts),
	.defaults = mem_defaults,
	.subs = subs,
};
