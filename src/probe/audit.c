#include "probe/audit.h"

#include "base/str.h"
#include "kern/bpf_sys.h"
#include "kern/journal.h"
#include "kern/procfs.h"
#include "kern/sysroot.h"
#include "probe/kernel.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long ull;

enum { ROWS_MAX = 1000 };

/* A process that holds a BPF object or perf events. */
struct holder {
	s32 pid;
	u32 prog, link; /* 0: not one */
	u32 nr_perf;
	char comm[PROCFS_COMM_MAX];
};

struct audit_work {
	struct audit *a;
	const struct tracing *t;
	struct sysroot root;
	VEC(struct holder) holders;
	struct journal_list journals;
	bool has_journals;
};

/* ---- rows ------------------------------------------------------------------------------------------------------------------- */

static struct audit_section *begin(struct audit_work *w, const char *name, const char *source,
				   const char *proves, const char *blind)
{
	struct audit_section *s = &w->a->sections[w->a->nr++];
	*s = (struct audit_section){
		.name = name, .source = source, .proves = proves, .blind = blind
	};
	return s;
}

static const char *text(struct audit_work *w, const char *fmt, ...) printf_like(2, 3);
static const char *text(struct audit_work *w, const char *fmt, ...)
{
	struct strbuf s;
	va_list ap;
	strbuf_init(&s);
	va_start(ap, fmt);
	strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	const char *kept = arena_strdup(&w->a->arena, strbuf_cstr(&s));
	strbuf_done(&s);
	return kept;
}

static int add_row(struct audit_section *s, struct audit_row row)
{
	if (s->rows.nr == ROWS_MAX) {
		s->nr_more++;
		return 0;
	}
	struct audit_row *slot = row.what && row.kind && row.state ? vec_push(&s->rows) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = row;
	return 0;
}

static const char *why(int err)
{
	return err == -EACCES || err == -EPERM ? "not readable by this user"
	       : err == -ENOENT		       ? "not in this kernel, or not mounted"
					       : strerror(-err);
}

/* Calls fn for each line, without its end. */
static int each_line(struct strbuf *text, int (*fn)(void *ctx, char *line), void *ctx)
{
	int err = strbuf_room(text, 1) ? 0 : -ENOMEM;
	if (!err)
		text->data[text->len] = 0;
	for (char *at = err ? NULL : text->data; at && *at && !err;) {
		size_t len = strcspn(at, "\n");
		bool more = at[len] == '\n';
		at[len] = 0;
		err = fn(ctx, at);
		at += len + more;
	}
	return err;
}

struct lines {
	struct audit_work *w;
	struct audit_section *s;
	const char *kind;
};

static int look_file(struct audit_work *w, struct audit_section *s, const char *path,
		     int (*fn)(void *ctx, char *line))
{
	struct strbuf file;
	struct lines l = { w, s, NULL };
	strbuf_init(&file);
	int err = *path == '/' ? sysroot_read(&w->root, path + 1, &file)
			       : tracing_read(w->t, path, &file);
	if (err && err != -ENOMEM) {
		s->missing = why(err);
		err = 0;
	} else if (!err) {
		err = each_line(&file, fn, &l);
	}
	strbuf_done(&file);
	return err;
}

/* ---- kprobes ---------------------------------------------------------------------------------------------------------------- */

/* "ffffffff8125d4a0  k  vfs_read+0x0  [MODULE]  [FTRACE]" */
static int kprobe_line(void *ctx, char *line)
{
	struct lines *l = ctx;
	char type[8] = "", place[256] = "";
	int used = 0;
	if (sscanf(line, "%*s %7s %255s%n", type, place, &used) < 2)
		return 0;
	const char *rest = line + used + strspn(line + used, " \t");
	const char *kind = *type == 'k' ? "kprobe" : *type == 'r' ? "kretprobe" : "probe";
	const char *how = strstr(rest, "[FTRACE]")	? ""
			  : strstr(rest, "[OPTIMIZED]") ? ""
			  : strstr(rest, "[DISABLED]")	? ""
							: "[INT3]";
	return add_row(l->s, (struct audit_row){ .what = text(l->w, "%s", place),
						 .kind = kind,
						 .state = text(l->w, "%s%s", rest, how) });
}

