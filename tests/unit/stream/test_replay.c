/*
 * One story, told in every form a perf.data can have, is the same story. Cut off anywhere, what is whole is read and the rest is
 * said. Numbers that promise what is not there are refused.
 */
#include "gen/perfwrite.h"
#include "stream/replay_perf.h"
#include "stream/rounds.h"
#include "stream/run.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* ---- a sink that writes every sample as a line ---- */

struct lines {
	struct sink sink;
	struct source *src;
	VEC(char *) all;
	size_t backwards; /* samples before the one before; one worker only */
	unsigned shards; /* how many were begun, also in vain */
	void (*prepared)(void *ctx); /* what is to happen then; NULL: nothing */
	void *ctx;
};

struct lines_shard {
	const struct shard *shard;
	VEC(char *) own;
	u64 last;
};

static void put_frame(struct strbuf *s, const struct lines *l, const struct shard *sh, u32 id)
{
	const struct frame *f = &sh->frames.frames[id];
	strbuf_printf(s, " %s+%llx/%u", f->image ? l->src->catalog.images.at[f->image].name : "?",
		      (unsigned long long)f->offset, f->mode);
}

static int lines_shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	struct lines_shard *own = calloc(1, sizeof(*own));
	own->shard = sh;
	*state = own;
	struct lines *l = container_of(k, struct lines, sink);
	l->shards++;
	if (l->prepared)
		l->prepared(l->ctx);
	return 0;
}

static int lines_feed(struct sink *k, void *state, const struct batch *b)
{
	struct lines *l = container_of(k, struct lines, sink);
	struct lines_shard *own = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		struct strbuf t;
		l->backwards += own->last > s->time_ns;
		own->last = s->time_ns;
		strbuf_init(&t);
		strbuf_printf(&t, "e%u t%llu p%llu ip%llx a%llx c%d %d/%d ", s->event,
			      (unsigned long long)s->time_ns, (unsigned long long)s->period,
			      (unsigned long long)s->ip, (unsigned long long)s->addr, s->cpu,
			      s->pid, s->tid);
		if (COMM_IS_UNNAMED(s->comm))
			strbuf_printf(&t, ":%u", s->comm & 0x7fffffffu);
		else
			strbuf_str(&t, strtab_str(&l->src->catalog.strings, s->comm));
		put_frame(&t, l, own->shard, s->leaf);
		strbuf_str(&t, " |");
		u32 nr;
		const u32 *frames = chain_frames(&own->shard->chains, s->chain, &nr);
		for (u32 k2 = 0; k2 < nr; k2++)
			put_frame(&t, l, own->shard, frames[k2]);
		strbuf_printf(&t, " raw %u", s->raw_size);
		if (s->raw_size)
			strbuf_printf(&t, " %02x", *(const u8 *)s->raw);
		*vec_push(&own->own) = strbuf_steal(&t);
	}
	return 0;
}

static int lines_merge(struct sink *k, const struct sink_part *parts, u32 nr, unsigned workers)
{
	struct lines *l = container_of(k, struct lines, sink);
	for (u32 i = 0; i < nr; i++) {
		struct lines_shard *own = parts[i].state;
		vec_for_each (&own->own, line)
			*vec_push(&l->all) = *line;
		own->own.nr = 0;
	}
	return 0;
}

static void lines_shard_free(struct sink *k, void *state)
{
	struct lines_shard *own = state;
	vec_for_each (&own->own, line)
		free(*line);
	vec_free(&own->own);
	free(own);
}

static const struct sink_ops lines_ops = {
	.needs = NEED_CHAIN | NEED_LEAF | NEED_COMM | NEED_RAW,
	.shard_new = lines_shard_new,
	.feed = lines_feed,
	.merge = lines_merge,
	.shard_free = lines_shard_free,
};

