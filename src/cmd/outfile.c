#include "cmd/outfile.h"

#include "base/kept.h"
#include "base/strbuf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Under sudo a new file belongs to whom its folder belongs to. */
static bool owner_of(const char *path, struct stat *st)
{
	char folder[PATH_MAX];
	if (!stat(path, st))
		return true;
	(void)snprintf(folder, sizeof(folder), "%s", path);
	char *slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return slash && !stat(*folder ? folder : "/", st);
}

int outfile_write(const char *path, const char *data, size_t len, bool durable, struct diag *d)
{
	struct stat st;
	struct kept_file k;
	int err = kept_begin_output(&k, path, stat(path, &st) ? 0644 : st.st_mode & 0777);
	if (err)
		return diag_error(d, err, "cannot write %s: %s", path, strerror(-err));
	bool plain = *k.aside;
	if (plain && !geteuid() && owner_of(k.path, &st))
		(void)!fchown(k.fd, st.st_uid, st.st_gid);
	err = strbuf_drain_fd(&k.fd, data, len);
	if (!err && plain && durable && fsync(k.fd))
		err = -errno;
	err = kept_end(&k, err);
	return err ? diag_error(d, err, "cannot write %s: %s", k.path, strerror(-err)) : 0;
}
