/*
 * Split DWARF: the program keeps a skeleton of each unit (addresses, lines), the entries are in a .dwo file beside the object file, or
 * in one .dwp for all of them, with an index by the unit's id (DWARF 5, sections 7.3.2 and 7.3.5; before it GNU's, of the same build).
 *
 * A file is taken only if it has a unit with the skeleton's id. Which files are asked for is anyone's word: they are opened for reading,
 * must be ordinary ones, and are bounded in number.
 */
#include "image/dwarf_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { FILES_MAX = 1 << 14, COLUMNS_MAX = 16, FIRST_NUMBER = 2 };

/* Columns of an index. */
enum { PART_INFO = 1, PART_ABBREV = 3, PART_LOCS = 5, PART_STR_OFFSETS = 6, PART_RNGLISTS = 8 };

struct dw_dwo {
	struct dw_file file;
	struct elfimg image; /* nothing in it when the program itself has the units */
};

void dw_split_init(struct dw_split *s, struct dw_file *main, const struct debugfile_where *where,
		   const char *path)
{
	*s = (struct dw_split){ .main = main, .where = where, .path = path };
	strtab_init(&s->tried);
}

static void close_dwo(struct dw_dwo *o)
{
	if (!o)
		return;
	dw_file_done(&o->file);
	elfimg_close(&o->image);
	free(o);
}

void dw_split_done(struct dw_split *s)
{
	vec_for_each (&s->files, o)
		close_dwo(*o);
	vec_free(&s->files);
	close_dwo(s->own);
	close_dwo(s->package);
	strtab_done(&s->tried);
	free(s->missing);
}

/* Units out of an image that the file keeps, or e itself when that is NULL. NULL: it has none, or no memory. */
static struct dw_dwo *make_dwo(struct dw_split *s, struct elfimg *image)
{
	struct dw_dwo *o = calloc(1, sizeof(*o));
	if (!o) {
		if (image)
			elfimg_close(image);
		return NULL;
	}
	if (image)
		o->image = *image;
	o->file = (struct dw_file){ .e = image ? &o->image : s->main->e,
				    .main = s->main,
				    .number = FIRST_NUMBER + s->nr_opened,
				    .budget = s->main->budget,
				    .broken = s->main->broken,
				    .spent = s->main->spent };
	dict_init(&o->file.abbrevs_at);
	const struct dw_bytes *info = dw_section(&o->file, DWSEC_INFO);
	if (!info->data) {
		close_dwo(o);
		return NULL;
	}
	s->nr_opened++;
	/* As much for what it holds as for what the program holds. */
	if (image)
		*s->main->budget += 4 * (info->size + dw_section(&o->file, DWSEC_ABBREV)->size) +
				    4 * (u64)image->size;
	return o;
}

static struct dw_dwo *open_dwo(struct dw_split *s, const char *path)
{
	struct elfimg image;
	if (s->nr_opened >= FILES_MAX ||
	    elfimg_open(&image, path, s->where ? s->where->opener : NULL))
		return NULL;
	return make_dwo(s, &image);
}

/* ---- the unit in a file ---- */

/* An index: a table of ids, hashed; rows of it; columns; where each row's part of a section begins, and how long it is. */
struct index {
	struct bytes ids, rows, columns, offsets;
	u32 nr_columns, nr_rows, nr_slots;
	u16 version;
};

static bool read_index(struct dw_file *f, struct index *x)
{
	struct bytes b = dw_cursor(f, DWSEC_CU_INDEX, 0);
	u16 first = bytes_u16(&b), second = bytes_u16(&b);
	x->version =
		first ? first : second; /* GNU's had a word, DWARF 5 has half of one and a filler */
	x->nr_columns = bytes_u32(&b);
	x->nr_rows = bytes_u32(&b);
	x->nr_slots = bytes_u32(&b);
	if (b.bad || (x->version != 2 && x->version != 5) || x->nr_columns > COLUMNS_MAX ||
	    x->nr_slots & (x->nr_slots - 1))
		return false;
	x->ids = bytes_sub(&b, (size_t)x->nr_slots * 8);
	x->rows = bytes_sub(&b, (size_t)x->nr_slots * 4);
	x->columns = bytes_sub(&b, (size_t)x->nr_columns * 4);
	x->offsets = bytes_sub(&b, (size_t)x->nr_rows * x->nr_columns * 4);
	return !b.bad && x->nr_slots;
}

static u32 word_at(struct bytes b, u64 index)
{
	bytes_skip(&b, (size_t)index * 4);
	return bytes_u32(&b);
}

static u64 id_at(struct bytes b, u64 index)
{
	bytes_skip(&b, (size_t)index * 8);
	return bytes_u64(&b);
}

/* The row of an id, from 1; 0: it has none. */
static u32 find_row(struct dw_file *f, const struct index *x, u64 id)
{
	u32 mask = x->nr_slots - 1, at = (u32)id & mask, step = ((u32)(id >> 32) & mask) | 1;
	for (u32 i = 0; i < x->nr_slots && dw_step(f, 1); i++, at = (at + step) & mask) {
		u32 row = word_at(x->rows, at);
		if (!row)
			return 0;
		if (id_at(x->ids, at) == id)
			return row <= x->nr_rows ? row : 0;
	}
	return 0;
}

