#include "cmd/ftrace_setup.h"

#include "base/cpuset.h"
#include "base/glob.h"
#include "event/closest.h"
#include "event/filter.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* ---- options whose order counts ----------------------------------------------------------------------------------------- */

/* The buffer that options belong to now; the first is made when it is needed. NULL: no memory. */
static struct ftrace_buffer_opt *current(void *opts)
{
	struct ftrace_setup *s = opts;
	return s->buffers.nr ? &s->buffers.at[s->buffers.nr - 1] : vec_push(&s->buffers);
}

void ftrace_setup_defaults(void *opts)
{
	struct ftrace_setup *s = opts;
	*s = (struct ftrace_setup){ .lock_fd = -1, .root = { .dir_fd = -1 } };
	s->tracing.dir = -1;
}

static int add_word(void *list, const char *value)
{
	struct {
		VEC(const char *) v;
	} *l = list;
	const char **slot = vec_push(&l->v);
	if (!slot)
		return -ENOMEM;
	*slot = value;
	return 0;
}

int ftrace_take_event(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	struct ftrace_buffer_opt *b = current(opts);
	struct ftrace_event_opt *e = b ? vec_push(&b->events) : NULL;
	if (!e)
		return -ENOMEM;
	e->text = value;
	e->off = b->negate;
	return 0;
}

int ftrace_take_filter(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	struct ftrace_buffer_opt *b = current(opts);
	if (!b)
		return -ENOMEM;
	if (!b->events.nr)
		return diag_error(d, -EINVAL, "-f belongs behind the -e it is for");
	struct ftrace_event_opt *e = &b->events.at[b->events.nr - 1];
	if (e->filter)
		return diag_error(d, -EINVAL, "'-e %s' has a filter already", e->text);
	e->filter = value;
	return 0;
}

int ftrace_take_trigger(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	struct ftrace_buffer_opt *b = current(opts);
	if (!b)
		return -ENOMEM;
	if (!b->events.nr)
		return diag_error(d, -EINVAL, "-R belongs behind the -e it is for");
	return add_word(&b->events.at[b->events.nr - 1].triggers, value);
}

int ftrace_take_negate(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)value;
	(void)d;
	struct ftrace_buffer_opt *b = current(opts);
	if (!b)
		return -ENOMEM;
	b->negate = !negated;
	return 0;
}

int ftrace_take_buffer(void *opts, const char *value, bool negated, struct diag *d)
{
	struct ftrace_setup *s = opts;
	(void)negated;
	if (!*value || *value == '.' || strchr(value, '/'))
		return diag_error(d, -EINVAL, "-B '%s' is no name for an instance", value);
	if (!current(opts)) /* the unnamed one comes first */
		return -ENOMEM;
	struct ftrace_buffer_opt *b = vec_push(&s->buffers);
	if (!b)
		return -ENOMEM;
	b->name = value;
	return 0;
}

#define TAKE_WORD(fn, field)                                                                       \
	int fn(void *opts, const char *value, bool negated, struct diag *d)                        \
	{                                                                                          \
		(void)negated;                                                                     \
		(void)d;                                                                           \
		struct ftrace_buffer_opt *b = current(opts);                                       \
		if (b)                                                                             \
			b->field = value;                                                          \
		return b ? 0 : -ENOMEM;                                                            \
	}
#define TAKE_LIST(fn, field)                                                                       \
	int fn(void *opts, const char *value, bool negated, struct diag *d)                        \
	{                                                                                          \
		(void)negated;                                                                     \
		(void)d;                                                                           \
		struct ftrace_buffer_opt *b = current(opts);                                       \
		return b ? add_word(&b->field, value) : -ENOMEM;                                   \
	}
#define TAKE_FLAG(fn, field)                                                                       \
	int fn(void *opts, const char *value, bool negated, struct diag *d)                        \
	{                                                                                          \
		(void)value;                                                                       \
		(void)d;                                                                           \
		struct ftrace_buffer_opt *b = current(opts);                                       \
		if (b)                                                                             \
			b->field = !negated;                                                       \
		return b ? 0 : -ENOMEM;                                                            \
	}
TAKE_WORD(ftrace_take_tracer, tracer)
TAKE_WORD(ftrace_take_clock, clock)
TAKE_WORD(ftrace_take_cpumask, cpumask)
TAKE_WORD(ftrace_take_size, size)
TAKE_LIST(ftrace_take_function, functions)
TAKE_LIST(ftrace_take_no_function, no_functions)
TAKE_LIST(ftrace_take_graph, graph)
TAKE_LIST(ftrace_take_no_graph, no_graph)
TAKE_LIST(ftrace_take_option, options)
TAKE_FLAG(ftrace_take_stacks, stacks)
TAKE_FLAG(ftrace_take_func_stack, func_stack)

