#include "gen/perfwrite.h"

#include <stdio.h>
#include <zstd.h>

static void put(const struct perfwrite *w, struct strbuf *to, u64 v, unsigned n)
{
	u8 bytes[8];
	for (unsigned i = 0; i < n; i++)
		bytes[i] = (u8)(v >> 8 * (w->form & PERFWRITE_SWAP ? n - 1 - i : i));
	strbuf_add(to, bytes, n);
}

static void put_at(const struct perfwrite *w, struct strbuf *to, size_t at, u64 v, unsigned n)
{
	size_t len = to->len;
	to->len = at;
	put(w, to, v, n);
	to->len = len;
}

static void append(struct strbuf *to, const struct strbuf *from)
{
	if (from->len)
		strbuf_add(to, from->data, from->len);
}

static void pad(struct strbuf *to)
{
	strbuf_fill(to, 0, -to->len & 7);
}

void perfwrite_begin(struct perfwrite *w, unsigned form)
{
	*w = (struct perfwrite){ .form = form };
	w->to = &w->user;
}

u32 perfwrite_event(struct perfwrite *w, const struct perf_event_attr *attr, const u64 *ids, u32 nr_ids, const char *name)
{
	struct perfwrite_event *e = vec_push(&w->events);
	*e = (struct perfwrite_event){ .attr = *attr, .nr_ids = nr_ids, .name = name };
	for (u32 i = 0; i < nr_ids; i++)
		e->ids[i] = ids[i];
	return (u32)w->events.nr - 1;
}

/* ---- records ---- */

void perfwrite_rec(struct perfwrite *w, u32 type, u16 misc)
{
	w->rec = w->to->len;
	put(w, w->to, type, 4);
	put(w, w->to, misc, 2);
	put(w, w->to, 0, 2);
}

void perfwrite_u16(struct perfwrite *w, u16 v)
{
	put(w, w->to, v, 2);
}

void perfwrite_u32(struct perfwrite *w, u32 v)
{
	put(w, w->to, v, 4);
}

void perfwrite_u64(struct perfwrite *w, u64 v)
{
	put(w, w->to, v, 8);
}

void perfwrite_bytes(struct perfwrite *w, const void *data, size_t size)
{
	if (size)
		strbuf_add(w->to, data, size);
}

void perfwrite_str(struct perfwrite *w, const char *s)
{
	size_t len = strlen(s) + 1;
	strbuf_add(w->to, s, len);
	strbuf_fill(w->to, 0, -len & 7);
}

void perfwrite_rec_end(struct perfwrite *w, u16 size)
{
	put_at(w, w->to, w->rec + 6, size ? size : w->to->len - w->rec, 2);
}

static u64 id_of(const struct perfwrite *w, u32 e, const struct perfwrite_sample *s)
{
	const struct perfwrite_event *ev = &w->events.at[e];
	return s->id ? s->id : ev->nr_ids ? ev->ids[0] : 0;
}

