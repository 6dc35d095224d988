/*
 * Variables belong to the block that they are first assigned in: two blocks side by side may use one name for values of different types. What
 * old scripts do is understood, too: a variable that is read behind the block that it was assigned in belongs to the whole probe.
 */
#pragma once

#include "lang/ast.h"

/* Gives variables of different blocks different names: "x", "x#2". After macro_expand(). -ENOMEM. */
int scope_resolve(struct script *s, struct arena *a) must_check;
/* Length of the name as it was written. */
u32 scope_plain(const char *name);
