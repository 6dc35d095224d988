/*
 * The names object (model/names.h): symbols for every frame of a recording.
 *
 * Frames are grouped by image, each group sorted and answered in one sweep over the image's symbols, groups in parallel.
 * Only names of functions that were hit are copied or demangled; files are closed again before resolve() returns.
 *
 * sym never looks at /proc or /sys: what is known about the running kernel comes through the config's callback.
 */
#pragma once

#include "base/diag.h"
#include "image/demangle.h"
#include "model/names.h"

enum sym_kernel_text {
	SYM_KALLSYMS, /* /proc/kallsyms */
	SYM_MODULES, /* /proc/modules; may be missing */
	SYM_NOTES, /* /sys/kernel/notes; may be missing */
};

/* Bytes lent by the callback; release (may be NULL) is called when they are no longer needed. */
struct sym_text {
	const char *data;
	size_t len;
	size_t mapped; /* the callback's own business */
	void (*release)(struct sym_text *text);
};

struct sym_config {
	const struct debugfile_places *places; /* where files of containers are; NULL: nobody looks there */
	struct opener *opener; /* as in debugfile_where */
	struct debugfile_fetch *fetch; /* who gets debug files from servers; NULL: nobody */
	const char *symfs; /* put before the path of every image and debug directory; NULL: none */
	const char *const *debug_dirs; /* NULL-terminated; NULL: /usr/lib/debug */
	const char *buildid_dir; /* perf's cache of files by build id ($HOME/.debug); NULL: none */
	const char *cache; /* folder of what was found out before (sym/answers.h); NULL: none */
	const char *map_dir; /* where perf-PID.map files are; NULL: /tmp */
	const char *vmlinux; /* the kernel's own image, by the user's word; NULL: none */
	const struct elfimg *
		vmlinux_image; /* the same, where somebody keeps it open (it may be packed); NULL: nobody does */
	bool no_vmlinux; /* nor one that is kept by its build id */
	enum demangle_style demangle; /* of user images; DEMANGLE_SHORT is what perf prints */
	unsigned workers; /* 0: as many as CPUs */
	/*
	 * Asked at most once for each text and only when there are kernel frames. 0 or negative errno. NULL: nothing is known
	 * about the running kernel.
	 */
	int (*kernel_text)(void *ctx, enum sym_kernel_text what, struct sym_text *ret);
	void *kernel_ctx;
	/*
	 * The same of the guest that a process runs (0: of any), by the files that the user named: SYM_KALLSYMS and SYM_MODULES. -ENOENT: none
	 * was. NULL: nothing is known about guests.
	 */
	int (*guest_text)(void *ctx, u32 pid, enum sym_kernel_text what, struct sym_text *ret);
	void *guest_ctx;
	const char *guest_option; /* what hints call the way to name a guest's list; NULL: nothing */
	const char *guest_vmlinux; /* the image of guests' kernels, by the user's word; NULL: none */
	const char *kallsyms_option; /* what hints call the way to name such a file; NULL: nothing */
	bool kallsyms_given; /* the text is a file the user named: take it without comparing build ids */
	bool bounds; /* functions of stripped files are told apart by their unwind tables, and named by their place */
	bool of_data; /* frames may be of data, too: a file that is no program is not worth a word */
	u32 min_unnamed; /* a stripped file, or code made at run time, with so many addresses without a name is noted; 0: none is */
	/* What to install for stripped files: a hint (to be freed) for all of them, or NULL. NULL: nobody knows. */
	char *(*stripped_hint)(const char *const *paths, size_t nr);
	struct diag *diag; /* notes about images without names; NULL: none wanted. Used during resolve() only. */
	u32 max_notes; /* of those without a hint, the heaviest images first; the others are counted; 0: all */
};

/*
 * Strings of the config but buildid_dir are borrowed until free. NULL: no memory. The answer of resolve() stays until the next
 * resolve() or free().
 */
struct names *sym_names_new(const struct sym_config *cfg);
