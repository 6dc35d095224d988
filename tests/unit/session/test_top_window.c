/* Intervals of `top --listen`: trees with names; bounds that hold over many more intervals than are kept. */
#include "tap.h"

#include "session/top_window.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture {
	struct top_window w;
	struct catalog c;
	struct run_tables t;
	struct names_result named;
	struct name_func funcs[8];
	u32 func_of[8];
	struct top_naming naming;
	char texts[8][32];
	u32 comm, chain;
};

static void must(bool done)
{
	if (!done) {
		ok(false, "no memory");
		exit(1);
	}
}

/* Frames 1 main, 2 parse, 3 vfs_read (kernel), 4 without a name; chain: main parse vfs_read. */
static void begin(struct fixture *f, struct top_window_limits limits)
{
	static const char *const names[] = { NULL, "main", "parse", "vfs_read", NULL };
	memset(f, 0, sizeof(*f));
	must(!top_window_init(&f->w, &limits) && !catalog_init(&f->c));
	must(!frame_table_init(&f->t.frames) && !chain_table_init(&f->t.chains));
	struct image_info *image = vec_push(&f->c.images);
	must(image != NULL);
	image->kind = IMAGE_KIND_FILE;
	image->name = "prog";
	u32 number = (u32)f->c.images.nr - 1;
	struct event_info *e = vec_push(&f->c.events);
	must(e != NULL);
	e->name = "cpu-clock";
	for (u32 i = 1; i < ARRAY_SIZE(names); i++) {
		u32 mode = i == 3 ? FRAME_KERNEL : FRAME_USER;
		struct frame fr = { .offset = i * 16, .image = i == 3 ? 0 : number, .mode = mode };
		must(frame_table_add(&f->t.frames, fr) == i);
		f->func_of[i] = i;
		if (names[i])
			snprintf(f->texts[i], sizeof(f->texts[i]), "%s", names[i]);
		f->funcs[i] = (struct name_func){ .name = names[i] ? f->texts[i] : NULL,
						  .image = fr.image,
						  .mode = (u16)mode };
	}
	s64 chain = chain_table_put(&f->t.chains, 1, (u32[]){ 1, 2, 3 }, 3);
	s64 comm = strtab_add(&f->c.strings, "prog", 4);
	must(chain > 0 && comm > 0);
	f->chain = (u32)chain;
	f->comm = (u32)comm;
	f->named = (struct names_result){ .func_of = f->func_of,
					  .funcs = f->funcs,
					  .nr_funcs = ARRAY_SIZE(names),
					  .nr_frames = ARRAY_SIZE(names),
					  .nr_ids = ARRAY_SIZE(names) };
	f->naming = (struct top_naming){ .catalog = &f->c, .tables = &f->t, .named = &f->named };
}

static void end(struct fixture *f)
{
	top_window_done(&f->w);
	run_tables_done(&f->t);
	catalog_done(&f->c);
}

static void interval(struct fixture *f, u64 ms)
{
	must(!top_window_begin(&f->w, &(struct top_interval){ .ms = ms }));
}

static void add(struct fixture *f, u32 leaf, u32 chain, u64 period)
{
	must(!top_window_add(&f->w, &f->naming,
			     &(struct profile_live_stack){ .comm = f->comm,
							   .leaf = leaf,
							   .chain = chain,
							   .period = period,
							   .count = 1 }));
}

/* "cpu-clock;prog;main 5 ..." of what ends somewhere. */
static const char *stacks(const struct fixture *f)
{
	static char text[1024];
	const struct top_interval *i = &f->w.intervals.at[f->w.intervals.nr - 1];
	size_t len = 0;
	text[0] = 0;
	for (size_t k = 1; k < i->nodes.nr; k++) {
		char path[256] = "";
		if (!i->nodes.at[k].self)
			continue;
		for (u32 n = (u32)k; n; n = i->nodes.at[n].parent) {
			char longer[300];
			snprintf(longer, sizeof(longer), "%s%s%s",
				 strtab_str(&f->w.strings, f->w.frames.at[i->nodes.at[n].frame].name),
				 *path ? ";" : "", path);
			snprintf(path, sizeof(path), "%.255s", longer);
		}
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %llu", len ? " " : "",
					path, (unsigned long long)i->nodes.at[k].self);
	}
	return text;
}

