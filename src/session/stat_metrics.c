/* Metrics that were asked for (-M): which formulae they are, what they need to know, and the events they need. */
#include "session/stat_plan.h"

#include "kern/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int read_metric_file(struct stat_plan *p, const char *path, struct diag *d)
{
	struct sysroot here = { .dir_fd = AT_FDCWD };
	struct strbuf text;
	strbuf_init(&text);
	int err = sysroot_read(&here, path, &text);
	if (err)
		diag_error(d, err, "%s %s: %s", p->opts->labels->metric_file, path, strerror(-err));
	else
		err = metric_set_parse(&p->metric_set, path, strbuf_cstr(&text), d);
	strbuf_done(&text);
	return err;
}

static bool is_listed(const struct stat_plan *p, const char *event)
{
	vec_for_each (&p->list.events, e)
		if (metric_is_event(event, e))
			return true;
	return false;
}

/* Into how many events a name resolves; silently. */
static u32 count_events(void *ctx, const char *name)
{
	struct stat_plan *p = ctx;
	struct event_list list;
	struct diag quiet;
	event_list_init(&list);
	diag_init(&quiet);
	u32 nr = event_list_add(&list, &p->env, name, EVENT_USE_COUNT, &quiet) ? 0
									       : (u32)list.events.nr;
	diag_done(&quiet);
	event_list_done(&list);
	return nr;
}

static int init_prog(struct stat_plan *p, struct metric_prog *prog, const struct metric *m,
		     struct diag *d)
{
	struct machine machine = { 0 };
	const struct stat_opts *o = p->opts;
	struct metric_facts facts = { .machine = &machine,
				      .core_wide = o->all && !o->cpus,
				      .count_events = count_events,
				      .ctx = p };
	if (!metric_needs_facts(m) || !p->root)
		return metric_prog_init(prog, m, NULL, d);
	int err = machine_read(p->root, &machine);
	if (!err)
		err = metric_prog_init(prog, m, &facts, d);
	machine_done(&machine);
	return err;
}

int stat_metrics_prog(struct stat_plan *p, const struct metric *m, struct metric_prog **ret,
		      struct diag *d)
{
	struct metric_prog *prog = calloc(1, sizeof(*prog));
	struct metric_prog **slot = prog ? vec_push(&p->progs) : NULL;
	int err = slot ? init_prog(p, prog, m, d) : -ENOMEM;
	if (err) {
		if (slot)
			p->progs.nr--;
		free(prog);
		return err;
	}
	*slot = *ret = prog;
	return 0;
}

/* A formula of constants alone stands beside the time that passed. */
const char *stat_metrics_event(const struct metric_prog *prog, u32 *at)
{
	const char *name = metric_prog_next_event(prog, at);
	u32 first = 0;
	if (name || *at == UINT32_MAX || metric_prog_next_event(prog, &first))
		return name;
	*at = UINT32_MAX;
	return "duration_time";
}

/* Whether a formula has named an event already, before the one that ends at `at`. */
static bool comes_before(const struct metric_prog *prog, const char *name, u32 at)
{
	const char *other;
	for (u32 i = 0; (other = stat_metrics_event(prog, &i)) && i < at;)
		if (!strcmp(other, name))
			return true;
	return false;
}

/* Intel's metric events count only in a group that `slots` leads. */
static bool led_by_slots(struct stat_plan *p, const char *name)
{
	return !strncmp(name, "topdown-", 8) && count_events(p, "slots") &&
	       count_events(p, "topdown-retiring");
}

/* The events of a formula that are not counted yet, as one group that may be taken apart. */
static int add_metric_events(struct stat_plan *p, const struct metric_prog *prog, struct diag *d)
{
	struct strbuf text;
	unsigned nr = 0;
	const char *name;
	strbuf_init(&text);
	strbuf_char(&text, '{');
	for (u32 at = 0; (name = stat_metrics_event(prog, &at));) {
		if (is_listed(p, name) || comes_before(prog, name, at))
			continue;
		if (!nr && led_by_slots(p, name)) {
			strbuf_str(&text, "slots");
			nr++;
		}
		strbuf_printf(&text, "%s%s", nr++ ? "," : "", name);
	}
	strbuf_str(&text, "}:W");
	/* One event is no group. */
	const char *whole = strbuf_cstr(&text);
	char *alone = nr == 1 ? arena_strndup(&p->arena, whole + 1, text.len - 4) : NULL;
	int err = nr ? event_list_add(&p->list, &p->env, alone ? alone : whole, EVENT_USE_COUNT, d)
		     : 0;
	strbuf_done(&text);
	return err;
}

