/* A flame graph as a plain SVG picture: for documents and mail. Names show as tooltips; there is no script in it. */
#pragma once

#include "base/strbuf.h"
#include "model/flame.h"

struct svg_flame_opts {
	const char *title;
	u32 width; /* pixels */
	bool inverted; /* roots at the top */
};

/* Of the event with the most samples. With two sides: their sum. */
int svg_flame(const struct flame *f, const struct svg_flame_opts *o, struct strbuf *to) must_check;
