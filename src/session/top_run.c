#include "session/top.h"

#include "base/clock.h"
#include "session/command_run.h"
#include "session/live_names.h"
#include "session/outfile.h"
#include "stream/replay_perf.h"
#include "stream/rounds.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum {
	FADE_KEEP = PROFILE_LIVE_ONE * 7 / 8, /* as perf top has it */
	KEEP_BYTES = 32 << 20,
	STEP_MS = 250,
	STEPS_MAX = 64, /* rounds at once, before somebody looks at keys again */
};

/* ---- collecting ---- */

int top_begin(struct top *t, bool keeps)
{
	struct report *r = t->report;
	t->live = profile_live_new(&r->cfg);
	t->names = live_names_new(r->names, &r->opts->symbols);
	t->keep = keeps ? top_keep_new(t->o->keep_ns, KEEP_BYTES) : NULL;
	if (!t->live || !t->names || (keeps && !t->keep))
		return -ENOMEM;
	t->steps = stream_steps_begin(r->src, profile_live_sink(t->live), &t->tables, t->tell.diag);
	if (!t->steps)
		return -errno;
	t->last_ns = clock_monotonic_ns();
	t->next_ns = t->last_ns + t->o->delay_ns;
	return 0;
}

void top_end(struct top *t)
{
	profile_free(t->report->profile);
	profile_free(t->before);
	t->report->profile = NULL;
	stream_steps_end(t->steps);
	run_tables_done(&t->tables);
	profile_live_free(t->live);
	top_keep_free(t->keep);
	annotate_free(t->hits);
	if (t->names)
		t->names->ops->free(t->names);
}

static bool is_gone(const struct recorder *rec)
{
	struct pollfd p = { .fd = recorder_gone_fd(rec), .events = POLLIN };
	return poll(&p, 1, 0) > 0;
}

int top_step(struct top *t)
{
	bool gone = !t->over && is_gone(t->rec);
	int got = 1;
	for (u32 i = 0; i < STEPS_MAX && got == 1 && !t->over; i++) {
		const struct perfdata *file = replay_perf_file(t->report->src);
		got = stream_step(t->steps);
		bool empty = file->data_at >= file->data_end;
		int err = got == 1 && t->keep ? top_keep_round(t->keep, t->report->src) : 0;
		if (err)
			return err;
		t->over |= !got;
		if (empty)
			break;
	}
	/* All tasks have ended: what is on its way still comes. */
	if (gone && got >= 0)
		(void)!recorder_finish(t->rec, NULL);
	return min(got, 0);
}

bool top_is_due(const struct top *t)
{
	return clock_monotonic_ns() >= t->next_ns ||
	       t->generation != profile_live_generation(t->live);
}

/* ---- looking ---- */

struct levels {
	const struct frame_table *frames;
	u64 all, kernel, user, guest_kernel, guest_user;
};

static int add_level(void *ctx, u32 event, u32 frame, u64 period, u64 count)
{
	struct levels *l = ctx;
	u32 mode = l->frames->frames[frame].mode;
	(void)event;
	(void)period;
	l->all += count;
	l->kernel += mode == FRAME_KERNEL ? count : 0;
	l->user += mode == FRAME_USER ? count : 0;
	l->guest_kernel += mode == FRAME_GUEST_KERNEL ? count : 0;
	l->guest_user += mode == FRAME_GUEST_USER ? count : 0;
	return 0;
}

