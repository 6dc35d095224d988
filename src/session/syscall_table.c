#include "session/syscall_table.h"

#include "base/glob.h"
#include "kern/machine.h"
#include "session/fd_names.h"
#include "view/syscall_words.h"
#include "wire/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

enum { NAME_SIZE = 64, NR_MAX = sizeof(((struct syscall_set *)0)->has) };

struct syscall_table {
	enum syscalls_abi abi;
	const struct tracing *tracing;
	struct arena arena;
	bool copies;
	u32 buffer_bytes;
	struct syscall *calls[NR_MAX]; /* NULL: not asked about so far */
};

int syscall_table_open(struct syscall_table **ret, const char *machine,
		       const struct tracing *tracing, struct diag *d)
{
	struct utsname u;
	if (!machine && !uname(&u))
		machine = u.machine;
	bool x86 = machine && !strcmp(machine, "x86_64");
	if (!x86 && (!machine || strcmp(machine, "aarch64") != 0))
		return diag_error(d, -ENOTSUP, "system calls of %s have no names here",
				  machine ? machine : "this machine");
	struct syscall_table *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->abi = x86 ? SYSCALLS_X86_64 : SYSCALLS_ARM64;
	t->tracing = tracing;
	arena_init(&t->arena);
	*ret = t;
	return 0;
}

void syscall_table_copy(struct syscall_table *t, u32 buffer_bytes)
{
	t->copies = true;
	t->buffer_bytes = buffer_bytes;
}

void syscall_table_close(struct syscall_table *t)
{
	if (!t)
		return;
	arena_done(&t->arena);
	free(t);
}

/* ---- arguments -------------------------------------------------------------------------------------------------- */

/* Calls that the kernel's functions have other names for. */
static const char *const renamed[][2] = {
	{ "stat", "newstat" },	 { "fstat", "newfstat" }, { "lstat", "newlstat" },
	{ "uname", "newuname" }, { "umount2", "umount" }, { "sendfile", "sendfile64" },
};

static const struct {
	const char *type;
	u8 size;
	bool is_signed;
} types[] = {
	{ "int", 4, true },	     { "unsigned int", 4, false },
	{ "unsigned", 4, false },    { "u32", 4, false },
	{ "__u32", 4, false },	     { "uint32_t", 4, false },
	{ "pid_t", 4, true },	     { "uid_t", 4, false },
	{ "gid_t", 4, false },	     { "qid_t", 4, false },
	{ "clockid_t", 4, true },    { "timer_t", 4, true },
	{ "mqd_t", 4, true },	     { "key_t", 4, true },
	{ "key_serial_t", 4, true }, { "__s32", 4, true },
	{ "umode_t", 2, false },     { "rwf_t", 4, true },
	{ "long", 8, true },	     { "loff_t", 8, true },
	{ "off_t", 8, true },	     { "__kernel_timer_t", 4, true },
};

static bool ends_with(const char *s, const char *end)
{
	size_t a = strlen(s), b = strlen(end);
	return a >= b && !strcmp(s + a - b, end);
}

static enum syscall_arg_kind kind_of(const char *name, const char *type)
{
	if (!strcmp(type, "const char *") && (ends_with(name, "name") || strstr(name, "path")))
		return SYSCALL_PATH;
	if (strchr(type, '*') || ends_with(type, "handler_t") ||
	    !strcmp(type, "cap_user_header_t") || !strcmp(type, "cap_user_data_t") ||
	    !strcmp(type, "aio_context_t") || strstr(name, "addr"))
		return SYSCALL_POINTER;
	if (!strcmp(type, "pid_t"))
		return SYSCALL_PID;
	if (!strcmp(type, "umode_t"))
		return SYSCALL_MODE;
	if (ends_with(name, "fd") && !ends_with(name, "dfd"))
		return SYSCALL_FD;
	return SYSCALL_NUMBER;
}

