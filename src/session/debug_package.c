#include "session/debug_package.h"
#include "base/str.h"

#include "base/opener.h"
#include "image/buildid.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_MAX = 256 << 20, PACKAGE_MAX = 128, PATHS_MAX = 64 };

/* A file on its way: as lists may spell it (Debian 12 still has /lib where files are in /usr/lib), and whose it is. */
struct package_asked {
	char lines[2][PATH_MAX + 2]; /* "\nPATH\n"; "": none */
	char owner[PACKAGE_MAX];
	char id[BUILDID_TEXT]; /* build ID; "": not known */
	char symbols[PACKAGE_MAX]; /* the package that has its symbols, by build ID; "": not found */
};

static void spell(struct package_asked *a, const char *path)
{
	static const char *const merged[] = { "/bin/", "/sbin/", "/lib" };
	bool below = !strncmp(path, "/usr/", 5);
	const char *short_path = below ? path + 4 : path;
	bool both = false;
	for (size_t i = 0; i < ARRAY_SIZE(merged); i++)
		both |= !strncmp(short_path, merged[i], strlen(merged[i]));
	if (strlen(path) >= PATH_MAX - 8 || strchr(path, '\n'))
		return;
	(void)snprintf(a->lines[0], sizeof(a->lines[0]), "\n%s\n", path);
	if (both)
		(void)snprintf(a->lines[1], sizeof(a->lines[1]), "\n%s%s\n", below ? "" : "/usr",
			       short_path);
}

/* The whole list, between two line ends; NULL: not a plain file, or too long. */
static char *read_list(int dir, const char *name, size_t *size)
{
	struct stat st;
	_cleanup_close_ int fd =
		openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > LIST_MAX)
		return NULL;
	size_t want = (size_t)st.st_size, got = 0;
	char *text = malloc(want + 2);
	if (!text)
		return NULL;
	text[0] = '\n';
	while (got < want) {
		ssize_t n = read(fd, text + 1 + got, want - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	text[1 + got] = '\n';
	*size = got + 2;
	return text;
}

/* "libc6:amd64.list" is of libc6. What goes into a command line is checked: Debian's names are lower case letters, digits, + - and . */
static bool package_of_list(const char *name, char to[PACKAGE_MAX])
{
	size_t len = strcspn(name, ":"), whole = strlen(name);
	if (whole < 6 || strcmp(name + whole - 5, ".list"))
		return false;
	len = min(len, whole - 5);
	if (!len || len >= PACKAGE_MAX || !isalnum((unsigned char)name[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!islower((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) &&
		    !strchr("+-.", name[i]))
			return false;
	memcpy(to, name, len);
	to[len] = '\0';
	return true;
}

static void find_in_list(struct package_asked *asked, size_t nr, int dir, const char *name,
			 const char *package)
{
	size_t size = 0;
	_cleanup_free_ char *text = read_list(dir, name, &size);
	for (size_t i = 0; text && i < nr; i++)
		for (int k = 0; k < 2 && !asked[i].owner[0]; k++)
			if (asked[i].lines[k][0] &&
			    memmem(text, size, asked[i].lines[k], strlen(asked[i].lines[k])))
				(void)snprintf(asked[i].owner, sizeof(asked[i].owner), "%s",
					       package);
}

/* Python's own source builds one package for all of its programs and modules; the C library's is older than the -dbgsym rule. */
static void debug_name(const char *owner, char to[PACKAGE_MAX + 16])
{
	const char *python = !strncmp(owner, "libpython3.", 11) ? owner + 3 : owner;
	size_t version = !strncmp(python, "python3.", 8) ? 8 + strspn(python + 8, "0123456789") : 0;
	if (version > 8 && (!python[version] || python[version] == '-'))
		(void)snprintf(to, PACKAGE_MAX + 16, "%.*s-dbg", (int)version, python);
	else if (!strcmp(owner, "libc6") || !strncmp(owner, "linux-image-", 12))
		(void)snprintf(to, PACKAGE_MAX + 16, "%s-dbg", owner);
	else
		(void)snprintf(to, PACKAGE_MAX + 16, "%s-dbgsym", owner);
}

static bool is_installed(int dir, const char *package)
{
	char name[PACKAGE_MAX + 32];
	static const char *const kinds[] = { ".list", ":amd64.list", ":arm64.list" };
	bool there = false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		(void)snprintf(name, sizeof(name), "%s%s", package, kinds[i]);
		there |= !faccessat(dir, name, F_OK, 0);
	}
	return there;
}

/* ---- by build ID ------------------------------------------------------------------------------------------------ */

static void read_id(struct package_asked *a, const char *root, const char *path,
		    struct opener *opener)
{
	char full[PATH_MAX];
	struct elfimg e;
	struct buildid id;
	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full) ||
	    elfimg_open(&e, full, opener))
		return;
	if (!buildid_of_image(&e, &id))
		(void)buildid_text(&id, a->id);
	elfimg_close(&e);
}

/* What Debian calls packages; it goes into a command line. */
static bool is_package(const char *name, size_t len)
{
	bool good = len > 1 && len < PACKAGE_MAX && isalnum((unsigned char)name[0]);
	for (size_t i = 0; i < len && good; i++)
		good = islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]) ||
		       strchr("+-.", name[i]);
	return good;
}

