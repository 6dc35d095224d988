/* sonde archive: the binaries that a recording needs, packed so that it can be read on another machine. */
#include "base/json.h"
#include "base/str.h"
#include "base/foreign.h"
#include "base/atomic_file.h"
#include "cmd/app/app.h"
#include "cmd/app/files.h"
#include "cmd/app/commands.h"
#include "session/recorded_ids.h"
#include "session/symbols.h"
#include "file/tar_write.h"
#include "image/debugfile.h"
#include "image/idcache.h"
#include "kern/kmap.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct archive_opts {
	const char *input;
	const char *output;
	bool all;
};

static const struct opt archive_rows[] = {
	OPT_STR('i', "input", struct archive_opts, input, "FILE", "Recording to read (perf.data)"),
	OPT_STR('o', "output", struct archive_opts, output, "FILE", "Write FILE (RECORDING.tar.gz)"),
	OPT_FLAG(0, "all", struct archive_opts, all,
		 "Include the recording itself, at the top of the archive"),
	OPT_END(),
};

static const struct opt_example archive_examples[] = {
	{ "archive", "perf.data.tar.gz: the binaries that ./perf.data needs" },
	{ "archive --all -o case.tar.gz", "the recording and its binaries in one file" },
	{ 0 },
};

struct archive {
	struct app *app;
	const struct archive_opts *o;
	const char *cache; /* NULL: none */
	struct tar_writer *tar;
	struct strbuf missing; /* a line each */
	u32 nr, nr_missing;
};

/* ---- where a binary is ---- */

/* The program that runs now at the path may be another one. */
static bool is_build(const char *path, const struct buildid *id)
{
	struct elfimg e;
	struct buildid got;
	if (elfimg_open(&e, path, files_opener()))
		return false;
	bool same = !buildid_of_image(&e, &got) && buildid_equal(&got, id);
	elfimg_close(&e);
	return same;
}

static bool is_running_kernel(const struct buildid *id)
{
	struct sysroot root;
	u8 bytes[KMAP_BUILD_ID_MAX];
	struct kernel_text text;
	if (sysroot_open(&root, NULL))
		return false;
	unsigned size = kmap_kernel_build_id(&root, bytes);
	struct buildid got = buildid_make(bytes, size);
	bool same = size && buildid_equal(&got, id) && !kmap_text(&root, &text);
	sysroot_close(&root);
	return same;
}

/* what: the file's name in the cache. false: not found. */
static bool find_binary(const struct archive *a, const char *path, const struct buildid *id,
			char to[IDCACHE_PATH], const char **what)
{
	static const char *const kept[] = { "elf", "vdso", "kallsyms" };
	struct debugfile_where w = { .cache = a->cache };
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		*what = kept[i];
		if (!debugfile_cached(&w, path, id, kept[i], to, IDCACHE_PATH))
			return true;
	}
	if (!strncmp(path, "[kernel.kallsyms]", 17)) {
		*what = "kallsyms";
		return snprintf(to, IDCACHE_PATH, "/proc/kallsyms") > 0 && is_running_kernel(id);
	}
	*what = "elf";
	return path[0] == '/' && snprintf(to, IDCACHE_PATH, "%s", path) < IDCACHE_PATH &&
	       is_build(to, id);
}

/* ---- one entry ---- */

static int add_text(struct archive *a, const char *name, int fd)
{
	struct strbuf text;
	strbuf_init(&text);
	char buf[1 << 16];
	ssize_t n;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(&text, buf, (size_t)n);
	int err = n < 0 ? -errno : text.err;
	if (!err)
		err = tar_write_bytes(a->tar, name, text.data, text.len, 0644);
	strbuf_done(&text);
	return err;
}

