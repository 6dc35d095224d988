/* sonde record: samples of a command, of processes or of the whole system into perf.data. */
#include "base/json.h"
#include "base/loop.h"
#include "cmd/app.h"
#include "cmd/child.h"
#include "cmd/commands.h"
#include "cmd/control.h"
#include "event/branch.h"
#include "kern/cgroup.h"
#include "stream/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* -e and --filter in the order they were given: a filter belongs to the events before it. */
struct event_word {
	const char *text;
	enum { WORD_EVENT, WORD_FILTER, WORD_NOT_US } kind;
};

struct record_opts {
	struct event_words {
		VEC(struct event_word) list;
	} words;
	const char *freq;
	u64 period;
	bool graph;
	const char *call_graph;
	bool all;
	const char *cpus;
	const char *pids;
	const char *tids;
	const char *output;
	const char *ring;
	const char *clock;
	const char *zstd;
	bool no_inherit;
	bool data_addr, period_too, only_user, only_kernel;
	bool weight, per_thread_counts, no_samples, switches, namespaces;
	bool any_branch;
	const char *branches;
	const char *user;
	const char *cgroups;
	const char *control;
	const char *switch_output;
	u64 switch_max_files;
	bool timestamp_filename;
	u64 max_size;
	s64 delay_ms;
	bool quiet;
	bool no_buffering;
	u64 min_bytes;
	bool no_build_ids;
	bool ignored;
};

enum { AT_ONCE_FLUSH_NS = 50000000 };

struct ids {
	VEC(s32) list;
};

/* One recording: what was asked, and what is under way. */
struct session {
	struct app *app;
	const struct record_opts *o;
	struct sysroot root;
	struct loop *loop;
	struct recorder *rec;
	struct child child;
	struct control control;
	struct switching {
		bool on;
		u64 bytes, every_ns; /* 0: by signal only */
		VEC(char *) kept; /* names of the files that are done */
		u64 kept_bytes;
	} sw;
	struct term_progress progress;
	struct cpuset cpus;
	struct ids pids, tids;
	VEC(bool) not_us; /* by event */
	VEC(int) cgroups; /* by event: descriptors */
	struct event_env env;
	struct event_list events;
	bool has_env;
	char *cmdline; /* ours, for the file's head */
	const char *output;
	int pipe_fd; /* what standard output was, when the recording goes there; -1: into a file */
	bool pipe;
	struct loop_source *gone_source, *control_source;
	bool full, told_to_stop;
	int stop_signal;
	bool child_ended;
	int child_status;
};

/* ---- options ---------------------------------------------------------------------------------------------------- */

/* "1,2,3"; what: "process", "thread". */
static int parse_ids(const char *text, const char *what, struct ids *to, struct diag *d)
{
	const char *p = text;
	while (*p) {
		size_t len = strcspn(p, ",");
		char word[16];
		u64 id;
		if (!len || len >= sizeof(word))
			goto bad;
		memcpy(word, p, len);
		word[len] = 0;
		if (num_parse_u64(word, 10, &id) || !id || id > INT32_MAX)
			goto bad;
		s32 *slot = vec_push(&to->list);
		if (!slot)
			return -ENOMEM;
		*slot = (s32)id;
		p += len + (p[len] == ',');
		continue;
	bad:
		diag_error(d, -EINVAL, "'%.*s' is no %s id", (int)len, p, what);
		diag_span(d, text, (size_t)(p - text), len);
		return -EINVAL;
	}
	return 0;
}

/* -m: pages, or bytes with a unit. */
static int parse_ring(const char *text, u64 *bytes, struct diag *d)
{
	u64 v;
	int err = num_parse_size(text, &v);
	if (!err && text[strspn(text, "0123456789")] == 0)
		err = __builtin_mul_overflow(v, (u64)sysconf(_SC_PAGESIZE), &v) ? -ERANGE : 0;
	if (err || !v || v > 1ull << 32)
		return diag_error(d, -EINVAL,
				  "-m %s: a number of pages, or a size like 512K or 8M, up to 4G",
				  text);
	*bytes = v;
	return 0;
}

static int parse_freq(const char *text, u64 *hz, struct diag *d)
{
	if (!strcmp(text, "max")) {
		*hz = UINT64_MAX;
		return 0;
	}
	if (num_parse_u64(text, 10, hz) || !*hz)
		return diag_error(d, -EINVAL, "-F %s: samples a second, or 'max'", text);
	return 0;
}

static int add_word(struct record_opts *o, const char *text, int kind)
{
	struct event_word *w = vec_push(&o->words.list);
	if (!w)
		return -ENOMEM;
	*w = (struct event_word){ .text = text, .kind = kind };
	return 0;
}

static int take_event(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	return add_word(opts, value, WORD_EVENT);
}

static int take_filter(void *opts, const char *value, bool negated, struct diag *d)
{
	struct record_opts *o = opts;
	(void)negated;
	if (!o->words.list.nr)
		return diag_error(d, -EINVAL, "--filter belongs behind the -e it is for");
	return add_word(opts, value, WORD_FILTER);
}

static int take_exclude_perf(void *opts, const char *value, bool negated, struct diag *d)
{
	struct record_opts *o = opts;
	(void)value;
	(void)negated;
	if (!o->words.list.nr)
		return diag_error(d, -EINVAL, "--exclude-perf belongs behind the -e it is for");
	return add_word(opts, NULL, WORD_NOT_US);
}

