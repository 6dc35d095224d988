#include "stream/live_perf.h"

#include "kern/cpu.h"
#include "stream/live_perf_impl.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { RING_BYTES_DEFAULT = 512 << 10 };

static int check_cpus(struct live_perf *lp, struct diag *d)
{
	if (!lp->opts.cpus)
		return 0;
	for (int cpu = cpuset_next(lp->opts.cpus, 0); cpu >= 0;
	     cpu = cpuset_next(lp->opts.cpus, (u32)cpu + 1)) {
		if (cpuset_has(&lp->online, (u32)cpu))
			continue;
		struct strbuf have;
		strbuf_init(&have);
		cpuset_add_list(&lp->online, &have);
		diag_error(d, -ENODEV, "CPU %d is not online (online: %s)", cpu, strbuf_cstr(&have));
		strbuf_done(&have);
		return -ENODEV;
	}
	return 0;
}

static u64 ring_bytes_for(u64 wanted)
{
	u64 bytes = (u64)sysconf(_SC_PAGESIZE);
	while (bytes < (wanted ? wanted : RING_BYTES_DEFAULT) && bytes < 1ull << 32)
		bytes *= 2;
	return bytes;
}

struct live_perf *live_perf_open(const struct sysroot *root, const struct live_opts *opts,
				 struct diag *d)
{
	struct live_perf *lp = calloc(1, sizeof(*lp));
	if (!lp) {
		diag_error(d, -ENOMEM, "no memory");
		return NULL;
	}
	lp->root = root;
	lp->opts = *opts;
	lp->round = 1;
	lp->ring_bytes = ring_bytes_for(opts->ring_bytes);
	if (!lp->opts.flush_ns)
		lp->opts.flush_ns = 1000000000ull;
	pthread_mutex_init(&lp->lock, NULL);
	pthread_mutex_init(&lp->switch_lock, NULL);
	pthread_cond_init(&lp->begun, NULL);
	perf_opener_init(&lp->opener, root);
	lp->opener.opened = opts->opened;
	lp->opener.opened_ctx = opts->opened_ctx;
	lp->stop_fd = eventfd(0, EFD_CLOEXEC);
	lp->gone_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	lp->poke_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int err = lp->stop_fd < 0 || lp->gone_fd < 0 || lp->poke_fd < 0
			  ? -errno
			  : cpu_online(root, &lp->online);
	if (!err)
		err = check_cpus(lp, d);
	if (!err)
		err = live_perf_add_events(lp, d);
	if (!err)
		err = live_perf_open_targets(lp, d);
	if (!err)
		err = live_perf_make_readers(lp);
	if (!err)
		return lp;
	if (d && !d->nr_errors)
		diag_error(d, err, "cannot set up recording: %s", strerror(-err));
	live_perf_close(lp);
	return NULL;
}

const struct live_event *live_perf_events(const struct live_perf *lp, size_t *nr)
{
	*nr = lp->events.nr;
	return lp->events.at;
}

const struct synth_id *live_perf_ids(const struct live_perf *lp, size_t *nr)
{
	*nr = lp->ids.nr;
	return lp->ids.at;
}

const struct cpuset *live_perf_cpus(const struct live_perf *lp)
{
	return lp->opts.cpus ? lp->opts.cpus : &lp->online;
}

const s32 *live_perf_tids(const struct live_perf *lp, size_t *nr)
{
	*nr = lp->tids.nr;
	return lp->tids.at;
}

unsigned live_perf_nr_readers(const struct live_perf *lp)
{
	return (unsigned)lp->readers.nr;
}

bool live_perf_sees_kernel(const struct live_perf *lp)
{
	for (size_t i = 0; i < lp->events.nr; i++)
		if (!lp->events.at[i].tracking && !lp->events.at[i].attr.exclude_kernel)
			return true;
	return false;
}

/*
 * A count is {value, times, id, lost}, and of a group {number, times, {value, id, lost} ...}; times and id are there where the
 * format says so. Without an id there is one count, its own.
 */
static u64 read_lost(int fd, u64 format, u64 id)
{
	enum { MEMBERS_MAX = 64, WORDS_MAX = 3 + 3 * MEMBERS_MAX };
	u64 words[WORDS_MAX];
	size_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	bool group = format & PERF_FORMAT_GROUP, has_id = format & PERF_FORMAT_ID;
	ssize_t n = read(fd, words, sizeof(words));
	size_t nr = n > 0 ? (size_t)n / sizeof(u64) : 0;
	if (!group) {
		size_t at = 1 + times + has_id;
		return at < nr && (!has_id || words[at - 1] == id) ? words[at] : 0;
	}
	for (size_t at = 1 + times; has_id && at + 3 <= nr; at += 3)
		if (words[at + 1] == id)
			return words[at + 2];
	return 0;
}

int live_perf_lost(struct live_perf *lp, void (*fn)(void *ctx, const struct synth_id *id, u64 lost),
		   void *ctx)
{
	for (size_t i = 0; i < lp->fds.nr; i++) {
		const struct live_event *e = &lp->events.at[lp->fds.at[i].event];
		if (!(e->attr.read_format & PERF_FORMAT_LOST))
			return -ENOTSUP;
		u64 lost = read_lost(lp->fds.at[i].fd, e->attr.read_format, lp->ids.at[i].id);
		if (lost)
			fn(ctx, &lp->ids.at[i], lost);
	}
	return 0;
}

void live_perf_close(struct live_perf *lp)
{
	if (!lp)
		return;
	(void)live_perf_stop(lp);
	vec_for_each (&lp->rings, ring)
		perf_ring_close(&ring->ring);
	vec_for_each (&lp->kept, ring)
		perf_ring_close(&ring->ring);
	vec_free(&lp->kept);
	vec_for_each (&lp->fds, f)
		close(f->fd);
	vec_for_each (&lp->readers, r)
		cleanup_close(&r->epoll_fd);
	vec_for_each (&lp->events, e) {
		free(e->name);
		free(e->cpus);
		vec_free(&e->ids);
	}
	vec_free(&lp->rings);
	vec_free(&lp->fds);
	vec_free(&lp->ids);
	vec_free(&lp->readers);
	vec_free(&lp->events);
	vec_free(&lp->tids);
	cleanup_close(&lp->stop_fd);
	cleanup_close(&lp->gone_fd);
	cleanup_close(&lp->poke_fd);
	pthread_cond_destroy(&lp->begun);
	pthread_mutex_destroy(&lp->lock);
	pthread_mutex_destroy(&lp->switch_lock);
	free(lp);
}
