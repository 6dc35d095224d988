/*
 * Samples of every shape: each part alone, all together, and many random choices, in both byte orders, at every alignment, and cut
 * off at every byte (in memory that ends there, so that a sanitizer sees a read behind it).
 */
#include "gen/perfwrite.h"
#include "tap.h"
#include "wire/perf_sample.h"

#include <errno.h>

/* Bits that can follow each other in a record; the kernel refuses WEIGHT together with WEIGHT_STRUCT. */
static const u64 parts[] = {
	PERF_SAMPLE_IDENTIFIER,
	PERF_SAMPLE_IP,
	PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,
	PERF_SAMPLE_ADDR,
	PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID,
	PERF_SAMPLE_CPU,
	PERF_SAMPLE_PERIOD,
	PERF_SAMPLE_READ,
	PERF_SAMPLE_CALLCHAIN,
	PERF_SAMPLE_RAW,
	PERF_SAMPLE_BRANCH_STACK,
	PERF_SAMPLE_REGS_USER,
	PERF_SAMPLE_STACK_USER,
	PERF_SAMPLE_WEIGHT,
	PERF_SAMPLE_WEIGHT_STRUCT,
	PERF_SAMPLE_DATA_SRC,
	PERF_SAMPLE_TRANSACTION,
	PERF_SAMPLE_REGS_INTR,
	PERF_SAMPLE_PHYS_ADDR,
	PERF_SAMPLE_CGROUP,
	PERF_SAMPLE_DATA_PAGE_SIZE,
	PERF_SAMPLE_CODE_PAGE_SIZE,
	PERF_SAMPLE_AUX,
};

static u64 seed = 88172645463325252ull;
static u64 rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static u64 numbers[4096];

struct shape {
	struct perf_event_attr attr;
	struct perfwrite_sample s;
};

static u64 read_words(u64 format, u64 nr)
{
	u64 each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	u64 times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	return format & PERF_FORMAT_GROUP ? 1 + times + nr * each : each + times;
}

static void make_shape(struct shape *sh, u64 type)
{
	static u64 read[64];
	if (type & PERF_SAMPLE_WEIGHT && type & PERF_SAMPLE_WEIGHT_STRUCT)
		type &= ~(u64)PERF_SAMPLE_WEIGHT;
	*sh = (struct shape){ .attr = { .sample_type = type, .sample_period = 77 } };
	sh->attr.read_format = rnd() & 31;
	sh->attr.branch_sample_type = rnd() & PERF_SAMPLE_BRANCH_HW_INDEX;
	if (rnd() % 2)
		sh->attr.branch_sample_type |= 1ull << 19;
	sh->attr.sample_regs_user = rnd() & 0xff00ff;
	sh->attr.sample_regs_intr = rnd() & 0xff;
	sh->attr.freq = rnd() % 2;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		numbers[i] = rnd();
	u64 nr_values = rnd() % 5;
	memcpy(read, numbers, sizeof(read));
	if (sh->attr.read_format & PERF_FORMAT_GROUP)
		read[0] = nr_values;
	u64 *n = numbers + 100;
	sh->s = (struct perfwrite_sample){
		.misc = PERF_RECORD_MISC_USER,
		.ip = n[0],
		.time = n[1],
		.addr = n[2],
		.stream_id = n[3],
		.period = n[4],
		.id = n[5],
		.pid = (u32)n[6],
		.tid = (u32)n[7],
		.cpu = (u32)n[8],
		.chain = n + 200,
		.nr_chain = rnd() % 20,
		.read = read,
		.nr_read = read_words(sh->attr.read_format, nr_values),
		.raw = n + 300,
		.raw_size = (u32)(rnd() % 40),
		.branches = n + 400,
		.nr_branches = rnd() % 5,
		.regs_user = rnd() % 4 ? n + 500 : NULL,
		.regs_intr = rnd() % 4 ? n + 600 : NULL,
		.stack = n + 700,
		.stack_size = rnd() % 3 * 64,
		.stack_used = rnd() % 100,
		.weight = n[9],
		.data_src = n[10],
		.transaction = n[11],
		.phys_addr = n[12],
		.cgroup = n[13],
	};
}

