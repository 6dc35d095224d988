#include "session/debug_server.h"
#include "base/str.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STALL_SECONDS = 10, TOTAL_SECONDS = 120, URLS_MAX = 8192 };

/* ---- the cache folder ------------------------------------------------------------------------------------------- */

/* Only root and we can change what the path leads to: none of its folders is another's, or open to others, or a link. */
static bool is_ours(const char *path)
{
	char part[PATH_MAX];
	struct stat st;
	size_t len = strlen(path);
	if (path[0] != '/' || len >= sizeof(part))
		return false;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i])
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (lstat(part, &st) || !S_ISDIR(st.st_mode) ||
		    (st.st_uid && st.st_uid != geteuid()) ||
		    (st.st_mode & 022 && !(st.st_mode & S_ISVTX)))
			return false;
	}
	return true;
}

/* Makes what is missing of a path below its first `base` bytes, one folder at least, each in one that is ours. */
static bool ensure(char *path, size_t base)
{
	char *slash = strrchr(path, '/');
	if (is_ours(path))
		return true;
	if (!slash || slash == path)
		return false;
	*slash = '\0';
	bool good = is_ours(path) || ((size_t)(slash - path) > base && ensure(path, base));
	*slash = '/';
	return good && !mkdir(path, 0700) && is_ours(path);
}

static bool make_folder(const char *base, const char *below, char to[PATH_MAX])
{
	return base && base[0] == '/' && !str_path(to, PATH_MAX, "%s%s", base, below) &&
	       ensure(to, strlen(base));
}

/* Where root's client keeps its files: where it would itself, or in root's own folder where that is not root's alone. */
static bool choose_folder(char to[PATH_MAX])
{
	const char *own = secure_getenv("DEBUGINFOD_CACHE_PATH"),
		   *xdg = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");
	bool good = own && *own	  ? make_folder(own, "", to)
		    : xdg && *xdg ? make_folder(xdg, "/debuginfod_client", to)
				  : make_folder(home, "/.cache/debuginfod_client", to);
	if (good)
		return true;
	const struct passwd *pw = getpwuid(0);
	return make_folder(pw ? pw->pw_dir : NULL, "/.cache/debuginfod_client", to);
}

/* ---- the servers ------------------------------------------------------------------------------------------------ */

/* Those that are servers. */
static bool choose_urls(const char *urls, char to[URLS_MAX])
{
	to[0] = '\0';
	if (strlen(urls) >= URLS_MAX)
		return false;
	for (const char *at = urls; *at;) {
		at += strspn(at, " ");
		size_t len = strcspn(at, " ");
		bool server = !strncmp(at, "http://", 7) || !strncmp(at, "https://", 8);
		if (len && server)
			(void)snprintf(to + strlen(to), URLS_MAX - strlen(to), "%s%.*s",
				       to[0] ? " " : "", (int)len, at);
		at += len;
	}
	return to[0] != '\0';
}

static u64 stall_ns(void)
{
	const char *text = secure_getenv("DEBUGINFOD_TIMEOUT");
	char *end;
	unsigned long seconds = text && *text ? strtoul(text, &end, 10) : 0;
	return (seconds && seconds < STALL_SECONDS * 100 ? seconds : STALL_SECONDS) * 1000000000ull;
}

struct debugfile_fetch *debug_server(struct debug_server *s, struct diag *d)
{
	char folder[PATH_MAX], urls[URLS_MAX];
	const char *told = secure_getenv("DEBUGINFOD_URLS");
	if (s->asked || !told || !*told)
		return s->fetch;
	s->asked = true;
	bool root = !geteuid();
	if (root && !choose_urls(told, urls))
		return NULL;
	if (root && !choose_folder(folder)) {
		diag_note(d, "DEBUGINFOD_URLS is ignored: the directory for its files is writable "
			     "by others");
		diag_hint(d, "set DEBUGINFOD_CACHE_PATH to another one");
		return NULL;
	}
	if (root &&
	    (setenv("DEBUGINFOD_URLS", urls, 1) || setenv("DEBUGINFOD_CACHE_PATH", folder, 1)))
		return NULL;
	s->fetch = debuginfod_new(
		&(struct debuginfod_config){ .stall_ns = stall_ns(),
					     .total_ns = TOTAL_SECONDS * 1000000000ull,
					     .progress = s->progress,
					     .ctx = s->ctx });
	return s->fetch;
}
