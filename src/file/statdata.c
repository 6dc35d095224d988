#include "file/statdata.h"

#include <errno.h>

enum { UPDATE_UNIT = 0, UPDATE_SCALE = 1, UPDATE_CPUS = 3 }; /* of EVENT_UPDATE */
enum { MAP_LIST = 0, MAP_MASK = 1, MAP_RANGE = 2 }; /* of CPU_MAP */
enum { CONFIG_BY = 0, CONFIG_INTERVAL = 1, CONFIG_SCALE = 2 };
enum { ROUND_INTERVAL = 0, ROUND_FINAL = 1 };
enum { NO_CPU = 0xffff, CPUS_MAX = 1 << 16, CELLS_MAX = 1 << 22, CONFIGS_MAX = 64 };

/* perf's numbers for ways of adding up; 6 is "not decided". */
static const u8 by_numbers[] = {
	[STAT_BY_CPU] = 0,  [STAT_BY_ALL] = 1,	  [STAT_BY_SOCKET] = 2, [STAT_BY_DIE] = 3,
	[STAT_BY_CORE] = 4, [STAT_BY_THREAD] = 5, [STAT_BY_NODE] = 7,
};

/* ---- writing ---- */

static void put_u16(struct strbuf *b, u16 v)
{
	strbuf_add(b, &v, sizeof(v));
}

static void put_u32(struct strbuf *b, u32 v)
{
	strbuf_add(b, &v, sizeof(v));
}

static void put_u64(struct strbuf *b, u64 v)
{
	strbuf_add(b, &v, sizeof(v));
}

/* A record's head with a size to be filled in by end_record(), which also pads to eight bytes. */
static size_t begin_record(struct strbuf *to, u32 type)
{
	struct perf_event_header h = { .type = type };
	size_t at = to->len;
	strbuf_add(to, &h, sizeof(h));
	return at;
}

static void end_record(struct strbuf *to, size_t at)
{
	strbuf_fill(to, 0, -(to->len - at) & 7);
	if (to->err)
		return;
	size_t size = to->len - at;
	if (size > UINT16_MAX)
		to->err = -EFBIG;
	u16 size16 = (u16)size;
	memcpy(to->data + at + offsetof(struct perf_event_header, size), &size16, sizeof(size16));
}

static size_t begin_update(struct strbuf *to, u64 what, u64 id)
{
	size_t at = begin_record(to, REC_EVENT_UPDATE);
	put_u64(to, what);
	put_u64(to, id);
	return at;
}

void statdata_put_unit(struct strbuf *to, u64 id, const char *unit)
{
	size_t at = begin_update(to, UPDATE_UNIT, id);
	strbuf_add(to, unit, strlen(unit) + 1);
	end_record(to, at);
}

void statdata_put_scale(struct strbuf *to, u64 id, double scale)
{
	size_t at = begin_update(to, UPDATE_SCALE, id);
	strbuf_add(to, &scale, sizeof(scale));
	end_record(to, at);
}

static void put_list(struct strbuf *to, const struct cpuset *cpus)
{
	put_u16(to, MAP_LIST);
	put_u16(to, cpus ? (u16)cpuset_count(cpus) : 1);
	if (!cpus)
		put_u16(to, NO_CPU);
	for (int c = cpus ? cpuset_next(cpus, 0) : -1; c >= 0;
	     c = cpuset_next(cpus, (unsigned)c + 1))
		put_u16(to, (u16)c);
}

void statdata_put_cpus(struct strbuf *to, u64 id, const struct cpuset *cpus)
{
	size_t at = begin_update(to, UPDATE_CPUS, id);
	put_list(to, cpus);
	end_record(to, at);
}

void statdata_put_threads(struct strbuf *to, const struct statdata_thread *threads, u32 nr)
{
	size_t at = begin_record(to, REC_THREAD_MAP);
	put_u64(to, nr);
	for (u32 i = 0; i < nr; i++) {
		put_u64(to, (u64)(s64)threads[i].tid);
		strbuf_add(to, threads[i].comm, sizeof(threads[i].comm));
	}
	end_record(to, at);
}

void statdata_put_cpu_map(struct strbuf *to, const struct cpuset *cpus)
{
	size_t at = begin_record(to, REC_CPU_MAP);
	put_list(to, cpus);
	end_record(to, at);
}

