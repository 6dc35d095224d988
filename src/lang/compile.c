#include "lang/compile.h"

#include "base/clock.h"
#include "lang/check.h"
#include "lang/check_impl.h"
#include "lang/dump.h"
#include "lang/emit.h"
#include "lang/import.h"
#include "lang/interpret_plan.h"
#include "lang/lower.h"
#include "lang/parse.h"
#include "lang/stap_parse.h"
#include "lang/tree.h"

#include <errno.h>
#include <string.h>

struct compiler {
	const struct lang_input *in;
	struct program *program;
	struct diag *diag;
	struct script script;
	struct checker check;
	struct lower_shared shared;
	struct ir *irs; /* by code */
	u32 *frames; /* bytes of stack */
	struct lower_callback **callbacks; /* by code */
	u32 nr;
	u64 last_ns;
};

static void stage_done(struct compiler *c, enum lang_stage stage)
{
	if (!c->in->stage_ns)
		return;
	u64 now = clock_monotonic_ns();
	c->in->stage_ns[stage] += now - c->last_ns;
	c->last_ns = now;
}

static u32 map_type(const struct map *m)
{
	bool aggregate = type_is_aggregate(m->value);
	if (m->type)
		return m->type;
	if (m->is_scalar)
		return aggregate ? BPF_MAP_TYPE_PERCPU_ARRAY : BPF_MAP_TYPE_ARRAY;
	return aggregate ? BPF_MAP_TYPE_PERCPU_HASH : BPF_MAP_TYPE_HASH;
}

static int refuse_map(struct compiler *c, const struct map *m, const char *why)
{
	return lang_error(c->diag, c->in->text, m->start, m->len, -EINVAL, "map %s %s", m->name,
			  why);
}

enum { PREALLOC_MAX = 16 << 20, DEFAULT_KEYS = 4096 };

static int make_map(struct compiler *c, struct map *m)
{
	if (!m->value && !m->used_keyed && !m->used_scalar)
		return 0; /* of a macro that nobody calls */
	if (!m->value)
		return refuse_map(c, m, "is never assigned");
	m->is_scalar = !m->used_keyed;
	if (m->type && m->is_scalar)
		return refuse_map(c, m, "is declared with keys, but used without");
	u32 type = map_type(m);
	bool percpu = type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
		      type == BPF_MAP_TYPE_PERCPU_ARRAY;
	if (percpu != type_is_aggregate(m->value))
		return refuse_map(
			c, m,
			percpu ? "is per CPU, which only count(), sum() and so on can be"
			       : "needs a value for each CPU: percpuhash or percpulruhash");
	struct program_map *to = vec_push(&c->program->maps);
	if (!to)
		return -ENOMEM;
	m->number = (u32)c->program->maps.nr - 1;
	*to = (struct program_map){ .name = m->name,
				    .role = PROGRAM_MAP_USER,
				    .type = type,
				    .value_size = type_room(m->value),
				    .value = m->value,
				    .is_scalar = m->is_scalar };
	to->key_size = m->is_scalar ? 4 : type_room(m->key);
	to->key = m->is_scalar ? &type_u32 : check_whole_type(&c->check, m->key);
	to->value = check_whole_type(&c->check, m->value);
	if (!to->key || !to->value)
		return c->check.err ? c->check.err : refuse_map(c, m, "has too many members");
	to->max_entries = m->is_scalar	   ? 1
			  : m->max_entries ? m->max_entries
					   : c->program->config.max_map_keys;
	/* Memory of all keys is taken in advance, for each CPU: keys that were not asked for are fewer where it is a lot. */
	if (!m->is_scalar && !m->max_entries && to->max_entries == DEFAULT_KEYS)
		to->max_entries = min(to->max_entries, max(64u, PREALLOC_MAX / to->value_size));
	return to->key_size > 512 && c->program->config.max_strlen < to->key_size / 8
		       ? refuse_map(c, m, "has a key that is too large")
		       : 0;
}

static int make_maps(struct compiler *c)
{
	for (struct map *m = c->script.maps; m; m = m->next) {
		int err = make_map(c, m);
		if (err)
			return err;
	}
	return 0;
}

/* Modules have types of their own: whoever attaches looks there. */
static void set_function(struct compiler *c, struct program_probe *p)
{
	if ((p->provider == PROGRAM_FENTRY || p->provider == PROGRAM_FEXIT) && !p->is_glob &&
	    !p->target && c->in->btf)
		p->btf_id = btf_find(c->in->btf, p->name, BTF_BIT(BTF_OF_FUNCTION), NULL);
}

