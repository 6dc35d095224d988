/* base: arena, big, strbuf, vec, dict, strtab, bytes, num, diag, par, turns. */
#include "tap.h"

#include "base/arena.h"
#include "base/big.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/dict.h"
#include "base/num.h"
#include "base/par.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "base/sequencer.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

static void test_num(void)
{
	static const uint64_t values[] = { 0, 9, 10, 99, 100, 12345, 4294967295u, UINT64_MAX };
	char got[32], want[32];
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		got[num_u64(got, values[i])] = 0;
		snprintf(want, sizeof(want), "%" PRIu64, values[i]);
		is_str(got, want, "num_u64");
		got[num_hex(got, values[i])] = 0;
		snprintf(want, sizeof(want), "%" PRIx64, values[i]);
		is_str(got, want, "num_hex");
	}
	size_t wrong = 0;
	for (u64 i = 0; i < 300000; i++) { /* all of four digits, then every length there is */
		u64 v = i < 20000 ? i : hash_u64(i) >> i % 64;
		got[num_u64(got, v)] = 0;
		snprintf(want, sizeof(want), "%" PRIu64, v);
		wrong += strcmp(got, want) != 0;
		got[num_hex(got, v)] = 0;
		snprintf(want, sizeof(want), "%" PRIx64, v);
		wrong += strcmp(got, want) != 0;
	}
	for (u64 i = 1, v = 1; i < 20; i++, v *= 10)
		for (u64 k = v - 1; k <= v + 1; k++) {
			got[num_u64(got, k)] = 0;
			snprintf(want, sizeof(want), "%" PRIu64, k);
			wrong += strcmp(got, want) != 0;
		}
	is_u64(wrong, 0, "numbers of all lengths are as printf has them");
	got[num_s64(got, INT64_MIN)] = 0;
	is_str(got, "-9223372036854775808", "num_s64 of the smallest");
	got[num_u64_pad0(got, 42, 6)] = 0;
	is_str(got, "000042", "num_u64_pad0");
	u64 v = 0;
	ok(num_parse_u64("0x10", 0, &v) == 0 && v == 16, "parse hex");
	ok(num_parse_u64("12x", 10, &v) == -EINVAL, "rest after the number is refused");
	ok(num_parse_u64("-1", 10, &v) == -EINVAL, "a sign is refused");
	const char *ids = " 12\n7 ,8,, 9";
	size_t len = 0;
	s32 id = 0;
	ok(num_next_id(&ids, &len, &id) == 1 && id == 12, "the first ID of a list");
	ok(num_next_id(&ids, &len, &id) == 1 && id == 7, "the next one after a newline");
	ok(num_next_id(&ids, &len, &id) == 1 && id == 8, "and after a comma with a blank");
	ok(num_next_id(&ids, &len, &id) == -EINVAL && !len && *ids == ',',
	   "nothing between commas");
	ids = "4194304,99999999999999999";
	ok(num_next_id(&ids, &len, &id) == 1 && num_next_id(&ids, &len, &id) == -EINVAL && len == 17,
	   "an ID that is too large");
	ids = " \n";
	ok(!num_next_id(&ids, &len, &id), "a list of none");
	ok(num_parse_u64("99999999999999999999", 10, &v) == -ERANGE, "too large");
	ok(num_parse_size("64K", &v) == 0 && v == 65536, "64K");
	ok(num_parse_size("2MB", &v) == 0 && v == 2u << 20, "2MB");
	ok(num_parse_size("17179869184G", &v) == -ERANGE, "size overflow");
	ok(num_parse_size("5Q", &v) == -EINVAL, "unknown unit");
}

static int drain_twice(void *ctx, const char *data, size_t len)
{
	struct strbuf *to = ctx;
	strbuf_add(to, data, len);
	return 0;
}

