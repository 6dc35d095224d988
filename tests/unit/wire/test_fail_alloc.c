/* Each allocation of parsing a format, compiling its print fmt and printing fails once. */
#include "wire/format.h"
#include "wire/print_fmt.h"
#include "fail_alloc.h"

static const char text[] =
	"name: zz\nID: 99\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:unsigned int u;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:char s[16];\toffset:12;\tsize:16;\tsigned:0;\n\n"
	"print fmt: \"u=%d %s %5s %s\", REC->u + 1, REC->s, REC->u ? \"yes\" : \"no\", "
	"__print_symbolic(REC->u, { 1, \"one\" }, { 2, \"two\" }, { 3, \"three\" })\n";

static int work(void *ctx)
{
	static const u8 raw[28] = { [8] = 2, [12] = 'x' };
	struct arena a;
	struct strbuf b;
	struct schema *s;
	arena_init(&a);
	strbuf_init(&b);
	int err = format_parse(&a, "sys", text, sizeof(text) - 1, false, 8, &s, NULL);
	if (!err)
		err = print_attach(&a, s, NULL, PRINT_STYLE_KERNEL, NULL);
	if (!err)
		err = s->ops->print(s, raw, sizeof(raw), &b);
	strbuf_done(&b);
	arena_done(&a);
	return err;
}

int main(void)
{
	fail_alloc_each("format and print fmt", work, NULL);
	return done_testing();
}
