#include "session/who_source.h"

#include "kern/caps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *env_user(void *ctx, u32 uid)
{
	struct who_source *s = ctx;
	return user_name(&s->names, uid);
}

static const char *env_group(void *ctx, u32 gid)
{
	struct who_source *s = ctx;
	return group_name(&s->names, gid);
}

/* ---- NUMA ---- */

enum { NODES_MAX = 1024, CPUS_MAX = 8192 };

/* "0-3,8": every CPU of the list belongs to the node. */
static int note_node(struct who_source *s, const char *list, s32 node)
{
	while (*list >= '0' && *list <= '9') {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		if (to >= CPUS_MAX || from > to)
			return 0;
		if (to >= s->nr_nodes_cpus) {
			u32 nr = (u32)to + 1;
			s32 *more = realloc(s->nodes, nr * sizeof(*more));
			if (!more)
				return -ENOMEM;
			for (u32 i = s->nr_nodes_cpus; i < nr; i++)
				more[i] = -1;
			s->nodes = more;
			s->nr_nodes_cpus = nr;
		}
		for (unsigned long i = from; i <= to; i++)
			s->nodes[i] = node;
		list = *end == ',' ? end + 1 : end;
	}
	return 0;
}

static int read_nodes(struct who_source *s)
{
	int err = 0;
	for (s32 node = 0; node < NODES_MAX && !err; node++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpulist", node);
		const char *list = sysroot_line(&s->root, path, &s->buf);
		if (list)
			err = note_node(s, list, node);
		else if (node)
			break;
	}
	return err;
}

static s32 node_of(void *ctx, s32 cpu)
{
	const struct who_source *s = ctx;
	return cpu >= 0 && (u32)cpu < s->nr_nodes_cpus ? s->nodes[cpu] : -1;
}

/* ---- life ---- */

int who_source_open(struct who_source *s, const char *path, struct diag *d)
{
	*s = (struct who_source){ .root.dir_fd = -1, .ended.socket.fd = -1 };
	strbuf_init(&s->buf);
	user_names_init(&s->names, NULL);
	int err = sysroot_open(&s->root, path);
	if (err)
		return diag_error(d, err, "cannot open '%s': %s", path ? path : "/", strerror(-err));
	if (path)
		s->names.root = &s->root;
	s->tasks = proc_tasks_open(&s->root);
	if (!s->tasks) {
		err = -errno;
		diag_error(d, err, "cannot read /proc: %s", strerror(-err));
		diag_hint(d, "mount -t proc proc /proc");
		return err;
	}
	s->who = who_new(&(struct who_env){ .ticks_per_second = (u32)sysconf(_SC_CLK_TCK),
					    .page_bytes = (u32)sysconf(_SC_PAGESIZE),
					    .user = env_user,
					    .group = env_group,
					    .node = node_of,
					    .ctx = s });
	s->knows_ends = !path;
	if (s->knows_ends)
		who_ended_open(&s->ended, (u32)sysconf(_SC_NPROCESSORS_CONF),
			       (u32)sysconf(_SC_CLK_TCK));
	return s->who ? read_nodes(s) : -ENOMEM;
}

void who_source_close(struct who_source *s)
{
	who_free(s->who);
	if (s->has_net)
		net_bytes_close(&s->net);
	vec_free(&s->net_gone);
	if (s->knows_ends)
		who_ended_close(&s->ended);
	proc_tasks_close(s->tasks);
	user_names_done(&s->names);
	for (unsigned i = 0; i < 2; i++)
		vec_free(&s->system[i].cpus);
	free(s->nodes);
	strbuf_done(&s->buf);
	if (s->root.dir_fd >= 0)
		sysroot_close(&s->root);
}

/* ---- network bytes ---- */

