/*
 * Keys of what hardware tells with a sample: branches that were taken, accesses to memory. Their words are numbers while samples are
 * collected (frames, bits); once names are known, those that a person cannot tell apart become one.
 */
#include "analysis/profile_impl.h"
#include "base/num.h"
#include "model/data_src.h"

#include <errno.h>
#include <linux/perf_event.h>
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

bool hw_is_frame(enum profile_key key)
{
	return key >= PROFILE_KEY_SRCLINE_FROM && key <= PROFILE_KEY_PLACE;
}

bool hw_has_place(enum profile_key key)
{
	return key == PROFILE_KEY_ADDR_FROM || key == PROFILE_KEY_ADDR_TO ||
	       (key >= PROFILE_KEY_SYM_DADDR && key <= PROFILE_KEY_DCACHELINE);
}

static bool is_text(enum profile_key key)
{
	return key >= PROFILE_KEY_MEM && key <= PROFILE_KEY_BLOCKED;
}

static bool is_source(enum profile_key key)
{
	return key == PROFILE_KEY_SRCLINE_FROM || key == PROFILE_KEY_SRCLINE_TO;
}

unsigned hw_needs(const struct profile *p)
{
	unsigned needs = p->cfg.branches ? NEED_BRANCH : 0;
	for (u32 i = 0; i < p->nr_values; i++) {
		enum profile_key key = p->values[i].key;
		if (key == PROFILE_KEY_DSO_DADDR || key == PROFILE_KEY_SYM_DADDR ||
		    key == PROFILE_KEY_DCACHELINE)
			needs |= NEED_DATA;
		if (key >= PROFILE_KEY_DATA_PAGE && key <= PROFILE_KEY_LOCAL_STAGE_CYCLES)
			needs |= NEED_EXTRA;
	}
	return needs;
}

static u64 branch_value(enum profile_key key, const struct sample_branch *b)
{
	switch (key) {
	case PROFILE_KEY_MISPREDICT: return b->flags & (BRANCH_MISPREDICTED | BRANCH_PREDICTED);
	case PROFILE_KEY_ABORT: return b->flags & BRANCH_ABORT;
	case PROFILE_KEY_IN_TX: return b->flags & BRANCH_IN_TX;
	case PROFILE_KEY_CYCLES: return BRANCH_CYCLES(b->flags);
	case PROFILE_KEY_ADDR_FROM: return b->from;
	case PROFILE_KEY_ADDR_TO: return b->to;
	case PROFILE_KEY_SRCLINE_FROM:
	case PROFILE_KEY_DSO_FROM:
	case PROFILE_KEY_SYM_FROM: return b->from_frame;
	default: return b->to_frame;
	}
}

static u64 extra_value(enum profile_key key, const struct sample_extra *e)
{
	switch (key) {
	case PROFILE_KEY_DATA_PAGE: return e->data_page;
	case PROFILE_KEY_CODE_PAGE: return e->code_page;
	case PROFILE_KEY_TRANSACTION: return e->transaction;
	case PROFILE_KEY_INS_LAT:
	case PROFILE_KEY_LOCAL_INS_LAT: return e->ins_lat;
	default: return e->stage_cycles;
	}
}

/* The frame of another key's address. */
static u64 place_value(enum profile_key key, const struct sample *s)
{
	const struct sample_branch *b = s->nr_branches ? s->branches : NULL;
	switch (key) {
	case PROFILE_KEY_ADDR_FROM: return b ? b->from_frame : FRAME_NONE;
	case PROFILE_KEY_ADDR_TO: return b ? b->to_frame : FRAME_NONE;
	case PROFILE_KEY_SYM_IADDR: return s->leaf;
	default: return s->data;
	}
}

u64 hw_value(const struct profile_field *f, const struct sample *s)
{
	enum profile_key key = f->key;
	if (is_text(key))
		return s->data_src & parts[key - PROFILE_KEY_MEM].mask;
	switch (key) {
	case PROFILE_KEY_PLACE: return place_value((enum profile_key)f->event, s);
	case PROFILE_KEY_PHYS_DADDR: return s->phys_addr;
	case PROFILE_KEY_DSO_DADDR: return s->data;
	case PROFILE_KEY_SYM_DADDR:
	case PROFILE_KEY_DCACHELINE: return s->addr;
	case PROFILE_KEY_SYM_IADDR: return s->ip;
	case PROFILE_KEY_ADDR: return s->nr_branches ? s->branches->to : s->ip;
	case PROFILE_KEY_DATA_PAGE ... PROFILE_KEY_LOCAL_STAGE_CYCLES:
		return s->extra ? extra_value(key, s->extra) : 0;
	default: return s->nr_branches ? branch_value(key, s->branches) : 0;
	}
}

