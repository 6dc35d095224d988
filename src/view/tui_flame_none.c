/* Built without ncurses: there is never a terminal to draw on. */
#include "view/tui_flame.h"

#include <errno.h>

int tui_flame(const struct flame *f, const char *title, bool colour)
{
	return -ENOTTY;
}

int tui_flame_window(const struct flame *f, const char *title, bool colour)
{
	return -ENOTTY;
}
