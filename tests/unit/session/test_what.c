/* Columns over fake trees of several kernels: values by hand, devices that come and go, counters that wrap, trees where most is missing. */
#include "session/what.h"
#include "session/what_busy.h"
#include "session/what_openmetrics.h"
#include "session/what_record.h"
#include "tap.h"
#include "view/series_lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sonde-what.XXXXXX";

static void put(const char *path, const char *text)
{
	char full[256];
	snprintf(full, sizeof(full), "%s/%s", dir, path);
	for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		(void)mkdir(full, 0755);
	}
	FILE *f = fopen(full, "w");
	if (!f || fputs(text, f) < 0 || fclose(f)) {
		printf("Bail out! cannot write %s\n", full);
		exit(1);
	}
}

static void gone(const char *path)
{
	char full[256];
	snprintf(full, sizeof(full), "%s/%s", dir, path);
	unlink(full);
}

static double value(const struct what_engine *w, const char *group, const char *row, const char *key)
{
	for (size_t i = 0; i < w->series.columns.nr; i++) {
		const struct series_column *c = &w->series.columns.at[i];
		if (!strcmp(c->part.group, group) && !strcmp(c->part.row, row) &&
		    !strcmp(c->key, key))
			return series_number(&w->series, w->series.nr_rows - 1, i);
	}
	return -1;
}

static bool near(double got, double want)
{
	return fabs(got - want) <= fabs(want) * 1e-9;
}

static void choose(struct what_engine *w, const char *group, const char *rows)
{
	if (what_choose(w, what_group_find(group), rows))
		exit(1);
}

static void start(struct what_engine *w)
{
	struct diag d;
	diag_init(&d);
	ok(!what_start(w, &d), "it starts");
	diag_done(&d);
}

/* A reading as if exactly two seconds had passed. */
static void step(struct what_engine *w)
{
	w->read_ns -= 2000000000ull;
	ok(!what_read(w), "a reading");
	ok(w->seconds >= 2, "of two seconds and more");
}

static double rate(const struct what_engine *w, double growth)
{
	return growth / w->seconds;
}

#define STAT_310                                                                                   \
	"cpu  100 50 30 800 5 1 7 8\ncpu0 100 50 30 800 5 1 7 8\nintr 1000 5\nctxt "               \
	"5000\nprocesses 70\nprocs_running 2\nprocs_blocked 1\n"
#define STAT_310_LATER                                                                             \
	"cpu  150 50 40 830 5 1 7 8\ncpu0 150 50 40 830 5 1 7 8\nintr 1400 5\nctxt "               \
	"5600\nprocesses 74\nprocs_running 3\nprocs_blocked 0\n"

static void kernel_310(const struct sysroot *r)
{
	struct what_engine w;
	put("proc/stat", STAT_310);
	put("proc/uptime", "100.00 90.00\n");
	put("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 300 kB\nBuffers: 100 kB\nCached: 200 "
			    "kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n");
	put("proc/diskstats", "   8       0 sda 10 0 100 4 20 0 200 8 0 10 12\n   8       1 sda1 "
			      "10 0 100 4 20 0 200 8 0 10 12\n");
	put("proc/net/dev", "Inter-|\n face |\n    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\n  "
			    "eth0:4294967000 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n");
	what_init(&w, r, 4);
	choose(&w, "cpu", NULL);
	choose(&w, "mem", NULL);
	choose(&w, "swap", NULL);
	choose(&w, "disk", NULL);
	choose(&w, "disk-use", "sda");
	choose(&w, "net", NULL);
	choose(&w, "sys", NULL);
	choose(&w, "proc", NULL);
	choose(&w, "psi", NULL);
	start(&w);
	ok(!what_read_since_boot(&w), "since boot");
	ok(near(value(&w, "cpu", "total", "user"), 100.0 * 150 / 1001),
	   "3.10: user time since boot");
	ok(near(value(&w, "sys", "", "switches"), 50), "3.10: switches per second since boot");
	ok(isnan(value(&w, "psi", "", "cpu_some")), "3.10 has no pressure, and that is no error");
	ok(near(value(&w, "mem", "", "used"), 400 * 1024.0), "3.10: memory without SReclaimable");
	ok(near(value(&w, "swap", "", "used"), 30 * 1024.0), "swap");

	put("proc/stat", STAT_310_LATER);
	put("proc/diskstats", "   8       0 sda 15 0 140 9 20 0 200 8 0 1010 500\n   8       1 "
			      "sda1 15 0 140 4 20 0 200 8 0 10 12\n");
	put("proc/net/dev", "Inter-|\n face |\n    lo: 90 1 0 0 0 0 0 0 90 1 0 0 0 0 0 0\n  "
			    "eth0:704 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n");
	step(&w);
	ok(near(value(&w, "cpu", "total", "user"), 100.0 * 50 / 90), "user time of the interval");
	ok(near(value(&w, "cpu", "total", "system"), 100.0 * 10 / 90), "system time");
	ok(near(value(&w, "cpu", "total", "idle"), 100.0 * 30 / 90), "idle time");
	ok(near(value(&w, "sys", "", "interrupts"), rate(&w, 400)), "interrupts per second");
	ok(near(value(&w, "proc", "", "forks"), rate(&w, 4)), "forks per second");
	ok(value(&w, "proc", "", "running") == 3, "runnable tasks are a state");
	ok(near(value(&w, "disk", "total", "read"), rate(&w, 40 * 512)),
	   "a partition does not count twice");
	ok(near(value(&w, "disk-use", "sda", "await_ms"), 1), "mean time of a request");
	ok(near(value(&w, "disk-use", "sda", "busy"), rate(&w, 100)), "utilisation");
	ok(near(value(&w, "net", "total", "received"), rate(&w, 1000)),
	   "a counter of 32 bits wrapped; loopback is not counted");
	what_done(&w);
}

