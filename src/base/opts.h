/*
 * Options as data: one const table of rows per command. From the same rows come parsing, --help, usage errors with
 * "did you mean", the man page's OPTIONS and shell completion.
 *
 * Parsing follows perf's rules: short options combine (-ag), values follow (-F99, -F 99) or after '='
 * (--freq=99, --freq 99), --no-X undoes a flag, a unique prefix of a long name will do, options end at the first
 * word that is not one (unless the command takes mixed words), "--" ends them explicitly.
 */
#pragma once

#include "base/diag.h"
#include "base/str.h"
#include "base/types.h"

enum opt_type {
	OPT_TYPE_END,
	OPT_TYPE_HEADING, /* a line in --help; no option */
	OPT_TYPE_FLAG, /* bool; --no-NAME clears it */
	OPT_TYPE_COUNT, /* unsigned; each use adds one (-v -v) */
	OPT_TYPE_INT, /* s64 */
	OPT_TYPE_UINT, /* u64 */
	OPT_TYPE_SIZE, /* u64 bytes, with K M G */
	OPT_TYPE_STR, /* const char *: borrowed from argv */
	OPT_TYPE_LIST, /* struct opt_list: each use adds one, in order */
	OPT_TYPE_ENUM, /* int: index into choices */
	OPT_TYPE_CALL, /* call(opts, value, negated, diag); value is NULL when negated or when none was given */
};

struct opt_list {
	VEC(const char *) items;
};

struct opt {
	enum opt_type type;
	char short_name;
	bool optional; /* the value may be missing; only "--opt=value" or "-ovalue" gives one then */
	bool greedy; /* with optional: the next word is the value too, unless it starts with '-' (perf report -g caller) */
	bool hidden; /* accepted, not shown in --help */
	bool refused; /* known to the tool whose habit it is, not supported here: help says what to use instead */
	u32 offset; /* into the command's options struct */
	u32 seen; /* OPT_SEEN: offset of a bool set when the option is used, 0: none */
	const char *long_name;
	const char *arg; /* the word for the value in --help; NULL for flags */
	const char *help;
	const char *fallback; /* OPT_TYPE_STR etc. with .optional: the value when none is given */
	const char *const *choices; /* OPT_TYPE_ENUM, NULL-terminated */
	const char *words; /* what a value may be, with blanks, for completion alone; NULL: by the word of arg */
	/* OPT_TYPE_CALL; OPT_TYPE_COUNT: what "--opt=value" does, where it does something */
	int (*call)(void *opts, const char *value, bool negated,
		    struct diag *d); /* 0, or negative with a diag */
};

/* Compile-time check that a field has the type its row says: no default association, so a mismatch does not compile. */
#define OPT_AT_(T, f, ctype) (offsetof(T, f) + 0 * sizeof(_Generic(&((T *)0)->f, ctype * : 1)))

/* As the last argument of a row: OPT_UINT('F', "freq", struct o, freq, "HZ", "...", OPT_SEEN(struct o, freq_given)) */
#define OPT_SEEN(T, f)                                                                             \
	.seen = OPT_AT_(T, f, bool) +                                                              \
		0 * sizeof(char[offsetof(T, f) ? 1 : -1]) /* not the first field */

#define OPT_END()                                                                                  \
	{                                                                                          \
		.type = OPT_TYPE_END                                                               \
	}
#define OPT_HEADING(text)                                                                          \
	{                                                                                          \
		.type = OPT_TYPE_HEADING, .help = (text)                                           \
	}
#define OPT_FLAG(s, l, T, f, h, ...)                                                               \
	{                                                                                          \
		.type = OPT_TYPE_FLAG, .short_name = (s), .long_name = (l), .help = (h),           \
		.offset = OPT_AT_(T, f, bool), ##__VA_ARGS__                                       \
	}
#define OPT_COUNT(s, l, T, f, h, ...)                                                              \
	{                                                                                          \
		.type = OPT_TYPE_COUNT, .short_name = (s), .long_name = (l), .help = (h),          \
		.offset = OPT_AT_(T, f, unsigned), ##__VA_ARGS__                                   \
	}
#define OPT_INT(s, l, T, f, a, h, ...)                                                             \
	{                                                                                          \
		.type = OPT_TYPE_INT, .short_name = (s), .long_name = (l), .arg = (a),             \
		.help = (h), .offset = OPT_AT_(T, f, s64), ##__VA_ARGS__                           \
	}
