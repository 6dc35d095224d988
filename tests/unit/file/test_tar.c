/* Names in tar archives, up to the longest that a head holds and beyond; files of perf without features, and pipes. */
#include "file/perfdata_read.h"
#include "file/tar_write.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 512 };

/* The name of the first file in an archive with one file of that name. */
static void read_name(const char *name, char *to, size_t size)
{
	char path[] = "/tmp/sonde-tar-XXXXXX";
	char data[8 * BLOCK] = "";
	int fd = mkstemp(path);
	struct tar_writer *t = fd < 0 ? NULL : tar_write_open(dup(fd), false);
	if (!t || tar_write_bytes(t, name, "x", 1, 0644) || tar_write_close(t) ||
	    pread(fd, data, sizeof(data) - 1, 0) < BLOCK)
		abort();
	close(fd);
	unlink(path);
	bool is_long = data[156] == 'L';
	snprintf(to, size, "%.*s", is_long ? 256 : 100, is_long ? data + BLOCK : data);
}

static void test_names(void)
{
	for (size_t len = 98; len <= 102; len++) {
		char name[128] = "", got[300];
		memset(name, 'n', len);
		name[len - 1] = 'z';
		read_name(name, got, sizeof(got));
		ok(!strcmp(got, name), "a name of %zu bytes is whole", len);
	}
}

static void test_pipe_ids(void)
{
	struct {
		u64 magic, size;
		struct perf_event_header h;
		u8 attr[64];
		u64 ids[2];
	} file = { .magic = PERF_MAGIC2,
		   .size = 16,
		   .h = { .type = REC_HEADER_ATTR, .size = 8 + 64 + 16 },
		   .ids = { 11, 12 } };
	struct perfdata p;
	struct perf_event_attr attr = { .type = 1, .size = 64, .sample_type = PERF_SAMPLE_ID };
	struct perf_event_header h;
	memcpy(file.attr, &attr, sizeof(file.attr));
	if (perfdata_open_bytes(&p, &file, sizeof(file), "pipe", NULL))
		abort();
	const u8 *at = p.map + p.data_at, *rec;
	while (perfdata_record(&p, &at, p.map + p.data_end, &rec, &h) > 0)
		if (perfdata_pipe_record(&p, rec, &h))
			abort();
	ok(p.attrs.nr == 1, "an event of a pipe");
	ok(dict_get(&p.ids, 11) == 0 && dict_get(&p.ids, 12) == 0, "all of its ids lead to it");
	perfdata_close(&p);
}

static void test_to_end(void)
{
	struct {
		struct perf_file_header head;
		u8 attr[64];
		struct perf_file_section ids;
		struct perf_event_header record;
	} file = { .head = { .magic = PERF_MAGIC2,
			     .size = sizeof(struct perf_file_header),
			     .attr_size = 64 + sizeof(struct perf_file_section),
			     .attrs = { sizeof(struct perf_file_header),
					64 + sizeof(struct perf_file_section) } },
		   .record = { .type = REC_FINISHED_ROUND, .size = 8 } };
	struct perf_event_attr attr = { .type = 1, .size = 64 };
	struct perfdata p;
	memcpy(file.attr, &attr, sizeof(file.attr));
	file.head.data = (struct perf_file_section){ sizeof(file) - sizeof(file.record),
						     sizeof(file.record) };
	ok(!perfdata_open_bytes(&p, &file, sizeof(file), "file", NULL),
	   "a file that ends with its data");
	ok(!p.truncated && !p.unfinished && p.data_end == sizeof(file), "is whole");
	perfdata_close(&p);
	file.head.data.size += 8;
	ok(!perfdata_open_bytes(&p, &file, sizeof(file), "file", NULL) && p.truncated,
	   "one that ends before is cut off");
	perfdata_close(&p);
}

int main(void)
{
	test_names();
	test_pipe_ids();
	test_to_end();
	return done_testing();
}