/* ---- opening -------------------------------------------------------------------------------------------------------------- */

int ftrace_open(struct tracing *t, struct diag *d)
{
	int err = tracing_open(t, "");
	if (err)
		return err;
	/* Not mounted: where we may, we do. */
	if (t->err == -ENOENT && !geteuid() &&
	    !mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL)) {
		tracing_close(t);
		err = tracing_open(t, "");
		if (err)
			return err;
		diag_note(d, "tracefs was not mounted: it is now, at /sys/kernel/tracing");
	}
	if (t->err) {
		err = tracing_explain(t, d);
		tracing_close(t);
		return err;
	}
	return 0;
}

int ftrace_folder(const struct tracing *t, const char *name, char *to, size_t size, struct diag *d)
{
	*to = 0;
	if (!name)
		return 0;
	if (!strchr(name, '/') && *name != '.' &&
	    snprintf(to, size, "instances/%s/", name) < (int)size && tracing_has(t, to))
		return 0;
	struct sysroot dir = { .dir_fd = t->dir };
	struct strbuf s;
	strbuf_init(&s);
	DIR *all = sysroot_dir(&dir, "instances");
	for (struct dirent *e; all && (e = readdir(all));)
		if (e->d_name[0] != '.')
			strbuf_printf(&s, "%s%s", s.len ? ", " : "", e->d_name);
	if (all)
		(void)closedir(all);
	diag_error(d, -ENOENT, "there is no instance '%s'", name);
	diag_hint(d, s.len ? "there are: %s" : "there is none%s", strbuf_cstr(&s));
	strbuf_done(&s);
	return -ENOENT;
}

char *ftrace_own_cmdline(void)
{
	struct sysroot root;
	struct strbuf s;
	strbuf_init(&s);
	if (sysroot_open(&root, NULL))
		return NULL;
	int err = sysroot_read(&root, "proc/self/cmdline", &s);
	sysroot_close(&root);
	if (err) {
		strbuf_done(&s);
		return NULL;
	}
	while (s.len && !s.data[s.len - 1])
		s.len--;
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.data[i] < ' ')
			s.data[i] = ' ';
	return strbuf_steal(&s);
}

int ftrace_setup_open(struct ftrace_setup *s, struct app *app)
{
	s->app = app;
	arena_init(&s->arena);
	strbuf_init(&s->functions);
	int err = ftrace_open(&s->tracing, &app->diag);
	if (!err)
		err = sysroot_open(&s->root, NULL);
	s->cmdline = ftrace_own_cmdline();
	return err ? err : current(s) ? 0 : -ENOMEM;
}

void ftrace_setup_end(struct ftrace_setup *s)
{
	if (!s->app) /* never opened */
		goto lists;
	journal_close(s->journal, &s->app->diag);
	s->journal = NULL;
	cleanup_close(&s->lock_fd);
	tracing_close(&s->tracing);
	sysroot_close(&s->root);
	arena_done(&s->arena);
	strbuf_done(&s->functions);
	free(s->cmdline);
lists:
	vec_for_each (&s->buffers, b) {
		vec_for_each (&b->events, e)
			vec_free(&e->triggers);
		vec_free(&b->events);
		vec_free(&b->functions);
		vec_free(&b->no_functions);
		vec_free(&b->graph);
		vec_free(&b->no_graph);
		vec_free(&b->options);
		vec_free(&b->systems);
	}
	vec_free(&s->buffers);
	vec_free(&s->pid_list);
}

/* ---- names --------------------------------------------------------------------------------------------------------------- */

static const char *path_in(struct ftrace_setup *s, const struct ftrace_buffer_opt *b,
			   const char *fmt, ...) printf_like(3, 4);
static const char *path_in(struct ftrace_setup *s, const struct ftrace_buffer_opt *b,
			   const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int n = snprintf(path, sizeof(path), "%s", b->folder);
	va_start(ap, fmt);
	(void)vsnprintf(path + n, sizeof(path) - (size_t)n, fmt, ap);
	va_end(ap);
	const char *copy = arena_strdup(&s->arena, path);
	return copy ? copy : "";
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	for (const char *p = text; (p = strstr(p, word)); p++)
		if ((p == text || isspace((unsigned char)p[-1]) || p[-1] == '[') &&
		    (!p[len] || isspace((unsigned char)p[len]) || p[len] == ']'))
			return true;
	return false;
}

/* The word of a list like available_tracers that was probably meant. */
static void hint_word(struct diag *d, const char *text, const char *word)
{
	struct closest c;
	char best[80] = "", each[80];
	closest_init(&c, word, strlen(word));
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, " \n[]");
		if (len && len < sizeof(each)) {
			memcpy(each, p, len);
			each[len] = 0;
			if (closest_offer(&c, each))
				memcpy(best, each, len + 1);
		}
		p += len + (p[len] != 0);
	}
	if (*best)
		diag_hint(d, "did you mean %s?", best);
	diag_hint(d, "there are: %.*s", (int)strcspn(text, "\n"), text);
}

