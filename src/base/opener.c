#include "base/opener.h"
#include "base/clock.h"
#include "base/foreign.h"
#include "base/mounts.h"
#include "base/par.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ONE_MS = 1000,
	ALL_MS = 3000,
	READER_ONE_MS = 3000,
	READER_ALL_MS = 5000,
	IMPATIENT_MS = 50, /* for each file once all patience is used up */
	TIMEOUTS_MAX = 32,
	COPY_MAX = 256 << 20,
	READER_COPY_MAX = 1 << 30,
	STEP_BYTES = 2 << 20, /* of a copy: so much more of it is worth STEP_MS more */
	STEP_MS = 1000,
};

struct opener {
	pthread_mutex_t lock;
	unsigned (*look)(int fd, u8 *note);
	int socket; /* -1: no helper runs */
	pid_t pid;
	u64 one_ms, left_ms;
	atomic_uint nr_timeouts;
	struct mounts *mounts; /* of a reader; NULL: it is none */
	VEC(char *) given_up; /* paths, of a reader */
};

struct request {
	u32 dev_major, dev_minor;
	u64 ino;
	bool has_map, has_root, want_fd, has_dir;
	unsigned flags;
	char map[64], root[64];
	char path[PATH_MAX];
};

struct opener_answer {
	s32 err;
	u32 note_size;
	u8 note[OPENER_NOTE];
};

/* ---- messages: a struct, and perhaps a descriptor ---- */

static int send_one(int socket, const void *data, size_t size, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (fd >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof(control.room);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
				       .cmsg_type = SCM_RIGHTS,
				       .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -EPIPE;
}

static int receive_one(int socket, void *data, size_t size, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = data, .iov_len = size };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };
	ssize_t n;
	do
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*fd = -1;
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	if (n == (ssize_t)size)
		return 0;
	cleanup_close(fd);
	*fd = -1;
	return -EPIPE;
}

/* ---- the helper ---- */

/*
 * Whether it is the file that is mapped. Overlays and btrfs tell another device, and overlays perhaps another inode, than the
 * maps of a process do: there a file that was not deleted is taken by its name.
 */
static bool is_wanted(int fd, const struct request *q)
{
	static const char deleted[] = " (deleted)";
	struct stat st;
	struct statfs fs;
	if (!q->ino)
		return true;
	if (fstat(fd, &st))
		return false;
	if (st.st_ino == q->ino && st.st_dev == makedev(q->dev_major, q->dev_minor))
		return true;
	size_t len = strlen(q->path), tail = sizeof(deleted) - 1;
	if (fstatfs(fd, &fs) || (len >= tail && !strcmp(q->path + len - tail, deleted)))
		return false;
	return (u32)fs.f_type == OVERLAYFS_SUPER_MAGIC ||
	       ((u32)fs.f_type == BTRFS_SUPER_MAGIC && st.st_ino == q->ino);
}

static int open_named(const struct request *q, int dir)
{
	if (!q->has_root)
		return foreign_openat(dir, q->path, q->flags);
	_cleanup_close_ int root = openat(dir, q->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : foreign_open_in_root(root, q->path, 0);
}

static int open_wanted(const struct request *q, int dir)
{
	if (q->has_map) {
		_cleanup_close_ int at = openat(dir, q->map, O_PATH | O_CLOEXEC);
		if (at >= 0)
			return foreign_reopen(at);
	}
	int fd = open_named(q, dir);
	if (fd >= 0 && !is_wanted(fd, q)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* What serves one opener. */
struct helper {
	int socket;
	unsigned (*look)(int fd, u8 *note);
	const struct mounts *mounts; /* as of the opener */
};

/* Holes stay holes: a file that claims to be large takes no memory for it. */
static int append_block(int to, const char *data, size_t len)
{
	if (!data[0] && !memcmp(data, data + 1, len - 1))
		return lseek(to, (off_t)len, SEEK_CUR) < 0 ? -errno : 0;
	return write(to, data, len) == (ssize_t)len ? 0 : -EIO;
}

/* A reader learns that more of the file has come. */
static int copy_blocks(const struct helper *h, int fd, int to, size_t *total)
{
	static const struct opener_answer more = { .err = -EINPROGRESS };
	char buf[1 << 16];
	size_t most = h->mounts ? READER_COPY_MAX : COPY_MAX, told = 0;
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));
		if (n <= 0)
			return n < 0 ? -errno : 0;
		*total += (size_t)n;
		int err = *total > most ? -EFBIG : append_block(to, buf, (size_t)n);
		if (!err && h->mounts && *total - told >= STEP_BYTES) {
			told += STEP_BYTES;
			err = send_one(h->socket, &more, sizeof(more), -1);
		}
		if (err)
			return err;
	}
}

