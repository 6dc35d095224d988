/*
 * One entry of .debug_info at a time: its attributes, the entries below it and beside it, and where its references lead.
 *
 * An entry is a small value that can be copied; it stays good as long as the file that it is in, for split units until another unit of
 * the same file is opened. Every step counts against the file's budget, so that a loop of references or a tree without end costs no
 * more than the file's size allows.
 */
#pragma once

#include "base/types.h"

struct dw_file;
struct dw_unit;
struct dw_abbrev;
struct dw_abbrevs;
struct dw_value;

struct dw_die {
	struct dw_file *f;
	struct dw_unit *u;
	const struct dw_abbrevs *t;
	const struct dw_abbrev *a;
	u64 at; /* in .debug_info */
	u64 attrs; /* where its attributes begin */
};

/* false: there is none, or the file is broken. */
bool dw_die_at(struct dw_file *f, u64 offset, struct dw_die *ret);
bool dw_die_root(struct dw_file *f, struct dw_unit *u, struct dw_die *ret);
bool dw_die_child(const struct dw_die *d, struct dw_die *ret);
bool dw_die_next(const struct dw_die *d, struct dw_die *ret);
u16 dw_die_tag(const struct dw_die *d);

/* An attribute of the entry itself. */
bool dw_die_attr(const struct dw_die *d, u16 attr, struct dw_value *ret);
/* Several in one pass: values of those that it lacks have class DWVAL_NONE. */
void dw_die_attrs(const struct dw_die *d, const u16 *attrs, u32 nr, struct dw_value *ret);
/* An attribute of the entry, or of the one that it is made from; owner: which that is. */
bool dw_die_deep(const struct dw_die *d, u16 attr, struct dw_value *ret, struct dw_die *owner);
/* What a reference that was read from an entry leads to. */
bool dw_die_ref(const struct dw_die *owner, const struct dw_value *v, struct dw_die *ret);
/* The name, its own or that of what it is made from; NULL: none. Borrowed from the file. */
const char *dw_die_name(const struct dw_die *d);
/* The same of the linker's name. */
const char *dw_die_linkage(const struct dw_die *d);
/* A constant of the entry or of what it is made from. */
bool dw_die_number(const struct dw_die *d, u16 attr, u64 *ret);
