/*
 * One function as instructions and source lines, each with what fell on it: what `annotate` shows, in whatever form. Weights are
 * [event] arrays, one after the other, so that several events stand side by side.
 */
#pragma once

#include "base/types.h"

struct annotation_weight {
	u64 period;
	u64 count;
};

struct annotation_event {
	const char *name;
	struct annotation_weight here; /* in this function */
	struct annotation_weight all; /* in the whole recording */
	u64 hz; /* samples a second that were asked for; 0: a period was */
};

enum annotation_kind { ANNOTATION_PLAIN, ANNOTATION_JUMP, ANNOTATION_CALL, ANNOTATION_RETURN };

struct annotation_insn {
	u64 addr; /* as the file counts */
	const u8 *bytes;
	const char *text; /* "mov    %eax,%ebx" */
	const char *file; /* NULL: not known */
	const char *func; /* the innermost function it belongs to; NULL: not known */
	u32 line;
	u32 jump; /* 1 + index of the instruction that it may go to; 0: not a jump inside the function */
	u8 size;
	u8 kind; /* enum annotation_kind */
	u8 name_len; /* of the mnemonic, at the start of text */
	u16 target_at; /* where the target of a jump or call stands in text; 0: nowhere */
};

struct annotation_line {
	const char *file;
	u32 line;
	struct annotation_weight *weights; /* [event] */
};

struct annotation {
	const char *symbol;
	const char *image; /* short name */
	const char *path;
	const char *section; /* NULL: not known */
	u64 start; /* as the file counts */
	struct annotation_event *events;
	u32 nr_events;
	const char *group; /* name of the group they are; NULL: it has none */
	const struct annotation_insn *insns;
	u32 nr_insns;
	const struct annotation_weight *weights; /* [insn * nr_events + event] */
	const struct annotation_line
		*lines; /* with weight, heaviest first (by the first event that has any) */
	u32 nr_lines;
};

static inline const struct annotation_weight *annotation_weights(const struct annotation *a,
								 u32 insn)
{
	return a->weights + (size_t)insn * a->nr_events;
}
