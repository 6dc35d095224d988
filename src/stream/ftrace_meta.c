#include "stream/ftrace_meta.h"

#include "base/clock.h"
#include "base/cpuset.h"
#include "base/dict.h"
#include "base/str.h"
#include "kern/cpu.h"
#include "kern/kallsyms.h"
#include "kern/procfs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A whole file that lives as long as m; no file, no text. */
static struct tracedat_text keep_text(struct ftrace_meta *m, struct strbuf *s)
{
	size_t len = s->len;
	char *text = strbuf_steal(s);
	char **slot = text ? vec_push(&m->texts) : NULL;
	if (!slot) {
		free(text);
		return (struct tracedat_text){ 0 };
	}
	*slot = text;
	return (struct tracedat_text){ .data = text, .len = len };
}

static struct tracedat_text read_text(struct ftrace_meta *m, const struct tracing *t,
				      const char *file)
{
	struct strbuf s;
	strbuf_init(&s);
	if (tracing_read(t, file, &s)) {
		strbuf_done(&s);
		return (struct tracedat_text){ 0 };
	}
	return keep_text(m, &s);
}

static int add_format(struct ftrace_meta *m, const struct tracing *t, const char *system,
		      const char *name)
{
	char path[PATH_MAX];
	(void)!str_path(path, sizeof(path), "events/%s/%s/format", system, name);
	struct tracedat_text text = read_text(m, t, path);
	if (!text.data)
		return 0; /* gone meanwhile */
	struct tracedat_format *f = vec_push(&m->formats);
	if (!f)
		return -ENOMEM;
	*f = (struct tracedat_format){ .system = arena_strdup(&m->arena, system),
				       .name = arena_strdup(&m->arena, name),
				       .text = text };
	return f->system && f->name ? 0 : -ENOMEM;
}

/* Formats of the tracers themselves have no id file: every folder of events/ftrace. */
static int own_formats(struct ftrace_meta *m, const struct tracing *t)
{
	struct sysroot dir = { .dir_fd = t->dir };
	DIR *d = sysroot_dir(&dir, "events/ftrace");
	int err = 0;
	if (!d)
		return 0;
	for (struct dirent *e; !err && (e = readdir(d));)
		if (e->d_name[0] != '.' && e->d_type == DT_DIR)
			err = add_format(m, t, "ftrace", e->d_name);
	(void)closedir(d);
	return err;
}

static bool wanted(const struct ftrace_meta_opts *o, const char *system)
{
	if (!strcmp(system, "ftrace"))
		return false;
	for (size_t i = 0; i < o->nr_systems; i++)
		if (!strcmp(o->systems[i], system))
			return true;
	return !o->systems;
}

static int event_formats(struct ftrace_meta *m, const struct tracing *t,
			 const struct ftrace_meta_opts *o)
{
	struct tracing_events systems, events;
	int err = tracing_list_systems(t, &systems);
	if (err)
		return err;
	for (size_t i = 0; i < systems.items.nr && !err; i++) {
		const char *system = systems.items.at[i].system;
		if (!wanted(o, system))
			continue;
		err = tracing_list_events(t, system, NULL, &events);
		if (err)
			continue;
		vec_for_each (&events.items, e) {
			err = add_format(m, t, e->system, e->name);
			if (err)
				break;
		}
		tracing_events_done(&events);
	}
	tracing_events_done(&systems);
	return err;
}

int ftrace_meta_option(struct ftrace_meta *m, u16 id, const void *body, size_t len)
{
	char *copy = arena_alloc(&m->arena, len + 1);
	struct tracedat_option *o = copy ? vec_push(&m->options) : NULL;
	if (!o)
		return -ENOMEM;
	memcpy(copy, body, len);
	o->id = id;
	o->body = (struct tracedat_text){ .data = copy, .len = len };
	m->out.options = m->options.at;
	m->out.nr_options = m->options.nr;
	return 0;
}

static int machine_options(struct ftrace_meta *m, const struct tracing *t, const char *folder)
{
	struct utsname u;
	char path[PATH_MAX], line[512];
	static const char version[] = "sonde " SONDE_VERSION;
	u64 id = clock_ns(CLOCK_REALTIME) ^ (u64)getpid() << 40;
	(void)!str_path(path, sizeof(path), "%strace_clock", folder);
	struct tracedat_text clock = read_text(m, t, path);
	int err = clock.data ? ftrace_meta_option(m, OPTION_TRACECLOCK, clock.data, clock.len) : 0;
	if (!err && !uname(&u)) {
		int n = snprintf(line, sizeof(line), "%s %s %s %s", u.sysname, u.nodename,
				 u.release, u.machine);
		err = ftrace_meta_option(m, OPTION_UNAME, line,
					 min((size_t)n, sizeof(line) - 1) + 1);
	}
	if (!err)
		err = ftrace_meta_option(m, OPTION_VERSION, version, sizeof(version));
	if (!err)
		err = ftrace_meta_option(m, OPTION_TRACEID, &id, sizeof(id));
	return err;
}

static int symbols(struct ftrace_meta *m)
{
	struct kallsyms_text k;
	struct strbuf s;
	if (kallsyms_read(NULL, NULL, &k))
		return 0;
	strbuf_init(&s);
	strbuf_add(&s, k.data, k.len);
	kallsyms_text_done(&k);
	m->out.parts[TRACEDAT_KALLSYMS] = keep_text(m, &s);
	return 0;
}

