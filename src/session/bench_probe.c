#include "session/bench_probe.h"

#include "base/clock.h"
#include "session/bench_attach.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

enum { ROUNDS = 5, PHASES = 3, CALLS_FIRST = 16 };
#define CALLS_MAX (1ull << 40)

/* ---- what is called ------------------------------------------------------------------------------------------------------------ */

/* With a frame, as most functions have: the kernel emulates the push that it begins with, where a ret would be single-stepped. */
static __attribute__((noinline)) void user_function(void)
{
	__asm__ volatile("" ::"r"(__builtin_frame_address(0)) : "memory");
}

static void call_user(u64 n)
{
	for (; n; n--)
		user_function();
}

typedef void call_fn(u64 n);

struct bench_kind {
	const char *name, *about;
	call_fn *call; /* NULL: the caller's static probe */
	bench_attach_fn *attach; /* NULL: nothing is attached */
};

static const struct bench_kind kinds[] = {
	{ "none", "nothing attached: before and after all others", bench_call_kernel, NULL },
	{ "ftrace", "kprobe at an entry, called by ftrace", bench_call_kernel, bench_attach_ftrace },
	{ "jump", "kprobe inside a function, optimised to a jump", bench_call_kernel,
	  bench_attach_jump },
	{ "int3", "the same with a breakpoint", bench_call_kernel, bench_attach_int3 },
	{ "kretprobe", "return of a kernel function", bench_call_kernel, bench_attach_kretprobe },
	{ "fprobe", "entry, by fprobe (kprobe_multi)", bench_call_kernel, bench_attach_fprobe },
	{ "fentry", "entry, by a BPF trampoline", bench_call_kernel, bench_attach_fentry },
	{ "rawtp", "raw tracepoint", bench_call_rename, bench_attach_rawtp },
	{ "uprobe", "function of a program", call_user, bench_attach_uprobe },
	{ "uretprobe", "return of a function of a program", call_user, bench_attach_uretprobe },
	{ "usdt", "static probe of a program", NULL, bench_attach_usdt },
};

const char *bench_probe_kind(u32 i, const char **about)
{
	if (i >= ARRAY_SIZE(kinds))
		return NULL;
	if (about)
		*about = kinds[i].about;
	return kinds[i].name;
}

/* ---- timing -------------------------------------------------------------------------------------------------------------------- */

struct bench_rounds {
	double ns[ROUNDS]; /* of one call, sorted */
	u64 calls;
};

/* So many calls that a round takes the time. */
static u64 calibrate(call_fn *call, u64 slice_ns, u64 *calls)
{
	for (u64 n = CALLS_FIRST;; n *= 2) {
		u64 start = clock_monotonic_ns();
		call(n);
		*calls += n;
		if (clock_monotonic_ns() - start >= slice_ns || n >= CALLS_MAX)
			return n;
	}
}

static void run_rounds(call_fn *call, u64 slice_ns, struct bench_rounds *r)
{
	u64 n = calibrate(call, slice_ns, &r->calls);
	for (u32 i = 0; i < ROUNDS; i++) {
		u64 start = clock_monotonic_ns();
		call(n);
		double ns = (double)(clock_monotonic_ns() - start) / (double)n;
		u32 at = i;
		for (; at && r->ns[at - 1] > ns; at--)
			r->ns[at] = r->ns[at - 1];
		r->ns[at] = ns;
		r->calls += n;
	}
}

static double spread(const struct bench_rounds *r)
{
	return r->ns[ROUNDS / 2] - r->ns[0];
}

static void judge(struct bench_probe_row *row, const struct bench_rounds *base,
		  const struct bench_rounds *with)
{
	row->base_ns = base->ns[0];
	row->probed_ns = with->ns[0];
	row->cost_ns = with->ns[0] - base->ns[0];
	row->noise_ns = max(spread(base), spread(with));
	row->calls = with->calls;
}

/* ---- one kind after the other -------------------------------------------------------------------------------------------------- */

struct bench_work {
	struct bench_probe *ret;
	const struct bench_probe_opts *opts;
	struct bench_bed bed;
	struct bench_rounds first; /* of the call with nothing attached */
	u64 slice_ns;
	struct diag *diag;
};

static bool is_wanted(const struct bench_probe_opts *o, const char *kind)
{
	for (u32 i = 0; i < o->nr_kinds; i++)
		if (!strcmp(o->kinds[i], kind))
			return true;
	return !o->nr_kinds;
}

