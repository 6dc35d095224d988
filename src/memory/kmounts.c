/*
 *	task_struct.nsproxy ─► mnt_ns ─► list of mount.mnt_list (to 6.7), or red-black tree of mount.mnt_node
 *	                    ─► net_ns ─► dev_base_head of net_device.dev_list ─► in_device ─► in_ifaddr ─► ...
 */
#include "memory/kmounts.h"

#include "memory/eval.h"

#include <errno.h>
#include <string.h>

/* A namespace that a task's nsproxy names. */
static int find_namespace(struct kspace *k, u64 task, const char *member, u64 *ret)
{
	u64 nsproxy_at, at, nsproxy;
	struct memory *m;
	int err = kspace_memory(k, &m);
	if (!err)
		err = kspace_offset(k, "task_struct", "nsproxy", &nsproxy_at);
	if (!err)
		err = kspace_offset(k, "nsproxy", member, &at);
	if (!err)
		err = kspace_read(k, task + nsproxy_at, &nsproxy, sizeof(nsproxy), "a task");
	if (err || !nsproxy)
		return err ? err : -ESRCH;
	return kspace_read(k, nsproxy + at, ret, sizeof(*ret), "a task's namespaces");
}

/* ---- mounts ---------------------------------------------------------------------------------------------------------------- */

struct mount_walk {
	struct kfiles *f;
	kmount_fn fn;
	void *ctx;
	struct strbuf path;
	u64 superblock, device, vfsmount;
};

static void read_text(struct kspace *k, u64 pointer_at, char *to, size_t size)
{
	u64 at;
	bool cut;
	if (memory_read(k->memory, pointer_at, &at, sizeof(at)) ||
	    memory_read_text(k->memory, at, to, size, &cut))
		to[0] = '\0';
}

static int each_mount(void *ctx, const struct walk_node *node)
{
	struct mount_walk *w = ctx;
	struct kspace *k = w->f->k;
	struct kmount m = { .addr = node->addr };
	u64 type;
	/* A mount that is being removed, or the cursor of a reader of /proc/mounts. */
	if (memory_read(k->memory, m.addr + w->superblock, &m.superblock, sizeof(u64)) ||
	    !m.superblock ||
	    memory_read(k->memory, m.superblock + w->f->at.type, &type, sizeof(type)))
		return 0;
	read_text(k, type + w->f->at.type_name, m.type, sizeof(m.type));
	read_text(k, m.addr + w->device, m.device, sizeof(m.device));
	strbuf_reset(&w->path);
	kfiles_mount_path(w->f, m.addr, &w->path);
	m.path = strbuf_cstr(&w->path);
	return w->fn(w->ctx, &m);
}

