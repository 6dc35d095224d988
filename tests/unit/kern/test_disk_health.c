/* Pages of disks as their standards lay them out, byte by byte. */
#include "kern/disk_health.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool has_line(struct strbuf *b, const char *line)
{
	const char *text = strbuf_cstr(b), *at = strstr(text, line);
	return at && (at == text || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static void nvme(void)
{
	unsigned char page[DISK_HEALTH_PAGE] = { 0 };
	struct strbuf b;
	strbuf_init(&b);
	page[0] = 0x04; /* reliability is degraded */
	page[1] = 0x37; /* 311 K */
	page[2] = 0x01;
	page[3] = 97;
	page[4] = 10;
	page[5] = 103;
	page[128] = 0x10;
	page[129] = 0x27; /* 10,000 hours */
	page[160] = 3;
	disk_health_nvme(page, &b);
	ok(has_line(&b, "failing 1"), "a warning bit is failing");
	ok(has_line(&b, "temperature 38"), "kelvin to Celsius");
	ok(has_line(&b, "spare 97") && has_line(&b, "spare_threshold 10"), "spare blocks");
	ok(has_line(&b, "used 103"), "wear beyond its life");
	ok(has_line(&b, "power_on_hours 10000"), "hours");
	ok(has_line(&b, "media_errors 3"), "errors");
	strbuf_reset(&b);
	page[0] = 0;
	disk_health_nvme(page, &b);
	ok(has_line(&b, "failing 0"), "no warning, not failing");
	strbuf_done(&b);
}

static void put_attribute(unsigned char *page, unsigned slot, unsigned char id, const char *raw)
{
	page[2 + slot * 12] = id;
	memcpy(page + 2 + slot * 12 + 5, raw, 6);
}

static void seal(unsigned char *page)
{
	unsigned char sum = 0;
	for (unsigned i = 0; i < DISK_HEALTH_PAGE - 1; i++)
		sum = (unsigned char)(sum + page[i]);
	page[DISK_HEALTH_PAGE - 1] = (unsigned char)-sum;
}

static void ata(void)
{
	unsigned char page[DISK_HEALTH_PAGE] = { 0 };
	struct strbuf b;
	strbuf_init(&b);
	put_attribute(page, 0, 194,
		      "\x24\x00\x14\x00\x37\x00"); /* 36, and the lowest and highest ever */
	put_attribute(page, 3, 5, "\x02\x01\x00\x00\x00\x00");
	put_attribute(page, 29, 9, "\x39\x30\x00\x00\x99\x00"); /* with minutes of its own kind */
	page[DISK_HEALTH_PAGE - 1] = 1;
	ok(disk_health_ata(page, &b) == -EBADMSG && !b.len, "a wrong checksum is refused");
	seal(page);
	ok(!disk_health_ata(page, &b), "a right one is not");
	ok(has_line(&b, "temperature 36"), "temperature is one byte");
	ok(has_line(&b, "reallocated 258"), "sectors");
	ok(has_line(&b, "power_on_hours 12345"), "hours, the last attribute of the page");
	ok(!strstr(strbuf_cstr(&b), "pending"), "what is not there is not told");
	strbuf_done(&b);
}

int main(void)
{
	struct strbuf b;
	strbuf_init(&b);
	nvme();
	ata();
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ok(disk_health_read(fd, &b) == -EOPNOTSUPP && !b.len, "what is no disk has no health");
	close(fd);
	ok(disk_health_read(-1, &b) == -EBADF, "what is not open neither");
	strbuf_done(&b);
	return done_testing();
}
