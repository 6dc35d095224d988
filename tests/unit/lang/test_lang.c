/* Scripts through the compiler: values that begin blocks compute in the kernel, programs of all providers loaded, messages. */
#include "load.h"

#include "tap.h"

struct result {
	struct program p;
	struct diag d;
	int err;
};

static int tracepoint(void *ctx, const char *system, const char *name, const struct schema **ret)
{
	static const struct schema_field fields[] = {
		{ .name = "common_type", .type = "unsigned short", .offset = 0, .size = 2 },
		{ .name = "nr", .type = "int", .offset = 8, .size = 4, .flags = FIELD_SIGNED },
		{ .name = "dfd", .type = "int", .offset = 16, .size = 8, .flags = FIELD_SIGNED },
		{ .name = "filename",
		  .type = "const char *",
		  .offset = 24,
		  .size = 8,
		  .flags = FIELD_POINTER },
		{ .name = "comm",
		  .type = "char[16]",
		  .offset = 32,
		  .size = 16,
		  .elem_size = 1,
		  .nr_elems = 16,
		  .flags = FIELD_ARRAY | FIELD_STRING },
		{ .name = "where",
		  .type = "__data_loc char[]",
		  .offset = 48,
		  .size = 4,
		  .flags = FIELD_DATA_LOC | FIELD_STRING },
		{ .name = "odd", .type = "u32", .offset = 54, .size = 4 },
		{ .name = "address",
		  .type = "u8[4]",
		  .offset = 60,
		  .size = 4,
		  .elem_size = 1,
		  .nr_elems = 4,
		  .flags = FIELD_ARRAY },
	};
	static const struct schema s = { .fields = fields, .nr_fields = 8 };
	(void)ctx;
	if (strcmp(system, "syscalls") || strcmp(name, "sys_enter_openat"))
		return -ENOENT;
	*ret = &s;
	return 0;
}

static void compile(struct result *r, const char *text)
{
	static const struct lang_ops ops = { .tracepoint = tracepoint };
	static const char *const params[] = { "42", "--level=7", "text", "--fast" };
	struct lang_input in = { .text = text,
				 .len = strlen(text),
				 .ops = &ops,
				 .params = params,
				 .nr_params = 4,
				 .callbacks = !strstr(text, "// safe"),
				 .allow_unsafe = !strstr(text, "// safe") };
	diag_init(&r->d);
	r->err = lang_compile(&in, &r->p, &r->d);
}

static void done(struct result *r)
{
	program_done(&r->p);
	diag_done(&r->d);
}

static void show(const struct diag *d)
{
	struct strbuf s;
	strbuf_init(&s);
	diag_render(d, "test", false, &s);
	printf("#   %s\n", strbuf_cstr(&s));
	strbuf_done(&s);
}

static bool may_load(void)
{
	struct result r;
	struct loaded l;
	compile(&r, "begin { @x = 1 }");
	int err = load_program(&r.p, &l);
	unload(&l);
	done(&r);
	return err != -EPERM;
}

/* Runs the begin block and takes the word at the start of @x. */
static int run_for_x(const char *script, u64 *ret)
{
	struct result r;
	struct loaded l = { 0 };
	u64 value[256] = { 0 };
	u32 key = 0;
	compile(&r, script);
	int err = r.err;
	if (err)
		show(&r.d);
	if (!err)
		err = load_program(&r.p, &l);
	if (!err)
		err = run_code(&l, 0);
	for (u32 i = 0; !err && i < r.p.maps.nr; i++)
		if (!strcmp(r.p.maps.at[i].name, "@x"))
			err = map_read(&l, i, &key, value);
	*ret = value[0];
	unload(&l);
	done(&r);
	return err;
}

