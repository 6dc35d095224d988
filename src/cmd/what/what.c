/* sonde what: counters of the whole system, a line for each interval, as dstat, vmstat, iostat and their like show them. */
#include "base/clock.h"
#include "base/json.h"
#include "base/loop.h"
#include "cmd/app/app.h"
#include "cmd/app/commands.h"
#include "cmd/app/serve.h"
#include "session/what.h"
#include "session/what_openmetrics.h"
#include "session/what_page.h"
#include "session/what_push.h"
#include "session/what_raw.h"
#include "session/what_record.h"
#include "session/what_top.h"
#include "session/who_run.h"
#include "view/series_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { RAW_WORDS = 1, WORDS_MAX = 2, ROWS_KEPT = 4 };

struct what_opts {
	VEC(const char *) groups; /* in the order of the options */
	struct opt_list events;
	const char *cpus, *disks, *nets, *ints;
	const char *preset;
	const char *raw; /* a path, or NULL */
	const char *raw_number; /* what followed --raw and is the DELAY */
	const char *record; /* FILE */
	u64 max_size, processes; /* of --record */
	const char *from, *to; /* of a recording */
	const char *listen, *token_file, *push;
	const char *cgroups;
	bool dated, full, all, csv, openmetrics, list, no_first, top_process;
};

/* ---- options ---- */

static int add_group(void *opts, const char *name)
{
	const char **slot = vec_push(&((struct what_opts *)opts)->groups);
	if (!slot)
		return -ENOMEM;
	*slot = name;
	return 0;
}

#define GROUP_OPTION(fn, name)                                                                     \
	static int fn(void *opts, const char *value, bool negated, struct diag *d)                 \
	{                                                                                          \
		(void)value;                                                                       \
		(void)d;                                                                           \
		return negated ? 0 : add_group(opts, name);                                        \
	}
GROUP_OPTION(take_cpu, "cpu")
GROUP_OPTION(take_disk, "disk")
GROUP_OPTION(take_net, "net")
GROUP_OPTION(take_page, "page")
GROUP_OPTION(take_sys, "sys")
GROUP_OPTION(take_load, "load")
GROUP_OPTION(take_proc, "proc")
GROUP_OPTION(take_mem, "mem")
GROUP_OPTION(take_mem_more, "mem-more")
GROUP_OPTION(take_swap, "swap")
GROUP_OPTION(take_io, "io")
GROUP_OPTION(take_disk_use, "disk-use")
GROUP_OPTION(take_packets, "packets")
GROUP_OPTION(take_int, "int")
GROUP_OPTION(take_softirq, "softirq")
GROUP_OPTION(take_vm, "vm")
GROUP_OPTION(take_reclaim, "reclaim")
GROUP_OPTION(take_psi, "psi")
GROUP_OPTION(take_aio, "aio")
GROUP_OPTION(take_fs, "fs")
GROUP_OPTION(take_ipc, "ipc")
GROUP_OPTION(take_lock, "lock")
GROUP_OPTION(take_socket, "socket")
GROUP_OPTION(take_tcp, "tcp")
GROUP_OPTION(take_udp, "udp")
GROUP_OPTION(take_unix, "unix")
GROUP_OPTION(take_tcp_rate, "tcp-rate")
GROUP_OPTION(take_udp_rate, "udp-rate")
GROUP_OPTION(take_sched, "sched")
GROUP_OPTION(take_temperature, "temperature")
GROUP_OPTION(take_frequency, "frequency")
GROUP_OPTION(take_disk_health, "disk-health")
GROUP_OPTION(take_cgroup, "cgroup")
GROUP_OPTION(take_cgroup_psi, "cgroup-psi")

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789.") == strlen(text);
}

/* dstat's group of raw sockets, unless a file follows. */
static int take_raw(void *opts, const char *value, bool negated, struct diag *d)
{
	struct what_opts *o = opts;
	(void)d;
	if (negated)
		return 0;
	if (value && !is_number(value)) {
		o->raw = value;
		return 0;
	}
	o->raw_number = value;
	return add_group(opts, "raw");
}

static int take_vmstat(void *opts, const char *value, bool negated, struct diag *d)
{
	(void)value;
	(void)d;
	if (!negated)
		((struct what_opts *)opts)->preset = "vmstat";
	return 0;
}

