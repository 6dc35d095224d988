#include "session/kvm_run.h"

#include "session/recording.h"
#include "stream/run.h"

#include <errno.h>
#include <stdlib.h>

/* The largest first; of equals by what they are, so that every run prints the same. */
static int by_key(const void *pa, const void *pb, void *ctx)
{
	const struct kvm_row *a = pa, *b = pb;
	double x = (double)a->nr, y = (double)b->nr;
	if (*(const enum kvm_key *)ctx == KVM_BY_TIME) {
		x = a->mean_ns;
		y = b->mean_ns;
	}
	if (x != y)
		return x < y ? 1 : -1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->set > b->set) - (a->set < b->set);
}

int kvm_run(struct kvm_run *r, struct symbols *sy, const char *input,
	    const struct kvm_exits_env *env, enum kvm_key key)
{
	static const struct symbol_opts no_symbols;
	struct run_tables tables = { 0 };
	struct source *src = NULL;
	*r = (struct kvm_run){ .exits = kvm_exits_new(env) };
	int err =
		r->exits ? recording_open(sy, input, RECORDING_EVENTS, &no_symbols, &src) : -ENOMEM;
	if (!err)
		err = stream_run(src, kvm_exits_sink(r->exits), 1, &tables, sy->diag);
	if (!err) {
		r->rows = kvm_exits_rows(r->exits, &r->nr);
		r->totals = kvm_exits_totals(r->exits);
		r->nr_lost = src->catalog.nr_lost;
		if (r->nr)
			qsort_r(r->rows, r->nr, sizeof(*r->rows), by_key, &key);
	}
	run_tables_done(&tables);
	if (src)
		src->ops->close(src);
	return err;
}

void kvm_run_done(struct kvm_run *r)
{
	kvm_exits_free(r->exits);
	*r = (struct kvm_run){ 0 };
}
