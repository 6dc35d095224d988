/*
 * A row is a task of the newer reading with the one it was in the older one. Both lists are in the same order, so that one walk
 * over both joins them. Cells are made for rows that stay, sort keys once a row.
 */
#include "analysis/who.h"

#include "analysis/who_impl.h"
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char default_columns[] = "PID,USER,PR,NI,VIRT,RES,SHR,S,%CPU,%MEM,TIME+,COMMAND";

/* ---- options ---- */

void who_opts_init(struct who_opts *o)
{
	*o = (struct who_opts){ .by = WHO_NO_COLUMN, .sort = WHO_NO_COLUMN };
}

void who_opts_done(struct who_opts *o)
{
	vec_free(&o->columns.list);
	vec_free(&o->filters.list);
}

static int unknown_column(const char *text, size_t at, size_t len, struct diag *d)
{
	const char *names[256];
	char word[64];
	size_t nr = min((size_t)who_nr_columns, ARRAY_SIZE(names));
	for (size_t i = 0; i < nr; i++)
		names[i] = who_columns[i].name;
	len = min(len, sizeof(word) - 1);
	memcpy(word, text + at, len);
	word[len] = '\0';
	(void)diag_error(d, -EINVAL, "unknown column '%s'", word);
	diag_span(d, text, at, len);
	const char *close = str_closest(word, names, nr);
	if (close)
		diag_hint(d, "did you mean '%s'?", close);
	else
		diag_hint(d, "'sonde who -O' lists all columns");
	return -EINVAL;
}

static size_t column_place(const struct who_opts *o, u16 column)
{
	size_t i = 0;
	while (i < o->columns.list.nr && o->columns.list.at[i] != column)
		i++;
	return i;
}

static int add_column(struct who_opts *o, u16 column)
{
	if (column_place(o, column) < o->columns.list.nr)
		return 0;
	u16 *slot = vec_push(&o->columns.list);
	if (!slot)
		return -ENOMEM;
	*slot = column;
	return 0;
}

static void remove_column(struct who_opts *o, u16 column)
{
	size_t at = column_place(o, column);
	if (at == o->columns.list.nr)
		return;
	u16 *list = o->columns.list.at;
	memmove(list + at, list + at + 1, (--o->columns.list.nr - at) * sizeof(*list));
}

/* apply: else it is only looked at. */
static int each_column(struct who_opts *o, const char *text, bool apply, struct diag *d)
{
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ", ");
		char sign = *at == '+' || *at == '-' ? *at : '\0';
		u16 column;
		int err = 0;
		if (len > (sign != '\0')) {
			if (who_column_find(at + (sign != 0), len - (sign != 0), &column))
				return unknown_column(text, (size_t)(at - text) + (sign != 0),
						      len - (sign != 0), d);
			if (apply && sign == '-')
				remove_column(o, column);
			else if (apply)
				err = add_column(o, column);
		}
		if (err)
			return err;
		at += len;
		at += strspn(at, ", ");
	}
	return 0;
}

int who_opts_columns(struct who_opts *o, const char *text, struct diag *d)
{
	text = text ? text : default_columns;
	int err = each_column(o, text, false, d);
	bool relative = *text == '+' || *text == '-';
	if (!err && !relative)
		o->columns.list.nr = 0;
	if (!err && relative && !o->columns.list.nr)
		err = each_column(o, default_columns, true, d);
	if (!err)
		err = each_column(o, text, true, d);
	if (!err && !o->columns.list.nr)
		err = diag_error(d, -EINVAL, "no columns are left to show");
	return err;
}

unsigned who_opts_parts(const struct who_opts *o)
{
	unsigned parts = TASK_STAT;
	vec_for_each (&o->columns.list, c)
		parts |= who_columns[*c].parts;
	vec_for_each (&o->filters.list, f)
		parts |= who_columns[f->column].parts;
	if (o->sort != WHO_NO_COLUMN)
		parts |= who_columns[o->sort].parts;
	if (o->by != WHO_NO_COLUMN)
		parts |= who_columns[o->by].parts;
	if (o->command_lines)
		parts |= TASK_CMDLINE;
	return parts | (o->one_user ? TASK_OWNER : 0);
}

