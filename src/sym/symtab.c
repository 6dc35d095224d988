#include "sym/symtab.h"
#include "image/demangle.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LAST_SYMBOL_ROOM = 4096 };

/* How a name looks to a reader. Names are compared as they will be read, within reason. */
struct symtab_looks {
	size_t underscores;
	size_t len;
};

/* A crafted table could ask for millions. */
enum { DEMANGLE_BUDGET = 16384, DEMANGLE_LONGEST = 4096 };

static struct symtab_looks looks_of(const struct symtab_sym *s, u32 *budget)
{
	_cleanup_free_ char *pretty = NULL;
	if (!s->name_len && *budget && strnlen(s->name, DEMANGLE_LONGEST) < DEMANGLE_LONGEST) {
		(*budget)--;
		pretty = demangle(s->name, DEMANGLE_SHORT);
	}
	const char *name = pretty ? pretty : s->name;
	size_t len = s->name_len ? s->name_len : strlen(name);
	size_t n = 0;
	while (n < len && name[n] == '_')
		n++;
	return (struct symtab_looks){ n, len };
}

/* Lower is better: a strong global name, then a local one, then a weak one. */
static int binding(const struct symtab_sym *s)
{
	return s->flags & (SYMTAB_WEAK | SYMTAB_LOCAL);
}

