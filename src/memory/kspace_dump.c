#include "memory/kspace_dump.h"

#include "memory/eval.h"
#include "memory/kmodules.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	BTF_MAX = 64 << 20,
	MODULE_SYMS_MAX = 1 << 18,
	STRINGS_MAX = 16 << 20,
	CPUS_MAX = 8192,
	SYMBOL_NAME_MAX = 512,
	MODULE_NAME_MAX = 64,
	MODULES_MAX = 4096,
};

int kspace_open_dump(struct kspace *k)
{
	if (k->dump)
		return 0;
	if (k->dump_err)
		return k->dump_err;
	k->dump_err = dump_open(k->opts.dump, &k->dump, k->diag);
	return k->dump_err;
}

/* ---- types ----------------------------------------------------------------------------------------------------------------- */

int kspace_dump_types(struct kspace *k, void **bytes, size_t *size)
{
	struct ksym start, stop;
	const struct ksyms *s;
	int err = kspace_syms(k, &s);
	if (err)
		return err;
	if (!ksyms_find(s, "__start_BTF", &start) || !ksyms_find(s, "__stop_BTF", &stop) ||
	    stop.addr <= start.addr || stop.addr - start.addr > BTF_MAX)
		return -ENOENT;
	*size = (size_t)(stop.addr - start.addr);
	if (!budget_bytes(&dump_vmcore(k->dump)->file.budget, *size, "types (BTF)"))
		return -E2BIG;
	void *room = malloc(*size);
	if (!room)
		return -ENOMEM;
	err = memory_read(dump_memory(k->dump), start.addr, room, *size);
	if (err)
		free(room);
	else
		*bytes = room;
	return err;
}

/* The copies that the kernel made of the modules' BTF: the modules' own are gone once they are loaded. */
struct module_types {
	struct kspace *k;
	u64 btf, module, data, size,
		name; /* btf_module.btf and .module, btf.data and .data_size, module.name */
	int (*add)(struct kspace *k, const char *name, void *bytes, size_t size);
};

static int each_types(void *ctx, const struct walk_node *node)
{
	struct module_types *w = ctx;
	struct memory *mem = dump_memory(w->k->dump);
	char name[MODULE_NAME_MAX];
	u64 btf, module, data;
	u32 size;
	bool cut;
	if (memory_read(mem, node->addr + w->btf, &btf, sizeof(btf)) ||
	    memory_read(mem, node->addr + w->module, &module, sizeof(module)) ||
	    memory_read_text(mem, module + w->name, name, sizeof(name), &cut) ||
	    memory_read(mem, btf + w->data, &data, sizeof(data)) ||
	    memory_read(mem, btf + w->size, &size, sizeof(size)) || !size || size > BTF_MAX ||
	    !budget_bytes(&dump_vmcore(w->k->dump)->file.budget, size, "types of modules"))
		return 0;
	void *room = malloc(size);
	if (!room)
		return -ENOMEM;
	if (!memory_read(mem, data, room, size))
		return w->add(w->k, name, room, size);
	free(room);
	return 0;
}

int kspace_dump_module_types(struct kspace *k, int (*add)(struct kspace *k, const char *name,
							  void *bytes, size_t size))
{
	struct module_types w = { .k = k, .add = add };
	struct walk_list list = { .kind = WALK_LIST_HEAD, .limit = MODULES_MAX };
	struct walk_result r;
	struct ksym sym;
	const struct eval_offset rows[] = { { "btf_module", "list", &list.offset, false },
					    { "btf_module", "btf", &w.btf, false },
					    { "btf_module", "module", &w.module, false },
					    { "btf", "data", &w.data, false },
					    { "btf", "data_size", &w.size, false },
					    { "module", "name", &w.name, false } };
	const struct ksyms *s = kspace_try_syms(k);
	if (!s || !ksyms_find(s, "btf_modules", &sym))
		return -ENOENT;
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (err)
		return err;
	list.start = sym.addr;
	return walk_list(k, &list, each_types, &w, &r);
}

/* ---- symbols of modules ---------------------------------------------------------------------------------------------------- */

struct module_syms {
	struct kspace *k;
	struct strbuf *to;
	u64 kallsyms, symtab, num, strtab, typetab; /* module.kallsyms, and in struct mod_kallsyms */
};

/* The letter: from the table that the kernel made when it loaded the module, else code or data. */
static char letter_of(const Elf64_Sym *s, char type)
{
	bool weak = ELF64_ST_BIND(s->st_info) == STB_WEAK;
	if ((type >= 'a' && type <= 'z') || (type >= 'A' && type <= 'Z'))
		return type;
	return weak ? 'w' : ELF64_ST_TYPE(s->st_info) == STT_FUNC ? 't' : 'd';
}

