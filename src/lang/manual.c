#include "lang/manual.h"

#include "base/json.h"
#include "base/opts_doc.h"
#include "lang/builtin.h"
#include "lang/parse.h"

#include <string.h>

/* ---- the prose: a line that begins with a blank is an example, "  SCRIPT\tWHAT" ---- */

static const struct manual_section {
	const char *title;
	const char *lines[12];
} sections[] = {
	{ "DESCRIPTION",
	  { "'sonde run' takes scripts in the language of bpftrace 0.27, with the old spellings. A "
	    "script is a list of probes, each with a block in braces that runs when the probe is "
	    "hit. Several probes may share a block, and a condition between slashes may precede "
	    "it.",
	    "  tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }\tsystem calls by program, "
	    "until Ctrl-C",
	    "  interval:s:1 { time(\"%H:%M:%S \"); print(@n); clear(@n); } profile:hz:99 /pid != "
	    "0/ "
	    "{ @n++; }\ta number each second" } },
	{ "VARIABLES AND MAPS",
	  { "$name is a variable of the block it is first assigned in; let $name: TYPE declares "
	    "one. "
	    "@name is a map of the whole script: a single value, or one for each key, @name[KEY, "
	    "KEY]. Maps are kept in the kernel and printed at the end. Their types follow from "
	    "what is assigned. let @name = hash(SIZE), lruhash, percpuhash or percpulruhash "
	    "outside of blocks chooses kind and size.",
	    "  begin { @n[1, \"a\"] = 5; @n[1, \"a\"]++; $v = @n[1, \"a\"]; print($v); }\tkeys of "
	    "several parts",
	    "  let @last = lruhash(100); tracepoint:sched:sched_process_exec { @last[pid] = nsecs; "
	    "}\ta map that forgets" } },
	{ "TYPES",
	  { "int8 to int64, uint8 to uint64, bool, string, tuples (1, \"a\") with the members .0 "
	    "and .1, records (a=1, b=2), arrays, pointers, enums, structs and unions: the kernel's "
	    "own by name, those of the script, and those of programs from debug information. "
	    "Literals may be written as 0x1f, 1e6, 1_000, or as a duration: 5ms. (TYPE)value "
	    "casts; sizeof, offsetof, typeof and container_of take types. Members are "
	    "reached by . and -> alike.",
	    "  begin { print((uint8)300); print(sizeof(struct task_struct)); print(5ms); }\tcasts, "
	    "sizes, durations",
	    "  begin { print(curtask->comm); }\ta member of a structure of the kernel" } },
	{ "STATEMENTS",
	  { "if and else, comptime for what is known before the script runs, the ternary a ? b : "
	    "c, "
	    "while, unroll (N), for ($i : 0..10), for ($kv : @map) with $kv.0 as the key and $kv.1 "
	    "as the value, break, continue, return. Operators are those of C. Blocks of end probes "
	    "run in user space, where loops have no limit.",
	    "  begin { for ($i : 0..3) { print($i); } }\tcounts",
	    "  begin { @m[1] = 2; for ($kv : @m) { print($kv); } }\twalks through a map" } },
	{ "DEFINITIONS",
	  { "Outside of probes a script may have C definitions (struct, union, enum, typedef, "
	    "#define, #if), macro NAME(args) { ... } which is expanded where it is used, fn "
	    "NAME($a: int64): int64 { ... }, import \"FILE.bt\", and config = { SETTING = VALUE; } "
	    "with max_strlen, max_map_keys, max_probes, max_cat_bytes, print_maps_on_exit, "
	    "stack_mode, missing_probes. $1 is the first argument after the script's name, "
	    "getopt() reads an option.",
	    "  #define LIMIT 3\nmacro twice(x) { x * 2 }\nbegin { print(twice(LIMIT)); }\ta "
	    "constant and a macro",
	    "  fn larger($a: int64, $b: int64): int64 { if ($a > $b) { return $a; } return $b; } "
	    "begin { print(larger(2, 7)); }\ta function",
	    "  config = { max_strlen = 64; } begin { print(default_str_length()); }\ta setting" } },
	{ "FORMATS",
	  { "printf() and its relatives take %d %i %u %x %X %o %p %c %s with flags, width and "
	    "precision, %r, %rh and %rx for bytes of buf(), %% for a percent sign. %s prints any "
	    "value as print() does.",
	    "  begin { printf(\"%-10s|%5d|%08x\\n\", \"text\", 42, 255); }\tcolumns" } },
};