static void test_leb128(void)
{
	struct strbuf s;
	strbuf_init(&s);
	for (u64 v = 0; v <= 300; v += 127 + v % 2)
		strbuf_leb128(&s, v); /* 0 127 255 */
	strbuf_leb128(&s, UINT64_MAX);
	static const u8 want[] = { 0,	 0x7f, 0xff, 0x01, 0xff, 0xff, 0xff,
				   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
	ok(s.len == sizeof(want) && !memcmp(s.data, want, sizeof(want)), "LEB128");
	strbuf_done(&s);
}

static void test_strbuf(void)
{
	struct strbuf s, all;
	strbuf_init(&s);
	for (int i = 0; i < 100; i++)
		strbuf_printf(&s, "%d,", i);
	ok(s.len == 290, "length after many appends");
	strbuf_reset(&s);
	strbuf_left(&s, "ab", 4);
	strbuf_right(&s, "cd", 4);
	strbuf_right(&s, "longer", 4);
	is_str(strbuf_cstr(&s), "ab    cdlonger", "padding never cuts");
	strbuf_done(&s);

	strbuf_init(&all);
	strbuf_init_drain(&s, 16, drain_twice, &all);
	for (int i = 0; i < 50; i++)
		strbuf_str(&s, "0123456789abcdef0123456789"); /* longer than the buffer */
	ok(strbuf_flush(&s) == 0 && all.len == 50 * 26, "a drain receives everything");
	strbuf_done(&s);
	strbuf_done(&all);
}

static void test_tables(void)
{
	struct dict d;
	dict_init(&d);
	u32 got;
	bool good = true;
	for (u32 i = 0; i < 100000; i++)
		good = good && !dict_add(&d, (u64)i << 32, i, &got) && got == i;
	for (u32 i = 0; i < 100000; i++)
		good = good && dict_get(&d, (u64)i << 32) == i;
	ok(good, "dict keeps 100000 keys that differ in their high half only");
	ok(dict_get(&d, 7) == DICT_NONE, "absent key");
	ok(dict_remove(&d, 7) == DICT_NONE && d.nr == 100000, "which cannot be removed");
	for (u32 i = 0; i < 100000; i += 3)
		good = good && dict_remove(&d, (u64)i << 32) == i;
	for (u32 i = 1; i < 100000; i += 3)
		good = good && !dict_put(&d, (u64)i << 32, i + 5);
	for (u32 i = 0; i < 100000; i++)
		good = good && dict_get(&d, (u64)i << 32) == (i % 3 == 0   ? DICT_NONE
							      : i % 3 == 1 ? i + 5
									   : i);
	ok(good && d.nr == 66666, "keys that are removed are gone, all others are found");
	dict_done(&d);

	struct strtab t;
	strtab_init(&t);
	char name[16];
	good = true;
	for (int i = 0; i < 1000; i++) {
		int n = snprintf(name, sizeof(name), "s%d", i);
		good = good && strtab_add(&t, name, (size_t)n) == i + 1;
	}
	ok(good, "strtab numbers strings in order of arrival");
	ok(strtab_add(&t, "s500", 4) == 501, "the same string, the same id");
	is_str(strtab_str(&t, 501), "s500", "and back");
	ok(strtab_find(&t, "s5000", 5) == -ENOENT, "find does not insert");
	strtab_done(&t);
}

/* Across the border between small and large, and among large ones, what was there stays. */
static void test_big(void)
{
	size_t size = 1000;
	u8 *p = big_zalloc(size);
	bool same = p != NULL;
	for (size_t i = 0; same && i < size; i++)
		p[i] = (u8)(i % 251);
	for (int turn = 0; turn < 7 && same; turn++) {
		size_t more = size * 7;
		p = big_grow(p, size, more);
		for (size_t i = 0; i < size; i++)
			same &= p[i] == (u8)(i % 251);
		for (size_t i = size; i < more; i++)
			p[i] = (u8)(i % 251);
		size = more / 2;
		p = big_grow(p, more, size); /* and back a little */
	}
	ok(same, "a table grows from a kilobyte to megabytes and keeps what it holds");
	ok(!big_grow(p, size, SIZE_MAX - 4096), "more than there can be is refused");
	ok(p[size - 1] == (u8)((size - 1) % 251), "... and nothing is lost");
	big_free(p, size);
	p = big_zalloc(3 << 20);
	same = p != NULL;
	for (size_t i = 0; same && i < 3 << 20; i++)
		same = !p[i];
	ok(same, "zero where zero was asked for");
	big_free(p, 3 << 20);
	big_free(NULL, 5 << 20);
}

static void test_big_join(void)
{
	static const size_t sizes[] = { 5 << 20, 100, 0, 3 << 20, (1 << 20) + 1 };
	struct big_part parts[ARRAY_SIZE(sizes)];
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		parts[i] = (struct big_part){ big_grow(NULL, 0, sizes[i]), sizes[i] };
		if (!parts[i].p)
			abort();
		memset(parts[i].p, (int)i + 1, sizes[i]);
	}
	size_t size, more;
	u8 *all = big_join(parts, ARRAY_SIZE(sizes), &size);
	for (int grown = 0; grown < 2; grown++) {
		bool same = all != NULL;
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			for (size_t k = 0; k < sizes[i] && same; k++)
				same = all[parts[i].at + k] == i + 1;
		ok(same, grown ? "what was joined can grow" : "blocks of all sizes become one");
		more = size * 2;
		if (!grown && !(all = big_grow(all, size, more)))
			abort();
	}
	big_free(all, more);
}

