#include "view/syscall_data.h"

#include "base/bytes.h"
#include "base/printable.h"
#include "view/syscall_words.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/stat.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

/* ---- pieces ----------------------------------------------------------------------------------------------------- */

int syscall_data_find(const struct syscall_thread *c, u32 arg, bool exit_only)
{
	for (u32 i = 0; i < c->call->nr_pieces; i++) {
		const struct syscall_piece *p = &c->call->pieces[i];
		if (p->how && p->arg == arg && c->data.len[i] > 0 &&
		    (!exit_only || p->when & SYSCALL_AT_EXIT))
			return (int)i;
	}
	return -1;
}

const char *syscall_data_string(const struct syscall_thread *c, u32 piece, size_t *len)
{
	const char *text = (const char *)c->data.bytes + c->data.at[piece];
	u8 shape = c->call->shapes[piece];
	if (shape == SYSCALL_SHAPE_STRING)
		*len = strnlen(text, (size_t)c->data.len[piece]);
	else if (shape == SYSCALL_SHAPE_BYTES)
		*len = (size_t)c->data.len[piece];
	else
		return NULL;
	return text;
}

/* ---- strings ---------------------------------------------------------------------------------------------------- */

/* How many bytes a character of UTF-8 has that prints; 0: it is none. */
static size_t printing(const u8 *at, size_t left)
{
	size_t n = *at < 0x80		       ? 1
		   : *at >= 0xc2 && *at < 0xe0 ? 2
		   : *at >= 0xe0 && *at < 0xf0 ? 3
					       : 0;
	u32 c = n == 1 ? *at : *at & (0x7fu >> n);
	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (at[i] & 0x3f);
	}
	bool overlong = n == 3 && c < 0x800;
	bool surrogate = c >= 0xd800 && c < 0xe000;
	return overlong || surrogate || printable_obeyed(c) ? 0 : n;
}

static void add_escape(u8 c, bool digit_follows, struct strbuf *to)
{
	static const char names[] = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\";
	for (size_t i = 0; i + 1 < sizeof(names); i += 2)
		if ((u8)names[i] == c) {
			strbuf_char(to, '\\');
			strbuf_char(to, names[i + 1]);
			return;
		}
	strbuf_printf(to, digit_follows ? "\\%03o" : "\\%o", c);
}

void syscall_data_quote(const char *text, size_t len, bool cut, struct strbuf *to)
{
	const u8 *at = (const u8 *)text;
	strbuf_char(to, '"');
	for (size_t i = 0; i < len;) {
		size_t n = at[i] == '"' || at[i] == '\\' ? 0 : printing(at + i, len - i);
		if (n) {
			strbuf_add(to, at + i, n);
			i += n;
			continue;
		}
		add_escape(at[i], i + 1 < len && at[i + 1] >= '0' && at[i + 1] <= '9', to);
		i++;
	}
	strbuf_char(to, '"');
	if (cut)
		strbuf_str(to, "...");
}

static void add_strings(const u8 *at, size_t len, struct strbuf *to)
{
	enum { STRING_MAX = 255 };
	u32 nr = 0;
	bool cut = false;
	strbuf_char(to, '[');
	for (size_t i = 0; i < len && nr < SYSCALL_STRINGS; nr++) {
		size_t n = strnlen((const char *)at + i, len - i);
		if (nr)
			strbuf_str(to, ", ");
		syscall_data_quote((const char *)at + i, n, n >= STRING_MAX, to);
		i += n + 1;
		cut = i < len;
	}
	strbuf_str(to, cut ? ", ...]" : "]");
}

/* ---- structures ------------------------------------------------------------------------------------------------- */

static void add_timespec(struct bytes *b, struct strbuf *to)
{
	s64 sec = (s64)bytes_u64(b), nsec = (s64)bytes_u64(b);
	strbuf_printf(to, "{ .tv_sec: %lld, .tv_nsec: %lld }", (long long)sec, (long long)nsec);
}

