/* struct, union and enum definitions of the script, laid out as C compilers do. */
#pragma once

#include "lang/check.h"
#include "lang/parse.h"

struct cdef_member {
	const char *name; /* NULL: an anonymous struct or union */
	struct type_spec *spec; /* or inner */
	struct cdef *inner;
	u32 counts[4]; /* of an array, the outermost first; 0: none */
	u32 nr_counts;
	s32 bits; /* -1: no bitfield */
	struct cdef_member *next;
};

struct cdef {
	const char *name; /* "" for none */
	bool is_union, is_packed;
	struct cdef_member *members;
	u32 nr;
	u32 start, len;
	struct program_type *type; /* by check */
	u32 align;
	struct cdef *next;
};

/* An enumerator. */
struct cdef_constant {
	const char *name;
	s64 value;
	const struct cdef_enum *of; /* NULL: of an enum without a name */
	struct cdef_constant *next;
};

struct cdef_enum {
	const char *name;
	const struct program_type *type; /* by check */
	struct cdef_enum *next;
};

/* typedef spec name; or of a struct that is defined in it: inner. */
struct cdef_alias {
	const char *name;
	struct type_spec *spec;
	struct cdef *inner;
	bool busy; /* being looked up */
	struct cdef_alias *next;
};

/* The next word is struct, union, enum or typedef. */
void cdef_parse(struct parser *p);
/* NULL: the script defines no such type; or an error was added. name: "struct x", "enum x" or "x". */
const struct program_type *cdef_type(struct checker *c, const char *name);
bool cdef_find_constant(const struct checker *c, const char *name, s64 *ret);
