#include "session/what.h"

#include "base/clock.h"
#include "base/glob.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void what_init(struct what_engine *w, const struct sysroot *root, size_t max_rows)
{
	*w = (struct what_engine){ .root = root, .max_rows = max_rows };
	series_init(&w->series, max_rows, SERIES_KEEP_LAST);
}

static void forget_parts(struct what_engine *w)
{
	vec_for_each (&w->parts, p)
		free(p->row);
	w->parts.nr = w->cells.nr = w->terms.nr = 0;
}

void what_done(struct what_engine *w)
{
	forget_parts(w);
	vec_for_each (&w->files, f)
		counter_file_close(&f->file);
	vec_for_each (&w->chosen, c)
		what_rows_done(&c->listed);
	what_events_close(w->events);
	vec_free(&w->chosen);
	vec_free(&w->files);
	vec_free(&w->parts);
	vec_free(&w->cells);
	vec_free(&w->terms);
	free(w->sums);
	free(w->row);
	series_done(&w->series);
	*w = (struct what_engine){ 0 };
}

int what_choose(struct what_engine *w, const struct what_group *g, const char *rows)
{
	const struct what_group *other = g->instead ? what_group_find(g->instead) : NULL;
	if (other && !sysroot_exists(w->root, g->unless))
		g = other;
	struct what_chosen *c = vec_push(&w->chosen);
	if (!c)
		return -ENOMEM;
	if (g->only_rows && !rows)
		rows = "all";
	*c = (struct what_chosen){ .group = g, .rows = g->row_title ? rows : NULL };
	return 0;
}

int what_count_events(struct what_engine *w, const struct opt_list *events, struct diag *d)
{
	w->events = what_events_open(w->root, events, d);
	return w->events ? 0 : -EINVAL;
}

/* ---- files ---- */

/* The next of the paths in a list; false: it has ended. */
static bool next_path(const char **list, char *to, size_t size)
{
	*list += strspn(*list, " ");
	size_t len = strcspn(*list, " ");
	if (!len || len >= size)
		return false;
	memcpy(to, *list, len);
	to[len] = 0;
	*list += len;
	return true;
}

enum { PATH_SIZE = 256 };

static int find_file(const struct what_engine *w, const char *path)
{
	for (size_t i = 0; i < w->files.nr; i++)
		if (!strcmp(w->files.at[i].file.path, path))
			return (int)i;
	return -ENOENT;
}

static int add_file(struct what_engine *w, const char *path)
{
	if (find_file(w, path) >= 0)
		return 0;
	struct what_file *f = vec_push(&w->files);
	if (!f)
		return -ENOMEM;
	*f = (struct what_file){ 0 };
	return counter_file_open(&f->file, w->root, path);
}

/* "sys/fs/cgroup/%s/cpu.stat" of one row; false: it is too long, or no path. */
static bool path_of_row(const char *pattern, const struct what_row *row, char *to, size_t size)
{
	const char *with = row->path ? row->path : row->name, *at = strstr(pattern, "%s");
	int n = snprintf(to, size, "%.*s%s%s", (int)(at - pattern), pattern, with, at + 2);
	return n > 0 && (size_t)n < size;
}

/* The next of the names in "vda,total"; false: they have ended. */
static bool next_row(const char **list, char *to, size_t size)
{
	while (**list) {
		size_t len = strcspn(*list, ",");
		bool fits = len && len < size;
		if (fits) {
			memcpy(to, *list, len);
			to[len] = 0;
		}
		*list += len + ((*list)[len] == ',');
		if (fits)
			return true;
	}
	return false;
}

static bool is_several(const char *row)
{
	return !strcmp(row, "all") || !strcmp(row, "total");
}

/* One that is not in the list is what it is called. */
static const struct what_row *row_named(const struct what_chosen *c, const struct what_row *one)
{
	vec_for_each (&c->listed.list, row)
		if (!strcmp(row->name, one->name))
			return row;
	return one;
}

static int add_row_file(struct what_engine *w, const char *pattern, const struct what_row *row)
{
	char path[PATH_SIZE];
	return path_of_row(pattern, row, path, sizeof(path)) ? add_file(w, path) : 0;
}

