/* event: what strings mean on six machines, and what is said when they mean nothing. */
#include "tap.h"

#include "event/event.h"
#include "event/print.h"
#include "event/vendor.h"

#include <errno.h>
#include <stdlib.h>

#define ROOT TEST_DATA "/sysroot/"

/* ---- grammar alone ---- */

static void test_parse(void)
{
	struct arena a;
	struct event_specs s;
	struct diag d;
	arena_init(&a);
	diag_init(&d);
	ok(event_parse(&a, " cycles:u , g1{faults,cs:k}:S,cpu/event=0x3c,name='a,b/c'/pp",
		       EVENT_USE_COUNT, &s, &d) == 0,
	   "a list");
	ok(s.nr_items == 4 && s.nr_groups == 1, "four events, one group");
	ok(s.items[0].kind == EVENT_KIND_NAME && s.items[0].name.start == 1 &&
		   s.items[0].name.len == 6,
	   "span of a name");
	ok(s.items[0].mods.bits == EVENT_MOD_USER && s.items[0].group == -1, "its modifier");
	ok(s.groups[0].nr == 2 && s.groups[0].first == 1 && s.groups[0].name.len == 2,
	   "a named group");
	ok(s.groups[0].mods.bits == EVENT_MOD_READ && s.items[2].mods.bits == EVENT_MOD_KERNEL,
	   "group and member modifiers");
	const struct event_spec *e = &s.items[3];
	ok(e->has_terms && e->nr_terms == 2 && e->mods.precise == 2,
	   "terms and modifiers behind the slash");
	ok(e->terms[1].value.len == 5 && !strncmp(s.text + e->terms[1].value.start, "a,b/c", 5),
	   "a quoted value");

	ok(event_parse(&a, "cpu/event=0x3c , name = x /", EVENT_USE_COUNT, &s, &d) == 0 &&
		   s.items[0].nr_terms == 2 && s.items[0].terms[0].value.len == 4,
	   "blanks behind a value do not belong to it");
	ok(event_parse(&a, "sched:sched_switch/next_pid==0 && comm ~ \"a/b,c\"/:u", EVENT_USE_COUNT,
		       &s, &d) == 0 &&
		   s.nr_items == 1,
	   "a filter");
	e = &s.items[0];
	ok(e->kind == EVENT_KIND_TRACEPOINT && e->has_filter && e->filter.len == 29 &&
		   e->mods.bits == EVENT_MOD_USER,
	   "its span and the modifier behind it");
	ok(event_parse(&a, "sched:sched_switch/name=x,period=5/", EVENT_USE_COUNT, &s, &d) == 0 &&
		   s.items[0].nr_terms == 2 && !s.items[0].has_filter,
	   "terms, not a filter");
	ok(event_parse(&a, "uprobe:/bin/a:std::f<int, char>(int, char)+0x10", EVENT_USE_COUNT, &s,
		       &d) == 0 &&
		   s.nr_items == 1 && s.items[0].number == 0x10 && s.items[0].event.len == 28,
	   "commas in a C++ name do not split");
	ok(event_parse(&a, "usdt:/bin/a:prov:name,usdt:/bin/a:name", EVENT_USE_COUNT, &s, &d) == 0 &&
		   s.nr_items == 2 && s.items[0].provider.len == 4 && !s.items[1].provider.len,
	   "usdt with and without provider");
	ok(event_parse(&a, "kprobe:nfs:nfs_open+8/x==1/", EVENT_USE_COUNT, &s, &d) == 0 &&
		   s.items[0].number == 8 && s.items[0].has_filter,
	   "kprobe in a module");
	ok(event_parse(
		   &a, "kprobe:vfs_read count b=+0(%si):string /count > 1/,cs,uprobe:/bin/a:m.c:4 i",
		   EVENT_USE_COUNT, &s, &d) == 0 &&
		   s.nr_items == 3 && s.items[0].point.len == 31 && s.items[0].filter.len == 9 &&
		   !s.items[1].point.len && s.items[2].point.len == 7,
	   "arguments of probes end at a comma or a filter");
	ok(event_parse(&a, "{kprobe:f x,uretprobe:/bin/a:g $retval}", EVENT_USE_COUNT, &s, &d) == 0 &&
		   s.items[0].point.len == 3 && s.items[1].point.len == 9 && s.nr_groups == 1,
	   "and at the end of a group");
	ok(event_parse(&a, "kprobe:f ,kprobe:g:12,kprobe:mod:h", EVENT_USE_COUNT, &s, &d) == 0 &&
		   !s.items[0].point.len && s.items[1].point.len == 4 && !s.items[2].point.len,
	   "a line is a point, a module is not");
	ok(event_parse(&a, "kprobe:f x=+8(%di) +stacktrace", EVENT_USE_FTRACE, &s, &d) == 0 &&
		   s.items[0].point.len == 11 && s.items[0].triggers.len == 10,
	   "in tracefs a trigger may follow");
	ok(event_parse(&a, "profile:99,profile:ms:10", EVENT_USE_COUNT, &s, &d) == 0 &&
		   s.items[0].number == 99 && !s.items[0].period_ns &&
		   s.items[1].number == 10000000 && s.items[1].period_ns,
	   "profile by rate and by period");
	ok(event_parse(&a, "function:tcp_*:mod:tcp,graph:do_sys_open*", EVENT_USE_COUNT, &s, &d) ==
			   0 &&
		   s.items[0].name.len == 13,
	   "functions");
	ok(event_parse(&a, "ix86arch::INSTRUCTION_RETIRED:u,INST_RETIRED:ANY_P:c=1",
		       EVENT_USE_COUNT, &s, &d) == 0 &&
		   s.items[0].kind == EVENT_KIND_PFM && s.items[1].kind == EVENT_KIND_PFM,
	   "libpfm's spellings");
	ok(d.items.nr == 0, "nothing was said");
	diag_done(&d);
	arena_done(&a);
}

