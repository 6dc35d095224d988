#include "cmd/record/record.h"

#include "arch/arch.h"
#include "event/branch.h"
#include "kern/cgroup.h"
#include "kern/machine.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	AT_ONCE_FLUSH_NS = 50000000,
	OFF_CPU_RING_BYTES =
		4 << 20, /* bursts of the scheduler's events are longer than those of samples */
};

/* what: "process", "thread". */
static int parse_ids(const char *text, const char *what, struct record_ids *to, struct diag *d)
{
	const char *at = text;
	size_t len;
	s32 id;
	int more;
	while ((more = num_next_id(&at, &len, &id)) > 0) {
		s32 *slot = vec_push(&to->list);
		if (!slot)
			return -ENOMEM;
		*slot = id;
	}
	if (!more && !to->list.nr)
		return diag_error(d, -EINVAL, "no %s ID in '%s'", what, text);
	if (!more)
		return 0;
	diag_error(d, -EINVAL, "invalid %s ID '%.*s'", what, (int)len, at);
	diag_span(d, text, (size_t)(at - text), len);
	return -EINVAL;
}

/* -m: pages, or bytes with a unit. */
static int parse_ring(const char *text, u64 *bytes, struct diag *d)
{
	u64 v;
	char rings[32];
	size_t len = strcspn(text, ","); /* after it: pages for AUX tracing, which is not recorded */
	if (len >= sizeof(rings))
		return diag_error(d, -EINVAL, "-m %s: expected a number of pages, or a size", text);
	memcpy(rings, text, len);
	rings[len] = '\0';
	int err = num_parse_size(rings, &v);
	if (!err && rings[strspn(rings, "0123456789")] == 0)
		err = __builtin_mul_overflow(v, (u64)sysconf(_SC_PAGESIZE), &v) ? -ERANGE : 0;
	if (err || !v || v > 1ull << 32)
		return diag_error(
			d, -EINVAL,
			"-m %s: expected a number of pages, or a size like 512K or 8M, up to 4G",
			text);
	*bytes = v;
	return 0;
}

/* ---- registers ---- */

static void list_regs(const struct arch *arch, struct strbuf *to)
{
	for (u32 i = 0; arch && i < arch->nr_perf_names && i < 64; i++)
		if (arch->perf_all >> i & 1)
			strbuf_printf(to, "%s ", arch->perf_names[i]);
}

bool record_list_regs(const struct record_opts *o, struct strbuf *to)
{
	if ((!o->regs_intr || strcmp(o->regs_intr, "?") != 0) &&
	    (!o->regs_user || strcmp(o->regs_user, "?") != 0))
		return false;
	strbuf_str(to, "available registers: ");
	list_regs(arch_host(), to);
	strbuf_char(to, '\n');
	return true;
}

static u64 reg_named(const struct arch *arch, const char *name, size_t len)
{
	for (u32 i = 0; arch && i < arch->nr_perf_names && i < 64; i++)
		if (arch->perf_all >> i & 1 && strlen(arch->perf_names[i]) == len &&
		    !strncasecmp(arch->perf_names[i], name, len))
			return 1ull << i;
	return 0;
}

/* "ax,bx", or "all". */
static int parse_regs(const char *option, const char *text, u64 *ret, struct diag *d)
{
	const struct arch *arch = arch_host();
	u64 mask = 0;
	if (!strcmp(text, "all") && arch) {
		*ret = arch->perf_all;
		return 0;
	}
	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");
		u64 reg = reg_named(arch, at, len);
		if (!reg) {
			struct strbuf names;
			strbuf_init(&names);
			list_regs(arch, &names);
			diag_error(d, -EINVAL, "%s: unknown register '%.*s'", option, (int)len, at);
			diag_span(d, text, (size_t)(at - text), len);
			diag_hint(d, "available: %s", strbuf_cstr(&names));
			strbuf_done(&names);
			return -EINVAL;
		}
		mask |= reg;
		at += len;
		if (!*at)
			break;
	}
	*ret = mask;
	return 0;
}

static int parse_freq(const char *text, u64 *hz, struct diag *d)
{
	if (!strcmp(text, "max")) {
		*hz = UINT64_MAX;
		return 0;
	}
	if (num_parse_u64(text, 10, hz) || !*hz)
		return diag_error(d, -EINVAL, "-F %s: expected samples per second, or 'max'", text);
	return 0;
}

static int add_word(struct record_opts *o, const char *text, int kind)
{
	struct record_word *w = vec_push(&o->words.list);
	if (!w)
		return -ENOMEM;
	*w = (struct record_word){ .text = text, .kind = kind };
	return 0;
}

