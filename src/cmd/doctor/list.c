/*
 * list: everything that can be observed here, by kind and glob. The layout is perf's: two blanks, the name in fifty columns,
 * its kind in brackets, so that `list | grep Tracepoint` finds what it always found.
 */
#include "base/glob.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "session/recorded_ids.h"
#include "event/catalog.h"
#include "event/provider.h"
#include "image/usdt_notes.h"
#include "kern/program_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct event_list_opts {
	bool all;
	bool no_desc;
	bool desc;
	bool long_desc;
	bool details;
	bool raw_dump;
	bool deprecated;
	bool debug;
	bool json;
	const char *unit;
	const char *metrics;
	const char *root;
};

struct list_state {
	struct app *app;
	const struct event_list_opts *o;
	struct event_env env;
	struct json json;
	enum event_section section; /* of the entry before; 0: none yet */
	bool as_perf;
	bool groups_only;
	VEC(const char *) groups; /* of metrics, each once */
	struct arena arena;
	size_t nr;
};

/* ---- which sections a word means ---- */

enum {
	PERF_SECTIONS = EVENT_SECTION_HARDWARE | EVENT_SECTION_SOFTWARE | EVENT_SECTION_TOOL |
			EVENT_SECTION_CACHE | EVENT_SECTION_PMU | EVENT_SECTION_RAW |
			EVENT_SECTION_BREAKPOINT | EVENT_SECTION_TRACEPOINT | EVENT_SECTION_SDT,
	OUR_SECTIONS = PERF_SECTIONS | EVENT_SECTION_PROVIDER | EVENT_SECTION_TRACER |
		       EVENT_SECTION_METRIC,
	GLOB_SECTIONS = OUR_SECTIONS | EVENT_SECTION_VENDOR,
};

static const struct {
	const char *word;
	u32 sections;
	bool groups; /* of metrics, not the metrics */
} kinds[] = {
	{ "hw", EVENT_SECTION_HARDWARE },
	{ "hardware", EVENT_SECTION_HARDWARE },
	{ "sw", EVENT_SECTION_SOFTWARE | EVENT_SECTION_TOOL },
	{ "software", EVENT_SECTION_SOFTWARE | EVENT_SECTION_TOOL },
	{ "tool", EVENT_SECTION_TOOL },
	{ "cache", EVENT_SECTION_CACHE },
	{ "hwcache", EVENT_SECTION_CACHE },
	{ "pmu", EVENT_SECTION_PMU },
	{ "raw", EVENT_SECTION_RAW },
	{ "breakpoint", EVENT_SECTION_BREAKPOINT },
	{ "tracepoint", EVENT_SECTION_TRACEPOINT },
	{ "sdt", EVENT_SECTION_SDT },
	{ "probe", EVENT_SECTION_PROVIDER },
	{ "tracer", EVENT_SECTION_TRACER },
	{ "metric", EVENT_SECTION_METRIC },
	{ "metrics", EVENT_SECTION_METRIC },
	{ "metricgroup", EVENT_SECTION_METRIC, .groups = true },
	{ "metricgroups", EVENT_SECTION_METRIC, .groups = true },
	{ "pfm", EVENT_SECTION_VENDOR },
	{ "function", EVENT_SECTION_FUNCTION },
	{ "functions", EVENT_SECTION_FUNCTION },
};

static u32 sections_of(const char *word, bool *groups)
{
	*groups = false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].word, word)) {
			*groups = kinds[i].groups;
			return kinds[i].sections;
		}
	return 0;
}

/* ---- text ---- */

static void begin_section(struct list_state *s, const struct event_entry *e)
{
	if (s->section == e->section)
		return;
	struct strbuf *out = &s->app->out;
	bool headed = e->section == EVENT_SECTION_METRIC;
	if (headed)
		strbuf_str(out, "\nMetrics:\n\n");
	else if (s->section && !s->app->wide)
		strbuf_char(out, '\n');
	s->section = e->section;
}

