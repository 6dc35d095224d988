#include "session/perf_header.h"
#include "base/str.h"
#include "base/clock.h"
#include "event/attr_text.h"
#include "stream/replay_perf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long ull;

enum { NS_PER_S = 1000000000, NS_PER_US = 1000 };

/* What a feature's printer gets. A cursor that runs out leaves the rest of the line empty, and the next feature starts over. */
struct feature {
	const struct perfdata *file;
	struct bytes in;
	struct strbuf *to;
};

static const char *string(struct feature *f)
{
	const char *s = perfdata_take_string(&f->in);
	return s ? s : "";
}

/* A count that the file claims: never more than there are bytes for. */
static u32 count(struct feature *f, size_t each)
{
	return (u32)min((size_t)bytes_u32(&f->in), bytes_left(&f->in) / each);
}

static void print_hostname(struct feature *f)
{
	strbuf_printf(f->to, "# hostname : %s\n", string(f));
}

static void print_osrelease(struct feature *f)
{
	strbuf_printf(f->to, "# os release : %s\n", string(f));
}

static void print_version(struct feature *f)
{
	strbuf_printf(f->to, "# perf version : %s\n", string(f));
}

static void print_arch(struct feature *f)
{
	strbuf_printf(f->to, "# arch : %s\n", string(f));
}

static void print_nrcpus(struct feature *f)
{
	u32 available = bytes_u32(&f->in);
	strbuf_printf(f->to, "# nrcpus online : %u\n# nrcpus avail : %u\n", bytes_u32(&f->in),
		      available);
}

static void print_cpudesc(struct feature *f)
{
	strbuf_printf(f->to, "# cpudesc : %s\n", string(f));
}

static void print_cpuid(struct feature *f)
{
	strbuf_printf(f->to, "# cpuid : %s\n", string(f));
}

static void print_total_mem(struct feature *f)
{
	strbuf_printf(f->to, "# total memory : %llu kB\n", (ull)bytes_u64(&f->in));
}

static void print_cmdline(struct feature *f)
{
	strbuf_str(f->to, "# cmdline : ");
	for (u32 nr = count(f, 4); nr; nr--) {
		for (const char *s = string(f); *s; s++) {
			if (*s == '\'')
				strbuf_char(f->to, '\\');
			strbuf_char(f->to, *s);
		}
		strbuf_char(f->to, ' ');
	}
	strbuf_char(f->to, '\n');
}

static void print_event_desc(struct feature *f)
{
	u32 nr = bytes_u32(&f->in), size = bytes_u32(&f->in);
	for (u32 i = 0; i < nr; i++) {
		struct perf_event_attr attr;
		if (perf_attr_read(&f->in, size, &attr))
			return;
		u32 nr_ids = bytes_u32(&f->in);
		strbuf_printf(f->to, "# event : name = %s, ", string(f));
		struct bytes ids = bytes_sub(&f->in, 8 * (size_t)nr_ids);
		if (nr_ids && !ids.bad) {
			strbuf_str(f->to, ", id = {");
			for (u32 k = 0; k < nr_ids; k++)
				strbuf_printf(f->to, "%s %llu", k ? "," : "", (ull)bytes_u64(&ids));
			strbuf_str(f->to, " }");
		}
		attr_text(&attr, ",", " = ", f->to);
		strbuf_char(f->to, '\n');
	}
}

static void print_list(struct feature *f, const char *what, struct bytes *from)
{
	struct feature list = { .file = f->file, .in = *from, .to = f->to };
	for (u32 nr = count(&list, 4); nr; nr--)
		strbuf_printf(f->to, "# sibling %s : %s\n", what, string(&list));
	*from = list.in;
}