static bool same_words(const void *got, const u64 *want, u64 nr, bool swap)
{
	for (u64 i = 0; i < nr; i++) {
		u64 v;
		memcpy(&v, (const u8 *)got + 8 * i, 8);
		if ((swap ? __builtin_bswap64(v) : v) != want[i])
			return false;
	}
	return true;
}

/* The first thing that is not as it was written, or NULL. */
static const char *wrong(const struct shape *sh, const struct perf_sample_view *v, bool swap)
{
	u64 type = sh->attr.sample_type;
	const struct perfwrite_sample *s = &sh->s;
#define SAME(bit, got, want)                                                                       \
	if (type & (bit) ? (got) != (want) : (got) != 0)                                           \
	return #got
	SAME(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID, v->id, s->id);
	SAME(PERF_SAMPLE_IP, v->ip, s->ip);
	SAME(PERF_SAMPLE_TID, v->pid, s->pid);
	SAME(PERF_SAMPLE_TID, v->tid, s->tid);
	SAME(PERF_SAMPLE_TIME, v->time, s->time);
	SAME(PERF_SAMPLE_ADDR, v->addr, s->addr);
	SAME(PERF_SAMPLE_STREAM_ID, v->stream_id, s->stream_id);
	SAME(PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, v->weight,
	     type & PERF_SAMPLE_WEIGHT ? s->weight : s->weight & UINT32_MAX);
	SAME(PERF_SAMPLE_DATA_SRC, v->data_src, s->data_src);
	SAME(PERF_SAMPLE_TRANSACTION, v->transaction, s->transaction);
	SAME(PERF_SAMPLE_PHYS_ADDR, v->phys_addr, s->phys_addr);
	SAME(PERF_SAMPLE_CGROUP, v->cgroup, s->cgroup);
	SAME(PERF_SAMPLE_CALLCHAIN, v->nr_chain, s->nr_chain);
	SAME(PERF_SAMPLE_BRANCH_STACK, v->nr_branches, s->nr_branches);
	SAME(PERF_SAMPLE_RAW, v->raw_size, s->raw_size);
	SAME(PERF_SAMPLE_READ, v->read_size, 8 * s->nr_read);
#undef SAME
	if (v->has_time != !!(type & PERF_SAMPLE_TIME))
		return "has_time";
	if (v->cpu != (type & PERF_SAMPLE_CPU ? s->cpu : UINT32_MAX))
		return "cpu";
	if (v->period != (type & PERF_SAMPLE_PERIOD ? s->period : sh->attr.freq ? 1 : 77))
		return "period";
	if ((v->nr_chain && (uintptr_t)v->chain & 7) ||
	    !same_words(v->chain, s->chain, v->nr_chain, false))
		return "chain";
	if (!same_words(v->branches, s->branches, 3 * v->nr_branches, swap))
		return "branches";
	if (type & PERF_SAMPLE_READ && !same_words(v->read, s->read, s->nr_read, swap))
		return "read";
	if (v->raw_size && memcmp(v->raw, s->raw, v->raw_size))
		return "raw";
	if (type & PERF_SAMPLE_REGS_USER && s->regs_user &&
	    (v->user_regs.mask != sh->attr.sample_regs_user ||
	     !same_words(v->user_regs.values, s->regs_user, v->user_regs.nr, swap)))
		return "user_regs";
	if (type & PERF_SAMPLE_REGS_INTR && s->regs_intr &&
	    (v->intr_regs.mask != sh->attr.sample_regs_intr ||
	     !same_words(v->intr_regs.values, s->regs_intr, v->intr_regs.nr, swap)))
		return "intr_regs";
	u64 stack = type & PERF_SAMPLE_STACK_USER ? min(s->stack_used, s->stack_size) : 0;
	if (v->stack_size != stack || (stack && memcmp(v->stack, s->stack, stack)))
		return "stack";
	return NULL;
}

