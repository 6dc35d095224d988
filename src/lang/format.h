/* Format strings of printf: what each conversion takes. */
#pragma once

#include "lang/check.h"

/* Checks the arguments after the format, which is n->list. */
bool format_check(struct checker *c, struct node *n);
