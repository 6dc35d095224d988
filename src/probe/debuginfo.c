#include "probe/debuginfo.h"
#include "image/buildid.h"
#include "image/dwarf_info.h"
#include "image/kimage.h"
#include "kern/sysroot.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- where images are ---- */

static const char *root_of(const struct probe_target *t)
{
	return t->root ? t->root : "";
}

static bool fill_path(char to[PATH_MAX], const char *root, const char *before, const char *release,
		      const char *after)
{
	int n = snprintf(to, PATH_MAX, "%s%s%s%s", root, before, release, after);
	return n > 0 && n < PATH_MAX;
}

static bool read_file(const char *root, const char *path, struct strbuf *to)
{
	struct sysroot r;
	if (sysroot_open(&r, *root ? root : NULL))
		return false;
	int err = sysroot_read(&r, path, to);
	sysroot_close(&r);
	return !err;
}

static bool release_of(const char *root, char to[128])
{
	struct strbuf text;
	strbuf_init(&text);
	bool good = read_file(root, "proc/sys/kernel/osrelease", &text);
	if (good)
		snprintf(to, 128, "%.*s", (int)strcspn(strbuf_cstr(&text), "\n"),
			 strbuf_cstr(&text));
	strbuf_done(&text);
	return good && *to;
}

/* The build ID of the kernel that runs; empty: not known. */
static struct buildid running_id(const char *root)
{
	struct strbuf notes;
	struct buildid id = { 0 };
	strbuf_init(&notes);
	if (!read_file(root, "sys/kernel/notes", &notes) ||
	    buildid_of_notes(notes.data, notes.len, 4, false, &id))
		id.size = 0;
	strbuf_done(&notes);
	return id;
}

static const char *const vmlinux_places[][2] = {
	{ "/usr/lib/debug/boot/vmlinux-", "" },
	{ "/usr/lib/debug/lib/modules/", "/vmlinux" },
	{ "/usr/lib/debug/lib/modules/", "/vmlinux.debug" },
	{ "/lib/modules/", "/build/vmlinux" },
	{ "/lib/modules/", "/vmlinux" },
	{ "/boot/vmlinux-", "" },
};

static int open_running_kernel(struct debuginfo *i, struct diag *d)
{
	const char *root = root_of(i->target);
	char release[128] = "";
	struct buildid want = running_id(root), have;
	bool known = release_of(root, release);
	for (u32 n = 0; known && n < ARRAY_SIZE(vmlinux_places); n++) {
		if (!fill_path(i->path, root, vmlinux_places[n][0], release, vmlinux_places[n][1]) ||
		    elfimg_open(&i->image, i->path, NULL))
			continue;
		if (!want.size || buildid_of_image(&i->image, &have) || buildid_equal(&have, &want))
			return 0;
		elfimg_close(&i->image);
	}
	if (want.size && !debugfile_open_id(&i->where, &want, &i->image)) {
		i->path[0] = '\0';
		return 0;
	}
	diag_error(d, -ENODATA, "no debug information for the running kernel (%s)", release);
	diag_hint(
		d, "install its debug package (linux-image-%s-dbg on Debian), or name a vmlinux with -k",
		release);
	return -ENODATA;
}

/* A line of modules.dep begins with the module's path. */
static bool module_path(const char *deps, const char *name, char *to, size_t size)
{
	for (const char *line = deps; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t n = strcspn(line, ":\n");
		const char *base = line + n;
		while (base > line && base[-1] != '/')
			base--;
		size_t k = 0;
		while (name[k] && base + k < line + n &&
		       (base[k] == name[k] || (base[k] == '-' && name[k] == '_')))
			k++;
		if (!name[k] && base + k < line + n && !strncmp(base + k, ".ko", 3)) {
			snprintf(to, size, "%.*s", (int)n, line);
			return true;
		}
	}
	return false;
}

static int open_module(struct debuginfo *i, struct diag *d)
{
	const char *root = root_of(i->target);
	char release[128], below[PATH_MAX], deps_path[256];
	struct strbuf deps;
	strbuf_init(&deps);
	bool found = release_of(root, release);
	snprintf(deps_path, sizeof(deps_path), "lib/modules/%s/modules.dep", found ? release : "");
	found = found && read_file(root, deps_path, &deps) &&
		module_path(strbuf_cstr(&deps), i->target->module, below, sizeof(below));
	strbuf_done(&deps);
	int n = -1;
	if (found)
		n = snprintf(i->path, PATH_MAX, "%s/usr/lib/debug/lib/modules/%s/%s", root, release,
			     below);
	if (n > 0 && n < PATH_MAX && !elfimg_open(&i->image, i->path, NULL))
		return 0;
	if (found)
		n = snprintf(i->path, PATH_MAX, "%s/lib/modules/%s/%s", root, release, below);
	if (n > 0 && n < PATH_MAX && !elfimg_open(&i->image, i->path, NULL))
		return 0;
	diag_error(d, -ENODATA, "no file of module '%s' that can be read", i->target->module);
	diag_hint(d, "install the kernel's debug package, or name the .ko file with -m");
	return -ENODATA;
}

