/* What a profile leaves out, between collecting and folding: entries by library or function, frames of chains; and who is parent. */
#include "analysis/profile_impl.h"

#include <errno.h>
#include <regex.h>
#include <string.h>

static const struct name_func *leaf_of(const struct profile *p, const struct entry *e)
{
	return &p->names->funcs[p->names->func_of[e->leaf]];
}

static bool listed(const char *const *list, size_t nr, const char *word)
{
	for (size_t i = 0; i < nr && word; i++)
		if (!strcmp(list[i], word))
			return true;
	return false;
}

/* Asked once for each function. */
static bool chosen_func(const struct profile *p, const struct name_func *f)
{
	const struct profile_filter *o = &p->cfg.filter;
	const struct image_info *image = &p->catalog->images.at[f->image];
	if (o->nr_dsos && !listed(o->dsos, o->nr_dsos, image->name) &&
	    !listed(o->dsos, o->nr_dsos, image->path))
		return false;
	if (o->nr_symbols && !listed(o->symbols, o->nr_symbols, f->name))
		return false;
	return !o->symbol_part || (f->name && strstr(f->name, o->symbol_part));
}

static bool is_hidden(const struct profile_filter *o, const struct name_func *f)
{
	bool kernel = f->mode == FRAME_KERNEL || f->mode == FRAME_GUEST_KERNEL;
	return (o->hide_unresolved && !f->name) || (o->hide_kernel && kernel) ||
	       (o->hide_user && !kernel);
}

void drop_hidden(struct profile *p)
{
	const struct profile_filter *o = &p->cfg.filter;
	size_t kept = 0;
	if (!o->hide_unresolved && !o->hide_kernel && !o->hide_user)
		return;
	for (size_t i = 0; i < p->all.nr; i++)
		if (!is_hidden(o, leaf_of(p, &p->all.entries[i])))
			p->all.entries[kept++] = p->all.entries[i];
	p->all.nr = kept;
}

/* symbol_part looks at rows, and with children a row is more than its leaves: profile_table() has it then. */
static int choose_by_func(struct profile *p)
{
	const struct profile_filter *o = &p->cfg.filter;
	if (!o->nr_dsos && !o->nr_symbols && (!o->symbol_part || p->cfg.children))
		return 0;
	enum { UNKNOWN, YES, NO };
	u8 *verdict = calloc((size_t)p->names->nr_funcs + 1, 1);
	if (!verdict)
		return -ENOMEM;
	size_t kept = 0;
	for (size_t i = 0; i < p->all.nr; i++) {
		u32 func = p->names->func_of[p->all.entries[i].leaf];
		if (verdict[func] == UNKNOWN)
			verdict[func] = chosen_func(p, &p->names->funcs[func]) ? YES : NO;
		if (verdict[func] == YES)
			p->all.entries[kept++] = p->all.entries[i];
	}
	p->all.nr = kept;
	free(verdict);
	return 0;
}

int choose_entries(struct profile *p)
{
	int err = choose_by_func(p);
	while (!err && p->shown_totals.nr < p->catalog->events.nr)
		if (!vec_push(&p->shown_totals))
			err = -ENOMEM;
	for (size_t i = 0; i < p->all.nr && !err; i++) {
		const struct entry *e = &p->all.entries[i];
		struct profile_totals *t = &p->shown_totals.at[group_event(p, e->group)];
		t->period += e->period;
		t->nr_samples += e->count;
	}
	return err;
}

/* ---- chains ---- */

