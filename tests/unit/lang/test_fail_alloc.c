/* The compiler when memory is out: the n-th allocation fails, for every n. */
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
				 .machine = "x86_64" };
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
	fail_alloc_each("records, functions and the rest", work,
			(void *)"#if defined(N) || 1\n#define N 3\n#endif\n"
				"enum e { A, B }; typedef struct { int a; short b[2][2]; } t_t;\n"
				"fn f($a: int64): int64 { if ($a > N) { return 1; } return $a; }\n"
				"profile:hz:99 {\n"
				"  if (f(cpu) == 1) { $v = (a = 1, b = \"x\"); @r[$v] = $v; } else "
				"{ $v = 2; @s = $v; }\n"
				"  @q[comm] = quantile(cpu, 50, 99); @t = tseries(cpu, 1s, 3, "
				"\"avg\"); print(@q[comm]);\n"
				"  $s = str_concat(strcap(\"abc\", 2), comm); @l = len(@r) + "
				"strstr($s, \"b\");\n"
				"  $p = (t_t *)8; @b[$p->b] = (enum e)1; print(*$p); "
				"print((uint8[4])cpu);\n"
				"  print(@r, 1, 0, (sort = \"key.0\")); assert(memcmp($s, \"ab\", "
				"2) == 0, \"no\");\n"
				"}\n");
	return done_testing();
}
