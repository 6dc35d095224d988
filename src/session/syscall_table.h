/*
 * What system calls of this machine are called and what they take: numbers from arch/syscalls, arguments from the kernel's own list
 * (events/syscalls/ in tracefs), each read when it is met first.
 */
#pragma once

#include "arch/syscalls.h"
#include "base/diag.h"
#include "kern/tracefs.h"
#include "model/syscall.h"

struct syscall_table;

/* machine: as uname -m says it, of a recording; NULL: ours. tracing is borrowed. -ENOTSUP with a diag: a machine whose calls have no names here. */
int syscall_table_open(struct syscall_table **ret, const char *machine,
		       const struct tracing *tracing, struct diag *d) must_check;
/* How many bytes of buffers are copied (bpf/capture.h); before calls are asked for. Without it nothing is. */
void syscall_table_copy(struct syscall_table *t, u32 buffer_bytes);
void syscall_table_close(struct syscall_table *t);
/* Never NULL, but for no memory: a number without a name becomes "syscall_1234". */
const struct syscall *syscall_table_at(struct syscall_table *t, u64 nr);
/* The same by its name; NULL: there is none. */
const struct syscall *syscall_table_find(struct syscall_table *t, const char *name, u64 *nr);

/* Adds what is copied for the call's arguments; its arguments are known. */
void syscall_pieces_add(struct syscall *call, u32 buffer_bytes);

/* A set of calls, as -e names them. */
struct syscall_set {
	bool any; /* something was named */
	bool negated;
	u8 has[1024]; /* [number] */
};
/*
 * Adds a name ("openat"), a pattern ("*at") or a group ("%file", or "file" as strace 4 had it). false: it is none of them; what events are called
 * has a colon in it.
 */
bool syscall_set_add(struct syscall_set *s, struct syscall_table *t, const char *word, size_t len);
/* The names of the groups, for messages. */
extern const char syscall_set_groups[];
/* All others instead. */
void syscall_set_negate(struct syscall_set *s);
/* "id==0||id==2": a filter of the kernel for raw_syscalls. */
void syscall_set_filter(const struct syscall_set *s, struct strbuf *to);
