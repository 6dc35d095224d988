#include "base/turns.h"

void turns_init(struct turns *t)
{
	*t = (struct turns){ 0 };
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
}

void turns_done(struct turns *t)
{
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->changed);
}

bool turns_wait(struct turns *t, u64 seq)
{
	pthread_mutex_lock(&t->lock);
	while (t->next != seq && !t->cancelled)
		pthread_cond_wait(&t->changed, &t->lock);
	bool mine = !t->cancelled;
	pthread_mutex_unlock(&t->lock);
	return mine;
}

void turns_end(struct turns *t, bool failed)
{
	pthread_mutex_lock(&t->lock);
	t->next++;
	t->cancelled |= failed;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

void turns_cancel(struct turns *t)
{
	pthread_mutex_lock(&t->lock);
	t->cancelled = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}
