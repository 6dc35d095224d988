/* What the parts of a profile share: collecting and folding (profile.c), shards into one (profile_merge.c), rows (profile_rows.c), keys (profile_keys.c), tables (profile_table.c). */
#pragma once

#include "analysis/fold.h"
#include "analysis/profile.h"
#include "analysis/rowtree.h"
#include "base/dict.h"
#include "base/strtab.h"

/*
 * What the keys of a sample (not of its frames) say, as words: the event, then a value for each key that is asked for. A key
 * that is not asked for has no word, so that groups merge over it.
 */
enum { GROUP_WORDS_MAX = 1 + PROFILE_VALUES_MAX };

/* Samples that share group, leaf and chain. */
struct entry {
	u32 group;
	u32 leaf; /* frame; once folded: function */
	u32 chain;
	u64 period;
	u64 count;
};

/* Groups and (group, leaf, chain) entries, of a shard or of the run. */
struct tally {
	VEC(u64) groups; /* `stride` words each */
	u64 seed; /* since the first group; 0: none yet */
	u32 nr_groups;
	struct dict group_of; /* hash of a group -> index; equal hashes are told apart by probing on */
	u64 last_group[GROUP_WORDS_MAX];
	u32 last; /* index of last_group; valid when nr_groups */
	struct entry *entries;
	u32 *slots; /* index + 1 */
	size_t nr, cap, nr_slots;
	u32 mask;
};

/* Texts of tracepoints and their fields: a value is the number of a text. keys: what they are told apart (and sorted) by. */
struct texts {
	struct strtab keys;
	VEC(const char *) shown; /* [id]; NULL: the key itself */
	struct arena arena;
};

/* Of one worker. */
struct profile_shard {
	struct tally tally;
	struct texts texts;
	VEC(struct profile_totals) skipped; /* [event]: filtered out, but part of 100 % */
	struct profile_branches branches;
	struct sample_gate gate;
};

struct row {
	u32 group;
	u32 func; /* one of its functions: names the row */
	u32 key;
	u32 first_item; /* index + 1 into all.entries */
	u32 first_place; /* index into places */
	u32 nr_places;
	u32 depth; /* of its call graph */
	u64 self;
	u64 total;
	u64 count;
	u32 measures; /* index + 1 into profile.measures: where self is split up; 0: it is not */
};

/* self by level; kept only where a column asks for it. */
struct measures {
	u64 sys, us, guest_sys, guest_us;
};

/* table.ctx: what draws the call graphs of rows. */
struct drawer {
	struct profile *profile;
	struct rowtree graph;
};

struct profile_live;

struct profile {
	struct sink sink;
	struct profile_live *live; /* whose it is; NULL: a run of its own */
	u8 weight_bits; /* weights of entries and totals are larger by so many, while it collects */
	struct profile_config cfg;
	struct profile_field values[PROFILE_VALUES_MAX]; /* [word - 1] */
	u32 nr_values;
	u32 stride;
	bool filtered; /* some filter is set that looks at samples */
	bool with_texts, with_measures, with_parent;
	struct tally all;
	struct texts texts;
	const struct catalog *catalog;
	const struct names_result *names;
	struct names_result address_names; /* by_address, by_line: every frame, or line, its own function */
	struct strtab sources;
	u32 *srcline_of, *srcfile_of; /* [func] -> sources; where rows go by them */
	struct chain_table own_chains; /* where chains are shortened: a pool of their own */
	struct chain_table cut_chains; /* without callees that are ignored: in the pool of the others */
	struct fold fold;
	struct drawer drawer;
	struct strtab dsos;
	u32 *dso_of; /* [image] -> dsos id: images of one name are one object to a person */
	u32 *key_of; /* [func] -> row key */
	VEC(struct fold_item)
	items; /* [entry]; more after them where callers have trees of their own */
	VEC(u64) item_counts; /* [item]; only where graphs show them */
	u32 *next_item; /* [entry] -> the next one of its row, index + 1 */
	u32 *entry_row; /* [entry] -> the row of its leaf */
	struct rowtree_start *places; /* where a row's function is outermost on its path, row by row */
	size_t nr_places;
	VEC(struct row) rows;
	VEC(struct measures) measures;
	struct dict row_of; /* (group, key) -> row */
	VEC(struct profile_totals) totals; /* [event]: of all samples */
	struct profile_branches branches;
	VEC(struct profile_totals) shown_totals; /* [event]: of those that the filters leave */
	VEC(u32) shown; /* rows of the table made last, in its order */
	u64 shown_total;
};

static inline const u64 *group_words(const struct profile *p, u32 group)
{
	return &p->all.groups.at[(size_t)group * p->stride];
}
static inline u32 group_event(const struct profile *p, u32 group)
{
	return (u32)p->all.groups.at[(size_t)group * p->stride];
}

/* Whether each row has a tree of its own in the fold; else each group has. */
static inline bool own_trees(const struct profile *p)
{
	return !p->cfg.children || p->cfg.order == PROFILE_CALLEE;
}

/* ---- profile_keys.c ---- */

