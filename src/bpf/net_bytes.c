#include "bpf/net_bytes.h"

#include "image/btf.h"
#include "kern/bpf_insns.h"
#include "kern/bpf_sys.h"
#include "kern/pid_ns.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { INSNS_MAX = 96, THREAD_SHIFT = 32 };

/* Where calls end, and which of the program's arguments are what. */
struct net_place {
	const char *name;
	u8 ret, flags; /* index; flags 0: there are none */
	bool received;
	bool tracepoint; /* of sockets of all families: argument 0 is the sock */
};

static const struct net_place tracepoints[] = {
	{ "sock_send_length", 1, 0, false, true },
	{ "sock_recv_length", 1, 2, true, true },
};
static const struct net_place functions[] = {
	{ "inet_sendmsg", 3, 0, false, false },	 { "inet6_sendmsg", 3, 0, false, false },
	{ "inet_recvmsg", 4, 3, true, false },	 { "inet6_recvmsg", 4, 3, true, false },
	{ "inet_sendpage", 5, 0, false, false }, /* before 6.5 */
};

/* ---- programs --------------------------------------------------------------------------------------------------- */

struct net_code {
	struct bpf_insn at[INSNS_MAX];
	u32 nr;
	u32 outs[8], nr_outs; /* jumps to the end */
};

static void add(struct net_code *c, struct bpf_insn insn)
{
	if (c->nr < INSNS_MAX)
		c->at[c->nr++] = insn;
}

/* Jumps to the end, if so. */
static void out_if(struct net_code *c, u8 op, u8 reg, s32 value)
{
	c->outs[c->nr_outs++] = c->nr;
	add(c, INSN(BPF_JMP | op | BPF_K, reg, 0, 0, value));
}

static void add_map(struct net_code *c, int map)
{
	add(c, INSN(BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map));
	add(c, INSN(0, 0, 0, 0, 0));
}

static void add_number(struct net_code *c, u8 reg, u64 value)
{
	add(c, INSN(BPF_LD | BPF_DW | BPF_IMM, reg, 0, 0, (s32)(u32)value));
	add(c, INSN(0, 0, 0, 0, (s32)(value >> 32)));
}

enum { SLOT_KEY = -8, SLOT_SENT = -24, SLOT_RECEIVED = -16, SLOT_IDS = -32 };

/* The family of the sock in R1; others than IP are left out. */
static void only_ip(struct net_code *c, u32 family_at)
{
	add(c, MOV(R3, R1));
	add(c, ADD_IMM(R3, (s32)family_at));
	add(c, MOV_IMM(R2, sizeof(u16)));
	add(c, MOV(R1, R10));
	add(c, ADD_IMM(R1, SLOT_KEY));
	add(c, CALL(BPF_FUNC_probe_read_kernel));
	out_if(c, BPF_JNE, R0, 0);
	add(c, INSN(BPF_LDX | BPF_MEM | BPF_H, R1, R10, SLOT_KEY, 0));
	add(c, INSN(BPF_JMP | BPF_JEQ | BPF_K, R1, 0, 1, AF_INET));
	out_if(c, BPF_JNE, R1, AF_INET6);
}

/* R8: the process, R9: the thread, as this namespace numbers them. */
static void who(struct net_code *c, struct pid_ns ns)
{
	if (!ns.ino) {
		add(c, CALL(BPF_FUNC_get_current_pid_tgid));
		add(c, MOV(R8, R0));
		add(c, INSN(BPF_ALU64 | BPF_RSH | BPF_K, R8, 0, 0, 32));
		add(c, INSN(BPF_ALU | BPF_MOV | BPF_X, R9, R0, 0, 0));
		return;
	}
	add_number(c, R1, ns.dev);
	add_number(c, R2, ns.ino);
	add(c, MOV(R3, R10));
	add(c, ADD_IMM(R3, SLOT_IDS));
	add(c, MOV_IMM(R4, sizeof(struct bpf_pidns_info)));
	add(c, CALL(BPF_FUNC_get_ns_current_pid_tgid));
	out_if(c, BPF_JNE, R0, 0);
	add(c, INSN(BPF_LDX | BPF_MEM | BPF_W, R9, R10, SLOT_IDS, 0));
	add(c, INSN(BPF_LDX | BPF_MEM | BPF_W, R8, R10, SLOT_IDS + 4, 0));
}