static const struct {
	const char *script;
	s64 want;
} values[] = {
	{ "begin { @x = 1 + 2 * 3 }", 7 },
	{ "BEGIN { @x = (1 + 2) * 3; }", 9 },
	{ "begin { $a = 7; $b = -2; @x = $a / $b }", -3 },
	{ "begin { $a = -7; $b = 2; @x = $a % $b }", -1 },
	{ "begin { $a = 7; $b = 0; @x = $a / $b }", 0 },
	{ "begin { $a = -7; $b = 0; @x = $a % $b }", -7 },
	{ "begin { $a = (uint64)18446744073709551615; @x = $a / 2 }", INT64_MAX },
	{ "begin { $a = 1; @x = $a << 65 }", 2 },
	{ "begin { @x = -1 < 1 ? 10 : 20 }", 10 },
	{ "begin { $a = (uint64)0; @x = $a - 1 < 0 }", 1 },
	{ "begin { @x = (uint8)300 }", 44 },
	{ "begin { $a = 200; @x = (int8)$a }", -56 },
	{ "begin { @x = 0x10 + 010 + 1_000 + 1e3 }", 16 + 8 + 1000 + 1000 },
	{ "begin { @x = 5ms }", 5000000 },
	{ "begin { @x = 3; @x++; ++@x; @x--; @x += 10; @x -= 4; @x *= 2 }", 20 },
	{ "begin { @y = 3; @x = @y++ * 10 + @y }", 34 },
	{ "begin { @y = 3; @x = ++@y * 10 + @y }", 44 },
	{ "begin { @m[1, \"a\"] = 5; @m[1, \"a\"] += 2; @m[1, \"b\"]++; @x = @m[1, \"a\"] * 10 + "
	  "@m[1, \"b\"] }",
	  71 },
	{ "begin { @m[\"k\"] = 1; delete(@m[\"k\"]); @x = has_key(@m, \"k\") ? 1 : 2 }", 2 },
	{ "begin { @m[3] = 0; @x = has_key(@m, 3) ? 1 : 2 }", 1 },
	{ "begin { @m[3] = 1; @x = delete(@m, 3) ? 1 : 2 }", 1 },
	{ "begin { @x = @y; @y = 1 }", 0 },
	{ "begin { $s = \"abc\"; @x = $s == \"abc\" }", 1 },
	{ "begin { $s = \"abcdefgh\"; @x = $s == \"abcdefg\" }", 0 },
	{ "begin { $s = \"a long string of more than eight bytes\"; $t = $s; @x = $s == $t && $s "
	  "!= \"b\" }",
	  1 },
	{ "begin { @s[1] = \"one\"; @s[2] = \"longer than one\"; @x = @s[1] == \"one\" }", 1 },
	{ "begin { @x = strncmp(\"abcdefghij\", \"abcdefghix\", 9) }", 0 },
	{ "begin { @x = strncmp(\"abcdefghij\", \"abcdefghix\", 10) }", 1 },
	{ "begin { $t = (1, \"two\", (3, 4)); @x = $t.0 * 100 + $t.2.1 }", 104 },
	{ "begin { @t = (1, 2); $t = @t; @x = $t.1 }", 2 },
	{ "begin { if (1 == 2) { @x = 1 } else if (2 == 2) { @x = 2 } else { @x = 3 } }", 2 },
	{ "begin { $i = 0; while ($i < 10) { $i++; if ($i == 3) { continue } if ($i == 7) { break "
	  "} @x += $i } }",
	  1 + 2 + 4 + 5 + 6 },
	{ "begin { for ($i : 2..6) { @x += $i } }", 14 },
	{ "begin { unroll (4) { @x++ } }", 4 },
	{ "begin { $n = 70000; let $a: uint16 = $n; @x = $a }", 70000 - 65536 },
	{ "begin { if (1 == 1) { $v = 1; @x = $v; } else { $v = \"text\"; print($v); } for ($v : "
	  "0..2) { @x += 10; } }",
	  21 },
	{ "begin { if (pid > 0) { $v = 5; } else { $v = 6; } @x = $v }", 5 },
	{ "begin { $v = 1; { $v = 2; $w = \"a\"; print($w); } $w = 3; @x = $v * 10 + $w }", 23 },
	{ "begin { let $v = 1; if (pid) { let $v = \"own\"; print($v); } @x = $v }", 1 },
	{ "begin { if comptime (is_str(5)) { @x = \"a\" + 1; } else { @x = 4; } }", 4 },
	{ "begin { @x = 1; return; @x = 2 }", 1 },
	{ "begin { @x = 1; exit(); @x = 2 }", 1 },
	{ "begin /1 == 2/ { @x = 1 }", 0 },
	{ "begin /2\n > 1/\n{ @x = 1 }", 1 },
	{ "begin { @x = $1 + $# }", 44 },
	{ "begin { @x = str($2) == \"text\" }", 1 },
	{ "#define N 5\n#ifndef BPFTRACE_HAVE_BTF\n#include <x.h>\n#endif\nbegin { @x = N * N }",
	  25 },
	{ "begin { @x = 0 || 3 }", 1 },
	{ "begin { $z = 0; @x = $z ?: 9 }", 9 },
	{ "begin { @x = !0 && !(1 > 2) }", 1 },
	{ "begin { $a = 5; @x = ~$a }", -6 },
	{ "begin { @x = bswap((uint32)0x01020304) }", 0x04030201 },
	{ "begin { $a = 1; $b = 2; $c = 3; $d = 4; $e = 5; $f = 6; $g = 7; $h = nsecs > 0; "
	  "@x = $a + $b + $c + $d + $e + $f + $g + $h + cpu * 0 + $a + $b + $c + $d + $e + $f + $g "
	  "}",
	  57 },
	{ "begin { @c = count(); @c = count(); @x = @c + 1 }", 3 },
	{ "begin { @s[1] = sum(5); @s[1] = sum(-7); @x = (int64)@s[1] * 10 + (@s[2] == 0) }", -19 },
	{ "begin { @m = min(5); @m = min(3); @n = max(5); @n = max(9); @x = @m * 10 + @n }", 39 },
	{ "begin { @a = avg(4); @a = avg(8); if (@a > 5) { @x = @a } }", 6 },
	{ "begin { @x = strlen(\"abc\") * 10 + strlen(\"\") }", 30 },
	{ "begin { $s = \"a somewhat longer string than others\"; @x = strlen($s) }", 36 },
	{ "macro add(a, b) { a + b } begin { @x = add(2, 3) * 10 }", 50 },
	{ "macro twice($v) { $t = $v; $v = $t * 2 } begin { $t = 1; $n = 4; twice($n); @x = $n * "
	  "10 + $t }",
	  81 },
	{ "macro put(@m, k) { @m[k] = 7; @m[k] + 1 } begin { @x = put(@q, 3) + @q[3] }", 15 },
	{ "begin { @x = inc(inc(5)) } macro inc(a) { a + 1 }", 7 },
	{ "struct s { char a; int b; short c; void *d; char e[3]; }; begin { @x = sizeof(struct s) "
	  "* 100 + offsetof(struct s, d) }",
	  3216 },
	{ "struct s { int a : 3; int b : 30; union { long c; struct { int d, *e; }; }; } "
	  "__attribute__((packed)); "
	  "begin { @x = offsetof(struct s, e) * 100 + sizeof(struct s) }",
	  1321 },
	{ "struct t { char a; int b:5; int c:28; short d:9; char e; long f:40; long g:30; union { "
	  "short h; char i[5]; } u; }; "
	  "begin { @x = offsetof(struct t, e) * 10000 + offsetof(struct t, u) * 100 + "
	  "sizeof(struct t) }",
	  102032 },
	{ "struct l { struct l *next; u64 v; }; enum e { A, B = 5, C }; begin { $l = (struct l "
	  "*)8; @x = $l->next->v + C }",
	  6 },
	{ "begin { $s = \"where is the needle here\"; @x = strcontains($s, \"needle\") * 10 + "
	  "strcontains($s, \"needles\") + strcontains($s, \"\") * 100 }",
	  110 },
	{ "begin { @x = strcontains(\"aaaaab\", \"aab\") }", 1 },
	{ "begin { $e = 2; @x = strerror($e) == \"No such file or directory\" }", 1 },
	{ "begin { $e = -5; @x = strerror($e) == \"Unknown error\" && signal_name(9) == "
	  "\"SIGKILL\" }",
	  1 },
	{ "begin { @x = getopt(\"level\", 3, \"help\") * 10 + getopt(\"fast\") + getopt(\"other\", "
	  "5) * 100 }",
	  571 },
	{ "begin { @x = ncpus > 0 }", 1 },
	{ "begin { @m[1] = 10; @m[2] = 20; for ($kv : @m) { @x += $kv.0 * 100 + $kv.1 } }", 330 },
	{ "begin { @m[1] = 1; @m[2] = 2; @m[3] = 3; $n = 0; $s = \"\"; for ($kv : @m) { $n++; if "
	  "($kv.0 == 9) { continue } $s = \"seen\"; } "
	  "@x = $n * 10 + ($s == \"seen\") }",
	  31 },
	{ "begin { @m[1] = 1; @m[2] = 2; $n = 0; for ($kv : @m) { $n++; break } @x = $n }", 1 },
	{ "begin { @m[1] = 1; @m[2] = 2; for ($kv : @m) { @x++; return } @x = 100 }", 1 },
	{ "begin { @c[\"a\"] = count(); @c[\"a\"] = count(); @c[\"b\"] = count(); for ($kv : @c) { "
	  "if ($kv.0 == \"a\") { @x += $kv.1 * 10 } else { @x += $kv.1 } } }",
	  21 },
	{ "begin { @m[1, \"k\"] = \"one\"; $a = 7; for ($kv : @m) { @x = $kv.0.0 * 100 + ($kv.1 == "
	  "\"one\") * 10 + $a; $a = 8 } @x += $a }",
	  125 },
	{ "begin { @m = max((uint64)18446744073709551615); @m = max(-2); @m = max(3); @x = @m }", 3 },
	{ "begin { $a = str(0); $b = str(1); $c = str(2); $d = str(3); $e = str(4); $f = str(5); "
	  "$g = str(6); $h = str(7); $i = str(8); "
	  "@x = $a == $i && $b == $h && $c == $g && $d == $f && $e == $a }",
	  1 },
	{ "begin { for ($i : 0..100000) { @x += $i } }", 4999950000 },
	{ "begin { $n = 50; $s = 0; for ($i : 10..$n) { if ($i == 12) { continue } if ($i == 20) { "
	  "break } $s += $i; $i = 0 } @x = $s }",
	  10 + 11 + 13 + 14 + 15 + 16 + 17 + 18 + 19 },
	{ "begin { $n = -5; for ($i : 0..$n) { @x = 1 } for ($i : $n..$n + 2) { @x += $i * 10; } }",
	  -90 },
	{ "begin { for ($i : 0..1000) { @x++; if ($i == 4) { return } } @x = 7 }", 5 },
	{ "begin { @m[1] = 2; for ($i : 0..3) { for ($kv : @m) { @x += $kv.1 } } for ($i : 0..100) "
	  "{ for ($j : 0..10) { @x++ } } }",
	  1006 },
	{ "begin { @x = 5; return; for ($i : 0..1000) { @x++ } }", 5 },
	{ "begin { @x = strstr(\"where is it\", \"is\") * 10 + strstr(\"abc\", \"x\") }", 59 },
	{ "begin { $a = \"abcd\"; @x = memcmp($a, \"abce\", 4) * 10 + memcmp($a, \"abce\", 3) }",
	  -10 },
	{ "begin { $s = str_concat(\"ab\", \"cdefghijk\"); @x = ($s == \"abcdefghijk\") * 100 + "
	  "strlen($s) }",
	  111 },
	{ "begin { $s = strcap(\"abcdefghijkl\", 9); @x = ($s == \"abcdefghi\") * 100 + strlen($s) "
	  "}",
	  109 },
	{ "begin { $s = \"abc\"; $i = 2; @x = $s[0] * 1000 + $s[$i] }", 97 * 1000 + 99 },
	{ "begin { $s = \"abc\"; $i = 200; @x = $s[$i] }", 0 },
	{ "begin { $r = (a = 4, b = \"x\"); @x = $r.a * 10 + ($r.b == \"x\") }", 41 },
	{ "begin { @m[1] = (a = 1, b = (c = 7, d = 8)); @x = @m[1].b.d }", 8 },
	{ "begin { $t = (1, \"a\"); @x = ($t == (1, \"a\")) * 10 + ($t != (2, \"a\")) }", 11 },
	{ "fn add($a: int64, $b: int64): int64 { return $a + $b; } begin { @x = add(1, add(2, 3)) "
	  "}",
	  6 },
	{ "fn sign($a: int64): int64 { if ($a < 0) { return -1; } if ($a > 0) { return 1; } return "
	  "0; } "
	  "begin { $a = 3; @x = sign(-5) * 100 + sign($a) * 10 + sign(0) }",
	  -90 },
	{ "fn sum($n: int64): int64 { let $s = 0; for ($i : 0..$n) { $s += $i; } return $s; } "
	  "begin { $s = 7; @x = sum(4) * 10 + $s }",
	  67 },
	{ "fn put($k: int64): void { @m[$k] = $k * 2; } begin { put(4); @x = @m[4] }", 8 },
	{ "begin { @x = { let $y = 5; $y + 1 } * 2 }", 12 },
	{ "begin { _ = delete(@m, 1); @m[1] = 1; @x = 1 }", 1 },
	{ "begin { $a = (uint8[4])0x01020304; $i = 3; @x = $a[0] * 10 + $a[$i] }", 41 },
	{ "begin { @x = (uint32)((uint8[4])0x01020304) }", 0x01020304 },
	{ "begin { @m[(uint8[2])0x0102] = 5; @x = @m[(uint8[2])0x0102] }", 5 },
	{ "begin { $p = pton(\"1.2.3.4\"); @x = $p[0] * 10 + $p[3] }", 14 },
	{ "enum e { A = 1, B }; begin { $v = (enum e)2; @x = $v == B && (enum e)1 == A }", 1 },
	{ "typedef struct { int a; short b[2][3]; } pair_t; begin { @x = sizeof(pair_t) * 10 + "
	  "offsetof(pair_t, b) }",
	  164 },
	{ "macro size(t) { sizeof(t) } begin { let $v: typeof(pid) = 3; @x = size(typeof(uint16)) "
	  "* 10 + $v }",
	  23 },
	{ "begin { @m[1] = 1; @m[7] = 2; @x = len(@m) }", 2 },
	{ "begin { @x = is_str(\"a\") + is_integer(3) * 10 + is_array(pton(\"::1\")) * 100 + "
	  "is_literal(4) * "
	  "1000 + is_unsigned_integer((uint8)1) * 10000 }",
	  11111 },
	{ "begin { static_assert(sizeof(uint16) == 2, \"no\"); assert(2 > 1, \"no\"); @x = 1; "
	  "assert(1 > 2, "
	  "\"yes\"); @x = 2 }",
	  1 },
	{ "begin { @x = is_err(-5) * 10 + is_err(5) }", 10 },
	{ "begin { @x = probetype == \"begin\" && default_str_length() == 1024 }", 1 },
	{ "#define A 3\n#if A == 3 && defined(A)\n#define B 5\n#elif A\n#define B 6\n#else\n#error "
	  "no\n#endif\n"
	  "#undef A\n#if !defined(A)\nbegin { @x = B }\n#endif\n",
	  5 },
	{ "begin { @t = tseries(5, 1s, 3); @q = quantile(5, 50); @x = 1 }", 1 },
	{ "begin { @x = sizeof(uint32) + sizeof(int8) }", 5 },
	{ "begin { @x = pid == tid }", 1 },
	{ "begin { @x = pid(init) == pid(curr_ns) }", 1 },
	{ "begin { @x = nsecs > 1000 && elapsed > 0 }", 1 },
	{ "begin { $p = (uint64)1; @x = str(8) == \"\" }", 1 },
	{ "begin { @x = *(uint64 *)8 }", 0 },
};

