/* Who opens the files that recordings name, for all commands: within a time limit (base/opener.h). */
#pragma once

#include "cmd/app/app.h"
#include "base/opener.h"

/* NULL: no memory; then files are opened without a limit. From any thread, after the first call. */
struct opener *files_opener(void);
/* One warning for each file that was given up. */
void files_report(struct app *app);
