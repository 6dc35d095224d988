/*
 * The loader's cache (glibc 2.2 and later), after the older table if there is one:
 *
 *	"glibc-ld.so.cache1.1", u32 entries, u32 bytes of strings, 20 bytes; entry: s32 flags, u32 name, u32 path, u32, u64
 *
 * Names and paths are offsets from the magic.
 */
#include "kern/program_path.h"

#include "base/bytes.h"
#include "base/str.h"
#include "kern/sysroot.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CACHE_HEAD = 48, FLAGS_ARCH = 0xff00, FLAGS_X86_64 = 0x0300, FLAGS_ARM64 = 0x0a00 };

/* "libc" means libc.so.6, "libc.so" too; libcrypt.so.1 is another one. */
static bool library_fits(const char *name, const char *file)
{
	size_t len = strlen(name);
	return !strncmp(file, name, len) &&
	       (!file[len] || str_starts(file + len, ".so") ||
		(file[len] == '.' && len > 3 && !strcmp(name + len - 3, ".so")));
}

static bool try_file(const char *root, const char *path, int how, struct strbuf *to)
{
	char full[PATH_MAX], real[PATH_MAX];
	if (str_path(full, sizeof(full), "%s%s", root, path) || access(full, how) ||
	    !realpath(full, real))
		return false;
	strbuf_str(to, real);
	return true;
}

static bool in_path(const char *name, const char *root, struct strbuf *to)
{
	const char *path = secure_getenv("PATH");
	char file[PATH_MAX];
	while (path && *path) {
		size_t len = strcspn(path, ":");
		if (len && !str_path(file, sizeof(file), "%.*s/%s", (int)len, path, name) &&
		    try_file(root, file, X_OK, to))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

static const char *string_at(const u8 *base, size_t size, u32 at)
{
	return at < size && memchr(base + at, 0, size - at) ? (const char *)base + at : NULL;
}

static bool in_cache(const char *name, const char *root, struct strbuf *to)
{
	static const char magic[] = "glibc-ld.so.cache1.1";
	struct sysroot r;
	struct strbuf file;
	bool found = false;
	if (sysroot_open(&r, *root ? root : NULL))
		return false;
	strbuf_init(&file);
	if (sysroot_read(&r, "etc/ld.so.cache", &file))
		strbuf_reset(&file);
	sysroot_close(&r);
	const u8 *base = file.len ? memmem(file.data, file.len, magic, strlen(magic)) : NULL;
	size_t size = base ? file.len - (size_t)(base - (const u8 *)file.data) : 0;
	struct bytes b = bytes_of(base, size, false);
	bytes_skip(&b, strlen(magic));
	u32 nr = bytes_u32(&b);
	bytes_skip(&b, CACHE_HEAD - strlen(magic) - sizeof(nr));
	for (u32 i = 0; i < nr && !b.bad && !found; i++) {
		u32 flags = bytes_u32(&b), key = bytes_u32(&b), value = bytes_u32(&b);
		bytes_skip(&b, 12);
		const char *soname = string_at(base, size, key),
			   *path = string_at(base, size, value);
		bool ours =
			(flags & FLAGS_ARCH) == FLAGS_X86_64 || (flags & FLAGS_ARCH) == FLAGS_ARM64;
		found = !b.bad && ours && soname && path && library_fits(name, soname) &&
			try_file(root, path, R_OK, to);
	}
	strbuf_done(&file);
	return found;
}

static bool in_directories(const char *name, const char *root, struct strbuf *to)
{
	static const char *const dirs[] = { "/lib/x86_64-linux-gnu",
					    "/usr/lib/x86_64-linux-gnu",
					    "/lib/aarch64-linux-gnu",
					    "/usr/lib/aarch64-linux-gnu",
					    "/lib64",
					    "/usr/lib64",
					    "/lib",
					    "/usr/lib" };
	char file[PATH_MAX];
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (!str_path(file, sizeof(file), "%s/%s", dirs[i], name) &&
		    try_file(root, file, R_OK, to))
			return true;
	return false;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;
	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* "ADDRESSES r-xp OFFSET DEV INODE   PATH" */
bool program_path_mapped(const char *name, s32 pid, const char *root, struct strbuf *to)
{
	char path[64], real[PATH_MAX];
	struct sysroot r;
	struct strbuf maps;
	bool found = false;
	if (sysroot_open(&r, *root ? root : NULL))
		return false;
	strbuf_init(&maps);
	(void)!str_path(path, sizeof(path), "proc/%d/maps", pid);
	if (sysroot_read(&r, path, &maps))
		strbuf_reset(&maps);
	sysroot_close(&r);
	const char *at = strbuf_cstr(&maps);
	while (*at && !found) {
		size_t len = strcspn(at, "\n");
		const char *file = memchr(at, '/', len);
		if (file) {
			(void)snprintf(real, sizeof(real), "%.*s", (int)(at + len - file), file);
			const char *base = strrchr(real, '/') + 1;
			char full[PATH_MAX];
			/* In its own mount namespace. */
			found = library_fits(name, base) &&
				!str_path(full, sizeof(full), "/proc/%d/root%s", pid, real) &&
				!access(full, R_OK);
			if (found)
				strbuf_str(to, is_same_file(real, full) ? real : full);
		}
		at += len + (at[len] == '\n');
	}
	strbuf_done(&maps);
	return found;
}

static bool is_here(const char *name, struct strbuf *to)
{
	char real[PATH_MAX];
	struct stat st;
	if (access(name, R_OK) || stat(name, &st) || !S_ISREG(st.st_mode) || !realpath(name, real))
		return false;
	strbuf_str(to, real);
	return true;
}

int program_path(const char *name, s32 pid, const char *root, struct strbuf *to)
{
	char real[PATH_MAX];
	if (strchr(name, '/') || (!pid && !access(name, R_OK))) {
		if (!realpath(name, real))
			return -errno;
		strbuf_str(to, real);
		return to->err;
	}
	bool found = (pid && (program_path_mapped(name, pid, root, to) || is_here(name, to))) ||
		     in_path(name, root, to) || in_cache(name, root, to) ||
		     in_directories(name, root, to);
	return found ? to->err : -ENOENT;
}
