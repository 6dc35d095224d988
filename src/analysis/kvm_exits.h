/*
 * The time between leaving a guest and going back into it, by reason; accesses to devices (MMIO) and ports likewise. Each thread is one virtual
 * CPU and handles one of them at a time:
 *
 *	exits   kvm_exit ─► kvm_entry
 *	MMIO    kvm_mmio (write) ─► kvm_entry, kvm_exit ─► kvm_mmio (read)
 *	ports   kvm_pio ─► kvm_entry
 *
 * Names of reasons come from the event's print format, for the instruction set recorded in the event, whatever machine reads the recording.
 */
#pragma once

#include "model/kvm.h"
#include "model/source.h"

struct kvm_exits_env {
	enum kvm_kind kind;
	s64 vcpu; /* -1: all */
	const s32 *pids; /* only these processes; nr 0: all; borrowed */
	size_t nr_pids;
};

struct kvm_exits;

struct kvm_exits *kvm_exits_new(const struct kvm_exits_env *env); /* NULL: no memory */
void kvm_exits_free(struct kvm_exits *k);
/* For one run with one worker: events in time order. */
struct sink *kvm_exits_sink(struct kvm_exits *k);
/* After the run; to be sorted in place. */
struct kvm_row *kvm_exits_rows(struct kvm_exits *k, size_t *nr);
struct kvm_totals kvm_exits_totals(const struct kvm_exits *k);
