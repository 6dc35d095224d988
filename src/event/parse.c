/*
 * One cursor, one pass, no backtracking but in one place: SYSTEM:EVENT and NAME:MODS look alike, and letters decide
 * (resolve.c looks again when the name is unknown but such a tracepoint exists).
 */
#include "event/parse.h"

#include "base/num.h"
#include "event/provider.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { TEXT_MAX = 1 << 20, ITEMS_MAX = 1 << 16 };

static struct event_span span_of(u32 start, u32 end)
{
	return (struct event_span){ .start = start, .len = end - start };
}

int event_parser_error(struct event_parser *p, struct event_span at, const char *fmt, ...)
{
	struct strbuf s;
	strbuf_init(&s);
	va_list ap;
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	int r = diag_error(p->diag, -EINVAL, "%s", strbuf_cstr(&s));
	diag_span(p->diag, p->text, at.start, at.len);
	strbuf_done(&s);
	return r;
}

static char peek(const struct event_parser *p)
{
	return p->text[p->at];
}

static void skip_blanks(struct event_parser *p)
{
	while (isspace((unsigned char)peek(p)))
		p->at++;
}

static bool ends_event(char c)
{
	return !c || c == ',' || c == '}' || isspace((unsigned char)c);
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_*?[].!-", c)) || (unsigned char)c >= 0x80;
}

static struct event_span take_name(struct event_parser *p)
{
	u32 start = p->at;
	while (is_name_char(peek(p)))
		p->at++;
	return span_of(start, p->at);
}

struct event_span event_parser_until(struct event_parser *p, const char *stop, bool nested)
{
	u32 start = p->at;
	int depth = 0;
	for (char c; (c = peek(p)); p->at++) {
		if (nested && strchr("(<[", c))
			depth++;
		else if (nested && depth > 0 && strchr(")>]", c))
			depth--;
		else if (depth == 0 && (ends_event(c) || strchr(stop, c)))
			break;
	}
	if (depth > 0) { /* a lone bracket is a character like others */
		p->at = start;
		return event_parser_until(p, stop, false);
	}
	return span_of(start, p->at);
}

bool event_parser_number(const struct event_parser *p, struct event_span s, u64 *ret)
{
	char buf[32];
	if (!s.len || s.len >= sizeof(buf) || !isdigit((unsigned char)p->text[s.start]))
		return false;
	memcpy(buf, p->text + s.start, s.len);
	buf[s.len] = '\0';
	return num_parse_u64(buf, 0, ret) == 0;
}

/* ---- modifiers ---- */

static const struct {
	char letter;
	u16 bit;
	const char *refused;
} mod_rows[] = {
	{ 'u', EVENT_MOD_USER, NULL },
	{ 'k', EVENT_MOD_KERNEL, NULL },
	{ 'h', EVENT_MOD_HV, NULL },
	{ 'G', EVENT_MOD_GUEST, NULL },
	{ 'H', EVENT_MOD_HOST, NULL },
	{ 'I', EVENT_MOD_NO_IDLE, NULL },
	{ 'P', EVENT_MOD_PRECISE_MAX, NULL },
	{ 'S', EVENT_MOD_READ, NULL },
	{ 'D', EVENT_MOD_PINNED, NULL },
	{ 'W', EVENT_MOD_WEAK, NULL },
	{ 'e', EVENT_MOD_EXCLUSIVE, NULL },
	{ 'p', 0, NULL },
	{ 'b', 0, "shared BPF counters (:b) are not supported: counters are opened for each run" },
	{ 'R', 0,
	  "retirement latency (:R) is not supported: it needs a second recording in the "
	  "background" },
	{ 'X', 0, "groups are never rearranged, so :X has no effect: leave it out" },
};

static int mod_index(char c)
{
	for (size_t i = 0; i < ARRAY_SIZE(mod_rows); i++)
		if (mod_rows[i].letter == c)
			return (int)i;
	return -1;
}

