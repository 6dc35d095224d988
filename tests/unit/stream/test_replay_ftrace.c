/*
 * Synthetic recordings of many shapes through the source, with several workers: every event once, in time order, ties by
 * buffer and CPU, neighbours right across windows.
 */
#include "gen/ftrace_gen.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"
#include "tap.h"

#include <errno.h>
#include <pthread.h>

static const char *const formats[] = { gen_format_value, NULL };

struct got {
	u64 time;
	u32 value, cpu, buffer, missed;
	u32 prev, next; /* their values + 1; 0: none */
};

/* Keeps what each block held, in the order of the blocks. */
struct collect {
	struct sink sink;
	pthread_mutex_t lock;
	VEC(struct got) blocks[4096];
	u64 nr_blocks;
	const struct schema_field *value;
	u64 nr_bad_schema;
};

struct collect_shard {
	VEC(struct got) now;
};

static u32 value_of(const struct sample *s, const void *raw, u32 size)
{
	return (u32)schema_u64(s->schema, schema_find(s->schema, "value"), raw, size);
}

static int collect_new(struct sink *k, unsigned index, const struct shard *sh, void **state)
{
	*state = calloc(1, sizeof(struct collect_shard));
	return 0;
}

static int collect_feed(struct sink *k, void *state, const struct batch *b)
{
	struct collect *c = container_of(k, struct collect, sink);
	struct collect_shard *sh = state;
	for (size_t i = 0; i < b->nr; i++) {
		const struct sample *s = &b->samples[i];
		if (!s->schema || strcmp(s->schema->name, "tick") || s->tid != 7) {
			c->nr_bad_schema++;
			continue;
		}
		struct got *g = vec_push(&sh->now);
		*g = (struct got){ .time = s->time_ns,
				   .value = value_of(s, s->raw, s->raw_size),
				   .cpu = (u32)s->cpu,
				   .buffer = s->buffer,
				   .missed = s->missed };
		g->prev = s->prev_raw ? value_of(s, s->prev_raw, s->prev_size) + 1 : 0;
		g->next = s->next_raw ? value_of(s, s->next_raw, s->next_size) + 1 : 0;
	}
	return 0;
}

static int collect_done(struct sink *k, void *state, u64 seq)
{
	struct collect *c = container_of(k, struct collect, sink);
	struct collect_shard *sh = state;
	if (seq >= ARRAY_SIZE(c->blocks))
		return -E2BIG;
	pthread_mutex_lock(&c->lock);
	c->blocks[seq].at = sh->now.at;
	c->blocks[seq].nr = sh->now.nr;
	if (seq + 1 > c->nr_blocks)
		c->nr_blocks = seq + 1;
	pthread_mutex_unlock(&c->lock);
	memset(&sh->now, 0, sizeof(sh->now));
	return 0;
}

static void collect_free(struct sink *k, void *state)
{
	free(state);
}

static const struct sink_ops collect_ops = {
	.needs = NEED_ORDER | NEED_RAW | NEED_NEIGHBOURS,
	.shard_new = collect_new,
	.feed = collect_feed,
	.block_done = collect_done,
	.shard_free = collect_free,
};

struct want {
	u64 time;
	u32 buffer, cpu, index;
	u32 value;
};

static int compare_want(const void *pa, const void *pb)
{
	const struct want *a = pa, *b = pb;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->buffer != b->buffer)
		return a->buffer < b->buffer ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

struct shape {
	const char *name;
	u32 nr_cpus, nr_buffers, nr_events;
	u32 version, window_pages;
	bool big_endian;
	u8 long_size;
	enum gen_compression packing;
	u32 max_step; /* of the clock between events of a CPU; 0: all at one time */
	u32 busy; /* only CPUs that are a multiple of it have events; of the others none */
	unsigned workers;
};

static u32 seed;

static u32 random_below(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return n ? (seed >> 8) % n : 0;
}

static void generate(const struct shape *s, struct gen_trace *g, struct gen_buffer *buffers,
		     struct want **ret, u32 *nr)
{
	u32 n = 0;
	struct want *want = calloc((size_t)s->nr_events * s->nr_buffers + 1, sizeof(*want));
	for (u32 b = 0; b < s->nr_buffers; b++) {
		u64 *clock = calloc(s->nr_cpus, sizeof(*clock));
		u32 *index = calloc(s->nr_cpus, sizeof(*index));
		for (u32 i = 0; i < s->nr_events; i++) {
			u32 cpu = random_below(s->nr_cpus);
			/* The first CPU is ten times as busy. */
			if (random_below(10) || cpu % s->busy)
				cpu = 0;
			struct gen_event *e = vec_push(&buffers[b].events);
			clock[cpu] += s->max_step ? random_below(s->max_step) : 0;
			if (!random_below(500) && s->max_step)
				clock[cpu] += 1ull << 30;
			*e = (struct gen_event){ .time = 1000 + clock[cpu], .cpu = cpu };
			gen_event_fill(g, e, 100, 7, n);
			want[n] = (struct want){ .time = e->time,
						 .buffer = b,
						 .cpu = cpu,
						 .index = index[cpu]++,
						 .value = n };
			n++;
		}
		free(clock);
		free(index);
	}
	qsort(want, n, sizeof(*want), compare_want);
	*ret = want;
	*nr = n;
}

/* The value + 1 of the event before or after want[i] in its own lane. */
static u32 neighbour(const struct want *want, u32 nr, u32 i, int step)
{
	for (u32 k = i + (u32)step; k < nr; k += (u32)step)
		if (want[k].buffer == want[i].buffer && want[k].cpu == want[i].cpu)
			return want[k].value + 1;
	return 0;
}