static int check_word(struct ftrace_setup *s, const char *file, const char *word, const char *what)
{
	struct strbuf text;
	strbuf_init(&text);
	const char *line = tracing_line(&s->tracing, file, &text);
	int err = 0;
	if (*line && !has_word(line, word)) {
		err = diag_error(&s->app->diag, -ENOENT, "this kernel has no %s '%s'", what, word);
		hint_word(&s->app->diag, line, word);
	}
	strbuf_done(&text);
	return err;
}

static const char *const latency_tracers[] = { "wakeup",  "wakeup_rt",	"wakeup_dl",
					       "irqsoff", "preemptoff", "preemptirqsoff" };

static bool is_latency(const char *tracer)
{
	for (size_t i = 0; tracer && i < ARRAY_SIZE(latency_tracers); i++)
		if (!strcmp(tracer, latency_tracers[i]))
			return true;
	return false;
}

static int load_functions(struct ftrace_setup *s)
{
	if (s->has_functions)
		return 0;
	int err = tracing_read(&s->tracing, "available_filter_functions", &s->functions);
	if (err == -EPERM || err == -EACCES) {
		diag_error(&s->app->diag, err,
			   "this kernel does not let anybody choose functions to trace");
		diag_hint(&s->app->diag, "its lockdown refuses available_filter_functions");
	} else if (err) {
		diag_error(&s->app->diag, err, "this kernel cannot filter functions: %s",
			   strerror(-err));
	}
	(void)strbuf_cstr(&s->functions);
	s->has_functions = !err;
	return err;
}

/*
 * GLOB[:mod:MODULE][:COMMAND...]: something must fit, for the kernel takes a filter that fits nothing as no filter at all and
 * traces everything.
 */
static int check_function(struct ftrace_setup *s, const char *text)
{
	char glob[256], module[128] = "";
	const char *p = *text == '!' ? text + 1 : text;
	size_t len = strcspn(p, ":");
	int err = load_functions(s);
	if (err)
		return err;
	if (len >= sizeof(glob))
		return diag_error(&s->app->diag, -EINVAL, "'%s' is no function", text);
	memcpy(glob, p, len);
	glob[len] = 0;
	if (str_starts(p + len, ":mod:"))
		(void)snprintf(module, sizeof(module), "%.*s", (int)strcspn(p + len + 5, ":"),
			       p + len + 5);
	bool any_module = !strcmp(module, "*") || !*module;
	if (!*glob || glob[strspn(glob, "0123456789")] == 0)
		return 0; /* an index, or all of a module */
	struct closest c;
	closest_init(&c, glob, strlen(glob));
	char best[256] = "", name[256];
	bool found = false, in_module = false;
	for (const char *q = s->functions.data; q && *q && !found;) {
		size_t line = strcspn(q, "\n"), word = strcspn(q, " \t\n");
		if (word < sizeof(name)) {
			memcpy(name, q, word);
			name[word] = 0;
			bool module_fits = any_module;
			const char *bracket = memchr(q, '[', line);
			if (!any_module && bracket) {
				char mod[128];
				(void)snprintf(mod, sizeof(mod), "%.*s",
					       (int)strcspn(bracket + 1, "]\n"), bracket + 1);
				module_fits = glob_match(module, mod);
				in_module |= module_fits;
			}
			found = module_fits && glob_match(glob, name);
			if (!found && closest_offer(&c, name))
				(void)snprintf(best, sizeof(best), "%s", name);
		}
		q += line + (q[line] == '\n');
	}
	if (found)
		return 0;
	diag_error(&s->app->diag, -ENOENT, "no function '%s' can be traced here%s%s", glob,
		   *module ? " in module " : "", module);
	if (*module && !any_module && !in_module)
		diag_hint(&s->app->diag,
			  "module '%s' has no functions that can be traced, or is not "
			  "loaded",
			  module);
	else if (*best)
		diag_hint(&s->app->diag, "did you mean %s?", best);
	diag_hint(&s->app->diag, "'sonde ftrace list -f PATTERN' shows those that can");
	return -ENOENT;
}

/* ---- events -------------------------------------------------------------------------------------------------------------- */

/* One -e, taken apart. */
struct spec {
	const char *system, *name; /* globs; NULL: any */
	const char *filter;
	bool stack;
	VEC(const char *) triggers;
};

