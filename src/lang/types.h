/*
 * The types of values. Numbers are kept in 64 bits wherever the language keeps them (variables, maps, tuples, records for the ring);
 * their own size decides how they are read from memory, cut by casts and how they join. Everything in memory is padded to eight bytes
 * with zeros, and strings are zero behind their end: then keys and strings compare by their bytes.
 */
#pragma once

#include "base/arena.h"
#include "base/strbuf.h"
#include "model/program.h"

extern const struct program_type type_void, type_bool, type_s64, type_u64, type_u32, type_comm;

/* size: 1, 2, 4, 8 */
const struct program_type *type_int(u32 size, bool is_signed);
/* NULL: no memory, for all that allocate. size is rounded up. */
const struct program_type *type_string(struct arena *a, u32 size);
const struct program_type *type_plain(struct arena *a, enum program_type_kind kind, u32 size);
const struct program_type *type_pointer(struct arena *a, const struct program_type *to);
/* nr 0: of unknown length. */
const struct program_type *type_array(struct arena *a, const struct program_type *of, u32 nr);
const struct program_type *type_tuple(struct arena *a, const struct program_type *const *types,
				      u32 nr);

/* In one register. */
static inline bool type_is_scalar(const struct program_type *t)
{
	return t->kind == PROGRAM_INT || t->kind == PROGRAM_BOOL || t->kind == PROGRAM_POINTER ||
	       t->kind == PROGRAM_ENUM;
}
static inline bool type_is_number(const struct program_type *t)
{
	return t->kind == PROGRAM_INT || t->kind == PROGRAM_BOOL || t->kind == PROGRAM_ENUM;
}
static inline bool type_is_signed(const struct program_type *t)
{
	return (t->kind == PROGRAM_INT || t->kind == PROGRAM_ENUM) && t->is_signed;
}
static inline bool type_is_aggregate(const struct program_type *t)
{
	return t->kind >= PROGRAM_COUNT;
}
/* As it is in the memory of others: only copied as a whole, and read through its address. */
static inline bool type_is_raw(const struct program_type *t)
{
	return t->kind == PROGRAM_RECORD || t->kind == PROGRAM_ARRAY;
}
/* Bytes in a map, a tuple or a record. */
static inline u32 type_room(const struct program_type *t)
{
	return type_is_scalar(t) ? 8 : (t->size + 7) & ~7u;
}

bool type_equal(const struct program_type *a, const struct program_type *b);
/*
 * The type that holds values of both, or NULL: there is none. literal: b is a plain number, which takes the sign of the other.
 * Either is returned itself where it will do.
 */
const struct program_type *type_join(struct arena *ar, const struct program_type *a,
				     const struct program_type *b, bool a_literal, bool b_literal);
/* As a person writes it: "uint64", "string[16]", "(int64,string[16])". */
void type_text(const struct program_type *t, struct strbuf *to);

/* "int8", "unsigned long", "u32"; NULL: not the name of a number. */
const struct program_type *type_by_name(const char *name);
/* A tuple whose members have these names. */
const struct program_type *type_named(struct arena *a, const struct program_type *tuple,
				      const char *const *names);
