#include "kern/tracefs.h"

#include "base/glob.h"
#include "base/num.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MAGIC_TRACEFS = 0x74726163, MAGIC_DEBUGFS = 0x64626720 };

/* An open folder that is tracefs, or -errno. */
static int open_if_tracing(const char *path, bool real)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	struct statfs fs;
	if (real &&
	    (fstatfs(fd, &fs) < 0 || (fs.f_type != MAGIC_TRACEFS && fs.f_type != MAGIC_DEBUGFS))) {
		(void)close(fd);
		return -ENOENT;
	}
	/* Before 4.1 it was a folder of debugfs: then the folder must look like it. */
	if (faccessat(fd, "events", F_OK, AT_EACCESS) < 0) {
		int err = errno == EACCES ? -EACCES : -ENOENT;
		(void)close(fd);
		return err;
	}
	return fd;
}

int tracing_open(struct tracing *t, const char *root)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	*t = (struct tracing){ .dir = -1, .err = -ENOENT };
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct strbuf s;
		strbuf_init(&s);
		strbuf_printf(&s, "%s%s", root, places[i]);
		char *path = strbuf_steal(&s);
		if (!path)
			return -ENOMEM;
		int fd = open_if_tracing(path, !*root);
		if (fd >= 0) {
			*t = (struct tracing){ .dir = fd, .path = path };
			return 0;
		}
		if (fd == -EACCES || fd == -EPERM)
			t->err = -EACCES;
		free(path);
	}
	return 0;
}

void tracing_close(struct tracing *t)
{
	if (t->dir >= 0)
		(void)close(t->dir);
	free(t->path);
	*t = (struct tracing){ .dir = -1, .err = -ENOENT };
}

int tracing_explain(const struct tracing *t, struct diag *d)
{
	if (!t->err)
		return 0;
	if (t->err == -EACCES) {
		(void)diag_error(d, t->err, "tracefs is not readable by this user: no tracepoints");
		diag_hint(d, "run it as root, or: sudo mount -o remount,mode=750,gid=$(id -g) "
			     "/sys/kernel/tracing");
	} else {
		(void)diag_error(d, t->err,
				 "tracefs is not mounted (or not in this kernel): no tracepoints");
		diag_hint(d, "sudo mount -t tracefs nodev /sys/kernel/tracing");
	}
	return t->err;
}

int tracing_read(const struct tracing *t, const char *file, struct strbuf *to)
{
	if (t->err)
		return t->err;
	_cleanup_close_ int fd = openat(t->dir, file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		char *room = strbuf_room(to, 16384);
		if (!room)
			return -ENOMEM;
		ssize_t n = read(fd, room, 16384);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		strbuf_commit(to, (size_t)n);
	}
}

const char *tracing_line(const struct tracing *t, const char *file, struct strbuf *to)
{
	strbuf_reset(to);
	if (tracing_read(t, file, to))
		strbuf_reset(to);
	const char *nl = to->len ? memchr(to->data, '\n', to->len) : NULL;
	if (nl)
		to->len = (size_t)(nl - to->data);
	return strbuf_cstr(to);
}

bool tracing_has(const struct tracing *t, const char *file)
{
	return !t->err && faccessat(t->dir, file, F_OK, AT_EACCESS) == 0;
}

/* Emptying one of these removes the probes of everybody. */
static bool holds_definitions(const char *file)
{
	static const char *const names[] = { "kprobe_events", "uprobe_events", "dynamic_events",
					     "synthetic_events", "set_event" };
	const char *slash = strrchr(file, '/');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(slash ? slash + 1 : file, names[i]))
			return true;
	return false;
}

