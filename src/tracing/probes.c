/*
 * -e kprobe:FUNC and its relatives: probes that live as long as the run. What arguments and results are called and how wide they
 * are comes from the kernel's BTF; the definition says it in the kernel's own words ("count=$arg3:u64"), so that the format of the
 * event names the fields and every reader prints them.
 */
#include "base/glob.h"
#include "tracing/setup_impl.h"
#include "event/probe_kernel.h"
#include "image/btf.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROBES_MAX = 256, /* of one pattern */
	EVENT_NAME_MAX = 48, /* the kernel takes 64, and __return comes behind */
	ARG_NAME_MAX = 31,
	REGISTERS = 6, /* arguments that are in registers on every machine */
};

static const struct probe_kind {
	const char *prefix;
	bool entry, result;
	bool fprobe; /* where the kernel has them */
	bool either; /* else a kprobe */
} kinds[] = {
	{ .prefix = "kprobe:", .entry = true },
	{ .prefix = "kretprobe:", .result = true },
	{ .prefix = "fprobe:", .entry = true, .fprobe = true },
	{ .prefix = "fretprobe:", .result = true, .fprobe = true },
	{ .prefix = "call:", .entry = true, .result = true, .fprobe = true, .either = true },
};

struct probes {
	struct ftrace_setup *s;
	char group[80];
	struct strbuf types; /* the bytes of BTF */
	struct btf btf;
	bool has_btf;
	bool has_fprobes;
	struct strbuf module_types;
	struct btf module_btf;
	const char *module; /* whose BTF module_btf is; NULL: none */
	struct {
		VEC(const char *) v;
	} defined; /* events, with the letter of their kind before them: "pvfs_read" */
};

static const struct probe_kind *kind_of(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_starts(text, kinds[i].prefix))
			return &kinds[i];
	return NULL;
}

/* ---- what the kernel has ------------------------------------------------------------------------------------------------- */

static int open_types(struct probes *p)
{
	struct ftrace_setup *s = p->s;
	int err = sysroot_read(&s->root, "sys/kernel/btf/vmlinux", &p->types);
	if (!err)
		err = btf_open_memory(&p->btf, p->types.data, p->types.len, NULL);
	if (err == -ENOMEM)
		return err;
	p->has_btf = !err;
	if (err)
		diag_warn(s->diag,
			  "this kernel does not describe its types (/sys/kernel/btf/vmlinux): "
			  "probes are without arguments and results");
	return 0;
}

static int probes_open(struct probes *p, struct ftrace_setup *s)
{
	struct strbuf readme;
	char *dash;
	*p = (struct probes){ .s = s };
	strbuf_init(&p->types);
	strbuf_init(&p->module_types);
	(void)snprintf(p->group, sizeof(p->group), "sonde_%s",
		       s->dry_run ? "RUN" : journal_name(s->journal));
	while ((dash = strchr(p->group, '-')))
		*dash = '_';
	if (!tracing_has(&s->tracing, "dynamic_events") ||
	    !tracing_has(&s->tracing, "kprobe_events")) {
		int err = diag_error(s->diag, -EOPNOTSUPP, "this kernel has no probes on functions");
		diag_hint(s->diag, "CONFIG_KPROBE_EVENTS=y is what it lacks");
		return err;
	}
	strbuf_init(&readme);
	p->has_fprobes = !tracing_read(&s->tracing, "README", &readme) &&
			 strstr(strbuf_cstr(&readme), "<func-name>[%return]");
	strbuf_done(&readme);
	return open_types(p);
}

static void probes_close(struct probes *p)
{
	btf_close(&p->module_btf);
	btf_close(&p->btf);
	strbuf_done(&p->types);
	strbuf_done(&p->module_types);
	vec_free(&p->defined.v);
}

