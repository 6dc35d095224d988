/* Attach points: a row for each provider. */
#include "lang/check_impl.h"
#include "lang/parse.h"

#include "base/clock.h"
#include "base/glob.h"
#include "base/num.h"
#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

/* The parts of an attach point between its colons; a colon in quotes is no end. */
struct provider_point {
	char *part[6];
	u32 nr;
	const char *script;
	u32 start, len;
	struct diag *diag;
	struct program_probe *probe;
	bool at_line; /* the provider's name ends with '@' */
	bool allow_unsafe;
};

struct provider {
	const char *name, *brief, *old;
	enum program_provider id;
	u32 min_parts, max_parts; /* behind the name */
	int (*parse)(struct provider_point *pt);
	const char *form; /* for messages */
	const char *about;
};

static int bad_point(struct provider_point *pt, const char *text, const char *what)
{
	return lang_error(pt->diag, pt->script, pt->start, pt->len, -EINVAL, "%s%s%s%s", text,
			  what ? " '" : "", what ? what : "", what ? "'" : "");
}

static int parse_none(struct provider_point *pt)
{
	(void)pt;
	return 0;
}

static int parse_tracepoint(struct provider_point *pt)
{
	pt->probe->target = pt->part[1];
	pt->probe->name = pt->part[2];
	return 0;
}

static int parse_name(struct provider_point *pt)
{
	pt->probe->name = pt->part[1];
	return 0;
}

/* "function+16": the offset is taken off. */
static int split_offset(struct provider_point *pt, char *text, u64 *ret)
{
	char *plus = strrchr(text, '+');
	if (!plus)
		return 0;
	if (num_parse_u64(plus + 1, 0, ret))
		return bad_point(pt, "invalid offset", plus + 1);
	*plus = 0;
	return 0;
}

/* "FILE:LINE" or "FILE:LINE:COLUMN", whose parts begin at `at`. */
static int parse_line(struct provider_point *pt, char *file, u32 at)
{
	u64 line, column = 0;
	bool has_line = at < pt->nr && !num_parse_u64(pt->part[at], 10, &line);
	if (!has_line || !line || line > INT32_MAX)
		return bad_point(pt, "expected FILE:LINE", NULL);
	if (at + 1 < pt->nr &&
	    (num_parse_u64(pt->part[at + 1], 10, &column) || !column || column > INT32_MAX))
		return bad_point(pt, "invalid column", pt->part[at + 1]);
	if (!*file || at + 2 < pt->nr)
		return bad_point(pt, "expected FILE:LINE", NULL);
	pt->probe->file = file;
	pt->probe->line = (u32)line;
	pt->probe->column = (u32)column;
	return 0;
}

/* kprobe@FILE:LINE, and kprobe@MODULE:FILE:LINE: a module has no dot in its name. */
static int parse_kernel_line(struct provider_point *pt)
{
	u32 at = 1;
	if (!strchr(pt->part[1], '.'))
		pt->probe->target = pt->part[at++];
	if (pt->probe->provider != PROGRAM_KPROBE)
		return bad_point(pt, "only a kprobe can be at a line", NULL);
	return parse_line(pt, pt->part[at], at + 1);
}

static int parse_function(struct provider_point *pt)
{
	if (pt->at_line)
		return parse_kernel_line(pt);
	char *name = pt->part[pt->nr - 1];
	if (pt->nr > 3)
		return bad_point(pt, "too many parts in the attach point", NULL);
	if (pt->probe->provider == PROGRAM_KPROBE && pt->nr == 2 && !strncmp(name, "0x", 2)) {
		if (!pt->allow_unsafe) {
			int err = bad_point(pt, "a probe at any address may stop the system", NULL);
			diag_hint(pt->diag, "allow it with %s",
				  diag_option(pt->diag, DIAG_OPT_UNSAFE));
			return err;
		}
		return num_parse_u64(name, 0, &pt->probe->number)
			       ? bad_point(pt, "invalid address", name)
			       : 0;
	}
	if (pt->nr == 3)
		pt->probe->target = pt->part[1];
	pt->probe->name = name;
	int err = split_offset(pt, name, &pt->probe->offset);
	if (err)
		return err;
	if (pt->probe->offset && pt->probe->provider != PROGRAM_KPROBE)
		return bad_point(pt, "only a kprobe can be at an offset", NULL);
	return *name ? 0 : bad_point(pt, "expected the name of a function", NULL);
}

