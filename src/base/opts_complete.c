/* Completion scripts for three shells, from the option tables: every verb with its options, and the words a value may be. */
#include "base/opts_doc.h"

#include <string.h>

/* The options that stand before the verb, beside the common ones. */
static const struct opt global[] = { OPT_CALL(0, "version", NULL, "Show the version", NULL),
				     OPT_END() };
static const struct command top = { .name = "", .opts = global };

/* Gives up a part of the text; what went wrong in it went wrong in the whole. */
static void part_done(struct strbuf *part, struct strbuf *whole)
{
	if (part->err && !whole->err)
		whole->err = part->err;
	strbuf_done(part);
}

/* What a value is, by the word that --help has for it. */
enum opts_complete_value_kind {
	VALUE_ANY,
	VALUE_FILE,
	VALUE_FOLDER,
	VALUE_PID,
	VALUE_EVENT,
	VALUE_TRACER
};

static enum opts_complete_value_kind value_kind(const struct opt *row)
{
	static const struct {
		const char *word;
		enum opts_complete_value_kind kind;
	} words[] = { { "FILE", VALUE_FILE }, { "DIR", VALUE_FOLDER },	{ "PID", VALUE_PID },
		      { "TID", VALUE_PID },   { "EVENT", VALUE_EVENT }, { "TRACER", VALUE_TRACER } };
	for (size_t i = 0; row->arg && i < ARRAY_SIZE(words); i++)
		if (!strcmp(row->arg, words[i].word))
			return words[i].kind;
	return VALUE_ANY;
}

/* What lists the values of a kind, as words. */
static const char *const asks[] = {
	[VALUE_EVENT] = "list --raw-dump",
	[VALUE_TRACER] = "ftrace list -t",
};

/* ---- bash ------------------------------------------------------------------------------------------------------- */

static void complete_word(void *ctx, const struct opt_shown *s)
{
	struct strbuf *to = ctx;
	if (s->row->type != OPT_TYPE_HEADING && s->long_name)
		strbuf_printf(to, " --%s%s", s->long_name,
			      opt_takes_value(s->row) && !s->row->optional ? "=" : "");
}

static void complete_choices(void *ctx, const struct opt_shown *s)
{
	struct strbuf *to = ctx;
	const struct opt *row = s->row;
	enum opts_complete_value_kind kind = opt_takes_value(row) ? value_kind(row) : VALUE_ANY;
	bool choices = row->choices && row->type == OPT_TYPE_ENUM;
	if ((!choices && !row->words && kind < VALUE_EVENT) || !s->long_name)
		return;
	strbuf_printf(to, "\t\t--%s", s->long_name);
	if (s->short_name && !row->optional)
		strbuf_printf(to, "|-%c", s->short_name);
	strbuf_str(to, ") words=");
	if (!choices && !row->words) { /* asked of the program when it is needed */
		strbuf_printf(to, "$(\"${COMP_WORDS[0]}\" %s 2>/dev/null) ;;\n", asks[kind]);
		return;
	}
	strbuf_char(to, '\'');
	strbuf_str(to, row->words ? row->words : "");
	for (size_t i = 0; choices && row->choices[i]; i++)
		strbuf_printf(to, "%s%s", i ? " " : "", row->choices[i]);
	strbuf_str(to, "' ;;\n");
}

/* One arm of the script's case: what may follow this verb, and the words that an option's value may be. */
static void complete_command(const struct command *cmd, const struct opt *common, const char *verb,
			     struct strbuf *to)
{
	strbuf_printf(to, "\t'%s')\n\t\toptions='", verb);
	opts_each_shown(cmd, common, complete_word, to);
	strbuf_str(to, "'\n\t\tsubs='");
	for (size_t i = 0; cmd->subs && cmd->subs[i]; i++)
		strbuf_printf(to, " %s", cmd->subs[i]->name);
	strbuf_str(to, "'\n\t\tcase $prev in\n");
	opts_each_shown(cmd, common, complete_choices, to);
	strbuf_str(to, "\t\tesac ;;\n");
	for (size_t i = 0; cmd->subs && cmd->subs[i]; i++) {
		struct strbuf name;
		strbuf_init(&name);
		strbuf_printf(&name, "%s %s", verb, cmd->subs[i]->name);
		complete_command(cmd->subs[i], common, strbuf_cstr(&name), to);
		part_done(&name, to);
	}
}

static void complete_verbs(const struct command *const *cmds, struct strbuf *to)
{
	for (size_t i = 0; cmds[i]; i++)
		strbuf_printf(to, " %s", cmds[i]->name);
}

