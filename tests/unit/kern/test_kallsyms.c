/* kern/kallsyms: texts from a fake root, and the cache that lives as long as a boot. */
#include "tap.h"

#include "base/types.h"
#include "kern/kallsyms.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sonde-kallsyms-test-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (char *p = path + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	FILE *f = fopen(path, "w");
	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

static void reads(const char *cache, const char *want, const char *what)
{
	struct kallsyms_text t;
	int err = kallsyms_read(dir, cache, &t);
	ok(!err && t.len == strlen(want) && !memcmp(t.data, want, t.len), "%s", what);
	if (!err)
		kallsyms_text_done(&t);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	char cache[256], cmd[300];
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	(void)mkdir(cache, 0700);
	struct kallsyms_text t;
	ok(kallsyms_read(dir, NULL, &t) == -ENOENT, "no such file");
	put("proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
	put("proc/modules", "a 1 0 - Live 0x1000\n");
	put("proc/kallsyms", "0000000000000000 T hidden\n");
	reads(cache, "0000000000000000 T hidden\n", "hidden addresses are read");
	put("proc/kallsyms", "0000000000001000 T first\n");
	reads(cache, "0000000000001000 T first\n", "but not kept");
	put("proc/kallsyms", "0000000000001000 T second\n");
	reads(cache, "0000000000001000 T first\n", "real ones are kept");
	reads(NULL, "0000000000001000 T second\n", "without a cache they are read anew");
	put("proc/modules", "b 1 0 - Live 0x2000\n");
	reads(cache, "0000000000001000 T second\n", "another set of modules, another list");
	put("proc/kallsyms", "0000000000001000 T third\n");
	put("proc/sys/kernel/random/boot_id", "99999999-2222-3333-4444-555555555555\n");
	reads(cache, "0000000000001000 T third\n", "another boot, another list");
	snprintf(cmd, sizeof(cmd), "test $(ls %s | wc -l) = 1", cache);
	ok(system(cmd) == 0, "lists of other boots are gone");
	put("proc/kallsyms", "0000000000001000 T fourth\n");
	reads(cache, "0000000000001000 T third\n", "a list of our own is believed");
	snprintf(cmd, sizeof(cmd), "chown 65534 %s/*", cache);
	if (geteuid() || system(cmd))
		skip("a list that somebody else wrote is not", "not root");
	else
		reads(cache, "0000000000001000 T fourth\n",
		      "a list that somebody else wrote is not");
	ok(!kallsyms_read_modules(dir, &t) && !memcmp(t.data, "b 1", 3), "modules");
	kallsyms_text_done(&t);
	ok(kallsyms_read_notes(dir, &t) == -ENOENT, "no notes here");
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd) ? 1 : done_testing();
}
