/* Counts in perf.data: what is written is read back; every form of a map of CPUs; sparse numbers, 512 CPUs; damage. */
#include "file/perfdata_write.h"
#include "file/statdata.h"
#include "tap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

static char path[PATH_MAX];
static const u64 ids_a[] = { 11, 12 }, ids_b[] = { 21 };

static struct perfdata_writer *begin(void)
{
	struct diag d;
	struct machine m = { .nr_cpus_present = 2 };
	struct perfdata_event events[] = {
		{ .attr = { .type = 1, .config = 1, .size = sizeof(struct perf_event_attr) },
		  .name = "task-clock",
		  .ids = ids_a,
		  .nr_ids = 2 },
		{ .attr = { .type = 1, .config = 2, .size = sizeof(struct perf_event_attr) },
		  .name = "page-faults",
		  .ids = ids_b,
		  .nr_ids = 1 },
		{ .attr = { .type = 0, .size = sizeof(struct perf_event_attr) }, .name = "cycles" },
	};
	struct perfdata_meta meta = {
		.machine = &m, .version = "1", .counts = true, .no_rotate = true, .owner_uid = -1
	};
	diag_init(&d);
	struct perfdata_writer *w = perfdata_write_open(path, events, 3, &meta, &d);
	diag_done(&d);
	return w;
}

static int finish(struct perfdata_writer *w, struct strbuf *records)
{
	struct iovec iov = { .iov_base = records->data, .iov_len = records->len };
	int err = perfdata_write_records(w, &iov, 1);
	if (!err)
		err = perfdata_write_finish(w);
	perfdata_write_close(w);
	strbuf_reset(records);
	return err;
}

static void test_round_trip(void)
{
	struct strbuf b;
	struct perfdata p;
	struct statdata s;
	struct statdata_round round;
	struct diag d;
	struct count got[3 * 2] = { 0 };
	struct cpuset cpus = { 0 };
	const struct statdata_thread threads[] = { { .tid = -1 } };
	cpuset_add(&cpus, 3);
	cpuset_add(&cpus, 511);
	strbuf_init(&b);
	diag_init(&d);
	struct perfdata_writer *w = begin();
	ok(w != NULL, "a file of counts");
	statdata_put_unit(&b, 11, "msec");
	statdata_put_scale(&b, 11, 1e-6);
	statdata_put_cpus(&b, 21, &cpus);
	statdata_put_threads(&b, threads, 1);
	statdata_put_cpu_map(&b, &cpus);
	statdata_put_config(&b, STAT_BY_NODE, 250);
	statdata_put_count(&b, 11, 3, 0,
			   &(struct count){ .value = 100, .enabled_ns = 10, .running_ns = 5 });
	statdata_put_count(&b, 12, 511, 0,
			   &(struct count){ .value = 200, .enabled_ns = 10, .running_ns = 10 });
	statdata_put_round(&b, &(struct statdata_round){ .time_ns = 250 });
	statdata_put_count(&b, 21, 511, 0,
			   &(struct count){ .value = 7, .enabled_ns = 1, .running_ns = 1 });
	statdata_put_count(&b, 99, 3, 0, &(struct count){ .value = 1 }); /* nobody's */
	statdata_put_round(&b, &(struct statdata_round){ .time_ns = 500, .final = true });
	is_u64((u64)finish(w, &b), 0, "is written");
	is_u64((u64)perfdata_open(&p, path, &d), 0, "opened");
	ok(p.feature_bits[0] >> FEAT_STAT & 1, "its head says that it holds counts");
	is_u64((u64)statdata_open(&s, &p, &d), 0, "its preface is read");
	is_u64((u64)s.by, STAT_BY_NODE, "how it is added up");
	is_u64(s.interval_ms, 250, "the interval");
	is_u64(statdata_nr_slots(&s), 2, "two CPUs with sparse numbers are two places");
	ok(s.cpus.at[0] == 3 && s.cpus.at[1] == 511, "3 and 511");
	is_str(s.events.at[0].unit, "msec", "a unit");
	ok(s.events.at[0].scale == 1e-6 && s.events.at[1].scale == 0, "a scale, and none");
	is_u64(p.attrs.at[2].nr_ids, 0, "what could not be counted has no ids");
	is_u64((u64)statdata_next_round(&s, got, &round), 1, "a round");
	ok(!round.final && round.time_ns == 250, "an interval");
	ok(got[0].value == 100 && got[0].running_ns == 5 && got[1].value == 200 && !got[2].opened,
	   "its counts, each in its place");
	is_u64((u64)statdata_next_round(&s, got, &round), 1, "another");
	ok(round.final && got[3].value == 7 && got[0].value == 100 && !got[2].opened &&
		   !got[4].opened,
	   "what it does not tell is as before");
	is_u64((u64)statdata_next_round(&s, got, &round), 0, "no more");
	statdata_close(&s);
	perfdata_close(&p);
	diag_done(&d);
	strbuf_done(&b);
}

