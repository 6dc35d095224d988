/* wire/print_fmt without an oracle: what C's printf and the kernel's macros mean, hostile texts, short payloads. */
#include "wire/format.h"
#include "wire/print_fmt.h"
#include "tap.h"

#include <errno.h>

static const char head[] = "name: zz\nID: 99\nformat:\n"
			   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			   "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			   "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
			   "\tfield:u8 b[16];\toffset:16;\tsize:16;\tsigned:0;\n"
			   "\tfield:int i;\toffset:32;\tsize:4;\tsigned:1;\n"
			   "\tfield:s16 h;\toffset:36;\tsize:2;\tsigned:1;\n"
			   "\tfield:s8 c;\toffset:38;\tsize:1;\tsigned:1;\n"
			   "\tfield:char s[8];\toffset:40;\tsize:8;\tsigned:0;\n"
			   "\tfield:__data_loc char[] d;\toffset:48;\tsize:4;\tsigned:0;\n"
			   "\tfield:__rel_loc u16[] q;\toffset:52;\tsize:4;\tsigned:0;\n"
			   "\tfield:unsigned int u;\toffset:56;\tsize:4;\tsigned:0;\n"
			   "\nprint fmt: ";

static const u8 little[] = {
	99,   0,    0,	  0,	1,    0,    0,	  0,	8,    0x10, 0,	  0,	0,    0,    0,
	0,    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
	0xee, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xfd, 0xff, 0xfc, 0,    'a',  'b',	'c',  'd',  'e',
	'f',  0,    0,	  60,	0,    6,    0,	  10,	0,    4,    0,	  0x41, 0,    0,    0,
	'h',  'e',  'l',  'l',	'o',  0,    1,	  2,	3,    4,    0,	  0,
};

static const char *symbol(void *ctx, u64 addr, u64 *offset)
{
	*offset = addr - 0x1000;
	return addr >= 0x1000 && addr < 0x2000 ? "func" : NULL;
}

static const char *string_at(void *ctx, u64 addr)
{
	return addr == 0x1008 ? "at %d of %s|%5.1f" : NULL;
}

static bool eval(void *ctx, const char *name, size_t len, s64 *value)
{
	*value = 250;
	return len == 2 && !memcmp(name, "HZ", 2);
}

static const struct print_env env = { .symbol = symbol, .string_at = string_at, .eval = eval };

static struct strbuf out;

static const char *print(const char *fmt, const u8 *raw, u32 size, bool big, u8 long_size, int *err)
{
	struct arena a;
	struct strbuf text;
	arena_init(&a);
	strbuf_init(&text);
	strbuf_str(&text, head);
	strbuf_str(&text, fmt);
	struct schema *s;
	const struct print_prog *prog;
	bool whole;
	strbuf_reset(&out);
	*err = format_parse(&a, "test", text.data, text.len, big, long_size, &s, NULL);
	if (!*err)
		*err = print_prog_compile(&a, s, &env, PRINT_STYLE_KERNEL, &prog, &whole, NULL);
	if (!*err)
		*err = print_prog_run(prog, raw, size, &out);
	strbuf_done(&text);
	arena_done(&a);
	return strbuf_cstr(&out);
}