/* ---- tracefs: words, probes, tracers, triggers ---- */

static const struct {
	const char *text;
	u32 use;
	const char *want; /* [!]system:event[*][/filter/][+trigger], or kind=module:symbol+offset, separated by commas */
} traced[] = {
	{ "sched:sched_switch", EVENT_USE_FTRACE, "sched:sched_switch" },
	{ "sched_switch", EVENT_USE_FTRACE, "sched:sched_switch" },
	{ "kmem", EVENT_USE_FTRACE, "kmem:kfree*,kmem:kmalloc*" },
	{ "kmem:", EVENT_USE_START, "kmem:kfree*,kmem:kmalloc*" },
	{ "km*", EVENT_USE_FTRACE, "kmem:kfree*,kmem:kmalloc*" },
	{ "kmall*", EVENT_USE_FTRACE, "kmem:kmalloc" },
	{ "kmem:*", EVENT_USE_FTRACE, "kmem:kfree*,kmem:kmalloc*" },
	{ "kmem:kf*", EVENT_USE_FTRACE, "kmem:kfree" },
	{ ":kfree", EVENT_USE_FTRACE, "kmem:kfree" },
	{ "*:kfree", EVENT_USE_FTRACE, "kmem:kfree" },
	{ "kfree,sched_switch", EVENT_USE_FTRACE, "kmem:kfree,sched:sched_switch" },
	{ "!kfree", EVENT_USE_FTRACE, "!kmem:kfree" },
	{ "kfree/ptr == 0/", EVENT_USE_FTRACE, "kmem:kfree/ptr == 0/" },
	{ "sched_switch/next_comm == \"a/b,c\"/+stack+traceoff:1", EVENT_USE_FTRACE,
	  "sched:sched_switch/next_comm == \"a/b,c\"/+stacktrace+traceoff:1" },
	{ "kfree+stacktrace,kmalloc", EVENT_USE_FTRACE, "kmem:kfree+stacktrace,kmem:kmalloc" },
	{ "kfree+hist:keys=a,b if x == 1", EVENT_USE_FTRACE, "kmem:kfree+hist:keys=a,b if x == 1" },
	{ "syscall:openat", EVENT_USE_HIST, "syscalls:sys_enter_openat" },
	{ "syscall:openat+stack", EVENT_USE_FTRACE, "syscalls:sys_enter_openat+stacktrace" },
	{ "function:vfs_*:mod:ext4+traceoff:1", EVENT_USE_START,
	  "function=vfs_*:mod:ext4+traceoff:1" },
	{ "graph:do_sys_open", EVENT_USE_FTRACE, "graph=do_sys_open" },
	{ "kprobe:vfs_*", EVENT_USE_FTRACE, "kprobe=vfs_*" },
	{ "kprobe:nfs:nfs_*/count > 1/+stack", EVENT_USE_FTRACE,
	  "kprobe=nfs:nfs_*/count > 1/+stacktrace" },
	{ "kprobe:0xffffffff81000000+0x10", EVENT_USE_FTRACE, "kprobe=0xffffffff81000000@16" },
	{ "kretprobe:vfs_r*,fprobe:a*,fretprobe:b*,call:c*", EVENT_USE_FTRACE,
	  "kretprobe=vfs_r*,fprobe=a*,fretprobe=b*,call=c*" },
	{ "uprobe:/proc/self/exe:0x10+0x2+stack", EVENT_USE_FTRACE, "uprobe=0x10@18+stacktrace" },
};

static void put_traced(const struct event_desc *e, struct strbuf *to)
{
	strbuf_printf(to, "%s%s", to->len ? "," : "", e->off ? "!" : "");
	if (e->open == EVENT_OPEN_TRACEFS)
		strbuf_printf(to, "%s:%s%s", e->system, e->event, e->whole ? "*" : "");
	else
		strbuf_printf(to, "%s=%s%s%s", event_provider_of(e->kind)->prefix,
			      e->probe.module ? e->probe.module : "", e->probe.module ? ":" : "",
			      e->probe.symbol);
	if (e->probe.offset)
		strbuf_printf(to, "@%llu", (unsigned long long)e->probe.offset);
	if (e->filter)
		strbuf_printf(to, "/%s/", e->filter);
	for (u32 i = 0; i < e->nr_triggers; i++)
		strbuf_printf(to, "+%s", e->triggers[i]);
}

