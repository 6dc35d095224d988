/* The way of a report, from the file to the text, with every allocation failing in turn: -ENOMEM, and nothing left behind. */
#include "gen/perfwrite.h"
#include "fail_alloc.h"

#include "analysis/profile.h"
#include "stream/replay_perf.h"
#include "stream/run.h"
#include "view/text_table.h"

struct ctx {
	const void *data;
	size_t size;
	unsigned needs;
	bool children;
};

/* Every frame is a function of its own. */
static int name_all(const struct frame_table *t, struct names_result *ret)
{
	u32 *func_of = calloc(t->nr, sizeof(*func_of));
	struct name_func *funcs = calloc(t->nr, sizeof(*funcs));
	if (!func_of || !funcs) {
		free(func_of);
		free(funcs);
		return -ENOMEM;
	}
	for (u32 i = 1; i < t->nr; i++) {
		func_of[i] = i;
		funcs[i] = (struct name_func){ .name = i % 3 ? "f" : NULL, .start = t->frames[i].offset, .image = t->frames[i].image,
					       .mode = t->frames[i].mode };
	}
	*ret = (struct names_result){ .func_of = func_of, .funcs = funcs, .nr_funcs = t->nr };
	return 0;
}

static int draw(struct profile *p)
{
	struct table t;
	struct strbuf s;
	table_init(&t);
	strbuf_init(&s);
	int err = profile_table(p, 0, &t);
	if (!err)
		err = text_table(&t, &(struct text_table_style){ .header = true }, &s);
	strbuf_done(&s);
	table_done(&t);
	return err;
}

static int report(void *arg)
{
	const struct ctx *c = arg;
	struct profile_config cfg = { .keys = { PROFILE_KEY_PID, PROFILE_KEY_COMM, PROFILE_KEY_SYM }, .nr_keys = 3, .children = c->children,
				      .graph = true };
	struct source *src = NULL;
	struct run_tables run = { 0 };
	struct names_result names = { 0 };
	struct profile *p = NULL;
	int err = replay_perf_open_bytes(c->data, c->size, &src, NULL);
	if (err)
		return err;
	p = profile_new(&cfg);
	err = p ? 0 : -ENOMEM;
	if (p)
		profile_sink(p)->needs |= c->needs;
	if (!err)
		err = stream_run(src, profile_sink(p), 1, &run, NULL);
	if (!err)
		err = name_all(&run.frames, &names);
	if (!err)
		err = profile_fold(p, &src->catalog, &run, &names);
	if (!err)
		err = draw(p);
	profile_free(p);
	run_tables_done(&run);
	free((void *)names.func_of);
	free((void *)names.funcs);
	src->ops->close(src);
	return err;
}

int main(void)
{
	static const struct {
		const char *name;
		unsigned form, needs;
		bool children;
	} ways[] = {
		{ "plain, children", 0, 0, true },
		{ "swapped", PERFWRITE_SWAP, 0, false },
		{ "pipe, in order", PERFWRITE_PIPE, NEED_ORDER | NEED_PLACES, true },
		{ "compressed", PERFWRITE_ZSTD, 0, false },
		{ "compressed, in order", PERFWRITE_ZSTD2, NEED_ORDER, false },
	};
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct perfwrite w;
		perfwrite_story(&w, ways[i].form, 0, 3);
		struct ctx c = { .data = w.out.data, .size = w.out.len, .needs = ways[i].needs, .children = ways[i].children };
		fail_alloc_each(ways[i].name, report, &c);
		perfwrite_done(&w);
	}
	return done_testing();
}