static void test_conversions(void)
{
	static const struct {
		const char *fmt, *want;
	} rows[] = {
		{ "\"plain 100%%\"", "plain 100%" },
		{ "\"%d %u %x %X %o\", REC->u, REC->u, REC->u, 0xab, 8", "65 65 41 AB 10" },
		{ "\"%d %hd %hhd %lld\", REC->i, REC->h, REC->c, (long long)REC->i",
		  "-2 -3 -4 -2" },
		{ "\"%u %hhu\", REC->i, REC->c", "4294967294 252" },
		{ "\"[%5d|%-5d|%05d|%+d|% d|%.3d|%8.3x]\", REC->i, REC->i, REC->i, 7, 7, 7, 7",
		  "[   -2|-2   |-0002|+7| 7|007|     007]" },
		/* These run as rows, the same beside a blank-padded number as programs. */
		{ "\"%03d|%03u|%05d|%02d|%08llu\", REC->i, REC->u, REC->h, REC->u, REC->ip",
		  "-02|065|-0003|65|00004104" },
		{ "\"%03d|%03u|%05d|%02d|%08llu%2d\", REC->i, REC->u, REC->h, REC->u, REC->ip, 1",
		  "-02|065|-0003|65|00004104 1" },
		{ "\"%03u|%03llu|%03lld\", REC->i, REC->i, REC->i",
		  "4294967294|18446744073709551614|-02" },
		{ "\"%03u|%03llu|%03lld%2d\", REC->i, REC->i, REC->i, 1",
		  "4294967294|18446744073709551614|-02 1" },
		{ "\"%s|%d\", __get_str(d), REC->u", "hello|65" },
		{ "\"%s|%d|%2d\", __get_str(d), REC->u, 1", "hello|65| 1" },
		{ "\"%s|%d\", __get_rel_str(q), REC->u", "\1\2\3\4|65" },
		{ "\"%#x %#o %#x\", 255, 8, 0", "0xff 010 0" },
		{ "\"%llu %d\", (u64)(typeof(REC->h))REC->i, (typeof(int))REC->u",
		  "18446744073709551614 65" },
		{ "\"%d %d\", __builtin_types_compatible_p(typeof(REC->h), s16), "
		  "__builtin_types_compatible_p(typeof(REC->h), int)",
		  "1 0" },
		{ "\"%*d|%-*d|\", 4, 7, 4, 7", "   7|7   |" },
		{ "\"%c%c%c\", REC->u, 'B', '\\n'", "AB\n" },
		{ "\"[%s|%10s|%-8s|%.3s|%.*s]\", REC->s, REC->s, REC->s, REC->s, 2, REC->s",
		  "[abcdef|    abcdef|abcdef  |abc|ab]" },
		{ "\"%s %s\", __get_str(d), \"lit\" \"eral\"", "hello literal" },
		{ "\"%d %d\", __get_dynamic_array_len(d), __get_rel_dynamic_array_len(q)", "6 4" },
		{ "\"%x %x\", ((u16 *)__get_rel_dynamic_array(q))[0], REC->b[3]", "201 33" },
		{ "\"%s\", __print_hex(REC->b, 3)", "00 11 22" },
		{ "\"%s %s\", __print_hex_str(REC->b, 3), "
		  "__print_array(__get_rel_dynamic_array(q), 2, 2)",
		  "001122 513 1027" },
		{ "\"%s\", __print_flags(REC->u, \"|\", { 1, \"A\" }, { 0x40, \"B\" }, { 2, \"C\" "
		  "})",
		  "A|B" },
		{ "\"[%6s]\", __print_flags(REC->u, \"|\", { 1, \"A\" }, { 0x40, \"B\" })",
		  "[   A|B]" },
		{ "\"%s %s\", __print_symbolic(REC->u, { 0x41, \"X\" }), __print_symbolic(REC->u, "
		  "{ UNKNOWN, \"X\" })",
		  "X 0x41" },
		{ "\"%s\", __print_symbolic(REC->i, { -2, \"minus two\" }, { 0, ((void *)0) })",
		  "minus two" },
		{ "\"%s %s\", REC->u > 3 ? \"more\" : \"less\", REC->i < 0 ? \"neg\" : \"pos\"",
		  "more neg" },
		{ "\"%d %d\", REC->u - 60 - 5 + 1, REC->u & (1 | 2)", "1 1" },
		{ "\"%d\", REC->u == 1 ? 10 : REC->u == 0x41 ? 20 : 30", "20" },
		{ "\"%d %u\", REC->i / 2, (unsigned)REC->i / 2", "-1 2147483647" },
		{ "\"%d\", (REC->i >> 1) + !REC->u + ~0", "-2" },
		{ "\"%llx\", (u64)REC->u << 32 | 5ULL", "4100000005" },
		{ "\"%pS %ps %p %px %pK\", REC->ip, REC->ip, REC->ip, REC->ip, 0",
		  "func+0x8 func 0x1008 0x1008 (nil)" },
		{ "\"%pI4 %pi4 %pI6c\", REC->b, REC->b, REC->b",
		  "0.17.34.51 000.017.034.051 11:2233:4455:6677:8899:aabb:ccdd:eeff" },
		{ "\"%pM %pMR %pm %pMF\", REC->b, REC->b, REC->b, REC->b",
		  "00:11:22:33:44:55 55:44:33:22:11:00 001122334455 00-11-22-33-44-55" },
		{ "\"%pUb %pUL\", REC->b, REC->b",
		  "00112233-4455-6677-8899-aabbccddeeff 33221100-5544-7766-8899-AABBCCDDEEFF" },
		{ "\"%*ph %*phC %*phN\", 3, REC->b, 3, REC->b, 3, REC->b",
		  "00 11 22 00:11:22 001122" },
		{ "\"%*pbl %*pb\", 16, &REC->u, 16, &REC->u", "0,6 00000041" },
		{ "\"%pI4 %x\", &REC->u, *(u16 *)REC->b", "65.0.0.0 1100" },
		{ "\"%u %u\", jiffies_to_msecs(REC->u), jiffies_to_usecs(2)", "260 8000" },
		{ "\"%llu.%06u\", __print_ns_to_secs(1500000000ULL), "
		  "__print_ns_without_secs(1500000000ULL)",
		  "1.500000" },
		{ "\"%d\", ({ int x_ = (REC->u); int y_ = (64); ((x_) < (y_) ? (x_) : (y_)); })",
		  "64" },
		{ "\"%d %zu\", __builtin_choose_expr(1, 5, 6), sizeof(REC->b) / sizeof(u32)",
		  "5 4" },
		{ "\"%d %d\", ntohs(0x1234), __builtin_expect(!!(REC->u), 1)", "13330 1" },
		{ "\"age %lu of %d\", (jiffies - REC->ip) / 250, REC->u", "age ? of 65" },
		{ "\"%d\", REC->u / 0", "0" },
		{ "\"(%s)\", scsi_trace_parse_cdb(p, REC->b, 16)", "(-)" },
		{ "\"%s%s\", xen_hypercall_name(1), xen_hypercall_name(60)", "(mmu_update)" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int err;
		const char *got = print(rows[i].fmt, little, sizeof(little), false, 8, &err);
		is_str(got, rows[i].want, rows[i].fmt);
		if (err)
			ok(false, "error %d", err);
	}
}

static const char by_field[] = "[FAILED TO PARSE] ip=0x1008 b= i=-2 h=-3 c=-4 s=abcdef d=hello "
			       "q=ARRAY[01, 02, 03, 04] u=65";

static void test_fallback(void)
{
	static const char *const texts[] = {
		"",
		"\"%d\"",
		"\"%d %d\", REC->u",
		"\"%d\", REC->nosuch",
		"\"%v\", REC->u",
		"\"%s\", show_me(REC->u)",
		"\"%d",
		"\"%d\", (REC->u",
		"\"%d\", REC->u +",
		"\"a\" REC->u",
		"\"%s\", __get_str(u)",
		"\"%d\", \"text\"",
		"\"%s\", __print_flags(REC->u, \"|\", { REC->u, \"A\" })",
		"REC->u",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int err;
		is_str(print(texts[i], little, sizeof(little), false, 8, &err), by_field, texts[i]);
	}
}

static void test_machines(void)
{
	u8 big[sizeof(little)];
	int err;
	memcpy(big, little, sizeof(big));
	memcpy(big + 32, (u8[]){ 0xff, 0xff, 0xff, 0xfe, 0xff, 0xfd }, 6);
	memcpy(big + 48, (u8[]){ 0, 6, 0, 60, 0, 4, 0, 10, 0, 0, 0, 0x41 }, 12);
	is_str(print("\"%d %hd %s %x %u\", REC->i, REC->h, __get_str(d), ((u16 "
		     "*)__get_rel_dynamic_array(q))[0], ntohs(5)",
		     big, sizeof(big), true, 8, &err),
	       "-2 -3 hello 102 5", "a big-endian record");
	is_str(print("\"%ld %lu %lx\", (long)REC->i, ~0UL, (unsigned long)REC->ip", little,
		     sizeof(little), false, 4, &err),
	       "-2 4294967295 1008", "32-bit longs");
}

static void test_short(void)
{
	int err;
	is_str(print("\"%d %s %d\", REC->i, __get_str(d), REC->u", little, 40, false, 8, &err),
	       "-2  0", "a short payload reads as zero");
	is_u64((u64)-err, EBADMSG, "and says so");
	is_str(print("\"%s|%d\", __get_str(d), REC->u", little, 62, false, 8, &err), "he|65",
	       "a string that is cut off");
	is_u64((u64)-err, EBADMSG, "and says so");
	u8 longer[sizeof(little) + 30];
	memset(longer, 'x', sizeof(longer));
	memcpy(longer, little, 60);
	longer[50] = sizeof(longer) - 60;
	is_str(print("\"%s|%d\", __get_str(d), REC->u", longer, sizeof(longer), false, 8, &err),
	       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx|65", "a string longer than a row takes");
	is_u64((u64)-err, 0, "which is none the worse");
	for (u32 size = 0; size < sizeof(little); size++) {
		(void)print("\"%s %s %d %pU %s\", REC->s, __get_str(d), REC->u, REC->b, "
			    "__print_hex(REC->b, 200)",
			    little, size, false, 8, &err);
		if (err != -EBADMSG)
			ok(size > 60, "size %u: %d", size, err);
	}
}

static void test_hostile(void)
{
	struct strbuf b;
	int err;
	strbuf_init(&b);
	strbuf_str(&b, "\"%d\", ");
	strbuf_fill(&b, '(', 100000);
	is_str(print(strbuf_cstr(&b), little, sizeof(little), false, 8, &err), by_field,
	       "100,000 parentheses");
	strbuf_reset(&b);
	strbuf_str(&b, "\"%d\", ");
	strbuf_fill(&b, '-', 100000);
	is_str(print(strbuf_cstr(&b), little, sizeof(little), false, 8, &err), by_field,
	       "100,000 minus signs");
	strbuf_reset(&b);
	strbuf_str(&b, "\"%d\", REC->u");
	for (unsigned i = 0; i < 20000; i++)
		strbuf_str(&b, "|REC->i");
	is_str(print(strbuf_cstr(&b), little, sizeof(little), false, 8, &err), by_field,
	       "a sum of 20,000 terms");
	strbuf_reset(&b);
	strbuf_str(&b, "\"%d\", ");
	for (unsigned i = 0; i < 60; i++)
		strbuf_str(&b, "min(");
	strbuf_str(&b, "REC->u");
	for (unsigned i = 0; i < 60; i++)
		strbuf_str(&b, ", 7)");
	is_str(print(strbuf_cstr(&b), little, sizeof(little), false, 8, &err), by_field,
	       "60 nested min(), 2^60 evaluations");
	static const char *const nests[] = { "(typeof(", "(typeof((", "sizeof(typeof(",
					     "(__typeof__(" };
	for (unsigned n = 0; n < ARRAY_SIZE(nests); n++) {
		strbuf_reset(&b);
		strbuf_str(&b, "\"%d\", ");
		for (unsigned i = 0; i < 5000; i++)
			strbuf_str(&b, nests[n]);
		is_str(print(strbuf_cstr(&b), little, sizeof(little), false, 8, &err), by_field,
		       "5,000 nested typeof: nothing is read twice");
	}
	is_str(print("\"%2000000000d\", REC->u", little, sizeof(little), false, 8, &err) + 1020,
	       "  65", "widths are bounded");
	strbuf_done(&b);
}

/* ---- layouts ---- */

static void test_layout(const char *system, const char *text, const u8 *raw, u32 size,
			enum print_style style, const char *want)
{
	struct arena a;
	arena_init(&a);
	struct schema *s = NULL;
	const struct print_prog *prog;
	bool whole = false;
	strbuf_reset(&out);
	if (!format_parse(&a, system, text, strlen(text), false, 8, &s, NULL) &&
	    !print_prog_compile(&a, s, &env, style, &prog, &whole, NULL))
		(void)print_prog_run(prog, raw, size, &out);
	is_str(strbuf_cstr(&out), want, s ? s->name : system);
	arena_done(&a);
}

static const char sched_switch[] =
	"name: sched_switch\nID: 1\nformat:\n\tfield:int "
	"common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s "
	"next_pid=%d next_prio=%d\", "
	"REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & ((((0x00000000 | "
	"0x00000001 | 0x00000002 | "
	"0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) ? "
	"__print_flags(REC->prev_state & "
	"((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "
	"0x00000020 | 0x00000040) + 1) << "
	"1) - 1), \"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, { "
	"0x00000008, \"t\" }, { "
	"0x00000010, \"X\" }, { 0x00000020, \"Z\" }, { 0x00000040, \"P\" }, { 0x00000080, \"I\" }) "
	": \"R\", REC->prev_state & "
	"(((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "
	"0x00000020 | 0x00000040) + 1) << 1) "
	"? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio\n";

static void test_sched_switch(void)
{
	u8 raw[64] = { 1 };
	memcpy(raw + 8, "kworker/0:1", 11);
	memcpy(raw + 40, "0123456789abcdef", 16); /* no NUL */
	raw[24] = 17;
	raw[28] = 120;
	raw[32] = 128;
	raw[60] = 98;
	test_layout("sched", sched_switch, raw, 64, PRINT_STYLE_KERNEL,
		    "prev_comm=kworker/0:1 prev_pid=17 prev_prio=120 prev_state=I ==> "
		    "next_comm=0123456789abcdef next_pid=0 next_prio=98");
	test_layout("sched", sched_switch, raw, 64, PRINT_STYLE_TRACE_CMD,
		    "kworker/0:1:17 [120] I ==> 0123456789abcdef:0 [98]");
	raw[32] = 0;
	raw[33] = 1; /* preempted */
	test_layout("sched", sched_switch, raw, 64, PRINT_STYLE_KERNEL,
		    "prev_comm=kworker/0:1 prev_pid=17 prev_prio=120 prev_state=R+ ==> "
		    "next_comm=0123456789abcdef next_pid=0 next_prio=98");
	test_layout("sched", sched_switch, raw, 64, PRINT_STYLE_TRACE_CMD,
		    "kworker/0:1:17 [120] R ==> 0123456789abcdef:0 [98]");
}

static void test_attach(void)
{
	struct arena a;
	struct schema *s;
	const u8 raw[64] = { [8] = 'a', [24] = 5, [40] = 'b' };
	arena_init(&a);
	strbuf_reset(&out);
	if (ok(!format_parse(&a, "sched", sched_switch, sizeof(sched_switch) - 1, false, 8, &s,
			     NULL) &&
		       !print_attach(&a, s, &env, PRINT_STYLE_TRACE_CMD, NULL),
	       "attach")) {
		(void)s->ops->print(s, raw, sizeof(raw), &out);
		(void)s->ops->print_fields(s, raw, sizeof(raw), &out);
	}
	is_str(strbuf_cstr(&out),
	       "a:5 [0] R ==> b:0 [0] prev_comm=a prev_pid=5 prev_prio=0 prev_state=0 next_comm=b "
	       "next_pid=0 next_prio=0",
	       "a schema prints through its ops");
	arena_done(&a);
}

static void test_bprint(void)
{
	static const char text[] = "name: bprint\nID: 6\nformat:\n\tfield:int "
				   "common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
				   "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
				   "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
				   "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n\n"
				   "print fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n";
	u8 raw[36] = { [9] = 0x10, [16] = 8, [17] = 0x10, [24] = 42, [28] = 'm', 'a', 'n', 'y' };
	test_layout("ftrace", text, raw, 36, PRINT_STYLE_KERNEL, "func: at 42 of many|%5.1f");
	raw[16] = 9;
	test_layout("ftrace", text, raw, 36, PRINT_STYLE_KERNEL,
		    "func: (NO FORMAT FOUND at 1009)\n");
}

int main(void)
{
	strbuf_init(&out);
	test_conversions();
	test_fallback();
	test_machines();
	test_short();
	test_hostile();
	test_sched_switch();
	test_bprint();
	test_attach();
	strbuf_done(&out);
	return done_testing();
}
