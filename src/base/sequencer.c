#include "base/sequencer.h"

#include <errno.h>

/* A worker that waits for its block to be next, or for the queue to shrink; only workers that can go on are woken. */
struct sequencer_waiter {
	struct sequencer_waiter *next;
	u64 seq;
	u32 most; /* of what is left; UINT32_MAX: waits for the turn */
	pthread_cond_t woken;
};

void sequencer_init(struct sequencer *t)
{
	*t = (struct sequencer){ 0 };
	pthread_mutex_init(&t->lock, NULL);
}

void sequencer_done(struct sequencer *t)
{
	pthread_mutex_destroy(&t->lock);
}

static bool may_go(const struct sequencer *t, const struct sequencer_waiter *w)
{
	return t->cancelled || (w->most == UINT32_MAX ? t->next == w->seq : t->nr_left <= w->most);
}

/* The lock is held. */
static void wait_for(struct sequencer *t, struct sequencer_waiter *w)
{
	struct sequencer_waiter **link = &t->waiters;
	if (may_go(t, w))
		return;
	w->next = t->waiters;
	pthread_cond_init(&w->woken, NULL);
	t->waiters = w;
	while (!may_go(t, w))
		pthread_cond_wait(&w->woken, &t->lock);
	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	pthread_cond_destroy(&w->woken);
}

bool sequencer_wait(struct sequencer *t, u64 seq)
{
	pthread_mutex_lock(&t->lock);
	wait_for(t, &(struct sequencer_waiter){ .seq = seq, .most = UINT32_MAX });
	bool mine = !t->cancelled;
	pthread_mutex_unlock(&t->lock);
	return mine;
}

static void wake(struct sequencer *t)
{
	for (struct sequencer_waiter *w = t->waiters; w; w = w->next)
		if (may_go(t, w))
			pthread_cond_signal(&w->woken);
}

void sequencer_end(struct sequencer *t, bool failed)
{
	pthread_mutex_lock(&t->lock);
	t->next++;
	t->cancelled |= failed;
	wake(t);
	pthread_mutex_unlock(&t->lock);
}

/* The item whose turn it is, if it is there. */
static struct sequencer_item *take_next(struct sequencer *t)
{
	for (struct sequencer_item **link = &t->left; *link; link = &(*link)->next) {
		struct sequencer_item *item = *link;
		if (item->seq != t->next)
			continue;
		*link = item->next;
		t->nr_left--;
		return item;
	}
	return NULL;
}

int sequencer_leave(struct sequencer *t, struct sequencer_item *item, u32 most,
		    int (*write)(void *, struct sequencer_item *), void *ctx)
{
	int err = 0;
	pthread_mutex_lock(&t->lock);
	item->next = t->left;
	t->left = item;
	t->nr_left++;
	while (!t->cancelled && !t->writing && (item = take_next(t))) {
		t->writing = true;
		pthread_mutex_unlock(&t->lock);
		err = write(ctx, item);
		pthread_mutex_lock(&t->lock);
		t->writing = false;
		t->next++;
		t->cancelled |= err != 0;
		wake(t);
	}
	if (t->nr_left > most) /* then for a while, not for one block at a time */
		wait_for(t, &(struct sequencer_waiter){ .most = most / 2 });
	if (!err && t->cancelled)
		err = -ECANCELED;
	pthread_mutex_unlock(&t->lock);
	return err;
}

void sequencer_restart(struct sequencer *t)
{
	pthread_mutex_lock(&t->lock);
	t->next = 0;
	pthread_mutex_unlock(&t->lock);
}

void sequencer_cancel(struct sequencer *t)
{
	pthread_mutex_lock(&t->lock);
	t->cancelled = true;
	wake(t);
	pthread_mutex_unlock(&t->lock);
}