int event_parse_mods(const char *text, struct event_span span, struct event_mods *ret,
		     struct diag *d)
{
	struct event_parser p = { .text = text, .diag = d };
	struct event_mods m = { .span = span };
	u32 seen = 0;
	for (u32 i = 0; i < span.len; i++) {
		struct event_span at = { .start = span.start + i, .len = 1 };
		char c = text[at.start];
		int row = mod_index(c);
		if (row < 0) {
			(void)event_parser_error(&p, at, "unknown modifier '%c'", c);
			diag_hint(d, "modifiers: u user, k kernel, h hypervisor, G guest, H host, "
				     "I not idle, p pp ppp P precise, "
				     "S read group, D pinned, W weak group, e exclusive");
			return -EINVAL;
		}
		if (mod_rows[row].refused)
			return event_parser_error(&p, at, "%s", mod_rows[row].refused);
		if (c == 'p') {
			if (++m.precise > 3)
				return event_parser_error(
					&p, at,
					"too many p modifiers: the highest precision is ppp");
			continue;
		}
		if (seen & 1u << row)
			return event_parser_error(&p, at, "duplicate modifier '%c'", c);
		seen |= 1u << row;
		m.bits |= mod_rows[row].bit;
	}
	*ret = m;
	return 0;
}

static bool all_mod_letters(const char *s, u32 len)
{
	for (u32 i = 0; i < len; i++)
		if (mod_index(s[i]) < 0)
			return false;
	return len > 0;
}

/* [":"] letters, up to the event's end. colon_needed: not after a slash. */
static int take_mods(struct event_parser *p, bool colon_needed, struct event_mods *ret)
{
	if (ends_event(peek(p)))
		return 0;
	if (peek(p) == ':') {
		p->at++;
		colon_needed = false;
	}
	struct event_span s = event_parser_until(p, "", false);
	if (colon_needed) {
		int err = event_parser_error(p, s, "unexpected text '%.*s' after the event",
					     (int)s.len, p->text + s.start);
		if (p->text[s.start] == '+')
			diag_hint(p->diag,
				  "triggers (+TRIGGER) are only supported by: sonde ftrace record");
		return err;
	}
	if (!s.len) {
		s.len = 1;
		return event_parser_error(p, s, "expected modifiers after the colon");
	}
	return event_parse_mods(p->text, s, ret, p->diag);
}

/* ---- terms and filters ---- */

static struct event_span take_value(struct event_parser *p, bool *open_quote)
{
	char q = peek(p);
	if (q == '\'' || q == '"') {
		u32 start = ++p->at;
		while (peek(p) && peek(p) != q)
			p->at++;
		struct event_span s = span_of(start, p->at);
		*open_quote = !peek(p);
		if (peek(p))
			p->at++;
		return s;
	}
	u32 start = p->at;
	while (peek(p) && peek(p) != ',' && peek(p) != '/')
		p->at++;
	u32 end = p->at;
	while (end > start && isspace((unsigned char)p->text[end - 1]))
		end--;
	return span_of(start, end);
}

static int take_term(struct event_parser *p, struct event_term *t)
{
	skip_blanks(p);
	if (peek(p) == '@') {
		t->driver = true;
		p->at++;
	}
	u32 start = p->at;
	while (is_name_char(peek(p)) || peek(p) == ':')
		p->at++;
	t->name = span_of(start, p->at);
	if (!t->name.len) {
		t->name.len = 1;
		return event_parser_error(p, t->name, "expected a term (NAME or NAME=VALUE)");
	}
	skip_blanks(p);
	if (peek(p) != '=')
		return 0;
	p->at++;
	skip_blanks(p);
	bool open_quote = false;
	t->value = take_value(p, &open_quote);
	t->has_value = true;
	if (open_quote)
		return event_parser_error(p, t->value, "missing closing quote");
	if (!t->value.len)
		return event_parser_error(p, t->name, "term '%.*s=' has no value", (int)t->name.len,
					  p->text + t->name.start);
	skip_blanks(p);
	return 0;
}

/* Terms up to `end` ('/' or NUL), which is taken. */
static int take_terms(struct event_parser *p, char end, struct event_term **ret, u32 *nr)
{
	VEC(struct event_term) v = { 0 };
	int r = 0;
	skip_blanks(p);
	while (r == 0 && peek(p) != end) {
		struct event_term *t = vec_push(&v);
		if (!t) {
			r = -ENOMEM;
			break;
		}
		r = take_term(p, t);
		if (r == 0 && peek(p) == ',') {
			p->at++;
			skip_blanks(p);
		} else if (r == 0 && peek(p) != end) {
			struct event_span at = { .start = p->at, .len = 1 };
			r = peek(p) ? event_parser_error(p, at, "unexpected '%c' in a term", peek(p))
				    : event_parser_error(p, at,
							 "missing closing slash after the terms");
		}
	}
	if (r == 0 && end)
		p->at++;
	if (r == 0) {
		struct event_term *terms = arena_array(p->arena, v.nr + 1, sizeof(*terms));
		if (!terms)
			r = -ENOMEM;
		else if (v.nr)
			memcpy(terms, v.at, v.nr * sizeof(*terms));
		*ret = terms;
		*nr = (u32)v.nr;
	}
	vec_free(&v);
	return r;
}

