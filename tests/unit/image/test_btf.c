/* image/btf: functions with all kinds of arguments, modules, both byte orders, and bytes that lie. */
#include "tap.h"

#include "image/btf.h"

#include <errno.h>

enum { INT = 1, PTR, ENUM = 6, TYPEDEF = 8, CONST = 10, STRUCT = 4, FUNC = 12, PROTO = 13 };

struct writer {
	u8 types[2048], strings[1024], all[4096];
	u32 nr_types, nr_strings, id, first_string;
	bool big;
	size_t size;
};

static void put32(struct writer *w, u8 *at, u32 v)
{
	if (w->big)
		v = __builtin_bswap32(v);
	memcpy(at, &v, sizeof(v));
}

static void word(struct writer *w, u32 v)
{
	put32(w, w->types + w->nr_types, v);
	w->nr_types += 4;
}

static u32 name(struct writer *w, const char *s)
{
	u32 at = w->nr_strings;
	if (!*s && at)
		return 0;
	memcpy(w->strings + at, s, strlen(s) + 1);
	w->nr_strings += (u32)strlen(s) + 1;
	return at + w->first_string;
}

static u32 type(struct writer *w, const char *s, u32 kind, u32 members, u32 ref)
{
	word(w, *s ? name(w, s) : 0);
	word(w, kind << 24 | members);
	word(w, ref);
	return w->id++;
}

static void finish(struct writer *w)
{
	u16 magic = w->big ? 0x9feb : 0xeb9f;
	memset(w->all, 0, 24);
	memcpy(w->all, &magic, 2);
	w->all[2] = 1;
	put32(w, w->all + 4, 24);
	put32(w, w->all + 8, 0);
	put32(w, w->all + 12, w->nr_types);
	put32(w, w->all + 16, w->nr_types);
	put32(w, w->all + 20, w->nr_strings);
	memcpy(w->all + 24, w->types, w->nr_types);
	memcpy(w->all + 24 + w->nr_types, w->strings, w->nr_strings);
	w->size = 24 + w->nr_types + w->nr_strings;
}

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

int main(void)
{
	check_sample(false);
	check_sample(true);
	check_module();
	return done_testing();
}
