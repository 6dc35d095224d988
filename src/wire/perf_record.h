/*
 * The record stream of perf: what the kernel puts into its rings and what perf.data holds. Kernel records and their bodies
 * are in linux/perf_event.h; here are the ones that only files have, and the two codecs both live and recorded data use.
 * Layouts follow tools/perf's documentation of perf.data and the kernel's uapi header (up to 7.2).
 */
#pragma once

#include "base/bytes.h"
#include "base/types.h"

#include <linux/perf_event.h>

/* Newer than the header of the reference system. */
enum {
	REC_CALLCHAIN_DEFERRED = 22,
	REC_KERNEL_MAX = 64, /* records below come from the kernel */

	REC_HEADER_ATTR = 64,
	REC_EVENT_TYPE = 65,
	REC_TRACING_DATA = 66, /* payload after the record */
	REC_BUILD_ID = 67,
	REC_FINISHED_ROUND = 68,
	REC_ID_INDEX = 69,
	REC_AUXTRACE_INFO = 70,
	REC_AUXTRACE = 71, /* payload after the record */
	REC_AUXTRACE_ERROR = 72,
	REC_THREAD_MAP = 73,
	REC_CPU_MAP = 74,
	REC_STAT_CONFIG = 75,
	REC_STAT = 76,
	REC_STAT_ROUND = 77,
	REC_EVENT_UPDATE = 78,
	REC_TIME_CONV = 79,
	REC_HEADER_FEATURE = 80,
	REC_COMPRESSED = 81,
	REC_FINISHED_INIT = 82,
	REC_COMPRESSED2 = 83,
	REC_USER_MAX = 128,
};

/* Bits of the feature bitmap of a file, and ids of REC_HEADER_FEATURE. */
enum perf_feature {
	FEAT_TRACING_DATA = 1,
	FEAT_BUILD_ID,
	FEAT_HOSTNAME,
	FEAT_OSRELEASE,
	FEAT_VERSION,
	FEAT_ARCH,
	FEAT_NRCPUS,
	FEAT_CPUDESC,
	FEAT_CPUID,
	FEAT_TOTAL_MEM,
	FEAT_CMDLINE,
	FEAT_EVENT_DESC,
	FEAT_CPU_TOPOLOGY,
	FEAT_NUMA_TOPOLOGY,
	FEAT_BRANCH_STACK,
	FEAT_PMU_MAPPINGS,
	FEAT_GROUP_DESC,
	FEAT_AUXTRACE,
	FEAT_STAT,
	FEAT_CACHE,
	FEAT_SAMPLE_TIME,
	FEAT_MEM_TOPOLOGY,
	FEAT_CLOCKID,
	FEAT_DIR_FORMAT,
	FEAT_BPF_PROG_INFO,
	FEAT_BPF_BTF,
	FEAT_COMPRESSED,
	FEAT_CPU_PMU_CAPS,
	FEAT_CLOCK_DATA,
	FEAT_HYBRID_TOPOLOGY,
	FEAT_PMU_CAPS,
	FEAT_CPU_DOMAIN_INFO,
	FEAT_E_MACHINE,
	FEAT_CLN_SIZE,
	FEAT_MAX = 256,
};

#define PERF_MAGIC2 0x32454c4946524550ull /* "PERFILE2" */

/* The file's head as it lies on disk. */
struct perf_file_section {
	u64 offset;
	u64 size;
};

struct perf_file_header {
	u64 magic;
	u64 size;
	u64 attr_size; /* of an entry in attrs: perf_event_attr and a section with its ids */
	struct perf_file_section attrs;
	struct perf_file_section data;
	struct perf_file_section event_types;
	u64 features[FEAT_MAX / 64];
};

/* perf_event_attr of any age and byte order, zero-extended to ours. */
enum { ATTR_SIZE_MIN = 64, ATTR_SIZE_MAX = 4096 };
/* Reads an attr of `size` bytes (as the file or record says) and steps over it. 0 or -EINVAL. */
int perf_attr_read(struct bytes *b, size_t size, struct perf_event_attr *ret) must_check;

/* The head every record starts with, in the host's byte order. */
static inline struct perf_event_header perf_head(const u8 *at, bool swap)
{
	struct perf_event_header h;
	memcpy(&h, at, sizeof(h));
	if (unlikely(swap)) {
		h.type = __builtin_bswap32(h.type);
		h.misc = __builtin_bswap16(h.misc);
		h.size = __builtin_bswap16(h.size);
	}
	return h;
}

/* The identity that non-sample records carry at their end when sample_id_all is set. */
struct perf_id_trailer {
	u64 time;
	u64 id;
	u32 pid, tid;
	u32 cpu;
};

/* A record about tasks, maps, losses or switches (next or previous task of SWITCH_CPU_WIDE: ppid, ptid). Strings and build ids are borrowed from the record. */
struct perf_side {
	u32 type; /* PERF_RECORD_* */
	u16 misc;
	u32 pid, tid;
	u32 ppid, ptid; /* FORK, EXIT */
	u64 addr, len, pgoff; /* MMAP, MMAP2, KSYMBOL (addr, len) */
	u32 prot, flags;
	u64 dev, ino, ino_generation;
	const u8 *build_id;
	u32 build_id_size;
	const char *name; /* COMM, MMAP, MMAP2, KSYMBOL; always terminated */
	u64 lost; /* LOST, LOST_SAMPLES */
	u64 lost_id;
	u16 ksym_type, ksym_flags; /* KSYMBOL, BPF_EVENT */
	u32 bpf_id; /* BPF_EVENT: of the program */
	u64 cgroup; /* CGROUP: id; name is its path */
	const u8 *namespaces; /* NAMESPACES: nr_namespaces pairs {device, inode} of 64 bits, in the file's byte order */
	u32 nr_namespaces;
	struct perf_id_trailer who;
	bool has_time;
};

/*
 * Decodes one record of the kernel other than SAMPLE. sample_type and id_all describe its trailer. 0, -EBADMSG when it is
 * damaged, -ENOENT for types that say nothing about tasks, maps, switches or losses.
 */
int perf_side_decode(const u8 *rec, u16 size, bool swap, u64 sample_type, bool id_all,
		     struct perf_side *ret) must_check;
/* PERF_RECORD_READ: what one event counted in a thread that has ended. */
struct perf_read {
	u32 pid, tid;
	u64 value;
	struct perf_id_trailer who;
};
/* 0, or -EBADMSG when it is damaged. */
int perf_read_decode(const u8 *rec, u16 size, bool swap, u64 sample_type, bool id_all,
		     struct perf_read *ret) must_check;
/* The trailer alone, of any kernel record but SAMPLE. 0, or -EBADMSG when the record is too short for it. */
int perf_trailer_decode(const u8 *rec, u16 size, bool swap, u64 sample_type,
			struct perf_id_trailer *ret) must_check;
/* Bytes of the trailer. */
u32 perf_trailer_size(u64 sample_type);