static void test_values(bool may)
{
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		u64 got = 0;
		if (!may) {
			skip(values[i].script, "no permission to load programs");
			continue;
		}
		char name[256];
		snprintf(name, sizeof(name), "%s", values[i].script);
		for (char *c = name; *c; c++)
			if (*c == '\n' || *c == '#')
				*c = ' ';
		int err = run_for_x(values[i].script, &got);
		if (err)
			ok(false, "%s: error %d", name, err);
		else
			is_u64(got, (u64)values[i].want, name);
	}
}

static const char *const loads[] = {
	"tracepoint:syscalls:sys_enter_openat { @[comm] = count(); } interval:s:1 { print(@); "
	"clear(@); }",
	"tracepoint:syscalls:sys_enter_openat { printf(\"%s %s %d %s\\n\", comm, "
	"str(args.filename), args->dfd, args.comm); }",
	"tracepoint:syscalls:sys_enter_openat { @[str(args.where), args.odd] = sum(args.nr); "
	"print(ntop(args.address)); }",
	"kprobe:vfs_read { @start[tid] = nsecs; } kretprobe:vfs_read /@start[tid]/ { @us = "
	"hist((nsecs - @start[tid]) / 1000); delete(@start[tid]); }",
	"kprobe:f, kprobe:g { @[probe, func] = lhist(arg2 + arg7, 0, 100, 10); }",
	"kretprobe:f { @[retval] = count(); @s[kstack(5), ustack] = stats(retval); }",
	"uprobe:/bin/bash:readline { printf(\"%s %r\\n\", str(arg0), buf(arg0, 10)); "
	"@[usym(reg(\"ip\"))] = avg(pid); }",
	"profile:hz:99 { @[kstack, ustack, comm] = count(); }",
	"interval:s:1 { time(\"%H\\n\"); print(@x, 5, 2); @x[1] = count(); zero(@x); }",
	"software:faults:100 { @[cpu] = max(uid); @m = min(gid); }",
	"profile:hz:99 { @[usermode] = count(); @ip[reg(\"ip\"), reg(\"ax\")] = tseries(cpu, 1s, "
	"10, \"max\"); }",
	"watchpoint:0x10000000:8:rw { @[comm] = count(); }",
	"kprobe:f { @q[comm] = quantile(arg0, 50, 90, 99); }",
	"tracepoint:syscalls:sys_enter_openat { print(args); @h[1] = hist(args.nr); print(@h[1]); "
	"}",
	"rawtracepoint:sched_switch { @[arg0] = count(); join(arg1); }",
	"tracepoint:sched:sched_* { @[probe] = count(); }",
	"begin { printf(\"%s %s %s\\n\", strftime(\"%H\", nsecs), username, ksym(0)); system(\"x "
	"%d\", 1); cat(\"/proc/%d\", pid); signal(\"KILL\"); }",
	"begin { @c[1] = count(); printf(\"%d\\n\", @c[1]); print(@c[1]); print(@c); }",
	"interval:s:1 { for ($kv : @c) { printf(\"%s %d %s\\n\", $kv.0, $kv.1, str(8)); "
	"print(kstack); } @c[comm] = count(); }",
	"begin { @a = (1, \"x\"); @b[(1, 2)] = \"s\"; print(@a); print((1, 2)); print(1 == 1); }",
	"begin { $s = str(0, 200); $t = str(1, pid); @[$s, $t] = 1; @big = hist(pid, 5); if ($s == "
	"$t) { print($s); } }",
};

