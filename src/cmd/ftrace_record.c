/* `sonde ftrace record`: tracing into a trace.dat. */
#include "cmd/ftrace_record.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/loop.h"
#include "cmd/child.h"
#include "cmd/commands.h"
#include "cmd/ftrace_parts.h"
#include "cmd/ftrace_profile.h"
#include "cmd/ftrace_samples.h"
#include "cmd/ftrace_setup.h"
#include "cmd/record_switch.h"
#include "kern/cpu.h"
#include "kern/procfs.h"
#include "stream/ftrace_meta.h"
#include "stream/live_ftrace.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHECK_NS = 100000000, END_STEPS = 50, END_STEP_NS = 10000000 };

struct record_opts {
	struct ftrace_setup setup; /* first: its rows say so */
	const char *output, *compression, *version, *temp, *user_name;
	const char *ignored, *switch_output;
	u64 max_kb, sleep_us, priority, max_size, switch_max_files, sample_freq;
	bool keep, date, proc_map, poll, network, samples;
	bool profile, only_given, unused;
	struct opt_list hooks;
};

/* Pages of one CPU on their way to a file. */
struct lane {
	pthread_mutex_t lock; /* the reader's; ours when it is to go on in another file */
	int fd;
	u32 half;
	u64 bytes; /* in this half */
};

struct record_buffer {
	struct session *session;
	u32 index;
	struct live_ftrace *live;
	struct lane *lanes; /* by CPU */
};

struct session {
	struct app *app;
	struct record_opts *o;
	struct ftrace_setup *s;
	struct loop *loop;
	struct child child;
	struct cpuset cpus;
	u32 nr_cpus;
	struct parts parts;
	struct ftrace_meta meta;
	bool has_meta, has_parts, latency;
	struct record_buffer *buffers;
	VEC(struct tracedat_option) more; /* options known at the end */
	struct ftrace_sampler sampler;
	struct record_switching sw;
	u32 file_nr; /* of --switch-output, from 1 */
	u64 file_from; /* what was recorded before this file */
	char output[PATH_MAX]; /* the file that is being made */
	int switch_err;
	struct term_progress progress;
	u64 started_ns;
	int wait_status;
	bool child_done;
	int signal;
	bool full;
	bool exec_failed;
	bool whole; /* the file is there */
};

/* ---- pages --------------------------------------------------------------------------------------------------------------- */

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