/* "EVENT/FILTER/+TRIGGER+TRIGGER" */
static int split_spec(struct ftrace_setup *s, const struct ftrace_event_opt *e, struct spec *ret)
{
	char *text = arena_strdup(&s->arena, e->text);
	if (!text)
		return -ENOMEM;
	*ret = (struct spec){ .filter = e->filter };
	char *slash = strchr(text, '/');
	char *plus = slash ? NULL : strchr(text, '+');
	if (slash) {
		char *end = strrchr(text, '/');
		if (end == slash) {
			diag_error(&s->app->diag, -EINVAL,
				   "the filter of '%s' has no end: EVENT/FILTER/", e->text);
			diag_span(&s->app->diag, e->text, (size_t)(slash - text), 1);
			return -EINVAL;
		}
		plus = end[1] == '+' ? end + 1 : NULL;
		*slash = *end = 0;
		if (ret->filter)
			return diag_error(&s->app->diag, -EINVAL, "'-e %s' has two filters",
					  e->text);
		ret->filter = slash + 1;
	}
	while (plus) {
		*plus++ = 0;
		char *word = strsep(&plus, "+");
		if (!strcmp(word, "stack"))
			word = arena_strdup(&s->arena, "stacktrace");
		if (add_word(&ret->triggers, word))
			return -ENOMEM;
	}
	vec_for_each (&e->triggers, t)
		if (add_word(&ret->triggers, *t))
			return -ENOMEM;
	char *colon = strchr(text, ':');
	if (colon)
		*colon = 0;
	ret->system = colon ? text : NULL;
	ret->name = colon ? colon + 1 : text;
	if (ret->system && (!*ret->system || !strcmp(ret->system, "*")))
		ret->system = NULL;
	if (!*ret->name || !strcmp(ret->name, "*") || (!colon && !strcmp(text, "all")))
		ret->name = NULL;
	return 0;
}

static void hint_event(struct ftrace_setup *s, const char *text)
{
	struct tracing_events all;
	struct closest c;
	char best[160] = "", each[160];
	const char *colon = strchr(text, ':');
	if (tracing_list_events(&s->tracing, NULL, NULL, &all))
		return;
	closest_init(&c, text, strlen(text));
	vec_for_each (&all.items, e) {
		(void)snprintf(each, sizeof(each), "%s%s%s", colon ? e->system : "",
			       colon ? ":" : "", e->name);
		if (closest_offer(&c, each))
			(void)snprintf(best, sizeof(best), "%s:%s", e->system, e->name);
	}
	tracing_events_done(&all);
	if (*best)
		diag_hint(&s->app->diag, "did you mean %s?", best);
	diag_hint(&s->app->diag, "'sonde ftrace list -e' shows all events");
}

/* A word alone is a system or an event of any system. */
static int find_events(struct ftrace_setup *s, const struct spec *spec, bool *whole_system,
		       struct tracing_events *ret)
{
	*whole_system = false;
	if (!spec->system && spec->name) {
		int err = tracing_list_events(&s->tracing, spec->name, NULL, ret);
		*whole_system = !err && ret->items.nr;
		if (*whole_system)
			return 0;
		if (!err)
			tracing_events_done(ret);
	}
	*whole_system = !spec->name;
	int err = tracing_list_events(&s->tracing, spec->system, spec->name, ret);
	if (err == -ENOENT) {
		*ret = (struct tracing_events){ 0 };
		arena_init(&ret->arena);
		err = 0;
	}
	return err;
}

int ftrace_setup_note_system(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *system)
{
	vec_for_each (&b->systems, have)
		if (!strcmp(*have, system))
			return 0;
	const char *copy = arena_strdup(&s->arena, system);
	return copy ? add_word(&b->systems, copy) : -ENOMEM;
}

static int check_filter(struct ftrace_setup *s, const struct tracing_event *e, const char *filter)
{
	struct filter_fault f;
	int err = filter_check(&s->tracing, e->system, e->name, filter, &f);
	if (err >= 0 || err == -ENOMEM)
		return err;
	diag_error(&s->app->diag, err, "%s:%s: %s", e->system, e->name, f.message);
	diag_span(&s->app->diag, filter, f.at.start, f.at.len);
	if (f.meant[0])
		diag_hint(&s->app->diag, "did you mean %s?", f.meant);
	return -EINVAL;
}

/* The line that takes a trigger away: the command without its count, and the condition. */
static const char *undo_trigger(struct ftrace_setup *s, const char *trigger)
{
	struct strbuf u;
	strbuf_init(&u);
	const char *cond = strstr(trigger, " if ");
	size_t len = cond ? (size_t)(cond - trigger) : strlen(trigger);
	strbuf_printf(&u, "!%.*s%s", (int)len, trigger, cond ? cond : "");
	const char *copy = arena_strdup(&s->arena, strbuf_cstr(&u));
	strbuf_done(&u);
	return copy;
}

