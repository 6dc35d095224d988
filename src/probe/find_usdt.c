#include "probe/find_usdt.h"

#include "base/glob.h"
#include "base/str.h"
#include "event/closest.h"
#include "image/usdt_notes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* sdt_PROVIDER or PROVIDER: perf writes the first. */
static const char *without_prefix(const char *provider)
{
	return provider && str_starts(provider, "sdt_") ? provider + 4 : provider;
}

static bool matches(const struct usdt_note *n, const struct probe_request *r)
{
	const char *provider = without_prefix(r->provider);
	return (!provider || !*provider || glob_match(provider, n->provider)) &&
	       glob_match(r->name, n->name);
}

/* The name of a program's argument: the person's, or as perf numbers them. */
static int add_arg(struct probe_defs *defs, struct probe_def_arg *to, const struct usdt_arg *a,
		   unsigned number, const char *name, const char *type, const char *fetch)
{
	char word[16];
	(void)snprintf(word, sizeof(word), "arg%u", number);
	to->name = arena_strdup(&defs->arena, name ? name : word);
	struct strbuf s;
	strbuf_init(&s);
	bool is_text = type && (!strcmp(type, "string") || !strcmp(type, "ustring"));
	strbuf_printf(&s, "%s%s%s", is_text ? "+0(" : "", fetch, is_text ? ")" : "");
	to->fetch = arena_strdup(&defs->arena, strbuf_cstr(&s));
	strbuf_done(&s);
	(void)snprintf(word, sizeof(word), "%c%u", a->is_signed ? 's' : 'u', a->bytes * 8u);
	to->type = arena_strdup(&defs->arena, type ? type : word);
	return to->name && to->fetch && to->type ? 0 : -ENOMEM;
}

/* All arguments of the note, in order. */
static int all_args(const struct usdt_note *n, u16 machine, struct probe_defs *defs,
		    struct probe_def *def, struct diag *d)
{
	VEC(struct probe_def_arg) args = { 0 };
	struct usdt_arg a;
	struct strbuf fetch;
	int err = 0;
	unsigned number = 0;
	strbuf_init(&fetch);
	for (const char *at = n->args; !err && usdt_next_arg(machine, &at, &a, &fetch);) {
		number++;
		if (a.why_not) {
			diag_warn(d, "%s:%s: argument %u (%.*s) is left out: %s", n->provider,
				  n->name, number, (int)a.len, a.text, a.why_not);
		} else {
			struct probe_def_arg *slot = vec_push(&args);
			err = slot ? add_arg(defs, slot, &a, number, NULL, NULL, strbuf_cstr(&fetch))
				   : -ENOMEM;
		}
		strbuf_reset(&fetch);
	}
	strbuf_done(&fetch);
	struct probe_def_arg *copy =
		arena_array(&defs->arena, args.nr + 1, sizeof(struct probe_def_arg));
	if (!err && !copy)
		err = -ENOMEM;
	if (!err) {
		memcpy(copy, args.at ? args.at : copy, args.nr * sizeof(*copy));
		def->args = copy;
		def->nr_args = (u32)args.nr;
	}
	vec_free(&args);
	return err;
}

/* "$arg2" or "arg2" is the note's second one; 0: the words are something else. */
static unsigned arg_number(const char *text)
{
	unsigned n;
	char end;
	text += *text == '$';
	return sscanf(text, "arg%u%c", &n, &end) == 1 ? n : 0;
}

/* One that a person asked for: an argument of the note, or the kernel's own words. */
static int wanted_arg(const struct usdt_note *n, u16 machine, const struct probe_arg *want,
		      struct probe_defs *defs, struct probe_def_arg *to, struct diag *d)
{
	unsigned number = arg_number(want->text), i = 0;
	struct usdt_arg a;
	struct strbuf fetch;
	if (!number && want->value == PROBE_VALUE_FETCH) {
		*to = (struct probe_def_arg){ .name = want->name,
					      .fetch = want->text,
					      .type = want->type };
		return 0;
	}
	int err = -ENOENT;
	strbuf_init(&fetch);
	for (const char *at = n->args; number && usdt_next_arg(machine, &at, &a, &fetch);
	     strbuf_reset(&fetch)) {
		if (++i != number)
			continue;
		err = a.why_not ? diag_error(d, -EOPNOTSUPP,
					     "argument %u of %s:%s cannot be fetched: %s", number,
					     n->provider, n->name, a.why_not)
				: add_arg(defs, to, &a, number, want->name, want->type,
					  strbuf_cstr(&fetch));
		break;
	}
	strbuf_done(&fetch);
	if (err == -ENOENT) {
		(void)diag_error(d, err, "%s:%s has no argument '%s'", n->provider, n->name,
				 want->text);
		diag_hint(d, "its arguments are: %s", *n->args ? n->args : "none");
	}
	return err;
}

