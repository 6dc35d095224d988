/* inspect identify and search: what an address is, and where a value is. */
#include "cmd/inspect/inspect.h"

#include "base/num.h"
#include "base/printable.h"
#include "memory/identify.h"
#include "memory/search.h"

#include <errno.h>
#include <string.h>

typedef unsigned long long ull;

/* ---- identify -------------------------------------------------------------------------------------------------------------- */

struct identity_text {
	struct inspect *i;
	u64 addr;
	u32 nr;
};

static const char *state_word(enum kslab_state state)
{
	return state == KSLAB_ALLOCATED ? "allocated"
	       : state == KSLAB_FREE	? "free"
					: "allocated, or kept free by a CPU";
}

static void json_identity(struct inspect *i, const struct identity *w)
{
	json_object(&i->j);
	json_put_str(&i->j, "kind", identity_word(w->kind));
	if (w->name[0])
		json_put_str(&i->j, "name", w->name);
	if (w->module[0])
		json_put_str(&i->j, "module", w->module);
	inspect_json_address(i, "start", w->start);
	json_put_u64(&i->j, "offset", w->offset);
	if (w->size)
		json_put_u64(&i->j, "size", w->size);
	if (w->kind == IDENTITY_TASK || w->kind == IDENTITY_STACK)
		json_put_u64(&i->j, "pid", w->pid);
	if (w->kind == IDENTITY_PER_CPU)
		json_put_u64(&i->j, "cpu", w->cpu);
	if (w->kind == IDENTITY_SLAB)
		json_put_str(&i->j, "state", state_word(w->state));
	if (w->page)
		inspect_json_address(i, w->kind == IDENTITY_PAGE ? "page" : "memory", w->page);
	if (w->has_phys)
		inspect_json_address(i, "physical", w->phys);
	json_object_end(&i->j);
}

static void add_offset(struct strbuf *to, u64 offset)
{
	if (offset)
		strbuf_printf(to, "+0x%llx", (ull)offset);
}

static void print_page(struct strbuf *to, const struct identity *w)
{
	if (w->kind == IDENTITY_PAGE)
		strbuf_printf(to, "%llx, struct page %llx", (ull)w->start, (ull)w->page);
	else
		strbuf_printf(to, "%llx, of %llx", (ull)w->start, (ull)w->page);
	if (w->has_phys)
		strbuf_printf(to, ", physical %llx", (ull)w->phys);
}

static void print_named(struct strbuf *to, const struct identity *w)
{
	printable_name(to, w->name);
	if (w->kind == IDENTITY_PER_CPU)
		strbuf_printf(to, ":%u", w->cpu);
	add_offset(to, w->offset);
	if (w->module[0]) {
		strbuf_str(to, " [");
		printable_name(to, w->module);
		strbuf_char(to, ']');
	}
	if (w->kind == IDENTITY_SLAB)
		strbuf_printf(to, ", %llu bytes at %llx, %s", (ull)w->size, (ull)w->start,
			      state_word(w->state));
}

static void print_identity(struct strbuf *to, const struct identity *w)
{
	strbuf_printf(to, "%s: ", identity_word(w->kind));
	switch (w->kind) {
	case IDENTITY_PAGE:
	case IDENTITY_PAGE_STRUCT: print_page(to, w); break;
	case IDENTITY_TASK:
	case IDENTITY_STACK:
		strbuf_printf(to, "PID %u \"", w->pid);
		printable_name(to, w->name);
		strbuf_char(to, '"');
		add_offset(to, w->offset);
		break;
	case IDENTITY_VMALLOC:
		strbuf_printf(to, "%llx-%llx", (ull)w->start, (ull)(w->start + w->size));
		add_offset(to, w->offset);
		if (w->name[0])
			strbuf_printf(to, ", by %s", w->name);
		break;
	default: print_named(to, w);
	}
	strbuf_char(to, '\n');
}

static int each_identity(void *ctx, const struct identity *w)
{
	struct identity_text *t = ctx;
	struct strbuf *to = &t->i->text;
	if (t->i->app->json) {
		json_identity(t->i, w);
	} else {
		/* The address once, the rest below each other. */
		if (t->nr)
			strbuf_fill(to, ' ', 18);
		else
			strbuf_printf(to, "%016llx: ", (ull)t->addr);
		print_identity(to, w);
	}
	t->nr++;
	return 0;
}

static int identify_one(struct inspect *i, const char *text)
{
	struct identity_text t = { .i = i };
	int err = eval_address_text(&i->k, text, &t.addr);
	if (err)
		return err;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "address", t.addr);
		json_key(&i->j, "identities");
		json_array(&i->j);
	}
	err = identify_address(i->identify, t.addr, each_identity, &t);
	if (i->app->json) {
		json_array_end(&i->j);
		json_object_end(&i->j);
	} else if (!err && !t.nr) {
		strbuf_printf(&i->text, "%016llx: (unknown)\n", (ull)t.addr);
	}
	return err;
}

int inspect_identify(struct inspect *i, int argc, char **argv)
{
	if (!argc)
		return inspect_usage(i, "which address?");
	inspect_fresh_symbols(i);
	int err = i->identify ? 0 : identify_open(&i->k, &i->identify);
	for (int n = 0; !err && n < argc; n++)
		err = identify_one(i, argv[n]);
	return err;
}

