/*
 * NVMe: Base Specification, "SMART / Health Information" log page. ATA: ATA/ATAPI Command Set (SMART READ DATA, SMART RETURN STATUS) in the
 * 16-byte ATA PASS-THROUGH command of SAT. Attributes of ATA are the makers' own; the few that are shown mean the same with all of them.
 */
#include "kern/disk_health.h"

#include "base/types.h"

#include <errno.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static u64 little(const unsigned char *at, unsigned bytes)
{
	u64 v = 0;
	while (bytes--)
		v = v << 8 | at[bytes];
	return v;
}

static void put(struct strbuf *to, const char *name, u64 v)
{
	strbuf_printf(to, "%s %llu\n", name, (unsigned long long)v);
}

/* ---- NVMe ---- */

void disk_health_nvme(const unsigned char page[DISK_HEALTH_PAGE], struct strbuf *to)
{
	enum { ZERO_CELSIUS = 273 };
	static const struct {
		const char *name;
		u16 at;
	} counters[] = {
		{ "data_units_read", 32 },    { "data_units_written", 48 }, { "host_reads", 64 },
		{ "host_writes", 80 },	      { "busy_minutes", 96 },	    { "power_cycles", 112 },
		{ "power_on_hours", 128 },    { "unsafe_shutdowns", 144 },  { "media_errors", 160 },
		{ "error_log_entries", 176 },
	};
	u64 kelvin = little(page + 1, 2);
	put(to, "failing", page[0] != 0);
	put(to, "critical_warning", page[0]);
	if (kelvin >= ZERO_CELSIUS)
		put(to, "temperature", kelvin - ZERO_CELSIUS);
	put(to, "spare", page[3]);
	put(to, "spare_threshold", page[4]);
	put(to, "used", page[5]);
	/* They have 128 bits: more than 64 will not come. */
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		put(to, counters[i].name, little(page + counters[i].at, 8));
}

static int read_nvme(int fd, struct strbuf *to)
{
	enum { GET_LOG_PAGE = 0x02, HEALTH = 0x02, ALL_NAMESPACES = -1 };
	unsigned char page[DISK_HEALTH_PAGE] = { 0 };
	struct nvme_admin_cmd c = { .opcode = GET_LOG_PAGE,
				    .nsid = (u32)ALL_NAMESPACES,
				    .addr = (u64)(uintptr_t)page,
				    .data_len = sizeof(page),
				    .cdw10 = HEALTH | (sizeof(page) / 4 - 1) << 16 };
	int rc = ioctl(fd, NVME_IOCTL_ADMIN_CMD, &c);
	if (rc < 0)
		return -errno;
	if (rc)
		return -EIO;
	disk_health_nvme(page, to);
	return 0;
}

/* ---- ATA ---- */

int disk_health_ata(const unsigned char page[DISK_HEALTH_PAGE], struct strbuf *to)
{
	enum { FIRST = 2, SIZE = 12, NR = 30 };
	enum { WIDE = 6 };
	static const struct {
		u8 id;
		u8 bytes; /* of the raw value; makers use the others for something else */
		const char *name;
	} known[] = {
		{ 5, WIDE, "reallocated" },   { 9, 4, "power_on_hours" },
		{ 12, WIDE, "power_cycles" }, { 194, 1, "temperature" },
		{ 197, WIDE, "pending" },     { 198, WIDE, "uncorrectable" },
		{ 199, WIDE, "crc_errors" },
	};
	unsigned char sum = 0;
	for (size_t i = 0; i < DISK_HEALTH_PAGE; i++)
		sum = (unsigned char)(sum + page[i]);
	if (sum)
		return -EBADMSG;
	for (size_t k = 0; k < ARRAY_SIZE(known); k++)
		for (size_t i = 0; i < NR; i++) {
			const unsigned char *a = page + FIRST + i * SIZE;
			if (a[0] != known[k].id)
				continue;
			put(to, known[k].name, little(a + 5, known[k].bytes));
			break;
		}
	return 0;
}

enum { SMART_COMMAND = 0xb0, READ_DATA = 0xd0, RETURN_STATUS = 0xda };
enum { KEY_MIDDLE = 0x4f, KEY_HIGH = 0xc2, FAILING_MIDDLE = 0xf4, FAILING_HIGH = 0x2c };
enum { SENSE_SIZE = 32 };

static int ata_command(int fd, unsigned char feature, unsigned char *page, unsigned char *sense)
{
	enum { PASS_THROUGH = 0x85, NO_DATA = 3 << 1, PIO_IN = 4 << 1, TIMEOUT_MS = 5000 };
	enum { ONE_SECTOR_IN = 0x0e, WANT_REGISTERS = 0x20, CHECK_CONDITION = 2, DRIVER_SENSE = 8 };
	unsigned char cdb[16] = { PASS_THROUGH, page ? PIO_IN : NO_DATA,
				  page ? ONE_SECTOR_IN : WANT_REGISTERS };
	cdb[4] = feature;
	cdb[6] = page ? 1 : 0;
	cdb[10] = KEY_MIDDLE;
	cdb[12] = KEY_HIGH;
	cdb[14] = SMART_COMMAND;
	struct sg_io_hdr h = { .interface_id = 'S',
			       .dxfer_direction = page ? SG_DXFER_FROM_DEV : SG_DXFER_NONE,
			       .cmd_len = sizeof(cdb),
			       .cmdp = cdb,
			       .mx_sb_len = SENSE_SIZE,
			       .sbp = sense,
			       .dxfer_len = page ? DISK_HEALTH_PAGE : 0,
			       .dxferp = page,
			       .timeout = TIMEOUT_MS };
	if (ioctl(fd, SG_IO, &h) < 0)
		return -errno;
	/* Asked for registers, the device answers with sense data that is no error. */
	if (h.host_status || (page && h.status))
		return -EOPNOTSUPP;
	return !page && h.status != CHECK_CONDITION ? -EOPNOTSUPP : 0;
}

static int read_ata(int fd, struct strbuf *to)
{
	enum { DESCRIPTORS = 0x72, ATA_RETURN = 0x09, MIDDLE = 17, HIGH = 19 };
	unsigned char page[DISK_HEALTH_PAGE] = { 0 }, sense[SENSE_SIZE] = { 0 };
	int err = ata_command(fd, READ_DATA, page, sense);
	if (err)
		return err;
	memset(sense, 0, sizeof(sense));
	if (!ata_command(fd, RETURN_STATUS, NULL, sense) && sense[0] == DESCRIPTORS &&
	    sense[8] == ATA_RETURN)
		put(to, "failing", sense[MIDDLE] == FAILING_MIDDLE && sense[HIGH] == FAILING_HIGH);
	return disk_health_ata(page, to);
}

/* A device that knows neither command has its own words for it. */
static bool is_unknown(int err)
{
	return err == -ENOTTY || err == -EINVAL || err == -EOPNOTSUPP || err == -ENOSYS;
}

int disk_health_read(int fd, struct strbuf *to)
{
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISBLK(st.st_mode))
		return -EOPNOTSUPP;
	int err = read_nvme(fd, to);
	if (err && is_unknown(err))
		err = read_ata(fd, to);
	return err && is_unknown(err) ? -EOPNOTSUPP : err;
}
