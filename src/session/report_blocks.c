/* Basic blocks by the cycles that were sampled in them, in perf's columns. */
#include "session/report.h"

#include "analysis/blocks.h"
#include "session/named_run.h"
#include "view/json_table.h"
#include "view/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct block_report {
	struct report *r;
	struct blocks *blocks;
	struct named_run run;
	bool *has_lines; /* [image] */
	bool any; /* branches that count */
};

/* 1234567 -> "1.2M", as perf shortens it. */
static const char *cycles_text(u64 cycles, struct arena *a)
{
	char text[32];
	if (cycles >= 1000000)
		(void)snprintf(text, sizeof(text), "%.1fM", (double)cycles / 1e6);
	else if (cycles >= 1000)
		(void)snprintf(text, sizeof(text), "%.1fK", (double)cycles / 1e3);
	else
		(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)cycles);
	return arena_strdup(a, text);
}

static const char *range_text(const struct block_report *b, const struct block *block,
			      struct arena *a)
{
	const struct catalog *c = &b->r->src->catalog;
	struct strbuf to;
	strbuf_init(&to);
	strbuf_char(&to, '[');
	if (block->start == FRAME_NONE)
		strbuf_str(&to, "unknown");
	else
		names_place(&b->run.named, c, &b->run.tables.frames, block->start, b->has_lines,
			    PLACE_BY_FUNCTION, &to);
	strbuf_str(&to, " -> ");
	names_place(&b->run.named, c, &b->run.tables.frames, block->end, b->has_lines,
		    PLACE_BY_FUNCTION, &to);
	strbuf_char(&to, ']');
	const char *text = to.err ? NULL : arena_strdup(a, strbuf_cstr(&to));
	strbuf_done(&to);
	return text;
}

static const char *dso_text(const struct block_report *b, const struct block *block)
{
	const struct catalog *c = &b->r->src->catalog;
	const struct image_info *i = &c->images.at[b->run.named.funcs[block->func].image];
	const char *name = i->path ? i->path : "[unknown]", *slash = strrchr(name, '/');
	return slash && slash[1] && !b->r->opts->full_path ? slash + 1 : name;
}

static int add_columns(struct table *t, bool numbers)
{
	static const struct {
		const char *name, *key;
		enum cell_type type;
	} columns[] = {
		{ "Sampled Cycles%", "sampled_cycles_percent", CELL_PERCENT },
		{ "Sampled Cycles", "sampled_cycles", CELL_STR },
		{ "Avg Cycles%", "avg_cycles_percent", CELL_PERCENT },
		{ "Avg Cycles", "avg_cycles", CELL_STR },
		{ "[Program Block Range]", "block_range", CELL_STR },
		{ "Shared Object", "dso", CELL_STR },
	};
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		bool cycles = i == 1 || i == 3;
		struct column *c = table_column(t, columns[i].name, columns[i].key,
						cycles && numbers ? CELL_U64 : columns[i].type);
		if (!c)
			return -ENOMEM;
		c->right = true;
	}
	return 0;
}

static int add_row(const struct block_report *b, const struct block_list *l,
		   const struct block *block, bool numbers, struct table *t)
{
	u64 average = block->cycles / block->count;
	union cell *row = table_row(t);
	if (!row)
		return -ENOMEM;
	row[0].f = l->total_cycles ? 100.0 * (double)block->cycles / (double)l->total_cycles : 0;
	row[2].f = l->average_sum ? 100.0 * (double)average / (double)l->average_sum : 0;
	if (numbers) {
		row[1].u = block->cycles;
		row[3].u = average;
	} else {
		row[1].str = cycles_text(block->cycles, &t->arena);
		row[3].str = cycles_text(average, &t->arena);
	}
	row[4].str = range_text(b, block, &t->arena);
	row[5].str = dso_text(b, block);
	return row[4].str && row[5].str && (numbers || (row[1].str && row[3].str)) ? 0 : -ENOMEM;
}

