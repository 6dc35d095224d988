/*
 * Tracing in rounds: the same sinks over pages as they come and over the trace.dat of the same pages give the same. Many rounds need no
 * more memory than a few, an idle buffer has rounds too.
 */
#include "analysis/event_times.h"
#include "analysis/flame.h"
#include "analysis/graph_time.h"
#include "base/clock.h"
#include "kern/cpu.h"
#include "stream/ftrace_meta.h"
#include "stream/ftrace_rounds.h"
#include "stream/live_ftrace.h"
#include "stream/run.h"
#include "tap.h"
#include "wire/ftrace_page.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* AddressSanitizer keeps up to 256 MB of what was freed unless it is told otherwise: resident memory would say nothing about us. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1:thread_local_quarantine_size_kb=16";
}

/* ---- what a sink was told ---- */

/* Every event as a line, in the order in which they came. */
struct told {
	struct sink sink;
	struct source *src;
	struct strbuf text;
	u64 nr, nr_rounds, nr_empty, round_nr;
	u64 newest;
	bool unordered; /* an event was before one that came before */
};

static int told_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = container_of(k, struct told, sink);
	return 0;
}

static int told_feed(struct sink *k, void *state, const struct batch *b)
{
	struct told *t = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		strbuf_printf(&t->text, "%llu %u/%d %d %s %x %llx\n", (unsigned long long)s->time_ns,
			      s->buffer, s->cpu, s->tid, s->schema ? s->schema->name : "?",
			      s->missed, (unsigned long long)hash_bytes(s->raw, s->raw_size));
		t->unordered |= s->time_ns < t->newest;
		t->newest = max(t->newest, s->time_ns);
		t->nr++;
		t->round_nr++;
	}
	return t->text.err;
}

static int told_round(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	struct told *t = container_of(k, struct told, sink);
	__atomic_add_fetch(&t->nr_rounds, 1, __ATOMIC_RELEASE);
	t->nr_empty += !t->round_nr;
	t->round_nr = 0;
	return 0;
}

static const struct sink_ops told_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = told_new,
	.feed = told_feed,
	.round_done = told_round,
};

static void told_init(struct told *t)
{
	*t = (struct told){ .sink = { .ops = &told_ops, .needs = told_ops.needs } };
	strbuf_init(&t->text);
}

/* ---- pages of a recording, put in as a reader would ---- */

enum { STEP_NS = 100000 };

struct feeding {
	struct source *src;
	struct tracedat *file;
	struct tracedat_copy *copy;
	u64 step; /* time between two readings */
	u32 *next; /* [buffer][cpu]: page */
	u64 newest;
	const u64 *nr_rounds; /* that the sink has seen; NULL: it does not count */
	int err;
};

static bool page_times(const struct tracedat *f, const u8 *page, u32 size, u64 *first, u64 *last)
{
	struct ftrace_page walk;
	struct ftrace_event e;
	bool any = false;
	if (ftrace_page_open(&walk, &f->layout, page, size, f->big_endian))
		return false;
	while (ftrace_page_next(&walk, &e)) {
		*first = any ? *first : e.time;
		*last = e.time;
		any = true;
	}
	return any;
}

/* One reading of a CPU at this time: the pages that were begun by then. */
static bool read_cpu(struct feeding *f, u32 b, u32 c, u32 *next, u64 now)
{
	const struct tracedat_out_buffer *buf = &f->copy->out.buffers[b];
	u64 nr = buf->cpus[c].size / buf->page_size;
	_cleanup_free_ u8 *page = malloc(buf->page_size);
	ftrace_rounds_begin(f->src, b, buf->cpus[c].cpu);
	for (; *next < nr && !f->err; ++*next) {
		u64 first = 0, last = 0;
		f->err = f->copy->out.read(f->copy->out.ctx, b, c, (u64)*next * buf->page_size,
					   page, buf->page_size);
		if (page_times(f->file, page, buf->page_size, &first, &last) && first > now)
			break;
		f->newest = max(f->newest, last);
		if (!f->err)
			f->err = ftrace_rounds_put(f->src, b, buf->cpus[c].cpu, page,
						   buf->page_size);
	}
	ftrace_rounds_caught_up(f->src, b, buf->cpus[c].cpu);
	return *next < nr;
}