static void test_loads(bool may)
{
	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		struct result r;
		struct loaded l = { 0 };
		compile(&r, loads[i]);
		if (r.err)
			show(&r.d);
		if (may && !r.err)
			r.err = load_program(&r.p, &l);
		ok(!r.err, "%s: %s", may ? "loads" : "compiles", loads[i]);
		unload(&l);
		done(&r);
	}
}

static const struct {
	const char *script, *want; /* a part of the message */
} wrong[] = {
	{ "begin { @x = }", "line 1: expected an expression" },
	{ "begin {\n  printf(\"%d\\n\", comm);\n}",
	  "line 2: this conversion cannot print a value of type string[16]" },
	{ "begin { prinf(\"x\") }", "did you mean 'printf'?" },
	{ "begin { @x = pidd }", "did you mean 'pid'?" },
	{ "begin { $count = 1; @x = $coumt }", "did you mean $count?" },
	{ "begn { }", "did you mean 'begin'?" },
	{ "begin { @x = 1; @x[1] = 2 }", "is used with keys and without" },
	{ "begin { @x = 1; @x = \"a\" }", "cannot assign string[8] to a map of type int64" },
	{ "begin { @x = count(); @x = 1 }", "cannot assign" },
	{ "begin { count() }", "belongs into a map" },
	{ "begin { print(@x) }", "map @x is never assigned" },
	{ "begin { let $a }", "variable $a never gets a value" },
	{ "begin { @a = hist(1); @x = @a + 1 }", "a value of type hist_t is not a number" },
	{ "begin { $x = count() }", "only goes into a map" },
	{ "begin { break }", "not inside of a loop" },
	{ "begin { printf(\"%d\") }", "more conversions" },
	{ "begin { printf(\"x\", 1) }", "only 0 conversions" },
	{ "begin { @x = \"a\" + 1 }", "expected a number" },
	{ "begin { @x = 99999999999999999999 }", "does not fit into 64 bits" },
	{ "begin { @x = arg0 }", "begin has no arg0" },
	{ "tracepoint:syscalls:sys_enter_openat { @x = args.filenam }",
	  "did you mean 'filename'?" },
	{ "tracepoint:a:b { @x = args.x }", "the arguments of tracepoint:a:b are not known" },
	{ "interval:s { }", "the form is interval:s:1" },
	{ "interval:x:1 { }", "unknown unit 'x'" },
	{ "begin { @x = \"abc }", "string without an end" },
	{ "begin { /* x }", "comment without an end" },
	{ "// safe\nbegin { system(\"x\") }", "allow it with" },
	{ "begin { @x = (struct nothing *)0 }", "unknown type 'struct nothing'" },
	{ "struct s { struct s x; }; begin { @x = sizeof(struct s) }", "member 'x' has no size" },
	{ "struct s { int a }; begin { }", "expected ';'" },
	{ "begin { @count = 1; print(@coumt[1]) }", "did you mean @count?" },
	{ "begin { let $a: int8 = 300; @x = $a }", "the number does not fit into int8" },
	{ "begin { let $a: uint8; $a = -1; @x = $a }", "the number does not fit into uint8" },
	{ "begin { @x = 1.5 }", "no numbers with a fraction" },
	{ "begin { @x = 'a' }", "strings are in double quotes" },
	{ "begin { if comptime (pid == 1) { } }", "not known before the script runs" },
	{ "begin { @x[1] = hist(4); for ($kv : @x) { } }",
	  "a loop cannot read values of type hist_t" },
	{ "begin { @x = strstr(\"a\", comm) }", "looks for a constant string" },
	{ "begin { skboutput(1) }", "skboutput() is not supported yet" },
	{ "import \"x.bpf.c\"; begin { }", "programs in C need a compiler" },
	{ "import \"x.bt\"; begin { }", "scripts cannot be imported here" },
	{ "begin { static_assert(1 == 2, \"sizes differ\") }", "line 1: sizes differ" },
	{ "begin { @x = tseries(1, 1s, 2000) }", "from 1 to 1000" },
	{ "begin { @x = quantile(1, 50); @x = quantile(1, 99) }",
	  "cannot assign quantile_t(99) to a map of type quantile_t(50)" },
	{ "begin { @x = quantile(1, 101) }", "from 1 to 100 percent" },
	{ "begin { @x[1] = 1; print(@x, 1, 1, (sort=\"keys\")) }", "the options of print()" },
	{ "begin { @x = (a=1, 2) }", "either all values of a record have a name" },
	{ "begin { @x = (a=1, a=2) }", "has 'a' twice" },
	{ "begin { $r = (name=1); @x = $r.nme }", "did you mean 'name'?" },
	{ "fn f($a: int64): int64 { return f($a); } begin { @x = f(1) }", "calls itself" },
	{ "fn f($a: int64): int64 { return $a; } begin { @x = f() }",
	  "another number of arguments" },
	{ "fn f(): int64 { return; } begin { @x = f() }", "has to return a value" },
	{ "fn f(): void { return 1; } begin { f() }", "returns no value" },
	{ "begin { $a = 1; @x = &$a }", "only members of structs have an address" },
	{ "kretprobe:f { override(1) }", "override() needs a kprobe" },
	{ "// safe\nkprobe:f { override(1) }", "override() changes the system" },
	{ "begin { uaddr(\"x\") }", "needs a probe in a program" },
	{ "begin { @x = usermode }", "usermode needs a profile" },
	{ "profile:hz:9 { @x = reg(\"eax\") }", "no register 'eax'" },
	{ "iter:tsk { }", "there are task, task_file and task_vma" },
	{ "watchpoint:0x1000:3:w { }", "the length is 1, 2, 4 or 8 bytes" },
	{ "watchpoint:0x1000:8:ww { }", "made of the letters r, w and x" },
	{ "watchpoint:f+arg1:8:w { }", "FUNCTION+ARGUMENT is not supported" },
	{ "self:signal:SIGKILL { }", "SIGUSR1 and SIGUSR2 are free" },
	{ "self:timer:1 { }", "unknown event of the script itself" },
	{ "kprobe@fs/open.c { }", "expected FILE:LINE" },
	{ "kretprobe@fs/open.c:5 { }", "only a kprobe can be at a line" },
	{ "// safe\nkprobe:0xffffffff81000000 { }", "may stop the system" },
	{ "#if 3 ~ 4\n#endif\nbegin { }", "this #if is not understood" },
	{ "#error not this way\nbegin { }", "not this way" },
	{ "config = { license = \"MIT\" } begin { }", "only to code under the GPL" },
	{ "config = { stack_mode = fancy } begin { }", "expected bpftrace, perf, raw or build_id" },
	{ "tracepoint:syscalls:sys_enter_openat { $a = args; @x = $a.nr }",
	  "args cannot be copied" },
	{ "fn f() { }", "the script has no probe" },
	{ "macro m() { m() } begin { m() }", "is a macro that uses itself" },
	{ "macro m($a) { $a } begin { m(1) }", "takes a variable here" },
	{ "// safe\nbegin { for ($kv : @x) { } @x[1] = 1 }", "not supported yet" },
	{ "begin { for ($kv : @y) { } @y = 1 }", "map @y has no keys" },
	{ "config = { max_strlen = 1 } begin { }", "expected a number from 8" },
	{ "", "the script has no probe" },
};

