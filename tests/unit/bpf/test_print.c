/* bpf/: values, printf, histograms and maps as text and as JSON, as bpftrace 0.17 prints them; the verifier's words. */
#include "tap.h"

#include "bpf/hist_text.h"
#include "bpf/map_view.h"
#include "bpf/metrics.h"
#include "bpf/printf.h"
#include "bpf/refusal.h"
#include "bpf/series_text.h"

#include <errno.h>
#include <linux/bpf.h>

static const struct program_type s64_type = { .kind = PROGRAM_INT, .size = 8, .is_signed = true };
static const struct program_type u64_type = { .kind = PROGRAM_INT, .size = 8 };
static const struct program_type s32_type = { .kind = PROGRAM_INT, .size = 4, .is_signed = true };
static const struct program_type string_type = { .kind = PROGRAM_STRING, .size = 16 };
static const struct program_type buffer_type = { .kind = PROGRAM_BUFFER, .size = 16 };
static const struct value_style style = { .stack_indent = 8 };

/* One argument, formatted. */
static void prints(const char *format, const struct program_type *t, const void *data,
		   const char *want)
{
	struct program_field field = { .type = t };
	struct program_type record = {
		.kind = PROGRAM_RECORD, .fields = &field, .nr = 1, .size = t->size
	};
	struct strbuf s;
	strbuf_init(&s);
	printf_text(&style, format, &record, data, &s);
	ok(!strcmp(strbuf_cstr(&s), want), "printf(\"%s\") is \"%s\" (got \"%s\")", format, want,
	   strbuf_cstr(&s));
	strbuf_done(&s);
}

static void numbers(void)
{
	const s64 minus = -5, large = 0xffffffffffll, forty_two = 42;
	const u64 top = ~0ull;
	const s32 narrow = -1;
	prints("[%d]", &s64_type, &minus, "[-5]");
	prints("%d", &s64_type, &large, "1099511627775"); /* 0.17 cuts it to 32 bits */
	prints("%u", &u64_type, &top, "18446744073709551615");
	prints("%5d|", &s64_type, &forty_two, "   42|");
	prints("%-5d|", &s64_type, &forty_two, "42   |");
	prints("%05d", &s64_type, &forty_two, "00042");
	prints("%llx", &s64_type, &forty_two, "2a");
	prints("%hhd", &s64_type, &forty_two, "42");
	prints("%#x", &s64_type, &forty_two, "0x2a");
	prints("%x", &s32_type, &narrow, "ffffffff");
	prints("%c", &s64_type, &forty_two, "*");
	prints("%p", &u64_type, &forty_two, "0x2a");
	prints("100%% %d", &s64_type, &forty_two, "100% 42");
	prints("%d %d", &s64_type, &forty_two, "42 ");
	prints("%y %d", &s64_type, &forty_two, "%y 42");
}

static void texts(void)
{
	const char text[16] = "abc";
	struct {
		u32 len;
		u8 bytes[12];
	} buffer = { .len = 3, .bytes = { 'a', 1, 0xff } };
	prints("%s", &string_type, text, "abc");
	prints("%6s|", &string_type, text, "   abc|");
	prints("%-6s|", &string_type, text, "abc   |");
	prints("%.2s", &string_type, text, "ab");
	prints("%r", &buffer_type, &buffer, "a\\x01\\xff");
	prints("%rx", &buffer_type, &buffer, "\\x61\\x01\\xff");
	prints("%rh", &buffer_type, &buffer, "61 01 ff");
	buffer.len = 4000;
	struct strbuf s;
	strbuf_init(&s);
	value_buffer_text(&buffer_type, &buffer, VALUE_BUFFER_HEX, &s);
	ok(s.len == 12 * 3 - 1, "a length that is not true reads no further than the buffer");
	strbuf_done(&s);
}

