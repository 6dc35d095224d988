#include "event/manual.h"

#include "base/json.h"
#include "base/opts_doc.h"
#include "event/provider.h"

#include <string.h>

/* ---- what a row needs, in words ---- */

static const struct {
	u32 need;
	const char *word; /* for programs */
	const char *what;
} needs[] = {
	{ EVENT_NEED_PERF, "perf_event", "perf_event_open(2)" },
	{ EVENT_NEED_TRACEFS, "tracefs", "an event in tracefs" },
	{ EVENT_NEED_DEFINITION, "dynamic_events", "a probe defined in tracefs (dynamic_events)" },
	{ EVENT_NEED_FUNCTIONS, "function_tracer", "a tracer with a function filter" },
	{ EVENT_NEED_PROGRAM, "bpf", "a BPF program" },
};

static void put_needs(u32 bits, const char *separator, struct strbuf *to)
{
	bool any = false;
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (!(bits & needs[i].need))
			continue;
		strbuf_printf(to, "%s%s", any ? separator : "", needs[i].what);
		any = true;
	}
}

static const u32 verbs[] = { EVENT_USE_COUNT, EVENT_USE_SAMPLE, EVENT_USE_FTRACE, EVENT_USE_START,
			     EVENT_USE_HIST };

/* ---- the page ---- */

/* A line that begins with a blank is an example: "  LINE\tWHAT". */
static const struct {
	const char *title;
	const char *lines[16];
} sections[] = {
	{ "DESCRIPTION",
	  { "Wherever an option takes an EVENT, it is written in the language described here. "
	    "Every kind of event has one spelling for all commands; a command that cannot use a "
	    "kind names the commands that can. 'sonde list' shows the events of this machine.",
	    "-e may be given several times, and one -e may hold several events, separated by "
	    "commas. Quote events for the shell: globs, braces and spaces are special to it.",
	    "  stat -e cycles,instructions -- make\ttwo counters",
	    "  record -e sched:sched_switch -a -- sleep 1\ta sample at every context switch",
	    "  ftrace record -e sched -e irq -- make\tall events of two systems" } },
	{ "MODIFIERS",
	  { "Counters and samples (stat, record) may have letters after a colon: u user mode, k "
	    "kernel, h hypervisor, G in guests, H on the host, I not while idle; p, pp, ppp ask "
	    "for more precise addresses and P for the most precise available; S makes samples of a "
	    "group leader carry the counts of all members, D pins the event to the PMU, W allows a "
	    "group that does not fit to be split, e reserves the PMU for this group.",
	    "  stat -e cycles:u,cycles:k -- make\tthe same counter in user mode and in the kernel",
	    "  record -e cycles:P -- make\tthe most precise addresses" } },
	{ "GROUPS",
	  { "Events in braces are counted together, so that their numbers are comparable. A name "
	    "may precede the brace, modifiers may follow it.",
	    "  stat -e '{cycles,instructions}:u' -- make\tcounted together, in user mode",
	    "  record -e '{cycles,cache-misses}:S' -- make\tsamples of cycles with both counts" } },
	{ "OPTIONS OF ONE EVENT",
	  { "Between slashes, an event of stat or record may have terms: period=N or freq=HZ, "
	    "call-graph=fp|dwarf|no, stack-size=BYTES, max-stack=N, time=0|1, name=NAME, percore, "
	    "inherit and no-inherit, overwrite and no-overwrite, branch_type=KIND, nr=N. A PMU's "
	    "own terms are listed by 'sonde list -v pmu'.",
	    "  record -e cycles/freq=99,call-graph=fp/ -- make\ta rate and stacks for one event",
	    "  stat -e cpu/event=0x3c,umask=1,name=ref/ -- make\ta PMU's event by its numbers" } },
	{ "FILTERS",
	  { "Tracepoints and probes take a condition between slashes, in the kernel's syntax: "
	    "event fields compared by ==, !=, <, <=, >, >=, & and, for text, ~ with a glob; joined "
	    "by &&, || and !. Field names are checked before anything is written. --filter (stat, "
	    "record) and -f (ftrace) do the same for the preceding event.",
	    "  record -e 'sched:sched_switch/prev_state != 0/' -a -- sleep 1\tonly tasks that go "
	    "to sleep",
	    "  ftrace record -e 'kprobe:vfs_read/count > 65536/' -- make\tby an argument of a "
	    "function" } },
	{ "ARGUMENTS OF PROBES",
	  { "kprobe:, kretprobe:, uprobe:, uretprobe: and usdt: take a place and arguments as "
	    "'sonde probe' does, after a blank: variables, members and elements by name where "
	    "debug "
	    "information or BTF knows them, else registers and memory in the kernel's words. The "
	    "probe is defined for the run alone.",
	    "  record -e 'kprobe:tcp_sendmsg size' -a -- sleep 1\ta parameter by its name",
	    "  record -e 'uprobe:./a.out:main.c:42 i buf:string' -- ./a.out\tvariables at a line",
	    "  stat -e 'kretprobe:vfs_read $retval /arg1 < 0/' -a -- sleep 1\tfailed reads" } },
	{ "GLOBS AND WORDS",
	  { "*, ? and [abc] match names of tracepoints (SYSTEM and EVENT alike) and functions. In "
	    "tracefs (ftrace record, stream, start) a single word is a system, otherwise an event "
	    "of any system; SYSTEM: is a whole system and all is everything; an event after ! is "
	    "excluded, as are those of each -e after -v.",
	    "  record -e 'sched:sched_wak*' -a -- sleep 1\twake-ups",
	    "  ftrace record -e sched -e '!sched_stat_*' -- make\ta system without some of its "
	    "events",
	    "  ftrace record -e 'call:tcp_*' -- curl example.org\tcalls with arguments and "
	    "results" } },
	{ "TRIGGERS",
	  { "In tracefs an event may end in +TRIGGER, an action that goes with it: stack (or "
	    "stacktrace), traceoff, traceon, snapshot, enable_event:SYSTEM:EVENT, hist:keys=FIELD, "
	    "with :COUNT and 'if FILTER'. Several are joined by +. One that contains a colon takes "
	    "everything that follows, commas included. With function: they run when the function "
	    "is called.",
	    "  ftrace record -e sched:sched_process_exec+stack -- make\tthe kernel stack at each "
	    "exec",
	    "  ftrace record -e sched -e 'sched_process_exit/comm == \"make\"/+traceoff:1'\tuntil "
	    "make exits" } },
};

