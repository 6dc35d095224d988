/* The image that a target names, with its debugging information: opened once, asked about functions, lines and variables. */
#pragma once

#include "arch/arch.h"
#include "image/cfi.h"
#include "image/dwarf_code.h"
#include "image/dwarf_names.h"
#include "probe/probe.h"

#include <limits.h>

struct debuginfo {
	const struct probe_target *target;
	struct elfimg image; /* what runs */
	struct elfimg debug; /* its separate file; nothing in it when there is none */
	const struct elfimg *info; /* which of the two has debugging information; NULL: none */
	struct debugfile_where where;
	struct dwcode *code; /* NULL: none */
	struct dwnames *names;
	struct cfi_table cfi;
	bool cfi_tried, has_cfi;
	const struct arch *arch;
	u64 text; /* kernel: the address of _text; 0: not known */
	char path[PATH_MAX]; /* of the image, absolute */
};

/* Opens the image alone. Errno of opening it, -ENOEXEC, with a diag. */
int debuginfo_open_image(struct debuginfo *i, const struct probe_target *target,
			 struct diag *d) must_check;
/* The same with debugging information. -ENODATA with a diag: there is none. debuginfo_close() only after success. */
int debuginfo_open(struct debuginfo *i, const struct probe_target *target,
		   struct diag *d) must_check;
void debuginfo_close(struct debuginfo *i);

/* What the frame of a function is at an address, as dw_cfa_fn; ctx: the debuginfo. */
bool debuginfo_cfa(void *ctx, u64 pc, u32 *reg, s64 *offset);
/* "%di"; NULL: a register that probes cannot fetch. */
const char *debuginfo_register(const struct debuginfo *i, u32 reg);

struct debuginfo_symbol {
	const char *name; /* borrowed */
	u64 addr, size;
};
/* The function symbol that holds an address. false: none. */
bool debuginfo_symbol_at(const struct debuginfo *i, u64 addr, struct debuginfo_symbol *ret);
/* A symbol by name: code, or data. */
bool debuginfo_symbol(const struct debuginfo *i, const char *name, bool data,
		      struct debuginfo_symbol *ret);
/* Where an address is in the file that runs. */
bool debuginfo_offset(const struct debuginfo *i, u64 addr, u64 *ret);