static int open_buffer(struct session *s, struct record_buffer *b,
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

/* ---- the file's head -------------------------------------------------------------------------------------------------------- */

static int clock_of(struct session *s, const char *folder, char *to, size_t size)
{
	struct strbuf t;
	char path[PATH_MAX];
	strbuf_init(&t);
	(void)snprintf(path, sizeof(path), "%strace_clock", folder);
	const char *open = strchr(tracing_line(&s->s->tracing, path, &t), '[');
	(void)snprintf(to, size, "%.*s", open ? (int)strcspn(open + 1, "]") : 5,
		       open ? open + 1 : "local");
	strbuf_done(&t);
	return 0;
}

/*
 * The difference between the wall clock and the buffer's clock: "now ts" of a CPU's stats between two looks at the wall clock.
 * trace-cmd keeps it as microseconds in hex.
 */
static int add_date(struct session *s, const char *folder)
{
	struct strbuf t;
	char path[PATH_MAX], text[64];
	(void)snprintf(path, sizeof(path), "%sper_cpu/cpu%d/stats", folder,
		       cpuset_next(&s->cpus, 0));
	strbuf_init(&t);
	u64 before = clock_ns(CLOCK_REALTIME);
	int err = tracing_read(&s->s->tracing, path, &t);
	u64 after = clock_ns(CLOCK_REALTIME);
	unsigned long long sec, usec;
	const char *now = err ? NULL : strstr(strbuf_cstr(&t), "now ts: ");
	if (now && sscanf(now, "now ts: %llu.%llu", &sec, &usec) == 2) {
		u64 wall_us = (before + (after - before) / 2) / 1000;
		int n = snprintf(text, sizeof(text), "0x%llx",
				 (unsigned long long)(wall_us - (sec * 1000000 + usec)));
		err = ftrace_meta_option(&s->meta, OPTION_DATE, text, (size_t)n + 1);
	} else {
		diag_warn(&s->app->diag, "--date: this clock's time cannot be compared");
	}
	strbuf_done(&t);
	return err;
}

struct maps_text {
	struct strbuf *to;
	u32 nr;
};

static int add_map(void *ctx, const struct proc_map *m)
{
	struct maps_text *t = ctx;
	if (!*m->path)
		return 0;
	t->nr++;
	strbuf_printf(t->to, "%llx %llx %s\n", (unsigned long long)m->start,
		      (unsigned long long)m->end, m->path);
	return 0;
}

/* "PID NUMBER COMMAND" and a line for each mapping. */
static int add_proc_map(struct session *s, s32 pid)
{
	struct procfs p;
	struct proc_task task;
	struct strbuf body, all;
	procfs_init(&p, &s->s->root);
	strbuf_init(&body);
	strbuf_init(&all);
	struct maps_text t = { .to = &body };
	int err = procfs_task(&p, pid, pid, &task);
	if (!err)
		err = procfs_maps(&p, pid, add_map, &t);
	if (!err) {
		strbuf_printf(&all, "%x %x %s\n%s", (unsigned)pid, t.nr, task.comm,
			      strbuf_cstr(&body));
		err = all.err ? all.err
			      : ftrace_meta_option(&s->meta, OPTION_PROCMAPS, strbuf_cstr(&all),
						   all.len + 1);
	} else {
		err = 0; /* gone already */
	}
	procfs_done(&p);
	strbuf_done(&body);
	strbuf_done(&all);
	return err;
}

static int note_others(struct session *s, struct ftrace_buffer_opt *b)
{
	struct strbuf text;
	char path[PATH_MAX];
	int err = 0;
	strbuf_init(&text);
	(void)snprintf(path, sizeof(path), "%sset_event", b->folder);
	if (tracing_read(&s->s->tracing, path, &text))
		strbuf_reset(&text);
	for (const char *p = strbuf_cstr(&text); *p && !err;) {
		size_t len = strcspn(p, "\n"), word = strcspn(p, ":\n");
		const char *name = arena_strndup(&s->s->arena, p, word);
		err = name ? ftrace_setup_note_system(s->s, b, name) : -ENOMEM;
		p += len + (p[len] == '\n');
	}
	strbuf_done(&text);
	return err;
}

/* What becomes of the parts, and the head that they all have. */
static int write_plan(struct session *s)
{
	int err = 0;
	s->parts.nr_cpus = s->nr_cpus;
	for (size_t i = 0; i < s->s->buffers.nr && !err && !s->latency; i++) {
		char clock[64];
		const struct ftrace_buffer_opt *b = &s->s->buffers.at[i];
		err = clock_of(s, b->folder, clock, sizeof(clock));
		if (!err)
			err = parts_add_buffer(&s->parts, b->name ? b->name : "", b->folder, clock,
					       live_ftrace_subbuf_bytes(&s->s->tracing, b->folder));
	}
	if (s->latency)
		s->parts.latency = "";
	return err ? err : parts_write(&s->parts, &s->meta.out, &s->app->diag);
}

static int write_head(struct session *s)
{
	struct ftrace_buffer_opt *main = &s->s->buffers.at[0];
	struct ftrace_meta_opts mo = { .root = &s->s->root, .folder = main->folder };
	VEC(const char *) systems = { 0 };
	vec_for_each (&s->s->buffers, b) {
		/* In a buffer that is not ours alone others have events on too. */
		if (!b->made && note_others(s, b))
			return -ENOMEM;
		vec_for_each (&b->systems, name) {
			const char **slot = vec_push(&systems);
			if (!slot)
				return -ENOMEM;
			*slot = *name;
		}
	}
	static const char *const none[] = { "" };
	mo.systems = systems.nr ? systems.at : none;
	mo.nr_systems = systems.nr ? systems.nr : 1;
	int err = ftrace_meta_read(&s->meta, &s->s->tracing, &mo, &s->app->diag);
	vec_free(&systems);
	if (err)
		return err;
	s->has_meta = true;
	if (s->o->date)
		err = add_date(s, main->folder);
	for (const char *p = s->o->proc_map ? s->s->pids : NULL; p && *p && !err;) {
		err = add_proc_map(s, (s32)strtol(p, NULL, 10));
		p += strcspn(p, ",");
		p += *p == ',';
	}
	return err ? err : write_plan(s);
}

/* ---- several files --------------------------------------------------------------------------------------------------------- */

static u64 bytes_so_far(const struct session *s)
{
	u64 n = 0;
	for (size_t i = 0; !s->latency && i < s->s->buffers.nr; i++)
		n += live_ftrace_bytes(s->buffers[i].live);
	return n;
}

/* Names of tasks as they are now. */
static int keep_names(struct session *s, const struct parts *p)
{
	struct strbuf names;
	strbuf_init(&names);
	int err = ftrace_meta_names(&s->s->tracing, &s->s->root, &names);
	if (!err)
		err = parts_write_names(p, names.data, names.len);
	strbuf_done(&names);
	return err;
}

static int name_file(struct session *s)
{
	int n = s->sw.on ? snprintf(s->output, sizeof(s->output), "%s.%u", s->o->output, s->file_nr)
			 : snprintf(s->output, sizeof(s->output), "%s", s->o->output);
	return n < (int)sizeof(s->output) ? 0 : -ENAMETOOLONG;
}

/* A folder for what comes, which the watchdog knows of. */
static int begin_file(struct session *s)
{
	int err = name_file(s);
	if (!err)
		err = parts_create(&s->parts, s->output, s->o->temp, &s->app->diag);
	s->has_parts = !err;
	return err ? err : journal_note_recording(s->s->journal, s->parts.folder);
}

/* From here on pages of every CPU go to the new file; those that are being written are in the old one. */
static int move_lanes(struct session *s)
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

/* A file is done: it is said. */
static int keep_file(struct session *s, const char *name, u64 bytes)
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
static int next_file(struct session *s)
{
	struct parts old = s->parts;
	struct parts_summary sum;
	parts_init(&s->parts);
	s->parts.version = old.version;
	s->parts.compression = old.compression;
	s->file_nr++;
	int err = begin_file(s);
	if (!err)
		err = write_plan(s);
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
	s->file_from = bytes_so_far(s);
	if (!err)
		err = keep_names(s, &old);
	if (!err)
		err = parts_join(&old, NULL, 0, &sum, &s->app->diag);
	if (!err)
		err = keep_file(s, old.output, sum.file_bytes);
	parts_done(&old);
	s->switch_err = err;
	return err ? 1 : 0;
}

static int on_usr2(void *ctx, u64 signo)
{
	(void)signo;
	return next_file(ctx);
}

/* ---- the run ------------------------------------------------------------------------------------------------------------------ */

static int on_signal(void *ctx, u64 what)
{
	struct session *s = ctx;
	s->signal = (int)what;
	return 1;
}

static int on_child(void *ctx, u64 what)
{
	struct session *s = ctx;
	s->wait_status = (int)what;
	s->child_done = true;
	return 1;
}

static void total_stats(const struct session *s, struct live_ftrace_stats *sum)
{
	*sum = (struct live_ftrace_stats){ 0 };
	for (size_t i = 0; i < s->s->buffers.nr; i++) {
		struct live_ftrace_stats one;
		live_ftrace_read_stats(&s->s->tracing, s->s->buffers.at[i].folder, &s->cpus, &one);
		sum->read += one.read;
		sum->overrun += one.overrun;
		sum->dropped += one.dropped;
		sum->entries += one.entries;
	}
}

static int on_timer(void *ctx, u64 what)
{
	struct session *s = ctx;
	(void)what;
	for (size_t i = 0; !s->latency && i < s->s->buffers.nr; i++) {
		int err = live_ftrace_error(s->buffers[i].live);
		if (err)
			return diag_error(&s->app->diag, err, "reading the buffer failed: %s",
					  strerror(-err));
	}
	if (s->o->max_size && bytes_so_far(s) >= s->o->max_size) {
		s->full = true;
		return 1;
	}
	if (s->sw.bytes && bytes_so_far(s) - s->file_from >= s->sw.bytes)
		return next_file(s);
	if (!s->s->quiet && term_progress_due(&s->progress)) {
		char line[160];
		struct live_ftrace_stats st;
		total_stats(s, &st);
		(void)snprintf(line, sizeof(line), "%.1f s: %.1f MB, %llu events lost",
			       (double)(clock_monotonic_ns() - s->started_ns) / 1e9,
			       (double)bytes_so_far(s) / 1e6,
			       (unsigned long long)(st.overrun + st.dropped));
		term_progress_show(&s->progress, line);
	}
	return 0;
}

/* The command is run by setpriv, which changes to the user and then becomes it. */
static char **as_user(struct session *s, int argc, char **argv)
{
	struct passwd *pw = getpwnam(s->o->user_name);
	char **words = calloc((size_t)argc + 5, sizeof(*words));
	char ids[2][32];
	if (!pw || !words) {
		diag_error(&s->app->diag, -ENOENT, "--user %s: %s", s->o->user_name,
			   pw ? "no memory" : "there is no such user");
		free(words);
		return NULL;
	}
	(void)snprintf(ids[0], sizeof(ids[0]), "--reuid=%u", (unsigned)pw->pw_uid);
	(void)snprintf(ids[1], sizeof(ids[1]), "--regid=%u", (unsigned)pw->pw_gid);
	static char setpriv[] = "setpriv", groups[] = "--init-groups";
	words[0] = setpriv;
	words[1] = arena_strdup(&s->s->arena, ids[0]);
	words[2] = arena_strdup(&s->s->arena, ids[1]);
	words[3] = groups;
	memcpy(words + 4, argv, (size_t)argc * sizeof(*words));
	return words;
}

static int watch(struct session *s)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals) && !err; i++)
		err = loop_add_signal(s->loop, signals[i], on_signal, s);
	if (!err && s->sw.on)
		err = loop_add_signal(s->loop, SIGUSR2, on_usr2, s);
	return err;
}

