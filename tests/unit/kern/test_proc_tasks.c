/* Tasks of fake /proc trees of several kernels, made here, and of the running one. */
#include "kern/proc_tasks.h"
#include "kern/proc_tasks_parse.h"
#include "kern/user_names.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root_path[] = "/tmp/sonde-tasks.XXXXXX";

static void put(const char *text, const char *fmt, ...) printf_like(2, 3);
static void put(const char *text, const char *fmt, ...)
{
	char path[512], name[400];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	(void)snprintf(path, sizeof(path), "%s/%s", root_path, name);
	for (char *c = strchr(path + 1, '/'); c; c = strchr(c + 1, '/')) {
		*c = '\0';
		(void)mkdir(path, 0755);
		*c = '/';
	}
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		printf("Bail out! cannot write %s\n", path);
}

static void remove_tree(const char *what)
{
	char command[300];
	(void)snprintf(command, sizeof(command), "rm -rf %s/%s", root_path, what);
	if (system(command))
		printf("Bail out! %s\n", command);
}

/* 3.10: 44 fields; 6.18: 52. */
static const char stat_310[] =
	"7 (old) S 1 7 7 34816 7 4202752 1500 20 3 4 10 20 5 6 20 0 2 0 250 "
	"10485760 512 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n";
static const char stat_618[] =
	"8 (a) R 1 (b) D 1 8 8 0 -1 4194560 7 0 1 0 1 2 0 0 -51 0 1 0 300 4096000 "
	"100 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 50 1 0 0 0 0 0 0 0 0 0 0 0\n";
static const char status_618[] =
	"Name:\ta) R 1 (b\nUmask:\t0022\nState:\tD (disk "
	"sleep)\nTgid:\t8\nNgid:\t0\nPid:\t8\nPPid:\t1\n"
	"Uid:\t1000\t1001\t1002\t1003\nGid:\t100\t101\t102\t103\nFDSize:\t64\nGroups:\t4 24 27 \n"
	"VmPeak:\t 5000 kB\nVmLck:\t 12 kB\nRssAnon:\t 100 kB\nRssFile:\t 200 kB\nRssShmem:\t 3 "
	"kB\n"
	"VmSwap:\t 44 "
	"kB\nThreads:\t1\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t11\n";

static void make_tree(void)
{
	put(stat_310, "proc/7/stat");
	put("2560 512 128 10 0 300 0\n", "proc/7/statm");
	put("Name:\told\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n", "proc/7/status");
	put(stat_618, "proc/8/stat");
	put(status_618, "proc/8/status");
	put("1000 100 50 2 0 30 0\n", "proc/8/statm");
	put("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
	    "cancelled_write_bytes: 7\n",
	    "proc/8/io");
	put("100 200 3\n", "proc/8/schedstat");
	put("9:name=systemd:/a,b\n0::/x\n", "proc/8/cgroup");
	put("do_thing", "proc/8/wchan");
	put("/bin/sh -c", "proc/8/cmdline");
	put("-17\n", "proc/8/oom_score_adj");
	put("5\n", "proc/8/oom_score");
	put("4294967295\n", "proc/8/loginuid");
	put("/autogroup-12 nice -3\n", "proc/8/autogroup");
	put("7f00-7fff ---p 00000000 00:00 0 [rollup]\nRss: 40 kB\nPss: 30 kB\nPss_Anon: 10 kB\n"
	    "Pss_File: 15 kB\nPss_Shmem: 5 kB\nPrivate_Clean: 2 kB\nPrivate_Dirty: 7 kB\n",
	    "proc/8/smaps_rollup");
	put("9 (gone", "proc/9/stat"); /* cut short */
	put("", "proc/10/stat"); /* ended between two calls */
	put("x", "proc/notapid/stat");
	put("cpu  10 20 30 40 5 6 7 8 0 0\ncpu0 5 10 15 20 1 2 3 4 0 0\ncpu3 5 10 15 20\nintr 5\n",
	    "proc/stat");
	put("MemTotal: 1000 kB\nMemFree: 400 kB\nBuffers: 50 kB\nCached: 150 kB\nSwapTotal: 9 kB\n"
	    "SwapFree: 4 kB\n",
	    "proc/meminfo");
	put("1.50 0.25 10.00 1/200 999\n", "proc/loadavg");
	put("3600.25 7000.00\n", "proc/uptime");
	put("nr_free_pages 1\npgpgin 77\npgpgout 88\n", "proc/vmstat");
	put("root:x:0:0::/:/bin/sh\nada:x:1001:101::/:/bin/sh\n", "etc/passwd");
	put("wheel:x:101:\n", "etc/group");
}

