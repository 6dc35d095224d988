/* One run over a recording with events of kvm. */
#pragma once

#include "analysis/kvm_exits.h"
#include "session/symbols.h"

struct kvm_run {
	struct kvm_exits *exits;
	struct kvm_row *rows; /* sorted */
	size_t nr;
	struct kvm_totals totals;
	u64 nr_lost;
};

enum kvm_key { KVM_BY_COUNT, KVM_BY_TIME };

/* 0 or negative errno with a diag; kvm_run_done() in any case. */
int kvm_run(struct kvm_run *r, struct symbols *sy, const char *input,
	    const struct kvm_exits_env *env, enum kvm_key key) must_check;
void kvm_run_done(struct kvm_run *r);