static int add_row_files(struct what_engine *w, const struct what_chosen *c, const char *pattern)
{
	char name[PATH_SIZE];
	const char *rows = c->rows ? c->rows : "total";
	int err = 0;
	while (!err && next_row(&rows, name, sizeof(name))) {
		const struct what_row one = { .name = name };
		if (!is_several(name)) {
			err = add_row_file(w, pattern, row_named(c, &one));
			continue;
		}
		vec_for_each (&c->listed.list, row)
			if (!err)
				err = add_row_file(w, pattern, row);
	}
	return err;
}

static int add_files(struct what_engine *w, const struct what_chosen *c, const char *list)
{
	char path[PATH_SIZE];
	int err = 0;
	while (!err && next_path(&list, path, sizeof(path)))
		err = strstr(path, "%s") ? add_row_files(w, c, path) : add_file(w, path);
	return err;
}

static const char *files_of(const struct what_group *g, const struct what_column *c)
{
	return c->files ? c->files : g->files;
}

static int open_files(struct what_engine *w)
{
	vec_for_each (&w->chosen, chosen)
		for (const struct what_column *c = chosen->group->columns; c->name; c++) {
			int err = add_files(w, chosen, files_of(chosen->group, c));
			if (err)
				return err;
		}
	return 0;
}

/* ---- rows with files of their own ---- */

static bool same_rows(const struct what_rows *a, const struct what_rows *b)
{
	if (a->list.nr != b->list.nr)
		return false;
	for (size_t i = 0; i < a->list.nr; i++) {
		const struct what_row *l = &a->list.at[i], *r = &b->list.at[i];
		if (strcmp(l->name, r->name) || !l->path != !r->path ||
		    (l->path && strcmp(l->path, r->path)))
			return false;
	}
	return true;
}

/* 1: they are others than before. */
static int list_rows(struct what_engine *w)
{
	int changed = 0;
	vec_for_each (&w->chosen, c) {
		struct what_rows now = { 0 };
		int err = c->group->list ? c->group->list(w->root, &now) : 0;
		if (!err && !same_rows(&c->listed, &now)) {
			struct what_rows old = c->listed;
			c->listed = now;
			now = old;
			changed = 1;
		}
		what_rows_done(&now);
		if (err)
			return err;
	}
	return changed;
}

/* Files of rows that have gone are closed: those that are wanted keep what they know. */
static int change_files(struct what_engine *w)
{
	__typeof__(w->files) old = w->files;
	memset(&w->files, 0, sizeof(w->files));
	int err = open_files(w);
	for (size_t i = 0; i < old.nr; i++) {
		int at = err ? -ENOENT : find_file(w, old.at[i].file.path);
		if (at >= 0) {
			struct what_file fresh = w->files.at[at];
			w->files.at[at] = old.at[i];
			old.at[i] = fresh;
		}
		counter_file_close(&old.at[i].file);
	}
	vec_free(&old);
	return err;
}

/* true: the items of a file are not those of the reading before. */
static bool read_files(struct what_engine *w)
{
	bool changed = false;
	vec_for_each (&w->files, f) {
		f->err = counter_file_read(&f->file);
		changed |= f->generation != f->file.generation;
		f->generation = f->file.generation;
	}
	return changed;
}

/* ---- cells ---- */

/* Which rows of a file a part is about. */
struct row_choice {
	const char *row; /* this one, with `prefix` before it; NULL: the sum of those that fit */
	const char *prefix;
	bool (*in_total)(const char *row);
	bool any;
	const struct what_row *of; /* whose files %s stands for */
	size_t nr_of;
};

static bool row_fits(const struct row_choice *r, const char *name)
{
	if (!r->any)
		return str_starts(name, r->prefix) && !strcmp(name + strlen(r->prefix), r->row);
	return !r->in_total || r->in_total(name);
}

static int bind_term(struct what_engine *w, u32 file, const struct row_choice *rows,
		     const char *field, s8 sign)
{
	const struct counter_file *f = &w->files.at[file].file;
	bool pattern = glob_is_pattern(field);
	for (size_t i = 0; i < f->items.nr; i++) {
		const struct counter_item *item = &f->items.at[i];
		bool same = pattern ? glob_match(field, item->field) : !strcmp(field, item->field);
		if (!same || item->text || !row_fits(rows, item->row))
			continue;
		struct what_term *t = vec_push(&w->terms);
		if (!t)
			return -ENOMEM;
		*t = (struct what_term){ .file = file, .item = (u32)i, .sign = sign };
	}
	return 0;
}

