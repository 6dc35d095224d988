#include "wire/perf_record.h"

#include <errno.h>

/*
 * The attr grew by appending. All of its bytes up to 112 are u32/u64 words of known width, except for the flags (a u64 of
 * bit-fields whose bits a foreign byte order also reverses) and a few u16; so a swapped attr is read field by field.
 */
static u64 swap_flag_bits(u64 v)
{
	/* A bit-field fills from the other end on the other byte order: reverse all 64 bits of the swapped word's bytes. */
	u64 out = 0;
	for (unsigned byte = 0; byte < 8; byte++) {
		u8 b = (u8)(v >> (8 * byte));
		u8 r = 0;
		for (unsigned bit = 0; bit < 8; bit++)
			r |= (u8)(((b >> bit) & 1) << (7 - bit));
		out |= (u64)r << (8 * byte);
	}
	return out;
}

int perf_attr_read(struct bytes *b, size_t size, struct perf_event_attr *ret)
{
	if (size < ATTR_SIZE_MIN || size > ATTR_SIZE_MAX)
		return -EINVAL;
	struct bytes in = bytes_sub(b, size);
	if (in.bad)
		return -EINVAL;
	struct perf_event_attr a = { 0 };
	if (!in.swap) {
		memcpy(&a, in.at, min(size, sizeof(a)));
		a.size = (u32)size;
		*ret = a;
		return 0;
	}
	u8 whole[sizeof(a)] = { 0 };
	memcpy(whole, in.at, min(size, sizeof(whole)));
	struct bytes w = bytes_of(whole, sizeof(whole), true);
	a.type = bytes_u32(&w);
	a.size = bytes_u32(&w);
	a.config = bytes_u64(&w);
	a.sample_period = bytes_u64(&w);
	a.sample_type = bytes_u64(&w);
	a.read_format = bytes_u64(&w);
	u64 flags;
	memcpy(&flags, bytes_take(&w, 8),
	       8); /* bytes keep their place, the bits within each turn round */
	flags = swap_flag_bits(flags);
	memcpy((u8 *)&a + offsetof(struct perf_event_attr, read_format) + 8, &flags, 8);
	a.wakeup_events = bytes_u32(&w);
	a.bp_type = bytes_u32(&w);
	a.config1 = bytes_u64(&w);
	a.config2 = bytes_u64(&w);
	a.branch_sample_type = bytes_u64(&w);
	a.sample_regs_user = bytes_u64(&w);
	a.sample_stack_user = bytes_u32(&w);
	a.clockid = (s32)bytes_u32(&w);
	a.sample_regs_intr = bytes_u64(&w);
	a.aux_watermark = bytes_u32(&w);
	a.sample_max_stack = bytes_u16(&w);
	bytes_skip(&w, 2);
	a.aux_sample_size = bytes_u32(&w);
	bytes_skip(&w, 4);
	a.sig_data = bytes_u64(&w);
	a.size = (u32)size;
	*ret = a;
	return 0;
}

u32 perf_trailer_size(u64 sample_type)
{
	u64 bits = sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	return 8 * (u32)__builtin_popcountll(bits);
}

static void trailer_decode(struct bytes b, u64 sample_type, struct perf_side *ret)
{
	if (sample_type & PERF_SAMPLE_TID) {
		ret->who.pid = bytes_u32(&b);
		ret->who.tid = bytes_u32(&b);
	}
	if (sample_type & PERF_SAMPLE_TIME) {
		ret->who.time = bytes_u64(&b);
		ret->has_time = true;
	}
	if (sample_type & PERF_SAMPLE_ID)
		ret->who.id = bytes_u64(&b);
	if (sample_type & PERF_SAMPLE_STREAM_ID)
		bytes_skip(&b, 8);
	if (sample_type & PERF_SAMPLE_CPU) {
		ret->who.cpu = bytes_u32(&b);
		bytes_skip(&b, 4);
	}
	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		ret->who.id = bytes_u64(&b);
}

int perf_trailer_decode(const u8 *rec, u16 size, bool swap, u64 sample_type,
			struct perf_id_trailer *ret)
{
	struct perf_side side = { 0 };
	u32 tail = perf_trailer_size(sample_type);
	if (size < sizeof(struct perf_event_header) + tail)
		return -EBADMSG;
	trailer_decode(bytes_of(rec + size - tail, tail, swap), sample_type, &side);
	*ret = side.who;
	return 0;
}

/*
 * Kernels up to 6.18 leave the build id's bit set in records of others once any recorder on the system has asked for ids: where
 * the size cannot be one, it is the device's number after all.
 */
static bool has_build_id(struct bytes b, u16 misc)
{
	u32 size = bytes_u8(&b), reserved = bytes_u8(&b);
	return misc & PERF_RECORD_MISC_MMAP_BUILD_ID && size <= 20 && !reserved && !bytes_u16(&b);
}