/* --with-samples: everything by one clock. */
static int choose_clock(struct session *s)
{
	const char *clock = NULL;
	vec_for_each (&s->s->buffers, b) {
		const char *own;
		int err = ftrace_sampler_clock(b->clock ? b->clock : clock, &own, &s->app->diag);
		if (err)
			return err;
		if (clock && strcmp(clock, own))
			return diag_error(
				&s->app->diag, -EINVAL,
				"--with-samples: buffers by '%s' and '%s', but there is one clock "
				"for samples",
				clock, own);
		clock = b->clock = own;
	}
	return 0;
}

/* The sampler looks at what is traced: the command, the tasks of -P, or the whole system. */
static int start_sampler(struct session *s)
{
	struct ftrace_setup *f = s->s;
	char path[PATH_MAX], pid[16];
	(void)snprintf(path, sizeof(path), "%s.perf", s->o->output);
	(void)snprintf(pid, sizeof(pid), "%d", (int)s->child.pid);
	struct ftrace_sampler_opts o = {
		.output = path,
		.clock = f->buffers.at[0].clock,
		.frequency = s->o->sample_freq,
		.pids = f->only_command ? pid : f->pids,
	};
	int err = ftrace_sampler_start(&s->sampler, &o, &s->app->diag);
	return err ? err : ftrace_sampler_go(&s->sampler, &s->app->diag);
}

