#include "base/opts_doc.h"

#include <ctype.h>

enum { OPTIONS_INDENT = 2, HELP_COLUMN = 28, EXAMPLE_COLUMN_MAX = 46, WIDTH_MIN = 60 };

/* Gives up a part of the text; what went wrong in it went wrong in the whole. */
static void part_done(struct strbuf *part, struct strbuf *whole)
{
	if (part->err && !whole->err)
		whole->err = part->err;
	strbuf_done(part);
}

static bool row_listed(const struct opt *row)
{
	return row->type == OPT_TYPE_HEADING || (!row->hidden && !row->refused);
}

static void own_names(struct opt_shown *s, const struct opt *own)
{
	for (; own && own->type != OPT_TYPE_END; own++) {
		if (own->short_name && own->short_name == s->short_name)
			s->short_name = 0;
		if (own->long_name && s->long_name && !strcmp(own->long_name, s->long_name))
			s->long_name = NULL;
	}
}

void opts_each_shown(const struct command *cmd, const struct opt *common,
		     void (*fn)(void *ctx, const struct opt_shown *s), void *ctx)
{
	static const struct opt help = OPT_CALL('h', "help", NULL, "Show this help", NULL);
	static const struct opt heading = OPT_HEADING("Common options");
	for (const struct opt *row = cmd->opts; row && row->type != OPT_TYPE_END; row++)
		if (row_listed(row))
			fn(ctx, &(struct opt_shown){ row, row->short_name, row->long_name });
	fn(ctx, &(struct opt_shown){ .row = &heading });
	for (const struct opt *row = common; row && row->type != OPT_TYPE_END; row++) {
		struct opt_shown s = { row, row->short_name, row->long_name };
		own_names(&s, cmd->opts);
		if (row_listed(row) && (s.short_name || s.long_name))
			fn(ctx, &s);
	}
	struct opt_shown s = { &help, 'h', "help" };
	own_names(&s, cmd->opts);
	own_names(&s, common);
	if (s.long_name)
		fn(ctx, &s);
}

void opts_wrap(const char *text, unsigned at, unsigned indent, unsigned width, struct strbuf *to)
{
	width = max(width, indent + 20);
	bool first = true; /* on its line */
	while (*text) {
		size_t len = strcspn(text, " \n");
		if (!first && at + 1 + len > width) {
			strbuf_char(to, '\n');
			at = 0;
			first = true;
		}
		if (at < indent) {
			strbuf_fill(to, ' ', indent - at);
			at = indent;
		} else if (!first) {
			strbuf_char(to, ' ');
			at++;
		}
		strbuf_add(to, text, len);
		at += (unsigned)len;
		first = false;
		text += len;
		if (*text == '\n') {
			strbuf_char(to, '\n');
			at = 0;
			first = true;
		}
		text += *text != '\0';
	}
	strbuf_char(to, '\n');
}

static void paint(struct strbuf *to, bool colour, const char *text)
{
	strbuf_printf(to, "%s%s%s", colour ? "\033[1m" : "", text, colour ? "\033[0m" : "");
}

/* "-F, --freq HZ", "--call-graph[=MODE]" */
static void add_names(const struct opt_shown *s, struct strbuf *to)
{
	const struct opt *row = s->row;
	if (s->short_name)
		strbuf_printf(to, "-%c%s", s->short_name, s->long_name ? ", " : "");
	if (s->long_name)
		strbuf_printf(to, "--%s", s->long_name);
	if (!opt_takes_value(row))
		return;
	const char *arg = row->arg ? row->arg : "VALUE";
	if (row->optional)
		strbuf_printf(to, row->greedy ? " [%s]" : s->long_name ? "[=%s]" : "[%s]", arg);
	else
		strbuf_printf(to, " %s", arg);
}

static void add_choices(const struct opt *row, struct strbuf *to)
{
	if (!row->choices)
		return;
	for (size_t i = 0; row->choices[i]; i++)
		strbuf_printf(to, "%s%s", i ? ", " : ": ", row->choices[i]);
}

struct help {
	struct strbuf *to;
	unsigned width;
	bool colour;
};

