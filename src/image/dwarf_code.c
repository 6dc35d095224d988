#include "image/dwarf_code.h"
#include "image/dwarf_code_impl.h"
#include "image/dwarf_impl.h"

#include <errno.h>
#include <string.h>

enum { LEVELS_MAX = 4096, SCOPES_MAX = 1 << 24 };

/* ---- the image ---- */

int dwcode_open(const struct elfimg *image, const struct debugfile_where *where, const char *path,
		struct dwcode **ret)
{
	struct dwcode *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	strtab_init(&d->paths);
	int err = dwinfo_open_bare(image, where, path, &d->info);
	if (err) {
		dwcode_close(d);
		return err;
	}
	d->file = dwinfo_file(d->info);
	d->image = image;
	*ret = d;
	return 0;
}

int dwcode_read_units(struct dwcode *d)
{
	return dwinfo_read_units(d->info);
}

void dwcode_close(struct dwcode *d)
{
	if (!d)
		return;
	if (d->has_other)
		dw_lines_done(&d->other);
	dwinfo_close(d->info);
	strtab_done(&d->paths);
	free(d);
}

u32 dwcode_nr_units(const struct dwcode *d)
{
	return (u32)d->file->units.nr;
}

const char *dwcode_missing(const struct dwcode *d)
{
	return dwinfo_missing(d->info);
}

bool dwcode_broken(const struct dwcode *d)
{
	return dwinfo_broken(d->info);
}

bool dwcode_unit_at(struct dwcode *d, u64 pc, u32 *ret)
{
	for (u32 i = 0; i < d->file->units.nr; i++) {
		struct dw_unit *u = &d->file->units.at[i];
		dw_unit_need(d->file, u);
		struct dw_entry e = {
			.at = { [DWSLOT_LOW] = u->low_pc, [DWSLOT_HIGH] = u->high_pc, [DWSLOT_RANGES] = u->ranges }
		};
		struct dw_ranges r;
		u64 low, high;
		for (bool more = dw_ranges_init(&r, d->file, u, &e);
		     more && dw_ranges_next(&r, &low, &high);)
			if (low <= pc && pc < high) {
				*ret = i;
				return true;
			}
	}
	return false;
}

/* ---- the scopes of a unit ---- */

enum {
	A_NAME,
	A_LINKAGE,
	A_LOW,
	A_HIGH,
	A_RANGES,
	A_ORIGIN,
	A_SPEC,
	A_ENTRY,
	A_INLINE,
	A_DECL,
	A_CALL_FILE,
	A_CALL_LINE,
	A_NR
};
static const u16 wanted[A_NR] = {
	[A_NAME] = DW_AT_NAME,		 [A_LINKAGE] = DW_AT_LINKAGE_NAME,
	[A_LOW] = DW_AT_LOW_PC,		 [A_HIGH] = DW_AT_HIGH_PC,
	[A_RANGES] = DW_AT_RANGES,	 [A_ORIGIN] = DW_AT_ABSTRACT_ORIGIN,
	[A_SPEC] = DW_AT_SPECIFICATION,	 [A_ENTRY] = DW_AT_ENTRY_PC,
	[A_INLINE] = DW_AT_INLINE,	 [A_DECL] = DW_AT_DECLARATION,
	[A_CALL_FILE] = DW_AT_CALL_FILE, [A_CALL_LINE] = DW_AT_CALL_LINE,
};

static int fill_ranges(struct dwcode_unit *u, const struct dw_die *d, const struct dw_value *v,
		       struct dwcode_scope *s)
{
	struct dw_entry e = {
		.at = { [DWSLOT_LOW] = v[A_LOW], [DWSLOT_HIGH] = v[A_HIGH], [DWSLOT_RANGES] = v[A_RANGES] }
	};
	struct dw_ranges r;
	u64 low, high;
	s->first_range = (u32)u->ranges.nr;
	for (bool more = dw_ranges_init(&r, d->f, d->u, &e);
	     more && dw_ranges_next(&r, &low, &high);) {
		struct dwcode_range *to = low < high ? vec_push(&u->ranges) : NULL;
		if (!to && low < high)
			return -ENOMEM;
		if (to)
			*to = (struct dwcode_range){ low, high };
	}
	s->nr_ranges = (u32)u->ranges.nr - s->first_range;
	return 0;
}

