/* Records of bpf/capture: what is no record of ours, and what claims to be longer than it is. */
#include "tap.h"

#include "bpf/capture.h"

#include <errno.h>

struct record {
	u32 magic;
	u8 kind, flags;
	u16 unused;
	u32 nr, unused_too;
	u64 args[6];
	s16 len[8];
	u8 data[16];
};

int main(void)
{
	struct record r = { .magic = 0x53594331,
			    .kind = CAPTURE_ENTER,
			    .flags = 1,
			    .nr = 257,
			    .args = { 1, 2, 3, 4, 5, 6 },
			    .len = { 4, -EFAULT, 3 },
			    .data = "abc\0xyz" };
	struct captured c;
	ok(capture_decode((const u8 *)&r, sizeof(r), &c), "an entry");
	ok(c.kind == CAPTURE_ENTER && c.before_exec && c.nr == 257 && c.args[5] == 6, "its head");
	ok(c.len[0] == 4 && !strcmp((const char *)c.data[0], "abc"), "a piece");
	ok(c.len[1] == -EFAULT && !c.data[1], "one that could not be read");
	ok(c.len[2] == 3 && !memcmp(c.data[2], "xyz", 3), "the next one follows the first");
	for (size_t cut = 0; cut < sizeof(r) - 9; cut += 7)
		ok(!capture_decode((const u8 *)&r, cut, &c), "cut after %zu bytes", cut);
	r.len[2] = INT16_MAX;
	ok(!capture_decode((const u8 *)&r, sizeof(r), &c),
	   "a piece that is longer than the record");
	r.len[2] = 0;
	r.kind = 3;
	ok(!capture_decode((const u8 *)&r, sizeof(r), &c), "an unknown kind");
	r.kind = CAPTURE_ENTER;
	r.magic++;
	ok(!capture_decode((const u8 *)&r, sizeof(r), &c), "somebody else's record");
	return done_testing();
}
