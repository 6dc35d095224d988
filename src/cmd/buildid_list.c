/* sonde buildid-list: which binaries a recording has seen, each with the id that tells its build. */
#include "base/json.h"
#include "cmd/app.h"
#include "cmd/commands.h"
#include "cmd/look.h"
#include "image/buildid.h"
#include "kern/kmap.h"
#include "stream/replay_perf.h"
#include "stream/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct buildid_opts {
	const char *input;
	bool hits;
	bool kernel;
	bool modules;
	bool force;
};

static const struct opt buildid_rows[] = {
	OPT_STR('i', "input", struct buildid_opts, input, "FILE", "recording to read (perf.data), or a binary"),
	OPT_FLAG('H', "with-hits", struct buildid_opts, hits, "only those in which samples lie"),
	OPT_FLAG('k', "kernel", struct buildid_opts, kernel, "the running kernel's id instead"),
	OPT_FLAG('m', "kernel-maps", struct buildid_opts, modules, "the running kernel and its modules, with their addresses"),
	OPT_FLAG('f', "force", struct buildid_opts, force, "accepted; whose file it is never matters", .hidden = true),
	OPT_END(),
};

static const struct opt_example buildid_examples[] = {
	{ "buildid-list", "the binaries that ./perf.data has seen" },
	{ "buildid-list -H -i FILE", "only those in which samples lie" },
	{ "buildid-list -i /bin/ls", "the id of one binary" },
	{ "buildid-list -k", "the running kernel's" },
	{ 0 },
};

static void buildid_defaults(void *opts)
{
	((struct buildid_opts *)opts)->input = "perf.data";
}

struct listing {
	struct app *app;
	struct json json;
};

/* end 0: no addresses. */
static void print_row(struct listing *l, const u8 *id, size_t size, u64 start, u64 end, const char *name)
{
	struct buildid b = buildid_make(id, size);
	char text[BUILDID_TEXT];
	(void)buildid_text(&b, text);
	if (l->app->json) {
		json_object(&l->json);
		json_put_str(&l->json, "build_id", size ? text : NULL);
		json_put_str(&l->json, "path", name);
		json_object_end(&l->json);
		return;
	}
	strbuf_left(&l->app->out, size ? text : "", 2 * BUILDID_MAX);
	if (end)
		strbuf_printf(&l->app->out, " %16llx %16llx", (unsigned long long)start, (unsigned long long)end);
	strbuf_printf(&l->app->out, " %s\n", name);
}

/* ---- the running kernel ---- */

static int print_module(void *ctx, const struct kernel_module *m)
{
	print_row(ctx, m->build_id, m->build_id_size, m->start, m->start + m->size_bytes, m->path ? m->path : m->name);
	return 0;
}

static int list_kernel_of(struct listing *l, const struct sysroot *root, bool modules)
{
	u8 id[KMAP_BUILD_ID_MAX];
	unsigned size = kmap_kernel_build_id(root, id);
	if (!size)
		return diag_error(&l->app->diag, -ENOENT, "the running kernel does not tell its build id (/sys/kernel/notes)");
	if (!modules) {
		struct buildid b = buildid_make(id, size);
		char text[BUILDID_TEXT];
		(void)buildid_text(&b, text);
		if (l->app->json)
			print_row(l, id, size, 0, 0, "[kernel.kallsyms]");
		else
			strbuf_printf(&l->app->out, "%s\n", text);
		return 0;
	}
	struct kernel_text text;
	struct utsname name;
	if (kmap_text(root, &text))
		text = (struct kernel_text){ 0 };
	print_row(l, id, size, text.start, text.end, "[kernel.kallsyms]");
	int err = uname(&name) ? -errno : kmap_modules(root, name.release, print_module, l);
	return err == -ENOENT ? 0 : err;
}

static int list_kernel(struct listing *l, bool modules)
{
	struct sysroot root;
	int err = sysroot_open(&root, NULL);
	if (err)
		return err;
	err = list_kernel_of(l, &root, modules);
	sysroot_close(&root);
	return err;
}

/* ---- a recording ---- */

struct table_entry {
	const char *path;
	const u8 *id;
	u32 size;
};

struct entries {
	VEC(struct table_entry) at;
};

static int take_entry(void *ctx, const char *path, const u8 *id, u32 size, u16 misc)
{
	struct entries *e = ctx;
	struct table_entry *t = vec_push(&e->at);
	if (!t)
		return -ENOMEM;
	*t = (struct table_entry){ .path = path, .id = id, .size = size };
	return 0;
}

/* What perf calls an image: code in memory without a file goes by the map file that names it. */
static const char *image_name(const struct image_info *i, char *buf, size_t size)
{
	if (i->kind == IMAGE_KIND_KERNEL)
		return "[kernel.kallsyms]";
	if (i->kind != IMAGE_KIND_ANON || i->path[0] == '[')
		return i->path;
	struct strbuf s;
	strbuf_init(&s);
	strbuf_printf(&s, "/tmp/perf-%u.map", i->pid);
	size_t len = min(s.len, size - 1);
	memcpy(buf, strbuf_cstr(&s), len);
	buf[len] = '\0';
	strbuf_done(&s);
	return buf;
}