void statdata_put_config(struct strbuf *to, enum stat_by by, u64 interval_ms)
{
	const u64 pairs[][2] = { { CONFIG_BY, by_numbers[by] },
				 { CONFIG_INTERVAL, interval_ms },
				 { CONFIG_SCALE, 1 } };
	size_t at = begin_record(to, REC_STAT_CONFIG);
	put_u64(to, ARRAY_SIZE(pairs));
	strbuf_add(to, pairs, sizeof(pairs));
	end_record(to, at);
}

void statdata_put_count(struct strbuf *to, u64 id, s32 cpu, u32 thread, const struct count *c)
{
	size_t at = begin_record(to, REC_STAT);
	put_u64(to, id);
	put_u32(to, (u32)cpu);
	put_u32(to, thread);
	put_u64(to, c->value);
	put_u64(to, c->enabled_ns);
	put_u64(to, c->running_ns);
	end_record(to, at);
}

void statdata_put_comm(struct strbuf *to, s32 pid, const char *comm)
{
	size_t at = begin_record(to, PERF_RECORD_COMM);
	put_u32(to, (u32)pid);
	put_u32(to, (u32)pid);
	strbuf_add(to, comm, strlen(comm) + 1);
	end_record(to, at);
}

void statdata_put_round(struct strbuf *to, const struct statdata_round *round)
{
	size_t at = begin_record(to, REC_STAT_ROUND);
	put_u64(to, round->final ? ROUND_FINAL : ROUND_INTERVAL);
	put_u64(to, round->time_ns);
	end_record(to, at);
}

/* ---- reading ---- */

static int add_cpu(struct statdata *s, s32 cpu)
{
	s32 *slot = s->cpus.nr < CPUS_MAX ? vec_push(&s->cpus) : NULL;
	if (!slot)
		return s->cpus.nr < CPUS_MAX ? -ENOMEM : -EFBIG;
	*slot = cpu;
	u32 first; /* of several that are equal */
	return dict_add(&s->cpu_at, (u32)cpu, (u32)s->cpus.nr - 1, &first);
}

static int read_mask(struct statdata *s, struct bytes *b)
{
	u32 nr = bytes_u16(b), word = bytes_u16(b);
	int err = 0;
	if (word != 4 && word != 8)
		return -EBADMSG;
	if (word == 8)
		bytes_skip(b, 4);
	for (u32 i = 0; i < nr && !b->bad && !err; i++) {
		u64 bits = word == 8 ? bytes_u64(b) : bytes_u32(b);
		for (; bits && !err; bits &= bits - 1)
			err = add_cpu(s, (s32)(i * word * 8 + (u32)__builtin_ctzll(bits)));
	}
	return err;
}

/* any u8, spare u8, first u16, last u16 */
static int read_range(struct statdata *s, struct bytes *b)
{
	bool any = bytes_u8(b);
	bytes_skip(b, 1);
	u32 first = bytes_u16(b), last = bytes_u16(b);
	int err = any ? add_cpu(s, -1) : 0;
	for (u32 c = first; c <= last && !err && !b->bad; c++)
		err = add_cpu(s, (s32)c);
	return err;
}

int statdata_cpu_map(struct statdata *s, struct bytes *b)
{
	u16 type = bytes_u16(b);
	int err = 0;
	s->cpus.nr = 0;
	dict_done(&s->cpu_at);
	if (type == MAP_LIST) {
		for (u32 nr = bytes_u16(b); nr && !b->bad && !err; nr--) {
			u16 cpu = bytes_u16(b);
			if (!b->bad)
				err = add_cpu(s, cpu == NO_CPU ? -1 : cpu);
		}
	} else if (type == MAP_MASK) {
		err = read_mask(s, b);
	} else if (type == MAP_RANGE) {
		err = read_range(s, b);
	} else {
		err = -EBADMSG;
	}
	return b->bad && !err ? -EBADMSG : err;
}

static int read_thread_map(struct statdata *s, struct bytes *b)
{
	u64 nr = bytes_u64(b);
	if (nr > bytes_left(b) / (8 + STATDATA_COMM_MAX))
		return -EBADMSG;
	s->threads.nr = 0;
	for (; nr; nr--) {
		struct statdata_thread *t = vec_push(&s->threads);
		if (!t)
			return -ENOMEM;
		t->tid = (s32)bytes_u64(b);
		memcpy(t->comm, bytes_take(b, sizeof(t->comm)), sizeof(t->comm));
		t->comm[sizeof(t->comm) - 1] = 0;
	}
	return 0;
}

