/* Pages that are being recorded, cut into rounds: which of them are complete, and what is kept of them for the next round. */
#include "stream/ftrace_rounds.h"
#include "base/clock.h"
#include "stream/ftrace_samples.h"
#include "stream/replay_ftrace_impl.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	PAUSE_NS = 50000000,
	HELD_BYTES = 64 << 20,
	READY_PART = 4, /* of what may be held: then a round does not wait for the end of its pause */
	KEEP_BYTES = 1 << 20, /* room that is not given back between rounds */
};

/* What one CPU has of one buffer; numbered as the lanes of the replay are. */
struct feed {
	VEC(u8) fresh; /* put in since the last round began */
	u64 begun; /* newest event of all CPUs when the current reading began ... */
	u64 settled; /* ... and the last one that caught up */
	u64 complete; /* nothing older will come, as far as can be told */
	VEC(u8) pages; /* of the round, from one that is used up in part */
};

struct ftrace_rounds {
	struct ftrace_rounds_opts o;
	struct feed *feeds;
	u32 nr_feeds;
	u32 nr_cpus;
	u32 *feed_of; /* [buffer * nr_cpus + cpu]: number + 1 */
	int wake_fd; /* readable: something has changed for who waits for a round */
	atomic_bool stopped;
	/* Of the thread that runs the source: */
	struct round round;
	bool loaded, handed_first, over;
	u64 round_ns; /* when the last one was handed out */
	u64 nr_rounds;

	pthread_mutex_t lock; /* of what follows, and of feeds but for their pages */
	pthread_cond_t room;
	u64 newest; /* event of any CPU */
	u64 handed; /* times up to here were handed out */
	size_t held;
	bool busy; /* a round is processed */
	bool ended, refused;
};

static struct ftrace_rounds *rounds_of(const struct source *s)
{
	return replay_of(s)->rounds;
}

static void wake(struct ftrace_rounds *f)
{
	u64 one = 1;
	(void)!write(f->wake_fd, &one, sizeof(one));
}

/* ---- what is put in ---- */

static struct feed *feed_at(const struct ftrace_rounds *f, u32 buffer, u32 cpu)
{
	u64 at = (u64)buffer * f->nr_cpus + cpu;
	u32 number = cpu < f->nr_cpus && buffer < f->o.head->nr_buffers ? f->feed_of[at] : 0;
	return number ? &f->feeds[number - 1] : NULL;
}

/* The time of the last event; 0: none. Those of one CPU are in order, so the last page that has any tells. */
static u64 last_time(const struct lane *l, const u8 *pages, size_t bytes)
{
	const struct replay_ftrace_part *p = l->part;
	for (size_t at = bytes / l->page_size; at-- > 0;) {
		struct ftrace_page walk;
		struct ftrace_event e;
		u64 time = 0;
		if (ftrace_page_open(&walk, &p->file.layout, pages + at * l->page_size,
				     l->page_size, p->big_endian))
			continue;
		while (ftrace_page_next(&walk, &e))
			time = e.time;
		if (time)
			return to_ns(l, time);
	}
	return 0;
}

static u64 watermark(const struct ftrace_rounds *f)
{
	u64 time = f->nr_feeds ? UINT64_MAX : 0;
	for (u32 i = 0; i < f->nr_feeds; i++)
		time = min(time, f->feeds[i].complete);
	return time;
}

void ftrace_rounds_begin(struct source *s, u32 buffer, u32 cpu)
{
	struct ftrace_rounds *f = rounds_of(s);
	struct feed *feed = feed_at(f, buffer, cpu);
	if (!feed)
		return;
	pthread_mutex_lock(&f->lock);
	feed->begun = f->newest;
	pthread_mutex_unlock(&f->lock);
}

void ftrace_rounds_caught_up(struct source *s, u32 buffer, u32 cpu)
{
	struct ftrace_rounds *f = rounds_of(s);
	struct feed *feed = feed_at(f, buffer, cpu);
	if (!feed)
		return;
	pthread_mutex_lock(&f->lock);
	feed->complete = max(feed->complete, feed->settled);
	feed->settled = feed->begun;
	bool more = watermark(f) > f->handed;
	pthread_mutex_unlock(&f->lock);
	if (more)
		wake(f);
}

