#include "event/provider.h"

#include "base/str.h"
#include "event/resolve_impl.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* ---- parse functions of the rows with a prefix ---- */

static int missing(struct event_parser *p, enum event_kind kind, const char *what)
{
	struct event_span at = { .start = p->at, .len = 1 };
	(void)event_parser_error(p, at, "expected %s", what);
	diag_hint(p->diag, "the syntax is %s", event_provider_of(kind)->form);
	return -EINVAL;
}

/* "symbol+0x10": splits the offset off. */
static int split_offset(struct event_parser *p, struct event_span *symbol, u64 *offset)
{
	const char *s = p->text + symbol->start;
	u32 plus = symbol->len;
	while (plus && s[plus - 1] != '+')
		plus--;
	if (plus < 2)
		return 0;
	struct event_span number = { .start = symbol->start + plus, .len = symbol->len - plus };
	if (!event_parser_number(p, number, offset)) {
		if (!number.len || (s[plus] >= '0' && s[plus] <= '9')) {
			number.len += !number.len;
			return event_parser_error(p, number, "invalid offset");
		}
		return 0; /* operator+ */
	}
	symbol->len = plus - 1;
	return 0;
}

/* A symbol, up to a filter. In tracefs "+WORD" is a trigger, and "+" before anything else part of the symbol: an offset, operator+. */
static struct event_span take_symbol(struct event_parser *p, bool nested)
{
	struct event_span s = event_parser_until(p, p->traced ? "/+" : "/", nested);
	while (p->traced && p->text[p->at] == '+' && !isalpha((unsigned char)p->text[p->at + 1])) {
		p->at++;
		(void)event_parser_until(p, "/+", nested);
		s.len = p->at - s.start;
	}
	return s;
}

/* What only debug information can place: FUNC:LINE, FILE:LINE, FUNC@FILE, FUNC%return, FILE;PATTERN. */
static bool is_in_source(const char *s, u32 len)
{
	for (u32 i = 0; i < len; i++) {
		if (s[i] == ':' && i + 1 < len && isdigit((unsigned char)s[i + 1]))
			return true;
		if (s[i] == ';' || s[i] == '%' || (s[i] == '@' && i))
			return true;
	}
	return false;
}

/* Whether what follows a blank is the next thing, and not an argument: a filter, a trigger. */
static bool ends_arguments(const struct event_parser *p, const char *at)
{
	return *at == '/' || (p->traced && *at == '+' && isalpha((unsigned char)at[1]));
}

/* Arguments after the place, which begins at start: e->point is both. */
static int take_arguments(struct event_parser *p, struct event_spec *e, struct event_span place)
{
	const char *from = p->text + p->at, *at = from + strspn(from, " \t\n"), *end = from;
	char quote = 0;
	int depth = 0;
	if (at > from && *at && !strchr(",}", *at) && !ends_arguments(p, at)) {
		for (; *at; at++) {
			bool blank = isspace((unsigned char)*at);
			if (!quote && !depth &&
			    (*at == ',' || *at == '}' ||
			     (blank && ends_arguments(p, at + strspn(at, " \t\n")))))
				break;
			if (quote)
				quote = *at == quote ? 0 : quote;
			else if (*at == '"' || *at == '\'')
				quote = *at;
			else
				depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
			end = blank ? end : at + 1;
		}
		p->at = (u32)(at - p->text);
		p->at += (u32)strspn(p->text + p->at, " \t\n");
	}
	if (end > from || is_in_source(p->text + place.start, place.len)) {
		u32 stop = end > from ? (u32)(end - p->text) : place.start + place.len;
		e->point = (struct event_span){ .start = place.start, .len = stop - place.start };
	}
	return 0;
}

static int parse_kprobe(struct event_parser *p, struct event_spec *e)
{
	e->name = take_symbol(p, false);
	if (!e->name.len)
		return missing(p, e->kind, "a function name");
	int r = take_arguments(p, e, e->name);
	if (r == 0)
		r = split_offset(p, &e->name, &e->number);
	if (r < 0)
		return r;
	if (e->kind == EVENT_KIND_KRETPROBE && e->number)
		return event_parser_error(
			p, e->name, "return probes are placed at function entry: no offset allowed");
	if (e->kind != EVENT_KIND_KPROBE && e->number)
		return event_parser_error(p, e->name, "only kprobe: takes an offset");
	return event_parser_filter(p, e);
}

