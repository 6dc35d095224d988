/*
 * What a person reads about options, made from the rows: --help, the man page, shell completion.
 * common: the rows that every command has, or NULL; a command's own row of the same name hides one of them.
 */
#pragma once

#include "base/opts.h"

/* prog: "sonde record". Summary, examples, usage, then the options; wrapped to width columns. */
void opts_help(const struct command *cmd, const struct opt *common, const char *prog,
	       unsigned width, bool colour, struct strbuf *to);
/* A man page in man(7) macros, section 1. */
void opts_man(const struct command *cmd, const struct opt *common, const char *prog,
	      struct strbuf *to);
/* Plain text inside such a page. */
void opts_man_text(const char *text, struct strbuf *to);
/* Completion scripts for a NULL-terminated list of commands (opts_complete.c). */
void opts_bash_completion(const struct command *const *cmds, const struct opt *common,
			  const char *prog, struct strbuf *to);
void opts_zsh_completion(const struct command *const *cmds, const struct opt *common,
			 const char *prog, struct strbuf *to);
void opts_fish_completion(const struct command *const *cmds, const struct opt *common,
			  const char *prog, struct strbuf *to);

/* A row's names as they are shown: one of the two may belong to another row. */
struct opt_shown {
	const struct opt *row;
	char short_name;
	const char *long_name;
};

/*
 * Calls fn for every row to be shown: the command's, then the common ones under the names that the command left to them.
 * -h, --help is no row; it comes last.
 */
void opts_each_shown(const struct command *cmd, const struct opt *common,
		     void (*fn)(void *ctx, const struct opt_shown *s), void *ctx);

/* Text in lines of at most width columns, each after indent blanks; the first starts at column `at`. */
void opts_wrap(const char *text, unsigned at, unsigned indent, unsigned width, struct strbuf *to);
