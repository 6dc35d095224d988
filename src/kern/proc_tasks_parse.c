#include "kern/proc_tasks_parse.h"

#include <string.h>

struct proc_text {
	const char *at, *end;
};

static void skip_blanks(struct proc_text *t)
{
	while (t->at < t->end && (*t->at == ' ' || *t->at == '\t'))
		t->at++;
}

/* Decimal with a sign; what is larger than 64 bits wraps, as the kernel's own counters do. */
static bool next_u64(struct proc_text *t, u64 *ret)
{
	skip_blanks(t);
	bool negative = t->at < t->end && *t->at == '-';
	t->at += negative;
	const char *digits = t->at;
	u64 v = 0;
	for (; t->at < t->end && (unsigned)(*t->at - '0') < 10; t->at++)
		v = v * 10 + (u64)(*t->at - '0');
	*ret = negative ? 0 - v : v;
	return t->at > digits;
}

static bool next_s32(struct proc_text *t, s32 *ret)
{
	u64 v;
	bool ok = next_u64(t, &v);
	*ret = (s32)v;
	return ok;
}

static bool skip_fields(struct proc_text *t, unsigned nr)
{
	u64 v;
	while (nr--)
		if (!next_u64(t, &v))
			return false;
	return true;
}

/*
 * "PID (comm) S 1 2 3 ...". The name may hold anything but a NUL, also ") R 1": it ends at the last parenthesis. Kernels have
 * added fields at the end, so that what comes after those of 3.10 is optional.
 */
bool task_parse_stat(const char *text, size_t len, struct task *t)
{
	struct proc_text in = { text, text + len };
	const char *open = memchr(text, '(', len), *close = memrchr(text, ')', len);
	s32 tid;
	u64 v;
	if (!next_s32(&in, &tid) || !open || !close || close < open || in.end - close < 4)
		return false;
	size_t n = min((size_t)(close - open - 1), sizeof(t->comm) - 1);
	memcpy(t->comm, open + 1, n);
	t->comm[n] = '\0';
	t->tid = tid;
	t->state = close[2];
	in.at = close + 3;
	bool ok = next_s32(&in, &t->ppid) && next_s32(&in, &t->pgrp) && next_s32(&in, &t->session) &&
		  next_s32(&in, &t->tty) && next_s32(&in, &t->tpgid) && next_u64(&in, &v);
	t->flags = ok ? (u32)v : 0;
	ok = ok && next_u64(&in, &t->min_faults) && skip_fields(&in, 1) &&
	     next_u64(&in, &t->maj_faults) && skip_fields(&in, 1) && next_u64(&in, &t->user_ticks) &&
	     next_u64(&in, &t->system_ticks) && next_u64(&in, &t->child_user_ticks) &&
	     next_u64(&in, &t->child_system_ticks) && next_s32(&in, &t->priority) &&
	     next_s32(&in, &t->nice) && next_s32(&in, &t->nr_threads) && skip_fields(&in, 1) &&
	     next_u64(&in, &t->start_ticks) && next_u64(&in, &t->virtual_bytes) &&
	     next_u64(&in, &t->rss_pages);
	enum { BEFORE_CPU = 14 }; /* rsslim to exit_signal */
	u64 rt = 0, policy = 0;
	t->cpu = -1;
	if (ok && skip_fields(&in, BEFORE_CPU) && next_s32(&in, &t->cpu))
		(void)(next_u64(&in, &rt) && next_u64(&in, &policy));
	t->rt_priority = (u32)rt;
	t->policy = (u32)policy;
	return ok;
}

bool task_parse_statm(const char *text, size_t len, struct task *t)
{
	struct proc_text in = { text, text + len };
	return next_u64(&in, &t->size_pages) && next_u64(&in, &t->resident_pages) &&
	       next_u64(&in, &t->shared_pages) && next_u64(&in, &t->text_pages) &&
	       skip_fields(&in, 1) && next_u64(&in, &t->data_pages) &&
	       next_u64(&in, &t->dirty_pages);
}

bool task_parse_schedstat(const char *text, size_t len, struct task *t)
{
	struct proc_text in = { text, text + len };
	return next_u64(&in, &t->run_ns) && next_u64(&in, &t->wait_ns) && next_u64(&in, &t->slices);
}

/* ---- lines of "Name: value" ---- */

struct line_field {
	const char *name; /* with its colon */
	u32 offset; /* of a u64 in what is filled */
};

#define LINE_FIELD(type, word, member)                                                             \
	{                                                                                          \
		.name = word, .offset = offsetof(type, member)                                     \
	}

