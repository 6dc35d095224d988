/*
 *	chrdevs[255] ─► char_device_struct ─► next ...    cdev, or where that is NULL by cdev_map->probes[] ─► probe.data
 *	/sys/block/NAME ─► kobject in block_device.bd_device ─► bd_disk
 *	blockdev_superblock.s_inodes ─► bdev_inode.bdev ─► bd_disk
 *	/sys/bus/pci/devices/NAME ─► kobject in pci_dev.dev
 */
#include "memory/kdevs.h"

#include "kern/sysroot.h"
#include "memory/eval.h"
#include "memory/kopened.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAJORS = 255, CHAIN_MAX = 4096, PROBES_MAX = 256, MINOR_BITS = 20, PATH_ROOM = 320 };

static int read_pieces(struct kspace *k, struct memory_piece *pieces, size_t nr)
{
	int err = memory_read_pieces(k->memory, pieces, nr);
	for (size_t n = 0; !err && n < nr; n++)
		err = pieces[n].err;
	return err;
}

/* ---- character devices ----------------------------------------------------------------------------------------------------- */

struct char_layout {
	u64 next, major, minor, name, cdev; /* char_device_struct */
	u64 ops; /* cdev */
	u64 probe_next, probe_dev, probe_range, probe_data; /* probe */
	u64 map; /* of struct kobj_map, which begins with its probes; 0: not known */
};

