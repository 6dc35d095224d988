#include "cmd/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int outfile_write(const char *path, const char *data, size_t len, bool durable, struct diag *d)
{
	char real[PATH_MAX], temp[PATH_MAX + 16];
	struct stat st;
	if (!realpath(path, real))
		(void)snprintf(real, sizeof(real), "%s", path);
	(void)snprintf(temp, sizeof(temp), "%s.%d", real, (int)getpid());
	bool have = !stat(real, &st);
	int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		      have ? st.st_mode & 0777 : 0644);
	if (fd < 0)
		return diag_error(d, -errno, "cannot write %s: %s", temp, strerror(errno));
	if (!have) {
		char folder[PATH_MAX];
		(void)snprintf(folder, sizeof(folder), "%s", real);
		char *slash = strrchr(folder, '/');
		if (slash)
			*slash = '\0';
		have = slash && !stat(*folder ? folder : "/", &st);
	}
	if (have && !geteuid())
		(void)!fchown(fd, st.st_uid, st.st_gid);
	int err = 0;
	while (len && !err) {
		ssize_t n = write(fd, data, len);
		if (n < 0)
			err = errno == EINTR ? 0 : -errno;
		else
			data += n, len -= (size_t)n;
	}
	if (((durable && fsync(fd)) | close(fd)) && !err)
		err = -errno;
	if (!err && rename(temp, real))
		err = -errno;
	if (err) {
		(void)unlink(temp);
		return diag_error(d, err, "cannot write %s: %s", real, strerror(-err));
	}
	return 0;
}