static int bind_file(struct what_engine *w, const char *path, const struct row_choice *rows,
		     const char *field, s8 sign)
{
	int at = find_file(w, path);
	return at < 0 ? 0 : bind_term(w, (u32)at, rows, field, sign);
}

static int bind_path(struct what_engine *w, const char *path, const struct row_choice *of,
		     const struct row_choice *rows, const char *field, s8 sign)
{
	char full[PATH_SIZE];
	int err = 0;
	if (!strstr(path, "%s"))
		return bind_file(w, path, rows, field, sign);
	for (size_t i = 0; i < of->nr_of && !err; i++)
		if (path_of_row(path, &of->of[i], full, sizeof(full)))
			err = bind_file(w, full, rows, field, sign);
	return err;
}

/* "user+nice", "TCP/inuse-RAW/inuse". */
static int bind_formula(struct what_engine *w, const char *files, const struct row_choice *rows,
			const char *formula)
{
	s8 sign = 1;
	while (formula && *formula) {
		char field[64], path[PATH_SIZE];
		size_t len = strcspn(formula, "+-");
		if (len >= sizeof(field))
			return -EINVAL;
		memcpy(field, formula, len);
		field[len] = 0;
		char *slash = strchr(field, '/');
		struct row_choice other = { .row = field, .prefix = "" };
		if (slash)
			*slash = 0;
		const char *list = files;
		while (next_path(&list, path, sizeof(path))) {
			int err = bind_path(w, path, rows, slash ? &other : rows,
					    slash ? slash + 1 : field, sign);
			if (err)
				return err;
		}
		formula += len;
		sign = *formula == '-' ? -1 : 1;
		formula += !!*formula;
	}
	return 0;
}

static int bind_cell(struct what_engine *w, const struct what_group *g,
		     const struct row_choice *rows, struct what_cell *c)
{
	c->terms = (u32)w->terms.nr;
	int err = bind_formula(w, files_of(g, c->column), rows, c->column->of);
	c->nr_terms = (u32)w->terms.nr - c->terms;
	c->per = (u32)w->terms.nr;
	if (!err)
		err = bind_formula(w, files_of(g, c->column), rows, c->column->per);
	c->nr_per = (u32)w->terms.nr - c->per;
	return err;
}

/* The rows whose files a part is computed from. */
static void choose_files(const struct what_chosen *c, const struct what_row *one,
			 struct row_choice *to)
{
	if (!c->group->list)
		return;
	bool total = !strcmp(one->name, "total");
	to->any = true;
	to->of = total ? c->listed.list.at : row_named(c, one);
	to->nr_of = total ? c->listed.list.nr : 1;
}

static int add_part(struct what_engine *w, const struct what_chosen *chosen, const char *row)
{
	const struct what_group *g = chosen->group;
	vec_for_each (&w->parts, known) /* -C 0,0: once */
		if (known->group == g && !strcmp(known->row, row))
			return 0;
	struct what_part *p = vec_push(&w->parts);
	if (!p || !(p->row = strdup(row)))
		return -ENOMEM;
	p->group = g;
	p->cells = (u32)w->cells.nr;
	bool total = !strcmp(row, "total");
	struct row_choice rows = { .row = total && g->total_row ? g->total_row : row,
				   .prefix = total || !g->row_prefix ? "" : g->row_prefix,
				   .in_total = g->in_total,
				   .any = total && !g->total_row };
	if (!g->row_title && g->total_row)
		rows = (struct row_choice){ .row = g->total_row, .prefix = "" };
	const struct what_row one = { .name = p->row };
	choose_files(chosen, &one, &rows);
	for (const struct what_column *c = g->columns; c->name; c++) {
		struct what_cell cell = { .column = c };
		int err = bind_cell(w, g, &rows, &cell);
		struct what_cell *slot = err ? NULL : vec_push(&w->cells);
		if (!slot)
			return err ? err : -ENOMEM;
		*slot = cell;
	}
	p = &w->parts.at[w->parts.nr - 1];
	p->nr_cells = (u32)w->cells.nr - p->cells;
	return 0;
}

static int add_listed_rows(struct what_engine *w, const struct what_chosen *c)
{
	int err = 0;
	vec_for_each (&c->listed.list, row)
		if (!err)
			err = add_part(w, c, row->name);
	return err;
}