static void help_row(void *ctx, const struct opt_shown *s)
{
	struct help *h = ctx;
	if (s->row->type == OPT_TYPE_HEADING) {
		strbuf_char(h->to, '\n');
		paint(h->to, h->colour, s->row->help);
		strbuf_str(h->to, ":\n");
		return;
	}
	struct strbuf left, right;
	strbuf_init(&left);
	strbuf_init(&right);
	strbuf_fill(&left, ' ', s->short_name ? OPTIONS_INDENT : OPTIONS_INDENT + 4);
	add_names(s, &left);
	strbuf_str(&right, s->row->help ? s->row->help : "");
	add_choices(s->row, &right);
	strbuf_str(h->to, strbuf_cstr(&left));
	unsigned at = (unsigned)left.len;
	if (at + 2 > HELP_COLUMN) {
		strbuf_char(h->to, '\n');
		at = 0;
	}
	opts_wrap(strbuf_cstr(&right), at, HELP_COLUMN, h->width, h->to);
	part_done(&left, h->to);
	part_done(&right, h->to);
}

/*
 * Called as a tool whose verbs are those of one of our commands ("trace-cmd record" for "sonde ftrace record"), lines lack that command's
 * name.
 */
static const char *example_line(const struct command *cmd, const char *prog, const char *line)
{
	const char *verb = strchr(prog, ' '), *after = strchr(line, ' ');
	if (!after)
		return line;
	if (!verb)
		return !strncmp(line, cmd->name, (size_t)(after - line)) &&
				       !cmd->name[after - line] && cmd->subs
			       ? after + 1
			       : line;
	size_t len = strcspn(++verb, " ");
	bool second = !strncmp(after + 1, verb, len) && (!after[1 + len] || after[1 + len] == ' ');
	bool first = !strncmp(line, verb, len) && line[len] == ' ';
	return second && !first ? after + 1 : line;
}

/* The column where what an example does is said: after the longest line, within reason. */
static unsigned example_column(const struct command *cmd, const char *prog, unsigned name)
{
	size_t longest = 0;
	for (const struct opt_example *e = cmd->examples; e->line; e++)
		longest = max(longest, strlen(example_line(cmd, prog, e->line)));
	return min(name + 3 + (unsigned)longest + 2, (unsigned)EXAMPLE_COLUMN_MAX);
}

static void help_examples(const struct command *cmd, const char *prog, const struct help *h)
{
	unsigned name = (unsigned)strcspn(prog, " "), column = example_column(cmd, prog, name);
	paint(h->to, h->colour, "Examples");
	strbuf_str(h->to, ":\n");
	for (const struct opt_example *e = cmd->examples; e->line; e++) {
		const char *line = example_line(cmd, prog, e->line);
		unsigned at = 3 + name + (unsigned)strlen(line);
		strbuf_printf(h->to, "  %.*s %s", (int)name, prog, line);
		if (at + 2 > column) {
			strbuf_char(h->to, '\n');
			at = 0;
		}
		opts_wrap(e->what, at, column, h->width, h->to);
	}
	strbuf_char(h->to, '\n');
}

/* Lines that start with a blank are kept as they stand. */
static void help_about(const char *about, const struct help *h)
{
	strbuf_char(h->to, '\n');
	while (*about) {
		size_t len = strcspn(about, "\n");
		struct strbuf line;
		strbuf_init(&line);
		strbuf_add(&line, about, len);
		if (*about == ' ' || !len)
			strbuf_printf(h->to, "%s\n", strbuf_cstr(&line));
		else
			opts_wrap(strbuf_cstr(&line), 0, 0, h->width, h->to);
		part_done(&line, h->to);
		about += len + (about[len] == '\n');
	}
}

static void help_subs(const struct command *cmd, const struct help *h)
{
	strbuf_char(h->to, '\n');
	paint(h->to, h->colour, "Commands");
	strbuf_str(h->to, ":\n");
	for (size_t i = 0; cmd->subs[i]; i++) {
		strbuf_str(h->to, "  ");
		strbuf_left(h->to, cmd->subs[i]->name, 14);
		strbuf_printf(h->to, " %s\n", cmd->subs[i]->summary);
	}
}

void opts_help(const struct command *cmd, const struct opt *common, const char *prog,
	       unsigned width, bool colour, struct strbuf *to)
{
	struct help h = { to, max(width, (unsigned)WIDTH_MIN), colour };
	strbuf_printf(to, "%s: %s\n\n", prog, cmd->summary);
	if (cmd->examples)
		help_examples(cmd, prog, &h);
	paint(to, colour, "Usage");
	strbuf_printf(to, ": %s %s\n", prog, cmd->usage ? cmd->usage : "[OPTIONS]");
	if (cmd->about)
		help_about(cmd->about, &h);
	if (cmd->subs)
		help_subs(cmd, &h);
	if (cmd->opts && cmd->opts->type != OPT_TYPE_HEADING && cmd->opts->type != OPT_TYPE_END)
		help_row(&h, &(struct opt_shown){ .row = &(struct opt)OPT_HEADING("Options") });
	opts_each_shown(cmd, common, help_row, &h);
}