int event_parse_terms(struct arena *a, const char *text, struct event_term **ret, u32 *nr,
		      struct diag *d)
{
	struct event_parser p = { .arena = a, .text = text, .diag = d };
	return take_terms(&p, '\0', ret, nr);
}

int event_parser_filter(struct event_parser *p, struct event_spec *e)
{
	if (peek(p) != '/')
		return 0;
	u32 open = p->at++;
	char quote = 0;
	while (peek(p) && (quote || peek(p) != '/')) {
		if (quote && peek(p) == quote)
			quote = 0;
		else if (!quote && (peek(p) == '"' || peek(p) == '\''))
			quote = peek(p);
		p->at++;
	}
	if (!peek(p))
		return event_parser_error(p, span_of(open, p->at),
					  quote ? "missing closing quote in the filter"
						: "missing closing slash after the filter");
	e->filter = span_of(open + 1, p->at++);
	e->has_filter = true;
	return 0;
}

/* Words that are terms for every event; a tracepoint's "/.../" with only these is a term list and not a filter. */
bool event_is_static_term(const char *s, size_t len)
{
	static const char *const words[] = {
		"name",	       "period",     "freq",	   "time",
		"call-graph",  "stack-size", "max-stack",  "nr",
		"inherit",     "no-inherit", "overwrite",  "no-overwrite",
		"branch_type", "percore",    "aux-output", "aux-sample-size",
		"metric-id",
	};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == len && !strncmp(words[i], s, len))
			return true;
	return false;
}

static bool looks_like_terms(const struct event_parser *p)
{
	const char *s = p->text + p->at + 1;
	size_t word = 0;
	while (isalnum((unsigned char)s[word]) || s[word] == '-' || s[word] == '_')
		word++;
	if (s[0] == '/')
		return true;
	if (!event_is_static_term(s, word))
		return false;
	return (s[word] == '=' && s[word + 1] != '=') || s[word] == ',' || s[word] == '/';
}

/* ---- events ---- */

static bool has_upper(const char *s, u32 len)
{
	for (u32 i = 0; i < len; i++)
		if (isupper((unsigned char)s[i]))
			return true;
	return false;
}

/* SYSTEM ":" already taken. */
static int take_tracepoint(struct event_parser *p, struct event_spec *e)
{
	e->kind = EVENT_KIND_TRACEPOINT;
	e->event = take_name(p);
	if (!e->event.len) {
		struct event_span at = { .start = p->at, .len = 1 };
		return event_parser_error(p, at, "expected an event name after '%.*s:'",
					  (int)e->name.len, p->text + e->name.start);
	}
	if (peek(p) == '=' || (peek(p) == ':' && has_upper(p->text + e->name.start, e->name.len) &&
			       !all_mod_letters(p->text + p->at + 1,
						(u32)strcspn(p->text + p->at + 1, ",}/ \t\n")))) {
		/* EVENT:UMASK:c=1 */
		(void)event_parser_until(p, "", false);
		e->kind = EVENT_KIND_PFM;
		e->name = span_of(e->name.start, p->at);
		return 0;
	}
	int r = 0;
	if (peek(p) == '/' && looks_like_terms(p)) {
		p->at++;
		e->has_terms = true;
		r = take_terms(p, '/', &e->terms, &e->nr_terms);
	} else {
		r = event_parser_filter(p, e);
	}
	return r < 0 ? r : take_mods(p, !e->has_terms && !e->has_filter, &e->mods);
}

static bool is_raw(const char *s, u32 len, u64 *config)
{
	if (len < 2 || len > 17 || s[0] != 'r')
		return false;
	u64 v = 0;
	for (u32 i = 1; i < len; i++) {
		if (!isxdigit((unsigned char)s[i]))
			return false;
		v = v << 4 |
		    (u64)(isdigit((unsigned char)s[i]) ? s[i] - '0'
						       : tolower((unsigned char)s[i]) - 'a' + 10);
	}
	*config = v;
	return true;
}

/* ["/" terms "/"] [[":"] MODS] */
static int take_terms_and_mods(struct event_parser *p, struct event_spec *e)
{
	int r = 0;
	if (peek(p) == '/') {
		p->at++;
		e->has_terms = true;
		r = take_terms(p, '/', &e->terms, &e->nr_terms);
	}
	return r < 0 ? r : take_mods(p, !e->has_terms, &e->mods);
}