/* ---- search ---------------------------------------------------------------------------------------------------------------- */

struct search_text {
	struct inspect *i;
	struct memory_search s;
	struct search_end end; /* of all ranges */
	const struct ktask *task; /* whose stack it is */
	bool head_done, too_many;
};

static int print_hit(void *ctx, const struct search_hit *h)
{
	struct search_text *t = ctx;
	struct inspect *i = t->i;
	if (t->end.hits++ == WALK_MAX) {
		t->too_many = true;
		return 1;
	}
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "address", h->addr);
		if (!t->s.text)
			inspect_json_address(i, "value", h->value);
		if (t->task)
			json_put_u64(&i->j, "pid", t->task->pid);
		json_object_end(&i->j);
		return 0;
	}
	if (t->task && !t->head_done) {
		inspect_task_head(i, t->task);
		t->head_done = true;
	}
	strbuf_printf(&i->text, "%llx: ", (ull)h->addr);
	if (t->s.text) {
		printable_name(&i->text, t->s.text);
		size_t len = strnlen(h->after, h->nr_after);
		printable_name_len(&i->text, h->after, len);
	} else {
		strbuf_printf(&i->text, "%0*llx", (int)t->s.bytes * 2, (ull)h->value);
	}
	strbuf_char(&i->text, '\n');
	return 0;
}

static int search_range(void *ctx, u64 start, u64 end)
{
	struct search_text *t = ctx;
	struct search_end r = { 0 };
	t->s.start = start;
	t->s.end = end;
	int err = search_run(&t->i->k, &t->s, print_hit, t, &r);
	t->end.pages += r.pages;
	t->end.unreadable += r.unreadable;
	return err ? err : t->too_many;
}

static int search_stack(void *ctx, const struct ktask *task)
{
	enum { STACK_BYTES = 16384 };
	struct search_text *t = ctx;
	t->task = task;
	t->head_done = false;
	return task->stack ? search_range(t, task->stack, task->stack + STACK_BYTES) : 0;
}

static int search_stacks(struct search_text *t)
{
	int err = inspect_tasks(t->i);
	return err ? err : ktasks_each(&t->i->tasks, search_stack, t, &t->i->walk);
}

/* START and what ends it. */
static int search_between(struct search_text *t)
{
	const struct inspect_opts *o = t->i->o;
	struct kspace *k = &t->i->k;
	u64 start, end, length;
	int err = eval_address_text(k, o->start, &start);
	if (!err && o->end)
		err = eval_address_text(k, o->end, &end);
	if (!err && o->length) {
		err = eval_address_text(k, o->length, &length);
		end = err || length > UINT64_MAX - start ? UINT64_MAX : start + length;
	}
	return err ? err : search_range(t, start, end);
}

static int search_everywhere(struct search_text *t)
{
	const struct inspect_opts *o = t->i->o;
	int err = o->stacks  ? search_stacks(t)
		  : o->start ? search_between(t)
			     : search_memory(&t->i->k, search_range, t);
	if (err < 0)
		return err;
	if (t->too_many)
		diag_warn(&t->i->app->diag, "only the first %d are shown", WALK_MAX);
	if (t->end.unreadable && t->end.unreadable == t->end.pages)
		return diag_error(&t->i->app->diag, -EFAULT, "nothing in the range can be read");
	if (t->end.unreadable)
		diag_warn(&t->i->app->diag, "%llu of %llu pages cannot be read",
			  (ull)t->end.unreadable, (ull)t->end.pages);
	return 0;
}

/* What -s, -e, -l and -t may be together. */
static int check_search(struct inspect *i, int argc)
{
	const struct inspect_opts *o = i->o;
	if (!argc)
		return inspect_usage(i, "which value, or with -c which text?");
	if (o->stacks && (o->start || o->end || o->length))
		return inspect_usage(i, "-t excludes -s, -e and -l");
	if (o->end && o->length)
		return inspect_usage(i, "-e and -l exclude each other");
	if (!o->start != !(o->end || o->length))
		return inspect_usage(i, "a range needs a start (-s) and an end (-e or -l)");
	if (o->as_text && (o->mask || o->words || o->halves))
		return inspect_usage(i, "-c excludes -m, -w and -h");
	if (o->words && o->halves)
		return inspect_usage(i, "-w and -h exclude each other");
	if (i->k.opts.dump && !o->stacks && !o->start)
		return inspect_usage(
			i, "which range of the dump? -s START -l LENGTH, or -t for all stacks");
	return 0;
}

int inspect_search(struct inspect *i, int argc, char **argv)
{
	enum { VALUES_MAX = 64 };
	u64 values[VALUES_MAX];
	const struct inspect_opts *o = i->o;
	struct search_text t = { .i = i };
	int err = check_search(i, argc);
	if (!err && !o->as_text && argc > VALUES_MAX)
		err = inspect_usage(i, "too many values");
	t.s.bytes = o->words ? 4 : o->halves ? 2 : 8;
	t.s.values = values;
	if (!err && o->as_text)
		t.s.text = inspect_join(i, argc, argv);
	for (int n = 0; !err && !o->as_text && n < argc; n++)
		err = eval_address_text(&i->k, argv[n], &values[t.s.nr_values++]);
	if (!err && o->mask)
		err = eval_address_text(&i->k, o->mask, &t.s.ignored);
	return err ? err : search_everywhere(&t);
}