static int find_char_layout(struct kspace *k, struct char_layout *l)
{
	struct ksym sym;
	struct memory *m;
	const struct eval_offset rows[] = {
		{ "char_device_struct", "next", &l->next },
		{ "char_device_struct", "major", &l->major },
		{ "char_device_struct", "baseminor", &l->minor },
		{ "char_device_struct", "name", &l->name },
		{ "char_device_struct", "cdev", &l->cdev },
		{ "cdev", "ops", &l->ops },
		{ "probe", "next", &l->probe_next, true },
		{ "probe", "dev", &l->probe_dev, true },
		{ "probe", "range", &l->probe_range, true },
		{ "probe", "data", &l->probe_data, true },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = kspace_memory(k, &m);
	l->map = 0;
	if (!err && l->probe_data != EVAL_NO_OFFSET && ksyms_find(&k->syms, "cdev_map", &sym) &&
	    memory_read(m, sym.addr, &l->map, sizeof(l->map)))
		l->map = 0;
	return err;
}

/* The cdev that answers for a device number. */
static u64 find_cdev(struct kspace *k, const struct char_layout *l, u32 dev)
{
	u64 at;
	if (!l->map || memory_read(k->memory, l->map + (dev >> MINOR_BITS) % MAJORS * sizeof(u64),
				   &at, sizeof(at)))
		return 0;
	for (u32 n = 0; at && n < PROBES_MAX; n++) {
		u64 next, range, data;
		u32 start;
		struct memory_piece pieces[] = {
			{ at + l->probe_next, &next, sizeof(next), 0 },
			{ at + l->probe_dev, &start, sizeof(start), 0 },
			{ at + l->probe_range, &range, sizeof(range), 0 },
			{ at + l->probe_data, &data, sizeof(data), 0 },
		};
		if (read_pieces(k, pieces, ARRAY_SIZE(pieces)))
			return 0;
		/* The last one answers for all numbers: it loads modules. */
		if (dev >= start && dev - start < range && range < UINT32_MAX)
			return data;
		at = next;
	}
	return 0;
}

static int tell_char(struct kspace *k, const struct char_layout *l, u64 at, u64 *next,
		     kdev_char_fn fn, void *ctx)
{
	struct kdev_char d = { 0 };
	u32 minor;
	struct memory_piece pieces[] = {
		{ at + l->next, next, sizeof(*next), 0 },
		{ at + l->major, &d.major, sizeof(d.major), 0 },
		{ at + l->minor, &minor, sizeof(minor), 0 },
		{ at + l->name, d.name, sizeof(d.name), 0 },
		{ at + l->cdev, &d.cdev, sizeof(d.cdev), 0 },
	};
	int err = read_pieces(k, pieces, ARRAY_SIZE(pieces));
	if (err)
		return err;
	d.name[KDEV_NAME - 1] = '\0';
	if (!d.cdev)
		d.cdev = find_cdev(k, l, d.major << MINOR_BITS | minor);
	if (d.cdev && memory_read(k->memory, d.cdev + l->ops, &d.operations, sizeof(u64)))
		d.operations = 0;
	return fn(ctx, &d);
}

static int chars_of_memory(struct kspace *k, u64 table, kdev_char_fn fn, void *ctx)
{
	struct char_layout l = { 0 };
	u64 heads[MAJORS];
	int err = find_char_layout(k, &l);
	if (!err)
		err = kspace_read(k, table, heads, sizeof(heads), "chrdevs");
	for (u32 n = 0, steps = 0; !err && n < MAJORS; n++)
		for (u64 at = heads[n]; !err && at && steps < CHAIN_MAX; steps++)
			err = tell_char(k, &l, at, &at, fn, ctx);
	if (err == -EFAULT)
		return diag_error(k->diag, err, "a list of character devices cannot be read");
	return min(err, 0);
}

/* "  1 mem" below "Character devices:". */
static int chars_of_proc(struct kspace *k, kdev_char_fn fn, void *ctx)
{
	struct sysroot r;
	struct strbuf text;
	int err = sysroot_open(&r, k->opts.root);
	if (err)
		return diag_error(k->diag, err, "cannot open /proc: %s", strerror(-err));
	strbuf_init(&text);
	err = sysroot_read(&r, "proc/devices", &text);
	if (err)
		(void)diag_error(k->diag, err, "cannot read /proc/devices: %s", strerror(-err));
	char *rest = err || !*strbuf_cstr(&text) ? NULL : text.data;
	bool chars = false;
	for (char *line; !err && rest && (line = strsep(&rest, "\n"));) {
		struct kdev_char d = { 0 };
		if (strchr(line, ':'))
			chars = !strncmp(line, "Character", 9);
		else if (chars && sscanf(line, "%u %63[^\n]", &d.major, d.name) == 2)
			err = fn(ctx, &d);
	}
	strbuf_done(&text);
	sysroot_close(&r);
	return min(err, 0);
}

int kdevs_each_char(struct kspace *k, kdev_char_fn fn, void *ctx)
{
	struct ksym sym;
	const struct ksyms *s = kspace_try_syms(k);
	if (s && ksyms_find(s, "chrdevs", &sym))
		return chars_of_memory(k, sym.addr, fn, ctx);
	if (k->opts.dump)
		return diag_error(k->diag, -ENOENT, "the dump's symbol list has no chrdevs");
	return chars_of_proc(k, fn, ctx);
}

/* ---- disks ----------------------------------------------------------------------------------------------------------------- */

struct disk_walk {
	struct kspace *k;
	kdev_disk_fn fn;
	void *ctx;
	u64 kobj, bd_disk; /* block_device: that of its device; its disk */
	u64 bdev; /* from an inode to its block_device */
	u64 major, minor, name, part0, fops, queue; /* gendisk */
};

static int find_disk_layout(struct disk_walk *w)
{
	u64 inode, bdev;
	struct memory *m;
	const struct eval_offset rows[] = {
		{ "block_device", "bd_device.kobj", &w->kobj },
		{ "block_device", "bd_disk", &w->bd_disk },
		{ "bdev_inode", "vfs_inode", &inode },
		{ "bdev_inode", "bdev", &bdev },
		{ "gendisk", "major", &w->major },
		{ "gendisk", "first_minor", &w->minor },
		{ "gendisk", "disk_name", &w->name },
		{ "gendisk", "part0", &w->part0 },
		{ "gendisk", "fops", &w->fops },
		{ "gendisk", "queue", &w->queue },
	};
	int err = eval_offsets(w->k, rows, ARRAY_SIZE(rows));
	w->bdev = inode - bdev;
	return err ? err : kspace_memory(w->k, &m);
}

/* Partitions are not told: their disk is. */
static int tell_disk(struct disk_walk *w, u64 bdev, const char *folder)
{
	enum { NAME = 32 };
	struct kspace *k = w->k;
	struct kdev_disk d = { 0 };
	u64 whole;
	int err = memory_read(k->memory, bdev + w->bd_disk, &d.addr, sizeof(d.addr));
	if (err || !d.addr)
		return err == -EFAULT ? 0 : err;
	struct memory_piece pieces[] = {
		{ d.addr + w->major, &d.major, sizeof(d.major), 0 },
		{ d.addr + w->minor, &d.minor, sizeof(d.minor), 0 },
		{ d.addr + w->name, d.name, NAME, 0 },
		{ d.addr + w->part0, &whole, sizeof(whole), 0 },
		{ d.addr + w->fops, &d.operations, sizeof(u64), 0 },
		{ d.addr + w->queue, &d.queue, sizeof(u64), 0 },
	};
	err = read_pieces(k, pieces, ARRAY_SIZE(pieces));
	if (err || whole != bdev)
		return err == -EFAULT ? 0 : err;
	d.name[NAME] = '\0';
	if (folder) {
		char path[PATH_ROOM];
		(void)snprintf(path, sizeof(path), "%s/inflight", folder);
		FILE *f = fopen(path, "re");
		unsigned long long reading, writing;
		if (f && fscanf(f, "%llu %llu", &reading, &writing) == 2) {
			d.has_inflight = true;
			d.reading = reading;
			d.writing = writing;
		}
		if (f)
			(void)fclose(f);
	}
	return w->fn(w->ctx, &d);
}

static int each_inode(void *ctx, const struct walk_node *node)
{
	struct disk_walk *w = ctx;
	return tell_disk(w, node->addr - w->bdev, NULL);
}

static int disks_of_memory(struct disk_walk *w)
{
	struct kspace *k = w->k;
	struct ksym sym;
	u64 superblock = 0, inodes;
	struct walk_result end;
	struct walk_list list = { .kind = WALK_LIST_HEAD };
	const struct ksyms *s = kspace_try_syms(k);
	const struct eval_offset rows[] = { { "super_block", "s_inodes", &inodes },
					    { "inode", "i_sb_list", &list.offset } };
	if (!s || !ksyms_find(s, "blockdev_superblock", &sym))
		return diag_error(k->diag, -ENOENT, "the symbol list has no blockdev_superblock");
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = kspace_read(k, sym.addr, &superblock, sizeof(superblock),
				  "blockdev_superblock");
	list.start = superblock + inodes;
	return err ? err : walk_list(k, &list, each_inode, w, &end);
}

/* Calls fn for each entry of a folder of sysfs, in the order of their names. */
typedef int (*entry_fn)(void *ctx, const char *path, const char *name, u64 object);
static int each_entry(struct kspace *k, const char *folder, entry_fn fn, void *ctx)
{
	struct kopened o;
	struct dirent **names;
	int err = kopened_open(&o, k);
	if (err) {
		err = err == -ENOTSUP
			      ? diag_error(k->diag, err,
					   "the structures of %s are found only if memory is read "
					   "through BPF",
					   folder)
			      : err;
		return err;
	}
	int nr = scandir(folder, &names, NULL, alphasort);
	for (int n = 0; n < nr; n++) {
		char path[PATH_ROOM];
		u64 object;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[n]->d_name);
		if (!err && names[n]->d_name[0] != '.') {
			err = kopened_kobject(&o, path, &object);
			err = err == -ENOENT ? 0
			      : err	     ? err
					     : fn(ctx, path, names[n]->d_name, object);
		}
		free(names[n]);
	}
	if (nr >= 0)
		free(names);
	return min(err, 0);
}

