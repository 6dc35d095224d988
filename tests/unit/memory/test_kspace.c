/* memory: a small kernel in a folder and a buffer: symbols, types, expressions, printing, walks. */
#include "tap.h"

#include "gen/btfwrite.h"
#include "image/type_decl.h"
#include "memory/kdiff.h"
#include "memory/print.h"
#include "memory/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BASE = 0x10000, SIZE = 0x2000 };

/* What the types below describe. */
struct node {
	u64 next;
	s32 num;
	char name[8];
	u32 bits; /* low : 3, high : 5 */
	u32 color;
	u64 handler;
	u64 text;
	u32 array[12];
};

static struct {
	struct node nodes[4];
	u64 head[2];
	char text[64];
	u64 pointer; /* the variable `first` */
	u64 counter;
} world;

enum { WORLD = BASE + 0x100 };

static u64 at_of(const void *p)
{
	return WORLD + (u64)((const char *)p - (const char *)&world);
}

static void fill_world(void)
{
	static const char *const names[] = { "one", "two", "three", "seventy" };
	for (u32 i = 0; i < 4; i++) {
		struct node *n = &world.nodes[i];
		n->next = i < 3 ? at_of(&world.nodes[i + 1]) : 0;
		n->num = (s32)i - 1;
		memcpy(n->name, names[i], strlen(names[i]));
		n->bits = 5 | 9 << 3;
		n->color = i;
		n->handler = BASE + 0x10;
		n->text = at_of(world.text);
		n->array[0] = 7;
	}
	strcpy(world.text, "a \"b\"\n\033[0m");
	world.pointer = at_of(&world.nodes[0]);
	world.counter = 0x8000000000000001ull;
}

static void write_types(struct writer *w)
{
	*w = (struct writer){ .id = 1 };
	(void)name(w, "");
	u32 sint = type(w, "int", INT, 0, 4);
	word(w, 1u << 24 | 32);
	u32 uint = type(w, "unsigned int", INT, 0, 4);
	word(w, 32);
	u32 ulong = type(w, "long unsigned int", INT, 0, 8);
	word(w, 64);
	u32 chr = type(w, "char", INT, 0, 1);
	word(w, 1u << 24 | 8);
	u32 u = type(w, "u64", TYPEDEF, 0, ulong);
	u32 array = type(w, "", ARRAY, 0, 0);
	word(w, chr);
	word(w, uint);
	word(w, 8);
	u32 numbers = type(w, "", ARRAY, 0, 0);
	word(w, uint);
	word(w, uint);
	word(w, 12);
	u32 color = type(w, "color", ENUM, 3, 4);
	const char *const colors[] = { "RED", "GREEN", "BLUE" };
	for (u32 i = 0; i < 3; i++) {
		word(w, name(w, colors[i]));
		word(w, i);
	}
	u32 self = w->id + 6; /* of the struct */
	u32 pointer = type(w, "", PTR, 0, self);
	u32 text = type(w, "", CONST, 0, chr);
	u32 ptext = type(w, "", PTR, 0, text);
	u32 proto = type(w, "", PROTO, 2, sint);
	word(w, name(w, "n"));
	word(w, pointer);
	word(w, name(w, "x"));
	word(w, u);
	u32 handler = type(w, "", PTR, 0, proto);
	u32 inner = type(w, "", STRUCT | FLAG, 2, 4);
	word(w, name(w, "low"));
	word(w, uint);
	word(w, 3u << 24);
	word(w, name(w, "high"));
	word(w, uint);
	word(w, 5u << 24 | 3);
	const struct {
		const char *name;
		u32 type, offset;
	} members[] = { { "next", pointer, offsetof(struct node, next) },
			{ "num", sint, offsetof(struct node, num) },
			{ "name", array, offsetof(struct node, name) },
			{ "", inner, offsetof(struct node, bits) },
			{ "color", color, offsetof(struct node, color) },
			{ "handler", handler, offsetof(struct node, handler) },
			{ "text", ptext, offsetof(struct node, text) },
			{ "array", numbers, offsetof(struct node, array) } };
	u32 made = type(w, "node", STRUCT, ARRAY_SIZE(members), sizeof(struct node));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		word(w, members[i].name[0] ? name(w, members[i].name) : 0);
		word(w, members[i].type);
		word(w, members[i].offset * 8);
	}
	ok(made == self, "the struct has the number that its pointer names");
	(void)type(w, "work", FUNC, 1, proto);
	finish(w);
}