/* Where it is entered: as stated, else its lowest address, else the first of its stretches. */
static void fill_entry(struct dwcode_unit *u, const struct dw_die *d, const struct dw_value *v,
		       struct dwcode_scope *s)
{
	if (v[A_ENTRY].class && dw_address(d->f, d->u, &v[A_ENTRY], &s->pc))
		return;
	s->pc = 0;
	if (v[A_LOW].class && dw_address(d->f, d->u, &v[A_LOW], &s->pc))
		return;
	s->pc = s->nr_ranges ? u->ranges.at[s->first_range].low : 0;
}

static int add_scope(struct dwcode_unit *u, const struct dw_die *d, u32 parent)
{
	u16 tag = dw_die_tag(d);
	struct dw_value v[A_NR];
	struct dwcode_scope s = {
		.at = d->at,
		.parent = parent,
		.kind = tag == DW_TAG_SUBPROGRAM	   ? DWCODE_FUNCTION
			: tag == DW_TAG_INLINED_SUBROUTINE ? DWCODE_INLINED
							   : DWCODE_BLOCK,
	};
	dw_die_attrs(d, wanted, A_NR, v);
	int err = fill_ranges(u, d, v, &s);
	if (err)
		return err;
	fill_entry(u, d, v, &s);
	s.origin = v[A_ORIGIN].class == DWVAL_REF ? v[A_ORIGIN].u : 0;
	s.is_declaration = v[A_DECL].class;
	s.is_abstract = v[A_INLINE].class;
	s.call_file = (u32)v[A_CALL_FILE].u;
	s.call_line = (u32)v[A_CALL_LINE].u;
	if (s.kind == DWCODE_FUNCTION) {
		bool here = !v[A_ORIGIN].class && !v[A_SPEC].class;
		s.name = v[A_NAME].class ? dw_string(d->f, d->u, &v[A_NAME])
			 : here		 ? NULL
					 : dw_die_name(d);
		s.linkage = v[A_LINKAGE].class ? dw_string(d->f, d->u, &v[A_LINKAGE])
			    : here	       ? NULL
					       : dw_die_linkage(d);
	}
	struct dwcode_scope *to = u->scopes.nr < SCOPES_MAX ? vec_push(&u->scopes) : NULL;
	if (!to)
		return -ENOMEM;
	s.end = (u32)u->scopes.nr;
	*to = s;
	return 0;
}

struct level {
	struct dw_die die;
	u32 scope; /* DWCODE_NO_SCOPE: outside of all */
	bool own; /* the level below belongs to a scope that ends with it */
};

/* What may hold functions. Types do in C++ and Rust, where functions may have classes. */
static bool is_container(u16 tag, bool classes)
{
	return tag == DW_TAG_NAMESPACE || tag == DW_TAG_MODULE ||
	       (classes && (tag == DW_TAG_CLASS_TYPE || tag == DW_TAG_STRUCTURE_TYPE ||
			    tag == DW_TAG_UNION_TYPE || tag == DW_TAG_ENUMERATION_TYPE));
}

static bool is_scope(u16 tag)
{
	return tag == DW_TAG_SUBPROGRAM || tag == DW_TAG_INLINED_SUBROUTINE ||
	       tag == DW_TAG_LEXICAL_BLOCK;
}

bool dwcode_has_classes(const struct dw_die *root)
{
	u64 language = 0;
	(void)dw_die_number(root, DW_AT_LANGUAGE, &language);
	/* C89, C, C99, C11, C17, assembler */
	return language != 1 && language != 2 && language != 0xc && language != 0x1d &&
	       language != 0x2c && language != 0x8001;
}

static int read_scopes(struct dwcode_unit *u)
{
	bool classes = dwcode_has_classes(&u->root);
	_cleanup_free_ struct level *levels = malloc(LEVELS_MAX * sizeof(*levels));
	struct dw_die d;
	u32 nr = 1;
	int err = 0;
	if (!levels)
		return -ENOMEM;
	levels[0] = (struct level){ .die = u->root, .scope = DWCODE_NO_SCOPE };
	bool more = dw_die_child(&u->root, &d);
	while (!err && nr) {
		if (!more) {
			/* Back to the entry whose children these were. */
			struct level *up = &levels[--nr];
			if (up->own)
				u->scopes.at[up->scope].end = (u32)u->scopes.nr;
			if (!nr)
				break;
			more = dw_die_next(&up->die, &d);
			continue;
		}
		u32 scope = levels[nr - 1].scope;
		bool own = is_scope(dw_die_tag(&d));
		if (own) {
			err = add_scope(u, &d, scope);
			scope = (u32)u->scopes.nr - 1;
		}
		struct dw_die child;
		bool down = (own || is_container(dw_die_tag(&d), classes)) && nr < LEVELS_MAX &&
			    dw_die_child(&d, &child);
		if (down && !err) {
			levels[nr++] = (struct level){ d, scope, own };
			d = child;
		} else {
			struct dw_die next;
			more = dw_die_next(&d, &next);
			d = more ? next : d;
		}
	}
	return err;
}

