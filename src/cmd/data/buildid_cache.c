/* sonde buildid-cache: the files that perf (and we) keep by build id, so that a recording finds the very binaries it saw. */
#include "base/foreign.h"
#include "base/json.h"
#include "base/outplace.h"
#include "base/str.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "kern/kallsyms.h"
#include "session/kcore_copy.h"
#include "session/recorded_ids.h"
#include "session/recorded_kcore.h"
#include "sym/kallsyms.h"
#include "image/idcache.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct cache_opts {
	struct opt_list add, remove, purge, update;
	bool purge_all;
	bool list;
	const char *missing;
	u64 target_pid;
	bool force;
	const char *kcore;
	const char *refused;
};

/* clang-format off */
static const struct opt cache_rows[] = {
	OPT_LIST('a', "add", struct cache_opts, add, "FILES", "Add these files, separated by commas"),
	OPT_LIST('r', "remove", struct cache_opts, remove, "FILES", "Remove the current builds of these files"),
	OPT_LIST('p', "purge", struct cache_opts, purge, "FILES", "Remove every build kept under these paths"),
	OPT_FLAG('P', "purge-all", struct cache_opts, purge_all, "Remove everything"),
	OPT_LIST('u', "update", struct cache_opts, update, "FILES", "Replace the kept copies of these files"),
	OPT_FLAG('l', "list", struct cache_opts, list, "List build IDs and paths"),
	OPT_STR('M', "missing", struct cache_opts, missing, "FILE", "List binaries of a recording that are not in the cache"),
	OPT_FLAG('f', "force", struct cache_opts, force, "With -k: also if the same is kept already"),
	OPT_STR('k', "kcore", struct cache_opts, kcore, "FILE", "Keep a copy of the running kernel's code and symbols: /proc/kcore"),
	OPT_STR(0, "debuginfod", struct cache_opts, refused, "URLS", "Nothing is downloaded: fetch with debuginfod-find, then use --add", .optional = true, .refused = true),
	OPT_UINT(0, "target-ns", struct cache_opts, target_pid, "PID", "Resolve paths as process PID sees them (in a container)"),
	OPT_END(),
};
/* clang-format on */

static const struct opt_example cache_examples[] = {
	{ "buildid-cache -a /usr/bin/app",
	  "before an update, so that old recordings stay readable" },
	{ "buildid-cache -k /proc/kcore",
	  "before a new kernel: annotate still finds the code of this one" },
	{ "buildid-cache -l", "what is in the cache" },
	{ "buildid-cache -M perf.data", "which binaries of a recording are missing" },
	{ "buildid-cache -p /usr/bin/app", "remove all builds of a program" },
	{ 0 },
};

struct cache {
	struct app *app;
	const char *dir;
	struct json json;
	const char *purge; /* path: entries to be removed; NULL: all */
	u64 nr_purged;
	int root_fd; /* of the process of --target-ns; -1: our own */
	bool failed;
};

static bool as_perf(const struct cache *c)
{
	return c->app->dialect->perf_cache_messages;
}

/* What -v says. */
static void said(struct cache *c, const char *did, const struct buildid *id, const char *path,
		 int err)
{
	char hex[BUILDID_TEXT] = "";
	if (id)
		(void)buildid_text(id, hex);
	if (c->app->verbose)
		strbuf_printf(&c->app->err, "%s %s%s%s: %s\n", did, hex, id ? " " : "", path,
			      err ? "FAIL" : "Ok");
}

static void fail(struct cache *c, const char *what, const char *path, const char *why)
{
	if (as_perf(c)) {
		strbuf_printf(&c->app->err, "Couldn't %s %s: %s\n", what, path, why);
		return;
	}
	diag_error(&c->app->diag, -EIO, "cannot %s %s: %s", what, path, why);
	c->failed = true;
}

/* A file of the user's: its own id, its path without links, and where it can be read. */
struct named_file {
	struct buildid id;
	char path[PATH_MAX]; /* in the namespace of --target-ns, where there is one */
	char from[PATH_MAX];
	int fd;
};

static int open_image(const struct cache *c, const char *file, struct named_file *n)
{
	if (c->root_fd < 0) {
		if (!realpath(file, n->path))
			return -errno;
		memcpy(n->from, n->path, sizeof(n->from));
		n->fd = foreign_open(n->path, 0);
		return n->fd < 0 ? n->fd : 0;
	}
	size_t len = strlen(file);
	if (*file != '/' || len >= sizeof(n->path))
		return *file != '/' ? -EINVAL : -ENAMETOOLONG;
	n->fd = foreign_open_in_root(c->root_fd, file, 0);
	if (n->fd < 0)
		return n->fd;
	memcpy(n->path, file, len + 1);
	(void)snprintf(n->from, sizeof(n->from), "/proc/self/fd/%d", n->fd);
	return 0;
}

