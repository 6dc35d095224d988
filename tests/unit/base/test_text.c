/* base: glob, cpuset, clock, json, printable text. */
#include "tap.h"

#include "base/str.h"

#include "base/clock.h"
#include "base/cpuset.h"
#include "base/bytes.h"
#include "base/glob.h"
#include "base/ini.h"
#include "base/json.h"
#include "base/printable.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

static void test_glob(void)
{
	static const struct {
		const char *pattern, *name;
		bool want;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "a*c", "abbbc", true },
		{ "a*c", "abbb", false },
		{ "*a*b*c*", "xaxbxcx", true },
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "?", "", false },
		{ "[abc]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]", "d", true },
		{ "[^a-c]", "a", false },
		{ "[]a]", "]", true },
		{ "[a-]", "-", true },
		{ "[abc", "[abc", true },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "[\\]]", "]", true },
		{ "sched:*", "sched:x", true },
		{ "**", "abc", true },
		{ "a**", "a", true },
		{ "[a-c]x", "cx", true },
		{ "vfs_*", "vfs_read", true },
		{ "vfs_*", "xvfs_r", false },
		{ "[!]a]", "b", true },
		{ "a\\", "a\\", true },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ok(glob_match(cases[i].pattern, cases[i].name) == cases[i].want, "'%s' and '%s': %s",
		   cases[i].pattern, cases[i].name, cases[i].want ? "yes" : "no");
	static char name[20001], pattern[64] = "*a*a*a*a*a*a*a*a*a*a*b";
	memset(name, 'a', 20000);
	ok(!glob_match(pattern, name), "many stars end soon");
	ok(glob_is_pattern("a*") && !glob_is_pattern("abc"), "is it a pattern");
}

static const char *listed(const struct cpuset *s, bool mask)
{
	static struct strbuf text;
	static char copy[2048];
	strbuf_init(&text);
	if (mask)
		cpuset_add_mask(s, &text);
	else
		cpuset_add_list(s, &text);
	snprintf(copy, sizeof(copy), "%s", strbuf_cstr(&text));
	strbuf_done(&text);
	return copy;
}

static void list_fails(const char *text, int want, const char *message)
{
	struct cpuset s;
	struct diag d;
	struct strbuf out;
	diag_init(&d);
	strbuf_init(&out);
	ok(cpuset_parse_list(text, &s, &d) == want, "'%s' is refused", text);
	diag_render(&d, "c", false, &out);
	is_str(strbuf_cstr(&out), message, "and says where");
	strbuf_done(&out);
	diag_done(&d);
}

static void test_cpuset(void)
{
	static const char *const lists[][3] = {
		/* text, list, mask */
		{ "0-3,7", "0-3,7", "8f" },
		{ "7,0-3\n", "0-3,7", "8f" },
		{ "", "", "0" },
		{ "0", "0", "1" },
		{ "31-32", "31-32", "1,80000000" },
		{ "64", "64", "1,00000000,00000000" },
		{ "0-10:2/4", "0-1,4-5,8-9", "333" },
		{ "2-8:1/3", "2,5,8", "124" },
		{ "1,1,1-1", "1", "2" },
	};
	struct cpuset s, t;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		ok(!cpuset_parse_list(lists[i][0], &s, NULL), "list %zu is read", i);
		is_str(listed(&s, false), lists[i][1], "and written");
		is_str(listed(&s, true), lists[i][2], "also as a mask");
		ok(!cpuset_parse_mask(lists[i][2], &t, NULL) && !memcmp(&s, &t, sizeof(s)),
		   "which reads back");
	}
	ok(!cpuset_parse_list("0,2048,4095", &s, NULL) && cpuset_count(&s) == 3,
	   "sparse, up to 4095");
	ok(cpuset_next(&s, 1) == 2048 && cpuset_next(&s, 2049) == 4095 && cpuset_next(&s, 4096) == -1,
	   "next");
	ok(cpuset_has(&s, 4095) && !cpuset_has(&s, 4094) && !cpuset_has(&s, 5000), "has");
	ok(!cpuset_parse_mask("0xF", &s, NULL) && !strcmp(listed(&s, false), "0-3"), "0xF");
	ok(!cpuset_parse_list("2-9", &t, NULL), "another");
	cpuset_and(&s, &t);
	is_str(listed(&s, false), "2-3", "what is in both");
	list_fails("3-1", -EINVAL, "c: invalid CPU list '3-1': empty range\n  3-1\n  ^~~\n");
	list_fails("0,x", -EINVAL, "c: invalid CPU list '0,x': expected a number\n  0,x\n    ^\n");
	list_fails("0,", -EINVAL, "c: invalid CPU list '0,': unexpected end\n  0,\n    ^\n");
	list_fails("4096", -ERANGE,
		   "c: invalid CPU list '4096': CPU numbers go up to 4095\n  4096\n  ^~~~\n");
	list_fails("1 2", -EINVAL, "c: invalid CPU list '1 2': unexpected character\n  1 2\n   ^\n");
	list_fails("0-9:1", -EINVAL,
		   "c: invalid CPU list '0-9:1': expected '/'\n  0-9:1\n       ^\n");
	list_fails("0-9:1/0", -EINVAL,
		   "c: invalid CPU list '0-9:1/0': empty range\n  0-9:1/0\n  "
		   "^~~~~~~\n");
	list_fails("99999999999", -ERANGE,
		   "c: invalid CPU list '99999999999': CPU numbers go up to 4095\n  "
		   "99999999999\n  "
		   "^~~~~~~~~~~\n");
	ok(cpuset_parse_mask("fg", &s, NULL) == -EINVAL && cpuset_parse_mask("", &s, NULL) == -EINVAL,
	   "bad masks");
	char wide[1100];
	memset(wide, '0', sizeof(wide));
	wide[0] = '1';
	wide[1099] = 0;
	ok(cpuset_parse_mask(wide, &s, NULL) == -ERANGE, "a mask that is too wide");
}

