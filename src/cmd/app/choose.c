#include "cmd/app/choose.h"
#include "base/bytes.h"
#include "base/str.h"
#include "stream/perf_walk.h"
#include "stream/replay_perf.h"

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

/* "12.345678": seconds to nanoseconds. *end: behind it. */
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

/* "FROM,UNTIL": either may be missing, but not both. *end: behind it. */
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

struct whole {
	u64 first, last;
};

/* Where a share of the whole ends. The whole may be all that a word holds, which is more than a double counts exactly. */
static u64 time_at(const struct whole *w, double share)
{
	u64 whole = u64_less(w->last, w->first);
	double ns = round(share * (double)whole);
	return w->first + (ns < (double)whole ? (u64)ns : whole);
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
static int parse_times(struct choose *c, const char *text, const struct whole *w)
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

struct time_walk {
	const struct perfdata *file;
	struct whole whole;
};

static int take_time(void *ctx, const u8 *rec, const struct perf_event_header *h, u64 place)
{
	struct time_walk *t = ctx;
	if (h->type != PERF_RECORD_SAMPLE)
		return 0;
	u64 time = perf_walk_time(t->file, rec, h);
	if (!time)
		return 0;
	if (!t->whole.first || time < t->whole.first)
		t->whole.first = time;
	t->whole.last = max(t->whole.last, time);
	return 0;
}

/* First and last sample: as the recorder noted them, else by looking. */
static int find_whole(const struct source *src, struct whole *ret)
{
	const struct perfdata *file = replay_perf_file(src);
	if (!file) {
		*ret = (struct whole){ src->catalog.first_time_ns, src->catalog.last_time_ns };
		return 0;
	}
	struct perfdata_feature f = file->features[FEAT_SAMPLE_TIME];
	if (f.at && f.size >= 16) {
		struct bytes b = bytes_of(f.at, f.size, file->swap);
		ret->first = bytes_u64(&b);
		ret->last = bytes_u64(&b);
		if (ret->last > ret->first)
			return 0;
	}
	struct time_walk t = { .file = file };
	int err = perf_walk(file, take_time, &t);
	*ret = t.whole;
	return err;
}

/* ---- all ---- */

int choose_check(const struct choose_opts *o, struct app *app)
{
	if (o->time && parse_times(NULL, o->time, NULL)) {
		(void)diag_error(&app->diag, -EINVAL, "--time: '%s' is no range of times", o->time);
		diag_hint(&app->diag, "12.5,13 or ,13 or 12.5, in seconds; 10%%/2 is the second "
				      "tenth, 20%%-30%% the third");
		return app_usage_said(app);
	}
	if (parse_numbers(o->cpus, true, NULL))
		return app_usage(app, "--cpu: '%s' is not a list of CPUs", o->cpus);
	if (parse_numbers(o->pids, false, NULL))
		return app_usage(app, "--pid: '%s' is not a list of processes", o->pids);
	if (parse_numbers(o->tids, false, NULL))
		return app_usage(app, "--tid: '%s' is not a list of threads", o->tids);
	return 0;
}

/* What samples do not say cannot choose them: all of them would be gone. */
static int check_carried(const struct choose_opts *o, const struct source *src, struct diag *d)
{
	u64 types = 0;
	vec_for_each (&src->catalog.events, e)
		types |= e->sample_type;
	const char *what = o->cpus && !(types & PERF_SAMPLE_CPU)    ? "--cpu"
			   : o->time && !(types & PERF_SAMPLE_TIME) ? "--time"
								    : NULL;
	if (!what || !src->catalog.events.nr || !replay_perf_file(src))
		return 0;
	(void)diag_error(d, -ENODATA, "%s: the samples do not say %s", what,
			 what[2] == 'c' ? "on which CPU they were taken" : "when they were taken");
	diag_hint(d, "sonde record notes it, and perf record %s",
		  what[2] == 'c' ? "--sample-cpu" : "-T");
	return -ENODATA;
}

int choose_parse(struct choose *c, const struct choose_opts *o, const struct source *src,
		 struct app *app)
{
	struct whole whole = { 0 };
	int err = check_carried(o, src, &app->diag);
	if (err)
		return app_fail(app, err);
	err = o->time && strchr(o->time, '%') ? find_whole(src, &whole) : 0;
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
		return app_fail(app, err);
	c->when = (struct sample_choice){ .ranges = c->ranges.at,
					  .nr_ranges = c->ranges.nr,
					  .cpus = c->cpus.at.at,
					  .nr_cpus = c->cpus.at.nr };
	c->who = (struct sample_choice){ .pids = c->pids.at.at,
					 .nr_pids = c->pids.at.nr,
					 .tids = c->tids.at.at,
					 .nr_tids = c->tids.at.nr,
					 .comms = c->comms.at.at,
					 .nr_comms = c->comms.at.nr };
	return 0;
}

/* ---- nothing is left ---- */

/* The names of tasks, each once, as many as one reads. */
static void hint_comms(const struct catalog *c, const char *asked, struct diag *d)
{
	enum { FEW = 12 };
	const char *names[FEW];
	size_t nr = 0;
	bool more = false;
	/* Those of tasks, in the order in which the recording told them: a table has no order. */
	_cleanup_free_ bool *of_task = calloc(c->strings.nr + 1, sizeof(*of_task));
	for (u32 i = 0; of_task && c->last_comm.slots && i <= c->last_comm.mask; i++)
		if (c->last_comm.slots[i].value < c->strings.nr)
			of_task[c->last_comm.slots[i].value] = true;
	for (u32 id = 0; of_task && id < c->strings.nr; id++) {
		const char *name = of_task[id] ? strtab_str(&c->strings, id) : "";
		if (*name && nr < FEW)
			names[nr++] = name;
		else
			more |= *name != 0;
	}
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < nr; i++)
		strbuf_printf(&s, "%s %s", i ? "," : "", names[i]);
	if (nr)
		diag_hint(d, "--comms %s: there are%s%s", asked, strbuf_cstr(&s),
			  more ? " and others (report --sort comm)" : "");
	strbuf_done(&s);
}