static s8 read_switch(const struct audit_work *w, const char *path)
{
	s64 v;
	return sysroot_s64(&w->root, path, &v) ? -1 : (s8)(v != 0);
}

static int look_kprobes(struct audit_work *w)
{
	struct audit_section *s =
		begin(w, "kprobes", "/sys/kernel/debug/kprobes/list",
		      "every kprobe and kretprobe in the kernel, of tracefs, perf, BPF and modules "
		      "alike; [FTRACE] is called from the function's entry, [OPTIMIZED] by a jump, "
		      "[INT3] by a breakpoint",
		      "who made a probe, and kprobe_multi links of BPF, which are ftrace's");
	w->a->optimization = read_switch(w, "proc/sys/debug/kprobes-optimization");
	w->a->enabled = read_switch(w, "sys/kernel/debug/kprobes/enabled");
	return look_file(w, s, "/sys/kernel/debug/kprobes/list", kprobe_line);
}

/* ---- events of tracefs ------------------------------------------------------------------------------------------------------ */

static bool is_on(const struct audit_work *w, const char *folder, const struct probe_listed *p)
{
	char path[PATH_MAX];
	struct strbuf s;
	strbuf_init(&s);
	(void)snprintf(path, sizeof(path), "%sevents/%s/%s/enable", folder, p->group, p->event);
	bool on = *tracing_line(w->t, path, &s) == '1';
	strbuf_done(&s);
	return on;
}

/* "on", "on in instance x" */
static void where_on(const struct audit_work *w, const struct probe_listed *p, struct strbuf *to)
{
	int fd = w->t->dir < 0 ? -1
			       : openat(w->t->dir, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (is_on(w, "", p))
		strbuf_str(to, "on");
	for (struct dirent *e; dir && (e = readdir(dir));) {
		char folder[NAME_MAX + 16];
		if (*e->d_name == '.')
			continue;
		(void)snprintf(folder, sizeof(folder), "instances/%s/", e->d_name);
		if (is_on(w, folder, p))
			strbuf_printf(to, "%son in instance %s", to->len ? ", " : "", e->d_name);
	}
	if (dir)
		(void)closedir(dir);
	if (p->has_hits)
		strbuf_printf(to, "%s%llu hits", to->len ? ", " : "", (ull)p->hits);
	if (p->misses)
		strbuf_printf(to, ", %llu missed", (ull)p->misses);
}

/* Groups of our own runs carry the name of their journal. */
static const char *owner_of(struct audit_work *w, const char *group)
{
	char name[96];
	if (!w->has_journals || !str_starts(group, "sonde_"))
		return NULL;
	vec_for_each (&w->journals.items, j) {
		(void)snprintf(name, sizeof(name), "sonde_%s", j->name);
		for (char *c = name; *c; c++)
			*c = *c == '-' ? '_' : *c;
		if (str_starts(group, name))
			return text(w, "sonde %d (%s)%s", j->pid, j->title,
				    j->alive ? "" : ", which is dead: see sonde ftrace status");
	}
	return NULL;
}

static const char *kind_of(const struct probe_listed *p)
{
	bool user = *p->place == '/';
	return p->letter == 'f'	  ? "fprobe"
	       : p->letter == 't' ? "tracepoint probe"
	       : p->letter == 'e' ? "event probe"
	       : p->letter == 'r' ? (user ? "uretprobe" : "kretprobe")
				  : (user ? "uprobe" : "kprobe");
}

static int look_events(struct audit_work *w)
{
	struct audit_section *s = begin(
		w, "dynamic events", "tracefs: kprobe_events, uprobe_events, dynamic_events",
		"every probe that was defined through tracefs (perf probe, trace-cmd, sonde), "
		"and whether it is on",
		"whether perf has it open, which probes a process made by perf_event_open() or "
		"BPF alone, and who defined it, unless it was a run of sonde");
	struct probe_listing l;
	int err = w->t->err ? w->t->err : probe_list(w->t, &l);
	if (err) {
		s->missing = why(err == -ENOTSUP ? -ENOENT : err);
		return err == -ENOMEM ? err : 0;
	}
	for (size_t i = 0; i < l.at.nr && !err; i++) {
		const struct probe_listed *p = &l.at.at[i];
		struct strbuf state;
		strbuf_init(&state);
		where_on(w, p, &state);
		err = add_row(s, (struct audit_row){ .what = text(w, "%s:%s at %s", p->group,
								  p->event, p->place),
						     .kind = kind_of(p),
						     .state = text(w, "%s", strbuf_cstr(&state)),
						     .owner = owner_of(w, p->group) });
		strbuf_done(&state);
	}
	probe_listing_done(&l);
	return err;
}

/* ---- ftrace ----------------------------------------------------------------------------------------------------------------- */

/* "vfs_read (1) R   	tramp: 0xffff... (kprobe_ftrace_handler+0x0/0x1d0) ->..." */
static int function_line(void *ctx, char *line)
{
	struct lines *l = ctx;
	size_t len = strcspn(line, " \t");
	char *rest = line + len + strspn(line + len, " \t");
	/* Blanks and tabs in a row say nothing. */
	char *to = rest;
	for (char *from = rest; *from; from++)
		if (!isspace((unsigned char)*from) || (to > rest && to[-1] != ' '))
			*to++ = isspace((unsigned char)*from) ? ' ' : *from;
	*to = 0;
	if (!len || *line == '#')
		return 0;
	return add_row(l->s, (struct audit_row){ .what = text(l->w, "%.*s", (int)len, line),
						 .kind = l->kind ? l->kind : "function",
						 .state = text(l->w, "%s", rest) });
}

static int look_functions(struct audit_work *w)
{
	struct audit_section *s = begin(
		w, "functions with callbacks", "tracefs: enabled_functions",
		"functions whose entry calls a tracer, a kprobe, an fprobe, BPF (D: direct call) "
		"or a "
		"livepatch (I: changes where it goes on), with the number of callers in brackets",
		"probes in the middle of functions, and who is behind a shared trampoline");
	return look_file(w, s, "enabled_functions", function_line);
}

static int look_touched(struct audit_work *w)
{
	struct audit_section *s = begin(
		w, "functions that had callbacks", "tracefs: touched_functions",
		"functions whose entry was changed at any time since boot", "when, and by whom");
	return look_file(w, s, "touched_functions", function_line);
}

/* ---- BPF and perf ----------------------------------------------------------------------------------------------------------- */

static u32 number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	return at ? (u32)strtoul(at + strlen(word), NULL, 10) : 0;
}

