/* probe/names, probe/def_text: groups and events as perf names them, and definitions as it writes them. */
#include "tap.h"

#include "probe/names.h"

#include <errno.h>

static struct probe_defs defs;

static void push(struct probe_def def)
{
	struct probe_def *slot = vec_push(&defs.at);
	if (slot)
		*slot = def;
}

static void text_is(size_t i, const char *want)
{
	struct strbuf s;
	strbuf_init(&s);
	probe_def_text(&defs.at.at[i], &s);
	ok(!strcmp(strbuf_cstr(&s), want), "%s (%s)", want, strbuf_cstr(&s));
	strbuf_done(&s);
}

static const struct probe_def_arg args[] = { { "n", "%dx", "s32" },
					     { NULL, "$retval", NULL },
					     { "c", "+8(+0(%di))", "s64" } };

int main(void)
{
	probe_defs_init(&defs);
	struct diag d;
	diag_init(&d);

	struct probe_request work = { .text = "work", .function = "work" };
	push((struct probe_def){ .letter = 'p',
				 .binary = "/tmp/my-prog.out",
				 .offset = 0x1168,
				 .args = args,
				 .nr_args = 1 });
	push((struct probe_def){ .letter = 'p', .binary = "/tmp/my-prog.out", .offset = 0x1170 });
	ok(!probe_names_choose(&defs, 0, &work, NULL, false, &d), "two places of one request");
	text_is(0, "p:probe_my/work /tmp/my-prog.out:0x1168 n=%dx:s32");
	text_is(1, "p:probe_my/work_1 /tmp/my-prog.out:0x1170");

	push((struct probe_def){ .letter = 'p', .binary = "/tmp/my-prog.out" });
	ok(probe_names_choose(&defs, 2, &work, NULL, false, &d) == -EEXIST,
	   "another request of the name is refused");
	ok(!probe_names_choose(&defs, 2, &work, NULL, true, &d), "or numbered, with --force");
	text_is(2, "p:probe_my/work_2 /tmp/my-prog.out:0x0");

	struct probe_request back = { .text = "x", .function = "vfs_read.isra.0", .is_return = true };
	push((struct probe_def){ .letter = 'r',
				 .is_return = true,
				 .symbol = "vfs_read",
				 .max_active = 16,
				 .args = args + 1,
				 .nr_args = 1 });
	ok(!probe_names_choose(&defs, 3, &back, NULL, false, &d), "a return of a clone");
	text_is(3, "r16:probe/vfs_read__return vfs_read+0 $retval");

	struct probe_request named = { .text = "x", .group = "g", .event = "e", .is_return = true };
	push((struct probe_def){ .letter = 'r',
				 .is_return = true,
				 .module = "ext4",
				 .symbol = "f",
				 .args = args + 2,
				 .nr_args = 1 });
	ok(!probe_names_choose(&defs, 4, &named, NULL, false, &d), "a name that was written");
	text_is(4, "r:g/e ext4:f+0 c=+8(+0(%di)):s64");

	struct probe_request cpp = { .text = "x", .function = "Foo::bar(int)" };
	push((struct probe_def){ .letter = 'p', .symbol = "x", .offset = 12 });
	ok(!probe_names_choose(&defs, 5, &cpp, NULL, false, &d), "a C++ name");
	text_is(5, "p:probe/Foo__bar x+12");

	struct probe_request glob = { .text = "x", .function = "vfs_*", .is_glob = true };
	push((struct probe_def){
		.letter = 'f', .symbol = "vfs_open", .function = "vfs_open", .is_return = true });
	ok(!probe_names_choose(&defs, 6, &glob, NULL, false, &d), "one of a glob");
	text_is(6, "f:probe/vfs_open__return vfs_open%return");

	struct probe_request bad = { .text = "x", .event = "no-good" };
	push((struct probe_def){ .letter = 'p', .symbol = "x" });
	ok(probe_names_choose(&defs, 7, &bad, NULL, false, &d) == -EINVAL, "a name with a dash");

	push((struct probe_def){ .letter = 'p',
				 .group = "sdt_a",
				 .event = "b",
				 .binary = "/a",
				 .offset = 16,
				 .ref_ctr = 32 });
	text_is(8, "p:sdt_a/b /a:0x10(0x20)");
	push((struct probe_def){ .letter = 'p', .raw = "p:x/y vfs_read %di" });
	text_is(9, "p:x/y vfs_read %di");

	diag_done(&d);
	probe_defs_done(&defs);
	return done_testing();
}