static void devices(const struct sysroot *r)
{
	struct what_engine w;
	put("proc/diskstats", " 254 0 vda 10 0 100 4 20 0 200 8 0 10 12 0 0 0 0 1 2\n");
	what_init(&w, r, 4);
	choose(&w, "io", "all");
	choose(&w, "io", NULL);
	start(&w);
	u64 generation = w.generation;
	put("proc/diskstats", " 254 0 vda 30 0 100 4 20 0 200 8 0 10 12 0 0 0 0 1 2\n 8 0 sdb 1000 "
			      "0 9 9 9 9 9 9 9 9 9\n");
	step(&w);
	ok(w.generation > generation, "a disk came: there are new columns");
	ok(near(value(&w, "io", "vda", "reads"), rate(&w, 20)), "the other one goes on");
	ok(isnan(value(&w, "io", "sdb", "reads")), "of the new one nothing is known yet");
	ok(near(value(&w, "io", "total", "reads"), rate(&w, 20)), "and the total has no jump");
	generation = w.generation;
	put("proc/diskstats", " 254 0 vda 34 0 100 4 20 0 200 8 0 10 12 0 0 0 0 1 2\n 8 0 sdb 1006 "
			      "0 9 9 9 9 9 9 9 9 9\n");
	step(&w);
	ok(w.generation == generation, "the columns stay");
	ok(near(value(&w, "io", "sdb", "reads"), rate(&w, 6)), "now it is known");
	put("proc/diskstats", " 8 0 sdb 5 0 9 9 9 9 9 9 9 9 9\n");
	step(&w);
	ok(value(&w, "io", "vda", "reads") == -1, "a disk went");
	ok(isnan(value(&w, "io", "sdb", "reads")), "a counter that began anew has no rate");
	gone("proc/diskstats");
	step(&w);
	ok(isnan(value(&w, "io", "total", "reads")) || w.files.at[0].err == 0,
	   "the file went: no values, no end");
	what_done(&w);
}

static void many_cpus(const struct sysroot *r)
{
	struct strbuf text;
	struct what_engine w;
	for (int round = 0; round < 2; round++) {
		strbuf_init(&text);
		strbuf_printf(&text, "cpu  %d 0 0 1000 0 0 0 0 0 0\n", 1000 + 512 * round);
		for (int i = 0; i < 512; i++)
			if (i != 7 || round) /* one that comes online */
				strbuf_printf(&text, "cpu%d %d 0 0 10 0 0 0 0 0 0\n", i, 10 + round);
		put("proc/stat", strbuf_cstr(&text));
		strbuf_done(&text);
		if (round)
			break;
		what_init(&w, r, 4);
		choose(&w, "cpu", "all,total");
		start(&w);
		ok(w.parts.nr == 512, "511 CPUs and the total");
	}
	step(&w);
	ok(w.parts.nr == 513, "another CPU came online");
	ok(value(&w, "cpu", "511", "user") == 100, "the last one");
	ok(value(&w, "cpu", "total", "user") == 100, "the total");
	ok(isnan(value(&w, "cpu", "7", "user")), "the new one is not known yet");
	what_done(&w);
}

