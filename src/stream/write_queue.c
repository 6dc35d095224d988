#include "stream/write_queue.h"
#include "base/guard.h"

#include "base/big.h"
#include "base/par.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
	BLOCK_BYTES = 2 << 20, /* a huge page */
	BYTES_USUAL = 512 << 20,
	MEMORY_PART = 32, /* and no more than this part of the machine's */
	BATCH_BLOCKS =
		16, /* in one write, unless one put has more: room comes back with every write */
};

/* A piece of a put. */
struct write_queue_block {
	struct write_queue_block *next;
	u8 *data;
	size_t len;
	bool last; /* of its put */
	struct write_note note; /* on the last */
};

struct write_queue {
	struct write_queue_opts o;
	pthread_t thread;
	s32 tid;
	pthread_mutex_t lock; /* all below */
	pthread_cond_t work, room; /* for the thread; for the others */
	struct write_queue_block *first, **end; /* filled, in order */
	struct write_queue_block *spare;
	u32 nr_blocks, nr_used, max_blocks;
	u64 bytes; /* that wait */
	u32 nr_copying; /* blocks are being filled by so many */
	bool writing, stop;
	int err;
};

static u32 blocks_for(u64 max_bytes)
{
	u64 memory = (u64)max(sysconf(_SC_PHYS_PAGES), 0L) * (u64)sysconf(_SC_PAGESIZE);
	u64 most = max_bytes ? max_bytes : (u64)BYTES_USUAL;
	if (memory)
		most = min(most, memory / MEMORY_PART);
	return (u32)max(most / BLOCK_BYTES, (u64)2);
}

static void give_back(struct write_queue *q, struct write_queue_block *b)
{
	b->next = q->spare;
	q->spare = b;
	q->nr_used--;
}

/* With the lock: as many whole puts as go into one write. */
static struct write_queue_block *take_batch(struct write_queue *q, struct iovec *iov, size_t *ret_nr)
{
	struct write_queue_block *batch = q->first, **cut = &q->first;
	size_t nr = 0, fits = 0;
	for (struct write_queue_block *b = batch;
	     b && nr < WRITE_QUEUE_IOV_MAX && fits < BATCH_BLOCKS; b = b->next) {
		iov[nr++] = (struct iovec){ .iov_base = b->data, .iov_len = b->len };
		if (b->last) {
			fits = nr;
			cut = &b->next;
		}
	}
	q->first = *cut;
	if (!q->first)
		q->end = &q->first;
	*cut = NULL;
	*ret_nr = fits;
	return batch;
}

/* With the lock, which is given up while it writes. */
static void write_batch(struct write_queue *q)
{
	struct iovec iov[WRITE_QUEUE_IOV_MAX];
	size_t nr;
	struct write_queue_block *batch = take_batch(q, iov, &nr);
	q->writing = true;
	int err = q->err;
	(void)pthread_mutex_unlock(&q->lock);
	if (!err)
		err = q->o.write(q->o.ctx, iov, nr);
	(void)pthread_mutex_lock(&q->lock);
	q->err = q->err ? q->err : err;
	for (struct write_queue_block *b = batch, *next; b; b = next) {
		next = b->next;
		q->bytes -= b->len;
		if (b->last && !err)
			q->o.written(q->o.ctx, &b->note);
		give_back(q, b);
	}
	q->writing = false;
	(void)pthread_cond_broadcast(&q->room);
}

static void *queue_main(void *arg)
{
	struct write_queue *q = arg;
	par_hurry();
	(void)pthread_mutex_lock(&q->lock);
	q->tid = gettid();
	(void)pthread_cond_broadcast(&q->room);
	while (!q->stop || q->first) {
		if (q->first && !q->writing)
			write_batch(q);
		else
			(void)pthread_cond_wait(&q->work, &q->lock);
	}
	(void)pthread_mutex_unlock(&q->lock);
	return NULL;
}

struct write_queue *write_queue_new(const struct write_queue_opts *o)
{
	struct write_queue *q = calloc(1, sizeof(*q));
	if (!q)
		return NULL;
	q->o = *o;
	q->end = &q->first;
	q->max_blocks = blocks_for(o->max_bytes);
	(void)pthread_mutex_init(&q->lock, NULL);
	(void)pthread_cond_init(&q->work, NULL);
	(void)pthread_cond_init(&q->room, NULL);
	sigset_t all, old;
	guard_sigmask(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(&q->thread, NULL, queue_main, q);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err) {
		q->stop = true;
		write_queue_free(q);
		errno = err;
		return NULL;
	}
	(void)pthread_mutex_lock(&q->lock);
	while (!q->tid)
		(void)pthread_cond_wait(&q->room, &q->lock);
	(void)pthread_mutex_unlock(&q->lock);
	return q;
}

s32 write_queue_tid(const struct write_queue *q)
{
	return q->tid;
}

