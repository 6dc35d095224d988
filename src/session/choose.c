#include "session/choose.h"
#include "base/str.h"
#include "wire/perf_record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void choose_init(struct choose *c)
{
	*c = (struct choose){ 0 };
	arena_init(&c->arena);
}

void choose_done(struct choose *c)
{
	vec_free(&c->ranges);
	vec_free(&c->pids.at);
	vec_free(&c->tids.at);
	vec_free(&c->cpus.at);
	vec_free(&c->comms.at);
	arena_done(&c->arena);
}

/* "1,4-6"; ranges: whether those may be. to == NULL: only looks. */
static int parse_numbers(const char *text, bool ranges, struct number_list *to)
{
	for (const char *at = text; at && *at;) {
		char *end;
		long first = strtol(at, &end, 10), last = first;
		if (end == at)
			return -EINVAL;
		if (ranges && *end == '-') {
			at = end + 1;
			last = strtol(at, &end, 10);
		}
		if ((*end && *end != ',') || end == at || last < first || last - first > 65536)
			return -EINVAL;
		for (long v = first; v <= last && to; v++) {
			s32 *n = vec_push(&to->at);
			if (!n)
				return -ENOMEM;
			*n = (s32)v;
		}
		at = end + (*end == ',');
	}
	return 0;
}

static int add_word(struct choose *c, const char *word, size_t len, struct word_list *to)
{
	const char **kept = vec_push(&to->at);
	return kept && (*kept = arena_strndup(&c->arena, word, len)) ? 0 : -ENOMEM;
}

/* A file of names, one a line. */
static int words_of_file(struct choose *c, const char *path, struct word_list *to)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	int err = 0;
	while (!err && (len = getline(&line, &cap, f)) > 0) {
		while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			len--;
		err = len ? add_word(c, line, (size_t)len, to) : 0;
	}
	free(line);
	fclose(f);
	return err;
}

int choose_words(struct choose *c, const char *text, struct word_list *to)
{
	int err = 0;
	for (const char *at = text; at && *at && !err;) {
		size_t len = strcspn(at, ",");
		if (!strncmp(at, "file://", 7)) {
			char *path = arena_strndup(&c->arena, at + 7, len - 7);
			err = path ? words_of_file(c, path, to) : -ENOMEM;
		} else if (len) {
			err = add_word(c, at, len, to);
		}
		at += len + (at[len] == ',');
	}
	return err;
}

/* ---- times ---- */

/* "12.345678": seconds to nanoseconds. *end: after it. */
static int parse_seconds(const char *text, const char **end, u64 *ret)
{
	u64 ns = 0, unit = 1000000000;
	const char *at = text;
	for (; *at >= '0' && *at <= '9'; at++)
		ns = ns * 10 + (u64)(*at - '0');
	ns *= unit;
	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9'; at++)
			ns += (u64)(*at - '0') * (unit /= 10);
	*end = at;
	*ret = ns;
	return at == text ? -EINVAL : 0;
}

/* "FROM,UNTIL": either may be missing, but not both. *end: after it. */
static int parse_range(const char *text, const char **end, struct time_range *r)
{
	const char *at = text;
	if (*at != ',' && parse_seconds(at, &at, &r->from_ns))
		return -EINVAL;
	if (*at == ',') {
		at++;
		if (*at && *at != ' ' && parse_seconds(at, &at, &r->until_ns))
			return -EINVAL;
	}
	*end = at;
	return (*at && *at != ' ') || at - text < 2 ? -EINVAL : 0;
}

/* "10%/2" (the second tenth), "20%-30%", "10%" (the first tenth). Shares of the whole. */
static int parse_slice(const char *text, const char **end, double *from, double *until)
{
	char *at;
	double share = strtod(text, &at) / 100;
	if (at == text || *at != '%')
		return -EINVAL;
	at++;
	*from = share;
	if (*at == '/') {
		const char *number = at + 1;
		long n = strtol(number, &at, 10);
		if (at == number || n < 1 || n > 1000000)
			return -EINVAL;
		*from = share * (double)(n - 1);
		*until = share * (double)n;
	} else if (*at == '-') {
		const char *second = at + 1;
		*until = strtod(second, &at) / 100;
		if (at == second || *at != '%')
			return -EINVAL;
		at++;
	} else {
		*from = 0;
		*until = share;
	}
	*end = at;
	return *from < 0 || *until > 1 || *from > *until || (*at && *at != ',' && *at != ' ')
		       ? -EINVAL
		       : 0;
}