static void kernel_618(const struct sysroot *r)
{
	struct what_engine w;
	struct strbuf text;
	put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull "
				 "avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	put("proc/pressure/memory", "some avg10=0.00 total=0\nfull avg10=0.00 total=0\n");
	put("proc/vmstat", "pgfault 100\npgmajfault 10\npgalloc_dma 1\npgalloc_normal 5\npgfree "
			   "7\npswpin 0\npswpout 1\n");
	put("proc/net/tcp", "  sl st\n 0: a b 0A 0\n 1: a b 01 0\n");
	put("proc/net/tcp6", "  sl st\n 0: a b 0A 0\n");
	put("proc/net/sockstat",
	    "sockets: used 24\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 304\nUDP: inuse 5 mem 0\n");
	what_init(&w, r, 4);
	choose(&w, "psi", NULL);
	choose(&w, "vm", NULL);
	choose(&w, "tcp", NULL);
	choose(&w, "socket", NULL);
	choose(&w, "page", NULL);
	start(&w);
	put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull "
				 "avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	put("proc/vmstat", "pgfault 130\npgmajfault 14\npgalloc_dma 2\npgalloc_normal 10\npgfree "
			   "9\npswpin 0\npswpout 3\n");
	step(&w);
	ok(near(value(&w, "psi", "", "cpu_some"), rate(&w, 50)), "pressure in percent of the time");
	ok(near(value(&w, "vm", "", "minor_faults"), rate(&w, 26)),
	   "minor faults are those that are not major");
	ok(near(value(&w, "vm", "", "allocated"), rate(&w, 6)), "allocations of all zones");
	ok(value(&w, "tcp", "", "listen") == 2, "sockets of IPv4 and IPv6 together");
	ok(value(&w, "socket", "", "udp") == 5, "sockets in use");
	ok(near(value(&w, "page", "", "out"), rate(&w, 2.0 * (double)sysconf(_SC_PAGESIZE))),
	   "pages swapped out, in bytes");

	strbuf_init(&text);
	what_openmetrics(&w, &text);
	const char *metrics = strbuf_cstr(&text);
	ok(strstr(metrics, "# TYPE sonde_vm_freed counter\n") &&
		   strstr(metrics, "\nsonde_vm_freed_total 9\n"),
	   "OpenMetrics has totals of counters");
	ok(strstr(metrics, "\nsonde_tcp_listen 2\n") != NULL, "and states");
	ok(!strcmp(metrics + strlen(metrics) - 6, "# EOF\n"), "and its end");
	strbuf_done(&text);
	what_done(&w);
}

static void text_is(double v, struct series_look look, const char *want)
{
	struct strbuf s;
	strbuf_init(&s);
	series_lines_number(v, &look, &s);
	is_str(strbuf_cstr(&s), want, want);
	strbuf_done(&s);
}

static void numbers(void)
{
	struct series_look bytes = { .width = 5, .base = 1024 },
			   count = { .width = 5, .base = 1000 };
	text_is(0, bytes, "   0 ");
	text_is(512, bytes, " 512B");
	text_is(86016, bytes, "  84k");
	text_is(86528, bytes, "84.5k");
	text_is(1024.0 * 1024 * 1024 * 3, bytes, "3072M");
	text_is(9999, count, "9999 ");
	text_is(65000, count, "  65k");
	text_is(1.75, count, " 1.8 ");
	text_is(1e18, count, "1000P");
	text_is(NAN, count, "   - ");
	text_is(NAN, (struct series_look){ .width = 3 }, "  -");
	text_is(99.6, (struct series_look){ .width = 3 }, "100");
	text_is(9.38, (struct series_look){ .width = 4, .digits = 2 }, "9.38");
	text_is(24.22, (struct series_look){ .width = 4, .digits = 2 }, "24.2");
}

static void formulas(void)
{
	bool documented = true;
	for (const struct what_group *g = what_groups; g->name; g++)
		for (const struct what_column *c = g->columns; c->name; c++)
			documented &= c->about && *c->about && c->of && c->unit &&
				      (c->how == WHAT_SHARE || c->how == WHAT_RATIO) == !!c->per;
	ok(documented, "every column has a unit, a source and an explanation");
	size_t nr;
	const struct counter_format *all = counter_formats_all(&nr);
	for (size_t i = 0; i < nr; i++)
		for (const struct counter_field *f = all[i].fields; f && f->name; f++)
			documented &= f->about && *f->about && f->unit;
	ok(documented, "so has every field of a file");
}