/* ---- kinds of branches ---- */

void hw_count_branch(struct profile_branches *to, const struct sample_branch *b)
{
	enum { CONDITIONAL = 1, EXTENDED = 15, SMALL_PAGE = 12, LARGE_PAGE = 21 };
	u32 kind = BRANCH_TYPE(b->flags);
	if (!kind || !b->from)
		return;
	to->nr++;
	to->kinds[kind]++;
	to->more[BRANCH_NEW_TYPE(b->flags)] += kind == EXTENDED;
	to->forward += kind == CONDITIONAL && b->to > b->from;
	to->backward += kind == CONDITIONAL && b->to <= b->from;
	if (b->from >> LARGE_PAGE != b->to >> LARGE_PAGE)
		to->cross_2m++;
	else if (b->from >> SMALL_PAGE != b->to >> SMALL_PAGE)
		to->cross_4k++;
}

void hw_add_branches(struct profile_branches *to, const struct profile_branches *from)
{
	to->nr += from->nr;
	for (size_t i = 0; i < ARRAY_SIZE(to->kinds); i++) {
		to->kinds[i] += from->kinds[i];
		to->more[i] += from->more[i];
	}
	to->forward += from->forward;
	to->backward += from->backward;
	to->cross_4k += from->cross_4k;
	to->cross_2m += from->cross_2m;
}

const struct profile_branches *profile_branches(const struct profile *p)
{
	return &p->branches;
}

/* ---- names are known ---- */

/* A place: a function, and how far after its start. Without a name: function 0, and whether anything is known to be there. */
#define PLACE(func, behind) ((u64)(func) << 32 | (u32)(behind))
#define PLACE_FUNC(word)    ((u32)((word) >> 32))
#define PLACE_BEHIND(word)  ((s32)(u32)(word)) /* a cache line may begin before it */

enum { CACHE_LINE = 64 };

struct settling {
	struct profile *p;
	const struct frame_table *frames;
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

static s64 settle_source(struct settling *s, u32 frame)
{
	struct strbuf text;
	strbuf_init(&text);
	names_place(s->p->names, s->p->catalog, s->frames, frame, NULL,
		    PLACE_BY_FUNCTION | (s->p->cfg.full_path ? PLACE_FULL_PATH : 0), &text);
	s64 id = text.err ? text.err : keys_text(s->p, strbuf_cstr(&text));
	strbuf_done(&text);
	return id;
}

/* of: the key whose address it is; addr: that address. */
static s64 settle_place(struct settling *s, enum profile_key of, u64 addr, u32 frame)
{
	u64 offset = s->frames->frames[frame].offset;
	if (of == PROFILE_KEY_DCACHELINE)
		offset -= addr % CACHE_LINE;
	const struct name_func *f = &s->p->names->funcs[s->p->names->func_of[frame]];
	if (!f->name)
		return (s64)PLACE(0, f->image != IMAGE_NONE);
	s64 func = settle_func(s, s->p->names->func_of[frame]);
	return func < 0 ? func : (s64)PLACE(func, offset - s->p->names->funcs[func].start);
}

static s64 settle_word(struct settling *s, enum profile_key key, u64 word)
{
	const struct names_result *n = s->p->names;
	if (is_text(key))
		return settle_text(s, key, word);
	if (is_source(key))
		return settle_source(s, (u32)word);
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
		if (!is_text(key) && !hw_is_frame(key))
			continue;
		/* The address stands before its place. */
		s64 word = key == PROFILE_KEY_PLACE
				   ? settle_place(s, (enum profile_key)p->values[i].event, words[i],
						  (u32)words[1 + i])
				   : settle_word(s, key, words[1 + i]);
		if (word < 0)
			return word;
		words[1 + i] = (u64)word;
	}
	for (u32 i = 0; i < p->nr_values; i++)
		if (p->values[i].key == PROFILE_KEY_DCACHELINE)
			words[1 + i] -= words[1 + i] % CACHE_LINE;
	return tally_group(&p->all, words, p->stride);
}