static void test_traced(void)
{
	struct event_env env;
	if (event_env_open(&env, ROOT "vm-no-pmu") < 0)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(traced); i++) {
		struct event_list l;
		struct diag d;
		struct strbuf got;
		diag_init(&d);
		event_list_init(&l);
		strbuf_init(&got);
		int err = event_list_add(&l, &env, traced[i].text, traced[i].use, &d);
		vec_for_each (&l.events, e)
			put_traced(e, &got);
		if (!ok(!err && !strcmp(strbuf_cstr(&got), traced[i].want), "tracefs: '%s'",
			traced[i].text)) {
			strbuf_char(&got, '\n');
			diag_render(&d, "#   ", false, &got);
			printf("# err %d: %s\n", err, strbuf_cstr(&got));
		}
		strbuf_done(&got);
		event_list_done(&l);
		diag_done(&d);
	}
	event_env_close(&env);
}

/* Every row is understood in every use that it declares, and refused in all others by the same words. */
static void test_rows(void)
{
	static const u32 uses[] = { EVENT_USE_COUNT, EVENT_USE_SAMPLE, EVENT_USE_FTRACE,
				    EVENT_USE_START, EVENT_USE_HIST };
	const struct event_provider *rows = event_providers();
	for (size_t k = 0; k < EVENT_KIND_NR; k++) {
		const struct event_provider *row = &rows[k];
		bool perf = row->uses & (EVENT_USE_COUNT | EVENT_USE_SAMPLE);
		ok(row->form && row->about && row->example && row->uses,
		   "row %zu says what it is, with an example", k);
		ok((k == EVENT_KIND_TOOL || perf == (row->needs != 0)) &&
			   !(row->uses & EVENT_USE_TRACEFS) == !row->traced_needs,
		   "row %zu says what it needs from the kernel", k);
		ok(!row->prefix || event_provider_find(row->prefix, strlen(row->prefix)) == row,
		   "row %zu is found by its prefix", k);
		for (size_t u = 0; u < ARRAY_SIZE(uses); u++) {
			struct arena a;
			struct event_specs s;
			struct diag d;
			struct event_list l;
			struct event_env env;
			arena_init(&a);
			diag_init(&d);
			event_list_init(&l);
			if (row->uses & uses[u] && k != EVENT_KIND_NAME) {
				ok(!event_parse(&a, row->example, uses[u], &s, &d) && s.nr_items == 1,
				   "'%s' is understood in use %u", row->example, uses[u]);
			} else if (row->prefix) {
				if (event_env_open(&env, ROOT "vm-no-pmu") < 0)
					abort();
				struct strbuf verbs;
				strbuf_init(&verbs);
				event_use_verbs(row->uses, &verbs);
				int err = event_list_add(&l, &env, row->example, uses[u], &d);
				ok(err == -EOPNOTSUPP && d.items.nr == 1 && d.items.at[0].hint &&
					   strstr(d.items.at[0].hint, strbuf_cstr(&verbs)),
				   "'%s' is refused in use %u, by what can use it", row->example,
				   uses[u]);
				strbuf_done(&verbs);
				event_env_close(&env);
			}
			event_list_done(&l);
			diag_done(&d);
			arena_done(&a);
		}
	}
}