static int identify(const struct cache *c, const char *file, struct named_file *n)
{
	struct elfimg e;
	n->fd = -1;
	int err = open_image(c, file, n);
	if (err)
		return err;
	err = elfimg_open_fd(&e, n->fd);
	if (err)
		return err;
	err = buildid_of_image(&e, &n->id);
	elfimg_close(&e);
	return err ? -ENODATA : 0;
}

static void named_done(struct named_file *n)
{
	if (n->fd >= 0)
		(void)close(n->fd);
}

static const char *reason(int err)
{
	return err == -ENODATA ? "it has no build ID"
	       : err == -EINVAL
		       ? "it is not a regular file or, with --target-ns, not an absolute path"
	       : err == -ENOEXEC ? "it is not an ELF program or library"
				 : strerror(-err);
}

static void add(struct cache *c, const char *file)
{
	struct named_file n;
	int err = identify(c, file, &n);
	if (!err) {
		err = idcache_add(c->dir, n.from, n.path, &n.id, "elf");
		err = err == -EEXIST ? 0 : err;
		said(c, "Adding", &n.id, file, err);
	}
	if (err)
		fail(c, "add", file, reason(err));
	named_done(&n);
}

static void remove_one(struct cache *c, const char *file)
{
	struct named_file n;
	int err = identify(c, file, &n);
	if (!err) {
		err = idcache_remove(c->dir, &n.id);
		said(c, "Removing", &n.id, file, err);
	}
	if (err == -ENOENT && as_perf(c))
		strbuf_printf(&c->app->err, "%s wasn't in the cache\n", file);
	else if (err)
		fail(c, "remove", file, err == -ENOENT ? "it is not in the cache" : reason(err));
	named_done(&n);
}

static void update(struct cache *c, const char *file)
{
	struct named_file n;
	int err = identify(c, file, &n);
	if (!err) {
		err = idcache_remove(c->dir, &n.id);
		if (!err || err == -ENOENT)
			err = idcache_add(c->dir, n.from, n.path, &n.id, "elf");
		said(c, "Updating", &n.id, file, err);
	}
	if (err)
		fail(c, "update", file, reason(err));
	named_done(&n);
}

static int hex_digit(char ch)
{
	return ch <= '9' ? ch - '0' : ch - 'a' + 10;
}

static struct buildid id_of_hex(const char *hex)
{
	u8 bytes[BUILDID_MAX];
	size_t n = 0;
	for (; n < BUILDID_MAX && hex[2 * n] && hex[2 * n + 1]; n++)
		bytes[n] = (u8)(hex_digit(hex[2 * n]) << 4 | hex_digit(hex[2 * n + 1]));
	return buildid_make(bytes, n);
}

static int purge_entry(void *ctx, const char *path, const char *hex)
{
	struct cache *c = ctx;
	if (c->purge && strcmp(c->purge, path))
		return 0;
	struct buildid id = id_of_hex(hex);
	int err = idcache_remove(c->dir, &id);
	said(c, "Removing", &id, path, err);
	c->nr_purged += !err;
	if (err)
		fail(c, "remove", path, reason(err));
	return 0;
}

/* file NULL: everything. A file that is gone may still be named by the path it had. */
static void purge(struct cache *c, const char *file)
{
	char path[PATH_MAX];
	bool here = file && file[0] != '[' && c->root_fd < 0;
	c->purge = here && realpath(file, path) ? path : file;
	c->nr_purged = 0;
	int err = idcache_each(c->dir, purge_entry, c);
	err = err == -ENOENT ? 0 : err;
	if (c->app->verbose && !err)
		strbuf_printf(&c->app->err, file ? "Purging %s: Ok\n" : "Purged all: Ok\n", file);
	if (err)
		fail(c, "purge", file ? file : c->dir, reason(err));
	else if (file && !c->nr_purged && !as_perf(c))
		fail(c, "remove", file, "it is not in the cache");
}

