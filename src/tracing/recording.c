#include "tracing/recording.h"

#include "kern/cpu.h"
#include "tracing/recording_impl.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Pages of one CPU on their way to a file. */
struct recording_lane {
	pthread_mutex_t lock; /* the reader's; ours when it is to go on in another file */
	int fd;
	u32 half;
	u64 bytes; /* in this half */
};

struct recording_buffer {
	struct ftrace_recording *of;
	u32 index;
	struct live_ftrace *live;
	struct recording_lane *lanes; /* by CPU */
};

int ftrace_recording_init(struct ftrace_recording *r, struct ftrace_setup *s,
			  const struct ftrace_recording_opts *o)
{
	*r = (struct ftrace_recording){ .opts = *o, .s = s, .diag = s->diag, .file_nr = 1 };
	parts_init(&r->parts);
	r->parts.version = o->version;
	r->parts.compression = o->compression;
	r->latency = ftrace_is_latency(s->buffers.at[0].tracer);
	r->nr_cpus = cpu_nr_present(&s->root);
	return cpu_online(&s->root, &r->cpus);
}

static int open_lane(struct recording_buffer *b, u32 cpu, struct recording_lane *l)
{
	l->fd = parts_open_cpu(&b->of->parts, b->index, cpu, l->half);
	l->bytes = 0;
	return l->fd < 0 ? l->fd : 0;
}

/* With a limit two halves are used in turns, so that the newest are kept. */
static int next_half(struct recording_buffer *b, u32 cpu, struct recording_lane *l)
{
	(void)close(l->fd);
	l->half = !l->half;
	int err = open_lane(b, cpu, l);
	return err ? err : ftruncate(l->fd, 0) ? -errno : 0;
}

static int take_pages(void *ctx, u32 cpu, const void *pages, size_t bytes)
{
	struct recording_buffer *b = ctx;
	struct recording_lane *l = &b->lanes[cpu];
	u64 limit = b->of->opts.max_kb * 1024 / 2;
	int err = 0;
	(void)pthread_mutex_lock(&l->lock);
	if (limit && l->bytes && l->bytes + bytes > limit)
		err = next_half(b, cpu, l);
	if (!err)
		err = strbuf_drain_fd(&l->fd, pages, bytes);
	l->bytes += bytes;
	(void)pthread_mutex_unlock(&l->lock);
	return err;
}

static int open_buffer(struct ftrace_recording *r, struct recording_buffer *b,
		       const struct ftrace_buffer_opt *from)
{
	struct live_ftrace_opts o = {
		.folder = from->folder,
		.cpus = &r->cpus,
		.interval_ns = r->opts.sleep_us * 1000,
		.poll = r->opts.poll,
		.rt_priority = (int)min(r->opts.priority, (u64)99),
		.take = take_pages,
		.ctx = b,
	};
	b->lanes = calloc(r->nr_cpus, sizeof(*b->lanes));
	if (!b->lanes)
		return -ENOMEM;
	for (u32 i = 0; i < r->nr_cpus; i++) {
		b->lanes[i].fd = -1;
		(void)pthread_mutex_init(&b->lanes[i].lock, NULL);
	}
	int err = live_ftrace_open(&b->live, &r->s->tracing, &o, r->diag);
	for (int cpu = cpuset_next(&r->cpus, 0); cpu >= 0 && !err;
	     cpu = cpuset_next(&r->cpus, (unsigned)cpu + 1))
		err = open_lane(b, (u32)cpu, &b->lanes[cpu]);
	return err;
}

int ftrace_recording_start(struct ftrace_recording *r)
{
	int err = 0;
	if (r->latency)
		return 0;
	r->buffers = calloc(r->s->buffers.nr, sizeof(*r->buffers));
	if (!r->buffers)
		return -ENOMEM;
	for (u32 i = 0; i < r->s->buffers.nr && !err; i++) {
		r->buffers[i] = (struct recording_buffer){ .of = r, .index = i };
		err = open_buffer(r, &r->buffers[i], &r->s->buffers.at[i]);
	}
	for (u32 i = 0; i < r->s->buffers.nr && !err; i++)
		err = live_ftrace_start(r->buffers[i].live);
	r->buffers_read = !err;
	return err;
}

