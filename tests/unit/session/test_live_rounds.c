/*
 * Live data in rounds: a run that is teed gives the same samples live and from its recording, and many rounds need no more memory than a
 * few.
 */
#include "analysis/flame_impl.h"
#include "analysis/profile_live.h"
#include "event/event.h"
#include "session/live_run.h"
#include "stream/recorder.h"
#include "stream/replay_perf.h"
#include "session/top_keep.h"
#include "stream/rounds.h"
#include "stream/run.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- one run, seen twice ---- */

/* All that a sample says, as text. */
struct told {
	struct sink sink;
	struct source *src;
	const struct shard *sh;
	struct strbuf text;
	VEC(size_t) lines; /* where each begins */
	u64 nr_rounds;
};

static int told_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct told *t = container_of(k, struct told, sink);
	t->sh = sh;
	*state = t;
	return 0;
}

static void tell_frame(struct told *t, u32 id)
{
	const struct frame *f = &t->sh->frames.frames[id];
	strbuf_printf(&t->text, ";%s+%llx/%u", t->src->catalog.images.at[f->image].path,
		      (unsigned long long)f->offset, f->mode);
}

static void tell(struct told *t, const struct sample *s)
{
	struct catalog *c = &t->src->catalog;
	strbuf_printf(&t->text, "%llu %u %d/%d %s %llu", (unsigned long long)s->time_ns, s->event,
		      s->pid, s->tid,
		      COMM_IS_UNNAMED(s->comm) ? "?" : strtab_str(&c->strings, s->comm),
		      (unsigned long long)s->period);
	u32 nr;
	const u32 *row = chain_frames(&t->sh->chains, s->chain, &nr);
	tell_frame(t, s->leaf);
	for (u32 i = 0; i < nr; i++)
		tell_frame(t, row[i]);
	strbuf_char(&t->text, 0);
}

static int told_feed(struct sink *k, void *state, const struct batch *b)
{
	struct told *t = state;
	for (size_t i = 0; i < b->nr; i++) {
		size_t *at = vec_push(&t->lines);
		if (!at)
			return -ENOMEM;
		*at = t->text.len;
		tell(t, &b->samples[i]);
	}
	return t->text.err;
}

static int told_round(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	container_of(k, struct told, sink)->nr_rounds++;
	return 0;
}

static const struct sink_ops told_ops = {
	.needs = NEED_CHAIN | NEED_LEAF | NEED_COMM,
	.shard_new = told_new,
	.feed = told_feed,
	.round_done = told_round,
};

static const char *sorted_text;
static int by_text(const void *a, const void *b)
{
	return strcmp(sorted_text + *(const size_t *)a, sorted_text + *(const size_t *)b);
}

struct live_thread {
	struct told told;
	struct diag d;
	int err;
};

static void run_told(struct told *t, struct source *src, unsigned more, int *err, struct diag *d)
{
	struct run_tables run = { 0 };
	*t = (struct told){ .src = src,
			    .sink = { .ops = &told_ops, .needs = told_ops.needs | more } };
	strbuf_init(&t->text);
	*err = stream_run(src, &t->sink, 1, &run, d);
	run_tables_done(&run);
	sorted_text = t->text.data;
	if (t->lines.nr)
		qsort(t->lines.at, t->lines.nr, sizeof(*t->lines.at), by_text);
}

static unsigned live_more;

static void *live_main(void *arg)
{
	struct live_thread *l = arg;
	run_told(&l->told, l->told.src, live_more, &l->err, &l->d);
	return NULL;
}

__attribute__((noinline)) static void touch(unsigned pages)
{
	size_t len = (size_t)pages << 12;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < len; i += 4096)
		*(volatile char *)(p + i) = 1;
	munmap(p, len);
}

/* What is recorded: faults of our own, and programs that start, map libraries and end. */
static void work(void)
{
	for (unsigned i = 0; i < 20; i++) {
		char name[] = "true", *argv[] = { name, NULL };
		pid_t pid;
		for (unsigned k = 0; k < 10; k++)
			touch(20 + k);
		if (!posix_spawnp(&pid, "true", NULL, NULL, argv, environ))
			(void)waitpid(pid, NULL, 0);
		usleep(10000);
	}
}