/* Waiting helps only while rounds are made: who waits may be the one that all CPUs wait for. */
static bool must_wait(const struct ftrace_rounds *f, size_t bytes)
{
	size_t limit = f->o.held_bytes;
	return !f->refused && f->held && f->held + bytes > limit &&
	       (f->busy || watermark(f) > f->handed);
}

int ftrace_rounds_put(struct source *s, u32 buffer, u32 cpu, const void *pages, size_t bytes)
{
	struct replay *r = replay_of(s);
	struct ftrace_rounds *f = r->rounds;
	struct feed *feed = feed_at(f, buffer, cpu);
	if (!feed)
		return -EINVAL;
	u64 newest = last_time(&r->lanes[feed - f->feeds], pages, bytes);
	pthread_mutex_lock(&f->lock);
	while (must_wait(f, bytes)) {
		wake(f);
		pthread_cond_wait(&f->room, &f->lock);
	}
	int err = f->refused					      ? -EPIPE
		  : vec_reserve(&feed->fresh, feed->fresh.nr + bytes) ? 0
								      : -ENOMEM;
	if (!err && bytes) {
		memcpy(feed->fresh.at + feed->fresh.nr, pages, bytes);
		feed->fresh.nr += bytes;
		f->held += bytes;
		f->newest = max(f->newest, newest);
		/* Its own events are in order: what is older has come, whether or not it is ever read to its end. (A stack may follow.) */
		feed->complete = max(feed->complete, newest ? newest - 1 : 0);
	}
	pthread_mutex_unlock(&f->lock);
	return err;
}

void ftrace_rounds_end(struct source *s)
{
	struct ftrace_rounds *f = rounds_of(s);
	pthread_mutex_lock(&f->lock);
	f->ended = true;
	pthread_mutex_unlock(&f->lock);
	wake(f);
}

void ftrace_rounds_refuse(struct source *s)
{
	struct ftrace_rounds *f = rounds_of(s);
	pthread_mutex_lock(&f->lock);
	f->refused = true;
	pthread_cond_broadcast(&f->room);
	pthread_mutex_unlock(&f->lock);
}

size_t ftrace_rounds_held(struct source *s)
{
	struct ftrace_rounds *f = rounds_of(s);
	pthread_mutex_lock(&f->lock);
	size_t held = f->held;
	pthread_mutex_unlock(&f->lock);
	return held;
}

static void stop(struct source *s)
{
	struct ftrace_rounds *f = rounds_of(s);
	atomic_store(&f->stopped, true);
	wake(f);
}

/* ---- rounds ---- */

/* What is used up goes; the page before the next one stays: the watermark may have cut it, and its last event is a neighbour. */
static void drop_pages(struct replay *r, struct ftrace_rounds *f, u32 i)
{
	struct lane *l = &r->lanes[i];
	struct feed *feed = &f->feeds[i];
	u32 drop = l->next ? l->next - 1 : 0;
	size_t bytes = (size_t)drop * l->page_size;
	if (bytes)
		memmove(feed->pages.at, feed->pages.at + bytes, feed->pages.nr - bytes);
	feed->pages.nr -= bytes;
	f->held -= bytes;
	l->first = l->next ? 1 : 0;
	l->next = l->first;
	l->surveyed -= min(l->surveyed, drop);
}

static void end_round(struct replay *r)
{
	struct ftrace_rounds *f = r->rounds;
	r->counts_before = (struct replay_counts){ r->nr_bad_pages, r->nr_stray, r->nr_unknown };
	pthread_mutex_lock(&f->lock);
	f->busy = false;
	for (u32 i = 0; i < f->nr_feeds && f->nr_rounds; i++)
		drop_pages(r, f, i);
	pthread_cond_broadcast(&f->room);
	pthread_mutex_unlock(&f->lock);
}

