#include "view/text_kvm.h"

#include "base/printable.h"

#include <math.h>

enum { NAME_WIDTH = 20 };

double text_kvm_error(const struct kvm_row *r)
{
	if (r->nr < 2 || r->mean_ns <= 0)
		return 0;
	return 100 * sqrt(r->squares / (double)(r->nr - 1) / (double)r->nr) / r->mean_ns;
}

void text_kvm_name(const struct kvm_row *r, enum kvm_kind kind, struct strbuf *to)
{
	unsigned long long key = r->key;
	if (kind == KVM_MMIO)
		strbuf_printf(to, "0x%llx:%s", key, r->set ? "W" : "R");
	else if (kind == KVM_PORTS)
		strbuf_printf(to, "0x%llx:%s", key, r->set ? "POUT" : "PIN");
	else if (r->name)
		strbuf_str(to, r->name);
	else
		strbuf_printf(to, "reason 0x%llx", key);
}

static double us(double ns)
{
	return ns / 1000;
}

static double percent(u64 part, u64 whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static void add_row(const struct kvm_row *r, const struct kvm_totals *t, enum kvm_kind kind,
		    struct strbuf *to)
{
	struct strbuf name;
	strbuf_init(&name);
	text_kvm_name(r, kind, &name);
	printable_right(to, strbuf_cstr(&name), NAME_WIDTH);
	strbuf_printf(to, " %10llu %8.2f%% %8.2f%% %9.2fus %9.2fus %9.2fus ( +-%7.2f%% )\n",
		      (unsigned long long)r->nr, percent(r->nr, t->nr),
		      percent(r->total_ns, t->total_ns), us((double)r->min_ns),
		      us((double)r->max_ns), us(r->mean_ns), text_kvm_error(r));
	strbuf_done(&name);
}

void text_kvm_table(const struct kvm_row *rows, size_t nr, const struct kvm_totals *t,
		    enum kvm_kind kind, struct strbuf *to)
{
	static const char *const heads[] = {
		[KVM_EXITS] = "VM-EXIT", [KVM_MMIO] = "MMIO Access", [KVM_PORTS] = "IO Port Access"
	};
	strbuf_printf(to, "%20s %10s %9s %9s %11s %11s %16s \n\n", heads[kind], "Samples",
		      "Samples%", "Time%", "Min Time", "Max Time", "Avg time");
	for (size_t i = 0; i < nr; i++)
		add_row(&rows[i], t, kind, to);
	strbuf_printf(to, "\nTotal Samples:%llu, Total events handled time:%.2fus.\n\n",
		      (unsigned long long)t->nr, us((double)t->total_ns));
}
