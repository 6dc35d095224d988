/*
 * Finds the files that hold what was stripped from an image: by build id, by debug link, and inside it
 * (.gnu_debugdata, "minidebuginfo"). A file is taken only when it proves to belong to the image.
 */
#pragma once

#include "base/opener.h"
#include "image/buildid.h"
#include "image/elf.h"

/*
 * Who opens what a path is at other places (containers): the n-th one, 0 being that of the process `pid`. maps: only if that still maps
 * it. via: who opens it; NULL: the caller. A descriptor, -ENOENT, or -ERANGE when there are no more places.
 */
struct debugfile_places {
	int (*open)(void *ctx, s32 pid, const char *path, unsigned n, bool maps, struct opener *via);
	int (*open_map)(void *ctx, s32 pid,
			struct opener *via); /* its perf-PID.map: a descriptor, or -ENOENT */
	s64 (*uid)(void *ctx, s32 pid); /* as foreign_check_writer() takes it */
	void *ctx;
};

/* Who gets debug files from elsewhere, by build id: a descriptor, or negative errno. From any thread. */
struct debugfile_fetch {
	int (*open)(struct debugfile_fetch *f, const struct buildid *id);
	char note[160]; /* what went wrong, for the user; "": nothing */
};

struct debugfile_where {
	struct debugfile_fetch *fetch; /* NULL: nobody; asked when nothing is found here */
	const struct debugfile_places *places; /* NULL: none but here */
	const char *root; /* put before every path below; NULL or "": none */
	const char *const *dirs; /* NULL-terminated; NULL: /usr/lib/debug alone */
	struct opener *opener; /* opens files within a time limit, for who must not be held up (base/opener.h); NULL: no limit */
	const char *cache; /* perf's build-id cache, e.g. /root/.debug; outside root; NULL: none */
};

/* root + path into a buffer; false: too long. */
bool debugfile_path(const struct debugfile_where *w, const char *path, char *to, size_t size);

/* elfimg_open() of a path of this machine. */
int debugfile_open_elf(const struct debugfile_where *w, const char *path,
		       struct elfimg *ret) must_check;

/*
 * The separate debug file of an image that was found at path (without root). id may be empty, then the debug link's
 * checksum decides. -ENOENT: none that fits.
 */
int debugfile_open(const struct debugfile_where *w, const char *path, const struct elfimg *e,
		   const struct buildid *id, struct elfimg *ret) must_check;
/* The ELF file inside .gnu_debugdata. -ENOENT: there is none; -EBADMSG: it is broken or too large. */
int debugfile_open_mini(const struct elfimg *e, struct elfimg *ret) must_check;
/*
 * A file kept by build id in perf's cache: what is "elf", "vdso" or "kallsyms". Anybody can make a program with a given build id, so the
 * one that was kept from the same path comes first (path NULL: none does). Writes its path; -ENOENT: none.
 */
int debugfile_cached(const struct debugfile_where *w, const char *path, const struct buildid *id,
		     const char *what, char *to, size_t size) must_check;
/* The debug file (or unstripped image) of that build id alone, under the debug directories. */
int debugfile_open_id(const struct debugfile_where *w, const struct buildid *id,
		      struct elfimg *ret) must_check;
/*
 * The file that dwz moved entries to which several files share: at the path that the image tells (below a debug directory when it is
 * relative), or by its build id. -ENOENT.
 */
int debugfile_open_alt(const struct debugfile_where *w, const char *path, const struct buildid *id,
		       struct elfimg *ret) must_check;
/*
 * The package of split units (.dwp) of the image at path ("": not known): beside it, below a debug directory, or by build id. Whether it
 * belongs to the image only its index tells. -ENOENT.
 */
int debugfile_open_dwp(const struct debugfile_where *w, const char *path, const struct buildid *id,
		       struct elfimg *ret) must_check;
