/*
 * The language of SystemTap: what it becomes is what the same script in our own language becomes, tree by tree; what is refused is refused
 * with its place.
 */
#include "lang/compile.h"

#include "tap.h"

#include <stdio.h>

static int tracepoint(void *ctx, const char *system, const char *name, const struct schema **ret)
{
	static const struct schema_field fields[] = {
		{ .name = "fd", .type = "unsigned long", .offset = 16, .size = 8 },
		{ .name = "filename",
		  .type = "const char *",
		  .offset = 24,
		  .size = 8,
		  .flags = FIELD_POINTER },
		{ .name = "prev_comm",
		  .type = "char[16]",
		  .offset = 32,
		  .size = 16,
		  .elem_size = 1,
		  .nr_elems = 16,
		  .flags = FIELD_ARRAY | FIELD_STRING },
		{ .name = "ret", .type = "long", .offset = 16, .size = 8, .flags = FIELD_SIGNED },
	};
	static const struct schema s = { .fields = fields, .nr_fields = 4 };
	(void)ctx;
	(void)system;
	(void)name;
	*ret = &s;
	return 0;
}

static int tracepoint_list(void *ctx, const char *system, const char *name, u32 nth,
			   const char **ret_system, const char **ret_name)
{
	static const char *const names[] = { "sys_enter_read", "sys_enter_write" };
	(void)ctx;
	(void)name;
	*ret_system = system;
	*ret_name = nth < 2 ? names[nth] : NULL;
	return nth < 2;
}

static int compile(const char *text, bool stap, struct strbuf *tree, struct strbuf *said)
{
	static const struct lang_ops ops = { .tracepoint = tracepoint,
					     .tracepoint_list = tracepoint_list };
	struct program p;
	struct diag d;
	struct lang_input in = { .text = text,
				 .len = strlen(text),
				 .ops = &ops,
				 .machine = "x86_64",
				 .stap = stap,
				 .time_ns = 1000,
				 .callbacks = true,
				 .end_here = true,
				 .dump_ast = tree };
	diag_init(&d);
	int err = lang_compile(&in, &p, &d);
	diag_render(&d, "sonde", false, said);
	program_done(&p);
	diag_done(&d);
	return err;
}

/* Names that the parser makes are none that can be written: # and . stand for _ here. */
static void plain_names(struct strbuf *tree)
{
	for (size_t i = 0; i < tree->len; i++)
		if (tree->data[i] == '#' || tree->data[i] == '.')
			tree->data[i] = '_';
}

/* Both compile, to the same tree. */
static void same(const char *name, const char *stap, const char *ours)
{
	struct strbuf a, b, said;
	strbuf_init(&a);
	strbuf_init(&b);
	strbuf_init(&said);
	int err = compile(stap, true, &a, &said), other = compile(ours, false, &b, &said);
	plain_names(&a);
	plain_names(&b);
	bool right = !err && !other && !strcmp(strbuf_cstr(&a), strbuf_cstr(&b));
	ok(right, "%s", name);
	if (!right)
		printf("# %s%s---\n%s\n", strbuf_cstr(&said), strbuf_cstr(&a), strbuf_cstr(&b));
	strbuf_done(&a);
	strbuf_done(&b);
	strbuf_done(&said);
}

/* Refused with these words, and a mark below the place: the text that it is under. */
static void refused(const char *stap, const char *words, const char *place)
{
	struct strbuf tree, said;
	strbuf_init(&tree);
	strbuf_init(&said);
	int err = compile(stap, true, &tree, &said);
	const char *text = strbuf_cstr(&said), *mark = strchr(text, '^');
	const char *line = strstr(text, "\n  ");
	size_t len = mark ? strspn(mark, "^~") : 0;
	bool right = err && strstr(text, words) && mark && line && len == strlen(place);
	if (right) {
		const char *below = mark;
		while (below[-1] != '\n')
			below--;
		right = !strncmp(line + 1 + (mark - below), place, len);
	}
	ok(right, "refused: %s", stap);
	if (!right)
		printf("# %d\n%s\n", err, text);
	strbuf_done(&tree);
	strbuf_done(&said);
}