void perfwrite_trailer(struct perfwrite *w, u32 e, const struct perfwrite_sample *who)
{
	const struct perf_event_attr *a = &w->events.at[e].attr;
	u64 type = a->sample_id_all ? a->sample_type : 0;
	if (type & PERF_SAMPLE_TID) {
		perfwrite_u32(w, who->pid);
		perfwrite_u32(w, who->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		perfwrite_u64(w, who->time);
	if (type & PERF_SAMPLE_ID)
		perfwrite_u64(w, id_of(w, e, who));
	if (type & PERF_SAMPLE_STREAM_ID)
		perfwrite_u64(w, who->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		perfwrite_u32(w, who->cpu);
		perfwrite_u32(w, 0);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		perfwrite_u64(w, id_of(w, e, who));
}

static void put_words(struct perfwrite *w, const u64 *words, u64 nr)
{
	for (u64 i = 0; i < nr; i++)
		perfwrite_u64(w, words ? words[i] : 0);
}

static void put_regs(struct perfwrite *w, u64 mask, const u64 *regs)
{
	perfwrite_u64(w, regs ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
	if (regs)
		put_words(w, regs, (u64)__builtin_popcountll(mask));
}

static void put_tail(struct perfwrite *w, const struct perf_event_attr *a, const struct perfwrite_sample *s)
{
	u64 type = a->sample_type;
	if (type & PERF_SAMPLE_RAW) {
		perfwrite_u32(w, s->raw_size);
		perfwrite_bytes(w, s->raw, s->raw_size);
		strbuf_fill(w->to, 0, -(4 + (size_t)s->raw_size) & 7);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		perfwrite_u64(w, s->nr_branches);
		if (a->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			perfwrite_u64(w, 7);
		put_words(w, s->branches, 3 * s->nr_branches);
		if (a->branch_sample_type & 1ull << 19)
			put_words(w, NULL, s->nr_branches);
	}
	if (type & PERF_SAMPLE_REGS_USER)
		put_regs(w, a->sample_regs_user, s->regs_user);
	if (type & PERF_SAMPLE_STACK_USER) {
		perfwrite_u64(w, s->stack_size);
		perfwrite_bytes(w, s->stack, s->stack_size);
		if (s->stack_size)
			perfwrite_u64(w, s->stack_used);
	}
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		perfwrite_u64(w, s->weight);
	if (type & PERF_SAMPLE_DATA_SRC)
		perfwrite_u64(w, s->data_src);
	if (type & PERF_SAMPLE_TRANSACTION)
		perfwrite_u64(w, s->transaction);
	if (type & PERF_SAMPLE_REGS_INTR)
		put_regs(w, a->sample_regs_intr, s->regs_intr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		perfwrite_u64(w, s->phys_addr);
	if (type & PERF_SAMPLE_CGROUP)
		perfwrite_u64(w, s->cgroup);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		perfwrite_u64(w, s->data_page);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		perfwrite_u64(w, s->code_page);
	if (type & PERF_SAMPLE_AUX)
		perfwrite_u64(w, 0);
}

void perfwrite_sample(struct perfwrite *w, u32 e, const struct perfwrite_sample *s)
{
	const struct perf_event_attr *a = &w->events.at[e].attr;
	u64 type = a->sample_type;
	perfwrite_rec(w, PERF_RECORD_SAMPLE, s->misc);
	if (type & PERF_SAMPLE_IDENTIFIER)
		perfwrite_u64(w, id_of(w, e, s));
	if (type & PERF_SAMPLE_IP)
		perfwrite_u64(w, s->ip);
	if (type & PERF_SAMPLE_TID) {
		perfwrite_u32(w, s->pid);
		perfwrite_u32(w, s->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		perfwrite_u64(w, s->time);
	if (type & PERF_SAMPLE_ADDR)
		perfwrite_u64(w, s->addr);
	if (type & PERF_SAMPLE_ID)
		perfwrite_u64(w, id_of(w, e, s));
	if (type & PERF_SAMPLE_STREAM_ID)
		perfwrite_u64(w, s->stream_id);
	if (type & PERF_SAMPLE_CPU) {
		perfwrite_u32(w, s->cpu);
		perfwrite_u32(w, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		perfwrite_u64(w, s->period);
	if (type & PERF_SAMPLE_READ)
		put_words(w, s->read, s->nr_read);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		perfwrite_u64(w, s->nr_chain);
		put_words(w, s->chain, s->nr_chain);
	}
	put_tail(w, a, s);
	perfwrite_rec_end(w, 0);
}

void perfwrite_comm(struct perfwrite *w, u32 pid, u32 tid, const char *name, bool exec, u64 time)
{
	perfwrite_rec(w, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	perfwrite_u32(w, pid);
	perfwrite_u32(w, tid);
	perfwrite_str(w, name);
	perfwrite_trailer(w, 0, &(struct perfwrite_sample){ .pid = pid, .tid = tid, .time = time });
	perfwrite_rec_end(w, 0);
}

static void task(struct perfwrite *w, u32 type, u32 pid, u32 ppid, u32 tid, u32 ptid, u64 time)
{
	perfwrite_rec(w, type, 0);
	perfwrite_u32(w, pid);
	perfwrite_u32(w, ppid);
	perfwrite_u32(w, tid);
	perfwrite_u32(w, ptid);
	perfwrite_u64(w, time);
	perfwrite_trailer(w, 0, &(struct perfwrite_sample){ .pid = pid, .tid = tid, .time = time });
	perfwrite_rec_end(w, 0);
}

void perfwrite_fork(struct perfwrite *w, u32 pid, u32 ppid, u32 tid, u32 ptid, u64 time)
{
	task(w, PERF_RECORD_FORK, pid, ppid, tid, ptid, time);
}

void perfwrite_exit(struct perfwrite *w, u32 pid, u32 ppid, u32 tid, u32 ptid, u64 time)
{
	task(w, PERF_RECORD_EXIT, pid, ppid, tid, ptid, time);
}

void perfwrite_mmap(struct perfwrite *w, const struct perfwrite_map *m, u64 time)
{
	u16 misc = m->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	if (m->build_id && !m->old)
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	perfwrite_rec(w, m->old ? PERF_RECORD_MMAP : PERF_RECORD_MMAP2, misc);
	perfwrite_u32(w, m->pid);
	perfwrite_u32(w, m->pid);
	perfwrite_u64(w, m->addr);
	perfwrite_u64(w, m->len);
	perfwrite_u64(w, m->pgoff);
	if (!m->old) {
		if (m->build_id) {
			perfwrite_bytes(w, "\x14\0\0", 4);
			perfwrite_bytes(w, m->build_id, 20);
		} else {
			perfwrite_u32(w, 8);
			perfwrite_u32(w, 1);
			perfwrite_u64(w, m->ino);
			perfwrite_u64(w, 0);
		}
		perfwrite_u32(w, 5);
		perfwrite_u32(w, 2);
	}
	perfwrite_str(w, m->name);
	perfwrite_trailer(w, 0, &(struct perfwrite_sample){ .pid = m->pid, .tid = m->pid, .time = time });
	perfwrite_rec_end(w, 0);
}

void perfwrite_ksymbol(struct perfwrite *w, u64 addr, u32 len, const char *name, bool gone, u64 time)
{
	perfwrite_rec(w, PERF_RECORD_KSYMBOL, PERF_RECORD_MISC_KERNEL);
	perfwrite_u64(w, addr);
	perfwrite_u32(w, len);
	perfwrite_u16(w, PERF_RECORD_KSYMBOL_TYPE_BPF);
	perfwrite_u16(w, gone ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0);
	perfwrite_str(w, name);
	perfwrite_trailer(w, 0, &(struct perfwrite_sample){ .time = time });
	perfwrite_rec_end(w, 0);
}

void perfwrite_lost(struct perfwrite *w, u64 lost, u64 time)
{
	perfwrite_rec(w, PERF_RECORD_LOST, 0);
	perfwrite_u64(w, w->events.at[0].nr_ids ? w->events.at[0].ids[0] : 0);
	perfwrite_u64(w, lost);
	perfwrite_trailer(w, 0, &(struct perfwrite_sample){ .time = time });
	perfwrite_rec_end(w, 0);
}

void perfwrite_round(struct perfwrite *w)
{
	perfwrite_rec(w, REC_FINISHED_ROUND, 0);
	perfwrite_rec_end(w, 0);
}

void perfwrite_auxtrace(struct perfwrite *w, const void *data, u64 size)
{
	perfwrite_rec(w, REC_AUXTRACE, 0);
	perfwrite_u64(w, size);
	perfwrite_u64(w, 0); /* offset */
	perfwrite_u64(w, 0); /* reference */
	perfwrite_u32(w, 0);
	perfwrite_u32(w, 0);
	perfwrite_u32(w, 0);
	perfwrite_u32(w, 0);
	perfwrite_rec_end(w, 0);
	perfwrite_bytes(w, data, size);
}

void perfwrite_kernel(struct perfwrite *w)
{
	w->to = &w->kernel;
}

/* ---- the file around them ---- */

void perfwrite_feature(struct perfwrite *w, u32 bit, const void *data, size_t size)
{
	w->features[w->nr_features].bit = bit;
	if (data)
		strbuf_add(&w->features[w->nr_features].data, data, size);
	else
		strbuf_fill(&w->features[w->nr_features].data, 0, size);
	w->nr_features++;
}

static void put_string(struct perfwrite *w, struct strbuf *to, const char *s)
{
	u32 len = (u32)(strlen(s) + 64) & ~63u;
	put(w, to, len, 4);
	strbuf_add(to, s, strlen(s));
	strbuf_fill(to, 0, len - strlen(s));
}

void perfwrite_feature_str(struct perfwrite *w, u32 bit, const char *s)
{
	struct strbuf b = { 0 };
	put_string(w, &b, s);
	perfwrite_feature(w, bit, b.data, b.len);
	strbuf_done(&b);
}

void perfwrite_build_id(struct perfwrite *w, const char *path, const u8 *id, u8 size)
{
	struct strbuf *to = &w->build_ids;
	size_t name = (strlen(path) + 8) & ~(size_t)7;
	put(w, to, 0, 4);
	put(w, to, size == 20 ? 0 : 1 << 15, 2);
	put(w, to, 8 + 4 + 24 + name, 2);
	put(w, to, UINT32_MAX, 4);
	strbuf_add(to, id, size);
	strbuf_fill(to, 0, (size_t)20 - size);
	strbuf_char(to, (char)size);
	strbuf_fill(to, 0, 3);
	strbuf_add(to, path, strlen(path));
	strbuf_fill(to, 0, name - strlen(path));
}

/* The attr as a machine of that byte order and age has it in memory. */
static void put_attr(const struct perfwrite *w, struct strbuf *to, const struct perf_event_attr *a)
{
	u32 size = w->attr_size ? w->attr_size : sizeof(*a);
	size_t start = to->len;
	put(w, to, a->type, 4);
	put(w, to, size, 4);
	put(w, to, a->config, 8);
	put(w, to, a->sample_period, 8);
	put(w, to, a->sample_type, 8);
	put(w, to, a->read_format, 8);
	const u8 *flags = (const u8 *)a + offsetof(struct perf_event_attr, read_format) + 8;
	for (unsigned i = 0; i < 8; i++) {
		u8 b = flags[i], turned = 0;
		for (unsigned bit = 0; bit < 8; bit++)
			turned = (u8)(turned << 1 | (b >> bit & 1));
		strbuf_char(to, (char)(w->form & PERFWRITE_SWAP ? turned : b));
	}
	put(w, to, a->wakeup_events, 4);
	put(w, to, a->bp_type, 4);
	put(w, to, a->config1, 8);
	put(w, to, a->config2, 8);
	put(w, to, a->branch_sample_type, 8);
	put(w, to, a->sample_regs_user, 8);
	put(w, to, a->sample_stack_user, 4);
	put(w, to, (u32)a->clockid, 4);
	put(w, to, a->sample_regs_intr, 8);
	put(w, to, a->aux_watermark, 4);
	put(w, to, a->sample_max_stack, 2);
	put(w, to, 0, 2);
	put(w, to, a->aux_sample_size, 4);
	put(w, to, 0, 4);
	put(w, to, a->sig_data, 8);
	if (to->len - start < size)
		strbuf_fill(to, 0x5a, size - (to->len - start)); /* what only newer kernels know */
	to->len = start + size;
}

static void event_desc(struct perfwrite *w)
{
	struct strbuf b = { 0 };
	bool any = false;
	put(w, &b, w->events.nr, 4);
	put(w, &b, w->attr_size ? w->attr_size : sizeof(struct perf_event_attr), 4);
	vec_for_each(&w->events, e) {
		any |= e->name != NULL;
		put_attr(w, &b, &e->attr);
		put(w, &b, e->nr_ids, 4);
		put_string(w, &b, e->name ? e->name : "");
		for (u32 i = 0; i < e->nr_ids; i++)
			put(w, &b, e->ids[i], 8);
	}
	if (any)
		perfwrite_feature(w, FEAT_EVENT_DESC, b.data, b.len);
	strbuf_done(&b);
}

static void close_features(struct perfwrite *w)
{
	event_desc(w);
	if (w->build_ids.len)
		perfwrite_feature(w, FEAT_BUILD_ID, w->build_ids.data, w->build_ids.len);
}

static void compressed_record(struct perfwrite *w, const void *data, size_t size)
{
	bool two = w->form & PERFWRITE_ZSTD2;
	size_t start = w->out.len;
	put(w, &w->out, two ? REC_COMPRESSED2 : REC_COMPRESSED, 4);
	put(w, &w->out, 0, 4);
	if (two)
		put(w, &w->out, size, 8);
	strbuf_add(&w->out, data, size);
	if (two)
		strbuf_fill(&w->out, 0, -size & 7);
	put_at(w, &w->out, start + 6, w->out.len - start, 2);
}

/* One stream over all pieces; each piece is flushed, so that it can be read as soon as it is there. */
static void put_compressed(struct perfwrite *w)
{
	ZSTD_CStream *z = ZSTD_createCStream();
	size_t piece = w->piece ? w->piece : 1000;
	for (size_t at = 0; at < w->kernel.len; at += piece) {
		char buf[1 << 15];
		ZSTD_inBuffer in = { .src = w->kernel.data + at, .size = min(piece, w->kernel.len - at) };
		size_t left;
		do {
			ZSTD_outBuffer out = { .dst = buf, .size = sizeof(buf) };
			left = ZSTD_compressStream2(z, &out, &in, ZSTD_e_flush);
			if (out.pos)
				compressed_record(w, buf, out.pos);
		} while (left && !ZSTD_isError(left));
	}
	ZSTD_freeCStream(z);
}

static void put_records(struct perfwrite *w)
{
	append(&w->out, &w->user);
	if (w->form & (PERFWRITE_ZSTD | PERFWRITE_ZSTD2))
		put_compressed(w);
	else
		append(&w->out, &w->kernel);
}

static void end_pipe(struct perfwrite *w)
{
	put(w, &w->out, PERF_MAGIC2, 8);
	put(w, &w->out, 16, 8);
	struct strbuf user = w->user;
	w->user = (struct strbuf){ 0 };
	w->to = &w->user;
	vec_for_each(&w->events, e) {
		perfwrite_rec(w, REC_HEADER_ATTR, 0);
		put_attr(w, w->to, &e->attr);
		for (u32 i = 0; i < e->nr_ids; i++)
			perfwrite_u64(w, e->ids[i]);
		perfwrite_rec_end(w, 0);
	}
	for (u32 i = 0; i < w->nr_features; i++) {
		perfwrite_rec(w, REC_HEADER_FEATURE, 0);
		perfwrite_u64(w, w->features[i].bit);
		perfwrite_bytes(w, w->features[i].data.data, w->features[i].data.len);
		pad(w->to);
		perfwrite_rec_end(w, 0);
	}
	append(&w->user, &user);
	strbuf_done(&user);
	put_records(w);
}

static void end_file(struct perfwrite *w)
{
	strbuf_fill(&w->out, 0, sizeof(struct perf_file_header));
	struct perf_file_section ids[64] = { 0 }, attrs, data;
	for (size_t i = 0; i < w->events.nr; i++) {
		ids[i] = (struct perf_file_section){ .offset = w->out.len, .size = 8 * w->events.at[i].nr_ids };
		for (u32 k = 0; k < w->events.at[i].nr_ids; k++)
			put(w, &w->out, w->events.at[i].ids[k], 8);
	}
	attrs.offset = w->out.len;
	for (size_t i = 0; i < w->events.nr; i++) {
		put_attr(w, &w->out, &w->events.at[i].attr);
		put(w, &w->out, ids[i].offset, 8);
		put(w, &w->out, ids[i].size, 8);
	}
	attrs.size = w->out.len - attrs.offset;
	data.offset = w->out.len;
	put_records(w);
	data.size = w->form & PERFWRITE_KILLED ? 0 : w->out.len - data.offset;

	/* One section for each bit, lowest first, then what they hold. */
	u64 bits[FEAT_MAX / 64] = { 0 };
	size_t table = w->out.len, nr = w->form & PERFWRITE_KILLED ? 0 : w->nr_features;
	strbuf_fill(&w->out, 0, 16 * nr);
	size_t slot = 0;
	for (u32 bit = 0; bit < FEAT_MAX; bit++)
		for (u32 i = 0; i < nr; i++)
			if (w->features[i].bit == bit) {
				bits[bit / 64] |= 1ull << bit % 64;
				put_at(w, &w->out, table + 16 * slot, w->out.len, 8);
				put_at(w, &w->out, table + 16 * slot + 8, w->features[i].data.len, 8);
				strbuf_add(&w->out, w->features[i].data.data, w->features[i].data.len);
				slot++;
			}

	u32 attr_size = w->attr_size ? w->attr_size : sizeof(struct perf_event_attr);
	const u64 head[] = { PERF_MAGIC2, sizeof(struct perf_file_header), attr_size + 16, attrs.offset, attrs.size, data.offset,
			     data.size, 0, 0, bits[0], bits[1], bits[2], bits[3] };
	for (unsigned i = 0; i < ARRAY_SIZE(head); i++)
		put_at(w, &w->out, 8 * (size_t)i, head[i], 8);
}

void perfwrite_end(struct perfwrite *w)
{
	close_features(w);
	if (w->form & PERFWRITE_PIPE)
		end_pipe(w);
	else
		end_file(w);
}

void perfwrite_done(struct perfwrite *w)
{
	vec_free(&w->events);
	strbuf_done(&w->user);
	strbuf_done(&w->kernel);
	strbuf_done(&w->build_ids);
	strbuf_done(&w->out);
	for (u32 i = 0; i < w->nr_features; i++)
		strbuf_done(&w->features[i].data);
}

/* ---- the story ---- */

enum { KERNEL_AT = 0x81000000, BPF_AT = 0x90000000, SHELL_AT = 0x400000, LIB_AT = 0x7f0000, TOOL_AT = 0x500000 };

static void story_events(struct perfwrite *w)
{
	u64 common = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
		     PERF_SAMPLE_PERIOD;
	if (w->form & PERFWRITE_NO_TIMES)
		common &= ~(u64)PERF_SAMPLE_TIME;
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 4000,
		.freq = 1,
		.sample_type = common | PERF_SAMPLE_CALLCHAIN,
		.sample_id_all = 1,
		.mmap = 1,
		.comm = 1,
		.task = 1,
		.exclude_hv = 1,
	};
	struct perf_event_attr b = a;
	b.type = PERF_TYPE_TRACEPOINT;
	b.config = 300;
	b.freq = 0;
	b.sample_period = 1;
	b.sample_type = common | PERF_SAMPLE_RAW | PERF_SAMPLE_ADDR;
	perfwrite_event(w, &a, (u64[]){ 11, 12 }, 2, "cpu-clock");
	perfwrite_event(w, &b, (u64[]){ 21, 22 }, 2, "sched:sched_switch");
}

static void story_head(struct perfwrite *w)
{
	perfwrite_feature_str(w, FEAT_HOSTNAME, "storyland");
	perfwrite_feature_str(w, FEAT_ARCH, "x86_64");
	perfwrite_feature(w, 200, "from the future", 16); /* a feature nobody knows */
	perfwrite_build_id(w, "/bin/shell", (const u8 *)"shell-build-id-20-by", 20);
	perfwrite_build_id(w, "/lib/short.so", (const u8 *)"short-id", 8);
	perfwrite_rec(w, 127, 0); /* a record nobody knows */
	perfwrite_u64(w, 1);
	perfwrite_rec_end(w, 0);
	perfwrite_rec(w, 0x12345678, 0);
	perfwrite_rec_end(w, 0);
	perfwrite_mmap(w, &(struct perfwrite_map){ .pid = UINT32_MAX, .addr = KERNEL_AT, .len = 0x1000000, .pgoff = KERNEL_AT,
						   .name = "[kernel.kallsyms]_text", .kernel = true, .old = true }, 0);
	perfwrite_comm(w, 100, 100, "shell", false, 0);
	perfwrite_mmap(w, &(struct perfwrite_map){ .pid = 100, .addr = SHELL_AT, .len = 0x10000, .name = "/bin/shell", .ino = 1 }, 0);
	perfwrite_rec(w, REC_FINISHED_INIT, 0);
	perfwrite_rec_end(w, 0);
}

static void story_round(struct perfwrite *w, u32 round)
{
	u64 t = 1000 * ((u64)round + 1);
	u32 child = 200 + round % 3; /* pids come back */
	u64 deep[] = { (u64)PERF_CONTEXT_KERNEL, KERNEL_AT + 0x100, KERNEL_AT + 0x200 + round, (u64)PERF_CONTEXT_USER,
		       SHELL_AT + 0x10, SHELL_AT + 0x20, LIB_AT + 0x30 };
	u64 tool[] = { (u64)PERF_CONTEXT_USER, TOOL_AT + 8 * (round % 5), TOOL_AT + 0x400, SHELL_AT + 0x20 };
	struct perfwrite_sample s = { .misc = PERF_RECORD_MISC_KERNEL, .ip = deep[1], .pid = 100, .tid = 100, .time = t + 10,
				      .period = 250000 + round, .chain = deep, .nr_chain = ARRAY_SIZE(deep), .cpu = round % 2 };
	perfwrite_sample(w, 0, &s);
	perfwrite_fork(w, child, 100, child, 100, t + 20);
	s = (struct perfwrite_sample){ .misc = PERF_RECORD_MISC_USER, .ip = SHELL_AT + 0x10, .pid = child, .tid = child, .time = t + 30,
				       .period = 250000, .chain = deep + 3, .nr_chain = 4, .cpu = 1, .id = 12 };
	perfwrite_sample(w, 0, &s);
	perfwrite_comm(w, child, child, "tool", true, t + 40);
	perfwrite_mmap(w, &(struct perfwrite_map){ .pid = child, .addr = TOOL_AT, .len = 0x1000, .pgoff = 0x2000,
						   .name = "/bin/tool", .build_id = (const u8 *)"tool--build-id-20-by" }, t + 40);
	s = (struct perfwrite_sample){ .misc = PERF_RECORD_MISC_USER, .ip = tool[1], .pid = child, .tid = child, .time = t + 50,
				       .period = 1000, .chain = tool, .nr_chain = ARRAY_SIZE(tool), .cpu = 1 };
	perfwrite_sample(w, 0, &s);
	/* a library at the same address, each time another one */
	char name[32];
	snprintf(name, sizeof(name), "/lib/plugin%u.so", round % 4);
	perfwrite_mmap(w, &(struct perfwrite_map){ .pid = 100, .addr = LIB_AT, .len = 0x1000, .name = name, .ino = 10 + round % 4 }, t + 60);
	perfwrite_fork(w, 100, 100, 150 + round, 100, t + 70); /* a thread */
	perfwrite_comm(w, 100, 150 + round, "worker", false, t + 75);
	s = (struct perfwrite_sample){ .ip = KERNEL_AT + 0x300, .misc = PERF_RECORD_MISC_KERNEL, .pid = 100, .tid = 150 + round,
				       .time = t + 80, .period = 1, .addr = 0xabc, .raw = "payload!", .raw_size = 4 + round % 3, .cpu = 0 };
	perfwrite_sample(w, 1, &s);
	perfwrite_ksymbol(w, BPF_AT, 0x100, "bpf_prog_1", false, t + 81);
	u64 bpf[] = { (u64)PERF_CONTEXT_KERNEL, BPF_AT + 4, KERNEL_AT + 0x300 };
	s = (struct perfwrite_sample){ .ip = bpf[1], .misc = PERF_RECORD_MISC_KERNEL, .pid = 100, .tid = 150 + round, .time = t + 82,
				       .period = 7, .chain = bpf, .nr_chain = 3, .cpu = 0, .id = 12 };
	perfwrite_sample(w, 0, &s);
	perfwrite_ksymbol(w, BPF_AT, 0x100, "bpf_prog_1", true, t + 83);
	s.time = t + 84;
	perfwrite_sample(w, 0, &s);
	perfwrite_exit(w, child, 100, child, 100, t + 90);
	if (round % 3 == 1)
		perfwrite_lost(w, 5, t + 95);
	perfwrite_round(w);
}

void perfwrite_story(struct perfwrite *w, unsigned form, u32 attr_size, u32 rounds)
{
	perfwrite_begin(w, form);
	w->attr_size = attr_size;
	story_events(w);
	story_head(w);
	if (!(form & (PERFWRITE_ZSTD | PERFWRITE_ZSTD2)))
		perfwrite_auxtrace(w, "\0\0\0\0\0\0\0\0 might be a record of no size  ", 40);
	perfwrite_kernel(w);
	for (u32 i = 0; i < rounds; i++)
		story_round(w, i);
	if (!(form & PERFWRITE_OPEN))
		perfwrite_end(w);
}
