/*
 * The formats of counter files. Each goes through the lines and puts what it finds; a line that is not what it should be is passed over, so that
 * a kernel that adds lines or columns, or lacks some, needs nothing here.
 */
#include "kern/counter_fields.h"
#include "kern/counter_file.h"
#include "kern/disk_health.h"

#include <string.h>

#define WORD(text) ((struct counter_word){ (text), sizeof(text) - 1 })
#define NO_ROW	   ((struct counter_word){ "", 0 })

static struct counter_word word_of(const char *text)
{
	return (struct counter_word){ text, strlen(text) };
}

static bool is(const struct counter_word *w, const char *text)
{
	return w->len == strlen(text) && !memcmp(w->at, text, w->len);
}

static bool starts(const struct counter_word *w, const char *text)
{
	return w->len >= strlen(text) && !memcmp(w->at, text, strlen(text));
}

/* The next line, without its end; false: the text has ended. */
static bool next_line(const char **at, const char *end, struct counter_word *ret)
{
	if (*at >= end)
		return false;
	const char *nl = memchr(*at, '\n', (size_t)(end - *at));
	*ret = (struct counter_word){ *at, (size_t)((nl ? nl : end) - *at) };
	*at = nl ? nl + 1 : end;
	return true;
}

/* The words that are left of a line, as fields with these names; more words than names are passed over. */
static void put_row(struct counter_file *f, struct counter_word row, const char *at,
		    const char *end, const char *const *names)
{
	struct counter_word w;
	for (; *names && counter_next_word(&at, end, &w); names++)
		counter_put_word(f, row, word_of(*names), w);
}

/* ---- /proc/stat ---- */

static void parse_stat(struct counter_file *f, const char *at, const char *end)
{
	static const char *const cpu[] = { "user",   "nice",	   "system",  "idle",
					   "iowait", "irq",	   "softirq", "steal",
					   "guest",  "guest_nice", NULL };
	static const char *const softirq[] = { "softirqs", "HI",      "TIMER",	  "NET_TX",
					       "NET_RX",   "BLOCK",   "IRQ_POLL", "TASKLET",
					       "SCHED",	   "HRTIMER", "RCU",	  NULL };
	struct counter_word line, name, value;
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		if (!counter_next_word(&p, e, &name))
			continue;
		if (starts(&name, "cpu"))
			put_row(f, name, p, e, cpu);
		else if (is(&name, "softirq"))
			put_row(f, NO_ROW, p, e, softirq);
		else if (counter_next_word(&p, e, &value)) /* of intr: all of them */
			counter_put_word(f, NO_ROW, name, value);
	}
}

/* ---- lines of a name and a value ---- */

/* "MemFree:  12 kB", "nr_free_pages 12", "State:\tS (sleeping)": a number, else the whole text. */
static void parse_named(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word line, name, value;
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		if (!counter_next_word(&p, e, &name))
			continue;
		if (name.at[name.len - 1] == ':')
			name.len--;
		while (p < e && (*p == ' ' || *p == '\t'))
			p++;
		const char *rest = p, *unit;
		if (!name.len || !counter_next_word(&p, e, &value))
			continue;
		u64 v;
		u8 decimals;
		bool negative;
		while (p < e && (*p == ' ' || *p == '\t'))
			p++;
		unit = p;
		if (!counter_number(&value, &v, &decimals, &negative) ||
		    (unit < e && (e - unit != 2 || memcmp(unit, "kB", 2))))
			value = (struct counter_word){ rest, (size_t)(e - rest) };
		counter_put_word(f, NO_ROW, name, value);
	}
}

/* ---- /proc/interrupts, /proc/softirqs: a column for each CPU ---- */

enum { TABLE_CPUS_MAX = 8192 };

static void parse_per_cpu(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word head, line, row, w;
	if (!next_line(&at, end, &head))
		return;
	while (next_line(&at, end, &line)) {
		const char *cpus = head.at, *p = line.at, *e = line.at + line.len;
		struct counter_word cpu;
		if (!counter_next_word(&p, e, &row) || row.at[row.len - 1] != ':')
			continue;
		row.len--;
		const char *rest = p;
		u64 v, sum = 0;
		u8 decimals;
		bool negative;
		for (unsigned i = 0;
		     i < TABLE_CPUS_MAX && counter_next_word(&cpus, head.at + head.len, &cpu); i++) {
			rest = p;
			if (!counter_next_word(&p, e, &w) ||
			    !counter_number(&w, &v, &decimals, &negative))
				break;
			counter_put(f, row, cpu, v);
			sum += v;
			rest = p;
		}
		counter_put(f, row, WORD("all"), sum);
		while (rest < e && (*rest == ' ' || *rest == '\t'))
			rest++;
		if (rest < e)
			counter_put_word(f, row, WORD("source"),
					 (struct counter_word){ rest, (size_t)(e - rest) });
	}
}