static void lines_done(struct lines *l)
{
	vec_for_each (&l->all, line)
		free(*line);
	vec_free(&l->all);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct outcome {
	int err;
	struct lines lines;
	struct diag diag;
	u64 nr_lost;
	char name[2][64];
	bool truncated;
};

static void outcome_done(struct outcome *o)
{
	lines_done(&o->lines);
	diag_done(&o->diag);
}

static void replay_hooked(const void *data, size_t size, unsigned workers, unsigned needs,
			  void (*prepared)(void *), void *ctx, struct outcome *o)
{
	*o = (struct outcome){ .lines = { .sink = { .ops = &lines_ops,
						    .needs = lines_ops.needs | needs },
					  .prepared = prepared,
					  .ctx = ctx } };
	diag_init(&o->diag);
	struct source *src;
	o->err = replay_perf_open_bytes(data, size, &src, &o->diag);
	if (o->err)
		return;
	o->lines.src = src;
	struct run_tables run;
	o->err = stream_run(src, &o->lines.sink, workers, &run, &o->diag);
	o->nr_lost = src->catalog.nr_lost;
	for (u32 i = 0; i < 2 && i < src->catalog.events.nr; i++)
		snprintf(o->name[i], sizeof(o->name[i]), "%s", src->catalog.events.at[i].name);
	o->truncated = replay_perf_file(src)->truncated || replay_perf_file(src)->unfinished;
	run_tables_done(&run);
	src->ops->close(src);
	if (o->lines.all.nr)
		qsort(o->lines.all.at, o->lines.all.nr, sizeof(char *), by_text);
}

static void replay_needs(const void *data, size_t size, unsigned workers, unsigned needs,
			 struct outcome *o)
{
	replay_hooked(data, size, workers, needs, NULL, NULL, o);
}

static void replay(const void *data, size_t size, unsigned workers, struct outcome *o)
{
	replay_needs(data, size, workers, 0, o);
}

/* All lines of a are in b: how many are not. */
static size_t missing(const struct lines *a, const struct lines *b)
{
	size_t k = 0, lost = 0;
	for (size_t i = 0; i < a->all.nr; i++) {
		while (k < b->all.nr && strcmp(b->all.at[k], a->all.at[i]) < 0)
			k++;
		if (k < b->all.nr && !strcmp(b->all.at[k], a->all.at[i])) {
			k++;
			continue;
		}
		if (!lost++)
			printf("# not there: %s\n", a->all.at[i]);
	}
	return lost;
}

static bool said(const struct outcome *o, const char *what)
{
	vec_for_each (&o->diag.items, i)
		if (strstr(i->message, what))
			return true;
	return false;
}

/* A copy that ends where the data ends: a sanitizer sees every byte read behind it. */
static u8 *tight(const void *data, size_t size)
{
	u8 *p = malloc(size ? size : 1);
	if (size)
		memcpy(p, data, size);
	return p;
}

/* ---- forms ---- */

static const struct {
	const char *name;
	unsigned form;
	u32 attr_size;
	u32 piece;
	unsigned workers;
	bool quiet; /* its names are not told */
} forms[] = {
	{ "plain", 0, 0, 0, 1 },
	{ "plain, two workers", 0, 0, 0, 2 },
	{ "plain, seven workers", 0, 0, 0, 7 },
	{ "the opposite byte order", PERFWRITE_SWAP, 0, 0, 2 },
	{ "attrs of 64 bytes", 0, 64, 0, 1 },
	{ "attrs of 72 bytes, swapped", PERFWRITE_SWAP, 72, 0, 1 },
	{ "attrs of 136 bytes", 0, 136, 0, 1 },
	{ "attrs of 144 bytes, swapped", PERFWRITE_SWAP, 144, 0, 1 },
	{ "attrs of 256 bytes, pipe", PERFWRITE_PIPE, 256, 0, 1 },
	{ "pipe", PERFWRITE_PIPE, 0, 0, 2 },
	{ "pipe, swapped, attrs of 96 bytes", PERFWRITE_PIPE | PERFWRITE_SWAP, 96, 0, 1 },
	{ "zstd, pieces of 1000", PERFWRITE_ZSTD, 0, 1000, 1 },
	{ "zstd, pieces of 77, two workers", PERFWRITE_ZSTD, 0, 77, 2 },
	{ "zstd, pieces of 1 MB", PERFWRITE_ZSTD, 0, 1 << 20, 3 },
	{ "COMPRESSED2", PERFWRITE_ZSTD2, 0, 333, 2 },
	{ "COMPRESSED2, swapped, pipe", PERFWRITE_ZSTD2 | PERFWRITE_PIPE | PERFWRITE_SWAP, 0, 5000,
	  2 },
	{ "killed recorder", PERFWRITE_KILLED, 0, 0, 2, .quiet = true },
	{ "killed recorder, zstd", PERFWRITE_KILLED | PERFWRITE_ZSTD, 0, 0, 1, .quiet = true },
};

static void tell(struct perfwrite *w, unsigned form, u32 attr_size, u32 piece, u32 rounds)
{
	perfwrite_story(w, form | PERFWRITE_OPEN, attr_size, rounds);
	w->piece = piece;
	perfwrite_end(w);
}

static void test_forms(u32 rounds)
{
	struct outcome first = { 0 };
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct perfwrite w;
		struct outcome o;
		tell(&w, forms[i].form, forms[i].attr_size, forms[i].piece, rounds);
		u8 *data = tight(w.out.data, w.out.len);
		replay(data, w.out.len, forms[i].workers, &o);
		free(data);
		perfwrite_done(&w);
		if (!i) {
			first = o;
			ok(!o.err && o.lines.all.nr == 6 * rounds, "%u rounds are read", rounds);
			continue;
		}
		bool names = forms[i].quiet || (!strcmp(o.name[0], "cpu-clock") &&
						!strcmp(o.name[1], "sched:sched_switch"));
		bool unsaid = !(forms[i].form & PERFWRITE_KILLED) && o.diag.items.nr;
		bool good = !o.err && o.lines.all.nr == first.lines.all.nr &&
			    !missing(&o.lines, &first.lines) && o.nr_lost == first.nr_lost &&
			    names && !unsaid;
		ok(good, "%u rounds, the same samples: %s", rounds, forms[i].name);
		if (!good)
			printf("# err %d, %zu lines, lost %llu, '%s' '%s', %s\n", o.err,
			       o.lines.all.nr, (unsigned long long)o.nr_lost, o.name[0], o.name[1],
			       o.diag.items.nr ? o.diag.items.at[0].message : "nothing said");
		if (forms[i].form & PERFWRITE_KILLED)
			ok(said(&o, "not finished"), "and it is said: %s", forms[i].name);
		outcome_done(&o);
	}
	outcome_done(&first);
}

/* Records of several CPUs, shuffled; who needs time order gets it, with the same samples. */
static void test_order(void)
{
	static const unsigned ways[] = { 0, PERFWRITE_SWAP, PERFWRITE_PIPE, PERFWRITE_ZSTD,
					 PERFWRITE_ZSTD2 | PERFWRITE_SWAP };
	struct outcome plain, o;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct perfwrite w;
		perfwrite_story(&w, ways[i] | PERFWRITE_OPEN, 0, 500);
		for (u64 k = 0; k < 3000; k++) /* another CPU's ring, written later */
			perfwrite_sample(&w, 0,
					 &(struct perfwrite_sample){ .misc = 2,
								     .ip = 0x400010,
								     .pid = 100,
								     .tid = 100,
								     .period = 3,
								     .time = 1001 + k * 7919 % 500000,
								     .cpu = 2 });
		perfwrite_end(&w);
		replay(w.out.data, w.out.len, 2, &plain);
		replay_needs(w.out.data, w.out.len, 1, NEED_ORDER, &o);
		ok(!o.err && !o.lines.backwards && o.lines.all.nr == plain.lines.all.nr &&
			   o.lines.all.nr == 6000 && !missing(&o.lines, &plain.lines),
		   "in time order: form 0x%x", ways[i]);
		outcome_done(&o);
		outcome_done(&plain);
		perfwrite_done(&w);
	}
}

