#include "bpf/points.h"

#include "base/glob.h"
#include "base/str.h"
#include "bpf/load.h"
#include "bpf/points_impl.h"
#include "event/probe_kernel.h"
#include "kern/kallsyms.h"

#include <errno.h>

struct point *points_add(struct points *p, u32 probe, const char *fmt, ...)
{
	struct point *pt = vec_push(&p->at);
	if (!pt)
		return NULL;
	pt->probe = probe;
	pt->syscall = -1;
	struct strbuf text;
	strbuf_init(&text);
	va_list ap;
	va_start(ap, fmt);
	strbuf_vprintf(&text, fmt, ap);
	va_end(ap);
	pt->text = arena_strdup(&p->arena, strbuf_cstr(&text));
	strbuf_done(&text);
	return pt->text ? pt : NULL;
}

int points_missing(struct points *p, const struct program_probe *probe, const char *why,
		   struct diag *d)
{
	switch (p->program->config.missing_probes) {
	case 0: diag_error(d, -ENOENT, "cannot attach to %s: %s", probe->text, why); break;
	case 1: diag_warn(d, "cannot attach to %s: %s", probe->text, why); break;
	default: return 0;
	}
	script_span(d, p->opts.script, probe->span_start, probe->span_len);
	return p->program->config.missing_probes ? 0 : -ENOENT;
}

/* "syscalls", "sys_enter_openat" */
static int add_tracepoint(struct points *p, u32 i, const char *system, const char *name)
{
	struct point *pt = points_add(p, i, "tracepoint:%s:%s", system, name);
	if (!pt)
		return -ENOMEM;
	pt->symbol = arena_strdup(&p->arena, name);
	if (!pt->symbol)
		return -ENOMEM;
	if (!strcmp(system, "syscalls") && str_starts(name, "sys_enter_"))
		pt->syscall = points_syscall(name + strlen("sys_enter_"));
	else if (!strcmp(system, "syscalls") && str_starts(name, "sys_exit_"))
		pt->syscall = points_syscall(name + strlen("sys_exit_"));
	return tracing_event_id(&p->tracing, system, name, &pt->id);
}

static int expand_tracepoint(struct points *p, u32 i, struct diag *d)
{
	const struct program_probe *probe = &p->program->probes.at[i];
	if (p->tracing.err)
		return tracing_explain(&p->tracing, d);
	if (!probe->is_glob) {
		int rc = add_tracepoint(p, i, probe->target, probe->name);
		if (rc != -ENOENT)
			return rc;
		p->at.nr--;
		rc = points_missing(p, probe, "no such tracepoint", d);
		if (rc)
			diag_hint(d, "'sonde run -l \"tracepoint:%s:*\"' lists those that are there",
				  probe->target);
		return rc;
	}
	struct tracing_events list;
	int rc = tracing_list_events(&p->tracing, probe->target, probe->name, &list);
	if (rc)
		return rc;
	size_t before = p->at.nr;
	vec_for_each (&list.items, e) {
		rc = add_tracepoint(p, i, e->system, e->name);
		/* Listed, but without a number: it cannot be attached to. */
		if (rc == -ENOENT || rc == -ENODEV) {
			p->at.nr--;
			rc = 0;
		}
		if (rc)
			break;
	}
	tracing_events_done(&list);
	if (!rc && p->at.nr == before)
		rc = points_missing(p, probe, "no tracepoint matches", d);
	return rc;
}