/* BINARY ":" ... : the path may hold slashes and blanks after a backslash do not occur in practice. */
static int parse_binary(struct event_parser *p, struct event_spec *e)
{
	e->name = event_parser_until(p, ":", false);
	if (!e->name.len)
		return missing(p, e->kind, "a program or library");
	if (p->text[p->at] != ':')
		return missing(p, e->kind, "a colon and a place in the file");
	p->at++;
	return 0;
}

static int parse_uprobe(struct event_parser *p, struct event_spec *e)
{
	int r = parse_binary(p, e);
	if (r < 0)
		return r;
	e->event = take_symbol(p, true);
	if (!e->event.len)
		return missing(p, e->kind, "a function name or offset");
	r = take_arguments(p, e, e->event);
	if (r == 0)
		r = split_offset(p, &e->event, &e->number);
	return r < 0 ? r : event_parser_filter(p, e);
}

static int parse_usdt(struct event_parser *p, struct event_spec *e)
{
	int r = parse_binary(p, e);
	if (r < 0)
		return r;
	struct event_span first = event_parser_until(p, p->traced ? ":/+" : ":/", false);
	if (p->text[p->at] == ':') {
		p->at++;
		e->provider = first;
		e->event = take_symbol(p, false);
	} else {
		e->event = first; /* any provider */
	}
	if (!e->event.len)
		return missing(p, e->kind, "a probe name");
	r = take_arguments(p, e, e->event);
	return r < 0 ? r : event_parser_filter(p, e);
}

static int parse_glob(struct event_parser *p, struct event_spec *e)
{
	e->name = event_parser_until(p, p->traced ? "/+" : "", true);
	if (!e->name.len)
		return missing(p, e->kind, "a function or a pattern");
	return p->traced ? event_parser_filter(p, e) : 0;
}

static int parse_syscall(struct event_parser *p, struct event_spec *e)
{
	e->name = event_parser_until(p, p->traced ? "/:+" : "/:", true);
	return e->name.len ? event_parser_filter(p, e) : missing(p, e->kind, "a system call name");
}

/* 99 | hz:99 | s:1 | ms:10 | us:100 */
static int parse_profile(struct event_parser *p, struct event_spec *e)
{
	static const struct {
		const char *word;
		u64 ns;
	} units[] = {
		{ "hz", 0 }, { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 }
	};
	struct event_span first = event_parser_until(p, ":", false);
	u64 unit_ns = 0;
	if (p->text[p->at] == ':' && first.len &&
	    (p->text[first.start] < '0' || p->text[first.start] > '9')) {
		size_t i = 0;
		while (i < ARRAY_SIZE(units) &&
		       (strlen(units[i].word) != first.len ||
			strncmp(units[i].word, p->text + first.start, first.len)))
			i++;
		if (i == ARRAY_SIZE(units))
			return event_parser_error(p, first, "unknown unit: use hz, s, ms, us or ns");
		unit_ns = units[i].ns;
		p->at++;
		first = event_parser_until(p, ":", false);
	}
	e->name = first;
	if (!first.len)
		return missing(p, e->kind, "a rate");
	u64 v;
	if (!event_parser_number(p, first, &v) || !v)
		return event_parser_error(p, first, "expected a number greater than 0");
	if (unit_ns && __builtin_mul_overflow(v, unit_ns, &v))
		return event_parser_error(p, first, "period too long");
	e->number = v;
	e->period_ns = unit_ns != 0;
	return 0;
}

static int parse_access(struct event_parser *p, struct event_spec *e, struct event_span s)
{
	for (u32 i = 0; i < s.len; i++) {
		static const char letters[] = "rwx";
		char c = p->text[s.start + i];
		const char *at = strchr(letters, c);
		u32 bit = at ? 1u << (at - letters) : 0;
		struct event_span here = { .start = s.start + i, .len = 1 };
		if (!at)
			return event_parser_error(p, here,
						  "unknown access type '%c': use r, w or x", c);
		if (e->access & bit)
			return event_parser_error(p, here, "duplicate '%c'", c);
		e->access |= bit;
	}
	return 0;
}

static bool is_access(const char *s, u32 len)
{
	return len && len <= 3 && strspn(s, "rwx") >= len;
}

