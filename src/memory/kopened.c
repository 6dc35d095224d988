/*
 *	task_struct ─► files_struct ─► fdtable ─► file.f_inode ─► inode.i_private ─► kernfs_node.priv ─► kobject
 *	                                                                              ▲                    │ sd
 *	                                                                              └────────────────────┘
 */
#include "memory/kopened.h"

#include "memory/eval.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
	DESCRIPTORS = 64
}; /* that the first array of any process has room for; more may come with a new one */

/* Our table of descriptors may be replaced when it grows: it is read anew for each. */
static int find_table(const struct kopened *o, u64 *ret)
{
	struct kspace *k = o->k;
	u64 task, files_at, fdt_at, fd_at, at;
	const struct eval_offset rows[] = {
		{ "task_struct", "files", &files_at },
		{ "files_struct", "fdt", &fdt_at },
		{ "fdtable", "fd", &fd_at },
	};
	int err = memory_current_task(k->memory, &task);
	if (err)
		return -ENOTSUP;
	err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = memory_read(k->memory, task + files_at, &at, sizeof(at));
	if (!err)
		err = memory_read(k->memory, at + fdt_at, &at, sizeof(at));
	return err ? err : memory_read(k->memory, at + fd_at, ret, sizeof(*ret));
}

int kopened_open(struct kopened *o, struct kspace *k)
{
	struct memory *m;
	*o = (struct kopened){ .k = k };
	const struct eval_offset rows[] = {
		{ "file", "f_inode", &o->inode },	 { "file", "private_data", &o->data },
		{ "inode", "i_private", &o->i_private }, { "inode", "i_cdev", &o->i_cdev },
		{ "kernfs_node", "priv", &o->priv },	 { "kobject", "sd", &o->sd },
	};
	int err = kspace_memory(k, &m);
	if (!err && k->dump)
		return -ENOTSUP;
	if (!err)
		err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	return err ? err : find_table(o, &o->table);
}

int kopened_file(const struct kopened *o, int fd, u64 *ret)
{
	u64 table, file;
	if (fd < 0 || fd >= DESCRIPTORS)
		return -EMFILE;
	int err = find_table(o, &table);
	if (!err)
		err = memory_read(o->k->memory, table + (u64)fd * sizeof(u64), &file, sizeof(file));
	if (!err && !file)
		err = -ENOENT;
	if (!err)
		*ret = file;
	return err;
}

int kopened_inode(const struct kopened *o, const char *path, u64 *ret)
{
	u64 file;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	int err = kopened_file(o, fd, &file);
	if (!err)
		err = memory_read(o->k->memory, file + o->inode, ret, sizeof(*ret));
	(void)close(fd);
	return err;
}

int kopened_kobject(const struct kopened *o, const char *path, u64 *ret)
{
	struct memory *m = o->k->memory;
	u64 inode, node, object, back;
	int err = kopened_inode(o, path, &inode);
	if (!err)
		err = memory_read(m, inode + o->i_private, &node, sizeof(node));
	if (!err)
		err = memory_read(m, node + o->priv, &object, sizeof(object));
	if (!err)
		err = memory_read(m, object + o->sd, &back, sizeof(back));
	if (err || back != node)
		return err && err != -EFAULT ? err : -ENOENT;
	*ret = object;
	return 0;
}
