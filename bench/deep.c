/*
 * Deep call chains with a controlled variety, for the benches: threads that recurse through sixteen functions, most often along
 * the same paths. usage: deep SECONDS THREADS DEPTH VARIETY   (VARIETY 0: few paths ... 100: nearly every chain differs)
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned depth_limit = 20, variety = 10;
static volatile int stop;

struct walk {
	uint64_t seed;
	uint64_t sum;
};

static inline uint64_t next(struct walk *w)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed;
}

typedef void step_fn(struct walk *w, unsigned depth);
static step_fn *const steps[16];

__attribute__((noinline)) static void leaf_work(struct walk *w)
{
	for (int i = 0; i < 3000; i++)
		w->sum = w->sum * 6364136223846793005ull + 1442695040888963407ull;
}

/* clang-format off */
#define STEP(n)                                                                                    \
	__attribute__((noinline)) static void step_##n(struct walk *w, unsigned depth)             \
	{                                                                                          \
		if (depth >= depth_limit || stop) {                                                \
			leaf_work(w);                                                              \
			return;                                                                    \
		}                                                                                  \
		unsigned r = (unsigned)(next(w) >> 20);                                            \
		unsigned to = r % 100 < variety ? r / 100 % 16 : (n + 1) % 16;                     \
		steps[to](w, depth + 1);                                                           \
		w->sum++;                                                                          \
	}
STEP(0)
STEP(1)
STEP(2)
STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14)
	STEP(15)
	/* clang-format on */

	static step_fn *const steps[16] = { step_0,  step_1,  step_2,  step_3, step_4,	step_5,
					    step_6,  step_7,  step_8,  step_9, step_10, step_11,
					    step_12, step_13, step_14, step_15 };

static void *run(void *arg)
{
	struct walk w = { .seed = (uint64_t)(uintptr_t)arg * 2654435761u + 88172645463325252ull };
	while (!stop) {
		step_0(&w, 0);
	}
	return (void *)(uintptr_t)w.sum;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 2;
	depth_limit = argc > 3 ? (unsigned)atoi(argv[3]) : 20;
	variety = argc > 4 ? (unsigned)atoi(argv[4]) : 10;
	pthread_t t[64];
	if (threads > 64)
		threads = 64;
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, run, (void *)(uintptr_t)(i + 1));
	struct timespec ts = { .tv_sec = (time_t)seconds,
			       .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };
	nanosleep(&ts, NULL);
	stop = 1;
	for (unsigned i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return 0;
}
