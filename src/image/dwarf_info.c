#include "image/dwarf_info.h"
#include "image/dwarf_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { LEVELS_MAX = 4096, INLINES_MAX = 256, HOPS_MAX = 16, NO_UNIT = 0xffffffff };

/* One step of a question's way inwards, linked from the innermost. */
struct dwarf_info_step {
	u32 before; /* 1 + index; 0: none */
	u32 unit;
	struct dw_value origin; /* its entry: the name stands where that leads */
	u64 call_file;
	u32 call_line;
};

struct question {
	u32 unit;
	u32 func; /* 1 + number of the function around it, in this unit; 0: none yet */
	u32 last; /* 1 + index of the innermost step */
	u32 depth;
	struct dw_value func_origin; /* of the function, to be looked up */
};

struct dwinfo {
	struct dw_file file, alt_file;
	struct elfimg alt_image;
	struct dw_split split;
	u64 budget;
	bool broken;
	const char *spent;
	u32 nr_split;
	struct strtab paths;
	struct arena arena; /* of the last answers */
	struct dict name_at; /* (file, entry) -> index into names */
	VEC(const char *) names;
};

/* One call of dwinfo_find. */
struct dwarf_info_search {
	struct dwinfo *d;
	const u64 *at;
	u32 nr;
	unsigned want;
	struct question *questions;
	VEC(struct dwarf_info_step) steps;
	struct dwinfo_answer *ret;
};

/* ---- opening ---- */

/* ".gnu_debugaltlink": a path, then the build id of the file that dwz moved common entries to. */
static int open_alt(struct dwinfo *d, const struct elfimg *image, const struct debugfile_where *w)
{
	struct elfimg_section sec;
	if (!w || !elfimg_section_by_name(image, ".gnu_debugaltlink", &sec))
		return -ENOENT;
	const u8 *data = elfimg_section_data(image, &sec);
	if (!data)
		return -ENOENT;
	struct bytes b = bytes_of(data, sec.size, image->swap);
	const char *path = bytes_cstr(&b);
	struct buildid id = buildid_make(b.at, bytes_left(&b));
	return path ? debugfile_open_alt(w, path, &id, &d->alt_image) : -ENOENT;
}

int dwinfo_read_units(struct dwinfo *d)
{
	int err = dw_units_read(&d->file);
	if (!err && !d->file.units.nr)
		err = d->spent ? -E2BIG : -EBADMSG;
	return err;
}

int dwinfo_open(const struct elfimg *image, const struct debugfile_where *where, const char *path,
		struct dwinfo **ret)
{
	struct dwinfo *d;
	int err = dwinfo_open_bare(image, where, path, &d);
	if (!err)
		err = dwinfo_read_units(d);
	else
		d = NULL;
	if (err)
		dwinfo_close(d);
	else
		*ret = d;
	return err;
}

int dwinfo_open_bare(const struct elfimg *image, const struct debugfile_where *where,
		     const char *path, struct dwinfo **ret)
{
	if (!dwinfo_has(image))
		return -ENOENT;
	struct dwinfo *d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	strtab_init(&d->paths);
	arena_init(&d->arena);
	dict_init(&d->name_at);
	dict_init(&d->file.abbrevs_at);
	dict_init(&d->alt_file.abbrevs_at);
	d->file.e = image;
	d->alt_file.number = 1;
	dw_split_init(&d->split, &d->file, where, path);
	d->file.budget = d->alt_file.budget = &d->budget;
	d->file.broken = d->alt_file.broken = &d->broken;
	d->file.spent = d->alt_file.spent = &d->spent;
	d->budget = UINT64_MAX;
	u64 size = 0;
	for (int i = 0; i < DWSEC_NR; i++)
		size += i == DWSEC_INFO || i == DWSEC_ABBREV ? dw_section(&d->file, i)->size : 0;
	/* Every entry is read twice at most; ranges, names and lines take about as much again. */
	d->budget = 4 * size + 8 * image->real + (1 << 20);
	int err = 0;
	if (!open_alt(d, image, where)) {
		d->alt_file.e = &d->alt_image;
		d->budget += 4 * (u64)d->alt_image.size;
		d->file.alt = &d->alt_file;
		err = dw_units_read(&d->alt_file);
	}
	if (err) {
		dwinfo_close(d);
		return err;
	}
	*ret = d;
	return 0;
}

