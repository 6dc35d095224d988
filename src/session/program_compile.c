#include "session/program_compile.h"

#include "base/str.h"
#include "bpf/points.h"
#include "event/probe_elf.h"
#include "image/usdt_notes.h"
#include "kern/kallsyms.h"
#include "kern/pid_ns.h"
#include "session/program_lines.h"
#include "sym/kallsyms.h"
#include "wire/format.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int program_compile_open(struct program_compile *c)
{
	*c = (struct program_compile){ 0 };
	arena_init(&c->arena);
	return tracing_open(&c->tracing, "");
}

void program_compile_close(struct program_compile *c)
{
	tracing_close(&c->tracing);
	vec_free(&c->schemas);
	if (c->listed)
		tracing_events_done(&c->list);
	if (c->has_btf)
		btf_close(&c->btf);
	free(c->btf_data);
	arena_done(&c->arena);
}

static const struct schema *known_schema(const struct program_compile *c, const char *system,
					 const char *name)
{
	vec_for_each (&c->schemas, s)
		if (!strcmp((*s)->system, system) && !strcmp((*s)->name, name))
			return *s;
	return NULL;
}

static int read_schema(void *ctx, const char *system, const char *name, const struct schema **ret)
{
	struct program_compile *c = ctx;
	const struct schema *known = known_schema(c, system, name);
	if (known) {
		*ret = known;
		return 0;
	}
	char path[256];
	struct strbuf text;
	struct schema *made;
	snprintf(path, sizeof(path), "events/%s/%s/format", system, name);
	strbuf_init(&text);
	int rc = c->tracing.err ? c->tracing.err : tracing_read(&c->tracing, path, &text);
	if (!rc)
		rc = format_parse(&c->arena, arena_strdup(&c->arena, system), text.data, text.len,
				  false, sizeof(long), &made, NULL);
	strbuf_done(&text);
	const struct schema **slot = rc ? NULL : vec_push(&c->schemas);
	if (!rc && !slot)
		rc = -ENOMEM;
	if (!rc)
		*ret = *slot = made;
	return rc;
}

/* The compiler asks for one after the other: the list of the last question is kept. */
static int list_tracepoints(struct program_compile *c, const char *system, const char *name)
{
	if (c->listed && !strcmp(c->list_system, system) && !strcmp(c->list_name, name))
		return 0;
	if (c->listed)
		tracing_events_done(&c->list);
	c->listed = false;
	c->list_system = arena_strdup(&c->arena, system);
	c->list_name = arena_strdup(&c->arena, name);
	if (!c->list_system || !c->list_name)
		return -ENOMEM;
	int rc = c->tracing.err ? c->tracing.err
				: tracing_list_events(&c->tracing, system, name, &c->list);
	c->listed = !rc;
	return rc;
}

static int nth_tracepoint(void *ctx, const char *system, const char *name, u32 nth,
			  const char **ret_system, const char **ret_name)
{
	struct program_compile *c = ctx;
	int rc = list_tracepoints(c, system, name);
	if (rc || nth >= c->list.items.nr)
		return rc;
	*ret_system = c->list.items.at[nth].system;
	*ret_name = c->list.items.at[nth].name;
	return 1;
}

static int kernel_symbol(void *ctx, const char *name, u64 *ret)
{
	(void)ctx;
	struct kallsyms_text text;
	int rc = kallsyms_read("", NULL, &text);
	if (rc)
		return rc;
	if (kallsyms_hidden(text.data, text.len) ||
	    !kallsyms_address(text.data, text.len, name, ret))
		rc = -ENOENT;
	kallsyms_text_done(&text);
	return rc;
}

/* As the file has it: right where the program is not moved when it is loaded. */
static int user_symbol(void *ctx, const char *program, const char *name, u64 *ret)
{
	struct program_compile *c = ctx;
	static const u32 tables[] = { SHT_SYMTAB, SHT_DYNSYM };
	const char *path = points_find_file(&c->arena, program, c->pid);
	struct elfimg e;
	struct elfimg_symtab t;
	struct elfimg_sym s;
	if (!path)
		return -ENOENT;
	int rc = elfimg_open(&e, path, NULL);
	if (rc < 0)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(tables) && rc; i++) {
		if (!elfimg_symtab(&e, tables[i], &t))
			continue;
		for (size_t k = 0; k < t.nr && rc; k++) {
			elfimg_sym(&e, &t, k, &s);
			if (s.shndx == SHN_UNDEF || strcmp(s.name, name))
				continue;
			*ret = s.value;
			rc = 0;
		}
	}
	elfimg_close(&e);
	return rc;
}

static const char *syscall_name(void *ctx, u32 nr)
{
	(void)ctx;
	return points_syscall_name(nr);
}

struct site_search {
	struct program_compile *c;
	const struct program_probe *probe;
	VEC(const char *) seen;
	u32 nth;
	const char *found;
};

static int offer_site(void *ctx, const struct usdt_note *n)
{
	struct site_search *s = ctx;
	if (!points_is_site(s->probe, n))
		return 0;
	vec_for_each (&s->seen, o)
		if (!strcmp(*o, n->args))
			return 0;
	const char *args = arena_strdup(&s->c->arena, n->args), **slot = vec_push(&s->seen);
	if (!args || !slot)
		return -ENOMEM;
	*slot = args;
	if (s->seen.nr <= s->nth)
		return 0;
	s->found = args;
	return 1;
}

static int usdt_site(void *ctx, const struct program_probe *p, u32 nth, const char **ret)
{
	struct program_compile *c = ctx;
	struct site_search s = { .c = c, .probe = p, .nth = nth };
	const char *path = points_find_file(&c->arena, p->target, c->pid);
	int rc = path ? probe_elf_each_note(path, offer_site, &s) : 0;
	vec_free(&s.seen);
	*ret = s.found;
	return rc;
}