static int take_after_colon(struct event_parser *p, struct event_spec *e)
{
	const char *rest = p->text + p->at + 1;
	if (*rest == ':') { /* libpfm's PMU::EVENT */
		(void)event_parser_until(p, "", false);
		e->kind = EVENT_KIND_PFM;
		e->name = span_of(e->name.start, p->at);
		return 0;
	}
	size_t word = strcspn(rest, ",}/: \t\n");
	struct event_span second = { .start = p->at + 1, .len = (u32)word };
	if (event_parser_number(p, e->name, &e->type) && event_parser_number(p, second, &e->number)) {
		e->kind = EVENT_KIND_NUMERIC;
		p->at += 1 + (u32)word;
		return take_terms_and_mods(p, e);
	}
	if (e->kind == EVENT_KIND_RAW ||
	    (rest[word] != '/' && rest[word] != ':' && all_mod_letters(rest, (u32)word)))
		return take_mods(p, true, &e->mods);
	p->at++;
	return take_tracepoint(p, e);
}

/* ---- events of tracefs ---- */

/* { "+" TRIGGER }; one with a colon takes all that follows. */
static void take_triggers(struct event_parser *p, struct event_spec *e)
{
	bool colon = false;
	if (peek(p) != '+')
		return;
	u32 start = p->at + 1;
	for (p->at++; peek(p) && (colon || peek(p) != ','); p->at++)
		colon |= peek(p) == ':';
	e->triggers = span_of(start, p->at);
}

/* Behind the name: nothing of perf's. */
static int take_traced_end(struct event_parser *p, struct event_spec *e)
{
	take_triggers(p, e);
	if (ends_event(peek(p)))
		return 0;
	u32 start = p->at;
	(void)event_parser_until(p, "", false);
	struct event_span s = span_of(start, p->at);
	int err = event_parser_error(p, s, "unexpected text '%.*s' after the event", (int)s.len,
				     p->text + s.start);
	if (p->text[s.start] == ':')
		diag_hint(p->diag, "modifiers are only supported by sonde stat and record");
	return err;
}

/* WORD | [SYSTEM] ":" [EVENT], and a filter. */
static int take_words(struct event_parser *p, struct event_spec *e)
{
	e->kind = EVENT_KIND_NAME;
	if (peek(p) == ':') {
		e->kind = EVENT_KIND_TRACEPOINT;
		p->at++;
		e->event = take_name(p);
	}
	return event_parser_filter(p, e);
}

static int take_traced(struct event_parser *p, struct event_spec *e)
{
	const struct event_provider *row;
	e->off = peek(p) == '!';
	p->at += e->off;
	u32 start = p->at;
	e->name = take_name(p);
	struct event_span at = { .start = p->at, .len = 1 };
	if (!e->name.len && peek(p) != ':')
		return peek(p) && !ends_event(peek(p))
			       ? event_parser_error(p, at, "an event cannot start with '%c'",
						    peek(p))
			       : event_parser_error(p, at, "expected an event");
	int r;
	if (peek(p) == ':' && (row = event_provider_find(p->text + start, e->name.len)) &&
	    row->parse) {
		e->kind = (enum event_kind)(row - event_providers());
		p->at++;
		r = row->parse(p, e);
	} else {
		r = take_words(p, e);
	}
	if (r == 0)
		r = take_traced_end(p, e);
	e->span = span_of(start, p->at);
	return r;
}

static int take_event(struct event_parser *p, struct event_spec *e)
{
	u32 start = p->at;
	e->name = take_name(p);
	int r;
	const struct event_provider *row;
	if (!e->name.len) {
		struct event_span at = { .start = p->at, .len = 1 };
		return ends_event(peek(p))
			       ? event_parser_error(p, at, "expected an event")
			       : event_parser_error(p, at, "an event cannot start with '%c'",
						    peek(p));
	}
	if (peek(p) == ':' && (row = event_provider_find(p->text + e->name.start, e->name.len)) &&
	    row->parse) {
		e->kind = (enum event_kind)(row - event_providers());
		p->at++;
		r = row->parse(p, e);
		if (r == 0)
			r = take_mods(p, true, &e->mods);
	} else {
		e->kind = is_raw(p->text + start, e->name.len, &e->number) ? EVENT_KIND_RAW
									   : EVENT_KIND_NAME;
		r = peek(p) == ':' ? take_after_colon(p, e) : take_terms_and_mods(p, e);
	}
	e->span = span_of(start, p->at);
	return r;
}