/* Tracepoints from `first` on: not those of our own threads. */
static int leave_us_out(struct session *s, u32 first)
{
	while (s->not_us.nr < s->events.events.nr) {
		bool *slot = vec_push(&s->not_us);
		if (!slot)
			return -ENOMEM;
		*slot = false;
	}
	for (size_t i = first; i < s->events.events.nr; i++) {
		const struct event_desc *e = &s->events.events.at[i];
		if (e->attr.type != PERF_TYPE_TRACEPOINT)
			return diag_error(&s->app->diag, -EINVAL,
					  "--exclude-perf is for tracepoints, and %s is none",
					  e->name);
		s->not_us.at[i] = true;
	}
	return 0;
}

static int resolve_events(struct session *s)
{
	struct diag *d = &s->app->diag;
	int err = event_env_open(&s->env, "");
	if (err)
		return err;
	s->has_env = true;
	event_list_init(&s->events);
	u32 first = 0;
	vec_for_each (&s->o->words.list, w) {
		u32 before = (u32)s->events.events.nr;
		if (w->kind == WORD_EVENT)
			err = event_list_add(&s->events, &s->env, w->text, EVENT_USE_SAMPLE, d);
		else if (w->kind == WORD_FILTER)
			err = event_list_filter(&s->events, &s->env, first, w->text, d);
		else
			err = leave_us_out(s, first);
		if (err)
			return err;
		if (w->kind == WORD_EVENT)
			first = before;
	}
	if (!s->events.events.nr)
		err = event_list_add(&s->events, &s->env, "cycles:P", EVENT_USE_SAMPLE, d);
	return err;
}

static int parse_call_graph(const struct record_opts *o, bool *on, struct diag *d)
{
	*on = o->graph;
	if (!o->call_graph)
		return 0;
	*on = strcmp(o->call_graph, "no") && strcmp(o->call_graph, "none");
	if (!*on || !strcmp(o->call_graph, "fp"))
		return 0;
	diag_error(d, -EINVAL, "--call-graph %s is not there yet", o->call_graph);
	diag_hint(d, "--call-graph fp follows frame pointers");
	return -EINVAL;
}

static int user_id(const char *text, u64 *uid, struct diag *d)
{
	const struct passwd *pw = getpwnam(text);
	if (pw) {
		*uid = pw->pw_uid;
		return 0;
	}
	if (!num_parse_u64(text, 10, uid) && *uid <= UINT32_MAX)
		return 0;
	return diag_error(d, -EINVAL, "-u %s: there is no such user", text);
}

/* -u: what runs for that user now becomes -p. */
static int list_user(struct session *s, const char *text)
{
	struct diag *d = &s->app->diag;
	u64 uid;
	int err = user_id(text, &uid, d);
	if (err)
		return err;
	struct procfs proc;
	s32 *pids;
	size_t nr;
	procfs_init(&proc, &s->root);
	err = procfs_pids(&proc, &pids, &nr);
	for (size_t i = 0; i < nr && !err; i++) {
		char path[32];
		struct stat st;
		(void)snprintf(path, sizeof(path), "proc/%d", pids[i]);
		if (pids[i] == getpid() || fstatat(s->root.dir_fd, path, &st, 0) ||
		    st.st_uid != uid)
			continue;
		s32 *slot = vec_push(&s->pids.list);
		err = slot ? 0 : -ENOMEM;
		if (slot)
			*slot = pids[i];
	}
	procfs_done(&proc);
	if (!err && !s->pids.list.nr)
		err = diag_error(d, -ESRCH, "-u %s: nothing runs for that user", text);
	return err;
}

/* -G a,b: the n-th group is for the n-th event; one alone for all. An empty name is none. */
static int open_cgroups(struct session *s, const char *text)
{
	struct diag *d = &s->app->diag;
	size_t nr = s->events.events.nr;
	bool one = !strchr(text, ',');
	for (size_t i = 0; i < nr; i++) {
		char name[PATH_MAX];
		size_t len = strcspn(text, ",");
		if (len >= sizeof(name))
			return diag_error(d, -EINVAL, "-G: a name is too long");
		memcpy(name, text, len);
		name[len] = 0;
		int *slot = vec_push(&s->cgroups);
		if (!slot)
			return -ENOMEM;
		*slot = len ? cgroup_open(&s->root, name, d) : -1;
		if (len && *slot < 0)
			return *slot;
		if (!one)
			text += len + (text[len] == ',');
	}
	if (!one && *text)
		return diag_error(d, -EINVAL, "-G: more groups than events; -e comes before");
	return 0;
}

