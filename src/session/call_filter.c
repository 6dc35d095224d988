#include "session/call_filter.h"

#include "base/glob.h"
#include "base/str.h"
#include "view/syscall_data.h"
#include "view/syscall_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STRINGS = 4, STRING_MAX = 4096, CALLS = 1024, NAMES_MAX = 1024 };

static const char *const own_names[] = { "ret", "error", "duration", "CALL", "COMM", "PID", "TID" };
enum own { OWN_RET, OWN_ERROR, OWN_DURATION, OWN_CALL, OWN_COMM, OWN_PID, OWN_TID, OWN_NR };

static enum own find_own(const char *name)
{
	unsigned i = 0;
	while (i < OWN_NR && strcmp(own_names[i], name) != 0)
		i++;
	return i;
}

static s32 find_arg(const struct syscall *call, const char *name)
{
	for (u32 i = 0; i < call->nr_args; i++)
		if (call->args[i].name && !strcmp(call->args[i].name, name))
			return (s32)i;
	return -1;
}

/* A flag of any of its arguments, or an error. */
static bool find_constant(const struct syscall *call, const char *name, u64 *ret)
{
	for (u32 i = 0; i < call->nr_args; i++)
		if (call->args[i].words && syscall_words_value(call->args[i].words, name, ret))
			return true;
	*ret = (u64)syscall_errno_value(name);
	return *ret;
}

static bool is_for(const struct call_filter *f, u64 nr)
{
	return f->all || (nr < sizeof(f->of.has) && f->of.has[nr]);
}

/* ---- making ----------------------------------------------------------------------------------------------------- */

static void filter_done(struct call_filter *f)
{
	expr_done(&f->expr);
	free(f->as_text);
}

void call_filters_done(struct call_filters *f)
{
	vec_for_each (&f->list, x)
		filter_done(x);
	vec_free(&f->list);
	vec_free(&f->paths);
}

/* Where a name stands for nothing in all calls that the filter is for. */
static int unknown_name(const struct call_filter *f, struct syscall_table *t, const char *text,
			const char *name, struct diag *d)
{
	const char *names[NAMES_MAX];
	size_t nr = 0;
	for (u64 n = 0; n < CALLS; n++) {
		const struct syscall *call = is_for(f, n) ? syscall_table_at(t, n) : NULL;
		for (u32 i = 0; call && i < call->nr_args && nr + OWN_NR < NAMES_MAX; i++)
			names[nr++] = call->args[i].name;
	}
	memcpy(names + nr, own_names, sizeof(own_names));
	nr += OWN_NR;
	(void)diag_error(d, -EINVAL, "none of these system calls has an argument '%s'", name);
	const char *at = strstr(text, name), *near = str_closest(name, names, nr);
	if (at)
		diag_span(d, text, (size_t)(at - text), strlen(name));
	if (near)
		diag_hint(d, "did you mean '%s'?", near);
	else
		diag_hint(d, "besides arguments: ret, error, duration (ms), CALL, COMM, PID, TID");
	return -EINVAL;
}

static int check_name(const struct call_filter *f, struct syscall_table *t, const char *text,
		      u32 ident, struct diag *d)
{
	const char *name = f->expr.idents.at[ident];
	u64 value;
	if (find_own(name) != OWN_NR)
		return 0;
	for (u64 nr = 0; nr < CALLS; nr++) {
		const struct syscall *call = is_for(f, nr) ? syscall_table_at(t, nr) : NULL;
		if (call && (find_arg(call, name) >= 0 || find_constant(call, name, &value)))
			return 0;
	}
	return unknown_name(f, t, text, name, d);
}

int call_filters_add(struct call_filters *f, struct syscall_table *t, const struct syscall_set *of,
		     const char *text, struct diag *d)
{
	struct call_filter x = { .all = !of };
	if (of)
		x.of = *of;
	int err = expr_parse(&x.expr, text, NULL, d);
	if (err)
		return err;
	x.as_text = calloc(x.expr.idents.nr + 1, sizeof(*x.as_text));
	if (!x.as_text)
		err = -ENOMEM;
	else
		expr_mark_text(&x.expr, x.as_text);
	for (u32 i = 0; i < x.expr.idents.nr && !err; i++)
		err = check_name(&x, t, text, i, d);
	struct call_filter *slot = err ? NULL : vec_push(&f->list);
	if (!slot) {
		filter_done(&x);
		return err ? err : -ENOMEM;
	}
	*slot = x;
	return 0;
}

int call_filters_add_path(struct call_filters *f, const char *pattern)
{
	const char **slot = vec_push(&f->paths);
	if (!slot)
		return -ENOMEM;
	*slot = pattern;
	return 0;
}