struct rewritten {
	u8 *last; /* the last record of the file */
};

/* Whoever may write to the file makes its last record longer than the file. */
static void rewrite_last(void *ctx)
{
	struct perf_event_header h;
	u64 nr = 8000;
	u8 *at = ((struct rewritten *)ctx)->last;
	memcpy(&h, at, sizeof(h));
	h.size = 0xfff0;
	memcpy(at, &h, sizeof(h));
	memcpy(at + sizeof(h) + 16, &nr, sizeof(nr));
}

/* Samples are sorted first and decoded later: what lies there by then is looked at anew. */
static void test_rewritten(void)
{
	struct perfwrite w;
	perfwrite_begin(&w, PERFWRITE_PIPE);
	struct perf_event_attr a = {
		.type = 1, .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN
	};
	perfwrite_event(&w, &a, (u64[]){ 1 }, 1, NULL);
	perfwrite_kernel(&w);
	for (u64 i = 0; i < 100; i++)
		perfwrite_sample(&w, 0,
				 &(struct perfwrite_sample){ .misc = 2,
							     .ip = 0x1000 + i,
							     .time = 1000 - i,
							     .chain = (u64[]){ 0x1000 + i },
							     .nr_chain = 1 });
	perfwrite_end(&w);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (w.out.len + page - 1) & ~(page - 1);
	u8 *map =
		mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ok(map != MAP_FAILED && !mprotect(map + room, page, PROT_NONE),
	   "nothing lies after the file");
	u8 *data = memcpy(map + room - w.out.len, w.out.data, w.out.len);
	struct rewritten last = { 0 };
	for (size_t at = 16; at < w.out.len;) {
		struct perf_event_header h;
		memcpy(&h, data + at, sizeof(h));
		last.last = data + at;
		at += h.size;
	}
	struct outcome o;
	replay_hooked(data, w.out.len, 1, NEED_ORDER, rewrite_last, &last, &o);
	is_u64(o.lines.all.nr, 99, "a record that grew after it was sorted is left out");
	outcome_done(&o);
	munmap(map, room + page);
	perfwrite_done(&w);
}

/* Long after the last change of tasks and maps a worker need not wait for another one: and if there is one, it counts. */
static void test_early(void)
{
	enum { QUIET = 3500 };
	static const struct {
		const char *name;
		bool comm, map, cut, large;
		unsigned times; /* it had to begin */
	} ways[] = {
		{ .name = "nothing more is told", .times = 1 },
		{ .name = "a name", .comm = true, .times = 2 },
		{ .name = "a map", .map = true, .times = 2 },
		{ .name = "it is truncated", .cut = true, .times = 2 },
		{ .name = "records as long as can be, across pieces", .large = true, .times = 1 },
	};
	/* A first pass on several threads must not take these for records. */
	static u32 payload[65000 / sizeof(u32)];
	for (size_t i = 1; i + 1 < ARRAY_SIZE(payload); i += 2) {
		payload[i] = PERF_RECORD_SAMPLE;
		payload[i + 1] = 8u << 16; /* its size */
	}
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct perfwrite w;
		struct outcome plain, o;
		perfwrite_story(&w, PERFWRITE_OPEN, 0, 20);
		for (u64 k = 0; k < QUIET; k++) {
			u32 size = ways[i].large && k % 20 == 0 ? sizeof(payload) - 8 * (u32)(k % 7)
								: 4000;
			perfwrite_sample(&w, k % 2,
					 &(struct perfwrite_sample){ .misc = 2,
								     .ip = 0x400010 + k % 7,
								     .pid = 100,
								     .tid = 100,
								     .period = k,
								     .time = 1000000 + k,
								     .raw = payload,
								     .raw_size = size });
			perfwrite_sample(&w, 1,
					 &(struct perfwrite_sample){ .misc = 2,
								     .ip = 0x7f0030,
								     .pid = 100,
								     .tid = 100,
								     .time = 1000000 + k,
								     .raw = payload,
								     .raw_size = size });
		}
		if (ways[i].comm) /* another CPU's ring: later in the file, earlier in time */
			perfwrite_comm(&w, 100, 100, "renamed", false, 1000000 + QUIET / 2);
		if (ways[i].map)
			perfwrite_mmap(&w,
				       &(struct perfwrite_map){ .pid = 100,
								.addr = 0x400000,
								.len = 0x1000,
								.name = "/lib/late.so" },
				       1000000 + QUIET / 3);
		perfwrite_lost(&w, 3, 2000000);
		perfwrite_end(&w);
		size_t size = ways[i].cut ? w.out.len - w.out.len / 5 - 3 : w.out.len;
		u8 *data = tight(w.out.data, size);
		replay(data, size, 2, &plain);
		for (unsigned workers = 1; workers <= 7; workers += 3) {
			replay_needs(data, size, workers, MAY_START_EARLY, &o);
			bool same = o.err == plain.err && o.lines.all.nr == plain.lines.all.nr &&
				    !missing(&o.lines, &plain.lines) &&
				    o.nr_lost == plain.nr_lost && o.truncated == plain.truncated &&
				    o.diag.items.nr == plain.diag.items.nr;
			ok(same && o.lines.shards == ways[i].times * workers,
			   "started early with %u workers, then: %s", workers, ways[i].name);
			if (!same)
				printf("# err %d, %zu lines, not %zu; %u shards\n", o.err,
				       o.lines.all.nr, plain.lines.all.nr, o.lines.shards);
			outcome_done(&o);
		}
		outcome_done(&plain);
		free(data);
		perfwrite_done(&w);
	}
}

