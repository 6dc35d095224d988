#include "kern/cpu.h"

#include <errno.h>
#include <unistd.h>

static int read_set(const struct sysroot *r, const char *path, struct cpuset *ret)
{
	struct strbuf buf;
	strbuf_init(&buf);
	const char *line = sysroot_line(r, path, &buf);
	int err = line ? cpuset_parse(ret, line) : -ENOENT;
	strbuf_done(&buf);
	return err;
}

int cpu_online(const struct sysroot *r, struct cpuset *ret)
{
	struct cpuset set = { 0 };
	int err = read_set(r, "sys/devices/system/cpu/online", &set);
	if (err == -ENOENT) {
		long nr = sysconf(_SC_NPROCESSORS_ONLN);
		err = 0;
		for (long cpu = 0; cpu < max(nr, 1l) && !err; cpu++)
			err = cpuset_add(&set, (u32)cpu);
	}
	if (err) {
		cpuset_done(&set);
		return err;
	}
	*ret = set;
	return 0;
}

u32 cpu_nr_present(const struct sysroot *r)
{
	struct cpuset set = { 0 };
	u32 nr = 0;
	if (!read_set(r, "sys/devices/system/cpu/present", &set) && set.cpus.nr)
		nr = set.cpus.at[set.cpus.nr - 1] + 1;
	cpuset_done(&set);
	if (!nr)
		nr = (u32)max(sysconf(_SC_NPROCESSORS_CONF), 1l);
	return nr;
}
