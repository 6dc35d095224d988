/* The lines of a journal: written one by one, read back together. Their format is in journal.h. */
#include "kern/journal_impl.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOURNAL_MAX = 64 << 20 };

static const char magic[] = "sonde journal 1\n";

void records_file(const char *name, char *to, size_t size)
{
	(void)!str_path(to, size, "%s.journal", name);
}

void records_boot_id(char *to, size_t size)
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, to, size - 1);
	to[max(n, (ssize_t)0)] = 0;
	to[strcspn(to, "\n")] = 0;
}

int records_begin(int fd)
{
	return write(fd, magic, sizeof(magic) - 1) == sizeof(magic) - 1 ? 0 : -1;
}

static void add_field(struct strbuf *s, const char *text)
{
	strbuf_char(s, '\t');
	for (; *text; text++) {
		switch (*text) {
		case '\t': strbuf_str(s, "\\t"); break;
		case '\n': strbuf_str(s, "\\n"); break;
		case '\\': strbuf_str(s, "\\\\"); break;
		default: strbuf_char(s, *text);
		}
	}
}

/* One write: either the whole line is there or nothing of it. */
int records_append(int fd, char kind, const char *const fields[3])
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_char(&s, kind);
	for (size_t i = 0; i < 3 && fields[i]; i++)
		add_field(&s, fields[i]);
	strbuf_char(&s, '\n');
	int err = s.err;
	off_t end = err ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t n = err ? 0 : write(fd, s.data, s.len);
	if (!err && n != (ssize_t)s.len) {
		err = n < 0 ? -errno : -ENOSPC;
		(void)!ftruncate(fd, end); /* half a line would spoil the next one */
	}
	strbuf_done(&s);
	return err;
}

static void unescape(char *s)
{
	char *to = s;
	for (; *s; s++) {
		if (*s == '\\' && s[1])
			*to++ = *++s == 't' ? '\t' : *s == 'n' ? '\n' : *s;
		else
			*to++ = *s;
	}
	*to = 0;
}

/* One line in place; fields that are missing are "". */
static void split(char *line, char **fields)
{
	char *end = line + strlen(line);
	char *rest = line + 1 < end ? line + 2 : NULL;
	for (unsigned i = 0; i < FIELDS_MAX; i++) {
		char *field = strsep(&rest, "\t");
		fields[i] = field ? field : end;
		unescape(fields[i]);
	}
}

/* A whole journal; lines that the machine's end has cut are left out. */
static int read_journal(int fd, struct strbuf *to)
{
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (st.st_size > JOURNAL_MAX)
		return -EFBIG;
	char *room = strbuf_room(to, (size_t)st.st_size + 1);
	if (!room)
		return -ENOMEM;
	ssize_t n = pread(fd, room, (size_t)st.st_size, 0);
	if (n < 0)
		return -errno;
	while (n && room[n - 1] != '\n')
		n--;
	strbuf_commit(to, (size_t)n);
	(void)strbuf_cstr(to);
	return str_starts(to->data, magic) ? 0 : -EBADMSG;
}

static int parse_lines(char *text, struct records *r)
{
	for (char *line; (line = strsep(&text, "\n"));) {
		if (!*line)
			continue;
		char **f = arena_array(&r->arena, FIELDS_MAX + 1, sizeof(*f));
		char ***slot = f ? vec_push(&r->list) : NULL;
		if (!slot)
			return -ENOMEM;
		*slot = f;
		f[0] = line;
		split(line, f + 1);
	}
	return 0;
}

int records_load(int fd, struct records *r)
{
	arena_init(&r->arena);
	strbuf_init(&r->text);
	int err = read_journal(fd, &r->text);
	return err ? err : parse_lines(r->text.data + sizeof(magic) - 1, r);
}

void records_done(struct records *r)
{
	vec_free(&r->list);
	arena_done(&r->arena);
	strbuf_done(&r->text);
}

int records_rewrite(int fd, const struct records *r)
{
	struct strbuf s;
	strbuf_init(&s);
	strbuf_str(&s, magic);
	vec_for_each (&r->list, line) {
		char **f = *line;
		if (*f[0] == '-' || *f[0] == 'X')
			continue;
		unsigned nr = FIELDS_MAX;
		while (nr && !*f[nr])
			nr--;
		strbuf_char(&s, *f[0]);
		for (unsigned i = 1; i <= nr; i++)
			add_field(&s, f[i]);
		strbuf_char(&s, '\n');
	}
	/* The file is open for appending; what it gets is never longer than what it had. */
	int err = s.err;
	if (!err && (ftruncate(fd, 0) || write(fd, s.data, s.len) != (ssize_t)s.len))
		err = -errno;
	strbuf_done(&s);
	return err;
}
