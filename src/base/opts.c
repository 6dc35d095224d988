/*
 * The parser walks argv once. A word in hand is "--" (the end), "--long", a group of short options, or a plain word.
 * Each option found becomes a match (row, where to store, negated), its value is fetched, and the row's type says how to
 * store it. With mixed words, what an option consumed is rotated in front of the words met so far.
 */
#include "base/opts.h"
#include "base/num.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct match {
	const struct opt *row;
	void *into;
	bool negated;
	char label[STR_DISTANCE_MAX + 8]; /* as messages call it: "-F", "--no-inherit" */
};

struct opts_parse {
	const struct opt_set *sets;
	size_t nr_sets;
	int argc;
	char **argv;
	int at; /* of the word in hand */
	struct diag *d;
};

bool opt_takes_value(const struct opt *row)
{
	switch (row->type) {
	case OPT_TYPE_INT:
	case OPT_TYPE_UINT:
	case OPT_TYPE_SIZE:
	case OPT_TYPE_STR:
	case OPT_TYPE_LIST:
	case OPT_TYPE_ENUM: return true;
	case OPT_TYPE_CALL: return row->arg != NULL;
	default: return false;
	}
}

#define for_each_row(p, set, row)                                                                  \
	for (const struct opt_set *set = (p)->sets; set < (p)->sets + (p)->nr_sets; set++)         \
		for (const struct opt *row = set->rows; row && row->type != OPT_TYPE_END; row++)

/* How well a row answers to a long name, best first. */
enum fit { FIT_EXACT, FIT_EXACT_NEGATED, FIT_PREFIX, FIT_PREFIX_NEGATED, FIT_NONE };

static bool name_fits(const char *name, const char *word, size_t len, bool whole)
{
	return !strncmp(name, word, len) && (!whole || !name[len]);
}

/* "no-inherit" undoes a row "inherit", and "inherit" undoes a row "no-inherit". */
static bool negation_fits(const char *name, const char *word, size_t len, bool whole)
{
	if (str_starts(name, "no-"))
		return name_fits(name + 3, word, len, whole);
	return len > 3 && !strncmp(word, "no-", 3) && name_fits(name, word + 3, len - 3, whole);
}

static enum fit row_fit(const struct opt *row, const char *word, size_t len)
{
	if (!row->long_name)
		return FIT_NONE;
	if (name_fits(row->long_name, word, len, true))
		return FIT_EXACT;
	if (negation_fits(row->long_name, word, len, true))
		return FIT_EXACT_NEGATED;
	if (name_fits(row->long_name, word, len, false))
		return FIT_PREFIX;
	if (negation_fits(row->long_name, word, len, false))
		return FIT_PREFIX_NEGATED;
	return FIT_NONE;
}

static bool fit_is_negated(enum fit fit)
{
	return fit == FIT_EXACT_NEGATED || fit == FIT_PREFIX_NEGATED;
}

static void label_long(struct match *m)
{
	const char *name = m->row->long_name;
	bool undo_no = m->negated && str_starts(name, "no-");
	(void)snprintf(m->label, sizeof(m->label), "--%s%s", m->negated && !undo_no ? "no-" : "",
		       undo_no ? name + 3 : name);
}

/* The names that an ambiguous prefix could stand for, in one hint. */
static void hint_candidates(struct opts_parse *p, const struct opt *rows, const char *word,
			    size_t len, enum fit fit)
{
	struct strbuf s;
	strbuf_init(&s);
	for (const struct opt *row = rows; row->type != OPT_TYPE_END; row++) {
		if (row_fit(row, word, len) != fit)
			continue;
		struct match m = { .row = row, .negated = fit_is_negated(fit) };
		label_long(&m);
		strbuf_printf(&s, "%s%s", s.len ? ", " : "", m.label);
	}
	diag_hint(p->d, "it could be %s", strbuf_cstr(&s));
	strbuf_done(&s);
}

static int unknown_long(struct opts_parse *p, const char *word, size_t len)
{
	char name[STR_DISTANCE_MAX + 1] = "";
	const char *best = NULL;
	unsigned least = STR_FAR;
	if (len < sizeof(name))
		memcpy(name, word, len);
	for_each_row (p, set, row) {
		if (!row->long_name || row->hidden || row->refused)
			continue;
		unsigned distance = str_distance(name, row->long_name);
		if (distance < least) {
			least = distance;
			best = row->long_name;
		}
	}
	diag_error(p->d, -EINVAL, "unknown option '--%.*s'", (int)len, word);
	if (best && str_is_close(name, least))
		diag_hint(p->d, "did you mean '--%s'?", best);
	return -EINVAL;
}

