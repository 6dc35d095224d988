#include "image/dwarf_names.h"
#include "base/dict.h"
#include "base/glob.h"
#include "base/guard.h"
#include "base/atomic_file.h"
#include "base/par.h"
#include "image/buildid.h"
#include "image/dwarf_code_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { BUCKET_BITS = 16, BUCKETS = 1 << BUCKET_BITS, KEPT_MIN = 4 << 20, LEVELS_MAX = 256 };
enum { WORKERS_MAX = 16, TABLES_MAX = 4 };

static const char magic[8] = "SNDWNM2";

struct dwarf_names_entry {
	u32 hash, unit;
};

/* As it is kept: a head, where each unit and each bucket begins, entries by bucket. */
struct dwarf_names_head {
	char magic[8];
	u32 nr, nr_units;
};

struct dwarf_names_table {
	const u32 *starts; /* BUCKETS + 1 */
	const struct dwarf_names_entry *entries;
	const u64 *units; /* where each begins in .debug_info */
	u32 nr, nr_units;
	void *block;
	size_t size;
	bool mapped;
};

enum what { WHAT_FUNCTIONS, WHAT_FILES, WHAT_NR };

struct dwnames {
	struct dwcode *code;
	const struct elfimg *image;
	const char *folder;
	struct dwarf_names_table tables[WHAT_NR];
};

void dwnames_close(struct dwnames *n)
{
	for (u32 i = 0; n && i < WHAT_NR; i++) {
		if (n->tables[i].mapped)
			guard_unmap(n->tables[i].block, n->tables[i].size);
		else
			free(n->tables[i].block);
	}
	free(n);
}

static u32 hash_name(const char *name, size_t len)
{
	u64 h = hash_bytes(name, len);
	return (u32)(h ^ h >> 32);
}

/* ---- the names of a unit ---- */

typedef int name_fn(void *ctx, const char *name);

/*
 * Hashes of strings by where they are in .debug_str: what headers define is named in hundreds of units, and each look at a string that
 * is not in the processor's caches costs more than all the rest of its entry.
 */
enum { KNOWN_BITS = 13 };

struct dwarf_names_known {
	u32 offset, hash; /* offset + 1; 0: free */
};

/* Each worker reads the file through a view of its own: tables of abbreviations are made on the way. */
struct worker {
	struct dw_file file;
	u64 budget;
	bool broken, ready, any_split;
	const char *spent;
	VEC(struct dwarf_names_entry) entries;
	u32 unit;
	struct dwarf_names_known *known; /* 1 << KNOWN_BITS; NULL: none */
};

struct dwarf_names_scan {
	struct dw_file *f;
	struct dw_unit *u;
	const struct dw_abbrevs *t;
	struct bytes b;
	const u8 *start;
	bool classes;
	bool foreign; /* instances are made from what is in other units */
	struct worker *worker; /* whose table gets the hashes of names; NULL: fn gets the names */
	name_fn *fn;
	void *ctx;
};

static int add_hash(struct worker *w, u32 hash)
{
	struct dwarf_names_entry *e = vec_push(&w->entries);
	if (!e)
		return -ENOMEM;
	*e = (struct dwarf_names_entry){ hash, w->unit };
	return 0;
}

static int add_name(struct worker *w, const char *name)
{
	return add_hash(w, hash_name(name, strlen(name)));
}

static int tell_name(struct dwarf_names_scan *s, const struct dw_value *v)
{
	struct worker *w = s->worker;
	struct dwarf_names_known *k = NULL;
	if (w && w->known && v->class == DWVAL_STR && v->u < UINT32_MAX && s->f == &w->file) {
		k = &w->known[v->u * 0x9e3779b1 % (1ull << 32) >> (32 - KNOWN_BITS)];
		if (k->offset == v->u + 1)
			return add_hash(w, k->hash);
	}
	const char *name = dw_string(s->f, s->u, v);
	if (!name)
		return 0;
	if (!w)
		return s->fn(s->ctx, name);
	u32 hash = hash_name(name, strlen(name));
	if (k)
		*k = (struct dwarf_names_known){ (u32)v->u + 1, hash };
	return add_hash(w, hash);
}

