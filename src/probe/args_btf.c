#include "probe/args_btf.h"

#include "base/str.h"
#include "kern/sysroot.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
	STEPS_MAX = 16, /* loads from memory for one argument */
	ELEMENTS_MAX = 64, /* of an array: the kernel's limit */
	REGISTERS = 6, /* parameters that are in registers on every machine */
	ARG_NAME_SIZE = 32,
	ARGS_MAX = 128, /* the kernel's limit */
};

/* ---- whose types ----------------------------------------------------------------------------------------------------------- */

static int open_one(const struct sysroot *r, const char *name, struct strbuf *bytes, struct btf *to,
		    struct btf *base)
{
	char path[PATH_MAX];
	(void)snprintf(path, sizeof(path), "sys/kernel/btf/%s", name);
	int err = sysroot_read(r, path, bytes);
	return err ? err : btf_open_memory(to, bytes->data, bytes->len, base);
}

int probe_types_open(struct probe_types *t, const char *root, const char *module)
{
	struct sysroot r;
	*t = (struct probe_types){ 0 };
	strbuf_init(&t->kernel_bytes);
	strbuf_init(&t->module_bytes);
	int err = sysroot_open(&r, root && *root ? root : NULL);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = open_one(&r, "vmlinux", &t->kernel_bytes, &t->kernel, NULL);
	t->has_kernel = !err;
	if (!err && module) {
		err = open_one(&r, module, &t->module_bytes, &t->of_module, &t->kernel);
		t->module = err ? NULL : module;
	}
	sysroot_close(&r);
	return err == -ENOMEM ? err : 0;
}

void probe_types_close(struct probe_types *t)
{
	btf_close(&t->of_module);
	btf_close(&t->kernel);
	strbuf_done(&t->kernel_bytes);
	strbuf_done(&t->module_bytes);
}

struct btf *probe_types_of(struct probe_types *t)
{
	return t->module ? &t->of_module : t->has_kernel ? &t->kernel : NULL;
}

/* ---- one argument ---------------------------------------------------------------------------------------------------------- */

/* A value: in a register (nr 0), or in memory at the end of loads: *(*(base + at[0]) + at[1]). */
struct args_btf_value {
	char base[16];
	s64 at[STEPS_MAX];
	u32 nr;
	u32 type;
	u32 bits, bit; /* of a bitfield, in what is loaded */
};

struct work {
	struct btf *b;
	const struct probe_btf_place *place;
	const struct probe_request *request;
	struct arena *arena;
	struct diag *diag;
	struct btf_desc proto;
	u32 skip; /* parameters before the first that counts */
	VEC(struct probe_def_arg) args;
};

static int bad_arg(struct work *w, int err, struct probe_span span, const char *fmt, ...)
	printf_like(4, 5);
static int bad_arg(struct work *w, int err, struct probe_span span, const char *fmt, ...)
{
	struct strbuf s;
	va_list ap;
	strbuf_init(&s);
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	(void)diag_error(w->diag, err, "%s", strbuf_cstr(&s));
	if (span.len)
		diag_span(w->diag, w->request->text, span.start, span.len);
	strbuf_done(&s);
	return err;
}

/* Where parameter i is: 0 and the number of its $arg, or -EOPNOTSUPP when nobody can tell. */
static int slot_of(struct work *w, u32 i, u32 *ret)
{
	struct btf_part p;
	u32 slot = 0;
	for (u32 k = w->skip; k < i && btf_part(w->b, &w->proto, k, &p); k++) {
		u64 size = btf_size(w->b, p.type);
		slot += size <= 8 ? 1 : size <= 16 ? 2 : 0;
	}
	if (!btf_part(w->b, &w->proto, i, &p) || btf_size(w->b, p.type) > 8 || slot >= REGISTERS)
		return -EOPNOTSUPP;
	*ret = slot + 1;
	return 0;
}

static int find_parameter(struct work *w, const struct probe_arg *a, struct args_btf_value *v)
{
	struct btf_part p;
	u32 slot;
	for (u32 i = w->skip; btf_part(w->b, &w->proto, i, &p); i++) {
		if (strcmp(p.name, a->text))
			continue;
		if (slot_of(w, i, &slot))
			return bad_arg(w, -EOPNOTSUPP, a->span,
				       "parameter '%s' of %s is not in a register", a->text,
				       w->place->function);
		(void)snprintf(v->base, sizeof(v->base), "$arg%u", slot);
		v->type = p.type;
		return 0;
	}
	return -ENOENT;
}