/* Cut off after each byte: an error, or what is left is whole. Never more than there is. */
static const char *cut(const struct perf_layout *l, const u8 *rec, u16 size, bool swap,
		       struct perf_scratch *scratch)
{
	const char *bad = NULL;
	for (u16 n = sizeof(struct perf_event_header); n < size && !bad; n++) {
		u8 *own = malloc(n);
		struct perf_sample_view v;
		memcpy(own, rec, n);
		int err = perf_sample_decode(l, own, n, swap, scratch, &v);
		if (err && err != -EBADMSG)
			bad = "another error than -EBADMSG";
		if (perf_sample_id(l, own, n, swap) && n < 16)
			bad = "an id out of nowhere";
		/* whatever it says is there can be read */
		volatile u64 sum = 0;
		(void)sum;
		for (u64 i = 0; !err && i < v.nr_chain; i++)
			sum += v.chain[i];
		for (u64 i = 0; !err && i < v.nr_branches * 24; i++)
			sum += v.branches[i];
		for (u64 i = 0; !err && i < v.raw_size; i++)
			sum += ((const u8 *)v.raw)[i];
		for (u64 i = 0; !err && i < v.stack_size; i++)
			sum += v.stack[i];
		free(own);
	}
	return bad;
}

static const char *try_shape(const struct shape *sh, bool swap, unsigned align, bool cuts)
{
	struct perfwrite w;
	perfwrite_begin(&w, swap ? PERFWRITE_SWAP : 0);
	perfwrite_event(&w, &sh->attr, NULL, 0, NULL);
	perfwrite_sample(&w, 0, &sh->s);
	u16 size = (u16)w.user.len;
	u8 *mem = malloc(size + (size_t)align);
	memcpy(mem + align, w.user.data, size);
	struct perf_layout l;
	perf_layout_init(&l, &sh->attr);
	struct perf_scratch scratch = { 0 };
	struct perf_sample_view v;
	int err = perf_sample_decode(&l, mem + align, size, swap, &scratch, &v);
	const char *bad = err ? "refused" : wrong(sh, &v, swap);
	u64 id = sh->attr.sample_type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID) ? sh->s.id : 0;
	if (!bad && perf_sample_id(&l, mem + align, size, swap) != id)
		bad = "perf_sample_id";
	if (!bad && cuts)
		bad = cut(&l, mem + align, size, swap, &scratch);
	perf_scratch_done(&scratch);
	free(mem);
	perfwrite_done(&w);
	return bad;
}

static void test_each(void)
{
	u64 all = 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *bad = NULL;
		struct shape sh;
		all |= parts[i];
		for (unsigned k = 0; k < 32 && !bad; k++) {
			make_shape(&sh, parts[i]);
			bad = try_shape(&sh, k & 1, k / 2 % 8, true);
		}
		ok(!bad, "bit 0x%llx alone%s%s", (unsigned long long)parts[i], bad ? ": " : "",
		   bad ? bad : "");
	}
	const char *bad = NULL;
	for (unsigned k = 0; k < 64 && !bad; k++) {
		struct shape sh;
		make_shape(&sh, all);
		bad = try_shape(&sh, k & 1, k / 2 % 8, true);
	}
	ok(!bad, "all bits together%s%s", bad ? ": " : "", bad ? bad : "");
}

static void test_random(void)
{
	const char *bad = NULL;
	u64 type = 0;
	for (unsigned k = 0; k < 3000 && !bad; k++) {
		struct shape sh;
		type = 0;
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			type |= rnd() % 2 ? parts[i] : 0;
		make_shape(&sh, type);
		bad = try_shape(&sh, k & 1, k / 2 % 8, k % 8 == 0);
	}
	ok(!bad, "3000 random choices%s%s", bad ? ": " : "", bad ? bad : "");
	if (bad)
		printf("# sample_type 0x%llx\n", (unsigned long long)type);
}