static void add_unix_path(struct bytes *b, struct strbuf *to)
{
	const char *path = (const char *)b->at;
	size_t len = bytes_left(b);
	/* An abstract name begins with a NUL, and ends where the address does; nothing but NULs is no name. */
	while (len && !path[len - 1])
		len--;
	if (!len)
		return;
	strbuf_str(to, *path ? ", path: " : ", path: @");
	if (*path)
		syscall_data_quote(path, strnlen(path, len), false, to);
	else
		syscall_data_quote(path + 1, len - 1, false, to);
}

static void add_sockaddr(struct bytes *b, struct strbuf *to)
{
	const struct syscall_words *families = syscall_words_find("socket", "family");
	char text[INET6_ADDRSTRLEN];
	u16 family = bytes_u16(b);
	strbuf_str(to, "{ .family: ");
	syscall_words_print(families, family, to);
	if (family == AF_UNIX) {
		add_unix_path(b, to);
	} else if (family == AF_INET) {
		u16 port = ntohs(bytes_u16(b));
		const void *addr = bytes_take(b, sizeof(struct in_addr));
		if (addr && inet_ntop(AF_INET, addr, text, sizeof(text)))
			strbuf_printf(to, ", port: %u, addr: %s", port, text);
	} else if (family == AF_INET6) {
		u16 port = ntohs(bytes_u16(b));
		bytes_skip(b, sizeof(u32)); /* flow */
		const void *addr = bytes_take(b, sizeof(struct in6_addr));
		u32 scope = bytes_u32(b);
		if (addr && inet_ntop(AF_INET6, addr, text, sizeof(text)))
			strbuf_printf(to, ", port: %u, addr: %s", port, text);
		if (scope && !b->bad)
			strbuf_printf(to, ", scope: %u", scope);
	} else if (family == AF_NETLINK) {
		bytes_skip(b, sizeof(u16));
		u32 pid = bytes_u32(b), groups = bytes_u32(b);
		if (!b->bad)
			strbuf_printf(to, ", pid: %u, groups: %#x", pid, groups);
	}
	strbuf_str(to, " }");
}

static void add_mode(u32 mode, struct strbuf *to)
{
	static const struct {
		u32 type;
		const char *name;
	} types[] = { { S_IFREG, "REG" },  { S_IFDIR, "DIR" }, { S_IFCHR, "CHR" },
		      { S_IFBLK, "BLK" },  { S_IFLNK, "LNK" }, { S_IFIFO, "FIFO" },
		      { S_IFSOCK, "SOCK" } };
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((mode & S_IFMT) == types[i].type)
			strbuf_printf(to, "%s|", types[i].name);
	strbuf_printf(to, "%#o", mode & ~(u32)S_IFMT);
}

static void add_stat(struct bytes *b, struct strbuf *to)
{
	struct stat st;
	const void *p = bytes_take(b, sizeof(st));
	if (!p)
		return;
	memcpy(&st, p, sizeof(st));
	strbuf_str(to, "{ .st_mode: ");
	add_mode(st.st_mode, to);
	strbuf_printf(to, ", .st_size: %lld }", (long long)st.st_size);
}

static void add_statx(struct bytes *b, struct strbuf *to)
{
	const u8 *p = bytes_take(b, sizeof(struct statx));
	struct statx st;
	if (!p)
		return;
	memcpy(&st, p, sizeof(st));
	strbuf_str(to, "{ .stx_mode: ");
	add_mode(st.stx_mode, to);
	strbuf_printf(to, ", .stx_size: %llu }", (unsigned long long)st.stx_size);
}

static void add_iovec(struct bytes *b, struct strbuf *to)
{
	bytes_skip(b, sizeof(u64));
	strbuf_printf(to, "{ .iov_len: %llu }", (unsigned long long)bytes_u64(b));
}

/* struct user_msghdr: name, its length, vectors and their number, control and its length, flags. */
static void add_msghdr(struct bytes *b, struct strbuf *to)
{
	bytes_skip(b, sizeof(u64));
	u32 name_len = bytes_u32(b);
	bytes_skip(b, sizeof(u32) + sizeof(u64));
	u64 nr = bytes_u64(b);
	bytes_skip(b, sizeof(u64));
	u64 control_len = bytes_u64(b);
	u32 flags = bytes_u32(b);
	strbuf_printf(to, "{ .msg_namelen: %u, .msg_iovlen: %llu, .msg_controllen: %llu", name_len,
		      (unsigned long long)nr, (unsigned long long)control_len);
	if (flags) {
		strbuf_str(to, ", .msg_flags: ");
		syscall_words_print(syscall_words_find("sendmsg", "flags"), flags, to);
	}
	strbuf_str(to, " }");
}