static void nested(void)
{
	struct {
		s64 a;
		char b[16];
		s64 c, d;
	} data = { 1, "x", 2, 3 };
	const struct program_field inner_fields[] = { { .type = &s64_type, .offset = 0 },
						      { .type = &s64_type, .offset = 8 } };
	const struct program_type inner = {
		.kind = PROGRAM_TUPLE, .fields = inner_fields, .nr = 2, .size = 16
	};
	const struct program_field fields[] = { { .type = &s64_type, .offset = 0, .name = "a" },
						{ .type = &string_type, .offset = 8, .name = "b" },
						{ .type = &inner, .offset = 24, .name = "c" } };
	const struct program_field plain[] = { { .type = &s64_type, .offset = 0 },
					       { .type = &string_type, .offset = 8 },
					       { .type = &inner, .offset = 24 } };
	struct program_type tuple = {
		.kind = PROGRAM_TUPLE, .fields = plain, .nr = 3, .size = sizeof(data)
	};
	struct strbuf s;
	strbuf_init(&s);
	value_text(&style, &tuple, &data, &s);
	ok(!strcmp(strbuf_cstr(&s), "(1, x, (2, 3))"), "a tuple: %s", strbuf_cstr(&s));
	strbuf_reset(&s);
	tuple.fields = fields;
	value_text(&style, &tuple, &data, &s);
	ok(!strcmp(strbuf_cstr(&s), "{ .a = 1, .b = x, .c = (2, 3) }"),
	   "a record of the script: %s", strbuf_cstr(&s));
	strbuf_reset(&s);
	tuple.kind = PROGRAM_RECORD;
	value_text(&style, &tuple, &data, &s);
	ok(!strcmp(strbuf_cstr(&s), "{ .a = 1, .b = x, .c = (2, 3) }"), "a record: %s",
	   strbuf_cstr(&s));
	strbuf_reset(&s);
	struct json j;
	json_begin(&j, &s, JSON_COMPACT);
	tuple.kind = PROGRAM_TUPLE;
	tuple.fields = plain;
	value_json(&style, &tuple, &data, &j);
	ok(!json_end(&j) && !strncmp(strbuf_cstr(&s), "[1,\"x\",[2,3]]", 13), "as JSON: %s",
	   strbuf_cstr(&s));
	strbuf_done(&s);
}

static void enums(void)
{
	const struct program_field values[] = { { .name = "ONE", .offset = 1 },
						{ .name = "MINUS", .offset = -1 } };
	const struct program_type t = {
		.kind = PROGRAM_ENUM, .size = 8, .is_signed = true, .fields = values, .nr = 2
	};
	const s64 minus = -1, other = 7;
	prints("%s", &t, &minus, "MINUS");
	prints("%d", &t, &minus, "-1");
	prints("%s", &t, &other, "7");
}

static void hist_is(const struct program_type *t, const u64 *buckets, const char *want,
		    const char *what)
{
	struct strbuf s;
	strbuf_init(&s);
	hist_text(t, buckets, 0, false, &s);
	ok(!strcmp(strbuf_cstr(&s), want), "%s:\n%s", what, strbuf_cstr(&s));
	strbuf_done(&s);
}

#define BAR  "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
#define HALF "@@@@@@@@@@@@@@@@@@@@@@@@@@                          "
#define NONE "                                                    "

