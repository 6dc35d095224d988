/*
 * A whole perf.data: opened, read, folded into a profile and drawn, with and without children, in file order and in time order.
 *
 * What may be taken: 64 bytes of memory for each byte of the file, and a constant. (Compressed files: for each byte of the records in
 * them, which are at most fifty times the file and 32 MB; that is not checked here.) It is checked where a sanitizer counts.
 */
#include "analysis/profile.h"
#include "base/par.h"
#include "stream/replay_perf.h"
#include "stream/run.h"
#include "view/json_table.h"
#include "view/text_table.h"

#include <stdatomic.h>

enum { BYTES_A_BYTE = 64, BYTES_ALWAYS = 32 << 20 };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* ---- memory ---- */

int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *))
	__attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *p) __attribute__((weak));

static atomic_llong live, peak;

static void on_malloc(const volatile void *p, size_t size)
{
	long long now = atomic_fetch_add(&live, (long long)size) + (long long)size;
	if (now > atomic_load(&peak))
		atomic_store(&peak, now);
}

static void on_free(const volatile void *p)
{
	if (p)
		atomic_fetch_sub(&live, (long long)__sanitizer_get_allocated_size(p));
}

static void watch_memory(void)
{
	static bool installed;
	if (!installed && __sanitizer_install_malloc_and_free_hooks)
		__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
	installed = true;
	atomic_store(&peak, atomic_load(&live));
}

/* ---- names without files: sixteen bytes are a function, every fifth has no name ---- */

struct made_up {
	u32 *func_of;
	struct name_func *funcs;
	u32 nr;
};

static int by_place(const void *a, const void *b, void *ctx)
{
	const struct frame *frames = ctx, *l = &frames[*(const u32 *)a],
			   *r = &frames[*(const u32 *)b];
	if (l->image != r->image)
		return l->image < r->image ? -1 : 1;
	return l->offset < r->offset ? -1 : l->offset > r->offset;
}

static int make_up(struct made_up *m, const struct frame_table *t)
{
	m->func_of = calloc((size_t)t->nr + 1, sizeof(*m->func_of));
	m->funcs = calloc((size_t)t->nr + 1, sizeof(*m->funcs));
	u32 *order = calloc((size_t)t->nr + 1, sizeof(*order));
	m->nr = 1;
	if (!m->func_of || !m->funcs || !order) {
		free(order);
		return -1;
	}
	for (u32 i = 1; i < t->nr; i++)
		order[i - 1] = i;
	qsort_r(order, t->nr - 1, sizeof(*order), by_place, t->frames);
	for (u32 i = 0; i + 1 < t->nr; i++) {
		const struct frame *f = &t->frames[order[i]];
		const struct name_func *last = &m->funcs[m->nr - 1];
		if (m->nr == 1 || last->image != f->image || last->start != (f->offset & ~15ull))
			m->funcs[m->nr++] =
				(struct name_func){ .name = f->offset / 16 % 5 ? "name" : NULL,
						    .start = f->offset & ~15ull,
						    .end = (f->offset & ~15ull) + 16,
						    .image = f->image,
						    .mode = f->mode };
		m->func_of[order[i]] = m->nr - 1;
	}
	free(order);
	return 0;
}

/* ---- the way of a report ---- */

static void draw(struct profile *p, const struct source *src, unsigned way)
{
	for (u32 e = 0; e < src->catalog.events.nr && e < 4; e++) {
		struct table t;
		struct strbuf s;
		struct json j;
		table_init(&t);
		strbuf_init(&s);
		if (way & 256 ? profile_hierarchy(p, &e, 1, &t) : profile_table(p, e, &t))
			abort();
		struct text_table_style style = { .header = true,
						  .graph = way >> 2 & 3,
						  .value = way >> 5 & 1,
						  .hide_own = way & 8 };
		if (text_table(&t, &style, &s))
			abort();
		strbuf_done(&s);
		strbuf_init(&s);
		json_begin(&j, &s, 0);
		if (way & 2 && (json_table(&t, 0, &j) || json_end(&j)))
			abort();
		strbuf_done(&s);
		table_done(&t);
	}
}

static void report(struct source *src, unsigned way)
{
	struct profile_config cfg = {
		.keys = { PROFILE_KEY_COMM, PROFILE_KEY_DSO, PROFILE_KEY_SYM },
		.nr_keys = 3,
		.children = way & 1,
		.graph = true,
		.show_count = way & 2,
		.fractal = way & 4,
		.order = way & 16 ? PROFILE_CALLER : PROFILE_CALLEE,
		.min_percent = 0.5,
	};
	if (way & 8)
		cfg.keys[0] = PROFILE_KEY_PID;
	if (way & 512) { /* every key that looks into a sample */
		static const enum profile_key more[] = { PROFILE_KEY_TRACE,  PROFILE_KEY_TIME,
							 PROFILE_KEY_CGROUP, PROFILE_KEY_WEIGHT,
							 PROFILE_KEY_PARENT, PROFILE_KEY_SYM_SIZE };
		for (size_t i = 0; i < ARRAY_SIZE(more); i++)
			cfg.keys[cfg.nr_keys++] = more[i];
		cfg.max_stack = 3;
		cfg.by_address = true;
		cfg.filter.hide_unresolved = way & 1024;
	}
	struct profile *p = profile_new(&cfg);
	struct run_tables run = { 0 };
	struct made_up names = { 0 };
	struct diag d;
	diag_init(&d);
	if (p && way & 32)
		profile_sink(p)->needs |= NEED_ORDER;
	if (p && way & 64)
		profile_sink(p)->needs |= NEED_PLACES | NEED_RAW;
	if (p && !stream_run(src, profile_sink(p), way & 128 ? 2 : 1, &run, &d) &&
	    !make_up(&names, &run.frames)) {
		struct names_result r = { .func_of = names.func_of,
					  .funcs = names.funcs,
					  .nr_funcs = names.nr };
		if (!profile_fold(p, &src->catalog, &run, &r))
			draw(p, src, way);
	}
	diag_done(&d);
	profile_free(p);
	run_tables_done(&run);
	free(names.func_of);
	free(names.funcs);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size < 16 || size > 1 << 20)
		return 0;
	watch_memory();
	/* Which way to look at it is in the last two bytes, which are mostly padding. */
	unsigned way = data[size - 1] | (size > 1 ? (unsigned)data[size - 2] << 8 : 0);
	struct source *src;
	struct diag d;
	diag_init(&d);
	if (!replay_perf_open_bytes(data, size, &src, &d)) {
		report(src, way);
		bool compressed = replay_perf_file(src)->compressed;
		src->ops->close(src);
		long long most = (long long)size * BYTES_A_BYTE + BYTES_ALWAYS;
		if (!compressed && atomic_load(&peak) - atomic_load(&live) > most)
			abort();
	} else if (!d.nr_errors) {
		abort(); /* refused without a word */
	}
	diag_done(&d);
	return 0;
}
