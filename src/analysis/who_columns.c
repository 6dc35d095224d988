/*
 * The columns of `who`. Names and meanings of the first part are those of top's fields (procps 4.0); what is not among them follows. A plain
 * column names a member of struct task, others have a function.
 *
 * Numbers of files that not everybody may read are CELL_FLOAT, which knows "not known".
 */
#include "analysis/who_impl.h"

#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum who_member { MEMBER_U64, MEMBER_S64, MEMBER_U32, MEMBER_S32 };

enum who_kind {
	KIND_CALL, /* .cell */
	KIND_VALUE, /* times .mul, by .div */
	KIND_PAGES, /* as KiB */
	KIND_DELTA, /* since the reading before */
	KIND_RATE, /* the same per second */
	KIND_TEXT, /* a place in the list's texts */
};

static u64 member(const struct who_column *c, const struct task *t)
{
	const char *at = (const char *)t + c->offset;
	u64 u;
	u32 w;
	if (c->member == MEMBER_U64 || c->member == MEMBER_S64) {
		memcpy(&u, at, sizeof(u));
		return u;
	}
	memcpy(&w, at, sizeof(w));
	return c->member == MEMBER_S32 ? (u64)(s64)(s32)w : w;
}

static void put_number(const struct who_column *c, u64 v, union cell *to)
{
	bool is_signed = c->member == MEMBER_S64 || c->member == MEMBER_S32;
	if (c->type == CELL_FLOAT)
		to->f = is_signed ? (double)(s64)v : (double)v;
	else
		to->u = v;
}

static double per_second(const struct who *w, u64 delta)
{
	return w->seconds > 0 ? (double)delta / w->seconds : NAN;
}

void who_cell(const struct who *w, const struct who_row *r, u16 column, union cell *to)
{
	const struct who_column *c = &who_columns[column];
	u32 missing = c->parts & ~(r->t->parts | TASK_STAT);
	if (missing) {
		if (c->type == CELL_STR)
			to->str = missing & r->t->denied ? "?" : "-";
		else
			to->f = NAN;
		return;
	}
	bool compares = c->kind == KIND_DELTA || c->kind == KIND_RATE;
	/* What was not read before, because nobody asked or nobody could, has no rate. */
	bool comparable = !r->before || !(c->parts & ~(r->before->parts | TASK_STAT));
	u64 delta = compares && comparable
			    ? u64_less(member(c, r->t), r->before ? member(c, r->before) : 0)
			    : 0;
	switch ((enum who_kind)c->kind) {
	case KIND_CALL: c->cell(w, r, to); break;
	case KIND_VALUE:
		put_number(c, c->div ? member(c, r->t) * c->mul / c->div : member(c, r->t), to);
		break;
	case KIND_PAGES: put_number(c, member(c, r->t) * (w->env.page_bytes / 1024), to); break;
	case KIND_DELTA:
		if (c->type == CELL_FLOAT)
			to->f = comparable ? (double)delta : NAN;
		else
			to->u = delta;
		break;
	case KIND_RATE:
		to->f = comparable ? per_second(w, delta) / (c->div ? c->div : 1) : NAN;
		break;
	case KIND_TEXT:
		to->str = task_text(w->in.now, (u32)member(c, r->t));
		to->str = *to->str ? to->str : "-";
		break;
	}
}

/* ---- functions ---- */

typedef const struct who who_in;
typedef const struct who_row row_in;

static u64 ticks_ns(who_in *w, u64 ticks)
{
	return ticks * (1000000000 / w->env.ticks_per_second);
}

u64 who_cpu_ns(const struct who *w, const struct task *t)
{
	return t->parts & TASK_ENDED ? t->ended_cpu_ns
				     : ticks_ns(w, t->user_ticks + t->system_ticks);
}

static void user(who_in *w, row_in *r, union cell *to)
{
	to->str = w->env.user(w->env.ctx, r->t->uid[TASK_ID_EFFECTIVE]);
}

static void real_user(who_in *w, row_in *r, union cell *to)
{
	to->str = w->env.user(w->env.ctx, r->t->uid[TASK_ID_REAL]);
}

static void saved_user(who_in *w, row_in *r, union cell *to)
{
	to->str = w->env.user(w->env.ctx, r->t->uid[TASK_ID_SAVED]);
}

static void group(who_in *w, row_in *r, union cell *to)
{
	to->str = w->env.group(w->env.ctx, r->t->gid[TASK_ID_EFFECTIVE]);
}