static int build_live(struct session *s, struct live_opts *l)
{
	const struct record_opts *o = s->o;
	struct diag *d = &s->app->diag;
	int err = resolve_events(s);
	if (!err)
		err = parse_call_graph(o, &l->call_graph, d);
	if (!err && o->freq)
		err = parse_freq(o->freq, &l->freq_hz, d);
	if (!err && o->ring)
		err = parse_ring(o->ring, &l->ring_bytes, d);
	if (!err && o->cpus)
		err = cpuset_parse_list(o->cpus, &s->cpus, d);
	if (!err && o->pids)
		err = parse_ids(o->pids, "process", &s->pids, d);
	if (!err && o->tids)
		err = parse_ids(o->tids, "thread", &s->tids, d);
	if (!err && o->clock) {
		err = recorder_parse_clock(o->clock, &l->clock_id);
		if (err) {
			diag_error(d, err, "-k %s: there is no such clock", o->clock);
			diag_hint(d, "mono, raw, real, boot, tai");
		}
		l->has_clock = true;
	}
	if (!err && o->any_branch)
		l->branches = PERF_SAMPLE_BRANCH_ANY;
	if (!err && o->branches)
		err = branch_parse(o->branches, &l->branches, d);
	if (!err && o->user)
		err = list_user(s, o->user);
	if (!err && o->cgroups)
		err = open_cgroups(s, o->cgroups);
	l->weight = o->weight;
	l->per_thread_counts = o->per_thread_counts;
	l->no_samples = o->no_samples;
	l->switches = o->switches;
	l->namespaces = o->namespaces;
	l->events = &s->events;
	l->period = o->period;
	l->no_inherit = o->no_inherit;
	l->data_addr = o->data_addr;
	l->period_too = o->period_too;
	l->only_user = o->only_user;
	l->only_kernel = o->only_kernel;
	l->no_exec_start = o->delay_ms;
	l->at_once = o->no_buffering;
	l->flush_ns = o->no_buffering ? AT_ONCE_FLUSH_NS : 0;
	l->min_bytes = o->min_bytes;
	l->cpus = o->cpus ? &s->cpus : NULL;
	l->pids = s->pids.list.at;
	l->nr_pids = s->pids.list.nr;
	l->tids = s->tids.list.at;
	l->nr_tids = s->tids.list.nr;
	l->system_wide = o->all || (o->cpus && !l->nr_pids && !l->nr_tids);
	if (!err && l->system_wide && (l->nr_pids || l->nr_tids)) {
		diag_warn(d, "-a records everything: -p and -t are not needed");
		l->nr_pids = l->nr_tids = 0;
	}
	/* Lists by event end before the one that carries tasks and maps. */
	while (!err && s->not_us.nr && s->not_us.nr < s->events.events.nr) {
		bool *slot = vec_push(&s->not_us);
		if (!slot)
			return -ENOMEM;
		*slot = false;
	}
	l->not_us = s->not_us.at;
	l->cgroups = s->cgroups.at;
	if (!err && l->cgroups && !l->system_wide)
		err = diag_error(d, -EINVAL, "-G: groups are recorded on whole CPUs: it needs -a");
	return err;
}

/* The command line as it was typed, for the file's head. */
static char *own_cmdline(const struct sysroot *r, const char *words[], u32 max_words, u32 *nr)
{
	struct strbuf buf;
	strbuf_init(&buf);
	*nr = 0;
	if (sysroot_read(r, "proc/self/cmdline", &buf))
		strbuf_reset(&buf);
	size_t len = buf.len;
	strbuf_cstr(&buf);
	char *text = strbuf_steal(&buf);
	for (char *at = text; at && at < text + len && *nr < max_words; at += strlen(at) + 1)
		words[(*nr)++] = at;
	return text;
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static int on_signal(void *ctx, u64 signo)
{
	struct session *s = ctx;
	s->stop_signal = (int)signo;
	return 1;
}

static int on_child(void *ctx, u64 status)
{
	struct session *s = ctx;
	s->child_ended = true;
	s->child_status = (int)status;
	return 1;
}

/* ---- several files ---------------------------------------------------------------------------------------------- */

/* --switch-output: "signal", a size with its unit, or a time with its. */
static int parse_switch(struct switching *sw, const char *text, struct diag *d)
{
	static const struct {
		char unit;
		u64 seconds;
	} times[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t digits = strspn(text, "0123456789");
	char number[24];
	u64 n;
	sw->on = true;
	if (!strcmp(text, "signal"))
		return 0;
	if (digits && digits < sizeof(number) && text[digits] && !text[digits + 1]) {
		memcpy(number, text, digits);
		number[digits] = 0;
		for (size_t i = 0; i < ARRAY_SIZE(times); i++)
			if (times[i].unit == text[digits] && !num_parse_u64(number, 10, &n) && n &&
			    n < UINT32_MAX) {
				sw->every_ns = n * times[i].seconds * 1000000000ull;
				return 0;
			}
	}
	if (text[digits] && !num_parse_size(text, &sw->bytes) && sw->bytes)
		return 0;
	diag_error(d, -EINVAL, "--switch-output=%s: when?", text);
	diag_hint(d, "signal (SIGUSR2), a size like 100M, or a time like 30s, 5m, 1h");
	return -EINVAL;
}

/* FILE.YYYYMMDDhhmmsscc, as perf names them; a name that is taken gets the next hundredth. */
static int name_by_time(const struct session *s, char to[PATH_MAX])
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	for (int tries = 0; tries < 100; tries++) {
		struct tm tm;
		char stamp[32];
		localtime_r(&now.tv_sec, &tm);
		(void)strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &tm);
		if (snprintf(to, PATH_MAX, "%s.%s%02ld", s->output, stamp,
			     now.tv_nsec / 10000000) >= PATH_MAX)
			return -ENAMETOOLONG;
		if (access(to, F_OK))
			return 0;
		now.tv_nsec += 10000000;
		now.tv_sec += now.tv_nsec / 1000000000;
		now.tv_nsec %= 1000000000;
	}
	return -EEXIST;
}

