/* image/btf: functions with all kinds of arguments, modules, both byte orders, and bytes that lie. */
#include "tap.h"

#include "gen/btfwrite.h"
#include "image/btf.h"

#include <errno.h>

/* long f(const char *text, size_t count, struct big *at, bool yes, enum e how, struct big whole); void g(int n, ...); */
static void write_sample(struct writer *w, bool big)
{
	*w = (struct writer){ .id = 1, .big = big };
	(void)name(w, "");
	u32 chr = type(w, "char", INT, 0, 1);
	word(w, 1u << 24 | 8);
	u32 cchr = type(w, "", CONST, 0, chr);
	u32 text = type(w, "", PTR, 0, cchr);
	u32 ulong = type(w, "long unsigned int", INT, 0, 8);
	word(w, 64);
	u32 size = type(w, "size_t", TYPEDEF, 0, ulong);
	u32 slong = type(w, "long int", INT, 0, 8);
	word(w, 1u << 24 | 64);
	u32 sint = type(w, "int", INT, 0, 4);
	word(w, 1u << 24 | 32);
	u32 yes = type(w, "_Bool", INT, 0, 1);
	word(w, 4u << 24 | 8);
	u32 s = type(w, "big", STRUCT, 1, 24);
	word(w, name(w, "m"));
	word(w, sint);
	word(w, 0);
	u32 at = type(w, "", PTR, 0, s);
	u32 e = type(w, "e", ENUM, 1, 4);
	word(w, name(w, "E0"));
	word(w, 0);
	const struct {
		const char *name;
		u32 type;
	} args[] = { { "text", text }, { "count", size }, { "at", at },
		     { "yes", yes },   { "how", e },	  { "whole", s } };
	u32 f = type(w, "", PROTO, ARRAY_SIZE(args), slong);
	for (size_t i = 0; i < ARRAY_SIZE(args); i++) {
		word(w, name(w, args[i].name));
		word(w, args[i].type);
	}
	(void)type(w, "f", FUNC, 1, f);
	u32 g = type(w, "", PROTO, 2, 0);
	word(w, name(w, "n"));
	word(w, sint);
	word(w, 0);
	word(w, 0);
	(void)type(w, "g", FUNC, 1, g);
	u32 loop = w->id;
	(void)type(w, "loop_t", TYPEDEF, 0, loop); /* of itself */
	u32 h = type(w, "", PROTO, 2, 9999);
	word(w, 0);
	word(w, loop);
	word(w, 0xffffff);
	word(w, sint);
	(void)type(w, "h", FUNC, 1, h);
	(void)type(w, "no_proto", FUNC, 1, sint);
	finish(w);
}

static void check_sample(bool big)
{
	static struct writer w;
	struct btf b;
	struct btf_function f;
	write_sample(&w, big);
	ok(!btf_open_memory(&b, w.all, w.size, NULL), "%s endian: opens", big ? "big" : "little");
	ok(!btf_find_function(&b, "f", &f), "finds a function");
	ok(f.nr_args == 6 && !f.variadic && f.result.shape == BTF_SIGNED && f.result.bytes == 8,
	   "its arguments and result are counted");
	static const enum btf_shape shapes[] = { BTF_STRING, BTF_UNSIGNED, BTF_POINTER,
						 BTF_BOOL,   BTF_ENUM,	   BTF_OTHER };
	static const char *const names[] = { "text", "count", "at", "yes", "how", "whole" };
	for (u32 i = 0; i < 6; i++)
		ok(f.args[i].shape == shapes[i] && !strcmp(f.args[i].name, names[i]), "argument %s",
		   names[i]);
	ok(!btf_find_function(&b, "g", &f) && f.nr_args == 1 && f.variadic &&
		   f.args[0].bytes == 4 && f.result.shape == BTF_VOID,
	   "dots are no argument; void is no result");
	ok(!btf_find_function(&b, "h", &f) && f.args[0].shape == BTF_OTHER && !*f.args[1].name &&
		   f.result.shape == BTF_OTHER,
	   "a type of itself, a name and a type out of range are nothing");
	ok(btf_find_function(&b, "no_proto", &f) == -ENOENT &&
		   btf_find_function(&b, "big", &f) == -ENOENT,
	   "what is no function is not found");
	/* Cut anywhere: refused, or fewer answers; never a crash. */
	bool fine = true;
	for (size_t n = 0; n < w.size; n++) {
		struct btf cut;
		u8 *copy = malloc(n + 1);
		memcpy(copy, w.all, n);
		fine &= btf_open_memory(&cut, copy, n, NULL) == -EBADMSG;
		free(copy);
	}
	ok(fine, "a cut file is refused");
	btf_close(&b);
}

/* A module: its numbers and names go on where the kernel's end. */
static void check_module(void)
{
	static struct writer w, m;
	struct btf b, mod;
	struct btf_function f;
	write_sample(&w, false);
	ok(!btf_open_memory(&b, w.all, w.size, NULL), "the kernel's");
	m = (struct writer){ .id = b.nr + 1, .first_string = b.strings_len };
	u32 proto = type(&m, "", PROTO, 1, 0);
	word(&m, name(&m, "where"));
	word(&m, 3); /* const char * of the kernel */
	(void)type(&m, "mod_f", FUNC, 1, proto);
	finish(&m);
	ok(!btf_open_memory(&mod, m.all, m.size, &b), "the module's");
	ok(!btf_find_function(&mod, "mod_f", &f) && f.nr_args == 1 &&
		   f.args[0].shape == BTF_STRING && !strcmp(f.args[0].name, "where"),
	   "uses types of the kernel");
	btf_close(&mod);
	btf_close(&b);
}

