#include "kern/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HOLDER_MAX = 512, WAIT_STEPS = 250, WAIT_STEP_NS = 20000000 };

static int make_dirs(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= len; i++) {
		if (i < len && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0755) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

int run_dir_open(const char *path, struct diag *d)
{
	struct stat st;
	int err = make_dirs(path);
	int fd = err ? err : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return diag_error(d, err ? err : -errno, "cannot use %s: %s", path,
				  strerror(err ? -err : errno));
	/* What is written there is later obeyed with our rights. */
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		(void)close(fd);
		return diag_error(d, -EPERM, "%s is owned by another user, or writable by others",
				  path);
	}
	return fd;
}

static int open_lock(int run_dir, const char *name, const char *suffix)
{
	char path[NAME_MAX + 1];
	if (snprintf(path, sizeof(path), "%s%s", name, suffix) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	int fd = openat(run_dir, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 ? -errno : fd;
}

static size_t read_all(int fd, char *to, size_t size)
{
	ssize_t n = pread(fd, to, size - 1, 0);
	to[max(n, (ssize_t)0)] = 0;
	return (size_t)max(n, (ssize_t)0);
}

/* Written first, cut afterwards: a full disk leaves what was there, and says so. */
static int replace(int fd, const char *text)
{
	ssize_t len = (ssize_t)strlen(text), n = pwrite(fd, text, (size_t)len, 0);
	if (n != len)
		return n < 0 ? -errno : -ENOSPC;
	return ftruncate(fd, len) ? -errno : 0;
}

int lock_take(int run_dir, const char *name, const char *holder, bool wait, struct diag *d)
{
	int fd = open_lock(run_dir, name, ".lock");
	if (fd < 0)
		return diag_error(d, fd, "cannot lock '%s': %s", name, strerror(-fd));
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno == EINTR)
			continue;
		if (wait && i < WAIT_STEPS) {
			(void)nanosleep(&(struct timespec){ .tv_nsec = WAIT_STEP_NS }, NULL);
			continue;
		}
		char who[HOLDER_MAX];
		(void)read_all(fd, who, sizeof(who));
		(void)close(fd);
		diag_error(d, -EBUSY, "'%s' exists only once in the kernel and is in use by %s",
			   name, *who ? who : "another run");
		diag_hint(d, "'sonde ftrace status' shows who is tracing what");
		return -EBUSY;
	}
	(void)replace(fd, holder); /* only a name for others to read */
	return fd;
}

bool lock_holder(int run_dir, const char *name, struct strbuf *to)
{
	char who[HOLDER_MAX];
	_cleanup_close_ int fd = open_lock(run_dir, name, ".lock");
	if (fd < 0 || !flock(fd, LOCK_SH | LOCK_NB))
		return false;
	(void)read_all(fd, who, sizeof(who));
	strbuf_str(to, who);
	return true;
}

/*
 * ---- knobs: "OLD WRITTEN\n" and a line for each user ----------------------------------------------------------------------
 * "OLD WRITTEN ?": about to be written. Who dies there leaves a value that the kernel may have rounded up: all from WRITTEN on is ours.
 */

enum { KNOB_MAX = 1 << 16 };

struct knob {
	int fd;
	char text[KNOB_MAX];
	u64 old, written;
	bool used; /* has a first line */
	bool open; /* nobody saw the end of the write */
	char *users;
};