static void test_clock_names(void)
{
	const struct clock_kind *k = clock_by_name("CLOCK_MONOTONIC_RAW");
	ok(k && k->id == CLOCK_MONOTONIC_RAW && k == clock_by_name("raw") &&
		   k == clock_by_traced("mono_raw") && k == clock_by_id(CLOCK_MONOTONIC_RAW),
	   "a clock by every name it has");
	ok(!clock_by_name("mono_raw") && !clock_by_traced("raw") && !clock_by_name("perf") &&
		   !clock_by_name(""),
	   "each interface has its own names");
	k = clock_by_name("realtime");
	ok(k && !k->traced && clock_by_traced("perf") && clock_by_traced("perf")->id == CLOCK_NONE,
	   "some have only one");
	ok(!clock_by_id(CLOCK_NONE) && !clock_by_id(99), "no clock is none");
	ok(clock_traced_is_ns("local") && clock_traced_is_ns("mono_raw") &&
		   clock_traced_is_ns("boot") && !clock_traced_is_ns("x86-tsc") &&
		   !clock_traced_is_ns("counter"),
	   "which count nanoseconds");
}

static void test_clock(void)
{
	struct strbuf s;
	u64 ns;
	strbuf_init(&s);
	clock_add_sec(&s, 12000345678, 9);
	strbuf_char(&s, ' ');
	clock_add_sec(&s, 12999999999, 3);
	strbuf_char(&s, ' ');
	clock_add_sec(&s, 12999999999, 0);
	is_str(strbuf_cstr(&s), "12.000345678 12.999 12", "seconds");
	strbuf_reset(&s);
	static const u64 spans[] = { 15, 1234, 45600000, 789ull * NS_PER_SEC };
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		clock_add_human(&s, spans[i]);
		strbuf_char(&s, ',');
	}
	is_str(strbuf_cstr(&s), "15 ns,1.23 us,45.6 ms,789 s,", "for people");
	strbuf_done(&s);
	ok(!clock_parse("1.5", &ns) && ns == 1500000000, "1.5");
	ok(!clock_parse("200ms", &ns) && ns == 200000000, "200ms");
	ok(!clock_parse("2m", &ns) && ns == 120 * NS_PER_SEC, "2m");
	ok(!clock_parse("7ns", &ns) && ns == 7, "7ns");
	ok(clock_parse("x", &ns) == -EINVAL && clock_parse("1x", &ns) == -EINVAL &&
		   clock_parse("", &ns) == -EINVAL && clock_parse("-1", &ns) == -EINVAL,
	   "no times");
	ok(clock_parse("99999999999999", &ns) == -ERANGE &&
		   clock_parse("99999999999999999999", &ns) == -ERANGE,
	   "too long");
	u64 before = clock_monotonic_ns();
	ok(before && clock_monotonic_ns() >= before, "time goes on");
}

static const char *json_of(const char *s, size_t len)
{
	static char copy[256];
	struct strbuf b;
	struct json j;
	strbuf_init(&b);
	json_begin(&j, &b, JSON_COMPACT);
	json_strn(&j, s, len);
	snprintf(copy, sizeof(copy), "%s", json_end(&j) ? "error" : strbuf_cstr(&b));
	copy[strcspn(copy, "\n")] = 0;
	strbuf_done(&b);
	return copy;
}

