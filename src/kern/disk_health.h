/*
 * What a disk says of itself (SMART), as lines of names and numbers: NVMe by its log page, ATA and SATA by a command that is passed through.
 * Reading wakes a disk that sleeps.
 */
#pragma once

#include "base/strbuf.h"

#include <stddef.h>

/* Appends lines of an open block device. -EOPNOTSUPP: it has nothing to say (virtual disks); other errno: it could not be asked. */
int disk_health_read(int fd, struct strbuf *to) must_check;

/* ---- the formats, for tests ---- */

enum { DISK_HEALTH_PAGE = 512 };
/* The health page of NVMe (log 02h). */
void disk_health_nvme(const unsigned char page[DISK_HEALTH_PAGE], struct strbuf *to);
/* The attributes of ATA (SMART READ DATA). -EBADMSG: the checksum is wrong. */
int disk_health_ata(const unsigned char page[DISK_HEALTH_PAGE], struct strbuf *to) must_check;