static void histograms(void)
{
	u64 log[66] = { [0] = 2, [1] = 1, [3] = 2 };
	const struct program_type log_type = { .kind = PROGRAM_HIST, .size = sizeof(log) };
	hist_is(&log_type, log,
		"(..., 0)               2 |" BAR "|\n"
		"[0]                    1 |" HALF "|\n"
		"[1]                    0 |" NONE "|\n"
		"[2, 4)                 2 |" BAR "|\n",
		"powers of two from below zero on");
	u64 large[66] = { [11] = 1, [12] = 2 };
	hist_is(&log_type, large,
		"[512, 1K)              1 |" HALF "|\n"
		"[1K, 2K)               2 |" BAR "|\n",
		"bounds have letters");
	u64 linear[5] = { 1, 2, 0, 0, 1 };
	const struct program_type linear_type = { .kind = PROGRAM_LHIST,
						  .size = sizeof(linear),
						  .hist = { .min = 0, .max = 3000, .step = 1000 } };
	hist_is(&linear_type, linear,
		"(..., 0)               1 |" HALF "|\n"
		"[0, 1000)              2 |" BAR "|\n"
		"[1000, 2000)           0 |" NONE "|\n"
		"[2000, 3000)           0 |" NONE "|\n"
		"[3000, ...)            1 |" HALF "|\n",
		"equal steps");
	bool same = true;
	const struct program_type fine = { .kind = PROGRAM_HIST,
					   .size = 8 * (60 * 32 + 33),
					   .hist.bits = 5 };
	for (u32 i = 1; i < 1800; i++) {
		s64 low, high, next, end;
		hist_range(&fine, i, &low, &high);
		hist_range(&fine, i + 1, &next, &end);
		same &= low == program_hist_low(5, i) && next == high + 1;
	}
	ok(same, "fine buckets follow each other, and begin where the compiler puts them");
}

static void quantiles(void)
{
	enum { BITS = 5, NR = 64 * 32 };
	static u64 buckets[NR];
	const struct program_type t = { .kind = PROGRAM_QUANTILE,
					.size = sizeof(buckets),
					.hist.bits = BITS };
	for (s64 v = 1; v <= 100000; v++) {
		u32 i = 0;
		while (i + 1 < NR && program_hist_low(BITS, i + 1) <= v)
			i = i + 1 < NR && program_hist_low(BITS, i + 1) <= v ? i + 1 : i;
		buckets[i]++;
		v += 96; /* a thousand values */
	}
	s64 p50 = hist_quantile(&t, buckets, 50), p99 = hist_quantile(&t, buckets, 99);
	ok(p50 > 49000 && p50 < 51000, "p50 of 1 to 100000 is within 2 %%: %lld", (long long)p50);
	ok(p99 > 97020 && p99 < 101000, "p99 of 1 to 100000 is within 2 %%: %lld", (long long)p99);
}

static bool old_layout;

static void rows_are(struct map_rows *r, const struct map_print *p, const char *want,
		     const char *what)
{
	struct strbuf s;
	struct value_style as = style;
	as.old_layout = old_layout;
	strbuf_init(&s);
	int rc = map_rows_sort(r);
	map_rows_text(r, &as, p, &s);
	ok(!rc && !strcmp(strbuf_cstr(&s), want), "%s:\n%s", what, strbuf_cstr(&s));
	free(r->order);
	r->order = NULL;
	strbuf_done(&s);
}

