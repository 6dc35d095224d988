/* Built without ncurses: there is never a terminal to draw on. */
#include "view/tui_live.h"

#include <errno.h>

int tui_live(const struct tui_live_config *c)
{
	return -ENOTTY;
}

int tui_fields(const char *window, struct tui_field *fields, size_t nr, u32 *sort)
{
	return -ENOTTY;
}

int tui_menu(const char *title, const char *const *lines)
{
	return TUI_MENU_NONE;
}