void dwinfo_close(struct dwinfo *d)
{
	if (!d)
		return;
	dw_split_done(&d->split);
	dw_file_done(&d->file);
	dw_file_done(&d->alt_file);
	elfimg_close(&d->alt_image);
	strtab_done(&d->paths);
	arena_done(&d->arena);
	dict_done(&d->name_at);
	vec_free(&d->names);
	free(d);
}

struct dw_file *dwinfo_file(struct dwinfo *d)
{
	return &d->file;
}

struct dw_split *dwinfo_split(struct dwinfo *d)
{
	return &d->split;
}

u32 dwinfo_nr_split(const struct dwinfo *d)
{
	return d->nr_split;
}

const char *dwinfo_missing(const struct dwinfo *d)
{
	return d->split.missing;
}

const char *dwinfo_spent(const struct dwinfo *d)
{
	return d->spent;
}

bool dwinfo_broken(const struct dwinfo *d)
{
	return d->broken;
}

/* ---- names ---- */

/* The name an entry has, or the entry that it stands for: the linker's wins over the source's, wherever it stands. */
static const char *look_name(struct dwinfo *d, struct dw_file *f, u64 offset)
{
	const char *plain = NULL;
	for (int hops = 0; hops < HOPS_MAX; hops++) {
		struct dw_unit *u = dw_unit_at(f, offset);
		const struct dw_abbrevs *t = u ? dw_abbrevs_of(f, u) : NULL;
		if (!t || !dw_step(f, 8))
			return plain;
		struct bytes b = dw_cursor(f, DWSEC_INFO, offset);
		b.end = dw_section(f, DWSEC_INFO)->data + u->end;
		const struct dw_abbrev *a = dw_abbrev_find(t, dw_uleb(&b));
		if (!a || b.bad)
			return plain;
		struct dw_entry e;
		dw_read_entry(u, t, a, &b, &e);
		if (b.bad)
			return plain;
		const char *name = dw_string(f, u, &e.at[DWSLOT_LINKAGE]);
		if (name)
			return name;
		if (!plain)
			plain = dw_string(f, u, &e.at[DWSLOT_NAME]);
		if (e.at[DWSLOT_ORIGIN].class == DWVAL_REF_ALT)
			f = f->alt;
		else if (e.at[DWSLOT_ORIGIN].class != DWVAL_REF)
			return plain;
		if (!f)
			return plain;
		offset = e.at[DWSLOT_ORIGIN].u;
	}
	return plain;
}

/* Of an entry of a unit, which a skeleton's are in another file. */
static const char *name_of(struct dwinfo *d, u32 unit, const struct dw_value *ref)
{
	struct dw_file *f = d->file.units.at[unit].dwo;
	if (!f)
		f = &d->file;
	if (ref->class == DWVAL_REF_ALT)
		f = f->alt;
	if (!f || (ref->class != DWVAL_REF && ref->class != DWVAL_REF_ALT) || ref->u >> 44)
		return NULL;
	u32 fresh = (u32)d->names.nr, got;
	if (dict_add(&d->name_at, ref->u << 20 | f->number, fresh, &got))
		return NULL;
	if (got == fresh) {
		const char *name = look_name(d, f, ref->u), **slot = vec_push(&d->names);
		if (!slot)
			return NULL;
		*slot = name;
	}
	return got < d->names.nr ? d->names.at[got] : NULL;
}

/* ---- questions ---- */