/*
 * What was put in first is complete by now: there will be a first round before all is put in. Later ones have a moment, for not every
 * reading makes one.
 */
static void wait_for_round(const struct feeding *f)
{
	u64 before = __atomic_load_n(f->nr_rounds, __ATOMIC_ACQUIRE);
	for (int i = 0; i < (before ? 5 : 20000); i++) {
		if (__atomic_load_n(f->nr_rounds, __ATOMIC_ACQUIRE) != before)
			return;
		usleep(1000);
	}
}

static void *feed_pages(void *arg)
{
	struct feeding *f = arg;
	const struct tracedat_out *o = &f->copy->out;
	u32 per = 0;
	for (size_t b = 0; b < o->nr_buffers; b++)
		per = max(per, o->buffers[b].nr_cpus);
	f->next = calloc(o->nr_buffers * per, sizeof(*f->next));
	/* The first reading finds nothing; the next ones what has begun, which may be newer: then the one after it is later. */
	bool more = true;
	unsigned nr = 0;
	for (u64 now = 0; more && !f->err; now = max(now + f->step, f->newest + 1)) {
		more = false;
		for (u32 b = 0; b < o->nr_buffers; b++)
			for (u32 c = 0; c < o->buffers[b].nr_cpus; c++)
				more |= read_cpu(f, b, c, &f->next[b * per + c], now);
		if (!now) { /* times begin somewhere: at the first page of all */
			u64 first = 0, last = 0, least = UINT64_MAX;
			_cleanup_free_ u8 *page = malloc(o->page_size);
			for (u32 b = 0; b < o->nr_buffers; b++)
				for (u32 c = 0; c < o->buffers[b].nr_cpus; c++)
					if (o->buffers[b].cpus[c].size &&
					    !o->read(o->ctx, b, c, 0, page, o->buffers[b].page_size) &&
					    page_times(f->file, page, o->buffers[b].page_size,
						       &first, &last))
						least = min(least, first);
			now = least - 1;
		}
		if (++nr >= 5 && more && f->nr_rounds)
			wait_for_round(f);
	}
	free(f->next);
	ftrace_rounds_end(f->src);
	return NULL;
}

/* A sink over a file, or (live) over its pages in rounds. */
struct fed {
	struct tracedat file;
	struct tracedat_copy copy;
	struct source *src;
	struct feeding feeding;
	pthread_t thread;
	struct run_tables tables;
	struct diag d;
};

static int open_fed(struct fed *f, const char *path, bool samples, bool live)
{
	diag_init(&f->d);
	if (!live)
		return replay_ftrace_open(path,
					  &(struct replay_ftrace_opts){ .style = PRINT_STYLE_KERNEL,
									.samples = samples,
									.calls = samples },
					  &f->src, &f->d);
	int err = tracedat_open(&f->file, path, &f->d);
	if (!err)
		err = tracedat_copy_init(&f->copy, &f->file);
	if (!err)
		err = ftrace_rounds_open(&(struct ftrace_rounds_opts){ .head = &f->copy.out,
								       .style = PRINT_STYLE_KERNEL,
								       .samples = samples,
								       .calls = samples,
								       .pause_ns = 1000000 },
					 &f->src);
	return err;
}

