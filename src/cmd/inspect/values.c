/* inspect p, struct, whatis, list and tree: typed values. */
#include "cmd/inspect/inspect.h"

#include "base/num.h"
#include "image/type_decl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const u32 compound_kinds = BTF_BIT(BTF_OF_STRUCT) | BTF_BIT(BTF_OF_UNION);

/* ---- p --------------------------------------------------------------------------------------------------------------------- */

static int value_json(struct inspect *i, const char *text, const struct kvalue *v, s32 cpu)
{
	struct strbuf type;
	json_object(&i->j);
	json_put_str(&i->j, "expression", text);
	if (cpu >= 0)
		json_put_u64(&i->j, "cpu", (u64)cpu);
	strbuf_init(&type);
	ktype_name(&v->type, &type);
	json_put_str(&i->j, "type", strbuf_cstr(&type));
	strbuf_done(&type);
	if (v->is_place)
		inspect_json_address(i, "address", v->addr);
	json_key(&i->j, "value");
	int err = print_json(&i->k, v, &i->print, &i->j);
	json_object_end(&i->j);
	return err;
}

static int print_one(struct inspect *i, const char *text, const struct kvalue *v)
{
	if (i->app->json)
		return value_json(i, text, v, -1);
	size_t before = i->text.len;
	strbuf_printf(&i->text, "%s = $%u = ", text, ++i->history);
	int err = print_value(&i->k, v, &i->print, &i->text);
	if (err)
		i->text.len = before;
	else
		strbuf_char(&i->text, '\n');
	return err;
}

/* A per-CPU variable without a CPU: its type and where each copy is, as crash does. */
static int print_copies(struct inspect *i, const char *text, const struct kvalue *v)
{
	struct kvalue one = *v;
	int err = 0;
	if (!i->app->json) {
		strbuf_str(&i->text, "PER-CPU DATA TYPE:\n  ");
		ktype_declare(&v->type, v->symbol ? v->symbol : "", &i->text);
		strbuf_str(&i->text, ";\nPER-CPU ADDRESSES:\n");
	}
	one.is_per_cpu = false;
	for (u32 cpu = 0; !err && cpu < kspace_nr_cpus(&i->k); cpu++) {
		err = kspace_per_cpu(&i->k, &v->global, cpu, &one.addr);
		if (!err && i->app->json)
			err = value_json(i, text, &one, (s32)cpu);
		else if (!err)
			strbuf_printf(&i->text, "  [%u]: %llx\n", cpu, (unsigned long long)one.addr);
	}
	return err;
}

/* NAME:a: the expression once for each CPU. */
static int print_all_cpus(struct inspect *i, const char *text, struct cexpr *tree,
			  struct cexpr *which)
{
	int err = 0;
	for (u32 cpu = 0; !err && cpu < kspace_nr_cpus(&i->k); cpu++) {
		struct kvalue v;
		which->cpu = (s32)cpu;
		err = eval_tree(&i->k, tree, text, &v);
		if (!err && i->app->json) {
			err = value_json(i, text, &v, (s32)cpu);
		} else if (!err) {
			strbuf_printf(&i->text, "per_cpu(%s, %u) = $%u = ", text, cpu, ++i->history);
			err = print_value(&i->k, &v, &i->print, &i->text);
			strbuf_char(&i->text, '\n');
		}
	}
	return err;
}

int inspect_print(struct inspect *i, int argc, char **argv)
{
	struct kvalue v;
	struct cexpr *tree;
	if (!argc)
		return inspect_usage(i, "which expression?");
	const char *text = inspect_join(i, argc, argv);
	if (!text)
		return -ENOMEM;
	int err = eval_parse(&i->k, text, &tree);
	struct cexpr *which = err ? NULL : eval_all_cpus(tree);
	if (which)
		return print_all_cpus(i, text, tree, which);
	if (!err)
		err = eval_tree(&i->k, tree, text, &v);
	if (err)
		return err;
	return v.is_per_cpu ? print_copies(i, text, &v) : print_one(i, text, &v);
}

