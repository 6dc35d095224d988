#include "bpf/list.h"

#include "base/glob.h"
#include "base/str.h"
#include "bpf/list_types.h"
#include "bpf/points.h"
#include "event/probe_elf.h"
#include "kern/tracefs.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

struct lister {
	const struct list_query *q;
	int (*fn)(void *ctx, const char *text, const char *fields);
	void *ctx;
	const struct sysroot *root;
	struct tracing tracing;
	struct list_types types;
	struct diag *diag;
	const char *prefix; /* of what is being walked: "uprobe:/bin/bash:" */
};

static bool matches(const struct lister *l, const char *text)
{
	return !l->q->pattern || glob_match(l->q->pattern, text);
}

/* Whether anything that begins so may match: the pattern's own beginning decides, up to its first wildcard or its colon. */
static bool may_match(const struct lister *l, const char *kind)
{
	const char *p = l->q->pattern;
	if (!p)
		return true;
	size_t len = strcspn(p, ":*?[");
	if (p[len] == ':')
		return strlen(kind) == len && !strncmp(p, kind, len);
	return !strncmp(p, kind, min(len, strlen(kind)));
}

static int tell(struct lister *l, const char *text, const char *fields)
{
	return matches(l, text) ? l->fn(l->ctx, text, fields) : 0;
}

/* "field:unsigned int fd;\toffset:16;..." of a format becomes "    unsigned int fd". */
static void add_fields(struct lister *l, const char *system, const char *name, struct strbuf *to)
{
	char path[256];
	struct strbuf text;
	strbuf_init(&text);
	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	if (!tracing_read(&l->tracing, path, &text)) {
		const char *p = strbuf_cstr(&text);
		while ((p = strstr(p, "\tfield:"))) {
			p += strlen("\tfield:");
			size_t len = strcspn(p, ";");
			if (strncmp(p, "unsigned short common_", 22) &&
			    strncmp(p, "unsigned char common_", 21) && strncmp(p, "int common_", 11))
				strbuf_printf(to, "    %.*s\n", (int)len, p);
			p += len;
		}
	}
	strbuf_done(&text);
}

static int list_tracepoints(struct lister *l, bool raw)
{
	const char *kind = raw ? "rawtracepoint" : "tracepoint";
	struct tracing_events list;
	if (!may_match(l, kind))
		return 0;
	int rc = l->tracing.err ? tracing_explain(&l->tracing, l->diag)
				: tracing_list_events(&l->tracing, NULL, NULL, &list);
	if (rc)
		return rc;
	struct strbuf text, fields;
	strbuf_init(&text);
	strbuf_init(&fields);
	vec_for_each (&list.items, e) {
		if (raw && !strcmp(e->system, "syscalls"))
			continue;
		strbuf_reset(&text);
		strbuf_reset(&fields);
		if (raw)
			strbuf_printf(&text, "%s:%s", kind, e->name);
		else
			strbuf_printf(&text, "%s:%s:%s", kind, e->system, e->name);
		if (!raw && l->q->fields && matches(l, strbuf_cstr(&text)))
			add_fields(l, e->system, e->name, &fields);
		rc = tell(l, strbuf_cstr(&text), l->q->fields ? strbuf_cstr(&fields) : NULL);
		if (rc)
			break;
	}
	strbuf_done(&text);
	strbuf_done(&fields);
	tracing_events_done(&list);
	return rc;
}

/* "ext4_sync_fs [ext4]" becomes "kprobe:ext4_sync_fs". */
static int list_functions(struct lister *l, const char *kind, bool with_module)
{
	if (!may_match(l, kind) || l->tracing.err)
		return 0;
	struct strbuf list, text, fields;
	strbuf_init(&list);
	strbuf_init(&text);
	strbuf_init(&fields);
	bool typed = with_module && l->q->fields && list_types_read(&l->types, l->root);
	int rc = tracing_read(&l->tracing, "available_filter_functions", &list);
	for (const char *p = rc ? "" : strbuf_cstr(&list); *p && !rc;) {
		size_t line = strcspn(p, "\n"), len = strcspn(p, " \n");
		const char *module = memchr(p, '[', line);
		strbuf_reset(&text);
		strbuf_printf(&text, "%s:", kind);
		if (with_module && module)
			strbuf_printf(&text, "%.*s:", (int)strcspn(module + 1, "]"), module + 1);
		else if (with_module)
			strbuf_str(&text, "vmlinux:");
		strbuf_reset(&fields);
		size_t before = text.len;
		strbuf_add(&text, p, len);
		if (typed && matches(l, strbuf_cstr(&text)))
			list_types_function(&l->types, strbuf_cstr(&text) + before, &fields);
		rc = tell(l, strbuf_cstr(&text), typed ? strbuf_cstr(&fields) : NULL);
		p += line + (p[line] == '\n');
	}
	strbuf_done(&list);
	strbuf_done(&text);
	strbuf_done(&fields);
	/* Where functions cannot be traced (no ftrace, lockdown) there are none. */
	return rc == -ENOENT || rc == -EPERM || rc == -EACCES ? 0 : rc;
}

