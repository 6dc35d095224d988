/* A profile that goes on: rounds add up, what is old fades, a copy is a profile like any other, memory has a bound, ids are carried over. */
#include "analysis/profile_live.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCS = 4 };

struct world {
	struct catalog cat;
	struct run_tables tables;
	struct name_func funcs[FUNCS + 1];
	u32 *func_of;
	struct names_result names;
	u32 comms[2];
	struct profile_live *live;
};

/* Frame n is in function n, up to the last one, which has all the others; odd ones are the kernel's. */
static void name_frames(struct world *w)
{
	u32 nr = w->tables.frames.nr;
	free(w->func_of);
	w->func_of = calloc(nr + 1, sizeof(u32));
	for (u32 i = 1; i < nr; i++)
		w->func_of[i] = (u32)min(w->tables.frames.frames[i].offset, (u64)FUNCS);
	w->names = (struct names_result){ .func_of = w->func_of,
					  .funcs = w->funcs,
					  .nr_funcs = FUNCS + 1,
					  .nr_frames = nr,
					  .nr_ids = nr };
}

static void world_open(struct world *w, const struct profile_config *cfg)
{
	static const char *const names[] = { NULL, "one", "two", "three", "four" };
	*w = (struct world){ 0 };
	if (catalog_init(&w->cat) || frame_table_init(&w->tables.frames) ||
	    chain_table_init(&w->tables.chains))
		abort();
	vec_push(&w->cat.images)->name = "a.out";
	vec_push(&w->cat.events)->name = "cpu-clock";
	w->comms[0] = (u32)strtab_add(&w->cat.strings, "cat", 3);
	w->comms[1] = (u32)strtab_add(&w->cat.strings, "dd", 2);
	for (u32 i = 1; i <= FUNCS; i++)
		w->funcs[i] = (struct name_func){ .name = names[i],
						  .start = i,
						  .end = i + 1,
						  .image = 1,
						  .mode = i % 2 ? FRAME_KERNEL : FRAME_USER };
	w->live = profile_live_new(cfg);
}

static void world_close(struct world *w)
{
	profile_live_free(w->live);
	run_tables_done(&w->tables);
	catalog_done(&w->cat);
	free(w->func_of);
}

static u32 frame_at(struct world *w, u64 offset)
{
	s64 id = frame_table_add(&w->tables.frames,
				 (struct frame){ .offset = offset,
						 .image = 1,
						 .mode = offset % 2 ? FRAME_KERNEL : FRAME_USER });
	return (u32)id;
}

/* A round, as stream_run() feeds one. */
static int feed(struct world *w, const struct sample *samples, size_t nr)
{
	struct sink *k = profile_live_sink(w->live);
	struct shard sh = { 0 };
	void *state;
	int err = k->ops->shard_new(k, 0, &sh, &state);
	if (!err)
		err = k->ops->feed(k, state, &(struct batch){ .samples = samples, .nr = nr });
	if (!err)
		err = k->ops->merge(k, &(struct sink_part){ .state = state }, 1, 1);
	k->ops->shard_free(k, state);
	return err;
}

static struct sample sample(struct world *w, u64 offset, u32 comm, u64 period)
{
	return (struct sample){ .leaf = frame_at(w, offset),
				.comm = w->comms[comm],
				.period = period };
}

/* "cat/two 50.0% 3": its rows, with their samples. */
static const char *rows(struct world *w, const struct profile_filter *filter, struct strbuf *to)
{
	struct table t;
	table_init(&t);
	strbuf_reset(to);
	name_frames(w);
	struct profile *p = profile_live_copy(w->live, filter);
	if (!p || profile_fold(p, &w->cat, &w->tables, &w->names) || profile_table(p, 0, &t))
		abort();
	for (size_t i = 0; i < t.nr_rows; i++) {
		const union cell *c = table_cells(&t, i);
		strbuf_printf(to, "%s%s %.1f%% %llu", i ? ", " : "", c[2].str, c[0].f,
			      (unsigned long long)c[1].u);
	}
	strbuf_printf(to, " of %llu", (unsigned long long)profile_totals(p, 0).nr_samples);
	table_done(&t);
	profile_free(p);
	return strbuf_cstr(to);
}

static const struct profile_config by_symbol = { .keys = { PROFILE_KEY_SYM },
						 .nr_keys = 1,
						 .show_count = true };
static const struct profile_config by_comm = { .keys = { PROFILE_KEY_COMM },
					       .nr_keys = 1,
					       .show_count = true };

