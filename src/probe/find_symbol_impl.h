/* Shared by the files that find functions in symbol tables: nobody else includes it. */
#pragma once

#include "image/elf.h"
#include "probe/probe.h"

struct symbol_match {
	const char *name; /* in the arena of the search */
	const char *module; /* kernel: or NULL */
	u64 start; /* kernel: address, 0: hidden; file: offset in it */
	u64 size; /* 0: not known */
	bool is_ifunc;
	bool is_clone; /* FUNC.isra.0 and its like, for FUNC */
	bool is_refused; /* kernel: on its list of functions without probes */
};

struct symbol_search {
	const struct probe_target *target;
	const struct probe_request *request;
	struct diag *diag;
	struct arena arena;
	VEC(struct symbol_match) at;
	u32 machine; /* EM_* of the code */
	bool is64;
	char closest[128]; /* when nothing matched; "" for none */
	bool is_stripped; /* the file has no full symbol table */
	u64 ends_at, should_end_at; /* of a truncated file; 0: it is whole */
};

void symbol_search_init(struct symbol_search *s, const struct probe_target *target,
			const struct probe_request *request, struct diag *d);
void symbol_search_done(struct symbol_search *s);
/* What the function of the request (a glob, or a name) means. -ENOENT without a diag: nothing. */
int symbol_search_kernel(struct symbol_search *s) must_check;
int symbol_search_file(struct symbol_search *s) must_check;
/* Adds one that is not there yet; the name is copied. */
int symbol_search_add(struct symbol_search *s, const struct symbol_match *m) must_check;
/* FUNC of FUNC.isra.0, FUNC.constprop.0.part.1 ...: a copy that the compiler made; .cold is not an entry. */
bool symbol_is_clone(const char *name, size_t len, const char *of);

/* Bytes of a function, up to size; the caller's. -ENODATA: they cannot be read. */
int symbol_code(const struct symbol_search *s, const struct symbol_match *m, size_t size, u8 **ret,
		size_t *ret_size) must_check;
