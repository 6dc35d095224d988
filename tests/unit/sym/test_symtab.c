/* sym: sweeps against the flat table and against looking at everything; kallsyms and perf map texts. */
#include "tap.h"

#include "sym/kallsyms.h"
#include "sym/perfmap.h"
#include "sym/symtab.h"

static u32 seed = 1;

static u32 any(u32 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % below;
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;
	return (x > y) - (x < y);
}

/* The rules as the header states them, without any cleverness. Names are distinct lengths apart from the seq rule. */
static const char *plain_answer(const struct symtab_sym *all, size_t nr, u64 at, u64 *start)
{
	const struct symtab_sym *best = NULL;
	for (size_t i = 0; i < nr; i++) {
		const struct symtab_sym *s = &all[i];
		if (s->end > s->start && s->start <= at && at < s->end &&
		    (!best || s->start > best->start ||
		     (s->start == best->start && i > (size_t)(best - all))))
			best = s;
	}
	if (best) {
		*start = best->start;
		return best->name;
	}
	for (size_t i = 0; i < nr; i++) {
		const struct symtab_sym *s = &all[i];
		if (s->start <= at && (!best || s->start > best->start ||
				       (s->start == best->start && s->end > s->start) ||
				       (s->start == best->start && best->end == best->start &&
					i > (size_t)(best - all))))
			best = s;
	}
	if (!best || best->end > best->start)
		return NULL;
	u64 next = UINT64_MAX;
	for (size_t i = 0; i < nr; i++) {
		if (all[i].end > all[i].start && all[i].start <= best->start &&
		    all[i].end > best->start)
			return NULL;
		if (all[i].start > at)
			next = min(next, all[i].start);
	}
	u64 end = next == UINT64_MAX ? ((best->start + 4095) & ~4095ull) + 4096 : next;
	if (best->limit)
		end = min(end, best->limit);
	*start = best->start;
	return at < end ? best->name : NULL;
}

static void test_against_plain(void)
{
	static char names[64][8];
	for (int i = 0; i < 64; i++)
		snprintf(names[i], sizeof(names[i]), "f%d", i);
	size_t bad_sweep = 0, bad_flat = 0, asked = 0, named = 0;
	for (int round = 0; round < 3000; round++) {
		struct symtab_sym all[64];
		u32 nr = any(40), space = 20 + any(400);
		for (u32 i = 0; i < nr; i++) {
			u64 start = 0x1000 + any(space), size = any(3) ? any(30) : 0;
			all[i] = (struct symtab_sym){
				.start = start, .end = start + size, .name = names[i], .seq = i
			};
			if (!size && any(2))
				all[i].limit = start + any(20);
		}
		u64 at[50];
		u32 nr_at = 0;
		for (u32 i = 0; i < 50; i++)
			at[i] = 0xff0 + any(space + 60);
		qsort(at, 50, sizeof(*at), by_value);
		for (u32 i = 0; i < 50; i++)
			if (!i || at[i] != at[nr_at - 1])
				at[nr_at++] = at[i];
		struct sweep s;
		struct symtab_sym got[50];
		if (sweep_init(&s, at, nr_at, SYMTAB_LAST))
			return;
		for (u32 i = 0; i < nr; i++)
			sweep_add(&s, &all[i]);
		int err = sweep_finish(&s, got);
		sweep_done(&s);
		struct symtab t;
		struct symtab_sym *copy = malloc((nr + 1) * sizeof(*copy));
		memcpy(copy, all, nr * sizeof(*copy));
		if (err || symtab_build(&t, copy, nr, SYMTAB_LAST))
			return;
		for (u32 i = 0; i < nr_at; i++) {
			u64 start = 0, base = 0;
			const char *want = plain_answer(all, nr, at[i], &start);
			const struct symtab_sym *flat = symtab_find(&t, at[i], &base);
			asked++;
			named += want != NULL;
			bad_sweep += want ? !got[i].name || strcmp(want, got[i].name) ||
						     got[i].start != start
					  : got[i].name != NULL;
			bad_flat += want ? !flat || strcmp(want, flat->name) || base != start
					 : flat != NULL;
		}
		symtab_done(&t);
	}
	ok(asked > 50000 && named > 10000, "%zu questions, %zu with an answer", asked, named);
	is_u64(bad_sweep, 0, "sweeps answer as looking at everything does");
	is_u64(bad_flat, 0, "and so does the flat table");
}

static void picks(const struct symtab_sym *a, const struct symtab_sym *b, const char *want)
{
	u64 at = a->start;
	for (int turn = 0; turn < 2; turn++) {
		struct sweep s;
		struct symtab_sym got;
		if (sweep_init(&s, &at, 1, SYMTAB_BEST))
			return;
		sweep_add(&s, turn ? b : a);
		sweep_add(&s, turn ? a : b);
		is_str(sweep_finish(&s, &got) ? NULL : got.name, want, want);
		sweep_done(&s);
	}
}