/* -ENOENT: nothing is known of it. */
static int describe(struct probes *p, const char *module, const char *function,
		    struct btf_function *ret)
{
	char path[PATH_MAX];
	if (!p->has_btf)
		return -ENOENT;
	if (!module)
		return btf_find_function(&p->btf, function, ret);
	if (!p->module || strcmp(p->module, module)) {
		btf_close(&p->module_btf);
		p->module = NULL;
		(void)snprintf(path, sizeof(path), "sys/kernel/btf/%s", module);
		int err = sysroot_read(&p->s->root, path, &p->module_types);
		if (!err)
			err = btf_open_memory(&p->module_btf, p->module_types.data,
					      p->module_types.len, &p->btf);
		if (err)
			return err == -ENOMEM ? err : -ENOENT;
		p->module = module;
	}
	return btf_find_function(&p->module_btf, function, ret);
}

/* ---- definitions ----------------------------------------------------------------------------------------------------------- */

/* " count=$arg3:u64": false when it does not fit into a register, and neither name nor place of those behind it are known. */
static bool add_value(struct strbuf *to, const struct btf_value *v, const char *name,
		      const char *where)
{
	static const char letters[] = {
		[BTF_SIGNED] = 's', [BTF_UNSIGNED] = 'u', [BTF_BOOL] = 'u', [BTF_ENUM] = 's', [BTF_POINTER] = 'x'
	};
	if (v->shape == BTF_OTHER || v->shape == BTF_VOID)
		return false;
	if (v->shape == BTF_STRING)
		strbuf_printf(to, " %s=+0(%s):string", name, where);
	else
		strbuf_printf(to, " %s=%s:%c%u", name, where, letters[v->shape], v->bytes * 8);
	return true;
}

/* What the kernel takes for a name of a field. */
static bool usable_name(const char *name)
{
	size_t len = strlen(name);
	return len && len <= ARG_NAME_MAX && !isdigit((unsigned char)*name) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
		       len &&
	       !str_starts(name, "common_") && !str_starts(name, "__probe_");
}

static void add_values(struct strbuf *to, const struct btf_function *f, bool result)
{
	char name[ARG_NAME_MAX + 1], where[16];
	if (result) {
		(void)add_value(to, &f->result, "ret", "$retval");
		return;
	}
	for (u32 i = 0; i < f->nr_args && i < REGISTERS; i++) {
		(void)snprintf(where, sizeof(where), "$arg%u", i + 1);
		(void)snprintf(name, sizeof(name), "%s",
			       usable_name(f->args[i].name) ? f->args[i].name : where + 1);
		if (!add_value(to, &f->args[i], name, where))
			return;
	}
}

/* "p:GROUP/EVENT FUNC args". *event: its name. */
static int define(struct probes *p, const char *module, const char *function, bool fprobe,
		  bool result, const char **event)
{
	struct ftrace_setup *s = p->s;
	struct btf_function f;
	struct strbuf line;
	char name[96], undo[200], kind = fprobe ? 'f' : 'p';
	(void)snprintf(name, sizeof(name), "%c%.*s%s", kind, EVENT_NAME_MAX, function,
		       result ? "__return" : "");
	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) ? *c : '_';
	*event = NULL;
	vec_for_each (&p->defined.v, have) {
		if (strcmp(*have + 1, name + 1))
			continue;
		if (**have != kind)
			return diag_error(s->diag, -EINVAL,
					  "a kprobe and an fprobe of '%s' in one run", function);
		*event = *have + 1;
		return 0;
	}
	const char *copy = arena_strdup(&s->arena, name);
	if (!copy)
		return -ENOMEM;
	strbuf_init(&line);
	strbuf_printf(&line, "%c:%s/%s %s%s%s%s",
		      fprobe   ? 'f'
		      : result ? 'r'
			       : 'p',
		      p->group, copy + 1, module && !fprobe ? module : "",
		      module && !fprobe ? ":" : "", function, fprobe && result ? "%return" : "");
	int err = describe(p, module, function, &f);
	if (!err)
		add_values(&line, &f, result);
	else if (err == -ENOENT && p->has_btf)
		diag_warn(s->diag, "nothing is known of the arguments and the result of '%s'",
			  function);
	(void)snprintf(undo, sizeof(undo), "-:%s/%s", p->group, copy + 1);
	if (!err || err == -ENOENT)
		err = line.err ? line.err
			       : journal_add(s->journal, "dynamic_events", strbuf_cstr(&line), undo,
					     s->diag);
	strbuf_done(&line);
	*event = copy + 1;
	return err ? err : ftrace_add_word(&p->defined.v, copy);
}

