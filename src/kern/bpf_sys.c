#include "kern/bpf_sys.h"

#include "base/strbuf.h"
#include "kern/file_limit.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static u64 ptr(const void *p)
{
	return (u64)(uintptr_t)p;
}

static int call(int command, void *attr, u32 size)
{
	enum { TRIES = 5 }; /* the verifier gives up for a signal, and says EAGAIN */
	long rc = -1;
	for (int i = 0; i < TRIES; i++) {
		rc = syscall(__NR_bpf, command, attr, size);
		if (rc < 0 && errno == EMFILE && file_limit_raise())
			continue;
		if (rc >= 0 || errno != EAGAIN)
			break;
	}
	return rc < 0 ? -errno : (int)rc;
}

/* Fields beyond those that a command reads must be zero, and are. */
#define CALL(command, attr) call(command, &(attr), sizeof(attr))

void bpfsys_name(const char *name, char to[BPFSYS_NAME_SIZE])
{
	memset(to, 0, BPFSYS_NAME_SIZE);
	for (size_t i = 0; name && name[i] && i < BPFSYS_NAME_SIZE - 1; i++) {
		unsigned char c = (unsigned char)name[i];
		to[i] = c < 0x80 && (isalnum(c) || c == '.') ? (char)c : '_';
	}
}

int bpfsys_map_create(const struct bpfsys_map *m)
{
	union bpf_attr attr = { 0 };
	attr.map_type = m->type;
	attr.key_size = m->key_size;
	attr.value_size = m->value_size;
	attr.max_entries = m->max_entries;
	attr.map_flags = m->flags;
	bpfsys_name(m->name, attr.map_name);
	return CALL(BPF_MAP_CREATE, attr);
}

int bpfsys_map_lookup(int fd, const void *key, void *value)
{
	union bpf_attr attr = { .map_fd = (u32)fd, .key = ptr(key), .value = ptr(value) };
	return CALL(BPF_MAP_LOOKUP_ELEM, attr);
}

int bpfsys_map_update(int fd, const void *key, const void *value, u64 flags)
{
	union bpf_attr attr = {
		.map_fd = (u32)fd, .key = ptr(key), .value = ptr(value), .flags = flags
	};
	return CALL(BPF_MAP_UPDATE_ELEM, attr);
}

int bpfsys_map_delete(int fd, const void *key)
{
	union bpf_attr attr = { .map_fd = (u32)fd, .key = ptr(key) };
	return CALL(BPF_MAP_DELETE_ELEM, attr);
}

int bpfsys_map_next_key(int fd, const void *key, void *next)
{
	union bpf_attr attr = { .map_fd = (u32)fd, .key = ptr(key), .next_key = ptr(next) };
	return CALL(BPF_MAP_GET_NEXT_KEY, attr);
}

int bpfsys_map_lookup_batch(int fd, const void *cursor, void *next, void *keys, void *values,
			    u32 *nr)
{
	union bpf_attr attr = { 0 };
	attr.batch.map_fd = (u32)fd;
	attr.batch.in_batch = ptr(cursor);
	attr.batch.out_batch = ptr(next);
	attr.batch.keys = ptr(keys);
	attr.batch.values = ptr(values);
	attr.batch.count = *nr;
	int rc = CALL(BPF_MAP_LOOKUP_BATCH, attr);
	*nr = rc && rc != -ENOENT ? 0 : attr.batch.count;
	return rc;
}

int bpfsys_map_freeze(int fd)
{
	union bpf_attr attr = { .map_fd = (u32)fd };
	return CALL(BPF_MAP_FREEZE, attr);
}

static void prog_attr(const struct bpfsys_prog *p, union bpf_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->prog_type = p->type;
	attr->expected_attach_type = p->expected_attach_type;
	attr->insns = ptr(p->insns);
	attr->insn_cnt = p->nr_insns;
	attr->license = ptr(p->license);
	attr->prog_flags = p->flags;
	attr->attach_btf_id = p->attach_btf_id;
	if (p->attach_btf_fd)
		attr->attach_btf_obj_fd = (u32)p->attach_btf_fd;
	if (p->nr_funcs) {
		attr->prog_btf_fd = (u32)p->btf_fd;
		attr->func_info_rec_size = sizeof(*p->funcs);
		attr->func_info = ptr(p->funcs);
		attr->func_info_cnt = p->nr_funcs;
	}
	bpfsys_name(p->name, attr->prog_name);
}

int bpfsys_prog_load(const struct bpfsys_prog *p, u32 level, char **log)
{
	union bpf_attr attr;
	prog_attr(p, &attr);
	if (!log)
		return CALL(BPF_PROG_LOAD, attr);
	*log = NULL;
	/* Kernels before 6.4 fail with ENOSPC when the text does not fit; later ones keep its end. */
	enum { FIRST = 64 << 10, LARGEST = 16 << 20 };
	for (size_t size = FIRST; size <= LARGEST; size *= 4) {
		char *text = calloc(1, size);
		if (!text)
			return -ENOMEM;
		attr.log_level = level;
		attr.log_buf = ptr(text);
		attr.log_size = (u32)size;
		int rc = CALL(BPF_PROG_LOAD, attr);
		free(*log);
		*log = text;
		if (rc != -ENOSPC)
			return rc;
	}
	return -ENOSPC;
}

