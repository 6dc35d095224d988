/* Counter files of several kernels, what becomes of their items when lines come and go, and texts that no kernel writes. */
#include "kern/counter_file.h"
#include "tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void bail_out(const char *why)
{
	printf("Bail out! %s\n", why);
	exit(1);
}

static struct sysroot root = { .dir_fd = -1 };

static const struct counter_item *find(const struct counter_file *f, const char *row,
				       const char *field)
{
	vec_for_each (&f->items, i)
		if (!strcmp(i->row, row) && !strcmp(i->field, field))
			return i;
	return NULL;
}

static void value_is(const struct counter_file *f, const char *row, const char *field, double want,
		     const char *what)
{
	const struct counter_item *i = find(f, row, field);
	ok(i && !i->text && counter_item_number(i) == want, "%s: %s/%s is %g, got %g", what, row,
	   field, want, i ? counter_item_number(i) : -1.0);
}

static void parse(struct counter_file *f, const char *text)
{
	ok(!counter_file_parse(f, text, strlen(text)), "%s is read", f->path);
}

static void with(struct counter_file *f, const char *path, const char *text)
{
	if (counter_file_open(f, &root, path))
		bail_out("no memory");
	parse(f, text);
}

static void formats(void)
{
	struct counter_file f;
	/* 3.10: eight columns of a guest without guests, no softirq line on some. */
	with(&f, "proc/stat",
	     "cpu  10 2 30 400 5 0 7 8\ncpu0 10 2 30 400 5 0 7 8\nintr 99 1 2 3\nctxt 1234\n"
	     "btime 1700000000\nprocesses 55\nprocs_running 2\nprocs_blocked 1\n");
	value_is(&f, "cpu", "steal", 8, "3.10");
	value_is(&f, "", "intr", 99, "3.10: all interrupts, not those of a line");
	value_is(&f, "", "procs_blocked", 1, "3.10");
	ok(!find(&f, "cpu", "guest"), "a column that the kernel does not have is not there");
	parse(&f, "cpu  11 2 30 400 5 0 7 8 9 1 77 78\nsoftirq 50 1 2 3 4 5 6 7 8 9 10 11 12\nctxt "
		  "1240\n");
	value_is(&f, "cpu", "guest_nice", 1, "a newer one, with columns that nobody knows");
	value_is(&f, "", "RCU", 10, "softirqs");
	u64 change = 0;
	ok(counter_item_change(find(&f, "", "ctxt"), &change) && change == 6,
	   "what was there before is found again among other lines");
	ok(counter_item_change(find(&f, "cpu", "user"), &change) && change == 1,
	   "so is a field of a row");
	ok(!counter_item_change(find(&f, "cpu", "guest"), &change), "what is new has no change");
	ok(f.generation == 2, "the items were made anew once");
	parse(&f, "cpu  12 2 30 400 5 0 7 8 9 1 77 78\nsoftirq 50 1 2 3 4 5 6 7 8 9 10 11 12\nctxt "
		  "1250\n");
	ok(f.generation == 2, "and not when only values differ");
	counter_file_close(&f);

	with(&f, "proc/meminfo",
	     "MemTotal:       16384 kB\nHugePages_Total:       3\nActive(anon):  12 kB\n");
	value_is(&f, "", "Active(anon)", 12, "meminfo");
	value_is(&f, "", "HugePages_Total", 3, "meminfo without a unit");
	is_str(counter_item_field(&f, find(&f, "", "MemTotal"))->unit, "kB", "its unit is known");
	counter_file_close(&f);

	with(&f, "proc/net/dev",
	     "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes\n"
	     "  lo:      10       1    0    0    0     0          0         0       20       2    "
	     "0    0    0     0       0          0\n"
	     "eth0:1234567890       9    1    2    3     4          5         6     7       8    9 "
	     "   10    11    12   13    14\n");
	value_is(&f, "lo", "tx_bytes", 20, "net/dev");
	value_is(&f, "eth0", "rx_bytes", 1234567890, "net/dev, a number right after the colon");
	value_is(&f, "eth0", "tx_compressed", 14, "the last column");
	counter_file_close(&f);

	with(&f, "proc/net/snmp",
	     "Tcp: RtoMin MaxConn InSegs\nTcp: 200 -1 5819\nUdp: InDatagrams\nUdp: 7\nUdpLite: "
	     "A\nOther: 1\n");
	value_is(&f, "Tcp", "MaxConn", -1, "net/snmp, a negative number");
	value_is(&f, "Udp", "InDatagrams", 7, "net/snmp");
	ok(!find(&f, "UdpLite", "A"), "lines that do not belong together are passed over");
	counter_file_close(&f);

	with(&f, "proc/diskstats",
	     "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n"
	     " 259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18\n");
	value_is(&f, "sda", "time_in_queue", 11, "diskstats with 11 fields (3.10)");
	ok(!find(&f, "sda", "discard_ios"), "and no more");
	value_is(&f, "nvme0n1", "flush_ticks", 17, "diskstats with 17 fields (5.5)");
	counter_file_close(&f);

	with(&f, "sys/block/vda/stat", "  1 2 3 4 5 6 7 8 9 10 11\n");
	value_is(&f, "", "in_flight", 9, "block stat");
	is_str(counter_item_field(&f, find(&f, "", "read_sectors"))->unit, "sectors",
	       "unit of sectors");
	counter_file_close(&f);

	with(&f, "proc/pressure/io",
	     "some avg10=1.25 avg60=0.97 avg300=1.21 total=18133998\nfull avg10=0.00 "
	     "total=2842939\n");
	value_is(&f, "some", "avg10", 1.25, "pressure");
	value_is(&f, "full", "total", 2842939, "pressure");
	counter_file_close(&f);

	with(&f, "proc/loadavg", "24.22 18.04 9.38 25/222 24937\n");
	value_is(&f, "", "load15", 9.38, "loadavg");
	value_is(&f, "", "tasks", 222, "loadavg");
	counter_file_close(&f);

	with(&f, "proc/interrupts",
	     "           CPU0       CPU3       \n 24:          1          5  IO-APIC   5-edge      "
	     "ACPI:Ged\n"
	     "NMI:          0          2   Non-maskable interrupts\nERR:          7\n");
	value_is(&f, "24", "all", 6, "interrupts");
	value_is(&f, "24", "CPU3", 5, "interrupts, where CPUs 1 and 2 are offline");
	value_is(&f, "ERR", "all", 7, "interrupts, a line with one number");
	const struct counter_item *source = find(&f, "24", "source");
	ok(source && source->text && !strncmp(source->text, "IO-APIC   5-edge      ACPI:Ged", 30),
	   "where the interrupt comes from");
	counter_file_close(&f);

	with(&f, "proc/net/tcp",
	     "  sl  local_address rem_address   st tx_queue\n   0: 0100007F:0CEA 00000000:0000 0A "
	     "00000000\n"
	     "   1: 0100007F:0CEA 00000000:0000 01 0\n   2: 0100007F:0CEA 00000000:0000 06 0\n "
	     "junk\n");
	value_is(&f, "", "listen", 1, "tcp");
	value_is(&f, "", "all", 3, "tcp: a line that is none is not counted");
	counter_file_close(&f);

	with(&f, "proc/77/stat",
	     "77 (a) b (c) S 1 77 77 0 -1 4194560 100 0 3 0 5 6 0 0 20 0 1 0 1000 8192 9\n");
	value_is(&f, "", "ppid", 1, "PID/stat: a name with parentheses ends at the last one");
	value_is(&f, "", "majflt", 3, "PID/stat");
	value_is(&f, "", "stime", 6, "PID/stat");
	const struct counter_item *comm = find(&f, "", "comm");
	ok(comm && comm->text_len == 7 && !memcmp(comm->text, "a) b (c", 7), "its name");
	counter_file_close(&f);

	with(&f, "proc/77/statm", "100 50 20 5 0 30 0\n");
	value_is(&f, "", "resident", 50, "PID/statm");
	counter_file_close(&f);

	with(&f, "proc/77/status",
	     "Name:\tx y\nState:\tS (sleeping)\nVmRSS:\t   12 kB\nUid:\t0\t0\t0\t0\nThreads:\t3\n");
	value_is(&f, "", "VmRSS", 12, "PID/status");
	value_is(&f, "", "Threads", 3, "PID/status");
	const struct counter_item *state = find(&f, "", "State");
	ok(state && state->text && state->text_len == 12,
	   "PID/status: what is no number is a text");
	ok(find(&f, "", "Uid") && find(&f, "", "Uid")->text, "four numbers are one");
	counter_file_close(&f);

	with(&f, "sys/fs/cgroup/x/io.stat", "254:0 rbytes=10 wbytes=20\n254:16 rbytes=1\n");
	value_is(&f, "254:0", "wbytes", 20, "io.stat of cgroup v2");
	counter_file_close(&f);
	with(&f, "sys/fs/cgroup/x/cpu.stat", "usage_usec 5\nnr_throttled 0\n");
	value_is(&f, "", "usage_usec", 5, "cpu.stat of cgroup v2");
	counter_file_close(&f);
	with(&f, "sys/fs/cgroup/cpuacct/x/cpuacct.usage", "123456\n");
	value_is(&f, "", "value", 123456, "cpuacct.usage of cgroup v1");
	counter_file_close(&f);
	with(&f, "sys/kernel/mm/any", "a: 1 2\n3 4\n");
	value_is(&f, "a", "2", 2, "a file that nobody knows: words are rows");
	value_is(&f, "2", "1", 3, "and lines have numbers");
	counter_file_close(&f);
}