/* Lists of CPUs by socket and by core; {core, socket} of each CPU; newer ones: lists by die, and each CPU's die. */
static void print_cpu_topology(struct feature *f)
{
	struct perfdata_feature cpus = f->file->features[FEAT_NRCPUS];
	struct bytes b = bytes_of(cpus.at, cpus.at ? cpus.size : 0, f->file->swap);
	u32 nr = bytes_u32(&b);
	print_list(f, "sockets", &f->in);
	struct bytes threads = f->in;
	for (u32 left = count(f, 4); left; left--)
		(void)string(f);
	struct bytes ids = f->in;
	bytes_skip(&f->in, 8 * (size_t)nr);
	bool dies = bytes_left(&f->in) > 0;
	if (dies)
		print_list(f, "dies   ", &f->in);
	print_list(f, "threads", &threads);
	if (bytes_left(&ids) < 8 * (size_t)nr) {
		strbuf_str(f->to, "# Core ID and Socket ID information is not available\n");
		return;
	}
	for (u32 i = 0; i < nr; i++) {
		s32 core = (s32)bytes_u32(&ids), socket = (s32)bytes_u32(&ids);
		strbuf_printf(f->to, "# CPU %u: Core ID %d", i, core);
		if (dies)
			strbuf_printf(f->to, ", Die ID %d", (s32)bytes_u32(&f->in));
		strbuf_printf(f->to, ", Socket ID %d\n", socket);
	}
}

static void print_numa_topology(struct feature *f)
{
	for (u32 nr = count(f, 20); nr; nr--) {
		u32 node = bytes_u32(&f->in);
		u64 total = bytes_u64(&f->in), free_kb = bytes_u64(&f->in);
		strbuf_printf(f->to, "# node%u meminfo  : total = %llu kB, free = %llu kB\n", node,
			      (ull)total, (ull)free_kb);
		strbuf_printf(f->to, "# node%u cpu list : %s\n", node, string(f));
	}
}

static void print_branch_stack(struct feature *f)
{
	strbuf_str(f->to, "# contains samples with branch stack\n");
}

static void print_auxtrace(struct feature *f)
{
	strbuf_str(f->to, "# contains AUX area data (e.g. instruction trace)\n");
}

static void print_stat(struct feature *f)
{
	strbuf_str(f->to, "# contains stat data\n");
}

static void print_pmu_mappings(struct feature *f)
{
	u32 nr = count(f, 8);
	strbuf_str(f->to, nr ? "# pmu mappings: " : "# pmu mappings: not available");
	for (u32 i = 0; i < nr; i++) {
		u32 type = bytes_u32(&f->in);
		strbuf_printf(f->to, "%s%s = %u", i ? ", " : "", string(f), type);
	}
	strbuf_char(f->to, '\n');
}

static void print_group_desc(struct feature *f)
{
	struct bytes groups = perfdata_groups(f->file);
	struct perfdata_group g;
	while (perfdata_next_group(f->file, &groups, &g)) {
		if (g.nr < 2)
			continue;
		strbuf_printf(f->to, "# group: %s{", g.name ? g.name : "");
		for (u32 i = 0; i < g.nr; i++) {
			const char *name = f->file->attrs.at[g.leader + i].name;
			strbuf_printf(f->to, "%s%s", i ? "," : "", name ? name : "");
		}
		strbuf_str(f->to, "}\n");
	}
}

static void print_cache(struct feature *f)
{
	bytes_skip(&f->in, 4); /* version */
	strbuf_str(f->to, "# CPU cache info:\n");
	for (u32 nr = count(f, 28); nr; nr--) {
		u32 level = bytes_u32(&f->in);
		bytes_skip(&f->in, 12); /* line size, sets, ways */
		const char *type = string(f), *size = string(f);
		strbuf_printf(f->to, "#  L%u %-15s %8s [%s]\n", level, type, size, string(f));
	}
}

static void print_time(struct strbuf *to, const char *which, u64 ns)
{
	strbuf_printf(to, "# time of %s sample : %llu.%06llu\n", which, (ull)(ns / NS_PER_S),
		      (ull)(ns % NS_PER_S / NS_PER_US));
}