static size_t first_difference(const struct told *a, const struct told *b)
{
	for (size_t i = 0; i < a->lines.nr && i < b->lines.nr; i++) {
		const char *x = a->text.data + a->lines.at[i], *y = b->text.data + b->lines.at[i];
		if (strcmp(x, y)) {
			printf("# %s\n# %s\n", x, y);
			return i;
		}
	}
	return a->lines.nr == b->lines.nr ? SIZE_MAX : min(a->lines.nr, b->lines.nr);
}

static void compare_with_file(struct live_thread *l, const char *path, const char *name)
{
	struct told file;
	struct source *src;
	struct diag d;
	int err;
	diag_init(&d);
	if (!ok(!replay_perf_open(path, &src, &d), "%s: the recording opens", name))
		return;
	run_told(&file, src, 0, &err, &d);
	ok(!err && !l->err, "%s: both run", name);
	printf("# %zu samples live in %llu rounds, %zu in the recording\n", l->told.lines.nr,
	       (unsigned long long)l->told.nr_rounds, file.lines.nr);
	ok(l->told.nr_rounds > 3 && file.nr_rounds == 1, "%s: in rounds, and as one", name);
	ok(file.lines.nr > 1000, "%s: there are samples", name);
	ok(first_difference(&l->told, &file) == SIZE_MAX,
	   "%s: live and from the recording, samples say the same", name);
	strbuf_done(&file.text);
	vec_free(&file.lines);
	src->ops->close(src);
	diag_done(&d);
}

static void test_tee(const struct sysroot *root, const struct event_list *events, unsigned more,
		     const char *name)
{
	char path[] = "/tmp/sonde-test-rounds.XXXXXX";
	int fd = mkstemp(path);
	s32 self = (s32)getpid();
	struct live_thread l = { 0 };
	pthread_t thread;
	struct diag d;
	diag_init(&d);
	diag_init(&l.d);
	live_more = more;
	struct recorder_opts o = {
		.live = { .events = events,
			  .period = 1,
			  .call_graph = true,
			  .pids = &self,
			  .nr_pids = 1,
			  .flush_ns = 20000000 },
		.path = path,
		.version = "test",
		.owner_uid = -1,
		.owner_gid = -1,
	};
	if (!ok(fd >= 0 && !rounds_open(&(struct rounds_opts){ .fd = -1 }, &o.source),
		"%s: a source", name))
		return;
	l.told.src = o.source;
	struct recorder *r = recorder_open(root, &o, &d);
	if (!r && (errno == EACCES || errno == EPERM)) {
		ok(true, "%s: recording is not allowed here # SKIP", name);
		return;
	}
	if (!ok(r != NULL, "%s: a recorder with a file and a source", name))
		return;
	/* Not recorded itself: only threads that are there before are. */
	ok(!pthread_create(&thread, NULL, live_main, &l) && !recorder_start(r, &d),
	   "%s: both start", name);
	work();
	ok(!recorder_finish(r, &d), "%s: it ends", name);
	recorder_close(r);
	pthread_join(thread, NULL);
	compare_with_file(&l, path, name);
	strbuf_done(&l.told.text);
	vec_free(&l.told.lines);
	o.source->ops->close(o.source);
	close(fd);
	(void)unlink(path);
	diag_done(&d);
	diag_done(&l.d);
}

/* ---- many rounds ---- */

#ifdef __SANITIZE_ADDRESS__
enum {
	IS_ASAN = 1
}; /* which is slow, and keeps for a while what was freed: memory is not looked at */
#else
enum { IS_ASAN = 0 };
#endif

enum {
	ROUND_SAMPLES = 10000, /* 200 ms at 50,000 a second */
	ROUNDS = IS_ASAN ? 200 : 240 * 5, /* four minutes */
	DEPTH = 12,
	MOST_BYTES = 256000000,
	TASKS = 20, /* that start and end in a round */
};

struct sample_record {
	struct perf_event_header h;
	u64 ip;
	u32 pid, tid;
	u64 time;
	u64 period;
	u64 nr;
	u64 chain[DEPTH + 1];
};

struct trailer {
	u32 pid, tid;
	u64 time;
};