/* All rows of the group's file that are to be shown, in the order of the file. */
static int add_all_rows(struct what_engine *w, const struct what_chosen *c)
{
	const struct what_group *g = c->group;
	if (g->list)
		return add_listed_rows(w, c);
	int at = find_file(w, g->files);
	if (at < 0)
		return 0;
	const struct counter_file *f = &w->files.at[at].file;
	size_t skip = g->row_prefix ? strlen(g->row_prefix) : 0;
	for (size_t i = 0; i < f->items.nr;) {
		const char *row = f->items.at[i].row;
		bool idle = true;
		for (; i < f->items.nr && f->items.at[i].row == row; i++)
			idle = idle && !f->items.at[i].value;
		if (!*row || (g->in_all && !g->in_all(row, idle)))
			continue;
		int err = add_part(w, c, row + skip);
		if (err)
			return err;
	}
	return 0;
}

static int add_chosen(struct what_engine *w, const struct what_chosen *c)
{
	char row[PATH_SIZE];
	int err = 0;
	if (!c->group->row_title)
		return add_part(w, c, "");
	if (!c->rows)
		return add_part(w, c, "total");
	const char *at = c->rows;
	while (!err && next_row(&at, row, sizeof(row)))
		err = !strcmp(row, "all") ? add_all_rows(w, c) : add_part(w, c, row);
	return err;
}

/* ---- the series ---- */

static int add_columns(struct what_engine *w, const struct what_part *p)
{
	char title[PATH_SIZE];
	bool total = !*p->row || !strcmp(p->row, "total");
	if (total) {
		(void)snprintf(title, sizeof(title), "%s", p->group->title);
	} else {
		const char *percent = strchr(p->group->row_title, '%');
		(void)snprintf(title, sizeof(title), "%.*s%s%s",
			       (int)(percent - p->group->row_title), p->group->row_title, p->row,
			       percent + 2);
	}
	struct series_part part = { p->group->name, title, p->row };
	for (u32 i = 0; i < p->nr_cells; i++) {
		const struct what_column *c = w->cells.at[p->cells + i].column;
		struct series_look look = c->unit->look;
		if (c->width)
			look.width = c->width;
		int err = series_column(&w->series, c->name, c->key, c->unit->name, SERIES_GAUGE);
		if (!err)
			err = series_column_part(&w->series, &part, &look);
		if (err)
			return err;
	}
	return 0;
}

static int add_event_columns(struct what_engine *w)
{
	struct series_part part = { "events", "events", "" };
	for (size_t i = 0; w->events && i < what_events_nr(w->events); i++) {
		const char *name = what_event_name(w->events, i);
		struct series_look look = {
			.width = (u8)min(max(strlen(name), (size_t)5), (size_t)40), .base = 1000
		};
		int err = series_column(&w->series, name, name, "1/s", SERIES_GAUGE);
		if (!err)
			err = series_column_part(&w->series, &part, &look);
		if (err)
			return err;
	}
	return 0;
}

/* Whether the series has the columns that the parts want. */
static bool columns_fit(const struct what_engine *w)
{
	size_t at = 0;
	vec_for_each (&w->parts, p)
		for (u32 i = 0; i < p->nr_cells; i++, at++)
			if (at >= w->series.columns.nr ||
			    strcmp(w->series.columns.at[at].part.group, p->group->name) ||
			    strcmp(w->series.columns.at[at].part.row, p->row))
				return false;
	return w->generation &&
	       at + (w->events ? what_events_nr(w->events) : 0) == w->series.columns.nr;
}

int what_columns_made(struct what_engine *w)
{
	size_t nr = max(w->series.columns.nr, (size_t)1);
	free(w->sums);
	free(w->row);
	w->sums = calloc(nr, sizeof(*w->sums));
	w->row = calloc(nr, sizeof(*w->row));
	w->sum_seconds = 0;
	w->generation++;
	return w->sums && w->row ? 0 : -ENOMEM;
}

static int make_series(struct what_engine *w)
{
	series_done(&w->series);
	series_init(&w->series, w->max_rows, SERIES_KEEP_LAST);
	int err = 0;
	vec_for_each (&w->parts, p)
		if (!err)
			err = add_columns(w, p);
	if (!err)
		err = add_event_columns(w);
	return err ? err : what_columns_made(w);
}

