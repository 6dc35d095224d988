/*
 * Structures of the running kernel that our own open files lead to: they need no symbol of a variable. A folder of sysfs leads to its
 * kobject, and that to the irq_desc, gendisk, pci_dev ... it is part of.
 */
#pragma once

#include "memory/kspace.h"

struct kopened {
	struct kspace *k;
	u64 table; /* our array of struct file pointers */
	u64 inode, data; /* in file: f_inode, private_data */
	u64 i_private, i_cdev; /* in inode */
	u64 priv; /* in kernfs_node */
	u64 sd; /* in kobject */
};

/* -ENOTSUP without a diag: a dump, or memory that cannot tell which task we are; -ENOENT with a diag: BTF lacks a member. */
int kopened_open(struct kopened *o, struct kspace *k) must_check;
/* The struct file of a descriptor below 64. */
int kopened_file(const struct kopened *o, int fd, u64 *ret) must_check;
/* Of a file that is opened for it. Negative errno of open(2), too. */
int kopened_inode(const struct kopened *o, const char *path, u64 *ret) must_check;
/* Of a folder of sysfs. -ENOENT: it has none. */
int kopened_kobject(const struct kopened *o, const char *path, u64 *ret) must_check;
