/*
 * A flame graph in characters: where each box stands on a screen, and how one walks from box to box. Roots are at the top. The
 * terminal's browser (tui_flame) draws it with colours; text_flame() as plain text.
 */
#pragma once

#include "base/strbuf.h"
#include "view/flame_tree.h"

/* A box on the screen; w is at least 1. */
struct text_flame_cell {
	u32 box;
	u32 row, x, w;
};

struct text_flame_cells {
	VEC(struct text_flame_cell) list; /* in the order of a walk */
};

enum text_flame_way { FLAME_OUT, FLAME_IN, FLAME_LEFT, FLAME_RIGHT };

/* The zoomed box as wide as the screen, those it lies in above it, all that are wide enough below. Replaces what is in ret. */
int text_flame_lay(const struct flame_boxes *b, u32 zoom, u32 width,
		   struct text_flame_cells *ret) must_check;
/* The box one step from `from` among those on the screen; `from` itself when there is none. */
u32 text_flame_step(const struct flame_boxes *b, const struct text_flame_cells *cells, u32 from,
		    enum text_flame_way way);
/* The name in exactly w columns, cut or filled with blanks; what is no text becomes '?'. */
void text_flame_label(const char *name, u32 w, struct strbuf *to);
/* "12.34 % (5.00 % self), 120 samples  vfs_read  [kernel.kallsyms]": what may be cut comes last. */
void text_flame_say(const struct flame_boxes *b, u32 box, struct strbuf *to);

/* Boxes in whose name a text occurs, in whatever case. */
bool text_flame_has(const struct flame_boxes *b, u32 box, const char *text);
struct text_flame_found {
	u32 nr; /* boxes */
	double percent; /* of all; one inside of another counts once */
};
struct text_flame_found text_flame_search(const struct flame_boxes *b, const char *text);

int text_flame(const struct flame *f, u32 width, struct strbuf *to) must_check;
