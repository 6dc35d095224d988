#include "cmd/ftrace/latency.h"

#include "base/json.h"
#include "stream/replay_ftrace.h"
#include "stream/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_WIDTH = 46 };

static void ftrace_latency_add(struct ftrace_latency *l, u64 ns)
{
	u64 v = l->in_ns ? ns : ns / 1000;
	unsigned bucket = v ? 64 - (unsigned)__builtin_clzll(v) : 0;
	l->buckets[min(bucket, (unsigned)LATENCY_BUCKETS - 1)]++;
	l->max_ns = max(l->max_ns, ns);
	l->min_ns = l->nr ? min(l->min_ns, ns) : ns;
	l->total_ns += ns;
	l->nr++;
	percentiles_add(&l->times, ns);
}

/* ---- under a histogram ---- */

static const struct {
	const char *name;
	double percent;
} shown[] = { { "p50", 50 }, { "p90", 90 }, { "p99", 99 } };

void ftrace_put_time(struct strbuf *to, u64 ns)
{
	if (ns < 10000)
		strbuf_printf(to, "%llu ns", (unsigned long long)ns);
	else if (ns < 10000000)
		strbuf_printf(to, "%.1f us", (double)ns / 1e3);
	else if (ns < 10000000000)
		strbuf_printf(to, "%.1f ms", (double)ns / 1e6);
	else
		strbuf_printf(to, "%.1f s", (double)ns / 1e9);
}

void ftrace_latency_summary(struct strbuf *to, const char *label, const struct percentiles *p)
{
	if (!p->nr)
		return;
	strbuf_printf(to, "\n%s: ", label);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		strbuf_printf(to, "%s ", shown[i].name);
		ftrace_put_time(to, percentiles_at(p, shown[i].percent));
		strbuf_str(to, ", ");
	}
	strbuf_str(to, "max ");
	ftrace_put_time(to, p->max);
	strbuf_char(to, '\n');
}

/* The kernel rounds up: 2^10 is from 513 to 1024. */
static void put_power(struct strbuf *to, unsigned power, const char *unit)
{
	strbuf_printf(to, "%llu-%llu %s", power ? (1ull << (power - 1)) + 1 : 0, 1ull << power,
		      unit);
}

void ftrace_latency_of_text(const char *text, const char *label, bool usecs, struct strbuf *to)
{
	enum { POWERS = 63 };
	u64 counts[POWERS] = { 0 }, nr = 0;
	unsigned last = 0;
	char word[160];
	(void)snprintf(word, sizeof(word), "%s: ~ 2^", label);
	for (const char *p = text; (p = strstr(p, word));) {
		const char *end = strchrnul(p, '\n'), *hits = strstr(p, "hitcount:");
		unsigned power = (unsigned)strtoul(p + strlen(word), NULL, 10);
		if (power < POWERS && hits && hits < end) {
			u64 n = strtoull(hits + strlen("hitcount:"), NULL, 10);
			counts[power] += n;
			nr += n;
			last = n ? max(last, power) : last;
		}
		p = end;
	}
	if (!nr)
		return;
	strbuf_printf(to, "\n%s: ", label);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		u64 seen = 0;
		unsigned power = 0;
		while ((seen += counts[power]) < 1 ||
		       (double)seen < (double)nr * shown[i].percent / 100)
			power++;
		strbuf_printf(to, "%s ", shown[i].name);
		put_power(to, power, usecs ? "us" : "ns");
		strbuf_str(to, ", ");
	}
	strbuf_str(to, "max ");
	put_power(to, last, usecs ? "us" : "ns");
	strbuf_char(to, '\n');
}

static u64 bucket_from(unsigned i)
{
	return i ? 1ull << (i - 1) : 0;
}

static void put_bar(struct strbuf *to, u64 nr, u64 total)
{
	size_t len = total ? (size_t)((double)nr * BAR_WIDTH / (double)total) : 0;
	strbuf_printf(to, " | %10llu | ", (unsigned long long)nr);
	strbuf_fill(to, '#', len);
	strbuf_fill(to, ' ', BAR_WIDTH - len);
	strbuf_str(to, " |\n");
}

static void put_table(struct strbuf *to, const struct ftrace_latency *l)
{
	const char *small = l->in_ns ? "ns" : "us", *large = l->in_ns ? "us" : "ms";
	strbuf_printf(to, "# %14s | %10s | %-*s |\n", "  DURATION    ", "COUNT", BAR_WIDTH, "GRAPH");
	for (unsigned i = 0; i < LATENCY_BUCKETS - 1; i++) {
		u64 from = bucket_from(i), to_value = bucket_from(i + 1);
		bool big = from >= 1024;
		strbuf_printf(
			to, "  %4llu - %-4llu %s", (unsigned long long)(big ? from >> 10 : from),
			(unsigned long long)(big ? to_value >> 10 : to_value), big ? large : small);
		put_bar(to, l->buckets[i], l->nr);
	}
	strbuf_printf(to, "  %4d - %-4s %s", 1, "...", l->in_ns ? "ms" : " s");
	put_bar(to, l->buckets[LATENCY_BUCKETS - 1], l->nr);
}

