#include "analysis/kvm_exits.h"

#include "analysis/symbolic.h"
#include "base/arena.h"
#include "base/dict.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SET_VMX = 1,
	SET_SVM = 2,
	NR_SETS = 3,
	MMIO_READ = 1,
	MMIO_WRITE = 2,
	VMX_REASON_MASK = 0xffff
};

enum kvm_step {
	KVM_STEP_UNKNOWN,
	KVM_STEP_NONE,
	KVM_STEP_EXIT,
	KVM_STEP_ENTRY,
	KVM_STEP_MMIO,
	KVM_STEP_PIO
};

struct kvm_event_use {
	enum kvm_step step;
	const struct schema_field *reason, *isa, *vcpu, *type, *gpa, *port, *rw;
	struct symbolic reasons[2]; /* the format's lists; the second is SVM's */
};

struct kvm_thread {
	u64 vcpu; /* from its events */
	bool has_vcpu;
	bool open;
	bool has_key; /* of what is open */
	u64 start_ns, key;
	u32 set;
	const char *name;
};

struct kvm_exits {
	struct sink sink;
	struct kvm_exits_env env;
	VEC(struct kvm_event_use) uses;
	VEC(struct kvm_thread) threads;
	VEC(struct kvm_row) rows;
	struct dict thread_of; /* tid -> index */
	struct dict row_of[NR_SETS]; /* key -> index */
	struct kvm_totals totals;
	struct arena arena;
};

/* ---- what an event is -------------------------------------------------------------------------------------------- */

/*
 * The format chooses between two lists: "(REC->isa == 1) ? __print_symbolic(..., { 12, "HLT" } ...) : __print_symbolic(..., { 0x078, "hlt" }
 * ...)".
 */
static int read_reasons(struct kvm_exits *k, struct kvm_event_use *u, const char *format)
{
	static const char list[] = "__print_symbolic";
	const char *first = format ? strstr(format, list) : NULL;
	const char *second = first ? strstr(first + 1, list) : NULL;
	int err = symbolic_read(&u->reasons[0], first, second, &k->arena);
	return err ? err : symbolic_read(&u->reasons[1], second, NULL, &k->arena);
}