/* What is left of a chain, taken from the end where graphs begin. Frames stand outermost first; *first: where they do in `to`. */
static u32 shorten(const struct profile *p, const u32 *frames, u32 nr, u32 *to, u32 *first)
{
	bool outer = p->cfg.order == PROFILE_CALLER;
	u32 most = p->cfg.max_stack ? min(nr, p->cfg.max_stack) : nr, kept = 0;
	for (u32 i = 0, looked = 0; i < nr && looked < most; i++) {
		u32 frame = frames[outer ? i : nr - 1 - i];
		looked++;
		if (p->cfg.filter.hide_unresolved && !p->names->funcs[p->names->func_of[frame]].name)
			continue;
		to[outer ? kept : nr - 1 - kept] = frame;
		kept++;
	}
	*first = outer ? 0 : nr - kept;
	return kept;
}

int chains_shorten(struct profile *p, const struct chain_table **chains)
{
	const struct chain_table *from = *chains;
	struct chain_table *to = &p->own_chains;
	to->chains = calloc((size_t)from->nr + 1, sizeof(*to->chains));
	to->pool = malloc((from->nr_pool + 1) * sizeof(*to->pool));
	if (!to->chains || !to->pool)
		return -ENOMEM;
	to->nr = from->nr;
	to->nr_pool = from->nr_pool;
	for (u32 i = 0; i < from->nr; i++) {
		struct chain c = from->chains[i];
		u32 first;
		u32 kept = shorten(p, from->pool + c.start, c.nr, to->pool + c.start, &first);
		to->chains[i] = (struct chain){ .start = c.start + first, .nr = kept };
	}
	*chains = to;
	return 0;
}

/* [func]: whether its name fits. */
static u8 *funcs_that_fit(const struct profile *p, const char *text, int *err)
{
	regex_t regex;
	if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB)) {
		*err = -EINVAL;
		return NULL;
	}
	u8 *fits = calloc((size_t)p->names->nr_funcs + 1, 1);
	for (u32 i = 1; fits && i < p->names->nr_funcs; i++)
		fits[i] = p->names->funcs[i].name &&
			  !regexec(&regex, p->names->funcs[i].name, 0, NULL, 0);
	regfree(&regex);
	*err = fits ? 0 : -ENOMEM;
	return fits;
}

/* Outermost first: how many frames there are up to the first one that fits. All of them: none does. */
static u32 until_fit(const struct profile *p, const u32 *frames, u32 nr, const u8 *fits)
{
	for (u32 i = 0; i < nr; i++)
		if (fits[p->names->func_of[frames[i]]])
			return i + 1;
	return nr;
}

int callees_ignore(struct profile *p, const struct chain_table **chains)
{
	const struct chain_table *from = *chains;
	int err;
	u8 *fits = funcs_that_fit(p, p->cfg.filter.ignore_callees, &err);
	struct chain *cut = calloc((size_t)from->nr + 1, sizeof(*cut));
	u32 *leaves = calloc((size_t)from->nr + 1, sizeof(*leaves)); /* [chain]; 0: as it was */
	if (!err && (!cut || !leaves))
		err = -ENOMEM;
	for (u32 i = 0; i < from->nr && !err; i++) {
		cut[i] = from->chains[i];
		u32 nr = until_fit(p, from->pool + cut[i].start, cut[i].nr, fits);
		if (nr && fits[p->names->func_of[from->pool[cut[i].start + nr - 1]]])
			leaves[i] = from->pool[cut[i].start + nr - 1];
		cut[i].nr = nr;
	}
	for (size_t i = 0; i < p->all.nr && !err; i++) {
		struct entry *e = &p->all.entries[i];
		e->leaf = leaves[e->chain] ? leaves[e->chain] : e->leaf;
	}
	free(fits);
	free(leaves);
	if (err) {
		free(cut);
		return err;
	}
	p->cut_chains = (struct chain_table){
		.chains = cut, .nr = from->nr, .pool = from->pool, .nr_pool = from->nr_pool
	};
	*chains = &p->cut_chains;
	return 0;
}