int record_take_trigger(void *opts, const char *value, bool negated, struct diag *d)
{
	struct record_opts *o = opts;
	const char **slot = vec_push(&o->triggers.list);
	(void)negated;
	(void)d;
	if (!slot)
		return -ENOMEM;
	*slot = value;
	return 0;
}

int record_take_event(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)negated;
	(void)d;
	return add_word(opts, value, WORD_EVENT);
}

int record_take_filter(void *opts, const char *value, bool negated, struct diag *d)
{
	struct record_opts *o = opts;
	(void)negated;
	if (!o->words.list.nr)
		return diag_error(d, -EINVAL, "--filter must follow the -e it applies to");
	return add_word(opts, value, WORD_FILTER);
}

/* Options with three answers: yes, no (--no-X), and by what is recorded. */
static int take_choice(s8 *to, bool negated)
{
	*to = negated ? -1 : 1;
	return 0;
}

int record_take_inherit(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)value;
	(void)d;
	return take_choice(&((struct record_opts *)opts)->inherit,
			   !negated); /* the row is named no-inherit */
}

int record_take_period(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)value;
	(void)d;
	return take_choice(&((struct record_opts *)opts)->live.sample_period, negated);
}

int record_take_time(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)value;
	(void)d;
	return take_choice(&((struct record_opts *)opts)->live.sample_time, negated);
}

int record_take_exclude_perf(void *opts, const char *value, bool negated, struct diag *d)
{
	struct record_opts *o = opts;
	(void)value;
	(void)negated;
	if (!o->words.list.nr)
		return diag_error(d, -EINVAL, "--exclude-perf must follow the -e it applies to");
	return add_word(opts, NULL, WORD_NOT_US);
}

/* Tracepoints from `first` on: not those of our own threads. */
static int leave_us_out(struct record_session *s, u32 first, bool if_possible)
{
	while (s->exclude_self.nr < s->events.events.nr) {
		bool *slot = vec_push(&s->exclude_self);
		if (!slot)
			return -ENOMEM;
		*slot = false;
	}
	for (size_t i = first; i < s->events.events.nr; i++) {
		const struct event_desc *e = &s->events.events.at[i];
		if (e->attr.type != PERF_TYPE_TRACEPOINT && if_possible)
			continue;
		if (e->attr.type != PERF_TYPE_TRACEPOINT)
			return diag_error(s->tell.diag, -EINVAL,
					  "--exclude-perf only applies to tracepoints, not to %s",
					  e->name);
		s->exclude_self.at[i] = true;
	}
	return 0;
}

/* --group: all events are on at the same time, or none. */
static void make_one_group(struct event_list *l)
{
	vec_for_each (&l->events, e) {
		e->leader = 0;
		e->nr_members = 1;
	}
	l->events.at[0].nr_members = (u32)l->events.nr;
}

/*
 * As perf's: guests are left out, which "cycles:P" as such does not do. On AMD they are not: precise samples come from IBS there,
 * which cannot tell a guest's from the host's, and would be refused.
 */
static int add_default_event(struct record_session *s, struct diag *d)
{
	struct machine m;
	u32 first = (u32)s->events.events.nr;
	int err = machine_read(&s->root, &m);
	if (err)
		return err;
	bool is_amd = m.cpu_id && str_starts(m.cpu_id, "AuthenticAMD,");
	machine_done(&m);
	err = event_list_add(&s->events, &s->env, "cycles:P", EVENT_USE_SAMPLE, d);
	for (u32 i = first; i < s->events.events.nr; i++)
		s->events.events.at[i].attr.exclude_guest = s->env.side == EVENT_HOST && !is_amd;
	return err;
}