/* Device numbers as in <linux/kdev_t.h>, and the two kinds that nearly all are. */
static void tty(who_in *w, row_in *r, union cell *to)
{
	enum { MAJOR_TTY = 4, MAJOR_PTS = 136, MAJOR_PTS_LAST = 143, SERIAL = 64 };
	u32 dev = (u32)r->t->tty, major = dev >> 8 & 0xfff,
	    minor = (dev & 0xff) | (dev >> 12 & 0xfff00);
	char text[32];
	if (!dev) {
		to->str = "?";
		return;
	}
	if (major >= MAJOR_PTS && major <= MAJOR_PTS_LAST)
		(void)snprintf(text, sizeof(text), "pts/%u", minor + (major - MAJOR_PTS) * 256);
	else if (major == MAJOR_TTY)
		(void)snprintf(text, sizeof(text), minor < SERIAL ? "tty%u" : "ttyS%u",
			       minor < SERIAL ? minor : minor - SERIAL);
	else
		(void)snprintf(text, sizeof(text), "%u:%u", major, minor);
	to->str = arena_strdup(w->arena, text);
}

static void state(who_in *w, row_in *r, union cell *to)
{
	static const char letters[][2] = { "R", "S", "D", "T", "t", "Z", "X", "I", "K", "P", "W" };
	(void)w;
	to->str = "?";
	for (unsigned i = 0; i < ARRAY_SIZE(letters); i++)
		if (letters[i][0] == r->t->state)
			to->str = letters[i];
}

static void cpu_percent(who_in *w, row_in *r, union cell *to)
{
	u64 delta = u64_less(who_cpu_ns(w, r->t), r->before ? who_cpu_ns(w, r->before) : 0);
	to->f = 100 * per_second(w, delta) / 1e9;
}

/* Of a task that ended only the sum is known. */
static double ticks_percent(who_in *w, row_in *r, u64 now, u64 before)
{
	if (r->t->parts & TASK_ENDED)
		return NAN;
	return 100 * per_second(w, ticks_ns(w, u64_less(now, before))) / 1e9;
}

static void user_percent(who_in *w, row_in *r, union cell *to)
{
	to->f = ticks_percent(w, r, r->t->user_ticks, r->before ? r->before->user_ticks : 0);
}

static void system_percent(who_in *w, row_in *r, union cell *to)
{
	to->f = ticks_percent(w, r, r->t->system_ticks, r->before ? r->before->system_ticks : 0);
}

static double age_seconds(who_in *w, row_in *r)
{
	return (double)u64_less(w->in.now->time_ns, ticks_ns(w, r->t->start_ticks)) / 1e9;
}

static void utilisation(who_in *w, row_in *r, union cell *to)
{
	double age = age_seconds(w, r);
	to->f = age > 0 ? 100.0 * (double)who_cpu_ns(w, r->t) / 1e9 / age : 0;
}

static void utilisation_children(who_in *w, row_in *r, union cell *to)
{
	double age = age_seconds(w, r);
	u64 ns = who_cpu_ns(w, r->t) +
		 ticks_ns(w, r->t->child_user_ticks + r->t->child_system_ticks);
	to->f = age > 0 ? 100.0 * (double)ns / 1e9 / age : 0;
}

static void cpu_time(who_in *w, row_in *r, union cell *to)
{
	to->u = who_cpu_ns(w, r->t);
}

static void started(who_in *w, row_in *r, union cell *to)
{
	to->u = ticks_ns(w, r->t->start_ticks);
}

static void elapsed(who_in *w, row_in *r, union cell *to)
{
	to->u = u64_less(w->in.now->time_ns, ticks_ns(w, r->t->start_ticks));
}

static void memory_percent(who_in *w, row_in *r, union cell *to)
{
	u64 total = w->in.system_now ? w->in.system_now->mem_total_kb : 0;
	u64 kb = r->t->resident_pages * (w->env.page_bytes / 1024);
	to->f = total ? 100.0 * (double)kb / (double)total : NAN;
}

static void used(who_in *w, row_in *r, union cell *to)
{
	u64 resident_kb = r->t->resident_pages * (w->env.page_bytes / 1024);
	to->f = (double)(resident_kb + r->t->swap_kb);
}

static void node(who_in *w, row_in *r, union cell *to)
{
	to->s = w->env.node(w->env.ctx, r->t->cpu);
}

