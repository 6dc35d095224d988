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
	REC_TRACING_DATA = 66, /* payload behind the record */
	REC_BUILD_ID = 67,
	REC_FINISHED_ROUND = 68,
	REC_ID_INDEX = 69,
	REC_AUXTRACE_INFO = 70,
	REC_AUXTRACE = 71, /* payload behind the record */
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
