/* The parser of SystemTap's language when memory is out: the n-th allocation fails, for every n. */
#include "fail_alloc.h"

#include "lang/compile.h"

static int work(void *ctx)
{
	struct program p;
	struct diag d;
	struct lang_input in = { .text = ctx,
				 .len = strlen(ctx),
				 .callbacks = true,
				 .end_here = true,
				 .machine = "x86_64",
				 .stap = true };
	diag_init(&d);
	int err = lang_compile(&in, &p, &d);
	program_done(&p);
	diag_done(&d);
	return err;
}

int main(void)
{
	fail_alloc_each(
		"a script", work,
		(void *)"global a, s, n = 3, unread\n"
			"function f(x) { if (x > 1) return \"many\"; return \"one\" }\n"
			"probe kernel.function(\"f\"), timer.s(1) {\n"
			"  a[execname(), pid()]++; s[tid()] <<< n * 2; unread++\n"
			"  println(f(n) . \" \" . sprintf(\"%d\", @count(s[1])), @max(s[2]))\n"
			"  if ([\"x\", 1] in a) delete a\n"
			"  for (i = 0; i < 3; i++) if (i == 1) continue\n"
			"}\n"
			"probe end {\n"
			"  foreach ([e, p] in a) { if (p == 1) break; printf(\"%s\\n\", "
			"e) }\n"
			"  exit()\n"
			"}\n");
	return done_testing();
}