static void check(const struct shape *s, struct collect *c, const struct want *want, u32 nr)
{
	u32 at = 0;
	bool order = true, next = true;
	for (u64 i = 0; i < c->nr_blocks; i++) {
		for (size_t k = 0; k < c->blocks[i].nr; k++, at++) {
			const struct got *g = &c->blocks[i].at[k];
			if (at >= nr)
				continue;
			const struct want *w = &want[at];
			order &= g->time == w->time && g->value == w->value && g->cpu == w->cpu &&
				 g->buffer == w->buffer;
			next &= g->next == neighbour(want, nr, at, 1) &&
				g->prev == neighbour(want, nr, at, -1);
		}
		free(c->blocks[i].at);
	}
	is_u64(at, nr, "every event once");
	ok(order, "%s: in order, ties by buffer and CPU (%llu windows)", s->name,
	   (unsigned long long)c->nr_blocks);
	ok(next, "%s: neighbours on the same CPU", s->name);
	is_u64(c->nr_bad_schema, 0, "all of one kind");
}

static void run_shape(const struct shape *s)
{
	static struct collect c;
	struct gen_buffer buffers[3] = { { .name = "" }, { .name = "b" }, { .name = "c" } };
	struct gen_trace g = {
		.version = s->version,
		.long_size = s->long_size,
		.big_endian = s->big_endian,
		.page_size = 4096,
		.nr_cpus = s->nr_cpus,
		.compression = s->packing,
		.chunk_pages = 3,
		.system = "test",
		.formats = formats,
		.cmdlines = "7 seven\n",
		.buffers = buffers,
		.nr_buffers = s->nr_buffers,
	};
	struct want *want;
	u32 nr;
	struct strbuf file = { 0 };
	seed = 42;
	generate(s, &g, buffers, &want, &nr);
	gen_trace_write(&g, &file);
	struct diag d;
	diag_init(&d);
	struct replay_ftrace_opts o = { .window_pages = s->window_pages };
	struct source *src;
	struct run_tables result;
	memset(&c, 0, sizeof(c));
	c.sink = (struct sink){ .ops = &collect_ops, .needs = collect_ops.needs };
	pthread_mutex_init(&c.lock, NULL);
	int err = replay_ftrace_open_files(
		&(struct replay_ftrace_input){ .path = "test", .data = file.data, .size = file.len },
		1, &o, &src, &d);
	ok(!err, "%s: opened", s->name);
	if (!err) {
		err = stream_run(src, &c.sink, s->workers, &result, &d);
		ok(!err, "%s: run", s->name);
		run_tables_done(&result);
		check(s, &c, want, nr);
		ok(!d.items.nr, "nothing to complain about");
		src->ops->close(src);
	}
	diag_done(&d);
	free(want);
	strbuf_done(&file);
	for (u32 i = 0; i < s->nr_buffers; i++)
		vec_free(&buffers[i].events);
}

int main(void)
{
	static const struct shape shapes[] = {
		{ .name = "nothing recorded",
		  .nr_cpus = 4,
		  .nr_buffers = 1,
		  .version = 6,
		  .long_size = 8,
		  .busy = 1,
		  .workers = 2 },
		{ .name = "one CPU",
		  .nr_cpus = 1,
		  .nr_buffers = 1,
		  .nr_events = 3000,
		  .version = 6,
		  .long_size = 8,
		  .max_step = 50,
		  .busy = 1,
		  .window_pages = 1,
		  .workers = 3 },
		{ .name = "all at one time",
		  .nr_cpus = 3,
		  .nr_buffers = 1,
		  .nr_events = 2000,
		  .version = 6,
		  .long_size = 8,
		  .busy = 1,
		  .window_pages = 1,
		  .workers = 2 },
		{ .name = "many ties",
		  .nr_cpus = 4,
		  .nr_buffers = 2,
		  .nr_events = 4000,
		  .version = 7,
		  .long_size = 8,
		  .max_step = 3,
		  .busy = 1,
		  .window_pages = 1,
		  .workers = 3 },
		{ .name = "empty CPUs",
		  .nr_cpus = 16,
		  .nr_buffers = 1,
		  .nr_events = 5000,
		  .version = 7,
		  .long_size = 8,
		  .max_step = 100,
		  .busy = 5,
		  .window_pages = 2,
		  .workers = 4 },
		{ .name = "64 CPUs",
		  .nr_cpus = 64,
		  .nr_buffers = 1,
		  .nr_events = 20000,
		  .version = 7,
		  .long_size = 8,
		  .max_step = 1000,
		  .busy = 1,
		  .workers = 4 },
		{ .name = "64 CPUs, zstd",
		  .nr_cpus = 64,
		  .nr_buffers = 2,
		  .nr_events = 10000,
		  .version = 7,
		  .long_size = 8,
		  .max_step = 1000,
		  .busy = 1,
		  .window_pages = 1,
		  .packing = GEN_ZSTD,
		  .workers = 4 },
		{ .name = "zlib",
		  .nr_cpus = 2,
		  .nr_buffers = 3,
		  .nr_events = 5000,
		  .version = 7,
		  .long_size = 8,
		  .max_step = 10,
		  .busy = 1,
		  .window_pages = 3,
		  .packing = GEN_ZLIB,
		  .workers = 2 },
		{ .name = "big endian, 32 bit",
		  .nr_cpus = 3,
		  .nr_buffers = 1,
		  .nr_events = 4000,
		  .version = 6,
		  .long_size = 4,
		  .big_endian = true,
		  .max_step = 10,
		  .busy = 1,
		  .window_pages = 2,
		  .workers = 2 },
	};
	for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++)
		run_shape(&shapes[i]);
	return done_testing();
}