int who_filter_parse(const char *text, struct who_filter *ret, struct diag *d)
{
	const char *name = text + (*text == '!');
	size_t len = strcspn(name, "=<>");
	struct who_filter f = { .negated = *text == '!', .op = name[len] };
	if (!f.op || !len)
		return diag_error(d, -EINVAL,
				  "invalid filter '%s': expected COLUMN=VALUE, COLUMN<VALUE or "
				  "COLUMN>VALUE",
				  text);
	if (who_column_find(name, len, &f.column))
		return unknown_column(text, (size_t)(name - text), len, d);
	const char *value = name + len + 1;
	char *end;
	if (who_columns[f.column].type != CELL_STR && (!*value || (strtod(value, &end), *end)))
		return diag_error(d, -EINVAL, "invalid filter '%s': %s is compared with a number",
				  text, who_columns[f.column].name);
	if (strlen(value) >= sizeof(f.value))
		return diag_error(d, -EINVAL, "invalid filter '%s': the value is too long", text);
	strcpy(f.value, value);
	*ret = f;
	return 0;
}

/* ---- cells ---- */

static double cell_number(const struct who_column *c, const union cell *v)
{
	switch (c->type) {
	case CELL_FLOAT:
	case CELL_PERCENT: return v->f;
	case CELL_S64: return (double)v->s;
	case CELL_CLOCK: return (double)v->u / 1e9;
	default: return (double)v->u;
	}
}

static bool filter_holds(const struct who *w, const struct who_row *r, const struct who_filter *f)
{
	const struct who_column *c = &who_columns[f->column];
	union cell v = { 0 };
	bool holds;
	who_cell(w, r, f->column, &v);
	if (c->type == CELL_STR) {
		const char *text = v.str ? v.str : "";
		int order = strcmp(text, f->value);
		holds = f->op == '='   ? strstr(text, f->value) != NULL
			: f->op == '<' ? order < 0
				       : order > 0;
	} else {
		double have = cell_number(c, &v), want = strtod(f->value, NULL);
		holds = f->op == '=' ? have == want : f->op == '<' ? have < want : have > want;
	}
	return holds != f->negated;
}

static bool row_wanted(const struct who *w, const struct who_row *r)
{
	const struct who_opts *o = w->o;
	const struct task *t = r->t;
	if (o->one_user && (!(t->parts & TASK_OWNER) || t->uid[TASK_ID_EFFECTIVE] != o->uid))
		return false;
	if (o->no_idle && t->state != 'R') {
		u64 before = r->before ? who_cpu_ns(w, r->before) : 0;
		if (who_cpu_ns(w, t) <= before)
			return false;
	}
	vec_for_each (&o->filters.list, f)
		if (!filter_holds(w, r, f))
			return false;
	return true;
}

/* ---- the summary ---- */

static void count_task(struct who_summary *s, const struct task *t)
{
	s->total++;
	switch (t->state) {
	case 'R': s->running++; break;
	case 'T':
	case 't': s->stopped++; break;
	case 'Z': s->zombie++; break;
	default: s->sleeping++; break;
	}
	s->denied_parts |= t->denied;
	s->nr_denied += t->denied != 0;
}

static int add_cpu(struct who_summary *s, const struct cpu_ticks *now, const struct cpu_ticks *was)
{
	struct who_cpu *to = vec_push(&s->cpus.list);
	if (!to)
		return -ENOMEM;
	const struct cpu_ticks none = { 0 };
	was = was ? was : &none;
	const u64 parts[] = {
		u64_less(now->user, was->user),	      u64_less(now->nice, was->nice),
		u64_less(now->system, was->system),   u64_less(now->idle, was->idle),
		u64_less(now->iowait, was->iowait),   u64_less(now->irq, was->irq),
		u64_less(now->softirq, was->softirq), u64_less(now->steal, was->steal),
	};
	u64 all = 0;
	double percent[ARRAY_SIZE(parts)];
	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++)
		all += parts[i];
	for (unsigned i = 0; i < ARRAY_SIZE(parts); i++)
		percent[i] = all ? 100.0 * (double)parts[i] / (double)all : 0;
	*to = (struct who_cpu){ now->cpu,   percent[0], percent[1], percent[2], percent[3],
				percent[4], percent[5], percent[6], percent[7] };
	return 0;
}

