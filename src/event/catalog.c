#include "event/catalog.h"

#include "base/glob.h"
#include "event/print.h"
#include "image/buildid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct catalog_walker {
	struct event_env *env;
	const struct event_query *q;
	int (*fn)(void *ctx, const struct event_entry *e);
	void *ctx;
};

static bool wanted(const struct catalog_walker *w, const char *name, const char *alias)
{
	if (!w->q->glob)
		return true;
	return glob_match(w->q->glob, name) || (alias && glob_match(w->q->glob, alias));
}

static int emit(const struct catalog_walker *w, const struct event_entry *e)
{
	return wanted(w, e->name, e->alias) ? w->fn(w->ctx, e) : 0;
}

/* A section that cannot be read. */
static int emit_missing(const struct catalog_walker *w, enum event_section section, const char *why)
{
	struct event_entry e = { .section = section, .why = why };
	return w->q->glob ? 0 : w->fn(w->ctx, &e);
}

static const char *why_of(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM: return "not permitted: see kernel.perf_event_paranoid";
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV: return "not on this machine";
	case -ENOSYS: return "this kernel has no perf events";
	case -EINVAL: return "refused by this kernel";
	default: return "cannot be opened";
	}
}

/* Fills available and why for an attr. */
static void try(const struct catalog_walker *w, u32 type, u64 config, struct event_entry *e)
{
	struct pmu *core = pmu_next_core(&w->env->pmus, NULL);
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = type, .config = config, .disabled = 1
	};
	if (!w->q->try_open) {
		e->available = core || (type != PERF_TYPE_HARDWARE && type != PERF_TYPE_HW_CACHE &&
					type != PERF_TYPE_RAW);
		e->why = e->available ? NULL : "no CPU PMU";
		return;
	}
	if (core && pmu_next_core(&w->env->pmus, core) &&
	    (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE))
		attr.config |= (u64)core->type << PERF_PMU_TYPE_SHIFT;
	int err = w->q->try_open(w->q->ctx, &attr);
	e->available = err == 0;
	e->why = err ? why_of(err) : NULL;
	if (err == -ENOENT && !core && type != PERF_TYPE_SOFTWARE)
		e->why = "no CPU PMU";
}

static int legacy_cmp(const void *a, const void *b)
{
	return strcmp((*(const struct legacy_event *const *)a)->name,
		      (*(const struct legacy_event *const *)b)->name);
}

static int walk_legacy(const struct catalog_walker *w, enum event_section section,
		       const struct legacy_event *(*table)(size_t *), u32 type)
{
	const struct legacy_event *sorted[32];
	size_t nr;
	const struct legacy_event *rows = table(&nr);
	nr = min(nr, ARRAY_SIZE(sorted));
	for (size_t i = 0; i < nr; i++)
		sorted[i] = &rows[i];
	if (section != EVENT_SECTION_TOOL)
		qsort(sorted, nr, sizeof(sorted[0]), legacy_cmp);
	int err = 0;
	for (size_t i = 0; i < nr && err >= 0; i++) {
		struct event_entry e = { .section = section,
					 .name = sorted[i]->name,
					 .alias = sorted[i]->alias,
					 .about = sorted[i]->about,
					 .available = true };
		if (!wanted(w, e.name, e.alias))
			continue;
		if (section != EVENT_SECTION_TOOL)
			try(w, type, sorted[i]->config, &e);
		err = w->fn(w->ctx, &e);
	}
	return err;
}