/* ---- names ------------------------------------------------------------------------------------------------------------- */

static int add_lines(const char *text, struct dict *seen, struct strbuf *to)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		u32 got;
		char *end;
		unsigned long pid = strtoul(text, &end, 10);
		int err = 0;
		if (end != text && end < text + len && *end == ' ' && pid) {
			err = dict_add(seen, pid, 0, &got);
			strbuf_add(to, text, len);
			strbuf_char(to, '\n');
		}
		if (err)
			return err;
		text += len + (text[len] == '\n');
	}
	return 0;
}

static int add_new_lines(const char *text, struct dict *seen, struct strbuf *to)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		unsigned long pid = strtoul(text, NULL, 10);
		if (pid && dict_get(seen, pid) == DICT_NONE) {
			u32 got;
			int err = dict_add(seen, pid, 0, &got);
			if (err)
				return err;
			strbuf_add(to, text, len);
			strbuf_char(to, '\n');
		}
		text += len + (text[len] == '\n');
	}
	return 0;
}

static int add_process(struct procfs *p, s32 pid, struct dict *seen, struct strbuf *to)
{
	s32 *tids;
	size_t nr;
	int err = procfs_tids(p, pid, &tids, &nr);
	if (err)
		return err == -ESRCH || err == -EACCES ? 0 : err;
	s32 *copy = malloc((nr + 1) * sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	if (nr)
		memcpy(copy, tids, nr * sizeof(*copy));
	for (size_t i = 0; i < nr && !err; i++) {
		struct proc_task task;
		u32 got;
		if (dict_get(seen, (u64)copy[i]) != DICT_NONE || procfs_task(p, pid, copy[i], &task))
			continue;
		err = dict_add(seen, (u64)copy[i], 0, &got);
		strbuf_printf(to, "%d %s\n", copy[i], task.comm);
	}
	free(copy);
	return err;
}

int ftrace_meta_merge_names(const char *newer, const char *older, struct strbuf *to)
{
	struct dict seen;
	dict_init(&seen);
	int err = add_lines(newer, &seen, to);
	if (!err)
		err = add_new_lines(older, &seen, to);
	dict_done(&seen);
	return err ? err : to->err;
}

int ftrace_meta_names(const struct tracing *t, const struct sysroot *root, struct strbuf *to)
{
	struct dict seen;
	struct strbuf saved;
	struct procfs p;
	s32 *pids;
	size_t nr;
	dict_init(&seen);
	strbuf_init(&saved);
	if (tracing_read(t, "saved_cmdlines", &saved))
		strbuf_reset(&saved);
	int err = add_lines(strbuf_cstr(&saved), &seen, to);
	procfs_init(&p, root);
	if (!err && !procfs_pids(&p, &pids, &nr)) {
		s32 *copy = malloc((nr + 1) * sizeof(*copy));
		err = copy ? 0 : -ENOMEM;
		if (copy && nr)
			memcpy(copy, pids, nr * sizeof(*copy));
		for (size_t i = 0; i < nr && !err; i++)
			err = add_process(&p, copy[i], &seen, to);
		free(copy);
	}
	procfs_done(&p);
	strbuf_done(&saved);
	dict_done(&seen);
	return err ? err : to->err;
}

static int read_all(struct ftrace_meta *m, const struct tracing *t,
		    const struct ftrace_meta_opts *o, struct diag *d)
{
	m->out.header_page = read_text(m, t, "events/header_page");
	m->out.header_event = read_text(m, t, "events/header_event");
	if (!m->out.header_page.data)
		return diag_error(d, -EACCES, "cannot read %s/events/header_page", t->path);
	int err = own_formats(m, t);
	m->out.nr_own_formats = m->formats.nr;
	if (!err)
		err = event_formats(m, t, o);
	if (!err && !o->no_kallsyms)
		err = symbols(m);
	if (!err)
		err = machine_options(m, t, o->folder);
	m->out.parts[TRACEDAT_PRINTK] = read_text(m, t, "printk_formats");
	struct strbuf names;
	strbuf_init(&names);
	if (!err)
		err = ftrace_meta_names(t, o->root, &names);
	m->out.parts[TRACEDAT_CMDLINES] = keep_text(m, &names);
	m->out.formats = m->formats.at;
	m->out.nr_formats = m->formats.nr;
	m->out.long_size = sizeof(long);
	m->out.page_size = (u32)sysconf(_SC_PAGESIZE);
	m->out.nr_cpus = cpu_nr_present(o->root);
	return err;
}

int ftrace_meta_read(struct ftrace_meta *m, const struct tracing *t,
		     const struct ftrace_meta_opts *o, struct diag *d)
{
	*m = (struct ftrace_meta){ 0 };
	arena_init(&m->arena);
	int err = read_all(m, t, o, d);
	if (err)
		ftrace_meta_done(m);
	return err;
}

void ftrace_meta_done(struct ftrace_meta *m)
{
	vec_for_each (&m->texts, text)
		free(*text);
	vec_free(&m->texts);
	vec_free(&m->formats);
	vec_free(&m->options);
	arena_done(&m->arena);
	m->out = (struct tracedat_out){ 0 };
}
