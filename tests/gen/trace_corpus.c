/*
 * Writes a trace.dat that no recording happens to hold, for comparing with trace-cmd:
 *
 *	trace_corpus graph|function|tasks|flags|lost|stacks|markers|nopid|twice|types|bss|vendor 6|7|zstd > FILE
 */
#include "gen/ftrace_gen.h"

#include <stdio.h>

#define COMMON                                                                                     \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char function_format[] =
	"name: function\nID: 1\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip\n";
static const char entry_format[] = "name: funcgraph_entry\nID: 11\n" COMMON
				   "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
				   "\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n\n"
				   "print fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n";
static const char exit_format[] =
	"name: funcgraph_exit\nID: 10\n" COMMON
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, "
	"REC->depth, "
	"REC->calltime, REC->rettime, REC->depth\n";
static const char wakeup_format[] =
	"name: sched_wakeup\nID: 102\n" COMMON
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "
	"REC->target_cpu\n";

static const char kernel_stack_format[] =
	"name: kernel_stack\nID: 4\n" COMMON "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[6];\toffset:16;\tsize:48;\tsigned:0;\n\n"
	"print fmt: \"\\t=> %ps\\n\", (void *)REC->caller[0]\n";
static const char user_stack_format[] =
	"name: user_stack\nID: 12\n" COMMON
	"\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long caller[6];\toffset:16;\tsize:48;\tsigned:0;\n\n"
	"print fmt: \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\", "
	"(void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], "
	"(void *)REC->caller[3], (void *)REC->caller[4], (void *)REC->caller[5]\n";

/* As kernels before 4.x wrote it: a field of no size, and not an array. */
static const char old_print_format[] =
	"name: print\nID: 5\n" COMMON "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char buf;\toffset:16;\tsize:0;\tsigned:1;\n\n"
	"print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n";
static const char bprint_format[] =
	"name: bprint\nID: 6\n" COMMON "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:u32 buf;\toffset:24;\tsize:0;\tsigned:0;\n\n"
	"print fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n";
static const char bputs_format[] =
	"name: bputs\nID: 15\n" COMMON "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const char * str;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"%ps: %s\", (void *)REC->ip, REC->str\n";
/* An event of a hypervisor: it knows no task. */
static const char no_pid_format[] =
	"name: hyp_enter\nID: 103\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
	"\tfield:u32 vcpu;\toffset:4;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"vcpu=%u\", REC->vcpu\n";
static const char no_field_format[] =
	"name: hyp_exit\nID: 104\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
	"print fmt: \"\"\n";
/* A plain field and a string of one name, as drivers have them that keep both. */
static const char twice_format[] =
	"name: gk20a_twice\nID: 105\n" COMMON "\tfield:u32 name;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"name=%s number=%u\", __get_str(name), REC->name\n";
/* Types that only a compiler knows: binder's and old kmem's. */
static const char typeof_format[] =
	"name: binder_like\nID: 106\n" COMMON
	"\tfield:int debug_id;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long ptr;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"transaction=%d ptr=%llx same=%d\", REC->debug_id, "
	"(unsigned long long)((typeof(REC->ptr))REC->ptr + 1), "
	"__builtin_types_compatible_p(typeof(REC->ptr), unsigned long) ? 1 : 0\n";

static const char array_format[] =
	"name: binder_command\nID: 107\n" COMMON
	"\tfield:uint32_t cmd;\toffset:8;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"cmd=0x%x %s\", REC->cmd, (((REC->cmd) >> 0) & ((1 << 8)-1)) < "
	"(sizeof(binder_command_strings) / sizeof((binder_command_strings)[0]) + "
	"((int)(sizeof(struct { int:(-!!(__builtin_types_compatible_p("
	"typeof((binder_command_strings)), typeof(&(binder_command_strings)[0])))); })))) ? "
	"binder_command_strings[(((REC->cmd) >> 0) & ((1 << 8)-1))] : \"unknown\"\n";