/* A function that has code or may be inlined, and not one that is only declared: its names, or those of what it is an instance of. */
static int scan_function(struct dwarf_names_scan *s, const struct dw_abbrev *a, u64 at)
{
	struct dw_value name = { 0 }, linkage = { 0 }, v;
	bool elsewhere = false;
	struct bytes b = s->b;
	const struct dw_spec *spec = s->t->specs.at + a->first, *end = spec + a->nr;
	for (; spec < end && !b.bad; spec++) {
		if (spec->slot == DWSLOT_NAME) {
			dw_read_form(s->u, &b, spec->form, spec->implicit, &name);
		} else if (spec->slot == DWSLOT_LINKAGE) {
			dw_read_form(s->u, &b, spec->form, spec->implicit, &linkage);
		} else if (spec->slot == DWSLOT_ORIGIN) {
			elsewhere = true;
			dw_read_form(s->u, &b, spec->form, spec->implicit, &v);
			/* An instance of a function of this unit, which is found under its own entry. */
			if (!s->classes && spec->attr == DW_AT_ABSTRACT_ORIGIN &&
			    v.class == DWVAL_REF && v.u >= s->u->root && v.u < s->u->end)
				return 0;
		} else if (spec->size != DW_SIZE_VARIES) {
			bytes_skip(&b, spec->size);
		} else {
			dw_read_form(s->u, &b, spec->form, spec->implicit, &v);
		}
	}
	struct dw_die d = { s->f, s->u, s->t, a, at, (u64)(s->b.at - s->start) };
	if (elsewhere && !name.class)
		name = (struct dw_value){ .class = DWVAL_TEXT, .p = dw_die_name(&d) };
	if (elsewhere && !linkage.class)
		linkage = (struct dw_value){ .class = DWVAL_TEXT, .p = dw_die_linkage(&d) };
	int err = name.class ? tell_name(s, &name) : 0;
	return !err && linkage.class ? tell_name(s, &linkage) : err;
}

/* Past an entry and what is below it, or into it. */
static int scan_step(struct dwarf_names_scan *s, const struct dw_abbrev *a, bool into)
{
	u64 sibling = 0;
	struct dw_value v;
	if (!a->children || into || !a->has_sibling) {
		dw_skip(s->u, s->t, a, &s->b);
		return a->children;
	}
	if (likely(a->sibling_at)) {
		bytes_skip(&s->b, a->sibling_at - 1u);
		sibling = bytes_u32(&s->b) + s->u->start;
	} else {
		struct dw_die d = { s->f, s->u, s->t, a, 0, (u64)(s->b.at - s->start) };
		if (dw_die_attr(&d, DW_AT_SIBLING, &v) && v.class == DWVAL_REF)
			sibling = v.u;
	}
	if (sibling <= (u64)(s->b.at - s->start) || sibling > s->u->end) {
		s->b.bad = true;
		return 0;
	}
	s->b.at = s->start + sibling;
	return 0;
}

/* After link-time optimisation, what is inlined in one unit is described in another. */
static bool has_foreign(const struct dw_abbrevs *t)
{
	vec_for_each (&t->list, a)
		for (u32 i = 0; a->tag == DW_TAG_INLINED_SUBROUTINE && i < a->nr; i++)
			if (t->specs.at[a->first + i].attr == DW_AT_ABSTRACT_ORIGIN &&
			    t->specs.at[a->first + i].form == DW_FORM_REF_ADDR)
				return true;
	return false;
}

static bool holds_functions(const struct dwarf_names_scan *s, u16 tag)
{
	if (s->foreign && (tag == DW_TAG_SUBPROGRAM || tag == DW_TAG_INLINED_SUBROUTINE ||
			   tag == DW_TAG_LEXICAL_BLOCK))
		return true;
	return tag == DW_TAG_NAMESPACE || tag == DW_TAG_MODULE || tag == DW_TAG_COMPILE_UNIT;
}