static void test_wrong(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct result r;
		struct strbuf s;
		strbuf_init(&s);
		compile(&r, wrong[i].script);
		diag_render(&r.d, "test", false, &s);
		const char *text = strbuf_cstr(&s);
		if (!ok(r.err < 0 && r.d.nr_errors == 1 && strstr(text, wrong[i].want),
			"refused: %s", wrong[i].want))
			printf("#   error %d, %zu messages: %s\n", r.err, r.d.nr_errors, text);
		strbuf_done(&s);
		done(&r);
	}
}

/* With the types of the running kernel. */
static const char *const typed[] = {
	"begin { @x = curtask->tgid == pid; }",
	"begin { @x = container_of(&curtask->comm, struct task_struct, comm)->pid == tid; }",
	"begin { @x = leader_comm != \"\" && leader_tid == curtask->tgid && "
	"kfunc_exist(\"vfs_read\"); }",
	"begin { @x = 0; @s[1] = curtask->se.load; $l = @s[1]; @x = $l.weight == "
	"curtask->se.load.weight "
	"&& "
	"@s[1].weight == $l.weight; }",
	"begin { @x = 0; $m = curtask->cpus_mask; @m[$m.bits] = 1; @x = "
	"@m[curtask->cpus_mask.bits]; "
	"print(curtask->se.load); print($m); }",
	"begin { @x = curtask->comm == comm; }",
	"begin { @x = curtask->real_parent->tgid > 0; }",
	"begin { @x = ppid == curtask->real_parent->tgid && pcomm != \"\"; }",
	"begin { $t = (struct task_struct *)curtask; @x = $t->pid == tid && $t.tgid == pid && "
	"sizeof(struct task_struct) > offsetof(struct task_struct, comm) && TCP_ESTABLISHED == 1; "
	"}",
	"begin { @x = curtask->thread_pid->numbers[0].nr > 0 && curtask->thread_pid->level < 32; }",
	"fentry:vfs_read { @[str(args.file->f_path.dentry->d_name.name), args.count] = count(); }",
	"fexit:vfs_read { @ = hist(retval); @c[args.count, args.file] = 1; }",
	"rawtracepoint:sched_switch { @p = args.prev->pid; @s[args.next->comm] = count(); }",
	("kprobe:tcp_connect { $sk = (struct sock *)arg0; @f = $sk->__sk_common.skc_family; $c = "
	 "$sk->__sk_common; @[ntop($c.skc_daddr), bswap($c.skc_dport)] = count(); }"),
};

