/* Small formats inside of images: LZ4's old frames, expressions of call frame information. */
#include "image/cfi_expr.h"
#include "image/lz4.h"
#include "tap.h"

static void test_lz4(void)
{
	/* 15 literals: the length goes on in a byte that is 0. Then the same with 16. */
	static const u8 fifteen[] = "\x02\x21\x4c\x18\x11\0\0\0\xf0\x00"
				    "abcdefghijklmno";
	static const u8 more[] = "\x02\x21\x4c\x18\x12\0\0\0\xf0\x01"
				 "abcdefghijklmnop";
	/* One literal and a match of 19 bytes (4 + 15 + 0) that reaches into itself. */
	static const u8 run[] = "\x02\x21\x4c\x18\x05\0\0\0\x1f"
				"a\x01\0\0";
	u8 to[32];
	ok(!lz4_expand(fifteen, sizeof(fifteen) - 1, to, 15) && !memcmp(to, "abcdefghijklmno", 15),
	   "15 literals");
	ok(!lz4_expand(more, sizeof(more) - 1, to, 16) && !memcmp(to, "abcdefghijklmnop", 16),
	   "16 of them");
	ok(!lz4_expand(run, sizeof(run) - 1, to, 20) && !memcmp(to, "aaaaaaaaaaaaaaaaaaaa", 20),
	   "a run");
	ok(lz4_expand(run, sizeof(run) - 1, to, 21) < 0, "less than was promised");
}

static bool no_memory(const void *ctx, u64 addr, unsigned size, u64 *ret)
{
	return false;
}

static void is_value(const char *expr, size_t len, s64 want, const char *what)
{
	struct cfi_regs regs = { 0 };
	struct cfi_memory mem = { .read = no_memory };
	u64 got = 0;
	int err = cfi_eval((const u8 *)expr, len, &regs, &mem, false, 0, &got);
	ok(!err && (s64)got == want, "%s", what);
}
#define VALUE(expr, want, what) is_value(expr, sizeof(expr) - 1, want, what)

static void test_expr(void)
{
	VALUE("\x09\xff", -1, "const1s");
	VALUE("\x08\xff", 255, "const1u");
	VALUE("\x0b\xfe\xff", -2, "const2s");
	VALUE("\x0d\xfd\xff\xff\xff", -3, "const4s");
	VALUE("\x11\x7c", -4, "consts");
	VALUE("\x09\xf8\x31\x26", -4, "shra keeps the sign");
	VALUE("\x09\xf8\x31\x25", 0x7ffffffffffffffc, "shr does not");
	VALUE("\x35\x33\x1c", 2, "minus: below less top");
	VALUE("\x33\x35\x2d", 1, "lt");
}

int main(void)
{
	test_lz4();
	test_expr();
	return done_testing();
}