static void test_stacks(void)
{
	struct fixture f;
	begin(&f, (struct top_window_limits){ 0 });
	interval(&f, 1000);
	add(&f, 3, f.chain, 5);
	add(&f, 3, f.chain, 2);
	add(&f, 1, 0, 4);
	add(&f, 4, 0, 1);
	is_str(stacks(&f),
	       "cpu-clock;prog;main 4 cpu-clock;prog;main;parse;vfs_read 7 cpu-clock;prog;[prog] 1",
	       "trees of commands");
	const struct top_frame *last = &f.w.frames.at[f.w.frames.nr - 1];
	ok(last->kind == FLAME_UNKNOWN, "code without a name is unknown");
	size_t nr = f.w.frames.nr;
	interval(&f, 900);
	ok(f.w.intervals.at[1].ms == 1001, "a clock that was set back does not go back here");
	f.naming.hide_kernel = true;
	add(&f, 3, f.chain, 5);
	is_str(stacks(&f), "", "what ends in the kernel is hidden");
	f.naming.hide_kernel = false;
	add(&f, 3, f.chain, 5);
	is_str(stacks(&f), "cpu-clock;prog;main;parse;vfs_read 5", "and shown");
	ok(f.w.frames.nr == nr, "names are kept once");
	end(&f);
}

static void test_cut(void)
{
	struct fixture f;
	begin(&f, (struct top_window_limits){ .nodes = 5 });
	interval(&f, 1);
	add(&f, 1, 0, 4); /* all, event, command, main */
	add(&f, 3, f.chain, 5);
	add(&f, 4, 0, 1);
	is_str(stacks(&f), "cpu-clock;prog 1 cpu-clock;prog;main 4 cpu-clock;prog;main;parse 5",
	       "a tree that is full keeps all weights, with their callers");
	is_u64(f.w.intervals.at[0].nr_cut, 2, "and says how many samples were cut");
	end(&f);
}

/* Each interval has names that none before had: a day of them, fast. */
static void test_bounds(void)
{
	enum { ROUNDS = 50000, INTERVALS = 30, FRAMES = 500, NODES = 200 };
	struct fixture f;
	size_t most_frames = 0, most_nodes = 0, most_intervals = 0, most_strings = 0;
	begin(&f,
	      (struct top_window_limits){
		      .intervals = INTERVALS, .frames = FRAMES, .all_nodes = NODES, .nodes = 16 });
	bool right = true;
	for (unsigned i = 0; i < ROUNDS; i++) {
		snprintf(f.texts[2], sizeof(f.texts[2]), "parse_%u", i);
		interval(&f, i);
		add(&f, 3, f.chain, i + 1);
		char want[128];
		snprintf(want, sizeof(want), "cpu-clock;prog;main;parse_%u;vfs_read %u", i, i + 1);
		must(!top_window_tidy(&f.w));
		right = right && !strcmp(stacks(&f), want);
		most_frames = max(most_frames, f.w.frames.nr);
		most_strings = max(most_strings, (size_t)f.w.strings.nr);
		most_nodes = max(most_nodes, f.w.nr_nodes);
		most_intervals = max(most_intervals, f.w.intervals.nr);
	}
	ok(right, "every interval has its own stack, whatever was dropped");
	ok(f.w.generation > 50, "names were dropped, again and again (%llu)",
	   (unsigned long long)f.w.generation);
	ok(most_frames <= FRAMES + 8 && most_strings <= FRAMES + 8,
	   "there are never more (%zu, %zu)", most_frames, most_strings);
	ok(most_nodes <= NODES && most_intervals <= INTERVALS && most_intervals > 20,
	   "nor nodes or intervals (%zu, %zu)", most_nodes, most_intervals);
	size_t nodes = 0;
	vec_for_each (&f.w.intervals, v)
		nodes += v->nodes.nr;
	is_u64(f.w.nr_nodes, nodes, "what is counted is there");
	end(&f);
}

int main(void)
{
	test_stacks();
	test_cut();
	test_bounds();
	return done_testing();
}
