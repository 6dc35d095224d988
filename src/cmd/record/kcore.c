/* record --kcore: the recording is a directory that brings the kernel's code along. */
#include "cmd/record/record.h"

#include "base/str.h"
#include "file/perfdata_name.h"
#include "session/kcore_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy_kernel(int dir, void *ctx, struct diag *d)
{
	(void)ctx;
	if (mkdirat(dir, "kcore_dir", 0700))
		return diag_error(d, -errno, "cannot create kcore_dir: %s", strerror(errno));
	_cleanup_close_ int fd =
		openat(dir, "kcore_dir", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? diag_error(d, -errno, "cannot open kcore_dir: %s", strerror(errno))
		      : kcore_copy(NULL, fd, d);
}

int record_folder_create(struct record_session *s, struct recorder_opts *ro)
{
	if (!s->o->kcore)
		return 0;
	int err = str_path(s->data_path, sizeof(s->data_path), "%s/data", s->output);
	if (err)
		return diag_error(s->tell.diag, err, "%s: %s", s->output, strerror(-err));
	err = perfdata_folder_create(s->output,
				     &(struct perfdata_folder_opts){ .fill = copy_kernel,
								     .owner_uid = ro->owner_uid,
								     .owner_gid = ro->owner_gid },
				     s->tell.diag);
	if (err)
		return err;
	s->made_folder = true;
	ro->path = s->data_path;
	ro->in_folder = true;
	return 0;
}

void record_folder_remove(struct record_session *s)
{
	if (s->made_folder)
		perfdata_folder_remove(s->output);
	s->made_folder = false;
}
