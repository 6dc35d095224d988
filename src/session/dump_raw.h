/*
 * -D of report and script: every record as bytes and text, in the order in which perf processes them. What user space wrote
 * into the file (types from 64 on) comes where it is; the kernel's records come in time order, each when the round after the
 * one it arrived in has ended.
 */
#pragma once

#include "base/strbuf.h"
#include "file/perfdata_read.h"
#include "model/source.h"
#include "wire/perf_sample.h"

struct dump_raw;

struct dump_raw_opts {
	struct source *src; /* of perf events, prepared */
	const char *path; /* of the file, as lines name it */
	bool file_order; /* --dump-unsorted-raw-trace */
	bool has_handlers; /* script processes maps of threads and CPUs, report says that it does not */
};

/* Everything the options point to is borrowed. */
int dump_raw_new(struct dump_raw **ret, const struct dump_raw_opts *o) must_check;
/* Records up to that of the sample, and which task and library the sample belongs to. image: of its address. */
void dump_raw_sample(struct dump_raw *d, const struct sample *s, const struct image_info *image,
		     struct strbuf *to);
/* The records that are left. 0, or what went wrong on the way. */
int dump_raw_rest(struct dump_raw *d, struct strbuf *to) must_check;
void dump_raw_free(struct dump_raw *d);

/* All of a file without script's lines: runs the source. */
int dump_raw_all(const struct dump_raw_opts *o, struct strbuf *to, struct diag *diag) must_check;

/* What the body of a record from user space (type 64 on) says, after its name; nothing for types without a text. */
void dump_record_body(const struct perfdata *file, const u8 *rec, const struct perf_event_header *h,
		      bool has_handlers, struct strbuf *to);
/* A line for each part that the event's samples have besides their place. rec: the whole record. */
void dump_sample_parts(const struct perfdata *file, const struct perfdata_attr *a, const u8 *rec,
		       const struct perf_sample_view *v, struct strbuf *to);