static const struct task *task_of(const struct task_list *l, s32 pid)
{
	vec_for_each (&l->tasks, t)
		if (t->pid == pid)
			return t;
	return NULL;
}

static void check_old(const struct task_list *l)
{
	const struct task *t = task_of(l, 7);
	if (!ok(t != NULL, "a task of 3.10"))
		return;
	is_str(t->comm, "old", "its name");
	ok(t->state == 'S' && t->ppid == 1 && t->tty == 34816 && t->flags == 4202752, "its head");
	ok(t->min_faults == 1500 && t->maj_faults == 3 && t->user_ticks == 10 &&
		   t->system_ticks == 20 && t->child_user_ticks == 5 && t->child_system_ticks == 6,
	   "faults and times");
	ok(t->priority == 20 && t->nice == 0 && t->nr_threads == 2 && t->start_ticks == 250 &&
		   t->virtual_bytes == 10485760 && t->rss_pages == 512 && t->cpu == 3,
	   "priority to CPU");
	ok(t->size_pages == 2560 && t->shared_pages == 128 && t->data_pages == 300, "statm");
	ok(!t->rss_anon_kb && !t->groups && !(t->parts & TASK_IO), "what 3.10 does not have");
}

static void check_new(const struct task_list *l)
{
	const struct task *t = task_of(l, 8);
	if (!ok(t != NULL, "a task of 6.18"))
		return;
	is_str(t->comm, "a) R 1 (b", "a name with parentheses and a state");
	ok(t->state == 'D' && t->priority == -51 && t->tpgid == -1 && t->rt_priority == 50 &&
		   t->policy == 1,
	   "state and priority");
	ok(t->uid[TASK_ID_REAL] == 1000 && t->uid[TASK_ID_EFFECTIVE] == 1001 &&
		   t->uid[TASK_ID_SAVED] == 1002 && t->gid[TASK_ID_EFFECTIVE] == 101,
	   "users and groups");
	is_str(task_text(l, t->groups), "4 24 27", "supplementary groups");
	ok(t->swap_kb == 44 && t->locked_kb == 12 && t->rss_anon_kb == 100 && t->rss_file_kb == 200 &&
		   t->rss_shmem_kb == 3 && t->voluntary_switches == 150 && t->other_switches == 11,
	   "status");
	ok(t->read_calls == 3 && t->write_calls == 4 && t->read_bytes == 5 && t->write_bytes == 6,
	   "io");
	ok(t->run_ns == 100 && t->wait_ns == 200 && t->slices == 3, "schedstat");
	is_str(task_text(l, t->cgroup), "9:name=systemd:/a,b,0::/x", "cgroups");
	is_str(task_text(l, t->wchan), "do_thing", "wchan");
	is_str(task_text(l, t->cmdline), "/bin/sh -c", "command line");
	ok(t->oom_adj == -17 && t->oom_score == 5 && t->login_uid == -1 && t->autogroup == 12 &&
		   t->autogroup_nice == -3,
	   "OOM scores, login, autogroup");
	ok(t->smaps_rss_kb == 40 && t->pss_kb == 30 && t->pss_anon_kb == 10 && t->private_kb == 9,
	   "smaps");
}