static void hint_parameters(struct work *w)
{
	struct strbuf s;
	struct btf_part p;
	strbuf_init(&s);
	for (u32 i = w->skip; btf_part(w->b, &w->proto, i, &p); i++)
		if (*p.name)
			strbuf_printf(&s, "%s%s", s.len ? ", " : "", p.name);
	diag_hint(w->diag, "its parameters are: %s", s.len ? strbuf_cstr(&s) : "none");
	diag_hint(w->diag, "local variables need debug information (the kernel's -dbg package)");
	strbuf_done(&s);
}

/* The address moves on; false: too many loads. */
static bool load(struct args_btf_value *v, s64 offset)
{
	if (v->nr == STEPS_MAX)
		return false;
	v->at[v->nr++] = offset;
	return true;
}

static int no_member(struct work *w, const struct probe_step *s, u32 type)
{
	struct strbuf name;
	const char *close;
	strbuf_init(&name);
	btf_name_type(w->b, type, &name);
	(void)bad_arg(w, -ENOENT, s->span, "%s has no member '%s'", strbuf_cstr(&name), s->member);
	if (btf_closest_member(w->b, type, s->member, &close))
		diag_hint(w->diag, "did you mean %s?", close);
	strbuf_done(&name);
	return -ENOENT;
}

static int step_member(struct work *w, const struct probe_step *s, struct args_btf_value *v)
{
	struct btf_desc d, to;
	struct btf_part p;
	if (v->bits || !btf_resolve(w->b, v->type, &d))
		return bad_arg(w, -EINVAL, s->span, "this has no members");
	u32 type = v->type;
	bool pointer = d.kind == BTF_OF_POINTER;
	if (pointer)
		type = d.ref;
	if (!btf_resolve(w->b, type, &to) || (to.kind != BTF_OF_STRUCT && to.kind != BTF_OF_UNION)) {
		bool opaque = to.kind == BTF_OF_FORWARD;
		return bad_arg(w, -EINVAL, s->span,
			       opaque ? "the struct is not described here" : "this has no members");
	}
	if (pointer != s->arrow)
		return bad_arg(w, -EINVAL, s->span,
			       pointer ? "this is a pointer: use '->'"
				       : "this is not a pointer: use '.'");
	if (btf_find_member(w->b, type, s->member, &p))
		return no_member(w, s, type);
	s64 bytes = (s64)(p.bit_offset / 8);
	if (p.bits) {
		/* What is loaded is as wide as the type, from where that is aligned. */
		u64 width = btf_size(w->b, p.type);
		if (!width || p.bit_offset % (width * 8) + p.bits > width * 8)
			return bad_arg(w, -EOPNOTSUPP, s->span,
				       "the bitfield does not fit into one word");
		bytes = (s64)(p.bit_offset / (width * 8) * width);
		v->bits = p.bits;
		v->bit = (u32)(p.bit_offset % (width * 8));
	}
	v->type = p.type;
	if (!pointer && !v->nr)
		return bad_arg(w, -EOPNOTSUPP, s->span,
			       "a struct in registers cannot be taken apart");
	if (!pointer)
		v->at[v->nr - 1] += bytes;
	else if (!load(v, bytes))
		return bad_arg(w, -E2BIG, s->span, "too many steps");
	return 0;
}

static int step_index(struct work *w, const struct probe_step *s, struct args_btf_value *v)
{
	struct btf_desc d;
	if (v->bits || !btf_resolve(w->b, v->type, &d) ||
	    (d.kind != BTF_OF_POINTER && d.kind != BTF_OF_ARRAY))
		return bad_arg(w, -EINVAL, s->span, "this is not an array");
	u64 each = btf_size(w->b, d.ref);
	if (!each || s->index > (u64)INT_MAX / each)
		return bad_arg(w, -EINVAL, s->span, "the index is out of range");
	if (d.kind == BTF_OF_ARRAY && d.nr && s->index >= d.nr)
		return bad_arg(w, -EINVAL, s->span, "the array has %u elements", d.nr);
	v->type = d.ref;
	if (d.kind == BTF_OF_ARRAY && v->nr)
		v->at[v->nr - 1] += (s64)(s->index * each);
	else if (d.kind == BTF_OF_ARRAY || !load(v, (s64)(s->index * each)))
		return bad_arg(w, -E2BIG, s->span, "too many steps");
	return 0;
}

