#include "memory/kfiles.h"

#include "memory/eval.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 512, FDS_MAX = 1 << 22, NAME_SIZE = 256 };

int kfiles_open(struct kfiles *f, struct kspace *k)
{
	*f = (struct kfiles){ .k = k };
	const struct eval_offset rows[] = {
		{ "task_struct", "fs", &f->at.fs },
		{ "fs_struct", "root", &f->at.root },
		{ "fs_struct", "pwd", &f->at.pwd },
		{ "files_struct", "fdt", &f->at.fdt },
		{ "fdtable", "max_fds", &f->at.max_fds },
		{ "fdtable", "fd", &f->at.fd },
		{ "file", "f_path", &f->at.path },
		{ "file", "f_inode", &f->at.inode },
		{ "path", "mnt", &f->at.path_mnt },
		{ "path", "dentry", &f->at.path_dentry },
		{ "inode", "i_mode", &f->at.mode },
		{ "inode", "i_ino", &f->at.ino },
		{ "inode", "i_sb", &f->at.sb },
		{ "super_block", "s_type", &f->at.type },
		{ "file_system_type", "name", &f->at.type_name },
		{ "dentry", "d_parent", &f->at.parent },
		{ "dentry", "d_name.name", &f->at.name },
		{ "dentry", "d_hash.pprev", &f->at.hashed },
		{ "mount", "mnt", &f->at.mnt },
		{ "mount", "mnt_parent", &f->at.mnt_parent },
		{ "mount", "mnt_mountpoint", &f->at.mountpoint },
		{ "vfsmount", "mnt_root", &f->at.mnt_root },
		{ "mm_struct", "mm_mt", &f->at.mm_tree },
		{ "mm_struct", "pgd", &f->at.pgd },
		{ "vm_area_struct", "vm_start", &f->at.start },
		{ "vm_area_struct", "vm_end", &f->at.end },
		{ "vm_area_struct", "vm_flags", &f->at.flags },
		{ "vm_area_struct", "vm_file", &f->at.file },
	};
	struct memory *m;
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	return err ? err : kspace_memory(k, &m);
}

static int read_u64(struct kfiles *f, u64 addr, u64 *ret)
{
	return memory_read(f->k->memory, addr, ret, sizeof(*ret));
}

/* ---- paths ----------------------------------------------------------------------------------------------------------------- */

static int read_name(struct kfiles *f, u64 dentry, char name[NAME_SIZE])
{
	u64 at;
	bool cut;
	int err = read_u64(f, dentry + f->at.name, &at);
	return err ? err : memory_read_text(f->k->memory, at, name, NAME_SIZE, &cut);
}

/* Up to the root of the topmost mount: each mount's root leads to where it is mounted. The names come last first. */
static int climb(struct kfiles *f, u64 vfsmount, u64 dentry, struct strbuf *reversed)
{
	u64 mount = vfsmount - f->at.mnt, root, parent;
	char name[NAME_SIZE];
	for (unsigned n = 0; n < DEPTH_MAX; n++) {
		int err = read_u64(f, mount + f->at.mnt + f->at.mnt_root, &root);
		if (!err && dentry == root) {
			err = read_u64(f, mount + f->at.mnt_parent, &parent);
			if (!err && parent == mount)
				return 0;
			if (!err)
				err = read_u64(f, mount + f->at.mountpoint, &dentry);
			mount = parent;
		} else if (!err) {
			err = read_u64(f, dentry + f->at.parent, &parent);
			if (!err && parent == dentry)
				return 0; /* not connected to any mount */
			if (!err)
				err = read_name(f, dentry, name);
			if (!err)
				strbuf_add(reversed, name, strlen(name) + 1);
			dentry = parent;
		}
		if (err)
			return err;
	}
	return -ELOOP;
}

/* "c\0b\0a\0" to "/a/b/c" */
static void add_reversed(const struct strbuf *reversed, struct strbuf *to)
{
	size_t end = reversed->len;
	if (!end)
		strbuf_char(to, '/');
	while (end) {
		size_t start = end - 1;
		while (start && reversed->data[start - 1])
			start--;
		strbuf_char(to, '/');
		strbuf_str(to, reversed->data + start);
		end = start;
	}
}

void kfiles_path(struct kfiles *f, u64 path, struct strbuf *to)
{
	u64 mnt, dentry;
	struct strbuf reversed;
	strbuf_init(&reversed);
	if (read_u64(f, path + f->at.path_mnt, &mnt) ||
	    read_u64(f, path + f->at.path_dentry, &dentry) || climb(f, mnt, dentry, &reversed))
		strbuf_char(to, '?');
	else
		add_reversed(&reversed, to);
	/* Nobody can look it up any more. */
	u64 hashed;
	if (reversed.len && !read_u64(f, dentry + f->at.hashed, &hashed) && !hashed)
		strbuf_str(to, " (deleted)");
	strbuf_done(&reversed);
}

void kfiles_mount_path(struct kfiles *f, u64 mount, struct strbuf *to)
{
	u64 root;
	struct strbuf reversed;
	strbuf_init(&reversed);
	if (read_u64(f, mount + f->at.mnt + f->at.mnt_root, &root) ||
	    climb(f, mount + f->at.mnt, root, &reversed))
		strbuf_char(to, '?');
	else
		add_reversed(&reversed, to);
	strbuf_done(&reversed);
}

