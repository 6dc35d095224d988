/* A flame graph in the terminal, walked through with the keyboard. */
#pragma once

#include "model/flame.h"

/* Until the user quits: 0; -ENOTTY: the terminal cannot, nothing was drawn; or negative errno. */
int tui_flame(const struct flame *f, const char *title, bool colour) must_check;
/* The same from a key of another screen (tui_window). */
int tui_flame_window(const struct flame *f, const char *title, bool colour) must_check;