static void print_sample_time(struct feature *f)
{
	u64 first = bytes_u64(&f->in), last = bytes_u64(&f->in);
	print_time(f->to, "first", first);
	print_time(f->to, "last", last);
	strbuf_printf(f->to, "# sample duration : %10.3f ms\n", (double)(last - first) / 1e6);
}

/* "0-23,32-199" of a bitmap; returns how many bits are set. */
static u64 print_bits(struct bytes b, u64 nr, struct strbuf *to)
{
	u64 set = 0, start = 0, word = 0;
	bool in = false, any = false;
	for (u64 i = 0; i <= nr; i++) {
		if (i < nr && !(i % 64))
			word = bytes_u64(&b);
		bool on = i < nr && word >> (i % 64) & 1;
		set += on;
		if (on && !in)
			start = i;
		if (!on && in) {
			strbuf_printf(to, any ? ",%llu" : "%llu", (ull)start);
			if (i - 1 > start)
				strbuf_printf(to, "-%llu", (ull)(i - 1));
			any = true;
		}
		in = on;
	}
	return set;
}

static void print_mem_node(struct feature *f, u64 block)
{
	static const char units[] = "BKMG";
	u64 node = bytes_u64(&f->in);
	bytes_skip(&f->in, 8);
	u64 bits = bytes_u64(&f->in);
	if (bits / 8 > bytes_left(&f->in)) {
		f->in.bad = true;
		return;
	}
	struct bytes map = bytes_sub(&f->in, (bits + 63) / 64 * 8);
	if (map.bad)
		return;
	struct strbuf list;
	strbuf_init(&list);
	u64 size = print_bits(map, bits, &list) * block;
	unsigned unit = 0;
	for (; size / 1024 && unit < 3; unit++)
		size /= 1024;
	strbuf_printf(f->to, "#  %3llu [%llu%c]: %s\n", (ull)node, (ull)size, units[unit],
		      strbuf_cstr(&list));
	strbuf_done(&list);
}

static void print_mem_topology(struct feature *f)
{
	bytes_skip(&f->in, 8); /* version */
	u64 block = bytes_u64(&f->in), nr = bytes_u64(&f->in);
	strbuf_printf(f->to, "# memory nodes (nr %llu, block size 0x%llx):\n", (ull)nr, (ull)block);
	for (u64 i = 0; i < nr && !f->in.bad && bytes_left(&f->in); i++)
		print_mem_node(f, block);
}

static void print_clockid(struct feature *f)
{
	strbuf_printf(f->to, "# clockid frequency: %llu MHz\n", (ull)bytes_u64(&f->in) * 1000);
}

static const char *clock_name(u32 id)
{
	const struct clock_kind *kind = clock_by_id((clockid_t)id);
	return kind ? kind->name : "(not found)";
}

static void print_clock_data(struct feature *f)
{
	bytes_skip(&f->in, 4); /* version */
	u32 id = bytes_u32(&f->in);
	u64 wall = bytes_u64(&f->in), clock = bytes_u64(&f->in);
	time_t seconds = (time_t)(wall / NS_PER_S);
	struct tm tm;
	char date[64] = "<error>";
	ull us = wall % NS_PER_S / NS_PER_US;
	if (localtime_r(&seconds, &tm))
		(void)strftime(date, sizeof(date), "%F %T", &tm);
	strbuf_printf(f->to, "# clockid: %s (%u)\n", clock_name(id), id);
	strbuf_printf(f->to, "# reference time: %s.%06llu = %llu.%06llu (TOD) = %llu.%09llu (%s)\n",
		      date, us, (ull)seconds, us, (ull)(clock / NS_PER_S), (ull)(clock % NS_PER_S),
		      clock_name(id));
}

static void print_dir_format(struct feature *f)
{
	strbuf_printf(f->to, "# directory data version : %llu\n", (ull)bytes_u64(&f->in));
}

