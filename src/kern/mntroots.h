/*
 * Files as processes elsewhere see them: in a container, or below a chroot, a path leads to another file than here. They are reached
 * through /proc/PID/root while somebody lives there. Links in a path stay below that root.
 */
#pragma once

#include "base/opener.h"
#include "base/vec.h"
#include "kern/sysroot.h"

#include <pthread.h>

struct mntroots {
	struct sysroot root;
	pthread_mutex_t lock;
	bool listed;
	struct {
		VEC(s32) list; /* a process of each place that is not ours */
	} pids;
};

/* path: of the root under which proc is; NULL: "/". 0 or negative errno. */
int mntroots_init(struct mntroots *m, const char *path) must_check;
void mntroots_done(struct mntroots *m);

/*
 * Opens what `path` is at the n-th place: 0 is that of the process `pid`, then all others, one after the other. maps: only if that
 * process still maps it. via: who opens it, within a time limit; NULL: the caller. A descriptor, -ENOENT: not there (or that place is ours), -ERANGE: no more places. Any thread may ask.
 */
int mntroots_open(struct mntroots *m, s32 pid, const char *path, unsigned n, bool maps,
		  struct opener *via) must_check;
/* /tmp/perf-PID.map of a process elsewhere, by the number that it has there. A descriptor or -ENOENT. */
int mntroots_open_map(const struct mntroots *m, s32 pid, struct opener *via) must_check;
