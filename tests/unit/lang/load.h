/* A small loader for tests: maps and codes of a program into the kernel, one code run, maps and records read back. */
#pragma once

#include "lang/compile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct loaded {
	int map_fds[64];
	int code_fds[64];
	u32 nr_maps, nr_codes;
};

static inline int sys_bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static inline u32 load_type(enum program_provider p)
{
	switch (p) {
	case PROGRAM_TRACEPOINT: return BPF_PROG_TYPE_TRACEPOINT;
	case PROGRAM_KPROBE:
	case PROGRAM_KRETPROBE:
	case PROGRAM_UPROBE:
	case PROGRAM_URETPROBE:
	case PROGRAM_USDT: return BPF_PROG_TYPE_KPROBE;
	case PROGRAM_INTERVAL:
	case PROGRAM_PROFILE:
	case PROGRAM_SOFTWARE:
	case PROGRAM_HARDWARE: return BPF_PROG_TYPE_PERF_EVENT;
	case PROGRAM_FENTRY:
	case PROGRAM_FEXIT: return BPF_PROG_TYPE_TRACING;
	default: return BPF_PROG_TYPE_RAW_TRACEPOINT;
	}
}

static inline int load_map(const struct program_map *m)
{
	union bpf_attr a = { .map_type = m->type,
			     .key_size = m->key_size,
			     .value_size = m->value_size,
			     .max_entries = m->max_entries,
			     .map_flags = m->flags };
	if (m->role == PROGRAM_MAP_RING)
		a.max_entries = 1 << 20;
	int fd = sys_bpf(BPF_MAP_CREATE, &a);
	if (fd < 0) {
		fprintf(stderr, "# map %s type %u key %u value %u: %s\n", m->name, m->type,
			m->key_size, m->value_size, strerror(errno));
		return -errno;
	}
	if (m->init) {
		u32 key = 0;
		union bpf_attr u = { .map_fd = (u32)fd };
		u.key = (u64)(uintptr_t)&key;
		u.value = (u64)(uintptr_t)m->init;
		if (sys_bpf(BPF_MAP_UPDATE_ELEM, &u))
			return -errno;
		union bpf_attr f = { .map_fd = (u32)fd };
		if (sys_bpf(BPF_MAP_FREEZE, &f))
			return -errno;
	}
	return fd;
}

static inline int load_code(const struct program *p, const struct program_probe *probe,
			    const int *map_fds)
{
	static char log[1 << 22];
	const struct program_code *c = &p->codes.at[probe->code];
	struct bpf_insn *insns = malloc(c->nr * sizeof(*insns));
	if (!insns)
		return -ENOMEM;
	memcpy(insns, c->insns, c->nr * sizeof(*insns));
	for (u32 i = 0; i < c->nr_relocs; i++)
		insns[c->relocs[i].insn].imm = map_fds[c->relocs[i].map];
	union bpf_attr a = { .prog_type = load_type(probe->provider), .insn_cnt = c->nr };
	a.insns = (u64)(uintptr_t)insns;
	if (a.prog_type == BPF_PROG_TYPE_TRACING) {
		a.attach_btf_id = probe->btf_id;
		a.expected_attach_type =
			probe->provider == PROGRAM_FENTRY ? BPF_TRACE_FENTRY : BPF_TRACE_FEXIT;
	}
	int btf = -1;
	if (c->funcs) {
		union bpf_attr b = { .btf_size = p->btf_size };
		b.btf = (u64)(uintptr_t)p->btf;
		btf = sys_bpf(BPF_BTF_LOAD, &b);
		a.prog_btf_fd = (u32)btf;
		a.func_info = (u64)(uintptr_t)c->funcs;
		a.func_info_rec_size = sizeof(*c->funcs);
		a.func_info_cnt = c->nr_funcs;
	}
	a.license = (u64)(uintptr_t) "GPL";
	snprintf(a.prog_name, sizeof(a.prog_name), "%s", c->name);
	int fd = sys_bpf(BPF_PROG_LOAD, &a);
	if (fd < 0) {
		int err = errno;
		log[0] = 0;
		a.log_level = 1;
		a.log_size = sizeof(log);
		a.log_buf = (u64)(uintptr_t)log;
		(void)!sys_bpf(BPF_PROG_LOAD, &a);
		size_t len = strlen(log);
		if (err != EPERM || log[0])
			fprintf(stderr, "# %s: %s\n%s\n", probe->text, strerror(err),
				len > 6000 ? log + len - 6000 : log);
		fd = -err;
	}
	if (btf >= 0)
		close(btf);
	free(insns);
	return fd;
}

static inline void unload(struct loaded *l)
{
	for (u32 i = 0; i < l->nr_codes; i++)
		close(l->code_fds[i]);
	for (u32 i = 0; i < l->nr_maps; i++)
		close(l->map_fds[i]);
	*l = (struct loaded){ 0 };
}

/* 0, or negative errno of the first that failed, with the verifier's words on stderr. */
static inline int load_program(const struct program *p, struct loaded *l)
{
	*l = (struct loaded){ 0 };
	if (p->maps.nr > 64 || p->probes.nr > 64)
		return -E2BIG;
	vec_for_each (&p->maps, m) {
		int fd = load_map(m);
		if (fd < 0)
			return fd;
		l->map_fds[l->nr_maps++] = fd;
	}
	vec_for_each (&p->probes, probe) {
		int fd = load_code(p, probe, l->map_fds);
		if (fd < 0)
			return fd;
		l->code_fds[l->nr_codes++] = fd;
	}
	return 0;
}

static inline int run_code(const struct loaded *l, u32 code)
{
	union bpf_attr a = { .test = { .prog_fd = (u32)l->code_fds[code] } };
	return sys_bpf(BPF_PROG_TEST_RUN, &a) ? -errno : 0;
}

static inline int map_read(const struct loaded *l, u32 map, const void *key, void *value)
{
	union bpf_attr a = { .map_fd = (u32)l->map_fds[map] };
	a.key = (u64)(uintptr_t)key;
	a.value = (u64)(uintptr_t)value;
	return sys_bpf(BPF_MAP_LOOKUP_ELEM, &a) ? -errno : 0;
}