static int find_long(struct opts_parse *p, const char *word, size_t len, struct match *ret)
{
	enum fit best = FIT_NONE;
	bool ambiguous = false;
	const struct opt_set *from = NULL;
	struct match m = { 0 };
	for_each_row (p, set, row) {
		enum fit fit = row_fit(row, word, len);
		if (fit > best || fit == FIT_NONE)
			continue;
		if (fit < best) {
			m.row = row;
			from = set;
			ambiguous = false;
		} else if (fit >= FIT_PREFIX && set == from) {
			ambiguous = true;
		}
		best = fit;
	}
	if (best == FIT_NONE || !len)
		return unknown_long(p, word, len);
	if (ambiguous) {
		diag_error(p->d, -EINVAL, "option '--%.*s' is ambiguous", (int)len, word);
		hint_candidates(p, from->rows, word, len, best);
		return -EINVAL;
	}
	m.into = from->into;
	m.negated = fit_is_negated(best);
	label_long(&m);
	*ret = m;
	return 0;
}

static bool find_short(const struct opts_parse *p, char letter, struct match *ret)
{
	for_each_row (p, set, row) {
		if (!row->short_name || row->short_name != letter)
			continue;
		*ret = (struct match){ .row = row, .into = set->into, .label = { '-', letter } };
		return true;
	}
	return false;
}

/* at: of the letter in its group, argv[p->at]. */
static int unknown_short(struct opts_parse *p, size_t at)
{
	const char *group = p->argv[p->at];
	diag_error(p->d, -EINVAL, "unknown option '-%c'", group[at]);
	if (group[2])
		diag_span(p->d, group, at, 1);
	for_each_row (p, set, row)
		if (row->long_name && !strcmp(row->long_name, group + 1))
			diag_hint(p->d, "did you mean '--%s'?", row->long_name);
	return -EINVAL;
}

static int bad_number(const struct match *m, const char *value, const char *kind, int err,
		      struct diag *d)
{
	if (err == -ERANGE)
		return diag_error(d, -EINVAL, "option '%s': '%s' is too large", m->label, value);
	return diag_error(d, -EINVAL, "option '%s' wants %s, not '%s'", m->label, kind, value);
}

static int base_of(const char *value)
{
	const char *digits = *value == '-' || *value == '+' ? value + 1 : value;
	return str_starts(digits, "0x") || str_starts(digits, "0X") ? 16 : 10;
}

static int store_number(const struct match *m, void *to, const char *value, struct diag *d)
{
	int err;
	u64 u = 0;
	s64 s = 0;
	switch (m->row->type) {
	case OPT_TYPE_INT:
		err = value ? num_parse_s64(value, base_of(value), &s) : 0;
		if (err)
			return bad_number(m, value, "a number", err, d);
		*(s64 *)to = s;
		return 0;
	case OPT_TYPE_UINT:
		err = value ? num_parse_u64(value, base_of(value), &u) : 0;
		if (err)
			return bad_number(m, value, "a number", err, d);
		break;
	default:
		err = value ? num_parse_size(value, &u) : 0;
		if (err)
			return bad_number(m, value, "a size like 512K or 4M", err, d);
	}
	*(u64 *)to = u;
	return 0;
}

static int bad_choice(const struct match *m, size_t nr, const char *value, struct diag *d)
{
	const char *const *choices = m->row->choices;
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < nr; i++)
		strbuf_printf(&s, "%s%s", i == 0 ? "" : i + 1 < nr ? ", " : " or ", choices[i]);
	diag_error(d, -EINVAL, "option '%s' wants %s, not '%s'", m->label, strbuf_cstr(&s), value);
	strbuf_done(&s);
	const char *close = str_closest(value, choices, nr);
	if (close)
		diag_hint(d, "did you mean '%s'?", close);
	return -EINVAL;
}

static int store_choice(const struct match *m, int *to, const char *value, struct diag *d)
{
	size_t nr = 0;
	while (m->row->choices[nr] && value && strcmp(m->row->choices[nr], value))
		nr++;
	if (value && !m->row->choices[nr])
		return bad_choice(m, nr, value, d);
	*to = (int)nr;
	return 0;
}

static int store_item(struct opt_list *to, const char *value)
{
	if (!value) {
		to->items.nr = 0;
		return 0;
	}
	const char **item = vec_push(&to->items);
	if (!item)
		return -ENOMEM;
	*item = value;
	return 0;
}

