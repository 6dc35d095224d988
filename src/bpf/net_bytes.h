/*
 * Bytes that processes send and receive over IPv4 and IPv6, whatever the protocol: counted in the kernel where a socket call has ended, for the
 * task that made it, as long as this is open. What the kernel sends by itself (retransmissions, acknowledgements, headers) belongs to no
 * process and is not counted; what is only looked at (MSG_PEEK) is not, either.
 *
 *	sock_send_length, sock_recv_length     tracepoints, where there are (6.3)
 *	inet_sendmsg, inet_recvmsg ...         else the ends of these functions
 *
 * A program for each adds to a map of tasks; the longest unused ones make room for others.
 */
#pragma once

#include "base/diag.h"
#include "kern/sysroot.h"

enum { NET_BYTES_TASKS = 65536, NET_BYTES_PLACES = 6 };

struct net_bytes {
	int map;
	int progs[NET_BYTES_PLACES], links[NET_BYTES_PLACES];
	u32 nr;
	int err; /* why nothing is counted; 0: all is */
};

/* A process, or one thread. */
struct net_bytes_task {
	s32 id;
	bool thread;
};

struct net_bytes_count {
	u64 sent, received;
};

/* Failing is no error: .err says why (-EPERM: no right to load programs; -EOPNOTSUPP: this kernel has neither). */
void net_bytes_open(struct net_bytes *n, const struct sysroot *root);
void net_bytes_close(struct net_bytes *n);
/* Since it was opened. */
struct net_bytes_count net_bytes_of(const struct net_bytes *n, struct net_bytes_task task);
/* It is gone: its number may be given to another one. */
void net_bytes_forget(const struct net_bytes *n, struct net_bytes_task task);
/* All that were counted, one after the other: 1, or 0 after the last. *cursor: 0 at the start. */
int net_bytes_next(const struct net_bytes *n, u64 *cursor, struct net_bytes_task *ret);
