/*
 * The recorder's watchdog: when we are killed, it completes the file. It learns which file that is through a page that both
 * share; the file itself it opens only then, and only if it is still the one that we wrote.
 */
#include "session/record.h"

#include "file/perfdata_repair.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct watch_page {
	u64 dev, ino;
	char path[2 * PATH_MAX]; /* absolute; empty: there is nothing to complete */
};

static void complete_file(void *ctx)
{
	const struct watch_page *page = ctx;
	struct stat st;
	struct perfdata_repaired done;
	int fd = page->path[0] ? open(page->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0 || fstat(fd, &st) || st.st_dev != page->dev || st.st_ino != page->ino)
		return;
	(void)!perfdata_repair(fd, page->path, &(struct perfdata_repair_opts){ 0 }, &done, NULL);
}

int record_watch_start(struct record_session *s)
{
	if (s->pipe)
		return 0;
	void *page = mmap(NULL, sizeof(struct watch_page), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	s->watch.page = page;
	return watchdog_start(&s->watch.dog, complete_file, page, NULL, 0);
}

void record_watch_file(struct record_session *s)
{
	struct watch_page *page = s->watch.page;
	struct stat st;
	char cwd[PATH_MAX] = "";
	if (!page)
		return;
	page->path[0] = '\0';
	if (fstat(recorder_file_fd(s->rec), &st) || !S_ISREG(st.st_mode) ||
	    (s->output[0] != '/' && !getcwd(cwd, sizeof(cwd))))
		return;
	page->dev = st.st_dev;
	page->ino = st.st_ino;
	char path[sizeof(page->path)];
	if (snprintf(path, sizeof(path), "%s%s%s", cwd, cwd[0] ? "/" : "", s->output) <
	    (int)sizeof(path))
		memcpy(page->path, path, sizeof(path));
}

void record_watch_end(struct record_session *s)
{
	watchdog_end(&s->watch.dog);
	if (s->watch.page)
		(void)munmap(s->watch.page, sizeof(struct watch_page));
	s->watch.page = NULL;
}