/* "spin file.c:12", or "spin+0x1c" where no line is known. */
static const char *address_label(struct profile *p, const struct names_result *by,
				 const struct run_tables *run, u32 id)
{
	const struct name_func *f = &by->funcs[by->func_of[id]];
	u32 frame = by->frame_of ? by->frame_of[id] : id;
	if (!f->name)
		return NULL;
	struct strbuf s;
	strbuf_init(&s);
	strbuf_str(&s, f->name);
	const struct name_line *line = by->lines ? &by->lines[id] : NULL;
	if (line && line->file) {
		const char *slash = strrchr(line->file, '/');
		strbuf_printf(&s, " %s:%u", slash ? slash + 1 : line->file, line->line);
	} else {
		strbuf_printf(&s, "+0x%llx",
			      (unsigned long long)(run->frames.frames[frame].offset - f->start));
	}
	if (f->inlined)
		strbuf_str(&s, " (inlined)");
	const char *label = s.err ? NULL : arena_strndup(&p->texts.arena, s.data, s.len);
	strbuf_done(&s);
	return label;
}

int names_by_address(struct profile *p, const struct run_tables *run)
{
	const struct names_result *by = p->names;
	u32 nr = max(by->nr_ids, run->frames.nr);
	u32 *func_of = calloc((size_t)nr + 1, sizeof(*func_of));
	struct name_func *funcs = calloc((size_t)nr + 1, sizeof(*funcs));
	p->address_names = *by;
	p->address_names.func_of = func_of;
	p->address_names.funcs = funcs;
	p->address_names.nr_funcs = nr;
	if (!func_of || !funcs)
		return -ENOMEM;
	for (u32 i = 1; i < nr; i++) {
		func_of[i] = i;
		funcs[i] = by->funcs[by->func_of[i]];
		funcs[i].label = address_label(p, by, run, i);
		if (funcs[i].name && !funcs[i].label)
			return -ENOMEM;
	}
	p->names = &p->address_names;
	return 0;
}

bool wants_lines(const struct profile *p)
{
	return p->cfg.by_line || keys_has(p, PROFILE_KEY_SRCLINE) ||
	       keys_has(p, PROFILE_KEY_SRCFILE);
}

static int source_texts(struct profile *p, const struct names_result *by,
			const struct run_tables *run, const bool *lined, u32 func, u32 id)
{
	const struct name_line *line = by->lines ? &by->lines[id] : NULL;
	const char *file = line && line->file ? line->file : "??";
	const char *slash = p->cfg.full_path ? NULL : strrchr(file, '/');
	if (slash)
		file = slash + 1;
	struct strbuf s;
	strbuf_init(&s);
	names_place(by, p->catalog, &run->frames, id, lined,
		    PLACE_BY_FUNCTION | (p->cfg.full_path ? PLACE_FULL_PATH : 0), &s);
	s64 both = s.err ? -ENOMEM : strtab_add(&p->sources, s.data, s.len);
	s64 alone = strtab_add(&p->sources, file, strlen(file));
	strbuf_done(&s);
	if (both < 0 || alone < 0)
		return -ENOMEM;
	p->srcline_of[func] = (u32)both;
	p->srcfile_of[func] = (u32)alone;
	return 0;
}

/* What tells one line of a function from another; without a line, places are told by their offsets where they are shown so. */
static u64 line_word(const struct profile *p, const struct names_result *by,
		     const struct run_tables *run, u32 id)
{
	const struct name_line *line = by->lines ? &by->lines[id] : NULL;
	if (line && line->file && !p->cfg.by_address)
		return line->line;
	if (!keys_has(p, PROFILE_KEY_SRCLINE) && !p->cfg.by_address)
		return 0;
	return run->frames.frames[by->frame_of ? by->frame_of[id] : id].offset;
}