static int find_use(struct kvm_exits *k, const struct schema *s, struct kvm_event_use *u)
{
	static const struct {
		const char *name;
		enum kvm_step step;
	} known[] = {
		{ "kvm_exit", KVM_STEP_EXIT },
		{ "kvm_entry", KVM_STEP_ENTRY },
		{ "kvm_mmio", KVM_STEP_MMIO },
		{ "kvm_pio", KVM_STEP_PIO },
	};
	*u = (struct kvm_event_use){ .step = KVM_STEP_NONE };
	for (size_t i = 0; i < ARRAY_SIZE(u->reasons); i++)
		symbolic_init(&u->reasons[i]);
	if (strcmp(s->system, "kvm"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(s->name, known[i].name))
			u->step = known[i].step;
	u->reason = schema_find(s, "exit_reason");
	if (!u->reason)
		u->reason = schema_find(s, "ret"); /* arm64 */
	u->isa = schema_find(s, "isa");
	u->vcpu = schema_find(s, "vcpu_id");
	u->type = schema_find(s, "type");
	u->gpa = schema_find(s, "gpa");
	u->port = schema_find(s, "port");
	u->rw = schema_find(s, "rw");
	bool complete = u->step == KVM_STEP_EXIT   ? u->reason != NULL
			: u->step == KVM_STEP_MMIO ? u->type && u->gpa
			: u->step == KVM_STEP_PIO  ? u->port && u->rw
						   : true;
	if (!complete)
		u->step = KVM_STEP_NONE;
	return u->step == KVM_STEP_EXIT ? read_reasons(k, u, s->print_fmt) : 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static struct kvm_row *find_row(struct kvm_exits *k, const struct kvm_thread *t)
{
	u32 index;
	if (dict_add(&k->row_of[t->set], t->key, (u32)k->rows.nr, &index))
		return NULL;
	if (index < k->rows.nr)
		return &k->rows.at[index];
	struct kvm_row *r = vec_push(&k->rows);
	if (r)
		*r = (struct kvm_row){ .key = t->key, .set = t->set, .name = t->name };
	return r;
}

static int finish(struct kvm_exits *k, struct kvm_thread *t, u64 now)
{
	bool ours = k->env.vcpu < 0 || (t->has_vcpu && t->vcpu == (u64)k->env.vcpu);
	if (!t->open || now < t->start_ns)
		return 0;
	t->open = false;
	if (!t->has_key || !ours)
		return 0;
	struct kvm_row *r = find_row(k, t);
	if (!r)
		return -ENOMEM;
	u64 ns = now - t->start_ns;
	double off = (double)ns - r->mean_ns;
	r->min_ns = r->nr ? min(r->min_ns, ns) : ns;
	r->max_ns = max(r->max_ns, ns);
	r->nr++;
	r->total_ns += ns;
	r->mean_ns += off / (double)r->nr;
	r->squares += off * ((double)ns - r->mean_ns);
	k->totals.nr++;
	k->totals.total_ns += ns;
	return 0;
}

static void begin(struct kvm_exits *k, struct kvm_thread *t, u64 now)
{
	k->totals.nr_open += t->open && t->has_key;
	t->open = true;
	t->has_key = false;
	t->start_ns = now;
	t->name = NULL;
	t->set = 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static u64 field(const struct sample *s, const struct schema_field *f)
{
	return f ? schema_u64(s->schema, f, s->raw, s->raw_size) : 0;
}

static void on_vm_exit(struct kvm_exits *k, struct kvm_thread *t, const struct sample *s,
		       const struct kvm_event_use *u)
{
	begin(k, t, s->time_ns);
	if (k->env.kind != KVM_EXITS)
		return;
	u64 isa = field(s, u->isa);
	t->set = isa == SET_VMX || isa == SET_SVM ? (u32)isa : 0;
	t->key = field(s, u->reason) & (t->set == SET_VMX ? VMX_REASON_MASK : ~0ull);
	t->has_key = true;
	t->name = symbolic_name(&u->reasons[t->set == SET_SVM], t->key);
}

static int on_mmio(struct kvm_exits *k, struct kvm_thread *t, const struct sample *s,
		   const struct kvm_event_use *u)
{
	u64 type = field(s, u->type);
	if (k->env.kind != KVM_MMIO || (type != MMIO_READ && type != MMIO_WRITE))
		return 0;
	if (type == MMIO_WRITE)
		begin(k, t, s->time_ns);
	t->key = field(s, u->gpa);
	t->set = type == MMIO_WRITE;
	t->has_key = true;
	return type == MMIO_READ ? finish(k, t, s->time_ns) : 0;
}

static void on_pio(struct kvm_exits *k, struct kvm_thread *t, const struct sample *s,
		   const struct kvm_event_use *u)
{
	if (k->env.kind != KVM_PORTS)
		return;
	begin(k, t, s->time_ns);
	t->key = field(s, u->port);
	t->set = field(s, u->rw) != 0;
	t->has_key = true;
}

static int on_event(struct kvm_exits *k, const struct sample *s, const struct kvm_event_use *u)
{
	u32 index;
	if (dict_add(&k->thread_of, (u32)s->tid, (u32)k->threads.nr, &index))
		return -ENOMEM;
	if (index == k->threads.nr && !vec_push(&k->threads))
		return -ENOMEM;
	struct kvm_thread *t = &k->threads.at[index];
	k->totals.nr_events++;
	if (u->vcpu) {
		t->vcpu = field(s, u->vcpu);
		t->has_vcpu = true;
	}
	switch (u->step) {
	case KVM_STEP_EXIT: on_vm_exit(k, t, s, u); break;
	case KVM_STEP_ENTRY: return finish(k, t, s->time_ns);
	case KVM_STEP_MMIO: return on_mmio(k, t, s, u);
	case KVM_STEP_PIO: on_pio(k, t, s, u); break;
	case KVM_STEP_UNKNOWN:
	case KVM_STEP_NONE: break;
	}
	return 0;
}

static bool is_chosen(const struct kvm_exits_env *e, s32 pid)
{
	for (size_t i = 0; i < e->nr_pids; i++)
		if (e->pids[i] == pid)
			return true;
	return !e->nr_pids;
}

static int feed(struct sink *sink, void *state, const struct batch *b)
{
	struct kvm_exits *k = state;
	int err = 0;
	for (size_t i = 0; i < b->nr && !err; i++) {
		const struct sample *s = &b->samples[i];
		if (!s->schema || !s->raw)
			continue;
		while (k->uses.nr <= s->event)
			if (!vec_push(&k->uses))
				return -ENOMEM;
		struct kvm_event_use *u = &k->uses.at[s->event];
		if (u->step == KVM_STEP_UNKNOWN)
			err = find_use(k, s->schema, u);
		if (!err && u->step != KVM_STEP_NONE && is_chosen(&k->env, s->pid))
			err = on_event(k, s, u);
	}
	return err;
}

static int shard_new(struct sink *sink, unsigned index, const struct shard *shard, void **state)
{
	*state = container_of(sink, struct kvm_exits, sink);
	return index ? -EINVAL : 0;
}

static const struct sink_ops kvm_exits_ops = {
	.needs = NEED_ORDER | NEED_RAW,
	.shard_new = shard_new,
	.feed = feed,
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

struct kvm_exits *kvm_exits_new(const struct kvm_exits_env *env)
{
	struct kvm_exits *k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->sink = (struct sink){ .ops = &kvm_exits_ops, .needs = kvm_exits_ops.needs };
	k->env = *env;
	dict_init(&k->thread_of);
	for (int i = 0; i < NR_SETS; i++)
		dict_init(&k->row_of[i]);
	arena_init(&k->arena);
	return k;
}

void kvm_exits_free(struct kvm_exits *k)
{
	if (!k)
		return;
	vec_for_each (&k->uses, u)
		for (size_t i = 0; i < ARRAY_SIZE(u->reasons); i++)
			symbolic_done(&u->reasons[i]);
	vec_free(&k->uses);
	vec_free(&k->threads);
	vec_free(&k->rows);
	dict_done(&k->thread_of);
	for (int i = 0; i < NR_SETS; i++)
		dict_done(&k->row_of[i]);
	arena_done(&k->arena);
	free(k);
}

struct sink *kvm_exits_sink(struct kvm_exits *k)
{
	return &k->sink;
}

struct kvm_row *kvm_exits_rows(struct kvm_exits *k, size_t *nr)
{
	*nr = k->rows.nr;
	return k->rows.at;
}

struct kvm_totals kvm_exits_totals(const struct kvm_exits *k)
{
	struct kvm_totals t = k->totals;
	vec_for_each (&k->threads, thread)
		t.nr_open += thread->open && thread->has_key;
	return t;
}