/* Files without names: what perf calls them. */
static void test_shown(void)
{
	const char *cycles = legacy_shown(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	const char *branches = legacy_shown(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	const char *front = legacy_shown(PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND);
	const char *faults = legacy_shown(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	const char *cgroup = legacy_shown(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES);
	ok(cycles && !strcmp(cycles, "cycles") && branches && !strcmp(branches, "branches") &&
		   front && !strcmp(front, "stalled-cycles-frontend"),
	   "names of hardware events in reports");
	ok(faults && !strcmp(faults, "page-faults") && cgroup && !strcmp(cgroup, "cgroup-switches"),
	   "of software events");
	ok(!legacy_shown(PERF_TYPE_SOFTWARE, 99) && !legacy_shown(PERF_TYPE_RAW, 0),
	   "of others none");
}

static void test_function_words(void)
{
	struct event_function f;
	event_function_split("vfs_*", &f);
	ok(f.glob_len == 5 && !f.module && !f.command, "functions by a pattern");
	event_function_split("vfs_*:mod:ext4", &f);
	ok(f.glob_len == 5 && f.module_len == 4 && !strncmp(f.module, "ext4", 4) && !f.command,
	   "of a module");
	event_function_split("vfs_read:traceoff:1", &f);
	ok(f.glob_len == 8 && !f.module && !strcmp(f.command, "traceoff:1"), "with a command");
	event_function_split(":mod:ext4:stacktrace", &f);
	ok(f.glob_len == 0 && f.module_len == 4 && !strcmp(f.command, "stacktrace"),
	   "all of a module, with a command");
}

/* ---- refusals: the message, the place ---- */

static const struct {
	const char *root;
	u32 use;
	const char *text;
	int err;
	const char *message; /* starts with */
	size_t start, len;
	const char *hint; /* starts with; NULL: any */
} refusals[] = {
	{ "vm-no-pmu", EVENT_USE_COUNT, "cycels", -ENOENT, "unknown event 'cycels'", 0, 6,
	  "did you mean cycles?" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "faults,minor-faults-a", -ENOENT,
	  "unknown event 'minor-faults-a'", 7, 14, "did you mean minor-faults?" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "L1-dcache-lods", -ENOENT, "unknown event", 0, 14,
	  "did you mean L1-dcache-loads?" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "iTLB-stores", -EINVAL, "no cache event 'iTLB-stores'", 0,
	  11, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "cycles:ux", -EINVAL, "unknown modifier 'x'", 8, 1,
	  "modifiers:" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "cycles:uu", -EINVAL, "duplicate modifier 'u'", 8, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "cycles:pppp", -EINVAL, "too many p modifiers", 10, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "cycles:ub", -EINVAL, "shared BPF counters", 8, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "cycles:R", -EINVAL, "retirement latency", 7, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "cycles:X", -EINVAL, "groups are never rearranged", 7, 1,
	  NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "cpu/event=1/", -ENOENT, "no PMU or event is called 'cpu'",
	  0, 3, "this machine has no hardware counters" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "mrs/tsc/", -ENOENT, "no PMU or event is called 'mrs'", 0,
	  3, "did you mean msr?" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "msr", -EINVAL, "'msr' is a PMU", 0, 3, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "msr/evnt=1/", -EINVAL, "PMU msr has no term 'evnt'", 4, 4,
	  "did you mean event?" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "sched:sched_swich", -ENOENT,
	  "no tracepoint 'sched_swich' in system 'sched'", 6, 11,
	  "did you mean sched:sched_switch?" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "foo:sched_switch", -ENOENT,
	  "no tracepoints of a system 'foo'", 0, 3, "did you mean sched:sched_switch" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "sched:zz*", -ENOENT, "no tracepoint 'zz*' in system", 6, 3,
	  NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "sched:sched_switch/nxt_pid==0/", -EINVAL,
	  "sched:sched_switch has no field 'nxt_pid'", 19, 7, "did you mean next_pid?" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "sched:sched_switch/next_pid==0 && (prev_prio<5/", -EINVAL,
	  "missing closing parenthesis", 45, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "sched:sched_switch/next_pid=0/", -EINVAL,
	  "use '==' to test for equality", 27, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "sched:sched_switch/next_pid==/", -EINVAL,
	  "expected a value", 29, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "sched:sched_switch/next_pid==1 prev_pid==2/", -EINVAL,
	  "expected && or ||", 31, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "sched:sched_w*/next_pid==0/", -EINVAL,
	  "sched:sched_wakeup has no field 'next_pid'", 15, 8, NULL },
	{ "amd", EVENT_USE_COUNT, "sched:sched_switch", -ENOENT, "tracefs is not mounted", 0, 18,
	  "sudo mount -t tracefs" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "syscall:opnat", -ENOENT, "no system call 'opnat'", 8, 5,
	  "did you mean syscall:openat?" },
	{ "vm-no-pmu", EVENT_USE_SAMPLE, "cycles,graph:do_sys_open*", -EOPNOTSUPP,
	  "'record' cannot use this event", 7, 18, "use it with: sonde ftrace record" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "function:tcp_*", -EOPNOTSUPP,
	  "'stat' cannot use this event", 0, 14, "use it with: sonde ftrace record or ftrace start" },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "cycles", -EOPNOTSUPP,
	  "'ftrace record' cannot use this event (generic hardware event)", 0, 6,
	  "use it with: sonde stat or record" },
	{ "vm-no-pmu", EVENT_USE_START, "kprobe:vfs_read", -EOPNOTSUPP,
	  "'ftrace start' cannot use this event", 0, 15,
	  "use it with: sonde stat, record or ftrace record" },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "sched:sched_swich", -ENOENT,
	  "unknown event 'sched:sched_swich'", 0, 17, "did you mean sched:sched_switch?" },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "kfree,nosuch*", -ENOENT, "unknown event 'nosuch*'", 6, 7,
	  NULL },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "sched:sched_switch:u", -EINVAL,
	  "unexpected text ':u' after the event", 18, 2, "modifiers are only supported" },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "{kfree,kmalloc}", -EINVAL, "groups are only supported", 0,
	  1, NULL },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "kfree/ptr", -EINVAL,
	  "missing closing slash after the filter", 5, 4, NULL },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "graph:vfs_read/pid==1/", -EINVAL,
	  "function tracers cannot filter by field", 15, 6, "use kprobe:vfs_read/FILTER/" },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "call:", -EINVAL, "expected a function name", 5, 1,
	  "the syntax is call:" },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "call:vfs_read+8", -EINVAL, "only kprobe: takes an offset",
	  5, 8, NULL },
	{ "amd", EVENT_USE_FTRACE, "fprobe:jiffies", -ENOENT,
	  "this kernel has no function 'jiffies'", 7, 7, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "sched:sched_switch+stack", -EINVAL,
	  "unexpected text '+stack' after the event", 18, 6, "triggers (+TRIGGER)" },
	{ "vm-no-pmu", EVENT_USE_SAMPLE, "duration_time", -EOPNOTSUPP,
	  "'record' cannot use this event", 0, 13, "use it with: sonde stat" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "faults/freq=99/", -EOPNOTSUPP,
	  "'freq' is an option for recording", 7, 4, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "faults/nope=1/", -EINVAL, "unknown term 'nope'", 7, 4,
	  "terms:" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "{faults,cs", -EINVAL, "missing closing brace", 0, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "{faults,{cs}}", -EINVAL, "groups cannot be nested", 8, 1,
	  NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "faults,,cs", -EINVAL, "expected an event", 7, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "", -EINVAL, "expected an event", 0, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "faults cs", -EINVAL, "expected a comma", 7, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "mem:xyz", -EINVAL, "invalid address", 4, 3, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "mem:0x10/9:w", -EINVAL, "invalid length", 9, 1, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "mem:0x10:rq", -EINVAL, "unknown access type 'q'", 10, 1,
	  NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "mem", -EINVAL, "'mem' is not an event by itself", 0, 3,
	  "the syntax is mem:" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "uprobe:/nonexistent:main", -ENOENT,
	  "cannot read /nonexistent", 7, 12, NULL },
	{ "vm-no-pmu", EVENT_USE_COUNT, "uprobe:main", -EINVAL, "expected a colon and a place", 11,
	  1, "the syntax is uprobe:" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "cs,kprobe:vfs_read", -EOPNOTSUPP,
	  "this kernel has no kprobes (CONFIG_KPROBE_EVENTS)", 3, 7, NULL },
	{ "amd", EVENT_USE_COUNT, "kprobe:vfs_reed", -ENOENT,
	  "this kernel has no function 'vfs_reed'", 7, 8, "did you mean vfs_read?" },
	{ "amd", EVENT_USE_COUNT, "kretprobe:tcp_clamp_window", -ENOENT,
	  "this kernel has no function 'tcp_clamp_window'", 10, 16,
	  "did you mean tcp_clamp_window.isra.0?" },
	{ "amd", EVENT_USE_COUNT, "kprobe:ext4:nfs_open", -ENOENT,
	  "this kernel has no function 'nfs_open' in module ext4", 12, 8, "it exists elsewhere" },
	{ "amd", EVENT_USE_COUNT, "kprobe:vfs_read count", -EOPNOTSUPP,
	  "this command takes probes without arguments", 7, 14, "add it with" },
	{ "amd", EVENT_USE_COUNT, "kprobe:jiffies", -ENOENT,
	  "this kernel has no function 'jiffies'", 7, 7, NULL },
	{ "amd", EVENT_USE_COUNT, "kprobe:asm_exc_int3", -EOPNOTSUPP,
	  "the kernel does not allow probes on 'asm_exc_int3'", 7, 12, "it is blacklisted" },
	{ "amd", EVENT_USE_COUNT, "uprobe:/proc/self/exe:mian", -ENOENT,
	  "/proc/self/exe has no function 'mian'", 22, 4, "did you mean main?" },
	{ "intel-server", EVENT_USE_COUNT, "cpu/event=0x1ff/", -EINVAL,
	  "value too large for 'event', which has 8 bits", 10, 5, NULL },
	{ "intel-server", EVENT_USE_COUNT, "cpu/event=0x3c,umsk=1/", -EINVAL,
	  "PMU cpu has no term 'umsk'", 15, 4, "did you mean umask?" },
	{ "intel-server", EVENT_USE_COUNT, "cpu/cpu-cycels/", -EINVAL,
	  "PMU cpu has no event or term 'cpu-cycels'", 4, 10, "did you mean cpu-cycles?" },
	{ "intel-server", EVENT_USE_COUNT, "imc/clokticks/", -EINVAL,
	  "PMU uncore_imc_0 has no event or term 'clokticks'", 4, 9, "did you mean clockticks?" },
	{ "intel-server", EVENT_USE_COUNT, "cpu/event=/", -EINVAL, "term 'event=' has no value", 4,
	  5, NULL },
	{ "intel-server", EVENT_USE_COUNT, "cpu/event=0x3c", -EINVAL,
	  "missing closing slash after the terms", 14, 1, NULL },
	{ "intel-server", EVENT_USE_COUNT, "cpu/event=abc/", -EINVAL, "'event' needs a number", 10,
	  3, NULL },
};

