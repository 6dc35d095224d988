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

/*
 * Options that messages of lower layers have to name: what it takes is known there, how it is written only in cmd, whose table
 * (cmd/app/option_names.c) a diag carries.
 */
enum diag_option {
	DIAG_OPT_UNWIND, /* stacks by unwind tables */
	DIAG_OPT_UNWIND_MOST, /* with as much of each stack as is possible */
	DIAG_OPT_FRAME_POINTERS,
	DIAG_OPT_RAW_STACK,
	DIAG_OPT_STRICT_FREQ,
	DIAG_OPT_PHYS_DATA,
	DIAG_OPT_DATA_PAGE_SIZE,
	DIAG_OPT_CODE_PAGE_SIZE,
	DIAG_OPT_USER_REGS,
	DIAG_OPT_FILTER,
	DIAG_OPT_EVENT,
	DIAG_OPT_FORMATS,
	DIAG_OPT_CLOCK_RATE,
	DIAG_OPT_SAMPLES,
	DIAG_OPT_STALE,
	DIAG_OPT_DETAILS,
	DIAG_OPT_KALLSYMS,
	DIAG_OPT_GUEST_KALLSYMS,
	DIAG_OPT_KERNEL_CONFIG,
	DIAG_OPT_HEADER,
	DIAG_OPT_UNSAFE,
	DIAG_OPT_INFO,
	DIAG_OPT_VARS,
	DIAG_OPT_RANGE,
	DIAG_OPT_MAX_PROBES,
	DIAG_OPT_OFFSETS,
	DIAG_OPT_WITH_SAMPLES,
	DIAG_OPT_LATENCY,
	DIAG_OPT_NR,
};

struct diag {
	VEC(struct diag_item) items;
	size_t nr_errors;
	const char *const *options; /* [DIAG_OPT_NR]; NULL: nobody has named them. Stays after diag_done() */
	const char *recorder; /* what makes the recordings that are read, with arguments; NULL: `record`. Stays, too */
};

/* How a person writes it; "an option" where the diag carries no names. */
const char *diag_option(const struct diag *d, enum diag_option option);

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
