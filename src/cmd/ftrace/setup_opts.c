#include "cmd/ftrace/setup_opts.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static const struct ftrace_option_names names = {
	.tasks = "-P",
	.command = "-F",
	.size = "-b",
	.cpus = "-M",
	.option = "-O",
	.functions = "-l",
	.graph = "-g",
	.tracer = "-p",
	.clock = "-C",
	.func_stack = "--func-stack",
	.force = "--force",
	.top = "--top",
	.date = "--date",
};

void ftrace_setup_defaults(void *opts)
{
	struct ftrace_setup *s = opts;
	ftrace_setup_init(s);
	s->names = &names;
}

int ftrace_take_event(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	/* An unset variable of a script is not "everything". */
	if (!value[strspn(value, ":")])
		return diag_error(d, -EINVAL,
				  "-e '%s': no event given; use '-e all' for all of them", value);
	return ftrace_setup_event(opts, value) ? 0 : -ENOMEM;
}

int ftrace_take_filter(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	struct ftrace_buffer_opt *b = ftrace_setup_buffer(opts);
	if (!b)
		return -ENOMEM;
	if (!b->events.nr)
		return diag_error(d, -EINVAL, "-f must follow the -e it applies to");
	struct ftrace_event_opt *e = &b->events.at[b->events.nr - 1];
	if (e->filter)
		return diag_error(d, -EINVAL, "'-e %s' already has a filter", e->text);
	e->filter = value;
	return 0;
}

int ftrace_take_trigger(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	struct ftrace_buffer_opt *b = ftrace_setup_buffer(opts);
	if (!b)
		return -ENOMEM;
	if (!b->events.nr)
		return diag_error(d, -EINVAL, "-R must follow the -e it applies to");
	return ftrace_add_word(&b->events.at[b->events.nr - 1].triggers, value);
}

int ftrace_take_negate(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)value;
	(void)d;
	struct ftrace_buffer_opt *b = ftrace_setup_buffer(opts);
	if (!b)
		return -ENOMEM;
	b->negate = !negated;
	return 0;
}

int ftrace_take_buffer(void *opts, const char *value, bool negated, struct diag *d)
{
	struct ftrace_setup *s = opts;
	(void)negated;
	if (!*value || *value == '.' || strchr(value, '/') || strlen(value) > NAME_MAX)
		return diag_error(d, -EINVAL, "-B: invalid instance name '%s'", value);
	if (!ftrace_setup_buffer(opts)) /* the unnamed one comes first */
		return -ENOMEM;
	struct ftrace_buffer_opt *b = vec_push(&s->buffers);
	if (!b)
		return -ENOMEM;
	b->name = value;
	return 0;
}

#define TAKE_WORD(fn, field)                                                                       \
	int fn(void *opts, const char *value, bool negated, struct diag *d)                        \
	{                                                                                          \
		(void)negated;                                                                     \
		(void)d;                                                                           \
		struct ftrace_buffer_opt *b = ftrace_setup_buffer(opts);                           \
		if (b)                                                                             \
			b->field = value;                                                          \
		return b ? 0 : -ENOMEM;                                                            \
	}
#define TAKE_LIST(fn, field)                                                                       \
	int fn(void *opts, const char *value, bool negated, struct diag *d)                        \
	{                                                                                          \
		(void)negated;                                                                     \
		(void)d;                                                                           \
		struct ftrace_buffer_opt *b = ftrace_setup_buffer(opts);                           \
		return b ? ftrace_add_word(&b->field, value) : -ENOMEM;                            \
	}
#define TAKE_FLAG(fn, field)                                                                       \
	int fn(void *opts, const char *value, bool negated, struct diag *d)                        \
	{                                                                                          \
		(void)value;                                                                       \
		(void)d;                                                                           \
		struct ftrace_buffer_opt *b = ftrace_setup_buffer(opts);                           \
		if (b)                                                                             \
			b->field = !negated;                                                       \
		return b ? 0 : -ENOMEM;                                                            \
	}
TAKE_WORD(ftrace_take_tracer, tracer)
TAKE_WORD(ftrace_take_clock, clock)
TAKE_WORD(ftrace_take_cpumask, cpumask)
TAKE_WORD(ftrace_take_size, size)
TAKE_LIST(ftrace_take_function, functions)
TAKE_LIST(ftrace_take_no_function, no_functions)
TAKE_LIST(ftrace_take_graph, graph)
TAKE_LIST(ftrace_take_no_graph, no_graph)
TAKE_LIST(ftrace_take_option, options)
TAKE_FLAG(ftrace_take_stacks, stacks)
TAKE_FLAG(ftrace_take_func_stack, func_stack)
