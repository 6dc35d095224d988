/* base and model when memory is out: the n-th allocation fails, for every n. */
#include "fail_alloc.h"

#include "base/arena.h"
#include "base/dict.h"
#include "base/expr.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/opts.h"
#include "base/opts_doc.h"
#include "base/strtab.h"
#include "model/catalog.h"
#include "model/frame.h"

static int strbuf_work(void *ctx)
{
	struct strbuf s;
	strbuf_init(&s);
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&s, "%d %s", i, "text");
	int err = s.err;
	char *text = strbuf_steal(&s);
	bool whole = text && strlen(text) == 7890;
	free(text);
	return err ? err : whole ? 0 : -ENOMEM;
}

static int drain(void *ctx, const char *data, size_t len)
{
	return 0;
}

static int drain_work(void *ctx)
{
	struct strbuf s;
	strbuf_init_drain(&s, 64, drain, NULL);
	for (int i = 0; i < 100; i++)
		strbuf_fill(&s, 'x', (size_t)i * 10);
	int err = strbuf_flush(&s);
	strbuf_done(&s);
	return err;
}

static int arena_work(void *ctx)
{
	struct arena a;
	bool good = true;
	arena_init(&a);
	for (size_t i = 0; i < 2000 && good; i++)
		good = arena_array(&a, i, 8) && arena_strdup(&a, "text");
	arena_done(&a);
	return good ? 0 : -ENOMEM;
}

static int dict_work(void *ctx)
{
	struct dict d;
	u32 value;
	int err = 0;
	dict_init(&d);
	for (u32 i = 0; i < 5000 && !err; i++)
		err = dict_add(&d, i * 7919ull, i, &value);
	/* What was added before a failure is still there. */
	for (u32 i = 0; i < d.nr; i++)
		if (dict_get(&d, i * 7919ull) != i)
			err = -EIO;
	dict_done(&d);
	return err;
}

static int strtab_work(void *ctx)
{
	struct strtab t;
	s64 id = 0;
	int err = 0;
	strtab_init(&t);
	for (int i = 0; i < 2000 && id >= 0; i++) {
		char name[32];
		int len = snprintf(name, sizeof(name), "a string of its own, %d", i);
		id = strtab_add(&t, name, (size_t)len);
	}
	for (u32 i = 1; i < t.nr; i++)
		if (strtab_find(&t, strtab_str(&t, i), strlen(strtab_str(&t, i))) != i)
			err = -EIO;
	strtab_done(&t);
	return err ? err : id < 0 ? (int)id : 0;
}

static int fill_frames(struct frame_table *f, struct chain_table *c, u32 seed)
{
	for (u32 i = 0; i < 3000; i++) {
		s64 id = frame_table_add(
			f, (struct frame){ .offset = i * seed, .image = i % 5, .mode = FRAME_USER });
		if (id < 0)
			return (int)id;
		u32 frames[3] = { 1, (u32)id / 2 + 1, (u32)id };
		id = chain_table_put(c, (u64)seed << 32 | i, frames, 1 + i % 3);
		if (id < 0)
			return (int)id;
	}
	return 0;
}

static int merge(struct frame_table f[2], struct chain_table c[2])
{
	u32 *map_frame = NULL;
	struct chain_part parts[2] = { { .from = &c[0] }, { .from = &c[1] } };
	struct chain_table all = { 0 };
	int err = frame_table_merge(&f[0], &f[1], &map_frame);
	parts[1].map_frame = map_frame;
	if (!err)
		err = chain_tables_merge(&all, parts, 2, 1);
	chain_table_done(&all);
	free(parts[0].map_chain);
	free(parts[1].map_chain);
	parts[0].map_chain = parts[1].map_chain = NULL;
	if (!err)
		err = chain_tables_join(&all, parts, 2, 1);
	chain_table_done(&all);
	free(parts[0].map_chain);
	free(parts[1].map_chain);
	free(map_frame);
	return err;
}

static int frames_work(void *ctx)
{
	struct frame_table f[2] = { 0 };
	struct chain_table c[2] = { 0 };
	int err = 0;
	for (u32 i = 0; i < 2 && !err; i++) {
		err = frame_table_init(&f[i]);
		if (!err)
			err = chain_table_init(&c[i]);
		if (!err)
			err = fill_frames(&f[i], &c[i], i + 3);
	}
	if (!err)
		err = merge(f, c);
	for (u32 i = 0; i < 2; i++) {
		frame_table_done(&f[i]);
		chain_table_done(&c[i]);
	}
	return err;
}

static int catalog_work(void *ctx)
{
	struct catalog c;
	int err = catalog_init(&c);
	if (err)
		return err;
	catalog_done(&c);
	return 0;
}

