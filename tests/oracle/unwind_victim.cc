// Stacks that are hard to follow: threads, signal handlers (on the stack and on one of their own), exceptions through several
// functions, calls that never return at a function's end, stacks of varying size, callbacks out of libc, calls through the PLT.
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static volatile unsigned sink;

__attribute__((noinline)) static void spin(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) static void on_signal(int)
{
	char text[64];
	snprintf(text, sizeof(text), "%u", sink);
	spin(20000);
}

__attribute__((noinline, noreturn)) static void throw_it(int n)
{
	throw std::runtime_error("number " + std::to_string(n));
}

struct guard {
	~guard() { spin(200); }
};

__attribute__((noinline)) static int dive(int n)
{
	guard g;
	if (!n)
		throw_it(n); // the last instruction of this path is a call
	return dive(n - 1) + 1;
}

__attribute__((noinline)) static void exceptions()
{
	for (int i = 1; i < 20; i++) {
		try {
			dive(i);
		} catch (const std::exception &e) {
			sink += (unsigned)strlen(e.what());
		}
	}
}

__attribute__((noinline)) static void varying(size_t n)
{
	char *room = (char *)alloca(n + 16);
	memset(room, 1, n);
	spin(500);
	sink += (unsigned char)room[n / 2];
}

__attribute__((noinline)) static void realigned(int n)
{
	alignas(64) char room[128];
	memset(room, n, sizeof(room));
	varying(100 + (size_t)n);
	sink += (unsigned char)room[n & 127];
}

static int compare(const void *a, const void *b)
{
	spin(20);
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void callbacks()
{
	int numbers[200];
	for (int &n : numbers)
		n = rand();
	qsort(numbers, 200, sizeof(int), compare);
	std::map<std::string, int> m;
	for (int i = 0; i < 100; i++)
		m[std::to_string(rand())] = i;
	std::vector<std::pair<int, std::string>> v;
	for (auto &p : m)
		v.push_back({ p.second, p.first });
	std::sort(v.begin(), v.end());
	sink += (unsigned)v.size();
}

static void *worker(void *arg)
{
	bool own_stack = arg != nullptr;
	static thread_local char room[1 << 16];
	if (own_stack) {
		stack_t ss = {};
		ss.ss_sp = room;
		ss.ss_size = sizeof(room);
		sigaltstack(&ss, nullptr);
	}
	for (unsigned round = 0;; round++) {
		exceptions();
		for (int i = 0; i < 100; i++)
			realigned(i);
		callbacks();
		if (!own_stack || round % 64 == 0) // what is on another stack is in no copy of this one
			raise(own_stack ? SIGUSR2 : SIGUSR1);
	}
}

int main()
{
	struct sigaction sa = {};
	sa.sa_handler = on_signal;
	sigaction(SIGUSR1, &sa, nullptr);
	sigaction(SIGALRM, &sa, nullptr);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &sa, nullptr);
	struct itimerval it = { { 0, 2000 }, { 0, 2000 } };
	setitimer(ITIMER_REAL, &it, nullptr);
	pthread_t t;
	pthread_create(&t, nullptr, worker, nullptr);
	pthread_create(&t, nullptr, worker, &t);
	worker(nullptr);
}
