#include "kern/taskstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPLY_ROOM = 2048 };

struct genl_request {
	struct nlmsghdr head;
	struct genlmsghdr command;
	u8 attrs[64];
};

struct genl_reply {
	u8 bytes[REPLY_ROOM];
	size_t len;
};

/* The payload of the first attribute of this type, of at least so many bytes, in [at, end); NULL: none. */
static const u8 *find_attr(const u8 *at, const u8 *end, u16 type, size_t least, size_t *len)
{
	while ((size_t)(end - at) >= sizeof(struct nlattr)) {
		struct nlattr a;
		memcpy(&a, at, sizeof(a));
		if (a.nla_len < sizeof(a) || a.nla_len > (size_t)(end - at))
			return NULL;
		if ((a.nla_type & NLA_TYPE_MASK) == type && a.nla_len - sizeof(a) >= least) {
			*len = a.nla_len - sizeof(a);
			return at + sizeof(a);
		}
		size_t step = NLA_ALIGN(a.nla_len);
		if (step > (size_t)(end - at))
			return NULL;
		at += step;
	}
	return NULL;
}

/* Sends a request with one attribute, and waits for its answer: 0 or negative errno. */
static int ask(struct taskstats_socket *t, u16 family, u8 command, u16 attr, const void *value,
	       size_t size, u16 flags, struct genl_reply *ret)
{
	struct genl_request r = { .command = { .cmd = command, .version = 1 } };
	struct nlattr a = { .nla_len = (u16)(sizeof(a) + size), .nla_type = attr };
	memcpy(r.attrs, &a, sizeof(a));
	memcpy(r.attrs + sizeof(a), value, size);
	r.head = (struct nlmsghdr){
		.nlmsg_len = (u32)(NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(a.nla_len)),
		.nlmsg_type = family,
		.nlmsg_flags = NLM_F_REQUEST | flags,
		.nlmsg_seq = ++t->sequence,
	};
	if (send(t->fd, &r, r.head.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t n = recv(t->fd, ret->bytes, sizeof(ret->bytes), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		struct nlmsghdr h;
		if ((size_t)n < sizeof(h))
			return -EPROTO;
		memcpy(&h, ret->bytes, sizeof(h));
		if (h.nlmsg_seq != t->sequence) /* of a question that was given up */
			continue;
		if (h.nlmsg_len > (size_t)n || h.nlmsg_len < sizeof(h))
			return -EPROTO;
		ret->len = h.nlmsg_len;
		if (h.nlmsg_type != NLMSG_ERROR)
			return h.nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN ? -EPROTO : 0;
		s32 err = -EPROTO;
		if (h.nlmsg_len >= sizeof(h) + sizeof(err))
			memcpy(&err, ret->bytes + sizeof(h), sizeof(err));
		return err || flags & NLM_F_ACK ? err : -EPROTO;
	}
}

int taskstats_open(struct taskstats_socket *t)
{
	struct genl_reply r;
	size_t len;
	*t = (struct taskstats_socket){ .fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
						     NETLINK_GENERIC) };
	if (t->fd < 0)
		return -errno;
	int err = ask(t, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
		      TASKSTATS_GENL_NAME, sizeof(TASKSTATS_GENL_NAME), 0, &r);
	const u8 *id = err ? NULL
			   : find_attr(r.bytes + NLMSG_HDRLEN + GENL_HDRLEN, r.bytes + r.len,
				       CTRL_ATTR_FAMILY_ID, sizeof(u16), &len);
	if (id)
		memcpy(&t->family, id, sizeof(u16));
	else
		taskstats_close(t);
	return id ? 0 : err ? err : -EPROTO;
}

void taskstats_close(struct taskstats_socket *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

int taskstats_get(struct taskstats_socket *t, s32 id, bool group, struct task_delays *ret)
{
	struct genl_reply r;
	size_t len, nest_len;
	u32 value = (u32)id;
	int err = ask(t, t->family, TASKSTATS_CMD_GET,
		      group ? TASKSTATS_CMD_ATTR_TGID : TASKSTATS_CMD_ATTR_PID, &value,
		      sizeof(value), 0, &r);
	if (err)
		return err;
	/* The kernel's struct only ever grows at its end, the version says by how much: these members were in the first one. */
	const u8 *nest =
		find_attr(r.bytes + NLMSG_HDRLEN + GENL_HDRLEN, r.bytes + r.len,
			  group ? TASKSTATS_TYPE_AGGR_TGID : TASKSTATS_TYPE_AGGR_PID, 0, &nest_len);
	size_t least = offsetof(struct taskstats, swapin_delay_total) + sizeof(u64);
	const u8 *stats =
		nest ? find_attr(nest, nest + nest_len, TASKSTATS_TYPE_STATS, least, &len) : NULL;
	if (!stats)
		return -EPROTO;
	memcpy(&ret->block_ns, stats + offsetof(struct taskstats, blkio_delay_total), sizeof(u64));
	memcpy(&ret->swapin_ns, stats + offsetof(struct taskstats, swapin_delay_total), sizeof(u64));
	return 0;
}

/* ---- tasks that end ---- */

int taskstats_listen(struct taskstats_socket *t, u32 nr_cpus)
{
	enum { ROOM = 4 << 20 };
	char mask[24];
	int size = ROOM;
	struct genl_reply r;
	int n = snprintf(mask, sizeof(mask), "0-%u", nr_cpus ? nr_cpus - 1 : 0);
	/* A machine that compiles ends thousands of tasks a second. */
	if (setsockopt(t->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		(void)setsockopt(t->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	return ask(t, t->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, mask,
		   (size_t)n + 1, NLM_F_ACK, &r);
}

static u64 stat_u64(const u8 *stats, size_t len, size_t at)
{
	u64 v = 0;
	if (at + sizeof(v) <= len)
		memcpy(&v, stats + at, sizeof(v));
	return v;
}

static u32 stat_u32(const u8 *stats, size_t len, size_t at)
{
	u32 v = 0;
	if (at + sizeof(v) <= len)
		memcpy(&v, stats + at, sizeof(v));
	return v;
}

#define STAT_U64(m) stat_u64(stats, size, offsetof(struct taskstats, m))
#define STAT_U32(m) stat_u32(stats, size, offsetof(struct taskstats, m))

bool taskstats_parse_end(const u8 *data, size_t len, struct task_end *ret, bool *no_tgid)
{
	enum { HEAD = NLMSG_HDRLEN + GENL_HDRLEN, USEC = 1000 };
	size_t nest_len, size;
	*no_tgid = false;
	if (len < HEAD)
		return false;
	/* The last thread of a process brings the delays of all of them along, in a second part. */
	const u8 *nest = find_attr(data + HEAD, data + len, TASKSTATS_TYPE_AGGR_PID, 0, &nest_len);
	const u8 *stats =
		nest ? find_attr(nest, nest + nest_len, TASKSTATS_TYPE_STATS,
				 offsetof(struct taskstats, ac_majflt) + sizeof(u64), &size)
		     : NULL;
	if (!stats)
		return false;
	*no_tgid = size < offsetof(struct taskstats, ac_tgid) + sizeof(u32);
	*ret = (struct task_end){ .pid = (s32)STAT_U32(ac_tgid),
				  .tid = (s32)STAT_U32(ac_pid),
				  .ppid = (s32)STAT_U32(ac_ppid),
				  .uid = STAT_U32(ac_uid),
				  .gid = STAT_U32(ac_gid),
				  .nice = (s8)stats[offsetof(struct taskstats, ac_nice)],
				  .cpu_ns = (STAT_U64(ac_utime) + STAT_U64(ac_stime)) * USEC,
				  .lived_ns = STAT_U64(ac_etime) * USEC,
				  .min_faults = STAT_U64(ac_minflt),
				  .maj_faults = STAT_U64(ac_majflt),
				  .read_bytes = STAT_U64(read_bytes),
				  .write_bytes = STAT_U64(write_bytes) };
	/* The scheduler's own sum, where the kernel has delay accounting; the other one is counted in ticks. */
	u64 exact_ns = STAT_U64(cpu_run_virtual_total);
	if (exact_ns)
		ret->cpu_ns = exact_ns;
	memcpy(ret->comm, stats + offsetof(struct taskstats, ac_comm), TS_COMM_LEN);
	ret->comm[TS_COMM_LEN] = '\0';
	return true;
}

int taskstats_next_end(struct taskstats_socket *t, struct task_end *ret)
{
	u8 bytes[REPLY_ROOM];
	for (;;) {
		ssize_t n = recv(t->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		bool no_tgid;
		if (!taskstats_parse_end(bytes, (size_t)n, ret, &no_tgid))
			continue;
		return no_tgid ? -ENOTSUP : 1;
	}
}