int ftrace_latency_print(struct app *app, const struct ftrace_latency *l)
{
	struct json j;
	if (!app->json) {
		if (l->nr)
			put_table(&app->out, l);
		else
			strbuf_str(&app->out, "No data found\n");
		if (strcmp(app->prog, "perf")) /* whose output ends there */
			ftrace_latency_summary(&app->out, "latency", &l->times);
		return 0;
	}
	json_begin(&j, &app->out, JSON_PRETTY);
	json_object(&j);
	json_put_str(&j, "unit", l->in_ns ? "ns" : "us");
	json_put_u64(&j, "count", l->nr);
	json_put_u64(&j, "total_ns", l->total_ns);
	json_put_u64(&j, "max_ns", l->max_ns);
	json_put_u64(&j, "min_ns", l->min_ns);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		char key[16];
		(void)snprintf(key, sizeof(key), "%s_ns", shown[i].name);
		json_put_u64(&j, key, percentiles_at(&l->times, shown[i].percent));
	}
	json_key(&j, "buckets");
	json_array(&j);
	for (unsigned i = 0; i < LATENCY_BUCKETS; i++) {
		json_object(&j);
		json_put_u64(&j, "from", bucket_from(i));
		if (i + 1 < LATENCY_BUCKETS)
			json_put_u64(&j, "to", bucket_from(i + 1));
		json_put_u64(&j, "count", l->buckets[i]);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}

static int on_match(void *ctx, const struct event_pair_match *m)
{
	ftrace_latency_add(ctx, event_pair_ns(m));
	return 0;
}

static int say_missing(struct app *app, const char *path, const char *system, const char *event,
		       const char *field)
{
	int err = diag_error(&app->diag, -ENOENT, "%s has no event '%s%s%s'%s%s%s", path,
			     system ? system : "", system ? ":" : "", event,
			     field ? " with a field '" : "", field ? field : "", field ? "'" : "");
	diag_hint(&app->diag, "'sonde ftrace report -E -i FILE' shows its events");
	return err;
}

int ftrace_latency_read(struct app *app, const char *path, const struct event_pair_rule *rule,
			struct ftrace_latency *l)
{
	struct replay_ftrace_opts replay = { .style = PRINT_STYLE_KERNEL };
	struct run_tables tables = { 0 };
	struct source *src;
	int err = replay_ftrace_open(path, &replay, &src, &app->diag);
	if (err)
		return err;
	struct event_pair *p = event_pair_new(&(struct event_pair_opts){
		.rules = rule, .nr_rules = 1, .ctx = l, .match = on_match });
	err = p ? stream_run(src, event_pair_sink(p), 0, &tables, &app->diag) : -ENOMEM;
	run_tables_done(&tables);
	if (!err && event_pair_nr_gaps(p))
		diag_warn(&app->diag,
			  "events were lost %llu times: what had begun before a gap does not count",
			  (unsigned long long)event_pair_nr_gaps(p));
	/* A recording without a single one of them may simply have seen none; a file that never heard of it is a mistake. */
	if (!err && (!event_pair_startable(p) || !event_pair_endable(p))) {
		bool start = false, end = false;
		for (u32 i = 0; i < replay_ftrace_nr_events(src); i++) {
			const struct schema *s = replay_ftrace_schema(src, i);
			if (!s)
				continue;
			start |= !strcmp(s->name, rule->start_event) &&
				 (!rule->start_keys[0] || schema_find(s, rule->start_keys[0]));
			end |= !strcmp(s->name, rule->end_event) &&
			       (!rule->end_keys[0] || schema_find(s, rule->end_keys[0]));
		}
		if (!start)
			err = say_missing(app, path, rule->start_system, rule->start_event,
					  rule->start_keys[0]);
		else if (!end)
			err = say_missing(app, path, rule->end_system, rule->end_event,
					  rule->end_keys[0]);
	}
	event_pair_free(p);
	src->ops->close(src);
	return err;
}

static void split_name(char *text, const char **system, const char **event)
{
	char *colon = strchr(text, ':');
	*system = colon ? text : NULL;
	*event = colon ? colon + 1 : text;
	if (colon)
		*colon = '\0';
}

int ftrace_latency_rule(const char *events, const char *by, struct arena *a,
			struct event_pair_rule *ret, struct diag *d)
{
	const char *comma = strchr(events, ',');
	if (!comma || comma == events || !comma[1] || strchr(comma + 1, ','))
		return diag_error(d, -EINVAL, "'%s' are not two events: A,B", events);
	if (!by)
		by = "common_pid";
	const char *equal = strchr(by, '=');
	char *first = arena_strndup(a, events, (size_t)(comma - events)),
	     *second = arena_strdup(a, comma + 1),
	     *key = arena_strndup(a, by, equal ? (size_t)(equal - by) : strlen(by)),
	     *end_key = arena_strdup(a, equal ? equal + 1 : by);
	if (!first || !second || !key || !end_key)
		return -ENOMEM;
	*ret = (struct event_pair_rule){ .start_keys = { key }, .end_keys = { end_key } };
	split_name(first, &ret->start_system, &ret->start_event);
	split_name(second, &ret->end_system, &ret->end_event);
	return 0;
}
