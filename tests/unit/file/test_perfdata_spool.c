/* file: recordings that come through a pipe: perfdata_spool. */
#include "tap.h"

#include "file/perfdata_spool.h"
#include "wire/perf_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static u8 in[1 << 18];
static size_t nr;

static void put(const void *data, size_t size)
{
	memcpy(in + nr, data, size);
	nr += size;
}

static void put_u64(u64 v)
{
	put(&v, sizeof(v));
}

static void put_record(u32 type, u16 size)
{
	struct perf_event_header h = { .type = type, .size = size };
	put(&h, sizeof(h));
	for (size_t i = sizeof(h); i < size; i++)
		in[nr++] = 0xff;
}

static void begin_pipe(void)
{
	nr = 0;
	put("PERFILE2", 8);
	put_u64(16);
}

/* What is in `in`, kept: how many bytes. head: so many of it were read before. */
static s64 kept(size_t head, u64 most)
{
	struct stat st;
	struct diag d = { 0 };
	int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file < 0 || write(file, in + head, nr - head) != (ssize_t)(nr - head) ||
	    lseek(file, 0, SEEK_SET))
		return -EIO;
	int fd = perfdata_spool(file, in, head, "pipe", most, &d);
	s64 ret = fd < 0 ? fd : fstat(fd, &st) ? -EIO : st.st_size;
	close(file);
	if (fd >= 0)
		close(fd);
	diag_done(&d);
	return ret;
}

static void test_pipe(void)
{
	begin_pipe();
	for (int i = 0; i < 1000; i++)
		put_record(PERF_RECORD_SAMPLE, (u16)(8 + 8 * (i % 9)));
	is_u64((u64)kept(16, UINT64_MAX), nr, "records of a pipe are kept");
	is_u64((u64)kept(64, UINT64_MAX), nr, "whatever was read of it before");
	ok(kept(16, 5000) == -EFBIG, "not more than there is room for");
	size_t good = nr;
	put_record(PERF_RECORD_SAMPLE, 4);
	for (int i = 0; i < 1000; i++)
		put_record(PERF_RECORD_SAMPLE, 64);
	is_u64((u64)kept(16, UINT64_MAX), good + 8, "a record that is too short ends it");
	nr = good;
	put_record(0x12345678, 64);
	put_record(PERF_RECORD_SAMPLE, 64);
	is_u64((u64)kept(16, UINT64_MAX), nr, "one of a type that nobody knows does not");
	nr = good;
	for (int i = 0; i <= PERFDATA_UNKNOWN_MAX; i++)
		put_record(0x12345678 + (u32)i, 64);
	size_t row = nr - 64;
	put_record(PERF_RECORD_SAMPLE, 64);
	is_u64((u64)kept(16, UINT64_MAX), row + 8, "a row of them does");
	nr = good;
	for (int i = 0; i < 100; i++)
		put_u64(0);
	is_u64((u64)kept(16, UINT64_MAX), good + 8, "and zeros");
}

static void test_payload(void)
{
	u32 size = 5;
	begin_pipe();
	put_record(REC_TRACING_DATA, 12);
	memcpy(in + nr - 4, &size, sizeof(size));
	put_u64(0); /* five bytes, and padding */
	put_record(PERF_RECORD_SAMPLE, 64);
	put_record(REC_AUXTRACE, 48);
	put_u64(0);
	put_u64(0);
	u64 aux = 16;
	memcpy(in + nr - 16 - 40, &aux, sizeof(aux));
	put_record(PERF_RECORD_SAMPLE, 64);
	size_t good = nr;
	put_u64(0);
	is_u64((u64)kept(16, UINT64_MAX), good + 8, "what follows a record is not taken for one");
	is_u64((u64)kept(21, UINT64_MAX), good + 8, "also where the head is cut anywhere");
}

static void begin_file(u64 data_size)
{
	nr = 0;
	put("PERFILE2", 8);
	put_u64(104);
	put_u64(0);
	put_u64(0);
	put_u64(0);
	put_u64(104); /* data: offset, size */
	put_u64(data_size);
	while (nr < 104)
		put_u64(0);
}

static void test_file(void)
{
	begin_file(1000);
	for (int i = 0; i < 1000; i++)
		put_u64(0);
	is_u64((u64)kept(64, UINT64_MAX), nr, "a file is kept as it is: it says how long it is");
	begin_file(0);
	put_record(PERF_RECORD_SAMPLE, 64);
	size_t good = nr;
	for (int i = 0; i < 1000; i++)
		put_u64(0);
	is_u64((u64)kept(64, UINT64_MAX), good + 8, "one that does not say is looked at");
}

int main(void)
{
	test_pipe();
	test_payload();
	test_file();
	return done_testing();
}