/* Numbers of tasks that are gone will be those of others. Threads have folders below /proc, too, if hidden ones. */
static void forget_gone(struct who_source *s)
{
	u64 cursor = 0;
	struct net_bytes_task task;
	s->net_gone.nr = 0;
	for (u32 i = 0; i < NET_BYTES_TASKS && net_bytes_next(&s->net, &cursor, &task); i++) {
		char path[64];
		(void)snprintf(path, sizeof(path), "proc/%d", task.id);
		struct net_bytes_task *slot =
			sysroot_exists(&s->root, path) ? NULL : vec_push(&s->net_gone);
		if (slot)
			*slot = task;
	}
	vec_for_each (&s->net_gone, task)
		net_bytes_forget(&s->net, *task);
}

static void add_net(void *ctx, struct task_list *l)
{
	struct who_source *s = ctx;
	vec_for_each (&l->tasks, t) {
		struct net_bytes_count c = net_bytes_of(
			&s->net, (struct net_bytes_task){ s->reads_threads ? t->tid : t->pid,
							  s->reads_threads });
		t->net_sent = c.sent;
		t->net_received = c.received;
		t->parts |= TASK_NET;
	}
	forget_gone(s);
}

/* Counting costs a little with every packet: only while it is shown. */
static void want_net(struct who_source *s, bool wanted)
{
	if (wanted && !s->has_net)
		net_bytes_open(&s->net, &s->root);
	else if (!wanted && s->has_net)
		net_bytes_close(&s->net);
	s->has_net = wanted;
}

int who_source_read(struct who_source *s, const struct who_opts *o, const s32 *pids, size_t nr_pids,
		    struct diag *d)
{
	struct proc_tasks_opts read = {
		.parts = who_opts_parts(o), .threads = o->threads, .pids = pids, .nr_pids = nr_pids
	};
	const struct task_list *now;
	/* Of this machine's tasks only. */
	want_net(s, s->knows_ends && read.parts & TASK_NET);
	s->reads_threads = o->threads;
	if (s->has_net && !s->net.err) {
		read.complete = add_net;
		read.complete_ctx = s;
	}
	struct system_reading was = s->system[0];
	s->system[0] = s->system[1];
	s->system[1] = was;
	int err = system_read(&s->root, &s->buf, &s->system[1]);
	if (err)
		return diag_error(d, err, "cannot read /proc/stat and /proc/meminfo: %s",
				  strerror(-err));
	err = proc_tasks_read(s->tasks, &read, &now);
	if (err)
		return diag_error(d, err, "cannot read the tasks of /proc: %s", strerror(-err));
	if (s->knows_ends)
		err = who_ended_collect(&s->ended, now, o->threads, pids, nr_pids);
	if (err)
		return err;
	s->lists[0] = s->lists[1];
	s->lists[1] = now;
	/* A process and its first thread have the same number and other times. */
	s->nr_rounds = s->threads == o->threads ? s->nr_rounds + 1 : 1;
	s->threads = o->threads;
	s->parts = read.parts;
	return 0;
}

bool who_source_suits(const struct who_source *s, const struct who_opts *o)
{
	return s->threads == o->threads && !(who_opts_parts(o) & ~s->parts);
}

int who_source_table(struct who_source *s, const struct who_opts *o, struct table *to)
{
	bool two = s->nr_rounds > 1;
	return who_table(s->who,
			 &(struct who_readings){ .before = two ? s->lists[0] : NULL,
						 .now = s->lists[1],
						 .system_before = two ? &s->system[0] : NULL,
						 .system_now = &s->system[1],
						 .ended = s->ended.list.at,
						 .nr_ended = two ? s->ended.list.nr : 0 },
			 o, to);
}

u64 who_source_interval(const struct who_source *s)
{
	return s->nr_rounds > 1 ? u64_less(s->lists[1]->time_ns, s->lists[0]->time_ns) : 0;
}

/* ---- what cannot be seen ---- */