static int name_cmp(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int walk_cache(const struct catalog_walker *w)
{
	char names[64][CACHE_NAME_MAX], name[CACHE_NAME_MAX];
	u64 config;
	size_t nr = 0;
	for (u32 at = 0; nr < ARRAY_SIZE(names) && cache_event_next(&at, name, &config);)
		memcpy(names[nr++], name, sizeof(name));
	qsort(names, nr, sizeof(names[0]), name_cmp);
	int err = 0;
	for (size_t i = 0; i < nr && err >= 0; i++) {
		struct event_entry e = { .section = EVENT_SECTION_CACHE, .name = names[i] };
		if (!wanted(w, names[i], NULL) ||
		    cache_event_parse(names[i], strlen(names[i]), &config) < 0)
			continue;
		try(w, PERF_TYPE_HW_CACHE, config, &e);
		err = w->fn(w->ctx, &e);
	}
	return err;
}

static int walk_pmus(const struct catalog_walker *w)
{
	struct pmu_set *s = &w->env->pmus;
	struct strbuf full;
	strbuf_init(&full);
	int err = 0;
	bool several = false;
	struct pmu *core = pmu_next_core(s, NULL);
	if (core)
		several = pmu_next_core(s, core) != NULL;
	for (size_t i = 0; i < s->pmus.nr && err >= 0; i++) {
		struct pmu *p = &s->pmus.at[i];
		err = pmu_load_aliases(s, p);
		for (size_t k = 0; k < p->aliases.nr && err >= 0; k++) {
			const struct pmu_alias *al = &p->aliases.at[k];
			strbuf_reset(&full);
			strbuf_printf(&full, "%s/%s/", p->name, al->name);
			/* The single core PMU's events have names of their own. */
			bool bare = p->is_core && !several;
			struct event_entry e = {
				.section = EVENT_SECTION_PMU,
				.name = bare ? al->name : strbuf_cstr(&full),
				.alias = bare ? strbuf_cstr(&full) : NULL,
				.terms = al->terms,
				.unit = al->unit,
				.scale = al->scale,
				.pmu = p,
				.available = true,
			};
			err = emit(w, &e);
		}
	}
	strbuf_done(&full);
	return err;
}

static int walk_raw(const struct catalog_walker *w)
{
	static const char *const names[] = { "rNNN", "cpu/t1=v1[,t2=v2,t3 ...]/modifier" };
	struct pmu *core = pmu_next_core(&w->env->pmus, NULL);
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names) && err >= 0; i++) {
		struct event_entry e = {
			.section = EVENT_SECTION_RAW,
			.name = names[i],
			.about = i ? "terms are the files of "
				     "/sys/bus/event_source/devices/cpu/format"
				   : "umask and event number of the vendor's manual: r13c is umask "
				     "01, event 3c",
			.pmu = core,
			.available = core != NULL,
			.why = core ? NULL : "no CPU PMU",
		};
		/* A form, not a name: perf shows it only in the whole list. */
		if (!w->q->glob)
			err = w->fn(w->ctx, &e);
	}
	return err;
}

static int walk_breakpoint(const struct catalog_walker *w)
{
	struct event_entry e = { .section = EVENT_SECTION_BREAKPOINT,
				 .name = "mem:<addr>[/len][:access]",
				 .available = true,
				 .about = "reads (r), writes (w) or execution (x) of an address" };
	return w->q->glob ? 0 : w->fn(w->ctx, &e);
}

static int walk_tracepoints(const struct catalog_walker *w)
{
	struct tracing_events l;
	int err = tracing_list_events(&w->env->tracing, w->q->system_glob, w->q->event_glob, &l);
	if (err == -EACCES || err == -EPERM)
		return emit_missing(w, EVENT_SECTION_TRACEPOINT, "Permission denied");
	if (err == -ENOENT)
		return w->q->system_glob
			       ? 0
			       : emit_missing(w, EVENT_SECTION_TRACEPOINT, "tracefs is not mounted");
	if (err < 0)
		return err == -ENOMEM ? err
				      : emit_missing(w, EVENT_SECTION_TRACEPOINT, strerror(-err));
	struct strbuf full;
	strbuf_init(&full);
	for (size_t i = 0; i < l.items.nr && err >= 0; i++) {
		strbuf_reset(&full);
		strbuf_str(&full, l.items.at[i].system);
		strbuf_char(&full, ':');
		strbuf_str(&full, l.items.at[i].name);
		struct event_entry e = { .section = EVENT_SECTION_TRACEPOINT,
					 .name = strbuf_cstr(&full),
					 .tracepoint = &l.items.at[i],
					 .available = true };
		err = emit(w, &e);
	}
	strbuf_done(&full);
	tracing_events_done(&l);
	return err;
}

