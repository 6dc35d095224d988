/* Packages with the symbols of stripped files, out of a made-up database of installed packages. */
#include "tap.h"

#include "session/debug_package.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/sonde-dpkg.XXXXXX";

static void text_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s%s/%s", root, folder, name);
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0)
		printf("# cannot write %s\n", path);
	if (f)
		fclose(f);
}

static void list(const char *name, const char *text)
{
	text_file("/var/lib/dpkg/info", name, text);
}

/* A program that is nothing but its build ID: 20 times the byte. */
static void program(const char *name, u8 byte)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment;
		Elf64_Nhdr note;
		char owner[4];
		u8 id[20];
	} elf = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(Elf64_Ehdr),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1 },
		.segment = { .p_type = PT_NOTE,
			     .p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
			     .p_filesz = sizeof(Elf64_Nhdr) + 24,
			     .p_memsz = sizeof(Elf64_Nhdr) + 24,
			     .p_align = 4 },
		.note = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID },
		.owner = "GNU",
	};
	char path[256];
	memset(elf.id, byte, sizeof(elf.id));
	snprintf(path, sizeof(path), "%s/%s", root, name);
	FILE *f = fopen(path, "w");
	if (!f || fwrite(&elf, sizeof(elf), 1, f) != 1)
		printf("# cannot write %s\n", path);
	if (f)
		fclose(f);
}

#define ID(b) b b b b b b b b b b b b b b b b b b b b

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

/* An archive with debugging symbols that apt knows. */
static void by_build_id(void)
{
	static const char lists[] = "/var/lib/apt/lists";
	program("tool", 0xab);
	program("other", 0xcd);
	program("evil", 0xef);
	list("tools.list", "/tool\n/other\n/evil\n");
	NAMED("tools-dbgsym", "without a list by build ID: by name", "/tool");
	text_file(
		lists, "deb.debian.org_debian-debug_dists_x-debug_main_binary-amd64_Packages",
		"Package: first-dbgsym\nBuild-Ids: 1111\nSize: 1\n\n"
		"Package: tools-bin-dbgsym\nArchitecture: amd64\nBuild-Ids: 0123 " ID(
			"ab") "\nSize: 2\n\nPackage: words\nDescription: " ID("cd") "\n\n"
										    "Package: "
										    "evil;"
										    "reboot\nBuild-"
										    "Ids: " ID(
											    "ef") "\n");
	text_file(lists, "deb.debian.org_debian_dists_x_main_binary-amd64_Packages",
		  "Package: wrong\nBuild-Ids: " ID("cd") "\n");
	NAMED("tools-bin-dbgsym", "the package that has the build ID", "/tool");
	NAMED("tools-dbgsym", "an ID elsewhere in an entry does not count", "/other");
	NAMED("tools-dbgsym", "nor does a name that is none", "/evil");
}

int main(void)
{
	char path[256] = "";
	if (!mkdtemp(root))
		return 1;
	static const char *const folders[] = { "/var",		"/var/lib",
					       "/var/lib/dpkg", "/var/lib/dpkg/info",
					       "/var/lib/apt",	"/var/lib/apt/lists" };
	for (size_t i = 0; i < 6; i++) {
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
	by_build_id();
	snprintf(path, sizeof(path), "rm -r %s", root);
	if (system(path))
		printf("# %s is left\n", root);
	is_u64(debug_packages(root, (const char *const[]){ "/bin/ls" }, 1, &(struct strbuf){ 0 }),
	       0, "no database");
	return done_testing();
}