static int add_entry(struct archive *a, const char *path, const struct buildid *id,
		     const char *from, const char *what)
{
	char folder[IDCACHE_PATH], link[IDCACHE_PATH], target[IDCACHE_PATH], name[IDCACHE_PATH];
	struct stat st;
	if (!idcache_folder(path, id, folder) || !idcache_link(id, link) ||
	    !idcache_target(path, id, target) ||
	    snprintf(name, sizeof(name), "%s/%s", folder, what) >= (int)sizeof(name))
		return 0;
	_cleanup_close_ int fd = opener_open_path(files_opener(), from, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	int err = tar_write_link(a->tar, link, target);
	if (!err)
		err = st.st_size ? tar_write_file(a->tar, name, fd, st.st_mode & 0755)
				 : add_text(a, name, fd); /* /proc tells no size */
	a->nr += !err;
	return err;
}

static void note_missing(struct archive *a, const char *path, const char *why)
{
	a->nr_missing++;
	strbuf_printf(&a->missing, "%s%s (%s)", a->missing.len ? ", " : "", path, why);
}

/* The vdso is in every program, ours too. */
static int add_vdso(struct archive *a, const struct buildid *id)
{
	enum { VDSO_MAX = 64 << 10 };
	const u8 *at = (const u8 *)getauxval(AT_SYSINFO_EHDR);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 0;
	char folder[IDCACHE_PATH], link[IDCACHE_PATH], target[IDCACHE_PATH], name[IDCACHE_PATH];
	struct elfimg e;
	struct buildid got;
	/* Its sections lie at its end: where the last one ends, it ends. */
	if (at && !elfimg_open_memory(&e, at, page)) {
		size = e.shoff + (u64)e.nr_sections * e.shentsize;
		elfimg_close(&e);
	}
	bool same = size > 0 && size <= VDSO_MAX && !elfimg_open_memory(&e, at, size);
	if (same) {
		same = !buildid_of_image(&e, &got) && buildid_equal(&got, id);
		elfimg_close(&e);
	}
	if (!same || !idcache_folder("[vdso]", id, folder) || !idcache_link(id, link) ||
	    !idcache_target("[vdso]", id, target) ||
	    snprintf(name, sizeof(name), "%s/vdso", folder) >= (int)sizeof(name)) {
		note_missing(a, "[vdso]", "from another kernel");
		return 0;
	}
	int err = tar_write_link(a->tar, link, target);
	if (!err)
		err = tar_write_bytes(a->tar, name, at, size, 0644);
	a->nr += !err;
	return err;
}

static int add_binary(void *ctx, const struct recorded_id *r)
{
	struct archive *a = ctx;
	struct buildid id = buildid_make(r->id, r->size);
	char from[IDCACHE_PATH];
	const char *what;
	if (!r->size) {
		if (r->path[0] == '/' && strncmp(r->path, "/tmp/perf-", 10))
			note_missing(a, r->path, "no build ID");
		return 0;
	}
	if (find_binary(a, r->path, &id, from, &what))
		return add_entry(a, r->path, &id, from, what);
	if (!strcmp(r->path, "[vdso]"))
		return add_vdso(a, &id);
	note_missing(a, r->path, "no longer available");
	return 0;
}

/* ---- the recording ---- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static int add_file(struct archive *a, const char *path, const char *name)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : tar_write_file(a->tar, name, fd, 0600);
}

static int add_recording(struct archive *a)
{
	const char *path = a->o->input, *base = base_of(path);
	struct stat st;
	if (stat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return add_file(a, path, base);
	for (int i = -1;; i++) {
		char file[PATH_MAX], name[PATH_MAX];
		char leaf[24];
		(void)snprintf(leaf, sizeof(leaf), i < 0 ? "data" : "data.%d", i);
		if (snprintf(file, sizeof(file), "%s/%s", path, leaf) >= (int)sizeof(file) ||
		    snprintf(name, sizeof(name), "%s/%s", base, leaf) >= (int)sizeof(name))
			return -ENAMETOOLONG;
		int err = add_file(a, file, name);
		if (err)
			return i >= 0 && err == -ENOENT ? 0 : err;
	}
}

static int fill(struct archive *a)
{
	struct source *src;
	int err = replay_perf_open(a->o->input, &src, &a->app->diag);
	if (err)
		return err;
	err = symbols_unwind(app_symbols(a->app), src, &(struct symbol_opts){ 0 });
	if (!err)
		err = recorded_ids(src, RECORDED_CHAINS, add_binary, a, &a->app->diag);
	src->ops->close(src);
	if (!err && a->o->all)
		err = add_recording(a);
	if (!err && !a->nr)
		err = diag_error(&a->app->diag, -ENOENT,
				 "no binary of %s was found by its build ID", a->o->input);
	return err;
}

/* ---- the archive ---- */

/* A program that compresses what we write into fd. Negative errno: it could not be run. */
static int start_packer(const char *program, int fd, pid_t *pid)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*pid = fork();
	if (!*pid) {
		if (dup2(ends[0], STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
			(void)execlp(program, program, "-c", (char *)NULL);
		_exit(127);
	}
	int err = *pid < 0 ? -errno : 0;
	close(ends[0]);
	if (err) {
		close(ends[1]);
		return err;
	}
	return ends[1];
}

static int end_packer(pid_t pid, const char *program, struct diag *d)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status)
		       ? 0
		       : diag_error(d, -EIO, "%s failed or is not installed", program);
}

