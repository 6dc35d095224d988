/*
 * A bit of everything that a report must tell apart: named threads, children that go on as they are, children that run another
 * program, libraries loaded one after the other at the same place, recursion. usage: report_mix SECONDS LIB1 LIB2
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sum;
static double until;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void spin(unsigned n)
{
	while (n--)
		sum += n * 7;
}

__attribute__((noinline)) static void recurse(unsigned depth)
{
	spin(300);
	if (depth)
		recurse(depth - 1);
	sum++;
}

__attribute__((noinline)) static void left(unsigned n)
{
	spin(n);
	recurse(n % 9);
	sum++;
}

__attribute__((noinline)) static void right(unsigned n)
{
	left(n / 2);
	spin(n);
	sum++;
}

static void *thread(void *name)
{
	prctl(PR_SET_NAME, name);
	while (now() < until)
		strcmp(name, "left") ? right(20000) : left(30000);
	return NULL;
}

static void library(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*work)(unsigned) = lib ? (void (*)(unsigned))dlsym(lib, "lib_work") : NULL;
	for (unsigned i = 0; work && i < 30; i++)
		work(30000);
	if (lib)
		dlclose(lib);
}

static void child(char **argv, int how)
{
	if (fork())
		return;
	if (how == 1) {
		prctl(PR_SET_NAME, "renamed");
		for (int i = 0; i < 40; i++)
			right(10000);
	} else if (how == 2) {
		execl(argv[0], argv[0], "0.05", argv[2], argv[3], "again", NULL);
	} else {
		for (int i = 0; i < 40; i++)
			left(10000);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	until = now() + atof(argv[1]);
	pthread_t t[2];
	pthread_create(&t[0], NULL, thread, (void *)"left");
	pthread_create(&t[1], NULL, thread, (void *)"right");
	for (int i = 0; now() < until; i++) {
		library(argv[2 + i % 2]);
		if (argc < 5)
			child(argv, i % 3);
	}
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	while (wait(NULL) > 0)
		;
	return 0;
}
