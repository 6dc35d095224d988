#include "kern/cpu.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

static int read_set(const struct sysroot *r, const char *path, struct cpuset *ret)
{
	struct strbuf buf;
	strbuf_init(&buf);
	const char *line = sysroot_line(r, path, &buf);
	int err = line ? cpuset_parse_list(line, ret, NULL) : -ENOENT;
	strbuf_done(&buf);
	return err;
}

int cpu_online(const struct sysroot *r, struct cpuset *ret)
{
	int err = read_set(r, "sys/devices/system/cpu/online", ret);
	if (err != -ENOENT)
		return err;
	long nr = max(sysconf(_SC_NPROCESSORS_ONLN), 1l);
	cpuset_zero(ret);
	for (long cpu = 0; cpu < nr; cpu++)
		cpuset_add(ret, (unsigned)cpu);
	return 0;
}

u32 cpu_nr_present(const struct sysroot *r)
{
	struct cpuset set;
	u32 nr = 0;
	if (!read_set(r, "sys/devices/system/cpu/present", &set))
		for (int cpu = cpuset_next(&set, 0); cpu >= 0;
		     cpu = cpuset_next(&set, (unsigned)cpu + 1))
			nr = (u32)cpu + 1;
	return nr ? nr : (u32)max(sysconf(_SC_NPROCESSORS_CONF), 1l);
}

void cpu_visit(struct cpu_visit *v, int cpu)
{
	struct cpuset one = { 0 };
	if (cpu < 0)
		return;
	if (!v->away) {
		cpuset_zero(&v->home);
		if (sched_getaffinity(0, sizeof(v->home.bits), (cpu_set_t *)v->home.bits) < 0)
			return;
		v->away = true;
	}
	cpuset_add(&one, (unsigned)cpu);
	(void)!sched_setaffinity(0, sizeof(one.bits), (cpu_set_t *)one.bits);
}

void cpu_visit_end(struct cpu_visit *v)
{
	if (v->away)
		(void)!sched_setaffinity(0, sizeof(v->home.bits), (cpu_set_t *)v->home.bits);
	v->away = false;
}