static void put_file(const char *root, const char *path, const void *data, size_t len)
{
	char full[256], *slash;
	(void)snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		(void)mkdir(full, 0755);
	}
	int fd = open(full, O_CREAT | O_TRUNC | O_WRONLY, 0644);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		ok(false, "cannot write %s", full);
	if (fd >= 0)
		(void)close(fd);
}

static void open_kernel(struct kspace *k, const char *root, struct diag *d)
{
	static u8 bytes[SIZE];
	memcpy(bytes + 0x100, &world, sizeof(world));
	kspace_init(k, &(struct kspace_opts){ .root = root }, d);
	ok(!memory_open_bytes(BASE, bytes, sizeof(bytes), &k->memory), "memory opens");
}

static void prints(struct kspace *k, const char *text, const char *want)
{
	struct kvalue v;
	struct strbuf s;
	strbuf_init(&s);
	diag_done(k->diag);
	int err = eval_text(k, text, &v);
	if (!err)
		err = print_value(k, &v, &(struct print_opts){ 0 }, &s);
	if (err)
		strbuf_printf(&s, "error: %s",
			      k->diag->items.nr ? k->diag->items.at[0].message : "?");
	is_str(strbuf_cstr(&s), want, text);
	strbuf_done(&s);
}

static void check_values(struct kspace *k)
{
	prints(k, "(struct node *)first", "(struct node *) 0x10100 <nodes>");
	prints(k, "((struct node *)first)->num", "-1");
	prints(k, "((struct node *)first)->next->num", "0");
	prints(k, "((struct node *)first).next.next.num", "1");
	prints(k, "((struct node *)first)->name", "\"one\\000\\000\\000\\000\"");
	prints(k, "((struct node *)first)[3].name", "\"seventy\"");
	prints(k, "((struct node *)first)->low", "5");
	prints(k, "((struct node *)first)->high", "9");
	prints(k, "((struct node *)first)->color", "RED");
	prints(k, "((struct node *)first)[3].color", "(GREEN | BLUE)");
	prints(k, "((struct node *)first)->handler", "(int (*)(struct node *, u64)) 0x10010 <work>");
	prints(k, "((struct node *)first)->array", "{7, 0 <repeats 11 times>}");
	prints(k, "((struct node *)first)->array[0:3]", "{7, 0, 0}");
	prints(k, "(u64)counter", "9223372036854775809");
	prints(k, "(int)(u64)counter", "1");
	prints(k, "*(int *)(&((struct node *)first)->num)", "-1");
	prints(k,
	       "container_of(&((struct node *)first)->num, struct node, num) == (struct node "
	       "*)first",
	       "1");
	prints(k, "(struct node *)first + 1", "(struct node *) 0x10160 <nodes+0x60>");
	prints(k, "&((struct node *)first)[2] - (struct node *)first", "2");
	prints(k, "sizeof(struct node) + offsetof(struct node, array[2])", "152");
	prints(k, "-7 / 2", "-3");
	prints(k, "7 % 0", "error: division by zero");
	prints(k, "1 << 64", "error: shift by more than 63 bits");
	prints(k, "GREEN", "GREEN");
	prints(k, "work", "{int (struct node *, u64)} 0x10010 <work>");
	prints(k, "first", "error: the type of 'first' is not known");
	prints(k, "nosuch", "error: no symbol 'nosuch' in this kernel");
	prints(k, "((struct node *)first)->nam", "error: struct node has no member 'nam'");
	prints(k, "*(int *)0x99999999",
	       "error: cannot read 4 bytes at 0x99999999 (a value): bad address");
	prints(k, "(struct nosuch *)1", "error: unknown type 'struct nosuch'");
	prints(k, "&5", "error: a number has no address");
	prints(k, "&((struct node *)first)->low", "error: a bitfield has no address");
	prints(k, "work:0", "error: not a per-CPU variable");
	prints(k, "*((struct node *)first)",
	       "{\n"
	       "  next = 0x10160 <nodes+0x60>,\n"
	       "  num = -1,\n"
	       "  name = \"one\\000\\000\\000\\000\",\n"
	       "  {\n"
	       "    low = 5,\n"
	       "    high = 9\n"
	       "  },\n"
	       "  color = RED,\n"
	       "  handler = 0x10010 <work>,\n"
	       "  text = 0x10290 <text> \"a \\\"b\\\"\\n\\033[0m\",\n"
	       "  array = {7, 0 <repeats 11 times>}\n"
	       "}");
	diag_done(k->diag);
}