static int set_event(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const struct spec *spec,
		     const struct tracing_event *e, bool off, bool enable)
{
	struct diag *d = &s->app->diag;
	int err = 0;
	if (spec->filter && !off) {
		err = check_filter(s, e, spec->filter);
		if (!err)
			err = journal_set(s->journal,
					  path_in(s, b, "events/%s/%s/filter", e->system, e->name),
					  spec->filter, d);
	}
	for (size_t i = 0; i < spec->triggers.nr && !err && !off; i++) {
		const char *undo = undo_trigger(s, spec->triggers.at[i]);
		/* "enable_event:SYS:EVENT": formats of that one too. */
		const char *other = strstr(spec->triggers.at[i], "able_event:");
		char system[128];
		if (other && sscanf(other, "able_event:%127[^:]", system) == 1)
			err = ftrace_setup_note_system(s, b, system);
		if (!err)
			err = undo ? journal_add(s->journal,
						 path_in(s, b, "events/%s/%s/trigger", e->system,
							 e->name),
						 spec->triggers.at[i], undo, d)
				   : -ENOMEM;
	}
	if (!err && enable)
		err = journal_set(s->journal,
				  path_in(s, b, "events/%s/%s/enable", e->system, e->name),
				  off ? "0" : "1", d);
	return err ? err : ftrace_setup_note_system(s, b, e->system);
}

/* Where nobody else has one of a system on, all of it is one write. */
static bool whole_is_off(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *path)
{
	struct strbuf t;
	strbuf_init(&t);
	bool off = journal_owns(s->journal, path) || *tracing_line(&s->tracing, path, &t) == '0';
	strbuf_done(&t);
	(void)b;
	return off;
}

static int set_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b,
		      const struct ftrace_event_opt *e, const struct spec *spec)
{
	struct tracing_events list;
	bool whole;
	int err = find_events(s, spec, &whole, &list);
	if (err)
		return err;
	if (!list.items.nr) {
		if (s->ignore_missing) {
			diag_warn(&s->app->diag, "no event '%s'", e->text);
		} else {
			err = diag_error(&s->app->diag, -ENOENT, "there is no event '%s'", e->text);
			hint_event(s, e->text);
		}
	}
	const char *system = NULL;
	bool together = false;
	for (size_t i = 0; i < list.items.nr && !err; i++) {
		const struct tracing_event *ev = &list.items.at[i];
		if (!strcmp(ev->system, "ftrace"))
			continue; /* those belong to tracers */
		if (!system || strcmp(system, ev->system)) {
			system = ev->system;
			const char *path = path_in(s, b, "events/%s/enable", system);
			together = whole && !e->off && whole_is_off(s, b, path);
			if (together)
				err = journal_set(s->journal, path, "1", &s->app->diag);
		}
		if (!err)
			err = set_event(s, b, spec, ev, e->off, !together);
	}
	tracing_events_done(&list);
	return err;
}

static int apply_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	int err = 0;
	for (size_t i = 0; i < b->events.nr && !err; i++) {
		struct spec spec;
		err = split_spec(s, &b->events.at[i], &spec);
		if (!err)
			err = set_events(s, b, &b->events.at[i], &spec);
		vec_free(&spec.triggers);
	}
	return err;
}

/* "-e function:GLOB" and "-e graph:GLOB" are -p and -l or -g in another dress. */
static int take_tracer_events(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	size_t to = 0;
	for (size_t i = 0; i < b->events.nr; i++) {
		struct ftrace_event_opt e = b->events.at[i];
		bool fn = str_starts(e.text, "function:"), graph = str_starts(e.text, "graph:");
		if (!fn && !graph) {
			b->events.at[to++] = e;
			continue;
		}
		const char *tracer = fn ? "function" : "function_graph";
		if (b->tracer && strcmp(b->tracer, tracer))
			return diag_error(
				&s->app->diag,
				-EINVAL, "'-e %s' needs the tracer %s, but there is one tracer at a time: %s",
				e.text, tracer, b->tracer);
		b->tracer = tracer;
		const char *glob = strchr(e.text, ':') + 1;
		int err = 0;
		if (strcmp(glob, "*"))
			err = fn ? add_word(&b->functions, glob) : add_word(&b->graph, glob);
		vec_free(&e.triggers);
		if (err)
			return err;
	}
	b->events.nr = to;
	return 0;
}

/* ---- the rest of a buffer -------------------------------------------------------------------------------------------------- */