static void test_json_strings(void)
{
	is_str(json_of("a\"b\\c/", 6), "\"a\\\"b\\\\c/\"", "quotes");
	is_str(json_of("\b\t\n\v\f\r\x01", 7), "\"\\b\\t\\n\\u000b\\f\\r\\u0001\"",
	       "control characters");
	is_str(json_of("a\0b", 3), "\"a\\u0000b\"", "NUL");
	is_str(json_of("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7", 9),
	       "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xa7\"", "UTF-8");
#define BAD "\xef\xbf\xbd"
	is_str(json_of("\xff", 1), "\"" BAD "\"", "no first byte");
	is_str(json_of("\xc3", 1), "\"" BAD "\"", "cut off");
	is_str(json_of("\xe2\x82x", 3), "\"" BAD "x\"", "one for the broken sequence");
	is_str(json_of("\xc0\x80", 2), "\"" BAD BAD "\"", "overlong");
	is_str(json_of("\xed\xa0\x80", 3), "\"" BAD BAD BAD "\"", "a surrogate");
	is_str(json_of("\xf4\x90\x80\x80", 4), "\"" BAD BAD BAD BAD "\"", "beyond Unicode");
}

static void test_json_doubles(void)
{
	static const double values[] = { 0,	0.1,	1.0 / 3,
					 1e300, 5e-324, 123456789.123456789,
					 -0.5,	1e21,	9007199254740993.0 };
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct strbuf b;
		struct json j;
		strbuf_init(&b);
		json_begin(&j, &b, JSON_COMPACT);
		json_double(&j, values[i]);
		ok(!json_end(&j) && strtod(strbuf_cstr(&b), NULL) == values[i], "%.17g reads back",
		   values[i]);
		strbuf_done(&b);
	}
}

static void test_json_nesting(void)
{
	struct strbuf b;
	struct json j;
	strbuf_init(&b);
	json_begin(&j, &b, JSON_COMPACT);
	json_object(&j);
	json_put_u64(&j, "a", UINT64_MAX);
	json_put_s64(&j, "b", INT64_MIN);
	json_key(&j, "c");
	json_array(&j);
	json_null(&j);
	json_bool(&j, true);
	json_double(&j, NAN);
	json_str(&j, NULL);
	json_array(&j);
	json_array_end(&j);
	json_array_end(&j);
	json_put_bool(&j, "d", false);
	json_put_double(&j, "e", 0.1);
	json_object_end(&j);
	ok(!json_end(&j), "nested values");
	is_str(strbuf_cstr(&b),
	       "{\"a\":18446744073709551615,\"b\":-9223372036854775808,\"c\":[null,true,null,null,["
	       "]],\"d\":false,\"e\":0.1}\n",
	       "compact");
	strbuf_reset(&b);
	json_begin(&j, &b, JSON_PRETTY);
	json_object(&j);
	json_put_str(&j, "k", "v");
	json_key(&j, "l");
	json_array(&j);
	json_u64(&j, 1);
	json_u64(&j, 2);
	json_array_end(&j);
	json_object_end(&j);
	ok(!json_end(&j), "pretty");
	is_str(strbuf_cstr(&b), "{\n  \"k\": \"v\",\n  \"l\": [\n    1,\n    2\n  ]\n}\n",
	       "indented");
	strbuf_done(&b);
}

/* script: { } [ ] k(ey) v(alue) */
static int json_script(const char *script)
{
	struct strbuf b;
	struct json j;
	strbuf_init(&b);
	json_begin(&j, &b, JSON_COMPACT);
	for (; *script; script++) {
		switch (*script) {
		case '{': json_object(&j); break;
		case '}': json_object_end(&j); break;
		case '[': json_array(&j); break;
		case ']': json_array_end(&j); break;
		case 'k': json_key(&j, "k"); break;
		default: json_u64(&j, 1);
		}
	}
	int err = json_end(&j);
	strbuf_done(&b);
	return err;
}