/* Counts that promise more than any record can hold. */
static void test_hostile(void)
{
	static const u64 counts[] = { 1ull << 61,	  UINT64_MAX, UINT64_MAX / 24 + 1,
				      UINT64_MAX / 8 + 1, 1ull << 32, 3 };
	static const u64 bits[] = { PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK,
				    PERF_SAMPLE_STACK_USER, PERF_SAMPLE_READ };
	unsigned taken = 0;
	for (size_t b = 0; b < ARRAY_SIZE(bits); b++)
		for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
			struct perf_event_attr attr = { .sample_type = bits[b],
							.read_format =
								PERF_FORMAT_GROUP | PERF_FORMAT_ID,
							.branch_sample_type =
								i & 1 ? 1ull << 19 : 0 };
			struct perf_layout l;
			perf_layout_init(&l, &attr);
			u64 *rec = calloc(4, 8);
			rec[1] = counts[i];
			struct perf_scratch scratch = { 0 };
			struct perf_sample_view v;
			taken += perf_sample_decode(&l, (u8 *)rec, 32, false, &scratch, &v) !=
					 -EBADMSG &&
				 !(bits[b] == PERF_SAMPLE_STACK_USER && counts[i] == 3);
			perf_scratch_done(&scratch);
			free(rec);
		}
	is_u64(taken, 0, "counts that cannot be are refused");
}

static void test_attr(void)
{
	static const u32 sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 200 };
	unsigned bad = 0;
	struct perf_event_attr a = { .type = 1,
				     .config = 0x1234567890,
				     .sample_period = 99,
				     .sample_type = 0x1c7,
				     .read_format = 15,
				     .freq = 1,
				     .sample_id_all = 1,
				     .exclude_kernel = 1,
				     .use_clockid = 1,
				     .build_id = 1,
				     .bp_type = 3,
				     .config1 = 5,
				     .config2 = 6,
				     .branch_sample_type = 7,
				     .sample_regs_user = 8,
				     .sample_stack_user = 9,
				     .clockid = -2,
				     .sample_regs_intr = 11,
				     .aux_watermark = 12,
				     .sample_max_stack = 13,
				     .aux_sample_size = 14,
				     .sig_data = 15 };
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (unsigned swap = 0; swap < 2; swap++) {
			struct perfwrite w;
			perfwrite_begin(&w, (swap ? PERFWRITE_SWAP : 0) | PERFWRITE_PIPE);
			w.attr_size = sizes[i];
			perfwrite_event(&w, &a, NULL, 0, NULL);
			perfwrite_end(&w);
			/* behind the pipe's head and the record's */
			struct bytes b = bytes_of(w.out.data + 24, w.out.len - 24, swap);
			struct perf_event_attr got, want = { 0 };
			memcpy(&want, &a, min((size_t)sizes[i], sizeof(want)));
			want.size = sizes[i];
			if (perf_attr_read(&b, sizes[i], &got) ||
			    memcmp(&got, &want, sizeof(got)) || bytes_left(&b)) {
				printf("# attr of %u bytes%s\n", sizes[i], swap ? ", swapped" : "");
				bad++;
			}
			b = bytes_of(w.out.data + 24, w.out.len - 25, swap);
			bad += perf_attr_read(&b, sizes[i], &got) != -EINVAL;
			perfwrite_done(&w);
		}
	struct bytes b = bytes_of(numbers, sizeof(numbers), false);
	struct perf_event_attr got;
	bad += perf_attr_read(&b, 63, &got) != -EINVAL;
	bad += perf_attr_read(&b, 4097, &got) != -EINVAL;
	is_u64(bad, 0, "attrs of every age, both byte orders");
}

/* Records about tasks and maps, cut off at every byte. */
static void test_side(void)
{
	unsigned bad = 0, decoded = 0;
	for (unsigned form = 0; form < 2; form++) {
		struct perfwrite w;
		perfwrite_story(&w, form, 0, 2);
		const struct perf_event_attr *a = &w.events.at[0].attr;
		const u8 *at = (u8 *)w.kernel.data, *end = at + w.kernel.len;
		for (; at < end;) {
			struct perf_event_header h = perf_head(at, form);
			for (u16 n = sizeof(h); n <= h.size && h.type != PERF_RECORD_SAMPLE; n++) {
				u8 *own = malloc(n);
				memcpy(own, at, n);
				struct perf_side side = { 0 };
				int err =
					perf_side_decode(own, n, form, a->sample_type, true, &side);
				bad += err && err != -EBADMSG && err != -ENOENT;
				bad += !err && side.name && strlen(side.name) > n;
				decoded += !err && n == h.size;
				bad += !err && n == h.size &&
				       (side.who.time < 1000 || !side.has_time);
				free(own);
			}
			at += h.size;
		}
		perfwrite_done(&w);
	}
	is_u64(bad, 0, "records about tasks and maps, cut off at every byte");
	is_u64(decoded, 2 * (2 * 9 + 1), "and whole ones are understood");
}