/* clang-format off */
static const struct opt what_rows[] = {
	OPT_HEADING("Columns (default: -cdngy)"),
	OPT_CALL('c', "cpu", NULL, "CPU time: user, system, idle, I/O wait, steal", take_cpu),
	OPT_CALL('d', "disk", NULL, "Bytes read and written by disks", take_disk),
	OPT_CALL('r', "io", NULL, "Requests completed by disks", take_io),
	OPT_CALL(0, "disk-use", NULL, "Merges, queue, waiting time, utilisation of disks", take_disk_use),
	OPT_CALL('n', "net", NULL, "Bytes received and sent by network interfaces", take_net),
	OPT_CALL(0, "packets", NULL, "Packets, errors, drops of network interfaces", take_packets),
	OPT_CALL('g', "page", NULL, "Bytes swapped in and out", take_page),
	OPT_CALL('y', "sys", NULL, "Interrupts and context switches", take_sys),
	OPT_CALL('l', "load", NULL, "Load averages", take_load),
	OPT_CALL('p', "proc", NULL, "Tasks: runnable, blocked, new", take_proc),
	OPT_CALL('m', "mem", NULL, "Memory: used, free, buffers, cache", take_mem),
	OPT_CALL(0, "mem-more", NULL, "Memory: available, dirty, slab", take_mem_more),
	OPT_CALL('s', "swap", NULL, "Swap space", take_swap),
	OPT_CALL('i', "int", NULL, "Interrupts; with -I or -f by line", take_int),
	OPT_CALL(0, "softirq", NULL, "Softirqs by kind", take_softirq),
	OPT_CALL(0, "vm", NULL, "Page faults, pages allocated and freed", take_vm),
	OPT_CALL(0, "reclaim", NULL, "Pages scanned and reclaimed, stalls, OOM kills", take_reclaim),
	OPT_CALL(0, "psi", NULL, "Pressure: time lost waiting for CPU, memory, I/O", take_psi),
	OPT_CALL(0, "aio", NULL, "Asynchronous I/O", take_aio),
	OPT_CALL(0, "fs", NULL, "Open files and inodes", take_fs),
	OPT_CALL(0, "ipc", NULL, "System V IPC objects", take_ipc),
	OPT_CALL(0, "lock", NULL, "File locks", take_lock),
	OPT_CALL(0, "socket", NULL, "Sockets in use", take_socket),
	OPT_CALL(0, "tcp", NULL, "TCP sockets by state", take_tcp),
	OPT_CALL(0, "udp", NULL, "UDP sockets by state", take_udp),
	OPT_CALL(0, "unix", NULL, "Unix sockets", take_unix),
	OPT_CALL(0, "tcp-rate", NULL, "TCP segments, retransmissions, connections", take_tcp_rate),
	OPT_CALL(0, "udp-rate", NULL, "UDP datagrams and errors", take_udp_rate),
	OPT_CALL(0, "sched", NULL, "Waiting for CPUs (needs CONFIG_SCHEDSTATS)", take_sched),
	OPT_CALL(0, "temperature", NULL, "Temperatures: the hottest, with -f each sensor", take_temperature),
	OPT_CALL(0, "frequency", NULL, "Clock of CPUs: the mean, with -C or -f of each", take_frequency),
	OPT_CALL(0, "disk-health", NULL, "Health that disks report (SMART): failing, temperature, wear, errors, age", take_disk_health),
	OPT_CALL(0, "cgroup", NULL, "CPU, memory, I/O and tasks of cgroups (see -G)", take_cgroup),
	OPT_CALL(0, "cgroup-psi", NULL, "Pressure by cgroup (version 2)", take_cgroup_psi),
	OPT_FLAG(0, "top-process", struct what_opts, top_process, "The process that used most CPU time, at the end of each line"),
	OPT_LIST('e', "event", struct what_opts, events, "EVENT", "Events counted on all CPUs, as columns; see `sonde list`"),
	OPT_FLAG('t', "time", struct what_opts, dated, "Day and time"),
	OPT_FLAG('a', "all", struct what_opts, all, "Same as -cdngy"),
	OPT_HEADING("Which devices"),
	OPT_STR('C', "cpus", struct what_opts, cpus, "LIST", "CPUs instead of the total: 0,3,total or all"),
	OPT_STR('D', "disks", struct what_opts, disks, "LIST", "Disks instead of the total: sda,total or all"),
	OPT_STR('N', "nets", struct what_opts, nets, "LIST", "Network interfaces instead of the total: eth0,total or all"),
	OPT_STR('I', "ints", struct what_opts, ints, "LIST", "Interrupts instead of the total: 24,LOC or all"),
	OPT_STR('G', "cgroups", struct what_opts, cgroups, "LIST", "These cgroups instead of all: system.slice,user.slice or all; also paths"),
	OPT_FLAG('f', "full", struct what_opts, full, "Every CPU, disk, interface, interrupt and sensor that is in use"),
	OPT_HEADING("As other tools"),
	OPT_STR(0, "preset", struct what_opts, preset, "NAME", "Columns and first line of dstat, vmstat, iostat, mpstat, sar, netstat or ifstat; pidstat: processes that used CPU time", .words = "dstat vmstat iostat mpstat sar netstat ifstat pidstat"),
	OPT_CALL(0, "vmstat", NULL, "Same as --preset vmstat", take_vmstat),
	OPT_HEADING("One file"),
	OPT_CALL(0, "raw", "FILE", "All counters of a file below /proc or /sys, with rates and explanations; without FILE: raw sockets", take_raw, .optional = true, .greedy = true),
	OPT_HEADING("History"),
	OPT_STR(0, "record", struct what_opts, record, "FILE", "Write the columns of every interval to FILE, a perf.data, instead of printing them"),
	OPT_SIZE(0, "max-size", struct what_opts, max_size, "SIZE", "Keep at most two files of SIZE, FILE and FILE.old (default: 64M)"),
	OPT_UINT(0, "processes", struct what_opts, processes, "N", "Keep the N processes of each interval that used most CPU time, and most disk I/O (5, at most 32)"),
	OPT_STR(0, "from", struct what_opts, from, "TIME", "Replay from here: 14:05, -10m (before the end), or seconds since 1970"),
	OPT_STR(0, "to", struct what_opts, to, "TIME", "Replay up to here"),
	OPT_HEADING("For a browser and for Prometheus"),
	OPT_STR(0, "listen", struct what_opts, listen, "ADDRESS", "Serve a page with charts and processes on loopback (127.0.0.1:9435), and below /metrics the last interval as OpenMetrics, instead of printing; the URL is printed"),
	OPT_STR(0, "token-file", struct what_opts, token_file, "FILE", "The token that requests have to carry, instead of a random one"),
	OPT_STR(0, "push", struct what_opts, push, "URL", "Send every interval by Prometheus remote write (http://127.0.0.1:8428/api/v1/write), instead of printing; what the server does not take waits, and what is given up is counted"),
	OPT_HEADING("Output"),
	OPT_FLAG(0, "no-first", struct what_opts, no_first, "Skip the first line, which is the mean since boot"),
	OPT_FLAG(0, "csv", struct what_opts, csv, "Comma-separated values, with a line of names"),
	OPT_FLAG(0, "openmetrics", struct what_opts, openmetrics, "OpenMetrics text for each interval (for Prometheus)"),
	OPT_FLAG(0, "list", struct what_opts, list, "Explain all columns: unit, source, meaning"),
	OPT_END(),
};
/* clang-format on */