static void test_fake(struct proc_tasks *p)
{
	const struct task_list *one, *two;
	struct proc_tasks_opts all = { .parts = (1u << 18) - 1 };
	ok(!proc_tasks_read(p, &all, &one), "a fake tree is read");
	is_u64(one->tasks.nr, 2, "what is cut short, empty or no number is left out");
	check_old(one);
	check_new(one);
	ok(proc_tasks_delays_error(p) == -ENOENT, "a fake tree has no taskstats");
	/* The same text again: rows are taken over, other files read anew. */
	put("100 999 3\n", "proc/8/schedstat");
	ok(!proc_tasks_read(p, &all, &two), "once more");
	const struct task *t = task_of(two, 8);
	ok(t && t->wait_ns == 999 && t->user_ticks == 1 && !strcmp(t->comm, "a) R 1 (b"),
	   "stat as it was, schedstat anew");
	is_u64(task_of(one, 8)->wait_ns, 200, "the reading before is still there");
	/* One ends, another has its number. */
	remove_tree("proc/7");
	put("8 (next) S 1 8 8 0 -1 0 0 0 0 0 9 9 0 0 20 0 1 0 900 4096 1 0\n", "proc/8/stat");
	struct proc_tasks_opts little = { .parts = TASK_STAT };
	ok(!proc_tasks_read(p, &little, &one) && one->tasks.nr == 1, "a task has ended");
	t = task_of(one, 8);
	ok(t && t->start_ticks == 900 && t->cpu == -1 && t->parts == TASK_STAT,
	   "a new one with an old number, a short stat and no other part");
	s32 only[] = { 12345, 8, 8 };
	struct proc_tasks_opts few = { .parts = TASK_STAT, .pids = only, .nr_pids = 3 };
	ok(!proc_tasks_read(p, &few, &one) && one->tasks.nr == 1, "only some, each once");
}

static void test_system(const struct sysroot *r)
{
	struct system_reading s = { 0 };
	struct strbuf buf;
	strbuf_init(&buf);
	ok(!system_read(r, &buf, &s), "the machine");
	ok(s.cpus.nr == 3 && s.cpus.at[0].cpu == -1 && s.cpus.at[2].cpu == 3 &&
		   s.cpus.at[0].steal == 8 && s.cpus.at[2].idle == 20 && !s.cpus.at[2].iowait,
	   "CPUs, also of a kernel that counts less");
	ok(s.mem_total_kb == 1000 && s.mem_available_kb == 600 && s.swap_free_kb == 4,
	   "memory, without MemAvailable");
	ok(s.load[0] == 1.5 && s.load[2] == 10 && s.uptime_s == 3600.25, "load and uptime");
	ok(s.paged_in_kb == 77 && s.paged_out_kb == 88, "paging");
	put("proc /proc proc rw,relatime,hidepid=2 0 0\n", "proc/self/mounts");
	is_u64((u64)proc_hidepid(r, &buf), 2, "hidepid as a number");
	put("proc /proc proc rw,hidepid=invisible,gid=5 0 0\n", "proc/self/mounts");
	is_u64((u64)proc_hidepid(r, &buf), 2, "hidepid as a word");
	put("proc /proc proc rw 0 0\nx /x proc hidepid=2 0 0\n", "proc/self/mounts");
	is_u64((u64)proc_hidepid(r, &buf), 0, "nothing is hidden");
	struct user_names u;
	u32 uid = 5;
	user_names_init(&u, r);
	is_str(user_name(&u, 1001), "ada", "a user");
	is_str(group_name(&u, 101), "wheel", "a group");
	is_str(user_name(&u, 4242), "4242", "a user without a name");
	ok(!user_by_name(&u, "ada", &uid) && uid == 1001, "by name");
	ok(!user_by_name(&u, "77", &uid) && uid == 77, "by number");
	ok(user_by_name(&u, "nobody-here", &uid) == -ENOENT, "not there");
	user_names_done(&u);
	strbuf_done(&buf);
	vec_free(&s.cpus);
}

static void test_many(void)
{
	enum { MANY = 20000, FIRST = 10000 };
	const struct task_list none = { 0 }, *one = &none, *two;
	char text[300];
	remove_tree("proc");
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(text, sizeof(text),
			       "%d (p%d) S 1 1 1 0 -1 0 %d 0 0 0 %d 0 0 0 20 0 1 0 %d 4096 1 0\n",
			       FIRST + i, i, i, i, i);
		put(text, "proc/%d/stat", FIRST + i);
	}
	struct proc_tasks_opts o = { .parts = TASK_STAT };
	struct sysroot r;
	ok(!sysroot_open(&r, root_path), "the tree again");
	struct proc_tasks *fresh = proc_tasks_open(&r);
	ok(fresh && !proc_tasks_read(fresh, &o, &one) && one->tasks.nr == MANY, "20,000 tasks");
	bool right = one->tasks.nr == MANY;
	for (int i = 0; right && i < MANY; i++)
		right = one->tasks.at[i].pid == FIRST + i && one->tasks.at[i].user_ticks == (u64)i;
	ok(right, "all, in order");
	const struct task *first = one->tasks.at;
	ok(!proc_tasks_read(fresh, &o, &two) && !proc_tasks_read(fresh, &o, &one) &&
		   one->tasks.at == first,
	   "the third reading uses the memory of the first");
	proc_tasks_close(fresh);
	sysroot_close(&r);
}

