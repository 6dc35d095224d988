/*
 * Keys of what hardware tells with a sample: branches that were taken, accesses to memory. Their words are numbers while samples are
 * collected (frames, bits); once names are known, those that a person cannot tell apart become one.
 */
#include "analysis/profile_impl.h"
#include "base/num.h"
#include "model/data_src.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Parts of data_src, and how they read. */
static const struct {
	u64 mask;
	void (*add)(u64 src, struct strbuf *to);
} parts[] = {
	[PROFILE_KEY_MEM - PROFILE_KEY_MEM] = { 0x3fffull << 5 | 0x1full << 33 | 7ull << 43,
						data_src_level },
	[PROFILE_KEY_SNOOP - PROFILE_KEY_MEM] = { 0x1full << 19 | 3ull << 38, data_src_snoop },
	[PROFILE_KEY_TLB - PROFILE_KEY_MEM] = { 0x7full << 26, data_src_tlb },
	[PROFILE_KEY_LOCKED - PROFILE_KEY_MEM] = { 3ull << 24, data_src_lock },
	[PROFILE_KEY_BLOCKED - PROFILE_KEY_MEM] = { 7ull << 40, data_src_blocked },
};

bool hw_is_key(enum profile_key key)
{
	return key >= PROFILE_KEY_MISPREDICT && key <= PROFILE_KEY_PHYS_DADDR;
}

bool hw_is_frame(enum profile_key key)
{
	return key >= PROFILE_KEY_DSO_FROM && key <= PROFILE_KEY_DSO_DADDR;
}

static bool is_text(enum profile_key key)
{
	return key >= PROFILE_KEY_MEM && key <= PROFILE_KEY_BLOCKED;
}

unsigned hw_needs(const struct profile *p)
{
	return (p->cfg.branches ? NEED_BRANCH : 0) |
	       (keys_has(p, PROFILE_KEY_DSO_DADDR) ? NEED_DATA : 0);
}

u64 hw_value(enum profile_key key, const struct sample *s)
{
	const struct sample_branch *b = s->nr_branches ? s->branches : NULL;
	if (is_text(key))
		return s->data_src & parts[key - PROFILE_KEY_MEM].mask;
	if (key == PROFILE_KEY_PHYS_DADDR)
		return s->phys_addr;
	if (key == PROFILE_KEY_DSO_DADDR)
		return s->data;
	if (!b)
		return 0;
	switch (key) {
	case PROFILE_KEY_MISPREDICT: return b->flags & (BRANCH_MISPREDICTED | BRANCH_PREDICTED);
	case PROFILE_KEY_ABORT: return b->flags & BRANCH_ABORT;
	case PROFILE_KEY_IN_TX: return b->flags & BRANCH_IN_TX;
	case PROFILE_KEY_CYCLES: return BRANCH_CYCLES(b->flags);
	case PROFILE_KEY_DSO_FROM:
	case PROFILE_KEY_SYM_FROM: return b->from_frame;
	default: return b->to_frame;
	}
}

/* ---- names are known ---- */

struct settling {
	struct profile *p;
	struct dict funcs; /* hash of what a person sees of a function -> the first such one */
};

/* Functions of one object that begin at one place are one, whichever of its images they are in. */
static s64 settle_func(struct settling *s, u32 func)
{
	const struct name_func *f = &s->p->names->funcs[func];
	u64 key[3] = { s->p->dso_of[f->image], f->start, f->name != NULL };
	u32 first;
	int err = dict_add(&s->funcs, hash_bytes(key, sizeof(key)), func, &first);
	return err ? err : (s64)first;
}

static s64 settle_text(struct settling *s, enum profile_key key, u64 word)
{
	struct strbuf text;
	strbuf_init(&text);
	parts[key - PROFILE_KEY_MEM].add(word, &text);
	s64 id = keys_text(s->p, strbuf_cstr(&text));
	if (text.err)
		id = text.err;
	strbuf_done(&text);
	return id;
}

static s64 settle_word(struct settling *s, enum profile_key key, u64 word)
{
	const struct names_result *n = s->p->names;
	if (is_text(key))
		return settle_text(s, key, word);
	if (!hw_is_frame(key))
		return (s64)word;
	u32 func = n->func_of[word];
	return key == PROFILE_KEY_SYM_FROM || key == PROFILE_KEY_SYM_TO
		       ? settle_func(s, func)
		       : (s64)s->p->dso_of[n->funcs[func].image];
}

