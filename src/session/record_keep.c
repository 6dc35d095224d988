/*
 * What the samples of a recording lie in is kept by build ID (image/idcache), so that the recording has its names also after a program was
 * built again. Paths come from the recorded processes: a file is opened within a time limit, and kept only if it is an ELF file with the
 * very build ID that was recorded.
 */
#include "session/recorded_ids.h"
#include "session/record.h"
#include "image/idcache.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	COPY_MAX = 64 << 20, /* bytes of one file, under our own name */
	COPIES_MAX = 256 << 20, /* and of all together */
	READ_MAX = 256 << 20, /* a larger recording is not read again to find out what was hit */
};

struct keeping {
	const char *dir;
	struct opener *opener;
	bool as_perf;
	u64 copied_bytes;
	struct record_kept *kept;
};

/* Package managers replace their files and never write to them, so a hard link stays what it is. Compilers may write to theirs. */
static bool is_installed(const char *path, const struct stat *st)
{
	static const char *const places[] = { "/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/" };
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (!strncmp(path, places[i], strlen(places[i])))
			return !st->st_uid && !(st->st_mode & 0022);
	return false;
}

static bool has_id(int fd, const struct buildid *want)
{
	struct elfimg e;
	struct buildid id;
	if (elfimg_open_fd(&e, fd))
		return false;
	bool same = !buildid_of_image(&e, &id) && buildid_equal(&id, want);
	elfimg_close(&e);
	return same;
}

static bool may_copy(const struct keeping *k, const struct stat *st)
{
	return k->as_perf ||
	       (st->st_size <= COPY_MAX && k->copied_bytes + (u64)st->st_size <= COPIES_MAX);
}

static bool is_others(const struct stat *st)
{
	return st->st_uid && st->st_uid != geteuid();
}

/* Files of others may lie where nobody else can read: copies are for us alone. */
static mode_t copy_mode(const struct stat *st)
{
	return is_others(st) ? 0600 : st->st_mode & 0755;
}

static void keep_file(struct keeping *k, const char *path, const struct buildid *id)
{
	struct stat st;
	_cleanup_close_ int fd = opener_open_path(k->opener, path, 0);
	if (fd < 0 || fstat(fd, &st) || !has_id(fd, id))
		return;
	struct idcache_file f = { .from = fd,
				  .link = is_installed(path, &st),
				  .mode = copy_mode(&st),
				  .path_only = is_others(&st) };
	if (!f.link && !may_copy(k, &st)) {
		k->kept->nr_large++;
		return;
	}
	int err = idcache_add_fd(k->dir, &f, path, id, "elf");
	k->copied_bytes += !err && !f.link ? (u64)st.st_size : 0;
	k->kept->nr_files += !err;
	if (err && err != -EEXIST)
		k->kept->err = err;
}

/* Whether its addresses are there to read: else all are 0. */
static bool kallsyms_has_addresses(int fd)
{
	char line[32];
	ssize_t n = pread(fd, line, sizeof(line), 0);
	return n == sizeof(line) && strspn(line, "0") < 16;
}

static void keep_kallsyms(struct keeping *k, const struct record_session *s,
			  const struct buildid *id)
{
	_cleanup_close_ int fd =
		openat(s->root.dir_fd, "proc/kallsyms", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || !kallsyms_has_addresses(fd))
		return;
	struct idcache_file f = { .from = fd, .mode = 0600 };
	int err = idcache_add_fd(k->dir, &f, "[kernel.kallsyms]", id, "kallsyms");
	k->kept->nr_files += !err;
}

struct keep_ctx {
	struct keeping *k;
	const struct record_session *s;
};

static int keep_one(void *ctx, const struct recorded_id *r)
{
	struct keep_ctx *c = ctx;
	struct buildid id = buildid_make(r->id, r->size);
	if (!id.size || idcache_has(c->k->dir, r->path, &id))
		return 0;
	if (!strcmp(r->path, "[kernel.kallsyms]"))
		keep_kallsyms(c->k, c->s, &id);
	else if (r->path[0] == '/' && r->path[1] != '/')
		keep_file(c->k, r->path, &id);
	return 0;
}

static enum recorded_which which_images(const struct record_session *s, u64 file_bytes)
{
	if (s->o->all_build_ids || (!s->as_perf && file_bytes > READ_MAX))
		return RECORDED_ALL;
	return s->as_perf ? RECORDED_HIT : RECORDED_CHAINS;
}

void record_keep_images(struct record_session *s, u64 file_bytes, struct record_kept *ret)
{
	struct source *src;
	*ret = (struct record_kept){ 0 };
	ret->dir = recorded_cache_dir(ret->buf, sizeof(ret->buf));
	bool wanted = !s->o->no_build_ids && !s->o->no_build_id_cache && !s->pipe && !s->sw.on &&
		      !s->o->result;
	struct opener *opener = ret->dir && wanted ? opener_new(NULL) : NULL;
	if (!opener)
		return;
	struct keeping k = { .dir = ret->dir, .opener = opener, .as_perf = s->as_perf, .kept = ret };
	struct keep_ctx c = { .k = &k, .s = s };
	if (!replay_perf_open(s->output, &src, NULL)) {
		(void)!recorded_ids(src, which_images(s, file_bytes), keep_one, &c, NULL);
		src->ops->close(src);
	}
	opener_free(opener);
}