/* ---- its text -------------------------------------------------------------------------------------------------------------- */

static const char *fetch_text(struct work *w, const struct args_btf_value *v, bool user)
{
	struct strbuf s;
	strbuf_init(&s);
	for (u32 i = v->nr; i--;)
		strbuf_printf(&s, "%c%s%lld(", v->at[i] < 0 ? '-' : '+', user ? "u" : "",
			      (long long)(v->at[i] < 0 ? -v->at[i] : v->at[i]));
	strbuf_str(&s, v->base);
	for (u32 i = 0; i < v->nr; i++)
		strbuf_char(&s, ')');
	const char *text = arena_strdup(w->arena, strbuf_cstr(&s));
	strbuf_done(&s);
	return text;
}

static char sign_of(const struct btf_desc *d)
{
	if (d->kind == BTF_OF_POINTER)
		return 'x';
	return (d->kind == BTF_OF_INT || d->kind == BTF_OF_ENUM || d->kind == BTF_OF_ENUM64) &&
			       d->is_signed
		       ? 's'
		       : 'u';
}

static bool is_number(const struct btf_desc *d)
{
	return (d->kind == BTF_OF_INT || d->kind == BTF_OF_ENUM || d->kind == BTF_OF_ENUM64 ||
		d->kind == BTF_OF_POINTER) &&
	       (d->size == 1 || d->size == 2 || d->size == 4 || d->size == 8);
}

static int not_one_value(struct work *w, const struct probe_arg *a, u32 type)
{
	struct strbuf name;
	strbuf_init(&name);
	btf_name_type(w->b, type, &name);
	(void)bad_arg(w, -EOPNOTSUPP, a->span, "'%s' is a %s: the kernel fetches numbers and texts",
		      a->text ? a->text : "$retval", strbuf_cstr(&name));
	diag_hint(w->diag,
		  "ask for one of its members (->NAME, .NAME), an element ([0]), or give a "
		  "type (:x8[16])");
	strbuf_done(&name);
	return -EOPNOTSUPP;
}

/* The kernel's word for what nobody gave a type. */
static int natural_type(struct work *w, const struct probe_arg *a, const struct args_btf_value *v,
			char *to, size_t size)
{
	struct btf_desc d, of;
	if (!btf_resolve(w->b, v->type, &d))
		return not_one_value(w, a, v->type);
	if (v->bits) {
		(void)snprintf(to, size, "b%u@%u/%u", v->bits, v->bit, d.size * 8);
		return 0;
	}
	if (is_number(&d)) {
		(void)snprintf(to, size, "%c%u", sign_of(&d), d.size * 8);
		return 0;
	}
	if (d.kind == BTF_OF_ARRAY && v->nr && d.nr && d.nr <= ELEMENTS_MAX &&
	    btf_resolve(w->b, d.ref, &of) && is_number(&of)) {
		(void)snprintf(to, size, "%c%u[%u]", sign_of(&of), of.size * 8, d.nr);
		return 0;
	}
	return not_one_value(w, a, v->type);
}

static bool is_text_type(const char *type)
{
	return type && (str_starts(type, "string") || str_starts(type, "ustring"));
}

/* A pointer to letters is followed, an array of letters is where they are. */
static int text_value(struct work *w, const struct probe_arg *a, struct args_btf_value *v)
{
	struct btf_desc d;
	if (!btf_resolve(w->b, v->type, &d) || v->bits ||
	    (d.kind != BTF_OF_POINTER && d.kind != BTF_OF_ARRAY))
		return bad_arg(w, -EINVAL, a->span,
			       "'%s' is neither a pointer nor an array: it "
			       "cannot be shown as text",
			       a->text);
	if (d.kind == BTF_OF_POINTER && !load(v, 0))
		return bad_arg(w, -E2BIG, a->span, "too many steps");
	return 0;
}

