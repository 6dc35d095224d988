/* base/expr: the grammar, exact numbers, every error with its place. */
#include "tap.h"

#include "base/expr.h"

#include <errno.h>
#include <math.h>

static int get(void *ctx, u32 ident, const char *name, struct expr_value *ret)
{
	static const struct {
		const char *name;
		struct expr_value value;
	} known[] = {
		{ "one", { .type = EXPR_INT, .i = 1 } },
		{ "zero", { .type = EXPR_INT, .i = 0 } },
		{ "ip", { .type = EXPR_INT, .i = (s128)0xffffffff81000000ull } },
		{ "neg", { .type = EXPR_INT, .i = -5 } },
		{ "half", { .type = EXPR_FLOAT, .f = 0.5 } },
		{ "nan", { .type = EXPR_FLOAT, .f = NAN } },
		{ "comm", { .type = EXPR_STR, .s = "sshd" } },
		{ "empty", { .type = EXPR_STR, .s = "" } },
		{ "sched:sched_switch", { .type = EXPR_INT, .i = 7 } },
		{ "l1d.replacement", { .type = EXPR_INT, .i = 8 } },
		{ "#smt_on", { .type = EXPR_INT, .i = 1 } },
		{ "cpu-cycles", { .type = EXPR_INT, .i = 100 } },
	};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(known[i].name, name)) {
			*ret = known[i].value;
			return 0;
		}
	}
	return -ENOENT;
}

static int call(void *ctx, const char *func, const struct expr_value *args, u32 nr,
		struct expr_value *ret)
{
	*ret = expr_int(nr);
	return 0;
}

static const char *const funcs[] = { "has_event", NULL };
static const struct expr_env env = { .get = get, .call = call };

static int eval(const char *text, struct expr_value *v, struct diag *d)
{
	struct expr e;
	int err = expr_parse(&e, text, funcs, d);
	if (err)
		return err;
	err = expr_eval(&e, &env, v, d);
	expr_done(&e);
	return err;
}

static void gives(const char *text, s64 want)
{
	struct expr_value v = { 0 };
	int err = eval(text, &v, NULL);
	if (!ok(!err && v.type == EXPR_INT && v.i == want, "%s is %lld", text, (long long)want))
		printf("#   err %d type %d value %lld\n", err, v.type, err ? 0 : (long long)v.i);
}

static void gives_float(const char *text, double want)
{
	struct expr_value v = { 0 };
	int err = eval(text, &v, NULL);
	ok(!err && v.type == EXPR_FLOAT && fabs(v.f - want) < 1e-12, "%s is %g", text, want);
}

static void refuses(const char *text, int want_err, const char *want)
{
	struct diag d;
	struct strbuf s;
	struct expr_value v;
	diag_init(&d);
	strbuf_init(&s);
	int err = eval(text, &v, &d);
	diag_render(&d, "e", false, &s);
	ok(err == want_err, "'%s' is refused with %d (%d)", text, want_err, err);
	is_str(strbuf_cstr(&s), want, "and says where");
	strbuf_done(&s);
	diag_done(&d);
}

static void test_values(void)
{
	gives("1 + 2 * 3", 7);
	gives("(1 + 2) * 3", 9);
	gives("10 - 3 - 2", 5);
	gives("-2 - -3", 1);
	gives("!0 + !5", 1);
	gives("~0", -1);
	gives("7 % 4", 3);
	gives("6 / 3", 2);
	gives_float("7 / 2", 3.5);
	gives_float("1.5e3", 1500);
	gives_float(".5 + half", 1);
	gives("0x10 | 1 ^ 3 & 2", 0x13);
	gives("1 << 4 >> 2", 4);
	gives("1 << 200", 0);
	gives("1 == 1 && 2 != 3", 1);
	gives("1 | 2 == 2", 1);
	gives("ip & 0xff0000 == 0", 0);
	gives("1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2", 1);
	gives("1.5 < 2 && 2 == 2.0", 1);
	gives("nan == nan || nan < 1 || nan > 1", 0);
	gives("nan != nan", 1);
	gives("zero && missing", 0);
	gives("one || missing", 1);
	gives("one ? 2 : missing", 2);
	gives("zero ? missing : one ? 3 : 4", 3);
	gives("2 if one else missing", 2);
	gives("1 if zero else 2 if zero else 3", 3);
	gives("one?2:3", 2);
	gives("ip > 0", 1);
	gives("ip >= 0xffffffff80000000", 1);
	gives("neg < ip", 1);
	gives("18446744073709551615 + 1 > 18446744073709551615", 1);
	gives("9223372036854775807 - -9223372036854775807 == 18446744073709551614", 1);
	gives("0 - 0xffffffffffffffff * 0xffffffffffffffff * 0xffffffffffffffff != 0", 1);
	gives("comm == \"sshd\"", 1);
	gives("comm != 'sshd'", 0);
	gives("comm < \"zsh\"", 1);
	gives("comm ~ \"ss*\"", 1);
	gives("comm ~ \"*[0-9]\"", 0);
	gives("comm =~ \"^s+h\"", 1);
	gives("comm !~ \"^b\" && one", 1);
	gives("\"a.b\" =~ \"a\\.b\" && !(\"axb\" =~ \"a\\.b\")", 1);
	gives("comm =~ '^(s+)+(h|[x+(])+d{1,3}$' && '(+' =~ '\\(\\+'", 1);
	gives("\"a\\\"b\" == 'a\"b'", 1);
	gives("!empty && !(!comm)", 1);
	gives("sched:sched_switch + l1d.replacement", 15);
	gives("one ? sched:sched_switch : 0", 7);
	gives("5 if #smt_on else 1", 5);
	gives("cpu\\-cycles - 1", 99);
	gives("min(3, 1, 2) + max(4, 9)", 10);
	gives("abs(neg) + abs(3)", 8);
	gives_float("d_ratio(1, 4)", 0.25);
	gives_float("d_ratio(1, 0)", 0);
	gives("has_event(one, 2)", 2);
	gives("has_event()", 0);
	gives("  7\t", 7);
}