static void check_points(void)
{
	same("begin, end, timers",
	     "probe begin, end, timer.s(2), timer.ms(30), timer.hz(5) { next }",
	     "begin { return } end { return } interval:s:2 { return } interval:ms:30 { return } "
	     "interval:hz:5 { return }");
	same("functions of the kernel",
	     "probe kernel.function(\"vfs_read\"), kernel.function(\"vfs_*\").call, "
	     "kernel.function(\"f\").return, module(\"ext4\").function(\"g\") { next }",
	     "kprobe:vfs_read { return } kprobe:vfs_* { return } kretprobe:f { return } "
	     "kprobe:ext4:g "
	     "{ return }");
	same("tracepoints and system calls",
	     "probe kernel.trace(\"sched_switch\"), syscall.read, syscall.read.return { next }",
	     "rawtracepoint:sched_switch { return } tracepoint:syscalls:sys_enter_read { return } "
	     "tracepoint:syscalls:sys_exit_read { return }");
	same("programs",
	     "probe process(\"/bin/x\").function(\"f\"), "
	     "process(\"/bin/x\").function(\"f\").return, "
	     "process(\"/bin/x\").mark(\"m\"), process(\"/bin/x\").provider(\"p\").mark(\"m\") { "
	     "next }",
	     "uprobe:\"/bin/x\":f { return } uretprobe:\"/bin/x\":f { return } usdt:\"/bin/x\":m { "
	     "return "
	     "} usdt:\"/bin/x\":p:m { return }");
	same("the library: a row, and a pattern over rows", "probe vfs.read, netdev.* { next }",
	     "kprobe:vfs_read { return } tracepoint:net:net_dev_queue { return } "
	     "tracepoint:net:net_dev_start_xmit { return } tracepoint:net:netif_receive_skb { "
	     "return }");
	same("the documents' example", "probe vfs.read {printf(\"read performed\\n\"); exit()}",
	     "kprobe:vfs_read { printf(\"read performed\\n\"); exit(); }");
}

static void check_names(void)
{
	same("a system call's arguments, result and name",
	     "probe syscall.openat { println(name, \" \", filename, \" \", fd, \" \", $fd) } "
	     "probe syscall.openat.return { println($return) }",
	     "tracepoint:syscalls:sys_enter_openat { printf(\"openat %s %d %d\\n\", "
	     "str(args.filename), "
	     "(int64)args.fd, (int64)args.fd); } "
	     "tracepoint:syscalls:sys_exit_openat { printf(\"%d\\n\", (int64)args.ret); }");
	same("the name makes a pattern a probe for each event",
	     "global c probe syscall.* { c[name]++ } probe end { println(c[\"x\"]) }",
	     "tracepoint:syscalls:sys_enter_read { @c[\"read\"]++; } "
	     "tracepoint:syscalls:sys_enter_write { @c[\"write\"]++; } end { printf(\"%d\\n\", "
	     "@c[\"x\"]); }");
	same("without it the pattern stays",
	     "global c probe syscall.* { c[pid()]++; next } "
	     "probe end { println(c[1]) }",
	     "tracepoint:syscalls:sys_enter_* { @c[(int64)pid]++; return } end { printf(\"%d\\n\", "
	     "@c[1]); }");
	same("names of the library", "probe scheduler.ctxswitch { println(prev_task_name) }",
	     "tracepoint:sched:sched_switch { printf(\"%s\\n\", str(args.prev_comm)); }");
	same("all arguments", "probe syscall.openat { printf(\"%s\\n\", $$parms) }",
	     "tracepoint:syscalls:sys_enter_openat { printf(\"fd=0x%x filename=0x%x "
	     "prev_comm=\\\"%s\\\" "
	     "ret=0x%x\\n\", (int64)args.fd, args.filename, str(args.prev_comm), (int64)args.ret); "
	     "}");
	same("arguments by number",
	     "probe process(\"/x\").function(\"f\") { println(int_arg(2), pointer_arg(1)) }",
	     "uprobe:\"/x\":f { printf(\"%d%d\\n\", (int64)(int32)arg1, arg0); }");
}

