/*
 * path(): the name of a file as d_path() has it, in any probe. The names of the directories are read from the last to the first, and written
 * from the end of a buffer towards its beginning:
 *
 *	dentry ─d_parent─► dentry ... ─► mnt_root of its mount ─► mnt_mountpoint in mnt_parent ... ─► root of the process, or of all mounts
 */
#include "lang/builtin.h"
#include "lang/check_impl.h"
#include "lang/token.h"

#include <errno.h>
#include <string.h>

enum {
	PATH_NAMES = 64, /* of directories and mounts: the verifier follows them one by one */
	PATH_NAME_MAX = 255,
	PATH_SIZE_MAX = 4096,
	PATH_SIZE_MIN = 64,
};

static const char deleted[] = " (deleted)"; /* what d_path() appends */

enum path_member {
	PATH_MNT,
	PATH_DENTRY,
	DENTRY_PARENT,
	DENTRY_NAME,
	DENTRY_LEN,
	DENTRY_HASHED,
	DENTRY_SB,
	SB_TYPE,
	TYPE_NAME,
	VFSMOUNT_ROOT,
	MOUNT_MNT,
	MOUNT_PARENT,
	MOUNT_POINT,
	TASK_FS,
	FS_ROOT,
	PATH_MEMBERS
};

static const struct {
	const char *type, *member;
} members[PATH_MEMBERS] = {
	[PATH_MNT] = { "struct path", "mnt" },
	[PATH_DENTRY] = { "struct path", "dentry" },
	[DENTRY_PARENT] = { "struct dentry", "d_parent" },
	[DENTRY_NAME] = { "struct dentry", "d_name.name" },
	[DENTRY_LEN] = { "struct dentry", "d_name.len" },
	[DENTRY_HASHED] = { "struct dentry", "d_hash.pprev" },
	[DENTRY_SB] = { "struct dentry", "d_sb" },
	[SB_TYPE] = { "struct super_block", "s_type" },
	[TYPE_NAME] = { "struct file_system_type", "name" },
	[VFSMOUNT_ROOT] = { "struct vfsmount", "mnt_root" },
	[MOUNT_MNT] = { "struct mount", "mnt" },
	[MOUNT_PARENT] = { "struct mount", "mnt_parent" },
	[MOUNT_POINT] = { "struct mount", "mnt_mountpoint" },
	[TASK_FS] = { "struct task_struct", "fs" },
	[FS_ROOT] = { "struct fs_struct", "root" },
};

static bool find_members(struct checker *c, s64 *ret)
{
	for (u32 i = 0; i < PATH_MEMBERS; i++)
		if (!check_member_offset(c, members[i].type, members[i].member, &ret[i]))
			return false;
	return true;
}

static const struct program_type *check_path(struct checker *c, struct node *n)
{
	const struct program_type *t = n->list->type;
	s64 size = c->program->config.max_strlen, offsets[PATH_MEMBERS];
	if (!t)
		return NULL;
	const struct program_type *of = t->kind == PROGRAM_POINTER && t->to ? t->to : t;
	if (of->kind != PROGRAM_RECORD || !of->btf_id || strcmp(of->name, "path"))
		return check_wrong(
			c,
			n->list, "path() takes a struct path of the kernel, or a pointer to one, not a value of type %s",
			t);
	if (n->nr == 2 &&
	    (!check_constant(c, n->list->next, &size) || size < 1 || size > PATH_SIZE_MAX)) {
		check_fail(c, n->list->next, -EINVAL,
			   "the size of a path is a constant from 1 to %d", PATH_SIZE_MAX);
		return NULL;
	}
	if (!find_members(c, offsets)) {
		check_fail(c, n, -ENOTSUP,
			   "path() does not support this kernel: a type or member is missing");
		return NULL;
	}
	return type_string(c->arena, (u32)min(max(size, (s64)PATH_SIZE_MIN), (s64)PATH_SIZE_MAX));
}

struct path_walk {
	struct lower *l;
	s64 off[PATH_MEMBERS];
	struct place buffer;
	u32 size; /* of it: a power of two; a name fits behind it */
	/* registers: where we are, the first byte that is written, and where that was before any name */
	int dentry, mount, at, end;
};

/* dst = the pointer there. */
static void follow(struct path_walk *w, int dst, int from, s64 off)
{
	ir_mov(w->l->ir, dst, lower_read(w->l, from, (s32)off, &type_u64, true));
}

