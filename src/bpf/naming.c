#include "bpf/naming.h"

#include "base/dict.h"
#include "base/opener.h"
#include "bpf/naming_impl.h"
#include "image/demangle.h"
#include "kern/bpf_sys.h"
#include "kern/cgroup.h"
#include "kern/kallsyms.h"
#include "sym/kallsyms.h"

#include <errno.h>
#include <pwd.h>

struct naming *naming_new(const struct sysroot *root)
{
	struct naming *n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->root = root;
	n->demangle = DEMANGLE_FULL;
	dict_init(&n->kernel_cache);
	strbuf_init(&n->kernel_names);
	procfs_init(&n->procfs, root);
	naming_user_init(n);
	return n;
}

void naming_free(struct naming *n)
{
	if (!n)
		return;
	naming_user_done(n);
	if (n->kernel_tried && n->kernel.data)
		kallsyms_text_done(&n->kernel);
	dict_done(&n->kernel_cache);
	strbuf_done(&n->kernel_names);
	vec_for_each (&n->cgroups, c)
		free(c->path);
	vec_free(&n->cgroups);
	procfs_done(&n->procfs);
	free(n->ips);
	free(n);
}

void naming_no_demangle(struct naming *n)
{
	n->demangle = DEMANGLE_NO;
}

static void add_hex(u64 address, struct strbuf *to)
{
	strbuf_printf(to, "0x%llx", (unsigned long long)address);
}

void naming_add(const char *name, size_t len, u64 offset, enum naming_style style, struct strbuf *to)
{
	strbuf_add(to, name, len);
	if (style == NAMING_OFFSET) {
		strbuf_char(to, '+');
		strbuf_u64(to, offset);
	}
}

struct kernel_line {
	u64 address;
	const char *name;
	size_t len;
};

static bool parse_line(const char *line, const char *end, struct kernel_line *ret)
{
	u64 address = 0;
	const char *p = line;
	for (; p < end && *p != ' '; p++) {
		int digit = *p >= '0' && *p <= '9'   ? *p - '0'
			    : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
						     : -1;
		if (digit < 0)
			return false;
		address = address << 4 | (u64)digit;
	}
	if (end - p < 4 || p[2] != ' ')
		return false;
	p += 3;
	const char *name = p;
	while (p < end && *p != '\n' && *p != '\t' && *p != ' ')
		p++;
	*ret = (struct kernel_line){ .address = address, .name = name, .len = (size_t)(p - name) };
	return ret->len > 0;
}

/* The line with the greatest address that is not above, by looking at all of them: modules stand in no order. */
static bool scan(const struct kallsyms_text *t, u64 address, struct kernel_line *best)
{
	bool found = false;
	const char *end = t->data + t->len;
	for (const char *p = t->data; p < end;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		struct kernel_line l;
		if (parse_line(p, eol, &l) && l.address <= address &&
		    (!found || l.address >= best->address)) {
			if (!found || l.address > best->address)
				*best = l;
			found = true;
		}
		p = eol + 1;
	}
	return found;
}

static bool find_kernel(const struct naming *n, u64 address, struct kernel_line *ret)
{
	const struct kallsyms_text *t = &n->kernel;
	u64 etext;
	if (!kallsyms_address(t->data, t->len, "_etext", &etext) || address >= etext)
		return scan(t, address, ret);
	const char *above = kallsyms_above(t->data, t->len, address);
	if (!above || above == t->data)
		return scan(t, address, ret);
	/* Of several names of one address the first is taken, as the kernel itself does. */
	const char *end = above;
	bool found = false;
	while (end > t->data) {
		const char *p = end - 1;
		while (p > t->data && p[-1] != '\n')
			p--;
		struct kernel_line l;
		if (parse_line(p, end, &l)) {
			if (found && l.address != ret->address)
				break;
			*ret = l;
			found = true;
		}
		end = p;
	}
	return found;
}

static bool read_kernel(struct naming *n)
{
	if (!n->kernel_tried) {
		n->kernel_tried = true;
		if (kallsyms_read("", NULL, &n->kernel) ||
		    kallsyms_hidden(n->kernel.data, n->kernel.len))
			n->no_kernel = true;
	}
	return !n->no_kernel;
}