static void print_row(struct cache *c, const char *hex, const char *path)
{
	if (!c->app->json) {
		strbuf_printf(&c->app->out, "%s %s\n", hex, path);
		return;
	}
	json_object(&c->json);
	json_put_str(&c->json, "build_id", hex);
	json_put_str(&c->json, "path", path);
	json_object_end(&c->json);
}

static int list_entry(void *ctx, const char *path, const char *hex)
{
	print_row(ctx, hex, path);
	return 0;
}

static int print_missing(void *ctx, const struct recorded_id *r)
{
	struct cache *c = ctx;
	struct buildid id = buildid_make(r->id, r->size);
	char hex[BUILDID_TEXT];
	if (!r->size || idcache_has(c->dir, NULL, &id))
		return 0;
	(void)buildid_text(&id, hex);
	print_row(c, hex, r->path);
	return 0;
}

static int missing(struct cache *c, const char *input)
{
	struct source *src;
	int err = replay_perf_open(input, &src, &c->app->diag);
	if (err)
		return err;
	err = recorded_ids(src, RECORDED_ALL, print_missing, c, &c->app->diag);
	src->ops->close(src);
	return err;
}

/* ---- the kernel's code ---- */

struct same_kcore {
	struct kallsyms_text list, modules;
	bool found;
};

/* A list of symbols and one of modules that say the same: the same kernel at the same place. */
static int compare_kcore(void *ctx, const char *folder)
{
	struct same_kcore *s = ctx;
	char path[PATH_MAX], text[1 << 16];
	struct sym_text list;
	u64 own = 0, kept = 0;
	if (str_path(path, sizeof(path), "%s/modules", folder) || kcore_folder_list(folder, &list))
		return 0;
	_cleanup_close_ int fd = foreign_open(path, FOREIGN_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	s->found = n >= 0 && kallsyms_address(list.data, list.len, "_stext", &kept) &&
		   kallsyms_address(s->list.data, s->list.len, "_stext", &own) && own == kept &&
		   kcore_same_modules(s->modules.data, s->modules.len, text, (size_t)n);
	list.release(&list);
	return s->found;
}

static bool has_kcore(const struct cache *c, const char *root, const struct buildid *id)
{
	struct same_kcore s = { 0 };
	if (!kallsyms_read(root, NULL, &s.list) && !kallsyms_read_modules(root, &s.modules))
		(void)!idcache_each_kcore(c->dir, id, compare_kcore, &s);
	kallsyms_text_done(&s.list);
	kallsyms_text_done(&s.modules);
	return s.found;
}

static int kernel_id(const char *root, struct buildid *ret)
{
	struct kallsyms_text notes = { 0 };
	int err = kallsyms_read_notes(root, &notes);
	if (!err && buildid_of_notes(notes.data, notes.len, 4, false, ret))
		err = -ENODATA;
	kallsyms_text_done(&notes);
	return err;
}

/* DIR/[kernel.kcore]/ID/2026111618000042 */
static int kcore_place(const struct cache *c, const struct buildid *id, char *to, size_t size)
{
	char entry[IDCACHE_PATH], stamp[32];
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	if (!idcache_folder("[kernel.kcore]", id, entry) || !localtime_r(&now.tv_sec, &tm) ||
	    !strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &tm))
		return -EINVAL;
	return str_path(to, size, "%s/%s/%s%02ld/kcore", c->dir, entry, stamp,
			now.tv_nsec / 10000000);
}

static int copy_kcore(struct cache *c, const char *root, const struct buildid *id)
{
	char path[PATH_MAX];
	struct outplace p;
	int err = kcore_place(c, id, path, sizeof(path));
	if (err)
		return err;
	err = outplace_open(&p, path, OUTPLACE_NO_FOLLOW | OUTPLACE_MAKE_FOLDERS, &c->app->diag);
	if (err)
		return err;
	err = kcore_copy(root, p.dir, &c->app->diag);
	outplace_close(&p);
	if (err) {
		*strrchr(path, '/') = '\0';
		(void)!outplace_remove(path, true);
	} else if (c->app->verbose) {
		strbuf_printf(&c->app->err, "kcore added to build-id cache directory %.*s\n",
			      (int)(strrchr(path, '/') - path), path);
	}
	return err;
}