/* Who asks for its owner and mode sees those of the file. */
static int copy_to_memory(const struct helper *h, int fd, unsigned flags)
{
	struct stat st;
	size_t size = 0;
	_cleanup_close_ int to = memfd_create("sonde-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (to < 0 || fstat(fd, &st))
		return -errno;
	int err = copy_blocks(h, fd, to, &size);
	if (!err && ftruncate(to, (off_t)size))
		err = -errno;
	if (err)
		return err;
	(void)fchmod(to, st.st_mode & 0777);
	if (fchown(to, st.st_uid, (gid_t)-1) && flags & FOREIGN_OWNED)
		return -EPERM;
	(void)fcntl(to, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	int ret = to;
	to = -1;
	return ret;
}

/* A reader's own mount namespace is known. Elsewhere an overlay may have anything below it. */
static bool can_hold_readers(const struct helper *h, int fd)
{
	return !(h->mounts && mounts_is_local(h->mounts, fd)) && !foreign_is_local(fd);
}

static void serve(const struct helper *h)
{
	int socket = h->socket;
	struct request q;
	int dir;
	while (!receive_one(socket, &q, sizeof(q), &dir)) {
		struct opener_answer a = { 0 };
		_cleanup_close_ int fd = open_wanted(&q, q.has_dir ? dir : AT_FDCWD);
		cleanup_close(&dir);
		bool hand_over = fd >= 0 && q.want_fd,
		     as_copy = hand_over && can_hold_readers(h, fd);
		if (fd >= 0 && h->look)
			a.note_size = h->look(fd, a.note);
		_cleanup_close_ int copy = as_copy ? copy_to_memory(h, fd, q.flags) : -1;
		a.err = fd < 0 ? fd : as_copy && copy < 0 ? copy : 0;
		int give = !hand_over || a.err ? -1 : as_copy ? copy : fd;
		if (send_one(socket, &a, sizeof(a), give))
			break;
	}
}

/* Holds nothing of ours open: not a recording's events, not the pipe that somebody reads to its end. */
static void close_others(int keep)
{
	if (keep != 0)
		(void)dup2(keep, 0);
	if (!syscall(SYS_close_range, 1, ~0u, 0))
		return;
	long max = sysconf(_SC_OPEN_MAX);
	for (int fd = 1; fd < (max > 0 ? min(max, 1l << 16) : 1 << 16); fd++)
		(void)close(fd);
}

static int start_helper(struct opener *o)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	sigset_t all, old;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old); /* Ctrl-C is not for the helper */
	pid_t pid = fork();
	if (!pid) {
		close_others(ends[1]);
		(void)prctl(PR_SET_NAME, "sonde-open");
		if (!o->mounts)
			par_hurry(); /* who reads rings waits for it */
		serve(&(struct helper){ .look = o->look, .mounts = o->mounts });
		_exit(0);
	}
	int err = pid < 0 ? -errno : 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	o->socket = ends[0];
	o->pid = pid;
	return 0;
}

/* It may be held where no signal reaches it: nobody waits for it. */
static void leave_helper(struct opener *o)
{
	if (o->socket < 0)
		return;
	close(o->socket);
	(void)kill(o->pid, SIGKILL);
	for (int i = 0; i < 20 && !waitpid(o->pid, NULL, WNOHANG); i++)
		(void)poll(NULL, 0, 1);
	o->socket = -1;
}

/* ---- asking ---- */

struct opener *opener_new(unsigned (*look)(int fd, u8 *note))
{
	struct opener *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	*o = (struct opener){ .look = look, .socket = -1, .one_ms = ONE_MS, .left_ms = ALL_MS };
	(void)pthread_mutex_init(&o->lock, NULL);
	return o;
}

struct opener *opener_new_reader(void)
{
	struct opener *o = opener_new(NULL);
	if (o)
		o->mounts = mounts_new(NULL);
	if (!o || !o->mounts) {
		opener_free(o);
		return NULL;
	}
	opener_set_patience(o, READER_ONE_MS, READER_ALL_MS);
	return o;
}

void opener_free(struct opener *o)
{
	if (!o)
		return;
	leave_helper(o);
	mounts_free(o->mounts);
	vec_for_each (&o->given_up, path)
		free(*path);
	vec_free(&o->given_up);
	(void)pthread_mutex_destroy(&o->lock);
	free(o);
}

void opener_set_patience(struct opener *o, unsigned one_ms, unsigned all_ms)
{
	o->one_ms = one_ms;
	o->left_ms = all_ms;
}

unsigned opener_nr_timeouts(struct opener *o)
{
	return atomic_load(&o->nr_timeouts);
}

