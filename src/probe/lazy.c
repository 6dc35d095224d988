#include "probe/lazy.h"
#include "base/foreign.h"
#include "base/glob.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOURCE_MAX = 64 << 20 };

/* ---- source files ---- */

static int read_text(const char *path, char **text)
{
	int fd = foreign_open(path, 0);
	if (fd < 0)
		return fd;
	struct strbuf s;
	strbuf_init(&s);
	ssize_t n = 1;
	while (n > 0 && s.len < SOURCE_MAX) {
		char *to = strbuf_room(&s, 1 << 16);
		n = to ? read(fd, to, 1 << 16) : -1;
		if (n > 0)
			strbuf_commit(&s, (size_t)n);
	}
	close(fd);
	if (n < 0) {
		int err = errno ? -errno : -EIO;
		strbuf_done(&s);
		return err;
	}
	strbuf_char(&s, '\0');
	*text = strbuf_steal(&s);
	return *text ? 0 : -ENOMEM;
}

static int try_path(const char *tree, const char *path, char **found, char **text)
{
	char full[PATH_MAX];
	int n = snprintf(full, sizeof(full), "%s%s%s", tree ? tree : "", tree ? "/" : "", path);
	if (n < 0 || n >= PATH_MAX)
		return -ENOENT;
	int err = read_text(full, text);
	if (err)
		return err;
	*found = strdup(full);
	if (*found)
		return 0;
	free(*text);
	return -ENOMEM;
}

int source_read(const struct probe_target *target, const char *folder, const char *path,
		char **found, char **text, struct diag *d)
{
	const char *tree = target->sources;
	char beside[PATH_MAX];
	int err = tree ? -ENOENT : try_path(NULL, path, found, text);
	int n = folder ? snprintf(beside, sizeof(beside), "%s/%s", folder, path) : -1;
	if (err && !tree && path[0] != '/' && n > 0 && n < PATH_MAX)
		err = try_path(NULL, beside, found, text);
	for (const char *rest = path; tree && err && err != -ENOMEM && rest;) {
		while (*rest == '/')
			rest++;
		err = try_path(tree, rest, found, text);
		rest = strchr(rest, '/');
	}
	if (!err || err == -ENOMEM)
		return err;
	diag_error(d, -ENOENT, "cannot find the source file '%s'%s%s", path, tree ? " below " : "",
		   tree ? tree : "");
	diag_hint(d, "-s names the folder that the sources are in");
	return -ENOENT;
}

/* ---- patterns ---- */

bool lazy_match(const char *line, const char *pattern)
{
	size_t n = strlen(line), k = strlen(pattern);
	_cleanup_free_ char *text = malloc(n + 1), *glob = malloc(k + 1);
	size_t at = 0, to = 0;
	if (!text || !glob)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isspace((u8)line[i]))
			text[at++] = line[i];
	text[at] = '\0';
	for (size_t i = 0; i < k; i++)
		if (!isspace((u8)pattern[i]))
			glob[to++] = pattern[i];
	glob[to] = '\0';
	return glob_match(glob, text);
}

int lazy_read(struct lazy_lines *l, const struct probe_target *target, const char *folder,
	      const char *path, const char *pattern, struct diag *d)
{
	char *found = NULL, *text = NULL;
	if (l->path && !strcmp(l->path, path))
		return 0;
	lazy_done(l);
	int err = source_read(target, folder, path, &found, &text, d);
	if (err)
		return err;
	free(found);
	l->path = strdup(path);
	if (!l->path)
		err = -ENOMEM;
	u32 number = 0;
	for (char *line = text, *end; line && *line && !err; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		number++;
		if (!lazy_match(line, pattern))
			continue;
		u32 *to = vec_push(&l->at);
		if (to)
			*to = number;
		else
			err = -ENOMEM;
	}
	free(text);
	return err;
}

bool lazy_has(const struct lazy_lines *l, u32 line)
{
	size_t lo = 0, hi = l->at.nr;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (l->at.at[mid] < line)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->at.nr && l->at.at[lo] == line;
}

void lazy_done(struct lazy_lines *l)
{
	free(l->path);
	vec_free(&l->at);
	l->path = NULL;
}
