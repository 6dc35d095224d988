#include "kern/cgroup.h"

#include "base/glob.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 64 };

/* Whether a comma-separated list has the word. */
static bool list_has(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);
	for (const char *end = list + len; list < end;) {
		size_t part = strcspn(list, ",");
		part = min(part, (size_t)(end - list));
		if (part == n && !memcmp(list, word, n))
			return true;
		list += part + 1;
	}
	return false;
}

/* "device dir type options 0 0": 2 for v1's perf_event hierarchy, 1 for v2, 0 for anything else. */
static int rank_mount(const char *line, size_t len, const char **dir, size_t *dir_len)
{
	const char *field[4];
	size_t field_len[4], nr = 0;
	for (const char *p = line, *end = line + len; nr < 4 && p < end; nr++) {
		const char *blank = memchr(p, ' ', (size_t)(end - p));
		field[nr] = p;
		field_len[nr] = (size_t)((blank ? blank : end) - p);
		p = blank ? blank + 1 : end;
	}
	if (nr < 4)
		return 0;
	*dir = field[1];
	*dir_len = field_len[1];
	if (field_len[2] == 7 && !memcmp(field[2], "cgroup2", 7))
		return 1;
	bool v1 = field_len[2] == 6 && !memcmp(field[2], "cgroup", 6);
	return v1 && list_has(field[3], field_len[3], "perf_event") ? 2 : 0;
}

/* The mount of the highest rank that is not above `most`. */
static int find_root(const struct sysroot *r, int most, struct strbuf *to, struct diag *d)
{
	struct strbuf mounts;
	int best = 0;
	strbuf_init(&mounts);
	int err = sysroot_read(r, "proc/self/mounts", &mounts);
	for (size_t at = 0; !err && at < mounts.len;) {
		const char *line = mounts.data + at, *dir;
		const char *end = memchr(line, '\n', mounts.len - at);
		size_t len = end ? (size_t)(end - line) : mounts.len - at, dir_len;
		int rank = rank_mount(line, len, &dir, &dir_len);
		if (rank > best && rank <= most && dir_len > 1) {
			best = rank;
			strbuf_reset(to);
			strbuf_add(to, dir + 1, dir_len - 1);
		}
		at += len + 1;
	}
	strbuf_done(&mounts);
	if (best)
		return to->err;
	diag_error(d, -ENOENT, "no cgroup file system that supports events is mounted");
	diag_hint(d, "mount -t cgroup2 none /sys/fs/cgroup");
	return -ENOENT;
}

int cgroup_root(const struct sysroot *r, struct strbuf *to, struct diag *d)
{
	return find_root(r, 2, to, d);
}

int cgroup_open(const struct sysroot *r, const char *name, struct diag *d)
{
	struct strbuf path;
	strbuf_init(&path);
	int fd = cgroup_root(r, &path, d);
	if (!fd) {
		while (*name == '/')
			name++;
		strbuf_printf(&path, "%s%s", *name ? "/" : "", name);
		fd = sysroot_fd(r, strbuf_cstr(&path));
		if (fd < 0) {
			diag_error(d, fd, "cgroup '%s': /%s: %s", name, strbuf_cstr(&path),
				   strerror(-fd));
			diag_hint(d,
				  "names are paths below the mount point: `systemd-cgls` or `ls` "
				  "shows them");
		}
	}
	strbuf_done(&path);
	return fd;
}

static int add_name(struct cgroup_names *to, const char *name)
{
	char **slot = vec_push(&to->list);
	if (!slot)
		return -ENOMEM;
	*slot = strdup(name);
	if (*slot)
		return 0;
	to->list.nr--;
	return -ENOMEM;
}

/* glob NULL: all. */
static int walk(const struct sysroot *r, struct strbuf *path, size_t root_len, unsigned depth,
		const char *glob, struct cgroup_names *to)
{
	const char *name = path->len > root_len ? strbuf_cstr(path) + root_len + 1 : "";
	int err = *name && (!glob || glob_match(glob, name)) ? add_name(to, name) : 0;
	DIR *dir = err || depth >= DEPTH_MAX ? NULL : sysroot_dir(r, strbuf_cstr(path));
	if (!dir)
		return err;
	for (struct dirent *e; !err && (e = readdir(dir));) {
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		size_t len = path->len;
		strbuf_printf(path, "/%s", e->d_name);
		err = path->err ? path->err : walk(r, path, root_len, depth + 1, glob, to);
		path->len = len;
	}
	closedir(dir);
	return err;
}