static int finish_type(struct work *w, const struct probe_arg *a, struct args_btf_value *v,
		       const char **ret)
{
	char text[32];
	struct btf_desc d;
	if (is_text_type(a->type)) {
		*ret = a->type;
		return text_value(w, a, v);
	}
	bool letter = a->type && strlen(a->type) == 1 && strchr("sux", *a->type);
	if (a->type && !letter) {
		*ret = a->type;
		return 0;
	}
	int err = natural_type(w, a, v, text, sizeof(text));
	if (!err && letter && btf_resolve(w->b, v->type, &d) && is_number(&d))
		(void)snprintf(text, sizeof(text), "%c%u", *a->type, d.size * 8);
	*ret = err ? NULL : arena_strdup(w->arena, text);
	return err ? err : *ret ? 0 : -ENOMEM;
}

/* ---- its name -------------------------------------------------------------------------------------------------------------- */

static bool name_taken(const struct work *w, const char *name)
{
	vec_for_each (&w->args, a)
		if (a->name && !strcmp(a->name, name))
			return true;
	return false;
}

/* As perf does: the last member; else the variable, with the type where one was given. Twice the same gets a number. */
static const char *choose_name(struct work *w, const struct probe_arg *a)
{
	char name[ARG_NAME_SIZE * 4], unique[ARG_NAME_SIZE];
	const char *member = a->value == PROBE_VALUE_NAME ? a->text : "retval";
	bool has_member = false;
	for (u32 i = 0; i < a->nr_steps; i++)
		if (a->steps[i].member) {
			member = a->steps[i].member;
			has_member = true;
		}
	(void)snprintf(name, sizeof(name), "%s%s%s", a->name ? a->name : member,
		       !a->name && !has_member && a->type ? "_" : "",
		       !a->name && !has_member && a->type ? a->type : "");
	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) ? *c : '_';
	(void)snprintf(unique, sizeof(unique), "%.*s", ARG_NAME_SIZE - 1, name);
	for (unsigned n = 1; name_taken(w, unique) && n < ARGS_MAX; n++)
		(void)snprintf(unique, sizeof(unique), "%.*s_%u", ARG_NAME_SIZE - 5, name, n);
	return arena_strdup(w->arena, unique);
}

/* ---- all of them ----------------------------------------------------------------------------------------------------------- */

static int push_arg(struct work *w, struct probe_def_arg arg)
{
	struct probe_def_arg *slot = w->args.nr < ARGS_MAX ? vec_push(&w->args) : NULL;
	if (!slot)
		return w->args.nr < ARGS_MAX
			       ? -ENOMEM
			       : diag_error(w->diag, -E2BIG, "more than %d arguments", ARGS_MAX);
	*slot = arg;
	return 0;
}

static int finish_value(struct work *w, const struct probe_arg *a, struct args_btf_value *v)
{
	struct probe_def_arg arg = { 0 };
	int err = 0;
	for (u32 i = 0; i < a->nr_steps && !err; i++)
		err = a->steps[i].member ? step_member(w, &a->steps[i], v)
					 : step_index(w, &a->steps[i], v);
	if (!err)
		err = finish_type(w, a, v, &arg.type);
	if (err)
		return err;
	arg.fetch = fetch_text(w, v, a->user);
	arg.name = choose_name(w, a);
	return arg.fetch && arg.name ? push_arg(w, arg) : -ENOMEM;
}

static int no_types(struct work *w, const struct probe_arg *a)
{
	const char *name = a->text ? a->text : "$retval";
	if (w->place->binary) {
		int err = bad_arg(w, -ENODATA, a->span,
				  "%s has no debug information that was found: nothing is known of "
				  "'%s'",
				  w->place->binary, name);
		diag_hint(w->diag, "install its -dbgsym package or build it with -g; registers "
				   "(%%di), $stackN and $retval work without");
		return err;
	}
	int err = bad_arg(w, -ENODATA, a->span,
			  w->b ? "nothing is known of the parameters of %s"
			       : "this kernel does not describe its types: nothing is known of "
				 "the parameters of %s",
			  w->place->function);
	diag_hint(w->diag, "registers (%%di), $argN, $stackN and $retval work without; names need "
			   "BTF (/sys/kernel/btf) or debug information");
	return err;
}