static void moment_is(const char *text, s64 want_s, const char *what)
{
	const u64 end = 1000000 * 1000000000ull; /* 12 January 1970, 13:46:40 UTC */
	u64 ns = 0;
	int err = what_moment(text, end, &ns);
	if (want_s < 0)
		ok(err, "%s: %s", text, what);
	else
		ok(!err && ns == (u64)want_s * 1000000000ull, "%s: %s", text, what);
}

static void moments(void)
{
	setenv("TZ", "UTC", 1);
	moment_is("-10m", 1000000 - 600, "ten minutes before the end");
	moment_is("-2h", 1000000 - 7200, "hours");
	moment_is("-30", 1000000 - 30, "seconds");
	moment_is("-30s", 1000000 - 30, "seconds with their unit");
	moment_is("13:46", 1000000 - 40, "a time of the day it ended");
	moment_is("13:46:05", 1000000 - 35, "with seconds");
	moment_is("999999", 999999, "seconds since 1970");
	moment_is("25:00", -1, "no such hour");
	moment_is("13:4x", -1, "not a time");
	moment_is("13:46:05:1", -1, "too much");
	moment_is("", -1, "nothing");
	moment_is("-", -1, "a sign only");
	moment_is("soon", -1, "a word");
}

static int replay_all(struct what_engine *w, const char *path, double *forks, size_t *rows)
{
	struct diag d;
	diag_init(&d);
	struct what_replay *r = what_replay_open(w, path, &d);
	int more = r ? 1 : -1;
	*forks = 0;
	*rows = 0;
	while (r && (more = what_replay_next(r)) > 0) {
		*forks += value(w, "proc", "", "forks") * w->seconds;
		(*rows)++;
	}
	what_replay_close(r);
	diag_done(&d);
	return more;
}

/* What is recorded is what is replayed: rates, shares, states, and what was not known. */
static void history(const struct sysroot *r)
{
	struct what_engine w, again;
	struct diag d;
	char path[128], stat[512];
	snprintf(path, sizeof(path), "%s/history.data", dir);
	diag_init(&d);
	put("proc/stat", STAT_310);
	what_init(&w, r, 4);
	choose(&w, "cpu", NULL);
	choose(&w, "proc", NULL);
	choose(&w, "sched", NULL); /* this kernel has none */
	start(&w);
	struct what_recording *rec =
		what_record_open(&w,
				 &(struct what_record_opts){
					 .path = path, .max_bytes = 1 << 20, .interval_ms = 2000 },
				 &d);
	ok(rec, "a history begins");
	for (int i = 1; i <= 5; i++) {
		snprintf(stat, sizeof(stat),
			 "cpu  %d 50 30 %d 5 1 7 8\ncpu0 1 1 1 1 1 1 1 1\nprocesses "
			 "%d\nprocs_running %d\nprocs_blocked 0\n",
			 100 + 30 * i, 800 + 10 * i, 70 + i * i, i);
		put("proc/stat", stat);
		w.read_ns -= 2000000000ull;
		ok(rec && !what_read(&w) && !what_record_round(rec, &d), "round %d", i);
	}
	ok(rec && !what_record_finish(rec, &d), "it ends");
	what_record_close(rec);

	what_init(&again, r, 16);
	double forks;
	size_t rows;
	ok(!replay_all(&again, path, &forks, &rows), "it is replayed");
	ok(rows == 5, "all intervals");
	ok(near(forks, 25), "as many forks as there were, got %g", forks);
	ok(near(value(&again, "cpu", "total", "user"), 75), "shares");
	ok(value(&again, "proc", "", "running") == 5, "states");
	ok(isnan(value(&again, "sched", "total", "waiting")), "what was not known is not known");
	is_str(again.series.columns.at[0].part.title, "total cpu usage",
	       "titles are those of live columns");
	what_done(&again);

	/* A file that cannot hold all: the newest part, and the one before it. */
	rec = what_record_open(
		&w, &(struct what_record_opts){ .path = path, .max_bytes = 1, .interval_ms = 2000 },
		&d);
	for (int i = 0; i < 3; i++) {
		w.read_ns -= 2000000000ull;
		ok(rec && !what_read(&w) && !what_record_round(rec, &d),
		   "a round that begins a new file");
	}
	ok(rec && !what_record_finish(rec, &d), "it ends");
	what_record_close(rec);
	what_init(&again, r, 16);
	ok(!replay_all(&again, path, &forks, &rows) && rows == 1, "the newest interval is in FILE");
	what_done(&again);
	snprintf(path, sizeof(path), "%s/history.data.old", dir);
	what_init(&again, r, 16);
	ok(!replay_all(&again, path, &forks, &rows) && rows == 1, "the one before in FILE.old");
	what_done(&again);
	what_done(&w);
	diag_done(&d);
}

