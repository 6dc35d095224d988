#include "session/symbols.h"
#include "base/foreign.h"
#include "base/guard.h"
#include "base/str.h"

#include "session/debug_package.h"
#include "session/debug_server.h"
#include "session/recorded_ids.h"
#include "session/recorded_kcore.h"
#include "image/buildid.h"
#include "kern/kallsyms.h"
#include "kern/mntroots.h"
#include "kern/procfs.h"
#include "stream/replay_perf.h"
#include "sym/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void release(struct sym_text *t)
{
	struct kallsyms_text k = { .data = t->data, .len = t->len, .mapped = t->mapped };
	kallsyms_text_done(&k);
}

/* A file of /proc, whose size is not known; the text is the caller's. */
static int read_file(int fd, struct sym_text *ret)
{
	enum { FILE_MAX = 256 << 20, PIECE = 1 << 16 };
	size_t room = 0, len = 0;
	char *text = NULL;
	ssize_t n;
	do {
		if (room - len < PIECE) {
			room = max(2 * room, (size_t)(2 * PIECE));
			char *more = realloc(text, room);
			if (!more) {
				free(text);
				return -ENOMEM;
			}
			text = more;
		}
		n = read(fd, text + len, PIECE);
		len += n > 0 ? (size_t)n : 0;
	} while ((n > 0 && len < FILE_MAX) || (n < 0 && errno == EINTR));
	int err = n < 0 ? -errno : n ? -EFBIG : len ? 0 : -ENODATA;
	if (err)
		free(text);
	else
		*ret = (struct sym_text){ .data = text, .len = len, .release = release };
	return err;
}

static int map_file(const char *path, struct sym_text *ret)
{
	_cleanup_close_ int fd = foreign_open(path, 0);
	struct stat st;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (!st.st_size)
		return read_file(fd, ret);
	const void *map;
	int err = guard_map_input(fd, (size_t)st.st_size, false, NULL, path, &map);
	if (err)
		return err;
	*ret = (struct sym_text){ .data = map,
				  .len = (size_t)st.st_size,
				  .mapped = (size_t)st.st_size,
				  .release = release };
	return 0;
}

/* NULL: it is ours alone, or not there (*exists); else why it is not used. */
static const char *why_not_cache(const char *path, bool *exists)
{
	struct stat st;
	*exists = !lstat(path, &st);
	if (!*exists)
		return NULL;
	return S_ISLNK(st.st_mode)		  ? "it is a symbolic link"
	       : !S_ISDIR(st.st_mode)		  ? "it is not a directory"
	       : st.st_uid != geteuid()		  ? "it is owned by another user"
	       : st.st_mode & (S_IWGRP | S_IWOTH) ? "it is writable by others"
						  : NULL;
}

/* Made only in a folder of ours: root leaves nothing in another user's home. */
static void make_own(char *path)
{
	struct stat st;
	char *last = strrchr(path, '/');
	if (!last || last == path)
		return;
	*last = '\0';
	bool ours = !stat(path, &st) && st.st_uid == geteuid();
	*last = '/';
	if (ours)
		(void)mkdir(path, 0700);
}

static void make_cache(char *path)
{
	char *last = strrchr(path, '/');
	*last = '\0';
	make_own(path);
	*last = '/';
	make_own(path);
}

static const char *usable_cache(struct symbols *s, const char *path)
{
	bool exists;
	const char *why = why_not_cache(path, &exists);
	if (why && s && !s->told_cache) {
		s->told_cache = true;
		diag_note(s->diag, "ignoring the cache directory %s: %s", path, why);
		diag_hint(s->diag, "set SONDE_CACHE to use another one");
	}
	return exists && !why ? path : NULL;
}