/* Fills in the usual layout where none is given, and finds out which words a group needs. -EINVAL: too many keys. */
int keys_settle(struct profile *p) must_check;
bool keys_has(const struct profile *p, enum profile_key key);
/* The words after the event. 0 or -ENOMEM. */
int keys_values(const struct profile *p, struct texts *t, const struct sample *s,
		u64 *words) must_check;
/* Numbers of another table's texts into ours. */
int keys_translate(struct profile *p, const struct texts *from, const u32 *map_frame,
		   const u64 *words, u64 *ret) must_check;
/* The number of a name, for PROFILE_KEY_PARENT. */
s64 keys_text(struct profile *p, const char *name) must_check;
void texts_init(struct texts *t);
void texts_done(struct texts *t);
/* How two rows stand in one key; 0: it does not tell them apart. */
int keys_compare(const struct profile *p, const struct profile_field *f, const struct row *a,
		 const struct row *b);
u64 keys_measure(const struct profile *p, enum profile_key key, const struct row *r);
/* What tells rows apart in this key, as a number; equal numbers are equal rows. */
u64 keys_identity(const struct profile *p, const struct profile_field *f, const struct row *r);
/* A column for it; NULL: no memory. */
struct column *keys_column(const struct profile *p, const struct profile_field *f, struct table *t);
/* "[.] name", or an address. letter 0: that of its level. */
/* The file that a function is in, as the column has it. */
const char *keys_dso_name(const struct profile *p, u32 func);
const char *keys_symbol(struct arena *a, const struct name_func *f, char letter);
const char *texts_shown(const struct texts *t, u64 id);
int keys_cell(const struct profile *p, const struct profile_field *f, const struct row *r,
	      u64 total, struct table *t, union cell *ret) must_check;

/* ---- profile_hw.c ---- */

/* Whether its word is a frame until hw_settle(). */
bool hw_is_frame(enum profile_key key);
/* Whether its word is an address, and another one says what that is called. */
bool hw_has_place(enum profile_key key);
/* What a source must deliver for them: of enum sample_needs. */
unsigned hw_needs(const struct profile *p);
u64 hw_value(const struct profile_field *f, const struct sample *s);
void hw_count_branch(struct profile_branches *to, const struct sample_branch *b);
void hw_add_branches(struct profile_branches *to, const struct profile_branches *from);
/* Names are known: words become functions, objects and texts, and groups that then are the same are one. */
int hw_settle(struct profile *p, const struct run_tables *run) must_check;
int hw_compare(const struct profile *p, enum profile_key key, u64 a, u64 b);
/* place: the word of its PROFILE_KEY_PLACE, where it has one. */
const char *hw_cell(const struct profile *p, enum profile_key key, const struct row *r, u64 word,
		    u64 place, struct arena *a);

/* ---- profile.c ---- */

int drawer_init(struct drawer *d, struct profile *p) must_check;
void tally_done(struct tally *t);
/* The group with these words, made when it is not there; its index or -ENOMEM. */
s64 tally_group(struct tally *t, const u64 *words, u32 stride) must_check;
int tally_add(struct tally *t, u32 group, u32 leaf, u32 chain, u64 period, u64 count) must_check;

/* ---- profile_merge.c ---- */

/* sink_ops.merge */
int profile_merge(struct sink *k, const struct sink_part *parts, u32 nr,
		  unsigned workers) must_check;

/* ---- profile_rows.c ---- */

/* How many workers pay for so many entries or nodes. */
unsigned profile_workers(const struct profile *p, u64 nr);
/* The row of a function in a group, made when it is not there; its index or -ENOMEM. */
s64 profile_row_at(struct profile *p, u32 group, u32 func) must_check;
/* A row for each function that samples ended in. From here on an entry's leaf is a function. */
int rows_by_leaf(struct profile *p) must_check;
/* Rows for all functions on the way, by a walk over the fold; and where in the fold each row's function is. */
int rows_by_caller(struct profile *p) must_check;

/* ---- profile_table.c ---- */

enum { ROW_NONE = 0xffffffffu }; /* in profile.shown: a line that has no graph */

/* Fields of other tracepoints have no column in this one's table. */
bool fields_has_column(const struct profile_field *f, u32 event);
bool profile_row_hidden(const struct profile *p, const struct row *r);
/* Gives rows their call graphs. */
void profile_draw(struct profile *p, struct table *t);

/* ---- profile_choose.c ---- */

/* Samples without a name, or of a level that is to be hidden, do not exist. */
void drop_hidden(struct profile *p);
/* Leaves only entries that the filters by library and function want, and sums those up. */
int choose_entries(struct profile *p) must_check;
/* Chains without what is not wanted of them; *chains then points to them. */
int chains_shorten(struct profile *p, const struct chain_table **chains) must_check;
/* Chains end at the outermost function that is to count for all it called, and it is the leaf. */
int callees_ignore(struct profile *p, const struct chain_table **chains) must_check;
/* Puts every frame in the place of its function. */
int names_by_address(struct profile *p, const struct run_tables *run) must_check;
/* The same with every line of each function, and the texts of lines. */
int names_by_line(struct profile *p, const struct run_tables *run) must_check;
bool wants_lines(const struct profile *p);
void chains_done(struct profile *p);
/* Gives each entry's group the name of its parent. */
int parents_find(struct profile *p, const struct chain_table *chains) must_check;