/* Adds R7 to what the key in R8 or R9 has. */
static void count(struct net_code *c, int map, u8 key, bool received)
{
	add(c, STORE(R10, SLOT_KEY, key));
	add_map(c, map);
	add(c, MOV(R2, R10));
	add(c, ADD_IMM(R2, SLOT_KEY));
	add(c, CALL(BPF_FUNC_map_lookup_elem));
	u32 found = c->nr;
	add(c, INSN(BPF_JMP | BPF_JNE | BPF_K, R0, 0, 0, 0));
	add(c, INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, SLOT_SENT, 0));
	add(c, INSN(BPF_ST | BPF_MEM | BPF_DW, R10, 0, SLOT_RECEIVED, 0));
	add_map(c, map);
	add(c, MOV(R2, R10));
	add(c, ADD_IMM(R2, SLOT_KEY));
	add(c, MOV(R3, R10));
	add(c, ADD_IMM(R3, SLOT_SENT));
	add(c, MOV_IMM(R4, BPF_NOEXIST));
	add(c, CALL(BPF_FUNC_map_update_elem));
	add_map(c, map);
	add(c, MOV(R2, R10));
	add(c, ADD_IMM(R2, SLOT_KEY));
	add(c, CALL(BPF_FUNC_map_lookup_elem));
	add(c, INSN(BPF_JMP | BPF_JEQ | BPF_K, R0, 0, 1, 0));
	c->at[found].off = (s16)(c->nr - found - 1);
	add(c, INSN(BPF_STX | BPF_ATOMIC | BPF_DW, R0, R7,
		    received ? offsetof(struct net_bytes_count, received)
			     : offsetof(struct net_bytes_count, sent),
		    BPF_ADD));
}

