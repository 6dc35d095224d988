/* Places in programs and libraries: functions by name, offset or wildcard, and static probes. */
#include "base/glob.h"
#include "base/str.h"
#include "bpf/load.h"
#include "bpf/points_impl.h"
#include "event/probe_elf.h"
#include "image/usdt_notes.h"
#include "kern/program_path.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static bool find_in_path(const char *name, char *to, size_t size)
{
	const char *path = getenv("PATH");
	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t len = strcspn(p, ":");
		if (len && !str_path(to, size, "%.*s/%s", (int)len, p, name) && !access(to, X_OK))
			return true;
		p += len + (p[len] == ':');
	}
	return false;
}

/* libc.so may be a text for the linker. */
static bool is_elf(const char *path)
{
	char magic[4] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool ok = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		  !memcmp(magic, "\177ELF", sizeof(magic));
	if (fd >= 0)
		close(fd);
	return ok;
}

/* "c", "libc", "libc.so.6": where the loader would look. */
static bool find_library(const char *name, char *to, size_t size)
{
	static const char *const dirs[] = {
		"/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*", "/lib64", "/usr/lib64", "/lib",
		"/usr/lib"
	};
	bool whole = strstr(name, ".so") != NULL;
	bool prefixed = str_starts(name, "lib");
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		char pattern[PATH_MAX];
		glob_t found;
		if (str_path(pattern, sizeof(pattern), "%s/%s%s%s", dirs[i], prefixed ? "" : "lib",
			     name, whole ? "" : ".so*"))
			continue;
		bool ok = false;
		if (!glob(pattern, 0, NULL, &found))
			for (size_t k = 0; k < found.gl_pathc && !ok; k++)
				ok = is_elf(found.gl_pathv[k]) &&
				     !str_path(to, size, "%s", found.gl_pathv[k]);
		globfree(&found);
		if (ok)
			return true;
	}
	return false;
}

/* A path means what it means to the process that is looked at, which may be in a container. */
static const char *path_of_process(struct arena *a, const char *path, s32 pid)
{
	char there[PATH_MAX];
	if (!pid || path[0] != '/' || str_starts(path, "/proc/") ||
	    str_path(there, sizeof(there), "/proc/%d/root%s", pid, path) || access(there, F_OK))
		return path;
	return arena_strdup(a, there);
}

const char *points_find_file(struct arena *a, const char *name, s32 pid)
{
	char path[PATH_MAX];
	if (pid && !strcmp(name, "*") && !str_path(path, sizeof(path), "/proc/%d/exe", pid))
		return arena_strdup(a, path);
	if (strchr(name, '/'))
		return path_of_process(a, name, pid);
	struct strbuf mapped;
	strbuf_init(&mapped);
	bool found = (pid && program_path_mapped(name, pid, "", &mapped) &&
		      !str_path(path, sizeof(path), "%s", strbuf_cstr(&mapped))) ||
		     find_in_path(name, path, sizeof(path)) ||
		     find_library(name, path, sizeof(path));
	strbuf_done(&mapped);
	return found ? arena_strdup(a, path) : NULL;
}

struct walk {
	struct points *p;
	u32 probe;
	const struct program_probe *row;
	const char *path;
	const char *exact; /* a name without wildcards; NULL: row->name is a pattern */
	size_t before;
};

static int add_place(struct walk *w, const char *name, u64 offset, u64 ref_ctr)
{
	/* The table of the linker repeats what the full one has. */
	for (size_t i = w->before; i < w->p->at.nr; i++)
		if (w->p->at.at[i].offset == offset)
			return 0;
	struct point *pt = points_add(w->p, w->probe, "%s:%s:%s", points_word(w->row->provider),
				      w->path, name);
	if (!pt)
		return -ENOMEM;
	pt->path = w->path;
	pt->symbol = arena_strdup(&w->p->arena, name);
	pt->offset = offset;
	pt->ref_ctr = ref_ctr;
	return pt->symbol ? 0 : -ENOMEM;
}

static int offer_function(void *ctx, const char *name, u64 offset)
{
	struct walk *w = ctx;
	return glob_match(w->row->name, name) ? add_place(w, name, offset, 0) : 0;
}

bool points_is_site(const struct program_probe *probe, const struct usdt_note *n)
{
	return glob_match(probe->name, n->name) &&
	       (!probe->space || glob_match(probe->space, n->provider)) &&
	       (!probe->arguments || !strcmp(probe->arguments, n->args));
}

