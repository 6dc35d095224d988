/* Ends of tasks: short ones, threads of processes that live on or end later, ends that are read before /proc shows them, broken messages. */
#include "session/who_ended.h"
#include "tap.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>

static struct task_list now;

static void alive(const s32 *pids, size_t nr)
{
	now.tasks.nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct task *t = vec_push(&now.tasks);
		t->pid = t->tid = pids[i];
	}
	now.time_ns = 100000000000ull;
}

static struct task_end end_of(s32 pid, s32 tid, u64 cpu_ns)
{
	struct task_end e = {
		.pid = pid, .tid = tid, .ppid = 1, .cpu_ns = cpu_ns, .lived_ns = 5000000
	};
	snprintf(e.comm, sizeof(e.comm), "t%d", tid);
	return e;
}

static const struct task *row(const struct who_ended *e, s32 pid)
{
	vec_for_each (&e->list, t)
		if (t->tid == pid)
			return t;
	return NULL;
}

static void test_processes(struct who_ended *e)
{
	/* 10 ends unseen, with two threads, the leader last; a thread of 20 ends; 30 is read from /proc and ends right after. */
	struct task_end first[] = { end_of(10, 11, 100), end_of(10, 10, 50), end_of(20, 21, 7),
				    end_of(30, 30, 900) };
	alive((s32[]){ 20, 30 }, 2);
	ok(!who_ended_add(e, first, 4, &now, false) && e->list.nr == 1, "one process has ended");
	const struct task *t = row(e, 10);
	ok(t && t->ended_cpu_ns == 150 && t->nr_threads == 2 && t->state == 'X' &&
		   !strcmp(t->comm, "t10"),
	   "with its threads' time, and its leader's name");
	ok(t && t->start_ticks == 9999, "when it can have begun at the latest");
	alive((s32[]){ 20 }, 1);
	ok(!who_ended_add(e, NULL, 0, &now, false) && e->list.nr == 1 && row(e, 30) &&
		   row(e, 30)->ended_cpu_ns == 900,
	   "one that /proc still had is a row of the next interval");
	struct task_end last[] = { end_of(20, 20, 3) };
	alive(NULL, 0);
	ok(!who_ended_add(e, last, 1, &now, false) && e->list.nr == 1 &&
		   row(e, 20)->ended_cpu_ns == 10,
	   "threads that ended before count when their process ends");
	ok(!who_ended_add(e, NULL, 0, &now, false) && !e->list.nr && !e->dead.nr && !e->waiting.nr,
	   "nothing is kept of those that are gone");
}

static void test_threads(struct who_ended *e)
{
	struct task_end ends[] = { end_of(10, 11, 100), end_of(10, 10, 50) };
	alive(NULL, 0);
	ok(!who_ended_add(e, ends, 2, &now, true) && e->list.nr == 2 &&
		   row(e, 11)->ended_cpu_ns == 100,
	   "each thread is a row of its own");
}

/* A message as the kernel writes it. */
static size_t message(u8 *to, size_t stats_size)
{
	struct taskstats s = { .ac_pid = 7,
			       .ac_ppid = 3,
			       .ac_uid = 12,
			       .ac_utime = 4,
			       .ac_stime = 5,
			       .ac_etime = 100,
			       .ac_minflt = 8,
			       .ac_comm = "short" };
	s.ac_tgid = 6;
	size_t at = NLMSG_HDRLEN + GENL_HDRLEN;
	memset(to, 0, at);
	struct nlattr nest = { (u16)(2 * sizeof(nest) + 4 + sizeof(nest) + stats_size),
			       TASKSTATS_TYPE_AGGR_PID };
	struct nlattr pid = { sizeof(pid) + 4, TASKSTATS_TYPE_PID };
	struct nlattr stats = { (u16)(sizeof(stats) + stats_size), TASKSTATS_TYPE_STATS };
	memcpy(to + at, &nest, sizeof(nest));
	at += sizeof(nest);
	memcpy(to + at, &pid, sizeof(pid));
	at += sizeof(pid) + 4;
	memcpy(to + at, &stats, sizeof(stats));
	at += sizeof(stats);
	memcpy(to + at, &s, stats_size);
	return at + stats_size;
}

static void test_messages(void)
{
	u8 bytes[2048];
	struct task_end e;
	bool no_tgid;
	size_t len = message(bytes, sizeof(struct taskstats));
	ok(taskstats_parse_end(bytes, len, &e, &no_tgid) && !no_tgid && e.pid == 6 && e.tid == 7 &&
		   e.ppid == 3 && e.uid == 12 && e.cpu_ns == 9000 && e.lived_ns == 100000 &&
		   e.min_faults == 8 && !strcmp(e.comm, "short"),
	   "a message");
	struct taskstats *s = (void *)(bytes + len - sizeof(*s));
	u64 exact = 1234567;
	memcpy((u8 *)s + offsetof(struct taskstats, cpu_run_virtual_total), &exact, sizeof(exact));
	ok(taskstats_parse_end(bytes, len, &e, &no_tgid) && e.cpu_ns == exact,
	   "the scheduler's time is more exact than ticks");
	unsigned taken = 0;
	for (size_t cut = 0; cut < len; cut++) {
		u8 *copy = malloc(cut ? cut : 1); /* of that size, for the sanitizer */
		if (copy) {
			memcpy(copy, bytes, cut);
			taken += taskstats_parse_end(copy, cut, &e, &no_tgid);
		}
		free(copy);
	}
	is_u64(taken, 0, "no part of it is one");
	len = message(bytes, offsetof(struct taskstats, ac_tgid));
	ok(taskstats_parse_end(bytes, len, &e, &no_tgid) && no_tgid, "an older kernel's is told");
	len = message(bytes, 64);
	ok(!taskstats_parse_end(bytes, len, &e, &no_tgid), "too short to say anything");
}

int main(void)
{
	struct who_ended e = { .socket.fd = -1, .ticks_per_second = 100 };
	dict_init(&e.by_pid);
	task_list_init(&now);
	test_processes(&e);
	test_threads(&e);
	test_messages();
	who_ended_close(&e);
	task_list_done(&now);
	return done_testing();
}