static void test_refusals(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		char root[512];
		snprintf(root, sizeof(root), ROOT "%s", refusals[i].root);
		struct event_env env;
		struct event_list l;
		struct diag d;
		diag_init(&d);
		event_list_init(&l);
		if (event_env_open(&env, root) < 0)
			abort();
		int err = event_list_add(&l, &env, refusals[i].text, refusals[i].use, &d);
		const struct diag_item *it = d.items.nr ? &d.items.at[0] : NULL;
		const char *hint = refusals[i].hint;
		bool good =
			it && err == refusals[i].err && d.items.nr == 1 && l.events.nr == 0 &&
			!strncmp(it->message, refusals[i].message, strlen(refusals[i].message)) &&
			it->start == refusals[i].start && it->len == refusals[i].len && it->text &&
			!strcmp(it->text, refusals[i].text) &&
			(!hint || (it->hint && !strncmp(it->hint, hint, strlen(hint))));
		if (!ok(good, "%s: '%s' is refused", refusals[i].root, refusals[i].text)) {
			struct strbuf s;
			strbuf_init(&s);
			diag_render(&d, "#   ", false, &s);
			printf("# err %d, %zu messages, span %zu+%zu\n%s", err, d.items.nr,
			       it ? it->start : 0, it ? it->len : 0, strbuf_cstr(&s));
			strbuf_done(&s);
		}
		event_list_done(&l);
		event_env_close(&env);
		diag_done(&d);
	}
}