static int read_config(struct statdata *s, struct bytes *b)
{
	u64 nr = bytes_u64(b);
	for (u64 i = 0; i < min(nr, (u64)CONFIGS_MAX) && !b->bad; i++) {
		u64 tag = bytes_u64(b), value = bytes_u64(b);
		if (tag == CONFIG_INTERVAL)
			s->interval_ms = value;
		for (u32 by = 0; tag == CONFIG_BY && by < ARRAY_SIZE(by_numbers); by++)
			if (by_numbers[by] == value)
				s->by = (enum stat_by)by;
	}
	return b->bad ? -EBADMSG : 0;
}

static int read_update(struct statdata *s, struct bytes *b)
{
	u64 what = bytes_u64(b), id = bytes_u64(b);
	u32 event = dict_get(&s->file->ids, id);
	if (b->bad || event >= s->events.nr)
		return 0;
	if (what == UPDATE_UNIT) {
		const char *unit = bytes_cstr(b);
		s->events.at[event].unit = unit ? unit : s->events.at[event].unit;
	} else if (what == UPDATE_SCALE) {
		u64 bits = bytes_u64(b);
		memcpy(&s->events.at[event].scale, &bits, sizeof(bits));
	}
	return 0;
}

/* One of the records before the first count; others mean nothing here. Attrs of a stream come with their first use. */
static int read_preface(struct statdata *s, const u8 *rec, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), s->file->swap);
	int err = s->learns ? perfdata_pipe_record(s->learns, rec, h) : 0;
	while (!err && s->events.nr < s->file->attrs.nr) {
		struct statdata_event *e = vec_push(&s->events);
		if (!e)
			return -ENOMEM;
		*e = (struct statdata_event){ 0 };
	}
	if (err)
		return err;
	switch (h->type) {
	case REC_THREAD_MAP: return read_thread_map(s, &b);
	case REC_CPU_MAP: return statdata_cpu_map(s, &b);
	case REC_STAT_CONFIG: return read_config(s, &b);
	case REC_EVENT_UPDATE: return read_update(s, &b);
	default: return 0;
	}
}

u32 statdata_nr_slots(const struct statdata *s)
{
	return (u32)(s->cpus.nr * s->threads.nr);
}

/* Places that the file leaves open: anywhere, everybody. */
static int fill_places(struct statdata *s)
{
	int err = s->cpus.nr ? 0 : add_cpu(s, -1);
	if (!err && !s->threads.nr) {
		struct statdata_thread *t = vec_push(&s->threads);
		if (!t)
			return -ENOMEM;
		*t = (struct statdata_thread){ .tid = -1 };
	}
	if (!err && (u64)s->cpus.nr * s->threads.nr * max(s->events.nr, (size_t)1) > CELLS_MAX)
		err = -EFBIG;
	return err;
}

static int open_counts(struct statdata *s, const struct perfdata *file, struct perfdata *learns,
		       struct diag *d)
{
	*s = (struct statdata){
		.file = file, .learns = learns, .by = STAT_BY_ALL, .at = file->map + file->data_at
	};
	const u8 *end = file->map + file->data_end, *rec;
	struct perf_event_header h;
	bool any = false;
	int err = 0, more;
	for (const u8 *next = s->at;
	     !err && (more = perfdata_record(file, &next, end, &rec, &h)) > 0; s->at = next) {
		any |= h.type == REC_STAT_CONFIG || h.type == REC_STAT || h.type == REC_STAT_ROUND;
		if (h.type == REC_STAT || h.type == REC_STAT_ROUND)
			break;
		err = read_preface(s, rec, &h);
	}
	if (!err && !any)
		err = -ENODATA;
	if (!err)
		err = fill_places(s);
	if (err == -ENODATA)
		diag_error(d, err, "the file has no counts: create one with 'stat record'");
	else if (err == -EFBIG)
		diag_error(d, err, "the file claims an impossible number of CPUs or threads");
	else if (err)
		diag_error(d, err, "the file is damaged: %s",
			   err == -EBADMSG ? "cannot read a CPU or thread map" : "no memory");
	if (err)
		statdata_close(s);
	return err;
}

int statdata_open(struct statdata *s, struct perfdata *file, struct diag *d)
{
	return open_counts(s, file, file, d);
}

int statdata_open_known(struct statdata *s, const struct perfdata *file, struct diag *d)
{
	return open_counts(s, file, NULL, d);
}

void statdata_close(struct statdata *s)
{
	vec_free(&s->threads);
	vec_free(&s->cpus);
	dict_done(&s->cpu_at);
	vec_free(&s->events);
	*s = (struct statdata){ 0 };
}