static int code_locals(void *ctx, const struct program_probe *p, struct arena *arena,
		       lang_locals_fn *each, void *each_ctx, struct diag *d)
{
	struct program_compile *c = ctx;
	const char *path = NULL;
	if (p->provider == PROGRAM_UPROBE) {
		path = points_find_file(&c->arena, p->target, c->pid);
		if (!path)
			return diag_error(d, -ENOENT, "no such program or library");
	}
	return program_line_locals(p, path, arena, each, each_ctx, d);
}

/* The kernel's number for a cgroup is the handle of its directory. */
static int cgroup_id(void *ctx, const char *path, u64 *ret)
{
	(void)ctx;
	char full[PATH_MAX];
	_Alignas(struct file_handle) u8 space[sizeof(struct file_handle) + MAX_HANDLE_SZ] = { 0 };
	struct file_handle *h = (struct file_handle *)space;
	int mount;
	h->handle_bytes = MAX_HANDLE_SZ;
	bool whole = str_starts(path, "/sys/fs/cgroup");
	snprintf(full, sizeof(full), "%s%s%s", whole ? "" : "/sys/fs/cgroup/", path,
		 whole ? "" : "/");
	struct statfs fs;
	const long version_2 = 0x63677270; /* CGROUP2_SUPER_MAGIC */
	if (statfs(full, &fs))
		return -errno;
	if (fs.f_type != version_2)
		return -ENOTSUP;
	if (name_to_handle_at(AT_FDCWD, full, h, &mount, 0))
		return -errno;
	if (h->handle_bytes < sizeof(*ret))
		return -ENOTSUP;
	memcpy(ret, h->f_handle, sizeof(*ret));
	return 0;
}

/* A script that another one imports: by its path, from the directory of that one. */
static int read_import(void *ctx, const char *from, const char *name, const char **ret_path,
		       const char **ret_text)
{
	struct program_compile *c = ctx;
	char path[PATH_MAX];
	const char *slash = from ? strrchr(from, '/') : NULL;
	int len = slash && *name != '/' ? (int)(slash - from + 1) : 0;
	if (snprintf(path, sizeof(path), "%.*s%s", len, from ? from : "", name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	struct stat st;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	/* Whoever may write to it would write what runs with all rights. */
	if (st.st_mode & S_IWOTH)
		return -EPERM;
	enum { LARGEST = 1 << 20 };
	if (st.st_size > LARGEST)
		return -EFBIG;
	size_t size = (size_t)st.st_size, got = 0;
	char *text = arena_zalloc(&c->arena, size + 1);
	if (!text)
		return -ENOMEM;
	while (got < size) {
		ssize_t n = read(fd, text + got, size - got);
		if (n <= 0)
			return n ? -errno : -EIO;
		got += (size_t)n;
	}
	*ret_path = arena_strdup(&c->arena, path);
	*ret_text = text;
	return *ret_path ? 0 : -ENOMEM;
}

static const struct lang_ops ops = { .tracepoint = read_schema,
				     .tracepoint_list = nth_tracepoint,
				     .kernel_symbol = kernel_symbol,
				     .user_symbol = user_symbol,
				     .syscall_name = syscall_name,
				     .cgroup_id = cgroup_id,
				     .usdt_site = usdt_site,
				     .locals = code_locals,
				     .import = read_import };

static int read_types(struct program_compile *c)
{
	_cleanup_close_ int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
		return -ENOENT;
	c->btf_size = (size_t)st.st_size;
	c->btf_data = malloc(c->btf_size);
	if (!c->btf_data)
		return -ENOMEM;
	for (size_t got = 0; got < c->btf_size;) {
		ssize_t n = read(fd, c->btf_data + got, c->btf_size - got);
		if (n <= 0)
			return n ? -errno : -EIO;
		got += (size_t)n;
	}
	int rc = btf_open_memory(&c->btf, c->btf_data, c->btf_size, NULL);
	c->has_btf = !rc;
	return rc;
}

int program_compile(struct program_compile *c, struct lang_input *in, struct program *ret,
		    struct diag *d)
{
	in->ops = &ops;
	in->ctx = c;
	in->end_here = true;
	in->callbacks = true; /* the loader makes the types that callbacks need */
	struct sysroot root;
	if (!sysroot_open(&root, NULL)) {
		struct pid_ns ns = pid_ns_own(&root);
		in->pid_ns_dev = ns.dev;
		in->pid_ns_ino = ns.ino;
		sysroot_close(&root);
	}
	if (strstr(in->text, "BPFTRACE_HAVE_BTF"))
		(void)!read_types(c);
	in->btf = c->has_btf ? &c->btf : NULL;
	struct diag first;
	diag_init(&first);
	first.options = d ? d->options : NULL;
	int rc = lang_compile(in, ret, &first);
	/* What could not be made sense of may be a type: once more, with the kernel's. */
	if (rc && rc != -ENOMEM && !c->has_btf && !read_types(c)) {
		program_done(ret);
		diag_done(&first);
		diag_init(&first);
		first.options = d ? d->options : NULL;
		in->btf = &c->btf;
		struct strbuf *dumps[] = { in->dump_ast, in->dump_types, in->dump_ir, in->dump_bpf };
		for (size_t i = 0; i < ARRAY_SIZE(dumps); i++)
			if (dumps[i])
				strbuf_reset(dumps[i]);
		rc = lang_compile(in, ret, &first);
	}
	diag_join(d, &first);
	diag_done(&first);
	return rc;
}