static int summarise_cpus(struct who *w)
{
	const struct system_reading *now = w->in.system_now, *was = w->in.system_before;
	w->summary.cpus.list.nr = 0;
	size_t old = 0;
	for (size_t i = 0; now && i < now->cpus.nr; i++) {
		const struct cpu_ticks *c = &now->cpus.at[i];
		/* CPUs come and go; both lists are in order. */
		while (was && old < was->cpus.nr && was->cpus.at[old].cpu < c->cpu)
			old++;
		bool same = was && old < was->cpus.nr && was->cpus.at[old].cpu == c->cpu;
		int err = add_cpu(&w->summary, c, same ? &was->cpus.at[old] : NULL);
		if (err)
			return err;
	}
	if (now && was && w->seconds > 0) {
		w->summary.paged_in_per_s =
			(double)u64_less(now->paged_in_kb, was->paged_in_kb) * 1024 / w->seconds;
		w->summary.paged_out_per_s =
			(double)u64_less(now->paged_out_kb, was->paged_out_kb) * 1024 / w->seconds;
	}
	return 0;
}

static void add_io(struct who *w, const struct who_row *r)
{
	if (!(r->t->parts & TASK_IO) || (r->before && !(r->before->parts & TASK_IO)) ||
	    w->seconds <= 0)
		return;
	w->summary.read_per_s +=
		(double)u64_less(r->t->read_bytes, r->before ? r->before->read_bytes : 0) /
		w->seconds;
	w->summary.write_per_s +=
		(double)u64_less(r->t->write_bytes, r->before ? r->before->write_bytes : 0) /
		w->seconds;
}

/* ---- rows ---- */

static int task_order(const struct task *a, const struct task *b)
{
	return a->pid != b->pid ? (a->pid > b->pid) - (a->pid < b->pid)
				: (a->tid > b->tid) - (a->tid < b->tid);
}

static int keep_row(struct who *w, struct who_row row)
{
	if (!row_wanted(w, &row))
		return 0;
	row.sequence = (u32)w->rows.nr;
	struct who_row *slot = vec_push(&w->rows);
	if (!slot)
		return -ENOMEM;
	*slot = row;
	return 0;
}

/*
 * Who was there at the reading before under the same number was the same, unless it had begun before the one that ended can have: that one
 * ended in this interval, so that it began within an interval before .start_ticks, which is the latest possible moment.
 */
static const struct task *before_end(const struct who *w, const struct task *t)
{
	const struct task *b = w->in.before ? task_list_find_id(w->in.before, t->pid, t->tid) : NULL;
	u64 interval = (u64)(w->seconds * w->env.ticks_per_second) + 2;
	return b && b->start_ticks + interval >= t->start_ticks ? b : NULL;
}

static int join_ended(struct who *w)
{
	int err = 0;
	for (size_t i = 0; i < w->in.nr_ended && !err; i++) {
		struct who_row row = { .t = &w->in.ended[i] };
		row.before = before_end(w, row.t);
		w->summary.ended++;
		add_io(w, &row);
		err = keep_row(w, row);
	}
	return err;
}

static int join_rows(struct who *w)
{
	const struct task_list *was = w->in.before, *now = w->in.now;
	size_t old = 0;
	w->rows.nr = 0;
	for (size_t i = 0; i < now->tasks.nr; i++) {
		const struct task *t = &now->tasks.at[i];
		while (was && old < was->tasks.nr && task_order(&was->tasks.at[old], t) < 0)
			old++;
		const struct task *before = was && old < was->tasks.nr ? &was->tasks.at[old] : NULL;
		if (before && (task_order(before, t) || before->start_ticks != t->start_ticks))
			before = NULL;
		struct who_row row = { .t = t, .before = before };
		count_task(&w->summary, t);
		add_io(w, &row);
		int err = keep_row(w, row);
		if (err)
			return err;
	}
	return join_ended(w);
}

