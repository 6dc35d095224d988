/*
 * Probes in source terms: what a person writes, where that is in a kernel or a program, and the definition that the kernel takes.
 *
 *	probe_parse()    text ─► struct probe_request: nothing here knows the machine; every part has its span for messages
 *	probe_find()     request + target ─► struct probe_def, one for each place (inlined instances, clones, a glob's matches):
 *	                   probe/find_dwarf   functions, lines and variables from debug information
 *	                   probe/find_symbol  functions and offsets from symbol tables, parameters and members from BTF
 *	                   probe/find_usdt    the notes of static probes
 *	probe_def_text() definition ─► "p:probe/vfs_read _text+1234 count=%dx:u64", as kprobe_events, uprobe_events and
 *	                   dynamic_events take it
 *
 * Adding to the kernel, listing and deleting: probe/kernel.h.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct probe_span {
	u32 start, len; /* in probe_request.text; len 0: not written */
};

/* One step from a variable to what is wanted of it: "->name", ".name", "[3]". */
struct probe_step {
	const char *member; /* NULL: index */
	bool arrow;
	u64 index;
	struct probe_span span;
};

enum probe_value {
	PROBE_VALUE_NAME, /* a variable, parameter or global, with steps */
	PROBE_VALUE_FETCH, /* the kernel's own words, as written: %di, $stack2, @jiffies+8, +0x10(%di), \5, $comm, $arg3 */
	PROBE_VALUE_RETVAL, /* $retval, with steps */
	PROBE_VALUE_PARAMS, /* $params and $arg*: all parameters */
	PROBE_VALUE_LOCALS, /* $locals */
	PROBE_VALUE_VARS, /* $vars: parameters and locals */
};

struct probe_arg {
	enum probe_value value;
	const char *name; /* chosen by the person; NULL: named after the variable */
	const char *text; /* NAME: the variable; FETCH: all of it */
	const struct probe_step *steps;
	u32 nr_steps;
	const char *type; /* "u32", "string", "x8[4]"; NULL: as the debug information says */
	bool user; /* "@user": memory of the process */
	struct probe_span span;
};

enum probe_form {
	PROBE_FUNCTION, /* FUNC[@SRC], and one of +OFF, :LINE, ;PATTERN, %return */
	PROBE_SOURCE, /* SRC:LINE, SRC;PATTERN */
	PROBE_ADDRESS,
	PROBE_TRACEPOINT, /* t:NAME: a tracepoint, by its own name */
	PROBE_USDT, /* %sdt_PROVIDER:NAME, sdt_PROVIDER:NAME */
	PROBE_RAW, /* a line of the kernel's own language, passed on as it is */
};

struct probe_request {
	const char *text;
	enum probe_form form;
	const char *group, *event; /* chosen by the person; NULL: named after the place */
	const char *function; /* may be a glob */
	const char *file; /* the tail of a source file's name */
	const char *pattern; /* for lines: blanks do not count, globs */
	u64 offset; /* behind the function's start; ADDRESS: the address */
	u32 line; /* of the file, or within the function from 0 on; has_line */
	bool has_line, has_offset, is_glob, is_return;
	const char *provider, *name; /* USDT; TRACEPOINT: name */
	const struct probe_arg *args;
	u32 nr_args;
	struct probe_span function_span, file_span,
		place_span; /* place: +OFF, :LINE, ;PATTERN, %return */
};

/* What is probed. */
enum probe_where { PROBE_KERNEL, PROBE_MODULE, PROBE_BINARY };
struct probe_target {
	enum probe_where where;
	const char *path; /* BINARY: the file; KERNEL: its vmlinux, NULL: looked for; MODULE: its .ko, NULL: looked for */
	const char *module; /* MODULE: its name */
	const char *sources; /* a tree to look for source files in; NULL: where the compiler found them */
	const char *root; /* "" or a test's folder, for /proc and /sys */
	bool no_inlines, externs, ranges;
	u32 max_probes; /* 0: 128 */
	const char *cache; /* the folder that indexes of large images are kept in; NULL: none are */
	struct probe_held *held; /* what requests have opened stays open for the next, of the same root; NULL: it is closed */
};

struct probe_def_arg {
	const char *name;
	const char *fetch; /* "+16(%di)" */
	const char *type; /* "u32"; NULL: the kernel's default */
};

