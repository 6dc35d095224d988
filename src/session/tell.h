/*
 * Where an answer goes and what is told beside it, for engines that work for a command: the streams, the messages, and what the command was
 * asked about both. A command fills it in (cmd/app: app_tell); whoever needs only `out` and `diag` leaves the rest.
 */
#pragma once

#include "base/diag.h"
#include "base/strbuf.h"
#include "base/term.h"

struct tell {
	struct strbuf *out;
	struct diag *diag;
	bool json; /* the data on out is JSON */
	struct strbuf *err; /* progress and closing lines */
	const char *title; /* "sonde record": what such lines begin with */
	unsigned verbose;
	bool colour; /* a screen that is drawn may have colours */
	bool colour_err; /* err may */
	enum term_when when_colour; /* for streams that an engine opens itself */
	void (*say)(void *ctx); /* shows the messages collected so far; NULL: they wait for the end */
	void *ctx;
};

static inline void tell_say(const struct tell *t)
{
	if (t->say)
		t->say(t->ctx);
}