/* man(7): a leading dot or quote is a request, a hyphen is not a minus, a backslash escapes. */
void opts_man_text(const char *text, struct strbuf *to)
{
	bool start = true;
	for (; *text; text++) {
		if (start && (*text == '.' || *text == '\''))
			strbuf_str(to, "\\&");
		start = *text == '\n';
		if (*text == '\\')
			strbuf_str(to, "\\e");
		else if (*text == '-')
			strbuf_str(to, "\\-");
		else
			strbuf_char(to, *text);
	}
}

static void man_paragraphs(struct strbuf *to, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		bool kept = *text == ' ';
		struct strbuf line;
		strbuf_init(&line);
		strbuf_add(&line, text, len);
		strbuf_str(to, kept ? ".br\n\\&" : ".PP\n");
		opts_man_text(strbuf_cstr(&line), to);
		strbuf_char(to, '\n');
		part_done(&line, to);
		text += len + (text[len] == '\n');
	}
}

static void man_row(void *ctx, const struct opt_shown *s)
{
	struct strbuf *to = ctx;
	if (s->row->type == OPT_TYPE_HEADING) {
		strbuf_printf(to, ".SS %s\n", s->row->help);
		return;
	}
	struct strbuf names, help;
	strbuf_init(&names);
	strbuf_init(&help);
	add_names(s, &names);
	strbuf_str(&help, s->row->help ? s->row->help : "");
	add_choices(s->row, &help);
	strbuf_str(to, ".TP\n\\fB");
	opts_man_text(strbuf_cstr(&names), to);
	strbuf_str(to, "\\fR\n");
	opts_man_text(strbuf_cstr(&help), to);
	strbuf_char(to, '\n');
	part_done(&names, to);
	part_done(&help, to);
}

static void man_title(struct strbuf *to, const char *prog, bool upper)
{
	for (; *prog; prog++)
		if (*prog == ' ' || *prog == '-')
			strbuf_str(to, upper ? "-" : "\\-");
		else
			strbuf_char(to, upper ? (char)toupper((unsigned char)*prog) : *prog);
}

static void man_examples(const struct command *cmd, const char *prog, struct strbuf *to)
{
	int name = (int)strcspn(prog, " ");
	strbuf_str(to, ".SH EXAMPLES\n");
	for (const struct opt_example *e = cmd->examples; e->line; e++) {
		strbuf_printf(to, ".TP\n\\fB%.*s ", name, prog);
		opts_man_text(e->line, to);
		strbuf_str(to, "\\fR\n");
		opts_man_text(e->what, to);
		strbuf_char(to, '\n');
	}
}

static void man_subs(const struct command *cmd, struct strbuf *to)
{
	strbuf_str(to, ".SH COMMANDS\n");
	for (size_t i = 0; cmd->subs[i]; i++) {
		strbuf_str(to, ".TP\n\\fB");
		opts_man_text(cmd->subs[i]->name, to);
		strbuf_str(to, "\\fR\n");
		opts_man_text(cmd->subs[i]->summary, to);
		strbuf_char(to, '\n');
	}
}

void opts_man(const struct command *cmd, const struct opt *common, const char *prog,
	      struct strbuf *to)
{
	strbuf_str(to, ".TH ");
	man_title(to, prog, true);
	strbuf_str(to, " 1 \"\" \"sonde " SONDE_VERSION "\" \"sonde manual\"\n.SH NAME\n");
	man_title(to, prog, false);
	strbuf_str(to, " \\- ");
	opts_man_text(cmd->summary, to);
	strbuf_printf(to, "\n.SH SYNOPSIS\n\\fB%s\\fR ", prog);
	opts_man_text(cmd->usage ? cmd->usage : "[OPTIONS]", to);
	strbuf_char(to, '\n');
	if (cmd->examples)
		man_examples(cmd, prog, to);
	if (cmd->about) {
		strbuf_str(to, ".SH DESCRIPTION\n");
		man_paragraphs(to, cmd->about);
	}
	if (cmd->subs)
		man_subs(cmd, to);
	strbuf_str(to, ".SH OPTIONS\n");
	opts_each_shown(cmd, common, man_row, to);
	strbuf_str(to, ".SH EXIT STATUS\n0 on success, 1 on failure, 129 on wrong usage; if a "
		       "command was run, its own exit status.\n");
	if (strchr(prog, ' ')) /* the program's own page lists all others */
		strbuf_str(to, ".SH SEE ALSO\n.BR sonde (1)\n");
}