static void put_head(struct strbuf *to)
{
	static const u64 head[2] = { PERF_MAGIC2, 16 };
	struct {
		struct perf_event_header h;
		struct perf_event_attr attr;
		u64 id;
	} rec = {
		.h = { .type = REC_HEADER_ATTR, .size = sizeof(rec) },
		.attr = { .type = PERF_TYPE_SOFTWARE,
			  .size = sizeof(rec.attr),
			  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
			  .sample_id_all = 1 },
		.id = 1,
	};
	strbuf_add(to, head, sizeof(head));
	strbuf_add(to, &rec, sizeof(rec));
}

static void put_task(struct strbuf *to, u32 type, u32 pid, u32 parent, u64 time)
{
	struct {
		struct perf_event_header h;
		u32 pid, ppid, tid, ptid;
		u64 time;
		struct trailer t;
	} rec = { .h = { .type = type, .size = sizeof(rec) },
		  .pid = pid,
		  .ppid = parent,
		  .tid = pid,
		  .ptid = parent,
		  .time = time,
		  .t = { pid, pid, time } };
	strbuf_add(to, &rec, sizeof(rec));
}

static void put_comm(struct strbuf *to, u32 pid, const char *name, u64 time)
{
	struct {
		struct perf_event_header h;
		u32 pid, tid;
		char name[16];
		struct trailer t;
	} rec = { .h = { .type = PERF_RECORD_COMM,
			 .misc = PERF_RECORD_MISC_COMM_EXEC,
			 .size = sizeof(rec) },
		  .pid = pid,
		  .tid = pid,
		  .t = { pid, pid, time } };
	(void)snprintf(rec.name, sizeof(rec.name), "%s", name);
	strbuf_add(to, &rec, sizeof(rec));
}

static void put_map(struct strbuf *to, u32 pid, u64 addr, const char *path, u64 time)
{
	struct {
		struct perf_event_header h;
		u32 pid, tid;
		u64 addr, len, pgoff;
		char name[16];
		struct trailer t;
	} rec = { .h = { .type = PERF_RECORD_MMAP,
			 .misc = PERF_RECORD_MISC_USER,
			 .size = sizeof(rec) },
		  .pid = pid,
		  .tid = pid,
		  .addr = addr,
		  .len = 1 << 20,
		  .t = { pid, pid, time } };
	(void)snprintf(rec.name, sizeof(rec.name), "%s", path);
	strbuf_add(to, &rec, sizeof(rec));
}

/* A round of samples: of a server, which maps its plugin anew, and of the tasks that it starts, which end. */
static void put_round(struct strbuf *to, u64 round, struct sample_record *rec)
{
	static const struct perf_event_header end = { .type = REC_FINISHED_ROUND,
						      .size = sizeof(end) };
	u64 start = (round + 1) * 200000000;
	put_map(to, 1, 0x40000000, "/bin/worker", start);
	for (u32 i = 0; i < TASKS; i++) {
		u32 pid = 1000 + (u32)(round * TASKS + i) % 1000000;
		put_task(to, PERF_RECORD_FORK, pid, 1, start + 1);
		put_comm(to, pid, "worker", start + 2);
		put_map(to, pid, 0x10000000, "/bin/worker", start + 3);
		put_task(to, PERF_RECORD_EXIT, pid, 1, start + 199000000);
	}
	for (u64 i = 0; i < ROUND_SAMPLES; i++) {
		u64 n = i % 50;
		rec->pid = rec->tid = n < TASKS ? 1000 + (u32)(round * TASKS + n) % 1000000 : 1;
		rec->time = start + 1000 + i * 19000;
		/* Short tasks are at one place each, the server never twice at the same. */
		u64 where = n < TASKS ? n : (round * ROUND_SAMPLES + i) * 0x9e3779b97f4a7c15;
		for (u64 k = 1; k <= DEPTH; k++)
			rec->chain[k] = 0x10000000 + k * 0x10000 + (where >> k * 4 & 15) * 64;
		rec->ip = rec->chain[1];
		strbuf_add(to, rec, sizeof(*rec));
	}
	strbuf_add(to, &end, sizeof(end));
}

struct putting {
	struct source *src;
	int err;
};

