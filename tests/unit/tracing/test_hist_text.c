/* The kernel's text of a histogram as typed rows. The texts are of Linux 6.1 and 6.12. */
#include "tap.h"
#include "tracing/hist_text.h"

#include <errno.h>

static struct key_counts t;

static bool reads(const char *text)
{
	key_counts_init(&t);
	return !hist_text_parse(text, &t);
}

static const struct key_value *key(size_t row, size_t i)
{
	return &t.rows.at[row].keys[i];
}

static void test_plain(void)
{
	ok(reads("# event histogram\n#\n# trigger info: "
		 "hist:keys=next_comm,next_prio:vals=hitcount,prev_prio:sort=hitcount:size=2048 "
		 "[active]\n#\n\n"
		 "{ next_comm: kworker/0:1                         , next_prio:        120 } "
		 "hitcount:    "
		 "      7  prev_prio:        840\n"
		 "{ next_comm: 42                                  , next_prio:         -1 } "
		 "hitcount:    "
		 "      1  prev_prio:          3\n"
		 "{ next_comm: a, next_prio: 9                     , next_prio:        139 } "
		 "hitcount:    "
		 "      2  prev_prio:          0\n"
		 "\nTotals:\n    Hits: 10\n    Entries: 3\n    Dropped: 4\n"),
	   "two keys and a value");
	ok(t.rows.nr == 3 && t.hits == 10 && t.dropped == 4 && !t.notes.nr, "rows and totals");
	ok(key(0, 0)->type == KEY_VALUE_TEXT && !strcmp(key(0, 0)->text, "kworker/0:1"),
	   "a text without its padding");
	ok(key(0, 1)->type == KEY_VALUE_UNSIGNED && key(0, 1)->number == 120 &&
		   t.rows.at[0].hits == 7 && t.rows.at[0].values[0] == 840,
	   "numbers are numbers");
	ok(key(1, 0)->type == KEY_VALUE_TEXT && !strcmp(key(1, 0)->text, "42"),
	   "a task whose name is a number has a name");
	ok(key(1, 1)->type == KEY_VALUE_SIGNED && (s64)key(1, 1)->number == -1,
	   "a negative number");
	ok(!strcmp(key(2, 0)->text, "a, next_prio: 9") && key(2, 1)->number == 139,
	   "a task cannot make up another key");
	key_counts_done(&t);
}

static void test_parts(void)
{
	ok(reads("# trigger info: "
		 "hist:keys=common_pid.execname,id.syscall,call_site.sym-offset,len.log2,size."
		 "buckets=512,ptr."
		 "hex:vals=hitcount:sort=hitcount:size=2048 [active]\n\n"
		 "{ common_pid: my task         [      1234], id: sys_read                      [  "
		 "0], "
		 "call_site: [ffffffff81234567] vfs_read+0x1f/0x2d0                      , len: ~ "
		 "2^4 , size: "
		 "~ 512-1023, ptr: ffff8880 } hitcount:          5\n\nTotals:\n    Hits: 5\n"),
	   "keys of several parts");
	ok(key(0, 0)->type == KEY_VALUE_NAMED && !strcmp(key(0, 0)->text, "my task") &&
		   key(0, 0)->number == 1234,
	   "a task and its PID");
	ok(key(0, 1)->type == KEY_VALUE_NAMED && !strcmp(key(0, 1)->text, "sys_read") &&
		   key(0, 1)->number == 0,
	   "a system call");
	ok(key(0, 2)->type == KEY_VALUE_SYMBOL && !strcmp(key(0, 2)->text, "vfs_read") &&
		   key(0, 2)->number == 0xffffffff81234567 && key(0, 2)->extra == 0x1f,
	   "an address with symbol and offset");
	ok(key(0, 3)->type == KEY_VALUE_RANGE && key(0, 3)->number == 9 && key(0, 3)->extra == 16,
	   "a power of two");
	ok(key(0, 4)->type == KEY_VALUE_RANGE && key(0, 4)->number == 512 && key(0, 4)->extra == 1023,
	   "a bucket");
	ok(key(0, 5)->type == KEY_VALUE_UNSIGNED && key(0, 5)->number == 0xffff8880, "hexadecimal");
	key_counts_done(&t);
}

static void test_stack(void)
{
	ok(reads("# trigger info: "
		 "hist:keys=stacktrace:vals=hitcount,bytes_req:sort=hitcount:size=2048 "
		 "[active]\n\n"
		 "{ stacktrace:\n         __kmalloc+0x11b/0x1b0\n         seq_open+0x18/0x60\n"
		 "} hitcount:          2  bytes_req:        240\n\n"
		 "    max:         12  next_comm: sh\n\nTotals:\n    Hits: 2\n    Entries: 1\n    "
		 "Dropped: 0\n"),
	   "a stack");
	ok(t.rows.nr == 1 && key(0, 0)->type == KEY_VALUE_STACK &&
		   !strcmp(key(0, 0)->text, "__kmalloc+0x11b/0x1b0\nseq_open+0x18/0x60\n") &&
		   t.rows.at[0].values[0] == 240,
	   "a function a line");
	ok(t.notes.nr == 1 && !strncmp(t.notes.at[0], "max:", 4), "other lines are kept");
	key_counts_done(&t);
}

static void test_bad(void)
{
	key_counts_init(&t);
	ok(hist_text_parse("nothing\n", &t) == -EBADMSG, "no trigger: refused");
	key_counts_done(&t);
	key_counts_init(&t);
	ok(hist_text_parse("# trigger info: hist:keys=a,b:\n{ a: 1 } hitcount: 1\n", &t) == -EBADMSG,
	   "a row without a key: refused");
	key_counts_done(&t);
	key_counts_init(&t);
	ok(hist_text_parse("# trigger info: hist:keys=a.sym,b.execname:\n{ a: [ , b:  } hitcount:",
			   &t) == -EBADMSG,
	   "a row that ends early: refused");
	key_counts_done(&t);
}

int main(void)
{
	test_plain();
	test_parts();
	test_stack();
	test_bad();
	return done_testing();
}