/*
 * Maps the pages of a unit and has them fetched before they are read: entries lead from one to the next, so that each that is not in the
 * processor's caches would be waited for by itself.
 */
static void bring_in(const struct bytes *b)
{
	enum { PAGE = 4096, LINE = 64 };
	for (size_t page = 0; page < bytes_left(b); page += PAGE) {
		(void)*(const volatile u8 *)(b->at + page);
		for (size_t i = page; i < min(page + PAGE, bytes_left(b)); i += LINE)
			__builtin_prefetch(b->at + i);
	}
}

/*
 * Functions of a unit, its namespaces and, where entries do not say where the next one is, of everything. Those of classes inside
 * functions are found by the class's own functions, whose definitions are outside.
 */
static int scan_unit(struct dwarf_names_scan *s)
{
	s->t = dw_abbrevs_of(s->f, s->u);
	s->start = dw_section(s->f, DWSEC_INFO)->data;
	if (!s->t || !s->start)
		return 0;
	s->b = bytes_of(s->start + s->u->root, s->u->end - s->u->root, s->f->e->swap);
	if (s->f->e->real >= s->f->e->size) /* nobody should walk through holes */
		bring_in(&s->b);
	struct dw_die root;
	s->foreign = has_foreign(s->t);
	s->classes = !dw_die_root(s->f, s->u, &root) || dwcode_has_classes(&root);
	u32 depth = 0;
	int err = 0;
	while (!err && bytes_left(&s->b) && !s->b.bad) {
		u64 at = (u64)(s->b.at - s->start), code = dw_uleb(&s->b);
		if (!code) {
			if (depth <= 1)
				break;
			depth--;
			continue;
		}
		const struct dw_abbrev *a = dw_abbrev_find(s->t, code);
		if (!a || !dw_step(s->f, 1))
			break;
		bool inlined = s->foreign && a->tag == DW_TAG_INLINED_SUBROUTINE;
		if ((a->tag == DW_TAG_SUBPROGRAM || inlined) && a->has_code)
			err = scan_function(s, a, at);
		depth += (u32)scan_step(s, a, holds_functions(s, a->tag));
	}
	return err;
}

/* ---- making a table ---- */

struct make {
	struct dwcode *code;
	struct worker workers[WORKERS_MAX];
};

static int worker_init(struct worker *w, const struct dw_file *from)
{
	w->file = *from;
	for (u32 i = 0; i < DWSEC_NR; i++)
		w->file.sections[i].heap = NULL;
	w->file.units.at = NULL;
	w->file.units.nr = w->file.units.cap = 0;
	w->file.abbrevs.at = NULL;
	w->file.abbrevs.nr = w->file.abbrevs.cap = 0;
	dict_init(&w->file.abbrevs_at);
	w->file.scratch = (struct dw_abbrevs){ 0 };
	w->budget = *from->budget;
	w->file.budget = &w->budget;
	w->file.broken = &w->broken;
	w->file.spent = &w->spent;
	w->ready = true;
	w->known = calloc(1 << KNOWN_BITS, sizeof(*w->known));
	if (!vec_reserve(&w->file.units, from->units.nr))
		return -ENOMEM;
	for (u32 i = 0; i < from->units.nr; i++) {
		w->file.units.at[i] = from->units.at[i];
		w->file.units.at[i].abbrevs = 0;
	}
	w->file.units.nr = from->units.nr;
	return 0;
}

static int make_unit(void *ctx, unsigned worker, u32 index)
{
	struct make *m = ctx;
	struct worker *w = &m->workers[worker];
	if (!w->ready) {
		int err = worker_init(w, m->code->file);
		if (err)
			return err;
	}
	struct dw_unit *u = &w->file.units.at[index];
	w->unit = index;
	/* Most units have a table of abbreviations of their own. */
	if (w->file.abbrevs.nr > TABLES_MAX)
		dw_abbrevs_drop(&w->file);
	if (u->version)
		(void)dw_abbrevs_of(&w->file, u);
	dw_unit_need(&w->file, u);
	w->any_split |= u->split;
	if (!u->version || u->split)
		return 0;
	struct dwarf_names_scan s = { .f = &w->file, .u = u, .worker = w };
	return scan_unit(&s);
}

