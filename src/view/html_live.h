/* The page that shows columns and processes while they change: it asks the program that served it for what is new. */
#pragma once

#include "base/strbuf.h"

/* about: JSON, {"host":..., "delay_ms":...}. */
int html_live(const char *title, const struct strbuf *about, struct strbuf *to) must_check;
