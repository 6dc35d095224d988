#include "cmd/ftrace/samples.h"

#include "base/clock.h"
#include "base/json.h"
#include "session/recording.h"
#include "session/symbols.h"
#include "stream/replay_perf.h"
#include "stream/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MS = 60000, ARGS_MAX = 20, END_STATUS_MAX = 128 };

/* ---- recording ------------------------------------------------------------------------------------------------------------ */

int ftrace_sampler_clock(const char *clock, const char **ret, struct diag *d)
{
	*ret = clock ? clock : "mono";
	if (!strcmp(*ret, "mono") || !strcmp(*ret, "mono_raw"))
		return 0;
	int err = diag_error(
		d,
		-EINVAL, "--with-samples: samples cannot use the clock '%s', and times from two clocks cannot be merged",
		clock);
	diag_hint(d, "use -C mono or -C mono_raw, which both support");
	return err;
}

static const char *perf_clock(const char *clock)
{
	const struct clock_kind *kind = clock_by_traced(clock);
	return kind ? kind->name : NULL;
}

/* In the child: becomes the recorder. */
static void become_recorder(const struct ftrace_sampler_opts *o, pid_t parent, int in, int ack)
{
	char freq[32], control[48];
	const char *argv[ARGS_MAX] = { "sonde", "record", "-q", "-g",	  "--sample-cpu",
				       "-D",	"-1",	  "-o", o->output };
	size_t n = 9;
	/* Not longer than who asked for it: a recorder that is told to end saves what it has. */
	(void)prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() != parent)
		_exit(0); /* it died before that */
	(void)snprintf(freq, sizeof(freq), "%llu", (unsigned long long)o->frequency);
	(void)snprintf(control, sizeof(control), "fd:%d,%d", in, ack);
	argv[n++] = "--control";
	argv[n++] = control;
	argv[n++] = "-F";
	argv[n++] = freq;
	argv[n++] = "-k";
	argv[n++] = perf_clock(o->clock);
	argv[n++] = o->pids ? "-p" : "-a";
	if (o->pids)
		argv[n++] = o->pids;
	sigset_t none;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* A command, and its answer. */
