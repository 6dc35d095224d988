/*
 * How to get from a function to its caller, for every address of an image: the call frame information of .eh_frame and
 * .debug_frame, flattened once into rows that a binary search finds.
 *
 *	row      file offset of code (u32), which rule holds from there on (u32): 8 bytes
 *	rule     where the canonical frame address (CFA) is, and where registers were saved; each distinct one is kept once
 *	exprs    DWARF expressions of the few rules that need one (PLT stubs, signal frames, realigned stacks)
 *
 * libc: 3,713 functions, 24,000 rows, 200 KB. Rows hold file offsets, so that a table can be used without opening the image; it
 * lies in one piece of memory and can be kept in a file as it is.
 */
#pragma once

#include "arch/arch.h"
#include "image/buildid.h"
#include "image/elf.h"

enum cfi_cfa { CFI_CFA_REG, CFI_CFA_EXPR };

/* Where the caller's value of a register is. One that has no rule keeps its value. */
enum cfi_kind {
	CFI_SAME, /* in no rule: the parser's own use */
	CFI_UNDEFINED, /* lost; of the return address: there is no caller */
	CFI_OFFSET, /* in memory at CFA + value */
	CFI_VAL_OFFSET, /* is CFA + value */
	CFI_REGISTER, /* in register `value` */
	CFI_EXPR, /* in memory at what the expression yields */
	CFI_VAL_EXPR, /* is what the expression yields */
	CFI_NR_KINDS,
};

struct cfi_reg {
	u8 reg;
	u8 kind; /* enum cfi_kind */
	u16 spare;
	s32 value; /* of CFI_EXPR and CFI_VAL_EXPR: into exprs */
};

enum {
	CFI_SIGNAL = 1 << 0, /* a signal's frame: its return address is no return address */
	CFI_OWN_RA =
		1 << 1, /* returns by another register than its machine's: the rule of pc says where to */
};

struct cfi_rule {
	u8 cfa; /* enum cfi_cfa */
	u8 cfa_reg;
	u8 nr_regs;
	u8 flags;
	s32 cfa_value; /* offset from cfa_reg, or into exprs */
	struct cfi_reg regs[];
};

struct cfi_table {
	const u32 *starts; /* ascending */
	const u32 *rules; /* by row: into units; 0: nothing is known of the code from here on */
	u32 nr_rows;
	u32 nr_units;
	const struct cfi_reg *units; /* a rule is a unit for its head and one for each register */
	const u8 *exprs; /* u16 length, bytes */
	u32 exprs_size;
	u16 machine;
	u32 nr_framed; /* functions that set up a frame pointer ... */
	u32 nr_functions; /* ... of those that use the stack */
	void *block; /* what all of it lies in */
	size_t block_size;
	bool mapped;
};

/*
 * From .eh_frame and .debug_frame of `from`, which is the image itself or its separate debug file; offsets are of `runtime`, the
 * file that was executed. -ENOENT: it has none; -ENOEXEC: another machine's than `a`; -E2BIG: more than a file of its size may cost; -ENOMEM. Damage only loses the functions after it.
 */
int cfi_build(struct cfi_table *t, const struct arch *a, const struct elfimg *from,
	      const struct elfimg *runtime) must_check;
void cfi_done(struct cfi_table *t);

/* The code of one entry, in file offsets. */
struct cfi_range {
	u64 start, end;
};
/*
 * What a stripped image still tells about where its functions begin and end: the ranges of its .eh_frame, ascending and without
 * overlaps, without running any program. *ret is to be freed. -ENOENT: it has none, or it is of a machine that we do not know;
 * -ENOMEM.
 */
int cfi_ranges(const struct elfimg *e, struct cfi_range **ret, size_t *nr) must_check;

/* The rule for code at a file offset; NULL: nothing is known. */
const struct cfi_rule *cfi_find(const struct cfi_table *t, u64 offset);
/* An expression of a rule; NULL (and a length of 0): a damaged table. */
const u8 *cfi_expr(const struct cfi_table *t, s32 value, size_t *len);

/*
 * Tables in files, named by build id below a folder, and good only for the very file they were made from: a build id is what a file says
 * of itself. -ESTALE: of another file; -ENOENT also for a file without an identity. Loading checks what finding relies on, so that a damaged or hostile file may
 * give wrong answers, but never harm; files of other users are not taken.
 */
int cfi_save(const struct cfi_table *t, const char *folder, const struct buildid *id,
	     const struct elfimg_identity *file) must_check;
int cfi_load(struct cfi_table *t, const struct arch *a, const char *folder,
	     const struct buildid *id, const struct elfimg_identity *file) must_check;
/* The same from bytes (mapped: unmapped by cfi_done, else freed; on failure the caller's). -EBADMSG. */
int cfi_open_bytes(struct cfi_table *t, const struct arch *a, void *data, size_t size,
		   bool mapped) must_check;
