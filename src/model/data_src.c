#include "model/data_src.h"

/* Bit fields of union perf_mem_data_src (include/uapi/linux/perf_event.h). */
enum {
	OP_AT = 0,
	LEVEL_AT = 5,
	SNOOP_AT = 19,
	LOCK_AT = 24,
	TLB_AT = 26,
	LEVEL_NUMBER_AT = 33,
	REMOTE_AT = 37,
	SNOOPX_AT = 38,
	BLOCKED_AT = 40,
	HOPS_AT = 43,
	HIT = 2, /* of levels and TLBs */
	MISS = 4,
	NOT_KNOWN = 1, /* of all */
};

static u32 part(u64 src, unsigned at, unsigned bits)
{
	return (u32)(src >> at & ((1u << bits) - 1));
}

/* The names of bits that are set, "or" between them: how many. */
static unsigned add_bits(struct strbuf *to, u32 bits, const char *const *names, unsigned nr,
			 unsigned before)
{
	for (unsigned i = 0; i < nr; i++) {
		if (!(bits >> i & 1))
			continue;
		strbuf_str(to, before++ ? " or " : "");
		strbuf_str(to, names[i]);
	}
	return before;
}

static void add_luck(struct strbuf *to, u32 bits)
{
	strbuf_str(to, bits & HIT ? " hit" : "");
	strbuf_str(to, bits & MISS ? " miss" : "");
}

static void data_src_op(u64 src, struct strbuf *to)
{
	static const char *const names[] = { "N/A", "LOAD", "STORE", "PFETCH", "EXEC" };
	u32 bits = part(src, OP_AT, 5);
	strbuf_str(to, bits ? names[__builtin_ctz(bits)] : "No");
}

void data_src_level(u64 src, struct strbuf *to)
{
	static const char *const names[] = { "N/A",
					     "",
					     "",
					     "L1",
					     "LFB/MAB",
					     "L2",
					     "L3",
					     "Local RAM",
					     "Remote RAM (1 hop)",
					     "Remote RAM (2 hops)",
					     "Remote Cache (1 hop)",
					     "Remote Cache (2 hops)",
					     "I/O",
					     "Uncached" };
	static const char *const numbers[16] = {
		[9] = "CXL",  [10] = "I/O",  [11] = "Any cache", [12] = "LFB/MAB",
		[13] = "RAM", [14] = "PMEM", [15] = "N/A",
	};
	static const char *const hops[8] = { NULL, "core, same node", "node, same socket",
					     "socket, same board", "board" };
	u32 bits = part(src, LEVEL_AT, 14), number = part(src, LEVEL_NUMBER_AT, 4),
	    hop = part(src, HOPS_AT, 3);
	size_t before = to->len;
	strbuf_str(to, part(src, REMOTE_AT, 1) ? "Remote " : "");
	/* Who tells hops tells the level by its number, not by bits. */
	unsigned nr = 0;
	if (hops[hop])
		strbuf_printf(to, "%s ", hops[hop]);
	else if (!hop)
		nr = add_bits(to, bits & ~(u32)(HIT | MISS), names, ARRAY_SIZE(names), 0);
	if (number) {
		strbuf_str(to, nr ? " or " : "");
		if (numbers[number])
			strbuf_str(to, numbers[number]);
		else
			strbuf_printf(to, "L%u", number);
	}
	if (to->len == before)
		strbuf_str(to, "N/A");
	add_luck(to, bits);
}

void data_src_snoop(u64 src, struct strbuf *to)
{
	static const char *const names[] = { "N/A", "None", "Hit", "Miss", "HitM", "Fwd", "Peer" };
	u32 bits = part(src, SNOOP_AT, 5) | part(src, SNOOPX_AT, 2) << 5;
	if (!add_bits(to, bits, names, ARRAY_SIZE(names), 0))
		strbuf_str(to, "N/A");
}

void data_src_tlb(u64 src, struct strbuf *to)
{
	static const char *const names[] = { "N/A", "", "", "L1", "L2", "Walker", "Fault" };
	u32 bits = part(src, TLB_AT, 7);
	if (!add_bits(to, bits & ~(u32)(HIT | MISS), names, ARRAY_SIZE(names), 0))
		strbuf_str(to, "N/A");
	add_luck(to, bits);
}

void data_src_lock(u64 src, struct strbuf *to)
{
	u32 bits = part(src, LOCK_AT, 2);
	strbuf_str(to, bits & NOT_KNOWN ? "N/A" : bits ? "Yes" : "No");
}

void data_src_blocked(u64 src, struct strbuf *to)
{
	u32 bits = part(src, BLOCKED_AT, 3);
	if (!bits || bits & NOT_KNOWN) {
		strbuf_str(to, " N/A");
		return;
	}
	strbuf_str(to, bits & 2 ? " Data" : "");
	strbuf_str(to, bits & 4 ? " Addr" : "");
}

void data_src_all(u64 src, struct strbuf *to)
{
	static const struct {
		const char *name;
		void (*add)(u64 src, struct strbuf *to);
	} parts[] = {
		{ "|OP ", data_src_op },     { "|LVL ", data_src_level },
		{ "|SNP ", data_src_snoop }, { "|TLB ", data_src_tlb },
		{ "|LCK ", data_src_lock },  { "|BLK ", data_src_blocked },
	};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		strbuf_str(to, parts[i].name);
		parts[i].add(src, to);
	}
}

void data_src_page(u64 bytes, struct strbuf *to)
{
	static const char units[] = "BKMG";
	unsigned unit = 0;
	for (; bytes / 1024 > 1 && unit < 3; unit++)
		bytes /= 1024;
	if (bytes)
		strbuf_printf(to, "%llu%c", (unsigned long long)bytes, units[unit]);
	else
		strbuf_str(to, "N/A");
}
