/*
 * BTF, the kernel's description of its own types (/sys/kernel/btf/vmlinux, and a file for each module): types by number and by name, members
 * through anonymous structs, and what the arguments and the result of a function are called and how they are to be printed.
 *
 * One walk over the types at the start notes where each begins; everything after it is a look at the bytes where they lie. Every
 * offset and type number is checked: what points outside, or in circles, is as if it were not there. Both byte orders. Names are found
 * through a table that the first question builds: threads that share a btf call btf_index() before.
 */
#pragma once

#include "base/strbuf.h"
#include "base/types.h"

enum { BTF_ARGS_MAX = 16 };

struct btf {
	const u8 *data;
	bool swap;
	const char *strings;
	u32 strings_len;
	u32 first; /* number of the first type that is in here */
	u32 first_string;
	u32 nr; /* types in here */
	u32 *offsets; /* of each, in data */
	size_t types_end; /* in data */
	struct btf *base; /* a module's names and types go on where the kernel's end */
	u32 *index; /* open addressing: numbers of named types; 0: free. NULL until it is needed */
	u32 index_mask;
};

enum btf_kind {
	BTF_OF_VOID, /* number 0 */
	BTF_OF_INT,
	BTF_OF_POINTER,
	BTF_OF_ARRAY,
	BTF_OF_STRUCT,
	BTF_OF_UNION,
	BTF_OF_ENUM,
	BTF_OF_FORWARD,
	BTF_OF_TYPEDEF,
	BTF_OF_VOLATILE,
	BTF_OF_CONST,
	BTF_OF_RESTRICT,
	BTF_OF_FUNCTION,
	BTF_OF_PROTOTYPE,
	BTF_OF_VARIABLE,
	BTF_OF_SECTION, /* DATASEC: variables and where they are in it */
	BTF_OF_FLOAT,
	BTF_OF_DECL_TAG,
	BTF_OF_TYPE_TAG,
	BTF_OF_ENUM64,
	BTF_NR_KINDS,
};

/* One type. What its kind does not have is 0. */
struct btf_desc {
	u32 id;
	enum btf_kind kind;
	const char *name; /* borrowed; "" for none */
	u32 size; /* bytes, of what has a size of its own */
	u32 ref; /* the type that it points to, is called, qualifies, returns or is an array of */
	u32 nr; /* members, parameters, values, variables; elements of an array */
	bool is_signed, is_bool, is_char; /* INT; is_signed: ENUM and ENUM64, too */
	bool is_union; /* FORWARD */
	bool bitfields; /* STRUCT, UNION: members have a width */
	u8 bits, bit_offset; /* INT */
	u32 linkage; /* FUNCTION, VARIABLE */
	s32 component; /* DECL_TAG: the member or parameter; -1: all of it */
	size_t at; /* of its parts in the bytes */
	const struct btf *in; /* that has the bytes */
};

/* A member, parameter, value or variable. */
struct btf_part {
	const char *name; /* "" for none */
	u32 type; /* 0: none, void, or the three dots */
	u64 bit_offset; /* member; variable: 8 times its offset in the section */
	u32 bits; /* of a bitfield; 0: as wide as its type */
	u32 size; /* variable */
	s64 value; /* of an enum */
};

enum btf_shape {
	BTF_VOID,
	BTF_SIGNED,
	BTF_UNSIGNED,
	BTF_BOOL,
	BTF_ENUM,
	BTF_POINTER,
	BTF_STRING, /* a pointer to char that nobody writes through */
	BTF_OTHER, /* a struct, a float, something broken: not in one register */
};

struct btf_value {
	const char *name; /* borrowed; "" for none */
	enum btf_shape shape;
	u32 bytes;
};

struct btf_function {
	u32 nr_args; /* at most BTF_ARGS_MAX are in args */
	bool variadic;
	struct btf_value args[BTF_ARGS_MAX];
	struct btf_value result;
};

/* data is borrowed. base: NULL, or the kernel's for a module's. -EBADMSG: not BTF; -ENOMEM. */
int btf_open_memory(struct btf *b, const void *data, size_t size, struct btf *base) must_check;
void btf_close(struct btf *b);
/* The table of names, its base's included. -ENOMEM. */
int btf_index(struct btf *b) must_check;

/* false: no such type. Number 0 is void. */
bool btf_describe(const struct btf *b, u32 id, struct btf_desc *ret);
/* The same past typedefs, qualifiers and tags; false also when they go in circles. */
bool btf_resolve(const struct btf *b, u32 id, struct btf_desc *ret);
/* Part i of a type; false: it has no such part. */
bool btf_part(const struct btf *b, const struct btf_desc *of, u32 i, struct btf_part *ret);
/* Bytes of a value of this type; 0: it has none (void, a function, something broken). */
u64 btf_size(const struct btf *b, u32 id);
/* "const struct file *", "int [4]"; bounded, whatever the types say. */
void btf_name_type(const struct btf *b, u32 id, struct strbuf *to);

/* A mask of kinds for btf_find(). */
#define BTF_BIT(kind) (1u << (kind))
/* The first type of this name and one of these kinds, in here, then in base; 0: none. -ENOMEM through *err where it is not NULL. */
u32 btf_find(struct btf *b, const char *name, u32 kinds, int *err);
/*
 * A member of a struct or union (or what a typedef of one means) by its name, also inside of anonymous ones: bit_offset counts from the
 * start of the outer one. -ENOENT.
 */
int btf_find_member(const struct btf *b, u32 id, const char *name, struct btf_part *ret) must_check;
/* A member whose name is closest, for messages; false: none is close. Borrowed. */
bool btf_closest_member(const struct btf *b, u32 id, const char *name, const char **ret);

/* The prototype of a function by name; -ENOENT, -ENOMEM. */
int btf_find_prototype(struct btf *b, const char *name, struct btf_desc *ret) must_check;
/* What one value of this type is. */
struct btf_value btf_value_of(const struct btf *b, u32 id);
/* -ENOENT: no function of this name; -ENOMEM. */
int btf_find_function(struct btf *b, const char *name, struct btf_function *ret) must_check;
/* Its number among all types: what a program is told to attach to. -ENOENT, -ENOMEM. */
int btf_function_id(struct btf *b, const char *name, u32 *ret) must_check;
