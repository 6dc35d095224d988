/* Why virtual CPUs leave the guest, and how long it takes: counted by analysis/kvm_exits, printed by view/text_kvm. */
#pragma once

#include "base/types.h"

enum kvm_kind { KVM_EXITS, KVM_MMIO, KVM_PORTS };

struct kvm_row {
	u64 key; /* reason, address or port */
	u32 set; /* reasons: 1 VMX, 2 SVM, 0 another one; MMIO and ports: 1 write, 0 read */
	const char *name; /* of a reason; NULL: not known */
	u64 nr, total_ns, min_ns, max_ns;
	double mean_ns, squares; /* sum of the squared differences to the mean */
};

struct kvm_totals {
	u64 nr, total_ns;
	u64 nr_events; /* kvm events, used or not */
	u64 nr_open; /* whose end is not in the recording */
};
