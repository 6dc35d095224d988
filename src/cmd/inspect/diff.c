/* inspect -d A --diff B: what differs between two kernels. */
#include "cmd/inspect/inspect.h"

#include "base/printable.h"
#include "memory/kdiff.h"

#include <errno.h>
#include <string.h>

static const char *const parts[] = { "system", "modules", "tasks", "expression" };

struct diff_text {
	struct inspect *i;
	const char *after; /* NULL: the running kernel */
	int last; /* part whose head was printed; -1: none */
	u64 nr;
};

static void print_line(struct inspect *i, char sign, const char *name, const char *value)
{
	strbuf_printf(&i->text, "%c ", sign);
	printable_name(&i->text, name);
	strbuf_str(&i->text, ": ");
	printable_name(&i->text, value);
	strbuf_char(&i->text, '\n');
}

static const char *side_name(const char *dump)
{
	return dump ? dump : "the running kernel";
}

static void print_sides(struct diff_text *t)
{
	struct strbuf *to = &t->i->text;
	strbuf_str(to, "--- ");
	printable_name(to, side_name(t->i->o->dump));
	strbuf_str(to, "\n+++ ");
	printable_name(to, side_name(t->after));
	strbuf_char(to, '\n');
}

static int print_row(void *ctx, const struct kdiff_row *row)
{
	struct diff_text *t = ctx;
	struct inspect *i = t->i;
	if (!t->nr++ && !i->app->json)
		print_sides(t);
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "part", parts[row->part]);
		json_put_str(&i->j, "name", row->name);
		json_put_str(&i->j, "before", row->before);
		json_put_str(&i->j, "after", row->after);
		json_object_end(&i->j);
		return 0;
	}
	if (t->last != (int)row->part)
		strbuf_printf(&i->text, "@@ %s\n", parts[row->part]);
	t->last = (int)row->part;
	if (row->before)
		print_line(i, '-', row->name, row->before);
	if (row->after)
		print_line(i, '+', row->name, row->after);
	return 0;
}

/* The list of modules is a variable: symbol lists with functions only lack it. */
static int diff_modules(struct inspect *i, const struct kdiff *d)
{
	struct ksym sym;
	const struct kspace *const sides[] = { d->before, d->after };
	for (size_t n = 0; n < ARRAY_SIZE(sides); n++)
		if (!ksyms_find(&sides[n]->syms, "modules", &sym)) {
			diag_warn(&i->app->diag,
				  "modules are not compared: %s has no symbol 'modules'",
				  side_name(sides[n]->opts.dump));
			return 0;
		}
	return kdiff_modules(d);
}

static int diff_all(struct inspect *i, struct kdiff *d)
{
	const struct ksyms *s;
	int err = kspace_syms(d->before, &s);
	if (!err)
		err = kspace_syms(d->after, &s);
	if (!err)
		err = kdiff_system(d);
	if (!err)
		err = diff_modules(i, d);
	return err ? err : kdiff_tasks(d);
}

int inspect_diff(struct inspect *i, int argc, char **argv)
{
	struct diff_text t = { .i = i, .last = -1 };
	struct kspace other;
	const char *text = argc ? inspect_join(i, argc, argv) : NULL;
	struct kspace_opts o = i->k.opts;
	o.dump = strcmp(i->o->diff, "live") != 0 ? i->o->diff : NULL;
	if (!o.dump && !i->o->dump)
		return inspect_usage(i, "--diff live needs a dump to compare with: -d FILE");
	if (argc && !text)
		return -ENOMEM;
	t.after = o.dump;
	kspace_init(&other, &o, &i->app->diag);
	struct kdiff d = { .before = &i->k, .after = &other, .fn = print_row, .ctx = &t };
	int err = text ? kdiff_expression(&d, text, &i->print) : diff_all(i, &d);
	if (!err && !t.nr && !i->app->json)
		strbuf_str(&i->text, "no differences\n");
	kspace_done(&other);
	return err;
}