/* A list of packages that apt has fetched: "Package: NAME" begins an entry, "Build-Ids: ID ID ..." is one of its lines. */
static void find_id(struct package_asked *a, const char *text, size_t size)
{
	static const char head[] = "\nPackage: ", ids[] = "\nBuild-Ids: ";
	const char *at = a->id[0] ? memmem(text, size, a->id, strlen(a->id)) : NULL;
	const char *line = at ? memrchr(text, '\n', (size_t)(at - text)) : NULL;
	if (!line || strncmp(line, ids, sizeof(ids) - 1))
		return;
	const char *entry = line;
	while (entry && strncmp(entry, head, sizeof(head) - 1) && entry[1] != '\n')
		entry = memrchr(text, '\n', (size_t)(entry - text));
	if (!entry || strncmp(entry, head, sizeof(head) - 1))
		return;
	const char *name = entry + sizeof(head) - 1;
	size_t len = strcspn(name, "\n");
	if (is_package(name, len))
		(void)snprintf(a->symbols, sizeof(a->symbols), "%.*s", (int)len, name);
}

/* Only lists of archives with debugging symbols; those that apt keeps packed are passed over. */
static void find_ids(struct package_asked *asked, size_t nr, const char *root)
{
	char folder[PATH_MAX];
	(void)snprintf(folder, sizeof(folder), "%s/var/lib/apt/lists", root);
	DIR *dir = opendir(folder);
	for (const struct dirent *e; dir && (e = readdir(dir));) {
		size_t len = strlen(e->d_name), size = 0;
		if (!strstr(e->d_name, "debug") || len < 9 ||
		    strcmp(e->d_name + len - 9, "_Packages"))
			continue;
		_cleanup_free_ char *text = read_list(dirfd(dir), e->d_name, &size);
		for (size_t i = 0; text && i < nr; i++)
			find_id(&asked[i], text, size);
	}
	if (dir)
		closedir(dir);
}

/* Whether `word` is one of the words there. */
static bool has_word(struct strbuf *s, size_t from, const char *word)
{
	const char *at = strbuf_cstr(s) + from;
	size_t len = strlen(word);
	for (; (at = strstr(at, word)); at += len)
		if ((at == strbuf_cstr(s) + from || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

size_t debug_packages(const char *root, const char *const *paths, size_t nr, struct strbuf *to)
{
	char folder[PATH_MAX], package[PACKAGE_MAX], name[PACKAGE_MAX + 16];
	nr = min(nr, (size_t)PATHS_MAX);
	_cleanup_free_ struct package_asked *asked = calloc(nr + 1, sizeof(*asked));
	bool fits = !str_path(folder, sizeof(folder), "%s/var/lib/dpkg/info", root);
	DIR *dir = nr && asked && fits ? opendir(folder) : NULL;
	if (!dir)
		return 0;
	struct opener *opener = opener_new(NULL);
	for (size_t i = 0; i < nr; i++) {
		spell(&asked[i], paths[i]);
		if (opener)
			read_id(&asked[i], root, paths[i], opener);
	}
	opener_free(opener);
	find_ids(asked, nr, root);
	for (const struct dirent *e; (e = readdir(dir));)
		if (package_of_list(e->d_name, package))
			find_in_list(asked, nr, dirfd(dir), e->d_name, package);
	size_t from = to->len, found = 0;
	for (size_t i = 0; i < nr; i++) {
		if (asked[i].symbols[0])
			(void)snprintf(name, sizeof(name), "%s", asked[i].symbols);
		else if (asked[i].owner[0])
			debug_name(asked[i].owner, name);
		else
			continue;
		if (is_installed(dirfd(dir), name) || has_word(to, from, name))
			continue;
		strbuf_printf(to, "%s%s", found++ ? " " : "", name);
	}
	closedir(dir);
	return found;
}