/* ---- network ---- */

static void parse_net_dev(struct counter_file *f, const char *at, const char *end)
{
	static const char *const names[] = { "rx_bytes",      "rx_packets", "rx_errors",
					     "rx_dropped",    "rx_fifo",    "rx_frame",
					     "rx_compressed", "multicast",  "tx_bytes",
					     "tx_packets",    "tx_errors",  "tx_dropped",
					     "tx_fifo",	      "collisions", "tx_carrier",
					     "tx_compressed", NULL };
	struct counter_word line, name;
	while (next_line(&at, end, &line)) {
		const char *e = line.at + line.len, *p = line.at;
		const char *colon = memrchr(line.at, ':', line.len); /* names may have one: eth0:1 */
		if (!colon)
			continue;
		if (!counter_next_word(&p, colon, &name))
			continue;
		put_row(f, name, colon + 1, e, names);
	}
}

/* Two lines for each protocol: the names, then the numbers. */
static void parse_snmp(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word names, values, row, again, name, value;
	while (next_line(&at, end, &names) && next_line(&at, end, &values)) {
		const char *n = names.at, *n_end = n + names.len;
		const char *v = values.at, *v_end = v + values.len;
		if (!counter_next_word(&n, n_end, &row) || !counter_next_word(&v, v_end, &again) ||
		    row.len != again.len || memcmp(row.at, again.at, row.len) ||
		    row.at[row.len - 1] != ':')
			continue;
		row.len--;
		while (counter_next_word(&n, n_end, &name) && counter_next_word(&v, v_end, &value))
			counter_put_word(f, row, name, value);
	}
}

/* "TCP: inuse 1 orphan 0" */
static void parse_sockstat(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word line, row, name, value;
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		if (!counter_next_word(&p, e, &row))
			continue;
		if (row.at[row.len - 1] == ':')
			row.len--;
		while (counter_next_word(&p, e, &name) && counter_next_word(&p, e, &value))
			counter_put_word(f, row, name, value);
	}
}

static int hex_of(const struct counter_word *w)
{
	int v = 0;
	for (size_t i = 0; i < w->len && i < 4; i++) {
		char c = w->at[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
						   : -1;
		if (digit < 0)
			return -1;
		v = v * 16 + digit;
	}
	return w->len ? v : -1;
}

/* /proc/net/tcp and its like have a line for each socket: how many are in each state. */
static void parse_inet(struct counter_file *f, const char *at, const char *end)
{
	static const char *const states[] = { "all",	    "established", "syn_sent",	"syn_recv",
					      "fin_wait1",  "fin_wait2",   "time_wait", "close",
					      "close_wait", "last_ack",	   "listen",	"closing" };
	u64 nr[ARRAY_SIZE(states)] = { 0 };
	struct counter_word line, w;
	(void)next_line(&at, end, &line); /* the head */
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		bool whole = true;
		for (int i = 0; i < 4 && whole; i++)
			whole = counter_next_word(&p, e, &w);
		int state = whole ? hex_of(&w) : -1;
		if (state < 0)
			continue;
		nr[0]++;
		if (state > 0 && state < (int)ARRAY_SIZE(states))
			nr[state]++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		counter_put(f, NO_ROW, word_of(states[i]), nr[i]);
}

static void parse_unix(struct counter_file *f, const char *at, const char *end)
{
	u64 all = 0, datagram = 0, stream = 0, listening = 0, connected = 0;
	struct counter_word line, w, type;
	(void)next_line(&at, end, &line);
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		bool whole = true;
		for (int i = 0; i < 5 && whole; i++)
			whole = counter_next_word(&p, e, &w);
		type = w;
		if (!whole || !counter_next_word(&p, e, &w))
			continue;
		all++;
		datagram += hex_of(&type) == 2;
		bool is_stream = hex_of(&type) == 1;
		stream += is_stream;
		listening += is_stream && hex_of(&w) == 1;
		connected += is_stream && hex_of(&w) == 3;
	}
	counter_put(f, NO_ROW, WORD("all"), all);
	counter_put(f, NO_ROW, WORD("datagram"), datagram);
	counter_put(f, NO_ROW, WORD("stream"), stream);
	counter_put(f, NO_ROW, WORD("listen"), listening);
	counter_put(f, NO_ROW, WORD("established"), connected);
}