/* ---- struct ---------------------------------------------------------------------------------------------------------------- */

/* "task_struct.pid,comm": the type, and the list after the dot, "" for none. */
struct named_members {
	struct ktype type;
	const char *members;
};

static int find_struct(struct inspect *i, const char *word, struct named_members *ret)
{
	char name[128];
	size_t len = strcspn(word, ".");
	if (!len || len >= sizeof(name))
		return diag_error(&i->app->diag, -ENOENT, "invalid name of a structure '%s'", word);
	memcpy(name, word, len);
	name[len] = '\0';
	if (!kspace_find_type(&i->k, name, compound_kinds, &ret->type) &&
	    !kspace_find_type(&i->k, name, BTF_BIT(BTF_OF_TYPEDEF), &ret->type)) {
		struct btf *b;
		int err = kspace_types(&i->k, &b); /* which says why there are none */
		return err ? err
			   : diag_error(&i->app->diag, -ENOENT, "this kernel has no structure '%s'",
					name);
	}
	struct btf_desc d;
	enum btf_kind kind = ktype_kind(&ret->type, &d);
	if (kind != BTF_OF_STRUCT && kind != BTF_OF_UNION)
		return diag_error(&i->app->diag, -EINVAL, "'%s' is not a struct or union", name);
	ret->members = word[len] ? word + len + 1 : "";
	return 0;
}

bool inspect_names_struct(struct inspect *i, const char *word)
{
	char name[128];
	struct ktype t;
	size_t len = strcspn(word, ".");
	if (!len || len >= sizeof(name))
		return false;
	memcpy(name, word, len);
	name[len] = '\0';
	return kspace_find_type(&i->k, name, compound_kinds, &t);
}

/* The next path of "pid,comm"; false: none is left. */
static bool next_member(const char **list, char *to, size_t size)
{
	*list += **list == ',';
	size_t len = strcspn(*list, ",");
	if (!len || len >= size)
		return false;
	memcpy(to, *list, len);
	to[len] = '\0';
	*list += len;
	return true;
}

/* The last name of a path: what stands before " = ". */
static const char *last_name(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot ? dot + 1 : path;
}

static int member_value(struct inspect *i, const struct ktype *type, const char *path, u64 addr,
			struct kvalue *ret)
{
	u64 bit;
	u8 bits;
	struct ktype member;
	int err = eval_path(&i->k, type, path, &member, &bit, &bits);
	if (!err)
		*ret = (struct kvalue){ .type = member,
					.is_place = true,
					.addr = addr + bit / 8,
					.bits = bits,
					.bit_offset = (u8)(bits ? bit % 8 : 0) };
	return err;
}

/* "  pid = 1,\n" for each that is asked for. In JSON: an object. */
static int print_members(struct inspect *i, const struct named_members *n, u64 addr)
{
	char path[256];
	const char *list = n->members;
	int err = 0;
	if (i->app->json)
		json_object(&i->j);
	while (!err && next_member(&list, path, sizeof(path))) {
		struct kvalue v;
		err = member_value(i, &n->type, path, addr, &v);
		if (err)
			break;
		if (i->app->json) {
			json_key(&i->j, path);
			err = print_json(&i->k, &v, &i->print, &i->j);
			continue;
		}
		err = print_member(&i->k, last_name(path), &v, &i->print, 1, &i->text);
		strbuf_str(&i->text, err ? "" : ",\n");
	}
	if (i->app->json)
		json_object_end(&i->j);
	return err;
}

static int print_whole(struct inspect *i, const struct named_members *n, u64 addr)
{
	struct kvalue v = { .type = n->type, .is_place = true, .addr = addr };
	if (i->app->json)
		return print_json(&i->k, &v, &i->print, &i->j);
	ktype_name(&n->type, &i->text);
	strbuf_char(&i->text, ' ');
	int err = print_value(&i->k, &v, &i->print, &i->text);
	strbuf_char(&i->text, '\n');
	return err;
}