/* The name of the file system that has an inode: those without a place in the tree name their files themselves. */
static int read_fs_name(struct kfiles *f, u64 inode, char *name, size_t size)
{
	u64 sb, type, at;
	bool cut;
	int err = read_u64(f, inode + f->at.sb, &sb);
	if (!err)
		err = read_u64(f, sb + f->at.type, &type);
	if (!err)
		err = read_u64(f, type + f->at.type_name, &at);
	return err ? err : memory_read_text(f->k->memory, at, name, size, &cut);
}

void kfiles_path_of(struct kfiles *f, u64 file, struct strbuf *to)
{
	char fs[32] = "", name[NAME_SIZE];
	u64 inode, ino = 0, dentry;
	if (read_u64(f, file + f->at.inode, &inode) || read_fs_name(f, inode, fs, sizeof(fs)) ||
	    read_u64(f, inode + f->at.ino, &ino) ||
	    read_u64(f, file + f->at.path + f->at.path_dentry, &dentry) ||
	    read_name(f, dentry, name)) {
		strbuf_char(to, '?');
		return;
	}
	if (!strcmp(fs, "sockfs"))
		strbuf_printf(to, "socket:[%llu]", (unsigned long long)ino);
	else if (!strcmp(fs, "pipefs"))
		strbuf_printf(to, "pipe:[%llu]", (unsigned long long)ino);
	else if (!strcmp(fs, "anon_inodefs"))
		strbuf_printf(to, "anon_inode:%s", name);
	else
		kfiles_path(f, file + f->at.path, to);
}

int kfiles_root(struct kfiles *f, const struct ktask *task, struct strbuf *root, struct strbuf *pwd)
{
	u64 fs;
	if (read_u64(f, task->addr + f->at.fs, &fs) || !fs)
		return -ESRCH;
	kfiles_path(f, fs + f->at.root, root);
	kfiles_path(f, fs + f->at.pwd, pwd);
	return 0;
}

/* ---- files and areas ------------------------------------------------------------------------------------------------------- */

const char *kfile_type(u32 mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return "REG";
	case S_IFDIR: return "DIR";
	case S_IFCHR: return "CHR";
	case S_IFBLK: return "BLK";
	case S_IFIFO: return "FIFO";
	case S_IFSOCK: return "SOCK";
	case S_IFLNK: return "LNK";
	default: return "UNKN";
	}
}

static bool read_file(struct kfiles *f, u64 addr, struct kfile *file)
{
	u16 mode;
	if (read_u64(f, addr + f->at.inode, &file->inode) ||
	    read_u64(f, addr + f->at.path + f->at.path_dentry, &file->dentry) ||
	    memory_read(f->k->memory, file->inode + f->at.mode, &mode, sizeof(mode)))
		return false;
	file->addr = addr;
	file->mode = mode;
	return true;
}

int kfiles_each(struct kfiles *f, const struct ktask *task, kfile_fn fn, void *ctx)
{
	enum { CHUNK = 512 };
	u64 fdt, array, slots[CHUNK];
	u32 max_fds;
	if (!task->files || read_u64(f, task->files + f->at.fdt, &fdt) ||
	    read_u64(f, fdt + f->at.fd, &array) ||
	    memory_read(f->k->memory, fdt + f->at.max_fds, &max_fds, sizeof(max_fds)))
		return 0;
	max_fds = min(max_fds, (u32)FDS_MAX);
	for (u32 at = 0; at < max_fds; at += CHUNK) {
		u32 nr = min(max_fds - at, (u32)CHUNK);
		if (memory_read(f->k->memory, array + (u64)at * sizeof(u64), slots, nr * sizeof(u64)))
			return 0;
		for (u32 n = 0; n < nr; n++) {
			struct kfile file = { .fd = at + n };
			int rc = slots[n] && read_file(f, slots[n], &file) ? fn(ctx, &file) : 0;
			if (rc)
				return rc < 0 ? rc : 0;
		}
	}
	return 0;
}

struct vma_walk {
	struct kfiles *f;
	kvma_fn fn;
	void *ctx;
};

static int each_vma(void *ctx, const struct walk_node *node)
{
	struct vma_walk *w = ctx;
	struct kfiles *f = w->f;
	struct kvma v = { .addr = node->addr };
	if (read_u64(f, v.addr + f->at.start, &v.start) || read_u64(f, v.addr + f->at.end, &v.end) ||
	    read_u64(f, v.addr + f->at.flags, &v.flags) || read_u64(f, v.addr + f->at.file, &v.file))
		return 0;
	return w->fn(w->ctx, &v);
}

int kfiles_each_vma(struct kfiles *f, const struct ktask *task, kvma_fn fn, void *ctx,
		    struct walk_result *ret)
{
	struct vma_walk w = { .f = f, .fn = fn, .ctx = ctx };
	struct walk_tree tree = { .kind = WALK_MAPLE };
	*ret = (struct walk_result){ 0 };
	if (!task->mm)
		return 0;
	tree.root = task->mm + f->at.mm_tree;
	return walk_tree(f->k, &tree, each_vma, &w, ret);
}