static int parse_breakpoint(struct event_parser *p, struct event_spec *e)
{
	e->name = event_parser_until(p, "/:", false);
	if (!e->name.len)
		return missing(p, e->kind, "an address");
	if (!event_parser_number(p, e->name, &e->number))
		return event_parser_error(p, e->name, "invalid address (expected 0x... or decimal)");
	if (p->text[p->at] == '/') {
		p->at++;
		struct event_span len = event_parser_until(p, ":/", false);
		if (!event_parser_number(p, len, &e->type) || !e->type || e->type > 8) {
			len.len += !len.len;
			return event_parser_error(p, len, "invalid length: expected 1 to 8 bytes");
		}
	}
	if (p->text[p->at] != ':')
		return 0;
	struct event_span word = { .start = p->at + 1,
				   .len = (u32)strcspn(p->text + p->at + 1, ":,} \t\n") };
	if (!is_access(p->text + word.start, word.len)) {
		/* "mem:0x1000:u" are modifiers; anything else was meant as access. */
		if (word.len && strspn(p->text + word.start, "ukhGHIpPSDWebRX") >= word.len)
			return 0;
		p->at = word.start + word.len;
		word.len += !word.len;
		return parse_access(p, e, word);
	}
	p->at = word.start + word.len;
	return parse_access(p, e, word);
}

/* ---- the table ---- */

#define PERF_USES (EVENT_USE_COUNT | EVENT_USE_SAMPLE | EVENT_USE_TRACE | EVENT_USE_PROGRAM)
/* Where a probe lasts as long as the run. */
#define PROBE_USES (PERF_USES | EVENT_USE_FTRACE)
#define ALL_USES   (PERF_USES | EVENT_USE_TRACEFS)
#define DEFINED	   (EVENT_NEED_DEFINITION | EVENT_NEED_TRACEFS)