static void *put_rounds(void *arg)
{
	struct putting *p = arg;
	struct strbuf b;
	struct sample_record rec = { .h = { .type = PERF_RECORD_SAMPLE,
					    .misc = PERF_RECORD_MISC_USER,
					    .size = sizeof(rec) },
				     .period = 1,
				     .nr = DEPTH + 1,
				     .chain = { (u64)PERF_CONTEXT_USER } };
	strbuf_init(&b);
	put_head(&b);
	put_comm(&b, 1, "worker", 0);
	put_map(&b, 1, 0x10000000, "/bin/worker", 0);
	for (u64 i = 0; i < ROUNDS && !p->err; i++) {
		put_round(&b, i, &rec);
		struct iovec iov = { .iov_base = b.data, .iov_len = b.len };
		p->err = b.err ? b.err : rounds_put(p->src, &iov, 1);
		strbuf_reset(&b);
	}
	rounds_end(p->src);
	strbuf_done(&b);
	return NULL;
}

static u64 rss_bytes(void)
{
	unsigned long long all, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%llu %llu", &all, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (u64)sysconf(_SC_PAGESIZE);
}

/* In front of a sink: watches the memory from round to round. */
struct watching {
	struct sink sink;
	struct sink *inner; /* NULL: none */
	struct sink_ops ops;
	struct source *src;
	u64 nr_samples, nr_rounds, nr_generations;
	u64 early, late; /* the most, in the second quarter and in the last */
	struct tasks_size size; /* the largest */
};

static int watch_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct watching *w = container_of(k, struct watching, sink);
	*state = NULL;
	return w->inner ? w->inner->ops->shard_new(w->inner, index, sh, state) : 0;
}

static int watch_feed(struct sink *k, void *state, const struct batch *b)
{
	struct watching *w = container_of(k, struct watching, sink);
	w->nr_samples += b->nr;
	return w->inner ? w->inner->ops->feed(w->inner, state, b) : 0;
}

static int watch_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	struct watching *w = container_of(k, struct watching, sink);
	return w->inner ? w->inner->ops->merge(w->inner, parts, nr, workers) : 0;
}

static void watch_free(struct sink *k, void *state)
{
	struct watching *w = container_of(k, struct watching, sink);
	if (w->inner)
		w->inner->ops->shard_free(w->inner, state);
}

static int watch_round(struct sink *k, const struct run_tables *t, const struct round *r)
{
	struct watching *w = container_of(k, struct watching, sink);
	struct tasks_size size = rounds_size(w->src);
	u64 now = rss_bytes();
	u64 part = w->nr_samples * 4 / ((u64)ROUNDS * ROUND_SAMPLES);
	w->nr_rounds++;
	if (part == 1)
		w->early = max(w->early, now);
	if (part >= 3)
		w->late = max(w->late, now);
	w->size.nr_tasks = max(w->size.nr_tasks, size.nr_tasks);
	w->size.nr_spaces = max(w->size.nr_spaces, size.nr_spaces);
	w->size.nr_maps = max(w->size.nr_maps, size.nr_maps);
	return w->inner && w->inner->ops->round_done ? w->inner->ops->round_done(w->inner, t, r) : 0;
}

static int watch_carry(struct sink *k, struct carry *c)
{
	struct watching *w = container_of(k, struct watching, sink);
	w->nr_generations++;
	return w->inner->ops->carry(w->inner, c);
}

/* Stacks that were told apart no longer: their callers are known all the same, and nothing of their weight is lost. */
static void check_stacks(const struct flame_stacks *s, const struct run_tables *t)
{
	u64 all = 0, deep = 0, whole = 0;
	for (size_t i = 0; i < s->points.nr; i++) {
		u32 nr;
		const u32 *row =
			chain_frames(&t->chains, s->entries.at[s->points.at[i].node].chain, &nr);
		u64 weight = s->points.at[i].period;
		all += weight;
		deep += nr > 3 ? weight : 0;
		whole += nr == DEPTH && t->frames.frames[row[nr - 1]].mode == FRAME_USER ? weight
											 : 0;
	}
	printf("# of %llu samples, %llu have four frames or more, %llu all\n",
	       (unsigned long long)all, (unsigned long long)deep, (unsigned long long)whole);
	ok(all == (u64)ROUNDS * ROUND_SAMPLES, "stacks: all samples are there");
	ok(deep > all - all / 100, "stacks: nearly all have their outermost callers");
	ok(whole >= all / 50 * TASKS, "stacks: those that occur often are whole");
}