static void test_aliases(void)
{
#define SYM(n, f) (&(struct symtab_sym){ .start = 16, .end = 32, .name = n, .flags = f })
	picks(SYM("read", SYMTAB_WEAK), SYM("__read", 0), "__read");
	picks(SYM("__libc_read", SYMTAB_LOCAL), SYM("r", 0), "r");
	picks(SYM("__write", 0), SYM("write", 0), "write");
	picks(SYM("__longer_name", 0), SYM("_x", 0), "_x");
	picks(SYM("malloc", 0), SYM("malloc_long", 0), "malloc_long");
	picks(SYM("_ZNSt8messagesIwE1aEv", 0), SYM("_ZNSt8messagesIcE1aEv", 0),
	      "_ZNSt8messagesIwE1aEv");
#undef SYM
}

static const char list[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T _text\n"
			   "garbage\n"
			   "ffffffff81000100 t one\n"
			   "ffffffff81000100 W two\n"
			   "ffffffff81000200 R not_code\n"
			   "ffffffff81000300 t $x\n"
			   "ffffffff81000400 D _edata\n"
			   "ffffffffc0000010 t mod_b\t[m]\n"
			   "ffffffffc0000000 t mod_a\t[m]\n"
			   "ffffffffc0100000 t other\t[n]";

static void test_kallsyms(void)
{
	static const char modules[] =
		"m 4096 0 - Live 0xffffffffc0000000\nn-x 8192 1 m, Live 0xffffffffc0100000 (OE)\n";
	static const u64 at[] = { 0x10,
				  0xffffffff80ffffff,
				  0xffffffff81000000,
				  0xffffffff81000150,
				  0xffffffff81000350,
				  0xffffffff81000410,
				  0xffffffffa0000000,
				  0xffffffffc0000008,
				  0xffffffffc0000020,
				  0xffffffffc0001000,
				  0xffffffffc0100001 };
	static const char *const want[] = { "", "",	 "_text", "two", "two",	 "_edata",
					    "", "mod_a", "mod_b", "",	 "other" };
	struct sweep s;
	struct symtab_sym got[ARRAY_SIZE(at)];
	if (sweep_init(&s, at, ARRAY_SIZE(at), SYMTAB_LAST))
		return;
	is_u64(kallsyms_sweep(list, sizeof(list) - 1, modules, sizeof(modules) - 1, &s), 8,
	       "symbols taken");
	ok(!sweep_finish(&s, got), "sweep");
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		char name[32] = "";
		if (got[i].name)
			snprintf(name, sizeof(name), "%.*s", (int)got[i].name_len, got[i].name);
		is_str(name, want[i], want[i][0] ? want[i] : "no symbol there");
	}
	sweep_done(&s);
	u64 v = 0, size = 0;
	ok(kallsyms_address(list, sizeof(list) - 1, "_text", &v) && v == 0xffffffff81000000,
	   "address of _text");
	ok(kallsyms_address(list, sizeof(list) - 1, "mod_a", &v) && v == 0xffffffffc0000000,
	   "address in a module");
	ok(!kallsyms_address(list, sizeof(list) - 1, "text", &v), "a part of a name is no name");
	ok(!kallsyms_hidden(list, sizeof(list) - 1), "addresses are there");
	ok(kallsyms_hidden("0000000000000000 T a\n0000000000000000 t b\n", 42),
	   "addresses are hidden");
	ok(!kallsyms_hidden("", 0), "an empty list hides nothing");
	ok(kallsyms_module(modules, sizeof(modules) - 1, "n_x", &v, &size) &&
		   v == 0xffffffffc0100000 && size == 8192,
	   "module");
	ok(!kallsyms_module(modules, sizeof(modules) - 1, "n", &v, &size), "no such module");
}

/* A list as the kernel prints it: in order, with aliases and what is no symbol between, modules behind. Returns its length. */
static size_t ordered_list(char *text, size_t size, u64 first, u64 *last)
{
	size_t len = 0;
	u64 addr = first;
	u32 nr = 2 + any(60);
	for (u32 i = 0; i < nr; i++) {
		bool end = !i || i + 1 == nr;
		addr += i && any(4) ? any(64) : 0;
		len += (size_t)snprintf(text + len, size - len, "%016llx %c s%u\n",
					(unsigned long long)addr, end ? 'T' : "tTwDrA"[any(6)], i);
	}
	*last = addr;
	for (u32 i = any(4); i > 0; i--)
		len += (size_t)snprintf(text + len, size - len, "%016llx t m%u\t[m]\n",
					(unsigned long long)(first - 4096 + any(8192)), i);
	return len;
}