/* A tree is drawn into the name, as top does. */
static void command(who_in *w, row_in *r, union cell *to)
{
	const struct task *t = r->t;
	const char *line = task_text(w->in.now, t->cmdline), *open = "", *close = "";
	if (!w->o->command_lines || !*line) {
		line = t->comm;
		open = w->o->command_lines ? "[" : "";
		close = w->o->command_lines ? "]" : "";
	}
	if (!r->depth && !*open) {
		to->str = line;
		return;
	}
	enum { STEP = 4, DEPTH_SHOWN = 50 };
	size_t indent = r->depth ? (size_t)STEP * (min(r->depth, (u32)DEPTH_SHOWN) - 1) + 1 : 0;
	size_t len = strlen(line), mark = r->depth ? 3 : 0;
	char *text = arena_alloc(w->arena, indent + mark + len + 3);
	if (!text)
		return;
	memset(text, ' ', indent);
	memcpy(text + indent, "`- ", mark);
	(void)sprintf(text + indent + mark, "%s%s%s", open, line, close);
	to->str = text;
}

static void supplementary_names(who_in *w, row_in *r, union cell *to)
{
	struct strbuf s;
	strbuf_init(&s);
	const char *at = task_text(w->in.now, r->t->groups);
	while (*at) {
		char *end;
		u32 gid = (u32)strtoul(at, &end, 10);
		if (end == at)
			break;
		strbuf_printf(&s, "%s%s", s.len ? "," : "", w->env.group(w->env.ctx, gid));
		at = end + strspn(end, " ");
	}
	to->str = s.len ? arena_strdup(w->arena, strbuf_cstr(&s)) : "-";
	strbuf_done(&s);
}

static void supplementary_ids(who_in *w, row_in *r, union cell *to)
{
	const char *groups = task_text(w->in.now, r->t->groups);
	char *text = *groups ? arena_strdup(w->arena, groups) : NULL;
	for (char *c = text; c && *c; c++)
		*c = *c == ' ' ? ',' : *c;
	to->str = text ? text : "-";
}

/* ---- cgroups: "9:name=systemd:/x,0::/y" ---- */

/* The path of the hierarchy whose part between the colons is `which`; NULL: it is not there. len: without what follows. */
static const char *cgroup_path(const char *list, const char *which, size_t *len)
{
	size_t n = strlen(which);
	while (*list) {
		const char *one = strchr(list, ':'), *two = one ? strchr(one + 1, ':') : NULL;
		if (!two)
			return NULL;
		/* A path may hold a comma; an entry begins with digits and a colon. */
		const char *end = two + strcspn(two, ",");
		while (*end &&
		       !(end[1] >= '0' && end[1] <= '9' && strchr(end + 1, ':') &&
			 strspn(end + 1, "0123456789") == (size_t)(strchr(end + 1, ':') - end - 1)))
			end += 1 + strcspn(end + 1, ",");
		if ((size_t)(two - one - 1) == n && !memcmp(one + 1, which, n)) {
			*len = (size_t)(end - two - 1);
			return two + 1;
		}
		list = *end ? end + 1 : end;
	}
	return NULL;
}

static const char *own_cgroup(who_in *w, row_in *r, size_t *len)
{
	const char *list = task_text(w->in.now, r->t->cgroup);
	const char *path = cgroup_path(list, "name=systemd", len);
	if (path && *len > 1)
		return path;
	const char *unified = cgroup_path(list, "", len);
	if (unified && *len > 1)
		return unified;
	const char *memory = cgroup_path(list, "memory", len);
	if (memory)
		return memory;
	return cgroup_path(list, "", len);
}

static void cgroup(who_in *w, row_in *r, union cell *to)
{
	size_t len = 0;
	const char *path = own_cgroup(w, r, &len);
	to->str = path ? arena_strndup(w->arena, path, len) : "-";
}

/* The last part of the path that is a unit of systemd's. */
static void unit(who_in *w, row_in *r, union cell *to)
{
	static const char *const kinds[] = { ".service", ".scope", ".slice",
					     ".socket",	 ".mount", ".swap" };
	size_t len = 0;
	const char *path = own_cgroup(w, r, &len);
	to->str = "-";
	for (const char *end = path ? path + len : NULL; path && end > path;) {
		const char *slash = memrchr(path, '/', (size_t)(end - path));
		const char *name = slash ? slash + 1 : path;
		for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
			size_t n = strlen(kinds[i]);
			if ((size_t)(end - name) > n && !memcmp(end - n, kinds[i], n)) {
				to->str = arena_strndup(w->arena, name, (size_t)(end - name));
				return;
			}
		}
		end = slash ? slash : path;
	}
}

