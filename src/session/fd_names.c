#include "session/fd_names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	SIN6_LEN_MIN = 24,
	NAME_LEN_MAX = 8192, /* openat() below openat() below ... would go on without end */
};

enum effect {
	EFFECT_NONE,
	EFFECT_OPEN, /* (name, flags) */
	EFFECT_OPENAT, /* (directory, name, flags) */
	EFFECT_CREAT,
	EFFECT_CLOSE,
	EFFECT_CLOSE_RANGE,
	EFFECT_DUP,
	EFFECT_DUP_TO,
	EFFECT_FCNTL,
	EFFECT_PIPE,
	EFFECT_SOCKET,
	EFFECT_ADDRESS, /* bind, connect */
	EFFECT_ACCEPT,
	EFFECT_ANONYMOUS, /* (..., flags): named after the call */
	EFFECT_EXEC,
	EFFECT_CHILD,
	EFFECT_END,
};

static const struct {
	const char *call;
	u8 effect;
	u8 flags; /* which argument has O_CLOEXEC; SYSCALL_ARGS: none */
	const char *name; /* as the kernel calls it */
} effects[] = {
	{ "open", EFFECT_OPEN, 1, NULL },
	{ "openat", EFFECT_OPENAT, 2, NULL },
	{ "creat", EFFECT_CREAT, SYSCALL_ARGS, NULL },
	{ "close", EFFECT_CLOSE, 0, NULL },
	{ "close_range", EFFECT_CLOSE_RANGE, 0, NULL },
	{ "dup", EFFECT_DUP, SYSCALL_ARGS, NULL },
	{ "dup2", EFFECT_DUP_TO, SYSCALL_ARGS, NULL },
	{ "dup3", EFFECT_DUP_TO, 2, NULL },
	{ "fcntl", EFFECT_FCNTL, 0, NULL },
	{ "pipe", EFFECT_PIPE, SYSCALL_ARGS, "pipe" },
	{ "pipe2", EFFECT_PIPE, 1, "pipe" },
	{ "socket", EFFECT_SOCKET, 1, "socket" },
	{ "socketpair", EFFECT_PIPE, 1, "socket" },
	{ "bind", EFFECT_ADDRESS, 0, NULL },
	{ "connect", EFFECT_ADDRESS, 0, NULL },
	{ "accept", EFFECT_ACCEPT, SYSCALL_ARGS, NULL },
	{ "accept4", EFFECT_ACCEPT, 3, NULL },
	{ "epoll_create", EFFECT_ANONYMOUS, SYSCALL_ARGS, "[eventpoll]" },
	{ "epoll_create1", EFFECT_ANONYMOUS, 0, "[eventpoll]" },
	{ "eventfd", EFFECT_ANONYMOUS, SYSCALL_ARGS, "[eventfd]" },
	{ "eventfd2", EFFECT_ANONYMOUS, 1, "[eventfd]" },
	{ "timerfd_create", EFFECT_ANONYMOUS, 1, "[timerfd]" },
	{ "signalfd4", EFFECT_ANONYMOUS, 3, "[signalfd]" },
	{ "inotify_init", EFFECT_ANONYMOUS, SYSCALL_ARGS, "[inotify]" },
	{ "inotify_init1", EFFECT_ANONYMOUS, 0, "[inotify]" },
	{ "execve", EFFECT_EXEC, 0, NULL },
	{ "execveat", EFFECT_EXEC, 0, NULL },
	{ "fork", EFFECT_CHILD, 0, NULL },
	{ "vfork", EFFECT_CHILD, 0, NULL },
	{ "clone", EFFECT_CHILD, 0, NULL },
	{ "clone3", EFFECT_CHILD, 0, NULL },
	{ "exit_group", EFFECT_END, 0, NULL },
};

/* The place in the list above, from 1. */
u8 fd_names_effect(const char *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(effects); i++)
		if (!strcmp(effects[i].call, call))
			return (u8)(i + 1);
	return 0;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static u64 key_of(s32 pid, s32 fd)
{
	return (u64)(u32)pid << 32 | (u32)fd;
}