static int run_fed(struct fed *f, struct sink *k, const u64 *nr_rounds, bool live, unsigned workers)
{
	f->feeding = (struct feeding){ .src = f->src,
				       .file = &f->file,
				       .copy = &f->copy,
				       .step = STEP_NS,
				       .nr_rounds = nr_rounds };
	if (live && pthread_create(&f->thread, NULL, feed_pages, &f->feeding))
		return -ENOMEM;
	int err = stream_run(f->src, k, workers, &f->tables, &f->d);
	if (live) {
		ftrace_rounds_refuse(f->src);
		pthread_join(f->thread, NULL);
		err = err ? err : f->feeding.err;
	}
	return err;
}

static void close_fed(struct fed *f, bool live)
{
	run_tables_done(&f->tables);
	f->src->ops->close(f->src);
	if (live) {
		tracedat_copy_done(&f->copy);
		tracedat_close(&f->file);
	}
	diag_done(&f->d);
}

static void test_order(const char *name)
{
	char path[512];
	struct told told[2];
	bool good = true;
	(void)snprintf(path, sizeof(path), "%s/trace/%s.dat", TEST_DATA, name);
	for (int live = 0; live < 2; live++) {
		struct fed f = { 0 };
		told_init(&told[live]);
		good &= !open_fed(&f, path, false, live) &&
			!run_fed(&f, &told[live].sink, &told[live].nr_rounds, live, 1);
		close_fed(&f, live);
	}
	printf("# %s: %llu events, %llu rounds, %llu of them empty\n", name,
	       (unsigned long long)told[1].nr, (unsigned long long)told[1].nr_rounds,
	       (unsigned long long)told[1].nr_empty);
	ok(good && told[0].nr, "%s: both run", name);
	ok(told[1].nr_rounds > 1, "%s: in rounds", name);
	ok(!told[1].unordered && !strcmp(strbuf_cstr(&told[0].text), strbuf_cstr(&told[1].text)),
	   "%s: every event once, in order, as in the file", name);
	strbuf_done(&told[0].text);
	strbuf_done(&told[1].text);
}

/* ---- tables ---- */

static const char *no_comm(void *ctx, s64 task)
{
	return "?";
}

static void tell_times(struct event_times *t, struct strbuf *to)
{
	(void)!event_times_finish(t, false, no_comm, NULL);
	for (size_t i = 0; i < event_times_nr(t); i++) {
		const struct event_time *r = event_times_row(t, i);
		strbuf_printf(to, "%lld %s %llx %llu %llu %llu %zu\n", (long long)r->task,
			      r->event->name, (unsigned long long)r->key,
			      (unsigned long long)r->t.nr, (unsigned long long)r->t.total_ns,
			      (unsigned long long)r->t.max_ns, r->stacks.nr);
	}
}

static void tell_graph(const struct graph_time *g, struct strbuf *to)
{
	for (size_t i = 0; i < graph_time_nr_funcs(g); i++) {
		const struct graph_func *f = graph_time_func(g, i);
		strbuf_printf(to, "%llx %llu %llu %llu\n", (unsigned long long)f->addr,
			      (unsigned long long)f->calls, (unsigned long long)f->total_ns,
			      (unsigned long long)f->self_ns);
	}
	strbuf_printf(to, "%llu open, %llu headless, %llu gaps\n",
		      (unsigned long long)graph_time_nr_open(g),
		      (unsigned long long)graph_time_nr_headless(g),
		      (unsigned long long)graph_time_nr_gaps(g));
}

enum table { TABLE_TIMES, TABLE_GRAPH };

static int make_table(const char *path, enum table table, bool live, struct strbuf *to)
{
	struct fed f = { 0 };
	struct event_times *t = NULL;
	struct graph_time *g = table == TABLE_GRAPH ? graph_time_new() : NULL;
	int err = open_fed(&f, path, false, live);
	if (!err && !g)
		err = event_times_new(&(struct event_times_opts){ 0 }, &t, &f.d);
	if (!err)
		err = run_fed(&f, g ? graph_time_sink(g) : event_times_sink(t), NULL, live, 3);
	if (!err && g)
		tell_graph(g, to);
	else if (!err)
		tell_times(t, to);
	graph_time_free(g);
	event_times_free(t);
	close_fed(&f, live);
	return err;
}