/* Names are cut as `docker ps` does: 64 digits of a hash say no more than 12. */
static const char *short_id(who_in *w, const char *name, size_t len)
{
	enum { HASH = 64, SHORT = 12 };
	size_t digits = strspn(name, "0123456789abcdef");
	return arena_strndup(w->arena, name, digits >= HASH ? SHORT : len);
}

/* docker, podman, containerd and cri-o (with systemd or without), lxc, systemd-nspawn. */
static void container(who_in *w, row_in *r, union cell *to)
{
	static const struct {
		const char *before; /* the name */
		const char *end; /* what ends it */
	} marks[] = {
		{ "/docker/", "/" }, { "/docker-", "." },
		{ "/libpod-", "." }, { "/cri-containerd-", "." },
		{ "/crio-", "." },   { "/lxc.payload.", "/" },
		{ "/lxc/", "/" },    { "/machine.slice/machine-", "." },
	};
	const char *list = task_text(w->in.now, r->t->cgroup);
	to->str = "-";
	for (unsigned i = 0; i < ARRAY_SIZE(marks); i++) {
		const char *at = strstr(list, marks[i].before);
		if (!at)
			continue;
		at += strlen(marks[i].before);
		size_t len = min(strcspn(at, marks[i].end), strcspn(at, ","));
		if (!len)
			continue;
		to->str = short_id(w, at, len);
		return;
	}
}

static void lxc(who_in *w, row_in *r, union cell *to)
{
	const char *list = task_text(w->in.now, r->t->cgroup);
	const char *at = strstr(list, "/lxc.payload.");
	at = at ? at + strlen("/lxc.payload.") : strstr(list, "/lxc/");
	if (at && str_starts(at, "/lxc/"))
		at += strlen("/lxc/");
	to->str = at && *at ? arena_strndup(w->arena, at, strcspn(at, "/,")) : "-";
}

static void cgroup_name(who_in *w, row_in *r, union cell *to)
{
	size_t len = 0;
	const char *list = task_text(w->in.now, r->t->cgroup);
	const char *path = cgroup_path(list, "name=systemd", &len);
	path = path ? path : cgroup_path(list, "", &len);
	to->str = path && len ? arena_strndup(w->arena, path, len) : "-";
}

/* ---- time spent waiting ---- */

/* Per cent of the interval. */
static double share(who_in *w, u64 now, u64 before)
{
	return w->seconds > 0 ? 100.0 * (double)u64_less(now, before) / (w->seconds * 1e9) : NAN;
}

static void cpu_wait(who_in *w, row_in *r, union cell *to)
{
	to->f = r->before && !(r->before->parts & TASK_SCHEDSTAT)
			? NAN
			: share(w, r->t->wait_ns, r->before ? r->before->wait_ns : 0);
}

static void io_wait(who_in *w, row_in *r, union cell *to)
{
	to->f = r->before && !(r->before->parts & TASK_DELAYS)
			? NAN
			: share(w, r->t->block_delay_ns, r->before ? r->before->block_delay_ns : 0);
}

static void swapin_wait(who_in *w, row_in *r, union cell *to)
{
	to->f = r->before && !(r->before->parts & TASK_DELAYS)
			? NAN
			: share(w, r->t->swapin_delay_ns,
				r->before ? r->before->swapin_delay_ns : 0);
}

/* iotop's words for classes would need ioprio_get(); what schedulers go by without one is the nice value. */
static void policy(who_in *w, row_in *r, union cell *to)
{
	static const char *const names[] = { "OTHER", "FIFO", "RR",	  "BATCH",
					     "ISO",   "IDLE", "DEADLINE", "EXT" };
	(void)w;
	to->str = r->t->policy < ARRAY_SIZE(names) ? names[r->t->policy] : "?";
}

/* ---- the table ---- */

#define VALUE(mtype, m)                                                                            \
	.kind = KIND_VALUE, .member = MEMBER_##mtype, .offset = offsetof(struct task, m)
#define PAGES(m) .kind = KIND_PAGES, .member = MEMBER_U64, .offset = offsetof(struct task, m)
#define DELTA(m) .kind = KIND_DELTA, .member = MEMBER_U64, .offset = offsetof(struct task, m)
#define RATE(m)	 .kind = KIND_RATE, .member = MEMBER_U64, .offset = offsetof(struct task, m)
#define TEXT(m)	 .kind = KIND_TEXT, .member = MEMBER_U32, .offset = offsetof(struct task, m)
#define NS(which)                                                                                  \
	.kind = KIND_VALUE, .member = MEMBER_U64,                                                  \
	.offset = offsetof(struct task, ns) + (which) * sizeof(u64)