static void hint_times(const struct source *src, const char *asked, struct diag *d)
{
	struct whole w = { 0 };
	if (find_whole(src, &w) || !w.last)
		return;
	diag_hint(d, "--time %s: samples are from %.6f to %.6f", asked, (double)w.first / 1e9,
		  (double)w.last / 1e9);
}

void choose_say_none(const struct choose_opts *o, const char *only, const struct source *src,
		     struct diag *d)
{
	if (!o->time && !o->comms && !o->pids && !o->tids && !o->cpus && !only)
		return;
	diag_warn(d, "no sample fits what was asked for");
	if (o->time)
		hint_times(src, o->time, d);
	if (o->comms)
		hint_comms(&src->catalog, o->comms, d);
	if (o->pids || o->tids)
		diag_hint(d, "report --sort pid shows which processes and threads there are");
	if (o->cpus)
		diag_hint(d, "report --sort cpu shows which CPUs there are");
	if (only)
		diag_hint(d, "%s: the same without it shows what there is", only);
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

/* The names there are: few enough to say them all, else where to look. */
static void hint_events(const struct catalog *c, const char *name, struct diag *d)
{
	enum { FEW = 12 };
	struct strbuf s;
	strbuf_init(&s);
	const char *names[FEW];
	size_t nr = 0;
	for (size_t i = 0; i < c->events.nr && nr < FEW; i++) {
		names[nr++] = c->events.at[i].name;
		strbuf_printf(&s, "%s %s", i ? "," : "", c->events.at[i].name);
	}
	const char *near = str_closest(name, names, nr);
	if (near)
		diag_hint(d, "did you mean '%s'?", near);
	else if (c->events.nr <= FEW)
		diag_hint(d, "there are:%s", strbuf_cstr(&s));
	else
		diag_hint(d, "sonde evlist lists them");
	strbuf_done(&s);
}

int choose_gate(const struct gate_opts *o, const struct source *src, struct sample_gate *ret,
		struct app *app)
{
	const struct catalog *c = &src->catalog;
	struct sample_gate g = { .on = event_named(c, o->on),
				 .off = event_named(c, o->off),
				 .shows = o->shows,
				 .shut = o->on != NULL };
	const char *missing = o->on && !g.on ? o->on : o->off && !g.off ? o->off : NULL;
	if (missing) {
		(void)diag_error(&app->diag, -EINVAL, "--switch-%s: the recording has no event '%s'",
				 missing == o->on ? "on" : "off", missing);
		hint_events(c, missing, &app->diag);
		return app_usage_said(app);
	}
	*ret = g;
	return 0;
}