static int make_parts(struct what_engine *w)
{
	forget_parts(w);
	vec_for_each (&w->chosen, c) {
		int err = add_chosen(w, c);
		if (err)
			return err;
	}
	return columns_fit(w) ? 0 : make_series(w);
}

/* ---- values ---- */

static const struct counter_item *item_of(const struct what_engine *w, const struct what_term *t)
{
	return &w->files.at[t->file].file.items.at[t->item];
}

/* Items that are new, or began anew, are left out; NAN: no other is there. */
static double growth(const struct what_engine *w, u32 first, u32 nr, bool since_boot,
		     bool may_step_back)
{
	double sum = 0;
	bool known = false;
	for (u32 i = first; i < first + nr; i++) {
		const struct what_term *t = &w->terms.at[i];
		const struct counter_item *item = item_of(w, t);
		u64 change = item->value;
		if (!since_boot && !counter_item_change(item, &change)) {
			if (!may_step_back || !item->has_before)
				continue;
			change = 0;
		}
		sum += t->sign * (double)change;
		known = true;
	}
	return known ? max(sum, 0.0) : NAN;
}

static double state(const struct what_engine *w, const struct what_cell *c)
{
	double sum = 0, most = 0;
	for (u32 i = c->terms; i < c->terms + c->nr_terms; i++) {
		double v = counter_item_number(item_of(w, &w->terms.at[i]));
		sum += w->terms.at[i].sign * v;
		most = i == c->terms ? v : max(most, v);
	}
	if (!c->nr_terms)
		return NAN;
	switch (c->column->total) {
	case WHAT_MOST: return most;
	case WHAT_MEAN: return sum / c->nr_terms;
	case WHAT_SUM: break;
	}
	return max(sum, 0.0);
}

static double scale_of(const struct what_column *c)
{
	if (c->scale < 0)
		return (double)sysconf(_SC_PAGESIZE) / -c->scale;
	return c->scale > 0 ? c->scale : 1;
}

static double value_of(const struct what_engine *w, const struct what_cell *c)
{
	const struct what_column *column = c->column;
	bool parts = column->how == WHAT_SHARE || column->how == WHAT_RATIO;
	if (column->how == WHAT_GAUGE)
		return state(w, c) * scale_of(column);
	double of = growth(w, c->terms, c->nr_terms, w->since_boot, parts);
	if (!parts)
		return w->seconds > 0 ? of * scale_of(column) / w->seconds : NAN;
	double per = growth(w, c->per, c->nr_per, w->since_boot, true);
	if (isnan(of) || isnan(per))
		return NAN;
	if (per <= 0)
		return 0;
	return column->how == WHAT_SHARE ? 100 * of / per : of / per * scale_of(column);
}

int what_put_row(struct what_engine *w, u64 wall_ns, const double *values)
{
	union series_value *v;
	/* The wall clock may be set back. */
	if (w->series.nr_rows)
		wall_ns = max(wall_ns, series_time(&w->series, w->series.nr_rows - 1) + 1);
	int err = series_row(&w->series, wall_ns, &v);
	if (err)
		return err;
	for (size_t i = 0; i < w->series.columns.nr; i++) {
		v[i].number = values[i];
		if (!w->since_boot && !isnan(values[i]))
			w->sums[i] += values[i] * w->seconds;
	}
	w->sum_seconds += w->since_boot ? 0 : w->seconds;
	return 0;
}

static int add_row(struct what_engine *w)
{
	size_t at = 0;
	vec_for_each (&w->cells, c)
		w->row[at++] = value_of(w, c);
	for (size_t i = 0; w->events && i < what_events_nr(w->events); i++)
		w->row[at++] = w->since_boot || w->seconds <= 0
				       ? NAN
				       : what_event_change(w->events, i) / w->seconds;
	return what_put_row(w, clock_ns(CLOCK_REALTIME), w->row);
}

int what_read(struct what_engine *w)
{
	int others = list_rows(w);
	int err = others > 0 ? change_files(w) : others;
	if (err)
		return err;
	u64 now = clock_monotonic_ns();
	bool changed = read_files(w) || others;
	if (w->events)
		what_events_read(w->events);
	w->seconds = (double)(now - w->read_ns) / (double)NS_PER_SEC;
	w->read_ns = now;
	w->since_boot = false;
	err = changed ? make_parts(w) : 0;
	return err ? err : add_row(w);
}

