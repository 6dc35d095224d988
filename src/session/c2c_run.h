/* One run over a recording of loads and stores: shared cache lines, with names of the code that accesses them. */
#pragma once

#include "analysis/c2c_lines.h"
#include "model/tree.h"
#include "session/named_run.h"

struct c2c_run_opts {
	const char *input;
	struct symbol_opts symbols;
	struct c2c_lines_env env; /* all but the machine */
	bool lines; /* source lines are wanted */
	bool outermost_first; /* in call graphs */
};

struct c2c_run {
	struct source *src;
	struct named_run run;
	struct c2c_lines *lines;
	struct c2c_result result;
	struct c2c_machine machine;
	struct c2c_memory *memory; /* of the machine: which node has which addresses */
	bool outermost_first;
	struct arena labels;
};

/* 0 or negative errno with a diag; c2c_run_done() in any case. */
int c2c_run(struct c2c_run *r, struct symbols *sy, const struct c2c_run_opts *o) must_check;
/* As text_c2c_opts.graph; ctx: the run. */
int c2c_run_graph(void *ctx, const struct c2c_entry *e, double min_percent,
		  struct tree *t) must_check;
/* Whether any sample has a call chain. */
bool c2c_run_has_chains(const struct c2c_run *r);
void c2c_run_done(struct c2c_run *r);
