#include "image/debugfile.h"
#include "image/idcache.h"
#include "image/xz.h"
#include "base/bytes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { MINI_MAX = 256 << 20 };

static const char *const default_dirs[] = { "/usr/lib/debug", NULL };

static const char *root_of(const struct debugfile_where *w)
{
	return w->root ? w->root : "";
}

static bool fits(int n, size_t size)
{
	return n > 0 && (size_t)n < size;
}

bool debugfile_path(const struct debugfile_where *w, const char *path, char *to, size_t size)
{
	return fits(snprintf(to, size, "%s%s", root_of(w), path), size);
}

int debugfile_open_elf(const struct debugfile_where *w, const char *path, struct elfimg *ret)
{
	return elfimg_open(ret, path, w->opener);
}

static bool same_bytes(const struct elfimg *a, const struct elfimg *b)
{
	return a->size == b->size && !memcmp(a->data, b->data, min(a->size, (size_t)4096));
}

/* Opens a candidate and keeps it only if its build id is the wanted one. */
static int open_by_id(const struct debugfile_where *w, const char *path, const struct buildid *id,
		      struct elfimg *ret)
{
	struct elfimg dbg;
	struct buildid got;
	int err = debugfile_open_elf(w, path, &dbg);
	if (err)
		return err;
	if (buildid_of_image(&dbg, &got) || !buildid_equal(&got, id)) {
		elfimg_close(&dbg);
		return -ENOENT;
	}
	*ret = dbg;
	return 0;
}

int debugfile_open_id(const struct debugfile_where *w, const struct buildid *id, struct elfimg *ret)
{
	char hex[BUILDID_TEXT], path[PATH_MAX];
	if (buildid_text(id, hex) < 4)
		return -ENOENT;
	for (const char *const *dir = w->dirs ? w->dirs : default_dirs; *dir; dir++) {
		int n = snprintf(path, sizeof(path), "%s%s/.build-id/%.2s/%s.debug", root_of(w),
				 *dir, hex, hex + 2);
		if (fits(n, sizeof(path)) && !open_by_id(w, path, id, ret))
			return 0;
	}
	return -ENOENT;
}

int debugfile_cached(const struct debugfile_where *w, const char *path, const struct buildid *id,
		     const char *what, char *to, size_t size)
{
	char hex[BUILDID_TEXT], folder[IDCACHE_PATH];
	if (!w->cache || buildid_text(id, hex) < 4)
		return -ENOENT;
	if (path && idcache_folder(path, id, folder) &&
	    fits(snprintf(to, size, "%s/%s/%s", w->cache, folder, what), size) && !access(to, R_OK))
		return 0;
	if (!fits(snprintf(to, size, "%s/.build-id/%.2s/%s/%s", w->cache, hex, hex + 2, what), size))
		return -ENOENT;
	return access(to, R_OK) ? -ENOENT : 0;
}

struct debuglink {
	const char *name;
	u32 crc;
};

static bool debuglink_of(const struct elfimg *e, struct debuglink *ret)
{
	struct elfimg_section sec;
	if (!elfimg_section_by_name(e, ".gnu_debuglink", &sec))
		return false;
	const u8 *data = elfimg_section_data(e, &sec);
	if (!data)
		return false;
	struct bytes b = bytes_of(data, sec.size, e->swap);
	ret->name = bytes_cstr(&b);
	bytes_skip(&b, -(size_t)(b.at - data) & 3);
	ret->crc = bytes_u32(&b);
	return !b.bad && ret->name && ret->name[0] && !strchr(ret->name, '/');
}

/* By build id where both have one; the checksum means reading all of the debug file. */
static int open_by_link(const struct debugfile_where *w, const char *path, const struct elfimg *e,
			const struct buildid *id, u32 crc, struct elfimg *ret)
{
	struct elfimg dbg;
	int err = debugfile_open_elf(w, path, &dbg);
	if (err)
		return err;
	struct buildid got = { 0 };
	bool good = !same_bytes(e, &dbg);
	if (good && id->size && !buildid_of_image(&dbg, &got))
		good = buildid_equal(&got, id);
	else if (good)
		good = dbg.size <= dbg.real && crc32_z(0, dbg.data, dbg.size) == crc;
	if (!good) {
		elfimg_close(&dbg);
		return -ENOENT;
	}
	*ret = dbg;
	return 0;
}