/*
 * struct inner { int a:5; unsigned b:7; };
 * struct outer { struct inner in; union { int u; char text[16]; }; const struct outer *next; };
 */
static void check_members(void)
{
	static struct writer w;
	struct btf b;
	struct btf_part p;
	struct btf_desc d;
	struct strbuf text;
	const char *close;
	w = (struct writer){ .id = 1 };
	(void)name(&w, "");
	u32 sint = type(&w, "int", INT, 0, 4);
	word(&w, 1u << 24 | 32);
	u32 chr = type(&w, "char", INT, 0, 1);
	word(&w, 1u << 24 | 8);
	u32 array = type(&w, "", ARRAY, 0, 0);
	word(&w, chr);
	word(&w, sint);
	word(&w, 16);
	u32 inner = type(&w, "inner", STRUCT | FLAG, 2, 4);
	part(&w, "a", sint, 5u << 24);
	part(&w, "b", sint, 7u << 24 | 5);
	u32 both = type(&w, "", UNION, 2, 16);
	part(&w, "u", sint, 0);
	part(&w, "text", array, 0);
	u32 outer = w.id, constant = outer + 1, pointer = outer + 2;
	(void)type(&w, "outer", STRUCT, 3, 32);
	part(&w, "in", inner, 0);
	part(&w, "", both, 64);
	part(&w, "next", pointer, 192);
	(void)type(&w, "", CONST, 0, outer);
	(void)type(&w, "", PTR, 0, constant);
	u32 big = type(&w, "big", ENUM64, 1, 8);
	part(&w, "HIGH", 1, 0x80000000);
	u32 low = type(&w, "low", ENUM | FLAG, 1, 4);
	word(&w, name(&w, "LOW"));
	word(&w, (u32)-2);
	u32 var = type(&w, "jiffies", VAR, 0, sint);
	word(&w, 1);
	u32 section = type(&w, ".data", DATASEC, 1, 64);
	word(&w, var);
	word(&w, 24);
	word(&w, 4);
	u32 tag = type(&w, "user", TYPE_TAG, 0, sint);
	u32 decl = type(&w, "tag", DECL_TAG, 0, outer);
	word(&w, (u32)-1);
	/* struct circle { struct { ... itself ... }; }; */
	u32 circle = w.id;
	(void)type(&w, "circle", STRUCT, 1, 8);
	part(&w, "", circle, 0);
	for (u32 i = 0; i < 40; i++) /* one name, many times */
		(void)type(&w, "same", TYPEDEF, 0, sint);
	finish(&w);
	ok(!btf_open_memory(&b, w.all, w.size, NULL), "structs, unions, sections, tags open");
	ok(btf_find(&b, "outer", BTF_BIT(BTF_OF_STRUCT), NULL) == outer &&
		   !btf_find(&b, "outer", BTF_BIT(BTF_OF_UNION), NULL) &&
		   !btf_find(&b, "oute", ~0u, NULL),
	   "a struct is found by name and kind");
	ok(btf_find(&b, "same", ~0u, NULL) == circle + 1,
	   "of one name and kind the first is found");
	ok(!btf_find_member(&b, inner, "b", &p) && p.bit_offset == 5 && p.bits == 7 && p.type == sint,
	   "a bitfield has place and width");
	ok(!btf_find_member(&b, outer, "text", &p) && p.bit_offset == 64 && p.type == array,
	   "a member of an anonymous union");
	ok(btf_find_member(&b, outer, "tex", &p) == -ENOENT &&
		   btf_closest_member(&b, outer, "tetx", &close) && !strcmp(close, "text"),
	   "another name is not found, and the closest is told");
	ok(btf_find_member(&b, circle, "x", &p) == -ENOENT, "a struct inside of itself ends");
	ok(btf_size(&b, array) == 16 && btf_size(&b, var) == 4 && btf_size(&b, pointer) == 8 &&
		   !btf_size(&b, 0),
	   "sizes of arrays, variables, pointers, void");
	ok(btf_describe(&b, big, &d) && btf_part(&b, &d, 0, &p) &&
		   p.value == (s64)0x8000000000000001ull && !btf_part(&b, &d, 1, &p),
	   "a value of 64 bits");
	ok(btf_describe(&b, low, &d) && btf_part(&b, &d, 0, &p) && p.value == -2,
	   "a negative value");
	ok(btf_describe(&b, section, &d) && btf_part(&b, &d, 0, &p) && p.bit_offset == 24 * 8 &&
		   p.size == 4 && !strcmp(p.name, "jiffies"),
	   "a variable in its section");
	ok(btf_resolve(&b, tag, &d) && d.id == sint, "a tag is passed");
	ok(btf_describe(&b, decl, &d) && d.component == -1 && d.ref == outer,
	   "what a declaration's tag is about");
	strbuf_init(&text);
	btf_name_type(&b, pointer, &text);
	strbuf_str(&text, ", ");
	btf_name_type(&b, array, &text);
	ok(!strcmp(strbuf_cstr(&text), "const struct outer *, char [16]"), "types by name: %s",
	   strbuf_cstr(&text));
	strbuf_done(&text);
	btf_close(&b);
}

int main(void)
{
	check_members();
	check_sample(false);
	check_sample(true);
	check_module();
	return done_testing();
}
