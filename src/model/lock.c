#include "model/lock.h"

#include <string.h>

static const char *const names[LOCK_NR_KEYS] = {
	[LOCK_ACQUIRED] = "acquired", [LOCK_CONTENDED] = "contended",
	[LOCK_AVG_WAIT] = "avg_wait", [LOCK_WAIT_TOTAL] = "wait_total",
	[LOCK_WAIT_MAX] = "wait_max", [LOCK_WAIT_MIN] = "wait_min",
};

u64 lock_value(const struct lock_row *r, enum lock_key key)
{
	const struct lock_sum *s = &r->sum;
	switch (key) {
	case LOCK_ACQUIRED: return s->nr_acquired;
	case LOCK_CONTENDED: return s->nr_contended;
	case LOCK_AVG_WAIT: return s->nr_waits ? s->total_ns / s->nr_waits : 0;
	case LOCK_WAIT_TOTAL: return s->total_ns;
	case LOCK_WAIT_MAX: return s->max_ns;
	case LOCK_WAIT_MIN: return s->min_ns == UINT64_MAX ? 0 : s->min_ns;
	case LOCK_NR_KEYS: break;
	}
	return 0;
}

int lock_key_find(const char *name, size_t len)
{
	for (int i = 0; i < LOCK_NR_KEYS; i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return i;
	return -1;
}

const char *lock_key_name(enum lock_key key)
{
	return names[key];
}