/* "\tfield:unsigned int next_pid;\toffset:..." → "  unsigned int next_pid" */
static void print_fields(struct list_state *s, const struct tracing_event *t)
{
	struct strbuf path, text;
	strbuf_init(&path);
	strbuf_init(&text);
	strbuf_printf(&path, "events/%s/%s/format", t->system, t->name);
	const char *at = tracing_read(&s->env.tracing, strbuf_cstr(&path), &text) == 0
				 ? strbuf_cstr(&text)
				 : "";
	while ((at = strstr(at, "field:"))) {
		at += strlen("field:");
		size_t len = strcspn(at, ";\n");
		bool common = memmem(at, len, " common_", strlen(" common_")) != NULL;
		if (!common)
			strbuf_printf(&s->app->out, "       %.*s\n", (int)len, at);
		at += len;
	}
	strbuf_done(&path);
	strbuf_done(&text);
}

static void print_formats(struct list_state *s, const struct pmu *p)
{
	/* The set is ours: loading fills it. */
	struct pmu *own = pmu_find(&s->env.pmus, p->name, strlen(p->name));
	if (!own || pmu_load_formats(&s->env.pmus, own) < 0)
		return;
	vec_for_each (&own->formats, f)
		strbuf_printf(&s->app->out, "       %s=  %s\n", f->name, f->text);
}

/* "[default] [precise] ", or none */
static void print_vendor_flags(struct strbuf *out, bool is_default, const struct vendor_flags *f,
			       const char *none)
{
	size_t start = out->len;
	strbuf_str(out, is_default ? "[default] " : "");
	strbuf_str(out, f->precise ? "[precise] " : "");
	strbuf_str(out, f->hw_smpl ? "[hw_smpl] " : "");
	if (f->speculative)
		strbuf_str(out, f->speculative == VENDOR_SPECULATIVE ? "[speculative] "
								     : "[non-speculative] ");
	if (out->len == start)
		strbuf_str(out, none);
}

/* As libpfm's showevtinfo prints them. */
static void print_vendor(struct list_state *s, const struct vendor_event *v)
{
	struct strbuf *out = &s->app->out;
	strbuf_printf(out,
		      "#-----------------------------\nIDX\t : %d\nPMU name : %s (%s)\nName     : "
		      "%s\nEquiv\t : %s\nFlags    : ",
		      v->idx, v->pmu, v->pmu_about, v->name, v->equiv ? v->equiv : "None");
	print_vendor_flags(out, false, &v->flags, "None");
	strbuf_printf(out, "\nDesc     : %s\nCode     : 0x%llx\n", v->about,
		      (unsigned long long)v->code);
	u32 umasks = 0, modifs = 0;
	for (u32 i = 0; i < v->nr_attrs; i++) {
		const struct vendor_attr *a = &v->attrs[i];
		if (!a->is_umask) {
			strbuf_printf(out, "Modif-%02u : 0x%02llx : PMU : [%s] : %s (%s)\n",
				      modifs++, (unsigned long long)a->code, a->name, a->about,
				      a->type);
			continue;
		}
		strbuf_printf(out, "Umask-%02u : 0x%02llx : PMU : [%s] : ", umasks++,
			      (unsigned long long)a->code, a->name);
		print_vendor_flags(out, a->is_default, &a->flags, "None ");
		strbuf_printf(out, ": %s%s\n", a->equiv ? "Alias to " : "",
			      a->equiv ? a->equiv : a->about);
	}
}

static void print_metric(struct list_state *s, const struct event_entry *e)
{
	struct strbuf *out = &s->app->out;
	strbuf_printf(out, "  %s\n", e->name);
	if (!s->o->no_desc && e->about && *e->about)
		strbuf_printf(out, "       [%s]\n", e->about);
	if (s->o->details || s->app->verbose) {
		strbuf_printf(out, "       %s", e->metric->expr);
		if (e->metric->event)
			strbuf_printf(out, "   (value: %s)", e->metric->event);
		strbuf_char(out, '\n');
	}
}

static void print_more(struct list_state *s, const struct event_entry *e, bool verbose)
{
	struct strbuf *out = &s->app->out;
	if (s->o->details && e->terms && e->pmu) {
		strbuf_printf(out, "        %s/%s/", e->pmu->name, e->terms);
		if (e->unit)
			strbuf_printf(out, "  %g %s", e->scale, e->unit);
		strbuf_char(out, '\n');
	}
	if (!verbose)
		return;
	if (e->about && !s->o->no_desc)
		strbuf_printf(out, "       [%s]\n", e->about);
	if (e->tracepoint)
		print_fields(s, e->tracepoint);
	if (e->section == EVENT_SECTION_PMU ||
	    (e->section == EVENT_SECTION_RAW && e->pmu && *e->name != 'r'))
		print_formats(s, e->pmu);
}

