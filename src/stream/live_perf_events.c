/* The events of a recording: which there are, and what the kernel is asked to put into their samples. */
#include "arch/arch.h"
#include "stream/live_perf_impl.h"

#include <errno.h>

enum { FREQ_DEFAULT_HZ = 4000 };

static struct live_event *add_event(struct live_perf *lp, const char *name,
				    const struct perf_event_attr *attr)
{
	struct live_event *e = vec_push(&lp->events);
	if (!e)
		return NULL;
	e->attr = *attr;
	e->leader = (u32)lp->events.nr - 1;
	e->nr_members = 1;
	e->name = strdup(name);
	return e->name ? e : NULL;
}

/* What cannot be sampled this way is refused with its reason. */
static int check_event(const struct live_perf *lp, const struct event_desc *desc, struct diag *d)
{
	int err = 0;
	if (desc->open != EVENT_OPEN_PERF)
		err = diag_error(d, -EINVAL, "%s cannot be sampled", desc->name);
	else if (desc->is_uncore && !lp->opts.system_wide)
		err = diag_error(d, -EINVAL, "%s belongs to no process: it needs -a", desc->name);
	if (err)
		diag_span(d, desc->text, desc->span.start, desc->span.len);
	return err;
}

static int add_events(struct live_perf *lp, struct diag *d)
{
	const struct event_list *list = lp->opts.events;
	for (size_t i = 0; i < list->events.nr; i++) {
		const struct event_desc *desc = &list->events.at[i];
		int err = check_event(lp, desc, d);
		if (err)
			return err;
		struct live_event *e = add_event(lp, desc->name, &desc->attr);
		if (!e)
			return -ENOMEM;
		e->desc = desc;
		e->leader = desc->leader;
		e->nr_members = desc->nr_members;
		e->group_read = desc->sample_read;
		if (desc->precise_max)
			e->attr.precise_ip = 3;
		if (!desc->cpus)
			continue;
		e->cpus = malloc(sizeof(*e->cpus));
		if (!e->cpus)
			return -ENOMEM;
		err = cpuset_parse_list(desc->cpus, e->cpus, d);
		if (err)
			return err;
	}
	return 0;
}

static void set_tracking(const struct live_opts *o, struct perf_event_attr *a)
{
	a->context_switch = o->switches;
	a->namespaces = o->namespaces;
	a->mmap = 1;
	a->mmap2 = 1;
	a->build_id = 1;
	a->comm = 1;
	a->comm_exec = 1;
	a->task = 1;
	a->ksymbol = 1;
	a->bpf_event = !o->no_bpf_events;
}

/*
 * Records about tasks and maps come with the first event when that starts with the command's exec. Otherwise an event of
 * their own is needed: it counts from the start, while existing tasks are being listed, and on all CPUs.
 */
static int add_tracking(struct live_perf *lp)
{
	if (lp->opts.command_pid && !lp->opts.system_wide && !lp->opts.cpus &&
	    !lp->opts.no_exec_start && !lp->opts.overwrite) {
		set_tracking(&lp->opts, &lp->events.at[0].attr);
		return 0;
	}
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.size = sizeof(attr) };
	set_tracking(&lp->opts, &attr);
	struct live_event *e = add_event(lp, "dummy:HG", &attr);
	if (!e)
		return -ENOMEM;
	e->tracking = true;
	return 0;
}

/* -F, within what the system allows. */
static u64 usable_freq(const struct live_perf *lp, struct diag *d)
{
	u64 asked = lp->opts.freq_hz, hz = asked ? asked : FREQ_DEFAULT_HZ;
	u64 most = lp->opener.rights.max_rate_hz;
	if (lp->opts.period || !most || hz <= most)
		return hz;
	if (asked && asked != UINT64_MAX && lp->opts.strict_freq) {
		diag_error(d, -EINVAL, "-F %llu: the system allows %llu", (unsigned long long)hz,
			   (unsigned long long)most);
		diag_hint(d,
			  "without --strict-freq that is taken; as root: sysctl "
			  "kernel.perf_event_max_sample_rate=%llu",
			  (unsigned long long)hz);
		return 0;
	}
	if (asked && asked != UINT64_MAX) {
		diag_warn(d, "sampling at %llu Hz, not %llu: that is the system's limit",
			  (unsigned long long)most, (unsigned long long)hz);
		diag_hint(d, "as root: sysctl kernel.perf_event_max_sample_rate=%llu",
			  (unsigned long long)hz);
	}
	return most;
}

/* How often: by the event's own term, else by -c or -F, else every time (tracepoints), else 4000 times a second. */
static void set_pace(const struct live_perf *lp, struct live_event *e, u64 hz)
{
	struct perf_event_attr *a = &e->attr;
	const struct event_terms *terms = &e->desc->terms;
	bool asked = lp->opts.period || lp->opts.freq_hz;
	if (lp->opts.no_samples) {
		a->freq = 0;
		a->sample_period = 0;
	} else if (!terms->has_period && !terms->has_freq && (asked || !a->sample_period)) {
		a->freq = !lp->opts.period;
		if (lp->opts.period)
			a->sample_period = lp->opts.period;
		else
			a->sample_freq = hz;
	}
	if (a->freq)
		a->sample_type |= PERF_SAMPLE_PERIOD;
}

