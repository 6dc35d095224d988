#include "tracing/which.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int ftrace_instances(const struct tracing *t, struct ftrace_names *ret)
{
	struct sysroot dir = { .dir_fd = t->dir };
	*ret = (struct ftrace_names){ 0 };
	arena_init(&ret->arena);
	DIR *d = sysroot_dir(&dir, "instances");
	int err = 0;
	for (struct dirent *e; d && !err && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		const char *name = arena_strdup(&ret->arena, e->d_name);
		const char **slot = name ? vec_push(&ret->list) : NULL;
		if (slot)
			*slot = name;
		else
			err = -ENOMEM;
	}
	if (d)
		(void)closedir(d);
	if (ret->list.nr)
		qsort(ret->list.at, ret->list.nr, sizeof(*ret->list.at), by_name);
	if (err)
		ftrace_names_done(ret);
	return err;
}

void ftrace_names_done(struct ftrace_names *n)
{
	vec_free(&n->list);
	arena_done(&n->arena);
}

static int each_instance(const struct tracing *t,
			 int (*fn)(void *ctx, const char *folder, const char *name), void *ctx)
{
	struct ftrace_names all;
	char folder[PATH_MAX];
	int err = ftrace_instances(t, &all);
	if (err)
		return err;
	for (size_t i = 0; i < all.list.nr && !err; i++) {
		(void)snprintf(folder, sizeof(folder), "instances/%s/", all.list.at[i]);
		err = fn(ctx, folder, all.list.at[i]);
	}
	ftrace_names_done(&all);
	return err;
}

int ftrace_which_each(const struct ftrace_which *w, const struct tracing *t,
		      int (*fn)(void *ctx, const char *folder, const char *name), void *ctx,
		      struct diag *d)
{
	char folder[PATH_MAX];
	int err = 0;
	if (w->top || (!w->all && !w->names.items.nr))
		err = fn(ctx, "", "");
	if (!err && w->all)
		return each_instance(t, fn, ctx);
	for (size_t i = 0; i < w->names.items.nr && !err; i++) {
		err = ftrace_folder(t, w->names.items.at[i], folder, sizeof(folder), d);
		if (!err)
			err = fn(ctx, folder, w->names.items.at[i]);
	}
	return err;
}