static void check_json(struct kspace *k)
{
	struct strbuf s;
	struct kvalue v;
	struct json j;
	strbuf_init(&s);
	json_begin(&j, &s, JSON_COMPACT);
	int err = eval_text(k, "*(struct node *)first", &v);
	if (!err)
		err = print_json(k, &v, &(struct print_opts){ 0 }, &j);
	ok(!err && !json_end(&j), "JSON is whole");
	is_str(strbuf_cstr(&s),
	       "{\"next\":{\"address\":\"0x10160\",\"symbol\":\"nodes+0x60\"},\"num\":-1,\"name\":"
	       "\"one\",\"low\":5,\"high\":9,\"color\":\"RED\",\"handler\":{\"address\":"
	       "\"0x10010\","
	       "\"symbol\":\"work\"},\"text\":{\"address\":\"0x10290\",\"symbol\":\"text\","
	       "\"string\":\"a \\\"b\\\"\\n\\u001b[0m\"},\"array\":[7,0,0,0,0,0,0,0,0,0,0,0]}\n",
	       "a struct as JSON");
	strbuf_done(&s);
}

static void check_declarations(struct kspace *k)
{
	struct strbuf s;
	struct ktype t;
	strbuf_init(&s);
	ok(kspace_find_type(k, "node", BTF_BIT(BTF_OF_STRUCT), &t), "the struct is found");
	ok(type_decl_define(t.b, t.id, (struct type_decl_opts){ .offsets = true }, &s),
	   "and defined");
	is_str(strbuf_cstr(&s),
	       "struct node {\n"
	       "   [0] struct node *next;\n"
	       "   [8] int num;\n"
	       "  [12] char name[8];\n"
	       "  [20] struct {\n"
	       "[20:0]     unsigned int low : 3;\n"
	       "[20:3]     unsigned int high : 5;\n"
	       "       };\n"
	       "  [24] enum color color;\n"
	       "  [32] int (*handler)(struct node *, u64);\n"
	       "  [40] const char *text;\n"
	       "  [48] unsigned int array[12];\n"
	       "}\n",
	       "a definition with offsets");
	strbuf_reset(&s);
	ok(kspace_find_type(k, "color", BTF_BIT(BTF_OF_ENUM), &t) &&
		   type_decl_define(t.b, t.id, (struct type_decl_opts){ 0 }, &s),
	   "an enum");
	is_str(strbuf_cstr(&s), "enum color {\n    RED = 0,\n    GREEN = 1,\n    BLUE = 2,\n}\n",
	       "with its values");
	ok(kspace_find_type(k, "u64", BTF_BIT(BTF_OF_TYPEDEF), &t) &&
		   !type_decl_define(t.b, t.id, (struct type_decl_opts){ 0 }, &s),
	   "a number has no definition");
	strbuf_done(&s);
}

static void check_symbols(struct kspace *k)
{
	const struct ksyms *s;
	struct ksym sym;
	u64 offset, size;
	ok(!kspace_syms(k, &s), "symbols open");
	ok(ksyms_find(s, "work", &sym) && sym.addr == BASE + 0x10 && sym.kind == 'T', "by name");
	ok(ksyms_at(s, BASE + 0x14, &sym, &offset, &size) && sym.name_len == 4 &&
		   !memcmp(sym.name, "work", 4) && offset == 4 && size == 0x10,
	   "by address, with its size");
	ok(ksyms_at(s, BASE + 0x10, &sym, &offset, &size) && sym.name_len == 4,
	   "the global one of two at an address");
	ok(!ksyms_at(s, BASE + 0xf0, &sym, &offset, &size),
	   "nothing of text reaches beyond _etext");
	ok(!ksyms_at(s, 1, &sym, &offset, &size), "nothing before the first");
	ok(ksyms_find(s, "modfn", &sym) && sym.module_len == 3 && !memcmp(sym.module, "mod", 3),
	   "of a module");
	ok(ksyms_at(s, 0x8000ffe, &sym, &offset, &size) &&
		   !ksyms_at(s, 0x8001000, &sym, &offset, &size),
	   "the last of a module ends with its page");
	ok(!ksyms_find(s, "wor", &sym) && !ksyms_find(s, "", &sym), "no part of a name");
	struct ksyms hidden;
	ok(ksyms_open_text(&hidden, "0000000000000000 T a\n0000000000000000 T b\n", 42) == -EPERM,
	   "hidden addresses are told");
	static const char odd[] = "\n\nzz\n12\n12 T\nffff T \nffff";
	int err = ksyms_open_text(&hidden, odd, sizeof(odd) - 1);
	ok(err == -EPERM || !err, "odd lines are stepped over");
	if (!err)
		ksyms_close(&hidden);
}