static void add_ready(u32 bits, struct strbuf *to)
{
	static const struct {
		u32 bit;
		const char *name;
	} names[] = { { EPOLLIN, "IN" },	 { EPOLLPRI, "PRI" },
		      { EPOLLOUT, "OUT" },	 { EPOLLERR, "ERR" },
		      { EPOLLHUP, "HUP" },	 { 0x20, "NVAL" },
		      { EPOLLRDNORM, "RDNORM" }, { EPOLLRDBAND, "RDBAND" },
		      { EPOLLWRNORM, "WRNORM" }, { EPOLLWRBAND, "WRBAND" },
		      { EPOLLMSG, "MSG" },	 { EPOLLRDHUP, "RDHUP" },
		      { 1u << 28, "EXCLUSIVE" }, { 1u << 29, "WAKEUP" },
		      { 1u << 30, "ONESHOT" },	 { 1u << 31, "ET" } };
	const char *before = "";
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bits & names[i].bit) {
			strbuf_printf(to, "%s%s", before, names[i].name);
			before = "|";
			bits &= ~names[i].bit;
		}
	if (bits || !*before)
		strbuf_printf(to, bits ? "%s%#x" : "%s%u", before, bits);
}

static void add_epoll(struct bytes *b, struct strbuf *to)
{
	struct epoll_event e;
	const void *p = bytes_take(b, sizeof(e));
	if (!p)
		return;
	memcpy(&e, p, sizeof(e));
	strbuf_str(to, "{ .events: ");
	add_ready(e.events, to);
	strbuf_printf(to, ", .data: %#llx }", (unsigned long long)e.data.u64);
}

static void add_poll(struct bytes *b, struct strbuf *to)
{
	s32 fd = (s32)bytes_u32(b);
	u16 events = bytes_u16(b);
	bytes_skip(b, sizeof(u16));
	strbuf_printf(to, "{ .fd: %d, .events: ", fd);
	add_ready(events, to);
	strbuf_str(to, " }");
}

static void add_limit(u64 v, struct strbuf *to)
{
	if (v == UINT64_MAX)
		strbuf_str(to, "INFINITY");
	else
		strbuf_u64(to, v);
}

static void add_rlimit(struct bytes *b, struct strbuf *to)
{
	strbuf_str(to, "{ .rlim_cur: ");
	add_limit(bytes_u64(b), to);
	strbuf_str(to, ", .rlim_max: ");
	add_limit(bytes_u64(b), to);
	strbuf_str(to, " }");
}

static void add_sigset(struct bytes *b, struct strbuf *to)
{
	const struct syscall_words *names = syscall_words_find("kill", "sig");
	u64 set = bytes_u64(b);
	const char *before = "";
	bool others = __builtin_popcountll(set) > 32; /* those that are missing are fewer */
	if (others)
		set = ~set;
	strbuf_str(to, others ? "~[" : "[");
	for (u32 i = 0; i < 64; i++)
		if (set >> i & 1) {
			strbuf_str(to, before);
			syscall_words_print(names, i + 1, to);
			before = " ";
		}
	strbuf_char(to, ']');
}

/* The kernel's: handler, flags, restorer, mask. */
static void add_sigaction(struct bytes *b, struct strbuf *to)
{
	u64 handler = bytes_u64(b), flags = bytes_u64(b);
	bytes_skip(b, sizeof(u64));
	strbuf_str(to, "{ .sa_handler: ");
	if (handler < 2)
		strbuf_str(to, handler ? "SIG_IGN" : "SIG_DFL");
	else
		strbuf_printf(to, "%#llx", (unsigned long long)handler);
	strbuf_printf(to, ", .sa_flags: %#llx, .sa_mask: ", (unsigned long long)flags);
	add_sigset(b, to);
	strbuf_str(to, " }");
}

