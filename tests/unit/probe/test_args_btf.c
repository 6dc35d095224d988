/* probe/args_btf: parameters, members, elements, bitfields and results in the kernel's words; what is refused, and why. */
#include "tap.h"

#include "gen/btfwrite.h"
#include "probe/args_btf.h"

#include <errno.h>

/*
 * struct in { int mode; unsigned flag:3; };
 * struct rq { struct in *in; short arr[4]; union { char name[16]; long tag; }; const char *text; struct in own; };
 * int f(struct rq *rq, unsigned long count, struct rq whole, int last); void g(void); struct rq h(void); struct rq *k(void);
 */
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
	u32 sshort = type(w, "short int", INT, 0, 2);
	word(w, 1u << 24 | 16);
	u32 chr = type(w, "char", INT, 0, 1);
	word(w, 1u << 24 | 8);
	u32 shorts = type(w, "", ARRAY, 0, 0);
	word(w, sshort);
	word(w, sint);
	word(w, 4);
	u32 chars = type(w, "", ARRAY, 0, 0);
	word(w, chr);
	word(w, sint);
	word(w, 16);
	u32 in = type(w, "in", STRUCT | FLAG, 2, 8);
	part(w, "mode", sint, 0);
	part(w, "flag", uint, 3u << 24 | 37);
	u32 in_pointer = type(w, "", PTR, 0, in);
	u32 constant = type(w, "", CONST, 0, chr);
	u32 text = type(w, "", PTR, 0, constant);
	u32 both = type(w, "", UNION, 2, 16);
	part(w, "name", chars, 0);
	part(w, "tag", ulong, 0);
	u32 rq = type(w, "rq", STRUCT, 5, 48);
	part(w, "in", in_pointer, 0);
	part(w, "arr", shorts, 64);
	part(w, "", both, 128);
	part(w, "text", text, 256);
	part(w, "own", in, 320);
	u32 rq_pointer = type(w, "", PTR, 0, rq);
	u32 f = type(w, "", PROTO, 4, sint);
	const struct {
		const char *name;
		u32 type;
	} params[] = { { "rq", rq_pointer }, { "count", ulong }, { "whole", rq }, { "last", sint } };
	for (size_t i = 0; i < ARRAY_SIZE(params); i++) {
		word(w, name(w, params[i].name));
		word(w, params[i].type);
	}
	(void)type(w, "f", FUNC, 1, f);
	(void)type(w, "g", FUNC, 1, type(w, "", PROTO, 0, 0));
	(void)type(w, "h", FUNC, 1, type(w, "", PROTO, 0, rq));
	(void)type(w, "k", FUNC, 1, type(w, "", PROTO, 0, rq_pointer));
	finish(w);
}

struct row {
	const char *request;
	const char *want; /* " name=fetch:type ..." */
	int err;
};

static const struct row rows[] = {
	{ "f rq count", " rq=$arg1:x64 count=$arg2:u64" },
	{ "f last", " last=$arg3:s32" }, /* what is passed in memory takes no register */
	{ "f rq->in->mode", " mode=+0(+0($arg1)):s32" },
	{ "f rq->in->flag", " flag=+4(+0($arg1)):b3@5/32" },
	{ "f rq->own.mode m=rq->own.mode", " mode=+40($arg1):s32 m=+40($arg1):s32" },
	{ "f rq->own.mode rq->in->mode", " mode=+40($arg1):s32 mode_1=+0(+0($arg1)):s32" },
	{ "f rq->arr[2] rq->arr", " arr=+12($arg1):s16 arr_1=+8($arg1):s16[4]" },
	{ "f rq->name:string rq->tag", " name=+16($arg1):string tag=+16($arg1):u64" },
	{ "f rq->text:string", " text=+0(+32($arg1)):string" },
	{ "f rq->in[2].mode", " mode=+16(+0($arg1)):s32" },
	{ "f count:s count:u8 count:x", " count_s=$arg2:s64 count_u8=$arg2:u8 count_x=$arg2:x64" },
	{ "f %di +8(%si):u32 x=$stack0", " %di +8(%si):u32 x=$stack0" },
	{ "f rq->name:ustring@user", " name=+u16($arg1):ustring" },
	{ "f%return $retval", " $retval:s32" },
	{ "k%return $retval->own.mode", " mode=+40($retval):s32" },
	{ "f rqq", NULL, -ENOENT },
	{ "f rq->mod", NULL, -ENOENT },
	{ "f rq.in", NULL, -EINVAL },
	{ "f rq->own->mode", NULL, -EINVAL },
	{ "f rq->arr[4]", NULL, -EINVAL },
	{ "f count->x", NULL, -EINVAL },
	{ "f count[1]", NULL, -EINVAL },
	{ "f whole", NULL, -EOPNOTSUPP },
	{ "f rq->own", NULL, -EOPNOTSUPP },
	{ "f rq->own.mode:string", NULL, -EINVAL },
	{ "f $retval", NULL, -EINVAL },
	{ "f%return count", NULL, -EOPNOTSUPP },
	{ "f+4 count", NULL, -ENODATA },
	{ "f $locals", NULL, -ENODATA },
	{ "g%return $retval", NULL, -EOPNOTSUPP },
	{ "h%return $retval", NULL, -EOPNOTSUPP },
	{ "unknown count", NULL, -ENODATA },
};

static void check(struct btf *b, const struct row *row)
{
	struct arena arena;
	struct diag d;
	struct probe_request r;
	struct probe_def def = { .letter = 'p' };
	struct strbuf text;
	arena_init(&arena);
	diag_init(&d);
	strbuf_init(&text);
	int err = probe_parse(row->request, &arena, &r, &d);
	if (!err) {
		const struct probe_btf_place place = { .function = r.function,
						       .is_return = r.is_return,
						       .at_entry = !r.offset };
		err = probe_args_btf(b, &place, &r, &arena, &def, &d);
	}
	for (u32 i = 0; i < def.nr_args && !err; i++)
		strbuf_printf(&text, " %s%s%s%s%s", def.args[i].name ? def.args[i].name : "",
			      def.args[i].name ? "=" : "", def.args[i].fetch,
			      def.args[i].type ? ":" : "", def.args[i].type ? def.args[i].type : "");
	if (row->want)
		ok(!err && !strcmp(strbuf_cstr(&text), row->want), "%s:%s (%d%s)", row->request,
		   row->want, err, strbuf_cstr(&text));
	else
		ok(err == row->err && d.nr_errors == 1, "%s is refused (%d): %s", row->request, err,
		   d.items.nr ? d.items.at[0].message : "without a word");
	strbuf_done(&text);
	diag_done(&d);
	arena_done(&arena);
}

int main(void)
{
	static struct writer w;
	struct btf b;
	write_types(&w);
	ok(!btf_open_memory(&b, w.all, w.size, NULL), "types");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(&b, &rows[i]);
	btf_close(&b);
	return done_testing();
}