static int stop_reading(struct ftrace_recording *r)
{
	int err = ftrace_setup_switch(r->s, false);
	for (size_t i = 0; r->buffers && i < r->s->buffers.nr; i++) {
		struct recording_buffer *b = &r->buffers[i];
		int got = b->live ? live_ftrace_stop(b->live) : 0;
		if (got && !err)
			err = diag_error(r->diag, got, "cannot save the recording: %s",
					 strerror(-got));
	}
	return err;
}

static void close_buffers(struct ftrace_recording *r)
{
	for (size_t i = 0; r->buffers && i < r->s->buffers.nr; i++) {
		live_ftrace_close(r->buffers[i].live);
		for (u32 c = 0; r->buffers[i].lanes && c < r->nr_cpus; c++)
			cleanup_close(&r->buffers[i].lanes[c].fd);
		free(r->buffers[i].lanes);
	}
	free(r->buffers);
	r->buffers = NULL;
}

int ftrace_recording_error(const struct ftrace_recording *r)
{
	int err = 0;
	for (size_t i = 0; !r->latency && i < r->s->buffers.nr && !err; i++)
		err = live_ftrace_error(r->buffers[i].live);
	return err;
}

void ftrace_recording_stop(struct ftrace_recording *r)
{
	if (r->buffers)
		(void)!stop_reading(r);
}

void ftrace_recording_done(struct ftrace_recording *r)
{
	if (!r->s) /* never begun */
		return;
	close_buffers(r);
	if (r->has_parts)
		parts_remove(&r->parts);
	if (r->has_meta)
		ftrace_meta_done(&r->meta);
	vec_free(&r->more);
	parts_done(&r->parts);
}

void ftrace_recording_keep(struct ftrace_recording *r)
{
	if (!r->has_parts || !r->buffers_read)
		return;
	r->has_parts = false;
	parts_hint(&r->parts, r->diag);
}

/* ---- several files --------------------------------------------------------------------------------------------------------- */

u64 ftrace_recording_bytes(const struct ftrace_recording *r)
{
	u64 n = 0;
	for (size_t i = 0; !r->latency && i < r->s->buffers.nr; i++)
		n += live_ftrace_bytes(r->buffers[i].live);
	return n;
}

static int keep_names(struct ftrace_recording *r, const struct parts *p)
{
	struct strbuf names;
	strbuf_init(&names);
	int err = ftrace_meta_names(&r->s->tracing, &r->s->root, &names);
	if (!err)
		err = parts_write_names(p, names.data, names.len);
	strbuf_done(&names);
	return err;
}

static int name_file(struct ftrace_recording *r)
{
	int n = r->opts.numbered
			? snprintf(r->output, sizeof(r->output), "%s.%u", r->opts.output, r->file_nr)
			: snprintf(r->output, sizeof(r->output), "%s", r->opts.output);
	return n < (int)sizeof(r->output) ? 0 : -ENAMETOOLONG;
}

int ftrace_recording_begin_file(struct ftrace_recording *r)
{
	int err = name_file(r);
	if (!err)
		err = parts_name(&r->parts, r->output, r->opts.temp, r->diag);
	/* Noted first: who is killed in the moment of its making leaves no empty folder. */
	if (!err)
		err = journal_note_folder(r->s->journal, r->parts.folder);
	if (err)
		return err;
	err = parts_make(&r->parts, r->diag);
	r->has_parts = !err;
	if (err) {
		journal_cancel(r->s->journal, r->diag);
		return err;
	}
	return journal_note_recording(r->s->journal, r->parts.folder, r->parts.output);
}

/* From here on pages of every CPU go to the new file; those that are being written are in the old one. */
static int move_lanes(struct ftrace_recording *r)
{
	int err = 0;
	for (size_t i = 0; i < r->s->buffers.nr; i++) {
		struct recording_buffer *b = &r->buffers[i];
		for (int cpu = cpuset_next(&r->cpus, 0); cpu >= 0 && !err;
		     cpu = cpuset_next(&r->cpus, (unsigned)cpu + 1)) {
			struct recording_lane *l = &b->lanes[cpu];
			(void)pthread_mutex_lock(&l->lock);
			int old = l->fd;
			l->half = 0;
			err = open_lane(b, (u32)cpu, l);
			if (err)
				l->fd = old; /* goes on in the file that is about to be joined: the run ends */
			else
				(void)close(old);
			(void)pthread_mutex_unlock(&l->lock);
		}
	}
	return err;
}

