/* The head of a trace.dat that is being recorded. */
#include "base/clock.h"
#include "cmd/ftrace/record_impl.h"
#include "kern/procfs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int clock_of(struct ftrace_run *s, const char *folder, char *to, size_t size)
{
	struct strbuf t;
	char path[PATH_MAX];
	strbuf_init(&t);
	(void)snprintf(path, sizeof(path), "%strace_clock", folder);
	const char *open = strchr(tracing_line(&s->s->tracing, path, &t), '[');
	(void)snprintf(to, size, "%.*s", open ? (int)strcspn(open + 1, "]") : 5,
		       open ? open + 1 : "local");
	strbuf_done(&t);
	return 0;
}

/*
 * The difference between the wall clock and the buffer's clock: "now ts" of a CPU's stats between two looks at the wall clock.
 * trace-cmd keeps it as microseconds in hex.
 */
static int add_date(struct ftrace_run *s, const char *folder)
{
	struct strbuf t;
	char path[PATH_MAX], text[64];
	(void)snprintf(path, sizeof(path), "%sper_cpu/cpu%d/stats", folder,
		       cpuset_next(&s->cpus, 0));
	strbuf_init(&t);
	u64 before = clock_ns(CLOCK_REALTIME);
	int err = tracing_read(&s->s->tracing, path, &t);
	u64 after = clock_ns(CLOCK_REALTIME);
	unsigned long long sec, usec;
	const char *now = err ? NULL : strstr(strbuf_cstr(&t), "now ts: ");
	if (now && sscanf(now, "now ts: %llu.%llu", &sec, &usec) == 2) {
		u64 wall_us = (before + (after - before) / 2) / 1000;
		int n = snprintf(text, sizeof(text), "0x%llx",
				 (unsigned long long)(wall_us - (sec * 1000000 + usec)));
		err = ftrace_meta_option(&s->meta, OPTION_DATE, text, (size_t)n + 1);
	} else {
		diag_warn(&s->app->diag, "--date: this clock's time cannot be compared");
	}
	strbuf_done(&t);
	return err;
}

struct maps_text {
	struct strbuf *to;
	u32 nr;
};

static int add_map(void *ctx, const struct proc_map *m)
{
	struct maps_text *t = ctx;
	if (!*m->path)
		return 0;
	t->nr++;
	strbuf_printf(t->to, "%llx %llx %s\n", (unsigned long long)m->start,
		      (unsigned long long)m->end, m->path);
	return 0;
}

/* "PID NUMBER COMMAND" and a line for each mapping. */
static int add_proc_map(struct ftrace_run *s, s32 pid)
{
	struct procfs p;
	struct proc_task task;
	struct strbuf body, all;
	procfs_init(&p, &s->s->root);
	strbuf_init(&body);
	strbuf_init(&all);
	struct maps_text t = { .to = &body };
	int err = procfs_task(&p, pid, pid, &task);
	if (!err)
		err = procfs_maps(&p, pid, add_map, &t);
	if (!err) {
		strbuf_printf(&all, "%x %x %s\n%s", (unsigned)pid, t.nr, task.comm,
			      strbuf_cstr(&body));
		err = all.err ? all.err
			      : ftrace_meta_option(&s->meta, OPTION_PROCMAPS, strbuf_cstr(&all),
						   all.len + 1);
	} else {
		err = 0; /* gone already */
	}
	procfs_done(&p);
	strbuf_done(&body);
	strbuf_done(&all);
	return err;
}

static int note_others(struct ftrace_run *s, struct ftrace_buffer_opt *b)
{
	struct strbuf text;
	char path[PATH_MAX];
	int err = 0;
	strbuf_init(&text);
	(void)snprintf(path, sizeof(path), "%sset_event", b->folder);
	if (tracing_read(&s->s->tracing, path, &text))
		strbuf_reset(&text);
	for (const char *p = strbuf_cstr(&text); *p && !err;) {
		size_t len = strcspn(p, "\n"), word = strcspn(p, ":\n");
		const char *name = arena_strndup(&s->s->arena, p, word);
		err = name ? ftrace_setup_note_system(s->s, b, name) : -ENOMEM;
		p += len + (p[len] == '\n');
	}
	strbuf_done(&text);
	return err;
}

int ftrace_run_write_plan(struct ftrace_run *s)
{
	int err = 0;
	s->parts.nr_cpus = s->nr_cpus;
	for (size_t i = 0; i < s->s->buffers.nr && !err && !s->latency; i++) {
		char clock[64];
		const struct ftrace_buffer_opt *b = &s->s->buffers.at[i];
		err = clock_of(s, b->folder, clock, sizeof(clock));
		if (!err)
			err = parts_add_buffer(&s->parts, b->name ? b->name : "", b->folder, clock,
					       live_ftrace_subbuf_bytes(&s->s->tracing, b->folder));
	}
	if (s->latency)
		s->parts.latency = "";
	return err ? err : parts_write(&s->parts, &s->meta.out, &s->app->diag);
}

int ftrace_run_write_head(struct ftrace_run *s)
{
	struct ftrace_buffer_opt *main = &s->s->buffers.at[0];
	struct ftrace_meta_opts mo = { .root = &s->s->root, .folder = main->folder };
	VEC(const char *) systems = { 0 };
	vec_for_each (&s->s->buffers, b) {
		/* In a buffer that is not ours alone others have events on too. */
		if (!b->made && note_others(s, b))
			return -ENOMEM;
		vec_for_each (&b->systems, name) {
			const char **slot = vec_push(&systems);
			if (!slot)
				return -ENOMEM;
			*slot = *name;
		}
	}
	static const char *const none[] = { "" };
	mo.systems = s->o->all_formats ? NULL : systems.nr ? systems.at : none;
	mo.nr_systems = s->o->all_formats ? 0 : systems.nr ? systems.nr : 1;
	int err = ftrace_meta_read(&s->meta, &s->s->tracing, &mo, &s->app->diag);
	vec_free(&systems);
	if (err)
		return err;
	s->has_meta = true;
	if (s->o->date)
		err = add_date(s, main->folder);
	if (!err)
		err = ftrace_setup_note_tsc(s->s, &s->meta);
	if (!err && s->o->has_ts_offset) {
		char text[32];
		int n = snprintf(text, sizeof(text), "%lld", (long long)s->o->ts_offset);
		err = ftrace_meta_option(&s->meta, OPTION_OFFSET, text, (size_t)n + 1);
	}
	for (const char *p = s->o->proc_map ? s->s->pids : NULL; p && *p && !err;) {
		err = add_proc_map(s, (s32)strtol(p, NULL, 10));
		p += strcspn(p, ",");
		p += *p == ',';
	}
	return err ? err : ftrace_run_write_plan(s);
}
