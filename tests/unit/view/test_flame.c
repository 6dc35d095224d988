/* Boxes of a flame graph, and how they stand and are walked through on a screen of characters. */
#include "base/big.h"
#include "tap.h"
#include "view/flame_tree.h"
#include "view/text_flame.h"

#include <string.h>

static u32 frame(struct flame *f, const char *name)
{
	struct flame_frame *fr = vec_push(&f->frames);
	fr->name = (u32)strtab_add(&f->strings, name, strlen(name));
	return (u32)f->frames.nr - 1;
}

static u32 node(struct flame *f, u32 parent, u32 fr)
{
	struct flame_node *n = big_vec_push(&f->nodes);
	u32 own = (u32)f->nodes.nr - 1;
	*n = (struct flame_node){ .parent = parent, .frame = fr, .end = own + 1 };
	for (u32 at = own; f->nodes.at[at].parent != at; at = f->nodes.at[at].parent)
		f->nodes.at[f->nodes.at[at].parent].end = own + 1;
	return own;
}

static void point(struct flame *f, u32 at, u64 period)
{
	struct flame_point *p = big_vec_push(&f->points);
	*p = (struct flame_point){ .node = at, .period = period, .count = 1 };
}

/* app: main -> light (10), heavy (70) -> leaf (20); other: main (0 of its own) */
static void story(struct flame *f)
{
	flame_init(f);
	vec_push(&f->frames);
	u32 main_ = frame(f, "main"), light = frame(f, "light"), heavy = frame(f, "heavy"),
	    leaf = frame(f, "l\xc3\xa9"
			    "af\xff\n");
	*vec_push(&f->events) = (u32)strtab_add(&f->strings, "cycles", 6);
	vec_push(&f->tasks)->comm = (u32)strtab_add(&f->strings, "app", 3);
	vec_push(&f->trees)->root = node(f, 0, 0);
	u32 m = node(f, 0, main_);
	point(f, node(f, m, light), 10);
	u32 h = node(f, m, heavy);
	point(f, h, 50);
	point(f, node(f, h, leaf), 20);
	f->nr_sides = 1;
}

static u32 box_of(const struct flame_boxes *b, const char *name)
{
	for (u32 i = 0; i < b->list.nr; i++)
		if (!strncmp(b->list.at[i].name, name, strlen(name)))
			return i;
	return UINT32_MAX;
}

static void test_tree(const struct flame_boxes *b)
{
	const struct flame_box *at = b->list.at;
	ok(b->list.nr == 6, "all, the task and four frames");
	ok(!strcmp(at[0].name, "all") && at[0].total == 80 && at[0].count == 3 && at[0].end == 6,
	   "all holds everything");
	ok(!strcmp(at[1].name, "app") && !strcmp(at[2].name, "main") && !strcmp(at[3].name, "heavy"),
	   "the task, then the heavier child first");
	ok(at[3].total == 70 && at[3].self == 50 && at[3].end == 5 && at[3].depth == 3,
	   "weights and spans");
	ok(at[5].parent == 2 && !strcmp(at[5].name, "light"), "the lighter one last");
}

static void test_screen(const struct flame_boxes *b)
{
	struct text_flame_cells cells = { 0 };
	ok(!text_flame_lay(b, 0, 80, &cells) && cells.list.nr == 6, "all have room on 80 columns");
	const struct text_flame_cell *light = &cells.list.at[5], *heavy = &cells.list.at[3];
	ok(heavy->x == 0 && heavy->w == 70 && heavy->row == 3, "70 of 80 is 70 columns wide");
	ok(light->x == 70 && light->w == 10 && light->row == 3, "the next one follows");
	u32 h = box_of(b, "heavy"), l = box_of(b, "light");
	ok(text_flame_step(b, &cells, h, FLAME_RIGHT) == l, "right");
	ok(text_flame_step(b, &cells, l, FLAME_LEFT) == h, "left");
	ok(text_flame_step(b, &cells, l, FLAME_RIGHT) == l, "no further right");
	ok(text_flame_step(b, &cells, h, FLAME_OUT) == box_of(b, "main"), "out");
	ok(text_flame_step(b, &cells, box_of(b, "main"), FLAME_IN) == h, "in: to the heaviest");
	ok(!text_flame_lay(b, l, 40, &cells) && cells.list.nr == 4,
	   "zoomed: itself and what it lies in");
	ok(cells.list.at[3].box == l && cells.list.at[3].w == 40, "as wide as the screen");
	ok(!text_flame_lay(b, 0, 4, &cells) && cells.list.nr == 5, "what is too thin is left out");
	vec_free(&cells.list);
}

