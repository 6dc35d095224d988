/* Bodies of records that perf itself writes into a file, and the parts of samples, as `report -D` prints them. */
#include "session/dump_raw.h"

#include "arch/arch.h"
#include "file/statdata.h"
#include "model/data_src.h"

#include <string.h>

typedef unsigned long long ull;

static void print_id_index(struct bytes *b, u32 size, struct strbuf *to)
{
	enum { ENTRY = 32 };
	u64 nr = bytes_u64(b);
	strbuf_printf(to, " nr: %llu\n", (ull)nr);
	for (nr = min(nr, (u64)size / ENTRY); nr && !b->bad; nr--) {
		ull id = bytes_u64(b), idx = bytes_u64(b);
		s64 cpu = (s64)bytes_u64(b), tid = (s64)bytes_u64(b);
		strbuf_printf(to, " ... id: %llu  idx: %llu  cpu: %lld  tid: %lld\n", id, idx,
			      (long long)cpu, (long long)tid);
	}
}

static void print_thread_map(struct bytes *b, struct strbuf *to)
{
	u64 nr = bytes_u64(b);
	strbuf_printf(to, nr > 1 ? " nr: %llu threads: " : " nr: %llu thread: ", (ull)nr);
	for (u64 i = 0; i < nr && bytes_left(b) >= 8 + STATDATA_COMM_MAX; i++) {
		strbuf_printf(to, i ? ", %lld" : "%lld", (long long)bytes_u64(b));
		bytes_skip(b, STATDATA_COMM_MAX);
	}
	strbuf_char(to, '\n');
}

/* Runs as ranges: "0-3,7". */
static void print_cpu_list(struct bytes *b, struct strbuf *to)
{
	struct statdata s = { 0 };
	if (statdata_cpu_map(&s, b)) {
		strbuf_str(to, "(damaged)\n");
		vec_free(&s.cpus);
		dict_done(&s.cpu_at);
		return;
	}
	for (size_t i = 0; i < s.cpus.nr; i++) {
		size_t first = i;
		while (i + 1 < s.cpus.nr && s.cpus.at[i + 1] == s.cpus.at[i] + 1)
			i++;
		strbuf_printf(to, first ? ",%d" : "%d", s.cpus.at[first]);
		if (i > first)
			strbuf_printf(to, "-%d", s.cpus.at[i]);
	}
	strbuf_char(to, '\n');
	vec_free(&s.cpus);
	dict_done(&s.cpu_at);
}

static void print_event_update(struct bytes *b, struct strbuf *to)
{
	enum { UNIT, SCALE, NAME, CPUS };
	u64 what = bytes_u64(b), id = bytes_u64(b), bits;
	double scale;
	strbuf_printf(to, "\n... id:    %llu\n", (ull)id);
	const char *text = what == UNIT || what == NAME ? bytes_cstr(b) : NULL;
	switch (what) {
	case UNIT: strbuf_printf(to, "... unit:  %s\n", text ? text : ""); break;
	case NAME: strbuf_printf(to, "... name:  %s\n", text ? text : ""); break;
	case SCALE:
		bits = bytes_u64(b);
		memcpy(&scale, &bits, sizeof(scale));
		strbuf_printf(to, "... scale: %f\n", scale);
		break;
	case CPUS:
		strbuf_str(to, "... ");
		print_cpu_list(b, to);
		break;
	default: strbuf_str(to, "... unknown type\n"); break;
	}
}

static void print_stat_config(struct bytes *b, struct strbuf *to)
{
	static const char *const terms[] = { "aggr_mode", "interval ", "scale    " };
	/* perf lists the mode, the scale and the interval, in whatever order they were written. */
	static const u64 order[] = { 0, 2, 1 };
	u64 nr = min(bytes_u64(b), bytes_left(b) / 16), values[ARRAY_SIZE(terms)] = { 0 };
	for (; nr; nr--) {
		u64 tag = bytes_u64(b), value = bytes_u64(b);
		if (tag < ARRAY_SIZE(values))
			values[tag] = value;
	}
	strbuf_char(to, '\n');
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		strbuf_printf(to, "... %s %llu\n", terms[order[i]], (ull)values[order[i]]);
}