static void mmap2_decode(struct bytes *b, struct perf_side *ret)
{
	if (has_build_id(*b, ret->misc)) {
		ret->build_id_size = bytes_u8(b);
		bytes_skip(b, 3);
		ret->build_id = bytes_take(b, 20);
	} else {
		u64 major = bytes_u32(b);
		ret->dev = major << 32 | bytes_u32(b);
		ret->ino = bytes_u64(b);
		ret->ino_generation = bytes_u64(b);
	}
	ret->prot = bytes_u32(b);
	ret->flags = bytes_u32(b);
}

static void body_decode(struct bytes *b, struct perf_side *ret)
{
	switch (ret->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		ret->pid = bytes_u32(b);
		ret->tid = bytes_u32(b);
		ret->addr = bytes_u64(b);
		ret->len = bytes_u64(b);
		ret->pgoff = bytes_u64(b);
		ret->prot = ret->misc & PERF_RECORD_MISC_MMAP_DATA ? 1 : 4;
		if (ret->type == PERF_RECORD_MMAP2)
			mmap2_decode(b, ret);
		ret->name = bytes_cstr(b);
		break;
	case PERF_RECORD_COMM:
		ret->pid = bytes_u32(b);
		ret->tid = bytes_u32(b);
		ret->name = bytes_cstr(b);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		ret->pid = bytes_u32(b);
		ret->ppid = bytes_u32(b);
		ret->tid = bytes_u32(b);
		ret->ptid = bytes_u32(b);
		bytes_skip(b, 8);
		break;
	case PERF_RECORD_LOST:
		ret->lost_id = bytes_u64(b);
		ret->lost = bytes_u64(b);
		break;
	case PERF_RECORD_LOST_SAMPLES: ret->lost = bytes_u64(b); break;
	case PERF_RECORD_KSYMBOL:
		ret->addr = bytes_u64(b);
		ret->len = bytes_u32(b);
		ret->ksym_type = bytes_u16(b);
		ret->ksym_flags = bytes_u16(b);
		ret->name = bytes_cstr(b);
		break;
	case PERF_RECORD_BPF_EVENT:
		ret->ksym_type = bytes_u16(b);
		ret->ksym_flags = bytes_u16(b);
		ret->bpf_id = bytes_u32(b);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		ret->ppid = bytes_u32(b);
		ret->ptid = bytes_u32(b);
		break;
	case PERF_RECORD_NAMESPACES:
		ret->pid = bytes_u32(b);
		ret->tid = bytes_u32(b);
		ret->nr_namespaces = (u32)min(bytes_u64(b), (u64)bytes_left(b) / 16);
		ret->namespaces = bytes_take(b, (size_t)ret->nr_namespaces * 16);
		break;
	case PERF_RECORD_CGROUP:
		ret->cgroup = bytes_u64(b);
		ret->name = bytes_cstr(b);
		break;
	default: break;
	}
}

int perf_side_decode(const u8 *rec, u16 size, bool swap, u64 sample_type, bool id_all,
		     struct perf_side *ret)
{
	struct perf_event_header h = perf_head(rec, swap);
	struct perf_side s = { .type = h.type, .misc = h.misc };
	switch (h.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_BPF_EVENT:
	case PERF_RECORD_KSYMBOL: break;
	default: return -ENOENT;
	}
	u32 tail = id_all ? perf_trailer_size(sample_type) : 0;
	if (size < sizeof(h) + tail)
		return -EBADMSG;
	struct bytes body = bytes_of(rec + sizeof(h), size - sizeof(h) - tail, swap);
	body_decode(&body, &s);
	if (body.bad)
		return -EBADMSG;
	trailer_decode(bytes_of(rec + size - tail, tail, swap), tail ? sample_type : 0, &s);
	*ret = s;
	return 0;
}

int perf_read_decode(const u8 *rec, u16 size, bool swap, u64 sample_type, bool id_all,
		     struct perf_read *ret)
{
	u32 tail = id_all ? perf_trailer_size(sample_type) : 0;
	if (size < sizeof(struct perf_event_header) + tail)
		return -EBADMSG;
	struct bytes b = bytes_of(rec + sizeof(struct perf_event_header),
				  size - sizeof(struct perf_event_header) - tail, swap);
	struct perf_side side = { 0 };
	struct perf_read read = { .pid = bytes_u32(&b), .tid = bytes_u32(&b) };
	read.value = bytes_u64(&b);
	if (b.bad)
		return -EBADMSG;
	trailer_decode(bytes_of(rec + size - tail, tail, swap), tail ? sample_type : 0, &side);
	read.who = side.who;
	*ret = read;
	return 0;
}