static void note_denied(unsigned parts, u32 nr, struct diag *d)
{
	static const struct {
		unsigned part;
		const char *what;
	} names[] = {
		{ TASK_IO, "disk I/O" },
		{ TASK_ENVIRON, "the environment" },
		{ TASK_EXE, "the program's path" },
		{ TASK_NAMESPACES, "namespaces" },
		{ TASK_SMAPS, "PSS and USS" },
		{ TASK_SOCKETS, "sockets" },
		{ TASK_WCHAN, "the wait channel" },
		{ TASK_CGROUP, "the cgroup" },
		{ TASK_STATUS, "status" },
		{ TASK_STATM, "memory" },
		{ TASK_OOM, "OOM scores" },
		{ TASK_AUTOGROUP, "autogroups" },
		{ TASK_CMDLINE, "the command line" },
		{ TASK_SCHEDSTAT, "waits for a CPU" },
	};
	char list[256] = "";
	size_t len = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (parts & names[i].part && len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? ", " : "", names[i].what);
	diag_note(d, "%s of %u task%s cannot be read: permission denied", len ? list : "parts", nr,
		  nr == 1 ? "" : "s");
	if (geteuid())
		diag_hint(d, "run as root to see all tasks whole");
}

static void note_delays(struct who_source *s, struct diag *d)
{
	s64 on;
	int err = proc_tasks_delays_error(s->tasks);
	if (err == -EPERM) {
		diag_note(d, "SWAPIN and IO are not known: delay accounting needs CAP_NET_ADMIN");
		diag_hint(d, "run as root");
	} else if (err) {
		diag_note(d, "SWAPIN and IO are not known: taskstats: %s", strerror(-err));
	} else if (!sysroot_s64(&s->root, "proc/sys/kernel/task_delayacct", &on) && !on) {
		diag_note(d, "SWAPIN and IO stay 0: kernel.task_delayacct is 0");
		diag_hint(d, "sysctl kernel.task_delayacct=1");
	}
}

static void note_net(int err, struct diag *d)
{
	if (err == -EPERM) {
		diag_note(d, "network bytes are not known: no permission to load BPF programs");
		diag_hint(d, "run as root, or with CAP_BPF and CAP_PERFMON");
	} else {
		diag_note(d,
			  "network bytes are not known: this kernel has neither the tracepoint "
			  "sock:sock_send_length (6.3) nor BPF programs at function exits (fexit)");
	}
}

static void note_ended(const struct who_ended *e, struct diag *d)
{
	static const char what[] = "processes that begin and end between two tables are not seen";
	if (!e->err) {
		diag_note(d, "so many processes ended that the kernel did not tell of all of them");
	} else if (e->err == -EPERM) {
		diag_note(d, "%s: that needs CAP_NET_ADMIN", what);
	} else if (e->err == -EINVAL) {
		diag_note(d, "%s: the kernel tells of them outside containers only", what);
	} else {
		diag_note(d, "%s: taskstats: %s", what, strerror(-e->err));
	}
}

void who_source_notes(struct who_source *s, const struct who_opts *o, struct diag *d)
{
	enum {
		TOLD_HIDDEN = 1u << 31,
		TOLD_DELAYS = 1u << 30,
		TOLD_ENDED = 1u << 29,
		TOLD_NET = 1u << 28
	};
	const struct who_summary *sum = who_summary(s->who);
	unsigned fresh = sum->denied_parts & ~s->told_parts;
	if (fresh)
		note_denied(fresh, sum->nr_denied, d);
	s->told_parts |= fresh;
	if (who_opts_parts(o) & TASK_DELAYS && !(s->told_parts & TOLD_DELAYS)) {
		note_delays(s, d);
		s->told_parts |= TOLD_DELAYS;
	}
	if (s->has_net && s->net.err && !(s->told_parts & TOLD_NET)) {
		note_net(s->net.err, d);
		s->told_parts |= TOLD_NET;
	}
	if (s->knows_ends && (s->ended.err || s->ended.lost) && !(s->told_parts & TOLD_ENDED)) {
		note_ended(&s->ended, d);
		s->told_parts |= TOLD_ENDED;
	}
	if (s->told_parts & TOLD_HIDDEN)
		return;
	s->told_parts |= TOLD_HIDDEN;
	int hidden = proc_hidepid(&s->root, &s->buf);
	if (hidden > 1 && !caps_has(caps_effective(&s->root), CAP_SYS_PTRACE)) {
		diag_note(d, "processes of other users are hidden: /proc is mounted with hidepid=%d",
			  hidden);
		diag_hint(d, "run as root, or in the group of the mount option gid=");
	}
}
