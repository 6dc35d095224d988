/*
 * Tables whose lines are more than one row: several events side by side (a group), and rows within rows (a hierarchy). Both first
 * join rows that show the same keys into lines; a hierarchy then adds a line for each beginning of the keys:
 *
 *	line 0  left                 values: of all rows of `left`
 *	line 1    left, libc.so.6    of those in libc; parent 0
 *	line 2      ..., malloc      a row itself; parent 1
 */
#include "analysis/profile_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	MEASURES_MAX = PROFILE_KEY_MAX - PROFILE_OVERHEAD_CHILDREN,
	LINE_NONE = 0xffffffffu,
	EVENTS_MAX = 64
};

struct line {
	u32 rep; /* a row that shows its keys */
	u32 graph; /* row whose call graph stands under it, or ROW_NONE */
	u32 parent; /* LINE_NONE: top */
	u32 depth;
};

struct joined_lines {
	struct profile *p;
	const u32 *events;
	u32 nr_events;
	u64 totals[EVENTS_MAX]; /* [event] */
	u8 measure_at[MEASURES_MAX]; /* [key - PROFILE_OVERHEAD_CHILDREN] -> index + 1 */
	enum profile_key measures[MEASURES_MAX];
	u32 nr_measures;
	u32 nr_levels; /* 0: no hierarchy */
	u8 level_at[PROFILE_FIELDS_MAX]; /* [field's level] -> here: some have no column in this event's table */
	VEC(struct line) at;
	VEC(u64) values; /* nr_measures * nr_events for each line */
	struct tally known; /* lines by what tells them apart */
};

static void want_measures(struct joined_lines *l, const struct profile_field *list, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		if (!profile_key_is_measure(list[i].key))
			continue;
		u8 *at = &l->measure_at[list[i].key - PROFILE_OVERHEAD_CHILDREN];
		if (*at)
			continue;
		l->measures[l->nr_measures++] = list[i].key;
		*at = (u8)l->nr_measures;
	}
}

static u64 *values_of(const struct joined_lines *l, u32 line, enum profile_key key)
{
	u32 m = l->measure_at[key - PROFILE_OVERHEAD_CHILDREN] - 1u;
	return &l->values.at[((size_t)line * l->nr_measures + m) * l->nr_events];
}

/* The line with this identity (`nr` words), made when it is not there. */
static s64 line_at(struct joined_lines *l, const u64 *words, u32 nr, const struct line *like)
{
	u32 before = l->known.nr_groups;
	s64 line = tally_group(&l->known, words, nr);
	if (line < 0 || (u32)line != before)
		return line;
	struct line *made = vec_push(&l->at);
	size_t room = (size_t)l->nr_measures * l->nr_events;
	if (!made || !vec_reserve(&l->values, l->values.nr + room))
		return -ENOMEM;
	memset(l->values.at + l->values.nr, 0, room * sizeof(*l->values.at));
	l->values.nr += room;
	*made = *like;
	return line;
}

static void add_values(struct joined_lines *l, u32 line, const struct row *r, u32 event)
{
	for (u32 m = 0; m < l->nr_measures; m++)
		values_of(l, line, l->measures[m])[event] += keys_measure(l->p, l->measures[m], r);
}

static int add_plain(struct joined_lines *l, u32 row, u32 event)
{
	const struct row *r = &l->p->rows.at[row];
	u64 words[GROUP_WORDS_MAX];
	memcpy(words, group_words(l->p, r->group), l->p->stride * sizeof(*words));
	words[0] = r->key;
	struct line like = { .rep = row, .graph = ROW_NONE, .parent = LINE_NONE };
	s64 line = line_at(l, words, l->p->stride, &like);
	if (line < 0)
		return (int)line;
	add_values(l, (u32)line, r, event);
	if (!event) {
		l->at.at[line].graph = row;
		l->at.at[line].rep = row;
	}
	return 0;
}

static int add_levels(struct joined_lines *l, u32 row, u32 event)
{
	const struct profile *p = l->p;
	const struct row *r = &p->rows.at[row];
	u32 parent = LINE_NONE, nr = GROUP_WORDS_MAX;
	for (u32 depth = 0; depth < l->nr_levels; depth++) {
		u64 words[GROUP_WORDS_MAX] = { (u64)parent << 8 | depth };
		u32 at = 1;
		for (u32 i = 0; i < p->cfg.nr_fields && at < nr; i++) {
			const struct profile_field *f = &p->cfg.fields[i];
			if (!profile_key_is_measure(f->key) && fields_has_column(f, l->events[0]) &&
			    l->level_at[f->level] == depth)
				words[at++] = keys_identity(p, f, r);
		}
		struct line like = { .rep = row, .graph = ROW_NONE, .parent = parent, .depth = depth };
		s64 line = line_at(l, words, nr, &like);
		if (line < 0)
			return (int)line;
		add_values(l, (u32)line, r, event);
		if (!event && depth + 1 == l->nr_levels)
			l->at.at[line].graph = row;
		parent = (u32)line;
	}
	return 0;
}

