/* BPF programs and maps with the addresses of their structures. */
#pragma once

#include "memory/walk.h"

enum { KBPF_NAME = 16, KBPF_MAPS = 64, KBPF_TAG = 8, KBPF_TYPE = 40 };

struct kbpf_prog {
	u64 addr, aux; /* of its struct bpf_prog and bpf_prog_aux */
	u32 id, type;
	u32 bytes; /* of its instructions as they were loaded: 8 for each */
	u32 jited_bytes;
	u64 function; /* its code */
	u8 tag[KBPF_TAG];
	char name[KBPF_NAME];
	u32 nr_maps; /* that it uses; more than there is room for below */
	u32 maps[KBPF_MAPS]; /* their numbers */
};

struct kbpf_map {
	u64 addr; /* of its struct bpf_map */
	u32 id, type, flags;
	u32 key_bytes, value_bytes, max_entries;
	char name[KBPF_NAME];
};

struct kbpf {
	struct kspace *k;
	struct {
		u64 aux, type, len, jited, tag, function; /* bpf_prog */
		u64 id, nr_maps, maps, name; /* bpf_prog_aux */
		u64 map_id, map_type, flags, key, value, max, map_name; /* bpf_map */
		u64 idr; /* idr.idr_rt */
	} at;
};

/* -ENOENT with a diag: BTF lacks a member. */
int kbpf_open(struct kbpf *b, struct kspace *k) must_check;
/* 0: go on; 1: enough; negative errno: is returned. */
typedef int (*kbpf_prog_fn)(void *ctx, const struct kbpf_prog *prog);
typedef int (*kbpf_map_fn)(void *ctx, const struct kbpf_map *map);
/* By number. -ENOENT with a diag: no way to them. */
int kbpf_each_prog(struct kbpf *b, kbpf_prog_fn fn, void *ctx) must_check;
int kbpf_each_map(struct kbpf *b, kbpf_map_fn fn, void *ctx) must_check;
/* "CGROUP_SKB", "HASH" as BTF has them; a number where it has not. */
void kbpf_type(struct kbpf *b, bool of_map, u32 type, char ret[KBPF_TYPE]);