/* With the lock: nr blocks, when so many may be had; NULL and *err. */
static struct write_queue_block *take_blocks(struct write_queue *q, u32 nr, int *err)
{
	struct write_queue_block *blocks = NULL;
	while (q->nr_used + nr > q->max_blocks && !q->err)
		(void)pthread_cond_wait(&q->room, &q->lock);
	*err = q->err;
	for (u32 i = 0; i < nr && !*err; i++) {
		struct write_queue_block *b = q->spare;
		if (b) {
			q->spare = b->next;
		} else {
			b = calloc(1, sizeof(*b));
			if (b)
				b->data = big_grow(NULL, 0, BLOCK_BYTES);
			if (!b || !b->data) {
				free(b);
				*err = -ENOMEM;
				break;
			}
			q->nr_blocks++;
		}
		q->nr_used++;
		b->next = blocks;
		blocks = b;
	}
	while (*err && blocks) {
		struct write_queue_block *next = blocks->next;
		give_back(q, blocks);
		blocks = next;
	}
	return blocks;
}

static struct write_queue_block *fill_blocks(struct write_queue_block *b, const struct iovec *iov,
					     size_t nr)
{
	b->len = 0;
	for (size_t i = 0; i < nr; i++) {
		const u8 *from = iov[i].iov_base;
		for (size_t left = iov[i].iov_len; left;) {
			if (b->len == BLOCK_BYTES) {
				b->last = false;
				b = b->next;
				b->len = 0;
			}
			size_t n = min(left, BLOCK_BYTES - b->len);
			memcpy(b->data + b->len, from, n);
			b->len += n;
			from += n;
			left -= n;
		}
	}
	b->last = true;
	return b;
}

/* With the lock, which is given up meanwhile. */
static int put_copy(struct write_queue *q, const struct iovec *iov, size_t nr, u64 len,
		    const struct write_note *note)
{
	int err;
	struct write_queue_block *blocks =
		take_blocks(q, (u32)((len + BLOCK_BYTES - 1) / BLOCK_BYTES), &err);
	if (err)
		return err;
	q->nr_copying++;
	(void)pthread_mutex_unlock(&q->lock);
	struct write_queue_block *last = fill_blocks(blocks, iov, nr);
	last->note = *note;
	(void)pthread_mutex_lock(&q->lock);
	q->nr_copying--;
	*q->end = blocks;
	q->end = &last->next;
	last->next = NULL;
	q->bytes += len;
	(void)pthread_cond_signal(&q->work);
	return q->err;
}

/* With the lock, which is given up meanwhile: from where it is. */
static int put_now(struct write_queue *q, const struct iovec *iov, size_t nr,
		   const struct write_note *note)
{
	q->writing = true;
	(void)pthread_mutex_unlock(&q->lock);
	int err = q->o.write(q->o.ctx, iov, nr);
	(void)pthread_mutex_lock(&q->lock);
	q->err = q->err ? q->err : err;
	if (!err)
		q->o.written(q->o.ctx, note);
	q->writing = false;
	if (q->first)
		(void)pthread_cond_signal(&q->work);
	(void)pthread_cond_broadcast(&q->room);
	return err;
}

static bool is_idle(const struct write_queue *q)
{
	return !q->writing && !q->first && !q->nr_copying;
}

int write_queue_put(struct write_queue *q, const struct iovec *iov, size_t nr,
		    const struct write_note *note)
{
	u64 len = 0;
	if (nr > WRITE_QUEUE_IOV_MAX)
		return -EINVAL;
	for (size_t i = 0; i < nr; i++)
		len += iov[i].iov_len;
	(void)pthread_mutex_lock(&q->lock);
	/* What would fill the queue by itself waits for its turn instead. */
	bool large = len / BLOCK_BYTES >= min(q->max_blocks / 2, (u32)WRITE_QUEUE_IOV_MAX - 1);
	while (large && !is_idle(q) && !q->err)
		(void)pthread_cond_wait(&q->room, &q->lock);
	int err = q->err;
	if (!err && len)
		err = is_idle(q) ? put_now(q, iov, nr, note) : put_copy(q, iov, nr, len, note);
	(void)pthread_mutex_unlock(&q->lock);
	return err;
}

int write_queue_drain(struct write_queue *q)
{
	(void)pthread_mutex_lock(&q->lock);
	while (!is_idle(q))
		(void)pthread_cond_wait(&q->room, &q->lock);
	int err = q->err;
	(void)pthread_mutex_unlock(&q->lock);
	return err;
}

u64 write_queue_bytes(struct write_queue *q)
{
	(void)pthread_mutex_lock(&q->lock);
	u64 bytes = q->bytes;
	(void)pthread_mutex_unlock(&q->lock);
	return bytes;
}

void write_queue_free(struct write_queue *q)
{
	if (!q)
		return;
	if (!q->stop) {
		(void)pthread_mutex_lock(&q->lock);
		q->stop = true;
		(void)pthread_cond_broadcast(&q->work);
		(void)pthread_mutex_unlock(&q->lock);
		(void)pthread_join(q->thread, NULL);
	}
	for (struct write_queue_block *b = q->spare, *next; b; b = next) {
		next = b->next;
		big_free(b->data, BLOCK_BYTES);
		free(b);
	}
	(void)pthread_mutex_destroy(&q->lock);
	(void)pthread_cond_destroy(&q->work);
	(void)pthread_cond_destroy(&q->room);
	free(q);
}
