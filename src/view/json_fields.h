/* The fields of an event as a JSON object: numbers, texts, lists of numbers. */
#pragma once

#include "base/strbuf.h"
#include "model/sample.h"
#include "model/schema.h"

/* A quoted string. The buffer has no drain. Bytes that are not UTF-8 become U+FFFD. */
void json_text(struct strbuf *t, const char *s, size_t len);
/* For json_fields(). An event may have two fields of one name, an object may not. The caller frees it. */
int json_fields_before(const struct schema *sc, u16 **ret) must_check;
/* before: [field] how many fields of the same name come before; the second is called NAME#2. NULL: all names differ. */
void json_fields(struct strbuf *t, const struct schema *sc, const u16 *before,
		 const struct sample *s);