/* -b: kilobytes, or bytes with a unit; total: is for all CPUs together. */
static int apply_size(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	const char *text = b->size;
	char kb[32];
	u64 v;
	if (!text)
		return 0;
	bool total = str_starts(text, "total:");
	text += total ? 6 : 0;
	if (num_parse_size(text, &v) || !v)
		return diag_error(&s->app->diag, -EINVAL, "-b %s: kilobytes, or a size like 64M",
				  b->size);
	if (text[strspn(text, "0123456789")])
		v = (v + 1023) / 1024;
	if (total)
		v = max(v / max((u64)sysconf(_SC_NPROCESSORS_ONLN), (u64)1), (u64)1);
	if (v > 1ull << 40)
		return diag_error(&s->app->diag, -ERANGE, "-b %s is more than a machine has",
				  b->size);
	(void)snprintf(kb, sizeof(kb), "%llu", (unsigned long long)v);
	const char *path = path_in(s, b, "buffer_size_kb");
	struct strbuf t;
	strbuf_init(&t);
	bool mixed = *tracing_line(&s->tracing, path, &t) == 'X';
	strbuf_done(&t);
	if (!mixed)
		return journal_set(s->journal, path, kb, &s->app->diag);
	int err = 0;
	for (int cpu = 0; !err; cpu++) {
		path = path_in(s, b, "per_cpu/cpu%d/buffer_size_kb", cpu);
		if (!tracing_has(&s->tracing, path))
			break;
		err = journal_set(s->journal, path, kb, &s->app->diag);
	}
	return err;
}

static int apply_cpumask(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	struct cpuset set;
	struct strbuf mask;
	if (!b->cpumask)
		return 0;
	cpuset_zero(&set);
	strbuf_init(&mask);
	int err = 0;
	if (!strcmp(b->cpumask, "-1"))
		for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF); i++)
			cpuset_add(&set, (unsigned)i);
	else
		err = cpuset_parse_mask(b->cpumask, &set, &s->app->diag);
	if (!err) {
		cpuset_add_mask(&set, &mask);
		err = journal_set(s->journal, path_in(s, b, "tracing_cpumask"), strbuf_cstr(&mask),
				  &s->app->diag);
	}
	strbuf_done(&mask);
	return err;
}

static int apply_option(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *word)
{
	const char *name = word;
	bool off = false;
	if (!name)
		return -EINVAL;
	const char *path = path_in(s, b, "options/%s", name);
	if (!tracing_has(&s->tracing, path) && str_starts(word, "no")) {
		name = word + 2;
		off = true;
		path = path_in(s, b, "options/%s", name);
	}
	if (strchr(name, '/') || !tracing_has(&s->tracing, path)) {
		/* In a dry run the instance does not exist. */
		char top[300];
		(void)snprintf(top, sizeof(top), "options/%s", name);
		if (strchr(name, '/') || !s->dry_run || !tracing_has(&s->tracing, top)) {
			int err = diag_error(&s->app->diag, -ENOENT,
					     "there is no trace option '%s'", word);
			diag_hint(&s->app->diag, "'sonde ftrace list -o' shows them");
			return err;
		}
	}
	return journal_set(s->journal, path, off ? "0" : "1", &s->app->diag);
}

static int set_flag_option(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *name,
			   bool on)
{
	const char *path = path_in(s, b, "options/%s", name);
	if (!s->dry_run && !tracing_has(&s->tracing, path))
		return 0;
	return journal_set(s->journal, path, on ? "1" : "0", &s->app->diag);
}

/* Names of functions become one list; what has a command behind it is a line of its own. */
static int apply_functions(struct ftrace_setup *s, struct ftrace_buffer_opt *b, const char *file,
			   const char **at, size_t nr, bool with_module)
{
	struct strbuf list;
	const char *path = path_in(s, b, "%s", file);
	int err = 0;
	strbuf_init(&list);
	if (!nr && !(with_module && s->module))
		return 0;
	if (!nr)
		strbuf_printf(&list, ":mod:%s\n", s->module);
	for (size_t i = 0; i < nr && !err; i++) {
		const char *text = at[i], *colon = strchr(text, ':');
		bool command = colon && !str_starts(colon, ":mod:");
		err = check_function(s, text);
		if (err)
			break;
		if (command) {
			const char *undo = path_in(s, &(struct ftrace_buffer_opt){ .folder = "" },
						   "!%s", text);
			err = journal_add(s->journal, path, text, undo, &s->app->diag);
		} else {
			strbuf_printf(&list, "%s%s%s\n", text,
				      with_module && s->module && !colon ? ":mod:" : "",
				      with_module && s->module && !colon ? s->module : "");
		}
	}
	if (!err && list.len)
		err = journal_list(s->journal, path, strbuf_cstr(&list), &s->app->diag);
	strbuf_done(&list);
	return err;
}

