/* Packages with the symbols of stripped files, out of a made-up database of installed packages. */
#include "tap.h"

#include "session/debug_package.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/sonde-dpkg.XXXXXX";

static void list(const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/var/lib/dpkg/info/%s", root, name);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0)
		printf("# cannot write %s\n", path);
	if (f)
		fclose(f);
}

static void named(const char *const *paths, size_t nr, const char *want, const char *what)
{
	struct strbuf s;
	strbuf_init(&s);
	size_t found = debug_packages(root, paths, nr, &s);
	is_str(strbuf_cstr(&s), want, what);
	ok(!found == !want[0], "... and counted");
	strbuf_done(&s);
}

#define NAMED(want, what, ...)                                                                     \
	named((const char *const[]){ __VA_ARGS__ },                                                \
	      sizeof((const char *const[]){ __VA_ARGS__ }) / 8, want, what)

int main(void)
{
	char path[256] = "";
	if (!mkdtemp(root))
		return 1;
	static const char *const folders[] = { "/var", "/var/lib", "/var/lib/dpkg",
					       "/var/lib/dpkg/info" };
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		(void)mkdir(path, 0700);
	}
	list("libc6:amd64.list", "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n");
	list("python3.11-minimal.list", "/.\n/usr/bin/python3.11\n/usr/bin/python3.11-config\n");
	list("libpython3.11-stdlib:amd64.list", "/usr/lib/python3.11/lib-dynload/_json.so\n");
	list("python3-apt.list", "/usr/lib/python3/apt_pkg.so\n");
	list("zsh.list", "/bin/zsh");
	list("coreutils.list", "/.\n/bin/ls\n");
	list("linux-perf.list", "/usr/bin/perf_6.1\n");
	list("linux-perf-dbgsym.list", "/usr/lib/debug/.build-id/aa/bb.debug\n");
	list("evil;reboot.list", "/usr/bin/evil\n");
	list("README", "/usr/bin/other\n");

	NAMED("libc6-dbg", "libc, listed without /usr", "/usr/lib/x86_64-linux-gnu/libc.so.6");
	NAMED("python3.11-dbg", "one package for Python and its modules", "/usr/bin/python3.11",
	      "/usr/lib/python3.11/lib-dynload/_json.so");
	NAMED("python3-apt-dbgsym", "but not for what is only called so",
	      "/usr/lib/python3/apt_pkg.so");
	NAMED("coreutils-dbgsym libc6-dbg", "several", "/usr/bin/ls",
	      "/lib/x86_64-linux-gnu/libc.so.6");
	NAMED("", "a file that begins like another's", "/usr/bin/python3", "/usr/bin/python3.1");
	NAMED("zsh-dbgsym", "the last line has no end", "/bin/zsh");
	NAMED("", "what is installed already", "/usr/bin/perf_6.1");
	NAMED("", "a package's name that is none is not handed on", "/usr/bin/evil");
	NAMED("", "not a list", "/usr/bin/other");
	NAMED("", "a path with a line end", "/bin\n/bin/ls");
	snprintf(path, sizeof(path), "rm -r %s", root);
	if (system(path))
		printf("# %s is left\n", root);
	is_u64(debug_packages(root, (const char *const[]){ "/bin/ls" }, 1, &(struct strbuf){ 0 }),
	       0, "no database");
	return done_testing();
}