static int knob_open(int run_dir, const char *file, struct knob *k)
{
	char name[NAME_MAX + 1];
	if (snprintf(name, sizeof(name), "%s", file) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '%';
	k->fd = open_lock(run_dir, name, ".knob");
	if (k->fd < 0)
		return k->fd;
	while (flock(k->fd, LOCK_EX))
		if (errno != EINTR) {
			int err = -errno;
			(void)close(k->fd);
			return err;
		}
	(void)read_all(k->fd, k->text, sizeof(k->text));
	unsigned long long old, written;
	char *nl = strchr(k->text, '\n');
	char doubt = 0;
	k->used = nl && sscanf(k->text, "%llu %llu %c", &old, &written, &doubt) >= 2;
	k->open = k->used && doubt == '?' && memchr(k->text, '?', (size_t)(nl - k->text));
	k->old = k->used ? old : 0;
	k->written = k->used ? written : 0;
	k->users = k->used ? nl + 1 : k->text + strlen(k->text);
	return 0;
}

static int read_number(const struct tracing *t, const char *file, u64 *ret)
{
	struct strbuf s;
	strbuf_init(&s);
	int err = num_parse_u64(tracing_line(t, file, &s), 10, ret);
	strbuf_done(&s);
	return err;
}

static int write_number(const struct tracing *t, const char *file, u64 v)
{
	char text[NUM_DIGITS_MAX + 2];
	(void)snprintf(text, sizeof(text), "%llu\n", (unsigned long long)v);
	return tracing_write(t, file, text, false);
}

/* A user is the name of a journal; its dead do not count. */
static bool user_lives(int run_dir, const char *user, size_t len)
{
	char name[NAME_MAX + 1];
	if (snprintf(name, sizeof(name), "%.*s.journal", (int)len, user) >= (int)sizeof(name))
		return false;
	_cleanup_close_ int fd = openat(run_dir, name, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

/* The users that live, without `but`. */
static unsigned keep_users(int run_dir, const struct knob *k, const char *but, struct strbuf *to)
{
	unsigned nr = 0;
	for (const char *p = k->users; *p;) {
		size_t len = strcspn(p, "\n");
		bool same = len == strlen(but) && !strncmp(p, but, len);
		if (len && !same && user_lives(run_dir, p, len)) {
			strbuf_add(to, p, len);
			strbuf_char(to, '\n');
			nr++;
		}
		p += len + (p[len] == '\n');
	}
	return nr;
}

static int knob_save(const struct knob *k, const char *users, const char *more)
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_printf(&s, "%llu %llu%s\n%s%s%s", (unsigned long long)k->old,
		      (unsigned long long)k->written, k->open ? " ?" : "", users, more,
		      *more ? "\n" : "");
	const char *text = strbuf_cstr(&s);
	int err = s.err ? s.err : s.len < KNOB_MAX ? 0 : -E2BIG;
	if (!err)
		err = replace(k->fd, text);
	strbuf_done(&s);
	return err;
}

static bool is_ours(const struct knob *k, u64 now)
{
	return k->used && (now == k->written || (k->open && now >= k->written));
}

static int raise_locked(int run_dir, const struct tracing *t, const char *file, const char *user,
			u64 value, struct knob *k, bool *changed)
{
	u64 now;
	int err = read_number(t, file, &now);
	if (err)
		return err;
	struct strbuf users;
	strbuf_init(&users);
	unsigned others = k->used ? keep_users(run_dir, k, user, &users) : 0;
	*changed = others || now < value;
	if (*changed) {
		/* What dead runs have left is not how it was found. */
		if (!is_ours(k, now))
			k->old = now;
		k->written = max(now, value);
		k->open = now < value;
		/* Noted first: who dies between the two has only a note too many. */
		err = knob_save(k, strbuf_cstr(&users), user);
		if (!err && now < value)
			err = write_number(t, file, value);
		/* The kernel may round up; what it reads now is ours. */
		if (!err && now < value && !read_number(t, file, &k->written)) {
			k->open = false;
			err = knob_save(k, strbuf_cstr(&users), user);
		}
	}
	strbuf_done(&users);
	return err;
}

int knob_raise(int run_dir, const struct tracing *t, const char *file, const char *user, u64 value,
	       bool *changed)
{
	struct knob *k = malloc(sizeof(*k));
	*changed = false;
	if (!k)
		return -ENOMEM;
	int err = knob_open(run_dir, file, k);
	if (!err) {
		err = raise_locked(run_dir, t, file, user, value, k, changed);
		(void)close(k->fd);
	}
	free(k);
	return err;
}

int knob_leave(int run_dir, const struct tracing *t, const char *file, const char *user)
{
	struct knob *k = malloc(sizeof(*k));
	if (!k)
		return -ENOMEM;
	int err = knob_open(run_dir, file, k);
	if (!err) {
		struct strbuf users;
		u64 now;
		strbuf_init(&users);
		if (k->used && keep_users(run_dir, k, user, &users)) {
			err = knob_save(k, strbuf_cstr(&users), "");
		} else if (k->used) {
			if (!read_number(t, file, &now) && is_ours(k, now) && now != k->old)
				err = write_number(t, file, k->old);
			if (!err)
				err = replace(k->fd, "");
		}
		strbuf_done(&users);
		(void)close(k->fd);
	}
	free(k);
	return err;
}