static void changes(void)
{
	struct counter_item i = { .has_before = true, .before = 4294967290ull, .value = 10 };
	u64 change = 0;
	ok(counter_item_change(&i, &change) && change == 16, "a counter of 32 bits wraps");
	i.before = UINT64_MAX - 1;
	i.value = 3;
	ok(counter_item_change(&i, &change) && change == 5, "so does one of 64");
	i.before = 1000;
	i.value = 3;
	ok(!counter_item_change(&i, &change), "one that is just smaller began anew");
	i.before = 4294967290ull;
	i.value = 4294967000ull;
	ok(!counter_item_change(&i, &change), "so did a large one that is a little smaller");
}

static void hostile(void)
{
	struct counter_file f;
	static const char *const paths[] = { "proc/stat",	 "proc/net/dev",
					     "proc/interrupts",	 "proc/1/stat",
					     "proc/pressure/io", "proc/net/snmp",
					     "proc/loadavg",	 "sys/x" };
	static const char *const texts[] = {
		"",
		"\n",
		" ",
		":",
		"::\n:\n",
		"cpu",
		"cpu\n\n\n",
		"99999999999999999999999 -\n",
		"-\n-.\n.\n1.2.3\n",
		"(((\n",
		")(",
		"1 () ",
		"a=\n=b\nx =\nx a= =b c=1\n",
		"a: b\na:\n",
	};
	for (size_t p = 0; p < ARRAY_SIZE(paths); p++) {
		if (counter_file_open(&f, &root, paths[p]))
			bail_out("no memory");
		int err = 0;
		for (size_t t = 0; t < ARRAY_SIZE(texts) && !err; t++)
			err = counter_file_parse(&f, texts[t], strlen(texts[t]));
		ok(!err, "%s: texts that no kernel writes", paths[p]);
		counter_file_close(&f);
	}
	/* The same name twice: both are kept, and a change is that of one of them. */
	with(&f, "proc/vmstat", "a 1\na 5\n");
	parse(&f, "a 2\nb 1\na 9\n");
	ok(f.items.nr == 3, "a name that is there twice");
	counter_file_close(&f);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	if (!file)
		bail_out("cannot write");
	fputs(text, file);
	fclose(file);
}