static bool same_sweep(const char *text, size_t len, const u64 *at, u32 nr)
{
	struct symtab_sym got[2][16] = { 0 };
	bool fine = nr <= 16;
	for (unsigned whole = 0; whole < 2 && fine; whole++) {
		struct sweep s;
		if (sweep_init(&s, at, nr, SYMTAB_LAST))
			return false;
		if (whole)
			(void)kallsyms_sweep(text, len, NULL, 0, &s);
		else
			fine = kallsyms_sweep_ordered(text, len, &s);
		fine = fine && !sweep_finish(&s, got[whole]);
		sweep_done(&s);
	}
	for (u32 i = 0; i < nr && fine; i++)
		fine = got[0][i].name == got[1][i].name && got[0][i].start == got[1][i].start &&
		       got[0][i].end == got[1][i].end && got[0][i].data == got[1][i].data;
	return fine;
}

static void test_ordered(void)
{
	static char text[8192];
	size_t bad = 0, asked = 0;
	for (int round = 0; round < 3000; round++) {
		u64 first = 0xffffffff81000000, last, at[16];
		size_t len = ordered_list(text, sizeof(text), first, &last);
		u32 nr = 0;
		for (u64 q = first + any(8); q < last && nr < ARRAY_SIZE(at); q += 1 + any(200))
			at[nr++] = q;
		/* In a whole sweep, modules between the kernel's symbols (as nowhere) would end those. */
		bool clear = !memmem(text, len, "[m]", 3);
		bad += clear && !same_sweep(text, len, at, nr);
		asked += clear ? nr : 0;
		const char *above = kallsyms_above(text, len, last);
		bad += !above || (above < text + len && !memmem(above, 32, "\t[m]", 4));
	}
	ok(asked > 3000, "%zu questions", asked);
	is_u64(bad, 0, "what is next to the questions answers as the whole list does");

	static const char mixed[] = "ffffffff81000300 T c\nffffffff81000100 T a\n"
				    "ffffffff81000400 T d\nffffffff81000200 T b\n";
	static const char junk[] = "ffffffff81000300 T c\n#\nffffffff81000400 T d\n";
	u64 at = 0xffffffff81000350;
	ok(!kallsyms_above(mixed, sizeof(mixed) - 1, 0xffffffff81000450), "not in order");
	ok(!kallsyms_above(junk, sizeof(junk) - 1, at), "a line that is none");
	ok(kallsyms_above("", 0, at), "an empty list is in order");
	struct sweep s;
	if (sweep_init(&s, &at, 1, SYMTAB_LAST))
		return;
	ok(!kallsyms_sweep_ordered(junk, sizeof(junk) - 1, &s), "which is left to a whole sweep");
	ok(!kallsyms_sweep_ordered(mixed, 25, &s), "and so is what has no symbol behind it");
	ok(!kallsyms_sweep_ordered(mixed + 50, 25, &s), "or none before it");
	sweep_done(&s);
}

static void test_perfmap(void)
{
	static const char text[] = "7f00 10 old code\n7f00 20 Lfoo;::bar()\nzz 1 x\n7f40 0 "
				   "empty\n0x7f50 0x8 prefixed\nffffffffffffffff 5 wraps\n7f60 4";
	static const u64 at[] = { 0x7f00, 0x7f1f, 0x7f20, 0x7f40, 0x7f57, 0x7f60 };
	static const char *const want[] = { "Lfoo;::bar()", "Lfoo;::bar()", "", "", "prefixed", "" };
	struct sweep s;
	struct symtab_sym got[ARRAY_SIZE(at)];
	if (sweep_init(&s, at, ARRAY_SIZE(at), SYMTAB_LAST))
		return;
	is_u64(perfmap_sweep(text, sizeof(text) - 1, &s), 3, "lines taken");
	ok(!sweep_finish(&s, got), "sweep");
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		char name[32] = "";
		if (got[i].name)
			snprintf(name, sizeof(name), "%.*s", (int)got[i].name_len, got[i].name);
		is_str(name, want[i], want[i][0] ? want[i] : "no symbol there");
	}
	sweep_done(&s);
	struct symtab table;
	ok(!perfmap_table(text, sizeof(text) - 1, &table), "the same as a table");
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		u64 base;
		const struct symtab_sym *sym = symtab_find(&table, at[i], &base);
		char name[32] = "";
		if (sym && sym->name)
			snprintf(name, sizeof(name), "%.*s", (int)sym->name_len, sym->name);
		is_str(name, want[i], want[i][0] ? want[i] : "no symbol there");
	}
	symtab_done(&table);
}

int main(void)
{
	test_against_plain();
	test_aliases();
	test_kallsyms();
	test_ordered();
	test_perfmap();
	return done_testing();
}
