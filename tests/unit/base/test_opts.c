/* base/opts: every rule of the parser, every error, and what is made from the rows. */
#include "tap.h"

#include "base/opts.h"
#include "base/opts_doc.h"

#include <errno.h>
#include <stdlib.h>

struct record_opts {
	bool all;
	bool graph;
	bool no_inherit;
	bool freq_given;
	unsigned verbose;
	u64 freq;
	s64 nice;
	u64 size;
	const char *output;
	const char *mode;
	struct opt_list events;
	int when;
	char called[32];
};

struct common_opts {
	unsigned verbose;
	bool json;
	bool all;
};

static int take_call(void *opts, const char *value, bool negated, struct diag *d)
{
	struct record_opts *o = opts;
	if (value && !strcmp(value, "bad"))
		return diag_error(d, -EINVAL, "the call refused it");
	snprintf(o->called, sizeof(o->called), "%s%s", negated ? "no " : "", value ? value : "none");
	return 0;
}

static const char *const whens[] = { "auto", "always", "never", NULL };

static const struct opt rows[] = {
	OPT_FLAG('a', "all-cpus", struct record_opts, all, "All CPUs of the machine"),
	OPT_FLAG('g', "graph", struct record_opts, graph, "Call chains"),
	OPT_FLAG('i', "no-inherit", struct record_opts, no_inherit, "Leave children out"),
	OPT_COUNT('v', "verbose", struct record_opts, verbose, "Say more"),
	OPT_HEADING("Numbers"),
	OPT_UINT('F', "freq", struct record_opts, freq, "HZ", "Samples a second",
		 OPT_SEEN(struct record_opts, freq_given)),
	OPT_INT('n', "nice", struct record_opts, nice, "N", "A signed number"),
	OPT_SIZE('m', "mmap-size", struct record_opts, size, "SIZE", "Size of the rings"),
	OPT_STR('o', "output", struct record_opts, output, "FILE", "Write to FILE"),
	OPT_STR(0, "call-graph", struct record_opts, mode, "MODE", "How stacks are taken",
		.optional = true, .fallback = "fp"),
	OPT_LIST('e', "event", struct record_opts, events, "EVENT", "What to observe"),
	OPT_ENUM(0, "color", struct record_opts, when, "WHEN", "Colour", whens),
	OPT_CALL('x', "execute", "WHAT", "Calls back", take_call),
	OPT_CALL('q', "quiet", NULL, "Calls back without a value", take_call, .hidden = true),
	OPT_STR(0, "vmlinux", struct record_opts, output, "FILE", "use --symfs", .refused = true),
	OPT_END(),
};

static struct record_opts got;
static struct diag diag;
static int first, argc_;
static char *argv_[16];

static void forget(void)
{
	opts_free(rows, &got);
	got = (struct record_opts){ 0 };
	diag_done(&diag);
	first = -1;
}

