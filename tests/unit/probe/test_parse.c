/* probe/parse, probe/lines, probe/name_filter, probe/lazy: what people write. */
#include "tap.h"

#include "probe/lazy.h"
#include "probe/name_filter.h"
#include "probe/probe.h"

#include <errno.h>

static struct arena arena;
static struct diag d;

static void add_place(const struct probe_request *r, struct strbuf *s)
{
	if (r->group || r->event)
		strbuf_printf(s, "%s:%s=", r->group ? r->group : "", r->event ? r->event : "");
	static const char *const forms[] = { "function",   "source", "address",
					     "tracepoint", "usdt",   "raw" };
	strbuf_printf(s, "%s", forms[r->form]);
	if (r->function)
		strbuf_printf(s, " %s%s", r->function, r->is_glob ? " (glob)" : "");
	if (r->file)
		strbuf_printf(s, " in %s", r->file);
	if (r->has_line)
		strbuf_printf(s, " line %u", r->line);
	if (r->offset)
		strbuf_printf(s, " +%llu", (unsigned long long)r->offset);
	if (r->pattern)
		strbuf_printf(s, " like %s", r->pattern);
	if (r->is_return)
		strbuf_str(s, " return");
	if (r->provider)
		strbuf_printf(s, " %s/", r->provider);
	if (r->name)
		strbuf_printf(s, " %s", r->name);
}

static void add_arg(const struct probe_arg *a, struct strbuf *s)
{
	static const char *const values[] = { "name", "fetch", "retval", "params", "locals", "vars" };
	strbuf_printf(s, " | %s%s%s", a->name ? a->name : "", a->name ? "=" : "", values[a->value]);
	if (a->text)
		strbuf_printf(s, " %s", a->text);
	for (u32 i = 0; i < a->nr_steps; i++)
		if (a->steps[i].member)
			strbuf_printf(s, " %s %s", a->steps[i].arrow ? "->" : ".",
				      a->steps[i].member);
		else
			strbuf_printf(s, " [%llu]", (unsigned long long)a->steps[i].index);
	if (a->type)
		strbuf_printf(s, " as %s", a->type);
	if (a->user)
		strbuf_str(s, " of user");
}

static void parses(const char *text, const char *want)
{
	struct probe_request r;
	struct strbuf s;
	strbuf_init(&s);
	if (probe_parse(text, &arena, &r, &d)) {
		ok(false, "%s is taken", text);
		return;
	}
	add_place(&r, &s);
	for (u32 i = 0; i < r.nr_args; i++)
		add_arg(&r.args[i], &s);
	is_str(strbuf_cstr(&s), want, text);
	strbuf_done(&s);
}

/* The message, and which part of the text it points to. */
static void refuses(const char *text, const char *part, const char *message)
{
	struct probe_request r;
	struct diag own;
	char got[256] = "";
	diag_init(&own);
	int err = probe_parse(text, &arena, &r, &own);
	ok(err == -EINVAL && own.items.nr == 1, "%s is refused", text);
	if (own.items.nr) {
		const struct diag_item *i = &own.items.at[0];
		if (i->text)
			snprintf(got, sizeof(got), "%.*s", (int)i->len, i->text + i->start);
		is_str(got, part, "  pointing to the part");
		ok(strstr(i->message, message), "  %s", i->message);
	}
	diag_done(&own);
}

static void test_points(void)
{
	parses("vfs_read", "function vfs_read");
	parses("vfs_read:8", "function vfs_read line 8");
	parses("vfs_read+0x10", "function vfs_read +16");
	parses("vfs_read%return", "function vfs_read return");
	parses("f@fs/read_write.c:3", "function f in fs/read_write.c line 3");
	parses("f@a.c%return", "function f in a.c return");
	parses("schedule;cpu=*", "function schedule like cpu=*");
	parses("sched/core.c:12", "source in sched/core.c line 12");
	parses("core.c;rq->*", "source in core.c like rq->*");
	parses("tcp_*", "function tcp_* (glob)");
	parses("'tcp_*'", "function tcp_*");
	parses("0xffff12", "address +16776978");
	parses("ev=f", ":ev=function f");
	parses("grp:ev=f:2", "grp:ev=function f line 2");
	parses("memcpy\\@GLIBC_2.2.5", "function memcpy@GLIBC_2.2.5");
	parses("'ns::f(int, char)' a", "function ns::f(int, char) | name a");
	parses("ns::f:3", "function ns::f line 3");
	parses("t:sched_switch prev", "tracepoint sched_switch | name prev");
	parses("g:sw=t:sched_switch next", "g:sw=tracepoint sched_switch | name next");
	parses("t:3", "function t line 3");
	parses("%sdt_libc:setjmp", "usdt libc/ setjmp");
	parses("sdt_qt:entry", "usdt qt/ entry");
	parses("f:12 x", "function f line 12 | name x");
	parses("p:g/e vfs_read %di", "g:e=raw");
	parses("r4:e f $retval", ":e=raw");
	parses("-:g/e", "g:e=raw");
}

