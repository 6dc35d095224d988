/*
 * printf() of scripts: the format is the script's, the values are typed and come from a record. Conversions follow C, but a value keeps its own
 * size whatever the length modifier says, and %s takes whatever has a text.
 */
#pragma once

#include "bpf/value.h"

/* fields: a RECORD whose fields are the arguments in order. Missing arguments print nothing. */
void printf_text(const struct value_style *s, const char *format, const struct program_type *fields,
		 const void *data, struct strbuf *to);