static int compare_keys(const struct who_column *c, const union cell *a, const union cell *b)
{
	if (c->type == CELL_STR)
		return strcmp(a->str ? a->str : "", b->str ? b->str : "");
	double x = cell_number(c, a), y = cell_number(c, b);
	/* What is not known counts as least. */
	if (isnan(x) || isnan(y))
		return isnan(y) - isnan(x);
	return (x > y) - (x < y);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct who *w = ctx;
	const struct who_row *x = a, *y = b;
	const struct who_column *c = &who_columns[w->o->sort];
	int order = compare_keys(c, &w->keys.at[x->sequence], &w->keys.at[y->sequence]);
	bool down = c->ascending == w->o->reversed;
	if (!order)
		return task_order(x->t, y->t);
	return down ? -order : order;
}

static int sort_rows(struct who *w)
{
	if (w->o->sort == WHO_NO_COLUMN)
		return 0;
	if (!vec_reserve(&w->keys, w->rows.nr + 1))
		return -ENOMEM;
	for (size_t i = 0; i < w->rows.nr; i++) {
		w->keys.at[i] = (union cell){ 0 };
		who_cell(w, &w->rows.at[i], w->o->sort, &w->keys.at[i]);
	}
	qsort_r(w->rows.at, w->rows.nr, sizeof(*w->rows.at), compare_rows, w);
	return 0;
}

/* ---- the tree ---- */

/*
 * Rows in the order they are sorted in become a forest: children follow their parent, in that order. A row whose parent is not shown is a
 * root, and so is one whose parent began later: its number was used again.
 */
struct forest {
	u32 *first, *last, *next, *parent; /* [row]: children, sibling */
	bool *placed;
	u32 *by_id; /* rows by pid and tid */
	struct who_row *rows; /* as they were sorted */
	struct who_row *to;
	size_t nr;
};

enum { NO_ROW = 0xffffffffu };

static u32 parent_row(const struct who *w, const u32 *by_id, const struct task *t)
{
	/* Threads belong to their leader, leaders to the parent. */
	s32 want = t->tid != t->pid ? t->pid : t->ppid;
	size_t lo = 0, hi = w->rows.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct task *m = w->rows.at[by_id[mid]].t;
		if (m->pid < want || (m->pid == want && m->tid < want))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == w->rows.nr)
		return NO_ROW;
	const struct task *p = w->rows.at[by_id[lo]].t;
	return p->tid == want && p != t && p->start_ticks <= t->start_ticks ? by_id[lo] : NO_ROW;
}

static int compare_ids(const void *a, const void *b, void *ctx)
{
	const struct who *w = ctx;
	return task_order(w->rows.at[*(const u32 *)a].t, w->rows.at[*(const u32 *)b].t);
}

static void put_row(struct forest *f, u32 row, u32 depth)
{
	f->placed[row] = true;
	f->to[f->nr] = f->rows[row];
	f->to[f->nr++].depth = depth;
}

static void put_branch(struct forest *f, u32 root)
{
	u32 at = root, depth = 0;
	for (;;) {
		put_row(f, at, depth);
		if (f->first[at] != NO_ROW) {
			at = f->first[at];
			depth++;
			continue;
		}
		for (; at != root && f->next[at] == NO_ROW; depth--)
			at = f->parent[at];
		if (at == root)
			return;
		at = f->next[at];
	}
}

static void link_rows(const struct who *w, struct forest *f)
{
	u32 nr = (u32)w->rows.nr;
	for (u32 i = 0; i < nr; i++) {
		f->by_id[i] = i;
		f->first[i] = f->last[i] = f->next[i] = NO_ROW;
	}
	qsort_r(f->by_id, nr, sizeof(u32), compare_ids, (void *)w);
	for (u32 i = 0; i < nr; i++) {
		u32 parent = f->parent[i] = parent_row(w, f->by_id, w->rows.at[i].t);
		if (parent == NO_ROW)
			continue;
		if (f->last[parent] == NO_ROW)
			f->first[parent] = i;
		else
			f->next[f->last[parent]] = i;
		f->last[parent] = i;
	}
}