/* Where a share of the whole ends. The whole may be all that a word holds, which is more than a double counts exactly. */
static u64 time_at(const struct time_range *w, double share)
{
	u64 whole = u64_less(w->until_ns, w->from_ns);
	double ns = round(share * (double)whole);
	return w->from_ns + (ns < (double)whole ? (u64)ns : whole);
}

static int add_range(struct choose *c, struct time_range r)
{
	struct time_range *kept = vec_push(&c->ranges);
	if (!kept)
		return -ENOMEM;
	*kept = r;
	return 0;
}

/* c == NULL: only looks. */
static int parse_times(struct choose *c, const char *text, const struct time_range *w)
{
	bool parts = strchr(text, '%') != NULL;
	for (const char *at = text; *at;) {
		struct time_range r = { 0 };
		double from, until;
		int err = parts ? parse_slice(at, &at, &from, &until) : parse_range(at, &at, &r);
		if (err)
			return err;
		if (c && parts) {
			r.from_ns = time_at(w, from);
			r.until_ns = time_at(w, until);
		}
		err = c ? add_range(c, r) : 0;
		if (err)
			return err;
		at += *at == ',' || *at == ' ';
	}
	/* Where one range ends and the next begins, a sample belongs to the next. */
	for (size_t i = 0; c && i + 1 < c->ranges.nr; i++)
		if (c->ranges.at[i].until_ns)
			c->ranges.at[i].until_ns--;
	return 0;
}

int choose_whole(const struct source *src, struct time_range *ret)
{
	return source_span(src, &ret->from_ns, &ret->until_ns);
}

/* ---- all ---- */

bool choose_times_valid(const char *text)
{
	return !parse_times(NULL, text, NULL);
}

bool choose_numbers_valid(const char *text, bool ranges)
{
	return !parse_numbers(text, ranges, NULL);
}

enum choose_unsaid choose_unsaid(const struct choose_opts *o, const struct source *src)
{
	u64 types = 0;
	vec_for_each (&src->catalog.events, e)
		types |= e->sample_type;
	if (!src->catalog.events.nr || source_facts(src).kind != SOURCE_PERF)
		return CHOOSE_ALL_SAID;
	return o->cpus && !(types & PERF_SAMPLE_CPU)	? CHOOSE_CPU_UNSAID
	       : o->time && !(types & PERF_SAMPLE_TIME) ? CHOOSE_TIME_UNSAID
							: CHOOSE_ALL_SAID;
}

int choose_read(struct choose *c, const struct choose_opts *o, const struct source *src)
{
	struct time_range whole = { 0 };
	int err = o->time && strchr(o->time, '%') ? choose_whole(src, &whole) : 0;
	if (!err && o->time)
		err = parse_times(c, o->time, &whole);
	if (!err)
		err = parse_numbers(o->cpus, true, &c->cpus);
	if (!err)
		err = parse_numbers(o->pids, false, &c->pids);
	if (!err)
		err = parse_numbers(o->tids, false, &c->tids);
	if (!err)
		err = choose_words(c, o->comms, &c->comms);
	if (err)
		return err;
	c->when = (struct sample_choice){ .ranges = c->ranges.at,
					  .nr_ranges = c->ranges.nr,
					  .cpus = c->cpus.at.at,
					  .nr_cpus = c->cpus.at.nr };
	c->who = (struct sample_choice){ .pids = c->pids.at.at,
					 .nr_pids = c->pids.at.nr,
					 .tids = c->tids.at.at,
					 .nr_tids = c->tids.at.nr,
					 .comms = c->comms.at.at,
					 .nr_comms = c->comms.at.nr,
					 .no_host = o->no_host,
					 .no_guest = o->no_guest };
	return 0;
}

/* ---- from one event to another ---- */

/* The event of this name + 1; 0 where none is asked for or there is none. */
static u32 event_named(const struct catalog *c, const char *name)
{
	for (u32 i = 0; i < c->events.nr && name; i++)
		if (!strcmp(c->events.at[i].name, name))
			return i + 1;
	return 0;
}

int choose_gate_events(const struct gate_opts *o, const struct source *src, struct sample_gate *ret,
		       const char **missing)
{
	const struct catalog *c = &src->catalog;
	struct sample_gate g = { .on = event_named(c, o->on),
				 .off = event_named(c, o->off),
				 .shows = o->shows,
				 .shut = o->on != NULL };
	*missing = o->on && !g.on ? o->on : o->off && !g.off ? o->off : NULL;
	if (*missing)
		return -ENOENT;
	*ret = g;
	return 0;
}
