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

int tui_window(const struct tui_screen *s)
{
	return -ENOTTY;
}

bool tui_ask(const char *what, char *text, size_t size)
{
	return false;
}

void tui_text(const char *title, const char *text)
{
}

void tui_suspend(void)
{
}

void tui_resume(void)
{
}