static void label(const char *name, u32 w, const char *want, const char *what)
{
	struct strbuf s;
	strbuf_init(&s);
	text_flame_label(name, w, &s);
	ok(!strcmp(strbuf_cstr(&s), want), "%s", what);
	strbuf_done(&s);
}

static void test_search(const struct flame_boxes *b)
{
	struct text_flame_found got = text_flame_search(b, "A");
	ok(got.nr == 5 && got.percent == 100, "one inside of the other counts once, in any case");
	got = text_flame_search(b, "eav");
	ok(got.nr == 1 && got.percent == 87.5, "with what it calls");
	got = text_flame_search(b, "light");
	ok(got.nr == 1 && got.percent == 12.5, "one");
	got = text_flame_search(b, "zzz");
	ok(!got.nr && got.percent == 0, "none");
	ok(!text_flame_search(b, "").nr, "nothing is in no name");
}

/* Three events of which the last weighs most: then it is the first, with its trees. */
static void test_events(void)
{
	struct flame f;
	struct flame_boxes b;
	story(&f);
	*vec_push(&f.events) = (u32)strtab_add(&f.strings, "none", 4);
	*vec_push(&f.events) = (u32)strtab_add(&f.strings, "time", 4);
	u32 root = (u32)f.nodes.nr;
	*vec_push(&f.trees) = (struct flame_tree){ .event = 2, .root = root };
	(void)node(&f, root, 0);
	point(&f, node(&f, root, 1), 1000);
	u64 *weights = flame_event_weights(&f, UINT32_MAX);
	ok(weights && weights[0] == 80 && !weights[1] && weights[2] == 1000, "weights of events");
	free(weights);
	ok(!flame_tree(&f, &b) && b.event == 0 && b.list.at[0].total == 80,
	   "the first event that has samples is drawn");
	vec_free(&b.list);
	ok(!flame_sort_events(&f), "sorted");
	ok(!strcmp(flame_str(&f, f.events.at[0]), "time") &&
		   !strcmp(flame_str(&f, f.events.at[1]), "cycles") && f.trees.at[0].event == 1 &&
		   f.trees.at[1].event == 0,
	   "the heaviest first, and the trees know");
	ok(!flame_tree(&f, &b) && b.event == 0 && b.list.at[0].total == 1000, "that one is drawn");
	vec_free(&b.list);
	flame_done(&f);
}

int main(void)
{
	struct flame f;
	struct flame_boxes b;
	story(&f);
	ok(!flame_tree(&f, &b), "a tree");
	test_tree(&b);
	test_screen(&b);
	test_search(&b);
	test_events();
	label("abc", 5, "abc  ", "filled");
	label("abcdef", 4, "abc…", "cut");
	label("l\xc3\xa9"
	      "af\xff\n",
	      6,
	      "l\xc3\xa9"
	      "af??",
	      "what is no text");
	struct strbuf s;
	strbuf_init(&s);
	text_flame_say(&b, box_of(&b, "heavy"), &s);
	ok(!strcmp(strbuf_cstr(&s), "87.50 % (62.50 % self), 2 samples  heavy"),
	   "a line about a box: the numbers first, a long name may be cut");
	strbuf_done(&s);
	vec_free(&b.list);
	flame_done(&f);
	return done_testing();
}