static int print_struct_at(struct inspect *i, const struct named_members *n, u64 addr)
{
	if (i->app->json) {
		struct strbuf type;
		strbuf_init(&type);
		ktype_name(&n->type, &type);
		json_object(&i->j);
		inspect_json_address(i, "address", addr);
		json_put_str(&i->j, "type", strbuf_cstr(&type));
		json_key(&i->j, "value");
		strbuf_done(&type);
	}
	size_t before = i->text.len;
	int err = *n->members ? print_members(i, n, addr) : print_whole(i, n, addr);
	if (err)
		i->text.len = before;
	if (i->app->json)
		json_object_end(&i->j);
	return err;
}

static void define_json(struct inspect *i, const struct ktype *t, const struct btf_desc *d)
{
	struct btf_part p;
	struct strbuf type;
	strbuf_init(&type);
	json_object(&i->j);
	json_put_str(&i->j, "name", d->name);
	json_put_u64(&i->j, "size", ktype_size(t));
	json_key(&i->j, "members");
	json_array(&i->j);
	for (u32 n = 0; btf_part(t->b, d, n, &p); n++) {
		struct ktype member = ktype_of(t->b, p.type);
		strbuf_reset(&type);
		ktype_name(&member, &type);
		json_object(&i->j);
		json_put_str(&i->j, "name", p.name);
		if (d->kind == BTF_OF_ENUM || d->kind == BTF_OF_ENUM64) {
			json_put_s64(&i->j, "value", p.value);
		} else {
			json_put_str(&i->j, "type", strbuf_cstr(&type));
			json_put_u64(&i->j, "offset", p.bit_offset / 8);
			if (p.bits) {
				json_put_u64(&i->j, "bit", p.bit_offset % 8);
				json_put_u64(&i->j, "bits", p.bits);
			}
		}
		json_object_end(&i->j);
	}
	json_array_end(&i->j);
	json_object_end(&i->j);
	strbuf_done(&type);
}

/* The definition, as a whole or of some members with their offsets. */
static int print_definition(struct inspect *i, const struct named_members *n)
{
	struct btf_desc d;
	struct type_decl_opts o = { .offsets = i->o->offsets, .hex = i->o->hex };
	char path[256];
	const char *list = n->members;
	int err = 0;
	(void)ktype_kind(&n->type, &d);
	if (i->app->json && !*n->members) {
		define_json(i, &n->type, &d);
		return 0;
	}
	if (!*n->members) {
		(void)type_decl_define(n->type.b, n->type.id, o, &i->text);
		strbuf_printf(&i->text, i->o->hex ? "SIZE: 0x%llx\n" : "SIZE: %llu\n",
			      (unsigned long long)ktype_size(&n->type));
		return 0;
	}
	struct strbuf *to = &i->text;
	if (!i->app->json) {
		ktype_name(&n->type, to);
		strbuf_str(to, " {\n");
	}
	while (!err && next_member(&list, path, sizeof(path))) {
		struct kvalue v;
		char offset[32];
		err = member_value(i, &n->type, path, 0, &v);
		if (err)
			break;
		if (i->app->json) {
			struct strbuf type;
			strbuf_init(&type);
			ktype_name(&v.type, &type);
			json_object(&i->j);
			json_put_str(&i->j, "name", path);
			json_put_str(&i->j, "type", strbuf_cstr(&type));
			json_put_u64(&i->j, "offset", v.addr);
			json_put_u64(&i->j, "size", ktype_size(&v.type));
			json_object_end(&i->j);
			strbuf_done(&type);
			continue;
		}
		(void)snprintf(offset, sizeof(offset), i->o->hex ? "[0x%llx]" : "[%llu]",
			       (unsigned long long)v.addr);
		strbuf_right(to, offset, 6);
		strbuf_char(to, ' ');
		ktype_declare(&v.type, path, to);
		if (v.bits)
			strbuf_printf(to, " : %u", v.bits);
		strbuf_str(to, ";\n");
	}
	if (!i->app->json)
		strbuf_str(to, "}\n");
	return err;
}

