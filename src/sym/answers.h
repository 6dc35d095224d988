/*
 * What was found out about places of a file, kept by its build id and by which files were read: symbol, lines and inlined functions of
 * every place that was ever asked about. The next report of the same recording reads no symbols and no debugging information.
 *
 *	FOLDER/names/HEX-FILES-SW     S: how names were demangled, W: what was asked for
 *	head | entries, by place | inlined functions | strings | identities of the files
 *
 * Files are written aside and renamed. What lies there may be anybody's: everything is checked before it is used.
 */
#pragma once

#include "image/buildid.h"
#include "image/elf.h"
#include "sym/srcline.h"

struct answers_spot {
	u32 file, line; /* strings; 0: none */
	u32 outer_file, outer_line;
	u32 first, nr; /* inlined functions */
};

struct answers_entry {
	u64 at; /* file offset */
	u64 start, end; /* of the symbol */
	u32 name; /* 0: none */
	u32 spare;
	struct answers_spot spots[2];
};

struct answers_inline {
	u32 name, file, line;
};

/* Zero-initialised: empty. */
struct answers {
	const struct answers_entry *entries; /* by place */
	const struct answers_inline *inlines;
	const char *strings; /* the first byte and the last are 0 */
	u32 nr, nr_inlines;
	size_t strings_size;
	const void *mapped; /* NULL: the bytes are the caller's */
	size_t mapped_size;
};

struct answers_key {
	const char *folder;
	struct buildid id;
	/* The very files that were read: a build id is what a file says of itself. Image, where its symbols are, where its lines are. */
	struct elfimg_identity files[3];
	enum demangle_style style;
	unsigned want; /* enum names_want */
};

/* -ENOENT: there are none, or the image has no identity; -ESTALE: of other files; -EBADMSG: not what we wrote; or the errno of opening. Nothing is held then. */
int answers_open(struct answers *a, const struct answers_key *k) must_check;
/*
 * For an image that is gone, or was replaced: what was kept of files of that build id, where all of them were ours or root's: nobody else
 * can have put them there. The n-th of such; -ENOENT: no more.
 */
int answers_open_trusted(struct answers *a, const struct answers_key *k, u32 n) must_check;
/* The same over bytes. */
int answers_open_bytes(struct answers *a, const void *data, size_t size,
		       const struct answers_key *k) must_check;
/* Writes the checksum of such bytes into their head (ANSWERS_HEAD bytes or more). */
enum { ANSWERS_HEAD = 40 };
void answers_sum(void *data, size_t size);
void answers_close(struct answers *a);
/* NULL: not known. */
const struct answers_entry *answers_find(const struct answers *a, u64 at);
/* NULL for 0. Borrowed until answers_close(), like what is below. */
const char *answers_string(const struct answers *a, u32 string);
/* Spots as srcline_find() gives them; the list of inlined functions is the arena's. -ENOMEM. */
int answers_spot(const struct answers *a, const struct answers_spot *s, struct arena *arena,
		 struct srcline_spot *ret) must_check;

/* One answer on its way to be kept. */
struct answers_new {
	u64 at, start, end;
	const char *name; /* NULL: none */
	const struct srcline_spot *spots; /* two; NULL: none */
};
/* Keeps these (ascending) together with what was known before. Negative errno: nothing changed. */
int answers_save(const struct answers_key *k, const struct answers *before,
		 const struct answers_new *list, u32 nr) must_check;