static void test_memory(struct sink *inner, const char *name, const struct flame_stacks *stacks)
{
	struct watching w = { .inner = inner };
	struct run_tables run = { 0 };
	struct diag d;
	pthread_t thread;
	diag_init(&d);
	w.ops = (struct sink_ops){ .shard_new = watch_new,
				   .feed = watch_feed,
				   .merge = watch_merge,
				   .shard_free = watch_free,
				   .round_done = watch_round,
				   .carry = inner ? watch_carry : NULL };
	w.sink = (struct sink){ .ops = &w.ops,
				.needs = inner ? inner->needs
					       : NEED_CHAIN | NEED_COMM | NEED_LEAF | NEED_ORDER };
	struct putting p = { 0 };
	struct rounds_opts o = { .fd = -1, .ready_bytes = 1, .fed_bytes = 4 << 20 };
	if (!ok(!rounds_open(&o, &p.src), "%s: a source", name))
		return;
	w.src = p.src;
	pthread_create(&thread, NULL, put_rounds, &p);
	ok(!stream_run(p.src, &w.sink, 1, &run, &d), "%s: it runs", name);
	pthread_join(thread, NULL);
	ok(!p.err && w.nr_samples == (u64)ROUNDS * ROUND_SAMPLES,
	   "%s: all of %llu samples came, in %llu rounds", name, (unsigned long long)w.nr_samples,
	   (unsigned long long)w.nr_rounds);
	printf("# %.1f MB early, %.1f MB late; %zu tasks, %zu spaces, %zu maps at most\n",
	       (double)w.early / 1e6, (double)w.late / 1e6, w.size.nr_tasks, w.size.nr_spaces,
	       w.size.nr_maps);
	ok(w.size.nr_tasks < 100000 && w.size.nr_maps < 100000,
	   "%s: tasks that ended are forgotten", name);
	ok(!inner == !w.nr_generations, "%s: %llu times a new generation of ids", name,
	   (unsigned long long)w.nr_generations);
	ok(IS_ASAN || w.late < (u64)MOST_BYTES, "%s: it is less than %d MB", name,
	   MOST_BYTES / 1000000);
	if (stacks)
		check_stacks(stacks, &run);
	ok(IS_ASAN || (w.early && w.late <= w.early + w.early / 10 + (16 << 20)),
	   "%s: memory is flat", name);
	run_tables_done(&run);
	p.src->ops->close(p.src);
	diag_done(&d);
}

/* ---- step by step, as `top` does ---- */

enum { LOOK_ROUNDS = 10, KEPT_NS = 2000000000 };

/* The weight of all entries. */
static int add_hit(void *ctx, u32 event, u32 frame, u64 period, u64 count)
{
	*(u64 *)ctx += count;
	return 0;
}

static void test_steps(void)
{
	const struct profile_config cfg = { .keys = { PROFILE_KEY_PID, PROFILE_KEY_SYM },
					    .nr_keys = 2,
					    .graph = true };
	struct profile_live *live = profile_live_new(&cfg);
	struct top_keep *keep = top_keep_new(KEPT_NS, 64 << 20);
	struct run_tables run;
	struct putting p = { 0 };
	struct diag d;
	pthread_t thread;
	u64 early = 0, late = 0, nr = 0, weight = 0, side = 0;
	diag_init(&d);
	struct rounds_opts o = { .fd = -1, .ready_bytes = 1, .fed_bytes = 4 << 20 };
	if (!ok(live && keep && !rounds_open(&o, &p.src), "top: a source"))
		return;
	pthread_create(&thread, NULL, put_rounds, &p);
	struct sink *k = profile_live_sink(live);
	k->max_chains = 60000;
	struct stream_steps *steps = stream_steps_begin(p.src, k, &run, &d);
	int got = steps ? 1 : -1;
	while (got == 1 && (got = stream_step(steps)) == 1) {
		got = top_keep_round(keep, p.src) ? -1 : 1;
		side = max(side, (u64)top_keep_side_bytes(keep));
		if (++nr % LOOK_ROUNDS == 0 && profile_live_fade(live, PROFILE_LIVE_ONE * 7 / 8))
			got = -1;
		if (nr > ROUNDS / 4 && nr <= ROUNDS / 2)
			early = max(early, rss_bytes());
		if (nr > ROUNDS * 3 / 4)
			late = max(late, rss_bytes());
	}
	ok(!got && stream_step(steps) == 0, "top: %llu steps, then no more", (unsigned long long)nr);
	pthread_join(thread, NULL);
	ok(!profile_live_hits(live, add_hit, &weight) && weight > ROUND_SAMPLES,
	   "top: samples of several rounds are there");
	ok(profile_live_generation(live) > 0, "top: %llu new generations of ids",
	   (unsigned long long)profile_live_generation(live));
	/* 24,000 tasks with 200 bytes each began and ended: those of two seconds are wanted. */
	ok(side < 10 << 20, "top: at most %llu KB about tasks are kept",
	   (unsigned long long)side >> 10);
	printf("# %.1f MB early, %.1f MB late\n", (double)early / 1e6, (double)late / 1e6);
	ok(early && late <= early + early / 10 + (16 << 20), "top: memory is flat");
	stream_steps_end(steps);
	run_tables_done(&run);
	profile_live_free(live);
	top_keep_free(keep);
	p.src->ops->close(p.src);
	diag_done(&d);
}

