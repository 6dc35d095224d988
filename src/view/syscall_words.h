/*
 * Arguments of system calls by the names that their manual pages have for them: flags, modes, commands. A table for each kind, and one that says
 * which argument of which call is of which kind.
 */
#pragma once

#include "base/strbuf.h"
#include "model/syscall.h"

/* NULL: plain numbers. */
const struct syscall_words *syscall_words_find(const char *call, const char *arg);
/* "RDONLY|CLOEXEC"; what has no name is added as a number. */
void syscall_words_print(const struct syscall_words *w, u64 value, struct strbuf *to);
/* Whether 0 has a name of its own: "RDONLY". */
bool syscall_words_zero(const struct syscall_words *w);
/* The value of one of the names, also with a prefix as in C (O_CREAT); false: none of them. */
bool syscall_words_value(const struct syscall_words *w, const char *name, u64 *ret);
/* "ENOENT"; NULL: not known. */
const char *syscall_errno_name(int err);
/* ENOENT of "ENOENT"; 0: not known. */
int syscall_errno_value(const char *name);
