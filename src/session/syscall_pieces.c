/*
 * What is copied of the memory that arguments point to: a row for each argument that is more than a path, by the names that the kernel's own
 * list has for calls and arguments. Sizes are those of the kernel's structures, which do not change.
 */
#include "session/syscall_table.h"

#include "bpf/capture.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#define AT_ENTER SYSCALL_AT_ENTER
#define AT_EXIT	 SYSCALL_AT_EXIT
#define FIXED	 SYSCALL_PIECE_FIXED
#define BY_ARG	 SYSCALL_PIECE_BY_ARG
#define BY_RET	 SYSCALL_PIECE_BY_RET
#define SHAPE(x) SYSCALL_SHAPE_##x

enum {
	ITEMS = 8, /* of arrays of structures */
	TIMESPEC = 16,
	SIGSET = 8,
	SIGACTION = 32,
	IOVEC = 16,
	MSGHDR = 56,
	STATX = 256,
	EPOLL = sizeof(struct epoll_event),
	POLL = sizeof(struct pollfd),
	SOCKADDR = sizeof(struct sockaddr_un),
	SOCKADDR_OUT = 28, /* sockaddr_in6; its real length is in memory, too */
	STAT = sizeof(struct stat),
	RLIMIT = 16,
};

struct piece_row {
	const char *call; /* NULL: any that has such an argument */
	const char *arg;
	u8 shape, how, when;
	const char *len_arg; /* of BY_ARG */
	u16 max, unit; /* max 0: as much of a buffer as is shown */
};