static void maps(void)
{
	s64 keys[] = { 1, 2, 3 }, values[] = { 5, -3, 9 };
	struct program_map m = { .name = "@x", .key = &s64_type, .value = &s64_type };
	struct map_rows r = { .map = &m,
			      .key_size = 8,
			      .value_size = 8,
			      .keys = (u8 *)keys,
			      .values = (u8 *)values,
			      .nr = 3 };
	rows_are(&r, &(struct map_print){ 0 }, "@x[2]: -3\n@x[1]: 5\n@x[3]: 9\n",
		 "rows are in the order of their values");
	rows_are(&r, &(struct map_print){ .top = 2, .div = 2 }, "@x[1]: 2\n@x[3]: 4\n",
		 "the largest two, divided");
	char texts_of[3][16] = { "b", "a", "c" };
	m.value = &string_type;
	r.values = (u8 *)texts_of;
	r.value_size = 16;
	rows_are(&r, &(struct map_print){ 0 }, "@x[1]: b\n@x[2]: a\n@x[3]: c\n",
		 "texts are in the order of their keys");
	u64 pairs[3][2] = { { 10, 1 }, { 4, 2 }, { 0, 0 } };
	const struct program_type stats = { .kind = PROGRAM_STATS, .size = 16 };
	m.value = &stats;
	r.values = (u8 *)pairs;
	r.nr = 2;
	rows_are(&r, &(struct map_print){ 0 },
		 "@x[2]: { .count = 2, .average = 2, .total = 4 }\n"
		 "@x[1]: { .count = 1, .average = 10, .total = 10 }\n",
		 "stats are records");
	rows_are(&r, &(struct map_print){ .top = 1 },
		 "@x[1]: { .count = 1, .average = 10, .total = 10 }\n", "the largest of them");
	old_layout = true;
	rows_are(&r, &(struct map_print){ .top = 1 },
		 "@x[2]: count 2, average 2, total 4\n@x[1]: count 1, average 10, total 10\n\n",
		 "in the old layout they are all there, and end with a blank line");
	old_layout = false;
	const struct program_type avg = { .kind = PROGRAM_AVG, .size = 16 };
	m.value = &avg;
	rows_are(&r, &(struct map_print){ 0 }, "@x[2]: 2\n@x[1]: 10\n", "averages");
	u64 zero = 0;
	m.is_scalar = true;
	m.value = &u64_type;
	r.values = (u8 *)&zero;
	r.value_size = 8;
	r.nr = 1;
	rows_are(&r, &(struct map_print){ 0 }, "@x: 0\n", "a number that is zero is shown");
	u64 empty[66] = { 0 };
	const struct program_type hist = { .kind = PROGRAM_HIST, .size = sizeof(empty) };
	m.value = &hist;
	r.values = (u8 *)empty;
	r.value_size = sizeof(empty);
	rows_are(&r, &(struct map_print){ 0 }, "", "a histogram of nothing is not");
}

static void metrics_are(const struct map_rows *r, const char *want, const char *what)
{
	struct strbuf s;
	strbuf_init(&s);
	metrics_map(r, &style, &s);
	ok(!strcmp(strbuf_cstr(&s), want), "%s:\n%s", what, strbuf_cstr(&s));
	strbuf_done(&s);
}

static void metrics(void)
{
	char keys[2][16] = { "a\"\\\n", "\xff\xc3\xa9" };
	u64 values[] = { ~0ull, 3 };
	struct program_map m = { .name = "@n", .key = &string_type, .value = &s64_type };
	struct map_rows r = { .map = &m,
			      .key_size = 16,
			      .value_size = 8,
			      .keys = (u8 *)keys,
			      .values = (u8 *)values,
			      .nr = 2 };
	metrics_are(&r,
		    "# TYPE sonde_map_n gauge\nsonde_map_n{key=\"a\\\"\\\\\\n\"} -1\n"
		    "sonde_map_n{key=\"\xef\xbf\xbd\xc3\xa9\"} 3\n",
		    "labels are escaped, and UTF-8");
	m.value = &string_type;
	r.value_size = 16;
	r.values = (u8 *)keys;
	metrics_are(&r, "", "texts are no metrics");
	u64 buckets[13] = { 1, 2, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 4 };
	const struct program_type linear = { .kind = PROGRAM_LHIST,
					     .size = sizeof(buckets),
					     .hist = { .max = 100, .step = 10 } };
	m.is_scalar = true;
	m.value = &linear;
	r.values = (u8 *)buckets;
	r.value_size = sizeof(buckets);
	r.nr = 1;
	struct strbuf s;
	strbuf_init(&s);
	metrics_map(&r, &style, &s);
	const char *text = strbuf_cstr(&s);
	ok(strstr(text, "_bucket{le=\"-1\"} 1\n") && strstr(text, "_bucket{le=\"9\"} 3\n") &&
		   strstr(text, "_bucket{le=\"99\"} 8\n") &&
		   strstr(text, "_bucket{le=\"+Inf\"} 12\n") && strstr(text, "_count 12\n"),
	   "buckets count all below their bound:\n%s", text);
	strbuf_done(&s);
}