static int fill_arg(struct syscall_table *t, const struct syscall *call,
		    const struct schema_field *f, struct syscall_arg *a)
{
	const char *name = arena_strdup(&t->arena, f->name);
	if (!name)
		return -ENOMEM;
	*a = (struct syscall_arg){ .name = name,
				   .kind = kind_of(f->name, f->type),
				   .size = 8,
				   .words = syscall_words_find(call->name, f->name) };
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].type, f->type)) {
			a->size = types[i].size;
			a->is_signed = types[i].is_signed;
		}
	/* mmap's is an unsigned long, and -1 is no file all the same. */
	if (a->kind == SYSCALL_FD) {
		a->size = 4;
		a->is_signed = true;
	}
	if (a->words)
		a->kind = SYSCALL_WORDS;
	if (!strcmp(call->name, "mmap") && !strcmp(f->name, "off"))
		a->kind = SYSCALL_POINTER;
	return 0;
}

/* Arguments that count for some values of another one only. */
static const struct {
	const char *call, *arg, *by;
	u64 mask, where;
} voids[] = {
	{ "mmap", "fd", "flags", MAP_ANONYMOUS, 1ull << MAP_ANONYMOUS },
	{ "mmap", "off", "flags", MAP_ANONYMOUS, 1ull << MAP_ANONYMOUS },
	/* Of operations 0 to 13 of linux/futex.h. */
	{ "futex", "utime", "op", 127, 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 10 },
	{ "futex", "uaddr2", "op", 127,
	  1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 13 },
	{ "futex", "val3", "op", 127,
	  1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 11 | 1 << 13 },
};

static u8 arg_index(const struct syscall *call, const char *name)
{
	for (u32 i = 0; i < call->nr_args; i++)
		if (!strcmp(call->args[i].name, name))
			return (u8)i;
	return SYSCALL_ARGS;
}

static void set_voids(struct syscall *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(voids); i++) {
		if (strcmp(voids[i].call, call->name) != 0)
			continue;
		u8 arg = arg_index(call, voids[i].arg), by = arg_index(call, voids[i].by);
		if (arg == SYSCALL_ARGS || by == SYSCALL_ARGS)
			continue;
		call->args[arg].void_by = by;
		call->args[arg].void_mask = voids[i].mask;
		call->args[arg].void_where = voids[i].where;
	}
}

static const char *kernel_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(renamed); i++)
		if (!strcmp(renamed[i][0], name))
			return renamed[i][1];
	return name;
}

/* What the kernel does not list (CONFIG_FTRACE_SYSCALLS, modules' calls) has arguments all the same: numbers without names. */
static void unknown_args(struct syscall *call)
{
	static const char *const names[SYSCALL_ARGS] = { "arg0", "arg1", "arg2",
							 "arg3", "arg4", "arg5" };
	for (u32 i = 0; i < SYSCALL_ARGS; i++)
		call->args[i] =
			(struct syscall_arg){ .name = names[i], .size = 8, .is_signed = true };
	call->nr_args = SYSCALL_ARGS;
}

