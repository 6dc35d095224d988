#include "base/turns.h"

/* Somebody who waits: only the one whose turn comes is woken. */
struct turns_waiter {
	struct turns_waiter *next;
	u64 seq;
	pthread_cond_t woken;
};

void turns_init(struct turns *t)
{
	*t = (struct turns){ 0 };
	pthread_mutex_init(&t->lock, NULL);
}

void turns_done(struct turns *t)
{
	pthread_mutex_destroy(&t->lock);
}

static void wait_in_list(struct turns *t, u64 seq)
{
	struct turns_waiter w = { .next = t->waiters, .seq = seq };
	struct turns_waiter **link = &t->waiters;
	pthread_cond_init(&w.woken, NULL);
	t->waiters = &w;
	while (t->next != seq && !t->cancelled)
		pthread_cond_wait(&w.woken, &t->lock);
	while (*link != &w)
		link = &(*link)->next;
	*link = w.next;
	pthread_cond_destroy(&w.woken);
}

bool turns_wait(struct turns *t, u64 seq)
{
	pthread_mutex_lock(&t->lock);
	if (t->next != seq && !t->cancelled)
		wait_in_list(t, seq);
	bool mine = !t->cancelled;
	pthread_mutex_unlock(&t->lock);
	return mine;
}

static void wake(struct turns *t)
{
	for (struct turns_waiter *w = t->waiters; w; w = w->next)
		if (w->seq == t->next || t->cancelled)
			pthread_cond_signal(&w->woken);
}

void turns_end(struct turns *t, bool failed)
{
	pthread_mutex_lock(&t->lock);
	t->next++;
	t->cancelled |= failed;
	wake(t);
	pthread_mutex_unlock(&t->lock);
}

void turns_restart(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->next = 0;
	pthread_mutex_unlock(&t->lock);
}

void turns_cancel(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->cancelled = true;
	wake(t);
	pthread_mutex_unlock(&t->lock);
}
