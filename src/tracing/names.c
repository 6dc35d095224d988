/* Names that people give for functions, tracers and clocks, checked against what the kernel has. */
#include "base/glob.h"
#include "tracing/setup_impl.h"
#include "event/closest.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *ftrace_path_in(struct ftrace_setup *s, const struct ftrace_buffer_opt *b,
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
	diag_hint(d, "available: %.*s", (int)strcspn(text, "\n"), text);
}

int ftrace_check_word(struct ftrace_setup *s, const char *file, const char *word, const char *what)
{
	struct strbuf text;
	strbuf_init(&text);
	const char *line = tracing_line(&s->tracing, file, &text);
	int err = 0;
	if (*line && !has_word(line, word)) {
		err = diag_error(s->diag, -ENOENT, "this kernel has no %s '%s'", what, word);
		hint_word(s->diag, line, word);
	}
	strbuf_done(&text);
	return err;
}

int ftrace_load_functions(struct ftrace_setup *s)
{
	if (s->has_functions)
		return 0;
	int err = tracing_read(&s->tracing, "available_filter_functions", &s->functions);
	if (err == -EPERM || err == -EACCES) {
		diag_error(s->diag, err, "this kernel does not allow selecting functions to trace");
		diag_hint(s->diag, "lockdown denies access to available_filter_functions");
	} else if (err) {
		diag_error(s->diag, err, "this kernel cannot filter functions: %s", strerror(-err));
	}
	(void)strbuf_cstr(&s->functions);
	s->has_functions = !err;
	return err;
}

/* All of a module: the kernel takes one that is not there, and waits for it to be loaded. */
static void warn_module(struct ftrace_setup *s, const char *module)
{
	struct closest c;
	char best[128] = "", name[128];
	closest_init(&c, module, strlen(module));
	for (const char *q = s->functions.data; q && *q;) {
		size_t line = strcspn(q, "\n");
		const char *bracket = memchr(q, '[', line);
		size_t len = bracket ? strcspn(bracket + 1, "]\n") : 0;
		if (len && len < sizeof(name)) {
			memcpy(name, bracket + 1, len);
			name[len] = 0;
			if (glob_match(module, name))
				return;
			if (closest_offer(&c, name))
				memcpy(best, name, len + 1);
		}
		q += line + (q[line] == '\n');
	}
	diag_warn(s->diag,
		  "no module '%s' with traceable functions: nothing is traced until it is loaded",
		  module);
	if (*best)
		diag_hint(s->diag, "did you mean %s?", best);
}

/*
 * GLOB[:mod:MODULE][:COMMAND...]: something must fit, for the kernel takes a filter that fits nothing as no filter at all and
 * traces everything.
 */
int ftrace_check_function(struct ftrace_setup *s, const char *text)
{
	char glob[256], module[128] = "";
	struct event_function f;
	const char *p = *text == '!' ? text + 1 : text;
	int err = ftrace_load_functions(s);
	if (err)
		return err;
	event_function_split(p, &f);
	if (f.glob_len >= sizeof(glob) || f.module_len >= sizeof(module))
		return diag_error(s->diag, -EINVAL, "'%s' is not a function", text);
	memcpy(glob, p, f.glob_len);
	glob[f.glob_len] = 0;
	if (f.module) {
		memcpy(module, f.module, f.module_len);
		module[f.module_len] = 0;
	}
	bool any_module = !strcmp(module, "*") || !*module;
	if (!*glob && !any_module)
		warn_module(s, module);
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
	diag_error(s->diag, -ENOENT, "function '%s' cannot be traced%s%s", glob,
		   *module ? " in module " : "", module);
	if (*module && !any_module && !in_module)
		diag_hint(s->diag, "module '%s' has no traceable functions, or is not loaded",
			  module);
	else if (*best)
		diag_hint(s->diag, "did you mean %s?", best);
	diag_hint(s->diag, "'sonde ftrace list -f PATTERN' shows those that can");
	return -ENOENT;
}
