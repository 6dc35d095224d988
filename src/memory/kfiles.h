/* Open files, mapped areas and paths of a task, as the kernel's memory has them. */
#pragma once

#include "memory/ktasks.h"

/* Where things are in this kernel's struct file, dentry, mount, inode, vm_area_struct ... */
struct kfiles {
	struct kspace *k;
	struct {
		u64 fs, root, pwd; /* task_struct.fs, and the paths in fs_struct */
		u64 fdt, max_fds, fd; /* files_struct.fdt, fdtable */
		u64 path, inode; /* file */
		u64 path_mnt, path_dentry; /* path */
		u64 mode, ino, sb, type, type_name; /* inode, super_block, file_system_type */
		u64 parent, name, hashed; /* dentry: d_parent, d_name.name, d_hash.pprev */
		u64 mnt, mnt_parent, mountpoint, mnt_root; /* mount, vfsmount */
		u64 mm_tree, pgd, start, end, flags, file; /* mm_struct, vm_area_struct */
	} at;
};

struct kfile {
	u32 fd;
	u64 addr, dentry, inode;
	u32 mode; /* of the inode */
};

struct kvma {
	u64 addr, start, end, flags, file; /* file 0: none */
};

/* -ENOENT with a diag: BTF lacks a member. */
int kfiles_open(struct kfiles *f, struct kspace *k) must_check;

/* Each: fn is called until it returns other than 0. Those that go while we look are not told. */
typedef int (*kfile_fn)(void *ctx, const struct kfile *file);
int kfiles_each(struct kfiles *f, const struct ktask *task, kfile_fn fn, void *ctx) must_check;
typedef int (*kvma_fn)(void *ctx, const struct kvma *vma);
int kfiles_each_vma(struct kfiles *f, const struct ktask *task, kvma_fn fn, void *ctx,
		    struct walk_result *ret) must_check;

/* As /proc/PID/fd has it: "/bin/bash", "socket:[1234]", "anon_inode:[eventpoll]". "?" where it cannot be read. */
void kfiles_path_of(struct kfiles *f, u64 file, struct strbuf *to);
/* Of a struct path in memory. */
void kfiles_path(struct kfiles *f, u64 path, struct strbuf *to);
/* Where a struct mount is, seen from the root of its namespace. */
void kfiles_mount_path(struct kfiles *f, u64 mount, struct strbuf *to);
/* What a task sees as "/", and where it is. -ESRCH: it has none (any more). */
int kfiles_root(struct kfiles *f, const struct ktask *task, struct strbuf *root,
		struct strbuf *pwd) must_check;
/* "REG", "CHR", "SOCK" ... */
const char *kfile_type(u32 mode);