/* :S: only the leader takes samples; each holds the counts of all. */
static void set_group_read(struct live_perf *lp, struct live_event *e)
{
	struct perf_event_attr *a = &e->attr;
	const struct live_event *leader = &lp->events.at[e->leader];
	a->sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_IDENTIFIER;
	if (leader->nr_members > 1) {
		a->read_format |= PERF_FORMAT_GROUP;
		a->inherit = 0; /* a count that is handed on has no values of a group */
	}
	if (leader == e)
		return;
	a->sample_type = leader->attr.sample_type;
	a->freq = 0;
	a->sample_period = 0;
}

/* A group starts with its leader. */
static void set_start(const struct live_perf *lp, struct live_event *e)
{
	const struct live_opts *o = &lp->opts;
	e->attr.disabled = e->leader == (u32)(e - lp->events.at);
	e->attr.enable_on_exec =
		e->attr.disabled && o->command_pid && !o->system_wide && !o->no_exec_start;
}

/* What unwinding needs later. */
static void set_stack(const struct live_opts *o, struct perf_event_attr *a)
{
	const struct arch *arch = arch_host();
	a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a->sample_regs_user = arch ? arch->perf_mask : 0;
	a->sample_stack_user = o->stack_bytes;
	a->exclude_callchain_user |= o->kernel_chain;
	/* perf reads unwind tables as memory of the process: it must know the maps that hold them. */
	a->mmap_data |= a->mmap && o->kernel_chain;
}

static void set_regs(const struct live_opts *o, struct perf_event_attr *a)
{
	if (o->regs_intr)
		a->sample_type |= PERF_SAMPLE_REGS_INTR;
	if (o->regs_user)
		a->sample_type |= PERF_SAMPLE_REGS_USER;
	a->sample_regs_intr = o->regs_intr;
	a->sample_regs_user |= o->regs_user; /* beside those that unwinding needs */
}

/* The function tracer's own event. */
static bool is_function_event(const struct live_event *e)
{
	return e->attr.type == PERF_TYPE_TRACEPOINT && e->name &&
	       !strcmp(e->name, "ftrace:function");
}

static int configure(struct live_perf *lp, struct diag *d)
{
	const struct live_opts *o = &lp->opts;
	u64 hz = usable_freq(lp, d);
	if (!hz)
		return -EINVAL;
	bool many = lp->events.nr > 1 || lp->events.at[0].group_read;
	vec_for_each (&lp->events, e) {
		struct perf_event_attr *a = &e->attr;
		a->sample_type |=
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
		/* With several events each record must say whose it is, at a place that does not depend on that. */
		if (many)
			a->sample_type |= PERF_SAMPLE_IDENTIFIER;
		a->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
		a->sample_id_all = 1;
		a->inherit = !o->no_inherit && !o->system_wide;
		a->mmap_data = a->mmap && o->data_addr;
		a->wakeup_events = o->at_once;
		if (o->has_clock) {
			a->use_clockid = 1;
			a->clockid = o->clock_id;
		}
		if (e->tracking) {
			a->sample_period = 1;
			continue;
		}
		if (e->desc->terms.inherit >= 0)
			a->inherit = e->desc->terms.inherit && !o->system_wide;
		if (e->desc->terms.max_stack)
			a->sample_max_stack = (u16)min(e->desc->terms.max_stack, (u32)UINT16_MAX);
		set_start(lp, e);
		a->write_backward = o->overwrite;
		a->inherit_stat = o->per_thread_counts && a->inherit;
		if (o->only_user || o->only_kernel) {
			a->exclude_user = !o->only_user;
			a->exclude_kernel = !o->only_kernel;
		}
		if (o->data_addr)
			a->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
		a->sample_type |= o->more;
		if (o->running_times || o->per_thread_counts)
			a->read_format |=
				PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		if (o->period_too)
			a->sample_type |= PERF_SAMPLE_PERIOD;
		if (o->call_graph) {
			a->sample_type |= PERF_SAMPLE_CALLCHAIN;
			a->exclude_callchain_user = o->no_user_chain;
			a->exclude_callchain_kernel = o->no_kernel_chain;
		}
		if (o->stack_bytes)
			set_stack(o, a);
		set_regs(o, a);
		if (a->type == PERF_TYPE_TRACEPOINT)
			a->sample_type |= PERF_SAMPLE_RAW;
		/* Reading user memory may fault, and what handles faults may be traced: the kernel insists. */
		if (is_function_event(e))
			a->exclude_callchain_user = 1;
		if (o->weight)
			a->sample_type |= PERF_SAMPLE_WEIGHT_STRUCT;
		if (o->branches) {
			a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
			a->branch_sample_type = o->branches;
		}
		set_pace(lp, e, hz);
		if (e->group_read)
			set_group_read(lp, e);
	}
	return 0;
}

int live_perf_add_events(struct live_perf *lp, struct diag *d)
{
	int err = add_events(lp, d);
	if (!err)
		err = add_tracking(lp);
	return err ? err : configure(lp, d);
}

void live_perf_break_group(struct live_perf *lp, struct diag *d)
{
	u64 hz = usable_freq(lp, NULL);
	diag_note(d,
		  "%s and the others of its weak group (W) cannot be measured together; each is "
		  "by itself now",
		  lp->events.at[lp->weak_group].name);
	vec_for_each (&lp->events, e) {
		if (e->tracking || e->leader != lp->weak_group)
			continue;
		e->leader = (u32)(e - lp->events.at);
		e->nr_members = 1;
		e->attr.read_format &= ~(u64)PERF_FORMAT_GROUP;
		e->group_read = false;
		set_start(lp, e);
		set_pace(lp, e, hz);
	}
}
