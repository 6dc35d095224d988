#include "bpf/account.h"

#include "kern/bpf_sys.h"

#include <errno.h>
#include <unistd.h>

/* An array's only entry: a word for each probe or map, on each CPU where it is per CPU. */
static int read_words(const struct loaded *l, int map, u64 *words, u32 nr)
{
	const struct program_map *m = &l->program->maps.at[map];
	bool percpu = m->type == BPF_MAP_TYPE_PERCPU_ARRAY;
	u32 stride = (m->value_size + 7) & ~7u;
	_cleanup_free_ u8 *raw = calloc(percpu ? l->nr_cpus : 1, stride);
	if (!raw)
		return -ENOMEM;
	const u32 zero = 0;
	int rc = bpfsys_map_lookup(l->maps[map], &zero, raw);
	for (u32 c = 0; !rc && c < (percpu ? l->nr_cpus : 1); c++)
		for (u32 i = 0; i < nr && (i + 1) * 8 <= m->value_size; i++) {
			u64 v;
			memcpy(&v, raw + (size_t)c * stride + (size_t)i * 8, sizeof(v));
			words[i] += v;
		}
	return rc;
}

static int report_drops(const struct loaded *l, struct account *a, struct diag *d)
{
	const struct program *p = l->program;
	int map = program_map_of(p, PROGRAM_MAP_DROPS);
	if (map < 0)
		return 0;
	_cleanup_free_ u64 *drops = calloc(max(p->probes.nr, (size_t)1), sizeof(*drops));
	int rc = drops ? read_words(l, map, drops, (u32)p->probes.nr) : -ENOMEM;
	for (size_t i = 0; !rc && i < p->probes.nr; i++) {
		if (!drops[i])
			continue;
		a->ring_drops += drops[i];
		diag_warn(d, "%s: %llu records lost: the ring buffer was full",
			  p->probes.at[i].text, (unsigned long long)drops[i]);
	}
	int ring = program_map_of(p, PROGRAM_MAP_RING);
	if (a->ring_drops && ring >= 0)
		diag_hint(d, "print less, or make it larger: config = { perf_rb_pages = %u }",
			  program_map_entries(p, (u32)ring) / (u32)sysconf(_SC_PAGESIZE) * 4);
	return rc;
}

static int report_full(const struct loaded *l, struct account *a, struct diag *d)
{
	const struct program *p = l->program;
	int map = program_map_of(p, PROGRAM_MAP_FULL);
	if (map < 0)
		return 0;
	_cleanup_free_ u64 *full = calloc(max(p->maps.nr, (size_t)1), sizeof(*full));
	int rc = full ? read_words(l, map, full, (u32)p->maps.nr) : -ENOMEM;
	for (size_t i = 0; !rc && i < p->maps.nr; i++) {
		if (!full[i])
			continue;
		a->full_keys += full[i];
		const struct program_map *m = &p->maps.at[i];
		diag_warn(d, "map %s was full with %u keys: %llu updates lost", m->name,
			  m->max_entries, (unsigned long long)full[i]);
		diag_hint(d, "make room for more: config = { max_map_keys = %u }",
			  m->max_entries * 4);
	}
	return rc;
}

static void report_misses(const struct loaded *l, struct account *a, struct diag *d)
{
	vec_for_each (&l->codes, c) {
		struct bpf_prog_info info = { 0 };
		if (bpfsys_info(c->fd, &info, sizeof(info)) || !info.recursion_misses)
			continue;
		a->recursion_misses += info.recursion_misses;
		diag_warn(d, "%s: %llu events missed: they happened while a program was running",
			  c->place, (unsigned long long)info.recursion_misses);
	}
}

int account_report(const struct loaded *l, struct account *ret, struct diag *d)
{
	struct account a = { 0 };
	int rc = report_drops(l, &a, d);
	if (!rc)
		rc = report_full(l, &a, d);
	if (!rc)
		report_misses(l, &a, d);
	if (ret)
		*ret = a;
	return rc;
}

void account_runs(const struct loaded *l, struct strbuf *to)
{
	vec_for_each (&l->codes, c) {
		struct bpf_prog_info info = { 0 };
		if (bpfsys_info(c->fd, &info, sizeof(info)))
			continue;
		strbuf_printf(to, "%s: %u instructions, %u bytes of machine code, verified %u",
			      c->place, info.xlated_prog_len / 8, info.jited_prog_len,
			      info.verified_insns);
		if (info.run_cnt)
			strbuf_printf(to, ", %llu runs, %llu ns each",
				      (unsigned long long)info.run_cnt,
				      (unsigned long long)(info.run_time_ns / info.run_cnt));
		strbuf_char(to, '\n');
	}
}