static void print_stat(struct bytes *b, struct strbuf *to)
{
	ull id = bytes_u64(b);
	s32 cpu = (s32)bytes_u32(b), thread = (s32)bytes_u32(b);
	ull value = bytes_u64(b), enabled = bytes_u64(b), running = bytes_u64(b);
	strbuf_printf(to, "\n... id %llu, cpu %d, thread %d\n", id, cpu, thread);
	strbuf_printf(to, "... value %llu, enabled %llu, running %llu\n", value, enabled, running);
}

static void print_stat_round(struct bytes *b, struct strbuf *to)
{
	u64 type = bytes_u64(b), time = bytes_u64(b);
	strbuf_printf(to, "\n... time %llu, type %s\n", (ull)time, type ? "FINAL" : "INTERVAL");
}

static void print_time_conv(struct bytes *b, u32 size, struct strbuf *to)
{
	enum { WITH_CYCLES = 8 + 3 * 8 + 8 };
	ull shift = bytes_u64(b), mult = bytes_u64(b), zero = bytes_u64(b);
	strbuf_printf(to, "\n... Time Shift      %llu\n... Time Muliplier  %llu\n", shift, mult);
	strbuf_printf(to, "... Time Zero       %llu\n", zero);
	if (size < WITH_CYCLES)
		return;
	ull cycles = bytes_u64(b), mask = bytes_u64(b);
	u32 has_zero = bytes_u8(b), is_short = bytes_u8(b);
	strbuf_printf(to, "... Time Cycles     %llu\n... Time Mask       %#llx\n", cycles, mask);
	strbuf_printf(to, "... Cap Time Zero   %u\n... Cap Time Short  %u\n", has_zero, is_short);
}

void dump_record_body(const struct perfdata *file, const u8 *rec, const struct perf_event_header *h,
		      bool has_handlers, struct strbuf *to)
{
	struct bytes b = bytes_of(rec + sizeof(*h), h->size - sizeof(*h), file->swap);
	bool handled = has_handlers;
	switch (h->type) {
	case REC_ID_INDEX: print_id_index(&b, h->size, to); return;
	case REC_EVENT_UPDATE: print_event_update(&b, to); return;
	case REC_THREAD_MAP: print_thread_map(&b, to); break;
	case REC_CPU_MAP:
		strbuf_str(to, ": ");
		print_cpu_list(&b, to);
		break;
	case REC_STAT_CONFIG: print_stat_config(&b, to); break;
	case REC_STAT: print_stat(&b, to); break;
	case REC_STAT_ROUND: print_stat_round(&b, to); break;
	case REC_TIME_CONV: print_time_conv(&b, h->size, to); return;
	case REC_FINISHED_INIT: handled = false; break;
	case REC_HEADER_ATTR:
	case REC_HEADER_FEATURE: return; /* the next record's empty line ends it */
	default: strbuf_char(to, '\n'); return;
	}
	if (!handled)
		strbuf_str(to, ": unhandled!\n");
}

/* ---- samples ---- */

