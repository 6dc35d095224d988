/*
 * The built-in programs of `sonde workload`: deterministic things to look at. Their functions are visible, never inlined
 * and keep a frame, so that a profile of them has known names and known stacks.
 */
#pragma once

#include "base/diag.h"
#include "base/strbuf.h"

#include <signal.h>

/* Arguments of a workload, already checked. */
struct workload_args {
	u64 n; /* how often; those that take seconds: unused */
	u64 ns; /* how long; those that take a number: from --seconds */
	unsigned threads; /* at least 1 */
	struct diag *d;
	struct strbuf *out; /* for what a workload measured itself */
};

enum workload_unit { WORKLOAD_COUNT, WORKLOAD_SECONDS };

struct workload {
	const char *name;
	enum workload_unit unit; /* of the one argument */
	const char *fallback; /* the argument when none is given */
	u64 max; /* of a count; 0: no limit */
	const char *about;
	int (*run)(const struct workload_args *a); /* 0 or negative errno with a diag */
};

/* Keeps a function as it is written: a symbol of its own, called, not cloned, not merged. */
#ifdef __clang__
#define WORKLOAD_FN __attribute__((noinline, used))
#else
#define WORKLOAD_FN __attribute__((noipa, used))
#endif
/* First in a function that calls nobody: compilers leave the frame away there, whatever -fno-omit-frame-pointer says. */
#define WORKLOAD_KEEP_FRAME() __asm__ volatile("" ::"r"(__builtin_frame_address(0)))
/* Behind a call: makes it a call and not a jump, so that the caller stays on the stack. */
#define WORKLOAD_NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/*
 * Set when the time of workload_start_timer() is over. It is CPU time of the whole process: by the wall, a busy machine would leave nothing of half a
 * second to be sampled.
 */
extern volatile sig_atomic_t workload_over;
int workload_start_timer(const struct workload_args *a, u64 ns);

int workload_noploop(const struct workload_args *a);
int workload_thloop(const struct workload_args *a);
int workload_parent(const struct workload_args *a);
int workload_deep(const struct workload_args *a);
int workload_inline(const struct workload_args *a);
int workload_sqrtloop(const struct workload_args *a);
int workload_brstack(const struct workload_args *a);
int workload_datasym(const struct workload_args *a);
int workload_landlock(const struct workload_args *a);
int workload_mutex(const struct workload_args *a);
int workload_convoy(const struct workload_args *a);
int workload_malloc(const struct workload_args *a);
int workload_faults(const struct workload_args *a);
int workload_syscalls(const struct workload_args *a);
int workload_switches(const struct workload_args *a);
int workload_io(const struct workload_args *a);
int workload_forks(const struct workload_args *a);
int workload_usdt(const struct workload_args *a);
int workload_jit(const struct workload_args *a);

/* What a profile or a probe looks for by name. */
void workload_spin(void);
void workload_middle(void);
void workload_leaf(void);
u64 workload_recurse(u64 depth);
u64 workload_inline_caller(u64 x);
double workload_sqrt(double x);
void *workload_thread(void *arg);
void workload_locked(unsigned long *counter);
void *workload_allocate(size_t size);
void workload_touch(volatile char *page);
