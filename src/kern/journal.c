#include "kern/journal.h"

#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	FIELDS_MAX = 4,
	JOURNAL_MAX = 64 << 20,
	RMDIR_STEPS = 500, /* readers that die with us close their files a moment later */
	RMDIR_STEP_NS = 10000000,
};

static const char magic[] = "sonde journal 1\n";

struct journal {
	const struct tracing *t;
	struct watchdog dog;
	int run_dir;
	int fd; /* locked; -1 in a dry run */
	bool unnamed; /* made without a name */
	bool kept;
	bool changed; /* there is something to undo */
	struct strbuf *dry;
	char name[64];
	void (*rescue)(const char *folder);
	VEC(char *) instances; /* folders of ours: "instances/x/" */
	VEC(char *) noted; /* files whose first value is in the journal */
};

/* ---- records ------------------------------------------------------------------------------------------------------- */

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

static int note(struct journal *j, char kind, const char *a, const char *b, const char *c)
{
	struct strbuf s;
	const char *fields[] = { a, b, c };
	if (j->dry)
		return 0;
	strbuf_init(&s);
	strbuf_char(&s, kind);
	for (size_t i = 0; i < ARRAY_SIZE(fields) && fields[i]; i++)
		add_field(&s, fields[i]);
	strbuf_char(&s, '\n');
	int err = s.err;
	off_t end = err ? 0 : lseek(j->fd, 0, SEEK_END);
	ssize_t n = err ? 0 : write(j->fd, s.data, s.len);
	if (!err && n != (ssize_t)s.len) {
		err = n < 0 ? -errno : -ENOSPC;
		(void)!ftruncate(j->fd, end); /* half a line would spoil the next one */
	}
	strbuf_done(&s);
	j->changed = true;
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

/* ---- values -------------------------------------------------------------------------------------------------------- */

/*
 * What a file holds, in the form in which it can be written back: the choice in brackets, "0" for no filter, the size that an
 * unused buffer would have, a list without its comments.
 */
static void normal_value(const char *file, const char *text, struct strbuf *to)
{
	const char *slash = strrchr(file, '/');
	const char *base = slash ? slash + 1 : file;
	size_t len = strlen(text);
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	const char *open = memchr(text, '[', len);
	const char *close = open ? memchr(open, ']', len - (size_t)(open - text)) : NULL;
	const char *expanded = memmem(text, len, "(expanded: ", 11);
	if (!strcmp(base, "trace_clock") && close)
		strbuf_add(to, open + 1, (size_t)(close - open - 1));
	else if (!strcmp(base, "filter") && (len == 0 || (len >= 4 && !memcmp(text, "none", 4))))
		strbuf_char(to, '0');
	else if (str_starts(base, "buffer_") && expanded)
		strbuf_add(to, expanded + 11, strspn(expanded + 11, "0123456789"));
	else if (!strcmp(base, "enable"))
		strbuf_add(to, text, strspn(text, "01X")); /* "1*": also in use softly */
	else
		strbuf_add(to, text, len);
}

/* Lines of a list file: comments ("#### all functions enabled ####") and commands ("vfs_read:traceoff:unlimited") are none. */
static void normal_list(const char *text, struct strbuf *to)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		bool command = memchr(text, ':', len);
		size_t word = strcspn(text, " \n"); /* "vfs_read [module]" */
		if (len && *text != '#' && !command && !str_starts(text, "no pid")) {
			strbuf_add(to, text, min(len, word));
			strbuf_char(to, '\n');
		}
		text += len + (text[len] == '\n');
	}
}

static int get(const struct tracing *t, const char *file, bool list, struct strbuf *to)
{
	struct strbuf text;
	strbuf_init(&text);
	int err = tracing_read(t, file, &text);
	if (!err && list)
		normal_list(strbuf_cstr(&text), to);
	else if (!err)
		normal_value(file, strbuf_cstr(&text), to);
	strbuf_done(&text);
	return err ? err : to->err;
}

static void boot_id(char *to, size_t size)
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, to, size - 1);
	to[max(n, (ssize_t)0)] = 0;
	to[strcspn(to, "\n")] = 0;
}

/* ---- undo ---------------------------------------------------------------------------------------------------------- */

/*
 * Whether a value is one that we wrote to the file, or that it read afterwards; lines[first] is its first record. Where the last
 * record is of a write that nobody saw the end of, it is.
 */