static const struct event_provider rows[EVENT_KIND_NR] = {
	[EVENT_KIND_NAME] = { .form = "NAME[:MODIFIERS]",
			      .about = "an event by its name",
			      .example = "cycles:u",
			      .uses = ALL_USES,
			      .needs = EVENT_NEED_PERF,
			      .traced_needs = EVENT_NEED_TRACEFS,
			      .resolve = resolve_name,
			      .trace = trace_words },
	[EVENT_KIND_HARDWARE] = { .form = "cycles",
				  .about = "generic hardware event",
				  .example = "instructions:k",
				  .uses = PERF_USES,
				  .needs = EVENT_NEED_PERF },
	[EVENT_KIND_SOFTWARE] = { .form = "page-faults",
				  .about = "event counted by the kernel",
				  .example = "context-switches",
				  .uses = PERF_USES,
				  .needs = EVENT_NEED_PERF },
	[EVENT_KIND_CACHE] = { .form = "L1-dcache-load-misses",
			       .about = "generic cache event",
			       .example = "LLC-load-misses",
			       .uses = PERF_USES,
			       .needs = EVENT_NEED_PERF },
	[EVENT_KIND_TOOL] = { .form = "duration_time",
			      .about = "measured by the tool itself",
			      .example = "duration_time",
			      .uses = EVENT_USE_COUNT },
	[EVENT_KIND_RAW] = { .form = "rNNN",
			     .about = "the CPU's own event number, hexadecimal",
			     .example = "r13c",
			     .uses = PERF_USES,
			     .needs = EVENT_NEED_PERF,
			     .resolve = resolve_raw },
	[EVENT_KIND_NUMERIC] = { .form = "TYPE:CONFIG",
				 .about = "numbers for perf_event_open",
				 .example = "1:0x2",
				 .uses = PERF_USES,
				 .needs = EVENT_NEED_PERF,
				 .resolve = resolve_numeric },
	[EVENT_KIND_PMU] = { .form = "PMU/TERM[=VALUE],.../MODIFIERS",
			     .about = "event of a PMU",
			     .example = "cpu/event=0x3c,umask=1/u",
			     .uses = PERF_USES,
			     .needs = EVENT_NEED_PERF },
	[EVENT_KIND_PFM] = { .form = "[PMU::]EVENT[:UMASK][:ATTR=N]",
			     .about = "vendor's event name (libpfm4)",
			     .example = "INST_RETIRED:ANY_P:c=1",
			     .uses = PERF_USES,
			     .needs = EVENT_NEED_PERF,
			     .resolve = resolve_vendor },
	[EVENT_KIND_TRACEPOINT] = { .form = "SYSTEM:EVENT[/FILTER/]",
				    .about = "tracepoint of the kernel",
				    .example = "sched:sched_switch/next_pid == 0/",
				    .uses = ALL_USES,
				    .needs = EVENT_NEED_PERF | EVENT_NEED_TRACEFS,
				    .traced_needs = EVENT_NEED_TRACEFS,
				    .filter = true,
				    .resolve = resolve_tracepoint,
				    .trace = trace_words },
	[EVENT_KIND_BREAKPOINT] = { .prefix = "mem",
				    .form = "mem:ADDRESS[/LENGTH][:rwx]",
				    .about = "hardware breakpoint: reads, writes, execution of an "
					     "address",
				    .example = "mem:0x601040/8:w",
				    .uses = PERF_USES,
				    .needs = EVENT_NEED_PERF,
				    .parse = parse_breakpoint,
				    .resolve = resolve_breakpoint },
	[EVENT_KIND_KPROBE] = { .prefix = "kprobe",
				.form = "kprobe:[MODULE:]FUNCTION[+OFFSET|:LINE][ "
					"ARGUMENT...][/FILTER/]",
				.about = "entry of a kernel function",
				.example = "kprobe:vfs_read",
				.uses = PROBE_USES,
				.needs = EVENT_NEED_PERF,
				.traced_needs = DEFINED,
				.filter = true,
				.parse = parse_kprobe,
				.resolve = resolve_kprobe,
				.trace = trace_probe },
	[EVENT_KIND_KRETPROBE] = { .prefix = "kretprobe",
				   .form = "kretprobe:[MODULE:]FUNCTION[ ARGUMENT...][/FILTER/]",
				   .about = "return of a kernel function",
				   .example = "kretprobe:vfs_read",
				   .uses = PROBE_USES,
				   .needs = EVENT_NEED_PERF,
				   .traced_needs = DEFINED,
				   .filter = true,
				   .parse = parse_kprobe,
				   .resolve = resolve_kprobe,
				   .trace = trace_probe },
	[EVENT_KIND_FPROBE] = { .prefix = "fprobe",
				.form = "fprobe:[MODULE:]FUNCTION[/FILTER/]",
				.about = "entry of a kernel function, by ftrace (since Linux 6.5)",
				.example = "fprobe:vfs_write",
				.uses = EVENT_USE_FTRACE,
				.traced_needs = DEFINED,
				.filter = true,
				.parse = parse_kprobe,
				.trace = trace_probe },
	[EVENT_KIND_FRETPROBE] = { .prefix = "fretprobe",
				   .form = "fretprobe:[MODULE:]FUNCTION[/FILTER/]",
				   .about = "return of a kernel function, by ftrace (since Linux "
					    "6.5)",
				   .example = "fretprobe:vfs_write",
				   .uses = EVENT_USE_FTRACE,
				   .traced_needs = DEFINED,
				   .filter = true,
				   .parse = parse_kprobe,
				   .trace = trace_probe },
	[EVENT_KIND_CALL] = { .prefix = "call",
			      .form = "call:[MODULE:]FUNCTION[/FILTER/]",
			      .about = "entry and return of a kernel function, with arguments and "
				       "result",
			      .example = "call:vfs_read/count == 4096/",
			      .uses = EVENT_USE_FTRACE,
			      .traced_needs = DEFINED,
			      .filter = true,
			      .parse = parse_kprobe,
			      .trace = trace_probe },
	[EVENT_KIND_UPROBE] = { .prefix = "uprobe",
				.form = "uprobe:BINARY:SYMBOL[+OFFSET|:LINE]|FILE:LINE[ "
					"ARGUMENT...][/FILTER/]",
				.about = "function of a program or library",
				.example = "uprobe:/bin/bash:readline",
				.uses = PROBE_USES,
				.needs = EVENT_NEED_PERF,
				.traced_needs = DEFINED,
				.filter = true,
				.parse = parse_uprobe,
				.resolve = resolve_uprobe,
				.trace = trace_uprobe },
	[EVENT_KIND_URETPROBE] = { .prefix = "uretprobe",
				   .form = "uretprobe:BINARY:SYMBOL[ ARGUMENT...][/FILTER/]",
				   .about = "return of a function of a program or library",
				   .example = "uretprobe:/bin/bash:readline",
				   .uses = PROBE_USES,
				   .needs = EVENT_NEED_PERF,
				   .traced_needs = DEFINED,
				   .filter = true,
				   .parse = parse_uprobe,
				   .resolve = resolve_uprobe,
				   .trace = trace_uprobe },
	[EVENT_KIND_USDT] = { .prefix = "usdt",
			      .form = "usdt:BINARY:[PROVIDER:]NAME[ ARGUMENT...][/FILTER/]",
			      .about = "static probe built into a program",
			      .example = "usdt:/usr/bin/python3:python:function__entry",
			      .uses = PROBE_USES,
			      .needs = EVENT_NEED_PERF,
			      .traced_needs = DEFINED,
			      .filter = true,
			      .parse = parse_usdt,
			      .resolve = resolve_uprobe,
			      .trace = trace_uprobe },
	[EVENT_KIND_FUNCTION] = { .prefix = "function",
				  .form = "function:GLOB",
				  .about = "calls of kernel functions (ftrace)",
				  .example = "function:vfs_*",
				  .uses = EVENT_USE_FTRACE | EVENT_USE_START | EVENT_USE_PROGRAM,
				  .traced_needs = EVENT_NEED_FUNCTIONS,
				  .parse = parse_glob,
				  .resolve = resolve_function },
	[EVENT_KIND_GRAPH] = { .prefix = "graph",
			       .form = "graph:GLOB",
			       .about = "call graph of kernel functions (ftrace)",
			       .example = "graph:do_sys_openat2",
			       .uses = EVENT_USE_FTRACE | EVENT_USE_START,
			       .traced_needs = EVENT_NEED_FUNCTIONS,
			       .parse = parse_glob,
			       .resolve = resolve_function },
	[EVENT_KIND_PROFILE] = { .prefix = "profile",
				 .form = "profile:HZ",
				 .about = "samples at a fixed rate, on every CPU",
				 .example = "profile:99",
				 .uses = EVENT_USE_SAMPLE | EVENT_USE_PROGRAM,
				 .needs = EVENT_NEED_PERF,
				 .parse = parse_profile,
				 .resolve = resolve_profile },
	[EVENT_KIND_SYSCALL] = { .prefix = "syscall",
				 .form = "syscall:NAME[/FILTER/]",
				 .about = "entry of a system call",
				 .example = "syscall:openat",
				 .uses = ALL_USES,
				 .needs = EVENT_NEED_PERF | EVENT_NEED_TRACEFS,
				 .traced_needs = EVENT_NEED_TRACEFS,
				 .filter = true,
				 .parse = parse_syscall,
				 .resolve = resolve_syscall },
};