static int expand_raw_tracepoint(struct points *p, u32 i, struct diag *d)
{
	const struct program_probe *probe = &p->program->probes.at[i];
	if (!probe->is_glob) {
		struct point *pt = points_add(p, i, "rawtracepoint:%s", probe->name);
		if (pt)
			pt->symbol = probe->name;
		return pt ? 0 : -ENOMEM;
	}
	struct tracing_events list;
	int rc = p->tracing.err ? p->tracing.err
				: tracing_list_events(&p->tracing, NULL, probe->name, &list);
	if (rc)
		return rc;
	size_t before = p->at.nr;
	vec_for_each (&list.items, e) {
		/* Those of system calls are no tracepoints of their own, nor are probes that somebody defined. */
		if (!strcmp(e->system, "syscalls") || !strcmp(e->system, "kprobes") ||
		    !strcmp(e->system, "uprobes") || !strcmp(e->system, "ftrace"))
			continue;
		struct point *pt = points_add(p, i, "rawtracepoint:%s", e->name);
		if (pt)
			pt->symbol = arena_strdup(&p->arena, e->name);
		if (!pt || !pt->symbol) {
			rc = -ENOMEM;
			break;
		}
	}
	tracing_events_done(&list);
	if (!rc && p->at.nr == before)
		rc = points_missing(p, probe, "no tracepoint matches", d);
	return rc;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int split_functions(struct points *p)
{
	for (char *line = p->functions; line && *line;) {
		char *eol = strchr(line, '\n');
		if (eol)
			*eol = 0;
		const char **name = vec_push(&p->function_names);
		if (!name)
			return -ENOMEM;
		*name = line;
		line = eol ? eol + 1 : NULL;
	}
	if (p->function_names.nr)
		qsort(p->function_names.at, p->function_names.nr, sizeof(char *), compare_names);
	return 0;
}

/* Where ftrace does not tell (it is not built in, or locked down): all functions that the kernel names. */
static int list_symbols(struct strbuf *to)
{
	struct kallsyms_text t;
	int rc = kallsyms_read("", NULL, &t);
	if (rc)
		return rc;
	for (const char *p = t.data, *end = t.data + t.len, *eol; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			break;
		const char *kind = memchr(p, ' ', (size_t)(eol - p));
		if (!kind || eol - kind < 4 || !strchr("tTwW", kind[1]))
			continue;
		const char *name = kind + 3, *tab = memchr(name, '\t', (size_t)(eol - name));
		strbuf_add(to, name, (size_t)((tab ? tab : eol) - name));
		if (tab) {
			strbuf_char(to, ' ');
			strbuf_add(to, tab + 1, (size_t)(eol - tab - 1));
		}
		strbuf_char(to, '\n');
	}
	kallsyms_text_done(&t);
	return to->err;
}

/* "vfs_read", and "ext4_sync_fs [ext4]" of modules: what ftrace can trace can be probed. */
int points_functions(struct points *p, struct diag *d)
{
	if (p->functions_read)
		return p->function_names.nr ? 0 : -ENOENT;
	p->functions_read = true;
	struct strbuf text;
	strbuf_init(&text);
	int rc = p->tracing.err ? p->tracing.err
				: tracing_read(&p->tracing, "available_filter_functions", &text);
	if (rc) {
		strbuf_reset(&text);
		rc = list_symbols(&text);
	}
	if (!rc)
		p->functions = strbuf_steal(&text);
	strbuf_done(&text);
	if (!rc)
		rc = split_functions(p);
	if (rc)
		diag_error(d, rc, "cannot read the list of functions that can be probed: %s",
			   strerror(-rc));
	return rc ? rc : p->function_names.nr ? 0 : -ENOENT;
}

struct function_name {
	char name[256];
	char module[64]; /* "": the kernel's own */
};

static bool split_function(const char *line, struct function_name *f)
{
	size_t len = strcspn(line, " ");
	if (len >= sizeof(f->name))
		return false;
	memcpy(f->name, line, len);
	f->name[len] = 0;
	f->module[0] = 0;
	const char *bracket = strchr(line + len, '[');
	if (bracket) {
		size_t n = strcspn(bracket + 1, "]");
		if (n >= sizeof(f->module))
			return false;
		memcpy(f->module, bracket + 1, n);
		f->module[n] = 0;
	}
	return true;
}

static const char *word_of(enum program_provider provider)
{
	switch (provider) {
	case PROGRAM_KPROBE: return "kprobe";
	case PROGRAM_KRETPROBE: return "kretprobe";
	case PROGRAM_FENTRY: return "fentry";
	case PROGRAM_FEXIT: return "fexit";
	case PROGRAM_UPROBE: return "uprobe";
	case PROGRAM_URETPROBE: return "uretprobe";
	default: return "usdt";
	}
}

const char *points_word(enum program_provider provider)
{
	return word_of(provider);
}

static int add_function(struct points *p, u32 i, const char *module, const char *name)
{
	const struct program_probe *probe = &p->program->probes.at[i];
	bool typed = probe->provider == PROGRAM_FENTRY || probe->provider == PROGRAM_FEXIT;
	const char *shown = module && *module ? module : typed ? "vmlinux" : NULL;
	struct point *pt = points_add(p, i, "%s:%s%s%s", word_of(probe->provider),
				      shown ? shown : "", shown ? ":" : "", name);
	if (!pt)
		return -ENOMEM;
	pt->symbol = arena_strdup(&p->arena, name);
	pt->module = module && *module && strcmp(module, "vmlinux") ? arena_strdup(&p->arena, module)
								    : NULL;
	pt->offset = probe->offset;
	return pt->symbol ? 0 : -ENOMEM;
}

static int expand_functions(struct points *p, u32 i, struct diag *d)
{
	const struct program_probe *probe = &p->program->probes.at[i];
	int rc = points_functions(p, d);
	if (rc)
		return rc;
	size_t before = p->at.nr;
	const char *last = "";
	vec_for_each (&p->function_names, line) {
		struct function_name f;
		if (!strcmp(*line, last) || !split_function(*line, &f) ||
		    !glob_match(probe->name, f.name))
			continue;
		if (probe->target && !glob_match(probe->target, *f.module ? f.module : "vmlinux"))
			continue;
		last = *line;
		rc = add_function(p, i, f.module, f.name);
		if (rc)
			return rc;
	}
	return p->at.nr == before ? points_missing(p, probe, "no function matches", d) : 0;
}

struct line_walk {
	struct points *p;
	u32 probe;
	const char *path;
};

static int add_line_place(void *ctx, const struct points_place *at)
{
	struct line_walk *w = ctx;
	struct arena *a = &w->p->arena;
	const struct program_probe *probe = &w->p->program->probes.at[w->probe];
	struct point *pt = points_add(w->p, w->probe, "%s", probe->text);
	if (!pt)
		return -ENOMEM;
	pt->path = w->path;
	pt->symbol = at->symbol ? arena_strdup(a, at->symbol) : NULL;
	pt->module = at->module ? arena_strdup(a, at->module) : NULL;
	pt->offset = at->offset;
	return (at->symbol && !pt->symbol) || (at->module && !pt->module) ? -ENOMEM : 0;
}

int points_expand_line(struct points *p, u32 i, const char *path, struct diag *d)
{
	const struct program_probe *probe = &p->program->probes.at[i];
	struct line_walk w = { .p = p, .probe = i, .path = path };
	struct diag why;
	diag_init(&why);
	why.options = d ? d->options : NULL;
	int rc = p->opts.lines ? p->opts.lines(probe, path, add_line_place, &w, &why) : -ENOTSUP;
	if (rc && rc != -ENOMEM && p->program->config.missing_probes) {
		const char *text = why.items.nr ? why.items.at[0].message : strerror(-rc);
		rc = points_missing(p, probe, text, d);
	} else if (rc) {
		diag_join(d, &why);
		script_span(d, p->opts.script, probe->span_start, probe->span_len);
	}
	diag_done(&why);
	return rc;
}

static int expand_address(struct points *p, u32 i)
{
	const struct program_probe *probe = &p->program->probes.at[i];
	struct point *pt = points_add(p, i, "%s", probe->text);
	if (pt)
		pt->offset = probe->number;
	return pt ? 0 : -ENOMEM;
}

static int expand_function(struct points *p, u32 i, struct diag *d)
{
	const struct program_probe *probe = &p->program->probes.at[i];
	if (probe->file)
		return points_expand_line(p, i, NULL, d);
	if (probe->provider == PROGRAM_KPROBE && !probe->name)
		return expand_address(p, i);
	if (probe->is_glob)
		return expand_functions(p, i, d);
	struct probe_kernel look;
	probe_kernel_look("", probe->target, probe->name, &look);
	if (!look.unknown && !look.there) {
		int rc = points_missing(p, probe, "no such function in the kernel", d);
		if (rc && look.close[0])
			diag_hint(d, "did you mean '%s'?", look.close);
		return rc;
	}
	return add_function(p, i, probe->target, probe->name);
}

static int expand_plain(struct points *p, u32 i)
{
	const struct program_probe *probe = &p->program->probes.at[i];
	struct point *pt = points_add(p, i, "%s", probe->text);
	return pt ? 0 : -ENOMEM;
}

static int expand(struct points *p, u32 i, struct diag *d)
{
	const struct program_probe *probe = &p->program->probes.at[i];
	switch (probe->provider) {
	case PROGRAM_TRACEPOINT: return expand_tracepoint(p, i, d);
	case PROGRAM_RAW_TRACEPOINT: return expand_raw_tracepoint(p, i, d);
	case PROGRAM_KPROBE:
	case PROGRAM_KRETPROBE:
	case PROGRAM_FENTRY:
	case PROGRAM_FEXIT: return expand_function(p, i, d);
	case PROGRAM_UPROBE:
	case PROGRAM_URETPROBE:
	case PROGRAM_USDT: return points_expand_user(p, i, d);
	default: return expand_plain(p, i);
	}
}

static int check_number(const struct points *p, struct diag *d)
{
	if (p->at.nr <= p->max_probes)
		return 0;
	diag_error(d, -E2BIG, "%zu places to attach to, which is more than the limit of %u",
		   p->at.nr, p->max_probes);
	diag_hint(d, "name fewer, or raise the limit: config = { max_probes = %zu }", p->at.nr);
	return -E2BIG;
}

int points_open(struct points *p, const struct program *program, const struct sysroot *root,
		const struct points_opts *o, struct diag *d)
{
	enum { MAX_PROBES = 1024 };
	*p = (struct points){ .program = program, .root = root, .opts = *o };
	p->max_probes = program->config.max_probes ? program->config.max_probes : MAX_PROBES;
	arena_init(&p->arena);
	int rc = tracing_open(&p->tracing, "");
	for (u32 i = 0; i < program->probes.nr && !rc; i++)
		rc = expand(p, i, d);
	if (!rc)
		rc = check_number(p, d);
	if (rc)
		points_close(p);
	return rc;
}

u32 points_syscall_base(const struct points *p, bool exits)
{
	return (u32)p->at.nr + (exits ? POINTS_SYSCALLS : 0);
}

const char *const *points_places(struct points *p, u32 *nr)
{
	*nr = points_syscall_base(p, true) + POINTS_SYSCALLS;
	free(p->places);
	p->places = calloc(*nr, sizeof(*p->places));
	if (!p->places)
		return NULL;
	for (u32 i = 0; i < *nr; i++)
		p->places[i] = "";
	for (u32 i = 0; i < p->at.nr; i++) {
		const struct point *pt = &p->at.at[i];
		p->places[i] = pt->text;
		if (pt->syscall < 0 || pt->syscall >= POINTS_SYSCALLS)
			continue;
		bool exits = str_starts(pt->symbol, "sys_exit_");
		p->places[points_syscall_base(p, exits) + (u32)pt->syscall] = pt->text;
	}
	return p->places;
}

void points_close(struct points *p)
{
	free(p->places);
	tracing_close(&p->tracing);
	vec_free(&p->at);
	vec_free(&p->function_names);
	free(p->functions);
	arena_done(&p->arena);
}