/* By start; at one start the better binding (or what was told last) comes last. */
static int by_start(const void *a, const void *b, void *ctx)
{
	static const int worth[] = {
		[0] = 3, [SYMTAB_LOCAL] = 2, [SYMTAB_WEAK] = 1, [SYMTAB_WEAK | SYMTAB_LOCAL] = 0
	};
	const struct symtab_sym *x = a, *y = b;
	const enum symtab_policy *policy = ctx;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	int wx = worth[binding(x)], wy = worth[binding(y)];
	if (*policy == SYMTAB_BEST && wx != wy)
		return wx < wy ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

/* Of symbols that share start and binding: fewer leading underscores, then the longer name, then the first. */
static void best_last(struct symtab_sym *syms, size_t nr, u32 *budget)
{
	size_t best = 0;
	struct symtab_looks top = looks_of(&syms[0], budget);
	for (size_t i = 1; i < nr; i++) {
		struct symtab_looks l = looks_of(&syms[i], budget);
		if (l.underscores > top.underscores ||
		    (l.underscores == top.underscores && l.len <= top.len))
			continue;
		best = i;
		top = l;
	}
	struct symtab_sym keep = syms[best];
	memmove(&syms[best], &syms[best + 1], (nr - 1 - best) * sizeof(*syms));
	syms[nr - 1] = keep;
}

/*
 * By start, the symbol that names a place last among those that share it. The order is perf's (binding, underscores, length), so that
 * both tools print the same alias.
 */
static void sort_syms(struct symtab_sym *syms, size_t nr, enum symtab_policy policy, u32 *budget)
{
	if (nr)
		qsort_r(syms, nr, sizeof(*syms), by_start, &policy);
	for (size_t i = 0, next; policy == SYMTAB_BEST && i < nr; i = next) {
		for (next = i + 1; next < nr && syms[next].start == syms[i].start &&
				   binding(&syms[next]) == binding(&syms[i]);
		     next++)
			;
		bool decides = next == nr || syms[next].start != syms[i].start;
		if (decides && next - i > 1)
			best_last(&syms[i], next - i, budget);
	}
}

/* Labels of one place that compete in a gap. */
static bool label_beats(const struct symtab_sym *a, const struct symtab_sym *b,
			enum symtab_policy policy, u32 *budget)
{
	struct symtab_sym pair[2] = { *b, *a };
	if (policy == SYMTAB_LAST)
		return a->seq > b->seq;
	sort_syms(pair, 2, policy, budget);
	return pair[1].seq == a->seq;
}

const char *symtab_name(const struct symtab_sym *s, char room[SYMTAB_NAME_ROOM])
{
	if (!(s->flags & SYMTAB_BOUNDS))
		return s->name;
	(void)snprintf(room, SYMTAB_NAME_ROOM, "func_0x%llx", (unsigned long long)s->start);
	return room;
}

int sweep_init(struct sweep *s, const u64 *at, u32 nr, enum symtab_policy policy)
{
	*s = (struct sweep){ .at = at, .nr = nr, .policy = policy, .budget = DEMANGLE_BUDGET };
	s->gaps = calloc((size_t)nr + 1, sizeof(*s->gaps));
	return s->gaps ? 0 : -ENOMEM;
}

void sweep_done(struct sweep *s)
{
	free(s->gaps);
	vec_free(&s->hits);
	vec_free(&s->labels);
	*s = (struct sweep){ 0 };
}

/* The first question at or after start. The search has no branch to mispredict: symbols come in any order. */
static u32 gap_of(struct sweep *s, u64 start)
{
	u32 g = s->gap;
	if ((g == 0 || s->at[g - 1] < start) && (g == s->nr || start <= s->at[g]))
		return g;
	const u64 *base = s->at;
	for (u32 n = s->nr; n > 1;) {
		u32 half = n / 2;
		base += half * (u32)(base[half - 1] < start);
		n -= half;
	}
	return s->gap = (u32)(base - s->at) + (s->nr && *base < start);
}

static void gap_label(struct sweep *s, struct symtab_gap *g, const struct symtab_sym *sym)
{
	struct symtab_sym *to = g->label ? &s->labels.at[g->label - 1] : vec_push(&s->labels);
	if (!to) {
		s->failed = true;
		return;
	}
	*to = *sym;
	to->seq = s->seq;
	g->label = (u32)(to - s->labels.at) + 1;
}

static bool label_is_better(struct sweep *s, const struct symtab_gap *g,
			    const struct symtab_sym *sym)
{
	struct symtab_sym next = *sym;
	next.seq = s->seq;
	return g->label && label_beats(&next, &s->labels.at[g->label - 1], s->policy, &s->budget);
}

static void gap_note(struct sweep *s, struct symtab_gap *g, const struct symtab_sym *sym)
{
	bool label = sym->end == sym->start && sym->name;
	bool later = !g->any || sym->start > g->last;
	if (!g->any || sym->start < g->first)
		g->first = sym->start;
	if (later)
		g->last = sym->start;
	g->covered = max(g->covered, sym->end);
	g->any = true;
	if (label && (later || (sym->start == g->last && label_is_better(s, g, sym))))
		gap_label(s, g, sym);
	else if (!label && sym->start == g->last)
		g->label = 0;
}

void sweep_add(struct sweep *s, const struct symtab_sym *sym)
{
	s->seq++;
	u32 g = gap_of(s, sym->start);
	gap_note(s, &s->gaps[g], sym);
	if (sym->end <= sym->start || g == s->nr || s->at[g] >= sym->end)
		return;
	struct symtab_sym *hit = vec_push(&s->hits);
	if (hit) {
		*hit = *sym;
		hit->seq = s->seq;
	} else {
		s->failed = true;
	}
}

/* The label before question i reaches to the next start, its section's end, or (being the last) to the end of the page after. */
static bool label_covers(struct symtab_sym *label, u64 next, u64 at)
{
	u64 end = next;
	if (next == UINT64_MAX)
		end = ((label->start + LAST_SYMBOL_ROOM - 1) & ~(u64)(LAST_SYMBOL_ROOM - 1)) +
		      LAST_SYMBOL_ROOM;
	if (label->limit && end > label->limit)
		end = label->limit;
	label->end = end;
	return at < end;
}

static void answer_labels(const struct sweep *s, struct symtab_sym *ret)
{
	/* Backwards for the next start after each question, which is parked in ret[].end; then forwards. */
	u64 next = UINT64_MAX;
	for (u32 i = s->nr; i-- > 0;) {
		if (s->gaps[i + 1].any)
			next = s->gaps[i + 1].first;
		ret[i] = (struct symtab_sym){ .end = next };
	}
	const struct symtab_gap *before = NULL;
	u64 covered = 0;
	for (u32 i = 0; i < s->nr; i++) {
		if (s->gaps[i].any)
			before = &s->gaps[i];
		covered = max(covered, s->gaps[i].covered);
		struct symtab_sym label = { 0 };
		if (before && before->label)
			label = s->labels.at[before->label - 1];
		/* One inside a sized symbol is a place in that function, and does not name what follows it. */
		bool covers = label.name && covered <= label.start &&
			      label_covers(&label, ret[i].end, s->at[i]);
		ret[i] = covers ? label : (struct symtab_sym){ 0 };
	}
}

int sweep_finish(struct sweep *s, struct symtab_sym *ret)
{
	if (s->failed)
		return -ENOMEM;
	answer_labels(s, ret);
	if (!s->hits.nr)
		return 0;
	sort_syms(s->hits.at, s->hits.nr, s->policy, &s->budget);
	/* Those that started, innermost on top; each is pushed and popped once, so the array itself can hold the stack. */
	struct symtab_sym *stack = s->hits.at;
	size_t depth = 0, next = 0;
	for (u32 i = 0; i < s->nr; i++) {
		u64 at = s->at[i];
		while (next < s->hits.nr && s->hits.at[next].start <= at)
			stack[depth++] = s->hits.at[next++];
		while (depth && stack[depth - 1].end <= at)
			depth--;
		if (depth)
			ret[i] = stack[depth - 1];
	}
	return 0;
}

/* Gives labels an end and drops those that lie inside a sized symbol; leaves what is left in order. */
static size_t settle_labels(struct symtab_sym *all, size_t nr)
{
	u64 covered = 0;
	size_t kept = 0;
	for (size_t i = 0; i < nr; i++) {
		struct symtab_sym s = all[i];
		if (s.end > s.start) {
			covered = max(covered, s.end);
			all[kept++] = s;
			continue;
		}
		/* The best label of a place comes last. */
		u64 next = i + 1 < nr ? all[i + 1].start : UINT64_MAX;
		if (s.start >= covered && next != s.start && label_covers(&s, next, s.start))
			all[kept++] = s;
	}
	return kept;
}

static void piece_add(struct symtab *t, const struct symtab_sym *s, u64 start, u64 end)
{
	t->syms[t->nr] = *s;
	t->syms[t->nr].start = start;
	t->syms[t->nr].end = end;
	t->base[t->nr++] = s->start;
}

/* Cuts overlapping symbols into pieces; the innermost, that is the one that starts last, has the word. */
static void flatten(struct symtab *t, const struct symtab_sym *all, size_t nr,
		    struct symtab_sym *stack)
{
	size_t depth = 0;
	u64 at = 0;
	for (size_t i = 0; i <= nr; i++) {
		u64 until = i < nr ? all[i].start : UINT64_MAX;
		while (depth && at < until) {
			struct symtab_sym *top = &stack[depth - 1];
			u64 end = min(top->end, until);
			if (end > at) {
				piece_add(t, top, at, end);
				at = end;
			}
			if (top->end <= at)
				depth--;
		}
		if (i < nr) {
			at = max(at, until);
			stack[depth++] = all[i];
		}
	}
}

int symtab_build(struct symtab *t, struct symtab_sym *all, size_t nr, enum symtab_policy policy)
{
	*t = (struct symtab){ 0 };
	u32 budget = DEMANGLE_BUDGET;
	sort_syms(all, nr, policy, &budget);
	nr = settle_labels(all, nr);
	/* n intervals have 2n ends, so at most 2n pieces. */
	t->syms = calloc(2 * nr + 1, sizeof(*t->syms));
	t->base = calloc(2 * nr + 1, sizeof(*t->base));
	struct symtab_sym *stack = calloc(nr + 1, sizeof(*stack));
	if (t->syms && t->base && stack)
		flatten(t, all, nr, stack);
	bool good = t->syms && t->base && stack;
	free(stack);
	free(all);
	if (good)
		return 0;
	symtab_done(t);
	return -ENOMEM;
}

void symtab_done(struct symtab *t)
{
	free(t->syms);
	free(t->base);
	*t = (struct symtab){ 0 };
}

const struct symtab_sym *symtab_find(const struct symtab *t, u64 at, u64 *base)
{
	u32 lo = 0, hi = t->nr;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;
		if (t->syms[mid].start <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || at >= t->syms[lo - 1].end)
		return NULL;
	*base = t->base[lo - 1];
	return &t->syms[lo - 1];
}