static int read_args(struct syscall_table *t, struct syscall *call)
{
	char path[NAME_SIZE + 64];
	struct strbuf text;
	struct arena parsed;
	struct schema *schema;
	struct diag ignored;
	(void)snprintf(path, sizeof(path), "events/syscalls/sys_enter_%s/format",
		       kernel_name(call->name));
	strbuf_init(&text);
	arena_init(&parsed);
	diag_init(&ignored);
	int err = tracing_read(t->tracing, path, &text);
	if (!err)
		err = format_parse(&parsed, "syscalls", text.data, text.len, false, 8, &schema,
				   &ignored);
	bool known = !err;
	for (u32 i = known ? schema->nr_common : 0; !err && i < schema->nr_fields; i++) {
		const struct schema_field *f = &schema->fields[i];
		/* The number; newer kernels append copies of strings, whose names begin in this way too. */
		if (!strncmp(f->name, "__syscall", 9) || f->flags & FIELD_DATA_LOC)
			continue;
		if (call->nr_args < SYSCALL_ARGS)
			err = fill_arg(t, call, f, &call->args[call->nr_args++]);
	}
	if (!known && err != -ENOMEM) {
		unknown_args(call);
		err = 0;
	}
	set_voids(call);
	if (t->copies)
		syscall_pieces_add(call, t->buffer_bytes);
	diag_done(&ignored);
	arena_done(&parsed);
	strbuf_done(&text);
	return err;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum syscall_result result;
} results[] = {
	{ "mmap", SYSCALL_RETURNS_ADDRESS },	    { "brk", SYSCALL_RETURNS_ADDRESS },
	{ "mremap", SYSCALL_RETURNS_ADDRESS },	    { "shmat", SYSCALL_RETURNS_ADDRESS },
	{ "mmap2", SYSCALL_RETURNS_ADDRESS },	    { "clone", SYSCALL_RETURNS_PID },
	{ "clone3", SYSCALL_RETURNS_PID },	    { "fork", SYSCALL_RETURNS_PID },
	{ "vfork", SYSCALL_RETURNS_PID },	    { "getpid", SYSCALL_RETURNS_PID },
	{ "getppid", SYSCALL_RETURNS_PID },	    { "gettid", SYSCALL_RETURNS_PID },
	{ "getpgid", SYSCALL_RETURNS_PID },	    { "wait4", SYSCALL_RETURNS_PID },
	{ "set_tid_address", SYSCALL_RETURNS_PID }, { "poll", SYSCALL_RETURNS_READY },
	{ "ppoll", SYSCALL_RETURNS_READY },	    { "select", SYSCALL_RETURNS_READY },
	{ "pselect6", SYSCALL_RETURNS_READY },
};

static struct syscall *make(struct syscall_table *t, u64 nr)
{
	struct syscall *call = arena_zalloc(&t->arena, sizeof(*call));
	const char *name = syscalls_name(t->abi, nr);
	char made[NAME_SIZE];
	if (!call)
		return NULL;
	if (!name && nr >= SYSCALL_COMPAT && t->copies)
		(void)snprintf(made, sizeof(made), "syscall32_%llu",
			       (unsigned long long)nr - SYSCALL_COMPAT);
	else if (!name)
		(void)snprintf(made, sizeof(made), "syscall_%llu", (unsigned long long)nr);
	call->name = name ? name : arena_strdup(&t->arena, made);
	if (!call->name)
		return NULL;
	/* rt_sigreturn goes on where the signal came: what is in the register of the result then is no result. */
	call->never_returns = !strcmp(call->name, "exit") || !strcmp(call->name, "exit_group") ||
			      !strcmp(call->name, "rt_sigreturn");
	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		if (!strcmp(results[i].name, call->name))
			call->result = results[i].result;
	if (name && t->copies)
		call->fd_effect = fd_names_effect(name);
	if (!name)
		unknown_args(call);
	else if (read_args(t, call))
		return NULL;
	return call;
}

const struct syscall *syscall_table_at(struct syscall_table *t, u64 nr)
{
	if (nr >= NR_MAX)
		nr = NR_MAX - 1; /* of a damaged recording: no call has such a number */
	if (!t->calls[nr])
		t->calls[nr] = make(t, nr);
	return t->calls[nr];
}

const struct syscall *syscall_table_find(struct syscall_table *t, const char *name, u64 *nr)
{
	for (u32 i = 0; i < syscalls_end(t->abi); i++) {
		const char *n = syscalls_name(t->abi, i);
		if (n && !strcmp(n, name)) {
			*nr = i;
			return syscall_table_at(t, i);
		}
	}
	return NULL;
}

/* ---- sets ------------------------------------------------------------------------------------------------------- */

const char syscall_set_groups[] = "%file, %desc, %network, %process, %memory, %signal";

