/*
 * How commands get names for frames: what all of them may choose, and the names object wired to the running kernel. (sym/
 * itself never looks at /proc.)
 */
#pragma once

#include "base/diag.h"
#include "kern/mntroots.h"
#include "model/names.h"
#include "model/source.h"
#include "session/debug_server.h"
#include "sym/resolve.h"

#include <limits.h>

enum { SYMBOLS_MIN_UNNAMED = 20 }; /* rows of bare addresses that fill a screen */

/* Where names of the kernels of virtual machines come from. */
struct guest_opts {
	const char *kallsyms, *modules, *vmlinux; /* of any guest */
	const char *mount; /* DIR/PID is the root folder of the guest that process PID runs */
};

static inline bool guest_opts_named(const struct guest_opts *o)
{
	return o->kallsyms || o->modules || o->vmlinux || o->mount;
}

/* Text of one of a guest's files, to be released; pid 0: of any guest. -ENOENT: none was named for it. ctx: struct guest_opts. */
int guest_text(void *ctx, u32 pid, enum sym_kernel_text what, struct sym_text *ret) must_check;

struct symbol_opts {
	struct guest_opts guest;
	const char *symfs;
	const char *vmlinux;
	const char *kallsyms;
	bool no_demangle;
	bool no_inline;
	bool no_vmlinux;
	bool func_names, no_func_names;
	bool of_data; /* frames may be of data, too: a file that is no program is not worth a word */
	u32 min_unnamed; /* addresses without a name in a stripped file that are worth a word; 0: none are */
};

/*
 * Where names come from for one command, or for several after each other. Whoever owns it fills in the first part; the recordings that are
 * opened with it are remembered.
 */
struct symbols {
	struct diag *diag;
	struct opener *opener; /* of files that recordings name; NULL: they are opened without a time limit */
	bool bounds; /* functions of stripped files get names of their own, unless the options say otherwise */
	bool all_notes; /* about everything that has no name, not only the first few */

	struct debug_server server;

	/* Of symbols.c. */
	s64 oldest_recording; /* in seconds of the wall clock; 0: none */
	bool told_cache;
	struct mntroots roots;
	struct debugfile_places places;
	char cache[PATH_MAX], buildid_dir[PATH_MAX];
};

/* To be called when no names are in use any more. */
void symbols_done(struct symbols *s);

/* What to ask of names (enum names_want) for call chains. */
unsigned symbols_want(const struct symbol_opts *o);
/* What both are made of. Borrows the options, and the symbols' memory. */
struct sym_config symbols_config(struct symbols *s, const struct symbol_opts *o);
/*
 * Where things that are expensive to make are kept: the user's cache folder, never the one of whoever lent us privileges. Its path in `to`,
 * or NULL: there is none, or it is not ours alone: what lies in it is believed, so it must belong to us, be no link, and be writable
 * by nobody else. s: its diag is told about that, once; NULL: nobody is.
 */
const char *cache_folder(struct symbols *s, char *to, size_t size);

/* A recording that is to be named: processes that began later were not recorded. */
void symbols_recorded(struct symbols *s, const char *path);
/* The user that a recorded process runs as, if it still runs, as foreign_check_writer() takes it; else -1. */
s64 symbols_uid(const struct symbols *s, s32 pid);
/* Where files of containers are, while those live; NULL with symfs, which says where files are. */
const struct debugfile_places *symbols_places(struct symbols *s, const char *symfs);

/* NULL: no memory. The options are borrowed until names->ops->free. */
struct names *symbols_open(struct symbols *s, const struct symbol_opts *o);

/* The same for stacks that a perf.data brings as copies. To be called before prepare(). */
int symbols_unwind(struct symbols *s, struct source *src, const struct symbol_opts *o) must_check;

/*
 * The list of kernel symbols that fits a recording: the file that was named, else the one that the recording brings along, else the
 * running kernel's if it is the one that was recorded. NULL: none.
 */
struct kernel_list {
	const struct symbol_opts *opts;
	const struct source *src;
	const char *data;
	size_t len, mapped;
	bool recorded; /* the recording brought it along: it says nothing of the running kernel */
};
const char *kernel_list_text(void *list, size_t *len);
void kernel_list_done(struct kernel_list *l);