static bool is_ours(char ***lines, size_t nr, size_t first, const char *value)
{
	bool ours = !strcmp(lines[first][3], value), open = true;
	for (size_t i = first + 1; i < nr; i++) {
		char kind = *lines[i][0];
		if ((kind != 'B' && kind != 'W') || strcmp(lines[i][1], lines[first][1]))
			continue;
		ours |= !strcmp(lines[i][2], value);
		open = kind == 'W';
	}
	return ours || open;
}

static int undo_value(const struct tracing *t, char ***lines, size_t nr, size_t first, bool list)
{
	struct strbuf now, want;
	const char *file = lines[first][1], *old = lines[first][2];
	strbuf_init(&now);
	strbuf_init(&want);
	int err = get(t, file, list, &now);
	const char *text = strbuf_cstr(&now);
	if (!err && is_ours(lines, nr, first, text) && strcmp(text, old)) {
		strbuf_printf(&want, "%s%s", old, list ? "" : "\n");
		err = want.err ? want.err : tracing_write(t, file, strbuf_cstr(&want), list);
	}
	strbuf_done(&now);
	strbuf_done(&want);
	return err == -ENOENT || err == -ENODEV ? 0 : err; /* the event or instance is gone */
}

static int undo_line(const struct tracing *t, const char *file, const char *line)
{
	int err = tracing_write(t, file, line, false);
	/* Not there any more: the kernel says so in several ways. */
	return err == -ENOENT || err == -ENODEV || err == -EINVAL ? 0 : err;
}

static int undo_instance(const struct tracing *t, const char *name)
{
	char path[PATH_MAX];
	if (strchr(name, '/') ||
	    snprintf(path, sizeof(path), "instances/%s/tracing_on", name) >= (int)sizeof(path))
		return -EINVAL;
	int err = tracing_write(t, path, "0\n", false);
	(void)err;
	*strrchr(path, '/') = 0;
	for (int i = 0;; i++) {
		if (!unlinkat(t->dir, path, AT_REMOVEDIR) || errno == ENOENT)
			return 0;
		if (errno != EBUSY || i == RMDIR_STEPS)
			return -errno;
		(void)nanosleep(&(struct timespec){ .tv_nsec = RMDIR_STEP_NS }, NULL);
	}
}

static int undo_record(const struct tracing *t, int run_dir, const char *user, char ***lines,
		       size_t nr, size_t i)
{
	char **f = lines[i];
	switch (*f[0]) {
	case 'S':
	case 'L': return undo_value(t, lines, nr, i, *f[0] == 'L');
	case 'A': return undo_line(t, f[1], f[3]);
	case 'I': return undo_instance(t, f[1]);
	case 'K': return knob_leave(run_dir, t, f[1], user);
	case 'M': /* of no use to anyone while it is empty, and no longer ours to judge when it is not */
		(void)rmdir(f[1]);
		return 0;
	default: return 0;
	}
}

struct record_lines {
	VEC(char **) list;
	struct arena arena;
};

