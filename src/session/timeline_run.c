#include "session/timeline_run.h"

#include "analysis/timeline_fold.h"
#include "session/named_run.h"
#include "session/recording.h"
#include "session/wait_chain.h"

#include <errno.h>
#include <string.h>

struct timeline_names {
	struct wait_chain_names chain;
	struct strbuf text;
};

static const char *label(void *ctx, u32 chain)
{
	struct timeline_names *n = ctx;
	return wait_chain_text(&n->chain, chain, &n->text);
}

static u32 keep(struct timeline *t, const char *s)
{
	s64 id = s ? strtab_add(&t->strings, s, strlen(s)) : 0;
	return id > 0 ? (u32)id : 0;
}

static void describe(struct timeline *t, const struct source *src)
{
	struct source_facts facts = source_facts(src);
	struct strbuf command;
	strbuf_init(&command);
	source_command(src, &command);
	t->host = keep(t, facts.host);
	t->release = keep(t, facts.release);
	t->arch = keep(t, facts.arch);
	t->cpu = keep(t, facts.cpu);
	t->command = keep(t, strbuf_cstr(&command));
	strbuf_done(&command);
}

static int run(struct symbols *sy, const struct timeline_run_opts *o, struct source *src,
	       struct timeline_fold *fold, struct timeline *t)
{
	struct named_run run = { 0 };
	struct timeline_names n = { 0 };
	bool chains = source_facts(src).has_chains;
	int err = named_run(
		&run, src, timeline_fold_sink(fold, chains),
		&(struct named_run_opts){
			.symbols = sy, .names = o->symbols, .want = WANT_SYMBOL, .workers = 1 });
	strbuf_init(&n.text);
	n.chain = (struct wait_chain_names){ .names = &run.named,
					     .frames = &run.tables.frames,
					     .chains = &run.tables.chains,
					     .max_stack = o->max_stack };
	if (!err)
		err = timeline_fold_finish(fold, &src->catalog, chains ? label : NULL, &n);
	strbuf_done(&n.text);
	named_run_done(&run);
	return err;
}

int timeline_load(struct symbols *sy, const struct timeline_run_opts *o, struct timeline *t)
{
	struct source *src;
	int err = recording_open(sy, o->path, RECORDING_EVENTS, o->symbols, &src);
	if (err)
		return err;
	err = src->ops->prepare(src, 0, sy->diag);
	struct timeline_fold *fold = err ? NULL : timeline_fold_new(t);
	if (!err)
		err = fold ? run(sy, o, src, fold, t) : -ENOMEM;
	if (!err && !t->nr_switches)
		err = diag_error(sy->diag, -ENODATA, "%s has no sched:sched_switch events", o->path);
	else if (!err)
		describe(t, src);
	timeline_fold_free(fold);
	src->ops->close(src);
	return err;
}