/* Hand-checked lines, so that "the same" is also "right". */
static void test_meaning(void)
{
	static const char *const want[] = {
		"e0 t1010 p250000 ip81000100 a0 c0 100/100 shell [kernel.kallsyms]+81000100/1 | "
		"?+7f0030/2 shell+20/2 shell+10/2 "
		"[kernel.kallsyms]+81000200/1 [kernel.kallsyms]+81000100/1 raw 0",
		"e0 t2010 p250001 ip81000100 a0 c1 100/100 shell [kernel.kallsyms]+81000100/1 | "
		"plugin0.so+30/2 shell+20/2 shell+10/2 "
		"[kernel.kallsyms]+81000201/1 [kernel.kallsyms]+81000100/1 raw 0",
		"e0 t1030 p250000 ip400010 a0 c1 200/200 shell shell+10/2 | ?+7f0030/2 shell+20/2 "
		"shell+10/2 raw 0",
		"e0 t1050 p1000 ip500000 a0 c1 200/200 tool tool+2000/2 | shell+20/2 tool+2400/2 "
		"tool+2000/2 raw 0",
		"e1 t1080 p1 ip81000300 aabc c0 100/150 worker [kernel.kallsyms]+81000300/1 | raw "
		"4 70",
		"e0 t1082 p7 ip90000004 a0 c0 100/150 worker bpf_prog_1+90000004/1 | "
		"[kernel.kallsyms]+81000300/1 bpf_prog_1+90000004/1 raw 0",
		"e0 t1084 p7 ip90000004 a0 c0 100/150 worker ?+90000004/1 | "
		"[kernel.kallsyms]+81000300/1 ?+90000004/1 raw 0",
	};
	struct perfwrite w;
	struct outcome o;
	perfwrite_story(&w, 0, 0, 2);
	replay(w.out.data, w.out.len, 1, &o);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		bool found = false;
		vec_for_each (&o.lines.all, line)
			found |= !strcmp(*line, want[i]);
		if (!ok(found, "sample %zu is as told", i))
			printf("# want %s\n", want[i]);
	}
	if (tap_failed)
		vec_for_each (&o.lines.all, line)
			printf("# have %s\n", *line);
	is_u64(o.nr_lost, 5, "losses are counted");
	outcome_done(&o);
	perfwrite_done(&w);
}

/* ---- what was lost before a sample ---- */

struct gaps {
	struct sink sink;
	_Atomic u64 nr, time, missed;
	_Atomic s32 cpu;
};

static int gaps_shard_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = k;
	return 0;
}

static int gaps_feed(struct sink *k, void *state, const struct batch *b)
{
	struct gaps *g = container_of(k, struct gaps, sink);
	for (size_t i = 0; i < b->nr; i++) {
		if (!b->samples[i].missed)
			continue;
		g->nr++;
		g->time = b->samples[i].time_ns;
		g->missed = b->samples[i].missed;
		g->cpu = b->samples[i].cpu;
	}
	return 0;
}

static const struct sink_ops gaps_ops = { .shard_new = gaps_shard_new, .feed = gaps_feed };

static void find_gaps(unsigned form, unsigned workers, unsigned needs, struct gaps *g)
{
	struct perfwrite w;
	struct diag d;
	struct source *src;
	struct run_tables run = { 0 };
	*g = (struct gaps){ .sink = { .ops = &gaps_ops, .needs = needs } };
	diag_init(&d);
	perfwrite_story(&w, form, 0, 6);
	if (replay_perf_open_bytes(w.out.data, w.out.len, &src, &d))
		abort();
	ok(!stream_run(src, &g->sink, workers, &run, &d), "form %x, %u workers", form, workers);
	run_tables_done(&run);
	src->ops->close(src);
	diag_done(&d);
	perfwrite_done(&w);
}

/* The record that says so is of CPU 0: samples of CPU 1 that come first are not meant. */
static void test_gaps(void)
{
	static const unsigned forms[] = { 0, PERFWRITE_SWAP, PERFWRITE_PIPE, PERFWRITE_ZSTD };
	struct gaps g;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		find_gaps(forms[i], i % 2 ? 3 : 1, NEED_ORDER, &g);
		ok(g.nr == 2 && g.missed == 5 && g.cpu == 0 && g.time == 6080,
		   "the next sample of that CPU comes after the loss");
		if (g.nr != 2 || g.time != 6080)
			printf("# %llu, at %llu on %d\n", (unsigned long long)g.nr,
			       (unsigned long long)g.time, g.cpu);
	}
	find_gaps(0, 1, 0, &g);
	ok(!g.nr, "without the order of time nothing is said of it");
}

/* Without times, the place in the file is the time: the same samples, but for the number. */
static void test_no_times(void)
{
	struct outcome first;
	struct perfwrite w;
	perfwrite_story(&w, 0, 0, 40);
	replay(w.out.data, w.out.len, 1, &first);
	perfwrite_done(&w);
	vec_for_each (&first.lines.all, line) {
		char *t = strchr(*line, 't'), *end = strchr(t, ' ');
		t[1] = '0';
		memmove(t + 2, end, strlen(end) + 1);
	}
	qsort(first.lines.all.at, first.lines.all.nr, sizeof(char *), by_text);
	static const unsigned ways[] = { 0, PERFWRITE_SWAP, PERFWRITE_PIPE, PERFWRITE_ZSTD,
					 PERFWRITE_ZSTD2 | PERFWRITE_SWAP };
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct outcome o;
		perfwrite_story(&w, ways[i] | PERFWRITE_NO_TIMES, 0, 40);
		replay(w.out.data, w.out.len, 2, &o);
		ok(!o.err && o.lines.all.nr == first.lines.all.nr && !missing(&o.lines, &first.lines),
		   "without times: form 0x%x", ways[i]);
		outcome_done(&o);
		perfwrite_done(&w);
	}
	outcome_done(&first);
}

