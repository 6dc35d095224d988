/*
 * What every command gets: where to write, what was asked of all commands, how to fail.
 *
 *	out    standard output, buffered; through a pager when it is a terminal and the text is longer than the screen.
 *	       What a terminal would obey is written as text there (base/printable.h), except our colours after app_colours()
 *	err    standard error, buffered; progress and closing lines
 *	diag   errors, warnings and notes; shown when the command returns, or before by app_say()
 *
 * A command returns its exit status: 0 done, app_fail() 1, app_usage() 129, or the status of the program it ran.
 */
#pragma once

#include "base/diag.h"
#include "base/opts.h"
#include "base/printable.h"
#include "base/term.h"
#include "cmd/app/dialect.h"
#include "session/tell.h"

enum app_status {
	APP_DONE = 0,
	APP_FAILED = 1,
	APP_CANNOT_RUN = 126,
	APP_NOT_FOUND = 127,
	APP_USAGE = 129
};

/* The options that every command has; they may also stand before the verb. */
struct app_common {
	unsigned verbose;
	bool json;
	bool no_pager;
	bool version; /* answered instead of running anything */
	int colour; /* enum term_when */
};

struct app {
	const struct dialect *dialect; /* whose command line this is */
	const char *prog; /* "sonde", or the name we were called by */
	char title[64]; /* "sonde record": what messages start with */
	const struct command *cmd; /* being run */
	struct app_common common;
	struct strbuf out;
	struct strbuf err;
	struct diag diag;
	bool json; /* --json: the data on out is JSON */
	bool colour; /* out may have colours: app_colours(); a terminal UI may ask this */
	bool colour_err; /* err may */
	bool wide; /* out is a file or a pipe: lines are not cut */
	unsigned width; /* columns of the terminal; 80 when there is none */
	unsigned verbose;
	struct symbols *symbols; /* see app_symbols() */
	int die_of; /* a signal to die of when all is written, as shells expect; 0: none */

	/* Of app.c. */
	int out_fd;
	int err_fd;
	int pager_pid;
	bool may_page;
	bool told_plain; /* that the terminal is only written to */
	bool painted; /* app_colours() said yes */
	struct printable_stream out_screen, err_screen;
};

extern const char *const app_option_names[]; /* [DIAG_OPT_NR] */
extern const struct opt app_common_rows[]; /* of every command */
extern const struct opt app_global_rows[]; /* before the verb: the common ones and --version */

void app_init(struct app *app, const struct dialect *dialect);
/* Writes what is left, shows messages, ends the pager. Returns the exit status, or dies of app->die_of. */
int app_finish(struct app *app, int status);

/* Colour, width and pager follow from the options. */
void app_decide(struct app *app);
/*
 * Parses argv[1..) by the command's rows and the common ones, and runs it, its sub-command, or its --help. argv[0] is the
 * verb; when it is another word (the name of a tool whose place we take), messages do without the verb.
 */
int app_command(struct app *app, const struct command *cmd, int argc, char **argv);
/* NULL: no such command. */
const struct command *app_find(const struct command *const *cmds, const char *name);
/* 129: unknown command; names the closest one, or topic, a word that is accepted besides commands (NULL: none). */
int app_no_command(struct app *app, const struct command *cmd, const char *word, const char *topic);

/* Whether the text that the command is about to write to out may have colours. */
bool app_colours(struct app *app);
/* For who would draw on the terminal, or page: false where $TERM says that it cannot, which is reported once. */
bool app_may_draw(struct app *app);
/* Output is wanted as it comes: no pager. To be called before the first text of a live view. */
void app_live(struct app *app);
/* Writes what is held: out, then err. 0 or negative errno of out. */
int app_flush(struct app *app);
/* Shows the messages collected so far. */
void app_say(struct app *app);

/* For engines below cmd that work for this command. */
struct tell app_tell(struct app *app);

/* Where names come from, as the options of all commands and the dialect want it. One for the process. */
struct symbols *app_symbols(struct app *app);

/* For `return app_fail(app, err)`: 1; says what err (negative errno) means if nobody has said anything yet. */
int app_fail(struct app *app, int err);
/* For `return app_usage(app, "...")`: 129, with a pointer to --help. */
int app_usage(struct app *app, const char *fmt, ...) printf_like(2, 3);
/* 129 after a parser filled the diag. */
int app_usage_said(struct app *app);
