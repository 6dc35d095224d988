/* What perfdata_write writes, perfdata_read reads: at the end, at every moment before, compressed, on a full disk. */
#include "file/perfdata_made.h"
#include "file/perfdata_read.h"
#include "file/perfdata_repair.h"
#include "file/perfdata_write.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[PATH_MAX];
static const u64 ids_a[] = { 11, 12 }, ids_b[] = { 21 };

struct sample_rec {
	struct perf_event_header h;
	u64 id, ip;
	u32 pid, tid;
	u64 time;
};

static struct sample_rec sample(u64 id, u64 n)
{
	return (struct sample_rec){ .h = { .type = PERF_RECORD_SAMPLE,
					   .size = sizeof(struct sample_rec) },
				    .id = id,
				    .ip = n,
				    .pid = 1,
				    .tid = 1,
				    .time = n };
}

static struct perfdata_writer *open_writer(const struct machine *m, int zstd, struct diag *d)
{
	u64 type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	struct perfdata_event events[] = {
		{ .attr = { .type = PERF_TYPE_SOFTWARE,
			    .size = sizeof(struct perf_event_attr),
			    .sample_type = type,
			    .sample_id_all = 1 },
		  .name = "first",
		  .ids = ids_a,
		  .nr_ids = 2,
		  .nr_members = 2 },
		{ .attr = { .type = PERF_TYPE_SOFTWARE,
			    .config = 2,
			    .size = sizeof(struct perf_event_attr),
			    .branch_sample_type = PERF_SAMPLE_BRANCH_ANY,
			    .sample_type = type | PERF_SAMPLE_BRANCH_STACK,
			    .sample_id_all = 1 },
		  .name = "second",
		  .ids = ids_b,
		  .nr_ids = 1 },
	};
	static const char *const argv[] = { "sonde", "record" };
	struct perfdata_meta meta = { .machine = m,
				      .version = "1",
				      .argv = argv,
				      .argc = 2,
				      .zstd_level = zstd,
				      .owner_uid = -1,
				      .owner_gid = -1,
				      .has_clock = true,
				      .clock_id = 1,
				      .clock_res_ns = 1,
				      .wall_ref_ns = 5,
				      .clock_ref_ns = 6 };
	return perfdata_write_open(path, events, 2, &meta, d);
}

enum { THREADS = 8, PER_THREAD = 400 };

struct found {
	u64 nr_samples, sum_ip, nr_rounds;
	u64 last[THREADS]; /* by tid: times of one thread never go back */
	u64 nr_backwards;
	bool whole;
};

static void count(struct found *f, const struct perf_event_header *h, const u8 *rec)
{
	struct sample_rec s;
	if (h->type == PERF_RECORD_SAMPLE) {
		memcpy(&s, rec, sizeof(s));
		f->nr_samples++;
		f->sum_ip += s.ip;
		u64 *last = &f->last[s.tid % THREADS];
		f->nr_backwards += s.time < *last;
		*last = s.time;
	}
	f->nr_rounds += h->type == REC_FINISHED_ROUND;
}

static void count_inflated(struct found *f, struct perfdata_inflate *z)
{
	size_t size, pos = 0;
	const u8 *data = perfdata_inflate_data(z, &size);
	while (size - pos >= sizeof(struct perf_event_header)) {
		struct perf_event_header h = perf_head(data + pos, false);
		if (h.size > size - pos)
			break;
		count(f, &h, data + pos);
		pos += h.size;
	}
	perfdata_inflate_drop(z, pos);
}

