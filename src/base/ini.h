/*
 * Settings in files of git's kind: [section], [section "part"], name = value. A line that is not understood is skipped with a warning;
 * changing one setting leaves all other lines as they are.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { INI_KEY_MAX = 256 };

struct ini_setting {
	const char *key; /* "section.name", or "section.part.name" */
	const char *value;
};

struct ini {
	struct arena arena;
	VEC(struct ini_setting) list; /* in the order they were first met */
};

void ini_init(struct ini *c);
void ini_done(struct ini *c);

/* NULL: not set. */
const char *ini_get(const struct ini *c, const char *key);

/* Adds the settings of a file's text to those that are there; the later one wins. path is for warnings. -ENOMEM. */
int ini_parse(struct ini *c, const char *text, const char *path, struct diag *d) must_check;

/* A key as a person writes it: "Section.part.name" becomes "section.part.name". false: no file could hold it. */
bool ini_key(char *key) must_check;

/* The text with one setting changed or added. key is one that ini_key() has taken. */
void ini_edit(const char *text, const char *key, const char *value, struct strbuf *to);
