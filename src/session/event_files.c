#include "session/event_files.h"
#include "base/str.h"
#include "base/atomic_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_BUFFER = 1 << 16 };

struct dump_file {
	struct atomic_file kept;
	char path[PATH_MAX];
	u32 event; /* the first one that goes here */
};

struct event_files {
	struct text_samples_outs outs;
	struct dump_file *files;
	u32 *of;
};

/* An event's name may hold what has a meaning in a path. */
static int dump_path(char path[PATH_MAX], const char *input, const char *event)
{
	int err = str_path(path, PATH_MAX, "%s.%s.dump", input, event);
	if (err)
		return err;
	for (char *at = path + strlen(input); *at; at++)
		if (*at == '/')
			*at = '_';
	return 0;
}

static void dump_free(struct event_files *s)
{
	for (u32 i = 0; s->outs.at && i < s->outs.nr; i++)
		strbuf_done(&s->outs.at[i]);
	free(s->outs.at);
	free(s->outs.counts);
	free(s->of);
	free(s->files);
	free(s);
}

/* Events of one name share a file. */
static u32 file_of(const struct event_files *s, const struct catalog *c, u32 event)
{
	for (u32 i = 0; i < s->outs.nr; i++)
		if (!strcmp(c->events.at[s->files[i].event].name, c->events.at[event].name))
			return i;
	return s->outs.nr;
}

static int open_file(struct event_files *s, const struct catalog *c, u32 event, const char *input,
		     struct diag *d)
{
	u32 at = s->of[event] = file_of(s, c, event);
	if (at != s->outs.nr)
		return 0;
	struct dump_file *f = &s->files[at];
	f->event = event;
	int err = dump_path(f->path, input, c->events.at[event].name);
	if (!err)
		err = atomic_file_begin(&f->kept, f->path, 0644);
	if (err)
		return diag_error(d, err, "cannot write %s: %s", f->path, strerror(-err));
	strbuf_init_drain(&s->outs.at[at], OUT_BUFFER, strbuf_drain_fd, &f->kept.fd);
	s->outs.nr++;
	return 0;
}

int event_files_open(struct event_files **ret, const struct catalog *c, const char *input,
		     struct diag *d)
{
	struct event_files *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	size_t nr = c->events.nr + 1;
	s->files = calloc(nr, sizeof(*s->files));
	s->of = calloc(nr, sizeof(*s->of));
	s->outs.at = calloc(nr, sizeof(*s->outs.at));
	s->outs.counts = calloc(nr, sizeof(*s->outs.counts));
	s->outs.of = s->of;
	int err = s->files && s->of && s->outs.at && s->outs.counts ? 0 : -ENOMEM;
	for (u32 i = 0; i < c->events.nr && !err; i++)
		err = open_file(s, c, i, input, d);
	if (err) {
		for (u32 i = 0; i < s->outs.nr; i++)
			(void)!atomic_file_end(&s->files[i].kept, err);
		dump_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

const struct text_samples_outs *event_files_outs(const struct event_files *s)
{
	return s ? &s->outs : NULL;
}

static int close_file(struct event_files *s, u32 i, int err, const char *title, struct strbuf *to)
{
	struct dump_file *f = &s->files[i];
	int own = strbuf_flush(&s->outs.at[i]);
	off_t size = lseek(f->kept.fd, 0, SEEK_CUR);
	own = atomic_file_end(&f->kept, err ? err : own);
	if (!own)
		strbuf_printf(to, "[ %s: Wrote %.3f MB %s (%llu samples) ]\n", title,
			      (double)size / 1048576, f->path,
			      (unsigned long long)s->outs.counts[i]);
	return own;
}

int event_files_close(struct event_files *s, int err, const char *title, struct strbuf *to,
		      struct diag *d)
{
	int first = err;
	for (u32 i = 0; s && i < s->outs.nr; i++) {
		int own = close_file(s, i, err, title, to);
		if (own && !first)
			first = diag_error(d, own, "cannot write %s: %s", s->files[i].path,
					   strerror(-own));
	}
	if (s)
		dump_free(s);
	return first;
}