static int resolve_events(struct record_session *s)
{
	struct diag *d = s->tell.diag;
	int err = event_env_open(&s->env, "");
	if (err)
		return err;
	s->has_env = true;
	run_probes_init(&s->probes, "record");
	s->env.probes = &s->probes.ops;
	s->env.side = s->o->side;
	/* The first of a list. */
	const char *task = s->o->pids ? s->o->pids : s->o->tids;
	s->env.pid = task ? (s32)strtol(task, NULL, 10) : 0;
	event_list_init(&s->events);
	u32 first = 0;
	vec_for_each (&s->o->words.list, w) {
		u32 before = (u32)s->events.events.nr;
		if (w->kind == WORD_EVENT)
			err = event_list_add(&s->events, &s->env, w->text, EVENT_USE_SAMPLE, d);
		else if (w->kind == WORD_FILTER)
			err = event_list_filter(&s->events, &s->env, first, w->text, d);
		else
			err = leave_us_out(s, first, w->kind == WORD_NOT_US_IF);
		if (err)
			return err;
		if (w->kind == WORD_EVENT)
			first = before;
	}
	/* If only waits are wanted, nothing is sampled. */
	if (!s->events.events.nr && !(s->o->off_cpu && s->o->wide))
		err = add_default_event(s, d);
	/* In perf, --off-cpu is an event of its own, generated by BPF. */
	if (!err && s->o->off_cpu && !s->as_perf)
		err = record_add_scheduler(s);
	if (!err && s->o->one_group)
		make_one_group(&s->events);
	return err ? err : record_resolve_triggers(s);
}

static int user_id(const char *text, u64 *uid, struct diag *d)
{
	const struct passwd *pw = getpwnam(text);
	if (pw) {
		*uid = pw->pw_uid;
		return 0;
	}
	if (!num_parse_u64(text, 10, uid) && *uid <= UINT32_MAX)
		return 0;
	return diag_error(d, -EINVAL, "-u %s: no such user", text);
}

/* -u: what runs for that user now becomes -p. */
static int list_user(struct record_session *s, const char *text)
{
	struct diag *d = s->tell.diag;
	u64 uid;
	int err = user_id(text, &uid, d);
	if (err)
		return err;
	struct procfs proc;
	s32 *pids;
	size_t nr;
	procfs_init(&proc, &s->root);
	err = procfs_pids(&proc, &pids, &nr);
	for (size_t i = 0; i < nr && !err; i++) {
		char path[32];
		struct stat st;
		(void)!str_path(path, sizeof(path), "proc/%d", pids[i]);
		if (pids[i] == getpid() || fstatat(s->root.dir_fd, path, &st, 0) || st.st_uid != uid)
			continue;
		s32 *slot = vec_push(&s->pids.list);
		err = slot ? 0 : -ENOMEM;
		if (slot)
			*slot = pids[i];
	}
	procfs_done(&proc);
	if (!err && !s->pids.list.nr)
		err = diag_error(d, -ESRCH, "-u %s: this user has no processes", text);
	return err;
}

/* -G a,b: the n-th group is for the n-th event; one alone for all. An empty name is none. */
static int open_cgroups(struct record_session *s, const char *text)
{
	struct diag *d = s->tell.diag;
	size_t nr = s->events.events.nr;
	bool one = !strchr(text, ',');
	for (size_t i = 0; i < nr; i++) {
		char name[PATH_MAX];
		size_t len = strcspn(text, ",");
		if (len >= sizeof(name))
			return diag_error(d, -EINVAL, "-G: name too long");
		memcpy(name, text, len);
		name[len] = 0;
		int *slot = vec_push(&s->cgroups);
		if (!slot)
			return -ENOMEM;
		*slot = len ? cgroup_open(&s->root, name, d) : -1;
		if (len && *slot < 0)
			return *slot;
		if (!one)
			text += len + (text[len] == ',');
	}
	if (!one && *text)
		return diag_error(d, -EINVAL, "-G: more groups than events; put -e first");
	return 0;
}

/*
 * Who names tasks wants those: -p, -t and -u win over -a, as perf has it; perf lets them win over -C too, and we record them there.
 * Nothing named at all is the whole system to perf. Rings of threads are of no use where CPUs are recorded.
 */
static void choose_target(struct record_session *s, const char *program, struct live_opts *l)
{
	const struct record_opts *o = s->o;
	struct diag *d = s->tell.diag;
	bool tasks = l->nr_pids || l->nr_tids;
	bool off_cpu = o->off_cpu && !s->as_perf;
	/* Targets only determine how long: what other tasks do to them is recorded, too. */
	if ((off_cpu || o->wide) && (tasks || program || o->all)) {
		l->nr_pids = l->nr_tids = 0;
		l->system_wide = true;
		return;
	}
	if (tasks && o->all)
		diag_warn(d, "%s: only these tasks are recorded, not the whole system (-a)",
			  o->user   ? "-u"
			  : o->pids ? "-p"
				    : "-t");
	if (tasks && s->as_perf && l->cpus) {
		diag_warn(d, "-p, -t and -u record tasks on all CPUs: -C is ignored");
		l->cpus = NULL;
	}
	l->system_wide = !tasks && (o->all || o->cpus || (s->as_perf && !program));
	l->per_thread = o->per_thread && !l->system_wide && !l->cpus;
}

