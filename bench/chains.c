/*
 * Writes a perf.data of samples with call chains, straight to a file: as many samples, threads, processes and libraries as asked for, the
 * same bytes every time. The code in it is this program's own, so that there are symbols to find.
 *
 * usage: chains FILE SAMPLES [FRAMES [VARIETY [THREADS [PROCESSES [LIBRARIES]]]]]
 *
 * VARIETY is how many of a hundred steps go to a random function: 0 few chains ... 60 nearly every chain differs. PROCESSES live one after the
 * other, each with THREADS threads of its own. LIBRARIES are mappings of this program beside the program itself.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUNCS = 64, NAME = 64, FIRST_PID = 10000 };

/* clang-format off */
#define F1(n) __attribute__((noinline, used)) static unsigned step_##n(unsigned x) { return x * (n##u + 3) ^ x >> 3; }
#define F8(n) F1(n##0) F1(n##1) F1(n##2) F1(n##3) F1(n##4) F1(n##5) F1(n##6) F1(n##7)
F8(1) F8(2) F8(3) F8(4) F8(5) F8(6) F8(7) F8(8)
#define A8(n) step_##n##0, step_##n##1, step_##n##2, step_##n##3, step_##n##4, step_##n##5, step_##n##6, step_##n##7
static unsigned (*const steps[FUNCS])(unsigned) = { A8(1), A8(2), A8(3), A8(4), A8(5), A8(6), A8(7), A8(8) };
/* clang-format on */

struct mapping {
	uint64_t start, end, pgoff;
	char path[4096];
};

struct options {
	unsigned long samples, frames, variety, threads, processes, libraries;
};

static uint64_t seed = 88172645463325252ull;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void put(FILE *to, const void *bytes, size_t size)
{
	if (fwrite(bytes, 1, size, to) != size) {
		perror("chains: write");
		exit(1);
	}
}

static struct mapping own_code(void)
{
	struct mapping m = { 0 };
	uint64_t inside = (uint64_t)(uintptr_t)steps[0];
	char line[8192];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long long start, end, pgoff;
		if (sscanf(line, "%llx-%llx r-xp %llx %*s %*s %4095s", &start, &end, &pgoff,
			   m.path) == 4 &&
		    start <= inside && inside < end) {
			m.start = start;
			m.end = end;
			m.pgoff = pgoff;
			break;
		}
	}
	if (maps)
		fclose(maps);
	return m;
}

static void put_task(FILE *to, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid,
		     uint64_t time)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
		uint32_t id_pid, id_tid;
		uint64_t id_time;
	} r = { { type, PERF_RECORD_MISC_USER, sizeof(r) },
		pid,
		ppid,
		tid,
		ppid,
		time,
		pid,
		tid,
		time };
	put(to, &r, sizeof(r));
}

static void put_comm(FILE *to, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		char name[16];
		uint32_t id_pid, id_tid;
		uint64_t id_time;
	} r = { { PERF_RECORD_COMM, PERF_RECORD_MISC_USER, sizeof(r) },
		pid,
		tid,
		"chains",
		pid,
		tid,
		time };
	put(to, &r, sizeof(r));
}

static void put_map(FILE *to, const struct mapping *m, uint64_t at, uint32_t pid, uint64_t time)
{
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t start, len, pgoff;
	} r = { { PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, 0 },
		pid,
		pid,
		at,
		m->end - m->start,
		m->pgoff };
	struct {
		uint32_t pid, tid;
		uint64_t time;
	} id = { pid, pid, time };
	char path[4096 + 8] = { 0 };
	size_t len = strlen(m->path) / 8 * 8 + 8;
	memcpy(path, m->path, strlen(m->path));
	r.h.size = (uint16_t)(sizeof(r) + len + sizeof(id));
	put(to, &r, sizeof(r));
	put(to, path, len);
	put(to, &id, sizeof(id));
}

/* Libraries stand a gigabyte apart; the first place is the program's own. */
static uint64_t place(const struct mapping *m, unsigned long library)
{
	return m->start + ((uint64_t)library << 30);
}