static bool same_path(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* Images that hold a sample's address: those of the file's table in its order, then the rest as they appeared. */
static void print_hits(struct listing *l, const struct source *src, const struct entries *table, const bool *hit)
{
	char buf[64];
	for (size_t i = 0; i < table->at.nr; i++) {
		const struct table_entry *t = &table->at.at[i];
		bool any = false;
		for (size_t k = 1; k < src->catalog.images.nr && !any; k++)
			any = hit[k] && same_path(image_name(&src->catalog.images.at[k], buf, sizeof(buf)), t->path);
		if (any)
			print_row(l, t->id, t->size, 0, 0, t->path);
	}
	for (size_t k = 1; k < src->catalog.images.nr; k++) {
		const struct image_info *image = &src->catalog.images.at[k];
		const char *name = image_name(image, buf, sizeof(buf));
		bool listed = !hit[k] || image->kind == IMAGE_KIND_BPF;
		for (size_t i = 0; i < table->at.nr && !listed; i++)
			listed = same_path(name, table->at.at[i].path);
		if (!listed)
			print_row(l, image->build_id, image->build_id_size, 0, 0, name);
	}
}

static int list_hits(struct listing *l, struct source *src, const struct entries *table)
{
	struct sink look = look_sink(NEED_LEAF);
	struct run_tables run = { 0 };
	int err = stream_run(src, &look, 0, &run, &l->app->diag);
	bool *hit = err ? NULL : calloc(src->catalog.images.nr + 1, sizeof(*hit));
	if (!err && !hit)
		err = -ENOMEM;
	for (u32 i = 1; !err && i < run.frames.nr; i++)
		hit[run.frames.frames[i].image] = true;
	if (!err)
		print_hits(l, src, table, hit);
	free(hit);
	run_tables_done(&run);
	return err;
}

static int list_recording(struct listing *l, const struct buildid_opts *o)
{
	struct source *src;
	struct entries table = { 0 };
	int err = replay_perf_open(o->input, &src, &l->app->diag);
	if (err)
		return err;
	err = perfdata_build_ids(replay_perf_file(src), take_entry, &table);
	/* Without a table there is nothing to say about what was not hit. */
	if (!err && (o->hits || !table.at.nr))
		err = list_hits(l, src, &table);
	else
		vec_for_each(&table.at, t) print_row(l, t->id, t->size, 0, 0, t->path);
	vec_free(&table.at);
	src->ops->close(src);
	return err;
}

/* -i may name a binary. 1: it was one. */
static int list_binary(struct listing *l, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	char magic[4] = "";
	u8 id[KMAP_BUILD_ID_MAX];
	bool elf = pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && !memcmp(magic, "\177ELF", 4);
	unsigned size = elf ? kmap_file_build_id(fd, id) : 0;
	close(fd);
	if (!elf)
		return 0;
	if (!size)
		return diag_error(&l->app->diag, -ENOENT, "'%s' has no build id", path);
	if (l->app->json) {
		print_row(l, id, size, 0, 0, path);
		return 1;
	}
	struct buildid b = buildid_make(id, size);
	char text[BUILDID_TEXT];
	(void)buildid_text(&b, text);
	strbuf_printf(&l->app->out, "%s\n", text);
	return 1;
}

static int buildid_run(struct app *app, void *opts, int argc, char **argv)
{
	struct buildid_opts *o = opts;
	struct listing l = { .app = app };
	if (argc > 1)
		return app_usage(app, "one recording at a time: '%s' is left over", argv[1]);
	if (argc == 1)
		o->input = argv[0];
	json_begin(&l.json, &app->out, JSON_PRETTY);
	if (app->json)
		json_array(&l.json);
	int err;
	if (o->kernel || o->modules)
		err = list_kernel(&l, o->modules);
	else
		err = strcmp(o->input, "-") ? list_binary(&l, o->input) : 0;
	if (!err && !o->kernel && !o->modules)
		err = list_recording(&l, o);
	if (app->json) {
		json_array_end(&l.json);
		int end = json_end(&l.json);
		err = err < 0 ? err : end;
	}
	return err < 0 ? app_fail(app, err) : APP_DONE;
}

const struct command command_buildid_list = {
	.name = "buildid-list",
	.group = "Why",
	.summary = "list the build ids of the binaries in a recording",
	.usage = "[OPTIONS] [FILE]",
	.about = "Prints the id and path of every binary that a perf.data file (ours or perf's) lists. A recording without such a list "
		 "shows those in which samples lie.",
	.examples = buildid_examples,
	.opts = buildid_rows,
	.opts_size = sizeof(struct buildid_opts),
	.defaults = buildid_defaults,
	.mixed_words = true,
	.run = buildid_run,
};