static void print_branches(const struct perfdata_attr *a, const struct perf_sample_view *v,
			   bool swap, struct strbuf *to)
{
	bool calls = a->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
	struct bytes b = bytes_of(v->branches, v->nr_branches * 24, swap);
	strbuf_printf(to, "... branch %s: nr:%llu\n", calls ? "callstack" : "stack",
		      (ull)(calls ? v->nr_branches + 1 : v->nr_branches));
	for (u64 i = 0; i < v->nr_branches; i++) {
		ull from = bytes_u64(&b), dest = bytes_u64(&b);
		u64 flags = bytes_u64(&b);
		if (calls) {
			if (!i)
				strbuf_printf(to, "..... %2u: %016llx\n", 0u, dest);
			strbuf_printf(to, "..... %2llu: %016llx\n", (ull)i + 1, from);
			continue;
		}
		strbuf_printf(to, "..... %2llu: %016llx -> %016llx %hu cycles %s%s%s%s %x %s\n",
			      (ull)i, from, dest, (unsigned short)BRANCH_CYCLES(flags),
			      flags & BRANCH_MISPREDICTED ? "M" : " ",
			      flags & BRANCH_PREDICTED ? "P" : " ", flags & BRANCH_ABORT ? "A" : " ",
			      flags & BRANCH_IN_TX ? "T" : " ", (unsigned)(flags >> 33),
			      branch_type_word(BRANCH_TYPE(flags), BRANCH_NEW_TYPE(flags)));
	}
}

/* The chain that the CPU's call stack continues: the kernel's part, then the branches' targets and origins. */
static void print_lbr_chain(const struct perf_sample_view *v, bool swap, struct strbuf *to)
{
	u64 kernel = 0;
	while (kernel < v->nr_chain && v->chain[kernel] != (u64)PERF_CONTEXT_USER)
		kernel++;
	if (kernel++ == v->nr_chain || !v->nr_branches)
		return;
	struct bytes b = bytes_of(v->branches, v->nr_branches * 24, swap);
	strbuf_printf(to, "... LBR call chain: nr:%llu\n", (ull)(kernel + v->nr_branches + 1));
	for (u64 i = 0; i < kernel; i++)
		strbuf_printf(to, "..... %2llu: %016llx\n", (ull)i, (ull)v->chain[i]);
	for (u64 i = 0; i < v->nr_branches; i++) {
		ull from = bytes_u64(&b), dest = bytes_u64(&b);
		bytes_skip(&b, 8);
		if (!i)
			strbuf_printf(to, "..... %2llu: %016llx\n", (ull)kernel, dest);
		strbuf_printf(to, "..... %2llu: %016llx\n", (ull)(kernel + i + 1), from);
	}
}

static void print_regs(const struct perfdata *file, const char *whose, const struct perf_regs *r,
		       struct strbuf *to)
{
	static const char *const abis[] = { "none", "32-bit", "64-bit" };
	const char *name = perfdata_string(file, FEAT_ARCH);
	const struct arch *arch = name ? arch_of_name(name) : arch_host();
	if (!r->abi)
		return;
	strbuf_printf(to, "... %s regs: mask 0x%llx ABI %s\n", whose, (ull)r->mask,
		      r->abi < ARRAY_SIZE(abis) ? abis[r->abi] : "unknown");
	u32 at = 0;
	for (u64 bits = r->mask; bits && at < r->nr; bits &= bits - 1, at++) {
		u32 nr = (u32)__builtin_ctzll(bits);
		u64 value;
		memcpy(&value, &r->values[at], sizeof(value));
		value = file->swap ? __builtin_bswap64(value) : value;
		const char *reg = arch && nr < arch->nr_perf_names ? arch->perf_names[nr] : NULL;
		strbuf_printf(to, ".... %-5s 0x%016llx\n", reg ? reg : "unknown", (ull)value);
	}
}

static void print_read_value(struct bytes *b, u64 format, struct strbuf *to)
{
	ull value = bytes_u64(b), id = format & PERF_FORMAT_ID ? bytes_u64(b) : 0;
	strbuf_printf(to, "..... id %016llx, value %016llx", id, value);
	if (format & PERF_FORMAT_LOST)
		strbuf_printf(to, ", lost %llu", (ull)bytes_u64(b));
	strbuf_char(to, '\n');
}