const char *cache_folder(struct symbols *s, char *to, size_t size)
{
	if (getauxval(AT_SECURE))
		return NULL;
	const char *own = getenv("SONDE_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
		   *home = getenv("HOME");
	int err = own && *own	  ? str_path(to, size, "%s", own)
		  : xdg && *xdg	  ? str_path(to, size, "%s/sonde", xdg)
		  : home && *home ? str_path(to, size, "%s/.cache/sonde", home)
				  : -ENOENT;
	if (err)
		return NULL;
	/* Ours to make, not the folders above it (but ~/.cache, which a new account has not). */
	if ((!own || !*own) && strchr(to, '/'))
		make_cache(to);
	return usable_cache(s, to);
}

static int kernel_text(void *ctx, enum sym_kernel_text what, struct sym_text *ret)
{
	const struct symbol_opts *o = ctx;
	if (what == SYM_KALLSYMS && o->kallsyms)
		return map_file(o->kallsyms, ret);
	struct kallsyms_text t = { 0 };
	char cache[4096];
	int err = what == SYM_KALLSYMS
			  ? kallsyms_read(NULL, cache_folder(NULL, cache, sizeof(cache)), &t)
		  : what == SYM_MODULES ? kallsyms_read_modules(NULL, &t)
					: kallsyms_read_notes(NULL, &t);
	if (!err)
		*ret = (struct sym_text){
			.data = t.data, .len = t.len, .mapped = t.mapped, .release = release
		};
	return err;
}

int guest_text(void *ctx, u32 pid, enum sym_kernel_text what, struct sym_text *ret)
{
	const struct guest_opts *o = ctx;
	const char *file = what == SYM_KALLSYMS	 ? o->kallsyms
			   : what == SYM_MODULES ? o->modules
						 : NULL;
	char path[PATH_MAX];
	if (what != SYM_KALLSYMS && what != SYM_MODULES)
		return -ENOENT;
	int err = pid && o->mount ? str_path(path, sizeof(path), "%s/%u/proc/%s", o->mount, pid,
					     what == SYM_KALLSYMS ? "kallsyms" : "modules")
				  : -ENOENT;
	if (!err)
		err = map_file(path, ret);
	return !err ? 0 : file ? map_file(file, ret) : -ENOENT;
}

static int open_place(void *ctx, s32 pid, const char *path, unsigned n, bool maps,
		      struct opener *via)
{
	struct symbols *s = ctx;
	return mntroots_open(&s->roots, pid, path, n, maps, via);
}

static int open_place_map(void *ctx, s32 pid, struct opener *via)
{
	const struct symbols *s = ctx;
	return mntroots_open_map(&s->roots, pid, via);
}

void symbols_recorded(struct symbols *s, const char *path)
{
	struct stat st;
	char inner[PATH_MAX];
	if (!strcmp(path, "-") || stat(path, &st))
		return;
	if (S_ISDIR(st.st_mode) &&
	    (str_path(inner, sizeof(inner), "%s/data", path) || stat(inner, &st)))
		return;
	if (!S_ISREG(st.st_mode))
		return;
	s->oldest_recording =
		s->oldest_recording ? min(s->oldest_recording, (s64)st.st_mtime) : st.st_mtime;
}

/* The number may have gone to another process since: one that began after the recording was made is not the recorded one. */
s64 symbols_uid(const struct symbols *s, s32 pid)
{
	struct sysroot root;
	struct procfs proc;
	u32 uid = 0;
	s64 began = 0;
	if (pid <= 0 || sysroot_open(&root, NULL))
		return -1;
	procfs_init(&proc, &root);
	int err = procfs_uid(&proc, pid, &uid);
	if (!err && s->oldest_recording)
		err = procfs_started(&proc, pid, &began);
	procfs_done(&proc);
	sysroot_close(&root);
	return err || (s->oldest_recording && began > s->oldest_recording) ? -1 : (s64)uid;
}

static s64 uid_of_place(void *ctx, s32 pid)
{
	return symbols_uid(ctx, pid);
}

const struct debugfile_places *symbols_places(struct symbols *s, const char *symfs)
{
	if (!s->places.open && !mntroots_init(&s->roots, NULL))
		s->places = (struct debugfile_places){
			.open = open_place, .open_map = open_place_map, .uid = uid_of_place, .ctx = s
		};
	return symfs || !s->places.open ? NULL : &s->places;
}

void symbols_done(struct symbols *s)
{
	if (s->places.open)
		mntroots_done(&s->roots);
	s->places = (struct debugfile_places){ 0 };
}

unsigned symbols_want(const struct symbol_opts *o)
{
	return WANT_SYMBOL | (o->no_inline ? 0 : WANT_INLINE);
}

/* Without a package to name (another distribution, a program of one's own) it is what would help anywhere. */
static char *stripped_hint(const char *const *paths, size_t nr)
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_str(&s, "apt install ");
	if (!debug_packages("", paths, nr, &s)) {
		s.len = 0;
		strbuf_str(&s, "install its debug symbols, or set DEBUGINFOD_URLS");
	} else if (strstr(strbuf_cstr(&s), "-dbgsym")) {
		strbuf_str(&s, " (-dbgsym packages are in the debian-debug archive)");
	}
	return strbuf_steal(&s);
}

