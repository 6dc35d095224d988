/* Built without ncurses: there is never a terminal to draw on. */
#include "view/tui_table.h"

#include <errno.h>

int tui_tables(const struct tui_config *c)
{
	return -ENOTTY;
}