static void test_bytes(void)
{
	static const u8 data[] = { 1, 0, 0, 0, 2, 0, 'h', 'i', 0, 9 };
	struct bytes b = bytes_of(data, sizeof(data), false);
	is_u64(bytes_u32(&b), 1, "u32");
	is_u64(bytes_u16(&b), 2, "u16");
	is_str(bytes_cstr(&b), "hi", "string");
	ok(!b.bad, "inside so far");
	is_u64(bytes_u32(&b), 0, "past the end yields zero");
	ok(b.bad, "and is remembered");
	b = bytes_of(data, sizeof(data), true);
	is_u64(bytes_u32(&b), 0x01000000, "swapped");
	struct bytes sub = bytes_sub(&b, 100);
	ok(sub.bad && b.bad && bytes_left(&sub) == 0,
	   "a sub-cursor cannot be larger than its parent");
}

static void test_diag(void)
{
	struct diag d;
	struct strbuf s;
	diag_init(&d);
	strbuf_init(&s);
	ok(diag_error(&d, -EINVAL, "unknown event '%s'", "cylces") == -EINVAL,
	   "diag_error returns its errno");
	diag_span(&d, "cycles,cylces:u", 7, 6);
	diag_hint(&d, "did you mean 'cycles'?");
	diag_render(&d, "sonde stat", false, &s);
	is_str(strbuf_cstr(&s),
	       "sonde stat: unknown event 'cylces'\n"
	       "  cycles,cylces:u\n"
	       "         ^~~~~~\n"
	       "  hint: did you mean 'cycles'?\n",
	       "rendered with caret and hint");
	strbuf_done(&s);
	diag_done(&d);
	ok(diag_error(NULL, -EIO, "x") == -EIO, "a NULL diag swallows");
}

static int count_up(void *ctx, unsigned index)
{
	atomic_fetch_add((atomic_uint *)ctx, index);
	return index == 2 ? -EIO : 0;
}

static void test_par(void)
{
	atomic_uint sum = 0;
	ok(par_run(4, count_up, &sum) == -EIO, "the first error comes back");
	is_u64(sum, 6, "all four ran");
	ok(par_cpus() >= 1, "at least one CPU");
}

struct visits {
	atomic_uint *seen; /* [index] */
	atomic_bool busy[16]; /* [worker] */
	atomic_uint wrong;
	unsigned workers;
	u32 fails; /* at this index */
};

static int visit(void *ctx, unsigned worker, u32 index)
{
	struct visits *v = ctx;
	if (worker >= v->workers || atomic_exchange(&v->busy[worker], true))
		atomic_fetch_add(&v->wrong, 1);
	atomic_fetch_add(&v->seen[index], 1);
	atomic_store(&v->busy[worker], false);
	return index == v->fails ? -EIO : 0;
}

static void test_par_each(void)
{
	enum { NR = 1000 };
	static const unsigned workers[] = { 1, 2, 3, 16 };
	for (size_t i = 0; i < ARRAY_SIZE(workers); i++) {
		atomic_uint seen[NR] = { 0 };
		struct visits v = { .seen = seen, .workers = workers[i], .fails = NR };
		u32 once = 0;
		ok(!par_each(workers[i], NR, visit, &v), "%u workers take all", workers[i]);
		for (u32 k = 0; k < NR; k++)
			once += seen[k] == 1;
		is_u64(once, NR, "each once");
		is_u64(v.wrong, 0, "one at a time for each worker");
		v.fails = 7;
		ok(par_each(workers[i], NR, visit, &v) == -EIO, "an error comes back");
		ok(seen[NR - 1] == 1, "and ends it");
	}
	ok(!par_each(4, 0, visit, NULL), "nothing to do");
	is_u64(par_workers(16, 1000, 100), 10, "as many as have enough to do");
	is_u64(par_workers(4, 1000, 100), 4, "no more than asked for");
	is_u64(par_workers(4, 0, 100), 1, "but one");
	bool good = true;
	for (u32 nr = 0; nr < 40; nr++) {
		u64 at = 0;
		for (u32 part = 0; part < 7; part++) {
			struct par_span s = par_span(nr, 7, part);
			good &= s.lo == at && s.hi - s.lo <= nr / 7 + 1;
			at = s.hi;
		}
		good &= at == nr;
	}
	ok(good, "spans follow each other and are all of it");
}

