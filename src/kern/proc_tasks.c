#include "kern/proc_tasks.h"

#include "kern/proc_tasks_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
	PATH_ROOM = 64,
	FILE_ROOM = 16384, /* stat, statm, status, io ... */
	TEXT_MAX = 4096, /* of a command line */
	FILES_SPARED = 512, /* descriptors that are left to everybody else */
	OVERFLOW_UID = 65534,
};

/* What is kept of a task beside its row. */
struct held_task {
	s32 pid, tid;
	int stat_fd; /* -1: the limit is reached */
	u64 stat_hash;
};

struct id_list {
	s32 *at;
	size_t nr, cap;
};

struct proc_tasks {
	const struct sysroot *root;
	DIR *dir; /* /proc */
	int dir_fd;
	bool is_procfs; /* else a fake tree, in which files have whatever owner */
	size_t files_max, files_open; /* of held ones */
	struct task_list lists[2];
	VEC(struct held_task) held[2]; /* [task of that list] */
	unsigned now; /* which list is filled next */
	bool threads; /* what the list before has */
	struct id_list ids, tids;
	struct taskstats_socket stats;
	bool stats_tried;
	int stats_error;
	char buf[FILE_ROOM];
};

/* The soft limit is raised to the hard one: a thousand files would not do. */
static size_t files_allowed(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l))
		return 0;
	if (l.rlim_cur < l.rlim_max) {
		struct rlimit more = { .rlim_cur = l.rlim_max, .rlim_max = l.rlim_max };
		if (!setrlimit(RLIMIT_NOFILE, &more))
			l = more;
	}
	size_t most = (size_t)min(l.rlim_cur, (rlim_t)1 << 20);
	return most > FILES_SPARED ? most - FILES_SPARED : 0;
}

struct proc_tasks *proc_tasks_open(const struct sysroot *root)
{
	struct statfs fs;
	struct proc_tasks *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->root = root;
	p->stats.fd = -1;
	p->dir = sysroot_dir(root, "proc");
	if (!p->dir) {
		int err = errno;
		free(p);
		errno = err;
		return NULL;
	}
	p->dir_fd = dirfd(p->dir);
	p->is_procfs = !fstatfs(p->dir_fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
	p->files_max = files_allowed();
	for (unsigned i = 0; i < 2; i++)
		task_list_init(&p->lists[i]);
	return p;
}

void proc_tasks_close(struct proc_tasks *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < 2; i++) {
		vec_for_each (&p->held[i], h)
			if (h->stat_fd >= 0)
				close(h->stat_fd);
		vec_free(&p->held[i]);
		task_list_done(&p->lists[i]);
	}
	vec_free(&p->ids);
	vec_free(&p->tids);
	taskstats_close(&p->stats);
	closedir(p->dir);
	free(p);
}

int proc_tasks_delays_error(const struct proc_tasks *p)
{
	return p->stats_error;
}

/* ---- files ---- */

/* "PID/LEAF", or "PID/task/TID/LEAF". */
static const char *task_path(char to[PATH_ROOM], s32 pid, s32 tid, bool threads, const char *leaf)
{
	char *at = to + num_u64(to, (u64)pid);
	if (threads) {
		memcpy(at, "/task/", 6);
		at += 6;
		at += num_u64(at, (u64)tid);
	}
	*at++ = '/';
	strcpy(at, leaf);
	return to;
}

