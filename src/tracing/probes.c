/*
 * Probes that live as long as the run. What arguments and results are called and how wide they
 * are comes from the kernel's BTF; the definition says it in the kernel's own words ("count=$arg3:u64"), so that the format of the
 * event names the fields and every reader prints them.
 */
#include "base/glob.h"
#include "tracing/setup_impl.h"
#include "image/btf.h"
#include "probe/kernel.h"
#include "probe/point.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROBES_MAX = 256, /* of one pattern */
	EVENT_NAME_MAX = 48, /* the kernel takes 64, and __return comes after */
	ARG_NAME_MAX = 31,
	REGISTERS = 6, /* arguments that are in registers on every machine */
};

struct defined {
	const char *event;
	const char *at; /* "p vfs_read": the letter of the kind, and where it is */
};

struct probes {
	struct ftrace_setup *s;
	char group[80];
	const char *group_name; /* the same, as long as the session */
	struct strbuf types; /* the bytes of BTF */
	struct btf btf;
	bool has_btf;
	bool has_fprobes;
	struct strbuf module_types;
	struct btf module_btf;
	const char *module; /* whose BTF module_btf is; NULL: none */
	VEC(struct defined) defined;
	struct probe_defs points; /* with lines or arguments of their own, in a group of their own */
	const char *point_group;
};

static bool is_fprobe(enum event_kind kind)
{
	return kind == EVENT_KIND_FPROBE || kind == EVENT_KIND_FRETPROBE;
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
			  "this kernel has no BTF type information (/sys/kernel/btf/vmlinux): "
			  "probes have no arguments or return values");
	return 0;
}

static int need_file(struct ftrace_setup *s, const char *file, const char *what, const char *option)
{
	if (tracing_has(&s->tracing, "dynamic_events") && tracing_has(&s->tracing, file))
		return 0;
	int err = diag_error(s->diag, -EOPNOTSUPP, "this kernel has no %s", what);
	diag_hint(s->diag, "it was built without CONFIG_%s_EVENTS=y", option);
	return err;
}

