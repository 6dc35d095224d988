#include "tracing/live.h"
#include "kern/cpu.h"

#include <errno.h>
#include <string.h>

enum { INTERVAL_NS = 100000000, NAMES_MAX = 4 << 20 /* bytes */ };

struct live_buffer {
	struct ftrace_live *of;
	u32 index;
	struct live_ftrace *live;
};

/* ---- readers ---- */

static void begin_cpu(void *ctx, u32 cpu)
{
	const struct live_buffer *b = ctx;
	ftrace_rounds_begin(b->of->source, b->index, cpu);
}

static int take_pages(void *ctx, u32 cpu, const void *pages, size_t bytes)
{
	const struct live_buffer *b = ctx;
	return ftrace_rounds_put(b->of->source, b->index, cpu, pages, bytes);
}

static void cpu_caught_up(void *ctx, u32 cpu)
{
	const struct live_buffer *b = ctx;
	ftrace_rounds_caught_up(b->of->source, b->index, cpu);
}

static int open_readers(struct ftrace_live *l)
{
	int err = 0;
	for (u32 i = 0; i < l->nr_buffers && !err; i++) {
		struct live_buffer *b = &l->buffers[i];
		*b = (struct live_buffer){ .of = l, .index = i };
		struct live_ftrace_opts o = {
			.folder = l->s->buffers.at[i].folder,
			.cpus = &l->cpus,
			.interval_ns = l->opts.interval_ns ? l->opts.interval_ns : INTERVAL_NS,
			.take = take_pages,
			.begin = begin_cpu,
			.caught_up = cpu_caught_up,
			.ctx = b,
		};
		err = live_ftrace_open(&b->live, &l->s->tracing, &o, l->s->diag);
	}
	return err;
}

/* ---- the source ---- */

/*
 * Names that the kernel has now, and those of before for tasks that it has forgotten meanwhile. After days these are mostly of numbers that
 * belong to others now: then it starts over.
 */
static int add_names(struct ftrace_live *l, bool last, struct strbuf *to)
{
	struct tracedat_text head = l->meta.out.parts[TRACEDAT_CMDLINES];
	const char *older = l->names.len ? strbuf_cstr(&l->names) : head.data ? head.data : "";
	struct strbuf newer;
	strbuf_init(&newer);
	int err = 0;
	if (last)
		err = ftrace_meta_names(&l->s->tracing, &l->s->root, &newer);
	else if (tracing_read(&l->s->tracing, "saved_cmdlines", &newer))
		strbuf_reset(&newer);
	if (!err)
		err = ftrace_meta_merge_names(strbuf_cstr(&newer),
					      l->names.len < NAMES_MAX ? older : "", to);
	strbuf_done(&newer);
	strbuf_reset(&l->names);
	strbuf_add(&l->names, to->data, to->len);
	return err ? err : l->names.err;
}

static int names(void *ctx, bool last, struct strbuf *to)
{
	struct ftrace_live *l = ctx;
	if (!l->opts.fresh_names)
		return add_names(l, last, to);
	if (tracing_read(&l->s->tracing, "saved_cmdlines", to))
		strbuf_reset(to);
	return 0;
}

static int describe_buffers(struct ftrace_live *l)
{
	u32 nr_cpus = cpuset_count(&l->cpus), at = 0;
	l->out_cpus = calloc(max(nr_cpus, 1u), sizeof(*l->out_cpus));
	l->out = calloc(max(l->nr_buffers, 1u), sizeof(*l->out));
	l->buffers = calloc(max(l->nr_buffers, 1u), sizeof(*l->buffers));
	if (!l->out_cpus || !l->out || !l->buffers)
		return -ENOMEM;
	for (int cpu = cpuset_next(&l->cpus, 0); cpu >= 0;
	     cpu = cpuset_next(&l->cpus, (unsigned)cpu + 1))
		l->out_cpus[at++].cpu = (u32)cpu;
	for (u32 i = 0; i < l->nr_buffers; i++) {
		const struct ftrace_buffer_opt *b = &l->s->buffers.at[i];
		l->out[i] = (struct tracedat_out_buffer){
			.name = b->name ? b->name : "",
			.page_size = live_ftrace_subbuf_bytes(&l->s->tracing, b->folder),
			.cpus = l->out_cpus,
			.nr_cpus = nr_cpus,
		};
	}
	l->meta.out.version = 7;
	l->meta.out.buffers = l->out;
	l->meta.out.nr_buffers = l->nr_buffers;
	return 0;
}

