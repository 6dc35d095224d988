/* Any bytes as a dump of a kernel: opened, its pages read, and its symbols listed; none of it takes more than the file may. */
#include "memory/dump.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

enum { PAGES_MAX = 64 };

static void read_pages(struct vmcore *v)
{
	u8 bytes[100];
	u64 at = 0;
	for (u32 n = 0; n < PAGES_MAX && vmcore_next_page(v, &at); n++, at += sizeof(bytes))
		(void)!vmcore_read(v, at + n % 8 * 1000, bytes, sizeof(bytes));
}

static int open_bytes(const u8 *data, size_t size)
{
	int fd = memfd_create("vmcore", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, data, size) != (ssize_t)size) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct vmcore v;
	struct crash_dump *dump;
	struct diag d;
	struct strbuf text;
	int fd = open_bytes(data, size);
	if (fd < 0)
		return 0;
	diag_init(&d);
	if (!vmcore_open_fd(&v, fd, "fuzz", &d)) {
		read_pages(&v);
		vmcore_close(&v);
	}
	diag_done(&d);
	fd = open_bytes(data, size);
	if (fd >= 0 && !dump_open_fd(fd, "fuzz", &dump, &d)) {
		struct dump_walk w;
		u64 stext = 0;
		char head[200];
		strbuf_init(&text);
		(void)!dump_symbols(dump, &text, &d);
		strbuf_done(&text);
		(void)dump_number(dump, "SYMBOL(_stext)", 16, &stext);
		(void)!memory_read(dump_memory(dump), stext - 50, head, sizeof(head));
		(void)!memory_read(dump_memory(dump), stext, head, sizeof(head));
		for (u32 bit = 0; bit < 64; bit++)
			(void)!dump_translate(dump, stext ^ 1ull << bit, &w);
		dump_close(dump);
	}
	diag_done(&d);
	return 0;
}