/* clang-format off */
static const struct piece_row rows[] = {
	{ "write", "buf", SHAPE(BYTES), BY_ARG, AT_ENTER, "count", 0, 1 },
	{ "pwrite64", "buf", SHAPE(BYTES), BY_ARG, AT_ENTER, "count", 0, 1 },
	{ "sendto", "buff", SHAPE(BYTES), BY_ARG, AT_ENTER, "len", 0, 1 },
	{ "read", "buf", SHAPE(BYTES), BY_RET, AT_EXIT, NULL, 0, 1 },
	{ "pread64", "buf", SHAPE(BYTES), BY_RET, AT_EXIT, NULL, 0, 1 },
	{ "recvfrom", "ubuf", SHAPE(BYTES), BY_RET, AT_EXIT, NULL, 0, 1 },
	{ "getrandom", "ubuf", SHAPE(BYTES), BY_RET, AT_EXIT, NULL, 0, 1 },
	{ "getrandom", "buf", SHAPE(BYTES), BY_RET, AT_EXIT, NULL, 0, 1 },
	{ "readlink", "buf", SHAPE(BYTES), BY_RET, AT_EXIT, NULL, CAPTURE_PIECE_MAX, 1 },
	{ "readlinkat", "buf", SHAPE(BYTES), BY_RET, AT_EXIT, NULL, CAPTURE_PIECE_MAX, 1 },
	{ "getcwd", "buf", SHAPE(STRING), SYSCALL_PIECE_STRING, AT_EXIT, NULL, CAPTURE_PIECE_MAX, 0 },
	{ "mount", "dev_name", SHAPE(STRING), SYSCALL_PIECE_STRING, AT_ENTER, NULL, CAPTURE_PIECE_MAX, 0 },
	{ "mount", "type", SHAPE(STRING), SYSCALL_PIECE_STRING, AT_ENTER, NULL, 64, 0 },
	{ "execve", "argv", SHAPE(STRINGS), SYSCALL_PIECE_STRINGS, AT_ENTER, NULL, 0, 0 },
	{ "execveat", "argv", SHAPE(STRINGS), SYSCALL_PIECE_STRINGS, AT_ENTER, NULL, 0, 0 },

	{ "connect", "uservaddr", SHAPE(SOCKADDR), BY_ARG, AT_ENTER, "addrlen", SOCKADDR, 1 },
	{ "bind", "umyaddr", SHAPE(SOCKADDR), BY_ARG, AT_ENTER, "addrlen", SOCKADDR, 1 },
	{ "sendto", "addr", SHAPE(SOCKADDR), BY_ARG, AT_ENTER, "addr_len", SOCKADDR, 1 },
	{ "accept", "upeer_sockaddr", SHAPE(SOCKADDR), FIXED, AT_EXIT, NULL, SOCKADDR_OUT, 1 },
	{ "accept4", "upeer_sockaddr", SHAPE(SOCKADDR), FIXED, AT_EXIT, NULL, SOCKADDR_OUT, 1 },
	{ "getsockname", "usockaddr", SHAPE(SOCKADDR), FIXED, AT_EXIT, NULL, SOCKADDR_OUT, 1 },
	{ "getpeername", "usockaddr", SHAPE(SOCKADDR), FIXED, AT_EXIT, NULL, SOCKADDR_OUT, 1 },
	{ "recvfrom", "addr", SHAPE(SOCKADDR), FIXED, AT_EXIT, NULL, SOCKADDR_OUT, 1 },
	{ NULL, "vec", SHAPE(IOVEC), BY_ARG, AT_ENTER, "vlen", ITEMS * IOVEC, IOVEC },
	{ "sendmsg", "msg", SHAPE(MSGHDR), FIXED, AT_ENTER, NULL, MSGHDR, 1 },
	{ "recvmsg", "msg", SHAPE(MSGHDR), FIXED, AT_EXIT, NULL, MSGHDR, 1 },

	{ NULL, "rqtp", SHAPE(TIMESPEC), FIXED, AT_ENTER, NULL, TIMESPEC, 1 },
	{ NULL, "tsp", SHAPE(TIMESPEC), FIXED, AT_ENTER, NULL, TIMESPEC, 1 },
	{ NULL, "utime", SHAPE(TIMESPEC), FIXED, AT_ENTER, NULL, TIMESPEC, 1 },
	{ NULL, "uts", SHAPE(TIMESPEC), FIXED, AT_ENTER, NULL, TIMESPEC, 1 },
	{ "epoll_pwait2", "timeout", SHAPE(TIMESPEC), FIXED, AT_ENTER, NULL, TIMESPEC, 1 },
	{ "clock_settime", "tp", SHAPE(TIMESPEC), FIXED, AT_ENTER, NULL, TIMESPEC, 1 },
	{ NULL, "tp", SHAPE(TIMESPEC), FIXED, AT_EXIT, NULL, TIMESPEC, 1 },
	{ "utimensat", "utimes", SHAPE(TIMESPEC), FIXED, AT_ENTER, NULL, 2 * TIMESPEC, 1 },
	{ "timerfd_settime", "utmr", SHAPE(ITIMERSPEC), FIXED, AT_ENTER, NULL, 2 * TIMESPEC, 1 },
	{ "timer_settime", "new_setting", SHAPE(ITIMERSPEC), FIXED, AT_ENTER, NULL, 2 * TIMESPEC, 1 },

	{ NULL, "statbuf", SHAPE(STAT), FIXED, AT_EXIT, NULL, STAT, 1 },
	{ "statx", "buffer", SHAPE(STATX), FIXED, AT_EXIT, NULL, STATX, 1 },
	{ "epoll_ctl", "event", SHAPE(EPOLL), FIXED, AT_ENTER, NULL, EPOLL, 1 },
	{ "epoll_wait", "events", SHAPE(EPOLL), BY_RET, AT_EXIT, NULL, ITEMS * EPOLL, EPOLL },
	{ "epoll_pwait", "events", SHAPE(EPOLL), BY_RET, AT_EXIT, NULL, ITEMS * EPOLL, EPOLL },
	{ "epoll_pwait2", "events", SHAPE(EPOLL), BY_RET, AT_EXIT, NULL, ITEMS * EPOLL, EPOLL },
	{ NULL, "ufds", SHAPE(POLL), BY_ARG, AT_ENTER, "nfds", ITEMS * POLL, POLL },
	{ NULL, "new_rlim", SHAPE(RLIMIT), FIXED, AT_ENTER, NULL, RLIMIT, 1 },
	{ NULL, "old_rlim", SHAPE(RLIMIT), FIXED, AT_EXIT, NULL, RLIMIT, 1 },
	{ "setrlimit", "rlim", SHAPE(RLIMIT), FIXED, AT_ENTER, NULL, RLIMIT, 1 },
	{ "getrlimit", "rlim", SHAPE(RLIMIT), FIXED, AT_EXIT, NULL, RLIMIT, 1 },
	{ "rt_sigprocmask", "nset", SHAPE(SIGSET), FIXED, AT_ENTER, NULL, SIGSET, 1 },
	{ "rt_sigprocmask", "oset", SHAPE(SIGSET), FIXED, AT_EXIT, NULL, SIGSET, 1 },
	{ "rt_sigsuspend", "unewset", SHAPE(SIGSET), FIXED, AT_ENTER, NULL, SIGSET, 1 },
	{ "ppoll", "sigmask", SHAPE(SIGSET), FIXED, AT_ENTER, NULL, SIGSET, 1 },
	{ "epoll_pwait", "sigmask", SHAPE(SIGSET), FIXED, AT_ENTER, NULL, SIGSET, 1 },
	{ "rt_sigaction", "act", SHAPE(SIGACTION), FIXED, AT_ENTER, NULL, SIGACTION, 1 },
	{ "rt_sigaction", "oact", SHAPE(SIGACTION), FIXED, AT_EXIT, NULL, SIGACTION, 1 },
	{ "pipe", "fildes", SHAPE(INTS), FIXED, AT_EXIT, NULL, 2 * sizeof(s32), 1 },
	{ "pipe2", "fildes", SHAPE(INTS), FIXED, AT_EXIT, NULL, 2 * sizeof(s32), 1 },
	{ "socketpair", "usockvec", SHAPE(INTS), FIXED, AT_EXIT, NULL, 2 * sizeof(s32), 1 },
	{ "wait4", "stat_addr", SHAPE(WAIT_STATUS), FIXED, AT_EXIT, NULL, sizeof(s32), 1 },
};
/* clang-format on */