static int measure_attached(struct bench_work *w, const struct bench_kind *k, call_fn *call,
			    struct bench_probe_row *row)
{
	struct bench_rounds before = { 0 }, with = { 0 }, after = { 0 };
	struct bench_probe_fds f = { .prog = -1, .event = -1, .link = -1 };
	u64 hits_before = 0, hits_after = 0;
	run_rounds(call, w->slice_ns, &before);
	int err = k->attach(&w->bed, &f);
	if (!err)
		err = bench_bed_hits(&w->bed, &hits_before);
	if (!err) {
		run_rounds(call, w->slice_ns, &with);
		err = bench_bed_hits(&w->bed, &hits_after);
	}
	bench_detach(&f, w->diag);
	if (err) {
		row->missing = arena_strdup(&w->ret->arena, *f.why ? f.why : strerror(-err));
		return row->missing ? 0 : -ENOMEM;
	}
	run_rounds(call, w->slice_ns, &after);
	judge(row, after.ns[0] < before.ns[0] ? &after : &before, &with);
	row->hits = hits_after - hits_before;
	row->place = arena_strdup(&w->ret->arena, f.place);
	if (!row->hits)
		row->missing = "it was attached, but never hit";
	else if (row->hits < row->calls)
		row->note = "not every call was seen";
	return row->place ? 0 : -ENOMEM;
}

static int measure(struct bench_work *w, const struct bench_kind *k, struct bench_probe_row *row)
{
	call_fn *call = k->call ? k->call : w->opts->usdt;
	*row = (struct bench_probe_row){ .kind = k->name, .about = k->about };
	if (k->attach)
		return measure_attached(w, k, call, row);
	run_rounds(call, w->slice_ns, &w->first);
	return 0;
}

/* What the call costs when all probes are gone again. */
static void finish_none(struct bench_work *w, struct bench_probe_row *row)
{
	struct bench_rounds last = { 0 };
	run_rounds(bench_call_kernel, w->slice_ns, &last);
	judge(row, &w->first, &last);
	row->place = *w->bed.entry.symbol ? w->bed.entry.symbol : "prlimit64";
	row->note = bench_entry_words(&w->bed);
}

static int run_kinds(struct bench_work *w)
{
	int err = 0;
	for (u32 i = 0; i < ARRAY_SIZE(kinds) && !err; i++) {
		if (!is_wanted(w->opts, kinds[i].name))
			continue;
		struct bench_probe_row *row = vec_push(&w->ret->rows);
		err = row ? measure(w, &kinds[i], row) : -ENOMEM;
	}
	if (!err && w->ret->rows.nr && !strcmp(w->ret->rows.at[0].kind, "none")) {
		struct bench_probe_row *row = &w->ret->rows.at[0];
		finish_none(w, row);
		row->place = arena_strdup(&w->ret->arena, row->place);
		err = row->place ? 0 : -ENOMEM;
	}
	return err;
}

static void look_at_machine(struct bench_probe *b, const struct sysroot *root)
{
	struct strbuf text;
	strbuf_init(&text);
	if (!sysroot_read(root, "proc/cpuinfo", &text)) {
		const char *all = strbuf_cstr(&text);
		b->is_virtual = strstr(all, " hypervisor");
		b->is_emulated = strstr(all, "QEMU TCG") || strstr(all, "QEMU Virtual CPU");
	}
	strbuf_done(&text);
}

int bench_probe(struct bench_probe *b, const struct bench_probe_opts *o, struct diag *d)
{
	struct bench_work w = {
		.ret = b, .opts = o, .slice_ns = o->time_ns / (PHASES * ROUNDS), .diag = d
	};
	*b = (struct bench_probe){ 0 };
	arena_init(&b->arena);
	look_at_machine(b, o->root);
	int err = bench_bed_open(&w.bed, o->root, d);
	if (err)
		return err;
	w.bed.user_function = user_function;
	/* Rounds that ran on different CPUs could not be compared. */
	cpu_set_t before, one;
	bool pinned = !sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(max(w.bed.cpu, 0), &one);
	pinned = pinned && !sched_setaffinity(0, sizeof(one), &one);
	err = run_kinds(&w);
	if (pinned)
		(void)sched_setaffinity(0, sizeof(before), &before);
	bench_bed_close(&w.bed);
	return err;
}

void bench_probe_done(struct bench_probe *b)
{
	vec_free(&b->rows);
	arena_done(&b->arena);
}

const struct bench_probe_row *bench_probe_find(const struct bench_probe *b, const char *kind)
{
	vec_for_each (&b->rows, r)
		if (!strcmp(r->kind, kind))
			return r;
	return NULL;
}