static void test_table(const char *name, enum table table, const char *what)
{
	char path[512];
	struct strbuf text[2];
	int err = 0;
	(void)snprintf(path, sizeof(path), "%s/trace/%s.dat", TEST_DATA, name);
	for (int live = 0; live < 2; live++) {
		strbuf_init(&text[live]);
		err = err ? err : make_table(path, table, live, &text[live]);
	}
	ok(!err && text[0].len > 50, "%s: %s of a file", name, what);
	if (!ok(!strcmp(strbuf_cstr(&text[0]), strbuf_cstr(&text[1])),
		"%s: %s in rounds is the same", name, what))
		printf("# %.300s\n# %.300s\n", strbuf_cstr(&text[0]), strbuf_cstr(&text[1]));
	strbuf_done(&text[0]);
	strbuf_done(&text[1]);
}

/* ---- samples with chains ---- */

struct chains {
	struct sink sink;
	const struct shard *sh;
	const struct source *src;
	struct strbuf text;
};

static int chains_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct chains *c = container_of(k, struct chains, sink);
	c->sh = sh;
	*state = c;
	return 0;
}

static int chains_feed(struct sink *k, void *state, const struct batch *b)
{
	struct chains *c = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		u32 nr;
		const u32 *row = chain_frames(&c->sh->chains, s->chain, &nr);
		strbuf_printf(&c->text, "%llu %s %llu", (unsigned long long)s->time_ns,
			      c->src->catalog.events.at[s->event].name,
			      (unsigned long long)s->period);
		for (u32 n = 0; n < nr; n++)
			strbuf_printf(&c->text, ";%llx",
				      (unsigned long long)c->sh->frames.frames[row[n]].offset);
		strbuf_char(&c->text, '\n');
	}
	return c->text.err;
}

static const struct sink_ops chains_ops = {
	.needs = NEED_ORDER | NEED_CHAIN | NEED_LEAF,
	.shard_new = chains_new,
	.feed = chains_feed,
};

static void test_chains(const char *name)
{
	char path[512];
	struct chains c[2];
	int err = 0;
	(void)snprintf(path, sizeof(path), "%s/trace/%s.dat", TEST_DATA, name);
	for (int live = 0; live < 2; live++) {
		struct fed f = { 0 };
		c[live] =
			(struct chains){ .sink = { .ops = &chains_ops, .needs = chains_ops.needs } };
		strbuf_init(&c[live].text);
		err = err ? err : open_fed(&f, path, true, live);
		c[live].src = f.src;
		err = err ? err : run_fed(&f, &c[live].sink, NULL, live, 1);
		close_fed(&f, live);
	}
	ok(!err && strchr(strbuf_cstr(&c[0].text), ';'), "%s: samples with chains", name);
	ok(!strcmp(strbuf_cstr(&c[0].text), strbuf_cstr(&c[1].text)),
	   "%s: in rounds they have the same chains", name);
	strbuf_done(&c[0].text);
	strbuf_done(&c[1].text);
}

/* ---- many rounds, and none ---- */

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

enum { FLOOD_BYTES = 1 << 29, FLOOD_HELD = 8 << 20 };

struct flood {
	struct sink sink;
	struct source *src;
	const struct tracedat *file;
	u8 *page;
	u32 page_size, used;
	u64 nr_put, nr_got, nr_rounds, held_max, early, late, shift;
	bool behind; /* the first CPU writes as fast as it is read */
	int err;
};

static int flood_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = container_of(k, struct flood, sink);
	return 0;
}

static int flood_feed(struct sink *k, void *state, const struct batch *b)
{
	((struct flood *)state)->nr_got += b->nr;
	return 0;
}