static void put_example(const char *text, struct strbuf *to)
{
	const char *tab = strchr(text, '\t');
	struct strbuf line;
	strbuf_init(&line);
	strbuf_add(&line, text + 2, (size_t)(tab - text) - 2);
	strbuf_str(to, ".TP\n\\fBsonde ");
	opts_man_text(strbuf_cstr(&line), to);
	strbuf_str(to, "\\fR\n");
	opts_man_text(tab + 1, to);
	strbuf_char(to, '\n');
	strbuf_done(&line);
}

static void put_section(size_t i, struct strbuf *to)
{
	strbuf_printf(to, ".SH %s\n", sections[i].title);
	for (size_t k = 0; k < ARRAY_SIZE(sections[i].lines) && sections[i].lines[k]; k++) {
		const char *line = sections[i].lines[k];
		if (*line == ' ') {
			put_example(line, to);
			continue;
		}
		strbuf_str(to, ".PP\n");
		opts_man_text(line, to);
		strbuf_char(to, '\n');
	}
}

static void put_line(const char *title, const struct strbuf *text, struct strbuf *to)
{
	strbuf_printf(to, ".br\n%s: ", title);
	opts_man_text(text->data ? text->data : "", to);
	strbuf_char(to, '\n');
}

static void put_row(const struct event_provider *row, struct strbuf *to)
{
	struct strbuf text;
	strbuf_init(&text);
	strbuf_str(to, ".TP\n\\fB");
	opts_man_text(row->form, to);
	strbuf_str(to, "\\fR\n");
	opts_man_text(row->about, to);
	strbuf_str(to, "\n.br\nexample: \\fB");
	opts_man_text(row->example, to);
	strbuf_str(to, "\\fR\n");
	event_use_verbs(row->uses, &text);
	(void)strbuf_cstr(&text);
	put_line("taken by", &text, to);
	strbuf_reset(&text);
	put_needs(row->needs, " and ", &text);
	if (row->needs && row->traced_needs)
		strbuf_str(&text, "; to be traced: ");
	put_needs(row->traced_needs, " and ", &text);
	(void)strbuf_cstr(&text);
	if (text.len)
		put_line("needs", &text, to);
	strbuf_done(&text);
}