static void put_sample(FILE *to, const struct options *o, const struct mapping *m, uint32_t pid,
		       uint32_t tid, uint64_t time)
{
	static uint64_t r[16 + 512];
	unsigned long nr = o->frames;
	unsigned at = 0;
	/* The outermost frame is the last one. */
	for (unsigned long i = nr; i-- > 0;) {
		uint64_t x = next();
		at = x % 100 < o->variety ? (unsigned)(x / 100 % 16) * 3 : (at + 1) % FUNCS;
		r[7 + i] = place(m, at % (o->libraries + 1)) - m->start +
			   (uint64_t)(uintptr_t)steps[at] + (i ? 1 : 1 + x / 1600 % 4);
	}
	struct perf_event_header h = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
				       (uint16_t)((7 + nr) * 8) };
	memcpy(&r[0], &h, sizeof(h));
	r[1] = r[7];
	r[2] = pid | (uint64_t)tid << 32;
	r[3] = time;
	r[4] = 250000; /* period */
	r[5] = nr + 1;
	r[6] = (uint64_t)PERF_CONTEXT_USER;
	put(to, r, h.size);
}

static void put_process(FILE *to, const struct options *o, const struct mapping *m,
			unsigned long number, uint64_t *time)
{
	uint32_t pid = FIRST_PID + (uint32_t)(number * o->threads);
	unsigned long samples = o->samples / o->processes + (number < o->samples % o->processes);
	put_task(to, PERF_RECORD_FORK, pid, 1, pid, ++*time);
	put_comm(to, pid, pid, ++*time);
	for (unsigned long i = 0; i <= o->libraries; i++)
		put_map(to, m, place(m, i), pid, ++*time);
	for (uint32_t t = 1; t < o->threads; t++)
		put_task(to, PERF_RECORD_FORK, pid, pid, pid + t, ++*time);
	for (unsigned long i = 0; i < samples; i++)
		put_sample(to, o, m, pid, pid + (uint32_t)(next() % o->threads), *time += 250);
	put_task(to, PERF_RECORD_EXIT, pid, 1, pid, ++*time);
}

static struct perf_event_attr event(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER0,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 250000,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN,
		.sample_id_all = 1,
		.mmap = 1,
		.comm = 1,
		.task = 1,
	};
}

static void put_head(FILE *to, uint64_t data_size)
{
	struct perf_event_attr attr = event();
	uint64_t no_ids[2] = { 0 };
	uint64_t entry = PERF_ATTR_SIZE_VER0 + sizeof(no_ids);
	uint64_t head[13] = { 0, 104, entry, 104, entry, 104 + entry, data_size };
	memcpy(head, "PERFILE2", 8);
	put(to, head, sizeof(head));
	put(to, &attr, PERF_ATTR_SIZE_VER0);
	put(to, no_ids, sizeof(no_ids));
}

static unsigned long number(int argc, char **argv, int at, unsigned long usual)
{
	return argc > at ? strtoul(argv[at], NULL, 0) : usual;
}

int main(int argc, char **argv)
{
	struct options o = { .samples = number(argc, argv, 2, 1140000),
			     .frames = number(argc, argv, 3, 24),
			     .variety = number(argc, argv, 4, 60),
			     .threads = number(argc, argv, 5, 2),
			     .processes = number(argc, argv, 6, 1),
			     .libraries = number(argc, argv, 7, 0) };
	struct mapping m = own_code();
	FILE *to = argc > 1 && m.start ? fopen(argv[1], "w") : NULL;
	if (!to || !o.frames || o.frames > 512 || !o.threads || !o.processes) {
		fprintf(stderr, "usage: chains FILE SAMPLES [FRAMES [VARIETY [THREADS [PROCESSES "
				"[LIBRARIES]]]]]\n");
		return 1;
	}
	uint64_t time = 1000000000;
	put_head(to, 0);
	long start = ftell(to);
	for (unsigned long i = 0; i < o.processes; i++)
		put_process(to, &o, &m, i, &time);
	uint64_t size = (uint64_t)(ftell(to) - start);
	rewind(to);
	put_head(to, size);
	if (fclose(to)) {
		perror("chains: close");
		return 1;
	}
	return 0;
}
