/* wire/format: the kernel's event format text into a schema. */
#include "wire/format.h"
#include "tap.h"

#include <errno.h>

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static struct schema *parse(struct arena *a, const char *text, u8 long_size, bool big)
{
	struct schema *s = NULL;
	struct diag d;
	diag_init(&d);
	int err = format_parse(a, "sys", text, strlen(text), big, long_size, &s, &d);
	if (err && d.items.nr)
		printf("# %s\n", d.items.at[0].message);
	diag_done(&d);
	return err ? NULL : s;
}

static void test_usual(struct arena *a)
{
	struct schema *s =
		parse(a,
		      "name: sample\nID: 316\nformat:\n" COMMON
		      "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		      "\tfield:long  state;\toffset:24;\tsize:8;\tsigned:1;\n"
		      "\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n"
		      "\tfield:__rel_loc u64[] list;\toffset:36;\tsize:4;\tsigned:0;\n"
		      "\tfield:const char *const * argv;\toffset:40;\tsize:8;\tsigned:0;\n"
		      "\tfield:__data_loc cpumask_t cpumask;\toffset:48;\tsize:4;\tsigned:0;\n"
		      "\tfield:u8 mac[6];\toffset:52;\tsize:6;\tsigned:0;\n"
		      "\tfield:char buf[];\toffset:58;\tsize:0;\tsigned:0;\n"
		      "\nprint fmt: \"a %s\\n\", REC->comm\n",
		      8, false);
	if (!ok(s != NULL, "a usual format parses"))
		return;
	is_u64(s->id, 316, "id");
	is_str(s->name, "sample", "name");
	is_u64(s->nr_common, 4, "four common fields");
	is_u64(s->nr_fields, 12, "twelve fields");
	is_u64((u64)s->common_pid, 3, "common_pid is found");
	is_u64((u64)(s->common_lock_depth + 1), 0, "no common_lock_depth");
	is_str(s->print_fmt, "\"a %s\\n\", REC->comm", "print fmt is kept as it is");
	const struct schema_field *f = schema_find(s, "comm");
	is_str(f->type, "char[16]", "type of an array");
	is_u64(f->flags, FIELD_ARRAY | FIELD_STRING, "flags of a char array");
	is_u64(f->nr_elems, 16, "its elements");
	f = schema_find(s, "state");
	is_u64(f->flags, FIELD_SIGNED | FIELD_LONG, "a signed long");
	f = schema_find(s, "name");
	is_str(f->type, "__data_loc char[]", "type of a data_loc");
	is_u64(f->flags, FIELD_DATA_LOC | FIELD_STRING, "flags of a data_loc string");
	f = schema_find(s, "list");
	is_u64(f->flags, FIELD_REL_LOC, "rel_loc is no string");
	is_u64(f->elem_size, 8, "elements of u64");
	is_u64(schema_find(s, "argv")->flags, FIELD_POINTER, "pointer to pointers");
	is_u64(schema_find(s, "cpumask")->flags, FIELD_DATA_LOC, "cpumask");
	is_u64(schema_find(s, "mac")->flags, FIELD_ARRAY, "u8 arrays are bytes");
	is_u64(schema_find(s, "buf")->flags, FIELD_ARRAY | FIELD_STRING, "an open array");
}

static void test_old(struct arena *a)
{
	struct schema *s = parse(a,
				 "name: old\nID: 7\nformat:\n"
				 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n"
				 "\tfield:int common_pid;\toffset:4;\tsize:4;\n"
				 "\tfield:unsigned long ip;\toffset:8;\tsize:4;\n"
				 "\tfield special:char buf;\toffset:12;\tsize:0;\n"
				 "\tfield:unsigned long args[6];\toffset:12;\tsize:24;\n"
				 "\nprint fmt: \"%lx\", REC->ip\n",
				 4, true);
	if (!ok(s != NULL, "an old 32-bit format without signed: parses"))
		return;
	is_u64(s->nr_common, 2, "common fields by name when no blank line tells");
	ok(schema_find(s, "common_pid")->flags & FIELD_SIGNED, "int is signed");
	ok(!(schema_find(s, "ip")->flags & FIELD_SIGNED), "unsigned long is not");
	is_u64(schema_find(s, "args")->elem_size, 4, "32-bit longs");
	static const u8 raw[36] = { [8] = 0x12, 0x34, 0x56, 0x78 };
	is_u64(schema_u64(s, schema_find(s, "ip"), raw, sizeof(raw)), 0x12345678, "big endian");
}

static void test_bad(struct arena *a)
{
	static const char *const texts[] = {
		"",
		"name: x\n",
		"ID: 4\n",
		"name: x\nID: zz\n",
		"name:\nID: 1\n",
		"name: x\nID: 1\nformat:\n\tfield:int;\toffset:0;\tsize:4;\n",
		"name: x\nID: 1\nformat:\n\tfield:int a;\tsize:4;\n",
		"name: x\nID: 1\nformat:\n\tfield:int a;\toffset:4294967295;\tsize:4;\n",
		"name: x\nID: 1\nformat:\n\tfield:__data_loc char[] a;\toffset:4;\tsize:8;\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		ok(!parse(a, texts[i], 8, false), "bad text %zu is refused", i);
	struct schema *s;
	is_u64((u64)-format_parse(a, "s", "", (size_t)1 << 30, false, 8, &s, NULL), E2BIG,
	       "a huge text is refused unread");
}

static void test_header_page(void)
{
	static const char text[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				   "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
	struct page_layout p = { 0 };
	is_u64((u64)format_parse_header_page(text, sizeof(text) - 1, 8, &p), 0, "header_page");
	is_u64(p.data_offset, 16, "data starts at 16");
	is_u64(p.data_size, 4080, "4080 bytes of data");
	is_u64(p.commit_size, 8, "commit is 8 wide");
	is_u64((u64)format_parse_header_page(NULL, 0, 4, &p), 0, "no text");
	is_u64(p.data_offset, 12, "32-bit layout");
	ok(format_parse_header_page("\tfield: u64 timestamp;\toffset:9999;\tsize:8;\n", 44, 8, &p) <
		   0,
	   "nonsense is refused");
}

static void test_pointers(struct arena *a)
{
	static const char text[] =
		"name: x\nID: 1\nformat:\n" COMMON
		"\tfield:__data_loc void *[] ips;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\nprint fmt: \"\"\n";
	struct schema *s = parse(a, text, 4, false);
	const struct schema_field *f = s ? schema_find(s, "ips") : NULL;
	ok(f && f->elem_size == 4, "pointers of a 32-bit machine have four bytes");
}

int main(void)
{
	struct arena a;
	arena_init(&a);
	test_usual(&a);
	test_pointers(&a);
	test_old(&a);
	test_bad(&a);
	test_header_page();
	arena_done(&a);
	return done_testing();
}