static void check_statements(void)
{
	same("locals, globals, loops without braces and semicolons",
	     "global g = 5 probe begin { x = 1 while (x < 9) x += g if (x > 3) g-- else g = 2 "
	     "println(g) }",
	     "begin { @g = 5; } begin { $x = 1; while ($x < 9) { $x += @g; } "
	     "if ($x > 3) { @g--; } else { @g = 2; } printf(\"%d\\n\", @g); }");
	same("for, with continue",
	     "global g probe begin { for (i = 0; i < 9; i++) { if (i == 3) continue; g += i } "
	     "println(g) }",
	     "begin { { $i = 0; while ($i < 9) { if ($i == 3) { "
	     "$i++; continue } @g += $i; "
	     "$i++; } } "
	     "printf(\"%d\\n\", @g); }");
	same("a local that is only counted up", "probe begin { n++; println(n) }",
	     "begin { $n = 0; $n++; printf(\"%d\\n\", $n); }");
	same("types of what is printed are found",
	     "global a probe begin { a[\"x\", 1] = execname(); foreach ([s, n] in a) foo(s, n) } "
	     "function foo(t, n) { println(t, n) println(a[t, n]) }",
	     "macro foo(t, n) { $t = t; $n = n; printf(\"%s%d\\n\", $t, $n); printf(\"%s\\n\", "
	     "@a[$t, $n]); } "
	     "begin { @a[\"x\", 1] = comm; { for ($_each0 : @a) { { $s = $_each0.0.0; $n = "
	     "$_each0.0.1; "
	     "{ foo($s, $n); } } } } }");
	same("statistics: a map for each operator",
	     "global s probe begin { s <<< 3; println(@count(s), @max(s)) }",
	     "begin { { @s_count = count(); @s_max = max(3); } printf(\"%d%d\\n\", @s_count, "
	     "@s_max); }");
	same("membership and delete",
	     "global a probe begin { a[1, \"x\"] = 1 if ([1, \"x\"] in a) delete a[1, \"x\"] if (2 "
	     "> 1 && !([2, \"y\"] in a)) println(1) }",
	     "begin { @a[1, \"x\"] = 1; if (has_key(@a[1, \"x\"])) { delete(@a[1, \"x\"]); } "
	     "if (2 > 1 && !has_key(@a[2, \"y\"])) { printf(\"%d\\n\", 1); } }");
	same("texts are built where they are printed",
	     "probe begin { x = 5 print(\"a%\" . sprintf(\"%3d|%s\", x, \"q\" . execname())) }",
	     "begin { $x = 5; printf(\"a%%%3d|q%s\", $x, comm); }");
	same("comparisons are numbers", "probe begin { x = 1 > 2; println(x) }",
	     "begin { $x = (int64)(1 > 2); printf(\"%d\\n\", $x); }");
	same("a global that nobody reads is printed at the end", "global g probe begin { g = 3 }",
	     "begin { @g = 3; } end { print(@g); }");
	same("exit() takes effect at the end of the probe",
	     "probe timer.s(1) { if (pid() > 1) exit() println(1) }",
	     "interval:s:1 { $_exit = 0; if ((int64)pid > 1) { $_exit = 1; } printf(\"%d\\n\", 1); "
	     "if ($_exit) { exit(); } }");
	same("comments of all kinds",
	     "# one\nprobe /* two */ begin { // three\n println(\"# /* no\") }",
	     "begin { printf(\"# /* no\\n\"); }");
	same("time of day", "probe begin { println(gettimeofday_us()) }",
	     "begin { printf(\"%d\\n\", ((int64)nsecs(boot) + 1000) / 1000); }");
}

static void check_refusals(void)
{
	refused("probe vfs.raed { }", "unknown probe point 'vfs.raed'", "vfs.raed");
	refused("probe kernel.function(\"f\").inline { }", ".inline",
		"kernel.function(\"f\").inline");
	refused("probe kernel.function(\"f@x.c\") { }", "source file", "kernel.function(\"f@x.c\")");
	refused("probe timer.jiffies(3) { }", "timer.jiffies", "timer.jiffies(3)");
	refused("probe mine = begin { }", "aliases", "mine");
	refused("probe begin { y[1] = 2 }", "not declared", "y");
	refused("probe begin { x = \"a\" . \"b\" }", "only where it is printed", "\"a\" . \"b\"");
	refused("probe begin { substr(\"a\", 1, 2) }", "unknown function 'substr'",
		"substr(\"a\", 1, 2)");
	refused("probe begin { println($x) }", "no $x", "$x");
	refused("probe begin { if (1 =~ \"x\") next }", "regular expressions", "=");
	refused("probe begin { return }", "'next' ends a probe", "return");
	refused("function f() { while (1) { return 2 } } probe begin { f() }", "inside of a loop",
		"return");
	refused("function f(x) { return f(x) } probe begin { f(1) }", "calls itself", "f(x)");
	refused("function f(x) { return x } probe begin { f() }", "takes 1 arguments", "f()");
	refused("global s probe begin { s <<< 1; println(s) }", "@count()", "s");
	refused("probe begin { printf(\"%b\", 1) }", "'%b'", "\"%b\"");
	refused("global a probe begin { a[1] = 2; foreach (k in a- limit 501) println(k) }",
		"up to 500", "501");
	refused("probe syscall.read { println(argstr) }", "argstr", "argstr");
	refused("probe kernel.function(\"f\").return { println($x) }", "gone", "$x");
	refused("probe begin { try { } catch { } }", "'try'", "try");
	refused("probe begin { break }", "not inside of a loop", "break");
	refused("foo", "expected 'probe'", "foo");
}

int main(void)
{
	check_points();
	check_names();
	check_statements();
	check_refusals();
	return done_testing();
}
