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
/* A completion script for a NULL-terminated list of commands. */
void opts_bash_completion(const struct command *const *cmds, const struct opt *common,
			  const char *prog, struct strbuf *to);

/* Text in lines of at most width columns, each behind indent blanks; the first starts at column `at`. */
void opts_wrap(const char *text, unsigned at, unsigned indent, unsigned width, struct strbuf *to);