static int parse_user(struct provider_point *pt)
{
	pt->probe->target = pt->part[1];
	char *name = pt->part[pt->nr - 1], *file = strrchr(pt->part[1], '@');
	if (file && pt->probe->provider == PROGRAM_UPROBE) {
		*file++ = 0;
		return parse_line(pt, file, 2);
	}
	if (pt->nr == 4) {
		if (strcmp(pt->part[2], "cpp"))
			return bad_point(pt, "unknown language", pt->part[2]);
		pt->probe->space = pt->part[2];
	}
	if (!*pt->probe->target || !*name)
		return bad_point(pt, "expected a program and a function", NULL);
	if (isdigit((unsigned char)*name))
		return num_parse_u64(name, 0, &pt->probe->offset)
			       ? bad_point(pt, "invalid address", name)
			       : 0;
	pt->probe->name = name;
	return split_offset(pt, name, &pt->probe->offset);
}

static int parse_usdt(struct provider_point *pt)
{
	pt->probe->target = pt->part[1];
	if (pt->nr == 4)
		pt->probe->space = pt->part[2];
	pt->probe->name = pt->part[pt->nr - 1];
	return 0;
}

static int bad_interval(struct provider_point *pt, const char *what)
{
	int err = bad_point(pt, "invalid interval", what);
	diag_hint(pt->diag, "the form is %s:s:1 or %s:hz:99", pt->part[0], pt->part[0]);
	return err;
}

static int parse_timer(struct provider_point *pt)
{
	static const struct {
		const char *unit;
		u64 ns;
	} units[] = { { "us", 1000 }, { "ms", 1000000 }, { "s", NS_PER_SEC }, { "hz", 0 } };
	struct program_probe *p = pt->probe;
	u64 nr;
	if (pt->nr == 2) {
		if (!isalpha((unsigned char)pt->part[1][strlen(pt->part[1]) - !!*pt->part[1]]) ||
		    clock_parse(pt->part[1], &p->number) || !p->number)
			return bad_interval(pt, pt->part[1]);
		return 0;
	}
	if (num_parse_u64(pt->part[2], 10, &nr) || !nr || nr > UINT32_MAX)
		return bad_interval(pt, pt->part[2]);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i].unit, pt->part[1])) {
			p->per_second = !units[i].ns;
			p->number = units[i].ns ? units[i].ns * nr : nr;
			return 0;
		}
	return bad_point(pt, "unknown unit", pt->part[1]);
}

static int parse_counter(struct provider_point *pt)
{
	pt->probe->name = pt->part[1];
	if (pt->nr == 3 && (num_parse_u64(pt->part[2], 10, &pt->probe->number) || !pt->probe->number))
		return bad_point(pt, "invalid number of events", pt->part[2]);
	return 0;
}

static int parse_iter(struct provider_point *pt)
{
	static const char *const names[] = { "task", "task_file", "task_vma" };
	pt->probe->name = pt->part[1];
	pt->probe->target = pt->nr == 3 ? pt->part[2] : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], pt->part[1]))
			return 0;
	int err = bad_point(pt, "unknown iterator", pt->part[1]);
	diag_hint(pt->diag, "there are task, task_file and task_vma");
	return err;
}

/* Each letter of the access once: "rw", "x". */
static bool is_access(const char *s)
{
	if (!*s || s[strspn(s, "rwx")])
		return false;
	for (; *s; s++)
		if (strchr(s + 1, *s))
			return false;
	return true;
}

