#include "cmd/app/files.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED_MAX = 5 };

static struct opener *opener; /* as long as the program */

struct opener *files_opener(void)
{
	if (!opener)
		opener = opener_new_reader();
	return opener;
}

void files_report(struct app *app)
{
	char *named[NAMED_MAX];
	size_t nr = 0, others = 0;
	for (char *path; opener && (path = opener_take_timeout(opener));) {
		bool known = false;
		for (size_t i = 0; i < nr; i++)
			known |= !strcmp(named[i], path);
		if (known || nr == NAMED_MAX) {
			others += !known;
			free(path);
			continue;
		}
		named[nr++] = path;
		diag_warn(&app->diag, "'%s' was not read: its file system did not respond in time",
			  path);
	}
	if (others)
		diag_warn(&app->diag,
			  "gave up on %zu more attempts to open files on such file systems", others);
	while (nr)
		free(named[--nr]);
}