static int add_holder(struct audit_work *w, struct holder h, struct procfs *proc)
{
	struct proc_task task;
	if (!procfs_task(proc, h.pid, h.pid, &task))
		(void)snprintf(h.comm, sizeof(h.comm), "%s", task.comm);
	struct holder *slot = vec_push(&w->holders);
	if (!slot)
		return -ENOMEM;
	*slot = h;
	return 0;
}

static int look_process(struct audit_work *w, s32 pid, struct procfs *proc)
{
	char path[64];
	struct strbuf info;
	u32 nr_perf = 0;
	int err = 0;
	(void)snprintf(path, sizeof(path), "proc/%d/fd", pid);
	DIR *dir = sysroot_dir(&w->root, path);
	if (!dir)
		return 0;
	strbuf_init(&info);
	for (struct dirent *e; !err && (e = readdir(dir));) {
		char target[128], file[NAME_MAX + 64];
		ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = 0;
		nr_perf += strstr(target, "perf_event") != NULL;
		bool prog = strstr(target, "bpf-prog"), link = strstr(target, "bpf_link") != NULL;
		(void)snprintf(file, sizeof(file), "proc/%d/fdinfo/%s", pid, e->d_name);
		if ((!prog && !link) || sysroot_read(&w->root, file, &info))
			continue;
		const char *text = strbuf_cstr(&info);
		err = add_holder(w,
				 (struct holder){ .pid = pid,
						  .prog = prog ? number_after(text, "prog_id:") : 0,
						  .link = link ? number_after(text, "link_id:") : 0 },
				 proc);
	}
	if (!err && nr_perf)
		err = add_holder(w, (struct holder){ .pid = pid, .nr_perf = nr_perf }, proc);
	strbuf_done(&info);
	(void)closedir(dir);
	return err;
}