/* line: words separated by single blanks; kept until the next call, as argv would be. */
static void split(const char *line)
{
	static char copy[256];
	forget();
	snprintf(copy, sizeof(copy), "prog %s", line);
	argc_ = 0;
	for (char *save, *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv_[argc_++] = w;
	argv_[argc_] = NULL;
}

static int parse(bool mixed, const char *line)
{
	split(line);
	return opts_parse(rows, mixed, &got, argc_, argv_, &first, &diag);
}

/* The words that were left, joined by blanks. */
static const char *rest(void)
{
	static char text[256];
	text[0] = 0;
	for (int i = first; i < argc_; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			 i > first ? " " : "", argv_[i]);
	return text;
}

static void refuses(const char *line, const char *want)
{
	struct strbuf s;
	strbuf_init(&s);
	int ret = parse(false, line);
	diag_render(&diag, "p", false, &s);
	ok(ret == -EINVAL && diag.nr_errors == 1, "'%s' is refused", line);
	is_str(strbuf_cstr(&s), want, "and says why");
	strbuf_done(&s);
}

static void test_rules(void)
{
	ok(parse(false, "-ag -F99 sleep 1") == 0 && got.all && got.graph && got.freq == 99,
	   "-ag -F99");
	is_str(rest(), "sleep 1", "the rest starts at the first word");
	ok(got.freq_given, "seen is set");
	ok(parse(false, "-agF 98") == 0 && got.all && got.freq == 98,
	   "-agF 98: the last of a group takes the next word");
	ok(parse(false, "-gF97") == 0 && got.freq == 97, "-gF97");
	ok(parse(false, "--freq=96") == 0 && got.freq == 96, "--freq=96");
	ok(parse(false, "--freq 0x10") == 0 && got.freq == 16, "--freq 0x10");
	ok(parse(false, "--freq 010") == 0 && got.freq == 10, "a leading zero is decimal");
	ok(parse(false, "--nice -5") == 0 && got.nice == -5, "a value may start with a dash");
	ok(parse(false, "-m 4M") == 0 && got.size == 4u << 20, "sizes have units");
	ok(parse(false, "-vv -v --verbose") == 0 && got.verbose == 4, "counted");
	ok(parse(false, "-vv --no-verbose") == 0 && got.verbose == 0, "a count goes back to none");
	ok(parse(false, "-a --no-all-cpus") == 0 && !got.all, "--no-X undoes a flag");
	ok(parse(false, "-F 9 --no-freq") == 0 && got.freq == 0 && !got.freq_given,
	   "--no-X undoes a number");
	ok(parse(false, "-o f --no-output") == 0 && !got.output, "--no-X undoes a string");
	ok(parse(false, "-e a --no-event -e b") == 0 && got.events.items.nr == 1,
	   "--no-X empties a list");
	ok(parse(false, "--color=never --no-color") == 0 && got.when == 0,
	   "--no-X takes the first choice");
	ok(parse(false, "--no-inherit") == 0 && got.no_inherit, "a row may be named no-X");
	ok(parse(false, "--no-inherit --inherit") == 0 && !got.no_inherit, "and X undoes it");
	ok(parse(false, "--out x") == 0 && got.output && !strcmp(got.output, "x"),
	   "a unique prefix will do");
	ok(parse(false, "--all --no-all") == 0 && !got.all, "also of the negation");
	ok(parse(false, "--graph --gr") == 0 && got.graph, "an exact name wins");
	ok(parse(false, "-e cycles -e instructions,faults --event=x") == 0 &&
		   got.events.items.nr == 3 &&
		   !strcmp(got.events.items.at[1], "instructions,faults"),
	   "lists keep their order");
	ok(parse(false, "--call-graph x") == 0 && !strcmp(got.mode, "fp"),
	   "optional value: the fallback");
	is_str(rest(), "x", "and the next word is left alone");
	ok(parse(false, "--call-graph=dwarf") == 0 && !strcmp(got.mode, "dwarf"),
	   "optional value given");
	ok(parse(false, "--output=") == 0 && got.output && !*got.output,
	   "an empty value is a value");
	ok(parse(false, "--color always") == 0 && got.when == 1, "a choice");
	ok(parse(false, "-x thing") == 0 && !strcmp(got.called, "thing"), "a call gets the value");
	ok(parse(false, "--no-execute") == 0 && !strcmp(got.called, "no none"),
	   "a call is told of negation");
	ok(parse(false, "-q") == 0 && !strcmp(got.called, "none"), "hidden rows are accepted");
	ok(parse(false, "-a -- -g") == 0 && !got.graph, "-- ends the options");
	is_str(rest(), "-g", "and what follows is words");
	ok(parse(false, "ls -a") == 0 && !got.all, "options end at the first word");
	is_str(rest(), "ls -a", "all of it is left");
	ok(parse(false, "- -a") == 0 && !got.all && !strcmp(rest(), "- -a"),
	   "a single dash is a word");
	ok(parse(true, "one -a two -F 9 three --graph") == 0 && got.all && got.graph && got.freq == 9,
	   "mixed words");
	is_str(rest(), "one two three", "words keep their order");
	ok(parse(true, "one -a -- -g two") == 0 && !got.graph, "-- among mixed words");
	is_str(rest(), "one -g two", "all words are kept");
	ok(parse(false, "") == 0 && first == 1, "nothing at all");
	ok(parse(false, "-a --help") == 1 && parse(false, "-ah") == 1, "--help and -h return 1");
}

static void test_errors(void)
{
	refuses("--freqq 9", "p: unknown option '--freqq'\n  hint: did you mean '--freq'?\n");
	refuses("--ouptut=9", "p: unknown option '--ouptut'\n  hint: did you mean '--output'?\n");
	refuses("--zzzzzz", "p: unknown option '--zzzzzz'\n");
	refuses("--=9", "p: unknown option '--'\n");
	refuses("-z", "p: unknown option '-z'\n");
	refuses("-agz", "p: unknown option '-z'\n  -agz\n     ^\n");
	refuses("-freq", "p: unknown option '-f'\n  -freq\n   ^\n  hint: did you mean '--freq'?\n");
	refuses("--e 9", "p: option '--e' is ambiguous\n  hint: it could be --event, --execute\n");
	refuses("--no-e",
		"p: option '--no-e' is ambiguous\n  hint: it could be --no-event, --no-execute\n");
	refuses("--freq", "p: option '--freq' needs a value: HZ\n");
	refuses("-aF", "p: option '-F' needs a value: HZ\n");
	refuses("--all-cpus=1", "p: option '--all-cpus' takes no value\n");
	refuses("--no-freq=1", "p: option '--no-freq' takes no value\n");
	refuses("--freq=abc", "p: option '--freq' wants a number, not 'abc'\n");
	refuses("--freq=-1", "p: option '--freq' wants a number, not '-1'\n");
	refuses("--freq=", "p: option '--freq' wants a number, not ''\n");
	refuses("-n 9x", "p: option '-n' wants a number, not '9x'\n");
	refuses("-F 99999999999999999999", "p: option '-F': '99999999999999999999' is too large\n");
	refuses("-m 5Q", "p: option '-m' wants a size like 512K or 4M, not '5Q'\n");
	refuses("--color nevr", "p: option '--color' wants auto, always or never, not 'nevr'\n"
				"  hint: did you mean 'never'?\n");
	refuses("-x bad", "p: the call refused it\n");
	refuses("--vmlinux x", "p: option '--vmlinux' is not supported\n  hint: use --symfs\n");
	refuses("--vmlinux", "p: option '--vmlinux' is not supported\n  hint: use --symfs\n");
}

static const struct opt common_rows[] = {
	OPT_COUNT('v', "verbose", struct common_opts, verbose, "Hidden by the command's own"),
	OPT_FLAG('g', "json", struct common_opts, json, "JSON"),
	OPT_FLAG('h', "all-of-it", struct common_opts, all, "Takes -h away"),
	OPT_END(),
};

static void test_sets(void)
{
	struct common_opts c = { 0 };
	struct opt_set sets[] = { { rows, &got }, { common_rows, &c } };
	split("-vg --json --verb -h --all-c");
	ok(opts_parse_sets(sets, 2, false, argc_, argv_, &first, &diag) == 0, "two tables");
	ok(got.verbose == 2 && c.verbose == 0 && got.graph && c.json,
	   "the earlier table has the name");
	ok(c.all, "a row named -h is an option");
	ok(got.all, "prefixes are sought in both tables");
	split("--verb --al --js");
	c = (struct common_opts){ 0 };
	ok(opts_parse_sets(sets, 2, false, argc_, argv_, &first, &diag) == 0 && got.all && !c.all &&
		   c.json,
	   "a prefix that fits in both belongs to the earlier one");
	split("--json");
	struct opt_set none[] = { { NULL, NULL }, { common_rows, &c } };
	ok(opts_parse_sets(none, 2, false, argc_, argv_, &first, &diag) == 0,
	   "a command without rows");
}

static const struct opt_example examples[] = {
	{ "record -F 99 -g -- sleep 1", "a profile of one second" },
	{ "record -a", "everything" },
	{ 0 },
};
static const struct command sub = { .name = "start", .summary = "start it" };
static const struct command *const subs[] = { &sub, NULL };
static const struct command record = {
	.name = "record",
	.summary = "sample it",
	.usage = "[OPTIONS] [--] COMMAND",
	.about = "Long text about it.\n  kept as it is",
	.examples = examples,
	.opts = rows,
	.subs = subs,
};

static void has(const char *text, const char *what)
{
	char line[128];
	snprintf(line, sizeof(line), "%s", what);
	for (char *c = line; *c; c++)
		*c = *c == '\n' ? '|' : *c;
	ok(strstr(text, what) != NULL, "there is '%s'", line);
}

static void test_doc(void)
{
	struct strbuf s;
	strbuf_init(&s);
	opts_help(&record, common_rows, "sonde record", 80, false, &s);
	const char *text = strbuf_cstr(&s);
	ok(!strncmp(text, "sonde record: sample it\n\nExamples:\n  sonde record -F 99", 50),
	   "examples come first");
	ok(strstr(text, "Examples:") < strstr(text, "Usage: sonde record [OPTIONS] [--] COMMAND"),
	   "then the usage");
	has(text, "\n  kept as it is\n");
	has(text, "\n  -F, --freq HZ             Samples a second\n");
	has(text, "\n      --call-graph[=MODE]   How stacks");
	has(text, "Colour: auto, always, never\n");
	has(text, "\nNumbers:\n");
	has(text, "\n      --json                JSON\n");
	has(text, "\n      --help                Show this help\n");
	ok(!strstr(text, "quiet") && !strstr(text, "vmlinux"),
	   "hidden and refused rows are not shown");
	ok(!strstr(text, "Hidden by"), "nor common rows that the command replaces");
	bool narrow = true;
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		narrow = narrow && strcspn(line, "\n") <= 80;
	ok(narrow, "no line is wider than asked");

	strbuf_reset(&s);
	opts_man(&record, common_rows, "sonde record", &s);
	text = strbuf_cstr(&s);
	has(text, ".TH SONDE-RECORD 1 ");
	has(text, "sonde\\-record \\- sample it\n");
	has(text, ".SH EXAMPLES\n.TP\n\\fBsonde record \\-F 99 \\-g \\-\\- sleep 1\\fR\na profile");
	has(text, ".TP\n\\fB\\-F, \\-\\-freq HZ\\fR\nSamples a second\n");

	static const struct command *const cmds[] = { &record, NULL };
	strbuf_reset(&s);
	opts_bash_completion(cmds, common_rows, "sonde", &s);
	text = strbuf_cstr(&s);
	has(text, "\t'record start')\n");
	has(text, " --freq= ");
	has(text, "--color) words='auto always never' ;;");
	has(text, "complete -o default -F _sonde sonde\n");
	ok(!s.err, "nothing failed");
	strbuf_done(&s);
}

static void test_closest(void)
{
	static const char *const words[] = { "record", "report", "stat" };
	is_u64(str_distance("abc", "abc"), 0, "the same");
	is_u64(str_distance("abc", "acb"), 1, "a swap is one step");
	is_u64(str_distance("", "abc"), 3, "from nothing");
	is_u64(str_distance("kitten", "sitting"), 3, "kitten, sitting");
	is_str(str_closest("recrod", words, 3), "record", "recrod");
	is_str(str_closest("stta", words, 3), "stat", "stta");
	ok(!str_closest("flame", words, 3), "nothing close");
	ok(!str_closest("", words, 3), "nothing is close to nothing");
	static const char *const keys[] = { "comm", "symbol", "symoff" };
	is_str(str_closest("symm", keys, 3), "symbol", "a beginning that is right counts");
	is_str(str_closest("com", keys, 3), "comm", "com");
	ok(!str_closest("symmetric_difference", keys, 3), "but not alone");
}

int main(void)
{
	diag_init(&diag);
	test_rules();
	test_errors();
	test_sets();
	test_doc();
	test_closest();
	forget();
	return done_testing();
}
