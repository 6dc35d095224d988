/* Single keys of maps. */
#include "lang/builtin.h"
#include "lang/check_impl.h"

#include <errno.h>
#include <string.h>

/* delete(@m[k]) and delete(@m, k): both become a use of the map with its key. */
static struct node *keyed(struct checker *c, struct node *n)
{
	struct node *m = n->list;
	if (m->kind != NODE_MAP) {
		check_fail(c, m, -EINVAL, "%s() takes a map", n->text);
		return NULL;
	}
	if (n->nr == 2 && !m->nr) {
		struct node *k = m->next;
		m->list = k->kind == NODE_TUPLE ? k->list : k;
		m->nr = k->kind == NODE_TUPLE ? k->nr : 1;
		m->next = NULL;
		n->nr = 1;
	}
	if (n->nr == 2) {
		check_fail(c, m->next, -EINVAL, "the key is given twice");
		return NULL;
	}
	(void)check_map(c, m);
	return c->err ? NULL : m;
}

static const struct program_type *check_delete(struct checker *c, struct node *n)
{
	struct node *m = keyed(c, n);
	return m && (m->map->value || c->final) ? &type_bool : NULL;
}

static struct value lower_delete(struct lower *l, struct node *n)
{
	struct node *m = n->list;
	const struct program_map *own = &l->program->maps.at[m->map->number];
	u32 size = type_room(m->map->value);
	if (own->type == BPF_MAP_TYPE_ARRAY || own->type == BPF_MAP_TYPE_PERCPU_ARRAY) {
		if (own->type == BPF_MAP_TYPE_PERCPU_ARRAY) {
			lower_fail(l, n, -ENOTSUP,
				   "delete() of an aggregate without keys: use clear()");
			return value_imm(0);
		}
		int at = ir_reg(l->ir);
		ir_map_value(l->ir, at, m->map->number, 0);
		lower_zero(l, (struct place){ at, 0 }, size);
		return value_imm(1);
	}
	struct place key = lower_map_key(l, m);
	int err = ir_reg(l->ir), r = ir_reg(l->ir), end = ir_label(l->ir);
	ir_call(l->ir, err, HELPER_MAP_DELETE, 2,
		(struct ir_arg[]){ ir_arg_map(m->map->number), arg_place(key) });
	if (n->unused)
		return value_imm(0);
	ir_imm(l->ir, r, 0);
	ir_if_imm(l->ir, BPF_JNE, err, 0, end);
	ir_imm(l->ir, r, 1);
	ir_place_label(l->ir, end);
	return value_of(r);
}

static const struct program_type *check_has_key(struct checker *c, struct node *n)
{
	struct node *m = keyed(c, n);
	if (m && !m->nr) {
		check_fail(c, m, -EINVAL, "has_key() needs a key");
		return NULL;
	}
	return m ? &type_bool : NULL;
}

static struct value lower_has_key(struct lower *l, struct node *n)
{
	struct node *m = n->list;
	struct place key = lower_map_key(l, m);
	int at = lower_map_lookup(l, m->map, key), r = ir_reg(l->ir), end = ir_label(l->ir);
	ir_imm(l->ir, r, 0);
	ir_if_imm(l->ir, BPF_JEQ, at, 0, end);
	ir_imm(l->ir, r, 1);
	ir_place_label(l->ir, end);
	return value_of(r);
}

static const struct builtin rows[] = {
	{ "delete", 1, 2, 0, check_delete, lower_delete, NULL,
	  "removes a key; whether it was there", .form = "(@MAP, KEY)" },
	{ "has_key", 1, 2, 0, check_has_key, lower_has_key, NULL, "whether a map has the key",
	  .form = "(@MAP, KEY)" },
};

const struct builtin_group builtins_map = { rows, ARRAY_SIZE(rows), "Maps" };