int hw_settle(struct profile *p, const struct run_tables *run)
{
	bool any = false;
	for (u32 i = 0; i < p->nr_values; i++)
		any |= hw_is_frame(p->values[i].key) || is_text(p->values[i].key);
	if (!any)
		return 0;
	/* Words change their meaning: the groups made so far are set aside. */
	struct settling s = { .p = p, .frames = &run->frames };
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
	if (is_text(key) || is_source(key))
		return strcmp(texts_shown(&p->texts, a), texts_shown(&p->texts, b));
	if (hw_is_frame(key) && key != PROFILE_KEY_PLACE)
		return strcmp(strtab_str(&p->dsos, (u32)a), strtab_str(&p->dsos, (u32)b));
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

/* "[.] name+0x10": how far after is told of data, and of code where it is asked for. Letter 0: that of its level. */
static const char *place_cell(const struct profile *p, struct arena *a, char letter, u64 addr,
			      u64 place, bool behind)
{
	const struct name_func *f = &p->names->funcs[PLACE_FUNC(place)];
	s32 by = PLACE_BEHIND(place);
	struct strbuf s;
	strbuf_init(&s);
	bool kernel = f->name ? f->mode == FRAME_KERNEL : addr >> 63;
	strbuf_printf(&s, "[%c] ", letter ? letter : kernel ? 'k' : '.');
	if (!f->name)
		strbuf_printf(&s, addr ? "%#018llx" : "%016llx", (unsigned long long)addr);
	else
		strbuf_str(&s, f->name);
	if (f->name && (f->data || (behind && by)))
		strbuf_printf(&s, "%c0x%x", by < 0 ? '-' : '+', by < 0 ? 0 - (u32)by : (u32)by);
	const char *text = s.err ? NULL : arena_strndup(a, s.data, s.len);
	strbuf_done(&s);
	return text;
}

static const char *page_cell(struct arena *a, u64 bytes)
{
	struct strbuf s;
	strbuf_init(&s);
	data_src_page(bytes, &s);
	const char *text = s.err ? NULL : arena_strdup(a, strbuf_cstr(&s));
	strbuf_done(&s);
	return text;
}

static const char *transaction_cell(struct arena *a, u64 bits)
{
	static const struct {
		u64 bit;
		const char *word;
	} words[] = {
		{ PERF_TXN_ELISION, "EL " },
		{ PERF_TXN_TRANSACTION, "TX " },
		{ PERF_TXN_SYNC, "SYNC " },
		{ PERF_TXN_ASYNC, "ASYNC " },
		{ PERF_TXN_RETRY, "RETRY " },
		{ PERF_TXN_CONFLICT, "CON " },
		{ PERF_TXN_CAPACITY_WRITE, "CAP-WRITE " },
		{ PERF_TXN_CAPACITY_READ, "CAP-READ " },
	};
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		strbuf_str(&s, bits & words[i].bit ? words[i].word : "");
	if (bits && !(bits & (PERF_TXN_SYNC | PERF_TXN_ASYNC)))
		strbuf_str(&s, "NEITHER ");
	u64 code = (bits & PERF_TXN_ABORT_MASK) >> PERF_TXN_ABORT_SHIFT;
	if (code)
		strbuf_printf(&s, ":%llx", (unsigned long long)code);
	const char *text = s.err ? NULL : arena_strdup(a, strbuf_cstr(&s));
	strbuf_done(&s);
	return text;
}

static const char *plain_address(struct arena *a, u64 v)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%#llx", (unsigned long long)v);
	return arena_strndup(a, text, (size_t)n);
}

const char *hw_cell(const struct profile *p, enum profile_key key, const struct row *r, u64 word,
		    u64 place, struct arena *a)
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
	case PROFILE_KEY_ADDR_FROM:
	case PROFILE_KEY_ADDR_TO: return place_cell(p, a, 0, word, place, true);
	case PROFILE_KEY_DCACHELINE:
		/* Neither code nor data of anything known: perf's letter for that is X. */
		return place_cell(p, a, place ? 0 : 'X', word, place, false);
	case PROFILE_KEY_SYM_DADDR:
	case PROFILE_KEY_SYM_IADDR: return place_cell(p, a, 0, word, place, false);
	case PROFILE_KEY_DATA_PAGE:
	case PROFILE_KEY_CODE_PAGE: return page_cell(a, word);
	case PROFILE_KEY_TRANSACTION: return transaction_cell(a, word);
	case PROFILE_KEY_ADDR: return plain_address(a, word);
	default:
		return is_text(key) || is_source(key) ? texts_shown(&p->texts, word)
						      : strtab_str(&p->dsos, (u32)word);
	}
}