/* ---- damage ---- */

/* Samples that are whole before an offset: a walk of our own over the records as they were written. */
static size_t whole_samples(const struct perfwrite *w, size_t data_at, size_t cut)
{
	size_t nr = 0, at = data_at;
	const struct strbuf *parts[] = { &w->user, &w->kernel };
	for (unsigned i = 0; i < 2; i++)
		for (size_t in = 0; in < parts[i]->len;) {
			struct perf_event_header h =
				perf_head((u8 *)parts[i]->data + in, w->form & PERFWRITE_SWAP);
			size_t size = h.size + (h.type == REC_AUXTRACE ? 40u : 0u);
			in += size;
			at += size;
			nr += h.type == PERF_RECORD_SAMPLE && at <= cut;
		}
	return nr;
}

static void test_cut(unsigned form, size_t step, const char *name)
{
	struct perfwrite w;
	struct outcome full, o;
	perfwrite_story(&w, form, 0, 3);
	replay(w.out.data, w.out.len, 1, &full);
	/* Where the records begin: what stands behind them is known from the end of the file form, of the head in pipe form. */
	size_t data_at;
	if (form & PERFWRITE_PIPE) {
		data_at = 16;
	} else {
		u64 v;
		memcpy(&v, w.out.data + 40, 8);
		data_at = form & PERFWRITE_SWAP ? __builtin_bswap64(v) : v;
	}
	size_t wrong = 0, refused = 0, silent = 0, read = 0;
	for (size_t cut = 0; cut < w.out.len; cut += step) {
		u8 *data = tight(w.out.data, cut);
		replay(data, cut, 1, &o);
		free(data);
		refused += o.err != 0;
		silent += o.err && !o.diag.nr_errors;
		if (!o.err) {
			read++;
			wrong += missing(&o.lines, &full.lines) != 0;
			if (!(form & (PERFWRITE_ZSTD | PERFWRITE_ZSTD2)))
				wrong += o.lines.all.nr != whole_samples(&w, data_at, cut);
		}
		outcome_done(&o);
	}
	ok(!wrong && read && refused,
	   "%s, truncated anywhere: what is whole is read (%zu cuts; %zu too short to begin)", name,
	   read + refused, refused);
	is_u64(silent, 0, "and nothing is refused without a word");
	outcome_done(&full);
	perfwrite_done(&w);
}

static void test_cut_said(void)
{
	struct perfwrite w;
	struct outcome o;
	perfwrite_story(&w, 0, 0, 3);
	u64 data_at;
	memcpy(&data_at, w.out.data + 40, 8);
	replay(w.out.data, data_at + w.user.len + 60, 1, &o);
	ok(!o.err && o.truncated && said(&o, "truncated"), "a file that is truncated: it is said");
	outcome_done(&o);
	/* A record of size 0 in the middle. */
	memset(w.out.data + data_at + w.user.len + 6, 0, 2);
	replay(w.out.data, w.out.len, 1, &o);
	ok(!o.err && o.truncated && said(&o, "damaged at byte"), "a record of no size: it is said");
	is_u64(o.lines.all.nr, 0, "and nothing behind it is read");
	outcome_done(&o);
	perfwrite_done(&w);
}

/* A sample of an event nobody announced, a sample whose inside does not fit, a chain with a mark nobody knows. */
static void test_bad_samples(void)
{
	struct perfwrite w;
	struct outcome o;
	perfwrite_story(&w, PERFWRITE_OPEN, 0, 1);
	u64 chain[] = { (u64)-4000, 1, 2 };
	struct perfwrite_sample s = {
		.id = 999, .ip = 1, .pid = 100, .tid = 100, .time = 9000, .chain = chain, .nr_chain = 3
	};
	perfwrite_sample(&w, 0, &s);
	s.id = 11;
	perfwrite_sample(&w, 0, &s);
	perfwrite_rec(&w, PERF_RECORD_SAMPLE, 0);
	perfwrite_u64(&w, 11);
	perfwrite_rec_end(&w, 0);
	perfwrite_rec(&w, PERF_RECORD_COMM, 0);
	perfwrite_rec_end(&w, 0);
	perfwrite_end(&w);
	replay(w.out.data, w.out.len, 2, &o);
	is_u64(o.lines.all.nr, 6 + 1, "odd samples: the one with an odd chain stays, without it");
	ok(said(&o, "1 sample does not belong to any event"), "odd samples: of no event");
	ok(said(&o, "2 damaged records"), "odd samples: damaged");
	ok(said(&o, "1 corrupt call chain was dropped"), "odd samples: the chain");
	outcome_done(&o);
	perfwrite_done(&w);
}

/* Chains at odd addresses: a record of odd size shifts all that follow. They are copied, and must not overwrite each other. */
static void test_unaligned(void)
{
	struct perfwrite w;
	struct outcome o;
	perfwrite_begin(&w, 0);
	struct perf_event_attr a = {
		.type = 1, .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN
	};
	perfwrite_event(&w, &a, (u64[]){ 1 }, 1, NULL);
	perfwrite_kernel(&w);
	for (u64 i = 0; i < 400; i++) {
		u64 chain[40];
		for (u64 k = 0; k < 40; k++)
			chain[k] = 1 + i * 100 + k;
		perfwrite_sample(&w, 0,
				 &(struct perfwrite_sample){ .misc = 2,
							     .ip = 1 + i * 100,
							     .chain = chain,
							     .nr_chain = 1 + i % 40 });
		perfwrite_bytes(&w, "yyyyyyyy", (i * 3) % 8); /* the sample itself may be odd, too */
		perfwrite_rec_end(&w, 0);
		perfwrite_rec(&w, 127, 0);
		perfwrite_bytes(&w, "xxxxxxxx", (i * 5) % 8);
		perfwrite_rec_end(&w, 0);
	}
	perfwrite_end(&w);
	replay(w.out.data, w.out.len, 1, &o);
	unsigned bad = 0;
	vec_for_each (&o.lines.all, line) {
		unsigned long long ip = strtoull(strstr(*line, "ip") + 2, NULL, 16);
		char want[64], *chain = strchr(*line, '|');
		u64 nr = (ip - 1) / 100 % 40 + 1;
		snprintf(want, sizeof(want), " ?+%llx/2 raw", ip);
		bad += !strstr(chain, want);
		snprintf(want, sizeof(want), "| ?+%llx/2 ", ip + nr - 1);
		bad += strncmp(chain, want, strlen(want)) != 0;
	}
	ok(!o.err && o.lines.all.nr == 400 && !bad, "records at odd addresses keep their chains");
	outcome_done(&o);
	perfwrite_done(&w);
}

