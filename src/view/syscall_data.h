/* Memory that arguments of system calls point to, as text: strings in quotes, structures as perf has them ({ .tv_sec: 1, .tv_nsec: 0 }). */
#pragma once

#include "base/strbuf.h"
#include "model/syscall.h"

/*
 * The piece of an argument that was copied. -1: none, or it could not be read. exit_only: of those of the end, because the beginning was
 * shown already.
 */
int syscall_data_find(const struct syscall_thread *c, u32 arg, bool exit_only);
/* ended: the result is known. */
void syscall_data_print(const struct syscall_thread *c, u32 piece, bool ended, struct strbuf *to);
/* A string without quotes and escapes; NULL: the piece is no string. Not terminated. */
const char *syscall_data_string(const struct syscall_thread *c, u32 piece, size_t *len);
/* In quotes, with C's escapes for what does not print; cut: something follows. */
void syscall_data_quote(const char *text, size_t len, bool cut, struct strbuf *to);