/* A driver's event whose text trace-cmd's plug-in makes. */
static const char bss_format[] =
	"name: drv_bss_info_changed\nID: 108\n" COMMON
	"\tfield:char wiphy_name[32];\toffset:8;\tsize:32;\tsigned:0;\n"
	"\tfield:enum nl80211_iftype vif_type;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] vif_name;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 changed;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:bool assoc;\toffset:52;\tsize:1;\tsigned:0;\n"
	"\tfield:u16 aid;\toffset:54;\tsize:2;\tsigned:0;\n"
	"\tfield:bool cts;\toffset:56;\tsize:1;\tsigned:0;\n"
	"\tfield:bool shortpre;\toffset:57;\tsize:1;\tsigned:0;\n"
	"\tfield:bool shortslot;\toffset:58;\tsize:1;\tsigned:0;\n"
	"\tfield:u8 dtimper;\toffset:59;\tsize:1;\tsigned:0;\n"
	"\tfield:u16 bcnint;\toffset:60;\tsize:2;\tsigned:0;\n"
	"\tfield:u16 assoc_cap;\toffset:62;\tsize:2;\tsigned:0;\n"
	"\tfield:u32 basic_rates;\toffset:64;\tsize:4;\tsigned:0;\n"
	"\tfield:bool enable_beacon;\toffset:68;\tsize:1;\tsigned:0;\n"
	"\tfield:u16 ht_operation_mode;\toffset:70;\tsize:2;\tsigned:0;\n\n"
	"print fmt: \"%s changed:%#x\", REC->wiphy_name, REC->changed\n";

static const char symbols[] = "ffffffff81000000 T _text\n"
			      "ffffffff81000000 T _stext\n"
			      "ffffffff81000100 t alpha\n"
			      "ffffffff81000200 T beta\n"
			      "ffffffff81000200 T beta_alias\n"
			      "ffffffff81000200 t beta_other\n"
			      "ffffffff81000300 T gamma\n"
			      "ffffffff81000400 T delta\n"
			      "0000000000001000 A percpu_thing\n"
			      "ffffffffc0000300 t mod_b\t[mod]\n"
			      "ffffffffc0000100 t mod_a\t[mod]\n"
			      "ffffffff81000500 T last_of_kernel\n";

static const char *const formats[] = { gen_format_value, wakeup_format, NULL };
static const char *const stack_formats[] = { kernel_stack_format, user_stack_format, NULL };
static const char *const graph_formats[] = { entry_format, exit_format, NULL };

static const char *const marker_formats[] = { old_print_format, bprint_format, bputs_format, NULL };
static const char *const no_pid_formats[] = { no_pid_format, no_field_format, NULL };
static const char *const twice_formats[] = { twice_format, NULL };
static const char *const bss_formats[] = { bss_format, NULL };
static const char *const type_formats[] = { typeof_format, array_format, NULL };

/* What trace_printk() writes: formats of the kernel, by address. */
static const char printk_formats[] = "0xffffffff82000000 : \"plain %d\\n\"\n"
				     "0xffffffff82000010 : \"two\\nlines %d\\n\"\n"
				     "0xffffffff82000020 : \"no end %s\"\n"
				     "0xffffffff82000030 : \"put this\\n\"\n";

static u32 seed = 7;