/* ---- terms that say how to record ---- */

static void test_terms(void)
{
	static const char text[] = "cpu-clock/freq=99/,cpu-clock/period=7/,cpu-clock/overwrite/"
				   ",cpu-clock/overwrite=0/,cpu-clock/no-overwrite/";
	struct event_env env;
	struct event_list l;
	struct diag d;
	diag_init(&d);
	event_list_init(&l);
	if (event_env_open(&env, ROOT "vm-no-pmu") < 0 ||
	    event_list_add(&l, &env, text, EVENT_USE_SAMPLE, &d) || l.events.nr != 5)
		abort();
	const struct event_desc *e = l.events.at;
	ok(e[0].attr.freq && e[0].attr.sample_period == 99 && e[0].terms.has_freq,
	   "freq= is a frequency");
	ok(!e[1].attr.freq && e[1].attr.sample_period == 7 && e[1].terms.has_period,
	   "period= is a period");
	ok(e[2].terms.overwrite == 1, "overwrite switches on");
	ok(e[3].terms.overwrite == 0 && e[4].terms.overwrite == 0,
	   "overwrite=0 and no-overwrite switch off");
	event_list_done(&l);
	event_env_close(&env);
	diag_done(&d);
}

/* ---- meanings: each descriptor as one line ---- */

