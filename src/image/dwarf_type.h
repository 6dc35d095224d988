/* Types as debugging information has them: what a variable is made of, and how a person writes it. */
#pragma once

#include "base/strbuf.h"
#include "image/dwarf_die.h"

enum dw_kind {
	DWTYPE_OTHER, /* functions, void, what has no kind of its own */
	DWTYPE_BASE,
	DWTYPE_ENUM,
	DWTYPE_POINTER, /* references, too */
	DWTYPE_ARRAY,
	DWTYPE_STRUCT, /* classes, too */
	DWTYPE_UNION,
};

/* The type of a variable, member, pointer or array, without qualifiers and typedefs. false: it has none (void). */
bool dwtype_of(const struct dw_die *d, struct dw_die *ret);
enum dw_kind dwtype_kind(const struct dw_die *type);
/* Bytes; 0: not known. Of arrays, what all elements take. */
u64 dwtype_size(const struct dw_die *type);
/* The size that the type's own entry states; 0: none (arrays). */
u64 dwtype_own_size(const struct dw_die *type);
bool dwtype_is_signed(const struct dw_die *type);
bool dwtype_is_float(const struct dw_die *type);
/* A pointer that is written as what it points to. */
bool dwtype_is_reference(const struct dw_die *type);
/* Whether a variable says where it is, and is not only declared. */
bool dwtype_has_location(const struct dw_die *var);
/* "char", signed or not. */
bool dwtype_is_char(const struct dw_die *type);
/* Appends the type of a variable as perf writes it: "struct sock*", "char[]". false: it cannot be written. */
bool dwtype_text(const struct dw_die *var, struct strbuf *to);

struct dw_member {
	struct dw_die die; /* its type: dwtype_of() */
	u64 offset; /* bytes from the start of the structure */
	u32 bits; /* a bit field's width; 0: none */
	u32 bit_at; /* its lowest bit, in a number of `bit_bytes` bytes at offset */
	u32 bit_bytes;
};

/* A member by name, looked for in unnamed structures and unions and in base classes, too. -ENOENT; -EBADMSG. */
int dwtype_member(const struct dw_die *type, const char *name, struct dw_member *ret) must_check;
/* The members' names, for advice: fn(ctx, name). */
void dwtype_each_member(const struct dw_die *type, void (*fn)(void *ctx, const char *name),
			void *ctx);
