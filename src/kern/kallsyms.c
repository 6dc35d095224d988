#include "kern/kallsyms.h"
#include "base/guard.h"
#include "base/dict.h"
#include "base/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_BYTES = 64 << 10, BOOT_ID_LEN = 36 };
static const char cache_prefix[] = "sonde-kallsyms-";

/* Files of procfs do not tell their size: read until nothing comes. hint: what to expect. */
static int read_all(const char *root, const char *path, size_t hint, struct kallsyms_text *ret)
{
	char full[PATH_MAX];
	int n = snprintf(full, sizeof(full), "%s%s", root ? root : "", path);
	if (n < 0 || (size_t)n >= sizeof(full))
		return -ENAMETOOLONG;
	_cleanup_close_ int fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size_t len = 0, cap = hint;
	char *data = malloc(cap);
	for (;;) {
		if (!data)
			return -ENOMEM;
		ssize_t got = read(fd, data + len, cap - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int err = -errno;
			free(data);
			return err;
		}
		if (!got)
			break;
		len += (size_t)got;
		if (len < cap)
			continue;
		char *more = realloc(data, cap *= 2);
		if (!more)
			free(data);
		data = more;
	}
	*ret = (struct kallsyms_text){ .data = data, .len = len };
	return 0;
}

void kallsyms_text_done(struct kallsyms_text *t)
{
	if (t->mapped)
		guard_unmap(t->data, t->mapped);
	else
		free((void *)(uintptr_t)t->data);
	*t = (struct kallsyms_text){ 0 };
}

/* "<folder>/sonde-kallsyms-<boot id>-<hash of /proc/modules>": whoever finds it has the list that the kernel would print. */
static int cache_path(const char *root, const char *cache, char *to, size_t size)
{
	struct kallsyms_text boot, modules;
	int err = read_all(root, "/proc/sys/kernel/random/boot_id", 64, &boot);
	if (err)
		return err;
	u64 hash = 0;
	if (!kallsyms_read_modules(root, &modules)) {
		hash = hash_bytes(modules.data, modules.len);
		kallsyms_text_done(&modules);
	}
	err = boot.len < BOOT_ID_LEN || memchr(boot.data, '/', boot.len) ? -EINVAL : 0;
	if (!err) {
		int n = snprintf(to, size, "%s/%s%.*s-%016llx", cache, cache_prefix, BOOT_ID_LEN,
				 boot.data, (unsigned long long)hash);
		err = n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
	}
	kallsyms_text_done(&boot);
	return err;
}

static int cache_load(const char *path, struct kallsyms_text *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_size <= 0)
		return -EPERM;
	size_t len = (size_t)st.st_size;
	const void *p;
	int err = guard_map(fd, len, false, NULL, &p);
	if (err)
		return err;
	(void)madvise((void *)(uintptr_t)p, len, MADV_WILLNEED);
	*ret = (struct kallsyms_text){ .data = p, .len = len, .mapped = len };
	return 0;
}

/* Lists of other boots are of no use to anyone. */
static void cache_drop_others(const char *cache, const char *keep)
{
	DIR *d = opendir(cache);
	if (!d)
		return;
	const char *name = strrchr(keep, '/') + 1;
	for (struct dirent *e; (e = readdir(d));)
		if (!strncmp(e->d_name, cache_prefix, sizeof(cache_prefix) - 1) &&
		    strcmp(e->d_name, name) && !strchr(e->d_name, '.'))
			(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
}

/* Addresses that are all hidden are not worth keeping: root may come later with the same folder. */
static bool worth_keeping(const struct kallsyms_text *t)
{
	for (size_t i = 0; i < min(t->len, (size_t)4096); i++)
		if (strchr("123456789abcdef", t->data[i]))
			return true;
		else if (t->data[i] == ' ')
			i += strcspn(t->data + i, "\n");
	return false;
}

static void cache_store(const char *cache, const char *path, const struct kallsyms_text *t)
{
	if (!atomic_file_save(path, t->data, t->len, false))
		cache_drop_others(cache, path);
}

int kallsyms_read(const char *root, const char *cache, struct kallsyms_text *ret)
{
	char path[PATH_MAX];
	bool cached = cache && !cache_path(root, cache, path, sizeof(path));
	if (cached && !cache_load(path, ret))
		return 0;
	int err = read_all(root, "/proc/kallsyms", 8 << 20, ret);
	if (!err && cached && worth_keeping(ret))
		cache_store(cache, path, ret);
	return err;
}

int kallsyms_read_modules(const char *root, struct kallsyms_text *ret)
{
	return read_all(root, "/proc/modules", FIRST_BYTES, ret);
}

int kallsyms_read_notes(const char *root, struct kallsyms_text *ret)
{
	return read_all(root, "/sys/kernel/notes", 4096, ret);
}
