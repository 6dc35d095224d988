#include "file/perfdata_head.h"

#include "file/zstd_records.h"

enum { STRING_ALIGN = 64 };

static void put_u32(struct strbuf *b, u32 v)
{
	strbuf_add(b, &v, sizeof(v));
}

static void put_u64(struct strbuf *b, u64 v)
{
	strbuf_add(b, &v, sizeof(v));
}

/* Length (with padding), bytes, padding. */
static void put_string(struct strbuf *b, const char *s)
{
	size_t len = strlen(s) + 1;
	size_t padded = (len + STRING_ALIGN - 1) & ~(size_t)(STRING_ALIGN - 1);
	put_u32(b, (u32)padded);
	strbuf_add(b, s, len);
	strbuf_fill(b, 0, padded - len);
}

#define put_list(b, list)                                                                          \
	do {                                                                                       \
		put_u32(b, (u32)(list)->nr);                                                       \
		vec_for_each (list, s_)                                                            \
			put_string(b, *s_);                                                        \
	} while (0)

static bool put_text(struct strbuf *b, const char *s)
{
	if (!s || !*s)
		return false;
	put_string(b, s);
	return true;
}

static bool feat_tracing_data(const struct perfdata_head *h, struct strbuf *b)
{
	if (!h->meta->tracing_data)
		return false;
	strbuf_add(b, h->meta->tracing_data, h->meta->tracing_data_size);
	return true;
}

static bool feat_hostname(const struct perfdata_head *h, struct strbuf *b)
{
	return put_text(b, h->meta->machine->hostname);
}

static bool feat_osrelease(const struct perfdata_head *h, struct strbuf *b)
{
	return put_text(b, h->meta->machine->release);
}

static bool feat_version(const struct perfdata_head *h, struct strbuf *b)
{
	return put_text(b, h->meta->version);
}

static bool feat_arch(const struct perfdata_head *h, struct strbuf *b)
{
	return put_text(b, h->meta->machine->arch);
}

static bool feat_nrcpus(const struct perfdata_head *h, struct strbuf *b)
{
	put_u32(b, h->meta->machine->nr_cpus_present);
	put_u32(b, h->meta->machine->nr_cpus_online);
	return true;
}

static bool feat_cpudesc(const struct perfdata_head *h, struct strbuf *b)
{
	return put_text(b, h->meta->machine->cpu_desc);
}

static bool feat_cpuid(const struct perfdata_head *h, struct strbuf *b)
{
	return put_text(b, h->meta->machine->cpu_id);
}

static bool feat_total_mem(const struct perfdata_head *h, struct strbuf *b)
{
	put_u64(b, h->meta->machine->mem_total_kb);
	return h->meta->machine->mem_total_kb;
}

static bool feat_cmdline(const struct perfdata_head *h, struct strbuf *b)
{
	put_u32(b, h->meta->argc);
	for (u32 i = 0; i < h->meta->argc; i++)
		put_string(b, h->meta->argv[i]);
	return h->meta->argc;
}

static bool feat_event_desc(const struct perfdata_head *h, struct strbuf *b)
{
	put_u32(b, h->nr_events);
	put_u32(b, sizeof(struct perf_event_attr));
	for (u32 i = 0; i < h->nr_events; i++) {
		const struct perfdata_event *e = &h->events[i];
		strbuf_add(b, &e->attr, sizeof(e->attr));
		put_u32(b, e->nr_ids);
		put_string(b, e->name);
		strbuf_add(b, e->ids, e->nr_ids * sizeof(u64));
	}
	return true;
}

static bool feat_cpu_topology(const struct perfdata_head *h, struct strbuf *b)
{
	if (!h->meta->machine->packages.nr)
		return false;
	put_list(b, &h->meta->machine->packages);
	put_list(b, &h->meta->machine->cores);
	vec_for_each (&h->meta->machine->cpus, c) {
		put_u32(b, (u32)c->core_id);
		put_u32(b, (u32)c->socket_id);
	}
	if (h->meta->machine->dies.nr) {
		put_list(b, &h->meta->machine->dies);
		vec_for_each (&h->meta->machine->cpus, c)
			put_u32(b, (u32)c->die_id);
	}
	return true;
}