static int open_named(struct debuginfo *i, struct diag *d)
{
	const char *path = i->target->path;
	int err = i->target->where == PROBE_KERNEL ? kimage_open(&i->image, path)
						   : elfimg_open(&i->image, path, NULL);
	if (err)
		return diag_error(d, err, "cannot read '%s': %s", path,
				  err == -ENOEXEC ? "not an ELF file" : strerror(-err));
	char *full = realpath(path, NULL);
	snprintf(i->path, sizeof(i->path), "%s", full ? full : path);
	free(full);
	return 0;
}

static u64 find_text(const struct debuginfo *i);

int debuginfo_open_image(struct debuginfo *i, const struct probe_target *target, struct diag *d)
{
	*i = (struct debuginfo){ .target = target };
	i->where.root = target->where == PROBE_BINARY || target->path ? "" : root_of(target);
	int err = target->path			  ? open_named(i, d)
		  : target->where == PROBE_KERNEL ? open_running_kernel(i, d)
						  : open_module(i, d);
	if (err)
		return err;
	i->arch = arch_of_elf(i->image.machine);
	if (target->where == PROBE_KERNEL)
		i->text = find_text(i);
	return 0;
}

/* ---- opening ---- */

static int no_information(struct debuginfo *i, struct diag *d)
{
	struct elfimg_symtab tab;
	u64 want;
	if (elfimg_lacks_end(&i->image, &want)) {
		diag_error(d, -ENODATA, "'%s' is truncated: it ends at byte %llu of at least %llu",
			   i->path, (unsigned long long)i->image.size, (unsigned long long)want);
		return -ENODATA;
	}
	bool stripped = !elfimg_symtab(&i->image, SHT_SYMTAB, &tab);
	diag_error(d, -ENODATA, "'%s' has no debug information%s", i->path,
		   stripped ? " and no symbol table" : "");
	if (i->target->where == PROBE_BINARY)
		diag_hint(d, "install its debug package (-dbgsym), or build it with -g");
	else
		diag_hint(d, "install the kernel's debug package, or name a vmlinux with -k");
	return -ENODATA;
}

static const struct elfimg *find_info(struct debuginfo *i)
{
	struct buildid id;
	if (dwinfo_has(&i->image))
		return &i->image;
	if (buildid_of_image(&i->image, &id))
		id.size = 0;
	if (debugfile_open(&i->where, i->path, &i->image, &id, &i->debug))
		return NULL;
	return dwinfo_has(&i->debug) ? &i->debug : NULL;
}

int debuginfo_open(struct debuginfo *i, const struct probe_target *target, struct diag *d)
{
	int err = debuginfo_open_image(i, target, d);
	if (err)
		return err;
	i->info = find_info(i);
	err = i->info ? dwcode_open(i->info, &i->where, i->path, &i->code) : no_information(i, d);
	if (!err)
		err = dwnames_open(i->code, i->info, target->cache, &i->names);
	if (err && err != -ENODATA && err != -ENOMEM) {
		diag_error(d, -ENODATA, "the debug information of '%s' cannot be read", i->path);
		err = -ENODATA;
	}
	if (err)
		debuginfo_close(i);
	return err;
}

void debuginfo_close(struct debuginfo *i)
{
	dwnames_close(i->names);
	dwcode_close(i->code);
	if (i->has_cfi)
		cfi_done(&i->cfi);
	elfimg_close(&i->debug);
	elfimg_close(&i->image);
	i->code = NULL;
	i->names = NULL;
}

/* ---- frames and registers ---- */

static bool build_cfi(struct debuginfo *i)
{
	if (!i->arch)
		return false;
	if (!cfi_build(&i->cfi, i->arch, &i->image, &i->image))
		return true;
	return i->debug.data && !cfi_build(&i->cfi, i->arch, &i->debug, &i->image);
}

bool debuginfo_cfa(void *ctx, u64 pc, u32 *reg, s64 *offset)
{
	struct debuginfo *i = ctx;
	u64 at;
	if (!i->cfi_tried) {
		i->cfi_tried = true;
		i->has_cfi = build_cfi(i);
	}
	const struct cfi_rule *rule =
		i->has_cfi && debuginfo_offset(i, pc, &at) ? cfi_find(&i->cfi, at) : NULL;
	if (!rule || rule->cfa != CFI_CFA_REG)
		return false;
	*reg = rule->cfa_reg;
	*offset = rule->cfa_value;
	return true;
}

static const char *const x86_64_regs[] = { "%ax",  "%dx",  "%cx",  "%bx", "%si",  "%di",
					   "%bp",  "%sp",  "%r8",  "%r9", "%r10", "%r11",
					   "%r12", "%r13", "%r14", "%r15" };
static const char *const arm64_regs[] = {
	"%x0",	"%x1",	"%x2",	"%x3",	"%x4",	"%x5",	"%x6",	"%x7",	"%x8",	"%x9",	"%x10",
	"%x11", "%x12", "%x13", "%x14", "%x15", "%x16", "%x17", "%x18", "%x19", "%x20", "%x21",
	"%x22", "%x23", "%x24", "%x25", "%x26", "%x27", "%x28", "%x29", "%lr",	"%sp",
};