/* A file is done: it is said, and with --switch-max-files the oldest goes. */
static int keep_name(struct session *s, const char *name)
{
	struct stat st;
	char **slot = vec_push(&s->sw.kept);
	if (!slot)
		return -ENOMEM;
	*slot = strdup(name);
	if (!*slot) {
		s->sw.kept.nr--;
		return -ENOMEM;
	}
	s->sw.kept_bytes += stat(name, &st) ? 0 : (u64)st.st_size;
	if (!s->o->quiet) {
		if (!strcmp(s->app->prog, "perf"))
			strbuf_printf(&s->app->err, "[ perf record: Dump %s ]\n", name);
		else
			strbuf_printf(&s->app->err, "%s: %s is done\n", s->app->title, name);
		(void)strbuf_flush(&s->app->err);
	}
	if (!s->o->switch_max_files || s->sw.kept.nr <= s->o->switch_max_files)
		return 0;
	(void)unlink(s->sw.kept.at[0]);
	free(s->sw.kept.at[0]);
	memmove(s->sw.kept.at, s->sw.kept.at + 1, --s->sw.kept.nr * sizeof(char *));
	return 0;
}

static int switch_file(struct session *s)
{
	char name[PATH_MAX];
	int err = name_by_time(s, name);
	if (!err)
		err = recorder_switch(s->rec, name, &s->app->diag);
	return err ? err : keep_name(s, name);
}

/* The last file gets a name like the others. */
static int keep_last(struct session *s)
{
	char name[PATH_MAX];
	int err = name_by_time(s, name);
	if (!err && rename(s->output, name))
		err = -errno;
	return err ? err : keep_name(s, name);
}

static int on_usr2(void *ctx, u64 signo)
{
	struct session *s = ctx;
	(void)signo;
	return s->sw.on && s->rec ? switch_file(s) : 0;
}

static int on_switch_time(void *ctx, u64 expired)
{
	(void)expired;
	return switch_file(ctx);
}

/* The file has the size of --max-size or --switch-output. */
static int on_full(void *ctx, u64 events)
{
	struct session *s = ctx;
	struct recorder_stats st;
	(void)events;
	recorder_stats(s->rec, &st);
	if (s->o->max_size && s->sw.kept_bytes + st.file_bytes >= s->o->max_size) {
		diag_note(&s->app->diag, "stopped at %llu KB, by --max-size",
			  (unsigned long long)(s->sw.kept_bytes + st.file_bytes) >> 10);
		s->full = true;
		return 1;
	}
	return switch_file(s);
}

static int watch_files(struct session *s)
{
	int err = loop_add_fd(s->loop, recorder_full_fd(s->rec), EPOLLIN, on_full, s, NULL);
	if (!err && s->sw.every_ns)
		err = loop_add_timer(s->loop, s->sw.every_ns, s->sw.every_ns, on_switch_time, s,
				     NULL);
	return err;
}

/* ---- commands from outside -------------------------------------------------------------------------------------- */

static void say_events(struct session *s)
{
	size_t nr;
	const struct live_event *events = recorder_events(s->rec, &nr);
	for (size_t i = 0; i < nr; i++)
		strbuf_printf(&s->app->err, "%s\n", events[i].name);
	(void)strbuf_flush(&s->app->err);
}

/* 0 go on, 1 end. */
static int obey(struct session *s, enum control_command command)
{
	int err = 0;
	switch (command) {
	case CONTROL_ENABLE: recorder_toggle(s->rec, true); break;
	case CONTROL_DISABLE: recorder_toggle(s->rec, false); break;
	case CONTROL_SNAPSHOT: err = s->sw.on ? switch_file(s) : 0; break;
	case CONTROL_EVLIST: say_events(s); break;
	case CONTROL_PING: break;
	case CONTROL_STOP: err = 1; break;
	case CONTROL_NONE:
	case CONTROL_UNKNOWN:
		diag_warn(&s->app->diag, "--control: '%s' is no command", s->control.word);
		app_say(s->app);
		return 0;
	}
	s->told_to_stop = err == 1;
	if (err >= 0)
		control_ack(&s->control);
	return err;
}

static int on_control(void *ctx, u64 events)
{
	struct session *s = ctx;
	(void)events;
	enum control_command command;
	int err = control_read(&s->control);
	if (err <= 0) { /* nobody will say anything any more */
		loop_remove(s->loop, s->control_source);
		return 0;
	}
	while ((command = control_next(&s->control)) != CONTROL_NONE) {
		err = obey(s, command);
		if (err)
			return err;
	}
	return 0;
}

/* All targets have ended, or nothing can be written any more. A command of ours then is about to tell its status. */
static int on_gone(void *ctx, u64 events)
{
	struct session *s = ctx;
	(void)events;
	if (!s->child.pid || recorder_failed(s->rec))
		return 1;
	loop_remove(s->loop, s->gone_source);
	return 0;
}

static void add_size(struct strbuf *to, u64 bytes)
{
	if (bytes < 1 << 20)
		strbuf_printf(to, "%.1f KB", (double)bytes / 1024);
	else
		strbuf_printf(to, "%.1f MB", (double)bytes / (1 << 20));
}

