/*
 * What went wrong, collected for the person: message, the place in their input (caret), a hint.
 * Layers below cmd/ add to it; cmd/ renders it. A NULL diag is allowed everywhere and swallows everything.
 */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"

enum diag_level { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

struct diag_item {
	enum diag_level level;
	char *message;
	char *hint; /* NULL, or "\n"-separated lines */
	char *text; /* NULL, or the line of input the span points into */
	size_t start;
	size_t len;
};

struct diag {
	VEC(struct diag_item) items;
	size_t nr_errors;
};

void diag_init(struct diag *d);
void diag_done(struct diag *d);

/* Returns err, so that a caller can write: return diag_error(d, -EINVAL, "..."); */
int diag_error(struct diag *d, int err, const char *fmt, ...) printf_like(3, 4);
void diag_warn(struct diag *d, const char *fmt, ...) printf_like(2, 3);
void diag_note(struct diag *d, const char *fmt, ...) printf_like(2, 3);
/* These complete the item added last. Several hints are kept, a line each. */
void diag_hint(struct diag *d, const char *fmt, ...) printf_like(2, 3);
void diag_span(struct diag *d, const char *text, size_t start, size_t len);

/* Moves what `to` does not say yet; from is empty afterwards. */
void diag_join(struct diag *to, struct diag *from);

/* Forgets all notes; errors and warnings stay. */
void diag_drop_notes(struct diag *d);

/* prog: what stands before the first colon ("sonde record"). One item is a few lines. */
void diag_render(const struct diag *d, const char *prog, bool colour, struct strbuf *to);
