#include "memory/kspace.h"

#include "image/cexpr.h"
#include "kern/caps.h"
#include "kern/lockdown.h"
#include "memory/kspace_dump.h"
#include "memory/percpu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BTF_BYTES_MAX = 256 << 20, MODULES_MAX = 4096, PARENTS_MAX = 1 << 16, RODATA_REACH = 256 };

void kspace_init(struct kspace *k, const struct kspace_opts *o, struct diag *d)
{
	*k = (struct kspace){ .opts = *o, .diag = d };
	arena_init(&k->arena);
}

static void free_bytes(void *bytes, size_t size, bool mapped)
{
	if (mapped)
		(void)munmap(bytes, size);
	else
		free(bytes);
}

void kspace_done(struct kspace *k)
{
	memory_close(k->memory);
	vec_for_each (&k->modules, m) {
		btf_close(&(*m)->btf);
		free((*m)->bytes);
		free((*m)->name);
		free(*m);
	}
	vec_free(&k->modules);
	if (k->has_types) {
		btf_close(&k->btf);
		free_bytes(k->btf_bytes, k->btf_size, k->btf_mapped);
	}
	if (k->has_syms)
		ksyms_close(&k->syms);
	dump_close(k->dump);
	arena_done(&k->arena);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------------- */

/* What stands between this user and the kernel's memory, as far as it can be told. */
static void hint_memory(struct kspace *k, int bpf_err, int kcore_err)
{
	struct sysroot r;
	enum lockdown_level level = LOCKDOWN_UNKNOWN;
	s64 unprivileged = -1;
	if (sysroot_open(&r, k->opts.root))
		return;
	u64 caps = caps_effective(&r);
	bool admin = caps_has(caps, CAP_SYS_ADMIN);
	if (!admin && !(caps_has(caps, CAP_BPF) && caps_has(caps, CAP_PERFMON))) {
		if (sysroot_s64(&r, "proc/sys/kernel/unprivileged_bpf_disabled", &unprivileged))
			unprivileged = -1;
		diag_hint(k->diag,
			  "run as root, or with CAP_BPF and CAP_PERFMON (BPF)%s or CAP_SYS_RAWIO "
			  "(/proc/kcore)",
			  unprivileged > 0 ? ", as kernel.unprivileged_bpf_disabled is set," : "");
	}
	if (!lockdown_read(&r, &level) && level == LOCKDOWN_CONFIDENTIALITY)
		diag_hint(k->diag, "the kernel is locked down (confidentiality): nobody may read "
				   "its memory until it boots without lockdown");
	else if (admin && bpf_err == -ENOSYS && kcore_err == -ENOENT)
		diag_hint(k->diag, "this kernel has neither bpf(2) nor CONFIG_PROC_KCORE");
	sysroot_close(&r);
}

int kspace_memory(struct kspace *k, struct memory **ret)
{
	int bpf_err = -ENODEV, kcore_err = -ENODEV;
	if (k->opts.dump) {
		int err = kspace_open_dump(k);
		if (err)
			return err;
		*ret = k->memory = dump_memory(k->dump);
		return 0;
	}
	if (!k->memory && k->opts.memory != KSPACE_MEMORY_KCORE)
		bpf_err = memory_open_bpf(&k->memory);
	if (!k->memory && k->opts.memory != KSPACE_MEMORY_BPF)
		kcore_err = memory_open_kcore(k->opts.root, &k->memory);
	if (k->memory) {
		*ret = k->memory;
		return 0;
	}
	int err = bpf_err != -ENODEV ? bpf_err : kcore_err;
	if (k->opts.memory == KSPACE_MEMORY_AUTO)
		(void)diag_error(k->diag, err, "cannot read kernel memory: BPF: %s; /proc/kcore: %s",
				 strerror(-bpf_err), strerror(-kcore_err));
	else
		(void)diag_error(k->diag, err, "cannot read kernel memory through %s: %s",
				 k->opts.memory == KSPACE_MEMORY_BPF ? "BPF" : "/proc/kcore",
				 strerror(-err));
	hint_memory(k, bpf_err, kcore_err);
	return err;
}

int kspace_read(struct kspace *k, u64 addr, void *to, size_t size, const char *what)
{
	struct memory *m;
	int err = kspace_memory(k, &m);
	if (err)
		return err;
	err = memory_read(m, addr, to, size);
	if (err == -EFAULT)
		(void)diag_error(k->diag, err, "cannot read %zu bytes at 0x%llx (%s): bad address",
				 size, (unsigned long long)addr, what);
	else if (err)
		(void)diag_error(k->diag, err, "cannot read kernel memory: %s", strerror(-err));
	return err;
}

/* ---- types ----------------------------------------------------------------------------------------------------------------- */

static int read_all(int fd, void *to, size_t size)
{
	for (size_t got = 0; got < size;) {
		ssize_t n = read(fd, (u8 *)to + got, size - got);
		if (n <= 0)
			return n ? -errno : -EIO;
		got += (size_t)n;
	}
	return 0;
}

/* Mapped where the kernel can (6.16): then only what is looked at takes memory. */
static int load_btf(const char *root, const char *name, bool may_map, void **bytes, size_t *size,
		    bool *mapped)
{
	char path[PATH_MAX];
	struct stat st;
	if ((size_t)snprintf(path, sizeof(path), "%s/sys/kernel/btf/%s", root ? root : "", name) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0 || st.st_size > BTF_BYTES_MAX)
		return -EFBIG;
	*size = (size_t)st.st_size;
	*mapped = false;
	if (may_map && (!root || !*root)) {
		void *at = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED) {
			*bytes = at;
			*mapped = true;
			return 0;
		}
	}
	void *room = malloc(*size);
	if (!room)
		return -ENOMEM;
	int err = read_all(fd, room, *size);
	if (err)
		free(room);
	else
		*bytes = room;
	return err;
}