static int parse_watchpoint(struct provider_point *pt)
{
	struct program_probe *p = pt->probe;
	if (num_parse_u64(pt->part[1], 0, &p->number)) {
		int err = bad_point(pt, "invalid address", pt->part[1]);
		if (strchr(pt->part[1], '+'))
			diag_hint(pt->diag, "FUNCTION+ARGUMENT is not supported: watch an address");
		return err;
	}
	if (num_parse_u64(pt->part[2], 0, &p->offset) ||
	    (p->offset != 1 && p->offset != 2 && p->offset != 4 && p->offset != 8))
		return bad_point(pt, "the length is 1, 2, 4 or 8 bytes, not", pt->part[2]);
	p->name = pt->part[3];
	if (!is_access(p->name))
		return bad_point(pt, "the access is made of the letters r, w and x, not", p->name);
	return 0;
}

static int parse_self(struct provider_point *pt)
{
	pt->probe->name = pt->part[2];
	if (strcmp(pt->part[1], "signal"))
		return bad_point(pt, "unknown event of the script itself", pt->part[1]);
	if (!strcmp(pt->part[2], "SIGUSR1") || !strcmp(pt->part[2], "SIGUSR2"))
		return 0;
	int err = bad_point(pt, "no handler can be given for signal", pt->part[2]);
	diag_hint(pt->diag, "SIGUSR1 and SIGUSR2 are free");
	return err;
}

static const struct provider providers[] = {
	{ "begin", "", "BEGIN", PROGRAM_BEGIN, 0, 0, parse_none, "begin",
	  "before anything else, in the order of the script" },
	{ "end", "", "END", PROGRAM_END, 0, 0, parse_none, "end", "when the script ends" },
	{ "tracepoint", "t", "", PROGRAM_TRACEPOINT, 2, 2, parse_tracepoint,
	  "tracepoint:SYSTEM:EVENT", "a static event of the kernel; args.NAME are its fields" },
	{ "rawtracepoint", "rt", "", PROGRAM_RAW_TRACEPOINT, 1, 1, parse_name, "rawtracepoint:EVENT",
	  "the same before its fields are filled in: args or argN are the arguments of the "
	  "hook" },
	{ "kprobe", "k", "", PROGRAM_KPROBE, 1, 4, parse_function,
	  "kprobe:[MODULE:]FUNCTION[+OFFSET], or kprobe@[MODULE:]FILE:LINE",
	  "the entry of a function of the kernel, or a line of it" },
	{ "kretprobe", "kr", "", PROGRAM_KRETPROBE, 1, 2, parse_function,
	  "kretprobe:[MODULE:]FUNCTION",
	  "the return of a function of the kernel; retval is its result" },
	{ "fentry", "f", "kfunc", PROGRAM_FENTRY, 1, 2, parse_function, "fentry:[MODULE:]FUNCTION",
	  "the entry of a function of the kernel; args.NAME are its parameters" },
	{ "fexit", "fr", "kretfunc", PROGRAM_FEXIT, 1, 2, parse_function, "fexit:[MODULE:]FUNCTION",
	  "its return, with parameters and retval" },
	{ "uprobe", "u", "", PROGRAM_UPROBE, 2, 3, parse_user,
	  "uprobe:PROGRAM:FUNCTION[+OFFSET], or uprobe:PROGRAM@FILE:LINE",
	  "the entry of a function of a program or library, or a line of it" },
	{ "uretprobe", "ur", "", PROGRAM_URETPROBE, 2, 3, parse_user, "uretprobe:PROGRAM:FUNCTION",
	  "its return" },
	{ "usdt", "U", "", PROGRAM_USDT, 2, 3, parse_usdt, "usdt:PROGRAM:[PROVIDER:]NAME",
	  "a static probe of a program" },
	{ "interval", "i", "", PROGRAM_INTERVAL, 1, 2, parse_timer, "interval:s:1",
	  "a clock, on one CPU" },
	{ "profile", "p", "", PROGRAM_PROFILE, 1, 2, parse_timer, "profile:hz:99",
	  "a clock, on all CPUs" },
	{ "software", "s", "", PROGRAM_SOFTWARE, 1, 2, parse_counter, "software:EVENT:COUNT",
	  "every COUNT software events" },
	{ "hardware", "h", "", PROGRAM_HARDWARE, 1, 2, parse_counter, "hardware:EVENT:COUNT",
	  "every COUNT hardware events" },
	{ "iter", "it", "", PROGRAM_ITER, 1, 2, parse_iter, "iter:task[:PIN]",
	  "once for each task (task), file of a task (task_file) or mapping (task_vma)" },
	{ "watchpoint", "w", "", PROGRAM_WATCHPOINT, 3, 3, parse_watchpoint,
	  "watchpoint:ADDRESS:LENGTH:MODE", "an access to memory; MODE is made of r, w and x" },
	{ "self", "", "", PROGRAM_SIGNAL, 2, 2, parse_self, "self:signal:SIGUSR1",
	  "a signal sent to sonde" },
};