static int find_holders(struct audit_work *w)
{
	struct procfs proc;
	s32 *pids;
	size_t nr = 0;
	procfs_init(&proc, &w->root);
	int err = procfs_pids(&proc, &pids, &nr);
	s32 *own = err || !nr ? NULL : malloc(nr * sizeof(*own));
	if (own)
		memcpy(own, pids, nr * sizeof(*own));
	for (size_t i = 0; own && i < nr && !err; i++)
		err = look_process(w, own[i], &proc);
	free(own);
	procfs_done(&proc);
	return err == -ENOMEM ? err : 0;
}

static const char *holders_of(struct audit_work *w, u32 prog, u32 link)
{
	struct strbuf s;
	strbuf_init(&s);
	vec_for_each (&w->holders, h)
		if ((prog && h->prog == prog) || (link && h->link == link))
			strbuf_printf(&s, "%s%s %d", s.len ? ", " : "", h->comm, h->pid);
	const char *kept = s.len ? text(w, "%s", strbuf_cstr(&s)) : NULL;
	strbuf_done(&s);
	return kept;
}

static const char *prog_type(u32 type)
{
	static const char *const names[] = {
		[BPF_PROG_TYPE_SOCKET_FILTER] = "socket filter",
		[BPF_PROG_TYPE_KPROBE] = "kprobe",
		[BPF_PROG_TYPE_SCHED_CLS] = "traffic control",
		[BPF_PROG_TYPE_TRACEPOINT] = "tracepoint",
		[BPF_PROG_TYPE_XDP] = "XDP",
		[BPF_PROG_TYPE_PERF_EVENT] = "perf event",
		[BPF_PROG_TYPE_CGROUP_SKB] = "cgroup packets",
		[BPF_PROG_TYPE_CGROUP_DEVICE] = "cgroup devices",
		[BPF_PROG_TYPE_RAW_TRACEPOINT] = "raw tracepoint",
		[BPF_PROG_TYPE_TRACING] = "tracing",
		[BPF_PROG_TYPE_EXT] = "extension",
		[BPF_PROG_TYPE_LSM] = "security",
		[BPF_PROG_TYPE_SYSCALL] = "system call",
	};
	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "other";
}

/* Nanoseconds since boot as the time of day. */
static const char *loaded_at(struct audit_work *w, u64 ns)
{
	struct timespec boot, real;
	struct tm tm;
	char date[32];
	if (clock_gettime(CLOCK_BOOTTIME, &boot) || clock_gettime(CLOCK_REALTIME, &real))
		return NULL;
	time_t at = real.tv_sec - boot.tv_sec + (time_t)(ns / 1000000000);
	if (!localtime_r(&at, &tm) || !strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm))
		return NULL;
	return text(w, "%s", date);
}

static int add_program(struct audit_work *w, struct audit_section *s, u32 id)
{
	struct bpf_prog_info info = { 0 };
	int fd = bpfsys_by_id(BPFSYS_PROG, id);
	if (fd < 0)
		return 0; /* gone meanwhile */
	int err = bpfsys_info(fd, &info, sizeof(info));
	(void)close(fd);
	if (err)
		return 0;
	return add_row(s, (struct audit_row){ .what = text(w, "program %u %.16s", id, info.name),
					      .kind = prog_type(info.type),
					      .state = info.run_cnt ? text(w, "%llu runs, %llu ns",
									   (ull)info.run_cnt,
									   (ull)info.run_time_ns)
								    : "",
					      .owner = holders_of(w, id, 0),
					      .since = loaded_at(w, info.load_time) });
}

static int add_link(struct audit_work *w, struct audit_section *s, u32 id)
{
	static const char *const names[] = { "unspecified", "raw tracepoint", "tracing",
					     "cgroup",	    "iterator",	      "network namespace",
					     "XDP",	    "perf event",     "kprobe_multi",
					     "struct_ops",  "netfilter",      "tcx",
					     "uprobe_multi" };
	struct bpf_link_info info = { 0 };
	int fd = bpfsys_by_id(BPFSYS_LINK, id);
	if (fd < 0)
		return 0;
	int err = bpfsys_info(fd, &info, sizeof(info));
	(void)close(fd);
	if (err)
		return 0;
	return add_row(s, (struct audit_row){
				  .what = text(w, "link %u to program %u", id, info.prog_id),
				  .kind = info.type < ARRAY_SIZE(names) ? names[info.type] : "other",
				  .state = "",
				  .owner = holders_of(w, 0, id) });
}

