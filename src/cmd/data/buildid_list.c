/* sonde buildid-list: which binaries a recording has seen, each with the id that tells its build. */
#include "cmd/data/buildid_list.h"
#include "base/json.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "session/recorded_ids.h"
#include "image/buildid.h"
#include "kern/kmap.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const struct opt buildid_rows[] = {
	OPT_STR('i', "input", struct buildid_opts, input, "FILE",
		"recording to read (perf.data), or a binary"),
	OPT_FLAG('H', "with-hits", struct buildid_opts, hits, "only binaries with samples"),
	OPT_FLAG('k', "kernel", struct buildid_opts, kernel,
		 "print the running kernel's build ID instead"),
	OPT_FLAG('m', "kernel-maps", struct buildid_opts, modules,
		 "the running kernel and its modules, with their addresses"),
	OPT_FLAG('f', "force", struct buildid_opts, force,
		 "accepted; file ownership is never checked", .hidden = true),
	OPT_END(),
};

static const struct opt_example buildid_examples[] = {
	{ "buildid-list", "the binaries that ./perf.data mentions" },
	{ "buildid-list -H -i FILE", "only binaries with samples" },
	{ "buildid-list -i /bin/ls", "the build ID of one binary" },
	{ "buildid-list -k", "the running kernel's" },
	{ 0 },
};

static void buildid_defaults(void *opts)
{
	((struct buildid_opts *)opts)->input = "perf.data";
}

struct id_listing {
	struct app *app;
	const struct buildid_opts *o;
	struct json json;
};

/* end 0: no addresses. */
static void print_row(struct id_listing *l, const u8 *id, size_t size, u64 start, u64 end,
		      const char *name)
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
		strbuf_printf(&l->app->out, " %16llx %16llx", (unsigned long long)start,
			      (unsigned long long)end);
	strbuf_char(&l->app->out, ' ');
	printable_name(&l->app->out, name);
	strbuf_char(&l->app->out, '\n');
}

/* ---- the running kernel ---- */

struct module_list {
	VEC(struct kernel_module) at;
	struct arena names;
};

static int keep_module(void *ctx, const struct kernel_module *m)
{
	struct module_list *list = ctx;
	struct kernel_module *kept = vec_push(&list->at);
	if (!kept)
		return -ENOMEM;
	*kept = *m;
	if (m->path) {
		kept->path = arena_strdup(&list->names, m->path);
	} else {
		size_t size = strlen(m->name) + sizeof("[]");
		char *name = arena_alloc(&list->names, size);
		if (name)
			snprintf(name, size, "[%s]", m->name);
		kept->path = name;
	}
	return kept->path ? 0 : -ENOMEM;
}

static int by_start(const void *a, const void *b)
{
	const struct kernel_module *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* In the order of their addresses; /proc/modules has the last loaded first. */
static int list_modules(struct id_listing *l, const struct sysroot *root)
{
	struct module_list list = { 0 };
	struct utsname name;
	arena_init(&list.names);
	int err = uname(&name) ? -errno : kmap_modules(root, name.release, keep_module, &list);
	if (list.at.nr)
		qsort(list.at.at, list.at.nr, sizeof(*list.at.at), by_start);
	for (size_t i = 0; i < list.at.nr && !err; i++) {
		const struct kernel_module *m = &list.at.at[i];
		print_row(l, m->build_id, m->build_id_size, m->start, m->start + m->size_bytes,
			  m->path);
	}
	vec_free(&list.at);
	arena_done(&list.names);
	return err == -ENOENT ? 0 : err;
}

static int list_kernel_of(struct id_listing *l, const struct sysroot *root, bool modules)
{
	u8 id[KMAP_BUILD_ID_MAX];
	unsigned size = kmap_kernel_build_id(root, id);
	if (!size)
		return diag_error(
			&l->app->diag, -ENOENT,
			"the running kernel does not expose its build ID (/sys/kernel/notes)");
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
	if (kmap_text(root, &text))
		text = (struct kernel_text){ 0 };
	print_row(l, id, size, text.start, text.end, "[kernel.kallsyms]");
	return list_modules(l, root);
}

static int list_kernel(struct id_listing *l, bool modules)
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

static int print_recorded(void *ctx, const struct recorded_id *r)
{
	const struct id_listing *l = ctx;
	if (!r->by_hits || (r->guest ? !l->o->no_guest : !l->o->no_host))
		print_row(ctx, r->id, r->size, 0, 0, r->path);
	return 0;
}

static int list_recording(struct id_listing *l, const struct buildid_opts *o)
{
	struct source *src;
	int err = replay_perf_open(o->input, &src, &l->app->diag);
	if (err)
		return err;
	err = recorded_ids(src, o->hits ? RECORDED_HIT : RECORDED_ALL, print_recorded, l,
			   &l->app->diag);
	src->ops->close(src);
	return err;
}

/* -i may name a binary. 1: it was one. */
static int list_binary(struct id_listing *l, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	char magic[4] = "";
	u8 id[KMAP_BUILD_ID_MAX];
	bool elf =
		pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && !memcmp(magic, "\177ELF", 4);
	unsigned size = elf ? kmap_file_build_id(fd, id) : 0;
	close(fd);
	if (!elf)
		return 0;
	if (!size)
		return diag_error(&l->app->diag, -ENOENT, "'%s' has no build ID", path);
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
	struct id_listing l = { .app = app, .o = o };
	if (!o->sides_given)
		o->no_guest = app->dialect->hides_guests;
	if (argc > 1)
		return app_usage(app, "unexpected argument '%s': only one recording at a time",
				 argv[1]);
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
	.summary = "list the build IDs of the binaries in a recording",
	.usage = "[OPTIONS] [FILE]",
	.about =
		"Prints the build ID and path of every binary listed in a perf.data file (ours or "
		"perf's). For a recording without such a list, it shows the binaries with samples.",
	.examples = buildid_examples,
	.opts = buildid_rows,
	.opts_size = sizeof(struct buildid_opts),
	.defaults = buildid_defaults,
	.mixed_words = true,
	.run = buildid_run,
};