/* One map in a file, as bytes behind the record's head. */
static int open_with(u32 type, const void *body, size_t size, char *list, size_t list_size)
{
	struct strbuf b;
	struct perfdata p;
	struct statdata s;
	struct diag d;
	struct perf_event_header h = { .type = type, .size = (u16)((sizeof(h) + size + 7) & ~7ul) };
	size_t at = 0;
	strbuf_init(&b);
	diag_init(&d);
	struct perfdata_writer *w = begin();
	strbuf_add(&b, &h, sizeof(h));
	strbuf_add(&b, body, size);
	strbuf_fill(&b, 0, h.size - sizeof(h) - size);
	statdata_put_config(&b, STAT_BY_ALL, 0);
	if (!w || finish(w, &b) || perfdata_open(&p, path, &d))
		return -EIO;
	int err = statdata_open(&s, &p, &d);
	list[0] = 0;
	for (size_t i = 0; !err && i < s.cpus.nr && at + 12 < list_size; i++)
		at += (size_t)snprintf(list + at, list_size - at, "%s%d", i ? "," : "",
				       s.cpus.at[i]);
	if (!err)
		statdata_close(&s);
	perfdata_close(&p);
	diag_done(&d);
	strbuf_done(&b);
	return err;
}

static void test_maps(void)
{
	char list[256];
	const u16 any[] = { 0, 1, 0xffff }, few[] = { 0, 3, 1, 5, 300 };
	is_u64((u64)open_with(REC_CPU_MAP, any, sizeof(any), list, sizeof(list)), 0, "any CPU");
	is_str(list, "-1", "is -1");
	is_u64((u64)open_with(REC_CPU_MAP, few, sizeof(few), list, sizeof(list)), 0, "a list");
	is_str(list, "1,5,300", "as it is");
	struct __attribute__((packed)) {
		u16 type, nr, word;
		u32 mask[2];
	} m32 = { 1, 2, 4, { 0x80000001, 2 } };
	is_u64((u64)open_with(REC_CPU_MAP, &m32, sizeof(m32), list, sizeof(list)), 0,
	       "a mask of 32 bits");
	is_str(list, "0,31,33", "bit by bit");
	struct __attribute__((packed)) {
		u16 type, nr, word;
		u32 spare;
		u64 mask[2];
	} m64 = { 1, 2, 8, 0, { 1ull << 63, 1 } };
	is_u64((u64)open_with(REC_CPU_MAP, &m64, sizeof(m64), list, sizeof(list)), 0,
	       "a mask of 64 bits");
	is_str(list, "63,64", "bit by bit");
	struct __attribute__((packed)) {
		u16 type;
		u8 any, spare;
		u16 first, last;
	} range = { 2, 1, 0, 7, 10 };
	is_u64((u64)open_with(REC_CPU_MAP, &range, sizeof(range), list, sizeof(list)), 0, "a range");
	is_str(list, "-1,7,8,9,10", "with any CPU before it");

	const u16 short_list[] = { 0, 9, 1 }, unknown[] = { 9, 1, 1 };
	is_u64((u64)open_with(REC_CPU_MAP, short_list, sizeof(short_list), list, sizeof(list)),
	       (u64)-EBADMSG, "a list that is longer than its record");
	is_u64((u64)open_with(REC_CPU_MAP, unknown, sizeof(unknown), list, sizeof(list)),
	       (u64)-EBADMSG, "a form that nobody knows");
	m64.word = 3;
	is_u64((u64)open_with(REC_CPU_MAP, &m64, sizeof(m64), list, sizeof(list)), (u64)-EBADMSG,
	       "words of three bytes");
	const u64 many = UINT64_MAX;
	is_u64((u64)open_with(REC_THREAD_MAP, &many, sizeof(many), list, sizeof(list)),
	       (u64)-EBADMSG, "more threads than there is room for");
}

static void test_many(void)
{
	struct strbuf b;
	struct perfdata p;
	struct statdata s;
	struct statdata_round round;
	struct diag d;
	struct cpuset cpus = { 0 };
	const struct statdata_thread threads[] = { { .tid = -1 } };
	static struct count got[3 * 512];
	for (unsigned c = 0; c < 512; c++)
		cpuset_add(&cpus, c * 8);
	strbuf_init(&b);
	diag_init(&d);
	struct perfdata_writer *w = begin();
	statdata_put_threads(&b, threads, 1);
	statdata_put_cpu_map(&b, &cpus);
	statdata_put_config(&b, STAT_BY_CPU, 0);
	for (unsigned c = 0; c < 512; c++)
		statdata_put_count(&b, 21, (s32)c * 8, 0,
				   &(struct count){ .value = c, .running_ns = 1 });
	statdata_put_round(&b, &(struct statdata_round){ .time_ns = 1, .final = true });
	is_u64((u64)finish(w, &b), 0, "512 CPUs, every eighth number");
	is_u64((u64)perfdata_open(&p, path, &d), 0, "opened");
	is_u64((u64)statdata_open(&s, &p, &d), 0, "and read");
	is_u64(statdata_nr_slots(&s), 512, "512 places");
	is_u64((u64)statdata_next_round(&s, got, &round), 1, "a round");
	ok(got[512].value == 0 && got[512 + 511].value == 511, "with a count of each");
	statdata_close(&s);
	perfdata_close(&p);

	w = begin();
	statdata_put_threads(&b, threads, 1);
	is_u64((u64)finish(w, &b), 0, "a file without counts");
	is_u64((u64)perfdata_open(&p, path, &d), 0, "opened");
	is_u64((u64)statdata_open(&s, &p, &d), (u64)-ENODATA, "has nothing to show");
	perfdata_close(&p);
	diag_done(&d);
	strbuf_done(&b);
}

int main(void)
{
	(void)snprintf(path, sizeof(path), "%s/test_statdata.%d",
		       getenv("SONDE_TMP") ? getenv("SONDE_TMP") : "/tmp", (int)getpid());
	test_round_trip();
	test_maps();
	test_many();
	(void)unlink(path);
	return done_testing();
}
