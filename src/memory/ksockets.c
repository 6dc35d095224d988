/*
 *	file.private_data = socket ─► sock.__sk_common: family, addresses and ports
 */
#include "memory/ksockets.h"

#include "memory/eval.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct socket_walk {
	struct kspace *k;
	ksocket_fn fn;
	void *ctx;
	u64 data, sock, type; /* file, socket */
	u64 family, source_port, destination_port, source, destination; /* sock */
	u64 source6, destination6; /* EVAL_NO_OFFSET: a kernel without IPv6 */
};

static int read_all(struct kspace *k, struct memory_piece *pieces, size_t nr)
{
	int err = memory_read_pieces(k->memory, pieces, nr);
	for (size_t n = 0; !err && n < nr; n++)
		err = pieces[n].err;
	return err;
}

static int read_addresses(struct socket_walk *w, struct ksocket *s)
{
	enum { V4_BYTES = 4 };
	bool v6 = s->family == AF_INET6;
	u32 bytes = v6 ? KSOCKET_ADDRESS : V4_BYTES;
	u16 port;
	if (s->family != AF_INET && (!v6 || w->source6 == EVAL_NO_OFFSET))
		return 0;
	struct memory_piece pieces[] = {
		{ s->sock + w->source_port, &s->source_port, sizeof(u16), 0 },
		{ s->sock + w->destination_port, &port, sizeof(port), 0 },
		{ s->sock + (v6 ? w->source6 : w->source), s->source, bytes, 0 },
		{ s->sock + (v6 ? w->destination6 : w->destination), s->destination, bytes, 0 },
	};
	int err = read_all(w->k, pieces, ARRAY_SIZE(pieces));
	/* Ours is in the CPU's byte order, the other side's in the network's. */
	s->destination_port = __builtin_bswap16(port);
	s->has_ports = !err;
	return err;
}

static int each_file(void *ctx, const struct kfile *f)
{
	struct socket_walk *w = ctx;
	struct ksocket s = { .fd = f->fd };
	if (!S_ISSOCK(f->mode))
		return 0;
	int err = memory_read(w->k->memory, f->addr + w->data, &s.addr, sizeof(s.addr));
	struct memory_piece pieces[] = {
		{ s.addr + w->sock, &s.sock, sizeof(s.sock), 0 },
		{ s.addr + w->type, &s.type, sizeof(s.type), 0 },
	};
	if (!err)
		err = read_all(w->k, pieces, ARRAY_SIZE(pieces));
	if (!err && s.sock)
		err = memory_read(w->k->memory, s.sock + w->family, &s.family, sizeof(s.family));
	if (!err && s.sock)
		err = read_addresses(w, &s);
	if (err)
		return err == -EFAULT ? 0 : err; /* it was closed */
	return w->fn(w->ctx, &s);
}

int ksockets_each(struct kfiles *f, const struct ktask *task, ksocket_fn fn, void *ctx)
{
	struct socket_walk w = { .k = f->k, .fn = fn, .ctx = ctx };
	const struct eval_offset rows[] = {
		{ "file", "private_data", &w.data },
		{ "socket", "sk", &w.sock },
		{ "socket", "type", &w.type },
		{ "sock", "__sk_common.skc_family", &w.family },
		{ "sock", "__sk_common.skc_num", &w.source_port },
		{ "sock", "__sk_common.skc_dport", &w.destination_port },
		{ "sock", "__sk_common.skc_rcv_saddr", &w.source },
		{ "sock", "__sk_common.skc_daddr", &w.destination },
		{ "sock", "__sk_common.skc_v6_rcv_saddr", &w.source6, true },
		{ "sock", "__sk_common.skc_v6_daddr", &w.destination6, true },
	};
	int err = eval_offsets(f->k, rows, ARRAY_SIZE(rows));
	return err ? err : kfiles_each(f, task, each_file, &w);
}