static int collect(void *ctx, const struct walk_node *n)
{
	strbuf_printf(ctx, "%llx ", (unsigned long long)n->addr);
	return 0;
}

static void check_walks(struct kspace *k, const char *root, struct diag *d)
{
	struct strbuf s;
	struct walk_result r;
	strbuf_init(&s);
	struct walk_list w = { .start = at_of(&world.nodes[0]) };
	ok(!walk_list(k, &w, collect, &s, &r) && r.end == WALK_ENDED && r.nr == 4, "to the NULL");
	is_str(strbuf_cstr(&s), "10100 10160 101c0 10220 ", "each node");
	w.limit = 2;
	ok(!walk_list(k, &w, collect, &s, &r) && r.end == WALK_STOPPED && r.nr == 2, "a limit");
	w.limit = 0;
	w.end = at_of(&world.nodes[2]);
	ok(!walk_list(k, &w, collect, &s, &r) && r.end == WALK_ENDED && r.nr == 2, "an end");
	/* The third leads back to the second: a loop that never comes back to the start. */
	struct kspace loop;
	world.nodes[2].next = at_of(&world.nodes[1]);
	open_kernel(&loop, root, d);
	w.end = 0;
	ok(!walk_list(&loop, &w, collect, &s, &r) && r.end == WALK_LOOP && r.nr == 3 &&
		   r.at == at_of(&world.nodes[1]),
	   "a loop is noticed");
	kspace_done(&loop);
	world.nodes[2].next = 0x7000000000000000ull;
	open_kernel(&loop, root, d);
	ok(!walk_list(&loop, &w, collect, &s, &r) && r.end == WALK_BAD && r.nr == 4,
	   "a pointer to nowhere is told");
	kspace_done(&loop);
	/* head -> nodes[1].next as a list_head, and back. */
	world.head[0] = at_of(&world.nodes[1].array);
	memcpy(&world.nodes[1].array, &(u64){ at_of(world.head) }, 8);
	open_kernel(&loop, root, d);
	strbuf_reset(&s);
	w = (struct walk_list){ .kind = WALK_LIST_HEAD,
				.start = at_of(world.head),
				.offset = offsetof(struct node, array) };
	ok(!walk_list(&loop, &w, collect, &s, &r) && r.end == WALK_ENDED && r.nr == 1,
	   "from a head of its own");
	is_str(strbuf_cstr(&s), "10160 ", "objects, not list_heads");
	kspace_done(&loop);
	strbuf_done(&s);
}

/* A tree of three, and one that leads into itself. */
static void check_rbtree(const char *root, struct diag *d)
{
	static u64 bytes[16];
	struct kspace k;
	struct strbuf s;
	struct walk_result r;
	enum { AT = 0x20000 };
	/* root, then {parent, right, left} of three */
	bytes[0] = AT + 8;
	bytes[2] = AT + 8 + 24;
	bytes[3] = AT + 8 + 48;
	strbuf_init(&s);
	kspace_init(&k, &(struct kspace_opts){ .root = root }, d);
	ok(!memory_open_bytes(AT, bytes, sizeof(bytes), &k.memory), "memory of a tree");
	struct walk_tree w = { .kind = WALK_RBTREE, .root = AT };
	ok(!walk_tree(&k, &w, collect, &s, &r) && r.end == WALK_ENDED && r.nr == 3, "all of it");
	is_str(strbuf_cstr(&s), "20038 20008 20020 ", "in order");
	kspace_done(&k);
	bytes[3] = AT + 8; /* left of itself */
	kspace_init(&k, &(struct kspace_opts){ .root = root }, d);
	ok(!memory_open_bytes(AT, bytes, sizeof(bytes), &k.memory) &&
		   !walk_tree(&k, &w, collect, &s, &r) && r.end == WALK_DEEP && !r.nr,
	   "one that leads into itself ends");
	kspace_done(&k);
	strbuf_done(&s);
}

