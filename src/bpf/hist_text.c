#include "bpf/hist_text.h"

#include "base/strbuf.h"

enum { BAR_WIDTH = 52 };

u32 hist_nr(const struct program_type *t)
{
	return t->size / (u32)sizeof(u64);
}

static bool is_linear(const struct program_type *t)
{
	return t->kind == PROGRAM_LHIST;
}

static void linear_range(const struct program_type *t, u32 bucket, s64 *low, s64 *high)
{
	s64 step = t->hist.step > 0 ? t->hist.step : 1;
	u32 last = hist_nr(t) - 1;
	*low = bucket ? t->hist.min + (s64)(bucket - 1) * step : INT64_MIN;
	*high = bucket == last ? INT64_MAX : t->hist.min + (s64)bucket * step - 1;
	if (bucket == last)
		*low = t->hist.max;
}

static void log_range(u32 k, u32 bucket, s64 *low, s64 *high)
{
	if (!bucket) {
		*low = INT64_MIN;
		*high = -1;
		return;
	}
	u32 at = bucket - 1;
	if (at < 1u << k) {
		*low = *high = at;
		return;
	}
	u32 n = (at >> k) + k - 1; /* position of the highest bit */
	u64 width = 1ull << (n - k);
	u64 start = (1ull << n) + (at & ((1u << k) - 1)) * width;
	*low = (s64)start;
	*high = (s64)(start + (width - 1));
}

void hist_range(const struct program_type *t, u32 bucket, s64 *low, s64 *high)
{
	if (is_linear(t))
		linear_range(t, bucket, low, high);
	else
		log_range(t->hist.bits, bucket, low, high);
}

u64 hist_total(const u64 *buckets, u32 nr)
{
	u64 sum = 0;
	for (u32 i = 0; i < nr; i++)
		sum += buckets[i];
	return sum;
}

/* Bounds that are whole powers of 1024 get a letter, as bpftrace writes them. */
static void add_bound(s64 v, bool binary, struct strbuf *to)
{
	static const char letters[] = { 0, 'K', 'M', 'G', 'T', 'P', 'E' };
	unsigned unit = 0;
	while (binary && v && !(v & 1023) && unit + 1 < ARRAY_SIZE(letters)) {
		v /= 1024;
		unit++;
	}
	strbuf_s64(to, v);
	if (letters[unit])
		strbuf_char(to, letters[unit]);
}

static void add_range(const struct program_type *t, u32 bucket, bool single, struct strbuf *to)
{
	s64 low, high;
	hist_range(t, bucket, &low, &high);
	bool binary = !is_linear(t) || !(t->hist.step & 1023);
	if (low == INT64_MIN) {
		strbuf_str(to, "(..., ");
		add_bound(high + 1, binary, to);
		strbuf_char(to, ')');
	} else if (high == INT64_MAX) {
		strbuf_char(to, '[');
		add_bound(low, binary, to);
		strbuf_str(to, ", ...)");
	} else if (low == high && (single || !is_linear(t))) {
		strbuf_char(to, '[');
		add_bound(low, binary, to);
		strbuf_char(to, ']');
	} else {
		strbuf_char(to, '[');
		add_bound(low, binary, to);
		strbuf_str(to, ", ");
		add_bound(high + 1, binary, to);
		strbuf_char(to, ')');
	}
}

struct extent {
	u32 first, end; /* buckets that are shown */
	u64 most;
};

static struct extent extent_of(const struct program_type *t, const u64 *buckets)
{
	struct extent e = { 0 };
	u32 nr = hist_nr(t);
	e.first = nr;
	for (u32 i = 0; i < nr; i++) {
		if (!buckets[i])
			continue;
		e.first = min(e.first, i);
		e.end = i + 1;
		e.most = max(e.most, buckets[i]);
	}
	return e;
}

void hist_text(const struct program_type *t, const u64 *buckets, u64 div, bool single,
	       struct strbuf *to)
{
	struct extent e = extent_of(t, buckets);
	struct strbuf range;
	strbuf_init(&range);
	for (u32 i = e.first; i < e.end; i++) {
		strbuf_reset(&range);
		add_range(t, i, single, &range);
		u64 count = buckets[i] / max(div, (u64)1);
		u32 bar = (u32)((double)buckets[i] / (double)e.most * BAR_WIDTH);
		strbuf_printf(to, "%-16s%8llu |", strbuf_cstr(&range), (unsigned long long)count);
		strbuf_fill(to, '@', bar);
		strbuf_fill(to, ' ', BAR_WIDTH - bar);
		strbuf_str(to, "|\n");
	}
	strbuf_done(&range);
}

void hist_json(const struct program_type *t, const u64 *buckets, u64 div, struct json *j)
{
	struct extent e = extent_of(t, buckets);
	json_array(j);
	for (u32 i = e.first; i < e.end; i++) {
		s64 low, high;
		hist_range(t, i, &low, &high);
		json_object(j);
		if (low != INT64_MIN)
			json_put_s64(j, "min", low);
		if (high != INT64_MAX)
			json_put_s64(j, "max", high);
		json_put_u64(j, "count", buckets[i] / max(div, (u64)1));
		json_object_end(j);
	}
	json_array_end(j);
}

s64 hist_quantile(const struct program_type *t, const u64 *buckets, u8 percent)
{
	u32 nr = hist_nr(t);
	u64 total = hist_total(buckets, nr), seen = 0;
	u64 wanted = (u64)(((unsigned __int128)total * percent + 99) / 100);
	for (u32 i = 0; i < nr; i++) {
		seen += buckets[i];
		if (!buckets[i] || seen < wanted)
			continue;
		s64 low, high;
		hist_range(t, i, &low, &high);
		return low == INT64_MIN ? -1 : low + (high - low) / 2;
	}
	return 0;
}