/* The longest chain that a record can hold. */
static void test_longest(void)
{
	struct perfwrite w;
	struct outcome o;
	static u64 chain[8180];
	perfwrite_begin(&w, 0);
	struct perf_event_attr a = { .type = 1,
				     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN };
	perfwrite_event(&w, &a, (u64[]){ 1 }, 1, NULL);
	for (u64 k = 0; k < ARRAY_SIZE(chain); k++)
		chain[k] = 0x1000 + k;
	perfwrite_sample(
		&w, 0,
		&(struct perfwrite_sample){
			.misc = 2, .ip = 0x1000, .chain = chain, .nr_chain = ARRAY_SIZE(chain) });
	perfwrite_end(&w);
	replay(w.out.data, w.out.len, 1, &o);
	char want[64];
	snprintf(want, sizeof(want), "| ?+%zx/2 ", 0x1000 + ARRAY_SIZE(chain) - 1);
	ok(!o.err && o.lines.all.nr == 1 && strstr(o.lines.all.at[0], want),
	   "8,180 frames: the outermost one is there");
	outcome_done(&o);
	perfwrite_done(&w);
}

static int no_state(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = NULL;
	return 0;
}

static int no_feed(struct sink *k, void *state, const struct batch *b)
{
	return 0;
}

/* User chains that come later, by themselves (kernel 6.19 on): the kernel's part is kept. */
static void test_deferred(void)
{
	struct perfwrite w;
	struct outcome o;
	perfwrite_begin(&w, 0);
	struct perf_event_attr a = { .type = 1,
				     .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN };
	perfwrite_event(&w, &a, (u64[]){ 1 }, 1, NULL);
	u64 chain[] = { (u64)PERF_CONTEXT_KERNEL, 0x10, 0x20, (u64)-640, 77 };
	perfwrite_sample(
		&w, 0,
		&(struct perfwrite_sample){ .misc = 1, .ip = 0x10, .chain = chain, .nr_chain = 5 });
	perfwrite_end(&w);
	replay(w.out.data, w.out.len, 1, &o);
	ok(!o.err && o.lines.all.nr == 1 && strstr(o.lines.all.at[0], "| ?+20/1 ?+10/1 raw"),
	   "deferred user chains: the kernel's part stays");
	ok(said(&o, "user part"), "and what is missing is said");
	outcome_done(&o);
	perfwrite_done(&w);
}

static int frames_run(const struct perfwrite *w, unsigned needs, struct run_tables *run,
		      struct diag *d)
{
	static const struct sink_ops ops = { .shard_new = no_state, .feed = no_feed };
	struct sink sink = { .ops = &ops, .needs = needs };
	struct source *src;
	diag_init(d);
	int err = replay_perf_open_bytes(w->out.data, w->out.len, &src, d);
	if (err)
		return err;
	err = stream_run(src, &sink, 1, run, d);
	src->ops->close(src);
	return err;
}

/* NEED_FRAMES: the frames of all chains, and what is wrong with them, without a table of chains. */
static void test_frames(void)
{
	struct perfwrite w;
	struct run_tables with, without;
	struct diag d, also;
	perfwrite_story(&w, 0, 0, 300);
	ok(!frames_run(&w, NEED_LEAF | NEED_CHAIN, &with, &d) &&
		   !frames_run(&w, NEED_LEAF | NEED_FRAMES, &without, &also),
	   "a run for the chains, another for the frames");
	ok(with.chains.nr > 1 && with.frames.nr > 2, "there are chains");
	is_u64(without.frames.nr, with.frames.nr, "as many frames");
	ok(!memcmp(without.frames.frames, with.frames.frames,
		   with.frames.nr * sizeof(*with.frames.frames)),
	   "the same ones");
	is_u64(without.chains.nr, 1, "and no chain");
	is_u64(also.items.nr, d.items.nr, "what is wrong is told either way");
	diag_done(&d);
	diag_done(&also);
	run_tables_done(&with);
	run_tables_done(&without);
	perfwrite_done(&w);
}

/* Every word of a file replaced by numbers that hurt: never a crash, never long. */
static void test_hostile(unsigned form, unsigned needs, const char *name)
{
	static const u64 nasty[] = { 0,
				     1,
				     7,
				     UINT64_MAX,
				     UINT64_MAX - 7,
				     0x7fffffffffffffff,
				     0x8000000000000000,
				     0xffffffff,
				     0x100000000,
				     0x0008000000000009,
				     0xffff000000000009,
				     0xfff8000000000001,
				     0x0008000000000047 };
	struct perfwrite w;
	struct outcome o;
	perfwrite_story(&w, form, 0, 2);
	u8 *data = tight(w.out.data, w.out.len);
	double worst = 0;
	size_t tries = 0;
	for (size_t at = 0; at + 8 <= w.out.len; at += 8)
		for (size_t i = at / 8 % 3; i < ARRAY_SIZE(nasty);
		     i += 3, tries++) { /* a third of them, others the next time */
			struct timespec a, b;
			memcpy(data, w.out.data, w.out.len);
			memcpy(data + at, &nasty[i], 8);
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
			replay_needs(data, w.out.len, 1, needs, &o);
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
			double took = (double)(b.tv_sec - a.tv_sec) +
				      (double)(b.tv_nsec - a.tv_nsec) / 1e9;
			worst = max(worst, took);
			outcome_done(&o);
		}
	ok(worst < 1, "%s, every word replaced by bad ones: %zu files, none takes a second", name,
	   tries);
	free(data);
	perfwrite_done(&w);
}