void naming_kernel(struct naming *n, u64 address, enum naming_style style, struct strbuf *to)
{
	if (!n || !read_kernel(n)) {
		add_hex(address, to);
		return;
	}
	u32 at = dict_get(&n->kernel_cache, address);
	if (at == DICT_NONE) {
		struct kernel_line l;
		if (!find_kernel(n, address, &l)) {
			add_hex(address, to);
			return;
		}
		at = (u32)n->kernel_names.len;
		struct naming_entry e = { .offset = address - l.address, .len = (u32)l.len };
		strbuf_add(&n->kernel_names, &e, sizeof(e));
		strbuf_add(&n->kernel_names, l.name, l.len);
		if (n->kernel_names.err || dict_put(&n->kernel_cache, address, at)) {
			naming_add(l.name, l.len, e.offset, style, to);
			return;
		}
	}
	struct naming_entry e;
	memcpy(&e, n->kernel_names.data + at, sizeof(e));
	naming_add(n->kernel_names.data + at + sizeof(e), e.len, e.offset, style, to);
}

void naming_uid(struct naming *n, u32 uid, struct strbuf *to)
{
	(void)n;
	struct passwd pw, *found = NULL;
	char room[4096];
	if (!getpwuid_r(uid, &pw, room, sizeof(room), &found) && found)
		strbuf_str(to, found->pw_name);
	else
		strbuf_u64(to, uid);
}

static int remember_cgroup(void *ctx, u64 id, const char *path)
{
	struct naming *n = ctx;
	struct naming_cgroup *c = vec_push(&n->cgroups);
	if (!c)
		return -ENOMEM;
	c->id = id;
	c->path = strdup(path);
	return c->path ? 0 : -ENOMEM;
}

static const char *find_cgroup(const struct naming *n, u64 id)
{
	vec_for_each (&n->cgroups, c)
		if (c->id == id)
			return c->path;
	return NULL;
}

void naming_cgroup(struct naming *n, u64 id, struct strbuf *to)
{
	const char *path = n ? find_cgroup(n, id) : NULL;
	if (n && !path) {
		vec_for_each (&n->cgroups, c)
			free(c->path);
		n->cgroups.nr = 0;
		if (!cgroup_each(n->root, remember_cgroup, n))
			path = find_cgroup(n, id);
	}
	if (path)
		strbuf_str(to, path);
	else
		strbuf_u64(to, id);
}

void naming_set_stacks(struct naming *n, int map_fd, u32 value_size)
{
	n->stacks_fd = map_fd;
	free(n->ips);
	n->ips = calloc(1, max(value_size, 8u));
	n->nr_ips = n->ips ? value_size / 8 : 0;
}

/* The addresses; valid until the next call. NULL: there are none. */
static const u64 *naming_ips(struct naming *n, const struct program_stack *s)
{
	if (!n->ips || !s->nr || bpfsys_map_lookup(n->stacks_fd, s, n->ips))
		return NULL;
	return n->ips;
}

static void add_frame(struct naming *n, const struct program_type *t, u32 pid, u64 ip, u32 indent,
		      struct strbuf *to)
{
	bool kernel = t->kind == PROGRAM_KSTACK;
	if (t->stack_mode == NAMING_STACK_PERF)
		strbuf_printf(to, "\t%llx ", (unsigned long long)ip);
	else
		strbuf_fill(to, ' ', indent);
	if (t->stack_mode == NAMING_STACK_RAW)
		strbuf_printf(to, "%llx", (unsigned long long)ip);
	else if (kernel)
		naming_kernel(n, ip, NAMING_OFFSET, to);
	else if (t->stack_mode == NAMING_STACK_BUILD_ID)
		naming_user_build_id(n, pid, ip, to);
	else
		naming_user(n, pid, ip, NAMING_OFFSET, to);
	if (t->stack_mode == NAMING_STACK_PERF && !kernel)
		naming_user_module(n, pid, ip, to);
	strbuf_char(to, '\n');
}

void naming_stack(struct naming *n, const struct program_type *t, const void *data, u32 indent,
		  struct strbuf *to)
{
	struct program_stack s;
	memcpy(&s, data, sizeof(s));
	strbuf_char(to, '\n');
	const u64 *ips = n ? naming_ips(n, &s) : NULL;
	for (u32 i = 0; ips && i < min(s.nr, n->nr_ips); i++)
		if (ips[i])
			add_frame(n, t, s.pid, ips[i], indent, to);
}
