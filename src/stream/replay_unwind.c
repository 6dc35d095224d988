#include "stream/replay_unwind.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

enum {
	POOL_WORDS = 1 << 16,
	STACK_FRAMES_MAX = 4096, /* a copy of 64 KB has no room for more */
	SAMPLE_WORDS_MAX = 2 * STACK_FRAMES_MAX + 1, /* with the kernel's part */
};

int replay_unwind_init(struct replay_unwind *u, const struct unwind_config *cfg,
		       const struct tasks *t, const struct catalog *c)
{
	u->tasks = t;
	u->catalog = c;
	u->tables = unwind_tables_new(cfg);
	return u->tables ? unwind_tables_reserve(u->tables, (u32)c->images.nr) : -ENOMEM;
}

void replay_unwind_done(struct replay_unwind *u)
{
	unwind_tables_free(u->tables);
	u->tables = NULL;
}

int replay_chains_init(struct replay_chains *c, const struct replay_unwind *u, bool branches)
{
	if (!u->tables && !branches)
		return 0;
	c->unwinder = u->tables ? unwinder_new(u->tables) : NULL;
	c->words = malloc(POOL_WORDS * sizeof(*c->words));
	return (c->unwinder || !u->tables) && c->words ? 0 : -ENOMEM;
}

void replay_chains_done(struct replay_chains *c)
{
	unwinder_free(c->unwinder);
	free(c->words);
}

bool replay_chains_full(const struct replay_chains *c)
{
	return c->words && c->nr > POOL_WORDS - SAMPLE_WORDS_MAX;
}

struct replay_unwind_looking {
	const struct replay_unwind *u;
	u32 space;
	u64 time;
};

static bool find_place(void *ctx, u64 addr, struct unwind_place *ret)
{
	const struct replay_unwind_looking *l = ctx;
	struct tasks_place p;
	tasks_find(l->u->tasks, l->space, addr, l->time, &p);
	if (p.image == IMAGE_NONE)
		return false;
	*ret = (struct unwind_place){ .image = p.image,
				      .info = &l->u->catalog->images.at[p.image],
				      .offset = p.offset,
				      .from = p.from,
				      .until = p.until };
	return true;
}

