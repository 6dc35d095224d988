/* How long workloads run. What a signal handler sets is the process's: it can be handed nothing. */
#include "workload/workload.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>

volatile sig_atomic_t workload_over;

static void time_is_over(int signo)
{
	workload_over = 1;
}

int workload_start_timer(const struct workload_args *a, u64 ns)
{
	struct sigaction act = { .sa_handler = time_is_over, .sa_flags = SA_RESTART };
	struct sigevent tell = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct itimerspec when = { .it_value = { .tv_sec = (time_t)(ns / NS_PER_SEC),
						 .tv_nsec = (long)(ns % NS_PER_SEC) } };
	timer_t timer;
	workload_over = !ns;
	if (!ns)
		return 0;
	if (sigaction(SIGPROF, &act, NULL) || timer_create(CLOCK_PROCESS_CPUTIME_ID, &tell, &timer) ||
	    timer_settime(timer, 0, &when, NULL))
		return diag_error(a->d, -errno, "cannot start a timer: %s", strerror(errno));
	return 0;
}