static int lower_one(struct compiler *c, struct probe_block *b, u32 point, u32 code, bool plain)
{
	struct ir *ir = &c->irs[code];
	struct lower l = {
		.is_tight = plain,
		.check = &c->check,
		.program = c->program,
		.arena = &c->program->arena,
		.ir = ir,
		.in = c->in,
		.block = b,
		.probe = &c->program->probes.at[point],
		.point = point,
		.shared = &c->shared,
	};
	int err = check_point(&c->check, b, point);
	if (err)
		return err;
	if (l.probe->provider == PROGRAM_END && c->in->end_here && b->nr_points == 1) {
		err = interpret_plan(&l, b);
		c->program->probes.at[point].here = err > 0;
		if (err) {
			c->program->probes.at[point].code = code;
			return min(err, 0);
		}
	}
	set_function(c, &c->program->probes.at[point]);
	ir_init(ir, &c->program->arena);
	c->program->probes.at[point].code = code;
	err = lower_point(&l);
	c->frames[code] = l.stack_max;
	c->callbacks[code] = l.callbacks;
	return err;
}

static int lower_all(struct compiler *c)
{
	size_t nr = c->program->probes.nr;
	c->irs = arena_array(&c->program->arena, nr + 1, sizeof(*c->irs));
	c->frames = arena_array(&c->program->arena, nr + 1, sizeof(u32));
	c->callbacks = arena_array(&c->program->arena, nr + 1, sizeof(*c->callbacks));
	if (!c->irs || !c->frames || !c->callbacks)
		return -ENOMEM;
	for (struct probe_block *b = c->script.blocks; b; b = b->next)
		for (u32 i = 0; i < b->nr_points; i++) {
			int err = lower_one(c, b, b->first_point + i, c->nr++, false);
			if (err)
				return err;
		}
	return 0;
}

static void done_one(struct compiler *c, u32 i)
{
	if (!c->irs[i].arena) /* nothing was lowered */
		return;
	ir_done(&c->irs[i]);
	for (struct lower_callback *cb = c->callbacks[i]; cb; cb = cb->next)
		ir_done(&cb->ir);
}

/* Once more, with less on the stack. */
static int lower_again(struct compiler *c, u32 code)
{
	for (struct probe_block *b = c->script.blocks; b; b = b->next)
		for (u32 i = 0; i < b->nr_points; i++) {
			u32 point = b->first_point + i;
			if (c->program->probes.at[point].code != code)
				continue;
			done_one(c, code);
			c->callbacks[code] = NULL;
			return lower_one(c, b, point, code, true);
		}
	return -E2BIG;
}

/* "kprobe_vfs_read": what tools that list programs show. */
static const char *code_name(struct arena *a, const char *text)
{
	char name[16] = "";
	for (u32 i = 0; i < 15 && text[i]; i++)
		name[i] = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
					  (text[i] >= '0' && text[i] <= '9')
				  ? text[i]
				  : '_';
	return arena_strdup(a, name);
}

/* The kernel counts in units of 32 bytes. */
static u32 frame_size(const struct registers *r)
{
	return (r->stack + 31) & ~31u;
}

/* Registers for a function; below: frames of those that call it. */
static int assign_one(struct compiler *c, struct ir *ir, u32 frame, u32 below, struct registers *r)
{
	if (c->in->dump_ir)
		ir_dump(ir, c->in->dump_ir);
	int err = registers_assign(ir, frame, r);
	return err ? err : frame_size(r) + below > 512 ? -E2BIG : 0;
}

/* What those who call it have on the stack, all together; r: by number. */
static u32 frames_below(const struct lower_callback *cb, const struct registers *r)
{
	u32 size = frame_size(&r[0]);
	for (cb = cb->caller; cb; cb = cb->caller)
		size += frame_size(&r[cb->number]);
	return size;
}

/* The code of a probe and its callbacks. */
static int emit_functions(struct compiler *c, u32 i, struct program_code *code)
{
	enum { FUNCS_MAX = 64 };
	struct ir *irs[FUNCS_MAX] = { &c->irs[i] };
	struct registers r[FUNCS_MAX];
	u32 nr = 1;
	int err = assign_one(c, irs[0], c->frames[i], 0, &r[0]);
	for (struct lower_callback *cb = c->callbacks[i]; cb && !err; cb = cb->next, nr++) {
		if (nr == FUNCS_MAX)
			return -E2BIG;
		irs[nr] = &cb->ir;
		err = assign_one(c, irs[nr], cb->frame, frames_below(cb, r), &r[nr]);
	}
	if (!err)
		err = emit_code(irs, r, nr, &c->program->arena, code);
	if (!err && nr > 1 && !c->program->btf) {
		c->program->btf = emit_btf(&c->program->arena, &c->program->btf_size);
		err = c->program->btf ? 0 : -ENOMEM;
	}
	return err;
}