/* file: ROOT/proc/kcore, as with perf. */
static int add_kcore(struct cache *c, const char *file, bool force)
{
	static const char name[] = "/proc/kcore";
	char prefix[PATH_MAX];
	struct buildid id;
	size_t len = strlen(file), tail = sizeof(name) - 1;
	if (len < tail || strcmp(file + len - tail, name) || len >= sizeof(prefix)) {
		int err = diag_error(&c->app->diag, -EINVAL,
				     "-k %s: only the running kernel's code can be kept", file);
		diag_hint(&c->app->diag, "-k /proc/kcore");
		return err;
	}
	memcpy(prefix, file, len - tail);
	prefix[len - tail] = '\0';
	const char *root = *prefix ? prefix : NULL;
	int err = kernel_id(root, &id);
	if (err)
		return diag_error(&c->app->diag, err, "the kernel's build ID cannot be read: %s",
				  strerror(-err));
	if (!force && has_kcore(c, root, &id)) {
		if (c->app->verbose)
			strbuf_str(&c->app->err, "same kcore found in the cache\n");
		return 0;
	}
	return copy_kcore(c, root, &id);
}

/* Files of an option, each of which may be a list. */
static void each(struct cache *c, const struct opt_list *files,
		 void (*fn)(struct cache *, const char *))
{
	vec_for_each (&files->items, item) {
		const char *at = *item;
		while (*at) {
			char file[PATH_MAX];
			size_t len = strcspn(at, ",");
			if (len && len < sizeof(file)) {
				memcpy(file, at, len);
				file[len] = '\0';
				fn(c, file);
			}
			at += len + (at[len] == ',');
		}
	}
}

static int show(struct cache *c, const struct cache_opts *o)
{
	json_begin(&c->json, &c->app->out, JSON_PRETTY);
	if (c->app->json)
		json_array(&c->json);
	int err = o->list ? idcache_each(c->dir, list_entry, c) : 0;
	err = err == -ENOENT ? 0 : err; /* nothing is kept */
	if (!err && o->missing)
		err = missing(c, o->missing);
	if (c->app->json)
		json_array_end(&c->json);
	int end = c->app->json ? json_end(&c->json) : 0;
	return err ? err : end;
}

static int enter(struct cache *c, u64 pid)
{
	char path[64];
	if (!pid)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%llu/root", (unsigned long long)pid);
	c->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return c->root_fd >= 0 ? 0
	       : errno == ENOENT
		       ? diag_error(&c->app->diag, -ESRCH, "--target-ns %llu: no such process",
				    (unsigned long long)pid)
		       : diag_error(&c->app->diag, -errno, "--target-ns %llu: %s: %s",
				    (unsigned long long)pid, path, strerror(errno));
}

static int cache_run(struct app *app, void *opts, int argc, char **argv)
{
	struct cache_opts *o = opts;
	char buf[PATH_MAX];
	struct cache c = { .app = app, .dir = recorded_cache_dir(buf, sizeof(buf)), .root_fd = -1 };
	bool any = o->add.items.nr || o->remove.items.nr || o->purge.items.nr ||
		   o->update.items.nr || o->purge_all || o->list || o->missing || o->kcore;
	if (argc || !any)
		return app_usage(app,
				 argc ? "'%s': no operation given; -a adds a file"
				      : "no operation given: -a adds, -r removes, -l lists",
				 argc ? argv[0] : NULL);
	if (!c.dir) {
		diag_error(&app->diag, -ENOENT, "no directory for the cache");
		diag_hint(&app->diag, "set HOME or PERF_BUILDID_DIR");
		return APP_FAILED;
	}
	int err = o->list || o->missing ? show(&c, o) : 0;
	if (!err && o->kcore)
		err = add_kcore(&c, o->kcore, o->force);
	if (!err)
		err = enter(&c, o->target_pid);
	if (err)
		return app_fail(app, err);
	each(&c, &o->add, add);
	each(&c, &o->remove, remove_one);
	each(&c, &o->purge, purge);
	if (o->purge_all)
		purge(&c, NULL);
	each(&c, &o->update, update);
	if (c.root_fd >= 0)
		(void)close(c.root_fd);
	return c.failed ? APP_FAILED : APP_DONE;
}

const struct command command_buildid_cache = {
	.name = "buildid-cache",
	.group = "Why",
	.summary = "keep binaries by build ID, for recordings made with them",
	.usage = "[OPTIONS]",
	.about = "perf's cache, ~/.debug or $PERF_BUILDID_DIR: each tool finds what the other "
		 "added. A recording names its binaries by build ID; if they are kept here, its "
		 "functions can still be named after an update.",
	.examples = cache_examples,
	.opts = cache_rows,
	.opts_size = sizeof(struct cache_opts),
	.run = cache_run,
};