int inspect_struct(struct inspect *i, int argc, char **argv)
{
	struct named_members n;
	u64 addr, count = 1;
	if (!argc || argc > 3)
		return inspect_usage(i, argc ? "too many words: NAME[.MEMBER,...] [ADDRESS [COUNT]]"
					     : "which structure?");
	int err = find_struct(i, argv[0], &n);
	if (err || argc == 1)
		return err ? err : print_definition(i, &n);
	err = eval_address_text(&i->k, argv[1], &addr);
	if (!err && argc == 3 && (num_parse_u64(argv[2], 0, &count) || !count || count > 1 << 20))
		err = diag_error(&i->app->diag, -EINVAL, "invalid count '%s'", argv[2]);
	u64 size = ktype_size(&n.type);
	for (u64 c = 0; !err && c < count; c++)
		err = print_struct_at(i, &n, addr + c * size);
	return err;
}

/* ---- whatis ---------------------------------------------------------------------------------------------------------------- */

static int whatis_global(struct inspect *i, const char *name)
{
	struct kspace_global g;
	struct strbuf s;
	int err = kspace_global(&i->k, name, &g);
	if (err)
		return err;
	if (!g.type.b)
		return diag_error(&i->app->diag, -ENODATA,
				  "'%s' is a symbol of this kernel, but its type is not known: BTF "
				  "has no global variables",
				  name);
	strbuf_init(&s);
	ktype_declare(&g.type, name, &s);
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "name", name);
		json_put_str(&i->j, "declaration", strbuf_cstr(&s));
		json_put_u64(&i->j, "size", ktype_size(&g.type));
		json_object_end(&i->j);
	} else {
		strbuf_printf(&i->text, "%s;\n", strbuf_cstr(&s));
	}
	strbuf_done(&s);
	return 0;
}

static int whatis_type(struct inspect *i, const struct ktype *t, const char *name)
{
	struct btf_desc d;
	struct strbuf s;
	if (!btf_describe(t->b, t->id, &d))
		return -ENOENT;
	if (d.kind != BTF_OF_TYPEDEF && d.kind != BTF_OF_INT) {
		(void)ktype_kind(t, &d);
		if (i->app->json) {
			define_json(i, t, &d);
			return 0;
		}
		(void)type_decl_define(
			t->b, t->id, (struct type_decl_opts){ .offsets = i->o->offsets }, &i->text);
		strbuf_printf(&i->text, "SIZE: %llu\n", (unsigned long long)ktype_size(t));
		return 0;
	}
	strbuf_init(&s);
	if (d.kind == BTF_OF_TYPEDEF) {
		strbuf_str(&s, "typedef ");
		type_decl(t->b, d.ref, name, (struct type_decl_opts){ .whole = true }, &s);
	} else {
		strbuf_str(&s, name);
	}
	if (i->app->json) {
		json_object(&i->j);
		json_put_str(&i->j, "name", name);
		json_put_str(&i->j, "declaration", strbuf_cstr(&s));
		json_put_u64(&i->j, "size", ktype_size(t));
		json_object_end(&i->j);
	} else {
		strbuf_printf(&i->text, "%s;\nSIZE: %llu\n", strbuf_cstr(&s),
			      (unsigned long long)ktype_size(t));
	}
	strbuf_done(&s);
	return 0;
}

