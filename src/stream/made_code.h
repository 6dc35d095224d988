/*
 * Processes of a recording that made code at run time, and what they told about it: collected at its end, when it is whole, so that
 * names outlive the process and its files in /tmp. What is in a file of another user than the process's is not taken.
 */
#pragma once

#include "file/perfdata_write.h"
#include "image/debugfile.h"

struct made_code;

/* NULL: no memory. */
struct made_code *made_code_new(void);
void made_code_free(struct made_code *m);
/* A map of code, from any thread: who made memory executable, or announced a dump. -ENOMEM. */
int made_code_note(struct made_code *m, u32 pid, const char *name) must_check;
/* Puts what they told into the file. dir: where maps are, NULL: /tmp; places: those of containers; NULL: not looked for. */
void made_code_write(struct made_code *m, const char *dir, const struct debugfile_places *places,
		     struct opener *opener, struct perfdata_writer *to);