static int apply_pids(struct ftrace_setup *s, struct ftrace_buffer_opt *b, int pid)
{
	struct strbuf list;
	int err = 0;
	strbuf_init(&list);
	for (const char *p = s->pids; p && *p && !err;) {
		size_t len = strcspn(p, ", ");
		char word[16];
		u64 id;
		if (!len || len >= sizeof(word))
			err = -EINVAL;
		if (!err) {
			memcpy(word, p, len);
			word[len] = 0;
			err = num_parse_u64(word, 10, &id);
		}
		if (err) {
			diag_error(&s->app->diag, err, "-P '%s' is no list of process ids", s->pids);
			diag_span(&s->app->diag, s->pids, (size_t)(p - s->pids), len);
		} else {
			strbuf_printf(&list, "%llu\n", (unsigned long long)id);
		}
		p += len + (p[len] != 0);
	}
	if (!err && s->only_command && pid > 0)
		strbuf_printf(&list, "%d\n", pid);
	bool functions = b->tracer &&
			 (!strcmp(b->tracer, "function") || !strcmp(b->tracer, "function_graph"));
	if (!err && list.len) {
		err = set_flag_option(s, b, "event-fork", s->children);
		if (!err && functions)
			err = set_flag_option(s, b, "function-fork", s->children);
		if (!err)
			err = journal_list(s->journal, path_in(s, b, "set_event_pid"),
					   strbuf_cstr(&list), &s->app->diag);
		if (!err && functions)
			err = journal_list(s->journal, path_in(s, b, "set_ftrace_pid"),
					   strbuf_cstr(&list), &s->app->diag);
	}
	strbuf_done(&list);
	return err;
}

/* Ourselves, and with the fork options the threads that we make later: they read what is written. */
static int leave_us_out(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	static const struct {
		const char *list, *option;
		bool functions;
	} kinds[] = {
		{ "set_event_notrace_pid", "event-fork", false },
		{ "set_ftrace_notrace_pid", "function-fork", true },
	};
	char pid[32];
	int err = 0;
	(void)snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !err; i++) {
		const char *path = path_in(s, b, "%s", kinds[i].list);
		if (s->no_filter || s->dry_run || s->pids || s->only_command ||
		    !journal_owns(s->journal, path) || !tracing_has(&s->tracing, path) ||
		    (kinds[i].functions && (!b->tracer || strcmp(b->tracer, "function"))))
			continue;
		err = set_flag_option(s, b, kinds[i].option, true);
		/* A kernel that does not let us leave ourselves out traces us too. */
		if (!err)
			(void)!journal_list(s->journal, path, pid, NULL);
	}
	return err;
}

static int apply_tracer(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	struct diag *d = &s->app->diag;
	int err = 0;
	bool graph = b->tracer && !strcmp(b->tracer, "function_graph");
	if ((b->graph.nr || b->no_graph.nr) && !graph)
		return diag_error(d, -EINVAL,
				  "-g is for the tracer function_graph: add -p function_graph");
	/* One list for the whole kernel; its users have the lock. */
	struct ftrace_buffer_opt all = { .folder = "" };
	err = apply_functions(s, &all, "set_graph_function", b->graph.at, b->graph.nr, false);
	if (!err)
		err = apply_functions(s, &all, "set_graph_notrace", b->no_graph.at, b->no_graph.nr,
				      false);
	if (!err && s->max_depth)
		err = journal_set(s->journal, "max_graph_depth", s->max_depth, d);
	if (!err && s->thresh)
		err = journal_set(s->journal, "tracing_thresh", s->thresh, d);
	if (!err)
		err = apply_functions(s, b, "set_ftrace_filter", b->functions.at, b->functions.nr,
				      true);
	if (!err)
		err = apply_functions(s, b, "set_ftrace_notrace", b->no_functions.at,
				      b->no_functions.nr, false);
	/* Tracing every function between two moments makes those tracers crawl. */
	bool asked = false;
	vec_for_each (&b->options, o)
		asked |= !strcmp(*o, "function-trace");
	if (!err && (s->no_function_trace || (is_latency(b->tracer) && !asked)))
		err = set_flag_option(s, b, "function-trace", false);
	if (!err && b->tracer)
		err = journal_set(s->journal, path_in(s, b, "current_tracer"), b->tracer, d);
	if (!err && b->func_stack) {
		if (!b->functions.nr)
			return diag_error(d, -EINVAL,
					  "--func-stack without -l would stop the machine: a stack "
					  "for every function");
		err = set_flag_option(s, b, "func_stack_trace", true);
	}
	return err;
}

static int apply_buffer(struct ftrace_setup *s, struct ftrace_buffer_opt *b, int pid)
{
	struct diag *d = &s->app->diag;
	int err = journal_set(s->journal, path_in(s, b, "tracing_on"), "0", d);
	if (!err && b->clock)
		err = journal_set(s->journal, path_in(s, b, "trace_clock"), b->clock, d);
	if (!err)
		err = apply_size(s, b);
	if (!err)
		err = apply_cpumask(s, b);
	for (size_t i = 0; i < b->options.nr && !err; i++)
		err = apply_option(s, b, b->options.at[i]);
	if (!err)
		err = apply_pids(s, b, pid);
	if (!err)
		err = leave_us_out(s, b);
	if (!err && b->stacks)
		err = set_flag_option(s, b, "stacktrace", true);
	if (!err)
		err = apply_events(s, b);
	if (!err)
		err = apply_tracer(s, b);
	return err;
}

