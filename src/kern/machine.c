#include "kern/machine.h"

#include "kern/cpu.h"
#include "kern/kmap.h"

#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

enum { MEM_BLOCKS_MAX = 1 << 24 };

struct reading {
	const struct sysroot *root;
	struct machine *m;
	struct strbuf buf;
	char path[192];
};

#define SYS_CPU	 "sys/devices/system/cpu"
#define SYS_NODE "sys/devices/system/node"

/* The first line of a file whose path is formatted; borrowed until the next read. */
static printf_like(2, 3) const char *line_of(struct reading *rd, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(rd->path, sizeof(rd->path), fmt, ap);
	va_end(ap);
	return n < (int)sizeof(rd->path) ? sysroot_line(rd->root, rd->path, &rd->buf) : NULL;
}

static u64 number_after(const char *text, const char *key)
{
	const char *at = text ? strstr(text, key) : NULL;
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* "key   : value" of /proc/cpuinfo, first CPU; the arena's, or NULL. */
static char *cpuinfo_value(struct reading *rd, const char *text, const char *key)
{
	size_t len = strlen(key);
	for (const char *line = text; line && *line;
	     line = strchr(line, '\n'), line += line != NULL) {
		if (strncmp(line, key, len))
			continue;
		const char *at = line + len;
		while (*at == ' ' || *at == '\t')
			at++;
		if (*at++ != ':')
			continue;
		while (*at == ' ')
			at++;
		return arena_strndup(&rd->m->arena, at, strcspn(at, "\n"));
	}
	return NULL;
}

static void read_cpu_names(struct reading *rd)
{
	struct machine *m = rd->m;
	char id[128] = "";
	if (!sysroot_read(rd->root, "proc/cpuinfo", &rd->buf)) {
		const char *text = strbuf_cstr(&rd->buf);
		m->cpu_desc = cpuinfo_value(rd, text, "model name");
		const char *vendor = cpuinfo_value(rd, text, "vendor_id");
		const char *family = cpuinfo_value(rd, text, "cpu family");
		const char *model = cpuinfo_value(rd, text, "model");
		const char *stepping = cpuinfo_value(rd, text, "stepping");
		if (vendor && family && model && stepping)
			snprintf(id, sizeof(id), "%s,%s,%s,%s", vendor, family, model, stepping);
	}
	const char *midr = line_of(rd, SYS_CPU "/cpu0/regs/identification/midr_el1");
	if (midr) /* variant and revision do not matter to those who look events up by it */
		snprintf(id, sizeof(id), "0x%016llx", strtoull(midr, NULL, 16) & ~0xf0000full);
	if (id[0])
		m->cpu_id = arena_strdup(&m->arena, id);
}

/* Adds a string to a list of distinct ones. */
#define add_distinct(rd, list, str)                                                                \
	({                                                                                         \
		const char *str_ = (str);                                                          \
		bool have_ = !str_;                                                                \
		vec_for_each (list, p_)                                                            \
			have_ = have_ || !strcmp(*p_, str_);                                       \
		const char **slot_ = have_ ? NULL : vec_push(list);                                \
		if (slot_)                                                                         \
			*slot_ = arena_strdup(&(rd)->m->arena, str_);                              \
		have_ || (slot_ && *slot_) ? 0 : -ENOMEM;                                          \
	})

static s32 topology_number(struct reading *rd, u32 cpu, const char *leaf)
{
	const char *line = line_of(rd, SYS_CPU "/cpu%u/topology/%s", cpu, leaf);
	s64 v;
	return line && !num_parse_s64(line, 10, &v) ? (s32)v : -1;
}

static const char *topology_list(struct reading *rd, u32 cpu, const char *leaf, const char *old_leaf)
{
	const char *line = line_of(rd, SYS_CPU "/cpu%u/topology/%s", cpu, leaf);
	return line ? line : line_of(rd, SYS_CPU "/cpu%u/topology/%s", cpu, old_leaf);
}

static int read_topology(struct reading *rd)
{
	struct machine *m = rd->m;
	bool has_dies = !strcmp(m->arch, "x86_64");
	for (u32 cpu = 0; cpu < m->nr_cpus_present; cpu++) {
		struct machine_cpu *c = vec_push(&m->cpus);
		if (!c)
			return -ENOMEM;
		c->core_id = topology_number(rd, cpu, "core_id");
		c->socket_id = topology_number(rd, cpu, "physical_package_id");
		c->die_id = topology_number(rd, cpu, "die_id");
		int err = add_distinct(
			rd, &m->packages,
			topology_list(rd, cpu, "package_cpus_list", "core_siblings_list"));
		if (!err)
			err = add_distinct(
				rd, &m->cores,
				topology_list(rd, cpu, "core_cpus_list", "thread_siblings_list"));
		if (!err && has_dies)
			err = add_distinct(rd, &m->dies,
					   line_of(rd, SYS_CPU "/cpu%u/topology/die_cpus_list", cpu));
		if (err)
			return err;
	}
	return 0;
}

static bool same_cache(const struct machine_cache *a, const struct machine_cache *b)
{
	return a->level == b->level && a->line_bytes == b->line_bytes && a->sets == b->sets &&
	       a->ways == b->ways && !strcmp(a->type, b->type) && !strcmp(a->size, b->size) &&
	       !strcmp(a->cpus, b->cpus);
}

static int compare_cache_level(const void *a, const void *b)
{
	const struct machine_cache *x = a, *y = b;
	return (x->level > y->level) - (x->level < y->level);
}

static u32 cache_number(struct reading *rd, u32 cpu, u32 index, const char *leaf)
{
	const char *line = line_of(rd, SYS_CPU "/cpu%u/cache/index%u/%s", cpu, index, leaf);
	return line ? (u32)strtoul(line, NULL, 10) : 0;
}

static const char *cache_string(struct reading *rd, u32 cpu, u32 index, const char *leaf)
{
	const char *line = line_of(rd, SYS_CPU "/cpu%u/cache/index%u/%s", cpu, index, leaf);
	return line ? arena_strdup(&rd->m->arena, line) : "";
}

static int read_caches(struct reading *rd)
{
	struct machine *m = rd->m;
	for (u32 cpu = 0; cpu < m->nr_cpus_present; cpu++) {
		for (u32 index = 0;; index++) {
			struct machine_cache c = { .level = cache_number(rd, cpu, index, "level") };
			if (!c.level)
				break;
			c.line_bytes = cache_number(rd, cpu, index, "coherency_line_size");
			c.sets = cache_number(rd, cpu, index, "number_of_sets");
			c.ways = cache_number(rd, cpu, index, "ways_of_associativity");
			c.type = cache_string(rd, cpu, index, "type");
			c.size = cache_string(rd, cpu, index, "size");
			c.cpus = cache_string(rd, cpu, index, "shared_cpu_list");
			if (!c.type || !c.size || !c.cpus)
				return -ENOMEM;
			if (!*c.size)
				continue; /* known to exist, nothing more (arm64 guests) */
			bool have = false;
			vec_for_each (&m->caches, p)
				have = have || same_cache(p, &c);
			if (have)
				continue;
			struct machine_cache *slot = vec_push(&m->caches);
			if (!slot)
				return -ENOMEM;
			*slot = c;
		}
	}
	/* Stable enough: entries of one level are few and their order does not matter to anyone. */
	if (m->caches.nr)
		qsort(m->caches.at, m->caches.nr, sizeof(m->caches.at[0]), compare_cache_level);
	return 0;
}

/* The memoryN entries of a node as a bitmap. */
static int read_node_blocks(struct reading *rd, struct machine_node *n)
{
	snprintf(rd->path, sizeof(rd->path), SYS_NODE "/node%u", n->node);
	u64 last = 0;
	for (int pass = 0; pass < 2; pass++) {
		DIR *dir = sysroot_dir(rd->root, rd->path);
		if (!dir)
			return 0;
		for (struct dirent *e; (e = readdir(dir));) {
			u64 block;
			if (strncmp(e->d_name, "memory", 6) ||
			    num_parse_u64(e->d_name + 6, 10, &block) || block >= MEM_BLOCKS_MAX)
				continue;
			if (!pass)
				last = max(last, block + 1);
			else if (block < last)
				n->blocks[block / 64] |= 1ull << block % 64;
		}
		closedir(dir);
		if (!last)
			return 0;
		if (!pass) {
			n->blocks = arena_array(&rd->m->arena, (last + 63) / 64, sizeof(u64));
			if (!n->blocks)
				return -ENOMEM;
			n->nr_block_bits = last;
		}
	}
	return 0;
}

static int read_nodes(struct reading *rd)
{
	struct machine *m = rd->m;
	struct cpuset nodes = { { 0 } };
	const char *line = line_of(rd, SYS_NODE "/online");
	if (line && cpuset_parse_list(line, &nodes, NULL))
		cpuset_zero(&nodes);
	int err = 0;
	for (int node = cpuset_next(&nodes, 0); node >= 0 && !err;
	     node = cpuset_next(&nodes, (unsigned)node + 1)) {
		struct machine_node *n = vec_push(&m->nodes);
		if (!n) {
			err = -ENOMEM;
			break;
		}
		n->node = (u32)node;
		snprintf(rd->path, sizeof(rd->path), SYS_NODE "/node%u/meminfo", n->node);
		if (!sysroot_read(rd->root, rd->path, &rd->buf)) {
			const char *text = strbuf_cstr(&rd->buf);
			n->mem_total_kb = number_after(text, "MemTotal:");
			n->mem_free_kb = number_after(text, "MemFree:");
		}
		line = line_of(rd, SYS_NODE "/node%u/cpulist", n->node);
		n->cpus = line ? arena_strdup(&m->arena, line) : "";
		err = n->cpus ? read_node_blocks(rd, n) : -ENOMEM;
	}
	line = line_of(rd, "sys/devices/system/memory/block_size_bytes");
	if (line)
		m->mem_block_bytes = strtoull(line, NULL, 16);
	return err;
}

static int read_pmus(struct reading *rd)
{
	DIR *dir = sysroot_dir(rd->root, "sys/bus/event_source/devices");
	if (!dir)
		return 0;
	int err = 0;
	for (struct dirent *e; !err && (e = readdir(dir));) {
		if (e->d_name[0] == '.')
			continue;
		const char *line = line_of(rd, "sys/bus/event_source/devices/%s/type", e->d_name);
		if (!line)
			continue;
		struct machine_pmu *p = vec_push(&rd->m->pmus);
		if (p) {
			p->type = (u32)strtoul(line, NULL, 10);
			p->name = arena_strdup(&rd->m->arena, e->d_name);
		}
		if (!p || !p->name)
			err = -ENOMEM;
	}
	closedir(dir);
	return err;
}

int machine_read(const struct sysroot *r, struct machine *ret)
{
	struct machine *m = ret;
	*m = (struct machine){ 0 };
	arena_init(&m->arena);
	struct reading rd = { .root = r, .m = m };
	strbuf_init(&rd.buf);

	struct utsname uts;
	(void)uname(&uts); /* cannot fail with a valid pointer */
	const char *line = line_of(&rd, "proc/sys/kernel/hostname");
	m->hostname = arena_strdup(&m->arena, line ? line : uts.nodename);
	line = line_of(&rd, "proc/sys/kernel/osrelease");
	m->release = arena_strdup(&m->arena, line ? line : uts.release);
	line = line_of(&rd, "proc/sys/kernel/arch"); /* since 6.1 */
	m->arch = arena_strdup(&m->arena, line ? line : uts.machine);
	struct cpuset online = { { 0 } };
	int err = m->hostname && m->release && m->arch ? cpu_online(r, &online) : -ENOMEM;
	m->nr_cpus_online = cpuset_count(&online);
	m->nr_cpus_present = cpu_nr_present(r);
	read_cpu_names(&rd);
	if (!sysroot_read(r, "proc/meminfo", &rd.buf))
		m->mem_total_kb = number_after(strbuf_cstr(&rd.buf), "MemTotal:");
	m->kernel_build_id_size = (u8)kmap_kernel_build_id(r, m->kernel_build_id);
	if (!err)
		err = read_topology(&rd);
	if (!err)
		err = read_caches(&rd);
	if (!err)
		err = read_nodes(&rd);
	if (!err)
		err = read_pmus(&rd);
	strbuf_done(&rd.buf);
	if (err)
		machine_done(m);
	return err;
}

void machine_done(struct machine *m)
{
	vec_free(&m->cpus);
	vec_free(&m->packages);
	vec_free(&m->dies);
	vec_free(&m->cores);
	vec_free(&m->caches);
	vec_free(&m->nodes);
	vec_free(&m->pmus);
	arena_done(&m->arena);
}
