#include "session/outfile.h"

#include "base/strbuf.h"
#include "session/output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Under sudo the file stays its owner's, or becomes its folder's. Where anybody may have put it there, it says nothing about whose the new
 * one should be.
 */
static const struct stat *model_of(const struct outplace *p)
{
	return p->kind == OUTPLACE_FILE && !(p->folder.st_mode & (S_ISVTX | S_IWOTH)) ? &p->st
										      : NULL;
}

bool outfile_inherit(int fd, const struct outplace *p)
{
	const struct stat *model = model_of(p);
	if (!model)
		return false;
	if (!geteuid())
		(void)!fchown(fd, model->st_uid, model->st_gid);
	(void)!fchmod(fd, model->st_mode & 0777);
	return true;
}

static void give_away(const struct atomic_file *k)
{
	const struct stat *folder = &k->place.folder;
	if (!k->in_place && !outfile_inherit(k->fd, &k->place) && !geteuid())
		(void)!fchown(k->fd, folder->st_uid, folder->st_gid);
}

int outfile_begin(struct atomic_file *file, const char *path, struct diag *d)
{
	int err = atomic_file_begin_output(file, path, 0644, d);
	if (!err)
		give_away(file);
	return err;
}

int outfile_end(struct atomic_file *file, const char *path, int err, bool durable, struct diag *d)
{
	if (err)
		return atomic_file_end(file, err);
	if (!file->in_place && durable && fsync(file->fd))
		err = -errno;
	err = atomic_file_end(file, err);
	return err ? diag_error(d, err, "cannot write %s: %s", path, strerror(-err)) : 0;
}

int outfile_write(const char *path, const char *data, size_t len, bool durable, struct diag *d)
{
	struct atomic_file k;
	int err = outfile_begin(&k, path, d);
	if (err)
		return err;
	err = strbuf_drain_fd(&k.fd, data, len);
	if (!err)
		return outfile_end(&k, path, 0, durable, d);
	err = atomic_file_end(&k, err);
	return diag_error(d, err, "cannot write %s: %s", path, strerror(-err));
}

int outfile_check(const char *path, struct diag *d)
{
	return strcmp(path, "-") ? outplace_check(path, 0, d) : 0;
}

int outfile_replace(const struct outplace *p)
{
	char aside[NAME_MAX + 1];
	s64 uid, gid;
	int fd = outplace_create(p, 0666, aside);
	if (fd < 0)
		return fd;
	output_owner(&uid, &gid);
	if (!outfile_inherit(fd, p) && uid >= 0)
		(void)!fchown(fd, (uid_t)uid, (gid_t)gid);
	int err = outplace_rename(p, aside);
	if (err)
		(void)close(fd);
	return err ? err : fd;
}
