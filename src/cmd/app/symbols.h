/*
 * How commands get names for frames: options that all of them share, and the names object wired to the running kernel. (sym/
 * itself never looks at /proc.)
 */
#pragma once

#include "cmd/app/app.h"
#include "model/names.h"
#include "model/source.h"
#include "sym/resolve.h"

struct symbol_opts {
	const char *symfs;
	const char *vmlinux;
	const char *kallsyms;
	bool no_demangle;
	bool no_inline;
	bool no_vmlinux;
	bool func_names, no_func_names;
	u32 min_unnamed; /* addresses without a name in a stripped file that are worth a word; 0: none are */
};

#define SYMBOL_OPT_ROWS(T, f)                                                                      \
	OPT_HEADING("Symbols"),                                                                    \
		OPT_STR(0, "symfs", T, f.symfs, "DIR", "look for binaries below DIR"),             \
		OPT_STR('k', "vmlinux", T, f.vmlinux, "FILE",                                      \
			"the kernel's own image (vmlinux, or a bzImage)"),                         \
		OPT_STR(0, "kallsyms", T, f.kallsyms, "FILE",                                      \
			"kernel symbols from a copy of /proc/kallsyms"),                           \
		OPT_FLAG(0, "ignore-vmlinux", T, f.no_vmlinux,                                     \
			 "kernel symbols from lists only, not from an image of the kernel"),       \
		OPT_FLAG(0, "func-names", T, f.func_names,                                         \
			 "name functions of stripped files func_0xOFFSET (default, except as "     \
			 "perf)"),                                                                 \
		OPT_FLAG(0, "no-func-names", T, f.no_func_names,                                   \
			 "leave code without symbols unnamed, as perf does"),                      \
		OPT_FLAG(0, "no-demangle", T, f.no_demangle,                                       \
			 "show C++ and Rust names as the linker sees them"),                       \
		OPT_FLAG(0, "no-inline", T, f.no_inline,                                           \
			 "leave out the functions that the compiler put into others")

/* What to ask of names (enum names_want) for call chains. */
unsigned symbols_want(const struct symbol_opts *o);
/* What both are made of. Borrows the options. */
struct sym_config symbols_config(struct app *app, const struct symbol_opts *o);
/*
 * Where things that are dear to make are kept: the user's cache folder, never the one of whoever lent us privileges. Its path in `to`,
 * or NULL: there is none, or it is not ours alone: what lies in it is believed, so it must belong to us, be no link, and be writable
 * by nobody else. app: told about that, once; NULL: nobody is.
 */
const char *cache_folder(struct app *app, char *to, size_t size);

/* A recording that is to be named: processes that began later were not recorded. */
void symbols_recorded(const char *path);
/* The user that a recorded process runs as, if it still runs, as foreign_check_writer() takes it; else -1. */
s64 symbols_uid(s32 pid);
/* Where files of containers are, while those live; NULL with symfs, which says where files are. */
const struct debugfile_places *symbols_places(const char *symfs);

/* NULL: no memory. The options are borrowed until names->ops->free. Notes go to app->diag. */
struct names *symbols_open(struct app *app, const struct symbol_opts *o);

/* The same for stacks that a perf.data brings as copies. To be called before prepare(). */
int symbols_unwind(struct source *src, const struct symbol_opts *o) must_check;

/*
 * The list of kernel symbols that fits a recording: the file that was named, else the running kernel's if it is the one that was
 * recorded. NULL: none.
 */
struct kernel_list {
	const struct symbol_opts *opts;
	const struct catalog *catalog;
	const char *data;
	size_t len, mapped;
};
const char *kernel_list_text(void *list, size_t *len);
void kernel_list_done(struct kernel_list *l);
