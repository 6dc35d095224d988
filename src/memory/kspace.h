/*
 * What is inspected: a kernel's memory, types and symbols, each opened when it is first needed, and what it says of itself: which
 * source answered. Owned by one thread.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/vec.h"
#include "memory/dump.h"
#include "memory/ktype.h"
#include "memory/ksyms.h"
#include "memory/memory.h"

enum kspace_memory { KSPACE_MEMORY_AUTO, KSPACE_MEMORY_BPF, KSPACE_MEMORY_KCORE };

struct kspace_opts {
	const char *root; /* NULL or "": this system; a test's folder */
	const char *cache; /* folder where the symbol list is kept for this boot; NULL: not at all */
	enum kspace_memory memory;
	const char *dump; /* a dump of another kernel; NULL: the running one */
};

/* A module's types. */
struct kspace_module {
	char *name;
	void *bytes;
	struct btf btf;
};

struct kspace {
	struct kspace_opts opts;
	struct diag *diag;
	struct arena arena;

	/* Of kspace.c. */
	struct crash_dump *dump; /* NULL: none, or not opened yet */
	int dump_err;
	struct memory *memory; /* NULL: not opened yet */
	void *btf_bytes;
	size_t btf_size;
	bool btf_mapped;
	struct btf btf;
	bool has_types;
	VEC(struct kspace_module *) modules;
	bool modules_read;
	struct ksyms syms;
	bool has_syms, tried_syms;
	int syms_err;
	u64 init_task; /* 0: not found yet */
	u64 context; /* the task that $current refers to; 0: the calling one */
	u32 nr_cpus; /* that may exist; 0: not asked yet */
	u64 *percpu_bases; /* of percpu.c: each CPU's copy of the section; NULL: not looked for yet */
	u64 linear_start; /* of kphys.c: where physical address 0 is in the linear mapping; 0: not looked for yet */
	bool table_used; /* a type came from the table of globals */
	bool btf_used; /* a type came from BTF */
};

/* Nothing is opened yet. The options' strings and the diag are borrowed. */
void kspace_init(struct kspace *k, const struct kspace_opts *o, struct diag *d);
void kspace_done(struct kspace *k);

/* Each: 0, or negative errno with a diag that says why, and what helps. */
int kspace_memory(struct kspace *k, struct memory **ret) must_check;
int kspace_types(struct kspace *k, struct btf **ret) must_check;
int kspace_syms(struct kspace *k, const struct ksyms **ret) must_check;
/* The same without a diag, for those who can do without names: NULL. */
const struct ksyms *kspace_try_syms(struct kspace *k);

/* With a diag of its own for addresses that cannot be read: what is what was to be read. */
int kspace_read(struct kspace *k, u64 addr, void *to, size_t size, const char *what) must_check;

/* A type by name, in the kernel's types, then in those of its modules. kinds: BTF_BIT(). false: none. */
bool kspace_find_type(struct kspace *k, const char *name, u32 kinds, struct ktype *ret);
/* The constant of an enum by name. */
bool kspace_find_constant(struct kspace *k, const char *name, s64 *value, struct ktype *ret);
/* "struct list_head *": -ENOENT with a diag, -EINVAL. text: the whole that a caret points into, from start on. */
struct cexpr_type;
int kspace_type(struct kspace *k, const struct cexpr_type *t, const char *text,
		struct ktype *ret) must_check;
int kspace_type_text(struct kspace *k, const char *text, struct ktype *ret) must_check;

/* A variable or function. */
struct kspace_global {
	u64 addr; /* of a per-CPU one: not of any CPU's copy */
	struct ktype type; /* b NULL: not known */
	bool is_function, is_per_cpu;
	bool has_addr;
	bool has_section_offset; /* per-CPU: BTF says where it is in the section */
	u64 section_offset;
};
/* -ENOENT with a diag. */
int kspace_global(struct kspace *k, const char *name, struct kspace_global *ret) must_check;
/* The type that the table gives a global, as text; NULL: it has none. */
const char *kspace_global_type(const char *name);
int kspace_per_cpu(struct kspace *k, const struct kspace_global *g, u32 cpu, u64 *ret) must_check;
/* CPUs that may exist. */
u32 kspace_nr_cpus(struct kspace *k);
u32 kspace_page_size(const struct kspace *k);
/* Whether it is a kernel of x86_64: this one, or the dump's. */
bool kspace_is_x86(const struct kspace *k);
/* Bytes of the machine's memory. */
u64 kspace_machine_bytes(const struct kspace *k);

/* Tasks without a symbol: ours by BPF, and up its parents to the first of all. */
int kspace_current(struct kspace *k, u64 *ret) must_check;
int kspace_init_task(struct kspace *k, u64 *ret) must_check;

/* A member's offset in bytes; 0 and a diag is false. For walks over structures the caller knows by name. */
int kspace_offset(struct kspace *k, const char *type, const char *member, u64 *ret) must_check;

/* "symbol+0x10 [module]" of an address; false and nothing added: no symbol covers it. decimal: the offset, as crash writes it in dis. */
bool kspace_name_address(struct kspace *k, u64 addr, bool decimal, struct strbuf *to);
