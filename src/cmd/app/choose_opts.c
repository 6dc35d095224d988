#include "cmd/app/choose_opts.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int choose_check(const struct choose_opts *o, struct app *app)
{
	if (o->time && !choose_times_valid(o->time)) {
		(void)diag_error(&app->diag, -EINVAL, "--time: invalid time range '%s'", o->time);
		diag_hint(&app->diag, "12.5,13 or ,13 or 12.5, in seconds; 10%%/2 is the second "
				      "tenth, 20%%-30%% the third");
		return app_usage_said(app);
	}
	if (!choose_numbers_valid(o->cpus, true))
		return app_usage(app, "--cpu: invalid CPU list '%s'", o->cpus);
	if (!choose_numbers_valid(o->pids, false))
		return app_usage(app, "--pid: invalid process ID list '%s'", o->pids);
	if (!choose_numbers_valid(o->tids, false))
		return app_usage(app, "--tid: invalid thread ID list '%s'", o->tids);
	return 0;
}

void choose_sides(struct choose_opts *o, const struct app *app)
{
	if (!o->sides_given)
		o->no_guest = app->dialect->hides_guests;
}

/* What samples do not say cannot choose them: all of them would be gone. */
static int check_said(const struct choose_opts *o, const struct source *src, struct diag *d)
{
	enum choose_unsaid unsaid = choose_unsaid(o, src);
	bool cpu = unsaid == CHOOSE_CPU_UNSAID;
	if (unsaid == CHOOSE_ALL_SAID)
		return 0;
	(void)diag_error(d, -ENODATA, "%s: the samples do not record %s", cpu ? "--cpu" : "--time",
			 cpu ? "on which CPU they were taken" : "when they were taken");
	diag_hint(d, "sonde record stores it, and so does perf record %s",
		  cpu ? "--sample-cpu" : "-T");
	return -ENODATA;
}

int choose_parse(struct choose *c, const struct choose_opts *o, const struct source *src,
		 struct diag *d)
{
	int err = check_said(o, src, d);
	return err ? err : choose_read(c, o, src);
}

/* ---- nothing is left ---- */

/* The names of tasks, each once, as many as one reads. */
static void hint_comms(const struct catalog *c, const char *asked, struct diag *d)
{
	enum { FEW = 12 };
	const char *names[FEW];
	size_t nr = 0;
	bool more = false;
	/* Those of tasks, in the order in which the recording told them: a table has no order. */
	_cleanup_free_ bool *of_task = calloc(c->strings.nr + 1, sizeof(*of_task));
	for (u32 i = 0; of_task && c->last_comm.slots && i <= c->last_comm.mask; i++)
		if (c->last_comm.slots[i].value < c->strings.nr)
			of_task[c->last_comm.slots[i].value] = true;
	for (u32 id = 0; of_task && id < c->strings.nr; id++) {
		const char *name = of_task[id] ? strtab_str(&c->strings, id) : "";
		if (*name && nr < FEW)
			names[nr++] = name;
		else
			more |= *name != 0;
	}
	struct strbuf s;
	strbuf_init(&s);
	for (size_t i = 0; i < nr; i++)
		strbuf_printf(&s, "%s %s", i ? "," : "", names[i]);
	if (nr)
		diag_hint(d, "--comms %s: the recording has%s%s", asked, strbuf_cstr(&s),
			  more ? " and others (report --sort comm)" : "");
	strbuf_done(&s);
}

static void hint_times(const struct source *src, const char *asked, struct diag *d)
{
	struct time_range w = { 0 };
	if (choose_whole(src, &w) || !w.until_ns)
		return;
	diag_hint(d, "--time %s: samples range from %.6f to %.6f", asked, (double)w.from_ns / 1e9,
		  (double)w.until_ns / 1e9);
}

void choose_say_none(const struct choose_opts *o, const char *only, const struct source *src,
		     struct diag *d)
{
	if (!o->time && !o->comms && !o->pids && !o->tids && !o->cpus && !only)
		return;
	diag_warn(d, "no samples match the filters");
	if (o->time)
		hint_times(src, o->time, d);
	if (o->comms)
		hint_comms(&src->catalog, o->comms, d);
	if (o->pids || o->tids)
		diag_hint(d,
			  "'report --sort pid' shows the processes and threads in the recording");
	if (o->cpus)
		diag_hint(d, "'report --sort cpu' shows the CPUs in the recording");
	if (only)
		diag_hint(d, "%s: run without it to see what there is", only);
}

/* ---- from one event to another ---- */

/* The names there are: few enough to say them all, else where to look. */
static void hint_events(const struct catalog *c, const char *name, struct diag *d)
{
	enum { FEW = 12 };
	struct strbuf s;
	strbuf_init(&s);
	const char *names[FEW];
	size_t nr = 0;
	for (size_t i = 0; i < c->events.nr && nr < FEW; i++) {
		names[nr++] = c->events.at[i].name;
		strbuf_printf(&s, "%s %s", i ? "," : "", c->events.at[i].name);
	}
	const char *near = str_closest(name, names, nr);
	if (near)
		diag_hint(d, "did you mean '%s'?", near);
	else if (c->events.nr <= FEW)
		diag_hint(d, "available:%s", strbuf_cstr(&s));
	else
		diag_hint(d, "sonde evlist lists them");
	strbuf_done(&s);
}

int choose_gate(const struct gate_opts *o, const struct source *src, struct sample_gate *ret,
		struct diag *d)
{
	const char *missing;
	if (!choose_gate_events(o, src, ret, &missing))
		return 0;
	(void)diag_error(d, -EINVAL, "--switch-%s: the recording has no event '%s'",
			 missing == o->on ? "on" : "off", missing);
	hint_events(&src->catalog, missing, d);
	return -EINVAL;
}