static int join_rows(struct joined_lines *l)
{
	const struct profile *p = l->p;
	for (u32 e = 0; e < l->nr_events; e++) {
		for (u32 i = 0; i < p->rows.nr; i++) {
			const struct row *r = &p->rows.at[i];
			if (group_event(p, r->group) != l->events[e] || profile_row_hidden(p, r))
				continue;
			int err = l->nr_levels ? add_levels(l, i, e) : add_plain(l, i, e);
			if (err)
				return err;
		}
	}
	return 0;
}

/* ---- order ---- */

static int compare_measure(const struct joined_lines *l, enum profile_key key, u32 a, u32 b)
{
	const u64 *x = values_of(l, a, key), *y = values_of(l, b, key);
	u32 by = l->p->cfg.group_sort;
	u32 nr = key == PROFILE_OVERHEAD_CHILDREN || by >= l->nr_events ? 1 : l->nr_events;
	if (by < nr && x[by] != y[by])
		return x[by] > y[by] ? -1 : 1;
	/* Where another event comes first, the leader does not count. */
	for (u32 e = by && by < nr ? 1 : 0; e < nr; e++)
		if (x[e] != y[e])
			return x[e] > y[e] ? -1 : 1;
	return 0;
}

static int compare_lines(const void *lp, const void *rp, void *ctx)
{
	const struct joined_lines *l = ctx;
	u32 a = *(const u32 *)lp, b = *(const u32 *)rp;
	const struct line *x = &l->at.at[a], *y = &l->at.at[b];
	const struct profile *p = l->p;
	for (u32 i = 0; i < p->cfg.nr_sort; i++) {
		const struct profile_field *f = &p->cfg.sort[i];
		const struct row *rx = &p->rows.at[x->rep], *ry = &p->rows.at[y->rep];
		int c = 0;
		if (profile_key_is_measure(f->key))
			c = compare_measure(l, f->key, a, b);
		else if (!l->nr_levels || l->level_at[f->level] <= x->depth)
			c = keys_compare(p, f, rx, ry);
		/* Callers above what they call, as in a plain table. */
		if (!c && f->key == PROFILE_OVERHEAD_CHILDREN && rx->total == ry->total)
			c = keys_compare(p, f, rx, ry);
		if (c)
			return c;
	}
	return 0;
}

