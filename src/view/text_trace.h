/*
 * System calls and events as they happen, a line each, in the layout of perf trace:
 *
 *	   12.345 ( 0.017 ms): cat/2084 openat(dfd: CWD, filename: 0x7ffe12345678, flags: RDONLY) = 3
 *	   12.401 cat/2084 kmem:kmalloc(call_site: 0xffffffff8179a05c, bytes_req: 96, ...)
 *
 * Arguments of 0 are left out, but where 0 has a name.
 */
#pragma once

#include "model/syscall_stat.h"
#include "base/strbuf.h"
#include "model/sample.h"
#include "model/syscall.h"

struct text_trace {
	u64 base_ns; /* times count from here */
	bool tasks; /* who it was */
	bool durations; /* a column for them */
	bool colour;
	bool zeros; /* arguments of 0, too */
	bool as_perf; /* a page fault took "0.000 ms": nobody measured it */
	/* What a descriptor refers to; NULL: not known. The function may be NULL. */
	const char *(*fd_name)(const void *ctx, s32 pid, s32 fd);
	const void *fd_names;
	struct strbuf args; /* scratch */
};

void text_trace_init(struct text_trace *t);
void text_trace_done(struct text_trace *t);

/* A call that has ended. */
void text_trace_call(struct text_trace *t, const struct syscall_thread *c, struct strbuf *to);
/* The beginning of one that is still under way, because something else is to be printed; or of one that never returns. */
void text_trace_begun(struct text_trace *t, const struct syscall_thread *c, struct strbuf *to);
/* Any other event. */
void text_trace_event(struct text_trace *t, const struct syscall_thread *who, const char *name,
		      const struct sample *s, struct strbuf *to);

/* A page fault: whose code touched what. */
struct text_trace_fault {
	bool major, kernel; /* had to read; happened in the kernel */
	struct text_trace_place {
		const char *symbol; /* NULL: none covers it */
		const char *map; /* what is mapped there; NULL: not known */
		u64 addr; /* as it was used */
		u64 offset; /* in the symbol, or else in what is mapped */
	} code, data;
};
void text_trace_fault(struct text_trace *t, const struct syscall_thread *who, u64 time_ns,
		      const struct text_trace_fault *f, struct strbuf *to);

/* The same as a JSON object and a line end. before: json_fields_before() of the schema. The buffer has no drain. */
void json_trace_call(const struct syscall_thread *c, bool ended, struct strbuf *to);
void json_trace_event(const struct syscall_thread *who, const char *name, const u16 *before,
		      const struct sample *s, struct strbuf *to);
void json_trace_fault(const struct syscall_thread *who, const char *name, const struct sample *s,
		      const struct text_trace_fault *f, struct strbuf *to);

struct text_trace_summary {
	bool errors; /* how often each */
	bool percentiles; /* a column that perf has not */
};
/* Tables of calls, one for each task; sorted before. */
void text_trace_summary(struct syscall_stat *s, const struct text_trace_summary *o,
			struct strbuf *to);
int json_trace_summary(struct syscall_stat *s, u64 nr_lost, struct strbuf *to) must_check;
