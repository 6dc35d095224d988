/* Why virtual CPUs leave the guest, as `perf kvm stat report` prints it. */
#pragma once

#include "base/strbuf.h"
#include "model/kvm.h"

void text_kvm_table(const struct kvm_row *rows, size_t nr, const struct kvm_totals *t,
		    enum kvm_kind kind, struct strbuf *to);
/* "0x3f8:POUT", "HLT" */
void text_kvm_name(const struct kvm_row *r, enum kvm_kind kind, struct strbuf *to);
/* Standard error of the mean, in percent of it. */
double text_kvm_error(const struct kvm_row *r);
