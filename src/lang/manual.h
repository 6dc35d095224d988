/* What people read about the language of `run`: sonde-language(7), made from the rows of providers and built-ins, and prose. */
#pragma once

#include "base/strbuf.h"

/* The man page, in man(7) macros. */
void lang_manual(struct strbuf *to);
/* Probes, values and functions alone, as text in so many columns. */
void lang_manual_text(unsigned width, struct strbuf *to);
/* An object: probes, functions (with their groups), examples. */
int lang_manual_json(struct strbuf *to) must_check;