static void joins(void)
{
	u64 cpus[2][2] = { { 7, 1 }, { 3, 1 } }, to[2];
	struct program_type t = { .kind = PROGRAM_MIN, .size = 16 };
	map_value_join(&t, cpus, 2, to);
	ok(to[0] == 3 && to[1] == 1, "the least of all CPUs");
	t.kind = PROGRAM_MAX;
	cpus[0][1] = 0;
	map_value_join(&t, cpus, 2, to);
	ok(to[0] == 3, "a CPU that has none does not count");
	t.kind = PROGRAM_STATS;
	map_value_join(&t, cpus, 2, to);
	ok(to[0] == 10 && to[1] == 1, "sums");
	s64 minus[2][2] = { { -7, 1 }, { -3, 1 } };
	t.kind = PROGRAM_MAX;
	t.is_signed = true;
	map_value_join(&t, minus, 2, to);
	ok((s64)to[0] == -3, "the greatest of signed ones");
}

static void json_maps(void)
{
	s64 keys[][2] = { { 1, 2 } }, values[] = { 5 };
	const struct program_field fields[] = { { .type = &s64_type, .offset = 0 },
						{ .type = &s64_type, .offset = 8 } };
	const struct program_type key = {
		.kind = PROGRAM_TUPLE, .fields = fields, .nr = 2, .size = 16
	};
	struct program_map m = { .name = "@x", .key = &key, .value = &s64_type };
	struct map_rows r = { .map = &m,
			      .key_size = 16,
			      .value_size = 8,
			      .keys = (u8 *)keys,
			      .values = (u8 *)values,
			      .nr = 1 };
	struct strbuf s;
	struct json j;
	strbuf_init(&s);
	json_begin(&j, &s, JSON_COMPACT);
	map_rows_json(&r, &style, &(struct map_print){ 0 }, &j);
	ok(!json_end(&j) &&
		   !strcmp(strbuf_cstr(&s), "{\"type\":\"map\",\"data\":{\"@x\":{\"1,2\":5}}}\n"),
	   "a map as JSON: %s", strbuf_cstr(&s));
	strbuf_done(&s);
}

static void refusals(void)
{
	struct refusal r =
		refusal_parse("func#0 @0\n0: R1=ctx() R10=fp0\n0: (b7) r0 = 0   ; R0_w=0\n"
			      "1: (61) r0 = *(u32 *)(r2 +0)\nR2 !read_ok\n"
			      "processed 2 insns (limit 1000000) max_states_per_insn 0\n");
	ok(r.insn == 1 && r.reason_len == 11 && !strncmp(r.reason, "R2 !read_ok", 11),
	   "the instruction and the reason are found in the verifier's words");
	r = refusal_parse("4: (55) if r1 != 0x0 goto pc-4\ninfinite loop detected at insn 0\n"
			  "cur state: R0=1 R10=fp0\nold state: R0=1 R10=fp0\n"
			  "processed 9 insns (limit 1000000)\n");
	ok(r.reason && !strncmp(r.reason, "infinite loop detected", 22),
	   "the reason is found in front of the states that it is about");
	r = refusal_parse("");
	ok(r.insn == -1 && !r.reason, "no words, no reason");
	const u32 spans[] = { UINT32_MAX, 8 };
	const struct program_code code = { .nr = 2, .spans = spans };
	const struct program_probe probe = { .text = "begin", .span_len = 5 };
	struct refusal_place at = { .script = "begin { str(0) }", .probe = &probe, .code = &code };
	struct diag d;
	struct strbuf s;
	diag_init(&d);
	strbuf_init(&s);
	refusal_explain(&at, -EACCES, "1: (61) r0 = *(u32 *)(r2 +0)\nR2 !read_ok\n", &d);
	diag_render(&d, "sonde run", false, &s);
	ok(strstr(strbuf_cstr(&s), "begin: \"R2 !read_ok\"") &&
		   strstr(strbuf_cstr(&s), "begin { str(0) }\n") && d.items.at[0].start == 8,
	   "it is told with the place in the script:\n%s", strbuf_cstr(&s));
	strbuf_done(&s);
	diag_done(&d);
}

