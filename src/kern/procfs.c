#include "kern/procfs.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { STAT_FLAG_KTHREAD = 0x00200000, PATH_ROOM = 64 };

void procfs_init(struct procfs *p, const struct sysroot *root)
{
	*p = (struct procfs){ .root = root };
	strbuf_init(&p->buf);
}

void procfs_done(struct procfs *p)
{
	strbuf_done(&p->buf);
	vec_free(&p->ids);
}

/* "proc/PID/LEAF", or "proc/PID/task/TID/LEAF" with tid >= 0. */
static const char *task_path(char to[PATH_ROOM], s32 pid, s32 tid, const char *leaf)
{
	char *at = to;
	memcpy(at, "proc/", 5);
	at += 5;
	at += num_u64(at, (u64)pid);
	if (tid >= 0) {
		memcpy(at, "/task/", 6);
		at += 6;
		at += num_u64(at, (u64)tid);
	}
	*at++ = '/';
	strcpy(at, leaf);
	return to;
}

static int read_error(int err)
{
	return err == -ENOENT ? -ESRCH : err;
}

static int compare_s32(const void *a, const void *b)
{
	s32 x = *(const s32 *)a, y = *(const s32 *)b;
	return (x > y) - (x < y);
}

/* The entries of a directory that are numbers. */
static int list_ids(struct procfs *p, const char *path, s32 **ids, size_t *nr)
{
	p->ids.nr = 0;
	DIR *dir = sysroot_dir(p->root, path);
	if (!dir)
		return read_error(-errno);
	int err = 0;
	bool sorted = true;
	for (struct dirent *e; (e = readdir(dir));) {
		s32 id = 0;
		const char *c = e->d_name;
		for (; *c >= '0' && *c <= '9' && c - e->d_name < 9; c++)
			id = id * 10 + (*c - '0');
		if (c == e->d_name || *c)
			continue;
		s32 *slot = vec_push(&p->ids);
		if (!slot) {
			err = -ENOMEM;
			break;
		}
		*slot = id;
		sorted = sorted && (p->ids.nr < 2 || slot[-1] < id);
	}
	closedir(dir);
	if (err)
		return err;
	if (!sorted)
		qsort(p->ids.at, p->ids.nr, sizeof(s32), compare_s32);
	*ids = p->ids.at;
	*nr = p->ids.nr;
	return 0;
}

int procfs_pids(struct procfs *p, s32 **ids, size_t *nr)
{
	return list_ids(p, "proc", ids, nr);
}

int procfs_tids(struct procfs *p, s32 pid, s32 **ids, size_t *nr)
{
	char path[PATH_ROOM];
	return list_ids(p, task_path(path, pid, -1, "task"), ids, nr);
}

static void set_comm(struct proc_task *t, const char *name, size_t len)
{
	len = min(len, sizeof(t->comm) - 1);
	memcpy(t->comm, name, len);
	t->comm[len] = 0;
}

/* Skips blanks and reads a decimal number with an optional minus. */
static bool take_s64(const char **pp, const char *end, s64 *ret)
{
	const char *p = *pp;
	while (p < end && *p == ' ')
		p++;
	bool minus = p < end && *p == '-';
	p += minus;
	const char *first = p;
	u64 v = 0;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (u64)(*p - '0');
	if (p == first)
		return false;
	*ret = minus ? -(s64)v : (s64)v;
	*pp = p;
	return true;
}

