#include "session/source_text.h"
#include "base/str.h"
#include "base/foreign.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20 };

void source_text_done(struct source_text *s)
{
	vec_for_each (&s->files, f) {
		free(f->data);
		free(f->starts);
	}
	vec_free(&s->files);
	if (s->ready)
		strtab_done(&s->names);
	*s = (struct source_text){ 0 };
}

/* The path comes from debugging information: it may name anything. */
static bool is_called_source(const char *path)
{
	static const char *const suffixes[] = { "c",   "h",   "cc",  "hh",   "cpp", "hpp",  "cxx",
						"hxx", "inc", "inl", "tcc",  "ipp", "S",    "s",
						"asm", "rs",  "go",  "zig",  "d",   "f",    "f90",
						"m",   "mm",  "y",   "l",    "cu",  "java", "kt",
						"py",  "js",  "ts",  "swift" };
	const char *dot = strrchr(path, '.');
	for (size_t i = 0; dot && i < ARRAY_SIZE(suffixes); i++)
		if (!strcmp(dot + 1, suffixes[i]))
			return true;
	return false;
}

static char *read_file(const struct source_text *s, const char *path, size_t *size)
{
	_cleanup_close_ int fd = opener_open_path(s->opener, path, 0);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) || st.st_size > FILE_MAX)
		return NULL;
	if (s->for_sharing && (!(st.st_mode & S_IROTH) || !is_called_source(path)))
		return NULL;
	char *data = malloc((size_t)st.st_size + 1);
	ssize_t n = data ? pread(fd, data, (size_t)st.st_size, 0) : -1;
	if (n < 0) {
		free(data);
		return NULL;
	}
	*size = (size_t)n;
	return data;
}

static void load(const struct source_text *s, struct source_file *f, const char *path)
{
	size_t size;
	f->data = read_file(s, path, &size);
	if (!f->data)
		return;
	u32 lines = 1;
	for (size_t i = 0; i < size; i++)
		lines += f->data[i] == '\n';
	f->starts = malloc(((size_t)lines + 2) * sizeof(*f->starts));
	if (!f->starts)
		return;
	u32 at = 0;
	f->starts[at++] = 0;
	for (size_t i = 0; i < size; i++)
		if (f->data[i] == '\n')
			f->starts[at++] = (u32)i + 1;
	f->nr = f->starts[at - 1] == size ? at - 1 : at; /* the last line may have no end */
	if (f->nr == at)
		f->starts[at] = (u32)size + 1;
}

/* Where a path of the debugging information is here. false: too long. */
static bool path_here(const struct source_text *s, const char *path, char *to, size_t size)
{
	if (!s->prefix)
		return !str_path(to, size, "%s", path);
	for (u64 n = s->strip; *path == '/' && n; n--) {
		const char *next = strchr(path + 1, '/');
		if (!next)
			break;
		path = next;
	}
	return !str_path(to, size, "%s/%s", s->prefix, path);
}

const char *source_text_line(void *ctx, const char *path, u32 line, u32 *len)
{
	struct source_text *s = ctx;
	if (!s->ready)
		strtab_init(&s->names);
	s->ready = true;
	s64 id = strtab_add(&s->names, path, strlen(path));
	if (id < 0)
		return NULL;
	while (s->files.nr <= (size_t)id) {
		struct source_file *f = vec_push(&s->files);
		if (!f)
			return NULL;
		char here[PATH_MAX];
		if (s->files.nr - 1 == (size_t)id && path_here(s, path, here, sizeof(here)))
			load(s, f, here);
	}
	const struct source_file *f = &s->files.at[id];
	if (!line || line > f->nr)
		return NULL;
	u32 start = f->starts[line - 1], end = f->starts[line] - 1;
	if (end > start && f->data[end - 1] == '\r')
		end--;
	*len = end - start;
	return f->data + start;
}