const char *call_filters_need_strings(const struct call_filters *f, struct syscall_table *t)
{
	if (f->paths.nr)
		return f->paths.at[0];
	vec_for_each (&f->list, x)
		for (u32 i = 0; i < x->expr.idents.nr; i++) {
			const char *name = x->expr.idents.at[i];
			for (u64 nr = 0; x->as_text[i] && nr < CALLS; nr++) {
				const struct syscall *call =
					is_for(x, nr) ? syscall_table_at(t, nr) : NULL;
				s32 arg = call ? find_arg(call, name) : -1;
				if (arg >= 0 && !call->args[arg].words)
					return name;
			}
		}
	return NULL;
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

bool call_filters_concern(const struct call_filters *f, u64 nr)
{
	if (f->paths.nr)
		return true;
	vec_for_each (&f->list, x)
		if (is_for(x, nr))
			return true;
	return false;
}

struct call_question {
	const struct call_filter *f;
	const struct syscall_thread *c;
	const struct call_filter_env *env;
	bool ended;
	char strings[STRINGS][STRING_MAX];
	u32 nr_strings;
};

static int as_string(struct call_question *a, const char *text, size_t len, struct expr_value *ret)
{
	char *to = a->strings[a->nr_strings++ % STRINGS];
	len = strnlen(text, min(len, (size_t)STRING_MAX - 1));
	memcpy(to, text, len);
	to[len] = '\0';
	*ret = (struct expr_value){ .type = EXPR_STR, .s = to };
	return 0;
}

static const char *fd_name(const struct syscall_thread *c, u32 arg,
			   const struct call_filter_env *env)
{
	const struct syscall_arg *a = &c->call->args[arg];
	s64 fd = syscall_arg_value(a, c->args[arg]);
	size_t len = strlen(a->name);
	bool directory = len >= 3 && !strcmp(a->name + len - 3, "dfd");
	if (!env->fd_name || fd < 0 || fd > INT32_MAX || (a->kind != SYSCALL_FD && !directory))
		return NULL;
	return env->fd_name(env->ctx, c->pid, (s32)fd);
}

/* What is printed of it, without quotes. */
static int arg_text(struct call_question *a, u32 arg, struct expr_value *ret)
{
	const struct syscall_thread *c = a->c;
	const struct syscall_arg *what = &c->call->args[arg];
	int piece = syscall_data_find(c, arg, false), err = -ENOENT;
	const char *file = fd_name(c, arg, a->env), *string = NULL;
	struct strbuf text;
	size_t len;
	if (file)
		return as_string(a, file, strlen(file), ret);
	if (piece >= 0)
		string = syscall_data_string(c, (u32)piece, &len);
	if (string)
		return as_string(a, string, len, ret);
	strbuf_init(&text);
	if (piece >= 0)
		syscall_data_print(c, (u32)piece, a->ended, &text);
	else if (what->words)
		syscall_words_print(what->words, (u64)syscall_arg_value(what, c->args[arg]), &text);
	if (text.len && !text.err)
		err = as_string(a, text.data, text.len, ret);
	strbuf_done(&text);
	return err;
}

static int get_arg(struct call_question *a, u32 ident, u32 arg, struct expr_value *ret)
{
	const struct syscall_arg *what = &a->c->call->args[arg];
	if (!a->c->enter_ns || !syscall_arg_counts(what, a->c->args))
		return -ENOENT;
	if (a->f->as_text[ident])
		return arg_text(a, arg, ret);
	s64 v = syscall_arg_value(what, a->c->args[arg]);
	bool number = what->is_signed || what->kind == SYSCALL_FD || what->kind == SYSCALL_PID;
	*ret = expr_int(number ? (s128)v : what->size == 4 ? (s128)(u32)v : (s128)(u64)v);
	return 0;
}

static int get_own(const struct call_question *a, enum own own, struct expr_value *ret)
{
	const struct syscall_thread *c = a->c;
	const char *error = syscall_failed(c->ret) ? syscall_errno_name((int)-c->ret) : "";
	switch (own) {
	case OWN_RET: *ret = expr_int(c->ret); break;
	case OWN_ERROR:
		*ret = (struct expr_value){ .type = EXPR_STR, .s = error ? error : "?" };
		break;
	case OWN_DURATION:
		if (!c->enter_ns || c->exit_ns < c->enter_ns)
			return -ENOENT;
		*ret = (struct expr_value){ .type = EXPR_FLOAT,
					    .f = (double)(c->exit_ns - c->enter_ns) / 1e6 };
		break;
	case OWN_CALL: *ret = (struct expr_value){ .type = EXPR_STR, .s = c->call->name }; return 0;
	case OWN_COMM: *ret = (struct expr_value){ .type = EXPR_STR, .s = c->comm }; return 0;
	case OWN_PID: *ret = expr_int(c->pid); return 0;
	case OWN_TID: *ret = expr_int(c->tid); return 0;
	case OWN_NR: return -ENOENT;
	}
	return a->ended ? 0 : -ENOENT; /* what only the end tells */
}

static int get(void *ctx, u32 ident, const char *name, struct expr_value *ret)
{
	struct call_question *a = ctx;
	s32 arg = find_arg(a->c->call, name);
	u64 value;
	if (arg >= 0)
		return get_arg(a, ident, (u32)arg, ret);
	enum own own = find_own(name);
	if (own != OWN_NR)
		return get_own(a, own, ret);
	if (!find_constant(a->c->call, name, &value))
		return -ENOENT;
	*ret = expr_int((s128)value);
	return 0;
}

static bool path_matches(const struct call_filters *f, const char *path)
{
	vec_for_each (&f->paths, pattern)
		if (glob_match(*pattern, path))
			return true;
	return false;
}

static bool any_path(const struct call_filters *f, struct call_question *a)
{
	const struct syscall *call = a->c->call;
	for (u32 i = 0; i < call->nr_args && a->c->enter_ns; i++) {
		struct expr_value v;
		const char *file = fd_name(a->c, i, a->env);
		if (file && path_matches(f, file))
			return true;
		if (call->args[i].kind == SYSCALL_PATH && !arg_text(a, i, &v) && path_matches(f, v.s))
			return true;
	}
	return false;
}

bool call_filters_keep(const struct call_filters *f, u64 nr, const struct syscall_thread *c,
		       bool ended, const struct call_filter_env *env)
{
	struct call_question a;
	a.c = c;
	a.env = env;
	a.ended = ended;
	a.nr_strings = 0;
	if (f->paths.nr && !any_path(f, &a))
		return false;
	vec_for_each (&f->list, x) {
		a.f = x;
		if (is_for(x, nr) &&
		    !expr_holds(&x->expr, &(struct expr_env){ .get = get, .ctx = &a }))
			return false;
	}
	return true;
}