void fd_names_init(struct fd_names *f)
{
	*f = (struct fd_names){ 0 };
	dict_init(&f->index);
}

void fd_names_forget(struct fd_names *f)
{
	vec_for_each (&f->all, n)
		free(n->text);
	f->all.nr = f->free_places.nr = 0;
	dict_done(&f->index);
	dict_init(&f->index);
}

void fd_names_done(struct fd_names *f)
{
	fd_names_forget(f);
	dict_done(&f->index);
	vec_free(&f->all);
	vec_free(&f->free_places);
}

const char *fd_names_get(const struct fd_names *f, s32 pid, s32 fd)
{
	u32 at = fd < 0 ? DICT_NONE : dict_get(&f->index, key_of(pid, fd));
	return at == DICT_NONE ? NULL : f->all.at[at].text;
}

static void drop(struct fd_names *f, s32 pid, s32 fd)
{
	u32 at = dict_remove(&f->index, key_of(pid, fd));
	if (at == DICT_NONE)
		return;
	free(f->all.at[at].text);
	f->all.at[at].text = NULL;
	u32 *slot = vec_push(&f->free_places);
	if (slot)
		*slot = at;
}

/* Those of a process from one number to another. */
static void drop_some(struct fd_names *f, s32 pid, s64 first, s64 last, bool cloexec_only)
{
	vec_for_each (&f->all, n)
		if (n->text && n->pid == pid && n->fd >= first && n->fd <= last &&
		    (n->cloexec || !cloexec_only))
			drop(f, pid, n->fd);
}

int fd_names_put(struct fd_names *f, s32 pid, s32 fd, const char *text, bool cloexec)
{
	drop(f, pid, fd);
	if (f->all.nr >= FD_NAMES_MAX && !f->free_places.nr)
		fd_names_forget(f);
	char *copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	u32 at = f->free_places.nr ? f->free_places.at[f->free_places.nr - 1] : (u32)f->all.nr;
	bool fresh = !f->free_places.nr;
	if ((fresh && !vec_push(&f->all)) || dict_put(&f->index, key_of(pid, fd), at)) {
		if (fresh && at < f->all.nr)
			f->all.nr--;
		free(copy);
		return -ENOMEM;
	}
	if (!fresh)
		f->free_places.nr--;
	f->all.at[at] = (struct fd_name){ .pid = pid, .fd = fd, .text = copy, .cloexec = cloexec };
	return 0;
}

/* "flags:\t02100002" in octal. */
static bool is_cloexec(const char *fdinfo)
{
	const char *flags = strstr(fdinfo, "flags:");
	return flags && strtoul(flags + strlen("flags:"), NULL, 8) & O_CLOEXEC;
}

static int read_one(struct fd_names *f, const struct sysroot *root, s32 pid, s32 fd,
		    struct strbuf *text)
{
	char path[64], name[4096];
	(void)snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", pid, fd);
	bool cloexec = !sysroot_read(root, path, text) && is_cloexec(strbuf_cstr(text));
	(void)snprintf(path, sizeof(path), "proc/%d/fd/%d", pid, fd);
	ssize_t n = readlinkat(root->dir_fd, path, name, sizeof(name) - 1);
	if (n <= 0)
		return 0;
	name[n] = '\0';
	return fd_names_put(f, pid, fd, name, cloexec);
}

