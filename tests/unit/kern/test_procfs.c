/* Processes, CPUs, machine, kernel maps and rights from the fake roots of tests/data/sysroot. */
#include "kern/caps.h"
#include "kern/cpu.h"
#include "kern/kmap.h"
#include "kern/machine.h"
#include "kern/procfs.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <sys/mman.h>
#include <unistd.h>

static struct sysroot root_of(const char *name)
{
	struct sysroot r;
	char path[1024];
	snprintf(path, sizeof(path), "%s/sysroot/%s", TEST_DATA, name);
	if (sysroot_open(&r, path))
		printf("Bail out! no %s\n", path);
	return r;
}

struct seen_maps {
	struct proc_map m[8];
	char path[8][64];
	size_t nr;
};

static int see_map(void *ctx, const struct proc_map *m)
{
	struct seen_maps *s = ctx;
	s->m[s->nr] = *m;
	snprintf(s->path[s->nr++], 64, "%s", m->path);
	return s->nr == 8 ? -E2BIG : 0;
}

static void test_procfs(void)
{
	struct sysroot r = root_of("epyc2");
	struct procfs p;
	procfs_init(&p, &r);
	s32 *ids;
	size_t nr;
	ok(!procfs_pids(&p, &ids, &nr) && nr == 3 && ids[0] == 1 && ids[1] == 2 && ids[2] == 4242,
	   "processes, ascending, numbers only");
	ok(!procfs_tids(&p, 4242, &ids, &nr) && nr == 2 && ids[1] == 4243, "threads");
	ok(procfs_tids(&p, 5, &ids, &nr) == -ESRCH, "threads of a process that is gone");
	struct proc_task t;
	ok(!procfs_task(&p, 4242, 4242, &t), "a leader");
	is_str(t.comm, "odd) S 7 (name", "a name with parentheses");
	ok(t.ppid == 1 && t.nr_threads == 2 && !t.kernel_thread,
	   "parent, threads, not the kernel's");
	ok(!procfs_task(&p, 4242, 4243, &t) && t.tid == 4243 && !strcmp(t.comm, "worker"),
	   "a thread");
	ok(!procfs_task(&p, 2, 2, &t) && t.kernel_thread && !strcmp(t.comm, "kthreadd"),
	   "a kernel thread");
	ok(procfs_task(&p, 7, 7, &t) == -ESRCH, "one that is gone");
	s32 id = 0;
	ok(!procfs_tgid(&p, 4242, &id) && id == 4242, "thread group");
	ok(!procfs_nspid(&p, 4242, &id) && id == 17, "id in its own namespace");
	ok(!procfs_outer_pid(&p, 17, &id) && id == 4242, "and from there to the id here");
	ok(procfs_outer_pid(&p, 4242, &id) == -ESRCH && id == 4242, "an id that no container has");
	struct seen_maps s = { 0 };
	ok(!procfs_maps(&p, 4242, see_map, &s) && s.nr == 6, "six mappings");
	ok(s.m[1].start == 0x55d0a3c01000 && s.m[1].end == 0x55d0a3c02000 &&
		   s.m[1].file_offset == 0x1000,
	   "addresses");
	ok(s.m[1].prot == (PROT_READ | PROT_EXEC) && !s.m[1].shared && s.m[1].dev_major == 0xfe &&
		   s.m[1].inode == 10986121,
	   "protection and inode");
	is_str(s.path[1], "/tmp/live/hot", "path");
	is_str(s.path[3], "", "anonymous memory has no path");
	is_str(s.path[4], "/opt/a name with blanks (deleted)", "a path with blanks");
	ok(s.m[4].shared && s.m[4].dev_major == 0x103 && s.m[4].dev_minor == 5,
	   "shared, a wide device number");
	ok(s.m[5].start == 0xffffffffff600000, "the highest mapping");
	char broken[][64] = {
		"", "zz", "10-", "10-20 rw", "10-20 r-xp 0 fe:00", "10-20 r-xp 0 fe:00 x y"
	};
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct proc_map m;
		ok(!procfs_parse_map(broken[i], broken[i] + strlen(broken[i]), &m),
		   "broken map line %zu", i);
	}
	static const char *const stats[] = { "", "1", "1 (a", "1 (a) S", "1 (a) S 2 3 4 5 6", ") (1" };
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++)
		ok(!procfs_parse_stat(stats[i], strlen(stats[i]), &t), "broken stat line %zu", i);
	procfs_done(&p);
	sysroot_close(&r);
}

