#include "base/term.h"
#include "base/clock.h"
#include "base/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { PROGRESS_EVERY_NS = 100000000, TERM_SIZE_MAX = 10000 };

bool term_is_tty(int fd)
{
	return isatty(fd) == 1;
}

bool term_capable(void)
{
	const char *term = getenv("TERM");
	return term && *term && strcmp(term, "dumb");
}

bool term_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *name = getenv(variables[i]);
		if (name && *name)
			return strcasestr(name, "utf-8") || strcasestr(name, "utf8");
	}
	return false;
}

unsigned term_printable(bool colours)
{
	return PRINTABLE_LINES | (colours ? PRINTABLE_COLOURS : 0) |
	       (term_utf8() ? 0 : PRINTABLE_ASCII);
}

static unsigned size_or(unsigned size, const char *variable, unsigned fallback)
{
	u64 v;
	if (size)
		return size;
	const char *text = getenv(variable);
	return text && !num_parse_u64(text, 10, &v) && v && v < TERM_SIZE_MAX ? (unsigned)v
									      : fallback;
}

unsigned term_width(int fd)
{
	struct winsize ws = { 0 };
	(void)ioctl(fd, TIOCGWINSZ, &ws);
	return size_or(ws.ws_col, "COLUMNS", 80);
}

unsigned term_height(int fd)
{
	struct winsize ws = { 0 };
	(void)ioctl(fd, TIOCGWINSZ, &ws);
	return size_or(ws.ws_row, "LINES", 24);
}

bool term_colour(enum term_when when, int fd)
{
	if (when != TERM_AUTO)
		return when == TERM_ALWAYS;
	const char *no = getenv("NO_COLOR");
	return !(no && *no) && term_capable() && term_is_tty(fd);
}

const char *term_pager_command(const char *own)
{
	if (getauxval(AT_SECURE))
		return NULL;
	const char *pager = getenv(own);
	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		pager = "less";
	return *pager && strcmp(pager, "cat") ? pager : NULL;
}

static int spawn_shell(const char *script, int in, pid_t *ret)
{
	char sh[] = "sh", c[] = "-c";
	char *text = strdup(script);
	if (!text)
		return -ENOMEM;
	char *argv[] = { sh, c, text, NULL };
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);
	if (!err) {
		err = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
		if (!err)
			err = posix_spawn(ret, "/bin/sh", &actions, NULL, argv, environ);
		(void)posix_spawn_file_actions_destroy(&actions);
	}
	free(text);
	return -err;
}

int term_pager_open(const char *command, int *ret_fd, pid_t *ret_pid)
{
	int ends[2];
	struct strbuf script;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	strbuf_init(&script);
	/* A pager that is not there has not read anything: the text passes through. */
	strbuf_printf(&script,
		      "export LESS=\"${LESS-FRSX}\" LV=\"${LV--c}\"\n%s\n"
		      "status=$?; [ $status != 127 ] || exec cat; exit $status",
		      command);
	int err = script.err;
	if (!err)
		err = spawn_shell(strbuf_cstr(&script), ends[0], ret_pid);
	strbuf_done(&script);
	(void)close(ends[0]);
	if (err)
		(void)close(ends[1]);
	else
		*ret_fd = ends[1];
	return err;
}

void term_progress_init(struct term_progress *p, int fd)
{
	*p = (struct term_progress){ .fd = fd, .on = term_capable() && term_is_tty(fd) };
}

bool term_progress_due(struct term_progress *p)
{
	if (!p->on)
		return false;
	u64 now = clock_monotonic_ns();
	if (now < p->next_ns)
		return false;
	p->next_ns = now + PROGRESS_EVERY_NS;
	return true;
}

void term_progress_show(struct term_progress *p, const char *line)
{
	if (!p->on)
		return;
	char text[512];
	struct strbuf safe;
	int width = (int)min(term_width(p->fd) - 1, 400u);
	strbuf_init(&safe);
	(void)printable_add(&safe, line, strlen(line), 0);
	int len = snprintf(text, sizeof(text), "\r%.*s\033[K", width, strbuf_cstr(&safe));
	p->shown = write(p->fd, text, (size_t)len) > 0 || p->shown;
	strbuf_done(&safe);
}

void term_progress_clear(struct term_progress *p)
{
	static const char wipe[] = "\r\033[K";
	if (p->shown && write(p->fd, wipe, sizeof(wipe) - 1) > 0)
		p->shown = false;
}
