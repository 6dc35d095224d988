#include "image/idcache.h"
#include "base/foreign.h"

#include "base/atomic_file.h"
#include "base/str.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* What an entry may hold. */
static const char *const parts[] = { "elf",   "vdso",	"kallsyms", "kcore",
				     "debug", "probes", "modules",  NULL };

static bool fits(int n)
{
	return n > 0 && n < IDCACHE_PATH;
}

static bool goes_up(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2)
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	return false;
}

bool idcache_folder(const char *path, const struct buildid *id, char to[IDCACHE_PATH])
{
	char hex[BUILDID_TEXT];
	if (buildid_text(id, hex) < 4 || !path[0] || goes_up(path))
		return false;
	return fits(snprintf(to, IDCACHE_PATH, "%s/%s", path + (path[0] == '/'), hex));
}

bool idcache_link(const struct buildid *id, char to[IDCACHE_PATH])
{
	char hex[BUILDID_TEXT];
	return buildid_text(id, hex) >= 4 &&
	       fits(snprintf(to, IDCACHE_PATH, ".build-id/%.2s/%s", hex, hex + 2));
}

bool idcache_target(const char *path, const struct buildid *id, char to[IDCACHE_PATH])
{
	char folder[IDCACHE_PATH];
	return idcache_folder(path, id, folder) &&
	       fits(snprintf(to, IDCACHE_PATH, "../../%s", folder));
}

static bool below(const char *dir, const char *path, char to[IDCACHE_PATH])
{
	return fits(snprintf(to, IDCACHE_PATH, "%s/%s", dir, path));
}

bool idcache_has(const char *dir, const char *path, const struct buildid *id)
{
	char entry[IDCACHE_PATH], full[IDCACHE_PATH], file[IDCACHE_PATH];
	if (!(path ? idcache_folder(path, id, entry) : idcache_link(id, entry)) ||
	    !below(dir, entry, full))
		return false;
	for (int i = 0; i < 3; i++)
		if (below(full, parts[i], file) && !access(file, F_OK))
			return true;
	return false;
}

/* A name in a folder that is made if it is missing. Links that somebody else may have put on the way are not followed. */
static int open_place(struct outplace *p, const char *path)
{
	return outplace_open(p, path, OUTPLACE_NO_FOLLOW | OUTPLACE_MAKE_FOLDERS, NULL);
}

static int copy_bytes(int from, int to)
{
	for (;;) {
		ssize_t n = sendfile(to, from, NULL, 1 << 24);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
	}
}