/* value NULL: the option takes none, has none (.optional), or is negated, which puts back zero. */
static int store(const struct match *m, const char *value, struct diag *d)
{
	const struct opt *row = m->row;
	void *to = (char *)m->into + row->offset;
	if (row->refused) {
		diag_error(d, -EINVAL, "option '%s' is not supported", m->label);
		diag_hint(d, "%s", row->help);
		return -EINVAL;
	}
	if (row->seen)
		*(bool *)((char *)m->into + row->seen) = !m->negated;
	if (row->type == OPT_TYPE_CALL)
		return row->call(m->into, value, m->negated, d);
	if (row->optional && !value && !m->negated)
		return 0;
	switch (row->type) {
	case OPT_TYPE_FLAG: *(bool *)to = !m->negated; return 0;
	case OPT_TYPE_COUNT: *(unsigned *)to = m->negated ? 0 : *(unsigned *)to + 1; return 0;
	case OPT_TYPE_STR: *(const char **)to = value; return 0;
	case OPT_TYPE_LIST: return store_item(to, value);
	case OPT_TYPE_ENUM: return store_choice(m, to, value, d);
	default: return store_number(m, to, value, d);
	}
}

/* attached: what follows the option in the same word, or NULL. Steps over the next word when that is the value. */
static int apply(struct opts_parse *p, const struct match *m, const char *attached)
{
	const struct opt *row = m->row;
	if (attached && !m->negated && row->type == OPT_TYPE_COUNT && row->call)
		return row->call(m->into, attached, false, p->d);
	if (m->negated || !opt_takes_value(row)) {
		if (attached && !row->refused)
			return diag_error(p->d, -EINVAL, "option '%s' takes no value", m->label);
		return store(m, NULL, p->d);
	}
	if (attached || row->refused)
		return store(m, attached, p->d);
	bool next = p->at + 1 < p->argc && p->argv[p->at + 1][0] != '-';
	if (row->optional && !(row->greedy && next))
		return store(m, row->fallback, p->d);
	if (p->at + 1 >= p->argc)
		return diag_error(p->d, -EINVAL, "option '%s' needs a value: %s", m->label,
				  row->arg ? row->arg : "VALUE");
	return store(m, p->argv[++p->at], p->d);
}

static int parse_long(struct opts_parse *p)
{
	const char *word = p->argv[p->at] + 2;
	size_t len = strcspn(word, "=");
	struct match m;
	if (!strcmp(word, "help")) {
		for_each_row (p, set, row)
			if (row_fit(row, "help", 4) == FIT_EXACT)
				return apply(p, &(struct match){ row, set->into, false, "--help" },
					     NULL);
		return 1;
	}
	int err = find_long(p, word, len, &m);
	return err ? err : apply(p, &m, word[len] ? word + len + 1 : NULL);
}

static int parse_shorts(struct opts_parse *p)
{
	const char *group = p->argv[p->at];
	for (size_t at = 1; group[at]; at++) {
		struct match m;
		if (!find_short(p, group[at], &m))
			return group[at] == 'h' ? 1 : unknown_short(p, at);
		bool rest = opt_takes_value(m.row) && group[at + 1];
		int err = apply(p, &m, rest ? group + at + 1 : NULL);
		if (err || rest)
			return err;
	}
	return 0;
}

/* Moves argv[from..to) in front of the words that start at first; returns the words' new start. */
static int rotate(char **argv, int first, int from, int to)
{
	for (int i = from; i < to; i++, first++) {
		char *word = argv[i];
		memmove(argv + first + 1, argv + first, (size_t)(i - first) * sizeof(*argv));
		argv[first] = word;
	}
	return first;
}

int opts_parse_sets(const struct opt_set *sets, size_t nr_sets, bool mixed, int argc, char **argv,
		    int *first, struct diag *d)
{
	struct opts_parse p = { sets, nr_sets, argc, argv, 1, d };
	int words = 1;
	for (; p.at < argc; p.at++) {
		char *word = argv[p.at];
		/* "-:GROUP/EVENT" is kernel syntax for removing an event, not an option. */
		if (word[0] != '-' || !word[1] || word[1] == ':') {
			if (!mixed)
				break;
			continue;
		}
		int from = p.at;
		bool end = !strcmp(word, "--");
		int ret = end ? 0 : word[1] == '-' ? parse_long(&p) : parse_shorts(&p);
		if (ret)
			return ret;
		words = rotate(argv, words, from, p.at + 1);
		if (end)
			break;
	}
	*first = words;
	return 0;
}

int opts_parse(const struct opt *rows, bool mixed, void *opts, int argc, char **argv, int *first,
	       struct diag *d)
{
	struct opt_set set = { rows, opts };
	return opts_parse_sets(&set, 1, mixed, argc, argv, first, d);
}

void opts_free(const struct opt *rows, void *opts)
{
	for (const struct opt *row = rows; row && row->type != OPT_TYPE_END; row++)
		if (row->type == OPT_TYPE_LIST)
			vec_free(&((struct opt_list *)((char *)opts + row->offset))->items);
}