static int probes_open(struct probes *p, struct ftrace_setup *s, bool kernel, bool user)
{
	struct strbuf readme;
	char *dash;
	*p = (struct probes){ .s = s };
	strbuf_init(&p->types);
	strbuf_init(&p->module_types);
	probe_defs_init(&p->points);
	(void)snprintf(p->group, sizeof(p->group), "sonde_%s",
		       s->dry_run ? "RUN" : journal_name(s->journal));
	while ((dash = strchr(p->group, '-')))
		*dash = '_';
	p->group_name = arena_strdup(&s->arena, p->group);
	char points[sizeof(p->group) + 8];
	(void)snprintf(points, sizeof(points), "%s_p", p->group);
	p->point_group = arena_strdup(&s->arena, points);
	if (!p->group_name || !p->point_group)
		return -ENOMEM;
	int err = kernel ? need_file(s, "kprobe_events", "probes on functions", "KPROBE") : 0;
	if (!err && user)
		err = need_file(s, "uprobe_events", "probes on programs", "UPROBE");
	if (err || !kernel)
		return err;
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
	vec_free(&p->defined);
	probe_defs_done(&p->points);
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
		(void)!str_path(path, sizeof(path), "sys/kernel/btf/%s", module);
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

/* " count=$arg3:u64": false when it does not fit into a register, and neither name nor place of those after it are known. */
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

static const struct defined *find_defined(const struct probes *p, const char *event, const char *at)
{
	vec_for_each (&p->defined, d)
		if ((event && !strcmp(d->event, event)) || (at && !strcmp(d->at, at)))
			return d;
	return NULL;
}

/* The name of the event of a probe at this place. *taken: there is one already. */
static int name_event(struct probes *p, const char *function, bool result, const char *at,
		      const char **ret, bool *taken)
{
	char name[96];
	const struct defined *same = find_defined(p, NULL, at);
	*taken = same != NULL;
	if (same) {
		*ret = same->event;
		return 0;
	}
	/* A name does not begin with a digit, as an address does. Others of the name get a number. */
	for (unsigned n = 1; n == 1 || find_defined(p, name, NULL); n++) {
		int len = snprintf(name, sizeof(name), "%s%.*s%s",
				   isdigit((unsigned char)*function) ? "at_" : "", EVENT_NAME_MAX,
				   function, result ? "__return" : "");
		if (n > 1)
			(void)snprintf(name + len, sizeof(name) - (size_t)len, "_%u", n);
		for (char *c = name; *c; c++)
			*c = isalnum((unsigned char)*c) ? *c : '_';
	}
	struct defined *slot = vec_push(&p->defined);
	if (!slot)
		return -ENOMEM;
	slot->event = arena_strdup(&p->s->arena, name);
	slot->at = arena_strdup(&p->s->arena, at);
	*ret = slot->event;
	return slot->event && slot->at ? 0 : -ENOMEM;
}

static int write_definition(struct probes *p, const char *event, const struct strbuf *line)
{
	char undo[200];
	(void)snprintf(undo, sizeof(undo), "-:%s/%s", p->group, event);
	return line->err
		       ? line->err
		       : journal_add(p->s->journal, "dynamic_events", line->data, undo, p->s->diag);
}

/* "p:GROUP/EVENT FUNC args": letter and place are at[0] and at + 2. */
static void begin_line(const struct probes *p, const char *event, const char *at,
		       struct strbuf *line)
{
	strbuf_init(line);
	strbuf_printf(line, "%c:%s/%s %s", *at, p->group, event, at + 2);
}

static int define_kernel(struct probes *p, const struct event_probe *at, const char *function,
			 bool result, const char *event, struct strbuf *line)
{
	struct btf_function f;
	/* In the middle nobody knows where arguments are. */
	int err = at->offset ? 0 : describe(p, at->module, function, &f);
	if (!err && !at->offset)
		add_values(line, &f, result);
	else if (err == -ENOENT && p->has_btf)
		diag_warn(p->s->diag, "arguments and return value of '%s' are unknown", function);
	(void)strbuf_cstr(line);
	return err && err != -ENOENT ? err : write_definition(p, event, line);
}

/* *event: its name. */
static int define(struct probes *p, const struct event_probe *at, const char *function, bool fprobe,
		  bool result, const char **event)
{
	struct strbuf place, line;
	bool taken;
	strbuf_init(&place);
	strbuf_printf(&place, "%c %s%s%s",
		      fprobe   ? 'f'
		      : result ? 'r'
			       : 'p',
		      at->module && !fprobe ? at->module : "", at->module && !fprobe ? ":" : "",
		      function);
	if (at->offset)
		strbuf_printf(&place, "+%llu", (unsigned long long)at->offset);
	strbuf_str(&place, fprobe && result ? "%return" : "");
	int err = name_event(p, function, result, strbuf_cstr(&place), event, &taken);
	if (!err && !taken) {
		begin_line(p, *event, strbuf_cstr(&place), &line);
		err = define_kernel(p, at, function, result, *event, &line);
		strbuf_done(&line);
	}
	strbuf_done(&place);
	return err;
}

/* "p:GROUP/EVENT FILE:0xOFFSET(0xCOUNTER)" */
static int define_user(struct probes *p, const struct event_probe *at, const char **event)
{
	struct strbuf place, line;
	bool taken;
	char *path = realpath(at->binary, NULL);
	if (!path) {
		int err = -errno;
		return diag_error(p->s->diag, err, "cannot probe %s: %s", at->binary,
				  strerror(-err));
	}
	strbuf_init(&place);
	strbuf_printf(&place, "%c %s:0x%llx", at->is_return ? 'r' : 'p', path,
		      (unsigned long long)at->offset);
	if (at->ref_ctr_offset)
		strbuf_printf(&place, "(0x%llx)", (unsigned long long)at->ref_ctr_offset);
	int err = name_event(p, at->symbol, at->is_return, strbuf_cstr(&place), event, &taken);
	if (!err && !taken) {
		begin_line(p, *event, strbuf_cstr(&place), &line);
		(void)strbuf_cstr(&line);
		err = write_definition(p, *event, &line);
		strbuf_done(&line);
	}
	strbuf_done(&place);
	free(path);
	return err;
}

/* ---- events ---------------------------------------------------------------------------------------------------------------- */

struct probes_chosen {
	const struct ftrace_traced *from;
	struct ftrace_buffer_opt *to; /* gets the events */
	bool entry, result, fprobe;
};

static int push_event_of(struct probes *p, const struct probes_chosen *c, const char *system,
			 const char *event, bool bare)
{
	struct ftrace_traced *e = vec_push(&c->to->traced);
	if (!e)
		return -ENOMEM;
	*e = (struct ftrace_traced){ .from = c->from->from,
				     .kind = c->from->kind,
				     .system = system,
				     .name = event,
				     .filter = bare ? NULL : c->from->filter,
				     .off = c->from->off,
				     .defined = true };
	int err = 0;
	for (size_t i = 0; i < c->from->triggers.nr && !bare && !err; i++)
		err = ftrace_add_word(&e->triggers, c->from->triggers.at[i]);
	return err;
}

static int push_event(struct probes *p, const struct probes_chosen *c, const char *event, bool bare)
{
	return push_event_of(p, c, p->group_name, event, bare);
}

static int add_event(struct probes *p, const struct probes_chosen *c, const char *function,
		     bool result)
{
	const char *event;
	int err = define(p, &c->from->probe, function, c->fprobe, result, &event);
	/* Filters and triggers of both are about arguments. */
	return err ? err : push_event(p, c, event, result && c->entry);
}

static int add_function(struct probes *p, const struct probes_chosen *c, const char *function)
{
	int err = c->entry ? add_event(p, c, function, false) : 0;
	return err || !c->result ? err : add_event(p, c, function, true);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct probes_names {
	VEC(const char *) list;
};

static int find_functions(struct probes *p, const struct probes_chosen *c, const char *glob,
			  struct probes_names *ret)
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
		if (!strcmp(module, c->from->probe.module ? c->from->probe.module : "") &&
		    glob_match(glob, name) && !str_starts(name, "__ftrace_invalid_address_")) {
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
static int add_pattern(struct probes *p, const struct probes_chosen *c, const char *glob)
{
	struct diag *d = p->s->diag;
	struct probes_names all = { 0 };
	int err = find_functions(p, c, glob, &all);
	if (!err && !all.list.nr)
		err = diag_error(d, -ENOENT, "function '%s' cannot be probed%s%s", glob,
				 c->from->probe.module ? " in module " : "",
				 c->from->probe.module ? c->from->probe.module : "");
	if (!err && all.list.nr > PROBES_MAX)
		err = diag_error(d, -E2BIG, "'%s' matches %zu functions, more than %d", glob,
				 all.list.nr, PROBES_MAX);
	for (size_t i = 0, same; i < all.list.nr && !err; i += same) {
		for (same = 1;
		     i + same < all.list.nr && !strcmp(all.list.at[i], all.list.at[i + same]);)
			same++;
		if (same == 1)
			err = add_function(p, c, all.list.at[i]);
		else
			diag_warn(d, "there are %zu functions called '%s': skipped", same,
				  all.list.at[i]);
	}
	vec_free(&all.list);
	return err;
}

static int add_kernel(struct probes *p, struct ftrace_buffer_opt *to, const struct ftrace_traced *e)
{
	struct diag *d = p->s->diag;
	const char *function = e->probe.symbol;
	struct probes_chosen c = { .from = e,
				   .to = to,
				   .entry = !e->probe.is_return,
				   .result = e->probe.is_return || e->kind == EVENT_KIND_CALL,
				   .fprobe = is_fprobe(e->kind) ||
					     (e->kind == EVENT_KIND_CALL && p->has_fprobes) };
	if (c.fprobe && !p->has_fprobes) {
		int err = diag_error(d, -EOPNOTSUPP, "this kernel has no fprobe events");
		diag_hint(d, "they need Linux 6.5; %s:%s is nearly the same",
			  event_provider_of(EVENT_KIND_KPROBE)->prefix, function);
		return err;
	}
	return glob_is_pattern(function) ? add_pattern(p, &c, function)
					 : add_function(p, &c, function);
}

static int add_user(struct probes *p, struct ftrace_buffer_opt *to, const struct ftrace_traced *e)
{
	const char *event;
	int err = define_user(p, &e->probe, &event);
	return err ? err
		   : push_event(p, &(struct probes_chosen){ .from = e, .to = to }, event, false);
}

/* Lines and arguments that were written: probe/ knows what they mean. */
static int add_point(struct probes *p, struct ftrace_buffer_opt *to, const struct ftrace_traced *e,
		     const struct event_probe *at, bool bare)
{
	struct ftrace_setup *s = p->s;
	size_t first = p->points.at.nr;
	bool fprobe = is_fprobe(e->kind);
	int err = fprobe && !p->has_fprobes
			  ? diag_error(s->diag, -EOPNOTSUPP, "this kernel has no fprobe events")
			  : probe_point_find(at, fprobe, p->point_group, s->root_path, &p->points,
					     s->diag);
	for (size_t i = first; i < p->points.at.nr && !err; i++) {
		const struct probe_def *def = &p->points.at.at[i];
		const char *event = arena_strdup(&s->arena, def->event);
		err = event ? probe_define(s->journal, &s->tracing, def, s->diag) : -ENOMEM;
		if (!err)
			err = push_event_of(p, &(struct probes_chosen){ .from = e, .to = to },
					    p->point_group, event, bare);
	}
	return err;
}

/* call: is the entry with these arguments, and the return with its value. */
static int add_points(struct probes *p, struct ftrace_buffer_opt *to, const struct ftrace_traced *e)
{
	int err = add_point(p, to, e, &e->probe, false);
	if (err || e->kind != EVENT_KIND_CALL)
		return err;
	struct event_probe back = e->probe;
	struct strbuf text;
	strbuf_init(&text);
	strbuf_printf(&text, "%.*s ret=$retval", (int)strcspn(back.point, " \t"), back.point);
	back.point = strbuf_cstr(&text);
	back.is_return = true;
	err = add_point(p, to, e, &back, true);
	strbuf_done(&text);
	return err;
}

static int define_for(struct probes *p, struct ftrace_buffer_opt *b)
{
	struct ftrace_buffer_opt with = { 0 };
	int err = 0;
	for (size_t i = 0; i < b->traced.nr && !err; i++) {
		struct ftrace_traced *e = &b->traced.at[i];
		if (!e->system) {
			err = e->probe.point	? add_points(p, &with, e)
			      : e->probe.binary ? add_user(p, &with, e)
						: add_kernel(p, &with, e);
			continue;
		}
		struct ftrace_traced *same = vec_push(&with.traced);
		if (!same) {
			err = -ENOMEM;
			break;
		}
		*same = *e;
		e->triggers = (typeof(e->triggers)){ 0 };
	}
	vec_for_each (&b->traced, e)
		vec_free(&e->triggers);
	vec_free(&b->traced);
	b->traced = (typeof(b->traced)){ .at = with.traced.at,
					 .nr = with.traced.nr,
					 .cap = with.traced.cap };
	return err;
}

int ftrace_define_probes(struct ftrace_setup *s)
{
	struct probes p;
	bool kernel = false, user = false;
	vec_for_each (&s->buffers, b)
		vec_for_each (&b->traced, e) {
			kernel |= !e->system && !e->probe.binary;
			user |= !e->system && e->probe.binary;
		}
	if (!kernel && !user)
		return 0;
	int err = probes_open(&p, s, kernel, user);
	for (size_t i = 0; i < s->buffers.nr && !err; i++)
		err = define_for(&p, &s->buffers.at[i]);
	probes_close(&p);
	return err;
}

/* ---- what they missed ------------------------------------------------------------------------------------------------------ */

static bool is_traced(void *ctx, const char *group, const char *event)
{
	const struct ftrace_setup *s = ctx;
	vec_for_each (&s->buffers, b)
		vec_for_each (&b->traced, e)
			if (e->system && !e->off && !strcmp(e->system, group) &&
			    (e->whole || !strcmp(e->name, event)))
				return true;
	return false;
}

void ftrace_watch_misses(struct ftrace_setup *s)
{
	if (s->dry_run || s->counts_misses)
		return;
	s->counts_misses = true;
	s->missed_before = probe_misses_read(&s->tracing, is_traced, s);
}

void ftrace_report_misses(struct ftrace_setup *s)
{
	if (!s->counts_misses)
		return;
	struct probe_misses now = probe_misses_read(&s->tracing, is_traced, s);
	probe_misses_report(&s->missed_before, &now, s->diag);
}