static void put_kinds(struct strbuf *to)
{
	const struct event_provider *rows = event_providers();
	strbuf_str(to, ".SH KINDS OF EVENTS\n");
	for (size_t i = 0; i < EVENT_KIND_NR; i++)
		put_row(&rows[i], to);
}

void event_manual(struct strbuf *to)
{
	strbuf_str(to, ".TH SONDE-EVENTS 7 \"\" \"sonde " SONDE_VERSION "\" \"sonde manual\"\n"
		       ".SH NAME\nsonde\\-events \\- how events are written\n"
		       ".SH SYNOPSIS\n\\fBsonde\\fR COMMAND \\fB\\-e\\fR EVENT[,EVENT...] ...\n");
	put_section(0, to);
	put_kinds(to);
	for (size_t i = 1; i < ARRAY_SIZE(sections); i++)
		put_section(i, to);
	strbuf_str(to, ".SH SEE ALSO\n.BR sonde\\-list (1),\n.BR sonde\\-stat (1),\n"
		       ".BR sonde\\-record (1),\n.BR sonde\\-ftrace\\-record (1)\n");
}

/* ---- the kinds alone ---- */

void event_manual_text(unsigned width, struct strbuf *to)
{
	enum { INDENT = 6 };
	const struct event_provider *rows = event_providers();
	strbuf_str(to, "Kinds of events, and what takes them:\n");
	for (size_t i = 0; i < EVENT_KIND_NR; i++) {
		struct strbuf text;
		strbuf_init(&text);
		strbuf_printf(&text, "%s; for ", rows[i].about);
		event_use_verbs(rows[i].uses, &text);
		strbuf_printf(to, "  %s\n", rows[i].form);
		strbuf_fill(to, ' ', INDENT);
		opts_wrap(strbuf_cstr(&text), INDENT, INDENT, width, to);
		strbuf_char(to, '\n');
		strbuf_done(&text);
	}
	strbuf_str(to, "\nModifiers, groups, filters, globs, triggers: man sonde-events, or "
		       "'sonde help --man events | man -l -'.\n");
}

static void json_words(struct json *j, const char *key, u32 bits)
{
	json_key(j, key);
	json_array(j);
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (bits & needs[i].need)
			json_str(j, needs[i].word);
	json_array_end(j);
}

static void json_verbs(struct json *j, u32 uses)
{
	json_key(j, "verbs");
	json_array(j);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		struct strbuf verb;
		strbuf_init(&verb);
		event_use_verbs(uses & verbs[i], &verb);
		if (verb.len)
			json_str(j, strbuf_cstr(&verb));
		strbuf_done(&verb);
	}
	json_array_end(j);
}

int event_manual_json(struct strbuf *to)
{
	const struct event_provider *rows = event_providers();
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_array(&j);
	for (size_t i = 0; i < EVENT_KIND_NR; i++) {
		json_object(&j);
		json_put_str(&j, "form", rows[i].form);
		if (rows[i].prefix)
			json_put_str(&j, "prefix", rows[i].prefix);
		json_put_str(&j, "about", rows[i].about);
		json_put_str(&j, "example", rows[i].example);
		json_put_bool(&j, "filter", rows[i].filter);
		json_verbs(&j, rows[i].uses);
		json_words(&j, "needs", rows[i].needs);
		json_words(&j, "traced_needs", rows[i].traced_needs);
		json_object_end(&j);
	}
	json_array_end(&j);
	return json_end(&j);
}
