#include "kern/journal.h"
#include "base/str.h"
#include "kern/journal_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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
	journal_rescue_fn *rescue;
	VEC(char *) instances; /* folders of ours: "instances/x/" */
	VEC(char *) noted; /* files whose first value is in the journal */
};

static int note(struct journal *j, char kind, const char *a, const char *b, const char *c)
{
	if (j->dry)
		return 0;
	int err = records_append(j->fd, kind, (const char *const[]){ a, b, c });
	j->changed = true;
	return err;
}

/* In the watchdog, when the run is dead. */
static void orphaned(void *ctx)
{
	struct journal *j = ctx;
	char file[96];
	if (j->kept)
		return;
	if (journal_undo(j->t, j->run_dir, j->name, j->fd, j->rescue, NULL))
		return; /* for `reset --stale` */
	records_file(j->name, file, sizeof(file));
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
	records_file(j->name, file, sizeof(file));
	j->fd = openat(j->run_dir, ".", O_RDWR | O_TMPFILE | O_APPEND | O_CLOEXEC, 0644);
	j->unnamed = j->fd >= 0;
	if (!j->unnamed)
		j->fd = openat(j->run_dir, file, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
			       0644);
	if (j->fd < 0)
		return diag_error(d, -errno, "cannot write the journal: %s", strerror(errno));
	if (flock(j->fd, LOCK_EX | LOCK_NB) || records_begin(j->fd))
		return diag_error(d, -errno, "cannot lock the journal: %s", strerror(errno));
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	records_boot_id(boot, sizeof(boot));
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
	records_file(j->name, file, sizeof(file));
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
		int left = j->changed ? journal_undo(j->t, j->run_dir, j->name, j->fd, NULL, d) : 0;
		if (left < 0)
			diag_warn(d, "cannot read back the journal: %s", strerror(-left));
		if (left)
			diag_hint(d,
				  "'sonde ftrace status' shows what is left, 'sonde ftrace reset "
				  "%s' tries again",
				  diag_option(d, DIAG_OPT_STALE));
		records_file(j->name, file, sizeof(file));
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
	/* What the kernel has words for. libc's for EILSEQ are about characters. */
	bool logged = err == -EINVAL || err == -EILSEQ || err == -ENOENT || err == -EADDRNOTAVAIL;
	if (logged && tracing_error(j->t, folder, text, d))
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
	if (!written && !journal_value(j->t, file, list, &now))
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
	int err = journal_value(j->t, file, list, &old);
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
		return diag_error(d, -EINVAL, "invalid instance name '%s'", name);
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
		return diag_error(d, -EEXIST, "instance '%s' already exists", name);
	}
	int err = note(j, 'I', name, NULL, NULL);
	if (!err && mkdirat(j->t->dir, path, 0750)) {
		err = -errno;
		/* Made by somebody else in this moment, it is theirs. */
		(void)j->instances.nr--;
		free(copy);
		journal_cancel(j, d);
	}
	return err ? diag_error(d, err, "cannot create instance %s/%s: %s", j->t->path, path,
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

int journal_note_recording(struct journal *j, const char *folder, const char *output)
{
	return note(j, 'R', folder, output, NULL);
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
