#include "model/tree.h"

void tree_init(struct tree *t)
{
	*t = (struct tree){ .first_root = TREE_NONE };
}

void tree_done(struct tree *t)
{
	vec_free(&t->nodes);
	vec_free(&t->labels);
	vec_free(&t->places);
	tree_init(t);
}

void tree_clear(struct tree *t)
{
	t->nodes.nr = 0;
	t->labels.nr = 0;
	t->places.nr = 0;
	t->first_root = TREE_NONE;
	t->total = 0;
	t->hidden = 0;
	t->own_first = false;
	t->min = 0;
}