const char *debuginfo_register(const struct debuginfo *i, u32 reg)
{
	if (i->image.machine == EM_X86_64)
		return reg < ARRAY_SIZE(x86_64_regs) ? x86_64_regs[reg] : NULL;
	if (i->image.machine == EM_AARCH64)
		return reg < ARRAY_SIZE(arm64_regs) ? arm64_regs[reg] : NULL;
	return NULL;
}

/* ---- symbols ---- */

static bool is_code(const struct elfimg_sym *s)
{
	return s->type == STT_FUNC || s->type == STT_GNU_IFUNC || s->type == STT_NOTYPE;
}

/* In an object file a symbol counts from its section, code by its place in the file. */
static u64 address_of(const struct elfimg *e, const struct elfimg_sym *s)
{
	struct elfimg_section sec;
	bool moved = e->type == ET_REL && elfimg_section(e, s->shndx, &sec);
	return s->value + (moved ? sec.offset : 0);
}

static bool open_table(const struct debuginfo *i, u32 type, const struct elfimg **e,
		       struct elfimg_symtab *tab)
{
	*e = &i->image;
	if (elfimg_symtab(&i->image, type, tab))
		return true;
	*e = &i->debug;
	return i->debug.data && elfimg_symtab(&i->debug, type, tab);
}

static const u32 tables[] = { SHT_SYMTAB, SHT_DYNSYM };

/* Value and size of a symbol, for those that are passed over by the thousand. */
static bool may_hold(const struct elfimg *e, const struct elfimg_symtab *tab, size_t n, u64 addr)
{
	u64 value, size;
	if (!e->is64 || e->swap || e->type == ET_REL)
		return true;
	memcpy(&value, tab->syms + n * tab->entsize + offsetof(Elf64_Sym, st_value), sizeof(value));
	memcpy(&size, tab->syms + n * tab->entsize + offsetof(Elf64_Sym, st_size), sizeof(size));
	return value == addr || (value < addr && addr - value < size);
}

/* The kernel's own measure of addresses is the start of its code. */
static u64 find_text(const struct debuginfo *i)
{
	static const char *const first[] = { ".head.text", ".text" };
	struct elfimg_symtab tab;
	struct elfimg_section sec;
	for (u32 k = 0; k < ARRAY_SIZE(first); k++) {
		if (!elfimg_section_by_name(&i->image, first[k], &sec) ||
		    !elfimg_symtab(&i->image, SHT_SYMTAB, &tab))
			continue;
		for (size_t n = 1; n < tab.nr; n++) {
			struct elfimg_sym s;
			if (!may_hold(&i->image, &tab, n, sec.addr))
				continue;
			elfimg_sym(&i->image, &tab, n, &s);
			if (!strcmp(s.name, "_text"))
				return s.value;
		}
	}
	return 0;
}

bool debuginfo_symbol_at(const struct debuginfo *i, u64 addr, struct debuginfo_symbol *ret)
{
	struct elfimg_symtab tab;
	const struct elfimg *e;
	bool found = false;
	for (u32 t = 0; t < ARRAY_SIZE(tables) && !found; t++) {
		if (!open_table(i, tables[t], &e, &tab))
			continue;
		for (size_t n = 1; n < tab.nr; n++) {
			struct elfimg_sym s;
			if (!may_hold(e, &tab, n, addr))
				continue;
			elfimg_sym(e, &tab, n, &s);
			if (!is_code(&s) || !s.shndx || !*s.name || address_of(e, &s) > addr)
				continue;
			u64 at = address_of(e, &s);
			bool holds = addr < at + s.size || (!s.size && at == addr);
			/* Global names before local ones, and functions before labels. */
			bool better = !found || at > ret->addr ||
				      (at == ret->addr && s.bind != STB_LOCAL && s.type == STT_FUNC);
			if (holds && better && !(found && at == ret->addr && s.bind == STB_WEAK)) {
				*ret = (struct debuginfo_symbol){ s.name, at, s.size };
				found = true;
			}
		}
	}
	return found;
}

bool debuginfo_symbol(const struct debuginfo *i, const char *name, bool data,
		      struct debuginfo_symbol *ret)
{
	struct elfimg_symtab tab;
	const struct elfimg *e;
	size_t len = strlen(name);
	for (u32 t = 0; t < ARRAY_SIZE(tables); t++) {
		if (!open_table(i, tables[t], &e, &tab))
			continue;
		for (size_t n = 1; n < tab.nr; n++) {
			struct elfimg_sym s;
			elfimg_sym(e, &tab, n, &s);
			if (s.shndx && (data || is_code(&s)) && !strncmp(s.name, name, len) &&
			    (!s.name[len] || s.name[len] == '@')) {
				*ret = (struct debuginfo_symbol){ s.name, address_of(e, &s),
								  s.size };
				return true;
			}
		}
	}
	return false;
}

bool debuginfo_offset(const struct debuginfo *i, u64 addr, u64 *ret)
{
	if (i->image.type == ET_REL) {
		*ret = addr;
		return true;
	}
	return elfimg_offset_of(&i->image, addr, ret);
}