int kspace_types(struct kspace *k, struct btf **ret)
{
	int err = 0;
	if (!k->has_types) {
		err = k->opts.dump ? kspace_dump_types(k, &k->btf_bytes, &k->btf_size)
				   : load_btf(k->opts.root, "vmlinux", true, &k->btf_bytes,
					      &k->btf_size, &k->btf_mapped);
		if (!err)
			err = btf_open_memory(&k->btf, k->btf_bytes, k->btf_size, NULL);
		if (err && k->btf_bytes) {
			free_bytes(k->btf_bytes, k->btf_size, k->btf_mapped);
			k->btf_bytes = NULL;
		}
	}
	if (err && k->opts.dump) {
		if (k->has_syms)
			(void)diag_error(k->diag, err,
					 "cannot read the kernel's types (BTF) from the dump: %s",
					 err == -ENOENT ? "it has none" : strerror(-err));
		return err;
	}
	if (err) {
		(void)diag_error(k->diag, err,
				 "cannot read the kernel's types (/sys/kernel/btf/vmlinux): %s",
				 strerror(-err));
		diag_hint(k->diag, "the kernel must be built with CONFIG_DEBUG_INFO_BTF");
		return err;
	}
	k->has_types = true;
	*ret = &k->btf;
	return 0;
}

/* bytes become the module's, whatever comes of it. */
static int add_module(struct kspace *k, const char *name, void *bytes, size_t size)
{
	struct kspace_module *m = calloc(1, sizeof(*m));
	if (!m) {
		free(bytes);
		return -ENOMEM;
	}
	m->bytes = bytes;
	int err = bytes ? 0 : -ENOENT;
	if (!err)
		err = btf_open_memory(&m->btf, m->bytes, size, &k->btf);
	m->name = err ? NULL : strdup(name);
	struct kspace_module **slot = m->name ? vec_push(&k->modules) : NULL;
	if (slot) {
		*slot = m;
		return 0;
	}
	if (!err)
		btf_close(&m->btf);
	free(m->name);
	free(m->bytes);
	free(m);
	/* A module that went meanwhile, or whose types are broken, has none. */
	return !err ? -ENOMEM : err == -ENOMEM ? err : 0;
}

static int load_module(struct kspace *k, const char *name)
{
	void *bytes = NULL;
	size_t size = 0;
	bool mapped;
	int err = load_btf(k->opts.root, name, false, &bytes, &size, &mapped);
	if (err == -ENOMEM)
		return err;
	return add_module(k, name, err ? NULL : bytes, size);
}

static void read_modules(struct kspace *k)
{
	struct sysroot r;
	if (k->modules_read)
		return;
	k->modules_read = true;
	if (k->opts.dump) {
		struct diag *diag = k->diag;
		k->diag = NULL; /* the kernel's own types are there: no more can be done */
		(void)!kspace_dump_module_types(k, add_module);
		k->diag = diag;
		return;
	}
	if (sysroot_open(&r, k->opts.root))
		return;
	DIR *dir = sysroot_dir(&r, "sys/kernel/btf");
	for (struct dirent *e; dir && (e = readdir(dir)) && k->modules.nr < MODULES_MAX;)
		if (e->d_name[0] != '.' && strcmp(e->d_name, "vmlinux") && load_module(k, e->d_name))
			break;
	if (dir)
		(void)closedir(dir);
	sysroot_close(&r);
}