static int add_named(struct work *w, const struct probe_arg *a)
{
	struct args_btf_value v = { .nr = 0 };
	if (w->proto.kind != BTF_OF_PROTOTYPE)
		return no_types(w, a);
	if (w->place->is_return) {
		int err = bad_arg(w, -EOPNOTSUPP, a->span,
				  "when %s returns, its parameters are gone", w->place->function);
		diag_hint(w->diag, "add a probe at its entry too: sonde probe -a '%s %s'",
			  w->place->function, a->text);
		return err;
	}
	if (!w->place->at_entry) {
		int err =
			bad_arg(w, -ENODATA, a->span,
				"inside of %s nobody knows where '%s' is without debug information",
				w->place->function, a->text);
		diag_hint(w->diag, "BTF says where parameters are at the entry only");
		return err;
	}
	int err = find_parameter(w, a, &v);
	if (err == -ENOENT) {
		(void)bad_arg(w, err, a->span, "%s has no parameter '%s'", w->place->function,
			      a->text);
		hint_parameters(w);
	}
	return err ? err : finish_value(w, a, &v);
}

static int add_retval(struct work *w, const struct probe_arg *a)
{
	if (!w->place->is_return)
		return bad_arg(w, -EINVAL, a->span,
			       "$retval is known when a function returns: %s%%return",
			       w->place->function);
	struct btf_value result = { .shape = BTF_OTHER };
	bool known = w->proto.kind == BTF_OF_PROTOTYPE;
	if (known)
		result = btf_value_of(w->b, w->proto.ref);
	if (a->nr_steps || (known && is_text_type(a->type))) {
		struct args_btf_value v = { .base = "$retval", .type = w->proto.ref };
		return known ? finish_value(w, a, &v) : no_types(w, a);
	}
	if (known && result.shape == BTF_VOID) {
		int err = bad_arg(w, -EOPNOTSUPP, a->span, "%s returns nothing", w->place->function);
		diag_hint(w->diag, "leave $retval out: the probe counts and times returns");
		return err;
	}
	if (known && result.shape == BTF_OTHER)
		return bad_arg(w, -EOPNOTSUPP, a->span,
			       "%s returns a struct: the kernel fetches one register",
			       w->place->function);
	char type[16];
	(void)snprintf(type, sizeof(type), "%c%u",
		       result.shape == BTF_SIGNED || result.shape == BTF_ENUM	   ? 's'
		       : result.shape == BTF_POINTER || result.shape == BTF_STRING ? 'x'
										   : 'u',
		       result.bytes * 8);
	const char *kept = known && !a->type ? arena_strdup(w->arena, type) : a->type;
	return push_arg(w, (struct probe_def_arg){ .name = a->name,
						   .fetch = is_text_type(a->type) ? "+0($retval)"
										  : "$retval",
						   .type = kept });
}

/* $params: every one that is a number or a pointer; the others are told. */
static int add_parameters(struct work *w, const struct probe_arg *a)
{
	struct btf_part p;
	int err = 0;
	if (w->proto.kind != BTF_OF_PROTOTYPE)
		return no_types(w, a);
	for (u32 i = w->skip; !err && btf_part(w->b, &w->proto, i, &p); i++) {
		struct btf_desc d;
		u32 slot;
		if (!p.type || !*p.name)
			continue;
		if (slot_of(w, i, &slot) || !btf_resolve(w->b, p.type, &d) || !is_number(&d)) {
			diag_warn(w->diag,
				  "parameter '%s' of %s is left out: it is not in one "
				  "register",
				  p.name, w->place->function);
			continue;
		}
		err = add_named(w, &(struct probe_arg){ .value = PROBE_VALUE_NAME,
							.text = p.name,
							.span = a->span });
	}
	return err;
}