/* ---- where ---------------------------------------------------------------------------------------------------------------- */

/* Tracers that exist once are not in an instance's list: ask one that exists, or a new one. */
static bool tracer_needs_top(const struct ftrace_setup *s, const char *tracer)
{
	static const char *const anywhere[] = { "nop", "function", "osnoise", "timerlat" };
	static const char *const once[] = { "blk",	 "mmiotrace", "hwlat",	"wakeup",
					    "wakeup_rt", "wakeup_dl", "irqsoff" };
	(void)s;
	for (size_t i = 0; i < ARRAY_SIZE(anywhere); i++)
		if (!strcmp(tracer, anywhere[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(once); i++)
		if (!strcmp(tracer, once[i]))
			return true;
	/* function_graph: graph filters, depth and threshold are the kernel's only ones in any case. */
	return true;
}

bool ftrace_setup_needs_top(const struct ftrace_setup *s)
{
	if (s->top || s->thresh || s->max_depth)
		return true;
	const struct ftrace_buffer_opt *b = &s->buffers.at[0];
	vec_for_each (&b->events, e)
		if (str_starts(e->text, "graph:"))
			return true;
	return (b->tracer && tracer_needs_top(s, b->tracer)) || b->graph.nr || b->no_graph.nr;
}

static int check_buffer(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	int err = take_tracer_events(s, b);
	if (!err && b->tracer)
		err = check_word(s, "available_tracers", b->tracer, "tracer");
	if (!err && b->clock)
		err = check_word(s, "trace_clock", b->clock, "clock");
	if (!err && b->tracer && !strcmp(b->tracer, "mmiotrace") && !s->force) {
		err = diag_error(&s->app->diag, -EPERM,
				 "mmiotrace takes all CPUs but one offline and can hang a machine");
		diag_hint(&s->app->diag, "--force, if that is what you want");
	}
	return err;
}

int ftrace_setup_begin(struct ftrace_setup *s, bool private, void (*rescue)(const char *folder))
{
	struct diag *d = &s->app->diag;
	int err = 0;
	for (size_t i = 0; i < s->buffers.nr && !err; i++)
		err = check_buffer(s, &s->buffers.at[i]);
	if (err)
		return err;
	struct journal_opts o = { .title = s->cmdline,
				  .rescue = rescue,
				  .dry = s->dry_run ? &s->app->out : NULL };
	if (!s->dry_run && (!private || ftrace_setup_needs_top(s))) {
		char holder[400];
		(void)snprintf(holder, sizeof(holder), "process %d (%s)", (int)getpid(),
			       s->cmdline ? s->cmdline : "");
		int run_dir = run_dir_open(RUN_DIR, d);
		if (run_dir < 0)
			return run_dir;
		s->lock_fd = lock_take(run_dir, "top buffer", holder, false, d);
		(void)close(run_dir);
		if (s->lock_fd < 0)
			return s->lock_fd;
		o.keep[0] = s->lock_fd;
	}
	return journal_open(&s->journal, &s->tracing, &o, d);
}

int ftrace_setup_apply(struct ftrace_setup *s, bool private, int pid)
{
	struct diag *d = &s->app->diag;
	int err = 0;
	if (s->cmdlines_size)
		err = journal_knob(s->journal, "saved_cmdlines_size", s->cmdlines_size, d);
	for (size_t i = 0; i < s->buffers.nr && !err; i++) {
		struct ftrace_buffer_opt *b = &s->buffers.at[i];
		char name[128];
		if (!b->name && private && !ftrace_setup_needs_top(s)) {
			(void)snprintf(name, sizeof(name), "sonde-%s", journal_name(s->journal));
			err = journal_instance(s->journal, name, d);
			b->made = true;
		} else if (b->name) {
			(void)snprintf(name, sizeof(name), "%s", b->name);
			char path[300];
			(void)snprintf(path, sizeof(path), "instances/%s", b->name);
			if (!tracing_has(&s->tracing, path)) {
				err = journal_instance(s->journal, b->name, d);
				b->made = true;
			}
		} else {
			*name = 0;
		}
		if (*name)
			(void)snprintf(b->folder, sizeof(b->folder), "instances/%s/", name);
		if (!err)
			err = apply_buffer(s, b, pid);
	}
	return err;
}

int ftrace_setup_switch(struct ftrace_setup *s, bool on)
{
	int err = 0;
	for (size_t i = 0; i < s->buffers.nr && !err; i++)
		err = journal_set(s->journal, path_in(s, &s->buffers.at[i], "tracing_on"),
				  on ? "1" : "0", &s->app->diag);
	return err;
}