static int json_work(void *ctx)
{
	struct strbuf s;
	struct json j;
	strbuf_init(&s);
	json_begin(&j, &s, JSON_PRETTY);
	json_array(&j);
	for (int i = 0; i < 200; i++) {
		json_object(&j);
		json_put_str(&j, "key", "val\"ue\x01");
		json_put_double(&j, "number", i / 3.0);
		json_object_end(&j);
	}
	json_array_end(&j);
	int err = json_end(&j);
	strbuf_done(&s);
	return err;
}

static int get(void *ctx, u32 ident, const char *name, struct expr_value *ret)
{
	*ret = expr_int(ident);
	return 0;
}

static int expr_work(void *ctx)
{
	static const struct expr_env env = { .get = get };
	struct expr e;
	struct expr_value v;
	char text[2048] = "a.b:c == 1";
	for (int i = 0; i < 50; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " + max(name%d, 0x%x)",
			 i, i);
	strcat(text, " || 'x' =~ \"x|y\" || 'y' =~ \"z\"");
	int err = expr_parse(&e, text, NULL, NULL);
	if (err)
		return err;
	err = expr_eval(&e, &env, &v, NULL);
	expr_done(&e);
	return err;
}

struct some_opts {
	struct opt_list list;
	u64 number;
	bool flag;
};

static const struct opt rows[] = {
	OPT_LIST('e', "event", struct some_opts, list, "EVENT", "A list"),
	OPT_UINT('n', "number", struct some_opts, number, "N", "A number"),
	OPT_FLAG(0, "nothing", struct some_opts, flag, "A flag"),
	OPT_END(),
};

static int opts_work(void *ctx)
{
	char words[9][12] = { "p", "-e", "a", "--event=b", "-ec", "-n9", "--event", "d", "-ee" };
	char *argv[10] = { 0 };
	for (int i = 0; i < 9; i++)
		argv[i] = words[i];
	struct some_opts o = { 0 };
	struct diag d;
	int first;
	diag_init(&d);
	int err = opts_parse(rows, true, &o, 9, argv, &first, &d);
	if (!err && o.list.items.nr != 5)
		err = -EIO;
	opts_free(rows, &o);
	diag_done(&d);
	return err;
}

/* A usage error stays one, with or without memory for its words. */
static int opts_error_work(void *ctx)
{
	char words[2][12] = { "p", "--n" };
	char *argv[3] = { words[0], words[1], NULL };
	struct some_opts o = { 0 };
	struct diag d;
	struct strbuf s;
	int first;
	diag_init(&d);
	strbuf_init(&s);
	int err = opts_parse(rows, true, &o, 2, argv, &first, &d);
	diag_render(&d, "p", false, &s);
	bool told = err == -EINVAL && d.nr_errors == 1;
	strbuf_done(&s);
	opts_free(rows, &o);
	diag_done(&d);
	return told ? 0 : -EIO;
}

static int doc_work(void *ctx)
{
	static const struct opt_example examples[] = { { "verb", "do it" }, { 0 } };
	static const struct command sub = { .name = "sub", .summary = "sub", .opts = rows };
	static const struct command *const subs[] = { &sub, NULL };
	static const struct command verb = { .name = "verb",
					     .summary = "does",
					     .about = "Text.\n  kept",
					     .opts = rows,
					     .examples = examples,
					     .subs = subs };
	static const struct command *const verbs[] = { &verb, NULL };
	struct strbuf s;
	strbuf_init(&s);
	opts_help(&verb, rows, "p verb", 80, true, &s);
	opts_man(&verb, NULL, "p verb", &s);
	opts_bash_completion(verbs, NULL, "p", &s);
	int err = s.err;
	strbuf_done(&s);
	return err;
}

static int no_event(void *ctx, u64 what)
{
	return 1;
}

static int loop_work(void *ctx)
{
	struct loop *l = loop_new();
	if (!l)
		return -ENOMEM;
	int err = loop_add_timer(l, 0, 0, no_event, NULL, NULL);
	if (!err)
		err = loop_run(l);
	loop_free(l);
	return err;
}

int main(void)
{
	fail_alloc_each("strbuf", strbuf_work, NULL);
	fail_alloc_each("strbuf with a drain", drain_work, NULL);
	fail_alloc_each("arena", arena_work, NULL);
	fail_alloc_each("dict", dict_work, NULL);
	fail_alloc_each("strtab", strtab_work, NULL);
	fail_alloc_each("frames and chains", frames_work, NULL);
	fail_alloc_each("catalog", catalog_work, NULL);
	fail_alloc_each("json", json_work, NULL);
	fail_alloc_each("expr", expr_work, NULL);
	fail_alloc_each("opts_parse", opts_work, NULL);
	fail_alloc_or_less("opts_parse with an error", opts_error_work, NULL);
	fail_alloc_each("help, man page, completion", doc_work, NULL);
	fail_alloc_each("loop", loop_work, NULL);
	return done_testing();
}
