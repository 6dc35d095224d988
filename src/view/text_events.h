/*
 * Events as lines of text, the way trace-cmd prints them, or as JSON, one object a line.
 *
 *	          comm-pid   [cpu]  seconds: event:      text
 *
 * A sink that wants time order: each worker formats its windows into a text of its own; the texts are written in the order
 * of the windows. What a line owes to lines before it (a task's name that a scheduler event told, the indentation of the
 * function tracer) is left open while formatting and filled in when the text's turn has come.
 */
#pragma once

#include "base/strbuf.h"
#include "model/source.h"

enum text_events_form { TEXT_EVENTS_LINES, TEXT_EVENTS_JSON };

/* How functions are shown: the options of trace-cmd's plug-ins "ftrace" and "fgraph". */
struct text_events_functions {
	bool parent; /* function: who called it */
	bool flat; /* function: no indentation by guessed calls */
	bool offset; /* function: how far into it */
	bool tail; /* function_graph: the name after the closing brace too */
	bool depth; /* function_graph: how deep */
};

struct text_events_opts {
	enum text_events_form form;
	bool raw_fields; /* -R: "name=value" */
	bool nanoseconds; /* -t */
	bool latency; /* -l: short task names, flag columns */
	bool plain; /* -N: no layouts of the tool's own, only the kernel's print fmt */
	bool raw_time; /* the clock does not count nanoseconds */
	bool diff; /* after the time, how long after the line before */
	struct text_events_functions functions;
	const char *const *buffers; /* names; NULL: one buffer, lines without prefix */
	u32 nr_buffers;
	const u32 *file_of; /* [buffer]: whose tasks they are; NULL: all of one file */
	const bool *raw_events; /* [event]: these by their fields, as with raw_fields; NULL: none */
	const bool *plain_events; /* [event]: these as with plain; NULL: none */

	/* What the lines ask of the source. */
	void *ctx;
	const struct catalog *catalog;
	const struct schema *(*schema_of)(void *ctx, u32 event);
	const char *(*symbol)(void *ctx, u32 buffer, u64 addr, u64 *offset);
	bool (*has_comm)(void *ctx, u32 buffer, s32 pid);
	bool (*keep)(void *ctx, const struct sample *s); /* others are left out; NULL: all */
	bool (*keep_before)(void *ctx,
			    const struct sample *s); /* of the event before it on its CPU */
	/* Writes what stands between the line before and one of this time; called in the order of lines; NULL: nothing. */
	void (*between)(void *ctx, u64 until_ns, struct strbuf *to);
	/* The lines of a round are written; NULL: nobody wants to know. 0 or negative errno. */
	int (*round_done)(void *ctx);
	/* What else stands at the end of an event's line; for any thread; NULL: nothing. */
	void (*tail)(void *ctx, const struct sample *s, struct strbuf *to);
};

/* out must outlive the sink and may have a drain. The options are copied. */
int text_events_new(const struct text_events_opts *o, struct strbuf *out,
		    struct sink **ret) must_check;
void text_events_free(struct sink *k);
u64 text_events_nr_lines(const struct sink *k); /* events written */