static bool feat_numa_topology(const struct perfdata_head *h, struct strbuf *b)
{
	put_u32(b, (u32)h->meta->machine->nodes.nr);
	vec_for_each (&h->meta->machine->nodes, n) {
		put_u32(b, n->node);
		put_u64(b, n->mem_total_kb);
		put_u64(b, n->mem_free_kb);
		put_string(b, n->cpus);
	}
	return h->meta->machine->nodes.nr;
}

/* That it is there says everything. */
static bool feat_branch_stack(const struct perfdata_head *h, struct strbuf *b)
{
	(void)b;
	for (u32 i = 0; i < h->nr_events; i++)
		if (h->events[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
			return true;
	return false;
}

static bool feat_pmu_mappings(const struct perfdata_head *h, struct strbuf *b)
{
	put_u32(b, (u32)h->meta->machine->pmus.nr);
	vec_for_each (&h->meta->machine->pmus, p) {
		put_u32(b, p->type);
		put_string(b, p->name);
	}
	return h->meta->machine->pmus.nr;
}

static bool feat_group_desc(const struct perfdata_head *h, struct strbuf *b)
{
	u32 nr = 0;
	for (u32 i = 0; i < h->nr_events; i++)
		nr += h->events[i].nr_members > 1;
	put_u32(b, nr);
	for (u32 i = 0; i < h->nr_events; i++) {
		if (h->events[i].nr_members <= 1)
			continue;
		put_string(b, h->events[i].group_name ? h->events[i].group_name : "{anon_group}");
		put_u32(b, i);
		put_u32(b, h->events[i].nr_members);
	}
	return nr;
}

/* Says by being there that the file holds counts. */
static bool feat_stat(const struct perfdata_head *h, struct strbuf *b)
{
	(void)b;
	return h->meta->counts;
}

static bool feat_cache(const struct perfdata_head *h, struct strbuf *b)
{
	put_u32(b, 1); /* version */
	put_u32(b, (u32)h->meta->machine->caches.nr);
	vec_for_each (&h->meta->machine->caches, c) {
		put_u32(b, c->level);
		put_u32(b, c->line_bytes);
		put_u32(b, c->sets);
		put_u32(b, c->ways);
		put_string(b, c->type);
		put_string(b, c->size);
		put_string(b, c->cpus);
	}
	return h->meta->machine->caches.nr;
}

static bool feat_mem_topology(const struct perfdata_head *h, struct strbuf *b)
{
	u64 nr = 0;
	vec_for_each (&h->meta->machine->nodes, n)
		nr += n->blocks != NULL;
	put_u64(b, 1); /* version */
	put_u64(b, h->meta->machine->mem_block_bytes);
	put_u64(b, nr);
	vec_for_each (&h->meta->machine->nodes, n) {
		if (!n->blocks)
			continue;
		put_u64(b, n->node);
		put_u64(b, n->nr_block_bits);
		put_u64(b, n->nr_block_bits);
		strbuf_add(b, n->blocks, (n->nr_block_bits + 63) / 64 * sizeof(u64));
	}
	return nr && h->meta->machine->mem_block_bytes;
}

static bool feat_clockid(const struct perfdata_head *h, struct strbuf *b)
{
	put_u64(b, h->meta->clock_res_ns);
	return h->meta->has_clock;
}

static bool feat_clock_data(const struct perfdata_head *h, struct strbuf *b)
{
	put_u32(b, 1); /* version */
	put_u32(b, h->meta->clock_id);
	put_u64(b, h->meta->wall_ref_ns);
	put_u64(b, h->meta->clock_ref_ns);
	return h->meta->has_clock;
}

/* Version 0: all records are in `data`, and the folder holds other things beside it. */
static bool feat_dir_format(const struct perfdata_head *h, struct strbuf *b)
{
	put_u64(b, 0);
	return h->meta->in_folder;
}

/* Payloads that are known before the first record. Each says whether it has anything to tell. */
static bool (*const early_features[PERFDATA_NR_FEATURES])(const struct perfdata_head *,
							  struct strbuf *) = {
	[FEAT_TRACING_DATA] = feat_tracing_data,
	[FEAT_HOSTNAME] = feat_hostname,
	[FEAT_OSRELEASE] = feat_osrelease,
	[FEAT_VERSION] = feat_version,
	[FEAT_ARCH] = feat_arch,
	[FEAT_NRCPUS] = feat_nrcpus,
	[FEAT_CPUDESC] = feat_cpudesc,
	[FEAT_CPUID] = feat_cpuid,
	[FEAT_TOTAL_MEM] = feat_total_mem,
	[FEAT_CMDLINE] = feat_cmdline,
	[FEAT_EVENT_DESC] = feat_event_desc,
	[FEAT_CPU_TOPOLOGY] = feat_cpu_topology,
	[FEAT_NUMA_TOPOLOGY] = feat_numa_topology,
	[FEAT_BRANCH_STACK] = feat_branch_stack,
	[FEAT_PMU_MAPPINGS] = feat_pmu_mappings,
	[FEAT_GROUP_DESC] = feat_group_desc,
	[FEAT_STAT] = feat_stat,
	[FEAT_CACHE] = feat_cache,
	[FEAT_MEM_TOPOLOGY] = feat_mem_topology,
	[FEAT_CLOCKID] = feat_clockid,
	[FEAT_DIR_FORMAT] = feat_dir_format,
	[FEAT_CLOCK_DATA] = feat_clock_data,
};

bool perfdata_head_feature(const struct perfdata_head *h, unsigned feature, struct strbuf *to)
{
	size_t before = to->len;
	if (feature >= PERFDATA_NR_FEATURES || !early_features[feature])
		return false;
	if (early_features[feature](h, to))
		return true;
	to->len = min(before, to->len);
	return false;
}

/* ---- a stream --------------------------------------------------------------------------------------------------- */

/* A record of a payload, padded to eight bytes; one that is too long for its head is left out. */
static void put_record(struct strbuf *b, u32 type, const void *head, size_t head_size,
		       const void *data, size_t size)
{
	struct perf_event_header h = { .type = type };
	size_t padded = (sizeof(h) + head_size + size + 7) & ~(size_t)7;
	if (padded > UINT16_MAX)
		return;
	h.size = (u16)padded;
	strbuf_add(b, &h, sizeof(h));
	strbuf_add(b, head, head_size);
	strbuf_add(b, data, size);
	strbuf_fill(b, 0, padded - sizeof(h) - head_size - size);
}

static void put_feature(struct strbuf *b, u64 feature, const void *data, size_t size)
{
	put_record(b, REC_HEADER_FEATURE, &feature, sizeof(feature), data, size);
}

/* Of an event: its attr with ids, and its name. Without an id the name would be taken for the first event's. */
static void put_event(struct strbuf *b, const struct perfdata_event *e, bool only)
{
	struct {
		u64 what, id;
	} name = { .what = 2, .id = e->nr_ids ? e->ids[0] : 0 };
	put_record(b, REC_HEADER_ATTR, &e->attr, sizeof(e->attr), e->ids, e->nr_ids * sizeof(u64));
	if (e->nr_ids || only)
		put_record(b, REC_EVENT_UPDATE, &name, sizeof(name), e->name, strlen(e->name) + 1);
}

static void put_tracing_data(struct strbuf *b, const void *data, size_t size)
{
	u32 padded = (u32)((size + 7) & ~(size_t)7);
	struct perf_event_header h = { .type = REC_TRACING_DATA,
				       .size = sizeof(h) + sizeof(padded) };
	strbuf_add(b, &h, sizeof(h));
	put_u32(b, padded);
	strbuf_add(b, data, size);
	strbuf_fill(b, 0, padded - size);
}

int perfdata_head_stream(const struct perfdata_head *h, struct strbuf *to)
{
	struct strbuf one;
	put_u64(to, PERF_MAGIC2);
	put_u64(to, 2 * sizeof(u64));
	for (u32 i = 0; i < h->nr_events; i++)
		put_event(to, &h->events[i], h->nr_events == 1);
	strbuf_init(&one);
	for (unsigned f = 0; f < PERFDATA_NR_FEATURES; f++) {
		strbuf_reset(&one);
		if (f != FEAT_TRACING_DATA && perfdata_head_feature(h, f, &one))
			put_feature(to, f, one.data, one.len);
	}
	int err = one.err;
	strbuf_done(&one);
	if (h->meta->zstd_level) {
		u32 comp[] = { 1, 1, (u32)h->meta->zstd_level, 1, ZSTD_RECORDS_PIECE };
		put_feature(to, FEAT_COMPRESSED, comp, sizeof(comp));
	}
	if (h->meta->tracing_data)
		put_tracing_data(to, h->meta->tracing_data, h->meta->tracing_data_size);
	return err ? err : to->err;
}