static int start_reading(struct session *s)
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

/* The command is told to end too: by the same signal, then by SIGTERM; one that ignores both is left alone. */
static void end_command(struct session *s)
{
	const int signals[] = { s->signal, SIGTERM };
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		(void)kill(s->child.pid, signals[i]);
		for (int k = 0; k < END_STEPS; k++) {
			int status;
			if (waitpid(s->child.pid, &status, WNOHANG) == s->child.pid) {
				s->wait_status = status;
				return;
			}
			(void)nanosleep(&(struct timespec){ .tv_nsec = END_STEP_NS }, NULL);
		}
	}
}

static int on_switch_time(void *ctx, u64 expired)
{
	(void)expired;
	return next_file(ctx);
}

static int wait_for_end(struct session *s, char **argv)
{
	int err = loop_add_timer(s->loop, CHECK_NS, CHECK_NS, on_timer, s, NULL);
	if (!err && s->sw.on && s->sw.every_ns)
		err = loop_add_timer(s->loop, s->sw.every_ns, s->sw.every_ns, on_switch_time, s,
				     NULL);
	if (!err && argv) {
		err = child_go(&s->child, argv[0], &s->app->diag);
		s->exec_failed = err;
		if (err)
			return err;
		err = loop_add_child(s->loop, s->child.pid, on_child, s);
	}
	if (!err && !argv && !s->s->quiet) {
		bool theirs = !strcmp(s->app->prog, "trace-cmd");
		strbuf_str(theirs ? &s->app->out : &s->app->err,
			   theirs ? "Hit Ctrl^C to stop recording\n"
				  : "[ recording until Ctrl-C ]\n");
		(void)app_flush(s->app);
	}
	if (!err)
		err = loop_run(s->loop);
	term_progress_clear(&s->progress);
	if (!err && argv && !s->child_done && s->signal)
		end_command(s);
	return err;
}

static int stop_reading(struct session *s)
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

static void close_buffers(struct session *s)
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

/* ---- the end ------------------------------------------------------------------------------------------------------------------ */

static int keep_cpu_stats(struct session *s)
{
	const char *folder = s->s->buffers.at[0].folder;
	char path[PATH_MAX];
	for (int cpu = cpuset_next(&s->cpus, 0); cpu >= 0;
	     cpu = cpuset_next(&s->cpus, (unsigned)cpu + 1)) {
		struct strbuf t, all;
		strbuf_init(&t);
		strbuf_init(&all);
		(void)snprintf(path, sizeof(path), "%sper_cpu/cpu%d/stats", folder, cpu);
		int err = tracing_read(&s->s->tracing, path, &t);
		strbuf_printf(&all, "CPU: %d\n%s", cpu, strbuf_cstr(&t));
		const char *copy = arena_strdup(&s->s->arena, strbuf_cstr(&all));
		size_t len = all.len + 1;
		strbuf_done(&t);
		strbuf_done(&all);
		struct tracedat_option *o = err || !copy ? NULL : vec_push(&s->more);
		if (!o)
			return err ? 0 : -ENOMEM;
		o->id = OPTION_CPUSTAT;
		o->body = (struct tracedat_text){ .data = copy, .len = len };
	}
	return 0;
}

