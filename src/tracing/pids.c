/* Which tasks are traced: those named, the command, or everybody but ourselves. */
#include "tracing/setup_impl.h"
#include "kern/trace_pid.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- numbers of tasks, as the kernel's lists take them ------------------------------------------------------------------ */

static int translate(struct ftrace_setup *s, const char *name)
{
	struct diag *d = s->diag;
	char folder[300];
	int err = journal_instance(s->journal, name, d);
	if (err)
		return err;
	(void)snprintf(folder, sizeof(folder), "instances/%s/", name);
	if (trace_pid_find(&s->tracing, folder, getpid(), &s->own_pid))
		s->own_pid = 0; /* then we are traced too */
	if (s->only_command && s->command_pid > 0)
		err = trace_pid_find(&s->tracing, folder, s->command_pid, &s->command_pid);
	/* Of no more use; the journal's undo does not miss it. */
	(void)unlinkat(s->tracing.dir, folder, AT_REMOVEDIR);
	if (err) {
		diag_error(d, err,
			   "%s inside a PID namespace: cannot find the kernel's PID of the "
			   "command: %s",
			   s->names->command, strerror(-err));
		diag_hint(d, "run it outside of the container");
	}
	return err;
}

int ftrace_find_pids(struct ftrace_setup *s, int pid)
{
	char name[128];
	s->own_pid = (s32)getpid();
	s->command_pid = pid;
	if (s->dry_run || !trace_pid_translates(&s->root))
		return 0;
	if (s->pids) {
		int err = diag_error(s->diag, -EOPNOTSUPP,
				     "%s %s inside a PID namespace: the kernel expects PIDs of the "
				     "host, which cannot be found from here",
				     s->names->tasks, s->pids);
		diag_hint(s->diag,
			  "run it outside of the container with the host's PIDs, or start the "
			  "program with %s",
			  s->names->command);
		return err;
	}
	(void)snprintf(name, sizeof(name), "sonde-%s-pids", journal_name(s->journal));
	return translate(s, name);
}

/* ---- the lists ---------------------------------------------------------------------------------------------------------- */

static int apply_chosen(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	struct strbuf list;
	int err = 0;
	strbuf_init(&list);
	const char *at = s->pids;
	size_t len;
	s32 id;
	int more = 0;
	while (at && (more = num_next_id(&at, &len, &id)) > 0) {
		strbuf_printf(&list, "%d\n", id);
		if (kill(id, 0) && errno == ESRCH)
			diag_warn(s->diag, "%s: no such process: %d", s->names->tasks, id);
	}
	if (more) {
		err = diag_error(s->diag, more, "%s: invalid process ID '%.*s'", s->names->tasks,
				 (int)len, at);
		diag_span(s->diag, s->pids, (size_t)(at - s->pids), len);
	}
	if (!err && s->only_command && s->command_pid > 0)
		strbuf_printf(&list, "%d\n", s->command_pid);
	bool functions = b->tracer &&
			 (!strcmp(b->tracer, "function") || !strcmp(b->tracer, "function_graph"));
	if (!err && list.len) {
		err = ftrace_set_flag(s, b, "event-fork", s->children);
		if (!err && functions)
			err = ftrace_set_flag(s, b, "function-fork", s->children);
		if (!err)
			err = journal_list(s->journal, ftrace_path_in(s, b, "set_event_pid"),
					   strbuf_cstr(&list), s->diag);
		if (!err && functions)
			err = journal_list(s->journal, ftrace_path_in(s, b, "set_ftrace_pid"),
					   strbuf_cstr(&list), s->diag);
	}
	strbuf_done(&list);
	return err;
}

/* Ourselves, and with the fork options the threads that we make later: they read what is written. */
static int leave_us_out(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	static const struct {
		const char *list, *option;
		bool functions;
	} kinds[] = {
		{ "set_event_notrace_pid", "event-fork", false },
		{ "set_ftrace_notrace_pid", "function-fork", true },
	};
	char pid[32];
	int err = 0;
	(void)snprintf(pid, sizeof(pid), "%d\n", s->own_pid);
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !err; i++) {
		const char *path = ftrace_path_in(s, b, "%s", kinds[i].list);
		if (s->no_filter || !s->own_pid || s->dry_run || s->pids || s->only_command ||
		    !journal_owns(s->journal, path) || !tracing_has(&s->tracing, path) ||
		    (kinds[i].functions && (!b->tracer || strcmp(b->tracer, "function"))))
			continue;
		err = ftrace_set_flag(s, b, kinds[i].option, true);
		/* A kernel that does not let us leave ourselves out traces us too. */
		if (!err)
			(void)!journal_list(s->journal, path, pid, NULL);
	}
	return err;
}

int ftrace_apply_pids(struct ftrace_setup *s, struct ftrace_buffer_opt *b)
{
	int err = apply_chosen(s, b);
	return err ? err : leave_us_out(s, b);
}
