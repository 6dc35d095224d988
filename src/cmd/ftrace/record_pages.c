/* Pages of a recording go to one file a CPU, below a folder of parts; with --switch-output to one folder after the other. */
#include "cmd/ftrace/record_impl.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int open_lane(struct record_buffer *b, u32 cpu, struct lane *l)
{
	l->fd = parts_open_cpu(&b->session->parts, b->index, cpu, l->half);
	l->bytes = 0;
	return l->fd < 0 ? l->fd : 0;
}

/* With -m two halves are used in turns, so that the newest are kept. */
static int next_half(struct record_buffer *b, u32 cpu, struct lane *l)
{
	(void)close(l->fd);
	l->half = !l->half;
	int err = open_lane(b, cpu, l);
	return err ? err : ftruncate(l->fd, 0) ? -errno : 0;
}

static int take_pages(void *ctx, u32 cpu, const void *pages, size_t bytes)
{
	struct record_buffer *b = ctx;
	struct lane *l = &b->lanes[cpu];
	u64 limit = b->session->o->max_kb * 1024 / 2;
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

static int open_buffer(struct ftrace_run *s, struct record_buffer *b,
		       const struct ftrace_buffer_opt *from)
{
	struct live_ftrace_opts o = {
		.folder = from->folder,
		.cpus = &s->cpus,
		.interval_ns = s->o->sleep_us * 1000,
		.poll = s->o->poll,
		.rt_priority = (int)min(s->o->priority, (u64)99),
		.take = take_pages,
		.ctx = b,
	};
	b->lanes = calloc(s->nr_cpus, sizeof(*b->lanes));
	if (!b->lanes)
		return -ENOMEM;
	for (u32 i = 0; i < s->nr_cpus; i++) {
		b->lanes[i].fd = -1;
		(void)pthread_mutex_init(&b->lanes[i].lock, NULL);
	}
	int err = live_ftrace_open(&b->live, &s->s->tracing, &o, &s->app->diag);
	for (int cpu = cpuset_next(&s->cpus, 0); cpu >= 0 && !err;
	     cpu = cpuset_next(&s->cpus, (unsigned)cpu + 1))
		err = open_lane(b, (u32)cpu, &b->lanes[cpu]);
	return err;
}

int ftrace_run_start_reading(struct ftrace_run *s)
{
	int err = 0;
	s->buffers = calloc(s->s->buffers.nr, sizeof(*s->buffers));
	if (!s->buffers)
		return -ENOMEM;
	for (u32 i = 0; i < s->s->buffers.nr && !err; i++) {
		s->buffers[i] = (struct record_buffer){ .session = s, .index = i };
		err = open_buffer(s, &s->buffers[i], &s->s->buffers.at[i]);
	}
	for (u32 i = 0; i < s->s->buffers.nr && !err; i++)
		err = live_ftrace_start(s->buffers[i].live);
	return err;
}

int ftrace_run_stop_reading(struct ftrace_run *s)
{
	int err = ftrace_setup_switch(s->s, false);
	for (size_t i = 0; s->buffers && i < s->s->buffers.nr; i++) {
		struct record_buffer *b = &s->buffers[i];
		int got = b->live ? live_ftrace_stop(b->live) : 0;
		if (got && !err)
			err = diag_error(&s->app->diag, got, "cannot keep what was recorded: %s",
					 strerror(-got));
	}
	return err;
}

void ftrace_run_close_buffers(struct ftrace_run *s)
{
	for (size_t i = 0; s->buffers && i < s->s->buffers.nr; i++) {
		live_ftrace_close(s->buffers[i].live);
		for (u32 c = 0; s->buffers[i].lanes && c < s->nr_cpus; c++)
			cleanup_close(&s->buffers[i].lanes[c].fd);
		free(s->buffers[i].lanes);
	}
	free(s->buffers);
	s->buffers = NULL;
}

/* ---- several files --------------------------------------------------------------------------------------------------------- */

u64 ftrace_run_bytes(const struct ftrace_run *s)
{
	u64 n = 0;
	for (size_t i = 0; !s->latency && i < s->s->buffers.nr; i++)
		n += live_ftrace_bytes(s->buffers[i].live);
	return n;
}

int ftrace_run_keep_names(struct ftrace_run *s, const struct parts *p)
{
	struct strbuf names;
	strbuf_init(&names);
	int err = ftrace_meta_names(&s->s->tracing, &s->s->root, &names);
	if (!err)
		err = parts_write_names(p, names.data, names.len);
	strbuf_done(&names);
	return err;
}

static int name_file(struct ftrace_run *s)
{
	int n = s->sw.on ? snprintf(s->output, sizeof(s->output), "%s.%u", s->o->output, s->file_nr)
			 : snprintf(s->output, sizeof(s->output), "%s", s->o->output);
	return n < (int)sizeof(s->output) ? 0 : -ENAMETOOLONG;
}

int ftrace_run_begin_file(struct ftrace_run *s)
{
	int err = name_file(s);
	if (!err)
		err = parts_name(&s->parts, s->output, s->o->temp, &s->app->diag);
	/* Noted first: who is killed in the moment of its making leaves no empty folder. */
	if (!err)
		err = journal_note_folder(s->s->journal, s->parts.folder);
	if (err)
		return err;
	err = parts_make(&s->parts, &s->app->diag);
	s->has_parts = !err;
	if (err) {
		journal_cancel(s->s->journal, &s->app->diag);
		return err;
	}
	return journal_note_recording(s->s->journal, s->parts.folder, s->parts.output);
}

/* From here on pages of every CPU go to the new file; those that are being written are in the old one. */
static int move_lanes(struct ftrace_run *s)
{
	int err = 0;
	for (size_t i = 0; i < s->s->buffers.nr; i++) {
		struct record_buffer *b = &s->buffers[i];
		for (int cpu = cpuset_next(&s->cpus, 0); cpu >= 0 && !err;
		     cpu = cpuset_next(&s->cpus, (unsigned)cpu + 1)) {
			struct lane *l = &b->lanes[cpu];
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

int ftrace_run_keep_file(struct ftrace_run *s, const char *name, u64 bytes)
{
	int err = record_switch_keep(&s->sw, name, s->o->switch_max_files);
	if (err)
		return err;
	if (!s->s->quiet && !s->app->json) {
		strbuf_printf(&s->app->err, "[ %s: %.1f MB ]\n", name, (double)bytes / 1e6);
		(void)app_flush(s->app);
	}
	return 0;
}

/*
 * The recording goes on in a new file while the one before is joined. What cannot be begun ends the run with the old file whole.
 */
int ftrace_run_next_file(struct ftrace_run *s)
{
	struct parts old = s->parts;
	struct parts_summary sum;
	parts_init(&s->parts);
	s->parts.version = old.version;
	s->parts.compression = old.compression;
	s->file_nr++;
	int err = ftrace_run_begin_file(s);
	if (!err)
		err = ftrace_run_write_plan(s);
	if (err) {
		if (s->has_parts)
			parts_remove(&s->parts);
		parts_done(&s->parts);
		s->parts = old;
		s->has_parts = true;
		s->file_nr--;
		(void)!name_file(s);
		s->switch_err = err;
		return 1;
	}
	err = move_lanes(s);
	if (err)
		diag_error(&s->app->diag, err, "cannot go on in %s: %s; what came before is in %s",
			   s->output, strerror(-err), old.folder);
	s->file_from = ftrace_run_bytes(s);
	if (!err)
		err = ftrace_run_keep_names(s, &old);
	if (!err)
		err = parts_join(&old, NULL, 0, &sum, &s->app->diag);
	if (!err)
		err = ftrace_run_keep_file(s, old.output, sum.file_bytes);
	parts_done(&old);
	s->switch_err = err;
	return err ? 1 : 0;
}