void opts_bash_completion(const struct command *const *cmds, const struct opt *common,
			  const char *prog, struct strbuf *to)
{
	strbuf_printf(to,
		      "# bash completion for %s; made by '%s help --bash-completion'\n"
		      "_%s()\n"
		      "{\n"
		      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
		      "verb= i word\n"
		      "\tlocal options= subs= words=\n"
		      "\tCOMPREPLY=()\n"
		      "\t# bash splits --opt=value at the '='\n"
		      "\tif [ \"$cur\" = = ]; then\n"
		      "\t\tcur=\n"
		      "\telif [ \"$prev\" = = ]; then\n"
		      "\t\tprev=${COMP_WORDS[COMP_CWORD-2]}\n"
		      "\tfi\n"
		      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		      "\t\tword=${COMP_WORDS[i]}\n"
		      "\t\tcase $verb/$word in\n"
		      "\t\t*/--) return ;;\n",
		      prog, prog, prog);
	for (size_t i = 0; cmds[i]; i++) {
		strbuf_printf(to, "\t\t/%s) verb=%s ;;\n", cmds[i]->name, cmds[i]->name);
		for (size_t k = 0; cmds[i]->subs && cmds[i]->subs[k]; k++)
			strbuf_printf(to, "\t\t%s/%s) verb='%s %s' ;;\n", cmds[i]->name,
				      cmds[i]->subs[k]->name, cmds[i]->name, cmds[i]->subs[k]->name);
	}
	strbuf_str(to, "\t\tesac\n\tdone\n\tcase $verb in\n");
	complete_command(&top, common, "", to);
	for (size_t i = 0; cmds[i]; i++)
		complete_command(cmds[i], common, cmds[i]->name, to);
	strbuf_str(to, "\tesac\n\t[ -n \"$verb\" ] || subs='");
	complete_verbs(cmds, to);
	strbuf_str(to, "'\n\t[ \"$verb\" != help ] || subs='");
	complete_verbs(cmds, to);
	strbuf_printf(to,
		      "'\n"
		      "\tif [ -n \"$words\" ]; then\n"
		      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
		      "\telif [ \"${cur#-}\" != \"$cur\" ]; then\n"
		      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
		      "\t\t[ \"${#COMPREPLY[@]}\" != 1 ] || [ \"${COMPREPLY[0]%%=}\" = "
		      "\"${COMPREPLY[0]}\" ] || compopt -o nospace 2>/dev/null\n"
		      "\telif [ -n \"$subs\" ]; then\n"
		      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$subs\" -- \"$cur\")\n"
		      "\tfi\n"
		      "}\n"
		      "complete -o default -F _%s %s\n",
		      prog, prog);
}

/* ---- zsh -------------------------------------------------------------------------------------------------------- */

/* Inside single quotes, inside [brackets] and between colons. */
static void zsh_text(struct strbuf *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			strbuf_str(to, "'\\''");
		else
			strbuf_printf(to, "%s%c", strchr("[]:\\", *text) ? "\\" : "", *text);
	}
}

/* "_sonde_ftrace_record" of "ftrace record" */
static void zsh_function(struct strbuf *to, const char *prog, const char *path)
{
	strbuf_printf(to, "_%s", prog);
	if (*path)
		strbuf_char(to, '_');
	for (; *path; path++)
		strbuf_char(to, *path == ' ' || *path == '-' ? '_' : *path);
}

/* What follows the help: ":HZ:", "::WHEN:(auto always never)", ":FILE:_files". */
static void zsh_value(struct strbuf *to, const struct opt *row)
{
	static const char *const actions[] = {
		[VALUE_ANY] = "",
		[VALUE_FILE] = "_files",
		[VALUE_FOLDER] = "_files -/",
		[VALUE_PID] = "_pids",
		[VALUE_EVENT] = "{compadd -- $(sonde list --raw-dump 2>/dev/null)}",
		[VALUE_TRACER] = "{compadd -- $(sonde ftrace list -t 2>/dev/null)}",
	};
	if (!opt_takes_value(row))
		return;
	strbuf_str(to, row->optional ? "::" : ":");
	zsh_text(to, row->arg ? row->arg : "VALUE");
	strbuf_char(to, ':');
	if (row->words) {
		strbuf_printf(to, "(%s)", row->words);
		return;
	}
	if (!row->choices) {
		strbuf_str(to, actions[value_kind(row)]);
		return;
	}
	strbuf_char(to, '(');
	for (size_t i = 0; row->choices[i]; i++)
		strbuf_printf(to, "%s%s", i ? " " : "", row->choices[i]);
	strbuf_char(to, ')');
}