static int text_entry(struct list_state *s, const struct event_entry *e)
{
	struct strbuf *out = &s->app->out;
	bool verbose = s->app->verbose || s->o->long_desc;
	begin_section(s, e);
	if (!e->name) {
		const char *what = e->section == EVENT_SECTION_TRACEPOINT ? "Tracepoints"
				   : e->section == EVENT_SECTION_VENDOR	  ? "Vendor events"
				   : e->section == EVENT_SECTION_FUNCTION ? "Functions"
									  : "Tracers";
		strbuf_printf(out, "  [ %s not available: %s ]\n", what, e->why);
		return 0;
	}
	if (e->vendor && (s->o->details || verbose)) {
		print_vendor(s, e->vendor);
		return 0;
	}
	if (e->metric) {
		print_metric(s, e);
		return 0;
	}
	char name[256];
	const char *shown = e->name;
	if (e->alias && !e->vendor) {
		(void)snprintf(name, sizeof(name), "%s OR %s", e->name, e->alias);
		shown = name;
	}
	strbuf_str(out, "  ");
	strbuf_left(out, shown, 50);
	strbuf_printf(out, " [%s]", event_section_word(e->section));
	if (!e->available && e->why)
		strbuf_printf(out, " (%s)", e->why);
	strbuf_char(out, '\n');
	if (e->section == EVENT_SECTION_RAW && *e->name != 'r' && !s->app->wide)
		strbuf_str(out, "   (see 'man perf-list' on how to encode it)\n");
	/* What has no other place for its meaning says it at once. */
	bool ours = e->section == EVENT_SECTION_PROVIDER || e->section == EVENT_SECTION_VENDOR;
	if (ours && !verbose && e->about && !s->o->no_desc)
		strbuf_printf(out, "       [%s]\n", e->about);
	print_more(s, e, verbose);
	return 0;
}

/* ---- groups of metrics ---- */

static int add_group(struct list_state *s, const char *name, size_t len)
{
	vec_for_each (&s->groups, g)
		if (strlen(*g) == len && !strncmp(*g, name, len))
			return 0;
	const char **g = vec_push(&s->groups);
	if (!g)
		return -ENOMEM;
	*g = arena_strndup(&s->arena, name, len);
	return *g ? 0 : -ENOMEM;
}