static const struct provider *find_provider(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (!strcasecmp(name, providers[i].name) || !strcmp(name, providers[i].brief) ||
		    !strcmp(name, providers[i].old))
			return *name ? &providers[i] : NULL;
	return NULL;
}

bool provider_describe(u32 i, struct provider_about *ret)
{
	if (i >= ARRAY_SIZE(providers))
		return false;
	*ret = (struct provider_about){ .name = providers[i].name,
					.brief = providers[i].brief,
					.form = providers[i].form,
					.about = providers[i].about };
	return true;
}

static int unknown_provider(struct provider_point *pt)
{
	const char *names[ARRAY_SIZE(providers)];
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		names[i] = providers[i].name;
	const char *close = str_closest(pt->part[0], names, ARRAY_SIZE(names));
	int err = bad_point(pt, "unknown kind of probe", pt->part[0]);
	if (close)
		diag_hint(pt->diag, "did you mean '%s'?", close);
	return err;
}

static int split_parts(struct provider_point *pt, char *text)
{
	pt->part[pt->nr++] = text;
	/* kprobe@FILE:LINE is as kprobe:FILE:LINE, but for the '@' */
	char *sign = text + strcspn(text, ":@\"");
	if (*sign == '@') {
		*sign = ':';
		pt->at_line = true;
	}
	bool quoted = false;
	char *to = text;
	for (char *c = text; *c; c++) {
		if (*c == '"') {
			quoted = !quoted;
			continue;
		}
		bool ends = *c == ':' && !quoted && !(c[1] == ':' || (c > text && c[-1] == ':'));
		if (!ends) {
			*to++ = *c;
			continue;
		}
		*to++ = 0;
		if (pt->nr == ARRAY_SIZE(pt->part))
			return bad_point(pt, "too many parts in the attach point", NULL);
		pt->part[pt->nr++] = to;
	}
	*to = 0;
	return quoted ? bad_point(pt, "string without an end in", text) : 0;
}

/* $1 and "$1" become the parameter. */
static char *with_params(const struct lang_input *in, struct arena *a, const char *text)
{
	struct strbuf s;
	strbuf_init(&s);
	for (const char *c = text; *c; c++) {
		if (*c != '$' || !isdigit((unsigned char)c[1])) {
			strbuf_char(&s, *c);
			continue;
		}
		u32 nr = 0;
		for (; isdigit((unsigned char)c[1]); c++)
			nr = min(nr * 10 + (u32)(c[1] - '0'), 100000u);
		const char *param = check_param(in, nr);
		strbuf_str(&s, param ? param : "0");
	}
	char *ret = arena_strdup(a, strbuf_cstr(&s));
	if (s.err)
		ret = NULL;
	strbuf_done(&s);
	return ret;
}

static bool is_glob(const struct program_probe *p)
{
	return (p->target && p->provider != PROGRAM_UPROBE && p->provider != PROGRAM_URETPROBE &&
		p->provider != PROGRAM_USDT && glob_is_pattern(p->target)) ||
	       (p->name && (!p->space || p->provider == PROGRAM_USDT) && glob_is_pattern(p->name)) ||
	       (p->target && strchr(p->target, '*'));
}

/* The text with the whole name of the provider: what `probe` is. */
static const char *full_text(struct arena *a, const struct provider *pr, const char *text)
{
	const char *rest = strpbrk(text, ":@");
	struct strbuf s;
	strbuf_init(&s);
	strbuf_str(&s, pr->name);
	strbuf_str(&s, rest ? rest : "");
	char *ret = arena_strdup(a, strbuf_cstr(&s));
	if (s.err)
		ret = NULL;
	strbuf_done(&s);
	return ret;
}