static int pack(struct archive *a, int fd, bool bzip2)
{
	struct diag *d = &a->app->diag;
	pid_t packer = 0;
	int to = bzip2 ? start_packer("bzip2", fd, &packer) : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	to = to == -1 ? -errno : to;
	a->tar = to < 0 ? NULL : tar_write_open(to, !bzip2);
	int err = to < 0 ? to : a->tar ? fill(a) : -ENOMEM;
	if (a->tar) {
		int closed = tar_write_close(a->tar);
		err = err ? err : closed;
	}
	if (packer) {
		int packed = end_packer(packer, "bzip2", d);
		err = err ? err : packed;
	}
	return err;
}

static int write_archive(struct archive *a, const char *path)
{
	struct diag *d = &a->app->diag;
	struct atomic_file k;
	bool bzip2 = strlen(path) > 4 && !strcmp(path + strlen(path) - 4, ".bz2");
	int err = atomic_file_begin_output(&k, path, 0600, d);
	if (err)
		return err;
	err = atomic_file_end(&k, pack(a, k.fd, bzip2));
	return !err || d->nr_errors
		       ? err
		       : diag_error(d, err, "cannot write %s: %s", path, strerror(-err));
}

static void say(struct archive *a, const char *path)
{
	struct app *app = a->app;
	struct strbuf *to = &app->out;
	if (app->json) {
		struct json j;
		json_begin(&j, to, JSON_PRETTY);
		json_object(&j);
		json_put_str(&j, "file", path);
		json_put_u64(&j, "binaries", a->nr);
		json_put_u64(&j, "missing", a->nr_missing);
		json_object_end(&j);
		(void)!json_end(&j);
		return;
	}
	if (app->dialect->archives_as_perf) {
		strbuf_printf(
			to, "Now please run:\n\n$ tar xvf %s -C ~/.debug\n\nwherever you need to run 'perf report' on.\n",
			path);
		return;
	}
	strbuf_printf(to, "%s: %u %s\n", path, a->nr, str_plural(a->nr, "binary", "binaries"));
	if (a->o->all)
		strbuf_printf(to,
			      "On the other machine: mkdir case && tar xf %s -C case && "
			      "PERF_BUILDID_DIR=case sonde report -i case/%s\n",
			      base_of(path), base_of(a->o->input));
	else
		strbuf_printf(
			to, "On the other machine: mkdir -p ~/.debug && tar xf %s -C ~/.debug && sonde report -i %s\n",
			base_of(path), base_of(a->o->input));
}

static int archive_run(struct app *app, void *opts, int argc, char **argv)
{
	struct archive_opts *o = opts;
	char dir[PATH_MAX], path[PATH_MAX];
	struct archive a = { .app = app, .o = o, .cache = recorded_cache_dir(dir, sizeof(dir)) };
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[1]);
	if (argc)
		o->input = argv[0];
	const char *suffix = app->dialect->archives_as_perf ? "tar.bz2" : "tar.gz";
	if (str_path(path, sizeof(path), "%s.%s", o->input, suffix))
		return app_fail(app, -ENAMETOOLONG);
	strbuf_init(&a.missing);
	const char *to = o->output ? o->output : path;
	int err = write_archive(&a, to);
	if (!err && a.nr_missing) {
		diag_warn(&app->diag, "%u %s missing from it: %s", a.nr_missing,
			  str_plural(a.nr_missing, "binary is", "binaries are"),
			  strbuf_cstr(&a.missing));
		diag_hint(&app->diag, "'sonde buildid-cache -a FILE' keeps a binary for later");
	}
	if (!err)
		say(&a, to);
	strbuf_done(&a.missing);
	return err ? app_fail(app, err) : APP_DONE;
}

static void archive_defaults(void *opts)
{
	((struct archive_opts *)opts)->input = "perf.data";
}

const struct command command_archive = {
	.name = "archive",
	.group = "Why",
	.summary = "pack the binaries that a recording needs, to analyse it elsewhere",
	.usage = "[OPTIONS] [FILE]",
	.about = "The archive has the same layout as perf's: unpacked in ~/.debug on the other "
		 "machine, perf and sonde find the binaries by build ID. It holds the binaries "
		 "that samples or their callers are in, taken from the build ID cache or from "
		 "their original place if they are still the same build, and the kernel's symbols.",
	.examples = archive_examples,
	.opts = archive_rows,
	.opts_size = sizeof(struct archive_opts),
	.defaults = archive_defaults,
	.mixed_words = true,
	.run = archive_run,
};