/* Files of /proc tell no size and are not for sendfile() everywhere. */
static int copy_text(int from, int to)
{
	char buf[1 << 16];
	ssize_t n;
	while ((n = read(from, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (ssize_t done = 0; done < n;) {
			ssize_t w = write(to, buf + done, (size_t)(n - done));
			if (w < 0 && errno != EINTR)
				return -errno;
			done += max(w, (ssize_t)0);
		}
	}
	return 0;
}

/* Whole or not at all. */
static int copy_file(const struct idcache_file *f, const struct outplace *to)
{
	struct stat st;
	struct atomic_file k;
	if (fstat(f->from, &st))
		return -errno;
	int err = atomic_file_begin_at(&k, to, 0600);
	if (err)
		return err;
	if (st.st_size && ioctl(k.fd, FICLONE, f->from)) {
		(void)lseek(f->from, 0, SEEK_SET);
		err = copy_bytes(f->from, k.fd);
	} else if (!st.st_size) {
		err = copy_text(f->from, k.fd);
	}
	if (!err && fchmod(k.fd, f->mode))
		err = -errno;
	return atomic_file_end(&k, err);
}

/* The very file that is open, whatever its path leads to by now. */
static bool link_file(const struct idcache_file *f, const struct outplace *p)
{
	char self[64];
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", f->from);
	return f->link && !linkat(AT_FDCWD, self, p->dir, p->name, AT_SYMLINK_FOLLOW);
}

static int place(const struct idcache_file *f, const char *to)
{
	struct outplace p;
	int err = open_place(&p, to);
	if (err)
		return err;
	if (p.kind == OUTPLACE_FILE)
		err = -EEXIST;
	else if (!link_file(f, &p))
		err = copy_file(f, &p);
	outplace_close(&p);
	return err;
}

/* replace: what is there is a link whose folder is gone, or of the same program under another name before. The newest counts. */
static int place_link(const char *target, const char *path, bool replace)
{
	struct outplace p;
	int err = open_place(&p, path);
	if (err)
		return err;
	if (symlinkat(target, p.dir, p.name))
		err = errno != EEXIST ? -errno
		      : replace && (unlinkat(p.dir, p.name, 0) || symlinkat(target, p.dir, p.name))
			      ? -errno
			      : 0;
	outplace_close(&p);
	return err;
}

int idcache_add_fd(const char *dir, const struct idcache_file *f, const char *path,
		   const struct buildid *id, const char *what)
{
	char folder[IDCACHE_PATH], link[IDCACHE_PATH], target[IDCACHE_PATH], full[IDCACHE_PATH],
		file[IDCACHE_PATH];
	if (!idcache_folder(path, id, folder) || !idcache_link(id, link) ||
	    !idcache_target(path, id, target) || !below(dir, folder, full) ||
	    !below(full, what, file))
		return -EINVAL;
	int placed = place(f, file);
	if (placed && placed != -EEXIST)
		return placed;
	if (f->path_only)
		return placed;
	if (!below(dir, link, full))
		return -ENAMETOOLONG;
	int err = place_link(target, full, placed != -EEXIST);
	return err ? err : placed;
}

int idcache_add(const char *dir, const char *from, const char *path, const struct buildid *id,
		const char *what)
{
	struct stat st;
	_cleanup_close_ int fd = foreign_open(from, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	struct idcache_file f = { .from = fd,
				  .link = st.st_size != 0, /* not of /proc */
				  .mode = st.st_mode & 0755 };
	return idcache_add_fd(dir, &f, path, id, what);
}

static int remove_folder(const char *folder)
{
	struct outplace p;
	int err = outplace_open(&p, folder, OUTPLACE_NO_FOLLOW, NULL);
	if (err)
		return err;
	_cleanup_close_ int fd =
		openat(p.dir, p.name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (const char *const *part = parts; fd >= 0 && *part; part++)
		(void)unlinkat(fd, *part, 0);
	err = fd < 0 || unlinkat(p.dir, p.name, AT_REMOVEDIR) ? -errno : 0;
	outplace_close(&p);
	return err;
}

/* Where the link of an entry leads, below DIR: "usr/bin/ls/15df..."; false: it is none of perf's. */
static bool read_link(const char *link, const char *hex, char to[IDCACHE_PATH])
{
	char target[IDCACHE_PATH];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	if (n <= 6)
		return false;
	target[n] = '\0';
	size_t len = strlen(hex);
	if (strncmp(target, "../../", 6) || goes_up(target + 6) || (size_t)n < 6 + len + 2 ||
	    strcmp(target + n - len, hex) || target[n - (ssize_t)len - 1] != '/')
		return false;
	memcpy(to, target + 6, (size_t)n - 6 + 1);
	return true;
}

int idcache_remove(const char *dir, const struct buildid *id)
{
	char link[IDCACHE_PATH], full[IDCACHE_PATH], folder[IDCACHE_PATH], where[IDCACHE_PATH];
	char hex[BUILDID_TEXT];
	struct stat st;
	(void)buildid_text(id, hex);
	if (!idcache_link(id, link) || !below(dir, link, full) || lstat(full, &st))
		return -ENOENT;
	if (!read_link(full, hex, folder) || !below(dir, folder, where))
		return -EINVAL;
	int err = remove_folder(where);
	if (err && err != -ENOENT)
		return err;
	return outplace_remove(full, false);
}

struct hexes {
	VEC(char *) list;
};

static bool is_hex(const char *s)
{
	return s[0] && s[strspn(s, "0123456789abcdef")] == '\0';
}

/* DIR/.build-id/XX: its entries. Also of a kernel's copies, whose names are digits. */
static int list_folder(const char *path, const char *first, struct hexes *to)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int err = 0;
	while (d && !err && (e = readdir(d))) {
		char hex[BUILDID_TEXT];
		if (!is_hex(e->d_name) ||
		    (size_t)snprintf(hex, sizeof(hex), "%s%s", first, e->d_name) >= sizeof(hex))
			continue;
		char **slot = vec_push(&to->list);
		char *copy = slot ? strdup(hex) : NULL;
		if (!copy)
			err = -ENOMEM;
		if (slot)
			*slot = copy;
	}
	if (d)
		closedir(d);
	return err;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_all(const char *dir, struct hexes *to)
{
	char path[IDCACHE_PATH], inner[IDCACHE_PATH];
	if (!below(dir, ".build-id", path))
		return -ENAMETOOLONG;
	DIR *d = opendir(path);
	struct dirent *e;
	int err = d ? 0 : -errno;
	while (d && !err && (e = readdir(d)))
		if (strlen(e->d_name) == 2 && is_hex(e->d_name) && below(path, e->d_name, inner))
			err = list_folder(inner, e->d_name, to);
	if (d)
		closedir(d);
	return err;
}

int idcache_each_kcore(const char *dir, const struct buildid *id,
		       int (*fn)(void *ctx, const char *folder), void *ctx)
{
	char entry[IDCACHE_PATH], path[IDCACHE_PATH], folder[IDCACHE_PATH];
	struct hexes all = { 0 };
	if (!idcache_folder("[kernel.kcore]", id, entry) || !below(dir, entry, path))
		return -ENOENT;
	int err = list_folder(path, "", &all);
	if (!err && all.list.nr)
		qsort(all.list.at, all.list.nr, sizeof(*all.list.at), by_text);
	for (size_t i = all.list.nr; i-- && !err;)
		if (below(path, all.list.at[i], folder))
			err = fn(ctx, folder);
	vec_for_each (&all.list, name)
		free(*name);
	vec_free(&all.list);
	return err;
}

int idcache_each(const char *dir, int (*fn)(void *, const char *, const char *), void *ctx)
{
	struct hexes all = { 0 };
	int err = list_all(dir, &all);
	if (!err && all.list.nr)
		qsort(all.list.at, all.list.nr, sizeof(*all.list.at), by_text);
	for (size_t i = 0; i < all.list.nr && !err; i++) {
		char link[IDCACHE_PATH], folder[IDCACHE_PATH], path[IDCACHE_PATH];
		const char *hex = all.list.at[i];
		if (!fits(snprintf(link, sizeof(link), "%s/.build-id/%.2s/%s", dir, hex, hex + 2)) ||
		    !read_link(link, hex, folder))
			continue;
		folder[strlen(folder) - strlen(hex) - 1] = '\0';
		if (fits(snprintf(path, sizeof(path), "%s%s", folder[0] == '[' ? "" : "/", folder)))
			err = fn(ctx, path, hex);
	}
	vec_for_each (&all.list, hex)
		free(*hex);
	vec_free(&all.list);
	return err;
}