bool kspace_find_type(struct kspace *k, const char *name, u32 kinds, struct ktype *ret)
{
	struct btf *b;
	if (!k->has_types && kspace_types(k, &b))
		return false;
	u32 id = btf_find(&k->btf, name, kinds, NULL);
	if (id) {
		k->btf_used = true;
		*ret = ktype_of(&k->btf, id);
		return true;
	}
	read_modules(k);
	vec_for_each (&k->modules, m) {
		id = btf_find(&(*m)->btf, name, kinds, NULL);
		if (id) {
			k->btf_used = true;
			*ret = ktype_of(&(*m)->btf, id);
			return true;
		}
	}
	return false;
}

bool kspace_find_constant(struct kspace *k, const char *name, s64 *value, struct ktype *ret)
{
	struct btf *b;
	struct btf_desc d;
	struct btf_part p;
	if (kspace_types(k, &b))
		return false;
	for (u32 id = 1; id <= b->nr; id++) {
		if (!btf_describe(b, id, &d) || (d.kind != BTF_OF_ENUM && d.kind != BTF_OF_ENUM64))
			continue;
		for (u32 i = 0; btf_part(b, &d, i, &p); i++)
			if (!strcmp(p.name, name)) {
				*value = p.value;
				*ret = ktype_of(b, id);
				return true;
			}
	}
	return false;
}

/* C's names of whole numbers in BTF: "long unsigned int" for "unsigned long". */
static const char *btf_word(const char *name)
{
	static const struct {
		const char *c, *btf;
	} words[] = {
		{ "unsigned", "unsigned int" },
		{ "unsigned long", "long unsigned int" },
		{ "unsigned long int", "long unsigned int" },
		{ "long", "long int" },
		{ "signed long", "long int" },
		{ "long long", "long long int" },
		{ "unsigned long long", "long long unsigned int" },
		{ "short", "short int" },
		{ "unsigned short", "short unsigned int" },
		{ "signed", "int" },
		{ "bool", "_Bool" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].c, name))
			return words[i].btf;
	return name;
}

int kspace_type(struct kspace *k, const struct cexpr_type *t, const char *text, struct ktype *ret)
{
	static const u32 kinds[] = {
		[CEXPR_PLAIN] =
			BTF_BIT(BTF_OF_TYPEDEF) | BTF_BIT(BTF_OF_INT) | BTF_BIT(BTF_OF_FLOAT),
		[CEXPR_STRUCT] = BTF_BIT(BTF_OF_STRUCT),
		[CEXPR_UNION] = BTF_BIT(BTF_OF_UNION),
		[CEXPR_ENUM] = BTF_BIT(BTF_OF_ENUM) | BTF_BIT(BTF_OF_ENUM64),
	};
	static const char *const tags[] = {
		[CEXPR_PLAIN] = "", [CEXPR_STRUCT] = "struct ", [CEXPR_UNION] = "union ", [CEXPR_ENUM] = "enum "
	};
	struct btf *b;
	struct ktype found = { 0 };
	int err = kspace_types(k, &b);
	if (err)
		return err;
	bool is_void = t->tag == CEXPR_PLAIN && !strcmp(t->name, "void");
	if (is_void) {
		found = ktype_of(b, 0);
	} else if (!kspace_find_type(k, btf_word(t->name), kinds[t->tag], &found) &&
		   !kspace_find_type(k, t->name, kinds[t->tag], &found)) {
		err = diag_error(k->diag, -ENOENT, "unknown type '%s%s'", tags[t->tag], t->name);
		diag_span(k->diag, text, t->start, t->len);
		return err;
	}
	found.pointers = t->pointers;
	found.is_array = t->is_array;
	found.elements = t->elements;
	*ret = found;
	return 0;
}

int kspace_type_text(struct kspace *k, const char *text, struct ktype *ret)
{
	struct cexpr_type t;
	int err = cexpr_parse_type(text, &k->arena, &t, k->diag);
	return err ? err : kspace_type(k, &t, text, ret);
}