static void add_int(struct bytes *b, struct strbuf *to)
{
	strbuf_s64(to, (s32)bytes_u32(b));
}

static void add_wait_status(struct bytes *b, struct strbuf *to)
{
	const struct syscall_words *names = syscall_words_find("kill", "sig");
	int status = (s32)bytes_u32(b);
	if (WIFEXITED(status)) {
		strbuf_printf(to, "{ .exit: %d }", WEXITSTATUS(status));
	} else if (WIFSIGNALED(status) || WIFSTOPPED(status)) {
		bool killed = WIFSIGNALED(status);
		strbuf_str(to, killed ? "{ .signal: " : "{ .stopped: ");
		syscall_words_print(names, (u64)(killed ? WTERMSIG(status) : WSTOPSIG(status)), to);
		strbuf_str(to, killed && WCOREDUMP(status) ? ", core }" : " }");
	} else {
		strbuf_printf(to, "{ .status: %#x }", (unsigned)status);
	}
}

static const struct {
	u16 size; /* of one; 0: all that is there */
	bool array; /* in brackets, also a single one */
	void (*add)(struct bytes *b, struct strbuf *to);
} shapes[] = {
	[SYSCALL_SHAPE_SOCKADDR] = { 0, false, add_sockaddr },
	[SYSCALL_SHAPE_TIMESPEC] = { 16, false, add_timespec },
	[SYSCALL_SHAPE_ITIMERSPEC] = { 16, true, add_timespec },
	[SYSCALL_SHAPE_STAT] = { sizeof(struct stat), false, add_stat },
	[SYSCALL_SHAPE_STATX] = { sizeof(struct statx), false, add_statx },
	[SYSCALL_SHAPE_IOVEC] = { 16, true, add_iovec },
	[SYSCALL_SHAPE_MSGHDR] = { 56, false, add_msghdr },
	[SYSCALL_SHAPE_EPOLL] = { sizeof(struct epoll_event), false, add_epoll },
	[SYSCALL_SHAPE_POLL] = { sizeof(struct pollfd), true, add_poll },
	[SYSCALL_SHAPE_RLIMIT] = { 16, false, add_rlimit },
	[SYSCALL_SHAPE_SIGSET] = { 8, false, add_sigset },
	[SYSCALL_SHAPE_SIGACTION] = { 32, false, add_sigaction },
	[SYSCALL_SHAPE_INTS] = { 4, true, add_int },
	[SYSCALL_SHAPE_WAIT_STATUS] = { 4, false, add_wait_status },
};

static void add_structures(u8 shape, const u8 *at, size_t len, bool cut, struct strbuf *to)
{
	size_t size = shapes[shape].size ? shapes[shape].size : len;
	bool array = shapes[shape].array || len >= 2 * size;
	if (array)
		strbuf_char(to, '[');
	for (size_t i = 0; i + size <= len; i += size) {
		struct bytes b = bytes_of(at + i, size, false);
		if (i)
			strbuf_str(to, ", ");
		shapes[shape].add(&b, to);
	}
	if (array)
		strbuf_str(to, cut ? ", ...]" : "]");
}

void syscall_data_print(const struct syscall_thread *c, u32 piece, bool ended, struct strbuf *to)
{
	const u8 *at = c->data.bytes + c->data.at[piece];
	const struct syscall_piece *p = &c->call->pieces[piece];
	size_t len = (size_t)c->data.len[piece];
	u64 whole = syscall_piece_bytes(p, c->args, ended ? c->ret : 0);
	u8 shape = c->call->shapes[piece];
	switch (shape) {
	case SYSCALL_SHAPE_STRING: {
		size_t n = strnlen((const char *)at, len);
		syscall_data_quote((const char *)at, n, n + 1 >= p->max, to);
		break;
	}
	case SYSCALL_SHAPE_BYTES: syscall_data_quote((const char *)at, len, whole > len, to); break;
	case SYSCALL_SHAPE_STRINGS: add_strings(at, len, to); break;
	default: add_structures(shape, at, len, whole > len, to);
	}
}
