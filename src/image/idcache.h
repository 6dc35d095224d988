/*
 * The cache of files by build id that perf keeps (~/.debug):
 *
 *	DIR/usr/bin/ls/15df.../elf          the file as it was: "elf", "vdso", "kallsyms"
 *	DIR/.build-id/15/df...              a link to the folder above: ../../usr/bin/ls/15df...
 *
 * A recording names its binaries by build id, so a file found here is the right one, whatever was installed since.
 */
#pragma once

#include "image/buildid.h"

#include <sys/types.h>

/* A file of an entry besides the symbols: what perf and we write there. */
enum { IDCACHE_PATH = 4096 };

/* The places of an entry. false: too long, or path goes upwards. path: absolute, or "[vdso]" and the like. */
bool idcache_folder(const char *path, const struct buildid *id,
		    char to[IDCACHE_PATH]); /* below DIR */
bool idcache_link(const struct buildid *id, char to[IDCACHE_PATH]); /* below DIR */
bool idcache_target(const char *path, const struct buildid *id,
		    char to[IDCACHE_PATH]); /* of the link */

/* Whether there is an entry with something in it; path: of that path, NULL: of any. */
bool idcache_has(const char *dir, const char *path, const struct buildid *id);
/*
 * from, a file that is open, becomes DIR/path/ID/what; it stays the caller's. link: by a hard link where that can be, for files that are
 * replaced and never written to. Else as a clone (reflink) or a copy. mode: of a copy. -EEXIST: it is there already.
 */
struct idcache_file {
	int from;
	bool link;
	mode_t mode;
	bool path_only; /* no link by its id: another user's program, which may have any */
};
int idcache_add_fd(const char *dir, const struct idcache_file *f, const char *path,
		   const struct buildid *id, const char *what) must_check;
/* The same of a path, by a hard link where that can be. */
int idcache_add(const char *dir, const char *from, const char *path, const struct buildid *id,
		const char *what) must_check;
/* -ENOENT: it is not there. Only what belongs to an entry is removed. */
int idcache_remove(const char *dir, const struct buildid *id) must_check;
/*
 * Copies of a kernel's code that were kept: DIR/[kernel.kcore]/ID/TIME, a folder with kcore, kallsyms and modules each, the newest first.
 * 0 when all were told, fn's result where it is not 0, or negative errno.
 */
int idcache_each_kcore(const char *dir, const struct buildid *id,
		       int (*fn)(void *ctx, const char *folder), void *ctx) must_check;
/* All entries by id: the path and the id's digits. A link that does not look like perf's is skipped. 0, fn's result, or -ENOENT: no cache. */
int idcache_each(const char *dir, int (*fn)(void *ctx, const char *path, const char *hex),
		 void *ctx) must_check;