static int make_table(const struct block_report *b, u32 event, struct table *t, struct block_list *l)
{
	bool numbers = b->r->tell.json || b->r->opts->csv;
	int err = blocks_of_event(b->blocks, &b->run.tables.frames, &b->run.named, event, &t->arena,
				  l);
	if (!err)
		err = add_columns(t, numbers);
	for (u32 i = 0; i < l->nr && !err; i++)
		err = add_row(b, l, &l->at[i], numbers, t);
	return err;
}

static int print_text(const struct block_report *b, u32 event, const struct block_list *l,
		      const struct table *t)
{
	struct report *r = b->r;
	struct strbuf *to = r->tell.out;
	const struct report_opts *o = r->opts;
	struct view_style style = { .table = { .separator = o->separator,
					       .header = !o->quiet,
					       .min_percent = r->min_percent } };
	if (o->csv)
		return view_csv.table(t, &style, to);
	if (!o->quiet)
		strbuf_printf(to,
			      "# Samples: %llu branches of event '%s'\n"
			      "# Sampled cycles: %llu\n#\n",
			      (unsigned long long)l->nr_branches,
			      r->src->catalog.events.at[event].name,
			      (unsigned long long)l->total_cycles);
	int err = view_text.table(t, &style, to);
	strbuf_str(to, "\n\n");
	return err;
}

static int show_event(struct block_report *b, u32 event, struct json *j)
{
	struct block_list l = { 0 };
	struct table t;
	table_init(&t);
	int err = make_table(b, event, &t, &l);
	b->any |= l.nr_branches > 0;
	if (!err && j && l.nr_branches) {
		json_object(j);
		json_put_str(j, "event", b->r->src->catalog.events.at[event].name);
		json_put_u64(j, "branches", l.nr_branches);
		json_put_u64(j, "sampled_cycles", l.total_cycles);
		json_key(j, "rows");
		err = json_table(&t, b->r->min_percent, j);
		json_object_end(j);
	} else if (!err && l.nr_branches) {
		err = print_text(b, event, &l, &t);
	}
	if (!err && l.nr_branches && !l.total_cycles) {
		diag_warn(b->r->tell.diag, "the branches of '%s' have no cycle counts",
			  b->r->src->catalog.events.at[event].name);
		diag_hint(b->r->tell.diag, "only some CPUs provide them: Intel since Skylake, "
					   "unless excluded by record -j");
	}
	table_done(&t);
	return err;
}

static int show_all(struct block_report *b)
{
	u32 nr = (u32)b->r->src->catalog.events.nr;
	struct json j;
	int err = 0;
	if (!b->r->tell.json) {
		err = report_head(b->r);
		for (u32 e = 0; e < nr && !err; e++)
			err = show_event(b, e, NULL);
		return err;
	}
	json_begin(&j, b->r->tell.out, JSON_PRETTY);
	json_object(&j);
	json_key(&j, "events");
	json_array(&j);
	for (u32 e = 0; e < nr && !err; e++)
		err = show_event(b, e, &j);
	json_array_end(&j);
	json_object_end(&j);
	int end = json_end(&j);
	return err ? err : end;
}

int report_blocks(struct report *r)
{
	struct block_report b = {
		.r = r, .blocks = blocks_new(&r->choose.when, &r->choose.who, &r->src->catalog)
	};
	const struct named_run_opts how = { .symbols = r->names,
					    .names = &r->opts->symbols,
					    .want = WANT_SYMBOL | WANT_LINE,
					    .workers = (unsigned)r->opts->workers };
	int err = b.blocks ? named_run(&b.run, r->src, blocks_sink(b.blocks), &how) : -ENOMEM;
	if (!err) {
		b.has_lines =
			names_lined_images(&b.run.named, &r->src->catalog, &b.run.tables.frames);
		err = b.has_lines ? show_all(&b) : -ENOMEM;
	}
	r->is_empty = !err && !b.any;
	free(b.has_lines);
	blocks_free(b.blocks);
	named_run_done(&b.run);
	return err;
}
