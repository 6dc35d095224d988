/*
 * The layout of an event's raw payload: which fields, where, how wide, and how a person sees them. Analyses read
 * next_pid through it without knowing any format parser; views print through ops without knowing print fmt.
 */
#pragma once

#include "base/strbuf.h"
#include "base/types.h"

enum schema_field_flags {
	FIELD_SIGNED = 1 << 0,
	FIELD_ARRAY = 1 << 1, /* fixed number of elements */
	FIELD_STRING = 1 << 2, /* char array, or data_loc of chars */
	FIELD_DATA_LOC = 1 << 3, /* u32 length << 16 | offset from the record's start */
	FIELD_REL_LOC = 1 << 4, /* the same, offset from the end of this field */
	FIELD_POINTER = 1 << 5,
	FIELD_LONG = 1 << 6,
	FIELD_FLAG = 1 << 7, /* printed as a set of bits */
};

struct schema_field {
	const char *name;
	const char *type; /* as the kernel wrote it, blanks normalised: "unsigned long", "__data_loc char[]" */
	u32 offset;
	u32 size; /* bytes in the record (4 for data_loc) */
	u32 elem_size; /* of one element of an array, else size */
	u32 nr_elems; /* of a fixed array, else 1 */
	u32 flags;
};

struct schema;

struct schema_ops {
	/*
	 * Appends the text that the kernel's print fmt gives (no line end). 0, or -EBADMSG when the payload is too short;
	 * then whatever could be printed stands in `to`.
	 */
	int (*print)(const struct schema *s, const void *raw, u32 size, struct strbuf *to);
	/* Appends " name=value" for every field, numbers as libtraceevent's raw form. */
	int (*print_fields)(const struct schema *s, const void *raw, u32 size, struct strbuf *to);
};

struct schema {
	u32 id; /* the kernel's event id */
	const char *system;
	const char *name;
	const char *print_fmt; /* text after "print fmt:", or NULL */
	const struct schema_field *fields; /* common fields first */
	u32 nr_common;
	u32 nr_fields; /* common ones included */
	bool big_endian;
	u8 long_size;
	/* Indexes of the common fields, -1 when the format has none. */
	s8 common_type, common_flags, common_preempt_count, common_pid, common_lock_depth,
		common_migrate_disable;
	const struct schema_ops *ops;
	void *impl; /* of whoever made the schema */
};

/* NULL: no such field. */
const struct schema_field *schema_find(const struct schema *s, const char *name);
/* The field's number, sign-extended, byte order turned; 0 when it lies outside of the payload. Only 1, 2, 4, 8 bytes. */
u64 schema_u64(const struct schema *s, const struct schema_field *f, const void *raw, u32 size);
/*
 * The bytes of a string or array field (data_loc followed): *len bytes borrowed from raw; for strings *len stops before
 * the first NUL. NULL when it lies outside of the payload.
 */
const void *schema_bytes(const struct schema *s, const struct schema_field *f, const void *raw,
			 u32 size, u32 *len);
