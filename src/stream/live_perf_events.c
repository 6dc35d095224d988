/* The events of a recording: which there are, and what the kernel is asked to put into their samples. */
#include "arch/arch.h"
#include "event/branch.h"
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
		err = diag_error(d, -EINVAL, "%s does not support sampling", desc->name);
	else if (desc->is_uncore && !lp->opts.system_wide)
		err = diag_error(d, -EINVAL, "%s is not bound to a process: it needs -a",
				 desc->name);
	if (err)
		diag_span(d, desc->text, desc->span.start, desc->span.len);
	return err;
}

static bool is_bpf_output(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_BPF_OUTPUT;
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
		e->whole_cpus = lp->opts.output && is_bpf_output(&desc->attr);
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
	a->cgroup = o->all_cgroups;
	a->mmap = 1;
	a->mmap2 = 1;
	a->build_id = o->map_build_ids;
	a->comm = 1;
	a->comm_exec = 1;
	a->task = 1;
	a->ksymbol = 1;
	a->bpf_event = !o->no_bpf_events;
}

/*
 * perf adds an event for the records about tasks and maps with -a, -C and -D, and lets the first event carry them otherwise. Two
 * differences on purpose:
 * - with --overwrite they have a ring of their own, because in perf's the newest samples overwrite them;
 * - under our own name processes and threads that run already get one too: it counts while they are being listed, so that
 *   no map goes unseen between the list and the first sample.
 */
static bool needs_own_tracking(const struct live_perf *lp)
{
	const struct live_opts *o = &lp->opts;
	bool overwrite = o->overwrite;
	vec_for_each (&lp->events, e)
		overwrite |= e->desc->terms.overwrite > 0;
	return o->system_wide || o->cpus || o->no_exec_start || overwrite || o->output ||
	       (!o->as_perf && !o->command_pid);
}