/* ---- events ---------------------------------------------------------------------------------------------------------------- */

struct chosen {
	const struct probe_kind *kind;
	const struct ftrace_event_opt *from;
	struct ftrace_buffer_opt *to; /* gets the events */
	const char *module;
	const char *behind; /* "/FILTER/+TRIGGER", or "" */
	bool fprobe;
};

static int add_event(struct probes *p, const struct chosen *c, const char *function, bool result)
{
	const char *event;
	int err = define(p, c->module, function, c->fprobe, result, &event);
	struct ftrace_event_opt *e = err ? NULL : vec_push(&c->to->events);
	if (!e)
		return err ? err : -ENOMEM;
	struct strbuf text;
	strbuf_init(&text);
	/* Filters and triggers of call: are about arguments. */
	bool bare = result && c->kind->entry;
	strbuf_printf(&text, "%s:%s%s", p->group, event, bare ? "" : c->behind);
	*e = (struct ftrace_event_opt){ .text = arena_strdup(&p->s->arena, strbuf_cstr(&text)),
					.filter = bare ? NULL : c->from->filter,
					.off = c->from->off,
					.probe = true };
	strbuf_done(&text);
	for (size_t i = 0; i < c->from->triggers.nr && !bare; i++)
		if (ftrace_add_word(&e->triggers, c->from->triggers.at[i]))
			return -ENOMEM;
	return e->text ? 0 : -ENOMEM;
}

static int add_function(struct probes *p, const struct chosen *c, const char *function)
{
	int err = c->kind->entry ? add_event(p, c, function, false) : 0;
	return err || !c->kind->result ? err : add_event(p, c, function, true);
}

