/*
 * trace.dat, versions 6 (one part after the other) and 7 (sections found through options): where everything is, and the
 * texts unpacked when asked for. The file is mapped; nothing of it is trusted. What a cut file still holds is given, with a
 * note.
 *
 * Memory beyond the map: unpacked texts (at most TRACEDAT_TEXT_MAX each), one struct for each format, CPU and chunk.
 */
#pragma once

#include "base/arena.h"
#include "base/budget.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/vec.h"
#include "file/compress.h"
#include "wire/format.h"

enum {
	OPTION_DONE = 0,
	OPTION_DATE = 1,
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_HOOK = 6,
	OPTION_OFFSET = 7,
	OPTION_CPUCOUNT = 8,
	OPTION_VERSION = 9,
	OPTION_PROCMAPS = 10,
	OPTION_TRACEID = 11,
	OPTION_TIME_SHIFT = 12,
	OPTION_GUEST = 13,
	OPTION_TSC2NSEC = 14,
	OPTION_STRINGS = 15,
	OPTION_HEADER_INFO = 16,
	OPTION_FTRACE_EVENTS = 17,
	OPTION_EVENT_FORMATS = 18,
	OPTION_KALLSYMS = 19,
	OPTION_PRINTK = 20,
	OPTION_CMDLINES = 21,
	OPTION_BUFFER_TEXT = 22,
};
enum { SECTION_PACKED = 1, SECTION_HEAD = 16 };

#define TRACEDAT_MAGIC "\x17\x08\x44tracing"
enum { TRACEDAT_MAGIC_BYTES = sizeof(TRACEDAT_MAGIC) - 1 };

#define TRACEDAT_TEXT_MAX  (512ull << 20)
#define TRACEDAT_CHUNK_MAX (64u << 20)
enum { TRACEDAT_CPUS_MAX = 65536, TRACEDAT_PAGE_MIN = 64, TRACEDAT_PAGE_MAX = 16 << 20 };

struct tracedat_text {
	const char *data; /* not NUL-terminated; NULL: the file has none */
	size_t len;
};

struct tracedat_format {
	u32 id;
	const char *system;
	const char *name;
	struct tracedat_text text;
};

/* A run of pages in a compressed file. */
struct tracedat_chunk {
	const u8 *data; /* packed, in the map */
	u32 packed;
	u32 size;
	u32 first_page; /* number of pages before it on this CPU */
};

struct tracedat_cpu {
	u32 cpu;
	u32 nr_pages;
	const u8 *pages; /* in the map, when the data are not packed; the last may be cut by the file's end */
	size_t pages_size;
	struct tracedat_chunk *chunks; /* else */
	u32 nr_chunks;
};

struct tracedat_buffer {
	const char *name; /* "" is the top buffer */
	const char *clock;
	u32 page_size;
	struct tracedat_cpu *cpus; /* with and without data, as the file lists them */
	u32 nr_cpus;
};

enum tracedat_part {
	TRACEDAT_KALLSYMS,
	TRACEDAT_PRINTK,
	TRACEDAT_CMDLINES,
	TRACEDAT_NR_PARTS,
};

struct tracedat_section {
	const u8 *data; /* the body, packed or not; NULL: none */
	u64 size;
	bool packed;
};

/* As it stands in the file; those that say where things are (buffers, sections) are not among them. */
struct tracedat_option {
	u16 id;
	struct tracedat_text body;
};

struct tracedat {
	const char *name; /* for messages */
	const u8 *map;
	size_t size;
	bool mapped;
	u32 version;
	bool big_endian;
	bool swap;
	u8 long_size;
	u32 page_size;
	bool bad_page_size; /* that is what is wrong with the file */
	enum compress_kind compression;
	const char *packer_version; /* version 7: of the library that packed; borrowed from the map */
	u64 rest_at; /* version 6: after the number of CPUs; version 7: where sections begin */
	u64 options_at; /* version 7: the first section of options */
	u32 nr_cpus; /* of the machine, as the file says */
	bool cut; /* the file ends before it should */
	bool latency; /* holds the text of a latency tracer instead of pages: tracedat_latency_text() */
	struct tracedat_section latency_section;

	struct page_layout layout;
	const char *clock; /* of the top buffer: "local", "mono", "x86-tsc" ...; NULL: not said */
	const char *uname;
	const char *tracer_version;
	u64 trace_id;
	s64 ts_offset_ns; /* from DATE and OFFSET options */
	bool has_tsc2nsec;
	u32 tsc_mult, tsc_shift;
	u64 tsc_offset_ns;
	VEC(const char *) cpu_stats; /* texts, in the file's order */

	VEC(struct tracedat_buffer) buffers; /* the top one first */
	VEC(struct tracedat_format) formats; /* ftrace's own first, then by system */
	size_t nr_own_formats; /* so many of them */
	VEC(struct tracedat_option) options;
	struct tracedat_text header_page, header_event;
	struct tracedat_section parts[TRACEDAT_NR_PARTS];

	struct budget budget; /* of all that is made of the file */
	struct arena arena;
	struct unpacker unpacker;
	VEC(void *) unpacked; /* freed on close */
};

/* Maps the file and finds its parts. -EINVAL with a diag when it is no trace.dat or too broken to find anything. */
int tracedat_open(struct tracedat *t, const char *path, struct diag *d) must_check;
/* The same over memory, borrowed until tracedat_close. name: for messages. */
int tracedat_open_memory(struct tracedat *t, const char *name, const void *data, size_t size,
			 struct diag *d) must_check;
void tracedat_close(struct tracedat *t);

/* One section of a version 7 file, as its head has it. */
struct tracedat_head {
	u64 at;
	u16 id, flags;
	u32 desc; /* offset into the file's strings */
	u64 size; /* as claimed */
};
/* -ENODATA: the file ends there. */
int tracedat_head_at(const struct tracedat *t, u64 offset, struct tracedat_head *ret) must_check;
/* The bytes of a section, unpacked if need be; they live as long as t. */
int tracedat_section_bytes(struct tracedat *t, u64 offset, struct bytes *ret) must_check;

/* A text part, unpacked on the first call; data is NULL when there is none or it cannot be read. Not thread-safe. */
struct tracedat_text tracedat_text(struct tracedat *t, enum tracedat_part part);
/* What a latency tracer (wakeup, irqsoff ...) printed; data is NULL when the file holds pages instead. Not thread-safe. */
struct tracedat_text tracedat_latency_text(struct tracedat *t);