static struct found read_back(struct perfdata *p)
{
	struct found f = { 0 };
	struct diag d;
	diag_init(&d);
	if (perfdata_open(p, path, &d)) {
		diag_done(&d);
		return f;
	}
	struct perfdata_inflate *z = perfdata_inflate_new();
	const u8 *at = p->map + p->data_at, *rec;
	struct perf_event_header h;
	int ret;
	while ((ret = perfdata_record(p, &at, p->map + p->data_end, &rec, &h)) == 1) {
		if (h.type != REC_COMPRESSED) {
			count(&f, &h, rec);
			continue;
		}
		ret = perfdata_inflate_add(z, rec, &h, p->swap);
		if (ret)
			break;
		while ((ret = perfdata_inflate_step(z)) > 0)
			count_inflated(&f, z);
		if (ret)
			break;
	}
	f.whole = ret == 0 && !p->truncated && !p->unfinished;
	perfdata_inflate_free(z);
	diag_done(&d);
	return f;
}

static int see_build_id(void *ctx, const char *name, const u8 *id, u32 size, u16 misc)
{
	unsigned *nr = ctx;
	if (!(*nr)++)
		ok(!strcmp(name, "/bin/x") && size == 20 && id[0] == 7 &&
			   (misc & 7) == PERF_RECORD_MISC_USER,
		   "the first build id");
	return 0;
}

static void test_plain(const struct machine *m, int zstd)
{
	struct diag d;
	diag_init(&d);
	unlink(path);
	struct perfdata_writer *w = open_writer(m, zstd, &d);
	struct perfdata p;
	ok(w != NULL, "%s: opened", zstd ? "zstd" : "plain");
	struct found f;
	ok(access(path, F_OK), "no file before the first record");

	u64 want = 0, sum = 0;
	bool good = true;
	for (u64 round = 1; round <= 20; round++) {
		/* A record that lies in two pieces, as at the wrap of a ring. */
		struct sample_rec recs[3] = { sample(11, round), sample(21, 2 * round),
					      sample(12, 3 * round) };
		struct perf_event_header fin = { .type = REC_FINISHED_ROUND, .size = sizeof(fin) };
		u8 *bytes = (u8 *)recs;
		struct iovec iov[] = { { bytes, sizeof(recs[0]) + 16 },
				       { bytes + sizeof(recs[0]) + 16, 2 * sizeof(recs[0]) - 16 },
				       { &fin, sizeof(fin) } };
		perfdata_write_times(w, round, 3 * round);
		good = good && !perfdata_write_records(w, iov, 3);
		want += 3;
		sum += 6 * round;
		f = read_back(&p);
		good = good && f.whole && f.nr_samples == want && f.sum_ip == sum &&
		       f.nr_rounds == round && p.features[FEAT_HOSTNAME].at &&
		       p.features[FEAT_SAMPLE_TIME].at;
		perfdata_close(&p);
	}
	ok(good, "whole after each of 20 appends, with features");

	u8 id[20] = { 7 };
	ok(!perfdata_write_build_id(w, "/bin/x", false, id, 20) &&
		   !perfdata_write_build_id(w, "/bin/x", false, id, 20) &&
		   !perfdata_write_build_id(w, "[kernel.kallsyms]", true, id, 20),
	   "build ids");
	ok(!perfdata_write_finish(w), "finished");
	ok(perfdata_write_data_bytes(w) == 20 * (3 * sizeof(struct sample_rec) + 8),
	   "bytes counted before compression");
	perfdata_write_close(w);

	f = read_back(&p);
	ok(f.whole && f.nr_samples == want && f.sum_ip == sum, "the finished file");
	is_str(perfdata_string(&p, FEAT_HOSTNAME), "box", "host name");
	is_str(perfdata_string(&p, FEAT_ARCH), "x86_64", "architecture");
	is_str(p.attrs.at[1].name, "second", "the second event's name");
	ok(perfdata_attr_of(&p, 12) == &p.attrs.at[0] && perfdata_attr_of(&p, 21) == &p.attrs.at[1],
	   "ids lead to their events");
	u64 times[2] = { 0 };
	memcpy(times, p.features[FEAT_SAMPLE_TIME].at, sizeof(times));
	ok(times[0] == 1 && times[1] == 60, "first and last time");
	unsigned nr = 0;
	ok(!perfdata_build_ids(&p, see_build_id, &nr) && nr == 2, "each path once");
	ok(p.features[FEAT_GROUP_DESC].at && p.features[FEAT_CLOCK_DATA].size == 24 &&
		   !p.features[FEAT_CACHE].at,
	   "what there is, is there; what there is not, is not");
	ok(!!p.features[FEAT_COMPRESSED].at == !!zstd, "compression is said when it is");
	ok(p.feature_bits[0] >> FEAT_BRANCH_STACK & 1, "and that there are branches");
	perfdata_close(&p);
	struct stat st;
	ok(!stat(path, &st) && (st.st_mode & 0777) == 0600, "mode 0600");
	diag_done(&d);
}