static int flood_round(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	struct flood *f = container_of(k, struct flood, sink);
	u64 rss = rss_bytes(), held = ftrace_rounds_held(f->src);
	f->held_max = max(f->held_max, held);
	if (f->nr_got > f->nr_put / 8 && f->nr_rounds++ < 20)
		f->early = max(f->early, rss);
	f->late = rss;
	return 0;
}

static const struct sink_ops flood_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = flood_new,
	.feed = flood_feed,
	.round_done = flood_round,
};

/* The same page again and again on all CPUs, later each time. */
static void *flood_pages(void *arg)
{
	struct flood *f = arg;
	u64 first, last, stamp, events = 0;
	struct ftrace_page walk;
	struct ftrace_event e;
	(void)page_times(f->file, f->page, f->page_size, &first, &last);
	(void)!ftrace_page_open(&walk, &f->file->layout, f->page, f->page_size, f->file->big_endian);
	while (ftrace_page_next(&walk, &e))
		events++;
	memcpy(&stamp, f->page, sizeof(stamp));
	for (u64 done = 0; done < FLOOD_BYTES && !f->err;) {
		for (u32 cpu = 0; cpu < 4 && !f->err; cpu++) {
			ftrace_rounds_begin(f->src, 0, cpu);
			for (int i = 0; i < 64 && !f->err; i++) {
				memcpy(f->page, &stamp, sizeof(stamp));
				f->err = ftrace_rounds_put(f->src, 0, cpu, f->page, f->page_size);
				stamp += last - first + 1;
				done += f->page_size;
				f->nr_put += events;
			}
			if (cpu || !f->behind)
				ftrace_rounds_caught_up(f->src, 0, cpu);
		}
	}
	ftrace_rounds_end(f->src);
	return NULL;
}

static void test_flood(bool behind, const char *name)
{
	char path[512];
	struct tracedat t;
	struct tracedat_copy copy;
	struct flood f = { .sink = { .ops = &flood_ops, .needs = flood_ops.needs },
			   .behind = behind };
	struct run_tables tables = { 0 };
	struct diag d;
	pthread_t thread;
	diag_init(&d);
	(void)snprintf(path, sizeof(path), "%s/trace/6.1-events_v7_none.dat", TEST_DATA);
	int err = tracedat_open(&t, path, &d);
	err = err ? err : tracedat_copy_init(&copy, &t);
	if (!ok(!err, "a recording"))
		return;
	const struct tracedat_cpu *full = t.buffers.at[0].cpus;
	for (u32 i = 0; i < t.buffers.at[0].nr_cpus; i++)
		full = t.buffers.at[0].cpus[i].nr_pages > full->nr_pages ? &t.buffers.at[0].cpus[i]
									 : full;
	struct tracedat_out_cpu cpus[4] = { { 0 }, { 1 }, { 2 }, { 3 } };
	struct tracedat_out_buffer b = {
		.name = "", .page_size = t.page_size, .cpus = cpus, .nr_cpus = 4
	};
	copy.out.buffers = &b;
	copy.out.nr_buffers = 1;
	f.file = &t;
	f.page_size = t.page_size;
	f.page = malloc(t.page_size);
	memcpy(f.page, full->pages, t.page_size);
	err = ftrace_rounds_open(&(struct ftrace_rounds_opts){ .head = &copy.out,
							       .pause_ns = 1000000,
							       .held_bytes = FLOOD_HELD },
				 &f.src);
	if (!ok(!err && !pthread_create(&thread, NULL, flood_pages, &f), "a flood of pages"))
		return;
	err = stream_run(f.src, &f.sink, 1, &tables, &d);
	pthread_join(thread, NULL);
	printf("# %llu events, at most %.1f MB held; %.1f MB resident early, %.1f at the end\n",
	       (unsigned long long)f.nr_got, (double)f.held_max / 1e6, (double)f.early / 1e6,
	       (double)f.late / 1e6);
	ok(!err && !f.err && f.nr_put > 1000000, "%s: all is put in", name);
	ok(f.nr_got == f.nr_put, "%s: and comes out, once", name);
	ok(f.held_max < FLOOD_HELD * 2, "%s: who puts in waits while much is held", name);
	ok(f.late < f.early + (16 << 20), "%s: memory stays as it was", name);
	run_tables_done(&tables);
	f.src->ops->close(f.src);
	free(f.page);
	tracedat_copy_done(&copy);
	tracedat_close(&t);
	diag_done(&d);
}