struct sym_config symbols_config(struct symbols *s, const struct symbol_opts *o)
{
	return (struct sym_config){
		.symfs = o->symfs,
		.fetch = o->symfs ? NULL : debug_server(&s->server, s->diag),
		.opener = s->opener,
		.places = symbols_places(s, o->symfs),
		.cache = cache_folder(s, s->cache, sizeof(s->cache)),
		.buildid_dir =
			o->symfs ? NULL : recorded_cache_dir(s->buildid_dir, sizeof(s->buildid_dir)),
		.vmlinux = o->no_vmlinux ? NULL : o->vmlinux,
		.no_vmlinux = o->no_vmlinux,
		.bounds = o->func_names || (!o->no_func_names && s->bounds),
		.of_data = o->of_data,
		.min_unnamed = o->min_unnamed,
		.stripped_hint = o->symfs ? NULL : stripped_hint,
		.demangle = o->no_demangle ? DEMANGLE_NO : DEMANGLE_SHORT,
		.kernel_text = kernel_text,
		.kernel_ctx = (void *)o,
		.kallsyms_given = o->kallsyms != NULL,
		.guest_text = guest_text,
		.guest_ctx = (void *)&o->guest,
		.guest_vmlinux = o->guest.vmlinux,
		.guest_option = diag_option(s->diag, DIAG_OPT_GUEST_KALLSYMS),
		.kallsyms_option = diag_option(s->diag, DIAG_OPT_KALLSYMS),
		.diag = s->diag,
		.max_notes = s->all_notes ? 0 : 5,
	};
}

struct names *symbols_open(struct symbols *s, const struct symbol_opts *o)
{
	struct sym_config cfg = symbols_config(s, o);
	return sym_names_new(&cfg);
}

int symbols_unwind(struct symbols *s, struct source *src, const struct symbol_opts *o)
{
	char cache[4096];
	return replay_perf_unwind(
		src, &(struct unwind_config){ .symfs = o->symfs,
					      .opener = s->opener,
					      .places = symbols_places(s, o->symfs),
					      .cache = cache_folder(NULL, cache, sizeof(cache)) });
}

static bool same_kernel(const struct catalog *c)
{
	struct kallsyms_text notes;
	struct buildid running;
	bool same = false;
	if (kallsyms_read_notes(NULL, &notes))
		return false;
	if (!buildid_of_notes(notes.data, notes.len, 4, false, &running))
		vec_for_each (&c->images, i) {
			struct buildid recorded = buildid_make(i->build_id, i->build_id_size);
			same |= image_is_kernel(i) && buildid_equal(&running, &recorded);
		}
	kallsyms_text_done(&notes);
	return same;
}

const char *kernel_list_text(void *list, size_t *len)
{
	struct kernel_list *l = list;
	struct sym_text t = { 0 };
	*len = 0;
	bool given = l->opts->kallsyms;
	if (!l->data && !given)
		l->recorded = !recorded_kcore_list(l->src, &t);
	if (!l->data && (l->recorded || ((given || same_kernel(&l->src->catalog)) &&
					 !kernel_text((void *)l->opts, SYM_KALLSYMS, &t)))) {
		l->data = t.data;
		l->len = t.len;
		l->mapped = t.mapped;
	}
	*len = l->len;
	return l->data;
}

void kernel_list_done(struct kernel_list *l)
{
	struct sym_text t = { .data = l->data, .len = l->len, .mapped = l->mapped };
	if (l->data)
		release(&t);
}