static int take_pages(struct lane *l, struct feed *feed)
{
	struct tracedat_cpu *cpu = (struct tracedat_cpu *)(uintptr_t)l->cpu;
	if (feed->fresh.nr && !vec_reserve(&feed->pages, feed->pages.nr + feed->fresh.nr))
		return -ENOMEM;
	if (feed->fresh.nr)
		memcpy(feed->pages.at + feed->pages.nr, feed->fresh.at, feed->fresh.nr);
	feed->pages.nr += feed->fresh.nr;
	feed->fresh.nr = 0;
	if (feed->fresh.cap > KEEP_BYTES)
		vec_free(&feed->fresh);
	cpu->pages = feed->pages.at;
	cpu->pages_size = feed->pages.nr;
	cpu->nr_pages = l->nr_pages = (u32)(feed->pages.nr / l->page_size);
	return 0;
}

/* How long until a round is due, in milliseconds: 0 at once, -1 when nothing is known to come. */
static int due_in_ms(const struct ftrace_rounds *f, u64 now)
{
	u64 since = now - f->round_ns, wait = UINT64_MAX;
	if (f->ended)
		return 0;
	if (watermark(f) > f->handed)
		wait = f->held >= f->o.held_bytes / READY_PART ? 0 : u64_less(f->o.pause_ns, since);
	if (f->o.idle_ns)
		wait = min(wait, u64_less(f->o.idle_ns, since));
	return wait == UINT64_MAX ? -1 : (int)min((wait + 999999) / 1000000, (u64)60000);
}

static int wait_for_round(struct ftrace_rounds *f)
{
	for (;;) {
		struct pollfd p = { .fd = f->wake_fd, .events = POLLIN };
		u64 times;
		pthread_mutex_lock(&f->lock);
		int ms = due_in_ms(f, clock_monotonic_ns());
		pthread_mutex_unlock(&f->lock);
		if (!ms || atomic_load(&f->stopped))
			return 0;
		int n = poll(&p, 1, ms);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			(void)!read(f->wake_fd, &times, sizeof(times));
	}
}

static int learn_names(struct replay *r, bool last)
{
	struct ftrace_rounds *f = r->rounds;
	struct replay_ftrace_part *p = &r->parts[0];
	struct strbuf text;
	if (!f->o.names)
		return 0;
	strbuf_init(&text);
	int err = f->o.names(f->o.ctx, last, &text);
	if (!err)
		err = text.err;
	if (!err && text.len) {
		err = ftrace_env_rename(&p->env, strbuf_cstr(&text), text.len);
		free(p->comm_ids);
		p->comm_ids = NULL;
	}
	strbuf_done(&text);
	return err;
}

static int cut_round(struct replay *r, bool *fresh)
{
	struct ftrace_rounds *f = r->rounds;
	int err = 0;
	*fresh = false;
	pthread_mutex_lock(&f->lock);
	bool last = f->ended || atomic_load(&f->stopped);
	u64 until = last ? UINT64_MAX : max(watermark(f), f->handed);
	for (u32 i = 0; i < f->nr_feeds && !err; i++) {
		*fresh |= f->feeds[i].fresh.nr > 0;
		err = take_pages(&r->lanes[i], &f->feeds[i]);
	}
	r->from = f->nr_rounds ? f->handed + 1 : 0;
	r->limit = last ? UINT64_MAX : until + 1;
	f->round = (struct round){
		.number = f->nr_rounds++, .after = f->handed, .until = until, .last = last
	};
	f->handed = until;
	f->busy = true;
	f->refused |= last;
	pthread_cond_broadcast(&f->room);
	pthread_mutex_unlock(&f->lock);
	f->round_ns = clock_monotonic_ns();
	f->over = last;
	return err;
}

static int load_round(struct replay *r)
{
	struct ftrace_rounds *f = r->rounds;
	bool fresh;
	end_round(r);
	if (f->over)
		return 0;
	int err = wait_for_round(f);
	if (!err)
		err = cut_round(r, &fresh);
	if (!err && (fresh || f->over))
		err = learn_names(r, f->over);
	if (!err && r->samples && fresh)
		err = ftrace_samples_prepare(r);
	f->loaded = !err;
	return err ? err : 1;
}

