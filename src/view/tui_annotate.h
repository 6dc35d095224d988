/*
 * Annotated functions in the terminal: the hottest instruction first, arrows of the jump that is selected, source between the
 * instructions, calls followed into what they call and back.
 */
#pragma once

#include "base/strbuf.h"
#include "view/text_annotate.h"

struct tui_annotate {
	void *ctx;
	/*
	 * Functions of a page (an event, or a group) are numbered from the heaviest on. The annotation is borrowed until the next call.
	 * Negative errno: `why` says what is missing.
	 */
	int (*open)(void *ctx, u32 page, u32 func, const struct annotation **ret,
		    struct strbuf *why);
	/* Which function of the page an instruction calls: its number, or negative errno with `why`. */
	s64 (*called)(void *ctx, u32 page, const struct annotation_insn *in, struct strbuf *why);
	u32 (*nr_funcs)(void *ctx, u32 page);
	u32 nr_pages;
	u32 page, func; /* where to begin */
	const struct text_annotate_opts *style; /* percentages, source lines, ASCII */
	bool colour;
	/* Samples that go on; NULL: there are no more. */
	int (*wait_ms)(void *ctx); /* until the next tick is due */
	int (*tick)(void *ctx); /* 1: open the function again; 0; or negative errno, which ends it */
};

/* Until the user leaves: 0; -ENOTTY: the terminal cannot; or negative errno of the first function, nothing is drawn then. */
int tui_annotate(const struct tui_annotate *c, struct strbuf *why) must_check;
/* The same from a key of another screen, to which it returns. */
int tui_annotate_window(const struct tui_annotate *c, struct strbuf *why) must_check;