static void test_errors(void)
{
	refuses("", -EINVAL, "e: unexpected end\n  \n  ^\n");
	refuses("1 +", -EINVAL, "e: unexpected end\n  1 +\n     ^\n");
	refuses("1 + * 2", -EINVAL, "e: expected a value\n  1 + * 2\n      ^\n");
	refuses("a b", -EINVAL, "e: expected an operator\n  a b\n    ^\n");
	refuses("(1", -EINVAL, "e: expected ')'\n  (1\n    ^\n");
	refuses("1)", -EINVAL, "e: expected an operator\n  1)\n   ^\n");
	refuses("a = 1", -EINVAL,
		"e: unexpected token in expression\n  a = 1\n    ^\n"
		"  hint: use '==' to test for equality\n");
	refuses("a ; 1", -EINVAL, "e: unexpected token in expression\n  a ; 1\n    ^\n");
	refuses("\"abc", -EINVAL, "e: unterminated string\n  \"abc\n  ^~~~\n");
	refuses("12ab", -EINVAL, "e: invalid number\n  12ab\n  ^~~~\n");
	refuses("0x", -EINVAL, "e: invalid number\n  0x\n  ^~\n");
	refuses("1.2.3", -EINVAL, "e: invalid number\n  1.2.3\n  ^~~~~\n");
	refuses("99999999999999999999", -EINVAL,
		"e: number too large\n  99999999999999999999\n  ^~~~~~~~~~~~~~~~~~~~\n");
	refuses("one?one:zero", -EINVAL,
		"e: expected ':'\n  one?one:zero\n              ^\n"
		"  hint: put spaces around ':' so that it is not taken as part of a name\n");
	refuses("1 if 2", -EINVAL, "e: expected 'else'\n  1 if 2\n        ^\n");
	refuses("if", -EINVAL, "e: expected a value\n  if\n  ^~\n");
	refuses("mni(1)", -EINVAL,
		"e: unknown function\n  mni(1)\n  ^~~\n  hint: did you mean 'min'?\n");
	refuses("min()", -EINVAL, "e: not enough arguments to this function\n  min()\n  ^~~~~\n");
	refuses("abs(1, 2)", -EINVAL, "e: too many arguments\n  abs(1, 2)\n  ^~~~~~~~~\n");
	refuses("max(1 2)", -EINVAL, "e: expected ','\n  max(1 2)\n        ^\n");
	refuses("comm =~ one", -EINVAL,
		"e: expected a quoted regular expression\n  comm =~ one\n          ^~~\n");
	refuses("comm =~ \"(\"", -EINVAL, "e: Unmatched ( or \\(\n  comm =~ \"(\"\n          ^~~\n");
	refuses("comm =~ 'a++++++++++++++++++'", -EINVAL,
		"e: pattern has too many repetitions\n  comm =~ 'a++++++++++++++++++'\n          "
		"^~~~~~~~~~~~~~~~~~~~~\n");
	refuses("comm =~ '((a{99}){99}){99}'", -EINVAL,
		"e: pattern has too many repetitions\n  comm =~ '((a{99}){99}){99}'\n          "
		"^~~~~~~~~~~~~~~~~~~\n");
	refuses("1 / zero", -EDOM, "e: division by zero\n  1 / zero\n      ^~~~\n");
	refuses("1 % 0.0", -EDOM, "e: division by zero\n  1 % 0.0\n      ^~~\n");
	refuses("one + what", -ENOENT, "e: unknown name\n  one + what\n        ^~~~\n");
	refuses("comm + 1", -EINVAL,
		"e: cannot mix a string and a number\n  comm + 1\n  ^~~~~~~~\n");
	refuses("comm + comm", -EINVAL,
		"e: cannot do arithmetic on strings\n  comm + comm\n  ^~~~~~~~~~~\n");
	refuses("one ~ \"x\"", -EINVAL, "e: expected a string\n  one ~ \"x\"\n  ^~~\n");
	refuses("half & 1", -EINVAL, "e: expected an integer\n  half & 1\n  ^~~~\n");
	refuses("-comm", -EINVAL, "e: expected a number\n  -comm\n   ^~~~\n");
	refuses("~half", -EINVAL, "e: expected an integer\n  ~half\n   ^~~~\n");
	refuses("min(comm)", -EINVAL,
		"e: this function takes numbers only\n  min(comm)\n  ^~~~~~~~~\n");
}

static void test_limits(void)
{
	static char text[200001];
	struct expr e;
	memset(text, '(', 100000);
	ok(expr_parse(&e, text, NULL, NULL) == -E2BIG, "100000 parentheses are refused");
	memset(text, '-', 100000);
	ok(expr_parse(&e, text, NULL, NULL) == -E2BIG, "100000 minus signs too");
	for (int i = 0; i < 100000; i++)
		memcpy(text + 2 * i, "1+", 2);
	text[199999] = 0;
	ok(expr_parse(&e, text, NULL, NULL) == -E2BIG, "and a sum of 100000 terms");
	ok(!expr_parse(&e, "a + b * a", NULL, NULL) && e.idents.nr == 2 &&
		   !strcmp(e.idents.at[1], "b"),
	   "each name once");
	expr_done(&e);
}

int main(void)
{
	test_values();
	test_errors();
	test_limits();
	return done_testing();
}
