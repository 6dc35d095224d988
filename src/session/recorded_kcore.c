#include "session/recorded_kcore.h"
#include "base/foreign.h"
#include "base/guard.h"
#include "base/str.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MAX = 256 << 20 }; /* that of a kernel with all symbols has some 10 MB */

static void release(struct sym_text *t)
{
	guard_unmap(t->data, t->len);
}

static int open_in(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int err = str_path(path, sizeof(path), "%s/%s", folder, name);
	return err ? err : foreign_open(path, FOREIGN_NOFOLLOW);
}

int kcore_folder_open(const char *folder)
{
	return open_in(folder, "kcore");
}

int kcore_folder_list(const char *folder, struct sym_text *ret)
{
	struct stat st;
	_cleanup_close_ int fd = open_in(folder, "kallsyms");
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !st.st_size || st.st_size > LIST_MAX)
		return -ENOENT;
	const void *map;
	int err = guard_map_input(fd, (size_t)st.st_size, false, NULL, folder, &map);
	if (err)
		return err;
	*ret = (struct sym_text){ .data = map,
				  .len = (size_t)st.st_size,
				  .mapped = (size_t)st.st_size,
				  .release = release };
	return 0;
}

static int folder_of(const struct source *src, char *to, size_t size)
{
	const struct perfdata *p =
		source_facts(src).kind == SOURCE_PERF ? replay_perf_file(src) : NULL;
	return p && p->folder ? str_path(to, size, "%s/kcore_dir", p->folder) : -ENOENT;
}

int recorded_kcore_list(const struct source *src, struct sym_text *ret)
{
	char folder[PATH_MAX];
	int err = folder_of(src, folder, sizeof(folder));
	return err ? err : kcore_folder_list(folder, ret);
}

int recorded_kcore_open(const struct source *src)
{
	char folder[PATH_MAX];
	int err = folder_of(src, folder, sizeof(folder));
	return err ? err : kcore_folder_open(folder);
}