int inspect_whatis(struct inspect *i, int argc, char **argv)
{
	static const struct {
		const char *word;
		u32 kinds;
	} tags[] = { { "struct", BTF_BIT(BTF_OF_STRUCT) },
		     { "union", BTF_BIT(BTF_OF_UNION) },
		     { "enum", BTF_BIT(BTF_OF_ENUM) | BTF_BIT(BTF_OF_ENUM64) } };
	struct ktype t;
	struct btf *b;
	u32 kinds = 0;
	if (!argc || argc > 2)
		return inspect_usage(i, argc ? "one name at a time" : "which name?");
	int err = kspace_types(&i->k, &b);
	if (err)
		return err;
	for (size_t n = 0; argc == 2 && n < ARRAY_SIZE(tags); n++)
		if (!strcmp(argv[0], tags[n].word))
			kinds = tags[n].kinds;
	if (argc == 2 && !kinds)
		return diag_error(&i->app->diag, -ENOENT, "unexpected argument '%s'", argv[1]);
	const char *name = argv[argc - 1];
	if (kinds && !kspace_find_type(&i->k, name, kinds, &t))
		return diag_error(&i->app->diag, -ENOENT, "this kernel has no %s '%s'", argv[0],
				  name);
	if (kinds)
		return whatis_type(i, &t, name);
	/* As crash: a variable or function comes before a structure of the same name only where there is one. */
	const u32 types = compound_kinds | BTF_BIT(BTF_OF_ENUM) | BTF_BIT(BTF_OF_ENUM64) |
			  BTF_BIT(BTF_OF_TYPEDEF) | BTF_BIT(BTF_OF_INT);
	if (!kspace_find_type(&i->k, name, BTF_BIT(BTF_OF_FUNCTION) | BTF_BIT(BTF_OF_VARIABLE), &t) &&
	    !kspace_global_type(name) && kspace_find_type(&i->k, name, types, &t))
		return whatis_type(i, &t, name);
	return whatis_global(i, name);
}

/* ---- list and tree --------------------------------------------------------------------------------------------------------- */

struct walk_print {
	struct inspect *i;
	struct named_members *members;
	size_t nr;
	bool indices; /* of an xarray or maple tree */
};

static int print_node(void *ctx, const struct walk_node *node)
{
	struct walk_print *w = ctx;
	struct inspect *i = w->i;
	int err = 0;
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "address", node->addr);
		if (w->indices) {
			json_put_u64(&i->j, "first", node->first);
			json_put_u64(&i->j, "last", node->last);
		}
		if (w->nr) {
			json_key(&i->j, "objects");
			json_array(&i->j);
		}
	} else if (w->indices && node->first != node->last) {
		strbuf_printf(&i->text, "%llx  %llx-%llx\n", (unsigned long long)node->addr,
			      (unsigned long long)node->first, (unsigned long long)node->last);
	} else if (w->indices) {
		strbuf_printf(&i->text, "%llx  %llx\n", (unsigned long long)node->addr,
			      (unsigned long long)node->first);
	} else {
		strbuf_hex(&i->text, node->addr);
		strbuf_char(&i->text, '\n');
	}
	for (size_t n = 0; !err && n < w->nr; n++)
		err = *w->members[n].members ? print_members(i, &w->members[n], node->addr)
					     : print_whole(i, &w->members[n], node->addr);
	if (i->app->json) {
		if (w->nr)
			json_array_end(&i->j);
		json_object_end(&i->j);
	}
	return err;
}

static int parse_members(struct inspect *i, struct walk_print *w)
{
	const struct opt_list *l = &i->o->members;
	w->members = arena_array(&i->k.arena, max(l->items.nr, (size_t)1), sizeof(*w->members));
	if (!w->members)
		return -ENOMEM;
	int err = 0;
	vec_for_each (&l->items, s)
		if (!err) {
			err = find_struct(i, *s, &w->members[w->nr]);
			w->nr += !err;
		}
	return err;
}

/* "16", "0x10" or "tracer.next" */
static int parse_offset(struct inspect *i, const char *text, u64 *ret)
{
	struct named_members n;
	struct ktype type;
	u8 bits;
	u64 bit;
	if (!num_parse_u64(text, 0, ret))
		return 0;
	int err = find_struct(i, text, &n);
	if (!err && !*n.members)
		err = diag_error(&i->app->diag, -EINVAL, "'%s': expected TYPE.MEMBER", text);
	if (!err)
		err = eval_path(&i->k, &n.type, n.members, &type, &bit, &bits);
	if (!err)
		*ret = bit / 8;
	return err;
}