static int on_progress(void *ctx, u64 expired)
{
	struct session *s = ctx;
	struct recorder_stats st;
	(void)expired;
	if (!term_progress_due(&s->progress))
		return 0;
	struct strbuf line;
	strbuf_init(&line);
	recorder_stats(s->rec, &st);
	strbuf_printf(&line, "%s: %llu samples, ", s->app->title,
		      (unsigned long long)st.nr_samples);
	add_size(&line, st.file_bytes);
	if (st.nr_lost)
		strbuf_printf(&line, ", %llu lost", (unsigned long long)st.nr_lost);
	term_progress_show(&s->progress, strbuf_cstr(&line));
	strbuf_done(&line);
	return 0;
}

static double cpu_seconds(void)
{
	struct rusage ru;
	getrusage(RUSAGE_SELF, &ru);
	return (double)ru.ru_utime.tv_sec + (double)ru.ru_stime.tv_sec +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

/* perf's two lines, for those who parse them. */
static void say_as_perf(struct session *s, const struct recorder_stats *st)
{
	struct strbuf *to = &s->app->err;
	strbuf_printf(to, "[ perf record: Woken up %llu times to write data ]\n",
		      (unsigned long long)st->nr_passes);
	strbuf_printf(to, "[ perf record: Captured and wrote %.3f MB %s",
		      (double)st->data_bytes / 1024 / 1024, s->output);
	if (st->nr_samples)
		strbuf_printf(to, " (%llu samples)", (unsigned long long)st->nr_samples);
	strbuf_str(to, " ]\n");
}

static void say_json(struct session *s, const struct recorder_stats *st)
{
	struct json j;
	json_begin(&j, &s->app->err, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "file", s->output);
	json_put_u64(&j, "bytes", st->file_bytes);
	json_put_u64(&j, "samples", st->nr_samples);
	json_put_u64(&j, "lost", st->nr_lost);
	json_put_u64(&j, "throttled", st->nr_throttled);
	json_put_double(&j, "own_cpu_seconds", cpu_seconds());
	json_object_end(&j);
	(void)!json_end(&j);
}

/* failed: the file ends early, and how many of the samples it holds is not known. */
static void say_result(struct session *s, bool failed)
{
	struct recorder_stats st;
	recorder_stats(s->rec, &st);
	if (st.nr_lost) {
		diag_warn(&s->app->diag, "%llu records were lost: the rings were full",
			  (unsigned long long)st.nr_lost);
		diag_hint(&s->app->diag, "a larger -m, a lower -F, or no -g");
	}
	app_say(s->app);
	if (s->o->quiet)
		return;
	if (s->app->json) {
		say_json(s, &st);
	} else if (!strcmp(s->app->prog, "perf")) {
		say_as_perf(s, &st);
	} else {
		struct strbuf *to = &s->app->err;
		const char *last = s->sw.kept.nr ? s->sw.kept.at[s->sw.kept.nr - 1] : s->output;
		strbuf_printf(to, "%s: %s: ", s->app->title, s->pipe ? "standard output" : last);
		add_size(to, st.file_bytes);
		if (failed)
			strbuf_str(to, ", ends early");
		else
			strbuf_printf(to, ", %llu samples, %llu lost",
				      (unsigned long long)st.nr_samples,
				      (unsigned long long)st.nr_lost);
		if (st.nr_throttled)
			strbuf_printf(to, ", throttled %llu times",
				      (unsigned long long)st.nr_throttled);
		strbuf_printf(to, "; our own cost %.0f ms CPU\n", cpu_seconds() * 1e3);
	}
	(void)strbuf_flush(&s->app->err);
}

static int watch(struct session *s)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals) && !err; i++)
		err = loop_add_signal(s->loop, signals[i], on_signal, s);
	return err ? err : loop_add_signal(s->loop, SIGUSR2, on_usr2, s);
}

/* With the child let go: until it ends, a signal comes, the targets are gone, or writing fails. */
static int wait_for_end(struct session *s)
{
	int err = s->child.pid ? loop_add_child(s->loop, s->child.pid, on_child, s) : 0;
	if (!err)
		err = loop_add_fd(s->loop, recorder_gone_fd(s->rec), EPOLLIN, on_gone, s,
				  &s->gone_source);
	if (!err)
		err = watch_files(s);
	if (!err && s->control.fd >= 0)
		err = loop_add_fd(s->loop, s->control.fd, EPOLLIN, on_control, s,
				  &s->control_source);
	if (!err && !s->o->quiet && s->progress.on)
		err = loop_add_timer(s->loop, 500000000, 500000000, on_progress, s, NULL);
	return err ? err : loop_run(s->loop);
}

/* The command that is still running when we are told to stop. */
static void end_child(struct session *s)
{
	if (!s->child.pid || s->child_ended)
		return;
	if (s->stop_signal || s->full || s->told_to_stop)
		kill(s->child.pid, SIGTERM); /* else it is not its fault: let it end by itself */
	while (waitpid(s->child.pid, &s->child_status, 0) < 0 && errno == EINTR)
		;
	s->child_ended = true;
}

static int on_delay(void *ctx, u64 expired)
{
	struct session *s = ctx;
	(void)expired;
	return recorder_start(s->rec, &s->app->diag);
}

static int delay_start(struct session *s)
{
	return loop_add_timer(s->loop, (u64)s->o->delay_ms * 1000000, 0, on_delay, s, NULL);
}

/* As if by SIGPIPE, but a command's status comes first. */
static int reader_gone(struct session *s)
{
	diag_done(&s->app->diag);
	if (s->child_ended && !s->stop_signal)
		return child_exit_status(s->child_status);
	s->app->die_of = s->stop_signal ? s->stop_signal : SIGPIPE;
	return APP_DONE;
}

