/* Each side becomes a list of facts, sorted by key; the two lists are merged. */
#include "memory/kdiff.h"

#include "base/printable.h"
#include "memory/kmachine.h"
#include "memory/kmodules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fact {
	u64 number; /* the key, together with name */
	const char *name, *value; /* the kspace's */
};

struct facts {
	struct kspace *k;
	VEC(struct fact) list;
};

static int add_fact(struct facts *f, u64 number, const char *name, const char *value)
{
	struct fact *slot = vec_push(&f->list);
	if (!slot)
		return -ENOMEM;
	*slot = (struct fact){ number, arena_strdup(&f->k->arena, name),
			       arena_strdup(&f->k->arena, value) };
	return slot->name && slot->value ? 0 : -ENOMEM;
}

static int compare_keys(const struct fact *x, const struct fact *y)
{
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare_facts(const void *a, const void *b)
{
	return compare_keys(a, b);
}

static void sort_facts(struct facts *f)
{
	if (f->list.nr)
		qsort(f->list.at, f->list.nr, sizeof(*f->list.at), compare_facts);
}

/* Both sorted. */
static int merge(const struct kdiff *d, enum kdiff_part part, const struct facts *before,
		 const struct facts *after)
{
	size_t a = 0, b = 0;
	int err = 0;
	while (!err && (a < before->list.nr || b < after->list.nr)) {
		const struct fact *x = a < before->list.nr ? &before->list.at[a] : NULL;
		const struct fact *y = b < after->list.nr ? &after->list.at[b] : NULL;
		int order = !x ? 1 : !y ? -1 : compare_keys(x, y);
		a += order <= 0;
		b += order >= 0;
		const struct kdiff_row row = { part, order <= 0 ? x->name : y->name,
					       order <= 0 ? x->value : NULL,
					       order >= 0 ? y->value : NULL };
		if (order || strcmp(x->value, y->value) != 0)
			err = d->fn(d->ctx, &row);
	}
	return err;
}

typedef int (*gather_fn)(struct facts *f, void *ctx);

static int compare_sides(const struct kdiff *d, enum kdiff_part part, gather_fn gather, void *ctx)
{
	struct facts before = { .k = d->before }, after = { .k = d->after };
	int err = gather(&before, ctx);
	if (!err)
		err = gather(&after, ctx);
	if (!err)
		err = merge(d, part, &before, &after);
	vec_free(&before.list);
	vec_free(&after.list);
	return err;
}

/* ---- the parts ------------------------------------------------------------------------------------------------------------- */

static int gather_system(struct facts *f, void *ctx)
{
	struct kmachine m;
	char text[32];
	(void)ctx;
	int err = kmachine_read(f->k, &m);
	const struct {
		const char *name, *value;
	} words[] = { { "nodename", m.node },
		      { "release", m.release },
		      { "version", m.version },
		      { "machine", m.machine } };
	u64 n = 0;
	for (; !err && n < ARRAY_SIZE(words); n++)
		err = add_fact(f, n, words[n].name, words[n].value);
	(void)snprintf(text, sizeof(text), "%u", m.cpus);
	if (!err)
		err = add_fact(f, n++, "cpus", text);
	(void)snprintf(text, sizeof(text), "%llu MB", (unsigned long long)(m.bytes >> 20));
	if (!err)
		err = add_fact(f, n++, "memory", text);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)m.tasks);
	if (!err)
		err = add_fact(f, n++, "tasks", text);
	(void)snprintf(text, sizeof(text), "%llu s", (unsigned long long)m.uptime_s);
	if (!err && m.uptime_s)
		err = add_fact(f, n, "uptime", text);
	return err;
}

int kdiff_system(const struct kdiff *d)
{
	return compare_sides(d, KDIFF_SYSTEM, gather_system, NULL);
}

static int add_module(void *ctx, const struct kmodule *m)
{
	char text[32];
	(void)snprintf(text, sizeof(text), "%llu bytes", (unsigned long long)m->size);
	return add_fact(ctx, 0, m->name, text);
}

/* A list that changed while it was read is compared as far as it was read. */
static int gather_modules(struct facts *f, void *ctx)
{
	struct walk_result end;
	(void)ctx;
	int err = kmodules_each(f->k, add_module, f, &end);
	sort_facts(f);
	return err;
}

int kdiff_modules(const struct kdiff *d)
{
	return compare_sides(d, KDIFF_MODULES, gather_modules, NULL);
}

static int add_task(void *ctx, const struct ktask *t)
{
	struct strbuf text;
	char name[24];
	strbuf_init(&text);
	strbuf_char(&text, '"');
	printable_name(&text, t->comm);
	strbuf_printf(&text, "\" %s", ktask_state(t));
	(void)snprintf(name, sizeof(name), "PID %u", t->pid);
	/* There is a task 0 for each CPU; the first one will do. */
	int err = t->pid ? add_fact(ctx, t->pid, name, strbuf_cstr(&text)) : 0;
	strbuf_done(&text);
	return err;
}

static int gather_tasks(struct facts *f, void *ctx)
{
	struct ktasks tasks;
	struct walk_result end;
	(void)ctx;
	int err = ktasks_open(&tasks, f->k);
	if (!err)
		err = ktasks_each(&tasks, add_task, f, &end);
	sort_facts(f);
	return err;
}

int kdiff_tasks(const struct kdiff *d)
{
	return compare_sides(d, KDIFF_TASKS, gather_tasks, NULL);
}

struct expression {
	const char *text;
	const struct print_opts *print;
};

/* "  name = value," of a struct: a fact for each line, by its number and what is before the equals sign. */
static int add_line(struct facts *f, u64 number, const struct expression *e, char *line)
{
	char *equals = strstr(line, " = ");
	line += strspn(line, " ");
	size_t len = strlen(line);
	if (len && line[len - 1] == ',')
		line[len - 1] = '\0';
	if (!equals)
		return add_fact(f, number, e->text, line);
	*equals = '\0';
	return add_fact(f, number, line, equals + 3);
}

static int gather_value(struct facts *f, void *ctx)
{
	const struct expression *e = ctx;
	struct kvalue v;
	struct strbuf s;
	u64 number = 0;
	strbuf_init(&s);
	int err = eval_text(f->k, e->text, &v);
	if (!err)
		err = print_value(f->k, &v, e->print, &s);
	if (!err && !s.data)
		err = -ENOMEM;
	if (!err && !strchr(strbuf_cstr(&s), '\n')) {
		err = add_fact(f, 0, e->text, strbuf_cstr(&s));
	} else {
		char *rest = err ? NULL : s.data;
		for (char *line; !err && (line = strsep(&rest, "\n"));)
			err = add_line(f, number++, e, line);
	}
	strbuf_done(&s);
	return err;
}

int kdiff_expression(const struct kdiff *d, const char *text, const struct print_opts *o)
{
	struct expression e = { text, o };
	return compare_sides(d, KDIFF_EXPRESSION, gather_value, &e);
}