static int keep_latency_text(struct session *s)
{
	struct strbuf text;
	char path[PATH_MAX];
	strbuf_init(&text);
	int err = tracing_read(&s->s->tracing, "trace", &text);
	(void)snprintf(path, sizeof(path), "%s/text", s->parts.folder);
	FILE *f = err ? NULL : fopen(path, "we");
	if (f && text.len && fwrite(text.data, text.len, 1, f) != 1)
		err = -EIO;
	if (f && fclose(f))
		err = -EIO;
	strbuf_done(&text);
	return f || err ? err : -errno;
}

/* What trace-cmd tells on standard output, for scripts that look at it. */
static void say_as_trace_cmd(struct session *s)
{
	struct tracedat t;
	if (tracedat_open(&t, s->output, NULL))
		return;
	vec_for_each (&t.buffers, b) {
		if (*b->name)
			strbuf_printf(&s->app->out, "\nBuffer: %s\n\n", b->name);
		for (u32 i = 0; i < b->nr_cpus; i++) {
			const struct tracedat_cpu *c = &b->cpus[i];
			const u8 *at = c->pages	      ? c->pages
				       : c->nr_chunks ? c->chunks[0].data - 12
						      : NULL;
			strbuf_printf(
				&s->app->out,
				"CPU%u data recorded at offset=0x%llx\n    %llu bytes in size\n",
				c->cpu, at ? (unsigned long long)(at - t.map) : 0,
				(unsigned long long)c->nr_pages * b->page_size);
		}
	}
	tracedat_close(&t);
}

