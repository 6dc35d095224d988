/*
 * Where the names of kernel functions come from, and how far they moved.
 *
 * The running kernel's symbol list serves a recording only if it is the same kernel (build id); address randomisation may
 * have moved it since, which the reference symbol (_text, _stext) tells. Otherwise a kept list or an image of that build id.
 *
 * A list that was kept under the recorded build id (perf record does) is asked first, if all that is to be named lies in the
 * kernel's own text: there both lists say the same, and printing its list takes the kernel longer than all else that is done
 * for a table without call graphs.
 */
#pragma once

#include "image/debugfile.h"
#include "model/catalog.h"
#include "sym/resolve.h"
#include "sym/symtab.h"

struct kernel_syms {
	struct sym_text kallsyms;
	struct sym_text modules; /* data NULL: not known */
	struct elfimg vmlinux; /* data NULL: kallsyms it is */
	bool own_text; /* all that is wanted lies between _stext and _etext */
	bool same_boot; /* modules may be compared with the running ones */
	u64 shift; /* of the kernel: symbol's address - recorded address */
	char *note, *hint; /* the caller's to free, also after a failure; NULL: nothing to say */
};

/* What names are wanted for, in recorded addresses. */
struct kernel_want {
	u64 first, last;
	bool modules; /* some of it is not in the kernel itself */
};

/* -ENOENT: no source fits, and note says why. -ENOMEM. */
int kernel_syms_open(struct kernel_syms *k, const struct sym_config *cfg,
		     const struct debugfile_where *w, const struct catalog *c,
		     const struct kernel_want *want) must_check;
/* The same for a guest: `image` is one of its kernel's or modules. */
int kernel_syms_open_guest(struct kernel_syms *k, const struct sym_config *cfg,
			   const struct catalog *c, const struct image_info *image) must_check;
void kernel_syms_close(struct kernel_syms *k);
/* What to add to a frame's address to find its symbol. false: the image is not known to these symbols. */
bool kernel_syms_shift(const struct kernel_syms *k, const struct image_info *info, u64 *shift);
int kernel_syms_find(const struct kernel_syms *k, const u64 *at, u32 nr,
		     struct symtab_sym *ret) must_check;