/* Blocks that are done out of order. */
struct in_turn {
	struct sequencer turns;
	atomic_uint next;
	u32 nr, written, wrong;
	u32 stops; /* the block that fails */
};

static int take_turns(void *ctx, unsigned worker)
{
	struct in_turn *t = ctx;
	for (u32 seq; (seq = atomic_fetch_add(&t->next, 1)) < t->nr;) {
		if (seq == t->stops) {
			sequencer_cancel(&t->turns);
			return -EIO;
		}
		if (seq % 5 == 0)
			sched_yield();
		if (!sequencer_wait(&t->turns, seq))
			return -ECANCELED;
		t->wrong += t->written++ != seq;
		sequencer_end(&t->turns, false);
	}
	return 0;
}

/* The same, left for whoever writes. */
struct left_block {
	struct sequencer_item item;
	bool written;
};

struct leaving {
	struct in_turn t;
	struct left_block *blocks;
	u32 most;
	atomic_uint writers, together;
};

static int write_left(void *ctx, struct sequencer_item *item)
{
	struct leaving *l = ctx;
	l->together += atomic_fetch_add(&l->writers, 1) > 0;
	l->t.wrong += l->t.written++ != item->seq;
	container_of(item, struct left_block, item)->written = true;
	if (item->seq % 97 == 0)
		sched_yield();
	atomic_fetch_sub(&l->writers, 1);
	return item->seq == l->t.stops ? -EIO : 0;
}

static int leave_turns(void *ctx, unsigned worker)
{
	struct leaving *l = ctx;
	int err = 0;
	for (u32 seq; !err && (seq = atomic_fetch_add(&l->t.next, 1)) < l->t.nr;) {
		l->blocks[seq].item.seq = seq;
		err = sequencer_leave(&l->t.turns, &l->blocks[seq].item, l->most, write_left, l);
	}
	return err;
}

static void test_sequencer_left(u32 most)
{
	enum { NR = 5000 };
	for (u32 stops = 0; stops < NR; stops += NR - 1) {
		struct leaving l = { .t = { .nr = NR, .stops = stops }, .most = most };
		l.blocks = calloc(NR, sizeof(*l.blocks));
		if (!l.blocks)
			abort();
		sequencer_init(&l.t.turns);
		int err = par_run(16, leave_turns, &l);
		ok(err == -EIO || err == -ECANCELED, "who cannot write ends it for all");
		ok(l.t.written == stops + 1 && !l.t.wrong && !l.together,
		   "in order, one at a time");
		sequencer_done(&l.t.turns);
		free(l.blocks);
	}
	struct leaving l = { .t = { .nr = NR, .stops = NR }, .most = most };
	u32 written = 0;
	l.blocks = calloc(NR, sizeof(*l.blocks));
	if (!l.blocks)
		abort();
	sequencer_init(&l.t.turns);
	ok(!par_run(16, leave_turns, &l), "blocks are left, %u at most", most);
	for (u32 i = 0; i < NR; i++)
		written += l.blocks[i].written;
	ok(written == NR && !l.t.wrong && !l.together && !l.t.turns.nr_left,
	   "and all are written in the end");
	sequencer_done(&l.t.turns);
	free(l.blocks);
}

static void test_turns(void)
{
	enum { NR = 5000 };
	struct in_turn t = { .nr = NR, .stops = NR };
	sequencer_init(&t.turns);
	ok(!par_run(16, take_turns, &t), "16 workers write in turn");
	ok(t.written == NR && !t.wrong, "all blocks, in their order");
	sequencer_done(&t.turns);
	t = (struct in_turn){ .nr = NR, .stops = NR / 2 };
	sequencer_init(&t.turns);
	ok(par_run(16, take_turns, &t) < 0, "a worker that fails ends it for all who wait");
	ok(t.written <= NR / 2 && !t.wrong, "nothing is written after it");
	sequencer_done(&t.turns);
}

int main(void)
{
	test_num();
	test_strbuf();
	test_leb128();
	test_tables();
	test_big();
	test_big_join();
	test_bytes();
	test_diag();
	test_par();
	test_par_each();
	test_turns();
	test_sequencer_left(0);
	test_sequencer_left(40);
	return done_testing();
}
