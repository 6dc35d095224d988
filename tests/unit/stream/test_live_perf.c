/* live_perf on ourselves: a reader per CPU, records that arrive whole, rounds that keep their promise about time. */
#include "event/event.h"
#include "stream/live_perf.h"
#include "tap.h"
#include "wire/perf_sample.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static bool stop_work;

/* Page faults at full speed. */
static void *work(void *arg)
{
	size_t len = 256 << 10;
	(void)arg;
	while (!__atomic_load_n(&stop_work, __ATOMIC_RELAXED)) {
		char *p =
			mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t i = 0; i < len; i += 4096)
			*(volatile char *)(p + i) = 1;
		munmap(p, len);
	}
	return NULL;
}

struct seen {
	pthread_mutex_t lock;
	u8 time_slot;
	u64 nr_samples, nr_rounds, nr_early, nr_broken;
	u64 readers; /* bit each */
	u64 newest_ns, pending_ns, bound_ns;
	int fail_after;
};

static int take(void *ctx, unsigned reader, const struct ring_span *spans, size_t nr,
		bool round_done)
{
	struct seen *s = ctx;
	pthread_mutex_lock(&s->lock);
	s->readers |= 1ull << reader;
	for (size_t i = 0; i < nr; i++) {
		size_t pos = 0;
		const struct perf_event_header *h;
		while ((h = ring_span_next(&spans[i], &pos, false, NULL))) {
			u64 when;
			size_t at = pos - h->size + sizeof(*h) + s->time_slot * sizeof(u64);
			if (h->type != PERF_RECORD_SAMPLE ||
			    !ring_span_copy(&spans[i], at, &when, sizeof(when)))
				continue;
			s->nr_samples++;
			s->nr_early += when < s->bound_ns;
			s->newest_ns = max(s->newest_ns, when);
		}
		s->nr_broken += pos != ring_span_len(&spans[i]);
	}
	if (round_done) {
		s->nr_rounds++;
		s->bound_ns = s->pending_ns;
		s->pending_ns = s->newest_ns;
	}
	int err = s->fail_after && !--s->fail_after ? -ENOSPC : 0;
	pthread_mutex_unlock(&s->lock);
	return err;
}

static void record(const struct sysroot *root, const struct event_list *events, struct seen *s,
		   unsigned ms)
{
	struct diag d;
	diag_init(&d);
	s32 self = (s32)getpid();
	struct live_opts o = { .events = events,
			       .period = 1,
			       .pids = &self,
			       .nr_pids = 1,
			       .ring_bytes = 64 << 10,
			       .flush_ns = 20000000,
			       .rings_per_reader = 1 };
	pthread_mutex_init(&s->lock, NULL);
	struct live_perf *lp = live_perf_open(root, &o, &d);
	if (!lp) {
		skip("live events", "not allowed here");
		diag_done(&d);
		return;
	}
	size_t nr;
	const struct live_event *e = live_perf_events(lp, &nr);
	struct perf_layout layout;
	perf_layout_init(&layout, &e[0].attr);
	s->time_slot = layout.time_slot;
	is_u64(nr, 2, "the event, and one for tasks and maps");
	is_u64(live_perf_nr_readers(lp), cpuset_count(live_perf_cpus(lp)), "a reader a CPU");
	struct live_sink sink = { .take = take, .ctx = s };
	ok(!live_perf_start(lp, &sink) && !live_perf_enable(lp), "started");
	usleep(ms * 1000);
	int err = live_perf_stop(lp);
	ok(s->fail_after < 0 || err == 0 || err == -ENOSPC, "stopped");
	if (err)
		ok(live_perf_failed(lp), "the sink's error is known");
	live_perf_close(lp);
	pthread_mutex_destroy(&s->lock);
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
	if (sysroot_open(&root, NULL) || event_env_open(&env, "") ||
	    event_list_add(&events, &env, "page-faults:u", EVENT_USE_SAMPLE, &d)) {
		ok(false, "the event is known");
		return done_testing();
	}
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	struct seen s = { 0 };
	record(&root, &events, &s, 1000);
	if (s.readers) {
		ok(s.nr_samples > 1000, "many samples");
		ok(s.nr_rounds > 5, "several rounds");
		is_u64(s.nr_broken, 0, "every span is whole records");
		is_u64(s.nr_early, 0, "nothing is older than two rounds allow");
	}
	struct seen full = { .fail_after = 3 };
	record(&root, &events, &full, 300);
	__atomic_store_n(&stop_work, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	event_list_done(&events);
	event_env_close(&env);
	sysroot_close(&root);
	diag_done(&d);
	return done_testing();
}