/* ---- a run ---- */

struct what_session {
	struct app *app;
	const struct what_opts *o;
	const struct what_preset *preset;
	struct sysroot root;
	struct what_engine what;
	struct what_top *top; /* with --top-process and --record */
	struct series_process replayed; /* with --top-process, of a recording */
	struct what_page page; /* with --listen */
	struct counter_file raw; /* with --raw */
	u64 raw_ns; /* when it was read */
	struct what_recording *recording; /* with --record */
	struct what_push *push; /* with --push */
	bool last; /* nothing is read any more: what waits is pushed */
	const char *file; /* to be replayed; NULL: live */
	struct app_serve serve; /* with --listen */
	struct series_lines lines;
	u64 delay_ns, count; /* count 0: until a signal */
	u64 shown;
	u64 generation; /* of the series whose titles were shown */
	unsigned since_titles;
	bool text;
};

static const struct what_preset *find_preset(const char *name)
{
	for (const struct what_preset *p = what_presets; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static const char *rows_of(const struct what_session *s, const struct what_group *g)
{
	const struct what_opts *o = s->o;
	const char *given = str_starts(g->files, "proc/stat")		      ? o->cpus
			    : str_starts(g->files, "proc/schedstat")	      ? o->cpus
			    : str_starts(g->files, "proc/diskstats")	      ? o->disks
			    : str_starts(g->files, "proc/net/dev")	      ? o->nets
			    : str_starts(g->files, "proc/interrupts")	      ? o->ints
			    : str_starts(g->files, "sys/devices/system/cpu/") ? o->cpus
			    : str_starts(g->files, "dev/")		      ? o->disks
			    : str_starts(g->files, "sys/fs/cgroup/")	      ? o->cgroups
									      : NULL;
	if (given)
		return given;
	if (s->preset->rows)
		return g->only_rows ? "all" : "total,all";
	return o->full ? "all" : NULL;
}

static int choose(struct what_session *s, const char *name)
{
	const struct what_group *g = what_group_find(name);
	return g ? what_choose(&s->what, g, rows_of(s, g)) : -EINVAL;
}

static int choose_list(struct what_session *s, const char *list)
{
	while (*list) {
		char name[32];
		size_t len = strcspn(list, " ");
		if (len && len < sizeof(name)) {
			memcpy(name, list, len);
			name[len] = 0;
			int err = choose(s, name);
			if (err)
				return err;
		}
		list += len;
		list += strspn(list, " ");
	}
	return 0;
}

static int choose_groups(struct what_session *s)
{
	const struct what_opts *o = s->o;
	bool nothing = !o->groups.nr && !o->events.items.nr && !o->dated && !o->top_process;
	if (o->preset || o->all || nothing) {
		int err = choose_list(s, s->preset->groups);
		if (err)
			return err;
	}
	vec_for_each (&o->groups, name) {
		int err = choose(s, *name);
		if (err)
			return err;
	}
	return o->events.items.nr ? what_count_events(&s->what, &o->events, &s->app->diag) : 0;
}

/* Titles come first, when columns have changed, and on a terminal again when they are about to leave it. */
static bool titles_due(struct what_session *s)
{
	if (s->generation == s->what.generation &&
	    !(s->app->out.screen && s->since_titles + 3 > term_height(STDOUT_FILENO)))
		return false;
	s->generation = s->what.generation;
	s->since_titles = 0;
	return true;
}

static const char *table_head(const struct what_session *s)
{
	return !strcmp(s->preset->name, "mpstat")    ? "CPU"
	       : !strcmp(s->preset->name, "netstat") ? "Iface"
						     : "Device";
}

static void show_text(struct what_session *s, size_t row)
{
	const struct series *series = &s->what.series;
	struct strbuf *out = &s->app->out;
	if (s->preset->table) {
		if (s->shown)
			strbuf_char(out, '\n');
		series_lines_table(series, row, table_head(s), NULL, NULL, &s->lines, out);
		return;
	}
	if (titles_due(s))
		series_lines_head(series, &s->lines, out);
	series_lines_row(series, row, &s->lines, out);
	s->since_titles++;
}

/* 1: it was the last line. */
static int show(struct what_session *s)
{
	const struct series *series = &s->what.series;
	struct strbuf *out = &s->app->out;
	size_t row = series->nr_rows - 1;
	int err = 0;
	if (s->app->json) {
		err = series_lines_json(series, row, s->what.seconds, s->what.since_boot,
					s->lines.process, out);
	} else if (s->o->openmetrics) {
		what_openmetrics(&s->what, out);
	} else if (s->o->csv) {
		if (titles_due(s))
			series_lines_csv_head(series, s->lines.process, out);
		series_lines_csv(series, row, s->lines.process, out);
	} else {
		show_text(s, row);
	}
	if (!err)
		err = app_flush(s->app);
	s->shown++;
	return err ? err : s->count && s->shown >= s->count;
}

/* 1: it was the last one. */
static int keep(struct what_session *s)
{
	int err = what_record_round(s->recording, &s->app->diag);
	s->shown++;
	return err ? err : s->count && s->shown >= s->count;
}

/* After the last interval the server is asked a few more times to take what waits. */
static int push(struct what_session *s)
{
	int err = what_push_row(s->push, &s->what);
	s->shown++;
	s->last = s->count && s->shown >= s->count;
	return err;
}

static int finish_push(struct what_session *s)
{
	enum { TRIES = 3, SECONDS = 10 };
	u64 waited = u64_less(clock_monotonic_ns(), s->what.read_ns);
	int tried = what_push_is_done(s->push) ? 0 : what_push_again(s->push);
	if (tried < 0)
		return tried;
	s->shown += (u64)tried;
	return what_push_is_done(s->push) || s->shown > s->count + TRIES ||
	       waited > SECONDS * NS_PER_SEC;
}

static int on_timer(void *ctx, u64 times)
{
	struct what_session *s = ctx;
	(void)times;
	if (s->last)
		return finish_push(s);
	int err = what_read(&s->what);
	if (!err && s->top)
		err = what_top_read(s->top);
	if (err)
		return err;
	if (s->recording)
		return keep(s);
	if (s->push)
		return push(s);
	if (!s->o->listen)
		return show(s);
	s->shown++;
	err = what_watch_read(&s->page.tasks);
	return err ? err : s->count && s->shown >= s->count;
}

static int show_raw(struct what_session *s, double seconds)
{
	struct strbuf *out = &s->app->out;
	int err = 0;
	if (s->app->json) {
		err = what_raw_json(&s->raw, seconds, out);
	} else {
		if (s->shown)
			strbuf_char(out, '\n');
		what_raw_text(&s->raw, seconds, s->app->wide, s->app->width, out);
	}
	if (!err)
		err = app_flush(s->app);
	s->shown++;
	return err ? err : s->count && s->shown >= s->count;
}

static int on_raw_timer(void *ctx, u64 times)
{
	struct what_session *s = ctx;
	(void)times;
	u64 now = clock_monotonic_ns();
	double seconds = (double)(now - s->raw_ns) / (double)NS_PER_SEC;
	int err = counter_file_read(&s->raw);
	if (err)
		return diag_error(&s->app->diag, err, "cannot read '/%s' any more: %s", s->raw.path,
				  strerror(-err));
	s->raw_ns = now;
	return show_raw(s, seconds);
}

static int on_signal(void *ctx, u64 signo)
{
	(void)ctx;
	(void)signo;
	return 1;
}

/* ---- --listen ---- */

static int serve(struct what_session *s, struct loop *l)
{
	return !s->o->listen ? 0
			     : app_serve(s->app, &s->serve, l,
					 &(struct app_serve_opts){ .address = s->o->listen,
								   .token_file = s->o->token_file,
								   .routes = what_page_routes,
								   .ctx = &s->page });
}

/* What is lost is an error at the end, not on the way. */
static int report_push(struct what_session *s)
{
	struct what_push_counts c = what_push_counts(s->push);
	const char *why = what_push_trouble(s->push);
	u64 lost = c.lost + c.waiting;
	if (s->app->json) {
		struct json j;
		json_begin(&j, &s->app->out, JSON_COMPACT);
		json_object(&j);
		json_put_str(&j, "pushed_to", s->o->push);
		json_put_u64(&j, "samples", c.samples);
		json_put_u64(&j, "lost", lost);
		json_put_u64(&j, "refusals", c.refusals);
		json_object_end(&j);
		int err = json_end(&j);
		if (err)
			return err;
	} else {
		strbuf_printf(&s->app->err, "%s: pushed %llu samples, lost %llu\n", s->app->title,
			      (unsigned long long)c.samples, (unsigned long long)lost);
	}
	if (!lost)
		return 0;
	return diag_error(&s->app->diag, -EIO, "'%s' did not take %llu samples%s%s", s->o->push,
			  (unsigned long long)lost, why ? ": " : "", why ? why : "");
}

static int run_loop(struct what_session *s, loop_fn fn)
{
	struct loop *l = loop_new();
	if (!l)
		return -errno;
	int err = loop_add_signal(l, SIGINT, on_signal, s);
	if (!err)
		err = loop_add_signal(l, SIGTERM, on_signal, s);
	if (!err)
		err = loop_add_timer(l, s->delay_ns, s->delay_ns, fn, s, NULL);
	if (!err)
		err = serve(s, l);
	if (!err && s->o->push && !(s->push = what_push_open(l, s->o->push, &s->app->diag)))
		err = -errno;
	if (!err)
		err = loop_run(l);
	if (s->push && err >= 0)
		err = report_push(s);
	what_push_close(s->push);
	s->push = NULL;
	app_serve_end(&s->serve);
	what_watch_done(&s->page.tasks);
	loop_free(l);
	return err;
}

static int show_averages(struct what_session *s)
{
	const struct series *series = &s->what.series;
	double *means = calloc(max(series->columns.nr, (size_t)1), sizeof(*means));
	if (!means)
		return -ENOMEM;
	for (size_t i = 0; i < series->columns.nr; i++)
		means[i] = what_average(&s->what, i);
	if (s->preset->table) {
		strbuf_char(&s->app->out, '\n');
		series_lines_table(series, 0, table_head(s), "Average:", means, &s->lines,
				   &s->app->out);
	} else {
		series_lines_values(series, means, "Average:", &s->lines, &s->app->out);
	}
	free(means);
	return 0;
}

static int report_recording(struct what_session *s)
{
	u64 bytes = what_record_bytes(s->recording);
	if (!s->app->json) {
		strbuf_printf(&s->app->err, "%s: wrote %llu intervals, %llu KB in '%s'\n",
			      s->app->title, (unsigned long long)s->shown,
			      (unsigned long long)(bytes + 1023) / 1024, s->o->record);
		return 0;
	}
	struct json j;
	json_begin(&j, &s->app->out, JSON_COMPACT);
	json_object(&j);
	json_put_str(&j, "recording", s->o->record);
	json_put_u64(&j, "intervals", s->shown);
	json_put_u64(&j, "bytes", bytes);
	json_object_end(&j);
	return json_end(&j);
}

static int record_columns(struct what_session *s)
{
	enum { NS_PER_MS = 1000000 };
	struct diag *d = &s->app->diag;
	s->recording =
		what_record_open(&s->what,
				 &(struct what_record_opts){ .path = s->o->record,
							     .max_bytes = s->o->max_size,
							     .interval_ms = s->delay_ns / NS_PER_MS,
							     .top = s->top,
							     .processes = (u32)s->o->processes },
				 d);
	int err = s->recording ? run_loop(s, on_timer) : -EIO;
	if (err >= 0)
		err = what_record_finish(s->recording, d);
	if (!err)
		err = report_recording(s);
	what_record_close(s->recording);
	return err;
}

static int moment(struct what_session *s, const char *text, u64 end, u64 fallback, u64 *ret)
{
	*ret = fallback;
	if (!text || !what_moment(text, end, ret))
		return 0;
	return diag_error(&s->app->diag, -EINVAL, "invalid time '%s'", text);
}

/* What --top-process has shown, or would have, in the interval of the last row. */
static void replay_process(struct what_session *s, const struct what_replay *r)
{
	struct what_was_busy list[WHAT_PROCESSES_MAX];
	s->replayed = (struct series_process){ 0 };
	if (s->o->top_process && what_replay_busy(r, WHAT_BUSY_CPU, list))
		s->replayed = (struct series_process){ .pid = list->pid,
						       .command = what_replay_name(r, list->name),
						       .cpu_percent = list->amount };
}

static int replay(struct what_session *s)
{
	struct what_replay *r = what_replay_open(&s->what, s->file, &s->app->diag);
	if (!r)
		return -EIO;
	u64 end = what_replay_ends(r), from, to;
	int err = moment(s, s->o->from, end, 0, &from);
	if (!err)
		err = moment(s, s->o->to, end, UINT64_MAX, &to);
	if (s->o->top_process)
		s->lines.process = &s->replayed;
	while (!err && (err = what_replay_next(r)) > 0) {
		replay_process(s, r);
		u64 at = series_time(&s->what.series, s->what.series.nr_rows - 1);
		err = at > to ? 1 : at >= from ? show(s) : 0;
		if (err > 0)
			break;
	}
	if (err == -EBADMSG)
		err = diag_error(&s->app->diag, err, "'%s' is cut off here", s->file);
	what_replay_close(r);
	return err < 0 ? err : 0;
}

static int start_top(struct what_session *s)
{
	bool record = s->o->record && s->o->processes;
	if (!s->o->top_process && !record)
		return 0;
	s->top = what_top_new(&s->root, record);
	if (!s->top)
		return diag_error(&s->app->diag, -errno, "cannot read tasks from /proc: %s",
				  strerror(errno));
	s->lines.process = what_top_process(s->top);
	return 0;
}

static int run_columns(struct what_session *s)
{
	int err = choose_groups(s);
	if (!err)
		err = what_start(&s->what, &s->app->diag);
	if (!err)
		err = start_top(s);
	if (err)
		return err;
	app_say(s->app);
	if (s->o->record)
		return record_columns(s);
	if (s->preset->first_since_boot && !s->o->no_first) {
		err = what_read_since_boot(&s->what);
		if (!err && !s->o->listen && !s->o->push)
			err = show(s);
	}
	if (!err)
		err = run_loop(s, on_timer);
	if (err >= 0 && s->preset->averages && s->text && s->what.sum_seconds > 0)
		err = show_averages(s);
	return err < 0 ? err : 0;
}

static int run_raw(struct what_session *s)
{
	int err = what_raw_open(&s->raw, &s->root, s->o->raw, &s->app->diag);
	if (err)
		return err;
	s->raw_ns = clock_monotonic_ns();
	err = show_raw(s, 0);
	if (!err)
		err = run_loop(s, on_raw_timer);
	counter_file_close(&s->raw);
	return err < 0 ? err : 0;
}

/* ---- processes ---- */

/* pidstat's columns: who has them all, and the intervals. */
static int run_pidstat(struct what_session *s)
{
	static const char columns[] = "UID,PID,%USR,%SYS,WAIT,%CPU,P,COMMAND";
	const struct tell tell = app_tell(s->app);
	struct who_run_opts run = {
		.delay_ns = s->delay_ns, .rounds = s->count, .csv = s->o->csv, .bare = true
	};
	who_opts_init(&run.who);
	run.who.no_idle = true;
	int err = who_opts_columns(&run.who, columns, &s->app->diag);
	if (!err)
		err = who_column_find("PID", strlen("PID"), &run.who.sort);
	if (!err)
		err = who_run_batch(&run, &tell);
	who_opts_done(&run.who);
	return err;
}

/* ---- --list ---- */

static const char *const how_words[] = { [WHAT_RATE] = "growth per second of",
					 [WHAT_GAUGE] = "value of",
					 [WHAT_SHARE] = "percent: growth of",
					 [WHAT_RATIO] = "growth of" };

static void list_column(const struct what_group *g, const struct what_column *c, struct strbuf *to)
{
	strbuf_str(to, "  ");
	strbuf_left(to, c->name, 9);
	strbuf_char(to, ' ');
	strbuf_left(to, c->key, 18);
	strbuf_char(to, ' ');
	strbuf_left(to, *c->unit->name ? c->unit->name : "-", 8);
	strbuf_printf(to, " %s\n", c->about);
	strbuf_fill(to, ' ', 39);
	strbuf_printf(to, " %s %s%s%s in /%s\n", how_words[c->how], c->of,
		      c->per ? " by that of " : "", c->per ? c->per : "",
		      c->files ? c->files : g->files);
}

static void list_text(struct strbuf *to)
{
	for (const struct what_group *g = what_groups; g->name; g++) {
		if (g->of_preset)
			continue;
		strbuf_printf(to, "%s%s: %s\n", g == what_groups ? "" : "\n", g->name, g->about);
		for (const struct what_column *c = g->columns; c->name; c++)
			list_column(g, c, to);
	}
	strbuf_str(to, "\npresets:\n");
	for (const struct what_preset *p = what_presets; p->name; p++) {
		strbuf_str(to, "  ");
		strbuf_left(to, p->name, 9);
		strbuf_printf(to, " %s\n", p->about);
	}
}

/* ---- the command ---- */

static int parse_words(struct what_session *s, int argc, char **argv)
{
	const char *words[WORDS_MAX + RAW_WORDS];
	int nr = 0;
	u64 ns;
	if (s->o->raw_number)
		words[nr++] = s->o->raw_number;
	/* A word that is no delay is a recording, if it may be the name of one. */
	if (argc && clock_parse(argv[0], &ns) && (strpbrk(argv[0], "/.") || !access(argv[0], F_OK))) {
		s->file = *argv++;
		argc--;
	}
	if (argc + nr > WORDS_MAX)
		return app_usage(s->app, "unexpected argument '%s'", argv[WORDS_MAX - nr]);
	for (int i = 0; i < argc; i++)
		words[nr++] = argv[i];
	s->delay_ns = NS_PER_SEC;
	if (nr > 0 && (clock_parse(words[0], &s->delay_ns) || s->delay_ns < NS_PER_SEC / 1000))
		return app_usage(s->app, "invalid delay '%s'", words[0]);
	if (nr > 1 && (num_parse_u64(words[1], 10, &s->count) || !s->count))
		return app_usage(s->app, "invalid count '%s'", words[1]);
	/* Without a delay these tools print once. */
	bool once = s->o->raw || (s->o->preset && s->preset->first_since_boot &&
				  strcmp(s->preset->name, "dstat") != 0);
	if (!nr && once)
		s->count = 1;
	return 0;
}

static bool is_pidstat(const struct what_session *s)
{
	return !strcmp(s->preset->name, "pidstat");
}

/* What --top-process has no place in. */
static bool has_no_lines(const struct what_opts *o, const struct what_preset *p)
{
	return o->record || o->raw || o->openmetrics || o->listen || p->table;
}

static int what_run(struct app *app, void *opts, int argc, char **argv)
{
	struct what_opts *o = opts;
	struct what_session s = { .app = app, .o = o, .root = { .dir_fd = -1 } };
	int status = 0, err = 0;
	s.preset = find_preset(o->preset ? o->preset : "dstat");
	if (!s.preset)
		status = app_usage(app, "unknown preset '%s'", o->preset);
	else if ((o->from || o->to) && !argc)
		status = app_usage(app, "--from and --to need a FILE to replay");
	else if (o->listen && (o->record || o->raw || o->from || o->to))
		status = app_usage(app, "--listen serves live columns: no --record, --raw or FILE");
	else if (o->top_process && has_no_lines(o, s.preset))
		status =
			app_usage(app, "--top-process needs lines to stand in: no --record, --raw, "
				       "--openmetrics, --listen or table");
	else if (is_pidstat(&s) && (o->record || o->raw || o->openmetrics || o->listen ||
				    o->groups.nr || o->events.items.nr))
		status = app_usage(app, "--preset pidstat shows processes: no columns of the "
					"system, --record, --raw, --openmetrics or --listen");
	else if (o->push && (o->listen || o->record || o->raw || o->csv || o->openmetrics ||
			     o->top_process || o->from || o->to || is_pidstat(&s)))
		status = app_usage(app, "--push sends live columns: no --listen, --record, --raw, "
					"--csv, --openmetrics, --top-process, pidstat or FILE");
	else if (o->processes > WHAT_PROCESSES_MAX)
		status = app_usage(app, "--processes: at most %d are kept", WHAT_PROCESSES_MAX);
	else if (o->token_file && !o->listen)
		status = app_usage(app, "--token-file needs --listen");
	else if (o->csv + o->openmetrics + app->json > 1)
		status = app_usage(app, "--csv, --openmetrics and --json are mutually exclusive");
	else
		status = parse_words(&s, argc, argv);
	if (!status && o->list) {
		list_text(&app->out);
	} else if (!status) {
		app_live(app);
		s.text = !app->json && !o->csv && !o->openmetrics;
		s.lines = (struct series_lines){ .colour = s.text && app_colours(app),
						 .stamped = s.preset->stamped,
						 .plain = o->preset && strcmp(o->preset, "dstat"),
						 .dated = o->dated };
		err = sysroot_open(&s.root, NULL);
		what_init(&s.what, &s.root, o->listen ? WHAT_PAGE_ROWS : ROWS_KEPT);
		s.page = (struct what_page){ .what = &s.what,
					     .tasks = { .root = &s.root, .delay_ns = s.delay_ns } };
		if (!err)
			err = o->raw	       ? run_raw(&s)
			      : s.file	       ? replay(&s)
			      : is_pidstat(&s) ? run_pidstat(&s)
					       : run_columns(&s);
		what_top_free(s.top);
		what_done(&s.what);
		sysroot_close(&s.root);
		if (err)
			status = err == -EPIPE	  ? APP_DONE
				 : err == -EINVAL ? app_usage_said(app)
						  : app_fail(app, err);
	}
	vec_free(&o->groups);
	return status;
}

static void what_defaults(void *opts)
{
	struct what_opts *o = opts;
	o->max_size = 64 << 20;
	o->processes = 5;
}

static const struct opt_example what_examples[] = {
	{ "what", "CPU, disks, network, paging and system, every second" },
	{ "what -tcmd --psi 5 12",
	  "time, CPU, memory, disks and pressure, every 5 s for a minute" },
	{ "what --vm --aio", "page faults, allocations, asynchronous I/O" },
	{ "what --udp --tcp --socket", "sockets" },
	{ "what -f", "every CPU, disk and interface that is in use" },
	{ "what -D vda,total --disk-use",
	  "one disk and all of them: queue, waiting time, utilisation" },
	{ "what -y -e sched:sched_migrate_task", "an event as a column" },
	{ "what --preset iostat 1 3", "columns and habits of iostat -x" },
	{ "what -cmd --top-process", "and who used most CPU time" },
	{ "what --cgroup --cgroup-psi -G system.slice,user.slice", "two cgroups" },
	{ "what --disk-health 60", "health of all disks (SMART), once a minute" },
	{ "what --raw /proc/interrupts 1", "all counters of a file, and how fast they grow" },
	{ "what --json 1 60 > minute.json", "one JSON object per line" },
	{ "what --record day.data -a -m --psi 10", "a history in a file, every 10 s" },
	{ "what day.data --from -10m", "its last ten minutes" },
	{ "what --listen 127.0.0.1:9435 -a -m --psi --token-file token",
	  "for Prometheus to scrape" },
	{ "what --push http://127.0.0.1:8428/api/v1/write -a -m 10",
	  "for VictoriaMetrics to keep" },
	{ "what --list", "what each column means and where it comes from" },
	{ 0 },
};

const struct command command_what = {
	.name = "what",
	.group = "What is happening",
	.summary = "counters of the system, a line for each interval",
	.usage = "[OPTIONS] [FILE] [DELAY [COUNT]]",
	.about =
		"DELAY is in seconds (default: 1; 200ms, 0.5); COUNT lines are printed, or as many "
		"as it takes until Ctrl-C. Columns and switches are those of dstat. The first line "
		"is the mean since boot, later ones are of the interval before them.\nRates are "
		"computed with the time that has actually passed. '-' stands for what this kernel "
		"or machine does not have, and for what is not known yet of a device that was "
		"added in this interval. Counters that wrap around are followed. Only "
		"events of -e, --disk-health and, with --record, the disk I/O of other users' "
		"processes need root.",
	.examples = what_examples,
	.opts = what_rows,
	.opts_size = sizeof(struct what_opts),
	.defaults = what_defaults,
	.mixed_words = true,
	.run = what_run,
};
