#include "session/trace_samples.h"

#include "base/clock.h"
#include "base/json.h"
#include "session/recording.h"
#include "stream/replay_perf.h"
#include "stream/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct one_sample {
	u64 time_ns;
	s32 cpu, tid;
	u32 comm, event, leaf;
};

struct trace_samples {
	struct sink sink;
	struct source *src;
	struct symbol_opts symbols;
	struct kernel_list kernel;
	struct names *names;
	struct names_result named;
	struct run_tables run;
	VEC(struct one_sample) all; /* in the order of time */
	size_t next; /* to be written */
};

static int sample_shard(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	(void)index;
	(void)sh;
	*state = container_of(k, struct trace_samples, sink);
	return 0;
}

static int sample_feed(struct sink *k, void *state, const struct batch *b)
{
	struct trace_samples *s = state;
	(void)k;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *from = &b->samples[i];
		struct one_sample *to = vec_push(&s->all);
		if (!to)
			return -ENOMEM;
		*to = (struct one_sample){ .time_ns = from->time_ns,
					   .cpu = from->cpu,
					   .tid = from->tid,
					   .comm = from->comm,
					   .event = from->event,
					   .leaf = from->leaf };
	}
	return 0;
}

static int sample_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	(void)k;
	(void)workers;
	for (u32 i = 0; i < nr; i++) {
		struct trace_samples *s = parts[i].state;
		for (size_t at = 0; parts[i].map_frame && at < s->all.nr; at++)
			s->all.at[at].leaf = parts[i].map_frame[s->all.at[at].leaf];
	}
	return 0;
}

static void sample_shard_free(struct sink *k, void *state)
{
	(void)k;
	(void)state;
}

static const struct sink_ops sample_ops = {
	.needs = NEED_ORDER | NEED_LEAF | NEED_COMM,
	.shard_new = sample_shard,
	.feed = sample_feed,
	.merge = sample_merge,
	.shard_free = sample_shard_free,
};

/* What the recording's times are of; "?" for a clock that a trace cannot have. */
static const char *clock_of(const struct perfdata *f)
{
	if (!f->attrs.nr || !f->attrs.at[0].attr.use_clockid)
		return "perf";
	const struct clock_kind *kind = clock_by_id(f->attrs.at[0].attr.clockid);
	return kind && kind->traced ? kind->traced : "?";
}

static int load(struct trace_samples *s, struct symbols *sy)
{
	replay_perf_kallsyms(s->src, kernel_list_text, &s->kernel);
	int err = symbols_unwind(sy, s->src, &s->symbols);
	s->names = err ? NULL : recording_names(sy, s->src, &s->symbols);
	if (!err)
		err = s->names ? stream_run(s->src, &s->sink, 1, &s->run, sy->diag) : -ENOMEM;
	return err ? err
		   : s->names->ops->resolve(s->names, &s->src->catalog, &s->run.frames, WANT_SYMBOL,
					    &s->named);
}

int trace_samples_open(struct trace_samples **ret, struct symbols *sy, const char *path,
		       const char *trace, const char *clock)
{
	struct trace_samples *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->sink = (struct sink){ .ops = &sample_ops, .needs = sample_ops.needs };
	symbols_recorded(sy, path);
	int err = replay_perf_open(path, &s->src, sy->diag);
	if (err) {
		free(s);
		return err;
	}
	s->kernel = (struct kernel_list){ .opts = &s->symbols, .src = s->src };
	err = s->src->ops->prepare(s->src, sample_ops.needs, sy->diag);
	const char *own = err ? "" : clock_of(replay_perf_file(s->src));
	if (!err && strcmp(own, clock ? clock : "local")) {
		err = diag_error(sy->diag, -EINVAL,
				 "'%s' uses the clock '%s', '%s' uses '%s': they cannot be merged",
				 path, own, trace, clock ? clock : "local");
		diag_hint(sy->diag, "'sonde ftrace record %s' records both with the same clock",
			  diag_option(sy->diag, DIAG_OPT_WITH_SAMPLES));
	}
	if (!err)
		err = load(s, sy);
	if (err) {
		trace_samples_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

void trace_samples_close(struct trace_samples *s)
{
	if (!s)
		return;
	if (s->names)
		s->names->ops->free(s->names);
	run_tables_done(&s->run);
	s->src->ops->close(s->src);
	kernel_list_done(&s->kernel);
	vec_free(&s->all);
	free(s);
}

static void write_place(const struct trace_samples *s, const struct one_sample *one,
			struct strbuf *to)
{
	const struct frame *f = &s->run.frames.frames[one->leaf];
	const struct name_func *fn = &s->named.funcs[s->named.func_of[one->leaf]];
	if (one->leaf == FRAME_NONE)
		strbuf_str(to, "[unknown]");
	else if (fn->name)
		strbuf_printf(to, "%s+0x%llx", fn->name,
			      (unsigned long long)(f->offset - fn->start));
	else
		strbuf_printf(to, "0x%llx", (unsigned long long)f->offset);
}

static const char *image_of(const struct trace_samples *s, const struct one_sample *one)
{
	const struct catalog *c = &s->src->catalog;
	u32 image = s->run.frames.frames[one->leaf].image;
	const char *name = image < c->images.nr ? c->images.at[image].name : NULL;
	return name ? name : "[unknown]";
}

static const char *comm_of(const struct trace_samples *s, const struct one_sample *one)
{
	return COMM_IS_UNNAMED(one->comm) ? "<...>"
					  : strtab_str(&s->src->catalog.strings, one->comm);
}

static void write_json(const struct trace_samples *s, const struct one_sample *one,
		       struct strbuf *to)
{
	struct strbuf place;
	struct json j;
	strbuf_init(&place);
	write_place(s, one, &place);
	json_begin(&j, to, JSON_COMPACT);
	json_object(&j);
	json_put_u64(&j, "time_ns", one->time_ns);
	json_put_s64(&j, "cpu", one->cpu);
	json_put_s64(&j, "pid", one->tid);
	json_put_str(&j, "comm", comm_of(s, one));
	json_put_str(&j, "sample", s->src->catalog.events.at[one->event].name);
	json_put_str(&j, "symbol", strbuf_cstr(&place));
	json_put_str(&j, "object", image_of(s, one));
	json_object_end(&j);
	(void)!json_end(&j);
	strbuf_done(&place);
}

static void write_line(const struct trace_samples *s, const struct one_sample *one,
		       bool nanoseconds, struct strbuf *to)
{
	char label[80];
	(void)snprintf(label, sizeof(label), "%s:", s->src->catalog.events.at[one->event].name);
	strbuf_printf(to, "%16.16s-%-5d [%03d] ", comm_of(s, one), one->tid, one->cpu);
	u64 unit = nanoseconds ? 1000000000 : 1000000;
	u64 time = nanoseconds ? one->time_ns : (one->time_ns + 500) / 1000;
	strbuf_printf(to, "%5llu.%0*llu", (unsigned long long)(time / unit), nanoseconds ? 9 : 6,
		      (unsigned long long)(time % unit));
	strbuf_printf(to, ": %-21s ", label);
	write_place(s, one, to);
	strbuf_printf(to, " (%s)\n", image_of(s, one));
}

void trace_samples_write(struct trace_samples *s, u64 until_ns, bool nanoseconds, bool json,
			 struct strbuf *to)
{
	for (; s->next < s->all.nr && s->all.at[s->next].time_ns <= until_ns; s->next++) {
		const struct one_sample *one = &s->all.at[s->next];
		if (json)
			write_json(s, one, to);
		else
			write_line(s, one, nanoseconds, to);
	}
}