static bool is_tracepoint(const struct lang_input *in, const char *system, const char *name)
{
	const struct schema *schema;
	const char *found[2];
	if (!in->ops)
		return false;
	if (glob_is_pattern(system) || glob_is_pattern(name))
		return in->ops->tracepoint_list &&
		       in->ops->tracepoint_list(in->ctx, system, name, 0, &found[0], &found[1]) == 1;
	return in->ops->tracepoint && !in->ops->tracepoint(in->ctx, system, name, &schema);
}

/* Events as the other verbs call them: "sched:sched_switch" is a tracepoint, "page-faults" and "cycles" are counters. */
static char *as_attach_point(const struct lang_input *in, struct arena *a, char *text)
{
	static const char *const software[] = {
		"cpu-clock", "task-clock",     "page-faults",  "faults",       "context-switches",
		"cs",	     "cpu-migrations", "minor-faults", "major-faults", "alignment-faults",
	};
	static const char *const hardware[] = {
		"cpu-cycles",	    "cycles",	     "instructions",
		"cache-references", "cache-misses",  "branch-instructions",
		"branches",	    "branch-misses", "bus-cycles",
		"ref-cycles",
	};
	const char *kind = NULL, *colon = strchr(text, ':');
	for (size_t i = 0; !colon && i < ARRAY_SIZE(software); i++)
		kind = strcmp(text, software[i]) ? kind : "software";
	for (size_t i = 0; !colon && i < ARRAY_SIZE(hardware); i++)
		kind = strcmp(text, hardware[i]) ? kind : "hardware";
	if (colon && !strpbrk(colon + 1, ":\"@")) {
		char *system = arena_strndup(a, text, (size_t)(colon - text));
		if (!system)
			return NULL;
		if (!find_provider(system) && is_tracepoint(in, system, colon + 1))
			kind = "tracepoint";
	}
	if (!kind)
		return text;
	struct strbuf s;
	strbuf_init(&s);
	strbuf_printf(&s, "%s:%s", kind, text);
	char *ret = s.err ? NULL : arena_strdup(a, strbuf_cstr(&s));
	strbuf_done(&s);
	return ret;
}

int provider_parse(const struct lang_input *in, struct program *p, const char *text, u32 start,
		   u32 len, struct diag *d)
{
	struct provider_point pt = { .script = in->text,
				     .start = start,
				     .len = len,
				     .diag = d,
				     .allow_unsafe = in->allow_unsafe };
	struct program_probe probe = { .span_start = start, .span_len = len };
	char *whole = with_params(in, &p->arena, text);
	if (whole)
		whole = as_attach_point(in, &p->arena, whole);
	char *parts = whole ? arena_strdup(&p->arena, whole) : NULL;
	if (!parts)
		return -ENOMEM;
	pt.probe = &probe;
	int err = split_parts(&pt, parts);
	if (err)
		return err;
	const struct provider *pr = find_provider(pt.part[0]);
	if (!pr)
		return unknown_provider(&pt);
	if (pt.at_line && pr->parse != parse_function)
		return bad_point(&pt, "only a kprobe can be at a line", NULL);
	probe.provider = pr->id;
	if (pt.nr - 1 < pr->min_parts || pt.nr - 1 > pr->max_parts) {
		err = bad_point(&pt, "invalid attach point", whole);
		diag_hint(d, "the syntax is %s", pr->form);
		return err;
	}
	for (u32 i = 1; i < pt.nr; i++)
		if (!*pt.part[i] && pr->id != PROGRAM_USDT)
			return bad_point(&pt, "empty part in the attach point", NULL);
	err = pr->parse(&pt);
	if (err)
		return err;
	probe.is_glob = is_glob(&probe);
	probe.text = full_text(&p->arena, pr, whole);
	struct program_probe *to = vec_push(&p->probes);
	if (!to || !probe.text)
		return -ENOMEM;
	*to = probe;
	return 0;
}