/* ---- disks ---- */

static const char *const block_fields[] = { "read_ios",	      "read_merges",	 "read_sectors",
					    "read_ticks",     "write_ios",	 "write_merges",
					    "write_sectors",  "write_ticks",	 "in_flight",
					    "io_ticks",	      "time_in_queue",	 "discard_ios",
					    "discard_merges", "discard_sectors", "discard_ticks",
					    "flush_ios",      "flush_ticks",	 NULL };

static void parse_diskstats(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word line, major, minor, name;
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		if (counter_next_word(&p, e, &major) && counter_next_word(&p, e, &minor) &&
		    counter_next_word(&p, e, &name))
			put_row(f, name, p, e, block_fields);
	}
}

static void parse_block_stat(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word line;
	if (next_line(&at, end, &line))
		put_row(f, NO_ROW, line.at, line.at + line.len, block_fields);
}

static void parse_swaps(struct counter_file *f, const char *at, const char *end)
{
	static const char *const names[] = { "type", "size", "used", "priority", NULL };
	struct counter_word line, name;
	(void)next_line(&at, end, &line);
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		if (counter_next_word(&p, e, &name))
			put_row(f, name, p, e, names);
	}
}

/* ---- "some avg10=0.00 total=12", "8:0 rbytes=1 wbytes=2" ---- */

static void parse_assigned(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word line, row, w;
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		if (!counter_next_word(&p, e, &row))
			continue;
		while (counter_next_word(&p, e, &w)) {
			const char *is_at = memchr(w.at, '=', w.len);
			if (!is_at)
				continue;
			struct counter_word name = { w.at, (size_t)(is_at - w.at) };
			counter_put_word(f, row, name,
					 (struct counter_word){ is_at + 1, w.len - name.len - 1 });
		}
	}
}

/* "8:0 Read 4096"; a last line has the total of all. */
static void parse_by_device(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word line, row, field, value;
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		if (counter_next_word(&p, e, &row) && counter_next_word(&p, e, &field) &&
		    counter_next_word(&p, e, &value))
			counter_put_word(f, row, field, value);
	}
}

/* ---- short ones ---- */

static void parse_loadavg(struct counter_file *f, const char *at, const char *end)
{
	static const char *const names[] = { "load1", "load5", "load15", NULL };
	struct counter_word line, w;
	if (!next_line(&at, end, &line))
		return;
	const char *p = line.at, *e = line.at + line.len;
	put_row(f, NO_ROW, p, e, names);
	for (int i = 0; i < 3; i++)
		(void)counter_next_word(&p, e, &w);
	if (!counter_next_word(&p, e, &w))
		return;
	const char *slash = memchr(w.at, '/', w.len);
	if (slash) {
		struct counter_word runnable = { w.at, (size_t)(slash - w.at) };
		counter_put_word(f, NO_ROW, WORD("runnable"), runnable);
		counter_put_word(f, NO_ROW, WORD("tasks"),
				 (struct counter_word){ slash + 1, w.len - runnable.len - 1 });
	}
	if (counter_next_word(&p, e, &w))
		counter_put_word(f, NO_ROW, WORD("last_pid"), w);
}

static void parse_first_line(struct counter_file *f, const char *at, const char *end,
			     const char *const *names)
{
	struct counter_word line;
	if (next_line(&at, end, &line))
		put_row(f, NO_ROW, line.at, line.at + line.len, names);
}

static void parse_uptime(struct counter_file *f, const char *at, const char *end)
{
	static const char *const names[] = { "uptime", "idle", NULL };
	parse_first_line(f, at, end, names);
}

static void parse_file_nr(struct counter_file *f, const char *at, const char *end)
{
	static const char *const names[] = { "allocated", "unused", "max", NULL };
	parse_first_line(f, at, end, names);
}

static void parse_number(struct counter_file *f, const char *at, const char *end)
{
	static const char *const names[] = { "value", NULL };
	parse_first_line(f, at, end, names);
}

static void parse_statm(struct counter_file *f, const char *at, const char *end)
{
	static const char *const names[] = { "size", "resident", "shared", "text",
					     "lib",  "data",	 "dirty",  NULL };
	parse_first_line(f, at, end, names);
}