/* ---- many names ---- */

enum { JOBS = 20000, JOBS_A_ROUND = 100, JOBS_KEPT = 300, MAX_NAMES = 2000 };

/* Keeps the samples of the last jobs, and of a few early ones. */
struct keeper {
	struct sink sink;
	struct source *src;
	const struct shard *sh;
	struct kept {
		s32 pid;
		u32 comm, leaf;
	} last[JOBS_KEPT];
	u64 nr, nr_generations;
	size_t most_names;
	bool wrong;
};

static int keeper_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = container_of(k, struct keeper, sink);
	return 0;
}

static int keeper_feed(struct sink *k, void *state, const struct batch *b)
{
	struct keeper *s = state;
	for (size_t i = 0; i < b->nr; i++, s->nr++)
		if (s->nr < 10 || s->nr % JOBS_KEPT >= 10)
			s->last[s->nr % JOBS_KEPT] =
				(struct kept){ b->samples[i].pid, b->samples[i].comm,
					       b->samples[i].leaf };
	return 0;
}

static int keeper_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	return 0;
}

static int keeper_carry(struct sink *k, struct carry *c)
{
	struct keeper *s = container_of(k, struct keeper, sink);
	s->nr_generations++;
	for (size_t i = 0; i < min(s->nr, (u64)JOBS_KEPT); i++) {
		s64 comm = carry_string(c, s->last[i].comm), leaf = carry_frame(c, s->last[i].leaf);
		if (comm < 0 || leaf < 0)
			return -ENOMEM;
		s->last[i].comm = (u32)comm;
		s->last[i].leaf = (u32)leaf;
	}
	return 0;
}

/* Whatever was recycled meanwhile: what is kept is called as it was. */
static int keeper_round(struct sink *k, const struct run_tables *t, const struct round *r)
{
	struct keeper *s = container_of(k, struct keeper, sink);
	const struct catalog *c = &s->src->catalog;
	s->most_names = max(s->most_names, c->strings.nr + c->images.nr + (size_t)c->last_comm.nr);
	for (size_t i = 0; i < min(s->nr, (u64)JOBS_KEPT); i++) {
		char comm[16], path[16];
		const struct kept *one = &s->last[i];
		(void)snprintf(comm, sizeof(comm), "job-%d", one->pid);
		(void)snprintf(path, sizeof(path), "/b/%d/run", one->pid);
		s->wrong |= strcmp(strtab_str(&c->strings, one->comm), comm) ||
			    strcmp(c->images.at[t->frames.frames[one->leaf].image].path, path);
	}
	return 0;
}

static const struct sink_ops keeper_ops = {
	.needs = NEED_COMM | NEED_LEAF | KEEP_IDS,
	.shard_new = keeper_new,
	.feed = keeper_feed,
	.merge = keeper_merge,
	.round_done = keeper_round,
	.carry = keeper_carry,
};

