/* Several threads put numbered words; whatever way they take, they arrive whole and in each thread's order. */
#include "stream/write_queue.h"

#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, PUTS = 300, WORDS_MAX = 4096 };

struct file {
	u64 next[THREADS]; /* word that has to come */
	u64 nr_words, nr_written, nr_writes, nr_noted;
	u64 fail_at; /* words; 0: never */
	u32 at_once;
	bool wrong, slow, overlap;
	sem_t *begun, *go; /* NULL: a write waits for nobody */
};

static int write_words(void *ctx, const struct iovec *iov, size_t nr)
{
	struct file *f = ctx;
	if (__atomic_add_fetch(&f->at_once, 1, __ATOMIC_SEQ_CST) != 1)
		f->overlap = true;
	f->nr_writes++;
	if (f->begun) {
		(void)sem_post(f->begun);
		while (sem_wait(f->go) && errno == EINTR)
			;
	}
	if (f->slow)
		(void)nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
	int err = 0;
	for (size_t i = 0; i < nr && !err; i++) {
		const u64 *words = iov[i].iov_base;
		size_t n = iov[i].iov_len / sizeof(u64);
		f->wrong |= iov[i].iov_len % sizeof(u64);
		for (size_t k = 0; k < n; k++) {
			u64 who = words[k] >> 48, number = words[k] & 0xffffffffffff;
			f->wrong |= who >= THREADS || number != f->next[who];
			if (who < THREADS)
				f->next[who] = number + 1;
		}
		f->nr_words += n;
		err = f->fail_at && f->nr_words >= f->fail_at ? -ENOSPC : 0;
	}
	(void)__atomic_sub_fetch(&f->at_once, 1, __ATOMIC_SEQ_CST);
	return err;
}

static void written(void *ctx, const struct write_note *note)
{
	struct file *f = ctx;
	f->nr_written += note->n[0];
	f->nr_noted++;
}

struct putter {
	struct write_queue *q;
	pthread_t thread;
	u64 who, nr;
	int err;
	u64 words[WORDS_MAX];
};

static void *put_words(void *arg)
{
	struct putter *p = arg;
	for (u64 i = 0; i < PUTS && !p->err; i++) {
		size_t n = 1 + (i * 2654435761u + p->who * 40503) % WORDS_MAX, half = n / 3;
		for (size_t k = 0; k < n; k++)
			p->words[k] = p->who << 48 | (p->nr + k);
		struct iovec iov[] = { { p->words, half * sizeof(u64) },
				       { p->words + half, (n - half) * sizeof(u64) } };
		struct write_note note = { .from = (u32)p->who, .n = { n } };
		p->err = write_queue_put(p->q, iov, 2, &note);
		if (!p->err)
			p->nr += n;
		memset(p->words, 0xff, n * sizeof(u64)); /* the queue keeps nothing of ours */
	}
	return NULL;
}

static struct write_queue *new_queue(struct file *f, u64 max_bytes)
{
	struct write_queue *q = write_queue_new(&(struct write_queue_opts){
		.write = write_words, .written = written, .ctx = f, .max_bytes = max_bytes });
	if (!q)
		abort();
	return q;
}

/* Words that were taken over from all threads. */
static u64 run_putters(struct write_queue *q, struct putter *all, int *err)
{
	u64 nr = 0;
	for (u32 i = 0; i < THREADS; i++) {
		all[i] = (struct putter){ .q = q, .who = i };
		if (pthread_create(&all[i].thread, NULL, put_words, &all[i]))
			abort();
	}
	for (u32 i = 0; i < THREADS; i++) {
		(void)pthread_join(all[i].thread, NULL);
		nr += all[i].nr;
		*err = *err ? *err : all[i].err;
	}
	return nr;
}