static int prepare(struct source *s, unsigned needs, struct diag *d)
{
	struct replay *r = replay_of(s);
	int got = r->rounds->loaded ? 1 : load_round(r);
	return got < 0 ? got : replay_ftrace_prepare(s, needs, d);
}

/* The first one was waited for by prepare(). */
static int next_round(struct source *s, struct round *ret, struct diag *d)
{
	struct replay *r = replay_of(s);
	struct ftrace_rounds *f = r->rounds;
	int got = f->handed_first ? load_round(r) : 1;
	f->handed_first = true;
	if (got > 0)
		*ret = f->round;
	return got;
}

/* ---- life ---- */

static void free_rounds(struct ftrace_rounds *f)
{
	for (u32 i = 0; f->feeds && i < f->nr_feeds; i++) {
		vec_free(&f->feeds[i].fresh);
		vec_free(&f->feeds[i].pages);
	}
	free(f->feeds);
	free(f->feed_of);
	cleanup_close(&f->wake_fd);
	pthread_cond_destroy(&f->room);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static void close_source(struct source *s)
{
	struct ftrace_rounds *f = rounds_of(s);
	replay_ftrace_close(s);
	if (f)
		free_rounds(f);
}

static const struct source_ops rounds_ops = {
	.prepare = prepare,
	.next_round = next_round,
	.stop = stop,
	.shard_open = replay_ftrace_shard_open,
	.shard_close = replay_ftrace_shard_close,
	.next_block = replay_ftrace_next_block,
	.next_batch = replay_ftrace_next_batch,
	.finish = replay_ftrace_finish,
	.close = close_source,
	.describe = replay_ftrace_describe,
	.symbol = replay_ftrace_symbol,
	.task_name = replay_ftrace_task_name,
	.schema = replay_ftrace_schema,
};

static struct ftrace_rounds *new_rounds(const struct ftrace_rounds_opts *o)
{
	struct ftrace_rounds *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->o = *o;
	f->o.pause_ns = o->pause_ns ? o->pause_ns : PAUSE_NS;
	f->o.held_bytes = o->held_bytes ? o->held_bytes : HELD_BYTES;
	f->round_ns = clock_monotonic_ns();
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->room, NULL);
	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->wake_fd >= 0)
		return f;
	free_rounds(f);
	return NULL;
}

static int number_feeds(struct replay *r)
{
	struct ftrace_rounds *f = r->rounds;
	for (u32 i = 0; i < r->nr_lanes; i++)
		f->nr_cpus = max(f->nr_cpus, r->lanes[i].cpu->cpu + 1);
	f->feeds = calloc(max(r->nr_lanes, 1u), sizeof(*f->feeds));
	f->feed_of = calloc(max((size_t)f->nr_cpus * f->o.head->nr_buffers, (size_t)1),
			    sizeof(*f->feed_of));
	if (!f->feeds || !f->feed_of)
		return -ENOMEM;
	f->nr_feeds = r->nr_lanes;
	for (u32 i = 0; i < r->nr_lanes; i++)
		f->feed_of[(size_t)r->lanes[i].buffer * f->nr_cpus + r->lanes[i].cpu->cpu] = i + 1;
	return 0;
}

int ftrace_rounds_open(const struct ftrace_rounds_opts *o, struct source **ret)
{
	struct replay_ftrace_opts ro = { .style = o->style,
					 .samples = o->samples,
					 .calls = o->calls };
	struct replay *r = replay_ftrace_new(&rounds_ops, 1, &ro);
	if (!r)
		return -ENOMEM;
	r->rounds = new_rounds(o);
	int err = r->rounds ? tracedat_of_parts(&r->parts[0].file, "the buffer", o->head) : -ENOMEM;
	if (!err) {
		r->parts[0].is_open = true;
		err = replay_ftrace_init_part(&r->parts[0], &(struct replay_ftrace_input){ 0 }, &ro);
	}
	if (!err)
		err = replay_ftrace_make_lanes(r, &ro, true);
	if (!err)
		err = number_feeds(r);
	if (err)
		close_source(&r->source);
	else
		*ret = &r->source;
	return err;
}