static int add_groups(struct list_state *s, const struct metric *m)
{
	int err = 0;
	for (const char *at = m->groups; at && *at && !err; at += *at == ';') {
		size_t len = strcspn(at, ";");
		err = len ? add_group(s, at, len) : 0;
		at += len;
	}
	return err;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_groups(struct list_state *s)
{
	if (!s->groups.nr)
		return;
	qsort(s->groups.at, s->groups.nr, sizeof(*s->groups.at), compare_names);
	if (!s->o->raw_dump)
		strbuf_str(&s->app->out, "\nMetric Groups:\n\n");
	vec_for_each (&s->groups, g)
		strbuf_printf(&s->app->out, s->o->raw_dump ? "%s " : "%s\n", *g);
	s->groups.nr = 0;
}

/* ---- JSON, with the keys of newer perf's list -j ---- */

static int json_entry(struct list_state *s, const struct event_entry *e)
{
	struct json *j = &s->json;
	json_object(j);
	if (e->pmu)
		json_put_str(j, "Unit", e->pmu->name);
	if (e->vendor)
		json_put_str(j, "Unit", e->vendor->pmu);
	if (e->metric && e->metric->groups)
		json_put_str(j, "MetricGroup", e->metric->groups);
	json_put_str(j, e->metric ? "MetricName" : "EventName", e->name ? e->name : "");
	if (e->alias)
		json_put_str(j, "EventAlias", e->alias);
	json_put_str(j, "EventType", event_section_word(e->section));
	if (e->about && *e->about)
		json_put_str(j, "BriefDescription", e->about);
	if (e->metric) {
		json_put_str(j, "MetricExpr", e->metric->expr);
		if (e->metric->unit)
			json_put_str(j, "ScaleUnit", e->metric->unit);
	}
	if (e->terms && e->pmu) {
		struct strbuf t;
		strbuf_init(&t);
		strbuf_printf(&t, "%s/%s/", e->pmu->name, e->terms);
		json_put_str(j, "Encoding", strbuf_cstr(&t));
		strbuf_reset(&t);
		if (e->unit) {
			strbuf_printf(&t, "%.17g%s", e->scale, e->unit);
			json_put_str(j, "ScaleUnit", strbuf_cstr(&t));
		}
		strbuf_done(&t);
	}
	if (e->vendor) {
		json_put_u64(j, "Code", e->vendor->code);
		json_key(j, "Umasks");
		json_object(j);
		for (u32 i = 0; i < e->vendor->nr_attrs; i++)
			if (e->vendor->attrs[i].is_umask)
				json_put_u64(j, e->vendor->attrs[i].name, e->vendor->attrs[i].code);
		json_object_end(j);
	}
	json_put_bool(j, "Available", e->available);
	if (!e->available && e->why)
		json_put_str(j, "WhyNot", e->why);
	json_object_end(j);
	return 0;
}

static int on_entry(void *ctx, const struct event_entry *e)
{
	struct list_state *s = ctx;
	if (s->o->unit && (!e->pmu || !pmu_matches(e->pmu, s->o->unit, strlen(s->o->unit))))
		return 0;
	/* perf shows only what can be opened; the two raw forms always. */
	bool form = e->section == EVENT_SECTION_RAW || !e->name;
	if (!e->available && !s->o->all && !s->app->json && !form &&
	    e->section != EVENT_SECTION_VENDOR)
		return 0;
	s->nr++;
	if (s->app->json)
		return json_entry(s, e);
	if (s->groups_only)
		return add_groups(s, e->metric);
	if (s->o->raw_dump) {
		if (e->name && e->section != EVENT_SECTION_RAW &&
		    e->section != EVENT_SECTION_BREAKPOINT)
			strbuf_printf(&s->app->out, "%s ", e->name);
		return 0;
	}
	struct event_entry plain = *e;
	if (form)
		plain.available = true; /* no remark after a form */
	if (s->as_perf || !s->o->all)
		plain.why = e->name ? NULL : e->why;
	return text_entry(s, &plain);
}

/* ---- the run ---- */

/* Opens and closes a counter of this thread: kernel parts are left out where they are not permitted. */
static int try_open(void *ctx, struct perf_event_attr *attr)
{
	(void)ctx;
	for (int pass = 0;; pass++) {
		int fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0) {
			(void)close(fd);
			return 0;
		}
		if (pass || (errno != EACCES && errno != EPERM))
			return -errno;
		attr->exclude_kernel = attr->exclude_hv = 1;
	}
}

static int read_metrics(struct list_state *s, const char *path, struct metric_set *set)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct strbuf text;
	strbuf_init(&text);
	int err = fd < 0 ? -errno : 0;
	for (ssize_t n = 1; err == 0 && n > 0;) {
		char *room = strbuf_room(&text, 65536);
		n = room ? read(fd, room, 65536) : 0;
		if (!room || n < 0)
			err = room ? -errno : -ENOMEM;
		else
			strbuf_commit(&text, (size_t)n);
	}
	if (err < 0)
		err = diag_error(&s->app->diag, err, "cannot read %s: %s", path, strerror(-err));
	else
		err = metric_set_parse(set, path, strbuf_cstr(&text), &s->app->diag);
	strbuf_done(&text);
	return err;
}

