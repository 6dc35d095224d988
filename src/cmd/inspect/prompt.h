/* The prompt of inspect: commands one after the other on a kernel that stays open. */
#pragma once

#include "cmd/inspect/inspect.h"

/* From a terminal, or (script) lines from standard input. The exit status. */
int inspect_prompt(struct app *app, const struct inspect_opts *o, bool script,
		   const struct command *const *subs);
/* In a command that a prompt runs: the kernel that is open already, for begin(). NULL: there is no prompt. */
const struct inspect *inspect_prompted(void);