int fd_names_read(struct fd_names *f, const struct sysroot *root, s32 pid)
{
	char path[64];
	struct strbuf text;
	int err = 0;
	(void)snprintf(path, sizeof(path), "proc/%d/fd", pid);
	DIR *dir = sysroot_dir(root, path);
	if (!dir)
		return 0;
	strbuf_init(&text);
	for (const struct dirent *e; !err && (e = readdir(dir));)
		if (*e->d_name >= '0' && *e->d_name <= '9')
			err = read_one(f, root, pid, (s32)strtol(e->d_name, NULL, 10), &text);
	strbuf_done(&text);
	(void)closedir(dir);
	return err;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* What was copied for an argument; NULL: nothing. */
static const u8 *copied(const struct syscall_thread *c, u32 arg, size_t *len)
{
	for (u32 i = 0; i < c->call->nr_pieces; i++)
		if (c->call->pieces[i].how && c->call->pieces[i].arg == arg && c->data.len[i] > 0) {
			*len = (size_t)c->data.len[i];
			return c->data.bytes + c->data.at[i];
		}
	return NULL;
}

static int open_path(struct fd_names *f, const struct syscall_thread *c, u32 arg, s32 dir,
		     bool cloexec)
{
	size_t len;
	const char *path = (const char *)copied(c, arg, &len);
	const char *base = fd_names_get(f, c->pid, dir);
	char *whole = NULL;
	s32 fd = (s32)c->ret;
	bool known = path && memchr(path, 0, len);
	if (known && (*path == '/' || dir == AT_FDCWD))
		return fd_names_put(f, c->pid, fd, path, cloexec);
	if (!known || !base || strlen(base) + strlen(path) >= NAME_LEN_MAX) {
		drop(f, c->pid, fd);
		return 0;
	}
	/* Before the old name goes: records that contradict each other may say that it is the directory's. */
	if (asprintf(&whole, *path ? "%s/%s" : "%s%s", base, path) < 0)
		return -ENOMEM;
	int err = fd_names_put(f, c->pid, fd, whole, cloexec);
	free(whole);
	return err;
}

static int copy(struct fd_names *f, s32 pid, s32 from, s32 to, bool cloexec)
{
	const char *text = fd_names_get(f, pid, from);
	if (from == to)
		return 0;
	if (!text) {
		drop(f, pid, to);
		return 0;
	}
	char *own = strdup(text);
	int err = own ? fd_names_put(f, pid, to, own, cloexec) : -ENOMEM;
	free(own);
	return err;
}

/* 127.0.0.1:80, [::1]:80, or the name of a file. false: nothing that can be said. */
static bool address_text(const u8 *data, size_t len, char to[], size_t size)
{
	char text[INET6_ADDRSTRLEN];
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} a = { 0 };
	memcpy(&a, data, min(len, sizeof(a)));
	if (a.any.sa_family == AF_INET && len >= sizeof(a.in) &&
	    inet_ntop(AF_INET, &a.in.sin_addr, text, sizeof(text)))
		return snprintf(to, size, "%s:%u", text, ntohs(a.in.sin_port)) > 0;
	if (a.any.sa_family == AF_INET6 && len >= SIN6_LEN_MIN &&
	    inet_ntop(AF_INET6, &a.in6.sin6_addr, text, sizeof(text)))
		return snprintf(to, size, "[%s]:%u", text, ntohs(a.in6.sin6_port)) > 0;
	if (a.any.sa_family == AF_UNIX && len > offsetof(struct sockaddr_un, sun_path)) {
		bool abstract = !a.un.sun_path[0];
		const char *path = a.un.sun_path + abstract;
		size_t n = strnlen(path, sizeof(a.un.sun_path) - abstract);
		return n && snprintf(to, size, "%s%.*s", abstract ? "@" : "", (int)n, path) > 0;
	}
	return false;
}

static int address(struct fd_names *f, const struct syscall_thread *c, s32 fd, bool cloexec)
{
	char text[sizeof(struct sockaddr_un) + 64];
	size_t len;
	const u8 *data = copied(c, 1, &len);
	if (!data || !address_text(data, len, text, sizeof(text)))
		return 0;
	return fd_names_put(f, c->pid, fd, text, cloexec);
}

static int pair(struct fd_names *f, const struct syscall_thread *c, const char *name, bool cloexec)
{
	size_t len;
	s32 fds[2];
	const u8 *data = copied(c, !strcmp(c->call->name, "socketpair") ? 3 : 0, &len);
	if (!data || len < sizeof(fds))
		return 0;
	memcpy(fds, data, sizeof(fds));
	int err = fd_names_put(f, c->pid, fds[0], name, cloexec);
	return err ? err : fd_names_put(f, c->pid, fds[1], name, cloexec);
}