/* p = the address of byte `at` of the buffer. */
static int buffer_at(struct path_walk *w)
{
	struct ir *ir = w->l->ir;
	int p = ir_reg(ir);
	ir_alu_imm(ir, BPF_AND, w->at, w->size - 1); /* for the verifier: it is inside anyway */
	ir_lea(ir, p, w->buffer.base, w->buffer.off);
	ir_alu(ir, BPF_ADD, p, w->at);
	return p;
}

/* "/NAME" in front of what is there; to `full` where it has no room. */
static void prepend_name(struct path_walk *w, int full)
{
	struct ir *ir = w->l->ir;
	static const struct program_type u32_type = { .kind = PROGRAM_INT, .size = 4 };
	int len = ir_reg(ir), name = ir_reg(ir);
	follow(w, name, w->dentry, w->off[DENTRY_NAME]);
	ir_mov(ir, len, lower_read(w->l, w->dentry, (s32)w->off[DENTRY_LEN], &u32_type, true));
	ir_alu_imm(ir, BPF_AND, len, PATH_NAME_MAX);
	ir_if(ir, BPF_JLE, w->at, len, full);
	ir_alu(ir, BPF_SUB, w->at, len);
	ir_alu_imm(ir, BPF_SUB, w->at, 1);
	int p = buffer_at(w);
	ir_store_imm(ir, p, 0, '/', 1);
	ir_alu_imm(ir, BPF_ADD, p, 1);
	ir_call(ir, IR_NONE, HELPER_READ_KERNEL, 3,
		(struct ir_arg[]){ ir_arg_reg(p), ir_arg_reg(len), ir_arg_reg(name) });
}

/* A file that is in no directory: its own name, or that of its file system (pipefs, sockfs). */
static void name_alone(struct path_walk *w)
{
	struct ir *ir = w->l->ir;
	struct ir_arg args[] = { arg_place(w->buffer), ir_arg_imm(PATH_NAME_MAX), { 0 } };
	int name = ir_reg(ir), x = ir_reg(ir), named = ir_label(ir);
	follow(w, name, w->dentry, w->off[DENTRY_NAME]);
	args[2] = ir_arg_reg(name);
	ir_store_imm(ir, w->buffer.base, w->buffer.off, 0, 8);
	ir_call(ir, IR_NONE, HELPER_READ_KERNEL_STR, 3, args);
	ir_imm(ir, w->at, 0);
	ir_load(ir, x, w->buffer.base, w->buffer.off, 1);
	ir_if_imm(ir, BPF_JNE, x, 0, named);
	follow(w, name, w->dentry, w->off[DENTRY_SB]);
	follow(w, name, name, w->off[SB_TYPE]);
	follow(w, name, name, w->off[TYPE_NAME]);
	ir_call(ir, IR_NONE, HELPER_READ_KERNEL_STR, 3, args);
	ir_place_label(ir, named);
}

/* The buffer's end: where names are added in front of. */
static void begin_buffer(struct path_walk *w)
{
	struct ir *ir = w->l->ir;
	u32 len = sizeof(deleted) - 1, end = w->size - 1;
	int there = ir_label(ir), hashed = ir_reg(ir), p = ir_reg(ir);
	int text = ir_reg(ir);
	u32 data = lower_data(w->l, deleted, sizeof(deleted));
	ir_map_value(ir, text, w->l->shared->data, data);
	ir_lea(ir, p, w->buffer.base, w->buffer.off + (s32)(end - len));
	ir_call(ir, IR_NONE, HELPER_READ_KERNEL, 3,
		(struct ir_arg[]){ ir_arg_reg(p), ir_arg_imm(len + 1), ir_arg_reg(text) });
	ir_imm(ir, w->at, end);
	follow(w, hashed, w->dentry, w->off[DENTRY_HASHED]);
	ir_if_imm(ir, BPF_JNE, hashed, 0, there);
	ir_imm(ir, w->at, end - len);
	ir_place_label(ir, there);
	lower_forget(w->l, w->at);
	ir_mov(ir, w->end, w->at);
}