/* What a thread has counted, cut off at every byte, in both byte orders. */
static void test_read(void)
{
	unsigned bad = 0, decoded = 0;
	for (unsigned form = 0; form < 2; form++) {
		struct perfwrite w;
		struct perf_event_attr a = { .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
							    PERF_SAMPLE_IDENTIFIER,
					     .sample_id_all = 1 };
		struct perfwrite_sample who = { .pid = 7, .tid = 8, .time = 1234, .id = 11 };
		perfwrite_begin(&w, form ? PERFWRITE_SWAP : 0);
		perfwrite_event(&w, &a, (u64[]){ 11 }, 1, "cycles");
		perfwrite_kernel(&w);
		perfwrite_rec(&w, PERF_RECORD_READ, 0);
		perfwrite_u32(&w, 7);
		perfwrite_u32(&w, 8);
		perfwrite_u64(&w, 4711);
		perfwrite_trailer(&w, 0, &who);
		perfwrite_rec_end(&w, 0);
		u16 size = (u16)w.kernel.len;
		for (u16 n = sizeof(struct perf_event_header); n <= size; n++) {
			u8 *own = malloc(n);
			memcpy(own, w.kernel.data, n);
			struct perf_read r;
			int err = perf_read_decode(own, n, form, a.sample_type, true, &r);
			bad += err && err != -EBADMSG;
			bad += !err && n < size; /* the trailer takes what is missing */
			decoded += !err && r.pid == 7 && r.tid == 8 && r.value == 4711 &&
				   r.who.time == 1234 && r.who.id == 11;
			free(own);
		}
		perfwrite_done(&w);
	}
	is_u64(bad, 0, "counts of threads, cut off at every byte");
	is_u64(decoded, 2, "and whole ones are understood");
}

/* A sample of an IP, registers and a stack's copy of 64 bytes of which `filled` are, and what an access met. Returns its size. */
static u16 stack_record(u64 *rec, u64 filled)
{
	u64 *at = rec + 1;
	*at++ = 0x1000; /* ip */
	*at++ = PERF_SAMPLE_REGS_ABI_64;
	*at++ = 0x2000; /* the only register */
	*at++ = 64;
	for (int i = 0; i < 8; i++)
		*at++ = (u64)i + 1;
	*at++ = filled;
	*at++ = 0x77; /* data_src */
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE, .size = (u16)((at - rec) * 8) };
	memcpy(rec, &h, sizeof(h));
	return h.size;
}

static void test_trim(void)
{
	struct perf_event_attr attr = { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER |
						       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_DATA_SRC,
					.sample_regs_user = 1 };
	static const u64 fills[] = { 0, 8, 13, 40, 64 };
	struct perf_layout l;
	struct perf_scratch scratch = { 0 };
	perf_layout_init(&l, &attr);
	for (size_t i = 0; i < ARRAY_SIZE(fills); i++) {
		u64 rec[32], to[32];
		struct perf_sample_view v, t;
		u16 size = stack_record(rec, fills[i]);
		bool good = !perf_sample_decode(&l, (const u8 *)rec, size, false, &scratch, &v);
		u16 less = good ? (u16)perf_sample_trim_stack((const u8 *)rec, &v, (u8 *)to) : 0;
		u64 kept = (fills[i] + 7) & ~7ull;
		ok(less == size - (64 - kept) - (kept ? 0 : 8),
		   "%llu bytes of 64: the rest is gone", (unsigned long long)fills[i]);
		good = good && !perf_sample_decode(&l, (const u8 *)to, less, false, &scratch, &t) &&
		       t.ip == 0x1000 && t.data_src == 0x77 && t.stack_size == v.stack_size &&
		       (!t.stack_size || !memcmp(t.stack, v.stack, t.stack_size));
		ok(good, "... and all else is as it was");
	}
	perf_scratch_done(&scratch);
}

int main(void)
{
	test_each();
	test_trim();
	test_random();
	test_hostile();
	test_attr();
	test_side();
	test_read();
	return done_testing();
}
