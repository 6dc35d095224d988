/* Text after -e → event_specs. Knows the grammar (spec.h), not the machine. */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "event/spec.h"

/*
 * use: enum event_use (provider.h); tracefs has words of its own. Everything in *ret lives in the arena. 0, -EINVAL with a diag that
 * points into text, -E2BIG, -ENOMEM.
 */
int event_parse(struct arena *a, const char *text, u32 use, struct event_specs *ret,
		struct diag *d) must_check;

/*
 * "event=0x3c,umask=1": a term list without slashes, as a PMU's event file has it. Spans point into text, which must
 * outlive *ret. Same errors.
 */
int event_parse_terms(struct arena *a, const char *text, struct event_term **ret, u32 *nr,
		      struct diag *d) must_check;

/* Letters of modifiers; -EINVAL with a diag at the letter. text is all of the input, span the letters. */
int event_parse_mods(const char *text, struct event_span span, struct event_mods *ret,
		     struct diag *d) must_check;

/* A term that every event takes ("name", "period"), whatever the PMU. */
bool event_is_static_term(const char *s, size_t len);

/* For parse functions of the provider table: the input and where in it we are. */
struct event_parser {
	struct arena *arena;
	const char *text;
	u32 at;
	bool traced; /* for tracefs: triggers may follow */
	struct diag *diag;
};

/* Adds an error at a span; returns -EINVAL. */
int event_parser_error(struct event_parser *p, struct event_span at, const char *fmt, ...)
	printf_like(3, 4);
/* Takes characters up to one of `stop` or the event's end (comma, brace, blank; not inside (), <>, [] when nested). */
struct event_span event_parser_until(struct event_parser *p, const char *stop, bool nested);
/* A number (decimal, 0x, 0) that fills the span. */
bool event_parser_number(const struct event_parser *p, struct event_span s, u64 *ret);
/* "/ text /" when the next character is a slash: quotes are respected. */
int event_parser_filter(struct event_parser *p, struct event_spec *e);