/* A file size limit stands for a full disk. */
static void test_full(const struct machine *m)
{
	struct diag d;
	diag_init(&d);
	unlink(path);
	struct perfdata_writer *w = open_writer(m, 0, &d);
	struct sample_rec recs[64];
	for (unsigned i = 0; i < 64; i++)
		recs[i] = sample(11, 1);
	struct rlimit old, low;
	getrlimit(RLIMIT_FSIZE, &old);
	low = old;
	low.rlim_cur = perfdata_write_file_bytes(w) +
		       1700; /* 40 and some records, and no end of a record */
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &low);
	int err = perfdata_write_records(w, &(struct iovec){ recs, sizeof(recs) }, 1);
	int again = perfdata_write_records(w, &(struct iovec){ recs, sizeof(recs) }, 1);
	int finish = perfdata_write_finish(w);
	setrlimit(RLIMIT_FSIZE, &old);
	ok(err == -EFBIG && again == -EFBIG && finish == -EFBIG,
	   "a full disk is told, and stays told");
	perfdata_write_close(w);
	struct perfdata p;
	struct found f = read_back(&p);
	ok(f.whole && f.nr_samples > 10 && f.nr_samples < 64 && f.sum_ip == f.nr_samples,
	   "whole records are kept, %u of 64", (unsigned)f.nr_samples);
	ok(p.features[FEAT_HOSTNAME].at != NULL, "with features");
	perfdata_close(&p);
	diag_done(&d);
}

/* ---- repair ---- */

static bool repair(struct perfdata_repaired *ret)
{
	struct diag d;
	diag_init(&d);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	bool good =
		fd >= 0 && !perfdata_repair(fd, path, &(struct perfdata_repair_opts){ 0 }, ret, &d);
	close(fd);
	diag_done(&d);
	return good;
}

static void put(const u8 *data, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		ok(false, "cannot write %s", path);
	close(fd);
}

enum { NR_REPAIR = 40 };

/* A recording of 40 samples, finished, as bytes. */
static size_t make_recording(const struct machine *m, int zstd, u8 *to, size_t room, size_t *data_at)
{
	struct diag d;
	diag_init(&d);
	unlink(path);
	struct perfdata_writer *w = open_writer(m, zstd, &d);
	for (u64 i = 1; i <= NR_REPAIR; i++) {
		struct sample_rec rec = sample(11, i);
		(void)!perfdata_write_records(w, &(struct iovec){ &rec, sizeof(rec) }, 1);
	}
	(void)!perfdata_write_finish(w);
	perfdata_write_close(w);
	diag_done(&d);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, to, room);
	close(fd);
	struct perf_file_header h;
	memcpy(&h, to, sizeof(h));
	*data_at = h.data.offset;
	return n > 0 ? (size_t)n : 0;
}