/* Lines of one parent, in order, each followed by its own. */
static int put_children(const struct joined_lines *l, const u32 *first, const u32 *next, u32 parent,
			u32 *order, u32 *nr)
{
	u32 count = 0;
	for (u32 c = parent == LINE_NONE ? first[l->at.nr] : first[parent]; c; c = next[c - 1])
		count++;
	u32 *sorted = malloc((count + 1) * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	count = 0;
	for (u32 c = parent == LINE_NONE ? first[l->at.nr] : first[parent]; c; c = next[c - 1])
		sorted[count++] = c - 1;
	qsort_r(sorted, count, sizeof(*sorted), compare_lines, (void *)l);
	int err = 0;
	for (u32 i = 0; i < count && !err; i++) {
		order[(*nr)++] = sorted[i];
		if (l->at.at[sorted[i]].depth + 1 < l->nr_levels)
			err = put_children(l, first, next, sorted[i], order, nr);
	}
	free(sorted);
	return err;
}

static int sort_lines(const struct joined_lines *l, u32 *order)
{
	u32 total = (u32)l->at.nr, nr = 0;
	u32 *first = calloc((size_t)total + 1, sizeof(*first));
	u32 *next = calloc((size_t)total + 1, sizeof(*next));
	int err = first && next ? 0 : -ENOMEM;
	for (u32 i = total; i-- > 0 && !err;) {
		u32 parent = l->at.at[i].parent, slot = parent == LINE_NONE ? total : parent;
		next[i] = first[slot];
		first[slot] = i + 1;
	}
	if (!err)
		err = put_children(l, first, next, LINE_NONE, order, &nr);
	free(first);
	free(next);
	return err;
}

/* ---- cells ---- */

static int measure_cell(const struct joined_lines *l, const struct profile_field *f, u32 line,
			enum cell_type type, struct table *t, union cell *ret)
{
	const u64 *v = values_of(l, line, f->key);
	if (type == CELL_U64) {
		u64 *us = arena_array(&t->arena, l->nr_events, sizeof(*us));
		if (!us)
			return -ENOMEM;
		memcpy(us, v, l->nr_events * sizeof(*us));
		if (l->nr_events > 1)
			ret->us = us;
		else
			ret->u = v[0];
		return 0;
	}
	double *fs = arena_array(&t->arena, l->nr_events, sizeof(*fs));
	if (!fs)
		return -ENOMEM;
	for (u32 e = 0; e < l->nr_events; e++)
		fs[e] = l->totals[e] ? 100.0 * (double)v[e] / (double)l->totals[e] : 0;
	if (l->nr_events > 1)
		ret->fs = fs;
	else
		ret->f = fs[0];
	return 0;
}

static int add_columns(const struct joined_lines *l, struct table *t)
{
	const struct profile *p = l->p;
	for (u32 i = 0; i < p->cfg.nr_fields; i++) {
		const struct profile_field *f = &p->cfg.fields[i];
		if (!fields_has_column(f, l->events[0]))
			continue;
		struct column *c = keys_column(p, f, t);
		if (!c)
			return -ENOMEM;
		c->level = l->level_at[f->level];
		if (profile_key_is_measure(f->key) && l->nr_events > 1)
			c->nr_values = l->nr_events;
	}
	struct column *last = t->columns.nr ? &t->columns.at[t->columns.nr - 1] : NULL;
	if (last)
		last->last = last->loose;
	return 0;
}

static int fill_line(const struct joined_lines *l, u32 line, struct table *t)
{
	const struct profile *p = l->p;
	const struct line *at = &l->at.at[line];
	union cell *cells = table_row(t);
	u64 *weight = vec_push(&t->weights);
	u32 *depth = l->nr_levels ? vec_push(&t->depths) : NULL;
	u32 *graph = vec_push(&l->p->shown);
	if (!cells || !weight || !graph || (l->nr_levels && !depth))
		return -ENOMEM;
	*weight = values_of(l, line,
			    p->cfg.children ? PROFILE_OVERHEAD_CHILDREN : PROFILE_OVERHEAD)[0];
	*graph = at->graph;
	if (depth)
		*depth = at->depth;
	int err = 0;
	size_t column = 0;
	for (u32 i = 0; i < p->cfg.nr_fields && !err; i++) {
		const struct profile_field *f = &p->cfg.fields[i];
		if (!fields_has_column(f, l->events[0]))
			continue;
		union cell *cell = &cells[column];
		enum cell_type type = t->columns.at[column++].type;
		if (profile_key_is_measure(f->key))
			err = measure_cell(l, f, line, type, t, cell);
		else if (!l->nr_levels || l->level_at[f->level] == at->depth)
			err = keys_cell(p, f, &p->rows.at[at->rep], 0, t, cell);
	}
	return err;
}

static int make_table(struct joined_lines *l, struct table *t)
{
	struct profile *p = l->p;
	want_measures(l, p->cfg.fields, p->cfg.nr_fields);
	want_measures(l, p->cfg.sort, p->cfg.nr_sort);
	want_measures(l,
		      (struct profile_field[]){ { .key = PROFILE_OVERHEAD },
						{ .key = PROFILE_OVERHEAD_CHILDREN } },
		      2);
	for (u32 e = 0; e < l->nr_events; e++)
		l->totals[e] = profile_totals(p, l->events[e]).period;
	p->shown_total = l->totals[0];
	p->shown.nr = 0;
	t->total = p->shown_total;
	t->nr_levels = l->nr_levels;
	int err = add_columns(l, t);
	if (!err)
		err = join_rows(l);
	u32 *order = err ? NULL : calloc(l->at.nr + 1, sizeof(*order));
	if (!err)
		err = order ? sort_lines(l, order) : -ENOMEM;
	for (size_t i = 0; i < l->at.nr && !err; i++)
		err = fill_line(l, order[i], t);
	free(order);
	if (p->cfg.graph)
		profile_draw(p, t);
	return err;
}

/* Levels are numbered by what this event shows of them. */
static void settle_levels(struct joined_lines *l)
{
	const struct profile_config *c = &l->p->cfg;
	bool seen[PROFILE_FIELDS_MAX] = { false };
	for (u32 i = 0; i < c->nr_fields; i++)
		if (!profile_key_is_measure(c->fields[i].key) &&
		    fields_has_column(&c->fields[i], l->events[0]))
			seen[c->fields[i].level] = true;
	for (u32 i = 0; i < PROFILE_FIELDS_MAX; i++) {
		l->level_at[i] = (u8)l->nr_levels;
		l->nr_levels += seen[i];
	}
}

static int lines_table(struct profile *p, const u32 *events, u32 nr, bool levels, struct table *t)
{
	struct joined_lines l = { .p = p, .events = events, .nr_events = min(nr, (u32)EVENTS_MAX) };
	if (levels)
		settle_levels(&l);
	int err = make_table(&l, t);
	vec_free(&l.at);
	vec_free(&l.values);
	vec_free(&l.known.groups);
	dict_done(&l.known.group_of);
	return err;
}

int profile_group_table(struct profile *p, const u32 *events, u32 nr, struct table *ret)
{
	return lines_table(p, events, nr, false, ret);
}

int profile_hierarchy(struct profile *p, const u32 *events, u32 nr, struct table *ret)
{
	return lines_table(p, events, nr, true, ret);
}
