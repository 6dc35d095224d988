/* Built without ncurses: there is never a terminal to draw on. */
#include "view/tui_screen.h"

#include <errno.h>

bool tui_possible(void)
{
	return false;
}

int tui_screen(const struct tui_screen *s)
{
	return -ENOTTY;
}