static void test_order(struct putter *all, bool slow, u64 max_bytes, const char *what)
{
	struct file f = { .slow = slow };
	struct write_queue *q = new_queue(&f, max_bytes);
	int err = 0;
	u64 nr = run_putters(q, all, &err);
	ok(!err && !write_queue_drain(q), "%s: all is written", what);
	ok(f.nr_words == nr && f.nr_written == nr && f.nr_noted == THREADS * PUTS,
	   "%s: every word once, and noted", what);
	ok(!f.wrong && !f.overlap, "%s: in order, one write at a time", what);
	ok(!write_queue_bytes(q), "%s: nothing waits", what);
	write_queue_free(q);
}

static int put_word(struct write_queue *q, u64 word)
{
	struct write_note note = { .n = { 1 } };
	return write_queue_put(q, &(struct iovec){ &word, sizeof(word) }, 1, &note);
}

static void test_failure(struct putter *all)
{
	struct file f = { .slow = true, .fail_at = 100000 };
	struct write_queue *q = new_queue(&f, 4 << 20);
	int err = 0;
	(void)run_putters(q, all, &err);
	ok(err == -ENOSPC, "who puts after a failed write is told");
	ok(write_queue_drain(q) == -ENOSPC, "who waits for the end too");
	ok(f.nr_written < f.nr_words && !f.wrong, "what failed is not noted as written");
	u64 before = f.nr_words;
	ok(put_word(q, 0) == -ENOSPC && f.nr_words == before, "and nothing is written any more");
	write_queue_free(q);
}

static void *put_first(void *q)
{
	return put_word(q, 0) ? q : NULL;
}

/* While somebody writes, the others only leave copies, which go in one write. */
static void test_batch(void)
{
	enum { OTHERS = 5 };
	sem_t begun, go;
	pthread_t first;
	void *failed;
	struct file f = { .begun = &begun, .go = &go };
	struct write_queue *q = new_queue(&f, 0);
	if (sem_init(&begun, 0, 0) || sem_init(&go, 0, 0) ||
	    pthread_create(&first, NULL, put_first, q))
		abort();
	while (sem_wait(&begun) && errno == EINTR)
		;
	bool good = true;
	for (u64 i = 0; i < OTHERS; i++)
		good = good && !put_word(q, i + 1);
	ok(good && write_queue_bytes(q) == OTHERS * sizeof(u64), "puts do not wait for a write");
	(void)sem_post(&go);
	(void)sem_post(&go);
	good = !pthread_join(first, &failed) && !failed && !write_queue_drain(q);
	ok(good && f.nr_writes == 2 && f.nr_words == OTHERS + 1 && !f.wrong,
	   "and go together in the next one");
	write_queue_free(q);
	(void)sem_destroy(&begun);
	(void)sem_destroy(&go);
}

/* Larger than the queue may be: it waits for those before it and goes without a copy. */
static void test_large(void)
{
	enum { WORDS = 2 << 20 };
	struct file f = { .slow = true };
	struct write_queue *q = new_queue(&f, 4 << 20);
	u64 *words = malloc(WORDS * sizeof(u64));
	bool good = words != NULL;
	for (u64 k = 0; good && k < WORDS; k++)
		words[k] = k;
	struct write_note note = { .n = { WORDS } };
	good = good && !write_queue_put(q, &(struct iovec){ words, WORDS * sizeof(u64) }, 1, &note);
	ok(good && !write_queue_drain(q) && f.nr_words == WORDS && !f.wrong,
	   "a put larger than the queue");
	ok(write_queue_tid(q) > 0 && write_queue_tid(q) != gettid(), "the queue has a thread");
	free(words);
	write_queue_free(q);
}

int main(void)
{
	struct putter *all = calloc(THREADS, sizeof(*all));
	if (!all)
		abort();
	test_order(all, false, 0, "fast");
	test_order(all, true, 0, "slow");
	test_order(all, true, 4 << 20, "with room for two");
	test_failure(all);
	test_batch();
	test_large();
	free(all);
	return done_testing();
}
