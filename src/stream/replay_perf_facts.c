/* What a perf.data file says about itself, as any source may be asked (model/source.h). */
#include "base/bytes.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf_impl.h"

#include <string.h>

void replay_perf_describe(const struct source *s, struct source_facts *ret)
{
	const struct perfdata *p = replay_perf_file(s);
	struct perfdata_clock clock = { 0 };
	u64 nr_cut = 0;
	bool unwound = replay_perf_cut(s, &nr_cut);
	bool knows_wall = perfdata_clock(p, &clock);
	*ret = (struct source_facts){
		.kind = SOURCE_PERF,
		.head_grows = p->is_pipe,
		.has_reads = perfdata_has_sample_type(p, PERF_SAMPLE_READ),
		.has_aux = p->features[FEAT_AUXTRACE].at,
		.has_chains = perfdata_has_sample_type(p, PERF_SAMPLE_CALLCHAIN),
		.host = perfdata_string(p, FEAT_HOSTNAME),
		.release = perfdata_string(p, FEAT_OSRELEASE),
		.arch = perfdata_string(p, FEAT_ARCH),
		.cpu = perfdata_string(p, FEAT_CPUDESC),
		.knows_wall = knows_wall,
		.wall_ns = clock.wall_ns,
		.clock_ns = clock.clock_ns,
		.was_unwound = unwound,
		.nr_cut = nr_cut,
	};
}

void replay_perf_count_cpus(struct perf_replay *r)
{
	enum { CPUS_MAX = 1 << 16 };
	struct perfdata_feature f = r->file.features[FEAT_NRCPUS];
	if (!f.at)
		return;
	struct bytes b = bytes_of(f.at, f.size, r->file.swap);
	u32 nr = bytes_u32(&b);
	if (nr <= CPUS_MAX)
		r->source.catalog.nr_cpus = nr;
}

bool replay_perf_group(const struct source *s, u32 event, struct source_group *ret)
{
	struct perfdata_group g;
	if (!perfdata_group_led_by(replay_perf_file(s), event, &g))
		return false;
	*ret = (struct source_group){ .name = g.name, .leader = g.leader, .nr = g.nr };
	return true;
}

struct time_walk {
	const struct perfdata *file;
	u64 first_ns, last_ns;
};

static int take_time(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct time_walk *t = ctx;
	u64 time = h->type == PERF_RECORD_SAMPLE ? perf_walk_time(t->file, rec, h) : 0;
	(void)place;
	if (!time)
		return 0;
	if (!t->first_ns || time < t->first_ns)
		t->first_ns = time;
	t->last_ns = max(t->last_ns, time);
	return 0;
}

int replay_perf_span(const struct source *s, u64 *first_ns, u64 *last_ns)
{
	const struct perfdata *p = replay_perf_file(s);
	struct perfdata_feature f = p->features[FEAT_SAMPLE_TIME];
	if (f.at && f.size >= 16) {
		struct bytes b = bytes_of(f.at, f.size, p->swap);
		*first_ns = bytes_u64(&b);
		*last_ns = bytes_u64(&b);
		if (*last_ns > *first_ns)
			return 0;
	}
	struct time_walk t = { .file = p };
	int err = perf_walk(p, take_time, &t);
	*first_ns = t.first_ns;
	*last_ns = t.last_ns;
	return err;
}

void replay_perf_command(const struct source *s, struct strbuf *to)
{
	const struct perfdata *p = replay_perf_file(s);
	const struct perfdata_feature *from = &p->features[FEAT_CMDLINE];
	struct bytes in = bytes_of(from->at, from->at ? from->size : 0, p->swap);
	size_t before = to->len;
	for (u32 nr = bytes_u32(&in); nr && !in.bad; nr--) {
		const char *word = perfdata_take_string(&in);
		if (!word)
			break;
		bool plain = *word && !word[strcspn(word, " \t\n\"'\\$`*?[]{}()<>|&;#~")];
		strbuf_printf(to, to->len > before ? " %s%s%s" : "%s%s%s", plain ? "" : "'", word,
			      plain ? "" : "'");
	}
}