static int add_tracking(struct live_perf *lp)
{
	const struct live_opts *o = &lp->opts;
	if (!needs_own_tracking(lp)) {
		set_tracking(o, &lp->events.at[0].attr);
		return 0;
	}
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.sample_period = 1,
					.size = sizeof(attr) };
	set_tracking(o, &attr);
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
		diag_error(d, -EINVAL, "-F %llu: the system limit is %llu", (unsigned long long)hz,
			   (unsigned long long)most);
		diag_hint(d,
			  "without %s the limit is used; as root: sysctl "
			  "kernel.perf_event_max_sample_rate=%llu",
			  diag_option(d, DIAG_OPT_STRICT_FREQ), (unsigned long long)hz);
		return 0;
	}
	if (asked && asked != UINT64_MAX) {
		diag_warn(d, "sampling at %llu Hz instead of %llu: this is the system limit",
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
	const struct live_opts *o = &lp->opts;
	bool by_term = e->desc && (e->desc->terms.has_period || e->desc->terms.has_freq);
	if (!by_term && (o->period || o->freq_hz || !a->sample_period)) {
		a->freq = !o->period;
		a->sample_period = o->period ? o->period : hz;
	}
	if (a->freq)
		a->sample_type |= PERF_SAMPLE_PERIOD;
	if (o->no_samples)
		a->sample_period = 0;
	if (o->sample_period > 0)
		a->sample_type |= PERF_SAMPLE_PERIOD;
	if (o->sample_period < 0)
		a->sample_type &= ~(u64)PERF_SAMPLE_PERIOD;
}

/* :S: only the leader takes samples; each holds the counts of all. */
static void set_group_read(struct live_perf *lp, struct live_event *e)
{
	struct perf_event_attr *a = &e->attr;
	const struct live_event *leader = &lp->events.at[e->leader];
	a->sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_ID;
	if (leader->nr_members > 1) {
		a->read_format |= PERF_FORMAT_GROUP;
		a->inherit = 0; /* a count that is handed on has no values of a group */
	}
	if (leader == e)
		return;
	a->sample_type = leader->attr.sample_type;
	a->freq = 0;
	a->sample_period = 0;
	a->write_backward = 0;
}

/* A group starts with its leader. */
static void set_start(const struct live_perf *lp, struct live_event *e)
{
	const struct live_opts *o = &lp->opts;
	bool by_exec = o->command_pid && !o->system_wide;
	if (e->tracking) {
		/* With -D the command's own records begin with its exec; all others at once. */
		e->attr.disabled = e->attr.enable_on_exec = o->no_exec_start && by_exec;
		return;
	}
	e->attr.disabled = e->leader == (u32)(e - lp->events.at);
	e->attr.enable_on_exec = e->attr.disabled && by_exec && !o->no_exec_start && !e->whole_cpus;
}

/* The function tracer's own event. */
static bool is_function_event(const struct live_event *e)
{
	return e->attr.type == PERF_TYPE_TRACEPOINT && e->name &&
	       !strcmp(e->name, "ftrace:function");
}

/* What unwinding needs later. */
static void set_stack(const struct live_opts *o, struct live_event *e, u32 bytes)
{
	const struct arch *arch = arch_host();
	struct perf_event_attr *a = &e->attr;
	if (e->tracking && o->unwinds)
		return;
	a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a->sample_stack_user = bytes;
	if (o->unwinds) { /* by ourselves, while it is recorded: no more than that takes */
		a->sample_regs_user |= arch ? arch->perf_mask : 0;
		return;
	}
	/* perf reads unwind tables as memory of the process: it must know the maps that hold them. */
	a->sample_regs_user |= arch ? arch->perf_all : 0;
	a->exclude_callchain_user = 1;
	a->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
	a->mmap_data = a->mmap;
}

static void set_chain(const struct live_opts *o, struct live_event *e, u32 stack_bytes)
{
	struct perf_event_attr *a = &e->attr;
	a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	a->exclude_callchain_user = o->no_user_chain;
	a->exclude_callchain_kernel = o->no_kernel_chain;
	if (stack_bytes && !is_function_event(e))
		set_stack(o, e, stack_bytes);
}

/* An event's own call-graph=, stack-size= and max-stack= take the place of -g and --call-graph. */
static void set_chain_terms(const struct live_opts *o, struct live_event *e)
{
	enum { STACK_BYTES_DEFAULT = 8192 };
	const struct event_terms *t = &e->desc->terms;
	bool off = t->call_graph && !strcmp(t->call_graph, "no");
	bool dwarf =
		t->call_graph ? !strcmp(t->call_graph, "dwarf") : o->stack_bytes && !t->max_stack;
	u32 bytes = t->stack_size    ? (u32)min((t->stack_size + 7) & ~7ull, 65528ull)
		    : o->stack_bytes ? o->stack_bytes
				     : STACK_BYTES_DEFAULT;
	if (!off && (t->call_graph || t->max_stack || o->call_graph))
		set_chain(o, e, dwarf ? bytes : 0);
	if (!off && t->max_stack)
		e->attr.sample_max_stack = (u16)min(t->max_stack, (u32)UINT16_MAX);
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

/* No event that only carries records has branches, but perf writes down which were asked for. */
static void set_branches(const struct live_event *e, u64 kinds, struct perf_event_attr *a)
{
	if (kinds && !e->tracking)
		a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
	a->branch_sample_type = kinds;
}

/* An event's own branch_type= takes the place of -b and -j; call-graph=lbr is one as well. */
static int set_branch_terms(struct live_event *e, struct diag *d)
{
	const struct event_terms *t = &e->desc->terms;
	u64 kinds = 0;
	if (t->call_graph && !strcmp(t->call_graph, "lbr"))
		set_branches(e, BRANCH_CALL_STACK, &e->attr);
	if (!t->branch_type)
		return 0;
	e->attr.sample_type &= ~(u64)PERF_SAMPLE_BRANCH_STACK;
	int err = strcmp(t->branch_type, "no") ? branch_parse(t->branch_type, &kinds, d) : 0;
	if (!err)
		set_branches(e, kinds, &e->attr);
	return err;
}

/*
 * The time and the CPU of a sample. perf leaves the time out of threads that hand nothing on, each with its own ring: what happened
 * to whom is then in the order of the rings. Under our own name it is always there, unless --no-timestamp says otherwise.
 */
static void set_time_and_cpu(const struct live_opts *o, struct perf_event_attr *a)
{
	if (o->sample_time > 0 || (!o->sample_time && !(o->as_perf && o->per_thread)))
		a->sample_type |= PERF_SAMPLE_TIME;
	if (o->system_wide || o->cpus || o->sample_cpu || o->raw_samples)
		a->sample_type |= PERF_SAMPLE_CPU;
	if (o->raw_samples)
		a->sample_type |= PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
}

static bool has_raw_data(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_TRACEPOINT || is_bpf_output(a);
}

/*
 * The period of such events is how much they count: sched_stat_runtime counts nanoseconds. Without it in the sample the kernel
 * repeats the event that many times instead.
 */
static void set_raw_data(struct perf_event_attr *a)
{
	a->sample_type |= PERF_SAMPLE_RAW | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	if (!a->sample_period)
		a->sample_period = 1;
}

static void set_read_format(const struct live_opts *o, struct perf_event_attr *a)
{
	a->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	if (o->running_times || o->per_thread_counts)
		a->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

/* What every event has, tracking too: perf gives it the same sample type as far as it can. */
static void set_common(const struct live_opts *o, struct live_event *e)
{
	struct perf_event_attr *a = &e->attr;
	a->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | o->extra_sample_type;
	a->sample_id_all = 1;
	/* Programs may not write where an event is handed on. */
	a->inherit = !o->no_inherit && !o->per_thread && !e->whole_cpus;
	a->inherit_stat = o->per_thread_counts;
	a->wakeup_events = o->at_once;
	if (has_raw_data(a))
		set_raw_data(a);
	set_read_format(o, a);
	set_time_and_cpu(o, a);
	if (o->data_addr) {
		a->sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
		a->mmap_data = a->mmap;
	}
	if (o->all_cgroups)
		a->sample_type |= PERF_SAMPLE_CGROUP;
	if (o->weight)
		a->sample_type |= PERF_SAMPLE_WEIGHT_STRUCT;
	if (o->has_clock) {
		a->use_clockid = 1;
		a->clockid = o->clock_id;
	}
	if (o->only_user || o->only_kernel) {
		a->exclude_user = !o->only_user;
		a->exclude_kernel = !o->only_kernel;
	}
}

static int set_terms(const struct live_opts *o, struct live_event *e, struct diag *d)
{
	struct perf_event_attr *a = &e->attr;
	const struct event_terms *t = &e->desc->terms;
	if (t->inherit >= 0)
		a->inherit = t->inherit;
	if (t->overwrite >= 0)
		a->write_backward = t->overwrite;
	if (t->time > 0)
		a->sample_type |= PERF_SAMPLE_TIME;
	if (!t->time)
		a->sample_type &= ~(u64)PERF_SAMPLE_TIME;
	set_chain_terms(o, e);
	return set_branch_terms(e, d);
}

/* A ring holds few of the largest samples: half full, as is the rule, may be too late for a reader to wake. */
static void set_early_wakeup(const struct live_perf *lp, struct perf_event_attr *a)
{
	enum { WAKEUP_PART = 8 };
	a->watermark = 1;
	a->wakeup_watermark = (u32)(lp->ring_bytes / WAKEUP_PART);
}

static int configure_event(struct live_perf *lp, struct live_event *e, u64 hz, struct diag *d)
{
	const struct live_opts *o = &lp->opts;
	int err = 0;
	set_common(o, e);
	set_branches(e, o->branches, &e->attr);
	if (e->tracking) {
		if (o->call_graph)
			set_chain(o, e, o->stack_bytes);
	} else {
		e->attr.write_backward = o->overwrite;
		set_regs(o, &e->attr);
		err = set_terms(o, e, d);
	}
	/* Reading user memory may fault, and what handles faults may be traced: the kernel insists, with call chains and without. */
	if (is_function_event(e))
		e->attr.exclude_callchain_user = 1;
	if (o->larger_stacks && !o->at_once)
		set_early_wakeup(lp, &e->attr);
	set_pace(lp, e, hz);
	set_start(lp, e);
	return err;
}

/*
 * With several events each record says whose it is. Where all samples have the same parts, at the place of any other part; else
 * first, where it can be found before it is known what follows.
 */
static void set_ids(struct live_perf *lp)
{
	bool differ = lp->opts.sample_identifier;
	vec_for_each (&lp->events, e)
		differ |= e->attr.sample_type != lp->events.at[0].attr.sample_type;
	if (!differ && lp->events.nr < 2)
		return;
	vec_for_each (&lp->events, e) {
		e->attr.sample_type &= ~(u64)(PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER);
		e->attr.sample_type |= differ ? PERF_SAMPLE_IDENTIFIER : PERF_SAMPLE_ID;
	}
}

static int configure(struct live_perf *lp, struct diag *d)
{
	u64 hz = usable_freq(lp, d);
	if (!hz)
		return -EINVAL;
	for (size_t i = 0; i < lp->events.nr; i++) {
		int err = configure_event(lp, &lp->events.at[i], hz, d);
		if (err)
			return err;
	}
	vec_for_each (&lp->events, e)
		if (e->group_read)
			set_group_read(lp, e);
	set_ids(lp);
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
		  "%s and the other events of its weak group (W) cannot be measured together; they "
		  "are measured separately",
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

/*
 * The largest copy is what the kernel can put into a record, or such that a ring still holds the samples of an eighth of a second: on a
 * busy machine readers get their turn that late. The one between is half of it.
 */
static u32 stack_bytes(const struct live_perf *lp, u32 step)
{
	enum { STACK_BYTES_MAX = 65528, SAMPLES_MIN = 16, RING_PART_OF_SECOND = 8 };
	u32 first = lp->opts.stack_bytes;
	if (!step)
		return first;
	if (!lp->opts.larger_stacks || step >= LIVE_STACK_SIZES)
		return 0;
	u64 hz = lp->opts.freq_hz && !lp->opts.period ? lp->opts.freq_hz : FREQ_DEFAULT_HZ;
	if (lp->opener.rights.max_rate_hz)
		hz = min(hz, lp->opener.rights.max_rate_hz);
	u64 samples = max(hz / RING_PART_OF_SECOND, (u64)SAMPLES_MIN);
	u32 most = (u32)min(lp->ring_bytes / samples, (u64)STACK_BYTES_MAX) & ~7u;
	u32 half = (most / 2 + 7) & ~7u;
	if (most < first + first / 2)
		return 0;
	if (half < first + first / 2)
		return step == 1 ? most : 0;
	return step == 1 ? half : most;
}

u32 live_perf_stack_bytes(const struct live_perf *lp, u32 step)
{
	for (size_t i = 0; i < lp->fds.nr; i++)
		if (lp->fds.at[i].step == step)
			return stack_bytes(lp, step);
	return 0;
}

bool live_perf_larger_attr(const struct live_perf *lp, const struct live_event *e, u32 step,
			   struct perf_event_attr *ret)
{
	u32 bytes = stack_bytes(lp, step);
	bool alone = e->leader == (u32)(e - lp->events.at) && e->nr_members == 1;
	if (!bytes || !alone || e->tracking || !(e->attr.sample_type & PERF_SAMPLE_STACK_USER) ||
	    e->attr.sample_stack_user != lp->opts.stack_bytes || e->desc->terms.stack_size)
		return false;
	*ret = e->attr;
	ret->sample_stack_user = bytes;
	ret->disabled = 1;
	ret->enable_on_exec = 0;
	return true;
}