static const struct {
	const char *root;
	u32 use;
	const char *text;
	const char *want; /* canonical spelling{=attr.type/config}[@cpus][*scale unit][+leader][!], separated by blanks */
} meanings[] = {
	{ "intel-server", EVENT_USE_COUNT, "cycles", "cpu-cycles{0/0}" },
	{ "intel-server", EVENT_USE_COUNT, "cpu/mem-loads,ldlat=30/P",
	  "cpu/config=0x1cd,config1=0x1e/GHP{4/1cd}" },
	{ "intel-server", EVENT_USE_COUNT, "uncore_imc/cas_count_read/",
	  "uncore_imc_0/config=0xf04/{13/f04}@0,32*6.10352e-05 MiB+0~1 "
	  "uncore_imc_1/config=0xf04/{14/f04}@0,32*6.10352e-05 MiB+1~1 "
	  "uncore_imc_2/config=0xf04/{15/f04}@0,32*6.10352e-05 MiB+2~1 "
	  "uncore_imc_9/config=0xf04/{22/f04}@0,32*6.10352e-05 MiB+3~1 "
	  "uncore_imc_10/config=0xf04/{23/f04}@0,32*6.10352e-05 MiB+4~1 "
	  "uncore_imc_11/config=0xf04/{24/f04}@0,32*6.10352e-05 MiB+5~1" },
	{ "intel-server", EVENT_USE_COUNT, "energy-ram",
	  "power/config=0x3/{62/3}@0,32*2.32831e-10 Joules" },
	{ "intel-server", EVENT_USE_COUNT, "uncore_cha_1/event=0x35,umask=0xc816fe01/",
	  "uncore_cha_1/config=0xc816fe00000135/{51/c816fe00000135}@0,32" },
	{ "intel-hybrid", EVENT_USE_COUNT, "instructions:u",
	  "cpu_core/instructions/u{0/400000001}@0-15+0~1 "
	  "cpu_atom/instructions/u{0/a00000001}@16-23+1~1" },
	{ "intel-hybrid", EVENT_USE_COUNT, "{cycles,faults,instructions}",
	  "cpu_core/cpu-cycles/{0/400000000}@0-15+0~1 page-faults{1/2}+0 "
	  "cpu_core/instructions/{0/400000001}@0-15+0~2 "
	  "cpu_atom/cpu-cycles/{0/a00000000}@16-23+3~1 "
	  "cpu_atom/instructions/{0/a00000001}@16-23+3~2" },
	{ "intel-hybrid", EVENT_USE_COUNT, "{slots,topdown-retiring}:W",
	  "cpu_core/config=0x400/WH{4/400}@0-15+0 cpu_core/config=0x8000/WH{4/8000}@0-15+0" },
	{ "arm64-biglittle", EVENT_USE_COUNT, "r11",
	  "armv8_cortex_a53/config=0x11/{8/11}@0-3+0~1 "
	  "armv8_cortex_a73/config=0x11/{9/11}@4-7+1~1" },
	{ "arm64-biglittle", EVENT_USE_COUNT, "cpu/cycles/u",
	  "armv8_cortex_a53/cpu-cycles/u{0/800000000}@0-3+0~1 "
	  "armv8_cortex_a73/cpu-cycles/u{0/900000000}@4-7+1~1" },
	{ "arm64-qemu", EVENT_USE_COUNT, "cycles:k,r11", "cpu-cycles:kGH{0/0} r11{4/11}+1" },
	{ "arm64-qemu", EVENT_USE_COUNT, "inst_retired", "armv8_pmuv3/config=0x8/{8/8}@0" },
	{ "amd", EVENT_USE_COUNT, "cpu/event=0x1cb,umask=2/",
	  "cpu/config=0x1000002cb/{4/1000002cb}" },
	{ "amd", EVENT_USE_SAMPLE, "ibs_op/cnt_ctl=1/p", "ibs_op/config=0x80000/p{13/80000}" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "cycles", "cpu-cycles{0/0}!" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "r13c", "r13c{4/13c}!" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "msr/tsc/", "msr/config=0x0/{9/0}" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "duration_time", "duration_time{1/9}*1 ns" },
	{ "vm-no-pmu", EVENT_USE_FTRACE, "graph:do_*", "graph:do_*{0/0}" },
	{ "vm-no-pmu", EVENT_USE_SAMPLE, "profile:99", "profile:99{1/0}" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "mem:0x1000:x", "mem:0x1000/8:x{5/0}" },
	{ "vm-no-pmu", EVENT_USE_COUNT, "syscall:openat/flags==0/",
	  "syscalls:sys_enter_openat/flags==0/{2/%syscalls/sys_enter_openat}" },
	{ "amd", EVENT_USE_COUNT, "kprobe:vfs_read", "kprobe:vfs_read{6/0}" },
	{ "amd", EVENT_USE_COUNT, "kretprobe:vfs_read", "kretprobe:vfs_read{6/1}" },
	{ "amd", EVENT_USE_COUNT, "kprobe:nfs:nfs_open", "kprobe:nfs:nfs_open{6/0}" },
};

static void describe(const struct event_list *l, const char *root, struct strbuf *to)
{
	for (size_t i = 0; i < l->events.nr; i++) {
		const struct event_desc *e = &l->events.at[i];
		if (i)
			strbuf_char(to, ' ');
		event_print(e, to);
		if (e->attr.type == PERF_TYPE_TRACEPOINT)
			strbuf_printf(to, "{2/%%%s/%s}", e->system, e->event);
		else
			strbuf_printf(to, "{%u/%llx}", e->attr.type,
				      (unsigned long long)e->attr.config);
		if (e->cpus)
			strbuf_printf(to, "@%s", e->cpus);
		if (e->unit)
			strbuf_printf(to, "*%g %s", e->scale, e->unit);
		/* The first of two that are alone says nothing. */
		bool silent = l->events.nr == 2 && i == 0 && e->leader == 0 && !e->merge && !e->cpus;
		if (l->events.nr > 1 && !silent)
			strbuf_printf(to, "+%u", e->leader);
		if (e->merge)
			strbuf_printf(to, "~%u", e->merge);
		if (e->why_not)
			strbuf_char(to, '!');
	}
}

/* The canonical spelling of every event means the same event again. */
static bool reads_back(const struct event_list *l, struct event_env *env, u32 use)
{
	bool good = true;
	for (size_t i = 0; i < l->events.nr; i++) {
		const struct event_desc *e = &l->events.at[i];
		struct event_list again;
		struct strbuf s;
		strbuf_init(&s);
		event_list_init(&again);
		event_print(e, &s);
		struct perf_event_attr a = e->attr, b = { 0 };
		if (event_list_add(&again, env, strbuf_cstr(&s), use, NULL) == 0 &&
		    again.events.nr == 1)
			b = again.events.at[0].attr;
		/* What is not part of the spelling: pointers, and what groups ask of their leaders. */
		if (e->kind >= EVENT_KIND_KPROBE && e->kind <= EVENT_KIND_USDT)
			a.config1 = b.config1 = 0;
		/* cpu_core/instructions/ takes the PMU's own encoding where it has one: the same event. */
		if (e->kind == EVENT_KIND_HARDWARE && e->merge && again.events.nr == 1 &&
		    !strcmp(again.events.at[0].pmu, e->pmu)) {
			a.type = b.type;
			a.config = b.config;
		}
		if (memcmp(&a, &b, sizeof(a))) {
			printf("#   '%s' means something else\n", strbuf_cstr(&s));
			good = false;
		}
		strbuf_done(&s);
		event_list_done(&again);
	}
	return good;
}