static void make(struct net_code *c, const struct net_place *p, int map, u32 family_at,
		 struct pid_ns ns)
{
	*c = (struct net_code){ 0 };
	/* A result is an int. */
	add(c, LOAD(R7, R1, (s16)(p->ret * 8)));
	add(c, INSN(BPF_ALU64 | BPF_LSH | BPF_K, R7, 0, 0, 32));
	add(c, INSN(BPF_ALU64 | BPF_ARSH | BPF_K, R7, 0, 0, 32));
	out_if(c, BPF_JSLE, R7, 0);
	if (p->flags) {
		add(c, LOAD(R2, R1, (s16)(p->flags * 8)));
		out_if(c, BPF_JSET, R2, MSG_PEEK);
	}
	if (p->tracepoint) {
		add(c, LOAD(R1, R1, 0));
		only_ip(c, family_at);
	}
	who(c, ns);
	count(c, map, R8, p->received);
	/* The same number as a thread. */
	add_number(c, R1, 1ull << THREAD_SHIFT);
	add(c, INSN(BPF_ALU64 | BPF_OR | BPF_X, R9, R1, 0, 0));
	count(c, map, R9, p->received);
	for (u32 i = 0; i < c->nr_outs; i++)
		c->at[c->outs[i]].off = (s16)(c->nr - c->outs[i] - 1);
	add(c, MOV_IMM(R0, 0));
	add(c, EXIT());
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

static int attach(struct net_bytes *n, const struct net_place *p, u32 btf_id, u32 family_at,
		  struct pid_ns ns)
{
	struct net_code c;
	make(&c, p, n->map, family_at, ns);
	const struct bpfsys_prog prog = {
		.type = p->tracepoint ? BPF_PROG_TYPE_RAW_TRACEPOINT : BPF_PROG_TYPE_TRACING,
		.expected_attach_type = p->tracepoint ? 0 : BPF_TRACE_FEXIT,
		.name = p->received ? "sonde_received" : "sonde_sent",
		.insns = c.at,
		.nr_insns = c.nr,
		.license = "GPL",
		.attach_btf_id = btf_id
	};
	int fd = bpfsys_prog_load(&prog, 0, NULL);
	if (fd < 0)
		return fd;
	int link = p->tracepoint ? bpfsys_link_raw_tracepoint(fd, p->name, 0)
				 : bpfsys_link_tracing(fd, BPF_TRACE_FEXIT, 0);
	n->progs[n->nr] = fd;
	n->links[n->nr++] = link;
	return min(link, 0);
}

static void detach(struct net_bytes *n)
{
	for (u32 i = 0; i < n->nr; i++) {
		cleanup_close(&n->links[i]);
		cleanup_close(&n->progs[i]);
	}
	n->nr = 0;
}

/* Where struct sock has its family. */
static int find_family(struct btf *b, u32 *ret)
{
	struct btf_part sock, common;
	int err = 0;
	u32 id = btf_find(b, "sock", BTF_BIT(BTF_OF_STRUCT), &err);
	if (!id)
		return err ? err : -ENOENT;
	err = btf_find_member(b, id, "__sk_common", &sock);
	if (!err)
		err = btf_find_member(b, sock.type, "skc_family", &common);
	if (!err)
		*ret = (u32)(sock.bit_offset + common.bit_offset) / 8;
	return err;
}

static int attach_tracepoints(struct net_bytes *n, struct btf *b, struct pid_ns ns)
{
	u32 family_at;
	int err = find_family(b, &family_at);
	for (size_t i = 0; i < ARRAY_SIZE(tracepoints) && !err; i++)
		err = attach(n, &tracepoints[i], 0, family_at, ns);
	return err;
}

/* Functions that this kernel does not have are left out: it has no IPv6, or sends pages in another way. */
static int attach_functions(struct net_bytes *n, struct btf *b, struct pid_ns ns)
{
	int err = 0;
	for (size_t i = 0; i < ARRAY_SIZE(functions) && !err; i++) {
		u32 id;
		if (!btf_function_id(b, functions[i].name, &id))
			err = attach(n, &functions[i], id, 0, ns);
	}
	return err ? err : n->nr ? 0 : -EOPNOTSUPP;
}

void net_bytes_open(struct net_bytes *n, const struct sysroot *root)
{
	struct btf b;
	struct strbuf types;
	*n = (struct net_bytes){ .map = -1 };
	struct pid_ns ns = pid_ns_own(root);
	strbuf_init(&types);
	n->map =
		bpfsys_map_create(&(struct bpfsys_map){ .type = BPF_MAP_TYPE_LRU_HASH,
							.key_size = sizeof(u64),
							.value_size = sizeof(struct net_bytes_count),
							.max_entries = NET_BYTES_TASKS,
							.name = "sonde_net" });
	n->err = min(n->map, 0);
	if (!n->err)
		n->err = sysroot_read(root, "sys/kernel/btf/vmlinux", &types);
	bool has_types = !n->err && !(n->err = btf_open_memory(&b, types.data, types.len, NULL));
	if (has_types) {
		n->err = attach_tracepoints(n, &b, ns);
		if (n->err && n->err != -EPERM) {
			detach(n);
			n->err = attach_functions(n, &b, ns);
			/* Who may load the others may load these, if anybody may. */
			n->err = n->err == -EPERM ? -EOPNOTSUPP : n->err;
		}
		btf_close(&b);
	}
	strbuf_done(&types);
	if (!n->err)
		return;
	int err = n->err == -EPERM || n->err == -ENOMEM ? n->err : -EOPNOTSUPP;
	net_bytes_close(n);
	n->err = err;
}

void net_bytes_close(struct net_bytes *n)
{
	detach(n);
	cleanup_close(&n->map);
	n->map = -1;
}

/* ---- counts ----------------------------------------------------------------------------------------------------- */

static u64 key_of(struct net_bytes_task task)
{
	return (u64)(u32)task.id | (u64)task.thread << THREAD_SHIFT;
}

struct net_bytes_count net_bytes_of(const struct net_bytes *n, struct net_bytes_task task)
{
	struct net_bytes_count c = { 0 };
	u64 key = key_of(task);
	if (n->map < 0 || bpfsys_map_lookup(n->map, &key, &c))
		return (struct net_bytes_count){ 0 };
	return c;
}

void net_bytes_forget(const struct net_bytes *n, struct net_bytes_task task)
{
	u64 key = key_of(task);
	if (n->map >= 0)
		(void)!bpfsys_map_delete(n->map, &key);
}

int net_bytes_next(const struct net_bytes *n, u64 *cursor, struct net_bytes_task *ret)
{
	u64 next;
	if (n->map < 0 || bpfsys_map_next_key(n->map, *cursor ? cursor : NULL, &next))
		return 0;
	*cursor = next;
	*ret = (struct net_bytes_task){ (s32)(u32)next, next >> THREAD_SHIFT };
	return 1;
}