static int list_words(struct lister *l, const char *const *words, size_t nr)
{
	int rc = 0;
	for (size_t i = 0; i < nr && !rc; i++)
		rc = tell(l, words[i], NULL);
	return rc;
}

static int on_function(void *ctx, const char *name, u64 offset)
{
	struct lister *l = ctx;
	char text[PATH_MAX + 512];
	(void)offset;
	snprintf(text, sizeof(text), "%s%s", l->prefix, name);
	return tell(l, text, NULL);
}

static int on_usdt(void *ctx, const char *provider, const char *name, u64 offset, u64 semaphore)
{
	struct lister *l = ctx;
	char text[PATH_MAX + 512];
	(void)offset, (void)semaphore;
	snprintf(text, sizeof(text), "%s%s:%s", l->prefix, provider, name);
	return tell(l, text, NULL);
}

/* Only where the pattern names a file. */
static int list_file(struct lister *l, const char *kind)
{
	const char *p = l->q->pattern;
	size_t len = strlen(kind);
	if (!p || strncmp(p, kind, len) || p[len] != ':' || p[len + 1] != '/')
		return 0;
	const char *path = p + len + 1, *end = strchr(path, ':');
	char file[PATH_MAX], prefix[PATH_MAX + 32];
	size_t n = end ? (size_t)(end - path) : strlen(path);
	if (n >= sizeof(file))
		return -ENAMETOOLONG;
	memcpy(file, path, n);
	file[n] = 0;
	snprintf(prefix, sizeof(prefix), "%s:%s:", kind, file);
	l->prefix = prefix;
	int rc = strcmp(kind, "usdt") ? probe_elf_each_function(file, on_function, l)
				      : probe_elf_each_usdt(file, on_usdt, l);
	if (rc < 0 && rc != -EPIPE)
		diag_error(l->diag, rc, "cannot read %s: %s", file,
			   rc == -ENOEXEC ? "not an ELF file" : strerror(-rc));
	return rc;
}

static const char *const hardware[] = {
	"hardware:backend-stalls:", "hardware:branch-instructions:", "hardware:branch-misses:",
	"hardware:bus-cycles:",	    "hardware:cache-misses:",	     "hardware:cache-references:",
	"hardware:cpu-cycles:",	    "hardware:frontend-stalls:",     "hardware:instructions:",
	"hardware:ref-cycles:",
};
static const char *const clocks[] = { "interval:hz:", "interval:ms:", "interval:s:",
				      "interval:us:", "iter:task",    "iter:task_file",
				      "iter:task_vma" };
static const char *const software[] = {
	"profile:hz:",
	"profile:ms:",
	"profile:s:",
	"profile:us:",
	"self:signal:SIGUSR1",
	"self:signal:SIGUSR2",
	"software:alignment-faults:",
	"software:bpf-output:",
	"software:context-switches:",
	"software:cpu-clock:",
	"software:cpu-migrations:",
	"software:dummy:",
	"software:emulation-faults:",
	"software:major-faults:",
	"software:minor-faults:",
	"software:page-faults:",
	"software:task-clock:",
};

static int list_all(struct lister *l)
{
	int rc = list_words(l, (const char *const[]){ "begin", "end" }, 2);
	if (!rc)
		rc = list_functions(l, "fentry", true);
	if (!rc)
		rc = list_words(l, hardware, ARRAY_SIZE(hardware));
	if (!rc)
		rc = list_words(l, clocks, ARRAY_SIZE(clocks));
	if (!rc)
		rc = list_functions(l, "kprobe", false);
	if (!rc)
		rc = list_tracepoints(l, true);
	if (!rc)
		rc = list_words(l, software, ARRAY_SIZE(software));
	if (!rc)
		rc = list_tracepoints(l, false);
	if (!rc)
		rc = list_file(l, "uprobe");
	return rc ? rc : list_file(l, "usdt");
}

int list_probes(const struct sysroot *root, const struct list_query *q,
		int (*fn)(void *ctx, const char *text, const char *fields), void *ctx,
		struct diag *d)
{
	struct lister l = { .q = q, .fn = fn, .ctx = ctx, .root = root, .diag = d };
	int rc;
	if (list_types_wanted(q->pattern)) {
		rc = list_types_read(&l.types, root)
			     ? list_types_each(&l.types, q->pattern, q->fields, fn, ctx)
			     : diag_error(d, -ENOENT, "the kernel does not tell its types (no BTF)");
		list_types_done(&l.types);
		return rc;
	}
	rc = tracing_open(&l.tracing, "");
	if (!rc)
		rc = list_all(&l);
	tracing_close(&l.tracing);
	list_types_done(&l.types);
	return rc;
}