static bool find_indexed(struct dw_file *f, u64 id, struct dw_parts *parts, struct dw_unit *ret)
{
	struct index x;
	u32 row = read_index(f, &x) ? find_row(f, &x, id) : 0;
	if (!row)
		return false;
	for (u32 i = 0; i < x.nr_columns; i++) {
		u32 offset = word_at(x.offsets, (u64)(row - 1) * x.nr_columns + i);
		switch (word_at(x.columns, i)) {
		case PART_INFO: parts->info = offset; break;
		case PART_ABBREV: parts->abbrev = offset; break;
		case PART_LOCS: parts->locs = offset; break;
		case PART_STR_OFFSETS: parts->str_offsets = offset; break;
		case PART_RNGLISTS: parts->rnglists = x.version >= 5 ? offset : 0; break;
		default: break;
		}
	}
	return dw_unit_read(f, parts, parts->info, ret) && ret->has_id && ret->id == id;
}

/* Without an index: one unit, after some that hold types. */
static bool find_alone(struct dw_file *f, u64 id, struct dw_unit *ret)
{
	struct dw_parts none = { 0 };
	for (u64 at = 0; dw_unit_read(f, &none, at, ret); at = ret->end)
		if (ret->has_id && ret->id == id)
			return true;
	return false;
}

/* Among those that were read before, by start; one that is there already is read again for another skeleton. */
static struct dw_unit *keep(struct dw_file *f, const struct dw_unit *u)
{
	size_t at = f->units.nr;
	while (at && f->units.at[at - 1].start >= u->start)
		at--;
	if (at == f->units.nr || f->units.at[at].start != u->start) {
		if (!vec_push(&f->units))
			return NULL;
		memmove(f->units.at + at + 1, f->units.at + at, (f->units.nr - 1 - at) * sizeof(*u));
	}
	f->units.at[at] = *u;
	return &f->units.at[at];
}

static struct dw_unit *find_in(struct dw_dwo *o, const struct dw_unit *skeleton,
			       struct dw_file **file)
{
	struct dw_parts parts = { 0 };
	struct dw_unit u;
	if (!o)
		return NULL;
	bool indexed = dw_section(&o->file, DWSEC_CU_INDEX)->data;
	if (!(indexed ? find_indexed(&o->file, skeleton->id, &parts, &u)
		      : find_alone(&o->file, skeleton->id, &u)) ||
	    !u.version)
		return NULL;
	u.addr_base = skeleton->addr_base;
	u.low = skeleton->low;
	if (u.version < 5)
		u.ranges_start = skeleton->ranges_base;
	*file = &o->file;
	return keep(&o->file, &u);
}

/* ---- which files ---- */

static bool is_whole(int n)
{
	return n > 0 && n < PATH_MAX;
}

/* What came with the program: units in the file itself, or a package. */
static void look(struct dw_split *s)
{
	struct elfimg image;
	struct buildid id;
	s->looked = true;
	s->own = make_dwo(s, NULL);
	if (buildid_of_image(s->main->e, &id))
		id.size = 0;
	if (s->where && !debugfile_open_dwp(s->where, s->path, &id, &image))
		s->package = make_dwo(s, &image);
}

/* Each path is tried once. */
static struct dw_dwo *dwo_at(struct dw_split *s, const char *path)
{
	s64 id = strtab_add(&s->tried, path, strlen(path));
	/* Id 0 is the empty string's. */
	if (id <= 0 || (size_t)id <= s->files.nr)
		return id <= 0 ? NULL : s->files.at[id - 1];
	struct dw_dwo **slot = vec_push(&s->files);
	if (!slot)
		return NULL;
	return *slot = open_dwo(s, path);
}

static struct dw_unit *find_at(struct dw_split *s, const struct dw_unit *skeleton, const char *path,
			       struct dw_file **file)
{
	char full[PATH_MAX];
	return debugfile_path(s->where, path, full, sizeof(full))
		       ? find_in(dwo_at(s, full), skeleton, file)
		       : NULL;
}

/* Where the compiler put it; or, when all was moved, beside the program. */
static struct dw_unit *find_named(struct dw_split *s, const struct dw_unit *skeleton,
				  struct dw_file **file)
{
	char path[PATH_MAX], beside[PATH_MAX];
	struct dw_unit *u = NULL;
	const char *name = dw_string(s->main, skeleton, &skeleton->dwo_name);
	const char *dir = dw_string(s->main, skeleton, &skeleton->comp_dir);
	if (!name || !name[0])
		return NULL;
	bool alone = name[0] == '/' || !dir;
	int n = snprintf(path, sizeof(path), "%s%s%s", alone ? "" : dir, alone ? "" : "/", name);
	if (is_whole(n) && path[0] == '/')
		u = find_at(s, skeleton, path, file);
	const char *slash = strrchr(s->path, '/'), *last = strrchr(name, '/');
	if (!u && slash &&
	    is_whole(snprintf(beside, sizeof(beside), "%.*s/%s", (int)(slash - s->path), s->path,
			      last ? last + 1 : name)))
		u = find_at(s, skeleton, beside, file);
	if (!u && !s->missing)
		s->missing = strdup(is_whole(n) ? path : name);
	return u;
}

struct dw_unit *dw_split_find(struct dw_split *s, const struct dw_unit *skeleton,
			      struct dw_file **file)
{
	if (!skeleton->has_id)
		return NULL;
	if (!s->looked)
		look(s);
	struct dw_unit *u = find_in(s->own, skeleton, file);
	if (!u)
		u = find_in(s->package, skeleton, file);
	if (!u && s->where)
		u = find_named(s, skeleton, file);
	return u;
}