/* ---- the man page ---- */

static void put_text(const char *text, struct strbuf *to)
{
	opts_man_text(text, to);
	strbuf_char(to, '\n');
}

static void put_example(const char *text, struct strbuf *to)
{
	const char *tab = strchr(text, '\t');
	struct strbuf line;
	strbuf_init(&line);
	strbuf_add(&line, text + 2, (size_t)(tab - text) - 2);
	strbuf_str(to, ".PP\n");
	put_text(tab + 1, to);
	strbuf_str(to, ".PP\n.RS\n.nf\n");
	put_text(strbuf_cstr(&line), to);
	strbuf_str(to, ".fi\n.RE\n");
	strbuf_done(&line);
}

static void put_section(const struct manual_section *s, struct strbuf *to)
{
	strbuf_printf(to, ".SH %s\n", s->title);
	for (size_t i = 0; i < ARRAY_SIZE(s->lines) && s->lines[i]; i++) {
		if (*s->lines[i] == ' ') {
			put_example(s->lines[i], to);
			continue;
		}
		strbuf_str(to, ".PP\n");
		put_text(s->lines[i], to);
	}
}

static void put_item(const char *title, const char *more, const char *about, struct strbuf *to)
{
	strbuf_str(to, ".TP\n\\fB");
	opts_man_text(title, to);
	strbuf_str(to, "\\fR");
	opts_man_text(more, to);
	strbuf_char(to, '\n');
	put_text(about, to);
}

static void put_probes(struct strbuf *to)
{
	struct provider_about p;
	strbuf_str(to, ".SH PROBES\nNames of functions and events may have * and ? in them.\n");
	for (u32 i = 0; provider_describe(i, &p); i++) {
		struct strbuf brief;
		strbuf_init(&brief);
		if (*p.brief)
			strbuf_printf(&brief, " (short: %s)", p.brief);
		put_item(p.form, strbuf_cstr(&brief), p.about, to);
		strbuf_done(&brief);
	}
}

/* "prints by a format; needs --unsafe" */
static const char *about_row(const struct builtin *row, struct strbuf *text)
{
	strbuf_reset(text);
	strbuf_printf(text, "%s%s%s", row->summary,
		      row->flags & BUILTIN_AGGREGATE ? ", as the value of a map" : "",
		      row->flags & BUILTIN_UNSAFE ? "; unsafe: it changes the system" : "");
	return strbuf_cstr(text);
}

static void put_functions(struct strbuf *to)
{
	const struct builtin_group *g;
	struct strbuf text;
	strbuf_init(&text);
	strbuf_str(to, ".SH VALUES AND FUNCTIONS\n");
	for (u32 i = 0; (g = builtin_group_at(i)); i++) {
		strbuf_str(to, ".SS ");
		put_text(g->title, to);
		for (u32 k = 0; k < g->nr; k++)
			if (!(g->rows[k].flags & BUILTIN_WORD))
				put_item(g->rows[k].name, g->rows[k].form ? g->rows[k].form : "",
					 about_row(&g->rows[k], &text), to);
	}
	strbuf_done(&text);
}

