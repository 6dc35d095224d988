/* The compiler when memory is out: the n-th allocation fails, for every n. */
#include "fail_alloc.h"

#include "lang/compile.h"

static int work(void *ctx)
{
	struct program p;
	struct diag d;
	struct lang_input in = {
		.text = ctx, .len = strlen(ctx), .callbacks = true, .machine = "x86_64"
	};
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
		(void *)"#define N 3\n"
			"struct s { int a : 3; char b[4]; };\n"
			"macro m($a, @b, c) { $t = c; @b[$t] = $a; @b[$t] + 1 }\n"
			"kprobe:f, kprobe:g* /pid > 1/ {\n"
			"  $x = N; $s = str(arg0); @y = m($x, @z, ((struct s *)arg1)->a);\n"
			"  @h[comm, kstack, func] = hist(arg2, 2); @c = count();\n"
			"  printf(\"%d %s %d\\n\", @c, $s, strcontains($s, \"needle\"));\n"
			"  for ($kv : @z) { if ($kv.0 == 1) { break } @t = (1, \"two\"); }\n"
			"  for ($i : 0..arg3) { @sum[strerror($i)] = sum($i); }\n"
			"  print(@h); clear(@h); delete(@z, 1); time(\"%H\"); exit();\n"
			"}\n");
	return done_testing();
}
