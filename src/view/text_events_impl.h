/*
 * What the parts of text_events share: the sink and its looks (text_events.c), lines (text_events_line.c), functions
 * (text_events_functions.c), JSON (text_events_json.c), and what lines leave open (text_events_open.c).
 */
#pragma once

#include "base/dict.h"
#include "base/sequencer.h"
#include "base/vec.h"
#include "view/text_events.h"

enum {
	COMM_MAX = 16,
	HEAD_MAX = 64, /* start of a line kept for the next one of the same task */
	NR_HEADS = 128,
	DIFF_WIDTH = 8,
	LABEL_WIDTH = 21, /* of "name:" */
	LABEL_MAX = 32, /* labels up to it are copied in one go */
	LEARNED_MAX =
		1 << 15, /* names of tasks, of a run with rounds: more are forgotten between two of them */
};

enum text_event_kind {
	KIND_PRINT, /* as its print fmt says */
	KIND_FUNCTION,
	KIND_GRAPH_ENTRY,
	KIND_GRAPH_EXIT,
	KIND_STACK,
	KIND_SWITCH, /* printed by its program; tells names of tasks */
	KIND_WAKEUP,
};

/* How one kind of event is shown; made by each worker for itself when the first one comes. */
struct event_look {
	const struct schema *schema;
	enum text_event_kind kind;
	bool raw;
	u16 *before; /* JSON: fields of the same name before each; NULL: all names differ */
	bool copied; /* what lines of it begin with is copied in one go */
	char *label; /* "name:" and blanks */
	u32 label_len;
	const struct schema_field *fields[4];
	const struct schema *partner; /* KIND_GRAPH_*: of the other one; NULL: not in the file */
	const struct schema_field *partner_func, *partner_call, *partner_ret;
};

/* What is left open in a text. */
enum fix_kind { FIX_TASK, FIX_LEARN, FIX_INDENT, FIX_DIFF, FIX_BETWEEN };

struct fix {
	size_t at;
	enum fix_kind kind;
	s32 pid; /* FIX_INDENT: the CPU */
	u32 file; /* FIX_TASK, FIX_LEARN: whose task */
	u64 time; /* FIX_DIFF, FIX_BETWEEN: of the line */
	const char *parent;
	const char *func;
	char comm[COMM_MAX + 1];
};

/* "buffer:  comm-pid  [cpu]" of a task on a CPU; copied whole, hence the size. */
struct head {
	s32 pid;
	s32 cpu;
	u32 buffer;
	u32 len; /* 0: free */
	char text[HEAD_MAX];
};

struct func_stack {
	VEC(const char *) names;
};

struct text_events {
	struct sink sink;
	struct text_events_opts o;
	struct strbuf *out;
	size_t prefix_width;

	struct sequencer turns;

	/* Of whoever has the turn. */
	struct dict learned; /* file and pid -> index */
	VEC(char *) learned_comms;
	VEC(struct func_stack) stacks; /* by CPU */
	u64 nr_lines;
	u64 last_time; /* of the line written last */
	bool has_last;
};

struct text_shard {
	struct text_events *te;
	struct strbuf text;
	VEC(struct fix) fixes;
	struct event_look **looks; /* by index into catalog.events */
	size_t nr_looks;
	u64 nr_lines;
	u64 last_time; /* of the line before in this text */
	bool has_last;
	u64 milli; /* where the millisecond of the last line began, and its digits */
	char milli_text[NUM_DIGITS_MAX];
	u32 milli_len; /* 0: none yet */
	struct head heads[NR_HEADS];
	const void *kept_stacks[NR_HEADS]; /* that passed the filter, the last of each CPU */
};

static inline u64 event_look_field(const struct event_look *look, unsigned i, const struct sample *s)
{
	return schema_u64(look->schema, look->fields[i], s->raw, s->raw_size);
}

/* ---- lines ---- */

/* A call's return that was shown with the call is no line. look NULL: an event whose format the file does not have. */
void text_line_add(struct text_shard *sh, const struct event_look *look, const struct sample *s);
size_t text_line_comm_width(const struct text_events_opts *o);
void text_line_put_comm(char *to, const char *comm, size_t len, size_t width);
void text_line_add_diff(const struct text_events_opts *o, u64 time, u64 before, struct strbuf *to);

/* ---- functions: KIND_FUNCTION, KIND_GRAPH_*, KIND_STACK ---- */

void text_functions_add(struct text_shard *sh, const struct event_look *look,
			const struct sample *s);
/* Whether a return has been shown already, on the line of its call. */
bool text_functions_folded(const struct event_look *look, const struct sample *s);

/* ---- JSON ---- */

void text_json_add(struct text_shard *sh, const struct event_look *look, const struct sample *s);

/* ---- left open while formatting, filled in when the text's turn has come ---- */

/* Room at the end of the text so far; NULL: no memory, which the text remembers. */
struct fix *text_open_add(struct text_shard *sh, enum fix_kind kind, s32 pid);
void text_open_task(struct text_shard *sh, const struct sample *s);
void text_open_between(struct text_shard *sh, const struct sample *s);
void text_open_learn(struct text_shard *sh, const struct sample *s, const struct schema_field *comm,
		     const struct schema_field *pid_field);
int text_open_write(struct text_events *te, struct text_shard *sh) must_check;