int names_by_line(struct profile *p, const struct run_tables *run)
{
	const struct names_result *by = p->names;
	u32 nr = max(by->nr_ids, run->frames.nr);
	u32 *func_of = calloc((size_t)nr + 1, sizeof(*func_of));
	struct name_func *funcs = calloc((size_t)nr + 1, sizeof(*funcs));
	p->address_names = *by;
	p->address_names.func_of = func_of;
	p->address_names.funcs = funcs;
	p->address_names.nr_funcs = 1;
	p->srcline_of = calloc((size_t)nr + 1, sizeof(*p->srcline_of));
	p->srcfile_of = calloc((size_t)nr + 1, sizeof(*p->srcfile_of));
	struct dict at;
	dict_init(&at);
	_cleanup_free_ bool *lined = names_lined_images(by, p->catalog, &run->frames);
	int err = func_of && funcs && p->srcline_of && p->srcfile_of && lined ? 0 : -ENOMEM;
	for (u32 i = 1; i < nr && !err; i++) {
		const struct name_line *line = by->lines ? &by->lines[i] : NULL;
		u64 key[3] = { by->func_of[i], line ? (uintptr_t)line->file : 0,
			       line_word(p, by, run, i) };
		u32 fresh = p->address_names.nr_funcs;
		err = dict_add(&at, hash_bytes(key, sizeof(key)), fresh, &func_of[i]);
		if (err || func_of[i] != fresh)
			continue;
		p->address_names.nr_funcs++;
		funcs[fresh] = by->funcs[by->func_of[i]];
		if ((p->cfg.by_line || p->cfg.by_address) && line && line->file)
			funcs[fresh].label = address_label(p, by, run, i);
		err = source_texts(p, by, run, lined, fresh, i);
	}
	dict_done(&at);
	p->names = &p->address_names;
	return err;
}

void chains_done(struct profile *p)
{
	strtab_done(&p->sources);
	free(p->srcline_of);
	free(p->srcfile_of);
	free(p->own_chains.chains);
	free(p->own_chains.pool);
	free(p->cut_chains.chains);
	free((void *)p->address_names.func_of);
	free((void *)p->address_names.funcs);
}

/* ---- parents ---- */

/* The function whose name fits, looked for from where graphs begin; 0: none. */
static u32 parent_of(const struct profile *p, const struct entry *e,
		     const struct chain_table *chains, const u8 *fits)
{
	struct chain c = chains->chains[e->chain];
	bool outer_first = p->cfg.order == PROFILE_CALLER;
	for (u32 i = 0; i < c.nr; i++) {
		u32 at = outer_first ? i : c.nr - 1 - i;
		u32 func = p->names->func_of[chains->pool[c.start + at]];
		if (fits[func])
			return func;
	}
	return 0;
}

static int name_parents(struct profile *p, const struct chain_table *chains, const u8 *fits)
{
	u32 word = 0;
	while (word < p->nr_values && p->values[word].key != PROFILE_KEY_PARENT)
		word++;
	size_t kept = 0;
	for (size_t i = 0; i < p->all.nr; i++) {
		struct entry e = p->all.entries[i];
		u32 func = parent_of(p, &e, chains, fits);
		if (func) {
			u64 words[GROUP_WORDS_MAX];
			const char *name = p->names->funcs[func].name;
			s64 id = keys_text(p, name);
			if (id < 0)
				return (int)id;
			memcpy(words, group_words(p, e.group), p->stride * sizeof(*words));
			words[1 + word] = (u64)id;
			s64 group = tally_group(&p->all, words, p->stride);
			if (group < 0)
				return (int)group;
			e.group = (u32)group;
		}
		if (func || !p->cfg.filter.only_with_parent)
			p->all.entries[kept++] = e;
	}
	p->all.nr = kept;
	return 0;
}

int parents_find(struct profile *p, const struct chain_table *chains)
{
	static const char usual[] = "^sys_|^do_page_fault";
	const char *text = p->cfg.filter.parent ? p->cfg.filter.parent : usual;
	int err;
	u8 *fits = funcs_that_fit(p, text, &err);
	if (!err)
		err = name_parents(p, chains, fits);
	free(fits);
	return err;
}
