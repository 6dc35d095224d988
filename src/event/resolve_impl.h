/* Shared by the files that resolve: nobody else includes it. */
#pragma once

#include "event/event.h"

struct event_resolver {
	struct event_list *list;
	struct event_env *env;
	const struct event_specs *specs;
	u32 use;
	struct diag *diag;
};

/* An error that points at the span; returns err. */
int resolve_error(struct event_resolver *r, int err, struct event_span at, const char *fmt, ...)
	printf_like(4, 5);
/* The span's text in the list's arena; NULL: no memory. */
const char *resolve_str(struct event_resolver *r, struct event_span s);
static inline const char *resolve_at(const struct event_resolver *r, struct event_span s)
{
	return r->specs->text + s.start;
}
/* A new descriptor with what all have in common, named as written; NULL: no memory. */
struct event_desc *resolve_push(struct event_resolver *r, const struct event_spec *e,
				enum event_kind kind);

int resolve_name(struct event_resolver *r, const struct event_spec *e);
int resolve_raw(struct event_resolver *r, const struct event_spec *e);
int resolve_numeric(struct event_resolver *r, const struct event_spec *e);
int resolve_vendor(struct event_resolver *r, const struct event_spec *e);
/* Hints at tracepoints of this name in any system, or of a system of this name; false: there are none. */
bool resolve_hint_tracepoint(struct event_resolver *r, const char *event);
int resolve_tracepoint(struct event_resolver *r, const struct event_spec *e);
int resolve_breakpoint(struct event_resolver *r, const struct event_spec *e);
int resolve_kprobe(struct event_resolver *r, const struct event_spec *e);
int resolve_uprobe(struct event_resolver *r, const struct event_spec *e);
/* "MODULE:FUNC:12 arg", "main.c:42 arg" and their like, by r->env->probes: an event in tracefs for each place. */
int resolve_defined(struct event_resolver *r, const struct event_spec *e);
/* Fills desc->probe with the point, the binary or module of e, for who defines it later. */
int resolve_point(struct event_resolver *r, const struct event_spec *e, struct event_probe *ret);
/* A descriptor for a tracepoint, or for what is one now. -ENOENT: there is none. */
int resolve_push_tracepoint(struct event_resolver *r, const struct event_spec *e,
			    enum event_kind kind, const char *system, const char *event);
int resolve_function(struct event_resolver *r, const struct event_spec *e);
int resolve_profile(struct event_resolver *r, const struct event_spec *e);
int resolve_syscall(struct event_resolver *r, const struct event_spec *e);

/* traced.c: the same for tracefs. */
int trace_words(struct event_resolver *r, const struct event_spec *e);
int trace_probe(struct event_resolver *r, const struct event_spec *e);
int trace_uprobe(struct event_resolver *r, const struct event_spec *e);
/* What all descriptors of e, from index first on, have in tracefs. */
int trace_finish(struct event_resolver *r, const struct event_spec *e, u32 first);

/* -EOPNOTSUPP with a diag that names the verbs which can use this kind; 0: this one can. */
int resolve_check_use(struct event_resolver *r, const struct event_spec *e, enum event_kind kind);
/* "[MODULE:]FUNCTION" into desc->probe. at: where the function's name stands. */
int resolve_kernel_symbol(struct event_resolver *r, const struct event_spec *e,
			  struct event_desc *desc, struct event_span *at);
/* Is there such a function? Where the kernel does not tell, opening the event will. */
int resolve_check_kernel(struct event_resolver *r, const struct event_probe *p,
			 struct event_span symbol);
/* Fills desc->probe from e and the file that it names. */
int resolve_binary(struct event_resolver *r, const struct event_spec *e, struct event_desc *desc);

/* pmu.c: PMU/terms/ and bare aliases. -ENOENT without a diag: no PMU of this name, no alias of this name. */
int resolve_pmu(struct event_resolver *r, const struct event_spec *e);
int resolve_alias(struct event_resolver *r, const struct event_spec *e);
/* Terms of an event that is not of a PMU with formats: only the static ones and config=; others are refused. */
int resolve_static_terms(struct event_resolver *r, const struct event_spec *e,
			 struct event_desc *desc);

/* A vendor's name as a code, through libpfm. -ENOENT without a diag: not one of this CPU, or no library. */
int resolve_vendor_code(struct event_resolver *r, struct event_span at, const char *name,
			struct perf_event_attr *attr) must_check;
/* The same as an event. */
int resolve_vendor_name(struct event_resolver *r, const struct event_spec *e, const char *name);
