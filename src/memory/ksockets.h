/* Sockets that a task has open. */
#pragma once

#include "memory/kfiles.h"

enum { KSOCKET_ADDRESS = 16 };

struct ksocket {
	u32 fd;
	u64 addr, sock; /* of its struct socket and struct sock */
	u16 family, type; /* AF_INET ..., SOCK_STREAM ... */
	bool has_ports; /* of AF_INET and AF_INET6: what follows is set */
	u16 source_port, destination_port;
	u8 source[KSOCKET_ADDRESS], destination[KSOCKET_ADDRESS]; /* 4 bytes or 16 */
};

/* 0: go on; 1: enough; negative errno: is returned. */
typedef int (*ksocket_fn)(void *ctx, const struct ksocket *socket);
/* -ENOENT with a diag: BTF lacks a member. */
int ksockets_each(struct kfiles *f, const struct ktask *task, ksocket_fn fn, void *ctx) must_check;
