/*
 * A script becomes a program, with what the running kernel says about its tracepoints and types. Types are read only when the script needs them:
 * most do not, and they are several MB.
 */
#pragma once

#include "base/arena.h"
#include "kern/sysroot.h"
#include "kern/tracefs.h"
#include "lang/compile.h"

struct program_compile {
	struct arena arena; /* of schemas */
	s32 pid; /* whose files paths mean; 0: ours. Set after program_compile_open() */
	struct tracing tracing;
	VEC(const struct schema *) schemas; /* that were asked for */
	struct tracing_events list; /* of the pattern that was asked about last */
	const char *list_system, *list_name;
	bool listed;
	struct btf btf;
	u8 *btf_data;
	size_t btf_size;
	bool has_btf;
};

int program_compile_open(struct program_compile *c) must_check;
void program_compile_close(struct program_compile *c);

/* As lang_compile(); ops, ctx and btf of `in` are filled in here. */
int program_compile(struct program_compile *c, struct lang_input *in, struct program *ret,
		    struct diag *d) must_check;