static int inherit_probes(struct record_session *s)
{
	struct diag *d = s->tell.diag;
	int err = run_probes_inherit(&s->probes, &s->events, d);
	return err ? err : run_probes_inherit(&s->probes, &s->trigger.events, d);
}

int record_build_live(struct record_session *s, const char *program, struct recorder_opts *ro)
{
	const struct record_opts *o = s->o;
	struct live_opts *l = &ro->live;
	struct diag *d = s->tell.diag;
	*l = o->live;
	s->as_perf = record_app(s)->dialect->records_as_perf;
	int err = resolve_events(s);
	if (!err && o->freq)
		err = parse_freq(o->freq, &l->freq_hz, d);
	if (!err && o->ring)
		err = parse_ring(o->ring, &l->ring_bytes, d);
	else if (!err && o->off_cpu && !s->as_perf)
		l->ring_bytes = OFF_CPU_RING_BYTES;
	if (!err && o->regs_intr)
		err = parse_regs("--intr-regs", o->regs_intr, &l->regs_intr, d);
	if (!err && o->regs_user)
		err = parse_regs("--user-regs", o->regs_user, &l->regs_user, d);
	if (!err && o->cpus)
		err = cpuset_parse_list(o->cpus, &s->cpus, d);
	if (!err && o->pids)
		err = parse_ids(o->pids, "process", &s->pids, d);
	if (!err && o->tids)
		err = parse_ids(o->tids, "thread", &s->tids, d);
	if (!err && o->clock) {
		err = recorder_parse_clock(o->clock, &l->clock_id);
		if (err) {
			diag_error(d, err, "-k %s: unknown clock", o->clock);
			diag_hint(d, "mono, raw, real, boot, tai");
		}
		l->has_clock = true;
	}
	if (!err && o->any_branch)
		l->branches = PERF_SAMPLE_BRANCH_ANY;
	if (!err && o->branches)
		err = branch_parse(o->branches, &l->branches, d);
	if (!err && o->user)
		err = list_user(s, o->user);
	if (!err && o->cgroups)
		err = open_cgroups(s, o->cgroups);
	l->events = &s->events;
	if (guest_opts_named(&o->guest)) {
		ro->guests = record_describe_guests;
		ro->guests_ctx = s;
	}
	/* One thread was named, not what it makes later. */
	l->no_inherit = o->inherit < 0 || (o->inherit == 0 && o->tids);
	l->extra_sample_type = (o->code_page_size ? PERF_SAMPLE_CODE_PAGE_SIZE : 0) |
			       (o->data_page_size ? PERF_SAMPLE_DATA_PAGE_SIZE : 0) |
			       (o->phys_data ? PERF_SAMPLE_PHYS_ADDR : 0) |
			       (o->transaction ? PERF_SAMPLE_TRANSACTION : 0);
	l->no_user_chain = o->kernel_chains && !o->user_chains;
	l->no_kernel_chain = o->user_chains && !o->kernel_chains;
	l->as_perf = s->as_perf;
	l->no_exec_start = o->delay_ms;
	l->flush_ns = l->at_once ? AT_ONCE_FLUSH_NS : 0;
	l->cpus = o->cpus ? &s->cpus : NULL;
	l->pids = s->pids.list.at;
	l->nr_pids = s->pids.list.nr;
	l->tids = s->tids.list.at;
	l->nr_tids = s->tids.list.nr;
	choose_target(s, program, l);
	if (!err && !l->system_wide && !l->no_inherit && !l->per_thread)
		err = inherit_probes(s);
	if (!err)
		run_probes_watch(&s->probes, &s->events);
	/* Lists by event end before the one that carries tasks and maps. */
	while (!err && s->exclude_self.nr && s->exclude_self.nr < s->events.events.nr) {
		bool *slot = vec_push(&s->exclude_self);
		if (!slot)
			return -ENOMEM;
		*slot = false;
	}
	l->exclude_self = s->exclude_self.at;
	l->cgroups = s->cgroups.at;
	if (!err && l->cgroups && !l->system_wide)
		err = diag_error(d, -EINVAL, "-G needs -a: cgroups are recorded on whole CPUs");
	if (!err)
		err = record_call_graph(s, program, ro);
	if (!err && ro->unwind && l->regs_user) {
		diag_error(d, -EINVAL,
			   "--user-regs: stacks are unwound during recording, and their registers "
			   "are dropped");
		diag_hint(d, "use --raw-stack to keep both");
		err = -EINVAL;
	}
	return err;
}