/* {u32 data size, u32 id, ...}: only the ids are told. */
static void print_bpf_btf(struct feature *f)
{
	for (u32 nr = count(f, 8); nr; nr--) {
		u32 id = bytes_u32(&f->in);
		u32 size = bytes_u32(&f->in);
		bytes_skip(&f->in, size);
		strbuf_printf(f->to, "# btf info of id %u\n", id);
	}
}

static void print_compressed(struct feature *f)
{
	bytes_skip(&f->in, 4); /* version */
	u32 type = bytes_u32(&f->in), level = bytes_u32(&f->in);
	strbuf_printf(f->to, "# compressed : %s, level = %u, ratio = %u\n",
		      type == 1 ? "Zstd" : "Unknown", level, bytes_u32(&f->in));
}

/* The capabilities of one PMU; its name follows them in newer files. */
static void print_caps(struct feature *f, bool named)
{
	struct feature caps = *f;
	u32 nr = count(f, 8);
	(void)count(&caps, 8);
	for (u32 i = 0; i < 2 * nr; i++)
		(void)string(f);
	strbuf_printf(f->to, "# %s pmu capabilities: %s", named ? string(f) : "cpu",
		      nr ? "" : "not available");
	for (u32 i = 0; i < nr; i++) {
		const char *name = string(&caps);
		strbuf_printf(f->to, "%s%s=%s", i ? ", " : "", name, string(&caps));
	}
	strbuf_char(f->to, '\n');
}

static void print_cpu_pmu_caps(struct feature *f)
{
	print_caps(f, false);
}

static void print_pmu_caps(struct feature *f)
{
	for (u32 nr = count(f, 8); nr && !f->in.bad; nr--)
		print_caps(f, true);
}

static void print_hybrid_topology(struct feature *f)
{
	strbuf_str(f->to, "# hybrid cpu system:\n");
	for (u32 nr = count(f, 8); nr; nr--) {
		const char *name = string(f);
		strbuf_printf(f->to, "# %s cpu list : %s\n", name, string(f));
	}
}

/* All features that perf 6.1 knows. */
static const struct {
	const char *name;
	void (*print)(struct feature *f);
	bool full_only;
	bool may_be_empty; /* that it is there says everything */
} features[] = {
	[FEAT_TRACING_DATA] = { "TRACING_DATA" },
	[FEAT_BUILD_ID] = { "BUILD_ID" },
	[FEAT_HOSTNAME] = { "HOSTNAME", print_hostname },
	[FEAT_OSRELEASE] = { "OSRELEASE", print_osrelease },
	[FEAT_VERSION] = { "VERSION", print_version },
	[FEAT_ARCH] = { "ARCH", print_arch },
	[FEAT_NRCPUS] = { "NRCPUS", print_nrcpus },
	[FEAT_CPUDESC] = { "CPUDESC", print_cpudesc },
	[FEAT_CPUID] = { "CPUID", print_cpuid },
	[FEAT_TOTAL_MEM] = { "TOTAL_MEM", print_total_mem },
	[FEAT_CMDLINE] = { "CMDLINE", print_cmdline },
	[FEAT_EVENT_DESC] = { "EVENT_DESC", print_event_desc },
	[FEAT_CPU_TOPOLOGY] = { "CPU_TOPOLOGY", print_cpu_topology, .full_only = true },
	[FEAT_NUMA_TOPOLOGY] = { "NUMA_TOPOLOGY", print_numa_topology, .full_only = true },
	[FEAT_BRANCH_STACK] = { "BRANCH_STACK", print_branch_stack, .may_be_empty = true },
	[FEAT_PMU_MAPPINGS] = { "PMU_MAPPINGS", print_pmu_mappings },
	[FEAT_GROUP_DESC] = { "GROUP_DESC", print_group_desc },
	[FEAT_AUXTRACE] = { "AUXTRACE", print_auxtrace, .may_be_empty = true },
	[FEAT_STAT] = { "STAT", print_stat, .may_be_empty = true },
	[FEAT_CACHE] = { "CACHE", print_cache, .full_only = true },
	[FEAT_SAMPLE_TIME] = { "SAMPLE_TIME", print_sample_time },
	[FEAT_MEM_TOPOLOGY] = { "MEM_TOPOLOGY", print_mem_topology, .full_only = true },
	[FEAT_CLOCKID] = { "CLOCKID", print_clockid },
	[FEAT_DIR_FORMAT] = { "DIR_FORMAT", print_dir_format },
	[FEAT_BPF_PROG_INFO] = { "BPF_PROG_INFO" },
	[FEAT_BPF_BTF] = { "BPF_BTF", print_bpf_btf },
	[FEAT_COMPRESSED] = { "COMPRESSED", print_compressed },
	[FEAT_CPU_PMU_CAPS] = { "CPU_PMU_CAPS", print_cpu_pmu_caps },
	[FEAT_CLOCK_DATA] = { "CLOCK_DATA", print_clock_data },
	[FEAT_HYBRID_TOPOLOGY] = { "HYBRID_TOPOLOGY", print_hybrid_topology },
	[FEAT_PMU_CAPS] = { "PMU_CAPS", print_pmu_caps },
};