int ftrace_live_open(struct ftrace_live *l, struct ftrace_setup *s, const struct ftrace_live_opts *o)
{
	*l = (struct ftrace_live){ .s = s, .opts = *o };
	strbuf_init(&l->names);
	u32 nr = (u32)s->buffers.nr;
	l->nr_buffers = o->nr_buffers ? min(o->nr_buffers, nr) : nr;
	int err = cpu_online(&s->root, &l->cpus);
	if (!err)
		err = ftrace_setup_meta(s, false, o->no_symbols, &l->meta);
	l->has_meta = !err;
	if (!err)
		err = ftrace_setup_note_tsc(s, &l->meta);
	if (!err)
		err = describe_buffers(l);
	if (!err)
		err = ftrace_rounds_open(&(struct ftrace_rounds_opts){ .head = &l->meta.out,
								       .style = o->style,
								       .idle_ns = o->idle_ns,
								       .held_bytes = o->held_bytes,
								       .names = names,
								       .ctx = l },
					 &l->source);
	/* A tracer that keeps the worst case as text has no pages. */
	return err || ftrace_is_latency(s->buffers.at[0].tracer) ? err : open_readers(l);
}

int ftrace_live_start(struct ftrace_live *l)
{
	int err = 0;
	for (u32 i = 0; i < l->nr_buffers && !err; i++)
		err = l->buffers[i].live ? live_ftrace_start(l->buffers[i].live) : 0;
	return err;
}

int ftrace_live_error(const struct ftrace_live *l)
{
	int err = 0;
	for (u32 i = 0; i < l->nr_buffers && !err; i++)
		err = l->buffers[i].live ? live_ftrace_error(l->buffers[i].live) : 0;
	return err == -EPIPE ? 0 : err;
}

int ftrace_live_stop(struct ftrace_live *l)
{
	int err = ftrace_setup_switch(l->s, false);
	for (u32 i = 0; l->buffers && i < l->nr_buffers; i++) {
		struct live_buffer *b = &l->buffers[i];
		int got = b->live ? live_ftrace_stop(b->live) : 0;
		if (got && got != -EPIPE && !err)
			err = diag_error(l->s->diag, got, "cannot read the buffer: %s",
					 strerror(-got));
	}
	if (l->source)
		ftrace_rounds_end(l->source);
	return err;
}

void ftrace_live_stats(const struct ftrace_live *l, struct live_ftrace_stats *sum)
{
	*sum = (struct live_ftrace_stats){ 0 };
	for (u32 i = 0; i < l->nr_buffers; i++) {
		struct live_ftrace_stats one;
		live_ftrace_read_stats(&l->s->tracing, l->s->buffers.at[i].folder, &l->cpus, &one);
		sum->read += one.read;
		sum->overrun += one.overrun;
		sum->dropped += one.dropped;
		sum->entries += one.entries;
	}
}

void ftrace_live_close(struct ftrace_live *l)
{
	if (!l->s)
		return;
	for (u32 i = 0; l->buffers && i < l->nr_buffers; i++)
		live_ftrace_close(l->buffers[i].live);
	if (l->source)
		l->source->ops->close(l->source);
	if (l->has_meta)
		ftrace_meta_done(&l->meta);
	strbuf_done(&l->names);
	free(l->buffers);
	free(l->out);
	free(l->out_cpus);
	*l = (struct ftrace_live){ 0 };
}