static bool fill_request(const struct opener_job *job, struct request *q)
{
	*q = (struct request){ .dev_major = job->dev_major,
			       .dev_minor = job->dev_minor,
			       .ino = job->ino,
			       .has_map = job->map != NULL,
			       .has_root = job->root != NULL,
			       .want_fd = job->want_fd,
			       .flags = job->flags,
			       .has_dir = job->dir != AT_FDCWD };
	return snprintf(q->map, sizeof(q->map), "%s", job->map ? job->map : "") <
		       (int)sizeof(q->map) &&
	       snprintf(q->root, sizeof(q->root), "%s", job->root ? job->root : "") <
		       (int)sizeof(q->root) &&
	       snprintf(q->path, sizeof(q->path), "%s", job->path) < (int)sizeof(q->path);
}

static int wait_for_answer(struct opener *o, u64 began_ns, u64 limit)
{
	for (;;) {
		struct pollfd p = { .fd = o->socket, .events = POLLIN };
		u64 waited = (clock_monotonic_ns() - began_ns) / 1000000;
		int n = waited >= limit ? 0 : poll(&p, 1, (int)(limit - waited));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (!n) {
			o->left_ms -= min(o->left_ms, limit);
			atomic_fetch_add(&o->nr_timeouts, 1);
			return -ETIMEDOUT;
		}
	}
}

static int ask(struct opener *o, const struct request *q, int dir, struct opener_answer *a, int *fd)
{
	int err = o->socket < 0 ? start_helper(o) : 0;
	if (!err)
		err = send_one(o->socket, q, sizeof(*q), q->has_dir ? dir : -1);
	u64 limit = max(min(o->one_ms, o->left_ms), (u64)IMPATIENT_MS), began = clock_monotonic_ns();
	*a = (struct opener_answer){ 0 };
	do {
		limit += a->err == -EINPROGRESS ? STEP_MS : 0;
		if (!err)
			err = wait_for_answer(o, began, limit);
		if (!err)
			err = receive_one(o->socket, a, sizeof(*a), fd);
	} while (!err && a->err == -EINPROGRESS);
	if (err)
		leave_helper(o);
	return err;
}

/* Without the other process, where nothing on the way can hold us. -EXDEV: not so. */
static int open_directly(struct opener *o, const struct opener_job *job)
{
	bool plain = job->dir == AT_FDCWD && !job->map && !job->root && !job->ino && job->want_fd;
	if (!o->mounts || !plain)
		return -EXDEV;
	struct stat st;
	_cleanup_close_ int at = mounts_open(o->mounts, job->path, job->flags);
	if (at < 0)
		return at;
	if (job->flags & FOREIGN_NOFOLLOW && !fstat(at, &st) && S_ISLNK(st.st_mode))
		return -ELOOP;
	int fd = foreign_reopen(at);
	return fd == -ENOENT ? -EXDEV : fd;
}

static void note_timeout(struct opener *o, const char *path)
{
	char *copy = o->mounts ? strdup(path) : NULL;
	char **to = copy ? vec_push(&o->given_up) : NULL;
	if (to)
		*to = copy;
	else
		free(copy);
}

char *opener_take_timeout(struct opener *o)
{
	pthread_mutex_lock(&o->lock);
	char *path = o->given_up.nr ? o->given_up.at[--o->given_up.nr] : NULL;
	pthread_mutex_unlock(&o->lock);
	return path;
}

int opener_open(struct opener *o, const struct opener_job *job, struct opener_result *ret)
{
	struct request q;
	struct opener_answer a;
	int fd = open_directly(o, job);
	if (fd != -EXDEV) {
		*ret = (struct opener_result){ .fd = fd };
		return min(fd, 0);
	}
	if (!fill_request(job, &q))
		return -ENAMETOOLONG;
	fd = -1;
	pthread_mutex_lock(&o->lock);
	int err = o->nr_timeouts >= TIMEOUTS_MAX ? -ETIMEDOUT : ask(o, &q, job->dir, &a, &fd);
	if (err == -ETIMEDOUT)
		note_timeout(o, job->path);
	pthread_mutex_unlock(&o->lock);
	if (err || a.err) {
		cleanup_close(&fd);
		return err ? err : a.err;
	}
	*ret = (struct opener_result){ .fd = fd, .note_size = min(a.note_size, (u32)OPENER_NOTE) };
	memcpy(ret->note, a.note, sizeof(ret->note));
	return job->want_fd && fd < 0 ? -EIO : 0;
}

int opener_open_path(struct opener *o, const char *path, unsigned flags)
{
	struct opener_result r;
	if (!o)
		return foreign_open(path, flags);
	int err =
		opener_open(o,
			    &(struct opener_job){
				    .dir = AT_FDCWD, .path = path, .want_fd = true, .flags = flags },
			    &r);
	return err ? err : r.fd;
}