/* usdt:FILE[:GLOB]: the static probes of a program or library, as -e takes them; each name once. */
static int list_usdt(struct list_state *s, const char *word)
{
	struct strbuf path, name;
	struct elfimg e;
	struct usdt_notes notes = { 0 };
	size_t len = strcspn(word, ":");
	const char *glob = word[len] && word[len + 1] ? word + len + 1 : "*";
	char *file = strndup(word, len);
	strbuf_init(&path);
	strbuf_init(&name);
	int err = file ? program_path(file, 0, "", &path) : -ENOMEM;
	if (!err)
		err = elfimg_open(&e, strbuf_cstr(&path), NULL);
	if (!err) {
		err = usdt_notes_read(&e, &notes);
		elfimg_close(&e);
	}
	if (err)
		(void)diag_error(&s->app->diag, err, "cannot read the static probes of '%s': %s",
				 file ? file : word,
				 err == -ENOEXEC ? "not an ELF file" : strerror(-err));
	for (size_t i = 0; i < notes.at.nr && !err; i++) {
		const struct usdt_note *n = &notes.at.at[i];
		bool again =
			i && !strcmp(n[-1].name, n->name) && !strcmp(n[-1].provider, n->provider);
		strbuf_reset(&name);
		strbuf_printf(&name, "%s:%s", n->provider, n->name);
		if (again || (!glob_match(glob, strbuf_cstr(&name)) && !glob_match(glob, n->name)))
			continue;
		strbuf_reset(&name);
		strbuf_printf(&name, "%s:%s:%s:%s", event_provider_of(EVENT_KIND_USDT)->prefix,
			      strbuf_cstr(&path), n->provider, n->name);
		err = on_entry(s, &(struct event_entry){ .section = EVENT_SECTION_SDT,
							 .name = strbuf_cstr(&name),
							 .about = *n->args ? n->args : NULL,
							 .available = true });
	}
	if (!err && !notes.at.nr)
		err = diag_error(&s->app->diag, -ENOENT,
				 "%s has no static probes (no .note.stapsdt)", strbuf_cstr(&path));
	usdt_notes_done(&notes);
	strbuf_done(&name);
	strbuf_done(&path);
	free(file);
	return err;
}

static int list_word(struct list_state *s, struct event_query *q, const char *word)
{
	size_t prefix = strcspn(word, ":");
	if (!s->as_perf && word[prefix] &&
	    event_provider_find(word, prefix) == event_provider_of(EVENT_KIND_USDT))
		return list_usdt(s, word + prefix + 1);
	q->glob = q->system_glob = q->event_glob = NULL;
	q->sections = sections_of(word, &s->groups_only);
	if (q->sections) {
		int err = event_catalog(&s->env, q, on_entry, s);
		print_groups(s);
		return err;
	}
	/* SYSTEM:EVENT, or a part of any name. */
	struct strbuf buf;
	strbuf_init(&buf);
	const char *colon = strchr(word, ':');
	bool double_colon = colon && colon[1] == ':';
	strbuf_printf(&buf, colon ? "%s" : "*%s*", word);
	char *text = strbuf_steal(&buf);
	if (!text)
		return -ENOMEM;
	if (colon && !double_colon) {
		text[colon - word] = '\0';
		q->system_glob = text;
		q->event_glob = text[colon - word + 1] ? text + (colon - word) + 1 : "*";
		q->sections = EVENT_SECTION_TRACEPOINT | EVENT_SECTION_SDT;
	} else {
		q->glob = text;
		if (s->as_perf) /* perf looks at the events' names only, not at their systems' */
			q->event_glob = text;
		q->sections = double_colon ? EVENT_SECTION_VENDOR
			      : s->as_perf ? PERF_SECTIONS
					   : GLOB_SECTIONS;
	}
	int err = event_catalog(&s->env, q, on_entry, s);
	free(text);
	return err;
}

static int list_all(struct list_state *s, struct event_query *q, int argc, char **argv)
{
	int err = 0;
	if (!argc) {
		q->sections = s->as_perf || s->o->raw_dump ? PERF_SECTIONS : OUR_SECTIONS;
		return event_catalog(&s->env, q, on_entry, s);
	}
	for (int i = 0; i < argc && err == 0; i++)
		err = list_word(s, q, argv[i]);
	return err;
}

/* The first word that is no kind of events; NULL: none. */
static const char *first_pattern(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		size_t k = 0;
		while (k < ARRAY_SIZE(kinds) && strcmp(kinds[k].word, argv[i]))
			k++;
		if (k == ARRAY_SIZE(kinds))
			return argv[i];
	}
	return NULL;
}