static void print_module_symbol(struct strbuf *to, const Elf64_Sym *s, char type, const char *name,
				const char *module)
{
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~')
			return;
	strbuf_hex(to, s->st_value);
	strbuf_printf(to, " %c %s\t[%s]\n", letter_of(s, type), name, module);
}

static int each_symbols(void *ctx, const struct kmodule *m)
{
	struct module_syms *w = ctx;
	struct memory *mem = dump_memory(w->k->dump);
	u64 table, symtab, strtab, typetab = 0;
	u32 nr;
	if (memory_read(mem, m->addr + w->kallsyms, &table, sizeof(table)) || !table ||
	    memory_read(mem, table + w->symtab, &symtab, sizeof(symtab)) ||
	    memory_read(mem, table + w->num, &nr, sizeof(nr)) ||
	    memory_read(mem, table + w->strtab, &strtab, sizeof(strtab)) || !nr ||
	    nr > MODULE_SYMS_MAX)
		return 0;
	if (w->typetab != EVAL_NO_OFFSET &&
	    memory_read(mem, table + w->typetab, &typetab, sizeof(typetab)))
		typetab = 0;
	if (!budget_bytes(&dump_vmcore(w->k->dump)->file.budget, (u64)nr * (sizeof(Elf64_Sym) + 64),
			  "symbols of modules"))
		return -E2BIG;
	Elf64_Sym *syms = malloc(nr * sizeof(*syms));
	char *types = calloc(1, nr);
	int err = syms && types ? 0 : -ENOMEM;
	if (!err && !memory_read(mem, symtab, syms, nr * sizeof(*syms))) {
		if (typetab && memory_read(mem, typetab, types, nr))
			memset(types, 0, nr);
		for (u32 n = 0; n < nr; n++) {
			char name[SYMBOL_NAME_MAX];
			bool cut;
			if (syms[n].st_shndx == SHN_UNDEF || !syms[n].st_value ||
			    syms[n].st_name > STRINGS_MAX ||
			    memory_read_text(mem, strtab + syms[n].st_name, name, sizeof(name),
					     &cut) ||
			    cut || !*name)
				continue;
			print_module_symbol(w->to, &syms[n], types[n], name, m->name);
		}
	}
	free(syms);
	free(types);
	return err;
}

/* What is missing here is not worth an error: the kernel's own symbols are there. */
static void add_module_symbols(struct kspace *k, struct strbuf *to)
{
	struct module_syms w = { .k = k, .to = to };
	struct walk_result r;
	struct diag quiet, *diag = k->diag;
	const struct eval_offset rows[] = { { "module", "kallsyms", &w.kallsyms },
					    { "mod_kallsyms", "symtab", &w.symtab },
					    { "mod_kallsyms", "num_symtab", &w.num },
					    { "mod_kallsyms", "strtab", &w.strtab },
					    { "mod_kallsyms", "typetab", &w.typetab, true } };
	diag_init(&quiet);
	k->diag = &quiet;
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = kmodules_each(k, each_symbols, &w, &r);
	k->diag = diag;
	if (err)
		diag_warn(k->diag, "symbols of modules could not be read from the dump");
	diag_done(&quiet);
}

int kspace_dump_symbols(struct kspace *k)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = kspace_open_dump(k);
	if (!err)
		err = dump_symbols(k->dump, &text, k->diag);
	if (!err)
		err = ksyms_open_text(&k->syms, strbuf_cstr(&text), text.len);
	if (!err) {
		size_t own = text.len;
		k->has_syms = true;
		add_module_symbols(k, &text);
		if (text.len != own) {
			ksyms_close(&k->syms);
			err = ksyms_open_text(&k->syms, strbuf_cstr(&text), text.len);
			k->has_syms = !err;
		}
	}
	strbuf_done(&text);
	return err;
}

/* ---- what this system would say of itself ---------------------------------------------------------------------------------- */

int kspace_dump_current(struct kspace *k, u64 *ret)
{
	struct kvalue v;
	int err = eval_text(k, "runqueues:0.curr", &v);
	return err ? err : eval_number(k, &v, ret);
}

u32 kspace_dump_cpus(struct kspace *k)
{
	u32 nr = 0;
	struct ksym sym;
	const struct ksyms *s = kspace_try_syms(k);
	if (s && ksyms_find(s, "nr_cpu_ids", &sym) &&
	    !memory_read(dump_memory(k->dump), sym.addr, &nr, sizeof(nr)) && nr && nr <= CPUS_MAX)
		return nr;
	nr = k->dump ? (u32)dump_vmcore(k->dump)->cpus.nr : 0;
	return max(nr, 1u);
}