/* The chain without its user part: the stack says more. */
static u32 kernel_part(const struct perf_sample_view *v, u64 *to)
{
	u32 nr = 0;
	while (nr < v->nr_chain && nr < STACK_FRAMES_MAX && v->chain[nr] != (u64)PERF_CONTEXT_USER)
		nr++;
	bool user = (v->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
	if (user && nr && v->chain[0] < (u64)PERF_CONTEXT_MAX)
		nr = 0;
	if (nr)
		memcpy(to, v->chain, nr * sizeof(*to));
	return nr;
}

void replay_unwind_sample(struct replay_unwind *u, struct replay_chains *c,
			  struct perf_sample_view *v, u32 space, u64 time)
{
	const struct arch *a = unwind_tables_arch(u->tables);
	struct cfi_regs regs;
	if (!v->stack || v->user_regs.abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	if (v->user_regs.abi != PERF_SAMPLE_REGS_ABI_64 ||
	    !unwind_regs(a, v->user_regs.mask, v->user_regs.values, &regs)) {
		atomic_fetch_add_explicit(&u->nr_foreign, 1, memory_order_relaxed);
		return;
	}
	struct replay_unwind_looking l = { .u = u, .space = space, .time = time };
	struct unwind_thread th = {
		.regs = &regs,
		.stack = v->stack,
		.stack_at = regs.value[a->sp],
		.stack_size = v->stack_size,
		.space = space,
		.time = time,
		.find = find_place,
		.ctx = &l,
	};
	u64 *chain = c->words + c->nr;
	u32 nr = kernel_part(v, chain);
	enum unwind_end end;
	chain[nr++] = (u64)PERF_CONTEXT_USER;
	nr += unwind(c->unwinder, &th, true, chain + nr, STACK_FRAMES_MAX, &end);
	c->nr += nr;
	v->chain = chain;
	v->nr_chain = nr;
	atomic_fetch_add_explicit(&u->nr_stacks, 1, memory_order_relaxed);
	if (end != UNWIND_WHOLE)
		atomic_fetch_add_explicit(&u->nr_ends[end], 1, memory_order_relaxed);
}

void replay_chain_of_branches(struct replay_chains *c, struct perf_sample_view *v, bool swap)
{
	enum { BRANCH_BYTES = 24, KEPT_MAX = 1024 };
	u64 user = 0;
	while (user < v->nr_chain && v->chain[user] != (u64)PERF_CONTEXT_USER)
		user++;
	if (!c->words || user == v->nr_chain || user >= STACK_FRAMES_MAX || !v->nr_branches)
		return;
	u64 *chain = c->words + c->nr;
	u32 nr = (u32)user;
	if (nr)
		memcpy(chain, v->chain, nr * sizeof(*chain));
	chain[nr++] = (u64)PERF_CONTEXT_USER;
	struct bytes b = bytes_of(v->branches, v->nr_branches * BRANCH_BYTES, swap);
	/* Where the last call led to is the function itself; each came from its caller. */
	for (u64 i = 0; i < min(v->nr_branches, (u64)KEPT_MAX); i++) {
		u64 from = bytes_u64(&b), to = bytes_u64(&b);
		bytes_skip(&b, 8);
		if (!i)
			chain[nr++] = to;
		chain[nr++] = from;
	}
	c->nr += nr;
	v->chain = chain;
	v->nr_chain = nr;
}

/* Addresses of a chain follow the context that they belong to; the kernel's are in the upper half. */
struct history {
	u64 *words;
	u32 nr, max;
	u64 context;
};

static void history_add(struct history *h, u64 addr)
{
	u64 context = (s64)addr < 0 ? (u64)PERF_CONTEXT_KERNEL : (u64)PERF_CONTEXT_USER;
	if (h->nr + 2 > h->max)
		return;
	if (context != h->context)
		h->words[h->nr++] = h->context = context;
	h->words[h->nr++] = addr;
}

enum { HISTORY_MAX = 127 }; /* branches; perf shows no more of them */

struct jump {
	u64 from, to;
};

/* Whether the branches from `at` on are once more those from `before` on; how many. */
static u32 repeats(const struct jump *j, u32 nr, u32 before, u32 at)
{
	u32 n = 0;
	for (; before + n < at && at + n < nr; n++)
		if (j[before + n].from != j[at + n].from)
			return 0;
	return n;
}

/*
 * A loop is shown once, however often it went round: each turn would make another path. As in perf, what follows a turn that was
 * dropped does not begin another loop.
 */
static u32 drop_loops(struct jump *j, u32 nr)
{
	bool begins[HISTORY_MAX] = { false };
	for (u32 at = 0; at < nr; at++) {
		u32 before = 0;
		while (before < at && !(begins[before] && j[before].from == j[at].from))
			before++;
		u32 turn = before < at ? repeats(j, nr, before, at) : 0;
		begins[at] = !turn;
		if (!turn)
			continue;
		memmove(j + at, j + at + turn, (nr - at - turn) * sizeof(*j));
		nr -= turn;
	}
	return nr;
}

void replay_history_of_branches(struct replay_chains *c, struct perf_sample_view *v, bool swap)
{
	enum { BRANCH_BYTES = 24, CALL_BYTES = 8 };
	if (!c->words || !v->nr_branches)
		return;
	struct history h = { .words = c->words + c->nr, .max = STACK_FRAMES_MAX };
	struct bytes b = bytes_of(v->branches, v->nr_branches * BRANCH_BYTES, swap);
	struct jump jumps[HISTORY_MAX];
	u32 nr = (u32)min(v->nr_branches, (u64)HISTORY_MAX);
	u64 call = 0; /* of the chain: those before it are among the branches */
	for (u32 i = 0; i < nr; i++) {
		jumps[i].from = bytes_u64(&b);
		jumps[i].to = bytes_u64(&b);
		bytes_skip(&b, 8);
		while (call < v->nr_chain &&
		       (v->chain[call] >= (u64)PERF_CONTEXT_MAX || v->chain[call] == v->ip))
			call++;
		/* A return address lies after the call that the branch was. */
		if (call < v->nr_chain && jumps[i].from < v->chain[call] &&
		    jumps[i].from + CALL_BYTES >= v->chain[call])
			call++;
	}
	nr = drop_loops(jumps, nr);
	for (u32 i = 0; i < nr; i++) {
		history_add(&h, jumps[i].to);
		history_add(&h, jumps[i].from);
	}
	for (; call < v->nr_chain; call++)
		if (v->chain[call] < (u64)PERF_CONTEXT_MAX)
			history_add(&h, v->chain[call]);
	c->nr += h.nr;
	v->chain = h.words;
	v->nr_chain = h.nr;
}

u64 replay_unwind_cut(const struct replay_unwind *u)
{
	u64 cut = 0;
	for (int i = UNWIND_WHOLE + 1; i < UNWIND_NR_ENDS; i++)
		cut += u->nr_ends[i];
	return cut;
}

void replay_unwind_report(const struct replay_unwind *u, struct diag *d)
{
	u64 cut = replay_unwind_cut(u);
	if (cut)
		diag_warn(d,
			  "%llu of %llu stacks are truncated: their outermost callers are missing",
			  (unsigned long long)cut, (unsigned long long)u->nr_stacks);
	for (int i = UNWIND_WHOLE + 1; i < UNWIND_NR_ENDS; i++)
		if (u->nr_ends[i])
			diag_hint(d, "%llu: %s%s%s%s", (unsigned long long)u->nr_ends[i],
				  unwind_end_text((enum unwind_end)i),
				  i == UNWIND_SHORT_COPY ? "; " : "",
				  i == UNWIND_SHORT_COPY ? diag_option(d, DIAG_OPT_UNWIND_MOST) : "",
				  i == UNWIND_SHORT_COPY ? " records more of the stack" : "");
	if (u->tables)
		unwind_tables_report_refused(u->tables, d);
	if (u->nr_foreign)
		diag_warn(d, "%llu %s to 32-bit programs, which cannot be unwound",
			  (unsigned long long)u->nr_foreign,
			  str_plural(u->nr_foreign, "stack belongs", "stacks belong"));
}