static int control(struct fd_names *f, const struct syscall_thread *c)
{
	s32 fd = (s32)c->args[0];
	u32 at;
	switch ((u32)c->args[1]) {
	case F_DUPFD: return copy(f, c->pid, fd, (s32)c->ret, false);
	case F_DUPFD_CLOEXEC: return copy(f, c->pid, fd, (s32)c->ret, true);
	case F_SETFD:
		at = dict_get(&f->index, key_of(c->pid, fd));
		if (at != DICT_NONE)
			f->all.at[at].cloexec = c->args[2] & FD_CLOEXEC;
		return 0;
	default: return 0;
	}
}

static int follow(struct fd_names *f, const struct syscall_thread *c)
{
	u8 at = (u8)(c->call->fd_effect - 1);
	bool cloexec = effects[at].flags < SYSCALL_ARGS && c->args[effects[at].flags] & O_CLOEXEC;
	s32 first = (s32)c->args[0], made = (s32)c->ret;
	switch (effects[at].effect) {
	case EFFECT_OPEN: return open_path(f, c, 0, AT_FDCWD, cloexec);
	case EFFECT_OPENAT: return open_path(f, c, 1, first, cloexec);
	case EFFECT_CREAT: return open_path(f, c, 0, AT_FDCWD, false);
	case EFFECT_CLOSE_RANGE:
		if (c->args[2] & CLOSE_RANGE_CLOEXEC)
			fd_names_forget(f);
		else
			drop_some(f, c->pid, (u32)c->args[0], (u32)c->args[1], false);
		return 0;
	case EFFECT_DUP: return copy(f, c->pid, first, made, false);
	case EFFECT_DUP_TO: return copy(f, c->pid, first, made, cloexec);
	case EFFECT_FCNTL: return control(f, c);
	case EFFECT_PIPE: return pair(f, c, effects[at].name, cloexec);
	case EFFECT_SOCKET:
	case EFFECT_ANONYMOUS: return fd_names_put(f, c->pid, made, effects[at].name, cloexec);
	case EFFECT_ACCEPT: {
		int err = fd_names_put(f, c->pid, made, "socket", cloexec);
		return err ? err : address(f, c, made, cloexec);
	}
	case EFFECT_ADDRESS: {
		u32 known = dict_get(&f->index, key_of(c->pid, first));
		return address(f, c, first, known != DICT_NONE && f->all.at[known].cloexec);
	}
	case EFFECT_EXEC: drop_some(f, c->pid, 0, INT32_MAX, true); return 0;
	default: return 0;
	}
}

bool fd_names_forks(const struct syscall *call)
{
	return call && call->fd_effect && effects[call->fd_effect - 1].effect == EFFECT_CHILD;
}

int fd_names_inherit(struct fd_names *f, s32 parent, s32 child)
{
	int err = 0;
	drop_some(f, child, 0, INT32_MAX, false); /* of another process that had the number */
	size_t nr = f->all.nr;
	for (size_t i = 0; i < nr && i < f->all.nr && !err; i++) {
		const struct fd_name *n = &f->all.at[i];
		if (!n->text || n->pid != parent)
			continue;
		/* The table moves when it grows. */
		_cleanup_free_ char *text = strdup(n->text);
		err = text ? fd_names_put(f, child, n->fd, text, n->cloexec) : -ENOMEM;
	}
	return err;
}

int fd_names_follow(struct fd_names *f, const struct syscall_thread *c)
{
	u8 effect = c->call->fd_effect ? effects[c->call->fd_effect - 1].effect : EFFECT_NONE;
	if (effect == EFFECT_NONE)
		return 0;
	if (effect == EFFECT_END) {
		drop_some(f, c->pid, 0, INT32_MAX, false);
		return 0;
	}
	/* A close() that returns an error has still closed the descriptor, except for EBADF. */
	if (effect == EFFECT_CLOSE) {
		drop(f, c->pid, (s32)c->args[0]);
		return 0;
	}
	bool begun = effect == EFFECT_ADDRESS && c->ret == -EINPROGRESS;
	return (syscall_failed(c->ret) && !begun) || !c->enter_ns ? 0 : follow(f, c);
}
