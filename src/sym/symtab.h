/*
 * From addresses to symbols, in two ways.
 *
 * A sweep answers a sorted list of questions in one pass over symbols that come in any order. Most symbols cover no
 * question and are forgotten at once, so nothing as large as the table is ever copied, sorted or kept:
 *
 *	questions      q0        q1   q2             q3
 *	               │         │    │              │
 *	symbols   ├─a────┤  ├b┤ ├──c────────┤    .d (a label: no size)
 *	gaps      ◄──0──►◄───1──►◄─2─►◄──────3──────►◄──4──
 *
 * A symbol with a size is kept if a question lies in it (a, c). For labels, each gap between two questions remembers its
 * first and its last start: a label names the questions after it, up to the next symbol, unless a sized symbol covers them.
 *
 * A symtab is the flat, sorted, overlap-free table of everything, for those who ask one address at a time.
 */
#pragma once

#include "base/types.h"
#include "base/vec.h"

enum symtab_flags {
	SYMTAB_WEAK = 1 << 0,
	SYMTAB_LOCAL = 1 << 1,
	SYMTAB_PLT = 1 << 2, /* the name is that of the function that the stub calls */
	SYMTAB_BOUNDS =
		1 << 3, /* no symbol: only where it begins and ends is known; see symtab_name() */
};

/* Which of several symbols at one address names it. */
enum symtab_policy {
	SYMTAB_BEST, /* what a person expects: not weak, global, fewer leading underscores, the longer name, the first */
	SYMTAB_LAST, /* the last one told */
};

struct symtab_sym {
	u64 start;
	u64 end; /* end == start: no size known */
	u64 limit; /* where a symbol without size ends at the latest */
	const char *name; /* borrowed from whoever told it; NULL: none */
	u32 name_len; /* 0: up to the NUL */
	u32 seq;
	u8 flags; /* enum symtab_flags */
	bool data; /* an object, not a function */
};

/*
 * What to call it, before demangling: its name, or one made of its place ("func_0x22a240": the offset in the image) in `room`.
 */
enum { SYMTAB_NAME_ROOM = 32 };
const char *symtab_name(const struct symtab_sym *s, char room[SYMTAB_NAME_ROOM]);

struct symtab_gap {
	u64 first; /* smallest start in the gap */
	u64 last; /* greatest start */
	u64 covered; /* greatest end */
	u32 label; /* 1 + index of the label at `last`; 0: what starts there has a size, or no name */
	bool any; /* false: no symbol starts here */
};

struct sweep {
	const u64 *at; /* questions, ascending, distinct; the caller's */
	u32 nr;
	u32 gap; /* of the symbol before, because symbols often come in order */
	u32 seq;
	enum symtab_policy policy;
	u32 budget; /* names that may still be demangled for choosing among aliases */
	bool failed; /* no memory */
	struct symtab_gap *gaps; /* nr + 1 */
	VEC(struct symtab_sym) hits; /* sized ones with a question inside */
	VEC(struct symtab_sym) labels; /* at most one a gap */
};

int sweep_init(struct sweep *s, const u64 *at, u32 nr, enum symtab_policy policy) must_check;
void sweep_done(struct sweep *s);
/* sym->end == sym->start: a label, or, without a name, just a place no label reaches beyond. Strings must stay until the answers have been read. */
void sweep_add(struct sweep *s, const struct symtab_sym *sym);
/* Answers question i in ret[i]; ret[i].name is NULL where nothing covers it. -ENOMEM. */
int sweep_finish(struct sweep *s, struct symtab_sym *ret) must_check;

struct symtab {
	struct symtab_sym *syms; /* by start; pieces do not overlap; start is the piece's, see base */
	u64 *base; /* [i] start of the symbol that piece i belongs to */
	u32 nr;
};

/* Builds the table; takes over (sorts, then frees) the array of all symbols. */
int symtab_build(struct symtab *t, struct symtab_sym *all, size_t nr,
		 enum symtab_policy policy) must_check;
void symtab_done(struct symtab *t);
/* The piece that covers the address, or NULL; *base is where its symbol starts. */
const struct symtab_sym *symtab_find(const struct symtab *t, u64 at, u64 *base);