static const struct piece_row *find_row(const struct syscall *call, const struct syscall_arg *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].arg, a->name) &&
		    (!rows[i].call || !strcmp(rows[i].call, call->name)))
			return &rows[i];
	return NULL;
}

static u8 index_of(const struct syscall *call, const char *name)
{
	for (u32 i = 0; i < call->nr_args; i++)
		if (!strcmp(call->args[i].name, name))
			return (u8)i;
	return SYSCALL_ARGS;
}

static void add_piece(struct syscall *call, u8 arg, const struct piece_row *r, u32 buffer_bytes)
{
	bool strings = r->how == SYSCALL_PIECE_STRINGS;
	u32 at = strings ? SYSCALL_PIECES - 1 : call->nr_pieces;
	u8 len_arg = r->how == BY_RET ? SYSCALL_ARGS : r->len_arg ? index_of(call, r->len_arg) : 0;
	if (at >= SYSCALL_PIECES || (r->how == BY_ARG && len_arg == SYSCALL_ARGS))
		return;
	call->pieces[at] = (struct syscall_piece){
		.how = r->how,
		.when = r->when,
		.arg = arg,
		.len_arg = len_arg,
		.max = r->max ? r->max : (u16)min(buffer_bytes, (u32)CAPTURE_PIECE_MAX),
		.unit = r->unit,
	};
	call->shapes[at] = r->shape;
	call->nr_pieces = at + 1;
}

void syscall_pieces_add(struct syscall *call, u32 buffer_bytes)
{
	static const struct piece_row path = { .shape = SYSCALL_SHAPE_STRING,
					       .how = SYSCALL_PIECE_STRING,
					       .when = SYSCALL_AT_ENTER,
					       .max = CAPTURE_PIECE_MAX };
	for (u32 i = 0; i < call->nr_args; i++) {
		const struct syscall_arg *a = &call->args[i];
		const struct piece_row *r = a->kind == SYSCALL_PATH ? &path : find_row(call, a);
		if (r && (a->kind == SYSCALL_POINTER || a->kind == SYSCALL_PATH))
			add_piece(call, (u8)i, r, buffer_bytes);
	}
}