/* ---- static probes in perf's build-id cache: DIR/.build-id/xx/yyy.../probes, lines "%sdt_PROVIDER:NAME=..." ---- */

struct sdt_name {
	const char *name; /* "sdt_libc:setjmp" */
	const char *file; /* "/usr/lib/libc.so.6(93ac61ec5a8e)": tells apart those of one name */
};

struct sdt_names {
	struct arena arena;
	VEC(struct sdt_name) items;
};

static int sdt_read(struct sdt_names *n, int dir, const char *file)
{
	int fd = openat(dir, "probes", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "re");
	if (!f) {
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	char line[1024];
	int err = 0;
	while (err == 0 && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "%sdt_", 5))
			continue;
		struct sdt_name *to = vec_push(&n->items);
		if (!to)
			err = -ENOMEM;
		else if (!(to->name = arena_strndup(&n->arena, line + 1,
						    strcspn(line + 1, "=@ \t\n"))) ||
			 !(to->file = arena_strdup(&n->arena, file)))
			err = -ENOMEM;
	}
	(void)fclose(f);
	return err;
}

/*
 * The entry is a link "../../usr/bin/perf/BUILDID": the file's name and twelve digits of the id. False: the file is no
 * longer the one that was recorded.
 */
static bool sdt_file_of(int dir, const char *entry, char *buf, size_t size)
{
	char link[1024], id[BUILDID_TEXT];
	ssize_t n = readlinkat(dir, entry, link, sizeof(link) - 1);
	if (n <= 0)
		return false;
	link[n] = '\0';
	char *start = link, *slash = strrchr(link, '/');
	while (!strncmp(start, "../", 3))
		start += 3;
	if (!slash || slash <= start)
		return false;
	*slash = '\0';
	(void)snprintf(buf, size, "/%s", start);
	struct elfimg e;
	struct buildid have;
	if (elfimg_open(&e, buf, NULL) < 0)
		return false;
	bool same = buildid_of_image(&e, &have) == 0 && buildid_text(&have, id) &&
		    !strcmp(id, slash + 1);
	elfimg_close(&e);
	if (!same)
		return false;
	(void)snprintf(buf, size, "/%s(%.12s)", start, id);
	return true;
}

static int sdt_walk_dir(struct sdt_names *n, int parent, const char *name, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (depth == 2) {
		char file[1100];
		/* Reading the list is cheaper than the file: an empty one needs no look at it. */
		struct stat st;
		int err = 0;
		if (fstatat(fd, "probes", &st, 0) == 0 && st.st_size > 0 &&
		    sdt_file_of(parent, name, file, sizeof(file)))
			err = sdt_read(n, fd, file);
		(void)close(fd);
		return err;
	}
	DIR *d = fdopendir(fd);
	if (!d) {
		(void)close(fd);
		return -ENOMEM;
	}
	int err = 0;
	for (struct dirent *e; err == 0 && (e = readdir(d));)
		if (e->d_name[0] != '.')
			err = sdt_walk_dir(n, dirfd(d), e->d_name, depth + 1);
	(void)closedir(d);
	return err;
}

static int sdt_cmp(const void *a, const void *b)
{
	const struct sdt_name *x = a, *y = b;
	int c = strcmp(x->name, y->name);
	if (c)
		return c;
	/* Of one name by build id, as perf has them. */
	const char *p = strrchr(x->file, '('), *q = strrchr(y->file, '(');
	return p && q ? strcmp(p, q) : strcmp(x->file, y->file);
}

static bool sdt_wanted(const struct catalog_walker *w, const char *name)
{
	const char *colon = strchr(name, ':');
	char system[256];
	if (!colon || (size_t)(colon - name) >= sizeof(system))
		return false;
	memcpy(system, name, (size_t)(colon - name));
	system[colon - name] = '\0';
	return (!w->q->system_glob || glob_match(w->q->system_glob, system)) &&
	       (!w->q->event_glob || glob_match(w->q->event_glob, colon + 1));
}