static void walk(struct path_walk *w)
{
	struct ir *ir = w->l->ir;
	int root_dentry = ir_reg(ir), root_mount = ir_reg(ir), i = ir_reg(ir), up = ir_reg(ir),
	    task = ir_reg(ir);
	int again = ir_label(ir), name = ir_label(ir), next = ir_label(ir), done = ir_label(ir),
	    no_root = ir_label(ir), inside = ir_label(ir), top = ir_label(ir);
	ir_call(ir, task, HELPER_TASK, 0, NULL);
	follow(w, task, task, w->off[TASK_FS]);
	follow(w, root_dentry, task, w->off[FS_ROOT] + w->off[PATH_DENTRY]);
	follow(w, root_mount, task, w->off[FS_ROOT] + w->off[PATH_MNT]);
	ir_alu_imm(ir, BPF_SUB, root_mount, w->off[MOUNT_MNT]);
	ir_imm(ir, i, 0);
	ir_place_label(ir, again);
	ir_if(ir, BPF_JNE, w->dentry, root_dentry, no_root);
	ir_if(ir, BPF_JEQ, w->mount, root_mount, top);
	ir_place_label(ir, no_root);
	follow(w, up, w->mount, w->off[MOUNT_MNT] + w->off[VFSMOUNT_ROOT]);
	ir_if(ir, BPF_JNE, w->dentry, up, inside);
	/* The root of a mount: on with what it is mounted on. */
	follow(w, up, w->mount, w->off[MOUNT_PARENT]);
	ir_if(ir, BPF_JEQ, w->mount, up, top);
	follow(w, w->dentry, w->mount, w->off[MOUNT_POINT]);
	ir_mov(ir, w->mount, up);
	ir_jump(ir, next);
	ir_place_label(ir, inside);
	follow(w, up, w->dentry, w->off[DENTRY_PARENT]);
	ir_if(ir, BPF_JNE, w->dentry, up, name);
	ir_if(ir, BPF_JNE, w->at, w->end, done);
	name_alone(w);
	ir_jump(ir, done);
	ir_place_label(ir, name);
	prepend_name(w, done);
	ir_mov(ir, w->dentry, up);
	ir_place_label(ir, next);
	ir_alu_imm(ir, BPF_ADD, i, 1);
	ir_if_imm(ir, BPF_JLT, i, PATH_NAMES, again);
	ir_jump(ir, done);
	/* Nothing but the root itself. */
	ir_place_label(ir, top);
	ir_if(ir, BPF_JNE, w->at, w->end, done);
	ir_imm(ir, w->at, w->size - 2);
	ir_store_imm(ir, w->buffer.base, w->buffer.off + (s32)w->size - 2, '/', 1);
	ir_place_label(ir, done);
	lower_forget(w->l, w->at);
}

static u32 power_of_two(u32 size)
{
	u32 p = 1;
	while (p < size)
		p *= 2;
	return p;
}

static struct value lower_path(struct lower *l, struct node *n)
{
	struct ir *ir = l->ir;
	struct node *a = n->list;
	bool output;
	struct place to = lower_dest(l, n->type, &output);
	struct path_walk w = { .l = l, .size = power_of_two(type_room(n->type)) };
	if (!find_members(l->check, w.off)) {
		lower_fail(l, n, -ENOTSUP,
			   "path() does not support this kernel: a type or member is missing");
		return value_imm(0);
	}
	w.buffer = lower_scratch(l, w.size + PATH_NAME_MAX + 1);
	w.dentry = ir_reg(ir);
	w.mount = ir_reg(ir);
	w.at = ir_reg(ir);
	w.end = ir_reg(ir);
	int path = ir_reg(ir);
	if (a->type->kind == PROGRAM_POINTER) {
		ir_mov(ir, path, lower_reg(l, a));
	} else {
		struct value v = lower_address(l, lower_expr(l, a));
		ir_lea(ir, path, v.reg, v.off);
	}
	follow(&w, w.dentry, path, w.off[PATH_DENTRY]);
	follow(&w, w.mount, path, w.off[PATH_MNT]);
	ir_alu_imm(ir, BPF_SUB, w.mount, w.off[MOUNT_MNT]);
	begin_buffer(&w);
	walk(&w);
	if (!output)
		lower_zero(l, to, type_room(n->type));
	else
		ir_store_imm(ir, to.base, to.off, 0, 8);
	int from = buffer_at(&w);
	ir_call(ir, IR_NONE, HELPER_READ_KERNEL_STR, 3,
		(struct ir_arg[]){ arg_place(to), ir_arg_imm(n->type->size), ir_arg_reg(from) });
	return place_value(to);
}

static const struct builtin rows[] = {
	{ "path", 1, 2, 0, check_path, lower_path, NULL, "path of a file, from a struct path",
	  .form = "(PATH[, SIZE])" },
};

const struct builtin_group builtins_path = { rows, ARRAY_SIZE(rows), "Files" };