/* Each job runs a program of its own under a name of its own, once. */
static void put_job(struct strbuf *to, u32 pid, u64 time, struct sample_record *rec)
{
	char comm[16], path[16];
	(void)snprintf(comm, sizeof(comm), "job-%u", pid);
	(void)snprintf(path, sizeof(path), "/b/%u/run", pid);
	put_task(to, PERF_RECORD_FORK, pid, 1, time);
	put_comm(to, pid, comm, time + 1);
	put_map(to, pid, 0x10000000, path, time + 2);
	rec->pid = rec->tid = pid;
	rec->time = time + 3;
	rec->ip = rec->chain[1] = 0x10000100;
	strbuf_add(to, rec, rec->h.size);
	put_task(to, PERF_RECORD_EXIT, pid, 1, time + 4);
}

static void *put_jobs(void *arg)
{
	static const struct perf_event_header end = { .type = REC_FINISHED_ROUND,
						      .size = sizeof(end) };
	struct putting *p = arg;
	struct strbuf b;
	struct sample_record rec = { .h = { .type = PERF_RECORD_SAMPLE,
					    .misc = PERF_RECORD_MISC_USER,
					    .size = sizeof(rec) },
				     .period = 1,
				     .nr = 2,
				     .chain = { (u64)PERF_CONTEXT_USER } };
	rec.h.size = offsetof(struct sample_record, chain[2]);
	strbuf_init(&b);
	put_head(&b);
	for (u32 i = 0; i < JOBS && !p->err; i++) {
		put_job(&b, 1000 + i, 1000 + i * 10ull, &rec);
		if ((i + 1) % JOBS_A_ROUND)
			continue;
		strbuf_add(&b, &end, sizeof(end));
		struct iovec iov = { .iov_base = b.data, .iov_len = b.len };
		p->err = b.err ? b.err : rounds_put(p->src, &iov, 1);
		strbuf_reset(&b);
	}
	rounds_end(p->src);
	strbuf_done(&b);
	return NULL;
}

static void test_names(void)
{
	struct keeper k = {
		.sink = { .ops = &keeper_ops, .needs = keeper_ops.needs, .max_names = MAX_NAMES }
	};
	struct run_tables run = { 0 };
	struct putting p = { 0 };
	struct diag d;
	pthread_t thread;
	diag_init(&d);
	struct rounds_opts o = { .fd = -1, .ready_bytes = 1, .fed_bytes = 1 << 16 };
	if (!ok(!rounds_open(&o, &p.src), "names: a source"))
		return;
	k.src = p.src;
	pthread_create(&thread, NULL, put_jobs, &p);
	ok(!stream_run(p.src, &k.sink, 1, &run, &d), "names: it runs");
	pthread_join(thread, NULL);
	printf("# %llu jobs, %llu generations, %zu names and images at most\n",
	       (unsigned long long)k.nr, (unsigned long long)k.nr_generations, k.most_names);
	ok(!p.err && k.nr == JOBS, "names: every job has a sample");
	ok(k.nr_generations > 3, "names: the catalogue began anew");
	ok(k.most_names < 8 * MAX_NAMES, "names: and did not grow with the jobs");
	ok(!k.wrong, "names: what is kept has the names it had");
	run_tables_done(&run);
	p.src->ops->close(p.src);
	diag_done(&d);
}

/* ---- nothing ---- */

struct idler {
	struct sink sink;
	struct source *src;
	unsigned nr;
};

static int idler_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = NULL;
	return 0;
}

static int idler_feed(struct sink *k, void *state, const struct batch *b)
{
	return -EINVAL;
}

static int idler_round(struct sink *k, const struct run_tables *t, const struct round *r)
{
	struct idler *i = container_of(k, struct idler, sink);
	if (++i->nr == 3)
		i->src->ops->stop(i->src);
	return i->nr > 10 ? 1 : 0;
}

static const struct sink_ops idler_ops = { .shard_new = idler_new,
					   .feed = idler_feed,
					   .round_done = idler_round };

static void test_idle(void)
{
	struct idler k = { .sink = { .ops = &idler_ops } };
	struct run_tables run = { 0 };
	struct strbuf b;
	struct diag d;
	diag_init(&d);
	strbuf_init(&b);
	put_head(&b);
	if (!ok(!rounds_open(&(struct rounds_opts){ .fd = -1, .idle_ns = 20000000 }, &k.src),
		"idle: a source"))
		return;
	struct iovec iov = { .iov_base = b.data, .iov_len = b.len };
	ok(!rounds_put(k.src, &iov, 1), "idle: that knows its events, and nothing else comes");
	ok(!stream_run(k.src, &k.sink, 1, &run, &d), "idle: it ends when it is told to");
	ok(k.nr == 4, "idle: rounds come without data, and one is the last (%u)", k.nr);
	run_tables_done(&run);
	k.src->ops->close(k.src);
	strbuf_done(&b);
	diag_done(&d);
}