static struct btf *kernel_types(struct btf *b)
{
	static u8 bytes[64 << 20];
	FILE *f = fopen("/sys/kernel/btf/vmlinux", "r");
	size_t got = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	if (f)
		fclose(f);
	return got && !btf_open_memory(b, bytes, got, NULL) ? b : NULL;
}

static void test_typed(bool may)
{
	struct btf b, *types = kernel_types(&b);
	for (size_t i = 0; i < ARRAY_SIZE(typed); i++) {
		struct lang_input in = { .text = typed[i], .len = strlen(typed[i]), .btf = types };
		struct result r;
		struct loaded l = { 0 };
		u64 value[256] = { 1 };
		u32 key = 0;
		if (!may || !types) {
			skip(typed[i],
			     types ? "no permission to load programs" : "the kernel has no BTF");
			continue;
		}
		diag_init(&r.d);
		r.err = lang_compile(&in, &r.p, &r.d);
		if (r.err)
			show(&r.d);
		if (!r.err)
			r.err = load_program(&r.p, &l);
		if (r.err == -EPERM || r.err == -524) {
			skip(typed[i], "the kernel has no fentry");
			unload(&l);
			done(&r);
			continue;
		}
		if (!r.err && r.p.probes.at[0].provider == PROGRAM_BEGIN) {
			r.err = run_code(&l, 0);
			if (!r.err)
				r.err = map_read(&l, 0, &key, value);
		}
		ok(!r.err && value[0] == 1, "types of the kernel: %s", typed[i]);
		unload(&l);
		done(&r);
	}
	if (types)
		btf_close(types);
}

int main(void)
{
	bool may = may_load();
	test_typed(may);
	test_values(may);
	test_loads(may);
	test_wrong();
	return done_testing();
}