static int report_end(struct inspect *i, const char *what)
{
	const struct walk_result *r = &i->walk;
	unsigned long long at = r->at, nr = r->nr;
	i->walked = true;
	switch (r->end) {
	case WALK_LOOP:
		return diag_error(&i->app->diag, -ELOOP,
				  "duplicate %s entry %llx after %llu objects: a loop, or the %s "
				  "changed while it was read",
				  what, at, nr, what);
	case WALK_BAD:
		return diag_error(
			&i->app->diag, -EFAULT,
			"cannot read the %s at 0x%llx after %llu objects: not a %s, or it "
			"changed while it was read",
			what, at, nr, what);
	case WALK_DEEP:
		return diag_error(&i->app->diag, -ELOOP,
				  "the %s is deeper than any can be, after %llu objects", what, nr);
	case WALK_STOPPED: diag_note(&i->app->diag, "stopped after %llu objects", nr); return 0;
	default: return 0;
	}
}

int inspect_list(struct inspect *i, int argc, char **argv)
{
	struct walk_print print = { .i = i };
	struct walk_list w = { .limit = i->o->limit,
			       .backwards = i->o->backwards,
			       .kind = i->o->head	? WALK_LIST_HEAD
				       : i->o->embedded ? WALK_LIST_OBJECT
							: WALK_LIST_NEXT };
	const char *offset = i->o->list_offset, *start = argc ? argv[argc - 1] : NULL;
	if (i->o->head && i->o->embedded)
		return inspect_usage(i, "-H and -h exclude each other");
	if (argc == 2 && !offset)
		offset = argv[0];
	else if (argc != 1)
		return inspect_usage(i, argc ? "too many words: [OFFSET|TYPE.MEMBER] START"
					     : "where does the list start?");
	int err = offset ? parse_offset(i, offset, &w.offset) : 0;
	if (!err)
		err = parse_members(i, &print);
	if (!err)
		err = eval_address_text(&i->k, start, &w.start);
	if (!err && i->o->end)
		err = eval_address_text(&i->k, i->o->end, &w.end);
	if (!err)
		err = walk_list(&i->k, &w, print_node, &print, &i->walk);
	return err ? err : report_end(i, "list");
}

int inspect_tree(struct inspect *i, int argc, char **argv)
{
	struct walk_print print = { .i = i, .indices = i->o->tree_kind != WALK_RBTREE };
	struct walk_tree w = { .kind = (enum walk_tree_kind)i->o->tree_kind, .limit = i->o->limit };
	if (argc != 1)
		return inspect_usage(i, argc ? "too many words: one ROOT" : "which tree?");
	int err = i->o->list_offset ? parse_offset(i, i->o->list_offset, &w.offset) : 0;
	if (!err)
		err = parse_members(i, &print);
	if (!err)
		err = eval_address_text(&i->k, argv[0], &w.root);
	if (!err)
		err = walk_tree(&i->k, &w, print_node, &print, &i->walk);
	return err ? err : report_end(i, "tree");
}

/* ---- eval ------------------------------------------------------------------------------------------------------------------ */

int inspect_eval(struct inspect *i, int argc, char **argv)
{
	enum { BITS = 64 };
	struct kvalue v;
	char bits[BITS + 1];
	u64 n;
	if (!argc)
		return inspect_usage(i, "which expression?");
	const char *text = inspect_join(i, argc, argv);
	int err = text ? eval_text(&i->k, text, &v) : -ENOMEM;
	if (!err)
		err = eval_number(&i->k, &v, &n);
	if (err)
		return err;
	for (u32 b = 0; b < BITS; b++)
		bits[b] = n >> (BITS - 1 - b) & 1 ? '1' : '0';
	bits[BITS] = '\0';
	if (i->app->json) {
		json_object(&i->j);
		inspect_json_address(i, "hexadecimal", n);
		json_put_u64(&i->j, "decimal", n);
		json_put_s64(&i->j, "signed", (s64)n);
		json_object_end(&i->j);
		return 0;
	}
	strbuf_printf(&i->text, "hexadecimal: %llx\n    decimal: %llu", (unsigned long long)n,
		      (unsigned long long)n);
	if ((s64)n < 0)
		strbuf_printf(&i->text, "  (%lld)", (long long)n);
	strbuf_printf(&i->text, "\n      octal: %llo\n     binary: %s\n", (unsigned long long)n,
		      bits);
	return 0;
}
