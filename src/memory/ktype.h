/* A type of the kernel as expressions use it: one of BTF, perhaps with pointers or an array on top that BTF does not have. */
#pragma once

#include "base/strbuf.h"
#include "image/btf.h"

struct ktype {
	const struct btf *b;
	u32 id;
	u8 pointers; /* to it */
	bool is_array; /* of elements of all that */
	u64 elements;
	/* Those that BTF may not have at all: whole numbers that came out of arithmetic. */
	bool is_number;
	bool is_unsigned; /* a number of 8 bytes */
};

/* What it is past typedefs and qualifiers: BTF_OF_INT, _POINTER, _ARRAY, _STRUCT ... _VOID also for what is broken. d: of BTF, or zeroed. */
enum btf_kind ktype_kind(const struct ktype *t, struct btf_desc *d);
u64 ktype_size(const struct ktype *t);
/* What it points to, or is an array of. false: neither. */
bool ktype_target(const struct ktype *t, struct ktype *ret);
u64 ktype_elements(const struct ktype *t); /* of an array */
bool ktype_is_signed(const struct ktype *t);
/* "struct ftrace_ops *" */
void ktype_name(const struct ktype *t, struct strbuf *to);
/* With a name in it: "struct hlist_head kprobe_table[64]". */
void ktype_declare(const struct ktype *t, const char *name, struct strbuf *to);

static inline struct ktype ktype_of(const struct btf *b, u32 id)
{
	return (struct ktype){ .b = b, .id = id };
}
static inline struct ktype ktype_number(bool is_unsigned)
{
	return (struct ktype){ .is_number = true, .is_unsigned = is_unsigned };
}
static inline struct ktype ktype_pointer_to(struct ktype t)
{
	t.pointers++;
	return t;
}