/* A process with so much CPU time (ticks) and so many bytes written. */
static void put_process(int pid, const char *comm, unsigned ticks, unsigned bytes)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (%s) S 1 1 1 0 -1 4194560 1 0 0 0 %u 0 0 0 20 0 1 0 77 1000 10 "
		 "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		 pid, comm, ticks);
	put(path, text);
	snprintf(path, sizeof(path), "proc/%d/io", pid);
	snprintf(text, sizeof(text),
		 "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: %u\n"
		 "cancelled_write_bytes: 0\n",
		 bytes);
	put(path, text);
}

static void busy_is(const struct what_busy_log *log, enum what_busy by, u64 from, u64 to,
		    const char *want)
{
	struct what_busy_found list[3];
	char got[256] = "";
	size_t len = 0;
	s64 nr = what_busy_find(log, by, from, to, list, 3);
	for (s64 i = 0; i < nr; i++)
		len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%s/%d", i ? " " : "",
					list[i].name, list[i].pid);
	char what[64];
	snprintf(what, sizeof(what), "%s from %llu to %llu", what_busy_words[by],
		 (unsigned long long)from, (unsigned long long)to);
	is_str(got, want, what);
}

/* Who was busy in each interval is recorded, replayed, and added up over stretches. */
static void busy_processes(const struct sysroot *r)
{
	struct what_engine w, again;
	struct what_busy_log log;
	struct diag d;
	char path[128];
	snprintf(path, sizeof(path), "%s/busy.data", dir);
	diag_init(&d);
	put("proc/stat", "cpu  1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\nprocesses 1\n");
	put_process(101, "one", 10, 0);
	put_process(102, "two", 10, 0);
	put_process(103, "a) thr\x1b", 10, 0);
	what_init(&w, r, 4);
	choose(&w, "proc", NULL);
	start(&w);
	struct what_top *top = what_top_new(r, true);
	struct what_recording *rec =
		what_record_open(&w,
				 &(struct what_record_opts){ .path = path,
							     .max_bytes = 1 << 20,
							     .interval_ms = 2000,
							     .top = top,
							     .processes = 2 },
				 &d);
	ok(top && rec, "a history with processes");
	/* Interval 1: one. 2: two more than one, and it writes. 3: nobody. 4: the third one, who has another name by then. */
	for (unsigned i = 1; rec && i <= 4; i++) {
		put_process(101, "one", i < 2 ? 50 : i < 3 ? 60 : 60, 0);
		put_process(102, "two", i < 2 ? 10 : 90, i < 2 ? 0 : 1 << 20);
		put_process(103, i < 4 ? "a) thr\x1b" : "three", i < 4 ? 10 : 300, 0);
		w.read_ns -= 2000000000ull;
		ok(!what_read(&w) && !what_top_read(top) && !what_record_round(rec, &d), "round %u",
		   i);
	}
	ok(rec && !what_record_finish(rec, &d), "it ends");
	what_record_close(rec);
	what_top_free(top);
	what_done(&w);

	what_init(&again, r, 16);
	what_busy_init(&log);
	struct what_replay *replay = what_replay_open(&again, path, &d);
	for (u64 at = 0; replay && what_replay_next(replay) > 0; at += 10)
		ok(!what_busy_add(&log, replay, at, at + 10), "an interval is added");
	busy_is(&log, WHAT_BUSY_CPU, 0, 10, "one/101");
	busy_is(&log, WHAT_BUSY_CPU, 10, 20, "two/102 one/101");
	busy_is(&log, WHAT_BUSY_CPU, 20, 30, "");
	busy_is(&log, WHAT_BUSY_CPU, 30, 40, "three/103");
	busy_is(&log, WHAT_BUSY_IO, 0, 10, "");
	busy_is(&log, WHAT_BUSY_IO, 5, 15, "two/102");
	busy_is(&log, WHAT_BUSY_IO, 20, 40, "");
	struct what_busy_found found[3];
	ok(what_busy_find(&log, WHAT_BUSY_CPU, 0, 40, found, 3) == 3, "all of them in all of it");
	for (size_t i = 0; replay && i < again.series.columns.nr; i++)
		ok(strcmp(again.series.columns.at[i].part.group, "processes") != 0,
		   "a process is no column");
	what_busy_done(&log);
	what_replay_close(replay);
	what_done(&again);
	diag_done(&d);
	gone("proc/101/stat");
	gone("proc/102/stat");
	gone("proc/103/stat");
}