static void say_end(struct session *s, const struct live_ftrace_stats *st,
		    const struct parts_summary *sum)
{
	struct rusage ru;
	const char *file = s->output;
	u64 lost = st->overrun + st->dropped;
	(void)getrusage(RUSAGE_SELF, &ru);
	double cpu = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
		     (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
	if (s->app->json) {
		struct json j;
		json_begin(&j, &s->app->out, JSON_PRETTY);
		json_object(&j);
		json_put_str(&j, "file", file);
		if (s->sw.on) {
			json_key(&j, "files");
			json_array(&j);
			vec_for_each (&s->sw.kept, name)
				json_str(&j, *name);
			json_array_end(&j);
		}
		json_put_u64(&j, "events", st->read);
		json_put_u64(&j, "lost", lost);
		json_put_u64(&j, "page_bytes", sum->bytes);
		json_put_u64(&j, "bytes", sum->file_bytes);
		json_put_double(&j, "recorder_cpu_seconds", cpu);
		json_object_end(&j);
		(void)!json_end(&j);
		return;
	}
	if (s->s->quiet)
		return;
	if (!strcmp(s->app->prog, "trace-cmd"))
		say_as_trace_cmd(s);
	strbuf_printf(&s->app->err, "[ %s: ", file);
	if (s->latency)
		strbuf_str(&s->app->err, "the text of a latency tracer");
	else
		strbuf_printf(&s->app->err, "%llu events, %llu lost", (unsigned long long)st->read,
			      (unsigned long long)lost);
	strbuf_printf(&s->app->err, ", %.1f MB%s; the recorder used %.2f s of CPU ]\n",
		      (double)sum->file_bytes / 1e6, s->full ? " (--max-size)" : "", cpu);
	if (s->o->samples)
		strbuf_printf(
			&s->app->err, "[ samples: %s.perf; 'sonde ftrace report --samples %s.perf %s' shows both ]\n",
			file, file, file);
	if (lost)
		diag_warn(&s->app->diag,
			  "%llu events were lost: a larger buffer (-b) or fewer events would help",
			  (unsigned long long)lost);
}

static int finish(struct session *s)
{
	struct live_ftrace_stats st;
	struct parts_summary sum = { 0 };
	int err = s->latency ? ftrace_setup_switch(s->s, false) : stop_reading(s);
	total_stats(s, &st);
	if (!err)
		err = keep_names(s, &s->parts);
	if (!err && s->latency)
		err = keep_latency_text(s);
	if (!err && !s->latency)
		err = keep_cpu_stats(s);
	close_buffers(s);
	if (!err)
		err = parts_join(&s->parts, s->more.at, s->more.nr, &sum, &s->app->diag);
	if (!err) {
		s->has_parts = false;
		s->whole = true;
		if (s->sw.on)
			err = keep_file(s, s->parts.output, sum.file_bytes);
		say_end(s, &st, &sum);
	}
	return err ? err : s->switch_err;
}

static int session_status(const struct session *s, bool command)
{
	if (s->signal && !(command && s->child_done)) {
		s->app->die_of = s->signal;
		return 128 + s->signal;
	}
	return command ? child_exit_status(s->wait_status) : APP_DONE;
}

static int prepare(struct session *s)
{
	struct ftrace_setup *f = s->s;
	struct app *app = s->app;
	struct tracedat_out format = { .version = 7, .compression = COMPRESS_ZSTD };
	if (ftrace_choose_format(s->o->version, s->o->compression, &format, &app->diag))
		return -EINVAL;
	parts_init(&s->parts);
	s->parts.version = format.version;
	s->parts.compression = format.compression;
	int err = cpu_online(&f->root, &s->cpus);
	s->nr_cpus = cpu_nr_present(&f->root);
	return err;
}

static bool latency_tracer(const struct ftrace_setup *f)
{
	const char *t = f->buffers.at[0].tracer;
	return t && (str_starts(t, "wakeup") || !strcmp(t, "irqsoff") || str_starts(t, "preempt"));
}

static int session_run(struct session *s, int argc, char **argv)
{
	struct ftrace_setup *f = s->s;
	struct app *app = s->app;
	int err = prepare(s);
	if (err)
		return err == -EINVAL ? app_usage_said(app) : app_fail(app, err);
	s->latency = latency_tracer(f);
	if (s->o->switch_output && record_parse_switch(&s->sw, s->o->switch_output, &app->diag))
		return app_usage_said(app);
	if (s->sw.on && (s->latency || s->o->max_kb))
		return app_usage(app, "--switch-output and %s exclude each other",
				 s->latency ? "a latency tracer" : "-m");
	if (s->o->samples && (s->sw.on || s->latency))
		return app_usage(app, "--with-samples and %s exclude each other",
				 s->latency ? "a latency tracer" : "--switch-output");
	if (s->o->samples && choose_clock(s))
		return app_usage_said(app);
	s->file_nr = 1;
	err = ftrace_setup_begin(f, true, parts_rescue);
	if (!err && f->dry_run) {
		err = ftrace_setup_apply(f, true, 0);
		if (!err)
			err = ftrace_setup_switch(f, true);
		return err ? app_fail(app, err) : APP_DONE;
	}
	s->loop = loop_new();
	if (!err)
		err = s->loop ? watch(s) : -errno;
	if (!err && argc) {
		err = child_check(argv[0], &app->diag);
		if (err)
			return child_exec_status(err);
		err = child_prepare(&s->child, argv, loop_old_signals(s->loop), &app->diag);
	}
	if (!err)
		err = begin_file(s);
	if (!err)
		err = ftrace_setup_apply(f, true, s->child.pid);
	/* What lay in a buffer before is not ours. */
	for (size_t i = 0; i < f->buffers.nr && !err; i++)
		if (!f->buffers.at[i].made) {
			char path[320];
			(void)snprintf(path, sizeof(path), "%strace", f->buffers.at[i].folder);
			err = journal_poke(f->journal, path, "", true, &app->diag);
		}
	if (!err)
		err = write_head(s);
	if (!err && !s->latency)
		err = start_reading(s);
	if (!err && s->o->samples)
		err = start_sampler(s);
	s->started_ns = clock_monotonic_ns();
	term_progress_init(&s->progress, STDERR_FILENO);
	if (!err)
		err = ftrace_setup_switch(f, true);
	if (!err)
		err = wait_for_end(s, argc ? argv : NULL);
	int sampled = ftrace_sampler_stop(&s->sampler, &app->diag);
	if (!err)
		err = sampled;
	if (err) {
		if (s->buffers)
			(void)!stop_reading(s);
		(void)app_fail(app, err);
		return s->exec_failed ? child_exec_status(err) : APP_FAILED;
	}
	err = finish(s);
	return err ? app_fail(app, err) : session_status(s, argc > 0);
}

static int record(struct app *app, struct record_opts *o, int argc, char **argv, bool *ret_whole)
{
	struct session s = {
		.app = app, .o = o, .s = &o->setup, .child = { .go_fd = -1, .exec_fd = -1 }
	};
	struct ftrace_setup *f = &o->setup;
	app_live(app);
	if (!o->output)
		o->output = "trace.dat";
	if (f->only_command && !argc)
		return app_usage(app, "-F is for a command, and there is none");
	bool any = argc > 0 || o->setup.pids;
	vec_for_each (&f->buffers, b)
		any |= b->events.nr || b->tracer || b->functions.nr || b->graph.nr;
	if (!any) {
		ftrace_setup_end(f);
		return app_usage(app, "what should be recorded? -e EVENT or -p TRACER");
	}
	int err = ftrace_setup_open(f, app);
	char **words = !err && o->user_name && argc ? as_user(&s, argc, argv) : argv;
	int status = err || !words ? app_fail(app, err)
				   : session_run(&s, words == argv ? argc : argc + 4, words);
	child_done(&s.child);
	close_buffers(&s);
	if (s.has_parts)
		parts_remove(&s.parts);
	if (o->keep && !err && status != APP_FAILED && f->journal)
		(void)!journal_keep(f->journal);
	if (s.has_meta)
		ftrace_meta_done(&s.meta);
	vec_free(&s.more);
	vec_for_each (&s.sw.kept, name)
		free(*name);
	vec_free(&s.sw.kept);
	parts_done(&s.parts);
	loop_free(s.loop);
	ftrace_setup_end(f);
	if (words != argv)
		free(words);
	if (ret_whole)
		*ret_whole = s.whole;
	return status;
}

static int run(struct app *app, void *opts, int argc, char **argv)
{
	struct record_opts *o = opts;
	struct arena names;
	int status;
	arena_init(&names);
	int err = o->profile ? ftrace_profile_events(&o->setup, &o->hooks, o->only_given, &names,
						     &app->diag)
			     : 0;
	if (err) {
		ftrace_setup_end(&o->setup);
		status = app_fail(app, err);
	} else {
		status = record(app, o, argc, argv, NULL);
	}
	arena_done(&names);
	return status;
}

int ftrace_record_and(struct app *app, struct ftrace_setup *f, int argc, char **argv,
		      int (*look)(void *ctx, const char *path), void *ctx)
{
	const char *tmp = getenv("TMPDIR");
	char folder[PATH_MAX], path[PATH_MAX + 16];
	bool json = app->json, whole = false;
	if (snprintf(folder, sizeof(folder), "%s/sonde-ftrace-XXXXXX",
		     tmp && *tmp ? tmp : "/tmp") >= (int)sizeof(folder) ||
	    !mkdtemp(folder)) {
		int err = diag_error(&app->diag, -errno, "cannot make a folder in %s: %s",
				     tmp && *tmp ? tmp : "/tmp", strerror(errno));
		ftrace_setup_end(f);
		return app_fail(app, err);
	}
	(void)snprintf(path, sizeof(path), "%s/trace.dat", folder);
	struct record_opts o = { .setup = *f, .output = path };
	o.setup.quiet = true;
	app->json = false; /* of the answer, not of the recording */
	int status = record(app, &o, argc, argv, &whole);
	app->json = json;
	*f = o.setup;
	if (whole) {
		int err = look(ctx, path);
		if (err)
			status = app_fail(app, err);
	}
	(void)unlink(path);
	(void)rmdir(folder);
	return status;
}

/* clang-format off */
static const struct opt rows[] = {
	FTRACE_SETUP_ROWS,
	OPT_HEADING("The file"),
	OPT_STR('o', "output", struct record_opts, output, "FILE", "Write FILE (trace.dat)"),
	OPT_FLAG(0, "profile", struct record_opts, profile, "And what `ftrace report --profile` looks at"),
	OPT_LIST('H', NULL, struct record_opts, hooks, "HOOK", "With --profile: the two events of a hook too"),
	OPT_FLAG('S', NULL, struct record_opts, only_given, "With --profile: only what is named here"),
	OPT_FLAG('G', NULL, struct record_opts, unused, "Say it to `ftrace report --profile`", .hidden = true),
	OPT_FLAG(0, "by-comm", struct record_opts, unused, "Say it to `ftrace report --profile`", .hidden = true),
	OPT_STR(0, "compression", struct record_opts, compression, "HOW", "zstd, zlib or none (zstd)"),
	OPT_STR(0, "file-version", struct record_opts, version, "N", "Version of the file: 6 or 7 (7)"),
	OPT_UINT('m', "max-kb", struct record_opts, max_kb, "KB", "Keep the newest so many kilobytes of each CPU"),
	OPT_SIZE(0, "max-size", struct record_opts, max_size, "SIZE", "Stop when so much was recorded"),
	OPT_STR(0, "switch-output", struct record_opts, switch_output, "WHEN", "Go on in a new file by size (100M), by time (30s), or at SIGUSR2 (signal): FILE.1, FILE.2 ..."),
	OPT_UINT(0, "switch-max-files", struct record_opts, switch_max_files, "N", "Keep the last N files of --switch-output"),
	OPT_STR(0, "temp", struct record_opts, temp, "DIR", "Collect in DIR instead of beside the file"),
	OPT_FLAG(0, "date", struct record_opts, date, "Times of the wall clock in the file"),
	OPT_FLAG(0, "proc-map", struct record_opts, proc_map, "Keep the memory maps of the processes of -P"),
	OPT_FLAG(0, "with-samples", struct record_opts, samples, "Also record samples, by the same clock (mono, or mono_raw with -C), into FILE.perf"),
	OPT_UINT(0, "sample-freq", struct record_opts, sample_freq, "HZ", "--with-samples: so many a second (999)"),
	OPT_HEADING("Reading"),
	OPT_UINT('s', "sleep", struct record_opts, sleep_us, "US", "Read what there is at least so often (1000000)"),
	OPT_FLAG(0, "poll", struct record_opts, poll, "Read without pause"),
	OPT_UINT('r', "priority", struct record_opts, priority, "PRIO", "Real-time priority of the readers"),
	OPT_FLAG('k', "keep", struct record_opts, keep, "Leave everything set up when it is over"),
	OPT_FLAG('q', "quiet", struct record_opts, setup.quiet, "No closing line, no progress"),
	OPT_STR(0, "user", struct record_opts, user_name, "USER", "Run the command as this user"),
	OPT_FLAG('t', "tcp", struct record_opts, network, "Nothing is sent over a network here", .hidden = true),
	OPT_STR('N', NULL, struct record_opts, ignored, "HOST:PORT", "Nothing is sent over a network: record there and copy the file", .refused = true),
	OPT_STR('V', NULL, struct record_opts, ignored, "CID:PORT", "Nothing is sent to another machine: record there and copy the file", .refused = true),
	OPT_STR('A', NULL, struct record_opts, ignored, "AGENT", "Guests are not reached from here: record there; 'ftrace report -i A -i B' merges files", .refused = true),
	OPT_STR(0, "proxy", struct record_opts, ignored, "VSOCK", "Guests are not reached from here: record there", .refused = true),
	OPT_STR(0, "name", struct record_opts, ignored, "NAME", "Belongs to -A, which is not here", .refused = true),
	OPT_STR(0, "tsync-interval", struct record_opts, ignored, "MS", "Belongs to -A, which is not here", .refused = true),
	OPT_FLAG(0, "tsc2nsec", struct record_opts, unused, "Record with -C mono, or turn times with 'ftrace report --ts2secs'", .refused = true),
	OPT_FLAG('D', NULL, struct record_opts, unused, "It would stop everybody's function tracing; -d is for this run alone", .refused = true),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example examples[] = {
	{ "ftrace record -e sched -- ls", "scheduler events while a command runs" },
	{ "ftrace record -e 'sched:sched_switch/next_pid==0/'",
	  "an event with a filter, until Ctrl-C" },
	{ "ftrace record -p function -l 'vfs_*' -F ls", "functions of one command" },
	{ "ftrace record -e graph:do_sys_openat2 -- ls",
	  "one function and all that it calls, with times" },
	{ "ftrace record -e call:vfs_read -F -- cat /etc/hostname",
	  "a function with its arguments and its result" },
	{ "ftrace record -e sched --switch-output 100M --switch-max-files 5",
	  "files of 100 MB each, of which the last five stay" },
	{ "ftrace record --with-samples -e sched -- make",
	  "events and samples of one run: `ftrace report --samples trace.dat.perf`" },
	{ "ftrace record --dry-run -e irq -b 4M", "what would be written to tracefs" },
	{ 0 },
};

static void defaults(void *opts)
{
	ftrace_setup_defaults(&((struct record_opts *)opts)->setup);
	((struct record_opts *)opts)->sample_freq = 999;
}

const struct command command_ftrace_record = {
	.name = "record",
	.summary = "trace a command or the system into a trace.dat",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "Recording happens in a tracing instance of our own, which is gone afterwards; "
		 "tracers that "
		 "the kernel has only one of use the top buffer, under a lock. Whatever else is "
		 "changed is "
		 "put back at the end, also when the recorder is killed. -f and -R belong to the "
		 "-e before "
		 "them; what follows -B belongs to that instance. Recording ends with the command, "
		 "or with "
		 "Ctrl-C; the exit status is that of the command.",
	.examples = examples,
	.opts = rows,
	.opts_size = sizeof(struct record_opts),
	.defaults = defaults,
	.run = run,
};
