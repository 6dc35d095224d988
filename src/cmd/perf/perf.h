/* Called as perf: its command line, the verbs it has beside ours, and the settings it reads. */
#pragma once

#include "base/ini.h"
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

/* What cannot be read or understood is said as a warning and left out; -ENOMEM. A program with lent privileges reads none. */
int perf_config_load(struct ini *c, enum perf_config_from from, struct diag *d) must_check;