int kmounts_each(struct kfiles *f, u64 task, kmount_fn fn, void *ctx, struct walk_result *ret)
{
	struct kspace *k = f->k;
	struct mount_walk w = { .f = f, .fn = fn, .ctx = ctx };
	u64 ns, tree, node, list, link;
	const struct eval_offset rows[] = {
		{ "mount", "mnt.mnt_sb", &w.superblock },   { "mount", "mnt_devname", &w.device },
		{ "mnt_namespace", "mounts", &tree, true }, { "mount", "mnt_node", &node, true },
		{ "mnt_namespace", "list", &list, true },   { "mount", "mnt_list", &link },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = find_namespace(k, task, "mnt_ns", &ns);
	if (err)
		return err;
	strbuf_init(&w.path);
	if (tree != EVAL_NO_OFFSET && node != EVAL_NO_OFFSET)
		err = walk_tree(k,
				&(struct walk_tree){
					.kind = WALK_RBTREE, .root = ns + tree, .offset = node },
				each_mount, &w, ret);
	else if (list != EVAL_NO_OFFSET)
		err = walk_list(k,
				&(struct walk_list){
					.kind = WALK_LIST_HEAD, .start = ns + list, .offset = link },
				each_mount, &w, ret);
	else
		err = diag_error(k->diag, -ENOENT,
				 "struct mnt_namespace of this kernel has no known list of mounts");
	strbuf_done(&w.path);
	return err;
}

/* ---- network devices ------------------------------------------------------------------------------------------------------- */

struct device_walk {
	struct kspace *k;
	kdevice_fn fn;
	void *ctx;
	u64 name, index, v4, v6; /* net_device */
	u64 first, next, local; /* in_device.ifa_list, in_ifaddr */
	u64 list, link, addr; /* inet6_dev.addr_list, inet6_ifaddr */
	struct kdevice *device;
};

static bool read_pointer(struct kspace *k, u64 at, u64 *ret)
{
	return !memory_read(k->memory, at, ret, sizeof(*ret)) && *ret;
}

static void add_address(struct device_walk *w, u64 at, bool is_v6)
{
	enum { V4_BYTES = 4 };
	struct kdevice *d = w->device;
	if (d->nr_addresses == KNET_ADDRESSES)
		return;
	struct kdevice_address *a = &d->addresses[d->nr_addresses];
	a->is_v6 = is_v6;
	d->nr_addresses +=
		!memory_read(w->k->memory, at, a->bytes, is_v6 ? sizeof(a->bytes) : V4_BYTES);
}

static int each_v6(void *ctx, const struct walk_node *node)
{
	struct device_walk *w = ctx;
	add_address(w, node->addr + w->addr, true);
	return w->device->nr_addresses == KNET_ADDRESSES;
}

static int read_addresses(struct device_walk *w)
{
	u64 in, at;
	struct walk_result r;
	if (read_pointer(w->k, w->device->addr + w->v4, &in) &&
	    read_pointer(w->k, in + w->first, &at))
		for (u32 n = 0; n < KNET_ADDRESSES; n++) {
			add_address(w, at + w->local, false);
			if (!read_pointer(w->k, at + w->next, &at))
				break;
		}
	if (w->v6 == EVAL_NO_OFFSET || w->list == EVAL_NO_OFFSET || w->link == EVAL_NO_OFFSET ||
	    w->addr == EVAL_NO_OFFSET || !read_pointer(w->k, w->device->addr + w->v6, &in))
		return 0;
	return walk_list(w->k,
			 &(struct walk_list){
				 .kind = WALK_LIST_HEAD, .start = in + w->list, .offset = w->link },
			 each_v6, w, &r);
}

static int each_device(void *ctx, const struct walk_node *node)
{
	struct device_walk *w = ctx;
	struct kdevice d = { .addr = node->addr };
	if (memory_read(w->k->memory, d.addr + w->name, d.name, sizeof(d.name)) ||
	    memory_read(w->k->memory, d.addr + w->index, &d.index, sizeof(d.index)))
		return 0;
	d.name[KNET_NAME - 1] = '\0';
	w->device = &d;
	int err = read_addresses(w);
	return err ? err : w->fn(w->ctx, &d);
}

int kdevices_each(struct kspace *k, u64 task, kdevice_fn fn, void *ctx, struct walk_result *ret)
{
	struct device_walk w = { .k = k, .fn = fn, .ctx = ctx };
	struct walk_list list = { .kind = WALK_LIST_HEAD };
	u64 ns, head;
	const struct eval_offset rows[] = {
		{ "net", "dev_base_head", &head },
		{ "net_device", "dev_list", &list.offset },
		{ "net_device", "name", &w.name },
		{ "net_device", "ifindex", &w.index },
		{ "net_device", "ip_ptr", &w.v4 },
		{ "in_device", "ifa_list", &w.first },
		{ "in_ifaddr", "ifa_next", &w.next },
		{ "in_ifaddr", "ifa_local", &w.local },
		{ "net_device", "ip6_ptr", &w.v6, true },
		{ "inet6_dev", "addr_list", &w.list, true },
		{ "inet6_ifaddr", "if_list", &w.link, true },
		{ "inet6_ifaddr", "addr", &w.addr, true },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = find_namespace(k, task, "net_ns", &ns);
	if (err)
		return err;
	list.start = ns + head;
	return walk_list(k, &list, each_device, &w, ret);
}