#define OPT_UINT(s, l, T, f, a, h, ...)                                                            \
	{                                                                                          \
		.type = OPT_TYPE_UINT, .short_name = (s), .long_name = (l), .arg = (a),            \
		.help = (h), .offset = OPT_AT_(T, f, u64), ##__VA_ARGS__                           \
	}
#define OPT_SIZE(s, l, T, f, a, h, ...)                                                            \
	{                                                                                          \
		.type = OPT_TYPE_SIZE, .short_name = (s), .long_name = (l), .arg = (a),            \
		.help = (h), .offset = OPT_AT_(T, f, u64), ##__VA_ARGS__                           \
	}
#define OPT_STR(s, l, T, f, a, h, ...)                                                             \
	{                                                                                          \
		.type = OPT_TYPE_STR, .short_name = (s), .long_name = (l), .arg = (a),             \
		.help = (h), .offset = OPT_AT_(T, f, const char *), ##__VA_ARGS__                  \
	}
#define OPT_LIST(s, l, T, f, a, h, ...)                                                            \
	{                                                                                          \
		.type = OPT_TYPE_LIST, .short_name = (s), .long_name = (l), .arg = (a),            \
		.help = (h), .offset = OPT_AT_(T, f, struct opt_list), ##__VA_ARGS__               \
	}
#define OPT_ENUM(s, l, T, f, a, h, words, ...)                                                     \
	{                                                                                          \
		.type = OPT_TYPE_ENUM, .short_name = (s), .long_name = (l), .arg = (a),            \
		.help = (h), .choices = (words), .offset = OPT_AT_(T, f, int), ##__VA_ARGS__       \
	}
/* a == NULL: takes no value. */
#define OPT_CALL(s, l, a, h, fn, ...)                                                              \
	{                                                                                          \
		.type = OPT_TYPE_CALL, .short_name = (s), .long_name = (l), .arg = (a),            \
		.help = (h), .call = (fn), ##__VA_ARGS__                                           \
	}

struct opt_example {
	const char *line; /* what to type, without the program's name: "record -F 99 -g -- sleep 1" */
	const char *what;
};

struct app;

/* One command of the program: a file in cmd/ exports one of these. */
struct command {
	const char *name;
	const char *group; /* heading in `sonde help`: one of those in cmd/app/help.c; NULL for sub-commands */
	const char *summary; /* one line, no full stop */
	const char *usage; /* "[OPTIONS] [--] COMMAND [ARGS]" */
	const char *about; /* lines for --help and the man page, or NULL; each is wrapped, one that starts with a blank is kept */
	const struct opt_example *examples; /* ends with a NULL line */
	const struct opt *opts; /* ends with OPT_END(); NULL: none. --help, --json etc. of all commands are added by cmd/ */
	size_t opts_size; /* of the options struct; it arrives zeroed, then .defaults() */
	void (*defaults)(void *opts);
	bool mixed_words; /* words and options may be mixed (report FILE -g); else options end at the first word */
	bool same_opts; /* a sub-command that fills the options struct of the one above, which may have options before the verb */
	const struct command *takes; /* its options are known too, after the command's own; or NULL */
	size_t takes_at; /* where its options struct is in that of this command, which sets its defaults */
	const struct command *const *subs; /* sub-commands, NULL-terminated, or NULL */
	const struct opt_example *elsewhere; /* verbs of the tool it follows: what helps instead; or NULL */
	/* argv: the words after the options. Returns the exit status. */
	int (*run)(struct app *app, void *opts, int argc, char **argv);
};

/* Rows and the struct they fill. Where two sets know the same name, or a prefix fits in both, the earlier one has it. */
struct opt_set {
	const struct opt *rows; /* NULL: none */
	void *into;
};

/*
 * Parses argv[1..) by the rows into opts. On success *first is the index of the first word that is not an option (words
 * are moved after options when mixed is set). -EINVAL with a diag that names the option and what is close to it.
 * "--help" and "-h" (unless the table has a row for it) return 1. Strings are borrowed from argv.
 */
int opts_parse(const struct opt *rows, bool mixed, void *opts, int argc, char **argv, int *first,
	       struct diag *d) must_check;
/* The same with several tables: a command's own and those that all commands share. */
int opts_parse_sets(const struct opt_set *sets, size_t nr_sets, bool mixed, int argc, char **argv,
		    int *first, struct diag *d) must_check;
void opts_free(const struct opt *rows, void *opts); /* the lists */

/* Whether a value goes with the option: always, or (row->optional) when it is written with '='. */
bool opt_takes_value(const struct opt *row);
