/* Journals that other runs left, or are still writing: what they say, and undoing those of the dead. */
#include "kern/journal.h"
#include "kern/journal_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int describe(struct journal_list *l, struct journal_info *info, const struct records *r)
{
	char boot[64];
	records_boot_id(boot, sizeof(boot));
	int err = 0;
	for (size_t i = 0; !err && i < r->list.nr; i++) {
		char **f = r->list.at[i];
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
	return err;
}

static int add_journal(int run_dir, const char *file, size_t stem, struct journal_list *l)
{
	_cleanup_close_ int fd = openat(run_dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct records r = { 0 };
	if (fd < 0)
		return 0;
	bool alive = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	int err = records_load(fd, &r);
	struct journal_info *info = err ? NULL : vec_push(&l->items);
	if (info) {
		(void)snprintf(info->name, sizeof(info->name), "%.*s", (int)stem, file);
		info->alive = alive;
		info->title = "";
		err = describe(l, info, &r);
	}
	records_done(&r);
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
		       journal_rescue_fn *rescue, struct diag *d)
{
	char file[96];
	records_file(name, file, sizeof(file));
	_cleanup_close_ int fd = openat(run_dir, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return -EBUSY;
	int err = journal_undo(t, run_dir, name, fd, rescue, d);
	if (!err && unlinkat(run_dir, file, 0) && errno != ENOENT)
		err = -errno;
	return err;
}

bool journal_is_over(int run_dir, const struct tracing *t, const char *name)
{
	char file[96];
	struct records r = { 0 };
	records_file(name, file, sizeof(file));
	_cleanup_close_ int fd = openat(run_dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool over = fd >= 0 && !records_load(fd, &r) && !journal_has_effect(t, &r);
	records_done(&r);
	return over;
}

int journal_forget(int run_dir, const char *name)
{
	char file[96];
	records_file(name, file, sizeof(file));
	return unlinkat(run_dir, file, 0) && errno != ENOENT ? -errno : 0;
}
