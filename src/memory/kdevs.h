/* Devices: character devices with their operations, disks, PCI devices. */
#pragma once

#include "memory/walk.h"

enum { KDEV_NAME = 64 };

struct kdev_char {
	u32 major;
	char name[KDEV_NAME];
	u64 cdev; /* of its struct cdev; 0: not known */
	u64 operations; /* 0: not known */
};

struct kdev_disk {
	u32 major, minor;
	char name[KDEV_NAME];
	u64 addr, queue, operations; /* gendisk, request_queue, block_device_operations */
	bool has_inflight;
	u64 reading, writing; /* requests under way */
};

struct kdev_pci {
	u64 addr; /* of its struct pci_dev */
	char name[KDEV_NAME]; /* "0000:00:1f.2" */
	u32 class; /* with the programming interface in the lowest byte */
	u16 vendor, device;
};

/* 0: go on; 1: enough; negative errno: is returned. Each: negative errno with a diag. */
typedef int (*kdev_char_fn)(void *ctx, const struct kdev_char *dev);
typedef int (*kdev_disk_fn)(void *ctx, const struct kdev_disk *disk);
typedef int (*kdev_pci_fn)(void *ctx, const struct kdev_pci *dev);
/* From the kernel's table; of the running kernel without symbols of variables from /proc/devices. */
int kdevs_each_char(struct kspace *k, kdev_char_fn fn, void *ctx) must_check;
/* Of the running kernel by sysfs; of a dump by its inodes of block devices. */
int kdevs_each_disk(struct kspace *k, kdev_disk_fn fn, void *ctx) must_check;
/* Of the running kernel by sysfs; -ENOTSUP with a diag for a dump. */
int kdevs_each_pci(struct kspace *k, kdev_pci_fn fn, void *ctx) must_check;