static int emit_one(struct compiler *c, u32 i, const struct program_probe *p)
{
	struct program_code *code = vec_push(&c->program->codes);
	if (!code)
		return -ENOMEM;
	if (p->here) {
		struct strbuf *dumps[] = { c->in->dump_ir, c->in->dump_bpf };
		for (size_t d = 0; d < ARRAY_SIZE(dumps); d++)
			if (dumps[d])
				strbuf_printf(dumps[d], "%s\n  (not run in the kernel)\n", p->text);
		return 0;
	}
	if (c->in->dump_ir)
		strbuf_printf(c->in->dump_ir, "%s\n", p->text);
	int err = emit_functions(c, i, code);
	if (err == -E2BIG) {
		err = lower_again(c, i);
		if (!err)
			err = emit_functions(c, i, code);
	}
	code->name = code_name(&c->program->arena, p->text);
	if (err == -E2BIG)
		return lang_error(c->diag, c->in->text, p->span_start, p->span_len, err,
				  "the code of this probe is too large, or its expressions need "
				  "more than 512 bytes of stack");
	if (!err && !code->name)
		err = -ENOMEM;
	if (!err && c->in->dump_bpf) {
		strbuf_printf(c->in->dump_bpf, "%s\n", p->text);
		emit_dump(code, c->in->dump_bpf);
	}
	return err;
}

static int emit_all(struct compiler *c)
{
	vec_for_each (&c->program->probes, p) {
		int err = emit_one(c, p->code, p);
		if (err)
			return err;
	}
	return lower_shared_finish(c->program, &c->shared);
}

static int run_passes(struct compiler *c)
{
	int err = (c->in->stap ? stap_parse : parse_script)(c->in, c->program, &c->script, c->diag);
	stage_done(c, LANG_PARSE);
	if (err)
		return err;
	if (c->in->dump_ast)
		dump_script(&c->script, c->program, false, c->in->dump_ast);
	err = check_script(&c->check);
	if (!err)
		err = make_maps(c);
	stage_done(c, LANG_CHECK);
	if (err)
		return err;
	if (c->in->dump_types)
		dump_script(&c->script, c->program, true, c->in->dump_types);
	c->program->tree = tree_keep(c->program, &c->check);
	if (!c->program->tree)
		return -ENOMEM;
	err = lower_all(c);
	stage_done(c, LANG_LOWER);
	if (!err)
		err = emit_all(c);
	stage_done(c, LANG_REGISTERS);
	return err;
}

struct lang_tree *tree_keep(struct program *p, const struct checker *c)
{
	struct lang_tree *t = arena_zalloc(&p->arena, sizeof(*t));
	const char **params = arena_array(&p->arena, c->in->nr_params + 1, sizeof(*params));
	char *text = arena_strndup(&p->arena, c->in->text, c->in->len);
	if (!t || !params || !text)
		return NULL;
	for (u32 i = 0; i < c->in->nr_params; i++)
		if (!(params[i] = arena_strdup(&p->arena, c->in->params[i])))
			return NULL;
	t->in = (struct lang_input){ .text = text,
				     .len = c->in->len,
				     .params = params,
				     .nr_params = c->in->nr_params,
				     .stap = c->in->stap,
				     .allow_unsafe = true };
	t->script = *c->script;
	t->check = *c;
	return t;
}

int lang_compile(const struct lang_input *in, struct program *ret, struct diag *d)
{
	struct lang_input whole = *in;
	struct compiler c = {
		.in = &whole, .program = ret, .diag = d, .last_ns = clock_monotonic_ns()
	};
	memset(&c.shared, 0xff, offsetof(struct lower_shared, scratch_size));
	*ret = (struct program){ 0 };
	arena_init(&ret->arena);
	c.check = (struct checker){
		.in = &whole, .program = ret, .script = &c.script, .diag = d, .arena = &ret->arena
	};
	strbuf_init(&c.shared.bytes);
	int err = import_all(&whole, &ret->arena, d);
	ret->text = whole.text;
	if (!err)
		err = run_passes(&c);
	if (err && ret->arena.failed)
		err = -ENOMEM;
	for (u32 i = 0; i < c.nr; i++)
		done_one(&c, i);
	strbuf_done(&c.shared.bytes);
	return err;
}

void program_done(struct program *p)
{
	vec_free(&p->maps);
	vec_free(&p->codes);
	vec_free(&p->probes);
	vec_free(&p->actions);
	arena_done(&p->arena);
}