/* One probe as the kernel takes it. */
struct probe_def {
	char letter; /* p r f t e */
	u32 max_active; /* of a return probe; 0: the kernel's choice */
	const char *group, *event; /* NULL until probe_names_choose() */
	const char *symbol; /* kernel: "_text" or a function; NULL: address alone */
	const char *module; /* kernel: or NULL */
	const char *binary;
	u64 offset; /* behind the symbol; in the binary */
	u64 ref_ctr; /* of a USDT semaphore in the binary; 0: none */
	bool is_return;
	const struct probe_def_arg *args;
	u32 nr_args;
	const char *raw; /* RAW: the line; nothing above is filled but group and event where written */
	/* For people. */
	const char *function; /* that it is in, or inlined into; NULL: not known */
	u64 in_function; /* its distance from that function's start */
	const char *file; /* NULL: not known */
	u32 line;
	const char *realname; /* the function of the source, which may be inlined into `function`: events are named after it */
};

struct probe_defs {
	struct arena arena; /* of all strings */
	VEC(struct probe_def) at;
};

/* -EINVAL with a diag that points into text; -ENOMEM. Strings are in the arena. */
int probe_parse(const char *text, struct arena *arena, struct probe_request *ret,
		struct diag *d) must_check;

void probe_defs_init(struct probe_defs *defs);
void probe_defs_done(struct probe_defs *defs);
/*
 * Appends a definition for each place, without names. -ENOENT: no such function, line or variable (nearest ones in the hint);
 * -ENODATA: what was asked for needs debug information that is not there; -EOPNOTSUPP: it is there but cannot be probed, with the
 * reason; -ENOMEM. defs are as before then.
 */
int probe_find(const struct probe_target *target, const struct probe_request *request,
	       struct probe_defs *defs, struct diag *d) must_check;
/* For probe_target.held. NULL: no memory. */
struct probe_held *probe_held_new(void);
/* NULL is fine. */
void probe_held_free(struct probe_held *held);
/* Appends the line without its end. */
void probe_def_text(const struct probe_def *def, struct strbuf *to);

/* ---- what can be probed: by debug information, for -L and -V; by symbols, for -F ---- */

/* A variable that can be fetched at a place. */
struct probe_var {
	const char *type, *name;
	const char *ranges; /* "work+[0-9,9-113]": where it has a place, if ranges were asked for; NULL: not told */
	bool is_extern; /* global or static */
	bool is_missing; /* only with ranges: it has no place here */
};

struct probe_vars_at {
	const char *function; /* the symbol that the place is in, and how far */
	u64 offset;
	const struct probe_var *vars; /* by type and name */
	u32 nr_vars;
};

struct probe_vars {
	struct arena arena;
	VEC(struct probe_vars_at) at; /* one for each place of the request */
};

/* As probe_find(); done in any case. */
int probe_vars(const struct probe_target *target, const struct probe_request *request,
	       struct probe_vars *ret, struct diag *d) must_check;
void probe_vars_done(struct probe_vars *v);

/* FUNC[@SRC][:A[-B|+N]] or SRC[:A[-B|+N]], as -L takes it. */
struct probe_line_range {
	const char *text, *function, *file;
	u32 start, end; /* of the file, or within the function; end UINT32_MAX: to its end */
	struct probe_span function_span, file_span;
};

int probe_parse_lines(const char *text, struct arena *arena, struct probe_line_range *ret,
		      struct diag *d) must_check;

struct probe_line {
	u32 number; /* as people count: within the function, or of the file */
	bool can_be_probed;
	const char *text; /* without its end */
};

struct probe_lines {
	struct arena arena;
	const char *function; /* NULL: a file was asked for */
	const char *path; /* of the source, as it was found */
	u32 first; /* the number of the first line that was asked for */
	VEC(struct probe_line) at;
};

/* -ENOENT also when the source cannot be found, with where it was looked for. done in any case. */
int probe_lines(const struct probe_target *target, const struct probe_line_range *range,
		struct probe_lines *ret, struct diag *d) must_check;
void probe_lines_done(struct probe_lines *l);

struct probe_functions {
	struct arena arena;
	VEC(const char *) names; /* sorted, each once, demangled where asked for */
};

/* filter: perf's globs with ! & | ( ); NULL: all but those that begin with "_", as perf. -EINVAL: with a diag. done in any case. */
int probe_functions(const struct probe_target *target, const char *filter, bool demangled,
		    struct probe_functions *ret, struct diag *d) must_check;
void probe_functions_done(struct probe_functions *f);