static void check_memory(void)
{
	struct memory *m;
	u8 big[3 * MEMORY_PIECE + 5], to[sizeof(big)];
	char text[8];
	bool cut;
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (u8)(i * 7 | 1);
	ok(!memory_open_bytes(0x1000, big, sizeof(big), &m), "a buffer opens");
	ok(!memory_read(m, 0x1000, to, sizeof(to)) && !memcmp(to, big, sizeof(to)),
	   "several pieces");
	is_u64(m->nr_calls, 1, "with one call");
	ok(memory_read(m, 0x1000, to, sizeof(to) + 1) == -EFAULT, "one byte too many");
	ok(memory_read(m, UINT64_MAX - 3, to, 8) == -EFAULT, "beyond the last address");
	ok(!memory_read_text(m, 0x1001, text, sizeof(text), &cut) && cut && strlen(text) == 7,
	   "a text without an end");
	ok(memory_read_text(m, 0x10, text, sizeof(text), &cut) == -EFAULT, "no text");
	memory_close(m);
	ok(memory_open_kcore("/nonexistent", &m) == -ENOENT, "no kcore");
}

/* Two kernels that differ in two members of a node and in one variable. */
static int note_row(void *ctx, const struct kdiff_row *row)
{
	strbuf_printf(ctx, "%s: %s -> %s\n", row->name, row->before ? row->before : "(none)",
		      row->after ? row->after : "(none)");
	return 0;
}

static void differs(const struct kdiff *d, const char *text, const char *want)
{
	struct strbuf *s = d->ctx;
	strbuf_reset(s);
	ok(!kdiff_expression(d, text, &(struct print_opts){ 0 }), "%s is compared", text);
	is_str(strbuf_cstr(s), want, text);
}

static void check_diff(const char *root, struct diag *d)
{
	struct kspace before, after;
	struct strbuf s;
	strbuf_init(&s);
	open_kernel(&before, root, d);
	world.nodes[0].num = 77;
	world.nodes[0].color = 2;
	world.nodes[0].next = 0;
	world.counter++;
	open_kernel(&after, root, d);
	fill_world();
	const struct kdiff diff = { &before, &after, note_row, &s };
	differs(&diff, "((struct node *)first)->name", "");
	differs(&diff, "(u64)counter", "(u64)counter: 9223372036854775809 -> 9223372036854775810\n");
	differs(&diff, "*(struct node *)first",
		"next: 0x10160 <nodes+0x60> -> 0x0\nnum: -1 -> 77\ncolor: RED -> BLUE\n");
	ok(kdiff_expression(&diff, "((struct node *)first)->next->num",
			    &(struct print_opts){ 0 }) == -EFAULT,
	   "what one of them cannot read is an error");
	diag_done(d);
	strbuf_done(&s);
	kspace_done(&before);
	kspace_done(&after);
}

int main(void)
{
	static struct writer w;
	char root[] = "/tmp/sonde-kspace.XXXXXX";
	struct kspace k;
	struct diag d;
	if (!mkdtemp(root))
		return 1;
	fill_world();
	write_types(&w);
	put_file(root, "sys/kernel/btf/vmlinux", w.all, w.size);
	char list[1024];
	int len = snprintf(list, sizeof(list),
			   "%016x T _stext\n%016x t work_alias\n%016x T work\n%016x T after\n"
			   "%016x T _etext\n%016llx d nodes\n%016llx d text\n%016llx d first\n"
			   "%016llx d counter\n%016x t modfn\t[mod]\n",
			   BASE, BASE + 0x10, BASE + 0x10, BASE + 0x20, BASE + 0x80,
			   (unsigned long long)at_of(world.nodes),
			   (unsigned long long)at_of(world.text),
			   (unsigned long long)at_of(&world.pointer),
			   (unsigned long long)at_of(&world.counter), 0x8000000);
	put_file(root, "proc/kallsyms", list, (size_t)len);
	diag_init(&d);
	open_kernel(&k, root, &d);
	check_values(&k);
	check_json(&k);
	check_declarations(&k);
	check_symbols(&k);
	check_walks(&k, root, &d);
	kspace_done(&k);
	check_rbtree(root, &d);
	check_diff(root, &d);
	check_memory();
	diag_done(&d);
	return done_testing();
}
