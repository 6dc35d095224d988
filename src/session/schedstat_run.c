#include "session/schedstat_run.h"

#include "base/atomic_file.h"
#include "base/foreign.h"
#include "kern/journal.h"
#include "kern/sysroot.h"
#include "kern/tracefs.h"
#include "session/command_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20, END_NS = 2000000000 };

static const char stat_path[] = "proc/schedstat",
		  switch_path[] = "proc/sys/kernel/sched_schedstats";

void schedstat_texts_init(struct schedstat_texts *t)
{
	strbuf_init(&t->before);
	strbuf_init(&t->after);
}

void schedstat_texts_done(struct schedstat_texts *t)
{
	strbuf_done(&t->before);
	strbuf_done(&t->after);
}

/* ---- live -------------------------------------------------------------------------------------------------------- */

struct watch {
	struct sysroot root;
	struct tracing tracing;
	struct journal *journal; /* NULL: nothing was switched */
	bool has_tracing;
};

/* Most counters stay where they are while it is off. */
static void switch_on(struct watch *w, struct diag *d)
{
	struct diag own;
	s64 on;
	if (sysroot_s64(&w->root, switch_path, &on) || on)
		return;
	diag_init(&own);
	w->has_tracing = !tracing_open(&w->tracing, "");
	int err = w->has_tracing
			  ? journal_open(&w->journal, &w->tracing,
					 &(struct journal_opts){ .title = "sched stats" }, &own)
			  : -ENOENT;
	if (!err)
		err = journal_set(w->journal, "/proc/sys/kernel/sched_schedstats", "1", &own);
	diag_done(&own);
	if (!err)
		return;
	diag_warn(d, "kernel.sched_schedstats is 0 and cannot be set: most counters stay as they "
		     "are");
	diag_hint(d, "sudo sysctl kernel.sched_schedstats=1");
}

static int watch_open(struct watch *w, struct diag *d)
{
	*w = (struct watch){ 0 };
	int err = sysroot_open(&w->root, NULL);
	if (err)
		return err;
	if (sysroot_exists(&w->root, stat_path)) {
		switch_on(w, d);
		return 0;
	}
	sysroot_close(&w->root);
	err = diag_error(d, -ENOENT, "this kernel has no /proc/schedstat (CONFIG_SCHEDSTATS)");
	diag_hint(d,
		  "'sched record', then 'sched latency' shows how long threads waited for a CPU");
	return err;
}

static void watch_close(struct watch *w, struct diag *d)
{
	if (w->journal)
		journal_close(w->journal, d);
	if (w->has_tracing)
		tracing_close(&w->tracing);
	sysroot_close(&w->root);
}

static int read_text(const struct watch *w, struct strbuf *to, struct diag *d)
{
	int err = sysroot_read(&w->root, stat_path, to);
	return err ? diag_error(d, err, "/proc/schedstat: %s", strerror(-err)) : 0;
}

static int run_command(struct watch *w, struct schedstat_texts *t, char **argv, int *status,
		       struct diag *d)
{
	struct command_run r = COMMAND_RUN_NONE;
	int err = command_run_open(&r, &(struct command_run_opts){ .hangup = true });
	if (!err && argv)
		err = command_run_prepare(&r, argv, NULL, d);
	if (!err)
		err = read_text(w, &t->before, d);
	if (!err)
		err = command_run_go(&r, argv ? argv[0] : NULL, d);
	if (!err)
		err = command_run_wait(&r);
	if (!err)
		err = read_text(w, &t->after, d);
	if (argv)
		(void)command_run_ask(&r, SIGINT, END_NS);
	*status = !argv || r.was_ended ? 0 : child_exit_status(r.wait_status);
	if (r.exec_failed)
		*status = child_exec_status(err);
	command_run_close(&r);
	return err;
}

int schedstat_watch(struct schedstat_texts *t, char **argv, int *status, struct diag *d)
{
	struct watch w;
	*status = 0;
	int err = watch_open(&w, d);
	if (err)
		return err;
	err = run_command(&w, t, argv, status, d);
	watch_close(&w, d);
	return err;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int write_all(int fd, struct strbuf *s)
{
	const char *at = strbuf_cstr(s);
	for (size_t left = s->len; left;) {
		ssize_t n = write(fd, at, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		left -= (size_t)n;
	}
	return 0;
}

int schedstat_save(struct schedstat_texts *t, const char *path, struct diag *d)
{
	struct atomic_file f;
	int err = atomic_file_begin_output(&f, path, 0644, d);
	if (err)
		return err;
	err = write_all(f.fd, &t->before);
	if (!err)
		err = write_all(f.fd, &t->after);
	err = atomic_file_end(&f, err);
	return err ? diag_error(d, err, "%s: %s", path, strerror(-err)) : 0;
}

static int read_file(const char *path, struct strbuf *to)
{
	char piece[4096];
	ssize_t n = 1;
	int fd = foreign_open(path, 0);
	if (fd < 0)
		return fd;
	while (n && to->len < FILE_MAX) {
		n = read(fd, piece, sizeof(piece));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		strbuf_add(to, piece, (size_t)n);
	}
	int err = n < 0 ? -errno : n ? -EFBIG : 0;
	close(fd);
	return err;
}

int schedstat_load(struct schedstat_texts *t, const char *path, struct diag *d)
{
	struct strbuf both;
	struct schedstat first;
	size_t used;
	strbuf_init(&both);
	int err = read_file(path, &both);
	if (err) {
		diag_error(d, err, "%s: %s", path, strerror(-err));
		if (err == -ENOENT)
			diag_hint(d, "record it first: sched stats record -o %s -- COMMAND", path);
		strbuf_done(&both);
		return err;
	}
	if (both.len >= 8 && !memcmp(strbuf_cstr(&both), "PERFILE2", 8))
		err = diag_error(d, -ENOTSUP,
				 "%s is a perf.data: recordings of perf's own 'sched stats' cannot "
				 "be read",
				 path);
	if (err) {
		strbuf_done(&both);
		return err;
	}
	err = schedstat_parse(&first, strbuf_cstr(&both), both.len, &used, d);
	schedstat_done(&first);
	if (!err && used >= both.len)
		err = diag_error(d, -EINVAL, "%s has one copy of /proc/schedstat, not two", path);
	if (!err) {
		strbuf_add(&t->before, strbuf_cstr(&both), used);
		strbuf_add(&t->after, strbuf_cstr(&both) + used, both.len - used);
	}
	strbuf_done(&both);
	return err;
}

int schedstat_of_texts(struct schedstat *s, struct schedstat_texts *t, struct diag *d)
{
	struct schedstat before, after = { 0 };
	size_t used;
	*s = (struct schedstat){ 0 };
	arena_init(&s->arena);
	int err = schedstat_parse(&before, strbuf_cstr(&t->before), t->before.len, &used, d);
	if (!err)
		err = schedstat_parse(&after, strbuf_cstr(&t->after), t->after.len, &used, d);
	if (!err)
		err = schedstat_between(s, &before, &after, d);
	schedstat_done(&before);
	schedstat_done(&after);
	return err;
}