static int wanted_args(const struct usdt_note *n, u16 machine, const struct probe_request *r,
		       struct probe_defs *defs, struct probe_def *def, struct diag *d)
{
	struct probe_def_arg *args = arena_array(&defs->arena, r->nr_args, sizeof(*args));
	int err = args ? 0 : -ENOMEM;
	for (u32 i = 0; i < r->nr_args && !err; i++)
		err = wanted_arg(n, machine, &r->args[i], defs, &args[i], d);
	def->args = args;
	def->nr_args = r->nr_args;
	return err;
}

static int add_place(const struct usdt_note *n, u16 machine, const struct probe_target *t,
		     const struct probe_request *r, struct probe_defs *defs, struct diag *d)
{
	char group[128];
	struct probe_def def = { .letter = 'p', .offset = n->offset, .ref_ctr = n->semaphore };
	(void)snprintf(group, sizeof(group), "sdt_%s", n->provider);
	def.group = arena_strdup(&defs->arena, group);
	def.function = arena_strdup(&defs->arena, n->name);
	def.binary = arena_strdup(&defs->arena, t->path);
	if (!def.group || !def.function || !def.binary)
		return -ENOMEM;
	bool all = !r->nr_args || r->args[0].value == PROBE_VALUE_PARAMS ||
		   r->args[0].value == PROBE_VALUE_VARS;
	int err = all ? all_args(n, machine, defs, &def, d)
		      : wanted_args(n, machine, r, defs, &def, d);
	struct probe_def *slot = err ? NULL : vec_push(&defs->at);
	if (!err && !slot)
		return -ENOMEM;
	if (slot)
		*slot = def;
	return err;
}

static int not_found(const struct usdt_notes *notes, const struct probe_target *t,
		     const struct probe_request *r, struct diag *d)
{
	struct closest c;
	int err = diag_error(d, -ENOENT, "%s has no static probe '%s%s%s'", t->path,
			     r->provider ? r->provider : "", r->provider ? ":" : "", r->name);
	closest_init(&c, r->name, strlen(r->name));
	vec_for_each (&notes->at, n)
		(void)closest_offer(&c, n->name);
	if (!notes->at.nr)
		diag_hint(d, "it has none at all (no .note.stapsdt)");
	else if (c.best)
		diag_hint(d, "did you mean %s?", c.best);
	else
		diag_hint(d, "its probes: sonde probe -x %s -F '%%sdt_*'", t->path);
	return err;
}

int probe_find_usdt(const struct probe_target *target, const struct probe_request *request,
		    struct probe_defs *defs, struct diag *d)
{
	struct elfimg e;
	struct usdt_notes notes;
	size_t before = defs->at.nr;
	if (!target->path)
		return diag_error(d, -EINVAL, "static probes are in files: which one (-x FILE)?");
	int err = elfimg_open(&e, target->path, NULL);
	if (err)
		return diag_error(d, err, "cannot read %s: %s", target->path, strerror(-err));
	err = usdt_notes_read(&e, &notes);
	u16 machine = e.machine;
	elfimg_close(&e);
	if (err)
		return err;
	u32 limit = target->max_probes ? target->max_probes : 128;
	vec_for_each (&notes.at, n) {
		if (err || !matches(n, request))
			continue;
		if (defs->at.nr - before == limit)
			err = diag_error(d, -E2BIG, "more than %u places (%s)", limit,
					 diag_option(d, DIAG_OPT_MAX_PROBES));
		else
			err = add_place(n, machine, target, request, defs, d);
	}
	if (!err && defs->at.nr == before)
		err = not_found(&notes, target, request, d);
	usdt_notes_done(&notes);
	if (err)
		defs->at.nr = before;
	return err;
}
