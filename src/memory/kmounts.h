/* Mounts of a task's namespace, and network devices of its network namespace, as the kernel's memory has them. */
#pragma once

#include "memory/kfiles.h"

enum { KMOUNT_NAME = 256, KNET_NAME = 16, KNET_ADDRESSES = 16 };

struct kmount {
	u64 addr, superblock; /* of its struct mount and struct super_block */
	char type[64], device[KMOUNT_NAME];
	const char *path; /* where it is, seen from the namespace's own root; lives for the call */
};

typedef int (*kmount_fn)(void *ctx, const struct kmount *mount);
/* -ENOENT with a diag; -ESRCH: the task has no namespace any more. */
int kmounts_each(struct kfiles *f, u64 task, kmount_fn fn, void *ctx,
		 struct walk_result *ret) must_check;

struct kdevice_address {
	u8 bytes[16];
	bool is_v6;
};
struct kdevice {
	u64 addr; /* of its struct net_device */
	s32 index;
	char name[KNET_NAME];
	u32 nr_addresses;
	struct kdevice_address addresses[KNET_ADDRESSES];
};

typedef int (*kdevice_fn)(void *ctx, const struct kdevice *device);
int kdevices_each(struct kspace *k, u64 task, kdevice_fn fn, void *ctx,
		  struct walk_result *ret) must_check;
