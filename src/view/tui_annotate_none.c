/* Built without ncurses: there is never a terminal to draw on. */
#include "view/tui_annotate.h"

#include <errno.h>

int tui_annotate(const struct tui_annotate *c, struct strbuf *why)
{
	return -ENOTTY;
}

int tui_annotate_window(const struct tui_annotate *c, struct strbuf *why)
{
	return -ENOTTY;
}