/* The beginning of a file, as much as there is room for: its length or negative errno. */
static ssize_t read_fd(int fd, char *to, size_t room)
{
	ssize_t n;
	do
		n = pread(fd, to, room, 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

struct task_look {
	struct proc_tasks *p;
	const struct proc_tasks_opts *o;
	struct task_list *list;
	struct task *task;
};

static ssize_t read_leaf(const struct task_look *r, const char *leaf, char *to, size_t room)
{
	char path[PATH_ROOM];
	const struct task *t = r->task;
	int fd = openat(r->p->dir_fd, task_path(path, t->pid, t->tid, r->o->threads, leaf),
			O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = read_fd(fd, to, room);
	close(fd);
	return n;
}

/* One part: read and parsed, refused, or not there. */
static ssize_t read_part(const struct task_look *r, unsigned part, const char *leaf, size_t room)
{
	ssize_t n = read_leaf(r, leaf, r->p->buf, room);
	if (n == -EACCES || n == -EPERM)
		r->task->denied |= part;
	return n;
}

static void parse_part(const struct task_look *r, unsigned part, const char *leaf,
		       bool (*parse)(const char *, size_t, struct task *))
{
	ssize_t n = read_part(r, part, leaf, FILE_ROOM);
	if (n > 0 && parse(r->p->buf, (size_t)n, r->task))
		r->task->parts |= part;
}

static void status_part(const struct task_look *r)
{
	const char *groups = NULL;
	size_t len = 0;
	ssize_t n = read_part(r, TASK_STATUS, "status", FILE_ROOM);
	if (n <= 0 || !task_parse_status(r->p->buf, (size_t)n, r->task, &groups, &len))
		return;
	r->task->parts |= TASK_STATUS | TASK_OWNER;
	if (r->o->parts & TASK_STATUS)
		r->task->groups = task_list_add_text(r->list, groups, len);
}

/*
 * The owner of /proc/PID is the effective user, but root (or nobody, in a user namespace) for a task that may not be dumped, such as one
 * that has changed its user: then status says who it is. known: it was asked for last time, and the task has not run since.
 */
static void owner_part(const struct task_look *r, bool known)
{
	struct task *t = r->task;
	struct stat st;
	char path[PATH_ROOM];
	if (!r->p->is_procfs) {
		status_part(r);
		return;
	}
	char *end = (char *)task_path(path, t->pid, t->tid, r->o->threads, "");
	end[strlen(end) - 1] = '\0';
	if (fstatat(r->p->dir_fd, path, &st, 0))
		return;
	bool certain = (st.st_uid && st.st_uid != OVERFLOW_UID) || t->flags & TASK_FLAG_KTHREAD;
	if (!certain && !known) {
		status_part(r);
		return;
	}
	if (certain) {
		t->uid[TASK_ID_EFFECTIVE] = st.st_uid;
		t->gid[TASK_ID_EFFECTIVE] = st.st_gid;
	}
	t->parts |= TASK_OWNER;
}

/* A file whose NULs or newlines stand between parts: they become `between`. */
static void text_part(const struct task_look *r, unsigned part, const char *leaf, char old,
		      char between, u32 *to)
{
	char *buf = r->p->buf;
	ssize_t n = read_part(r, part, leaf, TEXT_MAX);
	if (n < 0)
		return;
	r->task->parts |= part;
	while (n && (buf[n - 1] == '\0' || buf[n - 1] == '\n' || buf[n - 1] == ' '))
		n--;
	for (ssize_t i = 0; i < n; i++)
		buf[i] = buf[i] == old || !buf[i] ? between : buf[i];
	*to = task_list_add_text(r->list, buf, (size_t)n);
}

static ssize_t read_link(const struct task_look *r, unsigned part, const char *leaf)
{
	char path[PATH_ROOM];
	const struct task *t = r->task;
	ssize_t n = readlinkat(r->p->dir_fd, task_path(path, t->pid, t->tid, r->o->threads, leaf),
			       r->p->buf, FILE_ROOM);
	if (n < 0 && (errno == EACCES || errno == EPERM))
		r->task->denied |= part;
	return n;
}

static void namespaces_part(const struct task_look *r)
{
	static const char *const leaves[TASK_NS_NR] = {
		[TASK_NS_CGROUP] = "ns/cgroup", [TASK_NS_IPC] = "ns/ipc",
		[TASK_NS_MNT] = "ns/mnt",	[TASK_NS_NET] = "ns/net",
		[TASK_NS_PID] = "ns/pid",	[TASK_NS_TIME] = "ns/time",
		[TASK_NS_USER] = "ns/user",	[TASK_NS_UTS] = "ns/uts",
	};
	for (unsigned i = 0; i < TASK_NS_NR; i++) {
		ssize_t n = read_link(r, TASK_NAMESPACES, leaves[i]);
		r->task->ns[i] = n > 0 ? task_parse_ns(r->p->buf, (size_t)n) : 0;
		if (r->task->ns[i])
			r->task->parts |= TASK_NAMESPACES;
	}
}

static void sockets_part(const struct task_look *r)
{
	char path[PATH_ROOM], link[64];
	struct task *t = r->task;
	int fd = openat(r->p->dir_fd, task_path(path, t->pid, t->tid, r->o->threads, "fd"),
			O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		else if (errno == EACCES || errno == EPERM)
			t->denied |= TASK_SOCKETS;
		return;
	}
	t->nr_sockets = 0;
	for (struct dirent *e; (e = readdir(d));) {
		ssize_t n = readlinkat(fd, e->d_name, link, sizeof(link));
		t->nr_sockets += n > 7 && !memcmp(link, "socket:", 7);
	}
	closedir(d);
	t->parts |= TASK_SOCKETS;
}

static bool read_number(const struct task_look *r, unsigned part, const char *leaf, s64 *ret)
{
	char text[32];
	ssize_t n = read_leaf(r, leaf, text, sizeof(text) - 1);
	if (n == -EACCES || n == -EPERM)
		r->task->denied |= part;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n <= 0)
		return false;
	text[n] = '\0';
	return !num_parse_s64(text, 10, ret);
}

static void oom_part(const struct task_look *r)
{
	s64 adj, score;
	if (!read_number(r, TASK_OOM, "oom_score_adj", &adj) ||
	    !read_number(r, TASK_OOM, "oom_score", &score))
		return;
	r->task->oom_adj = (s32)adj;
	r->task->oom_score = (s32)score;
	r->task->parts |= TASK_OOM;
}

static void login_part(const struct task_look *r)
{
	s64 uid;
	if (!read_number(r, TASK_LOGIN, "loginuid", &uid))
		return;
	r->task->login_uid = uid == UINT32_MAX ? -1 : uid;
	r->task->parts |= TASK_LOGIN;
}

static void delays_part(const struct task_look *r)
{
	struct proc_tasks *p = r->p;
	struct task_delays d;
	if (!p->stats_tried) {
		p->stats_tried = true;
		p->stats_error = p->is_procfs ? taskstats_open(&p->stats) : -ENOENT;
	}
	if (p->stats_error)
		return;
	int err = taskstats_get(&p->stats, r->o->threads ? r->task->tid : r->task->pid,
				!r->o->threads, &d);
	if (err && err != -ESRCH)
		p->stats_error = err;
	if (err)
		return;
	r->task->block_delay_ns = d.block_ns;
	r->task->swapin_delay_ns = d.swapin_ns;
	r->task->parts |= TASK_DELAYS;
}

static void other_parts(const struct task_look *r, bool same)
{
	unsigned parts = r->o->parts;
	struct task *t = r->task;
	t->cgroup = t->wchan = t->cmdline = t->environ = t->exe = t->groups = 0;
	if (parts & TASK_STATM && !(same && t->parts & TASK_STATM))
		parse_part(r, TASK_STATM, "statm", task_parse_statm);
	if (parts & TASK_STATUS)
		status_part(r);
	else if (parts & TASK_OWNER)
		owner_part(r, same && t->parts & TASK_OWNER);
	if (parts & TASK_IO)
		parse_part(r, TASK_IO, "io", task_parse_io);
	if (parts & TASK_SCHEDSTAT)
		parse_part(r, TASK_SCHEDSTAT, "schedstat", task_parse_schedstat);
	if (parts & TASK_CGROUP)
		text_part(r, TASK_CGROUP, "cgroup", '\n', ',', &t->cgroup);
	if (parts & TASK_WCHAN)
		text_part(r, TASK_WCHAN, "wchan", '\0', ' ', &t->wchan);
	if (parts & TASK_CMDLINE)
		text_part(r, TASK_CMDLINE, "cmdline", '\0', ' ', &t->cmdline);
	if (parts & TASK_ENVIRON)
		text_part(r, TASK_ENVIRON, "environ", '\0', ' ', &t->environ);
	if (parts & TASK_EXE) {
		ssize_t n = read_link(r, TASK_EXE, "exe");
		t->exe = n > 0 ? task_list_add_text(r->list, r->p->buf, (size_t)n) : 0;
		t->parts |= n > 0 ? TASK_EXE : 0;
	}
	if (parts & TASK_NAMESPACES)
		namespaces_part(r);
	if (parts & TASK_SMAPS)
		parse_part(r, TASK_SMAPS, "smaps_rollup", task_parse_smaps);
	if (parts & TASK_OOM)
		oom_part(r);
	if (parts & TASK_LOGIN)
		login_part(r);
	if (parts & TASK_AUTOGROUP)
		parse_part(r, TASK_AUTOGROUP, "autogroup", task_parse_autogroup);
	if (parts & TASK_SOCKETS)
		sockets_part(r);
	if (parts & TASK_DELAYS)
		delays_part(r);
}

/* ---- one task ---- */

/* The stat file, open or opened now: its length or negative errno. Whether it may stay open depends on how many do. */
static ssize_t read_stat(struct proc_tasks *p, const struct proc_tasks_opts *o, struct held_task *h)
{
	char path[PATH_ROOM];
	if (h->stat_fd >= 0) {
		ssize_t n = read_fd(h->stat_fd, p->buf, FILE_ROOM);
		if (n > 0)
			return n;
		/* It has ended; another one may have its number already. */
		close(h->stat_fd);
		h->stat_fd = -1;
		p->files_open--;
	}
	int fd = openat(p->dir_fd, task_path(path, h->pid, h->tid, o->threads, "stat"),
			O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = read_fd(fd, p->buf, FILE_ROOM);
	if (n > 0 && p->is_procfs && p->files_open < p->files_max) {
		h->stat_fd = fd;
		p->files_open++;
	} else {
		close(fd);
	}
	return n ? n : -ESRCH;
}

/* was: what is known of it; NULL: nothing. before: its row in the list before. 1, 0: it is gone, or -ENOMEM. */
static int read_task(struct proc_tasks *p, const struct proc_tasks_opts *o, s32 pid, s32 tid,
		     struct held_task *was, const struct task *before)
{
	struct held_task h = { .pid = pid, .tid = tid, .stat_fd = was ? was->stat_fd : -1 };
	ssize_t n = read_stat(p, o, &h);
	if (was)
		was->stat_fd = -1; /* closed, or moved on */
	if (n < 0)
		return 0;
	struct task_list *list = &p->lists[p->now];
	h.stat_hash = hash_text(p->buf, (size_t)n, hash_seed());
	bool same = before && h.stat_hash == was->stat_hash;
	struct task *t = vec_push(&list->tasks);
	struct held_task *slot = vec_push(&p->held[p->now]);
	if (!t || !slot)
		goto no_memory;
	if (same) {
		*t = *before;
		/* All else is read anew, or not asked for any more. */
		t->parts &= TASK_STAT | TASK_STATM | TASK_OWNER;
		t->denied = 0;
	} else if (task_parse_stat(p->buf, (size_t)n, t)) {
		t->parts = TASK_STAT;
	} else {
		list->tasks.nr--;
		p->held[p->now].nr--;
		n = 0;
	}
	if (!n) {
		if (h.stat_fd >= 0) {
			close(h.stat_fd);
			p->files_open--;
		}
		return 0;
	}
	t->pid = pid;
	t->tid = tid;
	*slot = h;
	struct task_look r = { p, o, list, t };
	other_parts(&r, same);
	return list->text.err ? list->text.err : 1;
no_memory:
	list->tasks.nr -= t != NULL;
	if (h.stat_fd >= 0)
		close(h.stat_fd);
	return -ENOMEM;
}

/* ---- all of them ---- */

static int compare_s32(const void *a, const void *b)
{
	s32 x = *(const s32 *)a, y = *(const s32 *)b;
	return (x > y) - (x < y);
}

/* Numbers among the names of a folder, ascending. */
static int list_ids(DIR *dir, struct id_list *to)
{
	bool sorted = true;
	to->nr = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		const char *c = e->d_name;
		s32 id = 0;
		for (; *c >= '0' && *c <= '9' && c - e->d_name < 9; c++)
			id = id * 10 + (*c - '0');
		if (c == e->d_name || *c)
			continue;
		s32 *slot = vec_push(to);
		if (!slot)
			return -ENOMEM;
		*slot = id;
		sorted = sorted && (to->nr < 2 || slot[-1] < id);
	}
	if (!sorted)
		qsort(to->at, to->nr, sizeof(s32), compare_s32);
	return 0;
}

static int list_pids(struct proc_tasks *p, const struct proc_tasks_opts *o)
{
	if (!o->pids) {
		rewinddir(p->dir);
		return list_ids(p->dir, &p->ids);
	}
	p->ids.nr = 0;
	if (!vec_reserve(&p->ids, o->nr_pids + 1))
		return -ENOMEM;
	memcpy(p->ids.at, o->pids, o->nr_pids * sizeof(s32));
	p->ids.nr = o->nr_pids;
	qsort(p->ids.at, p->ids.nr, sizeof(s32), compare_s32);
	size_t nr = 0;
	for (size_t i = 0; i < p->ids.nr; i++)
		if (!i || p->ids.at[i] != p->ids.at[i - 1])
			p->ids.at[nr++] = p->ids.at[i];
	p->ids.nr = nr;
	return 0;
}

/* No folder: the process is gone. */
static int list_tids(struct proc_tasks *p, s32 pid)
{
	char path[PATH_ROOM];
	p->tids.nr = 0;
	(void)task_path(path, pid, pid, false, "task");
	int fd = openat(p->dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	int err = list_ids(dir, &p->tids);
	closedir(dir);
	return err;
}

/* The lists are walked side by side: both are in the same order. */
struct list_walk {
	const struct task_list *old;
	struct held_task *held;
	size_t nr, at;
};

static void drop_held(struct proc_tasks *p, struct held_task *h)
{
	if (h->stat_fd < 0)
		return;
	close(h->stat_fd);
	h->stat_fd = -1;
	p->files_open--;
}

static int walk_task(struct proc_tasks *p, const struct proc_tasks_opts *o, struct list_walk *w,
		     s32 pid, s32 tid)
{
	while (w->at < w->nr && (w->held[w->at].pid < pid ||
				 (w->held[w->at].pid == pid && w->held[w->at].tid < tid)))
		drop_held(p, &w->held[w->at++]);
	bool known = w->at < w->nr && w->held[w->at].pid == pid && w->held[w->at].tid == tid;
	struct held_task *was = known ? &w->held[w->at] : NULL;
	const struct task *before = known ? &w->old->tasks.at[w->at] : NULL;
	w->at += known;
	return min(read_task(p, o, pid, tid, was, before), 0);
}

int proc_tasks_read(struct proc_tasks *p, const struct proc_tasks_opts *o,
		    const struct task_list **ret)
{
	struct timespec now = { 0 };
	unsigned old = !p->now;
	struct task_list *list = &p->lists[p->now];
	struct list_walk w = { &p->lists[old], p->held[old].at, p->held[old].nr, 0 };
	p->held[p->now].nr = 0;
	if (p->threads != o->threads) { /* a leader's files are others then */
		vec_for_each (&p->held[old], h)
			drop_held(p, h);
		w.nr = 0;
	}
	p->threads = o->threads;
	int err = task_list_reset(list);
	if (!err)
		err = list_pids(p, o);
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	list->time_ns = (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
	for (size_t i = 0; i < p->ids.nr && !err; i++) {
		s32 pid = p->ids.at[i];
		if (!o->threads) {
			err = walk_task(p, o, &w, pid, pid);
			continue;
		}
		err = list_tids(p, pid);
		for (size_t k = 0; k < p->tids.nr && !err; k++)
			err = walk_task(p, o, &w, pid, p->tids.at[k]);
	}
	while (w.at < w.nr)
		drop_held(p, &w.held[w.at++]);
	if (err)
		return err;
	if (o->complete)
		o->complete(o->complete_ctx, list);
	*ret = list;
	p->now = old;
	return 0;
}

/* ---- the machine ---- */

int system_read(const struct sysroot *root, struct strbuf *buf, struct system_reading *s)
{
	int err = sysroot_read(root, "proc/stat", buf);
	if (!err && !system_parse_stat(buf->data, buf->len, s))
		err = -EPROTO;
	if (!err)
		err = sysroot_read(root, "proc/meminfo", buf);
	if (!err && !system_parse_meminfo(buf->data, buf->len, s))
		err = -EPROTO;
	if (err)
		return err;
	/* Less important: a container may hide them. */
	if (!sysroot_read(root, "proc/loadavg", buf))
		(void)system_parse_loadavg(buf->data, buf->len, s);
	if (!sysroot_read(root, "proc/uptime", buf))
		(void)system_parse_uptime(buf->data, buf->len, s);
	if (!sysroot_read(root, "proc/vmstat", buf))
		system_parse_vmstat(buf->data, buf->len, s);
	return 0;
}

int proc_hidepid(const struct sysroot *root, struct strbuf *buf)
{
	static const struct {
		const char *word;
		int value;
	} words[] = {
		{ "hidepid=1", 1 },	   { "hidepid=2", 2 },	       { "hidepid=4", 4 },
		{ "hidepid=noaccess", 1 }, { "hidepid=invisible", 2 }, { "hidepid=ptraceable", 4 },
	};
	if (sysroot_read(root, "proc/self/mounts", buf))
		return 0;
	char *text = (char *)strbuf_cstr(buf), *save;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *options = strstr(line, " /proc proc ");
		for (unsigned i = 0; options && i < ARRAY_SIZE(words); i++) {
			const char *at = strstr(options, words[i].word);
			size_t n = strlen(words[i].word);
			if (at && (at[n] == ',' || at[n] == ' ' || !at[n]))
				return words[i].value;
		}
	}
	return 0;
}