static int add_arg(struct work *w, const struct probe_arg *a)
{
	switch (a->value) {
	case PROBE_VALUE_FETCH:
		return push_arg(w, (struct probe_def_arg){ a->name, a->text, a->type });
	case PROBE_VALUE_RETVAL: return add_retval(w, a);
	case PROBE_VALUE_NAME: return add_named(w, a);
	case PROBE_VALUE_PARAMS: return add_parameters(w, a);
	case PROBE_VALUE_VARS:
		diag_warn(w->diag, "without debug information $vars are the parameters alone");
		return add_parameters(w, a);
	case PROBE_VALUE_LOCALS:
	default: break;
	}
	int err = bad_arg(w, -ENODATA, a->span, "local variables need debug information");
	diag_hint(w->diag, "BTF still gives parameters and members: $params");
	return err;
}

/* A tracepoint's parameters: those of __traceiter_NAME(), with names; or typedef void (*btf_trace_NAME)(void *, ...). */
static void find_prototype(struct work *w)
{
	char name[256];
	struct btf_desc d;
	if (!w->b)
		return;
	if (!w->place->is_tracepoint) {
		if (btf_find_prototype(w->b, w->place->function, &d) == 0)
			w->proto = d;
		return;
	}
	(void)snprintf(name, sizeof(name), "__traceiter_%s", w->place->function);
	if (btf_find_prototype(w->b, name, &d) == 0) {
		w->proto = d;
		w->skip = 1;
		return;
	}
	(void)snprintf(name, sizeof(name), "btf_trace_%s", w->place->function);
	u32 id = btf_find(w->b, name, BTF_BIT(BTF_OF_TYPEDEF), NULL);
	if (id && btf_resolve(w->b, id, &d) && d.kind == BTF_OF_POINTER &&
	    btf_resolve(w->b, d.ref, &d) && d.kind == BTF_OF_PROTOTYPE) {
		w->proto = d;
		w->skip = 1;
	}
}

int probe_args_btf(struct btf *b, const struct probe_btf_place *place,
		   const struct probe_request *request, struct arena *arena, struct probe_def *def,
		   struct diag *d)
{
	struct work w = { .b = b, .place = place, .request = request, .arena = arena, .diag = d };
	int err = 0;
	find_prototype(&w);
	for (u32 i = 0; i < request->nr_args && !err; i++)
		err = add_arg(&w, &request->args[i]);
	struct probe_def_arg *copy = arena_array(arena, w.args.nr + 1, sizeof(*copy));
	if (!err && !copy)
		err = -ENOMEM;
	if (!err) {
		memcpy(copy, w.args.at ? w.args.at : copy, w.args.nr * sizeof(*copy));
		def->args = copy;
		def->nr_args = (u32)w.args.nr;
	}
	vec_free(&w.args);
	return err;
}

/* ---- what there is --------------------------------------------------------------------------------------------------------- */

static int list_parameters(struct btf *b, const char *function, struct probe_vars *ret)
{
	struct btf_desc proto;
	struct btf_part p;
	struct strbuf type;
	int err = btf_find_prototype(b, function, &proto);
	struct probe_var *vars = err ? NULL : arena_array(&ret->arena, proto.nr + 1, sizeof(*vars));
	struct probe_vars_at *at = vars ? vec_push(&ret->at) : NULL;
	if (!at)
		return err ? err : -ENOMEM;
	strbuf_init(&type);
	*at = (struct probe_vars_at){ .function = function, .vars = vars };
	for (u32 i = 0; !err && btf_part(b, &proto, i, &p); i++) {
		if (!p.type || !*p.name)
			continue;
		strbuf_reset(&type);
		btf_name_type(b, p.type, &type);
		struct probe_var *v = &vars[at->nr_vars++];
		v->name = arena_strdup(&ret->arena, p.name);
		v->type = arena_strdup(&ret->arena, strbuf_cstr(&type));
		err = v->name && v->type ? 0 : -ENOMEM;
	}
	strbuf_done(&type);
	return err;
}

int probe_vars_btf(const struct probe_target *target, const struct probe_request *request,
		   struct probe_vars *ret)
{
	struct probe_types types;
	int err = probe_types_open(&types, target->root, target->module);
	struct btf *b = err ? NULL : probe_types_of(&types);
	if (!err)
		err = b ? list_parameters(b, request->function, ret) : -ENODATA;
	probe_types_close(&types);
	return err;
}
