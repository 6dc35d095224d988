#include "analysis/latency.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_WIDTH = 46 };

void latency_hist_add(struct latency_hist *l, u64 ns)
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

void latency_put_time(struct strbuf *to, u64 ns)
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

void latency_summary(struct strbuf *to, const char *label, const struct percentiles *p)
{
	if (!p->nr)
		return;
	strbuf_printf(to, "\n%s: ", label);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		strbuf_printf(to, "%s ", shown[i].name);
		latency_put_time(to, percentiles_at(p, shown[i].percent));
		strbuf_str(to, ", ");
	}
	strbuf_str(to, "max ");
	latency_put_time(to, p->max);
	strbuf_char(to, '\n');
}

/* The kernel rounds up: 2^10 is from 513 to 1024. */
static void put_power(struct strbuf *to, unsigned power, const char *unit)
{
	strbuf_printf(to, "%llu-%llu %s", power ? (1ull << (power - 1)) + 1 : 0, 1ull << power,
		      unit);
}

void latency_of_text(const char *text, const char *label, bool usecs, struct strbuf *to)
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

static void put_table(struct strbuf *to, const struct latency_hist *l)
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

void latency_hist_text(const struct latency_hist *l, struct strbuf *to)
{
	if (l->nr)
		put_table(to, l);
	else
		strbuf_str(to, "No data found\n");
}

int latency_hist_json(const struct latency_hist *l, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
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