int cgroup_match(const struct sysroot *r, const char *glob, struct cgroup_names *to, struct diag *d)
{
	struct strbuf path;
	strbuf_init(&path);
	int err = cgroup_root(r, &path, d);
	size_t before = to->list.nr;
	if (!err)
		err = walk(r, &path, path.len, 0, glob, to);
	strbuf_done(&path);
	if (!err && to->list.nr == before) {
		diag_error(d, -ENOENT, "no cgroup matches '%s'", glob);
		err = -ENOENT;
	}
	return err;
}

void cgroup_names_done(struct cgroup_names *n)
{
	vec_for_each (&n->list, name)
		free(*name);
	vec_free(&n->list);
}

/* The number is what a handle to the folder consists of. */
static int read_id(int fd, u64 *ret)
{
	union {
		struct file_handle h;
		u8 room[sizeof(struct file_handle) + sizeof(u64)];
	} u = { .h = { .handle_bytes = sizeof(u64) } };
	int mount_id;
	if (name_to_handle_at(fd, "", &u.h, &mount_id, AT_EMPTY_PATH))
		return -errno;
	memcpy(ret, u.room + sizeof(u.h), sizeof(*ret));
	return u.h.handle_bytes == sizeof(*ret) ? 0 : -ENOTSUP;
}

static int tell_group(const struct sysroot *r, const char *folder, const char *path,
		      int (*fn)(void *ctx, u64 id, const char *path), void *ctx)
{
	u64 id = 0;
	_cleanup_close_ int fd = sysroot_fd(r, folder);
	if (fd < 0 || read_id(fd, &id))
		return 0; /* gone meanwhile */
	return fn(ctx, id, path);
}

int cgroup_each(const struct sysroot *r, int (*fn)(void *ctx, u64 id, const char *path), void *ctx)
{
	struct strbuf path;
	struct cgroup_names all = { 0 };
	strbuf_init(&path);
	int err = cgroup_root(r, &path, NULL);
	size_t root_len = path.len;
	if (!err)
		err = walk(r, &path, root_len, 0, NULL, &all);
	if (!err)
		err = tell_group(r, strbuf_cstr(&path), "/", fn, ctx);
	for (size_t i = 0; i < all.list.nr && !err; i++) {
		strbuf_printf(&path, "/%s", all.list.at[i]);
		err = path.err ? path.err
			       : tell_group(r, strbuf_cstr(&path), strbuf_cstr(&path) + root_len,
					    fn, ctx);
		path.len = root_len;
	}
	cgroup_names_done(&all);
	strbuf_done(&path);
	return err;
}

/* "system.slice/x" of "/sys/fs/cgroup/system.slice/x", "/system.slice/x" or "system.slice/x". */
static const char *below_root(const char *name, const char *root)
{
	size_t len = strlen(root);
	const char *below = name + (name[0] == '/');
	if (name[0] == '/' && !strncmp(below, root, len) && (!below[len] || below[len] == '/'))
		below += len;
	return below + strspn(below, "/");
}

static u32 count_parts(const char *path)
{
	u32 nr = 0;
	while (*path) {
		path += strcspn(path, "/");
		path += strspn(path, "/");
		nr++;
	}
	return nr;
}

int cgroup_find_v2(const struct sysroot *r, const char *name, struct cgroup_place *ret,
		   struct diag *d)
{
	struct {
		struct file_handle head;
		u8 bytes[MAX_HANDLE_SZ];
	} h = { .head.handle_bytes = MAX_HANDLE_SZ };
	struct strbuf path;
	strbuf_init(&path);
	int mount, rc = find_root(r, 1, &path, d);
	if (rc) {
		strbuf_done(&path);
		return rc;
	}
	const char *below = below_root(name, strbuf_cstr(&path));
	strbuf_printf(&path, "%s%s", *below ? "/" : "", below);
	/* The kernel's number for a group is the handle of its directory. */
	if (strstr(below, ".."))
		rc = -EINVAL;
	else if (name_to_handle_at(r->dir_fd, strbuf_cstr(&path), &h.head, &mount, 0))
		rc = -errno;
	else if (h.head.handle_bytes < sizeof(ret->id))
		rc = -ENOTSUP;
	if (rc) {
		diag_error(d, rc, "cgroup '%s': /%s: %s", name, strbuf_cstr(&path), strerror(-rc));
	} else {
		ret->level = count_parts(below);
		memcpy(&ret->id, h.bytes, sizeof(ret->id));
	}
	strbuf_done(&path);
	return rc;
}