int kspace_offset(struct kspace *k, const char *type, const char *member, u64 *ret)
{
	struct ktype t;
	struct btf_part p;
	if (!kspace_find_type(k, type, BTF_BIT(BTF_OF_STRUCT), &t))
		return diag_error(k->diag, -ENOENT, "this kernel has no struct %s", type);
	if (btf_find_member(t.b, t.id, member, &p))
		return diag_error(k->diag, -ENOENT, "struct %s of this kernel has no member '%s'",
				  type, member);
	*ret = p.bit_offset / 8;
	return 0;
}

/* ---- symbols --------------------------------------------------------------------------------------------------------------- */

const struct ksyms *kspace_try_syms(struct kspace *k)
{
	if (!k->tried_syms) {
		k->tried_syms = true;
		if (k->opts.dump) {
			k->syms_err = kspace_dump_symbols(k);
			return k->has_syms ? &k->syms : NULL;
		}
		k->syms_err = ksyms_open(&k->syms, k->opts.root, k->opts.cache);
		k->has_syms = !k->syms_err;
	}
	return k->has_syms ? &k->syms : NULL;
}

int kspace_syms(struct kspace *k, const struct ksyms **ret)
{
	const struct ksyms *s = kspace_try_syms(k);
	if (s) {
		*ret = s;
		return 0;
	}
	if (k->opts.dump) /* which has said why */
		return k->syms_err;
	if (k->syms_err == -EPERM) {
		(void)diag_error(k->diag, k->syms_err,
				 "kernel addresses are hidden from this user (/proc/kallsyms)");
		diag_hint(k->diag, "run as root, or with CAP_SYSLOG and kernel.kptr_restrict=1 or "
				   "less");
		return k->syms_err;
	}
	return diag_error(k->diag, k->syms_err, "cannot read /proc/kallsyms: %s",
			  strerror(-k->syms_err));
}

bool kspace_name_address(struct kspace *k, u64 addr, bool decimal, struct strbuf *to)
{
	struct ksym sym;
	u64 offset, size;
	const struct ksyms *s = addr ? kspace_try_syms(k) : NULL;
	if (!s || !ksyms_at(s, addr, &sym, &offset, &size))
		return false;
	/* Offsets of per-CPU variables (x86 before 6.15): an address that low is a program's. */
	if (sym.kind == 'A' || sym.kind == 'a')
		return false;
	/* Read-only data is mostly strings without a name: what comes long before them says nothing. */
	if ((sym.kind == 'r' || sym.kind == 'R') && offset >= RODATA_REACH)
		return false;
	strbuf_add(to, sym.name, sym.name_len);
	if (offset)
		strbuf_printf(to, decimal ? "+%llu" : "+0x%llx", (unsigned long long)offset);
	return true;
}

u32 kspace_nr_cpus(struct kspace *k)
{
	if (!k->nr_cpus && k->opts.dump)
		k->nr_cpus = kspace_dump_cpus(k);
	if (!k->nr_cpus) {
		long n = sysconf(_SC_NPROCESSORS_CONF);
		k->nr_cpus = n > 0 ? (u32)n : 1;
	}
	return k->nr_cpus;
}

u32 kspace_page_size(const struct kspace *k)
{
	return k->dump ? dump_page_size(k->dump) : (u32)sysconf(_SC_PAGESIZE);
}

bool kspace_is_x86(const struct kspace *k)
{
#if defined(__x86_64__)
	bool here = true;
#else
	bool here = false;
#endif
	return k->dump ? dump_vmcore(k->dump)->machine == EM_X86_64 : here;
}

u64 kspace_machine_bytes(const struct kspace *k)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	if (k->dump)
		return vmcore_bytes(dump_vmcore(k->dump));
	return pages > 0 ? (u64)pages * kspace_page_size(k) : 0;
}

/* The per-CPU variables are all that BTF knows. */
static void find_variable(struct kspace *k, const char *name, struct kspace_global *g)
{
	struct ktype t;
	struct btf_desc d;
	if (kspace_find_type(k, name, BTF_BIT(BTF_OF_VARIABLE), &t) && t.b == &k->btf &&
	    btf_describe(t.b, t.id, &d)) {
		g->is_per_cpu = true;
		g->type = ktype_of(t.b, d.ref);
		g->has_section_offset = percpu_offset(k, name, &g->section_offset);
	}
}

static int global_from_table(struct kspace *k, const char *name, struct kspace_global *g)
{
	const char *type = kspace_global_type(name);
	if (!type)
		return 0;
	k->table_used = true;
	return kspace_type_text(k, type, &g->type);
}

