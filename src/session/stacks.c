#include "session/stacks.h"
#include "session/live_run.h"
#include "session/recording.h"
#include "session/short_chains.h"
#include "model/fan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

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
	if (!path)
		s->recorded_s = (u64)time(NULL);
	else if (strcmp(path, "-") && !stat(path, &st))
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

static int add_side(struct flame_build *b, struct flame_sink *sink, struct named_run *run,
		    const char *path)
{
	int err = flame_build_add(b, sink, &run->src->catalog, &run->tables, &run->named);
	if (err)
		return err;
	struct flame_side *side = &b->flame->sides[b->flame->nr_sides - 1];
	describe(b->flame, side, run->src, path);
	return 0;
}

static bool has_switches(const struct source *src)
{
	vec_for_each (&src->catalog.events, e)
		if (e->name && (strstr(e->name, "sched_switch") ||
				(e->schema && !strcmp(e->schema->name, "sched_switch"))))
			return true;
	return false;
}

/* Between the run and its folding: stacks of waits are shortened, and added up. */
static int take_waits(struct flame_build *b, const struct stacks_opts *o,
		      const struct wait_stacks_opts *waits, struct off_cpu *off,
		      struct named_run *run)
{
	int err = wait_stacks_shorten(run, waits);
	wait_stacks_build(b, off, waits);
	return err || !o->waited ? err : wait_result_read(o->waited, off);
}

static int load_stacks(struct symbols *sy, const struct stacks_opts *o, const char *path,
		       struct source *src, struct flame_build *b)
{
	struct flame_sink *sink = flame_sink_new();
	struct off_cpu *off =
		sink && o->waits ? off_cpu_new(&o->waits->fold, flame_sink(sink)) : NULL;
	struct named_run run = { 0 };
	int err = sink && (off || !o->waits) ? 0 : -ENOMEM;
	if (!err)
		err = named_run(
			&run, src, off ? off_cpu_sink(off) : flame_sink(sink),
			&(struct named_run_opts){ .symbols = sy,
						  .names = o->symbols,
						  .want = symbols_want(o->symbols) | WANT_LINE,
						  .workers = off ? 1 : o->workers,
						  .split_reads = !off });
	if (!err && off)
		err = take_waits(b, o, o->waits, off, &run);
	if (!err)
		err = add_side(b, sink, &run, path);
	named_run_done(&run);
	off_cpu_free(off);
	flame_sink_free(sink);
	return err;
}

static int load_one(struct symbols *sy, const struct stacks_opts *o, const char *path,
		    struct flame_build *b)
{
	struct source *src;
	enum recording_use use = o->waits ? RECORDING_EVENTS : RECORDING_TIME;
	int err = o->inputs ? recording_open_inputs(sy, o->inputs, path, use, o->symbols, &src)
			    : recording_open(sy, path, use, o->symbols, &src);
	if (err)
		return err;
	if (o->waits)
		err = src->ops->prepare(src, 0, sy->diag);
	if (!err && o->waits && !has_switches(src))
		err = diag_error(
			sy->diag, -ENODATA,
			"%s has no sched:sched_switch events, which show when threads wait", path);
	if (!err)
		err = load_stacks(sy, o, path, src, b);
	src->ops->close(src);
	return err;
}

int stacks_load(struct symbols *sy, const struct stacks_opts *o, struct flame *f)
{
	struct flame_build b = { .flame = f,
				 .by_comm = o->by_comm || o->nr_paths > 1,
				 .max_nodes = o->max_nodes,
				 .workers = o->workers };
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
			diag_warn(sy->diag, "%s: %llu %s lost while recording", o->paths[i],
				  (unsigned long long)f->sides[i].nr_lost,
				  str_plural(f->sides[i].nr_lost, "sample was", "samples were"));
	return err;
}

/* ---- live ---- */

struct stacks_live {
	struct live_run live;
	struct flame_sink *stacks;
	const struct wait_stacks_opts *waits;
	struct off_cpu *off; /* between the source and the stacks; NULL: not wanted */
	struct annotate *hits; /* NULL: not wanted */
	bool by_frame_pointer;
	struct short_chains short_chains;
	struct sink_fan fan;
};

struct stacks_live *stacks_live_new(const struct stacks_live_opts *o)
{
	struct stacks_live *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->by_frame_pointer = o->by_frame_pointer;
	l->waits = o->waits;
	short_chains_init(&l->short_chains, false);
	if (!live_run_open(&l->live, &(struct live_run_opts){ .option_names = o->option_names })) {
		l->stacks = flame_sink_new();
		l->off = l->stacks && o->waits ? off_cpu_new(&o->waits->fold, flame_sink(l->stacks))
					       : NULL;
		l->hits = o->hits ? annotate_new(NULL, &l->live.source->catalog) : NULL;
	}
	if (!l->stacks || (o->hits && !l->hits) || (o->waits && !l->off)) {
		stacks_live_free(l);
		return NULL;
	}
	struct sink *parts[] = { l->off ? off_cpu_sink(l->off) : flame_sink(l->stacks),
				 o->hits ? annotate_sink(l->hits) : NULL,
				 o->by_frame_pointer ? &l->short_chains.sink : NULL };
	sink_fan_init(&l->fan, parts, ARRAY_SIZE(parts));
	return l;
}

struct source *stacks_live_source(struct stacks_live *l)
{
	return l->live.source;
}

void stacks_live_choose_root(struct stacks_live *l, s32 pid)
{
	if (l->off && pid > 0)
		off_cpu_choose_root(l->off, pid);
}

int stacks_live_start(struct stacks_live *l)
{
	return live_run_start(&l->live, &l->fan.sink);
}

int stacks_live_end(struct stacks_live *l, struct symbols *sy, const struct stacks_opts *o,
		    struct flame *f)
{
	struct flame_build b = { .flame = f, .by_comm = o->by_comm, .max_nodes = o->max_nodes };
	struct named_run *run = &l->live.run;
	int err = live_run_end(&l->live);
	diag_join(sy->diag, &l->live.diag);
	if (err)
		return err;
	run->names = recording_names(sy, run->src, o->symbols);
	run->own_names = true;
	err = run->names ? named_run_resolve(run, symbols_want(o->symbols) | WANT_LINE) : -ENOMEM;
	if (!err && l->off)
		err = take_waits(&b, o, l->waits, l->off, run);
	if (!err)
		err = add_side(&b, l->stacks, run, NULL);
	if (!err)
		err = flame_build_finish(&b);
	flame_build_done(&b);
	if (!err && l->by_frame_pointer)
		short_chains_note(&l->short_chains, &run->src->catalog, sy->opener, sy->diag);
	return err;
}

u64 stacks_live_cost_ns(const struct stacks_live *l)
{
	return l->live.cost_ns;
}

struct annotate *stacks_live_hits(struct stacks_live *l, const struct frame_table **frames)
{
	*frames = &l->live.run.tables.frames;
	return l->hits;
}

void stacks_live_free(struct stacks_live *l)
{
	if (!l)
		return;
	(void)!live_run_end(&l->live); /* its sinks go first */
	off_cpu_free(l->off);
	flame_sink_free(l->stacks);
	annotate_free(l->hits);
	short_chains_done(&l->short_chains);
	live_run_close(&l->live);
	free(l);
}