static void many_cpus(void)
{
	struct counter_file f;
	struct strbuf text;
	strbuf_init(&text);
	strbuf_str(&text, "cpu  1 1 1 1 1 1 1 1 0 0\n");
	for (int i = 0; i < 512; i++)
		strbuf_printf(&text, "cpu%d %d 0 0 0 0 0 0 0 0 0\n", i, i);
	with(&f, "proc/stat", strbuf_cstr(&text));
	value_is(&f, "cpu511", "user", 511, "512 CPUs");
	ok(f.items.nr == 513 * 10, "all of them");
	counter_file_close(&f);
	strbuf_done(&text);
}

/* A file that is read again through the same descriptor, goes, and comes back. */
static void read_again(void)
{
	char dir[] = "/tmp/sonde-counter.XXXXXX", path[64];
	struct sysroot r;
	struct counter_file f;
	if (!mkdtemp(dir) || sysroot_open(&r, dir))
		bail_out("no directory");
	snprintf(path, sizeof(path), "%s/count", dir);
	if (counter_file_open(&f, &r, "count"))
		bail_out("no memory");
	ok(counter_file_read(&f) == -ENOENT && !f.items.nr, "a file that is not there");
	write_file(path, "1 2\n");
	ok(!counter_file_read(&f), "it comes");
	value_is(&f, "1", "2", 2, "its value");
	int fd = f.fd;
	write_file(path, "1 7\n");
	u64 change = 0;
	ok(!counter_file_read(&f) && f.fd == fd, "it is read again through the same descriptor");
	ok(counter_item_change(find(&f, "1", "2"), &change) && change == 5, "and has grown");
	counter_file_close(&f);
	unlink(path);
	rmdir(dir);
	sysroot_close(&r);
}

int main(void)
{
	formats();
	changes();
	hostile();
	many_cpus();
	read_again();
	return done_testing();
}