void lang_manual(struct strbuf *to)
{
	strbuf_str(to, ".TH SONDE-LANGUAGE 7 \"\" \"sonde " SONDE_VERSION "\" \"sonde manual\"\n"
		       ".SH NAME\nsonde\\-language \\- the language of scripts for sonde run\n"
		       ".SH SYNOPSIS\n\\fBsonde run\\fR \\fB\\-e\\fR SCRIPT\n");
	put_section(&sections[0], to);
	put_probes(to);
	put_functions(to);
	for (size_t i = 1; i < ARRAY_SIZE(sections); i++)
		put_section(&sections[i], to);
	strbuf_str(to, ".SH SEE ALSO\n.BR sonde\\-run (1),\n.BR sonde\\-events (7)\n");
}

/* ---- as text ---- */

static void text_item(const char *title, const char *more, const char *about, unsigned width,
		      struct strbuf *to)
{
	enum { INDENT = 6 };
	strbuf_printf(to, "  %s%s\n", title, more);
	strbuf_fill(to, ' ', INDENT);
	opts_wrap(about, INDENT, INDENT, width, to);
	strbuf_char(to, '\n');
}

void lang_manual_text(unsigned width, struct strbuf *to)
{
	const struct builtin_group *g;
	struct provider_about p;
	struct strbuf text;
	strbuf_init(&text);
	strbuf_str(to, "Probes:\n");
	for (u32 i = 0; provider_describe(i, &p); i++)
		text_item(p.form, "", p.about, width, to);
	for (u32 i = 0; (g = builtin_group_at(i)); i++) {
		strbuf_printf(to, "\n%s:\n", g->title);
		for (u32 k = 0; k < g->nr; k++)
			if (!(g->rows[k].flags & BUILTIN_WORD))
				text_item(g->rows[k].name, g->rows[k].form ? g->rows[k].form : "",
					  about_row(&g->rows[k], &text), width, to);
	}
	strbuf_str(to, "\nVariables, types, statements, formats, with examples: man "
		       "sonde-language.\n");
	strbuf_done(&text);
}

/* ---- as JSON ---- */

static void json_probes(struct json *j)
{
	struct provider_about p;
	json_key(j, "probes");
	json_array(j);
	for (u32 i = 0; provider_describe(i, &p); i++) {
		json_object(j);
		json_put_str(j, "name", p.name);
		if (*p.brief)
			json_put_str(j, "short", p.brief);
		json_put_str(j, "form", p.form);
		json_put_str(j, "about", p.about);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_functions(struct json *j)
{
	const struct builtin_group *g;
	json_key(j, "functions");
	json_array(j);
	for (u32 i = 0; (g = builtin_group_at(i)); i++)
		for (u32 k = 0; k < g->nr; k++) {
			const struct builtin *row = &g->rows[k];
			if (row->flags & BUILTIN_WORD)
				continue;
			json_object(j);
			json_put_str(j, "name", row->name);
			json_put_str(j, "arguments", row->form ? row->form : "");
			json_put_str(j, "about", row->summary);
			json_put_str(j, "group", g->title);
			json_put_bool(j, "aggregate", row->flags & BUILTIN_AGGREGATE);
			json_put_bool(j, "unsafe", row->flags & BUILTIN_UNSAFE);
			json_object_end(j);
		}
	json_array_end(j);
}

static void json_examples(struct json *j)
{
	json_key(j, "examples");
	json_array(j);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		for (size_t k = 0; k < ARRAY_SIZE(sections[i].lines) && sections[i].lines[k]; k++) {
			const char *line = sections[i].lines[k], *tab = strchr(line, '\t');
			if (*line != ' ' || !tab)
				continue;
			struct strbuf script;
			strbuf_init(&script);
			strbuf_add(&script, line + 2, (size_t)(tab - line) - 2);
			json_object(j);
			json_put_str(j, "script", strbuf_cstr(&script));
			json_put_str(j, "what", tab + 1);
			json_object_end(j);
			strbuf_done(&script);
		}
	json_array_end(j);
}

int lang_manual_json(struct strbuf *to)
{
	struct json j;
	json_begin(&j, to, JSON_PRETTY);
	json_object(&j);
	json_probes(&j);
	json_functions(&j);
	json_examples(&j);
	json_object_end(&j);
	return json_end(&j);
}
