/*
 * Writing trace.dat, versions 6 and 7: whole files from their parts. Pages come from a callback, in pieces; with compression
 * they are packed on all cores.
 *
 *	v6   header, formats, texts | "options" ... | "flyrecord" table of offsets | tables of further buffers | pages, aligned
 *	v7   header | a section for each text, packed | a section of pages for each buffer | one section of options that finds them
 */
#pragma once

#include "file/tracedat_read.h"

struct tracedat_out_cpu {
	u32 cpu;
	u64 size; /* bytes: whole pages */
};

struct tracedat_out_buffer {
	const char *name; /* "": the top one; it comes first */
	const char *clock; /* NULL: not known */
	u32 page_size;
	const struct tracedat_out_cpu *cpus;
	u32 nr_cpus;
};

struct tracedat_out {
	u32 version; /* 6 or 7 */
	enum compress_kind compression; /* version 7 */
	int level; /* 0: usual */
	bool swap; /* numbers in the other byte order, as the pages have them */
	u8 long_size;
	u32 page_size;
	struct tracedat_text header_page, header_event;
	const struct tracedat_format *formats; /* ftrace's own first, then system by system */
	size_t nr_formats, nr_own_formats;
	struct tracedat_text parts[TRACEDAT_NR_PARTS];
	u32 nr_cpus;
	const struct tracedat_option
		*options; /* bodies in the file's byte order; CPUCOUNT is added where needed */
	size_t nr_options;
	const struct tracedat_out_buffer *buffers;
	size_t nr_buffers;
	struct tracedat_text latency; /* instead of buffers: the text of a latency tracer */
	/* Exactly len bytes of a CPU's pages; 0 or negative errno. One call at a time. */
	int (*read)(void *ctx, u32 buffer, u32 cpu_index, u64 offset, void *to, size_t len);
	void *ctx;
};

/* At the start of fd, which is empty. 0 or negative errno with a diag; path is for messages. */
int tracedat_write(int fd, const char *path, const struct tracedat_out *o,
		   struct diag *d) must_check;

/*
 * What a file of these parts would say, for who reads pages while they are recorded: its buffers have CPUs and no pages yet. o and what it
 * points to are borrowed until tracedat_close(). 0 or negative errno.
 */
int tracedat_of_parts(struct tracedat *t, const char *name, const struct tracedat_out *o) must_check;

/* A file that was read, ready to be written again. The arrays are the caller's to free with tracedat_copy_done(). */
struct tracedat_copy {
	struct tracedat *from;
	struct tracedat_out out;
	struct tracedat_out_buffer *buffers;
	struct tracedat_out_cpu *cpus;
	u8 *chunk; /* the one unpacked last */
	const struct tracedat_chunk *chunk_of;
};

int tracedat_copy_init(struct tracedat_copy *c, struct tracedat *from) must_check;
void tracedat_copy_done(struct tracedat_copy *c);