static bool next_line(struct proc_text *in, struct proc_text *line)
{
	if (in->at >= in->end)
		return false;
	const char *nl = memchr(in->at, '\n', (size_t)(in->end - in->at));
	*line = (struct proc_text){ in->at, nl ? nl : in->end };
	in->at = nl ? nl + 1 : in->end;
	return true;
}

static bool begins(struct proc_text *line, const char *word)
{
	size_t n = strlen(word);
	if ((size_t)(line->end - line->at) < n || memcmp(line->at, word, n) != 0)
		return false;
	line->at += n;
	return true;
}

/* How many of the fields there were. A field is looked for from where the last one was found on, since the kernel keeps the order. */
static unsigned line_fields(struct proc_text in, const struct line_field *fields, unsigned nr,
			    void *to)
{
	unsigned found = 0, next = 0;
	for (struct proc_text line; next_line(&in, &line);)
		for (unsigned i = 0; i < nr; i++) {
			const struct line_field *f = &fields[(next + i) % nr];
			if (!begins(&line, f->name))
				continue;
			found += next_u64(&line, (u64 *)((char *)to + f->offset));
			next = (next + i + 1) % nr;
			break;
		}
	return found;
}

static const struct line_field status_fields[] = {
	LINE_FIELD(struct task, "VmLck:", locked_kb),
	LINE_FIELD(struct task, "RssAnon:", rss_anon_kb),
	LINE_FIELD(struct task, "RssFile:", rss_file_kb),
	LINE_FIELD(struct task, "RssShmem:", rss_shmem_kb),
	LINE_FIELD(struct task, "VmSwap:", swap_kb),
	LINE_FIELD(struct task, "voluntary_ctxt_switches:", voluntary_switches),
	LINE_FIELD(struct task, "nonvoluntary_ctxt_switches:", other_switches),
};

static bool next_ids(struct proc_text *line, u32 *ids)
{
	for (unsigned i = 0; i < TASK_ID_NR; i++) {
		u64 v;
		if (!next_u64(line, &v))
			return false;
		ids[i] = (u32)v;
	}
	return true;
}

bool task_parse_status(const char *text, size_t len, struct task *t, const char **groups,
		       size_t *groups_len)
{
	struct proc_text in = { text, text + len };
	bool uid = false, gid = false;
	t->locked_kb = t->rss_anon_kb = t->rss_file_kb = t->rss_shmem_kb = t->swap_kb = 0;
	t->voluntary_switches = t->other_switches = 0;
	*groups_len = 0;
	(void)line_fields(in, status_fields, ARRAY_SIZE(status_fields), t);
	/* The kernel escapes newlines in the name: a line of it is a line. */
	for (struct proc_text line; next_line(&in, &line);) {
		if (begins(&line, "Uid:"))
			uid = next_ids(&line, t->uid);
		else if (begins(&line, "Gid:"))
			gid = next_ids(&line, t->gid);
		else if (begins(&line, "Groups:")) {
			skip_blanks(&line);
			while (line.end > line.at && line.end[-1] == ' ')
				line.end--;
			*groups = line.at;
			*groups_len = (size_t)(line.end - line.at);
			break;
		}
	}
	return uid && gid;
}

bool task_parse_io(const char *text, size_t len, struct task *t)
{
	static const struct line_field fields[] = {
		LINE_FIELD(struct task, "syscr:", read_calls),
		LINE_FIELD(struct task, "syscw:", write_calls),
		LINE_FIELD(struct task, "read_bytes:", read_bytes),
		LINE_FIELD(struct task, "write_bytes:", write_bytes),
	};
	return line_fields((struct proc_text){ text, text + len }, fields, ARRAY_SIZE(fields), t) ==
	       ARRAY_SIZE(fields);
}

bool task_parse_smaps(const char *text, size_t len, struct task *t)
{
	struct private_parts {
		u64 clean, dirty;
	} own = { 0 };
	static const struct line_field fields[] = {
		LINE_FIELD(struct task, "Rss:", smaps_rss_kb),
		LINE_FIELD(struct task, "Pss:", pss_kb),
		LINE_FIELD(struct task, "Pss_Anon:", pss_anon_kb),
		LINE_FIELD(struct task, "Pss_File:", pss_file_kb),
		LINE_FIELD(struct task, "Pss_Shmem:", pss_shmem_kb),
	};
	static const struct line_field own_fields[] = {
		LINE_FIELD(struct private_parts, "Private_Clean:", clean),
		LINE_FIELD(struct private_parts, "Private_Dirty:", dirty),
	};
	struct proc_text in = { text, text + len };
	t->pss_anon_kb = t->pss_file_kb = t->pss_shmem_kb = 0;
	unsigned nr = line_fields(in, fields, ARRAY_SIZE(fields), t);
	nr += line_fields(in, own_fields, ARRAY_SIZE(own_fields), &own);
	t->private_kb = own.clean + own.dirty;
	return nr >= 4; /* Pss by kind came with 5.4 */
}

