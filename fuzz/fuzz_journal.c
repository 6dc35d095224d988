/* The journal of a run that is dead, as `ftrace status` reads it and `ftrace reset --stale` undoes it, over an empty tracefs. */
#include "kern/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Nothing in it can be written to: the kernel's files are not there. */
static int empty_folder(char *path)
{
	static const char template[] = "/tmp/sonde-fuzz-XXXXXX";
	memcpy(path, template, sizeof(template));
	return mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* Locks and what else came about. */
static void remove_folder(const char *path)
{
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		(void)closedir(d);
	(void)rmdir(path);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char path[32];
	/* Absolute names are sysctls, and we may be root. */
	if (memmem(data, size, "\t/", 2) || memmem(data, size, "..", 2))
		return 0;
	int dir = empty_folder(path);
	int fd = dir < 0 ? -1 : openat(dir, "7-7.journal", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	(void)close(fd);
	struct journal_list all;
	if (!journal_list_all(dir, &all)) {
		volatile size_t sum = 0;
		vec_for_each (&all.items, info) {
			sum += strlen(info->title);
			vec_for_each (&info->files, f)
				sum += strlen(*f);
			vec_for_each (&info->instances, f)
				sum += strlen(*f);
		}
		(void)sum;
		journal_list_done(&all);
	}
	struct tracing t = { .path = path, .dir = dir };
	struct diag d;
	diag_init(&d);
	if (journal_undo_stale(dir, &t, "7-7", NULL, &d))
		(void)unlinkat(dir, "7-7.journal", 0);
	diag_done(&d);
	(void)!journal_forget(dir, "7-7");
	(void)close(dir);
	remove_folder(path);
	return 0;
}