/*
 * The recording goes on in a new file while the one before is joined. What cannot be begun ends the run with the old file whole.
 */
int ftrace_recording_next_file(struct ftrace_recording *r)
{
	struct parts old = r->parts;
	struct parts_summary sum;
	parts_init(&r->parts);
	r->parts.version = old.version;
	r->parts.compression = old.compression;
	r->file_nr++;
	int err = ftrace_recording_begin_file(r);
	if (!err)
		err = recording_write_plan(r);
	if (err) {
		if (r->has_parts)
			parts_remove(&r->parts);
		parts_done(&r->parts);
		r->parts = old;
		r->has_parts = true;
		r->file_nr--;
		(void)!name_file(r);
		r->switch_err = err;
		return 1;
	}
	err = move_lanes(r);
	if (err)
		diag_error(r->diag, err, "cannot continue in %s: %s; everything before is in %s",
			   r->output, strerror(-err), old.folder);
	r->file_from = ftrace_recording_bytes(r);
	if (!err)
		err = keep_names(r, &old);
	if (!err)
		err = parts_join(&old, NULL, 0, &sum, r->diag);
	if (!err)
		err = r->opts.file_done(r->opts.ctx, old.output, sum.file_bytes);
	parts_done(&old);
	r->switch_err = err;
	return err ? 1 : 0;
}

/* ---- the end --------------------------------------------------------------------------------------------------------------- */

void ftrace_recording_stats(const struct ftrace_recording *r, struct live_ftrace_stats *sum)
{
	*sum = (struct live_ftrace_stats){ 0 };
	for (size_t i = 0; i < r->s->buffers.nr; i++) {
		struct live_ftrace_stats one;
		live_ftrace_read_stats(&r->s->tracing, r->s->buffers.at[i].folder, &r->cpus, &one);
		sum->read += one.read;
		sum->overrun += one.overrun;
		sum->dropped += one.dropped;
		sum->entries += one.entries;
	}
}

static int keep_cpu_stats(struct ftrace_recording *r)
{
	const char *folder = r->s->buffers.at[0].folder;
	char path[PATH_MAX];
	for (int cpu = cpuset_next(&r->cpus, 0); cpu >= 0;
	     cpu = cpuset_next(&r->cpus, (unsigned)cpu + 1)) {
		struct strbuf t, all;
		strbuf_init(&t);
		strbuf_init(&all);
		(void)!str_path(path, sizeof(path), "%sper_cpu/cpu%d/stats", folder, cpu);
		int err = tracing_read(&r->s->tracing, path, &t);
		strbuf_printf(&all, "CPU: %d\n%s", cpu, strbuf_cstr(&t));
		const char *copy = arena_strdup(&r->s->arena, strbuf_cstr(&all));
		size_t len = all.len + 1;
		strbuf_done(&t);
		strbuf_done(&all);
		struct tracedat_option *o = err || !copy ? NULL : vec_push(&r->more);
		if (!o)
			return err ? 0 : -ENOMEM;
		o->id = OPTION_CPUSTAT;
		o->body = (struct tracedat_text){ .data = copy, .len = len };
	}
	return 0;
}

int ftrace_recording_finish(struct ftrace_recording *r, struct live_ftrace_stats *st,
			    struct parts_summary *sum)
{
	*sum = (struct parts_summary){ 0 };
	int err = r->latency ? ftrace_setup_switch(r->s, false) : stop_reading(r);
	ftrace_recording_stats(r, st);
	if (!err)
		err = keep_names(r, &r->parts);
	if (!err && r->latency) {
		err = parts_write_latency(&r->parts, &r->s->tracing);
		r->buffers_read = !err;
	}
	if (!err && !r->latency)
		err = keep_cpu_stats(r);
	close_buffers(r);
	if (!err)
		err = parts_join(&r->parts, r->more.at, r->more.nr, sum, r->diag);
	if (!err) {
		r->has_parts = false;
		r->whole = true;
		if (r->opts.numbered)
			err = r->opts.file_done(r->opts.ctx, r->parts.output, sum->file_bytes);
	}
	return err;
}