struct idle {
	struct sink sink;
	struct source *src;
	unsigned nr;
};

static int idle_round(struct sink *k, const struct run_tables *tables, const struct round *r)
{
	struct idle *i = container_of(k, struct idle, sink);
	if (++i->nr == 3)
		i->src->ops->stop(i->src);
	return i->nr > 10 ? 1 : 0;
}

static int idle_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = NULL;
	return 0;
}

static int idle_feed(struct sink *k, void *state, const struct batch *b)
{
	return -EINVAL;
}

static const struct sink_ops idle_ops = { .shard_new = idle_new,
					  .feed = idle_feed,
					  .round_done = idle_round };

static void test_idle(void)
{
	char path[512];
	struct fed f = { 0 };
	struct idle i = { .sink = { .ops = &idle_ops } };
	diag_init(&f.d);
	(void)snprintf(path, sizeof(path), "%s/trace/6.1-events_v6.dat", TEST_DATA);
	int err = tracedat_open(&f.file, path, &f.d);
	err = err ? err : tracedat_copy_init(&f.copy, &f.file);
	err = err ? err
		  : ftrace_rounds_open(&(struct ftrace_rounds_opts){ .head = &f.copy.out,
								     .idle_ns = 20000000 },
				       &f.src);
	if (!ok(!err, "a source that nothing is put into"))
		return;
	i.src = f.src;
	ok(!stream_run(f.src, &i.sink, 1, &f.tables, &f.d), "idle: it ends when it is told to");
	is_u64(i.nr, 4, "idle: rounds come without data, and one is the last");
	ok(ftrace_rounds_put(f.src, 0, 0, "", 0) == -EPIPE, "idle: then nothing is taken any more");
	close_fed(&f, true);
}

/* ---- one run, seen twice ---- */

struct tee {
	struct source *src;
	VEC(u8) * kept; /* [cpu] */
};

static void tee_begin(void *ctx, u32 cpu)
{
	ftrace_rounds_begin(((struct tee *)ctx)->src, 0, cpu);
}

static void tee_caught_up(void *ctx, u32 cpu)
{
	ftrace_rounds_caught_up(((struct tee *)ctx)->src, 0, cpu);
}

static int tee_take(void *ctx, u32 cpu, const void *pages, size_t bytes)
{
	struct tee *t = ctx;
	if (!vec_reserve(&t->kept[cpu], t->kept[cpu].nr + bytes))
		return -ENOMEM;
	memcpy(t->kept[cpu].at + t->kept[cpu].nr, pages, bytes);
	t->kept[cpu].nr += bytes;
	return ftrace_rounds_put(t->src, 0, cpu, pages, bytes);
}

static int tee_read(void *ctx, u32 buffer, u32 cpu, u64 offset, void *to, size_t len)
{
	memcpy(to, ((struct tee *)ctx)->kept[cpu].at + offset, len);
	return 0;
}

struct live_thread {
	struct told told;
	struct diag d;
	int err;
};

static void *live_main(void *arg)
{
	struct live_thread *l = arg;
	struct run_tables tables = { 0 };
	l->err = stream_run(l->told.src, &l->told.sink, 1, &tables, &l->d);
	run_tables_done(&tables);
	return NULL;
}