static s64 settle_group(struct settling *s, u32 group)
{
	struct profile *p = s->p;
	u64 words[GROUP_WORDS_MAX];
	memcpy(words, group_words(p, group), p->stride * sizeof(*words));
	for (u32 i = 0; i < p->nr_values; i++) {
		enum profile_key key = p->values[i].key;
		s64 word = hw_is_key(key) && key != PROFILE_KEY_PHYS_DADDR
				   ? settle_word(s, key, words[1 + i])
				   : 0;
		if (word < 0)
			return word;
		if (hw_is_key(key) && key != PROFILE_KEY_PHYS_DADDR)
			words[1 + i] = (u64)word;
	}
	return tally_group(&p->all, words, p->stride);
}

int hw_settle(struct profile *p)
{
	bool any = false;
	for (u32 i = 0; i < p->nr_values; i++)
		any |= hw_is_frame(p->values[i].key) || is_text(p->values[i].key);
	if (!any)
		return 0;
	/* Words change their meaning: the groups made so far are set aside. */
	struct settling s = { .p = p };
	u32 nr = p->all.nr_groups;
	_cleanup_free_ u32 *now = calloc((size_t)nr + 1, sizeof(*now));
	int err = now ? 0 : -ENOMEM;
	dict_init(&s.funcs);
	dict_done(&p->all.group_of);
	dict_init(&p->all.group_of);
	p->all.last_group[0] = UINT64_MAX;
	for (u32 i = 0; i < nr && !err; i++) {
		s64 group = settle_group(&s, i);
		if (group < 0)
			err = (int)group;
		else
			now[i] = (u32)group;
	}
	for (size_t i = 0; i < p->all.nr && !err; i++)
		p->all.entries[i].group = now[p->all.entries[i].group];
	dict_done(&s.funcs);
	return err;
}

/* ---- rows ---- */

static int order(u64 a, u64 b)
{
	return (a > b) - (a < b);
}

static int compare_funcs(const struct profile *p, u32 a, u32 b)
{
	const struct name_func *fa = &p->names->funcs[a], *fb = &p->names->funcs[b];
	int c = fa->name && fb->name ? strcmp(fa->name, fb->name) : !fa->name - !fb->name;
	if (!c)
		c = strcmp(strtab_str(&p->dsos, p->dso_of[fa->image]),
			   strtab_str(&p->dsos, p->dso_of[fb->image]));
	return c ? c : order(fa->start, fb->start);
}

int hw_compare(const struct profile *p, enum profile_key key, u64 a, u64 b)
{
	if (key == PROFILE_KEY_SYM_FROM || key == PROFILE_KEY_SYM_TO)
		return compare_funcs(p, (u32)a, (u32)b);
	if (hw_is_frame(key))
		return strcmp(strtab_str(&p->dsos, (u32)a), strtab_str(&p->dsos, (u32)b));
	if (is_text(key))
		return strcmp(texts_shown(&p->texts, a), texts_shown(&p->texts, b));
	return order(a, b);
}

static const char *number_cell(struct arena *a, u64 v)
{
	char text[NUM_DIGITS_MAX];
	return arena_strndup(a, text, num_u64(text, v));
}

static const char *address_cell(struct arena *a, char letter, u64 v)
{
	char text[40];
	int n = snprintf(text, sizeof(text), "[%c] %s%016llx", letter, v ? "0x" : "",
			 (unsigned long long)v);
	return arena_strndup(a, text, (size_t)n);
}

const char *hw_cell(const struct profile *p, enum profile_key key, const struct row *r, u64 word,
		    struct arena *a)
{
	bool kernel = p->names->funcs[r->func].mode == FRAME_KERNEL;
	switch (key) {
	case PROFILE_KEY_MISPREDICT:
		return word & BRANCH_PREDICTED ? "N" : word & BRANCH_MISPREDICTED ? "Y" : "N/A";
	case PROFILE_KEY_ABORT: return word ? "A" : ".";
	case PROFILE_KEY_IN_TX: return word ? "T" : ".";
	case PROFILE_KEY_CYCLES: return word ? number_cell(a, word) : "-";
	case PROFILE_KEY_SYM_FROM:
	case PROFILE_KEY_SYM_TO:
		/* An address that no map holds is of no level: perf's letter for that is H. */
		return keys_symbol(a, &p->names->funcs[word],
				   p->names->funcs[word].image == IMAGE_NONE ? 'H' : 0);
	case PROFILE_KEY_PHYS_DADDR: return address_cell(a, kernel ? 'k' : '.', word);
	default:
		return is_text(key) ? texts_shown(&p->texts, word) : strtab_str(&p->dsos, (u32)word);
	}
}