static int check_kernel(struct probes *p, const struct chosen *c, const char *function)
{
	struct diag *d = p->s->diag;
	struct probe_kernel look;
	probe_kernel_look("", c->module, function, &look);
	if (look.unknown || (look.there && !look.refused))
		return 0;
	if (look.refused)
		return diag_error(d, -EOPNOTSUPP, "the kernel lets nobody probe '%s'", function);
	int err = diag_error(d, -ENOENT, "this kernel has no function '%s'%s%s", function,
			     c->module ? " in module " : "", c->module ? c->module : "");
	if (look.close[0])
		diag_hint(d, "did you mean %s?", look.close);
	return err;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names {
	VEC(const char *) list;
};

static int find_functions(struct probes *p, const struct chosen *c, const char *glob,
			  struct names *ret)
{
	struct ftrace_setup *s = p->s;
	char name[256], module[128];
	int err = ftrace_load_functions(s);
	for (const char *q = err ? "" : strbuf_cstr(&s->functions); *q && !err;) {
		size_t line = strcspn(q, "\n"), word = strcspn(q, " \t\n");
		const char *bracket = memchr(q, '[', line);
		(void)snprintf(module, sizeof(module), "%.*s",
			       bracket ? (int)strcspn(bracket + 1, "]\n") : 0,
			       bracket ? bracket + 1 : "");
		(void)snprintf(name, sizeof(name), "%.*s", (int)min(word, sizeof(name) - 1), q);
		if (!strcmp(module, c->module ? c->module : "") && glob_match(glob, name) &&
		    !str_starts(name, "__ftrace_invalid_address_")) {
			const char *copy = arena_strdup(&s->arena, name);
			err = copy ? ftrace_add_word(&ret->list, copy) : -ENOMEM;
		}
		q += line + (q[line] == '\n');
	}
	if (ret->list.nr)
		qsort(ret->list.at, ret->list.nr, sizeof(*ret->list.at), by_text);
	return err;
}

/* Every function that fits; names that several functions have are left out: the kernel would not know which is meant. */
static int add_pattern(struct probes *p, const struct chosen *c, const char *glob)
{
	struct diag *d = p->s->diag;
	struct names all = { 0 };
	int err = find_functions(p, c, glob, &all);
	if (!err && !all.list.nr)
		err = diag_error(d, -ENOENT, "no function '%s' can be probed here%s%s", glob,
				 c->module ? " in module " : "", c->module ? c->module : "");
	if (!err && all.list.nr > PROBES_MAX)
		err = diag_error(d, -E2BIG, "'%s' fits %zu functions, more than %d", glob,
				 all.list.nr, PROBES_MAX);
	for (size_t i = 0, same; i < all.list.nr && !err; i += same) {
		for (same = 1;
		     i + same < all.list.nr && !strcmp(all.list.at[i], all.list.at[i + same]);)
			same++;
		if (same == 1)
			err = add_function(p, c, all.list.at[i]);
		else
			diag_warn(d, "there are %zu functions '%s': they are left out", same,
				  all.list.at[i]);
	}
	vec_free(&all.list);
	return err;
}

/* "kprobe:[MODULE:]FUNC[/FILTER/][+TRIGGER]" */
static int add_probe(struct probes *p, struct ftrace_buffer_opt *to,
		     const struct ftrace_event_opt *e, const struct probe_kind *kind)
{
	struct ftrace_setup *s = p->s;
	const char *text = e->text + strlen(kind->prefix);
	size_t len = strcspn(text, "/+");
	char *function = arena_strndup(&s->arena, text, len);
	if (!function)
		return -ENOMEM;
	struct chosen c = { .kind = kind,
			    .from = e,
			    .to = to,
			    .behind = text + len,
			    .fprobe = kind->fprobe && (p->has_fprobes || !kind->either) };
	char *colon = strchr(function, ':');
	if (colon) {
		*colon = 0;
		c.module = function;
		function = colon + 1;
	}
	if (!*function)
		return diag_error(s->diag, -EINVAL, "'-e %s': which function?", e->text);
	if (c.fprobe && !p->has_fprobes) {
		int err = diag_error(s->diag, -EOPNOTSUPP, "this kernel has no fprobe events");
		diag_hint(s->diag, "they came with 6.5; kprobe:%s does nearly the same", function);
		return err;
	}
	if (strpbrk(function, "*?["))
		return add_pattern(p, &c, function);
	int err = check_kernel(p, &c, function);
	return err ? err : add_function(p, &c, function);
}

static int define_for(struct probes *p, struct ftrace_buffer_opt *b)
{
	struct ftrace_buffer_opt with = { 0 };
	int err = 0;
	for (size_t i = 0; i < b->events.nr && !err; i++) {
		struct ftrace_event_opt *e = &b->events.at[i];
		const struct probe_kind *kind = kind_of(e->text);
		if (kind) {
			err = add_probe(p, &with, e, kind);
			vec_free(&e->triggers);
			continue;
		}
		struct ftrace_event_opt *same = vec_push(&with.events);
		if (!same)
			return -ENOMEM;
		*same = *e;
		e->triggers = (typeof(e->triggers)){ 0 };
	}
	vec_free(&b->events);
	b->events = (typeof(b->events)){ .at = with.events.at,
					 .nr = with.events.nr,
					 .cap = with.events.cap };
	return err;
}

int ftrace_define_probes(struct ftrace_setup *s, bool private)
{
	struct probes p;
	bool any = false;
	vec_for_each (&s->buffers, b)
		vec_for_each (&b->events, e)
			any |= kind_of(e->text) != NULL;
	if (!any)
		return 0;
	if (!private)
		return diag_error(s->diag, -EINVAL,
				  "probes on functions live as long as a run: only record and "
				  "stream have them");
	int err = probes_open(&p, s);
	for (size_t i = 0; i < s->buffers.nr && !err; i++)
		err = define_for(&p, &s->buffers.at[i]);
	probes_close(&p);
	return err;
}