static void zsh_spec(struct strbuf *to, const struct opt_shown *s, bool is_short)
{
	const struct opt *row = s->row;
	bool value = opt_takes_value(row);
	bool repeats = row->type == OPT_TYPE_LIST || row->type == OPT_TYPE_COUNT ||
		       (row->type == OPT_TYPE_CALL && value);
	strbuf_str(to, repeats ? " \\\n\t\t'*" : " \\\n\t\t'");
	if (!repeats && s->short_name && s->long_name)
		strbuf_printf(to, "(-%c --%s)", s->short_name, s->long_name);
	if (is_short)
		strbuf_printf(to, "-%c%s", s->short_name, !value ? "" : row->optional ? "-" : "+");
	else
		strbuf_printf(to, "--%s%s", s->long_name, !value ? "" : row->optional ? "=-" : "=");
	strbuf_char(to, '[');
	zsh_text(to, row->help ? row->help : "");
	strbuf_char(to, ']');
	zsh_value(to, row);
	strbuf_char(to, '\'');
}

static void zsh_row(void *ctx, const struct opt_shown *s)
{
	if (s->row->type == OPT_TYPE_HEADING)
		return;
	if (s->short_name)
		zsh_spec(ctx, s, true);
	if (s->long_name)
		zsh_spec(ctx, s, false);
}

static void zsh_choose(struct strbuf *to, const struct command *const *cmds)
{
	strbuf_str(to, "\tlocal -a verbs=(\n");
	for (size_t i = 0; cmds[i]; i++) {
		strbuf_str(to, "\t\t'");
		zsh_text(to, cmds[i]->name);
		strbuf_char(to, ':');
		zsh_text(to, cmds[i]->summary);
		strbuf_str(to, "'\n");
	}
	strbuf_str(to, "\t)\n");
}

/* One function for each command: its options, then its sub-commands or its words. */
static void zsh_command(const struct command *cmd, const struct command *const *subs,
			const struct opt *common, const char *prog, const char *path,
			struct strbuf *to)
{
	zsh_function(to, prog, path);
	strbuf_str(to, "() {\n");
	if (subs)
		strbuf_str(to, "\tlocal curcontext=\"$curcontext\" state line\n");
	strbuf_str(to, subs ? "\t_arguments -C -s -S" : "\t_arguments -s -S");
	opts_each_shown(cmd, common, zsh_row, to);
	if (subs)
		strbuf_str(to, " \\\n\t\t'1:command:->verb' \\\n\t\t'*::argument:->words'\n\tcase "
			       "$state in\n\tverb)\n");
	else if (!strcmp(path, "help"))
		strbuf_printf(to, " \\\n\t\t\"*:command:(${_%s_verbs})\"\n", prog);
	else if (cmd->usage && strstr(cmd->usage, "[COMMAND"))
		strbuf_str(to, " \\\n\t\t'(-)1:command:_command_names -e' "
			       "\\\n\t\t'*::argument:_normal'\n");
	else
		strbuf_str(to, " \\\n\t\t'*:file:_files'\n");
	if (subs) {
		zsh_choose(to, subs);
		strbuf_str(to, "\t_describe -t commands command verbs\n\t;;\n\twords)\n\tcase "
			       "$words[1] in\n");
		for (size_t i = 0; subs[i]; i++) {
			strbuf_printf(to, "\t%s) ", subs[i]->name);
			zsh_function(to, prog, path);
			strbuf_char(to, '_');
			for (const char *c = subs[i]->name; *c; c++)
				strbuf_char(to, *c == '-' ? '_' : *c);
			strbuf_str(to, " ;;\n");
		}
		strbuf_str(to, "\tesac\n\t;;\n\tesac\n");
	}
	strbuf_str(to, "}\n\n");
	for (size_t i = 0; subs && subs[i]; i++) {
		struct strbuf name;
		strbuf_init(&name);
		strbuf_printf(&name, "%s%s%s", path, *path ? " " : "", subs[i]->name);
		zsh_command(subs[i], subs[i]->subs, common, prog, strbuf_cstr(&name), to);
		part_done(&name, to);
	}
}

void opts_zsh_completion(const struct command *const *cmds, const struct opt *common,
			 const char *prog, struct strbuf *to)
{
	strbuf_printf(
		to, "#compdef %s\n# zsh completion for %s; made by '%s help --zsh-completion'\n\n",
		prog, prog, prog);
	strbuf_printf(to, "typeset -g _%s_verbs='", prog);
	complete_verbs(cmds, to);
	strbuf_str(to, "'\n\n");
	zsh_command(&top, cmds, common, prog, "", to);
	strbuf_printf(to, "_%s \"$@\"\n", prog);
}

/* ---- fish ------------------------------------------------------------------------------------------------------- */

static void fish_text(struct strbuf *to, const char *text)
{
	strbuf_char(to, '\'');
	for (; *text; text++)
		strbuf_printf(to, "%s%c", strchr("'\\", *text) ? "\\" : "", *text);
	strbuf_char(to, '\'');
}