/* The reader left before anything began: the command was asked for all the same. */
static int run_unseen(struct session *s, char **argv)
{
	if (s->child.pid) {
		int err = child_go(&s->child, argv[0], &s->app->diag);
		if (err)
			return child_exec_status(err);
		end_child(s);
	}
	return reader_gone(s);
}

static int session_run(struct session *s, const struct recorder_opts *ro, char **argv)
{
	struct app *app = s->app;
	s->rec = recorder_open(&s->root, ro, &app->diag);
	if (!s->rec)
		return errno == EPIPE ? run_unseen(s, argv) : app_fail(app, -EIO);
	app_say(app); /* what we settled for, before the command says anything */
	int err = 0;
	if (s->o->delay_ms > 0)
		err = delay_start(s);
	else if (!s->o->delay_ms)
		err = recorder_start(s->rec, &app->diag);
	if (err)
		return app_fail(app, err);
	if (s->child.pid) {
		err = child_go(&s->child, argv[0], &app->diag);
		if (err) {
			(void)!recorder_finish(s->rec, NULL);
			if (!s->pipe)
				(void)unlink(s->output);
			return child_exec_status(err);
		}
	}
	term_progress_init(&s->progress, STDERR_FILENO);
	err = wait_for_end(s);
	term_progress_clear(&s->progress);
	int finish = recorder_finish(s->rec, &app->diag);
	if (!finish && s->sw.on)
		finish = keep_last(s);
	if (finish != -EPIPE)
		say_result(s, finish);
	loop_free(s->loop); /* a second Ctrl-C ends us at once */
	s->loop = NULL;
	end_child(s);
	if (finish == -EPIPE)
		return reader_gone(s);
	if (finish)
		return APP_FAILED; /* said with the result */
	if (err)
		return app_fail(app, err);
	app->die_of = s->stop_signal;
	bool cut = s->stop_signal || s->full || s->told_to_stop;
	return s->child.pid && !cut ? child_exit_status(s->child_status) : APP_DONE;
}

/* Whose the file is: the one who called sudo, or who runs a program that was lent root's rights. */
static void set_owner(struct recorder_opts *ro)
{
	const char *uid = secure_getenv("SUDO_UID"), *gid = secure_getenv("SUDO_GID");
	u64 u, g;
	ro->owner_uid = ro->owner_gid = -1;
	if (!geteuid() && getuid()) {
		ro->owner_uid = (s64)getuid();
		ro->owner_gid = (s64)getgid();
	}
	if (!geteuid() && uid && gid && !num_parse_u64(uid, 10, &u) && u < UINT32_MAX &&
	    !num_parse_u64(gid, 10, &g) && g < UINT32_MAX) {
		ro->owner_uid = (s64)u;
		ro->owner_gid = (s64)g;
	}
}

/*
 * -o -, or no -o and standard output is a pipe: the recording goes there. What else would be written to standard output, by
 * the command above all, goes to standard error then.
 */
static int take_stdout(struct session *s)
{
	struct stat st;
	s->output = s->o->output;
	if (s->output ? strcmp(s->output, "-")
		      : fstat(STDOUT_FILENO, &st) || !S_ISFIFO(st.st_mode)) {
		s->output = s->output ? s->output : "perf.data";
		return 0;
	}
	struct diag *d = &s->app->diag;
	if (term_is_tty(STDOUT_FILENO)) {
		diag_error(d, -EINVAL, "-o -: standard output is a terminal");
		diag_hint(d, "sonde record -o - ... | sonde script -i -");
		return -EINVAL;
	}
	s->pipe_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->pipe_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return diag_error(d, -EINVAL, "-o -: standard output: %s", strerror(errno));
	s->output = "-";
	s->pipe = true;
	return 0;
}

static int record(struct session *s, int argc, char **argv)
{
	struct app *app = s->app;
	const char *words[1024];
	struct recorder_opts ro = { .version = SONDE_VERSION, .argv = words };
	int err = sysroot_open(&s->root, NULL);
	if (err)
		return app_fail(app, err);
	err = build_live(s, &ro.live);
	/* An event that is not there is wrong usage to perf. */
	bool usage = err == -EINVAL || (err == -ENOENT && !strcmp(app->prog, "perf"));
	if (err)
		return usage ? app_usage_said(app) : app_fail(app, err);
	ro.tracing = &s->env.tracing;
	if (s->o->zstd) {
		u64 level;
		if (num_parse_u64(s->o->zstd, 10, &level) || level > 22)
			return app_usage(app, "-z %s: a level from 1 to 22", s->o->zstd);
		ro.zstd_level = (int)level;
	}
	if (!argc && !ro.live.system_wide && !ro.live.nr_pids && !ro.live.nr_tids)
		return app_usage(
			app,
			"what should be recorded? A command, -p PID, or -a for the whole system");
	set_owner(&ro);
	err = take_stdout(s);
	if (err)
		return app_usage_said(app);
	ro.path = s->output;
	ro.pipe = s->pipe;
	ro.pipe_fd = s->pipe_fd;
	ro.no_build_ids = s->o->no_build_ids;
	if (s->o->switch_output && parse_switch(&s->sw, s->o->switch_output, &app->diag))
		return app_usage_said(app);
	s->sw.on |= s->o->timestamp_filename;
	if (s->sw.on && s->pipe)
		return app_usage(app, "--switch-output makes files: it needs -o FILE");
	ro.full_bytes = s->sw.bytes && s->o->max_size ? min(s->sw.bytes, s->o->max_size)
						      : s->sw.bytes | s->o->max_size;
	if (s->o->delay_ms < 0 && !s->o->control)
		return app_usage(app, "-D %lld waits for ever: it needs --control",
				 (long long)s->o->delay_ms);
	if (s->o->control) {
		err = control_open(&s->control, s->o->control, &app->diag);
		if (err)
			return err == -EINVAL ? app_usage_said(app) : app_fail(app, err);
	}
	s->loop = loop_new();
	err = s->loop ? watch(s) : -errno;
	if (!err && argc) {
		err = child_check(argv[0], &app->diag);
		if (err)
			return child_exec_status(err);
		err = child_prepare(&s->child, argv, loop_old_signals(s->loop), &app->diag);
		/* With -p or -t the command only says for how long. */
		if (!ro.live.nr_pids && !ro.live.nr_tids)
			ro.live.command_pid = s->child.pid;
	}
	if (err)
		return app_fail(app, err);
	if (s->pipe) /* from here on: the command has its own */
		(void)signal(SIGPIPE, SIG_IGN);
	s->cmdline = own_cmdline(&s->root, words, ARRAY_SIZE(words), &ro.argc);
	return session_run(s, &ro, argv);
}