bool procfs_parse_stat(const char *text, size_t len, struct proc_task *ret)
{
	const char *end = text + len;
	const char *open = memchr(text, '(', len);
	/* A name may hold anything, parentheses too: the last one ends it. */
	const char *close = memrchr(text, ')', len);
	s64 pid, ppid, skipped, flags, nr_threads;
	const char *p = text;
	if (!open || !close || close < open || !take_s64(&p, open, &pid))
		return false;
	p = close + 1;
	while (p < end && *p == ' ')
		p++;
	p++; /* the state letter */
	if (p >= end || !take_s64(&p, end, &ppid))
		return false;
	for (int i = 0; i < 4; i++) /* process group, session, tty, its group */
		if (!take_s64(&p, end, &skipped))
			return false;
	if (!take_s64(&p, end, &flags))
		return false;
	for (int i = 0; i < 10; i++) /* faults, times, priorities */
		if (!take_s64(&p, end, &skipped))
			return false;
	if (!take_s64(&p, end, &nr_threads))
		return false;
	*ret = (struct proc_task){
		.pid = (s32)pid,
		.tid = (s32)pid,
		.ppid = (s32)ppid,
		.kernel_thread = flags & STAT_FLAG_KTHREAD,
		.nr_threads = (s32)nr_threads,
	};
	set_comm(ret, open + 1, (size_t)(close - open - 1));
	return true;
}

int procfs_task(struct procfs *p, s32 pid, s32 tid, struct proc_task *ret)
{
	char path[PATH_ROOM];
	if (pid == tid) {
		int err = sysroot_read(p->root, task_path(path, pid, -1, "stat"), &p->buf);
		if (err)
			return read_error(err);
		return procfs_parse_stat(p->buf.data, p->buf.len, ret) ? 0 : -ESRCH;
	}
	int err = sysroot_read(p->root, task_path(path, pid, tid, "comm"), &p->buf);
	if (err)
		return read_error(err);
	size_t len = p->buf.len;
	if (len && p->buf.data[len - 1] == '\n')
		len--;
	*ret = (struct proc_task){ .pid = pid, .tid = tid };
	if (len)
		set_comm(ret, p->buf.data, len);
	return 0;
}

/* The number at the end of the status line that starts with key. */
static int status_last_number(struct procfs *p, s32 pid, const char *key, s32 *ret)
{
	char path[PATH_ROOM];
	int err = sysroot_read(p->root, task_path(path, pid, -1, "status"), &p->buf);
	if (err)
		return read_error(err);
	const char *line = strstr(strbuf_cstr(&p->buf), key);
	if (!line)
		return -ENOENT;
	const char *end = strchrnul(line + 1, '\n'); /* the key starts with the newline before it */
	const char *at = end;
	while (at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	s64 v;
	if (!take_s64(&at, end, &v))
		return -ENOENT;
	*ret = (s32)v;
	return 0;
}

int procfs_tgid(struct procfs *p, s32 tid, s32 *ret)
{
	return status_last_number(p, tid, "\nTgid:", ret);
}

int procfs_uid(struct procfs *p, s32 pid, u32 *ret)
{
	s32 uid;
	int err = status_last_number(p, pid, "\nUid:", &uid);
	if (!err)
		*ret = (u32)uid;
	return err == -ENOENT ? -ESRCH : err;
}

int procfs_started(struct procfs *p, s32 pid, s64 *ret)
{
	enum { FIELDS_BEFORE = 18 }; /* between the state letter and the start time */
	char path[PATH_ROOM];
	struct timespec boot, wall;
	s64 ticks = 0, hz = sysconf(_SC_CLK_TCK);
	int err = sysroot_read(p->root, task_path(path, pid, -1, "stat"), &p->buf);
	if (err)
		return read_error(err);
	const char *end = p->buf.data + p->buf.len, *at = memrchr(p->buf.data, ')', p->buf.len);
	if (!at || end - at < 4)
		return -ESRCH;
	at += 3;
	for (int i = 0; i <= FIELDS_BEFORE; i++)
		if (!take_s64(&at, end, &ticks))
			return -ESRCH;
	if (hz <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) || clock_gettime(CLOCK_REALTIME, &wall))
		return -ESRCH;
	*ret = wall.tv_sec - (boot.tv_sec - ticks / hz);
	return 0;
}