static int each_block_folder(void *ctx, const char *path, const char *name, u64 object)
{
	struct disk_walk *w = ctx;
	(void)name;
	return tell_disk(w, object - w->kobj, path);
}

int kdevs_each_disk(struct kspace *k, kdev_disk_fn fn, void *ctx)
{
	struct disk_walk w = { .k = k, .fn = fn, .ctx = ctx };
	int err = find_disk_layout(&w);
	if (err)
		return err;
	return k->dump ? disks_of_memory(&w) : each_entry(k, "/sys/block", each_block_folder, &w);
}

/* ---- PCI devices ----------------------------------------------------------------------------------------------------------- */

struct pci_walk {
	struct kspace *k;
	kdev_pci_fn fn;
	void *ctx;
	u64 kobj, vendor, device, class; /* pci_dev */
};

static int each_pci_folder(void *ctx, const char *path, const char *name, u64 object)
{
	struct pci_walk *w = ctx;
	struct kdev_pci d = { .addr = object - w->kobj };
	(void)path;
	struct memory_piece pieces[] = {
		{ d.addr + w->vendor, &d.vendor, sizeof(d.vendor), 0 },
		{ d.addr + w->device, &d.device, sizeof(d.device), 0 },
		{ d.addr + w->class, &d.class, sizeof(d.class), 0 },
	};
	int err = read_pieces(w->k, pieces, ARRAY_SIZE(pieces));
	if (err)
		return err == -EFAULT ? 0 : err; /* unplugged */
	(void)snprintf(d.name, sizeof(d.name), "%.*s", KDEV_NAME - 1, name);
	return w->fn(w->ctx, &d);
}

int kdevs_each_pci(struct kspace *k, kdev_pci_fn fn, void *ctx)
{
	struct pci_walk w = { .k = k, .fn = fn, .ctx = ctx };
	const struct eval_offset rows[] = { { "pci_dev", "dev.kobj", &w.kobj },
					    { "pci_dev", "vendor", &w.vendor },
					    { "pci_dev", "device", &w.device },
					    { "pci_dev", "class", &w.class } };
	if (k->opts.dump)
		return diag_error(k->diag, -ENOTSUP,
				  "PCI devices are found on the running kernel only");
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	return err ? err : each_entry(k, "/sys/bus/pci/devices", each_pci_folder, &w);
}