static int offer_usdt(void *ctx, const struct usdt_note *n)
{
	struct walk *w = ctx;
	if (!points_is_site(w->row, n))
		return 0;
	struct strbuf full;
	strbuf_init(&full);
	strbuf_printf(&full, "%s:%s", n->provider, n->name);
	int rc = add_place(w, strbuf_cstr(&full), n->offset, n->semaphore);
	strbuf_done(&full);
	return rc;
}

static int compare_points(const void *a, const void *b)
{
	return strcmp(((const struct point *)a)->text, ((const struct point *)b)->text);
}

static int explain_file(struct points *p, const struct program_probe *probe, const char *path,
			int err, struct diag *d)
{
	char why[PATH_MAX + 64];
	snprintf(why, sizeof(why), "cannot read %s: %s", path,
		 err == -ENOEXEC ? "not an ELF file" : strerror(-err));
	return points_missing(p, probe, why, d);
}

/* The kernel accepts it all the same, and the program does something else from then on. */
static int check_inside(const struct points *p, const struct program_probe *row, const char *path,
			u64 offset, struct diag *d)
{
	struct probe_elf_spot at;
	int inside = probe_elf_is_inside(path, offset, &at);
	if (inside <= 0)
		return inside;
	int err = diag_error(d, -EILSEQ,
			     "cannot attach to %s: %s+%llu is in the middle of an instruction",
			     row->text, at.function, (unsigned long long)at.offset);
	script_span(d, p->opts.script, row->span_start, row->span_len);
	diag_hint(d, "instructions begin at +%llu and +%llu", (unsigned long long)at.before,
		  (unsigned long long)at.after);
	return err;
}

static int refuse_return(const struct points *p, const struct program_probe *row, struct diag *d)
{
	int err = diag_error(d, -EPERM,
			     "cannot attach to %s: return probes can crash a Go program, which "
			     "moves its stacks",
			     row->text);
	script_span(d, p->opts.script, row->span_start, row->span_len);
	diag_hint(
		d,
		"probe the entry, or the instructions where it returns: sonde probe %s lists them",
		diag_option(d, DIAG_OPT_OFFSETS));
	return err;
}

static int expand_symbol(struct points *p, struct walk *w, struct diag *d)
{
	u64 offset;
	int rc = probe_elf_symbol(w->path, w->row->name, &offset);
	if (!rc && w->row->offset)
		rc = check_inside(p, w->row, w->path, offset + w->row->offset, d);
	else if (rc && (rc != -ENOENT || access(w->path, F_OK)))
		return explain_file(p, w->row, w->path, rc, d);
	if (rc != -ENOENT)
		return rc ? rc : add_place(w, w->row->name, offset + w->row->offset, 0);
	char close[256];
	rc = points_missing(p, w->row, "no such function in the file", d);
	if (rc && probe_elf_close(w->path, w->row->name, close, sizeof(close)))
		diag_hint(d, "did you mean '%s'?", close);
	return rc;
}

int points_expand_user(struct points *p, u32 i, struct diag *d)
{
	const struct program_probe *row = &p->program->probes.at[i];
	const char *path =
		row->target ? points_find_file(&p->arena, row->target, p->opts.pid) : NULL;
	if (!path)
		return points_missing(p, row, "no such program or library", d);
	if (row->file)
		return points_expand_line(p, i, path, d);
	if (row->provider == PROGRAM_URETPROBE && probe_elf_moves_stacks(path))
		return refuse_return(p, row, d);
	struct walk w = { .p = p, .probe = i, .row = row, .path = path, .before = p->at.nr };
	bool usdt = row->provider == PROGRAM_USDT;
	if (!usdt && !row->name) {
		char name[32];
		int err = check_inside(p, row, path, row->offset, d);
		snprintf(name, sizeof(name), "0x%llx", (unsigned long long)row->offset);
		return err ? err : add_place(&w, name, row->offset, 0);
	}
	if (!usdt && !row->is_glob)
		return expand_symbol(p, &w, d);
	int rc = usdt ? probe_elf_each_note(path, offer_usdt, &w)
		      : probe_elf_each_function(path, offer_function, &w);
	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return explain_file(p, row, path, rc, d);
	if (p->at.nr == w.before)
		return points_missing(p, row,
				      usdt ? "no static probe matches" : "no function matches", d);
	qsort(p->at.at + w.before, p->at.nr - w.before, sizeof(struct point), compare_points);
	return 0;
}