/* Two CPUs with values of the same and of different intervals, at index epoch % 3. */
static void series(void)
{
	struct program_interval cpus[2][3] = {
		{ { 3, 10, 1 }, { 4, 6, 2 }, { 2, 1, 1 } },
		{ { 0, 0, 0 }, { 4, 8, 2 }, { 5, 9, 1 } },
	};
	struct program_interval joined[3];
	struct program_type t = { .kind = PROGRAM_TSERIES,
				  .nr = 3,
				  .size = sizeof(joined),
				  .format = "sum",
				  .hist = { .step = 1000000000 } };
	series_join(&t, (const u8 *)cpus, 2, joined);
	ok(joined[0].value == 10 && joined[1].value == 14 && joined[2].epoch == 5 &&
		   joined[2].value == 9,
	   "intervals of CPUs: the same are summed up, later ones replace");
	t.format = "max";
	series_join(&t, (const u8 *)cpus, 2, joined);
	ok(joined[1].value == 8, "or the greatest is taken");
	t.format = "avg";
	series_join(&t, (const u8 *)cpus, 2, joined);
	struct strbuf s;
	strbuf_init(&s);
	series_text(&style, &t, joined, &s);
	const char *text = strbuf_cstr(&s), *top = strstr(text, "*| 10\n");
	const char *second = strstr(text, "| 3\n"), *third = strstr(text, "| 9\n");
	ok(top && second && third && top < second && second < third,
	   "a line each, in order, with the average: %s", text);
	strbuf_done(&s);
}

/* Rows by a member of the key, and the only row of a key. */
static void ordered_rows(void)
{
	s64 keys[3][2] = { { 1, 30 }, { 2, 10 }, { 3, 20 } };
	s64 values[3] = { 7, 8, 9 };
	const struct program_field parts[] = { { .type = &s64_type, .offset = 0 },
					       { .type = &s64_type, .offset = 8 } };
	const struct program_type key = {
		.kind = PROGRAM_TUPLE, .fields = parts, .nr = 2, .size = 16
	};
	const struct program_map m = { .name = "@x", .key = &key, .value = &s64_type };
	const struct program_action by = {
		.format = "0x%x", .sort = { .by = PROGRAM_SORT_KEY, .member = 2, .descending = true }
	};
	struct map_rows r = { .map = &m,
			      .key_size = 16,
			      .value_size = 8,
			      .keys = (u8 *)keys,
			      .values = (u8 *)values,
			      .nr = 3 };
	struct strbuf s;
	strbuf_init(&s);
	int rc = map_rows_sort_by(&r, &by);
	map_rows_text(&r, &style, &(struct map_print){ .order = &by }, &s);
	ok(!rc && !strcmp(strbuf_cstr(&s), "@x[1, 30]: 0x7\n@x[3, 20]: 0x9\n@x[2, 10]: 0x8\n"),
	   "sorted as the script says: %s", strbuf_cstr(&s));
	free(r.order);
	r.order = NULL;
	strbuf_reset(&s);
	map_rows_keep(&r, (s64[]){ 3, 20 });
	map_rows_text(&r, &style, &(struct map_print){ 0 }, &s);
	ok(!strcmp(strbuf_cstr(&s), "@x[3, 20]: 9\n"), "one row: %s", strbuf_cstr(&s));
	strbuf_done(&s);
}

int main(void)
{
	numbers();
	texts();
	nested();
	enums();
	histograms();
	quantiles();
	maps();
	metrics();
	joins();
	json_maps();
	refusals();
	series();
	ordered_rows();
	return done_testing();
}
