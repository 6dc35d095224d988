/*
 *	task_struct.nsproxy ─► ipc_ns.ids[semaphores, messages, shared memory].ipcs_idr ─► kern_ipc_perm, which each of them begins with
 */
#include "memory/kipcs.h"

#include "memory/eval.h"

#include <errno.h>

struct ipc_walk {
	struct kspace *k;
	enum kipc_kind kind;
	kipc_fn fn;
	void *ctx;
	u64 key, id, uid, mode, deleted; /* kern_ipc_perm */
	u64 perm, size, nr, file; /* of what has it */
};

static const struct {
	const char *type, *perm, *size, *nr;
	u32 size_bytes;
} kinds[KIPC_KINDS] = {
	[KIPC_SEMAPHORES] = { "sem_array", "sem_perm", "sem_nsems", NULL, sizeof(u32) },
	[KIPC_MESSAGES] = { "msg_queue", "q_perm", "q_cbytes", "q_qnum", sizeof(u64) },
	[KIPC_SHARED] = { "shmid_kernel", "shm_perm", "shm_segsz", "shm_nattch", sizeof(u64) },
};

static int each_ipc(void *ctx, const struct walk_node *node)
{
	enum { PIECES = 6, SHM_DEST = 01000 };
	struct ipc_walk *w = ctx;
	u64 perm = node->addr;
	struct kipc ipc = { .addr = perm - w->perm };
	u16 mode;
	u8 deleted;
	struct memory_piece pieces[PIECES + 2] = {
		{ perm + w->key, &ipc.key, sizeof(ipc.key), 0 },
		{ perm + w->id, &ipc.id, sizeof(ipc.id), 0 },
		{ perm + w->uid, &ipc.uid, sizeof(ipc.uid), 0 },
		{ perm + w->mode, &mode, sizeof(mode), 0 },
		{ perm + w->deleted, &deleted, sizeof(deleted), 0 },
		{ ipc.addr + w->size, &ipc.size, kinds[w->kind].size_bytes, 0 },
	};
	size_t nr = PIECES;
	if (kinds[w->kind].nr)
		pieces[nr++] = (struct memory_piece){ ipc.addr + w->nr, &ipc.nr, sizeof(u64), 0 };
	if (w->kind == KIPC_SHARED)
		pieces[nr++] =
			(struct memory_piece){ ipc.addr + w->file, &ipc.file, sizeof(u64), 0 };
	int err = memory_read_pieces(w->k->memory, pieces, nr);
	for (size_t n = 0; !err && n < nr; n++)
		err = pieces[n].err;
	if (err || deleted)
		return err == -EFAULT ? 0 : err; /* it went */
	ipc.mode = mode & 0777;
	ipc.removed = w->kind == KIPC_SHARED && mode & SHM_DEST;
	return w->fn(w->ctx, &ipc);
}

int kipcs_each(struct kspace *k, u64 task, enum kipc_kind kind, kipc_fn fn, void *ctx,
	       struct walk_result *ret)
{
	struct ipc_walk w = { .k = k, .kind = kind, .fn = fn, .ctx = ctx };
	struct walk_tree tree = { .kind = WALK_XARRAY };
	u64 nsproxy_at, ns_at, nsproxy, ns, first, second, idr;
	struct memory *m;
	const struct eval_offset rows[] = {
		{ "task_struct", "nsproxy", &nsproxy_at },
		{ "nsproxy", "ipc_ns", &ns_at },
		{ "ipc_namespace", "ids[0]", &first },
		{ "ipc_namespace", "ids[1]", &second },
		{ "ipc_ids", "ipcs_idr.idr_rt", &idr },
		{ "kern_ipc_perm", "key", &w.key },
		{ "kern_ipc_perm", "id", &w.id },
		{ "kern_ipc_perm", "uid", &w.uid },
		{ "kern_ipc_perm", "mode", &w.mode },
		{ "kern_ipc_perm", "deleted", &w.deleted },
		{ kinds[kind].type, kinds[kind].perm, &w.perm },
		{ kinds[kind].type, kinds[kind].size, &w.size },
		{ kinds[KIPC_SHARED].type, "shm_file", &w.file },
		{ kinds[kind].type, kinds[kind].nr ? kinds[kind].nr : kinds[kind].size, &w.nr },
	};
	int err = eval_offsets(k, rows, ARRAY_SIZE(rows));
	if (!err)
		err = kspace_memory(k, &m);
	if (!err)
		err = kspace_read(k, task + nsproxy_at, &nsproxy, sizeof(nsproxy), "a task");
	if (err || !nsproxy)
		return err ? err : -ESRCH;
	err = kspace_read(k, nsproxy + ns_at, &ns, sizeof(ns), "a task's namespaces");
	if (err)
		return err;
	tree.root = ns + first + (second - first) * kind + idr;
	return walk_tree(k, &tree, each_ipc, &w, ret);
}