static void print_read(const struct perfdata_attr *a, const struct perf_sample_view *v, bool swap,
		       struct strbuf *to)
{
	u64 format = a->attr.read_format, nr = 1;
	struct bytes b = bytes_of(v->read, v->read_size, swap);
	strbuf_str(to, "... sample_read:\n");
	/* A group has its number first, a single event its value: the times are between. */
	if (format & PERF_FORMAT_GROUP) {
		nr = bytes_u64(&b);
		if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
			strbuf_printf(to, "...... time enabled %016llx\n", (ull)bytes_u64(&b));
		if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
			strbuf_printf(to, "...... time running %016llx\n", (ull)bytes_u64(&b));
		strbuf_printf(to, ".... group nr %llu\n", (ull)nr);
		for (; nr && bytes_left(&b) >= 8; nr--)
			print_read_value(&b, format, to);
		return;
	}
	ull value = bytes_u64(&b);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		strbuf_printf(to, "...... time enabled %016llx\n", (ull)bytes_u64(&b));
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		strbuf_printf(to, "...... time running %016llx\n", (ull)bytes_u64(&b));
	strbuf_printf(to, "..... id %016llx, value %016llx",
		      format & PERF_FORMAT_ID ? (ull)bytes_u64(&b) : 0ull, value);
	if (format & PERF_FORMAT_LOST)
		strbuf_printf(to, ", lost %llu", (ull)bytes_u64(&b));
	strbuf_char(to, '\n');
}

static void print_page(struct strbuf *to, const char *what, u64 bytes)
{
	strbuf_printf(to, " .. %s page size: ", what);
	data_src_page(bytes, to);
	strbuf_char(to, '\n');
}

/* What a sample carries besides its place: a line for each part that the event has. */
void dump_sample_parts(const struct perfdata *file, const struct perfdata_attr *a, const u8 *rec,
		       const struct perf_sample_view *v, struct strbuf *to)
{
	u64 type = a->attr.sample_type;
	bool swap = file->swap;
	if (type & PERF_SAMPLE_CALLCHAIN && type & PERF_SAMPLE_BRANCH_STACK &&
	    a->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK)
		print_lbr_chain(v, swap, to);
	if (type & PERF_SAMPLE_CALLCHAIN)
		strbuf_printf(to, "... FP chain: nr:%llu\n", (ull)v->nr_chain);
	for (u64 i = 0; i < v->nr_chain; i++)
		strbuf_printf(to, "..... %2llu: %016llx\n", (ull)i, (ull)v->chain[i]);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		print_branches(a, v, swap, to);
	if (type & PERF_SAMPLE_REGS_USER)
		print_regs(file, "user", &v->user_regs, to);
	if (type & PERF_SAMPLE_REGS_INTR)
		print_regs(file, "intr", &v->intr_regs, to);
	if (type & PERF_SAMPLE_STACK_USER)
		strbuf_printf(to, "... ustack: size %llu, offset 0x%x\n", (ull)v->stack_size,
			      v->stack ? (unsigned)(v->stack - rec) - 8
				       : 0); /* of the size before it */
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) {
		strbuf_printf(to, "... weight: %llu", (ull)v->weight);
		if (type & PERF_SAMPLE_WEIGHT_STRUCT)
			strbuf_printf(to, ",0x%x,0x%x", v->ins_lat, v->stage_cycles);
		strbuf_char(to, '\n');
	}
	if (type & PERF_SAMPLE_DATA_SRC)
		strbuf_printf(to, " . data_src: 0x%llx\n", (ull)v->data_src);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		strbuf_printf(to, " .. phys_addr: 0x%llx\n", (ull)v->phys_addr);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		print_page(to, "data", v->data_page);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		print_page(to, "code", v->code_page);
	if (type & PERF_SAMPLE_TRANSACTION)
		strbuf_printf(to, "... transaction: %llx\n", (ull)v->transaction);
	if (type & PERF_SAMPLE_READ)
		print_read(a, v, swap, to);
}