/* Cut anywhere behind its head, a file keeps all whole samples and its features. */
static void test_cut(const struct machine *m, int zstd)
{
	static u8 whole[1 << 16];
	size_t data_at, size = make_recording(m, zstd, whole, sizeof(whole), &data_at), wrong = 0;
	for (size_t cut = data_at; cut < size; cut += 3) {
		struct perfdata_repaired r = { 0 };
		struct perfdata p;
		put(whole, cut);
		bool good = repair(&r);
		struct found f = read_back(&p);
		u64 least =
			zstd ? 0 : min((cut - data_at) / sizeof(struct sample_rec), (u64)NR_REPAIR);
		good = good && f.whole && f.nr_samples == r.nr_samples && f.nr_samples >= least &&
		       f.nr_samples <= NR_REPAIR && p.features[FEAT_HOSTNAME].at &&
		       f.sum_ip == f.nr_samples * (f.nr_samples + 1) / 2;
		wrong += !good;
		perfdata_close(&p);
		good = repair(&r) && r.was_whole;
		wrong += !good;
	}
	ok(!wrong, "%s: cut at every third byte, repaired to what was whole (%zu wrong)",
	   zstd ? "zstd" : "plain", wrong);
}

/* Caught while records go over the old table. */
static void test_unsealed(const struct machine *m)
{
	static u8 whole[1 << 16];
	size_t data_at, size = make_recording(m, 0, whole, sizeof(whole), &data_at);
	struct perf_file_header h;
	struct perfdata_repaired r = { 0 };
	struct perfdata p;
	ok(repair(&r) && r.was_whole && r.nr_samples == NR_REPAIR, "a whole file is left alone");
	memcpy(&h, whole, sizeof(h));
	memset(h.features, 0, sizeof(h.features));
	h.data.size -= 7 * sizeof(struct sample_rec);
	memcpy(whole, &h, sizeof(h));
	put(whole, size);
	ok(repair(&r) && !r.was_whole && r.nr_samples == NR_REPAIR && !r.lost_features,
	   "records behind what the header claims are found");
	struct found f = read_back(&p);
	ok(f.whole && f.nr_samples == NR_REPAIR && p.features[FEAT_CMDLINE].at &&
		   p.features[FEAT_SAMPLE_TIME].at,
	   "and the features come back");
	perfdata_close(&p);
	memset(whole + data_at + 2 * sizeof(struct sample_rec) + 6, 0, 2);
	put(whole, size);
	ok(repair(&r) && r.nr_samples == 2, "damage ends it");
	put(whole, 50);
	ok(!repair(&r), "a header that is cut off cannot be repaired");
	put(whole, 0);
	ok(!repair(&r), "nor can nothing");
	unlink(path);
}

struct one_of_many {
	struct perfdata_writer *w;
	u32 number;
	int err;
	pthread_t thread;
};

static void *write_many(void *arg)
{
	struct one_of_many *o = arg;
	for (u64 n = 0; n < PER_THREAD && !o->err; n++) {
		struct sample_rec recs[3];
		for (u64 k = 0; k < 3; k++) {
			recs[k] = sample(11, n * 3 + k);
			recs[k].tid = o->number;
		}
		struct iovec iov[] = { { recs, sizeof(recs[0]) },
				       { recs + 1, 2 * sizeof(recs[0]) } };
		o->err = perfdata_write_records(o->w, iov, 2);
	}
	return NULL;
}

/* Readers that bring records at once: all of them arrive, each one's in its order. */
static void test_together(const struct machine *m, int zstd)
{
	struct diag d;
	diag_init(&d);
	struct perfdata_writer *w = open_writer(m, zstd, &d);
	struct one_of_many all[THREADS];
	bool good = w != NULL;
	for (u32 i = 0; i < THREADS && good; i++) {
		all[i] = (struct one_of_many){ .w = w, .number = i };
		good = !pthread_create(&all[i].thread, NULL, write_many, &all[i]);
	}
	for (u32 i = 0; i < THREADS && good; i++)
		good = !pthread_join(all[i].thread, NULL) && !all[i].err;
	ok(good && !perfdata_write_finish(w), "eight threads write%s", zstd ? ", compressed" : "");
	perfdata_write_close(w);
	struct perfdata p = { 0 };
	struct found f = read_back(&p);
	ok(f.whole && f.nr_samples == THREADS * PER_THREAD * 3, "all records are there");
	ok(!f.nr_backwards, "in the order in which each thread wrote them");
	perfdata_close(&p);
	diag_done(&d);
}

