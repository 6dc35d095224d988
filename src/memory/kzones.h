/*
 * Nodes of memory and their zones with their counters, and how memory is used in all. No symbol is needed: each node's kswapd knows its node.
 */
#pragma once

#include "memory/ktasks.h"

enum { KZONE_NAME = 16, KZONE_ITEMS = 96, KZONES = 8 };

/* A counter of pages, by the number it has in enum zone_stat_item or node_stat_item. */
struct kzone_counters {
	u32 nr;
	s64 pages[KZONE_ITEMS];
};

struct kzone {
	u64 addr; /* of its struct zone */
	char name[KZONE_NAME];
	u64 start_pfn, spanned, present, managed;
	u64 min, low, high; /* watermarks */
	struct kzone_counters counters;
};

struct kzone_node {
	u64 addr; /* of its struct pglist_data */
	s32 number;
	u32 nr_zones;
	struct kzone zones[KZONES];
	struct kzone_counters counters;
};

struct kzones {
	struct kspace *k;
	u64 worker, data; /* task_struct.worker_private, kthread.data */
	u64 zones, node_id, kswapd, node_stat; /* pglist_data */
	u64 name, start_pfn, spanned, present, managed, watermark, zone_stat; /* zone */
	u64 zone_bytes;
	u32 zones_max, nr_zone_items, nr_node_items;
};

/* 0: go on; 1: enough; negative errno: is returned. */
typedef int (*kzone_node_fn)(void *ctx, const struct kzone_node *node);
/* -ENOENT with a diag: BTF lacks a member, or no node was found. */
int kzones_open(struct kzones *z, struct kspace *k) must_check;
int kzones_each(struct kzones *z, kzone_node_fn fn, void *ctx) must_check;
/* "NR_FREE_PAGES"; NULL: none of this number. Borrowed from BTF. */
const char *kzones_item_name(struct kzones *z, bool of_node, u32 n);

enum kusage_item {
	KUSAGE_TOTAL,
	KUSAGE_FREE,
	KUSAGE_SHARED,
	KUSAGE_BUFFERS,
	KUSAGE_CACHED, /* of a dump with the buffers */
	KUSAGE_SLAB,
	KUSAGE_HUGE_TOTAL,
	KUSAGE_HUGE_FREE,
	KUSAGE_SWAP_TOTAL,
	KUSAGE_SWAP_FREE,
	KUSAGE_COMMIT_LIMIT,
	KUSAGE_COMMITTED,
	KUSAGE_ITEMS,
};
struct kusage {
	bool has[KUSAGE_ITEMS];
	u64 bytes[KUSAGE_ITEMS];
};
/* Of the running kernel from /proc/meminfo, of a dump from its zones. Negative errno with a diag. */
int kusage_read(struct kspace *k, struct kusage *ret) must_check;