/* ---- nothing more ---- */

struct ticker {
	struct sink sink;
	atomic_uint nr_samples, nr_empty; /* rounds without a sample since the last one */
	bool fed;
};

static int ticker_feed(struct sink *k, void *state, const struct batch *b)
{
	struct ticker *t = container_of(k, struct ticker, sink);
	t->nr_samples += (unsigned)b->nr;
	t->fed = true;
	return 0;
}

static int ticker_round(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	struct ticker *t = container_of(k, struct ticker, sink);
	t->nr_empty = t->fed ? 0 : t->nr_empty + 1;
	t->fed = false;
	return 0;
}

static const struct sink_ops ticker_ops = { .shard_new = idler_new,
					    .feed = ticker_feed,
					    .round_done = ticker_round };

/* Until both counts have been reached, or half a minute has passed. */
static bool ticked(struct ticker *t, unsigned nr_samples, unsigned nr_empty)
{
	for (unsigned i = 0; i < 3000; i++, usleep(10000))
		if (t->nr_samples >= nr_samples && t->nr_empty >= nr_empty)
			return true;
	return false;
}

/* A recorder whose subject falls silent: what came last is fed without anything after it, and rounds go on. */
static void test_silence(const struct sysroot *root, const struct event_list *events)
{
	s32 self = (s32)getpid();
	struct ticker t = { .sink = { .ops = &ticker_ops } };
	struct live_run l;
	struct diag d;
	diag_init(&d);
	ok(!live_run_open(&l, &(struct live_run_opts){ .idle_ns = 20000000 }), "silence: a run");
	struct recorder_opts o = { .live = { .events = events,
					     .period = 1,
					     .tids = &self, /* not the thread that reads */
					     .nr_tids = 1,
					     .no_inherit = true,
					     .settle = true,
					     .flush_ns = 20000000 },
				   .path = "nothing",
				   .no_file = true,
				   .source = l.source,
				   .version = "test",
				   .owner_uid = -1,
				   .owner_gid = -1 };
	struct recorder *r = recorder_open(root, &o, &d);
	if (!r && (errno == EACCES || errno == EPERM)) {
		ok(true, "silence: recording is not allowed here # SKIP");
	} else if (ok(r && !live_run_start(&l, &t.sink) && !recorder_start(r, &d),
		      "silence: and its recorder start")) {
		ok(ticked(&t, 0, 3), "silence: rounds come before there is a sample");
		touch(100);
		ok(ticked(&t, 100, 3), "silence: the last samples come, and then empty rounds");
		unsigned before = t.nr_samples;
		touch(100);
		ok(ticked(&t, before + 100, 3), "silence: samples come again");
		ok(!recorder_finish(r, &d) && !live_run_end(&l), "silence: it ends");
	}
	recorder_close(r);
	live_run_close(&l);
	diag_done(&d);
}

int main(void)
{
	struct sysroot root;
	struct event_env env;
	struct event_list events;
	struct diag d;
	diag_init(&d);
	event_list_init(&events);
	test_names();
	test_idle();
	test_memory(NULL, "lines", NULL);
	test_steps();
	struct flame_sink *flame = flame_sink_new();
	test_memory(flame_sink(flame), "flame", &flame->all);
	flame_sink_free(flame);
	if (!ok(!sysroot_open(&root, NULL) && !event_env_open(&env, "") &&
			!event_list_add(&events, &env, "page-faults:u", EVENT_USE_SAMPLE, &d),
		"the event is known"))
		return done_testing();
	test_silence(&root, &events);
	test_tee(&root, &events, 0, "tee");
	test_tee(&root, &events, KEEP_IDS, "tee, with the same ids");
	event_list_done(&events);
	event_env_close(&env);
	sysroot_close(&root);
	diag_done(&d);
	return done_testing();
}