int tracing_write(const struct tracing *t, const char *file, const char *text, bool truncate)
{
	if (t->err)
		return t->err;
	if (truncate && holds_definitions(file))
		return -EPERM;
	int how = truncate ? O_TRUNC : holds_definitions(file) ? O_APPEND : 0;
	_cleanup_close_ int fd = openat(t->dir, file, O_WRONLY | O_CLOEXEC | how);
	if (fd < 0)
		return -errno;
	size_t len = strlen(text);
	while (len) {
		ssize_t n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 *	[  123.456789] event filter parse error: error: Field not found
 *	  Command: nofield == 1
 *	           ^
 */
bool tracing_error(const struct tracing *t, const char *folder, const char *text, struct diag *d)
{
	static const char word[] = "\n  Command: ";
	char path[PATH_MAX];
	struct strbuf log;
	bool found = false;
	strbuf_init(&log);
	(void)!str_path(path, sizeof(path), "%serror_log", folder);
	if (tracing_read(t, path, &log))
		strbuf_reset(&log);
	const char *at = strbuf_cstr(&log), *last = NULL;
	for (const char *p = at; (p = strstr(p, word)); p++)
		last = p;
	if (last) {
		const char *head = last;
		while (head > at && head[-1] != '\n')
			head--;
		const char *command = last + sizeof(word) - 1;
		size_t len = strcspn(command, "\n");
		const char *what = strstr(head, "] ");
		const char *caret = command[len] ? command + len + 1 : "";
		size_t column = strcspn(caret, "^\n");
		/* The log also holds the errors of others: it must be about what was written. */
		size_t ours = strcspn(text, "\n");
		if (len && (memmem(command, len, text, ours) || memmem(text, ours, command, len))) {
			char *copy = strndup(command, len);
			what = what && what < last ? what + 2 : head;
			(void)diag_error(d, -EINVAL, "the kernel reports: %.*s", (int)(last - what),
					 what);
			if (copy && caret[column] == '^' && column >= sizeof(word) - 2)
				diag_span(d, copy, column - (sizeof(word) - 2), 1);
			free(copy);
			found = true;
		}
	}
	strbuf_done(&log);
	return found;
}

/* A name that no file can have is not there. */
static int open_error(void)
{
	return errno == ENOTDIR || errno == ENAMETOOLONG ? -ENOENT : -errno;
}

int tracing_event_id(const struct tracing *t, const char *system, const char *name, u64 *ret)
{
	if (t->err)
		return t->err;
	char path[PATH_MAX];
	if (strchr(system, '/') || strchr(name, '/') || system[0] == '.' || name[0] == '.')
		return -ENOENT;
	if (snprintf(path, sizeof(path), "events/%s/%s/id", system, name) >= (int)sizeof(path))
		return -ENOENT;
	_cleanup_close_ int fd = openat(t->dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return open_error();
	char buf[32];
	ssize_t n = read(fd, buf, sizeof(buf) - 1);
	if (n < 0)
		return -errno;
	while (n && isspace((unsigned char)buf[n - 1]))
		n--;
	buf[n] = '\0';
	return num_parse_u64(buf, 10, ret);
}

static int event_cmp(const void *a, const void *b)
{
	const struct tracing_event *x = a, *y = b;
	/* As "system:name" sorts: fib6:x before fib:y. */
	const char *p = x->system, *q = y->system;
	while (*p && *p == *q) {
		p++;
		q++;
	}
	if (*p || *q)
		return (x->name && !*p ? ':' : (unsigned char)*p) -
		       (y->name && !*q ? ':' : (unsigned char)*q);
	return x->name ? strcmp(x->name, y->name) : 0;
}

/* Hands over a list in order, or frees what an error left of it. */
static int finish_list(struct tracing_events *l, int err, struct tracing_events *ret)
{
	if (err < 0) {
		tracing_events_done(l);
		return err;
	}
	if (l->items.nr)
		qsort(l->items.at, l->items.nr, sizeof(*l->items.at), event_cmp);
	*ret = *l;
	return 0;
}

static int add_event(struct tracing_events *l, const char *system, size_t system_len,
		     const char *name, size_t name_len)
{
	struct tracing_event *e = vec_push(&l->items);
	if (!e)
		return -ENOMEM;
	/* Events come system by system: keep one copy of its name. */
	const char *last = l->items.nr > 1 ? e[-1].system : NULL;
	e->system = last && !strncmp(last, system, system_len) && !last[system_len]
			    ? last
			    : arena_strndup(&l->arena, system, system_len);
	if (!e->system)
		return -ENOMEM;
	if (!name)
		return 0;
	e->name = arena_strndup(&l->arena, name, name_len);
	return e->name ? 0 : -ENOMEM;
}

static int scan_system(const struct tracing *t, const char *system, const char *name_glob,
		       struct tracing_events *l)
{
	char path[PATH_MAX];
	if (strchr(system, '/') ||
	    snprintf(path, sizeof(path), "events/%s", system) >= (int)sizeof(path))
		return -ENOENT;
	int fd = openat(t->dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return open_error();
	DIR *d = fdopendir(fd);
	if (!d) {
		(void)close(fd);
		return -ENOMEM;
	}
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		if (e->d_name[0] == '.' || (name_glob && !glob_match(name_glob, e->d_name)))
			continue;
		if (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
			continue;
		if (snprintf(path, sizeof(path), "%s/id", e->d_name) >= (int)sizeof(path) ||
		    faccessat(fd, path, F_OK, AT_EACCESS) < 0)
			continue;
		r = add_event(l, system, strlen(system), e->d_name, strlen(e->d_name));
	}
	(void)closedir(d);
	return r;
}

/* The kernel's own list; it leaves out the two entries of system "ftrace" that have an id. */
static int scan_available(const struct tracing *t, struct tracing_events *l)
{
	struct strbuf s;
	strbuf_init(&s);
	int r = tracing_read(t, "available_events", &s);
	const char *at = strbuf_cstr(&s);
	if (s.err)
		r = s.err;
	while (r == 0 && *at) {
		size_t line = strcspn(at, "\n");
		const char *colon = memchr(at, ':', line);
		if (colon)
			r = add_event(l, at, (size_t)(colon - at), colon + 1,
				      line - (size_t)(colon + 1 - at));
		at += line + (at[line] == '\n');
	}
	strbuf_done(&s);
	if (r == 0)
		r = scan_system(t, "ftrace", NULL, l);
	return r == -ENOENT ? 0 : r;
}

static int scan_systems(const struct tracing *t, const char *system_glob, const char *name_glob,
			struct tracing_events *l)
{
	struct tracing_events systems = { 0 };
	int r = tracing_list_systems(t, &systems);
	if (r < 0)
		return r;
	vec_for_each (&systems.items, s) {
		if (system_glob && !glob_match(system_glob, s->system))
			continue;
		r = scan_system(t, s->system, name_glob, l);
		if (r < 0 && r != -ENOENT && r != -EACCES)
			break;
		r = 0;
	}
	tracing_events_done(&systems);
	return r;
}

int tracing_list_events(const struct tracing *t, const char *system_glob, const char *name_glob,
			struct tracing_events *ret)
{
	if (t->err)
		return t->err;
	struct tracing_events l = { 0 };
	arena_init(&l.arena);
	int r;
	if (!system_glob && !name_glob &&
	    faccessat(t->dir, "available_events", R_OK, AT_EACCESS) == 0)
		r = scan_available(t, &l);
	else if (!system_glob || glob_is_pattern(system_glob))
		r = scan_systems(t, system_glob, name_glob, &l);
	else
		r = scan_system(t, system_glob, name_glob, &l);
	return finish_list(&l, r, ret);
}

int tracing_list_systems(const struct tracing *t, struct tracing_events *ret)
{
	if (t->err)
		return t->err;
	int fd = openat(t->dir, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	DIR *d = fdopendir(fd);
	if (!d) {
		(void)close(fd);
		return -ENOMEM;
	}
	struct tracing_events l = { 0 };
	arena_init(&l.arena);
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		struct stat st;
		bool is_dir = e->d_type == DT_DIR ||
			      (e->d_type == DT_UNKNOWN && fstatat(fd, e->d_name, &st, 0) == 0 &&
			       S_ISDIR(st.st_mode));
		if (is_dir && e->d_name[0] != '.')
			r = add_event(&l, e->d_name, strlen(e->d_name), NULL, 0);
	}
	(void)closedir(d);
	return finish_list(&l, r, ret);
}

void tracing_events_done(struct tracing_events *l)
{
	vec_free(&l->items);
	arena_done(&l->arena);
}