/* Calls whose arguments do not tell what group they are of. */
static const struct {
	const char *group;
	const char *calls; /* between blanks, with one at either end */
} groups[] = {
	{ "network",
	  " socket socketpair bind listen accept accept4 connect getsockname getpeername sendto "
	  "recvfrom sendmsg recvmsg sendmmsg recvmmsg setsockopt getsockopt shutdown " },
	{ "process",
	  " clone clone3 fork vfork execve execveat exit exit_group wait4 waitid waitpid kill "
	  "tkill "
	  "tgkill pidfd_open pidfd_send_signal pidfd_getfd rt_sigqueueinfo rt_tgsigqueueinfo "
	  "process_mrelease " },
	{ "memory", " mmap mmap2 munmap mremap mprotect pkey_mprotect madvise process_madvise brk "
		    "mlock mlock2 "
		    "munlock mlockall munlockall msync mincore mbind set_mempolicy get_mempolicy "
		    "migrate_pages "
		    "move_pages shmat shmdt remap_file_pages mseal map_shadow_stack "
		    "set_mempolicy_home_node " },
	{ "signal",
	  " kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend "
	  "rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack signalfd signalfd4 pause "
	  "pidfd_send_signal " },
	{ "file", " " },
	{ "desc", " epoll_create epoll_create1 eventfd eventfd2 inotify_init inotify_init1 "
		  "signalfd signalfd4 "
		  "timerfd_create memfd_create memfd_secret pipe pipe2 poll ppoll select pselect6 "
		  "socket socketpair "
		  "userfaultfd io_uring_setup pidfd_open fanotify_init perf_event_open " },
};

static bool in_list(const char *list, const char *name)
{
	char word[NAME_SIZE];
	(void)snprintf(word, sizeof(word), " %s ", name);
	return strstr(list, word);
}

static bool has_arg(const struct syscall *call, enum syscall_arg_kind kind)
{
	for (u32 i = 0; i < call->nr_args; i++)
		if (call->args[i].kind == kind)
			return true;
	return false;
}

/* -1: no such group. */
static int find_group(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (strlen(groups[i].group) == len && !strncmp(groups[i].group, word, len))
			return (int)i;
	return -1;
}

static bool is_in_group(struct syscall_table *t, int g, u32 nr, const char *name)
{
	if (in_list(groups[g].calls, name))
		return true;
	bool file = !strcmp(groups[g].group, "file"), desc = !strcmp(groups[g].group, "desc");
	const struct syscall *call = file || desc ? syscall_table_at(t, nr) : NULL;
	return call && call->nr_args && has_arg(call, file ? SYSCALL_PATH : SYSCALL_FD);
}

bool syscall_set_add(struct syscall_set *s, struct syscall_table *t, const char *word, size_t len)
{
	char text[NAME_SIZE];
	bool found = false;
	bool percent = len && *word == '%';
	int group = find_group(word + percent, len - percent);
	if (!len || len >= sizeof(text) || (percent && group < 0))
		return false;
	memcpy(text, word, len);
	text[len] = '\0';
	for (u32 i = 0; i < syscalls_end(t->abi) && i < NR_MAX; i++) {
		const char *name = syscalls_name(t->abi, i);
		if (!name)
			continue;
		bool fits = group >= 0 ? is_in_group(t, group, i, name)
				       : glob_match(text, name) || !strcmp(kernel_name(name), text);
		if (fits)
			s->has[i] = 1;
		found |= fits;
	}
	s->any |= found;
	return found;
}

void syscall_set_negate(struct syscall_set *s)
{
	s->negated = !s->negated;
	for (u32 i = 0; i < NR_MAX; i++)
		s->has[i] = !s->has[i];
}

void syscall_set_filter(const struct syscall_set *s, struct strbuf *to)
{
	const char *before = "";
	for (u32 i = 0; i < NR_MAX; i++)
		if (s->has[i] != s->negated) {
			strbuf_printf(to, s->negated ? "%sid!=%u" : "%sid==%u", before, i);
			before = s->negated ? "&&" : "||";
		}
}