int kspace_global(struct kspace *k, const char *name, struct kspace_global *ret)
{
	struct kspace_global g = { 0 };
	struct ksym sym;
	struct btf *b;
	int err = kspace_types(k, &b);
	if (err)
		return err;
	const struct ksyms *s = kspace_try_syms(k);
	find_variable(k, name, &g);
	if (s && ksyms_find(s, name, &sym)) {
		g.addr = sym.addr;
		g.has_addr = true;
		g.is_function = ksym_is_code(&sym);
	} else if (!strcmp(name, "init_task") && !kspace_init_task(k, &g.addr)) {
		g.has_addr = true;
	}
	if (g.is_function && kspace_find_type(k, name, BTF_BIT(BTF_OF_FUNCTION), &g.type)) {
		*ret = g;
		return 0;
	}
	if (!g.is_function && !g.type.b)
		err = global_from_table(k, name, &g);
	if (!err && !g.has_addr && !g.is_per_cpu) {
		err = -ENOENT;
		(void)diag_error(k->diag, err, "no symbol '%s' in this kernel", name);
		if (!s)
			diag_hint(k->diag, k->syms_err == -EPERM
						   ? "addresses are hidden (kernel.kptr_restrict): "
						     "run as root"
						   : "/proc/kallsyms cannot be read");
		else if (!s->has_data)
			diag_hint(k->diag, "its symbol list has functions only "
					   "(CONFIG_KALLSYMS_ALL is off): give an address, "
					   "'*(struct NAME *)0x...'");
	}
	if (!err)
		*ret = g;
	return err;
}

int kspace_per_cpu(struct kspace *k, const struct kspace_global *g, u32 cpu, u64 *ret)
{
	struct ksym sym;
	u64 offset;
	if (cpu >= kspace_nr_cpus(k))
		return diag_error(k->diag, -ERANGE, "no CPU %u: this machine may have %u", cpu,
				  kspace_nr_cpus(k));
	const struct ksyms *s = kspace_try_syms(k);
	if ((!g->has_addr || !s || !ksyms_find(s, "__per_cpu_offset", &sym)) &&
	    g->has_section_offset && !percpu_base(k, cpu, &offset)) {
		*ret = offset + g->section_offset;
		return 0;
	}
	if (!g->has_addr || !s || !ksyms_find(s, "__per_cpu_offset", &sym)) {
		int err =
			diag_error(k->diag, -ENOENT,
				   "this kernel's symbol list does not say where per-CPU data is");
		if (s && !s->has_data)
			diag_hint(k->diag, "it has functions only: CONFIG_KALLSYMS_ALL is off");
		return err;
	}
	int err = kspace_read(k, sym.addr + (u64)cpu * sizeof(offset), &offset, sizeof(offset),
			      "__per_cpu_offset");
	if (!err)
		*ret = g->addr + offset;
	return err;
}

/* ---- tasks ----------------------------------------------------------------------------------------------------------------- */

int kspace_current(struct kspace *k, u64 *ret)
{
	struct memory *m;
	int err = kspace_memory(k, &m);
	if (!err && k->context) {
		*ret = k->context;
		return 0;
	}
	if (!err && k->dump)
		return kspace_dump_current(k, ret);
	if (!err) {
		err = memory_current_task(m, ret);
		if (err)
			(void)diag_error(k->diag, err, "%s cannot tell which task this is",
					 m->ops->name);
	}
	return err;
}

/* The first task is its own parent, and everybody's ancestor. */
int kspace_init_task(struct kspace *k, u64 *ret)
{
	const struct ksyms *s = kspace_try_syms(k);
	struct ksym sym;
	u64 task, parent, offset;
	int err = 0;
	if (k->init_task) {
		*ret = k->init_task;
		return 0;
	}
	if (s && ksyms_find(s, "init_task", &sym)) {
		*ret = k->init_task = sym.addr;
		return 0;
	}
	err = kspace_offset(k, "task_struct", "real_parent", &offset);
	if (!err)
		err = kspace_current(k, &task);
	for (unsigned i = 0; !err && i < PARENTS_MAX; i++) {
		err = kspace_read(k, task + offset, &parent, sizeof(parent), "a task's parent");
		if (!err && parent == task) {
			*ret = k->init_task = task;
			return 0;
		}
		task = parent;
	}
	return err ? err : -ELOOP;
}