static void test_meanings(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++) {
		char root[512], what[256];
		snprintf(root, sizeof(root), ROOT "%s", meanings[i].root);
		snprintf(what, sizeof(what), "%s: %s", meanings[i].root, meanings[i].text);
		struct event_env env;
		struct event_list l;
		struct diag d;
		struct strbuf s;
		diag_init(&d);
		strbuf_init(&s);
		event_list_init(&l);
		if (event_env_open(&env, root) < 0)
			abort();
		if (event_list_add(&l, &env, meanings[i].text, meanings[i].use, &d) < 0)
			diag_render(&d, "failed", false, &s);
		describe(&l, root, &s);
		is_str(strbuf_cstr(&s), meanings[i].want, what);
		ok(reads_back(&l, &env, meanings[i].use), "%s: reads back", what);
		strbuf_done(&s);
		event_list_done(&l);
		event_env_close(&env);
		diag_done(&d);
	}
}

static void test_filter(void)
{
	struct event_env env;
	struct event_list l;
	struct diag d;
	diag_init(&d);
	event_list_init(&l);
	ok(event_env_open(&env, ROOT "vm-no-pmu") == 0, "open");
	ok(event_list_filter(&l, &env, 0, "x", &d) == -EINVAL, "a filter before any event");
	ok(event_list_add(&l, &env, "sched:sched_sw*,kmem:*/ptr>10/", EVENT_USE_COUNT, &d) == 0 &&
		   l.events.nr == 3,
	   "three tracepoints");
	is_u64(event_list_filter(&l, &env, 1, "ptr!=0", &d), 0, "a second filter");
	is_str(l.events.at[1].filter, "(ptr>10) && (ptr!=0)", "both count");
	ok(!l.events.at[0].filter, "the first is left alone");
	ok(event_list_add(&l, &env, "faults", EVENT_USE_COUNT, &d) == 0 &&
		   event_list_filter(&l, &env, 3, "x", &d) == -EINVAL,
	   "no filter for a counter");
	ok(event_list_add(&l, &env, "faults,nope", EVENT_USE_COUNT, &d) == -ENOENT &&
		   l.events.nr == 4,
	   "a bad list leaves nothing behind");
	event_list_done(&l);
	event_env_close(&env);
	diag_done(&d);
}

static void test_cache_names(void)
{
	char name[CACHE_NAME_MAX];
	u64 config, again;
	unsigned nr = 0;
	bool good = true;
	for (u32 at = 0; cache_event_next(&at, name, &config); nr++)
		good &= cache_event_parse(name, strlen(name), &again) == 0 && again == config;
	ok(good, "every cache name reads back");
	is_u64(nr, 32, "how many there are");
}

static int count_event(void *ctx, const struct vendor_event *e)
{
	if (strcmp(e->name, "CPU_CLK_THREAD_UNHALTED") || strcmp(e->pmu, "hsw") || e->code != 0x3c)
		return 0;
	for (u32 i = 0; i < e->nr_attrs; i++)
		if (e->attrs[i].is_umask && !strcmp(e->attrs[i].name, "REF_XCLK") &&
		    e->attrs[i].code == 0x01)
			*(int *)ctx += 1;
	return 0;
}

static void test_vendor(void)
{
	int found = 0;
	int err = vendor_each(true, count_event, &found);
	if (err == -EOPNOTSUPP) {
		skip("libpfm", "not built in");
		return;
	}
	ok(err == 0 && found == 1,
	   "libpfm knows 3CH 01H CPU_CLK_THREAD_UNHALTED.REF_XCLK of Haswell");
	struct perf_event_attr a = { 0 };
	const char *why;
	ok(vendor_encode("hsw::CPU_CLK_THREAD_UNHALTED.REF_XCLK:u", &a, &why) == 0 &&
		   (a.config & 0xffff) == 0x13c && a.exclude_kernel && !a.exclude_user,
	   "encoded: r13c");
	ok(vendor_encode("hsw::NO_SUCH_EVENT", &a, &why) == -ENOENT, "not known");
}

int main(void)
{
	/* Tables of CPUs that are not here. */
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	test_parse();
	test_traced();
	test_rows();
	test_shown();
	test_function_words();
	test_refusals();
	test_terms();
	test_meanings();
	test_filter();
	test_cache_names();
	test_vendor();
	return done_testing();
}
