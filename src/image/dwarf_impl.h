/* Shared by the readers of .debug_info and .debug_line: sections, units, entries, attributes. */
#pragma once

#include "base/bytes.h"
#include "base/dict.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "image/dwarf_info.h"
#include "image/dwarf_tags.h"

enum dw_section {
	DWSEC_INFO,
	DWSEC_ABBREV,
	DWSEC_STR,
	DWSEC_LINE,
	DWSEC_LINE_STR,
	DWSEC_RANGES,
	DWSEC_RNGLISTS,
	DWSEC_ADDR,
	DWSEC_STR_OFFSETS,
	DWSEC_LOC,
	DWSEC_LOCLISTS,
	DWSEC_CU_INDEX,
	DWSEC_NR,
};

struct dw_bytes {
	const u8 *data; /* NULL: none */
	size_t size;
	u8 *heap;
	bool looked;
};

/* An attribute as it stands in the file: what kind of thing, not yet looked up. */
enum dw_class {
	DWVAL_NONE,
	DWVAL_CONST,
	DWVAL_ADDR,
	DWVAL_ADDR_INDEX,
	DWVAL_TEXT, /* p */
	DWVAL_STR,
	DWVAL_LINE_STR,
	DWVAL_STR_INDEX,
	DWVAL_STR_ALT,
	DWVAL_REF, /* offset in .debug_info */
	DWVAL_REF_ALT,
	DWVAL_OFFSET,
	DWVAL_RANGES_INDEX,
	DWVAL_LOC_INDEX,
	DWVAL_BLOCK, /* u bytes at p */
	DWVAL_OTHER,
};

struct dw_value {
	enum dw_class class;
	u16 form;
	u64 u;
	const char *p;
};

/* What an abbreviation says of an attribute. */
struct dw_spec {
	u16 attr, form;
	u16 size; /* bytes, or DW_SIZE_VARIES */
	u16 slot; /* enum dw_slot */
	s64 implicit;
};

enum { DW_SIZE_VARIES = 0xffff };
enum { DW_FORMS_USUAL = 0x30 }; /* forms below that are looked up in a table */

/* The attributes that anyone here asks for of an entry. */
enum dw_slot {
	DWSLOT_NONE,
	DWSLOT_NAME,
	DWSLOT_LINKAGE,
	DWSLOT_LOW,
	DWSLOT_HIGH,
	DWSLOT_RANGES,
	DWSLOT_ORIGIN,
	DWSLOT_CALL_FILE,
	DWSLOT_CALL_LINE,
	DWSLOT_SIBLING,
	DWSLOT_NR,
};

struct dw_abbrev {
	u64 code;
	u16 tag;
	u16 fixed; /* bytes that its attributes take, or DW_SIZE_VARIES */
	bool children;
	bool has_sibling;
	bool has_code; /* says where code is, or that it may be inlined */
	u8 sibling_at; /* 1 + offset of the sibling among its attributes, if that is always the same and 4 bytes long; 0: look */
	u32 first, nr; /* specs */
};

/* One table of abbreviations; sizes depend on the unit that uses it. */
struct dw_abbrevs {
	u64 offset;
	u32 shape; /* version, size of addresses and of offsets */
	bool dense; /* codes are 1, 2, 3 ... */
	VEC(struct dw_abbrev) list; /* by code */
	VEC(struct dw_spec) specs;
};

struct dw_unit {
	u64 start, end; /* in .debug_info */
	u64 root; /* its first entry */
	u64 abbrev_offset;
	u16 version;
	u8 addr_size;
	u8 off_size;
	bool has_head; /* else only start and end are known */
	bool is_read; /* the first entry, and with it all that follows here */
	bool has_line;
	bool split; /* a skeleton: its entries are in another file */
	bool has_id;
	u32 abbrevs; /* 1 + index; 0: not read yet */
	u64 id; /* that a skeleton shares with the unit it stands for */
	u64 low, line_offset;
	u64 str_base, addr_base, ranges_base, locs_base;
	u64 locs_start; /* as ranges_start, of location lists */
	u64 ranges_start; /* added to offsets of lists; 0 but in a .dwo */
	u64 info_start; /* what offsets in .debug_info count from; 0 but in a .dwp */
	struct dw_file *dwo; /* where a skeleton's entries were found; NULL: nowhere yet */
	struct dw_value comp_dir, name,
		dwo_name; /* looked up by whoever needs them: strings may have to be expanded first */
	struct dw_value low_pc, high_pc,
		ranges; /* of its first entry: the addresses it has code at */
};