static int tell(struct ftrace_sampler *s, const char *command)
{
	char answer[64];
	size_t len = strlen(command);
	if (write(s->to, command, len) != (ssize_t)len)
		return errno ? -errno : -EPIPE;
	struct pollfd p = { .fd = s->from, .events = POLLIN };
	int n;
	while ((n = poll(&p, 1, ANSWER_MS)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		return n ? -errno : -ETIMEDOUT;
	return read(s->from, answer, sizeof(answer)) > 0 ? 0 : -EPIPE;
}

static void let_go(struct ftrace_sampler *s)
{
	(void)close(s->to);
	(void)close(s->from);
	s->pid = 0;
}

int ftrace_sampler_start(struct ftrace_sampler *s, const struct ftrace_sampler_opts *o,
			 struct diag *d)
{
	int to[2], from[2];
	*s = (struct ftrace_sampler){ 0 };
	if (pipe2(to, O_CLOEXEC))
		return diag_error(d, -errno, "cannot create a pipe for the sampler: %s",
				  strerror(errno));
	if (pipe2(from, O_CLOEXEC)) {
		int err = diag_error(d, -errno, "cannot create a pipe for the sampler: %s",
				     strerror(errno));
		(void)close(to[0]);
		(void)close(to[1]);
		return err;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	pid_t parent = getpid(), pid = fork();
	if (!pid) {
		(void)fcntl(to[0], F_SETFD, 0);
		(void)fcntl(from[1], F_SETFD, 0);
		(void)signal(SIGPIPE, SIG_DFL);
		become_recorder(o, parent, to[0], from[1]);
	}
	int err = pid < 0 ? -errno : 0;
	(void)close(to[0]);
	(void)close(from[1]);
	*s = (struct ftrace_sampler){ .pid = (int)max(pid, 0), .to = to[1], .from = from[0] };
	if (!err)
		err = tell(s, "ping\n");
	if (err) {
		diag_error(d, err, "cannot record the samples of --with-samples");
		if (pid > 0)
			(void)!ftrace_sampler_stop(s, NULL);
		else
			let_go(s);
	}
	return err;
}

int ftrace_sampler_go(struct ftrace_sampler *s, struct diag *d)
{
	int err = tell(s, "enable\n");
	return err ? diag_error(d, err, "cannot record the samples of --with-samples") : 0;
}

int ftrace_sampler_stop(struct ftrace_sampler *s, struct diag *d)
{
	int status = 0;
	if (!s->pid)
		return 0;
	/* It may have ended already, of the same Ctrl-C. */
	(void)!tell(s, "stop\n");
	while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		;
	let_go(s);
	if (WIFEXITED(status) && WEXITSTATUS(status) && WEXITSTATUS(status) < END_STATUS_MAX)
		return diag_error(d, -EIO, "cannot record samples");
	return 0;
}

/* ---- reporting ------------------------------------------------------------------------------------------------------------- */

struct one_sample {
	u64 time_ns;
	s32 cpu, tid;
	u32 comm, event, leaf;
};

struct ftrace_samples {
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
	*state = container_of(k, struct ftrace_samples, sink);
	return 0;
}

static int sample_feed(struct sink *k, void *state, const struct batch *b)
{
	struct ftrace_samples *s = state;
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
		struct ftrace_samples *s = parts[i].state;
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

static int load(struct ftrace_samples *s, struct app *app)
{
	replay_perf_kallsyms(s->src, kernel_list_text, &s->kernel);
	int err = symbols_unwind(app_symbols(app), s->src, &s->symbols);
	s->names = err ? NULL : recording_names(app_symbols(app), s->src, &s->symbols);
	if (!err)
		err = s->names ? stream_run(s->src, &s->sink, 1, &s->run, &app->diag) : -ENOMEM;
	return err ? err
		   : s->names->ops->resolve(s->names, &s->src->catalog, &s->run.frames, WANT_SYMBOL,
					    &s->named);
}

int ftrace_samples_open(struct ftrace_samples **ret, struct app *app, const char *path,
			const char *trace, const char *clock)
{
	struct ftrace_samples *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->sink = (struct sink){ .ops = &sample_ops, .needs = sample_ops.needs };
	symbols_recorded(app_symbols(app), path);
	int err = replay_perf_open(path, &s->src, &app->diag);
	if (err) {
		free(s);
		return err;
	}
	s->kernel = (struct kernel_list){ .opts = &s->symbols, .src = s->src };
	err = s->src->ops->prepare(s->src, sample_ops.needs, &app->diag);
	const char *own = err ? "" : clock_of(replay_perf_file(s->src));
	if (!err && strcmp(own, clock ? clock : "local")) {
		err = diag_error(&app->diag, -EINVAL,
				 "'%s' uses the clock '%s', '%s' uses '%s': they cannot be merged",
				 path, own, trace, clock ? clock : "local");
		diag_hint(&app->diag,
			  "'sonde ftrace record --with-samples' records both with the same clock");
	}
	if (!err)
		err = load(s, app);
	if (err) {
		ftrace_samples_close(s);
		return err;
	}
	*ret = s;
	return 0;
}

void ftrace_samples_close(struct ftrace_samples *s)
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

static void write_place(const struct ftrace_samples *s, const struct one_sample *one,
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

static const char *image_of(const struct ftrace_samples *s, const struct one_sample *one)
{
	const struct catalog *c = &s->src->catalog;
	u32 image = s->run.frames.frames[one->leaf].image;
	const char *name = image < c->images.nr ? c->images.at[image].name : NULL;
	return name ? name : "[unknown]";
}

static const char *comm_of(const struct ftrace_samples *s, const struct one_sample *one)
{
	return COMM_IS_UNNAMED(one->comm) ? "<...>"
					  : strtab_str(&s->src->catalog.strings, one->comm);
}

static void write_json(const struct ftrace_samples *s, const struct one_sample *one,
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

static void write_line(const struct ftrace_samples *s, const struct one_sample *one,
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

void ftrace_samples_write(struct ftrace_samples *s, u64 until_ns, bool nanoseconds, bool json,
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
