#include "session/stacks.h"
#include "session/recording.h"
#include "session/named_run.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The id of a string that may be missing; 0 then. */
static u32 keep(struct flame *f, const char *s)
{
	s64 id = s ? strtab_add(&f->strings, s, strlen(s)) : 0;
	return id > 0 ? (u32)id : 0;
}

static void describe(struct flame *f, struct flame_side *s, const struct source *src,
		     const char *path)
{
	struct stat st;
	struct source_facts facts = source_facts(src);
	struct strbuf command;
	s->path = keep(f, path);
	if (strcmp(path, "-") && !stat(path, &st))
		s->recorded_s = (u64)st.st_mtime;
	s->knows_truncated = facts.was_unwound;
	if (facts.was_unwound)
		s->nr_truncated = max(s->nr_truncated, facts.nr_cut);
	if (facts.kind != SOURCE_PERF)
		return;
	strbuf_init(&command);
	source_command(src, &command);
	s->host = keep(f, facts.host);
	s->release = keep(f, facts.release);
	s->arch = keep(f, facts.arch);
	s->cpu = keep(f, facts.cpu);
	s->command = keep(f, strbuf_cstr(&command));
	strbuf_done(&command);
}

static int load_one(struct symbols *sy, const struct stacks_opts *o, const char *path,
		    struct flame_build *b)
{
	struct source *src;
	int err = o->inputs ? recording_open_inputs(sy, o->inputs, path, RECORDING_TIME, o->symbols,
						    &src)
			    : recording_open(sy, path, RECORDING_TIME, o->symbols, &src);
	if (err)
		return err;
	struct flame_sink *sink = flame_sink_new();
	struct named_run run = { 0 };
	err = sink ? named_run(&run, src, flame_sink(sink),
			       &(struct named_run_opts){ .symbols = sy,
							 .names = o->symbols,
							 .want = symbols_want(o->symbols) | WANT_LINE,
							 .workers = o->workers,
							 .split_reads = true })
		   : -ENOMEM;
	if (!err)
		err = flame_build_add(b, sink, &src->catalog, &run.tables, &run.named);
	if (!err) {
		struct flame_side *side = &b->flame->sides[b->flame->nr_sides - 1];
		describe(b->flame, side, src, path);
	}
	flame_sink_free(sink);
	named_run_done(&run);
	src->ops->close(src);
	return err;
}

int stacks_load(struct symbols *sy, const struct stacks_opts *o, struct flame *f)
{
	struct flame_build b = { .flame = f, .by_comm = o->by_comm || o->nr_paths > 1 };
	int err = 0;
	for (u32 i = 0; i < o->nr_paths && !err; i++)
		err = load_one(sy, o, o->paths[i], &b);
	if (!err)
		err = flame_build_finish(&b);
	/* Events of a perf.data stand as they were asked for; those of a trace.dat as the kernel numbers them, which says nothing. */
	if (!err && recording_kind(o->paths[0]) == LOOKS_TRACEDAT)
		err = flame_sort_events(f);
	flame_build_done(&b);
	for (u32 i = 0; i < f->nr_sides && !err; i++)
		if (f->sides[i].nr_lost)
			diag_warn(sy->diag, "%s: %llu samples were lost while recording",
				  o->paths[i], (unsigned long long)f->sides[i].nr_lost);
	return err;
}