static int record_run(struct app *app, void *opts, int argc, char **argv)
{
	struct session s = { .app = app,
			     .o = opts,
			     .root = { .dir_fd = -1 },
			     .pipe_fd = -1,
			     .control = { .fd = -1, .ack_fd = -1 },
			     .child = { .go_fd = -1, .exec_fd = -1 } };
	app_live(app);
	int status = record(&s, argc, argv);
	recorder_close(s.rec);
	control_close(&s.control);
	vec_for_each (&s.sw.kept, name)
		free(*name);
	vec_free(&s.sw.kept);
	child_done(&s.child);
	loop_free(s.loop);
	sysroot_close(&s.root);
	vec_free(&s.pids.list);
	vec_free(&s.tids.list);
	vec_free(&s.not_us);
	vec_for_each (&s.cgroups, fd)
		cleanup_close(fd);
	vec_free(&s.cgroups);
	if (s.has_env) {
		event_list_done(&s.events);
		event_env_close(&s.env);
	}
	vec_free(&((struct record_opts *)opts)->words.list);
	free(s.cmdline);
	return status;
}

static void record_defaults(void *opts)
{
	*(struct record_opts *)opts = (struct record_opts){ 0 };
}

/* clang-format off */
static const struct opt record_rows[] = {
	OPT_HEADING("What to record"),
	OPT_CALL('e', "event", "EVENT", "Events, separated by commas (cycles, else cpu-clock); `sonde list` shows them", take_event),
	OPT_CALL(0, "filter", "FILTER", "Only tracepoints of the -e before where this holds", take_filter),
	OPT_CALL(0, "exclude-perf", NULL, "Tracepoints of the -e before: not those of the recorder itself", take_exclude_perf),
	OPT_STR('F', "freq", struct record_opts, freq, "HZ", "Samples a second and CPU, or 'max' (4000)"),
	OPT_UINT('c', "count", struct record_opts, period, "N", "A sample every N events instead"),
	OPT_FLAG('g', NULL, struct record_opts, graph, "Call chains by frame pointer"),
	OPT_STR(0, "call-graph", struct record_opts, call_graph, "HOW", "Call chains: fp"),
	OPT_HEADING("Of what"),
	OPT_FLAG('a', "all-cpus", struct record_opts, all, "The whole system"),
	OPT_STR('C', "cpu", struct record_opts, cpus, "LIST", "These CPUs only (0-3,8)"),
	OPT_STR('p', "pid", struct record_opts, pids, "PID", "Running processes with all their threads"),
	OPT_STR('t', "tid", struct record_opts, tids, "TID", "Running threads"),
	OPT_STR('u', "uid", struct record_opts, user, "USER", "What runs for this user now, by name or number"),
	OPT_STR('G', "cgroup", struct record_opts, cgroups, "NAME", "Only in this cgroup; with commas: one for each event (needs -a)"),
	OPT_FLAG('i', "no-inherit", struct record_opts, no_inherit, "Not the children and threads made later"),
	OPT_FLAG(0, "all-user", struct record_opts, only_user, "User space only"),
	OPT_FLAG(0, "all-kernel", struct record_opts, only_kernel, "The kernel only"),
	OPT_HEADING("How"),
	OPT_INT('D', "delay", struct record_opts, delay_ms, "MS", "Start sampling this much later; -1: when --control says so"),
	OPT_STR(0, "control", struct record_opts, control, "HOW", "Take commands (enable, disable, snapshot, evlist, ping, stop): fd:IN[,ACK] or fifo:IN[,ACK]"),
	OPT_FLAG('d', "data", struct record_opts, data_addr, "Also the addresses that were accessed"),
	OPT_FLAG('W', "weight", struct record_opts, weight, "Also what an access cost, where the hardware knows"),
	OPT_FLAG('b', "branch-any", struct record_opts, any_branch, "Also the last branches, where the hardware keeps them"),
	OPT_STR('j', "branch-filter", struct record_opts, branches, "KINDS", "Also the last branches of these kinds (any_call,u)"),
	OPT_FLAG('s', "stat", struct record_opts, per_thread_counts, "Also the counts of each thread, when it ends (report -T)"),
	OPT_FLAG('n', "no-samples", struct record_opts, no_samples, "No samples, only tasks and maps"),
	OPT_FLAG(0, "switch-events", struct record_opts, switches, "Context switches as records"),
	OPT_FLAG(0, "namespaces", struct record_opts, namespaces, "Namespaces of tasks as records"),
	OPT_FLAG('P', "period", struct record_opts, period_too, "The period in every sample, also where it is fixed"),
	OPT_FLAG('T', "timestamp", struct record_opts, ignored, "Times are always recorded", .hidden = true),
	OPT_FLAG(0, "sample-cpu", struct record_opts, ignored, "The CPU is always recorded", .hidden = true),
	OPT_STR('o', "output", struct record_opts, output, "FILE", "Write FILE (perf.data, or standard output if that is a pipe), or - for standard output"),
	OPT_SIZE(0, "max-size", struct record_opts, max_size, "SIZE", "Stop when this much is written"),
	OPT_STR(0, "switch-output", struct record_opts, switch_output, "WHEN", "Go on in a new file at SIGUSR2 (signal), by size (100M) or time (30s); each is FILE.TIME",
		.optional = true, .fallback = "signal"),
	OPT_FLAG(0, "timestamp-filename", struct record_opts, timestamp_filename, "The file is FILE.TIME"),
	OPT_UINT(0, "switch-max-files", struct record_opts, switch_max_files, "N", "Keep the last N files of --switch-output"),
	OPT_STR('m', "mmap-pages", struct record_opts, ring, "PAGES", "Ring memory a CPU: pages, or a size like 4M (512K)"),
	OPT_STR('k', "clockid", struct record_opts, clock, "CLOCK", "Times by this clock: mono, raw, real, boot, tai"),
	OPT_STR('z', "compression-level", struct record_opts, zstd, "LEVEL", "Compress with zstd (level 1)",
		.optional = true, .fallback = "1"),
	OPT_FLAG(0, "no-buffering", struct record_opts, no_buffering, "Every sample reaches the output at once"),
	OPT_SIZE(0, "mmap-flush", struct record_opts, min_bytes, "SIZE", "Woken, leave a ring alone that holds less (1)"),
	OPT_FLAG('B', "no-buildid", struct record_opts, no_build_ids, "No table of build ids in the file"),
	OPT_FLAG('N', "no-buildid-cache", struct record_opts, ignored, "Build ids are never copied to ~/.debug", .hidden = true),
	OPT_FLAG(0, "buildid-all", struct record_opts, ignored, "Build ids of all maps are always recorded", .hidden = true),
	OPT_FLAG(0, "buildid-mmap", struct record_opts, ignored, "Build ids are always in the map records", .hidden = true),
	OPT_FLAG(0, "timestamp-boundary", struct record_opts, ignored, "First and last time are always recorded", .hidden = true),
	OPT_FLAG('q', "quiet", struct record_opts, quiet, "No closing line, no progress"),
	OPT_FLAG(0, "overwrite", struct record_opts, ignored, "Use --switch-output with --switch-max-files 2: the last files are kept", .refused = true),
	OPT_FLAG(0, "switch-output-event", struct record_opts, ignored, "Use --switch-output and send SIGUSR2, or --control with 'snapshot'", .refused = true),
	OPT_FLAG(0, "threads", struct record_opts, ignored, "There is a reader for every 16 CPUs already, and they write one file", .refused = true),
	OPT_FLAG(0, "kcore", struct record_opts, ignored, "Copy /proc/kcore and /proc/kallsyms yourself", .refused = true),
	OPT_FLAG(0, "off-cpu", struct record_opts, ignored, "Use -e sched:sched_switch -g: the stacks where tasks stop running", .refused = true),
	OPT_FLAG('S', "snapshot", struct record_opts, ignored, "AUX tracing (Intel PT, SPE) is not recorded", .refused = true),
	OPT_FLAG('R', "raw-samples", struct record_opts, ignored, "Always on where there is raw data", .hidden = true),
	OPT_FLAG('f', "force", struct record_opts, ignored, "Obsolete", .hidden = true),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example record_examples[] = {
	{ "record -g -- make", "where a command and its children spend their time" },
	{ "record -F 99 -a -g -- sleep 10", "the whole system for ten seconds" },
	{ "record -p 1234", "a running process, until Ctrl-C" },
	{ "record -e page-faults -c 1 -- ls", "every page fault" },
	{ "record -e sched:sched_switch -a -- sleep 1", "every context switch, with its data" },
	{ 0 },
};

const struct command command_record = {
	.name = "record",
	.group = "Why",
	.summary = "sample a command, a process or the system into perf.data",
	.usage = "[OPTIONS] [--] [COMMAND [ARGS]]",
	.about = "The file is an ordinary perf.data: perf, hotspot and others read it. It is whole "
		 "at any moment, "
		 "also when the recorder is killed. Recording ends with the command, with Ctrl-C, "
		 "or when all "
		 "processes of -p have ended; the exit status is that of the command.",
	.examples = record_examples,
	.opts = record_rows,
	.opts_size = sizeof(struct record_opts),
	.defaults = record_defaults,
	.run = record_run,
};