/* The name of the program is in parentheses and may have any character, these too: it ends at the last one. */
static void parse_pid_stat(struct counter_file *f, const char *at, const char *end)
{
	static const char *const names[] = {
		"state",       "ppid",	      "pgrp",	     "session",	    "tty_nr",
		"tpgid",       "flags",	      "minflt",	     "cminflt",	    "majflt",
		"cmajflt",     "utime",	      "stime",	     "cutime",	    "cstime",
		"priority",    "nice",	      "num_threads", "itrealvalue", "starttime",
		"vsize",       "rss",	      "rsslim",	     "startcode",   "endcode",
		"startstack",  "kstkesp",     "kstkeip",     "signal",	    "blocked",
		"sigignore",   "sigcatch",    "wchan",	     "nswap",	    "cnswap",
		"exit_signal", "processor",   "rt_priority", "policy",	    "delayacct_blkio_ticks",
		"guest_time",  "cguest_time", "start_data",  "end_data",    "start_brk",
		"arg_start",   "arg_end",     "env_start",   "env_end",	    "exit_code",
		NULL
	};
	const char *open = memchr(at, '(', (size_t)(end - at));
	const char *close = memrchr(at, ')', (size_t)(end - at));
	struct counter_word pid;
	if (!open || !close || close < open || !counter_next_word(&at, open, &pid))
		return;
	counter_put_word(f, NO_ROW, WORD("pid"), pid);
	counter_put_word(f, NO_ROW, WORD("comm"),
			 (struct counter_word){ open + 1, (size_t)(close - open - 1) });
	const char *nl = memchr(close, '\n', (size_t)(end - close));
	put_row(f, NO_ROW, close + 1, nl ? nl : end, names);
}

static void parse_locks(struct counter_file *f, const char *at, const char *end)
{
	u64 posix = 0, flock = 0, reads = 0, writes = 0;
	struct counter_word line, w[5];
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		unsigned nr = 0;
		while (nr < ARRAY_SIZE(w) && counter_next_word(&p, e, &w[nr]))
			nr++;
		if (nr < ARRAY_SIZE(w) || is(&w[1], "->")) /* one that waits */
			continue;
		posix += is(&w[1], "POSIX");
		flock += is(&w[1], "FLOCK");
		reads += is(&w[3], "READ");
		writes += is(&w[3], "WRITE");
	}
	counter_put(f, NO_ROW, WORD("posix"), posix);
	counter_put(f, NO_ROW, WORD("flock"), flock);
	counter_put(f, NO_ROW, WORD("read"), reads);
	counter_put(f, NO_ROW, WORD("write"), writes);
}

/* How many lines there are after the head: /proc/sysvipc. */
static void parse_count(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word line;
	u64 nr = 0;
	(void)next_line(&at, end, &line);
	while (next_line(&at, end, &line))
		nr++;
	counter_put(f, NO_ROW, WORD("count"), nr);
}

/* Version 15 and later; the first six numbers of a CPU are about other things. */
static void parse_schedstat(struct counter_file *f, const char *at, const char *end)
{
	static const char *const names[] = { "yields", "legacy",  "schedules",
					     "idles",  "wakeups", "wakeups_local",
					     "run_ns", "wait_ns", "slices",
					     NULL };
	struct counter_word line, row;
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		if (counter_next_word(&p, e, &row) && starts(&row, "cpu"))
			put_row(f, row, p, e, names);
	}
}

/* Of a file that nobody here knows: the first word of a line that is not a number is its row, numbers are counted from 1. */
static void parse_any(struct counter_file *f, const char *at, const char *end)
{
	struct counter_word line, row, w;
	unsigned nr_line = 0;
	while (next_line(&at, end, &line)) {
		const char *p = line.at, *e = line.at + line.len;
		char number[NUM_DIGITS_MAX], column[NUM_DIGITS_MAX];
		u64 v;
		u8 decimals;
		bool negative;
		nr_line++;
		const char *first = p;
		if (!counter_next_word(&p, e, &row))
			continue;
		if (counter_number(&row, &v, &decimals, &negative)) {
			p = first;
			row = (struct counter_word){ number, num_u64(number, nr_line) };
		} else if (row.len > 1 && row.at[row.len - 1] == ':') {
			row.len--;
		}
		for (u64 i = 1; counter_next_word(&p, e, &w); i++)
			if (counter_number(&w, &v, &decimals, &negative))
				counter_put_word(f, row,
						 (struct counter_word){ column, num_u64(column, i) },
						 w);
	}
}

