/*
 * Makes scheduler events happen that no ordinary program causes. usage: sched_events WHAT
 *
 *   pi       lends a mutex owner the priority of a real-time thread that waits for it
 *   ptrace   resumes a stopped child
 *   free     lets a child named "freed" exit, and waits for it
 *   poll     wakes the other CPU, which polls instead of halting while it is idle
 *   hang F   waits for a lock that nobody gives up, in state D: F is an empty trace_pipe, the task is named "hung"
 *   move     runs on node 0 while its memory stays on node 1, where the CPU is idle
 *   stick    the same, but a task that may not leave node 1 keeps it busy
 *   swap     two tasks, each on the other's node
 *
 * Prints the facts that the event must show, as NAME=NUMBER. What runs until it is killed says so first.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NR_PAGES 1024
#define PAGE	 4096

static void die(const char *what)
{
	fprintf(stderr, "sched_events: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The child ends with its parent. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* --- priority inheritance ---------------------------------------------------------------------- */

static pthread_mutex_t mutex;

static void *take_mutex(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* As /proc has it: 20 at nice 0, negative while a real-time priority is lent. */
static int own_priority(void)
{
	char text[512] = "", *at = NULL;
	int prio = 0, fd = open("/proc/thread-self/stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || !(at = strrchr(text, ')')))
		die("/proc/thread-self/stat");
	close(fd);
	sscanf(at + 2, "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %d", &prio);
	return prio;
}

static int make_pi(void)
{
	struct sched_param param = { .sched_priority = 10 };
	pthread_mutexattr_t attr;
	pthread_attr_t how;
	pthread_t waiter;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attr);
	pthread_attr_init(&how);
	pthread_attr_setinheritsched(&how, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&how, SCHED_FIFO);
	pthread_attr_setschedparam(&how, &param);
	pthread_mutex_lock(&mutex);
	printf("prio=%d\n", 100 + own_priority());
	if ((errno = pthread_create(&waiter, &how, take_mutex, NULL)))
		die("a thread of SCHED_FIFO");
	while (own_priority() >= 0)
		usleep(1000);
	pthread_mutex_unlock(&mutex);
	pthread_join(waiter, NULL);
	printf("pid=%d\n", getpid());
	return 0;
}

/* --- children ---------------------------------------------------------------------------------- */

static int make_ptrace(void)
{
	pid_t pid = fork_child();
	int status;

	if (!pid) {
		prctl(PR_SET_NAME, "traced");
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || ptrace(PTRACE_CONT, pid, NULL, NULL) ||
	    waitpid(pid, &status, 0) != pid)
		die("ptrace");
	printf("pid=%d\n", pid);
	return 0;
}

static int make_free(void)
{
	pid_t pid = fork_child();
	int status;

	if (!pid) {
		prctl(PR_SET_NAME, "freed");
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("wait");
	printf("pid=%d\n", pid);
	return 0;
}

/* --- idle CPUs ---------------------------------------------------------------------------------- */

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

/* Ours may be any two of the machine's. */
static void own_cpus(int cpus[2])
{
	cpu_set_t set;
	int nr = 0;

	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE && nr < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[nr++] = cpu;
	if (nr < 2) {
		errno = ENODEV;
		die("a second CPU");
	}
}

static int make_poll(void)
{
	int cpus[2], there[2], back[2], zero = 0,
					fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
	char byte = 0;

	own_cpus(cpus);
	if (fd < 0 || write(fd, &zero, sizeof(zero)) != sizeof(zero) || pipe(there) || pipe(back))
		die("/dev/cpu_dma_latency");
	printf("cpu=%d\ncpu=%d\n", cpus[0], cpus[1]);
	if (!fork_child()) {
		run_on(cpus[1]);
		for (;;)
			if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
				_exit(1);
	}
	run_on(cpus[0]);
	for (int i = 0; i < 200; i++) {
		usleep(500);
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			die("pipe");
	}
	return 0;
}

/* --- a task that hangs --------------------------------------------------------------------------- */

/* Who reads a regular file holds the lock of its position: the second reader waits for it and takes no signal. */
static int make_hang(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char byte;
	pid_t pid;

	if (fd < 0)
		die(path);
	if (!fork_child())
		_exit(read(fd, &byte, 1) < 0);
	usleep(200000);
	pid = fork_child();
	if (!pid) {
		prctl(PR_SET_NAME, "hung");
		_exit(read(fd, &byte, 1) < 0);
	}
	printf("pid=%d\n", pid);
	fflush(stdout);
	pause();
	return 0;
}

/* --- NUMA ---------------------------------------------------------------------------------------- */

/* Memory of one node that stays there, though the kernel looks who uses it. */
static char *make_memory(int node)
{
	enum { BIND = 2, NUMA_BALANCING = 1 << 13 }; /* of linux/mempolicy.h */
	unsigned long nodes = 1ul << node;
	char *memory = mmap(NULL, NR_PAGES * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || syscall(SYS_mbind, memory, NR_PAGES * PAGE,
					    BIND | NUMA_BALANCING, &nodes, 8 * sizeof(nodes), 0))
		die("memory of a node");
	madvise(memory, NR_PAGES * PAGE, MADV_NOHUGEPAGE);
	memset(memory, 1, NR_PAGES * PAGE);
	return memory;
}

/*
 * Uses memory of the other CPU's node until it is killed. It is free to go there, and is brought back now and then: the kernel may have moved it for
 * another reason, or before it knew of the memory.
 */
static void use_memory(int cpu)
{
	volatile char *memory = make_memory(!cpu);
	cpu_set_t both;

	CPU_ZERO(&both);
	CPU_SET(0, &both);
	CPU_SET(1, &both);
	for (;;) {
		clock_t until = clock() + CLOCKS_PER_SEC / 2;

		run_on(cpu);
		sched_setaffinity(0, sizeof(both), &both);
		while (clock() < until)
			for (size_t i = 0; i < NR_PAGES; i++)
				memory[i * PAGE]++;
	}
}

static int make_numa(const char *what)
{
	pid_t first = fork_child(), second = 0;

	if (!first)
		use_memory(0);
	if (strcmp(what, "move")) {
		second = fork_child();
		if (!second && !strcmp(what, "swap"))
			use_memory(1);
		if (!second)
			for (run_on(1);;)
				;
	}
	printf("first=%d\nsecond=%d\n", first, second);
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "pi"))
		return make_pi();
	if (!strcmp(what, "ptrace"))
		return make_ptrace();
	if (!strcmp(what, "free"))
		return make_free();
	if (!strcmp(what, "poll"))
		return make_poll();
	if (!strcmp(what, "hang") && argc == 3)
		return make_hang(argv[2]);
	if (!strcmp(what, "move") || !strcmp(what, "stick") || !strcmp(what, "swap"))
		return make_numa(what);
	fputs("usage: sched_events pi|ptrace|free|poll|hang FILE|move|stick|swap\n", stderr);
	return 129;
}
