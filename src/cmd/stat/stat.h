/* What the commands of `sonde stat` share: how their options are called. session/stat_plan and session/stat_run do the rest. */
#pragma once

#include "cmd/app/app.h"
#include "session/stat_run.h"

extern const struct stat_labels stat_option_names;