static int list_run(struct app *app, void *opts, int argc, char **argv)
{
	struct event_list_opts *o = opts;
	struct list_state s = { .app = app, .o = o, .as_perf = app->dialect->lists_as_perf };
	struct metric_set metrics;
	char home[4096];
	struct event_query q = { .try_open = o->root ? NULL : try_open,
				 .metrics = &metrics,
				 .all_vendors = o->all,
				 .build_id_dir = recorded_cache_dir(home, sizeof(home)) };
	app->json |= o->json;
	metric_set_init(&metrics);
	arena_init(&s.arena);
	int err = event_env_open(&s.env, o->root ? o->root : "");
	if (err == 0) {
		err = o->metrics ? read_metrics(&s, o->metrics, &metrics) : 0;
		bool titled = !app->json && !app->wide && !o->raw_dump;
		if (err == 0 && titled)
			strbuf_str(&app->out,
				   "\nList of pre-defined events (to be used in -e or -M):\n\n");
		if (app->json) {
			json_begin(&s.json, &app->out, JSON_PRETTY);
			json_array(&s.json);
		}
		if (err == 0)
			err = list_all(&s, &q, argc, argv);
		if (app->json) {
			json_array_end(&s.json);
			int jerr = json_end(&s.json);
			err = err ? err : jerr;
		}
		if (err == 0 && o->raw_dump)
			strbuf_char(&app->out, '\n');
		event_env_close(&s.env);
	}
	metric_set_done(&metrics);
	vec_free(&s.groups);
	arena_done(&s.arena);
	if (err < 0)
		return app_fail(app, err);
	if (s.nr || s.as_perf) /* perf's status is 0 whatever it finds */
		return APP_DONE;
	const char *pattern = first_pattern(argc, argv);
	if (pattern)
		diag_error(&app->diag, -ENOENT, "no event matches '%s'", pattern);
	else if (argc)
		diag_note(&app->diag, "this machine has no events of this kind");
	if (argc)
		diag_hint(&app->diag, "--all also shows what is unavailable on this machine");
	return pattern ? APP_FAILED : APP_DONE;
}

static const struct opt list_rows[] = {
	OPT_FLAG(
		'a', "all", struct event_list_opts, all,
		"Also show what is unavailable on this machine, with the reason; libpfm: all CPUs"),
	OPT_FLAG(0, "details", struct event_list_opts, details,
		 "Show how names are encoded; libpfm names with codes and umasks"),
	OPT_FLAG('j', NULL, struct event_list_opts, json, "Same as --json"),
	OPT_FLAG('d', "desc", struct event_list_opts, desc, "Descriptions (on)"),
	OPT_FLAG(0, "no-desc", struct event_list_opts, no_desc, "No descriptions"),
	OPT_FLAG(0, "long-desc", struct event_list_opts, long_desc,
		 "Same as -v: tracepoint fields, PMU terms"),
	OPT_STR(0, "unit", struct event_list_opts, unit, "PMU", "Only events of this PMU"),
	OPT_STR(0, "metrics", struct event_list_opts, metrics, "FILE",
		"Also the metrics of this file (NAME = EXPRESSION)"),
	OPT_STR(0, "cputype", struct event_list_opts, unit, "PMU", "Same as --unit", .hidden = true),
	OPT_FLAG(0, "raw-dump", struct event_list_opts, raw_dump, "Names only, on one line",
		 .hidden = true),
	OPT_FLAG(0, "deprecated", struct event_list_opts, deprecated, "Accepted", .hidden = true),
	OPT_FLAG(0, "debug", struct event_list_opts, debug, "Accepted", .hidden = true),
	OPT_STR(0, "sysroot", struct event_list_opts, root, "DIR",
		"Use another machine's sysfs and tracefs below DIR", .hidden = true),
	OPT_END(),
};

static const struct opt_example list_examples[] = {
	{ "list", "everything that can be observed here" },
	{ "list 'sched:*switch*' -v", "tracepoints by pattern, with their fields" },
	{ "list hw cache --all",
	  "generic hardware events, including unavailable ones with the reason" },
	{ "list pfm --details", "the CPU vendor's event names, with codes and umasks" },
	{ "list -v usdt:./a.out", "static probes of a program, with their arguments" },
	{ "list -v pmu", "events of PMUs and the terms they take" },
	{ 0 },
};

const struct command command_list = {
	.name = "list",
	.group = "About the machine and sonde",
	.summary = "list what can be observed here",
	.usage = "[OPTIONS] "
		 "[hw|sw|cache|tool|pmu|raw|tracepoint|sdt|probe|tracer|metric|metricgroup|pfm|"
		 "function|GLOB].."
		 ".",
	.about = "A word that is not a kind is matched against all names, SYSTEM:EVENT against "
		 "tracepoints only.",
	.examples = list_examples,
	.opts = list_rows,
	.opts_size = sizeof(struct event_list_opts),
	.mixed_words = true,
	.run = list_run,
};