int bpfsys_btf_load(const void *data, u32 size)
{
	union bpf_attr attr = { .btf = ptr(data), .btf_size = size };
	return CALL(BPF_BTF_LOAD, attr);
}

int bpfsys_test_run(int prog, u32 *status)
{
	union bpf_attr attr = { 0 };
	attr.test.prog_fd = (u32)prog;
	int rc = CALL(BPF_PROG_TEST_RUN, attr);
	if (!rc)
		*status = attr.test.retval;
	return rc;
}

int bpfsys_link_raw_tracepoint(int prog, const char *name, u64 cookie)
{
	struct {
		u64 name;
		u32 prog, pad;
		u64 cookie;
	} attr = { .name = ptr(name), .prog = (u32)prog, .cookie = cookie };
	/* The cookie came with 6.10: an older kernel takes no bytes that are not zero after what it knows. */
	return CALL(BPF_RAW_TRACEPOINT_OPEN, attr);
}

/* link_create of union bpf_attr, which the headers of distributions know the beginning of. */
struct link_attr {
	u32 prog, target, attach_type, flags;
	union {
		struct {
			u32 btf_id, pad;
			u64 cookie;
		} tracing;
		u64 perf_cookie;
		struct {
			u32 flags, nr;
			u64 symbols, addresses, cookies;
		} kprobe_multi;
		struct {
			u64 path, offsets, ref_ctr_offsets, cookies;
			u32 nr, flags, pid, pad;
		} uprobe_multi;
	};
};

int bpfsys_link_tracing(int prog, u32 attach_type, u64 cookie)
{
	struct link_attr attr = { .prog = (u32)prog,
				  .attach_type = attach_type,
				  .tracing.cookie = cookie };
	return CALL(BPF_LINK_CREATE, attr);
}

int bpfsys_link_perf_event(int prog, int perf_fd, u64 cookie)
{
	struct link_attr attr = { .prog = (u32)prog,
				  .target = (u32)perf_fd,
				  .attach_type = BPF_PERF_EVENT,
				  .perf_cookie = cookie };
	return CALL(BPF_LINK_CREATE, attr);
}

int bpfsys_link_kprobe_multi(int prog, const struct bpfsys_kprobe_multi *m)
{
	struct link_attr attr = {
		.prog = (u32)prog,
		.attach_type = m->attach_type,
		.kprobe_multi = { .flags = m->flags,
				  .nr = m->nr,
				  .symbols = ptr(m->symbols),
				  .addresses = ptr(m->addresses),
				  .cookies = ptr(m->cookies) },
	};
	return CALL(BPF_LINK_CREATE, attr);
}

int bpfsys_link_uprobe_multi(int prog, const struct bpfsys_uprobe_multi *m)
{
	struct link_attr attr = {
		.prog = (u32)prog,
		.attach_type = m->attach_type,
		.uprobe_multi = { .path = ptr(m->path),
				  .offsets = ptr(m->offsets),
				  .ref_ctr_offsets = ptr(m->ref_ctr_offsets),
				  .cookies = ptr(m->cookies),
				  .nr = m->nr,
				  .flags = m->flags,
				  .pid = m->pid },
	};
	return CALL(BPF_LINK_CREATE, attr);
}

int bpfsys_link_iter(int prog)
{
	struct link_attr attr = { .prog = (u32)prog, .attach_type = BPF_TRACE_ITER };
	return CALL(BPF_LINK_CREATE, attr);
}

int bpfsys_perf_event_set(int perf_fd, int prog)
{
	return ioctl(perf_fd, PERF_EVENT_IOC_SET_BPF, prog) ? -errno : 0;
}

int bpfsys_iter_open(int link)
{
	union bpf_attr attr = { 0 };
	attr.iter_create.link_fd = (u32)link;
	return CALL(BPF_ITER_CREATE, attr);
}

int bpfsys_next_id(enum bpfsys_kind kind, u32 id, u32 *next)
{
	static const int commands[] = {
		[BPFSYS_PROG] = BPF_PROG_GET_NEXT_ID,
		[BPFSYS_MAP] = BPF_MAP_GET_NEXT_ID,
		[BPFSYS_LINK] = BPF_LINK_GET_NEXT_ID,
		[BPFSYS_BTF] = BPF_BTF_GET_NEXT_ID,
	};
	union bpf_attr attr = { .start_id = id };
	int rc = CALL(commands[kind], attr);
	if (!rc)
		*next = attr.next_id;
	return rc;
}

int bpfsys_by_id(enum bpfsys_kind kind, u32 id)
{
	static const int commands[] = {
		[BPFSYS_PROG] = BPF_PROG_GET_FD_BY_ID,
		[BPFSYS_MAP] = BPF_MAP_GET_FD_BY_ID,
		[BPFSYS_LINK] = BPF_LINK_GET_FD_BY_ID,
		[BPFSYS_BTF] = BPF_BTF_GET_FD_BY_ID,
	};
	union bpf_attr attr = { .prog_id = id };
	return CALL(commands[kind], attr);
}

int bpfsys_info(int fd, void *info, u32 size)
{
	union bpf_attr attr = { 0 };
	attr.info.bpf_fd = (u32)fd;
	attr.info.info_len = size;
	attr.info.info = ptr(info);
	return CALL(BPF_OBJ_GET_INFO_BY_FD, attr);
}