static void test_rotate(const struct machine *m)
{
	struct diag d;
	diag_init(&d);
	char old[PATH_MAX + 8];
	snprintf(old, sizeof(old), "%s.old", path);
	unlink(old);
	struct perfdata_writer *w = open_writer(m, 0, &d);
	ok(w && !access(path, F_OK) && access(old, F_OK),
	   "an older file stays until there is a new one");
	ok(!perfdata_write_finish(w) && !access(path, F_OK) && !access(old, F_OK),
	   "and is then kept as .old");
	perfdata_write_close(w);
	unlink(old);
	unlink(path);
	snprintf(path, sizeof(path), "/nowhere/x");
	w = open_writer(m, 0, &d);
	ok(!w && d.nr_errors == 1, "a place that is not there");
	ok(d.items.nr && strstr(d.items.at[0].message, "/nowhere/x"), "is named");
	diag_done(&d);
}

/* The end of a file with what two programs told of their code, cut and changed at every byte. */
static void test_made(void)
{
	struct strbuf b;
	struct perfdata_made m;
	bool good = true;
	strbuf_init(&b);
	strbuf_add(&b, "records.", 8);
	struct strbuf made;
	strbuf_init(&made);
	perfdata_put_made(&made, PERFDATA_MADE_MAP, 17, "1000 10 one\n", 12);
	perfdata_put_made(&made, PERFDATA_MADE_DUMP, 18, "dump", 4);
	perfdata_put_made_end(&made);
	strbuf_add(&b, made.data, made.len);
	struct perfdata p = { .map = (const u8 *)b.data, .map_size = b.len, .data_end = 8 };
	struct bytes at = perfdata_made_start(&p);
	ok(perfdata_made_next(&at, &m) && m.kind == PERFDATA_MADE_MAP && m.pid == 17 &&
		   m.size == 12 && !memcmp(m.data, "1000 10 one\n", 12),
	   "a map that was kept");
	ok(perfdata_made_next(&at, &m) && m.kind == PERFDATA_MADE_DUMP && m.pid == 18 &&
		   m.size == 4 && !perfdata_made_next(&at, &m),
	   "a dump, and no more");
	p.unfinished = true;
	ok(!perfdata_made_all(&p).size, "not in a recording that was never finished");
	p.unfinished = false;
	for (size_t i = 8; i <= b.len; i++) {
		u8 *copy = malloc(b.len);
		if (!copy)
			abort();
		memcpy(copy, b.data, b.len);
		p.map = copy;
		p.map_size = i;
		good &= i == b.len || !perfdata_made_all(&p).size;
		p.map_size = b.len;
		copy[i < b.len ? i : 8] ^= 0xff;
		at = perfdata_made_start(&p);
		while (perfdata_made_next(&at, &m))
			good &= m.data >= copy + 8 && m.data + m.size <= copy + b.len;
		free(copy);
	}
	ok(good, "cut or changed anywhere, nothing is read outside");
	strbuf_done(&made);
	strbuf_done(&b);
}

int main(void)
{
	const char *dir = getenv("SONDE_TMP");
	struct machine m = { .hostname = "box",
			     .release = "6",
			     .arch = "x86_64",
			     .nr_cpus_present = 1,
			     .nr_cpus_online = 1 };
	snprintf(path, sizeof(path), "%s/sonde-test-%d.data", dir ? dir : "/tmp", (int)getpid());
	test_plain(&m, 0);
	test_plain(&m, 1);
	test_cut(&m, 0);
	test_cut(&m, 1);
	test_unsealed(&m);
	test_full(&m);
	test_together(&m, 0);
	test_together(&m, 1);
	test_rotate(&m);
	test_made();
	return done_testing();
}