/* Compressed damage: a bad record inside, and a few bytes that become gigabytes. */
static void test_bombs(void)
{
	struct perfwrite w;
	struct outcome o;
	for (unsigned kind = 0; kind < 3; kind++) {
		perfwrite_story(&w, PERFWRITE_ZSTD | PERFWRITE_OPEN, 0, 2);
		w.piece = 1 << 20;
		static const char *const names[] = { "a record of no size",
						     "a payload that never ends",
						     "tiny records without end" };
		if (kind == 1) {
			perfwrite_rec(&w, REC_AUXTRACE, 0);
			perfwrite_u64(&w, 1ull << 40);
			perfwrite_rec_end(&w, 0);
		}
		size_t bytes = kind == 2 ? (size_t)256 << 20 : (size_t)64 << 20;
		if (kind < 2)
			strbuf_fill(&w.kernel, 0, bytes);
		for (size_t i = 0; kind == 2 && i < bytes / 8; i++)
			strbuf_add(&w.kernel, "\x7f\0\0\0\0\0\x08", 8);
		perfwrite_end(&w);
		struct timespec a, b;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
		replay(w.out.data, w.out.len, 1, &o);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
		printf("# %zu bytes of file, %.2f s\n", w.out.len,
		       (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
		ok(!o.err && o.lines.all.nr == 12 && o.truncated,
		   "compressed: %s: what stands before it is read", names[kind]);
		outcome_done(&o);
		perfwrite_done(&w);
	}
}

/* ---- a stream that is still being written ---- */

static void whole_in_order(const struct perfwrite *w, struct lines *to)
{
	struct run_tables run = { 0 };
	struct diag d;
	diag_init(&d);
	*to = (struct lines){ .sink = { .ops = &lines_ops, .needs = lines_ops.needs | NEED_ORDER } };
	u8 *copy = tight(w->out.data, w->out.len);
	int err = replay_perf_open_bytes(copy, w->out.len, &to->src, &d);
	if (!err) {
		err = stream_run(to->src, &to->sink, 1, &run, &d);
		run_tables_done(&run);
		to->src->ops->close(to->src);
	}
	ok(!err, "the whole");
	diag_done(&d);
	free(copy);
}

/* What a sink sees of rounds. */
struct round_lines {
	struct lines lines;
	unsigned nr, nr_last;
	u64 until;
	bool follow;
	size_t early; /* lines of the first one */
	unsigned enough; /* so many rounds; 0: all */
};

static struct sink_ops round_ops;

static int round_seen(struct sink *k, const struct run_tables *t, const struct round *r)
{
	struct round_lines *to = container_of(k, struct round_lines, lines.sink);
	to->follow &= r->number == to->nr && r->after == to->until && r->until > to->until &&
		      r->last == (r->until == UINT64_MAX);
	to->until = r->until;
	to->nr_last += r->last;
	if (!to->nr++)
		to->early = to->lines.all.nr;
	return to->nr == to->enough;
}

static int run_in_rounds(const struct rounds_opts *o, struct round_lines *to, unsigned enough,
			 unsigned needs, struct diag *d)
{
	struct run_tables run = { 0 };
	*to = (struct round_lines){ .follow = true, .enough = enough };
	round_ops = lines_ops;
	round_ops.round_done = round_seen;
	to->lines.sink =
		(struct sink){ .ops = &round_ops, .needs = lines_ops.needs | NEED_ORDER | needs };
	int err = rounds_open(o, &to->lines.src);
	if (err)
		return err;
	err = stream_run(to->lines.src, &to->lines.sink, 1, &run, d);
	run_tables_done(&run);
	to->lines.src->ops->close(to->lines.src);
	return err;
}

static size_t first_difference(const struct lines *a, const struct lines *b)
{
	for (size_t i = 0; i < a->all.nr && i < b->all.nr; i++)
		if (strcmp(a->all.at[i], b->all.at[i])) {
			printf("# %s\n# %s\n", a->all.at[i], b->all.at[i]);
			return i;
		}
	return a->all.nr == b->all.nr ? SIZE_MAX : min(a->all.nr, b->all.nr);
}

static void test_rounds(unsigned form, size_t ready, bool whole, unsigned needs, const char *name)
{
	struct perfwrite w;
	struct lines all;
	struct round_lines parts;
	struct diag d;
	int pipes[2];
	perfwrite_story(&w, PERFWRITE_PIPE | form, 0, 20);
	whole_in_order(&w, &all);
	diag_init(&d);
	if (!ok(!pipe(pipes) && write(pipes[1], w.out.data, w.out.len) == (ssize_t)w.out.len,
		"%s: a pipe holds it", name))
		return;
	close(pipes[1]);
	struct rounds_opts o = { .fd = pipes[0], .ready_bytes = ready, .whole = !ready };
	ok(!run_in_rounds(&o, &parts, 0, needs, &d), "%s: it runs", name);
	close(pipes[0]);
	ok(parts.nr_last == 1 && parts.follow, "%s: rounds follow each other, the highest is told",
	   name);
	ok(whole ? parts.nr == 1 : parts.nr > 10, "%s: %u rounds", name, parts.nr);
	ok(first_difference(&all, &parts.lines) == SIZE_MAX,
	   "%s: the same samples in the same order", name);
	ok(!d.items.nr, "%s: nothing is wrong with it", name);
	lines_done(&all);
	lines_done(&parts.lines);
	diag_done(&d);
	perfwrite_done(&w);
}

/* The first rounds are there while the recorder has not written the others; who has seen enough of them ends the run. */
static void test_rounds_live(void)
{
	struct perfwrite w;
	struct lines all;
	struct round_lines parts;
	struct diag d;
	int pipes[2];
	perfwrite_story(&w, PERFWRITE_PIPE, 0, 20);
	whole_in_order(&w, &all);
	diag_init(&d);
	size_t half = w.out.len / 2;
	if (!ok(!pipe(pipes) && write(pipes[1], w.out.data, half) == (ssize_t)half, "half of it"))
		return;
	struct rounds_opts o = { .fd = pipes[0] };
	ok(!run_in_rounds(&o, &parts, 1, 0, &d) && parts.nr == 1 && !parts.nr_last,
	   "a round comes from that, and is enough");
	ok(parts.early > all.all.nr / 4 && parts.early < all.all.nr, "with %zu of %zu samples",
	   parts.early, all.all.nr);
	ok(!d.items.nr, "nothing is said about the rest");
	close(pipes[0]);
	close(pipes[1]);
	lines_done(&parts.lines);
	if (!ok(!pipe(pipes) && write(pipes[1], w.out.data, w.out.len - 5) == (ssize_t)w.out.len - 5,
		"all of it, but for its end"))
		return;
	close(pipes[1]);
	o.fd = pipes[0];
	ok(!run_in_rounds(&o, &parts, 0, 0, &d), "it runs");
	ok(first_difference(&all, &parts.lines) == SIZE_MAX, "nothing is missing");
	ok(d.items.nr == 1 && strstr(d.items.at[0].message, "truncated in a record"),
	   "the end is: that is said");
	close(pipes[0]);
	lines_done(&all);
	lines_done(&parts.lines);
	diag_done(&d);
	perfwrite_done(&w);
}

struct putting {
	struct source *src;
	const struct perfwrite *w;
	bool stop; /* instead of telling that it ends */
	int err;
};

/* In pieces that end anywhere. */
static void *put_all(void *arg)
{
	struct putting *p = arg;
	for (size_t at = 0, step = 1; at < p->w->out.len && !p->err; at += step) {
		step = min(step * 3 % 4099 + 1, p->w->out.len - at);
		struct iovec iov = { .iov_base = (u8 *)p->w->out.data + at, .iov_len = step };
		p->err = rounds_put(p->src, &iov, 1);
	}
	if (p->stop)
		p->src->ops->stop(p->src);
	else
		rounds_end(p->src);
	return NULL;
}

/* The same without a pipe: another thread puts the bytes in. */
static void test_rounds_put(bool stop)
{
	struct perfwrite w;
	struct lines all;
	struct round_lines parts = { .follow = true };
	struct run_tables run = { 0 };
	struct diag d;
	pthread_t thread;
	const char *name = stop ? "stopped" : "put in";
	perfwrite_story(&w, PERFWRITE_PIPE, 0, 20);
	whole_in_order(&w, &all);
	diag_init(&d);
	round_ops = lines_ops;
	round_ops.round_done = round_seen;
	parts.lines.sink = (struct sink){ .ops = &round_ops, .needs = lines_ops.needs | NEED_ORDER };
	struct putting p = { .w = &w, .stop = stop };
	ok(!rounds_open(&(struct rounds_opts){ .fd = -1, .ready_bytes = 1 }, &p.src), "%s", name);
	parts.lines.src = p.src;
	ok(!pthread_create(&thread, NULL, put_all, &p), "%s: by another thread", name);
	ok(!stream_run(p.src, &parts.lines.sink, 1, &run, &d), "%s: it runs", name);
	pthread_join(thread, NULL);
	run_tables_done(&run);
	p.src->ops->close(p.src);
	ok(!p.err || (stop && p.err == -EPIPE), "%s: all was taken", name);
	ok(parts.nr_last == 1 && parts.follow, "%s: %u rounds follow each other", name, parts.nr);
	if (!stop)
		ok(first_difference(&all, &parts.lines) == SIZE_MAX,
		   "%s: the same samples in the same order", name);
	ok(!d.items.nr, "%s: nothing is wrong with it", name);
	lines_done(&all);
	lines_done(&parts.lines);
	diag_done(&d);
	perfwrite_done(&w);
}

int main(void)
{
	test_meaning();
	test_forms(20);
	test_forms(3000);
	test_order();
	test_rewritten();
	test_early();
	test_no_times();
	test_cut(0, 1, "file");
	test_cut(PERFWRITE_SWAP, 7, "swapped file");
	test_cut(PERFWRITE_PIPE, 3, "pipe");
	test_cut(PERFWRITE_ZSTD, 3, "compressed file");
	test_cut_said();
	test_bad_samples();
	test_gaps();
	test_unaligned();
	test_longest();
	test_deferred();
	test_frames();
	test_hostile(0, 0, "file");
	test_hostile(PERFWRITE_PIPE, NEED_ORDER | NEED_PLACES, "pipe, in order");
	test_hostile(PERFWRITE_ZSTD2, 0, "compressed");
	test_hostile(PERFWRITE_ZSTD, NEED_ORDER, "compressed, in order");
	test_bombs();
	test_rounds(0, 1, false, 0, "rounds");
	test_rounds(0, 1, false, KEEP_IDS, "rounds with the same ids");
	test_rounds(PERFWRITE_SWAP, 1, false, 0, "rounds, swapped");
	test_rounds(PERFWRITE_ZSTD, 1, false, 0, "rounds, compressed");
	test_rounds(0, 0, true, 0, "all at once");
	test_rounds(PERFWRITE_NO_TIMES, 1, true, 0, "without times");
	test_rounds_put(false);
	test_rounds_put(true);
	test_rounds_live();
	return done_testing();
}
