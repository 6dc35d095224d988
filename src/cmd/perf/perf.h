/* Called as perf: its command line, the verbs it has beside ours, and the settings it reads. */
#pragma once

#include "base/arena.h"
#include "cmd/app/app.h"

/* The whole command line "perf ...". Returns the exit status. */
int perf_run(struct app *app, int argc, char **argv);

/* Verbs of perf that are none of ours. */
extern const struct command command_perf_check;
extern const struct command command_perf_config;
extern const struct command command_perf_ftrace;
extern const struct command command_perf_help;
extern const struct command command_perf_kallsyms;
extern const struct command command_perf_test;
extern const struct command command_perf_version;
/* "perf version N (sonde M)": N is the release whose options and layouts we follow. */
extern const char perf_version_line[];
/* The lines of --build-options. */
void perf_show_features(struct app *app);

/* ---- settings: $PERF_CONFIG alone, or /etc/perfconfig and then ~/.perfconfig ------------------------------------- */

enum perf_config_from { PERF_CONFIG_ALL, PERF_CONFIG_USER, PERF_CONFIG_SYSTEM };

struct perf_setting {
	const char *key; /* "report.children" */
	const char *value;
};

struct perf_config {
	struct arena arena;
	VEC(struct perf_setting) list; /* in the order they were first met */
};

void perf_config_init(struct perf_config *c);
void perf_config_done(struct perf_config *c);
/* What cannot be read or understood is said as a warning and left out; -ENOMEM. A program with lent privileges reads none. */
int perf_config_load(struct perf_config *c, enum perf_config_from from, struct diag *d) must_check;
/* NULL: not set. Borrowed. */
const char *perf_config_get(const struct perf_config *c, const char *key);
