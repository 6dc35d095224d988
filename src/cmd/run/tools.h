/* Ready scripts, part of the program: scripts/ of the source tree. */
#pragma once

#include "cmd/app/app.h"

struct run_tool {
	const char *name;
	const char *question; /* that it answers */
	const char *help;
	const char *text;
};

extern const struct run_tool run_tools[]; /* by name; ends with a NULL name */

/* NULL: none of this name. */
const struct run_tool *run_tool_find(const char *name);
/* run -L */
int run_tools_list(struct app *app);
