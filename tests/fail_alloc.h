/*
 * The n-th allocation fails. A test linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free (a row with
 * 'fail_alloc' in tests/meson.build) runs a piece of work again and again: with its first allocation failing, its second,
 * and so on, until the work has no further one. Each run must end with -ENOMEM (or succeed, where memory is optional, as in
 * messages) and leave nothing behind.
 *
 *	fail_alloc_each("opts_parse", work, ctx);        int work(void *ctx): 0 or negative errno
 *
 * What glibc allocates inside of itself (regcomp, getline) is not wrapped.
 */
#pragma once

#include "tap.h"

#include <errno.h>
#include <stdlib.h>

static struct {
	bool armed;
	unsigned long countdown; /* the allocation that fails */
	unsigned long seen;
	long live; /* allocated while armed and not yet freed */
} fail_alloc;

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

static bool fail_alloc_now(void)
{
	return fail_alloc.armed && ++fail_alloc.seen == fail_alloc.countdown;
}

static void *fail_alloc_count(void *p)
{
	fail_alloc.live += fail_alloc.armed && p;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fail_alloc_now() ? NULL : fail_alloc_count(__real_malloc(size));
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fail_alloc_now() ? NULL : fail_alloc_count(__real_calloc(nr, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (fail_alloc_now())
		return NULL;
	fail_alloc.live -= fail_alloc.armed && p;
	return fail_alloc_count(__real_realloc(p, size));
}

char *__wrap_strdup(const char *s)
{
	return fail_alloc_now() ? NULL : fail_alloc_count(__real_strdup(s));
}

void __wrap_free(void *p)
{
	fail_alloc.live -= fail_alloc.armed && p;
	__real_free(p);
}

enum { FAIL_ALLOC_MOST = 100000 };

/* may_succeed: the work may hide a failed allocation (messages are lost, not results). */
static void fail_alloc_run(const char *what, int (*work)(void *ctx), void *ctx, bool may_succeed)
{
	unsigned long n = 0, wrong = 0;
	long leaked = 0;
	int last = 0;
	bool through = false;
	while (!through && n < FAIL_ALLOC_MOST) {
		fail_alloc.seen = 0;
		fail_alloc.live = 0;
		fail_alloc.countdown = ++n;
		fail_alloc.armed = true;
		last = work(ctx);
		fail_alloc.armed = false;
		through = fail_alloc.seen < n;
		bool right = through ? last == 0 : last == -ENOMEM || (may_succeed && last == 0);
		if (!right && !wrong++)
			printf("# %s: allocation %lu of this run failed, result %d\n", what, n,
			       last);
		if (fail_alloc.live && !leaked++)
			printf("# %s: with allocation %lu failing, %ld were not freed\n", what, n,
			       fail_alloc.live);
	}
	ok(through && n > 1, "%s: all of its %lu allocations fail in turn", what, n - 1);
	ok(!wrong, "%s: each failure is told as -ENOMEM", what);
	ok(!leaked, "%s: nothing is left behind", what);
}

__attribute__((unused)) static void fail_alloc_each(const char *what, int (*work)(void *ctx),
						    void *ctx)
{
	fail_alloc_run(what, work, ctx, false);
}

__attribute__((unused)) static void fail_alloc_or_less(const char *what, int (*work)(void *ctx),
						       void *ctx)
{
	fail_alloc_run(what, work, ctx, true);
}