static int walk_sdt(const struct catalog_walker *w)
{
	if (!w->q->build_id_dir)
		return 0;
	char path[4096];
	if (snprintf(path, sizeof(path), "%s/.build-id", w->q->build_id_dir) >= (int)sizeof(path))
		return 0;
	struct sdt_names n = { 0 };
	arena_init(&n.arena);
	int err = sdt_walk_dir(&n, AT_FDCWD, path, 0);
	if (n.items.nr)
		qsort(n.items.at, n.items.nr, sizeof(*n.items.at), sdt_cmp);
	struct strbuf full;
	strbuf_init(&full);
	for (size_t i = 0; i < n.items.nr && err >= 0; i++) {
		const struct sdt_name *it = &n.items.at[i];
		bool again = i && !strcmp(it->name, it[-1].name),
		     more = i + 1 < n.items.nr && !strcmp(it->name, it[1].name);
		if ((again && !strcmp(it->file, it[-1].file)) || !sdt_wanted(w, it->name))
			continue;
		strbuf_reset(&full);
		strbuf_str(&full, it->name);
		if (again || more)
			strbuf_printf(&full, "@%s", it->file);
		struct event_entry e = { .section = EVENT_SECTION_SDT,
					 .name = strbuf_cstr(&full),
					 .available = true };
		err = emit(w, &e);
	}
	strbuf_done(&full);
	vec_free(&n.items);
	arena_done(&n.arena);
	return err;
}

/* ---- ours ---- */

static int walk_providers(const struct catalog_walker *w)
{
	const struct event_provider *rows = event_providers();
	int err = 0;
	for (size_t i = 0; i < EVENT_KIND_NR && err >= 0; i++) {
		if (!rows[i].prefix || i == EVENT_KIND_BREAKPOINT)
			continue;
		struct event_entry e = { .section = EVENT_SECTION_PROVIDER,
					 .name = rows[i].form,
					 .about = rows[i].about,
					 .available = true };
		bool kprobe = i == EVENT_KIND_KPROBE || i == EVENT_KIND_KRETPROBE;
		bool uprobe =
			i == EVENT_KIND_UPROBE || i == EVENT_KIND_URETPROBE || i == EVENT_KIND_USDT;
		if (kprobe && !pmu_find(&w->env->pmus, "kprobe", 6))
			e.why = "this kernel has no kprobes";
		if (uprobe && !pmu_find(&w->env->pmus, "uprobe", 6))
			e.why = "this kernel has no uprobes";
		e.available = !e.why;
		err = emit(w, &e);
	}
	return err;
}

/* Words of a file of tracefs, one entry each. */
static int walk_words(const struct catalog_walker *w, enum event_section section, const char *file,
		      const char *stop)
{
	struct strbuf s;
	strbuf_init(&s);
	int err = tracing_read(&w->env->tracing, file, &s);
	if (err < 0) {
		strbuf_done(&s);
		return err == -ENOMEM ? err
				      : emit_missing(w, section,
						     err == -ENOENT ? "not in this kernel"
								    : strerror(-err));
	}
	if (!strbuf_cstr(&s)[0] || s.err) {
		strbuf_done(&s);
		return 0;
	}
	char *at = s.data;
	while (*at && err >= 0) {
		size_t len = strcspn(at, stop);
		bool last = !at[len];
		at[len] = '\0';
		if (len) {
			struct event_entry e = { .section = section, .name = at, .available = true };
			err = emit(w, &e);
		}
		at += len + !last;
	}
	strbuf_done(&s);
	return err;
}

