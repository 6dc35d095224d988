#include "view/latency.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR_WIDTH = 46, FIRST_BUCKET = 1 /* durations are not below 0 */ };

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

void latency_summary(struct strbuf *to, const char *label, struct histogram *times)
{
	if (!times->nr)
		return;
	strbuf_printf(to, "\n%s: ", label);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		strbuf_printf(to, "%s ", shown[i].name);
		latency_put_time(to, (u64)histogram_percentile(times, shown[i].percent));
		strbuf_str(to, ", ");
	}
	strbuf_str(to, "max ");
	latency_put_time(to, (u64)times->max);
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

static void put_bar(struct strbuf *to, u64 nr, u64 total)
{
	size_t len = total ? (size_t)((double)nr * BAR_WIDTH / (double)total) : 0;
	strbuf_printf(to, " | %10llu | ", (unsigned long long)nr);
	strbuf_fill(to, '#', len);
	strbuf_fill(to, ' ', BAR_WIDTH - len);
	strbuf_str(to, " |\n");
}

static void put_table(struct strbuf *to, struct histogram *h)
{
	bool in_ns = h->opts.unit[0] == 'n';
	const char *small = in_ns ? "ns" : "us", *large = in_ns ? "us" : "ms";
	strbuf_printf(to, "# %14s | %10s | %-*s |\n", "  DURATION    ", "COUNT", BAR_WIDTH, "GRAPH");
	for (size_t i = FIRST_BUCKET; i < h->nr_buckets; i++) {
		struct histogram_bucket b = histogram_bucket(h, i);
		bool big = b.from >= 1024;
		if (b.no_end)
			strbuf_printf(to, "  %4d - %-4s %s", 1, "...", in_ns ? "ms" : " s");
		else
			strbuf_printf(to, "  %4lld - %-4lld %s",
				      (long long)(big ? b.from >> 10 : b.from),
				      (long long)(big ? b.to >> 10 : b.to), big ? large : small);
		put_bar(to, b.count, h->nr);
	}
}

void latency_text(struct histogram *units, struct strbuf *to)
{
	if (units->nr)
		put_table(to, units);
	else
		strbuf_str(to, "No data found\n");
}

static void put_bucket(struct json *j, struct histogram_bucket b)
{
	json_object(j);
	json_put_s64(j, "from", b.from);
	if (!b.no_end)
		json_put_s64(j, "to", b.to);
	json_put_u64(j, "count", b.count);
	json_object_end(j);
}

int latency_json(struct histogram *units, struct histogram *times, struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_put_str(&j, "unit", units->opts.unit);
	json_put_u64(&j, "count", times->nr);
	json_put_s64(&j, "total_ns", times->sum);
	json_put_s64(&j, "max_ns", times->max);
	json_put_s64(&j, "min_ns", times->min);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		char key[16];
		(void)snprintf(key, sizeof(key), "%s_ns", shown[i].name);
		json_put_s64(&j, key, histogram_percentile(times, shown[i].percent));
	}
	json_key(&j, "buckets");
	json_array(&j);
	for (size_t i = FIRST_BUCKET; i < units->nr_buckets; i++)
		put_bucket(&j, histogram_bucket(units, i));
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j);
}
