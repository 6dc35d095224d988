/* Text into HTML and SVG: what it says is shown, never understood. */
#pragma once

#include "base/strbuf.h"

/* Safe between tags and in quoted attributes. Control characters become blanks, bytes that are not UTF-8 become U+FFFD. */
void markup_text(const char *s, size_t len, struct strbuf *to);
