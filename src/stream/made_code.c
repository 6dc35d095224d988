#include "stream/made_code.h"
#include "base/dict.h"
#include "base/foreign.h"
#include "base/vec.h"
#include "file/perfdata_made.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 32 << 20, ALL_MAX_BYTES = 128 << 20, FILES_MAX = 2048 };

struct maker {
	u32 pid;
	s64 uid; /* of the process when it was first seen; -1: it was gone too soon */
	char *dump; /* path of its jit-PID.dump; NULL: none */
};

struct made_code {
	pthread_mutex_t lock;
	struct dict maker_of; /* pid -> maker */
	VEC(struct maker) makers;
};

struct made_code *made_code_new(void)
{
	struct made_code *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	pthread_mutex_init(&m->lock, NULL);
	dict_init(&m->maker_of);
	return m;
}

void made_code_free(struct made_code *m)
{
	if (!m)
		return;
	vec_for_each (&m->makers, k)
		free(k->dump);
	vec_free(&m->makers);
	dict_done(&m->maker_of);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static bool is_made(const char *name)
{
	static const char *const starts[] = { "//anon", "/memfd:", "[anon", "/dev/zero",
					      "/anon_hugepage" };
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* ".../jit-17.dump" */
static bool is_dump(const char *name)
{
	const char *slash = strrchr(name, '/');
	if (!slash || strncmp(slash, "/jit-", 5))
		return false;
	size_t digits = strspn(slash + 5, "0123456789");
	return digits && !strcmp(slash + 5 + digits, ".dump");
}

static struct maker *maker_of(struct made_code *m, u32 pid)
{
	u32 at, fresh = (u32)m->makers.nr;
	if (!vec_reserve(&m->makers, m->makers.nr + 1) || dict_add(&m->maker_of, pid, fresh, &at))
		return NULL;
	if (at != fresh)
		return &m->makers.at[at];
	char path[32];
	struct stat st;
	struct maker *k = &m->makers.at[m->makers.nr++];
	(void)snprintf(path, sizeof(path), "/proc/%u", pid);
	bool there = !stat(path, &st);
	*k = (struct maker){ .pid = pid, .uid = there ? (s64)st.st_uid : -1 };
	return k;
}

int made_code_note(struct made_code *m, u32 pid, const char *name)
{
	bool dump = is_dump(name);
	if (!dump && !is_made(name))
		return 0;
	pthread_mutex_lock(&m->lock);
	struct maker *k = maker_of(m, pid);
	if (k && dump && !k->dump)
		k->dump = strdup(name);
	pthread_mutex_unlock(&m->lock);
	return k ? 0 : -ENOMEM;
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

/* A map may be root's, written for the process. A dump lies where the process says, so it has to be of its own user (gone too soon: ours). */
static bool is_makers(const struct maker *k, enum perfdata_made_kind kind, int fd)
{
	struct stat st;
	if (kind == PERFDATA_MADE_MAP)
		return !foreign_check_writer(fd, k->uid);
	return !fstat(fd, &st) && st.st_uid == (k->uid >= 0 ? (uid_t)k->uid : geteuid());
}

/* The first bytes, whole lines where it is text; NULL: not to be had. */
static char *read_some(int fd, bool text, size_t max, size_t *size)
{
	struct stat st;
	if (fstat(fd, &st) || st.st_size <= 0)
		return NULL;
	size_t want = min((size_t)st.st_size, max), got = 0;
	char *data = malloc(want + 1);
	while (data && got < want) {
		ssize_t n = pread(fd, data + got, want - got, (off_t)got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	const char *last = data && text && got ? memrchr(data, '\n', got) : NULL;
	if (last && got < (size_t)st.st_size)
		got = (size_t)(last - data) + 1;
	*size = got;
	return data;
}

struct writing {
	struct perfdata_writer *to;
	size_t left;
	u32 nr;
};

static void keep_file(struct writing *w, const struct maker *k, enum perfdata_made_kind kind, int fd)
{
	size_t size = 0;
	bool map = kind == PERFDATA_MADE_MAP;
	if (!is_makers(k, kind, fd) || w->nr++ >= FILES_MAX)
		return;
	_cleanup_free_ char *data = read_some(fd, map, min(w->left, (size_t)FILE_MAX_BYTES), &size);
	if (!data || !size)
		return;
	w->left -= size;
	(void)!perfdata_write_made(w->to, kind, k->pid, data, size);
}

void made_code_write(struct made_code *m, const char *dir, const struct debugfile_places *places,
		     struct opener *opener, struct perfdata_writer *to)
{
	const unsigned flags = FOREIGN_NOFOLLOW | FOREIGN_OWNED;
	struct writing w = { .to = to, .left = ALL_MAX_BYTES };
	pthread_mutex_lock(&m->lock);
	vec_for_each (&m->makers, k) {
		char path[PATH_MAX];
		int n = snprintf(path, sizeof(path), "%s/perf-%u.map", dir ? dir : "/tmp", k->pid);
		_cleanup_close_ int map = n < (int)sizeof(path)
						  ? opener_open_path(opener, path, flags)
						  : -ENAMETOOLONG;
		if (map < 0 && places)
			map = places->open_map(places->ctx, (s32)k->pid, opener);
		if (map >= 0)
			keep_file(&w, k, PERFDATA_MADE_MAP, map);
		_cleanup_close_ int dump =
			k->dump ? opener_open_path(opener, k->dump, flags) : -ENOENT;
		if (dump >= 0)
			keep_file(&w, k, PERFDATA_MADE_DUMP, dump);
	}
	pthread_mutex_unlock(&m->lock);
}
