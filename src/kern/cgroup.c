#include "kern/cgroup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* One word of a line of mounts; the line goes on behind it. */
static char *next_word(char **line)
{
	return strsep(line, " ");
}

static bool has_option(char *options, const char *wanted)
{
	for (char *word; (word = strsep(&options, ","));)
		if (!strcmp(word, wanted))
			return true;
	return false;
}

/* "device place type options ..."; 2: version 1 with perf_event, 1: version 2, 0: something else. */
static int rate_mount(char *line, const char **place)
{
	next_word(&line);
	*place = next_word(&line);
	const char *type = next_word(&line);
	char *options = next_word(&line);
	if (!*place || !type || !options)
		return 0;
	if (!strcmp(type, "cgroup") && has_option(options, "perf_event"))
		return 2;
	return !strcmp(type, "cgroup2");
}

static int find_mount(const struct sysroot *r, char to[PATH_MAX])
{
	struct strbuf buf;
	strbuf_init(&buf);
	int err = sysroot_read(r, "proc/mounts", &buf), best = 0;
	strbuf_cstr(&buf);
	char *rest = err || buf.err ? NULL : buf.data;
	for (char *line; (line = strsep(&rest, "\n"));) {
		const char *place;
		int rating = rate_mount(line, &place);
		if (rating > best && snprintf(to, PATH_MAX, "%s", place) < PATH_MAX)
			best = rating;
	}
	strbuf_done(&buf);
	return best ? 0 : err ? err : -ENOENT;
}

int cgroup_open(const struct sysroot *r, const char *name, struct diag *d)
{
	char mount[PATH_MAX], path[2 * PATH_MAX];
	int err = find_mount(r, mount);
	if (err)
		return diag_error(d, err, "no cgroup file system is mounted here");
	int n = snprintf(path, sizeof(path), "%s/%s", mount + (mount[0] == '/'), name);
	if (n >= (int)sizeof(path) || strstr(name, ".."))
		return diag_error(d, -EINVAL, "'%s' is no name of a cgroup", name);
	int fd = sysroot_fd(r, path);
	if (fd >= 0)
		return fd;
	diag_error(d, fd, "there is no cgroup '%s' below %s: %s", name, mount, strerror(-fd));
	diag_hint(d, "`cat /proc/PID/cgroup` shows the groups of a process");
	return fd;
}
