/* Exits of virtual CPUs: what begins and ends them, names of reasons for both instruction sets, and broken sequences. */
#include "analysis/kvm_exits.h"
#include "tap.h"

struct raw {
	u32 reason, isa, vcpu, type;
	u64 gpa;
	u32 port, rw;
};

#define FIELD(n, at, bytes)                                                                        \
	{                                                                                          \
		.name = (n), .offset = (at), .size = (bytes), .elem_size = (bytes), .nr_elems = 1  \
	}
static const struct schema_field exit_fields[] = {
	FIELD("exit_reason", 0, 4),
	FIELD("isa", 4, 4),
	FIELD("vcpu_id", 8, 4),
};
static const struct schema_field entry_fields[] = { FIELD("vcpu_id", 8, 4) };
static const struct schema_field mmio_fields[] = { FIELD("type", 12, 4), FIELD("gpa", 16, 8) };
static const struct schema_field pio_fields[] = { FIELD("port", 24, 4), FIELD("rw", 28, 4) };
static const char reasons[] =
	"\"%s\", (REC->isa == 1) ? __print_symbolic(REC->exit_reason & 0xffff, { 12, \"HLT\" }, { "
	"0x40, \"WRONG\" }) : "
	"__print_symbolic(REC->exit_reason, { 12, \"twelve\" }, { 0x040 + 6, \"UD excp\" }), "
	"__print_flags(REC->exit_reason, \" \", { 99, \"FLAG\" })";

enum { EXIT, ENTRY, MMIO, PIO, OTHER };

static const struct schema schemas[] = {
	[EXIT] = { .system = "kvm",
		   .name = "kvm_exit",
		   .fields = exit_fields,
		   .nr_fields = 3,
		   .print_fmt = reasons },
	[ENTRY] = { .system = "kvm", .name = "kvm_entry", .fields = entry_fields, .nr_fields = 1 },
	[MMIO] = { .system = "kvm", .name = "kvm_mmio", .fields = mmio_fields, .nr_fields = 2 },
	[PIO] = { .system = "kvm", .name = "kvm_pio", .fields = pio_fields, .nr_fields = 2 },
	[OTHER] = { .system = "xen", .name = "kvm_exit", .fields = exit_fields, .nr_fields = 3 },
};

static void *state;

static void event(struct kvm_exits *k, int what, s32 tid, u64 time, struct raw raw)
{
	struct sample s = { .event = (u32)what,
			    .pid = tid / 10,
			    .tid = tid,
			    .time_ns = time,
			    .raw = &raw,
			    .raw_size = sizeof(raw),
			    .schema = &schemas[what] };
	struct sink *sink = kvm_exits_sink(k);
	ok(!sink->ops->feed(sink, state, &(struct batch){ .samples = &s, .nr = 1 }), "fed");
}

static struct kvm_exits *start(struct kvm_exits_env env)
{
	struct kvm_exits *k = kvm_exits_new(&env);
	struct sink *sink = kvm_exits_sink(k);
	ok(!sink->ops->shard_new(sink, 0, NULL, &state), "a worker");
	return k;
}

static const struct kvm_row *row(struct kvm_exits *k, size_t i, size_t want_nr)
{
	size_t nr;
	const struct kvm_row *rows = kvm_exits_rows(k, &nr);
	is_u64(nr, want_nr, "rows");
	return &rows[i];
}

static void exits(void)
{
	struct kvm_exits *k = start((struct kvm_exits_env){ .kind = KVM_EXITS, .vcpu = -1 });
	event(k, ENTRY, 11, 5, (struct raw){ 0 }); /* recording began in the middle */
	event(k, EXIT, 11, 10, (struct raw){ .reason = 0x8000000c, .isa = 1 });
	event(k, EXIT, 21, 11, (struct raw){ .reason = 12, .isa = 2 }); /* another virtual CPU */
	event(k, OTHER, 11, 12, (struct raw){ .reason = 5, .isa = 1 });
	event(k, ENTRY, 21, 13, (struct raw){ 0 });
	event(k, ENTRY, 11, 30, (struct raw){ 0 });
	event(k, EXIT, 11, 40, (struct raw){ .reason = 12, .isa = 1 });
	event(k, ENTRY, 11, 80, (struct raw){ 0 });
	event(k, EXIT, 11, 90, (struct raw){ .reason = 0x46, .isa = 2 });
	event(k, ENTRY, 11, 91, (struct raw){ 0 });
	event(k, EXIT, 11, 95, (struct raw){ .reason = 77, .isa = 1 });
	event(k, ENTRY, 11, 94, (struct raw){ 0 }); /* before it began */
	const struct kvm_row *r = row(k, 1, 3);
	is_str(r->name, "HLT", "VMX has flags above the reason, and the first list");
	is_u64(r->nr, 2, "two of them");
	ok(r->min_ns == 20 && r->max_ns == 40 && r->total_ns == 60 && r->mean_ns == 30,
	   "20 and 40 ns");
	is_str(row(k, 0, 3)->name, "twelve", "the same number means something else to SVM");
	is_str(row(k, 2, 3)->name, "UD excp", "numbers may be sums");
	struct kvm_totals t = kvm_exits_totals(k);
	is_u64(t.nr, 4, "four in all");
	is_u64(t.nr_open, 1, "one that never ended");
	kvm_exits_free(k);
}

static void devices(void)
{
	struct kvm_exits *k = start((struct kvm_exits_env){ .kind = KVM_MMIO, .vcpu = -1 });
	event(k, EXIT, 11, 10, (struct raw){ .reason = 49, .isa = 1 });
	event(k, MMIO, 11, 15, (struct raw){ .type = 0, .gpa = 0x100 }); /* not answered yet */
	event(k, MMIO, 11, 25, (struct raw){ .type = 1, .gpa = 0x100 });
	event(k, ENTRY, 11, 30, (struct raw){ 0 });
	event(k, EXIT, 11, 40, (struct raw){ .reason = 49, .isa = 1 });
	event(k, MMIO, 11, 44, (struct raw){ .type = 2, .gpa = 0x100 });
	event(k, ENTRY, 11, 50, (struct raw){ 0 });
	event(k, EXIT, 11, 60, (struct raw){ .reason = 12, .isa = 1 }); /* no device */
	event(k, ENTRY, 11, 70, (struct raw){ 0 });
	const struct kvm_row *r = row(k, 0, 2);
	ok(r->key == 0x100 && !r->set && r->total_ns == 15, "a read from the exit to its value");
	r = row(k, 1, 2);
	ok(r->key == 0x100 && r->set && r->total_ns == 6, "a write until the guest runs again");
	kvm_exits_free(k);
}

static void chosen(void)
{
	const s32 pids[] = { 2 };
	struct kvm_exits *k = start(
		(struct kvm_exits_env){ .kind = KVM_PORTS, .vcpu = 1, .pids = pids, .nr_pids = 1 });
	for (s32 tid = 11; tid <= 22; tid++) {
		event(k, PIO, tid, 10, (struct raw){ .port = 0x60, .rw = 1 });
		event(k, ENTRY, tid, 10 + (u64)tid, (struct raw){ .vcpu = (u32)tid % 2 });
	}
	const struct kvm_row *r = row(k, 0, 1);
	ok(r->key == 0x60 && r->set && r->nr == 1 && r->total_ns == 21,
	   "one virtual CPU of one process");
	kvm_exits_free(k);
}

int main(void)
{
	exits();
	devices();
	chosen();
	return done_testing();
}