/* Names that no fake file can have: from a process of our own. */
static void test_live(void)
{
	struct sysroot r;
	const struct task_list none = { 0 }, *l = &none;
	ok(!sysroot_open(&r, NULL), "the running system");
	struct proc_tasks *p = proc_tasks_open(&r);
	pid_t child = fork();
	if (!child) {
		for (;;)
			pause();
	}
	s32 pids[] = { getpid(), child };
	struct proc_tasks_opts o = { .parts = TASK_STATM | TASK_STATUS | TASK_CMDLINE | TASK_EXE |
					      TASK_NAMESPACES | TASK_CGROUP | TASK_IO,
				     .pids = pids,
				     .nr_pids = 2 };
	ok(p && !proc_tasks_read(p, &o, &l) && l->tasks.nr == 2, "we and our child");
	const struct task *t = p ? task_of(l, child) : NULL;
	ok(t && t->ppid == getpid() && t->uid[TASK_ID_EFFECTIVE] == geteuid() && t->size_pages &&
		   t->ns[TASK_NS_MNT],
	   "the child");
	kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	ok(p && !proc_tasks_read(p, &o, &l) && l->tasks.nr == 1, "it has ended");
	struct proc_tasks_opts threads = { .threads = true, .pids = pids, .nr_pids = 1 };
	ok(p && !proc_tasks_read(p, &threads, &l) && l->tasks.nr == 1 &&
		   l->tasks.at[0].tid == getpid(),
	   "threads");
	/* The owner alone has to be who status says it is. */
	struct proc_tasks_opts owner = { .parts = TASK_OWNER, .pids = pids, .nr_pids = 1 };
	ok(p && !proc_tasks_read(p, &owner, &l) && l->tasks.nr == 1 &&
		   l->tasks.at[0].uid[TASK_ID_EFFECTIVE] == geteuid(),
	   "the owner");
	proc_tasks_close(p);
	sysroot_close(&r);
}

static void test_hostile(void)
{
	static const char *const bad[] = {
		"",
		"1",
		"1 (",
		"1 ()",
		"1 (a) ",
		"1 (a) S",
		"1 )a( S 1 2 3",
		"x (a) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"1 (a) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
	};
	struct task t = { 0 };
	unsigned taken = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		taken += task_parse_stat(bad[i], strlen(bad[i]), &t);
	is_u64(taken, 0, "what is no stat line is refused");
	char line[300] = "1 (\n\033[31m) \xff) Z 5 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 99 1 1";
	ok(task_parse_stat(line, strlen(line), &t) && t.state == 'Z' && t.ppid == 5 &&
		   t.start_ticks == 99 && !strcmp(t.comm, "\n\033[31m) \xff"),
	   "a name with a newline, an escape and a parenthesis");
	memset(line, 'x', sizeof(line));
	memcpy(line, "1 (", 3);
	memcpy(line + 200, ") S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", 46);
	ok(task_parse_stat(line, 246, &t) && strlen(t.comm) == TASK_COMM_MAX - 1,
	   "a long name is cut");
	is_u64(task_parse_ns("mnt:[4026531841]", 16), 4026531841, "a namespace");
	is_u64(task_parse_ns("mnt:4026531841]", 15), 0, "not one");
}

int main(void)
{
	if (!mkdtemp(root_path))
		printf("Bail out! no directory\n");
	make_tree();
	struct sysroot r;
	if (sysroot_open(&r, root_path))
		printf("Bail out! no tree\n");
	struct proc_tasks *p = proc_tasks_open(&r);
	ok(p != NULL, "open");
	test_fake(p);
	test_system(&r);
	test_many();
	proc_tasks_close(p);
	sysroot_close(&r);
	test_live();
	test_hostile();
	remove_tree("");
	return done_testing();
}