const struct event_provider *event_providers(void)
{
	return rows;
}

const struct event_provider *event_provider_of(enum event_kind kind)
{
	return &rows[kind];
}

const struct event_provider *event_provider_find(const char *prefix, size_t len)
{
	for (size_t i = 0; i < EVENT_KIND_NR; i++)
		if (rows[i].prefix && strlen(rows[i].prefix) == len &&
		    !strncmp(rows[i].prefix, prefix, len))
			return &rows[i];
	return NULL;
}

void event_use_verbs(u32 uses, struct strbuf *to)
{
	/* Uses without a verb yet are not in it. */
	static const struct {
		u32 use;
		const char *verb;
	} verbs[] = {
		{ EVENT_USE_COUNT, "stat" },	       { EVENT_USE_SAMPLE, "record" },
		{ EVENT_USE_FTRACE, "ftrace record" }, { EVENT_USE_START, "ftrace start" },
		{ EVENT_USE_HIST, "ftrace hist" },
	};
	size_t nr = 0, at = 0;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		nr += (uses & verbs[i].use) != 0;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!(uses & verbs[i].use))
			continue;
		strbuf_str(to, at == 0 ? "" : at + 1 == nr ? " or " : ", ");
		strbuf_str(to, verbs[i].verb);
		at++;
	}
}

void event_function_split(const char *text, struct event_function *ret)
{
	static const char mod[] = ":mod:";
	const char *rest = text + strcspn(text, ":");
	*ret = (struct event_function){ .glob_len = (size_t)(rest - text) };
	if (str_starts(rest, mod)) {
		ret->module = rest + strlen(mod);
		ret->module_len = strcspn(ret->module, ":");
		rest = ret->module + ret->module_len;
	}
	ret->command = *rest == ':' ? rest + 1 : NULL;
}