static void test_args(void)
{
	parses("f a", "function f | name a");
	parses("f x=p->a.b[3]:u8", "function f | x=name p -> a . b [3] as u8");
	parses("f s:string@user", "function f | name s as string of user");
	parses("f %di $stack2 @jiffies+8 +8(%si):u64 \\5 $comm",
	       "function f | fetch %di | fetch $stack2 | fetch @jiffies+8 | fetch +8(%si) as u64 | "
	       "fetch \\5 | fetch $comm");
	parses("f n=\\5", "function f | n=fetch \\5");
	parses("f s=\\\"a:b\" c", "function f | s=fetch \\\"a:b\" | name c");
	parses("f $vars", "function f | vars");
	parses("f $params $arg* $locals", "function f | params | params | locals");
	parses("f%return $retval->a:x64", "function f return | retval -> a as x64");
	parses("f b:x8[4]", "function f | name b as x8[4]");
	parses("f b:b4@2/32", "function f | name b as b4@2/32");
}

static void test_errors(void)
{
	refuses("f:x", "x", "line number");
	refuses("f+y", "y", "offset");
	refuses("f%retrun", "%retrun", "%return");
	refuses("f:2%return", "%return", "only one of");
	refuses("f p->", "->", "member");
	refuses("f a[i]", "[i]", "constant");
	refuses("f a:", ":", "type");
	refuses("f 'a", "'", "quote");
	refuses("f $retval", "$retval", "%return");
	refuses("a-b=f", "-", "letters");
	refuses("a.c:0", "a.c:0", "count from 1");
	refuses("  ", "", "empty");
}

static void lines_are(const char *text, const char *want)
{
	struct probe_line_range r;
	char got[128];
	if (probe_parse_lines(text, &arena, &r, &d))
		snprintf(got, sizeof(got), "refused");
	else
		snprintf(got, sizeof(got), "%s %s %u-%d", r.function ? r.function : "-",
			 r.file ? r.file : "-", r.start, (int)r.end);
	is_str(got, want, text);
}

static void test_lines(void)
{
	lines_are("f", "f - 0--1");
	lines_are("f:3", "f - 3--1");
	lines_are("f:3-9", "f - 3-9");
	lines_are("f:3+4", "f - 3-6");
	lines_are("f@a.c:3", "f a.c 3--1");
	lines_are("a.c:3-4", "- a.c 3-4");
	lines_are("a.c", "- a.c 1--1");
	lines_are("ns::f", "ns::f - 0--1");
	lines_are("f:9-3", "refused");
	lines_are("f:3+0", "refused");
	lines_are("f:3x", "f:3x - 0--1"); /* no line number at the end: all of it is a name */
}

static void matches(const char *filter, const char *name, bool want)
{
	const struct name_filter *f;
	ok(!name_filter_parse(filter, &arena, &f, &d) && name_filter_match(f, name) == want,
	   "%s %s %s", filter, want ? "takes" : "leaves out", name);
}

static void test_filters(void)
{
	const struct name_filter *f;
	matches("vfs_*", "vfs_read", true);
	matches("!_*", "_start", false);
	matches("a* | b*", "bcd", true);
	matches("!_* & *read*", "vfs_read", true);
	matches("!(a* | b*)", "abc", false);
	matches("[!a]b", "cb", true);
	ok(name_filter_parse("(a", &arena, &f, &d) == -EINVAL, "an open parenthesis is refused");
	ok(name_filter_parse("a b", &arena, &f, &d) == -EINVAL, "two names are refused");
	ok(name_filter_parse("", &arena, &f, &d) == -EINVAL, "nothing is refused");
}

int main(void)
{
	arena_init(&arena);
	diag_init(&d);
	test_points();
	test_args();
	test_errors();
	test_lines();
	test_filters();
	ok(lazy_match("\tr += inl( x );", "r+=*"), "blanks do not count in a line");
	ok(lazy_match("cpu = 3;", "cpu = *"), "nor in a pattern");
	ok(!lazy_match("xcpu = 3;", "cpu=*"), "a pattern is of the whole line");
	arena_done(&arena);
	diag_done(&d);
	return done_testing();
}