/* ---- lists and groups ---- */

struct lists {
	VEC(struct event_spec) items;
	VEC(struct event_group_spec) groups;
};

static int push_event(struct event_parser *p, struct lists *l, s32 group)
{
	struct event_spec e = { .group = group };
	int r = p->traced ? take_traced(p, &e) : take_event(p, &e);
	if (r < 0)
		return r;
	struct event_spec *to = l->items.nr < ITEMS_MAX ? vec_push(&l->items) : NULL;
	if (!to)
		return l->items.nr < ITEMS_MAX
			       ? -ENOMEM
			       : diag_error(p->diag, -E2BIG, "more than %d events", ITEMS_MAX);
	*to = e;
	return 0;
}

static int take_group(struct event_parser *p, struct lists *l, struct event_span name)
{
	u32 open = p->at++;
	struct event_group_spec g = { .name = name, .first = (u32)l->items.nr };
	for (;;) {
		skip_blanks(p);
		struct event_span at = { .start = p->at, .len = 1 };
		if (peek(p) == '{')
			return event_parser_error(p, at, "groups cannot be nested");
		if (!peek(p))
			break;
		int r = push_event(p, l, (s32)l->groups.nr);
		if (r < 0)
			return r;
		skip_blanks(p);
		if (peek(p) == '}')
			break;
		at.start = p->at;
		if (peek(p) && peek(p) != ',')
			return event_parser_error(p, at, "expected a comma or closing brace");
		if (peek(p))
			p->at++;
	}
	if (!peek(p))
		return event_parser_error(p, span_of(open, open + 1), "missing closing brace");
	p->at++;
	int r = take_mods(p, true, &g.mods);
	if (r < 0)
		return r;
	u32 start = name.len ? name.start : open;
	g.span = span_of(start, p->at);
	g.nr = (u32)l->items.nr - g.first;
	struct event_group_spec *to = vec_push(&l->groups);
	if (!to)
		return -ENOMEM;
	*to = g;
	return 0;
}

static int take_item(struct event_parser *p, struct lists *l)
{
	struct event_span here = { .start = p->at, .len = 1 };
	if (p->traced)
		return peek(p) == '{'
			       ? event_parser_error(
					 p, here,
					 "groups are only supported by sonde stat and record")
			       : push_event(p, l, -1);
	if (peek(p) == '{')
		return take_group(p, l, (struct event_span){ 0 });
	u32 start = p->at;
	struct event_span name = take_name(p);
	if (name.len && peek(p) == '{')
		return take_group(p, l, name);
	p->at = start;
	return push_event(p, l, -1);
}

static int take_list(struct event_parser *p, struct lists *l)
{
	for (;;) {
		skip_blanks(p);
		int r = take_item(p, l);
		if (r < 0)
			return r;
		skip_blanks(p);
		if (!peek(p))
			return 0;
		if (peek(p) != ',') {
			struct event_span at = { .start = p->at, .len = 1 };
			return event_parser_error(p, at, "expected a comma between events");
		}
		p->at++;
	}
}

static int to_arena(struct arena *a, const struct lists *l, struct event_specs *ret)
{
	ret->items = arena_array(a, l->items.nr + 1, sizeof(*ret->items));
	ret->groups = arena_array(a, l->groups.nr + 1, sizeof(*ret->groups));
	if (!ret->items || !ret->groups)
		return -ENOMEM;
	if (l->items.nr)
		memcpy(ret->items, l->items.at, l->items.nr * sizeof(*ret->items));
	if (l->groups.nr)
		memcpy(ret->groups, l->groups.at, l->groups.nr * sizeof(*ret->groups));
	ret->nr_items = (u32)l->items.nr;
	ret->nr_groups = (u32)l->groups.nr;
	return 0;
}

int event_parse(struct arena *a, const char *text, u32 use, struct event_specs *ret, struct diag *d)
{
	size_t len = strlen(text);
	if (len > TEXT_MAX)
		return diag_error(d, -E2BIG, "the list of events is longer than a megabyte");
	struct event_specs specs = { .text = arena_strndup(a, text, len) };
	if (!specs.text)
		return -ENOMEM;
	struct event_parser p = {
		.arena = a, .text = specs.text, .traced = use & EVENT_USE_TRACEFS, .diag = d
	};
	struct lists l = { 0 };
	int r = take_list(&p, &l);
	if (r == 0)
		r = to_arena(a, &l, &specs);
	vec_free(&l.items);
	vec_free(&l.groups);
	if (r == 0)
		*ret = specs;
	return r;
}