/* gcc writes its options down; what says nothing counts as not optimised, as in perf. */
static bool is_optimised(const struct dw_die *root)
{
	struct dw_value v;
	const char *text =
		dw_die_attr(root, DW_AT_PRODUCER, &v) ? dw_string(root->f, root->u, &v) : NULL;
	return text && strstr(text, "-O") && !strstr(text, "-O0");
}

static bool unit_root(struct dwcode *d, struct dw_unit *skeleton, struct dw_die *ret)
{
	struct dw_file *f = d->file;
	struct dw_unit *u = skeleton;
	if (skeleton->split) {
		u = dw_split_find(dwinfo_split(d->info), skeleton, &f);
		skeleton->dwo = u ? f : NULL;
		if (!u)
			return false;
	}
	return dw_die_root(f, u, ret) && dw_die_tag(ret) == DW_TAG_COMPILE_UNIT;
}

int dwcode_unit_open(struct dwcode *d, u32 index, struct dwcode_unit *ret)
{
	if (index >= d->file->units.nr)
		return -ENOENT;
	struct dw_unit *skeleton = &d->file->units.at[index];
	dw_unit_need(d->file, skeleton);
	struct dwcode_unit u = { .of = d, .index = index };
	if (!skeleton->version || !unit_root(d, skeleton, &u.root))
		return -ENOENT;
	u.optimised = is_optimised(&u.root);
	u.files = calloc(1, sizeof(*u.files));
	int err = u.files ? read_scopes(&u) : -ENOMEM;
	if (!err && dw_lines_open(u.files, d->file, skeleton, &d->paths)) {
		dw_lines_done(u.files);
		free(u.files);
		u.files = NULL;
	}
	if (err)
		dwcode_unit_done(&u);
	else
		*ret = u;
	return err;
}

void dwcode_unit_done(struct dwcode_unit *u)
{
	if (u->files)
		dw_lines_done(u->files);
	free(u->files);
	vec_free(&u->scopes);
	vec_free(&u->ranges);
	vec_free(&u->lines);
	u->files = NULL;
}

/* ---- lines ---- */

struct dwarf_code_collect {
	struct dwcode_unit *u;
	bool failed;
};

static void collect_row(void *ctx, const struct dw_row *row)
{
	struct dwarf_code_collect *c = ctx;
	struct dwcode_line *l = vec_push(&c->u->lines);
	if (l)
		*l = (struct dwcode_line){ row->addr, row->file,	 row->line,
					   row->stmt, row->prologue_end, row->end };
	else
		c->failed = true;
}

static bool comes_before(const struct dwcode_line *a, const struct dwcode_line *b)
{
	if (a->addr != b->addr)
		return a->addr < b->addr;
	return a->end && !b->end; /* where one sequence ends, another may begin */
}