/* Until there were rounds. */
static void work(const u64 *nr_rounds)
{
	for (int i = 0; i < 40 || (i < 4000 && __atomic_load_n(nr_rounds, __ATOMIC_ACQUIRE) < 3);
	     i++) {
		for (int k = 0; k < 2000; k++)
			(void)syscall(SYS_getppid);
		usleep(5000);
	}
}

static int write_file(struct tee *t, struct tracedat_out *o, struct tracedat_out_cpu *cpus, u32 nr,
		      void **ret, size_t *size)
{
	struct diag d;
	diag_init(&d);
	for (u32 i = 0; i < nr; i++)
		cpus[i].size = t->kept[i].nr;
	o->read = tee_read;
	o->ctx = t;
	_cleanup_close_ int fd = memfd_create("tee", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : tracedat_write(fd, "tee", o, &d);
	*size = err ? 0 : (size_t)lseek(fd, 0, SEEK_END);
	*ret = err ? NULL : mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	diag_done(&d);
	return err;
}

static int by_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines in the order of text: an event that came late is in another place. */
static char *sorted(struct strbuf *text, u64 nr)
{
	char **lines = calloc(nr + 1, sizeof(*lines)), *at = text->data;
	struct strbuf to;
	size_t n = 0;
	strbuf_init(&to);
	for (char *end; n < nr && (end = strchr(at, '\n')); at = end + 1) {
		*end = 0;
		lines[n++] = at;
	}
	qsort(lines, n, sizeof(*lines), by_line);
	for (size_t i = 0; i < n; i++)
		strbuf_printf(&to, "%s\n", lines[i]);
	free(lines);
	return strbuf_steal(&to);
}

static void compare(struct live_thread *l, const void *map, size_t size)
{
	struct replay_ftrace_input in = { .path = "tee", .data = map, .size = size };
	struct live_thread file = { 0 };
	diag_init(&file.d);
	told_init(&file.told);
	if (!ok(!replay_ftrace_open_files(&in, 1, &(struct replay_ftrace_opts){ 0 }, &file.told.src,
					  &file.d),
		"live: the recording opens"))
		return;
	(void)live_main(&file);
	ok(!file.err && !l->err, "live: both run");
	printf("# %llu events in %llu rounds, %llu in the recording; %s\n",
	       (unsigned long long)l->told.nr, (unsigned long long)l->told.nr_rounds,
	       (unsigned long long)file.told.nr, l->told.unordered ? "some late" : "in order");
	ok(l->told.nr > 50000 && l->told.nr_rounds > 2, "live: there are events, in rounds");
	is_u64(l->told.nr, file.told.nr, "live: as many as in the recording");
	char *a = sorted(&l->told.text, l->told.nr), *b = sorted(&file.told.text, file.told.nr);
	ok(a && b && !strcmp(a, b), "live: and the same");
	free(a);
	free(b);
	file.told.src->ops->close(file.told.src);
	strbuf_done(&file.told.text);
	diag_done(&file.d);
}

static void run_tee(const struct tracing *t, const char *folder, const struct sysroot *root)
{
	static const char *const systems[] = { "raw_syscalls" };
	struct ftrace_meta m;
	struct live_thread l = { 0 };
	struct tee tee = { 0 };
	struct cpuset cpus;
	struct live_ftrace *live = NULL;
	char path[128];
	pthread_t thread;
	diag_init(&l.d);
	told_init(&l.told);
	int err = ftrace_meta_read(&m, t,
				   &(struct ftrace_meta_opts){ .root = root,
							       .folder = folder,
							       .systems = systems,
							       .nr_systems = 1,
							       .no_kallsyms = true },
				   &l.d);
	err = err ? err : cpu_online(root, &cpus);
	u32 nr = cpu_nr_present(root);
	struct tracedat_out_cpu *out = calloc(nr, sizeof(*out));
	tee.kept = calloc(nr, sizeof(*tee.kept));
	for (u32 i = 0; i < nr; i++)
		out[i].cpu = i;
	struct tracedat_out_buffer b = { .name = "",
					 .page_size = live_ftrace_subbuf_bytes(t, folder),
					 .cpus = out,
					 .nr_cpus = nr };
	m.out.version = 6;
	m.out.buffers = &b;
	m.out.nr_buffers = 1;
	err = err ? err
		  : ftrace_rounds_open(&(struct ftrace_rounds_opts){ .head = &m.out }, &l.told.src);
	tee.src = l.told.src;
	struct live_ftrace_opts lo = { .folder = folder,
				       .cpus = &cpus,
				       .interval_ns = 20000000,
				       .take = tee_take,
				       .begin = tee_begin,
				       .caught_up = tee_caught_up,
				       .ctx = &tee };
	err = err ? err : live_ftrace_open(&live, t, &lo, &l.d);
	(void)snprintf(path, sizeof(path), "%sevents/raw_syscalls/sys_enter/enable", folder);
	err = err ? err : tracing_write(t, path, "1", false);
	if (!ok(!err, "live: a buffer, its readers and a source (%d)", err))
		return;
	ok(!pthread_create(&thread, NULL, live_main, &l) && !live_ftrace_start(live),
	   "live: both start");
	work(&l.told.nr_rounds);
	(void)!tracing_write(t, path, "0", false);
	ok(!live_ftrace_stop(live), "live: reading ends");
	ftrace_rounds_end(tee.src);
	pthread_join(thread, NULL);
	void *map = NULL;
	size_t size = 0;
	if (ok(!write_file(&tee, &m.out, out, nr, &map, &size) && map != MAP_FAILED,
	       "live: what was read as a file"))
		compare(&l, map, size);
	munmap(map, size);
	live_ftrace_close(live);
	l.told.src->ops->close(l.told.src);
	strbuf_done(&l.told.text);
	for (u32 i = 0; i < nr; i++)
		vec_free(&tee.kept[i]);
	free(tee.kept);
	free(out);
	ftrace_meta_done(&m);
	diag_done(&l.d);
}

/* An instance of our own. */
static void test_tee(void)
{
	struct tracing t;
	struct sysroot root;
	char folder[64], path[128];
	(void)snprintf(folder, sizeof(folder), "instances/sonde-test-%d/", getpid());
	(void)snprintf(path, sizeof(path), "instances/sonde-test-%d", getpid());
	if (tracing_open(&t, "") || t.err || mkdirat(t.dir, path, 0700)) {
		skip("one run, live and as a recording", "no tracefs that can be written to");
		tracing_close(&t);
		return;
	}
	(void)snprintf(path, sizeof(path), "%sbuffer_size_kb", folder);
	if (ok(!sysroot_open(&root, NULL) && !tracing_write(&t, path, "8192", false),
	       "live: an instance"))
		run_tee(&t, folder, &root);
	sysroot_close(&root);
	(void)snprintf(path, sizeof(path), "instances/sonde-test-%d", getpid());
	for (int i = 0; i < 100 && unlinkat(t.dir, path, AT_REMOVEDIR); i++)
		usleep(20000);
	tracing_close(&t);
}

int main(void)
{
	static const char *const orders[] = { "6.1-events_v7_none", "6.1-instance_and_top",
					      "6.1-lost",	    "6.12-events_v7_zstd",
					      "arm64-syscalls",	    "6.1-graph_events" };
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		test_order(orders[i]);
	test_table("6.1-events_v7_none", TABLE_TIMES, "where time goes");
	test_table("6.12-stacks", TABLE_TIMES, "where time goes");
	test_table("6.1-graph", TABLE_GRAPH, "the time of functions");
	test_table("6.12-graph_depth3", TABLE_GRAPH, "the time of functions");
	test_chains("6.12-stacks");
	test_chains("6.1-graph");
	test_flood(false, "flood");
	test_flood(true, "a CPU that is never read to its end");
	test_idle();
	test_tee();
	return done_testing();
}