static void test_machine(void)
{
	struct sysroot r = root_of("epyc2");
	struct machine m;
	ok(!machine_read(&r, &m), "the machine");
	is_str(m.cpu_id, "AuthenticAMD,25,17,1", "cpuid as perf writes it");
	is_str(m.cpu_desc, "AMD EPYC", "model name");
	is_str(m.release, "6.18.44-fc-v490", "release");
	is_u64(m.mem_total_kb, 24684100, "memory");
	ok(m.nr_cpus_present == 2 && m.nr_cpus_online == 2 && m.cpus.nr == 2, "CPUs");
	ok(m.cpus.at[1].core_id == 1 && m.cpus.at[1].socket_id == 0 && m.cpus.at[1].die_id == 0,
	   "core, socket, die");
	ok(m.packages.nr == 1 && m.cores.nr == 2 && m.dies.nr == 1, "distinct sibling lists");
	is_str(m.packages.at[0], "0-1", "the package's CPUs");
	is_u64(m.caches.nr, 7, "seven caches");
	ok(m.caches.at[6].level == 3 && !strcmp(m.caches.at[6].size, "32768K") &&
		   !strcmp(m.caches.at[6].cpus, "0-1"),
	   "the last one is shared");
	ok(m.nodes.nr == 1 && m.nodes.at[0].mem_total_kb == 10184924, "one node");
	ok(m.nodes.at[0].nr_block_bits == 71 && m.nodes.at[0].blocks[0] == 0xb &&
		   m.nodes.at[0].blocks[1] == 1ull << 6,
	   "memory blocks");
	is_u64(m.mem_block_bytes, 0x8000000, "block size");
	is_u64(m.pmus.nr, 5, "PMUs");
	ok(m.kernel_build_id_size == 20 && m.kernel_build_id[0] == 0xdb, "the kernel's build id");
	machine_done(&m);
	sysroot_close(&r);

	r = root_of("arm64");
	ok(!machine_read(&r, &m), "an arm64 machine");
	is_str(m.cpu_id, "0x00000000410fd0c0", "midr without variant and revision");
	ok(!m.cpu_desc, "no model name there");
	is_str(m.arch, "aarch64", "architecture");
	ok(!m.caches.nr && !m.nodes.nr && !m.packages.nr, "what is missing stays empty");
	machine_done(&m);
	sysroot_close(&r);

	r = root_of("hotplug");
	struct cpuset s;
	ok(!cpu_online(&r, &s) && cpuset_count(&s) == 3 && !cpuset_has(&s, 1) &&
		   cpu_nr_present(&r) == 4,
	   "a CPU that is off");
	sysroot_close(&r);
}

static int see_module(void *ctx, const struct kernel_module *m)
{
	int *nr = ctx;
	if (!(*nr)++) {
		is_str(m->name, "virtio_net", "module name");
		is_str(m->path, "/lib/modules/6.1.0-test/kernel/drivers/net/virtio-net.ko",
		       "its file, by modules.dep");
		ok(m->start == 0xffff800000a10000 && m->size_bytes == 69632,
		   "its address and size");
		ok(m->build_id_size == 20 && !memcmp(m->build_id, "ABCDEFGHIJKLMNOPQRST", 20),
		   "its build id");
	} else {
		ok(!strcmp(m->name, "loose") && !m->path,
		   "one that modules.dep does not list; the hidden one is left out");
	}
	return 0;
}

static void test_kmap(void)
{
	struct sysroot r = root_of("epyc2");
	struct kernel_text t;
	ok(!kmap_text(&r, &t) && t.start == 0xffffffff81000000 && t.end == 0xffffffff82208bc8,
	   "kernel text by kallsyms");
	is_str(t.name, "_text", "the reference symbol");
	int nr = 0;
	ok(kmap_modules(&r, "x", see_module, &nr) == -ENOENT, "a kernel without modules");
	struct perf_rights rights;
	perf_rights_read(&r, &rights);
	ok(rights.perfmon && !rights.ipc_lock && rights.paranoid == 2 && rights.mlock_kb == 516,
	   "rights and knobs");
	sysroot_close(&r);

	r = root_of("arm64");
	ok(!kmap_text(&r, &t) && t.start == 0xffff800008000000 && t.end == 0xffff800008c00000,
	   "kernel text, arm64");
	ok(!kmap_modules(&r, "6.1.0-test", see_module, &nr) && nr == 2, "two modules");
	sysroot_close(&r);

	r = root_of("hotplug");
	ok(kmap_text(&r, &t) == -ENOENT, "no kallsyms");
	perf_rights_read(&r, &rights);
	ok(!rights.perfmon && rights.paranoid == 2, "no /proc: the careful guess");
	sysroot_close(&r);

	u8 id[KMAP_BUILD_ID_MAX];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ok(kmap_file_build_id(fd, id) == 20, "this program's build id");
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ok(!kmap_file_build_id(fd, id), "nothing has none");
	close(fd);
	static const u8 note[] = "\x04\0\0\0\xff\xff\xff\xff\x03\0\0\0GNU";
	ok(!kmap_note_build_id(note, sizeof(note), id), "a note that claims more than there is");
}

static void test_owner(void)
{
	struct sysroot r;
	struct procfs p;
	u32 uid = 12345;
	s64 began = 0, now = time(NULL);
	ok(!sysroot_open(&r, NULL), "the running system");
	procfs_init(&p, &r);
	ok(!procfs_uid(&p, getpid(), &uid) && uid == geteuid(), "whose files we make");
	ok(!procfs_started(&p, getpid(), &began) && began <= now + 1 && began > now - 86400,
	   "when we began");
	ok(procfs_uid(&p, 0x7ffffff0, &uid) == -ESRCH &&
		   procfs_started(&p, 0x7ffffff0, &began) == -ESRCH,
	   "a process that is not there");
	procfs_done(&p);
	sysroot_close(&r);
}

int main(void)
{
	test_procfs();
	test_owner();
	test_machine();
	test_kmap();
	return done_testing();
}
