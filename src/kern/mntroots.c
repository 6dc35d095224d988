#include "kern/mntroots.h"
#include "base/foreign.h"
#include "base/str.h"
#include "kern/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PLACES_MAX = 256 };

/* Where a process lives: its mount namespace, and its root in there. */
struct mntroots_place {
	dev_t ns_dev, root_dev;
	ino_t ns, root;
};

int mntroots_init(struct mntroots *m, const char *path)
{
	*m = (struct mntroots){ 0 };
	int err = sysroot_open(&m->root, path);
	if (!err)
		pthread_mutex_init(&m->lock, NULL);
	return err;
}

void mntroots_done(struct mntroots *m)
{
	vec_free(&m->pids.list);
	pthread_mutex_destroy(&m->lock);
	sysroot_close(&m->root);
}

/* who: "self", or a number. */
static int place_of(const struct mntroots *m, const char *who, struct mntroots_place *ret)
{
	char path[64];
	struct stat ns;
	struct statx root;
	(void)!str_path(path, sizeof(path), "proc/%s/ns/mnt", who);
	if (fstatat(m->root.dir_fd, path, &ns, 0))
		return -errno;
	(void)!str_path(path, sizeof(path), "proc/%s/root/", who);
	/* As the kernel knows it, without asking a filesystem that may not answer. */
	if (statx(m->root.dir_fd, path, AT_STATX_DONT_SYNC, STATX_INO, &root))
		return -errno;
	*ret = (struct mntroots_place){ .ns_dev = ns.st_dev,
					.ns = ns.st_ino,
					.root_dev = makedev(root.stx_dev_major, root.stx_dev_minor),
					.root = root.stx_ino };
	return 0;
}

static bool same(const struct mntroots_place *a, const struct mntroots_place *b)
{
	return a->ns_dev == b->ns_dev && a->ns == b->ns && a->root_dev == b->root_dev &&
	       a->root == b->root;
}

static int place_of_pid(const struct mntroots *m, s32 pid, struct mntroots_place *ret)
{
	char who[16];
	(void)snprintf(who, sizeof(who), "%d", pid);
	return place_of(m, who, ret);
}

static int list_places(struct mntroots *m)
{
	struct procfs proc;
	struct mntroots_place places[PLACES_MAX];
	unsigned nr = 1;
	s32 *pids;
	size_t nr_pids = 0;
	procfs_init(&proc, &m->root);
	int err = place_of(m, "self", &places[0]);
	if (!err)
		err = procfs_pids(&proc, &pids, &nr_pids);
	for (size_t i = 0; !err && i < nr_pids && nr < PLACES_MAX; i++) {
		unsigned known = 0;
		if (place_of_pid(m, pids[i], &places[nr]))
			continue; /* gone, or not ours to see */
		while (!same(&places[known], &places[nr]))
			known++;
		s32 *kept = known < nr ? NULL : vec_push(&m->pids.list);
		if (kept) {
			*kept = pids[i];
			nr++;
		}
	}
	procfs_done(&proc);
	return err;
}

static s32 other_pid(struct mntroots *m, unsigned n)
{
	pthread_mutex_lock(&m->lock);
	if (!m->listed)
		(void)!list_places(m);
	m->listed = true;
	s32 pid = n < m->pids.list.nr ? m->pids.list.at[n] : 0;
	pthread_mutex_unlock(&m->lock);
	return pid;
}

static int open_below(const struct mntroots *m, s32 pid, const char *path, unsigned flags,
		      struct opener *via)
{
	char root[32];
	struct opener_result got;
	(void)snprintf(root, sizeof(root), "proc/%d/root", pid);
	if (via) {
		struct opener_job job = { .dir = m->root.dir_fd,
					  .root = root,
					  .path = path,
					  .want_fd = true,
					  .flags = flags };
		return opener_open(via, &job, &got) ? -ENOENT : got.fd;
	}
	_cleanup_close_ int dir = openat(m->root.dir_fd, root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -ENOENT;
	int fd = foreign_open_in_root(dir, path, flags);
	return fd < 0 ? -ENOENT : fd;
}

static int is_path(void *ctx, const struct proc_map *map)
{
	return !strcmp(map->path, ctx);
}

static bool still_maps(const struct mntroots *m, s32 pid, const char *path)
{
	struct procfs proc;
	procfs_init(&proc, &m->root);
	int found = procfs_maps(&proc, pid, is_path, (void *)(uintptr_t)path);
	procfs_done(&proc);
	return found > 0;
}

int mntroots_open(struct mntroots *m, s32 pid, const char *path, unsigned n, bool maps,
		  struct opener *via)
{
	struct mntroots_place own, its;
	if (n) {
		pid = maps ? 0 : other_pid(m, n - 1);
		return pid ? open_below(m, pid, path, 0, via) : -ERANGE;
	}
	if (pid <= 0 || place_of(m, "self", &own) || place_of_pid(m, pid, &its) || same(&own, &its))
		return -ENOENT;
	return maps && !still_maps(m, pid, path) ? -ENOENT : open_below(m, pid, path, 0, via);
}

int mntroots_open_map(const struct mntroots *m, s32 pid, struct opener *via)
{
	struct mntroots_place own, its;
	struct procfs proc;
	char path[48];
	s32 inner;
	procfs_init(&proc, &m->root);
	int err = pid > 0 ? procfs_nspid(&proc, pid, &inner) : -ENOENT;
	procfs_done(&proc);
	if (err || place_of(m, "self", &own) || place_of_pid(m, pid, &its) ||
	    (same(&own, &its) && inner == pid))
		return -ENOENT;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", inner);
	return open_below(m, pid, path, FOREIGN_OWNED, via);
}