/* clang-format off */
static const struct counter_format formats[] = {
	{ "proc/stat", "CPU times, interrupts, context switches and forks since boot", parse_stat, counter_fields_stat },
	{ "proc/meminfo", "how memory is used", parse_named, counter_fields_meminfo },
	{ "proc/vmstat", "page counts, and what the memory management did since boot", parse_named, counter_fields_vmstat },
	{ "proc/interrupts", "interrupts by line and CPU since boot", parse_per_cpu, counter_fields_per_cpu },
	{ "proc/softirqs", "deferred interrupt work by kind and CPU since boot", parse_per_cpu, counter_fields_per_cpu },
	{ "proc/loadavg", "load averages", parse_loadavg, counter_fields_loadavg },
	{ "proc/uptime", "time since boot", parse_uptime, counter_fields_uptime },
	{ "proc/diskstats", "I/O of all block devices since boot", parse_diskstats, counter_fields_block },
	{ "sys/block/*stat", "I/O of a block device since it was added", parse_block_stat, counter_fields_block },
	{ "sys/class/block/*stat", "I/O of a block device since it was added", parse_block_stat, counter_fields_block },
	{ "proc/*net/dev", "traffic of network interfaces", parse_net_dev, counter_fields_net_dev },
	{ "proc/*net/snmp", "IP, ICMP, TCP and UDP since boot", parse_snmp, counter_fields_snmp },
	{ "proc/*net/netstat", "more of TCP and IP since boot", parse_snmp, counter_fields_netstat },
	{ "proc/*net/snmp6", "IPv6, ICMPv6 and UDPv6 since boot", parse_named, NULL },
	{ "proc/*net/sockstat*", "sockets in use", parse_sockstat, counter_fields_sockstat },
	{ "proc/*net/tcp*", "TCP sockets by state", parse_inet, counter_fields_inet },
	{ "proc/*net/udp*", "UDP sockets by state", parse_inet, counter_fields_inet },
	{ "proc/*net/raw*", "raw sockets by state", parse_inet, counter_fields_inet },
	{ "proc/*net/unix", "Unix sockets by type", parse_unix, counter_fields_unix },
	{ "proc/pressure/*", "time that tasks lost waiting for a resource", parse_assigned, counter_fields_psi },
	{ "sys/fs/cgroup/*.pressure", "time that tasks of a cgroup lost waiting for a resource", parse_assigned, counter_fields_psi },
	{ "sys/fs/cgroup/*.io_service_bytes", "I/O of a cgroup by device, in bytes", parse_by_device, counter_fields_by_device },
	{ "sys/fs/cgroup/*io.stat", "I/O of a cgroup by device", parse_assigned, counter_fields_io_stat },
	{ "sys/fs/cgroup/*cpu.stat", "CPU time of a cgroup", parse_named, counter_fields_cpu_stat },
	{ "sys/fs/cgroup/*.stat", "counters of a cgroup", parse_named, NULL },
	{ "proc/swaps", "swap areas", parse_swaps, counter_fields_swaps },
	{ "proc/locks", "file locks that are held", parse_locks, counter_fields_locks },
	{ "proc/sysvipc/*", "System V IPC objects", parse_count, counter_fields_count },
	{ "proc/schedstat", "run time and waiting time of CPUs (kernels with CONFIG_SCHEDSTATS)", parse_schedstat, counter_fields_schedstat },
	{ "proc/sys/fs/file-nr", "open files", parse_file_nr, counter_fields_file_nr },
	{ "proc/sys/fs/inode-nr", "inodes in memory", parse_file_nr, counter_fields_file_nr },
	{ "proc/*/statm", "memory of a process, in pages", parse_statm, counter_fields_statm },
	{ "proc/*/stat", "times, faults and state of a task", parse_pid_stat, counter_fields_pid_stat },
	{ "proc/*/status", "a task in words", parse_named, counter_fields_status },
	{ "proc/*/io", "I/O of a process", parse_named, counter_fields_pid_io },
	{ "proc/sys/*", "a setting or state of the kernel", parse_number, counter_fields_number },
	{ "sys/fs/cgroup/*", "a number of a cgroup", parse_number, counter_fields_number },
	{ "sys/class/thermal/*", "a sensor of the machine", parse_number, counter_fields_number },
	{ "sys/class/hwmon/*", "a sensor of the machine", parse_number, counter_fields_number },
	{ "sys/devices/system/cpu/*", "a number of a CPU", parse_number, counter_fields_number },
	{ "dev/*", "disk health (SMART)", parse_named, counter_fields_health, disk_health_read },
	{ "*", "lines of words and numbers", parse_any, NULL },
};
/* clang-format on */

const struct counter_format *counter_formats_all(size_t *nr)
{
	*nr = ARRAY_SIZE(formats);
	return formats;
}