/* A file of units: the one asked about, the common one of dwz, or one of split units. */
struct dw_file {
	const struct elfimg *e;
	struct dw_file *main; /* of split units: the one that has their addresses; else NULL */
	u32 number; /* no two files of a dwinfo have the same */
	struct dw_bytes sections[DWSEC_NR];
	VEC(struct dw_unit) units; /* by start */
	VEC(struct dw_abbrevs *) abbrevs;
	struct dict abbrevs_at; /* offset and shape -> index */
	struct dw_abbrevs scratch; /* for first entries, one at a time */
	u32 sizes_shape; /* of the units that form_sizes is for; 0: none yet */
	u16 form_sizes[DW_FORMS_USUAL];
	struct dw_file *alt; /* NULL: none */
	u64 *budget; /* steps left; 0: no more */
	u64 expanded_left; /* bytes that compressed sections may still become, and one; 0: not known yet */
	bool *broken;
	const char **spent; /* what would have taken too much; NULL: nothing */
};

struct dw_entry {
	struct dw_value at[DWSLOT_NR];
};

/* Takes n steps; false: there was too much to do. */
static inline bool dw_step(const struct dw_file *f, u64 n)
{
	if (unlikely(*f->budget < n)) {
		*f->budget = 0;
		*f->broken = true;
		*f->spent = "reading its debug information";
		return false;
	}
	*f->budget -= n;
	return true;
}

static inline u64 dw_uleb(struct bytes *b)
{
	return likely(b->at < b->end && *b->at < 0x80) ? *b->at++ : bytes_uleb(b);
}

static inline u64 dw_offset(struct bytes *b, u8 size)
{
	return size == 8 ? bytes_u64(b) : bytes_u32(b);
}

const struct dw_bytes *dw_section(struct dw_file *f, enum dw_section which);
/* From an offset to the end of the section; bad when it lies outside. */
struct bytes dw_cursor(struct dw_file *f, enum dw_section which, u64 offset);
void dw_file_done(struct dw_file *f);
/* Forgets the tables of abbreviations: they are read again when they are needed. */
void dw_abbrevs_drop(struct dw_file *f);
/* Fills in what a section of an object file leaves open: d becomes a copy. -EBADMSG, -ENOMEM. */
int dw_relocate(struct dw_file *f, u32 section, struct dw_bytes *d) must_check;
/* Reads the heads of all units; what is in their first entries is read by dw_unit_need(). -ENOMEM. */
int dw_units_read(struct dw_file *f) must_check;
/* Where a unit's parts of the sections begin: 0 but in a .dwp, which holds those of many. */
struct dw_parts {
	u64 info, abbrev, str_offsets, rnglists, locs;
};
/* Reads the head and first entry of one unit of split units. false: broken, or no memory. */
bool dw_unit_read(struct dw_file *f, const struct dw_parts *p, u64 at, struct dw_unit *ret);
/* The same without reading any: where units begin was kept from another time. -ENOMEM. */
int dw_units_adopt(struct dw_file *f, const u64 *starts, u32 nr) must_check;
/* Reads the head and first entry of a unit, once: to be called before anything of it is asked for, but by who got it from dw_unit_at(). */
void dw_unit_need(struct dw_file *f, struct dw_unit *u);
/* The unit that holds an offset of .debug_info, or NULL. */
struct dw_unit *dw_unit_at(struct dw_file *f, u64 offset);
/* NULL: broken, or no memory. */
const struct dw_abbrevs *dw_abbrevs_of(struct dw_file *f, struct dw_unit *u);
const struct dw_abbrev *dw_abbrev_search(const struct dw_abbrevs *t, u64 code);
static inline const struct dw_abbrev *dw_abbrev_find(const struct dw_abbrevs *t, u64 code)
{
	return likely(t->dense && code - 1 < t->list.nr) ? &t->list.at[code - 1]
							 : dw_abbrev_search(t, code);
}
/* Reads what a form stands for, and steps over it. */
void dw_read_form(const struct dw_unit *u, struct bytes *b, u16 form, s64 implicit,
		  struct dw_value *ret);
void dw_skip_varying(const struct dw_unit *u, const struct dw_abbrevs *t, const struct dw_abbrev *a,
		     struct bytes *b);