int procfs_nspid(struct procfs *p, s32 pid, s32 *ret)
{
	int err = status_last_number(p, pid, "\nNSpid:", ret);
	if (err == -ENOENT) { /* a kernel without pid namespaces */
		*ret = pid;
		return 0;
	}
	return err;
}

int procfs_outer_pid(struct procfs *p, s32 nspid, s32 *ret)
{
	s32 *ids, inner;
	size_t nr;
	int err = procfs_pids(p, &ids, &nr);
	/* The list stays: reading a status does not list anything. */
	for (size_t i = 0; i < nr && !err; i++)
		if (ids[i] != nspid && !procfs_nspid(p, ids[i], &inner) && inner == nspid) {
			*ret = ids[i];
			return 0;
		}
	return err ? err : -ESRCH;
}

static bool take_hex(char **pp, char *end, u64 *ret)
{
	char *p = *pp;
	u64 v = 0;
	for (; p < end; p++) {
		unsigned digit = (unsigned char)*p;
		if (digit - '0' < 10)
			digit -= '0';
		else if (digit - 'a' < 6)
			digit = digit - 'a' + 10;
		else
			break;
		v = v << 4 | digit;
	}
	if (p == *pp)
		return false;
	*pp = p;
	*ret = v;
	return true;
}

static bool take_char(char **pp, char *end, char c)
{
	if (*pp >= end || **pp != c)
		return false;
	++*pp;
	return true;
}

/*
 * 7fe82449a000-7fe8245f0000 r-xp 00026000 fe:00 332835                     /usr/lib/x86_64-linux-gnu/libc.so.6
 * The kernel writes a newline in a path as \012 and nothing else specially.
 */
bool procfs_parse_map(char *p, char *end, struct proc_map *ret)
{
	struct proc_map m = { 0 };
	u64 major, minor;
	if (!take_hex(&p, end, &m.start) || !take_char(&p, end, '-') ||
	    !take_hex(&p, end, &m.end) || !take_char(&p, end, ' ') || end - p < 5)
		return false;
	m.prot = (u8)((p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) |
		      (p[2] == 'x' ? PROT_EXEC : 0));
	m.shared = p[3] == 's';
	p += 5;
	if (!take_hex(&p, end, &m.file_offset) || !take_char(&p, end, ' ') ||
	    !take_hex(&p, end, &major) || !take_char(&p, end, ':') || !take_hex(&p, end, &minor) ||
	    !take_char(&p, end, ' '))
		return false;
	const char *number = p;
	s64 inode;
	if (!take_s64(&number, end, &inode))
		return false;
	p += number - p;
	while (p < end && *p == ' ')
		p++;
	m.dev_major = (u32)major;
	m.dev_minor = (u32)minor;
	m.inode = (u64)inode;
	*end = 0;
	m.path = p;
	*ret = m;
	return true;
}

int procfs_maps(struct procfs *p, s32 pid, int (*fn)(void *ctx, const struct proc_map *m), void *ctx)
{
	char path[PATH_ROOM];
	int err = sysroot_read(p->root, task_path(path, pid, -1, "maps"), &p->buf);
	if (err)
		return read_error(err);
	char *at = p->buf.data, *end = at + p->buf.len;
	while (at < end) {
		char *nl = memchr(at, '\n', (size_t)(end - at));
		if (!nl)
			break; /* a last line that was cut */
		struct proc_map m;
		if (procfs_parse_map(at, nl, &m)) {
			err = fn(ctx, &m);
			if (err)
				return err;
		}
		at = nl + 1;
	}
	return 0;
}

int procfs_read_memory(s32 pid, u64 addr, void *to, size_t nr)
{
	struct iovec here = { .iov_base = to, .iov_len = nr };
	struct iovec there = { .iov_base = (void *)(uintptr_t)addr, .iov_len = nr };
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
	return got < 0 ? -errno : (size_t)got == nr ? 0 : -EFAULT;
}
