/* Interrupts: their descriptors, what handles them, where they may go and how many there were; softirqs and the interrupt table. */
#pragma once

#include "base/cpuset.h"
#include "memory/walk.h"

enum { KIRQ_NAME = 64, KIRQ_ACTIONS = 16 };

struct kirq_action {
	u64 addr, handler; /* of its struct irqaction; the function */
	char name[KIRQ_NAME];
};

struct kirq {
	u32 number;
	u64 addr; /* of its struct irq_desc */
	char chip[KIRQ_NAME], flow[KIRQ_NAME]; /* "IO-APIC", "edge"; "" for none */
	struct cpuset affinity;
	u32 nr_actions; /* 0: nobody uses it */
	bool more_actions; /* than there is room for */
	struct kirq_action actions[KIRQ_ACTIONS];
};

struct kirq_place {
	u32 number;
	u64 addr;
};

struct kirqs {
	struct kspace *k;
	struct {
		u64 number, chip, action, name, counts; /* irq_desc */
		u64 affinity, kobj;
		u64 handler, next, action_name; /* irqaction */
		u64 chip_name;
	} at;
	bool affinity_is_pointer;
	VEC(struct kirq_place) places; /* by number */
};

/* -ENOENT with a diag: BTF lacks a member, or there is no way to the descriptors. */
int kirqs_open(struct kirqs *s, struct kspace *k) must_check;
void kirqs_close(struct kirqs *s);
/* -EFAULT: it has gone. */
int kirqs_read(struct kirqs *s, const struct kirq_place *p, struct kirq *ret) must_check;
/* How often it came on each of the CPUs that may exist: kspace_nr_cpus() of them. -ENOENT: not known. */
int kirqs_counts(struct kirqs *s, const struct kirq_place *p, u64 *counts) must_check;

enum { KIRQ_VECTORS = 256 };
/* Where each vector of the x86 interrupt table leads; 0: not present. -ENOTSUP with a diag: not x86. */
int kirqs_table(struct kspace *k, u64 handlers[KIRQ_VECTORS]) must_check;