static void test_fading(struct strbuf *s)
{
	struct world w;
	const struct profile_filter all = { 0 }, user = { .hide_kernel = true },
				    kernel = { .hide_user = true };
	world_open(&w, &by_symbol);
	struct sample first[] = { sample(&w, 1, 0, 100), sample(&w, 2, 0, 100),
				  sample(&w, 2, 0, 100), sample(&w, 2, 0, 100) };
	ok(!feed(&w, first, 4), "a round");
	is_str(rows(&w, &all, s), "[.] two 75.0% 3, [k] one 25.0% 1 of 4", "its rows");
	ok(!feed(&w, first, 1), "another one");
	is_str(rows(&w, &all, s), "[.] two 60.0% 3, [k] one 40.0% 2 of 5", "adds up");
	is_str(rows(&w, &user, s), "[.] two 100.0% 3 of 3", "without the kernel");
	is_str(rows(&w, &kernel, s), "[k] one 100.0% 2 of 2", "only the kernel");
	ok(!profile_live_fade(w.live, PROFILE_LIVE_ONE / 2), "half of it");
	ok(!feed(&w, first, 1), "and a third round");
	is_str(rows(&w, &all, s), "[k] one 57.1% 2, [.] two 42.9% 2 of 4",
	       "what is new weighs more (3 samples are 1.5, shown as 2)");
	for (u32 i = 0; i < 40; i++)
		if (profile_live_fade(w.live, PROFILE_LIVE_ONE * 7 / 8))
			break;
	is_u64(profile_live_entries(w.live), 0, "after a while nothing is left");
	ok(!feed(&w, first, 2) && !profile_live_fade(w.live, 0), "forgetting all of it");
	is_str(rows(&w, &all, s), " of 0", "leaves nothing");
	world_close(&w);
}

/* Samples that a filter leaves out are part of the whole, and fade with it. */
static void test_skipped(struct strbuf *s)
{
	struct world w;
	const char *const only[] = { "cat" };
	struct profile_config cfg = by_symbol;
	world_open(&w, &cfg);
	profile_live_free(w.live);
	cfg.env.catalog = &w.cat;
	cfg.filter.rows = (struct sample_choice){ .comms = only, .nr_comms = 1 };
	w.live = profile_live_new(&cfg);
	struct sample two[] = { sample(&w, 1, 0, 100), sample(&w, 2, 1, 100) };
	ok(!feed(&w, two, 2) && !feed(&w, two, 2), "two rounds");
	is_str(rows(&w, &cfg.filter, s), "[k] one 50.0% 2 of 4", "the others count for 100 %");
	ok(!profile_live_fade(w.live, PROFILE_LIVE_ONE / 2), "half of it");
	is_str(rows(&w, &cfg.filter, s), "[k] one 50.0% 1 of 2", "fades as a whole");
	world_close(&w);
}

/* More places than are kept: the light ones go, and remain a part of the whole. */
static void test_bound(struct strbuf *s)
{
	enum { PLACES = 300000, MOST = 1 << 18 };
	struct world w;
	const struct profile_filter all = { 0 };
	world_open(&w, &by_symbol);
	struct sample *many = calloc(PLACES, sizeof(*many));
	for (u32 i = 0; i < PLACES; i++)
		many[i] = sample(&w, 10 + i, 0, 1);
	many[7] = sample(&w, 2, 0, PLACES);
	ok(!feed(&w, many, PLACES), "a round with too many places");
	ok(profile_live_entries(w.live) <= MOST && profile_live_entries(w.live) >= MOST / 4,
	   "%zu entries are left", profile_live_entries(w.live));
	const char *text = rows(&w, &all, s);
	ok(!strncmp(text, "[.] two 50.0% 1, ", 17) && strstr(text, " of 300000"),
	   "the heavy one and the number of samples are as they were: %s", text);
	free(many);
	world_close(&w);
}

/* The next generation has what is still there. */
static void test_carry(struct strbuf *s)
{
	struct world w;
	const struct profile_filter all = { 0 };
	world_open(&w, &by_comm);
	struct sample two[] = { sample(&w, 1, 0, 100), sample(&w, 2, 1, 300) };
	ok(!feed(&w, two, 2), "a round");
	struct run_tables fresh = { 0 };
	struct carry c = { .old = &w.tables, .fresh = &fresh, .catalog = &w.cat };
	c.frames = calloc(w.tables.frames.nr + 1, sizeof(u32));
	c.chains = calloc(w.tables.chains.nr + 1, sizeof(u32));
	c.string_ids = calloc(w.cat.strings.nr + 1, sizeof(u32));
	c.image_ids = calloc(w.cat.images.nr + 1, sizeof(u32));
	strtab_init(&c.strings);
	if (frame_table_init(&fresh.frames) || chain_table_init(&fresh.chains) ||
	    strtab_add(&c.strings, "", 0) || !vec_push(&c.images))
		abort();
	c.images.at[0] = w.cat.images.at[0];
	w.cat.images.at[1].path = "/bin/a.out";
	struct sink *k = profile_live_sink(w.live);
	ok(!profile_live_fade(w.live, PROFILE_LIVE_ONE / 2) && !k->ops->carry(k, &c),
	   "is carried over");
	is_u64(profile_live_generation(w.live), 1, "which can be noticed");
	strtab_done(&w.cat.strings);
	w.cat.strings = c.strings;
	run_tables_done(&w.tables);
	w.tables = fresh;
	vec_free(&w.cat.images);
	memcpy(&w.cat.images, &c.images, sizeof(w.cat.images));
	free(c.frames);
	free(c.chains);
	free(c.string_ids);
	free(c.image_ids);
	dict_done(&c.rows);
	is_str(rows(&w, &all, s), "dd 75.0% 1, cat 25.0% 1 of 2", "names and weights are the same");
	world_close(&w);
}

int main(void)
{
	struct strbuf s;
	strbuf_init(&s);
	test_fading(&s);
	test_skipped(&s);
	test_bound(&s);
	test_carry(&s);
	strbuf_done(&s);
	return done_testing();
}