static int open_link(const struct debugfile_where *w, const char *image_path,
		     const struct elfimg *e, const struct buildid *id, struct elfimg *ret)
{
	struct debuglink link;
	const char *slash = strrchr(image_path, '/');
	if (!slash || !debuglink_of(e, &link))
		return -ENOENT;
	int dir = (int)min(slash - image_path, (ptrdiff_t)PATH_MAX);
	char path[PATH_MAX];
	static const char *const beside[] = { "", "/.debug" };
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		int n = snprintf(path, sizeof(path), "%s%.*s%s/%s", root_of(w), dir, image_path,
				 beside[i], link.name);
		if (fits(n, sizeof(path)) && !open_by_link(w, path, e, id, link.crc, ret))
			return 0;
	}
	for (const char *const *d = w->dirs ? w->dirs : default_dirs; *d; d++) {
		int n = snprintf(path, sizeof(path), "%s%s%.*s/%s", root_of(w), *d, dir, image_path,
				 link.name);
		if (fits(n, sizeof(path)) && !open_by_link(w, path, e, id, link.crc, ret))
			return 0;
	}
	return -ENOENT;
}

/* What a server gives has to prove itself, too. */
static int fetch_by_id(struct debugfile_fetch *f, const struct buildid *id, struct elfimg *ret)
{
	struct elfimg dbg;
	struct buildid got;
	_cleanup_close_ int fd = f->open(f, id);
	if (fd < 0 || elfimg_open_fd(&dbg, fd))
		return -ENOENT;
	if (buildid_of_image(&dbg, &got) || !buildid_equal(&got, id)) {
		elfimg_close(&dbg);
		return -ENOENT;
	}
	*ret = dbg;
	return 0;
}

int debugfile_open(const struct debugfile_where *w, const char *path, const struct elfimg *e,
		   const struct buildid *id, struct elfimg *ret)
{
	if (id->size && !debugfile_open_id(w, id, ret))
		return 0;
	if (!open_link(w, path, e, id, ret))
		return 0;
	return w->fetch && id->size ? fetch_by_id(w->fetch, id, ret) : -ENOENT;
}

int debugfile_open_alt(const struct debugfile_where *w, const char *path, const struct buildid *id,
		       struct elfimg *ret)
{
	char full[PATH_MAX];
	if (!id->size)
		return -ENOENT;
	if (path[0] == '/' && debugfile_path(w, path, full, sizeof(full)) &&
	    !open_by_id(w, full, id, ret))
		return 0;
	while (!strncmp(path, "../", 3))
		path += 3;
	for (const char *const *dir = w->dirs ? w->dirs : default_dirs; *dir; dir++) {
		int n = snprintf(full, sizeof(full), "%s%s/%s", root_of(w), *dir, path);
		if (fits(n, sizeof(full)) && !open_by_id(w, full, id, ret))
			return 0;
	}
	return debugfile_open_id(w, id, ret);
}

int debugfile_open_dwp(const struct debugfile_where *w, const char *path, const struct buildid *id,
		       struct elfimg *ret)
{
	char full[PATH_MAX], hex[BUILDID_TEXT];
	bool by_id = id->size && buildid_text(id, hex) >= 4;
	if (path[0] &&
	    fits(snprintf(full, sizeof(full), "%s%s.dwp", root_of(w), path), sizeof(full)) &&
	    !debugfile_open_elf(w, full, ret))
		return 0;
	for (const char *const *dir = w->dirs ? w->dirs : default_dirs; *dir; dir++) {
		if (path[0] == '/' &&
		    fits(snprintf(full, sizeof(full), "%s%s%s.dwp", root_of(w), *dir, path),
			 sizeof(full)) &&
		    !debugfile_open_elf(w, full, ret))
			return 0;
		if (by_id &&
		    fits(snprintf(full, sizeof(full), "%s%s/.build-id/%.2s/%s.dwp", root_of(w),
				  *dir, hex, hex + 2),
			 sizeof(full)) &&
		    !debugfile_open_elf(w, full, ret))
			return 0;
	}
	return -ENOENT;
}

int debugfile_open_mini(const struct elfimg *e, struct elfimg *ret)
{
	struct elfimg_section sec;
	if (!elfimg_section_by_name(e, ".gnu_debugdata", &sec))
		return -ENOENT;
	const u8 *data = elfimg_section_data(e, &sec);
	if (!data)
		return -EBADMSG;
	u8 *elf;
	size_t size;
	int err = xz_expand(data, sec.size, MINI_MAX, &elf, &size);
	if (err)
		return err;
	return elfimg_open_heap(ret, elf, size) ? -EBADMSG : 0;
}
