#include "session/control.h"

#include "base/num.h"
#include "base/outplace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static int bad_form(const char *option, const char *text, struct diag *d)
{
	diag_error(d, -EINVAL, "%s %s: invalid source of commands", option, text);
	diag_hint(d, "use fd:N or fd:N,N for descriptors, fifo:PATH or fifo:PATH,PATH for named "
		     "pipes; the second one is for replies");
	return -EINVAL;
}

/* "3": a descriptor that we were started with. One that closes at exec is no such one, but our own under the same number. */
static int take_fd(const char *option, const char *text, struct diag *d)
{
	u64 fd;
	int flags = num_parse_u64(text, 10, &fd) || fd > INT_MAX ? -1 : fcntl((int)fd, F_GETFD);
	if (flags < 0 || flags & FD_CLOEXEC)
		return diag_error(d, -EINVAL, "%s: %s is not an open file descriptor", option, text);
	int copy = fcntl((int)fd, F_DUPFD_CLOEXEC, 3);
	return copy < 0 ? diag_error(d, -errno, "%s: %s", option, strerror(errno)) : copy;
}

/* Open for both, so that it neither waits for the other side nor ends with it. */
static int take_fifo(const char *option, const char *path, struct diag *d)
{
	struct outplace p;
	int fd = outplace_open(&p, path, OUTPLACE_REPLACE_LINK, d);
	if (fd < 0)
		return fd;
	int flags = O_RDWR | O_NONBLOCK | O_CLOEXEC | (p.magic ? 0 : O_NOFOLLOW);
	bool fifo = p.kind == OUTPLACE_SPECIAL && S_ISFIFO(p.st.st_mode);
	fd = p.kind == OUTPLACE_NEW ? -ENOENT
	     : !fifo		    ? -EINVAL
	     : p.fd >= 0	    ? fcntl(p.fd, F_DUPFD_CLOEXEC, 3)
				    : openat(p.dir, p.name, flags);
	if (fd == -1)
		fd = -errno;
	outplace_close(&p);
	return fd < 0 ? diag_error(d, fd, "%s: cannot open %s: %s", option, path,
				   fd == -EINVAL ? "not a named pipe" : strerror(-fd))
		      : fd;
}

int control_open(struct control *c, const char *option, const char *text, struct diag *d)
{
	*c = (struct control){ .fd = -1, .ack_fd = -1 };
	bool fifo = !strncmp(text, "fifo:", 5);
	if (!fifo && strncmp(text, "fd:", 3))
		return bad_form(option, text, d);
	char first[PATH_MAX];
	const char *at = text + (fifo ? 5 : 3), *comma = strchrnul(at, ',');
	if (comma == at || (size_t)(comma - at) >= sizeof(first) || (*comma && !comma[1]))
		return bad_form(option, text, d);
	memcpy(first, at, (size_t)(comma - at));
	first[comma - at] = 0;
	c->fd = fifo ? take_fifo(option, first, d) : take_fd(option, first, d);
	if (c->fd < 0)
		return c->fd;
	if (*comma)
		c->ack_fd = fifo ? take_fifo(option, comma + 1, d) : take_fd(option, comma + 1, d);
	return *comma ? min(c->ack_fd, 0) : 0;
}

int control_read(struct control *c)
{
	if (c->len == sizeof(c->buf))
		c->len = 0; /* a line without an end */
	ssize_t n = read(c->fd, c->buf + c->len, sizeof(c->buf) - c->len);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	c->len += (size_t)n;
	return n > 0;
}

enum control_command control_next(struct control *c)
{
	static const struct {
		const char *word;
		enum control_command command;
	} commands[] = {
		{ "enable", CONTROL_ENABLE },	  { "disable", CONTROL_DISABLE },
		{ "snapshot", CONTROL_SNAPSHOT }, { "evlist", CONTROL_EVLIST },
		{ "ping", CONTROL_PING },	  { "stop", CONTROL_STOP },
	};
	size_t len = 0;
	/* A zero ends a command too: some write their string with it. */
	while (len < c->len && c->buf[len] != '\n' && c->buf[len])
		len++;
	if (len == c->len)
		return CONTROL_NONE;
	memcpy(c->word, c->buf, len);
	c->word[len] = 0;
	c->len -= len + 1;
	memmove(c->buf, c->buf + len + 1, c->len);
	if (!len)
		return control_next(c);
	size_t verb = strcspn(c->word, " ");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strlen(commands[i].word) == verb && !memcmp(commands[i].word, c->word, verb))
			return commands[i].command;
	return CONTROL_UNKNOWN;
}

void control_ack(struct control *c)
{
	static const char ack[] = "ack\n"; /* with its NUL, as perf sends it */
	if (c->ack_fd >= 0)
		(void)!write(c->ack_fd, ack, sizeof(ack));
}

void control_close(struct control *c)
{
	cleanup_close(&c->fd);
	cleanup_close(&c->ack_fd);
	c->fd = c->ack_fd = -1;
}
