/*
 * The tables of call frame information of a recording's images: each is made (or loaded from the cache) when the first address in
 * its image is looked up, by whichever worker comes first, and then shared by all.
 */
#pragma once

#include "base/diag.h"
#include "image/cfi.h"
#include "image/debugfile.h"
#include "model/catalog.h"

struct unwind_config {
	const struct arch *arch;
	const struct debugfile_places *places; /* as in sym_config */
	struct opener *opener; /* as in debugfile_where */
	const char *symfs; /* as in sym_config */
	const char *const *debug_dirs;
	const char *buildid_dir;
	const char *cache; /* folder of ours for tables; NULL: none */
};

struct unwind_tables;

/* Strings of the config are borrowed until free. NULL: no memory. */
struct unwind_tables *unwind_tables_new(const struct unwind_config *cfg);
void unwind_tables_free(struct unwind_tables *t);
/* Warns of files whose unwind tables would take too much time or memory for their size, once each. */
void unwind_tables_report_refused(struct unwind_tables *t, struct diag *d);
const struct arch *unwind_tables_arch(const struct unwind_tables *t);
/* Room for images 0 ... nr - 1. Not while others look up. */
int unwind_tables_reserve(struct unwind_tables *t, u32 nr) must_check;

struct unwind_found {
	const struct cfi_rule *rule; /* NULL: nothing is known of this code */
	const struct cfi_table *table; /* whose expressions the rule names */
};
/* The rule for a place in an image. From any thread. */
struct unwind_found unwind_tables_find(struct unwind_tables *t, u32 image,
				       const struct image_info *info, u64 offset);
/* Whether a place in an image can be executed, as far as its file tells. From any thread. */
bool unwind_tables_is_code(struct unwind_tables *t, u32 image, const struct image_info *info,
			   u64 offset);
/* Whether it is a stub of the procedure linkage table. From any thread. */
bool unwind_tables_is_plt(struct unwind_tables *t, u32 image, const struct image_info *info,
			  u64 offset);
/* Code of an image: at most nr bytes before or after an offset; how many there are. From any thread. */
size_t unwind_tables_code(struct unwind_tables *t, u32 image, const struct image_info *info,
			  u64 offset, bool before, u8 *to, size_t nr);

/* Of how an image was built, for those who choose between ways of unwinding: true when its functions set up frame pointers. */
bool unwind_keeps_frame_pointers(const struct cfi_table *t);
