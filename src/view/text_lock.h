/* Locks as `perf lock report`, `contention` and `info` print them. */
#pragma once

#include "base/strbuf.h"
#include "model/lock.h"

struct text_lock_style {
	enum lock_group group;
	enum lock_key keys[LOCK_NR_KEYS];
	u32 nr_keys;
	u64 max_rows; /* 0: all */
	bool always_debug; /* the block about broken sequences, also where there are none */
	/* The stack below a row of contention; NULL: none. */
	void (*stack)(void *ctx, const struct lock_row *r, struct strbuf *to);
	void *ctx;
};

void text_lock_report(const struct lock_rows *r, const struct text_lock_style *s, struct strbuf *to);
void text_lock_contention(const struct lock_rows *r, const struct text_lock_style *s,
			  struct strbuf *to);
/* Of rows by thread, and of rows by address. */
void text_lock_threads(const struct lock_rows *r, struct strbuf *to);
void text_lock_classes(const struct lock_rows *r, struct strbuf *to);