static int arrange_tree(struct who *w)
{
	size_t nr = w->rows.nr;
	if (!vec_reserve(&w->rows, 2 * nr + 1) || !vec_reserve(&w->links, 5 * nr + 1) ||
	    !vec_reserve(&w->placed, nr + 1))
		return -ENOMEM;
	u32 *links = w->links.at;
	struct forest f = { .first = links,
			    .last = links + nr,
			    .next = links + 2 * nr,
			    .parent = links + 3 * nr,
			    .by_id = links + 4 * nr,
			    .placed = w->placed.at,
			    .rows = w->rows.at,
			    .to = w->rows.at + nr };
	memset(f.placed, 0, nr);
	link_rows(w, &f);
	for (u32 i = 0; i < nr; i++)
		if (f.parent[i] == NO_ROW)
			put_branch(&f, i);
	/* Who are each other's parents, which no kernel reports, are under no root. */
	for (u32 i = 0; i < nr; i++)
		if (!f.placed[i])
			put_row(&f, i, 0);
	memmove(w->rows.at, f.to, nr * sizeof(*f.to));
	return 0;
}

/* ---- the table ---- */

enum { MEMORY_WIDTH = 7 };

static int table_columns(const struct who_opts *o, struct table *to)
{
	for (size_t i = 0; i < o->columns.list.nr; i++) {
		u16 at = o->columns.list.at[i];
		const struct who_column *from = &who_columns[at];
		if (o->by != WHO_NO_COLUMN && (at == o->by || !from->adds))
			continue;
		struct column *c = table_column(to, from->name, from->key, from->type);
		if (!c)
			return -ENOMEM;
		c->min_width = from->width;
		c->digits = from->type == CELL_S64 ? 1 : from->digits;
		c->right = from->type == CELL_STR && !from->left;
		c->last = i + 1 == o->columns.list.nr;
		/* The narrowest that numbers with letters take: what is left is the command's. */
		if (o->memory && str_ends(from->key, "_kib")) {
			c->memory = o->memory;
			c->min_width = min(c->min_width, (u32)MEMORY_WIDTH);
		}
	}
	return 0;
}

static int show_task(struct who *w, const struct task *t)
{
	const struct task **slot = vec_push(&w->shown.tasks);
	if (!slot)
		return -ENOMEM;
	*slot = t;
	return 0;
}

static int plain_rows(struct who *w, struct table *to)
{
	size_t nr = w->rows.nr;
	if (w->o->max_rows)
		nr = min(nr, (size_t)w->o->max_rows);
	for (size_t i = 0; i < nr; i++) {
		union cell *cells = table_row(to);
		int err = cells ? show_task(w, w->rows.at[i].t) : -ENOMEM;
		if (err)
			return err;
		for (size_t k = 0; k < w->o->columns.list.nr; k++)
			who_cell(w, &w->rows.at[i], w->o->columns.list.at[k], &cells[k]);
	}
	return 0;
}

/* ---- rows added up ---- */

/* Columns of a table that is added up: how many tasks there are, the one it goes by, then those that add. */
static void add_cells(const struct table *to, const union cell *from, union cell *sum)
{
	for (size_t k = 0; k < to->columns.nr; k++) {
		switch (to->columns.at[k].type) {
		case CELL_STR: break;
		case CELL_FLOAT:
			/* Of what could be read; nothing, where nothing could. */
			if (isnan(sum[k].f))
				sum[k].f = from[k].f;
			else if (!isnan(from[k].f))
				sum[k].f += from[k].f;
			break;
		default: sum[k].u += from[k].u; break;
		}
	}
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct who *w = ctx;
	const struct who_row *x = a, *y = b;
	int order = strcmp(w->keys.at[x->sequence].str, w->keys.at[y->sequence].str);
	return order ? order : task_order(x->t, y->t);
}

struct sum_order {
	const struct table *t;
	const struct who_column *by;
	size_t column;
	bool reversed;
};

static int compare_sums(const void *a, const void *b, void *ctx)
{
	const struct sum_order *o = ctx;
	const union cell *x = a, *y = b;
	int order = compare_keys(o->by, &x[o->column], &y[o->column]);
	if (!order)
		return strcmp(x[0].str, y[0].str);
	return o->by->ascending == o->reversed ? -order : order;
}