static void test_json_misuse(void)
{
	static const char *const bad[] = { "",	  "{",	 "[", "}",   "]",  "{]",    "[}",   "{v}",
					   "{k}", "{kk", "k", "[k]", "vv", "{kv}v", "{kvv}" };
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ok(json_script(bad[i]) == -EINVAL, "'%s' is no JSON", bad[i]);
	ok(!json_script("{kvk[v{}]}") && !json_script("v") && !json_script("[]"), "these are");
	char deep[2 * JSON_DEPTH_MAX + 3] = "";
	memset(deep, '[', JSON_DEPTH_MAX);
	memset(deep + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	ok(!json_script(deep), "64 levels");
	memset(deep, '[', JSON_DEPTH_MAX + 1);
	ok(json_script(deep) == -E2BIG, "65 levels");
}

static void printable_is(const char *text, unsigned flags, const char *want, const char *name)
{
	struct strbuf b;
	strbuf_init(&b);
	ok(printable_add(&b, text, strlen(text), flags) == strlen(text), "all of it is used");
	is_str(strbuf_cstr(&b), want, name);
	strbuf_done(&b);
}

static void test_printable(void)
{
	printable_is("plain \xc3\xa4 \xe2\x86\x92", 0, "plain \xc3\xa4 \xe2\x86\x92", "text stays");
	printable_is("a\033]0;x\a\r\n\tb\x7f", 0, "a\\x1b]0;x\\x07\\r\\n\\tb\\x7f", "controls");
	printable_is("a\n\tb\r", PRINTABLE_LINES, "a\n\tb\\r", "lines");
	printable_is("\xc2\x9b"
		     "1m\x9b"
		     "1m\xff",
		     0, "\\x9b1m\\x9b1m\\xff", "C1, as a character and as a byte");
	printable_is("\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8", 0, "\\u202e\\u2066\\u2028",
		     "direction of text");
	printable_is("\033[31mr\033[m\033[8mh\033[31", PRINTABLE_COLOURS,
		     "\033[31mr\033[m\\x1b[8mh\\x1b[31", "our colours, no others");
	printable_is("\xc3\xa4", PRINTABLE_ASCII, "\\xc3\\xa4", "ASCII only");
	printable_is("\xe2\x86", 0, "\\xe2\\x86", "a character that is cut");
}

/* Whatever the pieces, the same text comes out. */
static void test_printable_stream(void)
{
	static const char text[] = "a\xe2\x86\x92\033[31mr\033[m\033[8m\xc2\x9b\xc3\xa4\033[3";
	static const char want[] = "a\xe2\x86\x92\033[31mr\033[m\\x1b[8m\\x9b\xc3\xa4\\x1b[3";
	unsigned flags = PRINTABLE_LINES | PRINTABLE_COLOURS, same = 0;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct printable_stream p = { 0 };
		char got[128] = "";
		int fds[2];
		if (pipe(fds))
			break;
		for (size_t at = 0; at < sizeof(text) - 1; at += piece)
			if (printable_write(&p, fds[1], text + at,
					    min(piece, sizeof(text) - 1 - at), flags))
				break;
		if (!printable_end(&p, fds[1], flags) && read(fds[0], got, sizeof(got) - 1) > 0)
			same += !strcmp(got, want);
		close(fds[0]);
		close(fds[1]);
	}
	ok(same == sizeof(text) - 1, "cut into pieces of any size");
}

static void test_leb(void)
{
	static const u8 large[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 },
			beyond[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02 },
			minus[] = { 0x40 }, plus[] = { 0xc0, 0x00 };
	struct bytes b = bytes_of(large, sizeof(large), false);
	ok(bytes_uleb(&b) == UINT64_MAX && !b.bad, "the largest LEB128 number");
	b = bytes_of(beyond, sizeof(beyond), false);
	ok((bytes_uleb(&b), b.bad), "one that has a 65th bit");
	b = bytes_of(minus, sizeof(minus), false);
	ok(bytes_sleb(&b) == -64 && !b.bad, "a negative one");
	b = bytes_of(plus, sizeof(plus), false);
	ok(bytes_sleb(&b) == 64 && !b.bad, "the same bits, positive");
}

static void test_ini(void)
{
	struct ini c;
	struct diag d;
	struct strbuf s;
	diag_init(&d);
	strbuf_init(&s);
	ini_init(&c);
	int err = ini_parse(&c, "[A]\nx = 1 ; one\ny = \"2 ; # two\" # more\nz\n[a \"B\"]\nx = 3\n",
			    "f", &d);
	ok(!err && !d.items.nr, "settings without a fault");
	is_str(ini_get(&c, "a.x"), "1", "a comment behind a semicolon");
	is_str(ini_get(&c, "a.y"), "2 ; # two", "none inside of quotes");
	is_str(ini_get(&c, "a.z"), "true", "a name alone");
	is_str(ini_get(&c, "a.B.x"), "3", "a part of a section");
	ok(!ini_get(&c, "a.w"), "what is not there");
	ini_edit("[a]\n\tx = 1\n# c\n", "a.x", "2", &s);
	is_str(strbuf_cstr(&s), "[a]\n\tx = 2\n# c\n", "one line changes");
	ini_done(&c);
	strbuf_done(&s);
	diag_done(&d);
}

static void test_path(void)
{
	char to[8] = "before";
	ok(!str_path(to, sizeof(to), "%s/%d", "abcd", 12), "a path that just fits");
	is_str(to, "abcd/12", "is whole");
	ok(str_path(to, sizeof(to), "%s/%d", "abcde", 12) == -ENAMETOOLONG, "one that does not");
	is_str(to, "", "is not there in part");
}

int main(void)
{
	test_path();
	test_printable();
	test_printable_stream();
	test_glob();
	test_leb();
	test_ini();
	test_cpuset();
	test_clock();
	test_json_strings();
	test_json_doubles();
	test_json_nesting();
	test_json_misuse();
	test_clock_names();
	return done_testing();
}