/* Sequences are sorted already, and few are out of order: rows are merged, those of the same address stay as they were. */
static int sort_lines(struct dwcode_unit *u)
{
	size_t nr = u->lines.nr;
	bool sorted = true;
	for (size_t i = 1; i < nr && sorted; i++)
		sorted = !comes_before(&u->lines.at[i], &u->lines.at[i - 1]);
	if (sorted)
		return 0;
	_cleanup_free_ struct dwcode_line *spare = malloc(nr * sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	for (size_t width = 1; width < nr; width *= 2) {
		for (size_t lo = 0; lo < nr; lo += 2 * width) {
			size_t mid = min(lo + width, nr), hi = min(lo + 2 * width, nr);
			size_t i = lo, k = mid;
			for (size_t to = lo; to < hi; to++)
				spare[to] = k < hi && (i == mid || comes_before(&u->lines.at[k],
										&u->lines.at[i]))
						    ? u->lines.at[k++]
						    : u->lines.at[i++];
		}
		memcpy(u->lines.at, spare, nr * sizeof(*spare));
	}
	return 0;
}

int dwcode_unit_lines(struct dwcode_unit *u)
{
	struct dwarf_code_collect c = { .u = u };
	if (u->lines.nr)
		return 0;
	if (!u->files)
		return -ENOENT;
	dw_lines_rows(u->files, collect_row, &c);
	if (c.failed)
		return -ENOMEM;
	return u->lines.nr ? sort_lines(u) : -ENOENT;
}

const char *dwcode_path(struct dwcode_unit *u, u32 file)
{
	return u->files ? dw_lines_path(u->files, file) : NULL;
}

u32 dwcode_nr_files(const struct dwcode_unit *u)
{
	return u->files ? (u32)u->files->files.nr : 0;
}

const char *dwcode_folder(struct dwcode_unit *u)
{
	return u->files ? u->files->comp_dir : NULL;
}

const struct dwcode_line *dwcode_line_at(const struct dwcode_unit *u, u64 pc)
{
	size_t lo = 0, hi = u->lines.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (u->lines.at[mid].addr <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && !u->lines.at[lo - 1].end ? &u->lines.at[lo - 1] : NULL;
}

/* ---- questions ---- */

bool dwcode_scope_die(struct dwcode_unit *u, const struct dwcode_scope *s, struct dw_die *ret)
{
	struct dw_value here = { .class = DWVAL_REF, .u = s->at };
	return dw_die_ref(&u->root, &here, ret);
}

bool dwcode_is_foreign(const struct dwcode_unit *u, const struct dwcode_scope *s)
{
	return s->origin && (s->origin < u->root.u->start || s->origin >= u->root.u->end);
}

const char *dwcode_name(struct dwcode_unit *u, const struct dwcode_scope *s)
{
	struct dw_die d;
	return s->name ? s->name : dwcode_scope_die(u, s, &d) ? dw_die_name(&d) : NULL;
}

/* The path of a file that an entry of another unit names, by that unit's table. */
static const char *path_elsewhere(struct dwcode *d, const struct dw_die *owner, u64 file)
{
	if (!d->has_other || d->other.u != owner->u) {
		if (d->has_other)
			dw_lines_done(&d->other);
		d->has_other = !dw_lines_open(&d->other, owner->f, owner->u, &d->paths);
		if (!d->has_other)
			dw_lines_done(&d->other);
	}
	return d->has_other ? dw_lines_path(&d->other, file) : NULL;
}

bool dwcode_declared(struct dwcode_unit *u, const struct dwcode_scope *s, const char **path,
		     u32 *line)
{
	struct dw_die d, owner;
	struct dw_value v;
	u64 number;
	if (!dwcode_scope_die(u, s, &d) || !dw_die_number(&d, DW_AT_DECL_LINE, &number) ||
	    !dw_die_deep(&d, DW_AT_DECL_FILE, &v, &owner) || v.class != DWVAL_CONST)
		return false;
	*path = owner.u == u->root.u ? dwcode_path(u, (u32)v.u) : path_elsewhere(u->of, &owner, v.u);
	*line = (u32)number;
	return *path;
}

bool dwcode_called(struct dwcode_unit *u, const struct dwcode_scope *s, const char **path, u32 *line)
{
	*path = s->kind == DWCODE_INLINED && s->call_line ? dwcode_path(u, s->call_file) : NULL;
	*line = s->call_line;
	return *path;
}

bool dwcode_has(const struct dwcode_unit *u, const struct dwcode_scope *s, u64 pc)
{
	for (u32 i = 0; i < s->nr_ranges && dw_step(u->root.f, 1); i++) {
		const struct dwcode_range *r = &u->ranges.at[s->first_range + i];
		if (r->low <= pc && pc < r->high)
			return true;
	}
	return false;
}

u64 dwcode_high(const struct dwcode_unit *u, const struct dwcode_scope *s)
{
	u64 high = 0;
	for (u32 i = 0; i < s->nr_ranges; i++)
		high = max(high, u->ranges.at[s->first_range + i].high);
	return high;
}

u32 dwcode_function_at(const struct dwcode_unit *u, u64 pc)
{
	for (u32 i = 0; i < u->scopes.nr && dw_step(u->root.f, 1); i++)
		if (u->scopes.at[i].kind == DWCODE_FUNCTION && dwcode_has(u, &u->scopes.at[i], pc))
			return i;
	return DWCODE_NO_SCOPE;
}

u32 dwcode_scope_at(const struct dwcode_unit *u, u64 at)
{
	u32 lo = 0, hi = (u32)u->scopes.nr;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (u->scopes.at[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < u->scopes.nr && u->scopes.at[lo].at == at ? lo : DWCODE_NO_SCOPE;
}

u32 dwcode_inlined_at(const struct dwcode_unit *u, u32 below, u64 pc)
{
	for (u32 i = below + 1; i < u->scopes.at[below].end && dw_step(u->root.f, 1); i++)
		if (u->scopes.at[i].kind == DWCODE_INLINED && dwcode_has(u, &u->scopes.at[i], pc))
			return i;
	return DWCODE_NO_SCOPE;
}