/* The first question at or after an address. */
static u32 first_from(const struct dwarf_info_search *s, u64 addr)
{
	u32 lo = 0, hi = s->nr;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (s->at[mid] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Questions [*first, end) lie in a stretch of code. */
static bool ask_range(const struct dwarf_info_search *s, u64 low, u64 high, u32 *first, u32 *end)
{
	if (low >= high || low > s->at[s->nr - 1] || high <= s->at[0])
		return false;
	*first = first_from(s, low);
	*end = *first;
	while (*end < s->nr && s->at[*end] < high)
		++*end;
	return *first < *end && dw_step(&s->d->file, *end - *first);
}

/* Which unit each address belongs to: the first that claims it. */
static void claim(struct dwarf_info_search *s, u32 unit)
{
	struct dw_file *f = &s->d->file;
	struct dw_unit *u = &f->units.at[unit];
	dw_unit_need(f, u);
	struct dw_entry e = {
		.at = { [DWSLOT_LOW] = u->low_pc, [DWSLOT_HIGH] = u->high_pc, [DWSLOT_RANGES] = u->ranges }
	};
	struct dw_ranges r;
	u64 low, high;
	u32 q, end;
	for (bool more = dw_ranges_init(&r, f, u, &e); more && dw_ranges_next(&r, &low, &high);)
		for (bool any = ask_range(s, low, high, &q, &end); any && q < end; q++)
			if (s->questions[q].unit == NO_UNIT)
				s->questions[q].unit = unit;
}

/* ---- the tree of a unit ---- */

struct dwarf_info_level {
	u32 func; /* 1 + number of the function that it belongs to, if a question lies there; 0: outside */
	u32 depth; /* functions inlined around it */
	bool dead; /* in code where no question lies */
	bool body; /* inside a function */
};

struct dwarf_info_walk {
	struct dwarf_info_search *s;
	struct dw_file *f;
	struct dw_unit *u;
	u32 unit;
	const struct dw_abbrevs *abbrevs;
	struct bytes b;
	const u8 *start; /* of .debug_info */
	u32 nr_funcs;
	bool thorough; /* functions that hold no question are looked into: they may hold other functions */
	struct dwarf_info_level levels[LEVELS_MAX];
	u32 nr_levels;
};

static bool ask_func(struct dwarf_info_walk *w, const struct dw_entry *e, u64 at, u32 q,
		     struct dwarf_info_level *in)
{
	struct question *have = &w->s->questions[q];
	if (have->unit != w->unit || have->func)
		return false;
	if (!in->func)
		in->func = ++w->nr_funcs;
	have->func = in->func;
	/* Its own entry: the name may stand there, or where that leads. */
	have->func_origin = (struct dw_value){ .class = DWVAL_REF, .u = at };
	return true;
}

static u64 constant(const struct dw_value *v)
{
	return v->class == DWVAL_CONST ? v->u : 0;
}

static bool ask_inline(struct dwarf_info_walk *w, const struct dw_entry *e, u64 at, u32 q,
		       const struct dwarf_info_level *out, struct dwarf_info_level *in)
{
	struct question *have = &w->s->questions[q];
	if (have->unit != w->unit || have->func != out->func || have->depth != out->depth ||
	    have->depth >= INLINES_MAX)
		return false;
	struct dwarf_info_step *step = vec_push(&w->s->steps);
	if (!step)
		return false;
	*step = (struct dwarf_info_step){
		.before = have->last,
		.unit = w->unit,
		.origin = { .class = DWVAL_REF, .u = at },
		.call_file = constant(&e->at[DWSLOT_CALL_FILE]),
		.call_line = (u32)constant(&e->at[DWSLOT_CALL_LINE]),
	};
	have->last = (u32)w->s->steps.nr;
	have->depth++;
	in->func = out->func;
	in->depth = out->depth + 1;
	return true;
}

/* Does the entry's code hold questions that are open here? in: what that makes of the level below it. */
static bool ask_entry(struct dwarf_info_walk *w, u16 tag, const struct dw_entry *e, u64 at,
		      const struct dwarf_info_level *out, struct dwarf_info_level *in)
{
	struct dw_ranges r;
	u64 low, high;
	u32 q, end;
	bool any = false;
	for (bool more = dw_ranges_init(&r, w->f, w->u, e);
	     more && dw_ranges_next(&r, &low, &high);) {
		if (!ask_range(w->s, low, high, &q, &end))
			continue;
		for (; q < end; q++)
			any |= tag == DW_TAG_SUBPROGRAM		  ? ask_func(w, e, at, q, in)
			       : tag == DW_TAG_INLINED_SUBROUTINE ? ask_inline(w, e, at, q, out, in)
								  : true;
	}
	return any;
}

/* Past the entries below this one, if its sibling is told. */
static bool jump(struct dwarf_info_walk *w, const struct dw_value *sibling)
{
	if (sibling->class != DWVAL_REF || sibling->u <= (u64)(w->b.at - w->start) ||
	    sibling->u > w->u->end)
		return false;
	w->b.at = w->start + sibling->u;
	return true;
}

static bool push(struct dwarf_info_walk *w, struct dwarf_info_level in)
{
	if (w->nr_levels == LEVELS_MAX)
		return false;
	w->levels[w->nr_levels++] = in;
	return true;
}

static bool walk_code(struct dwarf_info_walk *w, const struct dw_abbrev *a, u64 at)
{
	const struct dwarf_info_level *out = &w->levels[w->nr_levels - 1];
	struct dwarf_info_level in = *out;
	struct dw_entry e;
	dw_read_entry(w->u, w->abbrevs, a, &w->b, &e);
	bool func = a->tag == DW_TAG_SUBPROGRAM;
	if (func)
		in = (struct dwarf_info_level){ .body = true };
	bool any = (func || (out->func && !out->dead)) && ask_entry(w, a->tag, &e, at, out, &in);
	/* A block without code of its own says nothing about what is in it. */
	if (a->tag == DW_TAG_LEXICAL_BLOCK && !e.at[DWSLOT_RANGES].class && !e.at[DWSLOT_LOW].class)
		any = !out->dead;
	if (!a->children)
		return true;
	in.dead = !any;
	if (!any && !(func && w->thorough) && jump(w, &e.at[DWSLOT_SIBLING]))
		return true;
	return push(w, in);
}

/* Types, variables: nothing to find in them, but for functions of classes that stand inside functions. */
static bool walk_other(struct dwarf_info_walk *w, const struct dw_abbrev *a)
{
	bool is_unit = w->nr_levels == 1 && !w->levels[0].func && a->tag == DW_TAG_COMPILE_UNIT;
	bool scope = a->tag == 0x39 || a->tag == 0x1e; /* namespace, module */
	bool local = w->thorough && w->levels[w->nr_levels - 1].body; /* a class, with functions */
	if (!a->children || is_unit || scope || !a->has_sibling || local) {
		dw_skip(w->u, w->abbrevs, a, &w->b);
		return a->children ? push(w, w->levels[w->nr_levels - 1]) : true;
	}
	struct dw_entry e;
	dw_read_entry(w->u, w->abbrevs, a, &w->b, &e);
	return jump(w, &e.at[DWSLOT_SIBLING]) || push(w, w->levels[w->nr_levels - 1]);
}

static void walk_unit(struct dwarf_info_walk *w)
{
	w->b = dw_cursor(w->f, DWSEC_INFO, w->u->root);
	w->b.end = w->start + w->u->end;
	w->nr_levels = 1;
	w->levels[0] = (struct dwarf_info_level){ 0 };
	bool good = true;
	while (good && w->b.at < w->b.end && !w->b.bad && w->nr_levels) {
		u64 at = (u64)(w->b.at - w->start);
		u64 code = dw_uleb(&w->b);
		if (!code) {
			/* The last level is the unit's own: nothing follows. */
			if (--w->nr_levels <= 1)
				break;
			continue;
		}
		const struct dw_abbrev *a = dw_abbrev_find(w->abbrevs, code);
		if (!a || !dw_step(w->f, 1)) {
			w->s->d->broken = true;
			return;
		}
		bool code_tag = a->tag == DW_TAG_SUBPROGRAM || a->tag == DW_TAG_INLINED_SUBROUTINE ||
				a->tag == DW_TAG_LEXICAL_BLOCK;
		good = code_tag ? walk_code(w, a, at) : walk_other(w, a);
	}
	if (w->b.bad || !good)
		w->s->d->broken = true;
}

static bool all_in_functions(const struct dwarf_info_search *s, const u32 *list, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (!s->questions[list[i]].func)
			return false;
	return true;
}

/* Goes on with the unit that a skeleton stands for. */
static bool find_split(struct dwarf_info_walk *w)
{
	struct dw_unit *skeleton = w->u;
	struct dw_file *f;
	struct dw_unit *u = dw_split_find(&w->s->d->split, skeleton, &f);
	skeleton->dwo = u ? f : NULL;
	if (!u)
		return false;
	w->f = f;
	w->u = u;
	return true;
}

static int find_inlines(struct dwarf_info_search *s, u32 unit, const u32 *list, u32 nr)
{
	struct dwarf_info_walk *w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->s = s;
	w->f = &s->d->file;
	w->u = &w->f->units.at[unit];
	w->unit = unit;
	bool lacking = w->u->split && !find_split(w);
	w->abbrevs = dw_abbrevs_of(w->f, w->u);
	w->start = dw_section(w->f, DWSEC_INFO)->data;
	w->nr_funcs = 0;
	w->thorough = false;
	if (w->abbrevs)
		walk_unit(w);
	/* A function inside another one that holds no question was stepped over with it. */
	if (w->abbrevs && !lacking && !all_in_functions(s, list, nr)) {
		w->thorough = true;
		walk_unit(w);
	}
	/* clang leaves what is inlined with the skeleton, too. */
	s->d->nr_split += lacking && !all_in_functions(s, list, nr);
	free(w);
	return 0;
}

/* ---- lines ---- */

struct dwarf_info_tell {
	struct dwarf_info_search *s;
	struct dw_lines *lines;
	const u32 *list; /* the unit's questions, in order of address */
	u32 nr;
	u32 next; /* where the stretch before ended: stretches mostly follow each other */
	u32 *open; /* [place in the list] -> itself while it has no answer, else one after it that may have none */
};

/* The first from a place on that has no answer; the way there becomes shorter for who comes after. */
static u32 first_open(const struct dwarf_info_tell *t, u32 at)
{
	u32 found = at;
	while (t->open[found] != found)
		found = t->open[found];
	while (t->open[at] != at) {
		u32 next = t->open[at];
		t->open[at] = found;
		at = next;
	}
	return found;
}

static u32 first_of_list(const struct dwarf_info_tell *t, u64 addr)
{
	u32 lo = 0, hi = t->nr;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (t->s->at[t->list[mid]] < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void tell_line(void *ctx, u64 low, u64 high, u64 file, u32 line)
{
	struct dwarf_info_tell *t = ctx;
	struct dwarf_info_search *s = t->s;
	u32 i = t->next;
	if (i >= t->nr || s->at[t->list[i]] < low || (i && s->at[t->list[i - 1]] >= low))
		i = first_of_list(t, low);
	for (i = first_open(t, i); i < t->nr && s->at[t->list[i]] < high; i = first_open(t, i + 1)) {
		struct dwinfo_answer *a = &s->ret[t->list[i]];
		if (!dw_step(&s->d->file, 1))
			break;
		a->file = dw_lines_path(t->lines, file);
		a->line = line;
		if (a->file && a->line)
			t->open[i] = i + 1;
	}
	t->next = i;
}

static int tell_lines(struct dwarf_info_search *s, struct dw_lines *lines, const u32 *list, u32 nr)
{
	_cleanup_free_ u32 *open = malloc(((size_t)nr + 1) * sizeof(*open));
	if (!open)
		return -ENOMEM;
	for (u32 i = 0; i <= nr; i++)
		open[i] = i;
	struct dwarf_info_tell t = { .s = s, .lines = lines, .list = list, .nr = nr, .open = open };
	dw_lines_run(lines, s->at[list[0]], s->at[list[nr - 1]] + 1, tell_line, &t);
	return 0;
}

static const struct dwinfo_inline *unroll(struct dwarf_info_search *s, u32 q, struct dw_lines *lines)
{
	const struct question *have = &s->questions[q];
	struct dwinfo_inline *to = arena_array(&s->d->arena, have->depth, sizeof(*to));
	if (!to)
		return NULL;
	u32 at = have->depth;
	for (u32 i = have->last; i && at; i = s->steps.at[i - 1].before) {
		const struct dwarf_info_step *step = &s->steps.at[i - 1];
		to[--at] = (struct dwinfo_inline){
			.name = name_of(s->d, step->unit, &step->origin),
			.file = lines ? dw_lines_path(lines, step->call_file) : NULL,
			.line = step->call_line,
		};
	}
	return to;
}

static int answer_unit(struct dwarf_info_search *s, u32 unit, const u32 *list, u32 nr)
{
	struct dw_file *f = &s->d->file;
	struct dw_lines lines = { 0 };
	int err = s->want & DWINFO_INLINE ? find_inlines(s, unit, list, nr) : 0;
	bool have_lines = false;
	if (!err && s->want & DWINFO_LINE) {
		err = dw_lines_open(&lines, f, &f->units.at[unit], &s->d->paths);
		have_lines = !err;
		if (err != -ENOMEM)
			err = 0;
	}
	if (have_lines)
		err = tell_lines(s, &lines, list, nr);
	for (u32 i = 0; i < nr && !err; i++) {
		u32 q = list[i];
		struct question *have = &s->questions[q];
		s->ret[q].func = name_of(s->d, unit, &have->func_origin);
		if (!have->depth)
			continue;
		s->ret[q].inlines = unroll(s, q, have_lines ? &lines : NULL);
		s->ret[q].nr_inlines = have->depth;
		if (!s->ret[q].inlines)
			err = -ENOMEM;
	}
	dw_lines_done(&lines);
	return err;
}

/* Questions by unit, in order of address within each. */
static int answer_units(struct dwarf_info_search *s)
{
	u32 nr_units = (u32)s->d->file.units.nr;
	_cleanup_free_ u32 *starts = calloc((size_t)nr_units + 2, sizeof(*starts));
	_cleanup_free_ u32 *list = malloc(((size_t)s->nr + 1) * sizeof(*list));
	if (!starts || !list)
		return -ENOMEM;
	for (u32 q = 0; q < s->nr; q++)
		if (s->questions[q].unit != NO_UNIT)
			starts[s->questions[q].unit + 2]++;
	for (u32 u = 0; u < nr_units; u++)
		starts[u + 2] += starts[u + 1];
	for (u32 q = 0; q < s->nr; q++)
		if (s->questions[q].unit != NO_UNIT)
			list[starts[s->questions[q].unit + 1]++] = q;
	int err = 0;
	for (u32 u = 0; u < nr_units && !err; u++)
		if (starts[u] < starts[u + 1])
			err = answer_unit(s, u, list + starts[u], starts[u + 1] - starts[u]);
	return err;
}

int dwinfo_find(struct dwinfo *d, const u64 *at, u32 nr, unsigned want, struct dwinfo_answer *ret)
{
	memset(ret, 0, nr * sizeof(*ret));
	d->nr_split = 0;
	arena_done(&d->arena);
	arena_init(&d->arena);
	if (!nr)
		return 0;
	struct dwarf_info_search s = { .d = d, .at = at, .nr = nr, .want = want, .ret = ret };
	s.questions = calloc(nr, sizeof(*s.questions));
	if (!s.questions)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++)
		s.questions[i].unit = NO_UNIT;
	for (u32 i = 0; i < d->file.units.nr; i++)
		claim(&s, i);
	int err = answer_units(&s);
	free(s.questions);
	vec_free(&s.steps);
	return err;
}
