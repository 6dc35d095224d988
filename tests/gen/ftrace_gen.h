/*
 * Writes ring-buffer pages and trace.dat files for tests: any byte order, size of long, page size, version, compression.
 * Only what the readers look at; failures of memory abort.
 */
#pragma once

#include "base/strbuf.h"
#include "base/vec.h"

struct gen_page {
	u8 *buf;
	u32 size;
	u32 used; /* bytes of data behind the header */
	u8 long_size;
	bool big_endian;
	u64 time;
	u64 stamp; /* of the page's start */
};

void gen_page_init(struct gen_page *p, u32 size, u8 long_size, bool big_endian, u64 time);
void gen_page_done(struct gen_page *p);
u32 gen_page_header(const struct gen_page *p);
/* false: does not fit. An extend is written where the delta needs one. */
bool gen_page_event(struct gen_page *p, u64 time, const void *data, u32 size);
bool gen_page_long_event(struct gen_page *p, u64 time, const void *data,
			 u32 size); /* the form with a length word */
bool gen_page_extend(struct gen_page *p, u64 delta);
bool gen_page_absolute(struct gen_page *p, u64 time);
bool gen_page_discard(struct gen_page *p, u32 delta, u32 size);
bool gen_page_end_padding(struct gen_page *p);
/* Writes the commit word. missed: 0; UINT64_MAX: unknown number. */
void gen_page_finish(struct gen_page *p, u64 missed);

enum gen_compression { GEN_NONE, GEN_ZLIB, GEN_ZSTD };

struct gen_event {
	u64 time;
	u32 cpu;
	u32 size;
	u64 missed; /* starts a new page that says so */
	u8 data[96];
};

struct gen_buffer {
	const char *name; /* "" is the top buffer */
	VEC(struct gen_event) events; /* of all CPUs; those of one CPU in time order */
};

struct gen_trace {
	u32 version; /* 6 or 7 */
	u8 long_size;
	bool big_endian;
	u32 page_size;
	u32 nr_cpus;
	u32 chunk_pages; /* pages in a compressed chunk */
	enum gen_compression compression;
	const char *ftrace_format; /* one format text of system ftrace, or NULL */
	const char *system;
	const char *const *formats; /* format texts of `system`, NULL-terminated */
	const char *kallsyms, *printk, *cmdlines;
	struct gen_buffer *buffers; /* the top one first */
	u32 nr_buffers;
	u32 vendor_option; /* bytes of an option 8 that is not the number of CPUs; 0: none */
};

/* A record with the usual common fields (8 bytes), type id and pid, and one u32 field `value`. */
void gen_event_fill(const struct gen_trace *t, struct gen_event *e, u16 id, s32 pid, u32 value);
extern const char gen_format_value[]; /* event "tick", id 100: u32 value */

void gen_trace_write(const struct gen_trace *t, struct strbuf *to);