/* Which kind of work a column is of. */
static void busy_kinds(void)
{
	static const struct {
		const char *group, *key;
		enum what_busy by;
	} rows[] = {
		{ "cpu", "user", WHAT_BUSY_CPU },     { "cpu", "iowait", WHAT_BUSY_IO },
		{ "disk", "read", WHAT_BUSY_IO },     { "psi", "io_some", WHAT_BUSY_IO },
		{ "psi", "cpu_some", WHAT_BUSY_CPU }, { "net", "received", WHAT_BUSY_CPU },
		{ "proc", "blocked", WHAT_BUSY_IO },  { "disk-use", "queue", WHAT_BUSY_IO },
	};
	const struct what_busy_log both = { .has = { true, true } }, cpu = { .has = { true } };
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct series_column c = { .part = { .group = rows[i].group },
						 .key = rows[i].key };
		ok(what_busy_of(&both, &c) == rows[i].by, "%s/%s", rows[i].group, rows[i].key);
		ok(what_busy_of(&cpu, &c) == WHAT_BUSY_CPU, "what is not recorded");
	}
}

/* Rows with files of their own: they come and go, and what stays is not read anew. */
static void cgroups(const struct sysroot *r)
{
	struct what_engine w;
	put("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
	put("sys/fs/cgroup/cpu.stat", "usage_usec 9000000\n");
	put("sys/fs/cgroup/a.slice/cpu.stat", "usage_usec 1000000\nthrottled_usec 100\n");
	put("sys/fs/cgroup/a.slice/memory.current", "4096\n");
	put("sys/fs/cgroup/a.slice/io.stat", "8:0 rbytes=10 wbytes=20\n8:16 rbytes=5 wbytes=0\n");
	put("sys/fs/cgroup/a.slice/cpu.pressure",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=500\n");
	what_init(&w, r, 4);
	choose(&w, "cgroup", NULL);
	choose(&w, "cgroup-psi", "a.slice");
	start(&w);
	put("sys/fs/cgroup/a.slice/cpu.stat", "usage_usec 1500000\nthrottled_usec 100\n");
	put("sys/fs/cgroup/a.slice/io.stat",
	    "8:0 rbytes=110 wbytes=20\n8:16 rbytes=105 wbytes=0\n");
	put("sys/fs/cgroup/a.slice/cpu.pressure",
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=20500\n");
	put("sys/fs/cgroup/b.slice/x.service/cpu.stat", "usage_usec 7\n");
	step(&w);
	ok(near(value(&w, "cgroup", "a.slice", "cpu"), rate(&w, 50)),
	   "half a second of CPU time is 50 percent of a second");
	ok(value(&w, "cgroup", "a.slice", "memory") == 4096, "memory of a cgroup");
	ok(near(value(&w, "cgroup", "a.slice", "read"), rate(&w, 200)), "all its disks");
	ok(near(value(&w, "cgroup-psi", "a.slice", "cpu_some"), rate(&w, 2)),
	   "20 ms of a second are 2 percent of it");
	ok(isnan(value(&w, "cgroup", "a.slice", "tasks")), "a controller that is not enabled");
	ok(isnan(value(&w, "cgroup", "b.slice/x.service", "cpu")), "a new one has no rate yet");
	ok(value(&w, "cgroup", "/", "cpu") == 0, "the root is one of them");
	gone("sys/fs/cgroup/a.slice/cpu.stat");
	gone("sys/fs/cgroup/a.slice/memory.current");
	gone("sys/fs/cgroup/a.slice/io.stat");
	gone("sys/fs/cgroup/a.slice/cpu.pressure");
	gone("sys/fs/cgroup/cgroup.controllers");
	char path[256];
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/a.slice", dir);
	(void)rmdir(path);
	put("sys/fs/cgroup/b.slice/x.service/cpu.stat", "usage_usec 200007\n");
	put("sys/fs/cgroup/cgroup.controllers", "cpu\n");
	size_t files = w.files.nr;
	step(&w);
	ok(near(value(&w, "cgroup", "b.slice/x.service", "cpu"), rate(&w, 20)), "then it has");
	ok(value(&w, "cgroup", "a.slice", "cpu") == -1, "one that has gone has no column");
	ok(w.files.nr < files, "and its files are closed");
	what_done(&w);
	gone("sys/fs/cgroup/cgroup.controllers");

	put("sys/fs/cgroup/cpuacct/docker/cpuacct.usage", "1000000000\n");
	put("sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "8192\n");
	put("sys/fs/cgroup/blkio/docker/blkio.throttle.io_service_bytes",
	    "8:0 Read 100\n8:0 Write 7\n8:0 Total 107\nTotal 107\n");
	what_init(&w, r, 4);
	choose(&w, "cgroup", "docker");
	start(&w);
	put("sys/fs/cgroup/cpuacct/docker/cpuacct.usage", "1250000000\n");
	put("sys/fs/cgroup/blkio/docker/blkio.throttle.io_service_bytes",
	    "8:0 Read 300\n8:0 Write 7\n8:0 Total 307\nTotal 307\n");
	step(&w);
	ok(near(value(&w, "cgroup-v1", "docker", "cpu"), rate(&w, 25)), "version 1: CPU time");
	ok(value(&w, "cgroup-v1", "docker", "memory") == 8192, "memory");
	ok(near(value(&w, "cgroup-v1", "docker", "read"), rate(&w, 200)), "what was read");
	what_done(&w);
}

static void sensors(const struct sysroot *r)
{
	struct what_engine w;
	struct diag d;
	what_init(&w, r, 4);
	choose(&w, "temperature", NULL);
	diag_init(&d);
	ok(what_start(&w, &d) == -ENOENT && d.items.nr == 1 &&
		   strstr(d.items.at[0].message, "no temperature sensors"),
	   "a machine without sensors says so");
	diag_done(&d);
	what_done(&w);

	put("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
	put("sys/class/thermal/thermal_zone0/temp", "45500\n");
	put("sys/class/hwmon/hwmon1/name", "coretemp\n");
	put("sys/class/hwmon/hwmon1/temp2_label", "Core 0\n");
	put("sys/class/hwmon/hwmon1/temp2_input", "61000\n");
	put("sys/class/hwmon/hwmon1/temp2_crit", "100000\n");
	put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1000000\n");
	put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000\n");
	put("sys/devices/system/cpu/cpufreq/x", "");
	what_init(&w, r, 4);
	choose(&w, "temperature", "total,all");
	choose(&w, "frequency", "total,1");
	start(&w);
	step(&w);
	ok(value(&w, "temperature", "total", "temperature") == 61, "the hottest");
	ok(value(&w, "temperature", "x86_pkg_temp", "temperature") == 45.5, "a zone by its type");
	ok(value(&w, "temperature", "coretemp/Core 0", "temperature") == 61, "a chip by its label");
	ok(value(&w, "frequency", "total", "frequency") == 2e9, "the mean of all CPUs");
	ok(value(&w, "frequency", "1", "frequency") == 3e9, "one of them");
	what_done(&w);

	put("sys/block/vda/size", "1\n");
	put("dev/vda", "");
	what_init(&w, r, 4);
	choose(&w, "disk-health", NULL);
	diag_init(&d);
	ok(!what_start(&w, &d) && d.items.nr == 1 &&
		   strstr(d.items.at[0].message,
			  "'/dev/vda': disk health (SMART): not supported by device"),
	   "what has no health says so");
	diag_done(&d);
	step(&w);
	ok(isnan(value(&w, "disk-health", "vda", "temperature")), "and its columns are not known");
	what_done(&w);
}

int main(void)
{
	struct sysroot r;
	if (!mkdtemp(dir) || sysroot_open(&r, dir))
		return 1;
	numbers();
	formulas();
	kernel_310(&r);
	devices(&r);
	many_cpus(&r);
	kernel_618(&r);
	moments();
	history(&r);
	busy_processes(&r);
	busy_kinds();
	cgroups(&r);
	sensors(&r);
	sysroot_close(&r);
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ok(!system(command), "cleaned up");
	return done_testing();
}
