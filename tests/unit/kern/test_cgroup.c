/* Which hierarchy events are counted by, and its groups, under roots that the test makes. */
#include "kern/cgroup.h"
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sonde-cgroup.XXXXXX";

static void make(const char *path)
{
	char full[256];
	snprintf(full, sizeof(full), "%s/%s", dir, path);
	for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		(void)mkdir(full, 0755);
	}
	(void)mkdir(full, 0755);
}

static void mounts(const char *text)
{
	char full[256];
	snprintf(full, sizeof(full), "%s/proc/self/mounts", dir);
	FILE *f = fopen(full, "w");
	fputs(text, f);
	fclose(f);
}

static void root_is(const struct sysroot *r, const char *want, const char *what)
{
	struct strbuf s;
	struct diag d;
	strbuf_init(&s);
	diag_init(&d);
	int err = cgroup_root(r, &s, &d);
	if (want)
		is_str(err ? "(failed)" : strbuf_cstr(&s), want, what);
	else
		ok(err && d.nr_errors == 1, "%s", what);
	diag_done(&d);
	strbuf_done(&s);
}

int main(void)
{
	struct sysroot r;
	struct diag d;
	if (!mkdtemp(dir))
		return 1;
	make("proc/self");
	make("v2/system.slice/ssh.service");
	make("v2/user.slice");
	make("v1/perf_event/docker");
	if (sysroot_open(&r, dir))
		return 1;
	mounts("none /v2 cgroup2 rw 0 0\n");
	root_is(&r, "v2", "v2 alone");
	mounts("none /v2 cgroup2 rw 0 0\ncgroup /v1/cpu cgroup rw,cpu 0 0\n");
	root_is(&r, "v2", "v1 without perf_event does not count");
	mounts("none /v2 cgroup2 rw 0 0\ncgroup /v1/perf_event cgroup rw,relatime,perf_event 0 "
	       "0\n");
	root_is(&r, "v1/perf_event", "v1's perf_event takes the controller from v2");
	mounts("proc /proc proc rw 0 0\nshort\n");
	root_is(&r, NULL, "neither: said");

	mounts("none /v2 cgroup2 rw 0 0\n");
	diag_init(&d);
	int fd = cgroup_open(&r, "/", &d);
	ok(fd >= 0, "the root");
	close(fd);
	fd = cgroup_open(&r, "system.slice/ssh.service", &d);
	ok(fd >= 0, "a group by its path");
	close(fd);
	ok(cgroup_open(&r, "nosuch", &d) < 0 && d.nr_errors == 1, "a missing one is said");
	struct cgroup_names names = { 0 };
	ok(!cgroup_match(&r, "*.slice", &names, &d) && names.list.nr == 2, "a pattern");
	ok(cgroup_match(&r, "x*", &names, &d) < 0, "a pattern that fits nothing");
	cgroup_names_done(&names);
	diag_done(&d);
	sysroot_close(&r);
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ok(!system(command), "cleaned up");
	return done_testing();
}