int what_read_since_boot(struct what_engine *w)
{
	struct counter_file uptime;
	int err = counter_file_open(&uptime, w->root, "proc/uptime");
	if (err)
		return err;
	err = counter_file_read(&uptime);
	w->seconds = !err && uptime.items.nr ? counter_item_number(&uptime.items.at[0]) : 0;
	counter_file_close(&uptime);
	w->since_boot = true;
	return add_row(w);
}

/* Protocols that are not loaded; what a cgroup has only where a controller is enabled for it. */
static bool may_be_missing(const struct what_file *f)
{
	return str_starts(f->file.path, "proc/net/") ||
	       (f->err == -ENOENT && str_starts(f->file.path, "sys/fs/cgroup/"));
}

static void warn_unreadable(const struct what_engine *w, struct diag *d)
{
	vec_for_each (&w->chosen, c) {
		if (c->group->list && !c->listed.list.nr)
			diag_warn(d, "%s", c->group->none);
		if (c->listed.cut)
			diag_warn(d, "%s: only the first %d are shown", c->group->name,
				  WHAT_ROWS_MAX);
	}
	vec_for_each (&w->files, f)
		if (f->err == -EOPNOTSUPP)
			diag_warn(d, "'/%s': %s: not supported by device", f->file.path,
				  f->file.format->about);
		else if (f->err && !may_be_missing(f) && f->err != -ENOMEM)
			diag_warn(d, "cannot read '/%s': %s", f->file.path, strerror(-f->err));
}

/* Something there must be to show, if only that a device has nothing to say. */
static int check_readable(const struct what_engine *w, struct diag *d)
{
	size_t readable = w->events ? what_events_nr(w->events) : 0;
	vec_for_each (&w->files, f)
		readable += !f->err || f->err == -EOPNOTSUPP;
	if (readable || !w->chosen.nr)
		return 0;
	if (!w->files.nr)
		return diag_error(d, -ENOENT, "%s", w->chosen.at[0].group->none);
	const struct what_file *first = &w->files.at[0];
	diag_error(d, first->err, "no counters can be read: '/%s': %s", first->file.path,
		   strerror(-first->err));
	if (str_starts(first->file.path, "proc/"))
		diag_hint(d, "is /proc mounted?");
	return first->err;
}

int what_start(struct what_engine *w, struct diag *d)
{
	int err = list_rows(w);
	if (err >= 0)
		err = open_files(w);
	if (err)
		return err;
	w->read_ns = clock_monotonic_ns();
	(void)read_files(w);
	if (w->events)
		what_events_read(w->events);
	err = check_readable(w, d);
	if (err)
		return err;
	warn_unreadable(w, d);
	return make_parts(w);
}

void what_growth(const struct what_engine *w, size_t column, double *of, double *per)
{
	*per = NAN;
	if (column >= w->cells.nr) {
		*of = what_event_change(w->events, column - w->cells.nr);
		return;
	}
	const struct what_cell *c = &w->cells.at[column];
	bool parts = c->column->how == WHAT_SHARE || c->column->how == WHAT_RATIO;
	*of = c->column->how == WHAT_GAUGE ? state(w, c)
					   : growth(w, c->terms, c->nr_terms, false, parts);
	if (parts)
		*per = growth(w, c->per, c->nr_per, false, true);
}

double what_scale(const struct what_engine *w, size_t column)
{
	const struct what_column *c = what_column_at(w, column);
	return c ? scale_of(c) : 1;
}

double what_average(const struct what_engine *w, size_t column)
{
	return w->sum_seconds > 0 ? w->sums[column] / w->sum_seconds : NAN;
}

const struct what_column *what_column_at(const struct what_engine *w, size_t column)
{
	return column < w->cells.nr ? w->cells.at[column].column : NULL;
}

double what_total(const struct what_engine *w, size_t column)
{
	if (column >= w->cells.nr)
		return w->events ? what_event_total(w->events, column - w->cells.nr) : NAN;
	const struct what_cell *c = &w->cells.at[column];
	if (c->column->how != WHAT_RATE || !c->column->unit->total)
		return NAN;
	return growth(w, c->terms, c->nr_terms, true, false) * scale_of(c->column);
}