static int parse_lines(char *text, struct record_lines *r)
{
	arena_init(&r->arena);
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

static void lines_done(struct record_lines *r)
{
	vec_free(&r->list);
	arena_done(&r->arena);
}

/* What could not be undone stays in the journal; what was is taken out, so that it is not done to others later. */
static int keep_rest(int fd, const struct record_lines *r)
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

/* What was changed then is gone; what is there now is somebody's. */
static bool of_another_boot(const struct record_lines *r)
{
	char boot[64];
	boot_id(boot, sizeof(boot));
	return r->list.nr && *r->list.at[0][0] == 'H' && strcmp(r->list.at[0][2], boot);
}

/* 0, 1 when something could not be undone (the journal then has only that), or negative errno. */
static int undo_all(const struct tracing *t, int run_dir, const char *user, int fd,
		    void (*rescue)(const char *folder), struct diag *d)
{
	struct strbuf text;
	struct record_lines r = { 0 };
	strbuf_init(&text);
	int err = read_journal(fd, &text);
	if (!err)
		err = parse_lines(text.data + sizeof(magic) - 1, &r);
	for (size_t i = 0; !err && rescue && i < r.list.nr; i++)
		if (*r.list.at[i][0] == 'R')
			rescue(r.list.at[i][1]);
	bool left = false, over = !err && of_another_boot(&r);
	for (size_t i = r.list.nr; !err && !over && i-- > 0;) {
		bool refused = i + 1 < r.list.nr && *r.list.at[i + 1][0] == 'X';
		int got = refused ? 0 : undo_record(t, run_dir, user, r.list.at, r.list.nr, i);
		if (got)
			diag_warn(d, "%s could not be put back: %s", r.list.at[i][1],
				  strerror(-got));
		else if (strchr("SLAIKM", *r.list.at[i][0]))
			*r.list.at[i][0] = '-';
		left |= got != 0;
	}
	if (!err && left)
		err = keep_rest(fd, &r);
	lines_done(&r);
	strbuf_done(&text);
	return err ? err : left;
}

static void journal_file(const char *name, char *to, size_t size)
{
	(void)snprintf(to, size, "%s.journal", name);
}

/* In the watchdog, when the run is dead. */
static void orphaned(void *ctx)
{
	struct journal *j = ctx;
	char file[96];
	if (j->kept)
		return;
	if (undo_all(j->t, j->run_dir, j->name, j->fd, j->rescue, NULL))
		return; /* for `reset --stale` */
	journal_file(j->name, file, sizeof(file));
	(void)unlinkat(j->run_dir, file, 0);
}

/* ---- a run ----------------------------------------------------------------------------------------------------------- */

static u64 start_time(void)
{
	unsigned long long v = 0;
	_cleanup_close_ int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	char text[1024];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[max(n, (ssize_t)0)] = 0;
	const char *p = strrchr(text, ')');
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	if (p)
		(void)sscanf(p, "%llu", &v);
	return v;
}

static int create(struct journal *j, const struct journal_opts *o, struct diag *d)
{
	char file[96], pid[16], boot[64];
	journal_file(j->name, file, sizeof(file));
	j->fd = openat(j->run_dir, ".", O_RDWR | O_TMPFILE | O_APPEND | O_CLOEXEC, 0644);
	j->unnamed = j->fd >= 0;
	if (!j->unnamed)
		j->fd = openat(j->run_dir, file, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
			       0644);
	if (j->fd < 0)
		return diag_error(d, -errno, "cannot write the journal: %s", strerror(errno));
	if (flock(j->fd, LOCK_EX | LOCK_NB) ||
	    write(j->fd, magic, sizeof(magic) - 1) != sizeof(magic) - 1)
		return diag_error(d, -errno, "cannot lock the journal: %s", strerror(errno));
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	boot_id(boot, sizeof(boot));
	return note(j, 'H', pid, boot, o->title ? o->title : "");
}

static int cmp_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Only now: who is killed before somebody watches leaves nothing behind. (Where files cannot be made without a name, it has one already.) */
static int give_name(struct journal *j, struct diag *d)
{
	char file[96], path[64];
	if (!j->unnamed)
		return 0;
	journal_file(j->name, file, sizeof(file));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", j->fd);
	if (linkat(AT_FDCWD, path, j->run_dir, file, AT_SYMLINK_FOLLOW))
		return diag_error(d, -errno, "cannot write the journal: %s", strerror(errno));
	return 0;
}

int journal_open(struct journal **ret, const struct tracing *t, const struct journal_opts *o,
		 struct diag *d)
{
	struct journal *j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	*j = (struct journal){ .t = t, .run_dir = -1, .fd = -1, .dry = o->dry, .rescue = o->rescue };
	j->dog.fd = -1;
	(void)snprintf(j->name, sizeof(j->name), "%d-%llu", (int)getpid(),
		       (unsigned long long)start_time());
	*ret = j;
	if (j->dry)
		return 0;
	j->run_dir = run_dir_open(o->run_dir ? o->run_dir : RUN_DIR, d);
	int err = j->run_dir < 0 ? j->run_dir : create(j, o, d);
	if (!err && !o->no_watchdog) {
		int keep[ARRAY_SIZE(o->keep) + 3] = { j->fd, j->run_dir, t->dir };
		size_t nr = 3;
		for (size_t i = 0; i < ARRAY_SIZE(o->keep) && o->keep[i]; i++)
			keep[nr++] = o->keep[i];
		qsort(keep, nr, sizeof(*keep), cmp_int);
		err = watchdog_start(&j->dog, orphaned, j, keep, nr);
		if (err)
			diag_error(d, err, "cannot start the watchdog: %s", strerror(-err));
	}
	if (!err)
		err = give_name(j, d);
	j->changed = false;
	if (err) {
		journal_close(j, d);
		*ret = NULL;
	}
	return err;
}

void journal_close(struct journal *j, struct diag *d)
{
	char file[96];
	if (!j)
		return;
	if (!j->dry && !j->kept) {
		int left = j->changed ? undo_all(j->t, j->run_dir, j->name, j->fd, NULL, d) : 0;
		if (left < 0)
			diag_warn(d, "the journal could not be read back: %s", strerror(-left));
		if (left)
			diag_hint(d,
				  "'sonde ftrace status' shows what is left, 'sonde ftrace reset "
				  "--stale' tries again");
		journal_file(j->name, file, sizeof(file));
		if (j->fd >= 0 && !left)
			(void)unlinkat(j->run_dir, file, 0);
	}
	watchdog_end(&j->dog);
	cleanup_close(&j->fd);
	cleanup_close(&j->run_dir);
	vec_for_each (&j->instances, name)
		free(*name);
	vec_free(&j->instances);
	vec_for_each (&j->noted, name)
		free(*name);
	vec_free(&j->noted);
	free(j);
}

const char *journal_name(const struct journal *j)
{
	return j->name;
}

int journal_run_dir(const struct journal *j)
{
	return j->run_dir;
}

bool journal_owns(const struct journal *j, const char *file)
{
	vec_for_each (&j->instances, folder)
		if (str_starts(file, *folder))
			return true;
	return false;
}

/* ---- changes --------------------------------------------------------------------------------------------------------- */

/* The folder of the instance that a file is in: "" or "instances/x/". */
static void folder_of(const char *file, char *to, size_t size)
{
	const char *slash = str_starts(file, "instances/") ? strchr(file + 10, '/') : NULL;
	(void)snprintf(to, size, "%.*s", slash ? (int)(slash + 1 - file) : 0, file);
}

static int refused(struct journal *j, const char *file, const char *text, int err, struct diag *d)
{
	char folder[NAME_MAX + 16];
	size_t len = strcspn(text, "\n");
	const char *base = *file == '/' ? "" : j->t->path;
	folder_of(file, folder, sizeof(folder));
	if (err == -EINVAL && tracing_error(j->t, folder, text, d))
		diag_hint(d, "it was written to %s%s%s", base, *base ? "/" : "", file);
	else
		diag_error(d, err, "cannot write '%.*s' to %s%s%s: %s", (int)len, text, base,
			   *base ? "/" : "", file, strerror(-err));
	return err;
}

static void dry_line(struct journal *j, const char *file, const char *text, const char *arrow)
{
	strbuf_str(j->dry, "echo '");
	for (; *text; text++) {
		if (*text == '\'')
			strbuf_str(j->dry, "'\\''");
		else if (*text != '\n' || text[1])
			strbuf_char(j->dry, *text);
	}
	strbuf_printf(j->dry, "' %s %s%s%s\n", arrow, *file == '/' ? "" : j->t->path,
		      *file == '/' ? "" : "/", file);
}

int journal_poke(struct journal *j, const char *file, const char *text, bool truncate,
		 struct diag *d)
{
	if (j->dry) {
		if (*text || !truncate)
			dry_line(j, file, text, truncate ? ">" : ">>");
		else
			strbuf_printf(j->dry, "> %s/%s\n", j->t->path, file);
		return 0;
	}
	int err = tracing_write(j->t, file, text, truncate);
	return err ? refused(j, file, text, err, d) : 0;
}

/* The value before the first change is what counts; later ones only add to what is ours. */
static int note_change(struct journal *j, const char *file, const char *old, const char *value,
		       bool list)
{
	vec_for_each (&j->noted, name)
		if (!strcmp(*name, file))
			return note(j, 'W', file, value, NULL);
	int err = note(j, list ? 'L' : 'S', file, old, value);
	if (err)
		return err;
	char *copy = strdup(file);
	char **slot = copy ? vec_push(&j->noted) : NULL;
	if (!slot) {
		free(copy);
		return -ENOMEM;
	}
	*slot = copy;
	return 0;
}

/* Ends what S, L or W began; written: 0, or why the kernel refused the value. */
static int confirm(struct journal *j, const char *file, int written, const char *value, bool list,
		   struct diag *d)
{
	struct strbuf now;
	strbuf_init(&now);
	if (!written && !get(j->t, file, list, &now))
		value = strbuf_cstr(&now);
	int err = note(j, 'B', file, value, NULL);
	if (err && !written)
		diag_error(d, err, "cannot write the journal: %s", strerror(-err));
	strbuf_done(&now);
	return written ? written : err;
}

static int change(struct journal *j, const char *file, const char *value, bool list, struct diag *d)
{
	struct strbuf old;
	strbuf_init(&old);
	bool ours = journal_owns(j, file);
	int err = get(j->t, file, list, &old);
	if (err) {
		diag_error(d, err, "cannot read %s%s%s: %s", *file == '/' ? "" : j->t->path,
			   *file == '/' ? "" : "/", file, strerror(-err));
	} else if (strcmp(strbuf_cstr(&old), value)) {
		char line[PATH_MAX];
		if (!list && snprintf(line, sizeof(line), "%s\n", value) >= (int)sizeof(line))
			err = -E2BIG;
		if (!err && !ours)
			err = note_change(j, file, strbuf_cstr(&old), value, list);
		bool noted = !err;
		if (!err)
			err = tracing_write(j->t, file, list ? value : line, list);
		if (err)
			(void)refused(j, file, value, err, d);
		/* What the kernel made of it: rounded sizes, names in place of patterns. Refused, nothing of it is there. */
		if (noted && !ours)
			err = confirm(j, file, err, value, list, d);
	}
	strbuf_done(&old);
	return err;
}

int journal_set(struct journal *j, const char *file, const char *value, struct diag *d)
{
	if (j->dry) {
		dry_line(j, file, value, ">");
		return 0;
	}
	return change(j, file, value, false, d);
}

int journal_list(struct journal *j, const char *file, const char *words, struct diag *d)
{
	if (j->dry) {
		dry_line(j, file, words, ">");
		return 0;
	}
	return change(j, file, words, true, d);
}

void journal_cancel(struct journal *j, struct diag *d)
{
	int err = note(j, 'X', NULL, NULL, NULL);
	if (err)
		diag_warn(d, "cannot write the journal: %s", strerror(-err));
}

int journal_add(struct journal *j, const char *file, const char *line, const char *undo,
		struct diag *d)
{
	if (j->dry) {
		dry_line(j, file, line, ">>");
		return 0;
	}
	/* Also in an instance of ours: a histogram with variables keeps it from being removed. */
	int err = note(j, 'A', file, line, undo);
	if (err)
		return diag_error(d, err, "cannot write the journal: %s", strerror(-err));
	err = tracing_write(j->t, file, line, false);
	if (!err)
		return 0;
	/* Somebody else may have the same line: it must not be undone. */
	journal_cancel(j, d);
	return refused(j, file, line, err, d);
}

int journal_instance(struct journal *j, const char *name, struct diag *d)
{
	char path[NAME_MAX + 16];
	if (snprintf(path, sizeof(path), "instances/%s/", name) >= (int)sizeof(path) ||
	    strchr(name, '/') || !*name || *name == '.')
		return diag_error(d, -EINVAL, "'%s' is no name for an instance", name);
	char *copy = strdup(path);
	char **slot = copy ? vec_push(&j->instances) : NULL;
	if (!slot) {
		free(copy);
		return -ENOMEM;
	}
	*slot = copy;
	path[strlen(path) - 1] = 0;
	if (j->dry) {
		strbuf_printf(j->dry, "mkdir %s/%s\n", j->t->path, path);
		return 0;
	}
	if (tracing_has(j->t, path)) {
		(void)j->instances.nr--;
		free(copy);
		return diag_error(d, -EEXIST, "the instance '%s' exists already", name);
	}
	int err = note(j, 'I', name, NULL, NULL);
	if (!err && mkdirat(j->t->dir, path, 0750)) {
		err = -errno;
		/* Made by somebody else in this moment, it is theirs. */
		(void)j->instances.nr--;
		free(copy);
		journal_cancel(j, d);
	}
	return err ? diag_error(d, err, "cannot make the instance %s/%s: %s", j->t->path, path,
				strerror(-err))
		   : 0;
}

int journal_knob(struct journal *j, const char *file, u64 value, struct diag *d)
{
	bool counted;
	char text[NUM_DIGITS_MAX];
	if (j->dry) {
		(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
		dry_line(j, file, text, ">");
		return 0;
	}
	int err = note(j, 'K', file, NULL, NULL);
	if (!err)
		err = knob_raise(j->run_dir, j->t, file, j->name, value, &counted);
	return err ? diag_error(d, err, "cannot set %s: %s", file, strerror(-err)) : 0;
}

int journal_note_folder(struct journal *j, const char *folder)
{
	return note(j, 'M', folder, NULL, NULL);
}

int journal_note_recording(struct journal *j, const char *folder)
{
	return note(j, 'R', folder, NULL, NULL);
}

int journal_keep(struct journal *j)
{
	if (j->dry)
		return 0;
	int err = note(j, 'P', NULL, NULL, NULL);
	if (!err) {
		j->kept = true;
		watchdog_end(&j->dog);
	}
	return err;
}

/* ---- journals of others ------------------------------------------------------------------------------------------------ */

static int describe(struct journal_list *l, struct journal_info *info, char *text)
{
	struct record_lines r = { 0 };
	char boot[64];
	boot_id(boot, sizeof(boot));
	int err = parse_lines(text, &r);
	for (size_t i = 0; !err && i < r.list.nr; i++) {
		char **f = r.list.at[i];
		const char *copy = arena_strdup(&l->arena, *f[0] == 'H' ? f[3] : f[1]);
		const char **slot = NULL;
		if (!copy) {
			err = -ENOMEM;
			break;
		}
		switch (*f[0]) {
		case 'H':
			info->pid = (s32)strtol(f[1], NULL, 10);
			info->this_boot = !strcmp(f[2], boot);
			info->title = copy;
			break;
		case 'R': info->recording = copy; break;
		case 'P': info->kept = true; break;
		case 'I':
			slot = vec_push(&info->instances);
			if (slot)
				*slot = copy;
			err = slot ? 0 : -ENOMEM;
			break;
		case 'S':
		case 'L':
		case 'A':
		case 'K':
			slot = vec_push(&info->files);
			if (slot)
				*slot = copy;
			err = slot ? 0 : -ENOMEM;
			break;
		}
	}
	lines_done(&r);
	return err;
}

static int add_journal(int run_dir, const char *file, size_t stem, struct journal_list *l)
{
	_cleanup_close_ int fd = openat(run_dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct strbuf text;
	if (fd < 0)
		return 0;
	bool alive = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	strbuf_init(&text);
	int err = read_journal(fd, &text);
	struct journal_info *info = err ? NULL : vec_push(&l->items);
	if (info) {
		(void)snprintf(info->name, sizeof(info->name), "%.*s", (int)stem, file);
		info->alive = alive;
		info->title = "";
		err = describe(l, info, text.data + sizeof(magic) - 1);
	}
	strbuf_done(&text);
	return err == -EBADMSG ? 0 : err;
}

static int by_pid(const void *a, const void *b)
{
	const struct journal_info *x = a, *y = b;
	return x->pid - y->pid;
}

int journal_list_all(int run_dir, struct journal_list *ret)
{
	struct journal_list l = { 0 };
	int fd = openat(run_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = dir ? 0 : -errno;
	arena_init(&l.arena);
	for (struct dirent *e; !err && (e = readdir(dir));) {
		const char *dot = strrchr(e->d_name, '.');
		if (dot && !strcmp(dot, ".journal"))
			err = add_journal(run_dir, e->d_name, (size_t)(dot - e->d_name), &l);
	}
	if (dir)
		(void)closedir(dir);
	if (err) {
		journal_list_done(&l);
		return err;
	}
	if (l.items.nr)
		qsort(l.items.at, l.items.nr, sizeof(*l.items.at), by_pid);
	*ret = l;
	return 0;
}

void journal_list_done(struct journal_list *l)
{
	vec_for_each (&l->items, i) {
		vec_free(&i->instances);
		vec_free(&i->files);
	}
	vec_free(&l->items);
	arena_done(&l->arena);
}

int journal_undo_stale(int run_dir, const struct tracing *t, const char *name,
		       void (*rescue)(const char *folder), struct diag *d)
{
	char file[96];
	journal_file(name, file, sizeof(file));
	_cleanup_close_ int fd = openat(run_dir, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return -EBUSY;
	int err = undo_all(t, run_dir, name, fd, rescue, d);
	if (!err && unlinkat(run_dir, file, 0) && errno != ENOENT)
		err = -errno;
	return err;
}

int journal_forget(int run_dir, const char *name)
{
	char file[96];
	journal_file(name, file, sizeof(file));
	return unlinkat(run_dir, file, 0) && errno != ENOENT ? -errno : 0;
}