/* Units whose entries are in other files: those are opened one after the other. */
static int make_split(struct make *m)
{
	struct dw_file *main = m->code->file;
	struct worker *w = &m->workers[0];
	int err = 0;
	bool any = false;
	for (u32 i = 0; i < WORKERS_MAX; i++)
		any |= m->workers[i].any_split;
	for (u32 i = 0; any && i < main->units.nr && !err; i++) {
		struct dw_file *f;
		dw_unit_need(main, &main->units.at[i]);
		struct dw_unit *u =
			main->units.at[i].version && main->units.at[i].split
				? dw_split_find(dwinfo_split(m->code->info), &main->units.at[i], &f)
				: NULL;
		w->unit = i;
		struct dwarf_names_scan s = { .f = u ? f : NULL, .u = u, .worker = w };
		if (u)
			err = scan_unit(&s);
	}
	return err;
}

static int make_functions(struct make *m)
{
	struct dw_file *f = m->code->file;
	for (u32 i = 0; i < DWSEC_NR; i++)
		(void)dw_section(f, i); /* before threads share them */
	/* What dwz moved is in a file that workers would share. */
	unsigned workers = f->alt ? 1 : par_workers(0, dw_section(f, DWSEC_INFO)->size, 1 << 20);
	int err = par_each(min(workers, (unsigned)WORKERS_MAX), (u32)f->units.nr, make_unit, m);
	return err ? err : make_split(m);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static int make_files(struct make *m)
{
	struct dw_file *f = m->code->file;
	struct worker *w = &m->workers[0];
	int err = 0;
	for (u32 i = 0; i < f->units.nr && !err; i++) {
		struct dw_lines l;
		w->unit = i;
		dw_unit_need(f, &f->units.at[i]);
		if (f->units.at[i].version && !dw_lines_open(&l, f, &f->units.at[i], &m->code->paths))
			for (size_t k = 0; k < l.files.nr && !err; k++)
				err = add_name(w, base_name(l.files.at[k].name));
		if (f->units.at[i].version)
			dw_lines_done(&l);
	}
	return err;
}

static u64 table_size(u64 nr, u64 nr_units)
{
	return sizeof(struct dwarf_names_head) + nr_units * sizeof(u64) +
	       (BUCKETS + 1) * sizeof(u32) + nr * sizeof(struct dwarf_names_entry);
}

static int collect(struct make *m, struct dwarf_names_table *t)
{
	size_t nr = 0;
	for (u32 i = 0; i < WORKERS_MAX; i++)
		nr += m->workers[i].entries.nr;
	u32 nr_units = (u32)m->code->file->units.nr;
	size_t size = table_size(nr, nr_units);
	u8 *block = nr < UINT32_MAX ? calloc(1, size) : NULL;
	if (!block)
		return -ENOMEM;
	struct dwarf_names_head h = { .nr = (u32)nr, .nr_units = nr_units };
	memcpy(h.magic, magic, sizeof(h.magic));
	memcpy(block, &h, sizeof(h));
	u64 *units = (u64 *)(block + sizeof(h));
	u32 *starts = (u32 *)(units + nr_units);
	struct dwarf_names_entry *to = (struct dwarf_names_entry *)(starts + BUCKETS + 1);
	for (u32 i = 0; i < nr_units; i++)
		units[i] = m->code->file->units.at[i].start;
	_cleanup_free_ u32 *next = calloc(BUCKETS + 1, sizeof(*next));
	if (!next) {
		free(block);
		return -ENOMEM;
	}
	for (u32 i = 0; i < WORKERS_MAX; i++)
		vec_for_each (&m->workers[i].entries, e)
			next[(e->hash >> (32 - BUCKET_BITS)) + 1]++;
	for (u32 i = 1; i <= BUCKETS; i++)
		starts[i] = next[i] += next[i - 1];
	for (u32 i = 0; i < WORKERS_MAX; i++)
		vec_for_each (&m->workers[i].entries, e)
			to[next[e->hash >> (32 - BUCKET_BITS)]++] = *e;
	*t = (struct dwarf_names_table){ starts, to, units, (u32)nr, nr_units, block, size, false };
	return 0;
}

static int make_table(struct dwcode *code, enum what what, struct dwarf_names_table *t)
{
	struct make *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->code = code;
	int err = what == WHAT_FUNCTIONS ? make_functions(m) : make_files(m);
	if (!err)
		err = collect(m, t);
	for (u32 i = 0; i < WORKERS_MAX; i++) {
		if (m->workers[i].ready)
			dw_file_done(&m->workers[i].file);
		vec_free(&m->workers[i].entries);
		free(m->workers[i].known);
	}
	free(m);
	return err;
}

/* ---- keeping it ---- */

static bool kept_path(const struct dwnames *n, enum what what, char to[PATH_MAX])
{
	char hex[BUILDID_TEXT];
	struct buildid id;
	const struct elfimg *e = n->image;
	const struct dw_bytes *info = dw_section(n->code->file, DWSEC_INFO);
	if (!n->folder || !e->identity.ino || info->size < KEPT_MIN || buildid_of_image(e, &id) ||
	    buildid_text(&id, hex) < 4)
		return false;
	int len = snprintf(to, PATH_MAX, "%s/dwarf/%s-%016llx.%s", n->folder, hex,
			   (unsigned long long)hash_bytes(&e->identity, sizeof(e->identity)),
			   what == WHAT_FUNCTIONS ? "functions" : "files");
	return len > 0 && len < PATH_MAX;
}

static bool load_table(const struct dwnames *n, const char *path, struct dwarf_names_table *t)
{
	void *data;
	size_t size;
	struct dwarf_names_head h;
	if (atomic_file_map_keyed(path, &n->image->identity, sizeof(n->image->identity), &data,
				  &size))
		return false;
	size_t all = size + sizeof(n->image->identity);
	if (size < sizeof(h))
		goto bad;
	memcpy(&h, data, sizeof(h));
	u32 have = (u32)n->code->file->units.nr; /* 0: not known yet */
	if (memcmp(h.magic, magic, sizeof(magic)) || (have && h.nr_units != have) || !h.nr_units ||
	    h.nr_units > dw_section(n->code->file, DWSEC_INFO)->size ||
	    size != table_size(h.nr, h.nr_units))
		goto bad;
	const u64 *units = (const u64 *)((const u8 *)data + sizeof(h));
	const u32 *starts = (const u32 *)(units + h.nr_units);
	*t = (struct dwarf_names_table){
		starts,	    (const struct dwarf_names_entry *)(starts + BUCKETS + 1),
		units,	    h.nr,
		h.nr_units, data,
		all,	    true
	};
	return true;
bad:
	guard_unmap(data, all);
	return false;
}

static bool load_kept(struct dwnames *n)
{
	char path[PATH_MAX];
	return kept_path(n, WHAT_FUNCTIONS, path) && load_table(n, path, &n->tables[WHAT_FUNCTIONS]);
}

int dwnames_open(struct dwcode *code, const struct elfimg *image, const char *folder,
		 struct dwnames **ret)
{
	struct dwnames *n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->code = code;
	n->image = image;
	n->folder = folder;
	/* With an index from another time, units are read one by one when they are needed. */
	int err = load_kept(n) ? dw_units_adopt(code->file, n->tables[WHAT_FUNCTIONS].units,
						n->tables[WHAT_FUNCTIONS].nr_units)
			       : dwinfo_read_units(code->info);
	if (err)
		dwnames_close(n);
	else
		*ret = n;
	return err;
}

static int get_table(struct dwnames *n, enum what what, struct dwarf_names_table **ret)
{
	struct dwarf_names_table *t = &n->tables[what];
	char path[PATH_MAX];
	*ret = t;
	if (t->block)
		return 0;
	bool kept = kept_path(n, what, path);
	if (kept && load_table(n, path, t))
		return 0;
	int err = make_table(n->code, what, t);
	/* A cache that cannot be written costs time, no more. */
	if (!err && kept && !dwcode_broken(n->code) && !elfimg_is_cut(n->image))
		(void)!atomic_file_save_keyed(path, t->block, t->size, &n->image->identity,
					      sizeof(n->image->identity));
	return err;
}

/* ---- asking ---- */

static int by_number(const void *l, const void *r)
{
	u32 a = *(const u32 *)l, b = *(const u32 *)r;
	return (a > b) - (a < b);
}

static int units_of(struct dwnames *n, enum what what, const char *name, u32 **ret, u32 *nr)
{
	struct dwarf_names_table *t;
	int err = get_table(n, what, &t);
	if (err)
		return err;
	u32 hash = hash_name(name, strlen(name)), bucket = hash >> (32 - BUCKET_BITS);
	u32 lo = t->starts[bucket], hi = min(t->starts[bucket + 1], t->nr);
	VEC(u32) units = { 0 };
	for (u32 i = lo; i < hi; i++) {
		if (t->entries[i].hash != hash || t->entries[i].unit >= dwcode_nr_units(n->code))
			continue;
		u32 *u = vec_push(&units);
		if (!u) {
			vec_free(&units);
			return -ENOMEM;
		}
		*u = t->entries[i].unit;
	}
	if (units.nr)
		qsort(units.at, units.nr, sizeof(u32), by_number);
	u32 kept = 0;
	for (size_t i = 0; i < units.nr; i++)
		if (!kept || units.at[kept - 1] != units.at[i])
			units.at[kept++] = units.at[i];
	*ret = units.at;
	*nr = kept;
	return 0;
}

struct dwarf_names_match {
	const char *glob;
	bool found;
};

static int match_name(void *ctx, const char *name)
{
	struct dwarf_names_match *m = ctx;
	m->found |= glob_match(m->glob, name);
	return 0;
}

/* Calls fn for the names of one unit. */
static int each_of_unit(struct dwcode *code, u32 index, name_fn *fn, void *ctx)
{
	struct dw_file *f = code->file;
	struct dw_unit *u = &f->units.at[index];
	dw_unit_need(f, u);
	if (!u->version)
		return 0;
	if (u->split)
		u = dw_split_find(dwinfo_split(code->info), u, &f);
	struct dwarf_names_scan s = { .f = f, .u = u, .fn = fn, .ctx = ctx };
	return u ? scan_unit(&s) : 0;
}

int dwnames_functions(struct dwnames *n, const char *name, bool is_glob, u32 **ret, u32 *nr)
{
	if (!is_glob)
		return units_of(n, WHAT_FUNCTIONS, name, ret, nr);
	u32 all = dwcode_nr_units(n->code), found = 0;
	u32 *units = malloc((all + 1) * sizeof(*units));
	int err = units ? 0 : -ENOMEM;
	for (u32 i = 0; i < all && !err; i++) {
		struct dwarf_names_match m = { .glob = name };
		err = each_of_unit(n->code, i, match_name, &m);
		if (m.found)
			units[found++] = i;
	}
	if (err) {
		free(units);
		return err;
	}
	*ret = units;
	*nr = found;
	return 0;
}

int dwnames_files(struct dwnames *n, const char *path, u32 **ret, u32 *nr)
{
	return units_of(n, WHAT_FILES, base_name(path), ret, nr);
}

int dwnames_each(struct dwnames *n, int (*fn)(void *ctx, const char *name), void *ctx)
{
	int err = 0;
	for (u32 i = 0; i < dwcode_nr_units(n->code) && !err; i++)
		err = each_of_unit(n->code, i, fn, ctx);
	return err;
}
