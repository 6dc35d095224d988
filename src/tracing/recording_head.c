/* The head of a trace.dat that is being recorded. */
#include "base/clock.h"
#include "kern/procfs.h"
#include "tracing/recording_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static int clock_of(struct ftrace_recording *r, const char *folder, char *to, size_t size)
{
	struct strbuf t;
	char path[PATH_MAX];
	strbuf_init(&t);
	(void)!str_path(path, sizeof(path), "%strace_clock", folder);
	const char *open = strchr(tracing_line(&r->s->tracing, path, &t), '[');
	(void)snprintf(to, size, "%.*s", open ? (int)strcspn(open + 1, "]") : 5,
		       open ? open + 1 : "local");
	strbuf_done(&t);
	return 0;
}

/*
 * The difference between the wall clock and the buffer's clock: "now ts" of a CPU's stats between two looks at the wall clock.
 * trace-cmd keeps it as microseconds in hex.
 */
static int add_date(struct ftrace_recording *r, const char *folder)
{
	struct strbuf t;
	char path[PATH_MAX], text[64];
	(void)!str_path(path, sizeof(path), "%sper_cpu/cpu%d/stats", folder,
			cpuset_next(&r->cpus, 0));
	strbuf_init(&t);
	u64 before = clock_ns(CLOCK_REALTIME);
	int err = tracing_read(&r->s->tracing, path, &t);
	u64 after = clock_ns(CLOCK_REALTIME);
	unsigned long long sec, usec;
	const char *now = err ? NULL : strstr(strbuf_cstr(&t), "now ts: ");
	if (now && sscanf(now, "now ts: %llu.%llu", &sec, &usec) == 2) {
		u64 wall_us = (before + (after - before) / 2) / 1000;
		int n = snprintf(text, sizeof(text), "0x%llx",
				 (unsigned long long)(wall_us - (sec * 1000000 + usec)));
		err = ftrace_meta_option(&r->meta, OPTION_DATE, text, (size_t)n + 1);
	} else {
		diag_warn(r->diag, "%s: cannot compare with this clock", r->s->names->date);
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
static int add_proc_map(struct ftrace_recording *r, s32 pid)
{
	struct procfs p;
	struct proc_task task;
	struct strbuf body, all;
	procfs_init(&p, &r->s->root);
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
			      : ftrace_meta_option(&r->meta, OPTION_PROCMAPS, strbuf_cstr(&all),
						   all.len + 1);
	} else {
		err = 0; /* gone already */
	}
	procfs_done(&p);
	strbuf_done(&body);
	strbuf_done(&all);
	return err;
}

static int note_others(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	struct strbuf text;
	char path[PATH_MAX];
	int err = 0;
	strbuf_init(&text);
	(void)!str_path(path, sizeof(path), "%sset_event", b->folder);
	if (tracing_read(&s->tracing, path, &text))
		strbuf_reset(&text);
	for (const char *p = strbuf_cstr(&text); *p && !err;) {
		size_t len = strcspn(p, "\n"), word = strcspn(p, ":\n");
		const char *name = arena_strndup(&s->arena, p, word);
		err = name ? ftrace_setup_note_system(s, b, name) : -ENOMEM;
		p += len + (p[len] == '\n');
	}
	strbuf_done(&text);
	return err;
}

int ftrace_setup_meta(struct ftrace_setup *s, bool all_formats, bool no_symbols,
		      struct ftrace_meta *ret)
{
	struct ftrace_meta_opts mo = { .root = &s->root,
				       .folder = s->buffers.at[0].folder,
				       .no_kallsyms = no_symbols };
	VEC(const char *) systems = { 0 };
	int err = 0;
	vec_for_each (&s->buffers, b) {
		/* In a buffer that is not ours alone others have events on too. */
		if (!err && !b->made)
			err = note_others(s, b);
		vec_for_each (&b->systems, name) {
			const char **slot = err ? NULL : vec_push(&systems);
			if (slot)
				*slot = *name;
			else
				err = err ? err : -ENOMEM;
		}
	}
	static const char *const none[] = { "" };
	mo.systems = all_formats ? NULL : systems.nr ? systems.at : none;
	mo.nr_systems = all_formats ? 0 : systems.nr ? systems.nr : 1;
	if (!err)
		err = ftrace_meta_read(ret, &s->tracing, &mo, s->diag);
	vec_free(&systems);
	return err;
}

int recording_write_plan(struct ftrace_recording *r)
{
	int err = 0;
	r->parts.nr_cpus = r->nr_cpus;
	for (size_t i = 0; i < r->s->buffers.nr && !err && !r->latency; i++) {
		char clock[64];
		const struct ftrace_buffer_opt *b = &r->s->buffers.at[i];
		err = clock_of(r, b->folder, clock, sizeof(clock));
		if (!err)
			err = parts_add_buffer(&r->parts, b->name ? b->name : "", b->folder, clock,
					       live_ftrace_subbuf_bytes(&r->s->tracing, b->folder));
	}
	if (r->latency)
		r->parts.latency = "";
	return err ? err : parts_write(&r->parts, &r->meta.out, r->diag);
}

int ftrace_recording_write_head(struct ftrace_recording *r)
{
	struct ftrace_buffer_opt *main = &r->s->buffers.at[0];
	int err = ftrace_setup_meta(r->s, r->opts.all_formats, false, &r->meta);
	if (err)
		return err;
	r->has_meta = true;
	if (r->opts.date)
		err = add_date(r, main->folder);
	if (!err)
		err = ftrace_setup_note_tsc(r->s, &r->meta);
	if (!err && r->opts.has_ts_offset) {
		char text[32];
		int n = snprintf(text, sizeof(text), "%lld", (long long)r->opts.ts_offset);
		err = ftrace_meta_option(&r->meta, OPTION_OFFSET, text, (size_t)n + 1);
	}
	for (const char *p = r->opts.proc_map ? r->s->pids : NULL; p && *p && !err;) {
		err = add_proc_map(r, (s32)strtol(p, NULL, 10));
		p += strcspn(p, ",");
		p += *p == ',';
	}
	return err ? err : recording_write_plan(r);
}