static int walk_metrics(const struct catalog_walker *w)
{
	size_t nr;
	const struct metric *rows = metric_builtin(&nr);
	int err = 0;
	for (size_t i = 0; w->q->metrics && i < w->q->metrics->items.nr && err >= 0; i++) {
		const struct metric *m = &w->q->metrics->items.at[i];
		struct event_entry e = { .section = EVENT_SECTION_METRIC,
					 .name = m->name,
					 .about = m->about,
					 .metric = m,
					 .available = true };
		err = emit(w, &e);
	}
	for (size_t i = 0; i < nr && err >= 0; i++) {
		if (i && !strcmp(rows[i].name, rows[i - 1].name))
			continue;
		struct event_entry e = { .section = EVENT_SECTION_METRIC,
					 .name = rows[i].name,
					 .about = rows[i].about,
					 .metric = &rows[i],
					 .available = true };
		err = emit(w, &e);
	}
	return err;
}

static int vendor_entry(void *ctx, const struct vendor_event *v)
{
	const struct catalog_walker *w = ctx;
	char full[512];
	(void)snprintf(full, sizeof(full), "%s::%s", v->pmu, v->name);
	struct event_entry e = { .section = EVENT_SECTION_VENDOR,
				 .name = full,
				 .alias = v->name,
				 .about = v->about,
				 .vendor = v,
				 .available = v->active,
				 .why = v->active ? NULL : "another CPU's" };
	return emit(w, &e);
}

static int walk_vendor(const struct catalog_walker *w)
{
	int err = vendor_each(w->q->all_vendors, vendor_entry, (void *)w);
	return err == -EOPNOTSUPP ? emit_missing(w, EVENT_SECTION_VENDOR, "built without libpfm4")
				  : err;
}

static int walk_hardware(const struct catalog_walker *w)
{
	return walk_legacy(w, EVENT_SECTION_HARDWARE, legacy_hardware, PERF_TYPE_HARDWARE);
}

static int walk_software(const struct catalog_walker *w)
{
	return walk_legacy(w, EVENT_SECTION_SOFTWARE, legacy_software, PERF_TYPE_SOFTWARE);
}

static int walk_tool(const struct catalog_walker *w)
{
	return walk_legacy(w, EVENT_SECTION_TOOL, legacy_tool, 0);
}

static int walk_tracers(const struct catalog_walker *w)
{
	return walk_words(w, EVENT_SECTION_TRACER, "available_tracers", " \n");
}

static int walk_functions(const struct catalog_walker *w)
{
	return walk_words(w, EVENT_SECTION_FUNCTION, "available_filter_functions", "\n");
}

static const struct {
	enum event_section section;
	const char *word;
	int (*walk)(const struct catalog_walker *w);
} sections[] = {
	{ EVENT_SECTION_HARDWARE, "Hardware event", walk_hardware },
	{ EVENT_SECTION_SOFTWARE, "Software event", walk_software },
	{ EVENT_SECTION_TOOL, "Tool event", walk_tool },
	{ EVENT_SECTION_CACHE, "Hardware cache event", walk_cache },
	{ EVENT_SECTION_PMU, "Kernel PMU event", walk_pmus },
	{ EVENT_SECTION_RAW, "Raw hardware event descriptor", walk_raw },
	{ EVENT_SECTION_BREAKPOINT, "Hardware breakpoint", walk_breakpoint },
	{ EVENT_SECTION_TRACEPOINT, "Tracepoint event", walk_tracepoints },
	{ EVENT_SECTION_SDT, "SDT event", walk_sdt },
	{ EVENT_SECTION_PROVIDER, "Probe", walk_providers },
	{ EVENT_SECTION_TRACER, "Tracer", walk_tracers },
	{ EVENT_SECTION_METRIC, "Metric", walk_metrics },
	{ EVENT_SECTION_VENDOR, "Vendor event", walk_vendor },
	{ EVENT_SECTION_FUNCTION, "Kernel function", walk_functions },
};

int event_catalog(struct event_env *env, const struct event_query *q,
		  int (*fn)(void *, const struct event_entry *), void *ctx)
{
	struct catalog_walker w = { .env = env, .q = q, .fn = fn, .ctx = ctx };
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sections) && err >= 0; i++)
		if (q->sections & sections[i].section)
			err = sections[i].walk(&w);
	return min(err, 0);
}

const char *event_section_word(enum event_section s)
{
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (sections[i].section == s)
			return sections[i].word;
	return "Event";
}