#define ID(which, how)                                                                             \
	.kind = KIND_VALUE, .member = MEMBER_U32,                                                  \
	.offset = offsetof(struct task, which) + (how) * sizeof(u32)

const struct who_column who_columns[] = {
	{ "PID", "pid", "Process Id", CELL_S64, 7, .ascending = true, VALUE(S32, tid) },
	{ "PPID", "ppid", "Parent Process pid", CELL_S64, 7, .ascending = true, VALUE(S32, ppid) },
	{ "UID", "uid", "Effective User Id", CELL_FLOAT, 5, .ascending = true, .parts = TASK_OWNER,
	  ID(uid, TASK_ID_EFFECTIVE) },
	{ "USER", "user", "Effective User Name", CELL_STR, 8, .left = true, .ascending = true,
	  .parts = TASK_OWNER, .cell = user },
	{ "RUID", "ruid", "Real User Id", CELL_FLOAT, 5, .ascending = true, .parts = TASK_STATUS,
	  ID(uid, TASK_ID_REAL) },
	{ "RUSER", "ruser", "Real User Name", CELL_STR, 8, .left = true, .ascending = true,
	  .parts = TASK_STATUS, .cell = real_user },
	{ "SUID", "suid", "Saved User Id", CELL_FLOAT, 5, .ascending = true, .parts = TASK_STATUS,
	  ID(uid, TASK_ID_SAVED) },
	{ "SUSER", "suser", "Saved User Name", CELL_STR, 8, .left = true, .ascending = true,
	  .parts = TASK_STATUS, .cell = saved_user },
	{ "GID", "gid", "Group Id", CELL_FLOAT, 5, .ascending = true, .parts = TASK_OWNER,
	  ID(gid, TASK_ID_EFFECTIVE) },
	{ "GROUP", "group", "Group Name", CELL_STR, 8, .left = true, .ascending = true,
	  .parts = TASK_OWNER, .cell = group },
	{ "PGRP", "pgrp", "Process Group Id", CELL_S64, 7, .ascending = true, VALUE(S32, pgrp) },
	{ "TTY", "tty", "Controlling Tty", CELL_STR, 8, .left = true, .ascending = true,
	  .cell = tty },
	{ "TPGID", "tpgid", "Tty Process Grp Id", CELL_S64, 7, .ascending = true, VALUE(S32, tpgid) },
	{ "SID", "sid", "Session Id", CELL_S64, 7, .ascending = true, VALUE(S32, session) },
	{ "PR", "priority", "Priority", CELL_S64, 3, .ascending = true, VALUE(S32, priority) },
	{ "NI", "nice", "Nice Value", CELL_S64, 3, .ascending = true, VALUE(S32, nice) },
	{ "nTH", "threads", "Number of Threads", CELL_S64, 3, .adds = true, VALUE(S32, nr_threads) },
	{ "P", "last_cpu", "Last Used Cpu (SMP)", CELL_S64, 3, .ascending = true, VALUE(S32, cpu) },
	{ "%CPU", "cpu_percent", "CPU Usage", CELL_FLOAT, 5, 1, .adds = true, .cell = cpu_percent },
	{ "TIME", "time_ns", "CPU Time", CELL_CLOCK, 6, .adds = true, .cell = cpu_time },
	{ "TIME+", "cpu_time_ns", "CPU Time, hundredths", CELL_CLOCK, 9, 2, .adds = true,
	  .cell = cpu_time },
	{ "%MEM", "memory_percent", "Memory Usage (RES)", CELL_FLOAT, 5, 1, .adds = true,
	  .parts = TASK_STATM, .cell = memory_percent },
	{ "VIRT", "virtual_kib", "Virtual Image (KiB)", CELL_NUMBER, 8, .adds = true,
	  VALUE(U64, virtual_bytes), .mul = 1, .div = 1024 },
	{ "SWAP", "swap_kib", "Swapped Size (KiB)", CELL_FLOAT, 6, .adds = true,
	  .parts = TASK_STATUS, VALUE(U64, swap_kb) },
	{ "RES", "resident_kib", "Resident Size (KiB)", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_STATM, PAGES(resident_pages) },
	{ "CODE", "code_kib", "Code Size (KiB)", CELL_FLOAT, 6, .adds = true, .parts = TASK_STATM,
	  PAGES(text_pages) },
	{ "DATA", "data_kib", "Data+Stack (KiB)", CELL_FLOAT, 7, .adds = true, .parts = TASK_STATM,
	  PAGES(data_pages) },
	{ "SHR", "shared_kib", "Shared Memory (KiB)", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_STATM, PAGES(shared_pages) },
	{ "nMaj", "major_faults", "Major Page Faults", CELL_NUMBER, 4, .adds = true,
	  VALUE(U64, maj_faults) },
	{ "nMin", "minor_faults", "Minor Page Faults", CELL_NUMBER, 4, .adds = true,
	  VALUE(U64, min_faults) },
	{ "nDRT", "dirty_pages", "Dirty Pages Count", CELL_FLOAT, 4, .adds = true,
	  .parts = TASK_STATM, VALUE(U64, dirty_pages) },
	{ "S", "state", "Process Status", CELL_STR, 1, .left = true, .ascending = true,
	  .cell = state },
	{ "COMMAND", "command", "Command Name/Line", CELL_STR, 10, .left = true, .ascending = true,
	  .cell = command },
	{ "WCHAN", "wchan", "Sleeping in Function", CELL_STR, 10, .left = true, .ascending = true,
	  .parts = TASK_WCHAN, TEXT(wchan) },
	{ "Flags", "flags", "Task Flags <sched.h>", CELL_HEX, 8, VALUE(U32, flags) },
	{ "CGROUPS", "cgroups", "Control Groups", CELL_STR, 10, .left = true, .ascending = true,
	  .parts = TASK_CGROUP, TEXT(cgroup) },
	{ "SUPGIDS", "supplementary_gids", "Supp Groups IDs", CELL_STR, 7, .left = true,
	  .ascending = true, .parts = TASK_STATUS, .cell = supplementary_ids },
	{ "SUPGRPS", "supplementary_groups", "Supp Groups Names", CELL_STR, 7, .left = true,
	  .ascending = true, .parts = TASK_STATUS, .cell = supplementary_names },
	{ "TGID", "tgid", "Thread Group Id", CELL_S64, 7, .ascending = true, VALUE(S32, pid) },
	{ "OOMa", "oom_adjustment", "OOM Adjustment", CELL_FLOAT, 5, .parts = TASK_OOM,
	  VALUE(S32, oom_adj) },
	{ "OOMs", "oom_score", "OOM Score current", CELL_FLOAT, 4, .parts = TASK_OOM,
	  VALUE(S32, oom_score) },
	{ "ENVIRON", "environ", "Environment vars", CELL_STR, 10, .left = true, .ascending = true,
	  .parts = TASK_ENVIRON, TEXT(environ) },
	{ "vMj", "major_faults_delta", "Major Faults delta", CELL_NUMBER, 3, .adds = true,
	  DELTA(maj_faults) },
	{ "vMn", "minor_faults_delta", "Minor Faults delta", CELL_NUMBER, 3, .adds = true,
	  DELTA(min_faults) },
	{ "USED", "used_kib", "Res+Swap Size (KiB)", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_STATUS | TASK_STATM, .cell = used },
	{ "nsIPC", "ns_ipc", "IPC namespace Inode", CELL_FLOAT, 10, .ascending = true,
	  .parts = TASK_NAMESPACES, NS(TASK_NS_IPC) },
	{ "nsMNT", "ns_mnt", "MNT namespace Inode", CELL_FLOAT, 10, .ascending = true,
	  .parts = TASK_NAMESPACES, NS(TASK_NS_MNT) },
	{ "nsNET", "ns_net", "NET namespace Inode", CELL_FLOAT, 10, .ascending = true,
	  .parts = TASK_NAMESPACES, NS(TASK_NS_NET) },
	{ "nsPID", "ns_pid", "PID namespace Inode", CELL_FLOAT, 10, .ascending = true,
	  .parts = TASK_NAMESPACES, NS(TASK_NS_PID) },
	{ "nsUSER", "ns_user", "USER namespace Inode", CELL_FLOAT, 10, .ascending = true,
	  .parts = TASK_NAMESPACES, NS(TASK_NS_USER) },
	{ "nsUTS", "ns_uts", "UTS namespace Inode", CELL_FLOAT, 10, .ascending = true,
	  .parts = TASK_NAMESPACES, NS(TASK_NS_UTS) },
	{ "LXC", "lxc", "LXC container name", CELL_STR, 8, .left = true, .ascending = true,
	  .parts = TASK_CGROUP, .cell = lxc },
	{ "RSan", "resident_anon_kib", "RES Anonymous (KiB)", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_STATUS, VALUE(U64, rss_anon_kb) },
	{ "RSfd", "resident_file_kib", "RES File-based (KiB)", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_STATUS, VALUE(U64, rss_file_kb) },
	{ "RSlk", "locked_kib", "RES Locked (KiB)", CELL_FLOAT, 6, .adds = true,
	  .parts = TASK_STATUS, VALUE(U64, locked_kb) },
	{ "RSsh", "resident_shmem_kib", "RES Shared (KiB)", CELL_FLOAT, 6, .adds = true,
	  .parts = TASK_STATUS, VALUE(U64, rss_shmem_kb) },
	{ "CGNAME", "cgroup_name", "Control Group name", CELL_STR, 10, .left = true,
	  .ascending = true, .parts = TASK_CGROUP, .cell = cgroup_name },
	{ "NU", "numa_node", "Last Used NUMA node", CELL_S64, 2, .cell = node },
	{ "LOGID", "login_uid", "Login User Id", CELL_FLOAT, 5, .ascending = true,
	  .parts = TASK_LOGIN, VALUE(S64, login_uid) },
	{ "EXE", "exe", "Executable Path", CELL_STR, 10, .left = true, .ascending = true,
	  .parts = TASK_EXE, TEXT(exe) },
	{ "RSS", "smaps_rss_kib", "Res Mem (smaps), KiB", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_SMAPS, VALUE(U64, smaps_rss_kb) },
	{ "PSS", "pss_kib", "Proportion RSS, KiB", CELL_FLOAT, 7, .adds = true, .parts = TASK_SMAPS,
	  VALUE(U64, pss_kb) },
	{ "PSan", "pss_anon_kib", "Proportion Anon, KiB", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_SMAPS, VALUE(U64, pss_anon_kb) },
	{ "PSfd", "pss_file_kib", "Proportion File, KiB", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_SMAPS, VALUE(U64, pss_file_kb) },
	{ "PSsh", "pss_shmem_kib", "Proportion Shrd, KiB", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_SMAPS, VALUE(U64, pss_shmem_kb) },
	{ "USS", "uss_kib", "Unique RSS, KiB", CELL_FLOAT, 7, .adds = true, .parts = TASK_SMAPS,
	  VALUE(U64, private_kb) },
	{ "ioR", "read_bytes", "I/O Bytes Read", CELL_FLOAT, 8, .adds = true, .parts = TASK_IO,
	  VALUE(U64, read_bytes) },
	{ "ioRop", "read_calls", "I/O Read Operations", CELL_FLOAT, 6, .adds = true,
	  .parts = TASK_IO, VALUE(U64, read_calls) },
	{ "ioW", "write_bytes", "I/O Bytes Written", CELL_FLOAT, 8, .adds = true, .parts = TASK_IO,
	  VALUE(U64, write_bytes) },
	{ "ioWop", "write_calls", "I/O Write Operations", CELL_FLOAT, 6, .adds = true,
	  .parts = TASK_IO, VALUE(U64, write_calls) },
	{ "AGID", "autogroup", "Autogroup Identifier", CELL_FLOAT, 5, .parts = TASK_AUTOGROUP,
	  VALUE(S32, autogroup) },
	{ "AGNI", "autogroup_nice", "Autogroup Nice Value", CELL_FLOAT, 4, .parts = TASK_AUTOGROUP,
	  VALUE(S32, autogroup_nice) },
	{ "STARTED", "started_ns", "Start Time from boot", CELL_CLOCK, 7, .cell = started },
	{ "ELAPSED", "elapsed_ns", "Elapsed Running Time", CELL_CLOCK, 7, .cell = elapsed },
	{ "%CUU", "cpu_utilization", "CPU Utilization", CELL_FLOAT, 6, 3, .cell = utilisation },
	{ "%CUC", "cpu_utilization_children", "Utilization + child", CELL_FLOAT, 6, 3,
	  .cell = utilisation_children },
	{ "nsCGROUP", "ns_cgroup", "CGRP namespace Inode", CELL_FLOAT, 10, .ascending = true,
	  .parts = TASK_NAMESPACES, NS(TASK_NS_CGROUP) },
	{ "nsTIME", "ns_time", "TIME namespace Inode", CELL_FLOAT, 10, .ascending = true,
	  .parts = TASK_NAMESPACES, NS(TASK_NS_TIME) },

	/* Not in top. */
	{ "TID", "tid", "Thread Id", CELL_S64, 7, .ascending = true, VALUE(S32, tid) },
	{ "READ/s", "read_kib_per_s", "Disk Read, KiB per second", CELL_FLOAT, 8, 1, .adds = true,
	  .parts = TASK_IO, RATE(read_bytes), .div = 1024 },
	{ "WRITE/s", "write_kib_per_s", "Disk Write, KiB per second", CELL_FLOAT, 8, 1,
	  .adds = true, .parts = TASK_IO, RATE(write_bytes), .div = 1024 },
	{ "RECV/s", "received_kib_per_s", "Received over IP, KiB per second", CELL_FLOAT, 8, 1,
	  .adds = true, .parts = TASK_NET, RATE(net_received), .div = 1024 },
	{ "SENT/s", "sent_kib_per_s", "Sent over IP, KiB per second", CELL_FLOAT, 8, 1,
	  .adds = true, .parts = TASK_NET, RATE(net_sent), .div = 1024 },
	{ "SWAPIN", "swapin_percent", "Waiting for Swap, percent of time", CELL_FLOAT, 6, 2,
	  .parts = TASK_DELAYS, .cell = swapin_wait },
	{ "IO", "io_wait_percent", "Waiting for Disks, percent of time", CELL_FLOAT, 6, 2,
	  .parts = TASK_DELAYS, .cell = io_wait },
	{ "WAIT", "cpu_wait_percent", "Waiting for a CPU, percent of time (first thread)",
	  CELL_FLOAT, 6, 2, .adds = true, .parts = TASK_SCHEDSTAT, .cell = cpu_wait },
	{ "CSW/s", "voluntary_switches_per_s", "Context Switches per second, voluntary", CELL_FLOAT,
	  7, 1, .adds = true, .parts = TASK_STATUS, RATE(voluntary_switches) },
	{ "ICSW/s", "other_switches_per_s", "Context Switches per second, involuntary", CELL_FLOAT,
	  7, 1, .adds = true, .parts = TASK_STATUS, RATE(other_switches) },
	{ "nCSW", "voluntary_switches", "Context Switches, voluntary", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_STATUS, VALUE(U64, voluntary_switches) },
	{ "nICSW", "other_switches", "Context Switches, involuntary", CELL_FLOAT, 7, .adds = true,
	  .parts = TASK_STATUS, VALUE(U64, other_switches) },
	{ "MAJ/s", "major_faults_per_s", "Major Page Faults per second", CELL_FLOAT, 7, 1,
	  .adds = true, RATE(maj_faults) },
	{ "MIN/s", "minor_faults_per_s", "Minor Page Faults per second", CELL_FLOAT, 8, 1,
	  .adds = true, RATE(min_faults) },
	{ "SOCKETS", "sockets", "Open Sockets", CELL_FLOAT, 7, .adds = true, .parts = TASK_SOCKETS,
	  VALUE(U32, nr_sockets) },
	{ "CGROUP", "cgroup", "Control Group (systemd's, else v2's)", CELL_STR, 10, .left = true,
	  .ascending = true, .parts = TASK_CGROUP, .cell = cgroup },
	{ "UNIT", "unit", "Unit of systemd", CELL_STR, 10, .left = true, .ascending = true,
	  .parts = TASK_CGROUP, .cell = unit },
	{ "CONTAINER", "container", "Container", CELL_STR, 12, .left = true, .ascending = true,
	  .parts = TASK_CGROUP, .cell = container },
	{ "POLICY", "policy", "Scheduling Policy", CELL_STR, 6, .left = true, .ascending = true,
	  .cell = policy },
	{ "RTPRIO", "rt_priority", "Real-time Priority", CELL_NUMBER, 6, VALUE(U32, rt_priority) },
	{ "%USR", "user_percent", "CPU Usage in user space", CELL_FLOAT, 5, 1, .adds = true,
	  .cell = user_percent },
	{ "%SYS", "system_percent", "CPU Usage in the kernel", CELL_FLOAT, 5, 1, .adds = true,
	  .cell = system_percent },
};

const u32 who_nr_columns = ARRAY_SIZE(who_columns);

static bool same_name(const char *name, const char *word, size_t len, bool any_case)
{
	return strlen(name) == len &&
	       !(any_case ? strncasecmp(name, word, len) : strncmp(name, word, len));
}

int who_column_find(const char *name, size_t len, u16 *ret)
{
	for (int pass = 0; pass < 3; pass++)
		for (u32 i = 0; i < who_nr_columns; i++) {
			const struct who_column *c = &who_columns[i];
			if (!same_name(pass == 2 ? c->key : c->name, name, len, pass > 0))
				continue;
			*ret = (u16)i;
			return 0;
		}
	return -ENOENT;
}