static double percent_of(u64 part, u64 all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void count_samples(struct top *t)
{
	struct recorder_stats st;
	struct levels l = { .frames = &t->tables.frames };
	u64 now = clock_monotonic_ns();
	recorder_stats(t->rec, &st);
	t->nr_samples = st.nr_samples - t->seen_samples;
	t->seen_samples = st.nr_samples;
	t->seen_lost = st.nr_lost;
	t->interval_ns = now - t->last_ns;
	t->last_ns = now;
	t->next_ns = now + t->o->delay_ns;
	(void)!profile_live_hits(t->live, add_level, &l);
	t->kernel_percent = percent_of(l.kernel, l.all);
	t->user_percent = percent_of(l.user, l.all);
	t->guest_kernel_percent = percent_of(l.guest_kernel, l.all);
	t->guest_user_percent = percent_of(l.guest_user, l.all);
}

static int name_all(struct top *t)
{
	u64 generation = profile_live_generation(t->live);
	if (generation != t->generation)
		live_names_forget(t->names);
	t->generation = generation;
	return t->names->ops->resolve(t->names, &t->report->src->catalog, &t->tables.frames,
				      WANT_SYMBOL | report_wants(t->report), &t->named);
}

int top_look(struct top *t, bool fade)
{
	struct report *r = t->report;
	struct profile_filter filter = r->cfg.filter;
	filter.hide_kernel = r->opts->hide_kernel;
	filter.hide_user = r->opts->hide_user;
	if (fade)
		count_samples(t);
	int err = name_all(t);
	struct profile *p = err ? NULL : profile_live_copy(t->live, &filter);
	if (!err)
		err = p ? profile_fold(p, &r->src->catalog, &t->tables, &t->named) : -ENOMEM;
	if (!err && fade)
		err = profile_live_fade(t->live, t->o->zero ? 0 : FADE_KEEP);
	if (err) {
		profile_free(p);
		return err;
	}
	profile_free(t->before);
	t->before = r->profile;
	r->profile = p;
	r->src->catalog.nr_lost = max(r->src->catalog.nr_lost, t->seen_lost);
	t->nr_looks += fade;
	return 0;
}

int top_stacks(struct top *t, int (*fn)(void *ctx, const struct profile_live_stack *s), void *ctx)
{
	count_samples(t);
	int err = name_all(t);
	if (!err)
		err = profile_live_stacks(t->live, fn, ctx);
	if (!err)
		err = profile_live_fade(t->live, 0);
	t->nr_looks++;
	return err;
}

/* ---- text ---- */

void top_events_text(const struct top *t, struct strbuf *to)
{
	size_t nr;
	const struct live_event *events = recorder_events(t->rec, &nr);
	bool any = false;
	for (size_t i = 0; i < nr; i++) {
		const struct live_event *e = &events[i];
		if (e->tracking)
			continue;
		strbuf_str(to, any ? ", " : "");
		if (e->attr.freq)
			strbuf_printf(to, "%llu Hz ", (unsigned long long)e->attr.sample_freq);
		else if (e->attr.sample_period > 1)
			strbuf_printf(to, "every %llu ", (unsigned long long)e->attr.sample_period);
		strbuf_str(to, e->name);
		any = true;
	}
}

static double rate(const struct top *t)
{
	return t->interval_ns ? (double)t->nr_samples * 1e9 / (double)t->interval_ns : 0;
}

static void put_perf_line(const struct top *t, struct strbuf *to)
{
	size_t nr;
	const struct live_event *e = recorder_events(t->rec, &nr);
	strbuf_printf(to, "\n   PerfTop:%8.0f irqs/sec  kernel:%4.1f%% ", rate(t),
		      t->kernel_percent);
	if (t->o->guests)
		strbuf_printf(to, "us:%4.1f%% guest kernel:%4.1f%% guest us:%4.1f%% exact:  0.0%% [",
			      t->user_percent, t->guest_kernel_percent, t->guest_user_percent);
	else
		strbuf_printf(to, " exact:  0.0%% lost: %llu/%llu drop: 0/0 [",
			      (unsigned long long)t->seen_lost, (unsigned long long)t->seen_lost);
	strbuf_printf(
		to, e->attr.freq ? "%lluHz %s" : "%llu %s",
		(unsigned long long)(e->attr.freq ? e->attr.sample_freq : e->attr.sample_period),
		e->name);
	strbuf_printf(to, "],  (%s)\n", t->o->target);
	strbuf_fill(to, '-', 79);
	strbuf_str(to, "\n\n");
}

static void put_own_line(const struct top *t, struct strbuf *to)
{
	time_t now = time(NULL);
	struct tm tm;
	char when[16] = "";
	if (localtime_r(&now, &tm))
		(void)strftime(when, sizeof(when), "%H:%M:%S", &tm);
	strbuf_printf(to, "%s  %.0f samples/s, kernel %.1f%%, lost %llu  [", when, rate(t),
		      t->kernel_percent, (unsigned long long)t->seen_lost);
	top_events_text(t, to);
	strbuf_printf(to, "] (%s)\n", t->o->target);
}

static int print_json(struct top *t)
{
	struct json j;
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	json_begin(&j, t->tell.out, JSON_COMPACT);
	json_object(&j);
	s64 now_ms = (s64)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	json_put_double(&j, "time", (double)now_ms / 1e3);
	json_put_u64(&j, "interval_ns", t->interval_ns);
	json_put_u64(&j, "new_samples", t->nr_samples);
	json_put_double(&j, "kernel_percent", t->kernel_percent);
	int err = report_json_tables(t->report, &j);
	json_object_end(&j);
	int end = json_end(&j);
	return err ? err : end;
}

static int print_look(struct top *t)
{
	struct strbuf *to = t->tell.out;
	int err = top_look(t, true);
	if (err)
		return err;
	if (t->tell.json) {
		err = print_json(t);
	} else {
		if (t->o->perf_lines)
			put_perf_line(t, to);
		else
			put_own_line(t, to);
		err = report_text_tables(t->report);
	}
	return err ? err : strbuf_flush(to);
}

static int on_step(void *ctx, u64 expired)
{
	struct top *t = ctx;
	(void)expired;
	int err = top_step(t);
	if (!err && (t->over || clock_monotonic_ns() >= t->next_ns))
		err = print_look(t);
	if (err)
		return err;
	return t->over || (t->o->updates && t->nr_looks >= t->o->updates);
}

int top_print(struct top *t)
{
	struct command_run run = COMMAND_RUN_NONE;
	u64 step_ns = min(t->o->delay_ns / 2, (u64)STEP_MS * 1000000);
	step_ns = max(step_ns, (u64)10000000);
	int err = command_run_open(&run, &(struct command_run_opts){ .hangup = true });
	if (!err)
		err = loop_add_timer(run.loop, step_ns, step_ns, on_step, t, NULL);
	if (!err)
		err = command_run_wait(&run);
	command_run_close(&run);
	return err;
}
