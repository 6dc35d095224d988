/* jit-PID.dump in both byte orders, cut off anywhere, and with numbers that promise what is not there. */
#include "base/strbuf.h"
#include "file/jitdump.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

static void put(struct strbuf *to, u64 v, unsigned n, bool swap)
{
	for (unsigned i = 0; i < n; i++)
		strbuf_char(to, (char)(v >> 8 * (swap ? n - 1 - i : i)));
}

static void put_prefix(struct strbuf *to, u32 id, u32 size, u64 time, bool swap)
{
	put(to, id, 4, swap);
	put(to, 16 + size, 4, swap);
	put(to, time, 8, swap);
}

static void put_load(struct strbuf *to, const char *name, u64 addr, u64 size, u64 index, bool swap)
{
	u32 len = (u32)strlen(name) + 1;
	put_prefix(to, JITDUMP_LOAD, 40 + len + (u32)size, 1000 + index, swap);
	put(to, 7, 4, swap);
	put(to, 8, 4, swap);
	put(to, addr, 8, swap);
	put(to, addr, 8, swap);
	put(to, size, 8, swap);
	put(to, index, 8, swap);
	strbuf_add(to, name, len);
	strbuf_fill(to, (char)0x90, size);
}

static void put_line(struct strbuf *to, u64 addr, u32 line, const char *file, bool swap)
{
	put(to, addr, 8, swap);
	put(to, line, 4, swap);
	put(to, 0, 4, swap);
	strbuf_add(to, file, strlen(file) + 1);
}

static void write_dump(struct strbuf *to, bool swap)
{
	strbuf_init(to);
	put(to, 0x4a695444, 4, swap);
	put(to, 1, 4, swap);
	put(to, 48, 4, swap); /* eight bytes more than we know */
	put(to, 62, 4, swap);
	put(to, 0, 4, swap);
	put(to, 7, 4, swap);
	put(to, 5, 8, swap);
	put(to, 0, 8, swap);
	put(to, 99, 8, swap);
	put_prefix(to, JITDUMP_DEBUG_INFO, 16 + 3 * 16 + 5 + 2 + 5, 900, swap);
	put(to, 0x1000, 8, swap);
	put(to, 3, 8, swap);
	put_line(to, 0x1000, 1, "a.js", swap);
	put_line(to, 0x1004, 2, "\xff", swap);
	put_line(to, 0x1008, 3, "b.js", swap);
	put_prefix(to, 77, 8, 950, swap); /* nobody knows it */
	put(to, 0, 8, swap);
	put_prefix(to, JITDUMP_UNWINDING, 24 + 16, 960, swap);
	put(to, 16, 8, swap);
	put(to, 4, 8, swap);
	put(to, 16, 8, swap);
	strbuf_fill(to, 0, 16);
	put_load(to, "first", 0x1000, 12, 0, swap);
	put_load(to, "", 0x2000, 0, 1, swap);
	put_prefix(to, JITDUMP_MOVE, 48, 2000, swap);
	put(to, 7, 4, swap);
	put(to, 8, 4, swap);
	put(to, 0x1000, 8, swap);
	put(to, 0x1000, 8, swap);
	put(to, 0x3000, 8, swap);
	put(to, 12, 8, swap);
	put(to, 0, 8, swap);
	put_prefix(to, JITDUMP_CLOSE, 0, 3000, swap);
}

static void test_meaning(bool swap)
{
	struct strbuf s;
	struct jitdump j;
	struct jitdump_record r;
	struct jitdump_line l;
	const char *name = swap ? "swapped" : "plain";
	write_dump(&s, swap);
	ok(!jitdump_open(&j, s.data, s.len) && j.machine == 62 && j.pid == 7 && !j.arch_times,
	   "%s: the head", name);
	ok(jitdump_next(&j, &r) == 1 && r.id == JITDUMP_DEBUG_INFO && r.addr == 0x1000, "%s: lines",
	   name);
	ok(jitdump_line(&r, &l) && l.addr == 0x1000 && l.line == 1 && !strcmp(l.file, "a.js"),
	   "%s: the first", name);
	ok(jitdump_line(&r, &l) && l.addr == 0x1004 && l.line == 2 && !strcmp(l.file, "a.js"),
	   "%s: of the same file", name);
	ok(jitdump_line(&r, &l) && l.line == 3 && !strcmp(l.file, "b.js") && !jitdump_line(&r, &l),
	   "%s: and the last", name);
	ok(jitdump_next(&j, &r) == 1 && r.id == 77, "%s: what is not known is passed", name);
	ok(jitdump_next(&j, &r) == 1 && r.id == JITDUMP_UNWINDING && r.unwind_size == 16 &&
		   r.unwind_head == 4 && r.unwind_mapped == 16,
	   "%s: unwinding", name);
	ok(jitdump_next(&j, &r) == 1 && r.id == JITDUMP_LOAD && !strcmp(r.name, "first") &&
		   r.addr == 0x1000 && r.size == 12 && r.code[11] == 0x90 && r.time == 1000,
	   "%s: code", name);
	ok(jitdump_next(&j, &r) == 1 && !*r.name && !r.size && r.index == 1, "%s: of no bytes",
	   name);
	ok(jitdump_next(&j, &r) == 1 && r.id == JITDUMP_MOVE && r.addr == 0x3000 && !r.index,
	   "%s: moved", name);
	ok(jitdump_next(&j, &r) == 1 && r.id == JITDUMP_CLOSE && !jitdump_next(&j, &r),
	   "%s: the end", name);
	strbuf_done(&s);
}

/* A copy that ends where the data ends: a sanitizer sees every byte read behind it. */
static bool walk(const void *data, size_t size)
{
	u8 *copy = malloc(size + 1);
	struct jitdump j;
	struct jitdump_record r;
	struct jitdump_line l;
	size_t nr = 0;
	int got = 0;
	memcpy(copy + 1, data, size);
	if (!jitdump_open(&j, copy + 1, size))
		while ((got = jitdump_next(&j, &r)) > 0 && nr++ < size)
			while (r.id == JITDUMP_DEBUG_INFO && jitdump_line(&r, &l))
				;
	free(copy);
	return got <= 0;
}

static void test_hostile(bool swap)
{
	struct strbuf s;
	bool fine = true;
	write_dump(&s, swap);
	for (size_t i = 0; i < s.len; i++)
		fine &= walk(s.data, i);
	ok(fine, "cut off anywhere, it ends");
	for (size_t i = 0; i < s.len; i++) {
		char was = s.data[i];
		s.data[i] = (char)0xff;
		fine &= walk(s.data, s.len);
		s.data[i] = 0;
		fine &= walk(s.data, s.len);
		s.data[i] = was;
	}
	ok(fine, "with any byte wrong, too");
	struct jitdump j;
	s.data[4] ^= 2;
	ok(jitdump_open(&j, s.data, s.len) == -EBADMSG || swap, "another version is refused");
	strbuf_done(&s);
}

int main(void)
{
	test_meaning(false);
	test_meaning(true);
	test_hostile(false);
	test_hostile(true);
	return done_testing();
}