struct fish {
	struct strbuf *to;
	const char *prog, *path;
	const struct command *const *cmds; /* all: what `help` is asked for */
};

static void fish_begin(const struct fish *f)
{
	strbuf_printf(f->to, "complete -c %s -n '__%s_at \"%s\"'", f->prog, f->prog, f->path);
}

static void fish_row(void *ctx, const struct opt_shown *s)
{
	static const char *const actions[] = {
		[VALUE_ANY] = " -x",
		[VALUE_FILE] = " -r -F",
		[VALUE_FOLDER] = " -x -a '(__fish_complete_directories)'",
		[VALUE_PID] = " -x -a '(__fish_complete_pids)'",
		[VALUE_EVENT] = " -x -a '(sonde list --raw-dump 2>/dev/null | string split \" \")'",
		[VALUE_TRACER] = " -x -a '(sonde ftrace list -t 2>/dev/null | string split \" \")'",
	};
	const struct fish *f = ctx;
	const struct opt *row = s->row;
	if (row->type == OPT_TYPE_HEADING)
		return;
	fish_begin(f);
	if (s->short_name)
		strbuf_printf(f->to, " -s %c", s->short_name);
	if (s->long_name)
		strbuf_printf(f->to, " -l %s", s->long_name);
	if (row->words) {
		strbuf_printf(f->to, " -x -a '%s'", row->words);
	} else if (row->choices) {
		strbuf_str(f->to, row->optional ? " -f -a '" : " -x -a '");
		for (size_t i = 0; row->choices[i]; i++)
			strbuf_printf(f->to, "%s%s", i ? " " : "", row->choices[i]);
		strbuf_char(f->to, '\'');
	} else if (opt_takes_value(row) && !row->optional) {
		strbuf_str(f->to, actions[value_kind(row)]);
	}
	strbuf_str(f->to, " -d ");
	fish_text(f->to, row->help ? row->help : "");
	strbuf_char(f->to, '\n');
}

static void fish_command(const struct command *cmd, const struct command *const *subs,
			 const struct opt *common, const struct fish *f)
{
	opts_each_shown(cmd, common, fish_row, (void *)f);
	if (!strcmp(f->path, "help")) {
		fish_begin(f);
		strbuf_str(f->to, " -f -a '");
		complete_verbs(f->cmds, f->to);
		strbuf_str(f->to, "'\n");
	}
	for (size_t i = 0; subs && subs[i]; i++) {
		fish_begin(f);
		strbuf_printf(f->to, " -f -a %s -d ", subs[i]->name);
		fish_text(f->to, subs[i]->summary);
		strbuf_char(f->to, '\n');
	}
	for (size_t i = 0; subs && subs[i]; i++) {
		struct strbuf name;
		strbuf_init(&name);
		strbuf_printf(&name, "%s%s%s", f->path, *f->path ? " " : "", subs[i]->name);
		struct fish below = { f->to, f->prog, strbuf_cstr(&name), f->cmds };
		fish_command(subs[i], subs[i]->subs, common, &below);
		part_done(&name, f->to);
	}
}

/* Every path of verbs: 'ftrace' 'ftrace record' ... */
static void fish_paths(const struct command *const *subs, const char *before, struct strbuf *to)
{
	for (size_t i = 0; subs && subs[i]; i++) {
		struct strbuf name;
		strbuf_init(&name);
		strbuf_printf(&name, "%s%s%s", before, *before ? " " : "", subs[i]->name);
		strbuf_printf(to, " '%s'", strbuf_cstr(&name));
		fish_paths(subs[i]->subs, strbuf_cstr(&name), to);
		part_done(&name, to);
	}
}

void opts_fish_completion(const struct command *const *cmds, const struct opt *common,
			  const char *prog, struct strbuf *to)
{
	strbuf_printf(to,
		      "# fish completion for %s; made by '%s help --fish-completion'\n\n"
		      "# Whether the verbs typed so far are these.\n"
		      "function __%s_at\n"
		      "\tset -l at\n"
		      "\tset -l words (commandline -opc)\n"
		      "\tfor word in $words[2..-1]\n"
		      "\t\ttest \"$word\" = --; and return 1\n"
		      "\t\tset -l longer (string trim \"$at $word\")\n"
		      "\t\tcontains -- \"$longer\" $__%s_paths; and set at $longer\n"
		      "\tend\n"
		      "\ttest \"$at\" = \"$argv[1]\"\n"
		      "end\n\n"
		      "set -g __%s_paths",
		      prog, prog, prog, prog, prog);
	fish_paths(cmds, "", to);
	strbuf_str(to, "\n\n");
	fish_command(&top, cmds, common, &(struct fish){ to, prog, "", cmds });
}