static int sum_columns(const struct who_opts *o, struct table *to)
{
	const struct who_column *by = &who_columns[o->by];
	struct column *c = table_column(to, by->name, by->key, CELL_STR);
	if (c)
		c->min_width = by->width;
	c = c ? table_column(to, "TASKS", "tasks", CELL_NUMBER) : NULL;
	int err = c ? 0 : -ENOMEM;
	if (!err)
		err = table_columns(&(struct who_opts){ .columns = o->columns,
							.by = o->by,
							.sort = o->sort,
							.memory = o->memory },
				    to);
	return err;
}

static int sum_rows(struct who *w, struct table *to)
{
	const struct who_opts *o = w->o;
	if (!vec_reserve(&w->keys, w->rows.nr + 1))
		return -ENOMEM;
	for (size_t i = 0; i < w->rows.nr; i++) {
		w->keys.at[i] = (union cell){ 0 };
		who_cell(w, &w->rows.at[i], o->by, &w->keys.at[i]);
		w->keys.at[i].str = w->keys.at[i].str ? w->keys.at[i].str : "";
	}
	qsort_r(w->rows.at, w->rows.nr, sizeof(*w->rows.at), compare_groups, w);
	const char *last = NULL;
	size_t sort = to->columns.nr;
	const struct who_column *by = o->sort == WHO_NO_COLUMN ? NULL : &who_columns[o->sort];
	for (size_t i = 0; i < w->rows.nr; i++) {
		const char *key = w->keys.at[w->rows.at[i].sequence].str;
		union cell cells[256] = { { .str = key }, { .u = 1 } };
		size_t k = 2;
		for (size_t c = 0; c < o->columns.list.nr; c++) {
			u16 column = o->columns.list.at[c];
			if (column == o->by || !who_columns[column].adds)
				continue;
			if (column == o->sort)
				sort = k;
			who_cell(w, &w->rows.at[i], column, &cells[k++]);
		}
		if (last && !strcmp(last, key)) {
			add_cells(to, cells, &to->cells.at[(to->nr_rows - 1) * to->columns.nr]);
			continue;
		}
		last = key;
		union cell *row = table_row(to);
		int err = row ? show_task(w, NULL) : -ENOMEM;
		if (err)
			return err;
		memcpy(row, cells, to->columns.nr * sizeof(*row));
	}
	if (sort < to->columns.nr)
		qsort_r(to->cells.at, to->nr_rows, to->columns.nr * sizeof(union cell),
			compare_sums, &(struct sum_order){ to, by, sort, o->reversed });
	if (o->max_rows && to->nr_rows > o->max_rows) {
		to->nr_rows = o->max_rows;
		to->cells.nr = to->nr_rows * to->columns.nr;
	}
	return 0;
}

/* ---- all ---- */

struct who *who_new(const struct who_env *env)
{
	struct who *w = calloc(1, sizeof(*w));
	if (w)
		w->env = *env;
	return w;
}

void who_free(struct who *w)
{
	if (!w)
		return;
	vec_free(&w->rows);
	vec_free(&w->keys);
	vec_free(&w->links);
	vec_free(&w->placed);
	vec_free(&w->shown.tasks);
	vec_free(&w->summary.cpus.list);
	free(w);
}

int who_table(struct who *w, const struct who_readings *r, const struct who_opts *o,
	      struct table *to)
{
	w->in = *r;
	w->o = o;
	w->arena = &to->arena;
	w->seconds = r->before ? (double)u64_less(r->now->time_ns, r->before->time_ns) / 1e9 : 0;
	w->shown.tasks.nr = 0;
	w->summary = (struct who_summary){ .cpus = w->summary.cpus, .threads = o->threads };
	int err = summarise_cpus(w);
	if (!err)
		err = join_rows(w);
	if (!err && o->by != WHO_NO_COLUMN) {
		err = sum_columns(o, to);
		if (!err)
			err = sum_rows(w, to);
	} else if (!err) {
		err = table_columns(o, to);
		if (!err)
			err = sort_rows(w);
		if (!err && o->tree)
			err = arrange_tree(w);
		if (!err)
			err = plain_rows(w, to);
	}
	w->o = NULL;
	return err ? err : to->arena.failed ? -ENOMEM : 0;
}

const struct who_summary *who_summary(const struct who *w)
{
	return &w->summary;
}

const struct task *who_row_task(const struct who *w, size_t row)
{
	return row < w->shown.tasks.nr ? w->shown.tasks.at[row] : NULL;
}