static u32 random_below(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static struct gen_event *add(struct gen_trace *t, u64 time, u32 cpu, u16 id, s32 pid, u32 size)
{
	struct gen_event *e = vec_push(&t->buffers[0].events);
	if (!e)
		abort();
	e->time = time;
	e->cpu = cpu;
	gen_event_fill(t, e, id, pid, 0);
	e->size = size;
	return e;
}

static void put64(struct gen_event *e, u32 at, u64 v)
{
	memcpy(e->data + at, &v, 8);
}

static void put32(struct gen_event *e, u32 at, u32 v)
{
	memcpy(e->data + at, &v, 4);
}

static u64 address(void)
{
	static const u64 all[] = { 0xffffffff81000000,
				   0xffffffff81000100,
				   0xffffffff81000200,
				   0xffffffff81000300,
				   0xffffffff81000400,
				   0xffffffff81000123,
				   0xffffffff81000277,
				   0xffffffff81000500,
				   0xffffffffc0000100,
				   0xffffffffc0000300,
				   0xffffffffc0000310,
				   0x1234,
				   0 };
	return all[random_below(ARRAY_SIZE(all))];
}

/* Calls of all durations; leaves, nests, returns without a call, other tasks in between; enough to fill many pages. */
static void graph(struct gen_trace *t)
{
	static const u64 durations[] = {
		1,	     999,	   1000,	 9999,	     10000,	 10001,
		99999,	     100000,	   100001,	 999999,     1000001,	 9999999,
		10000001,    123456789,	   999999999,	 1000000000, 1000000001, 1234567890,
		12345678901, 999999999999, 9999999999999
	};
	u64 time = 1000000;
	for (u32 i = 0; i < 6000; i++) {
		u32 cpu = random_below(2), pid = 7 + random_below(2), depth = random_below(6);
		u64 func = address(), took = durations[random_below(ARRAY_SIZE(durations))];
		time += random_below(1000);
		struct gen_event *e = add(t, time, cpu, 11, (s32)pid, 20);
		put64(e, 8, func);
		put32(e, 16, depth);
		u32 what = random_below(6);
		if (!what)
			continue;
		if (what == 1)
			pid = 15 - pid;
		if (what == 2)
			func = address();
		e = add(t, time + random_below(500), cpu, 10, (s32)pid, 40);
		put64(e, 8, func);
		put32(e, 16, depth);
		put64(e, 24, time);
		put64(e, 32, time + took);
		time += 500;
	}
}

static void function(struct gen_trace *t)
{
	u64 time = 1000000;
	for (u32 i = 0; i < 5000; i++) {
		time += random_below(1000);
		struct gen_event *e = add(t, time, random_below(3), 1, 7, 24);
		put64(e, 8, address());
		put64(e, 16, address());
	}
}

/* Tasks whose names only the scheduler's events tell, on their way. */
static void tasks(struct gen_trace *t)
{
	u64 time = 1000000;
	for (u32 i = 0; i < 6000; i++) {
		time += random_below(1000);
		u32 pid = random_below(40);
		if (random_below(30)) {
			put32(add(t, time, random_below(3), 100, (s32)pid, 12), 8, i);
			continue;
		}
		struct gen_event *e = add(t, time, random_below(3), 102, (s32)random_below(40), 36);
		snprintf((char *)e->data + 8, 16, "t%u-%u", pid, i % 2);
		put32(e, 24, pid);
		put32(e, 28, 120);
	}
}

static void flags(struct gen_trace *t)
{
	for (u32 i = 0; i < 512; i++) {
		struct gen_event *e =
			add(t, 1000000 + i * 1000, i % 2, 100, (s32)i * 1000 - 5000, 12);
		e->data[2] = (u8)i;
		e->data[3] = (u8)(i * 7);
	}
}

static void stack(struct gen_trace *t, u64 time, u32 cpu, u16 id, s32 pid)
{
	u32 nr = random_below(7);
	struct gen_event *e = add(t, time, cpu, id, pid, id == 4 ? 16 + 8 * nr : 64);
	put32(e, 8, id == 4 ? nr : 70 + (u32)pid);
	for (u32 i = 0; i < 6; i++) {
		/* Functions that have one name; programs where no symbol of the kernel is. */
		u64 at = id == 4 ? 0xffffffff81000300 + 0x100 * random_below(3)
				 : 0x5000 + random_below(9);
		put64(e, 16 + 8 * i, id == 4 || i < nr ? at : 0);
	}
	e->missed = random_below(400) ? 0 : 3;
}

/* Stacks behind their events, one or two; some of another task, some twice, some of nothing; enough to fill many pages. */
static void stacks(struct gen_trace *t)
{
	u64 time = 1000000;
	for (u32 i = 0; i < 4000; i++) {
		u32 cpu = random_below(2), what = random_below(12);
		s32 pid = 7 + (s32)random_below(2);
		time += random_below(1000);
		if (what)
			put32(add(t, time++, cpu, 100, pid, 12), 8, i);
		if (what == 1)
			pid = 15 - pid;
		if (what < 8)
			stack(t, time++, cpu, 4, pid);
		if (what < 2)
			stack(t, time++, cpu, 4, pid);
		if (what > 5 && what < 10)
			stack(t, time++, cpu, 12, pid);
	}
}

static void lost(struct gen_trace *t)
{
	for (u32 i = 0; i < 300; i++) {
		struct gen_event *e = add(t, 1000000 + i * 1000, i % 2, 100, 7, 12);
		if (i % 31 == 30)
			e->missed = i % 4 ? i : UINT64_MAX;
	}
}

/* trace_marker and trace_printk: text with and without a line end, and with one inside. */
static void markers(struct gen_trace *t)
{
	static const char *const texts[] = { "one\n", "two", "a\nb\n", "",
					     "with \"quotes\" and \t\n" };
	u64 time = 1000000;
	for (u32 i = 0; i < 40; i++) {
		u32 kind = i % 4;
		struct gen_event *e;
		const char *text = texts[i % ARRAY_SIZE(texts)];
		time += 1000;
		if (!kind) {
			e = add(t, time, i % 2, 5, 7, 16 + (((u32)strlen(text) + 4) & ~3u));
			strcpy((char *)e->data + 16, text);
		} else if (kind == 3) {
			e = add(t, time, i % 2, 15, 7, 24);
			put64(e, 16, 0xffffffff82000030);
		} else {
			u32 which = i / 4 % 3;
			e = add(t, time, i % 2, 6, 7, which == 2 ? 32 : 28);
			put64(e, 16, 0xffffffff82000000 + 16 * which);
			if (which == 2)
				memcpy(e->data + 24, "word\0\0\0", 8);
			else
				put32(e, 24, i);
		}
		put64(e, 8, 0xffffffff81000310);
	}
}

static void no_pid(struct gen_trace *t)
{
	for (u32 i = 0; i < 8; i++) {
		struct gen_event *e =
			add(t, 1000000 + i * 1000, i % 2, i % 3 ? 103 : 104, 7, i % 3 ? 8 : 4);
		e->data[2] = e->data[3] = 0;
		put32(e, 4, 4000 + i);
	}
}

static void twice(struct gen_trace *t)
{
	for (u32 i = 0; i < 4; i++) {
		struct gen_event *e = add(t, 1000000 + i * 1000, 0, 105, 7, 20);
		put32(e, 8, 10 + i);
		put32(e, 12, 4 << 16 | 16);
		memcpy(e->data + 16, "gpu", 4);
	}
}

static void bss(struct gen_trace *t)
{
	for (u32 i = 0; i < 6; i++) {
		struct gen_event *e = add(t, 1000000 + i * 1000, i % 2, 108, 7, 80);
		snprintf((char *)e->data + 8, 32, "phy%u", i);
		put32(e, 40, 2 + i);
		put32(e, 44, 8 << 16 | 72);
		put32(e, 48, i);
		for (u32 k = 52; k < 72; k++)
			e->data[k] = (u8)(i ? k * 7 + i : 0);
		memcpy(e->data + 72, "wlan0\0\0", 8);
	}
}

static void types(struct gen_trace *t)
{
	for (u32 i = 0; i < 4; i++) {
		struct gen_event *e = add(t, 1000000 + i * 1000, 0, 106, 7, 24);
		put32(e, 8, i);
		put64(e, 16, 0x1000 + i);
	}
	put32(add(t, 2000000, 0, 107, 7, 12), 8, 0x40406300);
}

int main(int argc, char **argv)
{
	struct gen_buffer buffers[1] = { { .name = "" } };
	struct gen_trace t = {
		.version = argc > 2 && argv[2][0] == '6' ? 6 : 7,
		.long_size = 8,
		.page_size = 4096,
		.nr_cpus = 3,
		.compression = argc > 2 && argv[2][0] == 'z' ? GEN_ZSTD : GEN_NONE,
		.ftrace_format = function_format,
		.system = "sched",
		.formats = formats,
		.kallsyms = symbols,
		.printk = "",
		.cmdlines = "7 seven\n8 a name with blanks\n",
		.buffers = buffers,
		.nr_buffers = 1,
	};
	const char *kind = argc > 1 ? argv[1] : "";
	if (!strcmp(kind, "graph")) {
		t.system = "ftrace";
		t.formats = graph_formats;
		graph(&t);
	} else if (!strcmp(kind, "function")) {
		function(&t);
	} else if (!strcmp(kind, "tasks")) {
		tasks(&t);
	} else if (!strcmp(kind, "flags")) {
		flags(&t);
	} else if (!strcmp(kind, "lost")) {
		lost(&t);
	} else if (!strcmp(kind, "stacks")) {
		t.ftrace_format = gen_format_value;
		t.system = "ftrace";
		t.formats = stack_formats;
		stacks(&t);
	} else if (!strcmp(kind, "markers")) {
		t.system = "ftrace";
		t.formats = marker_formats;
		t.printk = printk_formats;
		markers(&t);
	} else if (!strcmp(kind, "nopid")) {
		t.system = "hyp";
		t.formats = no_pid_formats;
		no_pid(&t);
	} else if (!strcmp(kind, "twice")) {
		t.system = "gk20a";
		t.formats = twice_formats;
		twice(&t);
	} else if (!strcmp(kind, "types")) {
		t.system = "binder";
		t.formats = type_formats;
		types(&t);
	} else if (!strcmp(kind, "bss")) {
		t.system = "mac80211";
		t.formats = bss_formats;
		bss(&t);
	} else if (!strcmp(kind, "vendor")) {
		t.vendor_option = 1047;
		flags(&t);
	} else {
		return 1;
	}
	struct strbuf file = { 0 };
	gen_trace_write(&t, &file);
	bool good = fwrite(file.data, 1, file.len, stdout) == file.len;
	strbuf_done(&file);
	vec_free(&buffers[0].events);
	return good ? 0 : 1;
}
