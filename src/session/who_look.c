#include "session/who_look.h"

#include "base/dict.h"
#include "base/printable.h"
#include "base/strtab.h"
#include "kern/procfs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_ROOM = 64, LINK_ROOM = 4096, FILES_MAX = 1 << 20 };

/* ---- sockets by inode, from the process's own network namespace ---- */

struct sockets {
	struct strtab texts;
	struct dict by_inode;
};

static int note_socket(struct sockets *s, u64 inode, const char *text)
{
	s64 id = strtab_add(&s->texts, text, strlen(text));
	return id < 0 ? (int)id : dict_put(&s->by_inode, inode, (u32)id);
}

/* "0100007F:1F90", or 32 digits: 32-bit words in the machine's byte order. */
static bool address_text(const char *hex, char *to, size_t size)
{
	const char *colon = strchr(hex, ':');
	size_t digits = colon ? (size_t)(colon - hex) : 0;
	u32 words[4] = { 0 };
	unsigned port;
	char text[INET6_ADDRSTRLEN];
	if ((digits != 8 && digits != 32) || sscanf(colon + 1, "%4x", &port) != 1)
		return false;
	for (size_t i = 0; i < digits / 8; i++)
		if (sscanf(hex + 8 * i, "%8x", &words[i]) != 1)
			return false;
	if (!inet_ntop(digits == 8 ? AF_INET : AF_INET6, words, text, sizeof(text)))
		return false;
	(void)snprintf(to, size, digits == 8 ? "%s:%u" : "[%s]:%u", text, port);
	return true;
}

static const char *tcp_state(unsigned state)
{
	static const char *const names[] = {
		"",	     "ESTABLISHED", "SYN_SENT",	  "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2",
		"TIME_WAIT", "CLOSE",	    "CLOSE_WAIT", "LAST_ACK", "LISTEN",	   "CLOSING",
	};
	return state < ARRAY_SIZE(names) ? names[state] : "";
}

static int inet_line(struct sockets *s, const char *protocol, const char *line)
{
	char local[80], remote[80], from[80], to[80], text[256];
	unsigned state;
	unsigned long long inode;
	if (sscanf(line, " %*d: %79s %79s %x %*s %*s %*s %*s %*s %llu", local, remote, &state,
		   &inode) != 4 ||
	    !address_text(local, from, sizeof(from)) || !address_text(remote, to, sizeof(to)))
		return 0;
	bool tcp = *protocol == 't';
	(void)snprintf(text, sizeof(text), "%s %s -> %s%s%s", protocol, from, to, tcp ? " " : "",
		       tcp ? tcp_state(state) : "");
	return note_socket(s, inode, text);
}

static int unix_line(struct sockets *s, const char *line)
{
	char path[200] = "", text[256];
	unsigned long long inode;
	if (sscanf(line, "%*s %*s %*s %*s %*s %*s %llu %199s", &inode, path) < 1)
		return 0;
	(void)snprintf(text, sizeof(text), "unix %s", path);
	return note_socket(s, inode, text);
}

static int read_sockets(const struct sysroot *r, s32 pid, struct sockets *s)
{
	static const char *const files[] = { "tcp", "tcp6", "udp", "udp6", "raw", "unix" };
	struct strbuf text;
	int err = 0;
	strbuf_init(&text);
	for (unsigned i = 0; i < ARRAY_SIZE(files) && !err; i++) {
		char path[PATH_ROOM], *save;
		(void)snprintf(path, sizeof(path), "proc/%d/net/%s", pid, files[i]);
		if (sysroot_read(r, path, &text))
			continue;
		char *line = strtok_r((char *)strbuf_cstr(&text), "\n", &save);
		while (!err && line && (line = strtok_r(NULL, "\n", &save)))
			err = *files[i] == 'u' && files[i][1] == 'n' ? unix_line(s, line)
								     : inet_line(s, files[i], line);
	}
	strbuf_done(&text);
	return err;
}

static void put_link(const struct sockets *s, const char *link, struct strbuf *to)
{
	unsigned long long inode;
	u32 id = sscanf(link, "socket:[%llu]", &inode) == 1 ? dict_get(&s->by_inode, inode)
							    : DICT_NONE;
	printable_name(to, link);
	if (id != DICT_NONE) {
		strbuf_str(to, "  ");
		printable_name(to, strtab_str(&s->texts, id));
	}
}

static int compare_u32(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	return (x > y) - (x < y);
}

int who_look_files(const struct sysroot *r, s32 pid, struct strbuf *to)
{
	char path[PATH_ROOM], link[LINK_ROOM];
	struct sockets s = { 0 };
	VEC(u32) fds = { 0 };
	(void)snprintf(path, sizeof(path), "proc/%d/fd", pid);
	DIR *dir = sysroot_dir(r, path);
	if (!dir)
		return -errno;
	strtab_init(&s.texts);
	dict_init(&s.by_inode);
	int err = read_sockets(r, pid, &s);
	for (struct dirent *e; !err && (e = readdir(dir)) && fds.nr < FILES_MAX;) {
		u64 fd;
		u32 *slot = num_parse_u64(e->d_name, 10, &fd) ? NULL : vec_push(&fds);
		if (slot)
			*slot = (u32)fd;
	}
	if (fds.nr)
		qsort(fds.at, fds.nr, sizeof(u32), compare_u32);
	strbuf_printf(to, "%5s  %s\n", "FD", "FILE");
	vec_for_each (&fds, fd) {
		char name[16];
		(void)snprintf(name, sizeof(name), "%u", *fd);
		ssize_t n = readlinkat(dirfd(dir), name, link, sizeof(link) - 1);
		if (n < 0)
			continue; /* closed meanwhile */
		link[n] = '\0';
		strbuf_printf(to, "%5u  ", *fd);
		put_link(&s, link, to);
		strbuf_char(to, '\n');
	}
	closedir(dir);
	vec_free(&fds);
	strtab_done(&s.texts);
	dict_done(&s.by_inode);
	return err ? err : to->err;
}

static int put_map(void *ctx, const struct proc_map *m)
{
	struct strbuf *to = ctx;
	strbuf_printf(to, "%16llx-%-16llx %9llu KiB %c%c%c%c  ", (unsigned long long)m->start,
		      (unsigned long long)m->end, (unsigned long long)((m->end - m->start) / 1024),
		      m->prot & PROT_READ ? 'r' : '-', m->prot & PROT_WRITE ? 'w' : '-',
		      m->prot & PROT_EXEC ? 'x' : '-', m->shared ? 's' : 'p');
	printable_name(to, *m->path ? m->path : "[anonymous]");
	strbuf_char(to, '\n');
	return 0;
}

int who_look_maps(const struct sysroot *r, s32 pid, struct strbuf *to)
{
	struct procfs p;
	procfs_init(&p, r);
	int err = procfs_maps(&p, pid, put_map, to);
	procfs_done(&p);
	return err ? err : to->err;
}
