/* `sonde help`, and what is shown without a command. */
#pragma once

#include "cmd/app/app.h"

/* All commands, by the question they answer. */
void help_overview(struct app *app);
