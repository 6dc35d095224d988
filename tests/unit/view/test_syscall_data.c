/* What arguments of system calls point to, as text: strings that would be obeyed by a terminal, structures that are too short. */
#include "tap.h"

#include "view/syscall_data.h"

#include <stdlib.h>

static void quotes(const char *text, size_t len, bool cut, const char *want)
{
	struct strbuf s;
	strbuf_init(&s);
	syscall_data_quote(text, len, cut, &s);
	is_str(strbuf_cstr(&s), want, want);
	strbuf_done(&s);
}
#define QUOTES(text, cut, want) quotes(text, sizeof(text) - 1, cut, want)

/* A call with one argument, of which `data` was copied; in a block of its own, so that a sanitizer sees what is read beyond it. */
static void shows(u8 shape, struct syscall_piece piece, const void *data, s16 len, u64 count,
		  const char *want)
{
	struct syscall call = { .name = "call", .nr_args = 2, .nr_pieces = 1 };
	struct syscall_thread t = { .call = &call, .args = { 4096, count } };
	struct strbuf s;
	u8 *copy = malloc((size_t)len);
	if (!ok(copy, "memory"))
		return;
	memcpy(copy, data, (size_t)len);
	call.pieces[0] = piece;
	call.shapes[0] = shape;
	t.data = (struct syscall_data){ .bytes = copy, .used = (u32)len, .size = (u32)len };
	t.data.len[0] = len;
	strbuf_init(&s);
	is_u64((u64)syscall_data_find(&t, 0, false), 0, "is found");
	ok(syscall_data_find(&t, 1, false) < 0, "of no other argument");
	syscall_data_print(&t, 0, true, &s);
	is_str(strbuf_cstr(&s), want, want);
	strbuf_done(&s);
	free(copy);
}

static void shapes(void)
{
	const struct syscall_piece fixed = { .how = SYSCALL_PIECE_FIXED,
					     .when = SYSCALL_AT_ENTER,
					     .max = 64 };
	const struct syscall_piece counted = { .how = SYSCALL_PIECE_BY_ARG,
					       .when = SYSCALL_AT_ENTER,
					       .len_arg = 1,
					       .max = 32,
					       .unit = 16 };
	const u64 vec[4] = { 1, 5, 2, 6 };
	shows(SYSCALL_SHAPE_STRING, fixed, "no end", 6, 0, "\"no end\"");
	shows(SYSCALL_SHAPE_STRINGS, fixed, "a\0b", 3, 0, "[\"a\", \"b\"]");
	shows(SYSCALL_SHAPE_STRINGS, fixed, "1\0002\0003\0004\0005\0006\0007\0008\0", 17, 0,
	      "[\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", ...]");
	shows(SYSCALL_SHAPE_IOVEC, counted, vec, 32, 2, "[{ .iov_len: 5 }, { .iov_len: 6 }]");
	shows(SYSCALL_SHAPE_IOVEC, counted, vec, 32, 3, "[{ .iov_len: 5 }, { .iov_len: 6 }, ...]");
	shows(SYSCALL_SHAPE_IOVEC, counted, vec, 17, 3, "[{ .iov_len: 5 }, ...]");
	shows(SYSCALL_SHAPE_TIMESPEC, fixed, vec, 16, 0, "{ .tv_sec: 1, .tv_nsec: 5 }");
	shows(SYSCALL_SHAPE_TIMESPEC, fixed, vec, 3, 0, "");
	/* Addresses that end in the middle. */
	shows(SYSCALL_SHAPE_SOCKADDR, fixed, "\1", 1, 0, "{ .family: UNSPEC }");
	shows(SYSCALL_SHAPE_SOCKADDR, fixed, "\2\0\0\120", 4, 0, "{ .family: INET }");
	shows(SYSCALL_SHAPE_SOCKADDR, fixed, "\2\0\0\120\12\0\0\1", 8, 0,
	      "{ .family: INET, port: 80, addr: 10.0.0.1 }");
	shows(SYSCALL_SHAPE_SOCKADDR, fixed, "\1\0a\33b", 5, 0,
	      "{ .family: LOCAL, path: \"a\\33b\" }");
	shows(SYSCALL_SHAPE_SOCKADDR, fixed, "\1\0\0\0\0", 5, 0, "{ .family: LOCAL }");
	shows(SYSCALL_SHAPE_WAIT_STATUS, fixed, "\0\3\0\0", 4, 0, "{ .exit: 3 }");
	shows(SYSCALL_SHAPE_WAIT_STATUS, fixed, "\211\0\0\0", 4, 0, "{ .signal: KILL, core }");
}

int main(void)
{
	QUOTES("plain", false, "\"plain\"");
	QUOTES("cut", true, "\"cut\"...");
	QUOTES("a\tb\n\"c\\", false, "\"a\\tb\\n\\\"c\\\\\"");
	QUOTES("\0331", false, "\"\\0331\"");
	QUOTES("\33x", false, "\"\\33x\"");
	QUOTES("\303\251\342\202\254", false, "\"\303\251\342\202\254\"");
	QUOTES("\303", false, "\"\\303\"");
	QUOTES("\340\200\257", false, "\"\\340\\200\\257\""); /* overlong */
	QUOTES("\342\200\256abc", false, "\"\\342\\200\\256abc\""); /* turns the direction of text */
	shapes();
	return done_testing();
}
