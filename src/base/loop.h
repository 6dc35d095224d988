/*
 * The event loop: file descriptors, timers, signals and children through one epoll. A command makes one, adds what it
 * waits for, runs it, and frees it; signals are blocked from loop_signal() on and restored by loop_free().
 *
 * A handler returns 0 to go on, 1 to end the loop, or negative errno to end it with that error. Handlers may add sources,
 * and remove any (their own too).
 */
#pragma once

#include "base/types.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/types.h>

struct loop;
struct loop_source;

/* what: fd: EPOLLIN etc.; timer: how often it expired; signal: its number; child: the status as waitpid gives it. */
typedef int (*loop_fn)(void *ctx, u64 what);

struct loop *loop_new(void); /* NULL: no memory or no descriptors (errno) */
void loop_free(struct loop *l);

/* ret may be NULL. The descriptor stays the caller's. */
int loop_add_fd(struct loop *l, int fd, u32 events, loop_fn fn, void *ctx,
		struct loop_source **ret) must_check;
/* CLOCK_MONOTONIC; first_ns from now; interval_ns 0: once, then nobody waits for it any more. */
int loop_add_timer(struct loop *l, u64 first_ns, u64 interval_ns, loop_fn fn, void *ctx,
		   struct loop_source **ret) must_check;
int loop_add_signal(struct loop *l, int signo, loop_fn fn, void *ctx) must_check;
/* The child is reaped; the source is gone after its handler ran. */
int loop_add_child(struct loop *l, pid_t pid, loop_fn fn, void *ctx) must_check;
void loop_remove(struct loop *l, struct loop_source *s);

/* The signals as they were before the loop: what a child must be given before exec. */
const sigset_t *loop_old_signals(const struct loop *l);

/* Handles what is ready, waiting at most timeout_ms (-1: for ever). 0 go on, 1 a handler ended it, or negative errno. */
int loop_step(struct loop *l, int timeout_ms) must_check;
/* Until a handler ends it, or nothing is left to wait for: 0 or negative errno. */
int loop_run(struct loop *l) must_check;