bool task_parse_autogroup(const char *text, size_t len, struct task *t)
{
	struct proc_text in = { text, text + len };
	return begins(&in, "/autogroup-") && next_s32(&in, &t->autogroup) && begins(&in, " nice") &&
	       next_s32(&in, &t->autogroup_nice);
}

u64 task_parse_ns(const char *text, size_t len)
{
	const char *bracket = memchr(text, '[', len);
	if (!bracket)
		return 0;
	struct proc_text in = { bracket + 1, text + len };
	u64 v;
	return next_u64(&in, &v) ? v : 0;
}

/* ---- the machine ---- */

bool system_parse_stat(const char *text, size_t len, struct system_reading *s)
{
	struct proc_text in = { text, text + len };
	s->cpus.nr = 0;
	for (struct proc_text line; next_line(&in, &line) && begins(&line, "cpu");) {
		struct cpu_ticks c = { .cpu = -1 };
		if (line.at < line.end && *line.at != ' ' && !next_s32(&line, &c.cpu))
			return false;
		u64 *const to[] = { &c.user,   &c.nice, &c.system,  &c.idle,
				    &c.iowait, &c.irq,	&c.softirq, &c.steal };
		unsigned nr = 0;
		while (nr < ARRAY_SIZE(to) && next_u64(&line, to[nr]))
			nr++;
		struct cpu_ticks *slot = nr < 4 ? NULL : vec_push(&s->cpus);
		if (!slot)
			return false;
		*slot = c;
	}
	return s->cpus.nr && s->cpus.at[0].cpu < 0;
}

bool system_parse_meminfo(const char *text, size_t len, struct system_reading *s)
{
	static const struct line_field fields[] = {
		LINE_FIELD(struct system_reading, "MemTotal:", mem_total_kb),
		LINE_FIELD(struct system_reading, "MemFree:", mem_free_kb),
		LINE_FIELD(struct system_reading, "MemAvailable:", mem_available_kb),
		LINE_FIELD(struct system_reading, "Buffers:", buffers_kb),
		LINE_FIELD(struct system_reading, "Cached:", cached_kb),
		LINE_FIELD(struct system_reading, "SwapTotal:", swap_total_kb),
		LINE_FIELD(struct system_reading, "SwapFree:", swap_free_kb),
		LINE_FIELD(struct system_reading, "SReclaimable:", reclaimable_kb),
	};
	s->mem_available_kb = 0; /* since 3.14 */
	(void)line_fields((struct proc_text){ text, text + len }, fields, ARRAY_SIZE(fields), s);
	if (!s->mem_available_kb)
		s->mem_available_kb = s->mem_free_kb + s->buffers_kb + s->cached_kb;
	return s->mem_total_kb != 0;
}

static bool next_decimal(struct proc_text *t, double *ret)
{
	u64 whole, part = 0;
	double scale = 1;
	if (!next_u64(t, &whole))
		return false;
	if (t->at < t->end && *t->at == '.') {
		const char *from = ++t->at;
		if (!next_u64(t, &part))
			return false;
		for (; from < t->at; from++)
			scale *= 10;
	}
	*ret = (double)whole + (double)part / scale;
	return true;
}

bool system_parse_loadavg(const char *text, size_t len, struct system_reading *s)
{
	struct proc_text in = { text, text + len };
	return next_decimal(&in, &s->load[0]) && next_decimal(&in, &s->load[1]) &&
	       next_decimal(&in, &s->load[2]);
}

bool system_parse_uptime(const char *text, size_t len, struct system_reading *s)
{
	struct proc_text in = { text, text + len };
	return next_decimal(&in, &s->uptime_s);
}

void system_parse_vmstat(const char *text, size_t len, struct system_reading *s)
{
	static const struct line_field fields[] = {
		LINE_FIELD(struct system_reading, "pgpgin ", paged_in_kb),
		LINE_FIELD(struct system_reading, "pgpgout ", paged_out_kb),
	};
	s->paged_in_kb = s->paged_out_kb = 0;
	(void)line_fields((struct proc_text){ text, text + len }, fields, ARRAY_SIZE(fields), s);
}
