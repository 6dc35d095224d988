/*
 * The protocol is perf's: words on lines, "enable", "disable" (each also with the name of an event), "evlist", "ping", "stop".
 * When there is a second descriptor, "ack\n" and a NUL byte answer each command that was carried out.
 */
#include "cmd/stat.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int parse_fd(const char *text, size_t len, int *ret)
{
	char word[12];
	u64 fd;
	if (!len || len >= sizeof(word))
		return -EINVAL;
	memcpy(word, text, len);
	word[len] = 0;
	if (num_parse_u64(word, 10, &fd) || fd > INT32_MAX || fcntl((int)fd, F_GETFD) < 0)
		return -EBADF;
	*ret = (int)fd;
	return 0;
}

/* Opened for both directions: a FIFO then neither waits for its other end nor ends with it. */
static int open_fifo(const char *text, size_t len, int *ret)
{
	_cleanup_free_ char *path = strndup(text, len);
	if (!path)
		return -ENOMEM;
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

int stat_control_open(struct stat_control *c, const char *spec, struct diag *d)
{
	bool fifo = !strncmp(spec, "fifo:", 5);
	*c = (struct stat_control){ .fd = -1, .ack_fd = -1, .close_fds = fifo };
	if (!fifo && strncmp(spec, "fd:", 3)) {
		diag_error(d, -EINVAL, "--control %s: fd:NUMBER[,NUMBER] or fifo:PATH[,PATH]", spec);
		return -EINVAL;
	}
	int (*open_part)(const char *, size_t, int *) = fifo ? open_fifo : parse_fd;
	const char *part = strchr(spec, ':') + 1;
	size_t len = strcspn(part, ",");
	int err = open_part(part, len, &c->fd);
	if (!err && part[len]) {
		part += len + 1;
		len = strlen(part);
		err = open_part(part, len, &c->ack_fd);
	}
	if (!err && fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK) < 0)
		err = -errno;
	if (err) {
		diag_error(d, err, "--control: '%.*s': %s", (int)len, part, strerror(-err));
		stat_control_close(c);
		return err == -EBADF ? -EINVAL : err;
	}
	return 0;
}

void stat_control_close(struct stat_control *c)
{
	if (c->close_fds) {
		cleanup_close(&c->fd);
		cleanup_close(&c->ack_fd);
	}
	c->fd = c->ack_fd = -1;
}

static void acknowledge(struct stat_control *c)
{
	static const char ack[] = "ack\n";
	if (c->ack_fd >= 0)
		(void)!write(c->ack_fd, ack, sizeof(ack));
}

static int obey(struct stat_control *c, char *line, const struct stat_control_ops *ops, void *ctx)
{
	size_t len = strcspn(line, " ");
	char *name = line[len] ? line + len + 1 : NULL;
	line[len] = 0;
	int err = 0;
	if (!strcmp(line, "enable") || !strcmp(line, "disable"))
		err = ops->enable(ctx, name, line[0] == 'e');
	else if (!strcmp(line, "evlist"))
		ops->list(ctx, c->ack_fd);
	else if (!strcmp(line, "stop"))
		ops->stop(ctx);
	else if (strcmp(line, "ping"))
		err = -EINVAL;
	return err;
}

int stat_control_read(struct stat_control *c, const struct stat_control_ops *ops, void *ctx)
{
	for (;;) {
		ssize_t n = read(c->fd, c->line + c->len, sizeof(c->line) - 1 - c->len);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (!n)
			return -EPIPE;
		c->len += (size_t)n;
		for (;;) {
			char *end = memchr(c->line, '\n', c->len);
			if (!end)
				break;
			*end = 0;
			if (!obey(c, c->line, ops, ctx))
				acknowledge(c);
			size_t used = (size_t)(end + 1 - c->line);
			while (used < c->len && !c->line[used])
				used++; /* some writers send the NUL, too */
			memmove(c->line, c->line + used, c->len - used);
			c->len -= used;
		}
		if (c->len == sizeof(c->line) - 1)
			c->len = 0; /* no command is that long */
	}
}
