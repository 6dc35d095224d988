#include "session/output.h"
#include "base/str.h"

#include "base/atomic_file.h"
#include "base/term.h"
#include "event/print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void output_owner(s64 *uid, s64 *gid)
{
	const char *sudo_uid = secure_getenv("SUDO_UID"), *sudo_gid = secure_getenv("SUDO_GID");
	u64 u, g;
	*uid = *gid = -1;
	if (!geteuid() && getuid()) {
		*uid = (s64)getuid();
		*gid = (s64)getgid();
	}
	if (!geteuid() && sudo_uid && sudo_gid && !num_parse_u64(sudo_uid, 10, &u) &&
	    u < UINT32_MAX && !num_parse_u64(sudo_gid, 10, &g) && g < UINT32_MAX) {
		*uid = (s64)u;
		*gid = (s64)g;
	}
}

char *output_cmdline(const struct sysroot *r, const char *words[], u32 max_words, u32 *nr)
{
	struct strbuf buf;
	strbuf_init(&buf);
	*nr = 0;
	if (sysroot_read(r, "proc/self/cmdline", &buf))
		strbuf_reset(&buf);
	size_t len = buf.len;
	strbuf_cstr(&buf);
	char *text = strbuf_steal(&buf);
	for (char *at = text; at && at < text + len && *nr < max_words; at += strlen(at) + 1)
		words[(*nr)++] = at;
	return text;
}

int output_take_stdout(const char *output, const char **path, int *pipe_fd, const char *example,
		       struct diag *d)
{
	struct stat st;
	*pipe_fd = -1;
	if (output ? strcmp(output, "-") : fstat(STDOUT_FILENO, &st) || !S_ISFIFO(st.st_mode)) {
		*path = output ? output : "perf.data";
		return 0;
	}
	if (term_is_tty(STDOUT_FILENO)) {
		diag_error(d, -EINVAL, "-o -: standard output is a terminal");
		diag_hint(d, "%s", example);
		return -EINVAL;
	}
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return diag_error(d, -EINVAL, "-o -: standard output: %s", strerror(errno));
	*pipe_fd = fd;
	*path = "-";
	return 0;
}

const char *output_attr_dir(void)
{
	return secure_getenv("PERF_TEST_ATTR");
}

void output_attr(void *dir, const struct perf_event_attr *attr, const struct perf_opened *how)
{
	const struct event_opened opened = { .fd = how->fd,
					     .group_fd = how->group_fd,
					     .cpu = how->cpu,
					     .pid = how->pid,
					     .flags = how->flags };
	struct strbuf text;
	char path[4096];
	if (str_path(path, sizeof(path), "%s/event-%u-%llu-%d", (const char *)dir, attr->type,
		     (unsigned long long)attr->config, how->fd))
		return;
	strbuf_init(&text);
	event_print_attr(attr, &opened, &text);
	(void)!atomic_file_replace(path, strbuf_cstr(&text), text.len, 0644);
	strbuf_done(&text);
}