static int add_named(struct stat_plan *p, const struct metric *m, struct diag *d);

/* All metrics of a group; 0 metrics: there is no such group. */
static int add_group(struct stat_plan *p, const char *group, u32 *nr_added, struct diag *d)
{
	size_t nr;
	const struct metric *all = metric_builtin(&nr), *before = NULL;
	int err = 0;
	*nr_added = 0;
	for (size_t i = 0; i < nr && !err; i++) {
		if (!metric_in_group(&all[i], group) ||
		    (before && !strcmp(before->name, all[i].name)))
			continue;
		before = &all[i];
		err = add_named(p, before, d);
		++*nr_added;
	}
	return err;
}

static int unknown_metric(struct stat_plan *p, const char *name, struct diag *d)
{
	struct strbuf names;
	size_t nr;
	const struct metric *built_in = metric_builtin(&nr);
	strbuf_init(&names);
	for (size_t i = 0; i < nr; i++)
		if (!i || strcmp(built_in[i].name, built_in[i - 1].name))
			strbuf_printf(&names, "%s%s", i ? ", " : "", built_in[i].name);
	vec_for_each (&p->metric_set.items, m)
		strbuf_printf(&names, ", %s", m->name);
	diag_error(d, -EINVAL, "%s: unknown metric or metric group '%s'", p->opts->labels->metric,
		   name);
	diag_hint(d, "available: %s", strbuf_cstr(&names));
	diag_hint(d, "%s FILE adds more; 'sonde list metricgroups' shows the groups",
		  p->opts->labels->metric_file);
	strbuf_done(&names);
	return -EINVAL;
}

static int add_metric(struct stat_plan *p, const char *name, struct diag *d)
{
	const struct metric *m = metric_find(&p->metric_set, name);
	if (m)
		return add_named(p, m, d);
	u32 nr;
	int err = add_group(p, name, &nr, d);
	return err || nr ? err : unknown_metric(p, name, d);
}

static int add_named(struct stat_plan *p, const struct metric *m, struct diag *d)
{
	struct metric_prog *prog;
	int err = stat_metrics_prog(p, m, &prog, d);
	if (err)
		return err;
	struct diag why;
	diag_init(&why);
	err = add_metric_events(p, prog, &why);
	if (err == -EINVAL || err == -ENOENT ||
	    err == -EOPNOTSUPP) { /* the others are still worth having */
		diag_note(d, "%s %s cannot be computed here: %s", p->opts->labels->metric, m->name,
			  why.items.nr ? why.items.at[0].message : "one of its events is unknown");
		p->progs.nr--;
		metric_prog_done(prog);
		free(prog);
		err = 0;
	} else {
		diag_join(d, &why);
	}
	diag_done(&why);
	return err;
}

/* A word that is a file is read; the metrics of files are shown unless others are named. */
int stat_metrics_add(struct stat_plan *p, struct diag *d)
{
	const struct opt_list *words = &p->opts->metrics;
	bool named = false;
	int err = 0;
	for (size_t i = 0; i < words->items.nr && !err; i++) {
		bool file = !access(words->items.at[i], R_OK);
		err = file ? read_metric_file(p, words->items.at[i], d) : 0;
		named |= !file;
	}
	for (size_t i = 0; i < words->items.nr && !err; i++) {
		const char *text = words->items.at[i];
		while (*text && !err && access(words->items.at[i], R_OK)) {
			size_t len = strcspn(text, ",");
			const char *name = arena_strndup(&p->arena, text, len);
			err = name ? add_metric(p, name, d) : -ENOMEM;
			text += len + (text[len] == ',');
		}
	}
	for (size_t i = 0; i < p->metric_set.items.nr && !err && !named; i++)
		err = add_metric(p, p->metric_set.items.at[i].name, d);
	return err;
}