static s64 find_cpu(const struct statdata *s, s32 cpu)
{
	u32 index = dict_get(&s->cpu_at, (u32)cpu);
	return index == DICT_NONE ? -1 : (s64)index;
}

static int read_count(const struct statdata *s, struct bytes *b, struct count *to)
{
	u32 event = dict_get(&s->file->ids, bytes_u64(b));
	s64 cpu = find_cpu(s, (s32)bytes_u32(b));
	u32 thread = bytes_u32(b);
	struct count c = { .value = bytes_u64(b), .opened = true };
	c.enabled_ns = bytes_u64(b);
	c.running_ns = bytes_u64(b);
	if (b->bad)
		return -EBADMSG;
	if (event < s->events.nr && cpu >= 0 && thread < s->threads.nr)
		to[(size_t)event * statdata_nr_slots(s) + (size_t)cpu * s->threads.nr + thread] = c;
	return 0;
}

static int read_comm(const struct statdata *s, struct bytes *b)
{
	s32 pid = (s32)bytes_u32(b);
	bytes_skip(b, 4);
	size_t left = bytes_left(b);
	const void *comm = bytes_take(b, left);
	return b->bad ? -EBADMSG : s->comm(s->comm_ctx, pid, comm, left);
}

int statdata_next_round(struct statdata *s, struct count *to, struct statdata_round *ret)
{
	const u8 *end = s->file->map + s->file->data_end, *rec;
	struct perf_event_header h;
	int more;
	while ((more = perfdata_record(s->file, &s->at, end, &rec, &h)) > 0) {
		struct bytes b = bytes_of(rec + sizeof(h), h.size - sizeof(h), s->file->swap);
		if (h.type == REC_STAT && read_count(s, &b, to))
			return -EBADMSG;
		int err = h.type == PERF_RECORD_COMM && s->comm ? read_comm(s, &b) : 0;
		if (err)
			return err;
		if (h.type != REC_STAT_ROUND)
			continue;
		*ret = (struct statdata_round){ .final = bytes_u64(&b) == ROUND_FINAL };
		ret->time_ns = bytes_u64(&b);
		return b.bad ? -EBADMSG : 1;
	}
	return more;
}

/* ---- topology ---- */

static void skip_strings(struct bytes *b)
{
	for (u32 nr = bytes_u32(b); nr && !b->bad; nr--)
		(void)perfdata_take_string(b);
}

/* Lists of CPUs by socket and by core; {core, socket} of each CPU; newer ones: lists by die, and each CPU's die. */
static int read_cpu_topology(const struct perfdata *file, struct machine *to)
{
	struct perfdata_feature nrs = file->features[FEAT_NRCPUS],
				f = file->features[FEAT_CPU_TOPOLOGY];
	struct bytes n = bytes_of(nrs.at, nrs.at ? nrs.size : 0, file->swap);
	struct bytes b = bytes_of(f.at, f.at ? f.size : 0, file->swap);
	u32 nr = bytes_u32(&n);
	skip_strings(&b);
	skip_strings(&b);
	if (nr > bytes_left(&b) / 8)
		return 0;
	for (u32 i = 0; i < nr; i++) {
		struct machine_cpu *c = vec_push(&to->cpus);
		if (!c)
			return -ENOMEM;
		*c = (struct machine_cpu){ .core_id = (s32)bytes_u32(&b) };
		c->socket_id = (s32)bytes_u32(&b);
	}
	if (!bytes_left(&b))
		return 0;
	skip_strings(&b);
	vec_for_each (&to->cpus, c)
		c->die_id = (s32)bytes_u32(&b);
	return 0;
}

static int read_nodes(const struct perfdata *file, struct machine *to)
{
	struct perfdata_feature f = file->features[FEAT_NUMA_TOPOLOGY];
	struct bytes b = bytes_of(f.at, f.at ? f.size : 0, file->swap);
	for (u32 nr = bytes_u32(&b); nr && !b.bad; nr--) {
		struct machine_node node = { .node = bytes_u32(&b) };
		bytes_skip(&b, 16);
		node.cpus = perfdata_take_string(&b);
		struct machine_node *n = b.bad ? NULL : vec_push(&to->nodes);
		if (!n)
			return b.bad ? 0 : -ENOMEM;
		*n = node;
	}
	return 0;
}

int statdata_topology(const struct perfdata *file, struct machine *to)
{
	int err = read_cpu_topology(file, to);
	return err ? err : read_nodes(file, to);
}
