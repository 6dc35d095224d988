/* What people read about the event language: sonde-events(7), made from the rows of the provider table and prose. */
#pragma once

#include "base/strbuf.h"

/* The man page, in man(7) macros. */
void event_manual(struct strbuf *to);
/* The kinds alone, as text in so many columns. */
void event_manual_text(unsigned width, struct strbuf *to);
/* The kinds as JSON: form, prefix, about, example, verbs, what they need from the kernel. */
int event_manual_json(struct strbuf *to) must_check;
