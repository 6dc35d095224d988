#include "view/syscall_words.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct syscall_word {
	u64 value;
	const char *name;
	u64 mask; /* 0: the value itself; else what of the argument is compared */
};

struct syscall_words {
	const struct syscall_word *at;
	u32 nr;
	bool flags; /* several at a time */
	bool zero; /* an argument of 0 is shown */
	bool hex; /* others as hexadecimal numbers */
};

#define WORDS(name, ...)                                                                           \
	static const struct syscall_words name##_words = { .at = name##_list,                      \
							   .nr = ARRAY_SIZE(name##_list),          \
							   ##__VA_ARGS__ }

/* clang-format off */
static const struct syscall_word open_list[] = {
	{ O_RDONLY, "RDONLY", O_ACCMODE }, { O_WRONLY, "WRONLY", O_ACCMODE }, { O_RDWR, "RDWR", O_ACCMODE },
	{ O_CREAT, "CREAT" }, { O_EXCL, "EXCL" }, { O_NOCTTY, "NOCTTY" }, { O_TRUNC, "TRUNC" },
	{ O_APPEND, "APPEND" }, { O_NONBLOCK, "NONBLOCK" }, { O_TMPFILE, "TMPFILE" }, { O_DIRECTORY, "DIRECTORY" },
	{ O_SYNC, "SYNC" }, { O_DSYNC, "DSYNC" }, { O_ASYNC, "ASYNC" }, { O_DIRECT, "DIRECT" }, { 0100000, "LARGEFILE" },
	{ O_NOFOLLOW, "NOFOLLOW" }, { O_NOATIME, "NOATIME" }, { O_CLOEXEC, "CLOEXEC" }, { O_PATH, "PATH" },
};
WORDS(open, .flags = true, .zero = true);
static const struct syscall_word dfd_list[] = { { (u32)AT_FDCWD, "CWD" } };
WORDS(dfd, .zero = true);
static const struct syscall_word at_list[] = {
	{ AT_SYMLINK_NOFOLLOW, "SYMLINK_NOFOLLOW" }, { AT_REMOVEDIR, "REMOVEDIR" }, { AT_SYMLINK_FOLLOW, "SYMLINK_FOLLOW" },
	{ AT_NO_AUTOMOUNT, "NO_AUTOMOUNT" }, { AT_EMPTY_PATH, "EMPTY_PATH" },
};
WORDS(at, .flags = true);
static const struct syscall_word access_list[] = { { R_OK, "R" }, { W_OK, "W" }, { X_OK, "X" } };
WORDS(access, .flags = true, .zero = true);
static const struct syscall_word prot_list[] = {
	{ PROT_READ, "READ" }, { PROT_WRITE, "WRITE" }, { PROT_EXEC, "EXEC" }, { 8, "SEM" },
	{ PROT_GROWSDOWN, "GROWSDOWN" }, { PROT_GROWSUP, "GROWSUP" },
};
WORDS(prot, .flags = true, .zero = true);
static const struct syscall_word map_list[] = {
	{ MAP_SHARED, "SHARED", 3 }, { MAP_PRIVATE, "PRIVATE", 3 }, { 3, "SHARED_VALIDATE", 3 }, { MAP_FIXED, "FIXED" },
	{ MAP_ANONYMOUS, "ANONYMOUS" }, { 0x40, "32BIT" }, { MAP_NORESERVE, "NORESERVE" }, { MAP_GROWSDOWN, "GROWSDOWN" },
	{ MAP_DENYWRITE, "DENYWRITE" }, { MAP_EXECUTABLE, "EXECUTABLE" }, { MAP_LOCKED, "LOCKED" },
	{ MAP_POPULATE, "POPULATE" }, { MAP_NONBLOCK, "NONBLOCK" }, { MAP_STACK, "STACK" }, { MAP_HUGETLB, "HUGETLB" },
	{ 0x80000, "SYNC" }, { 0x100000, "FIXED_NOREPLACE" },
};
WORDS(map, .flags = true);
static const struct syscall_word mremap_list[] = { { MREMAP_MAYMOVE, "MAYMOVE" }, { MREMAP_FIXED, "FIXED" }, { 4, "DONTUNMAP" } };
WORDS(mremap, .flags = true);
static const struct syscall_word msync_list[] = { { MS_ASYNC, "ASYNC" }, { MS_INVALIDATE, "INVALIDATE" }, { MS_SYNC, "SYNC" } };
WORDS(msync, .flags = true);
static const struct syscall_word madvise_list[] = {
	{ 0, "NORMAL" }, { 1, "RANDOM" }, { 2, "SEQUENTIAL" }, { 3, "WILLNEED" }, { 4, "DONTNEED" }, { 8, "FREE" },
	{ 9, "REMOVE" }, { 10, "DONTFORK" }, { 11, "DOFORK" }, { 12, "MERGEABLE" }, { 13, "UNMERGEABLE" },
	{ 14, "HUGEPAGE" }, { 15, "NOHUGEPAGE" }, { 16, "DONTDUMP" }, { 17, "DODUMP" }, { 18, "WIPEONFORK" },
	{ 19, "KEEPONFORK" }, { 20, "COLD" }, { 21, "PAGEOUT" }, { 22, "POPULATE_READ" }, { 23, "POPULATE_WRITE" },
	{ 24, "DONTNEED_LOCKED" }, { 25, "COLLAPSE" }, { 100, "HWPOISON" }, { 101, "SOFT_OFFLINE" },
};
WORDS(madvise, .zero = true);
static const struct syscall_word whence_list[] = { { 0, "SET" }, { 1, "CUR" }, { 2, "END" }, { 3, "DATA" }, { 4, "HOLE" } };
WORDS(whence, .zero = true);
static const struct syscall_word fcntl_list[] = {
	{ F_DUPFD, "DUPFD" }, { F_GETFD, "GETFD" }, { F_SETFD, "SETFD" }, { F_GETFL, "GETFL" }, { F_SETFL, "SETFL" },
	{ F_GETLK, "GETLK" }, { F_SETLK, "SETLK" }, { F_SETLKW, "SETLKW" }, { F_SETOWN, "SETOWN" },
	{ F_GETOWN, "GETOWN" }, { 10, "SETSIG" }, { 11, "GETSIG" }, { 15, "SETOWN_EX" }, { 16, "GETOWN_EX" },
	{ 36, "OFD_GETLK" }, { 37, "OFD_SETLK" }, { 38, "OFD_SETLKW" }, { 1024, "SETLEASE" }, { 1025, "GETLEASE" },
	{ 1026, "NOTIFY" }, { 1030, "DUPFD_CLOEXEC" }, { 1031, "SETPIPE_SZ" }, { 1032, "GETPIPE_SZ" },
	{ 1033, "ADD_SEALS" }, { 1034, "GET_SEALS" },
};
WORDS(fcntl, .zero = true);
static const struct syscall_word ioctl_list[] = {
	{ 0x5401, "TCGETS" }, { 0x5402, "TCSETS" }, { 0x5403, "TCSETSW" }, { 0x5404, "TCSETSF" }, { 0x540f, "TIOCGPGRP" },
	{ 0x5410, "TIOCSPGRP" }, { 0x5413, "TIOCGWINSZ" }, { 0x5414, "TIOCSWINSZ" }, { 0x541b, "FIONREAD" },
	{ 0x5421, "FIONBIO" }, { 0x5429, "TIOCGSID" }, { 0x5430, "TIOCGPTN" }, { 0x5450, "FIONCLEX" }, { 0x5451, "FIOCLEX" },
	{ 0x2400, "PERF_ENABLE" }, { 0x2401, "PERF_DISABLE" }, { 0x40049409, "FICLONE" },
};
WORDS(ioctl, .hex = true);
static const struct syscall_word flock_list[] = { { 1, "SH" }, { 2, "EX" }, { 4, "NB" }, { 8, "UN" } };
WORDS(flock, .flags = true);
static const struct syscall_word futex_list[] = {
	{ FUTEX_WAIT, "WAIT", 127 }, { FUTEX_WAKE, "WAKE", 127 }, { FUTEX_FD, "FD", 127 }, { FUTEX_REQUEUE, "REQUEUE", 127 },
	{ FUTEX_CMP_REQUEUE, "CMP_REQUEUE", 127 }, { FUTEX_WAKE_OP, "WAKE_OP", 127 }, { FUTEX_LOCK_PI, "LOCK_PI", 127 },
	{ FUTEX_UNLOCK_PI, "UNLOCK_PI", 127 }, { FUTEX_TRYLOCK_PI, "TRYLOCK_PI", 127 },
	{ FUTEX_WAIT_BITSET, "WAIT_BITSET", 127 }, { FUTEX_WAKE_BITSET, "WAKE_BITSET", 127 },
	{ FUTEX_WAIT_REQUEUE_PI, "WAIT_REQUEUE_PI", 127 }, { FUTEX_CMP_REQUEUE_PI, "CMP_REQUEUE_PI", 127 },
	{ 13, "LOCK_PI2", 127 }, { FUTEX_PRIVATE_FLAG, "PRIVATE_FLAG" }, { FUTEX_CLOCK_REALTIME, "CLOCK_REALTIME" },
};
WORDS(futex, .flags = true, .zero = true);
static const struct syscall_word signal_list[] = {
	{ 1, "HUP" }, { 2, "INT" }, { 3, "QUIT" }, { 4, "ILL" }, { 5, "TRAP" }, { 6, "ABRT" }, { 7, "BUS" }, { 8, "FPE" },
	{ 9, "KILL" }, { 10, "USR1" }, { 11, "SEGV" }, { 12, "USR2" }, { 13, "PIPE" }, { 14, "ALRM" }, { 15, "TERM" },
	{ 16, "STKFLT" }, { 17, "CHLD" }, { 18, "CONT" }, { 19, "STOP" }, { 20, "TSTP" }, { 21, "TTIN" }, { 22, "TTOU" },
	{ 23, "URG" }, { 24, "XCPU" }, { 25, "XFSZ" }, { 26, "VTALRM" }, { 27, "PROF" }, { 28, "WINCH" }, { 29, "IO" },
	{ 30, "PWR" }, { 31, "SYS" }, { 32, "RTMIN" }, { 33, "RT_1" }, { 34, "RT_2" },
};
WORDS(signal);
static const struct syscall_word how_list[] = { { SIG_BLOCK, "BLOCK" }, { SIG_UNBLOCK, "UNBLOCK" }, { SIG_SETMASK, "SETMASK" } };
WORDS(how, .zero = true);
static const struct syscall_word family_list[] = {
	{ 0, "UNSPEC" }, { 1, "LOCAL" }, { 2, "INET" }, { 10, "INET6" }, { 15, "KEY" }, { 16, "NETLINK" }, { 17, "PACKET" },
	{ 29, "CAN" }, { 30, "TIPC" }, { 31, "BLUETOOTH" }, { 38, "ALG" }, { 40, "VSOCK" }, { 44, "XDP" },
};
WORDS(family, .zero = true);
static const struct syscall_word sock_list[] = {
	{ SOCK_STREAM, "STREAM", 15 }, { SOCK_DGRAM, "DGRAM", 15 }, { SOCK_RAW, "RAW", 15 }, { SOCK_RDM, "RDM", 15 },
	{ SOCK_SEQPACKET, "SEQPACKET", 15 }, { SOCK_DCCP, "DCCP", 15 }, { SOCK_PACKET, "PACKET", 15 },
	{ SOCK_CLOEXEC, "CLOEXEC" }, { SOCK_NONBLOCK, "NONBLOCK" },
};
WORDS(sock, .flags = true);
static const struct syscall_word msg_list[] = {
	{ MSG_OOB, "OOB" }, { MSG_PEEK, "PEEK" }, { MSG_DONTROUTE, "DONTROUTE" }, { MSG_CTRUNC, "CTRUNC" },
	{ MSG_TRUNC, "TRUNC" }, { MSG_DONTWAIT, "DONTWAIT" }, { MSG_EOR, "EOR" }, { MSG_WAITALL, "WAITALL" },
	{ MSG_CONFIRM, "CONFIRM" }, { MSG_ERRQUEUE, "ERRQUEUE" }, { MSG_NOSIGNAL, "NOSIGNAL" }, { MSG_MORE, "MORE" },
	{ MSG_WAITFORONE, "WAITFORONE" }, { MSG_ZEROCOPY, "ZEROCOPY" }, { MSG_FASTOPEN, "FASTOPEN" },
	{ MSG_CMSG_CLOEXEC, "CMSG_CLOEXEC" },
};
WORDS(msg, .flags = true);
static const struct syscall_word shut_list[] = { { 0, "RD" }, { 1, "WR" }, { 2, "RDWR" } };
WORDS(shut, .zero = true);
static const struct syscall_word level_list[] = { { SOL_SOCKET, "SOCKET" }, { 0, "IP" }, { 6, "TCP" }, { 17, "UDP" }, { 41, "IPV6" } };
WORDS(level, .zero = true);
static const struct syscall_word epoll_op_list[] = { { 1, "ADD" }, { 2, "DEL" }, { 3, "MOD" } };
WORDS(epoll_op);
static const struct syscall_word cloexec_list[] = { { O_CLOEXEC, "CLOEXEC" }, { O_NONBLOCK, "NONBLOCK" } };
WORDS(cloexec, .flags = true);
static const struct syscall_word clone_list[] = {
	{ CLONE_VM, "VM" }, { CLONE_FS, "FS" }, { CLONE_FILES, "FILES" }, { CLONE_SIGHAND, "SIGHAND" },
	{ CLONE_PIDFD, "PIDFD" }, { CLONE_PTRACE, "PTRACE" }, { CLONE_VFORK, "VFORK" }, { CLONE_PARENT, "PARENT" },
	{ CLONE_THREAD, "THREAD" }, { CLONE_NEWNS, "NEWNS" }, { CLONE_SYSVSEM, "SYSVSEM" }, { CLONE_SETTLS, "SETTLS" },
	{ CLONE_PARENT_SETTID, "PARENT_SETTID" }, { CLONE_CHILD_CLEARTID, "CHILD_CLEARTID" },
	{ CLONE_UNTRACED, "UNTRACED" }, { CLONE_CHILD_SETTID, "CHILD_SETTID" }, { CLONE_NEWCGROUP, "NEWCGROUP" },
	{ CLONE_NEWUTS, "NEWUTS" }, { CLONE_NEWIPC, "NEWIPC" }, { CLONE_NEWUSER, "NEWUSER" }, { CLONE_NEWPID, "NEWPID" },
	{ CLONE_NEWNET, "NEWNET" }, { CLONE_IO, "IO" },
	{ SIGCHLD, "SIGCHLD", 255 },
};
WORDS(clone, .flags = true);
static const struct syscall_word clock_list[] = {
	{ 0, "REALTIME" }, { 1, "MONOTONIC" }, { 2, "PROCESS_CPUTIME_ID" }, { 3, "THREAD_CPUTIME_ID" },
	{ 4, "MONOTONIC_RAW" }, { 5, "REALTIME_COARSE" }, { 6, "MONOTONIC_COARSE" }, { 7, "BOOTTIME" },
	{ 8, "REALTIME_ALARM" }, { 9, "BOOTTIME_ALARM" }, { 11, "TAI" },
};
WORDS(clock, .zero = true);
static const struct syscall_word rlimit_list[] = {
	{ 0, "CPU" }, { 1, "FSIZE" }, { 2, "DATA" }, { 3, "STACK" }, { 4, "CORE" }, { 5, "RSS" }, { 6, "NPROC" },
	{ 7, "NOFILE" }, { 8, "MEMLOCK" }, { 9, "AS" }, { 10, "LOCKS" }, { 11, "SIGPENDING" }, { 12, "MSGQUEUE" },
	{ 13, "NICE" }, { 14, "RTPRIO" }, { 15, "RTTIME" },
};
WORDS(rlimit, .zero = true);
static const struct syscall_word rusage_list[] = { { 0, "SELF" }, { (u32)-1, "CHILDREN" }, { 1, "THREAD" } };
WORDS(rusage, .zero = true);
static const struct syscall_word itimer_list[] = { { 0, "REAL" }, { 1, "VIRTUAL" }, { 2, "PROF" } };
WORDS(itimer, .zero = true);
static const struct syscall_word wait_list[] = {
	{ WNOHANG, "NOHANG" }, { WUNTRACED, "UNTRACED" }, { WEXITED, "EXITED" }, { WCONTINUED, "CONTINUED" },
	{ WNOWAIT, "NOWAIT" }, { 0x20000000, "NOTHREAD" }, { 0x40000000, "ALL" }, { 0x80000000, "CLONE" },
};
WORDS(wait, .flags = true);
static const struct syscall_word prctl_list[] = {
	{ 1, "SET_PDEATHSIG" }, { 2, "GET_PDEATHSIG" }, { 3, "GET_DUMPABLE" }, { 4, "SET_DUMPABLE" }, { 7, "GET_KEEPCAPS" },
	{ 8, "SET_KEEPCAPS" }, { 15, "SET_NAME" }, { 16, "GET_NAME" }, { 21, "GET_SECCOMP" }, { 22, "SET_SECCOMP" },
	{ 23, "CAPBSET_READ" }, { 24, "CAPBSET_DROP" }, { 29, "SET_TIMERSLACK" }, { 30, "GET_TIMERSLACK" },
	{ 35, "SET_MM" }, { 36, "SET_CHILD_SUBREAPER" }, { 37, "GET_CHILD_SUBREAPER" }, { 38, "SET_NO_NEW_PRIVS" },
	{ 39, "GET_NO_NEW_PRIVS" }, { 41, "SET_THP_DISABLE" }, { 42, "GET_THP_DISABLE" }, { 47, "CAP_AMBIENT" },
	{ 0x53564d41, "SET_VMA" }, { 0x59616d61, "SET_PTRACER" },
};
WORDS(prctl);
static const struct syscall_word arch_prctl_list[] = {
	{ 0x1001, "SET_GS" }, { 0x1002, "SET_FS" }, { 0x1003, "GET_FS" }, { 0x1004, "GET_GS" }, { 0x1011, "GET_CPUID" },
	{ 0x1012, "SET_CPUID" },
};
WORDS(arch_prctl);
static const struct syscall_word rename_list[] = { { 1, "NOREPLACE" }, { 2, "EXCHANGE" }, { 4, "WHITEOUT" } };
WORDS(rename, .flags = true);
static const struct syscall_word random_list[] = { { GRND_NONBLOCK, "NONBLOCK" }, { GRND_RANDOM, "RANDOM" } };
WORDS(random, .flags = true);
static const struct syscall_word memfd_list[] = { { 1, "CLOEXEC" }, { 2, "ALLOW_SEALING" }, { 4, "HUGETLB" } };
WORDS(memfd, .flags = true);
static const struct syscall_word timer_list[] = { { 1, "ABSTIME" } };
WORDS(timer, .flags = true);

/* NULL for the call: of any call that has an argument of this name. */
static const struct {
	const char *call, *arg;
	const struct syscall_words *words;
} uses[] = {
	{ "open", "flags", &open_words }, { "openat", "flags", &open_words }, { "open_by_handle_at", "flags", &open_words },
	{ "faccessat2", "flags", &at_words }, { "fchownat", "flag", &at_words }, { "newfstatat", "flag", &at_words }, { "statx", "flags", &at_words },
	{ "unlinkat", "flag", &at_words }, { "linkat", "flags", &at_words }, { "utimensat", "flags", &at_words }, { "execveat", "flags", &at_words },
	{ "access", "mode", &access_words }, { "faccessat", "mode", &access_words }, { "faccessat2", "mode", &access_words },
	{ "mmap", "flags", &map_words }, { "mmap_pgoff", "flags", &map_words }, { NULL, "prot", &prot_words }, { "mremap", "flags", &mremap_words },
	{ "msync", "flags", &msync_words }, { "madvise", "behavior", &madvise_words }, { "process_madvise", "behavior", &madvise_words },
	{ "lseek", "whence", &whence_words }, { "fcntl", "cmd", &fcntl_words }, { "ioctl", "cmd", &ioctl_words }, { "flock", "cmd", &flock_words }, { "futex", "op", &futex_words },
	{ NULL, "sig", &signal_words }, { "rt_sigprocmask", "how", &how_words },
	{ "socket", "family", &family_words }, { "socketpair", "family", &family_words },
	{ "socket", "type", &sock_words }, { "socketpair", "type", &sock_words }, { "shutdown", "how", &shut_words },
	{ "getsockopt", "level", &level_words }, { "setsockopt", "level", &level_words },
	{ "sendto", "flags", &msg_words }, { "recvfrom", "flags", &msg_words }, { "sendmsg", "flags", &msg_words }, { "recvmsg", "flags", &msg_words },
	{ "sendmmsg", "flags", &msg_words }, { "recvmmsg", "flags", &msg_words },
	{ "accept4", "flags", &cloexec_words }, { "pipe2", "flags", &cloexec_words }, { "dup3", "flags", &cloexec_words },
	{ "epoll_create1", "flags", &cloexec_words }, { "eventfd2", "flags", &cloexec_words }, { "inotify_init1", "flags", &cloexec_words },
	{ "signalfd4", "flags", &cloexec_words }, { "timerfd_create", "flags", &cloexec_words }, { "epoll_ctl", "op", &epoll_op_words },
	{ "clone", "clone_flags", &clone_words }, { "unshare", "unshare_flags", &clone_words }, { "setns", "flags", &clone_words },
	{ NULL, "which_clock", &clock_words }, { "timerfd_create", "clockid", &clock_words },
	{ "clock_nanosleep", "flags", &timer_words }, { "timerfd_settime", "flags", &timer_words },
	{ NULL, "resource", &rlimit_words }, { "getrusage", "who", &rusage_words }, { "getitimer", "which", &itimer_words },
	{ "setitimer", "which", &itimer_words }, { "wait4", "options", &wait_words }, { "waitid", "options", &wait_words },
	{ "prctl", "option", &prctl_words }, { "arch_prctl", "option", &arch_prctl_words }, { "renameat2", "flags", &rename_words },
	{ "getrandom", "flags", &random_words }, { "memfd_create", "flags", &memfd_words },
	{ NULL, "dfd", &dfd_words }, { NULL, "olddfd", &dfd_words }, { NULL, "newdfd", &dfd_words },
};

/* Of the kernel's include/uapi/asm-generic/errno*.h, and those that it keeps to itself: a call is begun again. */
static const char *const errnos[] = {
	[1] = "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD", "EAGAIN", "ENOMEM",
	"EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR", "EINVAL", "ENFILE", "EMFILE",
	"ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE", "EDEADLK",
	"ENAMETOOLONG", "ENOLCK", "ENOSYS", "ENOTEMPTY", "ELOOP",
	[42] = "ENOMSG", "EIDRM", "ECHRNG", "EL2NSYNC", "EL3HLT", "EL3RST", "ELNRNG", "EUNATCH", "ENOCSI", "EL2HLT", "EBADE",
	"EBADR", "EXFULL", "ENOANO", "EBADRQC", "EBADSLT",
	[59] = "EBFONT", "ENOSTR", "ENODATA", "ETIME", "ENOSR", "ENONET", "ENOPKG", "EREMOTE", "ENOLINK", "EADV", "ESRMNT",
	"ECOMM", "EPROTO", "EMULTIHOP", "EDOTDOT", "EBADMSG", "EOVERFLOW", "ENOTUNIQ", "EBADFD", "EREMCHG", "ELIBACC",
	"ELIBBAD", "ELIBSCN", "ELIBMAX", "ELIBEXEC", "EILSEQ", "ERESTART", "ESTRPIPE", "EUSERS", "ENOTSOCK", "EDESTADDRREQ",
	"EMSGSIZE", "EPROTOTYPE", "ENOPROTOOPT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EOPNOTSUPP", "EPFNOSUPPORT",
	"EAFNOSUPPORT", "EADDRINUSE", "EADDRNOTAVAIL", "ENETDOWN", "ENETUNREACH", "ENETRESET", "ECONNABORTED", "ECONNRESET",
	"ENOBUFS", "EISCONN", "ENOTCONN", "ESHUTDOWN", "ETOOMANYREFS", "ETIMEDOUT", "ECONNREFUSED", "EHOSTDOWN",
	"EHOSTUNREACH", "EALREADY", "EINPROGRESS", "ESTALE", "EUCLEAN", "ENOTNAM", "ENAVAIL", "EISNAM", "EREMOTEIO", "EDQUOT",
	"ENOMEDIUM", "EMEDIUMTYPE", "ECANCELED", "ENOKEY", "EKEYEXPIRED", "EKEYREVOKED", "EKEYREJECTED", "EOWNERDEAD",
	"ENOTRECOVERABLE", "ERFKILL", "EHWPOISON",
	[512] = "ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND", "ENOIOCTLCMD", "ERESTART_RESTARTBLOCK", "EPROBE_DEFER",
	"EOPENSTALE", "ENOPARAM",
};
/* clang-format on */

const struct syscall_words *syscall_words_find(const char *call, const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(uses); i++)
		if (!strcmp(uses[i].arg, arg) && (!uses[i].call || !strcmp(uses[i].call, call)))
			return uses[i].words;
	return NULL;
}

