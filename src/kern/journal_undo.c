/* Undoing: backwards through the records, each file only where it still holds what the run wrote. */
#include "kern/journal_impl.h"

#include "base/outplace.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	BUSY_STEPS = 500, /* readers that die with us close their files a moment later */
	BUSY_STEP_NS = 10000000,
};

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
	int err = journal_value(t, file, list, &now);
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
	/* A probe whose event is still open in a process that is dying. */
	for (int i = 0; err == -EBUSY && i < BUSY_STEPS; i++) {
		(void)nanosleep(&(struct timespec){ .tv_nsec = BUSY_STEP_NS }, NULL);
		err = tracing_write(t, file, line, false);
	}
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
		if (errno != EBUSY || i == BUSY_STEPS)
			return -errno;
		(void)nanosleep(&(struct timespec){ .tv_nsec = BUSY_STEP_NS }, NULL);
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
		(void)!outplace_remove(f[1], true);
		return 0;
	default: return 0;
	}
}

/* What was changed then is gone; what is there now is somebody's. */
static bool of_another_boot(const struct records *r)
{
	char boot[64];
	records_boot_id(boot, sizeof(boot));
	return r->list.nr && *r->list.at[0][0] == 'H' && strcmp(r->list.at[0][2], boot);
}

static bool value_has_effect(const struct tracing *t, char ***lines, size_t nr, size_t first,
			     bool list)
{
	struct strbuf now;
	strbuf_init(&now);
	bool effect = !journal_value(t, lines[first][1], list, &now) &&
		      is_ours(lines, nr, first, strbuf_cstr(&now)) &&
		      strcmp(strbuf_cstr(&now), lines[first][2]);
	strbuf_done(&now);
	return effect;
}

bool journal_has_effect(const struct tracing *t, const struct records *r)
{
	char path[PATH_MAX];
	bool effect = false;
	for (size_t i = 0; !of_another_boot(r) && i < r->list.nr && !effect; i++) {
		char **f = r->list.at[i], kind = *f[0];
		if (i + 1 < r->list.nr && *r->list.at[i + 1][0] == 'X')
			continue;
		(void)!str_path(path, sizeof(path), "instances/%s", f[1]);
		if (kind == 'I')
			effect = tracing_has(t, path);
		else if (kind == 'S' || kind == 'L')
			effect = value_has_effect(t, r->list.at, r->list.nr, i, kind == 'L');
		else if (kind == 'A') /* its line may still be there, in the kernel's words */
			effect = tracing_has(t, f[1]);
		else if (kind == 'K' || kind == 'R')
			effect = true;
	}
	return effect;
}

int journal_undo(const struct tracing *t, int run_dir, const char *user, int fd,
		 journal_rescue_fn *rescue, struct diag *d)
{
	struct records r = { 0 };
	int err = records_load(fd, &r);
	for (size_t i = 0; !err && rescue && i < r.list.nr; i++)
		if (*r.list.at[i][0] == 'R')
			rescue(r.list.at[i][1], r.list.at[i][2]);
	bool left = false, over = !err && of_another_boot(&r);
	for (size_t i = r.list.nr; !err && !over && i-- > 0;) {
		bool refused = i + 1 < r.list.nr && *r.list.at[i + 1][0] == 'X';
		int got = refused ? 0 : undo_record(t, run_dir, user, r.list.at, r.list.nr, i);
		if (got)
			diag_warn(d, "cannot restore %s: %s", r.list.at[i][1], strerror(-got));
		else if (strchr("SLAIKM", *r.list.at[i][0]))
			*r.list.at[i][0] = '-';
		left |= got != 0;
	}
	if (!err && left)
		err = records_rewrite(fd, &r);
	records_done(&r);
	return err ? err : left;
}