static bool has_feature(const struct perfdata *p, unsigned i)
{
	return p->features[i].at || p->feature_bits[i / 64] >> (i % 64) & 1;
}

static void print_features(const struct perfdata *p, bool full, struct strbuf *to)
{
	for (unsigned i = 1; i < ARRAY_SIZE(features); i++) {
		struct perfdata_feature at = p->features[i];
		if (!features[i].print ||
		    !(features[i].may_be_empty ? has_feature(p, i) : at.at != NULL))
			continue;
		if (features[i].full_only && !full) {
			strbuf_printf(to, "# %s info available, use -I to display\n",
				      features[i].name);
			continue;
		}
		struct feature f = { .file = p,
				     .in = bytes_of(at.at, at.at ? at.size : 0, p->swap),
				     .to = to };
		features[i].print(&f);
	}
}

static int print_captured(const char *path, struct strbuf *to)
{
	struct stat st;
	struct tm tm;
	char date[64];
	if (strcmp(path, "-") ? stat(path, &st) : fstat(STDIN_FILENO, &st))
		return -errno;
	char inner[PATH_MAX];
	if (S_ISDIR(st.st_mode) && !str_path(inner, sizeof(inner), "%s/data", path) &&
	    stat(inner, &st))
		return -errno;
	if (!localtime_r(&st.st_mtime, &tm) || !strftime(date, sizeof(date), "%a %b %e %T %Y", &tm))
		return -EINVAL;
	strbuf_printf(to, "# captured on    : %s\n", date);
	return 0;
}

int perf_header_text(const struct source *src, const char *path, bool full, struct strbuf *to)
{
	const struct perfdata *p = replay_perf_file(src);
	ull at = p->is_pipe ? 0 : p->data_at, size = p->head_data_size;
	strbuf_str(to, "# ========\n");
	int err = print_captured(path, to);
	if (err)
		return err;
	strbuf_printf(
		to, "# header version : 1\n# data offset    : %llu\n# data size      : %llu\n# feat offset    : %llu\n",
		at, size, at + size);
	/* A stream has its features between its records: perf prints them as they come, after the frame. */
	if (!p->is_pipe) {
		print_features(p, full, to);
		strbuf_str(to, "# missing features: ");
		for (unsigned i = 1; i < ARRAY_SIZE(features); i++)
			if (!has_feature(p, i))
				strbuf_printf(to, "%s ", features[i].name);
		strbuf_char(to, '\n');
	}
	strbuf_str(to, "# ========\n#\n");
	if (p->is_pipe)
		print_features(p, full, to);
	return to->err;
}

void perf_header_stream_text(const struct source *src, struct strbuf *to)
{
	const struct perfdata *p = replay_perf_file(src);
	if (p->is_pipe)
		print_features(p, true, to);
}