static int look_bpf(struct audit_work *w)
{
	struct audit_section *s =
		begin(w, "BPF programs and links", "bpf(2), /proc/PID/fdinfo",
		      "every program in the kernel and every link that attaches one, with the "
		      "processes that hold a descriptor",
		      "who keeps one that is pinned or attached in an older way (traffic control, "
		      "cgroup, perf ioctl), and processes of others in namespaces that are hidden");
	u32 id = 0, next;
	int err = 0, got;
	while (!err && !(got = bpfsys_next_id(BPFSYS_PROG, id, &next))) {
		id = next;
		err = add_program(w, s, id);
	}
	if (!id && got != -ENOENT)
		s->missing = why(got);
	for (id = 0; !err && !bpfsys_next_id(BPFSYS_LINK, id, &next);) {
		id = next;
		err = add_link(w, s, id);
	}
	return err;
}

static int look_perf(struct audit_work *w)
{
	struct audit_section *s =
		begin(w, "perf events", "/proc/PID/fd", "processes that hold perf events open",
		      "which events those are, and events of the kernel itself "
		      "(the hard lockup detector)");
	int err = 0;
	for (size_t i = 0; i < w->holders.nr && !err; i++) {
		const struct holder *h = &w->holders.at[i];
		if (h->nr_perf)
			err = add_row(
				s, (struct audit_row){ .what = text(w, "%u events", h->nr_perf),
						       .kind = "perf event",
						       .state = "",
						       .owner = text(w, "%s %d", h->comm, h->pid) });
	}
	return err;
}

/* ---- livepatches ------------------------------------------------------------------------------------------------------------ */

static int look_livepatch(struct audit_work *w)
{
	struct audit_section *s = begin(w, "livepatches", "/sys/kernel/livepatch",
					"patches that replace functions of the running kernel",
					"which of their functions run right now");
	DIR *dir = sysroot_dir(&w->root, "sys/kernel/livepatch");
	int err = 0;
	if (!dir) {
		s->missing = why(-errno);
		return 0;
	}
	for (struct dirent *e; !err && (e = readdir(dir));) {
		char path[NAME_MAX + 64];
		s64 on = 0;
		if (*e->d_name == '.')
			continue;
		(void)snprintf(path, sizeof(path), "sys/kernel/livepatch/%s/enabled", e->d_name);
		(void)!sysroot_s64(&w->root, path, &on);
		err = add_row(s, (struct audit_row){ .what = text(w, "%s", e->d_name),
						     .kind = "livepatch",
						     .state = on ? "enabled" : "disabled",
						     .owner = text(w, "module %s", e->d_name) });
	}
	(void)closedir(dir);
	return err;
}

/* ---- all -------------------------------------------------------------------------------------------------------------------- */

int audit_look(struct audit *a, const struct tracing *t, const char *root)
{
	static int (*const parts[])(
		struct audit_work *) = { look_kprobes, look_events, look_functions, look_touched,
					 look_bpf,     look_perf,   look_livepatch };
	struct audit_work w = { .a = a, .t = t };
	*a = (struct audit){ .optimization = -1, .enabled = -1 };
	arena_init(&a->arena);
	int err = sysroot_open(&w.root, *root ? root : NULL);
	if (err)
		return err;
	int run_dir = run_dir_open(RUN_DIR, NULL);
	w.has_journals = run_dir >= 0 && !journal_list_all(run_dir, &w.journals);
	err = find_holders(&w);
	for (size_t i = 0; i < ARRAY_SIZE(parts) && !err; i++)
		err = parts[i](&w);
	if (w.has_journals)
		journal_list_done(&w.journals);
	if (run_dir >= 0)
		(void)close(run_dir);
	vec_free(&w.holders);
	sysroot_close(&w.root);
	return err;
}

void audit_done(struct audit *a)
{
	for (u32 i = 0; i < a->nr; i++)
		vec_free(&a->sections[i].rows);
	arena_done(&a->arena);
}