bool syscall_words_zero(const struct syscall_words *w)
{
	return w->zero;
}

static void print_number(u64 value, struct strbuf *to)
{
	strbuf_str(to, "0x");
	strbuf_hex(to, value);
}

static void print_flags(const struct syscall_words *w, u64 value, struct strbuf *to)
{
	const char *before = "";
	u64 left = value;
	for (u32 i = 0; i < w->nr; i++) {
		const struct syscall_word *x = &w->at[i];
		u64 mask = x->mask ? x->mask : x->value;
		if ((value & mask) != x->value || (!x->mask && (left & x->value) != x->value))
			continue;
		strbuf_str(to, before);
		strbuf_str(to, x->name);
		before = "|";
		left &= ~mask;
	}
	if (left) {
		strbuf_str(to, before);
		print_number(left, to);
	} else if (!*before) {
		strbuf_char(to, '0');
	}
}

void syscall_words_print(const struct syscall_words *w, u64 value, struct strbuf *to)
{
	if (w->flags) {
		print_flags(w, value, to);
		return;
	}
	for (u32 i = 0; i < w->nr; i++)
		if (w->at[i].value == value) {
			strbuf_str(to, w->at[i].name);
			return;
		}
	if (w->hex)
		print_number(value, to);
	else
		strbuf_s64(to, (s32)value);
}

bool syscall_words_value(const struct syscall_words *w, const char *name, u64 *ret)
{
	const char *bare = strchr(name, '_');
	for (u32 i = 0; i < w->nr; i++)
		if (!strcmp(w->at[i].name, name) || (bare && !strcmp(w->at[i].name, bare + 1))) {
			*ret = w->at[i].value;
			return true;
		}
	return false;
}

int syscall_errno_value(const char *name)
{
	for (size_t i = 1; i < ARRAY_SIZE(errnos); i++)
		if (errnos[i] && !strcmp(errnos[i], name))
			return (int)i;
	return 0;
}

const char *syscall_errno_name(int err)
{
	return err > 0 && err < (int)ARRAY_SIZE(errnos) ? errnos[err] : NULL;
}