static inline void dw_skip(const struct dw_unit *u, const struct dw_abbrevs *t,
			   const struct dw_abbrev *a, struct bytes *b)
{
	if (likely(a->fixed != DW_SIZE_VARIES))
		bytes_skip(b, a->fixed);
	else
		dw_skip_varying(u, t, a, b);
}
void dw_read_entry(const struct dw_unit *u, const struct dw_abbrevs *t, const struct dw_abbrev *a,
		   struct bytes *b, struct dw_entry *ret);
/* An address of .debug_addr. false: no such, or broken. */
bool dw_indexed_address(struct dw_file *f, const struct dw_unit *u, u64 index, u64 *ret);
/* false: not an address. */
bool dw_address(struct dw_file *f, const struct dw_unit *u, const struct dw_value *v, u64 *ret);
u64 dw_sized(struct bytes *b, u16 size);
/* NULL: not a string, or broken. Borrowed from the file. */
const char *dw_string(struct dw_file *f, const struct dw_unit *u, const struct dw_value *v);

/* Walks over the addresses of an entry. */
struct dw_ranges {
	struct dw_file *f;
	const struct dw_unit *u;
	struct bytes b;
	u64 base;
	u64 low, high; /* the only range, when `one` */
	bool one;
	bool done;
};
/* false: it has none. */
bool dw_ranges_init(struct dw_ranges *r, struct dw_file *f, const struct dw_unit *u,
		    const struct dw_entry *e);
bool dw_ranges_next(struct dw_ranges *r, u64 *low, u64 *high);

/* The files that a unit's line table names. */
struct dw_file_name {
	const char *name;
	u64 dir;
};

struct dw_lines {
	struct dw_file *f;
	const struct dw_unit *u;
	struct bytes program;
	u16 version;
	u8 min_length, line_range, opcode_base;
	s8 line_base;
	bool default_stmt;
	u8 lengths[256]; /* operands of standard opcodes */
	const char *comp_dir; /* NULL: not told */
	VEC(const char *) dirs;
	VEC(struct dw_file_name) files;
	struct strtab *paths;
	VEC(u32) path_of; /* [file] -> id in paths + 1 */
};

/* -ENOENT: the unit has none; -EBADMSG; -ENOMEM. dw_lines_done() in any case. */
int dw_lines_open(struct dw_lines *l, struct dw_file *f, const struct dw_unit *u,
		  struct strtab *paths) must_check;
void dw_lines_done(struct dw_lines *l);
/* The path of a file by its number; NULL: no such file. Borrowed from the strtab given. */
const char *dw_lines_path(struct dw_lines *l, u64 file);
/*
 * Runs the program: tell(ctx, low, high, file, line) for every stretch of code, in order within a sequence. Stretches that lie outside
 * [from, until) may be left out.
 */
void dw_lines_run(struct dw_lines *l, u64 from, u64 until,
		  void (*tell)(void *ctx, u64 low, u64 high, u64 file, u32 line), void *ctx);

/* A row of the table that the program makes. */
struct dw_row {
	u64 addr;
	u32 file, line;
	bool stmt, prologue_end, end;
};
/* Runs the program for all of its rows, in the order they are made. */
void dw_lines_rows(struct dw_lines *l, void (*tell)(void *ctx, const struct dw_row *row), void *ctx);

/* Files of split units: opened when a skeleton needs them, and kept. */
struct dw_split {
	struct dw_file *main;
	const struct debugfile_where *where; /* NULL: nothing is opened */
	const char *path; /* of the program; "": not known */
	struct strtab tried; /* paths; their ids count in `files`, from 1 on */
	VEC(struct dw_dwo *) files; /* NULL: there is none */
	struct dw_dwo *own, *package; /* that came with the program itself; NULL: none */
	bool looked;
	u32 nr_opened;
	char *missing; /* the first that was not found */
};

void dw_split_init(struct dw_split *s, struct dw_file *main, const struct debugfile_where *where,
		   const char *path);
void dw_split_done(struct dw_split *s);
/* The unit that a skeleton stands for, and its file. Borrowed until the next call. NULL: not found. */
struct dw_unit *dw_split_find(struct dw_split *s, const struct dw_unit *skeleton,
			      struct dw_file **file);

/* The parts of an open dwinfo, for who reads entries one by one (image/dwarf_code). */
struct dw_file *dwinfo_file(struct dwinfo *d);
struct dw_split *dwinfo_split(struct dwinfo *d);
/* As dwinfo_open() without units, which dwinfo_read_units() or dw_units_adopt() brings. */
int dwinfo_open_bare(const struct elfimg *image, const struct debugfile_where *where,
		     const char *path, struct dwinfo **ret) must_check;
int dwinfo_read_units(struct dwinfo *d) must_check;
